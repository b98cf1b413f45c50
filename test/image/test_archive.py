"""Valid archives."""

import os
import stat
import subprocess
import threading

import archives as a
from stores import check, check_equal, store
from support import Skip, test

ROOT = (a.directory("./"), a.directory("./etc"), a.entry("./etc/passwd", "root:x:0:0::/root:/bin/sh\n"),
        a.entry("./bin/sh", "#!", mode=0o755), a.symlink("./lib", "usr/lib"))


@test
def a_root_directory_is_the_same_image_however_it_is_compressed(s):
    data, ids = a.tar(*ROOT), set()
    for name, compress in a.COMPRESSIONS.items():
        image = s.load(compress(data), name)
        ids.add(image["id"])
    check_equal(len(ids), 1)
    check_equal(image["layers"], ["sha256:" + a.digest(data)])
    check_equal(sorted(image["names"]), sorted(a.COMPRESSIONS))
    check_equal(s.tree(image), {"etc": None, "etc/passwd": "root:x:0:0::/root:/bin/sh\n", "bin": None,
                                "bin/sh": "#!", "lib": "-> usr/lib"})


@test
def an_archive_comes_through_a_pipe(s):
    data = a.docker([a.tar(a.entry("big", b"x" * 3000000))])
    ours, theirs = os.pipe()

    def write():
        with os.fdopen(theirs, "wb") as f:
            f.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    image = s.load(ours)
    writer.join()
    check_equal(image["names"], ["docker.io/library/thing:1"])
    check_equal(image["bytes"], 3000000)
    check_equal(len(s.tree(image)["big"]), 3000000)


@test
def layers_lie_over_each_other(s):
    lower = a.tar(a.directory("keep"), a.entry("keep/a", "1"), a.entry("keep/b", "1"), a.entry("gone/x", "1"),
                  a.entry("opaque/old", "1"), a.entry("opaque/deep/old", "1"), a.entry("file", "1"),
                  a.directory("directory"), a.entry("directory/in", "1"), a.symlink("link", "keep"))
    upper = a.tar(a.entry("keep/b", "2"), a.entry("keep/.wh.a"), a.entry(".wh.gone"), a.entry("opaque/.wh..wh..opq"),
                  a.entry("opaque/new", "2"), a.directory("file"), a.entry("file/now", "2"),
                  a.entry("directory", "2"), a.directory("link"), a.entry("link/real", "2"),
                  a.entry(".wh.never"), a.entry("no/such/.wh.thing"), a.entry(".wh..wh.plnk", "notes of aufs"))
    top = a.tar(a.entry("gone/again", "3"), a.entry(".wh.gone"))
    image = s.load(a.docker([lower, upper, top]))
    check_equal(s.tree(image), {
        "keep": None, "keep/b": "2", "opaque": None, "opaque/new": "2", "file": None, "file/now": "2",
        "directory": "2", "link": None, "link/real": "2", "gone": None, "gone/again": "3"})
    for path, _, names in os.walk(s.store):
        check(not [n for n in names if n.startswith(".wh.")], f"a whiteout is in {path}")
    # The data is stored once.
    layer = f"{s.store}/layers/{a.digest(lower)}/"
    check_equal(os.stat(layer + "keep/a").st_nlink, 1)
    check_equal(os.stat(f"{s.store}/layers/{a.digest(upper)}/keep/b").st_ino, os.stat(s.root(image, "keep/b")).st_ino)
    check_equal(s.names(), ["docker.io/library/thing:1"])


@test
def images_share_layers(s):
    base, one, two = (a.tar(a.entry(name, name)) for name in ("base", "one", "two"))
    first = s.load(a.docker([base, one], tags=["one:1"]))
    before = os.stat(f"{s.store}/layers/{a.digest(base)}/base").st_ino
    second = s.load(a.oci([base, two], name="two:1"))
    check_equal(len(os.listdir(s.store + "/layers")), 6)
    for image in (first, second):
        check_equal(os.stat(s.root(image, "base")).st_ino, before)


@test
def docker_archives_of_every_kind(s):
    layers = [a.tar(a.entry("a", "1")), a.tar(a.entry("b", "2")), a.tar()]  # Docker has empty layers
    ids = {s.load(a.docker(layers, tags=["x:1"], last=last, legacy=legacy))["id"]
           for last in (True, False) for legacy in (True, False)}
    check_equal(ids, {a.digest(a.config(layers))})
    image = s.load(a.COMPRESSIONS["gzip"](a.docker(layers, tags=None)), "mine")
    check_equal(image["names"], ["docker.io/library/x:1", "mine"])
    check_equal(s.tree(image), {"a": "1", "b": "2"})
    # Docker 25 writes both: an image layout that has a manifest.json.
    conf = a.config(layers)
    both = a.tar(a.directory("blobs/sha256"), *map(a.blob_entry, [conf, *layers]), a.entry("index.json", "{}"),
                 a.entry("manifest.json", '[{"Config": "blobs/sha256/%s", "RepoTags": ["new/one:2"], "Layers": [%s]}]' % (
                     a.digest(conf), ", ".join(f'"blobs/sha256/{a.digest(layer)}"' for layer in layers))))
    check_equal(s.load(both)["names"], ["docker.io/library/x:1", "docker.io/new/one:2", "mine"])


