"""The tools for agents over HTTP: their schemas, what each does, and the table of sandbox.exec to the letter."""

import base64
import ctypes
import json
import subprocess
import time

import mcp
import support
from daemon import Daemon
from internet import Internet
from support import ensure, same, test, until

from test_exec import check_result
from test_images import PYTHON, image_of
from test_runtimes import put_image

NAMES = ["sandbox.exec", "execute_python", "execute_shell", "execute_docker", "read_file", "write_file", "list_files",
         "list_sandboxes", "kill_sandbox"]  # fmt: skip


def call(d, name, status=200, **arguments):
    return d.post(f"/v1/tools/{name}", arguments, status)


def error(d, name, key=None, **arguments):
    """(HTTP status, kind, message) of a call that fails."""
    a = d.request("POST", f"/v1/tools/{name}", arguments, key=key)
    ensure(a.status >= 400, "it should fail", a)
    e = a.json()["error"]
    return a.status, e["kind"], e["message"]


def conforms(value, schema, where="result"):
    """Validates a value: the part of JSON Schema that the tools' schemas use."""
    types = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list,
             "null": type(None)}  # fmt: skip
    wanted = schema.get("type", list(types))
    wanted = wanted if isinstance(wanted, list) else [wanted]
    fits = any(isinstance(value, types[t]) and (t == "boolean" or not isinstance(value, bool)) for t in wanted)
    ensure(fits or "type" not in schema, f"{where} is {value!r}, not {wanted}")
    ensure("enum" not in schema or value in schema["enum"], f"{where} is {value!r}, not one of {schema.get('enum')}")
    if isinstance(value, dict):
        for name in schema.get("required", []):
            ensure(name in value, f"{where}.{name} is missing")
        for name, below in value.items():
            if name in schema.get("properties", {}):
                conforms(below, schema["properties"][name], f"{where}.{name}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            conforms(item, schema["items"], f"{where}[{i}]")


# ---- the list ----


@test
def every_tool_is_listed_with_its_schemas(d):
    tools = d.get("/v1/tools")["tools"]
    same([t["name"] for t in tools], NAMES, "tools")
    for t in tools:
        same(set(t), {"name", "title", "description", "input_schema", "output_schema", "cost"}, t["name"])
        ensure(len(t["description"]) > 40, f"{t['name']} is described")
        for s in (t["input_schema"], t["output_schema"]):
            same(s["type"], "object", f"schema of {t['name']}")
        for name, field in t["input_schema"]["properties"].items():
            ensure(field.get("description"), f"{t['name']}.{name} is described")
    functions = d.get("/v1/tools?format=openai")["tools"]
    same([f["function"]["name"] for f in functions], [n.replace(".", "_") for n in NAMES], "functions")
    same(functions[0]["function"]["parameters"], tools[0]["input_schema"], "parameters")
    d.refused("invalid_request", "GET", "/v1/tools?format=xml", parts="format")
    d.refused("not_found", "POST", "/v1/tools/nothing", {}, "nothing")
    d.refused("invalid_request", "POST", "/v1/tools/sandbox.exec", b"[1]")
    d.refused("invalid_request", "POST", "/v1/tools/sandbox.exec", b"{nonsense")


# sandbox.exec: the tables of its documentation.


@test
def sandbox_exec_has_the_schema_of_its_documentation(d):
    t = d.get("/v1/tools")["tools"][0]
    same(t["cost"], 1.0, "cost")
    i = t["input_schema"]
    same((i["type"], i["required"]), ("object", ["runtime", "code"]), "input")
    same(list(i["properties"]), ["runtime", "code", "stdin", "timeout_ms", "secrets"], "fields")
    p = i["properties"]
    same((p["runtime"]["type"], p["runtime"]["enum"]), ("string", ["sh", "python3", "node"]), "runtime")
    same((p["code"]["type"], p["stdin"]["type"]), ("string", "string"), "code and stdin")
    same((p["timeout_ms"]["type"], p["timeout_ms"]["minimum"], p["timeout_ms"]["default"]), ("integer", 1, 5000), "timeout_ms")
    same((p["secrets"]["type"], p["secrets"]["additionalProperties"]["type"]), ("object", "string"), "secrets")
    o = t["output_schema"]
    same({n: f["type"] for n, f in o["properties"].items()},
         {"stdout": "string", "stderr": "string", "exit_code": "integer", "hint": "string"}, "output")  # fmt: skip
    same(o["required"], ["stdout", "stderr", "exit_code"], "fields that are always there")


@test
def sandbox_exec_runs_each_runtime(d):
    for runtime, code in (("sh", "echo hello && ls /tmp"), ("python3", "print('hello')"), ("node", "console.log('hello')")):
        same(call(d, "sandbox.exec", runtime=runtime, code=code), {"stdout": "hello\n", "stderr": "", "exit_code": 0}, runtime)
    r = call(d, "sandbox.exec", runtime="python3", code="import sys\nprint(sys.stdin.read().upper())", stdin="hello world")
    same(r["stdout"], "HELLO WORLD\n", "standard input")
    r = call(d, "sandbox.exec", runtime="sh", code="echo out; echo err >&2", timeout_ms=3000)
    same(r, {"stdout": "out\n", "stderr": "err\n", "exit_code": 0}, "both streams")
    same(call(d, "sandbox_exec", runtime="sh", code="echo $PPID")["exit_code"], 0, "the name without its dot")


@test
def sandbox_exec_says_access_denied(d):
    key = d.new_key(capabilities=["files", "audit"])["key"]
    same(error(d, "sandbox.exec", key=key, runtime="sh", code="echo"),
         (403, "access_denied", "access denied: sandbox.exec"), "error")  # fmt: skip
    # The capability is checked first: a key without it does not learn which arguments are missing.
    same(error(d, "sandbox.exec", key=key)[2], "access denied: sandbox.exec", "error")
    may = d.new_key(capabilities=["sandbox.exec"])["key"]
    same(d.post("/v1/tools/sandbox.exec", {"runtime": "sh", "code": "echo 1"}, key=may)["stdout"], "1\n", "with it")


def without(*names):
    """Hides these programs of /usr/bin from this process."""
    ctypes.CDLL(None, use_errno=True).unshare(0x00020000)
    place = support.home
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    subprocess.run(["mkdir", f"{place}/upper", f"{place}/work", f"{place}/bin"], check=True)
    layers = f"lowerdir=/usr/bin,upperdir={place}/upper,workdir={place}/work"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, f"{place}/bin"], check=True)
    for name in names:
        subprocess.run(f"rm -f {place}/bin/{name}", shell=True, check=True)
    subprocess.run(["mount", "--bind", f"{place}/bin", "/usr/bin"], check=True)


