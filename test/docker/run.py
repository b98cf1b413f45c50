#!/usr/bin/python3
"""Runs the tests of test/docker, those of the engine docker, by the runner of test/run.py: the same table of cases on the
native engine, on a real Podman and on a real dockerd, then what can go wrong between us and an engine.

CELLA_TEST_ENGINE names one engine (docker, podman); without it both are used.  The table is also run over the engine's own
stream (attach), and with CELLA_TEST_ALL=1 in gVisor."""

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
sys.path.insert(1, str(HERE.parent / "api"))
sys.path.insert(1, str(HERE))

import engines  # noqa: E402

CHOSEN = tuple(os.environ.get("CELLA_TEST_ENGINE", "docker podman").split())
engines.all_of_them = bool(os.environ.get("CELLA_TEST_ALL"))

kernel_discover, kernel_setup = runner.discover, runner.support.setup
runner.EXPECTED_SKIPS.update({"no podman on this machine", "no dockerd on this machine", "no runsc on this machine", "only Docker knows runtimes by name", "only with CELLA_TEST_ALL=1"})


def discover(options):
    global built
    built = pathlib.Path(options.cella).resolve().parent
    engines.chosen = CHOSEN
    for path in sorted(HERE.glob("test_*.py")):
        runner.load(path)
    runner.HERE = HERE / "no tests of the kernel"
    return kernel_discover(options)


def setup(program, *rest):
    """Copies the other programs beside cella, and starts the engines."""
    base = os.path.dirname(program)
    for name in ("cella-server", "cella-client", "cella-image", "cella-docker"):
        shutil.copy(built / name, os.path.join(base, name))
        os.chmod(os.path.join(base, name), 0o755)
    kernel_setup(program, *rest)
    engines.start(CHOSEN, base, program)


runner.discover, runner.support.setup = discover, setup

if __name__ == "__main__":
    if any(entry.pw_uid == runner.USER for entry in pwd.getpwall()):
        sys.exit(f"uid {runner.USER} is somebody's here")
    try:
        status = runner.main()
    finally:
        engines.stop()
    sys.exit(status)
