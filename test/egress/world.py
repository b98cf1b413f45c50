"""A small internet in network namespaces of the test's own: an outside, in which the egress process runs, with names,
servers and addresses that look public; and insides, in which code would run; each connection of it ends at a listener.
No packet of it reaches the network of the machine."""

import array
import contextlib
import ctypes
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time

import support
from support import ensure, fail, until

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000

WEB, WEB2, WEB6 = "93.184.216.34", "93.184.216.35", "2606:2800:220:1::34"
EVIL = "45.33.32.156"
PRIVATE, METADATA = "10.1.2.3", "169.254.169.254"
PROXY = ("198.18.0.1", 3128)

CONFIG, ATTACH, CHANGE, BEGIN, COUNT, DETACH = range(1, 7)
COUNTED, REFUSED, FAILED = range(100, 103)
STANDARD, ELEVATED = 1, 2
ANY = 0xFFFFFFFF
LISTENER_PORT = 1
IP_TRANSPARENT = 19
OWN, OWN6 = "192.0.0.8", "fd7c:1ace:11a0::1"

# The same values as in src/jail/way_out.c.
RULES = """table inet cella {
 chain in { type filter hook prerouting priority mangle; policy accept;
  ip daddr 127.0.0.0/8 accept
  ip6 daddr ::1 accept
  meta l4proto tcp tproxy to :1 accept
 }
 chain out { type filter hook output priority filter; policy drop;
  ip daddr 127.0.0.0/8 accept
  ip6 daddr ::1 accept
  meta l4proto tcp accept
  udp sport 53 accept
  udp dport 53 accept
  icmp type destination-unreachable accept
  icmpv6 type destination-unreachable accept
 }
}"""


