#!/usr/bin/python3
"""Foreign programs read /openapi.json: a linter, and two generators of clients, whose results are compiled and used.

Everything that Node needs is in --npm (test/openapi/package.json says what; ./dev installs it)."""

import argparse
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from ports import serving  # noqa: E402

EXPECTED = ["hello\n", False, "/workspace", "invalid_request"]


class Tests:
    def __init__(self, options, room):
        self.cella = pathlib.Path(options.build).resolve() / "src/cella"
        self.npm = pathlib.Path(options.npm).resolve() / "node_modules"
        self.node = self.npm / f"node-linux-{'x64' if platform.machine() == 'x86_64' else 'arm64'}/bin/node"
        self.only, self.room = options.only, room
        self.passed = self.failed = 0
        (room / "node_modules").symlink_to(self.npm)
        (room / "package.json").write_text('{"type": "module"}')

    def run(self, *words):
        """Returns (exit status, output)."""
        env = {"PATH": f"{self.node.parent}:/usr/bin:/bin", "HOME": str(self.room), "CI": "1", "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
        r = subprocess.run([str(w) for w in words], cwd=self.room, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=240, check=False)  # fmt: skip
        return r.returncode, r.stdout.decode()

    def node_run(self, *words):
        status, said = self.run(self.node, *words)
        assert status == 0, f"{words[0]} ended with {status}:\n{said[-3000:]}"
        return said

    def bin(self, name):
        return self.npm / ".bin" / name

    def test(self, name, function, *words):
        if self.only not in name:
            return
        try:
            function(*words)
            self.passed += 1
            print(f"ok {name}", flush=True)
        except Exception:
            self.failed += 1
            print(f"FAIL {name}", *traceback.format_exc().splitlines(), sep="\n    ", flush=True)

    def lint(self):
        said = json.loads(re.search(r"^\{.*^\}", self.node_run(self.bin("redocly"), "lint", "openapi.json", "--format=json"), re.S | re.M)[0])
        assert said["totals"]["errors"] == 0, said
        # A WebSocket has no answer of 2XX, and components of events are used only by x-events.
        warnings = {p["ruleId"] for p in said["problems"]} - {"operation-2xx-response", "no-unused-components"}
        assert not warnings, [p for p in said["problems"] if p["ruleId"] in warnings]

    def lint_finds_errors(self):
        broken = json.loads((self.room / "openapi.json").read_text())
        broken["paths"]["/v1/exec"]["post"]["operationId"] = "createSandbox"
        (self.room / "broken.json").write_text(json.dumps(broken))
        status, said = self.run(self.node, self.bin("redocly"), "lint", "broken.json", "--format=json")
        assert status != 0 and "operation-operationId-unique" in said, said[-2000:]

    def settings(self, name):
        path = self.room / f"{name}.json"
        options = {"strict": True, "target": "es2022", "module": "nodenext", "lib": ["es2023", "dom", "dom.iterable"], "types": [], "skipLibCheck": True}
        path.write_text(json.dumps({"compilerOptions": options, "files": [name, "process.d.ts"]}))
        return path

    def compile(self, name):
        """The client in JavaScript."""
        shutil.copy(HERE / name, self.room / name)
        (self.room / "process.d.ts").write_text("declare const process: {argv: string[]};\n")
        self.node_run(self.bin("tsc"), "-p", self.settings(name))
        # A field that no answer has is refused: the types are not `any`.
        wrong = f"wrong-{name}"
        (self.room / wrong).write_text((HERE / name).read_text().replace("data.stdout", "data.stdoutt"))
        status, said = self.run(self.node, self.bin("tsc"), "--noEmit", "-p", self.settings(wrong))
        assert status != 0 and "'stdoutt' does not exist" in said, said[-2000:]
        return self.room / name.replace(".ts", ".js")

    def types(self, url):
        self.node_run(self.bin("openapi-typescript"), "openapi.json", "-o", "types.ts")
        self.use(url, "client-fetch.ts")

    def generated_class(self, url):
        self.node_run(self.bin("swagger-typescript-api"), "generate", "-p", "openapi.json", "-o", self.room, "-n", "api.ts")
        self.use(url, "client-class.ts")

    def use(self, url, name):
        said = json.loads(self.node_run(self.compile(name), url))
        assert said == EXPECTED, said

    def all(self):
        with serving(self.cella, self.cella.with_name("cella-server"), self.room) as url:
            with urllib.request.urlopen(f"{url}/openapi.json", timeout=60) as answer:
                (self.room / "openapi.json").write_bytes(answer.read())
            self.test("the linter finds no error", self.lint)
            self.test("the linter finds an error that is there", self.lint_finds_errors)
            self.test("openapi-typescript: a client with its types compiles and runs", self.types, url)
            self.test("swagger-typescript-api: its client compiles and runs", self.generated_class, url)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build", help="where meson built")
    parser.add_argument("--npm", default="build-openapi", help="where the packages are")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    room = pathlib.Path(tempfile.mkdtemp(prefix="cella-test-openapi-"))
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
