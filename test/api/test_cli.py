"""The client's commands: with a fake daemon that gives the answers of each test, valid or not; then with a real daemon."""

import base64
import fcntl
import io
import json
import os
import random
import re
import select
import signal
import socket
import stat
import struct
import subprocess
import tarfile
import termios
import threading
import time

import fake
from daemon import Daemon
from fake import Fake, answer, chunked, error, event, events, exit_event, head, output, upgrade
import support
from support import Terminal, cella, ensure, expect, refused, same, spawn, test, until, within

SBX, EXE = "sbx_" + "a" * 20, "exe_" + "b" * 20


def call(server, *args, **kwargs):
    env = {**server.env, **kwargs.pop("env", {})}
    r = cella(list(args), env=env, **kwargs)
    same(server.errors, [], "errors of the fake daemon", r)
    return r


def against(handler, *args, **kwargs):
    """Calls cella against a daemon with this handler (or this one answer); (result, requests)."""
    with Fake(handler if callable(handler) else lambda request, connection: handler) as server:
        return call(server, *args, **kwargs), server.requests


# The connection.


@test
def a_missing_daemon_gives_a_hint_to_start_it():
    r = cella(["ls", "--socket", os.path.join(os.getcwd(), "missing.sock")])
    refused(r, 125, "no daemon at", "missing.sock", "cella serve")


@test
def a_socket_without_a_listener_is_no_daemon():
    with Fake(None) as server:
        pass
    refused(cella(["ls"], env=server.env), 125, "no daemon at", "cella serve")


@test
def socket_path_that_is_too_long_is_a_usage_error():
    refused(cella(["ls", "--socket", "/" + "x" * 200]), 2, "path of a socket")


@test
def tcp_with_a_key_is_used():
    with Fake(lambda request, c: answer({"sandboxes": []}), tcp=True) as server:
        r = call(server, "ls", env={"CELLA_KEY": "cella_secret"})
    expect(r, out=None)
    request = server.requests[0]
    same(request.headers["authorization"], "Bearer cella_secret", "Authorization")
    same(request.headers["host"], server.url[7:], "Host")


@test
def invalid_urls_are_usage_errors():
    for url in ("https://127.0.0.1:x", "http://", "http://exa mple:1", "http://a..b", "http://1.2.3", "http://-x", "ftp://x", "https://", "http://127.0.0.1:0", "http://[::1", "127.0.0.1:1"):
        refused(cella(["ls"], env={**os.environ, "CELLA_URL": url}), 2, "CELLA_URL")


@test
def a_key_with_a_line_break_is_not_sent():
    r, requests = against(answer({}), "ls", env={"CELLA_KEY": "x\r\nHost: evil"})
    refused(r, 2, "CELLA_KEY")
    same(requests, [], "requests")


@test
def errors_are_shown_in_the_words_of_the_daemon():
    r, _ = against(error(404, "not_found", "no such sandbox", "cella ls lists them"), "rm", SBX)
    expect(r, rc=125, out="", err="cella: no such sandbox; cella ls lists them\n")


@test
def an_invalid_request_is_a_usage_error():
    r, _ = against(error(400, "invalid_request", "workspace may be none, ro or rw"), "create", "--workspace", "all")
    expect(r, rc=2, out="", err="cella: workspace may be none, ro or rw\n")


@test
def errors_cannot_steer_the_terminal():
    r, _ = against(error(500, "internal", "\x1b[2J\nfake: line\u202e", "\x1b]0;x\x07\u009b"), "ls")
    expect(r, rc=125, out="", err="cella: ?[2J?fake: line?; ?]0;x??\n")


@test
def errors_are_json_where_json_was_asked_for():
    r, _ = against(error(429, "over_capacity", "no room", "later"), "exec", "--json", "-", "--", "true")
    same(r.rc, 125, "exit status", r)
    same(r.json()["error"], {"kind": "over_capacity", "message": "no room", "hint": "later"}, "error", r)


@test
def an_error_without_a_message_shows_its_status():
    for body in (b"", b"<html>", b"[]", b'{"error": 1}', b'{"error": {"message": 1}}'):
        r, _ = against(answer(body, 503), "ls")
        refused(r, 125, "503")


@test
def chunked_answers_are_read():
    body = json.dumps({"sandboxes": [{"id": SBX, "state": "running"}]}).encode()
    for size in (1, 7, 100000):
        r, _ = against(chunked(body, size), "ls", "--quiet")
        expect(r, out=SBX + "\n")


@test
def answers_that_come_byte_by_byte_are_read():
    def slowly(request, connection):
        for b in answer({"sandboxes": [{"id": SBX}]}):
            time.sleep(0.001)
            yield bytes([b])

    expect(against(slowly, "ls", "--quiet")[0], out=SBX + "\n")


@test
def an_answer_that_ends_with_the_connection_is_read():
    expect(against(b"HTTP/1.0 200 OK\r\n\r\n" + b'{"sandboxes": []}', "ls", "--quiet")[0], out="")


@test
def interim_answers_are_skipped():
    expect(against(head(100) + head(102) + answer({"sandboxes": []}), "ls", "--quiet")[0], out="")


BROKEN = {
    "nothing": b"",
    "half_a_head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "not_http": b"SSH-2.0-OpenSSH_9.9\r\n\r\n",
    "status_without_digits": b"HTTP/1.1 abc OK\r\n\r\n",
    "status_out_of_range": b"HTTP/1.1 999 OK\r\n\r\n",
    "http_2": b"HTTP/2.0 200 OK\r\n\r\n",
    "truncated_body": head(200, Content_Length=100) + b"{}",
    "truncated_chunk": head(200, Transfer_Encoding="chunked") + b"10\r\n{}",
    "no_last_chunk": head(200, Transfer_Encoding="chunked") + b"2\r\n{}\r\n",
    "chunk_without_length": head(200, Transfer_Encoding="chunked") + b"\r\n{}\r\n0\r\n\r\n",
    "chunk_with_a_bad_length": head(200, Transfer_Encoding="chunked") + b"-2\r\n{}\r\n0\r\n\r\n",
    "chunk_with_a_huge_length": head(200, Transfer_Encoding="chunked") + b"f" * 16 + b"\r\n{}\r\n0\r\n\r\n",
    "chunk_longer_than_it_said": head(200, Transfer_Encoding="chunked") + b"2\r\n{}{}\r\n0\r\n\r\n",
    "endless_trailers": head(200, Transfer_Encoding="chunked") + b"2\r\n{}\r\n0\r\n" + b"a: b\r\n" * 10000 + b"\r\n",
    "two_lengths": head(200, Content_Length=2) [:-2] + b"Content-Length: 3\r\n\r\n{}",
    "length_and_chunks": head(200, Content_Length=2, Transfer_Encoding="chunked") + b"2\r\n{}\r\n0\r\n\r\n",
    "negative_length": head(200, Content_Length=-1) + b"{}",
    "length_with_junk": head(200, Content_Length="2x") + b"{}",
    "length_that_overflows": head(200, Content_Length="9" * 30) + b"{}",
    "unknown_transfer_encoding": head(200, Transfer_Encoding="gzip") + b"{}",
    "header_without_colon": b"HTTP/1.1 200 OK\r\nhello\r\n\r\n{}",
    "header_that_goes_on": b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n{}",
    "header_with_a_nul": b"HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n{}",
    "bare_line_feed": b"HTTP/1.1 200 OK\r\nA: b\nContent-Length: 2\r\n\r\n{}",
    "headers_without_end": b"HTTP/1.1 200 OK\r\n" + b"A: " + b"b" * 100000,
    "many_headers": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 10000 + b"\r\n{}",
    "interim_without_end": head(100) * 1000,
    "a_redirect": head(302, Location="http://evil/", Content_Length=0),
    "not_json": answer(b"<html>"),
    "json_too_deep": answer(b"[" * 10000),
}

for what, reply in BROKEN.items():
    test(lambda a=reply: refused(against(a, "ls")[0], 125), name=f"answer_with_{what}_is_refused")


@test
def garbage_never_crashes():
    rng = random.Random(42)
    good = chunked(json.dumps({"sandboxes": [{"id": SBX, "created": "2026-11-15T05:00:00.000Z", "metadata": {"a": "b"}}]}).encode())
    current = [b""]
    with Fake(lambda request, connection: current[0]) as server:
        for _ in range(150):
            data = bytearray(good)
            for _ in range(rng.randrange(1, 6)):
                at = rng.randrange(len(data))
                data[at : at + rng.randrange(4)] = rng.randbytes(rng.randrange(4))
            current[0] = bytes(data)
            r = call(server, "ls")
            ensure(r.rc in (0, 125, 2), f"exit status {r.rc} for {bytes(data)!r}", r)


@test
def a_daemon_that_sends_nothing_times_out():
    def silent(request, connection):
        time.sleep(20)

    r, _ = against(silent, "ls", env={"CELLA_TIMEOUT": "300ms"})
    refused(r, 125, "does not answer", "CELLA_TIMEOUT")
    within(r.seconds, 10, "giving up", r)


@test
def headers_that_arrive_slowly_time_out():
    def drops(request, connection):
        yield b"HTTP/1.1 200 OK\r\n"
        while True:
            time.sleep(0.05)
            yield b"A: b\r\n"

    r, _ = against(drops, "ls", env={"CELLA_TIMEOUT": "500ms"})
    refused(r, 125, "does not answer")
    within(r.seconds, 10, "giving up", r)


@test
def a_body_that_stops_times_out():
    def stops(request, connection):
        yield head(200, Content_Length=100) + b"{"
        time.sleep(20)

    refused(against(stops, "ls", env={"CELLA_TIMEOUT": "300ms"})[0], 125, "does not answer")


