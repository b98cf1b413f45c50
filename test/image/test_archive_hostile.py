"""Hostile archives: each is refused with a message, or made harmless, and leaves nothing behind."""

import gzip
import json
import os
import random
import tarfile

import archives as a
from stores import check, check_equal
from support import test

CANARY = "beside/canary"  # what is two directories above a layer, and more


def refused(s, archive, *words, kind="invalid_request", **fields):
    error = s.refuse(archive, **fields)
    check_equal(error["kind"], kind, f"the kind of {error}")
    for word in words:
        check(word in error["message"], f"{error} does not say {word!r}")
    check("\n" not in error["message"], error)


@test
def paths_that_lead_out_are_refused(s):
    for path in ("../x", "../../../../../../../../tmp/cella-evil", "a/../../x", "..", "a/..", "./../x", "/../x", "a/b/../../../c"):
        refused(s, a.tar(a.entry(path, "evil")), "'..'")
        refused(s, a.tar(a.directory(path)), "'..'")
        refused(s, a.tar(a.symlink(path, "x")), "'..'")
        refused(s, a.tar(a.entry("ok", "1"), a.hardlink("x", path)), "'..'")
        refused(s, a.tar(a.entry("ok", "1"), a.hardlink(path, "ok")), "'..'")
        refused(s, a.docker([a.tar(a.entry(path, "evil"))]), "'..'")
        refused(s, a.oci([a.tar(a.entry(path, "evil"))]), "'..'")


@test
def absolute_paths_are_below_the_root(s):
    target = s.area + "/beside/new"
    image = s.load(a.tar(a.entry(target, "1"), a.entry("/etc/x", "2"), a.entry("//y", "3"), a.hardlink("/z", "/etc/x")), "x")
    check_equal(s.surroundings(), s.around, "what is around")
    tree = s.tree(image)
    check_equal((tree[target[1:]], tree["etc/x"], tree["y"], tree["z"]), ("1", "2", "3", "2"))


@test
def writing_through_a_link_stays_inside(s):
    beside, up = s.area + "/beside", "../" * 12 + s.area[1:] + "/beside"
    for target in (beside, up, "..", "../..", "/", "../../beside"):
        image = s.load(a.tar(a.directory("d"), a.symlink("d/l", target), a.directory("made/up"), a.directory(beside), a.directory("beside"),
                             a.entry("d/l/canary", "evil"), a.directory("d/l/new"), a.symlink("d/l/s", "x"), a.hardlink("d/l/h", "d/l/canary")), "x")
        check_equal(s.surroundings(), s.around, "what is around")
        check("evil" in s.tree(image).values(), "it was lost")
        s.do("rm", name="x")
    # To a file, or to nothing.
    for target in (beside + "/canary", "../../../../beside/canary", "/etc/passwd", "nothing/there", "/proc/self/root", "l"):
        refused(s, a.tar(a.symlink("l", target), a.entry("l/x", "evil")))
        image = s.load(a.tar(a.symlink("l", target), a.entry("l", "mine")), "x")
        check_equal(s.tree(image), {"l": "mine"})
        s.do("rm", name="x")
    # In another layer than the file that is written through it.
    image = s.load(a.docker([a.tar(a.symlink("l", beside)), a.tar(a.entry("l/canary", "evil"))]))
    check_equal(s.tree(image), {"l": None, "l/canary": "evil"})
    check_equal(s.surroundings(), s.around, "what is around")
    # Deleting through it.
    image = s.load(a.docker([a.tar(a.symlink("l", beside), a.entry("keep", "1")), a.tar(a.entry("l/.wh.canary"), a.entry("l/.wh..wh..opq"))]))
    check_equal(s.tree(image), {"l": "-> " + beside, "keep": "1"})
    check_equal(s.surroundings(), s.around, "what is around")


@test
def the_stores_own_files_are_out_of_reach(s):
    s.load(a.tar(a.entry("precious", "1")), "precious")
    before = s.files()
    for target in ("../../refs", "../../../refs", s.store + "/refs", "/refs"):
        image = s.load(a.tar(a.directory("refs"), a.symlink("l", target), a.directory(s.store + "/refs"), a.entry("l/precious", "0" * 64)), "x")
        check_equal(open(s.store + "/refs/precious").read().strip() == "0" * 64, False)
        s.do("rm", name=image["id"])
    s.check_same(before)


