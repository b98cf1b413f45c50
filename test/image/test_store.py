"""The store itself: crashes, concurrent writers, names, removal; and the process that does it."""

import fcntl
import json
import os
import random
import socket
import threading
import time

import archives as a
import registry_imager
import support
from stores import Store, check, check_equal, store
from support import test


def images_are_whole(s):
    """Checks that every name belongs to an image, and that every image has its root and its layers."""
    for name in os.listdir(s.store + "/refs"):
        ident = open(f"{s.store}/refs/{name}").read().strip()
        meta = registry_imager.read_document(f"{s.store}/meta/{ident}")
        check_equal(meta["id"], ident)
        check(os.path.isdir(f"{s.store}/roots/{ident}"), "no root")
        for layer in meta["layers"]:
            check(os.path.exists(f"{s.store}/layers/{layer[7:]}.json"), "no layer")


@test
def a_kill_at_any_moment_leaves_no_half_image(s):
    layers = [a.tar(*(a.entry(f"{i}/f{k}", f"{i} {k}") for k in range(150))) for i in range(3)]
    archive = a.docker(layers, tags=["x:1"])
    rng = random.Random(os.getpid())
    begun = time.monotonic()
    image = s.load(archive)
    whole, expected = time.monotonic() - begun, s.tree(image)
    s.do("rm", name="x:1")
    seen = set()
    for _ in range(40 if os.environ.get("CELLA_TEST_ALL") else 12):
        s.start_import(archive)
        time.sleep(rng.uniform(0, whole * 1.1))
        s.kill()
        images_are_whole(s)
        complete = "docker.io/library/x:1" in s.names()
        seen.add(complete)
        if complete:
            check_equal(s.tree(image), expected)
        s.start()
        check_equal(s.do("gc")["event"], "done")
        check_equal(os.listdir(s.store + "/tmp"), [])
        if complete:
            s.do("rm", name="x:1")
        check_equal(s.files(), [])
    check_equal(s.tree(s.load(archive)), expected)
    check_equal(s.surroundings(), s.around, "what is around")


@test
def leftovers_are_removed_when_the_next_process_starts(s):
    s.load(a.tar(a.entry("x", "1")), "x")
    ours, theirs = os.pipe()
    s.start_import(ours, "slow")
    os.write(theirs, a.tar(a.entry("big", b"x" * 3000), end=False))
    until = time.monotonic() + 20
    while not any(names for _, _, names in os.walk(s.store + "/tmp")) and time.monotonic() < until:
        time.sleep(0.01)
    check(os.listdir(s.store + "/tmp"), "nothing is under construction")
    # Another process that starts at the same time does not change it.
    with Other(s) as other:
        check(os.listdir(s.store + "/tmp"), "it was taken away from under its maker")
        other.do("rm", name="x")
    s.kill()
    os.close(theirs)
    check(os.listdir(s.store + "/tmp"), "who removed it?")
    s.start()
    s.load(a.tar(a.entry("x", "1")), "x")
    check_equal(os.listdir(s.store + "/tmp"), [])


class Other(Store):
    """A second process on the same store."""

    def __init__(self, first):
        self.area, self.around = first.area, first.around
        super(Store, self).__init__(first.program, store=first.store)


