#!/usr/bin/python3
"""Runs CPython's own tests (Debian's libpython3.N-testsuite) in a sandbox and, as an ordinary user, outside, and compares the
result of each test.  A difference that is not in the table of doc/cpython.md is a failure.

A test with a difference is repeated twice, inside and outside.  It counts only if it differs each time, so that a test that
fails now and then, or on a slow machine, decides nothing."""

import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = "/usr/bin/python3"
MODULES = ("test_os", "test_subprocess", "test_pty", "test_openpty", "test_socket", "test_asyncio", "test_signal", "test_threading",
           "test_multiprocessing_fork", "test_multiprocessing_forkserver", "test_multiprocessing_spawn",
           "test_multiprocessing_main_handling", "test_io", "test_tempfile", "test_sqlite3")  # fmt: skip
USER = 12345  # the one of test/as-user
TRIES = 3
SECONDS = 1500  # for one module
LIMITS = ("--timeout", f"{SECONDS}s", "--disk", "3G", "--processes", "512", "--output", "32M")
CGROUP = ("--memory", "2G", "--cpus", "2")  # an ordinary user may have no cgroup to enforce these

# What a program of a user has: the same variables inside and outside.
VARIABLES = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/sh"}
MARK = "-----results-----"
SCRIPT = f"""
export HOME=$PWD TMPDIR=$PWD
cat >driver.py
{PYTHON} driver.py {SECONDS - 60} "$@" >log 2>&1
tail -c 20000 log
echo; echo {MARK}
cat results
"""
FILES = 1024  # open files, as in a sandbox


class Place:
    """Where the tests run."""

    def __init__(self, name, program, user, inside):
        self.name, self.program, self.user, self.inside = name, program, user, inside

    def words(self, arguments):
        words = ["sh", "-c", SCRIPT, "sh", *arguments]
        if not self.inside:
            return words
        options = [*LIMITS, *(CGROUP if self.user == 0 else ()), "--cwd", "/tmp"]
        for name, value in VARIABLES.items():
            options += ["--env", f"{name}={value}"]
        return [self.program, "run", *options, "--", *words]

    def run(self, arguments):
        """({test: result}, the end of what was printed)."""
        with tempfile.TemporaryDirectory(prefix="cella-cpython-") as directory:
            os.chmod(directory, 0o755)
            become = {"user": self.user, "group": self.user, "extra_groups": []} if os.geteuid() == 0 and self.user else {}
            if become:
                os.chown(directory, self.user, self.user)
            process = subprocess.Popen(self.words(arguments), cwd=directory, env=VARIABLES, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, start_new_session=True, umask=0o022, preexec_fn=limit_files, **become)  # fmt: skip
            out = process.communicate((pathlib.Path(__file__).parent / "driver.py").read_bytes())[0].decode(errors="replace")
        log, _, results = out.partition(f"\n{MARK}\n")
        return parse(results), log


def limit_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


def parse(text):
    """The results that driver.py has written."""
    lines = (line.partition("\t") for line in text.splitlines())
    return {name: result for result, tab, name in lines if tab}


def documented(path):
    """[(pattern, outside, inside)] of the table."""
    rows = re.findall(r"^\| `([\w.*?\[\]]+)` \| (\w+) \| (\w+) \| \S.* \|$", path.read_text(), re.M)
    return [row for row in rows if row[0].startswith("test")]


def differences(outside, inside):
    return {name: (outside.get(name, "missing"), inside.get(name, "missing"))
            for name in {*outside, *inside} if outside.get(name) != inside.get(name)}  # fmt: skip


class Comparison:
    """One module, in one kind of sandbox, compared with outside."""

    def __init__(self, module, outside, inside):
        self.module, self.outside, self.inside = module, outside, inside

    def run(self, first):
        """first: the results outside.  Returns (number of tests, {test: (outside, inside)}, the log of the sandbox)."""
        results, log = self.inside.run([self.module])
        found = differences(first, results)
        count = len({*first, *results})
        for _ in range(TRIES - 1):
            if not found or not results:
                break
            again = differences(self.outside.run([self.module, *sorted(found)])[0], self.inside.run([self.module, *sorted(found)])[0])
            found = {name: kinds for name, kinds in found.items() if again.get(name) == kinds}
        return count, found, log


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cella", default=str(ROOT / "build/src/cella"))
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only modules with this in their name")
    parser.add_argument("-j", type=int, default=2, metavar="N", help="modules at once (2)")
    return parser.parse_args()


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.listed = documented(ROOT / "doc/cpython.md")

    def is_listed(self, name, kinds):
        return any(fnmatch.fnmatchcase(name, pattern) and kinds == (outside, inside) for pattern, outside, inside in self.listed)

    def add(self, comparison, count, found, log):
        where = f"{comparison.module} ({comparison.inside.name})"
        new = {name: kinds for name, kinds in found.items() if not self.is_listed(name, kinds)}
        if count == 0 or len(new) == count:
            print(f"FAIL {where}: no results\n{log[-3000:]}", flush=True)
            self.failed += 1
            return
        for name, (outside, inside) in sorted(new.items()):
            print(f"FAIL {where}: {name}: {outside} outside, {inside} inside", flush=True)
        self.passed += count - len(found)
        self.failed += len(new)
        self.skipped += len(found) - len(new)
        print(f"{'FAIL' if new else 'ok'} {where}: {count} tests, {len(found)} differ, {len(found) - len(new)} of them documented", flush=True)
        for name in sorted(set(found) - set(new)):
            print(f"skip {where}: {name}: documented", flush=True)


def there(module):
    """Whether the package has it: Debian's has no test_sqlite3."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('test.{module}') is None)"
    return subprocess.run([PYTHON, "-c", code], env=VARIABLES, check=False).returncode == 0


def main():
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="cella-cpython-") as directory:
        os.chmod(directory, 0o755)
        program = shutil.copy(options.cella, directory)  # where every user can run it
        user = USER if os.geteuid() == 0 else os.geteuid()
        outside = Place("outside", program, user, False)
        insides = [Place("user", program, user, True)]
        if os.geteuid() == 0:
            insides.insert(0, Place("root", program, 0, True))
        tally = Tally()

        def compare(module):
            first = outside.run([module])[0]
            return [(c, *c.run(first)) for c in (Comparison(module, outside, place) for place in insides)]

        chosen = [m for m in MODULES if options.only in m]
        for module in chosen:
            if not there(module):
                print(f"skip {module}: not in the package", flush=True)
                tally.skipped += 1
        with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
            for results in pool.map(compare, [m for m in chosen if there(m)]):
                for result in results:
                    tally.add(*result)
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
