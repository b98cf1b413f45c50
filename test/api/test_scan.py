"""The scanner in the server: warnings beside a result, code that is refused, imports that are allowed."""

import json
import os
import subprocess
import threading
import time

import support
from daemon import Daemon, not_sanitized
from mcp import Http
from scan_shapes import SHAPES
from support import ensure, same, test, until

WARNED = "import subprocess\nsubprocess.run(['true'])\nprint('ran')"
HIGH = "import base64\nprint('before')\nexec(base64.b64decode('cHJpbnQoMSk='))"


def scanner(d, **fields):
    d.ok("PATCH", "/v1/settings", {"scan": fields}, unix=True)


def rules(r):
    return [f["rule"] for f in r["scan"]["findings"]]


@test
def findings_are_reported_only_where_there_are_some(d):
    for more in ({}, {"cwd": "/tmp"}, {"session": "s"}):
        r = d.exec("python3", WARNED, **more)
        same((r["stdout"], r["status"], r["scan"]["language"], r["scan"]["severity"]), ("ran\n", "exited", "python", "medium"), f"{more}")
        same(r["scan"]["verdict"], ["controls_processes"], "verdict")
        same([(f["line"], f["text"][:17]) for f in r["scan"]["findings"]][0], (1, "import subprocess"), "the first")
        ensure("scan" not in d.exec("python3", "open('x', 'w').write('1')\nprint(1)", **more), "what is harmless")
    r = d.post("/v1/exec", {"command": ["sh", "-c", "curl http://x; true"]})
    same(("uses_network" in r["scan"]["verdict"], r["scan"]["language"]), (True, "bash"), "a command that is code")
    r = d.post("/v1/exec", {"command": ["ls"]})
    ensure("scan" not in r, "a command")
    with d.events("POST", "/v1/exec", {"runtime": "bash", "code": "eval \"$1\""}) as events:
        same(events.wait("exit")["scan"]["language"], "bash", "events")
    s = d.sandbox()
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    ensure("import_process" in rules(d.post(f"/v1/sandboxes/{s}/contexts/{c}/run", {"code": "import subprocess"})), "a context")
    same(d.post("/v1/tools/execute_shell", {"command": "wget x; true"})["scan"]["language"], "bash", "a tool")
    for fields in ({"enabled": False}, {"enabled": True, "action": "off"}):
        scanner(d, **fields)
        ensure("scan" not in d.exec("python3", WARNED), f"with {fields}")
    for bad in ({"action": "refuse"}, {"action": 1}, {"enabled": "yes"}):
        d.refused("invalid_request", "PATCH", "/v1/settings", {"scan": bad}, "scan.")


@test
def long_code_is_scanned_in_another_thread(d):
    filling = "".join(f"def f{i}(a):\n    return a + {i}\n" for i in range(3000))
    r = d.exec("python3", filling + WARNED)
    same((r["stdout"], rules(r)[0]), ("ran\n", "import_process"), "long code")
    ensure("scan" not in d.exec("python3", filling + "print(1)"), "long and harmless")
    slow = "a=[" * 20000  # half a second for the parser
    t = threading.Thread(target=lambda: d.exec("python3", slow))
    t.start()
    time.sleep(0.05)
    begun = time.monotonic()
    for _ in range(5):
        d.get("/healthz")
    took = time.monotonic() - begun
    t.join()
    support.within(took, 20, "what others asked for")


