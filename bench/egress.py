#!/usr/bin/python3
"""What the network costs: through the egress process beside the same without it, in turns, in one run.

    bench/egress.py [--cella PROGRAM] [--tool PROGRAM] [--rounds N] [--json]

Needs root: it makes a network namespace of its own, in which an address that looks public is on the loopback, with the
server of bench/egress.c on it.  Direct is a client beside it, bare; egress the same client in a sandbox."""

import argparse
import base64
import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ADDRESS, NAME = "93.184.216.34", "bench.example"
CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
GIB = 1 << 30


def options():
    parser = argparse.ArgumentParser(description="what the network of sandboxes costs")
    parser.add_argument("--cella", default=str(ROOT / "build/src/cella"))
    parser.add_argument("--tool", default=str(ROOT / "build/bench/egress"))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--sandboxes", type=int, default=200)
    parser.add_argument("--bytes", type=int, default=GIB, help="of a download")
    parser.add_argument("--seconds", type=int, default=5, help="that all sandboxes load for")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def enter(directory):
    """A network of our own, in which the name is known."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET | CLONE_NEWNS) < 0:
        sys.exit("bench/egress.py: needs root")
    hosts = os.path.join(directory, "hosts")
    with open(hosts, "w") as f:
        f.write(f"127.0.0.1 localhost\n{ADDRESS} {NAME}\n")
    for words in (["mount", "--make-rprivate", "/"], ["mount", "--bind", hosts, "/etc/hosts"], ["ip", "link", "set", "lo", "up"],
                  ["ip", "address", "add", ADDRESS + "/32", "dev", "lo"]):  # fmt: skip
        subprocess.run(words, check=True)


def median(values):
    return statistics.median(values)


class Client:
    """One process of bench/egress.c, which executes commands."""

    def __init__(self, *words):
        self.process = subprocess.Popen([*words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, word, number):
        self.process.stdin.write(f"{word} {number}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"bench/egress.py: a client ended at {word} {number}")
        return [float(x) for x in line.split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)


class Daemon:
    running = []

    def __init__(self, cella, directory, name, settings):
        self.path = os.path.join(directory, name + ".sock")
        self.process = subprocess.Popen([cella, "serve", "--state", os.path.join(directory, name), "--socket", self.path, "--listen", "none"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        Daemon.running.append(self)
        end = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError):
                self.ask("PUT", "/v1/settings", settings)
                return
            if time.monotonic() > end:
                sys.exit("bench/egress.py: the daemon did not start")
            time.sleep(0.02)

    def connect(self):
        c = http.client.HTTPConnection("cella", timeout=120)
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.connect(self.path)  # which waits for its turn, as long as there is no time-out
        c.sock.settimeout(120)
        return c

    def ask(self, method, target, body=None, connection=None):
        c = connection or self.connect()
        c.request(method, target, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        r = c.getresponse()
        data = json.loads(r.read() or "null")
        if connection is None:
            c.close()
        if r.status >= 300:
            sys.exit(f"bench/egress.py: {method} {target}: {data}")
        return data

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        Daemon.running.remove(self)


# ---- measurements ----


def requests(cella, tool, rounds, size):
    """Connect and GET; and a download."""
    allow = ["--network", "standard", "--allow", NAME]
    words = [tool, "client", ADDRESS, "80", NAME]
    direct = Client(*words)
    egress = Client(cella, "run", "--cpus", "2", *allow, "--mount", tool + ":/tool", "--", "/tool", *words[1:])
    both, loads = ([], []), ([], [])
    for client in (direct, egress):
        client.tell("get", 20)
    for i in range(rounds):
        for which in (0, 1) if i % 2 else (1, 0):
            both[which].extend((direct, egress)[which].tell("get", 25))
    for i in range(max(3, rounds // 10)):
        for which in (0, 1) if i % 2 else (1, 0):
            loads[which].extend((direct, egress)[which].tell("load", size))
    direct.close()
    egress.close()
    return both, loads


def set_up(cella, directory, rounds):
    """An execution of sh with and without a network, in a sandbox made for it and in one that waited."""
    found = {}
    for kind, pools in (("on demand", []), ("pooled", [{"runtime": "sh", "size": 4}])):
        daemons = [Daemon(cella, directory, f"{kind.replace(' ', '')}{i}", {"pools": pools, "network": network})
                   for i, network in enumerate(({"tier": "restricted"}, {"tier": "standard", "allowed_domains": [NAME]}))]  # fmt: skip
        connections = [d.connect() for d in daemons]
        times = [[], []]
        for i in range(rounds * 5):
            for which in (0, 1) if i % 2 else (1, 0):
                d, c = daemons[which], connections[which]
                while pools and not d.ask("GET", "/v1/pools", connection=c)["pools"][0]["available"]:
                    time.sleep(0.002)
                begun = time.monotonic()
                r = d.ask("POST", "/v1/exec", {"runtime": "sh", "code": "echo hi"}, c)
                if i >= 5:
                    times[which].append((time.monotonic() - begun) * 1000)
                if r["stdout"] != "hi\n" or ("network" in r["usage"]) != bool(which):
                    sys.exit(f"bench/egress.py: {r}")
        if pools:
            for d in daemons:
                pool = d.ask("GET", "/v1/pools")["pools"][0]
                if pool["hits"] < rounds * 5 - 5:
                    sys.exit(f"bench/egress.py: not from the pool: {pool}")
        for d in daemons:
            d.close()
        found[kind] = times
    return found


def run_times(cella, rounds):
    """cella run -- true, with and without: with the start of an egress process of its own."""
    times = [[], []]
    for i in range(rounds):
        for which in (0, 1) if i % 2 else (1, 0):
            words = [["--network", "restricted"], ["--network", "standard", "--allow", NAME]][which]
            begun = time.monotonic()
            subprocess.run([cella, "run", *words, "--", "true"], check=True, stdin=subprocess.DEVNULL)
            times[which].append((time.monotonic() - begun) * 1000)
    return times


def crowd(cella, tool, directory, n, seconds):
    """So many sandboxes that load at the same time, without end; the bytes of each."""
    d = Daemon(cella, directory, "crowd", {"pools": [], "network": {"tier": "standard", "allowed_domains": [NAME], "bytes_per_execution": 1 << 40},
                                           "sandboxes": {"max": n + 10}, "limits": {"memory_bytes": 64 << 20}})  # fmt: skip
    with open(tool, "rb") as f:
        program = {"base64": base64.b64encode(f.read()).decode()}
    ids, got, threads = [], [], []
    for _ in range(n):
        ids.append(d.ask("POST", "/v1/sandboxes", {})["id"])
    begin = time.time() + n * 0.02 + 1

    def one(id_):
        code = f"chmod +x tool; sleep $(awk 'BEGIN {{ print {begin} - '$(date +%s.%N)' }}'); echo rush {seconds} | ./tool client {ADDRESS} 80 {NAME}"
        r = d.ask("POST", f"/v1/sandboxes/{id_}/exec", {"runtime": "sh", "code": code, "files": {"tool": program}, "timeout_ms": 120000})
        got.append(int(r["stdout"]) if r["exit_code"] == 0 else 0)

    threads = [threading.Thread(target=one, args=(id_,)) for id_ in ids]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    d.close()
    return got


def main():
    o = options()
    directory = tempfile.mkdtemp(prefix="cella-bench-", dir="/tmp")  # sockets have short names
    os.chmod(directory, 0o755)
    server = None
    try:
        tool = shutil.copy(o.tool, os.path.join(directory, "tool"))
        enter(directory)
        server = subprocess.Popen([tool, "serve", ADDRESS, "80"], stdout=subprocess.PIPE)
        server.stdout.readline()
        load = os.getloadavg()[0]
        (direct, egress), (loads, through) = requests(o.cella, tool, o.rounds, o.bytes)
        figures = {"load": load, "direct_us": median(direct), "egress_us": median(egress), "bytes": o.bytes,
                   "direct_gib_s": o.bytes / GIB / median(loads), "egress_gib_s": o.bytes / GIB / median(through)}  # fmt: skip
        for kind, (without, with_) in set_up(o.cella, directory, o.rounds).items():
            figures[f"{kind}, restricted, ms"], figures[f"{kind}, standard, ms"] = median(without), median(with_)
        without, with_ = run_times(o.cella, o.rounds)
        figures["cella run, restricted, ms"], figures["cella run, standard, ms"] = median(without), median(with_)
        got = crowd(o.cella, tool, directory, o.sandboxes, o.seconds)
        figures.update(sandboxes=len(got), seconds=o.seconds, total_gib=sum(got) / GIB, most=max(got), least=min(got))
    finally:
        for d in list(Daemon.running):
            d.close()
        if server:
            server.kill()
            server.wait()
        shutil.rmtree(directory, ignore_errors=True)
    print(json.dumps(figures) if o.json else table(figures))


def table(f):
    lines = [f"load average at the start: {f['load']:.1f}", "",
             "| | without | with egress | | bound |", "|---|---|---|---|---|",
             f"| connect and GET 64 bytes, p50 | {f['direct_us']:.0f} µs | {f['egress_us']:.0f} µs | {f['egress_us'] / f['direct_us']:.2f} x | 4 x |",
             f"| {f['bytes'] / GIB:g} GiB | {f['direct_gib_s']:.2f} GiB/s | {f['egress_gib_s']:.2f} GiB/s | {f['egress_gib_s'] / f['direct_gib_s']:.2f} x | 0.35 x |"]  # fmt: skip
    for kind, bound in (("on demand", "1 ms"), ("pooled", "0"), ("cella run", "")):
        a, b = f[f"{kind}, restricted, ms"], f[f"{kind}, standard, ms"]
        lines.append(f"| sh `echo hi`, {kind} | {a:.2f} ms | {b:.2f} ms | {b - a:+.2f} ms | {bound} |" if kind != "cella run" else
                     f"| `cella run -- true` | {a:.2f} ms | {b:.2f} ms | {b - a:+.2f} ms | {bound} |")  # fmt: skip
    lines.append(f"| {f['sandboxes']} sandboxes that load for {f['seconds']} s | | {f['total_gib'] / f['seconds']:.2f} GiB/s | most / least: {f['most'] / max(f['least'], 1):.2f} | |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
