"""Running code: the result object, statuses with their true causes, input, files, bad requests."""

import base64
import contextlib
import json
import os
import re
import resource
import socket
import threading

import support
from daemon import Daemon, begun
from mcp import Http
from support import ensure, is_root, same, test, until

LAYERS = {"user", "pid", "mount", "net", "ipc", "uts", "cgroup", "seccomp", "landlock", "egress"}


def check_result(r, streamed=False):
    """The object has exactly the fields of a result."""
    number = (int, float)
    types = {
        "id": str, "sandbox": str, "runtime": (str, type(None)), "status": str, "exit_code": int,
        "signal": (int, type(None)), "timed_out": bool, "stdout": str, "stderr": str, "stdout_truncated": bool,
        "stderr_truncated": bool, "stdout_bytes": int, "stderr_bytes": int, "duration_ms": number, "usage": dict,
        "results": list, "files": list, "violations": list, "isolation": dict, "hint": (str, type(None)), "cost": number,
    }  # fmt: skip
    if streamed:
        del types["stdout"], types["stderr"]
    extra = set(r) - set(types) - {"files_truncated", "scan"}
    same((set(types) - set(r), extra), (set(), set()), "fields that are missing, fields that are too many")
    for name, kind in types.items():
        ensure(isinstance(r[name], kind) and (kind is bool or not isinstance(r[name], bool)),
               f"{name} is {r[name]!r}, of the wrong type")  # fmt: skip
    ensure(re.fullmatch(r"exe_[a-z2-7]{20}", r["id"]), f"id is {r['id']}")
    ensure(re.fullmatch(r"sbx_[a-z2-7]{20}", r["sandbox"]), f"sandbox is {r['sandbox']}")
    same(set(r["usage"]), {"cpu_ms", "memory_peak_bytes", "processes_peak"}, "fields of usage")
    same(set(r["isolation"]), {"engine", "layers", "missing"}, "fields of isolation")
    same(r["isolation"]["engine"], "native", "engine")
    ensure(set(r["isolation"]["layers"]) <= LAYERS, f"layers are {r['isolation']['layers']}")
    same(r["timed_out"], r["status"] == "timeout", "timed_out")
    same(r["exit_code"], 128 + r["signal"] if r["signal"] else r["exit_code"], "exit code of a signal")
    same(r["cost"], 1.0, "cost")
    return r


@test
def result_has_every_field_of_the_contract(d):
    r = check_result(d.exec("python3", "print('hällo')\nimport sys; sys.stderr.write('e'); open('out.csv','w').write('x'*120)"))
    same((r["status"], r["exit_code"], r["signal"], r["runtime"]), ("exited", 0, None, "python3"), "outcome")
    same((r["stdout"], r["stdout_bytes"], r["stderr"], r["stderr_bytes"]), ("hällo\n", 7, "e", 1), "output")
    same(r["files"], [{"path": "out.csv", "change": "added", "bytes": 120}], "files")
    ensure(r["duration_ms"] > 0 and r["usage"]["cpu_ms"] > 0, "times")
    ensure(r["usage"]["memory_peak_bytes"] > 100000, "memory")
    if is_root():
        ensure(r["usage"]["processes_peak"] >= 1, "processes")
        same(set(r["isolation"]["layers"]) >= {"pid", "mount", "net", "ipc", "uts", "seccomp"}, True, "layers")
    c = check_result(d.post("/v1/exec", {"command": ["printf", "%s", "a b"]}))
    same((c["runtime"], c["stdout"]), (None, "a b"), "a command")


@test
def a_failing_program_is_a_successful_call(d):
    r = check_result(d.exec("sh", "echo out; echo err >&2; exit 3"))
    same((r["status"], r["exit_code"], r["stdout"], r["stderr"]), ("exited", 3, "out\n", "err\n"), "result")
    r = check_result(d.exec("sh", "kill -SEGV $$"))
    same((r["status"], r["signal"], r["exit_code"]), ("signaled", 11, 139), "result")


@test
def runtimes_are_run(d):
    for runtime, code in (("sh", "echo $((6*7))"), ("bash", "a=(1 42); echo ${a[1]}"), ("python3", "print(6*7)"),
                          ("python", "print(42)"), ("node", "console.log(6*7)")):  # fmt: skip
        r = d.exec(runtime, code)
        same((r["stdout"], r["exit_code"]), ("42\n", 0), runtime)


