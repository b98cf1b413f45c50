"""Created sandboxes: creation, lists, sharing, pausing, idle time, full disks; scopes and workspaces."""

import json
import os
import re
import signal
import stat
import threading
import time

import support
from daemon import Daemon
from support import ensure, is_root, same, test, until

FIELDS = {
    "id", "name", "state", "image", "scope", "session", "agent", "key", "created", "expires", "idle_timeout_ms", "ttl_ms",
    "metadata", "limits", "network", "workspace", "mounts", "persistent", "executions", "processes", "isolation",
}  # fmt: skip


@test
def a_sandbox_from_its_making_to_its_end(d):
    sandbox = d.post("/v1/sandboxes", {"metadata": {"who": "me"}, "limits": {"disk_inodes": 500, "open_files": 99}}, 201)
    same(set(sandbox), FIELDS, "fields")
    ensure(re.fullmatch(r"sbx_[a-z2-7]{20}", sandbox["id"]), f"id is {sandbox['id']}")
    same((sandbox["state"], sandbox["image"], sandbox["scope"], sandbox["workspace"]), ("running", "host", None, "none"), "sandbox")
    same((sandbox["limits"]["disk_inodes"], sandbox["limits"]["open_files"], sandbox["limits"]["cpus"]), (500, 99, 1.0), "limits")
    same(sandbox["network"]["tier"], "restricted", "tier")
    id_ = sandbox["id"]
    got = d.get(f"/v1/sandboxes/{id_}")
    if is_root():
        same(set(got["usage"]), {"cpu_ms", "memory_bytes", "memory_peak_bytes", "processes"}, "fields of usage")
        ensure(all(v is not None for v in got["usage"].values()), f"usage is {got['usage']}")
    same([s["id"] for s in d.get("/v1/sandboxes")["sandboxes"]], [id_], "the list")
    d.exec("sh", "echo one > file; echo $$ > /tmp/pid", id_)
    r = d.exec("sh", "cat file; ls /tmp", id_)
    same((r["stdout"], r["sandbox"]), ("one\npid\n", id_), "the next execution")
    same(d.get(f"/v1/sandboxes/{id_}")["executions"], 2, "executions")
    d.delete(f"/v1/sandboxes/{id_}")
    for method, rest in (("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/keepalive")):
        d.refused("not_found", method, f"/v1/sandboxes/{id_}{rest}", {} if method == "POST" else None, id_)
    d.refused("not_found", "POST", f"/v1/sandboxes/{id_}/exec", {"runtime": "sh", "code": "x"}, id_)
    same(d.get("/v1/sandboxes"), {"sandboxes": []}, "the list")


@test
def bad_sandboxes_are_refused(d):
    for body, parts in (({"colour": 1}, ["unknown field", "colour"]), ({"ttl_ms": 0}, ["ttl_ms"]), ({"ttl_ms": "1h"}, ["ttl_ms"]),
                        ({"idle_timeout_ms": -1}, ["idle_timeout_ms"]), ({"metadata": {"a": 1}}, ["metadata.a"]),
                        ({"metadata": []}, ["metadata"]), ({"limits": {"memory_bytes": "1G"}}, ["limits.memory_bytes"]),
                        ({"limits": {"speed": 1}}, ["speed"]), ({"image": 7}, ["image"]), ({"workspace": "yes"}, ["workspace"]),
                        ({"persistent": 1}, ["persistent"]), ({"persistent": "no"}, ["persistent"]), ({"persistent": None}, ["persistent"]),
                        ({"session": "s"}, ["session"]), ({"runtime": "sh"}, ["runtime"])):  # fmt: skip
        d.refused("invalid_request", "POST", "/v1/sandboxes", body, parts)
    for id_ in ("sbx_aaaaaaaaaaaaaaaaaaaa", "x", "..", "%2e%2e", "sbx_" + "a" * 300, "%00", "%ff"):
        a = d.request("GET", f"/v1/sandboxes/{id_}")
        ensure(a.status in (404, 400), "no such sandbox", a)
    d.refused("invalid_request", "GET", "/v1/sandboxes?colour=red", None, "colour")
    same(d.get("/v1/sandboxes"), {"sandboxes": []}, "the list")


