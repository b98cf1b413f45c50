"""Network by tier, through the API: what settings, keys and requests allow, and the violations of what they refuse.

The internet is the test's own (internet.py); names and addresses in it are not used elsewhere."""

import json
import os
import re
import signal
import threading
import time

import support
from daemon import Daemon
from internet import AGAIN, RESOLVER, Internet
from support import ensure, same, test, until

NAMES = ["ok.example", "www.ok.example", "other.example", "evil.example"]
STANDARD = {"tier": "standard", "allowed_domains": ["ok.example", "*.ok.example"]}
NOTHING = {"connections": 0, "refused": 0, "bytes_sent": 0, "bytes_received": 0, "lookups": 0}
CLOSED = {"kind": "network", "detail": "not in allowed_domains"}

# Requests each URL of the arguments once; uses the proxies of the environment only with --proxy.
FETCH = """
import json, sys, urllib.request, urllib.error
urls = sys.argv[1:]
proxies = [] if "--proxy" in urls else [urllib.request.ProxyHandler({})]
opener = urllib.request.build_opener(*proxies)
def fetch(url):
    try:
        with opener.open(url, timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()
    except Exception as e:
        return type(e).__name__, str(e)
print(json.dumps({url: fetch(url) for url in urls if url != "--proxy"}))
"""


def fetch(d, urls, more=(), **fields):
    """{url: (status or the exception's name, answer)}, and the whole result."""
    r = d.exec("python3", FETCH, args=[*urls, *more], **fields)
    ensure(r["status"] == "exited" and r["exit_code"] == 0, f"the code failed: {r}")
    return json.loads(r["stdout"]), r


def reached(d, names=NAMES, **fields):
    """Returns the names that could be reached, and the whole result."""
    found, r = fetch(d, [f"http://{name}/" for name in names], **fields)
    for url, (status, answer) in found.items():
        if status == 200:
            same(answer["host"], url.split("/")[2], "the Host that the other side saw")
    return {url.split("/")[2] for url, (status, _) in found.items() if status == 200}, r


def value(d, name):
    """Returns a value of /metrics."""
    text = d.request("GET", "/metrics", unix=True).text
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
    ensure(found, f"no {name} in the metrics:\n{text}")
    return float(found[1])


# ---- settings ----

GOOD = [
    {"tier": "standard"}, {"tier": "unrestricted"}, {"allowed_domains": ["example.com", "*.example.com", "example.com:8080", "192.0.2.1", "192.0.2.1:22",
    "[2001:db8::1]:443", "2001:db8::1", "xn--bcher-kva.example", "EXAMPLE.com"]}, {"blocked_domains": ["a.example", "*.b.example:443"]},
    {"allowed_private": ["10.0.0.0/8", "fd00::/8", "db.lan.example:5432", "192.168.1.1"]}, {"connections": 1}, {"connections": 4096},
    {"bytes_per_execution": 1}, {"idle_timeout_ms": 100}, {"allowed_domains": [f"n{i}.example" for i in range(1000)]},
]  # fmt: skip
WRONG = [
    ({"allowed_domains": ["*"]}, ["network.allowed_domains[0]", "'*'"]), ({"allowed_domains": ["ok.example", "http://x.example/"]}, ["network.allowed_domains[1]", "URL"]),
    ({"allowed_domains": ["b\u00fccher.example"]}, ["network.allowed_domains[0]", "xn--"]), ({"allowed_domains": ["a..example"]}, ["network.allowed_domains[0]"]),
    ({"allowed_domains": ["10.0.0.0/8"]}, ["network.allowed_domains[0]", "allowed_private"]), ({"allowed_domains": ["a.example:0"]}, ["network.allowed_domains[0]"]),
    ({"allowed_domains": ["a.example:99999"]}, ["network.allowed_domains[0]"]), ({"allowed_domains": ["0x7f.1"]}, ["network.allowed_domains[0]"]),
    ({"allowed_domains": ["a.*.example"]}, ["network.allowed_domains[0]"]), ({"allowed_domains": ["evil\x00.ok.example"]}, ["network.allowed_domains[0]"]),
    ({"allowed_domains": [""]}, ["network.allowed_domains[0]"]), ({"allowed_domains": ["a.example "]}, ["network.allowed_domains[0]"]),
    ({"blocked_domains": ["*."]}, ["network.blocked_domains[0]"]), ({"allowed_private": ["10.0.0.1/8"]}, ["network.allowed_private[0]"]),
    ({"allowed_private": ["10.0.0.0/33"]}, ["network.allowed_private[0]"]), ({"connections": 0}, ["network.connections"]), ({"connections": 5000}, ["network.connections"]),
    ({"bytes_per_execution": 0}, ["network.bytes_per_execution"]), ({"idle_timeout_ms": 1}, ["network.idle_timeout_ms"]), ({"idle_timeout_ms": "1s"}, ["network.idle_timeout_ms"]),
    ({"allowed_domains": ["a.example"] * 1001}, ["network.allowed_domains"]), ({"blocked_domains": ["a.example"] * 901}, ["network.blocked_domains"]),
    ({"allowed_domains": [f"{'x' * 60}.{'y' * 60}.n{i}.example" for i in range(600)]}, ["network", "bytes"]), ({"tiers": "x"}, ["tiers"]),
]  # fmt: skip


@test
def network_settings_are_checked(d):
    s = d.get("/v1/settings")["network"]
    same(s, {"tier": "restricted", "allowed_domains": [], "blocked_domains": [], "allowed_private": [], "connections": 256,
             "bytes_per_execution": 1 << 30, "idle_timeout_ms": 60000}, "the defaults")  # fmt: skip
    for body in GOOD:
        got = d.ok("PUT", "/v1/settings", {"network": body})["network"]
        same({k: got[k] for k in body}, body, "what was set")
    before = d.get("/v1/settings")
    for body, parts in WRONG:
        d.refused("invalid_request", "PATCH", "/v1/settings", {"network": body}, parts)
        d.refused("invalid_request", "PUT", "/v1/settings", {"network": body}, parts)
    same(d.get("/v1/settings"), before, "the settings afterwards")


