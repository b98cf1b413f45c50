"""The cases of test_warm_fidelity.py for python3: code that must behave as when run by `python3 main.py`.

One case, one thing proved; its name says which.  A case prints what it looks at, and prints nothing that differs from
run to run (a pid, a time, the order of a set): only addresses are made equal afterwards.

exit: how the genuine run ends, 128+N after signal N; one that should succeed but does not proves nothing, so
this is checked too.  err: it may write to standard error although it ends with 0.  warm=False: may be
served without the pool, as long as it behaves.  users: who runs it.  aged: seconds for the pool to grow old first.
normal: further (pattern, replacement) for its output.  All else is sent with the request."""

import base64


class Case:
    def __init__(self, name, code, exit=0, err=False, warm=True, users=("root", "user"), aged=0, normal=(), **request):
        self.name, self.code, self.exit, self.err, self.warm = name, code.removeprefix("\n"), exit, err, warm
        self.users, self.aged, self.normal, self.request = users, aged, normal, request


def base64_of(data):
    return {"base64": base64.b64encode(data).decode()}


NAMES = [
    Case("argv without arguments", "import sys; print(sys.argv)"),
    Case("argv with arguments", "import sys; print(sys.argv)", args=["a", "b c", "", "ü€😀", "x=1"]),
    Case("arguments that look like options", "import sys; print(sys.argv, sys.flags)", args=["-c", "--", "-u", "-h", "-", "-X", "dev"]),
    Case("arguments that a shell would change", "import sys; print(sys.argv)", args=["$HOME", "`id`", "*", "a\nb", "'", '"', "\\", "\t"]),
    Case("many arguments", "import sys; print(len(sys.argv), sys.argv[-1])", args=[str(i) for i in range(400)]),
    Case("one long argument", "import sys; print(len(sys.argv[1]), set(sys.argv[1]))", args=["x" * 60000]),
    Case("orig_argv without arguments", "import sys; print(sys.orig_argv)"),
    Case("orig_argv with arguments", "import sys; print(sys.orig_argv)", args=["-c", "b c", ""]),
    Case("argv can be changed", "import sys; sys.argv.append('x'); sys.argv[0] = 'y'; print(sys.argv, sys.orig_argv)"),
    Case("sys.path, all of it", "import sys; print(sys.path)"),
    Case("sys.flags", "import sys; print(sys.flags)"),
    Case("sys.executable and prefixes", "import sys; print(sys.executable, sys._base_executable, sys.prefix, sys.base_prefix, sys.exec_prefix, sys.platlibdir)"),
    Case("sys._xoptions and warnoptions", "import sys; print(sys._xoptions, sys.warnoptions)"),
    Case("every plain value in sys", r"""
import sys
for name, value in sorted(vars(sys).items()):
    if isinstance(value, (str, int, float, bool, tuple, list, bytes, type(None))):
        print(name, repr(value))
"""),
    Case("every name in sys", "import sys; print(sorted(vars(sys)))"),
    Case("every name in builtins", "import builtins; print(sorted(vars(builtins)))"),
    Case("names at the start, in their order", "print(list(globals()))"),
    Case("dir() at the start", "print(dir())"),
    Case("locals are globals", "print(locals() is globals(), vars() is globals())"),
    Case("__name__", "print(__name__)"),
    Case("__file__", "print(__file__)"),
    Case("__doc__ without a docstring", "print(__doc__)"),
    Case("__doc__ with a docstring", '"""the\n  docstring"""\nprint(repr(__doc__))'),
    Case("__spec__, __package__, __cached__", "print(__spec__, repr(__package__), __cached__)"),
    Case("__loader__", "print(type(__loader__), __loader__.name, __loader__.path, __loader__.is_package('__main__'))"),
    Case("the loader gives the source", "print(__loader__.get_source('__main__'), end='')"),
    Case("__builtins__ is the module", "import builtins; print(type(__builtins__), __builtins__ is builtins)"),
    Case("__annotations__", "print(__annotations__)\nx: int = 1\ny: 'str'\nprint(__annotations__)"),
    Case("sys.modules['__main__'] is this module", r"""
import sys
m = sys.modules['__main__']
print(m, m.__dict__ is globals(), type(m), m.__file__)
import __main__
print(__main__ is m, list(sys.modules).count('__main__'), sorted(k for k in sys.modules if 'main' in k))
"""),
    Case("the frame at the bottom", r"""
import sys
f = sys._getframe()
c = f.f_code
print(f.f_back, c.co_name, c.co_qualname, c.co_filename, c.co_firstlineno, c.co_flags, c.co_argcount, f.f_lineno)
print(f.f_globals is globals(), f.f_locals is globals(), f.f_builtins is __builtins__.__dict__, f.f_trace)
try:
    sys._getframe(1)
except ValueError as e:
    print(e)
"""),
    Case("inspect.stack is one deep", "import inspect; print([(f.filename, f.lineno, f.function, f.code_context) for f in inspect.stack()])"),
    Case("code objects have the file's name", "f = lambda: 0\nprint(f.__code__.co_filename, f.__module__, f.__qualname__)\nclass A: pass\nprint(A, A.__module__)"),
    Case("names of exec, eval, compile", r"""
import sys
exec("import sys; print(__name__, sys._getframe().f_code.co_filename)")
print(eval("__file__"), compile("1", "<x>", "eval").co_filename, eval("sys._getframe().f_code.co_filename"))
"""),
    Case("no future flag is inherited by compile", "print(compile('1', 'x', 'exec').co_flags)\ndef f(x: undefined_name = 1): pass", exit=1),
    Case("no interactive leftovers", r"""
import sys
print([hasattr(sys, n) for n in ('ps1', 'ps2', 'last_type', 'last_value', 'last_traceback', 'tracebacklimit')], hasattr(__builtins__, '_'))
print(sys.displayhook is sys.__displayhook__, sys.excepthook is sys.__excepthook__, sys.breakpointhook is sys.__breakpointhook__,
      sys.unraisablehook is sys.__unraisablehook__, sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__)
"""),
    Case("trace, profile, asyncgen, coroutine hooks", r"""
import sys, threading
print(sys.gettrace(), sys.getprofile(), sys.get_asyncgen_hooks(), sys.get_coroutine_origin_tracking_depth(), threading.gettrace(), threading.getprofile())
"""),
    Case("recursion limit, switch interval, digits", "import sys; print(sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits(), sys.getdlopenflags())"),
    Case("import machinery", "import sys; print(sys.meta_path, sys.path_hooks, sys.dont_write_bytecode, sys.pycache_prefix)"),
    Case("site's view", "import site, sys; print(site.ENABLE_USER_SITE, site.USER_SITE, site.USER_BASE, site.PREFIXES, sys.flags.no_user_site, site.getsitepackages())"),
    Case("sysconfig", "import sysconfig; print(sorted(sysconfig.get_paths().items()), sysconfig.get_platform(), sysconfig.get_config_var('SOABI'))"),
    Case("warning filters at the start", "import warnings; print(*warnings.filters, sep='\\n'); print(warnings.onceregistry, warnings.showwarning.__module__)"),
    Case("collector's settings", "import gc; print(gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.callbacks, type(gc.get_objects()), gc.garbage)"),
    Case("the collector collects", r"""
import gc, weakref
class A: pass
a = A(); a.a = a
r = weakref.ref(a)
del a
print(r() is None); gc.collect(); print(r() is None)
"""),
    Case("no callbacks at exit are there yet", "import atexit; print(atexit._ncallbacks())"),
    Case("faulthandler and tracemalloc are off", "import faulthandler, tracemalloc; print(faulthandler.is_enabled(), tracemalloc.is_tracing())"),
    Case("implementation and version", "import sys, platform; print(sys.implementation, sys.version, sys.hexversion, platform.python_build(), platform.python_compiler())"),
    Case("names of the standard library", "import sys; print(len(sys.stdlib_module_names), sorted(sys.stdlib_module_names)[:5], sys.builtin_module_names)"),
    Case("__debug__ and assert", "print(__debug__)\nassert 1 == 2, 'not equal'", exit=1),
    Case("if __name__ == '__main__'", "def main():\n    print('main')\nif __name__ == '__main__':\n    main()\nelse:\n    print('other')"),
    Case("linecache is empty", "import linecache; print(linecache.cache)"),
    Case("contextvars are empty", "import contextvars; print(len(contextvars.copy_context()))"),
    Case("interned text", "import sys; a = sys.intern('ab' * 3); b = sys.intern(''.join(['ab', 'abab'])); print(a is b)"),
    Case("the runtime's other name", "import sys; print(sys.argv, __file__)", warm=False, runtime="python"),
]  # fmt: skip