@test
def sandboxes_are_found_by_state_and_metadata(d):
    a = d.sandbox(metadata={"team": "red", "n": "1"})
    b = d.sandbox(metadata={"team": "red", "n": "2"})
    c = d.sandbox(metadata={"team": "blue und grün"})

    def found(query):
        return [s["id"] for s in d.get("/v1/sandboxes" + query)["sandboxes"]]

    same(found("?metadata.team=red"), [a, b], "red")
    same(found("?metadata.team=red&metadata.n=2"), [b], "red 2")
    same(found("?metadata.team=blue%20und%20gr%C3%BCn"), [c], "blue")
    same(found("?metadata.none=x"), [], "none")
    same(found("?state=running"), [a, b, c], "running")
    same(found("?state=paused"), [], "paused")


@test
def executions_in_one_sandbox_do_not_hurt_each_other(d, s):
    results = {}

    def run(name, code, **fields):
        results[name] = d.exec("sh", code, s, **fields)

    jobs = [
        ("late", "sleep 60", {"timeout_ms": 300}),
        ("crash", "kill -SEGV $$", {}),
        ("killer", "sleep 0.2; kill -9 -1; echo survived", {}),
        ("long", "sleep 1.5; echo long", {}),
        ("loud", "yes | head -c 5000000", {}),
        *((f"n{i}", f"sleep 0.2; echo n{i}; cat", {"stdin": f"in{i}"}) for i in range(4)),
    ]
    threads = [threading.Thread(target=run, args=(n, c), kwargs=k) for n, c, k in jobs if n != "killer"]
    [t.start() for t in threads]
    [t.join() for t in threads]
    same((results["late"]["status"], results["crash"]["signal"]), ("timeout", 11), "those that fail")
    same((results["long"]["status"], results["long"]["stdout"]), ("exited", "long\n"), "the long one")
    same(results["loud"]["stdout_bytes"], 5000000, "the loud one")
    for i in range(4):
        same(results[f"n{i}"]["stdout"], f"n{i}\nin{i}", "a short one")
    same(d.get(f"/v1/sandboxes/{s}")["state"], "running", "state")


@test
def processes_left_by_an_execution_end_with_it(d, s):
    seconds = support.nonce_seconds()
    r = d.exec("sh", f"setsid sleep {seconds} >/dev/null 2>&1 & echo started", s)
    same(r["stdout"], "started\n", "stdout")
    support.gone(seconds)


# Pause and resume.


@test(users=["root"])
def pausing_a_sandbox_stops_its_code_and_its_deadline(d, s):
    with d.events("POST", f"/v1/sandboxes/{s}/exec",
                  {"runtime": "python3", "code": "import time\nprint('on', flush=True)\nx=0\nt=time.process_time()\nwhile time.process_time()-t < 0.1: x+=1\nprint('off')",
                   "timeout_ms": 8000}) as e:  # fmt: skip
        e.read_until("on\n")
        p = d.post(f"/v1/sandboxes/{s}/pause")
        same(p["state"], "paused", "state")
        same(d.post(f"/v1/sandboxes/{s}/pause")["state"], "paused", "paused twice")
        same([x["id"] for x in d.get("/v1/sandboxes?state=paused")["sandboxes"]], [s], "the paused ones")
        before = d.get(f"/v1/sandboxes/{s}")["usage"]["cpu_ms"]
        time.sleep(1.5)
        after = d.get(f"/v1/sandboxes/{s}")["usage"]["cpu_ms"]
        ensure(after - before < 20, f"while paused it used {after - before} ms of CPU time")
        d.refused("invalid_request", "GET", d.file(s, "/etc/hostname"), None, "paused")
        time.sleep(7)  # with the remaining time, longer than its timeout
        same(d.post(f"/v1/sandboxes/{s}/resume")["state"], "running", "state")
        same(d.post(f"/v1/sandboxes/{s}/resume")["state"], "running", "resumed twice")
        rest, end = e.text()
        same((end["status"], rest), ("exited", "off\n"), "its end")
    d.post(f"/v1/sandboxes/{s}/pause")
    d.delete(f"/v1/sandboxes/{s}")
    d.refused("not_found", "GET", f"/v1/sandboxes/{s}")


@test(users=["user"])
def pausing_without_control_groups_is_refused(d, s):
    d.refused("isolation_unavailable", "POST", f"/v1/sandboxes/{s}/pause", None)
    same(d.exec("sh", "echo x", s)["stdout"], "x\n", "the sandbox afterwards")


