"""Contexts: interpreters whose variables persist between runs. Their results, how they end, and attacks on the daemon."""

import base64
import contextlib
import json
import re
import threading
import time

import support
from daemon import not_sanitized
from support import ensure, is_root, same, test, until


# An interpreter that is interrupted is killed after the grace time: on a slow machine it needs more than the default.
PATIENT = {"limits": {"grace_ms": 20000}}


def context(d, s, runtime="python3"):
    """Creates a context and returns its path."""
    return f"/v1/sandboxes/{s}/contexts/{d.post(f'/v1/sandboxes/{s}/contexts', {'runtime': runtime}, 201)['id']}"


FIXTURES = {"c": context}


def run(d, c, code, **fields):
    return d.post(c + "/run", {"code": code, **fields})


def text(r):
    """The value of a run as text, or None."""
    return next((x["data"] for x in r["results"] if x["mime"] == "text/plain" and x["main"]), None)


def ok(r):
    same((r["status"], r["exit_code"], r["error"]), ("exited", 0, None), "outcome", r)
    return r


def roomy(d):
    """Creates a sandbox with higher limits, if this user can set limits."""
    return d.sandbox(limits={"memory_bytes": 1 << 30}) if is_root() else d.sandbox()


def state(d, c):
    return d.get(c)["state"]


class Beside:
    """Starts a run in another thread."""

    def __init__(self, d, c, code, **fields):
        self.result = None

        def work():
            self.result = run(d, c, code, **fields)

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()
        until(lambda: state(d, c) == "running", 20, "a run that has begun")

    def end(self, seconds=40):
        self.thread.join(seconds)
        if self.thread.is_alive():
            support.late(f"the run goes on after {seconds} s")
        ensure(self.result is not None, "the run has no result")
        return self.result


@test(settings=PATIENT)
def a_context_from_start_to_end(d, s):
    made = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)
    same(set(made), {"id", "sandbox", "runtime", "state", "reason", "pid", "execution", "runs", "created"}, "fields")
    ensure(re.fullmatch(r"ctx_[a-z2-7]{20}", made["id"]), f"id is {made['id']}")
    same((made["sandbox"], made["runtime"], made["state"], made["reason"], made["execution"], made["runs"]),
         (s, "python3", "idle", None, None, 0), "context")  # fmt: skip
    c = f"/v1/sandboxes/{s}/contexts/{made['id']}"
    same(d.get(c), made, "the same again")
    r = run(d, c, "x = 20\nprint('hello')\nx + 1")
    ok(r)
    same((r["stdout"], r["stderr"], r["context"], r["sandbox"], r["runtime"]), ("hello\n", "", made["id"], s, "python3"), "result")
    same(r["results"], [{"mime": "text/plain", "data": "21", "main": True, "value": 0}], "results")
    ensure(re.fullmatch(r"exe_[a-z2-7]{20}", r["id"]), f"id is {r['id']}")
    ensure(r["duration_ms"] > 0 and r["isolation"]["layers"], "how long, and behind what")
    if is_root():
        ensure(r["usage"]["cpu_ms"] > 0, "cpu time")
    same(text(run(d, c, "x")), "20", "x in the next run")
    same(d.get(f"/v1/sandboxes/{s}/contexts")["contexts"], [d.get(c)], "the list")
    same((state(d, c), d.get(c)["runs"]), ("idle", 2), "after two runs")
    row = d.get(f"/v1/executions/{r['id']}")
    same((row["status"], row["sandbox"], row["runtime"], row["stdout"]), ("exited", s, "python3", "hello\n"), "the log")
    same(d.get(f"/v1/sandboxes/{s}")["executions"], 2, "executions of the sandbox")
    d.delete(c)
    d.refused("not_found", "GET", c, None, made["id"])
    same(d.get(f"/v1/sandboxes/{s}/contexts")["contexts"], [], "the list")
    ensure('cella_executions_total{status="exited"} 2' in d.request("GET", "/metrics").text, "the metrics")


@test(users=["root"], settings=PATIENT)
def the_usage_of_a_short_run_is_counted(d, s):
    """The kernel charges a process that runs at ticks and when it sleeps: the answer comes before either."""
    for runtime, code in (("python3", "print(1)"), ("node", "console.log(1)"), ("bash", "echo 1")):
        c = context(d, s, runtime)
        used = [ok(run(d, c, code))["usage"]["cpu_ms"] for _ in range(40)]
        same([x for x in used if x <= 0], [], f"runs of {runtime} that used nothing", used)


@test(settings=PATIENT)
def python_state_persists_between_runs(d, s):
    c = context(d, s, "python")
    ok(run(d, c, "import json, os\ndef f(n):\n    return n * k\nk = 3\nclass A: pass\na = A(); a.x = [1]"))
    ok(run(d, c, "os.mkdir('sub'); os.chdir('sub'); os.environ['COLOUR'] = 'red'; a.x.append(2)"))
    r = run(d, c, "json.dumps([f(2), a.x, os.getcwd(), os.environ['COLOUR']])")
    same(text(r), "'" + json.dumps([6, [1, 2], "/workspace/sub", "red"]) + "'", "value")
    same(run(d, c, "import subprocess; print(subprocess.run(['sh', '-c', 'echo $COLOUR; pwd'], capture_output=True, text=True).stdout)")
         ["stdout"], "red\n/workspace/sub\n\n", "a child")  # fmt: skip
    same(run(d, c, "_ = 5")["results"], [], "no value, no result")
    same(d.exec("sh", "ls", sandbox=s)["stdout"], "sub\n", "the same sandbox")


