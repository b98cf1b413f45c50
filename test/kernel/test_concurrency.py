"""Many sandboxes at once."""

import concurrent.futures
import os
import subprocess
import time

import support
from support import (
    ensure, fail, gone, nonce_seconds, reap, run, same, script, spawn, test, uid_of, until, with_argument, within,
)


@test
def twenty_runs_at_once_each_get_their_own_output():
    def one(i):
        r = run("python3", "-c", script(
            "import os, time",
            f"print('{i}-out'); time.sleep(0.2)",
            f"print(os.listdir('.'), '{i}-end'); open('f', 'w')",
        ))
        return r.rc, r.out

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        got = list(pool.map(one, range(20)))
    same(got, [(0, f"{i}-out\n[] {i}-end\n") for i in range(20)], "what the runs gave")


@test
def short_runs_do_not_disturb_each_other():
    """Runs start and end all the time, and each one looks for the remains of dead ones."""
    many = 30 if support.wrapped else 200
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        bad = [r for r in pool.map(lambda _: run("--", "true"), range(many)) if (r.rc, r.err) != (0, "")]
    ensure(not bad, f"{len(bad)} of {many} failed; the first:", bad[0] if bad else None)


@test
def one_run_does_not_wait_for_another():
    nonce = nonce_seconds()
    long = [spawn("run", "--", "sleep", nonce, stdin=subprocess.DEVNULL) for _ in range(5)]
    until(lambda: len(with_argument(nonce)) >= 10, 5, "the start of the long runs")
    begun = time.monotonic()
    r = run("--", "echo", "quick")
    within(time.monotonic() - begun, 5, "a quick run beside long ones", r)
    for p in long:
        p.terminate()
    same({reap(p, 10) for p in long}, {143}, "exit status of the long runs")
    gone(nonce, 5)


@test(users=["root"])
def each_run_has_a_uid_of_its_own_on_the_host():
    nonce = nonce_seconds()
    words = ("run", "sh", "-c", f"sleep {nonce}; :")
    runs = [spawn(*words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(20)]

    def all_run():
        for p in runs:
            if p.poll() is not None:
                fail(f"a run ended with {p.returncode}: {p.stderr.read().decode()}")
        pids = [p for p in with_argument(nonce) if (uid_of(p) or 0) != 0]
        return pids if len(pids) == len(runs) else None

    try:
        pids = until(all_run, 10, "the start of twenty sandboxes")
        uids = [uid_of(p) for p in pids]
        same(len(set(uids)), 20, f"the number of different uids among {sorted(uids)}")
        ensure(all(u >= 0x70000000 for u in uids), f"uids that could be somebody's: {sorted(uids)}")
        for kind in ("user", "pid", "mnt", "net", "ipc", "uts"):
            same(len({os.readlink(f"/proc/{p}/ns/{kind}") for p in pids}), 20, f"the number of {kind} namespaces")
    finally:
        for p in runs:
            p.terminate()
        for p in runs:
            reap(p)
    gone(nonce, 5)


@test(users=["root"])
def root_and_users_run_side_by_side():
    def one(i):
        r = run("sh", "-c", f"sleep 0.1; echo {i}", user="user" if i % 2 else None)
        return r.rc, r.out

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        same(list(pool.map(one, range(10))), [(0, f"{i}\n") for i in range(10)], "what the runs gave")
