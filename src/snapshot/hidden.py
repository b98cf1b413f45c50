# snapshot/hidden.py -- modules that are in a template, but that code cannot see before it imports them.
#
# It is executed together with python.py. Hidden modules are imported while the template is made. What the import of
# each module does is recorded: the modules that it imports in turn, in their order, and the functions that it registers
# (atexit, fork, lists such as the warning filters), which are not registered then. All of these modules are removed
# from sys.modules and from their packages.
#
# When code imports a hidden module, hidden.c calls reveal(), which repeats these steps instead of finding, reading and
# executing the files. The result in sys.modules is the same, also the order. The module is executed as usual if its
# import could have another result here: see can_be_revealed().
import sys

first = frozenset(sys.modules)  # before any import of ours

import builtins
import os
from _frozen_importlib import _calc___package__, _find_and_load, _resolve_name
from _thread import RLock

# The functions below use these, even if the code changes the real builtins.
__builtins__ = dict(vars(builtins))

# The modules of the standard library that code imports. Those that do not exist in this version are left out. Not here:
# - modules that print a warning when they are imported: cgi, crypt, imp, pipes, telnetlib, distutils ...
# - modules that act on the terminal: readline, curses, tkinter; and doctest, which imports readline in Python 3.13
# - modules with an object whose finalizer trace functions see: multiprocessing.managers, multiprocessing.shared_memory
# - modules with their own main purpose: antigravity, this, idlelib, turtle
STANDARD = """
    abc argparse array ast asyncio atexit base64 binascii bisect bz2 calendar cmath cmd code codecs collections
    collections.abc colorsys concurrent.futures concurrent.futures.process concurrent.futures.thread configparser
    contextlib contextvars copy csv ctypes dataclasses datetime decimal difflib dis email email.message
    email.mime.application email.mime.multipart email.mime.text email.parser email.policy email.utils enum errno
    faulthandler fcntl filecmp fileinput fnmatch fractions functools gc getopt getpass gettext glob graphlib grp gzip
    hashlib heapq hmac html html.entities html.parser http http.client http.cookiejar http.cookies http.server
    importlib importlib.metadata importlib.resources importlib.util inspect io ipaddress itertools json keyword
    linecache locale logging logging.config logging.handlers lzma math mimetypes mmap multiprocessing
    multiprocessing.connection multiprocessing.pool numbers operator optparse os pathlib pickle pkgutil platform
    plistlib pprint profile pstats pwd queue quopri random re reprlib resource runpy sched secrets select selectors
    shelve shlex shutil signal smtplib socket socketserver sqlite3 ssl stat statistics string stringprep struct
    subprocess symtable sysconfig tarfile tempfile textwrap threading time timeit token tokenize tomllib traceback
    tracemalloc types typing unicodedata unittest unittest.mock urllib urllib.error urllib.parse urllib.request uuid
    warnings wave weakref xml xml.dom.minidom xml.etree.ElementTree xml.sax zipfile zlib zoneinfo _strptime
    encodings.idna
"""

# OpenSSL registers a function that frees its memory at the end, which takes 2 ms. It is not called.
OPENSSL = "_hashlib", "_ssl", "hashlib", "ssl"

modules, sys_names, builtin_names = sys.modules, vars(sys), vars(builtins)
import_by_itself = builtins.__import__
stat, list_directory = os.stat, os.listdir
filters = modules["_warnings"].filters
ModuleType = type(sys)
UNIQUE = "sys", "builtins", "__main__"
# Calls whose result is None unless a function of the code wants to see what is executed.
SPIES = [(sys.gettrace, ()), (sys.getprofile, ())]
if hasattr(sys, "monitoring"):
    SPIES += [(sys.monitoring.get_tool, (number,)) for number in range(6)]
# As the interpreter's table has it, see hidden.c.
AUDIT_DOC = "addaudithook%s\n--\n\n%s" % (sys.addaudithook.__text_signature__, sys.addaudithook.__doc__)

