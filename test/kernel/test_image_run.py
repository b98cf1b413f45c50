"""Sandboxes of an image: its configuration is used, its files are shown, and changes stay in the sandbox."""

import fcntl
import json
import os
import subprocess
import time

import images
import support
from images import Image, prints, run, sh, tree
from support import ensure, expect, here, is_root, refused, same, test, until, write


@test(unwrapped=True)
def code_sees_the_files_of_the_image_and_none_of_the_host():
    image = Image().done()
    prints("tiny\n", "--image", "tiny", "--", "cat", "/etc/mark")
    same(sh(image, "ls -d /usr /sys /var /home 2>/dev/null || true"), "", "what the image does not have")
    lib64 = ["lib64"] if os.path.lexists(os.path.join(image.root, "lib64")) else []  # the path of the loader differs between machines
    expected = ["bin", "data", "dev", "etc", "lib", *lib64, "proc", "root", "run", "tmp", "workspace"]
    same(sh(image, "ls /").split(), expected, "the root directory")


@test(unwrapped=True)
def an_image_without_arguments_runs_its_own_command():
    Image(config={"entrypoint": ["sh", "-c", 'echo "$0 $*"'], "cmd": ["one", "two words"]}).done()
    prints("one two words\n", "--image", "tiny")
    prints("own\n", "--image", "tiny", "--", "sh", "-c", "echo own")


@test(unwrapped=True)
def an_image_without_a_command_says_so():
    Image(config={"cmd": []}).done()
    refused(run("--image", "tiny"), 2, "a command is needed: the image has none")


@test(unwrapped=True)
def environment_is_the_images_then_the_callers():
    Image(config={"env": ["PATH=/bin", "A=image", "B=image", "EMPTY="]}).done()
    r = expect(run("--image", "tiny", "--env", "B=mine", "--", "env"))
    installers = ["PIP_BREAK_SYSTEM_PACKAGES=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PYTHONUSERBASE=/workspace/.local", "npm_config_update_notifier=false"]
    same(sorted(r.out.splitlines()), ["A=image", "B=mine", "EMPTY=", "HOME=/root", "PATH=/bin:/workspace/.local/bin", *installers], "the environment", r)
    r = expect(run("--image", "tiny", "--env", "PIP_BREAK_SYSTEM_PACKAGES=0", "--", "sh", "-c", "echo $PIP_BREAK_SYSTEM_PACKAGES"))
    same(r.out, "0\n", "a variable that the caller sets", r)


@test(unwrapped=True)
def commands_start_in_the_images_directory_and_code_in_the_workspace():
    image = Image(config={"cwd": "/data/a"}).done()
    prints("/data/a\n", "--image", "tiny", "--", "sh", "-c", "pwd")
    prints("/workspace\n", "--image", "tiny", "sh", "-c", "pwd")
    prints("/data\n", "--image", "tiny", "--cwd", "/data", "--", "sh", "-c", "pwd")
    image.config["cwd"] = "/nowhere"
    image.write()
    refused(run("--image", "tiny", "--", "true"), 2, "cwd '/nowhere' is not a directory")


@test(unwrapped=True)
def code_is_the_images_user_and_everything_is_its_own():
    Image(config={"user": "app", "uid": 501, "gid": 502}).done()
    code = "id -u; id -g; stat -c %u:%g / /bin/sh /etc/mark /workspace /run; cat /etc/private; ls -d /root"
    prints("501\n502\n" + 5 * "501:502\n" + "private\n/root\n", "--image", "tiny", "--", "sh", "-c", code)
    prints("0\n0\n0:0\n", "--image", "tiny", "--user", "root", "--", "sh", "-c", "id -u; id -g; stat -c %u:%g /bin/sh")


@test(unwrapped=True)
def an_image_that_names_no_user_runs_as_root():
    image = Image().done()
    status = sh(image, "id -u; cat /proc/self/status")
    lines = dict(line.split(":\t", 1) for line in status.splitlines()[1:] if ":\t" in line)
    same(status.splitlines()[0], "0", "the uid")
    some = f"{0xDB if is_root() else 0:016x}"  # see test_image_users.py
    same([lines[f"Cap{c}"] for c in ("Inh", "Prm", "Eff", "Bnd", "Amb")], ["0" * 16, some, some, some, "0" * 16], "capabilities")
    same((lines["NoNewPrivs"], lines["Seccomp"]), ("1", "2"), "no_new_privs and filter")


@test(unwrapped=True)
def the_walls_are_those_of_the_host_image():
    Image().done()
    r = run("--json", "--image", "tiny", "--", "true").json()["isolation"]
    users = {"users": 65536} if is_root() else {}  # see test_image_users.py
    same(r, {**run("--json", "--", "true").json()["isolation"], **users}, "isolation")


