#!/usr/bin/python3
"""Foreign clients against our server: the official conformance suite, the inspector, both lines of the SDK, and our
examples with a model that pretends.

Everything that Node needs is in --npm (test/mcp/package.json says what; ./dev installs it)."""

import argparse
import http.server
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from ports import serving  # noqa: E402

EXAMPLES = HERE.parent.parent / "examples"
REVISIONS = ("2025-11-25", "2026-07-28")

# Scenarios that need the suite's own tools, resources or prompts, which the test server has (fixtures.c).
NEEDS_FIXTURES = re.compile(r"^(tools-call-|resources-read-|resources-templates-read|resources-(un)?subscribe|prompts-get-|elicitation-"
                            r"|input-required-result-(?!unsupported-methods|validate-input)|server-stateless$|json-schema-2020-12$"
                            r"|http-custom-header-server-validation$)")  # fmt: skip
# Tasks are an extension of the protocol that we do not have, as the suite can see.
NOT_OURS = re.compile(r"^tasks-")


class Model(http.server.BaseHTTPRequestHandler):
    """Asks for a few tools in turn, and concludes from what they said."""

    steps = [
        ("execute_python", {"code": "sum(n for n in range(101))", "session": "agent"}),
        ("sandbox_exec", {"runtime": "sh", "code": "sleep 9", "timeout_ms": 100}),
        ("execute_shell", {"command": "printf '%s' \"it's \\\"done\\\"\"", "session": "agent"}),
    ]

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = [m["content"] for m in body["messages"] if m["role"] == "tool"]
        offered = {t["function"]["name"] for t in body["tools"]}
        if len(said) < len(self.steps):
            name, arguments = self.steps[len(said)]
            call = {"id": f"call_{len(said)}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]} if name in offered else {"role": "assistant", "content": f"no {name}"}
        else:
            good = "5050" in said[0] and "timeout" in said[1] and "it's" in said[2]
            message = {"role": "assistant", "content": "5050, after a timeout, and done" if good else f"unexpected: {said}"}
        data = json.dumps({"choices": [{"message": message}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Tests:
    def __init__(self, options, room):
        self.cella = pathlib.Path(options.build).resolve() / "src/cella"
        self.server = self.cella.with_name("cella-server")
        self.fixtures = pathlib.Path(options.build).resolve() / "test/mcp/cella-server"
        self.npm = pathlib.Path(options.npm).resolve() / "node_modules"
        self.node = self.npm / f"node-linux-{'x64' if platform.machine() == 'x86_64' else 'arm64'}/bin/node"
        self.room = room
        self.env = {**os.environ, "PATH": f"{self.node.parent}:{os.environ['PATH']}", "HOME": str(room), "TMPDIR": str(room), "NODE_PATH": str(self.npm)}
        self.passed = self.failed = 0

    def run(self, *words, timeout=120, env=None, check=True):
        """Runs a program and returns its output."""
        r = subprocess.run([str(w) for w in words], cwd=self.room, env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=timeout)  # fmt: skip
        if check and r.returncode != 0:
            raise AssertionError(f"{words[0]} ended with {r.returncode}:\n{r.stdout.decode()[-1500:]}\n{r.stderr.decode()[-1500:]}")
        return r.stdout.decode()

    def script(self, path, *words, **kwargs):
        """A program in TypeScript, from where it finds its packages."""
        copy = self.npm.parent / path.name
        shutil.copy(path, copy)
        return self.run(self.node, "--no-warnings", copy, *words, **kwargs)

    def test(self, name, function):
        try:
            function()
            self.passed += 1
            print(f"ok {name}", flush=True)
        except Exception:
            self.failed += 1
            print(f"FAIL {name}", *traceback.format_exc().splitlines(), sep="\n    ", flush=True)

    # The suite.

    def conformance(self, url, revision):
        """{scenario: its checks} of all that the suite has for a revision."""
        out = pathlib.Path(tempfile.mkdtemp(dir=self.room))
        self.run(self.node, self.npm / ".bin/conformance", "server", "--url", f"{url}/mcp", "--requirements", revision, "-o", out,
                 timeout=400, check=False)  # fmt: skip
        found = {}
        for path in sorted(out.glob("server-*/checks.json")):
            scenario = re.fullmatch(r"server-(.*)-\d{4}-\d\d-\d\dT[-\dZ]+", path.parent.name)[1]
            found[scenario] = json.loads(path.read_text())
        assert len(found) > 30, f"scenarios: {list(found)}"
        return found

    @staticmethod
    def judge(checks):
        bad = [c for c in checks if c["status"] in ("FAILURE", "WARNING")]
        assert not bad, "\n".join(f"{c['id']}: {c['status']} {c.get('errorMessage')}" for c in bad)
        assert any(c["status"] in ("SUCCESS", "INFO") for c in checks), f"nothing was checked: {checks}"

    def suite(self):
        for name, server in (("", self.server), (" (fixtures)", self.fixtures)):
            with serving(self.cella, server, self.room) as url:
                for revision in REVISIONS:
                    for scenario, checks in self.conformance(url, revision).items():
                        if not NOT_OURS.match(scenario) and (name or not NEEDS_FIXTURES.match(scenario)):
                            self.test(f"conformance {revision} {scenario}{name}", lambda: self.judge(checks))

    # The inspector.

    def inspect(self, *target):
        inspector = (self.node, self.npm / ".bin/mcp-inspector", "--cli", *target)
        tools = json.loads(self.run(*inspector, "--method", "tools/list"))["tools"]
        assert [t["name"] for t in tools][:2] == ["sandbox.exec", "execute_python"], tools
        r = json.loads(self.run(*inspector, "--method", "tools/call", "--tool-name", "sandbox.exec", "--tool-arg", "runtime=python3",
                                "--tool-arg", "code=print(6*7)"))  # fmt: skip
        assert r["structuredContent"] == {"stdout": "42\n", "stderr": "", "exit_code": 0}, r
        templates = json.loads(self.run(*inspector, "--method", "resources/templates/list"))["resourceTemplates"]
        assert len(templates) == 3, templates

    # The SDK.

    def sdk(self, program, version, *words):
        r = json.loads(self.script(HERE / program, *words))
        assert r.pop("version", version) == version, r
        assert r == {"tools": 9, "lines": ["1", "2", "3"], "stdout": "1\n2\n3\n", "value": "42", "failed": [True, "timeout"], "resource": True}, r

    # The examples.

    def example(self, model, url, *words):
        env = {"MODEL_URL": model, "CELLA": str(self.cella), **({"CELLA_URL": url} if url else {})}
        path = EXAMPLES / words[0]
        out = self.script(path, *words[1:], env=env) if path.suffix == ".mts" else self.run(path, *words[1:], env=env)
        assert out == "5050, after a timeout, and done\n", out

    def all(self):
        self.suite()
        model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        threading.Thread(target=model.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{model.server_port}/v1"
        stdio = (str(self.cella), "mcp")
        with serving(self.cella, self.server, self.room) as url:
            self.test("inspector over HTTP", lambda: self.inspect(f"{url}/mcp"))
            self.test("inspector over stdio", lambda: self.inspect(*stdio))
            for name, target in (("HTTP", (f"{url}/mcp",)), ("stdio", stdio)):
                self.test(f"SDK 1 over {name}", lambda: self.sdk("client-v1.mts", "2025-11-25", *target))
                self.test(f"SDK 2 over {name}, 2025-11-25", lambda: self.sdk("client-v2.mts", "2025-11-25", "legacy", *target))
                self.test(f"SDK 2 over {name}, 2026-07-28", lambda: self.sdk("client-v2.mts", "2026-07-28", "auto", *target))
            self.test("example: MCP over stdio", lambda: self.example(at, None, "mcp-agent.mts", "add"))
            self.test("example: MCP over HTTP", lambda: self.example(at, url, "mcp-agent.mts", "add"))
            self.test("example: function calling", lambda: self.example(at, url, "openai_agent.py", "add"))
            self.test("example: curl", lambda: self.example(at, url, "curl-agent.sh", "add"))
        self.test("nothing is left", self.nothing_is_left)

    def nothing_is_left(self):
        assert not list(self.room.glob("cella-mcp-*")), "directories of cella mcp"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build", help="where meson built")
    parser.add_argument("--npm", default="build-npm", help="where the packages are")
    options = parser.parse_args()
    room = pathlib.Path(tempfile.mkdtemp(prefix="cella-test-mcp-"))
    room.chmod(0o755)
    try:
        tests = Tests(options, room)
        tests.all()
    finally:
        shutil.rmtree(room, ignore_errors=True)
    print(f"{tests.passed} passed, {tests.failed} failed, 0 skipped")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
