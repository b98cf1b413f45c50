"""What a key sees, and what it may give: every route, tool and setting has a rule here, and one without a rule fails."""

import json
import pathlib
import re

import mcp
from support import ensure, is_root, same, test, until
from test_admin import parse, routes

ALL = ["sandbox.exec", "sandbox.manage", "files", "images", "secrets", "settings", "audit", "host.exec", "monitor"]
PLAIN = ["sandbox.exec", "sandbox.manage", "files"]
MARK = "victimsown"  # part of every name that belongs to the other key
PROCESSES = 57  # a limit that only the other key requests

# What each route gives to a key without any capability:
#   a capability: 403, it is needed;   "open": the route needs no key;
#   "own": 200, with nothing of other keys;   "shared": 200, the same for all;   "id": 404, it belongs to another key;
#   "tool": as its tool, see TOOLS;   "mcp": see METHODS.
RULES = {
    ("GET", "/"): "open", ("GET", "/ui/{name}"): "open", ("GET", "/healthz"): "open", ("GET", "/openapi.json"): "open",
    ("GET", "/metrics"): "own", ("GET", "/v1/health"): "own", ("GET", "/v1/me"): "own", ("GET", "/v1/pools"): "own", ("POST", "/v1/pools/acquire"): "sandbox.manage", ("POST", "/v1/pools/release"): "sandbox.manage",
    ("GET", "/v1/events"): "own", ("GET", "/v1/executions"): "own", ("GET", "/v1/sandboxes"): "own",
    ("GET", "/v1/images"): "shared", ("GET", "/v1/images/{name}"): "shared", ("GET", "/v1/runtimes"): "shared", ("GET", "/v1/tools"): "shared",
    ("GET", "/v1/sandboxes/{id}"): "id", ("GET", "/v1/executions/{id}"): "id",
    ("GET", "/v1/settings"): "settings", ("PUT", "/v1/settings"): "settings", ("PATCH", "/v1/settings"): "settings",
    ("GET", "/v1/keys"): "settings", ("POST", "/v1/keys"): "settings", ("DELETE", "/v1/keys/{id}"): "settings",
    ("GET", "/v1/secrets"): "secrets", ("GET", "/v1/secrets/{name}"): "secrets", ("PUT", "/v1/secrets/{name}"): "secrets",
    ("DELETE", "/v1/secrets/{name}"): "secrets",
    ("POST", "/v1/images"): "images", ("POST", "/v1/images/import"): "images", ("POST", "/v1/images/gc"): "images",
    ("DELETE", "/v1/images/{name}"): "images",
    ("GET", "/v1/executions/verify"): "audit", ("DELETE", "/v1/executions/{id}"): "sandbox.exec", ("POST", "/v1/exec"): "sandbox.exec",
    ("POST", "/v1/sandboxes"): "sandbox.manage", ("DELETE", "/v1/sandboxes/{id}"): "sandbox.manage",
    ("PATCH", "/v1/sandboxes/{id}"): "sandbox.manage",
    **{("POST", f"/v1/sandboxes/{{id}}/{x}"): "sandbox.manage" for x in ("pause", "resume", "keepalive")},
    **{(m, f"/v1/sandboxes/{{id}}/{x}"): "sandbox.exec" for m, x in (
        ("POST", "exec"), ("POST", "processes"), ("GET", "processes"), ("GET", "processes/{pid}"), ("DELETE", "processes/{pid}"),
        ("POST", "processes/{pid}/stdin"), ("POST", "processes/{pid}/signal"), ("GET", "processes/{pid}/output"), ("POST", "contexts"),
        ("GET", "contexts"), ("GET", "contexts/{context}"), ("DELETE", "contexts/{context}"), ("POST", "contexts/{context}/run"),
        ("POST", "contexts/{context}/interrupt"), ("POST", "contexts/{context}/restart"), ("GET", "terminal"))},
    **{(m, f"/v1/sandboxes/{{id}}/{x}"): "files" for m, x in (
        ("GET", "files"), ("PUT", "files"), ("DELETE", "files"), ("POST", "files/mkdir"), ("POST", "files/move"), ("POST", "files/stat"),
        ("GET", "archive"), ("PUT", "archive"))},
    ("POST", "/v1/tools/{name}"): "tool", ("POST", "/mcp"): "mcp", ("GET", "/mcp"): "mcp", ("DELETE", "/mcp"): "mcp",
}  # fmt: skip

