"""Pictures that code writes to files are results: of tools, through MCP, and of runs in contexts with `rich`."""

import base64

from mcp import Http
from support import ensure, late, same, test

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + b"\x00" * 100 + b"\xff\xd9"
SVG = '<?xml version="1.0"?>\n<!-- a circle -->\n<svg xmlns="http://www.w3.org/2000/svg"><circle r="5"/></svg>'


def writes(**files):
    """Python code without a value that writes these files; `__` in a name is a dot."""
    return "".join(f"with open({name.replace('__', '.')!r}, 'wb') as f: f.write({content!r})\n" for name, content in files.items())


def shell(code):
    return f"python3 - <<'END'\n{code}END\n"


def text(content):
    return content.decode() if content.startswith(b"<") else base64.b64encode(content).decode()


def pictures(r):
    """{path: (mime, data)} of the results with a path."""
    if r.get("files_truncated"):
        late("the list of files was not complete in time", r)
    return {x["path"]: (x["mime"], x["data"]) for x in r["results"] if "path" in x}


WRITTEN = {"a__png": PNG, "b__JPG": JPEG, "c__svg": SVG.encode(), "d__txt": b"no picture", "e__png": b"no picture either"}
EXPECTED = {"a.png": ("image/png", text(PNG)), "b.JPG": ("image/jpeg", text(JPEG)), "c.svg": ("image/svg+xml", SVG)}


@test
def pictures_of_tools_are_results(d):
    code = writes(**WRITTEN)
    for session in ({}, {"session": "s"}):
        r = d.ok("POST", "/v1/tools/execute_shell", {"command": shell(code), **session})
        same(pictures(r), EXPECTED, f"execute_shell {session}", r)
        ensure("results_truncated" not in r and "context" not in r, "fields", r)
        same([x["main"] for x in r["results"]], [False] * 3, "none is the value of an expression")
        same(len({x["value"] for x in r["results"]}), 3, "different values")
        r = d.ok("POST", "/v1/tools/execute_python", {"code": code + "6*7", **session})
        same(pictures(r), EXPECTED, f"execute_python {session}", r)
        same([x["data"] for x in r["results"] if x.get("main")], ["42"], "the value", r)
        same(sorted(f["path"] for f in r["files"]), ["a.png", "b.JPG", "c.svg", "d.txt", "e.png"], "the files of execute_python", r)


@test
def pictures_are_image_content_through_mcp(d):
    mcp = Http(d)
    for tool, arguments in (("execute_shell", {"command": shell(writes(**WRITTEN))}), ("execute_python", {"code": writes(**WRITTEN)})):
        r = mcp.tool(tool, **arguments)
        images = [(c["mimeType"], c["data"]) for c in r["content"] if c["type"] == "image"]
        if r["structuredContent"].get("files_truncated"):
            late("the list of files was not complete in time")
        same(sorted(images), sorted(v for k, v in EXPECTED.items() if k != "c.svg"), tool, r)


@test
def pictures_of_a_run_in_a_context_need_rich(d, s):
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    run = f"/v1/sandboxes/{s}/contexts/{c}/run"
    r = d.ok("POST", run, {"code": writes(a__png=PNG)})
    same((r["results"], r["files"]), ([], []), "without rich", r)
    r = d.ok("POST", run, {"code": writes(b__txt=b"x"), "list_files": True})
    ensure(any(f["path"] == "b.txt" for f in r["files"]) or r.get("files_truncated"), "list_files", r)
    with d.events("POST", run, {"code": writes(a__png=PNG), "rich": True}) as events:
        e = events.wait("result")
        same((e["mime"], e["path"], e["data"]), ("image/png", "a.png", text(PNG)), "in the stream")
    for value in (1, "yes", None):
        d.refused("invalid_request", "POST", run, {"code": "1", "rich": value}, "rich")