@test
def hard_links_to_files_outside_the_archive_are_refused(s):
    link = a.symlink("s", s.area + "/beside/canary")
    refused(s, a.tar(a.hardlink("x", "missing")), "not in the archive")
    refused(s, a.tar(a.hardlink("x", "/etc/passwd")), "not in the archive")
    refused(s, a.tar(a.hardlink("x", s.area + "/beside/canary")), "not in the archive")
    refused(s, a.tar(a.directory("d"), a.hardlink("x", "d")), "not a file")
    for target in ("", "/"):
        answer = s.answer(s.start_import(a.tar(a.hardlink("x", target)), "x"))
        if answer["event"] == "done":
            check_equal(s.tree(answer["image"]), {})
            s.do("rm", name="x")
        check_equal(s.files(), [])
    refused(s, a.tar(a.hardlink("x", "x")), "not in the archive")
    refused(s, a.tar(a.directory("d"), a.entry("d/f", "1"), a.hardlink("d", "d/f")))
    refused(s, a.tar(a.symlink("d", s.area + "/beside"), a.hardlink("x", "d/canary")), "not in the archive")
    # One to a link is that link, which is not followed.
    image = s.load(a.tar(link, a.hardlink("x", "s")), "x")
    check_equal(s.tree(image)["x"], "-> " + s.area + "/beside/canary")
    check_equal(os.stat(s.area + "/beside/canary").st_nlink, 1)


@test
def invalid_whiteouts_are_refused(s):
    for name in (".wh.", ".wh..", ".wh...", "d/.wh...", "d/.wh.", "/.wh..."):
        refused(s, a.docker([a.tar(a.entry("d/f", "1")), a.tar(a.entry(name))]), "deletes")
    for name in (".wh.d/x", "a/.wh.b/c/d", ".wh.x/.wh.y", ".wh..wh..opq/x"):
        refused(s, a.docker([a.tar(a.entry("d/f", "1")), a.tar(a.entry(name))]), "deleted")
    refused(s, a.docker([a.tar(a.entry("d/f", "1")), a.tar(a.entry(".wh.d/../../x"))]), "'..'")
    # Of itself, of what it is in, and of the top.
    image = s.load(a.docker([a.tar(a.entry("d/e/f", "1"), a.entry("g", "1")), a.tar(a.entry("d/e/.wh.e"), a.entry("d/.wh.d"), a.entry(".wh..wh..opq")),
                             a.tar(a.entry("h", "1"))]))
    check_equal(s.tree(image), {"h": "1"})
    many = a.tar(*(a.entry(f".wh.{i}") for i in range(300)))
    check_equal(s.tree(s.load(a.docker([many, many], tags=["many:1"]))), {})


@test
def sizes_end_at_the_limit(s):
    limits = {"limits": {"bytes": 10000000, "entries": 1000}}
    bomb = a.tar(a.entry("zeros", b"\0" * 30000000))
    for compress in ("gzip", "zstd", "xz"):
        refused(s, a.COMPRESSIONS[compress](bomb), "10000000 bytes", kind="too_large", **limits)
    refused(s, a.oci([bomb]), "10000000 bytes", kind="too_large", **limits)
    parts = [a.tar(a.entry(f"part{i}", b"x" * 4000000)) for i in range(3)]
    refused(s, a.docker(parts), "10000000 bytes", kind="too_large", **limits)
    # Zeros behind the end, and an archive of nothing but headers.
    refused(s, gzip.compress(a.tar(a.entry("x", "1")) + b"\0" * 90000000, 1), kind="too_large", **limits)
    refused(s, a.tar(*(a.entry(f"f{i}") for i in range(1001))), "1000 entries", kind="too_large", **limits)
    refused(s, a.tar(*(a.entry("same") for i in range(1001))), "1000 entries", kind="too_large", **limits)
    refused(s, a.tar(a.entry("x", size=2**60)), "bytes", kind="too_large")
    image = s.load(a.tar(a.entry("fits", b"x" * 9000000)), "fits", **limits)
    check_equal(image["bytes"], 9000000)


