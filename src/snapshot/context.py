"""context.py -- the driver of a Python context: receives code on a socket, runs it, keeps its variables. Also runs the
code of an execution with `rich`, see run_once().

It runs inside the sandbox, as `python3 -c` or exec'd in an interpreter that was restored from a template, and then
calls serve(). The code that it runs may do anything, and shares the interpreter with it. Hence:

- It looks up no name that the code can change: builtins are a private copy, and the functions that it needs from
  modules are bound at the start. Modules that are imported later (traceback, asyncio) may have been replaced; there is
  a substitute for that case.
- SIGINT raises KeyboardInterrupt only while the code (or a repr() that it defines) runs, see interruptible().
- A message is always sent completely: see Channel.
- Everything that it stores or sends has a maximum size.

The structure serves a short start-up time. The imports at the top are modules that an interpreter has already loaded or
built in. Half of the file is a string, LATE, which is compiled when it is first needed or while the driver is idle:
compiling everything at once would take half as long as starting the interpreter."""

import builtins
import sys
from _io import BufferedReader, BufferedWriter, FileIO, open as open_file
from _signal import SIGINT, default_int_handler, signal
from _thread import RLock
from posix import _exit, close, dup2, fstat, register_at_fork, set_inheritable, stat, write
from select import poll, select
from sys import getprofile, gettrace, modules, setprofile, settrace
from time import process_time

try:
    from _json import encode_basestring as quote
except ImportError:  # an interpreter without the accelerator

    def quote(text):
        from json import dumps

        return dumps(text, ensure_ascii=False)


# Functions that are defined below use these, even if the code changes the real builtins.
__builtins__ = dict(vars(builtins))

# Defined in LATE.
after_inspect = after_pyplot = before_matplotlib = display_values = exit_code_of = report = represent = None
show_figures = None

DATA_MAX = 4 << 20  # bytes of one representation
PAYLOAD_MAX = 8 << 20  # the same as JSON, where a control character takes six bytes
TEXT_MAX = 64 << 10  # bytes of text/plain, and of an error message
TRACEBACK_MAX = 256 << 10
FRAMES_MAX = 2000  # frames of a traceback
RESULTS_MAX = 64  # results of a run; the last ones are reserved for the value of the run
RESULTS_FOR_MAIN = 8
SOURCES_MAX = 16 << 20  # total of earlier runs, for tracebacks
SOCKET_FROM = 100  # above the descriptors that code closes to clean up

ONLY_AST, TOP_LEVEL_AWAIT, COROUTINE = 0x400, 0x2000, 0x80
PLAIN_TYPES = (int, str, float, bool, list, tuple, dict, set, frozenset, bytes, complex)
BRACKETS = {list: "[]", tuple: "()", set: "{}", dict: "{}", frozenset: ("frozenset({", "})")}
ORIGINAL_HOOK = sys.__excepthook__
INTERRUPTED = '{"status":"interrupted"}'
# Attributes of an exception and of its class, even if the class overrides attribute access.
get_traceback, set_traceback = BaseException.__traceback__.__get__, BaseException.__traceback__.__set__
get_class_name = type.__dict__["__name__"].__get__
WATCHED = ("inspect", "linecache", "matplotlib.pyplot")  # see after_import()


class State:
    """State of the context and of the current run."""

    channel = None
    namespace = None
    late = False  # LATE was compiled
    forked = False  # this is a child that the code forked
    running = False  # from the request to the answer
    due = False  # results may be sent: from the start of the code to the answer
    # held while a message is sent and while `due` and the counters change; a signal handler may interrupt
    lock = RLock()
    code = None  # received, not run yet
    owed = None  # the answer to send
    interrupted = False  # SIGINT arrived where it could not be raised
    on_interrupt = default_int_handler  # the code's handler, while it is not installed
    tracers = (None, None)  # the code's functions, while they are not installed
    number = 0
    values = 0
    sent = 0
    full = False
    shown = None  # figures already sent in this run
    future = 0  # compiler flags of `from __future__`, for all later runs
    sources = {}  # file name -> code
    sources_size = 0
    loop = None
    old_main = None
    packages = False  # sys.path has the directory of packages that the user has installed


