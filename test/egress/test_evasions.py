"""Ways around the list of allowed names (evasions.py has them), by `cella run` and by the daemon: each is refused, at once, and
no packet reaches the other side, where every packet is counted."""

import contextlib
import json
import os
import socket
import threading
import time

import support
from evasions import EVIL, EVIL6, groups
from product import Daemon, Internet, ensure, network_options
from support import same, test, until

ALLOWED = {"tier": "standard", "allowed_domains": ["ok.example", "*.ok.example"]}
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "evasions.py")

# No packet may leave the sandbox.
STRICT = ["names", "tunnels", "server names", "addresses, evil", "addresses, metadata", "addresses, private", "addresses, here", "tls", "http",
          "http over IPv6", "proxy", "dns", "packets", "host"]  # fmt: skip
REFUSED = {"403", "alert", "closed", "ECONNRESET", "ECONNREFUSED", "EPIPE", "no such name", "no data", "format error", "not implemented", "EPERM", "EACCES",
           "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EINVAL", "ENETUNREACH", "ENODEV", "ENOENT", "EROFS", "failed", "only lo"}  # fmt: skip
# At least these refusals are reported, with a reason.
REPORTED = {
    "names": {"evil.example:80", "evil.example"}, "tunnels": {"evil.example:443"}, "server names": {"evil.example:443"}, "addresses, evil": {f"{EVIL}:80", f"{EVIL}:443", f"{EVIL}:22", f"[{EVIL6}]:80"},
    "addresses, metadata": {"169.254.169.254:80", "[fd00:ec2::254]:80"}, "addresses, private": {"10.1.2.3:80", "192.168.7.7:22"}, "addresses, here": {"127.0.0.1:80", "0.0.0.0:80", "[::1]:80"},
    "tls": {"evil.example:443"}, "http": {"evil.example:80"}, "http over IPv6": {"evil.example:80"}, "proxy": {"evil.example:80"}, "dns": {"c2vjcmv0.evil.example"},
    "packets": {f"{EVIL}:22", f"{EVIL}:7000"}, "host": {"evil.example:80"},
}  # fmt: skip
# Allowed names that resolve to forbidden addresses.
PRIVATE = {"private": ["10.1.2.3"], "lan": ["192.168.7.7"], "mixed": ["93.184.216.16", "10.1.2.3"], "loop": ["127.0.0.1"], "meta": ["169.254.169.254"], "meta6": ["fd00:ec2::254"], "nat64": ["64:ff9b::a9fe:a9fe"],
           "sixto4": ["2002:a9fe:a9fe::1"], "mapped": ["::ffff:10.1.2.3"], "compatible": ["::10.1.2.3"], "zero": ["0.0.0.0"], "ula": ["fd00:1::7"], "linklocal": ["fe80::1"], "cgnat": ["100.64.0.1"],
           "multicast": ["224.0.0.1"]}  # fmt: skip


class Traps:
    """Listeners of the host itself: no connection may arrive there."""

    def __init__(self):
        self.came = []
        for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            for port in (22, 80, 443, 3128):
                s = socket.socket(family)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                s.bind((address, port))
                self.serve(s, f"{address} {port}")
        s = socket.socket(socket.AF_UNIX)
        s.bind("\0cella-egress-test")
        self.serve(s, "abstract socket")

    def serve(self, s, what):
        s.listen(100)
        threading.Thread(target=self.take, args=(s, what), daemon=True).start()

    def take(self, s, what):
        while True:
            c, _ = s.accept()
            self.came.append(what)
            with contextlib.suppress(OSError), c:
                c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def try_by_run(network, *wanted, user=None, timeout=30, more=()):
    """([group, name, outcome, seconds]..., the result)"""
    script = support.write(os.path.join(support.home, "evasions.py"), support.read(SCRIPT), 0o644)
    r = support.cella(["run", "--json", "--timeout", f"{timeout}s", *network_options(network), *more, "python3", script, *wanted], user=user, timeout=timeout + 10).json()
    return read(r), r


def try_by_daemon(d, *wanted, **fields):
    r = d.exec("python3", support.read(SCRIPT), args=list(wanted), **fields)
    return read(r), r


def read(r):
    ensure(r["status"] == "exited" and r["exit_code"] == 0, f"the tries ended by themselves: {r}")
    return [json.loads(line) for line in r["stdout"].splitlines()]


