"""execute_docker: commands in images of the store, on the native engine."""

import functools
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import threading
from unittest import mock

import images
from daemon import Daemon
from mcp import HELLO, Http, Modern, Stdio
from support import ensure, same, test, until

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "image"))
import registry_fake
import registry_oci

# The modules of the standard library that these tests need, with all that they import.
MODULES = """
import argparse, difflib, encodings.ascii, encodings.latin_1, json, linecache, locale, os, pkgutil, pprint, runpy, signal, sqlite3, sys
import traceback, unittest, unittest.loader, unittest.main, unittest.runner, unittest.signals, unittest.util
import unittest.case, unittest.suite, unittest.result, warnings, _sqlite3
print(os.path.dirname(os.__file__), _sqlite3.__file__, ".".join(map(str, sys.version_info[:2])))
for m in list(sys.modules.values()):
    print(getattr(m, "__file__", None) or "")
print(os.path.join(os.path.dirname(unittest.__file__), "__main__.py"))
"""


def add_link(tar, name, target):
    link = tarfile.TarInfo(name)
    link.type, link.linkname = tarfile.SYMTYPE, target
    tar.addfile(link)


def add_programs(tar, programs, libraries, renamed=None):
    for name, path in programs.items():
        tar.add(path, "usr/bin/" + (renamed or {}).get(name, name))
    add_link(tar, "bin", "usr/bin")
    for path in sorted(libraries):
        tar.add(os.path.realpath(path), path[1:])


@functools.cache
def python_root():
    """A tar of a root directory with this machine's python3 and sh in it: what `docker export` gives of a container."""
    said = subprocess.run(["/usr/bin/python3", "-c", MODULES], capture_output=True, text=True, check=True).stdout
    library, sqlite, version = said.splitlines()[0].split()
    files = sorted({path for path in said.splitlines()[1:] if path.startswith(library + "/")})
    programs, libraries = images.needs(("sh", "cat", "ls", "cp", "mkdir", "env", "id", "sleep", "/usr/bin/python3"))
    needed = subprocess.run(["ldd", sqlite], capture_output=True, text=True, check=True).stdout
    libraries = {*libraries, *(word for word in needed.split() if word[0] == "/")}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        add_programs(tar, programs, libraries, {"python3": f"python{version}"})
        add_link(tar, "usr/bin/python3", f"python{version}")
        for path in files:
            tar.add(path, path[1:])
        passwd = b"root:x:0:0:root:/root:/bin/sh\n"
        entry = tarfile.TarInfo("etc/passwd")
        entry.size = len(passwd)
        tar.addfile(entry, io.BytesIO(passwd))
    return out.getvalue(), version


def with_python(d, name="snake:1"):
    """Imports the image through the API. Returns the version of its python."""
    data, version = python_root()
    a = d.request("POST", f"/v1/images/import?name={name}", data, unix=True)
    ensure(a.status in (200, 201), "the import", a)
    return version


def docker(d, image="snake:1", status=200, key=None, **arguments):
    return d.post("/v1/tools/execute_docker", {"image": image, **arguments}, status, key=key)


def refused(d, key=None, **arguments):
    a = d.request("POST", "/v1/tools/execute_docker", arguments, key=key)
    ensure(a.status >= 400, "it should fail", a)
    return a.status, a.json()["error"]


PROJECT = {
    "shop/__init__.py": "",
    "shop/price.py": "def total(prices, tax):\n    return round(sum(prices) * (1 + tax), 2)\n",
    "tests/__init__.py": "",
    "tests/test_price.py": "import unittest\nfrom shop.price import total\n\n\nclass Total(unittest.TestCase):\n    def test_tax(self):\n"
                           "        self.assertEqual(total([10, 20], 0.1), 33.0)\n\n    def test_nothing(self):\n        self.assertEqual(total([], 0.1), 0)\n",
}  # fmt: skip


@test(users=("root",))
def test_suite_of_a_project_runs_in_an_image(d):
    """Run the test suite in a containerised environment: it passes, and then fails where it should."""
    with_python(d)
    r = docker(d, command="python3 -m unittest -v", files=PROJECT)
    same((r["exit_code"], r["status"], r["stdout"]), (0, "exited", ""), "the suite")
    ensure("Ran 2 tests" in r["stderr"] and r["stderr"].endswith("OK\n"), "what it says", r["stderr"])
    broken = {**PROJECT, "shop/price.py": "def total(prices, tax):\n    return sum(prices)\n"}
    r = docker(d, command=["python3", "-m", "unittest"], cwd="/workspace", files=broken)
    same(r["exit_code"], 1, "a suite that fails")
    ensure("FAIL: test_tax" in r["stderr"] and "33.0" in r["stderr"] and "failures=1" in r["stderr"], "which, and why", r["stderr"])
    same(docker(d, command="ls -A /workspace")["stdout"], "", "nothing is left of it")