SOURCE = [
    *(Case(f"cut off: {code!r}", code, exit=1) for code in (
        "def f():\n", "for i in range(3):", "class A:\n", "if 1:\n    pass\nelse:\n", "match 1:\n", "while True:\n    # todo\n", "try:\n    print(1)\n", "class A:\r\n", "@dec(1)\r\n", "x = '''abc\r\ndef\r\n", "x = 1 + \\\r\n", "print((1,\n", "x = [\n", "def f(:\n    pass\nprint(1)\n", "  x = 1\n", "if 1:\nx = 1\n")),
    Case("other ends of lines", "x = '''a\r\nb'''\r\nprint(repr(x), 1 + \\\r\n2)\r\n"),
    Case("no code", ""),
    Case("only a newline", "\n\n"),
    Case("only comments", "# one\n# two"),
    Case("only a docstring", '"""doc"""'),
    Case("no newline at the end", "print(1)\nprint(2)"),
    Case("a comment without newline at the end", "print(1)\n# end"),
    Case("a block without newline at the end", "if 1:\n    print(1)"),
    Case("spaces at the end", "print(1)\n    "),
    Case("CRLF", "print(1)\r\nif 1:\r\n    print('''a\r\nb'''.encode())\r\n"),
    Case("CR alone", "print(1)\rprint(2)\r"),
    Case("CRLF in an error", "x = 1\r\n\r\nraise ValueError(x)\r\n", exit=1),
    Case("tabs", "if 1:\n\tprint(1)\n\tif 1:\n\t\tprint('\t')"),
    Case("form feeds", "\x0cprint(1)\n\x0c\nif 1:\n    print(2)\n\x0c    print(3)"),
    Case("line separators of Unicode in text", "x = 'a\u2028b\x85c'\nprint(len(x), x.splitlines())\n1/0", exit=1),
    Case("byte order mark", "\ufeffimport sys\nprint(sys.argv)"),
    Case("byte order mark, then an error", "\ufeff1/0", exit=1),
    Case("byte order mark and a cookie that agrees", "\ufeff# coding: utf-8\nprint('é')"),
    Case("byte order mark and a cookie that does not", "\ufeff# coding: latin-1\nprint('é')", exit=1),
    Case("cookie utf-8", "# -*- coding: utf-8 -*-\nprint('é€😀')"),
    Case("cookie latin-1 is obeyed", "# -*- coding: latin-1 -*-\nprint(len('é€😀'), ascii('é€😀'))"),
    Case("cookie latin-1 in a traceback", "# coding: latin-1\nraise ValueError('é')", exit=1),
    Case("cookie cp1252 on the second line", "#!/usr/bin/python3\n# vim: set fileencoding=cp1252 :\nprint(ascii('é'))"),
    Case("cookie on the third line is none", "\n\n\n# coding: latin-1\nprint(ascii('é'))"),
    Case("cookie ascii with other text", "# coding: ascii\nprint('é')", exit=1),
    Case("cookie of an unknown encoding", "# coding: klingon\nprint(1)", exit=1),
    Case("cookie rot13 is no text encoding", "# coding: rot13\ncevag(1)", exit=1),
    Case("hash-bang line", "#!/usr/bin/env python2\nprint(1)"),
    Case("names beyond ASCII", "größe = 1\nclass Ä:\n    def ö(self): raise KeyError('ß')\nprint(größe)\nÄ().ö()", exit=1),
    Case("NUL byte in the code", "print(1)\nprint('a\0b')\nprint(2)\n", exit=None),
    Case("NUL byte at the end", "print(1)\n\0", exit=None),
    Case("a line of 60,000 characters", "x = '" + "y" * 60000 + "'\nprint(len(x))"),
    Case("an error in a line of 3,000 characters", "x = [" + "1, " * 1000 + "1/0]", exit=1),
    Case("code of 60 KB", "".join(f"x{i} = {i}  # a comment of some length\n" for i in range(1700)) + "print(x1699)\n1/0", exit=1),
    Case("code of 200 KB", "".join(f"def f{i}(): return {i}  # a comment of some length\n" for i in range(4000)) + "print(f3999())\n1/0", exit=1),
    Case("code of 200 KB on one line", "x = '" + "y" * 200000 + "'; print(len(x), __file__)"),
    Case("backslash at the end", "print(1)\n\\", exit=1),
    Case("continued lines", "x = 1 + \\\n    2\nprint(x,\n      (3,\n       4))\nprint('a' \\\n      'b')"),
    Case("100 levels of indentation are too many", "".join(" " * i + "if 1:\n" for i in range(101)) + " " * 101 + "print(1)", exit=1),
    Case("parentheses nested too deep", "(" * 300 + ")" * 300, exit=1),
    Case("a long sum", "print(" + "1 + " * 900 + "1)"),
    Case("from __future__ import annotations", "from __future__ import annotations\ndef f(x: undefined_name) -> 1 / 0: pass\nprint(f.__annotations__, __annotations__)"),
    Case("from __future__ after a docstring", '"doc"\nfrom __future__ import annotations, generators\nx: undefined_name = 1\nprint(__doc__, __annotations__, annotations)'),
    Case("from __future__ too late", "x = 1\nfrom __future__ import annotations", exit=1),
    Case("from __future__ import braces", "from __future__ import braces", exit=1),
    Case("the file holds the code", "print(open('main.py').read() == open(__file__).read() == open('/workspace/main.py').read()); print(open(__file__, 'rb').read())"),
    Case("the file holds CRLF and mark as sent", "\ufeff# coding: utf-8\r\nprint(open(__file__, 'rb').read())\r\n"),
    Case("the file's mode and owner", "import os; s = os.stat('main.py'); print(oct(s.st_mode), s.st_nlink, s.st_size, s.st_uid == os.getuid(), s.st_gid == os.getgid(), os.access('main.py', os.W_OK))"),
    Case("nothing else lies beside the file", "import os; print(os.listdir('.'), os.listdir('/tmp'), os.listdir('/run'), os.listdir('/dev/shm'))"),
    Case("the file can be changed and removed", "import os\nopen(__file__, 'a').write('# more')\nos.rename('main.py', 'x.py')\nprint(os.listdir())\nos.remove('x.py')"),
    Case("a traceback shows the file as it is then", "open(__file__, 'w').write('# other\\n' * 5)\n\nraise ValueError", exit=1),
    Case("a traceback without the file has no lines", "import os\nos.remove(__file__)\nraise ValueError", exit=1),
    Case("inspect.getsource", "import inspect\ndef f(x):\n    # why\n    return x\nclass A:\n    a = 1\nprint(inspect.getsource(f), inspect.getsource(A), inspect.getsourcefile(f), inspect.getfile(A), inspect.getmodule(f))"),
    Case("inspect.getsource of the module", "import inspect, sys; print(inspect.getsource(sys.modules['__main__']))"),
    Case("python reads it twice", "import subprocess, sys; print(subprocess.run([sys.executable, __file__, 'x'], capture_output=True) if len(sys.argv) < 2 else 'again')"),
]  # fmt: skip

ERRORS = [
    Case("syntax error: line and caret", "x = 1\ny = = 2\n", exit=1),
    Case("syntax error on the first line", "print 'x'", exit=1),
    Case("syntax error in a long range", "f(a=1, b for b in c)", exit=1),
    Case("syntax error: text that does not end", "x = 'abc\ny = 1", exit=1),
    Case("syntax error: triple quotes that do not end", 'x = """abc\n\n', exit=1),
    Case("syntax error: bracket that does not close", "x = (1,\n     2\ny = 3", exit=1),
    Case("syntax error: character", "x = “1”", exit=1),
    Case("syntax error: invisible character", "x =\u00a01", exit=1),
    Case("syntax error: return outside of a function", "def f():\n    return 1\nreturn 2", exit=1),
    Case("syntax error: await outside of a function", "import asyncio\nawait asyncio.sleep(0)", exit=1),
    Case("syntax error: nonlocal", "nonlocal x", exit=1),
    Case("syntax error: a parameter twice", "def f(a, a): pass", exit=1),
    Case("syntax error: assignment to a literal", "if x = 1:\n    pass", exit=1),
    Case("syntax error: in an f-string", "print(f'{1 +}')", exit=1),
    Case("syntax error beyond ASCII", "ä = 'ö' 'ü' ß 1", exit=1),
    Case("a syntax error runs nothing before it", "print('never')\nx = = 1", exit=1),
    Case("IndentationError: unexpected", "x = 1\n    y = 2", exit=1),
    Case("IndentationError: expected a block", "def f():\nreturn 1", exit=1),
    Case("IndentationError: unindent", "if 1:\n        x = 1\n    y = 2", exit=1),
    Case("TabError", "if 1:\n        x = 1\n\ty = 2", exit=1),
    Case("SyntaxError of compile at run time", "def f():\n    compile('x = = 1', 'other.py', 'exec')\nf()", exit=1),
    Case("NameError with a suggestion", "value = 1\nprint(valeu)", exit=1),
    Case("AttributeError with a suggestion", "import math\nmath.sqr(1)", exit=1),
    Case("ImportError with a name", "from math import no_such_name", exit=1),
    Case("ModuleNotFoundError", "import no_such_module_here", exit=1),
    Case("an error in nested functions, with lines and carets", r"""
def inner(d, k):
    return d[k]["x"] + d[
        "other"]

def outer(d):
    # why
    return [inner(d, k) for k in d]

outer({"a": {"x": 1}, "b": {"y": 2}})
""", exit=1),
    Case("carets in wide text", "x = {'日本語': 1}; y = None; print('ü', x['日本語'] + y.real)", exit=1),
    Case("error in a lambda in a class in a function", "def f():\n    class A:\n        g = lambda self: 1 / 0\n    return A().g()\nf()", exit=1),
    Case("raise from", "def f():\n    try:\n        {}['a']\n    except KeyError as e:\n        raise ValueError('why') from e\nf()", exit=1),
    Case("a warning of the compiler shows its line", "x = 1\nprint(x is 1)", err=True),
    Case("a warning about an assertion shows its line", "assert (1, 'never false')\nprint('on')", err=True),
    Case("a warning about an escape shows its line", "print('\\d')", err=True),
    Case("a warning about a missing comma shows its line", "def f():\n    return [1 (2)]\nprint('on')", err=True),
    Case("an output that goes while it is flushed", """
import sys
class Out:
    def write(self, text): return sys.__stdout__.write(text)
    def flush(self):
        sys.stdout = sys.__stdout__
        print('flushed')
sys.stdout = Out()
print('on')
"""),
    Case("a __main__ that is let go of", """
import sys
class Last:
    def __del__(self): print('gone', sorted(name for name in globals() if name[:2] != '__'), '__file__' in globals())
last = Last()
del sys.modules['__main__']
print('on')
"""),
    Case("names in letters of full width", "print(ｏｐｅｎ('main.py').read())"),
    Case("names with a letter that stands for another", "print(ºpen('main.py').read(), sorted(globalſ())[:1])"),
    Case("text in many scripts", "print('ü ß Ω Я 漢字 한글 ✓ → 😀 ✔️', len('ﬁ'))"),
    Case("raise while handling", "try:\n    1 / 0\nexcept ZeroDivisionError:\n    [][1]", exit=1),
    Case("raise from None", "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('only this') from None", exit=1),
    Case("notes", "e = ValueError('v')\ne.add_note('first\\nsecond')\nraise e", exit=1),
    Case("ExceptionGroup", r"""
def f(x):
    raise x
errors = []
for x in (ValueError('a'), TypeError('b'), ExceptionGroup('inner', [OSError(2, 'no', 'f')])):
    try: f(x)
    except Exception as e: errors.append(e)
raise ExceptionGroup('outer', errors)
""", exit=1),
    Case("an exception with a text that fails", "class E(Exception):\n    def __str__(self): raise ValueError\nraise E()", exit=1),
    Case("an exception of a class in a function", "def f():\n    class E(Exception): pass\n    raise E('x')\nf()", exit=1),
    Case("an exception with newlines and nothing", "raise ValueError('a\\n\\nb\\n')", exit=1),
    Case("an exception without text", "raise Exception", exit=1),
    Case("raise of what is none", "raise 'text'", exit=1),
    Case("BaseException", "raise BaseException('b')", exit=1),
    Case("GeneratorExit and StopIteration", "try:\n    raise GeneratorExit\nfinally:\n    raise StopIteration(3)", exit=1),
    Case("MemoryError", "raise MemoryError", exit=1),
    Case("UnicodeEncodeError", "'ü'.encode('ascii')", exit=1),
    Case("an error in a generator", "def g():\n    yield 1\n    1 / 0\nfor x in g():\n    print(x)", exit=1),
    Case("an error in a coroutine", "import asyncio\nasync def f():\n    await g()\nasync def g():\n    1 / 0\nasyncio.run(f())", exit=1),
    Case("an error in exec'd text", "exec('def f():\\n    1 / 0\\nf()')", exit=1),
    Case("an error in a with block", "class C:\n    def __enter__(self): return self\n    def __exit__(self, *a): print(a[0]); return False\nwith C():\n    1 / 0", exit=1),
    Case("an error in a thread", "import threading\ndef f(): 1 / 0\nt = threading.Thread(target=f, name='worker'); t.start(); t.join(); print('on')", err=True),
    Case("an error in __del__", "class A:\n    def __del__(self): 1 / 0\na = A()\ndel a\nprint('on')", err=True),
    Case("an error in a callback of weakref", "import weakref\nclass A: pass\na = A()\nr = weakref.ref(a, lambda r: 1 / 0)\ndel a\nprint('on')", err=True),
    Case("a custom excepthook", "import sys\nsys.excepthook = lambda t, v, tb: print('hook', t.__name__, v, tb.tb_lineno, tb.tb_frame.f_back, tb.tb_next)\n1 / 0", exit=1),
    Case("an excepthook that fails", "import sys\ndef hook(*a): [][0]\nsys.excepthook = hook\n1 / 0", exit=1),
    Case("a deleted excepthook", "import sys\ndel sys.excepthook\n1 / 0", exit=1),
    Case("a custom unraisablehook", "import sys\nsys.unraisablehook = lambda u: print('hook', u.exc_type.__name__, u.err_msg, u.exc_traceback.tb_lineno)\nclass A:\n    def __del__(self): 1 / 0\nA()"),
    Case("threading.excepthook", "import threading\nthreading.excepthook = lambda a: print('hook', a.exc_type.__name__, a.thread.name)\nt = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()"),
    Case("traceback.print_exc", "import traceback\ndef f(): 1 / 0\ntry: f()\nexcept ZeroDivisionError: traceback.print_exc()", err=True),
    Case("traceback.print_stack at the top", "import traceback; traceback.print_stack()", err=True),
    Case("traceback.print_stack in a function", "import traceback\ndef f():\n    traceback.print_stack()\ndef g():\n    f()\ng()", err=True),
    Case("traceback.format_exc", "import traceback\ntry:\n    [][0]\nexcept IndexError:\n    print(traceback.format_exc(), traceback.extract_stack())"),
    Case("sys.exc_info and the chain of frames", "import sys\nprint(sys.exc_info(), sys.exception())\ntry: 1 / 0\nexcept Exception as e:\n    tb = e.__traceback__\n    print(tb.tb_next, tb.tb_lineno, tb.tb_frame is sys._getframe(), e.__context__)"),
    Case("sys.tracebacklimit", "import sys\nsys.tracebacklimit = 1\ndef f(n):\n    if n: f(n - 1)\n    else: 1 / 0\nf(4)", exit=1),
    Case("warnings.warn of each stack level", r"""
import warnings
def f(level): warnings.warn(f'level {level}', stacklevel=level)
def g(level): f(level)
for level in 1, 2, 3, 4, 5:
    g(level)
""", err=True),
    Case("DeprecationWarning in __main__ is shown", "import warnings\nwarnings.warn('old', DeprecationWarning)\nwarnings.warn('soon', PendingDeprecationWarning)\nwarnings.warn('res', ResourceWarning)", err=True),
    Case("DeprecationWarning of a module is not", "import helper\nhelper.f(1); helper.f(2)", err=True, files={"helper.py": "import warnings\ndef f(n): warnings.warn('old', DeprecationWarning, stacklevel=n)\n"}),
    Case("a warning comes once from one place", "import warnings\nfor i in 1, 1, 2: warnings.warn(f'w{i}')\nprint(__warningregistry__.keys())", err=True),
    Case("warnings as errors", "import warnings\nwarnings.simplefilter('error')\nwarnings.warn('now')", exit=1),
    Case("SyntaxWarning", "x = 1\nif x is 1: print('is')\nassert (x, 'always')", err=True),
    Case("escapes that are none", "import re\nprint(len('\\d'))", err=True),
    Case("ResourceWarning is not shown", "open('main.py')\nprint(1)"),
    Case("RuntimeWarning of a coroutine", "async def f(): pass\nf()\nprint(1)", err=True),
    Case("exact depth of recursion", "import sys\ndef f(n):\n    try: return f(n + 1)\n    except RecursionError: return n\nprint(f(0), sys.getrecursionlimit())"),
    Case("exact depth of recursion in a method, a lambda, a comprehension", r"""
class A:
    def __getattr__(self, name):
        global n; n += 1
        return getattr(self, name + 'x')
n = 0
try: A().a
except RecursionError as e: print(n, e)
n = 0
def g():
    global n; n += 1
    return [g() for _ in (1,)]
try: g()
except RecursionError as e: print(n, e)
n = 0
class B:
    def __repr__(self):
        global n; n += 1
        return repr([self])
try: repr(B())
except RecursionError as e: print(n, e)
"""),
    Case("exact depth of recursion in a thread", "import threading\ndef f(n):\n    try: return f(n + 1)\n    except RecursionError: return n\nt = threading.Thread(target=lambda: print(f(0))); t.start(); t.join()"),
    Case("an uncaught RecursionError says how often", "def f(n):\n    return f(n + 1)\nf(0)", exit=1),
    Case("recursion limit lowered and raised", r"""
import sys
def depth(n=0):
    try: return depth(n + 1)
    except RecursionError: return n
for limit in 60, 500, 5000, 30000:
    sys.setrecursionlimit(limit)
    print(limit, depth())
try: sys.setrecursionlimit(1)
except Exception as e: print(type(e), e)
"""),
    Case("recursion in C", r"""
import json, pickle, copy
x = []
for _ in range(100000): x = [x]
for f in (json.dumps, repr, pickle.dumps, copy.deepcopy):
    try: f(x)
    except RecursionError as e: print(f.__name__, e)
"""),
    Case("the C stack takes 5 MB", r"""
import sys
sys.setrecursionlimit(100000)
def f(n):
    return n if n == 0 else list(map(f, [n - 1]))[0]
print(f(9000))
"""),
    Case("the C stack of the main thread ends at its limit", r"""
import sys
sys.setrecursionlimit(10 ** 9)
class A:
    def __call__(self): return map(lambda _: self(), [1]).__next__()
A()()
""", exit=139),
    Case("parser's recursion", "try: compile('-' * 100000 + '1', 'x', 'eval')\nexcept (RecursionError, MemoryError, SyntaxError) as e: print(type(e), e)"),
]  # fmt: skip

