"""Sandboxes with a view of the machine that was built once for many (jail/view_shared.c): each looks as if it had its own, and
nothing gets from one to another through what they share."""

import concurrent.futures
import ctypes
import os
import platform
import struct
import tempfile
import time

import support
from daemon import Daemon
from support import ensure, run, same, test

# What the view looks like: every file outside of /usr and /proc, what can be written, and how mounts are protected.
LOOK = r"""
import errno, os, stat, zlib
def show(path):
    s = os.lstat(path)
    what = os.readlink(path) if stat.S_ISLNK(s.st_mode) else oct(s.st_mode)
    print(path, what, s.st_uid, s.st_gid, s.st_rdev, s.st_nlink if stat.S_ISDIR(s.st_mode) and path != "/proc" else "")
def walk(path):
    show(path)
    if os.path.islink(path) or not os.path.isdir(path) or path in ("/proc", "/usr", "/workspace"):
        return
    try:
        names = sorted(os.listdir(path))
    except OSError as e:
        print("  ", e.errno)
        return
    for name in names:
        walk(os.path.join(path, name))
for name in sorted(os.listdir("/")):
    walk("/" + name)
show("/")
for place in ("/", "/usr", "/etc", "/etc/ssl", "/dev", "/dev/shm", "/tmp", "/run", "/workspace", "/var", "/var/empty", "/var/tmp", "/proc", "/proc/sys", "/proc/sys/kernel"):
    try:
        with open(place + "/cella-test", "x"):
            pass
        os.unlink(place + "/cella-test")
        print(place, "can be written")
    except OSError as e:
        print(place, e.errno)
for file in ("/etc/passwd", "/etc/hosts", "/usr/bin/env", "/proc/sys/kernel/hostname", "/proc/sys/kernel/random/uuid", "/proc/uptime", "/proc/locks"):
    for what in (lambda: open(file, "r+b"), lambda: os.utime(file), lambda: os.chmod(file, 0o777), lambda: open(file, "rb").read(1)):
        try:
            what()
            print(file, "yes")
        except OSError as e:
            print(file, "no" if e.errno in (errno.EPERM, errno.EROFS) else e.errno)
# Where a view is shared, some mounts are files instead, and /dev is one.
FILES = ["/etc/ld.so.cache", "/etc/matplotlibrc", "/etc/protocols", "/etc/services", "/etc/ssl/openssl.cnf"]
DEVICES = ["/dev/" + name for name in ("null", "zero", "full", "random", "urandom", "tty")]
for file in FILES:
    if os.path.exists(file):
        print(file, zlib.crc32(open(file, "rb").read()))
for device in DEVICES:
    for mode in ("rb", "wb"):
        try:
            with open(device, mode, 0) as f:
                print(device, len(f.read(3)) if mode == "rb" else f.write(b"x"))
        except OSError as e:
            print(device, mode, e.errno)
top = {}
for line in open("/proc/self/mountinfo"):
    left, right = line.rstrip().split(" - ")
    f = left.split()
    top[f[4]] = (sorted(o for o in f[5].split(",") if o != "relatime"), right.split()[0], f[6:])
for place in sorted(set(top) - {*FILES, *DEVICES, "/dev"}):
    print(place, *top[place])
s = os.statvfs("/tmp")
print("room", s.f_bavail * s.f_frsize >> 20)
"""

COUNT = "print(sum(1 for l in open('/proc/self/mountinfo') if l.split()[4] == '/dev/shm'))"


def shared(d):
    """Waits for the shared view: until the first sandbox has handed over its view, others build their own."""
    support.until(lambda: d.exec("python3", COUNT)["stdout"] == "2\n", what="a view that is shared")


def compare_with_a_private_view(nodes, before=None):
    """nodes: whether /dev is one mount with all device nodes."""
    with Daemon(before=before) as d:
        shared(d)
        count = "grep -c ' /dev ' /proc/self/mountinfo; grep -c ' /dev/null ' /proc/self/mountinfo"
        support.until(lambda: d.exec("sh", count)["stdout"].split() == (["1", "0"] if nodes else ["0", "1"]), what="mounts of all devices, and of one")
        own = run("--", "/usr/bin/python3", "-c", LOOK)
        same(own.rc, 0, "its own", own)
        r = d.exec("python3", LOOK)
        same((r["status"], r["stderr"]), ("exited", ""), "shared", r)
        ensure(len(own.out.splitlines()) > 100, "there is something to see", own)
        mine, theirs = own.out.splitlines(), r["stdout"].splitlines()
        same(sorted(set(mine) - set(theirs)), sorted(set(theirs) - set(mine)), "what one has and the other has not")


