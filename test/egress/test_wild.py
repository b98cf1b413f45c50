"""Random and misbehaving clients and servers: they must not end the egress process, or get forbidden data through."""

import random

from support import ensure, same, test
from world import *


@test(users=("root",), timeout=120)
def the_process_survives_random_clients(world):
    servers = [world.web(), world.web(port=443, handle=echo)]
    evil = [world.web(EVIL), world.web(EVIL, 443, echo)]
    inside = world.inside("ok.example", "ok.example:22", connections=400)
    address = inside.look_up("ok.example")[1][0]
    rng = random.Random(7)
    seeds = [
        (80, b"GET / HTTP/1.1\r\nHost: ok.example\r\n\r\n"),
        (80, b"POST / HTTP/1.1\r\nHost: ok.example\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        (80, b"GET / HTTP/1.1\r\nHost: evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
        (3128, b"CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + hello("ok.example")),
        (3128, b"CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + hello("evil.example")),
        (3128, b"GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n"),
        (443, hello("ok.example")),
        (443, hello("evil.example")),
        (53, struct.pack(">H", 28) + question("ok.example")),
        (22, b"x"),
    ]
    open_ones = []
    for i in range(600):
        port, data = rng.choice(seeds)
        data = bytearray(data)
        for _ in range(rng.choice((0, 0, 1, 3))):
            at = rng.randrange(len(data) + 1)
            data[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        try:
            s = inside.connect(PROXY[0] if port == 3128 else address, port)
            open_ones.append(s)
            cut = rng.randrange(len(data) + 1)
            s.sendall(data[:cut])
            if rng.random() < 0.1:
                s.send(b"!", socket.MSG_OOB)
            s.sendall(data[cut:])
            if rng.random() < 0.3:
                s.shutdown(rng.choice((socket.SHUT_WR, socket.SHUT_RDWR)))
            if rng.random() < 0.2:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                s.close()
        except OSError:
            pass
        if len(open_ones) > 100:
            open_ones.pop(rng.randrange(100)).close()
        if i % 100 == 50:
            inside.change(allowed=("two.example",) if i % 200 == 50 else ("ok.example", "ok.example:22"))
    inside.change(allowed=("ok.example", "ok.example:22"))
    for s in open_ones:
        s.close()
    ensure(b"200 OK" in inside.get("ok.example"), "it does not work any more")
    same([server.accepted for server in evil], [0, 0], "connections to where none may be")
    ensure(all(server.accepted for server in servers), "nothing got through")


@test(users=("root",))
def urgent_bytes_change_nothing(server, inside):
    """Urgent bytes are not part of the stream: the checked bytes and the forwarded bytes must stay the same."""
    with inside.connect("ok.example", 80) as s:
        s.sendall(b"POST / HTTP/1.1\r\nHost: ok.exam")
        s.send(b"!", socket.MSG_OOB)
        time.sleep(0.05)
        s.sendall(b"ple\r\nContent-Length: 10\r\n\r\n01234")
        time.sleep(0.05)
        s.send(b"!", socket.MSG_OOB)
        s.sendall(b"56789")
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            answer = read_all(s)
    ensure(all(seen.endswith(b"\r\n\r\n0123456789") for seen in server.seen), f"{server.seen}")
    ensure(b"200 OK" in answer or b"403" in answer or not answer, f"{answer}")
    ensure(b"200 OK" in inside.get("ok.example"), "it does not work any more")


@test(users=("root",), timeout=60)
def the_process_survives_misbehaving_servers(world):
    rng = random.Random(3)

    def handle(c, server):
        choice = rng.randrange(6)
        if choice == 0:
            return
        if choice == 1:
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        c.recv(rng.randrange(1, 4000))
        if choice == 2:
            c.sendall(rng.randbytes(rng.randrange(300000)))
        elif choice == 3:
            c.shutdown(socket.SHUT_RD)
            c.sendall(b"HTTP/1.1 101 \r\n\r\n")
        elif choice == 4:
            c.shutdown(socket.SHUT_WR)
            time.sleep(0.01)
        else:
            c.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    world.web(handle=handle), world.web(port=443, handle=handle)
    good = world.web(WEB2)
    inside = world.inside("ok.example", "two.example", connections=300)
    address = inside.look_up("ok.example")[1][0]
    data = hello("ok.example")
    for i in range(300):
        with contextlib.suppress(OSError):
            if i % 3 == 0:
                with inside.connect(address, 443, 2) as s:
                    s.sendall(data + bytes(20000))
                    s.recv(100)
            else:
                upgrade = ("Upgrade: websocket", "Connection: Upgrade") if i % 3 == 1 else ()
                inside.get("ok.example", address=address, method="POST", body=bytes(100000), timeout=2,
                           headers=("Content-Length: 100000", *upgrade))
    ensure(b"200 OK" in inside.get("two.example"), "it does not work any more")
    same(good.accepted, 1, "connections")
    until(lambda: world.descriptors() <= 30, what="the end of all connections")
