"""What the code sees: the file system, itself, its environment, its network."""

import json
import os
import signal
import socket
import subprocess
import time

import support
from support import ensure, expect, fail, in_time, prints, read, run, same, script, spawn, test


def inside(code, *options, **kwargs):
    """Runs Python in a sandbox; it leaves its answer in `answer`."""
    r = expect(run(*options, "python3", "-c", code + "\nimport json; print(json.dumps(answer))", **kwargs), out=None)
    return json.loads(r.out)


def exists(paths, *options):
    return inside(f"import os; answer = [p for p in {paths!r} if os.path.lexists(p)]", *options)


# User.


@test
def code_is_user_1000():
    prints("1000 1000 1000 user user\n", "sh", "-c", "echo $(id -u) $(id -g) $(id -G) $(id -un) $(id -gn)")


@test
def code_can_be_root_inside():
    prints("0 0 0 root\n", "--user", "root", "sh", "-c", "echo $(id -u) $(id -g) $(id -G) $(id -un)")


@test
def passwd_has_the_user_and_no_stranger():
    for options, expected in (((), ["root", "user", "nobody"]), (("--user", "root"), ["root", "nobody"])):
        answer = inside(
            "import pwd, os; answer = [[p.pw_name for p in pwd.getpwall()], pwd.getpwuid(os.getuid()).pw_dir]", *options
        )
        same(answer, [expected, "/workspace"], "the accounts and the home")


@test
def root_inside_has_no_capabilities():
    for options in ((), ("--user", "root")):
        status = inside("answer = dict(l.split(':', 1) for l in open('/proc/self/status'))", *options)
        for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            same(int(status[field].strip(), 16), 0, f"{field} with {options}")
        same(status["NoNewPrivs"].strip(), "1", "NoNewPrivs")
        same(status["Seccomp"].strip(), "2", "Seccomp")
        same(status["Groups"].split(), [], "supplementary groups")


# Files.


@test
def no_private_file_of_the_host_is_visible():
    host = ["/home", "/root", "/var/log", "/var/lib", "/opt", "/sys", "/srv", "/mnt", "/media", "/boot", "/work",
            "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh", "/etc/machine-id", "/etc/fstab",
            "/etc/environment", "/etc/ssl/private", "/run/systemd", "/run/docker.sock", "/dev/sda", "/dev/vda",
            "/dev/mem", "/dev/kmsg", "/dev/fuse", "/dev/kvm", "/dev/net", "/old_root",
            os.getcwd(), os.path.dirname(os.getcwd())]
    same(exists(host), [], "what is seen of the host")
    same(exists(host, "--user", "root"), [], "what root inside sees of the host")


@test
def root_directory_holds_only_listed_entries():
    allowed = {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "tmp", "usr", "var",
               "workspace"}
    answer = set(inside("import os; answer = os.listdir('/')"))
    same(answer - allowed, set(), "what else is in /")
    same({"dev", "etc", "proc", "run", "tmp", "usr", "var", "workspace"} - answer, set(), "what is missing from /")


@test
def etc_holds_only_listed_files():
    allowed = {"alternatives", "group", "hostname", "hosts", "ld.so.cache", "localtime", "mtab", "nsswitch.conf",
               "passwd", "protocols", "resolv.conf", "services", "ssl", "timezone", "fonts", "matplotlibrc"}
    answer = inside("import os; answer = os.listdir('/etc')")
    # Some runtimes cannot start without their configuration, which is public.
    rest = [name for name in answer if name not in allowed and not name.startswith("java-")]
    same(rest, [], "what else is in /etc")


@test
def names_of_services_and_protocols_are_known():
    code = script(
        "import socket",
        "try: answer = [socket.getservbyname('https', 'tcp'), socket.getprotobyname('udp')]",
        "except OSError: answer = None  # no such file on this machine",
    )
    outside = {}
    exec(code, outside)
    same(inside(code), outside["answer"], "as on this machine")


