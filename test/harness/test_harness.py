#!/usr/bin/python3
"""The test runners: what they repeat, what they count, what makes a run fail.  Each test runs them on a small suite, on a small
table of stages, or on a small C test, which are made for it.

One line per test, then the count.  --only TEXT: those with TEXT in their names."""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import traceback

sys.dont_write_bytecode = True
os.environ.pop("CELLA_TEST_WEIGHT", None)  # the stages made here run as many at once as by default
WHO = "root" if os.geteuid() == 0 else "user"  # the user of the small suites' tests, which are declared for root
TEST = pathlib.Path(__file__).resolve().parent.parent
tests = []


def test(function):
    tests.append(function)
    return function


def suite(text, *words):
    """(status, output) of test/run.py on a suite of this text."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "test_small.py")
        path.write_text("import os, time, support\nfrom support import *\nfrom support import test\n" + textwrap.dedent(text).replace('"root"', f'"{WHO}"'))
        os.chmod(directory, 0o755)
        words = [sys.executable, TEST / "run.py", "--cella", "/bin/true", "--suite", directory, *words]
        r = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, check=False)
        return r.returncode, r.stdout.replace(f"({WHO})", "(root)")


def last(out):
    return out.splitlines()[-1]


def stages(table, *words, only=""):
    """(status, output) of test/stages.py with this table."""
    with tempfile.TemporaryDirectory() as directory:
        program = f"""
import sys
sys.path.insert(0, {str(TEST)!r})
import stages
from stages import Stage, QUIET, BOXES, ALONE
stages.LOGS = {directory!r}
stages.STAGES = {table}
sys.argv[1:] = {list(words)!r}
sys.exit(stages.main())
"""
        r = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, check=False)
        return r.returncode, r.stdout


def shell(script, name="small", minimum=1, **more):
    """A stage of one shell script, as text."""
    words = "".join(f", {k}={v!r}" for k, v in {"beside": "quiet", "limit": 30, **more}.items())
    return f"Stage({name!r}, group='fast', minimum={minimum}, commands=[['sh', '-c', {script!r}]]{words})"


@test
def a_wrong_value_fails_at_once():
    status, out = suite("""
        @test(users=["root"])
        def wrong():
            with open("/tmp/harness-" + str(os.getppid()), "a") as f: f.write("x")
            same(1, 2, "a value")
        @test(users=["root"])
        def how_often():
            path = "/tmp/harness-" + str(os.getppid())
            same(read(path), "x", "tries")
            os.unlink(path)
    """)
    assert status == 1 and "late" not in out.replace("0 late", "") and last(out) == "1 passed, 1 failed, 0 skipped", out


@test
def a_missed_deadline_is_repeated_twice_and_then_fails():
    status, out = suite("""
        @test(users=["root"])
        def slow():
            within(2, 1, "it")
    """)
    assert status == 1 and out.count("late slow (root)") == 2 and out.count("FAIL slow (root)") == 1, out
    assert "\n1 late\n" in out, out


@test
def a_deadline_missed_in_a_thread_makes_the_test_late():
    text = """
import threading
from support import fail, late, test

@test(users=["root"])
def slow():
    t = threading.Thread(target=lambda: late("no answer"))
    t.start()
    t.join()
    fail("the thread brought no result")
"""
    status, out = suite(text)
    assert status == 1 and out.count("late slow (root): in a thread: no answer") == 2 and out.count("FAIL slow (root)") == 1, out


@test
def an_exception_in_a_thread_fails_the_test():
    status, out = suite("""
        import threading

        @test(users=["root"])
        def passes():
            t = threading.Thread(target=lambda: fail("a wrong value"))
            t.start()
            t.join()
    """)
    assert status == 1 and out.count("FAIL passes (root): in a thread: a wrong value") == 1, out


@test
def parameters_of_a_test_are_fixtures():
    status, out = suite("""
        import contextlib
        import support

        @contextlib.contextmanager
        def first(value="default"):
            print("enter", value)
            yield value
            print("leave", value)

        FIXTURES = {"a": first, "b": lambda a: a + " and b"}

        @test(users=["root"])
        def plain(a):
            print("plain", a)

        @test(users=["root"], value="given")
        def dependent(a, b):
            print("dependent", a, b)
    """)
    lines = ["enter default", "plain default", "leave default", "enter given", "dependent given given and b", "leave given"]
    assert status == 0 and [x for x in out.splitlines() if x in lines] == lines, out


@test
def fixtures_are_left_after_a_failure():
    status, out = suite("""
        import contextlib

        @contextlib.contextmanager
        def first():
            try:
                yield
            finally:
                print("left")

        FIXTURES = {"a": first}

        @test(users=["root"])
        def fails(a):
            raise ValueError("a wrong value")
    """)
    assert status == 1 and out.count("FAIL fails (root)") == 1 and "left" in out.splitlines(), out


@test
def an_argument_without_a_fixture_fails():
    status, out = suite('@test(users=["root"], timeuot=5)\ndef misspelt(): pass\n')
    assert status == 1 and "misspelt has no fixture for timeuot" in out and "1 passed" not in out, out


@test
def a_test_that_does_not_end_is_late_and_named():
    status, out = suite("""
        @test(users=["root"], timeout=0.5)
        def endless():
            time.sleep(60)
    """)
    assert status == 1 and "FAIL endless (root): not done after 0.5 s" in out, out


LATE_ONCE = """
def late_once(i):
    mark = "/tmp/harness-" + str(os.getppid()) + "-" + str(i)
    if not os.path.exists(mark):
        write(mark)
        within(2, 1, "it")
    os.unlink(mark)
