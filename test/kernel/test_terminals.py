"""Pseudo-terminals that code makes itself, in its own /dev/pts."""

import json
import os
import pty
import subprocess

import images
from images import Image
from support import ensure, expect, prints, read, reap, run, same, script, spawn, test, until

MAX = 64  # view_show_terminals()


def inside(code, *options):
    r = expect(run(*options, "python3", "-c", code + "\nimport json; print(json.dumps(answer))"), out=None)
    return json.loads(r.out)


OPENPTY = script(
    "import fcntl, os, stat, struct, termios",
    "master, slave = os.openpty()",
    "s = os.fstat(slave)",
    "answer = [os.ttyname(slave), os.isatty(master), oct(s.st_mode), s.st_uid == os.getuid(), s.st_gid == os.getgid()]",
    "os.write(master, b'typed\\n')",
    "answer.append(os.read(slave, 100).decode())",
    "os.write(slave, b'shown\\n')",
    "shown = b''",
    "while len(shown) < 14: shown += os.read(master, 100)",
    "answer.append(shown.decode())",
    "fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 33, 91, 0, 0))",
    "answer.append(list(os.get_terminal_size(master)))",
)


@test
def openpty_works():
    wanted = ["/dev/pts/0", True, "0o20620", True, True, "typed\n", "typed\r\nshown\r\n", [91, 33]]
    same(inside(OPENPTY), wanted, "a terminal")
    same(inside(OPENPTY, "--user", "root"), wanted, "a terminal of root inside")


@test(unwrapped=True)
def images_have_terminals():
    """As the user of the image: root, or another one."""
    for name, config in (("tiny", {}), ("other", {"uid": 501, "gid": 502})):
        Image(name, config).done()
        r = images.run("--image", name, "--", "sh", "-c", "exec 3<>/dev/ptmx && ls /dev/pts && stat -c '%a %u' /dev/pts/0")
        expect(r, out=f"0\nptmx\n620 {config.get('uid', 0)}\n")


@test
def programs_run_on_a_terminal_of_the_code():
    prints("/dev/pts/0\n0\n", "python3", "-c", script(
        "import os, pty",
        "print(pty.spawn(['tty'], lambda fd: os.read(fd, 1000).replace(b'\\r', b'')))",
    ))


@test
def script_works():
    r = expect(run("--", "script", "-qec", "tty; test -t 0 && test -t 1; echo $?; exit 7", "/dev/null"), rc=7, out=None)
    same(r.out.replace("\r", ""), "/dev/pts/0\n0\n", "what it printed", r)


CONTROLLING = script(
    "import fcntl, os, pty, signal, termios",
    "pid, master = pty.fork()",
    "if pid == 0:",
    "    fd = os.open('/dev/tty', os.O_RDWR)",
    "    os.write(fd, b'%d %d\\n' % (os.tcgetpgrp(fd) == os.getpgrp(), os.getsid(0) == os.getpid()))",
    "    signal.pause()",
    "answer = [os.read(master, 100).decode()]",
    "os.close(master)",  # hangs up
    "answer.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
    "try: os.open('/dev/tty', os.O_RDWR)",
    "except OSError as e: answer.append(e.errno)",  # this process has no controlling terminal
)


@test
def a_controlling_terminal_can_be_opened_by_name_and_hangs_up():
    same(inside(CONTROLLING), ["1 1\r\n", -1, 6], "/dev/tty, the signal at the end, and /dev/tty of another session")


@test
def a_sandbox_has_its_own_dev_pts():
    master, slave = pty.openpty()  # of the host
    try:
        look = "import os; answer = [sorted(os.listdir('/dev/pts')), os.stat('/dev/pts').st_dev, os.readlink('/dev/ptmx')]"
        names, device, link = inside(look)
        same((names, link), (["ptmx"], "pts/ptmx"), "what is there")
        ensure(device != os.stat("/dev/pts").st_dev, "the host's /dev/pts")
    finally:
        os.close(master)
        os.close(slave)
    hold = "import os, sys; os.openpty(); print(os.stat('/dev/pts').st_dev, flush=True); sys.stdin.read()"
    other = spawn("run", "python3", "-c", hold, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        theirs = int(other.stdout.readline())
        names, device, _ = inside(look)
        same(names, ["ptmx"], "what is there while another sandbox has a terminal")
        ensure(device != theirs, "the /dev/pts of another sandbox")
    finally:
        other.kill()
        reap(other)


@test
def dev_pts_runs_no_programs_and_takes_no_files():
    look = script(
        "import os",
        "lines = [l.split() for l in open('/proc/self/mountinfo') if l.split()[4] == '/dev/pts']",
        "answer = [len(lines), sorted(set(lines[0][5].split(',')) & {'rw', 'nosuid', 'noexec'}), lines[0][-1].split(',')]",
        "for name in ('/dev/pts/new', '/dev/new'):",
        "    try: os.close(os.open(name, os.O_CREAT | os.O_WRONLY)); answer.append(name)",
        "    except OSError: pass",
        "try: os.unlink('/dev/ptmx'); answer.append('removed')",
        "except OSError: pass",
    )
    count, flags, options, *done = inside(look)
    same((count, flags, done), (1, ["noexec", "nosuid", "rw"], []), "mounts, their flags, what could be changed")
    ensure({f"max={MAX}", "ptmxmode=666", "mode=620"} <= set(options), f"the options: {options}")


FILL = script(
    "import os",
    "n = 0",
    "try:",
    "    while True: os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY); n += 1",
    "except OSError as e: print(n, e.errno, flush=True)",
)


@test
def terminals_end_at_their_maximum():
    prints(f"{MAX} 28\n", "python3", "-c", FILL)
    prints(f"{MAX} 28\n", "--user", "root", "python3", "-c", FILL)


@test
def terminals_count_as_open_files():
    r = expect(run("--files", "40", "python3", "-c", FILL), out=None)
    n, error = map(int, r.out.split())
    ensure(20 < n < 40 and error == 24, "terminals, and the error", r)


def terminals_of_the_host():
    """The kernel's maximum is for the terminals of all sandboxes together."""
    return int(read("/proc/sys/kernel/pty/nr"))


@test
def no_terminal_is_left_after_the_end():
    """Not if the code ends with all of them open, if it is killed, or if only the queue of a socket still refers to them."""
    queue = script(
        "import array, socket",
        "for i in range(0, n, 8):",
        "    a, b = socket.socketpair()",
        "    a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [b.fileno(), *range(i + 3, i + 11)]))])",
        "    a.close(); b.close()",
    )
    wait = "import sys; sys.stdin.read()\n"
    for code, kill in ((FILL + wait, True), (FILL + wait, False), (FILL + queue + wait, False)):
        # Others may have terminals, too, and give them back.
        before = terminals_of_the_host()
        p = spawn("run", "python3", "-c", code, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        same(p.stdout.readline(), f"{MAX} 28\n".encode(), "terminals that the code has")
        if kill:
            p.kill()
            reap(p)
        else:
            p.communicate(timeout=60)
            same(p.returncode, 0, "exit status")
        until(lambda: terminals_of_the_host() < before + MAX // 2, 60, "the end of the terminals")  # noqa: B023
