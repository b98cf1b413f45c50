"""Images made to get out: whatever an image has where the sandbox puts its own, nothing outside of the sandbox is
written, mounted on or shown.  Each root here is what a store would hold had the unpacking let it through."""

import os
import stat

import images
import support
from images import Image, prints, run, sh, tree
from support import ensure, expect, here, is_root, refused, same, test, write

PLACES = ("proc", "dev", "tmp", "run", "workspace", "etc", "dev/shm", "dev/pts", "proc/self")


def victim():
    """A world-writable directory of the host with a file that must not be changed and not be seen."""
    os.makedirs(here("victim", "sub"))
    for name in ("resolv.conf", "hosts", "hostname", "secret", "null", "sub/x"):
        write(here("victim", name), "of the host\n", 0o666)
    for name in ("victim", "victim/sub"):
        os.chmod(here(name), 0o777)
    return here("victim")


def works_and_harms_nothing(image, before, what):
    code = ("ls /workspace /tmp /run /dev/shm; id -u; cat /etc/hosts; echo mine > /workspace/w; echo mine > /tmp/t; "
            "echo mine > /etc/e; echo mine > /dev/shm/s; test -c /dev/null; test -d /proc/self/fd; "
            "test ! -e /workspace/secret; test ! -e /etc/secret; test ! -e /proc/secret; test ! -e /dev/secret; "
            "test ! -e /tmp/secret; test ! -e /run/secret")  # fmt: skip
    r = run("--image", image.name, "--", "sh", "-ec", code)
    expect(r, out="/dev/shm:\n\n/run:\n\n/tmp:\n\n/workspace:\n0\n127.0.0.1 localhost sandbox\n::1 localhost\n")
    same(tree(here("victim")), before, f"the victim of {what}")


def with_each(make):
    """A sandbox for each of the places where it puts something, of an image in which make(image, place, target) has
    put another thing there."""
    target = victim()
    before = tree(target)
    for i, place in enumerate(PLACES):
        image = Image(f"hostile{i}")
        make(image, place, target)
        image.done()
        works_and_harms_nothing(image, before, place)


@test(unwrapped=True)
def places_that_are_links_to_the_host_are_covered():
    with_each(lambda image, place, target: image.link(place, target))


@test(unwrapped=True)
def places_that_are_links_upwards_are_covered():
    def up(image, place, target):
        image.link(place, "../" * 30 + target[1:])

    with_each(up)


@test(unwrapped=True)
def places_that_are_links_to_themselves_or_nowhere_are_covered():
    with_each(lambda image, place, _: image.link(place, "/" + place))
    before = tree(here("victim"))
    for i, target in enumerate(("/nowhere/at/all", "/proc/self/root", "/proc/1/root", "/proc/self/cwd", "/", ".", "..")):
        image = Image(f"nowhere{i}")
        for place in ("proc", "dev", "tmp", "run", "workspace", "etc"):
            image.link(place, target)
        works_and_harms_nothing(image.done(), before, target)


@test(unwrapped=True)
def places_that_are_files_are_covered():
    def file(image, place, _):
        image.link(place, "/")
        os.unlink(image.path(place))
        image.put(place, "a file\n")

    with_each(file)


@test(unwrapped=True)
def files_of_etc_that_are_links_are_not_written_through():
    target = victim()
    before = tree(target)
    image = Image()
    for name in ("resolv.conf", "hosts", "hostname"):
        image.link(f"etc/{name}", os.path.join(target, name))
    image.done()
    works_and_harms_nothing(image, before, "links in /etc")
    same(sh(image, "cat /etc/resolv.conf; test ! -h /etc/resolv.conf; test ! -h /etc/hostname"), "", "resolv.conf")
    same(tree(target), before, "the victim")


@test(unwrapped=True)
def files_of_etc_that_are_directories_are_covered():
    target = victim()
    image = Image()
    for name in ("resolv.conf", "hosts", "hostname"):
        image.put(f"etc/{name}/x", "x")
    works_and_harms_nothing(image.done(), tree(target), "directories in /etc")


