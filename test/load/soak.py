#!/usr/bin/python3
"""Executions in a row, of every kind: nothing that the daemon holds may grow.

    soak.py --cella build/src/cella [--executions 50000]
"""
import argparse
import base64
import json
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Checks, Daemon, wait_for  # noqa: E402

CLIENTS = 4  # a row for each core, and one more: alone it would mostly wait


class Row(threading.Thread):
    """One client with its own sandbox and session."""

    def __init__(self, daemon, number, trouble):
        super().__init__(daemon=True)
        self.d, self.number, self.trouble = daemon, number, trouble
        self.todo = self.done = 0
        self.connection = daemon.connect()
        self.sandbox = None

    def want(self, answer, status, text=None):
        if answer.status != status or (text is not None and answer.json().get("stdout") != text):
            self.trouble.append(f"{answer.status} instead of {status}: {answer.body[:200]!r}")

    def step(self, i):
        d, c, nonce = self.d, self.connection, f"{self.number}-{i}"
        box = f"/v1/sandboxes/{self.sandbox}"
        kind = i % 20
        if kind < 8:
            self.want(d.run(f"echo {nonce}", connection=c), 200, nonce + "\n")
        elif kind < 9:
            self.want(d.run(f"print('{nonce}')", "python3", connection=c), 200, nonce + "\n")
        elif kind < 11:
            self.want(d.run(f"echo {nonce} >>f; tail -n 1 f", connection=c, session=f"row{self.number}"), 200,
                      nonce + "\n")
        elif kind < 16:
            self.want(d.run(f"echo {nonce}", path=box + "/exec", connection=c), 200, nonce + "\n")
        elif kind < 17:
            self.want(d.run("cat a b", connection=c, files={"a": nonce, "b": {"base64": base64.b64encode(b"\n").decode()}}),
                      200, nonce + "\n")
        elif kind < 18:
            self.files(box, c, nonce)
        elif kind < 19:
            self.background(box, c, nonce)
        else:
            self.rare(i, box, c, nonce)

    def files(self, box, c, nonce):
        if self.d.call("PUT", box + "/files?path=f", nonce, connection=c).status not in (200, 201):
            self.trouble.append("a file was not written")
        if self.d.call("GET", box + "/files?path=f", connection=c).body.decode() != nonce:
            self.trouble.append("another file's content")
        self.d.call("GET", box + "/files?path=/workspace&list=1", connection=c)
        self.want(self.d.run("cat f", path=box + "/exec", connection=c), 200, nonce)

    def background(self, box, c, nonce):
        p = self.d.run(f"cat; echo {nonce}", path=box + "/processes", connection=c)
        self.want(p, 201)
        at = f"{box}/processes/{p.json()['pid']}"
        self.d.call("POST", at + "/stdin?eof=1", "in\n", connection=c)
        end = wait_for(lambda: (a := self.d.call("GET", at + "/output", connection=c).json())["running"] is False and a, 20)
        if not end or end["stdout"] != f"in\n{nonce}\n":
            self.trouble.append(f"background: {end}")

    def rare(self, i, box, c, nonce):
        which = (i // 20) % 5
        if which == 0:
            self.terminal(box)
        elif which == 1:
            a = self.d.call("POST", "/v1/exec", json.dumps({"runtime": "sh", "code": f"echo {nonce}"}),
                            {"Accept": "text/event-stream"}, connection=c)
            if nonce.encode() not in a.body or b"event: exit" not in a.body:
                self.trouble.append(f"events: {a.body[:200]!r}")
        elif which == 2:
            a = self.d.run("sleep 9", connection=c, timeout_ms=20)
            if a.json().get("status") != "timeout":
                self.trouble.append(f"timeout: {a.body[:200]!r}")
        elif which == 3:
            self.want(self.d.run("echo", runtime="nothing", connection=c), 422)
        else:  # another sandbox
            self.d.call("DELETE", box, connection=c)
            self.sandbox = self.d.sandbox()

    def terminal(self, box):
        with self.d.raw(20) as s:
            s.sendall((f"GET {box}/terminal?command=sh HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
                       "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode())
            got = b""
            while b"\r\n\r\n" not in got:
                got += s.recv(1) or b"\r\n\r\n"
            payload = b"exit 7\n"
            s.sendall(bytes([0x82, 0x80 | len(payload), 0, 0, 0, 0]) + payload)
            while b'"exit_code"' not in got:
                more = s.recv(65536)
                if not more:
                    self.trouble.append(f"terminal: {got[-200:]!r}")
                    return
                got += more

    def run(self):
        self.sandbox = self.sandbox or self.d.sandbox()
        while self.todo > 0 and len(self.trouble) < 10:
            try:
                self.step(self.done)
            except (OSError, KeyError, ValueError, RuntimeError) as e:
                self.trouble.append(repr(e))
                self.connection = self.d.connect()
            self.done += 1
            self.todo -= 1


def rows(daemon, n, trouble, before):
    """Continues after the rows that were read before."""
    made = []
    for number in range(CLIENTS):
        row = Row(daemon, number, trouble)
        if before:
            row.done, row.sandbox = before[number].done, before[number].sandbox
        row.todo = n // CLIENTS
        made.append(row)
    for row in made:
        row.start()
    for row in made:
        row.join()
        row.connection.close()
    return made


def remove_all(d, made):
    """Removes every sandbox.  Returns what is left, and the resources in use."""
    d.call("PATCH", "/v1/settings", json.dumps({"pools": [], "sandboxes": {"spare": 0}}))
    for row in made:
        d.call("DELETE", f"/v1/sandboxes/{row.sandbox}")
    for sb in d.call("GET", "/v1/sandboxes").json()["sandboxes"]:
        d.call("DELETE", f"/v1/sandboxes/{sb['id']}")
    left = d.idle(10)
    return left, wait_for(lambda: (x := d.holds())["processes"] == 0 and x, 5) or d.holds()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cella", required=True)
    p.add_argument("--executions", type=int, default=50000)
    options = p.parse_args()
    t, trouble, begun = Checks(), [], time.monotonic()
    with Daemon(options.cella) as d:
        done, at, before, table = 0, 0, None, []
        warm = min(2000, options.executions // 2)  # its threads have their share of memory only after a while
        intervals = 10 if options.executions >= 10000 else 5
        parts = [warm] + [(options.executions - warm) // intervals] * intervals
        d.call("GET", "/v1/executions?limit=1")  # the server starts its worker threads when the first of them has work
        for part in parts:
            at = part // CLIENTS * CLIENTS
            before = rows(d, at, trouble, before)
            done += at
            d.idle(10, but=('sandboxes{state="running"}',))
            time.sleep(1.2)  # the log is written after the answers are sent, and its pages are freed
            h = d.holds()
            table.append(h)
            if len(table) == 1:
                settings = d.call("GET", "/v1/settings").json()
                d.call("GET", "/v1/executions/verify")  # this opens a connection to the log, which stays open
                _, at_rest = remove_all(d, before)
                before = None
                d.call("PATCH", "/v1/settings", json.dumps({"pools": settings["pools"], "sandboxes": {"spare": settings["sandboxes"]["spare"]}}))
                print(" ".join(["executions", *h]), flush=True)
            print(f"{done:10} " + " ".join(f"{v:{len(k)}}" for k, v in h.items()), flush=True)
            if len(trouble) >= 10:
                break
        first, last = dict(table[0]), table[-1]
        for row in table[1:3]:  # the keeper holds files of a sandbox open once it was asked about it
            first = {k: max(v, row[k]) for k, v in first.items()}
        seconds = time.monotonic() - begun
        print(f"{done} steps in {seconds:.0f} s, {done / seconds:.0f} a second")
        t.check(not trouble, "every answer was right", trouble or "")
        for name in ("server_kb", "keeper_kb"):
            t.check(last[name] <= first[name] * 1.1 + 768, f"memory of the {name[:6]} within 10 % and 768 kB",
                    f"{first[name]} (the most of the first three rows; {table[0][name]} in the first) -> {last[name]} kB")
        t.check_resources(first, last)
        verdict = d.call("GET", "/v1/executions/verify").json()
        t.check(verdict["ok"], "the log's chain is whole", f"{verdict['rows']} rows")
        t.check(d.metrics()["audit_lost_total"] == 0, "no record was lost")
        t.check(d.alive() and not d.complaints(), "the log has no complaint", d.complaints()[:3] or "")
        left, h = remove_all(d, before)
        if left:
            print(d.call("GET", "/v1/sandboxes").body, d.metrics())
        h = wait_for(lambda: (x := d.holds())["server_fds"] <= at_rest["server_fds"] and x, 10) or h
        t.check(h["server_fds"] <= at_rest["server_fds"], "the server at rest has no more descriptors than before", f"{at_rest['server_fds']} -> {h['server_fds']}")
        t.check(not left and h["processes"] == 0 and h["workspaces"] == 0, "and nothing is left of it all",
                f"{left} {h}")
        t.check(d.stop() == 0, "it ends cleanly")
    t.done()


main()
