"""Limits on time, bytes, connections and descriptors; and fairness among sandboxes."""

from support import ensure, same, test
from world import *


@test(users=("root",), timeout=40, beside=True)
def a_connection_without_a_request_is_closed(world):
    world.web(port=443, handle=echo)
    inside = world.inside("ok.example")
    data = hello("ok.example")
    slow, silent, half = (inside.connect("ok.example", 443, 20) for _ in range(3))
    head = inside.connect("ok.example", 80, 20)
    begun = time.monotonic()
    half.sendall(data[:100])
    head.sendall(b"GET / HTTP/1.1\r\n")
    sent = 0
    with contextlib.suppress(ConnectionError):
        while time.monotonic() < begun + 15:
            slow.sendall(data[sent : sent + 1])
            sent += 1
            time.sleep(0.1)
    ensure(9 < time.monotonic() - begun, f"the slow one was closed after {time.monotonic() - begun:.1f} s")
    support.within(time.monotonic() - begun, 14, "the end of the slow one")
    for s in (silent, half):
        with contextlib.suppress(ConnectionResetError):
            same(s.recv(100)[:1] or b"\x15", b"\x15", "what it hears")
    ensure(head.recv(100).startswith(b"HTTP/1.1 403"), "the slow head is not refused")


@test(users=("root",), beside=True)
def a_connection_on_which_nothing_moves_is_closed(world):
    world.web(port=22, handle=echo)
    inside = world.inside("ok.example:22", idle=1000)
    with inside.connect("ok.example", 22) as s:
        for _ in range(6):  # a connection with traffic stays open
            s.sendall(b"x")
            same(s.recv(1), b"x", "the echo")
            time.sleep(0.4)
        begun = time.monotonic()
        ensure(is_reset(s, 5), "not reset")
        ensure(time.monotonic() - begun > 0.4, "closed too early")
    same(inside.count()["refused"], 0, "refusals")


@test(users=("root",))
def connections_at_once_are_limited(world):
    world.web(port=22, handle=greet)
    inside, other = world.inside("ok.example:22", connections=5), world.inside("ok.example:22")
    address = inside.look_up("ok.example")[1][0]
    open_ones = [inside.connect(address, 22) for _ in range(5)]
    for s in open_ones:
        s.recv(6)
    for _ in range(3):
        ensure(inside.resets(address, 22), "a sixth was let through")
    same(inside.refused(), [("ok.example:22", "too many connections at once", True)], "reported refusals")
    with other.connect("ok.example", 22) as s:
        same(s.recv(6), b"hello\n", "the greeting to another sandbox")
    open_ones.pop().close()
    until(lambda: greets(inside, address), what="room again")


def greets(inside, address):
    try:
        with inside.connect(address, 22) as s:
            return s.recv(6) == b"hello\n"
    except ConnectionResetError:
        return False