@test(settings={"network": {"tier": "elevated"}, "pools": []})
def the_network_of_a_request_is_checked(d):
    code = {"runtime": "sh", "code": "echo x"}
    for body, parts in WRONG:
        name = next(iter(body))
        if name in ("allowed_domains", "blocked_domains") and len(body[name]) < 900:
            for target, more in (("/v1/exec", code), ("/v1/sandboxes", {})):
                d.refused("invalid_request", "POST", target, {**more, "network": body}, parts)
    for body, parts in (({"allowed_private": ["10.0.0.0/8"]}, ["allowed_private"]), ({"connections": 5}, ["connections"]),
                        ({"tier": "elevated", "allowed_domains": ["a.example"]}, ["network.allowed_domains", "elevated"]),
                        ({"blocked_domains": ["a.example"] * 101}, ["network.blocked_domains"])):  # fmt: skip
        d.refused("invalid_request", "POST", "/v1/exec", {**code, "network": body}, parts)
    same(d.exec("sh", "echo x", network={"tier": "elevated", "allowed_domains": [], "blocked_domains": []})["stdout"], "x\n", "empty lists")
    same(d.exec("sh", "echo x", network={})["stdout"], "x\n", "an empty object")


# ---- narrowing ----

ELEVATED = {"tier": "elevated", "blocked_domains": ["evil.example"], "allowed_domains": ["ok.example"]}
# (settings, the key's tier or None for the owner, the request's network, the reachable hosts, or (kind, part of the message))
NARROW = [
    ({"tier": "restricted"}, None, None, None),
    (STANDARD, None, None, {"ok.example", "www.ok.example"}),
    (STANDARD, None, {"tier": "standard"}, {"ok.example", "www.ok.example"}),
    (STANDARD, None, {"tier": "restricted"}, None),
    (STANDARD, None, {"tier": "sandbox", "allowed_domains": ["ok.example"]}, None),
    (STANDARD, None, {"allowed_domains": ["ok.example"]}, {"ok.example"}),
    (STANDARD, None, {"allowed_domains": ["*.ok.example"]}, {"www.ok.example"}),
    (STANDARD, None, {"allowed_domains": ["other.example", "evil.example"]}, set()),
    (STANDARD, None, {"allowed_domains": []}, set()),
    (STANDARD, None, {"blocked_domains": ["WWW.ok.example"]}, {"ok.example"}),
    (STANDARD, None, {"allowed_domains": ["ok.example"], "blocked_domains": ["ok.example"]}, set()),
    (STANDARD, None, {"tier": "elevated"}, ("access_denied", "the settings allow standard")),
    (STANDARD, "elevated", None, {"ok.example", "www.ok.example"}),
    (STANDARD, "elevated", {"tier": "elevated"}, ("access_denied", "the settings allow standard")),
    (STANDARD, "standard", None, {"ok.example", "www.ok.example"}),
    (STANDARD, "restricted", None, None),
    (STANDARD, "restricted", {"tier": "standard"}, ("access_denied", "network.tier standard")),
    (STANDARD, "restricted", {"allowed_domains": ["ok.example"]}, ("access_denied", "network.allowed_domains")),
    ({"tier": "standard"}, None, None, set()),
    (ELEVATED, None, None, {"ok.example", "www.ok.example", "other.example"}),
    (ELEVATED, None, {"tier": "unrestricted"}, {"ok.example", "www.ok.example", "other.example"}),
    (ELEVATED, None, {"tier": "standard"}, {"ok.example"}),
    (ELEVATED, None, {"tier": "standard", "allowed_domains": ["other.example", "evil.example"]}, {"other.example"}),
    (ELEVATED, None, {"allowed_domains": ["other.example"]}, {"other.example"}),
    (ELEVATED, None, {"blocked_domains": ["*.ok.example"]}, {"ok.example", "other.example"}),
    (ELEVATED, "standard", None, {"ok.example"}),
    (ELEVATED, "standard", {"allowed_domains": ["other.example"]}, {"other.example"}),
    (ELEVATED, "standard", {"tier": "elevated"}, ("access_denied", "network.tier elevated")),
    (ELEVATED, "restricted", None, None),
    ({"tier": "restricted"}, "elevated", {"tier": "standard"}, ("access_denied", "the settings allow restricted")),
    ({"tier": "restricted"}, None, {"allowed_domains": ["ok.example"]}, ("access_denied", "network.allowed_domains")),
]  # fmt: skip


@test(users=["root"], timeout=120)
def a_request_only_narrows():
    """The settings' tier and lists, the key's tier, the request's own: the table."""
    with Internet() as net, Daemon({"pools": []}) as d:
        keys = {tier: d.new_key(tier, tier=tier)["key"] for tier in ("restricted", "standard", "elevated")}
        for settings, key, asked, expected in NARROW:
            what = f"settings {settings}, key {key}, request {asked}: what"
            d.ok("PUT", "/v1/settings", {"network": settings, "pools": []}, unix=True)
            who = {"unix": True} if key is None else {"key": keys[key]}
            fields = {} if asked is None else {"network": asked}
            if isinstance(expected, tuple):
                d.refused(expected[0], "POST", "/v1/exec", {"runtime": "sh", "code": "x", **fields}, expected[1], **who)
                d.refused(expected[0], "POST", "/v1/sandboxes", fields, expected[1], **who)
                continue
            net.forget()
            got, r = reached(d, **who, **fields)
            same(got, expected or set(), what)
            same("network" in r["usage"], expected is not None, f"{what} has usage")
            same({e["host"] for e in net.seen("http")}, expected or set(), f"{what} the other side saw")
            sandbox = d.post("/v1/sandboxes", fields, 201, **who)
            tier = "restricted" if expected is None else "elevated" if settings is ELEVATED and got == {"ok.example", "www.ok.example", "other.example"} else "standard"
            if not (asked and "blocked_domains" in asked):
                same(sandbox["network"]["tier"], tier, f"{what} the sandbox has as its tier")


