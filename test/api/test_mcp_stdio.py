"""`cella mcp`: MCP on standard streams, with its own daemon, which leaves no processes or files behind."""

import contextlib
import glob
import json
import os
import signal
import subprocess
import time

import support
from daemon import descendants
from mcp import HELLO, META, MODERN, Stdio, meta
from support import ensure, same, test, until
from test_image_cli import root_tar
from test_tools import NAMES

LEFT = "cella-mcp-*"


def directories():
    return glob.glob(os.path.join(os.environ["TMPDIR"], LEFT))


def nothing_is_left(tree, seconds=20):
    def alive():
        now = descendants(1)
        return [pid for pid, start in tree.items() if now.get(pid) == start and support.program_name(pid)]

    until(lambda: not alive(), seconds, f"the end of {list(tree)}")
    until(lambda: not directories(), seconds, "the end of its directory")


@test
def cella_mcp_needs_no_daemon():
    with Stdio() as c:
        hello = c.ask("initialize", HELLO)
        same((hello["protocolVersion"], hello["serverInfo"]["name"]), ("2025-11-25", "cella"), "hello")
        c.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        same([t["name"] for t in c.ask("tools/list")["tools"]], NAMES, "tools")
        r = c.ask("tools/call", {"name": "sandbox.exec", "arguments": {"runtime": "python3", "code": "print(6*7)"}})
        same(r.get("structuredContent", {}).get("stdout"), "42\n", f"stdout in {r}")
        c.ask("tools/call", {"name": "execute_python", "arguments": {"code": "x = 1", "context": "c"}})
        r = c.ask("tools/call", {"name": "execute_python", "arguments": {"code": "x + 1", "context": "c"}})
        same(r["structuredContent"]["results"][0]["data"], "2", "a context")
        tree = descendants(c.process.pid)
        ensure(len(directories()) == 1, "a directory of its own")
    nothing_is_left(tree)


@test
def both_revisions_work_on_one_stream():
    with Stdio() as c:
        r = c.ask("server/discover", {"_meta": meta()})
        same(r["resultType"], "complete", "the newer one first, as its clients do")
        c.ask("initialize", HELLO)
        r = c.ask("tools/call", {"name": "sandbox.exec", "arguments": {"runtime": "sh", "code": "echo 1"}, "_meta": meta()})
        same((r["resultType"], r["structuredContent"]["stdout"]), ("complete", "1\n"), "the newer")
        r = c.ask("tools/call", {"name": "sandbox.exec", "arguments": {"runtime": "sh", "code": "echo 1"}})
        ensure("resultType" not in r, "the older")
        for params, code in (({"_meta": meta("v999")}, -32022), ({"_meta": {META + "protocolVersion": MODERN}}, -32602)):
            number = c.begin("tools/list", params)
            message = c.next()
            same((message["id"], message["error"]["code"]), (number, code), f"{params}")
        listening = c.begin("subscriptions/listen", {"notifications": {"toolsListChanged": True}, "_meta": meta()})
        same(c.next()["params"]["_meta"][META + "subscriptionId"], listening, "acknowledged")
        c.process.stdin.close()
        last = c.next()
        same((last["id"], last["result"]["_meta"][META + "subscriptionId"]), (listening, listening), "the end of the subscription")
        same(support.reap(c.process, 40), 0, "exit status")


@test
def requests_are_answered_after_the_end_of_input():
    lines = [{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": "execute_shell", "arguments": {"command": f"sleep 0.{i}; echo {i}"}}} for i in range(1, 6)]
    text = "\n".join(map(json.dumps, lines))  # without a last line break
    p = support.spawn("mcp", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = p.communicate(text.encode(), timeout=60)
    answers = {m["id"]: m["result"]["structuredContent"]["stdout"] for m in map(json.loads, out.splitlines())}
    same((answers, p.returncode, err), ({i: f"{i}\n" for i in range(1, 6)}, 0, b""), "answers")
    same(directories(), [], "left")
    # From a file, to a file.
    support.write("in", text)
    with open("in", "rb") as i, open("out", "wb") as o:
        same(support.spawn("mcp", stdin=i, stdout=o, stderr=subprocess.DEVNULL).wait(60), 0, "exit status")
    same(len(support.read("out").splitlines()), 5, "answers in a file")


@test
def requests_run_beside_each_other_and_are_cancelled():
    with Stdio() as c:
        slow = c.begin("tools/call", {"name": "execute_shell", "arguments": {"command": "echo begun; sleep 60"}, "_meta": {"progressToken": "p"}})
        same(c.next()["params"], {"progressToken": "p", "progress": 6, "message": "begun"}, "progress")
        same(c.ask("ping"), {}, "another one meanwhile")
        c.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}})
        same(c.ask("ping"), {}, "it goes on")
        began = time.monotonic()
    support.within(time.monotonic() - began, 15, "its end: the cancelled one is not waited for")