MIGRATION = {
    "app.sql": "create table users (id integer primary key, name text);\ninsert into users (name) values ('ada'), ('grace');\n",
    "migrate.py": "import sqlite3, sys\ndb = sqlite3.connect('/data/app.db')\nfor name in sys.argv[1:]:\n    db.executescript(open(name).read())\n"
                  "    print('applied', name)\ndb.commit()\n",
    "002.sql": "alter table users add column email text;\nupdate users set email = name || '@example.org';\n",
}  # fmt: skip


@test
def migration_runs_in_a_database_container(d):
    """Execute the migration script in a database container, and read the result back in the same session."""
    read = "import sqlite3; print(sqlite3.connect('/data/app.db').execute('select name, email from users order by id').fetchall())"
    with_python(d)
    r = docker(d, session="shop", files=MIGRATION, command="mkdir /data && python3 migrate.py app.sql")
    same((r["exit_code"], r["stdout"], r["stderr"]), (0, "applied app.sql\n", ""), "the database")
    r = docker(d, session="shop", command=["python3", "migrate.py", "002.sql"], cwd="/workspace")
    same((r["exit_code"], r["stdout"], r["stderr"]), (0, "applied 002.sql\n", ""), "the migration")
    r = docker(d, session="shop", command=["python3", "-c", read])
    same(r["stdout"], "[('ada', 'ada@example.org'), ('grace', 'grace@example.org')]\n", "what is in it now")
    r = docker(d, session="shop", command=["python3", "migrate.py", "002.sql"], cwd="/workspace")
    same(r["exit_code"], 1, "the same migration again")
    ensure("duplicate column name: email" in r["stderr"], "why", r["stderr"])
    same(docker(d, command="ls -d /data", session="other")["exit_code"] != 0, True, "another session has nothing of it")
    code, e = refused(d, image="host", command="true", session="shop")
    same((code, e["kind"]), (400, "invalid_request"), "another image in the same session")


@test(users=("user",))
def command_gets_env_files_stdin_and_limits_of_the_call(d):
    version = with_python(d)
    same(docker(d, command="echo $((6*7)) $A; cat; cat f; pwd", env={"A": "x y"}, files={"f": "file\n"}, stdin="in\n")["stdout"],
         "42 x y\nin\nfile\n/workspace\n", "a command line")  # fmt: skip
    same(docker(d, command=["cat", "a b", "$A"], cwd="/workspace", files={"a b": "1", "$A": "2"})["stdout"], "12", "words")
    r = docker(d, command=["python3", "-c", "while True: pass"], timeout_ms=500)
    same((r["status"], r["timed_out"]), ("timeout", True), "a time limit")
    r = docker(d, command=["python3", "-c", "print('begun', flush=True); x = bytearray(300 << 20)"], **({"memory_mb": 64} if os.geteuid() == 0 else {}))
    same((r["stdout"], r["status"]), ("begun\n", "memory_limit" if os.geteuid() == 0 else "exited"), "a memory limit")
    same(docker(d, command="id -u; echo hi > /usr/bin/new; cat /usr/bin/new")["stdout"], "0\nhi\n", "all of it may be written to")
    same(docker(d, command="cat /usr/bin/new")["exit_code"], 1, "and is as it was for the next")
    same(docker(d, command=["no-such-program"], status=404)["error"]["message"], "command not found: no-such-program", "a missing program")
    r = d.exec(f"python{version}", "import sys; print(sys.version_info[:2])", image="snake:1")
    same(r["stdout"], f"({version.replace('.', ', ')})\n", "a runtime of the image")


@test(users=("root",), settings={"images": {"pull": "never"}})
def unavailable_image_is_reported_with_the_reason(d):
    code, e = refused(d, image="nothing:1", command="true")
    same((code, e["kind"]), (404, "not_found"), "the kind")
    ensure("nothing:1" in e["message"] and "images.pull" in e["hint"], "which setting", e)
    d.ok("PATCH", "/v1/settings", {"images": {"pull": "missing", "registries": ["registry.example"]}})
    code, e = refused(d, image="nothing:1", command="true")
    ensure(code in (403, 404) and "registries" in e["message"] + e["hint"], "which registries", e)
    code, e = refused(d, image="no image at all", command="true")
    same((code, e["kind"]), (400, "invalid_request"), "a name that is none")
    code, e = refused(d, image="host", command=[])
    same((code, e["kind"]), (400, "invalid_request"), "no words")
    d.key = d.new_key("weak", capabilities=["sandbox.exec"])["key"]
    code, e = refused(d, image="registry.example/x:1", command="true")
    same(code, 404, "pulling without the capability")
    ensure("images" in e["hint"], "which capability", e)
    d.key = d.new_key("none", capabilities=["files"])["key"]
    code, e = refused(d, image="host", command="true")
    same((code, e["message"]), (403, "access denied: sandbox.exec"), "no capability")


