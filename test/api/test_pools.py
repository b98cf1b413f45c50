"""Pools: sandboxes that are made in advance, each with a waiting interpreter.  Which requests use them, and that code sees no difference."""

import contextlib
import os
import signal
import subprocess
import threading
import time

import daemon
import support
from daemon import begun, descendants
from support import ensure, is_root, same, test, until

PYTHON = {"runtime": "python3", "size": 2, "preload": ["json"]}
SHELL = {"runtime": "sh", "size": 2}
OF_ITS_OWN = ("id", "sandbox", "duration_ms", "usage")  # fields of a result that differ from run to run


class Daemon(daemon.Daemon):
    """A daemon without spare sandboxes, unless the test sets them."""

    def __init__(self, settings=None, **arguments):
        settings = settings or {}
        super().__init__(settings={**settings, "sandboxes": {"spare": 0, **settings.get("sandboxes", {})}}, **arguments)


FIXTURES = {"d": Daemon}


def look(d, runtime="python3"):
    """The runtime's pool."""
    return next(p for p in d.get("/v1/pools")["pools"] if p["runtime"] == runtime)


def full(d, runtime="python3", size=None):
    """Waits until the pool has all its members and is making no more."""
    return until(lambda: (p := look(d, runtime))["available"] >= (p["size"] if size is None else size) and not p["making"] and p,
                 20, f"a full pool of {runtime}")  # fmt: skip


def configure(d, *pools, **settings):
    d.ok("PATCH", "/v1/settings", {"pools": list(pools), **settings})


def pooled(d, runtime, code, **fields):
    """The result of code that a waiting interpreter ran."""
    until(lambda: look(d, runtime)["available"], 20, f"a {runtime} that waits")
    before = look(d, runtime)["hits"]
    r = d.exec(runtime, code, **fields)
    same(look(d, runtime)["hits"], before + 1, f"hits after {code!r}")
    return r


def fresh(d, runtime, code, **fields):
    """The result of the same in a sandbox that is made for it, without a template."""
    pools = d.get("/v1/settings")["pools"]
    configure(d)
    r = d.exec(runtime, code, **fields)
    configure(d, *pools)
    return r


def members(d):
    """{pid of an init: pids below it} of the daemon's sandboxes."""
    parents = {}
    for pid in descendants(d.process.pid):
        with contextlib.suppress(OSError):
            parents.setdefault(int(support.read(f"/proc/{pid}/stat").rpartition(")")[2].split()[1]), []).append(pid)
    others = d.server_pid(), d.egress_pid()
    return {pid: parents.get(pid, []) for pid in parents.get(d.process.pid, []) if pid not in others}


def waiting_pids(d):
    return sorted(pid for below in members(d).values() for pid in below)


@test(settings={"sandboxes": {"spare": 2}, "pools": [{**PYTHON, "size": 0}]})
def requests_without_a_pool_get_a_spare_sandbox(d):
    until(lambda: look(d)["waits"] == "template", 20, "a template")
    for i, request in enumerate(({"runtime": "python3", "code": "print(1)"}, {"command": ["echo", "1"]},
                                 {"runtime": "sh", "code": "cat f", "files": {"f": "1\n"}})):  # fmt: skip
        full(d, None)
        r = d.post("/v1/exec", request)
        same((r["stdout"], look(d, None)["hits"]), ("1\n", i + 1), f"{request}")
    same(look(d)["misses"], 1, "misses of the pool")
    members = {s for s in [d.post("/v1/exec", {"command": ["true"]})["sandbox"] for _ in range(8)]}
    same(len(members), 8, "sandboxes of eight executions")
    hits = look(d, None)["hits"]
    for other in ({"limits": {"processes": 7}}, {"session": "s"}):
        same(d.post("/v1/exec", {"command": ["true"], **other})["exit_code"], 0, f"{other}")
    same(look(d, None)["hits"], hits, "hits, after what a spare one cannot serve")
    same(len(d.get("/v1/pools")["pools"]), 2, "pools, after one wish for other limits")


@test(users=("root",), settings={"sandboxes": {"spare": 1}, "pools": []})  # root: without control groups, such limits are refused
def repeated_requests_with_other_limits_get_spare_sandboxes(d):
    def others(d):
        return [p for p in d.get("/v1/pools")["pools"] if not p["runtime"] and p["limits"]["processes"] != 64]

    for n in (7, 8, 9, 10, 11, 12):  # more than there is room for
        for _ in range(2):
            same(d.post("/v1/exec", {"command": ["true"], "limits": {"processes": n}})["exit_code"], 0, f"with {n} processes")
    until(lambda: [p["limits"]["processes"] for p in others(d) if p["available"] == 1] == [9, 10, 11, 12], 20, "the last four")
    r = d.post("/v1/exec", {"runtime": "sh", "code": "true", "limits": {"processes": 12}})
    same((r["exit_code"], others(d)[-1]["hits"]), (0, 1), "one that was ready")
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"spare": 0}})
    until(lambda: d.get("/v1/health")["sandboxes"]["running"] == 0 and not others(d), 20, "the end of all")


# ---- counters ----


@test
def hits_and_misses_are_counted(d):
    configure(d, PYTHON, SHELL)
    p = full(d)
    same({k: p[k] for k in ("image", "preload", "size", "total", "available", "making", "in_use", "hits", "misses", "waits", "problem")},
         {"image": "host", "preload": ["json"], "size": 2, "total": 2, "available": 2, "making": 0, "in_use": 0, "hits": 0, "misses": 0, "waits": "template", "problem": None},
         "an unused pool")  # fmt: skip
    ensure(p["refill_ms"] > 0, "refill_ms")
    pooled(d, "python3", "print(1)")
    d.exec("python", "print(1)")
    same(look(d)["hits"], 2, "the same program by another name")
    full(d, "sh")
    threads = [threading.Thread(target=d.exec, args=("sh", "sleep 0.5")) for _ in range(2)]
    for t in threads:
        t.start()
    until(lambda: look(d, "sh")["in_use"] >= 2, 20, "two that are in use")
    for t in threads:
        t.join()
    same((look(d, "sh")["hits"], look(d, "sh")["misses"]), (2, 0), "hits and misses of sh")
    until(lambda: look(d, "sh")["in_use"] == 0, 20, "none in use")
    configure(d, {**PYTHON, "size": 0})
    until(lambda: look(d)["waits"] == "template", 20, "a template")
    d.exec("python3", "print(1)")
    d.exec("python3", "print(1)", env={"PYTHONDONTWRITEBYTECODE": "1"})
    ensure(look(d)["misses"] >= 1, "misses")
    same({p["runtime"] for p in d.get("/v1/health")["pools"]}, {"python3"}, "pools in /v1/health")


