"""Failures between us and a real engine: the engine or cella dies, containers are left behind, the engine is missing."""

import json
import os
import signal
import subprocess
import tempfile
import time

import engines
import support
from daemon import Daemon, descendants
from place import NAMES, Place, need
from support import ensure, same, test

ENGINE = NAMES[-1]  # one of this run


def helper(d):
    """The pid of a daemon's cella-docker; None while there is none."""
    for pid in descendants(d.process.pid):
        if pid != d.process.pid and support.program_name(pid).startswith("cella-docker"):
            return pid
    return None


def left(engine, home, seconds=20):
    """Waits until the engine has no container of this daemon."""
    support.until(lambda: not engine.containers(home), seconds, "the end of the containers")


def run(engine, *words, env=None, **kwargs):
    """`cella run` with that engine's socket."""
    env = {**os.environ, "DOCKER_HOST": f"unix://{engine.socket}", "CELLA_STATE": support.here("state"), **(env or {})}
    return support.cella(["run", "--engine", "docker", "--image", "tiny:1", *words], env=env, timeout=60, **kwargs)


@test(users=("root",), timeout=60)
def cella_run_needs_no_daemon():
    engine, home = need(ENGINE), support.here("state-docker")
    r = run(engine, "--", "sh", "-c", "cat; echo $X >&2; exit 3", input="in\n", env={"X": "leaked"})
    same((r.rc, r.out, r.err), (3, "in\n", "\n"), "exit status, input and output", r)
    r = run(engine, "--timeout", "500ms", "--", "sleep", "60")
    same(r.rc, 124, "exit status after a timeout", r)
    r = run(engine, "--memory", "48M", "python3", "-c", "x = bytearray(200 << 20)")
    same(r.rc, 137, "exit status for memory", r)
    r = run(engine, "--json", "--", "true")
    same(json.loads(r.out)["isolation"]["engine"], engine.name, "the engine's name", r)
    same((engine.containers(home), os.listdir(home)), ([], []), "what is left")


@test(users=("root",), timeout=60)
def a_directory_of_the_host_is_shown_and_its_files_stay_its_owners():
    engine = need(ENGINE)
    os.makedirs("work")
    os.chown("work", support.ordinary_uid, support.ordinary_uid)
    support.write("work/in", "mine\n")
    support.write("extra", "more\n")
    r = run(engine, "--workspace", support.here("work") + ":rw", "--mount", support.here("extra") + ":/extra", "--", "sh", "-c",
            "cat in /extra; echo new > out; id -u; echo x > /extra")  # fmt: skip
    ensure(r.out.startswith("mine\nmore\n"), "what it sees", r)
    same(os.stat("work/out").st_uid, support.ordinary_uid, "the owner of a new file", r)
    same(support.read("extra"), "more\n", "a mount that is read-only")


@test(users=("root",), timeout=90)
def killed_cella_run_leaves_nothing():
    engine, home = need(ENGINE), support.here("state-docker")
    env = {**os.environ, "DOCKER_HOST": f"unix://{engine.socket}", "CELLA_STATE": support.here("state")}
    p = support.spawn("run", "--engine", "docker", "--image", "tiny:1", "--", "sleep", "600", env=env)
    support.until(lambda: engine.containers(home), 20, "the container")
    p.kill()
    p.wait()
    left(engine, home)
    support.until(lambda: not os.listdir(home), 20, "the end of its directory")


@test(users=("root",), timeout=90)
def killing_the_helper_ends_its_executions_and_the_next_helper_cleans_up():
    with Place(ENGINE) as p:
        sb = p.sandbox()
        with p.d.events("POST", p.path(sb, "/exec"), {"command": ["sh", "-c", "echo kept > file; echo begun; sleep 600"]}) as e:
            e.read_until("begun")
            os.kill(helper(p.d), signal.SIGKILL)
            name, data = next(e)
            same((name, data["error"]["kind"] if "error" in data else data.get("kind")), ("error", "engine_unavailable"), f"the last event: {data}")
        same(p.d.get(p.path(sb))["state"], "stopped", "the sandbox")
        same(p.d.post(p.path(sb, "/exec"), {"command": ["cat", "file"]})["stdout"], "kept\n", "its file")
        p.d.delete(p.path(sb))
        same(p.sh("echo again")["stdout"], "again\n", "the next one")
        left(p.engine, p.home)


@test(users=("root",), timeout=90)
def killing_the_daemon_leaves_no_container():
    place = Place(ENGINE)
    with place as p:
        p.sandbox()
        ensure(p.engine.containers(p.home), "there is one")
        p.d.process.kill()
        support.reap(p.d.process, 20)
        left(p.engine, p.home)
        p.d.start()
        same(p.sh("echo again")["stdout"], "again\n", "the next daemon")


@test(users=("root",), timeout=90)
def containers_of_a_dead_owner_are_removed_and_no_others():
    with Place(ENGINE) as p:
        def make(home, owner):
            body = {"Image": "tiny:1", "Cmd": ["sleep", "600"], "Labels": {"cella.home": home, "cella.owner": owner, "cella.sandbox": "sbx_x"},
                    "HostConfig": {"NetworkMode": "none", "Ulimits": [{"Name": "nofile", "Soft": 1024, "Hard": 1024}, {"Name": "nproc", "Soft": 4096, "Hard": 4096}]}}
            status, said = p.engine.request("POST", "/containers/create", body)
            same(status, 201, f"the container: {said}")
            return json.loads(said)["Id"]

        dead, foreign = make(p.home, "dkr_aaaaaaaaaaaaaaaaaaaa"), make("/somebody/else", "dkr_aaaaaaaaaaaaaaaaaaaa")
        stranger = json.loads(p.engine.request("POST", "/containers/create", {"Image": "tiny:1", "Cmd": ["true"], "HostConfig": {"NetworkMode": "none"}})[1])["Id"]
        p.sh("true")
        there = p.engine.containers()
        ensure(dead not in there, "the dead one's is gone")
        ensure(foreign in there and stranger in there, "others' are not")
        for c in (foreign, stranger):
            p.engine.request("DELETE", f"/containers/{c}?force=true")


