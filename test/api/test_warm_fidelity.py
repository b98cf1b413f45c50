"""Code in a restored interpreter behaves as without Cella, gets different random numbers, and sees no data of others.

Each case of the tables (warm_cases*.py) is run twice: as {runtime, code} by a daemon with full pools, and
as a command, `python3 main.py`, in a fresh sandbox: the genuine thing.  What they write, how they end and what they
leave in the workspace must be equal.

CELLA_FIDELITY=self in the environment of the runner runs the genuine thing twice instead: this checks the tables."""

import base64
import difflib
import json
import os
import re
import secrets
import sys
import time

import support
import warm_cases
import warm_cases_hidden
import warm_cases_node
import warm_cases_other
import warm_cases_system
from daemon import Daemon
from support import Skip, ensure, same, shorten, test, until

POOLS = {
    "python3": {"runtime": "python3", "size": 3, "preload": "auto"},
    "node": {"runtime": "node", "size": 2},
    "sh": {"runtime": "sh", "size": 2},
    "bash": {"runtime": "bash", "size": 2},
}
FILE = {"python3": ["python3", "main.py"], "node": ["node", "main.js"]}
SHOWN_MAX = 12  # failed cases of one test for which the difference is shown
SELF = os.environ.get("CELLA_FIDELITY") == "self"
VERSION = (3, 11)  # of python; the tables describe how it ends


# Run by a fresh interpreter, each for a reason: a part of the request concerns the start of the interpreter, or
# cannot be passed to a pooled one (waiting_fits() in src/core/pool/waiting.c).
COLD = {
    "python3": {
        "the file says how it is encoded, or ends in the middle of a line": [
            "byte order mark and a cookie that agrees", "byte order mark and a cookie that does not", "cookie utf-8",
            "cookie latin-1 is obeyed", "cookie latin-1 in a traceback", "cookie cp1252 on the second line",
            "cookie ascii with other text", "cookie of an unknown encoding", "cookie rot13 is no text encoding",
            "backslash at the end", "the file holds CRLF and mark as sent"],
        "too long for a message, or not a text": ["NUL byte in the code", "NUL byte at the end", "code of 200 KB", "code of 200 KB on one line"],
        "a file could hide a module that is imported already": [
            "a file that cannot hide a built-in module", "a file that cannot hide what python begins with",
            "sitecustomize beside main.py is not run", "__main__.py beside main.py", "a module in another directory",
            "a file that hides json, by a way up"],
        "a directory to start in": ["current directory asked for"],
        "a variable that python looks at when it starts": ["HOME=/tmp"],
    },
    "node": {
        "process.argv is made when node starts": ["argv with arguments", "the process"],
        "package.json is read when node starts": ["node_modules", "package.json with imports"],
        "too long for a message, or not a text": ["code of 200 KB", "a NUL byte in a text"],
    },
    "sh": {"a directory to start in": ["the directory asked for"], "a variable that it looks at when it starts": ["ENV is not read"]},
    "bash": {"a directory to start in": ["the directory asked for"]},
}  # fmt: skip

# Cases with output that cannot be equal; they must end alike.
KNOWN = {
    "the program that restores a template is no file": ["/proc/self/exe", "python's binary is mapped as it is", "the stack and the heap have their names"],
    "/proc tells what the process was executed with": ["/proc/self/environ", "/proc/self/cmdline"],
    # python3 collects it later, when print() is gone; here a collection comes first, to see whether the template holds it.
    "garbage that a finalizer leaves behind is collected earlier": ["del: makes another"],
    "pickle, which is in the template, holds the cache to the end": ["template: a cache that holds an object"],
}  # fmt: skip


def listed(reasons):
    return {name for names in reasons.values() for name in names}


# Waiting for pools.


