"""A daemon of the test's own: starts it, sends requests, and counts its resources.

Nothing here touches what belongs to another daemon on the same machine: processes are found as
descendants of ours or by the name of our keeper's cgroup, mounts by our state directory.
"""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from ports import free_port  # noqa: E402

# As in jail/cgroup.c and keeper/spawn/sandbox.c.
NUMBERS = 1 << 22
STEP_INVERSE = pow(7919, -1, NUMBERS)
FIRST_UID = 0x70000000


def cella_groups():
    """Returns (path, number) of all groups of sandboxes on this machine, of any owner."""
    look = ["/sys/fs/cgroup"]
    for _ in range(5):
        deeper = []
        for path in look:
            try:
                names = [e.name for e in os.scandir(path) if e.is_dir(follow_symlinks=False)]
            except OSError:
                continue
            for name in names:
                if name.startswith("cella-") and name[6:].isdigit():
                    yield f"{path}/{name}", int(name[6:])
                else:
                    deeper.append(f"{path}/{name}")
        look = deeper


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read().decode(errors="replace")
    except OSError:
        return ""


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task") if os.path.isdir(f"/proc/{pid}/task") else []:
        found += [int(p) for p in read(f"/proc/{pid}/task/{task}/children").split()]
    return found


def wait_for(what, seconds=10.0, every=0.01):
    """What the function returns, as soon as that is true; its last answer when time is up.  Thrice as long as it takes at
    most on a quiet machine: that costs nothing where it comes."""
    until = time.monotonic() + 3 * seconds
    while True:
        answer = what()
        if answer or time.monotonic() > until:
            return answer
        time.sleep(every)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