@test(users=("root",))
def sandbox_exec_says_runtime_not_found():
    without("python3")
    with Daemon(settings={"pools": []}) as d:
        a = d.refused("runtime_not_found", "POST", "/v1/tools/sandbox.exec", {"runtime": "python3", "code": "print(1)"})
        same(a.json()["error"]["message"], "runtime not found: python3", "message")
        same(call(d, "sandbox.exec", runtime="sh", code="echo 1")["stdout"], "1\n", "another runtime")
        d.stop(check=False)


@test
def sandbox_exec_says_which_limit_or_refusal_ended_the_code(d):
    network = "network: any address refused, no network in tier 'restricted'; network.tier and network.allowed_domains"
    cases = [("python3", "import socket; socket.create_connection(('192.0.2.1', 80))", 1, network)]
    if support.is_root():
        cases.append(("python3", "x = bytearray(900 << 20)", 137, "memory: 512 MiB reached; the setting limits.memory_bytes"))
    for runtime, code, exit_code, hint in cases:
        r = call(d, "sandbox.exec", runtime=runtime, code=code)
        same((r["exit_code"], r["hint"]), (exit_code, hint), code)
        r = mcp.Modern(d).tool("sandbox.exec", runtime=runtime, code=code)
        same((r["isError"], r["structuredContent"]["hint"], json.loads(r["content"][0]["text"])["hint"]), (False, hint, hint), f"{code}, through MCP")
    for code in ("exit 3", "kill -9 $$"):
        same("hint" in call(d, "sandbox.exec", runtime="sh", code=code), False, code)


@test
def sandbox_exec_says_timeout(d):
    same(error(d, "sandbox.exec", runtime="sh", code="sleep 60", timeout_ms=200), (504, "timeout", "timeout"), "error")
    same(error(d, "sandbox.exec", runtime="sh", code="trap '' TERM; while :; do :; done", timeout_ms=100)[1:],
         ("timeout", "timeout"), "one that does not listen")  # fmt: skip
    same(d.rows()[0]["status"], "timeout", "in the log it is a status")


