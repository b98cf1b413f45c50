"""cella run --network: the way out of a sandbox's own network namespace, and that there is no other.

What goes through it is decided by the egress process, which has tests of its own; here a small internet of the test's
own is behind it only where something must arrive."""

import json
import os
import signal
import subprocess
import sys
import time

import support
from support import (cella, ensure, expect, in_time, prints, processes, reap, refused, run, run_json, same, script,
                     spawn, test, until, within)  # fmt: skip

NETWORK = ("--network", "elevated")  # all public destinations are allowed, but only through the egress process

# The report of code inside about each try: the error or the answer, and the time.
PRELUDE = """
import errno, json, os, socket, struct, sys, time
answers = []
def attempt(name, f):
    begun = time.monotonic()
    try: result = f()
    except OSError as e: result = errno.errorcode.get(e.errno, type(e).__name__ + ': ' + str(e))
    answers.append([name, repr(result) if isinstance(result, bytes) else result, time.monotonic() - begun])
def tcp(address, port, family=None):
    s = socket.socket(family or (socket.AF_INET6 if ':' in address else socket.AF_INET)); s.settimeout(5)
    s.connect((address, port)); return s
def udp(address, port, connect):
    s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
    if connect: s.connect((address, port)); s.send(b'x')
    else: s.sendto(b'x', (address, port))
    return s.recv(100)
"""


def inside(code, *options, **kwargs):
    """[[name, outcome, seconds]] of what the code attempted."""
    r = run(*(options or NETWORK), "python3", "-c", PRELUDE + code + "\nprint(json.dumps(answers))", **kwargs)
    expect(r, err=None)
    return json.loads(r.out)


def all_fail(answers, *with_):
    """Checks that every attempt failed at once with one of these errors."""
    ensure(answers, "nothing was attempted")
    for name, outcome, seconds in answers:
        ensure(outcome in with_, f"{name}: {outcome}, not {' or '.join(with_)}")
        within(seconds, 3, name)


# ---- attempts that must fail ----


@test
def datagrams_are_refused_with_eperm():
    all_fail(inside("""
for address in ('8.8.8.8', '1.2.3.4', '10.0.0.1', '169.254.169.254', '192.0.0.8', '198.18.0.1', '2606:4700::1111', 'fd7c:1ace:11a0::1',
                '::ffff:8.8.8.8'):
    for port in (1, 54, 123, 443, 853, 5353, 33434):
        for connect in (False, True):
            attempt(f'{address} {port} {connect}', lambda: udp(address, port, connect))
"""), "EPERM")  # fmt: skip


@test
def multicast_and_broadcast_go_nowhere():
    all_fail(inside("""
def broadcast(address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.sendto(b'x', (address, 99))
attempt('broadcast', lambda: broadcast('255.255.255.255'))
attempt('multicast', lambda: broadcast('224.0.0.251'))
attempt('multicast v6', lambda: udp('ff02::fb', 5353, False))
attempt('multicast v6, site', lambda: udp('ff05::2', 1900, False))
attempt('tcp to multicast', lambda: tcp('224.0.0.1', 80))
"""), "EPERM", "EINVAL", "ENETUNREACH")  # fmt: skip


@test
def other_sockets_cannot_be_had():
    all_fail(inside("""
I, D, R, S = socket.AF_INET, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_STREAM
for family, kind, protocol in [(I, R, 1), (I, R, 255), (I, D, 1), (socket.AF_INET6, D, 58), (socket.AF_INET6, R, 58), (I, S, 132),
                               (I, S, 262), (I, D, 136), (I, socket.SOCK_SEQPACKET, 132), (socket.AF_PACKET, R, 3), (socket.AF_NETLINK, R, 12),
                               (socket.AF_NETLINK, R, 16), (socket.AF_VSOCK, S, 0)]:
    attempt(f'{family} {kind} {protocol}', lambda: socket.socket(family, kind, protocol))
"""), "EPERM", "EAFNOSUPPORT", "EPROTONOSUPPORT")  # fmt: skip