@test(users=["root"])
def private_addresses_must_be_listed():
    names = ["private.example", "mixed.example", "meta.example", "loop.example", "lan.example"]
    with Internet() as net, Daemon({"network": {"tier": "elevated"}}) as d:
        got, r = reached(d, names)
        same(got, set(), "without a list")
        ensure(any("10.1.2.3" in v["detail"] and "private" in v["detail"] for v in r["violations"]), f"violations: {r['violations']}")
        ensure(any("metadata" in v["detail"] for v in r["violations"]), f"violations: {r['violations']}")
        same(net.seen("tcp"), [], "what the other side saw")
        d.ok("PATCH", "/v1/settings", {"network": {"allowed_private": ["10.0.0.0/8", "lan.example"]}})
        same(reached(d, names)[0], {"private.example", "mixed.example", "lan.example"}, "with one")
        d.ok("PATCH", "/v1/settings", {"network": {"tier": "standard"}})
        same(reached(d, names)[0], set(), "it allows nothing by itself")


# ---- violations ----


@test(users=["root"])
def refusals_are_in_the_result_the_log_and_the_metrics():
    with Internet() as net, Daemon({"network": STANDARD}) as d:
        found, r = fetch(d, ["http://ok.example/a", "http://evil.example/b"], ["--proxy"])
        same(found["http://ok.example/a"][0], 200, "an allowed name")
        same(found["http://evil.example/b"][0], 403, "a refused one")
        ensure("evil.example" in found["http://evil.example/b"][1] and "not in allowed_domains" in found["http://evil.example/b"][1], f"the 403 says {found}")
        same(r["violations"], [{**CLOSED, "target": "evil.example:80"}], "violations")
        usage = r["usage"]["network"]
        same(sorted(usage), ["bytes_received", "bytes_sent", "connections", "lookups", "refused"], "usage.network")
        ensure(usage["refused"] == 1 and usage["connections"] >= 1 and usage["bytes_sent"] > 0 and usage["bytes_received"] > 100, f"usage: {usage}")
        row = d.get(f"/v1/executions/{r['id']}")
        same(row["violations"], r["violations"], "violations in the log")
        same(value(d, 'cella_violations_total{kind="network"}'), 1, "the metric")
        same(value(d, "cella_egress_connected"), 1, "the egress process")
        r = d.exec("sh", "getent hosts evil.example; getent hosts evil.example")
        same([v["target"].split(":")[0] for v in r["violations"]], ["evil.example"], "a lookup, reported once")
        same(net.seen("dns", name="evil.example"), [], "what the resolver was asked")
        r = d.exec("sh", "echo hi", network={"tier": "restricted"})
        ensure("network" not in r["usage"] and r["violations"] == [], f"without a network: {r}")


@test(users=["root"])
def violations_are_sent_as_they_happen():
    code = FETCH + "\nimport time\ntime.sleep(30)\n"
    with Internet(), Daemon({"network": STANDARD}) as d:
        for body in ({"runtime": "python3", "code": code, "args": ["http://evil.example/"]},
                     {"runtime": "python3", "code": code, "args": ["http://evil.example/"], "cwd": "/tmp"}):  # fmt: skip
            with d.events("POST", "/v1/exec", body) as events:
                same(next(events)[0], "start", "the first event")
                begun = time.monotonic()
                v = events.wait("violation")
                same((v["kind"], v["target"].split(":")[0], v["detail"]), ("network", "evil.example", "not in allowed_domains"), "the event")
                support.within(time.monotonic() - begun, 10, "the event")
        with d.events("POST", "/v1/exec", {"runtime": "sh", "code": "getent hosts evil.example; exit 3"}) as events:
            end = events.wait("exit")
            same((end["exit_code"], len(end["violations"])), (3, 1), "the last event")


@test(users=["root"])
def the_number_of_reported_violations_is_bounded():
    code = "import socket\nfor i in range(200):\n    try: socket.getaddrinfo(f'x{i}.evil.example', 80)\n    except OSError: pass\n"
    with Internet(), Daemon({"network": STANDARD}) as d:
        r = d.exec("python3", code)
        same(len(r["violations"]), 64, "violations in the result")
        last = r["violations"][-1]
        more = int(last["detail"].split()[0])
        ensure("more" in last["detail"] and more >= 200 - 63, f"the last one says {last}")
        same(len(d.get(f"/v1/executions/{r['id']}")["violations"]), 64, "in the log")
        with d.events("POST", "/v1/exec", {"runtime": "python3", "code": code}) as events:
            reported_events = [data for name, data in events if name == "violation"]
        same(len(reported_events), 64, "events")
        ensure("more" in reported_events[-1]["detail"], f"the last event is {reported_events[-1]}")
        same(d.exec("sh", "echo fine")["violations"], [], "the next one's")


@test(users=["root"])
def network_usage_of_a_context_is_in_its_runs():
    with Internet(), Daemon({"network": STANDARD}) as d:
        s = d.sandbox()
        target = f"/v1/sandboxes/{s}/contexts"
        for runtime, ok, bad in (("python3", "import urllib.request as u; u.urlopen('http://ok.example/').status", "u.urlopen('http://evil.example/')"),
                                 ("bash", "curl -sf http://ok.example/ && echo 200", "curl -sf http://evil.example/")):  # fmt: skip
            c = d.post(target, {"runtime": runtime}, 201)["id"]
            r = d.post(f"{target}/{c}/run", {"code": ok})
            ensure("200" in r["stdout"] + json.dumps(r["results"]), f"{runtime}: {r}")
            same((r["violations"], r["usage"]["network"]["connections"], r["usage"]["network"]["refused"]), ([], 1, 0), f"{runtime}: an allowed one")
            r = d.post(f"{target}/{c}/run", {"code": bad})
            same([v["target"] for v in r["violations"]], ["evil.example:80"], f"{runtime}: a refused one")
            with d.events("POST", f"{target}/{c}/run", {"code": bad}) as events:
                same(events.wait("violation")["target"], "evil.example:80", f"{runtime}: the event")
                events.wait("exit")
            r = d.post(f"{target}/{c}/run", {"code": "1"})
            same((r["violations"], r["usage"]["network"]["refused"]), ([], 0), f"{runtime}: the run after it")


