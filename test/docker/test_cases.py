"""The same table of cases on every engine: what code sees and its results must not depend on the engine of its sandbox."""

import base64
import functools
import io
import os
import re
import tarfile
import time

import engines
import support
from place import ATTACHED, NAMES, Place
from support import ensure, same, test


def others(gvisor):
    """Returns the variants of a case: over the engine's stream, and with CELLA_TEST_ALL=1 in gVisor."""
    return (*ATTACHED, "docker_gvisor") if engines.all_of_them and gvisor and "docker" in NAMES else ATTACHED


def case(function=None, *, timeout=60, names=NAMES, gvisor=True):
    """Registers the case for each engine.  gvisor=False: the case needs processes that are visible on the host, or a feature of
    Linux that gVisor lacks; see test_attach.py."""

    def register(f):
        for name in (*names, *others(gvisor)):

            @functools.wraps(f)
            def run(name=name):
                with Place(name) as p:
                    f(p)

            run.__wrapped__ = f
            test(run, name=f"{f.__name__}_{name}", users=("root",), timeout=timeout)
        return f

    return register(function) if function else register


@case
def exit_code_and_both_streams_are_reported(p):
    r = p.sh("echo out; echo err >&2; exit 7")
    same((r["status"], r["exit_code"], r["stdout"], r["stderr"]), ("exited", 7, "out\n", "err\n"), "the result", r)
    r = p.sh("kill -9 $$")
    same((r["status"], r["exit_code"], r["signal"]), ("signaled", 137, 9), "the result", r)
    same(p.sh("")["isolation"]["engine"], p.name, "isolation.engine")


@case
def the_image_gives_environment_directory_and_command(p):
    r = p.exec(env={"MINE": "a b"})
    same(r["stdout"], "the image\n", "what the image runs by itself", r)
    r = p.sh("echo $FROM_IMAGE $MINE; cat /etc/mark; pwd", env={"MINE": "a b"})
    same(r["stdout"], "yes a b\nthe image\n/workspace\n", "what the code sees", r)
    r = p.exec(image="app:1")
    same(r["stdout"], "501\n/app\n", "entry point, command, user and directory of the image", r)
    r = p.exec("sh", "-c", "id -u; id -g", image="app:1")
    same(r["stdout"], "501\n502\n", "the image's user", r)
    r = p.sh("id -u")
    same(r["stdout"], "0\n", "an image without a user is root's", r)


@case(gvisor=False)
def standard_input_and_files_arrive(p):
    r = p.exec("cat", stdin="from me\n")
    same(r["stdout"], "from me\n", "stdin", r)
    r = p.sh("cat a.txt dir/b; echo new > c; touch a.txt", files={"a.txt": "one\n", "dir/b": "two\n"})
    same(r["stdout"], "one\ntwo\n", "files", r)
    ensure({"path": "c", "change": "added", "bytes": 4} in r["files"], "the new file is reported", r)


def host_directories(p):
    """Creates a directory for agents, a read-only one, and one that every user may write to."""
    root, data, out = support.here("agents"), support.here("data"), support.here("out")
    for path in (root, data, out):
        os.mkdir(path, 0o755)
    os.chmod(out, 0o777)  # for the user of the image: the engines map no owners
    support.write(os.path.join(data, "file"), "host\n")
    p.d.ok("PATCH", "/v1/settings", {"workspace_root": root, "mounts": [{"name": "data", "path": data}, {"name": "out", "path": out, "mode": "rw"}]}, unix=True)
    return root, data, out


@case(gvisor=False)
def an_agents_directory_is_its_workspace(p):
    root, _, _ = host_directories(p)
    r = p.sh("echo made > file; pwd", agent="robot", workspace="rw", scope="execution")
    same(r["stdout"], "/workspace\n", "stdout", r)
    path = os.path.join(root, "robot", "file")
    same((support.read(path), os.stat(path).st_uid), ("made\n", os.getuid()), "the file on the host")
    r = p.sh("cat file; echo no > file", agent="robot", workspace="ro", scope="execution")
    same((r["stdout"], "Read-only file system" in r["stderr"], support.read(path)), ("made\n", True, "made\n"), "read-only", r)
    if p.engine:
        ensure("limit:disk" in r["isolation"]["missing"], "the disk limit does not hold there, and the result says so", r)
    os.symlink("/etc", os.path.join(root, "link"))
    a = p.d.request("POST", "/v1/exec", {**p.what, "image": "tiny:1", "command": ["ls"], "agent": "link", "workspace": "ro", "scope": "execution"})
    ensure(400 <= a.status < 500 and "passwd" not in a.text, "a link is no workspace", a)


