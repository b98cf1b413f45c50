"""The network tiers in containers: the same way out as in a sandbox of our own, on every engine, and no other.

The internet is the test's own (test/api/internet.py)."""

import ctypes
import json
import os
import signal
import subprocess

import support
from fake import Fake
from internet import AGAIN, Internet
from place import NAMES, Place, need
from support import ensure, same, test, until

ENGINE = NAMES[-1]
libc = ctypes.CDLL(None, use_errno=True)
PR_CAPBSET_DROP, CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_SYS_ADMIN = 24, 10, 12, 21
STANDARD = {"tier": "standard", "allowed_domains": ["ok.example", "private.example"]}
NOT_ALLOWED = {"kind": "network", "target": "evil.example:80", "detail": "not in allowed_domains"}

# Prints the outcome for each URL: by the environment's proxy if it follows "--proxy", else dialled.
FETCH = """
import json, sys, urllib.request, urllib.error
direct, found = True, {}
for url in sys.argv[1:]:
    if url == "--proxy":
        direct = False
        continue
    try:
        with urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if direct else [])).open(url, timeout=10) as answer:
            found[url] = [answer.status, json.loads(answer.read())["host"]]
    except urllib.error.HTTPError as e:
        found[url] = [e.code, ""]
    except Exception as e:
        found[url] = [type(e).__name__, str(e)]
print(json.dumps(found))
"""


# Prints which of the listeners' ports can be had beside them, and what can be dialled but loopback.
PORTS = """
import errno, socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "198.18.0.1"), (socket.AF_INET6, "::"), (socket.AF_INET6, "::1")):
        for option in (None, socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            try: s = socket.socket(family, kind)
            except OSError: continue
            if option: s.setsockopt(socket.SOL_SOCKET, option, 1)
            try: s.bind((address, 1 if kind == socket.SOCK_STREAM else 53)); print("bound", kind, address, option)
            except OSError as e:
                if e.errno not in (errno.EACCES, errno.EADDRINUSE, errno.EADDRNOTAVAIL): print(e)
for port in (123, 443):
    try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("93.184.216.10", port)); print("sent", port)
    except OSError as e: print(errno.errorcode[e.errno])
print(open("/proc/sys/net/ipv4/ip_unprivileged_port_start").read().strip())
"""


def fetch(p, *urls, **more):
    """{url: [status or the exception's name, the Host that the other side saw]}, and the whole result."""
    r = p.exec("python3", "-c", FETCH, *urls, **more)
    ensure(r["status"] == "exited" and r["exit_code"] == 0, "the code failed", r)
    return json.loads(r["stdout"]), r


def case(f):
    """Registers the case for each engine; test/api/test_tiers.py has more cases for the native one."""
    for name in NAMES if f.__name__.startswith("tiers") else NAMES[1:]:

        def run(name=name):
            if name != "native":
                need(name)
            with Internet() as net, Place(name) as p:
                f(net, p)

        run.__doc__ = f.__doc__
        test(run, name=f"{f.__name__}_{name}", users=("root",), timeout=90)
    return f


@case
def tiers_are_the_same_on_every_engine(net, p):
    ok, evil, private = "http://ok.example/", "http://evil.example/", "http://private.example/"
    p.d.ok("PATCH", "/v1/settings", {"network": STANDARD}, unix=True)
    # As the image's user, who is not root in one of them; dialled, and by the proxy.
    for image in ("tiny:1", "app:1"):
        net.forget()
        found, r = fetch(p, ok, evil, private, "--proxy", "http://ok.example/p", image=image)
        same((found[ok], found["http://ok.example/p"]), ([200, "ok.example"],) * 2, f"an allowed name, {image}", r)
        ensure(found[evil][0] != 200 and found[private][0] != 200, "others are not reached", r)
        ensure([v for v in r["violations"] if v["target"].startswith("evil.example") and v["detail"] == NOT_ALLOWED["detail"]], "the refusal is reported", r)
        ensure([v for v in r["violations"] if "10.1.2.3" in v["detail"] and "private" in v["detail"]], "the private address is reported", r)
        usage = r["usage"]["network"]
        ensure(usage["connections"] == 2 and usage["refused"] >= 2 and usage["bytes_sent"] > 50 and usage["bytes_received"] > 100, f"usage {usage}", r)
        same({(e["host"], e["to"] == "10.1.2.3") for e in net.seen("http")}, {("ok.example", False)}, "what the other side saw")
    # Nothing but loopback, whatever is dialled; and the name server is ours, which code cannot change.
    r = p.sh("cat /etc/resolv.conf; wc -l < /proc/net/dev; echo x > /etc/resolv.conf || echo refused")
    ensure(p.name == "native" or r["stdout"] == "nameserver 198.18.0.1\n3\nrefused\n", "what the code sees", r)
    r = p.exec("python3", "-c", PORTS)
    same(r["stdout"], "EPERM\nEPERM\n1024\n", "ports that are taken, and datagrams", r)
    # The request takes it away, and the settings give more.
    found, r = fetch(p, ok, network={"tier": "restricted"})
    ensure(found[ok][0] != 200 and "network" not in r["usage"] and r["violations"] == [], "tier restricted", r)
    p.d.ok("PATCH", "/v1/settings", {"network": {"tier": "elevated"}}, unix=True)
    found, r = fetch(p, evil, private)
    same((found[evil][0], found[private][0] == 200), (200, False), "tier elevated", r)


