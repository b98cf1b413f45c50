"""Limits: each one holds, and the result names it."""

import os
import subprocess
import time

import support
from support import (
    ensure, expect, gone, groups_of, in_time, nonce_seconds, prints, read, reap, refused, run, run_json, same, script,
    spawn, test, until, with_argument, within,
)

# Time.

TIMEOUT, GRACE = 0.3, 0.15
TIMES = ("--timeout", "300ms", "--grace", "150ms")


def ends_in_time(*words, **kwargs):
    result, r = run_json(*TIMES, *words, **kwargs)
    same((r.rc, result["status"], result["timed_out"]), (124, "timeout", True), "the end", r)
    in_time(r, TIMEOUT + GRACE)
    ensure(r.seconds >= TIMEOUT, f"it ended after {r.seconds:.3f} s, before its time", r)
    return result, r


IGNORE_TERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
FORK_BOMB = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"
ENDLESS = {
    "sleep": ("--", "sleep", "60"),
    "busy_loop": ("python3", "-c", "while True: pass"),
    "code_that_ignores_term": ("sh", "-c", "trap '' TERM; sleep 60"),
    "busy_loop_that_ignores_term": ("sh", "-c", "trap '' TERM; while :; do :; done"),
    "code_that_restarts_what_is_killed": ("sh", "-c", "trap '' TERM; while :; do sleep 60; done"),
    "python_fork_bomb": ("--processes", "30", "python3", "-c", FORK_BOMB),
    "shell_fork_bomb": ("--processes", "30", "bash", "-c", ":(){ :|:& };:; sleep 60"),
    "fork_bomb_that_ignores_term": ("--processes", "30", "python3", "-c", IGNORE_TERM + FORK_BOMB),
    "thread_bomb": ("--processes", "30", "python3", "-c", script(
        "import threading, time",
        "while True:",
        "    try: threading.Thread(target=time.sleep, args=(60,)).start()",
        "    except RuntimeError: pass",
    )),
    "code_that_stops_itself": ("sh", "-c", "kill -STOP $$; echo never"),
    "code_stopped_by_its_child": ("sh", "-c", "(kill -STOP $$; kill -STOP -1); echo never"),
    "stopped_children": ("sh", "-c", "for i in 1 2 3 4 5; do sh -c 'kill -STOP $$' & done; wait"),
    "sessions_that_ignore_term": ("sh", "-c", script(
        "trap '' TERM", "for i in 1 2 3; do setsid sleep 60 & setsid setsid sleep 60 & done", "wait", "wait",
    )),
    "output_flood": ("--", "yes"),
    "error_flood": ("sh", "-c", "exec yes >&2"),
    "flood_on_both": ("sh", "-c", "yes & exec yes >&2"),
    "memory_churn": ("python3", "-c", "while True: x = bytearray(50 << 20)"),
    "file_churn": ("sh", "-c", "while :; do echo x > f; rm f; done"),
}

for what, words in ENDLESS.items():
    test(lambda w=words: ends_in_time(*w), name=f"timeout_ends_{what}")


@test
def timeout_ends_code_with_a_full_input():
    with open("/dev/zero", "rb") as zero:
        ends_in_time("--", "sleep", "60", stdin=zero)


@test
def timeout_ends_code_that_waits_for_input():
    r, w = os.pipe()
    ends_in_time("--", "cat", stdin=r)
    os.close(w)


def unread(*words):
    """Runs cella with a standard output that is not read."""
    begun = time.monotonic()
    p = spawn("run", "--timeout", "600ms", "--grace", "200ms", *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
              stderr=subprocess.PIPE)
    rc = reap(p, 20)
    within(time.monotonic() - begun, 10 * (0.6 + 0.2 + 0.2), "it")
    return rc


@test
def timeout_holds_with_a_full_pipe():
    same(unread("--", "yes"), 124, "exit status")


@test
def timeout_holds_with_a_full_pipe_and_term_is_ignored():
    same(unread("sh", "-c", "trap '' TERM; yes; while :; do :; done"), 124, "exit status")


@test
def timeout_holds_with_a_full_pipe_limited_output():
    same(unread("--output", "1M", "--", "yes"), 124, "exit status")


@test
def timeout_holds_with_a_full_pipe_after_the_code_ended():
    unread("--output", "400K", "sh", "-c", "yes | head -c 10000000")