@test(users=["root"])
def a_shared_view_looks_like_a_private_one():
    compare_with_a_private_view(True)


@test(users=["root"])
def a_shared_view_without_nodes_of_its_own_looks_the_same():
    compare_with_a_private_view(False, before=lambda: refuse(33 if platform.machine() == "aarch64" else 259))  # mknodat


@test(users=["root"])
def files_that_are_not_world_readable_are_not_copied():
    """The process that builds a view can read this file.  The test puts it into the daemon's mount namespace instead of the host's file."""
    with tempfile.TemporaryDirectory() as where:
        secret = os.path.join(where, "cache")
        with open(secret, "w") as f:
            f.write("secret")
        os.chmod(secret, 0o640)

        def cover():
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.unshare(0x20000) or libc.mount(None, b"/", None, 0x4000 | 0x40000, None) or \
               libc.mount(secret.encode(), b"/etc/ld.so.cache", None, 0x1000, None):  # fmt: skip
                raise OSError(ctypes.get_errno(), "mount")

        with Daemon(before=cover) as d:
            shared(d)
            r = d.exec("sh", "ls -l /etc/ld.so.cache | cut -c1-10; cat /etc/ld.so.cache")
            same((r["stdout"], "Permission denied" in r["stderr"]), ("-rw-r-----\n", True), "the file", r)


@test(users=["root"])
def files_of_a_sandbox_are_not_in_the_next_with_its_view(d):
    leave = r"""
import os
for place in ("/tmp", "/dev/shm", "/run", "/workspace"):
    open(place + "/left", "w").write("x")
    os.mkdir(place + "/directory")
os.symlink("/etc/passwd", "/tmp/link")
os.chmod("/workspace", 0o777)
os.chmod("/run", 0o755)
"""
    look = r"""
import os
print([p + "/" + n for p in ("/tmp", "/dev/shm", "/run", "/workspace") for n in os.listdir(p)],
      oct(os.stat("/workspace").st_mode), oct(os.stat("/run").st_mode))
"""
    shared(d)
    clean = d.exec("python3", look)["stdout"]
    for _ in range(10):
        same(d.exec("python3", leave)["exit_code"], 0, "to leave something")
        same(d.exec("python3", look)["stdout"], clean, "what is there then")


@test(users=["root"])
def files_below_dev_shm_cannot_be_reached(d):
    """The tmpfs for all writable directories is mounted at /dev/shm, and covered."""
    code = r"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def try_(name, *a):
    ctypes.set_errno(0)
    print(name, getattr(libc, name)(*a), ctypes.get_errno())
try_("umount2", b"/dev/shm", 2)
try_("umount2", b"/proc", 2)
try_("umount2", b"/tmp", 2)
try_("mount", None, b"/", None, 0x20 | 0x1000, None)
try_("mount", b"/", b"/tmp", None, 0x1000, None)
try_("unshare", 0x20000)
try_("unshare", 0x10000000 | 0x20000)
try_("chroot", b"/dev/shm")
print(os.path.exists("/dev/shm/shm"), os.path.exists("/dev/shm/workspace"), os.path.exists("/proc/1/root/dev/shm/shm"))
"""
    shared(d)
    lines = d.exec("python3", code)["stdout"].splitlines()
    same(lines[-1], "False False False", "what can be seen", lines)
    for line in lines[:-1]:
        ensure(line.split()[1] == "-1" and line.split()[2] in ("1", "38"), f"it was let: {line}")


@test(users=["root"])
def the_limit_on_disk_covers_all_writable_directories_together(d):
    code = r"""
import os
done = 0
for place in ("/tmp", "/dev/shm", "/run", "/workspace"):
    try:
        with open(place + "/f", "wb") as f:
            for _ in range(%d):
                done += f.write(bytes(1 << 20))
    except OSError as e:
        print(place, e.errno)