EXITS = [
    Case("an interrupt of another kind", "class K(KeyboardInterrupt): pass\nraise K('mine')", exit=1),
    Case("exit with a text and no stderr", "import sys\nsys.stderr = None\nsys.exit('bye')", exit=1),
    Case("exit with a text and stderr removed", "import sys\ndel sys.stderr\nsys.exit('bye')", exit=1),
    Case("exit with a text and stderr closed", "import sys\nsys.stderr.close()\nsys.exit('bye')", exit=1),
    Case("exit with what has no text", "import sys\nclass V:\n    def __str__(s): raise ValueError\nsys.exit(V())", exit=1),
    Case("exit with what looks below itself", "import sys, traceback\nclass V:\n    def __str__(s): traceback.print_stack(); return 'v'\nsys.exit(V())", exit=1),
    Case("exit with a text to one that does not take it", "import sys\nclass S:\n    def write(s, t): print('write', repr(t)); raise OSError('no')\n    def flush(s): pass\nsys.stderr = S()\nsys.exit('x')", exit=1),
    Case("exit with a code that cannot be had", "class X(SystemExit):\n    @property\n    def code(s): raise ValueError\nraise X(4)", exit=1),
    Case("exit with a number of another kind", "import enum, sys\nclass N(enum.IntEnum): a = 7\nsys.exit(N.a)", exit=7),
    Case("exit where isinstance is another", "import builtins, sys\nbuiltins.isinstance = lambda *a: print('called')\nsys.exit(3)", exit=3),
    *[Case(f"sys.exit({value})", f"import sys\nprint('x', end='')\nsys.exit({value})", exit=status) for value, status in (
        ("", 0), ("None", 0), ("0", 0), ("1", 1), ("3", 3), ("255", 255), ("256", 0), ("257", 1), ("-1", 255), ("2 ** 40", 0), ("2 ** 70", 255), ("True", 1),
        ("False", 0), ("'text'", 1), ("''", 1), ("1.5", 1), ("()", 1), ("(1, 2)", 1), ("b'x'", 1), ("object()", 1), ("ValueError('v')", 1))],
    Case("exit with a text, and a destructor on the way", "import os, sys\nos.dup2(1, 2)\nclass A:\n    def __del__(s): print('del', flush=True)\ndef f():\n    a = A()\n    sys.exit('bye')\nf()", exit=1),
    Case("exit with too large a number, atexit and a destructor", "import atexit, sys\natexit.register(print, 'atexit')\nclass A:\n    def __del__(s): print('del')\na = A()\nsys.exit(2 ** 70)", exit=255),
    Case("exit with too large a number, and threading", "import sys, threading\nt = threading.Thread(target=print, args=('thread',))\nt.start(); t.join()\nsys.exit(2 ** 70)", exit=255),
    Case("sys.exit in nested functions runs finally", "import sys\ndef f():\n    try: sys.exit(4)\n    finally: print('finally')\ntry: f()\nfinally: print('outer')", exit=4),
    Case("sys.exit can be caught", "import sys\ntry: sys.exit('t')\nexcept SystemExit as e: print(repr(e), e.code)"),
    Case("sys.exit in a thread ends the thread", "import sys, threading\nt = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join(); print('on')"),
    Case("sys.exit in __del__", "import sys\nclass A:\n    def __del__(self): sys.exit(5)\nA()\nprint('on')", err=True),
    Case("sys.exit while a thread runs", "import sys, threading, time\nt = threading.Thread(target=lambda: (time.sleep(.05), print('thread'))); t.start()\nsys.exit(6)", exit=6),
    Case("exit()", "exit()"),
    Case("exit(7)", "exit(7)", exit=7),
    Case("quit('text')", "quit('text')", exit=1),
    Case("exit's own text", "print(exit, quit, repr(copyright)[:20])"),
    Case("raise SystemExit", "raise SystemExit"),
    Case("raise SystemExit(8)", "raise SystemExit(8)", exit=8),
    Case("raise SystemExit with two arguments", "raise SystemExit(1, 2)", exit=1),
    Case("a subclass of SystemExit", "class E(SystemExit): pass\nraise E(9)", exit=9),
    Case("SystemExit in a group", "raise BaseExceptionGroup('g', [SystemExit(3)])", exit=1),
    Case("SystemExit from an error", "try: 1 / 0\nexcept Exception: raise SystemExit('bye')", exit=1),
    Case("os._exit", "import os\nprint('lost')\nos._exit(3)", exit=3),
    Case("os._exit(300)", "import os\nos._exit(300)", exit=44),
    Case("os._exit after a flush", "import os\nprint('kept', flush=True)\nos._exit(0)"),
    Case("os._exit while threads run", "import os, threading, time\nthreading.Thread(target=time.sleep, args=(9,)).start()\nos._exit(2)", exit=2),
    Case("os._exit in a thread", "import os, threading, time\nthreading.Thread(target=os._exit, args=(2,)).start()\ntime.sleep(9)", exit=2),
    Case("os.abort", "import os\nprint('lost')\nos.abort()", exit=134),
    Case("exit in C, past the interpreter", "import ctypes\nprint('lost?')\nctypes.CDLL(None).exit(5)", exit=5),
    Case("os.execv of another program", "import os\nprint('lost')\nos.execv('/bin/echo', ['echo', 'execed'])"),
    Case("os.execv of python", "import os, sys\nos.execv(sys.executable, ['python3', '-c', 'import sys; print(sys.argv, sys.flags.isolated)', 'x'])"),
    Case("os.execve with an environment", "import os\nos.execve('/usr/bin/env', ['env'], {'A': '1'})"),
    Case("os.execvp and descriptors", "import os\nf = open('main.py'); os.set_inheritable(f.fileno(), True); g = open('main.py')\nos.execvp('sh', ['sh', '-c', 'ls /proc/$$/fd; exit 3'])", exit=3),
    Case("execv of itself", "import os, sys\nprint(sys.argv, flush=True)\nif len(sys.argv) < 2: os.execv(sys.executable, [sys.executable, __file__, 'again'])"),
    Case("execv of what is not there", "import os\nos.execv('/no/such', ['x'])", exit=1),
    Case("a segmentation fault", "import ctypes\nprint('lost')\nctypes.string_at(0)", exit=139),
    Case("faulthandler tells of one", "import ctypes, faulthandler\nfaulthandler.enable()\ndef f():\n    ctypes.string_at(0)\nf()", exit=139),
    Case("faulthandler.dump_traceback", "import faulthandler, sys, threading\nfaulthandler.dump_traceback()\ndef f(): faulthandler.dump_traceback(all_threads=False)\nf()", err=True),
    Case("faulthandler.dump_traceback_later", "import faulthandler, time\nfaulthandler.dump_traceback_later(.02, exit=True)\ntime.sleep(9)", exit=1),
    Case("_Py_FatalError", "import ctypes\nctypes.pythonapi.Py_FatalError(b'fatal')", exit=134, err=True),
    Case("the main thread waits for others", "import threading, time\nprint('main ends')\nt = threading.main_thread()\nfor i in range(3):\n    t = threading.Thread(target=lambda i, t: (t.join(), time.sleep(.01), print(i)), args=(i, t)); t.start()"),
    Case("an error while threads run", "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.03), print('thread'))).start()\n1 / 0", exit=1),
    Case("the main thread leaves by pthread_exit", "import ctypes, threading, os, time\nthreading.Thread(target=lambda: (time.sleep(.03), os._exit(4))).start()\nctypes.CDLL(None).pthread_exit(None)", exit=None),
    Case("a child that outlives it is not waited for", "import os, time\nif os.fork() == 0:\n    time.sleep(.4); print('late', flush=True); os._exit(0)\nprint('main')"),
]  # fmt: skip

