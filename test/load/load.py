#!/usr/bin/python3
"""64 clients at once: no client gets an error or the output of another, the daemon stays small.

    load.py --cella build/src/cella --generator build/test/load [--seconds 30] [--clients 64]
"""
import argparse
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Checks, Daemon  # noqa: E402


def generate(options, daemon, seconds, sandboxes):
    r = subprocess.run([options.generator, str(daemon.port), str(options.clients), str(seconds), *sandboxes],
                       stdout=subprocess.PIPE, check=False)
    return json.loads(r.stdout)


def settle(daemon):
    left = daemon.idle(10, but=('sandboxes{state="running"}',))
    time.sleep(1.5)  # the log is written after the answers are sent
    return left


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cella", required=True)
    p.add_argument("--generator", required=True)
    p.add_argument("--seconds", type=float, default=30)
    p.add_argument("--warm", type=float, default=3)
    p.add_argument("--clients", type=int, default=64)
    p.add_argument("--memory", type=float, default=0.10, help="growth allowed; 0: not looked at (sanitizers)")
    options = p.parse_args()
    t = Checks()
    with Daemon(options.cella) as d:
        sandboxes = [d.sandbox() for _ in range(4)]
        generate(options, d, options.warm, sandboxes)
        d.call("GET", "/v1/executions?limit=1")  # the server starts its worker threads when the first of them has work
        settle(d)
        before = d.holds()
        r = generate(options, d, options.seconds, sandboxes)
        left = settle(d)
        after = d.holds()
        for kind in ("sh", "python3", "sh_shared", "python3_shared", "much"):
            k = r[kind]
            print(f"{kind:15} {k['n']:7} times, ms: p50 {k['p50']:8.2f}  p90 {k['p90']:8.2f}  p99 {k['p99']:8.2f}"
                  f"  max {k['max']:8.2f}")
        print(f"{r['right']} executions, {r['per_second']:.0f} a second, {options.clients} clients")
        print("before", before)
        print("after ", after)
        for name, what in (("failed", "no 5xx"), ("refused", "no 429"), ("wrong", "no mixed-up output"),
                           ("lost", "no lost connection"), ("stuck", "no answer missing"), ("other", "no other status")):
            t.check(r[name] == 0, what, f"{r[name]}: {r['first']}" if r[name] else "")
        sh = r["sh"]
        t.check(0 < sh["p99"] <= 30 * sh["p50"], "p99 of sh at most 30 times its p50",
                f"{sh['p99'] / max(sh['p50'], 0.001):.2f}")
        t.check(not left, "nothing is under way any more", left or "")
        for name, what in (((("server_kb"),), "server"), (("server_kb", "keeper_kb"), "daemon (server and keeper)")):
            was, now = sum(before[n] for n in name), sum(after[n] for n in name)
            t.check(not options.memory or now <= was * (1 + options.memory) + 1536,
                    f"memory of the {what} within {options.memory:.0%} and 1536 kB", f"{was} -> {now} kB, {now / was - 1:+.1%}")
        # A bound in bytes: what its allocator holds differs by how many sandboxes there were at once, 1160 to 1576 kB in nine runs of
        # 2 to 28 s, longer ones no more than short ones.  That it does not go on is the soak's to show.
        t.check(not options.memory or after["keeper_kb"] - before["keeper_kb"] < 512, "memory of the keeper within +512 kB",
                f"{before['keeper_kb']} -> {after['keeper_kb']} kB, {after['keeper_kb'] / before['keeper_kb'] - 1:+.1%}")
        t.check_resources(before, after)
        t.check(d.alive() and not d.complaints(), "the log has no complaint", d.complaints()[:3] or "")
        d.stop()
    t.done()


main()