def check(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def new_namespace():
    """Moves this thread into a new network namespace. Returns a descriptor of it."""
    check(libc.unshare(CLONE_NEWNET))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


@contextlib.contextmanager
def within(namespace):
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        check(libc.setns(namespace, CLONE_NEWNET))
        yield
    finally:
        check(libc.setns(before, CLONE_NEWNET))
        os.close(before)


# ---- names ----


def encode_name(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label) + b"\0"


def read_name(data, at):
    labels = []
    while data[at]:
        labels.append(data[at + 1 : at + 1 + data[at]].decode())
        at += 1 + data[at]
    return ".".join(labels), at + 1


A, TXT, AAAA = 1, 16, 28


def question(name, type=A, id=None, flags=0x0100):
    id = id if id is not None else int.from_bytes(os.urandom(2), "big")
    return struct.pack(">6H", id, flags, 1, 0, 0, 0) + encode_name(name) + struct.pack(">HH", type, 1)


def read_answer(data):
    """(id, code, [addresses])"""
    id, flags, questions, answers = struct.unpack(">4H", data[:8])
    at = 12
    for _ in range(questions):
        _, at = read_name(data, at)
        at += 4
    found = []
    for _ in range(answers):
        at = at + 2 if data[at] >= 0xC0 else read_name(data, at)[1]
        type, _, _, length = struct.unpack(">HHIH", data[at : at + 10])
        value = data[at + 10 : at + 10 + length]
        at += 10 + length
        found.append(socket.inet_ntop(socket.AF_INET if type == A else socket.AF_INET6, value))
    return id, flags & 15, found


class Names:
    """A resolver on 127.0.0.1:53.  names: {name: [addresses] or function(type) -> [addresses], None, ...}"""

    def __init__(self, address="127.0.0.1"):
        self.names, self.asked, self.by_tcp = {}, [], []
        self.ttl = 300
        self.mangle = None  # function(query, answer, by_tcp) -> list of packets to send instead
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((address, 53))
        self.tcp = socket.create_server((address, 53))
        for work in (self.serve_udp, self.serve_tcp):
            threading.Thread(target=work, daemon=True).start()

    def answer(self, query):
        name, at = read_name(query, 12)
        type = struct.unpack(">H", query[at : at + 2])[0]
        self.asked.append((name, type))
        found = self.names.get(name)
        if callable(found):
            found = found(type)
        records = b""
        for address in found or []:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            if (family == socket.AF_INET6) == (type == AAAA):
                data = socket.inet_pton(family, address)
                records += b"\xc0\x0c" + struct.pack(">HHIH", type, 1, self.ttl, len(data)) + data
        n = records.count(b"\xc0\x0c" + struct.pack(">HHI", type, 1, self.ttl))
        code = 3 if found is None else 0
        return query[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, n, 0, 0) + query[12 : at + 4] + records

    def packets(self, query, by_tcp):
        answer = self.answer(query)
        return self.mangle(query, answer, by_tcp) if self.mangle else [answer]

    def serve_udp(self):
        while True:
            query, client = self.udp.recvfrom(4096)
            for packet in self.packets(query, False):
                self.udp.sendto(packet, client)

    def serve_tcp(self):
        while True:
            c, _ = self.tcp.accept()
            threading.Thread(target=self.serve_one, args=(c,), daemon=True).start()

    def serve_one(self, c):
        with c, c.makefile("rb") as f:
            while length := f.read(2):
                query = f.read(struct.unpack(">H", length)[0])
                self.by_tcp.append(read_name(query, 12)[0])
                for packet in self.packets(query, True):
                    c.sendall(struct.pack(">H", len(packet)) + packet)


# ---- servers ----


class Server:
    """Listens in the namespace it is made in, and gives each connection to handle(socket, server) in a thread."""

    def __init__(self, address, port, handle):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.listener = socket.create_server((address, port), family=family, backlog=512)
        self.handle, self.accepted, self.seen = handle, 0, []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            c, _ = self.listener.accept()
            self.accepted += 1
            threading.Thread(target=self.serve_one, args=(c,), daemon=True).start()

    def serve_one(self, c):
        with c:
            with contextlib.suppress(OSError):
                self.handle(c, self)


def read_head(c):
    data = b""
    while b"\r\n\r\n" not in data:
        more = c.recv(65536)
        if not more:
            return data, b""
        data += more
    head, rest = data.split(b"\r\n\r\n", 1)
    return head + b"\r\n\r\n", rest


def http(c, server):
    """Answers each request with a copy of the request; honours "Connection: close"."""
    while True:
        head, body = read_head(c)
        if not head:
            return
        headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
        length = int(headers.get(b"content-length", 0))
        while len(body) < length:
            body += c.recv(65536)
        if b"chunked" in headers.get(b"transfer-encoding", b""):
            while not body.endswith(b"0\r\n\r\n"):
                body += c.recv(65536)
        server.seen.append(head + body)
        text = head + body
        close = headers.get(b"connection") == b"close"
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n" % (len(text), b"Connection: close\r\n" * close) + text)
        if close:
            return


def echo(c, server):
    while data := c.recv(1 << 16):
        server.seen.append(data)
        c.sendall(data)
    c.shutdown(socket.SHUT_WR)


def greet(c, server):
    """Sends a line at once, then all received data at the end."""
    c.sendall(b"hello\n")
    heard = b""
    while data := c.recv(1 << 16):
        heard += data
    server.seen.append(heard)
    c.sendall(b"heard %d" % len(heard))


# ---- the egress process ----


def patterns(*lists):
    return b"".join(p.encode() + b"\0" for words in lists for p in words or [])


class Inside:
    """A sandbox's namespace, attached to the egress process."""

    def __init__(self, world, id, allowed=(), narrowed=None, blocked=(), private=(), tier=STANDARD, connections=64,
                 idle=60000, bytes=0, attach=True):
        self.world, self.id = world, id
        with within(world.outside):
            self.namespace = new_namespace()
            for family, own in (("-4", OWN + "/32"), ("-6", OWN6 + "/128")):
                subprocess.run(["ip", family, "address", "add", own, "dev", "lo", *["nodad"] * (family == "-6")], check=True)
                subprocess.run(["ip", family, "route", "add", "local", "default", "dev", "lo", "table", "local", "src",
                                own.split("/")[0]], check=True)
            subprocess.run(["nft", "-f", "-"], input=RULES, text=True, check=True)
            self.tcp = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
            self.udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            for s, port in ((self.tcp, LISTENER_PORT), (self.udp, 53)):
                s.setsockopt(socket.IPPROTO_IP, IP_TRANSPARENT, 1)
                s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                s.bind(("::", port))
            self.tcp.listen(512)
        self.policy = dict(allowed=allowed, narrowed=narrowed, blocked=blocked, private=private, tier=tier,
                           connections=connections, idle=idle, bytes=bytes)
        if attach:
            world.attach(self)

    def message(self, type, **changes):
        p = {**self.policy, **changes}
        allowed = [p["allowed"], p["narrowed"]]
        head = struct.pack("=IIQIIIIIIQ", type, p["tier"], self.id, *(ANY if x is None else len(x) for x in allowed),
                           len(p["blocked"]), len(p["private"]), p["connections"], p["idle"], p["bytes"])
        return head + patterns(*allowed, p["blocked"], p["private"])

    def change(self, **changes):
        self.policy.update(changes)
        self.world.control.send(self.message(CHANGE))

    def ask(self, type, number=0):
        self.world.control.send(struct.pack("=IIQ", type, number, self.id))

    def count(self):
        """{connections, refused, sent, received, lookups}; earlier refusals are in world.refused."""
        return self.world.count(self.id)

    def refused(self):
        """Returns the refusals reported so far: [(target, detail, limit)]."""
        self.count()
        return [r[1:] for r in self.world.refused if r[0] == self.id]

    def connect(self, address, port, timeout=5):
        """Opens a connection as code in the sandbox does: a name is looked up first."""
        if address[-1].isalpha():
            address = (self.look_up(address)[1] or [fail(f"{address} has no address")])[0]
        with within(self.namespace):
            s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        s.settimeout(timeout * support.slack)
        s.connect((address, port))
        return s

    def resets(self, address, port, say=b"", seconds=3):
        """Whether a connection to the address is reset, at once or after it has sent `say`."""
        try:
            with self.connect(address, port) as s:
                s.sendall(say)
                return is_reset(s, seconds)
        except ConnectionResetError:
            return True

    def look_up(self, name, type=A, server=("8.8.8.8", 53), timeout=12):
        """(code, addresses)"""
        with within(self.namespace):
            s = socket.socket(socket.AF_INET6 if ":" in server[0] else socket.AF_INET, socket.SOCK_DGRAM)
        with s:
            s.settimeout(timeout * support.slack)
            s.connect(server)
            s.send(question(name, type, id=77))
            id, code, found = read_answer(s.recv(4096))
            ensure(id == 77, "the answer has another number")
            return code, found

    def get(self, name, path="/", port=80, address=None, method="GET", body=b"", headers=(), timeout=5):
        """The response's bytes to an HTTP request, and how it ended."""
        head = [f"{method} {path} HTTP/1.1", f"Host: {name}", *headers]
        with self.connect(address or name, port, timeout) as s:
            s.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
            return read_all(s)

    def run(self, *command, timeout=20, **popen):
        """Runs a program of the host in the sandbox's namespace."""
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout * support.slack,
                              preexec_fn=lambda: check(libc.setns(self.namespace, CLONE_NEWNET)), **popen)

    def close(self):
        for s in (self.tcp, self.udp):
            s.close()
        os.close(self.namespace)