class Pool:
    """A runtime's pool of a daemon, as GET /v1/pools shows it."""

    def __init__(self, daemon, runtime):
        self.daemon, self.runtime = daemon, runtime

    def look(self):
        """Returns its object, or None."""
        if SELF:
            return {"available": 1, "hits": 0}
        pools = self.daemon.get("/v1/pools")
        pools = pools["pools"] if isinstance(pools, dict) else pools
        return next((p for p in pools if p["runtime"] == self.runtime), None)

    def ready(self):
        """Waits until a member is ready. Returns the pool's object."""
        return until(lambda: (p := self.look()) and p["available"] > 0 and p, 20, f"a pool with a ready {self.runtime}")

    def exec(self, code, **fields):
        """Returns the result of code that the pool must have served."""
        before = self.ready()["hits"]
        result = self.daemon.exec(self.runtime, code, **fields)
        ensure(SELF or self.look()["hits"] > before, f"not served by the pool: {shorten(code, 200)}")
        return result


def daemon_with(*pools, image="host", **kwargs):
    limits = {"output_bytes": 8 << 20}  # in the settings: a request with limits of its own is none for the pool
    return Daemon(settings={"pools": list(pools), "limits": limits, "image": image}, **kwargs)


class Host:
    """Where the tables are run; pythons.py has other places."""

    lacks = {}  # {module: names of the cases that need it}
    normal = ()  # as in Case
    # As KNOWN, where more is imported ahead than by itself; python3 imports warnings at its start on some machines only.
    ahead = {
        "logging has imported warnings, which tells more": ["a coroutine in a ring that was not awaited"],
        "what is imported registers functions that run at the end": ["a trace function sees finalizers", "a profile function sees finalizers"],
    }

    def daemon(self, pool):
        return daemon_with(pool)

    def meant(self, case):
        """Returns whether the run without Cella must end as the table says: the tables are for one version."""
        return sys.version_info[:2] == VERSION


@test
def the_tables_are_about_the_pool_that_the_daemon_has_by_itself(d):
    own = [p for p in d.get("/v1/settings")["pools"] if p["runtime"] == "python3"]
    same(own[0]["preload"], POOLS["python3"]["preload"], "what is imported ahead")


# Fidelity.


def genuine(case, runtime):
    """Returns the request that runs the case as a command in a fresh sandbox."""
    request = dict(case.request)
    runtime = {"python": "python3"}.get(request.pop("runtime", runtime), runtime)
    args = request.pop("args", [])
    if runtime in FILE:
        program, name = FILE[runtime]
        path = os.path.join(request["cwd"], name) if "cwd" in request else name
        return {**request, "command": [program, name, *args], "files": {**request.get("files", {}), path: case.code}}
    return {**request, "command": [runtime, "-c", case.code, *([runtime, *args] if args else [])]}


def outcome(case, answer, sent, normal=()):
    """Returns the parts of an answer that must be equal, as {part: text}. Files of the request are not changes of the code."""
    if answer.status != 200:
        return {"end": f"{answer.status} {answer.text}"}
    result = answer.json()

    def text(stream):
        if case.request.get("encoding") == "base64":
            return repr(base64.b64decode(result[stream]))
        return result[stream]

    ended = {k: result[k] for k in ("status", "exit_code", "signal", "timed_out", "stdout_truncated", "stderr_truncated")}
    files = sorted(f"{f['path']} {f['change']} {f['bytes']}" for f in result["files"] if f["path"] not in sent)
    parts = {"end": json.dumps(ended), "stdout": text("stdout"), "stderr": text("stderr"),
             "files": "\n".join(files), "violations": json.dumps(result["violations"], indent=0)}  # fmt: skip
    for pattern, replacement in [(r"\b0x[0-9a-f]{5,}", "0xADDRESS"), *case.normal, *normal]:
        parts = {k: re.sub(pattern, replacement, v) if k != "end" else v for k, v in parts.items()}
    return parts


def difference(expected, got):
    lines = []
    for part, text in expected.items():
        if got.get(part, "") != text:
            other = got.get(part, "")
            diff = difflib.unified_diff(text[:200000].splitlines(), other[:200000].splitlines(), f"{part}, by hand", f"{part}, warm", lineterm="", n=1)
            lines += [shorten(line, 400) for line in list(diff)[:24]] or [f"{part}: newlines differ: {shorten(text[-80:])!r}, {shorten(other[-80:])!r}"]
    return "\n".join("  " + line for line in lines)