TOOLS = {"sandbox.exec": "sandbox.exec", "execute_python": "sandbox.exec", "execute_shell": "sandbox.exec", "execute_docker": "sandbox.exec",
         "read_file": "files", "write_file": "files", "list_files": "files", "list_sandboxes": "own", "kill_sandbox": "sandbox.manage"}  # fmt: skip

# Methods of MCP, with parameters that could reveal data of another key.
METHODS = {
    "initialize": None, "ping": {}, "logging/setLevel": {"level": "debug"}, "tools/list": {}, "prompts/list": {}, "resources/list": {},
    "resources/templates/list": {}, "prompts/get": {"name": "solve_with_python", "arguments": {"task": "x"}},
    "completion/complete": {"ref": {"type": "ref/resource", "uri": "cella://sandboxes/{sandbox}/files/{+path}"}, "argument": {"name": "sandbox", "value": ""}},
    "tools/call": {"name": "list_sandboxes", "arguments": {}}, "resources/read": "each", "server/discover": "modern", "subscriptions/listen": "modern",
}  # fmt: skip


class Victim:
    """A key with one object of each kind, each with a unique name."""

    def __init__(self, d):
        self.key = d.new_key(MARK, capabilities=[*PLAIN, "secrets"], secrets=[MARK], limits={"processes": 64})
        secret = self.key["key"]
        d.ok("PUT", f"/v1/secrets/{MARK}", {"value": "a value"}, status=201, key=secret)
        self.sandbox = d.post("/v1/sandboxes", {"metadata": {"m": MARK}, "agent": MARK}, 201, key=secret)["id"]
        self.process = d.post(f"/v1/sandboxes/{self.sandbox}/processes", {"command": ["sh", "-c", "sleep 1000", MARK]}, 201, key=secret)
        self.context = d.post(f"/v1/sandboxes/{self.sandbox}/contexts", {"runtime": "bash"}, 201, key=secret)["id"]
        self.execution = d.exec("sh", f"echo {MARK}", key=secret, session=MARK)["id"]
        for _ in range(3):
            d.exec("sh", "true", key=secret, limits={"processes": PROCESSES})
        if is_root():  # other limits than the settings' get a pool of spare sandboxes, where all limits can be enforced
            until(lambda: [p for p in d.get("/v1/pools", unix=True)["pools"] if p["limits"]["processes"] == PROCESSES], 20, "a pool for the other limits")

    def traces(self):
        return [MARK, self.key["id"], self.sandbox, self.context, self.execution, self.process["id"]]

    def path(self, pattern):
        of = {"{pid}": str(self.process["pid"]), "{context}": self.context}
        if pattern.startswith("/v1/sandboxes"):
            of["{id}"] = self.sandbox
        elif pattern.startswith("/v1/executions"):
            of["{id}"] = self.execution
        elif pattern.startswith("/v1/keys"):
            of["{id}"] = self.key["id"]
        of["{name}"] = MARK if "secrets" in pattern else "none"
        for name, value in of.items():
            pattern = pattern.replace(name, value)
        return pattern + ("?path=x" if pattern.endswith(("/files", "/archive")) else "")


def hidden(victim, text, what):
    for trace in victim.traces():
        ensure(trace not in text, f"{what} shows {trace}: {text[:600]}")


def body_of(method, pattern):
    bodies = {"/v1/exec": {"runtime": "sh", "code": "true"}, "/v1/keys": {"name": "x"}, "signal": {"signal": 9}, "exec": {"runtime": "sh", "code": "true"},
              "processes": {"command": ["true"]}, "contexts": {"runtime": "bash"}, "run": {"code": "true"}, "mkdir": {"path": "x"},
              "move": {"from": "x", "to": "y"}, "stat": {"path": "x"}, "{name}": {"value": "another"}, "{id}": {"limits": {"timeout_ms": 1000}}}  # fmt: skip
    if method not in ("POST", "PUT", "PATCH"):
        return None
    return bodies.get(pattern) or bodies.get(pattern.rsplit("/", 1)[1], {})


