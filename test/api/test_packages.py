"""Packages that code installs: pip and npm need no options, a session keeps what they install, and every interpreter finds it.

The index and the registry are directories of the test's own internet (internet.py)."""

import base64
import hashlib
import io
import json
import os
import platform
import subprocess
import tarfile
import zipfile

import images
import mcp
import support
from daemon import Daemon
from internet import Internet
from support import Skip, ensure, same, test, until
from test_contexts import context, ok, run, text
from test_execute_docker import add_programs
from test_pools import configure, full

PYTHON = "/usr/bin/python3"
ROOM = {"limits": {"memory_bytes": 1 << 30, "disk_bytes": 512 << 20, "processes": 128}, "network": {"tier": "standard", "allowed_domains": ["ok.example"]}}
INDEX = "http://ok.example/files/simple"
PIP = {"PIP_INDEX_URL": INDEX, "PIP_TRUSTED_HOST": "ok.example"}
CONFIG = {".config/pip/pip.conf": f"[global]\nindex-url = {INDEX}\ntrusted-host = ok.example\n"}
NPM = {"npm_config_registry": "http://ok.example/files/npm/", "npm_config_audit": "false", "npm_config_fund": "false"}
FAST = """
#include <Python.h>
static PyObject *answer(PyObject *self, PyObject *none) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "cellafast", 0, -1, methods};
PyMODINIT_FUNC PyInit_cellafast(void) { return PyModule_Create(&module); }
"""


def python(*words):
    return subprocess.run([PYTHON, *words], capture_output=True, text=True, check=False)


def need_pip():
    if python("-m", "pip", "--version").returncode:
        raise Skip(f"no pip for {PYTHON}")


