"""`cella bench`: it measures what it reports, reports all of it, and leaves nothing behind.  Its figures are not checked here."""

import contextlib
import glob
import json
import os
import re
import signal
import subprocess
import time

import support
from support import cella, ensure, is_root, refused, same, spawn, test, until

ROUNDS = 3
CASES = {
    "sh": ["bare", "bwrap", "library_fresh", "library_ready", "cold", "spare", "ready", "pooled"],
    "python3": ["bare", "bwrap", "cold", "template", "on_demand", "pooled"],
    "pandas": ["bare", "pooled"],
    "node": ["bare", "pooled"],
    "client": ["get"],
}

def directories():
    """Returns the state directories of daemons that this test's bench has started."""
    return set(glob.glob(os.path.join(os.environ["TMPDIR"], "cella-bench-*")))


def near(a, b):
    return abs(a - b) <= 0.01 * abs(b) + 0.001


def check_case(case, bare):
    same(set(case), {"group", "way", "title", "skipped", "n", "failures", "misses", "p50_ms", "p90_ms", "p99_ms", "min_ms",
                     "x_bare"}, "members", case)  # fmt: skip
    same(case["failures"], 0, "failures", case)
    if case["skipped"]:
        same([case["n"], case["p50_ms"]], [0, None], "one that was skipped", case)
        return
    same(case["n"] + case["misses"], ROUNDS, "turns", case)
    ensure(case["n"] > 0, "never as it should be", case)
    ensure(0 < case["min_ms"] <= case["p50_ms"] <= case["p90_ms"] <= case["p99_ms"], "an order of times", case)
    if not bare:
        same(case["x_bare"], None, "one without a bare one", case)
        return
    ensure(near(case["x_bare"], case["p50_ms"] / bare["p50_ms"]), "not the ratio of the medians", case)


def check_throughput(t):
    same(set(t), {"runtime", "seconds", "connections", "processes", "pooled_per_second", "bare_per_second", "hits", "misses",
                  "failures", "x_bare"}, "members", t)  # fmt: skip
    same([t["runtime"], t["seconds"], t["failures"]], ["python3", 1, 0], "throughput")
    ensure(t["bare_per_second"] > 0 and t["hits"] > 0, "nothing was executed", t)
    ensure(near(t["x_bare"], t["pooled_per_second"] / t["bare_per_second"]), "not the ratio", t)


def check_memory(m, sandboxes):
    same(set(m), {"skipped", "sandboxes", "pss_bytes", "daemon_pss_bytes", "available_bytes"}, "members", m)
    same([m["skipped"], m["sandboxes"]], [None, sandboxes], "memory")
    ensure(50_000 < m["pss_bytes"] < 20_000_000, "not what an interpreter takes", m)


def check_live(live, asked):
    same(set(live), {"problem", "asked", "alive", "fill_s", "answered", "failures", "misses", "answer_s", "keeper_files",
                     "server_files", "memory"}, "members", live)  # fmt: skip
    same([live[k] for k in ("problem", "asked", "alive", "answered", "failures", "misses")], [None, asked, asked, asked, 0, 0],
         "sandboxes at once", live)  # fmt: skip
    ensure(live["fill_s"] > 0 and live["answer_s"] > 0, "no times", live)


@test(timeout=300, alone=True)
def every_figure_is_there_and_nothing_is_left():
    before = directories()
    r = cella(["bench", "--rounds", ROUNDS, "--seconds", 1, "--live", 12, "--json"], timeout=280)
    same(r.rc, 0, "exit status", r)
    report = r.json()
    same(set(report), {"version", "kernel", "cores", "rounds", "cases", "throughput", "memory", "live", "failures"}, "members")
    same([report["rounds"], report["failures"], report["kernel"]], [ROUNDS, 0, os.uname().release], "the head")
    same(report["cores"], len(os.sched_getaffinity(0)), "cores")
    found = {group: [c["way"] for c in report["cases"] if c["group"] == group] for group in CASES}
    same(found, CASES, "cases")
    for case in report["cases"]:
        bare = [c for c in report["cases"] if c["group"] == case["group"] and c["way"] == "bare"]
        check_case(case, bare[0] if bare else None)
    check_throughput(report["throughput"])
    check_live(report["live"], 12)
    if is_root():
        check_memory(report["memory"], 50)
        check_memory(report["live"]["memory"], 12)
        ensure(report["live"]["keeper_files"] > 12 and report["live"]["server_files"] > 12, "descriptors", report["live"])
    else:
        ensure(report["memory"]["skipped"], "an ordinary user cannot look into them", report["memory"])
    same(directories() - before, set(), "directories left")