def check_reference(case, answer, meant):
    """Returns why the case does not end as its table says, which would prove nothing; or None."""
    if answer.status != 200:
        return f"by hand it is refused\n{answer}"
    if not meant:
        return None
    result = answer.json()
    if case.exit is not None and result["exit_code"] != case.exit:
        return f"by hand it ends with {result['exit_code']}, not {case.exit}: {shorten(result['stderr'], 600)}"
    if case.exit == 0 and not case.err and result["stderr"]:
        return f"by hand it writes to standard error: {shorten(result['stderr'], 600)}"
    return None


def run_case(daemon, pool, case, runtime, compared=True, where=Host()):
    """Returns (the difference or None, whether the pool was used)."""
    by_hand = genuine(case, runtime)
    if SELF:
        hit, warm = True, daemon.request("POST", "/v1/exec", by_hand)
    else:
        time.sleep(case.aged)
        before = pool.ready()["hits"]
        warm = daemon.request("POST", "/v1/exec", {"runtime": runtime, "code": case.code, **case.request})
        hit = pool.look()["hits"] > before
    cold = daemon.request("POST", "/v1/exec", by_hand)
    problem = check_reference(case, cold, where.meant(case))
    if problem:
        return problem, hit
    sent = by_hand.get("files", {})
    expected, got = (outcome(case, answer, sent, where.normal) for answer in (cold, warm))
    if compared and expected != got or expected["end"] != got["end"]:
        return "\n" + difference(expected, got), hit
    return None, hit


def run_table(cases, runtime, known, every, preload, where):
    names = [case.name for case in cases]
    same([n for n in names if names.count(n) > 1], [], "names of two cases")
    known_here = listed({**KNOWN, **(where.ahead if preload else {})})
    chosen = [(c, c.name not in known_here) for c in cases[::every]] + [(c, False) for _, c in known]
    wrong, missed = {}, []
    with where.daemon({**POOLS[runtime], **({"preload": preload} if preload else {})}) as d:
        pool = Pool(d, runtime)
        ensure(pool.look(), f"GET /v1/pools shows no pool for {runtime}: nothing can be served warm")
        for case, compared in chosen:
            if support.user in case.users and case.name not in listed(where.lacks):
                problem, hit = run_case(d, pool, case, runtime, compared, where)
                if problem:
                    wrong[case.name] = problem if hit else f"(not served by the pool) {problem}"
                elif case.warm and not hit and case.name not in listed(COLD[runtime]):
                    missed.append(case.name)
        same(pool.look().get("problem"), None, "the pool's problem")
        lines = [f"{len(wrong)} of {len(chosen)} cases differ, {len(missed)} were not served by the pool"]
        lines += [f"{name}: {problem}" for name, problem in list(wrong.items())[:SHOWN_MAX]]
        lines += [f"also different: {'; '.join(list(wrong)[SHOWN_MAX:])}"] if len(wrong) > SHOWN_MAX else []
        lines += [f"alike, but not served by the pool: {'; '.join(missed)}"] if missed else []
        ensure(not wrong and not missed, "\n".join(lines))


TABLES = []  # (name, runtime, cases, function that runs it somewhere)


def table(name, cases, runtime, known=(), every=6, preload=()):
    """every: the ordinary user, for whom the same is built of less, runs only every Nth case."""

    def run(where=Host()):
        run_table(cases, runtime, known, 1 if support.is_root() else every, [p for p in preload if p not in where.lacks], where)

    TABLES.append((name, runtime, cases, run))
    test(run, name=f"warm_{runtime}_as_by_hand_{name}", timeout=90)


table("names", warm_cases.NAMES, "python3", warm_cases_system.KNOWN)
table("source", warm_cases.SOURCE, "python3")
table("errors", warm_cases.ERRORS, "python3")
table("exits", warm_cases.EXITS, "python3")
table("signals", warm_cases.SIGNALS, "python3")
table("flushed", warm_cases.FLUSHED, "python3")
table("endings", warm_cases.ENDINGS, "python3")
table("endings_with_libraries", warm_cases.ENDINGS + warm_cases.WITH_LIBRARIES, "python3", preload=["numpy", "sqlite3", "logging", "multiprocessing"])
table("shutdown", warm_cases.SHUTDOWN, "python3")
table("shutdown_with_libraries", warm_cases.SHUTDOWN, "python3", preload=["json", "re", "copy", "sqlite3", "logging", "tempfile", "asyncio", "multiprocessing"])
table("programs", warm_cases.PROGRAMS, "python3")
table("programs_with_libraries", warm_cases.PROGRAMS, "python3", preload=["random", "datetime", "heapq", "dataclasses", "statistics"])
table("processes", warm_cases_system.PROCESSES, "python3")
table("streams", warm_cases_system.STREAMS, "python3")
table("imports", warm_cases_system.IMPORTS, "python3")
table("hidden", warm_cases_hidden.HIDDEN, "python3")
for part in range(4):
    table(f"hidden_{part}", warm_cases_hidden.EACH[part::4], "python3")