@test
def bad_lines_are_answered():
    with Stdio() as c:
        for line, code in ((b"nonsense", -32700), (b"[]", -32600), (b"[1]", -32600), (b"5", -32600), (b'{"jsonrpc":"2.0","id":1}', -32600), (b"\xff\x00\x01", -32700),
                           (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602), (b'{"jsonrpc":"2.0","id":1,"method":"none"}', -32601),
                           (b"[" * 50000, -32700)):  # fmt: skip
            c.send(line)
            same(c.next()["error"]["code"], code, line[:60])
        for line in (b"", b"   ", b"\r", b'{"jsonrpc":"2.0","method":"notifications/none"}', b'{"jsonrpc":"2.0","id":5,"result":{}}'):
            c.send(line)
        same(c.ask("ping"), {}, "the rest needs no answer")
        c.send(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * (25 << 20) + b'"}}')
        same(c.next(60)["error"]["code"], -32600, "a line that is too long")
        same(c.ask("ping"), {}, "and it lives")


@test
def batches_on_standard_streams():
    with Stdio() as c:
        c.ask("initialize", {**HELLO, "protocolVersion": "2025-03-26"})
        c.send(json.dumps([{"jsonrpc": "2.0", "id": f"b{i}", "method": "ping"} for i in range(3)]).encode())
        same({c.next()["id"] for _ in range(3)}, {"b0", "b1", "b2"}, "answers")
        c.send(json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 40).encode())
        same(c.next()["error"]["code"], -32600, "too many")