for i in range({late}):
    test(lambda i=i: late_once(i), name="once_" + str(i), users=["root"])
for i in range({fine}):
    test(lambda: None, name="fine_" + str(i), users=["root"])
"""


@test
def one_late_test_of_twenty_is_allowed_and_counted():
    status, out = suite(LATE_ONCE.format(late=1, fine=19), "-j", "4")
    assert status == 0 and "\n1 late\n" in out and last(out) == "20 passed, 0 failed, 0 skipped", out


@test
def two_late_tests_of_twenty_are_too_many():
    status, out = suite(LATE_ONCE.format(late=2, fine=18), "-j", "4")
    assert status == 1 and "FAIL late: 2 of 20" in out and last(out) == "20 passed, 1 failed, 0 skipped", out


@test
def one_late_test_of_a_small_suite_is_too_many():
    status, out = suite(LATE_ONCE.format(late=1, fine=3))
    assert status == 1 and "FAIL late: 1 of 4" in out, out


@test
def a_skip_that_is_not_expected_fails():
    status, out = suite("""
        @test(users=["root"])
        def missing():
            raise Skip("no such thing")
        @test(users=["root"])
        def fine(): pass
    """)
    assert status == 1 and "FAIL missing (root): skipped, which was not expected: no such thing" in out, out


@test
def an_empty_suite_fails():
    status, out = suite("")
    assert status != 0 and "no test" in out, out
    status, out = suite("@test\ndef fine(): pass\n", "--only", "other")
    assert status != 0 and "no test" in out, out


@test
def a_file_that_another_one_of_its_name_hides_fails():
    with tempfile.TemporaryDirectory() as directory:
        for folder in ("one", "two"):
            os.mkdir(f"{directory}/{folder}")
            pathlib.Path(directory, folder, "test_small.py").write_text("")
        program = f"""
