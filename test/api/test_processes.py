"""Processes in the background, and the terminal."""

import json
import re
import time

import support
from daemon import Daemon
from support import ensure, same, test, until


def start(d, s, code=None, **fields):
    body = {"runtime": "sh", "code": code, **fields} if code is not None else fields
    return d.post(f"/v1/sandboxes/{s}/processes", body, 201)


def at(s, p, rest=""):
    return f"/v1/sandboxes/{s}/processes/{p['pid'] if isinstance(p, dict) else p}{rest}"


@test
def a_background_process_from_start_to_end(d, s):
    p = start(d, s, "echo ready; while read line; do echo got $line; done; echo bye >&2; exit 5")
    same(set(p), {"pid", "id", "state", "runtime", "command", "started"}, "fields")
    same((p["state"], p["runtime"], p["command"]), ("running", "sh", None), "process")
    ensure(p["pid"] > 0 and re.fullmatch(r"exe_[a-z2-7]{20}", p["id"]), f"process is {p}")
    out = until(lambda: (o := d.get(at(s, p, "/output")))["stdout"] and o, 20, "output")
    same(out, {"stdout": "ready\n", "stderr": "", "stdout_offset": 6, "stderr_offset": 0, "stdout_lost": 0, "stderr_lost": 0, "running": True, "exit_code": None}, "output")
    same(d.post(at(s, p, "/stdin"), b"one\n"), {"bytes": 4}, "input")
    out = until(lambda: (o := d.get(at(s, p, "/output?stdout=6")))["stdout"] and o, 20, "output")
    same((out["stdout"], out["stdout_offset"]), ("got one\n", 14), "output from an offset on")
    same(d.get(at(s, p, "/output?stdout=100"))["stdout"], "", "output from beyond the end")
    d.post(at(s, p, "/stdin?eof=1"), b"two\n")
    until(lambda: d.get(at(s, p))["state"] == "exited", 20, "its end")
    got = d.get(at(s, p))
    same((got["status"], got["exit_code"], got["signal"]), ("exited", 5, None), "its end")
    out = d.get(at(s, p, "/output"))
    same((out["stdout"], out["stderr"], out["running"], out["exit_code"]), ("ready\ngot one\ngot two\n", "bye\n", False, 5), "all output")
    d.refused("invalid_request", "POST", at(s, p, "/stdin"), b"x", "standard input")
    d.refused("not_found", "POST", at(s, p, "/signal"), {"signal": "TERM"}, "ended")
    same([x["pid"] for x in d.get(f"/v1/sandboxes/{s}/processes")["processes"]], [p["pid"]], "the list")
    row = d.get(f"/v1/executions/{p['id']}")
    same((row["status"], row["exit_code"]), ("exited", 5), "the log")
    c = start(d, s, command=["sleep", "100"])
    same(c["command"], ["sleep", "100"], "command")
    same(d.get(f"/v1/sandboxes/{s}")["processes"], 1, "processes")
    d.delete(at(s, c))
    until(lambda: d.get(at(s, c))["state"] == "exited", 20, "its end")
    same((d.get(at(s, c))["status"], len(d.get(f"/v1/sandboxes/{s}/processes")["processes"])), ("cancelled", 2), "killed")


@test
def signals_reach_a_background_process(d, s):
    p = start(d, s, "trap 'echo usr1' USR1; trap 'echo int; exit 3' INT; echo ready; while :; do sleep 0.05; done")

    def says(text):
        until(lambda: text in d.get(at(s, p, "/output"))["stdout"], 20, f"{text!r}")

    says("ready\n")
    for signal in ("USR1", "SIGUSR1", "usr1", 10):
        d.post(at(s, p, "/signal"), {"signal": signal})
    says("usr1\n")
    for bad in ("NOPE", 0, 65, -1, None, [], ""):
        d.refused("invalid_request", "POST", at(s, p, "/signal"), {"signal": bad}, "signal")
    d.refused("invalid_request", "POST", at(s, p, "/signal"), {}, "signal")
    d.post(at(s, p, "/signal"), {"signal": "INT"})
    until(lambda: d.get(at(s, p))["state"] == "exited", 20, "its end")
    same(d.get(at(s, p))["exit_code"], 3, "exit code")
    q = start(d, s, command=["sleep", "100"])
    d.post(at(s, q, "/signal"), {"signal": "KILL"})
    until(lambda: d.get(at(s, q))["state"] == "exited", 20, "its end")
    same((d.get(at(s, q))["status"], d.get(at(s, q))["signal"]), ("signaled", 9), "killed by a signal")


