"""The egress process: which connections it allows and refuses, by name."""

from support import ensure, same, test
from world import *


@test(users=("root",))
def http_goes_to_the_host_of_its_host_header(server, inside):
    answer = inside.get("ok.example", "/page")
    ensure(answer.startswith(b"HTTP/1.1 200 OK") and b"GET /page HTTP/1.1\r\nHost: ok.example\r\nConnection: close" in answer,
           f"the answer is {answer}")
    count = inside.count()
    same((count["connections"], count["refused"], count["lookups"]), (1, 0, 1), "the count")
    ensure(count["sent"] == len(server.seen[0]) and count["received"] == len(answer), f"bytes are {count}")


@test(users=("root",))
def http_to_another_host_is_refused_with_a_line_that_says_why(world, evil, inside):
    answer = inside.get("evil.example", address=EVIL)
    ensure(answer.startswith(b"HTTP/1.1 403 Forbidden\r\n"), f"the answer is {answer}")
    same(answer.split(b"\r\n\r\n")[1], b"cella: evil.example:80 refused: not in allowed_domains\n", "the line")
    same(inside.refused(), [("evil.example:80", "not in allowed_domains", False)], "reported refusals")
    same((evil.accepted, world.names.asked), (0, []), "what reached the outside")


@test(users=("root",))
def the_address_that_was_dialled_does_not_matter(world):
    web, evil, inside = world.web(), world.web(EVIL), world.inside("ok.example")
    ensure(b"200 OK" in inside.get("ok.example", address=EVIL), "not let through")
    same((web.accepted, evil.accepted), (1, 0), "connections")


@test(users=("root",))
def tls_goes_by_its_server_name(world):
    web, evil = world.web(port=443, handle=echo), world.web(EVIL, 443, echo)
    inside = world.inside("ok.example")
    data = hello("ok.example")
    with inside.connect(EVIL, 443) as s:
        s.sendall(data)
        same(s.recv(65536), data, "what the server heard")
    with inside.connect("ok.example", 443) as s:
        s.sendall(hello("evil.example"))
        same(s.recv(100), b"\x15\x03\x03\x00\x02\x02\x31", "the alert")
        same(s.recv(1), b"", "what follows")
    same(inside.refused(), [("evil.example:443", "not in allowed_domains", False)], "reported refusals")
    same((web.accepted, evil.accepted), (1, 0), "connections")


@test(users=("root",))
def a_client_hello_may_come_in_pieces(world):
    world.web(port=443, handle=echo)
    inside = world.inside("ok.example")
    data = hello("ok.example")
    body = data[5:]
    records = b"".join(b"\x16\x03\x01" + struct.pack(">H", len(p)) + p for p in (body[:9], body[9:100], body[100:]))
    for pieces in ([data[i : i + 1] for i in range(len(data))], [records], [records[i : i + 7] for i in range(0, len(records), 7)]):
        with inside.connect("ok.example", 443) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                s.sendall(piece)
            whole, heard = b"".join(pieces), b""
            while len(heard) < len(whole):
                heard += s.recv(65536)
            same(heard, whole, "what the server heard")


@test(users=("root",))
def tls_without_a_name_is_refused(world):
    world.web(port=443, handle=echo)
    inside = world.inside("ok.example")
    for address in ("ok.example", WEB):
        ensure(inside.resets(address, 443, hello(None)), "not reset")
    same([r[0] for r in inside.refused()], ["ok.example:443", WEB + ":443"], "reported refusals")


@test(users=("root",))
def an_address_needs_an_entry_of_its_own(world):
    server, tls = world.web(), world.web(port=443, handle=echo)
    inside = world.inside("ok.example")
    ensure(b"403 Forbidden" in inside.get(WEB, address=WEB), "not refused")
    same(server.accepted, 0, "connections")
    inside = world.inside(WEB)
    ensure(b"200 OK" in inside.get(WEB, address=WEB), "refused")
    with inside.connect(WEB, 443) as s:  # the connection contains no name
        s.sendall(hello(None))
        same(s.recv(1), b"\x16", "what the server heard")
    same(tls.accepted, 1, "connections")


