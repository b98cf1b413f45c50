"""Cases of test_warm_fidelity.py about the modules that are hidden in a template until code imports them."""

import pathlib
import re

from warm_cases import Case

HIDDEN_PY = pathlib.Path(__file__).resolve().parents[2] / "src/snapshot/hidden.py"
STANDARD = re.search(r'STANDARD = """(.*?)"""', HIDDEN_PY.read_text(), re.S)[1].split()

# Everything that the import of a module may change, in its order.  typing adds members to itself when they are used.
LOOK = """
import _codecs, _signal, _thread, _warnings, builtins, os, sys
spaces = {name: list(vars(m)) for name, m in list(sys.modules.items()) if hasattr(m, '__dict__') and name not in ('__main__', '__mp_main__', 'typing')}
print(*spaces.items(), sep='\\n')
print(_warnings.filters, sys.meta_path, len(sys.path_hooks), sys.path, sorted(os.environ), sys.getrecursionlimit(), sys.excepthook)
print([_signal.getsignal(i) for i in range(1, 32)], _thread._count(), list(vars(builtins)), sys.get_asyncgen_hooks())
import atexit, copyreg, threading
print(atexit._ncallbacks(), sorted(map(str, copyreg.dispatch_table)), copyreg._extension_registry, threading.excepthook, len(getattr(threading, '_threading_atexits', [])))
print(threading.main_thread().name, getattr(threading.main_thread(), 'native_id', os.getpid()) == os.getpid())
"""

EACH = [Case(f"import {name}", f"try:\n    import {name}\nexcept ImportError as e:\n    print(e)\n" + LOOK) for name in STANDARD]

ORDER = "print(*sys.modules)"

