#!/usr/bin/python3
"""The stages of the test suite: one table, and the runner.  ./dev test calls this program.

    stages.py                    the fast stages
    stages.py --full             the fast and the full ones; continuous integration runs these
    stages.py --nightly          the slow ones; with --resume without those that passed at this commit already
    stages.py STAGE... [--only NAME]   these stages; of the tests in them, those with NAME in their names
    stages.py --list             the table

A stage fails if one of its tests fails, if it does not end within its time limit, if it ran fewer tests than its
recorded minimum, or if a test was skipped for a reason that is not listed.  A chosen stage that could not be run
is a failure, too.  The output of each stage is in LOGS.  The last line is the sum: "N passed, M failed, K skipped"."""

import argparse
import collections
import dataclasses
import glob
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = "build/test-logs"
COUNT = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")
PYTHON = "/usr/bin/python3"
MACHINE = os.uname().machine
OTHER = "aarch64" if MACHINE == "x86_64" else "x86_64"
IS_ROOT = os.geteuid() == 0

WEIGHT = int(os.environ.get("CELLA_TEST_WEIGHT", 3))  # of the stages that run at once; a heavier one runs alone

# What may run beside a stage.
QUIET = "quiet"  # it makes no sandboxes: all stages
BOXES = "boxes"  # it makes sandboxes: all but those that are ALONE
ALONE = "alone"  # it looks for leftovers, or attacks with a wall down: only QUIET ones

# Why a C test may be skipped; the Python suites have their own lists.
HOST = ("needs cgroup v1, and root", "needs cgroup v2 and root", "needs root, and cgroup v1 or Linux 6.12", "needs a host with both kinds, and root", "v2 can freeze any",
        "this kernel does not tell", "cannot mount a small file system here", "no volumes here")  # fmt: skip
USER = (*HOST, "not started as root", "no control groups for an ordinary user here")
SLOW = (*HOST, "valgrind", "limits are not the kernel's", "an emulated machine", "the limit of open files is too low",
        "there is no filter beside a sanitizer", "this is not libc's own heap")
ATTACKS = ("blocked; ", "this user has no cgroup to limit it with", "this host has no ", "an ordinary user cannot put its further groups away")


@dataclasses.dataclass
class Stage:
    name: str
    group: str  # fast, full, nightly or coverage
    limit: int  # seconds, several times what it takes; then it is ended, and fails
    minimum: int  # tests that it runs, at least, as root
    commands: object  # lists of words, or a function that makes them; "@only" becomes --only NAME, "@name" NAME
    beside: str = BOXES
    weight: int = 1  # of WEIGHT: 1 waits half of the time, 2 keeps both CPUs busy, 3 is to have nothing beside it
    after: tuple = ()  # stages that must have passed: what they build is used
    setup: tuple = ()  # arguments of ./dev setup, before the commands
    packages: tuple = ()
    skips: tuple = None  # beginnings of reasons; None: the harness itself checks them
    environment: dict = dataclasses.field(default_factory=dict)
    jobs: int = 1  # commands at once


def units(build, *wrapper):
    """The C unit tests."""

    def find():
        found = sorted(p for p in glob.glob(f"{build}/test/unit_*") if os.path.isfile(p) and os.access(p, os.X_OK))
        return [[*wrapper, p, "@only"] for p in found]

    return find


def init(*wrapper, build="build"):
    return [[*wrapper, f"{build}/test/init_{n}", "@only"] for n in ("commands", "files", "refused", "terminal")]


def keeper(*wrapper, build="build"):
    return [[*wrapper, f"{build}/test/keeper_{n}", f"{build}/src/cella", "@only"] for n in ("protocol", "egress", "imager")]


def suite(path, *words, build="build"):
    return [[PYTHON, path, "--cella", f"{build}/src/cella", *words, "@only"]]


def load(path, *words):
    return [PYTHON, path, "--cella", "build/src/cella", *words]


VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect"]


def build(name, group, *packages):
    """A stage that only builds: with a sanitizer, for valgrind, the fuzz targets."""
    return Stage(f"build-{name}", group, 1500, 1, [["./dev", "setup", name]], QUIET, 2, packages=packages)