def arrived(net):
    """The packets and requests that arrived outside, {} if there are none."""
    time.sleep(0.05)  # for packets in flight
    return {**net.packets(), **{f"seen {i}": e for i, e in enumerate(net.seen())}}


def all_refused(tries, n, allowed=REFUSED, seconds=2):
    same(len(tries), n, "how many were tried")
    for group, name, outcome, _ in tries:  # all of them before a missed deadline ends the test
        ensure(outcome in allowed or outcome == "TimeoutError", f"{group}, {name}: {outcome}")
    for group, name, outcome, took in tries:
        if outcome not in allowed:
            support.late(f"{group}, {name}: no answer")
        support.within(took, seconds, f"{group}, {name}")


def all_reported(r, group):
    targets = {v["target"] for v in r["violations"] if v["kind"] == "network"}
    if len(r["violations"]) < 64:
        ensure(REPORTED[group] <= targets, f"{group}: not reported: {REPORTED[group] - targets}: {r['violations']}")
    ensure(all(v["target"] and v["detail"] for v in r["violations"]), f"{group}: {r['violations']}")


def matrix_by_run(user):
    with Internet() as net:
        traps = Traps()
        for group in STRICT:
            net.forget()
            tries, r = try_by_run(ALLOWED, group, user=user)
            all_refused(tries, len(groups[group]))
            all_reported(r, group)
            same(arrived(net), {}, f"{group}: what arrived")
            same(r["usage"]["network"]["connections"], 0, f"{group}: connections")
        for group in ("packets", "host"):  # the code may be root inside
            tries, _ = try_by_run(ALLOWED, group, user=user, more=["--user", "root"])
            all_refused(tries, len(groups[group]))
        same(arrived(net), {}, "what arrived of one who is root inside")
        same(traps.came, [], "who came to the host itself")


@test(users=["root"], timeout=60)
def evasions_are_refused():
    matrix_by_run(None)


@test(users=["root"], timeout=60)
def evasions_by_an_ordinary_user_are_refused():
    matrix_by_run("user")


# Control: the same attempts succeed if everything is allowed.
OPEN = ["names: Host evil.example", "names: Host EVIL.Example", "names: Host evil.example.", "names: lookup of evil.example", "names: proxy for evil.example", "tunnels: CONNECT evil.example",
        "server names: server name evil.example", "addresses, evil: connect 93.184.216.66, port 80", "addresses, evil: connect 1572395074, TLS", "addresses, evil: connect 0x5db8d842, port 22",
        "addresses, evil: connect ::ffff:93.184.216.66, TLS", "addresses, evil: connect 2606:2800:220:1::66, port 80", "addresses, metadata: connect 169.254.169.254, port 80",
        "addresses, metadata: proxy for 169.254.169.254", "addresses, metadata: connect 2852039166, TLS", "addresses, private: connect 10.1.2.3, port 80", "addresses, private: CONNECT fd00:1::7",
        "addresses, here: proxy for 127.0.0.1", "addresses, here: CONNECT ::1", "addresses, here: proxy for 0.0.0.0", "tls: no server name", "tls: evil in records of 1 byte", "tls: evil in two records",
        "tls: evil, a byte at a time", "tls: ECH with evil outside", "http: Host", "http: Host, by fast open", "http over IPv6: Host", "http: a websocket", "http: h2c", "proxy: HTTP/1.0 without Host",
        "packets: raw TCP 22", "packets: raw TCP 7001", "packets: from 127.0.0.1", "packets: from evil's own address", "packets: by lo", "host: and then evil"]  # fmt: skip
EVERYTHING = {"tier": "elevated", "allowed_private": ["0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1", "169.254.169.254"]}


@test(users=["root"])
def evasions_arrive_where_everything_is_allowed():
    with Internet():
        traps = Traps()
        tries, _ = try_by_run(EVERYTHING, *OPEN)
        same(len(tries), len(OPEN), "how many were tried")
        same([t[:3] for t in tries if t[2] != "reached"], [], "what was not reached")
        ensure({"0.0.0.0 80", ":: 443"} <= set(traps.came), f"who came to the host itself: {traps.came}")