@test(timeout=60)
def a_body_without_end_is_refused():
    def endless(request, connection):
        yield head(200)
        while True:
            yield b" " * 1_000_000

    r, _ = against(endless, "ls", timeout=50)
    refused(r, 125, "has more than")


# Commands and their requests.


@test
def create_prints_the_id():
    r, requests = against(
        answer({"id": SBX, "state": "running"}, 201), "create", "--ttl", "1h", "--idle", "10m", "--workspace", "ro",
        "--in-memory", "--agent", "bob", "--engine", "docker", "--metadata", "k=v=w", "--metadata", "e=", "--memory", "256M", "--cpus", "0.5")
    expect(r, out=SBX + "\n")
    same((requests[0].method, requests[0].path), ("POST", "/v1/sandboxes"), "request")
    same(requests[0].json(), {
        "ttl_ms": 3600000, "idle_timeout_ms": 600000, "persistent": False, "workspace": "ro", "agent": "bob", "engine": "docker",
        "metadata": {"k": "v=w", "e": ""}, "limits": {"memory_bytes": 268435456, "cpus": 0.5}}, "body")


@test
def create_sends_nothing_that_was_not_asked_for():
    _, requests = against(answer({"id": SBX}, 201), "create")
    same(requests[0].json(), {}, "body")


@test
def create_refuses_invalid_options_without_a_request():
    for words in (["--ttl", "soon"], ["--metadata", "novalue"], ["--memory", "1"], ["--memroy", "1G"], ["word"]):
        r, requests = against(answer({"id": SBX}), "create", *words)
        refused(r, 2)
        same(requests, [], "requests")


@test
def create_json_prints_the_answer():
    r, _ = against(answer({"id": SBX, "x": 1}, 201), "create", "--json")
    same(r.json(), {"id": SBX, "x": 1}, "answer", r)


@test
def raise_sends_the_limits():
    r, requests = against(answer({"id": SBX}), "raise", SBX, "--memory", "1G", "--timeout", "10m", "--cpus", "2")
    expect(r, out="")
    same((requests[0].method, requests[0].path, requests[0].json()),
         ("PATCH", f"/v1/sandboxes/{SBX}", {"limits": {"timeout_ms": 600000, "memory_bytes": 1 << 30, "cpus": 2.0}}), "request")
    same(against(answer({"id": SBX, "x": 1}), "raise", SBX, "--memory", "1G", "--json")[0].json(), {"id": SBX, "x": 1}, "answer")
    refused(against(error(403, "access_denied", "access denied: limits.memory_bytes"), "raise", SBX, "--memory", "1G")[0], 125, "limits.memory_bytes")
    for words in ([SBX], ["--memory", "1G"], [SBX, "x", "--memory", "1G"], [SBX, "--memory", "1"], ["ju/nk", "--memory", "1G"]):
        r, requests = against(answer({}), "raise", *words)
        refused(r, 2)
        same(requests, [], "requests")


@test
def pool_leases_a_sandbox_and_gives_it_back():
    r, requests = against(answer({"id": SBX}, 201), "pool", "acquire", "python3", "--image", "app:1", "--ttl", "1h", "--idle", "5m", "--metadata", "a=b")
    expect(r, out=f"{SBX}\n")
    same((requests[0].method, requests[0].path, requests[0].json()),
         ("POST", "/v1/pools/acquire", {"runtime": "python3", "image": "app:1", "ttl_ms": 3600000, "idle_timeout_ms": 300000, "metadata": {"a": "b"}}), "request")
    same(against(answer({"id": SBX, "x": 1}, 201), "pool", "acquire", "sh", "--json")[0].json(), {"id": SBX, "x": 1}, "answer")
    r, requests = against(answer(None, 204), "pool", "release", SBX, SBX)
    expect(r, out="")
    same([(q.method, q.path, q.json()) for q in requests], [("POST", "/v1/pools/release", {"id": SBX})] * 2, "requests")
    refused(against(error(404, "not_found", "no leased sandbox"), "pool", "release", SBX)[0], 125, "no leased sandbox")
    for words in ([], ["acquire"], ["acquire", "sh", "x"], ["release"], ["release", "ju/nk"], ["ls", "x"], ["x"], ["ls", "--ttl", "1h"], ["release", SBX, "--image", "a"],
                  ["acquire", "sh", "--metadata", "a"]):
        r, requests = against(answer({}), "pool", *words)
        refused(r, 2)
        same(requests, [], "requests")


@test
def pool_lists_the_pools():
    one = {"runtime": "python3", "image": "host", "lease": True, "size": 2, "available": 1, "in_use": 1, "hits": 5, "misses": 3, "problem": None}
    r, requests = against(answer({"pools": [one, {**one, "runtime": None, "lease": False, "problem": "no\x1b[7m room"}]}), "pool", "ls")
    expect(r)
    same((requests[0].method, requests[0].path), ("GET", "/v1/pools"), "request")
    lines = [line.split() for line in r.out.splitlines()]
    same((lines[0][0], lines[1][:8], lines[2][:3]), ("RUNTIME", ["python3", "host", "leases", "2", "1", "1", "5", "3"], ["(any)", "host", "executions"]), "table")
    ensure("\x1b" not in r.out, "control characters", r)
    same(against(answer({"pools": [one]}), "pool", "ls", "--json")[0].json(), {"pools": [one]}, "answer")


@test
def exec_passes_every_byte_of_output():
    data = random.Random(1).randbytes(300_000)
    parts = [output("stdout", data[i : i + 9999]) for i in range(0, len(data), 9999)]
    r, requests = against(
        events(event("start", {"id": EXE, "pid": 7}), b": comment\n\n", *parts, output("stderr", b"\0\xff"), exit_event(3)),
        "exec", SBX, "sh", "-c", "code", "arg")
    same(r.rc, 3, "exit status", r)
    ensure(r.raw == data, "the output came back changed", r)
    same(r.raw_err, b"\0\xff", "stderr")
    request = requests[0]
    same(request.path, f"/v1/sandboxes/{SBX}/exec", "path")
    same(request.headers["accept"], "text/event-stream", "Accept")
    same(request.json(), {"runtime": "sh", "code": "code", "args": ["arg"], "encoding": "base64"}, "body")


@test
def exec_takes_text_events_too():
    r, _ = against(events(event("stdout", {"text": "h\u00e4\n"}), exit_event()), "exec", SBX, "--", "x")
    expect(r, out="h\u00e4\n")