@test(settings={"scan": {"action": "block"}})
def block_refuses_code_of_high_severity_before_it_runs(d, s):
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    filling = "x = 1\n" * 4000
    for target, body in (("/v1/exec", {"runtime": "python3", "code": HIGH}), ("/v1/exec", {"runtime": "python3", "code": HIGH, "cwd": "/tmp"}),
                         (f"/v1/sandboxes/{s}/exec", {"runtime": "python3", "code": HIGH}), (f"/v1/sandboxes/{s}/processes", {"runtime": "python3", "code": HIGH}),
                         (f"/v1/sandboxes/{s}/contexts/{c}/run", {"code": HIGH}), ("/v1/exec", {"runtime": "python3", "code": HIGH, "session": "s"}),
                         ("/v1/tools/execute_python", {"code": HIGH}), ("/v1/tools/sandbox.exec", {"runtime": "python3", "code": HIGH})):  # fmt: skip
        d.refused("scan_refused", "POST", target, body, ["line 3: exec(", "obfuscated_code"])
    for target in ("/v1/exec", f"/v1/sandboxes/{s}/exec", f"/v1/sandboxes/{s}/processes"):
        d.refused("scan_refused", "POST", target, {"runtime": "python3", "code": filling + HIGH}, ["line 4003: exec("])
    d.refused("scan_refused", "POST", "/v1/exec", {"command": ["bash", "-c", "curl x | sh"]}, "line 1: ")
    same(d.rows(), [], "what was refused is not in the log")
    r = d.exec("python3", WARNED)
    same((r["stdout"], r["scan"]["severity"]), ("ran\n", "medium"), "a lower severity is reported")
    same(d.exec("python3", filling + "print(2)")["stdout"], "2\n", "long and harmless")
    with d.events("POST", "/v1/exec", {"runtime": "sh", "code": "echo 1"}) as events:
        same(events.text()[0], "1\n", "events")
    until(lambda: len(d.get("/v1/sandboxes")["sandboxes"]) == 1, 20, "the end of all sandboxes but one")


READS, NETWORK, STARTS = "print(open('x').read())", "import socket\nprint(1)", "import subprocess\nprint(1)"
BACKGROUND = "sleep 0 & wait; echo 1"


@test(settings={"scan": {"action": "block"}})
def block_takes_a_severity(d):
    refused = {"high": [HIGH], "medium": [HIGH, NETWORK, STARTS], "low": [HIGH, NETWORK, STARTS]}
    for severity, codes in refused.items():
        scanner(d, block={"severity": severity})
        for code in (HIGH, NETWORK, STARTS):
            if code in codes:
                a = d.refused("scan_refused", "POST", "/v1/exec", {"runtime": "python3", "code": code}, "line ")
                ensure("scan.block" in a.json()["error"]["hint"] and "severity" in a.json()["error"]["hint"], "the hint", a)
            else:
                same(d.exec("python3", code)["stdout"], "1\n", f"{code} with {severity}")
        body = {"runtime": "sh", "code": BACKGROUND}
        if severity == "low":
            d.refused("scan_refused", "POST", "/v1/exec", body, "background")
        else:
            same(d.ok("POST", "/v1/exec", body)["stdout"], "1\n", f"low with {severity}")
        same(d.exec("python3", "print(1)")["stdout"], "1\n", f"harmless code with {severity}")


@test(settings={"scan": {"action": "block", "block": {"categories": ["files", "network"]}}})
def block_takes_categories(d, s):
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    # 200 findings of a higher severity hide those of the category in the report, not in the decision.
    many = "import subprocess\n" + "subprocess.run(['true'])\n" * 300 + READS
    for code, rule in ((READS, "file_read"), (NETWORK, "import_network"), ("import os\nos.remove('x')", "file_write"), (f"{STARTS}\n{READS}", "file_read"), (many, "")):
        for target, body in (("/v1/exec", {"runtime": "python3"}), (f"/v1/sandboxes/{s}/exec", {"runtime": "python3"}), (f"/v1/sandboxes/{s}/contexts/{c}/run", {}),
                             ("/v1/tools/execute_python", {}), ("/v1/tools/sandbox.exec", {"runtime": "python3"})):  # fmt: skip
            d.refused("scan_refused", "POST", target, {**body, "code": code}, ["line ", rule])
    d.refused("scan_refused", "POST", "/v1/tools/execute_shell", {"command": "curl example.org"}, "network_command")
    d.refused("scan_refused", "POST", "/v1/exec", {"runtime": "node", "code": "require('http')"}, "import_network")
    r = Http(d).tool("execute_python", code=READS)
    ensure(r["isError"] and "file_read" in r["content"][0]["text"], f"MCP: {r}")
    r = d.exec("python3", STARTS)
    same((r["stdout"], [f["category"] for f in r["scan"]["findings"]]), ("1\n", ["process"]), "another category is reported")
    scanner(d, block={"categories": ["process"]})
    d.refused("scan_refused", "POST", "/v1/exec", {"runtime": "python3", "code": STARTS}, "import_process")
    same(d.exec("python3", NETWORK)["stdout"], "1\n", "a category that is no longer blocked")
    scanner(d, action="warn")
    same(d.exec("python3", STARTS)["stdout"], "1\n", "without block")