@case
def a_killed_egress_process_is_replaced(net, p):
    p.d.ok("PATCH", "/v1/settings", {"network": STANDARD}, unix=True)
    sb = p.sandbox()
    pid = p.d.egress_pid()
    with p.d.events("POST", p.path(sb, "/exec"), {"command": ["python3", "-c", AGAIN]}) as events:
        events.read_until("open")
        os.kill(pid, signal.SIGKILL)
        text, end = events.text()
        same((text.split()[0], end["exit_code"]), ("closed", 0), "a connection that was open")
        ensure("[b'200']" in text, f"a new one in the same sandbox: {text!r}")
    until(lambda: p.d.egress_pid() not in (None, pid), 20, "another process")
    r = p.d.post(p.path(sb, "/exec"), {"command": ["python3", "-c", FETCH, "http://evil.example/"]})
    ensure(r["violations"], "the same policy", r)
    same({e["host"] for e in net.seen("http")}, {"ok.example"}, "what the other side saw")


def run(engine, *words, **kwargs):
    env = {**os.environ, "DOCKER_HOST": f"unix://{engine.socket}", "CELLA_STATE": support.here("state")}
    return support.cella(["run", "--engine", "docker", "--image", "tiny:1", *words], env=env, timeout=60, **kwargs)


@test(users=("root",), timeout=60)
def cella_run_has_the_tiers_too():
    engine, home = need(ENGINE), support.here("state-docker")
    with Internet() as net:
        r = run(engine, "--network", "standard", "--allow", "ok.example", "--json", "--", "python3", "-c", FETCH, "http://ok.example/", "--proxy", "http://evil.example/")
        said = json.loads(r.out)
        found = json.loads(said["stdout"])
        same((found["http://ok.example/"], found["http://evil.example/"][0]), ([200, "ok.example"], 403), "what it reached", r)
        same(said["violations"], [NOT_ALLOWED], "the refusal", r)
        ensure(said["usage"]["network"]["connections"] == 1 and said["usage"]["network"]["bytes_received"] > 100, "what was counted", r)
        same([e["host"] for e in net.seen("http")], ["ok.example"], "what the other side saw")
    same((engine.containers(home), os.listdir(home)), ([], []), "what is left")


@test(users=("root",), timeout=60)
def a_missing_capability_is_reported_and_leaves_nothing():
    """Takes away each of the three capabilities in turn."""
    engine, home = need(ENGINE), support.here("state-docker")
    for right in (CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_SYS_ADMIN):
        r = run(engine, "--network", "elevated", "--", "true", preexec_fn=lambda right=right: libc.prctl(PR_CAPBSET_DROP, right, 0, 0, 0))
        support.refused(r, 125, "net: ")
        ensure("native" in r.err and "root" in r.err, "the hint", r)
        same((engine.containers(home), os.listdir(home)), ([], []), "what is left")


class Relay(Fake):
    """A proxy to a real engine; change(document) modifies the requests for new containers."""

    def __init__(self, engine, change):
        self.engine, self.change = engine, change
        super().__init__({"": self.pass_on}, podman=engine.name == "podman")
        self.answers = {"": self.pass_on}

    def pass_on(self, handler):
        body = json.loads(handler.body) if handler.body else None
        if handler.path.startswith("/containers/create"):
            self.change(body)
        return self.engine.request(handler.command, handler.path, body)


@test(users=("root",), timeout=60)
def a_container_with_a_network_interface_is_refused():
    """The engine has put the container into a namespace with a network interface."""
    engine = need(ENGINE)
    status, said = engine.request("POST", "/containers/create", {"Image": "tiny:1", "Cmd": ["sleep", "600"], "HostConfig": {
        "NetworkMode": "none", "Ulimits": [{"Name": "nofile", "Soft": 1024, "Hard": 1024}, {"Name": "nproc", "Soft": 4096, "Hard": 4096}]}})  # fmt: skip
    same(status, 201, f"the container: {said}")
    other = json.loads(said)["Id"]

    def ip(words):
        subprocess.run(["nsenter", "-t", str(pid), "-n", "ip", *words.split()], check=True)

    def change(document):
        document["HostConfig"]["NetworkMode"] = f"container:{other}"
        for name in ("NetworkDisabled", "Hostname"):
            document.pop(name, None)
        document["HostConfig"].pop("Sysctls", None)

    try:
        engine.request("POST", f"/containers/{other}/start")
        pid = json.loads(engine.request("GET", f"/containers/{other}/json")[1])["State"]["Pid"]
        ip("link add test0 type veth peer name test1")
        with Relay(engine, change) as relay:
            where = {"env": {**os.environ, "DOCKER_HOST": f"unix://{relay.path}", "CELLA_STATE": support.here("state")}, "timeout": 60}
            words = ["run", "--engine", "docker", "--image", "tiny:1", "--network", "elevated", "--", "echo", "ran"]
            same(support.cella(words, **where).out, "ran\n", "while it is down it leads nowhere")
            ip("link set test0 up")
            support.refused(support.cella(words, **where), 125, "net: the container has an interface of its own: test")
        same(engine.containers(support.here("state-docker")), [], "what is left")
    finally:
        engine.request("DELETE", f"/containers/{other}?force=true")
