# snapshot/python.py -- the Python part of a waiting Python interpreter (see python.c).
#
# It runs once, before the template is written, in the namespace of hidden.py, that code never sees. The functions look
# up all names that they need in advance, because code may change them.
import gc
import os
import sys

for name in set(sys.modules) - first:
    del sys.modules[name]  # code must not see that we have imported it
SCRIPT = os.path.join(os.getcwd(), "main.py")


def preload(names):
    """A name that begins with '-' is hidden, and skipped if it cannot be imported; '-' is the standard library. '+': the
    same for a module that was learned."""
    seen = set(sys.path_importer_cache)
    names = [name for name in names.decode().split("\0") if name]
    for name in names:
        try:
            if name[0] not in "-+":
                __import__(name)  # importlib may import warnings, which would print more at the end
        except Exception as error:
            return "preload: %s: %s: %s" % (name, type(error).__name__, error)
    visible = set(sys.modules)
    standard = [n for name in names if name[0] == "-" for n in (STANDARD.split() if name == "-" else [name[1:]])]
    try:
        import_hidden(standard, [name[1:] for name in names if name[0] == "+"])
    except Refused as refused:
        return "preload: %s" % refused
    global driver
    driver = compile(DRIVER, "<context>", "exec")
    warm_up()
    add_steps()
    hide(visible)
    for path in set(sys.path_importer_cache) - seen:
        del sys.path_importer_cache[path]
    gc.collect()
    gc.freeze()
    return ""


def become_main():
    # A module that the garbage collector tracks, unlike the frozen ones, with the attributes that the interpreter sets
    # between opening the script and running it.
    module = type(sys)("__main__")
    main = module.__dict__
    main.clear()
    main.update(sys.modules["__main__"].__dict__)
    if "__mp_main__" in sys.modules:  # the name that multiprocessing uses for it
        sys.modules["__mp_main__"] = module
    sys.modules["__main__"] = module
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader
    main["__file__"] = SCRIPT
    main["__cached__"] = None
    main["__loader__"] = loader("__main__", SCRIPT)


# The first use of a feature costs more than the second: caches of types, codecs and the parser, and pages that are
# copied. So this code runs once before the template is written, and once more to record which pages it touches.
USUAL = {
    "": "def f(a, *b, c=1, **d):\n    return [x for x in b]\n"
        "class C:\n    def m(self): return f'{self!r} {1.5:.2f}'\n"
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    str(e)\nC().m()\nf(1, 2)\n"
        "import io\nprint(1, 'a', sep=' ', end='\\n', file=io.StringIO(), flush=True)\n"
        "sorted([2, 1], key=abs, reverse=True), max([1, 2], key=abs), int('1', base=10), sum([1], start=0)\n"
        "'a b'.split(sep=' '), ' '.join(['a']).encode().decode(), list(zip([1], enumerate([2], start=1)))\n",
    "json": "import json\njson.loads(json.dumps({'a': [1, 2.5, None, 'x']}))\n",
    "re": "import re\nre.sub(r'(a+)b', r'\\1', 'aab')\n",
    "numpy": "import numpy\na = numpy.arange(6.0).reshape(2, 3)\nstr(a @ a.T), a.mean(), repr(a)\n",
    "pandas": "import pandas\nd = pandas.DataFrame({'a': [1, 2], 'b': ['x', 'y']})\n"
              "str(d), d.a.sum(), d.describe(), d.groupby('b').a.mean(), d[d.a > 1]\n",
}