SIGNALS = [
    *[Case(f"{name} to itself", f"import os, signal\nprint('lost')\nos.kill(os.getpid(), signal.{name})\nprint('on')", exit=128 + number) for name, number in (
        ("SIGTERM", 15), ("SIGHUP", 1), ("SIGUSR1", 10), ("SIGKILL", 9), ("SIGQUIT", 3), ("SIGSEGV", 11), ("SIGFPE", 8), ("SIGALRM", 14), ("SIGSYS", 31), ("SIGRTMIN", 34))],
    Case("signals that do nothing", "import os, signal\nfor s in 'PIPE', 'XFSZ', 'CHLD', 'WINCH', 'URG', 'CONT': os.kill(os.getpid(), getattr(signal, 'SIG' + s))\nprint('on')"),
    Case("SIGINT to itself is KeyboardInterrupt", "import os, signal\ntry: os.kill(os.getpid(), signal.SIGINT); print('never')\nexcept KeyboardInterrupt as e: print(repr(e))"),
    Case("an uncaught SIGINT ends as by the signal", "import os, signal\nprint('kept')\ndef f(): os.kill(os.getpid(), signal.SIGINT)\nf()", exit=130),
    Case("KeyboardInterrupt raised by hand ends so too", "print('kept')\nraise KeyboardInterrupt('text')", exit=130),
    Case("KeyboardInterrupt with callbacks at exit", "import atexit\natexit.register(print, 'atexit')\ntry: raise KeyboardInterrupt\nfinally: print('finally')", exit=130),
    Case("KeyboardInterrupt in a thread", "import threading\ndef f(): raise KeyboardInterrupt\nt = threading.Thread(target=f, name='t'); t.start(); t.join(); print('on')", err=True),
    Case("_thread.interrupt_main", "import _thread, time\n_thread.interrupt_main()\ntime.sleep(1)", exit=130),
    Case("SIGINT to the process group", "import os, signal\ntry: os.killpg(0, signal.SIGINT)\nexcept KeyboardInterrupt: print('caught')"),
    Case("SIGTERM to the process group", "import os, signal\nos.killpg(os.getpgid(0), signal.SIGTERM)", exit=143),
    Case("SIGTERM to all processes finds no other", "import os, signal, time\nos.kill(-1, signal.SIGTERM)\ntime.sleep(.05)\nprint('on')", exit=1),
    Case("handlers of all signals", "import signal\nfor s in sorted(signal.valid_signals()): print(s, signal.getsignal(s))"),
    Case("masks", "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.sigpending())"),
    Case("masks as the kernel has them", "print([l for l in open('/proc/self/status') if l.startswith(('Sig', 'Shd')) and 'SigQ' not in l])"),
    Case("masks of a child", "import subprocess; print(subprocess.run(['grep', '^Sig[BIC]', '/proc/self/status'], capture_output=True).stdout)"),
    Case("masks of a child that keeps them", "import subprocess; print(subprocess.run(['grep', '^Sig[BIC]', '/proc/self/status'], capture_output=True, restore_signals=False).stdout)"),
    Case("SIGPIPE is ignored", "import os\nr, w = os.pipe(); os.close(r)\nos.write(w, b'x')", exit=1),
    Case("SIGPIPE as a child has it", "import subprocess; print(subprocess.run('yes | head -n 1; echo ${PIPESTATUS[*]}', shell=True, executable='/bin/bash', capture_output=True))"),
    Case("SIGPIPE by default ends it", "import os, signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\nr, w = os.pipe(); os.close(r)\nos.write(w, b'x')", exit=141),
    Case("SIGXFSZ is ignored", "f = open('big', 'wb')\ntry: f.truncate(1 << 40)\nexcept OSError as e: print(e)"),
    Case("a handler", "import os, signal\nsignal.signal(signal.SIGUSR1, lambda n, f: print(n, f.f_code.co_name, f.f_lineno))\nos.kill(os.getpid(), signal.SIGUSR1)\nprint('on')"),
    Case("a handler of SIGTERM that exits", "import os, signal, sys\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit(5))\nos.kill(os.getpid(), signal.SIGTERM)", exit=5),
    Case("a handler that raises", "import os, signal\ndef f(*a): raise ValueError('in handler')\nsignal.signal(signal.SIGUSR1, f)\nos.kill(os.getpid(), signal.SIGUSR1)\nx = 1", exit=1),
    Case("a handler may be set in the main thread only", "import signal, threading\ndef f():\n    try: signal.signal(signal.SIGUSR1, print)\n    except ValueError as e: print(e)\nt = threading.Thread(target=f); t.start(); t.join()"),
    Case("raise_signal and strsignal", "import signal\nsignal.signal(signal.SIGUSR2, lambda n, f: print(signal.strsignal(n)))\nsignal.raise_signal(signal.SIGUSR2)"),
    Case("alarm", "import signal; print(signal.alarm(100), signal.alarm(0))"),
    Case("itimers are not set, and work", "import signal\nprint([signal.getitimer(i) for i in range(3)])\nsignal.signal(signal.SIGALRM, lambda *a: print('alarm'))\nsignal.setitimer(signal.ITIMER_REAL, .01)\nsignal.pause()"),
    Case("an uncaught itimer", "import signal\nsignal.setitimer(signal.ITIMER_REAL, .01)\nsignal.pause()", exit=142),
    Case("sleep goes on after a handler", "import signal, time\nsignal.signal(signal.SIGALRM, lambda *a: print('alarm'))\nsignal.setitimer(signal.ITIMER_REAL, .01)\nt = time.monotonic(); time.sleep(.05); print(time.monotonic() - t >= .05)"),
    Case("sigwait", "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\nsignal.raise_signal(signal.SIGUSR1)\nprint(signal.sigpending(), signal.sigwait([signal.SIGUSR1]), signal.sigtimedwait([signal.SIGUSR1], 0))"),
    Case("set_wakeup_fd", "import os, signal\nr, w = os.pipe(); os.set_blocking(w, False)\nprint(signal.set_wakeup_fd(w))\nsignal.signal(signal.SIGUSR1, lambda *a: None)\nsignal.raise_signal(signal.SIGUSR1)\nprint(os.read(r, 9), signal.set_wakeup_fd(-1) == w)"),
    Case("pthread_kill", "import signal, threading\nsignal.signal(signal.SIGUSR1, lambda *a: print('main' if threading.current_thread() is threading.main_thread() else 'other'))\nsignal.pthread_kill(threading.get_ident(), signal.SIGUSR1)"),
    Case("siginterrupt and a blocked read", "import os, signal\nr, w = os.pipe()\nsignal.signal(signal.SIGALRM, lambda *a: os.write(w, b'x'))\nsignal.setitimer(signal.ITIMER_REAL, .01)\nprint(os.read(r, 1))"),
    Case("a timeout comes as SIGTERM", "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *a: (print('bye'), sys.exit(3)))\nprint('begun', flush=True)\ntime.sleep(60)", exit=3, warm=False, timeout_ms=3000),
    Case("an uncaught timeout", "import time\nprint('begun', flush=True)\ntime.sleep(60)", exit=143, warm=False, timeout_ms=3000),
]  # fmt: skip

# Buffered output is written after the last line of the script and before what follows.
FLUSHED = [
    Case("printed before a hook of errors that ends it all", "import sys, os\nsys.excepthook = lambda *a: os._exit(5)\nprint('out')\n1/0", exit=5),
    Case("printed before an error, to the same pipe", "import os\nos.dup2(1, 2)\nprint('a')\n1/0", exit=1),
    Case("printed before the text of sys.exit, to the same pipe", "import os, sys\nos.dup2(1, 2)\nprint('a')\nsys.exit('bye')", exit=1),
    Case("printed, and a callback ends it all", "import atexit, os\natexit.register(os._exit, 3)\nprint('out')", exit=3),
    Case("printed before a callback's child prints", "import atexit, subprocess\natexit.register(subprocess.run, ['echo', 'child'])\nprint('main')"),
    Case("printed, and a thread ends it all", "import threading, os, time\ndef f(): time.sleep(.05); os._exit(3)\nthreading.Thread(target=f).start()\nprint('main')", exit=3),
    Case("printed, and a thread goes on until time is up", "import threading, time\nprint('started')\nthreading.Thread(target=time.sleep, args=(60,)).start()", exit=None, timeout_ms=3000),
    Case("printed before a thread's child prints", "import threading, time, subprocess\ndef f(): time.sleep(.05); subprocess.run(['echo', 'child'])\nthreading.Thread(target=f).start()\nprint('main')"),
    Case("printed, and a callback forks", "import atexit, os\ndef f():\n    if os.fork() == 0: print('c'); os._exit(0)\n    os.wait()\natexit.register(f)\nprint('main')"),
    Case("printed, and a callback kills it", "import atexit, os\natexit.register(os.kill, os.getpid(), 9)\nprint('main')", exit=137),
    Case("printed, and __del__ kills it", "import os\nclass A:\n    def __del__(self): os.kill(os.getpid(), 9)\na = A()\nprint('main')", exit=137),
    Case("printed, and __del__ ends it all", "import os\nclass A:\n    def __del__(self): os._exit(3)\na = A()\nprint('main')", exit=3),
    Case("printed, and a callback crashes", "import ctypes, atexit\natexit.register(ctypes.string_at, 0)\nprint('main')", exit=139),
    Case("printed, and a server in a thread goes on", "import threading, http.server\ns = http.server.HTTPServer(('127.0.0.1', 0), http.server.BaseHTTPRequestHandler)\nprint('serving')\nthreading.Thread(target=s.serve_forever).start()", exit=None, timeout_ms=3000),
    Case("printed, an error, and a thread goes on", "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\nprint('started')\nraise ValueError", exit=None, timeout_ms=3000),
    Case("printed, and a signal ends it", "import os, signal\nprint('x')\nos.kill(os.getpid(), 2)", exit=130),
]