@test
def invalid_sizes_are_refused(s):
    def header(size):
        info, _ = a.entry("x")
        buf = bytearray(info.tobuf(tarfile.GNU_FORMAT))
        buf[124:136] = size
        buf[148:156] = b" " * 8
        buf[148:156] = b"%06o\0 " % sum(buf)
        return bytes(buf) + b"x" * 512 + b"\0" * 1024

    for size in (b"\xff" * 12, b"\x80" + b"\xff" * 11, b"-0000000001\0", b"77777777777\0", b"\x80" + b"\0" * 3 + b"\x7f" + b"\xff" * 7):
        refused(s, header(size), kind=s_kind(s, header(size)))
    for text in ("-1", "99999999999999999999999", "0x10", str(2**63 - 1), str(2**63), "1e9", " "):
        entry = a.entry("x", "1", pax={"size": text})
        answer = s.answer(s.start_import(a.tar(entry), "x"))
        if answer["event"] == "done":  # the invalid size was ignored
            check_equal(s.describe(answer["image"]["id"])["bytes"] <= 512, True)
            s.do("rm", name="x")
        check_equal(s.files(), [])
    for size in ("1099511627776", str(2**62)):
        sparse = a.entry("x", "1", pax={"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.size": size,
                                        "GNU.sparse.numblocks": "1", "GNU.sparse.map": "0,1"})
        refused(s, a.tar(sparse), kind="too_large")


def s_kind(s, archive):
    """The error is either "too large" or "invalid"."""
    kind = s.refuse(archive)["kind"]
    check(kind in ("too_large", "invalid_request"), kind)
    return kind