@test(settings=PATIENT)
def node_state_persists_between_runs(d):
    c = context(d, d.sandbox(), "node")
    ok(run(d, c, "const fs = require('fs'); let n = 3; function f(x) { return x * n }; class A { y = 1 }; var o = new A()"))
    ok(run(d, c, "fs.mkdirSync('sub'); process.chdir('sub'); process.env.COLOUR = 'red'; o.y++; n = 4"))
    r = ok(run(d, c, "console.log(process.cwd(), process.env.COLOUR); [f(2), o.y]"))
    same((r["stdout"], text(r)), ("/workspace/sub red\n", "[ 8, 2 ]"), "result")
    same(json.loads(next(x["data"] for x in r["results"] if x["mime"] == "application/json")), [8, 2], "as JSON")
    same(text(run(d, c, "await new Promise(r => setTimeout(() => r(7), 10))")), "7", "await")
    r = run(d, c, "null.x")
    same((r["status"], r["exit_code"], r["error"]["name"]), ("exited", 1, "TypeError"), "an error")
    same(run(d, c, "process.exit(4)")["exit_code"], 4, "exit")
    same(text(run(d, c, "n")), "4", "n after it")


@test(settings=PATIENT)
def bash_state_persists_between_runs(d):
    c = context(d, d.sandbox(), "bash")
    ok(run(d, c, "x=1; arr=(a b c); f() { echo f$1; }; export COLOUR=red; mkdir sub; cd sub; shopt -s nullglob"))
    r = run(d, c, "echo $x ${arr[1]} $(f 2); pwd; sh -c 'echo $COLOUR'; false")
    same((r["stdout"], r["status"], r["exit_code"], r["error"]), ("1 b f2\n/workspace/sub\nred\n", "exited", 1, None), "result")
    same(run(d, c, "exit 3")["exit_code"], 3, "exit")
    same(run(d, c, "echo $x >&2")["stderr"], "1\n", "x after it")
    r = run(d, c, "if then")
    same((r["status"], r["exit_code"], r["error"]["name"]), ("exited", 1, "SyntaxError"), "a syntax error")


@test(settings=PATIENT)
def errors_are_data(d, c):
    r = run(d, c, "print('before')\ndef f():\n    raise ValueError('nö\\0\\n')\nf()")
    same((r["status"], r["exit_code"], r["signal"], r["stdout"]), ("exited", 1, None, "before\n"), "outcome")
    same((r["error"]["name"], r["error"]["message"]), ("ValueError", "nö\0\n"), "error")
    ensure("line 3, in f" in r["error"]["traceback"] and r["error"]["traceback"].startswith("Traceback"), "traceback", r)
    r = run(d, c, "1 +")
    same((r["exit_code"], r["error"]["name"]), (1, "SyntaxError"), "a syntax error")
    r = run(d, c, "import sys; sys.exit(7)")
    same((r["status"], r["exit_code"], r["error"]), ("exited", 7, None), "exit")
    r = run(d, c, "raise Exception('x' * 10_000_000)")
    same((r["exit_code"], len(r["error"]["message"]) < 100_000), (1, True), "a long message")
    ok(run(d, c, "f"))
    same(state(d, c), "idle", "after all that")


@test(settings=PATIENT)
def several_contexts_have_each_their_own_state(d, s):
    all_of_them = [context(d, s, r) for r in ("python3", "python3", "node", "bash")]
    for i, c in enumerate(all_of_them):
        ok(run(d, c, f"x={i}"))
    slow = Beside(d, all_of_them[0], "import time\nwhile x == 0: time.sleep(0.01)", timeout_ms=20000)
    same([text(run(d, c, "x")) for c in all_of_them[1:3]], ["1", "2"], "beside one that runs")
    same(run(d, all_of_them[3], "echo $x")["stdout"], "3\n", "bash")
    d.delete(all_of_them[1])
    same(len(d.get(f"/v1/sandboxes/{s}/contexts")["contexts"]), 3, "how many")
    d.post(all_of_them[0] + "/interrupt", b"")
    same(slow.end()["status"], "cancelled", "the slow one")
    same(text(run(d, all_of_them[0], "x")), "0", "its x")


@test(settings=PATIENT)
def a_sandbox_has_at_most_sixteen_contexts(d):
    s = d.sandbox(limits={"processes": 200})
    contexts = [context(d, s, "bash") for _ in range(16)]
    d.refused("over_capacity", "POST", f"/v1/sandboxes/{s}/contexts", {"runtime": "bash"}, "16")
    d.delete(contexts[3])
    ok(run(d, context(d, s, "bash"), "true"))