@test(users=["user"])
def limits_that_cannot_be_enforced_are_refused(d):
    for limit, value in (("memory_bytes", 64 << 20), ("cpu_time_ms", 100), ("cpus", 0.5)):
        d.refused("isolation_unavailable", "POST", "/v1/exec", {"runtime": "sh", "code": "x", "limits": {limit: value}}, "cgroup")
        d.refused("isolation_unavailable", "POST", "/v1/sandboxes", {"limits": {limit: value}}, "cgroup")
    s = d.sandbox()
    d.refused("isolation_unavailable", "POST", f"/v1/sandboxes/{s}/exec", {"runtime": "sh", "code": "x", "limits": {"cpu_time_ms": 100}}, "CPU time")
    same(len(d.rows()), 0, "executions in the log")


@test(users=["root"])
def a_signal_to_a_paused_sandbox_takes_effect_after_resume():
    with Daemon() as d:
        s = d.sandbox()
        seconds = support.nonce_seconds()
        p = d.post(f"/v1/sandboxes/{s}/processes", {"command": ["sleep", seconds]}, 201)
        d.post(f"/v1/sandboxes/{s}/pause")
        d.delete(f"/v1/sandboxes/{s}/processes/{p['pid']}")
        d.post(f"/v1/sandboxes/{s}/resume")
        support.gone(seconds)
        d.post(f"/v1/sandboxes/{s}/processes", {"command": ["sleep", seconds]}, 201)
        d.post(f"/v1/sandboxes/{s}/pause")
    support.gone(seconds)


# Time to live, idle time, room.


@test
def ttl_and_keepalive(d):
    kept = d.sandbox(ttl_ms=8000)
    got = d.post(f"/v1/sandboxes/{kept}/keepalive", {"ttl_ms": 60000})
    same(got["ttl_ms"], 60000, "ttl")
    endless = d.sandbox(ttl_ms=8000)
    same(d.post(f"/v1/sandboxes/{endless}/keepalive", {"ttl_ms": None})["expires"], None, "expires")
    same(d.post(f"/v1/sandboxes/{endless}/keepalive")["state"], "running", "keepalive without a body")
    d.refused("invalid_request", "POST", f"/v1/sandboxes/{kept}/keepalive", {"ttl_ms": -1}, "ttl_ms")
    d.refused("invalid_request", "POST", f"/v1/sandboxes/{kept}/keepalive", {"ttl": 1}, "ttl")
    short = d.post("/v1/sandboxes", {"ttl_ms": 8000}, 201)  # when this one ends, the others would have ended
    ensure(short["expires"] and short["ttl_ms"] == 8000, f"expires {short['expires']}")
    until(lambda: d.request("GET", f"/v1/sandboxes/{short['id']}").status == 404, 30, "the end of the short one")
    same({s["id"] for s in d.get("/v1/sandboxes")["sandboxes"]}, {kept, endless}, "those that are left")


@test
def a_ttl_cancels_running_executions(d):
    s = d.sandbox(ttl_ms=6000)
    a = d.request("POST", f"/v1/sandboxes/{s}/exec", {"runtime": "sh", "code": "echo on; sleep 60"})
    same((a.status, a.json().get("status"), a.json().get("stdout")), (200, "cancelled", "on\n"), "the execution", a)


@test(settings={"sandboxes": {"cleanup_interval_ms": 50, "idle_timeout_ms": 5000}})
def idle_sandboxes_are_removed(d):
    idle = d.sandbox()
    own = d.sandbox(idle_timeout_ms=60000)
    busy = d.sandbox()
    result = {}
    t = threading.Thread(target=lambda: result.update(d.exec("sh", "sleep 11; echo done", busy)))
    t.start()
    d.exec("sh", "echo kept > file", session="s")
    until(lambda: d.request("GET", f"/v1/sandboxes/{idle}").status == 404, 20, "the end of the idle one")
    t.join()
    same(result["stdout"], "done\n", "one that is busy is not idle")
    same(d.get(f"/v1/sandboxes/{own}")["idle_timeout_ms"], 60000, "one with a time of its own")

    def stopped():
        return [s for s in d.get("/v1/sandboxes?state=stopped")["sandboxes"] if s["session"] == "s"]

    until(stopped, 20, "the idle session")
    same(d.exec("sh", "cat file", session="s")["stdout"], "kept\n", "the session comes back with its files")


