"""The way to a container that lets no socket in: the engine's own stream.  The common cases are in test_cases.py;
here: when it is chosen automatically, and the differences in gVisor."""

import os
import signal
import tempfile
import time

import engines
import support
from fake import ID, Fake
from place import ATTACHED, NAMES, Place, need
from support import ensure, same, test
from test_faults import helper, left

ENGINE = NAMES[-1]


def attached(p):
    """Returns whether cella-docker is attached to the standard input of the existing containers."""
    made = [p.engine.inspect(c) for c in p.engine.containers(p.home)]
    ensure(made, "there is one")
    return {bool(c["Config"]["OpenStdin"]) and "attach" in " ".join(c["Config"]["Cmd"]) for c in made}


def need_docker():
    if "docker" not in NAMES:
        raise support.Skip("only Docker knows runtimes by name")


@test(users=("root",), timeout=60)
def a_runtime_without_sockets_needs_no_setting():
    """The runtime is runc under another name, without the host's sockets, as with gVisor."""
    need_docker()
    with Place("docker_nosockets") as p:
        sb = p.sandbox()
        same(attached(p), {True}, "it can do both")
        r = p.d.post(p.path(sb, "/exec"), {"command": ["sh", "-c", "echo out; wc -c /.cella/s; cat"], "stdin": "in\n"})
        same(r["stdout"], "out\nin\n", "what it says", r)
        r = p.sh("for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; wait", limits={"processes": 5})
        same(r["status"], "process_limit", "it is this kernel, which counts", r)
        p.d.ok("PATCH", "/v1/settings", {"docker": {"transport": "socket"}})
        a = p.d.refused("engine_unavailable", "POST", "/v1/exec", {**p.what, "image": "tiny:1", "command": ["true"]}, "lets no socket")
        ensure("docker.transport" in a.json()["error"]["hint"], "the hint", a)


@test(users=("root",), timeout=60)
def a_socket_is_preferred_to_a_stream():
    with Place(ENGINE) as p:
        p.sandbox()
        same(attached(p), {False}, "nothing is attached")


@test(users=("root",), timeout=60)
def a_sandbox_over_a_stream_has_no_network():
    with Place(ATTACHED[-1]) as p:
        ask = {**p.what, "image": "tiny:1", "command": ["true"], "network": {"tier": "elevated"}}
        p.d.ok("PATCH", "/v1/settings", {"network": {"tier": "elevated"}}, unix=True)
        a = p.d.refused("isolation_unavailable", "POST", "/v1/exec", ask, "net: the network namespace of the container is not visible")
        ensure("restricted" in a.json()["error"]["hint"], "the hint", a)


@test(users=("root",), timeout=90)
def any_bytes_pass_unchanged_through_a_stream():
    """Also the escape keys of Docker's terminals; and a slow reader delays no other client."""
    with Place(ATTACHED[-1]) as p:
        sb = p.sandbox()
        data = (b"\x10\x11" + bytes(range(256)) + b"\x00\r\n\x04") * 12000
        p.d.request("PUT", p.path(sb, "/files?path=x"), data)
        same(p.d.request("GET", p.path(sb, "/files?path=x")).body == data, True, "3 MB, there and back")
        with p.d.events("POST", p.path(sb, "/exec"), {"command": ["sh", "-c", "echo begun; while :; do echo yyyyyyyyyyyyyyyy; done"]}) as flood:
            flood.read_until("begun")
            begun = time.monotonic()
            for _ in range(5):
                same(p.d.post(p.path(sb, "/exec"), {"command": ["echo", "beside"]})["stdout"], "beside\n", "beside a flood that is not read")
            support.within(time.monotonic() - begun, 15, "five beside it")
        r = p.sh("seq 1 300000", limits={"output_bytes": 4000000})
        same((r["stdout_bytes"], r["stdout"][-7:]), (1988895, "300000\n"), "all output is there when the end is reported")


