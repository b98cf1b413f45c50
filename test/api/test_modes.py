"""Modes: which code runs on the host instead of in a sandbox, which keys may do that, and which limits still apply."""

import os
import re
import time

import support
from support import ensure, gone, is_root, same, test, until

HARMLESS = "x = sum(range(10))\nprint(x)"
RISKY = "import subprocess\nprint(subprocess.run(['echo', 'hi'], capture_output=True).stdout)"
ALL = ["sandbox.exec", "sandbox.manage", "files", "host.exec"]


def mode(d, word):
    d.ok("PATCH", "/v1/settings", {"mode": word}, unix=True)


def where(r):
    return r["isolation"]["engine"]


def run(d, code, runtime="python3", **more):
    return d.post("/v1/exec", {"runtime": runtime, "code": code, **more})


@test
def each_mode_for_risky_and_harmless_code(d):
    may, may_not = (d.new_key(capabilities=c)["key"] for c in (ALL, ["sandbox.exec", "sandbox.manage"]))
    wanted = {"all": ("native", "native"), "selective": ("host", "native"), "off": ("host", "host")}
    for word, places in wanted.items():
        mode(d, word)
        for code, place in zip((HARMLESS, RISKY), places):
            body = {"runtime": "python3", "code": code}
            for key in (None, may):
                r = d.post("/v1/exec", body, key=key, unix=key is None)
                same((where(r), r["status"], r["exit_code"]), (place, "exited", 0), f"{word}: {code}")
                same("reason" in r["isolation"], word != "all", f"{word}: a reason")
            if place == "host":
                d.refused("access_denied", "POST", "/v1/exec", body, "access denied: host.exec", key=may_not)
            else:
                same(where(d.post("/v1/exec", body, key=may_not)), "native", "without the right")
    mode(d, "selective")
    d.key = may
    same(run(d, RISKY)["isolation"]["reason"], "sandbox: controls_processes", "the reason")
    same(run(d, HARMLESS)["isolation"]["reason"], "host: nothing risky was found", "the reason")
    for body, reason in (({"command": ["ls"]}, "sandbox: unknown_language"), ({"command": ["sh", "-c", "echo 1"]}, "host: "), ({"runtime": "python3", "code": "("}, "sandbox: unparsable"),
                         ({"command": ["/tmp/sh", "-c", "echo 1"]}, ""), ({"command": ["bash", "--norc", "x"]}, "sandbox: unknown"), ({"command": ["bash", "-oc", "pipefail", "id"]}, "sandbox: unknown"),
                         ({"command": ["/bin/sh", "-ec", "echo 1"]}, "host: "), ({"runtime": "sh", "code": "sh", "stdin": "id"}, "sandbox: "), ({"runtime": "sh", "code": ". /dev/stdin", "stdin": "id"}, "sandbox: "),
                         ({"runtime": "sh", "code": '"$@"', "args": ["id"]}, "sandbox: "), ({"runtime": "sh", "code": "xargs id", "stdin": "x"}, "sandbox: "),
                         ({"runtime": "python3", "code": "import x", "files": {"x.py": RISKY}}, "sandbox: files"), ({"runtime": "sh", "code": "echo 1", "env": {"BASH_ENV": "x"}}, "sandbox: env"),
                         ({"runtime": "sh", "code": "echo 1", "cwd": "/tmp"}, "sandbox: cwd"), ({"runtime": "sh", "code": "frobnicate 1"}, "sandbox: a command that is not known"), ({"runtime": "sh", "code": "curl http://x"}, "sandbox: uses_network"),
                         ({"runtime": "python3", "code": "x = 1\n" * 5000}, "sandbox: code that is too long"), ({"runtime": "python3", "code": "x = 1\n" * 1300}, "host: nothing risky was found"),
                         ({"runtime": "python3", "code": "x = 1\n" * 1300 + "import subprocess"}, "sandbox: controls_processes"), ({"runtime": "sh", "code": "echo 1", "network": {"tier": "restricted"}}, "sandbox: network"),
                         ({"runtime": "sh", "code": "echo 1", "image": "host"}, "sandbox: image"), ({"runtime": "sh", "code": "echo 1", "workspace": "none"}, "sandbox: workspace")):  # fmt: skip
        a = d.request("POST", "/v1/exec", body)
        if not reason:  # a sandbox has no such program, and the host was not asked
            same((a.status, a.json()["error"]["kind"]), (404, "not_found"), f"{body}", a)
            continue
        r = a.json()
        ensure(r["isolation"]["reason"].startswith(reason), f"{body} gives {r['isolation']}")
        same(where(r), reason.split(":")[0].replace("sandbox", "native"), f"where {body} runs")