@test(settings={"sandboxes": {"max": 2}})
def a_full_daemon_answers_429_after_the_queue_timeout(d):
    a, b = d.sandbox(), d.sandbox()
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"queue_timeout_ms": 200}})
    begun = time.monotonic()
    refused = d.refused("over_capacity", "POST", "/v1/exec", {"runtime": "sh", "code": "x"})
    ensure(time.monotonic() - begun >= 0.15, "it was not waited for")
    ensure(int(refused.headers["Retry-After"]) >= 1, "Retry-After", refused)
    d.refused("over_capacity", "POST", "/v1/sandboxes", {})
    same(d.exec("sh", "echo in", a)["stdout"], "in\n", "in one that is there")
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"queue_timeout_ms": 20000}})
    result = {}
    t = threading.Thread(target=lambda: result.update(d.exec("sh", "echo at last")))
    t.start()
    until(lambda: d.get("/v1/health")["sandboxes"]["waiting"] == 1, 20, "one that waits")
    d.delete(f"/v1/sandboxes/{b}")
    t.join()
    same(result["stdout"], "at last\n", "the one that waited")
    # A request does not wait if there is room.
    d.sandbox()
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"queue_max": 0}})
    begun = time.monotonic()
    d.refused("over_capacity", "POST", "/v1/exec", {"runtime": "sh", "code": "x"})
    support.within(time.monotonic() - begun, 5, "the refusal")
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 3}})
    same(d.exec("sh", "echo more")["stdout"], "more\n", "with more room")


@test(settings={"sandboxes": {"max": 1, "queue_timeout_ms": 20000}})
def a_queued_client_that_leaves_frees_its_place(d):
    a = d.sandbox()
    c = d.connection()
    c.request("POST", "/v1/exec", json.dumps({"runtime": "sh", "code": "echo x"}))
    until(lambda: d.get("/v1/health")["sandboxes"]["waiting"] == 1, 20, "one that waits")
    c.close()
    until(lambda: d.get("/v1/health")["sandboxes"]["waiting"] == 0, 20, "its leaving")
    d.delete(f"/v1/sandboxes/{a}")
    same(d.exec("sh", "echo y")["stdout"], "y\n", "the next")


@test
def keys_take_turns_when_the_daemon_is_full(d):
    flood = d.new_key("flood")["key"]
    other = d.new_key("other")["key"]
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 1, "queue_timeout_ms": 60000}}, unix=True)
    done, lock = [], threading.Lock()

    def run(who, key):
        d.exec("sh", "sleep 0.1", key=key)
        with lock:
            done.append(who)

    first = [threading.Thread(target=run, args=("flood", flood)) for _ in range(16)]
    [t.start() for t in first]
    until(lambda: d.get("/v1/health", unix=True)["sandboxes"]["waiting"] >= 15, 20, "a long queue")
    second = [threading.Thread(target=run, args=("other", other)) for _ in range(2)]
    [t.start() for t in second]
    [t.join() for t in first + second]
    last = max(i for i, who in enumerate(done) if who == "other")
    ensure(last <= 10, f"those of the other key came as numbers {[i for i, w in enumerate(done) if w == 'other']} of {len(done)}")


# Scopes.


@test
def sessions_agents_and_shared_keep_their_files(d):
    for fields in ({"session": "s1"}, {"agent": "a1"}, {"scope": "shared"}, {"scope": "session", "session": "s2", "agent": "a1"}):
        r = d.exec("sh", "echo $0 > file; pwd", **fields)
        again = d.exec("sh", "cat file", **fields)
        same((again["exit_code"], again["sandbox"]), (0, r["sandbox"]), f"{fields}")
    ids = {s["id"] for s in d.get("/v1/sandboxes")["sandboxes"]}
    same(len(ids), 4, "sandboxes")
    same(d.exec("sh", "cat file", session="s3")["exit_code"], 1, "another session")
    same(d.exec("sh", "cat file", agent="a2")["exit_code"], 1, "another agent")
    same(d.exec("sh", "cat file", session="s1", scope="execution")["exit_code"], 1, "a fresh one")
    listed = {s["session"]: s for s in d.get("/v1/sandboxes")["sandboxes"] if s["session"]}
    same((listed["s1"]["scope"], listed["s1"]["agent"]), ("session", None), "the sandbox of the session")
    one = listed["s1"]["id"]
    d.delete(f"/v1/sandboxes/{one}")
    r = d.exec("sh", "ls", session="s1")
    same(r["stdout"], "", "after the sandbox was removed")
    ensure(r["sandbox"] != one, "the same sandbox")