ENDINGS = [
    Case("a kind of class that tells what is asked of it", "class M(type):\n    def __getattribute__(c, n): print('asked', n); return type.__getattribute__(c, n)\nclass A(metaclass=M): pass\na = A()"),
    Case("a kind of class that answers for what it has not", "class M(type):\n    def __getattr__(c, n): print('not there', n); raise AttributeError(n)\nclass A(metaclass=M): pass\na = A()"),
    Case("a kind of class that tells when it is hashed or compared", "class M(type):\n    def __hash__(c): print('hash'); return 1\n    def __eq__(c, o): print('eq'); return c is o\nclass A(metaclass=M): pass\nclass B(metaclass=M): pass\na, b = A(), B()"),
    Case("abstract classes and enumerations", "import abc, enum\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def f(s): ...\nclass B(A):\n    def f(s): return 1\nclass E(enum.Enum): a = 1\nb = B(); print(b.f(), E.a)"),
    Case("atexit, last first, with arguments", "import atexit\nfor i in range(3): atexit.register(print, i, sep='')\n@atexit.register\ndef f(): print('f')\natexit.unregister(print) if 0 else None\nprint('main')"),
    Case("atexit unregister", "import atexit\ndef f(): print('f')\natexit.register(f); atexit.register(print, 'g'); atexit.unregister(f)"),
    Case("atexit after an error", "import atexit\natexit.register(print, 'atexit')\n1 / 0", exit=1),
    Case("atexit after sys.exit", "import atexit, sys\natexit.register(print, 'atexit')\nsys.exit(3)", exit=3),
    Case("atexit not after os._exit", "import atexit, os\natexit.register(print, 'atexit')\nos._exit(0)"),
    Case("atexit not after a signal", "import atexit, os\natexit.register(print, 'atexit')\nos.kill(os.getpid(), 15)", exit=143),
    Case("an error in atexit", "import atexit\natexit.register(print, 'last')\natexit.register(lambda: 1 / 0)\natexit.register(print, 'first')", err=True),
    Case("sys.exit in atexit", "import atexit, sys\natexit.register(print, 'next')\natexit.register(sys.exit, 3)", exit=None, err=True),
    Case("atexit in atexit", "import atexit\natexit.register(lambda: atexit.register(print, 'inner'))"),
    Case("atexit in a forked child", "import atexit, os, sys\natexit.register(print, 'atexit')\nif os.fork() == 0: sys.exit()\nos.wait()"),
    Case("a thread started in atexit", "import atexit, threading\natexit.register(lambda: threading.Thread(target=print, args=('thread',)).start())", exit=None, err=True),
    Case("atexit sees modules and globals", "import atexit, json, sys\nx = {'a': 1}\natexit.register(lambda: print(json.dumps(x), __name__, list(globals()), sys.argv, sys.path))"),
    Case("__file__ is gone in atexit", "import atexit\natexit.register(lambda: print(__file__))", err=True),
    Case("__file__ is there after an exit", "import atexit, sys\natexit.register(lambda: print(__file__, __cached__))\nsys.exit(0)"),
    Case("__file__ after unittest", "import atexit, unittest\natexit.register(lambda: print(__file__))\nunittest.main(argv=['x'])", exit=None, err=True, normal=[(r"in [0-9.]+s", "in Ns")]),
    Case("a file is written by __del__ in a ring", "class A:\n    def __del__(s): open('o', 'w', encoding='latin-1').write('x')\na = A(); a.a = a\ndel a"),
    Case("modules are as they were in __del__ in a ring", "import json, os, sys\njson.st = 5\nclass A:\n    def __del__(s):\n        import json, os, sys as again\n        print(getattr(json, 'st', 'lost'), 'os' in again.modules, again is sys, [frame for frame in sys._current_frames()] != [])\na = A(); a.a = a; del a"),
    Case("the stack below __del__ in a ring is empty", "import traceback\nclass A:\n    def __del__(s): traceback.print_stack()\na = A(); a.a = a; del a", err=True),
    Case("a ring stays if the collector is off", "import gc\ngc.disable()\nclass A:\n    def __del__(s): print('gone')\na = A(); a.a = a; del a"),
    Case("warnings of a ring are shown as was asked for", "import warnings\nwarnings.showwarning = lambda m, *a, **k: print('custom', m)\nclass A:\n    def __del__(s): warnings.warn('x')\na = A(); a.a = a; del a"),
    Case("a coroutine in a ring that was not awaited", "async def f(): pass\nl = [f()]; l.append(l); del l", err=True),
    Case("atexit comes after the threads", "import atexit, threading, time\natexit.register(print, 'atexit')\nthreading.Thread(target=lambda: (time.sleep(.03), print('thread'))).start()"),
    Case("a daemon thread is not waited for", "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint('main')"),
    Case("a daemon thread that computes", "import threading\ndef f():\n    while True: sum(range(100))\nthreading.Thread(target=f, daemon=True).start()\nprint('main')"),
    Case("a daemon thread that prints", "import sys, threading, time\ne = threading.Event()\ndef f():\n    while True: e.set(); time.sleep(.001)\nthreading.Thread(target=f, daemon=True).start()\ne.wait(); print('main')"),
    Case("a thread that starts a thread at the end", "import threading, time\ndef f():\n    time.sleep(.02); threading.Thread(target=print, args=('second',)).start()\nthreading.Thread(target=f).start()"),
    Case("a thread pool is joined at the end", "from concurrent.futures import ThreadPoolExecutor\nimport time\nprint('main')\np = ThreadPoolExecutor(2)\nfor i in range(3): p.submit(lambda: (time.sleep(.02), print('task')))"),
    Case("a Timer is waited for", "import threading\nprint('main')\nthreading.Timer(.03, print, ('timer',)).start()"),
    Case("__del__ of a global", "class A:\n    def __init__(self, n): self.n = n\n    def __del__(self): print('del', self.n)\na = A('a'); b = A('b'); _c = A('_c')\nprint('main')"),
    Case("__del__ of globals, in order", "class A:\n    def __init__(self, n): self.n = n\n    def __del__(self): print('del', self.n, flush=True)\nfor n in 'zyxwvabc': globals()[n] = A(n)\n_z = A('_z'); l = [A('l0'), A('l1')]; d = {'k': A('d')}"),
    Case("__del__ in a cycle", "class A:\n    def __del__(self): print('del')\na = A(); a.self = a\ndel a\nprint('main')"),
    Case("__del__ in a cycle of globals", "class A:\n    def __init__(self, n): self.n = n\n    def __del__(self): print('del', self.n)\na = A(1); b = A(2); a.b = b; b.a = a"),
    Case("__del__ in an imported module", "import helper\nprint('main')", files={"helper.py": "class A:\n    def __del__(self): print('del of helper', A, flush=True)\na = A()\n"}),
    Case("__del__ in two modules and main", "import gc; gc.disable()  # their order depends on when it collects\nimport one, two\nclass A:\n    def __del__(self): print('main', flush=True)\na = A()", files={n + ".py": f"class A:\n    def __del__(self): print('{n}', flush=True)\na = A()\n" for n in ("one", "two")}),
    Case("__del__ in an attribute of a builtin module", "import sys, math\nclass A:\n    def __init__(self, n): self.n = n\n    def __del__(self): print('del', self.n, flush=True)\nsys.a = A('sys'); math.a = A('math'); import builtins; builtins.a = A('builtins')"),
    Case("__del__ in an attribute of a preloaded module", "import json, re\nclass A:\n    def __del__(self): print('del', flush=True)\njson.a = A(); re.b = A()"),
    Case("what __del__ sees at the end", "import sys, os\nx = 1\nclass A:\n    def __del__(self): print(sys.is_finalizing(), x, os.getcwd(), __name__, print is not None, flush=True)\na = A()"),
    Case("what a late __del__ sees", "import sys\nclass A:\n    def __init__(self): self.me = self\n    def __del__(self, sys=sys): print(sys.is_finalizing(), sys.meta_path is None, sys.modules is None, flush=True)\nsys.modules['x'] = A()"),
    Case("import in a late __del__", "import sys\nclass A:\n    def __del__(self):\n        import colorsys\n        print(colorsys.__name__)\nsys.x = A()", exit=None, err=True),
    Case("an error in a late __del__", "class A:\n    def __del__(self): 1 / 0\na = A()", err=True),
    Case("open in a late __del__", "class A:\n    def __del__(self): open('late', 'w').write('x')\na = A()", err=True),
    Case("__del__ after an error in main", "class A:\n    def __del__(self): print('del')\ndef f():\n    a = A()\n    1 / 0\nf()", exit=1),
    Case("__del__ after sys.exit in a function", "import sys\nclass A:\n    def __del__(self): print('del')\ndef f():\n    a = A()\n    sys.exit(3)\nf()", exit=3),
    Case("__del__ not after os._exit", "import os\nclass A:\n    def __del__(self): print('del', flush=True)\na = A()\nos._exit(0)"),
    Case("sys.is_finalizing in atexit", "import atexit, sys\natexit.register(lambda: print(sys.is_finalizing()))"),
    Case("weakref.finalize", "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'a'); f = weakref.finalize(a, print, 'b'); f.atexit = False\nweakref.finalize(a, print, 'c')"),
    Case("callbacks of weakref at the end", "import weakref\nclass A: pass\na = A()\nr = weakref.ref(a, lambda r: print('gone', flush=True))"),
    Case("a generator's finally at the end", "def g():\n    try: yield 1\n    finally: print('finally')\nx = g(); next(x)"),
    Case("a generator's with at the end", "import contextlib\n@contextlib.contextmanager\ndef c():\n    try: yield\n    finally: print('finally', flush=True)\nx = c(); x.__enter__()"),
    Case("an ExitStack that is not closed", "import contextlib\ns = contextlib.ExitStack(); s.callback(print, 'closed')\nprint('main')"),
    Case("a file that is not closed is written", "f = open('out', 'w'); f.write('x' * 10)"),
    Case("a file in a cycle is written", "class A: pass\na = A(); a.f = open('out', 'w'); a.a = a; a.f.write('y' * 11)\ndel a"),
    Case("a file in a function's frame is written", "def f():\n    h = open('out', 'w'); h.write('z' * 12)\n    raise SystemExit(2)\nf()", exit=2),
    Case("a buffered writer of bytes is written", "import os, io\nf = os.fdopen(os.open('out', os.O_WRONLY | os.O_CREAT), 'wb'); f.write(b'x' * 13); g = io.TextIOWrapper(open('out2', 'wb')); g.write('y')"),
    Case("a gzip file that is not closed", "import gzip\nf = gzip.open('out.gz', 'wt'); f.write('x')", err=True, normal=[(r"out.gz added \d+", "out.gz")]),
    Case("a TemporaryDirectory is removed", "import tempfile\nt = tempfile.TemporaryDirectory(dir='.'); open(t.name + '/x', 'w').write('x')"),
    Case("a NamedTemporaryFile is removed", "import tempfile, os\nt = tempfile.NamedTemporaryFile(dir='.')\nprint(len(os.listdir('.')))"),
    Case("what a forked child prints at its end", "import os\nprint('twice')\nif os.fork() == 0: raise SystemExit(0)\nos.wait()"),
    Case("a forked child's __del__", "import os\nclass A:\n    def __del__(self): print('del', flush=True)\na = A()\nif os.fork() == 0: raise SystemExit(0)\nprint(os.wait()[1], flush=True)"),
    Case("logging at the end", "import logging\nh = logging.handlers.MemoryHandler(99, target=logging.StreamHandler()) if hasattr(logging, 'handlers') else __import__('logging.handlers').handlers.MemoryHandler(99, target=logging.StreamHandler())\nlogging.getLogger().addHandler(h)\nlogging.warning('kept until the end')", err=True),
    Case("a pending asyncio task", "import asyncio\nloop = asyncio.new_event_loop()\nt = loop.create_task(asyncio.sleep(9))\nloop.run_until_complete(asyncio.sleep(0))", err=True),
    Case("asyncio cancels what is left", "import asyncio\nasync def f():\n    try: await asyncio.sleep(9)\n    finally: print('cancelled')\nasync def main():\n    asyncio.create_task(f()); await asyncio.sleep(0)\nasyncio.run(main())"),
    Case("an async generator at the end", "import asyncio\nasync def g():\n    try: yield 1\n    finally: print('finally')\nasync def main():\n    async for x in g(): break\nasyncio.run(main())"),
    Case("a queue with a feeder thread", "import queue, threading\nq = queue.Queue()\ndef f():\n    while (x := q.get()) is not None: print(x)\nthreading.Thread(target=f).start()\nfor x in 1, 2, None: q.put(x)"),
    Case("a subprocess that is not waited for", "import subprocess\np = subprocess.Popen(['sleep', '60'])\nprint('main')"),
    Case("thread-locals at the end", "import threading\nclass A:\n    def __del__(self): print('del', flush=True)\nl = threading.local(); l.a = A()\nt = threading.Thread(target=lambda: setattr(l, 'b', A())); t.start(); t.join(); print('main')"),
    Case("C's own atexit", "import ctypes\nF = ctypes.CFUNCTYPE(None)\nlibc = ctypes.CDLL(None)\nbuf = ctypes.create_string_buffer(b'from C\\n')\nlibc.printf(buf)\nlibc.puts(b'more')"),
]  # fmt: skip