@test(settings=PATIENT)
def bad_context_requests_are_refused(d, s):
    base = f"/v1/sandboxes/{s}/contexts"
    d.refused("invalid_request", "POST", base, {}, "runtime")
    for runtime in ("ruby", "sh", "", "python3/x", "../python3"):
        d.refused("invalid_request", "POST", base, {"runtime": runtime}, "runtime")
    d.refused("invalid_request", "POST", base, {"runtime": "python3", "colour": 1}, "colour")
    d.refused("runtime_not_found", "POST", base, {"runtime": "python3.99"}, "python3.99")
    same(d.get(base)["contexts"], [], "one that did not start has never been")
    d.refused("not_found", "POST", "/v1/sandboxes/sbx_nope/contexts", {"runtime": "python3"})
    for method, rest in (("GET", ""), ("DELETE", ""), ("POST", "/interrupt"), ("POST", "/restart")):
        d.refused("not_found", method, f"{base}/ctx_nope{rest}", b"" if method == "POST" else None, "ctx_nope")
    d.refused("not_found", "POST", f"{base}/ctx_nope/run", {"code": "1"}, "ctx_nope")
    c = context(d, s)
    for body, name in (({}, "code"), ({"code": 1}, "code"), ({"code": "a\0b"}, "code"), ({"code": "1", "x": 1}, "x"),
                       ({"code": "1", "runtime": "node"}, "runtime"), ({"code": "1", "timeout_ms": 0}, "timeout_ms"),
                       ({"code": "1", "limits": {"memory_bytes": 1 << 30}}, "memory_bytes"),
                       ({"code": "1", "limits": {"output_bytes": 1 << 40}}, "output_bytes"),
                       ({"code": "1", "encoding": "latin1"}, "encoding")):  # fmt: skip
        d.refused("invalid_request", "POST", c + "/run", body, name)
    same((d.get(c)["runs"], d.get(f"/v1/sandboxes/{s}")["executions"]), (0, 0), "nothing was run")
    other = d.sandbox()
    d.refused("not_found", "GET", c.replace(s, other), None, "ctx_")
    paths = d.get("/openapi.json")["paths"]
    ensure("post" in paths["/v1/sandboxes/{id}/contexts/{context}/run"], "the description")


@test
def contexts_take_the_names_of_other_systems(d, s):
    base = f"/v1/sandboxes/{s}/contexts"
    made = d.post(base, {"language": "python"}, 201)
    same((made["runtime"], d.post(base, {"language": "javascript"}, 201)["runtime"]), ("python3", "node"), "the runtimes")
    c = f"{base}/{made['id']}"
    same(run(d, c, "import time; time.sleep(60)", timeout_seconds=1.5)["hint"], "timeout: 1500 ms reached; limits.timeout_ms, --timeout", "the timeout")
    for body, part in (({}, "runtime is required"), ({"language": 7}, "language"), ({"language": "cobol"}, "language must be"), ({"runtime": "cobol"}, "runtime must be"),
                       ({"language": "python", "runtime": "node"}, "language cannot be combined with runtime")):  # fmt: skip
        d.refused("invalid_request", "POST", base, body, part)
    for fields in ({"timeout_seconds": 0}, {"timeout_seconds": "1"}, {"timeout_seconds": 1, "timeout_ms": 1000}, {"timeout_seconds": 1, "limits": {"timeout_ms": 1000}}):
        d.refused("invalid_request", "POST", f"{c}/run", {"code": "1", **fields}, "timeout_seconds")


@test(settings=PATIENT)
def a_context_is_visible_only_to_its_key(d):
    a = d.new_key("a", capabilities=["sandbox.exec", "sandbox.manage"])
    b = d.new_key("b", capabilities=["sandbox.exec", "sandbox.manage"])
    looks = d.new_key("c", capabilities=["audit"])
    d.key = a["key"]
    s = d.sandbox()
    c = context(d, s)
    beside = Beside(d, c, "while True: pass")
    running = d.get(c)["execution"]
    d.key = b["key"]
    d.refused("not_found", "GET", c, None, "sandbox")
    d.refused("not_found", "DELETE", f"/v1/executions/{running}", None, "execution")
    d.key = looks["key"]
    d.refused("access_denied", "POST", c + "/run", {"code": "1"}, "sandbox.exec")
    same(d.get(f"/v1/executions/{running}")["status"], "running", "to somebody with audit")
    d.key = a["key"]
    d.delete(f"/v1/executions/{running}", 202)
    same(beside.end()["status"], "cancelled", "by its own key")


@test(settings=PATIENT)
def a_context_keeps_its_state_after_an_interrupt(d, s):
    loops = {
        "python3": ("while True: pass", "x"),
        "node": ("while (true) {}", "x"),
        "bash": ("while :; do :; done", "echo $x"),
    }
    for runtime, (loop, after) in loops.items():
        c = context(d, s, runtime)
        ok(run(d, c, "x=1"))
        for _ in range(3):
            began = time.monotonic()
            beside = Beside(d, c, loop)
            same(d.post(c + "/interrupt", b"")["state"], "running", "in the answer")
            r = beside.end()
            same((r["status"], r["exit_code"], r["signal"], r["error"]), ("cancelled", 130, 2, None), runtime)
            support.within(time.monotonic() - began, 20, "the interrupt")
        r = ok(run(d, c, after))
        same(text(r) or r["stdout"].strip(), "1", f"{runtime} after it")
        same(d.post(c + "/interrupt", b"")["state"], "idle", "when nothing runs")
        ok(run(d, c, after))
    c = context(d, s, "bash")
    beside = Beside(d, c, "sleep 100; echo not reached")
    d.post(c + "/interrupt", b"")
    same(beside.end()["status"], "cancelled", "what waits for a child")
    c = context(d, s)
    code = "import time\ntry:\n    print('on', flush=True)\n    time.sleep(100)\nexcept KeyboardInterrupt:\n    print('caught')\n'went on'"
    with d.events("POST", c + "/run", {"code": code}) as e:
        e.read_until("on\n")
        d.post(c + "/interrupt", b"")
        out, r = e.text()
    same((out, text(ok(r))), ("caught\n", "'went on'"), "code that handles it")


