"""Ends of a run from outside leave no process, cgroup, mount or file."""

import concurrent.futures
import ctypes
import errno
import fcntl
import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import time

import support
from support import (
    ensure, expect, fail, gone, is_root, nonce_seconds, prints, read, reap, run, same, spawn, test, uid_of, until,
    with_argument, within, write,
)

SANDBOX_UIDS = 0x70000000  # from here on, a uid is a sandbox's


# Signals to cella.


def started(nonce, *options, code=None, **popen):
    """Starts cella with code that sleeps, in two sessions."""
    popen.setdefault("stdout", subprocess.PIPE)
    p = spawn("run", *options, "sh", "-c", code or f"setsid sleep {nonce} & echo ready; sleep {nonce}",
              stdin=subprocess.DEVNULL, **popen)
    until(lambda: len(with_argument(nonce)) == 2, 5, "the start of the code")
    return p


def end_by(number):
    nonce = nonce_seconds()
    p = started(nonce)
    begun = time.monotonic()
    p.send_signal(number)
    rc = reap(p)
    within(time.monotonic() - begun, 5, "the end")
    same(rc, 128 + number, "exit status")
    gone(nonce, 5)
    same(p.stdout.read(), b"ready\n", "the output up to then")


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    test(lambda n=number: end_by(n), name=f"{number.name.lower()}_ends_all_and_is_reported")


@test
def sigint_ends_code_that_ignores_everything():
    nonce = nonce_seconds()
    p = started(nonce, code=f"trap '' INT TERM HUP; setsid sleep {nonce} & sleep {nonce}; sleep 60")
    p.send_signal(signal.SIGINT)
    same(reap(p, 10), 130, "exit status")
    gone(nonce, 5)


@test
def sigint_is_reported_as_cancelled():
    nonce = nonce_seconds()
    p = started(nonce, "--json")
    p.send_signal(signal.SIGINT)
    out = p.communicate(timeout=5 * support.slack)[0]
    same(p.returncode, 130, "exit status")
    same(json.loads(out)["status"], "cancelled", "status")


@test
def killing_cella_ends_every_process_of_the_run():
    nonce = nonce_seconds()
    p = started(nonce)
    p.kill()
    p.wait()
    gone(nonce, 5)


@test
def killing_cella_ends_stopped_and_busy_code():
    nonce = nonce_seconds()
    p = started(nonce, code=f"sleep {nonce} & sleep 0.1; kill -STOP $!; sleep {nonce} & while :; do :; done")
    p.kill()
    p.wait()
    gone(nonce, 5)


@test
def interrupt_key_of_a_terminal_ends_all():
    nonce = nonce_seconds()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(support.command[0], [*support.command, "run", "sh", "-c", f"echo ready; sleep {nonce}"])
    until(lambda: with_argument(nonce), 5, "the start of the code")
    os.write(terminal, b"\x03")
    status = until(lambda: os.waitpid(pid, os.WNOHANG)[1], 2, "the end")
    same(os.waitstatus_to_exitcode(status), 130, "exit status")
    gone(nonce, 5)
    ensure(b"ready" in os.read(terminal, 1000), "the output did not come to the terminal")
    os.close(terminal)


@test
def errors_are_coloured_on_a_terminal():
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(support.command[0], [*support.command, "run", "--timout"])
    text = b""
    try:
        while chunk := os.read(terminal, 1000):
            text += chunk
    except OSError as e:  # what a terminal returns if it is not open elsewhere
        ensure(e.errno == errno.EIO, str(e))
    os.waitpid(pid, 0)
    ensure(b"\033[" in text and b"--timeout" in text, f"the terminal got {text!r}")


# A reader that leaves.


def reader_leaves(*words, lines=1, stream="stdout"):
    p = spawn("run", *words, stdin=subprocess.DEVNULL, **{stream: subprocess.PIPE})
    pipe = getattr(p, stream)
    for _ in range(lines):
        pipe.readline()
    pipe.close()
    begun = time.monotonic()
    rc = reap(p, 10)
    within(time.monotonic() - begun, 5, "the end")
    same(rc, 128 + signal.SIGPIPE, "exit status")


@test
def flood_ends_when_its_reader_leaves():
    reader_leaves("--", "yes")


@test
def slow_output_ends_when_its_reader_leaves():
    reader_leaves("sh", "-c", "trap '' PIPE; while :; do echo x; sleep 0.05; done")


@test
def error_flood_ends_when_its_reader_leaves():
    reader_leaves("sh", "-c", "yes >&2", stream="stderr")


@test
def a_closed_output_pipe_ends_the_run():
    command = " ".join(support.command)
    begun = time.monotonic()
    r = subprocess.run(["sh", "-c", f"{command} run -- yes | head -1"], capture_output=True, timeout=10 * support.slack,
                       text=True)
    same((r.stdout, r.stderr), ("y\n", ""), "what head printed, and stderr")
    within(time.monotonic() - begun, 7, "it")


