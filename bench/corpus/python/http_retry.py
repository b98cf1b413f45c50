import http.client
import time
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


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.reason, response.read().decode()
    finally:
        connection.close()


def fetch(port, path, retries=4, delay=0.001):
    for attempt in range(1, retries + 1):
        status, reason, body = get(port, path)
        if status == 200:
            return body
        print(f"attempt {attempt}: HTTP {status} {reason}")
        if status < 500:
            raise LookupError(f"{path}: {reason}")
        time.sleep(delay * 2**attempt)
    raise RuntimeError(f"gave up after {retries} attempts")


def serve(server, requests):
    for _ in range(requests):  # not serve_forever(): how long its shutdown() waits depends on a race
        server.handle_request()


with HTTPServer(("127.0.0.1", 0), Flaky) as server:
    thread = Thread(target=serve, args=(server, 4))
    thread.start()
    port = server.server_address[1]
    print("result:", fetch(port, "/data"))
    try:
        fetch(port, "/missing")
    except LookupError as e:
        print("error:", e)
    thread.join()
