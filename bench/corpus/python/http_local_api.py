import json
import threading
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

items = {"1": {"name": "first"}}


class Handler(BaseHTTPRequestHandler):
    def reply(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        query = urllib.parse.parse_qs(url.query)
        self.reply(200, {"path": url.path, "query": query, "items": items})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        items[str(len(items) + 1)] = body
        self.reply(201, {"id": len(items)})

    def log_message(self, *args):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"

request = urllib.request.Request(
    base + "/items", data=json.dumps({"name": "second"}).encode(), headers={"Content-Type": "application/json"}
)
with urllib.request.urlopen(request, timeout=120) as response:
    print(response.status, json.load(response))

query = urllib.parse.urlencode({"q": "a b&c", "page": 2})
with urllib.request.urlopen(f"{base}/search?{query}", timeout=120) as response:
    print(response.status, response.headers["Content-Type"])
    print(json.dumps(json.load(response), sort_keys=True))
server.shutdown()
server.server_close()