@test
def two_processes_can_import_into_one_store():
    shared = a.tar(a.entry("shared", "1" * 100000))
    archives = [a.docker([shared, a.tar(a.entry(f"own{i}", str(i)))], tags=[f"image{i % 4}:1"]) for i in range(8)]
    with store() as s, Other(s) as other:
        errors = []

        def work(which, part):
            try:
                ids = [which.start_import(archive) for archive in part]
                for i in ids:
                    answer = which.answer(i)
                    if answer["event"] != "done":
                        errors.append(answer)
            except Exception as e:  # pylint: disable=broad-except
                errors.append(e)

        threads = [threading.Thread(target=work, args=(s, archives[:6])), threading.Thread(target=work, args=(other, archives[2:]))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        check_equal(errors, [])
        images_are_whole(s)
        check_equal(len(os.listdir(s.store + "/meta")), 8)
        check_equal(len(s.names()), 4)
        check_equal(len([n for n in os.listdir(s.store + "/layers") if n.endswith(".json")]), 9)
        removed = s.do("gc")
        check_equal((removed["images"], removed["layers"]), (4, 4))
        images_are_whole(s)


@test
def the_ninth_request_at_once_has_to_wait(s):
    pipes = [os.pipe() for _ in range(8)]
    ids = [s.start_import(ours, f"x{i}") for i, (ours, _) in enumerate(pipes)]
    error = s.answer(s.start_import(a.tar(a.entry("x", "1")), "x"))["error"]
    check_equal(error["kind"], "over_capacity")
    for i in ids[:4]:
        s.do("cancel", target=i)
        check_equal(s.answer(i)["error"]["message"], "cancelled")
    s.do("cancel", target=12345)
    s.load(a.tar(a.entry("x", "1")), "now")
    for (_, theirs), i in zip(pipes[4:], ids[4:]):
        os.write(theirs, a.tar(a.entry("y", str(i))))
        os.close(theirs)
        check_equal(s.answer(i)["event"], "done")
    for _, theirs in pipes[:4]:
        os.close(theirs)
    check_equal(s.names(), ["now", "x4", "x5", "x6", "x7"])


@test
def a_cancelled_import_leaves_nothing(s):
    layer = a.tar(*(a.entry(f"f{i}", b"x" * 20000) for i in range(200)))
    archive = a.docker([layer])
    ours, theirs = os.pipe()
    which = s.start_import(ours, "x")

    def write():
        try:
            os.write(theirs, archive[: len(archive) // 2])
        except OSError:
            pass

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(0.1)
    begun = time.monotonic()
    s.do("cancel", target=which)
    check_equal(s.answer(which)["error"]["message"], "cancelled")
    support.within(time.monotonic() - begun, 20, "cancelling")
    writer.join()
    os.close(theirs)
    s.check_same([])


@test
def the_process_ends_when_its_owner_leaves_during_an_import(s):
    ours, theirs = os.pipe()
    s.start_import(ours, "x")
    time.sleep(0.05)
    begun = time.monotonic()
    check_equal(s.end(), 0)
    support.within(time.monotonic() - begun, 20, "its end")
    os.close(theirs)
    s.check_same([])


@test
def names_are_added_moved_and_removed(s):
    one, two = a.tar(a.entry("x", "1")), a.tar(a.entry("x", "2"))
    first = s.load(one, "a")
    check_equal(s.load(one, "b")["names"], ["a", "b"])
    check_equal(s.do("rm", name="a")["removed"], False)
    check_equal(s.load(two, "c")["names"], ["c"])
    # A name that is given to another image is no longer the first one's.
    check_equal(s.load(two, "b")["names"], ["b", "c"])
    check(os.path.isdir(s.root(first)), "an image without a name is there until somebody cleans up")
    removed = s.do("gc")
    check_equal((removed["images"], removed["layers"]), (1, 1))
    check(not os.path.exists(s.root(first)), "its root is still there")
    # By the beginning of an id, with all names.
    ident = open(s.store + "/refs/b").read().strip()
    check_equal(s.answer(s.send("rm", name=ident[:5]))["error"]["kind"], "not_found")
    check_equal(s.do("rm", name=ident[:12])["removed"], True)
    check_equal(s.files(), [])
    for name in ("a", "nobody/here:1", ident, "../x", "host", ""):
        answer = s.answer(s.send("rm", name=name))
        check(answer["event"] == "failed" and answer["error"]["kind"] in ("not_found", "invalid_request"), answer)
    check_equal(s.answer(s.send("rm"))["error"]["kind"], "invalid_request")
    s.check_same([])


@test
def image_names_are_read_as_by_docker(s):
    s.load(a.docker([a.tar()], tags=["python:3.12", "ghcr.io/a/b:1", "localhost:5000/c"]))
    check_equal(s.names(), ["docker.io/library/python:3.12", "ghcr.io/a/b:1", "localhost:5000/c:latest"])
    for name in ("docker.io/python:3.12", "ghcr.io/a/b:1", "localhost:5000/c"):
        s.do("rm", name=name)
    s.check_same([])


@test
def an_image_in_use_loses_its_names_only_until_a_sweep_after_its_end(s):
    image = s.load(a.tar(a.entry("x", "1")), "x")
    s.load(a.tar(a.entry("x", "1")), "y")
    root = os.open(s.root(image), os.O_RDONLY)
    fcntl.flock(root, fcntl.LOCK_SH)
    check_equal(s.do("rm", name="x")["removed"], False)
    check_equal(s.do("rm", name=image["id"])["removed"], False)
    check_equal(s.names(), [])
    error = s.answer(s.send("rm", name=image["id"]))["error"]
    check_equal(error["kind"], "over_capacity")
    check_equal(s.do("gc")["images"], 0)
    check_equal(s.tree(image), {"x": "1"})
    # The image can be imported again and has the same id.
    check_equal(s.load(a.tar(a.entry("x", "1")), "x")["names"], ["x"])
    s.load(a.tar(a.entry("x", "2")), "x")
    s.do("gc")
    check_equal(s.tree(image), {"x": "1"})
    os.close(root)
    s.do("rm", name="x")
    check_equal(s.do("gc")["images"], 1)
    s.check_same([])


@test
def a_root_in_use_stays_where_it_is_when_its_image_is_made_again(s):
    image = s.load(a.tar(a.entry("x", "1")), "x")
    root = os.open(s.root(image), os.O_RDONLY)
    fcntl.flock(root, fcntl.LOCK_SH)
    os.unlink(f"{s.store}/meta/{image['id']}")
    again = s.load(a.tar(a.entry("x", "1")), "x")
    check_equal((again["id"], os.stat(s.root(image)).st_ino), (image["id"], os.fstat(root).st_ino))
    check_equal(os.listdir(s.store + "/tmp"), [])
    os.close(root)
    os.unlink(f"{s.store}/meta/{image['id']}")
    s.load(a.tar(a.entry("x", "1")), "x")
    check_equal(s.tree(image), {"x": "1"})


def write_as_earlier_versions(s, image):
    """Replaces the image's document by the JSON that was written before."""
    path = f"{s.store}/meta/{image['id']}"
    owner = os.stat(path)
    with open(path + ".json", "w") as f:
        json.dump(image, f)
    os.chown(path + ".json", owner.st_uid, owner.st_gid)
    os.unlink(path)


@test
def an_image_that_cannot_be_converted_is_kept(s):
    image = s.load(a.tar(a.entry("x", "1")), "x")
    write_as_earlier_versions(s, image)
    os.chmod(s.store + "/meta", 0o500)  # as with a full disk
    s.kill()
    s.start()
    check_equal(s.answer(s.send("gc"))["event"], "failed")
    check_equal(s.tree(image), {"x": "1"})
    os.chmod(s.store + "/meta", 0o700)
    check_equal(s.do("gc")["images"], 0)
    check_equal((s.tree(image), s.names()), ({"x": "1"}, ["x"]))


@test
def an_id_or_a_digest_cannot_be_taken_by_a_name(s):
    one, two = a.tar(a.entry("x", "1")), a.tar(a.entry("x", "2"))
    first, second = s.load(one, "base"), s.load(two, "other")
    ident, digest = first["id"], "sha256:" + "1" * 64
    for name in (ident, "sha256:" + ident, "sha256:" + ident[:12], ident[:12], ident[:6], "deadbeef", f"python@{digest}", f"python:3@{digest}"):
        error = s.refuse(two, name)
        check(error["kind"] == "invalid_request" and error["hint"], error)
    for tag in (f"python@{digest}", "sha256:" + ident, "deadbeef"):
        check_equal(s.refuse(a.docker([two], tags=[tag]), None)["kind"], "invalid_request", tag)
    # Also not if such an image is in the store already.
    for name in (ident, "sha256:" + ident, ident[:12], f"docker.io%2Flibrary%2F{ident[:12]}:latest"):
        with open(f"{s.store}/refs/{name}", "w") as f:
            f.write(second["id"])
        if os.getuid() == 0:
            os.chown(f"{s.store}/refs/{name}", support.ordinary_uid, support.ordinary_uid)
    for name in ("sha256:" + ident[:8], ident[:12], "sha256:" + ident, ident):
        check_equal(s.do("rm", name=name)["removed"], True, name)
        check(os.path.exists(s.root(second)) and not os.path.exists(s.root(first)), f"{name} was the other one")
        check_equal(s.load(one, "base")["id"], ident)
    # Where no image has such an id it may be the name of a repository.
    check_equal(s.load(a.docker([two], tags=["docker.io/library/facade:latest"]))["id"] is not None, True)
    check_equal(s.answer(s.send("rm", name="facade"))["event"], "done")


@test
def a_full_store_is_reported(s):
    image = s.load(a.tar(a.entry("x", "1")), "x")

    def plant(path, text):
        with open(f"{s.store}/{path}", "w") as f:
            f.write(text)
        if os.getuid() == 0:
            os.chown(f"{s.store}/{path}", support.ordinary_uid, support.ordinary_uid)

    for i in range(1023):
        plant(f"meta/{i:064x}", "")
    error = s.refuse(a.tar(a.entry("x", "2")), "y")
    check(error["kind"] == "over_capacity" and "1024 images" in error["message"] and "gc" in error["hint"], error)
    check_equal(s.load(a.tar(a.entry("x", "1")), "y")["id"], image["id"])
    check_equal(s.do("gc")["images"], 1023)
    s.load(a.tar(a.entry("x", "2")), "y")
    for i in range(4096 - 2):
        plant(f"refs/name{i}", image["id"])
    error = s.refuse(a.tar(a.entry("x", "3")), "z")
    check(error["kind"] == "over_capacity" and "4096 names" in error["message"], error)
    s.load(a.tar(a.entry("x", "3")), "y")


@test
def documents_of_earlier_versions_are_converted_at_the_start(s):
    config = {"Env": ["PATH=/bin", "A=b c"], "Cmd": ["sh", "-c", "x\ny"], "Labels": {"a b": "=c"}, "User": "7:8"}
    image = s.load(a.tar(a.entry("bin/sh", "#!", mode=0o755)), "x", config=config)
    broken = f"{s.store}/meta/{'1' * 64}"
    s.kill()
    write_as_earlier_versions(s, image)
    with open(broken + ".json", "w") as f:
        f.write('{"id": 1}')
    if os.getuid() == 0:
        os.chown(broken + ".json", support.ordinary_uid, support.ordinary_uid)
    s.start()
    check_equal(s.do("gc")["images"], 0)
    check_equal(s.describe(image["id"]), image)
    check_equal(sorted(os.listdir(s.store + "/meta")), sorted([image["id"], "1" * 64 + ".json"]))
    check_equal(s.load(a.tar(a.entry("bin/sh", "#!", mode=0o755)), "y", config=config)["id"], image["id"])


@test(users=("user",))
def a_sweep_waits_for_a_slow_import_for_some_seconds_only(s):
    ours, theirs = os.pipe()
    slow = s.start_import(ours, "slow")
    until = time.monotonic() + 20
    while not os.path.isdir(s.store + "/tmp") or not os.listdir(s.store + "/tmp"):
        check(time.monotonic() < until, "it has not begun")
        time.sleep(0.01)
    begun = time.monotonic()
    error = s.answer(s.send("gc"))["error"]
    check(error["kind"] == "over_capacity" and "imported" in error["message"] and error["hint"], error)
    check(4 < time.monotonic() - begun, "it did not wait")
    which = s.send("gc")
    time.sleep(0.2)
    os.write(theirs, a.tar(a.entry("x", "1")))
    os.close(theirs)
    check_equal(s.answer(slow)["event"], "done")
    check_equal(s.answer(which)["event"], "done")


@test
def broken_parts_of_the_store_are_removed(s):
    image = s.load(a.tar(a.entry("x", "1")), "x")
    good = s.files()
    other = s.load(a.tar(a.entry("x", "2")), "y")
    with open(f"{s.store}/meta/{other['id']}", "w") as f:
        f.write("cella-image 1\0id %s\0cwd /\0uid -1\0" % other["id"])
    os.makedirs(s.store + "/roots/" + "1" * 64)
    os.makedirs(s.store + "/layers/" + "2" * 64)
    os.makedirs(s.store + "/layers/strange")
    with open(s.store + "/blobs/" + "3" * 64 + ".part", "w") as f:
        f.write("half")
    with open(s.store + "/refs/dangling", "w") as f:
        f.write("4" * 64)
    if os.getuid() == 0:
        for path, directories, names in os.walk(s.store):
            for name in [*directories, *names]:
                os.lchown(os.path.join(path, name), support.ordinary_uid, support.ordinary_uid)
    s.do("gc")
    check_equal(s.files(), good)
    check_equal(s.tree(image), {"x": "1"})
    # A layer without a record is unpacked again.
    layer = image["layers"][0][7:]
    s.do("rm", name="x")
    os.makedirs(f"{s.store}/layers/{layer}/old")
    if os.getuid() == 0:
        for path in (layer, layer + "/old"):
            os.chown(f"{s.store}/layers/{path}", support.ordinary_uid, support.ordinary_uid)
    check_equal(s.tree(s.load(a.tar(a.entry("x", "1")), "x")), {"x": "1"})
    check_equal(sorted(os.listdir(f"{s.store}/layers/{layer}")), ["x"])


@test
def an_invalid_request_ends_the_process():
    for line in (b"hello\n", b"[]\n", b"{}\n", b'{"id": -1, "op": "gc"}\n', b'{"id": "1", "op": "gc"}\n', b"x" * 70000, b'{"id":1,"op":"gc"',
                 b"[" * 1000 + b"\n"):
        with store() as s:
            s.socket.sendall(line)
            s.socket.shutdown(socket.SHUT_WR)
            check(s.end() not in (0, None), line[:40])
    with store() as s:
        for request in ({"op": "fly"}, {"op": None}, {}, {"op": "import", "name": "x"}, {"op": "gc", "limits": {"bytes": -1}},
                        {"op": "gc", "limits": {"entries": "many"}}, {"op": "cancel"}, {"op": "rm", "name": 1}):
            s.last += 1
            s.socket.sendall(json.dumps({"id": s.last, **request}).encode() + b"\n")
            check_equal(s.answer(s.last)["error"]["kind"], "invalid_request", request)
        # Sent in pieces, and several lines at once.
        s.socket.sendall(b'{"id": 100,')
        time.sleep(0.05)
        s.socket.sendall(b'"op": "gc"}\n{"id": 101, "op": "gc"}\n{"id": 102')
        check_equal(s.answer(100)["event"], "done")
        check_equal(s.answer(101)["event"], "done")
        s.socket.sendall(b', "op": "gc"}\n')
        check_equal(s.answer(102)["event"], "done")


@test
def the_process_has_a_filter_no_capabilities_and_its_own_uid(s):
    s.load(a.tar(a.entry("x", "1")), "x")
    status = dict(line.split(":\t", 1) for line in open(f"/proc/{s.pid}/status").read().splitlines() if ":\t" in line)
    check_equal((status["NoNewPrivs"], status["CapEff"].strip("0")), ("1", ""))
    with open(s.program, "rb") as f:
        text = f.read()
    sanitized = b"__asan_init" in text or b"__tsan_init" in text  # then the process has no filter
    check_equal(status["Seccomp"], "0" if sanitized else "2")
    check_equal(int(status["Uid"].split()[0]), support.ordinary_uid)


@test(users=("user",))
def a_full_disk_is_reported_and_leaves_nothing():
    """Simulates a full disk by a limit on the size of files, because an ordinary user cannot fill a disk."""
    import resource
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # cella-image inherits that, and gets an error
    resource.setrlimit(resource.RLIMIT_FSIZE, (300000, 300000))
    with store() as s:
        ours, theirs = os.pipe()
        which = s.start_import(ours, "big")
        archive = a.tar(a.entry("big", b"x" * 500000))
        with os.fdopen(theirs, "wb") as f:
            f.write(archive)
        check_equal(s.answer(which)["event"], "failed")
        s.check_same([])
        s.load(a.tar(a.entry("small", b"x" * 2000)), "small")
