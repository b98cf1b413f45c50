"""Host files in the sandbox: --workspace and --mount."""

import os
import stat
import time

import support
from support import ensure, here, is_root, prints, read, refused, run, run_json, same, script, test, write

OWNER = 4242  # for tests as root: the directory of another user


def a_dir(name="w", **files):
    """A directory of the test's user (as root: of another one) with these files."""
    os.makedirs(name)
    for path, text in files.items():
        write(os.path.join(name, path), text)
    if is_root():
        for path in [name, *(os.path.join(name, f) for f in files)]:
            os.chown(path, OWNER, OWNER)
    return name


def owner(path):
    st = os.lstat(path)
    return st.st_uid, st.st_gid


def expected_owner():
    return (OWNER, OWNER) if is_root() else (support.ordinary_uid, support.ordinary_uid)


# The workspace.


@test
def workspace_is_read_only_by_default():
    a_dir(a="x")
    for access in ("", ":ro"):
        r = run("--workspace", "w" + access, "sh", "-c", "cat a; echo y > b; echo y > a; rm -f a; mkdir c; echo $?")
        same((r.rc, r.out), (0, "x1\n"), "exit status and stdout", r)
        same((os.listdir("w"), read("w/a")), (["a"], "x"), "the directory")


@test
def read_only_means_a_read_only_file_system():
    a_dir(a="x")
    code = "import os\ntry: os.open('b', os.O_CREAT | os.O_WRONLY)\nexcept OSError as e: print(e.errno)"
    prints("30\n", "--workspace", "w", "python3", "-c", code)


@test
def files_written_belong_to_the_directorys_owner():
    a_dir(old="old")
    prints("1000 1000\nold", "--workspace", "w:rw", "sh", "-c",
           "stat -c '%u %g' . ; cat old; printf more >> old; printf new > new; mkdir -p d/e; printf deep > d/e/f; "
           "ln -s f d/e/l")
    same([read(f"w/{f}") for f in ("old", "new", "d/e/f")], ["oldmore", "new", "deep"], "the contents")
    same({owner(f"w/{f}") for f in ("old", "new", "d", "d/e", "d/e/f", "d/e/l")}, {expected_owner()}, "the owners")
    same(stat.S_IMODE(os.stat("w/new").st_mode), 0o644, "the mode of the new file")


@test
def root_inside_writes_as_the_owner_too():
    a_dir()
    prints("0\n", "--user", "root", "--workspace", "w:rw", "sh", "-c", "touch f; stat -c %u f")
    same(owner("w/f"), expected_owner(), "the owner")


@test(users=["root"])
def directory_of_root_works_too():
    os.mkdir("w")
    prints("1000\n", "--workspace", "w:rw", "sh", "-c", "touch f; stat -c %u f")
    same(owner("w/f"), (0, 0), "the owner")


@test(users=["root"])
def files_of_others_in_the_directory_stay_closed():
    a_dir(secret="secret", public="public")
    os.chown("w/secret", 777, 777)
    os.chmod("w/secret", 0o600)
    os.chown("w/public", 777, 777)
    r = run("--workspace", "w:rw", "sh", "-c",
            "cat public; cat secret; echo x > public; chmod 777 secret; stat -c %u secret")
    same((r.rc, r.out), (0, "public65534\n"), "exit status and stdout", r)
    same((read("w/secret"), read("w/public")), ("secret", "public"), "the files")


@test
def files_can_be_changed_and_removed():
    a_dir(a="a", b="b", c="c")
    prints("", "--workspace", "w:rw", "sh", "-c", "rm a; mv b d; chmod 600 c; touch -d 2001-01-01 c")
    same(sorted(os.listdir("w")), ["c", "d"], "the directory")
    st = os.stat("w/c")
    same((stat.S_IMODE(st.st_mode), time.gmtime(st.st_mtime).tm_year), (0o600, 2001), "mode and year")


@test
def relative_workspace_is_from_here():
    a_dir(a="x")
    os.chdir("w")
    prints("x", "--workspace", ".", "--", "cat", "/workspace/a")


@test
def workspace_can_be_reached_by_a_symlink():
    a_dir(a="x")
    os.symlink("w", "link")
    prints("x", "--workspace", "link", "--", "cat", "a")


@test
def script_runs_in_a_read_only_workspace():
    a_dir()
    write("s.py", "import os; print(os.getcwd())")
    prints("/workspace\n", "--workspace", "w", "python3", "s.py")


@test
def workspace_does_not_show_its_neighbours():
    a_dir()
    write("beside", "secret")
    os.symlink("../beside", "w/up")
    os.symlink(here("beside"), "w/full")
    r = run("--workspace", "w:rw", "sh", "-c", "cat ../beside up full 2>/dev/null; ls /workspace/..")
    ensure("secret" not in r.out and "beside" not in r.out, "the neighbour is seen", r)


