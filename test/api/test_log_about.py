"""Fields of the log other than the code; and refused requests in the log."""

import hashlib
import json
import os

import support
from daemon import Daemon
from support import ensure, same, test

SECRET = "S3cr3t/Value+with=Things-7Qx"


def blake(text):
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def last(d, **kwargs):
    """Returns the newest row with all its fields."""
    row = d.get("/v1/executions?limit=1", unix=True)["executions"][0]
    whole = d.get(f"/v1/executions/{row['id']}", unix=True)
    for name in ("mode", "engine", "image", "tier", "key_name", "error", "status", "key"):
        same(row[name], whole[name], f"{name} in the list")
    return whole


@test
def a_row_has_key_engine_arguments_and_hashes_of_the_input(d):
    k = d.new_key("ci")
    r = d.post("/v1/exec", {"runtime": "python3", "code": "import sys; print(sys.argv[1:])", "args": ["a", "--b=c d"], "stdin": "typed", "cwd": "/workspace",
                            "env": {"COLOUR": "red-value", "SIZE": "large-value"}, "files": {"in/x.csv": "1,2\n", "y": {"base64": "AAE="}}}, key=k["key"])  # fmt: skip
    same(r["stdout"], "['a', '--b=c d']\n", "it ran")
    row = last(d)
    same((row["id"], row["key"], row["key_name"]), (r["id"], k["id"], "ci"), "the key")
    same((row["mode"], row["engine"], row["image"], row["tier"], row["error"]), ("sandbox", "native", "host", "restricted", None), "where")
    same(row["args"], {"count": 2, "list": ["a", "--b=c d"]}, "arguments")
    same(row["stdin"], {"bytes": 5, "hash": blake("typed")}, "stdin")
    same(row["input_files"], {"count": 2, "bytes": 6, "list": [{"path": "in/x.csv", "bytes": 4, "hash": blake("1,2\n")}, {"path": "y", "bytes": 2, "hash": blake("\0\1")}]}, "files")
    same((row["env_names"]["count"], sorted(row["env_names"]["list"])), (2, ["COLOUR", "SIZE"]), "names of variables")
    ensure("-value" not in json.dumps(row), "a value of a variable is in the log")
    same(row["cwd"], "/workspace", "working directory")
    d.exec("sh", "true", key=k["key"])
    row = last(d)
    same([row[n] for n in ("args", "stdin", "input_files", "env_names", "cwd", "scan", "reason")], [None] * 7, "a request with nothing else")
    same(d.get("/v1/executions/verify", unix=True)["ok"], True, "the chain")


@test(settings={"mode": "off"})
def an_execution_on_the_host_is_obvious(d):
    d.exec("sh", "true")
    row = last(d)
    same((row["mode"], row["engine"], row["reason"]), ("host", "host", "host: the mode is off"), "on the host")
    d.post(f"/v1/sandboxes/{d.sandbox()}/exec", {"runtime": "sh", "code": "true"})
    same((last(d)["mode"], last(d)["engine"]), ("sandbox", "native"), "in a sandbox")
    lines = support.cella(["logs", "--socket", d.unix]).out.splitlines()
    column = lines[0].split().index("MODE")
    same([line.split()[column] for line in lines[1:]], ["sandbox", "HOST"], "the list of the command line")


@test
def findings_are_in_the_log(d):
    d.exec("python3", "import os\nos.system('true')")
    scan = last(d)["scan"]
    ensure(scan["count"] >= 1 and any("os.system" in f["text"] for f in scan["findings"]), f"findings: {scan}")
    same({"rule", "severity", "line", "text"}, set(scan["findings"][0]), "a finding")


@test
def secrets_do_not_get_into_the_log():
    with Daemon() as d:
        d.ok("PUT", "/v1/secrets/token", {"value": SECRET}, 201)
        d.post("/v1/exec", {"runtime": "sh", "code": f"echo {SECRET}", "args": ["x" + SECRET + "y"], "files": {SECRET.replace("/", "_") + SECRET: "f"}, "cwd": "/tmp", "secrets": {"TOKEN": "{{secret:token}}"}})
        row = last(d)
        same((row["args"]["list"], row["env_names"]["list"]), (["x***y"], ["TOKEN"]), "masked")
        d.refused("invalid_request", "POST", f"/v1/sandboxes/{d.sandbox()}/exec",
                  {"runtime": "sh", "code": f"echo {SECRET}", "args": [SECRET], "secrets": {"TOKEN": "{{secret:token}}"}, "limits": {"memory_bytes": 1 << 45}})  # fmt: skip
        same(last(d)["status"], "refused", "a refused one")
    for name in os.listdir(d.state):
        path = os.path.join(d.state, name)
        if os.path.isfile(path):
            with open(path, "rb") as f:
                ensure(SECRET.encode() not in f.read(), f"{name} has the value")