@test(settings=PATIENT)
def no_interrupt_reaches_the_next_run(d, c):
    """An interrupt near the end of a run affects this run or none."""
    for i in range(60):
        beside = threading.Thread(target=run, args=(d, c, "1"))
        beside.start()
        d.post(c + "/interrupt", b"")
        beside.join(60)
        ok(run(d, c, f"{i}\nfor _ in range(20000): pass"))


@test(settings=PATIENT)
def a_timeout_interrupts_first(d, c):
    r = run(d, c, "x = 5\nprint('a', flush=True)\nwhile True: pass", timeout_ms=3000)
    same((r["status"], r["timed_out"], r["stdout"]), ("timeout", True, "a\n"), "outcome")
    ensure(r["duration_ms"] > 2990, f"it took {r['duration_ms']} ms")
    support.within(r["duration_ms"] / 1000, 20, "its end", r)
    same((state(d, c), text(run(d, c, "x"))), ("idle", "5"), "the context")
    stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('b', flush=True)\nwhile True: pass"
    began = time.monotonic()
    r = run(d, c, stubborn, limits={"timeout_ms": 3000, "grace_ms": 300})
    same((r["status"], r["signal"], r["stdout"]), ("timeout", 9, "b\n"), "one that does not stop")
    support.within(time.monotonic() - began, 20, "its end")
    same(r["error"]["name"], "ContextEnded", "the error says that the context is gone")
    same(state(d, c), "dead", "the context")
    d.refused("invalid_request", "POST", c + "/run", {"code": "1"}, "restarted")
    d.post(c + "/restart", b"")
    r = run(d, c, "x")
    same(r["error"]["name"], "NameError", "x after a restart")
    r = run(d, c, "while True: pass", timeout_ms=1)  # and as long again
    same(r["status"], "timeout", "a timeout of next to nothing")
    support.within(r["duration_ms"] / 1000, 10, "its end", r)


@test(settings=PATIENT)
def a_run_that_kills_its_interpreter_ends_the_context_with_a_reason(d, c):
    for code, status, exit_code, signal in (
        ("import os; print('last words', flush=True); os.kill(os.getpid(), 9)", "signaled", 137, 9),
        ("import os; print('last words', flush=True); os._exit(3)", "exited", 3, None),
        ("import os; print('last words', flush=True); os.kill(os.getpid(), 11)", "signaled", 139, 11),
        ("import os; print('last words', flush=True); os.kill(os.getppid(), 9); import time; time.sleep(9)", "signaled", 137, 9),
    ):
        r = run(d, c, code)
        same((r["status"], r["exit_code"], r["signal"], r["stdout"]), (status, exit_code, signal, "last words\n"), code)
        why = f"killed by signal {signal}" if signal else f"exited with code {exit_code}"
        same((d.get(c)["state"], d.get(c)["reason"], d.get(c)["pid"]), ("dead", why, None), "the context")
        a = d.refused("invalid_request", "POST", c + "/run", {"code": "1"}, f"has ended ({why}): it must be restarted")
        ensure("/restart" in a.json()["error"]["hint"], "the hint", a)
        same(d.post(c + "/restart", b"")["state"], "idle", "restarted")
        same(text(run(d, c, "40 + 2")), "42", "after it")
    for runtime, code in (("node", "process.kill(process.pid, 'SIGKILL'); while (1);"), ("bash", "kill -9 $$; sleep 9")):
        c = context(d, d.sandbox(), runtime)
        same(run(d, c, code)["status"], "signaled", runtime)
        same(state(d, c), "dead", runtime)


@test(users=("root",), settings=PATIENT)
def a_run_out_of_memory_ends_only_its_own_context(d):
    s = d.sandbox(limits={"memory_bytes": 96 << 20})
    c, other = context(d, s), context(d, s, "bash")
    ok(run(d, other, "x=1"))
    r = run(d, c, "print('a', flush=True)\nx = bytearray(300 << 20)")
    same((r["status"], r["stdout"]), ("memory_limit", "a\n"), "outcome")
    same(state(d, c), "dead", "the context")
    same(run(d, other, "echo $x")["stdout"], "1\n", "the other one")
    d.post(c + "/restart", b"")
    ok(run(d, c, "1"))
    r = run(d, c, "import subprocess\nsubprocess.run(['python3', '-c', 'x = bytearray(300 << 20)'], check=True)")
    same((r["status"], r["error"]["name"], state(d, c)), ("memory_limit", "CalledProcessError", "idle"), "in a child")


