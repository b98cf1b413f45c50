"""Contexts of Python: what code can do to the interpreter that it shares with its driver, and what the results report."""

import json
import time

from support import Skip, ensure, same, test
from test_contexts import PATIENT, Beside, context, ok, roomy, run, state, text

FIXTURES = {"c": context}


def forms(r, main=None):
    return {x["mime"]: x["data"] for x in r["results"] if main in (None, x["main"])}


def error(r):
    """Returns name and message of the exception of a run."""
    same((r["status"], r["exit_code"], r["signal"]), ("exited", 1, None), "outcome", r)
    ensure(r["error"], "no error", r)
    return r["error"]["name"], r["error"]["message"]


@test(settings=PATIENT)
def a_result_with_an_invalid_mime_type_is_left_out(d, c):
    r = ok(run(d, c, "display({'text/html; charset=utf-8': 'x', 'text/x\\t': 'x', 'text/html': 'h'}, raw=True)"))
    same(forms(r), {"text/html": "h", "text/plain": ""}, "displayed")
    r = ok(run(d, c, "class B:\n    def _repr_mimebundle_(self, **_): return {'text/hé': 'x', 'text/html;q=1': 'h'}\n"
                     "    def __repr__(self): return 'b'\nB()"))  # fmt: skip
    same(forms(r), {"text/html;q=1": "h", "text/plain": "b"}, "a value")


@test(settings=PATIENT)
def output_that_a_thread_displays_after_the_run_is_printed(d, c):
    ok(run(d, c, "import threading, time\nclass S:\n    def _repr_html_(s): time.sleep(.3); return 'h'\n"
                 "    def __repr__(s): return 'slow'\nthreading.Thread(target=lambda: display(S())).start()"))  # fmt: skip
    time.sleep(0.6)
    same(state(d, c), "idle", "after the run")
    r = ok(run(d, c, "t = threading.Thread(target=lambda: display(S()))\nt.start(); t.join()"))
    same(forms(r), {"text/html": "h", "text/plain": "slow"}, "in time")


@test(settings=PATIENT)
def threads_that_display_endlessly_do_not_block_runs(d, c):
    ok(run(d, c, "import threading\ngo = True\ndef work():\n    while go: display(1)\n"
                 "threads = [threading.Thread(target=work) for _ in range(2)]\nfor t in threads: t.start()"))  # fmt: skip
    for i in range(30):
        same(text(ok(run(d, c, f"{i} + 1"))), str(i + 1), "the value of a run")
    beside = Beside(d, c, "while True: pass")
    d.post(c + "/interrupt", b"")
    same(beside.end()["status"], "cancelled", "a run that was interrupted")
    ok(run(d, c, "go = False\nfor t in threads: t.join()"))


@test(settings=PATIENT)
def many_threads_show_no_more_than_there_is_room_for(d):
    code = (
        "import threading\n"
        "class H:\n    def _repr_html_(s): return 'h'\n    def _repr_markdown_(s): return 'm'\n"
        "def work():\n    for _ in range(5):\n        together.wait(9)\n        display(H())\n"
        "together = threading.Barrier(40)\n"
        "threads = [threading.Thread(target=work) for _ in range(40)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()\nH()"
    )
    c = context(d, d.sandbox(limits={"processes": 200}))
    for _ in range(3):
        r = ok(run(d, c, code))
        ensure(50 < len(r["results"]) <= 64, f"{len(r['results'])} results")
        same(set(forms(r, True)), {"text/html", "text/markdown", "text/plain"}, "of the value")
        same(r["stderr"].count("left out"), 1, "complaints", r)


@test(settings=PATIENT)
def children_forked_during_display_end_without_a_deadlock(d, c):
    """A forked child has no socket, and no thread that would release the locks of other threads."""
    code = (
        "import os, sys, threading\nsys.setswitchinterval(1e-5)\n"
        "class F:\n    def _repr_html_(self):\n        global pid\n        pid = os.fork()\n    def __repr__(self): return 'f'\n"
        "go = True\ndef work():\n    while go: display(1)\n"
        "threads = [threading.Thread(target=work) for _ in range(4)]\nfor t in threads: t.start()\n"
        "for _ in range(40):\n    display(F())\n    if not pid: os._exit(0)\n    os.waitpid(pid, 0)\n"
        "go = False\nfor t in threads: t.join()"
    )
    same(ok(run(d, c, code, timeout_ms=30000))["stdout"].count("f\n"), 40, "children that printed")