@test
def sandbox_exec_has_five_seconds_by_default(d):
    same(call(d, "sandbox.exec", runtime="sh", code="sleep 2; echo done")["stdout"], "done\n", "2 s are fine")
    same(error(d, "sandbox.exec", runtime="sh", code="sleep 8; echo done"), (504, "timeout", "timeout"), "8 s are not")
    same(call(d, "sandbox.exec", runtime="sh", code="sleep 6; echo done", timeout_ms=20000)["stdout"], "done\n", "unless asked for")


@test
def sandbox_exec_takes_a_failing_program_for_a_success(d):
    same(call(d, "sandbox.exec", runtime="sh", code="echo out; echo no >&2; exit 3"),
         {"stdout": "out\n", "stderr": "no\n", "exit_code": 3}, "exit 3")  # fmt: skip
    r = call(d, "sandbox.exec", runtime="python3", code="raise ValueError('x')")
    same((r["exit_code"], "ValueError: x" in r["stderr"]), (1, True), "an exception")
    same(call(d, "sandbox.exec", runtime="sh", code="kill -9 $$")["exit_code"], 137, "a signal")


@test
def sandbox_exec_refuses_arguments_outside_its_schema(d):
    for arguments, part in (
        ({"code": "x"}, "runtime is required"), ({"runtime": "sh"}, "code is required"),
        ({"runtime": "ruby", "code": "x"}, "runtime must be one of 'sh', 'python3', 'node'"),
        ({"runtime": "sh", "code": 5}, "code must be a string"), ({"runtime": "sh", "code": "x", "stdin": 5}, "stdin"),
        ({"runtime": "sh", "code": "x", "timeout_ms": 0}, "timeout_ms"), ({"runtime": "sh", "code": "x", "timeout_ms": "1"}, "timeout_ms"),
        ({"runtime": "sh", "code": "x", "secrets": ["a"]}, "secrets"), ({"runtime": "sh", "code": "x", "secrets": {"A": 1}}, "secrets.A"),
        ({"runtime": "sh", "code": "x", "network": True}, "unknown field 'network'"),
    ):  # fmt: skip
        status, kind, message = error(d, "sandbox.exec", **arguments)
        same((status, kind), (400, "invalid_request"), arguments)
        ensure(part in message, f"{message!r} does not say {part!r}")
    same(d.rows(), [], "nothing was run")


@test
def sandbox_exec_is_isolated(d):
    r = call(d, "sandbox.exec", runtime="sh", code="cat /proc/net/dev | wc -l; ls /home /root 2>&1 | grep -c 'No such'; echo $$; touch /usr/x 2>&1 | grep -c -i read-only")
    same(r["stdout"].split()[0], "3", "loopback only")
    ensure(int(r["stdout"].split()[2]) < 100, "its own process ids")
    call(d, "sandbox.exec", runtime="sh", code="echo kept > file")
    same(call(d, "sandbox.exec", runtime="sh", code="ls")["stdout"], "", "nothing stays")


# execute_python: typical uses by models.

CSV = "service,deployments,failures\napi,40,2\nweb,25,5\nworker,10,0\n"


@test
def python_analyses_a_csv_file(d):
    code = ("import csv\nrows = list(csv.DictReader(open('deployments.csv')))\n"
            "total = sum(int(r['deployments']) for r in rows)\nworst = max(rows, key=lambda r: int(r['failures']) / int(r['deployments']))\n"
            "print(f\"{total} deployments\")\nworst['service']")  # fmt: skip
    r = call(d, "execute_python", code=code, files={"deployments.csv": CSV})
    same((r["status"], r["stdout"], r["results"][0]["data"]), ("exited", "75 deployments\n", "'web'"), "result")


@test
def python_parses_json(d):
    document = json.dumps({"items": [{"name": "a", "ok": True}, {"name": "b", "ok": False}]})
    code = "import json\n[i['name'] for i in json.load(open('answer.json'))['items'] if i['ok']]"
    same(call(d, "execute_python", code=code, files={"answer.json": document})["results"][0]["data"], "['a']", "names")