@test(timeout=120, alone=True)
def the_table_fits_a_terminal():
    r = cella(["bench", "--rounds", 1, "--seconds", 1], timeout=110)
    same(r.rc, 0, "exit status", r)
    ensure(max(map(len, r.out.splitlines())) <= 100, "lines are too long", r)
    ensure(not any(line != line.rstrip() for line in r.out.splitlines()), "spaces at the end of lines", r)
    for part in ("sh: echo hi", "python3: print(1+1)", "pandas", "node", "executions a second", "memory of an idle"):
        ensure(part in r.out, f"no {part}", r)


# A corpus: two programs that agree, two that do not, one that cannot be run.
PROGRAMS = {
    "python/agrees.py": "import os, sys\nprint(os.getcwd(), os.path.expanduser('~'), 'é')\nsys.stderr.write('x\\0y')\n{}['key']\n",
    "agrees.sh": "echo $0; echo two >&2; kill -9 $$\n",
    "prints_another_line.bash": "echo same\necho $UID\x1b[31m\n",
    "ends_differently.js": "// no output\nprocess.exit(require('os').hostname() === 'sandbox' ? 0 : 7);\n",
    "python/incomplete.py": "# needs: json no_such_package\nimport no_such_package\n",
    "ignored.txt": "not a program\n",
    "python/.hidden.py": "print(1)\n",
    "too/deep/to_be_found.py": "import os\nprint(os.getpid())\n",
}


def write_corpus(programs):
    for name, code in programs.items():
        os.makedirs(os.path.dirname(f"corpus/{name}"), exist_ok=True)
        with open(f"corpus/{name}", "w", encoding="utf-8") as f:
            f.write(code)


@test(timeout=200)
def corpus_reports_programs_that_differ():
    before = directories()
    write_corpus(PROGRAMS)
    r = cella(["bench", "--corpus", "corpus", "--rounds", 2, "--json"], timeout=180)
    same(r.rc, 1, "exit status", r)
    report = r.json()
    same(set(report), {"version", "kernel", "cores", "rounds", "corpus", "programs", "languages", "measured", "skipped", "different"}, "members")
    same([report["rounds"], report["corpus"]], [2, os.path.abspath("corpus")], "the head")
    same([report["measured"], report["skipped"], report["different"]], [2, 1, 2], "counts", r)
    programs = {p["name"]: p for p in report["programs"]}
    same(set(programs), {"agrees.py", "agrees.sh", "prints_another_line.bash", "ends_differently.js", "incomplete.py"}, "programs")
    for p in report["programs"]:
        same(set(p), {"name", "language", "runtime", "skipped", "n", "failures", "differs", "bare_ms", "cella_ms", "x_bare"}, "members", p)
    for name in ("agrees.py", "agrees.sh"):
        p = programs[name]
        same([p["skipped"], p["differs"], p["failures"], p["n"]], [None, None, 0, 2], name, p)
        ensure(p["bare_ms"] > 0 and near(p["x_bare"], p["cella_ms"] / p["bare_ms"]), "not the ratio of the times", p)
    expected = {"prints_another_line.bash": 'stdout, line 2: "1000', "ends_differently.js": "exit status 0, bare 7"}
    for name, text in expected.items():
        p = programs[name]
        ensure(p["differs"].startswith(text), f"does not say {text}", p)
        same([p["failures"], p["n"], p["x_bare"]], [3, 0, None], f"{name}: a run before the rounds, and both rounds", p)
    ensure(f'bare "{os.geteuid()}' in programs["prints_another_line.bash"]["differs"], "the bare line", programs)
    ensure("\x1b" not in programs["prints_another_line.bash"]["differs"], "a control character is printed", programs)
    same(programs["incomplete.py"]["skipped"], "no_such_package is not installed", "reason")
    same([(s["language"], s["measured"], s["worst"]) for s in report["languages"]],
         [("python", 1, "agrees.py"), ("shell", 1, "agrees.sh"), ("node", 0, None)], "languages", r)  # fmt: skip
    same(report["languages"][0]["median_x_bare"], programs["agrees.py"]["x_bare"], "median of one")
    same(directories() - before, set(), "directories left")


