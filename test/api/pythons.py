#!/usr/bin/python3
"""Restored Python of other versions than that of this machine, in images of Debian releases: a template is made of the
image's own python3.  All tables of test_warm_fidelity.py for python3, and what else depends on the version, by the
runner of test/run.py.

The images are made first, which takes most of a minute.  Without a mirror that can be reached there are none: all is skipped."""

import importlib.util
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
if os.path.realpath(sys.executable) != os.path.realpath("/usr/bin/python3"):  # as run.py, but with this file
    os.execv("/usr/bin/python3", ["/usr/bin/python3", __file__, *sys.argv[1:]])
spec = importlib.util.spec_from_file_location("api_run", HERE / "run.py")
api = importlib.util.module_from_spec(spec)
spec.loader.exec_module(api)
runner, support = api.runner, api.runner.support

import test_warm_fidelity as fidelity  # noqa: E402
from support import Skip, ensure, same, test  # noqa: E402
from test_contexts import context, ok, run, text  # noqa: E402

support.registry.clear()  # those tests are run by run.py
UNREACHABLE = "the mirror http://deb.debian.org/debian cannot be reached"
runner.EXPECTED_SKIPS.add(UNREACHABLE)

# {module that no image has: cases that are left out}
LACKS = {"numpy": ["numpy", "numpy: large products", "warnings of numpy", "numpy: what a destructor prints at the end"], "pandas": ["pandas"]}

# Cases that end differently with these versions, also without Cella.  Both results must still be equal.
OTHERWISE = {
    "bullseye": {
        "not yet in 3.9": [
            "orig_argv without arguments", "orig_argv with arguments", "argv can be changed", "the frame at the bottom",
            "trace, profile, asyncgen, coroutine hooks", "recursion limit, switch interval, digits", "names of the standard library",
            "sys.exc_info and the chain of frames", "a module by an exception", "a module by a pattern", "locale", "PYTHONSAFEPATH=1",
            "PYTHONINTMAXSTRDIGITS=640"],
        "collections needs the module that is hidden": ["collections: what imports another, beside main.py"],
        "its stack overflows": ["recursion limit lowered and raised", "parser's recursion"],
    },
    "trixie": {
        "no more in 3.13": ["sub-interpreters", "distutils' and other deprecated modules warn"],
        "the depth of C calls is limited": ["the C stack takes 5 MB", "the C stack of the main thread ends at its limit"],
        "the arguments of SystemExit": ["sys.exit(())"],
        "a warning": ["os.fork in a thread"],
    },
}  # fmt: skip


class Image(fidelity.Host):
    lacks = LACKS
    normal = [
        # An image's runtimes are called by where they are in it.
        (r"\['/usr/bin/python3', 'main\.py'", "['python3', 'main.py'"), (r"program name = '/usr/bin/python3'", "program name = 'python3'"),
        (r"(?m)^([ug]id_map +\d+) \d+", r"\1 N"),  # each sandbox has its own
    ]  # fmt: skip

    def __init__(self, suite, version):
        self.suite, self.version, self.problem = suite, version, None

    def make(self, base):
        """Starts to make the image, in a store of which each test gets a copy."""
        self.state = os.path.join(base, self.suite)
        words = ["image", "bootstrap", self.suite, "--debian", self.suite, "--packages", "python3", "--state", self.state]
        env = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
        self.process = support.spawn(*words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)

    def made(self):
        err = self.process.communicate()[1].decode(errors="backslashreplace")
        if self.process.returncode != 0:
            self.problem = UNREACHABLE if UNREACHABLE in err else f"no image: {err}"

    def daemon(self, pool):
        if self.problem == UNREACHABLE:
            raise Skip(UNREACHABLE)
        ensure(not self.problem, self.problem)
        os.mkdir("state", 0o700)
        subprocess.run(["cp", "-al", os.path.join(self.state, "images"), "state"], check=True)
        return fidelity.daemon_with(pool, image=self.suite)

    def meant(self, case):
        return case.name not in fidelity.listed(OTHERWISE[self.suite])

    # The tests.

    def says_its_version(self):
        with self.daemon(fidelity.POOLS["python3"]) as d:
            pool = fidelity.Pool(d, "python3")
            r = pool.exec("import sys; print(*sys.version_info[:2], sys.executable)")
            same((r["stdout"], r["stderr"]), (f"{self.version} /usr/bin/python3\n", ""), "Python's version")
            ready_pool = pool.ready()
            same((ready_pool["image"], ready_pool["waits"], ready_pool["problem"]), (self.suite, "template", None), "the pool")

    def is_random_each_time(self):
        fidelity.fresh(fidelity.POOLS["python3"], fidelity.python_of(fidelity.PYTHON_RANDOM), 20, self)

    def has_contexts(self):
        with self.daemon(fidelity.POOLS["python3"]) as d:
            c = context(d, d.sandbox())
            same(text(ok(run(d, c, "import sys; '%d %d' % sys.version_info[:2]"))), repr(self.version), "Python's version")
            same(text(ok(run(d, c, "x = 20"))), None, "the value of an assignment")
            same(text(ok(run(d, c, "x + 22"))), "42", "the value of the last expression")
            r = run(d, c, "def f():\n    return x / 0\nf()")
            same((r["status"], r["exit_code"]), ("exited", 1), "outcome", r)
            same((r["error"]["name"], r["error"]["message"]), ("ZeroDivisionError", "division by zero"), "the error", r)
            for part in ("line 3, in <module>", "line 2, in f", "return x / 0", "ZeroDivisionError: division by zero"):
                ensure(part in r["error"]["traceback"], f"the traceback does not say {part!r}", r)


IMAGES = [Image("bullseye", "3 9"), Image("trixie", "3 13")]


@test(users=["root"])
def every_case_that_is_excepted_is_in_a_table():
    names = {case.name for _, _, cases, _ in fidelity.TABLES for case in cases}
    excepted = set().union(*map(fidelity.listed, (LACKS, Image.ahead, *OTHERWISE.values())))
    same(sorted(excepted - names), [], "cases that are in no table")


def tests():
    for image in IMAGES:
        for function in (image.says_its_version, image.is_random_each_time, image.has_contexts):
            yield f"{image.suite}_{function.__name__}", function
    for name, runtime, _, function in fidelity.TABLES:
        for image in IMAGES if runtime == "python3" else ():
            yield f"{image.suite}_as_by_hand_{name}", lambda f=function, i=image: f(i)


for name, function in tests():
    test(function, name=name, users=["root"], timeout=90)


def discover(options):
    api.server = pathlib.Path(options.cella).resolve().with_name("cella-server")
    runner.HERE = HERE / "no tests of the kernel"
    return api.kernel_discover(options)


def setup(program, *rest):
    api.setup(program, *rest)
    for image in IMAGES:
        image.make(os.path.dirname(program))
    for image in IMAGES:
        image.made()
    print(f"left out, because no image has the module: {LACKS}")


runner.discover, runner.support.setup = discover, setup

if __name__ == "__main__":
    sys.exit(runner.main())
