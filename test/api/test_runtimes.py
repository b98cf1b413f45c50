"""Runtimes by version, of this machine and of images; and the languages that are compiled."""

import concurrent.futures
import json
import os

import images
import support
from daemon import Daemon
from support import cella, ensure, same, test, until

C = '#include <stdio.h>\nint main(int n, char **a)\n{\n  char line[99] = "";\n  if (!fgets(line, 99, stdin))\n    return 1;\n  printf("%s %s", a[1], line);\n  return 7;\n}\n'
SHOWS = '#!/bin/sh\ncase $1 in\n--version) echo "%s" ;;\n-e) echo "%s ran: $2" ;;\n*) echo "%s ran: $(cat "$1")" ;;\nesac\n'


def shows(version, name):
    """Returns a fake interpreter that prints its arguments and code."""
    return SHOWS % (version, name, name)


def put_image(d, name, programs=None, runtimes=None, **config):
    """Puts a small image into the daemon's store: a shell, these programs (path: text), and this list of runtimes."""
    image = images.Image(name, config={"env": ["PATH=/usr/local/bin:/bin"], **config}, where=d.state)
    for path, text in (programs or {}).items():
        image.put(path[1:], text, 0o755)
    image.write(runtimes)
    return image.done(os.stat(d.state).st_uid)


# Compiled languages.


@test(users=("root",))
def compiled_code_runs_in_a_sandbox_of_its_own(d):
    r = d.exec("c", C, args=["a b"], stdin="in\n", list_files=True)
    same((r["status"], r["exit_code"], r["stdout"], r["stderr"], r["files"]), ("exited", 7, "a b in\n", "", []), "result")
    r = d.exec("c++", '#include "more.h"\nint main() { return MORE; }\n', files={"more.h": "#define MORE 3\n"})
    same((r["exit_code"], r["stderr"]), (3, ""), "a header that came with it")
    r = d.exec("c", "int main(void)\n{\n  return x;\n}\n")
    same((r["status"], r["exit_code"], r["stdout"]), ("exited", 1, ""), "what does not compile")
    ensure("main.c:3:10: error:" in r["stderr"], "the place of the mistake", r["stderr"])
    r = d.exec("c", "#include <signal.h>\nint main(void) { raise(SIGSEGV); }\n")
    same((r["status"], r["signal"]), ("signaled", 11), "a signal")
    row = d.rows()[0]
    same((row["runtime"], row["status"]), ("c", "signaled"), "the log")


@test(users=("root",))
def compiled_code_runs_beside_others_and_leaves_nothing_in_a_session(d, s):
    code = '#include <stdio.h>\n#include <stdlib.h>\nint main(int n, char **a) { printf("%s\\n", a[1]); fflush(stdout); return system("sleep 0.3"); }\n'
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [pool.submit(d.exec, "c", code, sandbox=s, args=[str(i)]) for i in range(3)]
        same([r.result()["stdout"] for r in runs], ["0\n", "1\n", "2\n"], "each its own")
    left = d.exec("sh", "find /run /workspace /tmp -type f ! -name '*.c' ! -name '*.sh'", sandbox=s)["stdout"]
    same(left, "", "what is left")


@test(users=("root",))
def compiled_code_runs_in_the_background_and_as_events(d, s):
    code = '#include <stdio.h>\nint main(void) { char l[99]; puts("begun"); fflush(stdout); fgets(l, 99, stdin); printf("got %s", l); return 5; }\n'
    p = d.post(f"/v1/sandboxes/{s}/processes", {"runtime": "c", "code": code}, 201)
    base = f"/v1/sandboxes/{s}/processes/{p['pid']}"
    until(lambda: "begun" in d.get(f"{base}/output")["stdout"], 20, "its first line")
    d.request("POST", f"{base}/stdin", b"x\n")
    until(lambda: d.get(base)["state"] == "exited", 20, "its end")
    same(d.get(f"{base}/output")["stdout"], "begun\ngot x\n", "output")
    with d.events("POST", "/v1/exec", {"runtime": "c", "code": C, "args": ["a"], "stdin": "b\n"}) as events:
        text, end = events.text()
    same((text, end["exit_code"]), ("a b\n", 7), "as events")
    d.exec("sh", "true", sandbox=s)
    ex = d.post("/v1/exec", {"runtime": "c", "code": "#include <unistd.h>\nint main(void) { pause(); }\n", "timeout_ms": 1500,
                             "limits": {"grace_ms": 100}})  # fmt: skip
    same(ex["status"], "timeout", "what never ends")


