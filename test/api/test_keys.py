"""Permissions: keys, capabilities, limits, quotas; Host, Origin, other users."""

import os
import re
import subprocess

import support
from daemon import Daemon
from support import ensure, is_root, same, test, until

ALL = ["sandbox.exec", "sandbox.manage", "files", "images", "secrets", "settings", "audit", "monitor"]
CODE = {"runtime": "sh", "code": "echo x"}


@test
def keys_are_made_listed_used_and_removed(d):
    same(d.get("/v1/keys"), {"keys": []}, "keys")
    k = d.post("/v1/keys", {"name": "one", "capabilities": ["sandbox.exec"], "sandboxes_max": 3}, 201)
    ensure(re.fullmatch(r"cella_[A-Za-z0-9_-]{40,}", k["key"]), f"key is {k['key']}")
    d.refused("unauthorized", "POST", "/v1/exec", CODE)
    same(d.exec("sh", "echo x", key=k["key"])["stdout"], "x\n", "with the key")
    a = d.request("POST", "/v1/exec", CODE, headers={"X-API-Key": k["key"]})
    same(a.status, 200, "X-API-Key", a)
    listed = d.get("/v1/keys", unix=True)["keys"]
    same(([x["id"] for x in listed], [x["name"] for x in listed]), ([k["id"]], ["one"]), "the list")
    ensure(k["key"] not in str(listed) and "key" not in listed[0], "the list shows the secret")
    same((listed[0]["capabilities"], listed[0]["sandboxes_max"], listed[0]["tier"]), (["sandbox.exec"], 3, "restricted"), "the list")
    for name in os.listdir(d.state):
        path = os.path.join(d.state, name)
        if os.path.isfile(path):
            with open(path, "rb") as f:
                ensure(k["key"].encode() not in f.read(), f"{name} holds the secret")
    ensure(k["key"] not in d.log(), "the log holds the secret")
    d.restart()
    same(d.exec("sh", "echo x", key=k["key"])["stdout"], "x\n", "after a restart")
    same(d.request("DELETE", f"/v1/keys/{k['id']}", unix=True).status, 204, "remove")
    d.refused("unauthorized", "POST", "/v1/exec", CODE, key=k["key"])
    same(d.exec("sh", "echo x")["stdout"], "x\n", "without keys all is as before")
    d.refused("not_found", "DELETE", f"/v1/keys/{k['id']}")


@test
def bad_keys_are_not_made(d):
    for body, part in (({}, "name"), ({"name": ""}, "name"), ({"name": 7}, "name"), ({"name": "x", "capabilities": ["root"]}, "capabilities[0]"),
                       ({"name": "x", "capabilities": "files"}, "capabilities"), ({"name": "x", "tier": "high"}, "tier"),
                       ({"name": "x", "limits": {"colour": 1}}, "colour"), ({"name": "x", "sandboxes_max": 0}, "sandboxes_max"),
                       ({"name": "x", "key": "mine"}, "key")):  # fmt: skip
        d.refused("invalid_request", "POST", "/v1/keys", body, part)
    same(d.get("/v1/keys"), {"keys": []}, "keys")


@test
def wrong_keys_are_401(d):
    good = d.new_key()["key"]
    for headers in ({}, {"Authorization": "Bearer"}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {good}x"},
                    {"Authorization": f"Bearer {good[:-1]}"}, {"Authorization": f"Basic {good}"}, {"Authorization": good},
                    {"X-API-Key": "cella_wrong"}, {"X-API-Key": ""}):  # fmt: skip
        for method, target in (("POST", "/v1/exec"), ("GET", "/v1/sandboxes"), ("GET", "/v1/health"), ("GET", "/metrics"), ("GET", "/v1/executions")):
            a = d.refused("unauthorized", method, target, CODE if method == "POST" else None, headers=headers)
            ensure("WWW-Authenticate" in a.headers, "WWW-Authenticate", a)
    same((d.get("/healthz"), d.request("GET", "/openapi.json").status), ({"status": "ok"}, 200), "what is open")
    d.logged("key", "warning")
    ensure("cella_wrong" not in d.log(), "the log holds what was tried")
    d.refused("unauthorized", "POST", "/v1/exec", CODE, unix=True, headers={"X-API-Key": "wrong"})