import pathlib, sys
sys.path[:0] = [{str(TEST)!r}, {directory + "/one"!r}, {directory + "/two"!r}]
import run
run.load(pathlib.Path({directory + "/" + "one/test_small.py"!r}))
print("one")
run.load(pathlib.Path({directory + "/" + "two/test_small.py"!r}))
"""
        r = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert (r.returncode, r.stdout) == (1, "one\n") and "one/test_small.py has the same name" in r.stderr, r


@test
def fewer_tests_than_the_minimum_fail():
    status, out = suite('@test(users=["root"])\ndef fine(): pass\n', "--minimum", "2")
    assert status == 1 and "FAIL minimum: 1 tests were run, fewer than 2" in out, out


@test
def the_parts_of_a_suite_together_are_the_whole_suite():
    text = "for i in range(7): test(lambda: None, name='t' + str(i))\n"
    names = [line for part in ("1/3", "2/3", "3/3") for line in suite(text, "--part", part, "--list")[1].splitlines()]
    assert sorted(names) == sorted(suite(text, "--list")[1].splitlines()) and len(names) == 14, names


@test
def counts_of_stages_are_added_up():
    status, out = stages(f"[{shell('echo 2 passed, 0 failed, 1 skipped')}, {shell('true', 'other')}]")
    assert status == 0 and last(out) == "3 passed, 0 failed, 1 skipped", out


@test
def a_stage_that_fails_without_a_count_is_a_failure():
    for script, said in (("exit 3", "status 3"), ("echo 1 passed, 0 failed, 0 skipped; exit 1", "status 1"), ("kill -9 $$", "status -9")):
        status, out = stages(f"[{shell(script)}]")
        assert status == 1 and said in out and ", 1 failed, " in last(out), out


@test
def a_stage_that_does_not_end_fails_and_names_the_test():
    status, out = stages(f"[{shell('echo ok first; sleep 60', limit=1)}, {shell('true', 'other')}]")
    assert status == 1 and "FAIL small: not done after 1 s" in out and "ok first" in out, out
    assert last(out).startswith("1 passed, ") and ", 0 failed," not in last(out), out


@test
def a_stage_that_does_not_end_leaves_no_process():
    seconds = f"{600 + os.getpid()}"
    status, out = stages(f"[{shell(f'(sleep {seconds} &); trap : TERM; sleep {seconds} & wait; wait', limit=1)}]")
    left = subprocess.run(["pgrep", "-fx", f"sleep {seconds}"], stdout=subprocess.PIPE, text=True, check=False).stdout
    assert status == 1 and left == "", (left, out)


@test
def a_stage_of_a_suite_that_does_not_end_names_the_test():
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "test_small.py").write_text("import time\nfrom support import test\n@test(users=['root'])\ndef endless(): time.sleep(60)\n".replace("root", WHO))
        os.chmod(directory, 0o755)
        command = [sys.executable, str(TEST / "run.py"), "--cella", "/bin/true", "--suite", directory]
        status, out = stages(f"[Stage('small', 'fast', 2, 1, [{command!r}], QUIET)]")
    assert status == 1 and f"FAIL endless ({WHO}): still running when the whole run was ended" in out, out


@test
def a_stage_with_fewer_tests_than_its_minimum_fails():
    status, out = stages(f"[{shell('echo 9 passed, 0 failed, 0 skipped', minimum=40)}]")
    assert status == 1 and "fewer than" in out, out


@test
def a_stage_with_an_unexpected_skip_fails():
    script = "echo skip some: no reason; echo 1 passed, 0 failed, 1 skipped"
    status, out = stages(f"[{shell(script, skips=('not this',))}]")
    assert status == 1 and "some: skipped, which was not expected: no reason" in out, out
    status, out = stages(f"[{shell(script, skips=('no ',))}]")
    assert status == 0 and last(out) == "1 passed, 0 failed, 1 skipped", out


@test
def a_stage_fails_if_its_build_failed():
    status, out = stages(f"[{shell('exit 1', 'build-it')}, {shell('true', after=('build-it',))}]")
    assert status == 1 and "FAIL small: not run, because build-it failed" in out and last(out) == "0 passed, 2 failed, 0 skipped", out


@test
def stages_that_look_for_leftovers_are_beside_quiet_ones_only():
    with tempfile.TemporaryDirectory() as d:
        script = f"echo + $0 >>{d}/seen; sleep 1; echo - $0 >>{d}/seen"
        table = ", ".join(f"Stage({n!r}, 'fast', 30, 1, [['sh', '-c', {script!r}, {n!r}]], {b})" for n, b in (("a", "ALONE"), ("b", "BOXES"), ("c", "QUIET"), ("d", "BOXES")))
        status, out = stages(f"[{table}]")
        running, together = set(), set()
        for line in pathlib.Path(d, "seen").read_text().splitlines():
            sign, name = line.split()
            (running.add if sign == "+" else running.discard)(name)
            together.add("".join(sorted(running)))
    assert status == 0 and "ac" in together and not together & {"ab", "ad"}, (together, out)


@test
def one_stage_can_be_chosen_and_its_tests_by_name():
    table = "[Stage('one', 'full', 30, 50, [['echo', 'ran', '@only']], QUIET), Stage('two', 'fast', 30, 1, [['true']], QUIET)]"
    status, out = stages(table, "one", "some_test")
    assert status == 0 and "two" not in out and last(out) == "1 passed, 0 failed, 0 skipped", out
    status, out = stages(table, "three", "four")
    assert status != 0 and "no stage is called three" in out, out


@test
def resume_skips_stages_that_passed():
    with tempfile.TemporaryDirectory() as d:
        table = "[" + shell(f"echo a >>{d}/a", "a") + ", " + shell(f"echo b >>{d}/b; test $(wc -l <{d}/b) = 2", "b") + "]"
        program = f"""
import sys
sys.path.insert(0, {str(TEST)!r})
import stages
from stages import Stage
stages.LOGS = {d!r} + "/logs"
stages.STAGES = {table}
for s in stages.STAGES: s.group = "nightly"
for words in (["--nightly"], ["--nightly", "--resume"]):
    sys.argv[1:] = words
    print("status", stages.main())