def web(name, group, limit, environment=None):
    return Stage(name, group, limit, 108, [["node", "test/web/run.mjs", "--cella", "build/src/cella", "--npm", "build-web", "@only"]],
                 setup=("npm", "build-web", "test/web"), packages=(*CHROMIUM, *NODE), skips=(), environment=environment or {})  # fmt: skip


def valgrind_kernel(part, parts):
    # valgrind must not write to stderr.  Each user writes its own files, and a sandbox's first process is always number 1.
    wrapper = " ".join([*VALGRIND, "--log-file=/tmp/cella-valgrind/%q{USER}-%p"])
    command = ["test/valgrind.sh", PYTHON, "test/run.py", "--cella", "build-valgrind/src/cella", "--wrapper", wrapper,
               "--part", f"{part}/{parts}", "-j", "2", "@only"]  # fmt: skip
    return Stage(f"valgrind-kernel-{part}", "nightly", 1500, 100, [command], ALONE, 3, ("build-valgrind",), environment=SLOWLY)


def covered(name, limit, minimum, commands, beside=BOXES, **more):
    return Stage(f"covered-{name}", "coverage", limit, minimum, commands, beside, environment={"CELLA_SLACK": "3"}, **more)


ATTACK = ["build/test/attack/attack-run", "build/test/attack/cella-attacks", "@name"]
ASAN = {"ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1", "CELLA_SLACK": "5"}
TSAN = {"TSAN_OPTIONS": "halt_on_error=1:exitcode=66", "CELLA_SLACK": "10"}
ALL = {"CELLA_TEST_ALL": "1"}
SLOWLY = {"CELLA_TEST_SLOW": "1", "CELLA_SLACK": "20"}
LINT = ("clang-tidy", "cppcheck", "clang-format", "shellcheck")
VM = ("kmod", "qemu-system-x86" if MACHINE == "x86_64" else "qemu-system-arm")
VM_SKIPS = ("this kernel has no overlay file system",)  # one that CELLA_VM_KERNEL names
ENGINES = ("podman", "docker.io", "runc", "uidmap")
DEBIAN = ("mmdebstrap", "debian-archive-keyring")
ARCHIVES = ("zstd", "xz-utils", "bzip2")
REGISTRIES = ("docker-registry", "skopeo", "zstd", "ca-certificates")
NO_ASLR = ["setarch", MACHINE, "-R"]  # ThreadSanitizer cannot map its memory with some layouts
NODE = ("nodejs",) if not any(os.access(f"{d}/node", os.X_OK) for d in os.environ["PATH"].split(":")) else ()
CHROMIUM = () if os.environ.get("CHROMIUM") else ("chromium",)