@test
def bad_process_requests_are_refused(d, s):
    base = f"/v1/sandboxes/{s}/processes"
    d.refused("invalid_request", "POST", base, {}, "runtime")
    d.refused("invalid_request", "POST", base, {"runtime": "sh", "code": "x", "colour": 1}, "colour")
    d.refused("runtime_not_found", "POST", base, {"runtime": "cobol", "code": "x"}, "cobol")
    d.refused("not_found", "POST", base, {"command": ["no-such-program"]}, "no-such-program")
    for pid in ("999999", "0", "-1", "x", "1", "99999999999999"):
        d.refused("not_found", "GET", f"{base}/{pid}")
        d.refused("not_found", "DELETE", f"{base}/{pid}")
        d.refused("not_found", "GET", f"{base}/{pid}/output")
        d.refused("not_found", "POST", f"{base}/{pid}/stdin", b"x")
        d.refused("not_found", "POST", f"{base}/{pid}/signal", {"signal": 9})
    p = start(d, s, "sleep 100")
    for query in ("stdout=-1", "stdout=x", "stderr=1.5"):
        d.refused("invalid_request", "GET", at(s, p, "/output?" + query), None, query.split("=")[0])
    d.refused("too_large", "POST", at(s, p, "/stdin"), b"x" * (2 << 20))
    same([x["pid"] for x in d.get(base)["processes"]], [p["pid"]], "the list")


@test
def output_is_followed_again_and_again(d, s):
    p = start(d, s, "echo first; read x; echo second; read x; exit 7")
    target = at(s, p, "/output")
    with d.events("GET", target) as a:
        same(a.wait("start")["id"], p["id"], "start")
        a.read_until("first\n")
    with d.events("GET", target) as a, d.events("GET", target) as b, d.events("GET", target + "?stdout=6") as c:
        a.read_until("first\n")
        b.read_until("first\n")
        d.post(at(s, p, "/stdin"), b"\n")
        a.read_until("second\n")
        same(c.read_until("second\n"), "second\n", "from an offset on")
        d.post(at(s, p, "/stdin"), b"\n")
        for e in (a, b, c):
            end = e.wait("exit")
            same((end["exit_code"], end["state"]), (7, "exited"), "exit")
    with d.events("GET", target) as a:
        same(a.text()[0], "first\nsecond\n", "after its end")
    same(d.get(at(s, p))["state"], "exited", "state")


@test
def lost_rows_are_reported(d, s):
    p = start(d, s, "head -c 100000 /dev/zero | tr '\\0' x; echo; echo end", limits={"output_bytes": 1000})
    until(lambda: not d.get(at(s, p, "/output"))["running"], 20, "its end")
    out = d.get(at(s, p, "/output"))
    same((out["stdout_lost"] + len(out["stdout"]), out["stdout_offset"]), (100005, 100005), "bytes")
    ensure(len(out["stdout"]) <= 1000 and out["stdout"].endswith("x\nend\n"), "the newest are kept")
    same(d.get(at(s, p, f"/output?stdout={100005 - 4}"))["stdout_lost"], 0, "nothing is lost")
    with d.events("GET", at(s, p, "/output")) as e:
        lost = e.wait("lost")
        same((lost["stream"], lost["bytes"]), ("stdout", out["stdout_lost"]), "the event")
        e.wait("exit")


@test
def a_process_ends_with_its_children_at_its_timeout(d, s):
    seconds = support.nonce_seconds()
    p = start(d, s, f"sleep {seconds} & sleep {seconds}", timeout_ms=300)
    until(lambda: d.get(at(s, p))["state"] == "exited", 20, "its end")
    same(d.get(at(s, p))["status"], "timeout", "status")
    support.gone(seconds)
    p = start(d, s, f"setsid sleep {seconds} & wait")
    until(lambda: support.with_argument(seconds), 20, "the child")
    d.delete(at(s, p))
    support.gone(seconds)


