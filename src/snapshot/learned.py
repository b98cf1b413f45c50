# snapshot/learned.py -- installed modules that the daemon has learned from the imports of code (core/pool/learned.h).
#
# They are hidden like those of hidden.py, but the effects of their import are not known. Only modules of the
# interpreter's own directories of packages are imported. Modules that print something, or change variables of the
# environment that exist, sys.path, signal handlers or the like, are refused. If code has changed a variable that the
# import has read, the module is executed as usual.
import _signal
import time

learned = set()  # names of hidden modules that the learned ones have imported
import_times = {}  # first part of the name of a hidden module -> nanoseconds
variables = {}  # the environment of the template
read = {}  # first part of the name of a module -> names of the variables that it has read; None: all


# Parts of packages that most code imports, and that the package does not import by itself. The daemon knows only the
# first parts of names.
PARTS = {"PIL": ["Image"], "lxml": ["etree"], "matplotlib": ["pyplot"], "scipy": ["stats"]}


class Refused(BaseException):
    pass


def note_read(name):
    read.setdefault(current.partition(".")[0], set()).add(name)


class Watched(dict):
    """The environment during an import."""

    def __getitem__(self, name):
        note_read(name)
        return dict.__getitem__(self, name)

    def __iter__(self):
        note_read(None)
        return dict.__iter__(self)


def use_environment(data):
    os.environ._data = data
    if hasattr(os, "environb"):
        os.environb._data = data


def is_installed(name):
    site = modules.get("site")
    spec = modules["_frozen_importlib_external"].PathFinder.find_spec(name)
    if not site or not spec:
        return False
    file = spec.origin if spec.has_location else next(iter(spec.submodule_search_locations or ()), "")
    return file.startswith(tuple([path + "/" for path in site.getsitepackages()]))


def state_of_process():
    signals = [_signal.getsignal(number) for number in range(1, _signal.NSIG)]
    return list(sys.path), os.getcwd(), sys.getrecursionlimit(), sys.excepthook, sys.displayhook, signals


def import_quietly(name):
    """Returns whether the import wrote to the standard streams."""
    saved, memory = [os.dup(fd) for fd in (1, 2)], os.memfd_create("output")
    os.dup2(memory, 1)
    os.dup2(memory, 2)
    try:
        import_and_record(name)
        for part in PARTS.get(name, ()):
            import_part("%s.%s" % (name, part))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        written = os.fstat(memory).st_size
        for fd in (1, 2):
            os.dup2(saved[fd - 1], fd)
            os.close(saved[fd - 1])
        os.close(memory)
    return written > 0


def import_part(name):
    global steps
    own, steps = steps, []  # it is not imported with its package
    try:
        import_and_record(name)
    except Exception:
        pass
    finally:
        steps = own


def import_learned(name):
    if not is_installed(name):
        return
    if not variables:
        variables.update(os.environ._data)
    before, data, old_state = set(journal), os.environ._data, state_of_process()
    use_environment(Watched(variables))
    try:
        prints = import_quietly(name)
        now = dict(os.environ._data.items())
    finally:
        use_environment(data)
        for key in set(os.environ._data) - set(variables):
            del os.environ[os.fsdecode(key)]
        learned.update(set(journal) - before)
    if prints:
        raise Refused("%s: its import prints something" % name)
    if any([now.get(key) != variables[key] for key in variables]) or state_of_process() != old_state:
        raise Refused("%s: its import changes the environment" % name)
    for key in set(now) - set(variables):
        journal[name].append((os.environ.setdefault, (os.fsdecode(key), os.fsdecode(now[key])), {}))


def import_timed(name, load):
    # Some C code imports modules without __import__(). So each name begins without the modules of the others.
    aside.update((n, modules.pop(n)) for n in list(journal) if n in modules)
    began = time.perf_counter_ns()
    try:
        load(name)
    except (Exception, SystemExit):  # not in this version, or not installed
        pass
    first = name.partition(".")[0]
    import_times[first] = import_times.get(first, 0) + time.perf_counter_ns() - began


def environment_differs(module, environ=os.environ):
    names, data = read.get(module.partition(".")[0], ()), dict(environ._data)
    if None in names:
        names = [name for name in set(data).union(variables) if not name.lower().endswith(b"_proxy")]
    return any([data.get(name) != variables.get(name) for name in names])


def hidden_times():
    """The hidden modules that are in no package, and how many microseconds their import took: numpy:81234."""
    return ["%s:%d" % (name, import_times.get(name, 0) // 1000) for name in sorted(hidden) if "." not in name]
