"""Container engines for tests: a Podman service and a dockerd of our own, each with its own store, socket and control
group, so that nothing of this machine's is touched; and the images they have, made of this machine's own programs."""

import contextlib
import glob
import hashlib
import http.client
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import time
from urllib.parse import quote

import images

PROGRAMS = ("sh", "cat", "dd", "echo", "env", "head", "id", "kill", "ls", "mkdir", "rm", "seq", "sleep", "stat", "stty", "touch", "true", "wc")
PYTHON = ("", "collections", "encodings", "importlib", "json", "lib-dynload", "re", "concurrent", "concurrent/futures", "ctypes", "email", "http", "logging", "urllib")
GROUPS = "/sys/fs/cgroup"

running = {}  # name: Engine, for the tests of this run
missing = {}  # name: why this engine is missing
all_of_them = False  # with gVisor


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=60):
        super().__init__("engine", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def add_file(tar, name, data=b"", mode=0o644, kind=tarfile.REGTYPE, link=""):
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.size, entry.linkname = kind, mode, len(data), link
    tar.addfile(entry, io.BytesIO(data))


def root():
    """A root directory as `docker import` takes it: a shell, what goes with it, and python3."""
    ask = "import os, sys, _ctypes; print(os.path.dirname(os.__file__)); print('.'.join(map(str, sys.version_info[:2]))); print(_ctypes.__file__)"
    library, version, ctypes = subprocess.run(["/usr/bin/python3", "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    programs, libraries = images.needs((*PROGRAMS, "/usr/bin/python3"))
    needed = subprocess.run(["ldd", ctypes], capture_output=True, text=True, check=True).stdout
    libraries = {*libraries, *(word for word in needed.split() if word[0] == "/")}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        made = set()

        def add(source, name):
            parts = os.path.dirname(name).split("/")
            for i in range(1, len(parts) + 1):
                directory = "/".join(parts[:i])
                if directory and directory not in made:
                    made.add(directory)
                    add_file(tar, directory, mode=0o755, kind=tarfile.DIRTYPE)
            tar.add(source, name, filter=lambda e: e)

        for name, path in programs.items():
            add(path, "usr/bin/" + (f"python{version}" if name == "python3" else name))
        add_file(tar, "usr/bin/python3", kind=tarfile.SYMTYPE, link=f"python{version}")
        add_file(tar, "bin", kind=tarfile.SYMTYPE, link="usr/bin")
        for path in sorted(libraries):
            add(os.path.realpath(path), path[1:])
        for directory in PYTHON:
            for name in sorted(os.listdir(os.path.join(library, directory))):
                path = os.path.join(library, directory, name)
                if os.path.isfile(path) and not name.startswith("pydoc"):
                    add(path, os.path.relpath(path, "/"))
        for directory, mode in (("etc", 0o755), ("tmp", 0o1777), ("root", 0o700), ("app", 0o755), ("data", 0o777)):
            add_file(tar, directory, mode=mode, kind=tarfile.DIRTYPE)
        add_file(tar, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\napp:x:501:502::/app:/bin/sh\n")
        add_file(tar, "etc/group", b"root:x:0:\napp:x:502:\n")
        add_file(tar, "etc/mark", b"the image\n")
    return out.getvalue()


# As in a Dockerfile, and as in the configuration of an image.
IMAGES = {
    "tiny:1": {"Env": ["PATH=/usr/bin", "FROM_IMAGE=yes"], "Cmd": ["sh", "-c", "echo the image"]},
    "app:1": {"Env": ["PATH=/usr/bin"], "User": "app", "WorkingDir": "/app", "Entrypoint": ["sh", "-c"], "Cmd": ["id -u; pwd"],
              "Volumes": {"/data": {}}},
}  # fmt: skip


def changes(config):
    words = {"User": "USER", "WorkingDir": "WORKDIR", "Entrypoint": "ENTRYPOINT", "Cmd": "CMD", "Volumes": "VOLUME"}
    for name, value in config.items():
        if name == "Env":
            yield from (f"ENV {pair}" for pair in value)
        else:
            yield f"{words[name]} " + (value if isinstance(value, str) else json.dumps(list(value)))


def saved(name, layer, config):
    """Returns an archive as `docker save` writes it."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    digest = "sha256:" + hashlib.sha256(layer).hexdigest()
    about = {"architecture": machine, "os": "linux", "config": config, "rootfs": {"type": "layers", "diff_ids": [digest]}}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        add_file(tar, "manifest.json", json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode())
        add_file(tar, "config.json", json.dumps(about).encode())
        add_file(tar, "layer.tar", layer)
    return out.getvalue()


def groups():
    """The control groups that are directly below each hierarchy."""
    return {path for hierarchy in glob.glob(f"{GROUPS}/*/") for path in glob.glob(f"{hierarchy}*/")} | set(glob.glob(f"{GROUPS}/*/"))


# gVisor without a network, which is all that can be had without a bridge, and by the way that needs no kernel of a kind.
GVISOR = """#!/bin/sh
exec runsc --network=none --platform=ptrace "$@"
"""

# What runc makes, but for sockets of the host: they have no other end.
NO_SOCKETS = """#!/usr/bin/python3
import json, os, stat, sys
if "--bundle" in sys.argv and "create" in sys.argv:
    path = os.path.join(sys.argv[sys.argv.index("--bundle") + 1], "config.json")
    with open(path) as f:
        config = json.load(f)
    for mount in list(config["mounts"]):
        source = mount.get("source", "")
        for name in os.listdir(source) if mount.get("type") == "bind" and os.path.isdir(source) else ():
            if stat.S_ISSOCK(os.lstat(os.path.join(source, name)).st_mode):
                config["mounts"].append({"destination": os.path.join(mount["destination"], name), "type": "bind", "source": "/dev/null", "options": ["bind", "ro"]})
    with open(path, "w") as f:
        json.dump(config, f)
os.execvp("runc", ["runc", *sys.argv[1:]])
"""


def runtimes(at):
    """Returns {name: path} of the additional OCI runtimes of our dockerd."""
    found = {"nosockets": NO_SOCKETS, **({"runsc": GVISOR} if shutil.which("runsc") else {})}
    for name, text in found.items():
        path = found[name] = os.path.join(at, name)
        if not os.path.exists(path):
            with open(path, "w") as f:
                f.write(text)
            os.chmod(path, 0o755)
    return found


class Engine:
    """A running container engine."""

    def __init__(self, name, base, runtime=None):
        """runtime: for Podman, the OCI runtime of engines.runtimes() to use as the default."""
        self.name, self.base = name, os.path.join(base, name)
        self.socket = os.path.join(self.base, "s")
        os.makedirs(self.base)
        self.runtime = runtimes(self.base)[runtime] if runtime else "runc"
        self.log = os.path.join(self.base, "log")
        self.process = None
        self.before = groups()
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def words(self):
        at = self.base
        if self.name == "podman":
            return ["podman", "--root", f"{at}/root", "--runroot", f"{at}/run", "--tmpdir", f"{at}/tmp", "--runtime", self.runtime,
                    "--cgroup-manager", "cgroupfs", "--events-backend=file", "--storage-driver", "overlay", "system", "service",
                    "--time=0", f"unix://{self.socket}"]  # fmt: skip
        return ["dockerd", "--data-root", f"{at}/root", "--exec-root", f"{at}/run", "--pidfile", f"{at}/pid", "-H", f"unix://{self.socket}",
                "--iptables=false", "--ip6tables=false", "--bridge=none", "--ip-forward=false", "--ip-masq=false",
                "--storage-driver", "overlay2", "--cgroup-parent", f"/cella-test-{os.getpid()}",
                "--containerd-namespace", f"cella{os.getpid()}", "--containerd-plugins-namespace", f"cellap{os.getpid()}",
                *(f"--add-runtime={name}={path}" for name, path in runtimes(at).items())]  # fmt: skip

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.words(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=self.base,
                                            env={"PATH": os.environ["PATH"], "HOME": self.base, "TMPDIR": self.base})  # fmt: skip
        until = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                if self.request("GET", "/_ping")[0] == 200:
                    return
            if self.process.poll() is not None or time.monotonic() > until:
                with open(self.log, errors="backslashreplace") as log:
                    raise RuntimeError(f"{self.name} does not start:\n{log.read()[-1500:]}")
            time.sleep(0.05)

    def request(self, method, target, body=None, headers=None, timeout=60):
        c = UnixConnection(self.socket, timeout)
        try:
            if isinstance(body, (dict, list)):
                body, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
            c.request(method, target, body, headers or {})
            r = c.getresponse()
            return r.status, r.read()
        finally:
            c.close()

    def load(self, name, data, config):
        """The image's id."""
        query = "&".join("changes=" + quote(c, safe="") for c in changes(config))
        repository, tag = name.split(":")
        status, said = self.request("POST", f"/images/create?fromSrc=-&repo={repository}&tag={tag}&{query}", data, {"Content-Type": "application/x-tar"})
        if status != 200 or b'"error"' in said:
            raise RuntimeError(f"{self.name} does not import: {said[:500]}")
        image = json.loads(said.strip().splitlines()[-1])["status"].removeprefix("sha256:")
        self.request("POST", f"/images/{image}/tag?repo={repository}&tag={tag}")  # Podman does not do this by itself
        return image

    def containers(self, home=None):
        """Returns the ids of all containers, running or not; with `home`, of those with this label."""
        for _ in range(20):
            status, said = self.request("GET", "/containers/json?all=true")
            if status != 500:  # Podman's answer while a container is dying
                break
            time.sleep(0.1)
        if status != 200:
            raise RuntimeError(f"{self.name}: {said[:300]}")
        return [c["Id"] for c in json.loads(said) if home is None or c["Labels"].get("cella.home") == home]

    def inspect(self, container):
        status, said = self.request("GET", f"/containers/{container}/json")
        if status != 200:
            raise RuntimeError(f"{self.name}: {said[:300]}")
        return json.loads(said)

    def kill(self):
        """Kills the service; its containers continue to run."""
        self.process.kill()
        self.process.wait()
        self.end_strays(only=b"containerd\0")
        with contextlib.suppress(OSError):  # otherwise the next service would consider an unreaped process alive
            os.unlink(f"{self.base}/run/containerd/containerd.pid")

    def stop(self):
        if self.process.poll() is None:
            with contextlib.suppress(OSError, RuntimeError):
                for c in self.containers():
                    self.request("DELETE", f"/containers/{c}?force=true&v=true")
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.end_strays()
        for _ in range(20):
            mounts = [line.split()[4] for line in open("/proc/self/mountinfo") if self.base in line]
            if not mounts:
                break
            for path in reversed(mounts):
                subprocess.run(["umount", "-l", path], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(self.base, ignore_errors=True)
        # Empty groups may be in use by another daemon.
        left = [path for path in groups() - self.before if not re.search(r"/cella-\d+/$", path)]
        for path in sorted(left, key=len, reverse=True):
            for below, _, _ in os.walk(path, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(below)

    def end_strays(self, only=b""):
        """Processes that have our directory in their command line: containerd, shims, monitors."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/cmdline", "rb") as f:
                    words = f.read()
                if int(name) != os.getpid() and (self.base + "/").encode() in words and only in words:
                    os.kill(int(name), signal.SIGKILL)


native = ""  # a state directory with the same images in its store


def start(names, base, cella):
    """Starts the engines that are on this machine, each with the same images."""
    global native
    data = root()
    native = os.path.join(base, "native")
    for image, config in IMAGES.items():
        path = os.path.join(base, "image.tar")
        with open(path, "wb") as f:
            f.write(saved(image, data, config))
        subprocess.run([cella, "image", "import", "--state", native, path, image], check=True, stdout=subprocess.DEVNULL)
        os.unlink(path)
    for name in names:
        program = {"podman": "podman", "docker": "dockerd"}[name]
        if os.geteuid() != 0:
            missing[name] = "not started as root"
        elif not shutil.which(program):
            missing[name] = f"no {program} on this machine"
        else:
            engine = running[name] = Engine(name, base)
            for image, config in IMAGES.items():
                engine.load(image, data, config)


def stop():
    for engine in running.values():
        engine.stop()
    running.clear()