@test
def rules_and_routes_are_not_the_codes():
    """With rtnetlink, which the code has because libraries list interfaces with it, and with ioctl."""
    all_fail(inside("""
import fcntl
def rtnetlink(kind, body):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    s.send(struct.pack('=IHHII', 16 + len(body), kind, 5, 1, 0) + body)
    number = struct.unpack('=i', s.recv(4096)[16:20])[0]
    if number: raise OSError(-number, '')
route = struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 255, 4, 254, 2, 0) + struct.pack('=HHI', 8, 4, 1)
attempt('route away', lambda: rtnetlink(25, route))
attempt('route', lambda: rtnetlink(24, route))
attempt('address', lambda: rtnetlink(20, struct.pack('=BBBBI', 2, 32, 0, 0, 1) + struct.pack('=HH4s', 8, 2, bytes([8, 8, 8, 8]))))
attempt('link down', lambda: rtnetlink(16, struct.pack('=BBHiII', 0, 0, 0, 1, 0, 1)))
attempt('new link', lambda: rtnetlink(16, struct.pack('=BBHiII', 0, 0, 0, 0, 1, 1)))
attempt('flags', lambda: fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sH14x', b'lo', 0)))
attempt('address by ioctl', lambda: fcntl.ioctl(socket.socket(), 0x8916, struct.pack('16sHH4s8x', b'lo', 2, 0, bytes([8, 8, 8, 8]))))
attempt('transparent', lambda: socket.socket().setsockopt(0, 19, 1))
attempt('mark', lambda: socket.socket().setsockopt(1, 36, 1))
"""), "EPERM", "EACCES")  # fmt: skip


STEAL = """
for kind, port in ((socket.SOCK_STREAM, 1), (socket.SOCK_DGRAM, 53), (socket.SOCK_STREAM, 53), (socket.SOCK_DGRAM, 1)):
    for address in ('0.0.0.0', '127.0.0.1', '198.18.0.1', '8.8.8.8', '::', '::1', '::ffff:127.0.0.1'):
        for option in (0, socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            def steal():
                s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, kind)
                if option: s.setsockopt(socket.SOL_SOCKET, option, 1)
                s.bind((address, port))
            attempt(f'{address} {port} {kind} {option}', steal)
"""


@test
def the_listeners_ports_cannot_be_bound():
    all_fail(inside(STEAL), "EACCES", "EADDRINUSE")


@test
def root_inside_cannot_bind_the_listeners_ports():
    all_fail(inside(STEAL, *NETWORK, "--user", "root"), "EACCES", "EADDRINUSE")


@test
def a_connection_to_the_listener_itself_is_reset():
    for name, outcome, seconds in inside("""
def dial(address):
    s = tcp(address, 1)
    s.sendall(b'GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n'); return s.recv(100)
for address in ('127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1', '0.0.0.0', '::'):
    attempt(address, lambda: dial(address))
"""):
        ensure(outcome in ("ECONNRESET", "EPIPE", "ECONNREFUSED"), f"{name}: {outcome}")
        within(seconds, 3, name)


# ---- connections inside the sandbox ----


@test
def loopback_servers_work_beside_a_network():
    answers = inside("""
import threading
def serve(family, kind, address):
    s = socket.socket(family, kind); s.bind((address, 0))
    if kind == socket.SOCK_DGRAM:
        def answer():
            data, who = s.recvfrom(100); s.sendto(data * 2, who)
    else:
        s.listen(1)
        def answer():
            c, _ = s.accept(); c.sendall(c.recv(100) * 2)
    threading.Thread(target=answer, daemon=True).start()
    return s.getsockname()[1]
for family, address, dialled in ((socket.AF_INET, '127.0.0.1', '127.0.0.1'), (socket.AF_INET, '127.5.6.7', '127.5.6.7'), (socket.AF_INET, '0.0.0.0', '127.0.0.1'),
                                 (socket.AF_INET, '0.0.0.0', '0.0.0.0'), (socket.AF_INET6, '::1', '::1'), (socket.AF_INET6, '::', '::1'), (socket.AF_INET6, '::', '127.0.0.1'),
                                 (socket.AF_INET, '127.0.0.1', '::ffff:127.0.0.1'), (socket.AF_INET, '127.0.0.1', 'localhost')):
    def stream():
        port = serve(family, socket.SOCK_STREAM, address)
        s = socket.create_connection((dialled, port), 2); s.sendall(b'ab'); return s.recv(100)
    def datagram():
        return udp('127.0.0.1' if dialled == 'localhost' else dialled, serve(family, socket.SOCK_DGRAM, address), True)
    attempt(f'tcp {address} {dialled}', stream)
    attempt(f'udp {address} {dialled}', datagram)
""")  # fmt: skip
    for name, outcome, seconds in answers:
        same(outcome, repr(b"abab") if name.startswith("tcp") else repr(b"xx"), name)
        within(seconds, 3, name)


