"""TLS of the daemon itself, the names and proxies that it accepts, and clients over https."""

import contextlib
import http.client
import json
import os
import pwd
import shutil
import socket
import ssl
import stat
import subprocess

import support
from daemon import Daemon
from support import cella, ensure, here, refused, same, test, until


def certificate(name, *, days=2, host="localhost"):
    """(certificate, key) in files of a self-signed certificate."""
    cert, key = here(f"{name}.pem"), here(f"{name}.key")
    r = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert, "-days", str(days),
                        "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{host},IP:127.0.0.1"], capture_output=True, text=True)  # fmt: skip
    same(r.returncode, 0, f"openssl: {r.stderr}; its status")
    os.chmod(key, 0o600)
    return cert, key


@contextlib.contextmanager
def tls_daemon(name="one", **more):
    cert, key = certificate(name)
    with Daemon(args=["--tls-cert", cert, "--tls-key", key], **more) as d:
        d.cert, d.tls_key = cert, key
        yield d


def context(cert):
    return ssl.create_default_context(cafile=cert)


def connection(d, cert=None, timeout=20):
    return http.client.HTTPSConnection("localhost", d.port, timeout=timeout * support.slack, context=context(cert or d.cert))


def ask(d, method, target, body=None, headers=None, cert=None):
    c = connection(d, cert)
    try:
        c.request(method, target, json.dumps(body) if body is not None else None, headers or {})
        r = c.getresponse()
        return r.status, r.read()
    finally:
        c.close()


def shown(d):
    """The name in the certificate that the daemon shows."""
    with socket.create_connection(("127.0.0.1", d.port), 20) as s, ssl._create_unverified_context().wrap_socket(s) as t:
        der = ssl.DER_cert_to_PEM_cert(t.getpeercert(True))
        return subprocess.run(["openssl", "x509", "-noout", "-subject"], input=der, capture_output=True, text=True).stdout.strip()


@test
def requests_streams_and_large_bodies_work_over_tls():
    with tls_daemon() as d:
        status, body = ask(d, "POST", "/v1/exec", {"runtime": "sh", "code": "echo over tls"})
        same((status, json.loads(body)["stdout"]), (200, "over tls\n"), "an execution")
        s = json.loads(ask(d, "POST", "/v1/sandboxes", {})[1])["id"]
        data = os.urandom(3 << 20)
        c = connection(d)
        for _ in range(2):  # on one connection
            c.request("PUT", f"/v1/sandboxes/{s}/files?path=x", data)
            r = c.getresponse()
            ensure(r.status in (200, 201) and r.read() is not None, f"an upload: {r.status}")
            c.request("GET", f"/v1/sandboxes/{s}/files?path=x")
            r = c.getresponse()
            same(r.read() == data, True, "a download")
        c.request("POST", "/v1/exec", json.dumps({"runtime": "sh", "code": "for i in 1 2 3; do echo $i; done"}), {"Accept": "text/event-stream"})
        events = c.getresponse().read().decode()
        ensure("event: exit" in events, f"events: {events}")
        c.close()
        same(d.exec("sh", "echo x", unix=True)["stdout"], "x\n", "the Unix socket has no TLS")
        same(ask(d, "PUT", f"/v1/sandboxes/{s}/files?path=/etc/x&nothing=1", None)[0] >= 400, True, "an error")
        many = [connection(d) for _ in range(20)]
        for c in many:
            c.request("POST", "/v1/exec", json.dumps({"runtime": "sh", "code": "sleep 0.1; echo y"}))
        same([json.loads(c.getresponse().read())["stdout"] for c in many], ["y\n"] * 20, "at once")
        for c in many:
            c.close()


@test
def a_client_that_leaves_ends_its_execution_over_tls():
    with tls_daemon() as d:
        c = connection(d)
        c.request("POST", "/v1/exec", json.dumps({"runtime": "sh", "code": "sleep 600"}))
        until(lambda: d.get("/v1/health", unix=True)["sandboxes"]["running"] == 1, 20, "the execution")
        c.sock.close()
        c.close()
        until(lambda: [r["status"] for r in d.rows()] == ["cancelled"], 20, "its end")