@test
def python_gives_the_whole_result(d):
    schema = next(t["output_schema"] for t in d.get("/v1/tools")["tools"] if t["name"] == "execute_python")
    r = call(d, "execute_python", code="print('out')\n6 * 7")
    conforms(r, schema)
    extra = {"context", "error"}
    check_result({k: v for k, v in r.items() if k not in extra})
    same((r["stdout"], r["error"], r["context"]), ("out\n", None, None), "result, of a context that is gone")
    same(r["results"], [{"mime": "text/plain", "data": "42", "main": True, "value": 0}], "value")
    r = call(d, "execute_python", code="1/0")
    conforms(r, schema)
    same((r["status"], r["exit_code"], r["error"]["name"]), ("exited", 1, "ZeroDivisionError"), "an exception")
    same(call(d, "execute_python", code="import sys; sys.exit(3)")["exit_code"], 3, "an exit code")
    r = call(d, "execute_python", code="import time; time.sleep(60)", timeout_ms=300)
    same((r["status"], r["timed_out"]), ("timeout", True), "a timeout is a status here")
    conforms(r, schema)


class Picture:
    """Code with a picture as its last value."""

    code = ("class P:\n    def _repr_png_(self):\n        return b'\\x89PNG\\r\\n\\x1a\\n' + b'x' * 100\n"
            "P()")  # fmt: skip
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"x" * 100).decode()


@test
def python_shows_a_picture(d):
    r = call(d, "execute_python", code=Picture.code)
    same([x["data"] for x in r["results"] if x["mime"] == "image/png"], [Picture.data], "picture")


@test
def python_draws(d):
    probe = call(d, "execute_python", code="import importlib.util as u\nbool(u.find_spec('matplotlib'))")
    if probe["results"][0]["data"] != "True":
        raise support.Skip("no pandas and matplotlib for /usr/bin/python3")
    r = call(d, "execute_python", code="import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()", timeout_ms=60000)
    pictures = [x for x in r["results"] if x["mime"] == "image/png"]
    same(len(pictures), 1, "pictures", None)
    ensure(base64.b64decode(pictures[0]["data"]).startswith(b"\x89PNG"), "a PNG")


@test
def python_keeps_variables_in_a_context_and_files_in_a_session(d):
    call(d, "execute_python", code="x = 41; open('f', 'w').write('kept')", context="c")
    same(call(d, "execute_python", code="x + 1", context="c")["results"][0]["data"], "42", "a variable")
    r = call(d, "execute_python", code="open('f').read()", session="c")
    same(r["results"][0]["data"], "'kept'", "its session is that of the same name")
    same(call(d, "execute_python", code="x", session="c")["error"]["name"], "NameError", "a session has no variables")
    r = call(d, "execute_python", code="x", context="c", session="other")
    same(r["error"]["name"], "NameError", "another session's context")
    ctx = call(d, "execute_python", code="x", context="c")["context"]
    same(call(d, "execute_python", code="x", context=ctx)["results"][0]["data"], "41", "by its id")
    same(error(d, "execute_python", code="x", context="ctx_nothing")[:2], (404, "not_found"), "no such id")
    same(call(d, "execute_shell", command="cat f", session="c")["stdout"], "kept", "the shell sees its files")
    same(len(call(d, "list_sandboxes")["sandboxes"]), 2, "sandboxes that stay")
    # Files of one call only are gone.
    call(d, "execute_python", code="open('f', 'w')")
    until(lambda: len(d.get("/v1/sandboxes")["sandboxes"]) == 2, 20, "the end of a sandbox for one call")
    same(len(d.get(f"/v1/sandboxes/{r['sandbox']}/contexts")["contexts"]), 1, "contexts that stay")


def machines_python():
    """python3.N of this machine, as the name of a runtime."""
    version = subprocess.run(["/usr/bin/python3", "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"], capture_output=True, text=True, check=True)
    return version.stdout.strip()


@test
def python_runs_in_the_version_that_is_asked_for(d):
    name = machines_python()
    code = "import sys; 'python%d.%d' % sys.version_info[:2]"
    r = call(d, "execute_python", code=code, runtime=name)
    same((r["runtime"], r["results"][0]["data"]), (name, repr(name)), "a version")
    same(call(d, "execute_python", code=code)["runtime"], "python3", "the default")
    d.ok("PATCH", "/v1/settings", {"default_runtimes": {"python": name}})
    for given in ({}, {"runtime": "python"}):
        same(call(d, "execute_python", code=code, **given)["runtime"], name, "the settings' version")
    same(call(d, "execute_python", code=code, runtime="python3")["runtime"], "python3", "not if another is asked for")
    r = mcp.Modern(d).tool("execute_python", code=code, runtime=name)
    same(r["structuredContent"]["runtime"], name, "through MCP")
    # A context keeps its interpreter.
    ctx = call(d, "execute_python", code="x = 1", context="c", runtime="python3")["context"]
    for context in ("c", ctx):
        same(call(d, "execute_python", code="x", context=context)["results"][0]["data"], "1", "without a version")
        status, kind, message = error(d, "execute_python", code="x", context=context, runtime=name)
        same((status, kind, message), (400, "invalid_request", "runtime must be python3, which this context has"), "another version")


