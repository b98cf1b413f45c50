"""Images that run as root have several users: owners can be changed and other users be used.  Everything else is as in other
sandboxes: limits and deadlines apply to all users together, and no other file of the host is affected."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time

import support
from images import PROGRAMS, Image, needs, run, sh
from support import Skip, ensure, expect, here, is_root, same, test, write

FILES = needs((*PROGRAMS, "chown", "chgrp", "setpriv", "tr"))
SIX = f"{0xDB:016x}"  # CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETGID, SETUID
NONE = "0" * 16
AS_33 = "setpriv --reuid=33 --regid=33 --clear-groups "


def image(**config):
    return Image(files=FILES, config=config).done()


def status(text):
    lines = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    return [lines[f"Cap{c}"] for c in ("Inh", "Prm", "Eff", "Bnd", "Amb")], lines["NoNewPrivs"], lines["Seccomp"]


@test(unwrapped=True, users=["root"])
def a_root_image_has_65536_ids_and_six_capabilities():
    i = image()
    same(status(sh(i, "cat /proc/self/status")), ([NONE, SIX, SIX, SIX, NONE], "1", "2"), "capabilities")
    for kind in ("uid", "gid"):
        inner, outer, n = sh(i, f"cat /proc/self/{kind}_map").split()
        same((inner, n), ("0", "65536"), f"the {kind} map")
        ensure(0x71000000 <= int(outer) <= 0x7F000000 - 65536, f"ids of others on the host: {outer}")
    same(sh(i, "cat /proc/self/setgroups"), "allow\n", "setgroups")
    same(run("--json", "--image", "tiny", "--", "true").json()["isolation"]["users"], 65536, "isolation.users")


@test(unwrapped=True)
def other_sandboxes_have_one_user_and_no_capability():
    image(user="app", uid=501, gid=502)
    for words in (("--image", "tiny"), (), ("--user", "root")):
        r = expect(run(*words, "--", "cat", "/proc/self/status", "/proc/self/uid_map"))
        same(status(r.out)[0], 5 * [NONE], f"capabilities with {words}", r)
        same(r.out.split()[-1], "1", f"ids with {words}", r)
    r = expect(run("--user", "root", *(() if is_root() else ("--image", "tiny")), "--", "cat", "/proc/self/status"))
    same(status(r.out)[0], 5 * [NONE], "capabilities", r)
    same("users" in run("--json", "--image", "tiny", "--", "true").json()["isolation"], False, "isolation.users")


@test(unwrapped=True, users=["root"])
def sandboxes_that_run_at_once_have_different_ids():
    image()
    both = [support.spawn("run", "--image", "tiny", "--", "sh", "-c", "cat /proc/self/uid_map; cat", stdin=-1, stdout=-1,
                          env={**os.environ, "CELLA_STATE": here("state")}) for _ in range(2)]  # fmt: skip
    firsts = [p.stdout.readline().split()[1] for p in both]
    ensure(firsts[0] != firsts[1], f"two sandboxes have the same ids: {firsts}")
    for p in both:
        p.communicate()
        same(p.returncode, 0, "exit code")


@test(unwrapped=True, users=["root"])
def owners_can_be_changed_and_are_kept():
    code = """
