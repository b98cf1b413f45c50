"""Messages of the owner of the egress process, and what happens if the owner ends or sends invalid ones."""

import random

from support import ensure, same, test
from world import *


def is_gone(world, s):
    """Checks that the process has ended and its connection is closed."""
    status = world.ended()
    s.settimeout(5 * support.slack)
    try:
        s.recv(1)
    except ConnectionResetError:
        pass
    return status


def with_connection():
    world = World()
    world.web(port=22, handle=greet)
    inside = world.inside("ok.example:22")
    s = inside.connect("ok.example", 22)
    same(s.recv(6), b"hello\n", "the greeting")
    return world, inside, s


@test(users=("root",))
def the_process_ends_when_its_owner_closes_the_socket():
    world, inside, s = with_connection()
    world.control.close()
    same(is_gone(world, s), 0, "exit status")


@test(users=("root",), start=False)
def the_process_ends_when_its_owner_is_killed(world):
    ready, notify = os.pipe()
    owner = os.fork()
    if owner == 0:
        world.start()
        os.write(notify, b"%d\n" % world.process.pid)
        time.sleep(60)
        os._exit(0)
    pid = int(os.read(ready, 100))
    os.kill(owner, signal.SIGKILL)
    os.waitpid(owner, 0)
    until(lambda: not alive(pid), what="its end")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@test(users=("root",))
def a_killed_process_leaves_no_open_connection_and_is_replaced():
    world, inside, s = with_connection()
    world.process.kill()
    world.ended()
    with contextlib.suppress(ConnectionResetError):
        same(s.recv(1), b"", "the connection")
    world.start()
    world.attach(inside)
    with inside.connect("ok.example", 22) as s:
        same(s.recv(6), b"hello\n", "the greeting")


@test(users=("root",))
def wrong_packets_end_the_process(world):
    inside = Inside(world, 1, allowed=("ok.example",), attach=False)
    wrong = {
        "short": b"\1\0",
        "of an unknown type": struct.pack("=IIQ", 77, 0, 1),
        "of no type": struct.pack("=IIQ", 0, 0, 1),
        "a reply": struct.pack("=IIQ", COUNTED, 0, 1),
        "too long": struct.pack("=IIQ", COUNT, 0, 1) + b"x",
        "too short": struct.pack("=II", COUNT, 0),
        "a configuration that lies": struct.pack("=IIII", CONFIG, 100, 0, 0) + b"x" * 99,
        "a configuration that is too long": struct.pack("=IIII", CONFIG, 0xFFFFFFFF, 0xFFFFFFFF, 0),
        "half a policy": struct.pack("=IIQ", CHANGE, 1, 1),
    }
    for what, packet in wrong.items():
        again(world).control.send(packet)
        same(world.ended(), 1, f"exit status after a packet {what}")
    good = inside.message(ATTACH)
    policies = {
        "a text without an end": good[:-1],
        "a text too many": good + b"x\0",
        "a text too few": inside.message(ATTACH, allowed=("a.example", "b.example"))[:-10],
        "texts in great number": good[:16] + struct.pack("=I", 0xFFFFFFFE) + good[20:],
    }
    for what, packet in policies.items():
        again(world).control.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [inside.tcp.fileno()] * 2))])
        same(world.ended(), 1, f"exit status after {what}")
    again(world).control.sendmsg([struct.pack("=IIQ", COUNT, 0, 1)],
                          [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [inside.tcp.fileno()]))])
    same(world.ended(), 1, "exit status after an unwanted descriptor")


def again(world):
    world.control.close()
    world.start()
    return world


@test(users=("root",), timeout=60)
def random_packets_never_crash_the_process(world):
    inside = Inside(world, 1, allowed=("ok.example",))
    rng = random.Random(5)
    messages = [inside.message(ATTACH), inside.message(CHANGE), struct.pack("=IIQ", COUNT, 0, 1),
                struct.pack("=IIII", CONFIG, 5, 4, 0) + b"hellohost"]
    for _ in range(300):
        data = bytearray(rng.choice(messages))
        for _ in range(rng.randrange(4)):
            data[rng.randrange(4, len(data))] = rng.randrange(256)
        fds = array.array("i", [rng.choice([inside.tcp, inside.udp, world.control]).fileno() for _ in range(rng.randrange(4))])
        try:
            world.control.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)] if fds else [])
            while select.select([world.control], [], [], 0)[0]:
                if not world.control.recv(4096):
                    raise BrokenPipeError
        except (BrokenPipeError, ConnectionResetError):
            same(world.ended(), 1, "exit status")
            again(world)