# What the interpreter finalizes at its end (src/snapshot/shutdown.c).  "The template" is what the pool has imported.
DEL = "class A:\n    def __init__(self, n='A'): self.n = n\n    def __del__(self): print('del', self.n, flush=True)\n"
SHUTDOWN = [
    Case("del: a class attribute", DEL + "class B: a = A()\nprint('end')"),
    Case("del: a class attribute of a class in a cycle", DEL + "class B:\n    a = A()\n    def f(self): return B\nB.b = B()"),
    Case("del: a default argument", DEL + "def f(a=A()): pass"),
    Case("del: a closure", DEL + "def f():\n    a = A()\n    return lambda: a\ng = f()"),
    Case("del: a bound method", DEL + "class B:\n    def __init__(s): s.a = A()\n    def m(s): pass\nm = B().m"),
    Case("del: a partial", DEL + "import functools\np = functools.partial(print, A())"),
    Case("del: an instance that the collector does not know", "class A:\n    __slots__ = ()\n    def __del__(self): print('del', flush=True)\na = A()\nb = (A(),)"),
    Case("del: an int with a finalizer", "class A(int):\n    __slots__ = ()\n    def __del__(self): print('del', int(self), flush=True)\na = A(7)"),
    Case("del: set later on the class", "class A: pass\na = A()\nsetattr(A, '__' + 'del__', lambda s: print('del', flush=True))"),
    Case("del: inherited from a class of the library", "import tempfile\nclass T(tempfile.TemporaryDirectory): pass\nt = T(dir='.')", normal=[(r"tmp\w+", "tmpN")], err=True),
    Case("del: a generator that has not finished", DEL + "def g():\n    a = A('local')\n    try: yield 1\n    finally: print('finally', flush=True)\nx = g(); next(x)"),
    Case("del: a generator in a cycle", "def g():\n    me = yield\n    try: yield\n    finally: print('finally', flush=True)\nx = g(); next(x); x.send(x); del x"),
    Case("del: a coroutine that has not finished", "import types\n@types.coroutine\ndef s(): yield\nasync def f():\n    try: await s()\n    finally: print('finally', flush=True)\nc = f(); c.send(None)"),
    Case("del: an asynchronous generator that has not finished", "async def g():\n    try: yield 1\n    finally: print('finally', flush=True)\nx = g()\ntry: x.asend(None).send(None)\nexcept StopIteration as e: print(e.value)", err=True),
    Case("del: thread-local", DEL + "import threading\nl = threading.local(); l.a = A()\nprint('end')"),
    Case("del: a context variable", DEL + "import contextvars\nv = contextvars.ContextVar('v'); v.set(A())\nprint('end')"),
    Case("del: an exception with its frames", DEL + "def f():\n    a = A('local')\n    1 / 0\ntry: f()\nexcept Exception as e: kept = e\nprint('end')"),
    Case("del: sys.last_value and sys.path", DEL + "import sys\nsys.last_value = A('last'); sys.path.append(A('path')); sys.argv.append(A('argv')); sys.ps1 = A('ps1'); sys.x = A('x')"),
    Case("del: sys.modules", DEL + "import sys\nsys.modules['a'] = A('not a module')\nm = type(sys)('m'); m.a = A('module'); sys.modules['m'] = m; del m"),
    Case("del: excepthook, displayhook and trace", DEL + "import sys\nclass H(A):\n    def __call__(self, *a): return None\nsys.excepthook = H('excepthook'); sys.displayhook = H('displayhook'); sys.unraisablehook = H('unraisablehook')"),
    Case("del: builtins", DEL + "import builtins\nbuiltins.a = A('a'); builtins._ = A('_')\nprint('end')"),
    Case("del: revives itself", "kept = []\nclass A:\n    def __del__(self): print('del', flush=True); kept.append(self)\na = A(); a.a = a; del a\nb = A()"),
    Case("del: makes another", "class A:\n    def __init__(self, n): self.n = n\n    def __del__(self):\n        print('del', self.n, flush=True)\n        if self.n: globals()['b'] = A(self.n - 1)\na = A(3)"),
    Case("del: raises", "class A:\n    def __del__(self): raise ValueError('at the end')\na = A(); b = A(); b.b = b; del b", err=True),
    Case("del: raises, with a hook", "import sys\nsys.unraisablehook = lambda u: print('hook', u.exc_type.__name__, flush=True)\nclass A:\n    def __del__(self): raise ValueError\na = A()"),
    Case("del: exits", "import sys\nclass A:\n    def __del__(self): print('del'); sys.exit(3)\na = A()", err=True),
    Case("del: prints without a flush", "class A:\n    def __del__(self): print('del')\na = A(); b = A(); b.b = b; del b\nprint('end')"),
    Case("del: prints to stderr, and writes a file", "import sys\nclass A:\n    def __init__(self): self.f = open('out', 'w')\n    def __del__(self): print('del', file=sys.stderr); self.f.write('late')\na = A()", err=True),
    Case("del: imports what the template has", err=True, code="class A:\n    def __del__(self):\n        import json, os\n        print(json.dumps([1]), os.getcwd(), flush=True)\na = A()"),
    Case("del: imports what the template has, in a module", "import helper", files={"helper.py": "class A:\n    def __del__(self):\n        import json\n        print(json.dumps([1]), flush=True)\na = A()\n"}, err=True),
    Case("del: looks at sys.modules", "import sys\nclass A:\n    def __del__(self, sys=sys): print([(n, sys.modules.get(n) is None) for n in ('json', 're', 'os', 'sys', '__main__')], flush=True)\na = A()"),
    Case("del: looks at the collector", "import gc\nclass A:\n    def __del__(self, gc=gc): print(len(gc.callbacks), gc.get_debug(), gc.isenabled(), flush=True)\na = A()"),
    Case("del: collects", "import gc\nclass A:\n    def __del__(self, gc=gc): gc.collect(); print('del', flush=True)\na = A(); b = A(); b.b = b; del b"),
    Case("atexit: collects, and looks at the collector", "import atexit, gc\natexit.register(lambda: print(type(gc.collect()), len(gc.get_objects()) > 0))\nclass A:\n    def __del__(self): print('del', flush=True)\na = A()"),
    Case("template: an attribute of a module", DEL + "import json\njson.a = A()"),
    Case("template: a list in a module", DEL + "import json, re\njson.kept = [A('list')]; re.kept = {'k': (A('dict'),)}"),
    Case("template: an attribute of a class", DEL + "import json\njson.JSONEncoder.a = A()"),
    Case("template: a method that is replaced by a closure", DEL + "import json\ndef f():\n    a = A()\n    return lambda self, o: a\njson.JSONEncoder.default = f()"),
    Case("template: an attribute of a function", DEL + "import json\njson.dumps.a = A()"),
    Case("template: a subclass with a finalizer", "import json\nclass E(json.JSONEncoder):\n    def __del__(self): print('del', flush=True)\nprint(json.dumps(1, cls=E))\ne = E()"),
    Case("template: a cache that holds an object", DEL + "import copyreg\nclass B: pass\ncopyreg.pickle(B, A('reducer').__init__)"),
    Case("template: an open file in a module", "import json\njson.f = open('out', 'w'); json.f.write('x' * 10)"),
    Case("template: an open file in a class", "import json\njson.JSONEncoder.f = open('out', 'w'); json.JSONEncoder.f.write('x' * 10)"),
    Case("template: a weak reference with a callback", "import json, weakref\nclass A: pass\na = A()\njson.r = weakref.ref(a, lambda r: print('gone', flush=True))"),
    Case("template: files that are only read, streams in memory and a socket", "import io, json, socket\njson.kept = [open(__file__, 'rb'), io.StringIO('x'), io.BytesIO(b'y'), socket.socket()]\nprint('end')", err=True),
    Case("template: a file that is only read, and all warnings", "import json, warnings\nwarnings.simplefilter('always')\njson.f = open(__file__, 'rb')", err=True),
    Case("template: a file that is only read, and warnings about resources", "import json, warnings\nwarnings.simplefilter('ignore')\nwarnings.simplefilter('default', ResourceWarning)\njson.f = open(__file__, 'rb')", err=True),
    Case("template: a file that is only read, and a filter for a message", "import json, warnings\nwarnings.filterwarnings('always', message='unclosed')\njson.f = open(__file__, 'rb')", err=True),
    Case("template: a socket, and all warnings", "import json, socket, warnings\nwarnings.simplefilter('always')\njson.s = socket.socket()", normal=[(r"fd=\d+", "fd=N")], err=True),
    Case("template: filters that are not tuples", "import json, warnings\nwarnings.filters.insert(0, ['ignore'])\njson.f = open(__file__, 'rb')", err=True),
    Case("template: subclasses of files that the end closes", "import io, json\nclass F(io.FileIO):\n    def close(self): print('close file', flush=True); super().close()\nclass B(io.BytesIO):\n    def close(self): print('close bytes', flush=True); super().close()\njson.f, json.b = F(__file__), B()"),
    Case("template: a class with a finalizer", "import json\nclass A:\n    def __del__(self): print('del', flush=True)\nclass M(type):\n    def __del__(self): print('del class', flush=True)\njson.A = A\nclass B(metaclass=M): pass\njson.B = B"),
    Case("template: references of a dictionary of weak values", "import json, weakref\nclass A: pass\nclass K(weakref.KeyedRef):\n    def __del__(self): print('del', flush=True)\njson.a = A(); json.d = weakref.WeakValueDictionary(a=json.a)\njson.k = K(json.a, lambda r: print('gone', flush=True), 1)\njson.l = weakref.KeyedRef(json.a, lambda r: print('lost', flush=True), 1)"),
    Case("template: a module that the code removes", DEL + "import sys, json\njson.a = A()\ndel sys.modules['json'], json\nprint('end')"),
    Case("template: all modules that the code removes", "import sys\nclass A:\n    def __del__(self): print('del', flush=True)\na = A()\nfor n in list(sys.modules):\n    if n not in ('sys', 'builtins', '__main__'): del sys.modules[n]\nprint('end')"),
    Case("template: a module that is replaced", DEL + "import sys, json\nclass M(type(sys)):\n    def __del__(self): print('del module', flush=True)\nsys.modules['json'] = M('json')"),
    Case("template: reloaded", DEL + "import importlib, json\njson.a = A()\nimportlib.reload(json)\nprint('end')"),
    Case("file: a global", "f = open('out', 'w'); f.write('x' * 10)"),
    Case("file: a cycle", "l = [open('out', 'w')]; l[0].write('x' * 11); l.append(l); del l"),
    Case("file: a default argument", "def f(h=open('out', 'w')): h.write('x' * 12)\nf()"),
    Case("file: a class attribute", "class A: f = open('out', 'wb')\nA.f.write(b'x' * 13)"),
    Case("file: an unfinished generator", "def g():\n    with open('out', 'w') as f:\n        f.write('x' * 14)\n        yield\nx = g(); next(x)"),
    Case("file: csv, gzip and zip", "import csv, zipfile\nf = open('a.csv', 'w'); w = csv.writer(f); w.writerow([1, 2])\nz = zipfile.ZipFile('b.zip', 'w'); z.writestr('x', 'y')", err=True),
    Case("file: a wrapper of standard output", "import sys, io\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8', line_buffering=False)\nprint('wrapped ü')"),
    Case("file: a wrapper of standard output, and the original", "import sys, io\nw = io.TextIOWrapper(sys.stdout.buffer)\nw.write('wrapped')\nprint('plain')"),
    Case("file: standard output is detached", "import sys\nb = sys.stdout.detach()\nb.write(b'bytes')", exit=None, err=True),
    Case("file: standard output is written as bytes", "import sys\nsys.stdout.buffer.write(b'bytes')\nsys.stderr.buffer.write(b'error')", err=True),
    Case("file: standard output is a StringIO", "import sys, io\nsys.stdout = io.StringIO()\nprint('lost')"),
    Case("file: standard output is an object of the code", "import sys\nclass Out:\n    n = 0\n    def write(self, t): sys.__stdout__.write(t.upper())\n    def flush(self): Out.n += 1; sys.__stdout__.write('flush %d\\n' % Out.n)\nsys.stdout = Out()\nprint('on')"),
    Case("file: standard output is a file that fills nothing", "import sys\nsys.stdout = open('/dev/full', 'w')\nprint('lost')", exit=120, err=True),
    Case("file: standard output is closed", "import sys\nprint('kept', flush=True)\nsys.stdout.close()"),
    Case("file: the descriptor of standard output is closed", "import os\nprint('lost')\nos.close(1)", exit=120, err=True),
    Case("file: the descriptor is closed in atexit, and something is printed", "import atexit, os\natexit.register(lambda: (os.close(1), print('lost')))\nprint('kept')", exit=120, err=True),
    Case("file: the descriptor is closed in __del__, and something is printed", "import os\nclass A:\n    def __del__(self, os=os): os.close(1); print('lost')\na = A()\nprint('kept')"),
    Case("file: the descriptor of standard error is closed", "import os, sys\nos.close(2)\nsys.stderr.write('lost')\nprint('kept')", exit=None),
    Case("file: closed descriptor, and an exit code", "import os, sys\nprint('lost')\nos.close(1)\nsys.exit(3)", exit=120, err=True),
    Case("atexit: prints without a flush", "import atexit\natexit.register(print, 'atexit')\nclass A:\n    def __del__(self): print('del')\na = A()\nprint('end')"),
    Case("atexit: registers, and raises", "import atexit\ndef f(): atexit.register(print, 'second'); 1 / 0\natexit.register(f)", err=True),
    Case("atexit: all callbacks are removed", "import atexit\natexit.register(print, 'never')\natexit._clear()\nclass A:\n    def __del__(self): print('del', flush=True)\na = A()"),
    Case("thread: a daemon that holds objects", DEL + "import threading, time\ndef f(a): time.sleep(60)\nthreading.Thread(target=f, args=(A('of the thread'),), daemon=True).start()\na = A('global')"),
    Case("thread: a daemon that computes, and finalizers", DEL + "import threading\ndef f():\n    while True: sum(range(100))\nthreading.Thread(target=f, daemon=True).start()\na = A()"),
    Case("thread: threading._shutdown is replaced", "import threading\nold = threading._shutdown\ndef f(): print('shutdown'); old()\nthreading._shutdown = f\nthreading.Thread(target=print, args=('thread',)).start()", err=True),
    Case("thread: started without threading", "import _thread, time\n_thread.start_new_thread(time.sleep, (60,))\nclass A:\n    def __del__(self): print('del', flush=True)\na = A()"),
    Case("weakref: proxies, containers and finalize", "import weakref\nclass A: pass\na, b = A(), A()\np = weakref.proxy(a, lambda p: print('proxy', flush=True))\nd = weakref.WeakValueDictionary(a=a); s = weakref.WeakSet([a])\nweakref.finalize(b, print, 'finalize')"),
    Case("abc: classes and their registries", "import collections.abc\nclass A(collections.abc.Mapping):\n    def __getitem__(self, k): raise KeyError(k)\n    def __iter__(self): return iter(())\n    def __len__(self): return 0\n    def __del__(self): print('del', flush=True)\na = A(); print(isinstance(a, collections.abc.Sized), dict(a))"),
    Case("copy: a hostile memo", "import copy\nclass M(dict):\n    def get(self, k, d=None): return d\n    def __setitem__(self, k, v): dict.__setitem__(self, k, v)\n    def __del__(self): print('del', flush=True)\nm = M()\nprint(copy.deepcopy([1, [2]], m))"),
    Case("copy: a memo that opens a file", "import copy\nclass M:\n    def get(self, k, d): return d\n    def __setitem__(self, k, v): copy.f = copy.dispatch_table and copy.__builtins__['op' + 'en']('out', 'w'); copy.f.write('x')\n    __getitem__ = lambda s, k: []\nprint(copy.deepcopy([[1]], M()))"),
    Case("gc: disabled", "import gc\ngc.disable()\nclass A:\n    def __del__(self): print('del', flush=True)\na = A(); b = A(); b.b = b; del b\nprint('end')"),
    Case("gc: frozen by the code", "import gc\nclass A:\n    def __del__(self): print('del', flush=True)\na = A(); b = A(); b.b = b; del b\nf = open('out', 'w'); f.write('text')\ngc.freeze()\nprint('end')", err=True),
    Case("gc: unfrozen by the code", "import gc\ngc.unfreeze()\nclass A:\n    def __del__(self): print('del', flush=True)\na = A(); a.a = a; del a\nprint('end')"),
    Case("gc: a callback of the code", "import gc\nclass A:\n    def __del__(self): print('del', flush=True)\na = A()\ngc.callbacks.append(lambda p, i: p == 'stop' and print('collected', flush=True))"),
    Case("gc: a callback that atexit adds", "import atexit, gc\natexit.register(lambda: gc.callbacks.insert(0, lambda p, i: print(p, flush=True)))"),
    Case("a trace function sees finalizers", "import sys\nclass A:\n    def __del__(self): pass\na = A()\nsys.settrace(lambda f, e, a: print(e, f.f_code.co_name, flush=True))"),
    Case("a profile function sees finalizers", "import sys\nclass A:\n    def __del__(self): len([])\na = A()\nsys.setprofile(lambda f, e, a: print(e, f.f_code.co_name, flush=True))"),
    Case("an interrupt, and finalizers", "class A:\n    def __del__(self): print('del', flush=True)\na = A()\nraise KeyboardInterrupt", exit=130),
    Case("a forked child has a shutdown of its own", "import os\nclass A:\n    def __del__(self): print('del', flush=True)\na = A(); f = open('out%d' % (os.fork() == 0), 'w'); f.write('x')\ntry: os.wait()\nexcept ChildProcessError: pass"),
    Case("a subclass of a stream that the code closes", "import io\nclass S(io.StringIO):\n    def close(self): print('close', flush=True); super().close()\ns = S()\nimport json; json.s = S()"),
    Case("multiprocessing: a pool that is not closed", "import multiprocessing\nif __name__ == '__main__':\n    p = multiprocessing.Pool(1)\n    print(p.map(abs, [-1]))", err=True),
    Case("concurrent.futures: an executor in a module of the template", "import json\nfrom concurrent.futures import ThreadPoolExecutor\njson.p = ThreadPoolExecutor(1)\nprint(json.p.submit(abs, -1).result())\njson.p.submit(print, 'task')"),
    Case("asyncio: a loop in a module of the template", "import asyncio, json\njson.loop = asyncio.new_event_loop()\nasyncio.set_event_loop(json.loop)\nprint('end')", err=True),
    Case("logging: a handler to a file, not closed", "import logging\nlogging.basicConfig(filename='log', format='%(message)s')\nlogging.error('e')\nclass H(logging.StreamHandler):\n    def close(self): print('close', flush=True); super().close()\nlogging.getLogger().addHandler(H())\nlogging.error('f')", err=True),
    Case("tempfile: finalizers", "import tempfile\nd = tempfile.TemporaryDirectory(dir='.')\nf = tempfile.NamedTemporaryFile(dir='.', mode='w'); f.write('x')\ns = tempfile.SpooledTemporaryFile(); s.write(b'x')"),
]  # fmt: skip