template = {}  # all modules of the template, by name, in the order of their import; used by shutdown.c
hidden = {}  # name of each hidden module -> the steps of its import; shutdown.c and hidden.c use it
closures = {}  # name of a hidden module -> names of all modules that its import needs
places = {}  # the same -> {entry of sys.path: first parts of the names of modules that were found there}
listings = {}  # directory -> (its identity and time, the first parts of the names in it)
unfolded = set()  # names of the modules that are being revealed
shown = []  # the entries of sys.modules that they need
watchers = []  # functions to call before and after a module is revealed
lock = RLock()


# ---- while modules are imported that will be hidden ----

journal = {}  # name -> steps: a name is imported, a tuple is a call
current, steps = "", []  # the module that is being imported
n_exits = 0  # exit functions of C code at the last look
aside = {}  # modules that were imported by another name of the list
named = set()  # modules whose packages had an attribute of their name before
lazy = {}  # names of modules that find members when they are used -> the members after the import
deferred = []  # (namespace, name, function) to put back
lists = []  # [list, its contents at the last look]
frozen = [vars(modules[name]) for name in ("_frozen_importlib", "_frozen_importlib_external")]
frozen_before = []  # their contents: importlib gives them other names

# Functions that are not called before the module is revealed.
DEFERRED = {
    "atexit": ["register"],
    "copyreg": ["pickle"],
    "os": ["register_at_fork"],
    "posix": ["register_at_fork"],
    "threading": ["_register_atexit"],
}


def defer(name):
    namespace = getattr(modules.get(name), "__dict__", {})
    for attribute in DEFERRED.get(name, ()):
        if attribute in namespace:
            deferred.append((namespace, attribute, namespace[attribute]))
            namespace[attribute] = later(namespace[attribute])


def later(function):
    def call(*arguments, **named):
        steps.append((function, arguments, named))
        return arguments[0] if arguments else None

    return call


def filters_changed():
    warnings = modules["_warnings"]
    getattr(warnings, "_filters_mutated", getattr(warnings, "_filters_mutated_lock_held", int))()


def extend(target, front, back):
    ours = [mine for name, mine in (("meta_path", meta_path), ("path_hooks", path_hooks)) if target is sys_names.get(name)]
    for entries in [target, *ours]:
        entries[:0] = front
        entries.extend(back)
    if target is filters:
        filters_changed()


def add_main(name):  # multiprocessing has a second name for it
    shown.append((name, modules["__main__"]))


def add_entry(name, value):
    shown.append((name, value))


def note_changes():
    global n_exits
    if exits() != n_exits:
        if current not in OPENSSL:
            steps.append((exits, (n_exits, exits()), {}))
        n_exits = exits()
    for pair in lists:
        target, last = pair
        if target != last:
            pair[1] = list(target)
            at = next((i for i in range(len(target)) if target[i : i + len(last)] == last), None)
            if at is None:  # something was removed, too
                at, last = len([item for item in target if item not in last]), target
            steps.append((extend, (target, target[:at], target[at + len(last) :]), {}))
    for name in [name for name in modules if name not in journal and name not in known]:
        known.add(name)
        if modules[name] is modules.get("__main__"):
            steps.append((add_main, (name,), {}))
        else:
            steps.append((add_entry, (name, modules[name]), {}))


def put_back(name):
    package = name.rpartition(".")[0]
    if package in aside:
        put_back(package)
    if name in aside:
        modules[name] = aside.pop(name)
        for step in journal[name]:
            if type(step) is str and step in aside:
                put_back(step)
        modules[name] = modules.pop(name)


def find_and_record(name, find):
    """Replaces importlib's _find_and_load()."""
    global steps, current
    note_changes()
    steps.append(name)
    if name in aside:
        put_back(name)
        return modules[name]
    if name in modules:  # importlib.import_module() calls this for modules that are imported, too
        return _find_and_load(name, find)
    package, _, tail = name.rpartition(".")
    if package and package not in modules:
        find_and_record(package, find)  # as importlib does
        if name in modules:
            return modules[name]
    if tail in getattr(modules.get(package), "__dict__", ()):
        named.add(name)
    (outer, steps), (outer_name, current) = (steps, []), (current, name)
    journal[name] = steps
    try:
        module = _find_and_load(name, find)
        note_changes()
    except BaseException:
        del journal[name]
        raise
    finally:
        steps, current = outer, outer_name
    defer(name)
    if "__getattr__" in getattr(modules.get(name), "__dict__", ()):
        lazy[name] = set(vars(modules[name]))
    if name == "importlib":
        for names, before in zip(frozen, frozen_before):
            changed = {n: v for n, v in names.items() if before.get(n) is not v and n != "_find_and_load"}
            journal[name].append((names.update, (changed,), {}))
    return module


