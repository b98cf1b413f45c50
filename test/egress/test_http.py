"""HTTP through the egress process: bodies, proxies, tunnels, upgrades, and requests that hide others."""

import shutil

from support import ensure, same, test
from world import *


@test(users=("root",))
def bodies_arrive_whole(server, inside):
    body = os.urandom(3 << 20)
    answer = inside.get("ok.example", method="POST", body=body, headers=(f"Content-Length: {len(body)}",), timeout=20)
    ensure(answer.endswith(body) and server.seen[0].endswith(b"\r\n\r\n" + body), "not whole")
    chunks = b"".join(b"%x\r\n%s\r\n" % (n, body[:n]) for n in (1, 17, 70000, 200000)) + b"0\r\n\r\n"
    answer = inside.get("ok.example", method="POST", body=chunks, headers=("Transfer-Encoding: chunked",))
    ensure(answer.endswith(chunks), "not whole")


@test(users=("root",))
def a_body_waits_for_the_server(world):
    """Expect: 100-continue; and a server that reads slowly."""

    def handle(c, server):
        read_head(c)
        c.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.5)
        got = 0
        while got < 8 << 20:
            got += len(c.recv(1 << 20))
        c.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    world.web(handle=handle)
    inside = world.inside("ok.example")
    with inside.connect("ok.example", 80) as s:
        s.sendall(b"PUT / HTTP/1.1\r\nHost: ok.example\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % (8 << 20))
        same(s.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n", "the first answer")
        s.sendall(bytes(8 << 20))
        same(read_all(s), b"HTTP/1.1 204 No Content\r\n\r\n", "the second")


@test(users=("root",))
def bytes_after_a_request_are_not_forwarded(server, evil, inside):
    with inside.connect("ok.example", 80) as s:
        s.sendall(b"GET /1 HTTP/1.1\r\nHost: ok.example\r\n\r\nGET /2 HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        answer = read_all(s)
    ensure(answer.count(b"HTTP/1.1 200") == 1, f"{answer}")
    same((len(server.seen), server.accepted, evil.accepted), (1, 1, 0), "requests, connections")
    ensure(b"evil" not in server.seen[0], "it reached the server")
    same(inside.refused(), [("evil.example:80", "not in allowed_domains", False)], "reported refusals")


@test(users=("root",))
def ambiguous_requests_are_refused(server, inside):
    host = b"Host: ok.example\r\n"
    cases = {
        "two hosts": b"GET / HTTP/1.1\r\n" + host + b"Host: evil.example\r\n\r\n",
        "another host in the first line": b"GET http://evil.example/ HTTP/1.1\r\n" + host + b"\r\n",
        "the other way round": b"GET http://ok.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "no host": b"GET / HTTP/1.1\r\nX: y\r\n\r\n",
        "two lengths": b"POST / HTTP/1.1\r\n" + host + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        "length and chunks": b"POST / HTTP/1.1\r\n" + host + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "odd chunks": b"POST / HTTP/1.1\r\n" + host + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "a folded line": b"GET / HTTP/1.1\r\n" + host + b"X: y\r\n Host: evil.example\r\n\r\n",
        "a space before the colon": b"GET / HTTP/1.1\r\nHost : evil.example\r\n" + host + b"\r\n",
        "a bare line feed": b"GET / HTTP/1.1\nHost: ok.example\n\n",
        "a NUL": b"GET / HTTP/1.1\r\nHost: evil.example\0.ok.example\r\n\r\n",
        "a user": b"GET http://ok.example@evil.example/ HTTP/1.1\r\n" + host + b"\r\n",
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "another port": b"GET / HTTP/1.1\r\nHost: ok.example:8080\r\n\r\n",
        "CONNECT": b"CONNECT ok.example:80 HTTP/1.1\r\n" + host + b"\r\n",
        "CONNECT elsewhere": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
    }
    for what, request in cases.items():
        with inside.connect("ok.example", 80) as s:
            s.sendall(request)
            answer = read_all(s)
        ensure(answer.startswith(b"HTTP/1.1 403 Forbidden\r\n"), f"{what}: {answer}")
    same((server.accepted, inside.count()["refused"]), (0, len(cases)), "connections, refusals")


@test(users=("root",))
def names_are_matched_in_all_spellings(server, inside):
    for host in ("OK.EXAMPLE", "ok.example.", "ok.example:80"):
        ensure(b"200 OK" in inside.get(host, address=WEB), f"{host} is refused")
    for host in ("ok.example..", "ok.example%00", "xok.example", "ok.example.evil.example", "ók.example", "2130706433",
                 "0x7f.1", "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]", "[::1]", "ok.example:0"):
        ensure(b"403 Forbidden" in inside.get(host, address=WEB), f"{host} is not refused")
    same(server.accepted, 3, "connections")


@test(users=("root",))
def broken_chunks_end_the_connection(server, inside):
    with inside.connect("ok.example", 80) as s:
        s.sendall(b"POST / HTTP/1.1\r\nHost: ok.example\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n")
        ensure(is_reset(s), "not reset")
    same(server.seen, [], "requests")
    same([r[1] for r in inside.refused()], ["a body with broken chunks"], "reported refusals")


@test(users=("root",))
def hop_by_hop_headers_are_not_forwarded(server, inside):
    inside.get("ok.example", headers=("Connection: keep-alive, Host", "Keep-Alive: 5", "Proxy-Connection: x", "Upgrade: h2c",
                                      "HTTP2-Settings: AAMAAABkAAQAAP__", "TE: trailers", "Proxy-Authorization: Basic eDp5",
                                      "X-Kept: Connection: x"))
    same(server.seen[0], b"GET / HTTP/1.1\r\nHost: ok.example\r\nX-Kept: Connection: x\r\nConnection: close\r\n\r\n", "the request")


@test(users=("root",))
def a_proxy_takes_absolute_requests(world):
    server, other, inside = world.web(), world.web(WEB2, 8080), world.inside("ok.example", "two.example:8080")

    def ask(target, *headers):
        with inside.connect(*PROXY) as s:
            s.sendall(f"GET {target} HTTP/1.1\r\n".encode() + b"".join(h + b"\r\n" for h in headers) + b"\r\n")
            return read_all(s)

    ensure(b"GET /a?b HTTP/1.1\r\nHost: ok.example\r\n" in ask("http://ok.example/a?b", b"Host: ok.example"), "wrong")
    ensure(b"GET / HTTP/1.1\r\n" in ask("http://ok.example", b"Host: ok.example"), "wrong")
    ensure(b"200 OK" in ask("http://two.example:8080/", b"Host: two.example:8080"), "wrong")
    ensure(b"403 Forbidden" in ask("http://two.example/", b"Host: two.example"), "wrong")
    ensure(b"403 Forbidden" in ask("http://evil.example/", b"Host: evil.example"), "wrong")
    ensure(b"403 Forbidden" in ask("/", b"Host: ok.example"), "wrong")
    ensure(b"403 Forbidden" in ask("http://198.18.0.1:3128/", b"Host: 198.18.0.1:3128"), "wrong")
    same((server.accepted, other.accepted), (2, 1), "connections")


@test(users=("root",))
def http_1_0_to_a_proxy_gets_a_host(server, inside):
    with inside.connect(*PROXY) as s:
        s.sendall(b"GET http://ok.example:80/x HTTP/1.0\r\n\r\n")
        read_all(s)
    same(server.seen[0], b"GET /x HTTP/1.0\r\nHost: ok.example:80\r\nConnection: close\r\n\r\n", "the request")


def tunnel(inside, target, timeout=5):
    """A connection on which CONNECT was sent, the first line of the answer, and what came with it."""
    s = inside.connect(*PROXY, timeout)
    s.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    head, rest = read_head(s)
    return s, head.split(b"\r\n")[0], rest


@test(users=("root",))
def the_target_of_a_tunnel_and_its_content_are_both_checked(world):
    tls, evil, two = world.web(port=443, handle=echo), world.web(EVIL, 443, echo), world.web(WEB2, 443, echo)
    ssh = world.web(port=22, handle=greet)
    inside = world.inside("ok.example", "ok.example:22", "two.example")
    s, line, _ = tunnel(inside, "ok.example:443")
    same(line, b"HTTP/1.1 200 Connection established", "the answer")
    data = hello("ok.example")
    s.sendall(data)
    same(s.recv(65536), data, "what the server heard")
    s.close()
    same(tls.accepted, 1, "connections")

    s, line, _ = tunnel(inside, "ok.example:443")  # another allowed name: the request goes there
    data = hello("two.example")
    s.sendall(data)
    same(s.recv(65536), data, "what the server heard")
    same(two.seen[0], data, "who heard it")

    s, line, _ = tunnel(inside, "ok.example:443")
    s.sendall(hello("evil.example"))
    same(s.recv(100)[:1], b"\x15", "an alert")
    s, line, _ = tunnel(inside, "ok.example:443")
    s.sendall(b"\0raw")
    ensure(is_reset(s), "not reset")
    s, line, _ = tunnel(inside, "ok.example:443")
    s.sendall(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    ensure(read_all(s).startswith(b"HTTP/1.1 403"), "not refused")

    s, line, rest = tunnel(inside, "ok.example:22")
    same(rest or s.recv(100), b"hello\n", "the greeting")
    for target in ("evil.example:443", "ok.example:23", "two.example:22", WEB + ":443", "198.18.0.1:3128"):
        ensure(tunnel(inside, target)[1].startswith(b"HTTP/1.1 403 Forbidden: " + target.encode()), target)
    same((evil.accepted, ssh.accepted), (0, 1), "connections")


@test(users=("root",))
def tls_to_the_proxy_itself_is_refused(world):
    server, inside = world.web(port=3128, handle=echo), world.elevated()
    ensure(inside.resets(*PROXY, hello("ok.example")), "not reset")
    same((server.accepted, inside.count()["refused"]), (0, 1), "connections, refusals")


@test(users=("root",))
def plain_http_in_a_tunnel_uses_its_connection(server, inside):
    s, line, _ = tunnel(inside, "ok.example:80")
    s.sendall(b"GET /in HTTP/1.1\r\nHost: ok.example\r\n\r\n")
    ensure(b"GET /in HTTP/1.1\r\nHost: ok.example\r\nConnection: close\r\n\r\n" in read_all(s), "wrong")
    same(server.accepted, 1, "connections")
    s, line, _ = tunnel(inside, "ok.example:80")
    s.sendall(b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n")
    ensure(read_all(s).startswith(b"HTTP/1.1 403"), "not refused")


@test(users=("root",))
def a_proxy_answers_502_for_an_unreachable_server(world):
    inside = world.inside("ok.example", "gone.example")
    for target in ("ok.example:443", "gone.example:443"):
        same(tunnel(inside, target)[1], b"HTTP/1.1 502 Bad Gateway", target)


def websocket(c, server):
    head, rest = read_head(c)
    server.seen.append(head)
    c.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nwelcome")
    c.sendall(rest)
    echo(c, server)


@test(users=("root",))
def an_upgrade_that_is_granted_becomes_a_tunnel(world):
    server, inside = world.web(handle=websocket), world.inside("ok.example")
    with inside.connect("ok.example", 80) as s:
        s.sendall(b"GET /ws HTTP/1.1\r\nHost: ok.example\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n\x81early")
        head, rest = read_head(s)
        while len(rest) < 13:
            rest += s.recv(100)
        same(rest, b"welcome\x81early", "what came first")
        s.sendall(b"\x82ping")
        same(s.recv(100), b"\x82ping", "the echo")
        s.shutdown(socket.SHUT_WR)
        same(s.recv(100), b"", "the end")
    ensure(b"Upgrade: websocket\r\n" in server.seen[0] and b"\r\nConnection: Upgrade\r\n" in server.seen[0], f"{server.seen[0]}")


@test(users=("root",))
def a_refused_upgrade_allows_no_second_request(server, evil, inside):
    with inside.connect("ok.example", 80) as s:
        s.sendall(b"GET /ws HTTP/1.1\r\nHost: ok.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        head, rest = read_head(s)
        ensure(head.startswith(b"HTTP/1.1 200"), f"{head}")
        s.sendall(b"GET /2 HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            read_all(s)
    same((len(server.seen), evil.accepted), (1, 0), "requests, connections")


@test(users=("root",))
def a_reset_by_the_server_is_passed_on_as_a_reset(world):
    def handle(c, server):
        read_head(c)
        c.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf of it")
        time.sleep(0.3)
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    world.web(handle=handle)
    inside = world.inside("ok.example")
    with inside.connect("ok.example", 80) as s:
        s.sendall(b"GET / HTTP/1.1\r\nHost: ok.example\r\n\r\n")
        try:
            fail(f"an orderly end after {read_all(s)}")
        except ConnectionResetError:
            pass


@test(users=("root",))
def an_answer_that_comes_before_the_body_is_delivered(world):
    """A server that refuses a large body and closes without reading it."""

    def handle(c, server):
        read_head(c)
        c.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n")

    world.web(handle=handle)
    inside = world.inside("ok.example")
    answer = b""
    with inside.connect("ok.example", 80) as s:
        with contextlib.suppress(ConnectionError):
            s.sendall(b"POST / HTTP/1.1\r\nHost: ok.example\r\nContent-Length: 3000000\r\n\r\n" + bytes(300000))
        with contextlib.suppress(ConnectionResetError):
            while more := s.recv(100):
                answer += more
    ensure(answer.endswith(b"\r\n\r\nno\n"), f"{answer}")


@test(users=("root",))
def a_refused_upload_gets_the_reason(inside):
    """The connection is not reset while the client still sends."""
    for _ in range(5):
        answer = inside.get("evil.example", address=EVIL, method="POST", body=bytes(600000), headers=("Content-Length: 600000",))
        ensure(b"403 Forbidden" in answer and answer.endswith(b"not in allowed_domains\n"), f"{answer}")


@test(users=("root",))
def curl_works_directly_and_by_proxy():
    if not shutil.which("curl"):
        raise support.Skip("no curl on this machine")
    world = World()
    world.web()
    world.web(WEB2)
    inside = world.inside("ok.example", "two.example")
    addresses = {name: inside.look_up(name)[1][0] for name in ("ok.example", "two.example")}
    direct = [word for name, address in addresses.items() for word in ("--resolve", f"{name}:80:{address}")]
    proxy = ["--proxy", "http://198.18.0.1:3128"]
    urls = ["http://ok.example/1", "http://two.example/2", "http://ok.example/3"]
    for options in (direct, proxy, [*proxy, "--proxytunnel"]):
        r = inside.run("curl", "-sS", "--max-time", "10", *options, *urls)
        same(r.returncode, 0, f"curl's exit status with {options} ({r.stdout})")
        ensure(all(b"GET /%d HTTP/1.1" % i in r.stdout for i in (1, 2, 3)), f"{r.stdout}")
        r = inside.run("curl", "-sS", "--max-time", "10", *options, "-d", "x=" + "y" * 5000, urls[0])
        ensure(b"y" * 5000 in r.stdout, f"{r.stdout}")
    r = inside.run("curl", "-sS", "-i", "--max-time", "10", *proxy, "http://evil.example/")
    ensure(b"cella: evil.example:80 refused: not in allowed_domains" in r.stdout, f"{r.stdout}")
