"""Lookups: those of the code, which the egress process answers, and those of its own."""

from support import ensure, same, test
from world import *

NXDOMAIN, SERVFAIL = 3, 2


@test(users=("root",))
def allowed_names_get_an_address_of_the_egress_process(world):
    inside = world.inside("ok.example", "*.ok.example")
    first = inside.look_up("ok.example")
    ensure(first[0] == 0 and first[1][0].startswith("198.18."), f"{first}")
    same(inside.look_up("OK.example.", server=("9.9.9.9", 53)), first, "the same name elsewhere")
    six = inside.look_up("www.ok.example", AAAA)
    ensure(six[0] == 0 and six[1][0].startswith("fdce:"), f"{six}")
    same(sorted(set(world.names.asked)), sorted((n, t) for n in ("ok.example", "www.ok.example") for t in (A, AAAA)), "what was asked")


@test(users=("root",))
def lookups_of_other_names_are_not_forwarded(world, inside):
    for name in ("evil.example", "c2VjcmV0.ok.example", "ok.example.evil.example", "a" * 63 + ".evil.example"):
        for type in (A, AAAA, TXT, 65, 255):
            same(inside.look_up(name, type), (NXDOMAIN, []), name)
    for type in (TXT, 15, 33, 65, 255):
        same(inside.look_up("ok.example", type), (0, []), f"type {type}")
    same(world.names.asked, [], "what was asked outside")
    refused_names = inside.refused()
    ensure(("evil.example", "not in allowed_domains", False) in refused_names and len(refused_names) == 4, f"{refused_names}")
    same(inside.count()["lookups"], 25, "lookups")


@test(users=("root",))
def reverse_lookups_fail_without_a_report(world, inside):
    same(inside.look_up("4.3.2.1.in-addr.arpa", 12), (NXDOMAIN, []), "the answer")
    same((inside.refused(), world.names.asked), ([], []), "reported refusals and lookups")


@test(users=("root",))
def names_that_do_not_exist_get_the_standard_answers(world):
    world.names.names["empty.example"] = []
    inside = world.inside("gone.example", "empty.example")
    same(inside.look_up("gone.example"), (NXDOMAIN, []), "the answer")
    same(inside.look_up("empty.example"), (0, []), "the answer")


@test(users=("root",))
def lookups_by_tcp_are_as_those_by_udp(world, inside):
    with inside.connect("1.1.1.1", 53) as s, s.makefile("rb") as f:
        both = b"".join(struct.pack(">H", len(q)) + q for q in (question("ok.example", id=1), question("evil.example", id=2)))
        for i in range(len(both)):
            s.sendall(both[i : i + 1])
        answers = [read_answer(f.read(struct.unpack(">H", f.read(2))[0])) for _ in range(2)]
    ensure(answers[0][:2] == (1, 0) and answers[0][2][0].startswith("198.18."), f"{answers[0]}")
    same(answers[1], (2, NXDOMAIN, []), "the second answer")
    ensure(("evil.example", A) not in world.names.asked, "it was asked for")
    ensure(inside.resets("1.1.1.1", 53, b"\xff\xff" + bytes(2000)), "a long question is not reset")
    ensure(inside.resets("1.1.1.1", 53, b"\0\1x"), "a short question is not reset")


@test(users=("root",))
def malformed_queries_are_answered_with_an_error_or_not_at_all(world, inside):
    with within(inside.namespace):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("8.8.8.8", 53))
    s.settimeout(5 * support.slack)
    for data in (b"", b"x", bytes(11), question("ok.example", flags=0x8180), bytes(1500), os.urandom(1400)):
        s.send(data)
    s.send(b"\x12\x34\x01\x00" + bytes(8))  # a header without a question
    answers = set()
    s.send(question("ok.example", id=99))
    while 99 not in answers:
        answers.add(struct.unpack(">H", s.recv(4096)[:2])[0])
    ensure(world.process.poll() is None, "it has ended")


@test(users=("root",))
def only_the_matching_dns_answer_is_used(world):
    """Forged answers arrive first: with another id, another name, or from another server."""
    web, evil = world.web(), world.web(EVIL)
    fake = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    fake.bind((EVIL, 53))

    def mangle(query, answer, by_tcp):
        wrong = answer.replace(socket.inet_aton(WEB), socket.inet_aton(EVIL))
        return [bytes([wrong[0] ^ 1]) + wrong[1:], wrong.replace(b"\2ok", b"\2ko"), wrong[:20], b"", os.urandom(100), answer]

    world.names.mangle = mangle
    inside = world.inside("ok.example")
    ensure(b"200 OK" in inside.get("ok.example"), "refused")
    same((web.accepted, evil.accepted), (1, 0), "connections")


@test(users=("root",))
def an_answer_that_is_too_long_comes_by_tcp(world):
    world.names.mangle = lambda query, answer, by_tcp: [answer] if by_tcp else [answer[:2] + b"\x83\x80\0\1\0\0\0\0\0\0" +
                                                                               query[12 : query.index(b"\0", 12) + 5]]
    server, inside = world.web(), world.inside("ok.example")
    ensure(b"200 OK" in inside.get("ok.example"), "refused")
    ensure("ok.example" in world.names.by_tcp, "not by TCP")
    same(server.accepted, 1, "connections")