"""
        out = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False).stdout
        runs = {n: len(pathlib.Path(d, n).read_text().splitlines()) for n in "ab"}
    assert runs == {"a": 1, "b": 2} and "status 1\n" in out and "status 0\n" in out, (runs, out)


C_TESTS = """
#include "test.h"
TEST(first) { CHECK_INT(1, 1); }
TEST_WITHIN(hangs, 1) { for (;;) pause(); }
TEST(crashes) { raise(SIGSEGV); }
TEST(wrong) { CHECK_INT(1, 2); }
TEST(leaves_out) { SKIP("a reason"); }
TEST(last) { CHECK_INT(1, 1); }
"""


def c_tests(*words):
    with tempfile.TemporaryDirectory() as d:
        pathlib.Path(d, "t.c").write_text(C_TESTS)
        subprocess.run(["cc", "-D_GNU_SOURCE", "-Wall", "-Werror", "-I", TEST / "unit", "-o", f"{d}/t", f"{d}/t.c"], check=True)
        r = subprocess.run([f"{d}/t", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        return r.returncode, r.stdout


@test
def a_c_test_that_hangs_or_crashes_is_named_and_the_rest_is_run():
    status, out = c_tests()
    for line in ("FAIL hangs: still running after 1 s", "FAIL crashes: the process ended with status 0xb", "FAIL wrong: ", "skip leaves_out: a reason", "ok last"):
        assert line in out, (line, out)
    assert status == 1 and last(out) == "2 passed, 3 failed, 1 skipped", out


@test
def c_tests_can_be_chosen_by_name():
    status, out = c_tests("argument", "--only", "las")
    assert (status, out) == (0, "ok last\n1 passed, 0 failed, 0 skipped\n"), out
    assert c_tests("--only", "nothing")[0] == 2
    assert c_tests("--list")[1].split() == ["first", "hangs", "crashes", "wrong", "leaves_out", "last"]


@test
def the_table_of_stages_is_sound():
    sys.path.insert(0, str(TEST))
    import stages as real  # pylint: disable=import-outside-toplevel

    names = [s.name for s in real.STAGES]
    assert len(names) == len(set(names)), names
    for s in real.STAGES:
        assert s.group in ("fast", "full", "nightly", "coverage") and s.limit > 0 and s.minimum > 0 and 1 <= s.weight <= 3, s
        assert all(s.skips or ()), f"{s.name} accepts every skip"
        assert all(n in names for n in s.after) and s.beside in (real.QUIET, real.BOXES, real.ALONE), s
    for program in ("init_*.c", "keeper_*.c"):
        for path in (TEST / "kernel").glob(program):
            assert path.stem == "keeper_fake" or any(path.stem in w for s in real.STAGES if not callable(s.commands) for c in s.commands for w in c), path


def coverage(*words):
    """(status, output) of tools/coverage-report on a small tree: of four lines in src/core one does not run, src/base/other.c has no counters."""
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory).resolve()
        for name, text in (("src/core/core.c", "int main(int argc, char **argv)\n{\n    if (argc > 1)\n        return argv[1][0];\n    return 0;\n}\n"), ("src/base/other.c", "int other;\n")):
            (root / name).parent.mkdir(parents=True)
            (root / name).write_text(text)
        (root / "tools").mkdir()
        (root / "build").mkdir()
        report = root / "tools/coverage-report"
        report.write_bytes((TEST.parent / "tools/coverage-report").read_bytes())
        subprocess.run(["gcc", "--coverage", "-O0", "-o", "core", "../src/core/core.c"], cwd=root / "build", check=True, timeout=60)
        subprocess.run(["./core"], cwd=root / "build", check=True, timeout=60)
        r = subprocess.run([sys.executable, report, "build", *words], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        return r.returncode, r.stdout


@test
def too_little_coverage_fails():
    status, out = coverage("--need", "core=76")
    assert status == 1 and "FAIL core: 75.0 % of its lines ran, 76 % are needed" in out and last(out) == "0 passed, 1 failed, 0 skipped", out
    status, out = coverage("--need", "core=75", "--need", "front=1")
    assert status == 1 and "FAIL front: 0.0 % of its lines ran" in out and last(out) == "1 passed, 1 failed, 0 skipped", out


@test
def the_coverage_report_lists_lines_and_unmeasured_files():
    status, out = coverage("--need", "core=75", "--lines", "core")
    assert status == 0 and last(out) == "1 passed, 0 failed, 0 skipped", out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "src/core/core.c: 4" in lines and "core 3 of 4 lines 75.0 %" in lines and "not measured: 1 files: base/other.c" in lines, out


def layers(**files):
    """(status, output) of tools/check-layers on a small tree; in the names __ stands for /, and the last _ for the dot."""
    with tempfile.TemporaryDirectory() as directory:
        for name, includes in files.items():
            path = pathlib.Path(directory, "src", name.replace("__", "/")[:-2] + "." + name[-1])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f'#include "{other}"\n' for other in includes))
        words = [sys.executable, TEST.parent / "tools/check-layers", directory]
        r = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        return r.returncode, r.stdout


@test
def includes_downward_are_allowed():
    status, out = layers(base__a_h=(), sys__b_h=("base/a.h",), sys__b_c=("sys/b.h", "base/a.h"), sys__c_c=("sys/b.h",))
    assert status == 0 and out == "", out


@test
def an_include_cycle_is_found_and_its_files_are_named():
    status, out = layers(core__a_h=(), core__a_c=("core/a.h", "core/b.h"), core__b_h=("core/c.h",), core__c_h=("core/a.h",), core__d_c=("core/a.h",))
    assert status == 1 and out.splitlines()[0] == "FAIL 3 modules include each other: src/core/a src/core/b src/core/c", out
    assert "FAIL     src/core/a includes core/b" in out and "core/d" not in out, out


@test
def an_upward_include_is_found():
    status, out = layers(base__a_h=("sys/b.h",), sys__b_h=(), keeper__k_c=("http/h.h",), http__h_h=(), other__o_c=())
    assert status == 1 and "FAIL src/base/a.h includes from sys/, which is not below base/" in out, out
    assert "FAIL src/keeper/k.c: keeper must not include from http" in out and "FAIL src/other/o.c: src/other has no rank" in out, out


@test
def a_folder_with_too_many_files_is_found():
    status, out = layers(**{f"core__f{i}_c": () for i in range(41)}, **{f"core__sub__f{i}_c": () for i in range(40)})
    assert status == 1 and out == "FAIL src/core has 41 files, at most 40 are allowed\n", out


@test
def a_long_file_and_a_long_function_are_found():
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory, "src/core/a.c")
        file.parent.mkdir(parents=True)
        file.write_text("static int f(int a,\n             int b)\n{\n" + "        a++;\n" * 77 + "}\n" + "\n" * 570)
        words = [sys.executable, TEST.parent / "tools/check-layers", directory]
        r = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    assert r.returncode == 1 and r.stdout.splitlines() == [
        "FAIL src/core/a.c has 651 lines, at most 650 are allowed",
        "FAIL src/core/a.c: a function of 81 lines, at most 80 are allowed: static int f"], r.stdout  # fmt: skip


@test
def documents_have_lines_of_at_most_100_columns():
    long = []
    for path in [*TEST.parent.glob("*.md"), *TEST.parent.glob("doc/*.md"), *TEST.parent.glob("examples/*.md"), TEST.parent / "doc/cella.1", *TEST.parent.glob("doc/man/*")]:
        lines = enumerate(path.read_text().splitlines(), 1)
        long += [f"{path.name}:{n}" for n, line in lines if len(line) > 100 and not line.startswith("|")]
    assert not long, long


@test
def a_tree_without_files_fails():
    status, out = layers()
    assert status == 1 and "FAIL no file found" in out, out


@test
def every_mutant_changes_a_line_that_exists():
    """tools/mutate runs nightly.  A row that no longer fits its file must fail the change that moved the line."""
    sys.path.insert(0, str(TEST.parent / "tools"))
    import mutants  # pylint: disable=import-outside-toplevel

    texts = {m.file: path.read_text() if (path := TEST.parent / m.file).exists() else "" for m in mutants.MUTANTS}
    wrong = [f"{m.name}: {m.file} has {m.before!r} {n} times" for m in mutants.MUTANTS if (n := texts[m.file].count(m.before)) != 1]
    assert len(mutants.MUTANTS) >= 40 and not wrong, wrong


def main():
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    passed = failed = 0
    chosen = [t for t in tests if only in t.__name__]
    if not chosen:
        sys.exit("no test has such a name")
    for t in chosen:
        try:
            t()
            passed += 1
            print(f"ok {t.__name__}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"FAIL {t.__name__}: " + traceback.format_exc().replace("\n", "\n    "), flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