class Channel:
    """The control socket. A signal handler of the code may raise an exception at any point, so it must always be known
    which bytes were taken from a buffer but not sent: BufferedWriter does that in C. A message is copied in one step to
    its buffer, which is large enough for any message (and uses no memory until then). Bytes that an interrupted flush
    left are sent with the next one."""

    def __init__(self, fd):
        self.fd = move_up(fd)
        self.inode = fstat(self.fd).st_ino
        self.waiting = True  # for a message that has not arrived
        self.read_ahead = False  # the reader has buffered more than it returned
        self.reader = BufferedReader(FileIO(self.fd, "rb", closefd=False))
        self.writer = BufferedWriter(FileIO(self.fd, "wb", closefd=False), 2 * PAYLOAD_MAX + (64 << 10))

    def send(self, kind, payload=""):
        data = payload.encode("utf-8", "replace")
        message = b"%s %d\n%s" % (kind, len(data), data)
        try:
            with State.lock:
                self.writer.flush()
                self.writer.write(message)
                self.writer.flush()
        except BaseException:
            self.end_if_gone()
            raise

    def send_owed(self):
        """Sends the answer of the run exactly once, even if signal handlers raise exceptions. Handlers run at calls and
        jumps, therefore not between the three assignments below, and in write() only after the copy. Other threads that
        have results check `due` under the lock."""
        while State.owed is not None:
            try:
                data = State.owed.encode()
                message = b"done %d\n%s" % (len(data), data)
                # updates the CPU time in the kernel, so that it is charged to this run and not to the next
                process_time()
                with State.lock:
                    self.writer.flush()
                    State.owed = None
                    State.running = State.due = State.interrupted = False
                    self.writer.write(message)
            except BaseException:
                self.end_if_gone()

    def receive(self):
        """Stores the code of the next run in State; exits if the daemon has closed the socket. An exception of a signal
        handler loses no data: bytes are consumed in the same step in which State records them."""
        self.waiting = True
        while True:
            try:
                self.writer.flush()
                if not self.read_ahead:  # wait while the message is still in the socket, where pending() sees it
                    select([self.fd], [], [])
                self.waiting = False
                self.read_ahead = True
                window = self.reader.peek(1)
                break
            except BaseException:
                self.end_if_gone()
        if not window:
            _exit(0)
        header, newline, data = window.partition(b"\n")
        length = int(header[4:]) if newline and header[4:].isdigit() and header[:4] == b"run " else len(window)
        if len(data) < length:
            self.receive_long()
            return
        whole, more = len(header) + 1 + length, len(data) > length
        data = data[:length]
        State.code = data
        State.running = True
        self.read_ahead = more
        self.reader.read(whole)

    def receive_long(self):
        """The same for a message that has not arrived completely."""
        try:
            kind, length = self.reader.readline(64).split()
            data = self.reader.read(int(length))
            if kind != b"run" or len(data) != int(length):
                _exit(0)
            State.code = data
            State.running = True
        except BaseException:  # the position in the stream is lost
            _exit(1)

    def end_if_gone(self):
        """Called after an exception: of the socket, or of a handler of the code, which may be an OSError, too. Exits if
        the socket is gone."""
        self.check()
        hangup = poll()
        hangup.register(self.fd, 0)
        if hangup.poll(0) or self.reader.closed or self.writer.closed:
            _exit(1)

    def pending(self):
        return not self.waiting or bool(select([self.fd], [], [], 0)[0])

    def check(self):
        """Checks that the descriptor is still the socket, so that the driver never waits for an answer from another
        file."""
        while True:
            try:
                if fstat(self.fd).st_ino != self.inode:
                    _exit(1)
                return
            except OSError as e:
                if get_traceback(e).tb_next is None:  # from fstat() itself, not from a handler
                    _exit(1)


class ResultChannel(Channel):
    """The socket of an execution with `rich`. If the code has closed it, its results are lost, and nothing else
    changes."""

    def send(self, kind, payload=""):
        try:
            if fstat(self.fd).st_ino == self.inode:
                super().send(kind, payload)
        except OSError:
            pass

    def end_if_gone(self):
        pass


def move_up(fd):
    for number in range(SOCKET_FROM, SOCKET_FROM + 64):
        try:
            fstat(number)
        except OSError:
            break
    try:
        number = dup2(fd, number, inheritable=False)
        close(fd)
        return number
    except OSError:  # RLIMIT_NOFILE
        set_inheritable(fd, False)
        return fd


# Interrupts


def hold_interrupt(signum, frame):
    """Handles SIGINT while no code runs: it counts for a run that was already sent, but not between runs."""
    try:
        if not State.forked and State.channel.pending():
            State.interrupted = True
    except Exception:
        pass


def is_a(failure, kind):
    """Like isinstance(), which would also ask the exception object, and that may raise another exception."""
    return issubclass(type(failure), kind)


def let_interrupts_in():
    signal(SIGINT, State.on_interrupt)
    if State.interrupted:
        State.interrupted = False
        raise KeyboardInterrupt


def keep_interrupts_out():
    while True:
        try:
            before = signal(SIGINT, hold_interrupt)
            if before is not hold_interrupt:
                State.on_interrupt = default_int_handler if before is None else before
            return
        except KeyboardInterrupt:  # signal() first runs the handler of a pending signal
            State.interrupted = True
        except BaseException:
            pass


