"""Pseudo-terminals that code makes itself: in every kind of sandbox, and separate from those of other sandboxes."""

from support import ensure, same, test
from test_shared_view import shared

OPENPTY = """
import os
master, slave = os.openpty()
os.write(master, b"typed\\n")
print(os.ttyname(slave), os.read(slave, 100), sorted(os.listdir("/dev/pts")))
"""
SHOWN = "/dev/pts/0 b'typed\\n' ['0', 'ptmx']\n"


@test
def every_kind_of_sandbox_has_terminals(d):
    same(d.exec("python3", OPENPTY)["stdout"], SHOWN, "one execution")
    same(d.exec("python3", OPENPTY, env={"PYTHONHASHSEED": "1"})["stdout"], SHOWN, "an interpreter that is started for it")
    same(d.exec("python3", OPENPTY, session="s")["stdout"], SHOWN, "a session")
    same(d.exec("python3", OPENPTY, session="s")["stdout"], SHOWN, "a session again: the first terminal is gone")
    s = d.sandbox()
    same(d.exec("python3", OPENPTY, s)["stdout"], SHOWN, "a sandbox that stays")
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    same(d.post(f"/v1/sandboxes/{s}/contexts/{c}/run", {"code": OPENPTY})["stdout"], SHOWN, "a context")
    r = d.post("/v1/tools/execute_python", {"code": OPENPTY})
    ensure(SHOWN in (r["stdout"] if "stdout" in r else str(r)), "a tool", r)


@test(settings={"pools": [{"runtime": "python3", "size": 1}]})
def an_interpreter_of_a_pool_has_terminals(d):
    for _ in range(3):
        same(d.exec("python3", OPENPTY)["stdout"], SHOWN, "its terminal")


HOLD = """
import os, time
fds = os.openpty()
os.write(fds[0], b"of another sandbox\\n")
print(os.stat("/dev/pts").st_dev, flush=True)
time.sleep(1000)
"""
LOOK = 'import os; print(os.stat("/dev/pts").st_dev, os.listdir("/dev/pts"))'


def separate(d):
    with d.events("POST", "/v1/exec", {"runtime": "python3", "code": HOLD, "limits": {"timeout_ms": 600000}}) as holder:
        theirs = holder.read_until("\n").strip()
        for _ in range(3):
            device, names = d.exec("python3", LOOK)["stdout"].split(" ", 1)
            same(names, "['ptmx']\n", "what is in /dev/pts")
            ensure(device != theirs, f"two sandboxes have the same /dev/pts, device {device}")


@test(users=["root"])
def sandboxes_with_a_shared_view_have_their_own_terminals(d):
    shared(d)
    separate(d)


@test
def sandboxes_at_the_same_time_have_their_own_terminals(d):
    separate(d)