class Daemon:
    def __init__(self, cella, directory=None, settings=None, wrapper=(), nofile=None):
        self.cella, self.wrapper, self.nofile = os.path.abspath(cella), list(wrapper), nofile
        self.home = directory or tempfile.mkdtemp(prefix="cella-load-")
        self.mine = directory is None
        os.chmod(self.home, 0o755)  # the server is another user
        self.state, self.socket = f"{self.home}/state", f"{self.home}/sock"
        self.log = f"{self.home}/log"
        self.settings = settings
        self.port = self.keeper = self.server = None
        self.process = None

    # ---- start and end ----

    def start(self, seconds=20.0):
        self.port = free_port()
        command = [*self.wrapper, self.cella, "serve", "--state", self.state, "--socket", self.socket,
                   "--listen", f"127.0.0.1:{self.port}"]
        if self.settings is not None:
            with open(f"{self.home}/settings.json", "w") as f:
                json.dump(self.settings, f)
            command += ["--settings", f"{self.home}/settings.json"]
        limit = None
        if self.nofile:
            def limit(n=self.nofile):
                import resource
                resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            preexec_fn=limit, start_new_session=True)
        if not wait_for(self.healthy, seconds):
            raise RuntimeError("the daemon does not answer: " + read(self.log)[-2000:])
        self.keeper = self.process.pid
        while b"serve" not in open(f"/proc/{self.keeper}/cmdline", "rb").read().split(b"\0")[1:2]:
            self.keeper = children(self.keeper)[0]  # behind a wrapper
        self.server = next(p for p in children(self.keeper) if read(f"/proc/{p}/comm").startswith("cella-server"))
        return self

    def healthy(self):
        if self.process.poll() is not None:
            return False
        try:
            return self.call("GET", "/healthz", timeout=2).status == 200
        except OSError:
            return False

    def stop(self, seconds=15.0):
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "killed"

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
        if self.mine:
            shutil.rmtree(self.home, ignore_errors=True)

    def alive(self):
        return self.process.poll() is None and os.path.exists(f"/proc/{self.server}")

    # ---- requests ----

    def connect(self, timeout=30.0):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def raw(self, timeout=30.0):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def call(self, method, path, body=None, headers=None, timeout=60.0, connection=None):
        c = connection or self.connect(timeout)
        try:
            c.request(method, path, body=body, headers=headers or {})
            r = c.getresponse()
            return Answer(r.status, r.headers, r.read())
        except http.client.HTTPException as e:
            raise ConnectionError(repr(e)) from e
        finally:
            if not connection:
                c.close()

    def post(self, path, value, **more):
        return self.call("POST", path, json.dumps(value), {"Content-Type": "application/json"}, **more)

    def run(self, code, runtime="sh", path="/v1/exec", connection=None, timeout=60.0, **fields):
        return self.post(path, {"runtime": runtime, "code": code, **fields}, connection=connection, timeout=timeout)

    def sandbox(self, **fields):
        a = self.post("/v1/sandboxes", fields)
        if a.status != 201:
            raise RuntimeError(f"no sandbox: {a.status} {a.body[:300]}")
        return a.json()["id"]

    def metrics(self):
        found = {}
        for line in self.call("GET", "/metrics").body.decode().splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                found[name.removeprefix("cella_")] = float(value)
        return found

    def busy(self):
        """Returns the counts of active work; {}: none."""
        m = self.metrics()
        names = ["executions_running", "queue_waiting"] + [k for k in m if k.startswith("sandboxes{")]
        return {k: m[k] for k in names if m[k]}

    def idle(self, seconds=15.0, but=()):
        """Waits until no work is active. Returns the counts of active work."""
        ignore = {*but, 'sandboxes{state="pooled"}'}  # members of pools wait for work
        left = {}

        def nothing():
            nonlocal left
            left = {k: v for k, v in self.busy().items() if k not in ignore}
            return not left
        wait_for(nothing, seconds, 0.05)
        return left

    # ---- inspection ----

    def memory(self, pid=None):
        """Of a process, in bytes: anonymous and shared memory, where a leak shows.  Pss as a whole also has its part of
        the pages of program files, which grows when another daemon on the machine ends."""
        rollup = read(f"/proc/{pid or self.server}/smaps_rollup")
        found = re.findall(r"^(?:Pss_Anon|Pss_Shmem): +(\d+) kB$", rollup, re.MULTILINE)
        if len(found) != 2:
            raise RuntimeError(f"memory of process {pid or self.server}: {rollup!r}")
        return sum(map(int, found)) * 1024

    def ours(self, number, most):
        """Whether our keeper hands out this number: see make_all() in jail/cgroup.c."""
        return (number - self.keeper) * STEP_INVERSE % NUMBERS < most

    def cgroups(self, most=None):
        """Our keeper's groups, in every hierarchy: those it has made and that are not locked by another process."""
        most = most or int(self.metrics()["sandboxes_made_total"]) + 200
        locks = {}
        for line in read("/proc/locks").splitlines():
            f = line.split()
            if f[1] == "FLOCK":
                locks[f[5].rsplit(":", 1)[1]] = int(f[4])
        found = []
        for name, number in cella_groups():
            try:
                owner = locks.get(str(os.stat(name).st_ino), self.keeper)
            except OSError:
                continue
            if self.ours(number, most) and owner == self.keeper:
                found.append(name)
        return found

    def inits(self):
        """Children of the keeper, but for the server and the egress process."""
        egress = {p for p in children(self.keeper) if read(f"/proc/{p}/cmdline").startswith("cella-egress\0")}
        return set(children(self.keeper)) - egress - {self.server}

    def processes(self):
        """Returns the processes of sandboxes."""
        found = self.inits()
        look = list(found)
        while look:
            below = children(look.pop())
            found.update(below)
            look += below
        return found

    def orphans(self, most):
        """Processes in sandboxes of a keeper that is dead, by their uid."""
        found = set()
        for p in os.listdir("/proc"):
            try:
                uid = os.stat(f"/proc/{p}").st_uid if p.isdigit() else 0
            except OSError:
                continue
            if FIRST_UID <= uid < FIRST_UID + NUMBERS and self.ours(uid - FIRST_UID, most):
                if read(f"/proc/{p}/stat").rsplit(")", 1)[-1].split()[0:1] not in ([], ["Z"], ["X"]):
                    found.add(int(p))
        return found

    def mounts(self):
        return sum(len(read(f"/proc/{p}/mountinfo").splitlines()) for p in (self.keeper, self.server))

    def descriptors(self, pid):
        """Returns the number of descriptors by kind: control groups, network and IPC namespaces, views, others."""
        links = []
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        groups = [link for link in links if re.search(r"/cella-\d+(/|$)|^user:", link)]  # a user namespace goes with them
        networks = [link for link in links if re.match(r"net:|/proc/\d+/task/\d+/net/", link)]
        # A detached mount, of message queues, has no other name.
        ipc = [link for link in links if re.match(r"ipc:|/$|/proc/sys/kernel/\w+_next_id$", link)]
        views = [link for link in links if re.match(r"mnt:|/(tmp|workspace|run|dev/shm)$|anon_inode:\[landlock", link)]
        known = groups, networks, ipc, views
        return len(links) - sum(map(len, known)), *map(len, known)

    def holds(self):
        """Returns the counts of everything that must not grow; and the number of spare groups, and of the descriptors of all groups."""
        server, keeper = self.server, self.keeper
        groups = self.cgroups()
        names = {os.path.basename(g) for g in groups}
        live = [g for g in groups if read(g + "/cgroup.procs").strip()]
        fds, group_fds, network_fds, ipc_fds, view_fds = self.descriptors(keeper)
        return {
            "server_kb": self.memory(server) // 1024,
            "keeper_kb": self.memory(keeper) // 1024,
            "server_fds": len(os.listdir(f"/proc/{server}/fd")),
            "keeper_fds": fds,
            "threads": len(os.listdir(f"/proc/{server}/task")) + len(os.listdir(f"/proc/{keeper}/task")),
            "processes": len(self.processes()),
            "cgroups": len(live),
            "resting": len(names - {os.path.basename(g) for g in live}),
            "group_fds": group_fds,
            "network_fds": network_fds,
            "ipc_fds": ipc_fds,
            "view_fds": view_fds,
            "mounts": self.mounts(),
            "workspaces": len(os.listdir(f"{self.state}/workspaces")),
        }

    def complaints(self):
        """Lines of the log that show a bug: sanitizers, aborts, errors of our own."""
        marks = ("AddressSanitizer", "runtime error:", "LeakSanitizer", "assert", "SUMMARY:", "internal")
        return [line for line in read(self.log).splitlines() if any(m in line for m in marks)]