@test
def reader_that_leaves_takes_the_daemons_too():
    nonce = nonce_seconds()
    reader_leaves("sh", "-c", f"setsid sleep {nonce} & yes")
    gone(nonce, 5)


# After many runs.


def stat_of(pid):
    """Returns state and parent of a process; X and 0 if it has ended."""
    try:
        state, parent = read(f"/proc/{pid}/stat").rpartition(")")[2].split()[:2]
        return state, int(parent)
    except (FileNotFoundError, ProcessLookupError):
        return "X", 0


def parent_of(pid):
    return stat_of(pid)[1]


def program_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def ancestors(pid):
    while pid > 1:
        pid = parent_of(pid)
        yield pid


def lost_processes():
    """Processes of sandboxes, or of our cella, without an owner.  Another process
    may be running sandboxes on this machine: theirs have a living owner."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    # Dead processes belong to the reaper.
    pids = [p for p in pids if stat_of(p)[0] not in "ZX"]
    if not is_root():
        return [p for p in pids if uid_of(p) == os.getuid() and p != os.getpid()]
    ours = {os.getpid(), *ancestors(os.getpid())}
    lost = [p for p in pids if program_of(p) == support.command[-1]]
    for p in pids:
        if (uid_of(p) or 0) >= SANDBOX_UIDS:
            owner = next((a for a in ancestors(p) if (uid_of(a) or 0) < SANDBOX_UIDS), 0)
            if owner in ours or owner <= 1:
                lost.append(p)
    return lost


def describe(pids):
    known = support.processes()
    text = ""
    for p in sorted(pids):
        try:
            waits = read(f"/proc/{p}/wchan")
        except OSError:
            waits = "?"
        text += f"\n{p} uid {uid_of(p)} of {parent_of(p)} waits in {waits}: {' '.join(known.get(p, []))}"
    return text


def groups():
    """{name: its directories in all hierarchies} of sandboxes' cgroups."""
    found = {}
    for directory, names, _ in os.walk("/sys/fs/cgroup"):
        for name in names:
            if re.fullmatch(r"cella-\d+", name):
                found.setdefault(name, []).append(os.path.join(directory, name))
    return found


def owned(directories):
    """Returns whether a live process holds the lock of a group."""
    for path in directories:
        try:
            fd = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
    return False


def lost_groups(before):
    return {name: where for name, where in groups().items() if name not in before and not owned(where)}


def scratch():
    """Files in the host's scratch directories that could be a sandbox's."""
    found = set()
    for directory in ("/tmp", "/var/tmp", "/dev/shm", "/run"):
        for entry in os.scandir(directory):
            try:
                uid = entry.stat(follow_symlinks=False).st_uid
            except FileNotFoundError:
                continue
            if uid >= SANDBOX_UIDS or (uid == os.getuid() and uid != 0) or "sbx" in entry.name or "exe_" in entry.name:
                found.add(entry.path)
    return found