print(done >> 20)
"""
    shared(d)
    r = d.exec("python3", code % 24, limits={"disk_bytes": 64 << 20})
    same(r["stdout"].splitlines()[0], "/run 28", "where it is full", r)
    r = d.exec("python3", code % 15, limits={"disk_bytes": 64 << 20})
    same(r["stdout"], "60\n", "what there is room for", r)


@test(users=["root"])
def a_view_is_shared_for_three_seconds(d):
    """What the host shows may have been replaced since, as by ldconfig.  What counts is when a sandbox is made: it may wait in the pool for longer."""
    look = "import os; r, own = os.stat('/'), os.stat('/tmp'); print(r.st_dev, own.st_dev, r.st_ctime_ns, own.st_ctime_ns)"
    shared(d)
    ages = {}  # the age of each view, in seconds, when a sandbox got it
    begun = time.monotonic()
    while time.monotonic() < begun + 7:
        root, own, view_made, sandbox_made = d.exec("python3", look)["stdout"].split()
        if root != own:  # otherwise this sandbox built its own view
            ages.setdefault(view_made, []).append((int(sandbox_made) - int(view_made)) / 1e9)
        time.sleep(0.02)
    if max(map(len, ages.values())) < 2:
        support.late(f"no two executions in three seconds: {ages}")
    for of_view in ages.values():  # a sandbox is made a moment after its view was chosen
        ensure(0 <= min(of_view) and max(of_view) < 3 + 2 * support.slack, f"ages of one view: {of_view}")


@test(users=["root"])
def parallel_executions_see_the_same_while_views_are_replaced():
    code = "import os; print(sorted(os.listdir('/')), len(os.listdir('/tmp')))"
    with Daemon() as d, concurrent.futures.ThreadPoolExecutor(8) as pool:
        first = d.exec("python3", code)["stdout"]
        for _ in range(3):
            for r in pool.map(lambda _: d.exec("python3", code), range(24)):
                same((r["status"], r["stdout"]), ("exited", first), "what each sees", r)
            time.sleep(3.05)


COUNTERS = """
for name in ('dev', 'snmp', 'netstat', 'snmp6', 'route', 'igmp', 'if_inet6', 'ip6_flowlabel', 'rt6_stats', 'ipv6_route', 'igmp6', 'tcp', 'udp'):
    print(name, open('/proc/net/' + name).read())
"""
ON_THE_NETWORK = {
    "a datagram to loopback": "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', 9))",
    "a refused connection": "s = socket.socket(); s.connect_ex(('127.0.0.1', 1))",
    "a connection to nowhere": "s = socket.socket(); s.settimeout(0.2); s.connect_ex(('192.0.2.1', 80))",
    "a datagram to nowhere": "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('8.8.8.8', 53))",
    "a datagram by IPv6": "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.sendto(b'x', ('::1', 9))",
    "nowhere by IPv6": "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.sendto(b'x', ('2001:db8::1', 9))",
    "too long to be sent whole": "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(0, 10, 2); s.connect(('127.0.0.1', 9)); s.send(b'x' * 65507); s.send(b'x' * 65507)",
    "a group": "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(0, 35, socket.inet_aton('239.1.2.3') + socket.inet_aton('127.0.0.1')); s.sendto(b'x', ('239.1.2.3', 9))",
    "a broadcast": "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(1, 6, 1); s.sendto(b'x', ('255.255.255.255', 9))",
    "a connection that stays in TIME_WAIT": "a = socket.create_server(('127.0.0.1', 0)); b = socket.create_connection(a.getsockname()); c, _ = a.accept(); c.sendall(b'x'); c.close(); b.recv(9); b.close()",
    "a route of IPv6": "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.connect(('::1', 9))",
    "a group of IPv6": "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.setsockopt(41, 20, socket.inet_pton(socket.AF_INET6, 'ff15::1') + bytes([1, 0, 0, 0]))",
    "a group and who sends to it": "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(0, 39, b''.join(map(socket.inet_aton, ('239.1.2.9', '127.0.0.1', '1.2.3.4'))))",
    "a label of a flow": "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.setsockopt(41, 32, socket.inet_pton(socket.AF_INET6, '::1') + bytes([0, 1, 0x23, 0x45, 0, 1, 1, 0, 6, 0, 6, 0, 0, 0, 0, 0]))",
    "names of sockets": "s = socket.socket(socket.AF_UNIX); s.bind('\\0name'); s.listen()",
}  # fmt: skip


@test(users=["root"], settings={"sandboxes": {"spare": 0}, "pools": [{"runtime": "python3", "size": 0}]})
def a_reused_network_namespace_shows_no_earlier_traffic(d):
    """A namespace in which nothing was counted is given to the next sandbox; this one must find it as new."""
    where = "import os; print(os.readlink('/proc/self/ns/net'))"
    seen = [d.exec("python3", where)["stdout"] for _ in range(60)]
    ensure(len(set(seen)) < 50, "namespaces are used again", set(seen))
    new = d.exec("python3", COUNTERS)["stdout"]
    for what, code in ON_THE_NETWORK.items():
        r = d.exec("python3", f"import socket\ntry:\n    {code}\nexcept OSError as e:\n    print(e)\n{where}")
        same((r["status"], r["stderr"]), ("exited", ""), what)
        for _ in range(20):
            same(d.exec("python3", COUNTERS)["stdout"], new, f"what is counted after {what}")


WHO = r"""
import ctypes, os, resource
for name in ("uid_map", "gid_map", "setgroups"):
    print(open("/proc/self/" + name).read().split()[::2])
