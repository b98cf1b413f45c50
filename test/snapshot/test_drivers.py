#!/usr/bin/python3
"""The drivers of contexts (src/snapshot/context.*): each is started as by the daemon, but without a sandbox, and gets
messages over its socket.

One line a test, then the count.  Most tests are tables: a run, and what must come of it.  With --only TEXT only
those with TEXT in their name; --python PATH takes another interpreter; --measure prints times instead."""

import argparse
import base64
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src/snapshot"
TIMEOUT = 60
LIMIT = 240  # seconds for one test
PROGRAMS = {"python": ["/usr/bin/python3", "-c"], "node": ["node", "-e"], "bash": ["bash", "-c"]}
SUFFIX = {"python": "py", "node": "js", "bash": "bash"}
ENVIRONMENT = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": "/proc/no home"}  # where not even root can write
tests = []


class Skip(Exception):
    pass


class Gone(Exception):
    """The interpreter ended."""


def test(function):
    tests.append(function)
    return function


def out_of_time(*_):
    raise TimeoutError(f"the test is not done after {LIMIT} s")


class Pipe:
    """A pipe that the driver writes to."""

    def __init__(self, file):
        self.fd, self.data = file.fileno(), bytearray()
        os.set_blocking(self.fd, False)

    def drain(self):
        try:
            while data := os.read(self.fd, 1 << 20):
                self.data += data
        except BlockingIOError:
            pass

    def until(self, text):
        """Reads until the text has come."""
        deadline = time.monotonic() + TIMEOUT
        while text.encode() not in self.data:
            assert time.monotonic() < deadline, f"no {text!r} in {bytes(self.data)!r}"
            time.sleep(0.01)
            self.drain()

    def take(self):
        """Reads everything that is in the pipe now."""
        self.drain()
        data, self.data = bytes(self.data), bytearray()
        return data.decode("utf-8", "replace")


class Run:
    def __init__(self, messages, stdout, stderr):
        self.done = messages[-1][1]
        self.status = self.done["status"]
        self.results = [m for kind, m in messages if kind == "result"]
        errors = [m for kind, m in messages if kind == "error"]
        assert len(errors) <= 1, "two errors"
        self.error = errors[0] if errors else None
        self.stdout, self.stderr = stdout, stderr

    def main(self, mime="text/plain"):
        found = [r["data"] for r in self.results if r["main"] and r["mime"] == mime]
        assert len(found) <= 1, f"{len(found)} values"
        return found[0] if found else None

    def mimes(self, main=None):
        return sorted(r["mime"] for r in self.results if main in (None, r["main"]))

    def __repr__(self):
        return f"{self.done} {str(self.results)[:600]} {self.error} stdout={self.stdout[:600]!r} stderr={self.stderr[-1200:]!r}"


