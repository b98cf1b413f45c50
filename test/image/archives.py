"""Makes valid and invalid archives for tests."""

import bz2
import ctypes
import gzip
import hashlib
import io
import json
import lzma
import tarfile

KINDS = {"dir": tarfile.DIRTYPE, "sym": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE, "char": tarfile.CHRTYPE,
         "block": tarfile.BLKTYPE, "fifo": tarfile.FIFOTYPE, "file": tarfile.REGTYPE}


def entry(name, content=b"", kind="file", mode=None, link="", mtime=1234567890, size=None, pax=None):
    """An entry of an archive; size: the one in its header, if it differs from the data."""
    info = tarfile.TarInfo(name)
    info.type = KINDS[kind]
    info.mode = mode if mode is not None else 0o755 if kind == "dir" else 0o644
    info.mtime = mtime
    info.linkname = link
    info.pax_headers = pax or {}
    if kind == "file":
        info.size = len(content) if size is None else size
    return info, content if isinstance(content, bytes) else content.encode()


def directory(name, mode=0o755):
    return entry(name, kind="dir", mode=mode)


def symlink(name, target):
    return entry(name, kind="sym", link=target)


def hardlink(name, target):
    return entry(name, kind="hard", link=target)


def tar(*entries, form=tarfile.PAX_FORMAT, end=True):
    """Makes an archive of these entries without any check."""
    out = io.BytesIO()
    for info, content in entries:
        out.write(info.tobuf(form, "utf-8", "surrogateescape"))
        out.write(content)
        out.write(b"\0" * (-len(content) % 512))
    if end:
        out.write(b"\0" * 1024)
    return out.getvalue()


def zstd(data):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    n = library.ZSTD_compress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:n]


COMPRESSIONS = {
    "none": lambda data: data,
    "gzip": lambda data: gzip.compress(data, 1, mtime=0),
    "zstd": zstd,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}


def digest(data):
    return hashlib.sha256(data).hexdigest()


def config(layers, architecture="amd64", **fields):
    """An image's configuration, for layers that are not compressed."""
    return json.dumps({
        "architecture": architecture, "os": "linux", "config": fields,
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest(layer) for layer in layers]},
    }).encode()


def docker(layers, tags=("thing:1",), last=True, legacy=False, **fields):
    """Makes an archive as `docker save` did before version 25."""
    return docker_of([(config(layers, **fields), layers, tags)], last, legacy)


def docker_of(images, last=True, legacy=False):
    manifest, files = [], {}
    for conf, layers, tags in images:
        names = [f"{digest(layer)}/layer.tar" for layer in layers]
        files.update(zip(names, map(entry, names, layers)))
        name = digest(conf) + ".json"
        files[name] = entry(name, conf)
        manifest.append({"Config": name, "RepoTags": list(tags) if tags is not None else None, "Layers": names})
    if legacy:  # each layer once, under the name of another image's directory
        for i, image in enumerate(manifest):
            for k, name in enumerate(image["Layers"]):
                other = f"{digest(f'{i} {k}'.encode())}/layer.tar"
                files[other] = symlink(other, f"../{name}")
                image["Layers"][k] = other
    listed = entry("manifest.json", json.dumps(manifest))
    return tar(*files.values(), listed) if last else tar(listed, *files.values())


MANIFEST, INDEX = "application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json"


def blob_entry(data):
    return entry("blobs/sha256/" + digest(data), data)


def descriptor(data, kind, **more):
    return {"mediaType": kind, "digest": "sha256:" + digest(data), "size": len(data), **more}


def oci_manifest(conf, blobs, kind="tar"):
    return json.dumps({
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": descriptor(conf, "application/vnd.oci.image.config.v1+json"),
        "layers": [descriptor(b, "application/vnd.oci.image.layer.v1." + kind) for b in blobs],
    }).encode()


def oci_index(*descriptors):
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": list(descriptors)}).encode()


def oci_layout(index, *blobs):
    return tar(entry("oci-layout", '{"imageLayoutVersion": "1.0.0"}'), directory("blobs"), directory("blobs/sha256"),
               *map(blob_entry, blobs), entry("index.json", index))


def oci(layers, compress="gzip", name=None, **fields):
    conf = config(layers, **fields)
    blobs = [COMPRESSIONS[compress](layer) for layer in layers]
    manifest = oci_manifest(conf, blobs, {"none": "tar"}.get(compress, "tar+" + compress))
    notes = {"annotations": {"org.opencontainers.image.ref.name": name}} if name else {}
    return oci_layout(oci_index(descriptor(manifest, MANIFEST, **notes)), conf, manifest, *blobs)