@test(users=("root",), timeout=60)
def errors_have_a_hint():
    need(ENGINE)
    with Daemon(env={**os.environ, "DOCKER_HOST": f"unix://{support.here('nothing')}"}) as d:
        ask = {"engine": "docker", "image": "tiny:1", "command": ["true"]}
        a = d.refused("engine_unavailable", "POST", "/v1/exec", ask, "docker not found")
        ensure("native" in a.json()["error"]["hint"], "the hint", a)
        health = d.get("/v1/health")["engines"]["docker"]
        same((health["available"], health["reason"][:16]), (False, "docker not found"), "health")
        d.ok("PATCH", "/v1/settings", {"docker": {"socket": need(ENGINE).socket}})
        same(d.post("/v1/exec", ask)["exit_code"], 0, "with the socket in the settings")
        health = d.get("/v1/health")["engines"]["docker"]
        same((health["available"], health["name"], health["rootless"]), (True, ENGINE, False), f"health: {health}")
        d.ok("PATCH", "/v1/settings", {"docker": {"runtime": "no-such-runtime"}})
        a = d.refused("engine_unavailable", "POST", "/v1/exec", ask, "no-such-runtime")
        ensure("runc" in a.json()["error"]["hint"], "the hint says which there are", a)
        d.ok("PATCH", "/v1/settings", {"docker": {"runtime": "runc"}})
        d.post("/v1/exec", ask)
        a = d.refused("invalid_request", "POST", "/v1/exec", {"engine": "docker", "command": ["true"]}, "host")
        d.refused("invalid_request", "PATCH", "/v1/settings", {"docker": {"socket": "relative"}})
        d.refused("invalid_request", "POST", "/v1/exec", {**ask, "engine": "vmware"})


@test(users=("user",), timeout=60)
def a_socket_that_is_not_ours_is_permission_denied():
    engine = engines.running.get(ENGINE)
    if not engine:
        raise support.Skip(engines.missing[ENGINE])
    r = run(engine, "--", "true")
    support.refused(r, 125, "permission denied on " + engine.socket)
    ensure("group" in r.err, "the hint says what to do", r)


@test(users=("root",), timeout=120)
def a_dead_engine_is_reported_and_found_again():
    with Place(ENGINE) as p:
        base = tempfile.mkdtemp(prefix="cella-", dir="/tmp")  # a path that has room for its sockets
        p.engine = engine = engines.Engine(ENGINE, base)  # not the engine that the other tests use
        try:
            engine.load("tiny:1", engines.root(), engines.IMAGES["tiny:1"])
            p.d.ok("PATCH", "/v1/settings", {"docker": {"socket": engine.socket}})
            sb = p.sandbox()
            engine.kill()
            ask = {**p.what, "image": "tiny:1", "command": ["true"]}
            p.d.refused("engine_unavailable", "POST", "/v1/exec", ask)
            r = p.d.post(p.path(sb, "/exec"), {"command": ["echo", "alive"]})
            same(r["stdout"], "alive\n", "the sandbox has its own way to us", r)
            p.d.delete(p.path(sb))
            engine.start()
            same(p.sh("echo back")["stdout"], "back\n", "when it is there again")
            left(engine, p.home, 30)
            p.d.stop()
        finally:
            engine.stop()
            os.rmdir(base)
            p.engine = None


@test(users=("root",), timeout=60)
def many_at_once_do_not_wait_for_each_other():
    with Place(ENGINE) as p:
        p.sh("true")
        begun = time.monotonic()
        streams = [p.d.events("POST", "/v1/exec", {**p.what, "image": "tiny:1", "command": ["sh", "-c", "sleep 4; echo done"]}) for _ in range(4)]
        for e in streams:
            with e:
                same(e.text()[0], "done\n", "each of them")
        support.within(time.monotonic() - begun, 14, "all of them, if one goes after the other,")


@test(users=("root",), timeout=60)
def the_server_has_no_way_to_the_engine():
    """Neither its descriptors nor its user give access; and the helper that has access has only three capabilities, which it does not use."""
    with Place(ENGINE) as p:
        p.sandbox()
        server, docker = p.d.server_pid(), helper(p.d)
        status = support.read(f"/proc/{docker}/status")
        ways_out = 1 << 10 | 1 << 12 | 1 << 21  # see DOCKER_CAPABILITIES
        for name, value in (("CapInh", 0), ("CapEff", 0), ("CapAmb", 0), ("CapPrm", ways_out), ("CapBnd", ways_out)):
            ensure(f"{name}:\t{value:016x}" in status, f"{name} of cella-docker:\n{status}")
        ensure("NoNewPrivs:\t1" in status, "and can not be filled")
        sockets = subprocess.run(["ss", "-xnpH"], capture_output=True, text=True, check=False).stdout if os.path.exists("/usr/bin/ss") else ""
        ensure(not any(p.engine.socket in line and f"pid={server}," in line for line in sockets.splitlines()), "the server is not connected to it")
        ensure(os.stat(f"/proc/{server}").st_uid != os.stat(p.engine.socket).st_uid, "it is another user's")