@test
def long_output_is_truncated_and_counted(d):
    args = ["a" * 10000, *(f"arg-{i}" for i in range(900))]
    files = {f"dir/{'n' * 100}-{i}": str(i) for i in range(200)}
    d.post("/v1/exec", {"runtime": "sh", "code": "true", "args": args, "files": files, "env": {f"VARIABLE_{i}": "x" for i in range(900)}, "stdin": "s" * 300000})
    row = last(d)
    same((row["args"]["count"], row["input_files"]["count"], row["env_names"]["count"]), (901, 200, 900), "counts")
    same(row["stdin"], {"bytes": 300000, "hash": blake("s" * 300000)}, "long input is hashed whole")
    ensure(row["args"]["list"][0].startswith("aaa") and row["args"]["list"][0].endswith("…") and len(row["args"]["list"][0]) <= 4000, "an argument is cut")
    ensure(0 < len(row["input_files"]["list"]) < 200 and 0 < len(row["env_names"]["list"]) < 900, "lists are cut")
    ensure(len(json.dumps(row)) < 40000, "the row is bounded")


@test
def refused_requests_are_in_the_log(d, s):
    k, files = d.new_key("k", limits={"memory_bytes": 64 << 20}), d.new_key("f", capabilities=["files"])
    code = {"runtime": "sh", "code": "echo no"}
    cases = [
        ("access_denied", "/v1/exec", code, files, None, "access denied: sandbox.exec"),
        ("access_denied", f"/v1/sandboxes/{s}/exec", code, files, None, "access denied: sandbox.exec"),
        ("access_denied", "/v1/tools/sandbox.exec", code, files, None, "access denied: sandbox.exec"),
        ("access_denied", "/v1/exec", {**code, "limits": {"memory_bytes": 1 << 30}}, k, "echo no", "limits.memory_bytes"),
        ("invalid_request", "/v1/exec", {**code, "colour": 1}, k, None, "colour"),
        ("not_found", "/v1/sandboxes/sbx_aaaaaaaaaaaaaaaaaaaa/exec", code, k, None, "no sandbox"),
        ("not_found", "/v1/exec", {**code, "secrets": {"T": "{{secret:none}}"}}, None, None, "none"),
        ("scan_refused", "/v1/exec", {"runtime": "python3", "code": "import socket", "allowed_imports": ["math"]}, k, "import socket", "socket"),
        ("not_found", "/v1/exec", {"command": ["no-such-program"]}, k, '["no-such-program"]', "no-such-program"),
        ("invalid_request", "/v1/tools/sandbox.exec", {"runtime": "cobol", "code": "x"}, k, None, "runtime"),
    ]  # fmt: skip
    for kind, path, body, key, input_, part in cases:
        before = len(d.all_rows())
        if key:
            d.refused(kind, "POST", path, body, key=key["key"])
        else:
            d.refused(kind, "POST", path, body, unix=True)
        same(len(d.all_rows()), before + 1, f"rows after {kind} of {path}")
        row = last(d)
        same((row["status"], row["exit_code"], row["key"], row["key_name"]), ("refused", None, key["id"] if key else None, {"k": "k", "f": "f"}.get(key and key["name"])), f"{kind} of {path}")
        same((row["error"]["kind"], row["input"]), (kind, input_), f"{kind} of {path}")
        ensure(part in row["error"]["message"], f"the error of {path} is {row['error']}")
    d.refused("unauthorized", "POST", "/v1/exec", code, key="cella_wrong")
    same((last(d)["error"]["kind"], last(d)["key"]), ("unauthorized", None), "a key that is not known")
    d.refused("access_denied", "GET", "/v1/settings", key=k["key"])
    same(last(d)["error"]["kind"], "unauthorized", "what runs nothing is not in the log")
    same(d.get("/v1/executions?status=refused&limit=1", unix=True)["executions"][0]["id"], last(d)["id"], "found by status")
    same([r["key"] for r in d.get("/v1/executions", key=k["key"])["executions"]], [k["id"]] * 6, "a key sees its own")
    same(d.get("/v1/executions/verify", unix=True)["ok"], True, "the chain")