@test(users=["root"])
def survived_limits_and_refused_calls_are_reported(d):
    fork = "import os, time\nfor i in range(40):\n    try:\n        if os.fork() == 0: time.sleep(5); os._exit(0)\n    except OSError: pass\nos._exit(0)\n"
    r = d.exec("python3", fork, limits={"processes": 10})
    v = [v for v in r["violations"] if v["target"] == "processes"]
    ensure(r["status"] == "exited" and len(v) == 1 and v[0]["kind"] == "limit", f"forks: {r}")
    ensure(re.fullmatch(r"\d+ forks were refused: at most 10 processes", v[0]["detail"]), f"it says {v}")
    r = d.exec("sh", "head -c 100M /dev/zero > big 2>/dev/null; exit 0", limits={"disk_bytes": 1 << 20})
    same([(v["kind"], v["target"]) for v in r["violations"]], [("limit", "disk")], "a full disk")
    r = d.exec("sh", "head -c 100M /dev/zero > big; exit 1", limits={"disk_bytes": 1 << 20})
    same((r["status"], r["violations"]), ("disk_limit", []), "one that was not survived is the status")
    r = d.exec("sh", "python3 -c 'x = bytearray(200 << 20)'; exit 0", limits={"memory_bytes": 64 << 20})
    same([(v["kind"], v["target"]) for v in r["violations"]], [("limit", "memory")], f"a child that was killed: {r}")
    ensure(value(d, 'cella_violations_total{kind="limit"}') == 3, "the metric")


@test(users=["root"])
def bytes_and_connections_have_limits():
    big = "import urllib.request as u\ntry: print(len(u.urlopen('http://ok.example/bytes/3000000').read()))\nexcept Exception as e: print(type(e).__name__)\n"
    many = """
import socket
kept, answers = [], []
for i in range(9):
    try:
        s = socket.create_connection(("ok.example", 7000), 5)
        kept.append(s)
        s.send(b"x")
        answers.append(s.recv(1))
    except OSError:
        pass
print(answers.count(b"x"))
"""
    with Internet(), Daemon({"network": {"tier": "standard", "allowed_domains": ["ok.example", "ok.example:7000"], "bytes_per_execution": 1000000, "connections": 4}}) as d:
        r = d.exec("python3", big)
        ensure(r["stdout"].strip() != "3000000", f"all of it came: {r}")
        same([v["kind"] for v in r["violations"]], ["limit"], f"the limit on bytes: {r['violations']}")
        ensure(r["usage"]["network"]["bytes_received"] <= 1100000, f"usage: {r['usage']}")
        r = d.exec("python3", many)
        same((r["stdout"], {v["kind"] for v in r["violations"]}), ("4\n", {"limit"}), f"the limit on connections: {r}")
        s = d.sandbox()
        for _ in range(3):
            r = d.exec("python3", big.replace("3000000", "700000"), sandbox=s)
            same((r["stdout"], r["violations"]), ("700000\n", []), "bytes are each execution's own")


# ---- the egress process goes away ----


@test(users=["root"], timeout=60)
def the_network_is_closed_until_a_killed_egress_process_is_replaced():
    with Internet() as net, Daemon({"network": STANDARD}) as d:
        s = d.sandbox()
        for where in ({"sandbox": s}, {}):
            target = f"/v1/sandboxes/{s}/exec" if where else "/v1/exec"
            pid = d.egress_pid()
            with d.events("POST", target, {"runtime": "python3", "code": AGAIN}) as events:
                events.read_until("open")
                os.kill(pid, signal.SIGKILL)
                text, end = events.text()
                same((text.split()[0], end["exit_code"]), ("closed", 0), "a connection that was open")
                ensure("[b'200']" in text, f"a new one in the same sandbox: {text!r}")
            ensure(d.egress_pid() not in (None, pid), "another process")
        same(reached(d, sandbox=s)[0], {"ok.example", "www.ok.example"}, "the same sandbox, the same policy")
        same({e["host"] for e in net.seen("http")}, {"ok.example", "www.ok.example"}, "what the other side saw")
        same(value(d, "cella_egress_connected"), 1, "the metric")


@test(users=["root"], timeout=60)
def a_stopped_egress_process_delays_no_execution():
    with Internet(), Daemon({"network": STANDARD}) as d:
        s = d.sandbox()
        d.exec("sh", "true", sandbox=s)
        pid = d.egress_pid()
        os.kill(pid, signal.SIGSTOP)
        try:
            for where in ({}, {"sandbox": s}):
                begun = time.monotonic()
                same(d.exec("sh", "echo hi", **where)["usage"]["network"], NOTHING, "one that uses no network")
                support.within(time.monotonic() - begun, 5, "one that need not wait")
                begun = time.monotonic()
                r = d.exec("bash", "exec 3<>/dev/tcp/1.2.3.4/80; echo hi", **where)
                same((r["stdout"], r["usage"]["network"]), ("hi\n", None), "an execution")
                ensure(0.5 < time.monotonic() - begun, "it did not wait for a second")
                support.within(time.monotonic() - begun, 10, "one that waits")
            begun = time.monotonic()
            same(d.exec("sh", "echo hi", network={"tier": "restricted"})["stdout"], "hi\n", "one without a network")
            support.within(time.monotonic() - begun, 5, "one that need not wait")
        finally:
            os.kill(pid, signal.SIGCONT)
        until(lambda: d.exec("sh", "getent hosts ok.example", sandbox=s)["usage"]["network"], 20, "counts again")