def mappings(pid):
    """The mappings of a process: permissions, name, and a dictionary of sizes in KiB."""
    found = []
    for line in support.read(f"/proc/{pid}/smaps").splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            found.append((words[1], words[-1], {}))
        elif words[-1] == "kB":
            found[-1][2][words[0][:-1]] = int(words[1])
    return found


@test(users=("root",), settings={"pools": [{"runtime": "python3", "size": 2}]})
def the_next_interpreter_has_copies_of_common_pages_and_little_else(d):
    def prepared():
        for pid in waiting_pids(d):
            with contextlib.suppress(OSError):
                data = [sizes for flags, _, sizes in mappings(pid) if "w" in flags]
                copied = sum(sizes["Anonymous"] for sizes in data)
                if copied > 2000:
                    return copied, sum(sizes["Rss"] for sizes in data) - copied
        return None

    copied, read = until(prepared, 60, "an interpreter with copied pages")
    ensure(copied < 20_000 and read < copied / 2, f"KiB of data: {copied} copied, {read} mapped from the template")


@test
def a_pool_is_refilled_after_executions(d):
    configure(d, {**PYTHON, "size": 3}, SHELL)
    full(d)
    for _ in range(3):
        d.exec("python3", "pass")
    p = full(d)
    same(p["hits"] + p["misses"], 3, "executions")
    ensure(len(waiting_pids(d)) >= 3, "interpreters that wait")


@test
def size_zero_restores_on_demand(d):
    configure(d, {**PYTHON, "size": 0})
    until(lambda: look(d)["waits"] == "template", 20, "a template")
    same(d.exec("python3", "import sys; print('json' in sys.modules)")["stdout"], "True\n", "imported ahead")
    p = look(d)
    same((p["hits"], p["misses"], p["available"]), (0, 1, 0), "the pool")


# Pooled and fresh sandboxes look the same.


@test
def a_pooled_execution_equals_a_fresh_one(d):
    cases = [
        ("python3", "print('out'); import sys; print('err', file=sys.stderr); open('made.txt', 'w').write('abc')", {}),
        ("python3", "1/0", {}),
        ("python3", "import sys; sys.exit(7)", {}),
        ("python3", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", {}),
        ("python3", "def f(:", {}),
        ("python3", "", {}),
        ("python3", "import sys; print(sys.argv, sys.stdin.read())", {"args": ["a", "b c", ""], "stdin": "hällo\n"}),
        ("python3", "import os; print(os.environ['A'], open('in.txt').read()); os.remove('in.txt')", {"env": {"A": "1 2"}, "files": {"in.txt": "text"}}),
        ("python3", "import os; os.mkdir('d'); open('d/x', 'w').write('1'); os.symlink('/etc/passwd', 'l')", {}),
        ("python3", "print('\\N{SNOWMAN}' * 3)", {"encoding": "base64"}),
        ("sh", "echo out; echo err >&2; echo $0 $#; printf x > f; exit 4", {}),
        ("sh", "cat; echo $A $1", {"stdin": "in\n", "env": {"A": "1 2"}, "args": ["arg"]}),
        ("sh", "kill -9 $$", {}),
    ]  # fmt: skip
    configure(d, PYTHON, SHELL)
    for runtime, code, fields in cases:
        got = pooled(d, runtime, code, **fields)
        want = fresh(d, runtime, code, **fields)
        same({k: v for k, v in got.items() if k not in OF_ITS_OWN}, {k: v for k, v in want.items() if k not in OF_ITS_OWN}, f"result of {code!r}")
        same(set(got), set(want), "fields")
        same({k: v is None for k, v in got["usage"].items()}, {k: v is None for k, v in want["usage"].items()}, f"what is known of the usage of {code!r}")
        if "files" not in fields:  # the program that writes them runs beside a waiting interpreter
            same(got["usage"]["processes_peak"], want["usage"]["processes_peak"], f"processes of {code!r}")
        ensure(got["duration_ms"] > 0, "duration")
    rows = {r["id"]: r for r in d.rows()}
    same(len(rows), 2 * len(cases), "rows of the log")


@test
def each_sandbox_is_used_once_and_nothing_is_left_for_the_next(d):
    litter = (
        "import builtins, os, subprocess\n"
        "places = ['/workspace/left', '/tmp/left', '/run/left', '/dev/shm/left']\n"
        "others = [open(f'/proc/{p}/comm').read().strip() for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())]\n"
        "print([p for p in places if os.path.exists(p)], os.listdir('/workspace'), others, 'MARK' in os.environ, hasattr(builtins, 'mark'))\n"
        "builtins.mark = os.environ['MARK'] = '1'\n"
        "for path in places:\n"
        "    try: open(path, 'w').write('left')\n"
        "    except OSError: pass\n"
        "subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
    )
    configure(d, PYTHON)
    ids = []
    for _ in range(8):
        r = pooled(d, "python3", litter)
        same(r["stdout"], "[] ['main.py'] [] False False\n", "what the one before left")
        ids.append(r["sandbox"])
    same(len(set(ids)), len(ids), "sandboxes")
    full(d)
    until(lambda: len(waiting_pids(d)) == 2, 20, "only what waits")


@test
def code_cannot_mark_the_interpreters_program_for_the_next_sandbox(d):
    """The file behind /proc/self/exe has an inode with a mode, times and attributes that code could change."""
    mark = (
        "import os\n"
        "print([n for n in os.listxattr('/proc/self/exe') if n.startswith('user.')], os.stat('/proc/self/exe').st_mode & 0o111 != 0)\n"
        "for f in (lambda: os.setxattr('/proc/self/exe', 'user.left', b'x'), lambda: os.chmod('/proc/self/exe', 0)):\n"
        "    try: f()\n"
        "    except OSError: pass\n"
    )
    configure(d, PYTHON, SHELL)
    for _ in range(2):
        same(pooled(d, "python3", mark)["stdout"], "[] True\n", "what the one before left")
        full(d)
    same(d.exec("python3", mark, limits={"open_files": 100})["stdout"], "[] True\n", "on demand")


@test
def code_that_exits_with_any_number_runs_once(d):
    configure(d, PYTHON, SHELL)
    for number in (125, 126, 127, 1, 255):
        for runtime, code in (("sh", f"echo once; exit {number}"), ("python3", f"print('once'); raise SystemExit({number})")):
            for _ in range(3 if number == 125 else 1):
                r = pooled(d, runtime, code, timeout_ms=30000)
                same((r["status"], r["exit_code"], r["stdout"]), ("exited", number, "once\n"), f"{code!r}")
            r = d.exec(runtime, code, timeout_ms=30000, limits={"open_files": 100})
            same((r["status"], r["exit_code"], r["stdout"]), ("exited", number, "once\n"), f"{code!r} on demand")
    full(d, "sh")
    with d.events("POST", "/v1/exec", {"runtime": "sh", "code": "echo once; exit 125"}) as events:
        same([name for name, _ in events], ["start", "stdout", "exit"], "events")


# Settings.


@test(settings={"pools": [PYTHON, SHELL]})
def a_path_without_the_interpreter_is_reported_even_if_a_pool_has_it(d):
    for runtime in ("python3", "sh"):
        full(d, runtime)
        d.refused("runtime_not_found", "POST", "/v1/exec", {"runtime": runtime, "code": "exit", "env": {"PATH": "/nonexistent"}})


@test
def new_settings_keep_pool_members_that_still_fit(d):
    configure(d, {**PYTHON, "size": 3})
    full(d)
    until(lambda: len(members(d)) == 3, 20, "the end of who made the template")
    before = waiting_pids(d)
    configure(d, {**PYTHON, "size": 4}, SHELL)
    full(d)
    full(d, "sh")
    ensure(set(before) <= set(waiting_pids(d)), "a larger pool keeps those it has")
    configure(d, {**PYTHON, "size": 1})
    full(d)
    until(lambda: len(waiting_pids(d)) == 1, 20, "the end of the others")
    last = waiting_pids(d)
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 50}})
    same(waiting_pids(d), last, "another setting")
    configure(d, {**PYTHON, "size": 1, "preload": ["json", "decimal"]})
    full(d)
    until(lambda: not set(waiting_pids(d)) & set(last), 20, "the end of what has other modules")
    same(pooled(d, "python3", "import sys; print('decimal' in sys.modules)")["stdout"], "True\n", "modules")
    configure(d)
    until(lambda: not members(d), 20, "the end of all")
    same(d.get("/v1/pools"), {"pools": []}, "pools")
    same(d.exec("python3", "print(1)")["stdout"], "1\n", "without a pool")