# Through a registry.


def shell_image(**config):
    """Returns an image with one layer that contains a shell, in the form of a registry."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        add_programs(tar, *images.needs(("sh", "cat")))
    with mock.patch.object(registry_oci, "tar", lambda data: data):
        return registry_oci.Image([(out.getvalue(), "gzip")], config={"Env": ["PATH=/bin", "WHO=the image"], **config})


def allows(registry):
    return {"images": {"registries": [registry.host], "insecure_registries": [registry.host]}}


@test(users=("root",))
def missing_image_is_pulled_from_an_allowed_registry():
    image = shell_image(Cmd=["sh", "-c", "echo its own $WHO"])
    with registry_fake.Fake({"team/tool:2": image}) as registry, Daemon(settings=allows(registry)) as d:
        name = f"{registry.host}/team/tool:2"
        same(docker(d, name, command="echo $WHO")["stdout"], "the image\n", "the first call")
        same(docker(d, name)["stdout"], "its own the image\n", "without a command")
        same(d.exec("sh", "echo $WHO", image=name)["stdout"], "the image\n", "an execution")
        same(len(registry.asked("/blobs/" + image.layers[0]["digest"])), 1, "pulls")
        code, e = refused(d, image=f"{registry.host}/team/other:1", command="true")
        same((code, e["kind"]), (404, "not_found"), "an image that the registry does not have")
    with registry_fake.Fake({"a:1": image, "b:1": image}) as registry, Daemon(settings=allows(registry), name="second") as d:
        same(d.exec("sh", "echo $WHO", image=f"{registry.host}/a:1")["stdout"], "the image\n", "an execution first")
        s = d.sandbox(image=f"{registry.host}/b:1")
        same(d.exec("sh", "echo $WHO", sandbox=s)["stdout"], "the image\n", "a sandbox first")


@test(users=("root",))
def a_client_that_leaves_during_a_pull_leaves_nothing():
    image, go = shell_image(), threading.Event()
    with registry_fake.Fake({"slow:1": image}) as registry, Daemon(settings=allows(registry)) as d:
        registry.rule("/blobs/" + image.layers[0]["digest"], lambda request: go.wait(30) and False)
        for target, body in (("/v1/exec", {"image": f"{registry.host}/slow:1", "command": ["sh"]}), ("/v1/sandboxes", {"image": f"{registry.host}/slow:1"}),
                             ("/v1/tools/execute_docker", {"image": f"{registry.host}/slow:1", "command": "true"})):  # fmt: skip
            before = len(registry.log)
            c = d.connection()
            c.request("POST", target, d.encode(body), d.headers(body, None, None, False))
            until(lambda n=before: len(registry.log) > n, 20, "the pull")
            c.close()
        go.set()
        until(lambda: d.get("/v1/health")["images"]["jobs"] == 0, 20, "the end of the pulls")
        same(d.get("/v1/sandboxes")["sandboxes"], [], "sandboxes")
        same(d.rows(), [], "executions")


# Over MCP.


@test(users=("user",), settings={"images": {"pull": "never"}})
def execute_docker_works_over_mcp(d):
    with_python(d)
    for c in (Http(d), Modern(d)):
        r = c.tool("execute_docker", image="snake:1", command="python3 -c 'print(6*7)'; exit 3")
        same((r["isError"], r["structuredContent"]["stdout"], r["structuredContent"]["exit_code"]), (False, "42\n", 3), "a result")
        r = c.tool("execute_docker", image="nothing:1", command="true")
        same((r["isError"], r["content"][0]["text"]), (True, "image not found: nothing:1"), "an error")
    with Stdio(env={"CELLA_STATE": d.state}) as c:
        c.ask("initialize", HELLO)
        c.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        r = c.ask("tools/call", {"name": "execute_docker", "arguments": {"image": "snake:1", "command": ["python3", "-c", "print(6*7)"]}})
        same((r["isError"], r["structuredContent"]["stdout"]), (False, "42\n"), "cella mcp")
