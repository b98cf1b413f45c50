#!/usr/bin/python3
"""Runs the tests of test/kernel (or of another directory: --suite) against a built `cella`, on the real kernel.

Every test runs in a process, a session and a directory of its own: as root, and
again as an ordinary user, unless it says otherwise.  The program is copied first, so
that a build going on beside cannot change it under a test, and so that the ordinary
user reaches it wherever the tree lies.

A test that missed a deadline of its own (support.Late, a timeout of the test) is repeated alone, at most twice,
and counted as late.  A wrong value fails at once.  The run fails if more than 1 % of its tests were late
(see late_allowed()): on a busy machine a few are, but code that became slow makes many late.

One line per test, then the count.  A test that cannot run here prints the reason.  If the reason is not expected
(EXPECTED_SKIPS, or --expected-skips), the run fails.  So does a run without any test, and one with fewer tests than
--minimum."""

import argparse
import errno
import http.client
import importlib
import json
import os
import pathlib
import pwd
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "kernel"))
sys.dont_write_bytecode = True

import support  # noqa: E402

USER = 12345  # an unused uid, without groups, home or cgroup
TIMEOUT = 30
TRIES = 3  # of a test that is late
SLOWEST = 20  # tests that the end of the output names, with their durations

# Why a test may be left out.  The whole reason is compared.
EXPECTED_SKIPS = {
    "not started as root",
    "no luajit on this machine",
    "no compiler of go on this machine",
    "no compiler of rust on this machine",
    "no newuidmap on this machine",
    "no control group can be given to a user here",
    *(f"no {package} on this machine" for package in ("numpy", "pandas", "matplotlib", "requests")),
}


def arguments():
    parser = argparse.ArgumentParser(description="tests of cella's command line on the real kernel")
    parser.add_argument("--cella", default=HERE.parent / "build/src/cella", help="the program (build/src/cella)")
    parser.add_argument("--suite", default="kernel", metavar="DIR", help="the directory with the tests (kernel)")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="run only tests with this in their name")
    parser.add_argument("--file", default="", metavar="SUBSTRING", help="run only tests of such files")
    parser.add_argument("--user", choices=["root", "user"], help="run only as this user")
    parser.add_argument("--wrapper", default="", metavar="COMMAND", help='run cella below it; it must not write to stderr')
    parser.add_argument("--expected-skips", metavar="FILE", help="further reasons that are fine, one a line")
    parser.add_argument("--slack", type=float, metavar="N", help="be so many times as patient (1; with --wrapper 10)")
    parser.add_argument("-j", type=int, default=1, metavar="N", help="tests at once (1)")
    parser.add_argument("--part", type=part, default=(1, 1), metavar="K/N", help="run only the Kth of N equal parts")
    parser.add_argument("--minimum", type=int, default=1, metavar="N", help="fail if fewer tests than this were run (1)")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    options = parser.parse_args()
    if options.slack is None:
        options.slack = 10 if options.wrapper else 1
    return options


def load(path):
    """Imports the tests of a file.  Another folder may have a module of the same name, which would be taken instead."""
    module = importlib.import_module(path.stem)
    if not path.samefile(module.__file__):
        sys.exit(f"the tests of {path} are not run: {module.__file__} has the same name")


def discover(options):
    """(test, user) pairs in the order of files and of definition, those that go beside the others first, those
    that must be alone last."""
    sys.path.insert(1, str(HERE / options.suite))
    for path in sorted((HERE / options.suite).glob("test_*.py")):
        load(path)
    names = [t.name for t in support.registry]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"two tests are called {name}")
    chosen = [
        (t, user)
        for t in support.registry
        for user in t.users
        if options.only in t.name and options.file in t.function.__module__ and options.user in (None, user)
        if not (t.unwrapped and options.wrapper)
    ]
    return sorted(part_of(chosen, *options.part), key=lambda pair: (not pair[0].beside, pair[0].alone))


def part_of(pairs, which, parts):
    """Every Nth test of each file."""
    seen, chosen = {}, []
    for test, user in pairs:
        i = seen[test.function.__module__] = seen.get(test.function.__module__, -1) + 1
        if i % parts == which - 1:
            chosen.append((test, user))
    return chosen