@test
def invalid_archives_are_refused(s):
    good = a.tar(a.entry("x", b"1" * 100000))
    for data in (b"", b"x", b"\0", b"hello\n" * 1000, b"\x1f\x8b", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"BZh9", b"\xfd7zXZ\0",
                 bytes(range(256)) * 100, b"PK\3\4" + b"\0" * 600, b"!<arch>\n", b"7z\xbc\xaf\x27\x1c"):
        refused(s, data)
    for name, compress in a.COMPRESSIONS.items():
        packed = compress(good)
        refused(s, packed[:len(packed) // 2])
        if name not in ("none", "zstd"):  # which have no checksum
            refused(s, packed[:20] + b"\xff\xff\xff" + packed[23:] if len(packed) > 40 else packed[:-9])
        if name != "none":
            refused(s, compress(packed))  # twice
    refused(s, good[:700])
    broken = bytearray(a.tar(a.entry("a", "1"), a.entry("b", "2")))
    broken[1024 + 10] ^= 255  # the second header's checksum is wrong
    refused(s, bytes(broken))
    refused(s, a.tar(a.entry("x", "1")), name="../../etc")
    refused(s, a.tar(a.entry("x", "1")), name="host")
    refused(s, a.tar(a.entry("x", "1")), name="A")
    refused(s, a.tar(a.entry("x", "1")), name="a" * 300)
    refused(s, a.tar(a.entry("x", "1")), name=None)
    refused(s, a.tar(a.entry("x", "1")), name="")


@test
def the_depth_of_a_tree_is_limited(s):
    refused(s, a.tar(a.entry("/".join(["d"] * 200) + "/f", "1")), "too deep")
    refused(s, a.tar(a.entry("/".join(["n" * 250] * 20), "1")), "too")
    refused(s, a.tar(a.entry("x" * 256, "1")), "too long")
    refused(s, a.tar(a.symlink("x", "y" * 4096)), "link")
    refused(s, a.tar(a.symlink("x", "")), "link")
    # Links that make more of it than the paths show.
    entries, at = [], ""
    for i in range(8):
        entries += [a.directory("/".join(filter(None, [at, *(["d"] * 40)]))), a.symlink(f"l{i}", "/".join(filter(None, [at, *(["d"] * 40)])))]
        at = f"l{i}"
    refused(s, a.tar(*entries), "too deep")
    # A cycle.
    refused(s, a.tar(a.symlink("a", "b"), a.symlink("b", "a"), a.entry("a/x", "1")))
    refused(s, a.tar(a.symlink("a", "a/a/a/a"), a.entry("a/x", "1")))
    image = s.load(a.tar(a.entry("/".join(["d"] * 120) + "/f", "1")), "deep")
    check_equal(len(s.tree(image)), 121)
    s.do("rm", name="deep")


@test
def very_large_headers_are_refused(s):
    refused(s, a.tar(a.entry("x", "1", pax={"comment": "x" * 50000000})))
    refused(s, a.tar(a.entry("x", "1", pax={"path": "y" * 5000000})))
    long = a.entry("x" * 3000000, "1")
    refused(s, a.tar(long, form=tarfile.GNU_FORMAT))
    image = s.load(a.tar(a.entry("x", "1", pax={"comment": "fine", "SCHILY.xattr.user.evil": "1", "SCHILY.xattr.security.capability": "\1"})), "x")
    try:
        check_equal(os.listxattr(s.root(image, "x")), [])
    except OSError:
        pass  # a file system without extended attributes


@test
def names_end_at_a_nul_byte(s):
    image = s.load(a.tar(a.entry("x", "1", pax={"path": "good\0/../../evil"})), "x")
    check(set(s.tree(image)) <= {"good", "x"}, s.tree(image))
    check_equal(s.surroundings(), s.around, "what is around")


@test
def the_last_of_several_entries_of_a_name_counts(s):
    image = s.load(a.tar(*(a.entry("same", str(i)) for i in range(500))), "x")
    check_equal(s.tree(image), {"same": "499"})
    refused(s, a.tar(a.entry("f", "1"), a.entry("f/g", "2")), "not a directory")
    entries = [a.entry("x", "1") if i % 2 else a.directory("x") for i in range(101)]
    check_equal(s.tree(s.load(a.tar(*entries), "y")), {"x": None})


@test
def configurations_of_wrong_types_are_refused(s):
    layer = a.tar(a.entry("x", "1"))
    diffs = ["sha256:" + a.digest(layer)]
    good = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": diffs}}
    bad = [
        [], 1, None, "x", {}, {**good, "config": []}, {**good, "config": "x"}, {**good, "os": 1}, {**good, "os": "windows"},
        {**good, "architecture": ["amd64"]}, {**good, "architecture": "../../x"}, {**good, "rootfs": []}, {**good, "rootfs": {"diff_ids": {}}},
        {**good, "rootfs": {"diff_ids": [1]}}, {**good, "rootfs": {"diff_ids": ["sha256:xyz"]}}, {**good, "rootfs": {"diff_ids": []}},
        {**good, "rootfs": {"diff_ids": ["md5:" + "0" * 32]}}, {**good, "rootfs": {"diff_ids": diffs * 129}},
        {**good, "rootfs": {"diff_ids": ["sha256:" + "0" * 64]}}, {**good, "rootfs": {"diff_ids": ["../../../" + diffs[0]]}},
        *({**good, "config": {key: value}} for key, value in (
            ("Env", "A=1"), ("Env", {"A": "1"}), ("Env", [1]), ("Env", ["A=" + "x" * 100000]), ("Env", ["A=\0"]), ("Env", ["A=1"] * 9999),
            ("Cmd", {}), ("Cmd", [None]), ("Cmd", ["x" * 100000]), ("Entrypoint", [["x"]]), ("WorkingDir", 1), ("WorkingDir", "x" * 5000),
            ("WorkingDir", "/x\0y"), ("User", 0), ("User", ["root"]), ("Labels", []), ("Labels", "x"))),
    ]
    for value in bad:
        conf = json.dumps(value).encode()
        if value == {**good, "config": {"Env": ["A=1"] * 9999}}:
            refused(s, a.docker_of([(conf, [layer], ["x:1"])]), "Env")
        else:
            refused(s, a.docker_of([(conf, [layer], ["x:1"])]))
    for conf in (b"[" * 100000 + b"]" * 100000, b'{"a":' * 100 + b"1" + b"}" * 100, b"{", b'{"os": "linux"', b"[1,]", b"{}" * 2,
                 b'{"x": "' + b"y" * 2000000 + b'"}', b"[" + b"1," * 200000 + b"1]"):
        answer = s.answer(s.start_import(a.docker_of([(conf, [layer], ["x:1"])])))
        check_equal(answer["event"], "failed")
        check_equal(s.files(), [])
    # Control characters need no escapes in the store, and do not make the document larger.
    image = s.load(a.docker([layer], Env=["A=" + "\1\n" * 7500]))
    check_equal(image["config"]["env"], ["A=" + "\1\n" * 7500])
    # Keys that occur twice, and numbers that no reader holds, would be read differently by different programs.
    for more in (b'"config": {"User": "1"}, "config": {"User": "2"}', b'"x": 123456789012345678901234567890', b'"x": 1e999'):
        refused(s, a.docker_of([(json.dumps(good).encode()[:-1] + b", " + more + b"}", [layer], ["x:1"])]))


@test
def manifests_with_false_content_are_refused(s):
    layers = [a.tar(a.entry("x", "1")), a.tar(a.entry("y", "2"))]
    conf, other = a.config(layers), a.config(layers, Cmd=["other"])
    name, files = a.digest(conf) + ".json", [f"{a.digest(layer)}/layer.tar" for layer in layers]
    entries = [a.entry(name, conf), *map(a.entry, files, layers)]

    def archive(manifest, *more):
        return a.tar(*entries, *more, a.entry("manifest.json", json.dumps(manifest)))

    for manifest in ([], {}, 1, "x", [1], [[]], [{}], [{"Config": name}], [{"Config": 1, "Layers": files}], [{"Config": name, "Layers": "x"}],
                     [{"Config": name, "Layers": [1, 2]}], [{"Config": name, "Layers": files, "RepoTags": "x:1"}],
                     [{"Config": name, "Layers": files, "RepoTags": [1]}], [{"Config": name, "Layers": files, "RepoTags": ["../x"]}],
                     [{"Config": "missing.json", "Layers": files}], [{"Config": files[0], "Layers": files}], [{"Config": name, "Layers": files[:1]}],
                     [{"Config": name, "Layers": files[::-1]}], [{"Config": name, "Layers": [files[0], files[0]]}],
                     [{"Config": name, "Layers": [*files, files[0]]}], [{"Config": name, "Layers": [files[0], "missing/layer.tar"]}],
                     [{"Config": name, "Layers": [files[0], name]}], [{"Config": name, "Layers": [files[0], "../../../etc/passwd"]}],
                     [{"Config": "/etc/passwd", "Layers": files}], [{"Config": name, "Layers": files, "RepoTags": []}]):
        refused(s, archive(manifest), name=None)
    wrong = [{"Config": name, "Layers": files, "RepoTags": ["x:1"]}]
    # Another configuration under the digest of one; another content under a layer's name; links that lead away.
    refused(s, a.tar(a.entry(name, other), *entries[1:], a.entry("manifest.json", json.dumps(wrong))), "digest")
    refused(s, a.tar(*entries[:2], a.entry(files[1], layers[0]), a.entry("manifest.json", json.dumps(wrong))))
    refused(s, a.tar(*entries[:2], a.entry(files[1], "not an archive"), a.entry("manifest.json", json.dumps(wrong))))
    for target in ("/etc/passwd", "../../../../etc/passwd", "../" + files[1], "layer.tar"):
        refused(s, a.tar(*entries[:2], a.symlink(files[1], target), a.entry("manifest.json", json.dumps(wrong))))
    refused(s, a.tar(*entries, a.entry("manifest.json", '[{"Config": ')))
    refused(s, a.tar(*entries), "neither manifest.json")
    refused(s, a.tar(*entries, a.symlink("manifest.json", "/etc/passwd")), "neither")


@test
def indexes_with_false_content_are_refused(s):
    layer = a.tar(a.entry("x", "1"))
    blob, conf = gzip.compress(layer, mtime=0), a.config([layer])
    manifest = a.oci_manifest(conf, [blob], "tar+gzip")
    index = a.oci_index(a.descriptor(manifest, a.MANIFEST))
    refused(s, a.oci_layout(index, conf, manifest), "has no")  # the layer is not there
    refused(s, a.oci_layout(index, conf, blob), "has no")  # the manifest
    refused(s, a.oci_layout(index, manifest, blob), "has no")  # the configuration
    lie = a.tar(a.entry("oci-layout", "{}"), a.blob_entry(conf), a.blob_entry(manifest),
                a.entry("blobs/sha256/" + a.digest(blob), gzip.compress(a.tar(a.entry("x", "2")), mtime=0)), a.entry("index.json", index))
    refused(s, lie)
    # The same content, compressed in another way, is not the blob that was promised.
    lie = a.tar(a.entry("oci-layout", "{}"), a.blob_entry(conf), a.blob_entry(manifest),
                a.entry("blobs/sha256/" + a.digest(blob), gzip.compress(layer, 9, mtime=1)), a.entry("index.json", index))
    refused(s, lie, "digest")
    # Data after the compressed data is part of the file.
    lie = a.tar(a.entry("oci-layout", "{}"), a.blob_entry(conf), a.blob_entry(manifest),
                a.entry("blobs/sha256/" + a.digest(blob), blob + b"more"), a.entry("index.json", index))
    refused(s, lie, "digest")
    other = a.oci_manifest(a.config([layer], Cmd=["x"]), [blob], "tar+gzip")
    lie = a.tar(a.entry("oci-layout", "{}"), a.blob_entry(conf), a.entry("blobs/sha256/" + a.digest(manifest), other), a.blob_entry(blob), a.entry("index.json", index))
    refused(s, lie, "digest")
    for bad in ([], {}, {"schemaVersion": 2}, {"schemaVersion": 2, "manifests": 1}, {"schemaVersion": 2, "manifests": [1]},
                {"schemaVersion": 2, "manifests": [{"mediaType": a.MANIFEST, "digest": "sha256:../../x", "size": 1}]},
                {"schemaVersion": 2, "manifests": [{"mediaType": a.MANIFEST, "digest": "sha512:" + "0" * 128, "size": 1}]}):
        answer = s.answer(s.start_import(a.oci_layout(json.dumps(bad), conf, manifest, blob), "x"))
        check_equal(answer["event"], "failed")
        check_equal(s.files(), [])
    # A list that is in itself cannot be made; one that is very deep can.
    inner, blobs = manifest, [conf, manifest, blob]
    for _ in range(10):
        inner = a.oci_index(a.descriptor(inner, a.MANIFEST if inner is manifest else a.INDEX))
        blobs.append(inner)
    refused(s, a.oci_layout(a.oci_index(a.descriptor(inner, a.INDEX)), *blobs), "nested too deeply")


@test
def an_archive_in_an_archive_is_not_followed(s):
    inner = a.tar(a.entry("x", "1"))
    image = s.load(a.tar(a.entry("inner.tar", inner), a.entry("inner.tar.gz", gzip.compress(inner))), "x")
    check_equal(sorted(s.tree(image)), ["inner.tar", "inner.tar.gz"])
    # Thousands of files in an archive of images; links to links to links.
    refused(s, a.tar(a.entry("manifest.json", "[]"), *(a.symlink(f"l{i}", f"l{i + 1}") for i in range(10001))), kind="too_large")
    texts = [a.entry(f"{i:064x}.json", b"[" + b" " * 4000000 + b"]") for i in range(10)]
    refused(s, gzip.compress(a.tar(*texts), 1), kind="too_large")


@test
def random_damage_is_refused_or_harmless(s):
    rng = random.Random(7)
    good = [a.docker([a.tar(a.entry("a", "1"), a.symlink("b", "a"), a.hardlink("c", "a"), a.directory("d"))]), a.tar(a.entry("a", "1" * 600), a.directory("b")),
            a.oci([a.tar(a.entry("a", "1"))])]
    for i in range(150 if os.environ.get("CELLA_TEST_ALL") else 40):
        data = bytearray(good[i % len(good)])
        for _ in range(rng.choice((1, 3, 30))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if i % 4 == 0:
            del data[rng.randrange(len(data)):]
        answer = s.answer(s.start_import(bytes(data), "x"))
        check_equal(s.surroundings(), s.around, "what is around")
        if answer["event"] == "done":
            s.do("rm", name=answer["image"]["id"])
        check_equal(s.files(), [], f"what round {i} left")
