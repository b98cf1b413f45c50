"""The log has a row before the code can do anything: the daemon is killed at the moment of the first effect.

The server stands still after each system call with which it may have released the code.  If the code has left
its mark by then, the server is killed there, and the next daemon must know of the execution."""

import contextlib
import os
import threading
import time

import support
from daemon import Daemon, WebSocket, descendants
from support import ensure, same, test
from tracer import Tracer

LOOK = 0.15  # seconds that the code gets for its mark; too short only means that a later call is held as well
CALLS_MAX = 400
LEAVE_MARK = {"sh": "touch mark; sleep 60", "python3": "open('mark', 'w').close()\nimport time; time.sleep(60)",
              "node": "require('fs').writeFileSync('mark', ''); setTimeout(() => 1, 60000)"}  # fmt: skip


def marked(d, directories):
    """Whether the file is there: in a directory of the host, or in the workspace of any of the daemon's processes."""
    places = [f"/proc/{pid}/root/workspace" for pid in descendants(d.process.pid)] + directories
    for place in places:
        with contextlib.suppress(OSError):
            if os.path.lexists(os.path.join(place, "mark")):
                return True
    return False


def wait_for_mark(d, directories):
    end = time.monotonic() + LOOK
    while time.monotonic() < end:
        if marked(d, directories):
            return True
        time.sleep(0.005)
    return marked(d, directories)


def killed_at_first_effect(d, begin, directories=()):
    """Runs begin() in a thread, and kills the server after the call that released the code."""
    pid = d.server_pid()
    known = {r["id"] for r in d.rows()}
    tracer = Tracer(pid)
    asking = threading.Thread(target=quiet, args=(begin,), daemon=True)
    asking.start()
    for _ in range(CALLS_MAX):
        tracer.until_sent()
        if wait_for_mark(d, list(directories)):
            break
    else:
        support.fail(f"the code left no mark after {CALLS_MAX} calls")
    tree = descendants(d.process.pid)
    tracer.kill()
    support.reap(d.process, 20)
    d.left_nothing(tree, {}, 5)
    asking.join(60)
    d.start()
    new = [r for r in d.rows() if r["id"] not in known]
    same([r["status"] for r in new], ["interrupted"], "the log after kill -9 at the first effect")
    same(d.get("/v1/executions/verify", unix=True)["ok"], True, "the chain")
    return new[0]


def quiet(call):
    with contextlib.suppress(Exception):
        call()


def post(d, path, body):
    return lambda: d.request("POST", path, body, unix=True)


@test(users=("root",), timeout=60)
def an_execution_is_in_the_log_before_its_code_runs(d):
    for runtime, code in LEAVE_MARK.items():
        for path in ("warm", "cold"):
            # A pool hands out interpreters that wait; a working directory is something they cannot have.
            more = {"cwd": "/workspace"} if path == "cold" else {}
            row = killed_at_first_effect(d, post(d, "/v1/exec", {"runtime": runtime, "code": code, **more}))
            same((row["runtime"], row["preview"]), (runtime, code), f"the row of {runtime}, {path}")
    row = killed_at_first_effect(d, post(d, "/v1/exec", {"command": ["sh", "-c", LEAVE_MARK["sh"]]}))
    ensure("touch mark" in row["preview"], "the row of a command")


@test(users=("root",), timeout=60)
def an_execution_in_a_sandbox_is_logged_before_it_runs(d):
    shell, python = {"runtime": "sh", "code": LEAVE_MARK["sh"]}, {"runtime": "python3", "code": LEAVE_MARK["python3"]}
    killed_at_first_effect(d, post(d, f"/v1/sandboxes/{d.sandbox()}/exec", shell))
    killed_at_first_effect(d, post(d, f"/v1/sandboxes/{d.sandbox()}/exec", python))
    killed_at_first_effect(d, post(d, f"/v1/sandboxes/{d.sandbox()}/processes", shell))
    s = d.sandbox()
    killed_at_first_effect(d, lambda: WebSocket(d, f"/v1/sandboxes/{s}/terminal?command=sh&command=-c&command=touch+mark%3Bsleep+60", unix=True))
    for runtime, code in (("python3", python["code"]), ("bash", shell["code"]), ("node", LEAVE_MARK["node"])):
        s = d.sandbox()
        c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": runtime}, 201, unix=True)["id"]
        killed_at_first_effect(d, post(d, f"/v1/sandboxes/{s}/contexts/{c}/run", {"code": code}))


@test(users=("root",), timeout=60)
def an_execution_by_a_tool_is_logged_before_it_runs(d):
    killed_at_first_effect(d, post(d, "/v1/tools/sandbox.exec", {"runtime": "sh", "code": LEAVE_MARK["sh"], "timeout_ms": 60000}))
    killed_at_first_effect(d, post(d, "/v1/tools/execute_shell", {"command": LEAVE_MARK["sh"]}))
    killed_at_first_effect(d, post(d, "/v1/tools/execute_python", {"code": LEAVE_MARK["python3"]}))


@test(users=("root",), timeout=60)
def an_execution_on_the_host_or_its_directories_is_logged_before_it_runs():
    root = os.path.join(support.home, "agents")
    place = os.path.join(root, "one")
    os.makedirs(place)
    os.chmod(root, 0o777)
    os.chmod(place, 0o777)
    with Daemon(settings={"workspace_root": root, "workspace": "rw"}) as d:
        killed_at_first_effect(d, post(d, "/v1/exec", {"runtime": "sh", "code": LEAVE_MARK["sh"], "agent": "one"}), [place])
        d.ok("PATCH", "/v1/settings", {"mode": "off", "workspace": "none"}, unix=True)
        os.unlink(os.path.join(place, "mark"))
        row = killed_at_first_effect(d, post(d, "/v1/exec", {"runtime": "sh", "code": f"cd {place}; " + LEAVE_MARK["sh"]}), [place])
        same(row["sandbox"][:4], "sbx_", "the row of a host execution")