@test
def a_relative_working_directory_begins_in_the_workspace(d, s):
    for where in (None, s):
        for fields in ({"cwd": "sub/dir"}, {"cwd": "./sub/dir/../dir"}, {"work_dir": "sub/dir"}, {"cwd": "/workspace/sub/dir"}):
            r = d.exec("sh", "pwd; cat f", where, files={"sub/dir/f": "x"}, **fields)
            same((r["stdout"], r["exit_code"]), ("/workspace/sub/dir\nx", 0), f"{fields} in {where}", r)
        r = d.ok("POST", "/v1/tools/execute_shell", {"command": "pwd", "files": {"sub/f": ""}, "cwd": "sub"})
        same(r["stdout"], "/workspace/sub\n", "execute_shell", r)
        for cwd in ("tmp", "none", "../tmp", "x" * 4095, "x/" * 2047):
            path = "/v1/exec" if where is None else f"/v1/sandboxes/{where}/exec"
            d.refused("invalid_request", "POST", path, {"runtime": "sh", "code": "x", "cwd": cwd}, "cwd")


@test
def args_stdin_env_and_cwd_reach_the_code(d):
    r = d.exec("sh", 'printf "%s|" "$@"; echo "$COLOUR"; cat; pwd', args=["a b", "", "ü"], stdin="in\n",
               env={"COLOUR": "re d=x"}, cwd="/tmp")  # fmt: skip
    same(r["stdout"], "a b||ü|re d=x\nin\n/tmp\n", "stdout")
    raw = bytes(range(256))
    r = d.exec("python3", "import sys; b=sys.stdin.buffer.read(); sys.stdout.buffer.write(b[::-1])",
               stdin={"base64": base64.b64encode(raw).decode()}, encoding="base64")  # fmt: skip
    same(base64.b64decode(r["stdout"]), raw[::-1], "bytes through")
    same(base64.b64decode(r["stderr"]), b"", "stderr")
    r = d.exec("python3", "import sys; print(len(sys.stdin.read()))", stdin="x" * (3 << 20))
    same(r["stdout"], f"{3 << 20}\n", "a long stdin")
    r = d.exec("sh", "cat; echo end")
    same(r["stdout"], "end\n", "no stdin is an empty one")
    env = d.exec("sh", "env")["stdout"]
    ensure("CELLA" not in env and str(support.home) not in env, f"the daemon's environment shows: {env}")


@test
def arguments_are_the_codes_own(d):
    codes = {"sh": 'IFS="|"; echo "$*"', "bash": 'IFS="|"; echo "$*"', "python3": "import sys; print('|'.join(sys.argv[1:]))",
             "node": "console.log(process.argv.slice(2).join('|'))", "perl": "print join('|', @ARGV), qq(\\n)"}  # fmt: skip
    for runtime, code in codes.items():
        r = d.exec(runtime, code, args=["-v", "--x", "a b"])
        same((r["stdout"], r["stderr"]), ("-v|--x|a b\n", ""), runtime)


@test
def files_are_written_before_the_run(d):
    raw = bytes(range(256))
    r = d.exec("sh", "cat a.txt; cat 'sub dir/ü.txt'; cat /tmp/abs; wc -c < raw.bin; stat -c %a a.txt", files={
        "a.txt": "A", "sub dir/ü.txt": "B", "/tmp/abs": "C", "raw.bin": {"base64": base64.b64encode(raw).decode()},
        "empty": ""})  # fmt: skip
    same(r["stdout"], "ABC256\n644\n", "stdout")
    r = d.exec("sh", "echo more >> a.txt; echo new > b.txt", files={"a.txt": "A"})
    same({(f["path"], f["change"]) for f in r["files"]}, {("a.txt", "modified"), ("b.txt", "added")}, "files")


@test
def files_of_the_request_are_no_changes_however_little_time_passed():
    """Timestamps of files come from a coarse clock; since Linux 6.13, from a finer one if the old timestamp was read."""

    def changes(r):
        return {(f["path"], f["change"]) for f in r["files"]}

    look = "import os; [os.stat(f) for f in os.listdir()]"
    finer = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (6, 13)
    with Daemon() as d:
        # Without volumes, the workspace of a persistent sandbox may be on any file system.
        session = d.sandbox(persistent=is_root() and "limit:disk" not in d.get(f"/v1/sandboxes/{d.sandbox()}")["isolation"]["missing"])
        for i in range(40):
            files = {"a.txt": "A", "sub/../b.txt": "B", "main.py": look}
            r = d.post("/v1/exec", {"command": ["python3", "main.py"], "files": files})
            same(changes(r), set(), f"nothing was changed, turn {i}")
            r = d.exec("sh", "echo more >> a.txt; echo new > c.txt", files=files)
            same(changes(r), {("a.txt", "modified"), ("c.txt", "added")}, f"one was changed, and one is new, turn {i}")
            if not finer:
                continue
            d.put(session, f"x{i}", "x")
            r = d.post(f"/v1/sandboxes/{session}/exec", {"command": ["sh", "-c", f"stat x{i} > /dev/null; echo > y{i}"], "list_files": True})
            same(changes(r), {(f"y{i}", "added")}, f"in a sandbox that lives, turn {i}")