@test(settings={"images": {"pull": "never"}})
def python_gives_a_hint_for_a_missing_version(d):
    wanted = {"code": "open('ran', 'w')", "runtime": "python3.98", "session": "s"}
    a = d.refused("runtime_not_found", "POST", "/v1/tools/execute_python", wanted, "runtime not found: python3.98")
    ensure("cella image pull python:3.98-slim" in a.json()["error"]["hint"], "an image to pull", a)
    put_image(d, "snake:3.98", {"/bin/python3.98": "#!/bin/sh\n"}, {"python3.98": "/bin/python3.98"})
    a = d.refused("runtime_not_found", "POST", "/v1/tools/execute_python", wanted, "runtime not found: python3.98")
    ensure('use image "snake:3.98"' in a.json()["error"]["hint"], "a stored image", a)
    d.ok("PATCH", "/v1/settings", {"runtimes": {"python3.97": {"image": "nowhere:3.97"}}})
    a = d.refused("not_found", "POST", "/v1/tools/execute_python", {**wanted, "runtime": "python3.97", "session": "t"}, "nowhere:3.97")
    ensure("cella image pull nowhere:3.97" in a.json()["error"]["hint"], "the settings' image", a)
    for wrong in ("node", "python3.12; x", "", "pythonista", "../python3", 3, "python" + "3" * 40):
        same(error(d, "execute_python", code="1", runtime=wrong)[:2], (400, "invalid_request"), f"runtime {wrong!r}")
        ensure("runtime" in error(d, "execute_python", code="1", runtime=wrong)[2], "the field is named")
    same(call(d, "execute_shell", command="ls", session="s")["stdout"], "", "files")


@test(users=("root",), settings={"images": {"pull": "never"}})
def python_runs_in_the_image_that_the_settings_name_for_its_version(d):
    name = machines_python()
    image_of(d, files=PYTHON, config={"env": ["PATH=/bin"]})
    d.ok("PATCH", "/v1/settings", {"runtimes": {name: {"image": "tiny", "program": "/bin/python3"}}, "default_runtimes": {"python": name}})
    for given in ({}, {"session": "s"}, {"context": "c"}):
        r = call(d, "execute_python", code="open('/etc/mark').read()", **given)
        same(r["error"], None, f"error with {given}", r)
        same((r["runtime"], r["results"][0]["data"]), (name, "'tiny\\n'"), f"the image, with {given}")


@test(users=("root",))
def python_of_the_settings_is_for_new_sandboxes(d):
    name, code = machines_python(), "import os; os.path.exists('/etc/mark')"
    image_of(d, files=PYTHON, config={"env": ["PATH=/bin"]})

    def where(**given):
        r = call(d, "execute_python", code=code, **given)
        same(r["error"], None, f"error with {given}", r)
        return r["results"][0]["data"]

    call(d, "execute_shell", command="echo kept >f", session="old")
    d.ok("PATCH", "/v1/settings", {"runtimes": {name: {"image": "tiny", "program": "/bin/python3"}}, "default_runtimes": {"python": name}})
    same(where(session="new"), "True", "a new session")
    for given in ({}, {"context": "c"}):
        same(where(session="old", **given), "False", f"a session that has another image, with {given}")
    same(d.exec("python", "print(open('f').read())", session="old")["stdout"], "kept\n\n", "its files")
    error_of = error(d, "execute_python", code=code, session="old", runtime=name)
    same(error_of[:2], (400, "invalid_request"), f"a version that the request names: {error_of[2]}")
    d.ok("PATCH", "/v1/settings", {"runtimes": {}, "default_runtimes": {"python": "python3"}})
    same((where(session="new"), where(session="old")), ("True", "False"), "after a change of the settings")