@test(users=("root",))
def a_sandbox_that_cannot_be_attached_is_reported(world, inside):
    spare = Inside(world, 2, allowed=("ok.example",), attach=False)

    def attach(fds, **changes):
        world.failed.clear()
        message = spare.message(ATTACH, **changes)
        world.control.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
        world.count(1)
        return [number for _, number in world.failed]

    sockets = [spare.tcp.fileno(), spare.udp.fileno()]
    with open("/dev/null") as null:
        for fds in ([], sockets[:1], sockets[::-1], sockets * 2, [null.fileno()] * 2, [world.control.fileno()] * 2):
            same(attach(fds), [22], f"the error of {len(fds)} descriptors")
    for changes in (dict(allowed=("*",)), dict(allowed=("a b",)), dict(connections=0), dict(tier=0), dict(tier=9),
                    dict(allowed=None), dict(private=("10.0.0.0/99",))):
        same(attach(sockets, **changes), [22], f"the error of {changes}")
    same(attach(sockets), [], "an error of a good one")
    same(spare.look_up("ok.example")[0], 0, "its lookup")
    same(attach(sockets), [17], "the error of one that is there already")
    same(inside.look_up("ok.example")[0], 0, "the other's lookup")


@test(users=("root",))
def another_policy_counts_at_once(world):
    world.web(), world.web(WEB2)
    world.web(port=22, handle=greet), world.web(WEB2, 22, greet)
    tls = world.web(port=443, handle=echo)
    inside = world.inside("ok.example", "ok.example:22", "two.example:22")
    ssh, two = inside.connect("ok.example", 22), inside.connect("two.example", 22)
    secure = inside.connect("ok.example", 443)
    secure.sendall(hello("ok.example"))
    for s in (ssh, two, secure):
        ensure(s.recv(6), "it does not work")
    inside.change(allowed=("two.example", "two.example:22"))
    for s in (ssh, secure):
        try:
            while s.recv(65536):
                pass
            fail("not reset")
        except ConnectionResetError:
            pass
    two.sendall(b"abc")
    two.shutdown(socket.SHUT_WR)
    same(read_all(two), b"heard 3", "the one that is still allowed")
    ensure(b"403" in inside.get("ok.example", address=WEB), "not refused")
    ensure(b"200" in inside.get("two.example"), "refused")
    same(inside.look_up("ok.example"), (3, []), "a lookup of what is not allowed any more")
    same(tls.accepted, 1, "connections")


@test(users=("root",))
def an_invalid_policy_cuts_the_sandbox_off():
    world, inside, s = with_connection()
    inside.change(allowed=("not a pattern",))
    with contextlib.suppress(ConnectionResetError):
        same(s.recv(1), b"", "the connection")
    inside.count()
    same(world.failed, [(inside.id, 22)], "reported refusals")


@test(users=("root",))
def a_private_address_is_cut_off_when_its_exception_is(world):
    world.web(PRIVATE, 22, greet)
    world.names.names["in.example"] = [PRIVATE]
    inside = world.inside("in.example:22", private=("in.example",))
    s = inside.connect("in.example", 22)
    same(s.recv(6), b"hello\n", "the greeting")
    inside.change(private=())
    ensure(is_reset(s), "not reset")
    same(inside.refused(), [("in.example:22", f"resolves to {PRIVATE}, which is private", False)], "reported refusals")


@test(users=("root",))
def connections_of_a_detached_sandbox_are_closed():
    world, inside, s = with_connection()
    inside.ask(DETACH)
    inside.ask(DETACH)
    ensure(is_reset(s), "not reset")
    same(inside.count(), dict(connections=0, refused=0, sent=0, received=0, lookups=0), "the count of who is unknown")
    try:  # the listener is still open here, so the kernel accepts; no process serves it
        late = inside.connect("198.18.2.0", 22)
        late.settimeout(0.5)
        late.recv(1)
        fail("somebody answered")
    except TimeoutError:
        pass