# Code as it is common, for the trial only: the pages that it touches are copied in advance in the interpreter that will
# be used next. Each part is left out if its module is missing.
COMMON = {
    "os": "for n in os.listdir('.'):\n    os.path.join(n, 'x'), os.path.exists(n), os.path.splitext(n)\nos.environ.get('HOME')\n"
        "with open(__file__, encoding='utf-8') as f:\n    text = f.read().splitlines()\n    '\\n'.join(text)\n"
        "with open(os.devnull, 'w') as f:\n    f.write('x'), print('y', file=f)\nwith open(__file__, 'rb') as f:\n    f.read()\n",
    "collections": "c = collections.Counter('aab')\nc.most_common(1)\nd = collections.defaultdict(list)\nd['a'].append(1)\n"
        "P = collections.namedtuple('P', 'x y')\nP(1, 2), collections.deque([1], maxlen=3), collections.OrderedDict(a=1)\n",
    "dataclasses": "from dataclasses import dataclass, field, asdict\nfrom typing import Optional, List\n@dataclass(order=True)\n"
        "class D:\n    a: int\n    b: Optional[List[str]] = field(default_factory=list)\nasdict(D(1)), D(1) < D(2), repr(D(1))\n",
    "datetime": "n = datetime.datetime.now()\n(n - datetime.timedelta(days=1)).strftime('%Y-%m-%d %H:%M'), n.isoformat(), str(n.date())\n"
        "datetime.datetime.strptime('2024-01-02', '%Y-%m-%d')\n",
    "functools": "@functools.lru_cache(maxsize=None)\ndef g(n):\n    return n if n < 2 else g(n - 1) + g(n - 2)\ng(5)\n"
        "functools.reduce(lambda a, b: a + b, [1, 2]), functools.partial(g, 1)()\n@functools.wraps(g)\ndef h():\n    pass\n",
    "itertools": "list(itertools.chain([1], [2])), list(itertools.islice(itertools.count(), 2)), list(itertools.permutations('ab'))\n",
    "contextlib": "@contextlib.contextmanager\ndef m():\n    yield 1\nwith m(), contextlib.suppress(ValueError):\n    raise ValueError('x')\n",
    "csv": "import io\nb = io.StringIO()\nw = csv.DictWriter(b, ['a'])\nw.writeheader()\nw.writerow({'a': 1})\n"
        "b.seek(0)\nlist(csv.DictReader(b))\n",
    "random": "random.seed(1)\nrandom.random(), random.choice([1]), random.randint(1, 3), random.shuffle([1, 2])\n",
    "math": "math.sqrt(2), math.pi, math.floor(1.5), round(2.567, 2)\n",
    "time": "time.time(), time.perf_counter(), time.sleep(0)\n",
    "numpy": "a = numpy.arange(6.0).reshape(2, 3)\na[a > 1].sum(), numpy.linalg.inv(numpy.eye(2)), numpy.sort(a, axis=0)\n"
        "a.std(axis=1), numpy.percentile(a, 50), numpy.random.default_rng(1).normal(size=3), numpy.where(a > 1, a, 0)\n",
    "pandas": "import io\nd = pandas.DataFrame({'a': [1, 2], 'b': ['x', 'y']})\nd['c'] = d['a'] * 2\nd['a'].corr(d['c'])\n"
        "d.groupby('b')['a'].agg(['count', 'mean']).round(2), d.sort_values('a').to_string(index=False)\n"
        "pandas.read_csv(io.StringIO(d.to_csv(index=False))).merge(d, on='b').head().to_dict('records')\n"
        "d.pivot_table(index='b', values='a', aggfunc='sum'), d['a'].apply(abs), d.loc[d['b'].isin(['x'])].fillna(0).reset_index()\n"
        "s = pandas.Series([1.0, 2], index=pandas.date_range('2024-01-01', periods=2))\ns.resample('D').mean(), str(s)\n",
    "matplotlib": "import io\nmatplotlib.use('Agg')\nfrom matplotlib import pyplot\nf, x = pyplot.subplots()\nx.plot([1, 2], label='a')\n"
        "x.bar(['a', 'b'], [1, 2])\nx.set_title('t')\nx.legend()\nf.savefig(io.BytesIO(), format='png')\npyplot.close(f)\n",
    "": "class B:\n    count = 0\n    def __init__(self, x, *, y=None):\n        self.x, self._y = x, y\n    @property\n"
        "    def y(self):\n        return self._y\n    @classmethod\n    def make(cls):\n        return cls(1)\n    @staticmethod\n"
        "    def s():\n        yield from (1, 2)\n    def __repr__(self):\n        return f'{type(self).__name__}({self.x:>5}, {self._y!r})'\n"
        "    def __eq__(self, other):\n        return isinstance(other, B) and self.x == other.x\n    __hash__ = None\n"
        "class C(B):\n    def __init__(self):\n        super().__init__(1)\nclass Bad(ValueError):\n    pass\n"
        "def f(a: int, *b, c=1, **d) -> str:\n    'text'\n    global G\n    G = {k: v for k, v in sorted(d.items())}\n"
        "    while a > 0:\n        a -= 1\n        if a % 2 and not c:\n            continue\n        elif a == 3:\n            break\n"
        "    else:\n        c += 1\n    return 'a' if a else 'b'\ntry:\n    f(5, x=1), C(), str([B.make(), *B.s()]), B(1) == C(), {1} | {2}\n"
        "    assert f(1), 'x'\n    raise Bad('x') from None\nexcept (Bad, KeyError) as e:\n    str(e), e.args\nfinally:\n    pass\n"
        "a, *b = 'x y z'.split()\nx = {'k': [1, 2.5, None, True]}\nx['k'][1:], x.get('z', 0), x.items(), ' '.join(b).title().replace('Y', 'u')\n"
        "'%-5s|%03d|%.2f' % ('a', 1, 2.0), '{:,}'.format(1234567), 'é'.encode(), sum(i * i for i in range(9) if i), any(b), all(b)\n"
        "lambda v: v[0], list(map(str, filter(None, [1]))), min(3, 1), abs(-1), divmod(7, 2), (1).bit_length(), 'a,b'.partition(',')\n",
}