@test(settings={"pools": [{"runtime": "sh", "size": 2}]})
def every_route_keeps_the_data_of_other_keys(d):
    victim = Victim(d)
    poor, plain = d.new_key("poor", capabilities=[])["key"], d.new_key("plain", capabilities=PLAIN)["key"]
    table = set(routes())
    same(table - set(RULES), set(), "routes without a rule in this test")
    same(set(RULES) - table, set(), "rules without a route")
    for (method, pattern), rule in sorted(RULES.items()):
        path, body = victim.path(pattern), body_of(method, pattern)
        what = f"{method} {path} ({rule})"
        if rule in ("tool", "mcp"):
            continue
        if pattern == "/v1/events":
            for key in (poor, plain):
                with d.events("GET", "/v1/events?topics=monitor,executions", key=key) as events:
                    same(events.wait("sandboxes")["sandboxes"], [], what)
                    shown = events.wait("snapshot")
                    hidden(victim, str(shown), what)
                    same((shown["rates"]["running"], shown["rates"]["waiting"], shown["memory"]["server_bytes"]), (0, 0, None), what)
            continue
        a = d.request(method, path, body, key=poor)
        if a.status == 200:
            hidden(victim, a.text, what)
        if rule in ALL:
            same((a.status, a.json()["error"]["message"]), (403, f"access denied: {rule}"), what, a)
        elif rule == "id":
            same(a.status, 404, what, a)
        else:
            ensure(a.status == (404 if "none" in path else 200), what, a)
        if rule in ALL and rule not in PLAIN:
            continue
        a = d.request(method, path, body, key=plain)
        if "{id}" in pattern:
            same((a.status, a.json()["error"]["kind"]), (404, "not_found"), what, a)
        elif a.status == 200 and rule not in PLAIN:
            hidden(victim, a.text, what)
    same(d.get(f"/v1/sandboxes/{victim.sandbox}/processes/{victim.process['pid']}", key=victim.key["key"])["state"], "running", "the process afterwards")
    same(d.get("/v1/executions", key=victim.key["key"])["executions"][0]["key"], victim.key["id"], "its own log")


@test(settings={"pools": []})
def every_tool_and_method_keeps_the_data_of_other_keys(d):
    victim = Victim(d)
    poor, plain = d.new_key("poor", capabilities=[])["key"], d.new_key("plain", capabilities=PLAIN)["key"]
    same({t["name"] for t in d.get("/v1/tools", key=poor)["tools"]}, set(TOOLS), "tools")
    arguments = {"sandbox": victim.sandbox, "path": "x", "content": "x"}
    for name, rule in TOOLS.items():
        schema = next(t for t in d.get("/v1/tools", key=poor)["tools"] if t["name"] == name)["input_schema"]
        given = {k: v for k, v in {**arguments, "code": "true", "command": "true", "runtime": "sh", "image": "host"}.items() if k in schema["properties"]}
        a = d.request("POST", f"/v1/tools/{name}", given, key=poor)
        if rule in ALL:
            same((a.status, a.json()["error"]["message"]), (403, f"access denied: {rule}"), name, a)
        else:
            same((a.status, a.json()), (200, {"sandboxes": [], "truncated": False}), name, a)
        if "sandbox" in schema["properties"]:
            same(d.request("POST", f"/v1/tools/{name}", given, key=plain).status, 404, name)
    source = (pathlib.Path(__file__).resolve().parent.parent.parent / "src/front/mcp/mcp.c").read_text()
    same(set(re.findall(r'^ {8}\{"([\w/]+)", (?:OLDER|MODERN|BOTH), ', source, re.M)), set(METHODS), "methods of MCP")
    for key in (poor, plain):
        client = mcp.Http(d, key=key)
        for method, params in METHODS.items():
            if isinstance(params, dict):
                hidden(victim, client.post(client.message(method, params)).text, method)
        for uri in (f"cella://sandboxes/{victim.sandbox}/files/", f"cella://executions/{victim.execution}", f"cella://executions/{victim.execution}/stdout"):
            answer = client.post(client.message("resources/read", {"uri": uri})).json()
            ensure("error" in answer and "result" not in answer, f"{uri}: {answer}")
    # A session of the protocol is its key's.
    session = mcp.Http(d, key=victim.key["key"]).session
    stolen = mcp.Http(d, key=plain, start=False)
    stolen.session = session
    same(stolen.post(stolen.message("tools/list", {})).status, 404, "a session of another key")