table("state", warm_cases_system.STATE, "python3", every=1)
table("libraries", warm_cases_system.LIBRARIES, "python3")
table("environment", warm_cases_system.ENVIRONMENT, "python3")
table("code", warm_cases_other.NODE, "node", warm_cases_other.KNOWN_NODE)
table("tails", warm_cases_other.NODE_TAILS, "node")
table("modules", warm_cases_node.EACH, "node")
table("uses", warm_cases_node.USES, "node")
table("code", warm_cases_other.SHELL + warm_cases_other.SH, "sh")
table("code", warm_cases_other.SHELL + warm_cases_other.BASH, "bash")


# Freshness: {name of the column: an expression}, each evaluated twice in each of so many executions.

TIMES = 100

PYTHON_RANDOM = {
    "random.random": "__import__('random').random()", "random.Random": "__import__('random').Random().random()",
    "uuid.uuid4": "__import__('uuid').uuid4()", "uuid.uuid1": "__import__('uuid').uuid1()", "secrets": "__import__('secrets').token_hex(8)",
    "os.urandom": "__import__('os').urandom(8).hex()", "os.getrandom": "__import__('os').getrandom(8).hex()",
    "SystemRandom": "__import__('random').SystemRandom().random()",
}  # fmt: skip
PRELOADED_RANDOM = {
    **PYTHON_RANDOM, "tempfile.mktemp": "__import__('tempfile').mktemp()", "a TemporaryDirectory": "__import__('tempfile').mkdtemp()",
    "ssl.RAND_bytes": "__import__('ssl').RAND_bytes(8).hex()",
    "the authkey of multiprocessing": "bytes(__import__('multiprocessing').current_process().authkey).hex() + str(i)",
    "C's arc4random": "(lambda c: (c.arc4random(), c.arc4random()))(__import__('ctypes').CDLL(None))",
    "a name in shared memory": "__import__('multiprocessing.shared_memory').shared_memory._make_filename()",
}  # fmt: skip
NUMPY_RANDOM = {
    "numpy.random.random": "__import__('numpy').random.random()", "numpy's default_rng": "__import__('numpy').random.default_rng().random()",
    "numpy's RandomState": "__import__('numpy').random.RandomState().random()", "numpy's SeedSequence": "__import__('numpy').random.SeedSequence().entropy",
    "numpy.random.bytes": "__import__('numpy').random.bytes(8).hex()",
}  # fmt: skip


def python_of(columns):
    return "import sys\n" + "".join(f"print({name!r}, *[{e} for i in range(2)], sep='\\t')\n" for name, e in columns.items())


NODE_RANDOM = """for (const [name, f] of Object.entries({
    'Math.random': Math.random, 'crypto.randomUUID': () => crypto.randomUUID(), 'crypto.randomBytes': () => require('crypto').randomBytes(8).toString('hex'),
    'getRandomValues': () => crypto.getRandomValues(new Uint32Array(4)).join(), 'mkdtemp': () => require('fs').mkdtempSync('/tmp/x')}))
  console.log([name, f(), f()].join('\\t'))"""

BASH_RANDOM = """printf '%s\\t' '$RANDOM'; echo "$RANDOM $RANDOM $RANDOM $RANDOM\t$RANDOM $RANDOM $RANDOM $RANDOM"
printf '%s\\t' '$SRANDOM'; echo "$SRANDOM $SRANDOM\t$SRANDOM $SRANDOM"
printf '%s\\t' mktemp; echo "$(mktemp)\t$(mktemp)\""""