def put(net, path, data):
    path = os.path.join(net.directory, "files", path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    return path


def put_wheel(net, name, version, files, tag="py3-none-any", scripts=""):
    """A wheel in the index, as build tools make them."""
    info = f"{name}-{version}.dist-info"
    files = {**files, f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: {'true' if tag.endswith('any') else 'false'}\nTag: {tag}\n"}  # fmt: skip
    if scripts:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{scripts}\n"
    record = []
    for path, data in files.items():
        data = data if isinstance(data, bytes) else data.encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(data)}\n")
    files[f"{info}/RECORD"] = "".join(record) + f"{info}/RECORD,,\n"
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as z:
        for path, data in files.items():
            z.writestr(path, data)
    put(net, f"simple/{name}/{name}-{version}-{tag}.whl", wheel.getvalue())
    directory = os.path.join(net.directory, "files", "simple", name)
    links = "".join(f'<a href="{w}">{w}</a>\n' for w in sorted(os.listdir(directory)) if w.endswith(".whl"))
    put(net, f"simple/{name}/index.html", f"<!DOCTYPE html>\n<html><body>\n{links}</body></html>\n")


def put_simple(net):
    put_wheel(net, "cellatest", "1.0", {"cellatest.py": "answer = 42\ndef main():\n    print('the script')\n"}, scripts="cellatest = cellatest:main")


def put_compiled(net):
    """A wheel with a library that was compiled for this machine's Python."""
    about = json.loads(python("-c", "import json, sys, sysconfig; print(json.dumps([sysconfig.get_path('include'), sysconfig.get_config_var('EXT_SUFFIX'), "
                                    "'cp%d%d' % sys.version_info[:2]]))").stdout)  # fmt: skip
    include, suffix, tag = about
    if not os.path.exists(os.path.join(include, "Python.h")):
        raise Skip(f"no Python.h for {PYTHON}")
    source, library = support.here("fast.c"), support.here("fast.so")
    support.write(source, FAST)
    subprocess.run(["cc", "-shared", "-fPIC", "-I", include, source, "-o", library], check=True)
    with open(library, "rb") as f:
        put_wheel(net, "cellafast", "2.1", {f"cellafast{suffix}": f.read()}, tag=f"{tag}-{tag}-linux_{platform.machine()}")


def put_npm(net, name, version, code):
    """A package in the registry, as `npm publish` puts it there."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, data in {"package.json": json.dumps({"name": name, "version": version, "main": "index.js"}), "index.js": code}.items():
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data.encode()))
    data = packed.getvalue()
    put(net, f"npm-files/{name}-{version}.tgz", data)
    digest = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    put(net, f"npm/{name}", json.dumps({
        "name": name, "dist-tags": {"latest": version},
        "versions": {version: {"name": name, "version": version, "main": "index.js",
                               "dist": {"tarball": f"http://ok.example/files/npm-files/{name}-{version}.tgz", "integrity": digest}}}}))  # fmt: skip


def tool(d, name, **arguments):
    return d.post(f"/v1/tools/{name}", arguments, timeout=55)


def install(d, what, session, **fields):
    r = d.exec("sh", f"pip install {what} 2>&1", session=session, env=PIP, timeout=55, **fields)
    same(r["exit_code"], 0, f"exit status of pip, which said\n{r['stdout'][-1500:]}\nand")
    return r


def value(r):
    ensure(r["error"] is None, f"{r['error']}", r)
    return r["results"][0]["data"]


def seen_everywhere(d, session, code="import cellatest; print(cellatest.answer)", last="cellatest.answer"):
    """Every kind of interpreter of the session finds the package."""
    same(d.exec("python3", code, session=session, cwd="/")["stdout"], "42\n", "a new interpreter")
    same(d.exec("sh", f"cd /; python3 -c '{code}'", session=session)["stdout"], "42\n", "the shell's")
    same(tool(d, "execute_shell", command=f"cd /; python3 -c '{code}'", session=session)["stdout"], "42\n", "execute_shell")
    same(value(tool(d, "execute_python", code=f"{code}\n{last}", session=session)), "42", "execute_python")
    s = d.exec("sh", "true", session=session)["sandbox"]
    c = context(d, s)
    same(text(ok(run(d, c, f"{code}\n{last}"))), "42", "a context")
    d.delete(c)


# pip.


@test(users=("root",), timeout=120)
def pip_needs_no_options_and_every_interpreter_finds_the_package():
    need_pip()
    with Internet() as net, Daemon(ROOM) as d:
        put_simple(net)
        full(d)
        s = d.exec("sh", "true", session="p")["sandbox"]
        before = context(d, s)
        same(text(ok(run(d, before, "import importlib.util; importlib.util.find_spec('cellatest')"))), None, "not yet")
        install(d, "cellatest", "p")
        same(text(ok(run(d, before, "import cellatest; cellatest.answer"))), "42", "a context that was there before")
        seen_everywhere(d, "p")
        same(d.exec("sh", "cellatest; cd /; command -v cellatest", session="p")["stdout"], "the script\n/workspace/.local/bin/cellatest\n", "its program")
        same(d.exec("python3", "import cellatest", session="q")["exit_code"], 1, "another session has none")
        d.restart()
        full(d)
        seen_everywhere(d, "p")


@test(users=("root",), timeout=120)
def a_compiled_wheel_is_installed():
    need_pip()
    with Internet() as net, Daemon(ROOM) as d:
        put_compiled(net)
        install(d, "cellafast", "p")
        seen_everywhere(d, "p", "import cellafast; print(cellafast.answer())", "cellafast.answer()")


@test(users=("root",), timeout=120)
def a_contexts_interpreter_prefers_the_sessions_version_to_the_templates():
    need_pip()
    where = python("-c", "import six; print(six.__file__)").stdout
    if "-packages/" not in where:
        raise Skip("no module six in the packages of this machine")
    with Internet() as net, Daemon(ROOM) as d:
        put_wheel(net, "six", "99.1", {"six.py": "__version__ = '99.1'\n"})
        configure(d, {"runtime": "python3", "size": 1, "preload": ["six"]})
        full(d)
        ensure(value(tool(d, "execute_python", code="import six; six.__version__", session="s")) != "'99.1'", "the machine's version")
        install(d, "six==99.1", "s")
        same(value(tool(d, "execute_python", code="import six; six.__version__", session="s")), "'99.1'", "the session's version")
        cold = d.exec("python3", "import sys; print(sys.path[1:])", session="s")["stdout"].strip()
        same(value(tool(d, "execute_python", code="import sys; sys.path[1:]", session="s")), cold, "sys.path")


@test(users=("root",), timeout=120)
def packages_of_a_tool_call_are_installed_once_and_remembered():
    need_pip()
    with Internet() as net, Daemon(ROOM) as d:
        put_simple(net)
        code = "import cellatest; cellatest.answer"
        same(value(tool(d, "execute_python", code=code, session="s", packages=["cellatest>=1"], files=CONFIG)), "42", "the first call")
        ensure(net.seen("http"), "the index was asked")
        net.forget()
        for packages in (["cellatest>=1"], ["cellatest"], None):
            more = {"packages": packages} if packages else {}
            same(value(tool(d, "execute_python", code=code, session="s", **more)), "42", f"a later call with {packages}")
        d.restart()
        same(value(tool(d, "execute_python", code=code, session="s", packages=["cellatest>=1"])), "42", "after a restart")
        same(net.seen("http"), [], "requests for what is installed")
        seen_everywhere(d, "s")
        r = mcp.Modern(d).tool("execute_python", code=code, session="m", packages=["cellatest"], files=CONFIG)
        same((r.get("isError", False), r["structuredContent"]["results"][0]["data"]), (False, "42"), "through MCP")


# The cache: each test names the index in the settings, because sessions with their own configuration of pip do not use the cache.

CACHED = {**ROOM, "packages": {"index": INDEX}}
CODE = "import cellatest; cellatest.answer"


def fetched(net):
    """The archives that were downloaded since the last call."""
    paths = [e["target"] for e in net.seen("http") if e["target"].endswith(".whl")]
    net.forget()
    return [path.rpartition("/")[2] for path in paths]


def hold(d, packages=("cellatest",), code=CODE, **more):
    return value(tool(d, "execute_python", code=code, packages=list(packages), **more))


@test(users=("root",), timeout=120)
def packages_are_fetched_once_for_all_sessions_of_a_key():
    need_pip()
    with Internet() as net, Daemon(CACHED) as d:
        put_simple(net)
        put_compiled(net)
        wheel = "cellatest-1.0-py3-none-any.whl"
        same(hold(d, session="a"), "42", "the first session")
        same(fetched(net), [wheel], "downloads")
        for session in ("b", "c", None):
            same(hold(d, **({"session": session} if session else {})), "42", f"session {session}")
        same(net.seen("http"), [], "requests of later sessions")
        seen_everywhere(d, "b")
        until(lambda: all(s["session"] for s in d.get("/v1/sandboxes")["sandboxes"]))  # the session that fetched them is gone
        # Another set has an entry of its own; the order of its packages does not matter.
        same(hold(d, ["cellatest", "cellafast"], session="d"), "42", "another set")
        same(sorted(fetched(net))[-1], wheel, "it is fetched")
        same(hold(d, ["cellafast", "cellatest"], "import cellafast; cellafast.answer()", session="e"), "42", "the compiled package")
        same(net.seen("http"), [], "requests for the same set")
        # The sandbox contains no file of the cache.
        same(d.exec("sh", "ls -A /tmp; ls", session="e")["stdout"], "", "files")
        for name in ("one", "two"):
            key = d.new_key(name, capabilities=["sandbox.exec"], tier="standard")["key"]
            r = d.ok("POST", "/v1/tools/execute_python", {"code": CODE, "packages": ["cellatest"], "session": "a"}, key=key, timeout=55)
            same((value(r), fetched(net)), ("42", [wheel]), f"key {name} has a cache of its own")


@test(users=("root",), timeout=120)
def a_session_cannot_change_what_others_install():
    need_pip()
    with Internet() as net, Daemon(CACHED) as d:
        put_simple(net)
        # A file in the place where archives are unpacked: the packages are installed without the cache.
        d.exec("sh", "echo > /tmp/.cella-packages", session="a")
        same(hold(d, session="a"), "42", "the session itself")
        # The installed package is changed after that.
        d.exec("sh", "find ~/.local -name cellatest.py -exec sh -c 'echo answer = 13 > $0' {} \\;", session="a")
        same(d.exec("python3", "import cellatest; print(cellatest.answer)", session="a")["stdout"], "13\n", "in the session")
        net.forget()
        same((hold(d, session="b"), net.seen("http")), ("42", []), "another session")
        # A session with its own index gets its packages from there, and not from the cache.
        put_wheel(net, "cellatest", "1.0", {"cellatest.py": "answer = 43\n"})
        same((hold(d, session="own", files=CONFIG), fetched(net)), ("43", ["cellatest-1.0-py3-none-any.whl"]), "a session with its own index")
        same((hold(d, session="c"), net.seen("http")), ("42", []), "and not into the cache")


@test(users=("root",), timeout=120)
def the_cache_of_packages_is_bounded_and_can_be_turned_off():
    need_pip()
    with Internet() as net, Daemon(CACHED) as d:
        put_simple(net)
        put_wheel(net, "cellabig", "1.0", {"cellabig.py": "answer = 42\n", "cellabig.bin": os.urandom(200000)})
        big = (["cellabig"], "import cellabig; cellabig.answer")
        d.ok("PATCH", "/v1/settings", {"packages": {"cache_bytes": 100000}})
        for session in ("a", "b"):
            same(hold(d, *big, session=session), "42", "a package larger than the cache")
            ensure("cellabig-1.0-py3-none-any.whl" in fetched(net), "it is fetched each time")
        hold(d, session="a")
        net.forget()
        same((hold(d, session="b"), net.seen("http")), ("42", []), "a small one is kept")
        d.ok("PATCH", "/v1/settings", {"packages": {"cache_bytes": 0}})
        for session in ("c", "d"):
            same((hold(d, session=session), fetched(net)), ("42", ["cellatest-1.0-py3-none-any.whl"]), "without a cache")
        d.ok("PATCH", "/v1/settings", {"packages": {"cache_bytes": 1 << 30}})
        same((hold(d, session="e"), fetched(net)), ("42", ["cellatest-1.0-py3-none-any.whl"]), "nothing was kept")
        for wrong in ("ftp://x/y", "x", "", "http://a b", 1, ["http://x"]):
            d.refused("invalid_request", "PATCH", "/v1/settings", {"packages": {"index": wrong}}, "packages.index")
        for wrong in (-1, "1G", [], 1.5):
            d.refused("invalid_request", "PATCH", "/v1/settings", {"packages": {"cache_bytes": wrong}}, "packages.cache_bytes")
        # No room for a second sandbox: it is installed without the cache.
        key = d.new_key("small", capabilities=["sandbox.exec"], tier="standard", sandboxes_max=1)["key"]
        r = d.ok("POST", "/v1/tools/execute_python", {"code": CODE, "packages": ["cellatest"], "session": "s"}, key=key, timeout=55)
        same((value(r), len(fetched(net))), ("42", 1), "one sandbox only")


@test(users=("root",), timeout=120)
def a_session_without_a_network_gets_nothing_from_the_cache():
    need_pip()
    with Internet() as net, Daemon(CACHED) as d:
        put_simple(net)
        same(hold(d, session="a"), "42", "with a network")
        d.ok("PATCH", "/v1/settings", {"network": {"tier": "restricted"}})
        d.refused("invalid_request", "POST", "/v1/tools/execute_python", {"code": CODE, "packages": ["cellatest"], "session": "b"}, "could not be installed", timeout=55)


@test(users=("root",), timeout=120)
def unavailable_packages_are_an_error_and_nothing_runs():
    need_pip()
    with Internet() as net, Daemon(ROOM) as d:
        put_simple(net)
        call = {"code": "open('ran', 'w')", "session": "s", "files": CONFIG}
        a = d.refused("invalid_request", "POST", "/v1/tools/execute_python", {**call, "packages": ["cellatest>=2"]}, "could not be installed")
        ensure("allowed_domains" in a.json()["error"]["hint"], "the hint", a)
        for wrong in ("cellatest", [1], [""], ["a;b"], ["-r x"], ["./x"], ["x" * 101], ["http://x/y"], ["a\nb"]):
            d.refused("invalid_request", "POST", "/v1/tools/execute_python", {**call, "packages": wrong}, "packages")
        same(d.exec("sh", "ls", session="s")["stdout"], "", "files")


PARTS = """
import os, pip, sysconfig
print(sysconfig.get_path("stdlib"), os.path.dirname(pip.__file__))
"""


def root_image_with_pip(d, name):
    """An image whose user is root, with this machine's python3 and pip."""
    library, pip = python("-c", PARTS).stdout.split()
    modules = [os.path.join(library, "lib-dynload", f) for f in os.listdir(os.path.join(library, "lib-dynload"))]
    said = subprocess.run(["ldd", *modules], capture_output=True, text=True, check=False).stdout
    programs, libraries = images.needs(("sh", "bash", "cat", PYTHON))
    libraries = {*libraries, *(word for line in said.splitlines() for word in line.split() if word.startswith("/") and not word.endswith(":"))}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        add_programs(tar, programs, libraries)
        tar.add(library, library[1:], filter=lambda e: None if os.path.basename(e.name) in ("test", "__pycache__", "idlelib", "tkinter") else e)
        tar.add(pip, "usr/lib/python3/dist-packages/pip", filter=lambda e: None if e.name.endswith("__pycache__") else e)
    a = d.request("POST", f"/v1/images/import?name={name}", out.getvalue(), unix=True)
    ensure(a.status in (200, 201), "the import", a)


@test(users=("root",), timeout=120)
def packages_of_a_tool_call_stay_where_the_user_of_the_image_is_root():
    need_pip()
    with Internet() as net, Daemon(ROOM) as d:
        put_simple(net)
        root_image_with_pip(d, "root:1")
        d.ok("PATCH", "/v1/settings", {"packages": {"index": INDEX}, "image": "root:1"}, unix=True)
        r = tool(d, "execute_python", code="import cellatest, os; cellatest.answer, os.getuid()", session="s", packages=["cellatest"])
        same(value(r), "(42, 0)", "the call that installs", r)
        d.restart()
        code = "import cellatest; print(cellatest.answer, cellatest.__file__.startswith('/workspace/.local/'))"
        same(d.exec("python3", code, session="s")["stdout"], "42 True\n", "after a restart of the daemon")
        fetched(net)
        same(value(tool(d, "execute_python", code="import cellatest; cellatest.answer", session="s", packages=["cellatest"])), "42", "remembered")
        same(net.seen("http"), [], "requests of the second call")


@test(users=("root",), timeout=120)
def packages_that_root_of_an_image_installs_stay():
    need_pip()
    with Internet() as net, Daemon(ROOM) as d:
        put_simple(net)
        root_image_with_pip(d, "root:1")
        d.ok("PATCH", "/v1/settings", {"image": "root:1"}, unix=True)
        # In a virtual environment the package belongs to that.
        code = """
            python3 -m venv --without-pip /workspace/v && v/bin/python /usr/lib/python3/dist-packages/pip install cellatest >&2
            v/bin/python -c 'import cellatest, os; print(os.getuid(), cellatest.__file__)'
            python3 -c 'import cellatest' 2>/dev/null || echo none
        """
        r = d.exec("sh", code, session="p", env=PIP, timeout=55)
        ensure(r["stdout"].startswith("0 /workspace/v/lib/") and r["stdout"].endswith("/site-packages/cellatest.py\nnone\n"), "a virtual environment", r)
        r = d.exec("sh", "python3 -m pip install cellatest 2>&1", session="p", env=PIP, timeout=55)
        same(r["exit_code"], 0, f"exit status of pip, which said\n{r['stdout'][-1500:]}\nand")
        for again in ("", " after a restart"):
            seen_everywhere(d, "p")
            same(d.exec("sh", "cellatest; command -v cellatest", session="p")["stdout"], "the script\n/workspace/.local/bin/cellatest\n", f"its program{again}")
            d.restart()


@test(users=("root",), timeout=120)
def packages_of_an_agent_do_not_go_into_its_directory():
    need_pip()
    with Internet() as net, Daemon(ROOM) as d:
        put_simple(net)
        root = support.here("agents")
        os.mkdir(root, 0o755)
        d.ok("PATCH", "/v1/settings", {"workspace_root": root})
        agent = {"agent": "robot", "workspace": "rw", "scope": "agent"}
        r = d.exec("sh", "pip install cellatest 2>&1", env=PIP, timeout=55, **agent)
        same(r["exit_code"], 0, f"exit status of pip, which said\n{r['stdout'][-1500:]}\nand")
        r = d.exec("sh", "cd /; python3 -c 'import cellatest; print(cellatest.answer)'; cellatest", **agent)
        same(r["stdout"], "42\nthe script\n", "it is there")
        c = context(d, r["sandbox"])
        same(text(ok(run(d, c, "import cellatest, os; cellatest.answer, os.environ['HOME']"))), "(42, '/tmp')", "in a context")
        same(os.listdir(os.path.join(root, "robot")), [], "files in the agent's directory")


@test(users=("root",))
def variables_of_the_request_replace_those_for_packages(d):
    r = d.exec("sh", "echo $PIP_BREAK_SYSTEM_PACKAGES $npm_config_prefix", env={"PIP_BREAK_SYSTEM_PACKAGES": "0", "npm_config_prefix": "/x"})
    same(r["stdout"], "0 /x\n", "variables")


# npm.


@test(users=("root",), timeout=120)
def npm_needs_no_options_and_every_interpreter_finds_the_package():
    if not (os.path.exists("/usr/bin/npm") and os.path.exists("/usr/bin/node")):
        raise Skip("no npm in /usr")
    with Internet() as net, Daemon(ROOM) as d:
        put_npm(net, "cellatest", "1.0.0", "module.exports = 42;\n")

        def npm(words):
            r = d.exec("sh", f"npm install {words} 2>&1", session="n", env=NPM, timeout=55)
            same(r["exit_code"], 0, f"exit status of npm, which said\n{r['stdout'][-1500:]}\nand")
            return r["sandbox"]

        s = npm("cellatest")
        for again in ("", " after a restart"):
            same(d.exec("node", "console.log(require('cellatest'))", session="n")["stdout"], "42\n", f"a new interpreter{again}")
            same(tool(d, "execute_shell", command="node -p 'require(\"cellatest\")'", session="n")["stdout"], "42\n", f"execute_shell{again}")
            c = context(d, s, "node")
            same(text(ok(run(d, c, "require('cellatest')"))), "42", f"a context{again}")
            if not again:
                d.restart()
        npm("-g cellatest")
        same(d.exec("sh", "ls ~/.local/lib/node_modules", session="n")["stdout"], "cellatest\n", "a global package")


# ---- missing packages ----


@test
def a_missing_module_of_the_data_recipe_is_a_hint(d):
    def missing(name):
        return 'raise ModuleNotFoundError("No module named %r")' % name

    def check(hint, where, module="pandas"):
        ensure(hint and "cella image bootstrap data" in hint and f"pip install {module}'" in hint, f"the hint of {where}: {hint}")

    check(d.exec("python3", missing("pandas"))["hint"], "an execution")
    check(d.exec("sh", "python3 main.py", files={"main.py": missing("numpy.linalg")})["hint"], "a program of a shell", "numpy")
    check(d.exec("python3", f"print('x' * 3000000)\n{missing('requests')}")["hint"], "much output", "requests")
    check(tool(d, "execute_python", code=missing("matplotlib"))["hint"], "execute_python", "matplotlib")
    r = mcp.Modern(d).tool("execute_python", code=missing("pandas"))
    check(r["structuredContent"]["hint"], "MCP")
    ensure("cella image bootstrap data" in r["content"][0]["text"], "the text for the model")
    s = d.sandbox()
    check(run(d, context(d, s), missing("pandas"))["hint"], "a context")
    r = support.cella(["run", "--json", "python3", "-c", missing("pandas")])
    check(r.json()["hint"], "cella run --json")
    r = support.cella(["run", "python3", "-c", missing("pandas")])
    same((r.rc, "cella: hint: pandas is not installed" in r.err), (1, True), "cella run", r)
    for code in (missing("mine"), missing("pandas_extra"), missing(""), "import json", "print('ModuleNotFoundError: No module named', repr('pandas'))",
                 f"try:\n    {missing('pandas')}\nexcept ImportError:\n    raise SystemExit(3)"):  # fmt: skip
        same(d.exec("python3", code)["hint"], None, f"the hint of {code}")
        same(tool(d, "execute_python", code=code)["hint"], None, f"the hint of execute_python {code}")