@test
def large_file_is_written_whole():
    a_dir()
    prints("", "--workspace", "w:rw", "sh", "-c", "head -c 30000000 /dev/zero > big")
    same(os.path.getsize("w/big"), 30_000_000, "the size")


# Further mounts.


@test
def directory_is_mounted_read_only():
    a_dir("data", a="x")
    r = run("--mount", f"{here('data')}:/data", "sh", "-c", "cat /data/a; echo y > /data/b")
    same((r.rc != 0, r.out), (True, "x"), "failure and stdout", r)
    same(os.listdir("data"), ["a"], "the directory")


@test
def directory_is_mounted_writable():
    a_dir("data", a="x")
    prints("x", "--mount", "data:/data/deep/er:rw", "sh", "-c",
           "cd /data/deep/er; cat a; mkdir d; echo y > d/b")
    same(read("data/d/b"), "y\n", "the file")
    same({owner("data/d"), owner("data/d/b")}, {expected_owner()}, "the owners")


@test
def file_is_mounted_read_only():
    a_dir("data", file="x")
    r = run("--mount", "data/file:/config/app.ini", "sh", "-c", "cat /config/app.ini; echo y > /config/app.ini")
    same((r.rc != 0, r.out), (True, "x"), "failure and stdout", r)
    same(read("data/file"), "x", "the file")


@test
def file_is_mounted_writable():
    a_dir("data", file="x")
    prints("x", "--mount", "data/file:/config/app.ini:rw", "sh", "-c",
           "cat /config/app.ini; printf yy > /config/app.ini")
    same((read("data/file"), owner("data/file")), ("yy", expected_owner()), "the file and its owner")


@test
def mount_lies_in_the_private_workspace():
    a_dir("data", a="x")
    prints("x", "--mount", "data:/workspace/sub/data", "sh", "-c", "cat sub/data/a; echo y > own")


@test
def mount_lies_in_a_directory_of_the_host_workspace():
    a_dir("data", a="x")
    a_dir("w", f="f")
    os.mkdir("w/sub")
    if is_root():
        os.chown("w/sub", OWNER, OWNER)
    for access in ("ro", "rw"):
        prints("xf", "--workspace", f"w:{access}", "--mount", "data:/workspace/sub", "sh", "-c", "cat sub/a f")
        same(os.listdir("w/sub"), [], "what lies below the mount on the host")


@test
def mount_point_missing_in_a_host_workspace_is_made_or_refused():
    """Both results are accepted, but not a file of another owner in the directory."""
    a_dir("data", a="x")
    a_dir("w", f="f")
    for access in ("ro", "rw"):
        r = run("--workspace", f"w:{access}", "--mount", "data:/workspace/new", "sh", "-c", "cat new/a")
        if r.rc == 0:
            same(r.out, "x", "stdout", r)
        else:
            refused(r, 2, "/workspace/new")
        for name in os.listdir("w"):
            same(owner(f"w/{name}"), expected_owner(), f"the owner of {name}", r)


@test
def several_mounts_come_together():
    for i in range(10):
        a_dir(f"d{i}", a=str(i))
    words = [w for i in range(10) for w in ("--mount", f"d{i}:/data/{i}")]
    prints("0123456789", *words, "sh", "-c", "cat /data/*/a")


@test
def tmp_can_be_a_mount():
    a_dir("data", a="x")
    prints("x", "--mount", "data:/tmp:rw", "sh", "-c", "cat /tmp/a; echo y > /tmp/b")
    same(owner("data/b"), expected_owner(), "the owner")


# Symbolic links and special files.


def symlink_trap(target, link="link", destination=None):
    """D/link leads out of the workspace; a mount must not follow it."""
    a_dir("w")
    a_dir("data", a="x")
    os.mkdir("outside")
    os.chmod("outside", 0o777)
    os.symlink(destination or here("outside"), f"w/{link}")
    before = sorted(os.listdir("/tmp"))
    for access in ("ro", "rw"):
        r = run("--workspace", f"w:{access}", "--mount", f"data:{target}", "sh", "-c", f"cat {target}/a")
        if r.rc == 0:
            same(r.out, "x", "stdout", r)
        else:
            refused(r, 2)
    same(os.listdir("outside"), [], "what was made outside")
    same([n for n in os.listdir("/tmp") if n not in before and n in ("y", "link")], [], "what was made in /tmp")
    same(os.listdir("w"), [link], "the workspace")


@test
def mount_does_not_follow_a_symlink_on_its_way():
    symlink_trap("/workspace/link/y")


@test
def mount_does_not_follow_a_symlink_at_its_end():
    symlink_trap("/workspace/link")