def fresh(pool, code, times=TIMES, where=Host()):
    """So many executions: no value comes twice in a column, neither in one execution nor in two."""
    runtime = pool["runtime"]
    with where.daemon(pool) as d:
        ready = Pool(d, runtime)
        seen = {}
        for i in range(times):
            r = ready.exec(code)
            same((r["exit_code"], r["stderr"]), (0, ""), f"execution {i}")
            for line in r["stdout"].splitlines():
                name, *values = line.split("\t")
                for value in values:
                    first = seen.setdefault(name, {}).setdefault(value, i)
                    ensure(first == i and len(set(values)) == 2, f"{name}: {value} came in execution {first} and again in {i}")
        ensure(seen and all(len(values) == 2 * times for values in seen.values()), f"values seen: { {k: len(v) for k, v in seen.items()} }")


@test(timeout=60)
def warm_python_is_random_each_time():
    fresh(POOLS["python3"], python_of(PYTHON_RANDOM))


@test(timeout=60)
def warm_python_is_random_each_time_with_preloaded_modules():
    preload = ["random", "uuid", "tempfile", "ssl", "secrets", "multiprocessing", "multiprocessing.shared_memory", "ctypes"]
    fresh({**POOLS["python3"], "preload": preload}, python_of(PRELOADED_RANDOM))


@test(timeout=60)
def warm_python_is_random_each_time_with_hidden_modules():
    fresh(POOLS["python3"], python_of(PRELOADED_RANDOM))


@test(timeout=60)
def warm_numpy_is_random_each_time():
    if support.cella(["run", "--", "python3", "-c", "import numpy"]).rc != 0:
        raise Skip("no numpy for python3 in a sandbox")
    fresh({**POOLS["python3"], "preload": ["random", "numpy", "uuid", "tempfile", "ssl"]}, python_of(NUMPY_RANDOM))


@test(timeout=60)
def warm_node_is_random_each_time():
    fresh(POOLS["node"], NODE_RANDOM, 30)  # each is started anew, which takes longer than a restore


@test(timeout=60)
def warm_bash_is_random_each_time():
    fresh(POOLS["bash"], BASH_RANDOM)


# No data of others is visible.

# Prints everything that a process can see, as {kind: list of texts}.
LOOK = r"""
import json, os, re, socket
def lines(path):
    try: return open(path, errors='replace').read().split('\n')
    except OSError as e: return [str(e)]
def tree(top):
    return [os.path.join(p, n) for p, ds, fs in os.walk(top) for n in ds + fs]
seen = {}
seen['descriptors'] = [n + ' ' + re.sub(r'\d+', 'N', os.readlink('/proc/self/fd/' + n)) for n in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + n) or int(n) < 3]
seen['environment'] = sorted(os.environ) + open('/proc/self/environ').read().split('\0')
seen['command line'] = open('/proc/self/cmdline').read().split('\0')
seen['mounts'] = [' '.join(l.split()[3:]) for l in lines('/proc/self/mountinfo')]
seen['files'] = [f for t in ('/tmp', '/dev', '/workspace', '/run', '/var', '/etc') for f in tree(t)]
seen['processes'] = ['one' for p in os.listdir('/proc') if p.isdigit()]
seen['threads'] = [lines(f'/proc/self/task/{t}/comm')[0] for t in os.listdir('/proc/self/task')]
seen['sockets'] = [l.split()[-1] if '@' in l or '/' in l else 'unnamed' for l in lines('/proc/net/unix')[1:]]
seen['shared memory'] = [l for n in ('shm', 'sem', 'msg') for l in lines('/proc/sysvipc/' + n)]
seen['interfaces'] = [n for _, n in socket.if_nameindex()]
seen['links'] = [os.readlink('/proc/self/' + n) for n in ('exe', 'cwd', 'root')]
maps = []
for l in open('/proc/self/maps'):
    p = l.split(None, 5)
    if len(p) == 6 and not p[5].startswith(('[', '/memfd:')):
        name = p[5].rstrip('\n')
        try: known = os.stat(name).st_ino == int(p[4])
        except OSError: known = False
        if not known: maps.append(name)
seen['mapped files that are not to be seen'] = maps
print(json.dumps(seen))
"""

