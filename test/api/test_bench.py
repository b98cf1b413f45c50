"""`cella bench`: that it measures what it says, says all of it, and leaves nothing.  Its figures are not checked here."""

import glob
import json
import os
import signal
import subprocess
import time

import support
from support import cella, ensure, is_root, refused, same, spawn, test, until

ROUNDS = 3
CASES = {
    "sh": ["bare", "bwrap", "library_fresh", "library_ready", "cold", "spare", "ready", "pooled"],
    "python3": ["bare", "bwrap", "cold", "template", "on_demand", "pooled"],
    "pandas": ["bare", "pooled"],
    "node": ["bare", "pooled"],
    "client": ["get"],
}

def directories():
    """Those of daemons that the user of this test has started."""
    return {d for d in glob.glob("/tmp/cella-bench-*") if os.stat(d).st_uid == os.geteuid()}


def near(a, b):
    return abs(a - b) <= 0.01 * abs(b) + 0.001


def check_case(case, bare):
    same(set(case), {"group", "way", "title", "skipped", "n", "failures", "misses", "p50_ms", "p90_ms", "p99_ms", "min_ms",
                     "x_bare"}, "members", case)  # fmt: skip
    same(case["failures"], 0, "failures", case)
    if case["skipped"]:
        same([case["n"], case["p50_ms"]], [0, None], "one that was skipped", case)
        return
    same(case["n"] + case["misses"], ROUNDS, "turns", case)
    ensure(case["n"] > 0, "never as it should be", case)
    ensure(0 < case["min_ms"] <= case["p50_ms"] <= case["p90_ms"] <= case["p99_ms"], "an order of times", case)
    if not bare:
        same(case["x_bare"], None, "one without a bare one", case)
        return
    ensure(near(case["x_bare"], case["p50_ms"] / bare["p50_ms"]), "not the ratio of the medians", case)


def check_throughput(t):
    same(set(t), {"runtime", "seconds", "connections", "processes", "pooled_per_second", "bare_per_second", "hits", "misses",
                  "failures", "x_bare"}, "members", t)  # fmt: skip
    same([t["runtime"], t["seconds"], t["failures"]], ["python3", 1, 0], "throughput")
    ensure(t["bare_per_second"] > 0 and t["hits"] > 0, "nothing was executed", t)
    ensure(near(t["x_bare"], t["pooled_per_second"] / t["bare_per_second"]), "not the ratio", t)


def check_memory(m, sandboxes):
    same(set(m), {"skipped", "sandboxes", "pss_bytes", "daemon_pss_bytes", "available_bytes"}, "members", m)
    same([m["skipped"], m["sandboxes"]], [None, sandboxes], "memory")
    ensure(50_000 < m["pss_bytes"] < 20_000_000, "not what an interpreter takes", m)


def check_live(live, asked):
    same(set(live), {"problem", "asked", "alive", "fill_s", "answered", "failures", "misses", "answer_s", "keeper_files",
                     "server_files", "memory"}, "members", live)  # fmt: skip
    same([live[k] for k in ("problem", "asked", "alive", "answered", "failures", "misses")], [None, asked, asked, asked, 0, 0],
         "sandboxes at once", live)  # fmt: skip
    ensure(live["fill_s"] > 0 and live["answer_s"] > 0, "no times", live)


@test(timeout=300, alone=True)
def every_figure_is_there_and_nothing_is_left():
    before = directories()
    r = cella(["bench", "--rounds", ROUNDS, "--seconds", 1, "--live", 12, "--json"], timeout=280)
    same(r.rc, 0, "exit status", r)
    report = r.json()
    same(set(report), {"version", "kernel", "cores", "rounds", "cases", "throughput", "memory", "live", "failures"}, "members")
    same([report["rounds"], report["failures"], report["kernel"]], [ROUNDS, 0, os.uname().release], "the head")
    same(report["cores"], len(os.sched_getaffinity(0)), "cores")
    found = {group: [c["way"] for c in report["cases"] if c["group"] == group] for group in CASES}
    same(found, CASES, "cases")
    for case in report["cases"]:
        bare = [c for c in report["cases"] if c["group"] == case["group"] and c["way"] == "bare"]
        check_case(case, bare[0] if bare else None)
    check_throughput(report["throughput"])
    check_live(report["live"], 12)
    if is_root():
        check_memory(report["memory"], 50)
        check_memory(report["live"]["memory"], 12)
        ensure(report["live"]["keeper_files"] > 12 and report["live"]["server_files"] > 12, "descriptors", report["live"])
    else:
        ensure(report["memory"]["skipped"], "an ordinary user cannot look into them", report["memory"])
    same(directories() - before, set(), "directories left")


@test(timeout=120, alone=True)
def the_table_fits_a_terminal():
    r = cella(["bench", "--rounds", 1, "--seconds", 1], timeout=110)
    same(r.rc, 0, "exit status", r)
    ensure(max(map(len, r.out.splitlines())) <= 100, "lines are too long", r)
    ensure(not any(line != line.rstrip() for line in r.out.splitlines()), "spaces at the end of lines", r)
    for part in ("sh: echo hi", "python3: print(1+1)", "pandas", "node", "executions a second", "memory of an idle"):
        ensure(part in r.out, f"no {part}", r)


def interrupt(number, after):
    before = directories()
    process = spawn("bench", "--json", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    start_new_session=True)  # fmt: skip
    until(lambda: support.catches(process.pid, number), 20, "its handler of the signal")
    time.sleep(after)
    process.send_signal(number)
    out, err = process.communicate(timeout=60 * support.slack)
    same([process.returncode, out, err], [128 + number, b"", b""], f"interrupted after {after} s")
    same(directories() - before, set(), "directories left")


@test(timeout=200, alone=True)
def a_signal_ends_bench_and_its_daemons():
    for after in (0.05, 0.4, 1.5, 4):
        interrupt(signal.SIGINT, after)
    interrupt(signal.SIGTERM, 1)


@test(timeout=60, alone=True)
def daemons_of_bench_end_when_bench_is_killed():
    before = directories()
    process = spawn("bench", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: directories() - before, 20, "a daemon's directory")
    time.sleep(1)
    process.kill()
    process.wait()
    left = directories() - before
    until(lambda: not any(map(serving, left)), 20, "the end of its daemons")
    for directory in left:
        subprocess.run(["rm", "-rf", directory], check=True)


def serving(directory):
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f:
                if directory.encode() in f.read():
                    return True
        except OSError:
            pass
    return False


@test
def wrong_words_are_usage_errors():
    refused(cella(["bench", "fast"]), 2, "takes no 'fast'")
    refused(cella(["bench", "--rounds", "10001"]), 2, "--rounds must be at most 10000")
    refused(cella(["bench", "--seconds", "0"]), 2, "--seconds")
    refused(cella(["bench", "--live", "1000000"]), 2, "--live must be at most")
    same(json.loads(cella(["bench", "--json", "fast"]).out)["error"]["kind"], "invalid_request", "kind")