@test
def no_cpu_is_used_while_a_pipe_is_full():
    """While cella waits for a reader, it must not use CPU time."""
    before = os.times()
    unread("--", "yes")
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    ensure(used < 0.5 * support.slack, f"cella and the code used {used:.2f} s of CPU")


@test
def code_may_clean_up_in_the_grace_time():
    code = "trap 'echo bye; exit 7' TERM; echo ready; sleep 60 & wait"
    result, r = run_json("--timeout", "2s", "--grace", "10s", "sh", "-c", code)
    if "ready" not in result["stdout"]:
        support.late("the code was not ready after 2 s", r)
    same((r.rc, result["status"], result["exit_code"]), (124, "timeout", 7), "the end", r)
    same(result["stdout"], "ready\nbye\n", "stdout", r)


@test
def grace_time_is_given_in_full():
    code = script(
        "import signal, sys, time",
        "def save(*_): time.sleep(0.2); print('saved'); sys.exit()",
        "signal.signal(signal.SIGTERM, save); print('ready', flush=True); time.sleep(60)",
    )
    r = run("--timeout", "2s", "--grace", "10s", "python3", "-c", code)
    if "ready" not in r.out:
        support.late("the code was not ready after 2 s", r)
    expect(r, 124, "ready\nsaved\n", "cella: stopped after 2 s (--timeout)\n")


@test
def grace_time_is_never_longer_than_the_timeout():
    r = run("--timeout", "200ms", "--grace", "30s", "sh", "-c", "trap '' TERM; sleep 60; sleep 60")
    expect(in_time(r, 0.4), 124, "", None)


@test
def no_grace_means_killed_at_once():
    r = run("--timeout", "200ms", "--grace", "0", "sh", "-c", "trap 'echo bye' TERM; sleep 60 & wait; wait")
    expect(in_time(r, 0.2), 124, "", "cella: stopped after 200 ms (--timeout)\n")


@test
def short_runs_are_not_held_by_long_timeouts():
    in_time(prints("x\n", "--timeout", "100h", "--grace", "10m", "--", "echo", "x"), 0.3)


# ---- processes that are left ----


def daemon(nonce):
    return script(
        "import os, sys",
        "if os.fork() == 0:",
        "    os.setsid()",
        "    if os.fork() == 0:",
        "        import signal; signal.signal(15, signal.SIG_IGN)",
        f"        os.execvp('sleep', ['sleep', '{nonce}'])",
        "    os._exit(0)",
        "os.wait(); print('main is done')",
    )


@test
def daemon_that_holds_stdout_does_not_hold_the_run():
    nonce = nonce_seconds()
    in_time(prints("main is done\n", "python3", "-c", daemon(nonce)), 0.3)
    gone(nonce)


@test
def daemon_is_gone_after_a_timeout():
    nonce = nonce_seconds()
    ends_in_time("python3", "-c", daemon(nonce) + "import time; time.sleep(60)")
    gone(nonce)


@test
def stopped_background_process_does_not_hold_the_run():
    nonce = nonce_seconds()
    in_time(prints("done\n", "sh", "-c", f"sleep {nonce} & kill -STOP $!; echo done"), 0.3)
    gone(nonce)


@test
def background_process_cannot_write_after_the_end():
    in_time(prints("main\n", "sh", "-c", "(sleep 0.2; echo late) & echo main"), 0.2)


# CPU.


@test(users=["root"])
def cpu_time_limit_ends_the_run():
    result, r = run_json("--cpu-time", "300ms", "python3", "-c", "while True: pass")
    same(result["status"], "cpu_limit", "status", r)
    ensure(result["usage"]["cpu_ms"] >= 300, f"cpu_ms {result['usage']['cpu_ms']}", r)
    within(result["usage"]["cpu_ms"] / 1000, 1, "the CPU time", r)  # 0.31 s when idle: cella polls it
    ensure(r.rc != 0, "exit status is 0", r)


@test(users=["root"])
def cpu_time_limit_counts_all_processes():
    code = "import os\nfor i in range(4): os.fork()\nwhile True: pass"
    result, r = run_json("--cpu-time", "300ms", "--cpus", "2", "python3", "-c", code)
    same(result["status"], "cpu_limit", "status", r)
    ensure(result["usage"]["cpu_ms"] >= 300, f"cpu_ms {result['usage']['cpu_ms']}", r)
    within(result["usage"]["cpu_ms"] / 1000, 2, "the CPU time", r)