@test(users=["root"], timeout=60)
def a_client_context_or_sandbox_may_end_while_traffic_is_counted():
    """The client, the context, the sandbox or the daemon ends while an execution waits for its traffic count."""
    with Internet(), Daemon({"network": STANDARD}) as d:
        s = d.sandbox()
        contexts = f"/v1/sandboxes/{s}/contexts"
        ids = [d.post(contexts, {"runtime": r}, 201)["id"] for r in ("python3", "bash", "bash", "python3")]

        def start(target, **body):
            d.request("POST", target, {"detach": True, **body})
            time.sleep(0.2)  # the code has ended, and the execution waits for its traffic count

        d.exec("sh", "getent hosts ok.example", sandbox=s)  # or there would be nothing to count
        os.kill(d.egress_pid(), signal.SIGSTOP)
        for id_ in ids:
            start(f"{contexts}/{id_}/run", code="1")
        d.delete(f"{contexts}/{ids[0]}")
        d.post(f"{contexts}/{ids[1]}/restart", {})
        start(f"/v1/sandboxes/{s}/exec", runtime="sh", code="true")
        with d.events("POST", f"/v1/sandboxes/{s}/exec", {"runtime": "sh", "code": "echo x"}) as events:
            events.wait("stdout")  # and its client disconnects
        start("/v1/exec", runtime="bash", code="exec 3<>/dev/tcp/1.2.3.4/80")
        start("/v1/exec", runtime="bash", code="exec 3<>/dev/tcp/1.2.3.4/80; sleep 9", timeout_ms=50)  # killed with its sandbox
        start(f"{contexts}/{ids[2]}/run", code="true")
        d.delete(f"/v1/sandboxes/{s}")
        d.ok("PATCH", "/v1/settings", {"network": {"tier": "restricted"}})
        until(lambda: not d.get("/v1/executions?status=running")["executions"], 20, "the end of all")
        same(len(d.rows()), 10, "rows in the log")
        d.ok("PATCH", "/v1/settings", {"network": STANDARD})
        start("/v1/exec", runtime="bash", code="exec 3<>/dev/tcp/1.2.3.4/80")
        d.stop()
        d.start()
        same(reached(d)[0], {"ok.example", "www.ok.example"}, "the next daemon")
        for _ in range(3):  # one death after the other
            dead = d.egress_pid()
            os.kill(dead, signal.SIGKILL)
            until(lambda: d.egress_pid() not in (None, dead), 20, "another one")
        d.ok("PATCH", "/v1/settings", {"network": {"allowed_domains": ["other.example"]}})
        same(reached(d)[0], {"other.example"}, "settings that changed meanwhile")


# ---- settings change ----


@test(users=["root"], timeout=60)
def settings_hold_for_sandboxes_that_are_there():
    with Internet(), Daemon({"network": STANDARD}) as d:
        plain, own, none = d.sandbox(), d.sandbox(network={"allowed_domains": ["ok.example", "other.example"]}), d.sandbox(network={"tier": "restricted"})

        def see():
            return [sorted(reached(d, sandbox=s)[0]) for s in (plain, own, none)]

        def tiers():
            return [d.get(f"/v1/sandboxes/{s}")["network"]["tier"] for s in (plain, own, none)]

        same(see(), [["ok.example", "www.ok.example"], ["ok.example"], []], "at first")
        d.ok("PATCH", "/v1/settings", {"network": {"allowed_domains": ["other.example"]}})
        same(see(), [["other.example"], ["other.example"], []], "with another list")
        d.ok("PATCH", "/v1/settings", {"network": {"blocked_domains": ["other.example"]}})
        same(see(), [[], [], []], "with a blocked name")
        d.ok("PATCH", "/v1/settings", {"network": {"tier": "elevated", "blocked_domains": [], "allowed_domains": ["www.ok.example"]}})
        same((see(), tiers()), ([["www.ok.example"], ["ok.example", "other.example"], []], ["standard", "standard", "restricted"]), "no tier above the one it was made with")
        d.ok("PATCH", "/v1/settings", {"network": {"tier": "restricted"}})
        same((see(), tiers()), ([[], [], []], ["restricted"] * 3), "with no network at all")
        r = d.exec("sh", "curl -s -m 5 -o /dev/null -w '%{http_code} %{time_total}' http://93.184.216.10/", sandbox=plain)
        ensure(r["stdout"].startswith("403") or r["exit_code"] not in (0, 28), f"it is refused at once: {r}")
        d.ok("PATCH", "/v1/settings", {"network": STANDARD})
        same(see(), [["ok.example", "www.ok.example"], ["ok.example"], []], "as before")


@test(users=["root"], timeout=90)
def settings_change_under_traffic():
    """Connections to a name that is no longer allowed are closed; no data passes in between."""
    hammer = """
import os, socket, time
while not os.path.exists('stop'):
    for name in ("ok.example", "other.example"):
        try:
            s = socket.create_connection((name, 80), 2); s.settimeout(2)
            s.sendall(f"GET /{time.time()} HTTP/1.1\\r\\nHost: {name}\\r\\nConnection: close\\r\\n\\r\\n".encode()); s.recv(10)
        except OSError: pass
"""
    slow = "import socket\ns = socket.create_connection(('other.example', 80), 5)\ns.sendall(b'GET /slow/60 HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n')\nprint('open', s.recv(10), flush=True)\ns.settimeout(30)\ntry:\n    while s.recv(100): pass\nexcept OSError: pass\nprint('closed', flush=True)\n"
    both, one = {"tier": "standard", "allowed_domains": ["ok.example", "other.example"]}, {"tier": "standard", "allowed_domains": ["ok.example"]}
    with Internet() as net, Daemon({"network": both}) as d:
        boxes = [d.sandbox() for _ in range(4)]
        threads = [threading.Thread(target=d.exec, args=("python3", hammer), kwargs={"sandbox": s}) for s in boxes]
        with d.events("POST", f"/v1/sandboxes/{boxes[0]}/exec", {"runtime": "python3", "code": slow}) as events:
            events.read_until("open")
            for t in threads:
                t.start()
            for turn in range(4):
                until(lambda: net.seen("http", host="other.example"), 20, "traffic to both")
                d.ok("PATCH", "/v1/settings", {"network": one})
                changed = time.time()

                def since(host, changed=changed):
                    """Requests that were sent after the change."""
                    return [e for e in net.seen("http", host=host) if re.match(r"/\d", e["target"]) and float(e["target"][1:]) > changed]

                until(lambda since=since: len(since("ok.example")) > 10, 20, "traffic after the change")
                same(since("other.example"), [], f"what got through, turn {turn}")
                net.forget()
                d.ok("PATCH", "/v1/settings", {"network": both})
            events.read_until("closed")
            for s in boxes:
                d.put(s, "stop", "")
        for t in threads:
            t.join()


# ---- many, and all ways to run something ----