@test
def a_run_that_fails_on_a_full_disk_says_so_and_its_context_stays(d):
    s = d.sandbox(limits={"disk_bytes": 1 << 20}, persistent=False)
    full = ("disk_limit", 1, "disk: 1 MiB reached; limits.disk_bytes, --disk")
    codes = {"python3": ("open('f', 'wb').write(b'x' * (3 << 20))", "import os; os.remove('f')", "1 / 0"),
             "bash": ("head -c 3000000 /dev/zero >f", "rm f", "(exit 1)")}  # fmt: skip
    for runtime, (fills, clears, fails) in codes.items():
        c = context(d, s, runtime)
        r = run(d, c, fills)
        same((r["status"], r["exit_code"], r["hint"]), full, runtime, r)
        same(r["error"] and r["error"]["name"], "OSError" if runtime == "python3" else None, "the exception", r)
        same(state(d, c), "idle", "the context")
        ok(run(d, c, clears))
        r = run(d, c, fails)
        same((r["status"], r["exit_code"], r["hint"]), ("exited", 1, None), f"{runtime}, with room", r)
    d.ok("PATCH", "/v1/settings", {"limits": {"disk_bytes": 1 << 20}}, unix=True)
    r = d.ok("POST", "/v1/tools/execute_python", {"code": codes["python3"][0]})
    same((r["status"], r["hint"]), ("disk_limit", "disk: 1 MiB reached; the setting limits.disk_bytes"), "execute_python", r)


@test(settings=PATIENT)
def a_context_that_dies_between_runs_reports_the_reason(d, c):
    ok(run(d, c, "import os, threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), os._exit(5))).start()"))
    until(lambda: state(d, c) == "dead", 20, "its death")
    same(d.get(c)["reason"], "exited with code 5", "the reason")
    d.refused("invalid_request", "POST", c + "/run", {"code": "1"}, "exited with code 5")
    d.post(c + "/restart", b"")
    ok(run(d, c, "1"))


@test(settings=PATIENT)
def a_restarted_context_keeps_its_id_and_loses_its_state(d, s, c):
    ok(run(d, c, "import subprocess; x = 1; p = subprocess.Popen(['sleep', '1234'])"))
    beside = Beside(d, c, "while True: pass")
    made = d.post(c + "/restart", b"")
    same((made["id"], made["state"]), (c.rpartition("/")[2], "idle"), "the answer")
    r = beside.end()
    same((r["status"], r["signal"]), ("cancelled", 9), "what ran")
    same(run(d, c, "x")["error"]["name"], "NameError", "x")
    same(d.exec("sh", "cat /proc/[0-9]*/comm | grep -c sleep", sandbox=s)["stdout"], "0\n", "its children")
    same(d.get(c)["runs"], 3, "runs")


@test(settings=PATIENT)
def a_context_refuses_a_second_run_meanwhile(d, c):
    ok(run(d, c, "import time\nstop = False"))
    beside = Beside(d, c, "while not stop: time.sleep(0.01)")
    running = d.get(c)["execution"]
    a = d.refused("invalid_request", "POST", c + "/run", {"code": "stop = True"}, f"is running {running}")
    ensure("/interrupt" in a.json()["error"]["hint"], "the hint", a)
    same(d.get(f"/v1/executions/{running}")["context"], c.rpartition("/")[2], "while it runs")
    same([x["id"] for x in d.get("/v1/executions?status=running")["executions"]], [running], "what runs")
    same(d.delete(f"/v1/executions/{running}", 202), {"id": running, "status": "cancelled"}, "cancelled")
    same(beside.end()["status"], "cancelled", "outcome")
    same((state(d, c), text(ok(run(d, c, "stop")))), ("idle", "False"), "the context")
    same(d.get(f"/v1/executions/{running}")["status"], "cancelled", "in the log")