@test
def python_gets_a_new_context_after_the_old_one_died(d):
    call(d, "execute_python", code="x = 1", context="c")
    r = call(d, "execute_python", code="import os; os.kill(os.getpid(), 9)", context="c")
    same(r["error"]["name"], "ContextEnded", "it died")
    same(call(d, "execute_python", code="'x' in globals()", context="c")["results"][0]["data"], "False", "a new one")
    r = call(d, "execute_python", code="import os; os.kill(os.getpid(), 9)")
    same((r["error"]["message"], r["context"]), ("the interpreter has ended: killed by signal 9", None), "no context that ended with the call is named", r)


@test
def python_is_limited(d):
    same(error(d, "execute_python", code="1", memory_mb=8)[:2], (400, "invalid_request"), "too little memory")
    same(error(d, "execute_python", code="1", files={"f": 5})[:2], (400, "invalid_request"), "a file that is none")
    same(error(d, "execute_python", code="1", files={"../../etc/passwd": "x"})[:2], (400, "invalid_request"), "a path out of it")
    same(error(d, "execute_python", code="1", packages=["--index-url=http://x"])[:2], (400, "invalid_request"), "an option for pip")
    if support.is_root():
        r = call(d, "execute_python", code="x = 'a' * (200 << 20)", memory_mb=64)
        ensure(r["status"] == "memory_limit" or r["error"]["name"] == "MemoryError", f"memory: {r['status']} {r['error']}")


@test
def python_says_which_packages_are_missing(d):
    status, kind, message = error(d, "execute_python", code="1", packages=["surely-not-a-package"])
    same((status, kind), (400, "invalid_request"), message)
    ensure(message.startswith("the packages could not be installed"), message)


# execute_shell and execute_docker.


@test
def shell_greps_logs(d):
    log = "".join(f"line {i} {'ERROR disk full' if i % 50 == 0 else 'ok'}\n" for i in range(1, 201))
    r = call(d, "execute_shell", command="grep -c ERROR app.log; grep -n ERROR app.log | head -1", files={"app.log": log})
    same(r["stdout"], "4\n50:line 50 ERROR disk full\n", "grep")
    check_result(r)
    r = call(d, "execute_shell", command="set -o pipefail; false | cat; echo $?; a=(1 2); echo ${a[1]}; printf x > made")
    same((r["stdout"], [f["path"] for f in r["files"]]), ("1\n2\n", ["made"]), "bash")
    same(call(d, "execute_shell", command="echo $0", shell="sh")["stdout"].strip()[-2:], "sh", "sh")


@test
def shell_takes_input_variables_and_a_directory(d):
    r = call(d, "execute_shell", command="cat; echo $WHO; pwd", stdin="in\n", env={"WHO": "me"}, cwd="/tmp")
    same(r["stdout"], "in\nme\n/tmp\n", "output")
    r = call(d, "execute_shell", command="sleep 60", timeout_ms=200)
    same((r["status"], r["timed_out"]), ("timeout", True), "a timeout is a status here")
    call(d, "execute_shell", command="true", session="s", timeout_ms=1000)
    same(call(d, "execute_shell", command="true", session="s", timeout_ms=60000)["status"], "exited", "a session is not made after its first call")


@test(settings={"images": {"pull": "never"}})
def docker_runs_the_host_image_and_hints_how_to_pull_others(d):
    same(call(d, "execute_docker", image="host", command="echo $((6*7))")["stdout"], "42\n", "a command line")
    r = call(d, "execute_docker", image="host", command=["printf", "%s", "a b"], env={"A": "1"}, files={"f": "x"})
    same(r["stdout"], "a b", "words")
    a = d.refused("not_found", "POST", "/v1/tools/execute_docker", {"image": "python:3.12", "command": "python -V"}, "image not found: python:3.12")
    ensure("cella image pull python:3.12" in a.json()["error"]["hint"], "the hint says what helps", a)
    for command in ("", [], [1], {}, 5):
        same(error(d, "execute_docker", image="host", command=command)[:2], (400, "invalid_request"), command)
    same(error(d, "execute_docker", image="host")[2], "command is required with image 'host'", "a view of the machine has no command of its own")