@test
def each_capability_is_needed(d):
    s = d.post("/v1/sandboxes", {}, 201, unix=True)["id"]
    needs = [
        ("sandbox.exec", "POST", "/v1/exec", CODE), ("sandbox.exec", "POST", f"/v1/sandboxes/{s}/exec", CODE),
        ("sandbox.exec", "POST", f"/v1/sandboxes/{s}/processes", CODE), ("sandbox.exec", "GET", f"/v1/sandboxes/{s}/processes", None),
        ("sandbox.exec", "GET", f"/v1/sandboxes/{s}/terminal", None), ("sandbox.exec", "DELETE", "/v1/executions/exe_x", None),
        ("sandbox.manage", "POST", "/v1/sandboxes", {}), ("sandbox.manage", "DELETE", f"/v1/sandboxes/{s}", None),
        ("sandbox.manage", "POST", f"/v1/sandboxes/{s}/pause", None), ("sandbox.manage", "POST", f"/v1/sandboxes/{s}/resume", None),
        ("sandbox.manage", "POST", f"/v1/sandboxes/{s}/keepalive", {}),
        ("files", "GET", d.file(s, "x"), None), ("files", "PUT", d.file(s, "x"), b"x"), ("files", "DELETE", d.file(s, "x"), None),
        ("files", "POST", f"/v1/sandboxes/{s}/files/mkdir", {"path": "x"}), ("files", "POST", f"/v1/sandboxes/{s}/files/move", {"from": "x", "to": "y"}),
        ("files", "POST", f"/v1/sandboxes/{s}/files/stat", {"path": "x"}), ("files", "GET", f"/v1/sandboxes/{s}/archive?path=x", None),
        ("files", "PUT", f"/v1/sandboxes/{s}/archive?path=x", b""),
        ("settings", "GET", "/v1/settings", None), ("settings", "PUT", "/v1/settings", {}), ("settings", "PATCH", "/v1/settings", {}),
        ("settings", "GET", "/v1/keys", None), ("settings", "POST", "/v1/keys", {"name": "x"}), ("settings", "DELETE", "/v1/keys/key_x", None),
        ("audit", "GET", "/v1/executions/verify", None),
    ]  # fmt: skip
    for capability in {n[0] for n in needs}:
        key = d.new_key(capability, capabilities=[c for c in ALL if c != capability])["key"]
        for needed, method, target, body in needs:
            if needed == capability:
                d.refused("access_denied", method, target, body, f"access denied: {capability}", key=key)
    none = d.new_key("none", capabilities=[])["key"]
    for target in ("/v1/health", "/v1/sandboxes", "/v1/executions", "/v1/pools", "/metrics"):
        same(d.request("GET", target, key=none).status, 200, target)
    d.logged("access denied: sandbox.exec", "warning")
    same(d.get(f"/v1/sandboxes/{s}", unix=True)["state"], "running", "the sandbox afterwards")


@test(settings={"network": {"tier": "elevated"}})
def limits_and_tier_of_a_key_are_its_ceiling(d):
    key = d.new_key(limits={"timeout_ms": 5000, "output_bytes": 100, "disk_bytes": 1 << 20})["key"]
    for limits in ({"timeout_ms": 5001}, {"output_bytes": 101}, {"disk_bytes": 2 << 20}):
        name = next(iter(limits))
        d.refused("access_denied", "POST", "/v1/exec", {**CODE, "limits": limits}, f"access denied: limits.{name}", key=key)
        d.refused("access_denied", "POST", "/v1/sandboxes", {"limits": limits}, f"access denied: limits.{name}", key=key)
    d.refused("access_denied", "POST", "/v1/exec", {**CODE, "timeout_ms": 6000}, "timeout_ms", key=key)
    r = d.exec("sh", "yes | head -c 1000", key=key)
    same((r["status"], r["stdout_truncated"]), ("exited", True), "what is not asked for is its ceiling")
    s = d.post("/v1/sandboxes", {}, 201, key=key)
    same((s["limits"]["timeout_ms"], s["limits"]["disk_bytes"]), (5000, 1 << 20), "limits of a sandbox")
    for tier in ("standard", "elevated"):
        d.refused("access_denied", "POST", "/v1/exec", {**CODE, "network": {"tier": tier}}, "access denied: network.tier", key=key)
    standard = d.new_key(tier="standard")["key"]
    d.refused("access_denied", "POST", "/v1/exec", {**CODE, "network": {"tier": "elevated"}}, "network.tier", key=standard)
    same(d.exec("sh", "echo x", network={"tier": "standard"}, key=standard)["stdout"], "x\n", "the tier that it has")