@test
def a_pool_made_smaller_during_filling_ends_at_its_size(d):
    for _ in range(10):
        configure(d, {**SHELL, "size": 8})
        configure(d, {**SHELL, "size": 0})
    p = until(lambda: (p := look(d, "sh"))["making"] == 0 and p, 20, "a pool at rest")
    same((p["available"], p["total"]), (0, 0), "members of a pool of none")
    until(lambda: not members(d), 20, "the end of all")


# Whether the template has modules that the code has not imported, which only this list shows.
HAS_HIDDEN = "print(sorted({c.__module__ for c in object.__subclasses__()} & {'json.decoder', 'asyncio.events', 'decimal', 'csv'}))"


@test(settings={"pools": [{"runtime": "python3", "size": 1}]})
def the_standard_library_is_hidden_in_a_template_by_default(d):
    same([p["preload"] for p in d.get("/v1/pools")["pools"] if p["runtime"] == "python3"], ["auto"], "what is imported in advance")
    full(d)
    r = d.exec("python3", HAS_HIDDEN)
    hidden = "['asyncio.events', 'csv', 'decimal', 'json.decoder']\n"
    same((r["stdout"], r["stderr"]), (hidden, ""), "modules in the template")
    p = look(d)
    visible = d.exec("python3", "import sys; print(*sys.modules)")["stdout"].split()
    usual = {"argparse", "array", "enum", "errno", "json", "math", "select", "selectors", "socket", "struct"}
    same(usual - set(p["hidden_modules"]) - set(visible), set(), "modules that the pool does not show")
    same(set(visible) & set(p["hidden_modules"]), set(), "modules that are shown as hidden and are visible")
    ensure(p["hidden_import_ms"] > 0, "the time to import them", f"{p}")
    for preload, expected in (([], "[]\n"), ("auto", hidden), (["math"], hidden)):
        configure(d, {"runtime": "python3", "size": 1, "preload": preload})
        same(full(d)["preload"], preload, "what the pool shows")
        same(d.exec("python3", HAS_HIDDEN)["stdout"], expected, f"modules in the template with {preload}")


@test(settings={"pools": [{"runtime": "python3", "size": 1, "preload": ["-no_such_module", "-cgi.nosuch", "-json", "-abc"]}]})
def a_module_that_shall_be_hidden_may_be_missing(d):
    same(full(d)["problem"], None, "the pool's problem")
    r = d.exec("python3", "import sys; print('json' in sys.modules); import json; print(json.dumps([1]))")
    same((r["stdout"], r["stderr"]), ("False\n[1]\n", ""), "output")


@test
def a_missing_preload_is_reported_and_the_code_still_runs(d):
    for module in ("no_such_module", "no such;module", "..x"):
        configure(d, {**PYTHON, "preload": ["json", module]})
        p = until(lambda: (p := look(d))["problem"] and p, 20, "a problem")
        ensure(module in p["problem"] and "preload" in p["problem"], f"problem is {p['problem']!r}")
        same(d.exec("python3", "print(6 * 7)")["stdout"], "42\n", "output")
    same(d.get("/v1/health")["status"], "ok", "health")
    configure(d, PYTHON)
    same(full(d)["problem"], None, "problem")
    pooled(d, "python3", "pass")
    for bad in ({"size": -1}, {"size": 10001}, {"size": "1"}, {"preload": "json"}, {"preload": [""]}, {"preload": ["a\0b"]}, {"colour": 1}, {"runtime": ""}):
        d.refused("invalid_request", "PATCH", "/v1/settings", {"pools": [{**SHELL, **bad}]})
    same(look(d)["size"], 2, "settings that were refused")


# Limits.