@test(users=("root",))
def the_limit_on_bytes_is_exact(world):
    def pour(c, server):
        read_head(c)
        c.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(1 << 20))

    world.web(handle=pour)
    world.web(port=22, handle=echo)
    inside = world.inside("ok.example", "ok.example:22", bytes=100000)
    got = b""
    with inside.connect("ok.example", 80) as s:
        s.sendall(b"GET / HTTP/1.1\r\nHost: ok.example\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            while more := s.recv(65536):
                got += more
            fail("an orderly end")
    count = inside.count()
    same(count["sent"] + count["received"], 100000, "bytes that were moved")
    ensure(len(got) <= count["received"], "more came")
    ensure(b"403" in inside.get("ok.example"), "another request is let through")
    ensure(inside.resets("ok.example", 22, b"x"), "another connection is let through")
    ensure(all(r[1:] == ("no more bytes are allowed", True) for r in inside.refused()), f"{inside.refused()}")
    inside.ask(BEGIN)
    with inside.connect("ok.example", 22) as s:
        s.sendall(b"x" * 50000)
        heard = b""
        while len(heard) < 50000:
            heard += s.recv(65536)
        s.sendall(b"x")
        ensure(is_reset(s), "not reset")


@test(users=("root",))
def refusals_are_reported_once_and_their_number_is_bounded(inside):
    for _ in range(3):
        inside.look_up("evil.example")
    same(inside.refused(), [("evil.example", "not in allowed_domains", False)], "reported refusals")
    for i in range(200):
        inside.look_up(f"n{i}.evil.example")
    same((len(inside.refused()), inside.count()["refused"]), (64, 203), "reported and counted refusals")
    inside.ask(BEGIN)
    inside.look_up("evil.example")
    same((len(inside.refused()), inside.count()["refused"]), (65, 1), "reported and counted refusals")


@test(users=("root",), timeout=60, limit=256)
def descriptors_run_out_without_harm(world):
    world.web(port=22, handle=greet)
    inside = world.inside("ok.example:22", connections=1000)
    address = inside.look_up("ok.example")[1][0]
    open_ones, refused = [], 0
    for _ in range(200):
        try:
            s = inside.connect(address, 22)
            open_ones.append(s) if s.recv(6) == b"hello\n" else fail("no greeting")
        except ConnectionResetError:
            refused += 1
    ensure(len(open_ones) > 20 and refused > 20, f"{len(open_ones)} open, {refused} refused")
    ensure(("ok.example:22", "too many connections of all sandboxes", True) in inside.refused(), f"{inside.refused()}")
    other = world.inside("ok.example")  # a further sandbox can still be attached
    same(other.look_up("ok.example")[0], 0, "another sandbox's lookup")
    for s in open_ones:
        s.close()
    until(lambda: greets(inside, address), what="room again")


def pour_for_ever(c, server):
    c.recv(10)
    while True:
        c.sendall(bytes(1 << 20))


@test(users=("root",), timeout=60)
def one_busy_sandbox_does_not_starve_the_others(world):
    world.web(port=22, handle=pour_for_ever)
    world.web()
    busy, others = world.inside("ok.example:22", connections=100), [world.inside("ok.example") for _ in range(10)]
    address = busy.look_up("ok.example")[1][0]
    sink = subprocess.Popen(["/usr/bin/python3", "-c", SINK, address, "60"], stdout=subprocess.PIPE,
                            preexec_fn=lambda: check(libc.setns(busy.namespace, CLONE_NEWNET)))
    try:
        sink.stdout.readline()
        time.sleep(1)
        for _ in range(3):
            for inside in others:
                begun = time.monotonic()
                ensure(b"200 OK" in inside.get("ok.example"), "refused")
                support.within(time.monotonic() - begun, 5, "a request beside it")
        ensure(busy.count()["received"] > 100 << 20, f"the busy one was not: {busy.count()}")
    finally:
        sink.kill()
        sink.wait()


SINK = """
import select, socket, sys
ones = []
for _ in range(int(sys.argv[2])):
    s = socket.create_connection((sys.argv[1], 22))
    s.send(b"x")
    ones.append(s)
print(flush=True)
while True:
    for s in select.select(ones, [], [])[0]:
        s.recv(1 << 20)
"""


@test(users=("root",), timeout=60)
def stalled_readers_delay_no_other_connection(world):
    """More connections with buffered data than a sandbox may have pipes."""
    server = world.web(port=22, handle=pour_for_ever)
    inside = world.inside("ok.example:22", connections=200)
    address = inside.look_up("ok.example")[1][0]
    stuck = []
    for _ in range(80):
        s = inside.connect(address, 22)
        s.sendall(b"x")
        stuck.append(s)
    until(lambda: server.accepted == 80, what="all connections")
    time.sleep(0.5)
    fast = inside.connect(address, 22)
    fast.sendall(b"x")
    got = 0
    while got < 20 << 20:
        more = len(fast.recv(1 << 20))
        ensure(more > 0, "it ended")
        got += more
    for s in stuck[:40]:  # blocked connections continue, too, with or without a pipe
        got = 0
        while got < 1 << 20:
            got += len(s.recv(1 << 20))
    memory = world.memory()
    ensure(memory < 64 << 10 or support.slack > 1, f"it has {memory} KiB")


@test(users=("root",), timeout=120)
def large_transfers_are_complete_in_both_directions():
    """Checked by content, with a reader that pauses."""
    import hashlib

    world = World()
    data = os.urandom(1 << 20) * 16

    def handle(c, server):
        digest, got = hashlib.sha256(), 0
        sender = threading.Thread(target=lambda: (c.sendall(data), c.shutdown(socket.SHUT_WR)))
        sender.start()
        while more := c.recv(1 << 20):
            digest.update(more)
            got += len(more)
            if got % 3 == 0:
                time.sleep(0.002)
        server.seen.append(digest.hexdigest())
        sender.join()

    server = world.web(port=22, handle=handle)
    inside = world.inside("ok.example:22")
    s = inside.connect("ok.example", 22, 60)
    sender = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
    sender.start()
    digest = hashlib.sha256()
    while more := s.recv(70000):
        digest.update(more)
    sender.join()
    want = hashlib.sha256(data).hexdigest()
    same(digest.hexdigest(), want, "what was received")
    until(lambda: server.seen, what="the server's end")
    same(server.seen, [want], "what was sent")
    count = inside.count()
    same((count["sent"], count["received"]), (len(data), len(data)), "bytes")


@test(users=("root",), timeout=120)
def thousands_of_connections_leave_nothing(world):
    world.web(), world.web(port=443, handle=echo), world.web(port=22, handle=greet)
    inside = world.inside("ok.example", "ok.example:22")
    address = inside.look_up("ok.example")[1][0]
    data = hello("ok.example")

    def some(n):
        for i in range(n):
            inside.get("ok.example", address=address)
            inside.get("evil.example", address=address)
            inside.resets(EVIL, 1000 + i)
            inside.look_up(f"n{i % 64}.evil.example")
            with inside.connect(address, 443) as s:
                s.sendall(data)
                s.recv(1)
            with inside.connect(address, 22) as s:
                s.recv(6)
            inside.connect(address, 443).close()

    some(60)
    until(lambda: world.descriptors() <= 30, what="the end of the first connections")
    before = world.memory()
    some(400)
    until(lambda: world.descriptors() <= 30, what="the end of all connections")
    ensure(world.memory() - before < 512 or support.slack > 1, f"it has grown from {before} to {world.memory()} KiB")


@test(users=("root",), timeout=120)
def two_hundred_sandboxes_at_once_are_all_served(world):
    def handle(c, server):
        read_head(c)
        c.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + bytes(200000))

    world.web(handle=handle)
    insides = [world.inside("ok.example") for _ in range(200)]
    addresses = [inside.look_up("ok.example")[1][0] for inside in insides]
    waiting, got, took, begun = {}, {}, [], time.monotonic()
    for inside, address in zip(insides, addresses):
        s = inside.connect(address, 80)
        s.sendall(b"GET / HTTP/1.1\r\nHost: ok.example\r\n\r\n")
        waiting[s.fileno()] = s
        got[s.fileno()] = 0
    poll = select.poll()
    for fd in waiting:
        poll.register(fd, select.POLLIN)
    while waiting:
        ready = poll.poll(10000 * support.slack)
        ensure(ready, f"{len(waiting)} are not served")
        for fd, _ in ready:
            more = len(waiting[fd].recv(1 << 20))
            got[fd] += more
            if not more:
                poll.unregister(fd)
                waiting.pop(fd)
                took.append(time.monotonic() - begun)
    ensure(all(n > 200000 for n in got.values()), "not all is there")
    support.within(took[-1], 5, "the last of them")