@test
def the_quota_of_a_key_is_its_own(d):
    key = d.new_key(sandboxes_max=2)["key"]
    free = d.new_key()["key"]
    a, _ = d.sandbox(key=key), d.sandbox(key=key)
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"queue_timeout_ms": 200}}, unix=True)
    full = d.refused("over_capacity", "POST", "/v1/sandboxes", {}, key=key)
    ensure(int(full.headers["Retry-After"]) > 0, "Retry-After", full)
    d.refused("over_capacity", "POST", "/v1/exec", CODE, key=key)
    same(d.exec("sh", "echo in", a, key=key)["stdout"], "in\n", "in one of its own")
    same(d.exec("sh", "echo x", key=free)["stdout"], "x\n", "another key")
    d.delete(f"/v1/sandboxes/{a}", key=key)
    until(lambda: d.request("POST", "/v1/exec", CODE, key=key).status == 200, 20, "room")


@test
def objects_of_another_key_are_not_found(d):
    a, b = d.new_key("a")["key"], d.new_key("b")["key"]
    auditor = d.new_key("auditor", capabilities=["audit"])["key"]
    s = d.sandbox(key=a)
    r = d.exec("sh", "echo mine > f; echo x", s, key=a)
    p = d.post(f"/v1/sandboxes/{s}/processes", {"command": ["sleep", "100"]}, 201, key=a)
    for method, target, body in (("GET", "", None), ("DELETE", "", None), ("POST", "/exec", CODE), ("POST", "/keepalive", {}),
                                 ("POST", "/pause", None), ("POST", "/resume", None), ("GET", "/processes", None),
                                 ("GET", f"/processes/{p['pid']}", None), ("DELETE", f"/processes/{p['pid']}", None),
                                 ("POST", f"/processes/{p['pid']}/stdin", b"x"), ("POST", f"/processes/{p['pid']}/signal", {"signal": 9}),
                                 ("GET", f"/processes/{p['pid']}/output", None), ("GET", "/files?path=f", None), ("PUT", "/files?path=f", b"x"),
                                 ("DELETE", "/files?path=f", None), ("POST", "/files/stat", {"path": "f"}), ("GET", "/archive?path=.", None),
                                 ("PUT", "/archive?path=.", b""), ("GET", "/terminal", None)):  # fmt: skip
        d.refused("not_found", method, f"/v1/sandboxes/{s}{target}", body, key=b)
    same(d.get("/v1/sandboxes", key=b)["sandboxes"], [], "the list of the other")
    same([x["id"] for x in d.get("/v1/sandboxes", key=a)["sandboxes"]], [s], "its own list")
    d.refused("not_found", "GET", f"/v1/executions/{r['id']}", key=b)
    d.refused("not_found", "DELETE", f"/v1/executions/{p['id']}", key=b)
    same({(x["status"], x["sandbox"], x["preview"]) for x in d.get("/v1/executions", key=b)["executions"]}, {("refused", None, None)}, "the log of the other: its own refused requests")
    same(d.get("/v1/executions?status=running", key=b)["executions"], [], "what runs")
    same(d.get(f"/v1/executions/{r['id']}", key=a)["stdout"], "x\n", "its own")
    same(d.get(f"/v1/executions/{r['id']}", key=auditor)["stdout"], "x\n", "for one who may see the log")
    same(len(d.get("/v1/sandboxes", unix=True)["sandboxes"]), 1, "for the owner")
    # The same name of a session is another session.
    d.exec("sh", "echo a > who", key=a, session="s")
    same(d.exec("sh", "cat who", key=b, session="s")["exit_code"], 1, "the session of the other")


@test
def foreign_hosts_and_origins_are_refused(d):
    for host in ("evil.example", f"evil.example:{d.port}", "localhost.evil.example", "127.0.0.1.evil.example", "[::1", "127.0.0.1:x"):
        d.refused("access_denied", "POST", "/v1/exec", CODE, "access denied: Host", headers={"Host": host})
        d.refused("access_denied", "GET", "/healthz", headers={"Host": host})
        d.refused("access_denied", "GET", "/nowhere", headers={"Host": host})
    for host in ("localhost", f"localhost:{d.port}", "127.0.0.1", f"LOCALHOST:{d.port}", "[::1]:1"):
        same(d.request("GET", "/healthz", headers={"Host": host}).status, 200, host)
    for origin in ("http://evil.example", "null", "https://localhost.evil.example", f"http://127.0.0.1:{d.port}.evil.example", "file://"):
        d.refused("access_denied", "POST", "/v1/exec", CODE, "access denied: Origin", headers={"Origin": origin})
        d.refused("access_denied", "POST", "/v1/exec", CODE, "access denied: Origin", headers={"Origin": origin}, unix=True)
    own = f"http://127.0.0.1:{d.port}"
    same(d.request("POST", "/v1/exec", CODE, headers={"Origin": own}).status, 200, "its own page")
    with d.socket() as s:
        s.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        ensure(b" 403 " in s.recv(1000), "without Host it is not refused")
    d.logged("Host", "warning")
    d.logged("Origin", "warning")
    same(len(d.rows()), 1, "executions in the log")