def interruptible(function, *arguments):
    """Calls the function and returns (value, None) or (None, exception). Used for every call that runs the code or a
    function that it defined."""
    value = failure = None
    try:
        try:
            let_interrupts_in()
            value = function(*arguments)
        finally:
            keep_interrupts_out()
    except BaseException as e:
        keep_interrupts_out()  # a second signal may have arrived during the first call
        failure = e
    if State.interrupted:
        State.interrupted = False
        if failure is None:
            failure = KeyboardInterrupt()
    return value, failure


# Running code


def split_last(text, tree):
    """Removes the last statement from the tree and returns it, if it is an expression with a value to show."""
    if not tree.body or type(tree.body[-1]) is not State.Expr:
        return None
    last = tree.body[-1]
    line = text.split("\n")[last.end_lineno - 1]
    if line.encode()[last.end_col_offset :].lstrip().startswith(b";"):
        return None
    del tree.body[-1]
    return State.Expression(last.value)


def execute(text, name):
    """Runs the code and returns the value of its last expression, or None."""
    flags = TOP_LEVEL_AWAIT | State.future
    tree = compile(text, name, "exec", flags | ONLY_AST, True)
    last = split_last(text, tree)
    code = compile(tree, name, "exec", flags, True) if tree.body else None
    if code and "__future__" in text:
        State.future |= future_flags(code)
    if last:  # before the rest runs: an error in it prevents the whole run
        last = compile(last, name, "eval", flags | State.future, True)
    if code:
        perform(code)
    return perform(last) if last else None


def future_flags(code):
    import __future__

    mask = 0
    for feature in __future__.all_feature_names:
        mask |= getattr(__future__, feature).compiler_flag
    return code.co_flags & mask


def perform(code):
    if State.tracers != (None, None):
        settrace(State.tracers[0])
        setprofile(State.tracers[1])
    try:
        value = eval(code, State.namespace)
        return await_here(value) if code.co_flags & COROUTINE else value
    finally:
        State.tracers = gettrace(), getprofile()
        if State.tracers != (None, None):
            settrace(None)
            setprofile(None)


def await_here(coroutine):
    import asyncio

    if State.loop is None or State.loop.is_closed():
        State.loop = asyncio.new_event_loop()
    loop = State.loop
    asyncio.set_event_loop(loop)
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except BaseException:
        if not task.done():  # interrupted
            task.cancel()
            try:
                loop.run_until_complete(task)
            except BaseException:
                pass
        if task.done() and not task.cancelled():
            task.exception()  # otherwise the loop reports that the exception was never retrieved
        raise


def keep_source(name, text):
    """Keeps the source for linecache, which is filled when the code imports it."""
    State.sources[name] = text
    State.sources_size += len(text)
    linecache = modules.get("linecache")
    while State.sources_size > SOURCES_MAX and len(State.sources) > 1:
        oldest = next(iter(State.sources))
        State.sources_size -= len(State.sources.pop(oldest))
        try:
            linecache.cache.pop(oldest, None)
        except Exception:
            pass
    if linecache:
        fill_linecache(linecache, name)


def fill_linecache(linecache, *names):
    try:
        for name in names or State.sources:
            if name not in linecache.cache:
                text = State.sources[name]
                lines = [line + "\n" for line in text.split("\n")]
                linecache.cache[name] = (len(text), None, lines, name)
    except Exception:  # the code has changed the module
        pass


# Values


def exact(text):
    """Converts an instance of a subclass of str, which the code may define, to str."""
    return str.__add__("", text)


def plain(value, room, above=()):
    """repr(), but for long values it creates only about `room` characters."""
    kind = type(value)
    if kind in (str, bytes) and len(value) > room:
        return repr(value[: room + 1])
    if kind not in BRACKETS or not value:
        text = exact(repr(value))
        return text if len(text) <= room else text[: room + 1]
    left, right = BRACKETS[kind]
    if id(value) in above or len(above) > 40:
        return left + "..." + right
    above += (id(value),)
    parts = []
    for item in value.items() if kind is dict else value:
        if kind is dict:
            name = plain(item[0], room, above)
            text = name + ": " + plain(item[1], room - len(name), above)
        else:
            text = plain(item, room, above)
        parts.append(text)
        room -= len(text) + 2
        if room < 0:
            return left + ", ".join(parts)
    if kind is tuple and len(parts) == 1:
        right = ",)"
    return left + ", ".join(parts) + right


def shorten(text):
    short = text[:TEXT_MAX]
    data = short.encode("utf-8", "replace")
    if len(data) > TEXT_MAX:
        short = data[:TEXT_MAX].decode("utf-8", "ignore")
    if len(short) < len(text):
        short += "\n[the rest is left out]"
    return short


