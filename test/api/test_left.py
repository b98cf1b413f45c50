"""Clients that close the connection before the answer: their requests are cancelled, and other requests are not affected."""

import contextlib
import json
import signal

from support import same, test, until
from test_pools import members, send_all

LIMIT = 20  # seconds for something that is certain to happen


def ask(d, method, target, body=None):
    """Returns a connection on which the request was sent."""
    s = d.socket()
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    s.sendall(head.encode() + data)
    return s


@contextlib.contextmanager
def stopped(pids):
    """Stops these processes, so that they do not answer."""
    send_all(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        send_all(pids, signal.SIGCONT)


@contextlib.contextmanager
def without_answers(d):
    """Stops the first process of each sandbox."""
    with stopped(list(members(d))):
        yield


def leave(d, *clients):
    """Closes the connections, and waits until the server has no connection but that of the question itself."""
    for client in clients:
        client.close()
    until(lambda: "\ncella_http_connections 1\n" in d.request("GET", "/metrics").text, LIMIT, "the end of the connections")


@test(users=["root"], settings={"pools": [], "sandboxes": {"spare": 0}})
def a_sandbox_is_removed_if_the_client_leaves_during_its_creation(d):
    with stopped([d.process.pid]):  # the keeper, which creates sandboxes
        client = ask(d, "POST", "/v1/sandboxes", {})
        id_ = until(lambda: [s["id"] for s in d.get("/v1/sandboxes")["sandboxes"]], LIMIT, "the sandbox")[0]
        leave(d, client)
    until(lambda: d.get("/v1/health")["sandboxes"]["running"] == 0, LIMIT, "its end")
    d.refused("not_found", "GET", f"/v1/sandboxes/{id_}")
    other = d.sandbox()
    same([s["id"] for s in d.get("/v1/sandboxes")["sandboxes"]], [other], "the sandboxes after it")


@test(users=["root"], settings={"pools": [], "sandboxes": {"spare": 0}})
def a_process_is_cancelled_if_the_client_leaves_during_its_start(d, s):
    processes = f"/v1/sandboxes/{s}/processes"
    with without_answers(d):
        client = ask(d, "POST", processes, {"command": ["sleep", "1000"]})
        until(lambda: d.get(f"/v1/sandboxes/{s}")["executions"] == 1, LIMIT, "the request")
        leave(d, client)
    row = until(lambda: [r for r in d.all_rows() if r["status"] != "running"], LIMIT, "its end")[0]
    same((row["status"], row["sandbox"]), ("cancelled", s), "how it ended", row)
    until(lambda: d.get(f"/v1/sandboxes/{s}")["usage"]["processes"] == 0, LIMIT, "its death")
    same([p for p in d.get(processes)["processes"] if p["state"] == "running"], [], "the processes")
    same(d.exec("sh", "echo x", s)["stdout"], "x\n", "what runs in the sandbox then")


@test(users=["root"], settings={"pools": [], "sandboxes": {"spare": 0}})
def a_file_request_of_a_client_that_left_does_not_change_the_sandbox(d, s):
    d.put(s, "a", "1")
    files = f"/v1/sandboxes/{s}/files"
    with without_answers(d):
        leave(d, *(ask(d, *request) for request in (
            ("POST", f"{files}/stat", {"path": "a"}), ("GET", f"{files}?path=.&list=1"), ("GET", f"{files}?path=a"),
            ("POST", f"{files}/mkdir", {"path": "b"}))))  # fmt: skip
    same(d.post(f"{files}/stat", {"path": "a"})["bytes"], 1, "the file")
    same(d.get(d.file(s, "a")), b"1", "its content")
    d.put(s, "c", "2")
    names = [e["name"] for e in d.get(d.file(s, ".", list=1))["entries"]]
    same([n for n in names if n != "b"], ["a", "c"], "the directory")  # mkdir may have begun
