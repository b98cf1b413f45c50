"""A fake engine that sends invalid answers, none, or errors: each is reported, and none ends the daemon."""

import json
import os
import time

import support
from fake import ID, IMAGE, Fake
from support import ensure, same, test


def run(fake, *words, image="some:1", rc=125, **kwargs):
    env = {**os.environ, "DOCKER_HOST": f"unix://{fake.path}", "CELLA_STATE": support.here("state")}
    r = support.cella(["run", "--engine", "docker", "--image", image, *(words or ("--", "true"))], env=env, timeout=60, **kwargs)
    same(r.rc, rc, "exit status", r)
    same(os.listdir(support.here("state-docker")), [], "what is left", r)
    return r


def refused(answers, *parts, seconds=10, **kwargs):
    with Fake(answers) as fake:
        begun = time.monotonic()
        r = run(fake, **kwargs)
        support.within(time.monotonic() - begun, seconds, "the answer", r)
        for part in parts:
            ensure(part in r.err, f"the message does not say {part!r}", r)
        return fake.seen


def removed(seen):
    return [line for line, _ in seen if line.startswith(f"DELETE /containers/{ID}")]


@test
def invalid_answers_of_an_engine_are_reported():
    refused({"GET /info": (200, b"hello")}, "invalid answer")
    refused({"GET /info": (200, {"ServerVersion": 5})}, "invalid answer")
    refused({"GET /info": (200, [])}, "invalid answer")
    refused({"GET /info": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"}, "broke off")
    refused({"GET /_ping": b"\x00\x01\x02\x03 what\r\n\r\n"}, "the container engine at")
    refused({"GET /_ping": (404, {"message": "x"})}, "is not a container engine")
    refused({"GET /images/": (200, {"Id": "../../etc", "Config": {}})}, "invalid description")
    refused({"GET /images/": (200, {**IMAGE, "Config": {"Env": "A=b"}})}, "invalid description")
    refused({"POST /containers/create": (201, {"Id": "x/../../images"})}, "without an id")


@test
def an_answer_without_end_is_cut():
    def flood(handler):
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b"x" * 65536)
        except OSError:
            pass
        handler.close_connection = True
        return b""

    refused({"GET /info": flood}, "without end")


@test(timeout=60)
def an_engine_that_does_not_answer_times_out():
    def silent(handler):
        time.sleep(30)
        return b""

    refused({"GET /_ping": silent}, "did not answer within 5 s", seconds=20)


@test
def a_refusal_is_reported_in_the_words_of_the_engine():
    seen = refused({"POST /containers/create": (500, {"message": "disk is\nfull \x1b[31m"})}, "cannot make a container: disk is full  [31m")
    same(removed(seen), [], "nothing was made")
    seen = refused({f"POST /containers/{ID}/start": (500, {"message": "OCI runtime: no"})}, "cannot start the container: OCI runtime: no")
    same(len(removed(seen)), 1, "what was made is removed")
    refused({"POST /containers/create": (400, {"message": "minimum memory"})}, "minimum memory", rc=2)


@test
def a_runtime_without_sockets_gives_a_hint_to_attach():
    state = {"State": {"Running": False, "ExitCode": 111, "Error": ""}}
    seen = refused({f"GET /containers/{ID}/json": (200, state)}, "lets no socket", "docker.transport to attach")
    same(len(removed(seen)), 1, "what was made is removed")
    state = {"State": {"Running": False, "ExitCode": 127, "Error": "exec format error"}}
    refused({f"GET /containers/{ID}/json": (200, state)}, "status 127: exec format error")


@test
def the_requested_container_has_every_wall():
    image = {**IMAGE, "Config": {**IMAGE["Config"], "Volumes": {"/data": {}, "/tmp": {}, "/tmp/deep": {}}, "Healthcheck": {"Test": ["CMD", "evil"]}}}
    with Fake({"GET /images/": (200, image)}) as fake:
        run(fake, "--memory", "100M", "--cpus", "0.5", "--processes", "40", "--", "true")
        made = next(body for line, body in fake.seen if line.startswith("POST /containers/create"))
    host = made["HostConfig"]
    same((host["Memory"], host["MemorySwap"], host["NanoCpus"], host["PidsLimit"]), (100 << 20, 100 << 20, 500000000, 41), "limits")
    same((host["CapDrop"], host["SecurityOpt"], host["ReadonlyRootfs"], host["Privileged"]), (["ALL"], ["no-new-privileges"], True, False), "privilege")
    same((host["NetworkMode"], host["IpcMode"], host["CgroupnsMode"]), ("none", "private", "private"), "namespaces")
    same(sorted(host["Tmpfs"]), ["/run", "/tmp", "/workspace"], "what can be written to")
    ensure(all("size=" in o and "nosuid" in o and "nodev" in o for o in host["Tmpfs"].values()), f"each has a limit: {host['Tmpfs']}")
    same([(m["Type"], m["Target"]) for m in host["Mounts"]], [("bind", "/.cella"), ("tmpfs", "/data"), ("tmpfs", "/tmp/deep")], "a volume of the image is no disk of the host's")
    ensure(host["Mounts"][0]["ReadOnly"], "ours is read-only")
    same(made["Healthcheck"], {"Test": ["NONE"]}, "nothing of the image runs beside us")
    same((made["Entrypoint"], made["Cmd"]), (["/.cella/init"], ["--join", "/.cella/s"]), "the command")
    same(made["Image"], "cd" * 32, "the container uses the id of the image that was checked, because its name may have been moved")
    ensure(made["Labels"]["cella.sandbox"].startswith("sbx_"), "labels")


@test
def the_requested_container_shows_the_same_proc_as_a_sandbox():
    """All that this kernel has in /proc and /proc/sys is hidden, but what jail/proc_shown.h lists."""
    shown = {"cpuinfo", "filesystems", "loadavg", "meminfo", "mounts", "net", "self", "stat", "sys", "sysvipc", "thread-self", "uptime", "version"}
    hidden = {f"/proc/{n}" for n in os.listdir("/proc") if not n.isdigit() and n not in shown}
    settings = {os.path.join(d, f) for d, _, files in os.walk("/proc/sys") for f in files if not d.startswith("/proc/sys/net")}
    kept = {f"/proc/sys/{n}" for n in ("fs/file-max", "fs/nr_open", "fs/pipe-max-size", "kernel/cap_last_cap", "kernel/hostname", "kernel/ngroups_max",
                                       "kernel/osrelease", "kernel/ostype", "kernel/pid_max", "kernel/random/uuid", "kernel/threads-max", "kernel/version",
                                       "vm/max_map_count", "vm/mmap_min_addr", "vm/overcommit_memory", "crypto/fips_enabled")}  # fmt: skip
    for podman in (False, True):
        with Fake(podman=podman) as fake:
            run(fake, "--", "true")
            host = next(body for line, body in fake.seen if "/containers/create" in line)["HostConfig"]
        masks = [o[5:] for o in host["SecurityOpt"] if o.startswith("mask=")] if podman else host["MaskedPaths"]
        same(hidden - set(masks), set(), "entries of /proc that are not hidden")
        same({s for s in settings if not any(s == m or s.startswith(m + "/") for m in masks)}, kept & settings, "settings that are shown")
        same({m for m in masks if m.split("/")[2] in shown and m.count("/") == 2}, set(), "entries that are hidden by mistake")
        same(len(masks), len(set(masks)), "each once")
        ensure({"/sys/firmware", "/proc/kcore", "/proc/asound"} <= set(masks), "what engines hide by default", masks)


@test
def an_image_with_a_volume_in_a_strange_place_is_refused():
    for path in ("/dev/shm", "/x/../data", "//tmp", "/./.cella", "/.cella", "/proc/x", "/", "data", "/a\nb"):
        image = {**IMAGE, "Config": {**IMAGE["Config"], "Volumes": {"/data": {}, path: {}}}}
        with Fake({"GET /images/": (200, image)}) as fake:
            run(fake, "--", "true")
            same([line for line, _ in fake.seen if line.startswith("POST /containers/create")], [], f"containers for a volume at {path!r}")


@test
def an_image_is_pulled_only_if_that_is_allowed():
    from daemon import Daemon

    state = {"there": False}

    def look(_):
        return (200, IMAGE) if state["there"] else (404, {"message": "no such image"})

    def pull(_):
        if state.get("fails"):
            return 200, json.dumps({"status": "Pulling"}).encode() + b"\r\n" + json.dumps({"error": "denied: no\nway"}).encode()
        state["there"] = True
        return 200, b"".join(json.dumps({"status": "Downloading", "id": str(i)}).encode() + b"\r\n" for i in range(5000))

    with Fake({"GET /images/": look, "POST /images/create": pull}) as fake, Daemon(env={**os.environ, "DOCKER_HOST": f"unix://{fake.path}"}) as d:
        ask = {"engine": "docker", "image": "team/tool", "command": ["true"]}
        d.ok("PATCH", "/v1/settings", {"images": {"pull": "never"}})
        a = d.refused("not_found", "POST", "/v1/exec", ask, "no image 'team/tool'")
        ensure("docker pull team/tool" in a.json()["error"]["hint"], "the hint", a)
        d.ok("PATCH", "/v1/settings", {"images": {"pull": "missing", "registries": ["registry.example"]}})
        d.refused("not_found", "POST", "/v1/exec", ask, "no image 'team/tool'")  # that registry is not among them
        d.ok("PATCH", "/v1/settings", {"images": {"registries": ["docker.io"]}})
        state["fails"] = True
        d.refused("not_found", "POST", "/v1/exec", ask, "denied: no way")
        state["fails"] = False
        d.refused("engine_unavailable", "POST", "/v1/exec", ask, "status 1")  # the image was pulled, and the request continues
        same([line for line, _ in fake.seen if "fromImage" in line][-1], "POST /images/create?fromImage=team%2Ftool%3Alatest", "what was pulled")


@test
def a_podman_and_its_user_namespace_are_seen():
    from daemon import Daemon

    info = {"ServerVersion": "4.9", "Runtimes": {"crun": {}, "runsc": {}, "bad name": {}}, "DefaultRuntime": "crun", "CgroupVersion": "2", "SecurityOptions": ["name=rootless"]}
    with Fake({"GET /info": (200, info)}, podman=True) as fake, Daemon(env={**os.environ, "DOCKER_HOST": f"unix://{fake.path}"}) as d:
        same(d.get("/v1/health")["engines"]["docker"], {
            "available": True, "name": "podman", "version": "4.9", "api": "1.99", "socket": fake.path, "runtime": "crun",
            "runtimes": ["crun", "runsc"], "rootless": True, "cgroup": 2}, "what health says")  # fmt: skip


@test
def an_old_engine_is_used_with_a_warning():
    from daemon import Daemon

    for podman, version, oldest in ((False, "20.10.24+dfsg1", 24), (False, "24.0.0", None), (False, "dev", None), (True, "3.4.4", 4), (True, "4.0.0-rc1", None), (True, "10.1", None)):
        info = {"ServerVersion": version, "Runtimes": {"runc": {}}, "DefaultRuntime": "runc", "CgroupVersion": "2", "SecurityOptions": []}
        with Fake({"GET /info": (200, info)}, podman=podman) as fake, Daemon(env={**os.environ, "DOCKER_HOST": f"unix://{fake.path}"}, name=f"state-{version}") as d:
            h = d.get("/v1/health")["engines"]["docker"]
            same(h["available"], True, "it is used")
            name = "Podman" if podman else "Docker"
            same(h.get("warning"), oldest and f"{name} {version} is older than version {oldest}, the oldest that Cella supports", version)


@test
def a_long_error_of_a_pull_keeps_its_cause():
    from daemon import Daemon

    cause = "dial tcp 203.0.113.9:443: connect: connection refused"
    error = f"initializing source docker://registry.example/team/tool:latest: pinging container registry registry.example: {'Get https://registry.example/v2/: ' * 4}{cause}"
    lines = json.dumps({"error": error}).encode() + b"\n"
    for answer in ((200, lines), (500, {"cause": cause, "message": error, "response": 500})):
        with Fake({"GET /images/": (404, {"message": "none"}), "POST /images/create": answer}, podman=True) as fake, Daemon(env={**os.environ, "DOCKER_HOST": f"unix://{fake.path}"}, name=f"state{answer[0]}") as d:
            d.ok("PATCH", "/v1/settings", {"images": {"pull": "missing", "registries": ["registry.example"]}})
            a = d.request("POST", "/v1/exec", {"engine": "docker", "image": "registry.example/team/tool", "command": ["true"]})
            message = a.json()["error"]["message"]
            ensure(message.endswith(cause) and "initializing source" in message and " ... " in message, "the message", a)