@test
def other_limits_do_not_come_from_the_pool_and_hold(d):
    limit = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    configure(d, PYTHON)
    full(d)
    for number in (16, 17, 20, 64):
        r = d.exec("python3", limit, limits={"open_files": number})
        same((r["status"], r["stdout"]), ("exited", f"{number}\n"), f"a limit of {number} open files")
    same(look(d)["hits"], 0, "hits")
    r = d.exec("python3", "open('x', 'wb').write(b'x' * 300000)", limits={"disk_bytes": 100000})
    same((r["status"], look(d)["hits"]), ("disk_limit", 0), "a limit on disk")
    same(pooled(d, "python3", limit, limits={"open_files": 1024})["stdout"], "1024\n", "the pool's own limit, said aloud")
    configure(d, {**PYTHON, "limits": {"open_files": 64}})
    full(d)
    same(d.exec("python3", limit)["stdout"], "1024\n", "the settings' limit")
    same(look(d)["hits"], 0, "hits")
    same(pooled(d, "python3", limit, limits={"open_files": 64})["stdout"], "64\n", "a pool with a limit of its own")


@test
def the_usage_of_a_pooled_execution_is_that_of_the_code(d):
    """Init reads the CPU time when the interpreter announces its end; the time for its preparation is not counted."""
    configure(d, PYTHON, SHELL, {"runtime": "node", "size": 1})
    for runtime, code in (("python3", "print(1)"), ("node", "console.log(1)"), ("sh", "echo 1")):
        used = [pooled(d, runtime, code)["usage"]["cpu_ms"] for _ in range(8)]
        ensure(0 < min(used) and sorted(used)[4] < 20 * support.slack, f"{runtime} used {used} ms")
    burn = "import time\nthen = time.process_time()\nwhile time.process_time() - then < 0.1: pass"
    child = "import os, time\nif os.fork() == 0:\n    while time.process_time() < 0.1: pass\n    os._exit(0)\nos.wait()"
    for code in (burn, child):
        used = pooled(d, "python3", code)["usage"]["cpu_ms"]
        ensure(95 < used < 200 * support.slack, f"of 100 ms it used {used} ms: {code}")


@test(users=("root",))  # without a control group, the peak is that of one process and contains pages of files
def objects_without_a_visible_destruction_do_not_destroy_the_template(d):
    """If an object in the template would notice its destruction, all of the template is destroyed, which copies its pages."""
    configure(d, PYTHON)
    kept = "import io, json, socket, weakref\nclass A:\n    def __del__(self): pass\njson.kept = "

    def peak(value):
        return pooled(d, "python3", kept + value)["usage"]["memory_peak_bytes"]

    destroyed = peak("A()")
    if destroyed is None:
        raise support.Skip("no memory peak here")
    for value in ("A", "io.StringIO()", "io.BytesIO()", "open(__file__, 'rb')", "socket.socket()", "(A, weakref.WeakValueDictionary(a=A))"):
        used = peak(value)
        ensure(used < destroyed / 2, f"{value}: {used} bytes, destroyed: {destroyed}")


UNBOUND = """
import ctypes, struct, sys
image = open(sys.executable, "rb").read()
table, size, count, names_at = *struct.unpack_from("<Q", image, 40), *struct.unpack_from("<HHH", image, 58)
sections = [struct.unpack_from("<IIQQQQ", image, table + i * size) for i in range(count)]
text = lambda strings, at: image[strings[4] + at : image.index(b"\\0", strings[4] + at)].decode()
section = {text(sections[names_at], s[0]): s for s in sections}
symbols = [struct.unpack_from("<IBBHQQ", image, i) for i in range(section[".dynsym"][4], section[".dynsym"][4] + section[".dynsym"][5], 24)]
own = next(s[4] for s in symbols if text(section[".dynstr"], s[0]) == "Py_GetVersion")
base = ctypes.cast(ctypes.pythonapi.Py_GetVersion, ctypes.c_void_p).value - own
calls, stubs = section[".rela.plt"], section[".plt"]
slots = [struct.unpack_from("<QQ", image, i) for i in range(calls[4], calls[4] + calls[5], 24)]
unbound = [text(section[".dynstr"], symbols[info >> 32][0]) for at, info in slots
           if stubs[3] <= ctypes.c_uint64.from_address(base + at).value - base < stubs[3] + stubs[5]
           and symbols[info >> 32][1] >> 4 != 2]  # weak: a symbol without a definition cannot be found
print(len(slots), unbound)
"""


@test(settings={"pools": [PYTHON]})
def functions_of_libraries_are_looked_up_once_for_all_that_are_restored(d):
    same(pooled(d, "python3", UNBOUND)["stdout"].partition(" ")[2], "[]\n", "what is looked up when it is called first")
    # The distribution's is linked so that this is left to the first call; else nothing could fail above.
    ensure("'write'" in fresh(d, "python3", UNBOUND)["stdout"], "the same when it is started by itself")


@test(settings={"pools": [{**PYTHON, "preload": ["multiprocessing.heap"]}]})
def libraries_notice_that_a_restored_process_has_another_pid(d):
    """This one notes its number and looks at it, as those in C do that have threads; without, numexpr waits for threads that are not there."""
    code = "import os, multiprocessing.heap as h\nprint(os.getpid(), h.BufferWrapper._heap._lastpid)\nh.BufferWrapper(9)\nprint(h.BufferWrapper._heap._lastpid)"
    own, noted, then = map(int, pooled(d, "python3", code)["stdout"].split())
    ensure(noted != own == then, f"process {own} has a library of process {noted}, which thinks it is in {then}")


@test
def time_output_and_memory_are_limited_in_pooled_executions(d):
    configure(d, PYTHON, SHELL)
    r = begun(pooled(d, "python3", "import time; print('a', flush=True); time.sleep(30)", timeout_ms=2000, limits={"grace_ms": 0}))
    same((r["status"], r["timed_out"], r["stdout"]), ("timeout", True, "a\n"), "time")
    support.within(r["duration_ms"] / 1000, 15, "its end", r)
    code = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\nprint('on', flush=True)\ntime.sleep(30)"
    r = begun(pooled(d, "python3", code, timeout_ms=2000))
    same((r["status"], r["exit_code"]), ("timeout", 9), "the grace time")
    r = pooled(d, "python3", "print('x' * 5000)", limits={"output_bytes": 1000})
    same((r["status"], r["stdout_truncated"], r["stdout_bytes"]), ("exited", True, 5001), "output")
    r = pooled(d, "sh", "yes", limits={"output_bytes": 1000}, on_output_limit="kill")
    same(r["status"], "output_limit", "output")
    if not is_root():
        return
    limits = {"memory_bytes": 64 << 20, "cpu_time_ms": 300, "processes": 4}
    configure(d, {**PYTHON, "limits": limits})
    same(pooled(d, "python3", "x = bytearray(200 << 20)", limits=limits)["status"], "memory_limit", "memory")
    same(pooled(d, "python3", "while True: pass", limits=limits)["status"], "cpu_limit", "CPU time")
    r = pooled(d, "python3", "import os, time\nfor _ in range(9):\n    if os.fork() == 0: time.sleep(9)", limits=limits)
    same(r["status"], "process_limit", "processes")