@test(settings=PATIENT)
def exceptions_that_cannot_be_formatted_are_reported(d, c):
    r = run(d, c, "import dataclasses, sys\n@dataclasses.dataclass(frozen=True)\nclass E(Exception):\n    x: int\nraise E(1)")
    same(error(r)[0], "E", "a frozen one")
    ensure("line 5" in r["error"]["traceback"] and r["error"]["traceback"] == r["stderr"], "traceback", r)
    attributes = "class A(Exception):\n    def __getattribute__(self, name): raise %s\nraise A('m')"
    for what in ("ValueError", "SystemExit", "KeyboardInterrupt"):
        same(error(run(d, c, attributes % what)), ("A", "m"), f"no attributes: {what}")
    same(error(run(d, c, "class F(Exception):\n    def __str__(self): sys.exit(3)\nraise F")), ("F", "<exception str() failed>"), "str")
    same(error(run(d, c, "class G(SyntaxError):\n    filename = []\nraise G('g')")), ("G", "g"), "a file that is none")
    same(error(run(d, c, "sys.excepthook = lambda *a: sys.exit(1)\nraise ValueError('m')")), ("ValueError", "m"), "a hook that exits")
    r = run(d, c, "class W:\n    def write(self, text): sys.exit(1)\n    def flush(self): pass\n"
                  "sys.excepthook, sys.stderr = sys.__excepthook__, W()\nraise ValueError('n')")  # fmt: skip
    same(error(r), ("ValueError", "n"), "a stream that exits")
    ok(run(d, c, "1"))


@test(settings=PATIENT)
def a_bad_figure_fails_its_own_run_only(d):
    c = context(d, roomy(d))
    if run(d, c, "import matplotlib.pyplot as plt")["error"]:
        raise Skip("no matplotlib for /usr/bin/python3")
    r = run(d, c, "for i in range(4):\n    plt.figure(); plt.title('' if i == 2 else '$\\\\frac$')")
    same(error(r)[0], "ValueError", "error")
    ensure("image/png" in forms(r), "the good one is shown", r)
    same(text(ok(run(d, c, "plt.get_fignums()"))), "[]", "figures in the next run")


@test(settings=PATIENT)
def a_handler_that_raises_between_runs(d, c):
    """As if the socket were gone."""
    for what in ("os.close(999)", "(_ for _ in ()).throw(BrokenPipeError(32, 'x'))"):
        ok(run(d, c, f"import os, signal\nsignal.signal(signal.SIGALRM, lambda *a: {what})\nsignal.setitimer(signal.ITIMER_REAL, .1)"))
        time.sleep(0.3)
        same((state(d, c), text(run(d, c, "7"))), ("idle", "7"), what)


@test(settings=PATIENT)
def json_is_json(d, c):
    ok(run(d, c, "class J:\n    def __init__(self, x): self.x = x\n    def _repr_json_(self): return self.x"))
    for value in ("{'a': float('nan')}", "[float('inf')]", "'not json'", "'{\"a\": NaN}'", "'[' * 100000", "''"):
        same(set(forms(ok(run(d, c, f"J({value})")))), {"text/plain"}, value)
    for value, expected in (("{'a': [1.5, None]}", {"a": [1.5, None]}), ("'[1]'", [1]), ("0", 0)):
        same(json.loads(forms(ok(run(d, c, f"J({value})")))["application/json"]), expected, value)


@test(settings=PATIENT)
def an_interrupt_raised_by_the_code_is_an_error(d, s, c):
    r = run(d, c, "raise KeyboardInterrupt('mine')")
    same(error(r), ("KeyboardInterrupt", "mine"), "error")
    ensure("line 1" in r["error"]["traceback"], "traceback", r)
    same(error(run(d, c, "import os, signal; os.kill(os.getpid(), signal.SIGINT)"))[0], "KeyboardInterrupt", "a signal of its own")
    r = run(d, c, "while True: pass", timeout_ms=200)
    same((r["status"], r["error"]), ("timeout", None), "a timeout")
    beside = Beside(d, c, "while True: pass")
    d.post(c + "/interrupt", b"")
    r = beside.end()
    same((r["status"], r["exit_code"], r["error"]), ("cancelled", 130, None), "an interrupt")
    r = run(d, context(d, s, "bash"), "kill -INT $$; sleep 5")
    same((r["status"], r["exit_code"], r["error"]), ("exited", 130, None), "bash")