def one_run(i):
    """Run i of many, with the kinds of end in turn.  Returns the error, or None."""
    chance = random.Random(i)
    kind = i % 10
    if kind < 4:
        r = run("sh", "-c", f"echo {i}")
        return None if (r.rc, r.out) == (0, f"{i}\n") else str(r)
    if kind == 4:
        r = run("--timeout", "100ms", "--grace", "50ms", "sh", "-c",
                "trap '' TERM; setsid sleep 60 & sleep 60; sleep 60")
        return None if r.rc == 124 else str(r)
    if kind == 5:
        r = run("--mount", "shared:/data:rw", "--workspace", "shared", "sh", "-c", "cat f; (setsid sleep 60 &)")
        return None if (r.rc, r.out) == (0, "f") else str(r)
    if kind == 6:
        r = run("--workspace", "/nowhere", "sh", "-c", "true")
        return None if r.rc == 2 else str(r)
    if kind == 7 and is_root():
        r = run("--memory", "16M", "sh", "-c",
                "head -c 100000000 /dev/zero | tail > /dev/null & wait; exec tail /dev/zero")
        return None if r.rc == 137 else str(r)
    # Killed at any moment, the making of the sandbox included.
    options = ["--mount", "shared:/data:rw"] if i // 10 % 2 else []
    p = spawn("run", *options, "sh", "-c", "setsid sleep 60 & (trap '' TERM; sleep 60 & kill -STOP $!); sleep 60",
              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(chance.random() * (0.03 if i // 10 % 4 == 3 else 0.005))
    p.kill()
    p.wait()
    return None


@test(users=["root"])
def a_group_that_is_busy_is_found_again():
    """A process that was killed while it joined its groups is only in some of them, and takes a while to die."""
    own = {c: path for _, names, path in (line.split(":", 2) for line in read("/proc/self/cgroup").splitlines()) for c in names.split(",")}
    if not {"memory", "pids"} <= set(own):
        raise support.Skip("needs cgroup v1")
    memory, pids = (f"/sys/fs/cgroup/{c}{own[c].rstrip('/')}/cella-{3000000000 + os.getpid()}" for c in ("memory", "pids"))
    dying = subprocess.Popen(["sleep", "60"])
    try:
        os.mkdir(memory)
        os.mkdir(pids)
        write(pids + "/cgroup.procs", str(dying.pid))
        prints("x\n", "sh", "-c", "echo x")
        same([os.path.exists(p) for p in (memory, pids)], [True, True], "while one is busy")
        dying.kill()
        dying.wait()
        prints("x\n", "sh", "-c", "echo x")
        same([os.path.exists(p) for p in (memory, pids)], [False, False], "when none is")
    finally:
        dying.kill()
        dying.wait()
        for path in (memory, pids):
            if os.path.exists(path):
                os.rmdir(path)


@test(alone=True, timeout=60)
def nothing_stays_behind_after_many_runs():
    os.mkdir("shared")
    write("shared/f", "f")
    mounts, files, cgroups = read("/proc/self/mountinfo"), scratch(), groups()
    lost_before = lost_processes()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        wrong = [w for w in pool.map(one_run, range(30 if support.wrapped else 200)) if w]
    problems = [f"{len(wrong)} runs did not end as they should; the first:\n{wrong[0]}"] if wrong else []

    deadline = time.monotonic() + 1 * support.slack
    while (lost := set(lost_processes()) - set(lost_before)) and time.monotonic() < deadline:
        time.sleep(0.02)
    if lost:
        problems.append(f"{len(lost)} processes are left after 1 s:{describe(lost)}")
    for pid in lost:
        if not is_root() or program_of(pid) == support.command[-1]:
            subprocess.run(["kill", "-9", str(pid)], stderr=subprocess.DEVNULL)

    prints("swept\n", "sh", "-c", "echo swept")
    if is_root() and (left := lost_groups(cgroups)):
        problems.append(f"cgroups are left after another run: {left}")
    if read("/proc/self/mountinfo") != mounts:
        problems.append("the mount table has changed")
    if left := scratch() - files:
        problems.append(f"files are left: {left}")
    same(sorted(os.listdir(".")), ["shared"], "the test's own directory")
    same(os.listdir("shared"), ["f"], "the mounted directory")
    ensure(not problems, "\n".join(problems))


@test(users=["root"], alone=True)
def cgroups_are_gone_after_each_run():
    before = groups()
    for _ in range(5):
        run("sh", "-c", "sleep 0.01 & :")
    same(lost_groups(before), {}, "the cgroups left")


MS_BIND, MS_REC, MS_PRIVATE, MS_SHARED = 0x1000, 0x4000, 1 << 18, 1 << 20


def call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) < 0:
        fail(f"{name}{arguments}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind, flags):
    call("mount", source, target, kind, flags, None)


@test(users=["root"], unwrapped=True)  # valgrind writes to /tmp
def no_mount_propagates_to_a_host_with_shared_mounts():
    """As on a machine with systemd; with a /tmp where every new file would be seen."""
    program = shutil.copy(support.command[-1], "/run/cella-test-program")
    try:
        call("unshare", 0x20000)
        mount(None, b"/", None, MS_REC | MS_PRIVATE)
        mount(b"none", b"/tmp", b"tmpfs", 0)
        mount(None, b"/", None, MS_REC | MS_SHARED)
        support.command[-1] = program
        os.chdir("/")
        before = read("/proc/self/mountinfo")
        for user in ("root", "user"):
            nonce = nonce_seconds()
            p = started(nonce, user=user)
            same(read("/proc/self/mountinfo"), before, f"the mount table during a run as {user}")
            same(os.listdir("/tmp"), [], f"/tmp during a run as {user}")
            p.kill()
            p.wait()
            gone(nonce)
            prints("", "--mount", "/usr/share:/data", "sh", "-c", "touch /tmp/a /workspace/b /dev/shm/c", user=user)
            expect(run("--timeout", "100ms", "--grace", "0", "--", "sleep", "60", user=user), rc=124, err=None)
            same(read("/proc/self/mountinfo"), before, f"the mount table after runs as {user}")
            same(os.listdir("/tmp"), [], f"/tmp after runs as {user}")
    finally:
        os.unlink(program)


@test
def cella_does_not_need_its_own_directory():
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")
    r = run("--", "echo", "x")
    expect(r, out="x\n", err=None if support.wrapped else "")  # valgrind is a script, which prints an error