@test(users=("root",))
def shell_reaches_an_allowed_endpoint_and_no_other():
    with Internet() as net, Daemon(settings={"network": {"tier": "standard", "allowed_domains": ["ok.example"]}}) as d:
        r = call(d, "execute_shell", command="curl -s -o /dev/null -w '%{http_code}' --max-time 10 http://ok.example/")
        same((r["exit_code"], r["stdout"]), (0, "200"), "an endpoint that is allowed", None)
        ensure(net.seen("http"), "it was really asked")
        r = call(d, "execute_shell", command="curl -s --max-time 10 http://evil.example/")
        ensure(r["exit_code"] != 0 or r["violations"], "another one is refused")
        ensure("evil.example" in json.dumps(r["violations"]), f"and that is a violation: {r['violations']}")


# Files and sandboxes.


@test
def files_are_written_read_and_listed(d):
    w = call(d, "write_file", session="s", path="dir/a.txt", content="hällo")
    same((w["path"], w["bytes"]), ("dir/a.txt", 6), "written")
    same(call(d, "execute_shell", session="s", command="cat dir/a.txt")["stdout"], "hällo", "there")
    r = call(d, "read_file", session="s", path="dir/a.txt")
    same((r["content"], r["encoding"], r["bytes"], r["truncated"]), ("hällo", "utf-8", 6, False), "read")
    r = call(d, "read_file", session="s", path="dir/a.txt", max_bytes=2)
    same((r["content"], r["truncated"]), ("h", True), "whole characters only")
    r = call(d, "read_file", session="s", path="dir/a.txt", offset=1)
    same(r["content"], "ällo", "from the second on")
    data = base64.b64encode(bytes(range(256))).decode()
    call(d, "write_file", session="s", path="/workspace/b", content=data, encoding="base64")
    r = call(d, "read_file", sandbox=w["sandbox"], path="b")
    same((r["content"], r["encoding"]), (data, "base64"), "bytes")
    names = [(e["name"], e["type"], e["bytes"]) for e in call(d, "list_files", session="s")["entries"]]
    same([(n, t) for n, t, _ in names], [("b", "file"), ("dir", "directory")], "listed")
    same([e["name"] for e in call(d, "list_files", session="s", path="dir")["entries"]], ["a.txt"], "a directory")
    for name, arguments, kind in (
        ("read_file", {"session": "s", "path": "nothing"}, "not_found"), ("read_file", {"session": "none", "path": "x"}, "not_found"),
        ("read_file", {"path": "x"}, "invalid_request"), ("read_file", {"path": "x", "session": "s", "sandbox": "t"}, "invalid_request"),
        ("list_files", {"sandbox": "sbx_none"}, "not_found"), ("write_file", {"session": "s", "path": "x", "content": "!", "encoding": "base64"}, "invalid_request"),
    ):  # fmt: skip
        same(error(d, name, **arguments)[1], kind, (name, arguments))


@test
def sandboxes_are_listed_and_killed(d):
    call(d, "write_file", session="s", path="f", content="x")
    listed = call(d, "list_sandboxes")["sandboxes"]
    same([(s["session"], s["state"]) for s in listed], [("s", "running")], "listed")
    same(call(d, "kill_sandbox", session="s"), {"sandbox": listed[0]["id"], "killed": True}, "killed")
    same(call(d, "list_sandboxes")["sandboxes"], [], "none is left")
    same(error(d, "kill_sandbox", session="s")[:2], (404, "not_found"), "twice")
    same(error(d, "read_file", session="s", path="f")[:2], (404, "not_found"), "its files")


@test
def tools_need_the_capability_of_their_action(d):
    call(d, "write_file", session="s", path="f", content="x")
    key = d.new_key(capabilities=["sandbox.exec"])["key"]
    other = d.new_key("o", capabilities=["files", "sandbox.manage"])["key"]
    for name, arguments, missing in (
        ("read_file", {"session": "s", "path": "f"}, "files"), ("write_file", {"session": "s", "path": "f", "content": ""}, "files"),
        ("list_files", {"session": "s"}, "files"), ("kill_sandbox", {"session": "s"}, "sandbox.manage"),
    ):  # fmt: skip
        same(error(d, name, key=key, **arguments)[2], f"access denied: {missing}", name)
        if name != "write_file":
            same(error(d, name, key=other, **arguments)[1], "not_found", f"{name} of another key's session")
    for name, arguments in (("execute_python", {"code": "1"}), ("execute_shell", {"command": "true"}),
                            ("execute_docker", {"image": "host", "command": "true"})):  # fmt: skip
        same(error(d, name, key=other, **arguments)[2], "access denied: sandbox.exec", name)
    same(d.post("/v1/tools/list_sandboxes", {}, key=other)["sandboxes"], [], "another key sees none")