@test(unwrapped=True)
def a_mount_is_not_attached_behind_a_link_of_the_image():
    target = victim()
    before = tree(target)
    image = Image()
    image.link("a", target)
    image.link("b", "/" + "../" * 20 + target[1:])
    image.link("c", "/data")
    image.put("file", "x")
    image.done()
    os.mkdir(here("m"))
    for place in ("/a/x", "/a/sub/x", "/b/new/place", "/c/x", "/file/x"):
        r = run("--image", "tiny", "--mount", f"{here('m')}:{place}", "--", "true")
        refused(r, 2, f"at '{place}'")
        same(tree(target), before, f"the victim of {place}")
    for place in ("/a", "/c"):  # the link itself: its target does not exist
        r = run("--image", "tiny", "--mount", f"{here('m')}:{place}", "--", "sh", "-c", "ls -A /a /c; ls /data")
        ensure(r.rc != 0 or r.out.endswith("a\n"), f"a mount on the link {place}", r)
        same(tree(target), before, f"the victim of {place}")


@test(unwrapped=True)
def links_in_the_image_lead_nowhere_on_the_host():
    target = victim()
    before = tree(target)
    image = Image()
    image.link("out", target)
    image.link("up", "../" * 40 + target[1:])
    image.link("root1", "/proc/1/root" + target)
    image.link("old", "/proc/self/root/.." + target)
    image.done()
    for name in ("out", "up", "root1", "old"):
        r = run("--image", "tiny", "--", "sh", "-c", f"cat /{name}/secret; echo x > /{name}/secret; ls /{name}/..; rm -rf /{name}/")
        ensure("of the host" not in r.out, f"{name} leads out", r)
        same(tree(target), before, f"the victim of {name}")


@test(unwrapped=True)
def setuid_files_give_nothing():
    image = Image(config={"uid": 501, "gid": 502})
    for name in ("id", "cat"):
        os.chmod(image.path(f"bin/{name}"), 0o6755)
    image.done()
    for name in ("id", "cat"):  # the change of the owner removed the bit
        os.chmod(image.path(f"bin/{name}"), 0o6755)
    ensure(os.stat(image.path("bin/id")).st_mode & stat.S_ISUID, "the file is not setuid")
    same(sh(image, "id -u; id -ru; id -g; id -rg; cat /proc/self/status").splitlines()[:4], ["501", "501", "502", "502"], "ids")
    text = sh(image, "cat /proc/self/status")
    ensure("CapEff:\t0000000000000000" in text and "CapPrm:\t0000000000000000" in text, f"it has a capability: {text}")


@test(unwrapped=True, users=["root"])
def devices_in_the_image_are_dead():
    image = Image()
    os.makedirs(image.path("nodes"))
    os.mknod(image.path("nodes/zero"), stat.S_IFCHR | 0o666, os.makedev(1, 5))
    os.mknod(image.path("nodes/disk"), stat.S_IFBLK | 0o666, os.makedev(254, 0))
    os.mknod(image.path("nodes/kmsg"), stat.S_IFCHR | 0o666, os.makedev(1, 11))
    image.done()
    for name in ("zero", "disk", "kmsg"):
        r = run("--image", "tiny", "--", "dd", f"if=/nodes/{name}", "of=/dev/null", "count=1")
        ensure(r.rc != 0 and "Permission denied" in r.err, f"/nodes/{name} was opened", r)


@test(unwrapped=True)
def a_root_that_is_a_link_is_refused():
    target = victim()
    image = Image().done()
    os.rename(image.root, here("moved"))
    for link, place in ((target, image.root), (here("moved"), image.root), ("../../../victim", image.root)):
        os.symlink(link, place)
        if is_root():
            os.lchown(place, images.owner(), images.owner())
        r = run("--image", "tiny", "--", "cat", "/secret")
        refused(r, 125, "image not found")
        os.unlink(place)
    os.rename(here("moved"), image.root)
    roots = os.path.dirname(image.root)
    os.rename(roots, here("roots"))
    os.symlink(here("roots"), roots)
    refused(run("--image", "tiny", "--", "true"), 125, "image not found")