@case(gvisor=False)
def directories_of_the_host_are_mounted_by_name(p):
    _, data, out = host_directories(p)
    mounts = [{"name": "data", "target": "/data"}, {"name": "out", "target": "/srv/out"}]
    r = p.sh("cat /data/file; echo no > /data/new; echo made > /srv/out/file", mounts=mounts)
    same((r["stdout"], "Read-only file system" in r["stderr"]), ("host\n", True), "the result", r)
    same((os.listdir(data), support.read(os.path.join(out, "file"))), (["file"], "made\n"), "the host's files")
    body = {**p.what, "image": "tiny:1", "command": ["ls"]}
    p.d.refused("not_found", "POST", "/v1/exec", {**body, "mounts": [{"name": "other", "target": "/data"}]}, "other")
    p.d.refused("access_denied", "POST", "/v1/exec", {**body, "mounts": [{"name": "data", "target": "/data", "mode": "rw"}]}, "data")
    for path in (p.d.state, *([p.home] if p.engine else [])):  # whatever the settings say
        p.d.ok("PATCH", "/v1/settings", {"mounts": [{"name": "x", "path": path}]}, unix=True)
        p.d.refused("access_denied", "POST", "/v1/exec", {**body, "mounts": [{"name": "x", "target": "/data"}]})


@case
def code_runs_in_the_runtime_of_the_image(p):
    r = p.exec(runtime="python3", code="import sys; print(6 * 7, sys.argv[1:])", args=["x"])
    same(r["stdout"], "42 ['x']\n", "python", r)
    r = p.exec(runtime="python3", code="#" + "x" * 200000 + "\nprint('long')")
    same(r["stdout"], "long\n", "code that is longer than an argument", r)
    p.d.refused("runtime_not_found", "POST", "/v1/exec", {**p.what, "image": "tiny:1", "runtime": "node", "code": "1"})
    p.d.refused("not_found", "POST", "/v1/exec", {**p.what, "image": "tiny:1", "command": ["no-such-program"]}, "no-such-program")


@case(names=NAMES[1:])  # the native one would try to pull it
def a_missing_image_is_reported(p):
    a = p.d.refused("not_found", "POST", "/v1/exec", {**p.what, "image": "nobody/has:this", "command": ["true"]}, "nobody/has:this")
    ensure("pull" in a.json()["error"]["hint"], "the hint says how to get it", a)


@case
def the_deadline_holds(p):
    begun = time.monotonic()
    r = p.sh("trap '' TERM; while :; do sleep 0.1; done", timeout_ms=700, limits={"grace_ms": 300})
    same((r["status"], r["timed_out"]), ("timeout", True), "the result", r)
    support.within(r["duration_ms"] / 1000, 10, "it, with its grace time", r)
    support.within(time.monotonic() - begun, 30, "all of it", r)


@case(gvisor=False)
def code_that_exceeds_a_limit_is_ended(p):
    r = p.exec(runtime="python3", code="x = bytearray(200 << 20)", limits={"memory_bytes": 64 << 20})
    same(r["status"], "memory_limit", "too much memory", r)
    r = p.sh("for i in 1 2 3 4 5 6 7 8 9 10; do sleep 5 & done; wait", limits={"processes": 5})
    same(r["status"], "process_limit", "too many processes", r)
    r = p.sh("dd if=/dev/zero of=/workspace/x bs=1M count=20", limits={"disk_bytes": 8 << 20})
    same(r["status"], "disk_limit", "too much on disk", r)
    r = p.sh("while :; do :; done", limits={"cpu_time_ms": 300}, timeout_ms=20000)
    same(r["status"], "cpu_limit", "too much CPU time", r)


LARGE = "print(len(b'x' * (150 << 20)))"
MANY = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 1000 & done; echo all; kill $(jobs -p)"


