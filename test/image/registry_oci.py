"""Makes images for tests: layers, configurations, manifests, lists, and directories of them (OCI image layout)."""

import gzip
import hashlib
import io
import json
import os
import platform
import subprocess
import tarfile

HERE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
ELSEWHERE = "arm64" if HERE == "amd64" else "amd64"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar"


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def tar(files):
    """A tar of {path: bytes}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def noise(size, seed):
    """Bytes that do not compress, the same for the same seed."""
    return hashlib.shake_128(seed.encode()).digest(size)


def compress(data, how):
    if how == "gzip":
        return gzip.compress(data, 1, mtime=0)
    if how == "zstd":
        return subprocess.run(["zstd", "-q", "-1", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data


class Image:
    """layers: a list of ({path: bytes}, "gzip" | "zstd" | "")."""

    def __init__(self, layers, architecture=HERE, docker=False, config=None, variant=None):
        self.blobs, self.layers, self.diffs = {}, [], []
        for files, how in layers:
            plain = tar(files)
            self.diffs.append(sha256(plain))
            kind = (DOCKER_LAYER + (".gzip" if how == "gzip" else "")) if docker else LAYER + (f"+{how}" if how else "")
            self.layers.append(self.add(compress(plain, how), kind))
        self.config_text = json.dumps({
            "architecture": architecture, "os": "linux", **({"variant": variant} if variant else {}),
            "config": config or {"Env": ["PATH=/bin"], "Cmd": ["/bin/sh"]},
            "rootfs": {"type": "layers", "diff_ids": self.diffs},
        }).encode()
        self.id = hashlib.sha256(self.config_text).hexdigest()
        self.type = DOCKER_MANIFEST if docker else MANIFEST
        self.text = json.dumps({
            "schemaVersion": 2, "mediaType": self.type,
            "config": self.add(self.config_text, DOCKER_CONFIG if docker else CONFIG), "layers": self.layers,
        }).encode()
        self.digest = sha256(self.text)
        self.architecture = architecture

    def add(self, data, kind):
        self.blobs[sha256(data)] = data
        return {"mediaType": kind, "digest": sha256(data), "size": len(data)}

    def descriptor(self):
        return {"mediaType": self.type, "digest": self.digest, "size": len(self.text),
                "platform": {"os": "linux", "architecture": self.architecture}}


def index(images, kind=INDEX):
    return json.dumps({"schemaVersion": 2, "mediaType": kind, "manifests": [i.descriptor() for i in images]}).encode()


def write_layout(directory, images):
    """An OCI layout with one entry: the image, or the list of several."""
    blobs = os.path.join(directory, "blobs/sha256")
    os.makedirs(blobs)
    texts = {}
    for image in images:
        texts.update(image.blobs)
        texts[image.digest] = image.text
    top = images[0].descriptor()
    if len(images) > 1:
        text = index(images)
        texts[sha256(text)] = text
        top = {"mediaType": INDEX, "digest": sha256(text), "size": len(text)}
    for digest, data in texts.items():
        with open(os.path.join(blobs, digest[7:]), "wb") as f:
            f.write(data)
    with open(os.path.join(directory, "oci-layout"), "w", encoding="utf-8") as f:
        f.write('{"imageLayoutVersion":"1.0.0"}')
    with open(os.path.join(directory, "index.json"), "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 2, "manifests": [top]}, f)