def text_of(value):
    try:
        return shorten(plain(value, TEXT_MAX))
    except Exception as e:
        said = type(e).__name__
        if type(e) is ValueError and len(e.args) == 1 and type(e.args[0]) is str:
            said += ": " + e.args[0][:200]  # "Exceeds the limit (4300 digits) for integer string conversion..."
        return "<%s object at 0x%x, whose repr raised %s>" % (type(value).__name__, id(value), said)


def send_result(mime, data, main, value):
    """Called with the lock held."""
    State.sent += 1
    State.channel.send(
        b"result",
        '{"mime":%s,"data":%s,"main":%s,"value":%d}'
        % (quote(mime), quote(data), "true" if main else "false", value),
    )


def send_value(value):
    """Sends the value of the run."""
    if type(value) in PLAIN_TYPES:
        text = text_of(value)
        with State.lock:
            send_result("text/plain", text, True, State.values)
            State.values += 1
    else:
        late()
        represent(value).send(True)


def display(*values, raw=False, **ignored):
    """Shows values as results of the run, each in all the forms that it has (HTML, PNG, ...).
    With raw=True a value is a dict from MIME type to data."""
    late()
    display_values(values, raw)


def print_to_stderr(text):
    try:
        sys.stderr.write(text)
    except Exception:
        try:
            write(2, text.encode("utf-8", "replace"))
        except OSError:
            pass


# Hooks for imports of the code


class Watcher:
    """An import finder that only observes and finds nothing itself."""

    def find_spec(self, name, path=None, target=None):
        before_import(name)
        if name not in WATCHED:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                watch_loader(spec.loader, name)
                return spec
        return None


def watch_loader(loader, name):
    def exec_module(module):
        del loader.exec_module
        loader.exec_module(module)
        after_import(name, module)

    try:
        loader.exec_module = exec_module
    except Exception:  # a loader that does not allow new attributes
        pass


def before_import(name):
    if name == "matplotlib":
        late()
        before_matplotlib()


def after_import(name, module):
    if name not in WATCHED:
        return
    try:
        if name == "linecache":
            fill_linecache(module)
            return
        late()
        after_inspect(module) if name == "inspect" else after_pyplot(module)
    except Exception:
        pass


# The runs


def repair_streams():
    """Creates closed standard streams again: exit() closes stdin, and some code closes the others. Their descriptors
    are still open."""
    for name, fd in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name, None)
        if stream is None or getattr(stream, "closed", False) is not True:
            continue
        try:
            fstat(fd)
            if fd == 0:
                sys.stdin = open_file(0, closefd=False)
            else:
                errors = "backslashreplace" if fd == 2 else "strict"
                setattr(sys, name, open_file(fd, "w", 1, encoding="utf-8", errors=errors, closefd=False))
        except Exception:
            pass


def flush_streams():
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        stream = getattr(sys, name, None)
        try:
            stream.flush()
        except Exception:
            pass
    if "ctypes" in modules:  # code that has it may have printed with libc
        try:
            import ctypes

            libc = ctypes.CDLL(None)
            libc.fflush(ctypes.c_void_p.in_dll(libc, "stdout"))
        except Exception:
            pass


def use_packages():
    """Adds the directory into which pip installs packages, as the module `site` does at the start of an interpreter if
    the directory exists. It may have been made since then, or since this interpreter became a template."""
    site = modules.get("site")
    try:
        path = site.USER_SITE
        if not site.ENABLE_USER_SITE or stat(path).st_mode & 0o170000 != 0o040000:
            return
        State.packages = True
        if path in sys.path:
            return
        later = site.getsitepackages()  # packages of the user precede those of the system
        at = next((i for i, other in enumerate(sys.path) if other in later), len(sys.path))
        rest = sys.path[at:]
        del sys.path[at:]
        try:
            site.addsitedir(path)
        finally:
            sys.path.extend([other for other in rest if other not in sys.path])
    except Exception:  # usually: there is no such directory
        pass


def run_and_show(text, name):
    repair_streams()
    if not State.packages:
        use_packages()
    value = execute(text, name)
    if value is not None:
        State.namespace["_"] = value
        if not State.forked:  # a child that the code forked sends no results
            send_value(value)
    del value
    send_figures(True)


def send_figures(send):
    if "matplotlib.pyplot" in modules:
        late()
        show_figures(send)


def answer(failure):
    """Reports an exception that the code did not catch. Returns the payload of `done`."""
    late()
    if is_a(failure, SystemExit):
        code, second = interruptible(exit_code_of, failure)
        return '{"status":"exit","exit_code":%d}' % (1 if second else code)
    description = report(failure)
    State.channel.send(b"error", '{"name":%s,"message":%s,"traceback":%s}' % tuple(map(quote, description)))
    # The code may have raised it itself. Only the daemon knows whether it has sent a signal.
    return INTERRUPTED if is_a(failure, KeyboardInterrupt) else '{"status":"error"}'