def usual():
    return "".join(code for name, code in USUAL.items() if is_there(name))


def common():
    """Code that succeeds also if one of its parts fails."""
    parts = ["import %s\n%s" % (name, code) if name else code for name, code in COMMON.items() if is_there(name)]
    return "".join("try:\n    %s\nexcept Exception:\n    pass\n" % part.strip().replace("\n", "\n    ") for part in parts)


def is_there(name):
    return not name or name in sys.modules or name in hidden


def warm_up():
    patterns = sys.modules["re"]._cache if "re" in sys.modules else {}
    known = set(patterns)
    code = compile(usual(), SCRIPT, "exec")
    for _ in range(10):  # Python 3.11 and later adapt code to its use after some executions
        exec(code, {"__name__": "warm"})
    for key in set(patterns) - known:
        del patterns[key]
    sys.stdout.write("")
    sys.stdout.flush()


# What depends on the process, by the name of the module that has stored it: a function that takes the module and returns
# one that stores it again. The code may have changed the module by then. Modules that are imported later ask the kernel.
def renew_ssl(module, urandom=os.urandom):
    return lambda: module.RAND_add(urandom(32), 32.0)


def renew_key(module, urandom=os.urandom, cwd=os.getcwd, real=os.path.abspath):
    names, config, kind = vars(module), module._current_process._config, module.AuthenticationString

    def renew():
        config["authkey"] = kind(urandom(32))
        try:
            names["ORIGINAL_DIR"] = real(cwd())
        except OSError:
            names["ORIGINAL_DIR"] = None

    return renew


def renew_main_thread(module):
    return getattr(module.main_thread(), "_set_native_id", None)


def renew_start(module):  # times that count from the start of the program
    import time

    names, now = vars(module), time.time if isinstance(module._startTime, float) else time.time_ns
    return lambda: names.__setitem__("_startTime", now())


RENEW = {
    "random": lambda module: module.seed,
    "numpy.random": lambda module: module.seed,
    "_ssl": renew_ssl,
    "multiprocessing.process": renew_key,
    "threading": renew_main_thread,
    "logging": renew_start,
}


def add_steps():
    # Not OpenSSL: nothing has drawn a random number, so it asks the kernel for a seed when it is first used. If another
    # module has, OpenSSL sees that the number of the process has changed. RAND_add() would take 3 ms.
    for name, steps in journal.items():
        renew = RENEW[name](modules[name]) if name in RENEW and name != "_ssl" else None
        if renew:
            steps.append((renew, (), {}))