@test
def pictures_of_an_execution_need_rich(d, s):
    code = writes(**WRITTEN)
    for where in ("/v1/exec", f"/v1/sandboxes/{s}/exec"):
        r = d.ok("POST", where, {"runtime": "python3", "code": code})
        same((r["exit_code"], r["results"]), (0, []), f"{where} without rich", r)
        r = d.ok("POST", where, {"runtime": "python3", "code": code, "rich": True})
        same(pictures(r), EXPECTED, f"{where} with rich", r)
        r = d.ok("POST", where, {"command": ["sh", "-c", "cp a.png copy.png || true; echo 1"], "files": {"a.png": {"base64": text(PNG)}}, "rich": True})
        same(list(pictures(r)), ["copy.png"], f"{where}: only files that the command wrote", r)
        with d.events("POST", where, {"runtime": "python3", "code": code, "rich": True}) as events:
            e = [events.wait("result") for _ in range(3)]
            same({x["path"]: (x["mime"], x["data"]) for x in e}, EXPECTED, "in the stream")
            same(pictures(events.wait("exit")), EXPECTED, "at its end")
        for value in (1, "yes", None):
            d.refused("invalid_request", "POST", where, {"runtime": "sh", "code": "exit 1", "rich": value}, "rich")


@test
def secrets_are_masked_in_pictures_that_are_text(d):
    d.ok("PUT", "/v1/secrets/token", {"value": "abcdefgh12345678"}, 201)
    r = d.exec("sh", "echo \"<svg>$T</svg>\" > p.svg; cp p.svg $T.svg", secrets={"T": "{{secret:token}}"}, rich=True)
    ensure("abcdefgh12345678" not in str(r), "the result", r)
    same([x["data"] for x in r["results"] if x["path"] == "p.svg"], ["<svg>***</svg>\n"], "the picture", r)


@test
def pictures_are_limited(d):
    big = f"data = {PNG!r}\nopen('big.png', 'wb').write(data + bytes(2 << 20))\n"
    r = d.ok("POST", "/v1/tools/execute_shell", {"command": shell(big + writes(small__png=PNG))})
    same((list(pictures(r)), r["results_truncated"]), (["small.png"], True), "a large one", r)
    many = f"for i in range(12): open(f'p{{i:02}}.png', 'wb').write({PNG!r})\n"
    r = d.ok("POST", "/v1/tools/execute_shell", {"command": shell(many)})
    same((len(pictures(r)), r["results_truncated"]), (8, True), "many", r)
    large = f"for i in range(8): open(f'p{{i}}.png', 'wb').write({PNG!r} + bytes((2 << 20) - 100))\n"
    r = d.ok("POST", "/v1/tools/execute_shell", {"command": shell(large)})
    same((len(pictures(r)), r["results_truncated"]), (4, True), "together", r)


@test
def only_pictures_are_results(d):
    code = """
import os
os.symlink('/etc/passwd', 'link.png')
os.mkfifo('pipe.png')
os.mkdir('dir.png')
open('bad.svg', 'wb').write(b'<svg>\\xff</svg>')
open('late.svg', 'w').write(' ' * 2000 + '<svg/>')
open('nul.svg', 'w').write('<svg>\\0</svg>')
open('empty.png', 'w')
open('.png', 'wb').write(b'x')
"""
    r = d.ok("POST", "/v1/tools/execute_shell", {"command": shell(code)})
    same((r["exit_code"], r["results"]), (0, []), "no picture", r)
    r = d.ok("POST", "/v1/tools/execute_shell", {"command": shell("import os\nos.makedirs('x/y')\n" + writes(**{"x/y/p__png": PNG}))})
    same(list(pictures(r)), ["x/y/p.png"], "in a directory", r)


@test
def code_that_is_killed_has_no_pictures_and_a_result(d):
    r = d.ok("POST", "/v1/tools/execute_shell", {"command": shell(writes(a__png=PNG)) + "sleep 60", "timeout_ms": 3000})
    same((r["status"], r["timed_out"]), ("timeout", True), "status", r)