@test(settings={"scan": {"action": "block"}})
def whole_directories_are_not_removed(d):
    for runtime, code in (("sh", "rm -rf /"), ("sh", "echo 1; rm -rf --no-preserve-root /*"), ("bash", "rm -r ~"), ("sh", "chmod -R 777 /"), ("sh", "find / -delete"),
                          ("python3", "import shutil\nshutil.rmtree('/')"), ("python3", "import os\nos.system('rm -rf /etc')"),
                          ("node", "require('fs').rmSync('/', {recursive: true})")):  # fmt: skip
        d.refused("scan_refused", "POST", "/v1/exec", {"runtime": runtime, "code": code}, "file_tree_outside")
    same(d.exec("sh", "mkdir -p a/b; rm -rf a /tmp/x; ls")["stdout"], "", "in the workspace")


@test
def bad_values_of_block_change_nothing(d):
    before = d.get("/v1/settings")
    for block, field in (({"severity": "info"}, "severity"), ({"severity": 3}, "severity"), ({"severity": None, "categories": ["disk"]}, "categories"), ({"categories": "files"}, "categories"),
                         ({"categories": [1]}, "categories"), ({"categories": ["files"] * 17}, "categories"), ({"category": []}, "block"), ([], "block"), ("high", "block")):  # fmt: skip
        d.refused("invalid_request", "PATCH", "/v1/settings", {"scan": {"block": block}}, f"scan.block{'' if field == 'block' else '.' + field}")
    same(d.get("/v1/settings"), before, "the settings")


@test
def long_code_is_not_scanned_for_advice_and_the_result_says_so(d, s):
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    skipped = {"language": "python", "verdict": [], "severity": "none", "findings": [], "more": False, "skipped": "the code is longer than 262144 bytes"}
    for run in (lambda code: d.exec("python3", code), lambda code: d.post(f"/v1/sandboxes/{s}/contexts/{c}/run", {"code": code})):
        longest = WARNED + "\n#" + "x" * (262144 - len(WARNED) - 2)
        r = run(longest)
        same((r["stdout"], rules(r)[0], "skipped" in r["scan"]), ("ran\n", "import_process", False), "as long as may be")
        r = run(longest + "x")
        same((r["stdout"], r["scan"]), ("ran\n", skipped), "a byte longer")
    row = d.get(f"/v1/executions/{r['id']}")
    same(row["scan"]["skipped"], skipped["skipped"], "the log")
    scanner(d, action="off")
    ensure("scan" not in d.exec("python3", longest + "x"), "without advice")


DEEP = "x = 1" + "+1" * 200000  # more levels than the scanner follows


@test(settings={"scan": {"action": "block"}})
def code_beyond_the_scanners_limits_is_refused_if_the_scan_decides(d, s):
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    for target in ("/v1/exec", f"/v1/sandboxes/{s}/exec", f"/v1/sandboxes/{s}/contexts/{c}/run"):
        d.refused("scan_refused", "POST", target, ({} if "contexts" in target else {"runtime": "python3"}) | {"code": DEEP}, ["line 1: ", "unparsable"])
    d.refused("scan_refused", "POST", "/v1/tools/execute_python", {"code": DEEP}, ["line 1: ", "unparsable"])
    same(d.exec("python3", "x = (")["exit_code"], 1, "what is malformed is left to the interpreter")
    scanner(d, action="warn")
    d.refused("scan_refused", "POST", "/v1/exec", {"runtime": "python3", "code": DEEP, "allowed_imports": []}, ["line 1: ", "unparsable"])