@test(users=["root"])
def private_addresses_stay_closed_in_tier_elevated():
    with Internet() as net:
        traps = Traps()
        for group in ("addresses, metadata", "addresses, private", "addresses, here"):
            tries, r = try_by_run({"tier": "elevated"}, group)
            all_refused(tries, len(groups[group]))
            all_reported(r, group)
            same(arrived(net), {}, f"{group}: what arrived")
        wanted = [f"{group}: {name}" for group in ("names", "tunnels", "server names") for name, _ in groups[group] if name.endswith(("localhost", "localhost."))]
        tries, _ = try_by_run({"tier": "elevated"}, *wanted)
        all_refused(tries, len(wanted), REFUSED | {"reached", "502"})  # a lookup of it is answered, with an address of ours
        same({t[2] for t in tries if "lookup" not in t[1]} & {"reached"}, set(), "what was reached")
        same(traps.came, [], "who came to the host itself")


@test(users=["root"])
def blocked_names_stay_closed_in_tier_elevated():
    """Blocked names in all spellings; and their addresses, if those are blocked, too."""
    wanted = [f"{group}: {name}" for group in ("names", "tunnels", "server names") for name, _ in groups[group]
              if name.lower().split(" ")[-1].rstrip(".") in ("evil.example", "dns.evil.example") and "allowed" not in name]  # fmt: skip
    wanted += [f"addresses, evil: {name}" for name, _ in groups["addresses, evil"]]
    with Internet() as net:
        tries, _ = try_by_run({"tier": "elevated", "blocked_domains": ["evil.example", "*.evil.example", EVIL, EVIL6]}, *wanted)
        all_refused(tries, len(wanted))
        same(arrived(net), {}, "what arrived")


@test(users=["root"])
def allowed_names_that_resolve_to_private_addresses_are_refused():
    network = {"tier": "standard", "allowed_domains": [n + ".example" for n in PRIVATE]}
    with Internet() as net:
        traps = Traps()
        for name, answers in PRIVATE.items():
            net.zone(name + ".example", *answers)
        tries, r = try_by_run(network, "private names")
        all_refused(tries, len(groups["private names"]), {"403", "alert"})
        details = {v["target"]: v["detail"] for v in r["violations"]}
        for name in PRIVATE:
            ensure("resolves to" in details.get(f"{name}.example:443", ""), f"{name}: {details}")
        ensure("metadata" in details["nat64.example:443"] and "metadata" in details["sixto4.example:443"], f"{details}")
        packets = arrived(net)
        same({p for p in packets if not p.startswith("seen")}, {"udp 9.9.9.9 53"}, "what arrived but questions to the resolver")
        same(traps.came, [], "who came to the host itself")


@test(users=["root"])
def a_name_that_changes_between_check_and_dial_changes_nothing():
    """The DNS answers alternate and have a TTL of 0."""
    code = """
import time, urllib.request as u, urllib.error
statuses, end = [], time.time() + 2.5
while time.time() < end:
    try: statuses.append(u.urlopen("http://rebind.example/x", timeout=3).status)
    except urllib.error.HTTPError as e: statuses.append(e.code)
    time.sleep(0.02)
print(*sorted(set(statuses)))
"""
    with Internet() as net:
        net.zone("rebind.example", *[["93.184.216.13"], ["10.1.2.3"]] * 20, ttl=0)
        r = support.run("--network", "standard", "--allow", "rebind.example", "python3", "-c", code)
        same(r.out, "200 403\n", "what it saw, in turn", r)
        same({e["to"] for e in net.seen("tcp")}, {"93.184.216.13"}, "who was dialled")
        ensure(not any("10.1.2.3" in p for p in net.packets()), f"what arrived: {net.packets()}")


def only_ok_example_was_reached(net, path="/first"):
    """Checks that all requests that arrived were for ok.example, and from us."""
    packets = arrived(net)
    strange = [p for p in packets if not p.startswith("seen") and p not in ("udp 9.9.9.9 53", "tcp 93.184.216.10 80", "tcp 93.184.216.10 443")]
    same(strange, [], "what else arrived")
    same({e["name"] for e in net.seen("dns")} - {"ok.example"}, set(), "what else was asked for")
    same({e["target"] for e in net.seen("http")} - {path}, set(), "what else was requested")