@test
def requests_of_foreign_pages_without_an_origin_are_refused(d):
    r = d.exec("sh", "echo secret")
    for site in ("cross-site", "same-site", "", "Same-Origin", "nonesuch"):
        for target in ("/v1/executions?text=secret", f"/v1/executions/{r['id']}", "/v1/executions/verify", "/v1/events", "/v1/health", "/metrics", "/mcp", "/nowhere"):
            d.refused("access_denied", "GET", target, None, "access denied: Sec-Fetch-Site", headers={"Sec-Fetch-Site": site})
        d.refused("access_denied", "POST", "/v1/exec", CODE, "Sec-Fetch-Site", headers={"Sec-Fetch-Site": site})
        for target in ("/", "/ui/cella.js", "/healthz"):  # a link to our page
            ensure(d.request("GET", target, headers={"Sec-Fetch-Site": site}).status in (200, 404), target)
    for site in ("same-origin", "none"):
        same(d.request("GET", "/v1/executions", headers={"Sec-Fetch-Site": site}).status, 200, site)
    same(len(d.rows()), 1, "executions in the log")


@test(users=["root"])
def another_local_user_needs_a_key(d):
    os.chmod(d.unix, 0o777)  # as if the administrator had opened it to all
    script = (
        "import os, socket, sys\nos.setgroups([]); os.setgid(12345); os.setuid(12345)\n"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        "s.sendall(f'GET /v1/sandboxes HTTP/1.1\\r\\nHost: cella\\r\\nConnection: close\\r\\n{sys.argv[2]}\\r\\n'.encode())\n"
        "out = b''\nwhile (x := s.recv(65536)): out += x\nprint(out.decode())\n"
    )

    def ask(header=""):
        return subprocess.run(["/usr/bin/python3", "-c", script, d.unix, header], capture_output=True, text=True, timeout=20)

    r = ask()
    ensure(r.stdout.startswith("HTTP/1.1 401"), f"the answer is {r.stdout[:200]} {r.stderr[-300:]}")
    ensure('"unauthorized"' in r.stdout and "12345" in r.stdout, f"the answer is {r.stdout}")
    d.logged("12345", "warning")
    key = d.new_key()["key"]
    r = ask(f"Authorization: Bearer {key}\r\n")
    ensure(r.stdout.startswith("HTTP/1.1 200"), f"with a key the answer is {r.stdout[:200]} {r.stderr[-300:]}")
    same(oct(os.stat(d.state).st_mode & 0o777), "0o700", "mode of the state directory")


@test
def the_socket_is_the_owners(d):
    mode = os.stat(d.unix).st_mode & 0o777
    ensure(mode in (0o600, 0o660, 0o666), f"mode of the socket is {mode:o}")
    if not is_root():
        return
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setgroups([])
            os.setresgid(12345, 12345, 12345)
            os.setresuid(12345, 12345, 12345)
            code = 0 if d.request("GET", "/v1/sandboxes", unix=True).status == 401 else 2
        except PermissionError:
            code = 0
        finally:
            os._exit(code)
    same(os.waitpid(pid, 0)[1], 0, "what another user gets")


@test
def the_daemon_listens_to_the_network_only_with_keys():
    d = Daemon(start=False)
    port = d.port
    d.args = ["--listen", f"0.0.0.0:{port}"]
    d.start(ready=False)
    rc = support.reap(d.process, 20)
    ensure(rc != 0, "it started without keys")
    ensure("without a key" in d.log() and "key add" in d.log(), f"the log says {d.log()}")
    d.args = []
    with d.start():
        key = d.new_key()["key"]
        d.stop()
        d.args = ["--listen", f"0.0.0.0:{port}"]
        d.start()
        same(d.exec("sh", "echo x", key=key)["stdout"], "x\n", "with a key")
        d.refused("unauthorized", "POST", "/v1/exec", CODE)
        a = d.request("GET", "/v1/keys", unix=True)
        d.request("DELETE", f"/v1/keys/{a.json()['keys'][0]['id']}", unix=True)
        d.refused("unauthorized", "POST", "/v1/exec", CODE)