def read_all(s):
    data = b""
    while more := s.recv(1 << 16):
        data += more
    return data


def is_reset(s, seconds=3):
    """Checks that the connection is reset soon."""
    s.settimeout(seconds * support.slack)
    try:
        return s.recv(1) == b"" and False
    except ConnectionResetError:
        return True


def hello(name, versions=None):
    """A ClientHello as OpenSSL makes it."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


class World:
    def __init__(self, resolv="nameserver 127.0.0.1\n", hosts="", limit=None, start=True):
        self.outside = new_namespace()
        for address in (WEB, WEB2, EVIL, PRIVATE, METADATA):
            subprocess.run(["ip", "address", "add", address + "/32", "dev", "lo"], check=True)
        subprocess.run(["ip", "address", "add", WEB6 + "/128", "dev", "lo"], check=True)
        self.names = Names()
        self.names.names.update({"ok.example": [WEB], "www.ok.example": [WEB], "two.example": [WEB2], "evil.example": [EVIL]})
        self.config, self.limit = (resolv, hosts), limit
        self.next_id, self.refused, self.failed = 1, [], []
        if start:
            self.start()

    def start(self):
        self.control, child = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(10 * support.slack)
        self.program = os.path.join(os.path.dirname(support.command[-1]), "egress")

        def prepare():
            os.dup2(child.fileno(), 3)
            if self.limit:
                import resource

                resource.setrlimit(resource.RLIMIT_NOFILE, (self.limit, self.limit))
            os.setgroups([])
            os.setresgid(*[support.ordinary_uid] * 3)
            os.setresuid(*[support.ordinary_uid] * 3)

        self.process = subprocess.Popen([*support.command[:-1], self.program], preexec_fn=prepare, close_fds=False,
                                        stdin=subprocess.DEVNULL, env={**os.environ, "TMPDIR": "/tmp"})  # for a wrapper
        child.close()
        self.configure(*self.config)

    def configure(self, resolv, hosts):
        self.config = (resolv, hosts)
        self.control.send(struct.pack("=IIII", CONFIG, len(resolv), len(hosts), 0) + (resolv + hosts).encode())

    def inside(self, *allowed, **policy):
        self.next_id += 1
        return Inside(self, self.next_id - 1, allowed=allowed, **policy)

    def elevated(self, **policy):
        self.next_id += 1
        return Inside(self, self.next_id - 1, allowed=None, tier=ELEVATED, **policy)

    def attach(self, inside):
        fds = array.array("i", [inside.tcp.fileno(), inside.udp.fileno()])
        self.control.sendmsg([inside.message(ATTACH)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])

    def receive(self):
        data = self.control.recv(4096)
        ensure(len(data) >= 16, "the egress process has ended")
        type, number, sandbox = struct.unpack("=IIQ", data[:16])
        if type == REFUSED:
            target, detail = (x.split(b"\0")[0].decode() for x in (data[16:304], data[304:432]))
            self.refused.append((sandbox, target, detail, bool(number)))
        elif type == FAILED:
            self.failed.append((sandbox, number))
        return type, number, sandbox, data[16:]

    def count(self, id):
        number = time.monotonic_ns() & 0xFFFFFFF
        self.control.send(struct.pack("=IIQ", COUNT, number, id))
        while True:
            type, got, sandbox, data = self.receive()
            if (type, got, sandbox) == (COUNTED, number, id):
                return dict(zip(("connections", "refused", "sent", "received", "lookups"), struct.unpack("=5Q", data)))

    def memory(self):
        """Returns the resident memory of the process, in KiB."""
        with open(f"/proc/{self.process.pid}/status") as f:
            return int(next(line for line in f if line.startswith("VmRSS")).split()[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def ended(self, seconds=5):
        return self.process.wait(timeout=seconds * support.slack)

    def web(self, address=WEB, port=80, handle=http):
        return Server(address, port, handle)


support.fixtures.update(world=World, inside=lambda world: world.inside("ok.example"), server=lambda world: world.web(), evil=lambda world: world.web(EVIL))

__all__ = [name for name in globals() if not name.startswith("_")]
