"""A session follows the settings to another engine, and back, with its files."""

import os
import subprocess

import engines
import support
from place import NAMES, Place
from support import ensure, same, test


class Both(Place):
    """A daemon that has the images of the native engine, too."""

    def __enter__(self):
        os.makedirs(self.d.state, exist_ok=True)
        subprocess.run(["cp", "-al", f"{engines.native}/images", self.d.state], check=True)
        super().__enter__()
        self.use(engine="native", image="tiny:1")
        return self

    def use(self, **settings):
        self.d.ok("PATCH", "/v1/settings", settings, unix=True)

    def run(self, code, status=200, **more):
        return self.d.post("/v1/exec", {"command": ["sh", "-c", code], "session": "s", **more}, status)


def case(f):
    """Registers the case for each engine of containers."""
    for name in NAMES[1:]:

        def run(name=name):
            with Both(name) as p:
                f(p)

        run.__wrapped__ = f
        test(run, name=f"{f.__name__}_{name}", users=("root",), timeout=120)
    return f


def reason(r):
    return r["isolation"].get("reason", "")


FILES = """mkdir -p d/e; echo kept > d/e/f; python3 -c 'import os; os.chmod("d/e/f", 0o751); os.symlink("d/e/f", "link")'; head -c 3000000 /dev/zero > big"""
LOOK = "cat link; stat -c %a d/e/f; wc -c < big; cat more 2>/dev/null"


@case
def a_session_follows_the_engine_of_the_settings_with_its_files(p):
    one = p.run(FILES)
    same((one["isolation"]["engine"], one["stderr"]), ("native", ""), "at first", one)
    p.use(engine="docker")
    two = p.run(f"{LOOK}; echo more > more")
    same((two["stdout"], two["isolation"]["engine"]), ("kept\n751\n3000000\n", p.name), "in a container", two)
    same(reason(two), "sandbox: made again for changed settings (engine): files are kept, processes are gone", "the response says so")
    listed = [s["id"] for s in p.d.get("/v1/sandboxes")["sandboxes"]]
    same(listed, [two["sandbox"]], "the only sandbox")
    again = p.run("cat more")
    same((again["stdout"], again["sandbox"], reason(again)), ("more\n", two["sandbox"], ""), "the next request")
    p.use(engine="native")
    three = p.run(LOOK)
    same((three["stdout"], three["isolation"]["engine"]), ("kept\n751\n3000000\nmore\n", "native"), "back", three)
    ensure("(engine)" in reason(three), "the response says so", three)
    p.d.stop()
    p.d.start()
    same(p.run("cat more")["stdout"], "more\n", "after a restart")


@case
def a_containers_session_follows_the_image_of_the_settings(p):
    p.use(engine="docker")
    one = p.run("echo kept > /workspace/f; id -u")
    p.use(image="app:1")
    two = p.run("cat /workspace/f; id -u")
    same((one["stdout"], two["stdout"]), ("0\n", "kept\n501\n"), "the users of the images", two)
    ensure("(image)" in reason(two), "the response says so", two)


@case
def tools_follow_the_engine_of_the_settings_too(p):
    call = {"session": "s", "context": "c", "code": "import os; x = 1; open('f', 'a').write('kept'); open('f').read()"}
    one = p.d.post("/v1/tools/execute_python", call)
    same(one["results"][0]["data"], "'kept'", "at first", one)
    p.use(engine="docker")
    two = p.d.post("/v1/tools/execute_python", call)
    same((two["results"][0]["data"], two["isolation"]["engine"]), ("'keptkept'", p.name), "in a container", two)
    ensure("(engine)" in reason(two), "the response says so", two)
    p.use(engine="native")
    same(p.d.post("/v1/tools/read_file", {"session": "s", "path": "f"})["content"], "keptkept", "a tool for files")


@case
def a_stopped_session_is_moved_too_and_a_key_needs_no_second_place(p):
    key = p.d.post("/v1/keys", {"name": "k", "sandboxes_max": 1}, 201, unix=True)["key"]
    body = {"command": ["sh", "-c", "echo kept >> f; cat f"], "session": "s"}
    same(p.d.ok("POST", "/v1/exec", body, key=key)["stdout"], "kept\n", "at first")
    p.use(engine="docker")
    same(p.d.ok("POST", "/v1/exec", body, key=key)["stdout"], "kept\n" * 2, "while it is alive")
    p.use(engine="native")
    same(p.d.ok("POST", "/v1/exec", body, key=key)["stdout"], "kept\n" * 3, "back")
    p.d.stop()
    p.d.start()
    p.use(engine="docker")
    same(p.d.ok("POST", "/v1/exec", body, key=key)["stdout"], "kept\n" * 4, "after it was stopped")


@case
def a_session_that_cannot_be_moved_keeps_its_files(p):
    p.run("echo kept > f")
    p.use(engine="docker", image="missing:1")
    ensure("missing:1" in p.run("cat f", 404)["error"]["message"], "the error names the image")
    p.use(image="tiny:1")
    same(p.run("cat f")["stdout"], "kept\n", "when it can be made")


@case
def a_session_that_cannot_be_copied_stays_on_its_engine(p):
    code = "open('f', 'w').write('kept')\nfor i in range(9):\n    open(f'sparse{i}', 'w').truncate(200 << 20)"
    r = p.d.post("/v1/exec", {"runtime": "python3", "code": code, "session": "s"})
    same((r["exit_code"], r["stderr"]), (0, ""), "files with holes", r)
    p.use(engine="docker")
    e = p.run("cat f", 413)["error"]
    ensure("/workspace" in e["message"] and "keeps its files" in e["hint"], "the error says what happened", e)
    r = p.run("cat f")
    same((r["stdout"], r["isolation"]["engine"]), ("kept", "native"), "the next request", r)


@case
def a_request_that_waits_for_the_copy_can_be_left_and_the_session_removed(p):
    one = p.run("echo kept > f")
    p.use(engine="docker")
    with p.d.events("POST", "/v1/exec", {"command": ["sh", "-c", "cat f; sleep 100"], "session": "s"}) as e:
        e.read_until("kept")
    two = p.run("cat f")
    ensure(two["sandbox"] != one["sandbox"], "another sandbox", two)
    p.d.delete(f"/v1/sandboxes/{two['sandbox']}")
    support.until(lambda: not p.d.get("/v1/sandboxes")["sandboxes"], 20, "its end")
    same(p.run("ls")["stdout"], "", "a new session")


@case
def what_a_request_chose_stays(p):
    one = p.run("echo kept > f", engine="native")
    p.use(engine="docker")
    two = p.run("cat f")
    same((two["stdout"], two["sandbox"], reason(two)), ("kept\n", one["sandbox"], ""), "the engine", two)
    p.use(engine="native")
    p.run("echo kept > /workspace/f", session="i", image="app:1")
    p.use(engine="docker")
    r = p.run("cat /workspace/f; id -u", session="i")
    same((r["stdout"], r["isolation"]["engine"]), ("kept\n501\n", p.name), "the image", r)
