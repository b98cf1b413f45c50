#!/usr/bin/python3
"""Clients that behave badly, one kind after the other, while a good one works on beside them.

Each claim is checked after its abuse: the server lives, its memory stayed below the bound, the good
client saw no error, and soon nothing is under way any more.

    abuse.py --cella build/src/cella [--short] [--only NAME]
"""
import argparse
import json
import os
import random
import resource
import selectors
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Checks, Daemon, wait_for  # noqa: E402

MIB = 1 << 20


class Good(threading.Thread):
    """Runs one execution after the other; each must have the right result."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.d, self.over, self.right, self.wrong, self.slowest = daemon, False, 0, [], 0.0

    def run(self):
        i = 0
        while not self.over:
            i += 1
            begun = time.monotonic()
            try:
                a = self.d.run(f"echo good{i}", timeout=60)
                if a.status != 200 or a.json()["stdout"] != f"good{i}\n":
                    self.wrong.append(f"{a.status} {a.body[:200]!r}")
                else:
                    self.right += 1
            except (OSError, ValueError, KeyError) as e:
                self.wrong.append(repr(e))
            self.slowest = max(self.slowest, time.monotonic() - begun)

    def stop(self):
        self.over = True
        self.join(60)


class Peak(threading.Thread):
    """Measures the server's maximum memory."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.d, self.over, self.most = daemon, False, 0

    def run(self):
        while not self.over:
            self.most = max(self.most, self.d.memory())
            time.sleep(0.05)