def end_child(failure):
    """Ends a child that the code forked, when it reaches the end of the script."""
    if failure is None:
        raise SystemExit(0)
    if is_a(failure, SystemExit):
        raise failure
    late()
    report(failure)
    raise SystemExit(130 if is_a(failure, KeyboardInterrupt) else 1)


def run(data):
    """Runs the code and returns the payload of `done`."""
    State.number += 1
    with State.lock:
        State.values = State.sent = 0
        State.full = False
        State.shown = set()
        State.due = bool(data)  # an empty run follows an interrupt, and its results are discarded
    name = "<run %d>" % State.number
    text = data.decode("utf-8", "replace").lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    keep_source(name, text)
    failure = interruptible(run_and_show, text, name)[1]
    if State.forked:
        end_child(failure)
    done = '{"status":"ok"}'
    if failure is not None:
        done = answer(failure)
        interruptible(send_figures, not is_a(failure, KeyboardInterrupt))
        failure = None
    interruptible(flush_streams)
    State.channel.check()
    return done


def after_fork():
    """Closes the socket in a child: while a copy is open, the daemon cannot see that the context has died."""
    State.lock = RLock()  # another thread may have held the old one
    State.due = False
    if not State.forked:
        State.forked = True
        try:
            close(State.channel.fd)
        except OSError:
            pass


def prepare():
    """Prepares the interpreter as the code expects it."""
    State.old_main = modules.get("__main__")
    module = type(sys)("__main__")
    module.__builtins__ = builtins
    modules["__main__"] = module
    State.namespace = vars(module)
    builtins.display = display
    sys.argv = [""]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = [sys.executable]
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.reconfigure(line_buffering=True)  # so that output can be followed
        except Exception:
            pass
    forget_program()
    watch_imports()


def forget_program():
    if "linecache" in modules:  # 3.13 stores this file there, as the source of everything named <string>
        getattr(modules["linecache"], "cache", {}).pop("<string>", None)


def watch_imports():
    """Also makes a child that the code forks close the socket."""
    sys.meta_path.insert(0, Watcher())
    if "watch_hidden" in globals():  # modules of the template that no finder finds
        globals().pop("watch_hidden")(sys.meta_path[0], before_import, after_import)
    for name in WATCHED:
        if name in modules:
            after_import(name, modules[name])
    register_at_fork(after_in_child=after_fork)


def serve(fd):
    """Serves runs. Never returns, but raises SystemExit in a child that the code forked."""
    signal(SIGINT, hold_interrupt)
    State.channel = Channel(fd)
    prepare()
    State.channel.send(b"ready")
    if not State.channel.pending():
        late()
    import _ast  # while idle: it creates all classes of the syntax tree

    State.Expr, State.Expression = _ast.Expr, _ast.Expression
    while True:
        try:
            while True:  # inside the try: a signal handler may also run at the jump back
                serve_one()
        except BaseException:
            if State.forked:
                raise


def serve_one():
    """Runs one step. A signal handler may raise an exception at any point; the next call continues there."""
    if not State.running:
        State.channel.receive()
    if State.owed is None:
        code, State.code = State.code, None
        try:
            State.owed = INTERRUPTED if code is None else run(code)
        except BaseException:
            if State.forked:
                raise
            keep_interrupts_out()
            State.owed = INTERRUPTED
    State.channel.send_owed()


def hide_frames(kind, failure, tb):
    """sys.excepthook of run_once(): the traceback begins with the code, and shows its lines."""
    tb = tb.tb_next if tb else None
    while tb is not None and tb.tb_frame.f_globals is not State.namespace:
        tb = tb.tb_next
    set_traceback(failure, tb)
    try:
        import linecache
        import traceback

        fill_linecache(linecache)
        traceback.print_exception(kind, failure, tb)
    except Exception:  # the code has changed the modules
        ORIGINAL_HOOK(kind, failure, tb)


def run_once(text, namespace, fd):
    """Runs the code of an execution with `rich` in the namespace of __main__, and sends the value of its last
    expression and the open figures. Otherwise the code runs as with `python3 -c`: errors, signals and the end of the
    interpreter are not changed."""
    import _ast

    State.Expr, State.Expression = _ast.Expr, _ast.Expression
    State.namespace = namespace
    State.channel = ResultChannel(fd)
    State.shown = set()
    State.due = True
    builtins.display = display
    watch_imports()
    sys.excepthook = hide_frames
    forget_program()
    keep_source("<string>", text)
    value = execute(text, "<string>")
    if value is not None and not State.forked:
        send_value(value)
    del value
    send_figures(not State.forked)


def late():
    if not State.late:
        exec(compile(LATE, "<late>", "exec", 0, True), globals())
        State.late = True