@test(settings={"scope": "shared"})
def the_scope_of_the_settings_is_the_default(d):
    a, b = d.exec("sh", "echo x > f"), d.exec("sh", "cat f", session="other")
    same((b["stdout"], a["sandbox"]), ("x\n", b["sandbox"]), "shared")
    d.ok("PATCH", "/v1/settings", {"scope": "session"})
    for path, body in (("/v1/exec", {"runtime": "sh", "code": "ls"}), ("/v1/exec", {"runtime": "sh", "code": "ls", "scope": "session"}),
                       ("/v1/tools/execute_shell", {"command": "ls"}), ("/v1/tools/execute_python", {"code": "1"}), ("/v1/tools/list_files", {})):  # fmt: skip
        d.refused("invalid_request", "POST", path, body, "session is required with scope 'session'")
    ensure(d.exec("sh", "ls", scope="execution")["sandbox"] != a["sandbox"], "a fresh one")
    same(d.exec("sh", "ls", session="s")["sandbox"], d.exec("sh", "ls", session="s")["sandbox"], "a session's")


@test
def a_scope_without_its_name_is_the_same_error_wherever_it_comes_from(d):
    for scope, other in (("session", {"agent": "a"}), ("agent", {"session": "s"})):
        for more in ({}, other):
            asked = d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "true", "scope": scope, **more}, f"{scope} is required")
            d.ok("PATCH", "/v1/settings", {"scope": scope})
            default = d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "true", **more}, f"{scope} is required")
            same(asked.json()["error"]["message"], default.json()["error"]["message"], "messages")
            ensure("setting scope" in default.json()["error"]["hint"], "where it comes from", default)
            same(d.exec("sh", "echo x", **{scope: "n"})["stdout"], "x\n", "with its name")
            for name, body in (("execute_python", {"code": "6*7"}), ("execute_shell", {"command": "true"}), ("list_files", {})):
                tool = d.refused("invalid_request", "POST", f"/v1/tools/{name}", {**body, **more}, f"{scope} is required")
                same(asked.json()["error"]["message"], tool.json()["error"]["message"], name)
            same(d.ok("POST", "/v1/tools/execute_python", {"code": "6*7", scope: "n"})["results"][0]["data"], "42", "execute_python")
            # sandbox.exec always has a sandbox of its own.
            same(d.ok("POST", "/v1/tools/sandbox.exec", {"runtime": "sh", "code": "echo x"})["stdout"], "x\n", "sandbox.exec")
            d.ok("PATCH", "/v1/settings", {"scope": "execution"})


BACKEND = """
import zipfile
def build_wheel(directory, settings=None, metadata=None):
    name = "cellatest-1-py3-none-any.whl"
    with zipfile.ZipFile(f"{directory}/{name}", "w") as z:
        z.writestr("cellatest.py", "answer = 42\\n")
        z.writestr("cellatest-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: cellatest\\nVersion: 1\\n")
        z.writestr("cellatest-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        z.writestr("cellatest-1.dist-info/RECORD", "")
    return name
"""


@test(timeout=60)
def packages_stay_in_a_session():
    if support.subprocess.run(["/usr/bin/python3", "-c", "import pip"], capture_output=True).returncode:
        raise support.Skip("no pip for /usr/bin/python3")
    with Daemon({"limits": {"disk_bytes": 512 << 20, "processes": 128}}) as d:
        files = {
            "pkg/pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n",
            "pkg/backend.py": BACKEND,
        }
        r = d.exec("sh", "python3 -m pip install --no-index --no-build-isolation --no-deps ./pkg 2>&1",
                   session="p", files=files, timeout=55)  # fmt: skip
        same(r["exit_code"], 0, f"exit status of pip, which said\n{r['stdout'][-1500:]}\nand")
        same(d.exec("python3", "import cellatest; print(cellatest.answer)", session="p", cwd="/")["stdout"], "42\n", "the package")


@test(timeout=60)
def node_packages_stay_in_a_session():
    if not (os.path.exists("/usr/bin/npm") and os.path.exists("/usr/bin/node")):
        raise support.Skip("no npm in /usr")
    with Daemon({"limits": {"memory_bytes": 1 << 30, "disk_bytes": 512 << 20, "processes": 128}} if is_root() else None) as d:
        files = {
            "lib/package.json": json.dumps({"name": "cellatest", "version": "1.0.0", "main": "i.js"}),
            "lib/i.js": "module.exports = 42;\n",
        }
        r = d.exec("sh", "npm install --offline --no-audit --no-fund ./lib 2>&1", session="n", files=files, timeout=55)
        same(r["exit_code"], 0, f"exit status of npm, which said\n{r['stdout'][-1500:]}\nand")
        same(d.exec("node", "console.log(require('cellatest'))", session="n")["stdout"], "42\n", "the package")