# Of stages that may begin, the first ones of the table do.  So long ones, and ones that wait for nothing, are further up.
STAGES = [
    # ---- built or computed in addition to the tests ----
    build("asan", "full"),
    build("tsan", "full"),
    build("fuzz", "full", "clang"),
    Stage("lint", "full", 900, 1, [["./dev", "lint"]], QUIET, 2, packages=LINT),
    Stage(f"compiles-for-{OTHER}", "full", 1500, 1, [["./dev", "setup", "cross"]], QUIET, 2,
          packages=(f"gcc-{OTHER.replace('_', '-')}-linux-gnu", f"libc6-dev-{'arm64' if OTHER == 'aarch64' else 'amd64'}-cross")),
    # ---- fast: ./dev test, at most 12 minutes ----
    Stage("kernel", "fast", 1500, 1034, suite("test/run.py", "-j", "2"), ALONE),
    Stage("attacks", "fast", 900, 111, [ATTACK], ALONE, skips=ATTACKS),
    Stage("attacks-user", "fast", 900, 104, [["test/as-user", *ATTACK]], ALONE, skips=ATTACKS),
    Stage("attacks-several-users", "fast", 900, 111, [[ATTACK[0], "--users", *ATTACK[1:]]], ALONE, skips=ATTACKS),
    Stage("corpus", "fast", 900, 90, suite("test/run.py", "--suite", "corpus", "-j", "2")),
    Stage("shells", "fast", 600, 14, suite("test/run.py", "--suite", "shells", "-j", "2"), QUIET, packages=("zsh", "fish", "groff-base")),
    Stage("layers", "fast", 900, 1, [["tools/check-layers"]], QUIET),
    Stage("unit", "fast", 900, 517, units("build"), QUIET, skips=HOST),
    Stage("harness", "fast", 900, 40, [[PYTHON, "test/harness/test_harness.py", "@only"]], QUIET, skips=()),
    Stage("drivers", "fast", 900, 34, [[PYTHON, "test/snapshot/test_drivers.py", "@only"]], QUIET, skips=("no pandas", "no matplotlib")),
    Stage("api", "fast", 2400, 891, suite("test/api/run.py", "--user", "root", "-j", "2")),
    web("web", "fast", 1200),
    Stage("egress", "fast", 900, 101, suite("test/egress/run.py", "-j", "2")),
    Stage("images", "fast", 900, 114, suite("test/image/run.py", "-j", "2"), packages=ARCHIVES),
    Stage("runs-leave-nothing", "fast", 900, 6, [["build/test/soak", "10000"]]),
    Stage("keeper", "fast", 900, 55, keeper(), skips=HOST),
    Stage("keeper-user", "fast", 900, 33, keeper("test/as-user"), skips=USER),
    Stage("init", "fast", 900, 81, init(), skips=HOST),
    Stage("init-user", "fast", 900, 75, init("test/as-user"), skips=USER),
    Stage("example", "fast", 900, 1, [["build/test/example"]]),
    # ---- full: ./dev test --full, with the fast ones at most 40 minutes ----
    Stage("asan-api", "full", 3000, 843, suite("test/api/run.py", "--user", "root", "--slack", "3", "-j", "2", build="build-asan"), BOXES, 1, ("build-asan",),
          environment=ASAN),
    Stage("api-user", "full", 2400, 722, suite("test/api/run.py", "--user", "user", "-j", "2")),
    # What the API suite leaves out unless CELLA_TEST_ALL is set.
    Stage("api-slow", "full", 900, 5, [[PYTHON, "test/api/run.py", "--cella", "build/src/cella", *words] for words in (
        ("--file", "test_runtimes_real"), ("--only", "bootstrap_of_a_real_debian"), ("--only", "an_upload_that_drips_is_ended"),
        ("--file", "test_image_kinds", "--user", "user"))], packages=DEBIAN, environment=ALL),
    Stage("pythons", "full", 1500, 36, suite("test/api/pythons.py", "-j", "2"), packages=DEBIAN),
    # Only the decoder's threads.  Where several jobs run in one process (test_store), the sanitizer does not see the descriptors that openat2()
    # makes, and takes a number that is used again for the same descriptor.
    Stage("tsan-images", "full", 600, 34, [[*NO_ASLR, *w] for w in suite("test/image/run.py", "--file", "test_archive", "--slack", "10", "-j", "2", build="build-tsan")],
          BOXES, 1, ("build-tsan",), environment=TSAN),
    Stage("tsan-log", "full", 600, 18, [[*NO_ASLR, *w] for w in suite("test/api/run.py", "--file", "test_executions", "--slack", "10", "-j", "2", build="build-tsan")],
          BOXES, 1, ("build-tsan",), environment=TSAN),
    Stage("asan-images", "full", 600, 114, suite("test/image/run.py", "--slack", "5", "-j", "2", build="build-asan"), BOXES, 1, ("build-asan",), environment=ASAN),
    *(Stage(engine, "full", 600, 105, suite("test/docker/run.py", "-j", "2"), setup=("docker",), packages=ENGINES, environment={"CELLA_TEST_ENGINE": engine})
      for engine in ("docker", "podman")),
    Stage("registries", "full", 400, 105, [[PYTHON, "test/image/registry.py", "--image", "build/src/cella-image", "--user", user, "@only"]
                                           for user in ("root", "user")], packages=REGISTRIES, skips=()),
    Stage("servers", "full", 300, 5, [c for name in ("test_monitoring", "test_proxies") for c in suite("test/api/run.py", "--user", "root", "--file", name)],
          setup=("servers",)),
    Stage("mcp", "full", 300, 95, [[PYTHON, "test/mcp/run.py", "--build", "build", "--npm", "build-npm"]],
          setup=("npm", "build-npm", "test/mcp"), packages=NODE, skips=()),
    Stage("openapi", "full", 300, 4, [[PYTHON, "test/openapi/run.py", "--build", "build", "--npm", "build-openapi", "@only"]],
          setup=("npm", "build-openapi", "test/openapi"), packages=NODE, skips=()),
    Stage("faults", "full", 300, 24, [load("test/fault/fault.py", "--rounds", "3")], ALONE, skips=()),
    Stage("load", "full", 200, 22, [load("test/load/load.py", "--generator", "build/test/load", "--seconds", "8", "--warm", "2")], skips=()),
    Stage("soak", "full", 300, 19, [load("test/load/soak.py", "--executions", "4000")], skips=()),
    Stage("abuse", "full", 200, 50, [load("test/load/abuse.py", "--short")], skips=()),
    Stage("asan-kernel", "full", 900, 937, suite("test/run.py", "--slack", "3", "-j", "2", build="build-asan"), ALONE, 1, ("build-asan",), environment=ASAN),
    # These may be beside the last ones.
    Stage("asan-unit", "full", 900, 495, units("build-asan"), QUIET, after=("build-asan",), skips=SLOW, environment=ASAN),
    # Those with threads.  The sanitizer has a thread of its own, with which other tests cannot make a user namespace.
    Stage("tsan-unit", "full", 600, 60, [[*NO_ASLR, f"build-tsan/test/unit_{n}", "@only"] for n in ("audit", "image_stream", "pty", "relay", "scan_limits")], QUIET,
          after=("build-tsan",), skips=SLOW, environment=TSAN),
    Stage("vm", "full", 1200, 20, [["test/vm/run.sh", "build"]], QUIET, packages=VM, skips=("the others: they take 90 s", *VM_SKIPS)),
    Stage("fuzz", "full", 600, 29, [["tools/fuzz-run", "build-fuzz", "1"]], QUIET, 2, ("build-fuzz",), skips=()),
    # Each allocation fails in turn; of a test that makes many, a few.
    Stage("torture", "full", 900, 220, [["tools/torture", "build-asan", "build-torture", "--tries", "6", "--seconds", "1"]], QUIET, 2, ("build-asan",)),
    # ---- nightly: ./dev test --nightly, at most 150 minutes; each is a part that can be run by itself ----
    # Images of real packages: some hundred megabytes each.
    Stage("recipes", "nightly", 3600, 9, [[PYTHON, "test/api/run.py", "--cella", "build/src/cella", "--user", "root", "--file", "test_image_cli", "--only", "recipe"]],
          packages=DEBIAN, environment=ALL),
    Stage("apt", "nightly", 900, 1, [[PYTHON, "test/api/run.py", "--cella", "build/src/cella", "--user", "root", "--file", "test_users", "--only", "real_debian"]],
          packages=DEBIAN, environment=ALL),
    Stage("lint-deep", "nightly", 2400, 1, [["./dev", "lint", "--deep"]], QUIET, 2, packages=LINT),
    build("valgrind", "nightly", "valgrind"),
    *(valgrind_kernel(part, 6) for part in range(1, 7)),
    Stage("valgrind-unit", "nightly", 1800, 450, units("build-valgrind", *VALGRIND), QUIET, 3, ("build-valgrind",), skips=SLOW, environment=SLOWLY, jobs=2),
    Stage("fuzz-long", "nightly", 2400, 29, [["tools/fuzz-run", "build-fuzz", "120"]], QUIET, 2, ("build-fuzz",), skips=()),
    Stage("vm-daemon", "nightly", 1200, 10, [["test/vm/run.sh", "build", "daemon"]], QUIET, packages=VM, skips=VM_SKIPS),
    Stage("soak-long", "nightly", 1200, 19, [load("test/load/soak.py", "--executions", "50000")], skips=()),
    Stage("load-long", "nightly", 300, 22, [load("test/load/load.py", "--generator", "build/test/load", "--seconds", "30")], skips=()),
    Stage("abuse-long", "nightly", 600, 50, [load("test/load/abuse.py")], skips=()),
    Stage("faults-long", "nightly", 900, 24, [load("test/fault/fault.py", "--rounds", "21")], ALONE, skips=()),
    # The same suites with more rounds, larger data, all users, gVisor.
    Stage("images-all", "nightly", 900, 110, suite("test/image/run.py", "-j", "2"), packages=ARCHIVES, environment=ALL),
    Stage("docker-all", "nightly", 1500, 164, suite("test/docker/run.py", "-j", "2"), setup=("docker",), packages=ENGINES, environment=ALL),
    web("web-all", "nightly", 900, ALL),
    # CPython's own tests, in a sandbox and outside: doc/cpython.md.
    Stage("cpython", "nightly", 5400, 8000, suite("test/cpython/run.py", "-j", "2"), BOXES, 2,
          packages=(f"libpython{sys.version_info.major}.{sys.version_info.minor}-testsuite",)),
    Stage("mutation", "nightly", 3600, 60, [["tools/mutate"]], ALONE, 3, skips=()),
    Stage("torture-long", "nightly", 3000, 220, [["tools/torture", "build-asan", "build-torture", "--seconds", "40"]], QUIET, 2, ("build-asan",)),
    Stage("coverage", "nightly", 5400, 2, [["./dev", "coverage"]], ALONE, 3),  # its own stages check the skips
    # ---- coverage: ./dev coverage runs these, with counters ----
    covered("unit", 900, 450, units("build-coverage"), QUIET, skips=SLOW),
    covered("init", 900, 75, init(build="build-coverage"), skips=SLOW),
    covered("keeper", 900, 45, keeper(build="build-coverage"), skips=SLOW),
    covered("kernel", 1500, 877, suite("test/run.py", "--slack", "3", "-j", "2", build="build-coverage"), ALONE),
    covered("api", 3600, 832, suite("test/api/run.py", "--user", "root", "--slack", "3", "-j", "2", build="build-coverage")),
    covered("images", 900, 114, suite("test/image/run.py", "--slack", "3", "-j", "2", build="build-coverage"), packages=ARCHIVES),
    covered("registries", 900, 55, [[PYTHON, "test/image/registry.py", "--image", "build-coverage/src/cella-image", "--user", "root", "@only"]],
            packages=REGISTRIES, skips=()),
    covered("egress", 900, 101, suite("test/egress/run.py", "--slack", "3", "-j", "2", build="build-coverage")),
    covered("web", 1800, 105, [["node", "test/web/run.mjs", "--cella", "build-coverage/src/cella", "--npm", "build-web", "@only"]],
            setup=("npm", "build-web", "test/web"), packages=(*CHROMIUM, *NODE), skips=()),
    covered("mcp", 900, 95, [[PYTHON, "test/mcp/run.py", "--build", "build-coverage", "--npm", "build-npm"]],
            setup=("npm", "build-npm", "test/mcp"), packages=NODE, skips=()),
]  # fmt: skip


