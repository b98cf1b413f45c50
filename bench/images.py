#!/usr/bin/python3
"""What images cost, in turns in one run: a start from one beside a start on `host` and beside `podman run` of the same image; unpacking
beside `tar -xzf`.

    bench/images.py --cella BUILD/src/cella [--rounds N] [--json]     (as root; podman and runc are installed)
"""

import argparse
import http.client
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
for part in ("test", "test/kernel", "test/docker"):
    sys.path.insert(0, str(HERE.parent / part))

import engines  # noqa: E402


class Api(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("cella", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)

    def post(self, target, body):
        self.request("POST", target, json.dumps(body))
        answer = self.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        return json.loads(text)


def run(*words, **how):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **how)


def took(way):
    begun = time.perf_counter()
    way()
    return (time.perf_counter() - begun) * 1000


def in_turns(ways, rounds):
    times = {name: [] for name in ways}
    for i in range(rounds + 1):
        for name, way in ways.items():
            ms = took(way)
            if i > 0:  # the first one warms what is read from disk
                times[name].append(ms)
            time.sleep(0.01)  # spare sandboxes are made again
    return times


def podman(base, archive):
    """`podman run` as it works without systemd; its image is the same archive."""
    common = ["podman", "--root", f"{base}/root", "--runroot", f"{base}/run", "--tmpdir", f"{base}/tmp", "--runtime", "runc",
              "--cgroup-manager", "cgroupfs", "--events-backend=file", "--storage-driver", "overlay"]  # fmt: skip
    run(*common, "load", "-i", archive, stderr=subprocess.DEVNULL)
    return [*common, "run", "--rm", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "tiny:1", "true"]


def starts(cella, base, rounds):
    state, archive = f"{base}/state", f"{base}/tiny.tar"
    with open(archive, "wb") as f:
        f.write(engines.saved("tiny:1", engines.root(), engines.IMAGES["tiny:1"]))
    run(cella, "image", "import", archive, "--state", state)
    words = podman(f"{base}/podman", archive)
    env = {**os.environ, "CELLA_STATE": state}
    daemon = subprocess.Popen([cella, "serve", "--state", state, "--socket", f"{base}/s", "--listen", "none"], stderr=subprocess.DEVNULL)
    try:
        while not os.path.exists(f"{base}/s"):
            time.sleep(0.02)
        api = Api(f"{base}/s")
        fresh = {"limits": {"timeout_ms": 60000}}
        api.request("PATCH", "/v1/settings", json.dumps({"sandboxes": {"spare": 0}}))
        api.getresponse().read()
        cold = in_turns({
            "cella run, host": lambda: run(cella, "run", "--", "true", env=env),
            "cella run, image": lambda: run(cella, "run", "--image", "tiny:1", "--", "true", env=env),
            "daemon, host": lambda: api.post("/v1/exec", {"command": ["true"], **fresh}),
            "daemon, image": lambda: api.post("/v1/exec", {"command": ["true"], "image": "tiny:1", **fresh}),
        }, rounds)  # fmt: skip
        api.request("PATCH", "/v1/settings", json.dumps({"sandboxes": {"spare": 2}}))
        api.getresponse().read()
        tool = {"image": "tiny:1", "command": ["true"]}
        warm = in_turns({
            "execute_docker, native engine": lambda: api.post("/v1/tools/execute_docker", tool),
            "podman run": lambda: run(*words, stderr=subprocess.DEVNULL),
        }, max(5, rounds // 4))  # fmt: skip
    finally:
        daemon.terminate()
        daemon.wait()
    return {**cold, **warm}


def unpacking(cella, base, rounds):
    """A layer of about 150 MB compressed: this machine's /usr, as far as it takes."""
    layer = f"{base}/layer.tar.gz"
    names = ["/usr/lib", "/usr/share", "/usr/bin"]
    tar = subprocess.Popen(["tar", "-cf", "-", *names], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    head = subprocess.Popen(["head", "-c", "420M"], stdin=tar.stdout, stdout=subprocess.PIPE)
    tar.stdout.close()
    # Only complete entries: removes the truncated one and adds the end of an archive.
    subprocess.run(["sh", "-c", f"mkdir {base}/x && tar -xf - -C {base}/x 2>/dev/null; tar -czf {layer} -C {base}/x . && rm -rf {base}/x"], stdin=head.stdout, check=True)
    tar.kill()
    tar.wait()

    def cella_way():
        run(cella, "image", "import", layer, "big:1", "--state", f"{base}/big", stderr=subprocess.DEVNULL)

    def tar_way():
        os.makedirs(f"{base}/out")
        run("tar", "-xzf", layer, "-C", f"{base}/out")

    times = {"cella image import": [], "tar -xzf": []}
    for i in range(rounds):
        for name, way, left in (("cella image import", cella_way, "big"), ("tar -xzf", tar_way, "out")):
            times[name].append(took(way))
            shutil.rmtree(f"{base}/{left}")
    return times, os.path.getsize(layer)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cella", required=True)
    options.add_argument("--rounds", type=int, default=40)
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    cella = os.path.abspath(options.cella)
    with tempfile.TemporaryDirectory() as base:
        os.chmod(base, 0o755)
        times = starts(cella, base, options.rounds)
        layers, size = unpacking(cella, base, 3)
        subprocess.run(["sh", "-c", f"umount {base}/podman/root/overlay 2>/dev/null; true"], check=False)
    middle = {name: statistics.median(t) for name, t in {**times, **layers}.items()}
    ratios = {"image / host, cella run": (middle["cella run, image"] / middle["cella run, host"], "at most 1.3"),
              "image / host, daemon": (middle["daemon, image"] / middle["daemon, host"], "at most 1.3"),
              "podman run / execute_docker": (middle["podman run"] / middle["execute_docker, native engine"], "at least 20"),
              "import / tar -xzf": (middle["cella image import"] / middle["tar -xzf"], "at most 1.5")}  # fmt: skip
    if options.json:
        print(json.dumps({"ms": middle, "ratios": {k: r for k, (r, _) in ratios.items()}, "layer_bytes": size}))
        return
    for name, ms in middle.items():
        print(f"{name:32} {ms:9.2f} ms")
    for name, (ratio, limit) in ratios.items():
        print(f"{name:32} {ratio:9.2f}     {limit}")
    print(f"the layer has {size / 1e6:.0f} MB")


main()