@test(users=("root",))
def raw_tcp_needs_an_entry_with_its_port(world):
    ssh, other = world.web(port=22, handle=greet), world.web(port=23, handle=greet)
    inside = world.inside("ok.example:22")
    with inside.connect("ok.example", 22) as s:
        same(s.recv(100), b"hello\n", "the server's greeting")  # the server sends first
        s.sendall(b"x" * 1000)
        s.shutdown(socket.SHUT_WR)
        same(read_all(s), b"heard 1000", "what came after our half was closed")
    for address, port in (("ok.example", 23), (WEB, 22), ("198.18.2.77", 22)):
        ensure(inside.resets(address, port), f"{address}:{port} is not reset")
    same((ssh.accepted, other.accepted), (1, 0), "connections")
    same([r[0] for r in inside.refused()], ["ok.example:23", WEB + ":22", "198.18.2.77:22"], "reported refusals")
    same(inside.refused()[-1][1], "an address that was not returned by a lookup of this sandbox", "why")


@test(users=("root",))
def other_protocols_are_refused_on_the_ports_of_tls_and_http(world):
    server = world.web(port=443, handle=echo)
    inside = world.inside("ok.example")
    ensure(inside.resets("ok.example", 443, b"SSH-2.0-x\r\n"), "not reset")
    same(server.accepted, 0, "connections")
    inside = world.inside("ok.example:443")
    with inside.connect("ok.example", 443) as s:
        s.sendall(b"SSH-2.0-x\r\n")
        same(s.recv(100), b"SSH-2.0-x\r\n", "what the server heard")


@test(users=("root",))
def elevated_reaches_whatever_is_public_and_not_blocked(world):
    for address in (WEB, EVIL, PRIVATE, METADATA):
        world.web(address)
    raw = world.web(EVIL, 2222, greet)
    inside = world.elevated(blocked=("*.ok.example", "two.example"))
    ensure(b"200 OK" in inside.get("evil.example"), "refused")
    ensure(b"200 OK" in inside.get(EVIL, address=EVIL), "refused")
    ensure(b"in blocked_domains" in inside.get("www.ok.example", address=WEB), "not refused")
    same(inside.look_up("two.example"), (3, []), "a lookup of what is blocked")
    with inside.connect(EVIL, 2222) as s:
        same(s.recv(100), b"hello\n", "the greeting")
    for address in (PRIVATE, METADATA, "127.0.0.2"):
        ensure(b"403" in inside.get(address, address=WEB), f"{address} not refused")
    same(raw.accepted, 1, "connections")


@test(users=("root",))
def ipv6_has_the_same_rules_as_ipv4(world):
    server = world.web(WEB6)
    raw = world.web(WEB6, 22, greet)
    world.names.names["six.example"] = [WEB6]
    inside = world.inside("six.example", "six.example:22")
    found = inside.look_up("six.example", AAAA, server=("2001:4860:4860::8888", 53))
    same(found[0], 0, "the code")
    ensure(b"200 OK" in inside.get("six.example", address=found[1][0]), "refused")
    with inside.connect(found[1][0], 22) as s:
        same(s.recv(100), b"hello\n", "the greeting")
    # A client that only supports IPv4 also reaches it.
    ensure(b"200 OK" in inside.get("six.example"), "refused")
    same((server.accepted, raw.accepted), (2, 1), "connections")
    ensure(inside.resets("2001:db8::1", 22), "not reset")


@test(users=("root",))
def a_connect_to_the_listener_itself_is_reset(world):
    inside = world.elevated(private=("127.0.0.0/8", "::1"))
    for address in ("127.0.0.1", "::1", "127.1.2.3"):
        ensure(inside.resets(address, LISTENER_PORT), f"{address} is not reset")
    same([r[1] for r in inside.refused()], ["connected to the listener itself"] * 3, "reported refusals")


