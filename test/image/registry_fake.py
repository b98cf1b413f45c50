"""A registry in this process that behaves as a test wants it to: well, unless there is a rule for a path.

    fake = Fake({"app:1": image})
    fake.rule(r"/blobs/", lambda request: request.answer(500))

Every request is kept in fake.log.  A rule gets the request and answers it, or returns False to have it answered well."""

import collections
import http.server
import re
import socket
import ssl
import subprocess
import threading
import time

import registry_oci as oci


Asked = collections.namedtuple("Asked", "command path headers")


class Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "fake", ""

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.server.fake.connections.append(self.connection)

    def answer(self, status=200, body=b"", headers=None, length=True):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if length and not any(n.lower() == "content-length" for n in headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def raw(self, data):
        """Sends these bytes and closes the connection."""
        self.close_connection = True
        self.wfile.write(data)

    def cut(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def drip(self, data, pause):
        """Sends one byte after the other, until the client disconnects."""
        self.close_connection = True
        for byte in data:
            if self.server.fake.stopped:
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(pause)

    def handle_any(self):
        fake = self.server.fake
        fake.log.append(Asked(self.command, self.path, self.headers))  # one handler gets all requests of a connection
        try:
            for pattern, rule in list(fake.rules):
                if re.search(pattern, self.path) and rule(self) is not False:
                    return
            fake.well(self)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError, ValueError):
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_CONNECT = handle_any

    def handle(self):
        try:
            super().handle()
        except (ConnectionResetError, BrokenPipeError, ssl.SSLError):
            pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, *_):
        pass


class Fake:
    def __init__(self, images=None, host="127.0.0.1", tls=None):
        """tls: (certificate, key)."""
        self.images = images or {}
        self.rules, self.log, self.connections, self.stopped = [], [], [], False
        self.server = Server((host, 0), Request)
        self.server.fake = self
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.host = f"{host}:{self.port}"
        self.url = f"http{'s' if tls else ''}://{self.host}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopped = True
        self.server.shutdown()
        self.server.server_close()
        for connection in self.connections:
            try:
                connection.close()
            except OSError:
                pass

    def rule(self, pattern, action):
        self.rules.append((pattern, action))

    def once(self, pattern, action):
        """A rule for only the first request that matches."""
        done = []

        def rule(request):
            if done:
                return False
            done.append(True)
            return action(request)
        self.rules.append((pattern, rule))

    def asked(self, pattern):
        """Returns "METHOD PATH" of the requests so far that match."""
        return [f"{r.command} {r.path}" for r in self.log if re.search(pattern, r.path)]

    def header(self, pattern, name):
        return [r.headers.get(name) for r in self.log if re.search(pattern, r.path)]

    # ---- the answers of a correct registry ----

    def well(self, request):
        path = request.path.split("?")[0]
        if path == "/v2/":
            return request.answer(200, b"{}")
        found = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/([^/]+)", path)
        if not found:
            return request.answer(404)
        return self.manifest(request, found[1], found[3]) if found[2] == "manifests" else self.blob(request, found[3])

    def manifest(self, request, repository, which):
        text, kind = None, None
        for name, thing in self.images.items():
            for one in thing if isinstance(thing, list) else [thing]:
                if which == one.digest or (not isinstance(thing, list) and name == f"{repository}:{which}"):
                    text, kind = one.text, one.type
            if isinstance(thing, list):
                list_text = oci.index(thing)
                if which == oci.sha256(list_text) or name == f"{repository}:{which}":
                    text, kind = list_text, oci.INDEX
        if text is None:
            return request.answer(404, b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}')
        return request.answer(200, text, {"Content-Type": kind, "Docker-Content-Digest": oci.sha256(text)})

    def blob_data(self, digest):
        for thing in self.images.values():
            for one in thing if isinstance(thing, list) else [thing]:
                if digest in one.blobs:
                    return one.blobs[digest]
        return None

    def blob(self, request, digest):
        data = self.blob_data(digest)
        if data is None:
            return request.answer(404, b'{"errors":[{"code":"BLOB_UNKNOWN","message":"blob unknown"}]}')
        part = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
        if not part:
            return request.answer(200, data)
        at = int(part[1])
        if at >= len(data):
            return request.answer(416)
        return request.answer(206, data[at:], {"Content-Range": f"bytes {at}-{len(data) - 1}/{len(data)}"})


class Proxy(Fake):
    """An HTTP proxy that leads every name to one port of this machine."""

    def __init__(self, to_port):
        super().__init__()
        self.to_port = to_port
        self.rule("", self.forward)

    def forward(self, request):
        request.close_connection = True
        if request.command != "CONNECT":
            return request.answer(405)
        with socket.create_connection(("127.0.0.1", self.to_port)) as other:
            request.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            ends = [(request.connection, other), (other, request.connection)]
            threads = [threading.Thread(target=pump, args=pair, daemon=True) for pair in ends]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        return None


def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def certificate(directory, name):
    """Makes a self-signed certificate for a name: (certificate, key)."""
    files = f"{directory}/{name}.pem", f"{directory}/{name}.key"
    kind = "IP" if re.fullmatch(r"[0-9.]+", name) else "DNS"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", f"subjectAltName={kind}:{name}", "-keyout", files[1], "-out", files[0]],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return files
