"""System calls that the filter refuses are reported as violations, for each run separately."""

import concurrent.futures

from support import same, test
from test_contexts import context, run

MOUNT = "import ctypes; ctypes.CDLL(None).mount(0, 0, 0, 0, 0)"
UNSHARE = "import ctypes; ctypes.CDLL(None).unshare(0x10000000)"
FIXTURES = {"c": context}


def refused(result):
    return [(v["kind"], v["target"], v["detail"]) for v in result["violations"]]


def violation(name):
    return [("syscall", name, "system call refused")]


@test
def a_refused_call_is_a_violation(d):
    for _ in range(3):  # new, and waiting
        same(refused(d.post("/v1/exec", {"runtime": "python3", "code": MOUNT})), violation("mount"), "violations")
        same(refused(d.post("/v1/exec", {"runtime": "python3", "code": "1"})), [], "violations")
    s = d.sandbox()
    for code, name in ((MOUNT, "mount"), (UNSHARE, "unshare"), (MOUNT, "mount")):
        r = d.post(f"/v1/sandboxes/{s}/exec", {"runtime": "python3", "code": code})
        same(refused(r), violation(name), "violations in a sandbox that stays")


@test
def io_uring_is_no_violation_for_programs_that_try_it_by_default(d):
    setup = "import ctypes; ctypes.CDLL(None).syscall(425, 8, 0)"  # io_uring_setup
    r = d.post("/v1/exec", {"runtime": "python3", "code": setup})
    same(refused(r), violation("io_uring_setup"), "violations of other code")
    r = d.post("/v1/exec", {"runtime": "node", "code": "console.log(1)"})
    same(refused(r), [], "violations of node")
    command = ["sh", "-c", 'cp "$(readlink -f /usr/bin/python3)" node && ./node -c "$0"', setup]
    r = d.post("/v1/exec", {"command": command})
    same((r["exit_code"], refused(r)), (0, []), "exit status and violations of a program that is named node")


@test
def each_run_of_a_context_has_its_own_violations(d, c):
    for _ in range(20):
        same(refused(run(d, c, MOUNT)), violation("mount"), "violations")
        same(refused(run(d, c, "1")), [], "violations")


@test
def a_flood_of_violations_does_not_delay_other_executions(d, s):
    code = "import ctypes, os\nfor i in range(40):\n  if os.fork() == 0: break\nm = ctypes.CDLL(None).mount\nwhile True: m(0, 0, 0, 0, 0)"
    with concurrent.futures.ThreadPoolExecutor() as beside:
        flood = beside.submit(d.post, f"/v1/sandboxes/{s}/exec", {"runtime": "python3", "code": code, "timeout_ms": 10000})
        for _ in range(5):
            same(d.post(f"/v1/sandboxes/{s}/exec", {"command": ["true"]})["exit_code"], 0, "exit status beside the flood")
            same(d.post("/v1/exec", {"command": ["true"]})["exit_code"], 0, "exit status in another sandbox")
        result = flood.result()  # raises what the thread raised
    same((result["status"], refused(result)), ("timeout", violation("mount")), "status and violations of the flood")