@test(settings={"pools": [{"runtime": "sh", "size": 2}]})
def counters_are_a_callers_own_unless_it_may_see_all(d):
    victim = Victim(d)
    secret = victim.key["key"]
    own = d.new_key("own", capabilities=PLAIN)["key"]
    monitor, auditor = d.new_key("m", capabilities=["monitor"])["key"], d.new_key("a", capabilities=["audit"])["key"]
    d.sandbox(key=own)

    def seen(key=None):
        how = {"key": key} if key else {"unix": True}
        metrics, health, pools = parse(d.request("GET", "/metrics", **how).text), d.get("/v1/health", **how), d.get("/v1/pools", **how)["pools"]
        return metrics, health, pools

    metrics, health, pools = seen(own)
    same({k: v for k, v in metrics.items() if v and k != "cella_uptime_seconds"}, {'cella_sandboxes{state="running"}': 1}, "metrics of a key with one sandbox")
    same((health["sandboxes"]["running"], health["sandboxes"]["stopped"], health["sandboxes"]["waiting"]), (1, 0, 0), "health")
    ensure("disk" not in health and "jobs" not in health["images"], f"health is {health}")
    for shown in (pools, health["pools"]):
        same({frozenset(p) for p in shown}, {frozenset(["image", "runtime", "preload", "limits", "size", "idle_timeout_ms", "waits", "lease", "problem", "in_use"])}, "fields of a pool")
        same([(p["runtime"], p["in_use"]) for p in shown], [("sh", 0), (None, 0)], "the pools of the settings")
    same((seen(secret)[1]["sandboxes"]["running"], seen(secret)[0]["cella_executions_running"]), (2, 1), "the other key's own")
    for key in (None, monitor, auditor):
        metrics, health, pools = seen(key)
        ensure(metrics['cella_executions_total{status="exited"}'] >= 4, f"metrics are {metrics}")
        same((health["sandboxes"]["running"], metrics["cella_executions_running"], health["disk"]["total_bytes"] > 0), (3, 1, True), "what all have")
        ensure(all("hits" in p for p in pools), f"pools are {pools}")
        same(any(p["limits"]["processes"] == PROCESSES for p in pools), is_root(), "whether the other key's limits have a pool")
    # A key that may see the counters still sees no other key's sandboxes, and no executions without `audit`.
    same((d.get("/v1/sandboxes", key=monitor)["sandboxes"], d.get("/v1/executions", key=monitor)["executions"]), ([], []), "what `monitor` does not show")
    hidden(victim, str(seen(monitor)), "what `monitor` shows")


# Rights that a key gives to others.


@test
def a_key_cannot_make_a_key_with_more_than_it_has(d):
    maker = d.new_key("maker", capabilities=["settings", "files"], secrets=["one"], tier="standard", sandboxes_max=5,
                      limits={"processes": 40, "memory_bytes": 1 << 28})["key"]  # fmt: skip
    small = {"name": "x", "capabilities": ["files"]}
    for wrong, message in (({"capabilities": ["files", "host.exec"]}, "access denied: capabilities host.exec"),
                           *(({"capabilities": [c]}, f"access denied: capabilities {c}") for c in ALL if c not in ("settings", "files")),
                           ({"secrets": ["two"]}, "access denied: secrets two"), ({"secrets": ["*"]}, "access denied: secrets *"),
                           ({"secrets": ["one", "two"]}, "access denied: secrets two"), ({"tier": "elevated"}, "access denied: tier elevated"),
                           ({"limits": {"processes": 41}}, "access denied: limits.processes"), ({"sandboxes_max": 6}, "access denied: sandboxes_max"),
                           ({"limits": {"memory_bytes": 1 << 30}}, "access denied: limits.memory_bytes")):  # fmt: skip
        a = d.refused("access_denied", "POST", "/v1/keys", {**small, **wrong}, key=maker)
        same(a.json()["error"]["message"], message, f"{wrong}")
    d.refused("access_denied", "POST", "/v1/keys", {"name": "x"}, "access denied: capabilities sandbox.exec", key=maker)  # the default is more
    same(len(d.get("/v1/keys", unix=True)["keys"]), 1, "keys")
    made = d.post("/v1/keys", {**small, "secrets": ["one"], "tier": "standard", "limits": {"processes": 7}}, 201, key=maker)
    same((made["limits"], made["sandboxes_max"]), ({"processes": 7, "memory_bytes": 1 << 28}, 5), "what it did not say is its maker's")
    again = d.post("/v1/keys", {**small, "capabilities": ["settings", "files"], "sandboxes_max": 2}, 201, key=maker)["key"]
    d.refused("access_denied", "POST", "/v1/keys", {**small, "tier": "standard"}, "tier", key=again)
    same(d.post("/v1/keys", {"name": "x", "capabilities": ALL, "secrets": ["*"], "tier": "elevated"}, 201, unix=True)["capabilities"], ALL, "the owner may")