@test(users=["root"])
def cpu_time_limit_does_not_count_sleep():
    expect(run("--cpu-time", "200ms", "--", "sleep", "0.4"), out="")


def cpu_quota(group):
    """Returns the number of cores that a cgroup may use; None: unlimited."""
    if "cpu.max" in group:
        quota, period = read(group["cpu.max"]).split()
        return None if quota == "max" else int(quota) / int(period)
    quota = int(read(group["cpu.cfs_quota_us"]))
    return None if quota < 0 else quota / int(read(group["cpu.cfs_period_us"]))


def cpu_seconds(group):
    if "cpuacct.usage" in group:
        return int(read(group["cpuacct.usage"])) / 1e9
    counters = dict(line.split() for line in read(group["cpu.stat"]).splitlines())
    return int(counters["usage_usec"]) / 1e6


def stolen():
    """Seconds, of all CPUs, in which the host of this virtual machine ran other machines.  A kernel may count them
    as used by the process on that CPU, and corrects this only later."""
    return int(read("/proc/stat").split("\n")[0].split()[8]) / os.sysconf("SC_CLK_TCK")


def holds_cores(cores, processes, *options, seconds=1.5):
    """Busy loops, more than the cores that they may have.  Not measured from the start: the limit is set only
    some time after it, and how long after is a matter of what else the machine does.  And since a busy
    machine gives no loop all that it may have, that the limit is set is looked at, too."""
    nonce = nonce_seconds()
    code = f"for i in $(seq {processes}); do while :; do :; done & done; sleep {nonce}"
    # With a limit on CPU time, the usage is counted with any hierarchy of the host.
    p = spawn("run", *options, "--timeout", "100s", "--cpu-time", "100s", "sh", "-c", code, stdin=subprocess.DEVNULL)
    try:
        pid = until(lambda: [i for i in with_argument(nonce) if support.program_name(i) == "sleep"], 10, "the start")[0]
        group = groups_of(pid)
        until(lambda: cpu_quota(group) is not None, 5, "the limit")
        same(cpu_quota(group), cores, "the limit of the cgroup")
        begun, used, lost = time.monotonic(), cpu_seconds(group), stolen()
        time.sleep(seconds)
        used = cpu_seconds(group) - used
        took, lost = time.monotonic() - begun, stolen() - lost
        # The rest of a period, and the quota that each CPU holds, can be used in addition.
        most = cores * (took + 0.1) + 0.03 + lost
        ensure(used <= most, f"{used:.3f} s of CPU in {took:.3f} s ({lost:.2f} s stolen): more than {cores} cores")
        ensure(used > 0, "the loops did not run")
        same(cpu_quota(group), cores, "the limit of the cgroup at the end")
    finally:
        p.terminate()
        reap(p)


@test(users=["root"])
def half_a_core_halves_a_busy_loop():
    holds_cores(0.5, 1, "--cpus", "0.5")


@test(users=["root"])
def one_core_is_one_core_for_two_processes():
    holds_cores(1, 2, "--cpus", "1")


@test(users=["root"])
def default_is_one_core():
    holds_cores(1, 2)


# Memory.

EAT = "print('begun', flush=True)\nx = b'x' * (200 << 20)\nprint('survived')"


@test(users=["root"])
def memory_limit_ends_the_run():
    result, r = run_json("--memory", "64M", "python3", "-c", EAT)
    same((r.rc, result["status"], result["exit_code"], result["signal"], result["stdout"]),
         (137, "memory_limit", 137, 9, "begun\n"), "the end", r)
    ensure(result["usage"]["memory_peak_bytes"] <= 64 << 20, "memory_peak_bytes is over the limit", r)


@test(users=["root"])
def memory_within_the_limit_is_given():
    prints("survived\n", "--memory", "300M", "python3", "-c", "x = b'x' * (200 << 20)\nprint('survived')")


@test(users=["root"])
def memory_limit_counts_all_processes():
    code = script(
        "import os, sys",
        "done, end = os.pipe()",
        "pid = os.fork()",
        "x = b'x' * (40 << 20)",
        "if pid == 0: os.close(end); os.read(done, 1); os._exit(0)",  # the child keeps its memory until the parent has allocated its own
        "os.close(end)",
        "sys.exit(3 if os.waitpid(pid, 0)[1] else 0)",
    )
    result, r = run_json("--memory", "64M", "python3", "-c", code)
    same(result["status"], "memory_limit", "status", r)