@test
def non_utf8_output_becomes_replacement_characters_or_base64(d):
    code = r"printf 'a\377\300b'"
    same(d.exec("sh", code)["stdout"], "a\ufffd\ufffdb", "as text")
    r = d.exec("sh", code, encoding="base64")
    same((base64.b64decode(r["stdout"]), r["stdout_bytes"]), (b"a\xff\xc0b", 4), "as base64")


@test
def long_output_is_kept_at_both_ends(d):
    r = check_result(d.exec("sh", "echo begin; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end", limits={"output_bytes": 1000}))
    same((r["status"], r["stdout_truncated"], r["stderr_truncated"]), ("exited", True, False), "outcome")
    same(r["stdout_bytes"], 3000011, "bytes in all")
    ensure(r["stdout"].startswith("begin\nxxx") and r["stdout"].endswith("xxx\nend\n"), "both ends")
    ensure(len(r["stdout"]) < 1200, f"{len(r['stdout'])} characters were kept")
    r = d.exec("sh", "yes", limits={"output_bytes": 1000}, on_output_limit="kill")
    same((r["status"], r["hint"]), ("output_limit", "output: 1000 bytes reached; limits.output_bytes, --output"), "status and hint")
    r = d.exec("sh", "yes | head -c 5000", limits={"output_bytes": 0})
    same((r["status"], r["stdout_bytes"], r["stdout_truncated"]), ("exited", 5000, True), "nothing kept")


@test
def statuses_tell_the_true_cause(d):
    r = check_result(begun(d.exec("sh", "echo begun; sleep 60", timeout_ms=2000)))
    same((r["status"], r["timed_out"], r["stdout"]), ("timeout", True, "begun\n"), "timeout")
    same(r["hint"], "timeout: 2 s reached; limits.timeout_ms, --timeout", "the hint")
    r = begun(d.exec("sh", "trap '' TERM; echo begun; while :; do sleep 1; done", limits={"timeout_ms": 2000, "grace_ms": 100}))
    same((check_result(r)["status"], r["signal"]), ("timeout", 9), "timeout that is ignored")
    r = begun(d.exec("sh", "trap 'echo bye; exit 7' TERM; echo begun; sleep 60 & wait", timeout_ms=2000, limits={"grace_ms": 20000}))
    same((check_result(r)["status"], r["exit_code"], r["stdout"]), ("timeout", 7, "begun\nbye\n"), "timeout with a farewell")
    r = check_result(d.exec("sh", "head -c 3000000 /dev/zero > big", limits={"disk_bytes": 1 << 20}))
    same((r["status"], r["hint"]), ("disk_limit", "disk: 1 MiB reached; limits.disk_bytes, --disk"), "disk")
    r = check_result(d.exec("sh", "i=0; while echo > f$i; do i=$((i+1)); done; exit 1", limits={"disk_inodes": 50}))
    same((r["status"], r["hint"]), ("disk_limit", "inodes: 50 reached; limits.disk_inodes, --inodes"), "files")
    for code in ("true", "exit 3", "kill -9 $$"):
        same(d.exec("sh", code)["hint"], None, f"the hint of {code}")


@test
def hints_name_what_raises_a_limit_in_streams_contexts_tools_and_mcp(d, s):
    hint = "timeout: 1500 ms reached; limits.timeout_ms, --timeout"
    with d.events("POST", "/v1/exec", {"runtime": "sh", "code": "sleep 60", "timeout_ms": 1500}) as events:
        same(events.wait("exit")["hint"], hint, "in the event")
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    run = f"/v1/sandboxes/{s}/contexts/{c}/run"
    same(d.ok("POST", run, {"code": "import time; time.sleep(60)", "timeout_ms": 1500})["hint"], hint, "in a context")
    same(d.ok("POST", run, {"code": "1"})["hint"], None, "in a context, without a limit")
    # A tool has arguments of its own, and no options.
    hint = "timeout: 1500 ms reached; timeout_ms, or the setting limits.timeout_ms"
    for tool, code in (("execute_shell", {"command": "sleep 60"}), ("execute_python", {"code": "import time; time.sleep(60)"}), ("execute_docker", {"image": "host", "command": "sleep 60"})):
        same(d.ok("POST", f"/v1/tools/{tool}", {**code, "timeout_ms": 1500})["hint"], hint, tool)
    fills = {"command": "i=0; while echo > f$i; do i=$((i+1)); done; exit 1"}
    d.ok("PATCH", "/v1/settings", {"limits": {"disk_inodes": 50}}, unix=True)
    same(d.ok("POST", "/v1/tools/execute_shell", fills)["hint"], "inodes: 50 reached; the setting limits.disk_inodes", "no argument of the tool")
    d.ok("PATCH", "/v1/settings", {"limits": {"disk_inodes": 65536}}, unix=True)
    r = Http(d).tool("execute_shell", command="sleep 60", timeout_ms=1500)
    same((r["structuredContent"]["hint"], json.loads(r["content"][0]["text"])["hint"]), (hint, hint), "over MCP")