class Context:
    def __init__(self, language, env=None, cwd=None):
        if not shutil.which(PROGRAMS[language][0]):
            raise Skip(f"no {PROGRAMS[language][0]} here")
        ours, theirs = socket.socketpair()
        source = (SOURCE / f"context.{SUFFIX[language]}").read_text()
        assert len(source) < 90 << 10, "too long for an argument"
        environment = dict(ENVIRONMENT)
        environment["TMPDIR"] = directory
        environment.update(env or {})
        self.begun = time.monotonic()
        # The shell puts the socket where the daemon puts it, without a fork in a process that has threads.
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec 3<&{theirs.fileno()} {theirs.fileno()}<&-; exec "$@"', "sh", *PROGRAMS[language], source]
            if theirs.fileno() != 3
            else [*PROGRAMS[language], source],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            env=environment,
            cwd=cwd or directory,
        )
        theirs.close()
        self.socket, self.inbox = ours, b""
        self.socket.settimeout(TIMEOUT)
        self.stdout, self.stderr = Pipe(self.process.stdout), Pipe(self.process.stderr)
        assert self.message() == ("ready", None), "not ready"
        self.ready_ms = (time.monotonic() - self.begun) * 1000

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(TIMEOUT)

    def receive(self):
        """Receives more from the socket. Drains the pipes meanwhile, as the daemon does."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            left = deadline - time.monotonic()
            ready = select.select([self.socket, self.stdout.fd, self.stderr.fd], [], [], max(left, 0))[0]
            if not ready:
                raise TimeoutError("the driver does not answer")
            self.stdout.drain()
            self.stderr.drain()
            if self.socket in ready:
                break
            time.sleep(0.001)  # a pipe that was closed is always ready
        try:
            data = self.socket.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        if not data:
            raise Gone(f"{self.process.wait(TIMEOUT)} {self.stderr.take()}")
        self.inbox += data

    def message(self):
        while b"\n" not in self.inbox:
            self.receive()
        header, _, self.inbox = self.inbox.partition(b"\n")
        kind, length = header.decode().split(" ")
        while len(self.inbox) < int(length):
            self.receive()
        data, self.inbox = self.inbox[: int(length)], self.inbox[int(length) :]
        return kind, json.loads(data) if data else None

    def send(self, code):
        data = code.encode() if isinstance(code, str) else code
        self.socket.sendall(b"run %d\n%s" % (len(data), data))

    def answer(self):
        messages = []
        while not messages or messages[-1][0] != "done":
            messages.append(self.message())
            assert messages[-1][0] in ("result", "error", "done"), messages[-1]
        return Run(messages, self.stdout.take(), self.stderr.take())

    def run(self, code, interrupt_after=None):
        self.send(code)
        if interrupt_after is not None:
            # Again, as the daemon does: on a busy machine the run may not have begun when the first comes.
            deadline = time.monotonic() + TIMEOUT
            while not select.select([self.socket], [], [], interrupt_after)[0] and time.monotonic() < deadline:
                self.interrupt()
                interrupt_after = 1
        return self.answer()

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)

    def exit_status(self):
        """Waits for the end of the driver after its socket was closed."""
        self.socket.shutdown(socket.SHUT_RDWR)
        return self.process.wait(TIMEOUT)


def run_after_interrupts(context, code):
    """Interrupts that find nothing to interrupt; on a busy machine the last may come when the run has begun."""
    for _ in range(5):
        context.interrupt()
        time.sleep(0.01)
    run = context.run(code)
    return context.run(code) if run.status == "interrupted" else run


def check(context, table):
    """Rows of (code, expected...): the value of the run, or a dict of what to look at.  A string among the values of the
    dict must be contained (for a status: equal), None means that there is nothing."""
    for code, expected in table:
        run = context.run(code)
        if not isinstance(expected, dict):
            expected = {"main": expected}
        found = {
            "main": run.main(),
            "status": run.status,
            "out": run.stdout,
            "err": run.stderr,
            "code": run.done.get("exit_code"),
            "name": run.error and run.error["name"],
            "message": run.error and run.error["message"],
            "traceback": run.error and run.error["traceback"],
            "mimes": run.mimes(),
            "json": run.main("application/json"),
        }
        expected.setdefault("status", "error" if "name" in expected else "exit" if "code" in expected else "ok")
        for key, value in expected.items():
            loose = key in ("message", "traceback", "err", "out") and value
            fine = found[key] is not None and value in found[key] if loose else found[key] == (value or found[key] and value)
            assert fine, f"{code!r}: {key} is {found[key]!r}, not {value!r}: {run}"


def lacks(*modules):
    missing = subprocess.run(
        [PROGRAMS["python"][0], "-c", "import " + ", ".join(modules)], stderr=subprocess.DEVNULL, timeout=60
    ).returncode
    if missing:
        raise Skip(f"no {' and '.join(modules)} for {PROGRAMS['python'][0]}")


# Python


@test
def python_keeps_state_and_gives_values():
    with Context("python") as c:
        check(c, [
            ("x = 1\nx + 1", "2"),
            ("_", "2"),
            ("None", None),
            ("x", "1"),
            ("x;", None),
            ("(x) ; # why not", None),
            ("'é;'", "'é;'"),
            ("x # ;", "1"),
            ("if True:\n    5", None),
            ("print('hi')", {"main": None, "out": "hi\n"}),
            ("", None),
            ("# nothing", None),
            ("import os; os.chdir('/'); os.environ['Q'] = 'q'", None),
            ("os.getcwd(), os.environ['Q']", "('/', 'q')"),
            ("def f(): return 6*7\nclass K: pass\nf()", "42"),
            ("f() - 1", "41"),
            ("__name__", "'__main__'"),
            ("if __name__ == '__main__': y = 'ran'\ny", "'ran'"),
            ("import sys; sys.argv", "['']"),
            ("sorted(n for n in dir() if not n.startswith('__'))", "['K', '_', 'f', 'os', 'sys', 'x', 'y']"),
            ("x = 1\r\ny = '''a\r\nb'''\r\ny", "'a\\nb'"),
            ("\ufeff7", "7"),
            ("from __future__ import annotations", None),
            ("def g(a: undefined): pass\ng.__annotations__", "{'a': 'undefined'}"),
            ("'\\ud800'", "'\\ud800'"),
        ])  # fmt: skip


@test
def python_awaits_at_the_top():
    with Context("python") as c:
        check(c, [
            ("import asyncio\nawait asyncio.sleep(0)\n7", "7"),
            ("await asyncio.sleep(0, 8)", "8"),
            ("t = asyncio.get_event_loop().create_task(asyncio.sleep(0, 9))", None),
            ("await t", "9"),
            ("async for_ = 1", {"name": "SyntaxError"}),
            ("async def bad():\n    await asyncio.sleep(0)\n    1/0\nawait bad()",
             {"name": "ZeroDivisionError", "traceback": 'File "<run 6>", line 4, in <module>'}),
            ("[i async for i in (x async for x in __import__('asyncio') and agen())] if 0 else 3", "3"),
            ("asyncio.run(asyncio.sleep(0, 4))", "4"),
            ("await asyncio.sleep(0, 5)", "5"),
            ("async def leave(): raise SystemExit(3)\nawait leave()", {"code": 3}),
            ("await asyncio.sleep(0, 6)", "6"),
        ])  # fmt: skip
        run = c.run("async def bad():\n    1/0\nawait bad()")
        assert "asyncio" not in run.error["traceback"] and "<string>" not in run.error["traceback"], run


@test
def python_finds_packages_that_are_installed_later():
    with tempfile.TemporaryDirectory() as home, Context("python", env={"HOME": home}) as c:
        place = pathlib.Path(c.run("import site, sys\nprint(site.USER_SITE)").stdout.strip())
        assert place.is_relative_to(home) and c.run("import mine").error["name"] == "ModuleNotFoundError", place
        place.mkdir(parents=True)
        (place / "mine.py").write_text("x = 42\n")
        (place / "also").mkdir()
        (place / "also" / "second.py").write_text("y = 43\n")
        (place / "also.pth").write_text("also\n")
        check(c, [("import mine, second\nmine.x, second.y", "(42, 43)"), ("sys.path.remove(site.USER_SITE)", None), ("site.USER_SITE in sys.path", "False")])
    with tempfile.TemporaryDirectory() as home, Context("python", env={"HOME": home}) as c:
        os.makedirs(c.run("import site, sys\nprint(site.USER_SITE)").stdout.strip())
        fresh = subprocess.run([*PROGRAMS["python"], "import sys; print(sys.path)"], env={**ENVIRONMENT, "HOME": home}, capture_output=True, text=True, check=True)
        check(c, [("sys.path", fresh.stdout.strip())])


@test
def python_errors_are_data_and_text():
    with Context("python") as c:
        run = c.run("def f(a):\n    return 1 / a  # here\n\nf(0)")
        assert run.status == "error" and run.error["name"] == "ZeroDivisionError", run
        assert run.error["message"] == "division by zero" and run.error["traceback"] == run.stderr, run
        lines = run.stderr.splitlines()
        assert lines[0] == "Traceback (most recent call last):" and lines[1] == '  File "<run 1>", line 4, in <module>', run
        assert "    return 1 / a  # here" in lines, run
        check(c, [
            ("f(0)", {"name": "ZeroDivisionError", "traceback": "return 1 / a  # here"}),
            ("x = = 1", {"name": "SyntaxError", "message": "invalid syntax", "traceback": "    x = = 1\n        ^"}),
            ("ok = 5\nreturn 5", {"name": "SyntaxError", "traceback": "    return 5\n    ^"}),
            ("'ok' in dir()", "False"),
            ("print('a'\nprint('b')", {"name": "SyntaxError"}),
            ("  x = 1", {"name": "IndentationError"}),
            ("try:\n    1/0\nexcept Exception as e:\n    raise KeyError('k') from e",
             {"name": "KeyError", "message": "'k'", "traceback": "The above exception was the direct cause"}),
            ("def r(): r()\nr()", {"name": "RecursionError", "traceback": "more times]"}),
            ("raise MemoryError", {"name": "MemoryError", "message": ""}),
            ("class E(Exception):\n    def __str__(self): 1/0\nraise E", {"name": "E", "message": "str() failed"}),
            ("raise ValueError('x' * 10**6)", {"name": "ValueError", "message": "characters left out"}),
            ("raise ValueError('\\ud800 \\0')", {"name": "ValueError"}),
            ("exec('1/0')", {"name": "ZeroDivisionError", "traceback": '  File "<string>", line 1, in <module>\nZero'}),
            ("sys = __import__('sys'); sys.last_value", "ZeroDivisionError('division by zero')"),
            ("sys.excepthook = lambda *a: print('hooked')\n1/0", {"name": "ZeroDivisionError", "out": "hooked\n"}),
            ("sys.excepthook = sys.__excepthook__; sys.setrecursionlimit(60)\n1/0", {"name": "ZeroDivisionError"}),
            ("sys.setrecursionlimit(1000)", None),
            ("import traceback\ntry: f(0)\nexcept Exception: traceback.print_exc()", {"err": "return 1 / a  # here"}),
        ])  # fmt: skip
        long = c.run("sys.setrecursionlimit(9000)\ndef a(): b()\ndef b(): a()\na()")
        assert long.error["name"] == "RecursionError" and len(long.error["traceback"]) < 300 << 10, str(long)[:500]


@test
def python_exits_and_lives_on():
    with Context("python") as c:
        check(c, [
            ("x = 1\nimport sys; sys.exit(3)", {"code": 3, "err": ""}),
            ("sys.exit()", {"code": 0}),
            ("sys.exit('bye')", {"code": 1, "err": "bye\n"}),
            ("exit()", {"code": 0}),
            ("exit(2)", {"code": 2}),
            ("sys.exit(-1)", {"code": 255}),
            ("sys.exit(True)", {"code": 1}),
            ("raise SystemExit([1])", {"code": 1, "err": "[1]\n"}),
            ("input()", {"name": "EOFError"}),
            ("sys.stdin.read(), x", "('', 1)"),
        ])  # fmt: skip


@test
def python_is_interrupted_and_lives_on():
    with Context("python") as c:
        c.run("import time, asyncio")
        for code in (
            "while True: pass",
            "time.sleep(60)",
            "await asyncio.sleep(60)",
            "class R:\n    def __repr__(self):\n        while True: pass\nR()",
            "class R:\n    def _repr_html_(self):\n        while True: pass\ndisplay(R())",
            "__import__('subprocess').run(['sleep', '60'])",
        ):
            run = c.run(code, 0.15)
            assert run.status == "interrupted" and "KeyboardInterrupt" in run.stderr, (code, run)
            assert "<string>" not in run.stderr and "<late>" not in run.stderr, run
            assert c.run("1 + 1").main() == "2"
        run = c.run("class E(Exception):\n    def __str__(self): time.sleep(60)\nraise E", 0.15)
        assert run.status == "error", run
        run = c.run("try:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    x = 'mine'\nx", 0.15)
        assert run.main() == "'mine'", run
        run = c.run("async def g():\n    try: await asyncio.sleep(60)\n    finally: print('tidy')\nawait g()", 0.15)
        assert run.status == "interrupted" and run.stdout == "tidy\n", run
        assert run_after_interrupts(c, "7").main() == "7"
        c.send("time.sleep(60)")  # immediately: the driver may not have read the run yet
        c.interrupt()
        run = c.answer()
        assert run.status == "interrupted", run


@test
def python_survives_a_storm_of_signals():
    with Context("python") as c:
        stop = threading.Event()

        def storm():
            while not stop.is_set():
                os.kill(c.process.pid, signal.SIGINT)
                time.sleep(0.0003)

        thread = threading.Thread(target=storm)
        thread.start()
        try:
            for _ in range(150):
                run = c.run("x = 1\nfor i in range(100): x += 1\ndisplay(x)\nx")
                assert run.status in ("ok", "interrupted"), run
        finally:
            stop.set()
            thread.join()
        c.run("0")  # the last signal may still be on its way: on a busy machine it meets this one
        assert c.run("5").main() == "5"


@test
def python_outlives_handlers_that_raise():
    with Context("python") as c:
        c.run("import signal\ndef h(*a): raise TimeoutError\nsignal.signal(signal.SIGALRM, h); signal.alarm(1)")
        c.run("signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)")
        for _ in range(50):
            c.run("[1] * 10")
        c.run("while True:\n    try:\n        signal.setitimer(signal.ITIMER_REAL, 0); break\n    except TimeoutError: pass")
        assert c.run("3").main() == "3"


@test
def python_behaves_as_a_script():
    with Context("python") as c:
        check(c, [
            ("import pickle, dataclasses, typing, inspect, threading, time, os, sys", None),
            ("@dataclasses.dataclass\nclass P:\n    x: 'int'\n    def m(self): return 1\npickle.loads(pickle.dumps(P(3)))", "P(x=3)"),
            ("typing.get_type_hints(P)", "{'x': <class 'int'>}"),
            ("def f(a):\n    '''doc'''\n    return a\ninspect.getsource(f)", "\"def f(a):\\n    '''doc'''\\n    return a\\n\""),
            ("class Empty: z = 1", None),
            ("print(inspect.getsource(Empty)); print(inspect.getsource(P))", {"out": "class Empty: z = 1\n"}),
            ("l = []\nt = threading.Thread(target=lambda: (time.sleep(0.1), l.append(1)))\nt.start()", None),
            ("t.join(); l", "[1]"),
            ("sys.modules['__main__'].__dict__ is globals()", "True"),
            ("import subprocess; subprocess.run(['echo', 'sub']).returncode", {"main": "0", "out": "sub\n"}),
            ("subprocess.run('ls -l /proc/self/fd', shell=True, stdout=subprocess.PIPE, close_fds=False).stdout.count(b'socket')", "0"),
            ("import multiprocessing as mp\nwith mp.get_context('fork').Pool(2) as p: r = p.map(f, [1, 2])\nr", "[1, 2]"),
            ("with mp.get_context('spawn').Pool(1) as p: r = p.map(abs, [-1, 2])\nr", "[1, 2]"),
            ("pid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('both')", {"out": "both\nboth\n"}),
            ("pid = os.fork()\nif not pid: raise SystemExit(7)\nos.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])", "7"),
            ("pid = os.fork()\nif not pid: 1/0\nos.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])", {"main": "1", "err": "ZeroDivision"}),
            ("pid = os.fork()\nif not pid: display(5); os._exit(0)\nos.waitpid(pid, 0)[1]", {"main": "0", "out": "5\n"}),
            ("import ctypes; ctypes.CDLL(None).printf(b'from libc\\n')", {"main": "10", "out": "from libc\n"}),
            ("sys.flags.interactive, hasattr(sys, 'ps1')", "(0, False)"),
            ("import warnings; warnings.warn('careful')", {"err": "<run 20>:1: UserWarning: careful"}),
        ])  # fmt: skip


@test
def python_output_arrives_before_the_end_of_the_run():
    with Context("python") as c:
        run = c.run("for i in range(200000): print('line', i)")
        assert run.stdout.count("\n") == 200000 and run.stdout.endswith("line 199999\n")
        run = c.run("import sys\nsys.stdout.write('a'); sys.stderr.write('b'); sys.stdout.buffer.write(b'c')")
        assert (run.stdout, run.stderr) in (("ac", "b"), ("ca", "b")), run
        with tempfile.TemporaryDirectory() as there:
            go = os.path.join(there, "go")
            c.send(f"import os, time\nprint('now')\nwhile not os.path.exists({go!r}): time.sleep(0.01)\nprint('later')")
            c.stdout.until("now\n")
            assert c.stdout.take() == "now\n"
            os.mkdir(go)
            assert c.answer().stdout == "later\n"


SILLY_PYTHON = [
    "import sys; sys.stdout.close()",
    "import sys; sys.stderr.close(); 1/0",
    "import sys, io; sys.stdout = io.StringIO(); print('nowhere')",
    "import sys; sys.stdout = sys.__stdout__; sys.stderr = None; 1/0",
    "import sys; sys.stderr = sys.__stderr__; del sys.stdout",
    "import sys, os; sys.stdout = os.fdopen(1, 'w', 1, closefd=False)",
    "import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')",
    "open('/dev/null'); os.chdir('/')",
    "import json; json.dumps = json.JSONEncoder = None",
    "import linecache, traceback; linecache.cache = None; traceback.TracebackException = None; 1/0",
    "for m in list(sys.modules):\n    if m not in ('sys', 'builtins', '__main__'): del sys.modules[m]",
    "1/0",
    "State = serve = late = run = quote = plain = Channel = None",
    "sys.settrace(lambda *a: None)",
    "sys.settrace(None)",
    "sys.setprofile(lambda *a: None)",
    "sys.meta_path.clear()",
    "import builtins\nprint = len = repr = str = None\nfor n in ('print', 'len', 'repr', 'isinstance', 'type', 'map', 'tuple', 'set', 'Exception', 'BaseException', 'compile', 'eval'): setattr(builtins, n, None)",
    "1/0",
    "sys.modules.clear()",
    "sys.modules = None",
]


@test
def python_survives_silly_code():
    with Context("python") as c:
        for code in SILLY_PYTHON:
            run = c.run(code)
            assert run.status in ("ok", "error"), (code, run)
            run = c.run("40 + 2")
            assert run.main() == "42", (code, run)


@test
def python_names_are_not_in_the_way():
    with Context("python") as c:
        names = c.run("sorted(globals())").main()
        assert names == str(sorted(["__builtins__", "__doc__", "__loader__", "__name__", "__package__", "__spec__"])), names
        run = c.run("import sys, builtins\nset(dir(builtins)) - set(dir(builtins)) or [n for n in dir(builtins) if n == 'display']")
        assert run.main() == "['display']"


RICH = """
class All:
    def _repr_html_(self): return '<b>é</b>'
    def _repr_markdown_(self): return '# m'
    def _repr_svg_(self): return '<svg/>'
    def _repr_png_(self): return b'png'
    def _repr_jpeg_(self): return 'anBl\\nZw=='
    def _repr_json_(self): return {'a': [1, None, 'é']}
    def _repr_latex_(self): return '$x$'
    def __repr__(self): return 'all'
