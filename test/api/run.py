#!/usr/bin/python3
"""Runs the tests of test/api, those of the daemon's API and of its clients, by the runner of test/run.py."""

import importlib
import os
import pathlib
import pwd
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
if os.path.realpath(sys.executable) != os.path.realpath("/usr/bin/python3"):  # one that any user can read
    os.execv("/usr/bin/python3", ["/usr/bin/python3", __file__, *sys.argv[1:]])
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent))
runner = importlib.import_module("run")
sys.path.remove(str(HERE))
sys.path.insert(1, str(HERE))

kernel_discover, kernel_setup = runner.discover, runner.support.setup
runner.EXPECTED_SKIPS.update({"no volumes here", "views serve once with this kernel", "no static program on this machine", "no numpy for python3 in a sandbox", "no pip for /usr/bin/python3", "no Python.h for /usr/bin/python3", "no module six in the packages of this machine", "no npm in /usr", "no pandas and matplotlib for /usr/bin/python3", "no matplotlib for /usr/bin/python3", "the server is built with a sanitizer", "the server is built to measure coverage", "a real Debian takes a minute: CELLA_TEST_ALL=1", "no mmdebstrap on this machine", "no keys of Ubuntu on this machine", "no programs of ./dev setup servers", "cella-image is installed on this machine", "real roots take minutes: CELLA_TEST_ALL=1, or CELLA_TEST_CACHE", "a slow upload takes half a minute: CELLA_TEST_ALL=1"})


def discover(options):
    global server
    server = pathlib.Path(options.cella).resolve().with_name("cella-server")
    for path in sorted(HERE.glob("test_*.py")):
        runner.load(path)
    runner.HERE = HERE / "no tests of the kernel"
    return kernel_discover(options)


def setup(program, *rest):
    """Copies the daemon's other programs beside cella."""
    for name in (server.name, "cella-image", "cella-docker"):
        copy = os.path.join(os.path.dirname(program), name)
        shutil.copy(server.with_name(name), copy)
        os.chmod(copy, 0o755)
    kernel_setup(program, *rest)


runner.discover, runner.support.setup = discover, setup

if __name__ == "__main__":
    if any(entry.pw_uid == runner.USER for entry in pwd.getpwall()):
        sys.exit(f"uid {runner.USER} is somebody's here")
    sys.exit(runner.main())