def say(text):
    print(text, flush=True)


def descendants(pid):
    """The processes of a stage: those of its session, also if their parent has ended, and all below them."""
    children, look = collections.defaultdict(list), [pid]
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as f:
                parent, _, session = map(int, f.read().rpartition(")")[2].split()[1:4])
        except OSError:
            continue
        children[parent].append(int(name))
        if session == pid and int(name) != pid:
            look.append(int(name))
    found = look[1:]
    while look:
        more = children[look.pop()]
        found += more
        look += more
    return found


class Running:
    """A stage in a child process, which runs its commands and writes the results to a file."""

    def __init__(self, stage, only):
        self.stage, self.begun = stage, time.monotonic()
        self.log = ROOT / LOGS / f"{stage.name}.log"
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.setsid()
                out = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
                os.dup2(out, 1)
                os.dup2(out, 2)
                status = perform(stage, only)
            finally:
                sys.stdout.flush()
                os._exit(status)

    def late(self):
        return time.monotonic() > self.begun + self.stage.limit

    def kill(self):
        """First politely: a harness then cleans up, and names the tests that were running."""
        everything = descendants(self.pid)
        os.kill(self.pid, signal.SIGTERM)
        end = time.monotonic() + 15
        while time.monotonic() < end and not os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            time.sleep(0.1)
        for pid in {*everything, *descendants(self.pid), self.pid}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)