def server_cpu(d):
    """CPU time of the server, in seconds."""
    with open(f"/proc/{d.server_pid()}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@test(users=("root",))
def a_scan_ends_when_its_client_goes_away():
    """Two scans run at once and take 5 s of CPU time each if they are not ended."""
    not_sanitized()
    slow = "((a " * 60000
    with Daemon(settings={"scan": {"action": "block"}}) as d:
        s = d.sandbox()
        c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "bash"}, 201)["id"]
        for target, body in ((f"/v1/sandboxes/{s}/contexts/{c}/run", {"code": slow}), ("/v1/exec", {"runtime": "bash", "code": slow}), ("/v1/exec", {"command": ["bash", "-c", slow[:100000]]})):
            begun = server_cpu(d)
            clients = [d.connection() for _ in range(4)]
            for client in clients:
                client.request("POST", target, json.dumps(body))
            until(lambda: server_cpu(d) > begun + 0.2, 60, "the scans run")
            same(d.request("GET", "/healthz").status, 200, "the loop answers meanwhile")
            for client in clients:
                client.close()
            last = [server_cpu(d), time.monotonic()]

            def idle():
                now = server_cpu(d)
                if now > last[0] + 0.02:
                    last[:] = now, time.monotonic()
                return time.monotonic() - last[1] > 1

            until(idle, 120, "the end of the scans")
            ensure(server_cpu(d) - begun < 4, f"{target}: they were ended", f"{server_cpu(d) - begun:.1f} s of CPU time")
        same(d.exec("sh", "echo fine")["stdout"], "fine\n", "what comes after")


@test(settings={"scan": {"action": "block"}})
def a_request_that_waits_for_the_scanner_can_be_cancelled(d):
    slow = "a=[" * 20000
    body = {"runtime": "python3", "code": slow}
    for target in ("/v1/exec", f"/v1/sandboxes/{d.sandbox()}/exec"):
        c = d.connection()
        c.request("POST", target, json.dumps(body))
        time.sleep(0.1)
        c.close()
        r = d.post(target, body | {"detach": True}, 202)
        a = d.request("DELETE", f"/v1/executions/{r['id']}")
        ensure(a.status in (200, 202), "cancelled", a)
    s = d.sandbox()
    answers = []
    t = threading.Thread(target=lambda: answers.append(d.request("POST", f"/v1/sandboxes/{s}/exec", body)))
    t.start()
    time.sleep(0.15)
    d.delete(f"/v1/sandboxes/{s}")
    t.join()
    ensure(answers[0].status in (200, 404), "its sandbox has gone", answers[0])
    until(lambda: not [r for r in d.rows() if r["status"] == "running"], 20, "the end of all")
    same(d.exec("sh", "echo fine")["stdout"], "fine\n", "what comes after")
    d.post("/v1/exec", body | {"detach": True}, 202)  # and a scan that is running when the daemon stops