LATE = r'''
from _io import BytesIO
from posix import access

REPRESENTATIONS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_pdf_", "application/pdf"),
    ("_repr_json_", "application/json"),
    ("_repr_latex_", "text/latex"),
    ("_repr_javascript_", "application/javascript"),
)
BINARY = ("image/png", "image/jpeg", "application/pdf")
PNG_MODES = ("1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA")
OUR_GLOBALS = globals()


# Errors


def is_ours(frame):
    return frame.f_globals is OUR_GLOBALS


def is_loop(frame):
    return str(frame.f_globals.get("__name__")).startswith(("asyncio.", "selectors"))


def users_traceback(tb):
    """Removes the frames of this file and of the event loop that it started."""
    while tb is not None and (is_ours(tb.tb_frame) or is_loop(tb.tb_frame)):
        tb = tb.tb_next
    kept, depth = tb, 0
    while tb is not None:
        while tb.tb_next is not None and is_ours(tb.tb_next.tb_frame):
            tb.tb_next = tb.tb_next.tb_next
        tb, depth = tb.tb_next, depth + 1
    if depth > FRAMES_MAX:  # possible with a recursion limit of a million
        tb = kept
        for _ in range(FRAMES_MAX // 2):
            tb = tb.tb_next
        tail = tb
        for _ in range(depth - FRAMES_MAX):
            tail = tail.tb_next
        tb.tb_next = tail
    return kept


def cut(text, room):
    """Keeps the beginning and the end of a text that is too long."""
    if len(text) <= room:
        return text
    return text[: room // 2] + "\n[%d characters left out]\n" % (len(text) - room) + text[-(room // 2) :]


def message_of(failure):
    try:
        if is_a(failure, SyntaxError) and isinstance(failure.msg, str):
            return exact(failure.msg)
        return exact(str(failure))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "<exception str() failed>"


def name_of(failure):
    return exact(get_class_name(type(failure)))[:200]


def format_failure(failure, tb, message):
    limit = None
    try:
        limit = sys.getrecursionlimit()
        if limit < 1000:
            sys.setrecursionlimit(1000)
        import traceback

        if "linecache" in modules:
            fill_linecache(modules["linecache"])
        return exact("".join(traceback.TracebackException(type(failure), failure, tb).format()))
    except BaseException:
        return "%s: %s\n" % (name_of(failure), message)
    finally:
        if limit and limit < 1000:
            sys.setrecursionlimit(limit)


def add_line(failure):
    """Adds the source line to a SyntaxError: the compiler looked for a file."""
    try:
        if failure.text is None and failure.filename in State.sources:
            lines = State.sources[failure.filename].split("\n")
            if failure.lineno and failure.lineno <= len(lines):
                failure.text = lines[failure.lineno - 1] + "\n"
    except Exception:  # raised by a class that the code defined
        pass


def describe(failure):
    """Returns (name, message, traceback) of an exception that the code did not catch."""
    tb = users_traceback(get_traceback(failure))
    set_traceback(failure, tb)
    if is_a(failure, SyntaxError):
        add_line(failure)
    message = cut(message_of(failure), TEXT_MAX)  # first: KeyboardInterrupt is raised here, but traceback catches it
    return name_of(failure), message, cut(format_failure(failure, tb, message), TRACEBACK_MAX)


def report(failure):
    """Returns the result of describe() and prints it to stderr. Both use functions that the code may have replaced, and
    may fail."""
    description = interruptible(describe, failure)[0]
    if description is None:  # interrupted
        description = (name_of(failure), "", name_of(failure) + "\n")
    interruptible(complain, failure, description[2])
    return description


def complain(failure, text):
    """Prints the exception to stderr, as the interpreter does at the end of a script."""
    tb = get_traceback(failure)
    sys.last_type, sys.last_value, sys.last_traceback = type(failure), failure, tb
    if sys.version_info >= (3, 12):
        sys.last_exc = failure
    hook = getattr(sys, "excepthook", ORIGINAL_HOOK)
    if hook is ORIGINAL_HOOK:
        print_to_stderr(text)
        return
    try:
        hook(type(failure), failure, tb)
    except Exception:
        print_to_stderr(text)


def exit_code_of(failure):
    """Returns the exit code that `python3 main.py` would have, and prints what it would print."""
    code = failure.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xFF
    print_to_stderr(str(code) + "\n")
    return 1


# Results


class TooMuch(Exception):
    """A representation is larger than DATA_MAX."""


class Bounded(BytesIO):
    def write(self, data):
        if self.tell() + len(data) > DATA_MAX:
            raise TooMuch
        return super().write(data)


def base64(data):
    from binascii import a2b_base64, b2a_base64

    if isinstance(data, str):
        data = a2b_base64(data)
    elif not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError
    return b2a_base64(data, newline=False).decode()


def json_text(value):
    from json import JSONEncoder

    parts, size = [], 0
    for part in JSONEncoder(ensure_ascii=False, allow_nan=False).iterencode(value):
        parts.append(part)
        size += len(part)
        if size > DATA_MAX:
            raise TooMuch
    return exact("".join(parts))


def refuse(constant):
    raise ValueError(constant)


def checked_json(text):
    """Checks and returns data that is declared as JSON."""
    from json import loads

    if len(text) <= DATA_MAX:  # otherwise it is left out anyway
        loads(text, parse_constant=refuse)
    return text


def as_text(mime, data):
    """Returns the representation as it is sent, or None."""
    if isinstance(data, tuple) and len(data) == 2:  # with metadata
        data = data[0]
    if data is None:
        return None
    if mime in BINARY:
        return base64(data)
    is_json = mime == "application/json" or mime.endswith("+json")
    if isinstance(data, str):
        return checked_json(exact(data)) if is_json else exact(data)
    return json_text(data) if is_json else None


class Bundle:
    """The representations of one value."""

    def __init__(self):
        self.parts = {}
        self.left_out = []

    def add(self, mime, make, *arguments):
        """Returns the result of make(), or None if it fails."""
        try:
            data = as_text(mime, make(*arguments))
            if data is None:
                return
            size = len(data.encode("utf-8", "replace"))
            if size > DATA_MAX:
                self.left_out.append("%s of %.1f MB left out" % (mime, size / 1e6))
            elif 6 * size > PAYLOAD_MAX - 4096 and len(quote(data).encode("utf-8", "replace")) > PAYLOAD_MAX - 4096:
                self.left_out.append("%s of %.1f MB left out" % (mime, size / 1e6))
            else:
                self.parts[mime] = data
        except TooMuch:
            self.left_out.append("%s of more than %d MB left out" % (mime, DATA_MAX >> 20))
        except Exception:
            pass

    def send(self, main):
        """text/plain comes last: it says which representations are missing."""
        text = self.parts.pop("text/plain")
        if self.left_out:
            text += "\n[" + "; ".join(self.left_out) + "]"
        self.parts["text/plain"] = text
        room = RESULTS_MAX if main else RESULTS_MAX - RESULTS_FOR_MAIN
        with State.lock:
            due, fits, was_full = State.due, State.sent < room, State.full
            if due and fits:
                self.send_parts(main, room)
            elif due:
                State.full = True
        # Without the lock: the function that prints may belong to the code.
        if not due:  # the run has ended meanwhile, or this is now a child
            print(text)
        elif not fits and not was_full:
            print_to_stderr("display: more than %d results in a run, the rest is left out\n" % room)

    def send_parts(self, main, room):
        value = State.values
        State.values += 1
        for mime, data in self.parts.items():
            if State.sent < room - 1 or mime == "text/plain":
                send_result(mime, data, main, value)


def is_instance(value, module, name):
    """isinstance() for a class of a module that may not be imported."""
    try:
        return isinstance(value, getattr(modules[module], name))
    except Exception:
        return False


def image_png(image):
    data = Bounded()
    if image.mode not in PNG_MODES:
        image = image.convert("RGB")
    image.save(data, "PNG")
    return data.getvalue()


def figure_as(figure, format):
    data = Bounded()
    figure.savefig(data, format=format, bbox_inches="tight")
    return data.getvalue() if format == "png" else data.getvalue().decode()


def add_figure(bundle, figure):
    try:
        png = figure_as(figure, "png")  # raises the error of an invalid figure, which is an error of the code
        bundle.add("image/png", lambda: png)
    except TooMuch:
        bundle.left_out.append("image/png of more than %d MB left out" % (DATA_MAX >> 20))
    bundle.add("image/svg+xml", figure_as, figure, "svg")
    State.shown.add(id(figure))
    figure.stale = False  # savefig() marks it as changed


def is_mime(text):
    """The daemon accepts no other type."""
    return "/" in text and " " not in text and len(text) <= 100 and text.isascii() and text.isprintable()


def add_parts(bundle, parts):
    """Returns the representations in a dict from MIME type to data."""
    for mime, data in list(parts.items())[:16]:
        if isinstance(mime, str) and is_mime(exact(mime)):
            bundle.add(exact(mime), lambda: data)


def add_representations(bundle, value):
    try:
        if callable(getattr(value, "_repr_mimebundle_", None)):
            parts = value._repr_mimebundle_(include=None, exclude=None)
            add_parts(bundle, parts[0] if isinstance(parts, tuple) else parts)
    except Exception:
        pass
    for name, mime in REPRESENTATIONS:
        try:
            method = getattr(value, name, None)
        except Exception:
            continue
        if mime not in bundle.parts and callable(method):
            bundle.add(mime, method)


def represent(value):
    bundle = Bundle()
    if type(value) in PLAIN_TYPES or isinstance(value, type):
        pass
    elif is_instance(value, "matplotlib.figure", "Figure"):
        add_figure(bundle, value)
    elif is_instance(value, "PIL.Image", "Image"):
        bundle.add("image/png", image_png, value)
    else:
        add_representations(bundle, value)
    text = bundle.parts.get("text/plain")
    bundle.parts["text/plain"] = text_of(value) if text is None else shorten(text)
    return bundle


def display_values(values, raw):
    for value in values:
        if not State.due:  # a thread between runs, or a child
            print(text_of(value))
            continue
        if raw and isinstance(value, dict):
            bundle = Bundle()
            add_parts(bundle, value)
            bundle.parts.setdefault("text/plain", "")
        else:
            bundle = represent(value)
        bundle.send(False)


# matplotlib, which this file never imports


def open_figures():
    try:
        managers = modules["matplotlib._pylab_helpers"].Gcf.get_all_fig_managers()
        return [manager.canvas.figure for manager in managers]
    except Exception:
        return []


def show_figures(send):
    """Sends the open figures, except those that were shown and have not changed since, and closes all of them. Then
    raises the first exception that a figure has raised."""
    failure = None
    for figure in open_figures():
        try:
            try:
                if send and State.due and (id(figure) not in State.shown or figure.stale):
                    represent(figure).send(False)
            finally:
                modules["matplotlib.pyplot"].close(figure)
        except BaseException as e:
            send = send and is_a(e, Exception)  # not after an interrupt
            failure = e if failure is None else failure
    if failure is not None:
        raise failure


def before_matplotlib():
    """Selects a backend without a window, and a directory for the font cache (else matplotlib warns)."""
    try:
        from os import environ

        environ.setdefault("MPLBACKEND", "agg")
        if "MPLCONFIGDIR" in environ:
            return
        home = environ.get("HOME", "/")
        config = environ.get("XDG_CONFIG_HOME") or home + "/.config"
        cache = environ.get("XDG_CACHE_HOME") or home + "/.cache"
        if have_directory(config + "/matplotlib") and have_directory(cache + "/matplotlib"):
            return
        path = (environ.get("TMPDIR") or "/tmp") + "/matplotlib-cache"
        if have_directory(path):
            environ["MPLCONFIGDIR"] = path
    except Exception:
        pass


def have_directory(path):
    """Creates the directory, as matplotlib would."""
    from os import makedirs

    try:
        makedirs(path, exist_ok=True)
        return access(path, 2)
    except OSError:
        return False


def after_pyplot(pyplot):
    original = pyplot.show
    if getattr(original, "__globals__", None) is OUR_GLOBALS:
        return

    def show(*args, **kwargs):
        show_figures(True)

    show.__module__, show.__doc__, show.__wrapped__ = original.__module__, original.__doc__, original
    pyplot.show = show
    settings = modules["matplotlib"].rcParams
    if not isinstance(dict.__getitem__(settings, "backend"), str):  # imported before serve(), with no backend chosen
        settings["backend"] = "agg"


# inspect


def after_inspect(inspect):
    """inspect.getsource() of a class needs the file of its module, and __main__ has none."""
    original = inspect.getfile
    if getattr(original, "__globals__", None) is OUR_GLOBALS:
        return

    def getfile(object):
        try:
            return original(object)
        except (OSError, TypeError):
            name = source_of_class(object)
            if name is None:
                raise
            return name

    getfile.__module__, getfile.__doc__, getfile.__wrapped__ = original.__module__, original.__doc__, original
    inspect.getfile = getfile


def source_of_class(cls):
    if not isinstance(cls, type) or cls.__module__ != "__main__":
        return None
    for member in list(vars(cls).values()):
        code = getattr(getattr(member, "__func__", member), "__code__", None)
        if code is not None and code.co_filename in State.sources:
            return code.co_filename
    for name in reversed(list(State.sources)):
        if "class " + cls.__name__ in State.sources[name]:
            return name
    return None
'''

if __name__ == "__main__":
    # Python 3.9 uses the builtins of the caller if both functions have the same globals: this caller has its own.
    eval("serve(3)", {"serve": serve, "__builtins__": __builtins__})
elif __name__ == "cella_rich":  # core/execution/values.c makes a program that sets MAIN and SOURCE
    if MAIN["__name__"] == "__main__":  # noqa: F821
        eval("run(*arguments)", {"run": run_once, "arguments": (SOURCE, MAIN, 3), "__builtins__": __builtins__})  # noqa: F821
    else:  # multiprocessing imports the file with the code in a child
        exec(compile(SOURCE, "<string>", "exec", 0, True), MAIN)  # noqa: F821