@test
def a_closed_loopback_port_is_refused():
    all_fail(inside("""
for address in ('127.0.0.1', '::1', '0.0.0.0'):
    attempt(address, lambda: tcp(address, 7777))
attempt('udp', lambda: udp('127.0.0.1', 7777, True))
"""), "ECONNREFUSED")  # fmt: skip


@test
def own_servers_get_no_connections_to_other_addresses():
    """Every address is local in the namespace: a server of the code that listens on all addresses must not receive connections to other hosts."""
    answers = inside("""
s = socket.create_server(('0.0.0.0', 8443)); s.setblocking(False)
t = socket.create_server(('93.184.216.34', 9443)); t.setblocking(False)
def dial(port):
    tcp('93.184.216.34', port)
    return [x.accept() and 'mine' for x in (s, t)]
for port in (8443, 9443):
    attempt(str(port), lambda: dial(port))
""", "--network", "standard")  # fmt: skip
    for name, outcome, _ in answers:
        ensure(outcome in ("EAGAIN", "EWOULDBLOCK", "ECONNRESET", "ECONNREFUSED"), f"{name}: {outcome}")


@test
def libraries_detect_a_network():
    """AI_ADDRCONFIG looks for an address that is not loopback's."""
    prints("['192.0.0.8']\n", *NETWORK, "python3", "-c", script(
        "import socket",
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('8.8.8.8', 53)); print([s.getsockname()[0]])",
        "for family in (socket.AF_INET, socket.AF_INET6):",
        "    socket.getaddrinfo('127.0.0.1' if family == socket.AF_INET else '::1', 80, family, flags=socket.AI_ADDRCONFIG)",
    ))  # fmt: skip


# ---- what the code can detect ----


@test
def code_has_no_descriptor_of_the_network():
    prints("[0, 1, 2]\n", *NETWORK, "python3", "-c", script(
        "import os",
        "fds = []",
        "for fd in range(4096):",
        "    try: os.fstat(fd); fds.append(fd)",
        "    except OSError: pass",
        "print(fds)",
    ))  # fmt: skip


def code_of(argument):
    """Pid of the process with this argument that is not cella, nor about to become another."""
    def look():
        return [pid for pid, words in processes().items() if argument in words and support.command[-1] not in words]

    return until(look, what="the code")[0]


def parent_of(pid):
    return int(support.read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[1])


@test(users=["root"])
def init_keeps_no_socket_of_the_network():
    nonce = support.nonce_seconds()
    p = spawn("run", *NETWORK, "--", "sleep", nonce)
    init = parent_of(code_of(nonce))
    links = [os.readlink(f"/proc/{init}/fd/{fd}") for fd in os.listdir(f"/proc/{init}/fd")]
    p.terminate()
    reap(p)
    same(sum(link.startswith("socket:") for link in links), 1, f"the number of sockets, its owner's included, among {links}")


@test
def proxies_and_the_resolver_are_configured():
    code = "import os; print({k: v for k, v in sorted(os.environ.items()) if 'PROXY' in k.upper()}); print(open('/etc/resolv.conf').read(), end='')"
    proxy, direct = "http://198.18.0.1:3128", "localhost,127.0.0.1,::1"
    all_ = {**dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "http_proxy", "https_proxy"), proxy), "NO_PROXY": direct, "no_proxy": direct}
    prints(f"{dict(sorted(all_.items()))}\nnameserver 198.18.0.1\n", *NETWORK, "python3", "-c", code)
    prints("{}\n", "python3", "-c", code)
    # The caller's own, in any spelling, is the only one.
    all_ = {k: v for k, v in all_.items() if k.upper() != "HTTPS_PROXY"} | {"https_proxy": ""}
    prints(f"{dict(sorted(all_.items()))}\nnameserver 198.18.0.1\n", *NETWORK, "--env", "https_proxy=", "python3", "-c", code)