for d in /workspace /tmp /etc /dev/shm; do echo x > $d/f; chown 33:34 $d/f; chmod 640 $d/f; stat -c '%u:%g %a' $d/f; done
chown 501:502 /etc/mark /data; stat -c %u:%g /etc/mark /data
chmod 1777 /tmp /dev/shm; stat -c '%u:%g %a' /tmp /dev/shm /run
cat /etc/private /workspace/f; echo more >> /workspace/f; chgrp 65535 /tmp/f; stat -c %g /tmp/f; ls -d /run
"""
    expected = 4 * "33:34 640\n" + 2 * "501:502\n" + 2 * "0:0 1777\n" + "0:0 755\nprivate\nx\n65535\n/run\n"
    same(sh(image(), code), expected, "what the code saw")


@test(unwrapped=True, users=["root"])
def a_process_becomes_another_user_without_capabilities():
    i = image()
    same(sh(i, "setpriv --reuid=33 --regid=34 --groups=35,36 id").strip(), "uid=33 gid=34 groups=34,35,36", "id")
    same(status(sh(i, AS_33 + "cat /proc/self/status"))[0], [NONE, NONE, NONE, SIX, NONE], "capabilities of a user")
    r = run("--image", "tiny", "--", "sh", "-c", AS_33 + "cat /etc/private")
    ensure(r.rc != 0 and "denied" in r.err, "another user reads the files of root", r)
    r = run("--image", "tiny", "--", "sh", "-c", AS_33 + "setpriv --reuid=0 true")
    ensure(r.rc != 0, "another user became root", r)
    same(sh(i, f"mkdir /tmp/d; chown 33 /tmp/d; {AS_33} sh -c 'echo x > /tmp/d/f'; stat -c %u:%g /tmp/d/f"), "33:33\n", "its file")


@test(unwrapped=True, users=["root"])
def ids_outside_of_the_range_do_not_exist():
    image()
    for command in ("chown 65536 /tmp/f", "chgrp 1879048192 /tmp/f", "setpriv --reuid=65536 true", "setpriv --regid=70000 --clear-groups true",
                    "setpriv --groups=65536 true"):  # fmt: skip
        r = run("--image", "tiny", "--", "sh", "-c", f"echo > /tmp/f; {command}")
        ensure(r.rc != 0 and "nvalid" in r.err, f"{command} was done", r)


@test(unwrapped=True, users=["root"])
def set_id_bits_are_possible_only_without_a_writable_directory_of_the_host():
    i = image()
    code = "cp /bin/id /tmp/id; chown 33 /tmp/id; chmod 6755 /tmp/id; stat -c %a /tmp/id; /tmp/id -u; mkdir /tmp/d; chmod 2755 /tmp/d"
    same(sh(i, code), "6755\n0\n", "the mode; and the program runs as its caller")
    os.mkdir(here("w"))
    same(sh(i, code, "--workspace", here("w")), "6755\n0\n", "with a read-only directory")
    for words in (("--workspace", here("w") + ":rw"), ("--mount", here("w") + ":/m:rw")):
        r = run("--image", "tiny", *words, "--", "sh", "-c", "echo > /tmp/f; chmod 4755 /tmp/f || chmod 2755 /tmp/f")
        ensure(r.rc != 0 and "not permitted" in r.err, f"a set-id bit with {words}", r)


@test(unwrapped=True, users=["root"])
def in_a_directory_of_the_host_everything_belongs_to_its_owner():
    image()
    os.mkdir(here("w"))
    write(here("w", "own"), "own\n", 0o600)
    write(here("w", "other"), "other\n", 0o600)
    write(here("w", "group"), "group\n", 0o600)
    for name, uid, gid in ((".", 77, 77), ("own", 77, 77), ("other", 78, 77), ("group", 77, 78)):
        os.chown(here("w", name), uid, gid)
    code = f"cd /workspace; cat own; cat other; cat group; echo > new; chown 33 new; chown 0:0 other; chmod 777 other; {AS_33} sh -c 'echo > theirs'"
    for mode in ("", ":rw"):
        os.chmod(here("w"), 0o777)
        r = run("--image", "tiny", "--workspace", here("w") + mode, "--", "sh", "-c", code)
        # "group" belongs to the mapped user, so it can read it as its owner, without any capability.
        same(r.out, "own\ngroup\n", "what the code could read", r)
    about = {name: os.stat(here("w", name)) for name in os.listdir(here("w"))}
    same(sorted(about), ["group", "new", "other", "own"], "files on the host")
    same([(s.st_uid, s.st_gid) for s in (about["new"], about["other"])], [(77, 77), (78, 77)], "their owners")
    same(about["other"].st_mode & 0o777, 0o600, "the mode of a file of another user")


@test(unwrapped=True, users=["root"])
def processes_of_every_user_end_with_the_command():
    seconds = support.nonce_seconds()
    i = image()
    began = time.monotonic()
    same(sh(i, f"{AS_33} sleep {seconds} > /dev/null 2>&1 & echo over", "--timeout", "60s"), "over\n", "output")
    ensure(time.monotonic() - began < 55, "the run waited for a process of another user")
    support.gone(seconds)


@test(unwrapped=True, users=["root"])
def a_deadline_ends_processes_of_every_user():
    seconds = support.nonce_seconds()
    image()
    code = f"exec {AS_33} sh -c 'trap \"echo asked; exit 3\" TERM; echo up; sleep {seconds} & wait'"
    r = run("--json", "--image", "tiny", "--timeout", "6s", "--", "sh", "-c", code).json()
    same((r["status"], r["stdout"]), ("timeout", "up\nasked\n"), "SIGTERM reached another user")
    support.gone(seconds)
    r = run("--json", "--image", "tiny", "--timeout", "3s", "--", "sh", "-c", f"{AS_33} sh -c 'trap \"\" TERM; sleep {seconds}; sleep {seconds}'").json()
    same(r["status"], "timeout", "status")
    support.gone(seconds)


@test(unwrapped=True, users=["root"])
def the_limit_on_processes_is_for_all_users_together():
    image()
    code = "n=0; for u in 1 2 3 4 5 6 7 8 9; do for i in 1 2 3 4; do setpriv --reuid=$u --regid=$u --clear-groups sleep 300 & done; done; wait"
    r = run("--json", "--image", "tiny", "--processes", "12", "--timeout", "120s", "--", "sh", "-c", code).json()
    ensure(r["usage"]["processes_peak"] <= 12, f"{r['usage']['processes_peak']} processes", r)
    ensure("fork" in r["stderr"].lower() or "resource" in r["stderr"].lower(), f"nothing was refused: {r['stderr'][:300]}")


@test(unwrapped=True, users=["root"])
def no_user_can_reach_init():
    image()
    for user in ("", AS_33):
        for command in ("kill -9 1", "kill -STOP 1", "cat /proc/1/environ", "echo 0 > /proc/1/oom_score_adj", "ls /proc/1/fd/"):
            r = run("--image", "tiny", "--", "sh", "-c", f"{user} sh -c '{command}'; echo rest")
            same(r.out, "rest\n", f"after {command}", r)


@test(unwrapped=True, users=["root"])
def without_a_free_range_of_ids_there_is_one_user():
    image()
    file = "/run/cella.ids"
    # In a mount namespace with another /run: other sandboxes of this machine keep their ranges.
    locked = f"""import fcntl, os, struct, sys