@test
def dev_holds_six_devices():
    answer = inside(script(
        "import os, stat",
        "answer = sorted(n for n in os.listdir('/dev') if stat.S_ISCHR(os.lstat('/dev/' + n).st_mode))",
    ))
    same(answer, ["full", "null", "random", "tty", "urandom", "zero"], "the devices")
    prints("2\n5\n", "sh", "-c", "echo x > /dev/null; head -c 2 /dev/urandom | wc -c; head -c 5 /dev/zero | wc -c")


@test
def standard_streams_can_be_opened_by_name():
    code = "cat /dev/stdin; echo out > /dev/stdout; echo fd > /dev/fd/1; echo err > /dev/stderr"
    expect(run("sh", "-c", code, input="in\n"), out="in\nout\nfd\n", err="err\n")


@test(users=("root",))
def further_groups_of_root_stay_outside():
    expect(run("--", "id", "-G", extra_groups=[0, 4, 12345]), out="1000\n")


@test
def system_is_read_only():
    code = script(
        "import os",
        "answer = []",
        "for d in ('/', '/usr', '/usr/bin', '/usr/local/lib', '/etc', '/etc/ssl', '/dev', '/var', '/proc'):",
        "    try: os.close(os.open(d + '/new', os.O_CREAT | os.O_WRONLY)); answer.append(d)",
        "    except OSError: pass",
        "for f in ('/etc/passwd', '/etc/hosts', '/usr/bin/env', '/bin/sh'):",
        "    for how in (os.O_WRONLY, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_APPEND):",
        "        try: os.close(os.open(f, how)); answer.append(f)",
        "        except OSError: pass",
        "for f in ('/etc/passwd', '/usr/bin/env', '/tmp', '/workspace'):",
        "    try: os.rename(f, f + '2'); answer.append('mv ' + f)",
        "    except OSError: pass",
    )
    same(inside(code), [], "what could be written")
    same(inside(code, "--user", "root"), [], "what root inside could write")


for directory in ("/tmp", "/var/tmp", "/workspace", "/dev/shm", "/run"):
    test(
        lambda d=directory: prints("x\n", "sh", "-c", f"mkdir {d}/a && echo x > {d}/a/f && cat {d}/a/f && rm -r {d}/a"),
        name=f"{directory[1:].replace('/', '_')}_is_writable",
    )


@test
def scratch_directories_are_empty_at_first():
    prints("", "sh", "-c", "find /tmp /workspace /dev/shm -mindepth 1")


@test
def two_runs_share_nothing():
    prints("", "sh", "-c", "for d in /tmp /workspace /dev/shm /run; do echo x > $d/left; done")
    prints("", "sh", "-c", "find /tmp /workspace /dev/shm /run -name left")


@test
def programs_in_scratch_directories_run():
    code = "cp /bin/echo /workspace/e; ./e one; printf '#!/bin/sh\\necho two\\n' > /tmp/s; chmod +x /tmp/s; /tmp/s"
    prints("one\ntwo\n", "sh", "-c", code)


# The process.


@test
def host_name_is_sandbox():
    prints("sandbox\nsandbox\n", "sh", "-c", "uname -n; cat /etc/hostname")