@test(users=("root",), settings={"limits": {"cpu_time_ms": 120000}})  # an ordinary user's CPU time is not counted here
def an_execution_may_have_less_cpu_time_than_its_pool(d):
    configure(d, PYTHON)
    r = pooled(d, "python3", "while True: pass", limits={"cpu_time_ms": 300})
    same(r["status"], "cpu_limit", "the limit of this execution")
    same(pooled(d, "python3", "print(1)")["stdout"], "1\n", "the pool's own")
    configure(d, PYTHON, limits={"cpu_time_ms": 60000})
    same(look(d)["limits"]["cpu_time_ms"], 60000, "the pool's limit, after the settings changed")


# Ways to run code.


@test
def pooled_executions_can_be_cancelled_detached_and_streamed(d):
    configure(d, {**PYTHON, "size": 3}, SHELL)
    full(d)
    with d.events("POST", "/v1/exec", {"runtime": "python3", "code": "import time\nprint('go', flush=True); time.sleep(30)"}) as events:
        start = events.wait("start")
        ensure(start["pid"] > 1, f"start is {start}")
        events.read_until("go\n")
        same(d.delete(f"/v1/executions/{start['id']}", 202)["status"], "cancelled", "answer")
        same(events.wait("exit")["status"], "cancelled", "status")
    same(look(d)["hits"], 1, "hits")
    a = d.post("/v1/exec", {"runtime": "python3", "code": "print('done')", "detach": True}, 202)
    row = until(lambda: (r := d.get(f"/v1/executions/{a['id']}"))["status"] != "running" and r, 20, "its end")
    same((row["status"], row["stdout"], row["sandbox"]), ("exited", "done\n", a["sandbox"]), "the log")
    with d.events("POST", "/v1/exec", {"runtime": "python3", "code": "import time; time.sleep(30)"}) as events:
        start = events.wait("start")
    row = until(lambda: (r := d.get(f"/v1/executions/{start['id']}"))["status"] != "running" and r, 20, "its end")
    same(row["status"], "cancelled", "an execution after its client went away")
    full(d)
    with d.events("POST", "/v1/exec", {"runtime": "python3", "code": "import sys\nfor line in sys.stdin: print(line.upper(), end='')", "stdin": "a\nb\n", "files": {"f": "1"}}) as events:
        events.wait("start")
        text, end = events.text()
    same((text, end["status"], end["files"]), ("A\nB\n", "exited", []), "a stream")
    big = "x = '''" + "y" * 80000 + "'''\nprint(len(x))"
    same(pooled(d, "python3", big)["stdout"], "80000\n", "code that just fits")
    same(d.exec("python3", "#" * 200000 + "\nprint(1)")["stdout"], "1\n", "code that does not")
    s = d.sandbox()
    hits = look(d)["hits"]
    same(d.exec("python3", "print(1)", sandbox=s)["stdout"], "1\n", "in a sandbox that is there")
    same(d.exec("python3", "print(1)", session="s")["stdout"], "1\n", "in a session")
    same(look(d)["hits"], hits, "hits")


# Capacity.


@test(settings={"sandboxes": {"max": 4, "queue_timeout_ms": 5000}})
def waiting_sandboxes_are_ended_for_requests(d):
    def sleepers(n):
        results = []
        threads = [threading.Thread(target=lambda: results.append(d.exec("sh", "sleep 0.3; echo hi")["stdout"])) for _ in range(n)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return results

    configure(d, {**PYTHON, "size": 10})
    full(d, size=3)
    same(sleepers(4), ["hi\n"] * 4, "four at once, of four")
    full(d, size=3)
    # The settings leave less room than there are members.
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 8}})
    full(d, size=7)
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 2}})
    same(d.exec("sh", "echo hi")["stdout"], "hi\n", "one, where members had more room than there is now")
    # No request may wait, but there is also nothing to wait for.
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 4, "queue_max": 0}})
    full(d, size=3)
    same(sorted(sleepers(2)), ["hi\n"] * 2, "two at once, of four, without a queue")
    # The same if no request may wait, and pool members use all the room.
    for _ in range(5):
        d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 4, "queue_timeout_ms": 0}})
        full(d, size=3)
        d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 2}})
        made = d.post("/v1/sandboxes", {}, 201)["id"]
        d.delete(f"/v1/sandboxes/{made}")


@test(settings={"sandboxes": {"queue_timeout_ms": 300}})
def a_keys_quota_counts_pooled_executions(d):
    configure(d, {**SHELL, "size": 4})
    full(d, "sh")
    d.key = d.new_key(sandboxes_max=1)["key"]
    first = d.post("/v1/exec", {"runtime": "sh", "code": "sleep 100", "detach": True}, 202)["id"]
    until(lambda: d.get("/v1/executions?status=running")["executions"], 20, "the first")
    d.refused("over_capacity", "POST", "/v1/exec", {"runtime": "sh", "code": "echo 2"})
    d.delete(f"/v1/executions/{first}", 202)
    until(lambda: d.get(f"/v1/executions/{first}")["status"] == "cancelled", 20, "its end")
    same(d.exec("sh", "echo 3")["stdout"], "3\n", "when there is room again")


@test
def a_key_at_its_own_quota_does_not_stop_the_filling_of_pools(d):
    configure(d, {**PYTHON, "size": 2})
    full(d)
    key = d.new_key(sandboxes_max=1)["key"]
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"queue_timeout_ms": 60000}}, unix=True)
    for _ in range(2):
        d.post("/v1/exec", {"runtime": "sh", "code": "sleep 100", "detach": True}, 202, key=key)
    until(lambda: d.get("/v1/health", unix=True)["sandboxes"]["waiting"] == 1, 20, "one that waits")
    for _ in range(2):
        d.exec("python3", "pass", unix=True)
    until(lambda: next(p for p in d.get("/v1/pools", unix=True)["pools"])["available"] == 2, 20, "a pool that fills while a key waits for itself")
    same(d.get("/v1/health", unix=True)["sandboxes"]["waiting"], 1, "it still waits")