# For every thread of init: signals that would end it, its memory, its descriptors and its state.
REACH = """
import ctypes, glob, os, signal
libc = ctypes.CDLL(None, use_errno=True)
threads = [int(os.path.basename(t)) for t in glob.glob("/proc/1/task/*")]
for t in threads:
    for s in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGSEGV, signal.SIGUSR1):
        libc.syscall({tgkill}, 1, t, s)
        libc.syscall({tkill}, t, s)
    for name in ("fd/0", "fd/1", "fd/2", "fd/3", "mem", "syscall", "maps"):
        for how in (os.O_RDONLY, os.O_WRONLY):
            try:
                fd = os.open(f"/proc/1/task/{{t}}/{{name}}", how)
                how or os.read(fd, 1)
                print("open", name, how)
            except OSError:
                pass
print(len(threads), "threads")
"""


@test(users=("root",), timeout=60)
def the_code_does_not_reach_the_stream():
    """The code is root in the container, which is also init's user: it can neither signal init's threads nor use their descriptors."""
    tgkill, tkill = {"x86_64": (234, 200), "aarch64": (131, 130)}[os.uname().machine]
    with Place(ATTACHED[-1]) as p:
        sb = p.sandbox()
        for _ in range(2):
            r = p.d.post(p.path(sb, "/exec"), {"command": ["python3", "-c", REACH.format(tgkill=tgkill, tkill=tkill)]})
            same((r["status"], r["stdout"]), ("exited", "2 threads\n"), "what it reached", r)


@test(users=("root",), timeout=90)
def many_sandboxes_leave_no_descriptors_and_threads():
    """Descriptors and threads of cella-docker, after commands at once, terminals, and sandboxes that went."""
    with Place(ATTACHED[-1]) as p:
        p.sh("true")
        docker = helper(p.d)

        def held():
            return len(os.listdir(f"/proc/{docker}/fd")), len(os.listdir(f"/proc/{docker}/task"))

        sb = p.sandbox()
        for _ in range(3):
            streams = [p.d.events("POST", p.path(sb, "/exec"), {"command": ["sh", "-c", f"cat; echo {i}"], "stdin": "x" * 50000}) for i in range(10)]
            for i, e in enumerate(streams):
                with e:
                    same(e.text()[0], "x" * 50000 + f"{i}\n", "each of them")
            for _ in range(3):
                with p.d.websocket(p.path(sb, "/terminal?command=sh")) as ws:
                    ws.send(b"echo $((40 + 2))\n")
                    ws.read_until(b"42")
        before = held()
        with p.d.websocket(p.path(sb, "/terminal?command=sh")) as ws:
            ws.send(b"echo $((40 + 2))\n")
            ws.read_until(b"42")
        support.until(lambda: held()[0] <= before[0], 20, f"{before} and no more than these")
        p.d.delete(p.path(sb))
        support.until(lambda: held()[0] < before[0] and held()[1] <= before[1], 20, f"fewer than {before}, now {held()}")


@test(users=("root",), timeout=90)
def killing_the_helper_ends_the_streams_of_its_containers():
    """Init sees the end of the stream and exits, even before the container is removed."""
    with Place(ATTACHED[-1]) as p:
        sb = p.sandbox()
        mark = support.nonce_seconds()
        with p.d.events("POST", p.path(sb, "/exec"), {"command": ["sh", "-c", f"echo begun; sleep {mark}"]}) as e:
            e.read_until("begun")
            os.kill(helper(p.d), signal.SIGKILL)
            support.until(lambda: not support.with_argument(mark), 20, "its end")
        same(p.sh("echo again")["stdout"], "again\n", "the next one")
        left(p.engine, p.home)