def settle():
    # Runs in the child that is written to the template.
    become_main()
    # Used by shutdown.c.
    global unfrozen, removable
    removable = installed()
    unfrozen = []
    loaded = {name: RENEW[name](modules[name]) for name in RENEW if name in modules}
    if "logging" in loaded:  # called when the code is known
        globals()["started"] = loaded.pop("logging")
    seeds = [renew for renew in loaded.values() if renew]

    def refresh():
        for seed in seeds:
            seed()
        return True

    gc.collect()  # also clears the free lists, which are spread over many pages
    return refresh if seeds else False


def prepare(argc, envc, head, chdir=os.chdir, environ=os.environ, decode=os.fsdecode):
    words = [decode(word) for word in head.split(b"\0")]
    if words[0]:
        chdir(words[0])
    sys.argv.extend(words[1:1 + argc])
    if hasattr(sys, "orig_argv"):
        sys.orig_argv.extend(words[1:1 + argc])
    for pair in words[1 + argc:1 + argc + envc]:
        name, _, value = pair.partition("=")
        environ[name] = value


def installed():
    # The modules of the template that do not belong to the standard library, by the first part of their names.
    places = tuple(path + "/" for path in sys.modules["site"].getsitepackages()) if "site" in sys.modules else ()
    # Not getattr(): a module may import others when it is asked for an attribute.
    files = [(name, getattr(m, "__dict__", {}).get("__file__")) for name, m in template.items()]
    return {name.partition(".")[0] for name, file in files if str(file).startswith(places)}


def find_packages(isdir=os.path.isdir, listdir=os.listdir):
    # HOME may differ from that of the template. If the user has installed another version of a module that is in the
    # template, all modules that are not of the standard library are imported again when code needs them: others may use
    # the old version.
    site = sys.modules.get("site")
    if not site or not site.ENABLE_USER_SITE:
        return
    site.USER_BASE = site.USER_SITE = None
    path = site.getusersitepackages()
    if not removable or not isdir(path):
        return
    if not removable.isdisjoint(entry.partition(".")[0] for entry in listdir(path)):
        for name in list(template):
            if name.partition(".")[0] in removable:
                hidden.pop(name, None)
                sys.modules.pop(name, None)


def drive():
    # As `python3 -c` would.
    sys.path[0] = ""
    find_packages()
    exec(driver, {"__name__": "__main__", "__builtins__": sys.modules["builtins"], "watch_hidden": watch_imports})


def trial(restore_fd, template_fd):
    # Tests whether a process can be restored here, and records the pages that it touches when it runs code. Returns '!'
    # and the reason, or the version and the imported modules.
    loaded = sorted({name.partition(".")[0] for name in sys.modules})
    times = hidden_times()  # try_one() imports some of them
    for mode, code in ((4, ""), (3, usual() + common())):
        why = try_one(restore_fd, template_fd, mode, (code + "print(1 + 1, 'ok')\n").encode())
        if why:
            return "!" + why
    os.unlink(SCRIPT)
    return " ".join(["%d.%d.%d" % sys.version_info[:3]] + loaded + times)


def try_one(restore_fd, template_fd, mode, code):
    import socket
    import struct

    ours, theirs = socket.socketpair()
    out, to = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(to, 1)
        os.dup2(theirs.fileno(), 100)
        os.dup2(template_fd, 101)
        os.dup2(100, 3)
        os.dup2(101, 4)
        os.closerange(5, restore_fd)
        os.execve("/proc/self/fd/%d" % restore_fd, ["python3", "main.py"], dict(os.environ))
    theirs.close()
    os.close(to)
    ours.settimeout(20)
    first = ours.recv(200)
    if first[:1] != b"R":
        return first[1:].decode() or "a restored process ended at once"
    # struct release_head (release.h), then the working directory ("") and the code.
    ours.sendall(struct.pack("=IIIII", 1 + len(code), mode, 0, 0, len(code)) + b"\0" + code)
    output = b""
    while True:
        more = os.read(out, 1000)
        if not more:
            break
        output += more
    os.close(out)
    ours.close()
    status = os.waitpid(pid, 0)[1]
    return "" if status == 0 and output == b"2 ok\n" else "a restored process ended with status %d" % status