@test(users=["root"], timeout=90)
def twenty_sandboxes_each_have_their_own_policy():
    with Internet() as net, Daemon({"network": {"tier": "elevated"}, "sandboxes": {"max": 60}}) as d:
        names = [f"n{i}.example" for i in range(20)]
        got, boxes = {}, [d.sandbox(network={"allowed_domains": [f"n{i}.example", "ok.example"]}) for i in range(20)]

        def one(i, pooled):
            where = {"network": {"allowed_domains": [f"n{i}.example", "ok.example"]}} if pooled else {"sandbox": boxes[i]}
            for _ in range(2):
                found, r = reached(d, [names[i], names[(i + 1) % 20], "ok.example", "evil.example"], **where)
                got.setdefault((i, pooled), []).append((found, {v["target"].split(":")[0] for v in r["violations"]}))

        threads = [threading.Thread(target=one, args=(i, pooled)) for i in range(20) for pooled in (False, True)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for i in range(20):
            for pooled in (False, True):
                same(got.get((i, pooled)), [({names[i], "ok.example"}, {names[(i + 1) % 20], "evil.example"})] * 2, f"sandbox {i}, {'pooled' if pooled else 'made'}")
        seen = [e["host"] for e in net.seen("http")]
        ensure(all(seen.count(n) == 4 for n in names) and seen.count("evil.example") == 0, f"what the other side saw: {seen}")


@test(users=["root"], timeout=60)
def every_way_to_run_code_has_the_network_of_its_tier():
    """Pooled, fresh, session, detached, in the background, in a terminal; a sandbox of the pool is used where it fits."""
    ask = "curl -s -o /dev/null -w '%{http_code}\\n' "
    with Internet() as net, Daemon({"network": STANDARD, "pools": [{"runtime": "python3", "size": 2}, {"runtime": "sh", "size": 2}, {"runtime": "node", "size": 1}]}) as d:
        until(lambda: all(p["available"] for p in d.get("/v1/pools")["pools"]), 20, "full pools")

        def hits():
            return sum(p["hits"] for p in d.get("/v1/pools")["pools"])

        before = hits()
        same(reached(d)[0], {"ok.example", "www.ok.example"}, "pooled python3")
        same(d.exec("sh", ask + "http://ok.example/ -o /dev/null http://evil.example/")["stdout"].split(), ["200", "403"], "pooled sh")
        r = d.exec("node", "require('http').get('http://ok.example/', a => console.log(a.statusCode))")
        same(r["stdout"], "200\n", f"pooled node: {r}")
        same(hits() - before, 3, "from the pools")
        until(lambda: all(p["available"] for p in d.get("/v1/pools")["pools"]), 20, "full pools")
        r = d.exec("sh", "cat /proc/net/route; echo $HTTP_PROXY", network={"tier": "restricted"})
        same((r["stdout"].strip().count("\n"), hits() - before), (0, 3), "one without a network is not from a pool")
        for runtime, code in (("sh", "env"), ("python3", "import os\nfor k, v in os.environ.items(): print(f'{k}={v}')"),
                              ("node", "for (const k in process.env) console.log(`${k}=${process.env[k]}`)")):  # fmt: skip
            variables = [{v for v in d.exec(runtime, code, **more)["stdout"].split() if "proxy" in v.lower()} for more in ({}, {"cwd": "/tmp"})]
            same(variables[0], variables[1], f"variables of the proxy in {runtime}, pooled and not")
            same(len(variables[0]), 6, f"how many: {variables[0]}")
            own = {v for v in d.exec(runtime, code, env={"http_proxy": "http://x:1"})["stdout"].split() if v.lower().startswith("http_proxy")}
            same(own, {"http_proxy=http://x:1"}, f"a proxy of one's own in {runtime}")
        same(d.exec("sh", ask + "http://ok.example/", cwd="/tmp")["stdout"], "200\n", "made for one")
        for _ in range(2):
            same(reached(d, session="s")[0], {"ok.example", "www.ok.example"}, "a session")
        id_ = d.post("/v1/exec", {"runtime": "sh", "code": ask + "http://ok.example/detached; getent hosts evil.example", "detach": True}, 202)["id"]
        until(lambda: d.get(f"/v1/executions/{id_}")["status"] != "running", 20, "the end of a detached one")
        same(len(d.get(f"/v1/executions/{id_}")["violations"]), 1, "its violations")
        same(len(net.seen("http", target="/detached")), 1, "its request")
        s = d.sandbox()
        p = d.post(f"/v1/sandboxes/{s}/processes", {"runtime": "sh", "code": ask + "http://ok.example/background; getent hosts evil.example; sleep 20"}, 201)["pid"]
        process = f"/v1/sandboxes/{s}/processes/{p}"
        with d.events("GET", process + "/output") as events:
            same(events.wait("violation")["target"].split(":")[0], "evil.example", "of one in the background")
        with d.websocket(f"/v1/sandboxes/{s}/terminal?command=sh&command=-c&command=" + "curl%20-s%20http%3A%2F%2Fok.example%2Fterminal%3B%20sleep%201") as w:
            w.read_until(b"/terminal")


@test(users=["root"])
def a_daemon_of_an_ordinary_user_has_the_tiers_too():
    os.chown(support.home, support.ordinary_uid, support.ordinary_uid)
    with Internet() as net, Daemon({"network": {**STANDARD, "allowed_domains": ["ok.example", "ok.example:7000"]}}, user="user") as d:
        same(reached(d)[0], {"ok.example"}, "HTTP")
        s = d.sandbox()
        for where in ({}, {"sandbox": s}):
            ask = "curl -s --cacert ca.pem -o /dev/null -w '%{http_code} ' "
            r = d.exec("sh", f"{ask} https://ok.example/; {ask} https://evil.example/; {ask} --noproxy '*' -m 5 --resolve evil.example:443:93.184.216.66 https://evil.example/",
                       files={"ca.pem": net.ca_text}, **where)  # fmt: skip
            same(r["stdout"], "200 000 000 ", f"HTTPS: {r}")
            same({v["target"] for v in r["violations"]}, {"evil.example:443"}, "its violations")
            raw = "import socket\ns = socket.create_connection(('ok.example', 7000), 5)\ns.send(b'hi')\nprint(s.recv(9))"
            same(d.exec("python3", raw, **where)["stdout"], "b'hi'\n", "raw TCP")
        same({e["to"] for e in net.seen("tcp")}, {"93.184.216.10"}, "whom the other side saw")


@test(users=["root"], timeout=60)
def an_execution_has_the_network_of_its_sandbox():
    with Internet(), Daemon({"network": STANDARD}) as d:
        s, own, none = d.sandbox(), d.sandbox(network={"allowed_domains": ["ok.example"]}), d.sandbox(network={"tier": "restricted"})
        shown = d.get(f"/v1/sandboxes/{own}")["network"]
        same(shown, {"tier": "standard", "allowed_domains": ["ok.example"]}, "what is shown of it")
        for sandbox, network in ((s, {"tier": "standard"}), (own, {"allowed_domains": ["ok.example"]}), (own, {"tier": "standard"}), (none, {"tier": "restricted"})):
            same(d.exec("sh", "echo x", sandbox=sandbox, network=network)["stdout"], "x\n", f"the same: {network}")
        for sandbox, network in ((s, {"tier": "restricted"}), (s, {"allowed_domains": ["ok.example"]}), (s, {"blocked_domains": ["ok.example"]}), (own, {"allowed_domains": []}),
                                 (none, {"tier": "standard"}), (own, {"tier": "elevated"})):  # fmt: skip
            for target in ("exec", "processes"):
                d.refused("invalid_request", "POST", f"/v1/sandboxes/{sandbox}/{target}", {"runtime": "sh", "code": "x", "network": network}, "network belongs to the sandbox")
        d.exec("sh", "true", session="a", network={"allowed_domains": ["ok.example"]})
        same(reached(d, session="a")[0], {"ok.example"}, "a session keeps what it began with")
        d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "x", "session": "a", "network": {"tier": "restricted"}}, "network belongs")
        d.restart()
        same(reached(d, session="a")[0], {"ok.example"}, "and after a restart")
        d.kill("both")
        d.start()
        same(reached(d, session="a")[0], {"ok.example"}, "and after a crash")