@test(users=("root",), timeout=60)
def cella_run_can_attach_on_request():
    engine, home = need(ENGINE), support.here("state-docker")
    env = {**os.environ, "DOCKER_HOST": f"unix://{engine.socket}", "CELLA_STATE": support.here("state"), "CELLA_DOCKER_TRANSPORT": "attach"}
    r = support.cella(["run", "--engine", "docker", "--image", "tiny:1", "--", "sh", "-c", "cat; echo err >&2; seq 1 100000; exit 3"], env=env, timeout=60, input="in\n")
    same((r.rc, r.out, r.err), (3, "in\n" + "".join(f"{i}\n" for i in range(1, 100001)), "err\n"), "exit status, input and all of the output")
    r = support.cella(["run", "--engine", "docker", "--image", "tiny:1", "--timeout", "500ms", "--", "sleep", "60"], env=env, timeout=60)
    same(r.rc, 124, "exit status after a timeout", r)
    same((engine.containers(home), os.listdir(home)), ([], []), "what is left")


def answers(parts):
    """A fake engine that sends this stream in parts, and reports a container that has ended."""

    def attach(handler):
        for part in parts:
            handler.wfile.write(part)
            handler.wfile.flush()
            time.sleep(0.3)
        handler.close_connection = True
        return b""

    return {f"POST /containers/{ID}/attach": attach, f"GET /containers/{ID}/json": (200, {"State": {"Running": False, "ExitCode": 9, "Error": ""}})}


@test(timeout=60)
def an_invalid_stream_is_reported_and_leaves_nothing():
    head = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
    hello = bytes((1, 0, 0, 0, 0, 0, 0, 12)) + (1).to_bytes(4, "little") + 0x616C6C65.to_bytes(4, "little") + bytes(4)
    for *parts, said in (
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 26\r\n\r\n" + b'{"message":"no such thing"}', "no such thing"),
        (b"nonsense\r\n\r\n", "gives no stream"),
        (b"HTTP/1.1 101 x" + b"y" * 20000, "gives no stream"),
        (head, "status 9"),
        (head + b"\xff" * 4096, "status 9"),
        (head + bytes((1, 0, 0, 0, 255, 255, 255, 255)), "status 9"),
        (head + bytes((1, 0, 0, 0, 0, 0, 0, 12)) + b"\x07" * 12, "status 9"),
        (head + bytes((2, 0, 0, 0, 0, 0, 0, 5)) + b"panic" + hello, bytes((1, 0, 0, 0, 0, 0, 0, 12)) + b"\xff" * 12, "sandbox"),
    ):
        with Fake(answers(parts)) as fake:
            env = {**os.environ, "DOCKER_HOST": f"unix://{fake.path}", "CELLA_STATE": support.here("state"), "CELLA_DOCKER_TRANSPORT": "attach"}
            r = support.cella(["run", "--engine", "docker", "--image", "some:1", "--", "true"], env=env, timeout=60)
            ensure(r.rc == 125 and said in r.err, f"{parts} is not reported as {said!r}", r)
            same([line for line, _ in fake.seen if line.startswith("DELETE")][:1], [f"DELETE /containers/{ID}?force=true&v=true"], "what was made is removed")
            same(os.listdir(support.here("state-docker")), [], "what is left", r)


def gvisor(f):
    """Runs it with a daemon that uses gVisor for its containers."""

    def run():
        need_docker()
        with Place("docker_gvisor") as p:
            f(p)

    run.__doc__ = f.__doc__
    test(run, name=f.__name__, users=("root",), timeout=90)