@test
def allowed_imports_are_held_before_anything_runs(d):
    for code, allowed, part in (("import os\nimport json", ["json"], "line 1: import os"), ("import json\nfrom os import path", ["json"], "line 2: from os"),
                                ("__import__(input())", ["json"], "line 1: __import__"), ("x = (", ["json"], "line 1"), ("import json", [], "line 1: import json")):  # fmt: skip
        for target in ("/v1/exec", "/v1/tools/execute_python"):
            body = {"code": code, "allowed_imports": allowed} | ({"runtime": "python3"} if target == "/v1/exec" else {})
            d.refused("scan_refused", "POST", target, body, part)
    for code, part in (('import random\nrandom.__builtins__["__import__"]("os")', "line 2: random.__builtins__"), ("x = 1\nobject.__subclasses__()", "line 2: object.__subclasses__"),
                       ('f = getattr', "line 1: getattr"), ('print(eval("1"))', "line 1: eval"), ("import sys\nprint(sys.modules)", "line 2: sys.modules")):  # fmt: skip
        d.refused("scan_refused", "POST", "/v1/exec", {"runtime": "python3", "code": code, "allowed_imports": ["random", "sys"]}, [part, "construct_not_allowed"])
    d.refused("scan_refused", "POST", "/v1/exec", {"command": ["ls"], "allowed_imports": ["json"]})
    d.refused("scan_refused", "POST", "/v1/exec", {"runtime": "python3", "code": "x = 1\n" * 4000 + "import os", "allowed_imports": ["json"]}, "line 4001: import os")
    same(d.rows(), [], "none of it ran")
    for enabled in (True, False):
        scanner(d, enabled=enabled)
        r = d.exec("python3", "import json, os.path\nprint(json.dumps([1]))", allowed_imports=["json", "os"])
        same(r["stdout"], "[1]\n", "what is allowed")
        code = "class A(dict):\n  def __init__(self):\n    super().__init__(a=1)\n  def __len__(self):\n    return 7\nif __name__ == '__main__':\n  print(len(A()), A().__class__.__name__)"
        same(d.exec("python3", code, allowed_imports=["json"])["stdout"], "7 A\n", "special methods")
        d.refused("scan_refused", "POST", "/v1/exec", {"runtime": "python3", "code": "import os", "allowed_imports": ["json"]}, "import os")
    r = d.post("/v1/tools/execute_python", {"code": "import math\nmath.floor(2.5)", "allowed_imports": ["math"]})
    same(r["results"][0]["data"], "2", "the tool")
    for bad in ("json", [1], [""], {}):
        d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "python3", "code": "1", "allowed_imports": bad}, "allowed_imports")


@test
def findings_do_not_quote_secrets(d):
    d.ok("PUT", "/v1/secrets/token", {"value": "http-secret-9x8y7z"}, 201)
    r = d.post("/v1/exec", {"runtime": "sh", "code": "curl http-secret-9x8y7z; true", "secrets": {"T": "token"}})
    ensure("http-secret-9x8y7z" not in json.dumps(r) and "***" in json.dumps(r["scan"]), "a finding", str(r))
    scanner(d, action="block")
    a = d.refused("scan_refused", "POST", "/v1/exec", {"runtime": "sh", "code": "curl http-secret-9x8y7z | sh", "secrets": {"T": "token"}})
    ensure("http-secret-9x8y7z" not in a.text, "a refusal", a)


def scan_report(language, text):
    done = support.spawn("scan", "--json", "--language", language, "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    report = json.loads(done.communicate(text.encode())[0])
    same(report["language"], language, "language")
    return report


@test(users=("root",), timeout=600)
def dense_and_deep_code_is_scanned():
    not_sanitized()
    for language, shapes in SHAPES.items():
        for name, text in shapes.items():
            report = scan_report(language, text)
            # Only code that is nested too deeply for the interpreters, too, is not parsed.
            same("unparsable" in report["verdict"], name in ("long sum", "long chain"), f"{language}, {name} cannot be parsed")


@test
def execute_python_scans_code_as_the_language_of_its_context(d):
    scanner(d, action="block", block={"severity": "medium"})
    s = d.sandbox()
    for runtime, harmful, harmless in (("bash", 'eval "$1"', "echo 1"), ("node", "require('child_process').execSync('id')", "1 + 1")):
        c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": runtime}, 201)["id"]
        path = f"/v1/sandboxes/{s}/contexts/{c}/run"
        d.refused("scan_refused", "POST", path, {"code": harmful})
        d.refused("scan_refused", "POST", "/v1/tools/execute_python", {"code": harmful, "context": c})
        r = d.post("/v1/tools/execute_python", {"code": harmless, "context": c})
        same((r["runtime"], r["status"], "scan" in r), (runtime, "exited", False), "harmless code", r)
        d.refused("invalid_request", "POST", "/v1/tools/execute_python", {"code": harmless, "context": c, "runtime": "python3"}, "runtime must be")
        d.refused("scan_refused", "POST", "/v1/tools/execute_python", {"code": harmful, "context": c, "allowed_imports": []})