@test(unwrapped=True)
def devices_are_six_and_proc_is_an_allow_list_and_read_only():
    image = Image().done()
    same(sh(image, "ls /dev").split(), "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero".split(), "/dev")
    hidden = "for n in keys timer_list kallsyms irq bus locks pressure sys/kernel/random/boot_id; do [ ! -e /proc/$n ] || echo $n; done"
    same(sh(image, hidden), "", "what is not hidden")
    same(sh(image, "cat /proc/sys/kernel/hostname /proc/sys/kernel/ostype"), "sandbox\nLinux\n", "settings")
    ensure("processor" in sh(image, "cat /proc/cpuinfo") and "lo:" in sh(image, "cat /proc/net/dev"), "what is shown")
    for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/dev/new", "/proc/1/oom_score_adj"):
        r = run("--image", "tiny", "--", "sh", "-c", f"echo x > {path}")
        ensure(r.rc != 0, f"{path} was written to", r)
    r = run("--image", "tiny", "--", "sh", "-c", "rm /dev/null || mv /dev /x || rmdir /proc || mv /tmp /y")
    ensure(r.rc != 0, "a mount was taken away", r)


@test(unwrapped=True)
def mounts_do_not_show_the_path_of_the_store():
    image = Image().done()
    text = sh(image, "cat /proc/self/mountinfo /proc/self/mounts")
    for part in (support.home, image.id, "roots"):
        ensure(part not in text, f"{part!r} is in the list of mounts:\n{text}")
    for line in text.splitlines():
        fields = line.split()
        if " - " in line and fields[4] not in ("/proc",) and fields[fields.index("-") + 1] in ("overlay", "tmpfs"):
            ensure({"nosuid", "nodev"} <= set(fields[5].split(",")), f"without nosuid or nodev: {line}")


@test(unwrapped=True)
def name_resolution_has_its_files_whatever_the_image_has():
    image = Image()
    image.link("etc/resolv.conf", "/run/systemd/resolve/stub-resolv.conf")
    image.put("etc/hosts", "6.6.6.6 localhost\n")
    image.done()
    same(sh(image, "cat /etc/hosts /etc/hostname /etc/resolv.conf"), "127.0.0.1 localhost sandbox\n::1 localhost\nsandbox\n",
         "hosts, hostname and resolv.conf")  # fmt: skip
    same(sh(image, "cat /etc/resolv.conf", "--network", "elevated"), "nameserver 198.18.0.1\n", "resolv.conf with a network")


CHANGES = """
echo x >> /etc/mark; echo x > /bin/new; chmod 600 /bin/cat; chmod 777 /data; truncate -s 0 /etc/group; touch /etc/passwd
mv /etc/passwd /etc/passwd2; mv /data /data2 || cp -r /data /data2; rm -rf /data /data2/a; ln /bin/sh /bin/sh2
ln -sf /nowhere /etc/mark; mkdir -p /a/b/c /etc/d; mkfifo /etc/fifo; rm /bin/ls; rm -r /root; mkdir /root; echo y > /root/y
"""


@test(unwrapped=True)
def code_cannot_change_the_image_on_disk():
    image = Image().done()
    before = tree(image.store)
    code = CHANGES + "read x < /root/y; echo $x; test ! -e /etc/passwd; test ! -e /bin/ls; test ! -x /bin/cat"
    same(sh(image, code), "y\n", "stdout")
    same(run("--image", "tiny", "--", "sh", "-c", "rm -rf / --no-preserve-root; echo over").out, "over\n", "after rm -rf /")
    same(tree(image.store), before, "the store")
    prints("tiny\n", "--image", "tiny", "--", "cat", "/etc/mark")