@test
def cella_mcp_ends_all_its_processes_on_a_signal():
    """The process gets SIGTERM, or SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
        c = Stdio()
        c.begin("tools/call", {"name": "execute_shell", "arguments": {"command": "echo begun; sleep 600"}, "_meta": {"progressToken": 1}})
        same(c.next()["method"], "notifications/progress", "it runs")
        tree = descendants(c.process.pid)
        ensure(len(tree) >= 5, f"processes: {tree}")
        c.process.send_signal(number)
        status = support.reap(c.process, 40)
        same(status, -9 if number == signal.SIGKILL else 0, f"exit status after {number}")
        nothing_is_left(tree, 10)


@test
def cella_mcp_ends_when_its_client_has_closed_the_pipes():
    call = {"name": "execute_shell", "arguments": {"command": "echo begun; sleep 600"}, "_meta": {"progressToken": 1}}
    theirs, ours = os.pipe()
    p = support.spawn("mcp", stdin=subprocess.PIPE, stdout=ours, stderr=subprocess.DEVNULL)
    os.close(ours)
    p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode() + b"\n")
    p.stdin.flush()
    ensure(b"begun" in os.read(theirs, 65536), "it runs")
    tree = descendants(p.pid)
    os.close(theirs)
    p.stdin.close()
    same(support.reap(p, 40), 0, "exit status")
    nothing_is_left(tree, 10)


@test
def leftovers_of_a_run_killed_with_its_keeper_are_removed():
    c = Stdio()
    c.ask("ping")
    tree = descendants(c.process.pid)
    for number in (signal.SIGSTOP, signal.SIGKILL):  # so that no test removes the remains of another
        for pid in tree:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
    support.reap(c.process, 10)
    until(lambda: not [p for p in tree if support.program_name(p)], 20, "their end")
    (left,) = directories()

    def is_swept():  # the process with its lock may take a moment to die
        with Stdio() as c:
            c.ask("ping")
        return left not in directories()

    until(is_swept, 20, "a sweep")
    with Stdio() as c:
        c.ask("ping")
        with Stdio() as other:
            other.ask("ping")
            same(len(directories()), 2, "those that are in use stay")
    same(directories(), [], "left")


@test
def cella_mcp_keeps_sessions_in_a_given_state_directory():
    state = os.path.join(support.home, "kept")
    for _ in range(2):
        with Stdio("--state", state) as c:
            r = c.ask("tools/call", {"name": "execute_shell", "arguments": {"command": "echo line >> f; wc -l < f", "session": "s"}})
    same(r["structuredContent"]["stdout"].strip(), "2", "the session's files")
    ensure(os.path.isdir(state), "its state")


@test
def cella_mcp_reads_settings_and_refuses_wrong_arguments():
    settings = support.write("settings.json", json.dumps({"limits": {"timeout_ms": 300}, "pools": []}))
    with Stdio("--settings", str(settings or "settings.json")) as c:
        r = c.ask("tools/call", {"name": "execute_shell", "arguments": {"command": "sleep 5"}})
        same(r["structuredContent"]["status"], "timeout", "its limit")
    r = support.cella(["mcp", "extra"])
    same((r.rc, "takes no 'extra'" in r.err), (2, True), "a word too many")
    r = support.cella(["mcp", "--settings", "nothing.json"], input=b"")
    ensure(r.rc != 0 and "nothing.json" in r.err, f"a file that is not there: {r.rc} {r.err}")


# Options.


def shell(c, command, **more):
    return c.ask("tools/call", {"name": "execute_shell", "arguments": {"command": command, **more}})["structuredContent"]


@test
def a_directory_of_the_host_is_the_workspace():
    mine = support.here("project")
    os.mkdir(mine, 0o755)
    support.write(os.path.join(mine, "data"), "x\n")
    os.mkdir(support.here("beside"), 0o755)
    for suffix, code in (("", 1), (":ro", 1), (":rw", 0)):
        with Stdio("--workspace", mine + suffix) as c:
            c.ask("initialize", HELLO)
            r = shell(c, f"cat data; echo {suffix} > made")
            same((r["stdout"], r["exit_code"]), ("x\n", code), f"{suffix or 'the default'}: {r['stderr']}")
            r = c.ask("tools/call", {"name": "execute_python", "arguments": {"code": "print(open('data').read(), end='')"}})
            same(r["structuredContent"]["stdout"], "x\n", "python")
            r = c.ask("tools/call", {"name": "sandbox.exec", "arguments": {"runtime": "sh", "code": "ls"}})
            same(r["structuredContent"]["stdout"], "", "sandbox.exec has an empty one")
            for agent in ("beside", "other"):
                r = c.ask("tools/call", {"name": "execute_shell", "arguments": {"command": "ls", "agent": agent}})
                ensure(r["isError"], f"a directory beside it: {agent}", str(r))
    same(support.read(os.path.join(mine, "made")), ":rw\n", "the file on the host")
    ensure(not os.path.exists(os.path.join(os.path.dirname(mine), "other")), "no directory was made beside it")


@test
def a_session_is_the_sandbox_of_all_calls():
    with Stdio("--session", "work", "--state", support.here("kept")) as c:
        c.ask("initialize", HELLO)
        shell(c, "echo x > f")
        same(shell(c, "cat f")["stdout"], "x\n", "the next call")
        same(shell(c, "ls", session="other")["stdout"], "", "another session")
    with Stdio("--session", "work", "--state", support.here("kept")) as c:
        c.ask("initialize", HELLO)
        same(shell(c, "cat f")["stdout"], "x\n", "after a new start")


@test
def options_of_mcp_are_checked():
    for options, words in ((["--workspace", "/no/such/directory"], "--workspace"), (["--workspace", ""], "--workspace"), (["--workspace", "/"], "--workspace"),
                           (["--session", ""], "--session"), (["--session", "x" * 129], "--session"), (["--verbose", "--allow", "not a domain"], "allowed_domains")):  # fmt: skip
        p = support.spawn("mcp", *options, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        _, err = p.communicate(timeout=60)
        ensure(p.returncode != 0 and words in err.decode(), f"{options}: {p.returncode}, {err}")


@test
def images_of_the_user_can_be_used():
    os.chmod(support.home, 0o755)  # for root, the server is another user
    os.environ["CELLA_STATE"] = support.here("images-state")
    with open("/bin/busybox", "rb") as f:
        archive = root_tar(("bin/busybox", 0o755, f.read()))
    support.expect(support.cella(["image", "import", "-", "mine:1"], input=archive), out=None, err=None)
    with Stdio() as c:
        c.ask("initialize", HELLO)
        r = c.ask("tools/call", {"name": "execute_docker", "arguments": {"image": "mine:1", "command": ["/bin/busybox", "echo", "inside"]}})
        same(r.get("structuredContent", {}).get("stdout"), "inside\n", f"{r}")
