"""A small private internet for a test; the process of the test runs on a host in it.

    with Internet() as net, Daemon(settings={"network": {...}}) as d:
        d.exec("sh", "curl -s http://ok.example/") ...
        net.seen()   # what reached the other side

The process enters a network and a mount namespace of its own (so do all that it starts: the daemon); the other
end of a pair of interfaces is in the namespace of a child, which has every address that there is: servers for
DNS, HTTP, HTTPS and raw TCP, on names that are public, private, or the metadata service's.  All of it is gone
when the two processes are.  The child counts every packet that comes, whatever it is for.

Run as `internet.py FD DIRECTORY` it is the child."""

import asyncio
import contextlib
import ctypes
import ipaddress
import json
import os
import select
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

HOST, PEER, HOST6, PEER6 = "11.0.0.1", "11.0.0.2", "2620:99::1", "2620:99::2"
RESOLVER = "9.9.9.9"
# Run in a sandbox: prints `open` with a connection open, `closed` when it ends, and then the outcome of a new connection.
AGAIN = """
import socket
def get():
    s = socket.create_connection(("ok.example", 80), 10)
    s.settimeout(10)
    s.sendall(b"GET /a HTTP/1.1\\r\\nHost: ok.example\\r\\nConnection: close\\r\\n\\r\\n")
    return s.recv(100).split()[1:2]
s = socket.create_connection(("ok.example", 80), 5)
s.sendall(b"GET /slow/60 HTTP/1.1\\r\\nHost: ok.example\\r\\n\\r\\n")
s.settimeout(20)
print("open", s.recv(10)[:4], flush=True)
try:
    while s.recv(1000): pass
except OSError: pass
print("closed", flush=True)
print("again", get(), flush=True)
"""
ZONE = {
    "ok.example": ["93.184.216.10", "2606:2800:220:1::10"],
    "www.ok.example": ["93.184.216.11", "2606:2800:220:1::11"],
    "deep.www.ok.example": ["93.184.216.12"],
    "other.example": ["93.184.216.13", "2606:2800:220:1::13"],
    "evil.example": ["93.184.216.66", "2606:2800:220:1::66"],
    "v4.example": ["93.184.216.14"],
    "v6.example": ["2606:2800:220:1::15"],
    "private.example": ["10.1.2.3"],
    "lan.example": ["192.168.7.7"],
    "mixed.example": ["93.184.216.16", "10.1.2.3"],
    "loop.example": ["127.0.0.1"],
    "meta.example": ["169.254.169.254"],
    "dead.example": ["93.184.216.250"],  # no host has this address
    **{f"n{i}.example": [f"93.184.217.{i + 1}"] for i in range(40)},
}
ADDRESSES = sorted({a for all_ in ZONE.values() for a in all_} - {"127.0.0.1", "93.184.216.250"} | {
    RESOLVER, "10.1.2.3", "192.168.7.7", "169.254.169.254", "fd00:1::7", "93.184.216.99"})  # fmt: skip
HTTP_PORTS, HTTPS_PORTS, ECHO_PORTS, BANNER_PORTS = (80, 8080), (443, 8443), (7000,), (7001, 22)
BANNER = b"who goes there?\n"

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags):
    if libc.unshare(flags) < 0:
        raise OSError(ctypes.get_errno(), "unshare")


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def ip(words):
    run("ip", *words.split())


# ---- used by the test ----


class Internet:
    """The process that creates one stays on a host of it until it ends."""

    def __init__(self, hosts="", resolver=RESOLVER):
        self.directory = tempfile.mkdtemp(prefix="cella-internet-")
        make_certificates(self.directory, sorted(ZONE))
        self.ca = os.path.join(self.directory, "ca.pem")
        with open(self.ca) as f:
            self.ca_text = f.read()
        unshare(CLONE_NEWNET | CLONE_NEWNS)
        run("mount", "--make-rprivate", "/")
        ip("link set lo up")
        self.files = {"/etc/resolv.conf": f"nameserver {resolver}\n", "/etc/hosts": f"127.0.0.1 localhost\n{hosts}"}
        for path, text in self.files.items():
            self.write(path, text)
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), str(theirs.fileno()), self.directory],
            pass_fds=[theirs.fileno()], preexec_fn=lambda: unshare(CLONE_NEWNET))  # fmt: skip
        theirs.close()
        self.connect()

    def connect(self):
        assert self.control.recv(100) == b"there", "the internet did not start"
        ip(f"link add host0 type veth peer name inet0 netns {self.process.pid}")
        ip(f"addr add {HOST}/24 dev host0")
        ip(f"-6 addr add {HOST6}/64 dev host0 nodad")
        ip("link set host0 up")
        self.ask(do="connect")
        ip(f"route add default via {PEER}")
        ip(f"-6 route add default via {PEER6}")

    def write(self, path, text):
        """A file of the host, for this process and those it starts; a new one each time, as editors make them."""
        room = tempfile.mkdtemp(prefix="cella-internet-")
        run("mount", "-t", "tmpfs", "none", room)
        with open(os.path.join(room, "file"), "w") as f:
            f.write(text)
        run("mount", "--bind", os.path.join(room, "file"), os.path.realpath(path))
        run("umount", "-l", room)
        os.rmdir(room)

    def ask(self, **what):
        self.control.send(json.dumps(what).encode())
        return json.loads(self.control.recv(1 << 20))

    def zone(self, name, *answers, ttl=60):
        """Sets the answer for a name: addresses; or lists of them, one for each query in turn."""
        self.ask(do="zone", name=name, answers=answers, ttl=ttl)

    def seen(self, what=None, **like):
        """Returns the requests that arrived, in order: {"what": "dns"|"tcp"|"http"|"raw", ...}."""
        return [e for e in self.ask(do="seen") if what in (None, e["what"]) and all(e.get(k) == v for k, v in like.items())]

    def packets(self):
        """Returns {"proto address port": number} of the packets from the host, counted at the interface."""
        return self.ask(do="packets")

    def forget(self):
        self.ask(do="forget")

    def close(self):
        self.control.close()  # the child ends when its socket is closed
        self.process.wait(10)
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def make_certificates(directory, names):
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, cwd=directory, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)  # fmt: skip

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test CA")
    openssl("req", *curve, "-keyout", "key.pem", "-out", "req.pem", "-subj", "/CN=test")
    with open(os.path.join(directory, "names"), "w") as f:
        f.write("subjectAltName=" + ",".join(f"DNS:{n}" for n in names) + "\n")
    openssl("x509", "-req", "-in", "req.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", "cert.pem")  # fmt: skip