def perform(stage, only):
    """In the child: prints everything, and a line "end STATUS" after each command."""
    environment = {**os.environ, **stage.environment}
    if stage.setup and subprocess.run(["./dev", "setup", *stage.setup], check=False).returncode != 0:
        say(f"FAIL setup: ./dev setup {' '.join(stage.setup)}")
        return 1
    commands = stage.commands() if callable(stage.commands) else stage.commands
    running, waiting = [], []

    def stop(*_):
        waiting.clear()
        for _, process in running:
            process.terminate()

    signal.signal(signal.SIGTERM, stop)
    for words in commands:
        # The name of a C program chooses all of its tests.
        if only and any(only in os.path.basename(w) for w in words if w.startswith("build") and "/test/" in w):
            waiting.append([w for w in words if w not in ("@only", "@name")])
            continue
        words = [w for word in words for w in ({"@only": ["--only", only], "@name": [only]}.get(word, [word]) if only else
                                               [] if word in ("@only", "@name") else [word])]  # fmt: skip
        waiting.append(words)
    while waiting or running:
        while waiting and len(running) < stage.jobs:
            words = waiting.pop(0)
            if stage.jobs == 1:
                say(f"$ {' '.join(words)}")
            # A command that runs beside another one keeps its output apart.
            running.append((words, subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                                                    stdout=subprocess.PIPE if stage.jobs > 1 else None)))  # fmt: skip
        words, process = running[0]
        out = process.communicate()[0]
        running.pop(0)
        if out is not None:
            say(f"$ {' '.join(words)}\n{out.decode(errors='replace')}")
        say(f"end {process.returncode}")
    say("all commands have ended")
    return 0