@test(settings=PATIENT)
def runs_of_parallel_clients_are_not_mixed_up(d, s):
    contexts = [context(d, s) for _ in range(4)]
    failures = []

    def work(i):
        try:
            for n in range(25):
                same(text(run(d, contexts[i], f"x = ({i}, {n})\nprint('o' * 5000)\nx")), f"({i}, {n})", "value")
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    same(failures, [], "failures")
    # Two clients of one context: each run is complete or refused.
    statuses = []

    def press(i):
        for _ in range(25):
            statuses.append(d.request("POST", contexts[0] + "/run", {"code": "import time; time.sleep(0.002)"}).status)

    threads = [threading.Thread(target=press, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    same(set(statuses) <= {200, 400} and 200 in statuses, True, f"statuses {statuses}")
    ok(run(d, contexts[0], "1"))


@test(settings=PATIENT)
def output_is_kept_apart(d, s, c):
    ok(run(d, c, "import os, sys, threading, time\ndef work():\n    while not os.path.exists('/workspace/go'): time.sleep(0.01)\n"
              "    for _ in range(200): print('noise' * 1000, flush=True)\n    open('/workspace/printed', 'w').close()\n"
              "t = threading.Thread(target=work); t.start()"))  # fmt: skip
    d.put(s, "go", "")
    until(lambda: d.request("GET", d.file(s, "printed")).status == 200, 20, "the noise between two runs")
    r = ok(run(d, c, "t.join(); print('signal')"))
    same(r["stdout"], "signal\n", "what was printed between the runs is not there")
    r = ok(run(d, c, "sys.stdout.write('a' * 100000); sys.stderr.write('b' * 100000); None"))
    same((r["stdout"], r["stderr"]), ("a" * 100000, "b" * 100000), "both streams, whole")
    r = ok(run(d, c, "import os; os.write(1, bytes(range(256)))", encoding="base64"))
    same(base64.b64decode(r["stdout"]), bytes(range(256)), "bytes")


@test(settings=PATIENT)
def the_output_of_a_run_is_limited(d, c):
    r = ok(run(d, c, "print('head'); print('x' * 30_000_000); print('tail')", limits={"output_bytes": 10000}))
    same((r["stdout_truncated"], r["stdout_bytes"], r["stderr_truncated"]), (True, 30_000_011, False), "how much")
    ensure(r["stdout"].startswith("head\n") and r["stdout"].endswith("tail\n") and len(r["stdout"]) < 11000, "what is kept")
    r = run(d, c, "while True: print('y' * 1000)", limits={"output_bytes": 10000}, on_output_limit="kill")
    same((r["status"], state(d, c)), ("output_limit", "idle"), "where it ends the run")
    same(ok(run(d, c, "print(1)"))["stdout"], "1\n", "the next run")


@test(settings=PATIENT)
def a_run_can_be_streamed_as_events(d, s, c):
    wait = "while not os.path.exists('/workspace/{}'): time.sleep(0.01)\n"
    code = "import os, sys, time\nprint('one')\ndisplay(5)\n" + wait.format("a") + "print('two', file=sys.stderr)\n" + wait.format("b") + "print('three')\n6"
    with d.events("POST", c + "/run", {"code": code}) as e:
        events = []
        for event in e:
            events.append(event)
            names = [name for name, _ in events]
            if names[-1] in ("result", "stderr") and names.count(names[-1]) == 1:
                d.put(s, "a" if names[-1] == "result" else "b", "")
    same([name for name, _ in events], ["start", "stdout", "result", "stderr", "stdout", "result", "exit"], "events")
    start, end = events[0][1], events[-1][1]
    same((start["sandbox"], start["context"], start["id"]), (s, c.rpartition("/")[2], end["id"]), "start")
    same([x["text"] for n, x in events if n == "stdout"], ["one\n", "three\n"], "text")
    results = [x for n, x in events if n == "result"]
    same([(x["mime"], x["data"], x["main"]) for x in results], [("text/plain", "5", False), ("text/plain", "6", True)], "results")
    ensure("stdout" not in end and end["stdout_bytes"] == 10 and end["status"] == "exited", f"exit {end}")
    same(end["results"], results, "the results at the end")
    # A client that leaves interrupts the run.
    with d.events("POST", c + "/run", {"code": "x = 1\nprint('going')\nwhile True: pass"}) as e:
        e.read_until("going\n")
    until(lambda: state(d, c) == "idle", 20, "the end of the abandoned run")
    same(text(run(d, c, "x")), "1", "x")
    same([x["status"] for x in d.rows()].count("cancelled"), 1, "in the log")
    # Unless the run is detached.
    code = "import os, time\nprint('going')\nwhile not os.path.exists('/workspace/go'): time.sleep(0.01)\nx = 2"
    with d.events("POST", c + "/run", {"code": code, "detach": True}) as e:
        e.read_until("going\n")
    same(state(d, c), "running", "detached")
    d.put(s, "go", "")
    until(lambda: state(d, c) == "idle", 20, "its end")
    a = d.post(c + "/run", {"code": "x += 1; print('quiet')", "detach": True}, 202)
    same(a["status"], "running", "detached")
    until(lambda: d.get(f"/v1/executions/{a['id']}")["status"] == "exited", 20, "its end")
    same((d.get(f"/v1/executions/{a['id']}")["stdout"], text(run(d, c, "x"))), ("quiet\n", "3"), "what it did")
    with d.events("POST", c + "/run", {"code": "for i in range(3000): print('z' * 1000)"}) as e:
        time.sleep(0.5)
        out, end = e.text()
    same((len(out), end["status"]), (3_003_000, "exited"), "a slow reader")
    with d.events("POST", c + "/run", {"code": "1/0"}) as e:
        same(e.wait("exit")["error"]["name"], "ZeroDivisionError", "an error")


# The code can reach the socket of its driver.
SOCKET = (
    "import os, stat, socket\n"
    "def control():\n"
    "    for fd in sorted(map(int, os.listdir('/proc/self/fd')), reverse=True):\n"
    "        try:\n"
    "            if fd > 2 and stat.S_ISSOCK(os.fstat(fd).st_mode): return fd\n"
    "        except OSError: pass\n"
    "s = socket.socket(fileno=os.dup(control()))\n"
)


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", support.read(f"/proc/{pid}/status"))[1]) * 1024


@test(timeout=120, settings=PATIENT)
def hostile_traffic_ends_only_its_context(d, s):
    c, other = context(d, s), context(d, s)
    ok(run(d, other, "x = 1"))
    good = """'{"mime":"text/plain","data":"x","main":false,"value":0}'"""
    hostile = {
        "garbage": "s.sendall(os.urandom(1 << 20))",
        "a long first line": "s.sendall(b'x' * 1000)",
        "an unknown word": "s.sendall(b'exec 3\\nabc')",
        "a huge frame": "s.sendall(b'result 999999999999999999999\\n' + b'x' * 100000)",
        "one byte too many": "s.sendall(b'result 8388609\\n')",
        "a negative length": "s.sendall(b'result -1\\n')",
        "no length": "s.sendall(b'result \\n')",
        "two lengths": "s.sendall(b'result 1 2\\nx')",
        "not JSON": "s.sendall(b'result 5\\nxxxxx')",
        "not UTF-8": "s.sendall(b'result 44\\n' + b'{\"mime\":\"a/b\",\"data\":\"\\xff\\xff\",\"main\":true,\"v\":1}')",
        "no object": "s.sendall(b'result 2\\n[]')",
        "another object": "s.sendall(b'result 10\\n{\"mime\":5}')",
        "deep JSON": "s.sendall(b'result 100000\\n' + b'[' * 100000)",
        "many values": "b = b'[' + b'1,' * 1000000 + b'1]'; s.sendall(b'result %d\\n' % len(b) + b)",
        "a bad end": "s.sendall(b'done 2\\n{}')",
        "ready": "s.sendall(b'ready 0\\n')",
        "two ends": "e = b'done 15\\n{\"status\":\"ok\"}'; s.sendall(e + e)",
        "endless results": f"g = {good}.encode()\nwhile True: s.sendall(b'result %d\\n' % len(g) + g)",
        "endless large results": "g = b'{\"mime\":\"text/plain\",\"data\":\"' + b'x' * 4000000 + b'\",\"main\":false,\"value\":0}'\n"
        "while True: s.sendall(b'result %d\\n' % len(g) + g)",
        "endless errors": "g = b'{\"name\":\"a\",\"message\":\"b\",\"traceback\":\"c\"}'\nwhile True: s.sendall(b'error %d\\n' % len(g) + g)",
    }
    pid = d.server_pid()
    for name, code in hostile.items():
        r = d.post(c + "/run", {"code": SOCKET + code + "\nwhile True: pass", "timeout_ms": 20000}, timeout=60)
        ensure(r["status"] in ("signaled", "exited"), f"{name}: {r['status']}", r)
        until(lambda: state(d, c) == "dead", 20, f"the end of the context after {name}")
        ensure("it sent" in d.get(c)["reason"], f"{name}: {d.get(c)['reason']}")
        same(text(run(d, other, "x")), "1", f"the other context after {name}")
        d.post(c + "/restart", b"")
    before = resident(pid)
    for _ in range(3):
        for name in ("endless large results", "garbage", "many values"):
            d.post(c + "/run", {"code": SOCKET + hostile[name] + "\nwhile True: pass", "timeout_ms": 20000}, timeout=60)
            d.post(c + "/restart", b"")
    with contextlib.suppress(support.Skip):
        not_sanitized()
        ensure(resident(pid) - before < 64 << 20, f"the daemon grew from {before} to {resident(pid)}")
    # Between runs, any message of the driver is an error.
    ok(run(d, c, SOCKET + "import threading\nthreading.Timer(0.2, lambda: s.sendall(b'result 8000000\\n' + b'x' * 1000000)).start()"))
    until(lambda: state(d, c) == "dead", 20, "its end")
    ensure("unexpected message" in d.get(c)["reason"], f"reason {d.get(c)['reason']}")
    d.post(c + "/restart", b"")
    # What it announces and does not send costs nothing; its deadline ends it.
    r = run(d, c, SOCKET + "s.sendall(b'result 8000000\\nx')\nwhile True: pass", limits={"timeout_ms": 2000, "grace_ms": 300})
    same(r["status"], "timeout", "a frame without an end")
    d.post(c + "/restart", b"")
    # The socket of the driver is closed: the run cannot report its end, and is ended.
    r = run(d, c, SOCKET + "s.close(); os.close(control()); import time; time.sleep(100)")
    ensure(r["status"] == "signaled" and state(d, c) == "dead", "a closed socket", r)
    same(text(run(d, other, "x")), "1", "the other context")


@test(settings=PATIENT)
def results_are_bounded(d):
    c = context(d, roomy(d))
    r = ok(run(d, c, "for i in range(100): display(i)\n'end'"))
    ensure(40 < len(r["results"]) <= 64 and text(r) == "'end'", f"{len(r['results'])} results")
    r = ok(run(d, c, "class H:\n    def _repr_html_(self): return 'h' * 4_000_000\nfor i in range(8): display(H())"))
    ensure(r["results_truncated"] and len(r["results"]) < 16 and sum(len(x["data"]) for x in r["results"]) < 17 << 20, "16 MiB")
    ensure("results_truncated" not in run(d, c, "1"), "of the next run")


@test(settings=PATIENT)
def results_have_html_markdown_json_and_png(d):
    c = context(d, roomy(d))
    code = ("class R:\n    def _repr_html_(self): return '<b>ü</b>'\n    def _repr_png_(self): return b'\\x89PNG'\n"
            "    def _repr_markdown_(self): return '# m'\n    def _repr_json_(self): return {'a': [1]}\nR()")  # fmt: skip
    by_mime = {x["mime"]: x["data"] for x in ok(run(d, c, code))["results"]}
    same((by_mime["text/html"], by_mime["text/markdown"], json.loads(by_mime["application/json"])), ("<b>ü</b>", "# m", {"a": [1]}), "forms")
    same(base64.b64decode(by_mime["image/png"]), b"\x89PNG", "png")
    ensure("R object" in by_mime["text/plain"], "text")


@test(settings=PATIENT)
def pandas_frames_and_matplotlib_figures_are_results(d):
    c = context(d, roomy(d))
    missing = [m for m in ("pandas", "matplotlib") if run(d, c, f"import {m}")["error"]]
    if missing:
        raise support.Skip("no pandas and matplotlib for /usr/bin/python3")
    r = ok(run(d, c, "import pandas\npandas.DataFrame({'a': [1, 2]})"))
    ensure("<table" in next(x["data"] for x in r["results"] if x["mime"] == "text/html"), "a frame")
    r = ok(run(d, c, "import matplotlib.pyplot as plt\nplt.plot([1, 2]); None"))
    mimes = {x["mime"] for x in r["results"]}
    ensure({"image/png", "image/svg+xml"} <= mimes, f"a figure: {mimes}")


@test(settings=PATIENT)
def removing_a_sandbox_or_context_cancels_its_run(d, s):
    c, idle = context(d, s), context(d, s, "bash")
    beside = Beside(d, c, "print('a', flush=True)\nwhile True: pass")
    with d.events("POST", idle + "/run", {"code": "echo b; sleep 100"}) as e:
        e.read_until("b\n")
        d.delete(f"/v1/sandboxes/{s}")
        same(e.wait("exit")["status"], "cancelled", "streamed")
    same(beside.end()["status"], "cancelled", "plain")
    d.refused("not_found", "GET", c, None, "sandbox")
    s = d.sandbox()
    c = context(d, s)
    beside = Beside(d, c, "while True: pass")
    d.delete(c)
    r = beside.end()
    same((r["status"], "removed" in r["error"]["message"]), ("cancelled", True), "a context removed in a run")
    ok(run(d, context(d, s), "1"))


@test(settings=PATIENT)
def a_context_of_a_stopped_session_can_be_restarted(d):
    r = d.exec("sh", "echo kept > f", session="a")
    s = r["sandbox"]
    c = context(d, s)
    ok(run(d, c, "x = open('f').read()"))
    d.exec("sh", "kill -9 -1; sleep 9", session="a")
    until(lambda: state(d, c) == "dead", 20, "its end")
    d.post(c + "/restart", b"")
    same(text(run(d, c, "open('f').read()")), "'kept\\n'", "the workspace is there again")


@test(settings={"sandboxes": {"cleanup_interval_ms": 1000}})
def an_idle_context_does_not_keep_its_sandbox(d):
    s = d.sandbox(idle_timeout_ms=5000)
    c = context(d, s)
    ok(run(d, c, "import time; time.sleep(6)"))
    until(lambda: d.request("GET", f"/v1/sandboxes/{s}").status == 404, 20, "the end of an idle sandbox")


@test(users=("root",), settings=PATIENT)
def pausing_a_sandbox_stops_the_timeout_of_a_run(d, s, c):
    beside = Beside(d, c, "import time\nend = time.monotonic() + 0.5\nwhile time.monotonic() < end: pass\n'through'", timeout_ms=6000)
    d.post(f"/v1/sandboxes/{s}/pause", b"")
    d.refused("invalid_request", "POST", c + "/run", {"code": "1"}, "paused")
    d.refused("invalid_request", "POST", c + "/restart", b"", "paused")
    d.refused("invalid_request", "POST", f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, "paused")
    time.sleep(7)
    d.post(f"/v1/sandboxes/{s}/resume", b"")
    same(text(ok(beside.end())), "'through'", "the run")
    d.post(f"/v1/sandboxes/{s}/pause", b"")
    d.delete(c)
    d.post(f"/v1/sandboxes/{s}/resume", b"")
    until(lambda: d.exec("sh", "cat /proc/[0-9]*/comm | grep -c python", sandbox=s)["stdout"] == "0\n", 20, "its end")


@test(users=("root",), settings=PATIENT)
def a_context_that_cannot_start_leaves_nothing(d):
    s = d.sandbox(limits={"memory_bytes": 6 << 20})
    a = d.refused("invalid_request", "POST", f"/v1/sandboxes/{s}/contexts", {"runtime": "node"}, "could not be started")
    ensure(a.json()["error"]["hint"], "the hint", a)
    same(d.get(f"/v1/sandboxes/{s}/contexts")["contexts"], [], "nothing is left")


@test(settings=PATIENT)
def stopping_the_daemon_cancels_a_run(d, s, c):
    context(d, s, "node")
    beside = Beside(d, c, "while True: pass")
    d.stop()
    same(beside.end()["status"], "cancelled", "the run")
