"""What one execution leaves in the places that it can write to, and in its IPC namespace, is not there in the next one:
both are new for each sandbox."""

import shlex

from daemon import Daemon, begun
from support import ensure, same, test

WITHOUT_POOLS = {"sandboxes": {"spare": 0}, "pools": [{"runtime": "python3", "size": 0}]}
LOOKS = 3  # after each

BEGIN = r"""
import array, ctypes, errno, fcntl, mmap, os, signal, socket, stat, struct, sys, time
PLACES = ("/tmp", "/workspace", "/run", "/dev/shm")
MINE = ("/workspace", "/run")
libc = ctypes.CDLL(None, use_errno=True)
def opened(place):
    return os.open(place, os.O_RDONLY | os.O_DIRECTORY)
"""

# Prints everything visible in the writable places, except the timestamps.
LOOK = r"""
for place in PLACES:
    s, fd, flags = os.stat(place), opened(place), array.array("l", [0])
    print(place, os.listdir(place), oct(s.st_mode), s.st_uid, s.st_gid, s.st_size, s.st_nlink, s.st_blocks)
    print(s.st_atime_ns <= s.st_mtime_ns <= s.st_ctime_ns, s.st_atime_ns > time.time_ns() - 60 * 10**9, os.listxattr(place))
    fcntl.ioctl(fd, 0x80086601, flags)
    print(flags[0], fcntl.fcntl(fd, 36, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0))[:2] == struct.pack("h", fcntl.F_UNLCK))
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    v = os.statvfs(place)
    print(v.f_blocks, v.f_bfree, v.f_bavail, v.f_files, v.f_ffree, v.f_favail, v.f_flag)
print(os.listdir("/proc/self/fd"), [n for n in os.listdir("/proc") if n.isdigit()])
"""

FILES = {
    "a file": "for p in PLACES: open(p + '/left', 'w').write('x')",
    "a file in one place": "open('/dev/shm/left', 'w')",
    "a directory": "for p in PLACES: os.mkdir(p + '/left')",
    "a symbolic link": "os.symlink('/etc/passwd', '/tmp/left')",
    "a fifo": "os.mkfifo('/run/left')",
    "a socket": "socket.socket(socket.AF_UNIX).bind('/tmp/left')",
    "a hard link": "open('/tmp/left', 'w'); os.link('/tmp/left', '/tmp/other')",
    "a file that is removed": "open('/tmp/left', 'w'); os.unlink('/tmp/left')",
    "a directory that is removed": "os.mkdir('/workspace/left'); os.rmdir('/workspace/left')",
    "a file that is moved and removed": "open('/tmp/left', 'w'); os.rename('/tmp/left', '/tmp/other'); os.unlink('/tmp/other')",
    "a removed file in memory": "f = open('/dev/shm/left', 'w+b'); os.unlink('/dev/shm/left'); f.truncate(1 << 20); m = mmap.mmap(f.fileno(), 1 << 20); m[:] = bytes(1 << 20)",
    "through /proc/self/fd": "open('/proc/self/fd/%d/left' % opened('/tmp'), 'w').write('x')",
    "shared memory": "libc.shm_open(b'/left', 0o102, 0o600)",
    "a semaphore": "libc.sem_open.restype = ctypes.c_void_p; libc.sem_open(b'/left', 0o100, 0o600, 1)",
    "the last moment": "import atexit\natexit.register(lambda: open('/tmp/left', 'w'))\nos.close(1)\nos.close(2)",
    "a file beside a time that is put back": "s = os.stat('/workspace'); open('/workspace/left', 'w'); os.utime('/workspace', ns=(s.st_atime_ns, s.st_mtime_ns))",
}  # fmt: skip

WITHOUT_NAMES = {
    "kept": "f = os.open('/tmp', os.O_TMPFILE | os.O_RDWR); os.write(f, b'x' * 100000)",
    "closed": "for _ in range(1000): os.close(os.open('/tmp', os.O_TMPFILE | os.O_RDWR))",
    "one, closed": "os.close(os.open('/dev/shm', os.O_TMPFILE | os.O_RDWR))",
    "linked": "f = os.open('/tmp', os.O_TMPFILE | os.O_RDWR); assert libc.linkat(-100, b'/proc/self/fd/%d' % f, -100, b'/tmp/left', 0x400) == 0",
    "in memory": "f = os.open('/run', os.O_TMPFILE | os.O_RDWR); os.ftruncate(f, 1 << 20); m = mmap.mmap(f, 1 << 20); os.close(f); m[:] = bytes(1 << 20)",
    "on their way": "a, b = socket.socketpair(); f = os.open('/tmp', os.O_TMPFILE | os.O_RDWR); os.write(f, b'x' * 100000); socket.send_fds(a, [b'x'], [f, b.fileno()]); socket.send_fds(b, [b'x'], [f, a.fileno()])",
}  # fmt: skip