@test(users=("root",))
def the_count_includes_processes_that_were_not_waited_for(world, inside):
    inside.count()
    world.process.send_signal(signal.SIGSTOP)  # so that all packets and the request arrive together
    for i in range(20):
        with within(inside.namespace):
            s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setblocking(False)
        s.connect_ex((EVIL, 1000 + i))
        u.sendto(question(f"n{i}.evil.example"), ("8.8.8.8", 53))
    threading.Timer(0.2, world.process.send_signal, [signal.SIGCONT]).start()
    count = inside.count()
    same((count["refused"], len(inside.refused())), (40, 40), "refusals")


@test(users=("root",), timeout=60)
def an_owner_that_does_not_read_delays_no_connection(world):
    world.web()
    insides = [world.inside("ok.example") for _ in range(20)]
    for inside in insides:
        for i in range(70):
            inside.look_up(f"n{i}.evil.example")
    for inside in insides:
        ensure(b"200 OK" in inside.get("ok.example"), "refused")
    same(insides[0].count()["refused"], 70, "refusals")
    same(len({r for r in world.refused if r[0] == 1}), 64, "reported refusals")


def attach_many(world, template, n):
    """n more sandboxes, from number 10000 on.  One namespace will do for all; each has sockets of its own."""
    message = template.message(ATTACH)
    with within(template.namespace):
        for i in range(n):
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u:
                s.listen(1)
                fds = array.array("i", [s.fileno(), u.fileno()])
                packet = message[:8] + struct.pack("=Q", 10000 + i) + message[16:]
                world.control.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
    world.count(template.id)


@test(users=("root",), limit=128)
def a_sandbox_that_gets_no_descriptors_is_reported(world, server, inside):
    attach_many(world, inside, 100)
    ensure(20 < len(world.failed) < 60 and {number for _, number in world.failed} == {24}, f"{world.failed}")
    for i in range(50):
        world.control.send(struct.pack("=IIQ", DETACH, 0, 10000 + i))
    inside.count()
    ensure(b"200 OK" in inside.get("ok.example"), "refused")
    same(server.accepted, 1, "connections")


@test(users=("root",), timeout=120)
def four_thousand_sandboxes_fit(world):
    world.web()
    template = world.inside("ok.example")
    attach_many(world, template, EVERY)
    same(world.failed, [(10000 + EVERY - 1, 28)], "those that did not fit")  # ENOSPC
    ensure(b"200 OK" in template.get("ok.example"), "refused")
    memory = world.memory()
    ensure(memory < 32 << 10 or support.slack > 1, f"it has {memory} KiB")


EVERY = 4096


@test(users=("root",))
def a_used_socket_is_marked_before_its_data_is_read(world):
    """The owner can read the mark on the socket; a socket with counted traffic has the mark."""
    world.web()

    def used(inside):
        return inside.tcp.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY) == 1

    for use in (lambda i: i.look_up("evil.example"), lambda i: i.resets(WEB, 22), lambda i: i.count()):
        inside = world.inside("ok.example")
        world.inside("ok.example").count()  # after this answer, all sandboxes are attached
        ensure(not used(inside), "it was not used")
        use(inside)
        ensure(used(inside), "it was used")
    inside = world.inside("ok.example")
    os.kill(world.process.pid, signal.SIGSTOP)
    with inside.connect(WEB, 22):
        ensure(not used(inside), "nothing was taken yet")
        os.kill(world.process.pid, signal.SIGCONT)
        until(lambda: used(inside), what="the mark")


@test(users=("root",))
def the_process_has_a_filter_and_no_capabilities(world):
    world.inside("ok.example").count()
    status = dict(line.split(":", 1) for line in open(f"/proc/{world.process.pid}/status"))
    with open(world.program, "rb") as f:
        filtered = "0" if b"__asan_init" in f.read() else "2"  # see cage.c
    same({name: status[name].strip() for name in ("Seccomp", "NoNewPrivs", "CapPrm", "CapEff")},
         {"Seccomp": filtered, "NoNewPrivs": "1", "CapPrm": "0" * 16, "CapEff": "0" * 16}, "its status")
    same(os.stat(f"/proc/{world.process.pid}/mem").st_uid, 0, "the owner of its memory, when it is not dumpable")