@test(settings={"mode": "off"})
def sessions_contexts_and_sandboxes_always_use_a_sandbox(d):
    same(where(run(d, HARMLESS, session="s")), "native", "a session")
    same(where(run(d, HARMLESS, agent="a")), "native", "an agent")
    same(where(run(d, HARMLESS, scope="shared")), "native", "a shared one")
    s = d.sandbox()
    same(where(d.exec("python3", HARMLESS, sandbox=s)), "native", "a sandbox")
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    same(where(d.post(f"/v1/sandboxes/{s}/contexts/{c}/run", {"code": "1"})), "native", "a context")
    same(where(run(d, HARMLESS)), "host", "one of its own")
    r = d.post("/v1/tools/execute_shell", {"command": "echo 1"})
    same(where(r), "host", "a tool")
    for more in ({"network": {"tier": "restricted"}}, {"image": "host"}, {"workspace": "none"}, {"limits": {"disk_bytes": 1 << 20}}):
        d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "echo x", **more}, [next(iter(more)), "the mode is 'off'"])


@test(settings={"mode": "off"})
def the_reported_isolation_is_the_actual_one(d):
    for _ in range(2):
        r = run(d, "import os\nprint(os.getuid(), os.getcwd(), os.path.exists('/proc/1/comm'), open('/proc/1/comm').read().strip())\nprint(len(os.listdir('/etc')))")
        i = r["isolation"]
        same((i["engine"], i["reason"]), ("host", "host: the mode is off"), "where")
        same(set(i["layers"]) <= {"pid", "cgroup"} and "pid" in i["layers"], True, f"layers {i['layers']}")
        ensure(set(i["missing"]) >= {"user", "mount", "net", "ipc", "uts", "seccomp", "landlock", "limit:disk"}, f"missing {i['missing']}")
        ensure("limit:memory" not in i["missing"] if is_root() else True, f"missing {i['missing']}")
        uid = int(r["stdout"].split()[0])
        if is_root():  # files left on the host, for example in /tmp, belong to an unused uid
            others = [int(run(d, "import os; print(os.getuid())")["stdout"]) for _ in range(20)]
            same(len({uid, *others}), 21, "different uids", others)
        ensure(uid not in (0, 1000) if is_root() else uid == os.getuid(), f"it runs as {uid}")
        same(int(r["stdout"].split()[-1]), len(os.listdir("/etc")), "the host's files")
        # pip must not change the packages of the machine.
        same(run(d, "import os; print(os.environ.get('PIP_BREAK_SYSTEM_PACKAGES'))")["stdout"], "None\n", "pip's variable")
    r = run(d, "print(open('/etc/shadow').read())")
    same((r["exit_code"], "Permission" in r["stderr"]), (1, True), "root's files")
    with open(os.path.join(support.home, "mine"), "w") as f:
        f.write("it")
    os.chmod(support.home, 0o755)
    os.chmod(f.name, 0o644)
    same(run(d, f"print(open({f.name!r}).read())")["stdout"], "it\n", "a file of the host")
    if is_root():
        os.chmod(f.name, 0o600)
        same(run(d, f"print(open({f.name!r}).read())")["exit_code"], 1, "one that is only its owner's")
    links = sorted(os.listdir("/sys/class/net"))
    same(run(d, "import os\nprint(sorted(os.listdir('/sys/class/net')))")["stdout"], f"{links}\n", "the host's network")