@test(users=["root"])
def usage_is_reported_for_killed_runs_too(d):
    """No process inside is left to report it, and the children it had waited for are gone."""
    stay = """import os, resource, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def used():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) * 1000
def burn():
    begun = time.process_time()
    while time.process_time() - begun < 0.2: pass
before = used()  # the interpreter may have been started before the execution
"""
    say = "print(used() - before, flush=True)\n"

    def check(r, who):
        burnt = float(r["stdout"].split()[0])
        ensure(burnt >= 195 and burnt - 20 <= r["usage"]["cpu_ms"] < burnt + 800 * support.slack, f"{who} used {burnt} ms: {r['usage']}")

    codes = {"itself": "burn()\n", "a child": "if os.fork() == 0:\n    burn()\n    os._exit(0)\nos.wait()\n"}
    for who, code in codes.items():
        r = begun(d.exec("python3", stay + code + say + "time.sleep(60)", timeout_ms=int(2000 * support.slack), limits={"grace_ms": 10}))
        same((r["status"], r["signal"]), ("timeout", 9), who)
        check(r, who)
    r = d.exec("python3", stay + "burn()\n" + say + "while True: print('x' * 1000)", on_output_limit="kill", limits={"output_bytes": 65536})
    same(r["status"], "output_limit", "status")
    check(r, "one that prints")


@test
def the_promised_deadline_is_kept(d):
    """Timeout, grace time and 200 ms, by the daemon's own clock."""
    codes = {"sh": "trap '' TERM; echo begun; while :; do sleep 1; done", "bash": "trap '' TERM; yes",
             "python3": "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('begun', flush=True)\nwhile True: pass"}  # fmt: skip
    for sandbox in (None, d.sandbox()):
        for runtime, code in codes.items():
            with support.Stalls() as stalls:
                r = begun(d.exec(runtime, code, sandbox, limits={"timeout_ms": 2000, "grace_ms": 200}))
            same((r["status"], r["signal"]), ("timeout", 9), f"the end of {runtime}", r)
            ensure(r["duration_ms"] >= 2200, f"{runtime} had no grace time", r)
            support.within(r["duration_ms"] / 1000, 2 + 0.2 + 0.2 * support.crowd() + stalls.seconds, runtime, r)


@test(users=["root"])
def statuses_of_limits_that_need_control_groups(d):
    r = check_result(d.exec("python3", "x = bytearray(200 << 20); print(len(x))", limits={"memory_bytes": 64 << 20}))
    same((r["status"], r["signal"]), ("memory_limit", 9), "memory")
    same(r["hint"], "memory: 64 MiB reached; limits.memory_bytes, --memory", "the hint")
    r = check_result(d.exec("sh", "for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; wait", limits={"processes": 4}))
    same((r["status"], r["hint"]), ("process_limit", "processes: 4 reached; limits.processes, --processes"), "processes")
    r = check_result(d.exec("sh", "while :; do :; done", limits={"cpu_time_ms": 100}))
    same((r["status"], r["hint"]), ("cpu_limit", "cpu-time: 100 ms reached; limits.cpu_time_ms, --cpu-time"), "CPU time")
    # The same in a persistent sandbox, which survives it.
    sandbox = d.sandbox(limits={"memory_bytes": 64 << 20, "processes": 16})
    r = d.exec("python3", "x = bytearray(200 << 20)", sandbox)
    same(r["status"], "memory_limit", "memory, in a sandbox that lives")
    r = d.exec("sh", "for i in $(seq 30); do sleep 3 & done; wait", sandbox)
    same(r["status"], "process_limit", "processes, in a sandbox that lives")
    r = d.exec("sh", "while :; do :; done", sandbox, limits={"cpu_time_ms": 100})
    same(r["status"], "cpu_limit", "CPU time, in a sandbox that lives")
    r = d.exec("sh", "echo fine", sandbox)
    same((r["status"], r["stdout"]), ("exited", "fine\n"), "what comes after")


@test
def every_execution_without_a_session_gets_a_fresh_sandbox(d):
    a = d.exec("sh", "echo a > f; ls")
    b = d.exec("sh", "ls")
    same((a["stdout"], b["stdout"]), ("f\n", ""), "stdout")
    ensure(a["sandbox"] != b["sandbox"], "the same sandbox twice")
    same(d.get("/v1/sandboxes"), {"sandboxes": []}, "sandboxes that are left")
    d.refused("not_found", "GET", f"/v1/sandboxes/{a['sandbox']}")


