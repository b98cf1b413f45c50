"""Several processes that make sandboxes: `cella serve --workers N`."""

import concurrent.futures
import contextlib
import os
import signal

import support
from daemon import Daemon, descendants
from support import same, test, until

NO_POOLS = {"sandboxes": {"spare": 0}, "pools": []}


def metric(d, name):
    return next(float(line.split()[1]) for line in d.get("/metrics").decode().splitlines() if line.split()[0] == f"cella_{name}")


def fields(pid):
    with open(f"/proc/{pid}/stat", "rb") as f:
        return f.read().rpartition(b")")[2].split()


def workers(d, n):
    """The pids of the workers, once there are n of them and the server is connected to them."""

    def find():
        found = []
        for pid in descendants(d.process.pid):
            with contextlib.suppress(OSError):
                if pid != d.process.pid and support.read(f"/proc/{pid}/cmdline") == support.read(f"/proc/{d.process.pid}/cmdline"):
                    found.append(pid)
        return sorted(found) if len(found) == n and metric(d, "workers") == n else None

    return until(find, 20, f"{n} workers")


@contextlib.contextmanager
def stopped(d, *pids):
    """Stops these processes and sends each of them a request, which it does not answer."""
    with concurrent.futures.ThreadPoolExecutor(100) as threads:
        jobs, before = [], metric(d, "executions_running")

        def all_wait():
            waiting = [job for job in jobs if not job.done()]
            if len(waiting) == len(pids) == metric(d, "executions_running") - before:
                return True
            # An execution goes to the process with the fewest requests, which may be one that runs.
            if len(waiting) < len(pids) and len(jobs) < 100:
                jobs.append(threads.submit(d.exec, "sh", f"echo {len(jobs)}", timeout=100))
            return False

        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
                until(lambda pid=pid: fields(pid)[0] == b"T", 20, "a stopped process")
            until(all_wait, 20, "executions that wait for stopped processes")
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        same([job.result()["stdout"] for job in jobs], [f"{i}\n" for i in range(len(jobs))], "the other executions")


@test
def a_busy_process_does_not_delay_the_sandboxes_of_others():
    with Daemon(settings=NO_POOLS, args=["--workers", "3"]) as d:
        first, second = workers(d, 2)
        for busy in [d.process.pid], [d.process.pid, first], [d.process.pid, second]:
            with stopped(d, *busy):
                same(d.exec("sh", "echo hi")["stdout"], "hi\n", f"an execution while {len(busy)} of 3 processes are stopped")


def begin_on_worker(d):
    """Starts executions until the sandbox of one is made by a worker. Returns its events."""
    with stopped(d, d.process.pid):
        events = d.events("POST", "/v1/exec", {"runtime": "sh", "code": "echo on; sleep 1000"})
        events.read_until("on\n")
    return events


@test
def a_worker_that_dies_is_replaced_and_its_sandboxes_end():
    with Daemon(settings=NO_POOLS, args=["--workers", "2"]) as d:
        (worker,) = workers(d, 1)
        created = d.sandbox()
        d.exec("sh", "echo kept > file", created)
        with begin_on_worker(d) as events:
            inside = {pid: start for pid, start in descendants(worker).items() if pid != worker}
            same(len(inside) >= 2, True, "the worker made the sandbox")
            os.kill(worker, signal.SIGKILL)
            rest = list(events)
        same((rest[-1][0], "has ended" in str(rest[-1][1])), ("error", True), f"the last event of {rest}")
        until(lambda: not [pid for pid, start in inside.items() if descendants(pid).get(pid) == start], 20, "the end of its sandbox")
        d.logged("worker 1 was killed by signal 9; it is replaced", "error")
        (other,) = workers(d, 1)
        same(other != worker, True, "it is another process")
        same(d.exec("sh", "cat file", created)["stdout"], "kept\n", "a sandbox that the keeper made")
        with stopped(d, d.process.pid):
            same(d.exec("sh", "echo hi")["stdout"], "hi\n", "an execution in a sandbox of the new worker")
        same([row["status"] for row in d.rows() if "sleep" in row["preview"]], ["lost"], "the log")


def opened(pid):
    """What a process has open, of those things that others could use, too: sockets, namespaces, control groups."""
    found = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/{pid}/fd/{name}") if int(name) > 2 else "a standard stream")
    return {name for name in found if name.startswith(("socket:[", "net:[", "user:[", "mnt:[")) or "/cella-" in name}


def made_ahead(pid):
    """Waits until a process has made network namespaces and groups ahead."""
    until(lambda: all(sum(part in name for name in opened(pid)) >= 4 for part in ("net:[", "/cella-")), 60, f"what {pid} makes ahead")


@test(users=("root",))
def a_new_worker_has_nothing_of_the_keeper():
    with Daemon(settings=NO_POOLS, args=["--workers", "2"]) as d:
        (worker,) = workers(d, 1)
        for pid in d.process.pid, worker:
            made_ahead(pid)
        os.kill(worker, signal.SIGKILL)
        d.logged("worker 1 was killed by signal 9; it is replaced", "error")
        # The new worker is a fork of a keeper that has looked into its namespaces.
        (other,) = workers(d, 1)
        made_ahead(other)
        same(opened(d.process.pid) & opened(other), set(), "sockets, namespaces and groups of both")
        for pid in d.process.pid, other:
            same(os.readlink(f"/proc/{pid}/ns/net"), os.readlink("/proc/self/ns/net"), f"the network of {pid}")


@test
def nothing_is_left_when_keeper_or_server_are_killed():
    with Daemon(settings=NO_POOLS, args=["--workers", "3"]) as d:
        for which in "keeper", "server", "both":
            workers(d, 2)
            with begin_on_worker(d), begin_on_worker(d):
                d.kill(which)
            d.start()
        workers(d, 2)
        same(d.exec("sh", "echo hi")["stdout"], "hi\n", "an execution after all that")


@test
def the_number_of_workers_is_checked():
    for number, message in ("0", "a number above 0"), ("33", "out of range (1 to 32)"), ("x", "a number above 0"):
        r = support.cella(["serve", "--workers", number, "--listen", "none"])
        same((r.rc, message in r.err), (2, True), f"--workers {number}: {r.err}")