@test
def without_a_network_connections_and_lookups_fail():
    all_fail(inside("""
attempt('tcp', lambda: tcp('1.2.3.4', 80))
attempt('tcp v6', lambda: tcp('2606:4700::1111', 80))
attempt('dns', lambda: udp('198.18.0.1', 53, True))
""", "--network", "restricted"), "ENETUNREACH")  # fmt: skip
    result, r = run_json("--", "true")
    ensure("network" not in result["usage"], "usage of a network that is not there", r)


# ---- the death of the egress process ----

DIAL_ON_INPUT = PRELUDE + """
print('ready', flush=True)
sys.stdin.readline()
for address in ('93.184.216.34', '2606:4700::1111', '198.18.0.1'):
    for port in (80, 443, 22, 53, 3128):
        attempt(f'{address} {port}', lambda: tcp(address, port))
attempt('dns', lambda: udp('198.18.0.1', 53, True))
attempt('dns v6', lambda: udp('2606:4700::1111', 53, True))
""" + STEAL + """
def name():
    try: socket.gethostbyname('example.com'); return 'found'
    except socket.gaierror: raise ConnectionRefusedError(errno.ECONNREFUSED, '')
attempt('name', name)
print(json.dumps(answers))
"""


def child_of(parent, name):
    def look():
        for pid, words in processes().items():
            try:
                if words[:1] == [name] and parent_of(pid) == parent:
                    return pid
            except OSError:
                continue
        return None

    return until(look, what=f"{name} below {parent}")