# Failures.


@test
def a_waiting_interpreter_that_is_killed_costs_only_that_member(d):
    configure(d, {**PYTHON, "size": 3}, SHELL)
    full(d)
    full(d, "sh")
    for pid in waiting_pids(d):
        with contextlib.suppress(ProcessLookupError):  # a pool may have replaced the interpreter meanwhile
            os.kill(pid, signal.SIGKILL)
    for runtime, code in (("python3", "print('hi')"), ("sh", "echo hi")):
        until(lambda runtime=runtime: look(d, runtime)["available"] == 0 or full(d, runtime), 20, "its notice")
        same(d.exec(runtime, code)["stdout"], "hi\n", "output")
        full(d, runtime)
        pooled(d, runtime, code)
    killed = members(d)
    for init in killed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(init, signal.SIGKILL)
    until(lambda: not set(killed) & set(members(d)), 20, "the end of the dead")
    time.sleep(0.1)  # until the server has noticed the death
    full(d)
    pooled(d, "python3", "print('hi')")


def descriptors(d):
    """Returns the descriptors of the server, without the counter files of reused groups."""
    directory = f"/proc/{d.server_pid()}/fd"
    n = lent = 0
    for fd in os.listdir(directory):
        with contextlib.suppress(FileNotFoundError):
            name = os.readlink(f"{directory}/{fd}").rpartition("/")[2]
            counter = name.startswith(("cpuacct.", "memory.", "pids."))
            n, lent = n + (not counter), lent + counter
    ensure(lent <= 5 * len(members(d)), "descriptors of counters for each sandbox", lent)
    return n