# Looks for a pattern, which must not contain what it finds, in all that a process can read of itself and its sandbox.
SEARCH = r"""
import os, re, sys
pattern = re.compile(os.environ['PATTERN'].encode())
found = []
def look(where, data):
    if pattern.search(data): found.append(where)
with open('/proc/self/mem', 'rb', 0) as mem:
    for l in open('/proc/self/maps').read().split('\n'):
        p = l.split(None, 5)
        if not p or 'r' not in p[1] or (len(p) > 5 and p[5].startswith(('/usr', '[v'))): continue
        a, b = (int(x, 16) for x in p[0].split('-'))
        for at in range(a, b, 1 << 22):
            try: mem.seek(at); look('memory ' + (p[5] if len(p) > 5 else 'anonymous'), mem.read(min(b - at, (1 << 22) + 100)))
            except (OSError, ValueError, OverflowError): break
for top in '/tmp', '/dev/shm', '/workspace', '/run':
    for d, _, names in os.walk(top):
        for n in names:
            path = os.path.join(d, n)
            look('name of ' + repr(path), path.encode())
            try: look('file ' + repr(path), open(path, 'rb').read())
            except OSError: pass
for path in 'environ', 'cmdline', 'comm', 'maps', 'mountinfo', 'cgroup', 'net/unix', 'limits', 'stat', 'fdinfo/0':
    try: look(path, open('/proc/self/' + path, 'rb').read())
    except OSError: pass
for name in os.listdir('/proc/self/fd'):
    try: look('descriptor ' + name, os.readlink('/proc/self/fd/' + name).encode())
    except OSError: pass
"""

SEARCH_IPC = r"""
import ctypes, socket
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
print(sorted(set(found)), [l.split() for l in open('/proc/sysvipc/shm')][1:], libc.shmget(0x5eed, 4096, 0o600))
"""

# Writes a mark to every place that it can write to.
MARK = r"""
import ctypes, os, socket, sys
mark = (sys.stdin.read() or sys.argv[1])
copies = [(mark + str(i)).encode() * 50 for i in range(2000)]
for top in '/tmp', '/dev/shm', '/workspace', '/run':
    open(f'{top}/{mark}', 'w').write(mark)
s = socket.socket(socket.AF_UNIX); s.bind('\0' + mark); s.listen()
libc = ctypes.CDLL(None); libc.shmat.restype = ctypes.c_void_p
i = libc.shmget(0x5eed, 4096, 0o1600)
a = libc.shmat(i, None, 0)
if i >= 0: ctypes.memmove(a, mark.encode(), len(mark))
os.environ['MARK'] = mark
import math; math.mark = mark
ctypes.CDLL(None).prctl(15, mark[:15].encode(), 0, 0, 0)
print('marked', i >= 0, flush=True)
"""


def pattern_of(text):
    """Returns an expression that matches a text but does not contain it."""
    return f"[{text[0]}]{text[1:4]}[{text[4]}]{text[5:]}"


@test(timeout=60)
def a_warm_sandbox_shows_nothing_that_a_fresh_one_does_not():
    """A sandbox has a copy of the shared view, or its own where there is none at that moment: so one of several fresh ones is alike."""

    def look(result, whose):
        same((result["exit_code"], result["stderr"]), (0, ""), whose)
        shown = json.loads(result["stdout"])
        same(shown.pop("mapped files that are not to be seen"), [], f"mapped files of {whose}")
        return shown

    def beyond(got, fresh):
        """Returns {kind: texts that a fresh sandbox does not have}."""
        found = {}
        for kind, things in fresh.items():
            extra = list(got[kind])
            for thing in things:
                if thing in extra:
                    extra.remove(thing)
            extra = [thing for thing in extra if thing != "/memfd:python3 (deleted)"]  # /proc/self/exe
            if extra:
                found[kind] = extra
        return found

    with daemon_with(POOLS["python3"]) as d:
        fresh = []

        def another_fresh_one():
            fresh.append(look(d.post("/v1/exec", genuine(warm_cases.Case("look", LOOK), "python3")), "a fresh one"))

        another_fresh_one()
        for _ in range(5):
            got = look(Pool(d, "python3").exec(LOOK), "a warm one")
            end = time.monotonic() + 20 * support.slack
            while all(beyond(got, f) for f in fresh) and time.monotonic() < end:
                another_fresh_one()
            ensure(any(not beyond(got, f) for f in fresh), f"what {len(fresh)} fresh ones lack: {[beyond(got, f) for f in fresh]}")
            names = [n for n in got["environment"] if re.match("PYTHON|LD_|CELLA|MALLOC|GLIBC", n)]
            same(names, [], "names in the environment")