@test(settings={"mode": "off"})
def a_host_workspace_is_private_and_removed_after_the_run(d):
    word = support.nonce_seconds()
    r = run(d, f"open('kept', 'w').write('{word}')\nprint(__import__('os').listdir('.'))")
    same([f["path"] for f in r["files"]], ["kept"], "files")
    same(run(d, "import os; print('kept' in os.listdir('/workspace'))")["stdout"], "False\n", "the next one's")
    ensure(not os.path.exists("/workspace/kept") and not os.path.exists("/run/main.py"), "nothing is left on the host")
    same(run(d, "print(open('data.txt').read(), __file__)", files={"data.txt": "x"})["stdout"].split()[0], "x", "files that are given")
    r = run(d, "print(open('main.py').read())", files={"main.py": "mine"})
    same((r["stdout"], [f["path"] for f in r["files"] if f["path"] != "main.py"]), ("mine\n", []), "a main.py of the caller's")
    r = run(d, "console.log(6 * 7, __filename)", "node")
    ensure("/run/" not in r["stdout"], "the code's file", str(r))
    r = run(d, "x" * 200000 + "=1\nprint('long')")
    same((r["stdout"], where(r)), ("long\n", "host"), "long code")
    ensure(not [n for n in os.listdir("/run") if n.startswith("main")], "a file in /run")


@test(timeout=60, settings={"mode": "off"})
def limits_hold_on_the_host(d):
    word = support.nonce_seconds()
    begun = time.monotonic()
    r = run(d, f"setsid sh -c 'trap \"\" TERM; sleep {word}' & sleep {word}", "sh", limits={"timeout_ms": 500, "grace_ms": 100})
    same((r["status"], where(r)), ("timeout", "host"), "a time-out")
    support.within(time.monotonic() - begun, 20, "its end")
    gone(word)
    r = run(d, f"setsid sleep {word} > /dev/null 2>&1 & (setsid setsid sleep {word} &) ; echo out", "sh")
    same((r["status"], r["stdout"]), ("exited", "out\n"), "one that leaves children")
    gone(word)
    if is_root():
        same(run(d, "x = bytearray(200 << 20)", limits={"memory_bytes": 64 << 20})["status"], "memory_limit", "memory")
        r = run(d, "import os\ntry:\n    for i in range(100):\n        if os.fork() == 0: __import__('time').sleep(9)\nexcept OSError: print('no more', flush=True); os._exit(7)", limits={"processes": 16})
        same((r["stdout"], r["exit_code"]), ("no more\n", 7), "processes")
    r = run(d, "yes", "sh", limits={"output_bytes": 4096}, on_output_limit="kill")
    same(r["status"], "output_limit", "output")
    r = run(d, "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])", limits={"open_files": 77})
    same(r["stdout"], "77\n", "open files")
    r = run(d, "import os\nprint(os.system('su -c id root < /dev/null 2>/dev/null') != 0, open('/proc/self/status').read().count('NoNewPrivs:\\t1'))")
    same(r["stdout"], "True 1\n", "no new privileges")


@test(settings={"mode": "off"})
def the_end_of_the_daemon_ends_code_on_the_host(d):
    for how in ("keeper", "server"):
        word = support.nonce_seconds()
        d.post("/v1/exec", {"runtime": "sh", "code": f"setsid sleep {word} & sleep {word}", "detach": True}, 202)
        until(lambda w=word: support.with_argument(w), 20, "the code")
        d.kill(how)
        gone(word)
        d.start()
    word = support.nonce_seconds()
    d.post("/v1/exec", {"runtime": "sh", "code": f"sleep {word}", "detach": True}, 202)
    until(lambda: support.with_argument(word), 20, "the code")
    d.stop()
    gone(word)