class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {'text/html': '<i>', 'text/plain': 'mine', 'application/x+json': {'q': 1}, 'bad': 'x', 7: 8}, {'meta': 1}
class Bad:
    def _repr_html_(self): 1/0
    def _repr_png_(self): return 'no base64 at all: é'
    def _repr_json_(self): return object()
    def _repr_svg_(self): return 5
    def __getattr__(self, name): raise RuntimeError
    def __repr__(self): raise ValueError
class Huge:
    def _repr_html_(self): return 'x' * 5_000_000
    def _repr_png_(self): return bytes(12_000_000)
    def _repr_json_(self): return [0] * 3_000_000
    def _repr_latex_(self): return '\\1' * 3_000_000
    def __repr__(self): return 'h' * 10_000_000
"""


@test
def python_rich_results():
    with Context("python") as c:
        c.run(RICH)
        run = c.run("All()")
        every = {r["mime"]: r["data"] for r in run.results}
        assert all(r["main"] and r["value"] == 0 for r in run.results) and len(every) == len(run.results) == 8, run
        assert every["text/html"] == "<b>é</b>" and every["text/markdown"] == "# m" and every["image/svg+xml"] == "<svg/>"
        assert base64.b64decode(every["image/png"]) == b"png" and base64.b64decode(every["image/jpeg"]) == b"jpeg"
        assert json.loads(every["application/json"]) == {"a": [1, None, "é"]} and every["text/latex"] == "$x$"
        assert every["text/plain"] == "all"
        run = c.run("display(All(), 5)\ndisplay('x')\n3")
        assert [r["value"] for r in run.results] == [0] * 8 + [1, 2, 3], run
        assert [r["main"] for r in run.results] == [False] * 10 + [True], run
        run = c.run("Bundle()")
        assert {r["mime"]: r["data"] for r in run.results} == {
            "text/html": "<i>", "text/plain": "mine", "application/x+json": '{"q": 1}'}, run  # fmt: skip
        run = c.run("Bad()")
        assert run.mimes() == ["text/plain"] and "whose repr raised ValueError" in run.main(), run
        run = c.run("All")
        assert run.mimes() == ["text/plain"], run
        run = c.run("display({'text/html': 'raw', 'text/plain': 'p'}, raw=True)")
        assert run.mimes(False) == ["text/html", "text/plain"], run
        run = c.run("from unittest.mock import MagicMock; MagicMock()")
        assert run.mimes() == ["text/plain"], run


@test
def python_results_are_bounded():
    with Context("python") as c:
        c.run(RICH)
        run = c.run("Huge()")
        assert run.mimes() == ["text/plain"], run.mimes()
        text = run.main()
        assert len(text) < 70000 and "[the rest is left out]" in text
        for left_out in ("text/html of 5.0 MB left out", "image/png of 16.0 MB left out", "application/json of more than 4 MB left out", "text/latex of 3.0 MB left out"):
            assert left_out in text, text[-400:]
        run = c.run("for i in range(1000): display(i)\n'last'")
        assert len(run.results) <= 64 and run.main() == "'last'" and "left out" in run.stderr, len(run.results)
        for code in ("[0] * 10**6", "'x' * 10**6", "b'x' * 10**6", "dict.fromkeys(range(10**5))", "[['é' * 10**5] * 10**5]", "set(range(10**5))"):
            run = c.run(code)
            assert 60000 < len(run.main().encode()) < 70000 and "left out" in run.main(), (code, len(run.main()))
        run = c.run("l = []; l.append(l); d = {'l': l, 't': (1,), 's': set(), 'f': frozenset([1])}; d['d'] = d; d")
        assert run.main() == "{'l': [[...]], 't': (1,), 's': set(), 'f': frozenset({1}), 'd': {...}}", run
        run = c.run("l = []\nfor i in range(5000): l = [l]\nl")
        assert run.status == "ok", run


@test
def python_shows_frames_and_images():
    lacks("pandas", "PIL")
    with Context("python") as c:
        run = c.run("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
        assert run.mimes() == ["text/html", "text/plain"] and "<table" in run.main("text/html") and "a\n0  1" in run.main(), run
        run = c.run("pd.Series([1, 2])")
        assert run.mimes() == ["text/plain"] and "dtype: int64" in run.main(), run
        run = c.run("from PIL import Image\nImage.new('RGB', (4, 4))")
        assert base64.b64decode(run.main("image/png")).startswith(b"\x89PNG"), run
        for mode in ("CMYK", "F", "1", "RGBA", "P"):
            assert c.run(f"Image.new('{mode}', (4, 4))").main("image/png"), mode
        run = c.run("Image.effect_noise((3000, 3000), 50)")
        assert run.mimes() == ["text/plain"] and "left out" in run.main(), run


@test
def python_shows_figures():
    lacks("matplotlib")
    picture = ["image/png", "image/svg+xml", "text/plain"]
    with Context("python") as c:
        run = c.run("import sys; 'matplotlib' in sys.modules")
        assert run.main() == "False"
        run = c.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nNone")
        assert run.mimes(False) == picture and not run.stderr, run
        assert len({r["value"] for r in run.results}) == 1, run
        png, svg = (next(r["data"] for r in run.results if r["mime"] == m) for m in picture[:2])
        assert base64.b64decode(png).startswith(b"\x89PNG") and "<svg" in svg
        run = c.run("plt.plot([1, 2])")
        assert run.mimes(True) == ["text/plain"] and run.mimes(False) == picture, run.mimes()
        run = c.run("fig, ax = plt.subplots(); ax.plot([1]); fig")
        assert run.mimes(True) == picture and run.mimes(False) == [], run.mimes()
        run = c.run("fig, ax = plt.subplots(); plt.show(); print('on')")
        assert run.mimes(False) == picture and (run.stdout, run.stderr) == ("on\n", ""), run
        run = c.run("fig = plt.figure(); display(fig)")
        assert run.mimes(False) == picture, run.mimes()
        run = c.run("fig, ax = plt.subplots(); display(fig); ax.plot([1, 2]); None")
        assert len(run.results) == 6, run.mimes()
        run = c.run("plt.figure(); plt.figure(); 1/0")
        assert run.status == "error" and len(run.results) == 6, run.mimes()
        run = c.run("plt.title('$\\\\frac{$'); None")
        assert run.status == "error" and run.error["name"] == "ValueError", run
        assert c.run("plt.get_fignums()").main() == "[]"
        assert c.run("from matplotlib.figure import Figure\nFigure()").mimes(True) == picture


@test
def python_works_inside_another_interpreter():
    """Starts the driver as a template does: exec of the source, then serve(), in an interpreter with many imported modules."""
    warm = "import inspect, linecache, sys\nns = {'__name__': 'warm'}\nexec(compile(sys.stdin.read(), '<x>', 'exec'), ns)\nns['serve'](3)\n"
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryFile() as source:
        source.write((SOURCE / "context.py").read_bytes())
        source.seek(0)
        command = ["/bin/sh", "-c", f'exec 3<&{theirs.fileno()}; exec "$@"', "sh", *PROGRAMS["python"], warm]
        process = subprocess.Popen(command, stdin=source, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()], close_fds=True)
    theirs.close()
    ours.settimeout(TIMEOUT)
    code = b"class A: pass\nimport inspect; len(inspect.getsource(A)), __name__"
    ours.sendall(b"run %d\n%s" % (len(code), code))
    text = b""
    while b"done " not in text:
        text += ours.recv(65536)
    assert b"(14, '__main__')" in text and text.startswith(b"ready 0\n"), text
    ours.close()
    process.wait(TIMEOUT)


# Node


@test
def node_keeps_state_and_gives_values():
    with Context("node") as c:
        check(c, [
            ("1 + 1", {"main": "2", "json": "2"}),
            ("const a = 1; let b = {x: [1, {y: 'é'}]}; class C {}; var v = 3; function f() { return v + 1 }", None),
            ("[a, b.x[0], typeof C, v, f()]", {"json": '[1,1,"function",3,4]'}),
            ("const a = 7; let b = 8; class C { z = 1 }; a + b", "15"),
            ("a", "7"),
            ("undefined", None),
            ("let q = 5;", None),
            ("b = {x: 1}", {"main": "{ x: 1 }", "json": '{"x":1}'}),
            ("{a: 1}", {"main": "{ a: 1 }"}),
            ("{ let inner = 1; inner + 1 }", "2"),
            ("if (true) { 5 }", "5"),
            ("'str'", {"main": "'str'", "json": '"str"'}),
            ("null", {"main": "null", "json": "null"}),
            ("10n ** 20n", {"main": "100000000000000000000n", "json": None}),
            ("NaN", {"main": "NaN", "json": None}),
            ("-0", "-0"),
            ("Symbol('x')", {"main": "Symbol(x)", "json": None}),
            ("new Map([[1, 2]])", {"main": "Map(1) { 1 => 2 }", "json": None}),
            ("new Date(0)", {"json": '"1970-01-01T00:00:00.000Z"'}),
            ("const circle = {}; circle.c = circle; circle", {"main": "<ref *1> { c: [Circular *1] }", "json": None}),
            ("({s: '\\ud800'})", {"status": "ok"}),
            ("console.log('out'); console.error('err')", {"main": None, "out": "out\n", "err": "err\n"}),
            ("const crypto = require('crypto'); typeof crypto.createHash", "'function'"),
            ("[typeof module.exports, typeof exports, typeof __filename, typeof require.resolve]", {"json": '["object","object","string","function"]'}),
            ("process.chdir('/'); process.env.Q = 'q'", "'q'"),
            ("[process.cwd(), process.env.Q, process.argv.length]", {"json": '["/","q",1]'}),
            ("globalThis.hidden = Object.getOwnPropertyNames(globalThis).filter((n) => /cella|interruptible|hub/.test(n)).length", "0"),
            ("for (const k in globalThis) if (/cella/.test(k)) throw k", None),
        ])  # fmt: skip


@test
def node_awaits_and_imports():
    with tempfile.TemporaryDirectory() as there, Context("node", cwd=there) as c:
        os.mkdir(f"{there}/sub")
        for name in ("m.js", "sub/n.js"):
            pathlib.Path(there, name).write_text(f"exports.name = {name!r}")
        pathlib.Path(there, "e.mjs").write_text("export default 1; export const two = 2; export const three = 3;")
        check(c, [
            ("await 7", "7"),
            ("const late = await new Promise(r => setTimeout(() => r(9), 20)); late", "9"),
            ("Promise.resolve({q: 1})", {"json": '{"q":1}'}),
            ("Promise.reject(new TypeError('no'))", {"name": "TypeError", "message": "no"}),
            ("for await (const x of [Promise.resolve(1)]) console.log(x)", {"out": "1\n"}),
            ("require('./m.js').name", "'m.js'"),
            ("process.chdir('sub'); require('./n.js').name", "'sub/n.js'"),
            ("process.chdir('..')", None),
            ("(await import('./e.mjs')).two", "2"),
            ("import('fs').then((f) => typeof f.readFileSync)", "'function'"),
            ("import one, {two as zwei,\n  three} from './e.mjs';\n[one, zwei, three]", {"json": "[1,2,3]"}),
            ("import * as everything from './e.mjs'\neverything.three", "3"),
            ("import d, * as ns from \"./e.mjs\"; d + ns.two", "3"),
            ("import 'fs'; import os from 'node:os'\ntypeof os.cpus", "'function'"),
            ("// import x from 'y'\nconst s = `import('${'a'}')` + \"import('b')\" + /import('c')/.source; s", "\"import('a')import('b')import('c')\""),
            ("({import: 4}).import", "4"),
            ("const t = {f: async () => (await import('./e.mjs')).default}; await t.f()", "1"),
            ("import x from 'no-such-module'", {"name": "Error", "message": "no-such-module"}),
            ("export const z = 1", {"name": "SyntaxError"}),
        ])  # fmt: skip


@test
def node_errors_are_data_and_text():
    with Context("node") as c:
        run = c.run("function f() {\n  null.x\n}\nf()")
        assert run.status == "error" and run.error["name"] == "TypeError", run
        assert run.error["traceback"].splitlines()[1:] == ["    at f (<run-1>:2:8)", "    at <run-1>:4:1"], run
        assert run.stderr == run.error["traceback"] + "\n", run
        check(c, [
            ("f()", {"name": "TypeError", "traceback": "at f (<run-1>:2:8)"}),
            ("let ok = 1\nconst = 1", {"name": "SyntaxError", "traceback": "<run-3>:2\nconst = 1\n      ^\n"}),
            ("JSON.parse('{')", {"name": "SyntaxError", "traceback": "at <run-4>:1:6"}),
            ("throw 5", {"name": "Uncaught", "message": "5"}),
            ("throw {a: 1}", {"name": "Uncaught", "message": "{ a: 1 }"}),
            ("throw null", {"name": "Uncaught", "message": "null"}),
            ("throw Object.assign(new Error('x'), {code: 'E1'})", {"name": "Error", "traceback": "at <run-8>:1:21 {\n  code: 'E1'\n}"}),
            ("throw new Error('out', {cause: new TypeError('in')})", {"name": "Error", "traceback": "[cause]: TypeError: in"}),
            ("(function r() { r() })()", {"name": "RangeError"}),
            ("setTimeout(() => { throw new Error('late') }, 5); await new Promise(() => {})", {"name": "Error", "message": "late"}),
            ("Promise.reject(new Error('nobody')); await new Promise(() => {})", {"name": "Error", "message": "nobody"}),
            ("process.nextTick(() => { throw new Error('tick') }); await new Promise(() => {})", {"name": "Error", "message": "tick"}),
            ("throw new Error('x'.repeat(1e6))", {"name": "Error", "message": "characters left out"}),
            ("new Error('a value')", {"main": "Error: a value\n    at <run-15>:1:1"}),
        ])  # fmt: skip
        assert c.run("setTimeout(() => { throw new Error('between') }, 20)").status == "ok"
        c.stderr.until("Error: between")
        c.stderr.take()
        assert c.run("process.on('uncaughtException', (e) => console.log('mine', e.message))").status == "ok"
        run = c.run("setTimeout(() => { throw new Error('x') }, 5); await new Promise(r => setTimeout(r, 50)); 3")
        assert run.main() == "3" and run.stdout == "mine x\n", run
        assert c.run("process.removeAllListeners()").status == "ok"
        assert c.run("setTimeout(() => { throw new Error('y') }, 5); await new Promise(() => {})").status == "error"


@test
def node_exits_and_lives_on():
    with Context("node") as c:
        check(c, [
            ("let kept = 1; process.exit(3)", {"code": 3, "err": ""}),
            ("process.exit()", {"code": 0}),
            ("try { process.exit(4) } catch {}; 5", {"code": 4, "main": None}),
            ("process.exitCode = 6; process.exit()", {"code": 6}),
            ("setTimeout(() => process.exit(7), 5); await new Promise(() => {})", {"code": 7}),
            ("(async () => process.exit(8))(); await new Promise(() => {})", {"code": 8}),
            ("await (async () => { process.exit(9) })()", {"code": 9}),
            ("kept", "1"),
        ])  # fmt: skip


@test
def node_is_interrupted_and_lives_on():
    with Context("node") as c:
        for code in (
            "while (true) {}",
            "await new Promise(() => {})",
            "await 1; while (true) {}",
            "try { while (true) {} } catch { console.log('no') } finally { console.log('no') }",
            "({ toJSON() { while (true) {} } })",
            "Promise.resolve().then(() => { for (;;) {} })",
        ):
            run = c.run(code, 0.15)
            assert run.status == "interrupted" and not run.stdout, (code, run)
            assert c.run("1 + 1").main() == "2"
        assert run_after_interrupts(c, "7").main() == "7"


@test
def node_runs_timers_between_runs_and_flushes():
    with Context("node") as c:
        assert c.run("let n = 0; const timer = setInterval(() => n++, 5)").status == "ok"
        deadline = time.monotonic() + TIMEOUT
        while int(c.run("n").main()) <= 3:
            assert time.monotonic() < deadline, "the timer does not run"
        assert c.run("clearInterval(timer)").status == "ok"
        run = c.run("for (let i = 0; i < 50000; i++) console.log('line', i); process.stdout.write('x'.repeat(1e6))")
        assert run.stdout.count("\n") == 50000 and run.stdout.endswith("x" * 1000000), len(run.stdout)
        run = c.run("console.log(1); console.error(2); require('child_process').execSync('echo 3; ls -l /proc/self/fd >&2', {stdio: 'inherit'}); console.log(4)")
        assert run.stdout == "1\n3\n4\n" and "socket" not in run.stderr, run


SILLY_NODE = [
    "JSON.stringify = JSON.parse = null",
    "for (const k of Object.getOwnPropertyNames(Array.prototype)) if (!['length', 'constructor', 'pop'].includes(k)) Array.prototype[k] = null; 0",
    "Array.prototype[Symbol.iterator] = null; 0",
    "for (const k in {}) ; String.prototype.split = String.prototype.slice = RegExp.prototype.exec = null; 0",
    "Promise.prototype.then = null; Promise.resolve = null; 0",
    "Object.prototype.polluted = 1",
    "Buffer.from = Buffer.concat = null; 0",
    "require('fs').writeSync = null; console.log = null; 0",
    "process.stdout.write = () => { throw 1 }; 0",
    "process.on = process.emit = process.cwd = null; 0",
    "setTimeout = setImmediate = queueMicrotask = null; 0",
    "var run, hub, session, send, holder; 0",
    "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = null; 0",
    "Symbol.for = Number = Math = String = undefined; 0",
]


@test
def node_survives_silly_code():
    with Context("node") as c:
        for code in SILLY_NODE:
            run = c.run(code)
            assert run.status in ("ok", "error"), (code, run)
            if "Symbol.for" not in code:
                assert c.run("40 + 2").main() == "42", code
            assert c.run("throw new Error('e')").status == "error", code


@test
def node_results_are_bounded():
    with Context("node") as c:
        for code, mimes in (
            ("'x'.repeat(1e7)", ["text/plain"]),
            ("new Array(1e6).fill('y'.repeat(100))", ["text/plain"]),
            ("Array.from({length: 5000}, () => ({a: 'é'.repeat(10)}))", ["application/json", "text/plain"]),
            ("({ get x() { throw 1 }, [require('util').inspect.custom]() { throw 2 } })", ["text/plain"]),
        ):
            run = c.run(code)
            assert run.status == "ok" and run.mimes() == mimes, (code, run.mimes())
            assert len(run.main()) < 70000, (code, len(run.main()))


# bash


@test
def bash_keeps_state():
    with Context("bash") as c:
        check(c, [
            ("x=5; declare y=7; f() { echo f $x $y; }; cd /; export E=e", {"code": 0, "status": "ok"}),
            ("f; pwd; sh -c 'echo $E'", {"out": "f 5 7\n/\ne\n"}),
            ("echo é日本; printf %s é | wc -c", {"out": "é日本\n2\n"}),
            ("false", {"code": 1, "status": "ok"}),
            ("echo $?", {"out": "1\n"}),
            ("(exit 3)", {"code": 3, "status": "ok"}),
            ("echo $?", {"out": "3\n"}),
            ("\n\necho $LINENO; nosuch", {"out": "3\n", "err": "line 3: nosuch: command not found", "code": 127, "status": "ok"}),
            ("alias hello='echo alias'", {}),
            ("hello you", {"out": "alias you\n"}),
            ("declare -A m=([k]=v); readonly r=1; arr=(1 2)", {}),
            ("echo ${m[k]} $r ${#arr[@]}", {"out": "v 1 2\n"}),
            ("cat <<EOF\nhere $x\nEOF", {"out": "here 5\n"}),
            ("cat <<EOF\nno end", {"out": "no end\n"}),
            ("echo end \\", {"out": "end"}),
            ("", {"code": 0, "status": "ok"}),
            ("# only this", {}),
            ("read line; echo $?", {"out": "1\n"}),
            ("sleep 0.5 & jobs -r | wc -l", {"out": "1\n"}),
            ("wait; echo $?", {"out": "0\n"}),
            ("trap 'echo usr1' USR1; kill -USR1 $$", {"out": "usr1\n"}),
            ("kill -USR1 $$", {"out": "usr1\n"}),
            ("ls -l /proc/self/fd | grep -c socket", {"out": "0\n", "code": 1, "status": "ok"}),
            ("for i in {1..20000}; do echo line $i; done | tail -n 1", {"out": "line 20000\n"}),
            ("sh -c 'exit 2'", {"code": 2, "status": "ok"}),
            ("declare -F | grep -v __cella; compgen -v | grep -c '^__cella'", {"out": "declare -f f\n"}),
        ])  # fmt: skip


@test
def bash_errors_are_data():
    with Context("bash") as c:
        check(c, [
            ("if (", {"name": "SyntaxError", "message": "syntax error: unexpected end of file", "traceback": ""}),
            ("echo a\nfi", {"name": "SyntaxError", "message": "near unexpected token `fi'", "out": "a\n", "err": "line 2: syntax error"}),
            ("echo \"open", {"name": "SyntaxError", "message": "unexpected EOF"}),
            ("shopt -s extglob\necho @(a|b)", {"out": "@(a|b)\n"}),
            ("return 3", {"code": 2, "status": "ok"}),
            ("echo fine", {"out": "fine\n"}),
        ])  # fmt: skip


@test
def bash_exits_and_lives_on():
    with Context("bash") as c:
        check(c, [
            ("x=5; f() { echo f $x; }; exit 4", {"code": 4}),
            ("f; echo $?", {"out": "f 5\n0\n"}),
            ("g() { for i in 1 2; do exit $i; done; }; g; echo no", {"code": 1, "out": ""}),
            ("( exit 9 ); echo $?", {"out": "9\n"}),
            ("set -euo pipefail; echo in; false; echo no", {"code": 1, "out": "in\n"}),
            ("echo on; [[ -o errexit && -o nounset && -o pipefail ]] && echo still", {"out": "on\nstill\n"}),
            ("echo $undefined; echo no", {"status": "exit", "err": "line 1: undefined: unbound variable"}),
            ("set +eu; f; break; echo no", {"status": "ok", "out": "f 5\n"}),
            ("continue; echo no", {"status": "ok", "out": ""}),
            ("break 9", {"status": "exit"}),
            ("f; exec nosuch", {"code": 127, "out": "f 5\n"}),
            (": ${nothing?gone}", {"status": "exit", "err": "gone"}),
            ("echo $x; sleep 0.01 & wait $!; echo $?", {"out": "5\n0\n"}),
        ])  # fmt: skip
        for _ in range(40):
            assert c.run("exit 3").done == {"status": "exit", "exit_code": 3}
        run = c.run("f; ps -o stat= -g $(ps -o pgid= $BASHPID) | grep -vc Z")
        assert run.stdout.startswith("f 5\n") and int(run.stdout.split()[-1]) < 8, run
        assert c.exit_status() == 0


@test
def bash_options_do_not_break_the_driver():
    with Context("bash") as c:
        run = c.run("set -x; echo traced")
        assert run.stdout == "traced\n" and run.stderr.lstrip("+") == " echo traced\n", run
        run = c.run("echo again")
        assert run.stderr.lstrip("+") == " echo again\n", run
        assert c.run("set +x").status == "ok"
        check(c, [
            ("IFS=:; a=1:2; set -- $a; echo $1 $2", {"out": "1 2\n"}),
            ("echo \"[$IFS]\"; unset IFS", {"out": "[:]\n"}),
            ("set -u; echo a", {"out": "a\n"}),
            ("set -f; set -C; set -o posix", {}),
            ("echo posix; set +o posix +f +C", {"out": "posix\n"}),
            ("LC_ALL=C", {}),
            ("echo é; unset LC_ALL", {"out": "é\n"}),
            ("exec 3>&1 4>/dev/null 10>/dev/null; echo three >&3", {"out": "three\n"}),
            ("printf() { echo no; }; read() { return 1; }; eval() { :; }; set() { :; }; echo() { command echo mine; }", {}),
            ("echo", {"out": "mine\n"}),
            ("unset -f echo printf read eval set; alias read=false eval=false", {}),
            ("shopt -s nocasematch extglob nullglob; echo b", {"out": "b\n"}),
            ("exec >hidden; echo secret", {"out": ""}),
            ("cat hidden >&2; exit 5", {"code": 5, "err": "secret\n"}),
            ("echo more; exec >&2", {"out": ""}),
            ("echo b; exec >&-", {"err": "b\n"}),
            ("echo c", {"code": 1, "status": "ok"}),
            ("exit 6", {"code": 6}),
            ("cat hidden >&2; exec 2>&-", {"err": "more\n"}),
            ("x=1", {"code": 0, "status": "ok"}),
        ])  # fmt: skip


@test
def bash_shows_nothing_of_the_driver_after_a_failure():
    with Context("bash") as c:
        c.run("false")
        run = c.run("echo hi (")
        assert "__cella" not in run.stderr and "echo hi (" in run.stderr, run
        c.run("trap 'echo err $?' ERR")
        c.run("(exit 3)")
        run = c.run("echo $?; true")
        assert run.stdout == "3\n" and run.status == "ok", run


@test
def python_says_why_a_value_cannot_be_shown_and_children_end_well():
    with Context("python") as c:
        run = c.run("10 ** 5000")
        assert "ValueError: Exceeds the limit" in run.main(), run
        run = c.run("import os\npid = os.fork()\nif pid: status = os.waitpid(pid, 0)[1]\npid and status")
        assert run.main() == "0", run


@test
def bash_is_interrupted_and_lives_on():
    with Context("bash") as c:
        c.run("v=1; cd /")
        for code in (
            "while :; do :; done",
            "sleep 60",
            "f() { while true; do sleep 0.05; done; }; f",
            "( while :; do :; done )",
            "cat <(sleep 60) | sleep 60",
            "x=$(sleep 60)",
            "sleep 60 & wait",
            "read x <> <(sleep 60)",
        ):
            run = c.run(code, 0.15)
            assert run.status == "interrupted", (code, run)
            run = c.run("echo $v $PWD; grep SigIgn /proc/self/status")
            assert run.stdout == "1 /\nSigIgn:\t0000000000000000\n", (code, run)
        assert run_after_interrupts(c, "echo 7").stdout == "7\n"
        run = c.run("trap 'echo mine; trap - INT; caught=1' INT; while [[ ! ${caught-} ]]; do sleep 0.02; done; echo on", 0.15)
        assert run.status == "ok" and run.stdout == "mine\non\n", run


# All three


@test
def drivers_end_when_the_daemon_closes_the_socket():
    for language in PROGRAMS:
        with Context(language) as c:
            c.run({"python": "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()",
                   "node": "setInterval(() => {}, 1000); 0", "bash": "sleep 60 >/dev/null 2>&1 &"}[language])  # fmt: skip
            begun = time.monotonic()
            status = c.exit_status()
            assert status == 0, (language, status)
            assert time.monotonic() - begun < 30, language  # not 60


@test
def the_death_of_a_driver_is_noticed():
    deaths = {
        "python": ["import os; os._exit(5)", "import os; os.kill(os.getpid(), 9)", "import os; os.closerange(3, 4000)",
                   "import os\nif os.fork(): os._exit(5)\nimport time; time.sleep(60)"],
        "node": ["process.reallyExit(5)", "process.abort()", "require('fs').closeSync(3)"],
        "bash": ["kill -9 $$", "exec sh -c 'exit 5'", "trap 'echo bye' EXIT; exit 5", "kill -TERM $$; sleep 60"],
    }  # fmt: skip
    for language, codes in deaths.items():
        for code in codes:
            with Context(language) as c:
                try:
                    run = c.run(code)
                    raise AssertionError(f"{language} {code!r}: {run}")
                except Gone:
                    pass


@test
def invalid_messages_of_a_driver_do_not_hang():
    """The daemon receives invalid messages and must detect this; no request may wait for ever."""
    codes = {
        "python": "import os\nfor fd in range(3, 200):\n    try: os.write(fd, b'done 7\\ngarbage' if os.path.realpath(f'/proc/self/fd/{fd}').count('socket') else b'')\n    except OSError: pass",
        "node": "require('fs').writeSync(3, 'done 7\\ngarbage'); 0",
        "bash": "for n in {10..20}; do [[ -S /dev/fd/$n ]] && eval \"printf 'done 7\\ngarbage' >&$n\"; done",
    }
    for language, code in codes.items():
        with Context(language) as c:
            c.send(code)
            try:
                c.answer()
                raise AssertionError(f"{language}: the garbage was not seen")
            except (ValueError, AssertionError) as e:
                assert "not seen" not in str(e), e
            assert c.exit_status() is not None


@test
def long_code_and_many_runs():
    with Context("python") as p, Context("node") as n, Context("bash") as b:
        text = "é" * 500000
        assert p.run(f"x = '{text}'\nlen(x)").main() == "500000"
        assert n.run(f"const x = '{text}'; x.length").main() == "500000"
        assert b.run(f"x='{text}'; echo ${{#x}}").stdout == "500000\n"
        for i in range(200):
            assert p.run(f"y = {i}\ny").main() == str(i)
            assert n.run(f"const y = {i}; y").main() == str(i)
            assert b.run(f"echo {i}").stdout == f"{i}\n"


@test
def runs_that_come_at_once_are_done_in_turn():
    for language, code in (("python", "print(%d)"), ("node", "console.log(%d)"), ("bash", "echo %d")):
        with Context(language) as c:
            for i in range(5):
                c.send(code % i)
            out = "".join(c.answer().stdout for _ in range(5))
            assert out == "0\n1\n2\n3\n4\n", (language, out)


def measure():
    bare = {"python": "pass", "node": "0", "bash": ":"}
    one = {"python": "1+1", "node": "1+1", "bash": ":"}
    for language in PROGRAMS:
        starts, readies, trips = [], [], []
        for _ in range(20):
            begun = time.monotonic()
            subprocess.run([*PROGRAMS[language], bare[language]], stdin=subprocess.DEVNULL, cwd=directory, env=ENVIRONMENT)
            starts.append((time.monotonic() - begun) * 1000)
            with Context(language) as c:
                readies.append(c.ready_ms)
        with Context(language) as c:
            time.sleep(0.1)
            for _ in range(1000):
                begun = time.perf_counter()
                c.send(one[language])
                while c.message()[0] != "done":
                    pass
                trips.append((time.perf_counter() - begun) * 1e6)
        for values in (starts, readies, trips):
            values.sort()
        print(f"{language:7} bare {starts[0]:5.1f} ms, ready {readies[0]:5.1f} ms (best), {starts[10]:5.1f} and {readies[10]:5.1f} (p50), "
              f"round trip p50 {trips[500]:4.0f} us, p99 {trips[990]:4.0f} us")  # fmt: skip


TRIAL = """
import ast, os, sys
tree = ast.parse(open(sys.argv[1]).read())
values = {t.id: ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if t.id in ("USUAL", "COMMON")}
for name, code in [*values["USUAL"].items(), *values["COMMON"].items()]:
    try:
        exec(compile((f"import {name}\\n" if name else "") + code, __file__, "exec"), {"__name__": "__main__", "__file__": sys.argv[1]})
    except ModuleNotFoundError as e:
        print("missing:", e.name)
