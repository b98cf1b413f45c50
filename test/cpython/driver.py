"""Runs one test module of CPython and writes a line "RESULT<tab>TEST" to the file `results` after each test.

    driver.py SECONDS MODULE [TEST...]

This file is copied to where the tests run: it must not import anything of Cella's tests."""

import faulthandler
import importlib
import sys
import unittest

from test import support


class Result(unittest.TextTestResult):
    """Of the subtests of a test, the worst result counts."""

    def startTest(self, test):
        self.worst = "passed"
        super().startTest(test)

    def note(self, test, result):
        if test is None or not isinstance(test, unittest.TestCase):  # setUpClass or setUpModule
            write(result, str(test))
        elif self.worst in ("passed", "skipped"):
            self.worst = result

    def stopTest(self, test):
        write(self.worst, test.id())
        super().stopTest(test)

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "error")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "failure")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note(test, "failure" if issubclass(err[0], test.failureException) else "error")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, "failure")


def write(result, name):
    with open("results", "a") as f:
        f.write(f"{result}\t{name}\n")


def cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


def main(seconds, module, *names):
    faulthandler.enable()
    faulthandler.dump_traceback_later(int(seconds), exit=True)
    support.use_resources = []  # none of: network, large files, much CPU time
    support.verbose = False
    try:
        suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(f"test.{module}"))
    except unittest.SkipTest as skip:
        print(skip)
        write("skipped", f"test.{module}")
        return
    if names:
        suite = unittest.TestSuite(case for case in cases(suite) if case.id() in names)
    unittest.TextTestRunner(sys.stdout, resultclass=Result, verbosity=2).run(suite)


if __name__ == "__main__":
    main(*sys.argv[1:])
