"""Views that serve one sandbox after the other, as long as nobody wrote in them (jail/view_again.h): whatever one leaves there,
the next ones find what a new view shows."""

import platform
import re
import resource
import shlex

import support
from daemon import Daemon
from support import Skip, ensure, late, same, test

WITHOUT_POOLS = {"sandboxes": {"spare": 0}, "pools": [{"runtime": "python3", "size": 0}]}
LOOKS = 12  # more than groups that rest: the one that somebody left something in comes round

BEGIN = r"""
import array, ctypes, errno, fcntl, mmap, os, signal, socket, stat, struct, sys, time
PLACES = ("/tmp", "/workspace", "/run", "/dev/shm")
MINE = ("/workspace", "/run")
libc = ctypes.CDLL(None, use_errno=True)
def opened(place):
    return os.open(place, os.O_RDONLY | os.O_DIRECTORY)
def served():
    s = os.stat("/tmp")
    return s.st_ctime_ns > s.st_mtime_ns  # of one that was made ahead, whether times tell of every change was tried
"""

# All that can be seen of what can be written to, but for the times themselves.
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

# What is there, its modes, owners and sizes; much faster, so that many look while a view is good.
FIND = "exec find /tmp /workspace /run /dev/shm -printf '%p %y %m %U %G %s %n %b\\n'"