@test(settings={"sandboxes": {"max": 1, "queue_max": 1, "queue_timeout_ms": 300}, "pools": []})
def a_full_queue_and_a_refused_mode_are_in_the_log(d):
    d.post("/v1/exec", {"runtime": "sh", "code": "sleep 20", "detach": True}, 202)
    d.refused("over_capacity", "POST", "/v1/exec", {"runtime": "sh", "code": "echo full"})
    row = last(d)
    same((row["status"], row["error"]["kind"], row["input"], row["image"]), ("refused", "over_capacity", "echo full", "host"), "no room")
    k = d.new_key("k")
    d.ok("PATCH", "/v1/settings", {"mode": "off"}, unix=True)
    d.refused("access_denied", "POST", "/v1/exec", {"runtime": "sh", "code": "echo host"}, key=k["key"])
    row = last(d)
    same((row["status"], row["mode"], row["error"]["message"], row["input"]), ("refused", "host", "access denied: host.exec", "echo host"), "the host")


@test(timeout=120)
def a_flood_of_refused_requests_is_bounded_and_counted(d):
    k, other = d.new_key("k"), d.new_key("other")
    ran = d.exec("sh", "echo real", key=k["key"])["id"]
    for _ in range(300):
        d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh"}, key=k["key"])
    same(sum(r["status"] == "refused" for r in d.all_rows()), 100, "rows of 300 refused requests")
    d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh"}, key=other["key"])
    same(last(d)["key_name"], "other", "another key's refusal")
    ensure(ran in [r["id"] for r in d.all_rows()], "the execution is still there")
    same(d.exec("sh", "echo on", key=k["key"])["status"], "exited", "executions go on")
    same(last(d)["status"], "exited", "and are recorded")


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@test
def the_trace_of_a_request_is_in_the_rows_of_its_executions(d):
    sent = {"headers": {"traceparent": TRACE}}
    d.post("/v1/exec", {"runtime": "sh", "code": "true"}, **sent)
    same(last(d)["traceparent"], TRACE, "of an execution")
    shown = support.cella(["logs", "--socket", d.unix, last(d)["id"]]).out
    ensure(any(line.split() == ["traceparent", TRACE] for line in shown.splitlines()), f"cella logs shows {shown}")
    s = d.sandbox()
    d.post(f"/v1/sandboxes/{s}/processes", {"command": ["true"]}, 201, **sent)
    support.until(lambda: len(d.rows()) == 2, 20, "the row of the process")
    same(last(d)["traceparent"], TRACE, "of a background process")
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    d.post(f"/v1/sandboxes/{s}/contexts/{c}/run", {"code": "1"}, **sent)
    same(last(d)["traceparent"], TRACE, "of a run in a context")
    d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "true", "timeout_ms": -1}, **sent)
    same((last(d)["status"], last(d)["traceparent"]), ("refused", TRACE), "of a refused request")
    d.post("/v1/tools/execute_python", {"code": "1"}, **sent)
    same(last(d)["traceparent"], TRACE, "of a tool")
    d.exec("sh", "true")
    same(last(d)["traceparent"], None, "of a request without one")
    same(d.get("/v1/executions/verify", unix=True)["ok"], True, "the chain")


@test
def a_trace_that_is_not_as_specified_is_ignored(d):
    wrong = ("", "x", TRACE[:-1], TRACE + "0", TRACE + "-00", TRACE.upper(), "01" + TRACE[2:], "ff" + TRACE[2:], TRACE.replace("-", "_"),
             "00-" + "0" * 32 + TRACE[35:], TRACE[:36] + "0" * 16 + TRACE[52:], TRACE[:-2] + "0g", TRACE[:-2] + '"}', "é" * 20)  # fmt: skip
    for header in wrong:
        d.post("/v1/exec", {"runtime": "sh", "code": "true"}, headers={"traceparent": header.encode()})
        same(last(d)["traceparent"], None, f"after {header!r}")
    same(len(d.rows()), len(wrong), "rows")