@test(users=["root"])
def the_nis_domain_of_the_host_is_not_seen():
    # On a host with a NIS domain.
    host = "unshare", "--uts", "sh", "-c", 'echo nis.example >/proc/sys/kernel/domainname; "$@"; cat /proc/sys/kernel/domainname', "sh"
    code = "import ctypes; name = ctypes.create_string_buffer(65); ctypes.CDLL(None).getdomainname(name, 65); print(name.value.decode())"
    r = subprocess.run([*host, *support.command, "run", "python3", "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    same(r.stdout, "(none)\nnis.example\n", f"the domain inside and outside ({r.stderr})")


@test
def only_its_own_processes_are_seen():
    seen, own = inside("import os; answer = [[int(n) for n in os.listdir('/proc') if n.isdigit()], os.getpid()]")
    ensure(own in seen, f"{own} does not see itself among {seen}")
    same(set(seen) - {1, own}, set(), "the other processes seen")


@test
def environment_has_nothing_of_the_callers():
    os.environ.update(SECRET_TOKEN="x", LD_PRELOAD="", PYTHONPATH="/x", LC_ALL="C", CELLA_TEST="y")
    r = expect(run("--", "env", "-0"), out=None)
    same(dict(v.split("=", 1) for v in r.out.split("\0")[:-1]), {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/workspace/.local/bin",
        "HOME": "/workspace", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "USER": "user", "LOGNAME": "user",
        "SHELL": "/bin/sh", "TERM": "dumb", "npm_config_prefix": "/workspace/.local", "npm_config_update_notifier": "false",
        "PIP_BREAK_SYSTEM_PACKAGES": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }, "the environment")


@test
def given_variables_are_added_and_win():
    given = [w for v in ("A=1", "HOME=/tmp", "EMPTY=", "EQ=a=b\nc") for w in ("--env", v)]
    r = expect(run(*given, "--", "env", "-0"), out=None)
    got = dict(v.split("=", 1) for v in r.out.split("\0")[:-1])
    same({k: got.get(k) for k in ("A", "HOME", "EMPTY", "EQ")}, {"A": "1", "HOME": "/tmp", "EMPTY": "", "EQ": "a=b\nc"},
         "the given variables")
    same(r.out.count("HOME="), 1, "times that HOME is set", r)


@test
def last_of_two_equal_variables_wins():
    r = expect(run("--env", "A=1", "--env", "A=2", "--", "env", "-0"), out=None)
    same([v for v in r.out.split("\0") if v.startswith("A=")][-1], "A=2", "A", r)
    prints("2\n", "--env", "A=1", "--env", "A=2", "sh", "-c", "echo $A")


@test
def work_begins_in_the_workspace():
    prints("/workspace\n", "--", "pwd")


@test
def the_working_directory_is_used():
    prints("/usr/share\n", "--cwd", "/usr/share", "--", "pwd")


@test
def only_three_descriptors_are_open():
    held = [os.open("/etc/passwd", os.O_RDONLY), *os.pipe()]
    high = os.dup2(held[0], 200)
    code = script(
        "import os",
        "answer = {}",
        "for fd in range(1024):",
        "    try: answer[fd] = os.readlink(f'/proc/self/fd/{fd}').split(':')[0]",
        "    except OSError: pass",
    )
    answer = inside(code, pass_fds=[*held, high])
    same(answer, {"0": "pipe", "1": "pipe", "2": "pipe"}, "the open descriptors")


@test
def umask_is_022_whatever_ours_is():
    os.umask(0o077)
    prints("0022\n644\n", "sh", "-c", "umask; touch f; stat -c %a f")


SHOW_SIGNALS = script(
    "status = dict(line.split(':', 1) for line in open('/proc/self/status'))",
    "answer = {name: int(status[name].strip(), 16) for name in ('SigBlk', 'SigIgn')}",
)


@test
def signals_that_we_ignore_or_block_are_not_inherited():
    def spoil():
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGTSTP):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR2, signal.SIGALRM])

    # Python itself ignores SIGPIPE and SIGXFSZ.
    own = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
    same(inside(SHOW_SIGNALS, preexec_fn=spoil), {"SigBlk": 0, "SigIgn": own}, "the signals")


@test
def caller_may_ignore_the_death_of_children():
    def spoil():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    prints("7\n", "sh", "-c", "(exit 7); echo $?", preexec_fn=spoil, timeout=3)


@test
def code_has_a_session_and_a_group_of_its_own_without_a_terminal():
    same(inside(script(
        "import os",
        "answer = [os.getsid(0) > 0, os.getpgrp() == os.getpid()]",
        "try: os.open('/dev/tty', os.O_RDWR); answer.append('has a terminal')",
        "except OSError: pass",
    )), [True, True], "the session")


@test
def scheduling_is_as_by_default():
    same(inside("import os; answer = [os.nice(0), os.sched_getscheduler(0)]"), [0, 0], "nice and policy")


# /proc.


@test
def proc_is_read_only():
    code = script(
        "import os",
        "answer = []",
        "for f in ('self/oom_score_adj', 'self/uid_map', 'self/setgroups', 'self/comm', 'sys/kernel/hostname',",
        "          'sys/vm/drop_caches',",
        "          'sys/net/ipv4/ip_forward', 'sysrq-trigger', '1/oom_score_adj', 'self/mem', 'self/clear_refs'):",
        "    try: os.close(os.open('/proc/' + f, os.O_WRONLY)); answer.append(f)",
        "    except OSError: pass",
    )
    same(inside(code), [], "what could be opened for writing")
    same(inside(code, "--user", "root"), [], "what root inside could open for writing")