@test(timeout=60)
def nothing_of_the_daemon_is_in_a_warm_interpreter():
    """Not the daemon's environment, the paths of its state, or values of its settings."""
    canary = "canary-" + secrets.token_hex(8)
    env = {**os.environ, "CANARY_ENV": canary}
    with daemon_with(POOLS["python3"], env=env) as d:
        pool = Pool(d, "python3")
        for text in (canary, d.home, os.path.basename(d.state) + ".sock", "cella-server"):
            control = pool.exec(f"x = {text!r} * 3\n" + SEARCH + "print(found != [])", env={"PATTERN": pattern_of(text)})
            same((control["stdout"], control["stderr"]), ("True\n", ""), "the search finds what is there")
            for _ in range(2):
                r = pool.exec(SEARCH + "print(found)", env={"PATTERN": pattern_of(text)})
                same((r["stdout"], r["stderr"]), ("[]\n", ""), f"where {text} was found")


@test(timeout=60)
def nothing_of_one_warm_execution_is_in_another():
    """No data of earlier or of concurrent executions."""
    with daemon_with(POOLS["python3"]) as d:
        pool = Pool(d, "python3")
        mark = "mark" + secrets.token_hex(8)
        request = {"env": {"MARKED": mark}, "args": [mark], "stdin": mark, "files": {f"{mark}.txt": mark}}
        for _ in range(4):
            r = pool.exec(MARK, **request)
            same((r["exit_code"], r["stderr"]), (0, ""), "the one that marks")
        pool.ready()
        with d.events("POST", "/v1/exec", {**request, "runtime": "python3", "code": MARK + "import time\ntime.sleep(30)"}) as running:
            running.read_until("marked")
            for _ in range(6):
                r = pool.exec(SEARCH + SEARCH_IPC, env={"PATTERN": pattern_of(mark)})
                same((r["stdout"], r["stderr"]), ("[] [] -1\n", ""), "where the mark of another was found")


# Prints the page faults of two children: one that just ends, and one in which a finalizer could see how all modules are
# removed.
FAULTS_AT_THE_END = """import os
class B:
    def f(self): return 1
for code in '', 'class A:\\n    def __del__(self): pass\\na = A()':
    child = os.fork()
    if child == 0:
        exec(code)
        raise SystemExit(0)
    print(os.wait4(child, 0)[2].ru_minflt, flush=True)
"""


@test(timeout=60)
def an_interpreter_leaves_its_template_alone_at_its_end():
    with daemon_with(POOLS["python3"]) as d:
        r = Pool(d, "python3").exec(FAULTS_AT_THE_END)
        same((r["exit_code"], r["stderr"]), (0, ""), "the end")
        plain, full = map(int, r["stdout"].split())
        # Each page that is written to is copied. The class itself causes about 50 faults.
        ensure(plain + 100 < full, f"faults: {plain}; if all modules are removed {full}")


@test(timeout=60)
def warm_code_cannot_reach_the_process_of_its_template():
    """Code finds no process of the template, and cannot signal or inspect one."""
    code = r"""
import os, signal
print(sorted(p == str(os.getpid()) for p in os.listdir('/proc') if p.isdigit()))
for p in range(1, 200):
    if p == os.getpid(): continue
    for what in (lambda: os.kill(p, 0), lambda: os.listdir(f'/proc/{p}/fd'), lambda: open(f'/proc/{p}/mem', 'rb'), lambda: os.pidfd_open(p), lambda: os.setpgid(p, p), lambda: os.sched_getaffinity(p)):
        try: what(); print(p > 1 or 'init', what.__code__.co_names)
        except OSError as e: pass
"""
    with daemon_with(POOLS["python3"]) as d:
        cold = d.post("/v1/exec", genuine(warm_cases.Case("reach", code), "python3"))
        warm = Pool(d, "python3").exec(code)
        same((warm["stdout"], warm["stderr"]), (cold["stdout"], cold["stderr"]), "what can be reached")