@test(unwrapped=True)
def without_its_egress_process_everything_is_refused_at_once():
    p = spawn("run", *NETWORK, "--timeout", "20s", "python3", "-c", DIAL_ON_INPUT, stdin=subprocess.PIPE,
              stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    same(p.stdout.readline(), b"ready\n", "the code's first word")
    os.kill(child_of(p.pid, "cella-egress"), signal.SIGKILL)
    time.sleep(0.1)
    out, err = p.communicate(b"\n", timeout=20 * support.slack)
    same(p.returncode, 0, f"exit status ({err})")
    all_fail(json.loads(out), "ECONNREFUSED", "EACCES")
    ensure(b"the egress process has ended" in err, f"it is not reported: {err}")


@test(unwrapped=True)
def the_result_reports_a_killed_egress_process():
    nonce = support.nonce_seconds()
    p = spawn("run", "--json", *NETWORK, "--", "sh", "-c", "read x", nonce, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    code_of(nonce)
    time.sleep(0.1)  # until the sandbox is attached to the egress process
    os.kill(child_of(p.pid, "cella-egress"), signal.SIGKILL)
    time.sleep(0.1)
    out, _ = p.communicate(b"\n", timeout=20 * support.slack)
    result = json.loads(out)
    same(result["usage"]["network"], None, "the usage without a count")
    same([(v["kind"], v["target"]) for v in result["violations"]], [("network", "network")], "violations")


@test(unwrapped=True)
def no_egress_process_is_left():
    for how in (["--", "true"], ["--timeout", "100ms", "--", "sleep", "10"], ["--", "/nowhere"]):
        p = spawn("run", *NETWORK, *how, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        mine = child_of(p.pid, "cella-egress") if "sleep" in how else None
        reap(p)
        ensure(mine is None or not os.path.exists(f"/proc/{mine}"), "it is still there")
    p = spawn("run", *NETWORK, "--", "sleep", "100")
    mine = child_of(p.pid, "cella-egress")
    p.kill()
    reap(p)
    until(lambda: not os.path.exists(f"/proc/{mine}") or support.program_name(mine) == "", 2, "its end after a kill -9")


@test(users=["root"], unwrapped=True)
def the_egress_process_of_root_runs_as_an_unused_uid():
    p = spawn("run", *NETWORK, "--", "sh", "-c", "read x", stdin=subprocess.PIPE)
    pid = child_of(p.pid, "cella-egress")
    status = support.read(f"/proc/{pid}/status")
    p.communicate(b"\n", timeout=20)
    for line in ("Uid:\t1879048189\t1879048189\t1879048189\t1879048189", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
                 "NoNewPrivs:\t1"):  # fmt: skip
        ensure(line in status, f"not {line!r}:\n{status}")


# ---- without the rules ----


@test(users=["root"], unwrapped=True)
def flushed_rules_open_nothing():
    """Code in the sandbox cannot flush them; without the rules, every address is still local."""
    nonce = support.nonce_seconds()
    p = spawn("run", *NETWORK, "python3", "-c", DIAL_ON_INPUT.replace(STEAL, ""), nonce, stdin=subprocess.PIPE,
              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
    same(p.stdout.readline(), b"ready\n", "the code's first word")
    inner = code_of(nonce)
    subprocess.run(["nsenter", f"--net=/proc/{inner}/ns/net", "nft", "flush", "ruleset"], check=True)
    out, _ = p.communicate(b"\n", timeout=20 * support.slack)
    answers = [a for a in json.loads(out) if not a[0].startswith(("dns", "name"))]  # DNS over this socket needs no rule
    all_fail(answers, "ECONNREFUSED")


@test(users=["root"], unwrapped=True)
def the_namespace_has_no_state_of_connections():
    """Entries of connection tracking would not be counted for the sandbox."""
    nonce = support.nonce_seconds()
    p = spawn("run", *NETWORK, "python3", "-c", PRELUDE + script(
        "for i in range(50):",
        "    try: tcp('93.184.216.34', 9)",
        "    except OSError: pass",
        "print('ready', flush=True); sys.stdin.readline()",
    ), nonce, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
    same(p.stdout.readline(), b"ready\n", "the code's first word")
    inner = code_of(nonce)
    rules = subprocess.run(["nsenter", f"--net=/proc/{inner}/ns/net", "nft", "list", "ruleset"], check=True, capture_output=True, text=True).stdout
    tracked = support.read(f"/proc/{inner}/net/nf_conntrack") if os.path.exists(f"/proc/{inner}/net/nf_conntrack") else ""
    p.communicate(b"\n", timeout=20)
    ensure("tproxy to :1" in rules and "policy drop" in rules, f"the rules:\n{rules}")
    same(tracked, "", "what is tracked")


# ---- the command line ----


def usage_error(name, options, *parts):
    test(lambda: refused(run(*options, "--", "true"), 2, *parts), name=f"usage_error_network_{name}")


test(lambda: expect(run("--allow", "example.com", "python3", "-c", "import os; print(os.environ['HTTPS_PROXY'][:4])"), out="http\n"), name="allow_implies_the_tier_standard")
usage_error("allow_none", ["--network", "none", "--allow", "example.com"], "--allow needs --network standard")
usage_error("allow_restricted", ["--network", "restricted", "--allow", "example.com"], "--allow needs --network standard")
usage_error("allow_elevated", ["--network", "elevated", "--allow", "example.com"], "--allow goes with --network standard")
usage_error("block_alone", ["--block", "example.com"], "--block needs --network")
usage_error("private_alone", ["--allow-private", "10.0.0.0/8"], "--allow-private needs --network")
usage_error("tier_unknown", ["--network", "all"], "--network", "'all'")
for what, pattern in {"star": "*", "empty": "", "inner_star": "a.*.com", "url": "https://example.com", "space": "a b", "port": "example.com:99999",
                      "umlaut": "münchen.de", "network": "10.0.0.0/8"}.items():  # fmt: skip
    usage_error(f"allow_{what}", ["--network", "standard", "--allow", pattern], "--allow")
usage_error("block_star", ["--network", "elevated", "--block", "*"], "--block")
usage_error("private_wide", ["--network", "elevated", "--allow-private", "10.0.0.0/40"], "--allow-private")
usage_error("too_many", ["--network", "standard", *["--allow", "example.com"] * 257], "--allow")


@test
def other_names_of_the_tiers_work():
    prints("nameserver 198.18.0.1\n", "--network", "unrestricted", "--", "cat", "/etc/resolv.conf")
    prints("", "--network", "sandbox", "--", "cat", "/etc/resolv.conf")


@test
def the_result_has_the_counts():
    result, r = run_json("--network", "standard", "--", "true")
    same(result["usage"]["network"], dict.fromkeys(("connections", "refused", "bytes_sent", "bytes_received", "lookups"), 0), "usage.network", r)
    same(result["violations"], [], "violations", r)


@test
def refusals_are_in_the_result_and_in_the_stream():
    code = "import socket\nfor n in ('evil.example', 'evil.example', 'worse.example'):\n    try: socket.gethostbyname(n)\n    except OSError: pass"
    result, r = run_json("--network", "standard", "--allow", "ok.example", "python3", "-c", code)
    same([(v["kind"], v["target"]) for v in result["violations"]], [("network", "evil.example"), ("network", "worse.example")], "violations", r)
    ensure(result["usage"]["network"]["refused"] >= 2, "refused", r)
    r = expect(run("--network", "standard", "python3", "-c", code), out="", err=None)
    same(r.err.count("cella: refused: network"), 2, "lines about it", r)


@test
def doctor_tries_the_network():
    r = cella(["doctor"])
    same([line.split()[1] for line in r.out.splitlines() if line.startswith("egress ")], ["ok"], "what it says of egress", r)


@test
def code_in_a_file_has_a_network_too():
    """With a file, init is started in another way, because the file is written before the code runs."""
    path = support.write("show.py", "#" * 120_000 + "\nprint(open('/etc/resolv.conf').read(), end='')\n")
    prints("nameserver 198.18.0.1\n", *NETWORK, "python3", path)


# ---- connections that succeed ----


@test(users=["root"], timeout=60, unwrapped=True)
def allowed_names_are_reached_and_others_are_not():
    sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../api"))
    from internet import Internet

    get = "import urllib.request as u\ntry: print(u.urlopen('http://%s/x', timeout=5).status)\nexcept u.HTTPError as e: print(e.code)"
    with Internet() as net:
        for who in ("root", "user"):
            for name, allow, status in (("ok.example", "ok.example", "200"), ("www.ok.example", "*.ok.example", "200"), ("evil.example", "ok.example", "403"),
                                        ("private.example", "private.example", "403")):  # fmt: skip
                net.forget()
                for proxied in (True, False):
                    env = () if proxied else ("--env", "http_proxy=")
                    words = ("run", "--network", "standard", "--allow", allow, *env, "python3", "-c", get % name)
                    r = in_time(cella(words, user=who), 4)
                    if status == "403" and not proxied:
                        # A name that cannot be looked up is not dialled at all.
                        ensure("Name or service not known" in r.err or r.out == "403\n", f"{who}: {name}", r)
                    else:
                        same(r.out, f"{status}\n", f"{who}: {name}", r)
                arrived = {e["host"] for e in net.seen("http")}
                same(arrived, {name} if status == "200" else set(), f"what arrived for {name}")


@test(users=["root"], timeout=60, unwrapped=True)
def private_addresses_need_an_exception():
    sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../api"))
    from internet import Internet

    code = "import urllib.request as u; print(u.urlopen('http://private.example/x', timeout=5).status)"
    with Internet() as net:
        words = ("run", "--network", "standard", "--allow", "private.example")
        r = cella((*words, "--allow-private", "10.1.2.0/24", "python3", "-c", code))
        same(r.out, "200\n", "with the exception", r)
        r = cella(("run", "--network", "elevated", "--block", "ok.example", "python3", "-c", code.replace("private.", "ok.")))
        ensure(r.rc != 0 and "403" in r.err, "blocked, in tier elevated", r)
        same({e["host"] for e in net.seen("http")}, {"private.example"}, "what arrived")


NONE = [{"kind": "network", "target": "any address", "detail": "no network in tier 'restricted'"}]
ATTEMPTS = ("socket.create_connection(('192.0.2.1', 80), 5)", "socket.getaddrinfo('example.org', 80)", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))")


@test
def an_attempt_without_a_network_is_a_violation_with_a_hint():
    for code in ATTEMPTS:
        result, r = run_json("python3", "-c", f"import socket; {code}")
        same((r.rc, result["violations"]), (1, NONE), code, r)
        ensure("no network" in result["hint"] and "network.tier" in result["hint"] and "--network" in result["hint"], f"the hint: {result['hint']}", r)
        result, r = run_json("python3", "-c", f"import socket\ntry: {code}\nexcept OSError: pass")
        same((r.rc, result["violations"], result["hint"]), (0, [], None), f"code that copes with it: {code}", r)
    r = run("python3", "-c", f"import socket; {ATTEMPTS[0]}")
    ensure("cella: refused: network any address: no network" in r.err and "cella: hint: network: " in r.err, "standard error", r)


@test
def loopback_is_no_attempt():
    for code in ("socket.create_connection(('127.0.0.1', 9), 5)", "socket.create_connection(('localhost', 9), 5)", "sys.exit(1)"):
        result, r = run_json("python3", "-c", f"import socket, sys; {code}")
        same((r.rc, result["violations"], result["hint"]), (1, [], None), code, r)
