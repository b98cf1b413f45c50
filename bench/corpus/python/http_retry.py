import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread


class Flaky(BaseHTTPRequestHandler):
    attempts = 0

    def do_GET(self):
        if self.path == "/missing":
            self.send_error(404)
            return
        Flaky.attempts += 1
        if Flaky.attempts < 3:
            self.send_error(503)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"finally")

    def log_message(self, *args):
        pass


def fetch(url, retries=4, delay=0.001):
    for attempt in range(1, retries + 1):
        try:
            with urllib.request.urlopen(url, timeout=120) as response:
                return response.read().decode()
        except urllib.error.HTTPError as e:
            print(f"attempt {attempt}: HTTP {e.code} {e.reason}")
            if e.code < 500:
                raise
            time.sleep(delay * 2**attempt)
    raise RuntimeError(f"gave up after {retries} attempts")


server = HTTPServer(("127.0.0.1", 0), Flaky)
Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_address[1]}"
print("result:", fetch(base + "/data"))
try:
    fetch(base + "/missing")
except urllib.error.HTTPError as e:
    print("error:", e)
server.shutdown()