@test(unwrapped=True, users=["root"])
def a_root_directory_of_another_user_is_refused():
    image = Image().done()
    os.chown(image.root, 0, 0)
    refused(run("--image", "tiny", "--", "true"), 125, "belongs to another user")
    os.chown(image.root, images.owner(), images.owner())
    prints("", "--image", "tiny", "--", "true")


@test(unwrapped=True, users=["root"])
def files_of_other_users_in_the_image_belong_to_the_overflow_uid():
    image = Image()
    image.put("etc/foreign", "foreign\n", 0o600)
    image.put("etc/public", "public\n", 0o644)
    image.done()
    for name in ("foreign", "public"):
        os.chown(image.path(f"etc/{name}"), 0, 0)
    r = run("--image", "tiny", "--", "sh", "-c", "cat /etc/public /etc/foreign; stat -c %u /etc/foreign; echo x > /etc/public")
    same(r.out, "public\n65534\n", "what it sees", r)
    ensure("Permission denied" in r.err, "it read a stranger's file", r)


@test(unwrapped=True)
def overlay_attributes_of_an_image_have_no_effect():
    target = victim()
    before = tree(target)
    image = Image()
    kind = "trusted" if is_root() else "user"
    os.makedirs(image.path("d/e"))
    for name, value in (("redirect", b"/" + b"../" * 20 + target.encode()[1:]), ("opaque", b"y"), ("origin", b"\x00" * 40),
                        ("metacopy", b""), ("upper", b"\x00" * 40)):  # fmt: skip
        for path in ("d", "etc/mark"):
            try:
                os.setxattr(image.path(path), f"{kind}.overlay.{name}", value)
            except OSError:
                continue  # this file system has none
    image.done()
    r = run("--image", "tiny", "--", "sh", "-c", "ls -R /d; cat /d/secret /etc/mark; mv /d /d2; ls /d2; echo x > /d2/new")
    ensure("of the host" not in r.out, "it leads out", r)
    same(tree(target), before, "the victim")


@test(unwrapped=True)
def overlay_attributes_set_by_code_have_no_effect():
    image = Image(files=images.needs([*images.PROGRAMS, "/usr/bin/python3"]))
    images.copy_python(image)
    image.done()
    code = """
import os
os.mkdir('/d')
os.mkdir('/data/own')
for path in ('/d', '/data', '/data/a', '/data/a/b/c'):
    for kind in ('trusted', 'user'):
        for name, value in (('redirect', b'/bin'), ('opaque', b'y'), ('metacopy', b''), ('whiteout', b'y')):
            try:
                os.setxattr(path, f'{kind}.overlay.{name}', value)
                ok = kind == 'user'  # to an overlay of root's; elsewhere it is kept under another name
            except OSError:
                ok = True
            if not ok:
                print(path, kind, name)
os.rename('/d', '/e')
print(sorted(os.listdir('/data')), os.listdir('/data/a'), os.listdir('/e'), open('/data/a/b/c').read())
"""
    prints("['a', 'own'] ['b'] [] deep\n\n", "--image", "tiny", "python3", "-c", code)


@test(unwrapped=True)
def invalid_documents_of_the_store_are_refused():
    image = Image().done()
    ref = os.path.join(image.store, "refs", "tiny")
    meta = os.path.join(image.store, "meta", image.id)
    whole = support.read(meta)
    for text in ("../../../victim", "x" * 64, image.id[:-1], image.id.upper(), "", "0" * 64):
        write(ref, text)
        r = run("--image", "tiny", "--", "true")
        same(r.rc, 125, f"exit status with the id {text[:20]!r}", r)
    write(ref, image.id)
    for change in ({"uid": -1}, {"uid": 4294967295}, {"gid": 1 << 40}, {"uid": "root"}, {"cwd": 7}, {"env": [1]}, {"unknown": "key"}):
        image.config.update(change)
        image.write()
        r = run("--image", "tiny", "--", "true")
        ensure(r.rc == 125 and r.err.startswith("cella: "), f"{change} was taken", r)
        image.config.pop("unknown", None)
        for key, good in (("uid", 0), ("gid", 0), ("cwd", "/"), ("env", ["PATH=/bin"])):
            image.config[key] = good
    write(meta, whole)
    prints("", "--image", "tiny", "--", "true")