# Workspaces of agents.


def workspace_root(d):
    root = support.here("agents")
    os.mkdir(root, 0o755)
    d.ok("PATCH", "/v1/settings", {"workspace_root": root})
    return root


@test
def an_agents_directory_is_its_workspace(d):
    root = workspace_root(d)
    r = d.exec("sh", "echo made > file; pwd; ls", agent="robot", workspace="rw")
    same(r["stdout"], "/workspace\nfile\n", "stdout")
    path = os.path.join(root, "robot", "file")
    same(support.read(path), "made\n", "the file on the host")
    same((os.stat(path).st_uid, os.stat(os.path.dirname(path)).st_uid), (os.getuid(), os.getuid()), "owner")
    same(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) & 0o077, 0, "bits for others")
    support.write(path, "host\n")
    r = d.exec("sh", "cat file; echo no > file; echo no > new; rm file", agent="robot", workspace="ro", scope="execution")
    same((r["stdout"], r["stderr"].count("Read-only file system"), r["exit_code"]), ("host\n", 3, 1), "read-only")
    same((support.read(path), os.listdir(os.path.dirname(path))), ("host\n", ["file"]), "the file on the host")
    same(d.exec("sh", "ls", agent="robot", workspace="none", scope="execution")["stdout"], "", "none")
    same(d.exec("sh", "ls -a ..; cat ../robot/file", agent="other", workspace="rw")["stdout"].count("robot"), 0, "another agent's")
    d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "x", "agent": "robot", "workspace": "ro", "scope": "agent"}, "workspace")
    s = d.post("/v1/sandboxes", {"agent": "robot", "workspace": "rw"}, 201)
    same((s["agent"], s["workspace"]), ("robot", "rw"), "sandbox")
    d.put(s["id"], "by-api", "x")
    same(os.stat(os.path.join(root, "robot", "by-api")).st_uid, os.getuid(), "owner of a file that was put")


@test
def changes_in_an_agents_directory_are_reported_without_uploaded_files(d):
    """Its files may be stamped by any clock (test_exec.py has the same for a sandbox's own)."""
    workspace_root(d)
    for i in range(15):
        code = f"stat sent-{i} a > /dev/null; echo > new-{i}; echo >> a"
        r = d.exec("sh", code, agent="robot", workspace="rw", scope="execution", files={f"sent-{i}": "x", "a": "A"}, list_files=True)
        same({(f["path"], f["change"]) for f in r["files"]}, {(f"new-{i}", "added"), ("a", "modified")}, f"turn {i}")


@test
def bad_agents_have_no_workspace(d):
    root = workspace_root(d)
    outside = support.here("outside")
    os.mkdir(outside)
    support.write(os.path.join(outside, "secret"), "secret")
    os.symlink(outside, os.path.join(root, "link"))
    os.symlink("/etc", os.path.join(root, "etc"))
    support.write(os.path.join(root, "file"), "")
    for agent in ("../outside", "..", ".", ".hidden", "a/b", "/etc", "a b", "ü", "a\nb", "", "x" * 129, "a\0b"):
        d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "ls", "agent": agent, "workspace": "rw"}, "agent")
    for agent in ("link", "etc", "file"):
        for workspace in ("ro", "rw"):
            a = d.request("POST", "/v1/exec", {"runtime": "sh", "code": "ls", "agent": agent, "workspace": workspace, "scope": "execution"})
            ensure(400 <= a.status < 500, "a workspace that is none", a)
            ensure("secret" not in a.text and "passwd" not in a.text, "it shows what is outside", a)
    same(sorted(os.listdir(outside)), ["secret"], "outside")