@test
def too_much_unread_input_is_429(d, s):
    p = start(d, s, "sleep 100")
    for _ in range(4):
        a = d.request("POST", at(s, p, "/stdin"), b"x" * (1 << 20))
        if a.status != 200:
            break
    same((a.status, a.json()["error"]["kind"]), (429, "over_capacity"), "the answer", a)


# The terminal.


@test
def a_terminal_has_a_size_a_tty_and_an_echo():
    with Daemon() as d:
        s = d.sandbox()
        with d.websocket(f"/v1/sandboxes/{s}/terminal?cols=90&rows=20&command=sh") as w:
            same(w.status, 101, "status")
            w.send(b"stty size; tty; echo TERM=$TERM\n")
            w.read_until(b"20 90\r\n")
            w.read_until(b"/dev/pts/")
            w.read_until(b"TERM=xterm-256color")
            w.send(b"echo mar''ker\n")
            w.read_until(b"echo mar''ker")  # it echoes
            w.read_until(b"marker\r\n")
            w.send(json.dumps({"resize": [123, 45]}))
            w.send(b"stty size\n")
            w.read_until(b"45 123")
            w.send(b"ping", 9)
            w.send(b"sleep 100\n")
            w.read_until(b"sleep 100")
            time.sleep(0.2)
            w.send(b"\x03")
            w.send(b"echo aft''er\n")
            w.read_until(b"after\r\n")
            w.send(b"exit 7\n")
            texts, code = w.rest_of_it()
            same((texts, code), ([{"exit_code": 7}], 1000), "its end")
        rows = d.rows()
        same((rows[0]["status"], rows[0]["exit_code"], rows[0]["sandbox"]), ("exited", 7, s), "the log")


@test
def closing_the_terminal_ends_the_shell(d, s):
    for how in ("close frame", "connection"):
        seconds = support.nonce_seconds()
        w = d.websocket(f"/v1/sandboxes/{s}/terminal", unix=True)
        same(w.status, 101, "status")
        w.send(f"sleep {seconds}\n".encode())
        until(lambda: support.with_argument(seconds), 20, "the process")
        if how == "close frame":
            w.send(b"\x03\xe8", 8)
            until(lambda: w.receive() is None or w.close_code, 20, "the answer to close")
        w.close()
        support.gone(seconds)
    with d.websocket(f"/v1/sandboxes/{s}/terminal") as w:
        same(w.status, 101, "status")
        w.send(b"echo x\n")
        w.read_until(b"x")
        d.delete(f"/v1/sandboxes/{s}")
        w.rest_of_it()


@test
def bad_terminal_requests_are_refused(d, s):
    t = f"/v1/sandboxes/{s}/terminal"
    a = d.request("GET", t)
    ensure(a.status in (400, 426), "no WebSocket", a)
    for query in ("cols=0", "rows=x", "cols=99999"):
        d.refused("invalid_request", "GET", f"{t}?{query}", None, query.split("=")[0])
    for headers in ({"Sec-WebSocket-Version": "7"}, {"Sec-WebSocket-Key": None}, {"Sec-WebSocket-Key": "short"}):
        with d.websocket(t, headers=headers) as w:
            ensure(w.status in (400, 426), f"{headers} gives {w.status}")
    with d.websocket(t, headers={"Origin": "http://evil.example"}) as w:
        same(w.status, 403, "a foreign page")
    with d.websocket("/v1/sandboxes/sbx_nobody/terminal") as w:
        same(w.status, 404, "no sandbox")
    with d.websocket(t + "?command=no-such-program") as w:
        same(w.status, 404, "no program")
    for text in ("{", '{"resize": "x"}', '{"resize": [0, 5]}', "[]"):
        with d.websocket(t + "?command=sh") as w:
            same(w.status, 101, "status")
            w.send(text)
            w.rest_of_it()
            same(w.close_code, 1007, f"the end after {text}")
    until(lambda: d.get("/v1/executions?status=running")["executions"] == [], 20, "the end of all")
    same(d.exec("sh", "echo fine", s)["stdout"], "fine\n", "afterwards")