@test(unwrapped=True)
def attributes_and_times_and_owners_stay_in_the_sandbox():
    image = Image(files=images.needs([*images.PROGRAMS, "/usr/bin/python3"]))
    images.copy_python(image)
    image.put("etc/locked", "x", 0o400)
    image.done()
    before = tree(image.store)
    code = """
import os
done = []
def attempt(name, f, *args, **kw):
    try: f(*args, **kw); done.append(name)
    except OSError as e: done.append(name + ' ' + os.strerror(e.errno))
attempt('utime', os.utime, '/etc/mark', (1, 1))
attempt('chown', os.chown, '/etc/mark', 0, 0)
attempt('chown to another', os.chown, '/etc/mark', 7, 7)
attempt('trusted', os.setxattr, '/etc/mark', 'trusted.overlay.opaque', b'y')
attempt('security', os.setxattr, '/bin/sh', 'security.capability', b'\\1' * 20)
attempt('remove', os.removexattr, '/etc', 'trusted.overlay.opaque')
attempt('setuid', os.chmod, '/bin/sh', 0o6755)
attempt('rename', os.rename, '/bin', '/bin2')
attempt('rename', os.rename, '/bin2', '/bin')
fd = os.open('/etc/locked', os.O_RDONLY)
attempt('by descriptor', os.fchmod, fd, 0o666)
attempt('write', lambda: os.write(os.open('/proc/self/fd/%d' % fd, os.O_WRONLY), b'new'))
print(open('/etc/locked').read(), oct(os.stat('/etc/locked').st_mode), len(done))
print(*done, sep='\\n')
"""
    r = run("--image", "tiny", "python3", "-c", code)
    lines = expect(r).out.splitlines()
    same(lines[0], "new 0o100666 11", "what the code sees", r)
    for word in ("trusted", "security", "remove", *(() if is_root() else ("chown to another",))):
        ensure(any(line.startswith(word + " ") for line in lines), f"{word} was allowed", r)
    same(tree(image.store), before, "the store")


@test(unwrapped=True)
def two_sandboxes_do_not_see_each_other():
    image = Image().done()
    code = "echo $$ > /etc/mine; echo $0 > /etc/mark; until [ -e /workspace/go ]; do sleep 0.05; done; cat /etc/mark"
    pair = [support.spawn("run", "--image", "tiny", "--workspace", here(d) + ":ro", "--", "sh", "-c", code, d,
                          env=images.environment(), stdout=subprocess.PIPE)
            for d in ("w1", "w2") if not os.makedirs(here(d))]  # fmt: skip
    time.sleep(0.3)
    same(sh(image, "cat /etc/mark; ls /etc"), "tiny\ngroup\nhostname\nhosts\nmark\npasswd\nprivate\nresolv.conf\n", "a third")
    for d in ("w1", "w2"):
        write(here(d, "go"))
    same([p.communicate(timeout=20)[0] for p in pair], [b"w1\n", b"w2\n"], "what each wrote")


def used(path):
    return sum(os.lstat(os.path.join(d, n)).st_blocks for d, names, files in os.walk(path) for n in [".", *names, *files])


@test(unwrapped=True)
def fifty_sandboxes_of_an_image_take_no_room_on_disk():
    image = Image().done()
    before = used(image.store)
    marker = support.nonce_seconds()
    many = [support.spawn("run", "--image", "tiny", "--", "sh", "-c",
                          f"echo mine > /bin/cat; exec sleep {marker}", env=images.environment())
            for _ in range(50)]  # fmt: skip
    try:
        until(lambda: len([p for p in support.with_argument(marker) if support.program_name(p) == "sleep"]) == 50, 20,
              "fifty sandboxes")  # fmt: skip
        same(used(image.store), before, "blocks that the store takes")
        same(os.listdir(image.store + "/roots"), [image.id], "roots")
    finally:
        for p in many:
            p.terminate()
        for p in many:
            support.reap(p)
    support.gone(marker)


@test(unwrapped=True)
def the_writable_layer_has_the_disks_limit():
    image = Image().done()
    image.put("data/large", "x" * (3 << 20))
    image.done()

    def status(code, *options):
        r = run("--json", "--image", "tiny", *options, "--", "sh", "-c", code)
        return r.json()["status"], r

    for place in ("/data/new", "/workspace/new", "/etc/new", "/dev/shm/new"):
        same(status(f"dd if=/dev/zero of={place} bs=64k", "--disk", "2M")[0], "disk_limit", f"writing to {place}")
    same(status("echo >> /data/large || echo full", "--disk", "2M")[1].json()["stdout"], "full\n", "copying up a larger file")
    same(status("echo >> /data/large", "--disk", "4M")[0], "exited", "copying up a file that fits")
    # The same number of files as without an image, wherever they are.
    made = "i=0; while : > /data/f$i; do i=$((i+1)); done; echo $i >&2"
    got, r = status(made, "--disk", "1M")
    same(got, "disk_limit", "making files", r)


@test(unwrapped=True)
def memory_that_is_written_to_the_layer_is_the_codes():
    if not is_root():
        return  # no cgroup counts it
    Image().done()
    r = run("--json", "--image", "tiny", "--memory", "32M", "--disk", "256M", "--", "sh", "-c",
            "dd if=/dev/zero of=/data/new bs=1M count=100")  # fmt: skip
    same(r.json()["status"], "memory_limit", "status", r)


