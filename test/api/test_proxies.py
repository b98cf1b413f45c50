"""The recipes of doc/https.md: nginx and Caddy in front of a daemon, with the configuration that the document shows."""

import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess

import support
from daemon import Daemon, free_port
from documents import ROOT
from support import ensure, here, same, test, until
from test_tls import certificate, context

PROGRAMS = pathlib.Path(os.path.join(ROOT, "build-servers"))
NAME = "box.example.org"


def recipe(name):
    """The block of the document with this file name."""
    return re.search(r"```\w+ " + re.escape(name) + r"\n(.*?)```", (ROOT / "doc/https.md").read_text(), re.S)[1]


def program(path):
    if not (PROGRAMS / path).exists():
        raise support.Skip("no programs of ./dev setup servers")
    return PROGRAMS / path


@contextlib.contextmanager
def behind(make):
    """A daemon with the settings of the recipe, and the proxy that make() starts: make(text of a file, port of the proxy, certificate)."""
    cert = certificate("box", host=NAME)
    settings = support.write(here("cella.json"), recipe("cella.json"), 0o644)
    with Daemon(args=["--settings", settings]) as d:
        d.cert, d.proxy = cert[0], free_port()
        d.key = d.new_key()["key"]

        def fill(text):
            for old, new in (("127.0.0.1:7070", f"127.0.0.1:{d.port}"), ("/etc/cella/cert.pem", cert[0]), ("/etc/cella/key.pem", cert[1])):
                ensure(old in text, f"the recipe has no {old}")
                text = text.replace(old, new)
            return text

        with open(here("proxy.log"), "wb") as log:
            p = make(fill, d.proxy, log)
            try:
                until(lambda: p.poll() is not None or listens(d.proxy), 20, "the proxy")
                same(p.poll(), None, f"the proxy says {support.read(here('proxy.log'))}: its status")
                yield d
            finally:
                p.kill()
                p.wait()


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def opened(d):
    s = socket.create_connection(("127.0.0.1", d.proxy), 20 * support.slack)
    return context(d.cert).wrap_socket(s, server_hostname=NAME)


def send(s, method, target, body=b"", **headers):
    lines = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
    s.sendall(f"{method} {target} HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode() + body)


def read_until(s, wanted):
    got = b""
    while wanted not in got:
        part = s.recv(65536)
        ensure(part, f"it ended: {got!r}")
        got += part
    return got


def check(d):
    auth = {"Authorization": f"Bearer {d.key}"}
    with opened(d) as s:  # answers
        send(s, "GET", "/v1/me", **auth, Connection="close")
        ensure(read_until(s, b"}").startswith(b"HTTP/1.1 200 "), "with a key")
    with opened(d) as s:  # nobody is the owner
        send(s, "GET", "/v1/sandboxes", Connection="close")
        ensure(read_until(s, b"}").startswith(b"HTTP/1.1 401 "), "without a key")
    d.logged("an API key is required")
    same([line["peer"] for line in d.lines() if "an API key" in line["message"]], ["127.0.0.1"], "the client in the log: an address without a port is of X-Forwarded-For")
    with opened(d) as s:  # events arrive while the code runs
        send(s, "POST", "/v1/exec", json.dumps({"runtime": "sh", "code": "echo begun; sleep 600"}).encode(), **auth, Accept="text/event-stream")
        read_until(s, b"begun")
    until(lambda: "cancelled" in [r["status"] for r in d.rows()], 20, "the end of the execution, whose client has gone")
    box = d.post("/v1/sandboxes", {}, 201)["id"]
    with opened(d) as s:  # large bodies
        data = os.urandom(2 << 20)
        send(s, "PUT", f"/v1/sandboxes/{box}/files?path=x", data, **auth, Connection="close")
        ensure(read_until(s, b"\r\n\r\n")[9:12] in (b"200", b"201"), "an upload")
        same(d.request("GET", f"/v1/sandboxes/{box}/files?path=x").body == data, True, "what arrived")
    with opened(d) as s:  # terminals
        s.sendall((f"GET /v1/sandboxes/{box}/terminal HTTP/1.1\r\nHost: {NAME}\r\nOrigin: https://{NAME}\r\nAuthorization: Bearer {d.key}\r\nConnection: Upgrade\r\n"
                   "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n").encode())  # fmt: skip
        ensure(read_until(s, b"\r\n\r\n").startswith(b"HTTP/1.1 101 "), "an upgrade")
        typed = b"echo 4$((1+1))\n"
        s.sendall(bytes([0x82, 0x80 | len(typed), 0, 0, 0, 0]) + typed)
        read_until(s, b"42")


@test(users=["root"], timeout=120)
def nginx_in_front_of_the_daemon():
    def make(fill, port, log):
        server = fill(recipe("nginx.conf"))
        ensure("listen 443 ssl;" in server, "the recipe listens on 443")
        work = here("nginx")
        os.mkdir(work)
        paths = "".join(f"{kind}_temp_path {work}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        text = (f"daemon off; pid {work}/pid; error_log stderr; user root; events {{}}\n"
                f"http {{ access_log off; {paths}\n{server.replace('listen 443', f'listen 127.0.0.1:{port}')} }}")  # fmt: skip
        return subprocess.Popen([program("usr/sbin/nginx"), "-p", work, "-e", "stderr", "-c", support.write(here("nginx.conf"), text)], stdout=log, stderr=log)

    with behind(make) as d:
        check(d)


@test(users=["root"], timeout=120)
def caddy_in_front_of_the_daemon():
    def make(fill, port, log):
        site = fill(recipe("Caddyfile"))
        ensure(site.startswith(NAME + " {"), "the recipe begins with the name")
        text = "{\n admin off\n auto_https disable_redirects\n}\n" + site.replace(NAME + " {", f"https://{NAME}:{port} {{\n bind 127.0.0.1", 1)
        env = {"HOME": support.home, "XDG_DATA_HOME": here("caddy"), "XDG_CONFIG_HOME": here("caddy")}
        return subprocess.Popen([program("usr/bin/caddy"), "run", "--adapter", "caddyfile", "--config", support.write(here("Caddyfile"), text)], stdout=log, stderr=log, env=env)

    with behind(make) as d:
        check(d)
