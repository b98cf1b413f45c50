"""Readers, callers and code that try to delay cella, or to use memory that is not counted."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time

import support
from support import ensure, nonce_seconds, reap, run_json, same, spawn, test, until, with_argument, within
from test_leftovers import groups, lost_groups, stat_of


def ends_in_time(seconds, *words, **popen):
    begun = time.monotonic()
    p = spawn("run", *words, stdin=subprocess.DEVNULL, **popen)
    rc = reap(p, 20)
    within(time.monotonic() - begun, seconds, "it")
    return rc


@test
def a_deadline_holds_with_both_streams_on_one_full_pipe():
    r, w = os.pipe()
    rc = ends_in_time(10, "--timeout", "700ms", "--grace", "100ms", "sh", "-c", "yes & yes >&2", stdout=w, stderr=w)
    same(rc, 124, "exit status")
    os.close(r)
    os.close(w)


@test
def a_deadline_holds_with_a_terminal_that_is_not_read():
    master, slave = pty.openpty()
    rc = ends_in_time(10, "--timeout", "700ms", "--grace", "100ms", "--", "yes", stdout=slave, stderr=slave)
    same(rc, 124, "exit status")
    os.close(master)
    os.close(slave)


@test(users=["root"])
def a_deadline_holds_with_a_full_pipe_of_another_user():
    # The first fills the pipe through one stream after the other, the second through both at once.
    for code in ("head -c 40000 /dev/zero; sleep 0.1; head -c 60000 /dev/zero >&2; sleep 100", "yes & yes >&2"):
        r, w = os.pipe()  # cella may not open it again, so that writes to it can block
        rc = ends_in_time(10, "--timeout", "700ms", "--grace", "100ms", "sh", "-c", code, stdout=w, stderr=w, user="user")
        same(rc, 124, f"exit status of {code}")
        os.close(r)
        os.close(w)


def waiting_in(pipe):
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def living_children(pid):
    children = support.read(f"/proc/{pid}/task/{pid}/children").split()
    return [c for c in children if stat_of(c)[0] not in "ZX"]


def stopped_after_its_code(*words, user=None):
    """The code has ended and the reader does not read: a signal must still end cella."""
    r, w = os.pipe()
    nonce = nonce_seconds()
    p = spawn("run", *words, nonce, stdin=subprocess.DEVNULL, stdout=w, user=user)
    os.close(w)
    until(lambda: waiting_in(r) > 32768, 10, "unread output")
    # A signal that cella sees before the end of the code would cancel the code.  Init exits after it reported that end.
    until(lambda: with_argument(nonce) == [p.pid] and not living_children(p.pid), 10, "the end of the code")
    p.send_signal(signal.SIGTERM)
    begun = time.monotonic()
    rc = reap(p, 20)
    within(time.monotonic() - begun, 5, "its end")
    same(rc, -signal.SIGTERM, "exit status")
    os.close(r)


@test
def signal_ends_cella_during_a_flush():
    stopped_after_its_code("sh", "-c", "head -c 100000 /dev/zero")


@test
def signal_ends_cella_during_a_write_to_a_limited_stream():
    stopped_after_its_code("--output", "100K", "sh", "-c", "head -c 300000 /dev/zero")


@test(users=["root"])
def signal_ends_cella_during_a_write_to_a_pipe_of_another_user():
    stopped_after_its_code("--output", "100K", "sh", "-c", "head -c 300000 /dev/zero", user="user")


@test
def signal_ends_cella_during_the_output_of_json():
    stopped_after_its_code("--json", "sh", "-c", "head -c 200000 /dev/zero")


@test(users=["root"])
def root_without_the_right_to_kill_ends_its_run_all_the_same():
    begun = time.monotonic()
    p = subprocess.run(["setpriv", "--bounding-set=-kill", "--inh-caps=-kill", *support.command, "run",
                        "--timeout", "500ms", "--grace", "100ms", "sh", "-c", "trap '' TERM; while :; do sleep 1; done"],
                       stderr=subprocess.DEVNULL, timeout=20 * support.slack)
    within(time.monotonic() - begun, 10, "it")
    same(p.returncode, 124, "exit status")


@test
def init_cannot_be_made_slow():
    code = (
        "import os\n"
        "def tried(f):\n"
        "    try: f()\n"
        "    except PermissionError: return 'refused'\n"
        "    return 'done'\n"
        "print(tried(lambda: os.setpriority(os.PRIO_PROCESS, 1, 19)), tried(lambda: os.setpriority(os.PRIO_PGRP, 1, 19)),\n"
        "      tried(lambda: os.setpriority(os.PRIO_USER, 0, 19)), tried(lambda: os.sched_setaffinity(1, {0})),\n"
        "      tried(lambda: os.setpriority(os.PRIO_PROCESS, 0, 19)))\n"
    )
    r, _ = run_json("python3", "-c", code)
    same(r["stdout"], "refused refused refused refused done\n", "what could be done")


@test(users=["root"])
def socket_buffers_count_as_memory():
    code = (
        "import socket\n"
        "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(200); held = []; n = 0\n"
        "for i in range(150):\n"
        "    c = socket.socket(); c.connect(s.getsockname()); a, _ = s.accept(); c.setblocking(False)\n"
        "    held += [a, c]\n"
        "    try:\n"
        "        while True: n += c.send(bytes(65536))\n"
        "    except OSError: pass\n"
        "print(n >> 20)\n"
    )
    r, _ = run_json("--memory", "32M", "python3", "-c", code)
    ensure(r["status"] == "memory_limit" or int(r["stdout"]) < 64, f"sockets held {r['stdout']} MiB of 32", None)


@test
def early_signal_leaves_nothing_behind():
    before = groups()
    for i in range(30):
        p = spawn("run", "--", "sleep", "1", stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(i * 0.0002)
        p.terminate()
        reap(p)
    # Other daemons on this machine have groups, too, with a living owner.
    until(lambda: not lost_groups(before), 5, "the end of the cgroups")


@test
def host_group_of_the_owner_is_not_shown():
    r, _ = run_json("sh", "-c", "cat /proc/self/cgroup")
    for line in r["stdout"].splitlines():
        ensure(line.endswith(":/"), f"it shows {line}", None)
