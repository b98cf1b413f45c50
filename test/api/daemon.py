"""A real `cella serve` for one test, and what a client needs: HTTP over TCP and the Unix socket, events, WebSocket."""

import base64
import contextlib
import encodings.idna  # noqa: F401 -- before the user is one who may not look for it
import glob
import http.client
import io
import json
import os
import re
import signal
import socket
import struct
import subprocess
import urllib.parse

import described
import support
from ports import free_port
from support import ensure, fail, late, same, shorten

PATIENCE = 30  # seconds for one answer; what takes longer on an idle machine has a test of its own

STATUS = {
    "invalid_request": 400, "unauthorized": 401, "access_denied": 403, "not_found": 404, "too_large": 413,
    "runtime_not_found": 422, "scan_refused": 422, "over_capacity": 429, "internal": 500, "engine_unavailable": 503,
    "isolation_unavailable": 503,
}  # fmt: skip


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=None):
        super().__init__("cella", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    """A complete response."""

    def __init__(self, method, target, status, headers, body):
        self.method, self.target, self.status, self.headers, self.body = method, target, status, headers, body

    @property
    def text(self):
        return self.body.decode()

    def json(self):
        try:
            return json.loads(self.body)
        except ValueError as e:
            fail(f"not JSON ({e})", self)

    def __str__(self):
        body = self.body.decode(errors="backslashreplace")
        return f"{self.method} {self.target}\n{self.status} {shorten(str(self.headers), 300)}\n{shorten(body)}"


class Events:
    """Server-sent events as they come: an iterator of (name, data)."""

    def __init__(self, connection, response, target, described=None):
        self.connection, self.response, self.target, self.described = connection, response, target, described
        self.status = response.status
        self.comments = []

    def __iter__(self):
        return self

    def __next__(self):
        name, data = None, []
        while line := self.response.readline():
            line = line.rstrip(b"\n")
            if not line:
                if name is None and not data:
                    continue
                said = json.loads(b"\n".join(data))
                if self.described:
                    self.described.check_event(*self.target.split(" ", 1), name, said)
                return name, said
            field, _, value = line.partition(b": ")
            if field == b"event":
                name = value.decode()
            elif field == b"data":
                data.append(value)
            elif line.startswith(b":"):
                self.comments.append(line.decode())
            else:
                fail(f"a line of {self.target} is no event: {line!r}")
        raise StopIteration

    def wait(self, name):
        """The data of the next event with this name; those before it are left out."""
        for got, data in self:
            if got == name:
                return data
        fail(f"{self.target} ended without the event {name}")

    def text(self, stream="stdout", end="exit"):
        """The rest of a stream's text, and the data of the last event."""
        parts = []
        for name, data in self:
            if name == stream:
                parts.append(data["text"])
            if name in (end, "error"):
                return "".join(parts), data
        fail(f"{self.target} ended without {end}")

    def read_until(self, text, stream="stdout"):
        """Reads until the stream's text contains this."""
        seen = ""
        for name, data in self:
            if name == stream:
                seen += data["text"]
                if text in seen:
                    return seen
        fail(f"{self.target} ended without printing {text!r}: {seen!r}")

    def close(self):
        with contextlib.suppress(OSError):
            if self.connection.sock:
                self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.response.close()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class WebSocket:
    """A small client of RFC 6455: whole messages, masked as a client's must be."""

    def __init__(self, daemon, target, headers=None, unix=False, timeout=PATIENCE):
        self.sock = daemon.socket(unix, timeout)
        self.rest = b""
        key = base64.b64encode(os.urandom(16)).decode()
        lines = {"Host": "cella" if unix else f"127.0.0.1:{daemon.port}", "Upgrade": "websocket",
                 "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key}  # fmt: skip
        lines.update(headers or {})
        head = f"GET {target} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items() if v is not None)
        self.sock.sendall(head.encode() + b"\r\n")
        while b"\r\n\r\n" not in self.rest:
            self._more()
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        self.status = int(head.split()[1])
        self.head = head.decode()
        self.close_code = None
        self.seen = b""

    def _more(self):
        data = self.sock.recv(65536)
        if not data:
            raise EOFError
        self.rest += data

    def _take(self, n):
        while len(self.rest) < n:
            self._more()
        data, self.rest = self.rest[:n], self.rest[n:]
        return data

    def send(self, data, opcode=None):
        if opcode is None:
            opcode = 1 if isinstance(data, str) else 2
        data = data.encode() if isinstance(data, str) else data
        mask = os.urandom(4)
        n = len(data)
        length = bytes([0x80 | n]) if n < 126 else struct.pack(">BH", 0x80 | 126, n) if n < 65536 else (
            struct.pack(">BQ", 0x80 | 127, n))
        masked = bytes(b ^ mask[i % 4] for i, b in enumerate(data))
        self.sock.sendall(bytes([0x80 | opcode]) + length + mask + masked)

    def receive(self):
        """(opcode, payload) of the next message; pings are answered; a close gives (8, …), the end None."""
        whole, kind = b"", None
        while True:
            try:
                first, second = self._take(2)
            except EOFError:
                return None
            n = second & 0x7F
            if n == 126:
                n = struct.unpack(">H", self._take(2))[0]
            elif n == 127:
                n = struct.unpack(">Q", self._take(8))[0]
            ensure(not second & 0x80, "a server's frame is masked")
            data, opcode = self._take(n), first & 15
            if opcode == 9:
                self.send(data, 10)
                continue
            if opcode == 8:
                self.close_code = struct.unpack(">H", data[:2])[0] if len(data) >= 2 else None
                return 8, data
            if opcode >= 8:
                return opcode, data
            kind = opcode or kind
            whole += data
            if first & 0x80:
                return kind, whole

    def read_until(self, wanted):
        """Collects what the terminal shows until this is there (bytes, or a compiled expression)."""
        while True:
            if isinstance(wanted, bytes):
                at = self.seen.find(wanted)
                end = at + len(wanted) if at >= 0 else -1
            else:
                m = wanted.search(self.seen)
                end = m.end() if m else -1
            if end >= 0:
                got, self.seen = self.seen[:end], self.seen[end:]
                return got
            message = self.receive()
            if message is None or message[0] == 8:
                fail(f"the terminal ended before it showed {wanted!r}; it showed {self.seen!r}")
            if message[0] == 2:
                self.seen += message[1]

    def rest_of_it(self):
        """Everything until the end: (text frames, close code)."""
        texts = []
        while (message := self.receive()) and message[0] != 8:
            if message[0] == 1:
                texts.append(json.loads(message[1]))
            else:
                self.seen += message[1]
        return texts, self.close_code

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def descendants(pid):
    """{pid: start time} of a process and all below it."""
    parent, start = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/stat", "rb") as f:
                fields = f.read().rpartition(b")")[2].split()
            parent[int(name)], start[int(name)] = int(fields[1]), fields[19]
    found = {pid}
    while True:
        more = {p for p, up in parent.items() if up in found} - found
        if not more:
            return {p: start[p] for p in found if p in start}
        found |= more


def begun(r):
    """The result of an execution with a timeout.  Its code prints a line first: without that line, the machine was too
    slow to start it in time."""
    if r["status"] == "timeout" and not r["stdout"]:
        support.late("the code had not begun when its time was up", r)
    return r


class Daemon:
    """`cella serve` on a state directory and a port of its own.

    with Daemon() as d: d.exec("sh", "echo hi") ...; at the end it is stopped, must exit with
    exit status 0, and leave no process, control group or mount.

    settings: what to PATCH first.  tcp=False: only the Unix socket.  state: a directory that is there already.
    args: further options.  before: is called in the new process first.  user="user": an ordinary one's, in a test of root.  expect_rc: None when its death is the test's own business."""

    def __init__(self, settings=None, tcp=True, state=None, args=(), name="state", port=None, start=True, env=None, user=None, before=None):
        self.home = support.home
        self.state = state or os.path.join(self.home, name)
        self.unix = os.path.join(self.home, f"{os.path.basename(self.state)}.sock")
        self.log_path = os.path.join(self.home, f"{os.path.basename(self.state)}.log")
        self.port = port or (free_port() if tcp else None)
        self.args, self.env, self.user, self.before = list(args), env, user, before
        self.key = None  # headers that are sent with every request over TCP
        self.process = self.described = None
        if start:
            self.start()
            if settings:
                self.ok("PATCH", "/v1/settings", settings, unix=True)

    # Start and end.

    def start(self, ready=True):
        self.log_from = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
        with open(self.log_path, "ab") as log:
            words = ["serve", "--state", self.state, "--socket", self.unix]
            words += ["--listen", f"127.0.0.1:{self.port}" if self.port else "none"] if "--listen" not in self.args else []
            self.process = support.spawn(*words, *self.args, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                         env=self.env, user=self.user, preexec_fn=self.before)  # fmt: skip
        if ready:
            self.wait_ready()
        return self

    def wait_ready(self):
        def is_ready():
            if self.process.poll() is not None:
                fail(f"cella serve ended with {self.process.returncode}:\n{shorten(self.log())}")
            return any(line.get("message") == "ready" and line.get("process") == "server" for line in self.lines())

        support.until(is_ready, 20, "a daemon that is ready")
        # Before the test begins, which may count requests.
        self.described = described.document(self.description)

    def description(self):
        c = self.connection(unix=True)
        c.request("GET", "/openapi.json")
        text = c.getresponse().read().decode()
        c.close()
        return text

    def log(self):
        """Returns what the daemon has written to standard error since its start."""
        with open(self.log_path, errors="backslashreplace") as f:
            f.seek(self.log_from)
            return f.read()

    def lines(self):
        """The log, as objects.  A line that is not JSON is none."""
        found = []
        for line in self.log().splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found

    def logged(self, part, level=None):
        """Waits for a line of the log that says this."""
        return support.until(
            lambda: next((x for x in self.lines() if part in x["message"] and level in (None, x["level"])), None),
            20, f"a line of the log with {part!r}")  # fmt: skip

    def groups(self):
        """{path: inode} of the control groups that the keeper and its workers hold."""
        found = {}
        for fd in (fd for pid in descendants(self.process.pid) for fd in glob.glob(f"/proc/{pid}/fd/*")):
            with contextlib.suppress(OSError):
                path = os.readlink(fd)
                if re.search(r"^/sys/fs/cgroup/.*/cella-\d+$", path):
                    found[path] = os.stat(path).st_ino
        return found

    def server_pid(self):
        """Returns the pid of the server."""
        for pid in descendants(self.process.pid):
            if pid != self.process.pid and support.program_name(pid).startswith("cella-server"):
                return pid
        fail("the server does not run")

    def egress_pid(self):
        """Returns the pid of the egress process; None while there is none."""
        for pid in descendants(self.process.pid):
            with contextlib.suppress(OSError):
                if support.read(f"/proc/{pid}/cmdline").startswith("cella-egress\0"):
                    return pid
        return None

    def stop(self, rc=0, number=signal.SIGTERM, check=True):
        """Sends the signal, waits for the end, and checks what is left."""
        if self.process is None or self.process.poll() is not None and check is False:
            return
        if self.process.poll() is not None:
            fail(f"the daemon ended by itself with {self.process.returncode}:\n{shorten(self.log())}")
        tree, groups = descendants(self.process.pid), self.groups()
        self.process.send_signal(number)
        status = support.reap(self.process, 40)
        if check:
            same(status, rc, f"exit status of the daemon\n{shorten(self.log())}\nthat")
            self.left_nothing(tree, groups)

    def left_nothing(self, tree, groups, seconds=20):
        def alive():
            now = {}
            for pid in tree:
                with contextlib.suppress(OSError):
                    with open(f"/proc/{pid}/stat", "rb") as f:
                        now[pid] = f.read().rpartition(b")")[2].split()
            return [pid for pid, fields in now.items() if fields[19] == tree[pid] and fields[0] not in (b"Z", b"X")]

        def groups_there():
            there = []
            for path, inode in groups.items():
                with contextlib.suppress(OSError):
                    if os.stat(path).st_ino == inode:
                        there.append(path)
            return there

        support.until(lambda: not alive(), seconds, f"the end of the daemon's processes (of {list(tree)})")
        support.until(lambda: not groups_there(), seconds, f"the end of its control groups (of {list(groups)})")
        mounts = [line for line in support.read("/proc/self/mountinfo").splitlines() if self.home in line]
        same(mounts, [], "mounts that are left")

    def kill(self, which="both"):
        """kill -9 of "keeper", "server" or "both"; everything must be gone soon."""
        tree, groups = descendants(self.process.pid), self.groups()
        server = self.server_pid()
        if which in ("server", "both"):
            os.kill(server, signal.SIGKILL)
        if which in ("keeper", "both"):
            self.process.kill()
        support.reap(self.process, 20)
        self.left_nothing(tree, {})
        return groups

    def restart(self):
        self.stop()
        return self.start()

    def reload(self):
        before = self.log().count("settings read again") + self.log().count("stay as they were")
        self.process.send_signal(signal.SIGHUP)
        support.until(
            lambda: self.log().count("settings read again") + self.log().count("stay as they were") > before,
            20, "the daemon's word that it read its settings")  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            if self.process.poll() is None:
                self.stop()
            return
        # The test has failed already: print the daemon's log, and end the daemon.
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if isinstance(value, support.Failure):
            value.args = (f"{value.args[0]}\nlog: {shorten(self.log(), 1200)}",)

    # Requests.

    def socket(self, unix=False, timeout=PATIENCE):
        """Returns a connected socket, for requests that a correct client does not make."""
        if unix or not self.port:
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(timeout * support.slack)
            s.connect(self.unix)
        else:
            s = socket.create_connection(("127.0.0.1", self.port), timeout * support.slack)
        return s

    def connection(self, unix=False, timeout=PATIENCE):
        timeout *= support.slack
        if unix or not self.port:
            return UnixConnection(self.unix, timeout)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def headers(self, body, headers, key, unix):
        sent = {}
        if body is not None and not isinstance(body, (bytes, io.IOBase)) and not hasattr(body, "__next__"):
            sent["Content-Type"] = "application/json"
        key = self.key if key is None and not unix else key
        if key:
            sent["Authorization"] = f"Bearer {key}"
        sent.update(headers or {})
        return sent

    @staticmethod
    def encode(body):
        if body is None or isinstance(body, (bytes, io.IOBase)) or hasattr(body, "__next__"):
            return body
        return body.encode() if isinstance(body, str) else json.dumps(body).encode()

    def request(self, method, target, body=None, headers=None, key=None, unix=False, timeout=PATIENCE):
        """Sends a request on its own connection.  body: bytes, text, or an object, sent as JSON.  key: False for none."""
        c = self.connection(unix, timeout)
        try:
            c.request(method, target, self.encode(body), self.headers(body, headers, key, unix))
            r = c.getresponse()
            answer = Answer(method, target, r.status, dict(r.getheaders()), r.read())
        except TimeoutError:
            late(f"{method} {target}: no answer for {timeout * support.slack:g} s")
        finally:
            c.close()
        if self.described:
            self.described.check(answer)
        return answer

    def ok(self, method, target, body=None, status=200, **kwargs):
        """A request that succeeds; its answer as an object (None: empty, bytes: not JSON)."""
        a = self.request(method, target, body, **kwargs)
        same(a.status, status, "status", a)
        if a.headers.get("Content-Type", "").startswith("application/json"):
            return a.json()
        return a.body or None

    def refused(self, kind, method, target, body=None, parts=(), status=None, **kwargs):
        """A request that fails with an error of this kind and a message that has all the parts."""
        a = self.request(method, target, body, **kwargs)
        same(a.status, status or STATUS[kind], "status", a)
        ensure(a.headers.get("Content-Type", "").startswith("application/json"), "an error is JSON", a)
        error = a.json()
        same(list(error), ["error"], "the error's outer object", a)
        error = error["error"]
        same(error.get("kind"), kind, "kind", a)
        ensure(set(error) <= {"kind", "message", "hint"}, "unknown field in an error", a)
        ensure(isinstance(error.get("message"), str) and error["message"], "an error has a message", a)
        ensure(isinstance(error.get("hint", ""), str), "hint is text", a)
        for part in [parts] if isinstance(parts, str) else parts:
            ensure(part in error["message"], f"the message does not say {part!r}", a)
        return a

    def get(self, target, **kwargs):
        return self.ok("GET", target, **kwargs)

    def post(self, target, body=None, status=200, **kwargs):
        return self.ok("POST", target, body, status, **kwargs)

    def delete(self, target, status=204, **kwargs):
        return self.ok("DELETE", target, status=status, **kwargs)

    def events(self, method, target, body=None, headers=None, key=None, unix=False, timeout=PATIENCE):
        """The same request, answered with events."""
        c = self.connection(unix, timeout)
        c.request(method, target, self.encode(body),
                  {"Accept": "text/event-stream", **self.headers(body, headers, key, unix)})  # fmt: skip
        r = c.getresponse()
        if r.status != 200:
            a = Answer(method, target, r.status, dict(r.getheaders()), r.read())
            c.close()
            fail("no events", a)
        same(r.getheader("Content-Type"), "text/event-stream", "Content-Type")
        return Events(c, r, f"{method} {target}", self.described)

    def websocket(self, target, **kwargs):
        if self.key and "headers" not in kwargs:
            kwargs["headers"] = {"Authorization": f"Bearer {self.key}"}
        return WebSocket(self, target, **kwargs)

    # Short forms for most tests.

    def exec(self, runtime, code, sandbox=None, key=None, unix=False, timeout=PATIENCE, **fields):
        """Runs code, returns the result."""
        target = f"/v1/sandboxes/{sandbox}/exec" if sandbox else "/v1/exec"
        return self.post(target, {"runtime": runtime, "code": code, **fields}, key=key, unix=unix, timeout=timeout)

    def sandbox(self, key=None, **fields):
        """Creates a sandbox and returns its id."""
        return self.post("/v1/sandboxes", fields, 201, key=key)["id"]

    def file(self, sandbox, path, **query):
        return f"/v1/sandboxes/{sandbox}/files?" + urllib.parse.urlencode({"path": path, **query})

    def put(self, sandbox, path, data, **query):
        a = self.request("PUT", self.file(sandbox, path, **query), data if isinstance(data, bytes) else data.encode())
        ensure(a.status in (200, 201), "writing a file", a)
        return a

    def new_key(self, name="k", **fields):
        """Creates a key and returns its object, with the secret."""
        return self.post("/v1/keys", {"name": name, **fields}, 201, unix=True)

    def all_rows(self):
        """Returns the rows of the log."""
        return self.get("/v1/executions?limit=1000", unix=True)["executions"]

    def rows(self):
        """Returns the rows of executions: without refused requests."""
        return [row for row in self.all_rows() if row["status"] != "refused"]


def not_sanitized():
    """For tests of speed and memory use, which do not hold for a server that is built with a sanitizer or to measure coverage."""
    with open(os.path.join(os.path.dirname(support.command[-1]), "cella-server"), "rb") as f:
        program = f.read()
    if b"__asan_init" in program:
        raise support.Skip("the server is built with a sanitizer")
    if b"__gcov_exit" in program:
        raise support.Skip("the server is built to measure coverage")


support.fixtures.update(d=Daemon, s=lambda d: d.sandbox())
