"""Names of sandboxes, and PATCH /v1/sandboxes/{id}: name, time to live, labels."""

import os
import sqlite3

import support
from daemon import Daemon
from support import ensure, same, test

MANAGE = ["sandbox.exec", "sandbox.manage", "files"]


def patch(d, sandbox, **fields):
    return d.ok("PATCH", f"/v1/sandboxes/{sandbox}", fields)


@test
def a_name_is_used_instead_of_the_id_in_every_path(d):
    s = d.post("/v1/sandboxes", {"name": "Build-17.a_b"}, 201)
    same(s["name"], "Build-17.a_b", "name of a new sandbox")
    same(d.get("/v1/sandboxes")["sandboxes"][0]["name"], "Build-17.a_b", "in the list")
    same(d.get("/v1/sandboxes/Build-17.a_b")["id"], s["id"], "by name")
    result = d.exec("sh", "echo $((6*7)) > a; cat a", "Build-17.a_b")
    same((result["stdout"], result["sandbox"]), ("42\n", s["id"]), "an execution")
    same([e["id"] for e in d.get("/v1/executions?sandbox=Build-17.a_b")["executions"]], [result["id"]], "its executions")
    same(d.get("/v1/executions?sandbox=Build-17.a")["executions"], [], "executions of a sandbox that does not exist")
    same(d.request("GET", d.file("Build-17.a_b", "a")).body, b"42\n", "a file")
    d.put("Build-17.a_b", "b", "text")
    same(d.exec("sh", "cat b", s["id"])["stdout"], "text", "a file that was written")
    p = d.post("/v1/sandboxes/Build-17.a_b/processes", {"command": ["sleep", "1000"]}, 201)
    same(d.get("/v1/sandboxes/Build-17.a_b/processes")["processes"][0]["pid"], p["pid"], "a process")
    d.delete("/v1/sandboxes/Build-17.a_b")
    d.refused("not_found", "GET", "/v1/sandboxes/Build-17.a_b")


@test
def a_sandbox_without_a_name_has_null(d):
    same(d.post("/v1/sandboxes", {}, 201)["name"], None, "name")
    d.refused("not_found", "GET", "/v1/sandboxes/null", None, "no sandbox 'null'")


@test
def bad_names_are_refused_and_the_field_is_named(d):
    s = d.sandbox()
    for bad in ("", "a" * 65, "a b", "a/b", "ä", "-a", ".", "..", "_x", "sbx_abc", "a\n", "a\0b", 7, ["a"]):
        d.refused("invalid_request", "POST", "/v1/sandboxes", {"name": bad}, "name")
        d.refused("invalid_request", "PATCH", f"/v1/sandboxes/{s}", {"name": bad}, "name")
    d.refused("invalid_request", "POST", "/v1/sandboxes", {"name": None}, "name")
    same(len(d.get("/v1/sandboxes")["sandboxes"]), 1, "sandboxes that were made")
    same(d.post("/v1/sandboxes", {"name": "a" * 64}, 201)["name"], "a" * 64, "the longest name")


@test
def a_name_is_unique_for_its_key(d):
    a, b = d.sandbox(name="one"), d.sandbox(name="two")
    d.refused("invalid_request", "POST", "/v1/sandboxes", {"name": "one"}, ("name", a))
    d.refused("invalid_request", "PATCH", f"/v1/sandboxes/{b}", {"name": "one"}, ("name", a))
    same(patch(d, a, name="one")["name"], "one", "the name that it has")
    d.delete("/v1/sandboxes/one")
    same(patch(d, b, name="one")["name"], "one", "a name that is free again")
    same(d.get("/v1/sandboxes/one")["id"], b, "by its new name")
    d.refused("not_found", "GET", "/v1/sandboxes/two")