@test
def the_mode_needs_the_right_to_change_settings(d):
    key = d.new_key(capabilities=ALL)["key"]
    for method in ("PATCH", "PUT"):
        d.refused("access_denied", method, "/v1/settings", {"mode": "off"}, "access denied: settings", key=key)
    for bad in ("on", "", 7, "OFF", ["off"]):
        d.refused("invalid_request", "PATCH", "/v1/settings", {"mode": bad}, "mode", unix=True)
    same(d.get("/v1/settings", unix=True)["mode"], "all", "the mode")
    listed = d.new_key(name="plain")
    ensure("host.exec" not in listed["capabilities"], "no key has it by default", str(listed))
    mode(d, "off")
    d.restart()
    same(d.get("/v1/settings", unix=True)["mode"], "off", "after a restart")
    ensure(re.search("host", d.post("/v1/exec", {"runtime": "sh", "code": "echo 1"}, key=key)["isolation"]["engine"]), "it holds")


@test(settings={"mode": "off"})
def secrets_and_streams_work_on_the_host(d):
    d.ok("PUT", "/v1/secrets/token", {"value": "host-side-value"}, 201)
    body = {"runtime": "sh", "code": "echo $TOKEN; cat", "stdin": "in", "secrets": {"TOKEN": "token"}}
    same(d.post("/v1/exec", body)["stdout"], "***\nin", "output")
    with d.events("POST", "/v1/exec", body) as events:
        text, end = events.text()
    same((text, where(end)), ("***\nin", "host"), "events")


@test
def tools_follow_the_mode(d):
    may_not = d.new_key(capabilities=["sandbox.exec", "sandbox.manage"])["key"]
    wanted = {"all": ("native", "native"), "selective": ("host", "native"), "off": ("host", "host")}
    for word, places in wanted.items():
        mode(d, word)
        for code, place in zip((HARMLESS, RISKY), places):
            r = d.post("/v1/tools/execute_python", {"code": code}, unix=True)
            same((where(r), r["status"], r["exit_code"]), (place, "exited", 0), f"{word}: {code}")
            if place == "host":
                d.refused("access_denied", "POST", "/v1/tools/execute_python", {"code": code}, "access denied: host.exec", key=may_not)
    r = d.post("/v1/tools/execute_python", {"code": "import os\nprint(open('given').read(), len(os.listdir('/etc')))\n6*7", "files": {"given": "x"}}, unix=True)
    same((r["stdout"], r["results"][0]["data"]), (f"x {len(os.listdir('/etc'))}\n", "42"), "the host's files, and the value")
    same(where(d.post("/v1/tools/execute_python", {"code": "1", "context": "c"}, unix=True)), "native", "a context")
    r = d.post("/v1/tools/sandbox.exec", {"runtime": "sh", "code": "ls /; ls /workspace"}, key=may_not)
    ensure(r["exit_code"] == 0 and "home" not in r["stdout"].split(), "sandbox.exec is always in a sandbox", str(r))
    until(lambda: not [s for s in d.get("/v1/sandboxes", unix=True)["sandboxes"] if s["session"] != "c"], 20, "sandboxes of calls are gone")
    mode(d, "selective")
    r = d.post("/v1/tools/execute_python", {"code": "import m", "files": {"m.py": RISKY}}, unix=True)
    same((where(r), r["isolation"]["reason"]), ("native", "sandbox: files"), "files could bring other code")
    long = d.post("/v1/tools/execute_python", {"code": "x = 1\n" * 1300 + "import subprocess"}, unix=True)
    same((where(long), long["isolation"]["reason"]), ("native", "sandbox: controls_processes"), "code that a worker scans")


@test(settings={"mode": "off", "scope": "shared"})
def the_scope_of_the_settings_needs_no_sandbox_in_mode_off(d):
    same(where(run(d, HARMLESS)), "host", "without a name")
    same(where(run(d, HARMLESS, session="s")), "native", "with one")
