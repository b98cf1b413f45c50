"""Directories of the host that the settings offer by name: their targets, and refused requests."""

import json
import os

import support
from mcp import Http
from support import cella, same, test

RO, RW = {"name": "data", "target": "/data"}, {"name": "out", "target": "/srv/out"}


def offer(d, **more):
    """Two directories of the host: data, to read; out, to read and write."""
    data, out = support.here("data"), support.here("out")
    for path in (data, out):
        os.mkdir(path, 0o755)
    support.write(os.path.join(data, "file"), "host\n")
    d.ok("PATCH", "/v1/settings", {"mounts": [{"name": "data", "path": data}, {"name": "out", "path": out, "mode": "rw"}], **more})
    return data, out


@test
def a_request_gets_the_mounts_that_it_names(d):
    data, out = offer(d)
    same([m["mode"] for m in d.get("/v1/settings")["mounts"]], ["ro", "rw"], "modes in the settings")
    code = "cat /data/file; echo no > /data/file; echo no > /data/new; echo made > /srv/out/file; pwd"
    r = d.exec("sh", code, mounts=[RO, RW])
    same((r["stdout"], r["stderr"].count("Read-only file system")), ("host\n/workspace\n", 2), "the result", r)
    same((support.read(os.path.join(data, "file")), os.listdir(data)), ("host\n", ["file"]), "data on the host")
    path = os.path.join(out, "file")
    same((support.read(path), os.stat(path).st_uid), ("made\n", os.getuid()), "out on the host")
    r = d.exec("sh", "cat /srv/out/file; echo no > /srv/out/file", mounts=[{**RW, "mode": "ro"}])
    same((r["stdout"], "Read-only file system" in r["stderr"]), ("made\n", True), "a narrower mode", r)
    same(d.exec("sh", "ls -d /data /srv/out")["stdout"], "", "without mounts")
    r = d.exec("python3", "print(open('/data/file').read(), end='')", mounts=[RO])
    same(r["stdout"], "host\n", "an interpreter, which no pool has with mounts")


@test
def a_sandbox_keeps_its_mounts(d):
    data, _ = offer(d)
    made = d.post("/v1/sandboxes", {"mounts": [RO, {**RW, "mode": "ro"}], "ttl_ms": 3600000}, 201)
    same(made["mounts"], [{**RO, "mode": "ro"}, {**RW, "mode": "ro"}], "mounts of the sandbox")
    same(d.exec("sh", "cat /data/file", made["id"])["stdout"], "host\n", "the file")
    d.refused("invalid_request", "POST", f"/v1/sandboxes/{made['id']}/exec", {"runtime": "sh", "code": "x", "mounts": [RO]}, "mounts")
    same(d.exec("sh", "cat /data/file", session="s", mounts=[RO])["stdout"], "host\n", "a session")
    same(d.exec("sh", "cat /data/file", session="s")["stdout"], "host\n", "its next execution")
    d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "x", "session": "s", "mounts": [RO, RW]}, "mounts")
    d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "x", "session": "s", "mounts": []}, "mounts")
    d.restart()
    same(d.get(f"/v1/sandboxes/{made['id']}")["mounts"], made["mounts"], "mounts after a restart")
    same(d.exec("sh", "cat /data/file", made["id"])["stdout"], "host\n", "the file after a restart")
    d.restart()
    d.ok("PATCH", "/v1/settings", {"mounts": []})
    d.refused("not_found", "POST", f"/v1/sandboxes/{made['id']}/exec", {"runtime": "sh", "code": "x"}, "data")
    same(os.listdir(data), ["file"], "data on the host")


@test
def mounts_that_are_not_offered_are_refused(d):
    data, out = offer(d)
    before = len(d.rows())
    for mounts, kind, parts in (
        ([{"name": "other", "target": "/data"}], "not_found", "other"),
        ([{**RO, "mode": "rw"}], "access_denied", ["data", "rw"]),
        ([{"target": "/data"}], "invalid_request", "mounts[0].name"),
        ([{"name": "data"}], "invalid_request", "mounts[0].target"),
        ([{**RO, "mode": "rwx"}], "invalid_request", "mounts[0].mode"),
        ([{**RO, "path": "/etc"}], "invalid_request", "path"),
        ([{"name": "../data", "target": "/data"}], "invalid_request", "mounts[0].name"),
        ([RO, {**RO, "target": "/data/x"}], "invalid_request", "mounts[1].target"),
        ([RO, RO], "invalid_request", "mounts[1].target"),
        ([RO] * 9, "invalid_request", "mounts"),
        ({"data": "/data"}, "invalid_request", "mounts"), ("data", "invalid_request", "mounts"),
        *(([{"name": "data", "target": t}], "invalid_request", "mounts[0].target")
          for t in ("data", "/", "/etc", "/etc/x", "/usr/x", "/lib64", "/proc", "/dev/x", "/workspace", "/workspace/x", "/a/../etc", "/a//b", "/a/.", "/a\nb", "/a\0b", "/" + "x" * 300, 7)),
    ):  # fmt: skip
        for target in ("/v1/exec", "/v1/sandboxes"):
            body = {"mounts": mounts, **({"runtime": "sh", "code": "touch /srv/out/ran"} if target == "/v1/exec" else {})}
            d.refused(kind, "POST", target, body, parts)
    same((len(d.rows()), d.get("/v1/sandboxes"), os.listdir(out)), (before, {"sandboxes": []}, []), "what ran")