@test
def several_images_of_one_archive(s):
    layers = [a.tar(a.entry("a", "1"))]
    images = [(a.config(layers, Cmd=[name]), layers, [name + ":1"]) for name in ("one", "two", "three")]
    answer = s.answer(s.start_import(a.docker_of(images)))
    check_equal(answer["images"], [a.digest(conf) for conf, _, _ in images])
    check_equal(s.names(), ["docker.io/library/" + name for name in ("one:1", "three:1", "two:1")])
    error = s.refuse(a.docker_of(images), "all")
    check("3 images" in error["message"], error)
    # All images are imported, or none.
    bad = a.docker_of([(a.config(layers, Cmd=["new"]), layers, ["new:1"]), (b"[]", layers, ["bad:1"])])
    s.refuse(bad, None)


@test
def image_layouts_with_every_compression(s):
    layers = [a.tar(a.entry("a", "1")), a.tar(a.entry("b", "2"))]
    for compress in ("none", "gzip", "zstd"):
        image = s.load(a.oci(layers, compress, name="example.com/thing:" + compress))
        check_equal(s.tree(image), {"a": "1", "b": "2"})
        check("example.com/thing:" + compress in image["names"], image["names"])
        check(image["digest"].startswith("sha256:"), image["digest"])


@test
def an_index_in_an_index_by_platform():
    images = {}
    for architecture in ("amd64", "arm64", "riscv64"):
        layer = a.tar(a.entry("for", architecture))
        conf = a.config([layer], architecture=architecture)
        images[architecture] = (a.oci_manifest(conf, [layer]), conf, layer)
    inner = a.oci_index(*(a.descriptor(manifest, a.MANIFEST, platform={"os": "linux", "architecture": architecture})
                          for architecture, (manifest, _, _) in images.items()),
                        a.descriptor(b"{}", a.MANIFEST, platform={"os": "unknown", "architecture": "unknown"}))
    layout = a.oci_layout(a.oci_index(a.descriptor(inner, a.INDEX)), inner, *(b for i in images.values() for b in i))
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    with store() as s:
        image = s.load(layout, "own")
        check_equal((image["platform"], s.tree(image)), ("linux/" + machine, {"for": machine}))
        image = s.load(layout, "other", platform="linux/riscv64")
        check_equal((image["platform"], s.tree(image)), ("linux/riscv64", {"for": "riscv64"}))
        error = s.refuse(layout, platform="linux/s390x")
        check("linux/amd64" in error["message"], error)


@test
def archives_of_common_tools_are_read():
    """Archives of skopeo in both formats."""
    if not any(os.access(os.path.join(d, "skopeo"), os.X_OK) for d in os.environ["PATH"].split(":")):
        raise Skip("no skopeo on this machine")
    layers = [a.tar(a.entry("a", "1")), a.tar(a.entry("b", "2"), a.entry(".wh.a"))]
    os.makedirs("layout")
    subprocess.run(["tar", "-x", "-C", "layout"], input=a.oci(layers, name="latest"), check=True)
    for kind in ("docker-archive", "oci-archive"):
        subprocess.run(["skopeo", "--tmpdir", os.getcwd(), "--insecure-policy", "copy", "-q", "oci:layout:latest",
                        f"{kind}:{kind}.tar:example.com/thing:9"], check=True)
    with store() as s:
        for kind in ("docker-archive", "oci-archive"):
            with open(kind + ".tar", "rb") as f:
                image = s.load(f.read(), kind)
            check_equal(s.tree(image), {"b": "2"})


@test
def modes_and_times_are_kept_and_rights_are_not(s):
    data = a.tar(a.entry("setuid", "x", mode=0o6755), a.entry("none", "x", mode=0), a.entry("write", "x", mode=0o222),
                 a.entry("run", "x", mode=0o111), a.directory("closed", mode=0), a.entry("closed/in", "x"),
                 a.directory("tmp", mode=0o1777), a.directory("group", mode=0o2755), a.entry("old", "x", mtime=1000000007),
                 a.entry("null", kind="char"), a.entry("disk", kind="block"), a.entry("pipe", kind="fifo"))
    image = s.load(data, "modes")
    modes = {name: stat.S_IMODE(os.lstat(s.root(image, name)).st_mode) for name in s.tree(image)}
    check_equal(modes, {"setuid": 0o755, "none": 0o600, "write": 0o622, "run": 0o711, "closed": 0o700,
                        "closed/in": 0o644, "tmp": 0o1777, "group": 0o755, "old": 0o644})
    check_equal(os.stat(s.root(image, "old")).st_mtime, 1000000007)
    owner = os.stat(s.store).st_uid
    for path, directories, names in os.walk(s.store):
        for name in [*directories, *names]:
            check_equal(os.lstat(os.path.join(path, name)).st_uid, owner)


