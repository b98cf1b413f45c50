"""A small client of the Model Context Protocol, over HTTP and over standard streams; both eras."""

import json
import os
import queue
import subprocess
import threading

import support
from support import ensure, fail, late, same

META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
ACCEPT = "application/json, text/event-stream"
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def meta(version=MODERN, **more):
    return {META + "protocolVersion": version, META + "clientCapabilities": {}, META + "clientInfo": {"name": "test", "version": "1"},
            **more}  # fmt: skip


def events_of(response):
    """Server-sent events as they come: (id, data)."""
    event, data = None, []
    while line := response.readline():
        line = line.rstrip(b"\n")
        if not line:
            if event is not None or data:
                yield event, b"\n".join(data).decode()
            event, data = None, []
            continue
        field, _, value = line.partition(b": ")
        if field == b"id":
            event = value.decode()
        elif field == b"data" or line == b"data:":
            data.append(value)


class Http:
    """A client of the older revisions, with a session."""

    def __init__(self, daemon, version="2025-11-25", key=None, unix=False, start=True):
        self.daemon, self.key, self.unix, self.number = daemon, key, unix, 0
        self.session, self.version = None, version
        if start:
            a = self.post(self.message("initialize", {**HELLO, "protocolVersion": version}))
            same(a.status, 200, "initialize", a)
            self.hello = a.json()["result"]
            self.session, self.version = a.headers["Mcp-Session-Id"], self.hello["protocolVersion"]
            same(self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status, 202, "initialized")

    def message(self, method, params=None):
        self.number += 1
        return {"jsonrpc": "2.0", "id": self.number, "method": method, **({} if params is None else {"params": params})}

    def headers(self, **more):
        sent = {"Accept": ACCEPT, "Content-Type": "application/json", **more}
        if self.session:
            sent.update({"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.version})
        return sent

    def post(self, message, headers=None):
        """The raw answer to whatever this is."""
        return self.daemon.request("POST", "/mcp", message, headers=headers or self.headers(), key=self.key, unix=self.unix)

    def open(self, method, params=None, headers=None):
        """The answer to a request as it comes: (connection, response, id)."""
        c = self.daemon.connection(self.unix)
        m = self.message(method, params)
        sent = self.daemon.headers(m, headers or self.headers(), self.key, self.unix)
        c.request("POST", "/mcp", self.daemon.encode(m), sent)
        return c, c.getresponse(), m["id"]

    def whole(self, method, params=None):
        """(the response, the notifications before it)."""
        c, r, number = self.open(method, params)
        try:
            if r.getheader("Content-Type") == "application/json":
                message, before = json.loads(r.read()), []
            else:
                same(r.getheader("Content-Type"), "text/event-stream", f"Content-Type of {r.status}")
                all_ = [json.loads(data) for _, data in events_of(r) if data]
                message, before = all_[-1], all_[:-1]
            same(message.get("id"), number, f"id of {message}")
            return message, before
        finally:
            c.close()

    def ask(self, method, params=None):
        """The result."""
        message, _ = self.whole(method, params)
        ensure("result" in message, f"{method}: {message}")
        return message["result"]

    def error(self, method, params=None):
        """The error's code and message."""
        message, _ = self.whole(method, params)
        ensure("error" in message, f"{method}: {message}")
        return message["error"]["code"], message["error"]["message"]

    def tool(self, tool_name, **arguments):
        return self.ask("tools/call", {"name": tool_name, "arguments": arguments})

    def close(self):
        return self.daemon.request("DELETE", "/mcp", headers=self.headers(), key=self.key, unix=self.unix).status


class Modern(Http):
    """A client of revision 2026-07-28: requests are independent of each other."""

    def __init__(self, daemon, key=None, unix=False):
        super().__init__(daemon, MODERN, key, unix, start=False)

    def message(self, method, params=None, **more):
        return super().message(method, {**(params or {}), "_meta": {**meta(**more), **(params or {}).get("_meta", {})}})

    def open(self, method, params=None, headers=None):
        return super().open(method, params, headers or self.mirror(method, params))

    def mirror(self, method, params=None):
        sent = {**self.headers(), "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        name = (params or {}).get("uri" if method == "resources/read" else "name")
        if name and method in ("tools/call", "prompts/get", "resources/read"):
            sent["Mcp-Name"] = name
        return sent


class Stdio:
    """`cella mcp` and its two ends."""

    def __init__(self, *args, env=None, **popen):
        self.process = support.spawn("mcp", *args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     env={**os.environ, **(env or {})}, **popen)  # fmt: skip
        self.lines, self.number = queue.Queue(), 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def send(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(text + b"\n")
        self.process.stdin.flush()

    def next(self, seconds=20):
        try:
            return self.lines.get(timeout=seconds * support.slack)
        except queue.Empty:
            late("no message on standard output")

    def begin(self, method, params=None):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, **({} if params is None else {"params": params})})
        return self.number

    def ask(self, method, params=None):
        number = self.begin(method, params)
        while message := self.next():
            if message.get("id") == number:
                ensure("result" in message, f"{method}: {message}")
                return message["result"]
        fail(f"it ended before it answered {method}: {self.process.stderr.read().decode()}")

    def end(self, rc=0):
        """Closes its input; it must end by itself."""
        self.process.stdin.close()
        same(support.reap(self.process, 40), rc, f"exit status; {self.process.stderr.read().decode()[-500:]}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            if kind is None:
                self.end()
            else:
                self.process.kill()
                self.process.wait()