# ---- the child ----


class World:
    def __init__(self, directory):
        self.directory = directory
        self.events, self.counts, self.sniffer = [], {}, None
        self.names = {name: (answers, 60) for name, answers in ZONE.items()}
        self.asked = {}

    def see(self, what, **about):
        self.events.append({"what": what, **about})

    # DNS, as much of it as a resolver needs to be answered.

    def answers(self, name, family):
        found, ttl = self.names[name]
        if found and isinstance(found[0], list):
            turn = self.asked.get((name, family), 0)
            self.asked[name, family] = turn + 1
            found = found[min(turn, len(found) - 1)]
        return [a for a in map(ipaddress.ip_address, found) if a.version == family], ttl

    def answer(self, query, via):
        number, flags, questions = struct.unpack(">HHH", query[:6])
        at, labels = 12, []
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]])
            at += 1 + query[at]
        kind = struct.unpack(">H", query[at + 1 : at + 3])[0]
        question, name = query[12 : at + 5], b".".join(labels).decode("latin-1").lower()
        self.see("dns", name=name, type=kind, via=via, query=query[2:].hex())
        known = name in self.names
        found, ttl = self.answers(name, 6 if kind == 28 else 4) if known and kind in (1, 28) else ([], 60)
        body = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, ttl, len(a.packed)) + a.packed for a in found)
        if via == "udp" and len(body) > 900:
            found, body, flags = [], b"", flags | 0x200
        return struct.pack(">HHHHHH", number, 0x8180 | flags & 0x200 | (0 if known else 3), 1, len(found), 0, 0) + question + body

    async def dns_tcp(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                length = struct.unpack(">H", await reader.readexactly(2))[0]
                answer = self.answer(await reader.readexactly(length), "tcp")
                writer.write(struct.pack(">H", len(answer)) + answer)
        writer.close()

    # HTTP: the answer contains the request and the address of the client.

    async def http(self, reader, writer):
        tls = writer.get_extra_info("ssl_object")
        to, port = writer.get_extra_info("sockname")[:2]
        about = {"to": to.removeprefix("::ffff:"), "port": port, "sni": getattr(tls, "asked_name", None)}
        self.see("tcp", **about)
        with contextlib.suppress(asyncio.IncompleteReadError, OSError, ValueError, asyncio.LimitOverrunError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")
                method, target, _ = lines[0].split(" ")
                headers = dict((k.lower(), v) for k, _, v in (line.partition(": ") for line in lines[1:] if line))
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                last = headers.get("connection", "").lower() == "close"
                event = {**about, "method": method, "target": target, "host": headers.get("host"), "bytes": len(body)}
                self.see("http", **event)
                await self.reply(writer, target, event, last)
                if last:
                    break
        writer.close()

    async def reply(self, writer, target, event, last):
        words, close = target.split("/"), b"Connection: close\r\n" if last else b""
        if words[1:2] == ["bytes"]:  # /bytes/N
            left = int(words[2])
            writer.write(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n" % (close, left))
            while left > 0:
                writer.write(b"x" * min(left, 65536))
                await writer.drain()
                left -= 65536
            return
        if words[1:2] == ["slow"]:  # /slow/SECONDS: a byte every 50 ms
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            for _ in range(int(float(words[2]) * 20)):
                writer.write(b".")
                await writer.drain()
                await asyncio.sleep(0.05)
            writer.close()
            return
        if words[1:2] == ["files"]:  # a file that the test has put there
            await self.reply_file(writer, target, close)
            return
        text = json.dumps(event).encode()
        writer.write(b"HTTP/1.1 200 OK\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (close, len(text)) + text)
        await writer.drain()

    async def reply_file(self, writer, target, close):
        path = os.path.join(self.directory, target.partition("?")[0].lstrip("/"))
        path = os.path.join(path, "index.html") if os.path.isdir(path) else path
        status, data = b"404 Not Found", b"no such file\n"
        if os.path.isfile(path):
            with open(path, "rb") as f:
                status, data = b"200 OK", f.read()
        kind = b"text/html" if path.endswith(".html") else b"application/octet-stream"
        writer.write(b"HTTP/1.1 %s\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (status, close, kind, len(data)) + data)
        await writer.drain()

    # Raw: an echo; where it speaks first, with a banner before.

    async def raw(self, reader, writer):
        to, port = writer.get_extra_info("sockname")[:2]
        self.see("tcp", to=to.removeprefix("::ffff:"), port=port)
        if port in BANNER_PORTS:
            writer.write(BANNER)
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                self.see("raw", to=to.removeprefix("::ffff:"), port=port, data=data[:200].decode("latin-1"))
                writer.write(data)
                await writer.drain()
        writer.close()

    def tls(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(self.directory, "cert.pem"), os.path.join(self.directory, "key.pem"))

        def on_name(tls, name, _):
            tls.asked_name = name

        context.sni_callback = on_name
        return context

    async def serve(self):
        world, loop = self, asyncio.get_running_loop()

        class Udp(asyncio.DatagramProtocol):
            def connection_made(self, transport):
                self.transport = transport

            def datagram_received(self, data, address):
                with contextlib.suppress(IndexError, struct.error):
                    self.transport.sendto(world.answer(data, "udp"), address)

        # Answers come from the address that was asked: one socket for each.
        for address in ADDRESSES:
            await loop.create_datagram_endpoint(Udp, local_addr=(address, 53))
        listen = [(53, self.dns_tcp, None), *((p, self.http, None) for p in HTTP_PORTS), *((p, self.http, self.tls()) for p in HTTPS_PORTS),
                  *((p, self.raw, None) for p in ECHO_PORTS + BANNER_PORTS)]  # fmt: skip
        for port, handler, tls in listen:
            both = socket.create_server(("::", port), family=socket.AF_INET6, backlog=1000, dualstack_ipv6=True)
            await asyncio.start_server(handler, sock=both, ssl=tls)

    def sniff(self):
        s = self.sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        s.bind(("inet0", 3))
        while True:
            data, (_, proto, kind, *_) = s.recvfrom(200)
            if kind == socket.PACKET_OUTGOING or proto not in (0x0800, 0x86DD):
                continue
            at = (data[0] & 15) * 4 if proto == 0x0800 else 40
            transport = data[9] if proto == 0x0800 else data[6]
            to = ipaddress.ip_address(data[16:20] if proto == 0x0800 else data[24:40])
            if to.is_multicast or transport == 58 and data[at] in range(133, 138):  # neighbours look for each other
                continue
            port = struct.unpack(">H", data[at + 2 : at + 4])[0] if transport in (6, 17) else 0
            name = f"{ {6: 'tcp', 17: 'udp', 1: 'icmp', 58: 'icmp'}.get(transport, transport)} {to} {port}"
            self.counts[name] = self.counts.get(name, 0) + 1

    def catch_up(self):
        """Waits until all packets that have arrived are counted."""
        end = time.monotonic() + 1
        while (not self.sniffer or select.select([self.sniffer], [], [], 0)[0]) and time.monotonic() < end:
            time.sleep(0.001)
        time.sleep(0.001)


def configure():
    for line in ("link set lo up", f"addr add {PEER}/24 dev inet0", f"-6 addr add {PEER6}/64 dev inet0 nodad", "link set inet0 up"):
        ip(line)
    for address in ADDRESSES:
        ip(f"addr add {address}/32 dev lo" if "." in address else f"-6 addr add {address}/128 dev lo nodad")


def child(fd, directory):
    control = socket.socket(fileno=fd)
    control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    world, loop = World(directory), asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    control.send(b"there")
    while text := control.recv(1 << 20):
        what, answer = json.loads(text), None
        if what["do"] == "connect":
            configure()
            threading.Thread(target=world.sniff, daemon=True).start()
            asyncio.run_coroutine_threadsafe(world.serve(), loop).result(10)
        elif what["do"] == "zone":
            world.names[what["name"]] = what["answers"], what["ttl"]
        elif what["do"] == "seen":
            answer = world.events[-2000:]
        elif what["do"] == "packets":
            world.catch_up()
            answer = dict(world.counts)
        elif what["do"] == "forget":
            world.catch_up()
            world.events, world.counts = [], {}
        control.send(json.dumps(answer).encode())


if __name__ == "__main__":
    child(int(sys.argv[1]), sys.argv[2])