# For interpreters that have imported sqlite3, logging and more ahead.
WITH_LIBRARIES = [
    Case("sqlite3: a database that is not closed", "import sqlite3\nc = sqlite3.connect('f.db')\nc.execute('pragma journal_mode=wal')\nc.execute('create table t (x)')\nc.execute('insert into t values (1)')\nc.commit()\nprint('done')"),
    Case("sqlite3: one in the middle of a change", "import sqlite3\nc = sqlite3.connect('f.db')\nc.execute('create table t (x)')\nc.commit()\nc.execute('insert into t values (1)')\nprint('done')"),
    Case("logging: when the program began", "import logging\nlogging.basicConfig(format='%(relativeCreated)d %(message)s')\nr = logging.makeLogRecord({})\nprint(0 <= r.relativeCreated < 5000)"),
    Case("logging: what is flushed at the end", "import logging, logging.handlers, sys\nh = logging.StreamHandler(sys.stdout)\nm = logging.handlers.MemoryHandler(100, target=h)\nlogging.getLogger().addHandler(m)\nlogging.error('kept until the end')\nprint('end')"),
    Case("logging: imported, not used", "import logging, atexit\nprint(atexit._ncallbacks())"),
    Case("logging: an atexit of the code's own", "import logging, atexit\natexit.register(print, 'last')\nlogging.warning('w')", err=True),
    Case("malloc: more than there was, given back, and again", "for n in (600, 5000, 600):\n    x = [bytes(n + i % 50) for i in range(20000)]\n    print(sum(map(len, x)))\n    del x"),
    Case("threading: the main thread's number", "import threading, os\nt = threading.main_thread()\nprint(t.native_id == threading.get_native_id() == os.getpid(), t.ident == threading.get_ident())"),
    Case("multiprocessing: the other name of __main__", "import sys, multiprocessing\nprint(sys.modules.get('__mp_main__') in (None, sys.modules['__main__']))"),
    Case("numpy: what a destructor prints at the end", "import numpy\nclass A:\n    def __del__(self): print('gone')\na = A()\nb = numpy.zeros(3)\nprint(b)"),
    Case("gc: callbacks at the end", "import gc\ngc.callbacks.append(lambda phase, info: phase == 'stop' and info['generation'] == 2 and print('collected'))\nprint('end')", err=True),
    Case("gc: frozen, and an open file", "import gc\nf = open('x', 'w'); f.write('text')\ngc.freeze()\nprint('end')"),
]