@test(users=["root"], timeout=60)
def parallel_executions_in_a_sandbox_have_their_own_counts():
    with Internet(), Daemon({"network": STANDARD}) as d:
        s = d.sandbox()
        long = {"runtime": "sh", "code": "for i in 1 2 3; do curl -s -o /dev/null http://ok.example/bytes/1000; sleep 2; done"}
        with d.events("POST", f"/v1/sandboxes/{s}/exec", long) as events:
            next(events)
            time.sleep(0.5)
            r = d.exec("sh", "curl -s -o /dev/null http://ok.example/bytes/50000", sandbox=s)
            ensure(50000 < r["usage"]["network"]["bytes_received"] < 53000, f"the short one: {r['usage']}")
            end = events.wait("exit")["usage"]["network"]
            ensure(end["connections"] == 4 and 53000 < end["bytes_received"] < 56000, f"the long one, with what went on beside it: {end}")
        r = d.exec("sh", "true", sandbox=s)["usage"]["network"]
        same(r, {"connections": 0, "refused": 0, "bytes_sent": 0, "bytes_received": 0, "lookups": 0}, "one that does nothing")


@test(users=["root"], timeout=60)
def traffic_just_before_the_end_is_counted():
    """The egress process is not asked about executions without traffic; these had some, a moment before their end."""
    lookup = r"printf '\0\1\1\0\0\1\0\0\0\0\0\0\4evil\7example\0\0\1\0\1' >/dev/udp/198.18.0.1/53"
    with Internet(), Daemon({"network": STANDARD}) as d:
        for i in range(40):
            for code, expected in (("exec 3<>/dev/tcp/1.2.3.4/81", {"refused": 1}), (lookup, {"refused": 1, "lookups": 1}), ("true", {})):
                r = d.exec("bash", code)
                same(r["usage"]["network"], {**NOTHING, **expected}, f"turn {i}, {code}")
                same(len(r["violations"]), len(expected) and 1, f"turn {i}, {code}: violations")


@test(users=["root"])
def names_are_resolved_as_the_host_says_now():
    with Internet(hosts="93.184.216.99 named.example\n") as net, Daemon({"network": {"tier": "standard", "allowed_domains": ["named.example", "ok.example"]}}) as d:
        same(reached(d, ["named.example"])[0], {"named.example"}, "a name of /etc/hosts")
        same(net.seen("dns", name="named.example"), [], "what the resolver was asked")
        s = d.sandbox()
        d.exec("sh", "true", sandbox=s)
        net.write("/etc/resolv.conf", "nameserver 93.184.216.250\noptions timeout:1 attempts:1\n")
        same(reached(d, ["ok.example"], sandbox=s)[0], set(), "with a resolver that is not there, in a sandbox that is")
        net.write("/etc/hosts", "93.184.216.99 ok.example\n")
        same(reached(d, ["ok.example"])[0], {"ok.example"}, "a name that was put into /etc/hosts")
        net.write("/etc/resolv.conf", f"nameserver {RESOLVER}\n")
        net.write("/etc/hosts", "127.0.0.1 localhost\n")
        same(reached(d, ["ok.example"], sandbox=s)[0], {"ok.example"}, "as before")
        same({e["to"] for e in net.seen("http", host="ok.example")}, {"93.184.216.99", "93.184.216.10"}, "whom it found")


@test(users=["root"], timeout=60)
def sandboxes_with_a_network_leave_no_descriptors():
    """Descriptors of the server, after many sandboxes with a network have come and gone."""
    with Internet(), Daemon({"network": STANDARD, "pools": [{"runtime": "sh", "size": 2}]}) as d:
        server = d.server_pid()

        def descriptors(pid):
            return len(os.listdir(f"/proc/{pid}/fd"))

        def settled():
            return all(p["available"] == 2 for p in d.get("/v1/pools")["pools"])

        d.exec("sh", "curl -s http://ok.example/")
        until(settled, 20, "a full pool")
        before = descriptors(server), descriptors(d.egress_pid()), descriptors(d.process.pid)
        for i in range(30):
            d.exec("sh", "curl -s -m 5 http://ok.example/; curl -s -m 5 http://evil.example/", **({"cwd": "/tmp"} if i % 2 else {}))
        s = d.sandbox()
        d.exec("sh", "curl -s http://ok.example/", sandbox=s)
        d.delete(f"/v1/sandboxes/{s}")
        until(settled, 20, "a full pool")
        until(lambda: max(a - b for a, b in zip((descriptors(server), descriptors(d.egress_pid()), descriptors(d.process.pid)), before)) <= 2, 5,
              "descriptors as before")  # fmt: skip


