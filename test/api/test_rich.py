"""`rich` of an execution returns the value of the last expression, as a context does; everything else stays as without it."""

import json

from support import ensure, same, test


def main_of(r):
    """{mime: data} of the value of the last expression."""
    return {x["mime"]: x["data"] for x in r["results"] if x["main"]}


@test
def rich_returns_the_value_of_the_last_expression(d, s):
    for place in ({}, {"session": "s"}, {"sandbox": s}):
        for runtime, code, expected in (
            ("python3", "x = 6\nx * 7", {"text/plain": "42"}),
            ("python3", "print('out')\n(1,\n 'é')  # a comment", {"text/plain": "(1, 'é')"}),
            ("python3", "x = 1", {}),
            ("python3", "None", {}),
            ("python3", "5;", {}),
            ("node", "const x = 6\nx * 7", {"text/plain": "42", "application/json": "42"}),
            ("node", "[1, {a: 'é'}]", {"text/plain": "[ 1, { a: 'é' } ]", "application/json": '[1,{"a":"é"}]'}),
            ("node", "const x = 1", {}),
            ("bash", "echo 5", {}),
        ):
            r = d.exec(runtime, code, rich=True, **place)
            same((main_of(r), r["stderr"], r["exit_code"]), (expected, "", 0), f"{runtime} {code} {place}", r)
            ensure("results_truncated" not in r, "complete", r)
        r = d.exec("python3", "6 * 7", **place)
        same((r["results"], r["stdout"]), ([], ""), f"without rich {place}", r)


@test
def rich_values_have_all_their_forms(d):
    code = """
class Shown:
    def _repr_html_(self): return '<b>html</b>'
    def __repr__(self): return 'text'
display(1)
open('p.svg', 'w').write('<svg/>')
Shown()
"""
    r = d.exec("python3", code, rich=True)
    same(main_of(r), {"text/html": "<b>html</b>", "text/plain": "text"}, "the value", r)
    same([(x["mime"], x["data"]) for x in r["results"] if not x["main"] and "path" not in x], [("text/plain", "1")], "a displayed value", r)
    same([f["path"] for f in r["files"]], ["p.svg"], "files", r)
    same([x["path"] for x in r["results"] if "path" in x], ["p.svg"], "a picture", r)
    # Values that do not fit in one packet, and more than are allowed.
    r = d.exec("python3", "'x' * 1_000_000", rich=True)
    ensure(len(main_of(r)["text/plain"]) > 60_000 and "left out" in main_of(r)["text/plain"], "a long value is shortened")
    r = d.exec("python3", "class P:\n    def _repr_json_(self): return ['y' * 3_000_000]\nP()", rich=True)
    same(len(json.loads(main_of(r)["application/json"])[0]), 3_000_000, "3 MB")
    with d.events("POST", "/v1/exec", {"runtime": "python3", "code": "print('out')\n6 * 7", "rich": True}) as events:
        same(events.wait("result")["data"], "42", "in the stream")
        same([x["data"] for x in events.wait("exit")["results"]], ["42"], "in the last event")


def facts(r):
    """Returns the visible results of a run.  Tracebacks without the file name of the code and its source lines, which may be missing."""
    lines = [line.replace("/workspace/main.py", "<string>") for line in r["stderr"].splitlines() if not line.startswith("    ")]
    return [r[k] for k in ("status", "exit_code", "signal", "stdout")] + lines


