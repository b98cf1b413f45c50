"""A fake daemon that gives the answers that a test defines: valid, invalid, or none."""

import base64
import hashlib
import itertools
import json
import os
import socket
import struct
import threading
import urllib.parse


class Request:
    def __init__(self, method, target, headers, body):
        self.method, self.target, self.headers, self.body = method, target, headers, body
        self.path, _, query = target.partition("?")
        self.path = urllib.parse.unquote(self.path)
        self.query = urllib.parse.parse_qs(query, keep_blank_values=True, errors="surrogateescape")

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.method} {self.target}"


class Connection:
    """The connection of one client, for handlers that need more than bytes and generators."""

    def __init__(self, sock):
        self.sock, self.rest = sock, b""

    def more(self):
        data = self.sock.recv(65536)
        if not data:
            raise ConnectionResetError
        self.rest += data

    def take(self, n):
        while len(self.rest) < n:
            self.more()
        data, self.rest = self.rest[:n], self.rest[n:]
        return data

    def line(self):
        while b"\r\n" not in self.rest:
            self.more()
        line, _, self.rest = self.rest.partition(b"\r\n")
        return line

    def request(self):
        method, target, _ = self.line().decode().split(" ")
        headers = {}
        while line := self.line():
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            while n := int(self.line(), 16):
                body += self.take(n)
                self.line()
            self.line()
        else:
            body = self.take(int(headers.get("content-length", "0")))
        return Request(method, target, headers, body)

    # WebSocket frames, as a server sends and gets them.

    def send_frame(self, opcode, data, fin=True):
        length = (
            bytes([len(data)]) if len(data) < 126 else struct.pack(">BH", 126, len(data))
            if len(data) < 65536 else struct.pack(">BQ", 127, len(data))
        )
        self.sock.sendall(bytes([(0x80 if fin else 0) | opcode]) + length + data)

    def frame(self):
        first, second = self.take(2)
        if not second & 0x80:
            raise ValueError("a client's frame must be masked")
        n = second & 0x7F
        if n >= 126:
            n = int.from_bytes(self.take(2 if n == 126 else 8), "big")
        mask, data = self.take(4), self.take(n)
        return first & 15, bytes(b ^ mask[i % 4] for i, b in enumerate(data))


numbers = itertools.count()


class Fake:
    """Listens in the current directory, or on a port.  handler(request, connection) returns bytes, or yields
    them, or does it all itself and returns None."""

    def __init__(self, handler, tcp=False):
        self.handler, self.requests, self.errors = handler, [], []
        self.gone = threading.Event()  # a client disconnected before it had received everything
        if tcp:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
            self.env = {**os.environ, "CELLA_URL": self.url}
        else:
            self.path = os.path.join(os.getcwd(), f"fake-{next(numbers)}.sock")
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(self.path)
            self.listener.listen(16)
            self.env = {**os.environ, "CELLA_SOCKET": self.path}
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        connection = Connection(sock)
        try:
            request = connection.request()
            self.requests.append(request)
            answer = self.handler(request, connection)
            if isinstance(answer, bytes):
                sock.sendall(answer)
            elif answer is not None:
                for part in answer:
                    sock.sendall(part)
        except (ConnectionError, OSError):
            self.gone.set()
        except Exception as e:  # noqa: BLE001
            self.errors.append(repr(e))
        finally:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)  # closing alone does not wake the thread in accept()
        self.listener.close()


def head(status=200, **headers):
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def answer(value, status=200, **headers):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return head(status, Content_Type="application/json", Content_Length=len(body), **headers) + body


def chunked(body, size=7, status=200, type="application/json"):
    out = head(status, Content_Type=type, Transfer_Encoding="chunked")
    for i in range(0, len(body), size):
        part = body[i : i + size]
        out += f"{len(part):X};ext=1\r\n".encode() + part + b"\r\n"
    return out + b"0\r\nTrailer: x\r\n\r\n"


def error(status, kind, message, hint=""):
    return answer({"error": {"kind": kind, "message": message, "hint": hint}}, status)


def event(name, value):
    return f"event: {name}\ndata: {json.dumps(value)}\n\n".encode()


def output(name, data):
    return event(name, {"base64": base64.b64encode(data).decode()})


def exit_event(code=0, status="exited", **more):
    return event("exit", {"id": "exe_x", "status": status, "exit_code": code, **more})


def events(*parts):
    return chunked(b"".join(parts), size=1000, type="text/event-stream")


def accept_key(request):
    joined = request.headers["sec-websocket-key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    return base64.b64encode(hashlib.sha1(joined).digest()).decode()


def upgrade(request, key=None):
    return head(101, Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Accept=key or accept_key(request))
