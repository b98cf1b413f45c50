"""A wrong value of any field is a 400 that names the field, and nothing runs: on every route and in every tool that has the field."""

import mcp
from support import ensure, same, test

LONG = "x" * 200
MOUNTS = [7, "data", {}, [7], [{}], [{"name": "d"}], [{"target": "/data"}], [{"name": 7, "target": "/data"}], [{"name": "d", "target": "data"}],
          [{"name": "d", "target": "/data", "mode": "wr"}], [{"name": "d", "target": "/data", "path": "/"}], [{"name": "d", "target": "/usr/x"}],
          [{"name": "d", "target": f"/d{i}"} for i in range(9)]]  # fmt: skip
SYNONYMS = {
    "timeout_seconds": [0, -1, "1", 700000, True], "max_memory_mb": [0, 1, "x", 1.5], "memory_limit": [7, "", "lots", "512x", "1"],
    "cpu_limit": [0, -1, "1", 100000], "network_enabled": [1, "true"],
}  # fmt: skip
NAMES = {"session": [7, "", LONG, "a\0"], "agent": [7, "", LONG, "a\0"]}
EXEC = {**SYNONYMS, **NAMES, "language": [7, "", ["python"]], "work_dir": [7, "x\0", "", "../x"], "cwd": [7, "x\0", "", "../x", "sub"], "rich": [1, "true"], "mounts": MOUNTS, "scope": [7, "", "mine"],
        "workspace": [7, "", "write"], "engine": [7, "", "podman"], "image": [7, "", "a b"], "list_files": [1, "true"],
        "allowed_imports": [7, [7], "json"], "secrets": [7, {"A": 7}], "files": [7, {"a": 7}, {"../a": ""}, {"": "x"}, {"a/": "x"}], "env": [7, {"a": 7}], "network": [7, {"tier": "all"}],
        "limits": [7, {"memory_bytes": "1G"}]}  # fmt: skip
SANDBOX = {**SYNONYMS, "agent": NAMES["agent"], "mounts": MOUNTS, "persistent": [1, "true"], "workspace": EXEC["workspace"], "engine": EXEC["engine"],
           "image": EXEC["image"], "ttl_ms": [0, -1, "1"], "idle_timeout_ms": [0, "1"], "network": EXEC["network"], "limits": EXEC["limits"], "metadata": [7, {"a": 1}]}  # fmt: skip
PYTHON = {**NAMES, "runtime": [7, ""], "packages": [7, "six", [7], ["--index-url=x"], [""]], "files": [7, {"a": 7}, {"a/": "x"}], "timeout_ms": [0, "1"], "memory_mb": [0, "64"],
          "cpus": [0, "1"], "network": [7, {"tier": "all"}], "mounts": MOUNTS, "context": [7, "", LONG], "allowed_imports": [7, [7]],
          "timeout_seconds": SYNONYMS["timeout_seconds"], "memory_limit": SYNONYMS["memory_limit"], "max_memory_mb": SYNONYMS["max_memory_mb"], "cpu_limit": SYNONYMS["cpu_limit"], "network_enabled": SYNONYMS["network_enabled"], "language": [7, ""]}  # fmt: skip
SHELL = {**NAMES, "cwd": [7], "shell": [7, ""], "env": [7, {"a": 7}], "files": PYTHON["files"], "mounts": MOUNTS, "work_dir": [7], "cpu_limit": SYNONYMS["cpu_limit"]}
DOCKER = {**NAMES, "image": [7, ""], "engine": ["podman", 7], "mounts": MOUNTS, "memory_limit": SYNONYMS["memory_limit"]}
SETTINGS = {
    "scan": [7, {"block": "high"}, {"block": {"severity": "huge"}}, {"block": {"severity": 7}}, {"block": {"categories": "files"}}, {"block": {"categories": ["x"]}},
             {"block": {"category": []}}],
    "mcp": [7, {"text_bytes": 1}, {"text_bytes": "1"}], "packages": [7, {"index": 7}, {"index": "file:///x"}, {"cache_bytes": -1}],
    "mounts": [7, [7], [{"name": "d"}], [{"path": "/srv/d"}], [{"name": "d", "path": "srv"}], [{"name": "a/b", "path": "/srv/d"}], [{"name": "d", "path": "/srv/d", "mode": "x"}],
               [{"name": "d", "path": "/etc"}], [{"name": "d", "path": "/srv/d"}] * 2],
    "pools": [[{"runtime": "sh", "size": 0, "lease": -1}], [{"runtime": "sh", "size": 0, "lease": "1"}]], "workspace_root": [7, "relative", "/etc", "/nothing/here"],
    "runtimes": [7, {"python3.12": 7}, {"python3.12": {}}, {"cobol": {"image": "x"}}], "default_runtimes": [7, {"python": 7}, {"python": "cobol"}],
    "engine": [7, "podman"], "scope": ["mine"], "mode": ["some"], "workspace": ["write"],
}  # fmt: skip