@test(unwrapped=True)
def an_unknown_image_is_not_found():
    Image().done()
    refused(run("--image", "nothing:1", "--", "true"), 125, "image not found: nothing:1", "cella image pull nothing:1")
    r = run("--json", "--image", "nothing:1", "--", "true")
    same(r.json()["error"]["kind"], "not_found", "kind", r)
    prints("host\n", "--image", "host", "--", "sh", "-c", "test -e /usr/bin/env && echo host")


@test(unwrapped=True)
def programs_that_the_image_lacks_are_named():
    Image(config={"entrypoint": ["/bin/nothing"]}).done()
    refused(run("--image", "tiny", "--", "bash"), 127, "command not found: bash")
    refused(run("--image", "tiny", "python3", "-c", "1"), 125, "runtime not found: python3")
    refused(run("--image", "tiny"), 127, "command not found: /bin/nothing")


@test(unwrapped=True)
def an_image_in_use_is_locked_and_can_lose_its_name():
    image = Image().done()
    os.mkdir(here("w"))
    p = support.spawn("run", "--image", "tiny", "--workspace", here("w") + ":rw", "--", "sh", "-c",
                      "touch begun; until [ -e go ]; do sleep 0.05; done; cat /etc/mark /data/a/b/c",
                      env=images.environment(), stdout=subprocess.PIPE, cwd=support.home)  # fmt: skip
    until(lambda: os.path.exists(here("w", "begun")), 10, "its start")
    root = os.open(image.root, os.O_RDONLY)
    try:
        fcntl.flock(root, fcntl.LOCK_EX | fcntl.LOCK_NB)
        support.fail("the root of an image in use can be locked for removal")
    except BlockingIOError:
        pass
    image.unname()
    refused(run("--image", "tiny", "--", "true"), 125, "image not found: tiny")
    write(here("w", "go"))
    same(p.communicate(timeout=20)[0], b"tiny\ndeep\n", "what it read after its name was gone")
    fcntl.flock(root, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the image is not in use any more
    os.close(root)


@test(unwrapped=True)
def an_image_that_is_being_removed_is_not_found():
    image = Image().done()
    root = os.open(image.root, os.O_RDONLY)
    fcntl.flock(root, fcntl.LOCK_EX)
    refused(run("--image", "tiny", "--", "true"), 125, "image not found", "it was removed")
    os.close(root)
    prints("", "--image", "tiny", "--", "true")


@test(unwrapped=True)
def workspaces_and_mounts_go_with_an_image():
    image = Image()
    image.put("workspace/hidden", "x")
    image.done()
    os.makedirs(here("w"))
    write(here("w", "f"), "host\n")
    write(here("file"), "one file\n")
    if is_root():
        os.chown(here("w"), 77, 77)
    r = run("--image", "tiny", "--workspace", here("w") + ":rw", "--mount", here("file") + ":/data/a/file",
            "--mount", here("w") + ":/new/place", "--", "sh", "-c",
            "cd /workspace; ls; cat f /data/a/file /new/place/f; echo new > g; cat /data/a/b/c; echo x > /new/place/no")  # fmt: skip
    same(r.out, "f\nhost\none file\nhost\ndeep\n", "stdout", r)
    same(support.read(here("w", "g")), "new\n", "what was written")
    same(os.stat(here("w", "g")).st_uid, 77 if is_root() else support.ordinary_uid, "its owner")
    same(os.path.exists(here("w", "no")), False, "a file in what is read-only")
    ensure(not os.path.exists(image.path("new")), "a place was made in the store")


@test(unwrapped=True)
def files_that_changed_are_listed():
    Image().done()
    r = run("--json", "--image", "tiny", "sh", "-c", "echo 1 > a; mkdir d; echo 22 > d/b; echo x > /etc/c").json()
    same(sorted((f["path"], f["change"], f["bytes"]) for f in r["files"]), [("a", "added", 2), ("d/b", "added", 3)], "files")


@test(unwrapped=True, users=["root"])
def a_file_system_that_cannot_map_owners_is_refused_with_a_hint():
    Image(where=here("lower")).done()
    for name in ("upper", "work", "state"):
        os.mkdir(here(name))
    commands = (f"mount -t overlay overlay -o lowerdir={here('lower')},upperdir={here('upper')},workdir={here('work')} "
                f"{here('state')} && exec \"$@\"")  # fmt: skip
    r = subprocess.run(["unshare", "-m", "sh", "-c", commands, "sh", *support.command, "run", "--json", "--image", "tiny", "--", "true"],
                       env=images.environment(), capture_output=True, text=True)  # fmt: skip
    error = json.loads(r.stdout)["error"]
    same(error["kind"], "isolation_unavailable", "kind", r)
    ensure("owner" in error["message"] and "ext4" in error["hint"], f"it does not say what to do: {error}")
