#!/usr/bin/python3
"""A fake cella-image: the name of an image selects its behaviour, including errors that the real one never makes.

It is copied beside a copy of cella.  The requests select its behaviour; it logs them in the store."""

import array
import hashlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time

STORE = 4
sock = socket.socket(fileno=3)
lock = threading.Lock()
cancelled = {}


def log(**what):
    with lock:
        fd = os.open("fake.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600, dir_fd=STORE)
        os.write(fd, (json.dumps({"pid": os.getpid(), **what}) + "\n").encode())
        os.close(fd)


def raw(data):
    with lock:
        sock.sendall(data)


def say(**what):
    raw((json.dumps(what) + "\n").encode())


def put(path, text):
    os.makedirs(os.path.dirname(f"/proc/self/fd/{STORE}/{path}"), exist_ok=True)
    with open(f"/proc/self/fd/{STORE}/{path}", "w") as f:
        f.write(text)


def add(name, nonce=b""):
    """Writes an image to the store, so that the owner finds it there."""
    image = hashlib.sha256(name.encode() + nonce).hexdigest()
    records = ["cella-image 1", f"id {image}", "created_ms 1700000000000", "bytes 1000", "files 10", "platform linux/amd64", f"layer sha256:{image}",
               "env PATH=/bin", "cwd /", "uid 0", "gid 0", "cmd sh", "runtime sh", "=/bin/sh", "source pull"]  # fmt: skip
    os.makedirs(f"/proc/self/fd/{STORE}/roots/{image}", exist_ok=True)
    put(f"meta/{image}", "".join(record + "\0" for record in records))
    put("refs/" + name.replace("%", "%25").replace("/", "%2F"), image)
    return {"id": image}


def stop(job):
    log(ended=job, how="cancelled")  # the reader of this line may end this process
    say(id=job, event="failed", error={"kind": "invalid_request", "message": "cancelled", "hint": ""})


def progress(job, layer, done, total, phase="download"):
    say(id=job, event="progress", layer=layer, phase=phase, done=done, total=total)


def wait(job, name):
    """Waits until the store has a file with this name in go/, or the job is cancelled."""
    while not cancelled[job].is_set():
        if os.path.exists(f"/proc/self/fd/{STORE}/go-{name}"):
            return True
        time.sleep(0.01)
    return False


HOSTILE = {
    "nonsense": b"this is no JSON\n",
    "array": b"[1, 2]\n",
    "long": b'{"id":%d,"event":"progress","layer":"' + b"a" * 70000 + b'"}\n',
    "endless": b"x" * 200000,
    "event": b'{"id":%d,"event":"mutiny"}\n',
    "id": b'{"id":"%d","event":"done"}\n',
    "image": b'{"id":%d,"event":"done","image":{"id":"../../../etc/passwd"}}\n',
    "layer": b'{"id":%d,"event":"progress","layer":"\\u001b[2J","phase":"download","done":1,"total":2}\n',
    "negative": b'{"id":%d,"event":"progress","layer":"a","phase":"download","done":-1,"total":2}\n',
    "deep": b'{"id":%d,"event":' + b"[" * 3000 + b"]" * 3000 + b"}\n",
}


def pull(job, ref):
    what = ref.rpartition("/")[2].partition(":")[0]
    if what in HOSTILE:
        raw(HOSTILE[what].replace(b"%d", str(job).encode()))
        return
    if what == "die":
        progress(job, "sha256:aa", 1, 2)
        os._exit(3)
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "stranger":  # sends events of jobs that do not exist, and answers twice
        say(id=job + 77, event="done", image={"id": "0" * 64})
        say(id=job + 78, event="failed", error={"message": "x"})
    if what == "invented":
        say(id=job, event="done", image={"id": "e" * 64})
        return
    if what == "words":
        say(id=job, event="failed", error={"kind": "unauthorized", "message": "evil \x1b[31m words\n" + "é" * 200, "hint": "\x9b1m\x00 do"})
        return
    if what == "slow" and not wait(job, "slow"):
        stop(job)
        return
    if what == "deaf":
        time.sleep(3600)
    if what == "flood":
        for i in range(30000):
            progress(job, "sha256:aa", i, 30000)
    total = 4 << 20
    for layer in ("sha256:" + "a" * 64, "sha256:" + "b" * 64):
        for phase in ("download", "unpack"):
            for done in (0, total // 2, total):
                progress(job, layer, done, total, phase)
                time.sleep(0.12 if what == "paced" else 0.003)
    say(id=job, event="done", image=add(ref))
    if what == "stranger":
        say(id=job, event="done", image={"id": "0" * 64})


def take(job, request, archive):
    total, digest, name = 0, hashlib.sha256(), request["name"]
    begun = name.startswith("slow")
    while True:
        if cancelled[job].is_set() or (begun and not wait(job, "slow")):
            stop(job)
            os.close(archive)
            return
        begun = False
        if not select.select([archive], [], [], 0.02)[0] or cancelled[job].is_set():
            continue
        data = os.read(archive, 1 << 16)
        if not data:
            break
        total += len(data)
        digest.update(data)
    os.close(archive)
    log(ended=job, how="archive", bytes=total, digest=digest.hexdigest())
    if name.startswith("broken"):
        say(id=job, event="failed", error={"kind": "invalid_request", "message": "not an archive", "hint": "make a better one"})
        return
    meta = add(name, digest.digest())
    say(id=job, event="done", image=meta)


def perform(request, archive):
    job, op = request["id"], request["op"]
    if op == "pull":
        pull(job, request["ref"])
    elif op == "import":
        take(job, request, archive)
    elif op == "rm":
        files = [f"/proc/self/fd/{STORE}/refs/{front}" + request["name"].replace("/", "%2F") + end for front in ("", "docker.io%2F") for end in ("", ":latest")]
        for file in filter(os.path.exists, files):
            with open(file) as f:
                image = f.read()
            os.unlink(file)
            os.unlink(f"/proc/self/fd/{STORE}/meta/{image}")
            say(id=job, event="done", removed=True, bytes=1000)
            break
        else:
            say(id=job, event="failed", error={"kind": "not_found", "message": f"no image '{request['name']}'", "hint": ""})
    elif op == "gc":
        say(id=job, event="done", images=0, layers=2, roots=1, bytes=3000)


def main():
    data, fds = b"", []
    log(started=True, uid=os.getuid(), environment=dict(os.environ), words=sys.argv[1:])
    while True:
        part, rights, _, _ = sock.recvmsg(65536, socket.CMSG_SPACE(16))
        for level, kind, value in rights:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers = array.array("i")
                numbers.frombytes(value[: len(value) - len(value) % numbers.itemsize])
                fds += numbers
        if not part:
            os._exit(0)
        data += part
        while b"\n" in data:
            line, _, data = data.partition(b"\n")
            request = json.loads(line)
            log(request=request)
            if request["op"] == "cancel":
                if request["target"] in cancelled:
                    cancelled[request["target"]].set()
                say(id=request["id"], event="done")
                continue
            cancelled[request["id"]] = threading.Event()
            archive = fds.pop(0) if request["op"] == "import" else None
            threading.Thread(target=perform, args=(request, archive), daemon=True).start()


main()
