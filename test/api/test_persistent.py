"""Created sandboxes survive a restart and a crash of the daemon."""

import os
import time

import support
from support import same, test, until


def about(sandbox):
    """What a created sandbox keeps."""
    return {k: sandbox[k] for k in ("id", "limits", "metadata", "network", "workspace", "persistent", "created", "expires", "ttl_ms", "idle_timeout_ms")}


@test
def a_created_sandbox_survives_restarts_and_crashes(d):
    made = d.post("/v1/sandboxes", {"ttl_ms": 3600000, "idle_timeout_ms": 600000, "metadata": {"who": "me", "ü": ""},
                                    "limits": {"open_files": 99, "timeout_ms": 25000}}, 201)  # fmt: skip
    id_ = made["id"]
    same(made["persistent"], True, "persistent")
    code = "mkdir -p .local/lib a; echo one > a/file; echo lost > /tmp/file"
    d.exec("sh", code, id_)
    d.post(f"/v1/sandboxes/{id_}/processes", {"command": ["sleep", "1000"]}, 201)
    for i, end in enumerate((d.restart, *(lambda which=which: (d.kill(which), d.start()) for which in ("keeper", "server", "both")))):
        end()
        now = d.get(f"/v1/sandboxes/{id_}")
        same((now["state"], now["processes"], about(now)), ("stopped", 0, about(made)), f"the sandbox after end {i}")
        same([s["id"] for s in d.get("/v1/sandboxes?state=stopped&metadata.who=me")["sandboxes"]], [id_], "found again")
        r = d.exec("sh", "cat a/file; ls /tmp; ulimit -n; echo more >> a/file; ls -d .local/lib", id_)
        same((r["stdout"], r["sandbox"]), ("one\n" + "more\n" * i + "99\n.local/lib\n", id_), f"its files after end {i}")
        same(d.get(f"/v1/sandboxes/{id_}")["state"], "running", "its state when it is used")
    d.delete(f"/v1/sandboxes/{id_}")
    until(lambda: not os.path.exists(os.path.join(d.state, "workspaces", id_)), 20, "the removal of the workspace")
    d.restart()
    same(d.get("/v1/sandboxes"), {"sandboxes": []}, "a removed one does not come back")


@test
def executions_in_a_created_sandbox_are_interrupted_by_a_crash(d):
    s = d.sandbox()
    for which in ("keeper", "server"):
        with d.events("POST", f"/v1/sandboxes/{s}/exec", {"runtime": "sh", "code": f"echo {which} > file; echo on; sleep 1000"}) as e:
            e.read_until("on\n")
            d.kill(which)
        d.start()
        row = d.rows()[0]
        same((row["status"], row["sandbox"]), ("interrupted", s), f"the log after kill -9 of the {which}")
        same(d.exec("sh", "cat file", s)["stdout"], f"{which}\n", f"the sandbox after kill -9 of the {which}")


@test
def a_ttl_ends_a_sandbox_while_there_is_no_daemon(d):
    short, kept = d.sandbox(ttl_ms=3600000), d.sandbox(ttl_ms=3600000)
    d.post(f"/v1/sandboxes/{short}/keepalive", {"ttl_ms": 3000})  # on a slow machine it is gone before the kill
    d.kill()
    time.sleep(3)
    d.start()
    until(lambda: [s["id"] for s in d.get("/v1/sandboxes")["sandboxes"]] == [kept], 20, "the end of the short one")
    until(lambda: os.listdir(os.path.join(d.state, "workspaces")) == [kept], 20, "the end of its workspace")


@test(settings={"sandboxes": {"cleanup_interval_ms": 50}})
def an_idle_sandbox_with_a_ttl_is_only_stopped(d):
    kept = d.sandbox(ttl_ms=3600000, idle_timeout_ms=1000)
    d.exec("sh", "echo kept > file", kept)
    gone = d.sandbox(idle_timeout_ms=1000)
    until(lambda: d.request("GET", f"/v1/sandboxes/{gone}").status == 404, 20, "the end of the one without a ttl")
    until(lambda: d.get(f"/v1/sandboxes/{kept}")["state"] == "stopped", 20, "the idle one")
    same(d.exec("sh", "cat file", kept)["stdout"], "kept\n", "its file")


