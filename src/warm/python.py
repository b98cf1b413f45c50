# warm/python.py -- the part of a waiting Python interpreter that is Python (see python.c).
#
# Run once, before the template is written, in a namespace that code never sees.  What the functions
# need is looked up beforehand: code may change what it likes.
import atexit
import gc
import os
import sys
import threading

SCRIPT = os.path.join(os.getcwd(), "main.py")


def preload(names):
    import importlib

    for name in names.decode().split("\0"):
        try:
            if name:
                importlib.import_module(name)
        except Exception as error:
            return "preload: %s: %s: %s" % (name, type(error).__name__, error)
    become_main()
    warm_up()
    global baseline
    baseline = len(sys.modules) - 1  # without __main__
    gc.collect()
    gc.freeze()
    return ""


def become_main():
    # What the interpreter itself does between opening the script and running it.
    main = sys.modules["__main__"].__dict__
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader
    main["__file__"] = SCRIPT
    main["__cached__"] = None
    main["__loader__"] = loader("__main__", SCRIPT)


# The first of anything costs more than the second: caches of types, of codecs, of the parser, and
# pages to be copied.  So it is done once before the template is written, and once more to see which
# pages that takes.
USUAL = {
    "": "def f(a, *b, c=1, **d):\n    return [x for x in b]\n"
        "class C:\n    def m(self): return f'{self!r} {1.5:.2f}'\n"
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    str(e)\nC().m()\nf(1, 2)\n",
    "json": "import json\njson.loads(json.dumps({'a': [1, 2.5, None, 'x']}))\n",
    "re": "import re\nre.sub(r'(a+)b', r'\\1', 'aab')\n",
    "numpy": "import numpy\na = numpy.arange(6.0).reshape(2, 3)\nstr(a @ a.T), a.mean(), repr(a)\n",
    "pandas": "import pandas\nd = pandas.DataFrame({'a': [1, 2], 'b': ['x', 'y']})\n"
              "str(d), d.a.sum(), d.describe(), d.groupby('b').a.mean(), d[d.a > 1]\n",
}


def usual():
    return "".join(code for name, code in USUAL.items() if not name or name in sys.modules)


def warm_up():
    exec(compile(usual(), SCRIPT, "exec"), {"__name__": "warm"})
    sys.stdout.write("")
    sys.stdout.flush()


def settle():
    # In the child that is written down.  What gives a restored one random numbers of its own, if
    # anything that is loaded has some already; what is imported later asks the kernel.
    seeds = []
    if "random" in sys.modules:
        seeds.append(sys.modules["random"].seed)
    if "numpy.random" in sys.modules:
        seeds.append(sys.modules["numpy.random"].seed)
    if "_ssl" in sys.modules:
        add, urandom = sys.modules["_ssl"].RAND_add, os.urandom
        seeds.append(lambda: add(urandom(32), 32.0))

    def refresh():
        for seed in seeds:
            seed()
        return True

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


def drive(code):
    exec(compile(code, "<context>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})


def exit_code(error):
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xffffffff if -0x80000000 <= code <= 0x7fffffff else 0xffffffff
    stderr = sys.stderr
    try:
        if stderr is not None:
            sys.stdout.flush()
            stderr.write(str(code) + "\n")
    except Exception:
        pass
    return 1


def flush(status):
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException as error:
            if stream is sys.stdout:
                sys.unraisablehook  # the interpreter tells of it, and exits with 120
                try:
                    sys.stderr.write("Exception ignored in: %r\n%s: %s\n" % (stream, type(error).__name__, error))
                    sys.stderr.flush()
                except BaseException:
                    pass
                status = 120
    return status


def finish(status, interrupted, shutdown=threading._shutdown, run_exit=atexit._run_exitfuncs, collect=gc.collect, count=gc.get_count):
    # In the order in which the interpreter does it: threads, atexit, output, then objects.
    try:
        shutdown()
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    try:
        run_exit()
    except BaseException:
        pass
    status = flush(status)
    modules = sys.modules
    modules.pop("__main__", None)
    # Those that the code imported come last.  The others are left alone: to look at one is to copy
    # its page.
    for _ in range(len(modules) - baseline):
        modules.popitem()
    # What was made since has never been older, unless there was a collection.
    young, middle, old = count()
    collect(2 if middle or old else 0)
    status = flush(status)
    if interrupted:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return status


def trial(restore_fd, template_fd):
    # Whether a process can be restored here, and what it touches when it runs code.  Answers with
    # '!' and the reason, or with the version and what is imported.
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
        return "!" + (first[1:].decode() or "a restored process ended at once")
    code = (usual() + "print(1 + 1, 'ok')\n").encode()
    ours.sendall(struct.pack("=IIIII", 1 + len(code), 3, 0, 0, len(code)) + b"\0" + code)
    output = b""
    while True:
        more = os.read(out, 1000)
        if not more:
            break
        output += more
    status = os.waitpid(pid, 0)[1]
    if status != 0 or output != b"2 ok\n":
        return "!a restored process ended with status %d" % status
    os.unlink(SCRIPT)
    loaded = sorted({name.partition(".")[0] for name in sys.modules})
    return " ".join(["%d.%d.%d" % sys.version_info[:3]] + loaded)
