#!/usr/bin/python3
"""Runs the tests of test/image about the store: good and hostile archives, crashes, removal; with the runner of
test/run.py.  (Those about registries are run by registry.py.)"""

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
runner.EXPECTED_SKIPS.add("only with CELLA_TEST_ALL=1")


def discover(options):
    global imager
    imager = pathlib.Path(options.cella).resolve().with_name("cella-image")
    options.suite = "image"
    return kernel_discover(options)


def setup(program, *rest):
    copy = os.path.join(os.path.dirname(program), "cella-image")
    shutil.copy(imager, copy)
    os.chmod(copy, 0o755)
    os.environ["CELLA_IMAGE"] = copy
    kernel_setup(program, *rest)


runner.discover, runner.support.setup = discover, setup

if __name__ == "__main__":
    sys.exit(runner.main())