def part(text):
    which, parts = map(int, text.split("/"))
    if not 1 <= which <= parts:
        raise ValueError
    return which, parts


def late_allowed(total):
    """How many tests may be late: 1 %, but one in a suite of at least 20, and none in a smaller one."""
    return max(total // 100, 1 if total >= 20 else 0)


def become(user, home):
    """From here on this process is `user`, as after a login with nothing in it."""
    if user == "user" and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
    keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    os.environ.clear()
    os.environ.update(keep, HOME=home, TMPDIR=home, USER=user, LOGNAME=user)
    os.chdir(home)


def is_late(e):
    """Whether an exception says that a deadline of the test was missed."""
    if isinstance(e, support.Late):
        return True
    return isinstance(e, (subprocess.TimeoutExpired, TimeoutError)) and getattr(e, "errno", None) is None


def outcome(test, user, home):
    """Runs one test in this process, and returns its result.  An exception in a thread fails the test, but not
    a lost connection in a daemon thread: the test may have ended without waiting for it.  If a thread missed a deadline,
    the test is late: a failure after that is only the result that the thread did not bring."""
    threads = []

    def thread_failed(args):
        e = args.exc_value
        lost = isinstance(e, (ConnectionError, EOFError, http.client.HTTPException)) or getattr(e, "errno", None) in (errno.EBADF, errno.ENOTCONN)
        if is_late(e) or not (args.thread.daemon and lost):
            threads.append(("late" if is_late(e) else "FAIL", f"in a thread: {e}"))
        threading.__excepthook__(args)

    threading.excepthook = thread_failed
    state, reason = result_of(test, user, home)
    if state not in ("ok", "FAIL"):
        return state, reason
    threads.sort(key=lambda t: t[0] == "late")  # a failure is more than a missed deadline
    return threads[0] if threads and (state == "ok" or threads[0][0] == "late") else (state, reason)


def result_of(test, user, home):
    try:
        become(user, home)
        support.start(user, home)
        test.call()
        return "ok", ""
    except support.Skip as skip:
        return "skip", str(skip)
    except support.Failure as failure:
        where = [f for f in traceback.extract_tb(failure.__traceback__) if f.name == test.function.__name__]
        return "late" if is_late(failure) else "FAIL", (f"line {where[-1].lineno}: " if where else "") + str(failure)
    except BaseException as e:
        return "late" if is_late(e) else "FAIL", traceback.format_exc(chain=False)


class Running:
    """A test in its own process."""

    def __init__(self, test, user, base):
        self.test, self.user = test, user
        self.home = tempfile.mkdtemp(prefix=f"{test.name[:40]}-", dir=base)
        os.chmod(self.home, 0o755)
        if user == "user" and os.geteuid() == 0:
            os.chown(self.home, USER, USER)
        self.report, child_end = os.pipe()
        self.text = b""
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number in (signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            os.close(self.report)
            result = outcome(test, user, self.home)
            with os.fdopen(child_end, "w") as f:
                json.dump(result, f)
            os._exit(0)
        os.close(child_end)
        self.started = time.monotonic()
        self.until = self.started + test.timeout * support.slack

    def finish(self, timed_out=False):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)
        os.close(self.report)
        shutil.rmtree(self.home, ignore_errors=True)
        if timed_out:
            return "late", f"not done after {self.test.timeout * support.slack:g} s"
        if not self.text:
            return "FAIL", "the test's process died"
        return json.loads(self.text)


class Tally:
    def __init__(self, options):
        self.counts = {"ok": 0, "FAIL": 0, "skip": 0}
        self.seconds = {}  # of each test
        self.late = set()
        self.expected = set(EXPECTED_SKIPS)
        if options.expected_skips:
            lines = pathlib.Path(options.expected_skips).read_text().splitlines()
            self.expected.update(line for line in lines if line and not line.startswith("#"))

    def add(self, test, user, state, reason):
        if state == "skip" and reason not in self.expected:
            state, reason = "FAIL", f"skipped, which was not expected: {reason}"
        self.counts[state] += 1
        name = f"{test.name} ({user})" if state != "skip" else test.name
        print(f"{state} {name}" + (": " + reason.rstrip().replace("\n", "\n    ") if reason else ""), flush=True)


def run_all(pairs, at_once, base, tally, tries=TRIES):
    """At most so many at once; a test that must be alone is."""
    waiting, running, late = list(pairs), {}, []
    selector = selectors.DefaultSelector()

    def may_start():
        others = [r for r in running.values() if not r.test.beside]
        if not waiting or waiting[0][0].beside:
            return bool(waiting)
        if len(others) >= at_once:
            return False
        return not others or not (waiting[0][0].alone or others[0].test.alone)

    def end(r, timed_out=False):
        selector.unregister(r.report)
        del running[r.report]
        tally.seconds[f"{r.test.name} ({r.user})"] = time.monotonic() - r.started
        state, reason = r.finish(timed_out)
        if state == "late" and tries > 1:
            what = (reason.splitlines() or [""])[-1 if reason.startswith("Traceback") else 0]
            print(f"late {r.test.name} ({r.user}): {what}; repeated later, alone", flush=True)
            tally.late.add((r.test.name, r.user))
            late.append((r.test, r.user))
        else:
            tally.add(r.test, r.user, "FAIL" if state == "late" else state, reason)

    try:
        while waiting or running:
            while may_start():
                test, user = waiting.pop(0)
                if user == "root" and os.geteuid() != 0:
                    tally.add(test, user, "skip", "not started as root")
                    continue
                r = Running(test, user, base)
                running[r.report] = r
                selector.register(r.report, selectors.EVENT_READ, r)
            if not running:
                continue
            next_end = min(r.until for r in running.values())
            for key, _ in selector.select(max(0, next_end - time.monotonic())):
                data = os.read(key.data.report, 65536)
                key.data.text += data
                if not data:
                    end(key.data)
            for r in list(running.values()):
                if time.monotonic() >= r.until:
                    end(r, timed_out=True)
    finally:
        for r in list(running.values()):
            r.finish()
            tally.add(r.test, r.user, "FAIL", "still running when the whole run was ended")
    for pair in late:  # each by itself
        run_all([pair], 1, base, tally, tries - 1)


def end_strays(program):
    """A cella or cella-client that a failed test left running."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{name}/exe") in (program, program + "-client"):
                os.kill(int(name), signal.SIGKILL)
        except OSError:
            continue


def main():
    options = arguments()
    pairs = discover(options)
    if options.list:
        for test, user in pairs:
            print(f"{test.name} ({user})")
        return 0
    if not pairs:
        sys.exit("no test has such a name")
    whole = not (options.only or options.file)
    os.umask(0o022)
    base = tempfile.mkdtemp(prefix="cella-test-", dir="/tmp")
    program = os.path.join(base, "cella")
    try:
        os.chmod(base, 0o755)
        shutil.copy(options.cella, program)
        os.chmod(program, 0o755)
        for name in ("cella-server", "cella-client"):
            other = pathlib.Path(options.cella).with_name(name)
            if other.exists():
                shutil.copy(other, base)
                os.chmod(os.path.join(base, name), 0o755)
        support.setup(program, shlex.split(options.wrapper), options.slack, USER)
        tally = Tally(options)
        # The tests that are running are ended, and named.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
        run_all(pairs, options.j, base, tally)
    finally:
        end_strays(program)
        shutil.rmtree(base, ignore_errors=True)
    if len(tally.seconds) > SLOWEST:
        print("the slowest tests:")
        for name in sorted(tally.seconds, key=tally.seconds.get, reverse=True)[:SLOWEST]:
            print(f"  {tally.seconds[name]:5.1f} s {name}")
    counts = tally.counts
    total = counts["ok"] + counts["FAIL"]
    if whole and total < options.minimum:
        counts["FAIL"] += 1
        print(f"FAIL minimum: {total} tests were run, fewer than {options.minimum}")
    if whole and len(tally.late) > late_allowed(total):
        counts["FAIL"] += 1
        print(f"FAIL late: {len(tally.late)} of {total} tests missed a deadline, more than {late_allowed(total)}")
    print(f"{len(tally.late)} late")
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    if any(entry.pw_uid == USER for entry in pwd.getpwall()):
        sys.exit(f"uid {USER} is somebody's here")
    sys.exit(main())