# A module beside main.py that takes the place of one of the standard library.
LOOKS = """
import atexit, os, sys, threading
print(__name__, sorted(os.listdir('.')), len(open('main.py').read()), os.path.exists(sys.modules['__main__'].__file__))
class A:
    def __del__(self): print('gone', flush=True)
a = A(); a.a = a
atexit.register(print, 'atexit of', __name__)
threading.Thread(target=print, args=('thread',)).start()
def nlargest(n, x, key=None): return ['mine']
def mean(x): return 'mine'
def loads(x): return 'mine'
"""

# Short programs of the usual kinds, and ways to be noticed at the end without the words that are usual for it.
PROGRAMS = [
    Case("json", "import json\nprint(json.dumps({'a': [1, 2.5, None, 'ü']}, indent=2, sort_keys=True))\nprint(json.loads('[1, {\"a\": 2}]'))"),
    Case("json: an error in it", "import json\ndef f(x): return json.loads(x)\nf('{')", exit=1),
    Case("json: an error that is caught", "import json\ntry: json.loads('{')\nexcept json.JSONDecodeError as e: print(e, e.doc, e.pos)"),
    Case("json: a class that encodes", "import json\nclass P:\n    def __init__(self, x): self.x = x\nclass E(json.JSONEncoder):\n    def default(self, o): return o.x\nprint(json.dumps([P(1), P(2)], cls=E))"),
    Case("re, math, itertools, functools, operator", "import re, math, itertools, functools, operator\nprint(re.compile(r'(\\d+)').findall('a1b22'), math.sqrt(2), list(itertools.chain([1], [2])), functools.reduce(operator.add, [1, 2, 3]))"),
    Case("collections", "from collections import Counter, defaultdict, deque, namedtuple, OrderedDict\nP = namedtuple('P', 'x y')\nd = defaultdict(list); d['a'].append(1)\nprint(Counter('abca'), P(1, 2), d, deque([1]), OrderedDict(a=1))"),
    Case("collections: what imports another", "from collections import Counter\nprint(Counter('abcab').most_common(2))"),
    Case("collections: what imports another, beside main.py", "from collections import Counter\nprint(Counter('abcab').most_common(2))", files={"heapq.py": LOOKS}, warm=False),
    Case("a codec that imports a module, beside main.py", "print('ü.example'.encode('idna'))", files={"stringprep.py": LOOKS}, exit=1),
    Case("datetime", "from datetime import datetime, timedelta\nimport time\nd = datetime(2024, 2, 28) + timedelta(days=2)\nprint(d, d.strftime('%A'), datetime.strptime('2024-01-02', '%Y-%m-%d'), time.gmtime(0).tm_year)"),
    Case("random", "import random\nrandom.seed(42)\nprint(random.random(), random.randint(1, 6), random.choice('abc'), random.sample(range(9), 3))"),
    Case("statistics, fractions, decimal", "from statistics import mean, stdev\nfrom fractions import Fraction\nfrom decimal import Decimal, getcontext\ngetcontext().prec = 5\nprint(mean([1, 2]), stdev([1, 2, 4]), Fraction(1, 3), Decimal(1) / Decimal(7))"),
    Case("string, textwrap, heapq, bisect, copy, base64, hashlib", "import string, textwrap, heapq, bisect, copy, base64, hashlib\nprint(string.digits, textwrap.fill('a b c', 3), heapq.nlargest(1, [1, 2]), bisect.bisect([1, 2], 1), copy.deepcopy([[1]]), base64.b64encode(b'a'), hashlib.sha256(b'a').hexdigest())"),
    Case("dataclasses and typing", "from dataclasses import dataclass, field, asdict\nfrom typing import List, Optional\n@dataclass(order=True)\nclass A:\n    x: int\n    y: List[int] = field(default_factory=list)\n    z: Optional[str] = None\nprint(A(1), asdict(A(2, [3])), A(1) < A(2))"),
    Case("pprint and uuid", "from pprint import pprint\nimport uuid\npprint({'b': list(range(40)), 'a': 1})\nprint(len(str(uuid.uuid4())))"),
    Case("a module that hides one of the table", "from statistics import mean\nprint(mean([1]))", files={"statistics.py": LOOKS}, warm=False),
    Case("a package that hides one of the table", "import statistics\nprint(statistics.mean([1]))", files={"statistics/__init__.py": LOOKS}, warm=False),
    Case("a module that hides one that is imported by one of the table", "from statistics import mean\nprint(mean([1, 2]))", files={"fractions.py": LOOKS}, exit=1, warm=False),
    Case("a module that is not there", "import json\nfrom json import nothing", exit=1),
    Case("a name that is not there", "import math\nprint(math.sqrt(4))\nprint(math.nothing)", exit=1),
    Case("a module by an exception", "import json\ndel json.dumps\ntry: json.dumps\nexcept AttributeError as e: m = e.obj\nm.codecs.builtins.open('main.py').close()"),
    Case("a module by an attribute of a class", "class A:\n    import json\nA.json.codecs.builtins.open('main.py').close()"),
    Case("a module by a pattern", "import json\ndel json.dumps\ntry: json.dumps\nexcept AttributeError as e:\n    match e:\n        case AttributeError(obj=m): m.codecs.builtins.open('main.py').close()"),
    Case("a file by a number that a word follows", "x = 0.jor open('main.py')\nprint(x.read())", err=True),
    Case("a class and an error in it", "class A:\n    def __init__(self, x): self.__x = x\n    def f(self): return 1 / self.__x\nA(0).f()", exit=1),
    Case("a class of errors", "class E(ValueError):\n    def __str__(self): return 'mine'\nraise E(1)", exit=1),
    Case("a class of errors with a text that raises an error", "class E(ValueError):\n    def __str__(self): return 1 / 0\nraise E(1)", exit=1),
    Case("a class of exits", "class E(SystemExit):\n    def __init__(self): self.code = 7\nprint('x')\nraise E", exit=7),
    Case("a class of exits with a text", "class T:\n    def __str__(self): return 'bye'\nraise SystemExit(T())", exit=1),
    Case("a class of interrupts", "class E(KeyboardInterrupt): pass\nraise E", exit=None),
    Case("abstract classes", "from abc import ABC, abstractmethod\nclass A(ABC):\n    @abstractmethod\n    def f(self): ...\nclass B(A):\n    def f(self): return self.__class__.__name__\nprint(B().f(), type(B()).__name__)\nA()", exit=1),
    Case("a class with operators, a context and a call", "class V:\n    def __init__(self, x): self.x = x\n    def __add__(self, o): return V(self.x + o.x)\n    def __repr__(self): return f'V({self.x})'\n    def __enter__(self): return self\n    def __exit__(self, *a): print('exit')\n    def __call__(self, y): return y\nwith V(1) as v: print(v + V(2), v(3))"),
    Case("a class in a ring", "class A: pass\na = A(); a.a = a\ndel a\nprint(A.__name__)"),
    Case("a class with an end", "class A:\n    def __del__(self): print('gone')\na = A()\nprint('main')"),
    Case("a class with an end that is put together", "class A: pass\nfor n in ['_' + '_del_' + '_']: setattr(A, n, lambda s: print('gone'))\na = A()"),
    Case("a class with an end by a dictionary", "def m(n, b, d): d['_' + '_del_' + '_'] = lambda s: print('gone'); return type(n, b, d)\nclass A(metaclass=m): pass\na = A()"),
    Case("a class with an end by an enumeration", "from enum import Enum\nE = Enum('E', {'_' + '_del_' + '_': lambda s: print('gone'), 'a': 1})\nprint(E.a)"),
    Case("a stream of one's own is closed at the end", "import io\nclass S(io.StringIO):\n    def close(self): print('closed', flush=True)\ns = S()"),
    Case("a generator at the end", "def g():\n    n = 0\n    while True:\n        yield n\n        n += 1\nx = g(); print(next(x), next(x))"),
    Case("a generator of another's at the end", "class I:\n    def __iter__(self): return self\n    def __next__(self): return 1\n    def close(self): print('closed', flush=True)\ndef g(): yield from I()\nx = g(); print(next(x))"),
    Case("a generator of the library's at the end", "import heapq\nclass I:\n    def __iter__(self): return self\n    def __next__(self): return 1\n    def close(self): print('closed', flush=True)\nx = heapq.merge(I()); print(next(x), next(x))"),
    Case("keys of the library's at the end", "from collections import ChainMap\nclass I:\n    def __iter__(self): return self\n    def __next__(self): return 1\n    def close(self): print('closed', flush=True)\nclass M(ChainMap):\n    def __iter__(self): return I()\nx = iter(M().keys()); print(next(x))"),
    Case("a class and standard input", "class R:\n    def read(self): return [input(), input()]\nprint(R().read())", stdin="a\nb\n"),
    Case("if it is the main program", "import math\ndef main():\n    print(math.pi)\nif __name__ == '__main__':\n    main()"),
    Case("a warning about code", "import json\nprint(json.dumps(1) is '1')", err=True),
    Case("a warning, and what shows it beside main.py", "import random\nprint(bool(NotImplemented))", files={"linecache.py": LOOKS}, err=True, warm=False),
]  # fmt: skip