@case(gvisor=False)
def limits_of_a_running_sandbox_are_raised(p):
    sb = p.sandbox(limits={"memory_bytes": 64 << 20, "processes": 6, "cpus": 0.5, "timeout_ms": 20000})
    large, many = {"runtime": "python3", "code": LARGE}, {"command": ["sh", "-c", MANY]}
    r = p.d.post(p.path(sb, "/exec"), large), p.d.post(p.path(sb, "/exec"), many)
    same((r[0]["status"], "all" in r[1]["stdout"]), ("memory_limit", False), "with the first limits", str(r))
    raised = {"memory_bytes": 512 << 20, "processes": 60, "cpus": 1, "timeout_ms": 60000}
    limits = p.d.ok("PATCH", p.path(sb), {"limits": raised})["limits"]
    same({name: limits[name] for name in raised}, raised, "the limits")
    for again in ("", " after a restart"):
        same(p.d.post(p.path(sb, "/exec"), large)["stdout"], f"{150 << 20}\n", f"memory{again}")
        same(p.d.post(p.path(sb, "/exec"), many)["stdout"], "all\n", f"processes{again}")
        p.d.restart()
    if p.engine:  # test_raise lowers limits on the native engine
        p.d.refused("invalid_request", "PATCH", p.path(sb), {"limits": {"memory_bytes": 64 << 20}}, "limits.memory_bytes can only be raised with the engine 'docker'")


@case
def output_is_kept_to_its_limit(p):
    r = p.sh("seq 1 200000", limits={"output_bytes": 10000})
    ensure(r["stdout_truncated"] and len(r["stdout"]) < 11000, "it is cut", r)
    same(r["stdout_bytes"], 1288895, "but counted", r)
    r = p.exec("head", "-c", "300", "/dev/urandom", encoding="base64")
    same(len(base64.b64decode(r["stdout"])), 300, "bytes are bytes", r)


@case
def there_is_no_network(p):
    code = "import socket\nfor a in (('1.1.1.1', 80), ('169.254.169.254', 80)):\n  try:\n    socket.create_connection(a, 2)\n    print('open')\n  except OSError as e:\n    print('closed')"
    r = p.exec(runtime="python3", code=code)
    same(r["stdout"], "closed\nclosed\n", "the code's view", r)
    r = p.sh("cat /proc/net/dev | wc -l")
    same(r["stdout"], "3\n", "only loopback is there", r)


@case(gvisor=False)
def the_code_has_no_privilege(p):
    r = p.sh("cat /proc/self/status")
    # With several users, root has six capabilities in the sandbox's own user namespace: CHOWN, DAC_OVERRIDE, FOWNER,
    # FSETID, SETGID and SETUID.
    of_root = 0xDB if "users" in r["isolation"] else 0
    for name, value in (("CapInh", 0), ("CapPrm", of_root), ("CapEff", of_root), ("CapAmb", 0)):
        ensure(f"{name}:\t{value:016x}\n" in r["stdout"], f"{name} is {value:x}", r)
    ensure("NoNewPrivs:\t1" in r["stdout"] and "Seccomp:\t2" in r["stdout"], "neither can it get any", r)
    code = """import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None), libc.unshare(0x10000000), libc.ptrace(16, 1, 0, 0))
for path in ("/proc/sys/kernel/hostname", "/proc/1/mem", "/sys/kernel/uevent_helper"):
    try:
        open(path, "r+b").close()
        print("open", path)
    except OSError:
        pass
"""
    r = p.exec(runtime="python3", code=code)
    same(r["stdout"], "-1 -1 -1\n", "what it tries is refused", r)
    for wall in ("pid", "mount", "net", "ipc", "uts", "cgroup", "seccomp"):
        ensure(wall in r["isolation"]["layers"], f"{wall} stands", r)


@case
def a_sandbox_keeps_files_and_runs_several_at_once(p):
    sb = p.sandbox()
    run = p.path(sb, "/exec")
    p.d.post(run, {"command": ["sh", "-c", "echo kept > f"]})
    with p.d.events("POST", run, {"command": ["sh", "-c", "echo begun; sleep 30"]}) as slow:
        slow.read_until("begun")
        r = p.d.post(run, {"command": ["cat", "f"]})
        same(r["stdout"], "kept\n", "the second beside the first", r)
    usage = p.d.get(p.path(sb))["usage"]
    ensure(usage["memory_bytes"] > 0 and usage["cpu_ms"] > 0, f"it is counted: {usage}")
    p.d.delete(p.path(sb))