SHOWN_IN_PROC = {"cpuinfo", "filesystems", "loadavg", "meminfo", "mounts", "net", "self", "stat", "sys", "sysvipc", "thread-self",
                 "uptime", "version"}  # fmt: skip
SHOWN_SETTINGS = {"crypto/fips_enabled", "fs/file-max", "fs/nr_open", "fs/pipe-max-size", "kernel/cap_last_cap", "kernel/hostname",
                  "kernel/ngroups_max", "kernel/osrelease", "kernel/ostype", "kernel/pid_max", "kernel/random/uuid", "kernel/threads-max",
                  "kernel/version", "vm/max_map_count", "vm/mmap_min_addr", "vm/overcommit_memory"}  # fmt: skip


def settings(top):
    return {os.path.relpath(os.path.join(d, f), top) for d, _, files in os.walk(top) for f in files}


@test
def proc_is_an_allow_list():
    """Entries of /proc and /proc/sys are missing unless they are on the list; those on the list are readable."""
    here = {n for n in os.listdir("/proc") if not n.isdigit()}
    there = inside(f"import os; answer = [n for n in {sorted(here)!r} if os.path.lexists('/proc/' + n)]")
    same(set(there), SHOWN_IN_PROC & here, "what is there of the host's /proc")
    listed = inside("import os; answer = [n for n in os.listdir('/proc') if not n.isdigit()]")
    same(set(listed) - SHOWN_IN_PROC, set(), "further names in /proc")
    here = {n for n in settings("/proc/sys") if not n.startswith("net/")}
    there = inside(f"import os; answer = [n for n in {sorted(here)!r} if os.path.lexists('/proc/sys/' + n)]")
    same(set(there), SHOWN_SETTINGS & here, "what is there of the host's /proc/sys")
    listed = inside("import os; answer = [os.path.join(d, f)[10:] for d, _, files in os.walk('/proc/sys') for f in files]")
    same({n for n in listed if not n.startswith("net/")}, SHOWN_SETTINGS & here, "files in /proc/sys")
    ensure("net/core/somaxconn" in listed, "the settings of its network", listed)


@test
def the_files_that_proc_shows_can_be_read():
    code = script(
        "import os",
        f"files = {sorted(SHOWN_IN_PROC - {'net', 'sys', 'sysvipc', 'self', 'thread-self'})!r}",
        "files += ['net/dev', 'net/tcp', 'sysvipc/shm', 'sysvipc/sem', 'sysvipc/msg', 'self/status', 'sys/net/core/somaxconn']",
        "answer = [f for f in files if not open('/proc/' + f).read()]",
    )
    same(inside(code), [], "files that are empty")
    names = sorted(SHOWN_SETTINGS - {"crypto/fips_enabled", "kernel/hostname", "kernel/random/uuid", "kernel/pid_max"})
    code = f"answer = {{n: open('/proc/sys/' + n).read() for n in {names!r}}}"
    same(inside(code), {n: read("/proc/sys/" + n) for n in names}, "settings that are those of the host")
    same(inside("answer = open('/proc/sys/kernel/hostname').read()"), "sandbox\n", "the host name")
    first, second = inside("answer = [open('/proc/sys/kernel/random/uuid').read() for _ in range(2)]")
    ensure(len(first) == 37 and first != second, f"two random UUIDs: {first} {second}")


