"""cella top: live sandboxes, what they use, and running executions."""

import json
import os
import re
import signal

from support import Terminal, cella, ensure, expect, is_root, refused, same, test, until

BEGIN, END = b"\x1b[?1049h", b"\x1b[?1049l"  # of the alternate screen


def top(d, *words):
    return cella(["top", "--socket", d.unix, *words])


def screen(d, **terminal):
    """cella top on a terminal, when it shows the first picture."""
    t = Terminal("top", "--socket", d.unix, "--interval", "50ms", **terminal)
    t.wait(BEGIN)
    t.wait(b"EXECUTION")
    return t


def running(d, name):
    """A sandbox in which an execution runs until it is cancelled; both ids."""
    s = d.post("/v1/sandboxes", {"name": name}, 201)["id"]
    p = d.post(f"/v1/sandboxes/{s}/processes", {"command": ["sh", "-c", "while :; do :; done"]}, 201)
    return s, p["id"]


@test(tcp=False)
def top_prints_one_table_when_stdout_is_no_terminal(d):
    s, exe = running(d, "busy")
    other = d.sandbox()
    r = expect(top(d), out=None)
    ensure("\x1b" not in r.out, "no escape sequences", r)
    first, second = r.out.split("\n\n")
    same(first.splitlines()[0].split(), ["SANDBOX", "NAME", "STATE", "AGE", "CPU", "CPU", "TIME", "MEMORY", "PROCESSES"], "headings")
    rows = {line.split()[0]: line.split() for line in first.splitlines()[1:]}
    same(sorted(rows), sorted((s, other)), "sandboxes")
    same((rows[s][1:3], rows[other][1:3]), (["busy", "running"], ["-", "running"]), "names and states")
    same(bool(re.search(r"[0-9.]+M of 512M", first)), is_root(), "memory and its limit, where there are control groups", r)
    (line,) = (line for line in second.splitlines()[1:])
    same((line.split()[:2], "while" in line), ([exe, s], True), "the execution")


@test(tcp=False)
def top_prints_json(d):
    s, exe = running(d, "busy")
    o = json.loads(expect(top(d, "--json"), out=None).out)
    same(([x["id"] for x in o["sandboxes"]], [x["id"] for x in o["executions"]]), ([s], [exe]), "ids")
    same("usage" in o["sandboxes"][0], is_root(), "usage, where there are control groups")


@test(tcp=False)
def top_without_sandboxes_prints_the_headings(d):
    same([line.split()[0] for line in expect(top(d), out=None).out.split("\n") if line], ["SANDBOX", "EXECUTION"], "lines")
    same(json.loads(top(d, "--json").out), {"sandboxes": [], "executions": []}, "JSON")


@test(tcp=False)
def top_refreshes_on_a_terminal_and_q_ends_it(d):
    t = screen(d)
    s, exe = running(d, "busy")
    t.wait(s.encode())
    t.wait(exe.encode())
    if is_root():  # there are control groups
        until(lambda: read_share(t) > 0, 20, "a share of a core")
    d.delete(f"/v1/sandboxes/{s}")
    t.seen = b""
    t.wait(b"0 sandboxes, 0 running executions")
    ensure(t.is_raw(), "keys are read at once")
    t.type(b"q")
    t.end(0)
    ensure(t.seen.endswith(END), f"the screen is left: {t.seen[-80:]!r}")


def read_share(t):
    t.seen = b""
    t.wait(b"EXECUTION")
    found = re.findall(rb" (\d+)% ", t.seen)
    return int(found[-1]) if found else 0


@test(tcp=False)
def top_draws_no_more_lines_than_the_terminal_has(d):
    for name in "abcdefgh":
        d.post("/v1/sandboxes", {"name": name}, 201)
    t = Terminal("top", "--socket", d.unix, "--interval", "50ms", rows=6)
    t.wait(b"\x1b[J")
    picture = t.seen.partition(b"\x1b[H")[2].partition(b"\x1b[J")[0]
    same((picture.count(b"\r\n"), b"EXECUTION" in picture), (5, False), f"{picture!r}")
    t.resize(30, 100)
    t.wait(b"EXECUTION")
    t.type(b"\x03")
    t.end(0)


@test(tcp=False)
def top_restores_the_terminal_when_a_signal_ends_it(d):
    t = screen(d)
    t.process.send_signal(signal.SIGTERM)
    t.end(128 + signal.SIGTERM)
    ensure(t.seen.endswith(END), f"the screen is left: {t.seen[-80:]!r}")


@test(tcp=False)
def top_says_that_the_daemon_has_ended(d):
    t = screen(d, env={**os.environ, "NO_COLOR": "1"})
    d.stop()
    t.end(125)
    before, _, after = t.seen.rpartition(END)
    ensure(b"cella: " in after and b"cella: " not in before, f"the message is below the screen: {after!r}")


@test
def top_without_a_daemon_leaves_the_screen_alone():
    path = os.path.join(os.getcwd(), "missing.sock")
    refused(cella(["top", "--socket", path]), 125, "no daemon at", "missing.sock")
    t = Terminal("top", "--socket", path)
    t.end(125)
    ensure(b"\x1b[?" not in t.seen, f"{t.seen!r}")
