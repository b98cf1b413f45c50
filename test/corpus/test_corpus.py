"""The programs of bench/corpus print the same and end with the same status bare and in a sandbox."""

import os
import pathlib
import re
import shutil
import subprocess

from support import Skip, run, same, test, write

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "bench/corpus"
RUNTIMES = {".py": "python3", ".js": "node", ".sh": "sh", ".bash": "bash"}
PLACES = "/usr/local/bin:/usr/bin:/bin"
TIMEOUT = 120  # seconds, of either run; each takes less than 3 on an idle machine


def check_packages(code):
    """Skips a program that needs a Python package that is missing here."""
    for package in (re.match(r"# needs: (.*)", code) or ["", ""])[1].split():
        if subprocess.run(["/usr/bin/python3", "-c", f"import {package}"], capture_output=True, check=False).returncode:
            raise Skip(f"no {package} on this machine")


def run_bare(words, directories):
    """Standard output, standard error and exit status, with the names that the directories have in a sandbox."""
    environment = {"PATH": PLACES, "HOME": os.path.abspath("work"), "LANG": "C.UTF-8"}
    r = subprocess.run(words, cwd="work", env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=TIMEOUT)
    streams = [r.stdout, r.stderr]
    for outside, inside in directories.items():
        streams = [text.replace(os.path.abspath(outside).encode(), inside) for text in streams]
    return [text.decode() for text in streams] + [128 - r.returncode if r.returncode < 0 else r.returncode]


def compare(runtime, name, code):
    if runtime == "python3":
        check_packages(code)
    os.mkdir("work")
    os.mkdir("code")
    program = shutil.which(runtime, path=PLACES)
    if runtime in ("sh", "bash"):
        bare = run_bare([program, "-c", code], {"work": b"/workspace"})
        words = [runtime, "-c", code]
    else:
        write(f"code/{name}", code)
        bare = run_bare([program, os.path.abspath(f"code/{name}")], {"work": b"/workspace", "code": b"/run"})
        words = [runtime, f"code/{name}"]
    r = run(f"--timeout={TIMEOUT}", *words, timeout=TIMEOUT + 60)
    same([r.out, r.err, r.rc], bare, "output and exit status", r)


def add(path):
    runtime, code = RUNTIMES[path.suffix], path.read_text()  # now: an ordinary user may not reach the source tree
    test(lambda: compare(runtime, path.name, code), name=f"corpus_{path.parent.name}_{path.stem}", users=["root"],
         timeout=2 * TIMEOUT + 90)  # fmt: skip


for file in sorted(CORPUS.glob("*/*")):
    add(file)


@test(users=["root"])
def corpus_has_enough_programs_of_each_language():
    counts = {d.name: len(list(d.iterdir())) for d in CORPUS.iterdir()}
    same([counts["python"] >= 50, counts["shell"] >= 15, counts["node"] >= 15], [True] * 3, f"enough of {counts}")
    lengths = {f.name: len(f.read_text().splitlines()) for f in CORPUS.glob("*/*")}
    same({name: n for name, n in lengths.items() if not 10 <= n <= 65}, {}, "programs that are too short or too long")
