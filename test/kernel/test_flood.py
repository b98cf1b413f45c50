"""A minute of endless output: cella's own memory does not grow."""

import json
import os
import subprocess
import tempfile
import threading
import time

import support
from support import ensure, fail, is_root, read, reap, same, spawn, test

GROWTH = 8 << 20  # after the first second


def seconds():
    """A minute; 5 s where the memory of another program than the real one is measured."""
    return 5 if support.wrapped or support.slack > 1 else 60


def memory(pid):
    """Returns (resident bytes, anonymous resident bytes); None if the process has ended."""
    try:
        fields = dict(line.split(":", 1) for line in read(f"/proc/{pid}/status").splitlines())
        return tuple(int(fields[name].split()[0]) << 10 for name in ("VmRSS", "RssAnon"))
    except (FileNotFoundError, ProcessLookupError, KeyError):
        return None


def flood(*options, stdout):
    """Others are to run beside: it yields to them, and the code, with a cgroup that does not yield, has a small share."""
    small = ("--cpus", "0.1") if is_root() else ()
    return spawn("run", *options, *small, "--timeout", f"{seconds()}s", "--grace", "1s", "--", "yes",
                 stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, preexec_fn=lambda: os.nice(19))


def stays_flat(p):
    """Samples the memory of a run with endless output until its end."""
    begun = time.monotonic()
    first, looked = None, 0
    while p.poll() is None:
        now = memory(p.pid)
        age = time.monotonic() - begun
        if now and age >= 1:
            first = first or now
            looked += 1
            # What valgrind needs for itself grows with the code that it has seen.
            if not support.wrapped and max(now[0] - first[0], now[1] - first[1]) > GROWTH:
                p.kill()
                fail(f"after {age:.1f} s it had {now[0] >> 10} KiB, {now[1] >> 10} of its own; after 1 s {first[0] >> 10}, "
                     f"{first[1] >> 10}")
        if age > seconds() + 20 * support.slack:
            support.late(f"it was still running after {age:.0f} s")
        time.sleep(0.1)
    ensure(looked >= seconds() * 2, f"its memory could be looked at {looked} times only")
    same(reap(p), 124, "exit status")
    ensure(time.monotonic() - begun >= seconds(), "it ended early")


@test(timeout=120, beside=True)
def memory_stays_flat_during_a_streamed_flood():
    """The reader is slow, too: unread output must be held back in the code."""
    p = flood(stdout=subprocess.PIPE)
    taken = []

    def take():
        while data := os.read(p.stdout.fileno(), 1 << 20):
            taken.append(len(data))
            time.sleep(0.001)

    reader = threading.Thread(target=take, daemon=True)
    reader.start()
    try:
        stays_flat(p)
    finally:
        p.kill()
        p.wait()
    reader.join()
    ensure(sum(taken) > seconds() << 20, f"only {sum(taken)} bytes came")


@test(timeout=120, beside=True)
def memory_stays_flat_during_a_kept_flood():
    with tempfile.TemporaryFile(dir=support.home) as out:
        p = flood("--json", stdout=out)
        try:
            stays_flat(p)
        finally:
            p.kill()
            p.wait()
        out.seek(0)
        result = json.load(out)
    same((result["status"], result["stdout_truncated"]), ("timeout", True), "status and stdout_truncated")
    ensure(result["stdout_bytes"] > seconds() << 20, f"only {result['stdout_bytes']} bytes came")
    ensure(len(result["stdout"]) < 2 << 20, f"{len(result['stdout'])} bytes were kept")
