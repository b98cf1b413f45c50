"""Sandboxes in reused control groups: code sees nothing of the group's last user, in itself or in its result."""

import json

import daemon
from support import ensure, same, test, until

FIXTURES = {"d": daemon.Daemon}

MIB = 1 << 20
# Everything that code can read about its own group, without a process or thread of its own.
LOOK = """
import json, os, resource, time
found = [os.path.join(top, name) for top, directories, names in os.walk("/sys/fs/cgroup") for name in names]
own = resource.getrusage(resource.RUSAGE_SELF)
children = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({
    "groups": sorted({line.rstrip().split(":", 2)[2] for line in open("/proc/self/cgroup")}),
    "files": found,
    "cpu": time.process_time(),
    "rss_kib": own.ru_maxrss,
    "children": children.ru_maxrss,
}))
"""
# The first user of a group: two seconds of CPU time and 150 MiB.
USE = """
import time
data = b"x" * (150 << 20)
while time.process_time() < 2:
    pass
"""


def groups(d):
    """Returns the keeper's counters of made, reused and removed control groups."""
    lines = d.get("/metrics").decode().splitlines()
    return {line.split('"')[1]: int(line.split()[1]) for line in lines if line.startswith("cella_cgroups_total{")}


def in_a_reused_group(d, code, **fields):
    """The result of code in the last of several sandboxes, of which at least one has a reused group."""
    results = []

    def reused():
        before = groups(d)["reused"]
        results.append(d.exec("python3", code, **fields))
        return groups(d)["reused"] > before

    until(reused, 60, "a reused group")
    return results


@test(users=("root",), timeout=300, settings={"sandboxes": {"spare": 0}, "pools": []})
def nothing_of_the_last_user_of_a_group_is_seen(d):
    limits = {"memory_bytes": 512 * MIB}
    ended = 0
    for _ in range(3):
        used = d.exec("python3", USE, limits=limits)
        same(used["status"], "exited", "the first user")
        ensure(used["usage"]["cpu_ms"] >= 1900 and used["usage"]["memory_peak_bytes"] > 150 * MIB, f"its usage: {used['usage']}")
        # Its group is taken within a ring of groups: every sandbox after it starts from zero.
        for r in in_a_reused_group(d, LOOK, limits=limits) + [d.exec("python3", LOOK, limits=limits) for _ in range(20)]:
            same(r["status"], "exited", f"status of {r}")
            seen = json.loads(r["stdout"])
            same(seen["groups"], ["/"], "groups in /proc/self/cgroup")
            same(seen["files"], [], "files of cgroups")
            ensure(seen["cpu"] < 1.5 and seen["rss_kib"] < 100 << 10 and seen["children"] < 100 << 10, f"what code sees: {seen}")
            usage = r["usage"]
            ensure(usage["cpu_ms"] < 1500, f"CPU time: {usage}")
            ensure(usage["memory_peak_bytes"] < 100 * MIB, f"memory: {usage}")
            same(usage["processes_peak"], 1, "processes")
            ended += 1
    ensure(ended >= 60, "many")


@test(users=("root",), timeout=300, settings={"sandboxes": {"spare": 0}, "pools": []})
def the_number_of_processes_of_the_last_user_is_not_seen(d):
    many = "import subprocess\nall = [subprocess.Popen(['sleep', '60']) for _ in range(5)]\nfor p in all: p.kill(); p.wait()"
    for _ in range(20):
        used = d.exec("python3", many)
        same((used["status"], used["usage"]["processes_peak"]), ("exited", 6), "one with several processes", used["stderr"])
    for r in in_a_reused_group(d, "print(6 * 7)") + [d.exec("python3", "print(6 * 7)") for _ in range(20)]:
        same((r["stdout"], r["usage"]["processes_peak"]), ("42\n", 1), "one with one process")


@test(users=("root",), timeout=300, settings={"sandboxes": {"spare": 0}, "pools": []})
def limits_that_the_last_user_reached_are_not_reported_again(d):
    limits = {"memory_bytes": 64 * MIB, "processes": 4}
    same(d.exec("python3", "x = b'x' * (1 << 28)", limits=limits)["status"], "memory_limit", "status")
    same(d.exec("sh", "for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait", limits=limits)["status"], "process_limit", "status")
    for r in in_a_reused_group(d, "print(6 * 7)", limits=limits):
        same((r["status"], r["stdout"], r["usage"]["processes_peak"]), ("exited", "42\n", 1), "result")
    # The limits of the next one are enforced in a reused group, although the last one had higher ones.
    for _ in range(24):
        same(d.exec("python3", "x = b'x' * (1 << 28)", limits={"memory_bytes": 512 * MIB})["status"], "exited", "status")
    for _ in range(3):
        same(d.exec("python3", "x = b'x' * (1 << 28)", limits=limits)["status"], "memory_limit", "status with the lower limit")


@test(users=("root",), timeout=300, settings={"pools": [{"runtime": "python3", "size": 2}]})
def in_a_steady_state_of_a_pool_no_group_is_made_or_removed(d):
    until(lambda: d.get("/v1/pools")["pools"][0]["available"] == 2, 60, "a full pool")
    seen = []

    def steady():
        before = groups(d)
        for _ in range(10):
            same(d.exec("python3", "print(6 * 7)")["stdout"], "42\n", "output")
        after = groups(d)
        seen.append((before, after))
        return after["made"] == before["made"] and after["removed"] == before["removed"] and after["reused"] >= before["reused"] + 8

    until(steady, 120, f"ten executions with reused groups only: {seen[-3:]}")