@test(users=["root"], unwrapped=True)
def proc_keeps_its_entries_when_the_kernel_drops_its_cache_of_names():
    """The kernel finds these entries only while they are in its cache of names (jail/view_proc.c)."""
    code = "echo ready; read x; cd /proc; wc -l cpuinfo uptime sysvipc/shm version sys/kernel/ostype net/dev mounts | tail -1"
    p = spawn("run", "--", "sh", "-c", code, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    same(p.stdout.readline(), b"ready\n", "its first line")
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("2")  # names and inodes, not the content of files
    out, _ = p.communicate(b"\n", timeout=60)
    ensure(p.returncode == 0 and out.split()[1:] == [b"total"] and int(out.split()[0]) > 10, f"what can still be read: {out}")


@test
def mounts_do_not_name_host_paths():
    lines = inside("answer = open('/proc/self/mountinfo').read()").splitlines()
    table = "\n".join(line for line in lines if not line.split()[4].startswith("/proc/sys"))
    for word in (os.getcwd(), "/home", "/var/lib", "/sys"):
        ensure(word not in table, f"{word} is in the mount table:\n{table}")


@test(users=["root"])
def cgroup_is_its_own_root():
    lines = inside("answer = open('/proc/self/cgroup').read().splitlines()")
    paths = [line.split(":", 2)[2] for line in lines if ":pids:" in line or ":memory:" in line or line.startswith("0:")]
    same(set(paths), {"/"}, "the cgroups as seen inside")


# Network.


@test
def loopback_is_the_only_interface_and_up():
    code = script(
        "import fcntl, socket, struct",
        "names = [n for _, n in socket.if_nameindex()]",
        "s = socket.socket()",
        "flags = struct.unpack('16xH14x', fcntl.ioctl(s, 0x8913, struct.pack('16s16x', b'lo')))[0]",
        "answer = [names, flags & 1]",
    )
    same(inside(code), [["lo"], 1], "the interfaces, and whether lo is up")


@test
def other_addresses_are_refused_at_once():
    code = script(
        "import errno, socket",
        "answer = []",
        "for address in ('1.1.1.1', '169.254.169.254', '10.0.0.1', '2606:4700::1111'):",
        "    s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET); s.settimeout(3)",
        "    try: s.connect((address, 80)); answer.append(address)",
        "    except OSError as e:",
        "        if e.errno not in (errno.ENETUNREACH, errno.EACCES, errno.EHOSTUNREACH): answer.append(str(e))",
    )
    same(inside(code), [], "what did not fail at once")


@test
def the_loopback_of_the_host_is_not_reachable():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = script(
            "import socket",
            f"try: socket.create_connection(('127.0.0.1', {port}), 2); answer = 'connected'",
            "except ConnectionRefusedError: answer = 'refused'",
        )
        same(inside(code), "refused", "a connection to the host's loopback")


@test
def localhost_resolves():
    r = expect(run("--", "getent", "hosts", "localhost"), out=None)
    ensure(r.out.split()[0] in ("::1", "127.0.0.1"), "not the loopback", r)
    answer = inside("import socket; answer = [socket.gethostbyname(n) for n in ('localhost', socket.gethostname())]")
    same(answer, ["127.0.0.1", "127.0.0.1"], "the addresses of localhost and of the host name")


@test
def unknown_name_fails_at_once():
    r = run("python3", "-c", "import socket\ntry: socket.gethostbyname('example.com')\nexcept OSError: print('no')")
    in_time(expect(r, out="no\n"), 1)


# Programs that need files outside of /usr.


@test
def command_behind_alternatives_works():
    prints("42\n", "sh", "-c", "awk 'BEGIN { print 6*7 }'")


@test
def certificates_can_be_loaded():
    answer = inside("import ssl; answer = len(ssl.create_default_context().get_ca_certs())")
    if not os.path.exists("/etc/ssl/certs/ca-certificates.crt"):
        fail("this machine has no certificates: apt-get install ca-certificates")
    ensure(answer > 10, f"{answer} certificates")


@test
def time_zones_work():
    prints("JST\nUTC\n", "sh", "-c", "TZ=Asia/Tokyo date +%Z; TZ=UTC date +%Z")


@test
def local_time_is_the_hosts():
    prints(time.strftime("%Z\n"), "--", "date", "+%Z")


@test
def locale_is_utf8():
    prints("utf-8 é\n", "python3", "-c", "import sys; print(sys.stdout.encoding, 'é')")


@test
def home_is_usable():
    prints("x\n", "sh", "-c", "cd && echo x > ~/f && cat /workspace/f")