@test(users=["root"])
def parent_may_survive_its_childs_memory():
    code = "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'bytearray(200 << 20)']).returncode)"
    result, r = run_json("--memory", "64M", "python3", "-c", code)
    same((r.rc, result["status"], result["stdout"]), (0, "exited", "-9\n"), "the end", r)


@test(users=["root"])
def files_in_tmp_are_memory():
    result, r = run_json("--memory", "64M", "--disk", "1G", "sh", "-c", "head -c 200000000 /dev/zero > /tmp/big")
    same((r.rc, result["status"]), (137, "memory_limit"), "the end", r)


@test(users=["root"])
def shared_memory_is_memory():
    code = "import mmap\nm = mmap.mmap(-1, 200 << 20)\nfor i in range(0, 200 << 20, 4096): m[i] = 1"
    result, r = run_json("--memory", "64M", "python3", "-c", code)
    same((r.rc, result["status"]), (137, "memory_limit"), "the end", r)


@test(users=["root"])
def default_memory_limit_is_512M():
    result, r = run_json("python3", "-c", "x = b'x' * (600 << 20)")
    same((r.rc, result["status"]), (137, "memory_limit"), "the end", r)


for option, value, word in (("--memory", "64M", "memory"), ("--cpus", "0.5", "CPU"), ("--cpu-time", "1s", "CPU")):
    def refuse(option=option, value=value, word=word):
        refused(run(option, value, "sh", "-c", "echo ran"), 125, word, "root", "; ")
        result, r = run_json(option, value, "sh", "-c", "echo ran")
        same((r.rc, result["error"]["kind"]), (125, "isolation_unavailable"), "exit status and kind", r)
        ensure(result["error"]["hint"], "no hint", r)

    test(refuse, name=f"{option[2:].replace('-', '_')}_that_cannot_be_enforced_is_refused", users=["user"])


# Disk.

FILL = "with open('/workspace/f', 'wb', buffering=0) as f:\n  while True: f.write(bytes(65536))"


@test
def disk_limit_is_reported():
    result, r = run_json("--disk", "1M", "python3", "-c", FILL)
    same((r.rc, result["status"], result["exit_code"]), (1, "disk_limit", 1), "the end", r)
    ensure("No space left" in result["stderr"], "not the error of a full disk", r)


@test
def disk_limit_counts_all_directories_together():
    code = script(
        "for d in ('/tmp', '/dev/shm', '/workspace', '/run'):",
        "    with open(d + '/f', 'wb', buffering=0) as f: f.write(bytes(400 << 10))",
        "    print(d, flush=True)",
        "    import os; assert os.path.getsize(d + '/f') == 400 << 10, d",
    )
    result, r = run_json("--disk", "1M", "python3", "-c", code)
    same((result["stdout"].split()[:2], result["status"]), (["/tmp", "/dev/shm"], "disk_limit"), "the end", r)


@test
def disk_within_the_limit_is_given():
    prints("1000000\n", "--disk", "1M", "sh", "-c", "head -c 1000000 /dev/zero > f; stat -c %s f")


@test
def code_may_survive_a_full_disk():
    result, r = run_json("--disk", "1M", "sh", "-c", "head -c 9000000 /dev/zero > f 2>/dev/null; echo on")
    same((r.rc, result["status"], result["stdout"]), (0, "exited", "on\n"), "the end", r)


@test
def inode_limit_is_reported():
    code = script(
        "import sys",
        "i = 0",
        "try:",
        "    while i < 1000: open(f'/tmp/f{i}', 'x').close(); i += 1",
        "except OSError as e: print(i, e.errno); sys.exit(4)",
    )
    result, r = run_json("--inodes", "100", "python3", "-c", code)
    same((r.rc, result["status"]), (4, "disk_limit"), "the end", r)
    made, number = map(int, result["stdout"].split())
    same(number, 28, "errno (ENOSPC)", r)
    ensure(100 <= made <= 164, f"{made} files could be made, not about 100", r)


