"""Persistent workspaces are volumes: their limit is enforced, they survive restarts, and they are removed with the sandbox."""

import os

from daemon import Daemon
from support import Skip, ensure, same, test, until

SMALL = {"disk_bytes": 4 << 20, "disk_inodes": 200}


def has_volumes():
    return os.access("/dev/loop-control", os.W_OK) and any(os.access(p, os.X_OK) for p in ("/usr/sbin/mke2fs", "/sbin/mke2fs"))


def need_volumes():
    if not has_volumes():
        raise Skip("no volumes here")


def volumes(d):
    return sorted(name for name in os.listdir(os.path.join(d.state, "volumes")) if name.endswith(".ext4"))


def devices(d):
    """Loop devices on this daemon's volumes."""
    found = []
    for name in os.listdir("/sys/block"):
        try:
            with open(f"/sys/block/{name}/loop/backing_file") as f:
                backing = f.read()
        except OSError:
            continue
        if backing.startswith(os.path.realpath(d.state) + "/"):
            found.append(name)
    return found


@test(users=["root"])
def the_limit_on_disk_holds_in_a_session():
    need_volumes()
    with Daemon() as d:
        for i, code in enumerate((
            "open('f', 'wb').write(bytes(64 << 20))",
            "[open(f'f{i}', 'wb').write(bytes(50000)) for i in range(1000)]",
            "import os; os.posix_fallocate(os.open('f', os.O_RDWR | os.O_CREAT), 0, 5600000); open('g', 'wb').write(bytes(4 << 20))",
            "f = open('f', 'wb'); f.truncate(5 << 20); [(f.seek(i), f.write(b'x'), f.flush()) for i in range(0, 5 << 20, 512)]; open('g', 'wb').write(bytes(4 << 20))",
            "[open(f'f{i}', 'wb') for i in range(1000)]",
            "import os; [os.mkdir(f'd{i}') for i in range(1000)]",
            "import os; [os.symlink('x' * 900, f'l{i}') for i in range(1000)]",
        )):  # fmt: skip
            r = d.exec("python", code, session=f"s{i}", limits=SMALL)
            same(r["status"], "disk_limit", f"status of {code}: {r}")
            r = d.exec("sh", "du -sk . | cut -f1; find . | wc -l", session=f"s{i}", limits=SMALL)
            used, files = map(int, r["stdout"].split())
            ensure(used <= (SMALL["disk_bytes"] >> 10) + 2048, f"{used} KiB after {code}")
            ensure(files <= SMALL["disk_inodes"] + 32, f"{files} files after {code}")
            d.exec("sh", "rm -rf /workspace/*", session=f"s{i}")
            same(d.exec("sh", "echo x > f && cat f", session=f"s{i}")["stdout"], "x\n", "there is room again")


@test(users=["root"])
def a_volume_that_was_full_is_reported_even_if_space_was_freed():
    """The free space after a refused write differs between kernels; here the code frees more by itself."""
    need_volumes()
    with Daemon() as d:
        fill = "import os\nopen('a', 'wb').write(bytes(300000))\ntry:\n    open('f', 'wb').write(bytes(64 << 20))\nexcept OSError:\n    os.remove('a')\n    raise"
        for _ in range(2):
            r = d.exec("python", fill, session="s", limits=SMALL)
            same((r["status"], r["exit_code"]), ("disk_limit", 1), "the end of a write that was refused", r)
            ensure("No space left" in r["stderr"], "the error", r)
            same(d.exec("sh", "rm -f f; false", session="s")["status"], "exited", "a failure with room on the disk")


@test(users=["root"])
def any_limits_make_a_volume():
    need_volumes()
    with Daemon() as d:
        for i, (size, inodes) in enumerate(((64 << 10, 16), (64 << 10, 100000000), (1 << 20, 65536), (16 << 20, 65536), (1 << 40, 100000000))):
            r = d.exec("sh", "echo x > f && cat f", session=f"s{i}", limits={"disk_bytes": size, "disk_inodes": inodes})
            same(r["stdout"], "x\n", f"{size} bytes, {inodes} inodes")


@test(users=["root"])
def a_volume_is_no_way_to_privilege():
    need_volumes()
    with Daemon() as d:
        code = """
import os
for what in (lambda: os.mknod('d', 0o20666, os.makedev(1, 3)), lambda: os.chmod('s', 0o4755), lambda: os.chown('s', 0, 0),
             lambda: os.setxattr('s', 'security.capability', bytes.fromhex('0100000201000000000000000000000000000000'))):
    open('s', 'w').close()
    try:
        what()
        print('done')
    except OSError:
        print('refused')
line = [l for l in open('/proc/self/mountinfo') if ' /workspace ' in l][0].split()
print(line[3], *sorted(set(line[5].split(',')) & {'nosuid', 'nodev'}))
"""
        r = d.exec("python", code, session="s")
        same(r["stdout"], "refused\n" * 4 + "/ nodev nosuid\n", "attempts")


@test(users=["root"])
def volumes_stay_and_go_with_their_sandbox():
    need_volumes()
    with Daemon() as d:
        r = d.exec("sh", "echo kept > file", session="s", limits=SMALL)
        same((len(volumes(d)), len(devices(d))), (1, 1), "volumes and devices")
        info = os.stat(os.path.join(d.state, "volumes"))
        same((info.st_uid, info.st_mode & 0o777), (0, 0o700), "owner and mode of the volumes")
        d.restart()
        same((len(volumes(d)), devices(d)), (1, []), "after a restart")
        same(d.exec("sh", "cat file", session="s")["stdout"], "kept\n", "the file")
        d.kill()
        until(lambda: not devices(d), 20, "the device goes with the daemon")
        d.start()
        same(d.exec("sh", "cat file", session="s")["stdout"], "kept\n", "the file after kill -9")
        d.delete(f"/v1/sandboxes/{r['sandbox']}")
        until(lambda: not volumes(d) and not devices(d), 20, "the volume goes with its sandbox")
        same(d.exec("sh", "cat file", session="s")["exit_code"], 1, "the file of the one before")


@test(users=["root"])
def many_stops_leave_no_device():
    need_volumes()
    with Daemon() as d:
        for i in range(10):
            r = d.exec("sh", f"echo {i} >> file; (sleep 100 < file &) ; wc -l < file", session="s", limits=SMALL)
            same(r["stdout"].strip(), "1", f"lines in round {i}")
            d.delete(f"/v1/sandboxes/{r['sandbox']}")
        until(lambda: not devices(d) and not volumes(d), 20, "nothing is left")


@test(users=["user"])
def a_limit_on_disk_that_cannot_be_enforced_is_refused(d):
    a = d.refused("isolation_unavailable", "POST", "/v1/exec", {"runtime": "sh", "code": "true", "session": "s", "limits": {"disk_bytes": 1 << 20}})
    ensure("disk" in a.json()["error"]["message"], "the limit is not named", a)
    r = d.exec("sh", "true", session="t")
    ensure("limit:disk" in r["isolation"]["missing"], f"not reported: {r['isolation']}")