ATTRIBUTES = {
    "another mode": "for p in MINE: os.chmod(p, 0o777)",
    "a mode that is put back": "for p in MINE: os.chmod(p, 0o777); os.chmod(p, {'/workspace': 0o755, '/run': 0o700}[p])",
    "the owner that it has": "os.chown('/workspace', os.getuid(), os.getgid())",
    "another time": "os.utime('/workspace', (1, 1))",
    "the very time that it has": "for p in MINE: s = os.stat(p); os.utime(p, ns=(s.st_atime_ns, s.st_mtime_ns))",
    "another time that is put back": "s = os.stat('/run'); os.utime('/run', (1, 1)); os.utime('/run', ns=(s.st_atime_ns, s.st_mtime_ns))",
    "an attribute": "os.setxattr('/workspace', 'user.left', b'x')",
    "an attribute that is removed": "os.setxattr('/workspace', 'user.left', b'x'); os.removexattr('/workspace', 'user.left')",
    "a list of rights": "os.setxattr('/workspace', 'system.posix_acl_default', struct.pack('<I' + 'HHI' * 4, 2, 1, 7, 0xffffffff, 4, 5, 0xffffffff, 0x10, 5, 0xffffffff, 0x20, 5, 0xffffffff))",
    "a flag": "fcntl.ioctl(opened('/workspace'), 0x40086602, array.array('l', [0x40]))",
    "its own name": "try: os.rename('/workspace', '/workspace')\nexcept OSError: pass",
}  # fmt: skip

HELD = {
    "flock": "keep = [opened(p) for p in PLACES]\nfor fd in keep: fcntl.flock(fd, fcntl.LOCK_EX)",
    "locks of a process": "keep = [opened(p) for p in PLACES]\nfor fd in keep: fcntl.lockf(fd, fcntl.LOCK_SH)",
    "locks of a descriptor": "keep = [opened(p) for p in PLACES]\nfor fd in keep: fcntl.fcntl(fd, 37, struct.pack('hhqqi', fcntl.F_RDLCK, 0, 0, 0, 0))",
    "directories": "keep = [opened(p) for p in PLACES]; os.chdir('/run')",
    "watches": "fd = libc.inotify_init()\nfor p in PLACES: libc.inotify_add_watch(fd, p.encode(), 0xfff)",
}  # fmt: skip
ON_THEIR_WAY = "\na, b = socket.socketpair()\nsocket.send_fds(a, [b'x'], [*keep, b.fileno()])\nsocket.send_fds(b, [b'x'], [*keep, a.fileno()])"
HELD |= {what + ", in a socket without a receiver": code + ON_THEIR_WAY for what, code in HELD.items() if "keep" in code}

LATE = {
    "a process of its own session": ("if os.fork() == 0:\n    os.setsid()\n    while True: open('/tmp/left', 'w')\ntime.sleep(0.01)", {}),
    "an orphan": ("if os.fork() == 0:\n    if os.fork() == 0:\n        time.sleep(0.005)\n        while True: open('/run/left', 'w')\n    os._exit(0)\nos.wait()", {}),
    "one that gets SIGTERM": ("def end(*_):\n    open('/tmp/left', 'w')\n    os._exit(0)\nsignal.signal(signal.SIGTERM, end)\ntime.sleep(60)", {"timeout_ms": 2000}),
    "one that does not end": ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n    open('/tmp/left', 'w'); os.unlink('/tmp/left')", {"timeout_ms": 2000}),
    "one that kills itself": ("open('/workspace/left', 'w'); os.kill(os.getpid(), 9)", {}),
    "one that is stopped": ("open('/dev/shm/left', 'w'); os.kill(os.getpid(), signal.SIGSTOP)", {"timeout_ms": 2000}),
    "one that is given files": ("open('/tmp/left', 'w')", {"files": {"given": "x"}}),
    "one that is given input": ("open('/tmp/left', 'w').write(sys.stdin.read())", {"stdin": "x" * 100000}),
    "one that fills all of it": ("try:\n    f = open('/tmp/left', 'wb')\n    while True: f.write(bytes(1 << 20))\nexcept OSError: pass", {"limits": {"disk_bytes": 16 << 20}}),
}  # fmt: skip


IPC_BEGIN = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
KEY, MAKE = 0x63656c6c, 0o1600
def call(name, *words):
    r = getattr(libc, name)(*words)
    return r if r >= 0 else errno.errorcode[ctypes.get_errno()]
"""

# IPC objects that code leaves, or has removed.  Several are removed, because the kernel's numbers continue from them.
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

IPC_LOOK = """
for name in ('shm', 'sem', 'msg'):
    print(name, len(open('/proc/sysvipc/' + name).readlines()) - 1)
