"""Shared by the tests: registration, calls of cella, and error messages."""

import contextlib
import fcntl
import inspect
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

registry = []  # of Test, in the order of definition
fixtures = {}  # name of a parameter: its maker

command = []  # how cella is called: the wrapper and the program
wrapped = False  # whether there is a wrapper
slack = 1  # timings may take so many times as long
ordinary_uid = 0
user = ""  # "root" or "user": the user of this test
home = ""  # a directory of this test alone, the current one


class Failure(Exception):
    """A check has failed."""


class Late(Failure):
    """A deadline of the test was missed, which a busy machine can cause.  Not for wrong values: the test is repeated."""


class Skip(Exception):
    """The test cannot run here."""


class Test:
    def __init__(self, function, name, users, timeout, flags, arguments):
        self.function, self.name, self.users, self.timeout = function, name, users, timeout
        self.alone, self.beside, self.unwrapped = flags
        self.arguments = arguments

    def call(self):
        """Calls the function with the fixtures that its parameters name."""
        makers = {**fixtures, **getattr(sys.modules[self.function.__module__], "FIXTURES", {})}
        made, first = {}, next(iter(inspect.signature(self.function, follow_wrapped=False).parameters), None)

        def needed(function):
            return [make(p.name) for p in inspect.signature(function, follow_wrapped=False).parameters.values() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]

        def make(parameter):
            if parameter not in made:
                arguments = self.arguments if parameter == first else {}
                value = makers[parameter](*needed(makers[parameter]), **arguments)
                made[parameter] = stack.enter_context(value) if hasattr(value, "__exit__") else value
            return made[parameter]

        with contextlib.ExitStack() as stack:
            self.function(*needed(self.function))


def test(function=None, *, name=None, users=("root", "user"), timeout=60, alone=False, beside=False, unwrapped=False, **arguments):
    """Registers a test under the name of its function, or another one.

    users: whom to run it as.  alone: nothing else of the suite runs meanwhile, but what is beside.
    beside: it takes long and needs little; it is begun first, and all others run meanwhile.
    unwrapped: it cannot be run below a wrapper.

    A parameter of the function is a fixture: the maker of that name in FIXTURES of its module, or in `fixtures`, makes it for this
    test.  A maker can have such parameters, too.  A context manager is entered, and left at the end of the test.
    The other arguments of the decorator are passed to the maker of the first parameter."""

    def register(f):
        if arguments and not inspect.signature(f, follow_wrapped=False).parameters:
            raise TypeError(f"{f.__name__} has no fixture for {', '.join(arguments)}")
        registry.append(Test(f, name or f.__name__, tuple(users), timeout, (alone, beside, unwrapped), arguments))
        return f

    return register(function) if function else register


def setup(program, wrapper, slack_, uid):
    """Called once, by the runner."""
    global command, wrapped, slack, ordinary_uid
    command, wrapped, slack, ordinary_uid = [*wrapper, program], bool(wrapper), slack_, uid


def start(user_, home_):
    """Called in the process of each test."""
    global user, home
    user, home = user_, home_


def is_root():
    return user == "root"


class Result:
    """The result of a call of cella."""

    def __init__(self, args, rc, raw, raw_err, seconds, stalled=0):
        self.args, self.rc, self.raw, self.raw_err, self.seconds, self.stalled = args, rc, raw, raw_err, seconds, stalled
        self.out = raw.decode(errors="backslashreplace")
        self.err = raw_err.decode(errors="backslashreplace")

    def json(self):
        try:
            return json.loads(self.raw)
        except ValueError as e:
            fail(f"not JSON ({e})", self)

    def __str__(self):
        return (
            f"$ cella {' '.join(shorten(str(a), 400) for a in self.args)}\n"
            f"exit status {self.rc} after {self.seconds:.3f} s\n"
            f"stdout: {shorten(self.out)}\nstderr: {shorten(self.err)}"
        )


