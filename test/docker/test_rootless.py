"""A Podman of an ordinary user's, without any right: that user's daemon has its sandboxes in it.

The user has a name and numbers to map in a mount namespace of the test's only.  Takes 15 s: with CELLA_TEST_ALL=1."""

import contextlib
import json
import os
import shutil
import signal
import tempfile

import engines
import support
from internet import Internet
from place import Place
from support import Skip, ensure, same, test
from test_way_out import NOT_ALLOWED, STANDARD, fetch

ALL = os.environ.get("CELLA_TEST_ALL") == "1"
# With its own files of users and of their uid ranges.
AS_USER = """
mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/numbers" /etc/subuid && mount --bind "$1/numbers" /etc/subgid || exit 1
user=$2; shift 2; exec setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
"""


class Rootless(engines.Engine):
    name = "podman"

    def __init__(self, base):
        self.user = support.ordinary_uid
        super().__init__("podman", base)

    def words(self):
        at, user = self.base, str(self.user)
        for path in ("", "/run", "/tmp"):
            os.makedirs(at + path, exist_ok=True)
            os.chown(at + path, self.user, self.user)
        support.write(f"{at}/passwd", f"root:x:0:0::/root:/bin/sh\nordinary:x:{user}:{user}::{at}:/bin/sh\n")
        support.write(f"{at}/numbers", "ordinary:2000000:65536\n")
        return ["unshare", "-m", "sh", "-c", AS_USER, "sh", at, user, "env", f"XDG_RUNTIME_DIR={at}/run", *super().words()]

    def stop(self):
        """Also kills the process that holds Podman's user namespace."""
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(support.read(f"{self.base}/tmp/pause.pid")), signal.SIGKILL)
        super().stop()


@contextlib.contextmanager
def rootless():
    if not ALL:
        raise Skip("only with CELLA_TEST_ALL=1")
    for program in ("podman", "newuidmap", "runc"):
        if not shutil.which(program):
            raise Skip(f"no {program} on this machine")
    os.chown(support.home, support.ordinary_uid, support.ordinary_uid)
    base = tempfile.mkdtemp(prefix="r", dir="/tmp")  # Podman takes no long names
    os.chmod(base, 0o755)
    engine = None
    try:
        engine = engines.running["rootless"] = Rootless(base)
        for image in ("tiny:1", "app:1"):
            engine.load(image, engines.root(), engines.IMAGES[image])
        yield engine
    finally:
        if engine:
            engine.stop()
        shutil.rmtree(base, ignore_errors=True)


@test(users=("root",), timeout=180)
def a_users_daemon_has_its_sandboxes_in_a_podman_without_rights():
    with Internet() as net, rootless() as engine, Place("rootless", user="user") as p:
        about = p.d.get("/v1/health", unix=True)["engines"]["docker"]
        same((about["available"], about["rootless"]), (True, True), f"what was found: {about}")
        r = p.sh("cat; cat /proc/self/uid_map; cat /etc/mark; exit 3", stdin="in\n")
        same((r["exit_code"], r["stdout"].split()), (3, ["in", "0", str(engine.user), "1", "1", "2000000", "65536", "the", "image"]), "root inside is the user outside", r)
        same(p.exec(image="app:1")["stdout"], "501\n/app\n", "the image's own user and directory")
        # Limits that need a control group are reported as missing or, if requested, refused; and no other group is counted.
        missing = r["isolation"]["missing"]
        ensure("user" in r["isolation"]["layers"] and "seccomp" in r["isolation"]["layers"], "the walls", r)
        for name, limits in (("limit:memory", {"memory_bytes": 64 << 20}), ("limit:cpus", {"cpus": 0.5}), ("limit:processes", {"processes": 9})):
            if name in missing:
                p.d.refused("isolation_unavailable", "POST", "/v1/exec", {**p.what, "image": "tiny:1", "command": ["true"], "limits": limits}, "does not enforce", unix=True)
            else:
                same(p.sh("true", limits=limits)["exit_code"], 0, f"with {limits}")
        if "limit:memory" in missing:
            ensure("cgroup" in missing, "a group without limits is no wall", r)
            ensure(r["usage"]["memory_peak_bytes"] < 100 << 20, "memory of others was counted", r)
        r = p.sh("head -c 3000000 /dev/zero >x", limits={"disk_bytes": 1 << 20})
        same(r["status"], "disk_limit", "a limit that needs no group", r)
        same(p.sh("sleep 60", timeout_ms=500)["status"], "timeout", "the time")
        sb = p.sandbox()
        p.d.ok("PUT", p.path(sb, "/files?path=a/b"), b"content", status=201, unix=True)
        same(p.d.post(p.path(sb, "/exec"), {"command": ["sh", "-c", "cat a/b; echo more >>a/b"]}, unix=True)["stdout"], "content", "a file")
        same(p.d.get(p.path(sb, "/files?path=a/b"), unix=True), b"contentmore\n", "the file that was changed")
        p.d.delete(p.path(sb), unix=True)
        # Tiers, by our own egress: it may enter the namespace, because it is the same user's.
        p.d.ok("PATCH", "/v1/settings", {"network": STANDARD}, unix=True)
        found, r = fetch(p, "http://ok.example/", "--proxy", "http://evil.example/")
        same((found["http://ok.example/"], found["http://evil.example/"][0]), ([200, "ok.example"], 403), "what it reached", json.dumps(r))
        same(r["violations"], [NOT_ALLOWED], "the refusal")
        found, r = fetch(p, "http://ok.example/", network={"tier": "restricted"})
        ensure(found["http://ok.example/"][0] != 200 and "network" not in r["usage"], "tier restricted", r)
        same([e["host"] for e in net.seen("http")], ["ok.example"], "what the other side saw")