def import_and_record(name, globals=None, locals=None, fromlist=(), level=0):
    """Replaces __import__(), because a module that is already imported does not reach find_and_record()."""
    note_changes()
    full = _resolve_name(name, _calc___package__(globals), level) if level else name
    own = steps
    parts = full.split(".")
    own.extend(".".join(parts[: i + 1]) for i in range(len(parts)))
    module = import_by_itself(name, globals, locals, fromlist, level)
    for part in fromlist or ():
        inner = "%s.%s" % (full, part)
        if inner in aside:
            put_back(inner)
        if inner in modules and vars(module).get(part) is modules[inner]:
            own.append(inner)
    return module


def import_hidden(names, installed_names):
    global known, lists, frozen_before
    known = set(modules)
    frozen_before = [dict(names) for names in frozen]
    lists = [[target, list(target)] for target in (filters, sys.meta_path, sys.path_hooks)]
    before = [(target, list(target)) for target in (filters, sys.meta_path, sys.path_hooks)]
    for name in DEFERRED:
        defer(name)
    machinery = vars(modules["_frozen_importlib"])
    machinery["_find_and_load"] = find_and_record
    builtin_names["__import__"] = import_and_record
    exits(True)
    for name in names:
        import_timed(name, import_and_record)
    for name in installed_names:
        import_timed(name, import_learned)
    while aside:
        put_back(next(iter(aside)))
    exits(False)
    builtin_names["__import__"] = import_by_itself
    for namespace, name, function in reversed(deferred):
        namespace[name] = function
    for target, contents in before:
        target[:] = contents
    filters_changed()
    for names, contents in zip(frozen, frozen_before):
        for name in names.keys() - contents.keys():
            del names[name]
        names.update(contents)


# ---- hiding them ----


def closure_of(name, done):
    """All names that an import of the module looks up, also those that were not found."""
    if name not in done:
        done[name] = None
        package = name.rpartition(".")[0]
        for step in ([package] if package else []) + journal.get(name, []):
            if type(step) is str:
                closure_of(step, done)
    return done


def place_of(name):
    """The entry of sys.path in which a module was found; None: it is built in."""
    names = getattr(modules.get(name), "__dict__", {})
    file, path = names.get("__file__"), names.get("__path__")
    if path and not file:
        return list(path)[0].rpartition("/")[0]
    return file and (os.path.dirname(os.path.dirname(file)) if path else os.path.dirname(file))


def places_of(closure):
    found = {}
    for name in closure:
        if "." not in name and (name in journal or name not in modules):
            place = place_of(name)
            if place or name not in modules:
                found.setdefault(place, set()).add(name)
    return {place: frozenset(names) for place, names in found.items()}


def unique(steps, names):
    """The steps without other names than these, and without repetitions."""
    seen = set()
    return [s for s in steps if type(s) is not str or (s in names and not (s in seen or seen.add(s)))]


def is_known(name, visible):
    """Whether it is a module that is hidden or visible, or was not found; others are entries that modules have added."""
    return (name in template and (name in journal or name in visible)) or name not in modules