@test
def links_within_an_archive(s):
    data = a.tar(a.entry("a", "1"), a.hardlink("b", "a"), a.hardlink("c", "./b"), a.hardlink("a", "a"), a.symlink("s", "/a"),
                 a.hardlink("hs", "s"), a.hardlink("deep/new", "/a"))
    image = s.load(data, "links")
    check_equal(s.tree(image), {"a": "1", "b": "1", "c": "1", "s": "-> /a", "hs": "-> /a", "deep": None, "deep/new": "1"})
    check_equal(os.stat(s.root(image, "a")).st_ino, os.stat(s.root(image, "deep/new")).st_ino)


@test
def later_entries_replace_earlier_ones(s):
    data = a.tar(a.entry("a", "1"), a.entry("a", "22"), a.entry("b", "1"), a.directory("b"), a.entry("b/c", "1"),
                 a.directory("d"), a.entry("d/deep/e", "1"), a.entry("d", "2"), a.symlink("l", "b"), a.directory("l"),
                 a.entry("l/x", "1"), a.entry("h", "1"), a.hardlink("h2", "h"), a.entry("h2", "2"), a.directory("b", mode=0o700))
    image = s.load(data, "later")
    check_equal(s.tree(image), {"a": "22", "b": None, "b/c": "1", "d": "2", "l": None, "l/x": "1", "h": "1", "h2": "2"})
    check_equal(stat.S_IMODE(os.stat(s.root(image, "b")).st_mode), 0o700)


@test
def unusual_file_names_are_kept(s):
    names = ["grün", "\u4e2d\u6587", "line\nbreak", "tab\tand space", "-rf", "%2F", "a" * 255, "x" * 120 + "/" + "y" * 130,
             "\udcff\udcfe", ".hidden", "back\\slash", "a:b"]
    layers = [a.tar(*(a.entry(name, "1") for name in names)), a.tar(*(a.entry(".wh." + name, "") for name in names if len(name) < 250 and "/" not in name))]
    image = s.load(layers[0], "names")
    found = {n for n, content in s.tree(image).items() if content is not None}
    check_equal({os.fsencode(n) for n in found}, {os.fsencode(n) for n in names})
    image = s.load(a.docker(layers))
    left = {n for n, content in s.tree(image).items() if content is not None}
    check_equal(left, {"a" * 255, "x" * 120 + "/" + "y" * 130})


@test
def sparse_files_keep_their_holes():
    name = os.path.abspath("sparse")
    with open(name, "wb") as f:
        f.write(b"begin")
        f.seek(50000000)
        f.write(b"end")
        f.truncate(60000000)
    for form in ("gnu", "pax"):
        subprocess.run(["tar", "--sparse", f"--format={form}", "-cf", form + ".tar", "sparse"], check=True)
        with store() as s, open(form + ".tar", "rb") as f:
            image = s.load(f.read(), "sparse")
            at = s.root(image, "sparse")
            check_equal(os.stat(at).st_size, 60000000)
            check(os.stat(at).st_blocks * 512 < 1000000, "the holes were filled")
            with open(at, "rb") as g, open(name, "rb") as h:
                check(g.read() == h.read(), "its content is another")


@test
def the_user_is_looked_up_in_the_image(s):
    root = [a.entry("etc/passwd", "root:x:0:0::/:\nbroken\nbob:x:1000:1001::/:\n:x:7:7::/:\nmany:x:99999999999:1::/:\nodd:x:12:z::/:\n"
                    "nogroup:x:5\nlast:x:77:78::/"),
            a.entry("etc/group", "root:x:0:\nstaff:x:50:bob\nbad:x:-1:\n")]
    good = {"": (0, 0), "root": (0, 0), "bob": (1000, 1001), "1000": (1000, 1001), "1234": (1234, 0), "bob:staff": (1000, 50),
            "bob:7": (1000, 7), "1000:2000": (1000, 2000), "5:staff": (5, 50), "last": (77, 78), "2147483646": (2147483646, 0)}
    bad = ["nobody", "bob:nogroup", "many", "odd", "bad", "-1", "4294967296", "bob:bad", "x" * 300, "nogroup", "1 2"]
    layers = [a.tar(*root)]
    for user, (uid, gid) in good.items():
        c = s.load(a.docker(layers, User=user))["config"]
        check_equal((c["user"], c["uid"], c["gid"]), (user, uid, gid))
    for user in bad:
        error = s.refuse(a.docker(layers, User=user), None)
        check_equal(error["kind"], "invalid_request")
    # Replacements of these files must not lead outside, nor be larger than such a file may be.
    for passwd in (a.symlink("etc/passwd", "../../../../../../../../etc/passwd"), a.symlink("etc/passwd", "/etc/passwd"),
                   a.directory("etc/passwd"), a.entry("etc/passwd", b"daemon:x:1:1::/:\n" + b"#" * 2000000)):
        s.refuse(a.docker([a.tar(passwd)], User="daemon"), None)