def shorten(text, limit=1500):
    return text if len(text) <= limit else text[: limit // 2] + f" [... {len(text)} ...] " + text[-limit // 2 :]


def spawn(*args, user=None, program=None, **popen):
    """A running cella, or another program.  user="user": as the ordinary user, when the test is root."""
    if user == "user" and os.geteuid() == 0:
        popen.update(user=ordinary_uid, group=ordinary_uid, extra_groups=[])
        popen.setdefault("env", {**os.environ, "TMPDIR": "/tmp", "USER": user})  # for the wrapper
    return subprocess.Popen([*([program] if program else command), *map(os.fsencode, map(str, args))], **popen)


def cella(args, input=None, user=None, timeout=20, **popen):
    """Calls cella and waits.  input: bytes or text for its standard input; None: empty."""
    if isinstance(input, str):
        input = input.encode()
    if input is not None:
        popen["stdin"] = subprocess.PIPE
    popen.setdefault("stdin", subprocess.DEVNULL)
    popen.setdefault("stdout", subprocess.PIPE)
    popen.setdefault("stderr", subprocess.PIPE)
    begun = time.monotonic()
    process = spawn(*args, user=user, **popen)
    try:
        with Stalls() as stalls:
            out, err = process.communicate(input, timeout=timeout * slack)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        result = Result(args, "none", out or b"", err or b"", timeout)
        late(f"cella was still running after {timeout * slack:g} s", result)
    return Result(args, process.returncode, out or b"", err or b"", time.monotonic() - begun, stalls.seconds)


def run(*words, **kwargs):
    """cella run WORDS..."""
    return cella(["run", *words], **kwargs)


def run_json(*words, **kwargs):
    """cella run --json WORDS..., as (the object, the Result)."""
    r = cella(["run", "--json", *words], **kwargs)
    return r.json(), r


def script(*lines):
    return "\n".join(lines) + "\n"


class Terminal:
    """cella, or another program, on a terminal of its own, which is its controlling one."""

    def __init__(self, *args, env=None, rows=30, columns=100, stderr=None, program=None):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.process = spawn(*args, program=program, env=env, stdin=self.slave, stdout=self.slave, stderr=stderr or self.slave, start_new_session=True,
                             preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.seen = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait(self, text, seconds=20):
        end = time.monotonic() + seconds * slack
        while text not in self.seen:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                late(f"no {text!r} in {self.seen!r}")
            self.seen += os.read(self.master, 4096)

    def type(self, data):
        os.write(self.master, data)

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & termios.ICANON

    def end(self, rc):
        end = time.monotonic() + 20 * slack
        while self.process.poll() is None and time.monotonic() < end:
            if select.select([self.master], [], [], 0.01)[0]:
                self.seen += os.read(self.master, 4096)
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 4096)
        if self.process.poll() is None:
            late(f"cella was still running ({self.seen!r})")
        same(self.process.returncode, rc, f"exit status ({self.seen!r})")
        same(termios.tcgetattr(self.slave), self.before, "the terminal")
        os.close(self.slave)
        os.close(self.master)


# Failure messages.


def fail(what, r=None):
    raise Failure(what + (f"\n{r}" if r is not None else ""))


def late(what, r=None):
    raise Late(what + (f"\n{r}" if r is not None else ""))


def ensure(condition, what, r=None):
    if not condition:
        fail(what, r)


def same(actual, expected, what, r=None):
    if actual != expected:
        fail(f"{what} is {shorten(repr(actual))}, not {shorten(repr(expected))}", r)


def expect(r, rc=0, out=None, err=""):
    """A run that ended with this exit status and printed exactly this; None: anything."""
    same(r.rc, rc, "exit status", r)
    if out is not None:
        same(r.raw, out.encode() if isinstance(out, str) else out, "stdout", r)
    if err is not None:
        same(r.err, err, "stderr", r)
    return r


def prints(expected, *words, **kwargs):
    """cella run WORDS exits with 0 and prints this and nothing else."""
    return expect(run(*words, **kwargs), out=expected)


def refused(r, rc, *parts):
    """Cella refused: this exit status, one line on stderr that has all parts, nothing on stdout."""
    same(r.rc, rc, "exit status", r)
    same(r.out, "", "stdout", r)
    ensure(r.err.startswith("cella: ") and r.err.endswith("\n"), "stderr is not a line of cella's", r)
    same(r.err.count("\n"), 1, "number of lines on stderr", r)
    for part in parts:
        ensure(part in r.err, f"stderr does not say {part!r}", r)
    return r


def within(took, seconds, what, r=None):
    limit = seconds * slack
    if took > limit:
        late(f"{what} took {took:.3f} s, more than {limit:.3f} s", r)


def crowd():
    """Returns the number of runnable processes per CPU, at least 1. Cella needs CPU time to kill thirty busy processes, and gets its
    share of it so much later."""
    return max(1, os.getloadavg()[0] / os.cpu_count())


class Stalls:
    """Measures for how long the machine made this process wait: a thread sleeps 10 ms at a time and adds up how late it
    is woken.  A process that meets its deadlines is late by as much.  The load average does not show this, since it knows
    no processes of others on a shared machine."""

    def __enter__(self):
        self.seconds, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def watch(self):
        before = time.monotonic()
        while not self.over.wait(0.01):
            now = time.monotonic()
            late_by = now - before - 0.01
            self.seconds += late_by if late_by > 0.005 else 0
            before = now

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def in_time(r, seconds):
    """The run met its deadline: so many seconds, 200 ms (more on a crowded machine), and the time in which the machine
    stood still.  With --json by cella's own clock, which does not count how long a busy machine takes to start cella.
    Without, the bound is ten times as wide."""
    if "--json" in r.args:
        within(r.json()["duration_ms"] / 1000, seconds + 0.2 * crowd() + r.stalled, "the run", r)
    within(r.seconds, 10 * (seconds + 0.2) + r.stalled, "the call", r)
    return r


# Looking at the host.


def write(path, data="", mode=None):
    with open(path, "wb") as f:
        f.write(data.encode() if isinstance(data, str) else data)
    if mode is not None:
        os.chmod(path, mode)
    return path


def read(path):
    with open(path) as f:
        return f.read()


def here(*names):
    """The full path of something in the test's own directory."""
    return os.path.join(home, *names)


def until(condition, seconds=20, what="what was waited for"):
    """Polls until condition() gives something true, and returns that."""
    end = time.monotonic() + seconds * slack
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            late(f"{what} did not come within {seconds * slack:g} s")
        time.sleep(0.01)


def processes():
    """{pid: its command line, as a list} of the host."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as f:
                    found[int(name)] = f.read().decode(errors="replace").split("\0")[:-1]
            except OSError:
                continue  # it ended meanwhile, or is not ours to look at
    return found


def with_argument(argument):
    """Pids of the host that have exactly this argument in their command line."""
    return [pid for pid, words in processes().items() if argument in words]


def program_name(pid):
    try:
        return read(f"/proc/{pid}/comm").rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def groups_of(pid):
    """{name: path} of all files in the cgroups of the sandbox that a process is in."""
    name = re.search(r"/(cella-\d+)$", read(f"/proc/{pid}/cgroup"), re.M)
    ensure(name, f"process {pid} is in no cgroup of a sandbox")
    found = {}
    for directory, _, files in os.walk("/sys/fs/cgroup"):
        if os.path.basename(directory) == name[1]:
            found.update((f, os.path.join(directory, f)) for f in files)
    return found


def catches(pid, number):
    """Whether the process has a handler for the signal."""
    caught = re.search(r"^SigCgt:\s+(\w+)$", read(f"/proc/{pid}/status"), re.M)
    return int(caught[1], 16) >> (number - 1) & 1


def uid_of(pid):
    """Returns the process's real uid on the host; None if it has ended."""
    try:
        with open(f"/proc/{pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("Uid:"))
    except (FileNotFoundError, ProcessLookupError):
        return None


def nonce_seconds():
    """A number of seconds to sleep that is long, and that no other process has as argument."""
    return f"{600 + os.getpid()}.{time.monotonic_ns() % 10**9:09d}"


def gone(argument, seconds=20):
    """Waits until no process has this argument, at most so many seconds."""
    until(lambda: not with_argument(argument), seconds, f"the end of the processes with {argument}")


def reap(process, seconds=20):
    """Waits for the process, at most so many seconds. Returns its exit status."""
    try:
        return process.wait(timeout=seconds * slack)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        late(f"it was still running after {seconds * slack:g} s")