@test
def exec_prints_output_before_the_program_ends():
    go_on = threading.Event()

    def slowly(request, connection):
        yield head(200, Content_Type="text/event-stream") + output("stdout", b"first\n")
        go_on.wait(60)
        yield exit_event()

    with Fake(slowly) as server:
        p = spawn("exec", SBX, "--", "x", env=server.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        same(p.stdout.readline(), b"first\n", "the first line")
        same(p.poll(), None, "exit status meanwhile")
        go_on.set()
        same(p.wait(10), 0, "exit status")
        p.stdout.close()


@test
def exec_exit_status_shows_why_the_program_ended():
    cases = [("timeout", 143, 124), ("memory_limit", 137, 137), ("signaled", 139, 139), ("cpu_limit", 137, 137),
             ("exited", 255, 255), ("interrupted", None, 125), ("exited", "junk", 125), ("exited", 99999, 125)]
    for status, code, expected in cases:
        r, _ = against(events(exit_event(code, status)), "exec", SBX, "--", "x")
        expect(r, rc=expected, out="", err="" if status in ("exited", "signaled") else f"cella: {status}\n")


@test
def exec_sends_standard_input():
    data = random.Random(2).randbytes(1_000_000)
    r, requests = against(events(exit_event()), "exec", SBX, "--", "cat", input=data)
    expect(r, out="")
    ensure(base64.b64decode(requests[0].json()["stdin"]["base64"]) == data, "standard input arrived changed")
    _, requests = against(events(exit_event()), "exec", "--no-stdin", SBX, "--", "cat", input=b"x")
    ensure("stdin" not in requests[0].json(), "stdin was sent")


@test
def exec_standard_input_has_a_maximum():
    r, requests = against(events(exit_event()), "exec", SBX, "--", "cat", input=b"x" * (17 << 20))
    refused(r, 125, "16 MiB", "cella cp")
    same(requests, [], "requests")


@test
def exec_code_from_a_file_and_from_standard_input():
    with open("c.py", "w") as f:
        f.write("print('\u00e4')\n")
    _, requests = against(events(exit_event()), "exec", SBX, "python3", "c.py", "a")
    same(requests[0].json(), {"runtime": "python3", "code": "print('\u00e4')\n", "args": ["a"], "encoding": "base64"}, "body")
    _, requests = against(events(exit_event()), "exec", SBX, "python3", "-", input="code")
    same(requests[0].json(), {"runtime": "python3", "code": "code", "encoding": "base64"}, "body")


@test
def exec_refuses_code_that_json_cannot_carry():
    for data in (b"a\0b", b"\xff"):
        with open("c", "wb") as f:
            f.write(data)
        r, requests = against(events(exit_event()), "exec", SBX, "sh", "c")
        refused(r, 2, "UTF-8")
        same(requests, [], "requests")


@test
def exec_without_a_sandbox_uses_a_fresh_one_or_a_session():
    cases = [(["-"], {}), (["--session", "s"], {"session": "s"}), (["--agent", "a", "--workspace", "rw"], {"agent": "a", "workspace": "rw"}),
             (["--scope", "shared", "-"], {"scope": "shared"}), (["-", "--session", "s"], {"session": "s"}),
             (["--image", "tiny", "--engine", "docker", "-"], {"image": "tiny", "engine": "docker"}),
             (["-", "--allow-import", "json", "--allow-import", "re"], {"allowed_imports": ["json", "re"]})]
    for words, fields in cases:
        r, requests = against(events(exit_event()), "exec", *words, "--", "x", "--json")
        expect(r, out="")
        same(requests[0].path, "/v1/exec", "path")
        same(requests[0].json(), {"command": ["x", "--json"], "encoding": "base64", **fields}, "body")


@test
def exec_options_are_accepted_before_and_after_the_sandbox():
    _, requests = against(events(exit_event()), "exec", "--timeout", "5s", SBX, "--env", "A=b=c", "--cwd", "/tmp", "--kill-on-output", "--", "x")
    same(requests[0].json(), {"command": ["x"], "env": {"A": "b=c"}, "cwd": "/tmp", "limits": {"timeout_ms": 5000},
                              "on_output_limit": "kill", "encoding": "base64"}, "body")


@test
def wrong_arguments_of_exec_are_usage_errors():
    for words in ([], ["python3", "-c", "x"], [SBX], [SBX, "sh"], [SBX, "sh", "-c"], [SBX, "--session", "s", "--", "x"],
                  ["--background", "-", "--", "x"], [SBX, "--image", "x", "--", "x"], [SBX, "--engine", "native", "--", "x"], [SBX, "--env", "x", "--", "x"], ["../..", "--", "x"]):
        r, requests = against(events(exit_event()), "exec", *words)
        refused(r, 2)
        same(requests, [], "requests")


@test
def exec_json_prints_the_result():
    result = {"id": EXE, "status": "timeout", "exit_code": 143, "stdout": "\x1b[31m\n"}
    r, requests = against(answer(result), "exec", "--json", SBX, "--", "x")
    same(r.rc, 124, "exit status", r)
    same(r.json(), result, "result", r)
    ensure("encoding" not in requests[0].json(), "base64 was asked for")


@test
def exec_waits_as_long_as_the_code_runs():
    def late(request, connection):
        time.sleep(1)
        yield answer({"status": "exited", "exit_code": 0})

    same(against(late, "exec", "--json", SBX, "--", "x", env={"CELLA_TIMEOUT": "200ms"})[0].rc, 0, "exit status")


@test
def exec_detached_prints_the_id():
    r, requests = against(answer({"id": EXE, "status": "running"}, 202), "exec", "--detach", SBX, "--", "x")
    expect(r, out=EXE + "\n")
    same(requests[0].json(), {"command": ["x"], "detach": True}, "body")


@test
def exec_in_the_background_prints_the_pid():
    r, requests = against(answer({"pid": 17, "id": EXE}, 201), "exec", "--background", SBX, "--", "x")
    expect(r, out="17\n")
    same(requests[0].path, f"/v1/sandboxes/{SBX}/processes", "path")


@test
def exec_shows_an_error_that_came_late():
    r, _ = against(events(output("stdout", b"x"), event("error", {"error": {"kind": "internal", "message": "bug 7"}})), "exec", SBX, "--", "x")
    expect(r, rc=125, out="x", err="cella: bug 7\n")


@test
def exec_without_an_end_is_an_error():
    for parts in ([], [output("stdout", b"")], [event("exit", [])], [b"event: exit\ndata: {\n\n"], [b"event: stdout\ndata: {}\n\n"],
                  [b'event: stdout\ndata: {"base64": "x"}\n\n']):
        r, _ = against(events(*parts), "exec", SBX, "--", "x")
        same(r.rc, 125, "exit status", r)


@test
def exec_event_without_end_is_refused():
    def endless(request, connection):
        yield head(200, Content_Type="text/event-stream") + b"data: "
        while True:
            yield b"x" * 1_000_000

    refused(against(endless, "exec", SBX, "--", "x")[0], 125, "an event of more than")


def signalled(number):
    def wait(request, connection):
        yield head(200, Content_Type="text/event-stream") + output("stdout", b"go\n")
        connection.more()

    with Fake(wait) as server:
        p = spawn("exec", SBX, "--", "x", env=server.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        same(p.stdout.readline(), b"go\n", "the first line")
        p.send_signal(number)
        same(p.wait(10), 128 + number, "exit status")
        ensure(server.gone.wait(30), "the connection was not closed")
        p.stdout.close()


test(lambda: signalled(signal.SIGINT), name="ctrl_c_closes_the_connection_of_exec")
test(lambda: signalled(signal.SIGTERM), name="sigterm_closes_the_connection_of_exec")


@test
def exec_ends_if_its_output_has_no_reader():
    def flood(request, connection):
        yield head(200, Content_Type="text/event-stream")
        while True:
            yield output("stdout", b"x" * 10000)

    with Fake(flood) as server:
        p = spawn("exec", SBX, "--", "x", env=server.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        p.stdout.read(10)
        p.stdout.close()
        same(p.wait(10), 128 + signal.SIGPIPE, "exit status")
        ensure(server.gone.wait(30), "the connection was not closed")


@test
def ls_prints_a_table_that_is_safe():
    sandboxes = [
        {"id": SBX, "state": "running", "created": "2020-01-01T00:00:00.000Z", "expires": None, "idle_timeout_ms": 3600000,
         "executions": 3, "metadata": {"k": "\x1b[31mred\n", "\u202e": "x"}},
        {"id": "sbx_" + "c" * 20, "state": "paused\x07", "created": "junk", "expires": "2099-01-01T00:00:00Z", "executions": 0, "metadata": {}},
        {"id": 7}, [], None, "x",
    ]
    r, requests = against(answer({"sandboxes": sandboxes}), "ls", "--state", "a&b", "--metadata", "k=v")
    same(r.rc, 0, "exit status", r)
    same(requests[0].query, {"state": ["a&b"], "metadata.k": ["v"]}, "query")
    lines = r.out.splitlines()
    same(lines[0].split(), ["ID", "NAME", "STATE", "AGE", "EXPIRES", "EXECUTIONS", "METADATA"], "heading", r)
    ensure(lines[1].split()[:3] == [SBX, "-", "running"] and "idle 60m" in lines[1] and "k=?[31mred?" in lines[1], "the first row", r)
    ensure("paused?" in lines[2] and " in " in lines[2], "the second row", r)
    ensure(all(c == "\n" or (c >= " " and c not in "\x7f\u202e") for c in r.out), "something harmful was printed", r)


@test
def rm_continues_after_a_sandbox_that_cannot_be_removed():
    def some(request, connection):
        return error(404, "not_found", "no such sandbox") if request.path.endswith("x") else head(204)

    bad = "sbx_" + "x" * 20
    r, requests = against(some, "rm", SBX, bad, "ju/nk", SBX)
    same([q.method for q in requests], ["DELETE"] * 3, "requests")
    same(r.rc, 125 if r.rc == 125 else 2, "exit status", r)
    ensure("no such sandbox" in r.err and "'ju/nk' is not the id" in r.err, "messages", r)
    expect(against(head(204), "rm", SBX)[0], out="")


@test
def ids_cannot_lead_elsewhere():
    for word in ("../keys", "sbx_/../keys", "sbx_a?b", "sbx_", "", "sbx_a%2f", "sbx_A"):
        for words in (["rm", word], ["ps", word], ["shell", word], ["kill", word, "1"]):
            r, requests = against(head(204), *words)
            same(r.rc, 2, "exit status", r)
            same(requests, [], "requests")


@test
def ps_lists_processes_and_executions():
    def both(request, connection):
        if request.path == "/v1/executions":
            same(request.query, {"sandbox": [SBX], "status": ["running"]}, "query")
            return answer({"executions": [{"id": EXE, "status": "running", "runtime": "python3"}, {"id": "exe_p", "status": "running"}], "cursor": None})
        return answer({"processes": [{"pid": 7, "id": "exe_p", "state": "exited", "exit_code": 1, "command": ["sleep", "\x1b1"]}]})

    r, _ = against(both, "ps", SBX)
    same(r.rc, 0, "exit status", r)
    lines = r.out.splitlines()
    same(len(lines), 3, "lines", r)
    same(lines[1].split(), ["7", "exe_p", "exited", "1", "-", "sleep", "?1"], "process", r)
    same(lines[2].split(), ["-", EXE, "running", "-", "-", "python3"], "execution", r)


@test
def kill_sends_signals_and_cancels():
    for words, body in (([], {"signal": "TERM"}), (["--signal", "SIGKILL"], {"signal": "KILL"}), (["--signal", "9"], {"signal": 9})):
        r, requests = against(answer({}), "kill", SBX, "17", *words)
        expect(r, out="")
        same((requests[0].method, requests[0].path), ("POST", f"/v1/sandboxes/{SBX}/processes/17/signal"), "request")
        same(requests[0].json(), body, "body")
    r, requests = against(answer({"id": EXE, "status": "cancelled"}, 202), "kill", EXE)
    expect(r, out="")
    same((requests[0].method, requests[0].path), ("DELETE", f"/v1/executions/{EXE}"), "request")
    for words in ([], [SBX], [SBX, "x"], [EXE, "--signal", "9"], ["junk"], [SBX, "1", "2"]):
        refused(against(answer({}), "kill", *words)[0], 2)


@test
def settings_are_shown_by_name():
    document = {"mode": "all", "limits": {"memory_bytes": 536870912, "cpus": 0.5, "cpu_time_ms": None}, "pools": [], "x": "\x1b"}
    for key, out in (("limits.memory_bytes", "536870912\n"), ("mode", "all\n"), ("limits.cpu_time_ms", "null\n"), ("pools", "[]\n"), ("limits.cpus", "0.5\n"), ("x", "?\n")):
        expect(against(answer(document), "settings", "get", key)[0], out=out)
    r, _ = against(answer(document), "settings", "get")
    same(r.json(), document, "document", r)
    refused(against(answer(document), "settings", "get", "limits.memroy_bytes")[0], 2, "did you mean memory_bytes?")
    refused(against(answer(document), "settings", "get", "mode.x")[0], 2)
    refused(against(answer(document), "settings", "get", "a..b")[0], 2)


@test
def settings_are_set_by_name():
    cases = [("mode", "off", {"mode": "off"}), ("limits.memory_bytes", "512M", {"limits": {"memory_bytes": 536870912}}),
             ("limits.timeout_ms", "5s", {"limits": {"timeout_ms": 5000}}), ("limits.timeout_ms", "5", {"limits": {"timeout_ms": 5}}),
             ("limits.cpu_time_ms", "null", {"limits": {"cpu_time_ms": None}}), ("pools", '[{"size": 1}]', {"pools": [{"size": 1}]}),
             ("workspace_root", "/srv/\"x", {"workspace_root": "/srv/\"x"}), ("audit.keep_output", "true", {"audit": {"keep_output": True}})]
    for key, value, body in cases:
        r, requests = against(answer({}), "settings", "set", key, value)
        expect(r, out="")
        same((requests[0].method, requests[0].path), ("PATCH", "/v1/settings"), "request")
        same(requests[0].json(), body, "body")
    refused(against(answer({}), "settings", "set", "limits.memory_bytes", "lots")[0], 2, "a size like 512M")
    refused(against(answer({}), "settings", "set", "mode")[0], 2)


@test
def keys_are_made_listed_and_removed():
    r, requests = against(answer({"id": "key_1", "key": "cella_s3cret"}, 201), "key", "add", "bob", "--capability", "files",
                          "--capability", "sandbox.exec", "--tier", "restricted", "--sandboxes", "3", "--memory", "1G")
    expect(r, out="cella_s3cret\n")
    same(requests[0].json(), {"name": "bob", "capabilities": ["files", "sandbox.exec"], "tier": "restricted", "sandboxes_max": 3,
                              "limits": {"memory_bytes": 1073741824}}, "body")
    r, _ = against(answer({"keys": [{"id": "key_1", "name": "b\x1bob", "capabilities": ["files"], "tier": "restricted", "sandboxes_max": None}]}), "key", "ls")
    same(r.out.splitlines()[1].split(), ["key_1", "b?ob", "files", "-", "restricted", "-", "-"], "row", r)
    r, requests = against(head(204), "key", "rm", "key/1")
    expect(r, out="")
    same(requests[0].target, "/v1/keys/key%2F1", "target")
    for words in ([], ["add"], ["ls", "x"], ["remove", "x"]):
        refused(against(head(204), "key", *words)[0], 2)


@test
def logs_are_paged_up_to_the_limit():
    def pages(request, connection):
        n, cursor = int(request.query["limit"][0]), int(request.query.get("cursor", ["0"])[0])
        rows = [{"id": f"exe_{i}", "status": "exited", "exit_code": i, "duration_ms": 1.25, "started": "2026-11-15T05:00:00.000Z"} for i in range(cursor, cursor + min(n, 1000))]
        return answer({"executions": rows, "cursor": str(cursor + len(rows))})

    r, requests = against(pages, "logs", "--limit", "2500", "--session", "s s")
    same(len(r.out.splitlines()), 2501, "lines", r)
    same([q.query["limit"][0] for q in requests], ["1000", "1000", "500"], "limits")
    same(requests[0].query["session"], ["s s"], "session")
    same(len(against(pages, "logs")[0].out.splitlines()), 21, "lines")


@test
def logs_end_at_a_repeated_cursor():
    r, requests = against(answer({"executions": [{"id": EXE}], "cursor": "1"}), "logs", "--limit", "1000000")
    same(len(requests), 2, "requests", r)
    r, requests = against(answer({"executions": [], "cursor": "1"}), "logs")
    same(len(requests), 1, "requests", r)


@test
def logs_show_an_execution_in_full_without_control_characters():
    one = {"id": EXE, "status": "exited", "usage": {"cpu_ms": 1.5}, "code": "line 1\nline \x1b2\n", "stdout": "x\n\ty\x07\n", "session": None}
    r, requests = against(answer(one), "logs", EXE)
    same(requests[0].path, f"/v1/executions/{EXE}", "path")
    ensure("\n--- code\nline 1\nline ?2\n" in r.out and "\n--- stdout\nx\n\ty?\n" in r.out and "cpu_ms=1.5" in r.out, "what was shown", r)
    same(against(answer(one), "logs", EXE, "--json")[0].json(), one, "JSON")
    refused(against(answer(one), "logs", "junk")[0], 2)


@test
def logs_since_a_while_ago():
    _, requests = against(answer({"executions": []}), "logs", "--since", "10m")
    ago = time.time() * 1000 - int(requests[0].query["since"][0])
    ensure(599_000 < ago < 615_000, f"since is {ago} ms ago")
    _, requests = against(answer({"executions": []}), "logs", "--since", "2026-11-15T05:00:00Z")
    same(requests[0].query["since"], ["2026-11-15T05:00:00Z"], "since")


@test
def logs_verify_shows_the_verdict():
    r, _ = against(answer({"rows": 7, "ok": True, "first_bad": None, "why": None}), "logs", "--verify")
    expect(r, out="ok: 7 rows, the chain of hashes is intact\n")
    r, _ = against(answer({"rows": 7, "ok": False, "first_bad": 3, "why": "row \x1b3 was changed"}), "logs", "--verify")
    expect(r, rc=1, out="BROKEN at row 3 of 7: row ?3 was changed\n")
    same(against(answer({}), "logs", "--verify")[0].rc, 1, "exit status")


@test
def logs_follow_shows_each_execution_once():
    rows = [{"id": "exe_1", "status": "exited", "started": "2026-11-15T05:00:00Z"}]
    with Fake(lambda request, connection: answer({"executions": rows, "cursor": None})) as server:
        p = spawn("logs", "--follow", env=server.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        ensure(p.stdout.readline().startswith(b"exe_1"), "the first line")
        rows.insert(0, {"id": "exe_2", "status": "running"})
        time.sleep(1.2)
        rows[0] = {"id": "exe_2", "status": "exited"}
        rows.insert(0, {"id": "exe_3", "status": "timeout"})
        ensure(p.stdout.readline().startswith(b"exe_2"), "the second line")
        ensure(p.stdout.readline().startswith(b"exe_3"), "the third line")
        p.terminate()
        p.wait(10)
        p.stdout.close()


# cp


def sandbox_with(files, requests_seen=None):
    """Answers for the files of a sandbox: path -> bytes, a dict (a directory), or None (a symbolic link)."""

    def handle(request, connection):
        if request.path.endswith("/files/stat"):
            path = request.json()["path"]
            path = path[:-2] if path.endswith("/.") else path
            if path not in files:
                return error(404, "not_found", f"no such file: {path}")
            kind = "directory" if isinstance(files[path], dict) else "file"
            return answer({"path": path, "type": kind, "bytes": 1, "mode": "4751"})
        path = request.query["path"][0]
        if request.method == "PUT":
            files[path] = request.body
            return answer({"path": path}, 201)
        if request.path.endswith("/archive"):
            return chunked(files[path]["tar"], 4000, type="application/x-tar")
        return head(200, Content_Length=len(files[path])) + files[path]

    return handle


@test
def cp_puts_a_file_into_a_sandbox():
    data = random.Random(3).randbytes(200_000)
    with open("f", "wb") as f:
        f.write(data)
    os.chmod("f", 0o4755)
    files = {"/dir": {}}
    for target, path in (("/a b&c", "/a b&c"), ("/dir", "/dir/f"), ("new/", "new/f"), ("", "./f")):
        if not target:
            files["."] = {}
        r, requests = against(sandbox_with(files), "cp", "f", f"{SBX}:{target}")
        expect(r, out="")
        ensure(files[path] == data, f"{path} is different", r)
        same(requests[-1].query["mode"], ["0755"], "mode")


@test
def cp_reads_standard_input_and_writes_standard_output():
    data = random.Random(4).randbytes(3_000_000)
    files = {"/dir": {}}
    expect(against(sandbox_with(files), "cp", "-", f"{SBX}:/f", input=data)[0], out="")
    ensure(files["/f"] == data, "the file is different")
    expect(against(sandbox_with(files), "cp", f"{SBX}:/f", "-")[0], out=data)
    refused(against(sandbox_with(files), "cp", "-", f"{SBX}:/dir", input=data)[0], 2, "is a directory")
    refused(against(sandbox_with(files), "cp", f"{SBX}:/dir", "-")[0], 2, "is a directory")


@test
def cp_takes_a_file_out_of_a_sandbox():
    data = random.Random(5).randbytes(200_000)
    files = {"/x/f": data}
    os.mkdir("d")
    with open("old", "w") as f:
        f.write("old")
    for target, path in (("g", "g"), ("d", "d/f"), ("d/", "d/f"), ("old", "old")):
        expect(against(sandbox_with(files), "cp", f"{SBX}:/x/f", target)[0], out="")
        with open(path, "rb") as f:
            ensure(f.read() == data, f"{path} is different")
        same(os.stat(path).st_mode & 0o7777, 0o751 & ~0o022, "mode")
    same(sorted(n for n in os.listdir(".") if not n.endswith(".sock")), ["d", "g", "old"], "files")


@test
def cp_that_is_cut_off_keeps_the_old_file():
    with open("f", "w") as f:
        f.write("old")

    def breaks(request, connection):
        if request.method == "POST":
            return answer({"type": "file", "mode": "644"})
        return head(200, Content_Length=100) + b"new"

    refused(against(breaks, "cp", f"{SBX}:/f", "f")[0], 125, "ends too early")
    same(open("f").read(), "old", "content")
    same([n for n in os.listdir(".") if not n.endswith(".sock")], ["f"], "files")


@test
def cp_that_is_interrupted_leaves_nothing():
    def slow(request, connection):
        if request.method == "POST":
            yield answer({"type": "file", "mode": "644"})
            return
        yield head(200, Content_Length=100) + b"new"
        connection.more()

    with Fake(slow) as server:
        p = spawn("cp", f"{SBX}:/f", "f", env=server.env, stdin=subprocess.DEVNULL)
        until(lambda: any(n.startswith(".cella_") for n in os.listdir(".")), 20, "the unfinished file")
        p.send_signal(signal.SIGINT)
        same(p.wait(10), 130, "exit status")
    same([n for n in os.listdir(".") if not n.endswith(".sock")], [], "files")


@test
def cp_of_a_missing_file_is_an_error():
    refused(against(sandbox_with({}), "cp", f"{SBX}:/f", "f")[0], 125, "no such file: /f")
    refused(against(sandbox_with({}), "cp", "missing", f"{SBX}:/f")[0], 2, "missing")
    for words in (["a", "b"], [f"{SBX}:a", f"{SBX}:b"], ["a"], ["a", "b", "c"], ["sbx_!:a", "b"]):
        refused(against(sandbox_with({}), "cp", *words)[0], 2)


@test
def cp_refused_in_the_middle_shows_the_reason():
    class Early(Fake):
        def serve(self, sock):
            connection = fake.Connection(sock)
            line = connection.line()
            if line.startswith(b"POST"):
                sock.sendall(error(404, "not_found", "nothing there"))
            else:
                while connection.line():
                    pass
                sock.sendall(error(413, "too_large", "over the limit", "make it smaller"))
            closed = select.poll()  # closed by the client: bytes that it has not read would be lost
            closed.register(sock, select.POLLRDHUP)
            closed.poll(20000)
            sock.close()

    with open("f", "wb") as f:
        f.truncate(50_000_000)
    with Early(None) as server:
        refused(cella(["cp", "f", f"{SBX}:/f"], env=server.env), 125, "over the limit", "make it smaller")


def tar_of(*entries):
    """(name, kind, more) -> a tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as t:
        for name, kind, more in entries:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.mode = 0o6755 if kind == tarfile.REGTYPE else 0o755
            if kind == tarfile.REGTYPE:
                info.size = len(more)
                t.addfile(info, io.BytesIO(more))
            else:
                info.linkname = more
                t.addfile(info)
    return out.getvalue()


@test
def cp_copies_a_directory_in_both_directions():
    os.makedirs("src/deep/er")
    for i in range(50):
        with open(f"src/deep/{'n' * i}{i}", "wb") as f:
            f.write(os.urandom(i * 100))
    os.symlink("deep/er", "src/link")
    files = {"/dir": {}}
    expect(against(sandbox_with(files), "cp", "src", f"{SBX}:/dir")[0], out="")
    same(sorted(files), ["/dir", "/dir/src"], "paths")
    files["/dir/src"] = {"tar": files["/dir/src"]}
    expect(against(sandbox_with(files), "cp", f"{SBX}:/dir/src", "back")[0], out="")
    os.mkdir("into")
    expect(against(sandbox_with(files), "cp", f"{SBX}:/dir/src", "into")[0], out="")
    for there in ("back", "into/src"):
        same(subprocess.run(["diff", "-r", "--no-dereference", "src", there]).returncode, 0, "difference")
    os.mkdir("content")
    files["/dir/src/."] = files["/dir/src"]
    expect(against(sandbox_with(files), "cp", f"{SBX}:/dir/src/.", "content")[0], out="")
    same(sorted(os.listdir("content")), ["deep", "link"], "content")


@test
def cp_never_writes_outside_of_its_directory():
    os.mkdir("victim")
    outside = os.getcwd() + "/victim"
    hostile = {
        "absolute": [(outside + "/x", tarfile.REGTYPE, b"x")],
        "up": [("../victim/x", tarfile.REGTYPE, b"x")],
        "up_inside": [("a/../../victim/x", tarfile.REGTYPE, b"x")],
        "link_then_file": [("l", tarfile.SYMTYPE, outside), ("l/x", tarfile.REGTYPE, b"x")],
        "link_then_directory": [("l", tarfile.SYMTYPE, outside), ("l/x", tarfile.DIRTYPE, "")],
        "link_then_link": [("l", tarfile.SYMTYPE, outside), ("l/x", tarfile.SYMTYPE, "y")],
        "links_in_steps": [("a", tarfile.SYMTYPE, "."), ("a/b", tarfile.SYMTYPE, ".."), ("a/b/victim/x", tarfile.REGTYPE, b"x")],
        "directory_over_link": [("l", tarfile.SYMTYPE, outside), ("l", tarfile.DIRTYPE, ""), ("l/x", tarfile.REGTYPE, b"x")],
    }
    for name, entries in hostile.items():
        for option in ([], ["--keep-links"]):
            r, _ = against(sandbox_with({"/d": {"tar": tar_of(*entries)}}), "cp", *option, f"{SBX}:/d", f"out-{name}{len(option)}")
            if option or not name.startswith(("link", "directory")):
                refused(r, 125, "the archive has")
            same(os.listdir("victim"), [], f"victim after {name}", r)
    r, _ = against(sandbox_with({"/d": {"tar": tar_of(("h", tarfile.LNKTYPE, outside), ("c", tarfile.CHRTYPE, ""), ("f", tarfile.REGTYPE, b"x"))}}),
                   "cp", f"{SBX}:/d", "out")
    refused(r, 125, "2 entries were left out")
    same(os.listdir("out"), ["f"], "files", r)
    same(stat.S_IMODE(os.stat("out/f").st_mode), 0o755, "mode")


def tree(*entries):
    """Returns files for sandbox_with(): a directory /d with this content."""
    return {path: {"tar": tar_of(*entries)} for path in ("/d", "/d/.")}


def contents(top):
    """Returns the content of a tree: path -> bytes of a file, target of a link, None for a directory, the type of a device or FIFO."""
    found = {}
    for at, directories, names in os.walk(top):
        for name in directories + names:
            path = os.path.join(at, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                value = os.readlink(path)
            elif stat.S_ISREG(mode):
                with open(path, "rb") as f:
                    value = f.read()
            else:
                value = None if stat.S_ISDIR(mode) else stat.S_IFMT(mode)
            found[os.path.relpath(path, top)] = value
    return found


@test
def cp_twice_does_not_follow_the_link_that_the_first_copy_brought():
    os.mkdir("victim")
    victim = os.getcwd() + "/victim"
    tar = tar_of(("out", tarfile.SYMTYPE, victim), ("authorized_keys", tarfile.REGTYPE, b"KEY"))
    for _ in range(3):
        r, _ = against(sandbox_with({"/workspace/out": {"tar": tar}}), "cp", f"{SBX}:/workspace/out", "./out")
        same((r.rc, os.listdir("victim")), (0, []), "status and victim", r)
        ensure("left out 1 symbolic link that leads out of the copied directory; --keep-links" in r.err, "a warning", r)
    same(contents("out"), {"authorized_keys": b"KEY", "out": None, "out/authorized_keys": b"KEY"}, "the copies")


@test
def cp_twice_with_keep_links_does_not_follow_the_link_either():
    os.mkdir("victim")
    victim = os.getcwd() + "/victim"
    tar = tar_of(("out", tarfile.SYMTYPE, victim), ("authorized_keys", tarfile.REGTYPE, b"KEY"))
    words = ("cp", "--keep-links", f"{SBX}:/workspace/out", "./out")
    expect(against(sandbox_with({"/workspace/out": {"tar": tar}}), *words)[0], out="")
    for _ in range(2):
        refused(against(sandbox_with({"/workspace/out": {"tar": tar}}), *words)[0], 2, "'./out/out' is a symbolic link: not followed")
        same(os.listdir("victim"), [], "victim")
    same(contents("out"), {"authorized_keys": b"KEY", "out": victim}, "the first copy")


@test
def cp_does_not_follow_links_below_its_destination():
    os.mkdir("victim")
    victim = os.getcwd() + "/victim"
    os.makedirs("out/a/b")
    for path in ("out/d", "out/a/b/l", "out/dir"):
        os.symlink(victim, path)
    for entry in ("d/x", "a/b/l/x", "a/b/l/deep/x"):
        r, _ = against(sandbox_with(tree((entry, tarfile.REGTYPE, b"x"))), "cp", f"{SBX}:/d/.", "out")
        refused(r, 125, "below a link or file")
        same(os.listdir("victim"), [], f"victim after {entry}", r)
    refused(against(sandbox_with({"/dir": {"tar": tar_of(("x", tarfile.REGTYPE, b"x"))}}), "cp", f"{SBX}:/dir", "out")[0], 2, "not followed")
    refused(against(sandbox_with({"/dir": b"x"}), "cp", f"{SBX}:/dir", "out")[0], 2, "is not a regular file")
    os.symlink("nothing", "dangling")
    refused(against(sandbox_with({"/dir": {"tar": tar_of()}}), "cp", f"{SBX}:/dir", "dangling")[0], 2, "not followed")
    same(os.listdir("victim"), [], "victim")
    ensure(not os.path.lexists("nothing"), "something was made through a dangling link")


@test
def cp_follows_the_links_of_the_path_that_was_typed():
    os.makedirs("real/sub")
    os.symlink("real", "mine")
    expect(against(sandbox_with({"/f": b"x"}), "cp", f"{SBX}:/f", "mine")[0], out="")
    expect(against(sandbox_with({"/f": b"y"}), "cp", f"{SBX}:/f", "mine/sub/g")[0], out="")
    expect(against(sandbox_with({"/d": {"tar": tar_of(("z", tarfile.REGTYPE, b"z"))}}), "cp", f"{SBX}:/d", "mine/")[0], out="")
    same(contents("real"), {"f": b"x", "sub": None, "sub/g": b"y", "d": None, "d/z": b"z"}, "real")
    ensure(os.path.islink("mine"), "the link is gone")


@test
def cp_replaces_a_link_to_a_file_and_writes_to_nothing_but_files():
    with open("secret", "w") as f:
        f.write("untouched")
    os.mkdir("out")
    os.mkfifo("fifo")
    reader = os.open("fifo", os.O_RDONLY | os.O_NONBLOCK)  # without one, opening it to write would wait
    os.symlink("../secret", "out/f")
    os.symlink("nothing", "out/g")
    for name in ("f", "g"):
        expect(against(sandbox_with({f"/{name}": b"new"}), "cp", f"{SBX}:/{name}", "out")[0], out="")
    same(contents("out"), {"f": b"new", "g": b"new"}, "the copies")
    same(open("secret").read(), "untouched", "what the link led to")
    os.symlink("../fifo", "out/p")
    os.symlink("/dev/null", "out/n")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("s.sock")
    for target in ("out/p", "out/n", "fifo", "/dev/null", "/dev/stdout", "s.sock"):
        before = os.lstat(target)
        r, _ = against(sandbox_with({"/p": b"new"}), "cp", f"{SBX}:/p", target)
        refused(r, 2, "is not a regular file: nothing was written", "use - as DST to write to standard output")
        same(os.lstat(target).st_ino, before.st_ino, f"the inode of {target}", r)
    os.symlink("/proc/self/fd/1", "stdout")  # as in /dev; with a file as standard output it leads to a regular file
    with open("redirected", "wb") as out:
        refused(against(sandbox_with({"/p": b"new"}), "cp", f"{SBX}:/p", "stdout", stdout=out)[0], 2, "is not a regular file")
    ensure(os.path.islink("stdout"), "the link to the standard output was replaced")
    for name in ("p", "n"):
        refused(against(sandbox_with({f"/{name}": b"new"}), "cp", f"{SBX}:/{name}", "out")[0], 2, "is not a regular file")
    os.mkfifo("out/q")
    r, _ = against(sandbox_with(tree(("q", tarfile.REGTYPE, b"x"))), "cp", f"{SBX}:/d/.", "out")
    refused(r, 125, "is a device, FIFO or socket here: not replaced")
    try:
        same(os.read(reader, 10), b"", "what came through the FIFO")
    finally:
        os.close(reader)
        listener.close()


@test
def cp_copies_links_that_stay_in_the_directory_and_leaves_out_the_others():
    inside = {"l": "f", "a/up": "..", "a/b/f": "../../f", "dangling": "no/thing", "loop": "loop"}
    outside = {"abs": "/etc/passwd", "dotdot": "..", "a/b/far": "../../../x", "steps": "a/up/..", "same": "../out/f"}
    entries = [("f", tarfile.REGTYPE, b"x"), *((path, tarfile.SYMTYPE, target) for path, target in {**inside, **outside}.items())]
    files = {"/d": {"tar": tar_of(*entries)}}
    for target in ("once", "once", "all"):  # the second goes to once/d
        r, _ = against(sandbox_with(files), "cp", *(["--keep-links"] if target == "all" else []), f"{SBX}:/d", target)
        same((r.rc, "left out 5 symbolic links" in r.err), (0, target == "once"), "status and warning", r)
    made = {"f": b"x", "a": None, "a/b": None, **inside}
    same(contents("once/d"), made, "the second copy")
    same(contents("all"), {**made, **outside}, "the copy with all links")


@test
def cp_of_the_same_directory_again_replaces_files_and_links():
    first = [("f", tarfile.REGTYPE, b"old"), ("l", tarfile.SYMTYPE, "f"), ("turns", tarfile.SYMTYPE, "f"), ("d/g", tarfile.REGTYPE, b"old")]
    second = [("f", tarfile.REGTYPE, b"new"), ("l", tarfile.SYMTYPE, "d"), ("turns", tarfile.REGTYPE, b"file"), ("d/h", tarfile.REGTYPE, b"new")]
    for entries in (first, second):
        expect(against(sandbox_with(tree(*entries)), "cp", f"{SBX}:/d/.", "out")[0], out="")
    same(contents("out"), {"f": b"new", "l": "d", "turns": b"file", "d": None, "d/g": b"old", "d/h": b"new"}, "out")
    for entries in ([("f", tarfile.DIRTYPE, "")], [("f/x", tarfile.REGTYPE, b"x")], [("d", tarfile.REGTYPE, b"x")], [("d", tarfile.SYMTYPE, "f")]):
        before = contents("out")
        r, _ = against(sandbox_with(tree(*entries)), "cp", f"{SBX}:/d/.", "out")
        same((r.rc, contents("out")), (125, before), f"after {entries[0]}", r)


@test
def cp_names_in_messages_cannot_steer_the_terminal():
    name = "\x1b]0;title\x07\x1b[2J\u202e"
    for entries in ([(f"../{name}", tarfile.REGTYPE, b"x")], [(name, tarfile.REGTYPE, b"x"), (name, tarfile.DIRTYPE, "")]):
        r, _ = against(sandbox_with({"/d": {"tar": tar_of(*entries)}}), "cp", f"{SBX}:/d", "out")
        same(r.rc, 125, "exit status", r)
        ensure(not any(c in r.err for c in "\x1b\x07\u202e"), "control characters", r)


@test
def cp_out_of_a_sandbox_is_limited_in_bytes():
    big = b"x" * 1000
    files = {"/f": big, "/d": {"tar": tar_of(*((f"f{i}", tarfile.REGTYPE, big) for i in range(3)))}}
    for words, made in ((["/f", "f"], {}), (["/d", "d"], {"d": None, "d/f0": big})):
        r, _ = against(sandbox_with(files), "cp", "--max-bytes", "999" if words[0] == "/f" else "1999", f"{SBX}:{words[0]}", words[1])
        refused(r, 125, "more than", "raise the limit with --max-bytes")
        same({k: v for k, v in contents(".").items() if not k.endswith(".sock")}, made, "what was made", r)
    r, _ = against(sandbox_with(files), "cp", "--max-bytes", "999", f"{SBX}:/f", "-")
    refused(r, 125, "more than 999 bytes")
    same(r.out, "", "standard output", r)
    expect(against(sandbox_with(files), "cp", "--max-bytes=1000", f"{SBX}:/f", "-")[0], out=big)
    expect(against(sandbox_with(files), "cp", "--max-bytes", "3000", f"{SBX}:/d", "whole")[0], out="")
    same(contents("whole"), {f"f{i}": big for i in range(3)}, "whole")

    def unsaid(request, connection):  # a length that is not announced
        return answer({"type": "file", "mode": "644"}) if request.method == "POST" else chunked(big * 10, 100)

    refused(against(unsaid, "cp", "--max-bytes", "5K", f"{SBX}:/f", "g")[0], 125, "more than 5120 bytes")
    ensure(not os.path.exists("g"), "a part of the file stays")
    for size in ("0", "x", "-1", ""):
        refused(against(unsaid, "cp", "--max-bytes", size, f"{SBX}:/f", "g")[0], 2, "a size like 512M")


@test
def cp_has_a_limit_without_an_option():
    def promises(size):
        header = tarfile.TarInfo("f")
        header.size = size

        def handle(request, connection):
            if request.method == "POST":
                return answer({"type": "directory" if "/d" in request.json()["path"] else "file", "mode": "644"})
            if request.path.endswith("/archive"):
                return chunked(header.tobuf(tarfile.PAX_FORMAT), 4000, type="application/x-tar")
            return head(200, Content_Length=size) + b"x"

        return handle

    for path in ("/f", "/d"):
        refused(against(promises((1 << 30) + 1), "cp", f"{SBX}:{path}", "out")[0], 125, "more than 1073741824 bytes")
        r, _ = against(promises(1 << 30), "cp", f"{SBX}:{path}", "out")
        ensure(r.rc == 125 and "more than" not in r.err, "the limit itself is refused", r)
    ensure(not os.path.exists("out/f"), "a file that did not come")
    entry = tarfile.TarInfo("f")

    def repeats(count):  # the same entry again and again
        def handle(request, connection):
            if request.method == "POST":
                return answer({"type": "directory", "mode": "755"})
            body = entry.tobuf(tarfile.PAX_FORMAT) * count + bytes(1024)
            return head(200, Content_Length=len(body), Content_Type="application/x-tar") + body

        return handle

    entry.type = tarfile.DIRTYPE
    expect(against(repeats(100_000), "cp", "--max-bytes", "1G", f"{SBX}:/d", "many")[0], out="")
    refused(against(repeats(100_001), "cp", f"{SBX}:/d", "many")[0], 125, "more than 100000 files, directories and links", "raise the limit with --max-entries")
    expect(against(repeats(100_001), "cp", "--max-entries", "100001", f"{SBX}:/d", "many")[0], out="")


@test
def cp_of_a_directory_that_is_interrupted_leaves_no_part_of_a_file():
    whole = tar_of(("f", tarfile.REGTYPE, b"x" * 5000))

    def slow(request, connection):
        if request.method == "POST":
            yield answer({"type": "directory", "mode": "755"})
            return
        yield head(200, Content_Length=len(whole), Content_Type="application/x-tar") + whole[:3000]
        connection.more()

    os.mkdir("out")
    with open("out/f", "w") as f:
        f.write("old")
    with Fake(slow) as server:
        p = spawn("cp", f"{SBX}:/d/.", "out", env=server.env, stdin=subprocess.DEVNULL)
        until(lambda: any(n.startswith(".cella_") for n in os.listdir("out")), 20, "the unfinished file")
        p.send_signal(signal.SIGTERM)
        same(p.wait(10), 143, "exit status")
    same(contents("out"), {"f": b"old"}, "files")


@test
def cp_does_not_follow_a_directory_that_becomes_a_link_during_the_copy():
    first = tar_of(("d/a", tarfile.REGTYPE, b"x"))[:1024]  # a header and its content
    rest = tar_of(("d/b", tarfile.REGTYPE, b"x"), ("c", tarfile.REGTYPE, b"x"))
    os.mkdir("victim")
    for swapped in ("out/d", "out"):
        go = threading.Event()

        def slow(request, connection, go=go):
            if request.method == "POST":
                yield answer({"type": "directory", "mode": "755"})
                return
            yield head(200, Content_Length=len(first + rest), Content_Type="application/x-tar") + first
            go.wait(20)
            yield rest

        with Fake(slow) as server:
            p = spawn("cp", f"{SBX}:/d", "out", env=server.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
            until(lambda: os.path.exists("out/d/a"), 20, "the first file")
            os.rename(swapped, "moved")
            os.symlink(os.path.abspath("victim"), swapped)
            go.set()
            said = p.communicate(timeout=20)[1].decode()
        same(os.listdir("victim"), [], f"victim after {swapped} was swapped: {said}")
        if swapped == "out":  # the copy goes on in the directory that it opened
            same((p.returncode, contents("moved")), (0, {"d": None, "d/a": b"x", "d/b": b"x", "c": b"x"}), "the directory that was moved")
        else:
            same((p.returncode, "below a link or file" in said), (125, True), "status and message")
            subprocess.run(["rm", "-rf", "out", "moved"], check=True)


@test
def the_manual_names_the_options_of_cp():
    with open(os.path.join(os.path.dirname(__file__), "../../doc/man/cp.1")) as f:
        section = f.read().replace("\\-", "-").replace("\\~", " ")
    options = re.findall(r"^ +(?:-[a-z], )?(--[a-z-]+)", cella(["cp", "--help"]).out, re.M)
    options = [o for o in options if o not in ("--socket", "--quiet")]
    same(sorted(options), ["--keep-links", "--max-bytes", "--max-entries"], "options")
    for word in (*options, "1G", "100000"):
        ensure(word in section, f"{word} is not in the manual")


@test
def cp_of_a_broken_archive_is_an_error():
    whole = tar_of(("f", tarfile.REGTYPE, b"x" * 5000))
    for data in (whole[:600], whole[:3000], b"junk" * 1000, whole[:100] + b"\xff" + whole[101:]):
        refused(against(sandbox_with({"/d": {"tar": data}}), "cp", f"{SBX}:/d", "out")[0], 125, "the archive is invalid")


# shell


def echo_shell(request, connection):
    """The server side of a terminal: prints its size, echoes in capitals, exits with 7 on q."""
    connection.sock.sendall(upgrade(request))
    connection.send_frame(2, f"size {request.query['cols'][0]}x{request.query['rows'][0]}\r\n".encode())
    connection.send_frame(9, b"ping")
    while True:
        opcode, data = connection.frame()
        if opcode == 1:
            connection.send_frame(2, b"text " + data + b"\r\n")
        elif opcode == 10:
            connection.send_frame(2, b"pong " + data + b"\r\n")
        elif opcode == 2 and data == b"q":
            connection.send_frame(1, b'{"exit', fin=False)
            connection.send_frame(0, b'_code": 7}')
            connection.send_frame(8, struct.pack(">H", 1000))
            opcode, data = connection.frame()
            if opcode != 8:
                raise ValueError("no close in answer to a close")
            return
        elif opcode == 2:
            for b in data.upper():
                connection.send_frame(2, bytes([b]))


@test
def shell_is_a_terminal():
    with Fake(echo_shell) as server:
        t = Terminal("shell", SBX, "--", "bash", env=server.env)
        t.wait(b"size 100x30")
        t.wait(b"pong ping")
        ensure(t.is_raw(), "the terminal is not raw")
        t.type(b"hello\x03\x1a")
        t.wait(b"HELLO\x03\x1a")
        fcntl.ioctl(t.master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
        t.wait(b'text {"resize": [120, 50]}')
        t.type(b"q")
        t.end(7)
        same(server.errors, [], "errors")
        same(server.requests[0].path, f"/v1/sandboxes/{SBX}/terminal", "path")
        same(server.requests[0].query["command"], ["bash"], "command")


@test
def shell_passes_a_lot_in_both_directions():
    def mirror(request, connection):
        connection.sock.sendall(upgrade(request))
        got = 0
        while got < 1_000_000:
            opcode, data = connection.frame()
            got += len(data)
            connection.send_frame(2, data)
        connection.send_frame(1, b'{"exit_code": 0}')
        connection.send_frame(8, struct.pack(">H", 1000))

    data = random.Random(9).randbytes(1_000_000)
    r, _ = against(mirror, "shell", SBX, input=data)
    same(r.rc, 0, "exit status", r)
    ensure(r.raw == data, f"{len(r.raw)} bytes came back, changed", r)


@test
def shell_sends_the_end_of_its_input():
    def wait_for_end(request, connection):
        connection.sock.sendall(upgrade(request))
        data = b""
        while not data.endswith(b"\x04"):
            data += connection.frame()[1]
        connection.send_frame(2, data[:-1])
        connection.send_frame(1, b'{"exit_code": 5}')
        connection.send_frame(8, b"")

    expect(against(wait_for_end, "shell", SBX, input=b"exit 5\n")[0], rc=5, out="exit 5\n")


def stops_answering(request, connection):
    connection.sock.sendall(upgrade(request))
    connection.send_frame(2, b"ready")
    time.sleep(20)


@test
def shell_can_be_ended_if_the_daemon_does_not_answer():
    with Fake(stops_answering) as server:
        t = Terminal("shell", SBX, env=server.env)
        t.wait(b"ready")
        t.type(b"x\r~~\r~.")
        t.end(0)


def killed_shell(number):
    with Fake(stops_answering) as server:
        t = Terminal("shell", SBX, env=server.env)
        t.wait(b"ready")
        ensure(t.is_raw(), "the terminal is not raw")
        t.process.send_signal(number)
        t.end(128 + number)


for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    test(lambda n=s: killed_shell(n), name=f"shell_restores_the_terminal_after_{s.name.lower()}")


@test
def shell_that_is_stopped_gives_the_terminal_back_meanwhile():
    with Fake(echo_shell) as server:
        t = Terminal("shell", SBX, env=server.env)
        t.wait(b"size")
        t.process.send_signal(signal.SIGTSTP)
        until(lambda: not t.is_raw(), 20, "a terminal that is not raw while it is stopped")
        t.process.send_signal(signal.SIGCONT)
        until(t.is_raw, 20, "a terminal that is raw again")
        t.type(b"q")
        t.end(7)


@test
def shell_that_is_cut_off_is_an_error():
    frames = {
        "end": b"",
        "masked": b"\x82\x81\0\0\0\0x",
        "unknown": b"\x83\x01x",
        "endless": b"\x82\x7f" + b"\xff" * 8,
        "close": b"\x88\x02\x03\xe8",
        "bad_exit": b"\x81\x12" + b'{"exit_code": 1000' + b"\x88\x00",
    }
    for name, data in frames.items():
        def broken(request, connection, d=data):
            return upgrade(request) + d

        r, _ = against(broken, "shell", SBX, input=b"")
        same(r.rc, 125, f"exit status after {name}", r)


@test
def shell_without_a_websocket_is_an_error():
    refused(against(answer({}), "shell", SBX)[0], 125, "WebSocket")
    refused(against(lambda q, c: upgrade(q, "x" * 28), "shell", SBX)[0], 125, "WebSocket")
    refused(against(error(404, "not_found", "no such sandbox"), "shell", SBX)[0], 125, "no such sandbox")
    for words in ([], [SBX, "bash"], ["ju/nk"], [SBX, "--", "ls", "-l"]):
        refused(against(answer({}), "shell", *words)[0], 2)


# All commands.


@test
def every_command_has_help_and_names_the_nearest_option():
    for name in ("create", "raise", "pool", "exec", "ls", "rm", "cp", "shell", "logs", "ps", "kill", "settings", "key"):
        r = cella([name, "--help"])
        same(r.rc, 0, "exit status", r)
        ensure(r.out.startswith(f"usage: cella {name} ") and "--socket PATH" in r.out, "help", r)
        refused(cella([name, "--sockets", "x"]), 2, "did you mean --socket?")
    refused(cella(["exce"]), 2, "did you mean 'cella exec'?")


# The same commands with a real daemon.


def call_real(daemon, *args, **kwargs):
    return cella(list(args), env={**os.environ, "CELLA_SOCKET": daemon.unix}, **kwargs)


def sandbox(daemon, *options):
    r = expect(call_real(daemon, "create", *options), out=None)
    ensure(r.out.startswith("sbx_") and r.out.endswith("\n"), "no id", r)
    return r.out.strip()


@test(tcp=False)
def real_sandboxes_are_made_listed_and_removed(d):
    a, b = sandbox(d, "--metadata", "who=a", "--ttl", "1h"), sandbox(d, "--idle", "5m")
    r = call_real(d, "ls")
    ensure(f"\n{a} " in r.out and f"\n{b} " in r.out and "who=a" in r.out, "the list", r)
    expect(call_real(d, "ls", "--quiet", "--metadata", "who=a"), out=a + "\n")
    expect(call_real(d, "rm", a, b), out="")
    expect(call_real(d, "ls", "--quiet"), out="")
    refused(call_real(d, "rm", a), 125)


@test
def real_exec_is_like_run():
    data = random.Random(7).randbytes(2_000_000)
    with Daemon(tcp=False) as d:
        s = sandbox(d)
        expect(call_real(d, "exec", s, "python3", "-c", "import sys; print(6*7, sys.argv[1:])", "a b"), out="42 ['a b']\n")
        expect(call_real(d, "exec", s, "--", "sh", "-c", "echo out; echo err >&2; exit 3"), rc=3, out="out\n", err="err\n")
        r = call_real(d, "exec", s, "--", "cat", input=data)
        ensure(r.rc == 0 and r.raw == data, f"{len(r.raw)} bytes of {len(data)} came back", r)
        expect(call_real(d, "exec", "--timeout", "200ms", s, "--", "sleep", "9"), rc=124, err="cella: stopped after 200 ms (--timeout)\n")
        expect(call_real(d, "exec", "-q", "--timeout", "200ms", s, "--", "sleep", "9"), rc=124)
        expect(call_real(d, "exec", "-e", "A=b", "-w", "/tmp", s, "--", "sh", "-c", "echo $A; pwd"), out="b\n/tmp\n")
        refused(call_real(d, "exec", s, "--", "no-such-program"), 127, "command not found: no-such-program")
        refused(call_real(d, "exec", "-", "--", "no-such-program"), 127, "command not found: no-such-program")
        r = call_real(d, "exec", "--json", "-", "--", "no-such-program")
        same((r.rc, r.json()["error"]["kind"]), (127, "not_found"), "as JSON", r)
        r = call_real(d, "exec", "--json", s, "--", "echo", "hi")
        same((r.json()["stdout"], r.json()["status"]), ("hi\n", "exited"), "result", r)
        refused(call_real(d, "exec", s, "cobol", "-c", "x"), 125, "runtime not found: cobol")
        expect(call_real(d, "exec", "-", "sh", "-c", "echo $0$((1+1))"), out=None)
        expect(call_real(d, "exec", "--session", "one", "sh", "-c", "echo kept > f"), out="")
        expect(call_real(d, "exec", "--session", "one", "--", "cat", "f"), out="kept\n")
        refused(call_real(d, "exec", "sbx_" + "a" * 20, "--", "true"), 125)


@test(tcp=False)
def real_exec_ends_with_its_client(d):
    s = sandbox(d)
    p = spawn("exec", s, "sh", "-c", "echo go; sleep 100", env={**os.environ, "CELLA_SOCKET": d.unix}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    same(p.stdout.readline(), b"go\n", "the first line")
    r = call_real(d, "ps", s)
    ensure("running" in r.out, "not in the list", r)
    p.send_signal(signal.SIGINT)
    same(p.wait(10), 130, "exit status")
    p.stdout.close()
    until(lambda: "cancelled" in call_real(d, "logs", "--status", "cancelled").out, 20, "a log that says cancelled")


@test(tcp=False)
def real_processes_are_listed_and_killed(d):
    s = sandbox(d)
    pid = expect(call_real(d, "exec", "--background", s, "--", "sleep", "100"), out=None).out.strip()
    r = call_real(d, "ps", s)
    ensure(f"\n{pid} " in r.out and "sleep 100" in r.out and "running" in r.out, "the list", r)
    expect(call_real(d, "kill", s, pid, "--signal", "KILL"), out="")
    until(lambda: "exited    137" in call_real(d, "ps", s).out or "exited  137" in call_real(d, "ps", s).out, 20, "its end")
    exe = expect(call_real(d, "exec", "--detach", s, "--", "sleep", "100"), out=None).out.strip()
    expect(call_real(d, "kill", exe), out="")
    refused(call_real(d, "kill", "exe_" + "a" * 20), 125)


@test
def real_files_are_copied_in_both_directions():
    os.makedirs("src/deep/er")
    for i in range(30):
        with open(f"src/deep/{'n' * i * 8}{i}", "wb") as f:
            f.write(os.urandom(i * 10000))
    os.symlink("deep", "src/link")
    with Daemon(tcp=False) as d:
        s = sandbox(d)
        expect(call_real(d, "cp", "src", f"{s}:"), out="")
        expect(call_real(d, "exec", s, "--", "ls", "src"), out="deep\nlink\n")
        expect(call_real(d, "cp", f"{s}:src", "back"), out="")
        same(subprocess.run(["diff", "-r", "--no-dereference", "src", "back"]).returncode, 0, "difference")
        data = os.urandom(3_000_000)
        expect(call_real(d, "cp", "-", f"{s}:/tmp/new/file", input=data), out="")
        expect(call_real(d, "cp", f"{s}:/tmp/new/file", "-"), out=data)
        expect(call_real(d, "cp", f"{s}:/tmp/new/file", "."), out="")
        same(open("file", "rb").read(), data, "the file")
        refused(call_real(d, "cp", f"{s}:/nothing", "x"), 125)
        refused(call_real(d, "cp", "file", f"{s}:/usr/x"), 125)


@test
def real_cp_out_of_a_hostile_sandbox_stays_in_its_directory():
    os.mkdir("victim")
    victim = os.getcwd() + "/victim"
    with Daemon(tcp=False) as d:
        s = sandbox(d)
        script = f"""mkdir out; ln -s {victim} out/out; echo KEY >out/authorized_keys; ln -s . out/here; mkfifo out/fifo
            head -c 1000000 /dev/zero >out/big; i=0; mkdir many; while [ $i -lt 20 ]; do ln out/big many/$i; i=$((i + 1)); done
            truncate -s 200M sparse; ln -s out link; ln -s out/authorized_keys flink; ln -s nothing dangling; ln -s loop loop
            i=0; mkdir deep; cd deep; while [ $i -lt 200 ]; do mkdir d; cd d; i=$((i + 1)); done"""
        expect(call_real(d, "exec", s, "--", "sh", "-c", script), out="")
        for _ in range(2):
            r = call_real(d, "cp", f"{s}:/workspace/out", "./out")
            same((r.rc, os.listdir("victim")), (0, []), "status and victim", r)
        whole = {"authorized_keys": b"KEY\n", "here": ".", "big": bytes(1_000_000)}
        same(contents("out"), {**whole, "out": None, **{f"out/{k}": v for k, v in whole.items()}}, "two copies")
        # A hard link counts as a whole file.
        refused(call_real(d, "cp", "--max-bytes", "5000000", f"{s}:many", "many"), 125, "more than 5000000 bytes")
        same(sum(os.path.getsize(f"many/{n}") for n in os.listdir("many")), 5_000_000, "bytes")
        refused(call_real(d, "cp", "--max-bytes", "100M", f"{s}:sparse", "sparse"), 125, "more than 104857600 bytes")
        refused(call_real(d, "cp", f"{s}:deep", "deep"), 125, "too long")
        # If SRC is a link, its target inside the sandbox is copied.
        expect(call_real(d, "cp", f"{s}:flink", "f"), out="")
        same((os.path.islink("f"), open("f").read()), (False, "KEY\n"), "what a link to a file gave")
        call_real(d, "cp", f"{s}:link", "l")
        same((os.path.islink("l"), contents("l")), (False, whole), "what a link to a directory gave")
        for name, status in (("dangling", 125), ("loop", 2)):
            refused(call_real(d, "cp", f"{s}:{name}", name), status)
            ensure(not os.path.lexists(name), f"{name} was made")


@test(tcp=False)
def real_shell_is_a_terminal(d):
    s = sandbox(d)
    t = Terminal("shell", s, env={**os.environ, "CELLA_SOCKET": d.unix})
    t.type(b"stty size; tty | tr a-z A-Z\r")
    t.wait(b"30 100")
    t.wait(b"/DEV/PTS")
    fcntl.ioctl(t.master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
    t.type(b"until stty size | grep '50 120'; do sleep 0.1; done\r")
    t.wait(b"50 120\r\n")  # not the echo of the command, which has other characters there
    seconds = support.nonce_seconds()
    t.type(b"sleep %s\r" % seconds.encode())
    until(lambda: support.with_argument(seconds), 20, "the command")
    t.type(b"\x03")
    t.type(b"exit 7\r")
    t.end(7)
    r = call_real(d, "shell", s, "--", "python3", input=b"print(6*7)\nexit(4)\n")
    ensure(r.rc == 4 and "42" in r.out, "a command on a terminal", r)


@test(tcp=False)
def real_log_is_shown_and_verified(d):
    expect(call_real(d, "exec", "--session", "s1", "python3", "-c", "print('in the log')"), out=None)
    until(lambda: "exe_" in call_real(d, "logs", "--session", "s1").out, 20, "a row of the log")
    exe = call_real(d, "logs", "--session", "s1").out.splitlines()[1].split()[0]
    r = call_real(d, "logs", exe)
    ensure("in the log" in r.out and "exited" in r.out and "s1" in r.out, "one whole", r)
    r = expect(call_real(d, "logs", "--verify"), out=None)
    ensure(r.out.startswith("ok: "), "the verdict", r)
    expect(call_real(d, "logs", "--since", "2099-01-01T00:00:00Z", "--json"), out=None)


@test(tcp=False)
def real_settings_and_keys(d):
    expect(call_real(d, "settings", "set", "limits.memory_bytes", "256M"), out="")
    expect(call_real(d, "settings", "get", "limits.memory_bytes"), out="268435456\n")
    refused(call_real(d, "settings", "set", "limits.memory_bytes", "1"), 2, "memory_bytes")
    refused(call_real(d, "settings", "set", "limits.memory", "1"), 2, "memory")
    r = expect(call_real(d, "key", "add", "bob", "--capability", "sandbox.exec", "--sandboxes", "2"), out=None)
    ensure(r.out.startswith("cella_"), "no key", r)
    row = call_real(d, "key", "ls").out.splitlines()[1].split()
    same(row[1:3], ["bob", "sandbox.exec"], "the key")
    expect(call_real(d, "key", "rm", row[0]), out="")
    same(len(call_real(d, "key", "ls").out.splitlines()), 1, "lines")
