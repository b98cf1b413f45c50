"""System calls that the filter refuses and that matter: violations in results, in the stream and of each run anew."""

import threading

from daemon import Daemon
from support import same, test
from test_contexts import context, run

MOUNT = "import ctypes; ctypes.CDLL(None).mount(0, 0, 0, 0, 0)"
UNSHARE = "import ctypes; ctypes.CDLL(None).unshare(0x10000000)"


def refused(result):
    return [(v["kind"], v["target"], v["detail"]) for v in result["violations"]]


def told(name):
    return [("syscall", name, "system call refused")]


@test
def a_refused_call_is_a_violation():
    with Daemon() as d:
        for _ in range(3):  # new, and waiting
            same(refused(d.post("/v1/exec", {"runtime": "python3", "code": MOUNT})), told("mount"), "violations")
            same(refused(d.post("/v1/exec", {"runtime": "python3", "code": "1"})), [], "violations")
        s = d.sandbox()
        for code, name in ((MOUNT, "mount"), (UNSHARE, "unshare"), (MOUNT, "mount")):
            r = d.post(f"/v1/sandboxes/{s}/exec", {"runtime": "python3", "code": code})
            same(refused(r), told(name), "violations in a sandbox that stays")


@test
def who_tries_io_uring_by_habit_is_not_told_of():
    setup = "import ctypes; ctypes.CDLL(None).syscall(425, 8, 0)"  # io_uring_setup
    with Daemon() as d:
        r = d.post("/v1/exec", {"runtime": "python3", "code": setup})
        same(refused(r), told("io_uring_setup"), "violations of code that wants it")
        r = d.post("/v1/exec", {"runtime": "node", "code": "console.log(1)"})
        same(refused(r), [], "violations of node")
        command = ["sh", "-c", 'cp "$(readlink -f /usr/bin/python3)" node && ./node -c "$0"', setup]
        r = d.post("/v1/exec", {"command": command})
        same((r["exit_code"], refused(r)), (0, []), "what is called node, and its violations")


@test
def each_run_of_a_context_has_its_own():
    with Daemon() as d:
        s = d.sandbox()
        c = context(d, s)
        for _ in range(20):
            same(refused(run(d, c, MOUNT)), told("mount"), "violations")
            same(refused(run(d, c, "1")), [], "violations")


@test
def a_flood_does_not_hold_up_the_daemon():
    code = "import ctypes, os\nfor i in range(40):\n  if os.fork() == 0: break\nm = ctypes.CDLL(None).mount\nwhile True: m(0, 0, 0, 0, 0)"
    with Daemon() as d:
        s = d.sandbox()
        results = []

        def flood():
            results.append(d.post(f"/v1/sandboxes/{s}/exec", {"runtime": "python3", "code": code, "timeout_ms": 10000}))

        thread = threading.Thread(target=flood, daemon=True)
        thread.start()
        for _ in range(5):
            same(d.post(f"/v1/sandboxes/{s}/exec", {"command": ["true"]})["exit_code"], 0, "beside it")
            same(d.post("/v1/exec", {"command": ["true"]})["exit_code"], 0, "in another sandbox")
        thread.join(60)
        same([r["status"] for r in results], ["timeout"], "the flood")
        same(refused(results[0]), told("mount"), "violations")
