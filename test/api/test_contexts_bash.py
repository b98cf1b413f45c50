"""Contexts of bash: code can change the shell in many ways; after each, the next run must work."""

import threading
import time

from support import same, test
from test_contexts import PATIENT, context, ok, run, state

FIXTURES = {"c": lambda d, s: context(d, s, "bash")}


def outcome(r):
    return r["status"], r["exit_code"], r["stdout"], r["stderr"]


@test(settings=PATIENT)
def readonly_names_are_the_codes_own(d, s, c):
    names = "state status json header length message code prefix before flags REPLY TMOUT IFS LC_ALL LANG"
    ok(run(d, c, f"for n in {names}; do readonly $n=4; done; unset n"))
    for code, expected in (
        ("echo é \"$status\"; exit 3", ("exited", 3, "é 4\n", "")),
        ("echo ü; false", ("exited", 1, "ü\n", "")),
        ("x=" + "aé€😀" * 1000 + "; echo ${x: -1}", ("exited", 0, "😀\n", "")),
    ):
        same(outcome(run(d, c, code)), expected, code)
    c = context(d, s, "bash")
    for code, name in (("readonly LC_ALL=C.UTF-8", None), ("if then é", "SyntaxError"), ("x=" + "aé€😀" * 1000 + "; echo ${#x}", None)):
        r = run(d, c, code)
        same(r["error"] and r["error"]["name"], name, code, r)
    same(r["stdout"], "4000\n", "characters")


@test(settings=PATIENT)
def no_time_limit_ends_an_idle_shell(d, c):
    ok(run(d, c, "readonly TMOUT=1"))
    time.sleep(1.3)
    same(outcome(run(d, c, "echo here; exit 2")), ("exited", 2, "here\n", ""), "after an idle time")
    time.sleep(1.3)
    same(outcome(run(d, c, "echo here")), ("exited", 0, "here\n", ""), "after another one, of two shells")


@test(settings=PATIENT)
def an_interrupt_during_exit_keeps_the_state(d, c):
    run(d, c, "x=1; exit 1")
    for i in range(60):
        results = []
        beside = threading.Thread(target=lambda: results.append(run(d, c, "sleep 0.01; exit 3")))
        beside.start()
        time.sleep(0.010 + i % 20 * 0.0005)
        d.post(c + "/interrupt", b"")
        beside.join(60)
        same(results and (results[0]["status"], results[0]["exit_code"]) in (("exited", 3), ("cancelled", 130)), True, f"run {i}", results)
    same(run(d, c, "echo $x")["stdout"], "1\n", "what it kept")


@test(settings=PATIENT)
def functions_and_aliases_are_the_codes_own(d, s):
    names = ("read", "eval", "exec", "exit", "trap", "set", "printf", "mapfile", "return", "break", "times", "kill", ":")
    for make in ("{0}() {{ echo mine; }}", "alias {0}='echo mine'"):
        c = context(d, s, "bash")
        ok(run(d, c, "\n".join(make.format(n) for n in names)))
        for n in (3, 4):
            same(outcome(run(d, c, f"times; builtin exit {n}")), ("exited", n, "mine\n", ""), make)
        same(outcome(run(d, c, "exit")), ("exited", 0, "mine\n", ""), make)


@test(settings=PATIENT)
def a_bash_context_ends_with_the_status_of_its_last_shell(d, c):
    for code, expected in (
        ("kill -9 $BASHPID", ("signaled", 137, "", "")),
        ("exec sh -c 'echo other; exit 7'", ("exited", 7, "other\n", "")),
        ("(while :; do sleep 1; done) & kill -9 $BASHPID", ("signaled", 137, "", "")),
        ("trap 'echo mine' EXIT; exit 5", ("exited", 5, "mine\n", "")),
        ("kill $BASHPID; sleep 1", ("exited", 143, "", "")),
    ):
        for n in (1, 2, 3):
            same(run(d, c, f"exit {n}")["exit_code"], n, "exit")
        same(outcome(run(d, c, code)), expected, code)
        same(state(d, c), "dead", code)
        d.post(c + "/restart", b"")


@test(settings=PATIENT)
def a_signal_is_no_success(d, c):
    ok(run(d, c, "x=1"))
    for n in (1, 10, 12, 14, 13, 11, 6, 24, 25, 26):
        same(outcome(run(d, c, f"kill -{n} $BASHPID; sleep 1; echo no")), ("exited", 128 + n, "", ""), f"signal {n}")
    same(run(d, c, "trap 'echo got it' USR1; kill -USR1 $BASHPID; echo $x")["stdout"], "got it\n1\n", "a trap of the code's")


@test(settings=PATIENT)
def few_descriptors_are_enough(d, c):
    ok(run(d, c, "ulimit -n 100"))
    same(run(d, c, "exit 3")["exit_code"], 3, "exit")
    same(outcome(run(d, c, "ulimit -n")), ("exited", 0, "100\n", ""), "the next run")