@test
def a_key_removes_only_what_it_could_have_made(d):
    maker = d.new_key("maker", capabilities=["settings", "files"])
    strong, weak = d.new_key("strong", capabilities=["settings", "images"]), d.new_key("weak", capabilities=["files"])
    d.refused("access_denied", "DELETE", f"/v1/keys/{strong['id']}", None, "access denied: capabilities images", key=maker["key"])
    d.delete(f"/v1/keys/{weak['id']}", key=maker["key"])
    d.refused("not_found", "DELETE", f"/v1/keys/{weak['id']}", key=maker["key"])
    d.delete(f"/v1/keys/{strong['id']}", unix=True)
    # Without keys everyone on loopback is the owner.
    d.refused("access_denied", "DELETE", f"/v1/keys/{maker['id']}", None, "access denied: this is the last key", key=maker["key"])
    d.refused("unauthorized", "GET", "/v1/settings")
    d.delete(f"/v1/keys/{maker['id']}", unix=True)


SETTINGS = {"mode": "selective", "network": {"tier": "standard", "allowed_domains": ["a.example", "b.example"], "blocked_domains": ["bad.example"],
                                             "allowed_private": ["10.0.0.0/8"]},
            "images": {"registries": ["docker.io"], "insecure_registries": []}, "workspace_root": "/srv", "workspace": "ro",
            "scan": {"enabled": True, "action": "warn", "block": {"severity": "medium", "categories": ["network"]}}}  # fmt: skip

# For each setting: a change of SETTINGS that a key with only `settings` may make, and one that it may not make, with the capability or tier that the second needs.
OWNER = "owner"
CHANGES = {
    "mode": (["all"], {"off": ["host.exec"]}),
    "scope": (["session"], {}), "workspace": (["none"], {"rw": OWNER}), "workspace_root": ([], {"/": OWNER}),
    "mounts": ([], {"[{\"name\": \"a\", \"path\": \"/opt/a\"}]": OWNER}), "engine": ([], {"docker": OWNER}), "image": ([], {"other": ["images"]}), "default_runtimes": ([{"python": "python3"}], {}),
    "runtimes": ([], {"{\"python3.12\": {\"image\": \"python:3.12\"}}": ["images"]}), "limits": ([{"processes": 100}], {}),
    "network.tier": (["restricted"], {"elevated": "elevated"}),
    "network.allowed_domains": ([["a.example"]], {("a.example", "b.example", "c.example"): "elevated", ("c.example",): "elevated"}),
    "network.blocked_domains": ([["bad.example", "worse.example"]], {(): OWNER, ("worse.example",): OWNER}),
    "network.allowed_private": ([[]], {("10.0.0.0/8", "169.254.169.254"): OWNER}),
    "network.connections": ([10], {1000: OWNER}), "network.bytes_per_execution": ([1000], {1 << 40: OWNER}),
    "network.idle_timeout_ms": ([1000], {1000000: OWNER}),
    "sandboxes.max": ([50], {101: OWNER}), "sandboxes.kept_max": ([50], {1001: OWNER}), "sandboxes.idle_timeout_ms": ([7200000], {1000: OWNER}), "sandboxes.cleanup_interval_ms": ([1000], {}),
    "sandboxes.queue_timeout_ms": ([1000], {}), "sandboxes.queue_max": ([10], {}), "sandboxes.spare": ([1], {}),
    "sandboxes.workspace_keep_ms": ([604800001], {1000: OWNER}), "pools": ([[]], {}),
    "scan.enabled": ([], {False: OWNER}), "scan.action": (["block"], {"off": OWNER}),
    "scan.block.severity": (["low"], {"high": OWNER}), "scan.block.categories": ([["files", "network"]], {("files",): OWNER, (): OWNER}),
    "audit.keep_days": ([], {1: ["audit"]}), "audit.keep_bytes": ([], {1: ["audit"]}), "audit.keep_output": ([], {False: ["audit"]}),
    "http.allowed_hosts": ([], {("*",): OWNER}), "http.trusted_proxies": ([], {("0.0.0.0/0",): OWNER}),
    "mcp.text_bytes": ([5000, 60000], {}),
    "images.pull": (["never"], {}), "images.registries": ([[]], {("docker.io", "evil.example"): OWNER}),
    "images.insecure_registries": ([], {("docker.io",): OWNER}), "images.credentials": ([], {"{\"evil.example\": \"{{secret:s}}\"}": OWNER}),
    "images.max_bytes": ([], {1 << 40: OWNER}),
    "learning.memory_bytes": ([1 << 20, 0], {1 << 30: OWNER}),
    "packages.index": ([], {"https://evil.example/simple": OWNER}), "packages.cache_bytes": ([], {1 << 40: OWNER}),
    "docker.socket": ([], {"/run/other.sock": OWNER}), "docker.runtime": ([], {"runc": OWNER}), "docker.transport": ([], {"attach": OWNER}),
    "cluster": ([None], {}),
}  # fmt: skip