@test
def runtimes_are_found_without_running_anything(s):
    program = {"mode": 0o755, "content": "\x7fELF"}
    data = [a.entry("usr/local/bin/python3.12", **program), a.symlink("usr/local/bin/python3", "python3.12"),
            a.symlink("usr/local/bin/python", "/usr/local/bin/python3"), a.entry("usr/bin/python3", **program),
            a.entry("opt/node/bin/node", **program), a.entry("usr/bin/perl", mode=0o644, content="x"),
            a.entry("usr/bin/ruby", mode=0o755), a.symlink("usr/bin/go", "/etc/../../../../../../../bin/sh"),
            a.directory("usr/bin/java"), a.entry("usr/bin/python3-config", **program), a.entry("usr/bin/bash", **program),
            a.entry("usr/bin/cc", **program), a.entry("usr/bin/c99", **program), a.entry("opt/unseen/php", **program), a.symlink("usr/bin/awk", "awk")]
    env = ["PATH=/usr/local/bin:/opt/node/bin/:relative:/usr/bin", "NODE_VERSION=22.3.0", "PYTHON_VERSION=3.12.4"]
    image = s.load(a.docker([a.tar(*data)], Env=env))
    check_equal({r["name"]: r["program"] for r in image["runtimes"]}, {
        "python": "/usr/local/bin/python3", "python3": "/usr/local/bin/python3", "python3.12": "/usr/local/bin/python3.12",
        "node": "/opt/node/bin/node", "node22": "/opt/node/bin/node", "bash": "/usr/bin/bash", "c": "/usr/bin/cc"})
    headers = a.entry("usr/include/node/node_version.h", "#define X 1\n#define NODE_MAJOR_VERSION 18\n")
    image = s.load(a.docker([a.tar(a.entry("usr/bin/node", **program), headers)]))
    check_equal([r["name"] for r in image["runtimes"]], ["node", "node18"])
    many = [a.entry(f"usr/bin/python3.{i}", **program) for i in range(100)]
    check_equal(len(s.load(a.tar(*many), "many")["runtimes"]), 64)


@test
def the_configuration_of_an_image_is_used(s):
    fields = {"Env": ["A=1", "PATH=/bin", "EMPTY=", "novalue", "=x"], "WorkingDir": "srv", "Entrypoint": ["/bin/sh", "-c"], "Cmd": "one",
              "Labels": {"a": "b", "long": "x" * 100000, "number": 1}, "ExposedPorts": {"80/tcp": {}}, "Volumes": None}
    c = s.load(a.docker([a.tar()], **fields))["config"]
    check_equal(c, {"env": ["A=1", "PATH=/bin", "EMPTY="], "cwd": "/srv", "user": "", "uid": 0, "gid": 0,
                    "entrypoint": ["/bin/sh", "-c"], "cmd": ["one"], "labels": {"a": "b"}})
    image = s.load(a.tar(a.entry("x", "1")), "own", source="bootstrap",
                   config={"Env": ["LANG=C.UTF-8"], "Cmd": ["bash"], "WorkingDir": "/root"})
    check_equal((image["source"], image["config"]["env"], image["config"]["cmd"], image["config"]["cwd"]),
                ("bootstrap", ["LANG=C.UTF-8"], ["bash"], "/root"))


@test
def progress_is_reported(s):
    ours, theirs = os.pipe()
    which = s.start_import(ours, "slow")
    data = a.tar(a.entry("big", b"x" * 2000000))

    def write():
        import time
        with os.fdopen(theirs, "wb") as f:
            for i in range(0, len(data), 500000):
                f.write(data[i:i + 500000])
                f.flush()
                time.sleep(0.12)

    writer = threading.Thread(target=write)
    writer.start()
    check_equal(s.answer(which)["event"], "done")
    writer.join()
    progress_events = [e for e in s.events if e["event"] == "progress"]
    check(len(progress_events) >= 2 and all(e["phase"] == "unpack" and e["id"] == which for e in progress_events), progress_events)
    done = [e["done"] for e in progress_events]
    check(done == sorted(done) and done[-1] > done[0], done)