print(call('shmget', KEY, 0, 0), call('semget', KEY, 0, 0), call('msgget', KEY, 0))
print(call('mq_open', b'/left', 0o102, 0o600, None), call('mq_unlink', b'/left'))
limits = (ctypes.c_ulong * 32)()
print(call('shmctl', 0, 3, limits), *limits[:5], call('msgctl', 0, 3, limits), call('semctl', 0, 0, 3, limits))  # 3: IPC_INFO
"""

# The first numbers that the kernel assigns, and whether others follow.
FIRST = """
print([call('shmget', 0, 4096, MAKE), call('shmget', KEY, 4096, MAKE)], [call('semget', 0, 1, MAKE), call('semget', KEY, 1, MAKE)],
      [call('msgget', 0, MAKE), call('msgget', KEY, MAKE)])
"""

# Operations that need rights over the namespace: set the next number, or change its limits.
CHANGE = """
for name in ('shm_next_id', 'sem_next_id', 'msg_next_id', 'shmmax', 'shmmni', 'shm_rmid_forced', 'msgmni', 'sem'):
    try:
        open('/proc/sys/kernel/' + name, 'w').write('0')
        print(name)
    except OSError:
        pass
print(call('setns', os.open('/proc/self/ns/ipc', os.O_RDONLY), 0x8000000), call('unshare', 0x8000000))
"""


def shell(code):
    """A shell command: one Python process, which writes no files of its own (no bytecode, no user site)."""
    return f"exec /usr/bin/python3 -IS -c {shlex.quote(BEGIN + code)}"


def look(d, **fields):
    r = d.exec("sh", shell(LOOK), **fields)
    same((r["status"], r["stderr"]), ("exited", ""), "what looks", r)
    return r["stdout"]


def nothing_is_left(ways):
    with Daemon(settings=WITHOUT_POOLS) as d:
        for what, code in ways.items():
            code, fields = code if isinstance(code, tuple) else (code, {})
            like = {k: v for k, v in fields.items() if k == "limits"}
            new = look(d, **like)
            ensure("[] 0o41777" in new and "False" not in new, "what is new", new)
            r = begun(d.exec("sh", shell("print('here', flush=True)\n" + code), **fields))
            same((r["stdout"], r["stderr"]), ("here\n", ""), f"leaving {what}", r)
            for _ in range(LOOKS):
                same(look(d, **like), new, f"what is there after {what}")


@test(timeout=180)
def files_of_a_sandbox_are_not_in_the_next():
    nothing_is_left(FILES)


@test(timeout=180)
def unlinked_files_of_a_sandbox_are_not_in_the_next():
    """They change no directory."""
    nothing_is_left(WITHOUT_NAMES)


@test(timeout=180)
def attributes_of_directories_are_not_in_the_next_sandbox():
    nothing_is_left(ATTRIBUTES)


@test(timeout=180)
def locks_and_open_directories_are_not_in_the_next_sandbox():
    nothing_is_left(HELD)


@test(timeout=180)
def writes_of_late_processes_are_not_in_the_next_sandbox():
    nothing_is_left(LATE)


@test(users=["root"], settings=WITHOUT_POOLS)
def each_sandbox_has_a_disk_of_its_own_size(d):
    room = "v = os.statvfs('/tmp'); print(v.f_blocks * v.f_frsize >> 10, v.f_files)"
    said = {}
    for _ in range(4):
        for limits in ({}, {"disk_bytes": 8 << 20}, {"disk_inodes": 1000}, {"disk_bytes": 8 << 20, "disk_inodes": 1000}):
            said.setdefault(str(limits), set()).add(d.exec("sh", shell(room), limits=limits)["stdout"])
    same([len(s) for s in said.values()], [1] * 4, "what is said of each", said)
    same(len(set().union(*said.values())), 4, "of different ones", said)


def ask(d, code):
    r = d.exec("python3", IPC_BEGIN + code)
    same((r["status"], r["exit_code"], r["stderr"]), ("exited", 0, ""), code, r)
    return r["stdout"]


@test(timeout=120)
def ipc_objects_are_not_in_the_next_sandbox(d):
    new = ask(d, IPC_LOOK)
    ensure(new.startswith("shm 0\nsem 0\nmsg 0\nENOENT ENOENT ENOENT\nENOSYS ENOSYS\n"), "what is in a new one", new)
    for what, code in MADE.items():
        ask(d, code)
        for _ in range(LOOKS):
            same(ask(d, IPC_LOOK), new, f"what is there after {what}")
            same(ask(d, FIRST), "[0, 1] [0, 1] [0, 1]\n", f"the first numbers after {what}")


@test
def code_has_no_right_over_its_ipc_namespace(d):
    for _ in range(3):
        same(ask(d, CHANGE), "EPERM EPERM\n", "what could be changed")