def hide(visible):
    """Removes all modules but these."""
    names = [name for name in modules if name not in visible]
    for name, members in lazy.items():
        contents = getattr(modules.get(name), "__dict__", {})
        for member in [m for m, v in contents.items() if m not in members and not isinstance(v, ModuleType)]:
            del contents[member]
    if "re" in names:
        modules["re"].purge()
    # New strings, side by side: each page that a restored process touches is copied.
    own = {name: name.encode().decode() for name in sorted(journal.keys() | modules.keys())}
    template.update((own[n], m) for n, m in modules.items() if isinstance(m, ModuleType) and n not in UNIQUE)
    found = [name for name in names if name in journal and name in template]
    for name in found:
        closure = closure_of(name, {})
        needed = [own.get(n, n) for n in closure if n not in UNIQUE and is_known(n, visible)]
        closures[own[name]] = tuple(needed)
        places[own[name]] = places_of(closure)
    for name in found:
        hidden[own[name]] = tuple([own.get(s, s) if type(s) is str else s for s in unique(journal[name], closures)])
        package, _, tail = name.rpartition(".")
        # A module that its package imports is always revealed with it.
        if package and name not in named and not (package in closures and name in closure_of(package, {})):
            if vars(template[package]).get(tail) is template[name]:
                delattr(template[package], tail)
    rest = {own[name]: module for name, module in modules.items() if name in visible}
    modules.clear()  # and not one by one, so that no empty entries remain
    modules.update(rest)
    for directory in sys.path:
        names_in(directory)
    global meta_path, path_hooks
    meta_path, path_hooks = list(sys.meta_path), list(sys.path_hooks)
    journal.clear()


# ---- in a restored process ----


def names_in(directory):
    """The first parts of the names in a directory; None: not a directory."""
    try:
        state = stat(directory or ".")
    except OSError:
        return ()
    identity = state.st_dev, state.st_ino, state.st_mtime_ns
    known = listings.get(directory)
    if known and known[0] == identity:
        return known[1]
    try:
        names = frozenset([entry.partition(".")[0] for entry in list_directory(directory or ".")])
    except NotADirectoryError:
        return None
    except OSError:
        names = frozenset()
    listings[directory] = identity, names
    return names


def are_first(needed):
    """Whether no entry of sys.path before its place has one of the modules of a place; needed: see `places`."""
    path = sys_names.get("path")
    if type(path) is not list:
        return False
    needed = dict(needed)
    for entry in path:
        if type(entry) is not str:
            return not needed
        needed.pop(entry, None)
        if not needed:
            return True
        found = names_in(entry)
        if found is None or not all([names.isdisjoint(found) for names in needed.values()]):
            return False
    return not needed or list(needed) == [None]  # modules that were not found


def can_be_revealed(name):
    """Whether its import has the same result as in the template: the code has not changed the import system or replaced
    a module that it needs, and none of these modules would be found elsewhere."""
    if builtin_names.get("__import__") is not import_by_itself:
        return False
    if sys_names.get("meta_path") != meta_path or sys_names.get("path_hooks") != path_hooks:
        return False
    if name in learned and environment_differs(name):
        return False
    for needed in closures[name]:
        if needed in hidden:
            if needed in modules:
                return False
        elif modules.get(needed) is not template.get(needed):
            return False
    return are_first(places[name])


def unfold(name):
    """Repeats the steps of its import, and adds the modules to `shown` in the order in which importlib does."""
    package, _, tail = name.rpartition(".")
    if package in hidden:
        unfold(package)
    if name in unfolded:  # perhaps because its package has imported it
        return
    unfolded.add(name)
    module = template[name]
    for before, _ in watchers:
        before(name)
    for step in hidden[name]:
        if type(step) is not str:
            step[0](*step[1], **step[2])
        elif step in hidden:
            unfold(step)
    shown.append((name, module))
    if package and tail not in vars(template[package]):
        setattr(template[package], tail, module)
    for _, after in watchers:
        after(name, module)


def watch_imports(finder, before, after):
    """For the driver of contexts: a finder that it has put before the others, and what to call instead of it."""
    meta_path.insert(0, finder)
    watchers.append((before, after))


def reveal(name):
    """Returns the module; None: it must be imported as usual."""
    with lock:
        if name in hidden and can_be_revealed(name):
            try:
                unfold(name)
                # In one step: other threads find a module when it is complete, or wait for the lock because it is hidden.
                modules.update(shown)
                for done in unfolded:
                    del hidden[done]
            finally:  # references would keep modules that the code removes
                shown.clear()
                unfolded.clear()
            return modules.get(name)
        hidden.pop(name, None)
        return modules.get(name)