@test(settings={"sandboxes": {"kept_max": 2}})
def the_number_of_sandboxes_with_files_is_limited(d):
    message = "this caller keeps the files of 2 sandboxes, as many as the setting sandboxes.kept_max allows"
    made = d.sandbox()
    same(d.exec("sh", "echo kept > file", session="a")["stdout"], "", "a session")
    d.restart()  # now both are stopped
    d.refused("over_capacity", "POST", "/v1/sandboxes", {}, message)
    d.refused("over_capacity", "POST", "/v1/exec", {"session": "b", "runtime": "sh", "code": "echo ran > file"}, message)
    same(d.exec("sh", "cat file", session="a")["stdout"], "kept\n", "the session can still be used")
    in_memory = d.post("/v1/sandboxes", {"persistent": False}, 201)["id"]
    same(d.exec("sh", "echo on")["stdout"], "on\n", "an execution by itself")
    d.refused("over_capacity", "POST", "/v1/sandboxes", {}, message)
    for id_ in (in_memory, made):
        d.delete(f"/v1/sandboxes/{id_}")
    same(d.exec("sh", "cat file", session="b")["exit_code"], 1, "a new session finds no file")


@test
def a_sandbox_in_memory_leaves_nothing_on_disk(d):
    made = d.post("/v1/sandboxes", {"persistent": False, "limits": {"disk_bytes": 4 << 20}}, 201)
    same((made["persistent"], "limit:disk" in made["isolation"]["missing"]), (False, False), "sandbox")
    same(d.exec("python3", "open('f', 'wb').write(bytes(64 << 20))", made["id"])["status"], "disk_limit", "status")
    path = os.path.join(d.state, "workspaces")
    same(os.listdir(path) if os.path.exists(path) else [], [], "workspaces")
    d.restart()
    same(d.get("/v1/sandboxes"), {"sandboxes": []}, "after a restart")


@test(users=["user"])
def a_limit_on_disk_without_volumes_makes_a_sandbox_in_memory(d):
    made = d.post("/v1/sandboxes", {"limits": {"disk_bytes": 4 << 20}}, 201)
    same((made["persistent"], "limit:disk" in made["isolation"]["missing"]), (False, False), "sandbox")
    d.refused("isolation_unavailable", "POST", "/v1/sandboxes", {"limits": {"disk_bytes": 4 << 20}, "persistent": True}, "disk")
    same(len(d.get("/v1/sandboxes")["sandboxes"]), 1, "sandboxes")


@test
def a_created_sandbox_with_an_agents_directory_comes_back(d):
    root = support.here("agents")
    os.mkdir(root, 0o755)
    d.ok("PATCH", "/v1/settings", {"workspace_root": root})
    made = d.post("/v1/sandboxes", {"agent": "robot", "workspace": "rw", "ttl_ms": 3600000}, 201)
    d.exec("sh", "echo x > file", made["id"])
    d.restart()
    same(about(d.get(f"/v1/sandboxes/{made['id']}")), about(made), "the sandbox")
    same(d.exec("sh", "cat file", made["id"])["stdout"], "x\n", "its file")
    d.delete(f"/v1/sandboxes/{made['id']}")
    same(support.read(os.path.join(root, "robot", "file")), "x\n", "the agent's file after the sandbox was removed")


@test
def a_sandbox_that_could_not_be_made_is_not_kept(d):
    d.sandbox(persistent=False)
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 1, "queue_timeout_ms": 100}})
    d.refused("over_capacity", "POST", "/v1/sandboxes", {"ttl_ms": 3600000})
    d.restart()
    same(d.get("/v1/sandboxes"), {"sandboxes": []}, "sandboxes")
