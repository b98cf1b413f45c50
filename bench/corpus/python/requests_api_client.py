# needs: requests
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests


class Api(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.headers.get("Authorization") != "Bearer token":
            return self.answer(401, {"error": "unauthorized"})
        page = int(self.path.rsplit("=", 1)[1])
        self.answer(200, {"page": page, "items": [page * 10 + i for i in range(3)], "more": page < 3})

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/items"

try:
    requests.get(url, params={"page": 1}, timeout=120).raise_for_status()
except requests.HTTPError as e:
    print("refused:", e.response.status_code, e.response.json())

items, page = [], 1
with requests.Session() as session:
    session.headers["Authorization"] = "Bearer token"
    while True:
        answer = session.get(url, params={"page": page}, timeout=120).json()
        items += answer["items"]
        if not answer["more"]:
            break
        page += 1
print("items:", items)
server.shutdown()

try:
    requests.get("http://127.0.0.1:1/", timeout=120)
except requests.ConnectionError as e:
    print("no connection:", type(e).__name__)