class Checks:
    """Counts passed and failed checks. The last line is the sum that ./dev test reads."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check_resources(self, before, after):
        """Compares the resources of a daemon at rest."""
        # As in keeper/process/spare.h, and one that keeps the kernel's quotas switched on; of each, fourteen descriptors at most are open.
        self.check(after["resting"] <= 64 + 1, "few control groups rest", after["resting"])
        self.check(after["group_fds"] <= 14 * (after["resting"] + after["processes"]), "and few of their files are open", after["group_fds"])
        self.check(after["network_fds"] <= 7 * (64 + after["processes"]) + 2, "few network namespaces rest", after["network_fds"])
        self.check(after["ipc_fds"] <= 5 * (64 + after["processes"]), "few IPC namespaces rest", after["ipc_fds"])
        self.check(after["view_fds"] <= 6 * (64 + after["processes"]) + 1, "few views are kept", after["view_fds"])
        for name in ("server_fds", "keeper_fds", "processes", "cgroups", "mounts", "threads", "workspaces"):
            # Between samples the server's spare sandboxes and idle connections differ by some descriptors: 87 to 103 in one run.
            extra = 16 if name == "server_fds" else 0
            self.check(after[name] <= before[name] + extra, f"no more {name}", f"{before[name]} -> {after[name]}")

    def check(self, good, name, detail=""):
        if good:
            self.passed += 1
            print(f"ok   {name}" + (f"  [{detail}]" if detail != "" else ""), flush=True)
        else:
            self.failed += 1
            print(f"FAIL {name}: {detail}", flush=True)
        return bool(good)

    def done(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        sys.exit(1 if self.failed else 0)
