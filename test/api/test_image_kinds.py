"""Images that differ from this machine, in the daemon: another libc, missing programs; and waiting interpreters in them."""

import functools
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import images
from daemon import Daemon
from images import Image
from support import Skip, cella, ensure, same, test, until

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "image"))
import archives

LINKER = f"/lib/ld-musl-{platform.machine()}.so.1"
BUSYBOX = "/bin/busybox"
EVERYBODY = ("root", "user") if os.environ.get("CELLA_TEST_ALL") else ("root",)
WORDS = "sh cat echo env id ls mkdir pwd sleep stty test true".split()
PROGRAM = r"""
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
        const struct passwd *user = getpwuid(getuid());
        printf("musl %s %d\n", user ? user->pw_name : "?", argc);
        return 0;
}
"""


@functools.cache
def alpine():
    """An image as Alpine's are: musl, busybox, no bash, no python; as `docker save` would have written it."""
    if not shutil.which("musl-gcc") or not os.path.exists(LINKER):
        raise Skip("no musl-gcc")
    if not os.path.exists(BUSYBOX):
        raise Skip("no busybox")
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory, "program")
        subprocess.run(["musl-gcc", "-xc", "-", "-o", program], input=PROGRAM, text=True, check=True)
        binary = program.read_bytes()
    ensure(LINKER.encode() in binary, "the program is not linked dynamically")
    layer = archives.tar(
        archives.entry("bin/busybox", pathlib.Path(BUSYBOX).read_bytes(), mode=0o755),
        *(archives.symlink(f"bin/{word}", "/bin/busybox") for word in WORDS),
        archives.entry(LINKER[1:], pathlib.Path(LINKER).read_bytes(), mode=0o755),
        archives.entry("usr/bin/hello", binary, mode=0o755),
        archives.entry("etc/alpine-release", "3.20.3\n"),
        archives.entry("etc/passwd", "root:x:0:0:root:/root:/bin/ash\n"))  # fmt: skip
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    return archives.docker([layer], tags=["alpine:1"], architecture=architecture,
                           Env=["PATH=/usr/local/bin:/usr/bin:/bin"], Cmd=["/bin/sh"])  # fmt: skip


@test(users=EVERYBODY)
def an_image_of_another_libc_serves_code_commands_files_and_terminals():
    archive = alpine()
    with Daemon(settings={"images": {"pull": "never"}, "pools": [{"runtime": "sh", "size": 1, "image": "alpine:1"}]}) as d:
        ensure(d.request("POST", "/v1/images/import", archive, unix=True).status in (200, 201), "the import")
        until(lambda: d.get("/v1/pools")["pools"][0]["available"], 20, "a sandbox that is ready")
        for _ in range(2):  # a waiting interpreter, and a new one
            r = d.exec("sh", "hello; cat /etc/alpine-release; cat; echo $A $1; exit 3", image="alpine:1", args=["b c"],
                       env={"A": "a"}, stdin="in\n")  # fmt: skip
            same((r["exit_code"], r["stdout"], r["stderr"]), (3, "musl root 1\n3.20.3\nin\na b c\n", ""), "code")
        r = d.post("/v1/tools/execute_docker", {"image": "alpine:1", "command": "hello >x && cat x", "files": {"y": "1"}})
        same((r["exit_code"], r["stdout"]), (0, "musl root 1\n"), "execute_docker")
        for runtime in ("bash", "python3"):
            d.refused("runtime_not_found", "POST", "/v1/exec", {"runtime": runtime, "code": "1", "image": "alpine:1"}, runtime)
        d.refused("not_found", "POST", "/v1/exec", {"command": ["nothing"], "image": "alpine:1"}, "command not found: nothing")
        s = d.sandbox(image="alpine:1")
        d.put(s, "deep/er/file", b"content")
        same(d.exec("sh", "cat deep/er/file; echo more >>deep/er/file", sandbox=s)["stdout"], "content", "a file that was put")
        same(d.ok("GET", d.file(s, "deep/er/file")), b"contentmore\n", "a file that was changed")
        with d.websocket(f"/v1/sandboxes/{s}/terminal") as w:
            w.send("stty size; hello; echo $((6*7))\n".encode())
            w.read_until(b"musl root 1")
            w.read_until(b"42")
            w.send(b"exit 4\n")


