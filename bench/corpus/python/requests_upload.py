# needs: requests
import hashlib
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import requests


class Upload(BaseHTTPRequestHandler):
    def do_PUT(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        digest = hashlib.sha256(data).hexdigest()
        self.send_response(201)
        self.send_header("X-Digest", digest)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        reply = f"{self.headers['Content-Type'].split(';')[0]}: {len(body)} bytes".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *args):
        pass


server = HTTPServer(("127.0.0.1", 0), Upload)
Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"

payload = bytes(range(256)) * 100
response = requests.put(base + "/blob", data=payload, timeout=120)
print(response.status_code, response.headers["X-Digest"] == hashlib.sha256(payload).hexdigest())
print(requests.post(base + "/form", data={"a": 1, "b": "x y"}, timeout=120).text)
print(requests.post(base + "/json", json={"a": [1, 2, 3]}, timeout=120).text)
server.shutdown()