def is_dead(pid):
    """Returns whether this init, and so every process of its sandbox, has ended."""
    try:
        return support.read(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def send_all(pids, number):
    """A sandbox that was just used may still be in removal."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def hits(d):
    return sum(p["hits"] for p in d.get("/v1/pools")["pools"])


def asked(d, request):
    """(a thread that waits for the answer, where it puts it), when a sandbox of a pool has been taken for the request."""
    answers, before = [], hits(d)
    thread = threading.Thread(target=lambda: answers.append(d.request("POST", "/v1/exec", request)))
    thread.start()
    until(lambda: hits(d) > before, 20, "a member that is taken")
    return thread, answers


@test(timeout=90)
def code_that_a_dead_interpreter_has_not_read_is_run_elsewhere(d):
    """The waiting interpreters are stopped, so they do not read the code that they are sent; then their sandboxes die, or they alone."""
    cases = (("python3", "import sys; print(open('a').read(), open('b/c').read(), *sys.argv[1:], sys.stdin.read())"),
             ("sh", "printf '%s %s %s %s\\n' $(cat a) $(cat b/c) $1 $(cat)"))  # fmt: skip
    configure(d, PYTHON, SHELL)
    for runtime, code in cases:
        for which in ("sandboxes", "interpreters"):
            full(d)
            full(d, "sh")
            inits, waiting = list(members(d)), waiting_pids(d)
            send_all(waiting, signal.SIGSTOP)
            thread, answers = asked(d, {"runtime": runtime, "code": code, "args": ["x"], "stdin": "in", "files": {"a": "1", "b/c": "2"}})
            send_all(inits if which == "sandboxes" else waiting, signal.SIGKILL)
            thread.join()
            r = answers[0].json()
            same((answers[0].status, r.get("status"), r.get("stdout"), r.get("exit_code")), (200, "exited", "1 2 x in\n", 0), f"{runtime}, dead {which}", answers[0])
            ensure(r["duration_ms"] * os.cpu_count() >= r["usage"]["cpu_ms"], "duration and CPU time", r)
            row = until(lambda r=r: next((e for e in d.get("/v1/executions")["executions"] if e["id"] == r["id"] and e["status"] != "running"), None), 20, "its row")
            same((row["status"], row["sandbox"]), ("exited", r["sandbox"]), "its row in the log")


@test(timeout=60, settings={"sandboxes": {"spare": 1}, "pools": []})
def a_command_that_a_dead_spare_sandbox_has_not_read_is_run_elsewhere(d):
    for _ in range(2):
        until(lambda: any(p["available"] for p in d.get("/v1/pools")["pools"]), 20, "a spare sandbox")
        inits = list(members(d))
        send_all(inits, signal.SIGSTOP)
        thread, answers = asked(d, {"command": ["echo", "hi"]})
        send_all(inits, signal.SIGKILL)
        thread.join()
        same((answers[0].status, answers[0].json().get("stdout")), (200, "hi\n"), "answer", answers[0])


@test(timeout=60, settings={"sandboxes": {"spare": 1}})
def code_that_has_begun_is_not_run_again(d):
    configure(d, PYTHON, SHELL)
    for runtime, code in (("python3", "import time; print('begun', flush=True); time.sleep(60)"), ("sh", "echo begun; sleep 60"), ("bash", "echo begun; sleep 60")):
        full(d)
        full(d, "sh")
        with d.events("POST", "/v1/exec", {"runtime": runtime, "code": code}) as events:
            events.read_until("begun")
            send_all(members(d), signal.SIGKILL)
            end = events.wait("exit")
        same((end["status"], end["exit_code"], end["stdout_bytes"]), ("signaled", 137, 6), f"the end of {runtime}", end)


@test
def a_member_that_died_is_not_handed_out(d):
    """The server notices the death before it receives the last counters, because the keeper sends them late."""
    configure(d, PYTHON)
    full(d)
    d.exec("python3", "pass")
    full(d)
    n = descriptors(d) if is_root() else 0
    for _ in range(3):
        full(d)
        results = []
        thread = threading.Thread(target=lambda: results.append(d.request("POST", "/v1/exec", {"runtime": "python3", "code": "print('hi')"})))
        os.kill(d.process.pid, signal.SIGSTOP)
        try:
            killed = list(members(d))
            for init in killed:
                os.kill(init, signal.SIGKILL)
            until(lambda killed=killed: all(is_dead(pid) for pid in killed), 20, "the deaths")
            thread.start()
            time.sleep(0.1)
        finally:
            os.kill(d.process.pid, signal.SIGCONT)
        thread.join()
        same((results[0].status, results[0].json().get("stdout")), (200, "hi\n"), "answer", results[0])
    full(d)
    if is_root():
        until(lambda: descriptors(d) <= n, 20, "as few descriptors as before")


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return f.read().split()
    except OSError:
        return []


@test(users=["root"], timeout=120)
def a_killed_interpreter_never_causes_an_internal_error():
    """Restored on demand: before it waits it is started again, in the plain way; after that it was the code that was killed."""
    seen, killed, over = [], 0, threading.Event()
    with Daemon() as d:
        configure(d, {**PYTHON, "size": 0})
        until(lambda: look(d, "python3")["waits"] == "template", 20, "a template")

        def ask():
            while not over.is_set():
                seen.append(d.request("POST", "/v1/exec", {"runtime": "python3", "code": "print(1)"}).json())

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for t in threads:
            t.start()
        hogs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(4)]  # so that the server sometimes reacts late
        end = time.monotonic() + 90
        while time.monotonic() < end and (killed < 400 or len(seen) < 400):
            for init in children(d.process.pid):
                for pid in children(init):
                    with contextlib.suppress(OSError):
                        os.kill(int(pid), signal.SIGKILL)
                        killed += 1
        over.set()
        for t in threads:
            t.join()
        for h in hogs:
            h.kill()
            h.wait()
        ensure(killed >= 400, "interpreters that were killed", killed)
        ways = {(r.get("status"), r.get("exit_code")) for r in seen}
        ensure(("signaled", 137) in ways and ways <= {("signaled", 137), ("exited", 0)}, "how they ended", [r for r in seen if "error" in r][:2] or ways)


@test
def stopping_with_full_pools_leaves_nothing():
    d = Daemon()
    configure(d, {**PYTHON, "size": 6}, {**SHELL, "size": 6})
    full(d)
    full(d, "sh")
    until(lambda: len(members(d)) == 12, 20, "the end of the sandbox that made the template")
    d.exec("python3", "pass")
    d.stop()
    d = Daemon()  # and while it fills
    configure(d, {**PYTHON, "size": 20}, {**SHELL, "size": 20})
    d.stop()
    d = Daemon()  # and while the template is made
    d.stop()


@test(users=["root"], timeout=60, settings={"sandboxes": {"queue_timeout_ms": 2000}})
def descriptors_of_the_server_stay_flat(d):
    configure(d, PYTHON, SHELL)
    full(d)
    full(d, "sh")
    d.exec("python3", "pass")
    full(d)
    kinds = [
        lambda: d.exec("python3", "print(1)"),
        lambda: d.exec("sh", "echo 1"),
        lambda: d.exec("python3", "1/0"),
        lambda: d.exec("sh", "kill -9 $$"),
        lambda: d.exec("python3", "print(1)", limits={"open_files": 99}),
        lambda: d.exec("python3", "print(1)", files={"a": "b"}),
        lambda: d.request("POST", "/v1/exec", {"runtime": "python3", "code": "x", "files": {"/proc/x": ""}}),
        lambda: d.post("/v1/exec", {"runtime": "sh", "code": "exit 1", "detach": True}, 202),
        lambda: d.events("POST", "/v1/exec", {"runtime": "sh", "code": "sleep 9"}).close(),
        lambda: [os.kill(pid, signal.SIGKILL) for pid in waiting_pids(d)[:1]],
    ]
    before = descriptors(d)
    for i in range(300):
        with contextlib.suppress(ProcessLookupError):
            kinds[i % len(kinds)]()
    full(d)
    full(d, "sh")
    until(lambda: descriptors(d) <= before, 20, f"at most {before} descriptors")


@test
def code_cannot_change_where_proc_finds_its_arguments(d):
    """With PR_SET_MM_MAP, code could make /proc/PID/cmdline endless for readers outside."""
    code = ("import ctypes, os, struct\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            "m = ctypes.create_string_buffer(struct.pack('=12QII', *[0] * 12, 0, 0xffffffff))\n"
            "number = {'x86_64': 157, 'aarch64': 167}[os.uname().machine]\n"
            "print(libc.syscall(number, 35, 14, m, len(m.raw) - 1, 0), ctypes.get_errno())")  # fmt: skip
    refused = "-1 1\n"
    configure(d, PYTHON, SHELL)
    full(d)
    same(pooled(d, "python3", code)["stdout"], refused, "restored")
    same(d.exec("python3", code, limits={"processes": 9})["stdout"], refused, "restored on demand")
    same(d.exec("python3", code, env={"PYTHONUTF8": "1"})["stdout"], refused, "started plainly")
    full(d, "sh")
    same(pooled(d, "sh", "exec python3 -c \"$CODE\"", env={"CODE": code})["stdout"], refused, "by a shell that waited")
    full(d, "sh")
    r = pooled(d, "sh", "tr -d '\\0' < /proc/$$/environ; echo; tr '\\0' ' ' < /proc/$$/cmdline; echo $A", env={"A": "given"})
    same(r["stdout"], "\nsh given\n", "what /proc shows of a shell that waited", r)
    s = d.sandbox()
    same(d.post(f"/v1/sandboxes/{s}/exec", {"runtime": "python3", "code": code})["stdout"], refused, "in a sandbox that stays")
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    same(d.post(f"/v1/sandboxes/{s}/contexts/{c}/run", {"code": code})["stdout"], refused, "in a context")


# The code sends the message with which waiting interpreters announce their end (src/sys/ending.h).
SAY_THE_END = """
import ctypes, os, struct, time
def say(code, pid=os.getpid(), count=1):
    info = struct.pack('iiiiiIq', 64, 0, -1, 0, pid, 0, code).ljust(128, bytes(1))
    number = {'x86_64': 129, 'aarch64': 138}[os.uname().machine]
    for _ in range(count):
        ctypes.CDLL(None).syscall(number, 1, 64, info)
"""


@test(users=["root"], settings={"pools": [PYTHON]})  # as root only: sandboxes with control groups; without them, the message is ignored
def code_that_announces_its_end_is_ended(d):
    begun = time.monotonic()
    r = pooled(d, "python3", SAY_THE_END + "print('said', flush=True)\nsay(7)\ntime.sleep(60)")
    same((r["status"], r["exit_code"]), ("exited", 7), "what it said")
    support.within(time.monotonic() - begun, 10, "the answer")
    until(lambda: len(members(d)) == PYTHON["size"], 20, "nothing but the pool's members")


@test(settings={"pools": [PYTHON, SHELL]})
def code_cannot_forge_the_end_of_a_pooled_interpreter(d):
    code = SAY_THE_END + "say(7, os.getppid()); say(7, 2); say(7); print('on')"
    r = fresh(d, "python3", code)
    same((r["status"], r["exit_code"], r["stdout"]), ("exited", 0, "on\n"), "in a fresh one")
    # A flood of messages: init continues to serve, and at most the kernel's limit of signals is queued.
    r = pooled(d, "python3", SAY_THE_END + "say(7, 99999, 100000); print('on')")
    same((r["status"], r["exit_code"], r["stdout"]), ("exited", 0, "on\n"), "after a flood")


@test(settings={"pools": [PYTHON]})
def remaining_processes_are_ended_before_the_answer(d):
    r = pooled(d, "python3", "import os, time\nif os.fork() == 0:\n    time.sleep(0.05); open('late', 'w'); time.sleep(60)\nprint(1)")
    same((r["exit_code"], r["stdout"], r["files"]), (0, "1\n", []), "a child")
    r = pooled(d, "python3", "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()")
    same((r["exit_code"], r["stdout"]), (0, "late\n"), "a thread")
    r = pooled(d, "python3", "import ctypes\nctypes.CDLL(None).printf(b'by C\\n')")
    same((r["exit_code"], r["stdout"]), (0, "by C\n"), "C")


# Leases.


def lender(d):
    return next(p for p in d.get("/v1/pools", unix=True)["pools"] if p["lease"])


@test(settings={"pools": [{"runtime": "python3", "size": 1, "lease": 2}]})
def sandboxes_are_leased_and_replaced(d):
    until(lambda: lender(d)["available"] == 2, 30, "sandboxes to lend")
    same(d.get("/v1/sandboxes")["sandboxes"], [], "sandboxes that wait are not listed")
    s = d.post("/v1/pools/acquire", {"runtime": "python3", "metadata": {"of": "me"}, "ttl_ms": 3600000}, 201)
    same((s["metadata"], s["state"], s["expires"] is not None), ({"of": "me"}, "running", True), "a leased one")
    same([x["id"] for x in d.get("/v1/sandboxes")["sandboxes"]], [s["id"]], "it is listed")
    p = lender(d)
    same((p["runtime"], p["size"], p["in_use"], p["hits"], p["misses"]), ("python3", 2, 1, 1, 0), "status", str(p))
    for code in ("open('f', 'w').write('x')", "print(open('f').read())"):
        r = d.post(f"/v1/sandboxes/{s['id']}/exec", {"runtime": "python3", "code": code})
        same(r["exit_code"], 0, r["stderr"])
    same(r["stdout"], "x\n", "several executions")
    c = d.post(f"/v1/sandboxes/{s['id']}/contexts", {"runtime": "python3"}, 201)["id"]
    same(d.post(f"/v1/sandboxes/{s['id']}/contexts/{c}/run", {"code": "6 * 7"})["results"][0]["data"], "42", "a context")
    if support.is_root():  # it needs a control group
        for action in ("pause", "resume"):
            d.ok("POST", f"/v1/sandboxes/{s['id']}/{action}")
    until(lambda: lender(d)["available"] == 2, 30, "another one in its place")
    d.post("/v1/pools/release", {"id": s["id"]}, 204)
    same(d.request("GET", f"/v1/sandboxes/{s['id']}").status, 404, "it is gone")
    until(lambda: lender(d)["in_use"] == 0, 30, "its end")
    d.refused("not_found", "POST", "/v1/pools/release", {"id": s["id"]}, "no leased sandbox")
    other = d.post("/v1/sandboxes", {}, 201)["id"]
    a = d.refused("not_found", "POST", "/v1/pools/release", {"id": other}, "no leased sandbox")
    ensure("cella pool acquire" in a.json()["error"]["hint"], "the hint names the command, too", a)


@test(settings={"pools": [{"runtime": "sh", "size": 0, "lease": 1}], "sandboxes": {"spare": 0}})
def a_lease_without_a_ready_sandbox_makes_one(d):
    all_ = [d.post("/v1/pools/acquire", {"runtime": "sh"}, 201)["id"] for _ in range(3)]
    same(len(set(all_)), 3, "different sandboxes")
    for s in all_:
        same(d.post(f"/v1/sandboxes/{s}/exec", {"runtime": "sh", "code": "ls -A"})["stdout"], "", "an empty one")
    same(lender(d)["in_use"], 3, "in use")
    for s in all_:
        d.post("/v1/pools/release", {"id": s}, 204)
    until(lambda: (lender(d)["in_use"], lender(d)["available"]) == (0, 1), 30, "replaced")
    d.ok("PATCH", "/v1/settings", {"pools": [{"runtime": "sh", "size": 0}]})
    s = d.post("/v1/pools/acquire", {"runtime": "sh"}, 201)["id"]
    d.post("/v1/pools/release", {"id": s}, 204)


@test(settings={"pools": [{"runtime": "sh", "size": 0, "lease": 2}]})
def leases_belong_to_their_key_and_are_checked(d):
    one, two = (d.new_key(sandboxes_max=1)["key"] for _ in range(2))
    until(lambda: lender(d)["available"] == 2, 30, "sandboxes to lend")
    s = d.post("/v1/pools/acquire", {"runtime": "sh"}, 201, key=one)["id"]
    d.refused("over_capacity", "POST", "/v1/pools/acquire", {"runtime": "sh"}, key=one)
    d.refused("not_found", "POST", "/v1/pools/release", {"id": s}, "no leased sandbox", key=two)
    same([x["id"] for x in d.get("/v1/sandboxes", key=two)["sandboxes"]], [], "those of another key")
    same([x["id"] for x in d.get("/v1/sandboxes", key=one)["sandboxes"]], [s], "those of this key")
    d.post("/v1/pools/release", {"id": s}, 204, key=one)
    d.refused("not_found", "POST", "/v1/pools/acquire", {"runtime": "cobol"}, "no pool for runtime 'cobol'", unix=True)
    for body, field in (({}, "runtime"), ({"runtime": 7}, "runtime"), ({"runtime": "sh", "ttl_ms": 0}, "ttl_ms"), ({"runtime": "sh", "code": "x"}, "code"),
                        ({"runtime": "sh", "metadata": {"a": 1}}, "metadata")):  # fmt: skip
        d.refused("invalid_request", "POST", "/v1/pools/acquire", body, field, unix=True)
    d.refused("invalid_request", "POST", "/v1/pools/release", {}, "id", unix=True)
    d.refused("invalid_request", "PATCH", "/v1/settings", {"pools": [{"runtime": "sh", "size": 0, "lease": -1}]}, "lease", unix=True)