# The program and the image of a runtime.


@test
def runtime_is_in_the_image_that_the_settings_name():
    with Daemon(settings={"runtimes": {"python3.99": {"image": "snake:3.99"}, "node77": {"image": "plain", "program": "/opt/node"}},
                          "default_runtimes": {"python": "python3.99"}}) as d:  # fmt: skip
        put_image(d, "snake:3.99", {"/usr/local/bin/python3.99": shows("Python 3.99.1", "snake"), "/usr/local/bin/python3": shows("no", "other")},
                  {"python3.99": "/usr/local/bin/python3.99", "python3": "/usr/local/bin/python3"})  # fmt: skip
        put_image(d, "plain", {"/opt/node": shows("v77.1.0", "node of the settings"), "/usr/local/bin/python3.99": shows("?", "plain's")})
        r = d.exec("python3.99", "code")
        same((r["stdout"], r["runtime"]), ("snake ran: code\n", "python3.99"), "by its version")
        r = d.exec("python", "code")
        same((r["stdout"], r["runtime"]), ("snake ran: code\n", "python3.99"), "by its language")
        same(d.exec("node77", "code")["stdout"], "node of the settings ran: code\n", "the settings' program")
        same(d.exec("python3.99", "code", image="plain")["stdout"], "plain's ran: code\n", "the request's own image")
        same(d.exec("sh", "test -e /etc/mark || echo host")["stdout"], "host\n", "another runtime")
        s = d.sandbox(image="plain")
        same(d.exec("node77", "code", sandbox=s)["stdout"], "node of the settings ran: code\n", "in a sandbox of that image")
        s = d.sandbox()
        d.refused("runtime_not_found", "POST", f"/v1/sandboxes/{s}/exec", {"runtime": "node77", "code": "x"}, "node77")
        a = d.refused("runtime_not_found", "POST", f"/v1/sandboxes/{s}/contexts", {"runtime": "python"}, "runtime not found: python3.99")
        ensure('use image "snake:3.99"' in a.json()["error"]["hint"], "the hint", a)


@test(users=("root",))
def a_runtime_version_is_found_by_the_version_a_program_prints(d):
    put_image(d, "n22", {"/usr/local/bin/node": shows("v22.3.0", "node")})
    put_image(d, "n18", {"/usr/local/bin/node": shows("v18.3.0", "old"), "/opt/node": shows("v22.0.0", "listed")},
              {"node22": "/opt/node"})  # fmt: skip
    same(d.exec("node22", "x", image="n22")["stdout"], "node ran: x\n", "it was asked")
    same(d.exec("node22.3", "x", image="n22")["stdout"], "node ran: x\n", "by more of its version")
    same(d.exec("node", "x", image="n22")["stdout"], "node ran: x\n", "without a version")
    same(d.exec("node22", "x", image="n18")["stdout"], "listed ran: x\n", "the image says where it is")
    same(d.exec("node18", "x", image="n18")["stdout"], "old ran: x\n", "the other")
    d.refused("runtime_not_found", "POST", "/v1/exec", {"runtime": "node20", "code": "x", "image": "n22"}, "runtime not found: node20")


@test(users=("user",))
def missing_runtime_names_the_image_that_has_it(d):
    def hint(**request):
        return d.refused("runtime_not_found", "POST", "/v1/exec", {"code": "x", **request}, f"runtime not found: {request['runtime']}").json()["error"]["hint"]

    put_image(d, "bare")
    same(hint(runtime="python3.98"), "cella image pull python:3.98-slim, and use that image", "nothing has it")
    for name, other in (("python3.10", "python3.12"), ("node18", "node20")):  # this machine has at most one of them
        said = [r.json()["error"]["hint"] for n in (name, other) if (r := d.request("POST", "/v1/exec", {"runtime": n, "code": ""})).status != 200]
        ensure(said and all("cella image pull " in s and " --recipe " in s for s in said), f"the hints of known versions: {said}")
    same(hint(runtime="node", image="bare"), "cella image pull node:lts-slim, and use that image", "an image lacks it")
    same(hint(runtime="tclsh", image="bare"), "use an image that has tcl", "of no image that we know of")
    put_image(d, "registry.example/team/snake:2", {"/bin/python3.98": shows("", "")}, {"python3.98": "/bin/python3.98"})
    for request in ({}, {"image": "bare"}):
        same(hint(runtime="python3.98", **request), 'use image "registry.example/team/snake:2", or set runtimes.python3.98.image to it', "an image has it")
    same(hint(runtime="cobol"), "cella runtime ls shows what there is; any program: cella run -- COMMAND", "no language")