@test(tcp=False)
def the_same_over_the_unix_socket(d):
    r = check_result(d.exec("sh", "echo hi"))
    same(r["stdout"], "hi\n", "stdout")
    same(d.get("/healthz"), {"status": "ok"}, "health")


@test
def a_connection_is_used_again(d):
    c = d.connection()
    for i in range(5):
        c.request("POST", "/v1/exec", json.dumps({"runtime": "sh", "code": f"echo {i}"}))
        r = c.getresponse()
        same((r.status, json.loads(r.read())["stdout"]), (200, f"{i}\n"), "answer")
    c.request("GET", "/nowhere")
    same((c.getresponse().read() and None, None), (None, None), "404 keeps the connection")
    c.close()


@test
def concurrent_executions_are_not_mixed_up(d):
    wrong, lock = [], threading.Lock()

    def client(n):
        for i in range(4):
            nonce = f"{n}-{i}"
            r = d.exec("sh", f"echo {nonce}; cat", stdin=nonce)
            if r["stdout"] != f"{nonce}\n{nonce}":
                with lock:
                    wrong.append(r)

    threads = [threading.Thread(target=client, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    same(wrong, [], "wrong results")


# ---- refused requests ----


BAD = [  # body, text that the message must contain
    ({}, ["runtime"]),
    ({"runtime": "sh"}, ["code"]),
    ({"code": "x"}, ["runtime"]),
    ({"runtime": "sh", "code": "x", "command": ["ls"]}, ["command"]),
    ({"command": ["ls"], "args": ["x"]}, ["command", "args"]),
    ({"runtime": "sh", "code": "x", "colour": 1}, ["unknown field", "colour"]),
    ({"runtime": "sh", "code": "x", "timeout": 1}, ["unknown field", "timeout"]),
    ({"runtime": 7, "code": "x"}, ["runtime"]),
    ({"runtime": "", "code": "x"}, ["runtime"]),
    ({"runtime": "sh", "code": ["x"]}, ["code"]),
    ({"command": "ls"}, ["command"]),
    ({"command": []}, ["command"]),
    ({"command": ["ls", 7]}, ["command[1]"]),
    ({"command": ["ls\0x"]}, ["command[0]"]),
    ({"runtime": "sh", "code": "x", "args": [None]}, ["args[0]"]),
    ({"runtime": "sh", "code": "x", "stdin": 7}, ["stdin"]),
    ({"runtime": "sh", "code": "x", "stdin": {"base64": "%%%"}}, ["stdin", "base64"]),
    ({"runtime": "sh", "code": "x", "stdin": {"hex": "00"}}, ["stdin"]),
    ({"runtime": "sh", "code": "x", "env": ["A=b"]}, ["env"]),
    ({"runtime": "sh", "code": "x", "env": {"A": 1}}, ["env.A"]),
    ({"runtime": "sh", "code": "x", "env": {"A=B": "1"}}, ["env", "A=B"]),
    ({"runtime": "sh", "code": "x", "env": {"": "1"}}, ["env"]),
    ({"runtime": "sh", "code": "x", "files": {"a": 7}}, ["files"]),
    ({"runtime": "sh", "code": "x", "files": {"": "x"}}, ["files"]),
    ({"runtime": "sh", "code": "x", "files": {"a": {"base64": "x"}}}, ["files", "base64"]),
    ({"runtime": "sh", "code": "x", "timeout_ms": 0}, ["timeout_ms"]),
    ({"runtime": "sh", "code": "x", "timeout_ms": -5}, ["timeout_ms"]),
    ({"runtime": "sh", "code": "x", "timeout_ms": 1.5}, ["timeout_ms"]),
    ({"runtime": "sh", "code": "x", "timeout_ms": "5s"}, ["timeout_ms"]),
    ({"runtime": "sh", "code": "x", "timeout_ms": 10**15}, ["timeout_ms"]),
    ({"runtime": "sh", "code": "x", "timeout_ms": True}, ["timeout_ms"]),
    ({"runtime": "sh", "code": "x", "limits": {"memory_bytes": 1}}, ["limits.memory_bytes"]),
    ({"runtime": "sh", "code": "x", "limits": {"memory": 1 << 30}}, ["unknown field", "memory", "limits"]),
    ({"runtime": "sh", "code": "x", "limits": {"cpus": 0}}, ["limits.cpus"]),
    ({"runtime": "sh", "code": "x", "limits": {"processes": 0}}, ["limits.processes"]),
    ({"runtime": "sh", "code": "x", "limits": 5}, ["limits"]),
    ({"runtime": "sh", "code": "x", "encoding": "latin1"}, ["encoding", "utf-8", "base64"]),
    ({"runtime": "sh", "code": "x", "on_output_limit": "stop"}, ["on_output_limit"]),
    ({"runtime": "sh", "code": "x", "detach": "yes"}, ["detach"]),
    ({"runtime": "sh", "code": "x", "network": {"tier": "all"}}, ["network.tier"]),
    ({"runtime": "sh", "code": "x", "network": {"tiers": "all"}}, ["tiers", "network"]),
    ({"runtime": "sh", "code": "x", "scope": "mine"}, ["scope"]),
    ({"runtime": "sh", "code": "x", "scope": "session"}, ["session"]),
    ({"runtime": "sh", "code": "x", "scope": "agent"}, ["agent"]),
    ({"runtime": "sh", "code": "x", "session": ""}, ["session"]),
    ({"runtime": "sh", "code": "x", "session": "s" * 129}, ["session"]),
    ({"runtime": "sh", "code": "x", "workspace": "rwx"}, ["workspace"]),
    ({"runtime": "sh", "code": "x", "workspace": "rw"}, ["agent"]),
    ({"runtime": "sh", "code": "x", "workspace": "rw", "agent": "a"}, ["workspace_root"]),
    ([], ["object"]),
    ("text", ["object"]),
    (None, []),
]


@test
def invalid_requests_name_the_field_and_run_nothing(d):
    c = d.connection()
    for body, parts in BAD:
        c.request("POST", "/v1/exec", json.dumps(body))
        r = c.getresponse()
        text = r.read()
        error = json.loads(text)["error"]
        same((r.status, error["kind"]), (400, "invalid_request"), f"the answer to {body}: {text}")
        for part in parts:
            ensure(part in error["message"], f"{body}: the message does not say {part!r}: {error}")
    c.close()
    for body in (b"", b"{", b'{"runtime": "sh", "code": "x"', b'{"runtime":"sh","runtime":"sh","code":"x"}',
                 b"\xff\xfe", b'{"runtime":"sh","code":"\xff"}', b"[" * 100000, b"null", b'{"a":1}x'):  # fmt: skip
        d.refused("invalid_request", "POST", "/v1/exec", body)
    same(d.rows(), [], "executions in the log")
    same(d.get("/v1/sandboxes")["sandboxes"], [], "sandboxes")


@test
def in_a_sandbox_only_its_own_limits_may_be_lowered(d):
    s = d.sandbox(limits={"timeout_ms": 5000})
    path = f"/v1/sandboxes/{s}/exec"
    code = {"runtime": "sh", "code": "echo x"}
    d.refused("invalid_request", "POST", path, {**code, "limits": {"memory_bytes": 64 << 20}}, ["limits.memory_bytes"])
    d.refused("invalid_request", "POST", path, {**code, "limits": {"timeout_ms": 6000}}, ["limits.timeout_ms"])
    d.refused("invalid_request", "POST", path, {**code, "timeout_ms": 6000}, ["timeout_ms"])
    for field in ("session", "agent", "scope", "workspace", "image"):
        d.refused("invalid_request", "POST", path, {**code, field: "host"}, ["unknown field", field])
    same(d.post(path, {**code, "limits": {"timeout_ms": 4000, "grace_ms": 10, "output_bytes": 1}})["exit_code"], 0, "exit code")


@test
def a_missing_runtime_or_command_is_reported(d):
    a = d.refused("runtime_not_found", "POST", "/v1/exec", {"runtime": "cobol", "code": "x"}, "runtime not found: cobol")
    ensure(a.json()["error"].get("hint"), "there is a hint", a)
    a = d.request("POST", "/v1/exec", {"command": ["no-such-program"]})
    ensure(a.status in (404, 422) and "no-such-program" in a.text, "a command that is not there", a)
    s = d.sandbox()
    d.refused("runtime_not_found", "POST", f"/v1/sandboxes/{s}/exec", {"runtime": "cobol", "code": "x"}, "runtime not found: cobol")
    same(d.exec("sh", "echo still", s)["stdout"], "still\n", "the sandbox afterwards")


@test
def a_missing_directory_is_reported(d):
    a = d.request("POST", "/v1/exec", {"runtime": "sh", "code": "x", "cwd": "/no/where"})
    ensure(400 <= a.status < 500 and "/no/where" in a.text, "the answer", a)


@test(settings={"images": {"pull": "never"}})
def a_request_for_a_missing_image_is_refused(d):
    d.refused("not_found", "POST", "/v1/exec", {"runtime": "sh", "code": "x", "image": "debian:12"}, "debian:12")
    d.refused("not_found", "POST", "/v1/sandboxes", {"image": "debian:12"}, "debian:12")
    same(d.exec("sh", "echo x", image="host")["stdout"], "x\n", "the image host")


@test
def tiers_are_at_most_the_settings(d):
    # The settings say restricted: a request cannot get more.
    d.refused("access_denied", "POST", "/v1/exec", {"runtime": "sh", "code": "x", "network": {"tier": "standard"}}, "access denied: network.tier standard")
    d.ok("PATCH", "/v1/settings", {"network": {"tier": "elevated"}})
    for tier in ("restricted", "sandbox", "standard", "elevated", "unrestricted"):
        same(d.exec("sh", "echo x", network={"tier": tier})["stdout"], "x\n", tier)


@test
def bodies_that_are_too_large_are_refused_with_413(d):
    # With Expect, the body is refused before it is sent.
    with d.socket() as s:
        s.sendall(b"POST /v1/exec HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1073741824\r\nExpect: 100-continue\r\n\r\n")
        first = s.recv(4096)
        ensure(first.startswith(b"HTTP/1.1 413"), f"the answer begins {first[:80]!r}")
        ensure(b'"too_large"' in first or b'"too_large"' in s.recv(4096), "kind")

    def endless():
        for _ in range(40):
            yield b"x" * (1 << 20)

    c = d.connection()
    try:
        c.request("POST", "/v1/exec", endless(), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
        r = c.getresponse()
        same((r.status, json.loads(r.read())["error"]["kind"]), (413, "too_large"), "the answer to 40 MiB")
    except (BrokenPipeError, ConnectionResetError):
        pass  # the answer came while the client was still sending
    finally:
        c.close()
    code = "# " + "x" * (3 << 20) + "\nprint('ok')"
    same(d.exec("python3", code)["stdout"], "ok\n", "3 MiB of code")
    d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "#" * (5 << 20)}, "code")


@test
def requests_that_are_no_http_do_no_harm(d):
    for bytes_ in (b"\0\1\2\3\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
                   b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
                   b"POST /v1/exec HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
                   b"POST /v1/exec HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):  # fmt: skip
        with d.socket(timeout=10) as s, contextlib.suppress(OSError):
            s.sendall(bytes_)
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
    same(d.exec("sh", "echo alive")["stdout"], "alive\n", "afterwards")


@test
def a_client_that_goes_away_ends_its_execution(d):
    seconds = support.nonce_seconds()
    c = d.connection()
    c.request("POST", "/v1/exec", json.dumps({"command": ["sleep", seconds]}))
    until(lambda: support.with_argument(seconds), 20, "the process")
    c.close()
    support.gone(seconds)
    row = until(lambda: d.rows(), 20, "a row in the log")[0]
    same(row["status"], "cancelled", "status in the log")


@test
def a_detached_execution_continues_without_its_client(d):
    a = d.post("/v1/exec", {"runtime": "sh", "code": "sleep 0.3; echo done", "detach": True}, 202)
    same((set(a), a["status"]), ({"id", "sandbox", "status"}, "running"), "the answer")
    running = d.get(f"/v1/executions/{a['id']}")
    ensure(running["status"] in ("running", "exited"), f"status is {running['status']}")
    row = until(lambda: (x := d.get(f"/v1/executions/{a['id']}"))["status"] != "running" and x, 20, "its end")
    same((row["status"], row["stdout"]), ("exited", "done\n"), "the log")


@test
def a_half_sent_request_delays_no_other_client(d):
    with d.socket() as s:
        s.sendall(b"POST /v1/exec HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        same(d.exec("sh", "echo others")["stdout"], "others\n", "others")
    same(d.exec("sh", "echo after")["stdout"], "after\n", "afterwards")


@test(users=["user"])
def descriptors_in_flight_of_code_do_not_count_for_the_daemon():
    """The kernel counts descriptors in flight by user, and refuses more than the user's limit of open files.  Code with the uid of the
    daemon must reach that limit before the daemon does."""
    code = r"""
import array, errno, socket, time
kept, sent = [], 0
try:
    while sent < 4096:
        a, b = socket.socketpair()
        kept += a, b
        for _ in range(4):
            a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 50))])
            sent += 50
except OSError as e:
    print(errno.errorcode[e.errno], flush=True)
time.sleep(60)
"""
    few = (1024, 1024)
    with Daemon(before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few)) as d:
        with d.events("POST", "/v1/exec", {"runtime": "python3", "code": code, "limits": {"open_files": 4096}}) as e:
            same(e.read_until("\n"), "ETOOMANYREFS\n", "what the code met")
            for _ in range(20):
                same(d.exec("sh", "echo hi")["stdout"], "hi\n", "another execution")


# Names that other systems use.


@test(users=["root"])  # an ordinary user has no control group for these limits
def synonyms_of_other_systems_are_accepted(d):
    r = d.post("/v1/exec", {"language": "python", "code": "import os; print(os.getcwd())", "work_dir": "/tmp", "timeout_seconds": 20.5,
                            "max_memory_mb": 64, "cpu_limit": 0.5, "network_enabled": False})  # fmt: skip
    same((r["runtime"], r["stdout"], r["exit_code"]), ("python3", "/tmp\n", 0), "a run")
    same(d.post("/v1/exec", {"language": "javascript", "code": "console.log(6 * 7)"})["stdout"], "42\n", "another name of node")
    s = d.post("/v1/sandboxes", {"memory_limit": "96m", "cpu_limit": 0.5, "timeout_seconds": 30, "network_enabled": False}, 201)
    have = {k: s["limits"][k] for k in ("memory_bytes", "cpus", "timeout_ms")}
    same(have, {"memory_bytes": 96 << 20, "cpus": 0.5, "timeout_ms": 30000}, "limits of a sandbox")
    same(d.post(f"/v1/sandboxes/{s['id']}/exec", {"language": "sh", "code": "pwd", "work_dir": "/"})["stdout"], "/\n", "in a sandbox")
    for size, n in (("64M", 64 << 20), ("64mb", 64 << 20), ("0.125G", 128 << 20), ("67108864", 64 << 20)):
        same(d.post("/v1/sandboxes", {"memory_limit": size}, 201)["limits"]["memory_bytes"], n, size)
    same(d.post("/v1/exec", {"runtime": "sh", "code": "sleep 60", "timeout_seconds": 0.2})["status"], "timeout", "a time limit")


OTHER_NAMES = [("language", 7), ("language", ""), ("work_dir", "x\0"), ("timeout_seconds", 0), ("timeout_seconds", "1"), ("timeout_seconds", 700000), ("max_memory_mb", 1),
               ("max_memory_mb", 64.5), ("memory_limit", "1m"), ("memory_limit", "lots"), ("memory_limit", 512), ("memory_limit", "-5m"), ("cpu_limit", 0), ("cpu_limit", "1"),
               ("network_enabled", "yes")]  # fmt: skip


@test
def bad_values_of_synonyms_are_refused_by_their_name(d):
    for name, value in OTHER_NAMES:
        d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "touch ran", "session": "s", name: value}, name)
        if name not in ("language", "work_dir"):
            d.refused("invalid_request", "POST", "/v1/sandboxes", {name: value}, name)
            if name != "network_enabled":
                d.refused("invalid_request", "POST", "/v1/tools/execute_shell", {"command": "touch ran", name: value}, name)
    for one, other in (({"language": "sh"}, {"runtime": "sh"}), ({"work_dir": "/"}, {"cwd": "/"}), ({"timeout_seconds": 1}, {"timeout_ms": 1000}),
                       ({"max_memory_mb": 64}, {"limits": {"memory_bytes": 64 << 20}}), ({"max_memory_mb": 64}, {"memory_limit": "64m"})):  # fmt: skip
        body = {"runtime": "sh", "code": "touch ran", "session": "s", **one, **other}
        d.refused("invalid_request", "POST", "/v1/exec", body, "cannot be combined")
    same([s for s in d.get("/v1/sandboxes")["sandboxes"] if s["session"] == "s"], [], "sandboxes")
    d.refused("access_denied", "POST", "/v1/exec", {"runtime": "sh", "code": "x", "network_enabled": True}, "network.enabled")
    d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "x", "network": {"tier": "restricted", "enabled": True}}, "network.enabled")


