"""PATCH /v1/sandboxes/{id}: other limits for a sandbox that exists."""

import os

import support
from support import Skip, ensure, is_root, same, test, until

LARGE = "print(len(b'x' * (150 << 20)))"
MANY = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 1000 & done; echo all; kill $(jobs -p)"


def patch(d, sandbox, **limits):
    return d.ok("PATCH", f"/v1/sandboxes/{sandbox}", {"limits": limits})


@test(users=["root"])
def limits_of_a_running_sandbox_are_raised(d):
    s = d.sandbox(limits={"memory_bytes": 64 << 20, "processes": 6, "cpus": 0.5})
    same((d.exec("python3", LARGE, s)["status"], "all" in d.exec("sh", MANY, s)["stdout"]), ("memory_limit", False), "with the first limits")
    code = "import os, time\nprint('on', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.05)\n" + LARGE
    with d.events("POST", f"/v1/sandboxes/{s}/exec", {"runtime": "python3", "code": code}) as e:
        e.read_until("on\n")
        limits = patch(d, s, memory_bytes=512 << 20, processes=60, cpus=2)["limits"]
        same((limits["memory_bytes"], limits["processes"], limits["cpus"]), (512 << 20, 60, 2), "limits")
        d.exec("sh", "touch go", s)
        e.read_until(f"{150 << 20}\n")
    same(d.exec("sh", MANY, s)["stdout"], "all\n", "processes")
    d.restart()
    same(d.get(f"/v1/sandboxes/{s}")["limits"], limits, "limits after a restart")
    same(d.exec("python3", LARGE, s)["status"], "exited", "after a restart")


@test(users=["root"])
def limits_of_a_running_sandbox_are_lowered(d):
    s = d.sandbox(limits={"memory_bytes": 512 << 20, "processes": 60, "cpus": 1, "cpu_time_ms": 20000})
    same((d.exec("python3", LARGE, s)["status"], d.exec("sh", MANY, s)["stdout"]), ("exited", "all\n"), "with the first limits")
    wanted = {"memory_bytes": 64 << 20, "processes": 6, "cpus": 0.5, "timeout_ms": 15000, "cpu_time_ms": 10000}
    limits = patch(d, s, **wanted)["limits"]
    same({name: limits[name] for name in wanted}, wanted, "limits")
    same((d.exec("python3", LARGE, s)["status"], "all" in d.exec("sh", MANY, s)["stdout"]), ("memory_limit", False), "with the lower limits")
    d.refused("invalid_request", "POST", f"/v1/sandboxes/{s}/exec", {"runtime": "sh", "code": ":", "timeout_ms": 15001}, "timeout_ms")
    d.restart()
    same(d.get(f"/v1/sandboxes/{s}")["limits"], limits, "limits after a restart")
    same(d.exec("python3", LARGE, s)["status"], "memory_limit", "after a restart")


@test(users=["root"])
def less_memory_than_a_sandbox_uses_is_refused_and_kills_nothing(d):
    s = d.sandbox(limits={"memory_bytes": 512 << 20, "processes": 60})
    code = "import os, time\nx = b'x' * (150 << 20)\nprint('on', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.05)\nprint(len(x))"
    with d.events("POST", f"/v1/sandboxes/{s}/exec", {"runtime": "python3", "code": code}) as e:
        e.read_until("on\n")
        d.refused("invalid_request", "PATCH", f"/v1/sandboxes/{s}", {"limits": {"memory_bytes": 64 << 20, "processes": 40}}, ("limits.memory_bytes", "uses more"))
        limits = d.get(f"/v1/sandboxes/{s}")["limits"]
        same((limits["memory_bytes"], limits["processes"]), (512 << 20, 60), "limits")
        d.exec("sh", "touch go", s)
        e.read_until(f"{150 << 20}\n")
    until(lambda: d.request("PATCH", f"/v1/sandboxes/{s}", {"limits": {"memory_bytes": 64 << 20}}).status == 200, 20, "less memory when the code has ended")