def request(method, path, body=b"", headers=""):
    return (f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n{headers}\r\n").encode() + body


def execution(code, runtime="sh", **fields):
    return json.dumps({"runtime": runtime, "code": code, **fields}).encode()


def status_of(s, seconds=30):
    """Returns the response's status, or None if the connection ended first."""
    s.settimeout(seconds)
    got = b""
    try:
        while b"\r\n" not in got:
            more = s.recv(4096)
            if not more:
                return None
            got += more
    except (ConnectionError, socket.timeout):
        return None
    return int(got.split()[1])


def swallow(s, data):
    """Sends as long as the peer reads."""
    try:
        s.sendall(data)
        return True
    except OSError:
        return False


class Abuse:
    def __init__(self, daemon, short):
        self.d, self.short = daemon, short
        self.sandbox = daemon.sandbox(limits={"disk_bytes": 16 * MIB})
        self.box = f"/v1/sandboxes/{self.sandbox}"

    # Each returns what went wrong, or "".

    def slow_reader_of_a_large_answer(self):
        """8 MiB of text, read by a few bytes at a time for a while."""
        code = "import sys; sys.stdout.write('x' * (8 << 20))"
        with self.d.raw() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(request("POST", "/v1/exec", execution(code, "python3", limits={"output_bytes": 8 * MIB})))
            if status_of(s) != 200:
                return "no answer"
            for _ in range(10 if self.short else 50):
                s.recv(64)
                time.sleep(0.02)
        return ""

    def stream_of_yes_without_a_reader(self):
        with self.d.raw() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(request("POST", "/v1/exec", execution("yes", timeout_ms=60000), "Accept: text/event-stream\r\n"))
            if status_of(s) != 200:
                return "no answer"
            time.sleep(1 if self.short else 5)
        return ""

    def half_sent_requests(self):
        held = []
        for text in (b"P", b"POST /v1/exec HT", b"POST /v1/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le",
                     request("POST", "/v1/exec", b"x" * 1000)[:-500],
                     request("PUT", f"{self.box}/files?path=half", b"x" * 100000)[:-1]):
            for _ in range(10):
                s = self.d.raw()
                s.sendall(text)
                held.append(s)
        time.sleep(0.5 if self.short else 3)
        for s in held:
            s.close()
        a = self.d.call("GET", f"{self.box}/files?path=half")
        return "" if a.status == 404 else f"half a file is there: {a.status}"

    def clients_that_vanish(self):
        """Disconnects at random moments, some with a reset."""
        ws = ("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
        self.d.run("head -c 8000000 /dev/zero >big", path=f"{self.box}/exec")
        texts = [
            request("POST", "/v1/exec", execution("sleep 30")),
            request("POST", "/v1/exec", execution("yes"), "Accept: text/event-stream\r\n"),
            request("POST", f"{self.box}/exec", execution("sleep 30")),
            request("POST", f"{self.box}/exec", execution("yes >/dev/null")),
            request("PUT", f"{self.box}/files?path=vanished", b"y" * 500000)[:-1000],
            request("GET", f"{self.box}/files?path=big"),
            request("GET", f"{self.box}/archive?path=/workspace"),
            request("GET", f"{self.box}/files?path=/workspace&watch=1", b"", "Accept: text/event-stream\r\n"),
            request("GET", f"{self.box}/terminal", b"", ws),
            request("POST", f"{self.box}/processes", execution("sleep 1")),
            request("GET", "/v1/executions?limit=1000"),
            request("POST", "/v1/sandboxes", b"{\"ttl_ms\": 300}"),
        ]
        for i in range(8 if self.short else 25):
            for text in texts:
                s = self.d.raw()
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                s.sendall(text)
                if i % 2:
                    time.sleep(random.random() * 0.03)
                if i % 3 == 0:  # a reset
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                s.close()
        left = self.d.idle(10, but=('sandboxes{state="running"}',))
        self.d.call("DELETE", f"{self.box}/files?path=big")
        return f"still under way: {left}" if left else ""

    def idle_connections(self):
        many = min(10000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 500)
        if self.short:
            many = min(many, 2000)
        held = []
        try:
            for i in range(many):
                s = self.d.raw()
                if i % 3 == 0:
                    s.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + (b"\r\n" if i % 2 else b""))
                held.append(s)
            a = self.d.run("echo among many")
            if a.status != 200:
                return f"{a.status} with {many} connections"
        except OSError as e:
            return f"after {len(held)}: {e!r}"
        finally:
            for s in held:
                s.close()
        wait_for(lambda: self.d.metrics()["http_connections"] < 10, 10)
        n = self.d.metrics()["http_connections"]
        return f"{n} connections are still there" if n >= 10 else ""

    def body_of_a_gigabyte(self):
        """To exec: refused as soon as its length is known.  To a file: the sandbox's disk is the limit."""
        whole = 1 << 30
        block = b"z" * MIB
        for path, method, want in ((f"{self.box}/files?path=huge", "PUT", (413, 422, 507, 400)),
                                   ("/v1/exec", "POST", (413,))):
            for chunked in (False, True):
                with self.d.raw(60) as s:
                    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    head += "Transfer-Encoding: chunked\r\n\r\n" if chunked else f"Content-Length: {whole}\r\n\r\n"
                    s.sendall(head.encode())
                    sent = 0
                    frame = b"100000\r\n" + block + b"\r\n" if chunked else block
                    while sent < whole and swallow(s, frame):
                        sent += MIB
                    status = status_of(s, 20)
                    # None: the server closed the connection, and the answer was lost behind our own bytes.  This is allowed.
                    if status is not None and status not in want:
                        return f"{method} {path} chunked={chunked}: {status} after {sent >> 20} MiB"
                    if sent >= whole and status is None:
                        return f"{method} {path} took a gigabyte and did not answer"
        return ""

    def answers_without_a_reader(self):
        held = []
        code = "import sys; sys.stdout.write('x' * (900 << 10))"
        for _ in range(8 if self.short else 24):
            s = self.d.raw()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(request("POST", "/v1/exec", execution(code, "python3")))
            held.append(s)
        left = self.d.idle(20, but=('sandboxes{state="running"}',))
        for s in held:
            s.close()
        return f"still under way: {left}" if left else ""

    def a_thousand_requests_on_one_connection(self):
        n = 200 if self.short else 1000
        bodies = [execution(f"echo p{i}") if i % 10 == 0 else None for i in range(n)]
        text = b"".join(request("POST", "/v1/exec", b) if b else request("GET", "/healthz") for b in bodies)
        with self.d.raw(60) as s:
            threading.Thread(target=swallow, args=(s, text), daemon=True).start()
            f = s.makefile("rb")
            for i in range(n):
                line = f.readline()
                if b" 200 " not in line:
                    return f"answer {i}: {line!r}"
                length = 0
                while (head := f.readline()) not in (b"\r\n", b""):
                    if head.lower().startswith(b"content-length:"):
                        length = int(head.split(b":")[1])
                body = f.read(length)
                if bodies[i] and f'"p{i}\\n"'.encode() not in body:
                    return f"answer {i} is another's: {body[:200]!r}"
        return ""

    def headers_of_a_megabyte(self):
        for text in (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * MIB + b"\r\n\r\n",
                     b"GET /" + b"a" * MIB + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                     b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * (MIB // 6) + b"\r\n",
                     b"GET /healthz?" + b"a=b&" * (MIB // 4) + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"):
            with self.d.raw() as s:
                swallow(s, text)
                status = status_of(s, 10)
                if status is not None and not 400 <= status < 500:
                    return f"{status} for {text[:20]!r}"
        return ""

    def body_in_chunks_of_one_byte(self):
        body = execution("echo chunked") + b" " * (2000 if self.short else 100000)
        with self.d.raw(60) as s:
            s.sendall(b"POST /v1/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n")
            s.sendall(b"".join(b"1\r\n%c\r\n" % c for c in body) + b"0\r\n\r\n")
            status = status_of(s)
        return "" if status == 200 else f"{status}"

    def websocket_garbage(self):
        rng = random.Random(7)
        ws = (f"GET {self.box}/terminal HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode()
        garbage = [rng.randbytes(5000), b"\x82\xff" + b"\xff" * 8 + b"abcd", b"\x81\x85\0\0\0\0\xff\xfe\xfd\xfc\xfb",
                   b"\x81\x02{}", b"\x89\x84\0\0\0\0ping" * 2000, b"\x02\x81\0\0\0\0x" * 70000, b"\x88\x80\0\0\0\0" * 10,
                   b"\x81\x8d\0\0\0\0" + b'{"resize":[]}', b"\x82\xfe\xff\xff\0\0\0\0" + b"y" * 65535]
        for g in garbage * (1 if self.short else 5):
            with self.d.raw(10) as s:
                s.sendall(ws)
                if status_of(s) != 101:
                    return "no terminal"
                swallow(s, g)
                s.settimeout(0.2)
                try:
                    s.recv(65536)
                except OSError:
                    pass
        left = self.d.idle(10, but=('sandboxes{state="running"}',))
        return f"still under way: {left}" if left else ""

    def five_thousand_sandboxes_at_once(self):
        n = 600 if self.short else 5000
        if self.short:  # how long they wait for room
            self.d.call("PATCH", "/v1/settings", json.dumps({"sandboxes": {"queue_timeout_ms": 1000}}))
        chosen, statuses, waiting = selectors.DefaultSelector(), {}, 0
        for _ in range(n):
            s = self.d.raw(120)
            s.sendall(request("POST", "/v1/sandboxes", b"{}"))
            chosen.register(s, selectors.EVENT_READ)
            waiting += 1
        until = time.monotonic() + 120
        while waiting and time.monotonic() < until:
            for key, _ in chosen.select(1):
                status = status_of(key.fileobj)
                statuses[status] = statuses.get(status, 0) + 1
                chosen.unregister(key.fileobj)
                key.fileobj.close()
                waiting -= 1
        for sb in self.d.call("GET", "/v1/sandboxes").json()["sandboxes"]:
            if sb["id"] != self.sandbox:
                self.d.call("DELETE", f"/v1/sandboxes/{sb['id']}")
        print(f"     {statuses}")
        if waiting or set(statuses) - {201, 429} or not statuses.get(429):
            return f"{waiting} unanswered, {statuses}"
        return ""

    def code_that_prints_a_gigabyte(self):
        size = (256 if self.short else 1024) * MIB
        a = self.d.run(f"head -c {size} /dev/zero | tr '\\0' x")
        r = a.json()
        if a.status != 200 or r["stdout_bytes"] != size or not r["stdout_truncated"] or len(r["stdout"]) > 1.1 * MIB:
            return f"{a.status} {r.get('stdout_bytes')} {len(r.get('stdout', ''))}"
        return ""

    def many_files(self):
        for n in (256, 257, 5000):
            files = {f"d{i % 7}/f{i}": f"{i}" for i in range(n)}
            a = self.d.run("find . -type f | wc -l", files=files)
            if a.status == 200 and a.json()["stdout"].strip() != str(n):
                return f"{n} files: {a.json()['stdout']}"
            if a.status not in (200, 400, 413) or (n == 256 and a.status != 200):
                return f"{n} files: {a.status} {a.body[:200]!r}"
        return ""

    def malformed_everything(self):
        rng = random.Random(3)
        good = execution("echo x")
        texts = [b"\0" * 100, b"\r\n" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01",
                 b"GET /%00%ff%zz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", request("BREW", "/v1/exec"),
                 b"POST /v1/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
                 b"POST /v1/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                 b"POST /v1/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
                 b"POST /v1/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                 b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n"]
        bodies = [b"", b"{", b"[]", b"null", b"[" * 100000, b'{"a":' * 5000, b'{"runtime": "sh"}', b'{"code": "x"}', b"\xff\xfe",
                  b'{"runtime": "sh", "code": "\\u0000"}', b'{"runtime": "sh", "code": 1}', b'{"runtime": 1e999, "code": ""}',
                  b'{"runtime": "sh", "runtime": "sh", "code": "x"}', execution("x", files={"../../x": "y"}),
                  execution("x", files={"/etc/passwd": "y"}), execution("x", files={"": "y"}), execution("x", args=["a"] * 100000),
                  execution("x", env={"A=B": "c"}), execution("x", cwd="/nonexistent/" * 500), execution("x", limits={"memory_bytes": -1}),
                  execution("x", limits={"timeout_ms": 10**30}), execution("x", stdin={"base64": "!!!"}), execution("x", session="a" * 100000),
                  execution("x", nonsense=1), execution("x" * 20000000)]
        for _ in range(50 if self.short else 500):
            mutated = bytearray(good)
            for _ in range(rng.randrange(1, 6)):
                mutated[rng.randrange(len(mutated))] = rng.randrange(256)
            bodies.append(bytes(mutated))
        bad = []
        for text in texts + [request("POST", "/v1/exec", b) for b in bodies]:
            with self.d.raw(20) as s:
                swallow(s, text)
                s.shutdown(socket.SHUT_WR) if not text.startswith(b"POST /v1/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length") else None
                status = status_of(s, 10)
                if status is not None and status >= 500 and status != 505:
                    bad.append((status, text[:200]))
        for path in ("/", "//", "/v1", "/v1/sandboxes/../../etc/passwd", "/v1/sandboxes/" + "a" * 3000, f"{self.box}/files",
                     f"{self.box}/files?path=", f"{self.box}/files?path=%00", f"{self.box}/files?path=" + "a/" * 3000,
                     f"{self.box}/files?path=../../../../etc/shadow&list=1", f"{self.box}/processes/-1", f"{self.box}/processes/999999999999",
                     "/v1/executions?limit=-1", "/v1/executions?cursor=x&since=y", "/v1/executions/" + "%2e" * 100):
            for method in ("GET", "PUT", "POST", "DELETE", "PATCH"):
                with self.d.raw(20) as s:
                    s.sendall(request(method, path, b"{}"))
                    status = status_of(s, 10)
                    if status is None or status >= 500:
                        bad.append((status, method, path[:80]))
        return str(bad[:5]) if bad else ""


# The most that the server may have, in MiB above what it had: bodies (24 MiB of JSON are some 100 as objects),
# 16,384 connections of a few kB each, 100 executions with two streams of 1 MiB.
BOUNDS = {"idle_connections": 256, "five_thousand_sandboxes_at_once": 256, "malformed_everything": 256,
          "slow_reader_of_a_large_answer": 96, "answers_without_a_reader": 160}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cella", required=True)
    p.add_argument("--short", action="store_true")
    p.add_argument("--only")
    p.add_argument("--slack", type=float, default=1, help="times the bound of memory (sanitizers)")
    options = p.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    t = Checks()
    with Daemon(options.cella) as d:
        abuse = Abuse(d, options.short)
        names = [n for n in Abuse.__dict__ if not n.startswith("_")]
        for name in names:
            if options.only and options.only not in name:
                continue
            good, peak, before, begun = Good(d), Peak(d), d.memory(), time.monotonic()
            good.start()
            peak.start()
            try:
                wrong = getattr(abuse, name)()
            except (OSError, ValueError, KeyError) as e:
                wrong = repr(e)
            good.stop()
            peak.over = True
            words = name.replace("_", " ")
            if not t.check(d.alive(), f"{words}: the server lives", ""):
                with open(d.log, errors="replace") as log:
                    print(log.read()[-6000:])
                t.done()
            left = d.idle(15, but=('sandboxes{state="running"}',))
            bound = BOUNDS.get(name, 64) * options.slack
            grown = (peak.most - before) / MIB
            t.check(not wrong and not left, words, f"{wrong} {left}" if wrong or left else f"{time.monotonic() - begun:.1f} s")
            allowed_429 = name.startswith("five_thousand")
            errors = [w for w in good.wrong if not (allowed_429 and w.startswith("429"))]
            t.check(not errors and good.right > 0, f"{words}: others are unaffected",
                    f"{errors[:2]}" if errors else f"{good.right} good executions, slowest {good.slowest * 1000:.0f} ms")
            t.check(grown <= bound, f"{words}: memory stays below +{bound:.0f} MiB", f"{grown:+.1f} MiB")
        d.call("DELETE", abuse.box)
        left = d.idle(15)
        t.check(not left, "nothing is under way at the end", left or "")
        t.check(not d.complaints(), "the log has no complaint", d.complaints()[:3] or "")
        t.check(d.stop() == 0, "it ends cleanly")
    t.done()


main()