fd = os.open('{file}', os.O_RDWR | os.O_CREAT, 0o600)
os.set_inheritable(fd, True)
fcntl.fcntl(fd, 37, struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0xe00 - int(sys.argv[1]), 0))  # F_OFD_SETLK
os.execvp(sys.argv[2], sys.argv[2:])"""
    for before, users in ((":", 65536), (f"touch {file}; chmod 660 {file}", 1), (f"ln -s /tmp/other {file}", 1), (f"mkdir {file}", 1),
                          (f"touch {file}; chmod 600 {file}; chown 1 {file}", 1), ("lock 0", 1), ("lock 1", 65536)):  # fmt: skip
        words, case = [*support.command, "run", "--json", "--image", "tiny", "--", "sh", "-c", "cat /proc/self/uid_map"], before
        if before.startswith("lock"):
            words, before = ["/usr/bin/python3", "-c", locked, before.split()[1], *words], ":"
        r = subprocess.run(["unshare", "-m", "sh", "-c", f"mount -t tmpfs none /run && {before} && exec \"$@\"", "sh", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=60 * support.slack, env={"PATH": os.environ["PATH"], "CELLA_STATE": here("state")}, check=False)  # fmt: skip
        try:
            found = json.loads(r.stdout)
        except ValueError:
            support.fail(f"no result with {case}: {r.stdout!r} {r.stderr!r}")
        same((found["isolation"].get("users", 1), found["stdout"].split()[-1]), (users, str(users)), f"users with {case}")


ONE_RANGE = """import fcntl, os, struct, subprocess, sys
fd = os.open('/run/cella.ids', os.O_RDWR | os.O_CREAT, 0o600)
fcntl.fcntl(fd, 37, struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0xe00 - 1, 0))  # F_OFD_SETLK
words = [*sys.argv[1:], "cat", "/proc/self/uid_map"]
def ids():
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout.split()[-1]
with subprocess.Popen([*words, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
    print(first.stdout.readline().split()[-1])
    print(ids())
    first.stdin.close()
    first.wait()
    print(ids())
"""


@test(unwrapped=True, users=["root"])
def a_range_of_ids_belongs_to_one_sandbox_at_a_time():
    image()
    words = ["/usr/bin/python3", "-c", ONE_RANGE, *support.command, "run", "--image", "tiny", "--"]
    # In a mount namespace with another /run: other sandboxes of this machine keep their ranges.
    r = subprocess.run(["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=60 * support.slack, env={"PATH": os.environ["PATH"], "CELLA_STATE": here("state")}, check=False)  # fmt: skip
    same(r.stdout.split(), ["65536", "1", "65536"], "ids of the first, of another beside it, and of one after it", r.stderr)


# ---- an ordinary user with subordinate ids ----

CONTROLLERS = ("memory", "pids", "cpu", "cpuacct", "freezer")


@contextlib.contextmanager
def delegated(uid):
    """Returns files of cgroup v1 to write a pid to: groups that are delegated to a user."""
    roots = [f"/sys/fs/cgroup/{c}" for c in CONTROLLERS]
    if not all(os.access(root + "/tasks", os.W_OK) for root in roots):
        raise Skip("no control group can be given to a user here")
    groups = [f"{root}/cella-test-{os.getpid()}" for root in roots]
    try:
        for group in groups:
            os.makedirs(group + "/shell")
            for path in (group, group + "/shell", *(f"{g}/{f}" for g in (group, group + "/shell") for f in os.listdir(g) if os.path.isfile(f"{g}/{f}"))):
                os.chown(path, uid, uid)
        yield [group + "/shell/cgroup.procs" for group in groups]
    finally:
        for group in groups:
            for path in (group + "/shell", group):
                support.until(lambda path=path: gone(path), 20, f"{path} without processes")


def gone(path):
    for name in os.listdir(path) if os.path.isdir(path) else ():
        if os.path.isdir(f"{path}/{name}"):
            gone(f"{path}/{name}")
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


class Person:
    """An ordinary user of this machine who has a name, subordinate ids and control groups: seen only by what it runs."""

    SCRIPT = """
for file in passwd subuid subgid; do mount --bind "$0/$file" "/etc/$file" || exit 99; done
for procs in $1; do echo $$ > "$procs" || exit 98; done
shift; exec "$@"
"""

    def __init__(self, where, procs, ids, name="person", uids=None):
        self.where, self.procs, uid = where, procs, support.ordinary_uid
        with open("/etc/passwd") as f:
            write(f"{where}/passwd", f.read() + f"{name}:x:{uid}:{uid}::/nonexistent:/bin/sh\n", 0o644)
        for file, text in (("subuid", uids or ids), ("subgid", ids)):
            write(f"{where}/{file}", text, 0o644)
            if not os.path.exists(f"/etc/{file}"):
                raise Skip("no newuidmap on this machine")

    def start(self, *words, before=""):
        uid = str(support.ordinary_uid)
        return subprocess.Popen(["unshare", "-m", "sh", "-c", before + self.SCRIPT, self.where, " ".join(self.procs), "setpriv", "--reuid", uid, "--regid", uid, "--clear-groups",
                                 *support.command, "run", "--json", "--image", "tiny", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "CELLA_STATE": self.where})  # fmt: skip

    def run(self, *words):
        with self.start(*words) as p:
            out, err = p.communicate(timeout=60 * support.slack)
        try:
            return json.loads(out)
        except ValueError:
            support.fail(f"no result: {p.returncode} {out!r} {err!r}")


@test(unwrapped=True, users=["root"], timeout=180)
def an_ordinary_user_with_subordinate_ids_has_several_users():
    if not shutil.which("newuidmap"):
        raise Skip("no newuidmap on this machine")
    seconds = support.nonce_seconds()
    with delegated(support.ordinary_uid) as procs, tempfile.TemporaryDirectory() as where:
        os.chmod(where, 0o755)
        Image(files=FILES, where=where).done(support.ordinary_uid)
        person = Person(where, procs, "other:100000:65536\nperson:200000:100\nperson:300000:65536\n")
        code = f"""
id -u; stat -c %u:%g /etc/mark; echo x > f; chown 33:34 f; chmod 4600 f; stat -c '%u:%g %a' f; chown 65535 /etc/mark; stat -c %u /etc/mark; cat f
{AS_33} sh -c 'cat f || id -u'; chown 65536 f || echo no; {AS_33} sleep {seconds} > /dev/null 2>&1 & cat /proc/self/status
"""
        r = person.run("--", "sh", "-c", code)
        lines = "0\n0:0\n33:34 4600\n65535\nx\nx\nno\n"
        ensure(r.get("stdout", "").startswith(lines), f"what the code saw: {r}")
        same(status(r["stdout"]), ([NONE, SIX, SIX, SIX, NONE], "1", "2"), "capabilities")
        same(r["isolation"].get("users"), 65536, "isolation.users")
        support.gone(seconds)
        r = person.run("--timeout", "3s", "--", "sh", "-c", f"exec {AS_33} sh -c 'trap \"\" TERM; sleep {seconds}; sleep {seconds}'")
        same(r["status"], "timeout", "a deadline")
        support.gone(seconds)
        # A range with the user's own uid in it cannot be mapped a second time.
        around = f"person:{support.ordinary_uid - 5}:65536\n"
        r = Person(where, procs, "person:300000:65536\n", uids=around).run("--", "true")
        same((r["status"], "users" in r["isolation"]), ("exited", False), "with a range around the own uid")
        r = Person(where, procs, "person:300000:65536\n", uids=around + "person:300000:65536\n").run("--", "true")
        same((r["status"], r["isolation"].get("users")), ("exited", 65536), "with a second range")
        # Without enough ids (of which newuidmap has a say, too) or control groups, and with a writable directory, there is one user.
        os.mkdir(f"{where}/w")
        os.chown(f"{where}/w", support.ordinary_uid, support.ordinary_uid)
        enough = "person:300000:65536\n"
        for groups, ids, name, words in ((procs, "person:300000:65534\n", "person", ()), (procs, "other:300000:65536\n", "person", ()),
                                         ([], enough, "person", ()), (procs, f"{support.ordinary_uid}:300000:65536\n", "#person", ()),
                                         (procs, enough, "person", ("--workspace", f"{where}/w:rw")),
                                         (procs, enough, "person", ("--mount", f"{where}/w:/m:rw"))):  # fmt: skip
            r = Person(where, groups, ids, name).run(*words, "--", "sh", "-c", "cat /proc/self/status; echo > f; chown 33 f || echo one")
            same((status(r["stdout"])[0], "users" in r["isolation"]), (5 * [NONE], False), "with one user")
            ensure(r["stdout"].endswith("one\n"), "a file was given away")


@test(unwrapped=True, users=["root"], timeout=120)
def an_owner_that_is_killed_while_ids_are_mapped_leaves_no_process():
    if not shutil.which("newuidmap"):
        raise Skip("no newuidmap on this machine")
    seconds = support.nonce_seconds()
    with delegated(support.ordinary_uid) as procs, tempfile.TemporaryDirectory() as where:
        os.chmod(where, 0o755)
        Image(files=FILES, where=where).done(support.ordinary_uid)
        write(f"{where}/newgidmap", f"#!/bin/sh\necho up > {where}/up\nwhile kill -0 $PPID 2> /dev/null; do sleep 0.1; done\n", 0o755)
        os.mkfifo(f"{where}/up")
        os.chown(f"{where}/up", support.ordinary_uid, support.ordinary_uid)
        person = Person(where, procs, "person:300000:65536\n")
        owner = person.start("--", "sleep", str(seconds), before="mount --bind $0/newgidmap /usr/bin/newgidmap; ")
        with open(f"{where}/up") as up:
            same(up.read(), "up\n", "newgidmap runs")
        owner.kill()
        owner.wait()
        support.gone(seconds)


@test(unwrapped=True, users=["root"], timeout=120)
def a_tool_that_hangs_while_ids_are_mapped_is_killed():
    if not shutil.which("newuidmap"):
        raise Skip("no newuidmap on this machine")
    seconds = support.nonce_seconds()
    with delegated(support.ordinary_uid) as procs, tempfile.TemporaryDirectory() as where:
        os.chmod(where, 0o755)
        Image(files=FILES, where=where).done(support.ordinary_uid)
        for tool, status in (("newgidmap", "exited"), ("newuidmap", None)):
            write(f"{where}/{tool}", f"#!/bin/sh\nexec sleep {seconds}\n", 0o755)
            person = Person(where, procs, "person:300000:65536\n")
            with person.start("--", "true", before=f"mount --bind $0/{tool} /usr/bin/{tool}; ") as p:
                out, err = p.communicate(timeout=60 * support.slack)
            r = json.loads(out)
            # Without any map there is one user.  With only one of the two maps nothing can run.
            same(r.get("status"), status, f"the run with a {tool} that hangs: {r} {err!r}")
            ensure("users" not in r.get("isolation", {}), f"several users: {r}")
            support.gone(seconds)
