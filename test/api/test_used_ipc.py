"""IPC namespaces that serve again (jail/ipcns.c): only those in which nothing was ever made, and nothing tells that they did."""

import collections
import glob
import os
import platform
import time

import support
from daemon import Daemon
from support import ensure, same, test
from test_shared_view import refuse

HEAD = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
KEY, MAKE = 0x63656c6c, 0o1600
def call(name, *words):
    r = getattr(libc, name)(*words)
    return r if r >= 0 else errno.errorcode[ctypes.get_errno()]
"""

# What code can leave, or have had.  Of removed ones there were several: the kernel counts on from them.
MADE = {
    "memory": "assert call('shmget', KEY, 4096, MAKE) == 0",
    "memory, removed": "for i in range(4): call('shmctl', call('shmget', i, 4096, MAKE), 0, None)",
    "semaphores": "assert call('semget', KEY, 1, MAKE) == 0",
    "semaphores, removed": "for i in range(4): call('semctl', call('semget', 0, 1, MAKE), 0, 0)",
    "messages": "assert call('msgsnd', call('msgget', KEY, MAKE), b'12345678hello', 5, 0) == 0",
    "messages, removed": "for i in range(4): call('msgctl', call('msgget', 0, MAKE), 0, None)",
    "all of them": """
for name in ('shmget', 'semget', 'msgget'):
    assert call(name, KEY, *([] if name == 'msgget' else [1]), MAKE) == 0""",
}

# Without making anything, so that the namespace serves again.
LOOK = """
for name in ('shm', 'sem', 'msg'):
    print(name, len(open('/proc/sysvipc/' + name).readlines()) - 1)
print(call('shmget', KEY, 0, 0), call('semget', KEY, 0, 0), call('msgget', KEY, 0))
print(call('mq_open', b'/left', 0o102, 0o600, None), call('mq_unlink', b'/left'))
limits = (ctypes.c_ulong * 32)()
print(call('shmctl', 0, 3, limits), *limits[:5], call('msgctl', 0, 3, limits), call('semctl', 0, 0, 3, limits))  # 3: IPC_INFO
"""

# The first numbers, and whether others follow.
FIRST = """
print([call('shmget', 0, 4096, MAKE), call('shmget', KEY, 4096, MAKE)], [call('semget', 0, 1, MAKE), call('semget', KEY, 1, MAKE)],
      [call('msgget', 0, MAKE), call('msgget', KEY, MAKE)])
"""

# What only a right over the namespace could do: say that nothing was made, or change what holds in it.
CHANGE = """
for name in ('shm_next_id', 'sem_next_id', 'msg_next_id', 'shmmax', 'shmmni', 'shm_rmid_forced', 'msgmni', 'sem'):
    try:
        open('/proc/sys/kernel/' + name, 'w').write('0')
        print(name)
    except OSError:
        pass
print(call('setns', os.open('/proc/self/ns/ipc', os.O_RDONLY), 0x8000000), call('unshare', 0x8000000))
"""

WHERE = "import os; print(os.readlink('/proc/self/ns/ipc'))"


def held(d):
    """IPC namespaces of which the keeper has a descriptor: no new one has the number of one of these."""
    found = set()
    for fd in glob.glob(f"/proc/{d.process.pid}/fd/*"):
        try:
            link = os.readlink(fd)
        except OSError:
            continue
        if link.startswith("ipc:"):
            found.add(link)
    return found


def ask(d, code):
    r = d.exec("python3", HEAD + code)
    same((r["status"], r["exit_code"], r["stderr"]), ("exited", 0, ""), code, r)
    return r["stdout"]


@test(timeout=120)
def nothing_of_an_execution_is_there_in_the_next():
    with Daemon() as d:
        new = ask(d, LOOK)
        ensure(new.startswith("shm 0\nsem 0\nmsg 0\nENOENT ENOENT ENOENT\nENOSYS ENOSYS\n"), "what is in a new one", new)
        same(ask(d, FIRST), "[0, 1] [0, 1] [0, 1]\n", "the first numbers")
        for what, code in MADE.items():
            ask(d, code)
            for i in range(24):
                same(ask(d, LOOK), new, f"what is there after {what}, {i}")
            for i in range(6):
                same(ask(d, FIRST), "[0, 1] [0, 1] [0, 1]\n", f"the first numbers after {what}, {i}")


@test
def code_has_no_right_over_its_ipc_namespace():
    with Daemon() as d:
        new = ask(d, LOOK)
        for _ in range(3):
            same(ask(d, CHANGE), "EPERM EPERM\n", "what could be changed")
            same(ask(d, LOOK), new, "what is there after")


@test(users=["root"])
def ipc_namespaces_are_used_again():
    def ahead():
        return len(held(d)) >= 8

    with Daemon() as d:
        if not os.path.exists("/proc/sys/kernel/shm_next_id") or tuple(map(int, os.uname().release.split(".")[:2])) < (5, 19):
            return  # this kernel does not tell what was made in one
        support.until(ahead, what="namespaces that are made ahead")
        time.sleep(0.5)
        before = held(d)
        seen = collections.Counter(ask(d, WHERE).strip() for _ in range(50))
        again = before & held(d) & set(seen)
        ensure(again and max(seen[n] for n in again) >= 2, "a namespace that served twice", seen)
        # Of those in which something is made, none stays.
        for code in MADE.values():
            ask(d, code)
        place = ask(d, WHERE + "\n" + MADE["memory"]).strip()
        support.until(lambda: place not in held(d), what="the end of a namespace with a segment in it")


@test(users=["root"])
def one_that_lives_long_has_its_own():
    with Daemon() as d:
        support.until(lambda: held(d), what="namespaces that are made ahead")
        s = d.sandbox()
        place = d.exec("python3", WHERE, sandbox=s)["stdout"].strip()
        ensure(place.startswith("ipc:") and place not in held(d), "its own namespace", place)


@test(users=["root"])
def where_nothing_tells_each_has_a_new_one():
    """Without the call by which a namespace is marked (utimensat) there is none to keep, and no error."""
    with Daemon(before=lambda: refuse({"x86_64": 280, "aarch64": 88}[platform.machine()])) as d:
        for code in (LOOK, FIRST, *MADE.values(), LOOK):
            ask(d, code)
        same(ask(d, FIRST), "[0, 1] [0, 1] [0, 1]\n", "the first numbers")
        same(held(d), set(), "namespaces that are kept")