@test
def a_name_never_finds_a_sandbox_of_another_key(d):
    a, b = d.new_key("a", capabilities=MANAGE)["key"], d.new_key("b", capabilities=MANAGE)["key"]
    of_a = d.sandbox(key=a, name="work")
    d.refused("not_found", "GET", "/v1/sandboxes/work", key=b)
    d.refused("not_found", "DELETE", "/v1/sandboxes/work", key=b)
    d.refused("not_found", "PATCH", "/v1/sandboxes/work", {"ttl_ms": 1000}, key=b)
    of_b = d.sandbox(key=b, name="work")
    same((d.get("/v1/sandboxes/work", key=a)["id"], d.get("/v1/sandboxes/work", key=b)["id"]), (of_a, of_b), "by each key")
    same(d.exec("sh", "true", "work", key=b)["sandbox"], of_b, "an execution")
    # The owner sees all sandboxes by their ids, but the names are those of the keys.
    d.refused("not_found", "GET", "/v1/sandboxes/work", unix=True)
    same(d.get(f"/v1/sandboxes/{of_a}", unix=True)["name"], "work", "by its id")
    own = d.post("/v1/sandboxes", {"name": "work"}, 201, unix=True)["id"]
    d.delete("/v1/sandboxes/work", unix=True)
    d.refused("not_found", "GET", f"/v1/sandboxes/{own}", unix=True)
    same({d.get("/v1/sandboxes/work", key=k)["id"] for k in (a, b)}, {of_a, of_b}, "those of the keys")
    # The owner names a sandbox of a key: in the names of that key.
    d.refused("invalid_request", "PATCH", f"/v1/sandboxes/{d.sandbox(key=a)}", {"name": "work"}, ("name", of_a), unix=True)


@test
def patch_changes_name_labels_and_time_to_live(d):
    s = d.post("/v1/sandboxes", {"metadata": {"a": "1", "b": "2"}, "ttl_ms": 3600000}, 201)
    r = patch(d, s["id"], name="new", metadata={"a": None, "c": "3"}, ttl_ms=7200000)
    same((r["id"], r["name"], r["metadata"], r["ttl_ms"]), (s["id"], "new", {"b": "2", "c": "3"}, 7200000), "after the change")
    ensure(r["expires"] > s["expires"], "it ends later", r)
    same(len(d.get("/v1/sandboxes?metadata.c=3")["sandboxes"]), 1, "found by its new label")
    r = patch(d, "new", ttl_ms=None, name="newer")
    same((r["expires"], r["ttl_ms"], r["name"]), (None, None, "newer"), "without an end")
    d.restart()
    r = d.get("/v1/sandboxes/newer")
    same((r["id"], r["metadata"], r["ttl_ms"]), (s["id"], {"b": "2", "c": "3"}, None), "after a restart")
    same(patch(d, "newer", name=None)["name"], None, "without a name")
    d.refused("not_found", "GET", "/v1/sandboxes/newer")


@test
def limits_and_a_name_are_changed_together_or_not_at_all(d):
    s = d.sandbox(name="first", limits={"timeout_ms": 1000})
    r = patch(d, "first", name="second", limits={"timeout_ms": 2000})
    same((r["name"], r["limits"]["timeout_ms"]), ("second", 2000), "both")
    d.refused("invalid_request", "PATCH", f"/v1/sandboxes/{s}", {"name": "third", "limits": {"disk_bytes": 1 << 20}}, "disk_bytes")
    d.refused("invalid_request", "PATCH", f"/v1/sandboxes/{s}", {"name": "not valid", "limits": {"timeout_ms": 3000}}, "name")
    r = d.get(f"/v1/sandboxes/{s}")
    same((r["name"], r["limits"]["timeout_ms"]), ("second", 2000), "after two refused changes")