@test(users=["root"])
def the_limit_on_cpus_is_raised_in_the_control_group(d):
    s, word = d.sandbox(limits={"cpus": 0.5}), f"1000.{os.getpid()}"
    d.post(f"/v1/sandboxes/{s}/processes", {"command": ["sleep", word]}, 201)

    def quota():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if support.read(f"/proc/{pid}/cmdline") == f"sleep\0{word}\0":
                    groups = dict(line.split(":", 2)[1:] for line in support.read(f"/proc/{pid}/cgroup").splitlines())
                    break
            except OSError:
                continue
        else:
            return None
        for names, path in groups.items():
            if "cpu" in names.split(","):
                return int(support.read(f"/sys/fs/cgroup/{names}{path}/cpu.cfs_quota_us"))
        return int(support.read(f"/sys/fs/cgroup{groups['']}/cpu.max").split()[0])

    until(lambda: quota() == 50000, 20, "the first limit")
    patch(d, s, cpus=2)
    ensure(quota() in (200000, -1), f"the quota is {quota()}; -1: the group of the daemon has a lower one")


@test(users=["user"])
def without_a_control_group_a_running_sandbox_gets_no_more(d):
    s = d.sandbox()
    if "limit:memory" not in d.get(f"/v1/sandboxes/{s}")["isolation"]["missing"]:
        raise Skip("this user has control groups")
    before = d.get(f"/v1/sandboxes/{s}")["limits"]
    d.refused("isolation_unavailable", "PATCH", f"/v1/sandboxes/{s}", {"limits": {"memory_bytes": 1 << 40}}, "cgroup")
    same(d.get(f"/v1/sandboxes/{s}")["limits"], before, "limits")
    same(patch(d, s, timeout_ms=400000)["limits"]["timeout_ms"], 400000, "a limit of executions")


@test
def limits_of_a_stopped_sandbox_are_raised(d):
    s = d.sandbox(ttl_ms=3600000, limits={"timeout_ms": 20000})
    d.restart()
    patch(d, s, timeout_ms=30000, processes=100, memory_bytes=600 << 20)
    limits = d.get(f"/v1/sandboxes/{s}")["limits"]
    same((limits["timeout_ms"], limits["processes"], limits["memory_bytes"]), (30000, 100, 600 << 20), "limits")
    d.restart()
    same(d.get(f"/v1/sandboxes/{s}")["limits"], limits, "limits after a restart")


@test
def limits_are_raised_no_higher_than_the_key_allows(d):
    key = d.new_key("k", limits={"memory_bytes": 256 << 20, "timeout_ms": 60000})["key"]
    s = d.post("/v1/sandboxes", {"limits": {"timeout_ms": 10000}}, 201, key=key)["id"]
    before = d.get(f"/v1/sandboxes/{s}", key=key)["limits"]
    for limits, name in (({"memory_bytes": 257 << 20}, "memory_bytes"), ({"timeout_ms": 60001}, "timeout_ms"), ({"timeout_ms": 20000, "memory_bytes": 1 << 40}, "memory_bytes")):
        d.refused("access_denied", "PATCH", f"/v1/sandboxes/{s}", {"limits": limits}, f"access denied: limits.{name}", key=key)
    same(d.get(f"/v1/sandboxes/{s}", key=key)["limits"], before, "limits")
    same(d.ok("PATCH", f"/v1/sandboxes/{s}", {"limits": {"timeout_ms": 60000}}, key=key)["limits"]["timeout_ms"], 60000, "timeout")
    d.refused("not_found", "PATCH", f"/v1/sandboxes/{s}", {"limits": {"timeout_ms": 60000}}, key=d.new_key("other")["key"])