@test
def settings_of_mounts_that_cannot_be(d):
    data, out = offer(d)
    before = d.get("/v1/settings")
    for mounts, parts in (
        ([{"name": "a"}], "mounts[0].path"), ([{"path": "/srv/a"}], "mounts[0].name"), ("x", "mounts"),
        ([{"name": "a/b", "path": "/srv/a"}], "mounts[0].name"), ([{"name": ".a", "path": "/srv/a"}], "mounts[0].name"),
        ([{"name": "a", "path": "/srv/a", "mode": "none"}], "mounts[0].mode"),
        *(([{"name": "a", "path": p}], "mounts[0].path") for p in ("srv", "/", "/etc", "/etc/ssl", "/var", "/proc/self", "/srv/../etc", "/srv/", "/srv//a", "", 7, "/x\0y")),
        ([{"name": "a", "path": "/srv/a"}, {"name": "a", "path": "/srv/b"}], "mounts[1].name"),
        ([{"name": "a", "path": "/srv/a", "mode": "rw"}, {"name": "b", "path": "/srv/a/b"}], "mounts[1].path"),
        ([{"name": "a", "path": "/srv/a/b"}, {"name": "b", "path": "/srv/a", "mode": "rw"}], "mounts[1].path"),
    ):  # fmt: skip
        d.refused("invalid_request", "PATCH", "/v1/settings", {"mounts": mounts}, parts)
    d.refused("invalid_request", "PATCH", "/v1/settings", {"workspace_root": os.path.dirname(data)}, "workspace_root")
    same(d.get("/v1/settings"), before, "the settings afterwards")
    d.ok("PATCH", "/v1/settings", {"mounts": [{"name": "a", "path": "/srv/a"}, {"name": "b", "path": "/srv/a/b"}]})


@test
def the_keeper_refuses_what_the_system_needs(d):
    """The state directory and files that are not directories are never shown, whatever the settings say."""
    file, gone = support.here("file"), support.here("gone")
    support.write(file, "x")
    for path, kind in ((d.state, "access_denied"), (os.path.dirname(d.state), "access_denied"), (d.state + "/workspaces", "access_denied"),
                       (d.state + "-docker", "not_found"), (gone, "not_found"), (file, "not_found")):  # fmt: skip
        d.ok("PATCH", "/v1/settings", {"mounts": [{"name": "x", "path": path}]})
        d.refused(kind, "POST", "/v1/exec", {"runtime": "sh", "code": "ls /data", "mounts": [{"name": "x", "target": "/data"}]})


@test
def code_cannot_choose_what_a_mount_shows(d):
    """A link leads into a directory that code can write to.  What the code puts there is not mounted."""
    _, out = offer(d)
    alias, secret = support.here("alias"), support.here("secret")
    os.mkdir(secret)
    support.write(os.path.join(secret, "file"), "secret\n")
    os.symlink(out, alias)
    paths = {"out": out, "in_out": alias + "/sub", "link": alias}
    d.ok("PATCH", "/v1/settings", {"mounts": [{"name": name, "path": path, "mode": "rw" if name == "out" else "ro"} for name, path in paths.items()]})
    for what in ("mkdir /srv/out/sub", f"rmdir /srv/out/sub; ln -s {secret} /srv/out/sub"):
        same(d.exec("sh", what, mounts=[RW])["exit_code"], 0, what)
        for name in ("in_out", "link"):
            d.refused("access_denied", "POST", "/v1/exec", {"runtime": "sh", "code": "cat /data/file", "mounts": [{"name": name, "target": "/data"}]}, "symbolic link")