@test(users=["root"])
def bytes_after_or_beside_an_allowed_request_are_not_forwarded():
    with Internet() as net:
        tries, r = try_by_run(ALLOWED, "behind")
        all_refused(tries, len(groups["behind"]), {"reached"})
        only_ok_example_was_reached(net)
        same(({e["host"] for e in net.seen("http")}, len(net.seen("http"))), ({"ok.example"}, len(tries)), "one request each")
        ensure({"evil.example:80", "evil.example:443"} <= {v["target"] for v in r["violations"]}, f"violations: {r['violations']}")
        net.forget()
        tries, _ = try_by_run(ALLOWED, "fronting")
        all_refused(tries, len(groups["fronting"]), {"reached"})
        only_ok_example_was_reached(net)
        same({e["sni"] for e in net.seen("tcp")}, {"ok.example", None}, "server names")
        net.forget()
        tries, _ = try_by_run(ALLOWED, "tunnelled")
        all_refused(tries, len(groups["tunnelled"]))
        only_ok_example_was_reached(net)
        same(net.seen("http"), [], "requests")


@test(users=["root"])
def a_lookup_carries_nothing_but_its_name():
    """Capitals, options and other data in a query are not forwarded: the egress process sends its own query."""
    with Internet() as net:
        tries, _ = try_by_run(ALLOWED, "carried")
        same([t[2] for t in tries], ["reached"] * len(groups["carried"]), "what came of them")
        asked = {e["query"] for e in net.seen("dns")}
        same(len(asked), 2, f"how many different questions arrived: {asked}")  # A and AAAA
        ensure(all("026f6b076578616d706c6500" in q for q in asked), f"what arrived: {asked}")


@test(users=["root"], timeout=40, beside=True)
def slow_or_invalid_requests_are_refused():
    with Internet() as net:
        tries, _ = try_by_run(ALLOWED, "slow", "ignored")
        for group, name, outcome, took in tries:
            ensure(outcome in ("TimeoutError" if group == "ignored" else "ECONNRESET", "403", "closed", "alert"), f"{group}, {name}: {outcome}")
            if group != "ignored":
                ensure(took > 8, f"{name}: over after {took:.1f} s")
                support.within(took, 20, name)
        same(arrived(net), {}, "what arrived")


TRAFFIC = """
import time, urllib.request as u
end = time.time() + 60
n = 0
while time.time() < end:
    try: n += u.urlopen("http://ok.example/traffic", timeout=5).status == 200
    except OSError: pass
    if n == 1: print("traffic", flush=True)
    time.sleep(0.005)
"""


@test(users=["root"], timeout=90)
def evasions_are_refused_after_settings_change_under_traffic():
    """By the daemon: in a sandbox that was there before, in a new one, and in one from a pool."""
    with Internet() as net, Daemon({"network": ALLOWED, "pools": [{"runtime": "python3", "size": 1}]}, tcp=False) as d:
        traps = Traps()
        before = d.sandbox()
        all_refused(try_by_daemon(d, "names", sandbox=before)[0], len(groups["names"]))
        with contextlib.ExitStack() as stack:
            for _ in range(2):
                events = stack.enter_context(d.events("POST", "/v1/exec", {"runtime": "python3", "code": TRAFFIC}))
                events.read_until("traffic")
            for network in ({**EVERYTHING, "allowed_domains": []}, {"tier": "restricted"}, {"tier": "elevated", "blocked_domains": ["ok.example"]}):
                d.ok("PUT", "/v1/settings", {"network": network})
                time.sleep(0.1)
            d.ok("PUT", "/v1/settings", {"network": ALLOWED, "pools": [{"runtime": "python3", "size": 1}]})
            d.reload()
            time.sleep(0.1)
            net.forget()
            for where in ({"sandbox": before}, {"cwd": "/tmp"}, {}):
                for group in STRICT if where else ("server names", "http", "dns", "packets"):
                    tries, r = try_by_daemon(d, group, **where)
                    all_refused(tries, len(groups[group]), seconds=4)  # the server has other work
                    all_reported(r, group)
                    same(r["usage"]["network"]["connections"], 0, f"{group}: connections")
                    only_ok_example_was_reached(net, "/traffic")
                    net.forget()
            until(lambda: net.seen("http", host="ok.example"), 20, "traffic, all the while")
        same(traps.came, [], "who came to the host itself")