print([l for l in open("/proc/self/status") if l.startswith(("Uid", "Gid", "Groups", "Cap", "SigQ", "NoNewPrivs"))])
print([resource.getrlimit(i) for i in range(16)])
libc, watches = ctypes.CDLL(None), 0
while libc.inotify_init() >= 0:
    watches += 1
print(watches, "instances of inotify")
"""
OF_A_USER = {
    "signals that wait": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [40])\nfor _ in range(1000): os.kill(os.getpid(), 40)",
    "memory that is locked": "import mmap\nm = mmap.mmap(-1, 1 << 20)\nctypes.CDLL(None).mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(m))), ctypes.c_size_t(1 << 20))",
    "instances of inotify": "for _ in range(100): ctypes.CDLL(None).inotify_init()",
    "a queue of messages": "ctypes.CDLL(None).msgget(77, 0o1600)",
    "a segment of memory": "ctypes.CDLL(None).shmget(77, 4096, 0o1600)",
    "keys": "ctypes.CDLL(None).syscall({'x86_64': 248, 'aarch64': 217}[os.uname().machine], b'user', b'left', b'x', 1, -4)",
    "another namespace": "ctypes.CDLL(None).unshare(0x10000000)",
}  # fmt: skip


@test(users=["root"])
def a_reused_user_namespace_has_nothing_of_the_last_sandbox():
    """The namespace is reused together with the control groups and the uid of a sandbox that has ended."""
    again = not os.path.exists("/sys/fs/cgroup/cgroup.controllers")
    where = "import os; print(os.readlink('/proc/self/ns/user'))"
    with Daemon(settings={"sandboxes": {"spare": 0}, "pools": [{"runtime": "python3", "size": 0}]}) as d:
        seen = [d.exec("python3", where)["stdout"] for _ in range(60)]
        same(len(set(seen)) < 50, again, "namespaces are used again", set(seen))
        new = d.exec("python3", WHO)["stdout"]
        ensure("1000" in new and "NoNewPrivs:\\t1" in new and "128 instances" in new, "who that is", new)
        for what, code in OF_A_USER.items():
            r = d.exec("python3", f"import ctypes\n{where}\n{code}")
            same((r["status"], r["stderr"]), ("exited", ""), what)
            for _ in range(12):
                same(d.exec("python3", WHO)["stdout"], new, f"after {what}")
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            at_once = list(pool.map(lambda _: d.exec("python3", where + "; import time; time.sleep(0.5)")["stdout"], range(6)))
        same(len(set(at_once)), 6, "namespaces of six at once")


def refuse(*numbers):
    """Answers these system calls with ENOSYS from now on, as filters of older container engines do."""
    load, equal, answer = 0x20, 0x15, 0x06
    steps = [(load, 0, 0, 0), *((equal, len(numbers) - i, 0, n) for i, n in enumerate(numbers)), (answer, 0, 0, 0x7FFF0000), (answer, 0, 0, 0x50026)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *s) for s in steps))
    program = struct.pack("<HxxxxxxQ", len(steps), ctypes.addressof(code))
    if ctypes.CDLL(None, use_errno=True).prctl(22, 2, ctypes.c_char_p(program), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


@test(users=["root"])
def children_are_created_without_clone3():
    """Without clone3(), the child has a copy of the keeper's memory and descriptors."""
    with Daemon(before=lambda: refuse(435)) as d, concurrent.futures.ThreadPoolExecutor(12) as pool:
        for r in pool.map(lambda _: d.exec("python3", "import os; print(os.listdir('/proc/self/fd'))"), range(36)):
            same((r["status"], r["stdout"]), ("exited", "['0', '1', '2', '3']\n"), "what each has", r)