@test
def limits_that_cannot_be_raised_are_refused(d):
    s = d.sandbox(limits={"timeout_ms": 10000, **({"processes": 20, "cpu_time_ms": 5000} if is_root() else {})})
    before = d.get(f"/v1/sandboxes/{s}")["limits"]
    for body, parts in (({}, "limits"), ({"limits": 7}, "limits"), ({"limits": {"speed": 1}}, "speed"), ({"ttl": 1, "limits": {}}, "ttl"),
                        ({"limits": {"timeout_ms": 0}}, "limits.timeout_ms"), ({"limits": {"cpus": 0.001}}, "limits.cpus"),
                        ({"limits": {"processes": 0}}, "limits.processes"), ({"limits": {"memory_bytes": 1 << 60}}, "limits.memory_bytes"),
                        *(({"limits": {"timeout_ms": 20000, n: 1 << 30 if n == "disk_bytes" else 100000}}, f"limits.{n}") for n in ("disk_bytes", "disk_inodes", "open_files"))):  # fmt: skip
        d.refused("invalid_request", "PATCH", f"/v1/sandboxes/{s}", body, parts)
    same(d.get(f"/v1/sandboxes/{s}")["limits"], before, "limits")
    same(patch(d, s, cpu_time_ms=None)["limits"]["cpu_time_ms"], None, "no limit")
    d.refused("invalid_request", "PATCH", f"/v1/sandboxes/{s}", {"limits": {"cpu_time_ms": 5000}}, "limits.cpu_time_ms")
    d.refused("not_found", "PATCH", "/v1/sandboxes/sbx_aaaaaaaaaaaaaaaaaaaa", {"limits": {"timeout_ms": 20000}})


@test(users=["root"])
def a_request_above_the_limits_of_its_sandbox_says_what_raises_them(d):
    s = d.exec("sh", "true", session="s", limits={"memory_bytes": 64 << 20, "cpus": 0.5, "timeout_ms": 20000})["sandbox"]
    cases = (({"memory_bytes": 128 << 20}, "limits.memory_bytes belongs to the sandbox, which has 64M", f"cella raise {s} --memory"),
             ({"cpus": 1}, "limits.cpus belongs to the sandbox, which has 0.5", f"cella raise {s} --cpus"),
             ({"memory_bytes": 32 << 20}, "limits.memory_bytes belongs to the sandbox, which has 64M", "leave it out"),
             ({"disk_bytes": 1 << 30}, "limits.disk_bytes belongs to the sandbox, which has 256M", "make a new sandbox"),
             ({"output_bytes": 2 << 20}, "limits.output_bytes must be at most the sandbox's own 1M", f"PATCH /v1/sandboxes/{s}"))
    for limits, message, hint in cases:
        e = d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "x", "session": "s", "limits": limits}).json()["error"]
        ensure(e["message"] == message and hint in e["hint"], f"the error of {limits}: {e}")
    # Tools have other names for them.
    for argument, value, message in (("memory_mb", 128, "memory_mb belongs to the sandbox, which has 64M"), ("cpus", 1, "cpus belongs to the sandbox, which has 0.5")):
        for tool, code in (("execute_shell", {"command": "x"}), ("execute_python", {"code": "1"})):
            e = d.refused("invalid_request", "POST", f"/v1/tools/{tool}", {**code, "session": "s", argument: value}).json()["error"]
            ensure(e["message"] == message and f"cella raise {s}" in e["hint"], f"the error of {tool} with {argument}: {e}")
    patch(d, s, memory_bytes=128 << 20)
    same(d.ok("POST", "/v1/tools/execute_shell", {"command": "echo ok", "session": "s", "memory_mb": 128})["stdout"], "ok\n", "as its hint says")
    key = d.new_key("k", limits={"memory_bytes": 64 << 20})["key"]
    e = d.refused("access_denied", "POST", "/v1/tools/execute_shell", {"command": "x", "memory_mb": 128}, key=key).json()["error"]
    same((e["message"], e["hint"]), ("access denied: memory_mb", "this key may have at most 64M"), "a key")
