"""Runs cella-image as its owners do: a socket as descriptor 3, a store as descriptor 4."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import tempfile
import time

USER = 12345  # as root, it is run as this unused uid


def read_document(path):
    """An image's document, a file of meta/ (src/image/store/document.c)."""
    with open(path, "rb") as f:
        version, *records, end = f.read().decode().split("\0")
    assert (version, end) == ("cella-image 1", ""), (version, end)
    config = {"env": [], "cwd": "", "user": "", "uid": 0, "gid": 0, "entrypoint": [], "cmd": [], "labels": {}}
    found = {"layers": [], "config": config, "runtimes": []}
    for i, record in enumerate(records):
        key, _, value = record.partition(" ")
        if key == "layer":
            found["layers"].append(value)
        elif key == "label":
            config["labels"][value] = records[i + 1][1:]
        elif key == "runtime":
            found["runtimes"].append({"name": value, "program": records[i + 1][1:]})
        elif key in ("env", "entrypoint", "cmd"):
            config[key].append(value)
        elif not record.startswith("="):
            place = config if key in config else found
            place[key] = int(value) if key in ("created_ms", "bytes", "files", "uid", "gid") else value
    return {**found, "digest": found.get("digest") or None}


class Imager:
    def __init__(self, program, store=None, env=None, wrapper=(), wait=60):
        self.program, self.env, self.wrapper, self.wait = program, env or {}, list(wrapper), wait
        self.made = None
        if store is None:
            self.made = store = tempfile.mkdtemp(prefix="cella-store-")
            if os.getuid() == 0:
                os.chown(store, USER, USER)
        self.store, self.last, self.pid, self.socket = store, 0, 0, None
        self.start()

    def start(self):
        ours, theirs = socket.socketpair()
        directory = os.open(self.store, os.O_RDONLY | os.O_DIRECTORY)
        low = [fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, 10), fcntl.fcntl(directory, fcntl.F_DUPFD_CLOEXEC, 10)]
        command = self.wrapper + [self.program]
        if os.getuid() == 0:
            rights = ["--inh-caps=-all", "--bounding-set=-all"] if not self.wrapper else ["--inh-caps=-all"]
            command = self.wrapper + ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", *rights, self.program]
        sanitizers = {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **sanitizers, **self.env}
        self.pid = os.posix_spawnp(command[0], command, env, file_actions=[
            (os.POSIX_SPAWN_DUP2, low[0], 3), (os.POSIX_SPAWN_DUP2, low[1], 4)])
        for fd in low:
            os.close(fd)
        os.close(directory)
        theirs.close()
        ours.settimeout(self.wait)
        self.socket, self.lines, self.events = ours, ours.makefile("rb"), []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        if self.made:
            shutil.rmtree(self.made)

    def end(self):
        """Ends the process by closing its socket, as when its owner ends."""
        if self.socket:
            self.lines.close()
            self.socket.close()
            self.socket = None
        return self.reap()

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.end()

    def reap(self):
        if not self.pid:
            return None
        for _ in range(100):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return status
            time.sleep(0.05)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = 0
        raise AssertionError("cella-image did not end with its socket")

    def send(self, op, **fields):
        self.last += 1
        self.socket.sendall(json.dumps({"id": self.last, "op": op, **fields}).encode() + b"\n")
        return self.last

    def event(self):
        line = self.lines.readline()
        assert line, "cella-image is gone"
        return json.loads(line)

    def answer(self, which):
        """Returns the next event of an operation; events of others are kept."""
        for e in self.events:
            if e["id"] == which and e["event"] != "progress":
                self.events.remove(e)
                return e
        while True:
            e = self.event()
            if e["id"] == which and e["event"] != "progress":
                return e
            self.events.append(e)

    def pull(self, ref, **fields):
        fields.setdefault("stall_ms", 5000)
        return self.answer(self.send("pull", ref=ref, **fields))

    def image(self, ref, **fields):
        answer = self.pull(ref, **fields)
        assert answer["event"] == "done", answer
        return self.describe(answer["image"]["id"])

    def failure(self, ref, **fields):
        answer = self.pull(ref, **fields)
        assert answer["event"] == "failed", answer
        return answer["error"]

    # ---- contents of the store ----

    def names(self):
        try:
            return sorted(n.replace("%2F", "/") for n in os.listdir(self.store + "/refs"))
        except FileNotFoundError:
            return []

    def entries(self, directory):
        try:
            return sorted(os.listdir(f"{self.store}/{directory}"))
        except FileNotFoundError:
            return []

    def describe(self, ident):
        """Returns the document of an image in the store, with its names."""
        refs = self.store + "/refs/"
        names = [n.replace("%2F", "/") for n in sorted(os.listdir(refs)) if open(refs + n).read().strip() == ident]
        return {**read_document(f"{self.store}/meta/{ident}"), "names": names}

    def is_empty(self):
        return not (self.names() or self.entries("meta") or self.entries("roots"))

    def parts(self):
        """Returns {name: size}, without files that are removed at the same time."""
        found = {}
        for name in self.entries("blobs"):
            with contextlib.suppress(FileNotFoundError):
                found[name] = os.path.getsize(f"{self.store}/blobs/{name}")
        return found

    def content(self, image, path):
        with open(f"{self.store}/roots/{image['id']}/{path}", "rb") as f:
            return f.read()