@test
def invalid_workspace_roots_are_refused(d):
    for root in ("relative", "", 7, "/x\0y"):
        d.refused("invalid_request", "PATCH", "/v1/settings", {"workspace_root": root}, "workspace_root")
    d.refused("invalid_request", "PATCH", "/v1/settings", {"workspace": "rw"}, "workspace")
    before = d.get("/v1/settings")
    file, link = support.write(support.here("file"), ""), support.here("link")
    os.symlink("/etc", link)
    for root in ("/", "/etc", "/etc/../etc", "/proc/self", link, file, d.state, os.path.dirname(d.state), "/no/such/directory", "/" + "x" * 900):
        for path in ("/v1/settings", "/v1/settings?check=1"):
            d.refused("invalid_request", "PATCH", path, {"workspace_root": root}, "workspace_root")
            d.refused("invalid_request", "PUT", path, {**before, "workspace_root": root}, "workspace_root")
    same(d.get("/v1/settings"), before, "the settings")
    a = d.refused("invalid_request", "PATCH", "/v1/settings", {"workspace_root": "/no/such/directory"}, "No such file")
    # A directory that disappears later is reported by the request that needs it.
    root = workspace_root(d)
    os.rmdir(root)
    d.ok("PATCH", "/v1/settings", {"limits": {"processes": 60}})  # the setting itself is not changed
    a = d.refused("not_found", "POST", "/v1/exec", {"runtime": "sh", "code": "ls", "agent": "a", "workspace": "rw", "scope": "execution"}, "workspace_root")


@test
def changes_of_the_settings_that_overlap_are_not_lost(d):
    """A change of the settings that arrives while a new workspace_root waits for the keeper is kept."""
    roots = [support.here(f"agents{i}") for i in range(8)]
    for root in roots:
        os.mkdir(root)
    threads = [threading.Thread(target=d.ok, args=("PATCH", "/v1/settings", body)) for i, root in enumerate(roots)
               for body in ({"workspace_root": root}, {"limits": {"processes": 20 + i}})]  # fmt: skip
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    s = d.get("/v1/settings")
    ensure(s["workspace_root"] in roots and 20 <= s["limits"]["processes"] < 28, f"settings: {s['workspace_root']}, {s['limits']}")


@test
def a_read_only_workspace_is_never_made(d):
    root = workspace_root(d)
    for path, body in (("/v1/exec", {"runtime": "sh", "code": "ls", "scope": "execution"}), ("/v1/exec", {"runtime": "sh", "code": "ls"}), ("/v1/sandboxes", {})):
        a = d.refused("not_found", "POST", path, {**body, "agent": "nobody", "workspace": "ro"}, "nobody")
        ensure("rw" in a.json()["error"]["hint"], "the hint", a)
    same(os.listdir(root), [], "directories of agents")
    os.mkdir(os.path.join(root, "nobody"))
    same(d.exec("sh", "ls -A", agent="nobody", workspace="ro", scope="execution")["exit_code"], 0, "when it exists")


# Restarts.


@test
def persistent_workspaces_survive_restarts_and_crashes(d):
    d.exec("sh", "mkdir -p a/b; echo one > a/b/file; ln -s a/b/file link", session="s")
    id_ = d.exec("sh", "true", session="s")["sandbox"]
    lost = d.sandbox(persistent=False)
    d.restart()
    same([(s["id"], s["state"], s["session"]) for s in d.get("/v1/sandboxes")["sandboxes"]], [(id_, "stopped", "s")], "sandboxes")
    d.refused("not_found", "GET", f"/v1/sandboxes/{lost}")
    r = d.exec("sh", "cat link; echo two >> a/b/file", session="s")
    same((r["stdout"], r["sandbox"]), ("one\n", id_), "after a restart")
    for which in ("keeper", "server", "both"):
        d.kill(which)
        d.start()
        same(d.exec("sh", f"cat link; echo {which} >> a/b/file", session="s")["stdout"][:8], "one\ntwo\n", f"after kill -9 of {which}")
    same(d.exec("sh", "cat link", session="s")["stdout"], "one\ntwo\nkeeper\nserver\nboth\n", "in the end")
    d.delete(f"/v1/sandboxes/{id_}")
    until(lambda: not os.path.exists(os.path.join(d.state, "workspaces", id_)), 20, "the removal of the workspace")