@test(users=["root"], timeout=60)
def the_command_line_sets_and_shows_the_network():
    with Internet(), Daemon({"network": STANDARD}) as d:
        def cella(*words, rc=0):
            r = support.cella([words[0], "--socket", d.unix, *words[1:]])
            same(r.rc, rc, "exit status", r)
            return r

        ask = "curl -s -o /dev/null -w '%{http_code} ' http://ok.example/ -o /dev/null http://www.ok.example/"
        same(cella("exec", "-", "--", "sh", "-c", ask).out, "200 200 ", "as the settings say")
        r = cella("exec", "--allow", "ok.example", "-", "--", "sh", "-c", ask)
        same(r.out, "200 403 ", "with --allow")
        ensure("cella: refused: network www.ok.example:80: not in allowed_domains" in r.err, f"standard error says {r.err!r}")
        same(cella("exec", "--block", "ok.example", "-", "--", "sh", "-c", ask).out, "403 200 ", "with --block")
        same(cella("exec", "--network", "restricted", "-", "--", "sh", "-c", ask, rc=6).out, "000 000 ", "with --network restricted")
        ensure("access denied" in cella("exec", "--network", "elevated", "-", "--", "true", rc=125).err, "with --network elevated")
        s = cella("create", "--network", "standard", "--allow", "*.ok.example").out.strip()
        same(d.get(f"/v1/sandboxes/{s}")["network"], {"tier": "standard", "allowed_domains": ["*.ok.example"]}, "create")
        cella("settings", "set", "network.allowed_domains", "other.example,*.example.org:8080")
        same(d.get("/v1/settings")["network"]["allowed_domains"], ["other.example", "*.example.org:8080"], "a list with commas")
        cella("settings", "set", "network.bytes_per_execution", "10M")
        same(d.get("/v1/settings")["network"]["bytes_per_execution"], 10 << 20, "a size")
        r = cella("settings", "set", "network.allowed_domains", "*", rc=2)
        ensure("network.allowed_domains[0]" in r.err, f"a pattern that is none: {r.err!r}")


NONE = [{"kind": "network", "target": "any address", "detail": "no network in tier 'restricted'"}]
REACHES = "import socket\nsocket.create_connection(('192.0.2.1', 80), 5)"


@test
def an_attempt_in_tier_restricted_is_a_violation_with_a_hint(d, s):
    copes = REACHES.replace("socket.create", "try: socket.create") + "\nexcept OSError: pass"
    for where in ({}, {"session": "s"}, {"sandbox": s}):
        for runtime, code in (("python3", REACHES), ("sh", "python3 -c \"import socket; socket.getaddrinfo('example.org', 80)\"")):
            r = d.exec(runtime, code, **where)
            same((r["exit_code"], r["violations"]), (1, NONE), f"{runtime} in {where}", r)
            ensure("network.tier" in r["hint"] and "network.allowed_domains" in r["hint"], "the hint", r)
            same(d.get(f"/v1/executions/{r['id']}")["violations"], NONE, "in the log")
        # An attempt that did no harm is not blamed on the next command of the same sandbox.
        for code, exit_code in ((copes, 0), ("raise SystemExit(3)", 3)):
            r = d.exec("python3", code, **where)
            same((r["exit_code"], r["violations"], r["hint"]), (exit_code, [], None), f"{code} in {where}", r)
    with d.events("POST", "/v1/exec", {"runtime": "python3", "code": REACHES}) as events:
        same(events.wait("violation"), NONE[0], "in the stream")
    r = d.ok("POST", "/v1/tools/execute_shell", {"command": f'python3 -c "{REACHES.replace(chr(10), ";")}"'})
    same((r["violations"], r["hint"][:8]), (NONE, "network:"), "of a tool")


@test
def an_attempt_of_a_run_in_a_context_is_a_violation_with_a_hint(d, s):
    copes = REACHES.replace("socket.create", "try: socket.create") + "\nexcept OSError: pass"
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    run = f"/v1/sandboxes/{s}/contexts/{c}/run"
    for _ in range(3):
        r = d.ok("POST", run, {"code": REACHES})
        same((r["error"]["name"], r["violations"]), ("OSError", NONE), "an attempt", r)
        ensure("network.tier" in r["hint"], "the hint", r)
        for code, name in ((copes, None), ("1 / 0", "ZeroDivisionError")):
            r = d.ok("POST", run, {"code": code})
            same((r["error"] and r["error"]["name"], r["violations"], r["hint"]), (name, [], None), code, r)
    # A shell has no exceptions.
    shell = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "bash"}, 201)["id"]
    for code, violations in (("exec 3<>/dev/tcp/192.0.2.1/80 || false", NONE), ("exec 3<>/dev/tcp/192.0.2.1/80; true", []), ("false", [])):
        r = d.ok("POST", f"/v1/sandboxes/{s}/contexts/{shell}/run", {"code": code})
        same((r["violations"], bool(r["hint"])), (violations, bool(violations)), code, r)
    r = d.ok("POST", "/v1/tools/execute_python", {"code": REACHES})
    same((r["violations"], r["hint"][:8]), (NONE, "network:"), "execute_python")
    # The context dies with its run.
    r = d.ok("POST", run, {"code": copes + "\nimport os; os.kill(os.getpid(), 9)"})
    same((r["status"], r["violations"]), ("signaled", NONE), "a death", r)


@test(settings={"mode": "off"})
def counters_of_the_host_are_not_the_codes(d):
    r = d.exec("python3", "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9)); raise SystemExit(1)")
    same((r["exit_code"], r["violations"]), (1, []), "on the host", r)