@test(users=("root",), resolv=f"# comment\nnameserver 93.184.216.77\nnameserver {EVIL}\nnameserver 127.0.0.1\n")
def a_slow_name_server_is_waited_for_and_a_dead_one_is_skipped(world):
    def mangle(query, answer, by_tcp):
        time.sleep(0.7)
        return [answer]

    world.names.mangle = mangle
    inside = world.inside("ok.example")
    begun = time.monotonic()
    same(inside.look_up("ok.example")[0], 0, "the code")
    took = time.monotonic() - begun
    support.within(took, 6, "the lookup")


@test(users=("root",), beside=True)
def a_server_that_does_not_answer_times_out(world):
    world.names.mangle = lambda *_: []
    inside = world.inside("ok.example")
    begun = time.monotonic()
    same(inside.look_up("ok.example", timeout=20), (SERVFAIL, []), "the answer")
    ensure(time.monotonic() - begun > 3, "given up too early")
    support.within(time.monotonic() - begun, 10, "the lookup")
    world.names.mangle = None
    same(inside.look_up("ok.example")[0], 0, "the code afterwards")


@test(users=("root",))
def an_answer_for_one_address_family_is_enough(world):
    """A resolver that is silent about AAAA must not cost more than a moment."""
    world.names.mangle = lambda query, answer, by_tcp: [answer] if world.names.asked[-1][1] == A else []
    inside = world.inside("ok.example")
    begun = time.monotonic()
    same(inside.look_up("ok.example")[0], 0, "the code")
    support.within(time.monotonic() - begun, 5, "the lookup")


@test(users=("root",), resolv=f"nameserver 127.0.0.9\nnameserver 127.0.0.1\n")
def a_failed_lookup_is_repeated_at_the_next_server(world):
    broken = Names("127.0.0.9")
    broken.mangle = lambda query, answer, by_tcp: [answer[:3] + b"\x82" + answer[4:6] + bytes(6) + query[12 : query.index(b"\0", 12) + 5]]
    inside = world.inside("ok.example")
    same(inside.look_up("ok.example")[0], 0, "the code")
    ensure(broken.asked, "the first was not asked")


@test(users=("root",))
def cached_answers_are_used_until_they_expire(world):
    world.names.ttl = 2
    inside = world.inside("ok.example")
    for _ in range(20):
        inside.look_up("ok.example")
    same(len(world.names.asked), 2, "questions")
    time.sleep(2.3)
    inside.look_up("ok.example")
    same(len(world.names.asked), 4, "questions")
    world.configure(*world.config)  # another resolver might give another answer
    inside.look_up("ok.example")
    same(len(world.names.asked), 6, "questions")


@test(users=("root",))
def simultaneous_lookups_share_one_query(world):
    def mangle(query, answer, by_tcp):
        time.sleep(0.3)
        return [answer]

    world.names.mangle = mangle
    inside = world.inside("ok.example")
    sockets = []
    for i in range(40):
        with within(inside.namespace):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(5 * support.slack)
        s.connect(("8.8.8.8", 53))
        s.send(question("ok.example", id=i))
        sockets.append(s)
    for i, s in enumerate(sockets):
        same(read_answer(s.recv(4096))[:2], (i, 0), "the answer")
    same(len(world.names.asked), 2, "questions")


@test(users=("root",))
def a_flood_of_questions_is_bounded(world):
    """More concurrent lookups of names below an allowed name than the limit."""
    world.names.mangle = lambda *_: []
    inside, other = world.inside("*.ok.example"), world.inside("two.example")
    with within(inside.namespace):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("8.8.8.8", 53))
    s.settimeout(2 * support.slack)
    for i in range(100):
        s.send(question(f"x{i}.ok.example", id=i))
    codes = [read_answer(s.recv(4096))[1] for _ in range(36)]
    same(codes, [SERVFAIL] * 36, "the answers to those that are too many")
    time.sleep(0.2)
    ensure(len({name for name, _ in world.names.asked}) <= 64, f"{len(world.names.asked)} questions")
    world.names.mangle = None
    same(other.look_up("two.example")[0], 0, "another sandbox's lookup")


@test(users=("root",))
def the_oldest_name_is_forgotten(world):
    raw = world.web(port=22, handle=greet)
    for i in range(600):
        world.names.names[f"n{i}.example"] = [WEB]
    inside = world.elevated()
    addresses = [inside.look_up(f"n{i}.example")[1][0] for i in range(600)]
    same(len(set(addresses)), 600, "addresses")
    with inside.connect(addresses[-1], 22) as s:
        same(s.recv(6), b"hello\n", "the greeting")
    ensure(inside.resets(addresses[0], 22), "the oldest is still known")
    same(raw.accepted, 1, "connections")
    same(inside.look_up("n599.example")[1], [addresses[-1]], "the address of one that is known")


@test(users=("root",))
def sandboxes_do_not_know_each_others_names(world):
    world.web(port=22, handle=greet)
    one, two = world.inside("ok.example", "ok.example:22"), world.inside("ok.example", "ok.example:22")
    address = one.look_up("ok.example")[1][0]
    ensure(two.resets(address, 22), "it was let through")
