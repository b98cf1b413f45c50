#!/usr/bin/python3
"""Pulls images from registries: one of Debian's, pushed to by skopeo, and ones that behave as a test wants them to.

registry.py --image PROGRAM [--user user] [--only WORD] [-j N]
    PROGRAM: cella-image; --user user: not as root"""

import argparse
import concurrent.futures.thread
import os
import shutil
import sys
import tempfile
import threading
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.dirname(sys.path[0]))
import registry_imager  # noqa: E402

TESTS = []


class Skip(Exception):
    pass


def test(function):
    TESTS.append(function)
    return function


class Context:
    """The fixture of a test: a temporary directory and cella-image."""

    def __init__(self, program, directory):
        self.program, self.directory = program, directory

    def imager(self, **how):
        return registry_imager.Imager(self.program, **how)


def run(function, program):
    directory = tempfile.mkdtemp(prefix="cella-registry-")
    os.chmod(directory, 0o755)
    begun = time.monotonic()
    try:
        function(Context(program, directory))
        result, detail = "ok", ""
    except Skip as reason:
        result, detail = "skip", str(reason)
    except Exception:  # pylint: disable=broad-except
        result, detail = "FAIL", traceback.format_exc()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return function.__name__, result, detail, time.monotonic() - begun


def report(name, result, detail, seconds, lock):
    with lock:
        if result == "ok":
            print(f"ok {name} ({seconds:.1f} s)")
        elif result == "skip":
            print(f"skip {name}: {detail}")
        else:
            print(f"FAIL {name}")
            for line in detail.splitlines():
                print(f"    {line}")
        sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--image", required=True)
    parser.add_argument("--user", choices=("root", "user"), default="root")
    parser.add_argument("--only", default="")
    parser.add_argument("-j", type=int, default=4)
    options = parser.parse_args()
    import registry_good  # noqa: F401 pylint: disable=unused-import,import-outside-toplevel
    import registry_hostile  # noqa: F401 pylint: disable=unused-import,import-outside-toplevel
    import registry_real  # noqa: F401 pylint: disable=unused-import,import-outside-toplevel
    # Whoever it is run as must be able to reach it.
    place = tempfile.mkdtemp(prefix="cella-image-")
    os.chmod(place, 0o755)
    lock, counts = threading.Lock(), {"ok": 0, "FAIL": 0, "skip": 0}
    try:
        program = shutil.copy(options.image, place)
        os.chmod(program, 0o755)
        if options.user == "user" and os.getuid() == 0:
            os.chown(place, registry_imager.USER, registry_imager.USER)
            os.setgroups([])
            os.setresgid(*[registry_imager.USER] * 3)
            os.setresuid(*[registry_imager.USER] * 3)
        with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
            mine = [t for t in TESTS if options.only in t.__name__]
            if not mine:
                sys.exit(2)
            futures = [pool.submit(run, t, program) for t in mine]
            for future in concurrent.futures.as_completed(futures):
                outcome = future.result()
                counts[outcome[1]] += 1
                report(*outcome, lock)
    finally:
        shutil.rmtree(place)
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.modules["registry"] = sys.modules["__main__"]  # the tests import this module by its name
    sys.exit(main())
