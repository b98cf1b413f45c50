"""Files of a sandbox: bytes in and out, ranges, lists, changes, archives, hostile names and links."""

import io
import os
import re
import tarfile
import threading
import time
import urllib.parse

import support
from daemon import Daemon, not_sanitized
from support import ensure, same, test, until


def path_of(d, s, rest, **query):
    return f"/v1/sandboxes/{s}/{rest}?" + urllib.parse.urlencode(query)


@test
def files_are_read_and_written_unchanged(d, s):
    data = bytes(range(256)) * 5000
    a = d.request("PUT", d.file(s, "dir/file.bin"), data)
    same(a.status, 201, "status", a)
    st = a.json()
    same((st["path"], st["type"], st["bytes"], st["mode"], st["target"]), ("dir/file.bin", "file", len(data), "0644", None), "stat")
    ensure(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", st["modified"]), f"modified is {st['modified']}")
    got = d.request("GET", d.file(s, "/workspace/dir/file.bin"))
    same((got.status, got.body == data, got.headers["Content-Length"]), (200, True, str(len(data))), "the bytes")
    ensure(got.headers["ETag"] and got.headers["Last-Modified"] and got.headers["Accept-Ranges"] == "bytes", "headers", got)
    a = d.request("PUT", d.file(s, "dir/file.bin"), b"x")
    same((a.status, a.json()["bytes"], a.json()["mode"]), (200, 1, "0644"), "replaced")
    same(d.request("PUT", d.file(s, "run", mode="0755"), b"x").json()["mode"], "0755", "a mode")
    same(d.request("PUT", d.file(s, "run", mode="0700"), b"y").json()["mode"], "0700", "another mode")
    ensure(d.request("GET", d.file(s, "dir/file.bin")).headers["ETag"] != got.headers["ETag"], "the same ETag for other bytes")
    same(d.request("PUT", d.file(s, "empty"), b"").status, 201, "an empty file")
    same(d.request("GET", d.file(s, "empty")).body, b"", "an empty file")
    same(d.exec("sh", "cat dir/file.bin; stat -c %U:%a run; ls -A", s)["stdout"].split(), ["xuser:700", "dir", "empty", "run"], "seen from inside")
    parts = (b"chunk%d" % i for i in range(1000))
    c = d.connection()
    c.request("PUT", d.file(s, "chunked"), parts, {"Transfer-Encoding": "chunked"}, encode_chunked=True)
    r = c.getresponse()
    r.read()
    c.close()
    same(r.status, 201, "a body of unknown length")
    same(d.request("GET", d.file(s, "chunked")).body, b"".join(b"chunk%d" % i for i in range(1000)), "its bytes")


@test
def bad_file_requests_are_refused(d, s):
    d.put(s, "f", "x")
    base = f"/v1/sandboxes/{s}/files"
    for method in ("GET", "PUT", "DELETE"):
        d.refused("invalid_request", method, base, None, "path")
        d.refused("invalid_request", method, base + "?path=", None, "path")
        d.refused("invalid_request", method, d.file(s, "x" * 256), None, "path")
        d.refused("invalid_request", method, d.file(s, "x/" * 2100), None, "path")
        d.refused("not_found", method, d.file("sbx_" + "a" * 20, "f"))
    d.refused("not_found", "GET", d.file(s, "nothing"), None, "nothing")
    d.refused("not_found", "DELETE", d.file(s, "nothing"), None, "nothing")
    d.refused("not_found", "GET", d.file(s, "nothing", list=1), None, "nothing")
    d.refused("not_found", "PUT", d.file(s, "no/such/file", parents=0), b"x")
    d.refused("invalid_request", "GET", d.file(s, "f", list=1), None, "f")
    d.refused("invalid_request", "GET", d.file(s, "/workspace"), None, "directory")
    d.refused("invalid_request", "PUT", d.file(s, "/workspace"), b"x")
    d.refused("invalid_request", "PUT", d.file(s, "f/below"), b"x")
    for mode in ("999", "4755", "rw", "1", "07777"):
        d.refused("invalid_request", "PUT", d.file(s, "f", mode=mode), b"x", "mode")
    for path in ("/usr/bin/new", "/etc/passwd", "/proc/sys/kernel/hostname"):
        a = d.request("PUT", d.file(s, path), b"x")
        ensure(a.status in (400, 403), f"writing to {path}", a)
    for target, body in ((f"/v1/sandboxes/{s}/files/mkdir", {}), (f"/v1/sandboxes/{s}/files/stat", {"path": 7}),
                         (f"/v1/sandboxes/{s}/files/move", {"from": "f"}), (f"/v1/sandboxes/{s}/files/stat", {"path": "a\0b"}),
                         (f"/v1/sandboxes/{s}/files/mkdir", {"path": "a", "mode": 7})):  # fmt: skip
        d.refused("invalid_request", "POST", target, body)
    same(d.request("GET", d.file(s, "f")).body, b"x", "the file afterwards")


@test
def ranges_of_a_file_are_read():
    with Daemon() as d:
        s = d.sandbox()
        data = bytes(range(100))
        d.put(s, "f", data)
        for header, first, last in (("bytes=0-9", 0, 9), ("bytes=90-", 90, 99), ("bytes=-5", 95, 99), ("bytes=-500", 0, 99),
                                    ("bytes=50-500", 50, 99), ("bytes=99-99", 99, 99),
                                    (f"bytes=0-{2**64 - 1}", 0, 99), (f"bytes=1-{2**64 - 1}", 1, 99), (f"bytes=-{2**64 - 1}", 0, 99)):  # fmt: skip
            a = d.request("GET", d.file(s, "f"), headers={"Range": header})
            same((a.status, a.body), (206, data[first : last + 1]), header, a)
            same(a.headers["Content-Range"], f"bytes {first}-{last}/100", header, a)
        for header in ("bytes=100-", "bytes=100-200", "bytes=5000-"):
            a = d.refused("invalid_request", "GET", d.file(s, "f"), headers={"Range": header}, status=416)
            same(a.headers["Content-Range"], "bytes */100", header, a)
        for header in ("bytes=0-1,5-6", "lines=1-2", "bytes=9-1", "bytes=x-y", "bytes", "bytes=-0", f"bytes=0-{2**64}"):
            a = d.request("GET", d.file(s, "f"), headers={"Range": header})
            same((a.status, a.body), (200, data), header, a)
        d.put(s, "empty", b"")
        d.refused("invalid_request", "GET", d.file(s, "empty"), headers={"Range": "bytes=0-"}, status=416)
        d.refused("not_found", "GET", d.file(s, "none"), headers={"Range": "bytes=0-"})


@test
def list_stat_mkdir_move_delete(d, s):
    base = f"/v1/sandboxes/{s}/files"
    made = d.post(base + "/mkdir", {"path": "a/b/c"}, 201)
    same((made["type"], made["mode"]), ("directory", "0755"), "mkdir")
    d.post(base + "/mkdir", {"path": "a/b/c"}, 201)
    d.refused("invalid_request", "POST", base + "/mkdir", {"path": "a/b", "parents": False})
    d.refused("not_found", "POST", base + "/mkdir", {"path": "x/y", "parents": False})
    d.put(s, "a/file", "12345")
    d.exec("sh", "ln -s file a/link; mkfifo a/pipe; chmod 600 a/file", s)
    listed = d.get(d.file(s, "a", list=1))
    same((listed["path"], listed["truncated"]), ("a", False), "list")
    same([(e["name"], e["type"], e["mode"]) for e in listed["entries"]],
         [("b", "directory", "0755"), ("file", "file", "0600"), ("link", "symlink", "0777"), ("pipe", "other", listed["entries"][3]["mode"])], "entries")  # fmt: skip
    same(set(listed["entries"][0]), {"name", "type", "bytes", "mode", "modified"}, "fields of an entry")
    same(d.post(base + "/stat", {"path": "a/link"})["target"], "file", "stat of a link")
    same(d.post(base + "/stat", {"path": "/workspace/a/file"})["bytes"], 5, "stat")
    d.refused("not_found", "POST", base + "/stat", {"path": "none"}, "none")
    same(d.get(d.file(s, "/", list=1))["truncated"], False, "the root")
    moved = d.post(base + "/move", {"from": "a/file", "to": "a/b/moved"})
    same((moved["path"], moved["bytes"]), ("a/b/moved", 5), "move")
    d.refused("not_found", "POST", base + "/move", {"from": "a/file", "to": "x"})
    d.put(s, "other", "o")
    d.refused("invalid_request", "POST", base + "/move", {"from": "other", "to": "a/b/moved", "replace": False}, "already")
    d.post(base + "/move", {"from": "other", "to": "a/b/moved"})
    same(d.request("GET", d.file(s, "a/b/moved")).body, b"o", "moved over")
    d.post(base + "/move", {"from": "a", "to": "z"})
    d.refused("invalid_request", "DELETE", d.file(s, "z"), None, "recursive")
    d.delete(d.file(s, "z/link"))
    d.delete(d.file(s, "z/b/c"))
    d.delete(d.file(s, "z", recursive=1))
    same(d.get(d.file(s, "/workspace", list=1))["entries"], [], "what is left")
    a = d.request("DELETE", d.file(s, "/workspace", recursive=1))
    ensure(a.status in (204, 400, 403), "removing the workspace itself", a)
    d.put(s, "again", "x")


@test
def any_time_of_a_file_is_shown(d, s):
    code = "import os\n"
    times = {"now": 1763190000.25, "first": 0, "before": -1.5, "just_before": -0.001, "far": 2**34, "long_ago": -(2**31), "last": 2**63 - 1}
    for name, when in times.items():
        ns = int(when * 1000) * 10**6 if name != "last" else None
        code += f"open({name!r}, 'w').close()\n" + (f"os.utime({name!r}, ns=({ns}, {ns}))\n" if ns is not None else
            f"try: os.utime({name!r}, (2**62, 2**62))\nexcept OSError: pass\n")  # fmt: skip
    same(d.exec("python3", code, s)["exit_code"], 0, "setting the times")
    listed = {e["name"]: e["modified"] for e in d.get(d.file(s, "/workspace", list=1))["entries"]}
    same(set(listed), set(times), "names")
    for name, shown in listed.items():
        ensure(re.fullmatch(r"[12]\d{3}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d\.\d{3}Z", shown), f"{name} is of {shown}")
        same(d.request("GET", d.file(s, f"/workspace/{name}")).status, 200, f"reading {name}")
    same([listed[n] for n in ("first", "before", "just_before", "long_ago")],
         ["1970-01-01T00:00:00.000Z", "1969-12-31T23:59:58.500Z", "1969-12-31T23:59:59.999Z", "1901-12-13T20:45:52.000Z"], "times")  # fmt: skip
    same(listed["now"][-5:], ".250Z", "milliseconds")


@test
def errors_that_quote_invalid_utf8_have_a_message(d, s):
    for n in range(66, 74):
        a = d.refused("not_found", "GET", d.file(s, "/workspace/" + "x" * (n % 2) + "é" * n))
        ensure("/workspace/" in a.json()["error"]["message"], "the message", a)
    for target in ("/v1/runtimes?image=%ff", "/v1/sandboxes/%ff%fe", "/v1/executions/%c3", "/v1/executions?colour%ff=red", f"/v1/sandboxes/{s}/files?path=%ff"):
        a = d.request("GET", target)
        ensure(400 <= a.status < 500, "status", a)
        error = a.json()["error"]
        ensure(error["kind"] and error["message"], "words", a)


@test
def big_directories_are_cut(d, s):
    d.exec("python3", "import os\nos.mkdir('d')\nfor i in range(10050): open(f'd/{i:05}', 'w')", s)
    listed = d.get(d.file(s, "d", list=1))
    same((len(listed["entries"]), listed["truncated"]), (10000, True), "the list")
    d.delete(d.file(s, "d", recursive=1))


ODD = ["with space", "ünïcödé ☃", "per%cent%20", "a+b&c=d#e?f", "-rf", "new\nline", "quote\"'`$(x)", "\\back", "x" * 255, " ", "...", "tab\t", "\x01\x7f"]


@test
def files_may_have_odd_names(d, s):
    for name in ODD:
        d.put(s, name, name)
        same(d.request("GET", d.file(s, name)).body, name.encode(), repr(name))
        same(d.post(f"/v1/sandboxes/{s}/files/stat", {"path": name})["path"], name, "stat")
    same(sorted(e["name"] for e in d.get(d.file(s, "/workspace", list=1))["entries"]), sorted(ODD), "the list")
    inside = d.exec("python3", "import os; print(sorted(os.listdir('.')))", s)["stdout"]
    same(inside, f"{sorted(ODD)}\n", "seen from inside")
    # Invalid UTF-8 is accepted in the query, and becomes U+FFFD in JSON.
    raw = f"/v1/sandboxes/{s}/files?path=%ff%fe"
    a = d.request("PUT", raw, b"raw")
    ensure(a.status == 201, "a name that is no UTF-8", a)
    same(d.request("GET", raw).body, b"raw", "its bytes")
    same(d.exec("python3", "import os; print(os.path.exists(b'\\xff\\xfe'))", s)["stdout"], "True\n", "inside")
    ensure("\ufffd\ufffd" in [e["name"] for e in d.get(d.file(s, ".", list=1))["entries"]], "the list shows it")
    same(d.request("DELETE", raw).status, 204, "its end")
    for name in ODD:
        d.delete(d.file(s, name))
    a = d.request("GET", f"/v1/sandboxes/{s}/files?path=a%00b")
    ensure(a.status == 400, "NUL in a path", a)


@test
def links_and_dots_stay_inside(d):
    secret = support.write(support.here("secret"), "host secret", 0o644)
    s = d.sandbox()
    d.exec("sh", f"""
ln -s /etc/passwd passwd; ln -s {secret} abs; ln -s ../../../../../../../..{secret} rel; ln -s / root; ln -s loop loop
ln -s /proc/1/root{secret} proc; mkdir -p d; ln -s .. d/up""", s)
    for path in ("abs", "rel", "proc", f"root{secret}", secret, "../../../../../../.." + secret, f"d/up/../..{secret}",
                 f"/proc/1/root{secret}", f"/proc/self/root{secret}", f"/proc/self/cwd/../../../..{secret}"):  # fmt: skip
        for a in (d.request("GET", d.file(s, path)), d.request("PUT", d.file(s, path, parents=0), b"hacked"),
                  d.request("DELETE", d.file(s, path)), d.request("GET", path_of(d, s, "archive", path=path))):  # fmt: skip
            ensure(b"host secret" not in a.body, f"{path} shows the host's file", a)
    same(support.read(secret), "host secret", "the host's file")
    # /etc/passwd is the sandbox's own.
    ensure(d.request("GET", d.file(s, "passwd")).body == d.exec("sh", "cat /etc/passwd", s)["stdout"].encode(), "another passwd")
    with open("/etc/passwd", "rb") as f:
        host = f.read()
    ensure(d.request("GET", d.file(s, "/etc/passwd")).body != host, "the host's passwd")
    a = d.request("GET", d.file(s, "loop"))
    ensure(a.status in (400, 404), "a link to itself", a)
    # A link that is written to is replaced, or what it points at is written: nothing outside /workspace changes.
    d.request("PUT", d.file(s, "passwd"), b"new")
    same(d.exec("sh", "grep -c new /etc/passwd", s)["stdout"], "0\n", "the sandbox's passwd")


CLIMBING = ("..", "../x", "../workspace/x", "./../x", "a/../../x", "a//..//../x", "a/b/../../../tmp/x", "/..", "/../x", "/tmp/../../x")
STAYING = ("a/../x", "./x", "a/b/../../x", "..x", "...", "a/..b", "/tmp/../tmp/x", "/workspace/../tmp/x")


@test
def dots_that_leave_the_workspace_are_refused(d):
    s = d.sandbox()
    d.exec("sh", "mkdir -p a/b; echo kept > /tmp/x", s)
    for path in CLIMBING:
        for method, url in (("GET", d.file(s, path)), ("GET", d.file(s, path, list=1)), ("PUT", d.file(s, path)), ("DELETE", d.file(s, path)),
                            ("GET", path_of(d, s, "archive", path=path)), ("PUT", path_of(d, s, "archive", path=path))):  # fmt: skip
            a = d.request(method, url, b"new" if method == "PUT" else None)
            same((a.status, a.json()["error"]["kind"]), (400, "invalid_request"), f"{method} {path}", a)
            ensure("path" in a.json()["error"]["message"], "the field", a)
        for route, body in (("mkdir", {"path": path}), ("stat", {"path": path}), ("move", {"from": path, "to": "y"}), ("move", {"from": "a", "to": path})):
            d.refused("invalid_request", "POST", f"/v1/sandboxes/{s}/files/{route}", body, next(k for k, v in body.items() if v == path))
        for where in ("/v1/exec", f"/v1/sandboxes/{s}/exec"):
            d.refused("invalid_request", "POST", where, {"runtime": "sh", "code": "echo ran > /tmp/x", "files": {path: "new"}}, "files")
            d.refused("invalid_request", "POST", where, {"runtime": "sh", "code": "echo ran > /tmp/x", "cwd": path}, "cwd")
        for tool, more in (("read_file", {"path": path}), ("write_file", {"path": path, "content": "new"}), ("list_files", {"path": path})):
            d.refused("invalid_request", "POST", f"/v1/tools/{tool}", {"sandbox": s, **more}, "path")
        for tool, more in (("execute_shell", {"command": "true"}), ("execute_python", {"code": "1"})):
            d.refused("invalid_request", "POST", f"/v1/tools/{tool}", {**more, "files": {path: "new"}}, "files")
    same(d.exec("sh", "cat /tmp/x; ls /workspace", s)["stdout"], "kept\na\n", "what is there")
    for path in STAYING:
        same(d.request("PUT", d.file(s, path), b"new").status in (200, 201), True, path)
        same(d.request("GET", d.file(s, path)).body, b"new", path)


@test
def a_link_that_is_swapped_all_the_time_never_leads_outside(d):
    secret = support.write(support.here("secret"), "host secret", 0o644)
    s = d.sandbox()
    d.exec("sh", "mkdir real; echo inside > real/secret", s)
    p = d.post(f"/v1/sandboxes/{s}/processes", {"runtime": "python3", "code": f"""
import os
while True:
    os.symlink({os.path.dirname(secret)!r}, 't'); os.rename('t', 'x')
    os.symlink('real', 't'); os.rename('t', 'x')
"""}, 201)  # fmt: skip
    until(lambda: d.request("GET", d.file(s, "x/secret")).status == 200, 20, "the link")
    for i in range(60):
        a = d.request("GET", d.file(s, "x/secret"))
        ensure(a.status == 404 or a.body == b"inside\n", "what is behind the link", a)
        d.request("PUT", d.file(s, "x/other", parents=0), b"hacked")
    same(support.read(secret), "host secret", "the host's file")
    ensure(not os.path.exists(support.here("other")), "a file was made on the host")
    d.delete(f"/v1/sandboxes/{s}/processes/{p['pid']}")


@test
def fifos_and_devices_do_not_hang(d, s):
    d.exec("sh", "mkfifo pipe", s)
    for path in ("pipe", "/dev/zero", "/dev/null", "/dev/tty", "/dev/random"):
        a = d.request("GET", d.file(s, path), timeout=20)
        ensure(a.status in (400, 403, 404), f"reading {path}", a)
        a = d.request("GET", d.file(s, path), headers={"Range": "bytes=0-5"}, timeout=20)
        ensure(a.status in (400, 403, 404, 416), f"reading a range of {path}", a)
    a = d.request("GET", path_of(d, s, "archive", path="."), timeout=20)
    same(a.status, 200, "an archive with a pipe in it", a)
    a = d.request("PUT", d.file(s, "pipe"), b"x", timeout=20)
    ensure(a.status in (200, 201, 400), "writing over a pipe", a)


@test
def a_reader_never_sees_half_a_file(d, s):
    a, b = b"a" * 300000, b"b" * 200000
    d.put(s, "f", a)
    stop, wrong, reads = threading.Event(), [], []

    def reader():
        while not stop.is_set():
            got = d.request("GET", d.file(s, "f")).body
            reads.append(1)
            if got not in (a, b):
                wrong.append((len(got), got[:1]))

    inside = d.post(f"/v1/sandboxes/{s}/processes", {"runtime": "python3", "code": """
n = 0
while True:
    x = open('f', 'rb').read()
    n += 1
    if x not in (b'a' * 300000, b'b' * 200000): print('half:', len(x), flush=True)
"""}, 201)  # fmt: skip
    t = threading.Thread(target=reader)
    t.start()
    for i in range(25):
        d.put(s, "f", b if i % 2 == 0 else a)
    stop.set()
    t.join()
    same(wrong, [], "what a reader outside saw")
    out = d.get(f"/v1/sandboxes/{s}/processes/{inside['pid']}/output")
    same((out["stdout"], out["stderr"]), ("", ""), "what a reader inside saw")
    # An upload that is cut off changes nothing.
    with d.socket() as c:
        c.sendall(f"PUT {d.file(s, 'f')} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n".encode() + b"c" * 1000)
        time.sleep(0.3)
    with d.socket() as c:
        c.sendall(f"PUT {d.file(s, 'fresh')} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n".encode() + b"c" * 1000)
        time.sleep(0.3)
    ensure(d.request("GET", d.file(s, "f")).body in (a, b), "half a file took the place of the whole one")
    until(lambda: [e["name"] for e in d.get(d.file(s, "/workspace", list=1))["entries"]] == ["f"], 20, "a clean directory")


@test
def a_file_beyond_the_disk_limit_is_refused_with_413(d):
    s = d.sandbox(limits={"disk_bytes": 1 << 20})
    d.put(s, "old", "old")
    d.refused("too_large", "PUT", d.file(s, "big"), b"x" * (3 << 20))
    d.refused("too_large", "PUT", d.file(s, "old"), b"x" * (3 << 20))
    same(d.request("GET", d.file(s, "old")).body, b"old", "the old one")
    same([e["name"] for e in d.get(d.file(s, ".", list=1))["entries"]], ["old"], "what is left")
    d.put(s, "fits", b"x" * 500000)
    a = d.request("POST", "/v1/exec", {"runtime": "sh", "code": "x", "files": {"f": "x" * (2 << 20)}, "limits": {"disk_bytes": 1 << 20}})
    same((a.status, a.json()["error"]["kind"]), (413, "too_large"), "files of an execution", a)


@test
def an_archive_of_a_directory_unpacks_to_the_same_files(d):
    a, b = d.sandbox(), d.sandbox()
    long = "/".join(["x" * 100] * 4) + "/file"
    d.exec("sh", f"mkdir -p 'd/sub dir' d/{os.path.dirname(long)}; echo one > 'd/sub dir/ü'; echo deep > d/{long}; ln -s 'sub dir/ü' d/link; ln -s /etc/passwd d/out; chmod 750 'd/sub dir'; : > d/empty; mkdir d/none; head -c 300000 /dev/urandom > d/random; sha256sum d/random", a)
    tar = d.request("GET", path_of(d, a, "archive", path="d"))
    same((tar.status, tar.headers["Content-Type"]), (200, "application/x-tar"), "the archive")
    with tarfile.open(fileobj=io.BytesIO(tar.body)) as t:
        names = {m.name.removeprefix("./").rstrip("/"): m for m in t.getmembers()}
    ensure({"sub dir/ü", "link", "empty", "none", long} <= set(names), f"members are {list(names)}")
    ensure(names["link"].issym() and names["none"].isdir() and names["empty"].size == 0, "kinds of members")
    same(d.ok("PUT", path_of(d, b, "archive", path="copy"), tar.body), {"path": "copy"}, "unpacking")
    check = "cd %s; find . | sort; cat link; sha256sum random; readlink out; stat -c %%a 'sub dir'"
    same(d.exec("sh", check % "copy", b)["stdout"], d.exec("sh", check % "d", a)["stdout"], "the copy")
    d.refused("not_found", "GET", path_of(d, a, "archive", path="nothing"))
    d.refused("invalid_request", "GET", path_of(d, a, "archive"), None, "path")
    same(d.request("GET", path_of(d, a, "archive", path="d/none")).status, 200, "an empty directory")


def tar_of(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as t:
        for name, kind, data in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                info.linkname = data
                t.addfile(info)
            else:
                info.size = len(data)
                t.addfile(info, io.BytesIO(data))
    return out.getvalue()


@test
def hostile_archives_stay_where_they_belong(d, s):
    target = path_of(d, s, "archive", path="in")
    for name, kind, data in (("../evil", tarfile.REGTYPE, b"x"), ("/workspace/evil", tarfile.REGTYPE, b"x"), ("a/../../evil", tarfile.REGTYPE, b"x"),
                             ("dev", tarfile.CHRTYPE, b""), ("fifo", tarfile.FIFOTYPE, b""), ("hard", tarfile.LNKTYPE, "/etc/passwd")):  # fmt: skip
        a = d.request("PUT", target, tar_of((name, kind, data)))
        ensure(a.status < 500, f"unpacking {name}", a)
        listed = [e["name"] for e in d.get(d.file(s, "/workspace", list=1))["entries"]]
        ensure("evil" not in listed, f"{name} went outside")
    d.request("PUT", target, tar_of(("up", tarfile.SYMTYPE, ".."), ("up/evil", tarfile.REGTYPE, b"x")))
    ensure("evil" not in [e["name"] for e in d.get(d.file(s, "/workspace", list=1))["entries"]], "through a link it went outside")
    for body in (b"no tar at all" * 100, b"", tar_of(("f", tarfile.REGTYPE, b"x" * 5000))[:1000], b"\0" * 100, os.urandom(4096)):
        a = d.request("PUT", target, body)
        ensure(a.status in (200, 400), "what is no archive", a)
    small = d.sandbox(limits={"disk_bytes": 1 << 20})
    d.refused("too_large", "PUT", path_of(d, small, "archive", path="."), tar_of(("big", tarfile.REGTYPE, b"x" * (3 << 20))))
    same(d.exec("sh", "echo fine", s)["stdout"], "fine\n", "afterwards")


@test
def changes_come_as_events(d, s):
    d.exec("sh", "mkdir -p w/sub", s)
    with d.events("GET", d.file(s, "w", watch=1, recursive=1)) as e:
        e.wait("start")
        time.sleep(0.3)
        d.exec("sh", "echo x > w/new; echo y >> w/new; mv w/new w/named; mkdir w/dir; echo z > w/sub/deep; rm w/named", s)
        seen = {}
        for name, data in e:
            seen.setdefault(data["path"].removeprefix("/workspace/w/").removeprefix("w/"), []).append((name, data["type"]))
            if name == "removed" and "named" in data["path"]:
                break
    ensure(("created", "file") in seen["new"], f"events are {seen}")
    ensure(any(n == "modified" for n, _ in seen["new"]), f"events are {seen}")
    ensure(("created", "directory") in seen["dir"], f"events are {seen}")
    ensure("sub/deep" in seen, f"events are {seen}")
    ensure(any("moved" == n for v in seen.values() for n, _ in v) or ("created", "file") in seen["named"], f"events are {seen}")
    d.refused("not_found", "GET", d.file(s, "nothing", watch=1))
    with d.events("GET", d.file(s, "w", watch=1)) as e:
        e.wait("start")
        d.delete(f"/v1/sandboxes/{s}")
        for _ in e:  # it ends
            pass


@test
def a_file_request_wakes_a_stopped_session(d):
    s = d.exec("sh", "echo x > f", session="s")["sandbox"]
    d.restart()
    same(d.get(f"/v1/sandboxes/{s}")["state"], "stopped", "state")
    same(d.request("GET", d.file(s, "f")).body, b"x\n", "the file")
    same(d.get(f"/v1/sandboxes/{s}")["state"], "running", "state")


@test(timeout=60)
def a_large_file_streams():
    not_sanitized()
    with Daemon({"limits": {"disk_bytes": 256 << 20}}) as d:
        s = d.sandbox()
        block = os.urandom(1 << 20)

        def blocks():
            for _ in range(64):
                yield block

        server = d.server_pid()
        c = d.connection()
        c.request("PUT", d.file(s, "large"), blocks(), {"Content-Length": str(64 << 20)})
        same(c.getresponse().read() and 1, 1, "an answer")
        c.close()
        c = d.connection()
        c.request("GET", d.file(s, "large"))
        r = c.getresponse()
        for i in range(64):
            ensure(r.read(1 << 20) == block, f"block {i} is another")
        same(r.read(), b"", "the rest")
        c.close()
        rss = int(re.search(r"VmHWM:\s+(\d+) kB", support.read(f"/proc/{server}/status"))[1])
        ensure(rss < 48 << 10, f"the server took {rss >> 10} MiB for it")
