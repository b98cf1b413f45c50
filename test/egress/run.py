#!/usr/bin/python3
"""Runs the tests of test/egress, those of the egress process by itself and those of the network of the whole product, by the
runner of test/run.py."""

import importlib
import os
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent))
runner = importlib.import_module("run")
sys.path.remove(str(HERE))
sys.path.insert(1, str(HERE))

kernel_discover, kernel_setup = runner.discover, runner.support.setup
runner.EXPECTED_SKIPS.add("no node in /usr")  # one that sandboxes see


def discover(options):
    global egress
    egress = pathlib.Path(options.cella).resolve().with_name("egress")
    options.suite = "egress"
    return kernel_discover(options)


def setup(program, *rest):
    for source, name in ((egress, "egress"), (egress.parent.parent / "bench/egress", "bench-egress")):
        copy = os.path.join(os.path.dirname(program), name)
        shutil.copy(source, copy)
        os.chmod(copy, 0o755)
    kernel_setup(program, *rest)


runner.discover, runner.support.setup = discover, setup

if __name__ == "__main__":
    sys.exit(runner.main())