@test
def rich_code_runs_as_without_it(d):
    """Standard input, arguments, variables, exit status, tracebacks, and code that is passed as a file."""
    long = "#" + "x" * 200_000 + "\n"
    cases = (
        ("python3", "import sys, os\nprint(sys.stdin.read(), sys.argv[1:], os.environ['E'], __name__, sorted(k for k in globals() if k[0] != '_'))"),
        ("python3", "def f():\n    return 1 / 0\nf()"),
        ("python3", "x ="),
        ("python3", "import sys\nsys.exit(3)"),
        ("python3", "from __future__ import annotations\ndef f(a: b): pass\nprint(f.__annotations__)"),
        ("python3", "import atexit\natexit.register(print, 'last')\nprint('first')"),
        ("python3", "import os\nos.kill(os.getpid(), 15)"),
        ("python3", "import os, sys\nif os.fork() == 0:\n    sys.exit(4)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))"),
        ("node", "console.log(require('fs').readFileSync(0, 'utf8'), process.argv.slice(1), process.env.E, typeof module, typeof __dirname)"),
        ("node", "process.exitCode = 3; void 0"),
        ("node", "setTimeout(() => console.log('later'), 1); void import('node:os').then((os) => console.log(typeof os.cpus))"),
    )
    for runtime, code in cases:
        for head in ("", long if runtime == "python3" else ""):
            fields = {"stdin": "input", "args": ["-a", "b c"], "env": {"E": "v"}}
            plain, rich = (d.exec(runtime, head + code, rich=value, **fields) for value in (False, True))
            same(facts(rich), facts(plain), f"{runtime} {code}", rich)
            same((main_of(rich), rich["files"]), ({}, []), "no value, no file", rich)
    r = d.exec("python3", long + "6 * 7", rich=True)
    same((main_of(r), r["files"]), ({"text/plain": "42"}, []), "as a file", r)
    for runtime, code, part in (("node", "null.x", "TypeError"), ("node", "x = (", "SyntaxError"), ("python3", "def f():\n    1 / 0\nf()", "    1 / 0\n")):
        r = d.exec(runtime, code, rich=True)
        ensure(r["exit_code"] == 1 and part in r["stderr"], code, r)


@test
def rich_socket_is_hostile(d):
    """The code may close the socket, write to it, and use its number for another file."""
    r = d.exec("python3", "import os\nos.closerange(3, 256)\n6 * 7", rich=True)
    same((r["results"], r["exit_code"], r["stderr"]), ([], 0, ""), "closed", r)
    r = d.exec("python3", "import os\nos.closerange(3, 256)\nf = [open('f%d' % i, 'w') for i in range(200)]\n6 * 7", rich=True)
    same((r["results"], r["exit_code"], {f["bytes"] for f in r["files"]}), ([], 0, {0}), "not written to another file", r)
    find = "import os, stat\nfd = next(i for i in range(3, 256) if os.path.exists(f'/proc/self/fd/{i}') and stat.S_ISSOCK(os.stat(i).st_mode))\n"
    for data in ("b'x' * 100", "b'result 9999999999\\n'", "b'done 2\\n{}'", "b'result 2\\n{}'", "b'result 5\\n[[[[['", "b'result 8000\\n{'", "b'resu'"):
        r = d.exec("python3", find + f"os.write(fd, {data})\nprint('ok')", rich=True)
        same((r["results"], r["stdout"], r["exit_code"], r["results_truncated"]), ([], "ok\n", 0, True), data, r)
    r = d.exec("python3", find + """
body = b'{"mime": "text/plain", "data": "", "main": true, "value": 1}'
try:
    for i in range(100):
        os.write(fd, b'result %d\\n%s' % (len(body), body))
except OSError:
    pass  # the daemon does not read further
print('ok')""", rich=True)
    same((len(r["results"]), r["stdout"], r["results_truncated"]), (64, "ok\n", True), "too many", r)
    r = d.exec("python3", "import os\nif os.fork() == 0:\n    pass\nelse:\n    os.wait()\nos.getpid() > 0", rich=True)
    same(main_of(r), {"text/plain": "True"}, "a child sends no value", r)
    same(len(r["results"]), 1, "one value", r)


@test
def rich_values_do_not_quote_secrets(d):
    d.ok("PUT", "/v1/secrets/token", {"value": "hunter2-and-more"}, 201)
    r = d.exec("python3", "import os\n[os.environ['T'], 1]", rich=True, secrets={"T": "{{secret:token}}"})
    same(main_of(r), {"text/plain": "['***', 1]"}, "masked", r)
