"""Versions side by side, of real roots: Debian's bookworm and trixie, node 18 and 22 as the npm registry has them.

They are looked for in the directory CELLA_TEST_CACHE: bookworm.tar and trixie.tar, as mmdebstrap makes them with python3 in
them, and node18.tgz and node22.tgz.  With CELLA_TEST_ALL=1 what is not there is got from Debian's mirror and the npm
registry, and kept in that directory, if there is one."""

import io
import os
import pathlib
import platform
import shutil
import subprocess
import tarfile
import tempfile

import images
import support
from daemon import Daemon
from support import Skip, cella, ensure, same, test, until

ALL = os.environ.get("CELLA_TEST_ALL") == "1"
CACHE = os.environ.get("CELLA_TEST_CACHE")
NODE = "node-linux-" + {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]


def get(name):
    """Returns a file of the cache; makes it if that is allowed."""
    cache = pathlib.Path(CACHE or support.home)
    path = cache / name
    if path.exists():
        return path
    if not ALL:
        raise Skip("real roots take minutes: CELLA_TEST_ALL=1, or CELLA_TEST_CACHE")
    part = cache / f"{name}.part"
    if name.endswith(".tar"):
        command = ["mmdebstrap", "--format=tar", "--variant=minbase", "--include=python3", name.removesuffix(".tar"), part, "http://deb.debian.org/debian"]
    else:
        version = name.removeprefix("node").removesuffix(".tgz")
        command = ["sh", "-c", f"cd {cache} && mv \"$(npm pack --silent {NODE}@{version})\" {part.name}"]
    r = subprocess.run(command, capture_output=True, text=True, check=False)
    ensure(r.returncode == 0, f"{name} cannot be had: {r.stderr[-500:]}")
    return part.rename(path)


def node_root(path):
    """A root directory with this node and the libraries it needs, as a tar."""
    directory = tempfile.mkdtemp()
    header = "include/node/node_version.h"  # the version is read from this header
    with tarfile.open(path) as package:
        package.extract("package/bin/node", directory)
        package.extract(f"package/{header}", directory)
    node = os.path.join(directory, "package/bin/node")
    programs, libraries = images.needs(("sh",))
    needed = subprocess.run(["ldd", node], capture_output=True, text=True, check=True).stdout
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.add(node, "usr/local/bin/node")
        tar.add(os.path.join(directory, "package", header), f"usr/local/{header}")
        tar.add(programs["sh"], "bin/sh")
        for library in sorted({*libraries, *(word for word in needed.split() if word[0] == "/")}):
            tar.add(os.path.realpath(library), library[1:])
    shutil.rmtree(directory)
    return out.getvalue()


def pool(d):
    return d.get("/v1/pools")["pools"][0]


def pooled(d, runtime, code, image):
    """Returns the output of code that a pooled interpreter runs."""
    until(lambda: pool(d)["available"], 60, f"a {runtime} that waits")
    hits = pool(d)["hits"]
    r = d.exec(runtime, code, image=image, timeout=120)
    same((r["exit_code"], pool(d)["hits"]), (0, hits + 1), f"exit code, and hits of {runtime}", r["stderr"])
    return r["stdout"]


# A libc may keep the state of random numbers in the process (glibc 2.41): no two from one template have the same, and no child its parent's.
RANDOM = """
import os, random, sys, uuid
print(os.urandom(8).hex(), uuid.uuid4(), random.random(), random.SystemRandom().random())
sys.stdout.flush()
if os.fork() == 0:
    print(os.urandom(8).hex())
    sys.stdout.flush()
    os._exit(0)
os.wait()
print(os.urandom(8).hex())
"""


def random_each_time(d, runtime, image):
    words = [word for _ in range(3) for word in pooled(d, runtime, RANDOM, image).split()]
    same((len(words), len(set(words))), (18, 18), f"random numbers, and different ones: {words}")


@test(users=("root",), timeout=900)
def versions_of_python_and_node_run_side_by_side():
    roots = {name: get(f"{name}.tar") for name in ("bookworm", "trixie")}
    nodes = {name: get(f"{name}.tgz") for name in ("node18", "node22")}
    settings = {"images": {"pull": "never"}, "default_runtimes": {"python": "python3.13", "node": "node22"},
                "runtimes": {"python3.11": {"image": "bookworm"}, "python3.13": {"image": "trixie"},
                             "node18": {"image": "node18"}, "node22": {"image": "node22"}}}  # fmt: skip
    with Daemon(settings=settings) as d:
        store = {**os.environ, "CELLA_STATE": d.state}
        for name, path in roots.items():
            r = cella(["image", "import", path, name], env=store, timeout=300)
            same(r.rc, 0, f"the import of {name}", r)
        for name, path in nodes.items():
            r = cella(["image", "import", "-", name], input=node_root(path), env=store, timeout=300)
            same(r.rc, 0, f"the import of {name}", r)
        python = "import sys, sqlite3, ssl, json; print(*sys.version_info[:2])"
        for runtime, version in (("python3.11", "3 11"), ("python3.13", "3 13"), ("python", "3 13")):
            same(d.exec(runtime, python, timeout=120)["stdout"], f"{version}\n", runtime)
        for runtime, version in (("node18", "18"), ("node22", "22"), ("node", "22")):
            same(d.exec(runtime, "console.log(process.versions.node.split('.')[0])", timeout=120)["stdout"], f"{version}\n", runtime)
        # Interpreters of another version than this machine's wait in a pool, too.
        for runtime, image, waits, code in (("python3.13", "trixie", "template", "import json, sys; print(json.dumps(sys.version_info[:2]))"),
                                            ("node22", "node22", "started", "console.log(process.versions.node.split('.')[0])")):  # fmt: skip
            preload = {"preload": ["json"]} if waits == "template" else {}
            plain = d.exec(runtime, code, image=image, timeout=120)["stdout"]
            d.ok("PATCH", "/v1/settings", {"pools": [{"runtime": runtime, "size": 1, "image": image, **preload}]})
            p = until(lambda: pool(d)["available"] and not pool(d)["making"] and pool(d), 60, f"a {runtime} that waits")
            same((p["runtime"], p["waits"], p["problem"]), (runtime, waits, None), "the pool")
            same(pooled(d, runtime, code, image), plain, f"what the {runtime} of the pool printed")
            if waits == "template":
                random_each_time(d, runtime, image)
        d.refused("runtime_not_found", "POST", "/v1/exec", {"runtime": "node20", "code": "1", "image": "node22"}, "node20", timeout=120)
        rows = cella(["runtime", "ls", "--json"], env=store, timeout=120).json()["runtimes"]
        found = {(r["image"], r["name"]): r["version"] for r in rows}
        for image, name, version in (("bookworm", "python3.11", "3.11."), ("trixie", "python3.13", "3.13."), ("node18", "node", "18."), ("node22", "node", "22.")):
            ensure((found.get((image, name)) or "").startswith(version), f"{name} of {image} is {found.get((image, name))}")