@test(timeout=100)
def corpus_that_agrees_is_a_success():
    write_corpus({name: PROGRAMS[name] for name in ("python/agrees.py", "agrees.sh", "python/incomplete.py")})
    r = cella(["bench", "--rounds", 1, "--corpus", "corpus"], timeout=90)
    same([r.rc, r.err], [0, ""], "exit status", r)
    for line in (r"python +bare, ms +Cella, ms +x bare", r"  agrees\.py +\d+\.\d\d +\d+\.\d\d +[\d./]+",
                 r"  incomplete\.py +left out: no_such_package is not installed", r"  median of 1 +[\d./]+",
                 r"  worst: agrees\.sh +[\d./]+", r"3 programs: 2 measured, 1 left out, 0 different; rounds: 1"):  # fmt: skip
        ensure(re.search(f"^{line}$", r.out, re.M), f"no line {line}", r)


@test
def corpora_that_cannot_be_run_are_refused():
    refused(cella(["bench", "--corpus", "missing"]), 2, "cannot read missing")
    os.mkdir("corpus")
    refused(cella(["bench", "--corpus", "corpus"]), 2, "contains no program")
    write_corpus({"large.py": "#" * 100_001})
    refused(cella(["bench", "--corpus", "corpus"]), 2, "is larger than 100,000 bytes")
    write_corpus({"large.py": "\0"})
    refused(cella(["bench", "--corpus", "corpus"]), 2, "NUL byte")
    refused(cella(["bench", "--corpus", "corpus", "more"]), 2, "takes no 'more'")
    refused(cella(["bench", "--corpus", "--seconds", "3"]), 2, "only --rounds")


def processes_with(word):
    """Numbers of the processes that have this argument."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(path, "rb") as f:
            if word in f.read().decode(errors="replace").split("\0"):
                found.append(int(path.split("/")[2]))
    return found


@test(timeout=200)
def a_signal_ends_bench_and_the_program_that_runs():
    before = directories()
    word = f"{100_000 + os.getpid()}.5"
    write_corpus({"sleeps.sh": f"sleep {word}\necho awake\n"})
    process = spawn("bench", "--corpus", "corpus", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: processes_with(word), 60, "the program")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60 * support.slack)
    same([process.returncode, out, err], [128 + signal.SIGTERM, b"", b""], "interrupted")
    until(lambda: not processes_with(word), 60, "the end of the program and of its children")
    same(directories() - before, set(), "directories left")


def interrupt(number, after):
    before = directories()
    process = spawn("bench", "--json", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    start_new_session=True)  # fmt: skip
    until(lambda: support.catches(process.pid, number), 20, "its handler of the signal")
    time.sleep(after)
    process.send_signal(number)
    out, err = process.communicate(timeout=60 * support.slack)
    same([process.returncode, out, err], [128 + number, b"", b""], f"interrupted after {after} s")
    same(directories() - before, set(), "directories left")


@test(timeout=200, alone=True)
def a_signal_ends_bench_and_its_daemons():
    for after in (0.05, 0.4, 1.5, 4):
        interrupt(signal.SIGINT, after)
    interrupt(signal.SIGTERM, 1)


@test(timeout=60, alone=True)
def daemons_of_bench_end_when_bench_is_killed():
    before = directories()
    process = spawn("bench", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: directories() - before, 20, "a daemon's directory")
    time.sleep(1)
    process.kill()
    process.wait()
    left = directories() - before
    until(lambda: not any(map(serving, left)), 20, "the end of its daemons")
    for directory in left:
        subprocess.run(["rm", "-rf", directory], check=True)


def serving(directory):
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f:
                if directory.encode() in f.read():
                    return True
        except OSError:
            pass
    return False


@test
def wrong_words_are_usage_errors():
    refused(cella(["bench", "fast"]), 2, "takes no 'fast'")
    refused(cella(["bench", "--rounds", "10001"]), 2, "--rounds must be at most 10000")
    refused(cella(["bench", "--seconds", "0"]), 2, "--seconds")
    refused(cella(["bench", "--live", "1000000"]), 2, "--live must be at most")
    same(json.loads(cella(["bench", "--json", "fast"]).out)["error"]["kind"], "invalid_request", "kind")