@test(users=("root",))
def settings_of_runtimes_are_checked(d):
    for wrong, part in (({"cobol9": {"image": "x"}}, "cobol9"), ({"python3.12": {}}, "python3.12"), ({"python3.12": {"image": "a b"}}, "a b"),
                        ({"python3.12": {"program": "python3"}}, "absolute"), ({"python3.12": {"path": "/x"}}, "path"), ({"python3.12": "x"}, "python3.12")):  # fmt: skip
        d.refused("invalid_request", "PATCH", "/v1/settings", {"runtimes": wrong}, part)
    d.refused("invalid_request", "PATCH", "/v1/settings", {"default_runtimes": {"python": "cobol"}}, "cobol")
    same(d.get("/v1/settings")["runtimes"], {}, "nothing was changed")


@test(users=("root",), settings={"mode": "selective", "runtimes": {"python3": {"image": "snake"}}})
def runtime_of_an_image_never_runs_on_the_host(d):
    put_image(d, "snake", {"/bin/python3": shows("", "snake")}, {"python3": "/bin/python3"})
    r = d.exec("python3", "print(1)")
    same((r["stdout"], r["isolation"]["reason"]), ("snake ran: print(1)\n", "sandbox: image"), "selective")
    d.ok("PATCH", "/v1/settings", {"mode": "off"})
    d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "python3", "code": "print(1)"}, "image is not available")


# ---- the list ----


@test(users=("root",), settings={"runtimes": {"node77": {"image": "n77"}}})
def runtimes_of_the_host_and_of_images_are_listed(d):
    put_image(d, "n77", {"/opt/node": shows("v77.5.1", "node")}, {"node77": "/opt/node", "sh": "/bin/sh"})
    answer = d.get("/v1/runtimes")
    rows = {(r["image"], r["name"]): r["program"] for r in answer["runtimes"]}
    same(rows["host", "python3"], "/usr/bin/python3", "the host's")
    same(rows["n77", "node77"], "/opt/node", "the image's")
    ensure(("host", "node77") not in rows, "an image's is not the host's", rows)
    same((answer["settings"], answer["default_runtimes"]["node"]), ({"node77": {"image": "n77"}}, "node"), "the settings")
    same({r["image"] for r in d.get("/v1/runtimes?image=host")["runtimes"]}, {"host"}, "the host's alone")
    same({r["name"] for r in d.get("/v1/runtimes?image=n77")["runtimes"]}, {"node77", "sh"}, "the image's alone")
    d.refused("not_found", "GET", "/v1/runtimes?image=nothing", parts="nothing")

    store = {**os.environ, "CELLA_STATE": d.state}
    r = cella(["runtime", "ls", "--image", "n77", "--json"], env=store)
    same((r.rc, r.err), (0, ""), "cella runtime ls", r)
    same(r.json()["runtimes"], [{"name": "node77", "image": "n77", "program": "/opt/node", "version": "77.5.1"},
                                {"name": "sh", "image": "n77", "program": "/bin/sh", "version": None}], "with versions")  # fmt: skip
    r = cella(["runtime", "ls"], env=store)
    lines = [line.split() for line in r.out.splitlines()]
    same(lines[0], ["IMAGE", "RUNTIME", "VERSION", "PROGRAM"], "headings", r)
    ensure(["n77", "node77", "77.5.1", "/opt/node"] in lines, "the image's", r)
    python = next(line for line in lines if line[:2] == ["host", "python3"])
    ensure(python[2].startswith("3.") and python[3] == "/usr/bin/python3", "the host's", r)
    same(cella(["runtime", "ls", "--image", "nothing"], env=store).rc, 125, "no such image")