@test(users=EVERYBODY)
def bash_and_node_of_an_image_wait_in_a_pool():
    node = shutil.which("node")
    if not node:
        raise Skip("no node")
    with Daemon(settings={"images": {"pull": "never"}, "pools": []}) as d:
        image = Image("tools", files=images.needs([*images.PROGRAMS, "bash", "node"]), where=d.state,
                      config={"env": ["PATH=/bin", "A=image"], "uid": 7, "gid": 8})  # fmt: skip
        image.done(os.stat(d.state).st_uid)
        before = images.tree(image.store)
        d.ok("PATCH", "/v1/settings", {"pools": [{"runtime": r, "size": 1, "image": "tools"} for r in ("bash", "node")]})
        for runtime, code, expected in (
            ("bash", 'x=(a b); echo "${x[1]} $A $(id -u) $PWD"; cat /etc/mark; exit 5', "b image 7 /workspace\ntools\n"),
            ("node", "const fs = require('fs'); console.log('b', process.env.A, process.getuid(), process.cwd());"
                     "process.stdout.write(fs.readFileSync('/etc/mark')); process.exitCode = 5", "b image 7 /workspace\ntools\n"),
        ):  # fmt: skip
            def look(runtime=runtime):
                return next(p for p in d.get("/v1/pools")["pools"] if p["runtime"] == runtime)

            for n in (1, 2):
                p = until(lambda: (p := look())["available"] and not p["making"] and p, 20, f"a {runtime} that waits")
                same((p["waits"], p["problem"]), ("started", None), f"how {runtime} waits")
                r = d.exec(runtime, code, image="tools")
                same((r["exit_code"], r["stdout"], r["stderr"]), (5, expected, ""), f"what {runtime} printed", json.dumps(r))
                same(look()["hits"], n, f"hits of {runtime}")
        same(images.tree(image.store), before, "the store")


@test(users=EVERYBODY, settings={"images": {"pull": "never", "max_bytes": 1 << 20}, "pools": []})
def the_bound_of_the_store_is_a_setting_and_holds_for_the_command_line_too(d):
    def archive(n):
        return archives.tar(archives.entry("f", os.urandom(n)))

    store = {**os.environ, "CELLA_STATE": d.state}
    said = "images may take 1 MiB of the disk (images.max_bytes)"
    d.ok("POST", "/v1/images/import?name=small", archive(300000), status=201, unix=True)
    d.refused("over_capacity", "POST", "/v1/images/import?name=large", archive(1500000), said, unix=True)
    r = cella(["image", "import", "-", "large"], input=archive(1500000), env=store)
    ensure(r.rc == 125 and said in r.err and "cella image gc" in r.err, "the command line", r)
    r = cella(["image", "import", "-", "other"], input=archive(300000), env=store)
    same(r.rc, 0, "what fits", r)
    d.refused("over_capacity", "POST", "/v1/images/import?name=third", archive(600000), said, unix=True)
    d.ok("PATCH", "/v1/settings", {"images": {"max_bytes": 0}}, unix=True)
    until(lambda: not os.path.exists(os.path.join(d.state, "images/max_bytes")), 20, "a store without a bound")
    same(cella(["image", "import", "-", "large"], input=archive(1500000), env=store).rc, 0, "what was too large")
    d.refused("invalid_request", "PATCH", "/v1/settings", {"images": {"max_bytes": -1}}, "max_bytes", unix=True)
    # A pool that was set while no daemon ran is in force when the daemon starts.
    d.ok("PATCH", "/v1/settings", {"images": {"max_bytes": 2 << 20}}, unix=True)
    until(lambda: os.path.exists(os.path.join(d.state, "images/max_bytes")), 20, "the bound")
    os.unlink(os.path.join(d.state, "images/max_bytes"))
    d.restart()
    until(lambda: os.path.exists(os.path.join(d.state, "images/max_bytes")), 20, "the bound after a start")