@test
def a_mount_that_vanishes_ends_nothing(d):
    data, _ = offer(d)
    s = d.post("/v1/sandboxes", {"mounts": [RO], "ttl_ms": 3600000}, 201)["id"]
    d.exec("sh", "echo kept > file", s)
    os.rename(data, data + ".away")
    same(d.exec("sh", "cat /data/file file", s)["stdout"], "host\nkept\n", "the sandbox that runs")
    d.restart()
    for _ in range(2):
        d.refused("not_found", "POST", f"/v1/sandboxes/{s}/exec", {"runtime": "sh", "code": "cat file"}, data)
    same(d.get(f"/v1/sandboxes/{s}")["state"], "stopped", "its state")
    os.rename(data + ".away", data)
    same(d.exec("sh", "cat /data/file file", s)["stdout"], "host\nkept\n", "when it is there again")


@test
def a_narrower_setting_holds_for_the_next_start(d):
    _, out = offer(d)
    s = d.post("/v1/sandboxes", {"mounts": [RW], "ttl_ms": 3600000}, 201)["id"]
    d.exec("sh", "echo kept > file", s)
    d.ok("PATCH", "/v1/settings", {"mounts": [{"name": "out", "path": out}]})
    d.restart()
    d.refused("access_denied", "POST", f"/v1/sandboxes/{s}/exec", {"runtime": "sh", "code": "echo no > /srv/out/no"}, "out")
    same(os.listdir(out), [], "what it wrote")
    d.ok("PATCH", "/v1/settings", {"mounts": [{"name": "out", "path": out, "mode": "rw"}]})
    same(d.exec("sh", "cat file", s)["stdout"], "kept\n", "its files")


@test
def hostile_files_in_a_mount_lead_nowhere(d):
    _, out = offer(d)
    d.exec("sh", "ln -s /etc/passwd /srv/out/link; ln -s / /srv/out/root", mounts=[RW])
    r = d.exec("sh", "cat /srv/out/root/etc/shadow /srv/out/root" + support.here("secret"), mounts=[RW])
    same(r["stdout"], "", "what a link shows")
    r = d.exec("sh", "touch /srv/out/s; chmod 4755 /srv/out/s; grep -c ' /srv/out .*nosuid.*nodev' /proc/self/mountinfo", mounts=[RW])
    same(r["stdout"], "1\n", "options of the mount", r)


@test
def tools_have_mounts_too(d):
    offer(d)
    r = d.post("/v1/tools/execute_shell", {"command": "cat /data/file", "mounts": [RO]})
    same(r["stdout"], "host\n", "execute_shell", r)
    r = d.post("/v1/tools/execute_python", {"code": "print(open('/data/file').read(), end='')", "mounts": [RO]})
    same(r["stdout"], "host\n", "execute_python", r)
    r = Http(d).tool("execute_shell", command="cat /data/file", mounts=[RO])
    same(r["structuredContent"]["stdout"], "host\n", "execute_shell over MCP", r)
    d.refused("not_found", "POST", "/v1/tools/execute_python", {"code": "1", "mounts": [{"name": "x", "target": "/x"}]}, "x")
    d.refused("invalid_request", "POST", "/v1/tools/execute_shell", {"command": "true", "mounts": [{"name": "data", "target": "/etc"}]}, "mounts[0].target")


@test
def the_command_line_has_mounts_too(d):
    _, out = offer(d)
    env = {**os.environ, "CELLA_SOCKET": d.unix}
    r = cella(["exec", "--mount", "data:/data", "--mount", "out:/o:rw", "-", "sh", "-c", "cp /data/file /o/copy; cat /o/copy"], env=env)
    same((r.rc, r.out, support.read(os.path.join(out, "copy"))), (0, "host\n", "host\n"), "cella exec", r)
    id_ = cella(["create", "--mount", "data:/data:ro"], env=env).out.strip()
    same(json.loads(cella(["ls", "--json"], env=env).out)["sandboxes"][0]["mounts"], [{**RO, "mode": "ro"}], "cella create")
    same(cella(["exec", id_, "--", "cat", "/data/file"], env=env).out, "host\n", "cella exec SBX")
    for words in (["--mount", "data"], ["--mount", ":/data"], ["--mount", "data:data"], ["--mount", "data:/data:x"]):
        same(cella(["create", *words], env=env).rc, 2, f"exit status of {words}")


@test(settings={"mode": "selective"})
def a_request_with_mounts_runs_in_a_sandbox(d):
    offer(d)
    r = d.exec("python3", "print(open('/data/file').read(), end='')", mounts=[RO])
    same((r["stdout"], r["isolation"]["engine"], "mount" in r["isolation"]["layers"]), ("host\n", "native", True), "selective", r)
    d.ok("PATCH", "/v1/settings", {"mode": "off"})
    d.refused("invalid_request", "POST", "/v1/exec", {"runtime": "sh", "code": "true", "mounts": [RO]}, "mounts")