@test
def mount_does_not_follow_a_symlink_to_slash_tmp():
    symlink_trap("/workspace/link/y", destination="/tmp")


@test
def mount_does_not_follow_a_symlink_up():
    symlink_trap("/workspace/link/y", destination="../outside")


@test
def file_mount_does_not_follow_a_dangling_symlink():
    a_dir("w")
    a_dir("data", a="x")
    os.symlink(here("created"), "w/link")
    r = run("--workspace", "w:rw", "--mount", "data/a:/workspace/link", "--", "cat", "link")
    ensure(r.rc != 0 or r.out == "x", "neither refused nor mounted", r)
    ensure(not os.path.exists("created"), "a file was made at the symlink's end", r)


SETUID = script(
    "import ctypes, os, stat",
    "def attempt(what, f):",
    "    try: f()",
    "    except OSError: pass",
    "libc = ctypes.CDLL(None, use_errno=True)",
    "os.umask(0)",
    "for n in 'abcdef': open(n, 'w').close()",
    "attempt('chmod', lambda: os.chmod('a', 0o4755))",
    "attempt('chmod g', lambda: os.chmod('b', 0o2755))",
    "attempt('fchmod', lambda: os.fchmod(os.open('c', os.O_WRONLY), 0o6755))",
    "attempt('fchmodat', lambda: os.chmod('d', 0o4755, dir_fd=os.open('.', os.O_RDONLY)))",
    "libc.syscall(452, -100, b'e', 0o4755, 0)",
    "attempt('open', lambda: os.open('g', os.O_CREAT | os.O_WRONLY, 0o4755))",
    "libc.creat(b'h', 0o4755)",
    "attempt('mknod', lambda: os.mknod('i', 0o104755))",
    "attempt('mkdir', lambda: os.mkdir('j', 0o2755))",
    "bad = [n for n in os.listdir('.') if os.lstat(n).st_mode & 0o6000]",
    "print(bad)",
)


@test
def setuid_bit_cannot_be_set():
    for options in ((), ("--user", "root")):
        name = a_dir("w" + str(len(options)))
        prints("[]\n", "--workspace", f"{name}:rw", *options, "python3", "-c", SETUID)
        same([n for n in os.listdir(name) if os.lstat(f"{name}/{n}").st_mode & 0o6000], [], "files with the bit")


@test
def setuid_program_of_the_host_gives_nothing():
    prints("1000\n", "sh", "-c", "su root -c 'id -u' 2>/dev/null </dev/null; mount --bind /tmp /tmp 2>/dev/null; id -u")


@test
def device_nodes_cannot_be_made():
    a_dir()
    code = script(
        "import os",
        "for kind, number in ((0o020666, os.makedev(1, 3)), (0o060666, os.makedev(254, 0))):",
        "    try: os.mknod('node', kind, number); print('made')",
        "    except OSError as e: print('refused')",
    )
    prints("refused\nrefused\n", "--workspace", "w:rw", "python3", "-c", code)
    same(os.listdir("w"), [], "the workspace")


@test
def fifo_and_socket_work_in_a_workspace():
    for options in ((), ("--workspace", a_dir() + ":rw")):
        prints("through\n", *options, "sh", "-c", "mkfifo p; echo through > p & cat p")
        prints("b'hello'\n", *options, "python3", "-c", script(
            "import socket",
            "a = socket.socket(socket.AF_UNIX); a.bind('s'); a.listen()",
            "b = socket.socket(socket.AF_UNIX); b.connect('/workspace/s'); b.send(b'hello')",
            "print(a.accept()[0].recv(9))",
        ))
    same(sorted(os.listdir("w")), ["p", "s"], "the workspace")


@test
def special_files_in_a_workspace_do_not_hang_the_list():
    a_dir()
    os.mkfifo("w/fifo")
    result, r = run_json("--workspace", "w:rw", "sh", "-c", "mkfifo other; ln -s loop loop; echo x > f", timeout=5)
    same(r.rc, 0, "exit status", r)
    ensure("f" in [f["path"] for f in result["files"]], "f is not listed", r)


@test(users=["root"])
def host_device_in_a_workspace_cannot_be_opened():
    a_dir()
    os.mknod("w/null", 0o020666, os.makedev(1, 3))
    os.chmod("w/null", 0o666)
    r = run("--workspace", "w:rw", "sh", "-c", "echo x > null")
    ensure(r.rc != 0, "a device of the host was opened", r)


@test
def hard_limit_on_a_file_holds_in_a_host_workspace():
    a_dir()
    r = run("--disk", "1M", "--workspace", "w:rw", "sh", "-c", "head -c 5000000 /dev/zero > big; exit 0")
    ensure(os.path.getsize("w/big") <= 1 << 20, f"the file has {os.path.getsize('w/big')} bytes", r)