def pausing(d, sandbox):
    """A client that has requested a pause and has no answer yet."""
    s = d.socket()
    s.sendall(f"POST /v1/sandboxes/{sandbox}/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
    for _ in range(2):  # when these are answered, the server has read it
        d.request("GET", "/healthz")
    return s


@test(users=["root"])
def a_pause_of_a_client_that_left_does_no_harm(d):
    # The keeper is stopped, so its answers arrive last.
    for _ in range(3):
        id_ = d.sandbox()
        d.post(f"/v1/sandboxes/{id_}/processes", {"command": ["sleep", "100"]}, 201)
        os.kill(d.process.pid, signal.SIGSTOP)
        try:
            client = pausing(d, id_)
            d.delete(f"/v1/sandboxes/{id_}")
            client.close()
            time.sleep(0.1)
        finally:
            os.kill(d.process.pid, signal.SIGCONT)
        until(lambda: d.get("/v1/health")["sandboxes"]["running"] == 0, 20, "the end of the sandbox")
    # A second request of the same kind does not reverse the first.
    id_ = d.sandbox()
    os.kill(d.process.pid, signal.SIGSTOP)
    try:
        pausing(d, id_).close()
        time.sleep(0.1)
        d.refused("invalid_request", "POST", f"/v1/sandboxes/{id_}/pause", {})
    finally:
        os.kill(d.process.pid, signal.SIGCONT)
    until(lambda: d.get(f"/v1/sandboxes/{id_}")["state"] == "paused", 20, "the pause")
    same(d.post(f"/v1/sandboxes/{id_}/resume", {})["state"], "running", "after it")
    same(d.exec("sh", "echo x", id_)["stdout"], "x\n", "what runs in it then")


@test(users=["root"], settings={"sandboxes": {"idle_timeout_ms": 100, "cleanup_interval_ms": 50}})
def a_sandbox_that_is_being_ended_can_be_looked_at(d):
    id_ = d.exec("sh", "echo x", session="s")["sandbox"]
    os.kill(d.process.pid, signal.SIGSTOP)  # the keeper: so that it takes its time
    try:
        time.sleep(3)
        same(d.get(f"/v1/sandboxes/{id_}")["state"], "stopped", "state")
    finally:
        os.kill(d.process.pid, signal.SIGCONT)
    same(d.exec("sh", "echo y", session="s")["stdout"], "y\n", "what runs in it then")


# Settings that change while a session exists.


@test
def a_session_survives_changed_settings(d):
    root = workspace_root(d)
    d.ok("PATCH", "/v1/settings", {"workspace": "rw"})
    one = d.exec("sh", "echo x > f", session="s", agent="robot")
    same(d.exec("sh", "cat f", session="s")["stdout"], "x\n", "a request without the agent")
    d.ok("PATCH", "/v1/settings", {"workspace": "ro"})
    two = d.exec("sh", "cat f; echo y > f", session="s", agent="robot")
    same((two["sandbox"], two["stdout"], two["exit_code"] != 0), (one["sandbox"], "x\n", True), "read-only now")
    ensure("made again" in two["isolation"]["reason"] and "workspace" in two["isolation"]["reason"], "the result says so", str(two["isolation"]))
    ensure("reason" not in d.exec("sh", "true", session="s", agent="robot")["isolation"], "only once")
    same(support.read(os.path.join(root, "robot", "f")), "x\n", "the file on the host")
    d.ok("PATCH", "/v1/settings", {"workspace": "none"})
    three = d.exec("sh", "ls; echo own > g", session="s", agent="robot")
    same((three["stdout"], three["exit_code"]), ("", 0), "access that was withdrawn")
    d.ok("PATCH", "/v1/settings", {"workspace": "rw"})
    same(d.exec("sh", "cat g", session="s", agent="robot")["stdout"], "own\n", "the session keeps its own files")
    d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "ls", "session": "s", "agent": "robot", "workspace": "rw"}, "workspace must be 'none'")


@test
def a_session_that_runs_code_is_not_made_again(d):
    workspace_root(d)
    d.ok("PATCH", "/v1/settings", {"workspace": "rw"})
    d.exec("sh", "echo x > f", session="s", agent="robot")
    s = d.get("/v1/sandboxes")["sandboxes"][0]["id"]
    p = d.post(f"/v1/sandboxes/{s}/processes", {"runtime": "sh", "code": "sleep 600"}, 201)
    d.ok("PATCH", "/v1/settings", {"workspace": "ro"})
    same(d.exec("sh", "echo y > f; echo $?", session="s", agent="robot")["stdout"], "0\n", "while a process runs")
    d.post(f"/v1/sandboxes/{s}/processes/{p['pid']}/signal", {"signal": "KILL"})
    support.until(lambda: d.get("/v1/sandboxes")["sandboxes"][0]["processes"] == 0, 20, "the end of the process")
    r = d.exec("sh", "cat f; echo z > f", session="s", agent="robot")
    same((r["stdout"], r["exit_code"] != 0), ("y\n", True), "afterwards")