@test
def reading_executions_of_others_does_not_allow_ending_them(d):
    one, two = (d.new_key(n, capabilities=["sandbox.exec", "audit"])["key"] for n in ("one", "two"))
    id_ = d.post("/v1/exec", {"runtime": "sh", "code": "sleep 20", "detach": True}, 202, key=one)["id"]
    same(d.get(f"/v1/executions/{id_}", key=two)["status"], "running", "seen by another key with audit")
    d.refused("access_denied", "DELETE", f"/v1/executions/{id_}", key=two)
    same(d.get(f"/v1/executions/{id_}", key=one)["status"], "running", "after another tried to end it")
    d.ok("DELETE", f"/v1/executions/{id_}", status=202, key=one)
    until(lambda: d.get(f"/v1/executions/{id_}", key=two)["status"] == "cancelled", 20, "its end")


@test(settings={"sandboxes": {"queue_max": 2, "max": 10}})
def a_key_that_fills_the_queue_leaves_room_for_other_keys(d):
    greedy, other = d.new_key("greedy", sandboxes_max=1)["key"], d.new_key("other")["key"]
    for _ in range(3):  # one runs, two wait for it
        d.post("/v1/exec", {"runtime": "sh", "code": "sleep 60", "detach": True}, 202, key=greedy)
    until(lambda: d.get("/v1/health", unix=True)["sandboxes"]["waiting"] == 2, 20, "two that wait")
    d.refused("over_capacity", "POST", "/v1/exec", CODE, key=greedy)
    same(d.exec("sh", "echo x", key=other)["stdout"], "x\n", "another key, for which there is room")


@test(settings={"sandboxes": {"queue_max": 3, "max": 1}})
def a_full_queue_has_a_place_for_another_key(d):
    greedy, other = d.new_key("greedy")["key"], d.new_key("other")["key"]
    for _ in range(4):  # one runs, three fill the queue
        d.post("/v1/exec", {"runtime": "sh", "code": "sleep 4", "detach": True}, 202, key=greedy)
    until(lambda: d.get("/v1/health", unix=True)["sandboxes"]["waiting"] == 3, 20, "three that wait")
    d.refused("over_capacity", "POST", "/v1/exec", CODE, key=greedy)
    same(d.exec("sh", "echo x", key=other)["stdout"], "x\n", "another key gets its turn")


@test
def the_first_key_does_not_lock_out_the_owner():
    with Daemon() as d:
        url = {**os.environ, "CELLA_URL": f"http://127.0.0.1:{d.port}"}
        same(support.cella(["ls"], env=url).rc, 0, "over TCP, while there are no keys")
        key = support.cella(["key", "add", "first"], env=url).out.strip()
        r = support.cella(["ls"], env=url)
        same(r.rc, 125, "over TCP without a key", r)
        ensure("CELLA_KEY" in r.err and "Unix socket" in r.err, "what to do", r)
        same(support.cella(["ls"], env={**url, "CELLA_KEY": key}).rc, 0, "over TCP with the key")
        same(support.cella(["settings", "get", "mode", "--socket", d.unix]).rc, 0, "the owner on the socket")
        r = support.cella(["key", "add", "second", "--socket", d.unix])
        same((r.rc, r.out[:6]), (0, "cella_"), "a second key by the owner", r)
        same(d.request("GET", "/").status, 200, "the page, which asks for the key")
        same(d.request("GET", "/v1/me").status, 401, "what tells the page to ask")


@test
def without_a_socket_the_first_key_can_make_others():
    with Daemon() as d:
        d.stop()
        d.args = ["--socket", "none"]
        d.start()
        a = d.refused("invalid_request", "POST", "/v1/keys", {"name": "weak"}, parts=("settings", "no Unix socket"))
        ensure("--capability settings" in a.json()["error"]["hint"], "the hint", a)
        same(d.get("/v1/keys"), {"keys": []}, "keys")
        strong = d.post("/v1/keys", {"name": "strong", "capabilities": ["settings", "sandbox.exec"]}, 201)["key"]
        d.refused("unauthorized", "GET", "/v1/keys")
        d.post("/v1/keys", {"name": "weak", "capabilities": ["sandbox.exec"]}, 201, key=strong)
        same(d.exec("sh", "echo x", key=strong)["stdout"], "x\n", "with the first key")
