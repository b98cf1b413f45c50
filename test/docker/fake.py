"""A fake engine with answers defined by the test, for conditions that are rare with a real engine."""

import http.server
import json
import os
import socketserver
import threading

import support

ID = "ab" * 32
IMAGE = {"Id": "sha256:" + "cd" * 32, "Size": 5, "Config": {"Env": ["A=b"], "Cmd": ["true"], "User": "", "WorkingDir": "/"}}
GOOD = {
    "GET /_ping": (200, b"OK"),
    "GET /info": (200, {"ServerVersion": "99.1", "Runtimes": {"runc": {}, "runsc": {}}, "DefaultRuntime": "runc", "CgroupVersion": "2", "SecurityOptions": []}),
    "GET /containers/json": (200, []),
    "GET /images/": (200, IMAGE),
    "POST /containers/create": (201, {"Id": ID}),
    f"POST /containers/{ID}/start": (204, None),
    f"GET /containers/{ID}/json": (200, {"State": {"Running": False, "ExitCode": 1, "Error": ""}}),
    "DELETE /containers/": (204, None),
}


class Fake(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """answers: what differs from a good engine's: by the beginning of "METHOD /path", (status, body) or bytes for all of
    it; a function gets the handler.  seen: the requests that came."""

    daemon_threads = True

    def __init__(self, answers=None, podman=False):
        self.podman = podman
        self.path = os.path.join(support.home, "fake.sock")
        self.answers, self.seen = {**GOOD, **(answers or {})}, []
        super().__init__(self.path, Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """The client has closed the connection, as the test intended."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
        os.unlink(self.path)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "fake"

    def log_message(self, *_):
        pass

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.body = body = self.rfile.read(length)
        line = f"{self.command} {self.path}"
        self.server.seen.append((line, json.loads(body) if body else None))
        what = next((a for k, a in sorted(self.server.answers.items(), key=lambda p: -len(p[0])) if line.startswith(k)), (404, {"message": "no such thing"}))
        if callable(what):
            what = what(self)
        if isinstance(what, bytes):
            self.wfile.write(what)
            self.close_connection = True
            return
        status, value = what
        data = b"" if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Api-Version", "1.99")
        if self.server.podman:
            self.send_header("Libpod-API-Version", "4.9.0")
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = answer