def leaves(schema, prefix=""):
    for name, s in schema["properties"].items():
        if "properties" in s and name != "limits":
            yield from leaves(s, f"{prefix}{name}.")
        else:
            yield prefix + name


def patch(path, value):
    if isinstance(value, tuple):
        value = list(value)
    if isinstance(value, str) and value.startswith(("{", "[")):
        value = json.loads(value)
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


@test(settings=SETTINGS)
def a_key_cannot_widen_the_settings_beyond_what_it_has(d):
    schema = d.get("/openapi.json")["components"]["schemas"]["Settings"]
    same(set(leaves(schema)) ^ set(CHANGES), set(), "settings without a rule in this test, or rules without a setting")
    poor = d.new_key("poor", capabilities=["settings"], tier="standard")["key"]
    before = d.get("/v1/settings", unix=True)
    for path, (allowed, refused) in CHANGES.items():
        for value in allowed:
            a = d.request("PATCH", "/v1/settings?check=1", patch(path, value), key=poor)
            same(a.status, 200, f"{path} becomes {value}", a)
        for value, lifts in refused.items():
            a = d.request("PATCH", "/v1/settings", patch(path, value), key=poor)
            same(a.status, 403, f"{path} becomes {value}", a)
            ensure(a.json()["error"]["message"] == f"access denied: settings {path.split('.')[0] if path.startswith(('audit', 'docker')) else path}", "the message", a)
            if lifts == OWNER:
                rich = {"capabilities": ALL, "tier": "elevated", "secrets": ["*"]}
                who = d.new_key("rich", **rich)["key"]
                same(d.request("PATCH", "/v1/settings?check=1", patch(path, value), key=who).status, 403, f"{path} becomes {value}, with every capability")
            else:
                fields = {"tier": lifts} if isinstance(lifts, str) else {"tier": "standard"}
                who = d.new_key("able", capabilities=["settings", *(lifts if isinstance(lifts, list) else [])], **fields)["key"]
                same(d.request("PATCH", "/v1/settings?check=1", patch(path, value), key=who).status, 200, f"{path} becomes {value}, with {lifts}")
            a = d.request("PATCH", "/v1/settings?check=1", patch(path, value), unix=True)
            ensure(a.status in (200, 400), f"{path} becomes {value}, by the owner", a)
    same(d.get("/v1/settings", unix=True), before, "the settings afterwards")
    # Replacing all of them is a change of each.
    d.refused("access_denied", "PUT", "/v1/settings", {}, "access denied: settings", key=poor)
    same(d.get("/v1/settings", unix=True), before, "the settings after PUT")
    whole = {**before, "scope": "session"}
    same(d.ok("PUT", "/v1/settings", whole, key=poor)["scope"], "session", "with the same in all others")
    d.refused("access_denied", "POST", "/v1/exec", {"runtime": "sh", "code": "true"}, "access denied: sandbox.exec", key=poor)