@test
def refused_changes_name_the_field(d):
    s = d.sandbox(metadata={f"n{i}": "x" for i in range(60)})
    for body, part in (({}, "nothing to change"), ({"ttl": 5}, "ttl"), ({"ttl_ms": 0}, "ttl_ms"), ({"ttl_ms": "1"}, "ttl_ms"), ({"metadata": []}, "metadata"),
                       ({"metadata": {"a": 1}}, "metadata.a"), ({"metadata": {f"m{i}": "x" for i in range(5)}}, "metadata"), ({"limits": None}, "limits"),
                       ({"state": "paused"}, "state")):  # fmt: skip
        d.refused("invalid_request", "PATCH", f"/v1/sandboxes/{s}", body, part)
    same(len(d.get(f"/v1/sandboxes/{s}")["metadata"]), 60, "labels")
    d.refused("not_found", "PATCH", "/v1/sandboxes/sbx_none", {"name": "a"})
    key = d.new_key("k", capabilities=["sandbox.exec"])["key"]
    d.refused("access_denied", "PATCH", f"/v1/sandboxes/{s}", {"name": "a"}, key=key)


@test
def labels_have_at_most_64_kib(d):
    d.refused("invalid_request", "POST", "/v1/sandboxes", {"metadata": {"a": "x" * 40000, "b": "x" * 40000}}, "metadata")
    d.refused("invalid_request", "POST", "/v1/sandboxes", {"metadata": {"x" * 70000: ""}}, "metadata")
    for persistent in (True, False):
        s = d.sandbox(metadata={"a": "x" * 40000}, persistent=persistent)
        d.refused("invalid_request", "PATCH", f"/v1/sandboxes/{s}", {"metadata": {"b": "x" * 40000}, "name": "refused"}, "metadata")
        r = d.get(f"/v1/sandboxes/{s}")
        same((r["name"], list(r["metadata"])), (None, ["a"]), "after a refused change")
        same(list(patch(d, s, metadata={"a": None, "b": "x" * 40000})["metadata"]), ["b"], "one replaces the other")


@test
def a_change_that_cannot_be_stored_changes_nothing(d):
    s = d.sandbox(metadata={"a": "1"}, name="old", ttl_ms=3600000)
    before = d.get(f"/v1/sandboxes/{s}")
    db = sqlite3.connect(os.path.join(d.state, "state.db"), isolation_level=None)
    db.execute("BEGIN IMMEDIATE")  # the daemon waits two seconds for its turn
    d.refused("internal", "PATCH", f"/v1/sandboxes/{s}", {"metadata": {"b": "2"}, "name": "new", "ttl_ms": 7200000})
    db.execute("ROLLBACK")
    db.close()
    after = d.get(f"/v1/sandboxes/{s}")
    for field in ("metadata", "name", "ttl_ms", "expires"):
        same(after[field], before[field], field)
    same(patch(d, s, name="new", metadata={"b": "2"})["metadata"], {"a": "1", "b": "2"}, "the same change afterwards")


@test
def the_command_line_takes_names():
    from test_cli import call_real as cella

    with Daemon(tcp=False) as d:
        made = cella(d, "create", "--name", "box")
        same(made.rc, 0, "create", made)
        listed = cella(d, "ls")
        same(listed.out.splitlines()[1].split()[:2], [made.out.strip(), "box"], "ls", listed)
        r = cella(d, "exec", "box", "--", "sh", "-c", "echo hi > a; cat a")
        same((r.rc, r.out), (0, "hi\n"), "exec", r)
        r = cella(d, "cp", "box:a", os.path.join(d.home, "copy"))
        same((r.rc, support.read(os.path.join(d.home, "copy"))), (0, "hi\n"), "cp", r)
        r = cella(d, "cp", "box:a", f"{made.out.strip()}:b")
        ensure(r.rc != 0, "a colon is one of a local name if the other is in a sandbox", r)
        r = cella(d, "rm", "box")
        same((r.rc, d.get("/v1/sandboxes")["sandboxes"]), (0, []), "rm", r)
        r = cella(d, "exec", "box", "--", "true")
        ensure(r.rc != 0 and "no sandbox 'box'" in r.err, "exec after rm", r)