@test(users=("root",))
def without_the_rules_nothing_gets_out(world):
    servers = [world.web(port=port) for port in (LISTENER_PORT, 80, 443)]
    inside = world.inside("ok.example")
    address = inside.look_up("ok.example")[1][0]
    with within(inside.namespace):
        subprocess.run(["nft", "flush", "ruleset"], check=True)
    ensure(inside.resets(WEB, LISTENER_PORT), "not reset")  # the listener listens on every address
    for port in (80, 443):
        for to in (address, WEB):
            try:
                inside.connect(to, port).close()
                fail("connected")
            except ConnectionRefusedError:
                pass
    same([server.accepted for server in servers], [0, 0, 0], "connections")


@test(users=("root",))
def a_name_that_resolves_to_a_private_address_is_refused(world):
    private, meta = world.web(PRIVATE), world.web(METADATA)
    world.names.names.update({"in.example": [PRIVATE], "meta.example": [METADATA], "mixed.example": [WEB, PRIVATE],
                              "six.example": ["fd00::1"], "mapped.example": ["::ffff:10.1.2.3"]})
    names = ("in.example", "meta.example", "mixed.example", "six.example", "mapped.example")
    inside = world.inside(*names)
    for name in names:
        answer = inside.get(name, address=WEB)
        ensure(b"403 Forbidden" in answer and b"resolves to" in answer, f"{name}: {answer}")
    same((private.accepted, meta.accepted), (0, 0), "connections")
    inside = world.inside("in.example", "meta.example", private=("10.0.0.0/8",))
    ensure(b"200 OK" in inside.get("in.example", address=WEB), "an exception is refused")
    ensure(b"403" in inside.get("meta.example", address=WEB), "not refused")


@test(users=("root",))
def the_checked_address_is_the_dialled_address(world):
    """A name with a different address in every answer."""
    web, private = world.web(), world.web(PRIVATE)
    turns = []

    def turn(type):
        turns.append(type)
        return [WEB] if len(turns) <= 2 else [PRIVATE]

    world.names.names["turn.example"] = turn
    world.names.ttl = 0
    inside = world.inside("turn.example")
    for _ in range(8):
        inside.get("turn.example", address=WEB)
        time.sleep(0.3)
    same(private.accepted, 0, "connections to the private address")
    ensure(web.accepted > 0, "none to the other")
    ensure(any("resolves to" in r[1] for r in inside.refused()), f"{inside.refused()}")


@test(users=("root",), hosts=f"{WEB2}\tnamed.example other.example # x\n127.0.0.1 localhost\nnonsense\n{PRIVATE} in.example\n")
def entries_of_etc_hosts_have_priority_and_are_checked(world):
    server, inside = world.web(WEB2), world.inside("named.example", "localhost", "in.example")
    ensure(b"200 OK" in inside.get("named.example"), "refused")
    ensure(b"loopback" in inside.get("localhost", address=WEB), "not refused")
    ensure(b"private" in inside.get("in.example", address=WEB), "not refused")
    same((server.accepted, world.names.asked), (1, []), "connections, questions")


@test(users=("root",))
def an_unreachable_server_is_reported(world):
    inside = world.inside("ok.example", "gone.example", "ok.example:22")
    ensure(b"502 Bad Gateway" in (answer := inside.get("ok.example")) and b"Connection refused" in answer, f"{answer}")
    ensure(b"no such name" in inside.get("gone.example", address=WEB), "not said")
    ensure(inside.resets("ok.example", 22), "not reset")
    same(inside.count()["refused"], 0, "what was refused")


@test(users=("root",))
def the_next_address_is_tried(world):
    world.names.names["many.example"] = ["93.184.216.99", "2606:2800:220:1::99", WEB2, WEB]
    server, inside = world.web(), world.inside("many.example")
    ensure(b"200 OK" in inside.get("many.example", timeout=20), "refused")
    same(server.accepted, 1, "connections")