@gvisor
def code_runs_in_gvisor(p):
    sb = p.sandbox()
    same(attached(p), {True}, "it can do both")
    r = p.d.post(p.path(sb, "/exec"), {"command": ["sh", "-c", "cat; cat /proc/version; echo err >&2; exit 5"], "stdin": "in\n"})
    same((r["exit_code"], r["stdout"][:3], r["stderr"]), (5, "in\n", "err\n"), "the result", r)
    ensure(os.uname().version not in r["stdout"] and "4.4.0" in r["stdout"], "it is another kernel", r)
    for wall in ("pid", "mount", "net", "ipc", "uts", "seccomp"):
        ensure(wall in r["isolation"]["layers"], f"{wall} stands", r)
    ensure("limit:processes" in r["isolation"]["missing"] and "landlock" in r["isolation"]["missing"], "what is missing is reported", r)
    # The filter holds: each of these is refused by it, and would end otherwise without it.
    ptrace, process_vm_readv, keyctl = {"x86_64": (101, 310, 250), "aarch64": (117, 270, 219)}[os.uname().machine]
    code = f"import ctypes; l = ctypes.CDLL(None, use_errno=True)\nfor call in (({ptrace}, -1, 0, 0, 0), ({process_vm_readv}, 1, 0, 0, 0), ({keyctl}, 0, 0, 0, 0)):\n  print(l.syscall(*call), ctypes.get_errno())"
    same(p.exec(runtime="python3", code=code)["stdout"], "-1 1\n" * 3, "calls that the filter refuses")
    p.d.delete(p.path(sb))


@test(users=("root",), timeout=120)
def code_runs_in_gvisor_of_podman():
    """Podman cannot select a runtime by name through its API, but has a default runtime."""
    if not engines.all_of_them:
        raise support.Skip("only with CELLA_TEST_ALL=1")
    need("podman")
    need("docker", "runsc")
    base = tempfile.mkdtemp(prefix="cella-", dir="/tmp")  # a path that has room for its sockets
    engine = engines.Engine("podman", base, "runsc")
    try:
        engine.load("tiny:1", engines.root(), engines.IMAGES["tiny:1"])
        env = {**os.environ, "DOCKER_HOST": f"unix://{engine.socket}", "CELLA_STATE": support.here("state")}
        r = support.cella(["run", "--engine", "docker", "--image", "tiny:1", "--", "sh", "-c", "cat; cat /proc/version; exit 5"], env=env, timeout=60, input="in\n")
        ensure(r.rc == 5 and r.out.startswith("in\nLinux version 4.4.0"), "another kernel", r)
        same(engine.containers(), [], "what is left")
    finally:
        engine.stop()
        os.rmdir(base)


@gvisor
def limits_hold_in_gvisor_or_are_refused(p):
    r = p.exec(runtime="python3", code="x = bytearray(300 << 20)", limits={"memory_bytes": 128 << 20})
    same(r["status"], "memory_limit", "too much memory", r)
    r = p.sh("dd if=/dev/zero of=/workspace/x bs=1M count=20", limits={"disk_bytes": 8 << 20})
    same(r["status"], "disk_limit", "too much on disk", r)
    r = p.sh("while :; do :; done", limits={"cpu_time_ms": 300}, timeout_ms=20000)
    same(r["status"], "cpu_limit", "too much CPU time", r)
    ask = {**p.what, "image": "tiny:1", "command": ["true"], "limits": {"processes": 5}}
    a = p.d.refused("isolation_unavailable", "POST", "/v1/exec", ask, "processes")
    ensure("kernel of its own" in a.json()["error"]["hint"], "the hint", a)


@gvisor
def a_removed_sandbox_ends_in_gvisor(p):
    sb = p.sandbox()
    with p.d.events("POST", p.path(sb, "/exec"), {"command": ["sh", "-c", "echo begun; sleep 600"]}) as e:
        e.read_until("begun")
        pids = [p.engine.inspect(c)["State"]["Pid"] for c in p.engine.containers(p.home)]
        ensure(pids and all(os.path.exists(f"/proc/{pid}") for pid in pids), f"its kernel runs: {pids}")
        p.d.delete(p.path(sb))
        support.until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), 20, "its end")
    files = p.path(p.sandbox(), "/files")
    p.d.request("PUT", f"{files}?path=a", b"x" * 100000)
    same(p.d.request("GET", f"{files}?path=a").body, b"x" * 100000, "files go in and out")