@case
def files_are_read_written_and_archived(p):
    sb = p.sandbox()
    files = p.path(sb, "/files")
    data = bytes(range(256)) * 3000
    p.d.request("PUT", f"{files}?path=d/x.bin", data)
    same(p.d.request("GET", f"{files}?path=d/x.bin").body, data, "the bytes")
    names = [e["name"] for e in p.d.get(f"{files}?path=d&list=1")["entries"]]
    same(names, ["x.bin"], "the list")
    archive = p.d.request("GET", p.path(sb, "/archive?path=."))
    with tarfile.open(fileobj=io.BytesIO(archive.body)) as tar:
        ensure(any(n.endswith("d/x.bin") for n in tar.getnames()), f"it is in the archive: {tar.getnames()}")
    a = p.d.request("GET", f"{files}?path=../../../../etc/mark")
    ensure(a.status != 200 or b"the image" in a.body, "no path leaves the sandbox", a)
    p.d.delete(f"{files}?path=d/x.bin")
    p.d.refused("not_found", "GET", f"{files}?path=d/x.bin")


@case
def processes_run_in_the_background(p):
    sb = p.sandbox()
    code = "while read x; do echo got $x; done; echo end; sleep 100"
    pid = p.d.post(p.path(sb, "/processes"), {"command": ["sh", "-c", code]}, 201)["pid"]
    at = p.path(sb, f"/processes/{pid}")
    p.d.request("POST", f"{at}/stdin", b"one\n")
    support.until(lambda: b"got one" in p.d.request("GET", f"{at}/output").body, 20, "its output")
    p.d.request("POST", f"{at}/signal", {"signal": "SIGKILL"})
    support.until(lambda: all(x["state"] != "running" for x in p.d.get(p.path(sb, "/processes"))["processes"]), 20, "its end")


@case
def a_context_remembers(p):
    sb = p.sandbox()
    ctx = p.d.post(p.path(sb, "/contexts"), {"runtime": "python3"}, 201)["id"]
    run = p.path(sb, f"/contexts/{ctx}/run")
    p.d.post(run, {"code": "x = 20"})
    r = p.d.post(run, {"code": "x * 2 + 2"})
    same(r["results"][0]["data"], "42", "the value", r)
    p.d.delete(p.path(sb, f"/contexts/{ctx}"))


@case
def a_terminal_has_a_size_a_tty_and_an_echo(p):
    sb = p.sandbox()
    with p.d.websocket(p.path(sb, "/terminal?command=sh")) as ws:
        same(ws.status, 101, "the handshake")
        ws.send('{"resize": [91, 33]}')
        ws.send(b"stty size; echo $((40 + 2))\n")
        ws.read_until(re.compile(rb"33 91\r?\n42"))
        ws.send(b"exit\n")


@case
def a_paused_sandbox_stands_still(p):
    sb = p.sandbox()
    at = p.path(sb, "/files?path=n")
    p.d.post(p.path(sb, "/processes"), {"command": ["sh", "-c", "n=0; while :; do n=$((n+1)); echo $n > n; sleep 0.05; done"]}, 201)
    support.until(lambda: p.d.request("GET", at).body.strip().isdigit(), 20, "the first number")
    begun = time.monotonic()
    p.d.post(p.path(sb, "/pause"))
    same(p.d.get(p.path(sb))["state"], "paused", "its state")
    time.sleep(1)
    p.d.post(p.path(sb, "/resume"))
    n = int(p.d.request("GET", at).body or b"0")
    ensure(n < (time.monotonic() - begun) * 20 + 400, "it did not count meanwhile")
    support.until(lambda: int(p.d.request("GET", at).body or b"0") > n, 20, "that it goes on")
    p.d.post(p.path(sb, "/pause"))
    p.d.delete(p.path(sb))  # a paused container can be removed


@case(gvisor=False)
def a_removed_sandbox_ends(p):
    sb = p.sandbox()
    mark = support.nonce_seconds()
    with p.d.events("POST", p.path(sb, "/exec"), {"command": ["sh", "-c", f"echo begun; sleep {mark}"]}) as e:
        e.read_until("begun")
        support.until(lambda: support.with_argument(mark), 20, "its beginning")
        p.d.delete(p.path(sb))
        support.until(lambda: not support.with_argument(mark), 20, "its end")
    with p.d.events("POST", "/v1/exec", {**p.what, "image": "tiny:1", "command": ["sh", "-c", f"echo begun; sleep {mark}"]}) as e:
        e.read_until("begun")  # and a client that leaves cancels its execution
    support.until(lambda: not support.with_argument(mark), 20, "its end")


@case
def a_session_shares_its_sandbox(p):
    p.sh("echo mine > f", session="s1")
    same(p.sh("cat f", session="s1")["stdout"], "mine\n", "the same sandbox")
    ensure(p.sh("cat f", session="s2")["exit_code"] != 0, "another session has another")
