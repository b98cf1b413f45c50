"""Settings: read, replaced, merged, kept, read again from a file."""

import json
import os

import support
from daemon import Daemon
from support import ensure, same, test

DEFAULTS = {
    "mode": "all", "scope": "execution", "workspace": "none", "workspace_root": None, "mounts": [], "engine": "native", "image": "host",
    "default_runtimes": {"python": "python3", "node": "node"}, "runtimes": {},
    "network": {"tier": "restricted", "allowed_domains": [], "blocked_domains": [], "allowed_private": [], "connections": 256,
                "bytes_per_execution": 1073741824, "idle_timeout_ms": 60000},
    "scan": {"enabled": True, "action": "warn", "block": {"severity": "high", "categories": []}}, "docker": {"socket": None, "runtime": None, "transport": "auto"}, "cluster": None,
}  # fmt: skip
LIMITS = {"cpus": 1.0, "cpu_time_ms": None, "memory_bytes": 536870912, "disk_bytes": 268435456, "processes": 64,
          "open_files": 1024, "timeout_ms": 300000, "grace_ms": 2000, "output_bytes": 1048576}  # fmt: skip


@test
def the_defaults_are_those_of_the_contract(d):
    s = d.get("/v1/settings")
    for name, value in DEFAULTS.items():
        same(s[name], value, name)
    for name, value in LIMITS.items():
        same(s["limits"][name], value, f"limits.{name}")
    same({k: s["sandboxes"][k] for k in ("max", "idle_timeout_ms", "cleanup_interval_ms")},
         {"max": 100, "idle_timeout_ms": 3600000, "cleanup_interval_ms": 30000}, "sandboxes")  # fmt: skip
    same((s["audit"]["keep_days"], s["audit"]["keep_output"]), (30, True), "audit")
    ensure(isinstance(s["pools"], list), "pools")


@test
def patch_merges_put_replaces_null_resets(d):
    before = d.get("/v1/settings")
    s = d.ok("PATCH", "/v1/settings", {"limits": {"processes": 10}, "network": {"blocked_domains": ["a.example"]}})
    same((s["limits"]["processes"], s["limits"]["timeout_ms"], s["network"]["blocked_domains"]), (10, 300000, ["a.example"]), "merged")
    s = d.ok("PATCH", "/v1/settings", {"limits": {"processes": None}})
    same((s["limits"]["processes"], s["network"]["blocked_domains"]), (64, ["a.example"]), "null resets")
    s = d.ok("PATCH", "/v1/settings", {"limits": {"cpu_time_ms": 5000}})
    s = d.ok("PATCH", "/v1/settings", {"limits": {"cpu_time_ms": None}})
    same(s["limits"]["cpu_time_ms"], None, "null where null is a value")
    s = d.ok("PUT", "/v1/settings", {"limits": {"timeout_ms": 1000}})
    same((s["limits"]["timeout_ms"], s["limits"]["processes"], s["network"]["blocked_domains"]), (1000, 64, []), "replaced")
    same(d.exec("sh", "sleep 30")["status"], "timeout", "it holds at once")
    same(d.ok("PUT", "/v1/settings", {}), before, "all defaults")
    same(d.ok("PUT", "/v1/settings", before), before, "what was read can be written")
    same(d.ok("PATCH", "/v1/settings", {}), before, "an empty change")


BAD = [
    ({"colour": 1}, ["unknown field", "colour"]), ({"limits": {"colour": 1}}, ["colour", "limits"]), ({"mode": "sometimes"}, ["mode"]),
    ({"scope": 7}, ["scope"]), ({"limits": {"processes": 0}}, ["limits.processes"]), ({"limits": {"processes": "64"}}, ["limits.processes"]),
    ({"limits": {"memory_bytes": -1}}, ["limits.memory_bytes"]), ({"limits": {"timeout_ms": 1.5}}, ["limits.timeout_ms"]),
    ({"limits": []}, ["limits"]), ({"sandboxes": {"max": 0}}, ["sandboxes.max"]), ({"sandboxes": {"cleanup_interval_ms": 1}}, ["sandboxes.cleanup_interval_ms"]),
    ({"network": {"tier": "x"}}, ["network.tier"]), ({"network": {"allowed_domains": "x"}}, ["network.allowed_domains"]),
    ({"network": {"allowed_domains": [7]}}, ["network.allowed_domains[0]"]), ({"workspace": "rw"}, ["workspace"]), ({"engine": "xen"}, ["engine"]),
    ({"pools": [{"size": 4}]}, ["pools[0]"]), ({"audit": {"keep_days": -1}}, ["audit.keep_days"]), ({"scan": {"action": "x"}}, ["scan.action"]),
    ({"limits": {"processes": 10}, "scope": "x"}, ["scope"]), ({"cluster": {}}, ["cluster", "null"]), ({"cluster": "x"}, ["cluster"]),
]  # fmt: skip


@test(settings={"limits": {"processes": 33}})
def an_invalid_value_changes_nothing(d):
    before = d.get("/v1/settings")
    for body, parts in BAD:
        d.refused("invalid_request", "PATCH", "/v1/settings", body, parts)
        d.refused("invalid_request", "PUT", "/v1/settings", body, parts)
    for body in (b"", b"{", b"[]", b"7", b'{"scope":"shared","scope":"agent"}', b"\xff"):
        d.refused("invalid_request", "PATCH", "/v1/settings", body)
        if body:
            d.refused("invalid_request", "PUT", "/v1/settings", body)
    d.refused("invalid_request", "PATCH", "/v1/settings", {"image": "de bian"}, "de bian")
    d.refused("too_large", "PATCH", "/v1/settings", b'{"x": "' + b"x" * (2 << 20) + b'"}')
    same(d.get("/v1/settings"), before, "the settings afterwards")
    d.restart()
    same(d.get("/v1/settings"), before, "and after a restart")


@test(settings={"scope": "shared", "limits": {"processes": 21}})
def settings_hold_after_restarts_and_crashes(d):
    d.restart()
    s = d.get("/v1/settings")
    same((s["scope"], s["limits"]["processes"]), ("shared", 21), "after a restart")
    d.ok("PATCH", "/v1/settings", {"scope": "agent"})
    d.kill("both")
    d.start()
    same(d.get("/v1/settings")["scope"], "agent", "after a crash")


@test
def the_file_is_read_again_on_sighup():
    path = support.write(support.here("settings.json"), json.dumps({"limits": {"processes": 11}}), 0o644)
    with Daemon(args=["--settings", path]) as d:
        same(d.get("/v1/settings")["limits"]["processes"], 11, "at the start")
        support.write(path, json.dumps({"limits": {"processes": 12}, "scope": "shared"}))
        d.reload()
        s = d.get("/v1/settings")
        same((s["limits"]["processes"], s["scope"]), (12, "shared"), "after SIGHUP")
        for bad in ("{", '{"limits": {"processes": "x"}}', '{"colour": 1}', ""):
            support.write(path, bad)
            d.reload()
            same(d.get("/v1/settings"), s, f"after {bad!r}")
        ensure("stay as they were" in d.log(), "the log says so")
        os.unlink(path)
        d.reload()
        same(d.get("/v1/settings"), s, "without the file")
        same(d.exec("sh", "echo fine")["stdout"], "fine\n", "afterwards")
    bad = support.write(support.here("bad.json"), '{"colour": 1}', 0o644)
    d = Daemon(args=["--settings", bad], name="other", start=False).start(ready=False)
    ensure(support.reap(d.process, 20) != 0 and "colour" in d.log(), f"it started with bad settings: {d.log()}")