@test
def a_body_that_is_too_long_is_refused_over_tls():
    with tls_daemon() as d:
        s = connection(d)
        s.connect()
        s.sock.sendall(b"POST /v1/exec HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n")
        got = b""
        with contextlib.suppress(OSError):
            while part := s.sock.recv(65536):
                got += part
        ensure(got.startswith(b"HTTP/1.1 413 ") and b"too_large" in got, f"the answer is {got!r}")
        s.close()


@test
def a_terminal_works_over_tls():
    with tls_daemon() as d:
        s = d.post("/v1/sandboxes", {}, 201, unix=True)["id"]
        plain = socket.create_connection(("localhost", d.port), 20 * support.slack)
        t = context(d.cert).wrap_socket(plain, server_hostname="localhost")
        t.sendall((f"GET /v1/sandboxes/{s}/terminal HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                   "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n").encode())  # fmt: skip
        got = b""
        while b"\r\n\r\n" not in got:
            got += t.recv(65536)
        ensure(got.startswith(b"HTTP/1.1 101 "), f"the answer is {got!r}")
        typed = b"echo 4$((1+1))\n"
        t.sendall(bytes([0x82, 0x80 | len(typed), 0, 0, 0, 0]) + typed)
        t.settimeout(20 * support.slack)
        while b"42" not in got:
            part = t.recv(65536)
            ensure(part, f"the terminal ended: {got!r}")
            got += part
        t.close()


@test
def plain_http_at_a_tls_address_gets_an_answer_that_says_so():
    with tls_daemon() as d:
        a = d.request("GET", "/v1/sandboxes")
        same(a.status, 400, "status", a)
        ensure("HTTPS" in a.json()["error"]["message"] and "https://" in a.json()["error"]["hint"], "the answer", a)
        with socket.create_connection(("127.0.0.1", d.port), 20) as s:
            s.sendall(b"\x16\x03\x01garbage" + b"x" * 100)
            with contextlib.suppress(OSError):
                s.recv(100)
        with socket.create_connection(("127.0.0.1", d.port), 20):
            same(ask(d, "GET", "/healthz")[0], 200, "beside a connection that says nothing")


@test
def old_versions_of_tls_are_refused():
    with tls_daemon() as d:
        c = ssl._create_unverified_context()
        c.set_ciphers("ALL:@SECLEVEL=0")
        c.minimum_version, c.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        with socket.create_connection(("127.0.0.1", d.port), 20) as s:
            try:
                c.wrap_socket(s)
            except (ssl.SSLError, OSError):
                return
        support.fail("TLS 1.1 was accepted")


@test
def a_reload_changes_the_certificate_and_keeps_connections():
    with tls_daemon() as d:
        c = connection(d)
        c.request("GET", "/healthz")
        c.getresponse().read()
        same(shown(d), "subject=CN = one", "the first")
        two = certificate("two")
        shutil.copy(two[0], d.cert)
        d.reload()  # the key does not match yet
        d.logged("the TLS key cannot be used", "error")
        same(shown(d), "subject=CN = one", "after a reload with another key")
        shutil.copy(two[1], d.tls_key)
        d.reload()
        until(lambda: shown(d) == "subject=CN = two", 20, "the second certificate")
        c.request("GET", "/healthz")
        same(c.getresponse().status, 200, "the connection of before")
        c.close()
        os.unlink(d.tls_key)
        d.reload()
        d.logged("--tls-key", "error")
        same(shown(d), "subject=CN = two", "without a key file")


@test(users=["root"])
def the_server_cannot_read_the_key_on_disk():
    with tls_daemon() as d:
        pid = d.server_pid()
        found = [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")]
        ensure(not [f for f in found if f.endswith(".key")], f"open in the server: {found}")
        fd = next(n for n in os.listdir(f"/proc/{pid}/fd") if "cella-tls" in os.readlink(f"/proc/{pid}/fd/{n}"))
        st = os.stat(f"/proc/{pid}/fd/{fd}")
        same((st.st_uid, stat.S_IMODE(st.st_mode)), (0, 0o400), "owner and mode of the copy in memory")
        flags = next(line.split()[1] for line in open(f"/proc/{pid}/fdinfo/{fd}") if line.startswith("flags"))
        same(int(flags, 8) & 3, 0, "how the server may use it: 0 is reading")


@test
def a_key_that_others_can_read_is_refused():
    cert, key = certificate("one")
    other = certificate("two")
    os.chmod(key, 0o644)
    base = ["serve", "--check-config", "--state", here("st"), "--socket", here("s")]
    refused(cella([*base, "--tls-cert", cert, "--tls-key", key]), 2, "others", "chmod 600")
    os.chmod(key, 0o600)
    same(cella([*base, "--tls-cert", cert, "--tls-key", key]).rc, 0, "a good pair")
    refused(cella([*base, "--tls-cert", cert, "--tls-key", other[1]]), 2, "TLS key")
    refused(cella([*base, "--tls-cert", support.write(here("x"), "nothing"), "--tls-key", key]), 2, "TLS certificate")
    refused(cella([*base, "--tls-cert", cert]), 2, "belong together")
    refused(cella([*base, "--tls-cert", here("none"), "--tls-key", key]), 2, "--tls-cert")


@test(users=["root"])
def a_key_that_the_server_can_read_is_refused():
    cert, key = certificate("one")
    nobody = pwd.getpwnam("nobody")
    base = ["serve", "--check-config", "--user", "nobody", "--state", here("st"), "--socket", here("s"), "--tls-cert", cert, "--tls-key", key]
    for uid, gid, mode, good in ((0, 0, 0o640, True), (0, nobody.pw_gid, 0o640, False), (0, nobody.pw_gid, 0o600, True), (nobody.pw_uid, 0, 0o600, False)):
        os.chown(key, uid, gid)
        os.chmod(key, mode)
        r = cella(base)
        same(r.rc, 0 if good else 2, f"uid {uid}, gid {gid}, mode {mode:o}", r)
        ensure(good or "the server, may read the key" in r.err, "the reason", r)


@test
def the_command_line_speaks_https():
    with tls_daemon() as d:
        env = {**os.environ, "CELLA_URL": f"https://localhost:{d.port}"}
        r = cella(["ls"], env=env)
        refused(r, 125, "certificate", "cannot be verified", "CELLA_CA_FILE")
        env["CELLA_CA_FILE"] = d.cert
        r = cella(["exec", "-", "sh", "-c", "echo hello"], env=env)
        same((r.rc, r.out), (0, "hello\n"), "an execution", r)
        s = cella(["create"], env=env).out.strip()
        support.write(here("up"), "x" * 300000)
        same(cella(["cp", here("up"), f"{s}:up"], env=env).rc, 0, "an upload")
        same(cella(["cp", f"{s}:up", here("down")], env=env).rc, 0, "a download")
        same(os.path.getsize(here("down")), 300000, "its size")
        env["CELLA_URL"] = f"https://127.0.0.1:{d.port}/"
        same(cella(["ls"], env=env).rc, 0, "by the address")
        env["CELLA_URL"] = f"http://localhost:{d.port}"
        ensure("HTTPS" in cella(["ls"], env=env).err, "plain HTTP")


# ---- names and proxies ----


@test
def a_host_name_must_be_allowed(d):
    wrong = {"Host": "box.example.org"}
    d.refused("access_denied", "GET", "/v1/sandboxes", headers=wrong, parts="Host")
    d.ok("PATCH", "/v1/settings", {"http": {"allowed_hosts": ["box.example.org"]}}, unix=True)
    for host in ("box.example.org", "BOX.example.org:443", "localhost", f"127.0.0.1:{d.port}"):
        d.ok("GET", "/v1/sandboxes", headers={"Host": host})
    for host in ("evil.box.example.org", "box.example.org.evil", "box.example.org:x", "x"):
        d.refused("access_denied", "GET", "/v1/sandboxes", headers={"Host": host})
    d.ok("PATCH", "/v1/settings", {"http": {"allowed_hosts": ["*"]}}, unix=True)
    d.ok("GET", "/v1/sandboxes", headers={"Host": "anything.example"})
    for bad in ("a b", "http://x", "x:1", "", "x/"):
        d.refused("invalid_request", "PATCH", "/v1/settings", {"http": {"allowed_hosts": [bad]}}, unix=True)


@test
def a_daemon_on_all_addresses_has_no_other_names():
    with Daemon() as d:
        key = d.new_key()["key"]
        d.stop()
        d.args = ["--listen", f"0.0.0.0:{d.port}"]
        d.start()
        for host in ("127.0.0.1", f"192.0.2.7:{d.port}", "localhost"):
            d.ok("GET", "/v1/sandboxes", key=key, headers={"Host": host})
        for host in ("box.example.org", "192.0.2.7:x", "192.0.2", "[::1"):
            d.refused("access_denied", "GET", "/v1/sandboxes", key=key, headers={"Host": host})


@test
def a_forwarded_request_is_never_the_owner(d):
    for name, value in (("X-Forwarded-For", "203.0.113.9"), ("X-Forwarded-Proto", "https"), ("Forwarded", "for=203.0.113.9"), ("X-Real-IP", "127.0.0.1")):
        for unix in (False, True):
            d.refused("unauthorized", "GET", "/v1/sandboxes", headers={name: value}, unix=unix)
    key = d.new_key()["key"]
    d.ok("GET", "/v1/sandboxes", headers={"X-Forwarded-For": "203.0.113.9"}, key=key)


@test
def the_client_of_a_trusted_proxy_is_in_the_log(d):
    def logged(value):
        d.refused("unauthorized", "GET", "/v1/sandboxes", headers={"X-Forwarded-For": value}, key="cella_wrong")
        return [line["peer"] for line in d.lines() if "unknown key" in line["message"]][-1]

    ensure(logged("203.0.113.9").startswith("127.0.0.1:"), "nobody is trusted")
    d.ok("PATCH", "/v1/settings", {"http": {"trusted_proxies": ["127.0.0.0/8", "2001:db8::1"]}}, unix=True)
    same(logged("203.0.113.9"), "203.0.113.9", "one proxy")
    same(logged("198.51.100.1, 203.0.113.9"), "203.0.113.9", "what the client itself has sent is not believed")
    same(logged("203.0.113.9, 127.0.0.2,2001:db8::1"), "203.0.113.9", "three proxies")
    ensure(logged("nonsense").startswith("127.0.0.1:"), "what is no address")
    d.ok("PATCH", "/v1/settings", {"http": {"trusted_proxies": ["192.0.2.1"]}}, unix=True)
    ensure(logged("203.0.113.9").startswith("127.0.0.1:"), "another one is trusted")
    for bad in ("x", "127.0.0.1/33", "::1/129", "127.0.0.1/"):
        d.refused("invalid_request", "PATCH", "/v1/settings", {"http": {"trusted_proxies": [bad]}}, unix=True)


@test
def a_client_cannot_choose_its_address_when_the_proxy_adds_a_header_of_its_own(d):
    d.ok("PATCH", "/v1/settings", {"http": {"trusted_proxies": ["127.0.0.1", "2001:db8::1"]}}, unix=True)

    def logged(*values):
        c = d.connection(False, 20)
        c.putrequest("GET", "/v1/sandboxes")
        c.putheader("Authorization", "Bearer cella_wrong")
        for value in values:
            c.putheader("X-Forwarded-For", value)
        c.endheaders()
        same(c.getresponse().status, 401, "the status")
        c.close()
        return [line["peer"] for line in d.lines() if "unknown key" in line["message"]][-1]

    same(logged("198.51.100.1", "203.0.113.9"), "203.0.113.9", "the header of the client is the first one")
    same(logged("198.51.100.1, 198.51.100.2", "203.0.113.9, 2001:db8::1"), "203.0.113.9", "lists")
    same(logged("203.0.113.9", "2001:db8::1"), "203.0.113.9", "a proxy behind another one")
    ensure(logged("203.0.113.9", "nonsense").startswith("127.0.0.1:"), "what is no address")