@test
def sparse_file_cannot_be_larger_than_the_disk():
    result, r = run_json("--disk", "1M", "--", "truncate", "-s", "10M", "/workspace/f")
    same((result["status"], result["signal"], r.rc), ("disk_limit", 25, 128 + 25), "the end (25 is SIGXFSZ)", r)


@test
def sparse_file_up_to_the_limit_is_fine():
    prints("1048576\n", "--disk", "1M", "sh", "-c", "truncate -s 1M f; stat -c %s f")


# Processes and descriptors.

FORKS = script(
    "import os, sys, time",
    "n = 0",
    "try:",
    "    while n < 200:",
    "        if os.fork() == 0: time.sleep(60); os._exit(0)",
    "        n += 1",
    "except BlockingIOError: print(n, flush=True); raise",
)


@test
def process_limit_is_exact():
    result, r = run_json("--processes", "10", "python3", "-c", FORKS)
    same((r.rc, result["stdout"]), (1, "9\n"), "exit status and the number of children", r)


@test(users=["root"])
def process_limit_is_reported():
    result, r = run_json("--processes", "10", "python3", "-c", FORKS)
    same(result["status"], "process_limit", "status", r)
    same(result["usage"]["processes_peak"], 10, "processes_peak", r)


@test
def default_process_limit_is_64():
    result, r = run_json("python3", "-c", FORKS)
    same(result["stdout"], "63\n", "the number of children", r)


@test
def threads_count_as_processes():
    code = script(
        "import threading, time",
        "n = 0",
        "try:",
        "    while n < 200: threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); n += 1",
        "except RuntimeError: print(n)",
    )
    r = run("--processes", "10", "python3", "-c", code)
    same((r.rc, r.out), (0, "9\n"), "exit status and the number of threads", r)


@test
def one_process_is_enough_for_one():
    prints("x\n", "--processes", "1", "--", "echo", "x")


@test
def code_may_survive_a_refused_fork():
    result, r = run_json("--processes", "3", "python3", "-c", script(
        "import os, time",
        "try:",
        "    for i in range(10):",
        "        if os.fork() == 0: time.sleep(60)",
        "except OSError: print('refused')",
    ))
    same((r.rc, result["status"], result["stdout"]), (0, "exited", "refused\n"), "the end", r)


@test
def open_files_end_at_the_limit():
    code = script(
        "import os",
        "fds = []",
        "try:",
        "    while len(fds) < 5000: fds.append(os.open('/dev/null', os.O_RDONLY))",
        "except OSError as e: print(fds[-1], e.errno)",
    )
    prints("31 24\n", "--files", "32", "python3", "-c", code)
    prints("1023 24\n", "python3", "-c", code)


@test
def limits_cannot_be_raised():
    code = script(
        "import resource as R",
        "for what in (R.RLIMIT_NOFILE, R.RLIMIT_FSIZE, R.RLIMIT_CORE, R.RLIMIT_NPROC):",
        "    soft, hard = R.getrlimit(what)",
        "    try: R.setrlimit(what, (hard + 1, hard + 1)); print('raised', what)",
        "    except (ValueError, OSError): pass",
        "print(R.getrlimit(R.RLIMIT_CORE))",
    )
    prints("(1, 1)\n", "python3", "-c", code)
    prints("(1, 1)\n", "--user", "root", "python3", "-c", code)


# Output.


@test
def output_limit_can_end_the_run():
    result, r = run_json("--kill-on-output", "--output", "10K", "--", "yes")
    same(result["status"], "output_limit", "status", r)
    ensure(result["stdout_truncated"] and result["stdout_bytes"] > 10 << 10, "stdout is not over the limit", r)
    in_time(r, 0.5)
    ensure(r.rc != 0, "exit status is 0", r)


@test
def output_limit_can_end_a_streamed_run():
    r = in_time(run("--kill-on-output", "--output", "10K", "sh", "-c", "yes >&2"), 0.5)
    ensure(r.rc != 0 and "cella: stopped at 10 KiB of output (--output)\n" in r.err, "not ended", r)
    ensure(len(r.err) < 12000, f"{len(r.err)} bytes came", r)


@test
def output_below_the_limit_does_not_end_the_run():
    result, r = run_json("--kill-on-output", "--output", "10K", "sh", "-c", "yes | head -c 10240")
    same((r.rc, result["status"], result["stdout_bytes"]), (0, "exited", 10240), "the end", r)
