"""Created sandboxes of the engine docker survive a restart and a crash of the daemon: their workspace is a volume of the engine."""

import json
import os
import time

from place import NAMES, Place
from support import ensure, same, test, until


class Kept(Place):
    def volumes(self):
        status, said = self.engine.request("GET", "/volumes")
        same(status, 200, "the engine's list of volumes")
        return [v["Name"] for v in json.loads(said)["Volumes"] or [] if (v["Labels"] or {}).get("cella.home") == self.home]

    def marks(self):
        path = os.path.join(self.d.state, "workspaces")
        return os.listdir(path) if os.path.exists(path) else []

    def create(self, status=201, **more):
        return self.d.post("/v1/sandboxes", {**self.what, "image": "tiny:1", **more}, status)

    def run(self, id_, code):
        return self.d.post(f"/v1/sandboxes/{id_}/exec", {"runtime": "sh", "code": code})


def case(f):
    for name in NAMES[1:]:

        def run(name=name):
            with Kept(name) as p:
                f(p)

        run.__wrapped__ = f
        test(run, name=f"{f.__name__}_{name}", users=("root",), timeout=120)
    return f


def about(sandbox):
    return {k: sandbox[k] for k in ("id", "image", "limits", "metadata", "network", "workspace", "persistent", "created", "expires", "ttl_ms", "idle_timeout_ms")}


@case
def a_created_sandbox_survives_restarts_and_crashes(p):
    made = p.create(ttl_ms=3600000, metadata={"who": "me"}, limits={"open_files": 99, "memory_bytes": 100 << 20})
    same((made["persistent"], made["state"], "limit:disk" in made["isolation"]["missing"]), (True, "running", True), "made")
    p.run(made["id"], "mkdir -p .local/lib; echo one > file; echo lost > /tmp/file")
    for i, end in enumerate((p.d.restart, lambda: (p.d.kill(), p.d.start()))):
        end()
        now = p.d.get(f"/v1/sandboxes/{made['id']}")
        same((now["state"], about(now)), ("stopped", about(made)), f"the sandbox after end {i}")
        r = p.run(made["id"], "cat file; ls /tmp; ulimit -n; echo more >> file; ls -d .local/lib")
        same((r["stdout"], r["isolation"]["engine"]), ("one\n" + "more\n" * i + "99\n.local/lib\n", p.name), f"its files after end {i}")
    same(len(p.volumes()), 1, "volumes")
    p.d.delete(f"/v1/sandboxes/{made['id']}")
    until(lambda: p.volumes() == [] and p.marks() == [], 20, "the removal of its volume")
    p.d.restart()
    same(p.d.get("/v1/sandboxes"), {"sandboxes": []}, "a removed one does not come back")


@case
def the_user_of_the_image_may_write(p):
    for image, uid in (("tiny:1", "0\n"), ("app:1", "501\n")):
        made = p.create(image=image)
        p.run(made["id"], "echo x > file")
        p.d.restart()
        same(p.run(made["id"], "id -u; cat file")["stdout"], f"{uid}x\n", image)


@case
def a_volume_ends_with_its_sandbox(p):
    short, kept = p.create(ttl_ms=3600000)["id"], p.create(ttl_ms=3600000)["id"]
    p.d.post(f"/v1/sandboxes/{short}/keepalive", {"ttl_ms": 3000})
    p.d.kill()
    time.sleep(3)
    p.d.start()
    until(lambda: [s["id"] for s in p.d.get("/v1/sandboxes")["sandboxes"]] == [kept], 20, "the end of the short one")
    until(lambda: len(p.volumes()) == len(p.marks()) == 1, 20, "the end of its volume")
    # The daemon dies before it has removed the volume: the next one does.
    p.d.delete(f"/v1/sandboxes/{kept}")
    p.d.kill()
    p.d.start()
    until(lambda: p.volumes() == [] and p.marks() == [], 20, "the removal of the other volume")


@case
def only_our_own_volumes_are_used(p):
    made = p.create()
    p.d.stop()
    name, = p.volumes()
    same(p.engine.request("DELETE", f"/volumes/{name}?force=true")[0], 204, "the removal")
    same(p.engine.request("POST", "/volumes/create", {"Name": name, "Labels": {"cella.home": "/other"}})[0], 201, "another one's volume")
    p.d.start()
    p.d.refused("engine_unavailable", "POST", f"/v1/sandboxes/{made['id']}/exec", {"command": ["true"]}, "does not belong to this daemon")
    p.d.delete(f"/v1/sandboxes/{made['id']}")
    p.d.restart()
    same(p.engine.request("DELETE", f"/volumes/{name}")[0], 204, "it is still there")
    p.d.restart()


@case
def a_limit_on_disk_makes_a_sandbox_in_memory(p):
    made = p.create(limits={"disk_bytes": 4 << 20})
    same((made["persistent"], p.volumes()), (False, []), "sandbox")
    same(p.run(made["id"], "head -c 8000000 /dev/zero > x")["status"], "disk_limit", "the limit")
    p.d.refused("isolation_unavailable", "POST", "/v1/sandboxes", {**p.what, "image": "tiny:1", "limits": {"disk_bytes": 4 << 20}, "persistent": True}, "disk")
    made = p.create(persistent=False)
    same(made["persistent"], False, "chosen")
    p.d.restart()
    same(p.d.get("/v1/sandboxes"), {"sandboxes": []}, "after a restart")
    ensure(p.volumes() == [], "volumes")