def try_all(d, method, path, base, table, **how):
    """Sends each wrong value. Returns those that are accepted, or refused without the name of the field."""
    bad = []
    for field, values in table.items():
        for value in values:
            a = d.request(method, path, {**base, field: value}, **how)
            e = a.json().get("error", {}) if a.body else {}
            if a.status != 400 or e.get("kind") != "invalid_request" or field not in e["message"]:
                bad.append((field, str(value)[:60], a.status, e.get("message")))
    same(bad, [], f"{method} {path}")


def nothing_ran(d, sandboxes=0):
    same(len(d.get("/v1/sandboxes")["sandboxes"]), sandboxes, "sandboxes")
    ran = [e for e in d.get("/v1/executions?limit=500")["executions"] if e["status"] != "refused"]
    same(ran, [], "executions")


@test(timeout=120)
def wrong_fields_of_a_request_are_named(d):
    try_all(d, "POST", "/v1/exec", {"runtime": "sh", "code": "echo ran"}, {k: v for k, v in EXEC.items() if k != "language"})
    try_all(d, "POST", "/v1/exec", {"code": "echo ran"}, {"language": EXEC["language"], "runtime": EXEC["language"]})
    nothing_ran(d)


@test(timeout=120)
def wrong_fields_of_a_sandbox_are_named(d):
    try_all(d, "POST", "/v1/sandboxes", {}, SANDBOX)
    nothing_ran(d)
    s = d.post("/v1/sandboxes", {}, 201)["id"]
    only_of_one = ("session", "agent", "mounts", "scope", "workspace", "engine", "image", "network", "limits")
    own = {k: v for k, v in EXEC.items() if k not in only_of_one and k != "language"}
    try_all(d, "POST", f"/v1/sandboxes/{s}/exec", {"runtime": "sh", "code": "echo ran"}, own)
    try_all(d, "PATCH", f"/v1/sandboxes/{s}", {}, {"limits": [7, {"memory_bytes": "1G"}, {"memory": 1}, {"cpus": -1}]})
    nothing_ran(d, 1)


@test(timeout=120)
def wrong_fields_of_a_tool_are_named(d):
    d.ok("PATCH", "/v1/settings", {"pools": []})
    for tool, base, table in (("execute_python", {"code": "print('ran')"}, PYTHON), ("execute_shell", {"command": "echo ran"}, SHELL),
                              ("execute_docker", {"image": "x", "command": "echo ran"}, DOCKER)):  # fmt: skip
        try_all(d, "POST", f"/v1/tools/{tool}", base, table)
    nothing_ran(d)


@test(timeout=120, users=("root",))
def wrong_fields_of_a_tool_are_named_through_mcp(d):
    client = mcp.Http(d)
    for tool, base, table in (("execute_python", {"code": "print('ran')"}, PYTHON), ("execute_shell", {"command": "echo ran"}, SHELL)):
        for field, values in table.items():
            for value in values:
                r = client.tool(tool, **{**base, field: value})
                ensure(r.get("isError") and field in r["content"][0]["text"], f"{tool} with {field}={value!r}", str(r))
    client.close()
    nothing_ran(d)


@test(timeout=120)
def wrong_settings_are_named_and_change_nothing(d):
    before = d.get("/v1/settings", unix=True)
    try_all(d, "PATCH", "/v1/settings", {}, SETTINGS, unix=True)
    same(d.get("/v1/settings", unix=True), before, "the settings")