@test(users=["root"])  # an ordinary user has no control group for these limits
def tools_accept_the_synonyms(d):
    r = d.post("/v1/tools/sandbox.exec", {"language": "python", "code": "print(6*7)", "timeout_seconds": 20})
    same(r["stdout"], "42\n", "sandbox.exec")
    r = d.post("/v1/tools/execute_shell", {"command": "pwd", "work_dir": "/tmp", "max_memory_mb": 64, "cpu_limit": 0.5, "network_enabled": False, "session": "t"})
    same(r["stdout"], "/tmp\n", "execute_shell")
    limits = d.get(f"/v1/sandboxes/{r['sandbox']}")["limits"]
    same((limits["memory_bytes"], limits["cpus"]), (64 << 20, 0.5), "limits")
    r = d.post("/v1/tools/execute_python", {"code": "6*7", "memory_limit": "128m", "timeout_seconds": 30})
    same(r["results"][0]["data"], "42", "execute_python")
    for name in ("language", "timeout_seconds", "memory_limit", "work_dir"):
        listed = next(t for t in d.get("/v1/tools")["tools"] if t["name"] == "sandbox.exec")["input_schema"]["properties"]
        ensure(name not in listed, "models see one name for each thing", str(listed))
    d.refused("invalid_request", "POST", "/v1/tools/sandbox.exec", {"runtime": "sh", "code": "x", "work_dir": "/"}, "work_dir")