HIDDEN = [
    Case("sys.modules at the start", "import sys; print(*sys.modules)"),
    Case("no module can be found before it is imported", "import gc, sys\nprint(sorted(o.__name__ for o in gc.get_objects() if type(o) is type(sys) and o.__name__ in ('json', 're', 'typing', 'random')))\nprint(sorted(vars(sys.modules['os'])), hasattr(sys.modules['os'], 'json'))"),
    Case("one after the other", f"import sys\nimport dataclasses\n{ORDER}\nimport asyncio\n{ORDER}\nimport logging.handlers, xml.sax\n{ORDER}\nfrom concurrent.futures import ThreadPoolExecutor, process\n{ORDER}"),
    Case("in another order", f"import sys\nimport urllib.request\n{ORDER}\nimport unittest.mock\n{ORDER}\nimport multiprocessing.pool\n{ORDER}\nimport email.mime.text, http.server\n{ORDER}"),
    Case("a package, then what is in it", "import sys, concurrent, importlib, email, xml, logging\nprint([hasattr(m, n) for m, n in ((concurrent, 'futures'), (importlib, 'util'), (email, 'mime'), (xml, 'etree'), (logging, 'handlers'))])\nimport email.mime.text, logging.handlers\nprint(hasattr(email, 'mime'), hasattr(logging, 'config'), email.mime.text.MIMEText('x'))"),
    Case("all ways to import", "import sys, importlib\na = __import__('xml.etree.ElementTree')\nb = __import__('xml.dom.minidom', fromlist=['parse'])\nc = importlib.import_module('.mime', 'email')\nd = importlib.import_module('email.mime.text')\nfrom json import decoder as e, loads\nfrom xml.sax import *\nprint(a, b, c, d, e, loads, make_parser)\n" + ORDER),
    Case("find_spec, and what is found", "import importlib.util as u, sys\nfor n in 'json', 'json.decoder', 'random', 'asyncio', 'gc', 'ssl', 'nosuch':\n    s = u.find_spec(n)\n    print(s and (s.name, s.origin, s.submodule_search_locations), n in sys.modules)\ns = u.find_spec('random'); m = u.module_from_spec(s); s.loader.exec_module(m)\nimport random\nprint(m is random, m.Random is random.Random)"),
    Case("reload", "import importlib, json, json.decoder\na = json.loads; b = json.decoder.JSONDecoder\nprint(importlib.reload(json) is json, json.loads is a, json.decoder.JSONDecoder is b)"),
    Case("pkgutil and runpy", "import pkgutil, sys, json\nprint([m.name for m in pkgutil.iter_modules(json.__path__)], pkgutil.get_data('json', 'nosuch.py') if 0 else '', pkgutil.resolve_name('json:dumps')([1]))\nimport runpy\nprint(sorted(runpy.run_module('bisect'))[:4], 'bisect' in sys.modules)"),
    # Modules that cannot be in the template.
    Case("removed from sys.modules and imported again", "import sys, json\na = json; del sys.modules['json']\nimport json\nprint(a is json, hasattr(a, 'decoder'), hasattr(json, 'decoder'), a.dumps is json.dumps, a.JSONDecoder is json.JSONDecoder)\n" + ORDER),
    Case("a module that others need is removed", "import sys, enum, re\na = enum; del sys.modules['enum'], sys.modules['re']\nimport re as b\nimport enum\nprint(a is enum, re is b, b.RegexFlag.__mro__[1] is a.IntFlag, issubclass(b.RegexFlag, enum.IntFlag))\nimport inspect\nprint(issubclass(inspect._ParameterKind, enum.IntEnum))\n" + ORDER),
    Case("all are removed and imported again", "import sys, asyncio, decimal, sqlite3, dataclasses\nfor n in list(sys.modules):\n    if n.partition('.')[0] in ('asyncio', 'decimal', '_decimal', 'dataclasses', 'sqlite3', 'inspect'): del sys.modules[n]\nimport dataclasses as d, asyncio as a\nprint(a is asyncio, d is dataclasses, a.run is asyncio.run)\nasync def f(): return 5\nprint(a.run(f()))\n" + ORDER),
    Case("a module is forbidden", "import sys\nsys.modules['ssl'] = None\nimport urllib.request\nprint(hasattr(urllib.request, 'HTTPSHandler'))\ntry: import ssl\nexcept ImportError as e: print(repr(e))\n" + ORDER),
    Case("a module is replaced by another object", "import sys\nclass Fake:\n    def __getattr__(self, name):\n        if name.startswith('__'): raise AttributeError(name)\n        print('asked for', name); return 5\nsys.modules['heapq'] = Fake()\nimport queue\nprint(queue.heappush)\nimport heapq\nprint(type(heapq).__name__)"),
    Case("own module beside main.py", "import random\nprint(random.x, random.__file__)\nimport tempfile", files={"random.py": "print('own'); x = 1"}, exit=1),
    Case("own package beside main.py", "import sys, json\nprint(json, json.x)\nimport string, json.decoder", files={"json/__init__.py": "x = 1"}, exit=1, warm=False),
    Case("own module that others need", "import asyncio", files={"heapq.py": "print('own heapq')"}, exit=1),
    Case("own module that others may do without", "import bisect, heapq, random\nprint(bisect.bisect, heapq.heappop, random.bisect if hasattr(random, 'bisect') else 0)", files={"_heapq.py": "print('own')", "_bisect.py": "raise ImportError"}),
    Case("a directory without __init__ hides nothing", "import json, random\nprint(json.dumps([1]), random.random() < 1, random.__file__)", files={"json/x.txt": "", "random/y.py": ""}, warm=False),
    Case("own module that the code writes", "open('random.py', 'w').write('x = 7')\nimport random\nprint(random.x)\nopen('textwrap.py', 'w').write('x = 8')\nimport sys; sys.path_importer_cache.clear()\nimport textwrap\nprint(textwrap.x)"),
    Case("own module in a directory that is put before", "import os, sys\nos.mkdir('/tmp/p'); open('/tmp/p/csv.py', 'w').write('x = 1'); open('/tmp/p/base64.py', 'w').write('x = 2')\nsys.path.insert(0, '/tmp/p'); sys.path.append('/nosuch')\nimport csv, base64\nprint(csv.x, base64.x)\nimport ssl"),
    Case("own module in a directory that is put behind", "import os, sys\nos.mkdir('/tmp/p'); open('/tmp/p/csv.py', 'w').write('x = 1')\nsys.path.append('/tmp/p')\nimport csv\nprint(csv.__file__)"),
    Case("own module in an archive", "import sys, zipfile\nwith zipfile.ZipFile('/tmp/z.zip', 'w') as z: z.writestr('csv.py', 'x = 3')\nsys.path.insert(0, '/tmp/z.zip')\nimport csv, wave\nprint(csv.x, wave.__file__)"),
    Case("own module in the current directory", "import os, sys\nos.mkdir('/tmp/p'); open('/tmp/p/csv.py', 'w').write('x = 1')\nsys.path[0] = ''\nimport wave; print(wave.__file__)\nos.chdir('/tmp/p')\nimport csv; print(csv.x)"),
    Case("no path at all", "import sys\nsys.path = []\ntry: import json\nexcept ImportError as e: print(e)\nimport itertools, gc, _random\nsys.path_importer_cache.clear()\nimport csv", exit=1),
    Case("a finder of the code", "import sys\nclass F:\n    @staticmethod\n    def find_spec(name, path=None, target=None): print('find', name, path and 1)\nsys.meta_path.insert(0, F)\nimport json, dataclasses\nsys.meta_path.remove(F)\nimport csv, unittest\n" + ORDER),
    Case("a path hook of the code", "import sys\ndef hook(path): print('hook', path); raise ImportError\nsys.path_hooks.insert(0, hook); sys.path_importer_cache.clear()\nimport json\nsys.path_hooks.remove(hook)\nimport csv"),
    Case("__import__ of the code", "import builtins\nreal = builtins.__import__\ndef own(name, *a, **k): print('import', name, a[2:]); return real(name, *a, **k)\nbuiltins.__import__ = own\nimport json, logging\nbuiltins.__import__ = real\nimport csv, uuid"),
    Case("an audit hook sees imports", "import sys\nprint(sys.addaudithook, sys.addaudithook.__doc__, sys.addaudithook.__text_signature__, sys.addaudithook.__module__, sys.addaudithook.__self__)\ntry: sys.addaudithook()\nexcept TypeError as e: print(e)\nlog = []\nsys.addaudithook(hook=lambda e, a: log.append((e, a[0])) if e == 'open' or a[:1] in [('json',), ('json.decoder',), ('dataclasses',), ('inspect',)] else None)\nimport json, dataclasses\nprint(*log, sep='\\n')"),
    Case("an audit hook refuses an import", "import sys\ndef hook(e, a):\n    if e == 'import' and a[0] == '_socket': raise ImportError('refused')\nsys.addaudithook(hook)\nimport asyncio", exit=1, err=True),
    Case("a trace function sees imports", "import sys\nlog = []\ndef t(f, e, a): log.append((f.f_code.co_filename, f.f_code.co_name, f.f_lineno, e)); return t\nsys.settrace(t)\nimport textwrap, csv\nsys.settrace(None)\nprint(*log[:100], sep='\\n')\nimport json\n" + ORDER),
    Case("a profile function sees imports", "import sys\nlog = []\nsys.setprofile(lambda f, e, a: log.append((f.f_code.co_filename, f.f_code.co_name, e)))\nimport textwrap, csv\nsys.setprofile(None)\nprint(*log[:100], sep='\\n')"),
    Case("cProfile sees imports", "import cProfile, pstats, io\np = cProfile.Profile()\np.enable(); import textwrap; p.disable()\nprint(sorted(k for k in pstats.Stats(p).stats if 'importlib' in k[0] or 'textwrap' in k[0]))"),
    # Errors.
    Case("a module that does not exist", "def f():\n    import nosuch\nf()", exit=1),
    Case("a module that does not exist in a package", "import json\nimport json.nosuch", exit=1),
    Case("a module in what is not a package", "import random.nosuch", exit=1),
    Case("a name that does not exist", "from json import nosuch", exit=1),
    Case("an error in an own module", "import helper", files={"helper.py": "import json\ndef f(): import csv, other\nf()", "other.py": "import logging\n1 / 0"}, exit=1),
    Case("an import error in an own module", "import helper", files={"helper.py": "import json, nosuch"}, exit=1),
    Case("own modules that import each other", "import a", files={"a.py": "import csv\nfrom b import x", "b.py": "import json\nfrom a import y"}, exit=1),
    Case("the stack of an own module that is imported", "import helper", files={"helper.py": "import traceback, sys\ntraceback.print_stack()\nf = sys._getframe()\nwhile f: print(f.f_code.co_name, f.f_code.co_filename, f.f_lineno); f = f.f_back"}, err=True),
    Case("modules that warn", "import warnings; warnings.simplefilter('default')\nimport imp, cgi, telnetlib", exit=None, err=True),
    # What modules register, and what they know of the process.
    Case("functions at the end, in the order of imports", "import atexit\natexit.register(print, 'first')\nimport logging\natexit.register(print, 'second')\nclass H(logging.Handler):\n    def emit(self, r): print(r.getMessage())\n    def close(self): print('closed'); super().close()\nlogging.getLogger().addHandler(H())\nlogging.warning('x')\nimport multiprocessing.util, concurrent.futures.thread\natexit.register(print, 'last')"),
    Case("functions of modules that were not imported", "import atexit\nprint(atexit._ncallbacks())\nimport logging; print(atexit._ncallbacks())\nimport logging; print(atexit._ncallbacks())"),
    Case("fork before and after imports", "import os, sys\ndef child(what):\n    sys.stdout.flush()\n    if os.fork() == 0: what(); sys.stdout.flush(); os._exit(0)\n    os.wait()\ndef a():\n    import threading; print(threading.main_thread().native_id == os.getpid(), threading.current_thread().name)\nchild(a)\nimport threading, random, logging\nchild(a)\nrandom.seed(1); x = random.random(); random.seed(1)\nchild(lambda: print(random.random() != x))\nprint(random.random() == x)"),
    Case("hooks of fork run in the order of their registration", "import os\nos.register_at_fork(before=lambda: print('before 1', flush=True), after_in_child=lambda: print('child 1', flush=True))\nimport random, logging, threading\nos.register_at_fork(before=lambda: print('before 2', flush=True), after_in_child=lambda: print('child 2', flush=True))\nif os.fork() == 0: os._exit(0)\nos.wait()"),
    Case("threads import the same at once", "import sys, threading\ngo = threading.Event(); done = []\ndef f():\n    go.wait()\n    import asyncio, unittest.mock, xml.dom.minidom, email.mime.text\n    done.append((asyncio, unittest.mock, xml.dom.minidom, email.mime.text))\nall = [threading.Thread(target=f) for i in range(8)]\nfor t in all: t.start()\ngo.set()\nfor t in all: t.join()\nprint(len(set(done)), sys.modules['asyncio'] is done[0][0])"),
    Case("threads and their numbers", "import os, threading\nt = threading.Thread(target=lambda: print(threading.get_native_id() != os.getpid(), threading.current_thread().name)); t.start(); t.join()\nprint(threading.main_thread().native_id == os.getpid(), threading.active_count(), [t.name for t in threading.enumerate()])"),
    Case("the directory that multiprocessing knows", "import os\nos.chdir('/tmp')\nimport multiprocessing.process as p\nprint(p.ORIGINAL_DIR)"),
    Case("a directory that is gone", "import os\nos.mkdir('/tmp/d'); os.chdir('/tmp/d'); os.rmdir('/tmp/d')\nimport multiprocessing.process as p\nprint(p.ORIGINAL_DIR)"),
    Case("processes", "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n    for how in 'fork', 'spawn':\n        with m.get_context(how).Pool(2) as p: print(p.map(f, range(4)))\n    import sys; print(sys.modules['__mp_main__'] is sys.modules['__main__'])"),
    Case("relative times of logging", "import time; time.sleep(.3)\nimport logging\nr = logging.makeLogRecord({}); print(r.relativeCreated < 200, logging._startTime > 1e9)"),
    Case("the time zone is that of the import", "import os, time\nos.environ['TZ'] = 'Asia/Tokyo'; time.tzset()\nimport datetime, _strptime, email.utils, logging\nprint(time.tzname, datetime.datetime.fromtimestamp(0), datetime.datetime.strptime('JST', '%Z'), logging.Formatter().formatTime(logging.makeLogRecord({'created': 0, 'msecs': 0})))"),
    Case("encodings", "import sys, codecs\nprint('ä'.encode('latin-1'), 'bücher.de'.encode('idna'), codecs.lookup('cp1252').name, 'x'.encode('punycode'))\n" + ORDER),
    Case("sub-interpreters import", "import _xxsubinterpreters as s\ni = s.create()\ns.run_string(i, \"import sys, json, dataclasses, logging; print(json.dumps([1]), 'asyncio' in sys.modules, flush=True)\")\ns.destroy(i)\nimport json, asyncio\nprint(json.dumps([2]))", exit=None, err=True),
    Case("imports at the end", "import atexit\nclass A:\n    def __del__(self):\n        try: import csv; print('csv', csv.reader)\n        except ImportError as e: print(e)\na = A()\n@atexit.register\ndef f():\n    import json, dataclasses; print(json.dumps([1]))", err=True),
    Case("an object with a destructor in a module that was hidden", "import json, logging\nclass A:\n    def __init__(self, n): self.n = n\n    def __del__(self): print('gone', self.n)\njson.a = A(1); json.decoder.b = A(2); logging.root.c = A(3)\nimport csv; csv.d = A(4)\na = A(5)"),
    Case("a destructor without the collector", "import gc, json\ngc.disable()\nclass A:\n    def __del__(self): print('gone')\njson.a = A()\nimport csv; csv.reader_of = A()"),
    Case("exit with a text after imports", "import sys, asyncio, json\nsys.exit('bye')", exit=1),
    Case("the same names as in the template", "import re, typing, enum, string\nprint(typing.List[int] is typing.List[int], enum.Enum('E', 'a b').a)"),
    Case("libraries work together", "import asyncio, concurrent.futures, contextlib, dataclasses, decimal, fractions, hashlib, sqlite3, ssl, statistics, tempfile, uuid, zoneinfo\nasync def f():\n    loop = asyncio.get_running_loop()\n    with concurrent.futures.ThreadPoolExecutor() as p: return await loop.run_in_executor(p, sum, range(10))\nprint(asyncio.run(f()), hashlib.sha256(b'x').hexdigest(), decimal.Decimal('1.1') + 1, fractions.Fraction(1, 3) + 1, statistics.mean([1, 2]))\nc = sqlite3.connect(':memory:'); print(c.execute('select 1 + 1').fetchall(), zoneinfo.ZoneInfo('UTC'))\n@dataclasses.dataclass\nclass P:\n    x: int = 0\nprint(P(3), uuid.UUID(int=5), ssl.create_default_context().verify_mode)\nwith tempfile.TemporaryDirectory() as d: print(d.startswith('/tmp'))"),
]  # fmt: skip
