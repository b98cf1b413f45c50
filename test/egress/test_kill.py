"""kill -9 of the egress process, while code probes without a pause: open connections are closed at once, no forbidden
one is ever opened, and the daemon's next process serves the same sandboxes by the same rules."""

import json
import os
import signal
import subprocess
import threading
import time

import support
from product import Daemon, Internet, ensure, network_options
from support import same, test, until

NETWORK = {"tier": "standard", "allowed_domains": ["ok.example"]}

# An allowed name, others, an address, a datagram and a lookup, over and over: one line for each time that it was otherwise than before.
# Arguments: for how many seconds; and, if it is to end earlier, how many seconds after the allowed name stopped working.
PROBE = """
import json, socket, sys, time, urllib.request, urllib.error
def http(address, host):
    with socket.create_connection((address, 80), 5) as s:
        s.sendall(f"GET /{host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode())
        return s.recv(100)[9:12].decode() or "closed"
def hello(address):
    with socket.create_connection((address, 443), 5) as s:
        s.sendall(b"GET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n")
        return s.recv(100)[9:12].decode() or "closed"
def raw(address, port):
    with socket.create_connection((address, port), 5) as s:
        return "reached" if s.recv(10) else "closed"
def datagram(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"x", (address, 7000))
        return "sent"
def lookup(name):
    return socket.gethostbyname(name) and "found"
tries = {
    "ok": lambda: http("93.184.216.66", "ok.example"), "evil": lambda: http("93.184.216.66", "evil.example"), "evil 443": lambda: hello("93.184.216.66"),
    "raw": lambda: raw("93.184.216.66", 7001), "metadata": lambda: http("169.254.169.254", "169.254.169.254"), "datagram": lambda: datagram("93.184.216.66"),
    "lookup": lambda: lookup("evil.example"),
}
last, n, slowest = {}, 0, 0
end = time.time() + float(sys.argv[1])
while time.time() < end:
    for name, f in tries.items():
        begun = time.time()
        try: outcome = f()
        except OSError as e: outcome = type(e).__name__
        n, slowest = n + 1, max(slowest, time.time() - begun)
        if last.get(name) != outcome:
            if last.get(name) == "200" and sys.argv[2:]: end = time.time() + float(sys.argv[2])
            last[name] = outcome
            print(json.dumps([begun, name, outcome]), flush=True)
print(json.dumps(["end", n, slowest]))
"""
# Holds a connection open and says when it is over.
HOLD = """
import socket, time
s = socket.create_connection(("93.184.216.66", 80), 5)
s.sendall(b"GET /slow/60 HTTP/1.1\\r\\nHost: ok.example\\r\\n\\r\\n")
s.recv(10)
print("open", flush=True)
try:
    while s.recv(1000): pass
except OSError: pass
print("closed", time.time(), flush=True)
"""


def outcomes(text):
    """Returns {name: set of outcomes}, the number of attempts, and the longest attempt."""
    lines = [json.loads(line) for line in text.splitlines()]
    same(lines[-1][0], "end", "the last line")
    found = {}
    for _, name, outcome in lines[:-1]:
        found.setdefault(name, []).append(outcome)
    return found, lines[-1][1], lines[-1][2]


CLOSED = {"closed", "ConnectionResetError", "ConnectionRefusedError", "BrokenPipeError", "403", "gaierror", "PermissionError"}


def nothing_was_open(net, found):
    for name, all_ in found.items():
        ensure(set(all_) <= (CLOSED | {"200"} if name == "ok" else CLOSED), f"{name}: {all_}")
    strange = [p for p in net.packets() if p not in ("udp 9.9.9.9 53", "tcp 93.184.216.10 80")]
    same(strange, [], "what else arrived")
    same({e["name"] for e in net.seen("dns")} - {"ok.example"}, set(), "what else was asked for")
    same({e["host"] for e in net.seen("http")}, {"ok.example"}, "who was asked")


@test(users=["root"], timeout=60)
def a_killed_egress_process_is_closed_and_replaced_by_the_daemon():
    with Internet() as net, Daemon({"network": NETWORK, "pools": []}, tcp=False) as d:
        results, box = [], d.sandbox()
        probes = [threading.Thread(target=lambda w=where: results.append(d.exec("python3", PROBE, args=["4"], **w))) for where in ({}, {"sandbox": box})]
        holder = d.sandbox()
        for t in probes:
            t.start()
        for turn in range(5):
            with d.events("POST", f"/v1/sandboxes/{holder}/exec", {"runtime": "python3", "code": HOLD}) as events:
                events.read_until("open")
                before = d.egress_pid()
                killed = time.time()
                os.kill(before, signal.SIGKILL)
                at = float(events.read_until("closed").split("closed")[1].split()[0])
                support.within(at - killed, 5, f"turn {turn}: until what was open was closed")
            until(lambda: d.egress_pid() not in (None, before), 20, "another egress process")
            r = d.exec("sh", "curl -sS -m 5 http://ok.example/again", sandbox=holder)
            ensure(r["exit_code"] == 0 and "ok.example" in r["stdout"], f"turn {turn}: a new connection: {r}")
            support.within(time.time() - killed, 10, f"turn {turn}: until a new connection works")
        for t in probes:
            t.join()
        for r in results:
            found, n, slowest = outcomes(r["stdout"])
            nothing_was_open(net, found)
            same(found["ok"][-1], "200", "in the end")
            support.within(slowest, 10, "the longest try")
            ensure(n > 20, f"only {n} tries")
            ensure(any(v["target"] == "evil.example:80" for v in r["violations"]), f"violations: {r['violations']}")


@test(users=["root"], timeout=40)
def a_killed_egress_process_of_cella_run_leaves_nothing_open():
    """`cella run` does not replace the process: the run has no network any more, and reports this."""
    with Internet() as net:
        for user in (None, "user"):
            net.forget()
            p = support.spawn("run", *network_options(NETWORK), "python3", "-c", PROBE, "15", "1.5", user=user, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            until(lambda: net.seen("http"), 20, "traffic")
            mine = [pid for pid, words in support.processes().items() if words[:1] == ["cella-egress"] and parent(pid) == p.pid]
            same(len(mine), 1, "egress processes")
            os.kill(mine[0], signal.SIGKILL)
            time.sleep(0.05)
            requests = len(net.seen("http"))
            packets = net.packets()
            out, err = p.communicate(timeout=20 * support.slack)
            same(p.returncode, 0, f"exit status ({err})")
            found, n, slowest = outcomes(out.decode())
            nothing_was_open(net, found)
            same((len(net.seen("http")), net.packets()), (requests, packets), "what arrived since")
            ensure(found["ok"][0] == "200" and found["ok"][-1] in CLOSED, f"ok: {found['ok']}")
            support.within(slowest, 10, "the longest try")
            ensure(n > 20 and b"the egress process has ended" in err, f"{n} tries; stderr: {err[:500]}")


def parent(pid):
    try:
        return int(support.read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[1])
    except OSError:
        return None