print(len(values), "done")
"""


@test
def the_code_of_the_trial_runs(_=None):
    """The trial of a template hides errors of its parts (python.py)."""
    with open(os.path.join(directory, "trial.py"), "w") as f:
        f.write(TRIAL)
    r = subprocess.run([PROGRAMS["python"][0], f.name, SOURCE / "python.py"], capture_output=True, text=True, cwd=directory, timeout=200)
    lines = [line for line in r.stdout.splitlines() if not line.startswith(("missing: numpy", "missing: pandas", "missing: matplotlib"))]
    assert (r.returncode, lines) == (0, ["2 done"]), r


def main():
    global directory
    # In the background of a shell they are ignored, and what is ignored from the start a shell cannot trap.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description="tests of the interpreters of contexts")
    parser.add_argument("--only", default="", metavar="TEXT", help="run only tests with this in their name")
    parser.add_argument("--python", metavar="PATH", help="another python3")
    parser.add_argument("--measure", action="store_true", help="print how long they take instead")
    options = parser.parse_args()
    if options.python:
        PROGRAMS["python"][0] = options.python
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as directory:
        if options.measure:
            return measure()
        chosen = [f for f in tests if options.only in f.__name__]
        if not chosen:
            parser.error("no test has such a name")
        signal.signal(signal.SIGALRM, out_of_time)
        for function in chosen:
            try:
                signal.alarm(LIMIT)
                function()
                signal.alarm(0)
                passed += 1
                print(f"ok {function.__name__}", flush=True)
            except Skip as e:
                skipped += 1
                print(f"skip {function.__name__}: {e}", flush=True)
            except Exception as e:
                failed += 1
                where = [f.lineno for f in traceback.extract_tb(e.__traceback__) if f.filename == __file__]
                print(f"FAIL {function.__name__}: line {where[1] if len(where) > 1 else where[0]}: {type(e).__name__}: {e}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
