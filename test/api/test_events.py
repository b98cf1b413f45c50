"""Streaming: events are sent immediately, in order, with whole characters; clients that disconnect."""

import base64
import time

import support
from support import ensure, same, test, until
from test_exec import check_result


@test
def events_come_in_order(d):
    with d.events("POST", "/v1/exec", {"runtime": "sh", "code": "echo out; echo err >&2; exit 4"}) as e:
        got = list(e)
    names = [name for name, _ in got]
    same((names[0], names[-1], names.count("start"), names.count("exit")), ("start", "exit", 1, 1), "events")
    same(set(names), {"start", "stdout", "stderr", "exit"}, "kinds of events")
    start, end = got[0][1], got[-1][1]
    same(set(start), {"id", "sandbox", "pid"}, "fields of start")
    ensure(start["pid"] > 0, f"pid is {start['pid']}")
    check_result(end, streamed=True)
    same((end["id"], end["sandbox"], end["exit_code"]), (start["id"], start["sandbox"], 4), "exit")
    same("".join(x["text"] for n, x in got if n == "stdout"), "out\n", "stdout")
    same("".join(x["text"] for n, x in got if n == "stderr"), "err\n", "stderr")
    same((end["stdout_bytes"], end["stderr_bytes"]), (4, 4), "bytes")


@test
def events_come_at_once(d):
    for target in ("/v1/exec", f"/v1/sandboxes/{d.sandbox()}/exec"):
        with d.events("POST", target, {"runtime": "sh", "code": "echo one; sleep 5; echo two"}) as e:
            id_ = e.wait("start")["id"]
            e.read_until("one\n")
            if d.get(f"/v1/executions/{id_}")["status"] != "running":
                support.late("the first line came after the end")
            rest, end = e.text()
            same((rest, end["status"]), ("two\n", "exited"), "the rest")


@test
def a_program_without_output_has_a_start_and_an_exit(d):
    for target in ("/v1/exec", f"/v1/sandboxes/{d.sandbox()}/exec"):
        for _ in range(5):
            with d.events("POST", target, {"command": ["true"]}) as e:
                same([name for name, _ in e], ["start", "exit"], "events")


@test
def characters_are_never_split(d):
    text = "añ€😀" * 5000
    code = "import os, time\nb = ('añ€😀' * 5000).encode()\nfor i in range(0, len(b), 997): os.write(1, b[i:i+997])\n"
    slow = "import os, time\nfor x in 'ñ€😀'.encode(): os.write(1, bytes([x])); time.sleep(0.02)\n"
    with d.events("POST", "/v1/exec", {"runtime": "python3", "code": code}) as e:
        got, end = e.text()
    same((got == text, end["stdout_bytes"]), (True, len(text.encode())), "a long text in odd pieces")
    with d.events("POST", "/v1/exec", {"runtime": "python3", "code": slow}) as e:
        got, _ = e.text()
    same(got, "ñ€😀", "byte by byte")
    with d.events("POST", "/v1/exec", {"runtime": "sh", "code": r"printf 'a\360\237'"}) as e:
        got, _ = e.text()
    ensure(got.startswith("a\ufffd") and set(got[1:]) == {"\ufffd"}, f"an unfinished character at the end gives {got!r}")


@test
def events_as_base64(d):
    body = {"runtime": "sh", "code": r"printf 'a\377\0b'", "encoding": "base64"}
    with d.events("POST", "/v1/exec", body) as e:
        got = b"".join(base64.b64decode(x["base64"]) for n, x in e if n == "stdout")
    same(got, b"a\xff\0b", "bytes")


@test
def all_output_is_streamed_beyond_the_output_limit(d):
    body = {"runtime": "sh", "code": "head -c 3000000 /dev/zero | tr '\\0' x", "limits": {"output_bytes": 1000}}
    with d.events("POST", "/v1/exec", body) as e:
        got, end = e.text()
    same((len(got), end["stdout_bytes"]), (3000000, 3000000), "bytes")


@test
def a_refusal_before_the_start_has_a_status(d):
    accept = {"Accept": "text/event-stream"}
    d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh"}, "code", headers=accept)
    d.refused("runtime_not_found", "POST", "/v1/exec", {"runtime": "cobol", "code": "x"}, headers=accept)
    d.refused("not_found", "POST", "/v1/sandboxes/sbx_nobody/exec", {"runtime": "sh", "code": "x"}, headers=accept)


@test
def a_client_that_leaves_cancels_its_execution_unless_detached(d, s):
    for target in ("/v1/exec", f"/v1/sandboxes/{s}/exec"):
        seconds = support.nonce_seconds()
        e = d.events("POST", target, {"runtime": "sh", "code": f"echo on; sleep {seconds}; echo off"})
        start = e.wait("start")
        until(lambda: support.with_argument(seconds), 20, "the process")
        e.close()
        support.gone(seconds)
        until(lambda: d.get(f"/v1/executions/{start['id']}")["status"] == "cancelled", 20, "status cancelled")
    e = d.events("POST", f"/v1/sandboxes/{s}/exec", {"runtime": "sh", "code": "echo on; sleep 0.5; echo off", "detach": True})
    start = e.wait("start")
    e.close()
    row = until(lambda: (x := d.get(f"/v1/executions/{start['id']}"))["status"] != "running" and x, 20, "its end")
    same((row["status"], row["stdout"]), ("exited", "on\noff\n"), "the detached one")
    same(d.exec("sh", "echo ok", s)["stdout"], "ok\n", "the sandbox afterwards")


@test(timeout=80, users=["root"], beside=True)
def a_comment_comes_every_fifteen_seconds(d):
    with d.events("POST", "/v1/exec", {"runtime": "sh", "code": "sleep 16; echo end"}) as e:
        got, end = e.text()
    same((got, end["status"]), ("end\n", "exited"), "the end")
    ensure(e.comments, "there was no comment in 16 s")


@test
def a_slow_reader_delays_no_other_client(d, s):
    body = {"runtime": "sh", "code": "yes slow | head -c 20000000"}
    with d.events("POST", f"/v1/sandboxes/{s}/exec", body) as e:
        e.wait("start")
        time.sleep(0.3)
        same(d.exec("sh", "echo quick", s)["stdout"], "quick\n", "another in the same sandbox")
        same(d.exec("sh", "echo quick")["stdout"], "quick\n", "another sandbox")
        got, end = e.text()
    same((len(got), end["exit_code"]), (20000000, 0), "what the slow one gets in the end")