@test
def a_client_that_leaves_cancels_its_call(d):
    for name, arguments in (("execute_shell", {"command": "sleep 60"}), ("execute_python", {"code": "import time; time.sleep(60)"}),
                            ("sandbox.exec", {"runtime": "sh", "code": "sleep 60", "timeout_ms": 60000})):  # fmt: skip
        c = d.connection()
        body = d.encode(arguments)
        c.request("POST", f"/v1/tools/{name}", body, {"Content-Type": "application/json"})
        until(lambda: d.get("/v1/executions?status=running")["executions"], 20, f"{name} that runs")
        c.sock.close()
        c.close()
        until(lambda: not d.get("/v1/executions?status=running")["executions"], 20, f"the end of {name}")
    until(lambda: not d.get("/v1/sandboxes")["sandboxes"], 20, "the end of the sandbox of execute_python")


@test
def fields_of_other_modules_are_checked(d):
    """A call that needs a missing secret or a forbidden import is refused, and nothing is run."""
    for name, arguments in (("sandbox.exec", {"runtime": "sh", "code": "x", "secrets": {"A": "{{secret:none}}"}}),
                            ("execute_python", {"code": "import os", "allowed_imports": ["json"]})):  # fmt: skip
        ensure(error(d, name, **arguments)[0] >= 400, f"{name} is refused")
    same(d.rows(), [], "nothing was run")


@test
def sandbox_exec_returns_the_output_before_a_timeout(d):
    a = d.request("POST", "/v1/tools/sandbox.exec", {"runtime": "sh", "code": "echo out; echo err >&2; sleep 60", "timeout_ms": 5000})
    same((a.status, a.json()["error"]["kind"]), (504, "timeout"), "the error", a)
    same((a.json()["stdout"], a.json()["stderr"]), ("out\n", "err\n"), "what it had printed")


@test
def python_lists_the_files_that_it_wrote(d):
    code = "import os\nopen('out.csv', 'w').write('1,2')\nos.makedirs('deep/er')\nopen('deep/er/x', 'w').close()\nopen('changed', 'a').write('!')"
    given = {"changed": "x", "unchanged": "y"}
    wanted = {("out.csv", 3), ("deep/er/x", 0), ("changed", 2)}
    for more in ({}, {"session": "s"}, {"session": "s2", "context": "c"}):
        r = call(d, "execute_python", code=code, files=given, **more)
        same({(f["path"], f["bytes"]) for f in r["files"]}, wanted, f"files: {more}")
        same({f["path"]: f["change"] for f in r["files"]}["out.csv"], "added", "a new one")
        ensure("files_truncated" not in r, "all of them")
    r = call(d, "execute_python", code="1/0", session="s2", context="c", files={"unchanged": "z"})
    same((r["files"], r["error"]["name"]), ([], "ZeroDivisionError"), "a run that changed none")
    r = call(d, "execute_python", code="import os, signal\nopen('last', 'w').close()\nos.kill(os.getpid(), signal.SIGKILL)")
    ensure(r["status"] == "signaled" and (r.get("files_truncated") or [f["path"] for f in r["files"]] == ["last"]), "a run that killed its context", str(r))


@test
def a_run_in_a_context_lists_files_if_asked(d):
    s = d.post("/v1/sandboxes", {}, 201)["id"]
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    run = f"/v1/sandboxes/{s}/contexts/{c}/run"
    same(d.post(run, {"code": "open('a', 'w').write('xy')"})["files"], [], "without being asked")
    time.sleep(0.1)  # timestamps of files have a coarse resolution
    r = d.post(run, {"code": "open('b', 'w').write('xyz')", "list_files": True})
    same((r["files"], r.get("files_truncated")), ([{"path": "b", "change": "added", "bytes": 3}], None), "files")
    d.refused("invalid_request", "POST", run, {"code": "1", "list_files": 7}, "list_files")


@test
def results_of_this_api_are_not_shortened(d):
    r = call(d, "execute_python", code="print('x' * 100000)\n'y' * 60000")
    same((len(r["stdout"]), len(r["results"][0]["data"])), (100001, 60002), "lengths")
    r = call(d, "execute_python", code="1/0")
    ensure("ZeroDivisionError" in r["error"]["traceback"], "the traceback")
