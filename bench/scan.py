#!/usr/bin/python3
"""What the scanner costs for each shape of test/api/scan_shapes.py, in turns with what only checks the syntax of the same
text: `compile()` of Python, `bash -n`, `node --check`; then of files that are minified JavaScript, where the tests have fetched some.

    bench/scan.py --cella BUILD/src/cella [--rounds N] [FILE...]     (files are measured, too)
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "test/api"))

from scan_shapes import SHAPES  # noqa: E402

MINIFIED = ["build-xterm/xterm-*/xterm.js", "build-npm/node_modules/@modelcontextprotocol/ext-apps/dist/src/app-with-deps.js"]
SUFFIXES = {"python": ".py", "bash": ".sh", "javascript": ".js"}
COMPILE = "import sys; sys.setrecursionlimit(10**6); compile(open(sys.argv[1]).read(), 'x', 'exec')"


def measure(command, path):
    """CPU time and time by the clock, in ms; None if it failed."""
    begun = time.perf_counter()
    process = subprocess.Popen([*command, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took = (usage.ru_utime + usage.ru_stime) * 1000, (time.perf_counter() - begun) * 1000
    return took if process.returncode in (0, 1) else None


def checker(language):
    command = {"python": ["/usr/bin/python3", "-c", COMPILE], "bash": ["bash", "-n"], "javascript": ["node", "--check"]}[language]
    return command if shutil.which(command[0]) else None


def best(rounds):
    """The least of each, which others on the machine add to."""
    rounds = [r for r in rounds if r]
    return [min(values) for values in zip(*rounds)] if rounds else None


def report(cella, rounds, language, name, path):
    other = checker(language)
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(measure([cella, "scan"], path))
        theirs.append(measure(other, path) if other else None)
    cpu, clock = best(ours)
    there = best(theirs)
    ratio = f"{cpu / there[0]:6.2f}" if there else "     -"
    print(f"{language:11}{name:28}{os.path.getsize(path) / 1e6:6.2f} MB {cpu:8.0f} {clock:8.0f} {there[0] if there else 0:10.0f} {ratio}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cella", default="build/src/cella")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    print(f"{'':39}{'':9} {'CPU ms':>8} {'clock ms':>8} {'checker ms':>10}  ratio")
    with tempfile.TemporaryDirectory() as directory:
        for language, shapes in SHAPES.items():
            for name, text in shapes.items():
                path = os.path.join(directory, "text" + SUFFIXES[language])
                pathlib.Path(path).write_text(text)
                report(options.cella, options.rounds, language, name, path)
    minified = [str(path) for pattern in MINIFIED for path in sorted(HERE.parent.glob(pattern))]
    for path in minified + options.files:
        language = next((k for k, v in SUFFIXES.items() if path.endswith(v)), "python")
        report(options.cella, options.rounds, language, os.path.basename(path)[-26:], path)


if __name__ == "__main__":
    main()