@dataclasses.dataclass
class Result:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    late: int = 0
    shown: list = dataclasses.field(default_factory=list)

    def fail(self, what):
        self.failed += 1
        self.shown.append(f"FAIL {what}")


def judge(stage, only, log, timed_out):
    """Reads the log: the counts, and all failures with their output."""
    r = Result()
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    count, command, empty, details = None, "", 0, 0
    for line in lines:
        if m := COUNT.fullmatch(line):
            count = [int(n) for n in m.groups()]
        elif line.startswith("$ "):
            command, count = line[2:], None
        elif m := re.fullmatch(r"end (-?\d+)", line):
            status = int(m[1])
            if only and status == 2 and count is None:
                empty += 1
                continue
            passed, failed, skipped = count or ((1, 0, 0) if status == 0 else (0, 0, 0))
            if status != 0 and failed == 0:
                r.shown += ["    " + text for text in lines[-40:]] if count is None else []
                r.fail(f"{command}: ended with status {status}")
            r.passed, r.failed, r.skipped = r.passed + passed, r.failed + failed, r.skipped + skipped
        elif re.match(r"FAIL\b", line):
            r.shown.append(line)
            details = 30
        elif m := re.match(r"skip (.*?): (.*)", line):
            r.shown.append(line)
            if stage.skips is not None and not m[2].startswith(stage.skips):
                r.fail(f"{m[1]}: skipped, which was not expected: {m[2]}")
        elif line.startswith("late "):
            r.late += 1
            r.shown.append(line)
        elif line.startswith(" ") and details > 0:
            r.shown.append(line)
            details -= 1
        else:
            details = 0
    if timed_out:
        last = next((line for line in reversed(lines) if line.startswith(("ok", "FAIL", "late", "$ "))), "nothing")
        r.fail(f"{stage.name}: not done after {stage.limit} s; the command: {command}; its last result: {last}")
    elif not lines or lines[-1] != "all commands have ended":
        r.shown += ["    " + text for text in lines[-40:]]
        r.fail(f"{stage.name}: did not run to its end")
    total = r.passed + r.failed
    minimum = 1 if only else stage.minimum if IS_ROOT else max(1, stage.minimum // 4)
    if total < minimum:
        r.fail(f"{stage.name}: {total} tests were run, fewer than {minimum}" if not only else f"{stage.name}: no test has such a name")
    return r


def conflict(a, b):
    return {a.beside, b.beside} in ({ALONE}, {ALONE, BOXES})


def run_all(stages, only, done):
    """Several at once, in the order of the table as far as they may be beside each other."""
    waiting, running, results = list(stages), [], {}
    try:
        while waiting or running:
            for stage in list(waiting):
                if broken := [n for n in stage.after if n in results and results[n].failed]:
                    waiting.remove(stage)
                    results[stage.name] = Result()
                    results[stage.name].fail(f"{stage.name}: not run, because {broken[0]} failed")
                    say(results[stage.name].shown[0])
                    continue
                if running and sum(r.stage.weight for r in running) + stage.weight > WEIGHT or any(conflict(stage, r.stage) for r in running):
                    continue
                if not all(n in results for n in stage.after):
                    continue
                running.append(Running(stage, only))
                waiting.remove(stage)
            time.sleep(0.1)
            for r in list(running):
                timed_out = r.late()
                if timed_out:
                    r.kill()
                pid, _, usage = os.wait4(r.pid, os.WNOHANG)
                if not pid:
                    continue
                running.remove(r)
                result = results[r.stage.name] = judge(r.stage, only, r.log, timed_out)
                took = time.monotonic() - r.begun
                say(f"\033[1m== {r.stage.name}\033[0m")
                for line in result.shown:
                    say(line)
                say(f"   {r.stage.name}: {result.passed} passed, {result.failed} failed, {result.skipped} skipped, {result.late} late "
                    f"({took:.0f} s, {usage.ru_utime + usage.ru_stime:.0f} s of CPU)")
                done(r.stage, result)
    finally:
        for r in running:
            r.kill()
    return results


def choose(options):
    names = {s.name: s for s in STAGES}
    if options.stages:
        unknown = [n for n in options.stages if n not in names]
        if unknown:
            sys.exit(f"no stage is called {unknown[0]}; there are: {' '.join(names)}")
        chosen = set(options.stages)
    else:
        groups = ("nightly",) if options.nightly else ("fast", "full") if options.full else ("fast",)
        chosen = {s.name for s in STAGES if s.group in groups}
    chosen.update(n for name in set(chosen) for n in names[name].after)
    return [s for s in STAGES if s.name in chosen]


def main():
    parser = argparse.ArgumentParser(prog="./dev test", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", metavar="STAGE")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--nightly", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--only", default="", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--packages", action="store_true", help="print the packages that the chosen stages need")
    options = parser.parse_args()
    os.chdir(ROOT)
    if len(options.stages) == 2 and options.stages[1] not in {s.name for s in STAGES}:
        options.only = options.stages.pop()  # ./dev test STAGE NAME
    stages = choose(options)
    if options.list:
        for s in STAGES:
            print(f"{s.name:22} {s.group:8} {s.limit:5} s, at least {s.minimum} tests")
        return 0
    if options.packages:
        print(" ".join(sorted({p for s in stages for p in s.packages})))
        return 0
    os.makedirs(LOGS, exist_ok=True)
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=40"], capture_output=True, text=True, check=False).stdout.strip()
    record = pathlib.Path(LOGS) / "passed.json"
    before = json.loads(record.read_text()) if record.exists() else {}
    if options.resume:
        stages = [s for s in stages if s.name.startswith("build-") or not commit or before.get(s.name) != commit]
    begun = time.monotonic()

    def done(stage, result):
        if result.failed == 0 and not options.only:
            before[stage.name] = commit
            record.write_text(json.dumps(before))

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    results = run_all(stages, options.only, done)
    missing = [s.name for s in stages if s.name not in results]
    for name in missing:
        say(f"FAIL {name}: did not run")
    passed, failed, skipped, late = (sum(getattr(r, k) for r in results.values()) for k in ("passed", "failed", "skipped", "late"))
    failed += len(missing)
    say(f"{len(results)} stages, {late} late, {time.monotonic() - begun:.0f} s")
    say(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