NUMBER = r"""
with open("/tmp/file", "x") as f:
    print(os.fstat(f.fileno()).st_ino)
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

WHAT_IS_SAID_OF_IT = {
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
HELD |= {what + ", on the way to nobody": code + ON_THEIR_WAY for what, code in HELD.items() if "keep" in code}

LATE = {
    "a process of its own session": ("if os.fork() == 0:\n    os.setsid()\n    while True: open('/tmp/left', 'w')\ntime.sleep(0.01)", {}),
    "an orphan": ("if os.fork() == 0:\n    if os.fork() == 0:\n        time.sleep(0.005)\n        while True: open('/run/left', 'w')\n    os._exit(0)\nos.wait()", {}),
    "one that is told to end": ("def end(*_):\n    open('/tmp/left', 'w')\n    os._exit(0)\nsignal.signal(signal.SIGTERM, end)\ntime.sleep(60)", {"timeout_ms": 100}),
    "one that does not end": ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n    open('/tmp/left', 'w'); os.unlink('/tmp/left')", {"timeout_ms": 100}),
    "one that kills itself": ("open('/workspace/left', 'w'); os.kill(os.getpid(), 9)", {}),
    "one that is stopped": ("open('/dev/shm/left', 'w'); os.kill(os.getpid(), signal.SIGSTOP)", {"timeout_ms": 100}),
    "one that is given files": ("open('/tmp/left', 'w')", {"files": {"given": "x"}}),
    "one that is given input": ("open('/tmp/left', 'w').write(sys.stdin.read())", {"stdin": "x" * 100000}),
    "one that fills all of it": ("try:\n    f = open('/tmp/left', 'wb')\n    while True: f.write(bytes(1 << 20))\nexcept OSError: pass", {"limits": {"disk_bytes": 16 << 20}}),
}  # fmt: skip


def shell(code):
    """One process, which is all that a sandbox may have had for its groups to serve again; and the interpreter writes nothing."""
    return f"exec /usr/bin/python3 -IS -c {shlex.quote(BEGIN + code)}"


def may_serve():
    """Groups serve again, times tell of every change, and there are descriptors for it."""
    version = tuple(int(n) for n in re.findall(r"\d+", platform.release())[:2])
    with open("/proc/mounts") as f:
        one = any(line.split()[2] == "cgroup" and "memory" in line.split()[3].split(",") for line in f)
    if version < (6, 13) or not one or resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 4096:
        raise Skip("views serve once with this kernel")


def run(d, code, **fields):
    r = d.exec("sh", shell(code), **fields)
    same((r["status"], r["stderr"]), ("exited", ""), "what looks", r)
    return r["stdout"]


def settle(d, **fields):
    """Until views serve again: where much was written, few are made."""
    for _ in range(100):
        modified, changed = d.exec("sh", "exec stat -c '%.9Y %.9Z' /tmp", **fields)["stdout"].split()
        if modified != changed:
            return
    late("no view serves again")


def leave(d, what, code, **fields):
    """In a view that is to serve again: until there is one."""
    like = {k: v for k, v in fields.items() if k == "limits"}
    for _ in range(20):
        settle(d, **like)
        r = d.exec("sh", shell("print(served(), flush=True)\n" + code), **fields)
        if r["stdout"] == "True\n":
            same(r["stderr"], "", f"leaving {what}", r)
            return
    late(f"no view served for {what}", r)


def found(d, **fields):
    r = d.exec("sh", FIND, **fields)
    same((r["status"], r["stderr"]), ("exited", ""), "what looks", r)
    return r["stdout"]


def nothing_is_left(ways):
    may_serve()
    with Daemon(settings=WITHOUT_POOLS) as d:
        for what, code in ways.items():
            code, fields = code if isinstance(code, tuple) else (code, {})
            like = {k: v for k, v in fields.items() if k == "limits"}
            new, all_new = found(d, **like), run(d, LOOK, **like)
            same(len(new.splitlines()), 4, "what is found where nothing is", new)
            ensure("[] 0o41777" in all_new and "False" not in all_new, "what is new", all_new)
            for thorough in (False, True):
                leave(d, what, code, **fields)
                for _ in range(LOOKS):
                    if thorough:
                        same(run(d, LOOK, **like), all_new, f"what is there after {what}")
                    else:
                        same(found(d, **like), new, f"what is there after {what}")


@test(users=["root"])
def views_serve_again():
    may_serve()
    where = "exec stat -Lc %i /proc/self/ns/mnt"
    with Daemon(settings=WITHOUT_POOLS) as d:
        seen = [d.exec("sh", where)["stdout"] for _ in range(60)]
        ensure(len(set(seen)) < 50, "views serve again", seen)
        for _ in range(20):
            same(run(d, "print(os.listdir('/tmp'))\nopen('/tmp/left', 'w')"), "[]\n", "what code sees that writes")
        settle(d)
        seen = [d.exec("sh", where)["stdout"] for _ in range(60)]
        ensure(len(set(seen)) < 50, "when it writes no more, they serve again", seen)


@test(users=["root"], timeout=180)
def of_files_nothing_is_left():
    nothing_is_left(FILES)


@test(users=["root"], timeout=180)
def of_files_without_a_name_nothing_is_left():
    """They change no directory."""
    nothing_is_left(WITHOUT_NAMES)


@test(users=["root"])
def the_number_of_a_file_tells_how_often_a_view_has_served():
    """And not how many files there were that nobody sees any more."""
    may_serve()
    with Daemon(settings=WITHOUT_POOLS) as d:
        for _ in range(3):
            leave(d, "files without a name", WITHOUT_NAMES["closed"])
            for _ in range(LOOKS):
                number = d.exec("sh", ": >/tmp/file; exec stat -c %i /tmp/file")["stdout"]
                ensure(int(number) < 500, "the number of the next file", number)


@test(users=["root"], timeout=180)
def of_what_is_said_of_a_directory_nothing_is_left():
    nothing_is_left(WHAT_IS_SAID_OF_IT)


@test(users=["root"], timeout=180)
def of_what_is_held_nothing_is_left():
    nothing_is_left(HELD)


@test(users=["root"], timeout=180)
def of_who_writes_late_nothing_is_left():
    nothing_is_left(LATE)


@test(users=["root"])
def a_view_serves_only_with_its_own_limits():
    may_serve()
    room = "v = os.statvfs('/tmp'); print(v.f_blocks * v.f_frsize >> 10, v.f_files)"
    with Daemon(settings=WITHOUT_POOLS) as d:
        said = {}
        for _ in range(12):
            for limits in ({}, {"disk_bytes": 8 << 20}, {"disk_inodes": 1000}, {"disk_bytes": 8 << 20, "disk_inodes": 1000}):
                said.setdefault(str(limits), set()).add(run(d, room, limits=limits))
        same([len(s) for s in said.values()], [1] * 4, "what is said of each", said)
        same(len(set().union(*said.values())), 4, "of different ones", said)


@test(users=["root"])
def who_leaves_much_is_not_waited_for():
    """The last who has a view takes apart what is in it; that must not be the keeper."""
    may_serve()
    much = "for i in range(30):\n    os.mkdir(f'/tmp/{i}')\n    for j in range(1000): os.close(os.open(f'/tmp/{i}/{j}', os.O_CREAT | os.O_WRONLY))"
    with Daemon(settings=WITHOUT_POOLS) as d:

        def ran():
            with open(f"/proc/{d.process.pid}/schedstat") as f:
                return int(f.read().split()[0]) / 1e6

        took = []
        for _ in range(40):
            settle(d)
            before = ran()
            r = d.exec("sh", shell("print(served(), flush=True)\n" + much))
            d.exec("sh", ":")  # it has done all that was to be done for the last one
            if r["stdout"] == "True\n":
                took.append(ran() - before)
            if len(took) == 14:
                break
        ensure(took, "no view served again")
        support.within(max(took) / 1000, 0.1, "the keeper's CPU time")
