"""The log: executions are found, cancelled and verified."""

import contextlib
import json
import os
import select
import shutil
import sqlite3
import time

from daemon import Daemon
from support import ensure, same, test, until


@test
def an_execution_is_returned_with_all_its_fields(d):
    r = d.exec("sh", "echo out; echo err >&2; exit 3", session="s")
    row = d.get(f"/v1/executions/{r['id']}")
    for name in ("id", "sandbox", "runtime", "status", "exit_code", "stdout", "stderr", "stdout_bytes", "stderr_bytes"):
        same(row[name], r[name], name)
    same((row["input"], row["session"], row["agent"], row["key"], row["signal"]), ("echo out; echo err >&2; exit 3", "s", None, None, None), "the rest")
    ensure(row["duration_ms"] > 0, f"duration is {row['duration_ms']}")
    c = d.post("/v1/exec", {"command": ["echo", "a b"]})
    same(json.loads(d.get(f"/v1/executions/{c['id']}")["input"]), ["echo", "a b"], "a command")
    e = d.events("POST", "/v1/exec", {"runtime": "sh", "code": "echo streamed"})
    id_ = e.wait("start")["id"]
    e.text()
    same(d.get(f"/v1/executions/{id_}")["stdout"], "streamed\n", "a streamed one")
    d.refused("not_found", "GET", "/v1/executions/exe_aaaaaaaaaaaaaaaaaaaa")
    d.refused("not_found", "DELETE", "/v1/executions/exe_aaaaaaaaaaaaaaaaaaaa")
    d.refused("not_found", "GET", "/v1/executions/" + "x" * 500)


@test
def lists_filters_and_pages(d, s):
    ids = [d.exec("sh", f"exit {i % 2}", s)["id"] for i in range(7)]
    a = d.exec("sh", "kill -9 $$", session="s1")["id"]
    b = d.exec("sh", "true", agent="a1")["id"]
    everything = [b, a, *reversed(ids)]

    def found(query=""):
        return [x["id"] for x in d.get("/v1/executions" + query)["executions"]]

    same(found(), everything, "newest first")
    same(found(f"?sandbox={s}"), ids[::-1], "of a sandbox")
    same((found("?session=s1"), found("?agent=a1"), found("?status=signaled")), ([a], [b], [a]), "filters")
    same(found("?session=none"), [], "none")
    same(found("?since=2001-01-01T00:00:00Z"), everything, "since long ago")
    same(found("?since=2101-01-01T00:00:00.000Z"), [], "since some day")
    row = d.get(f"/v1/executions/{a}")
    ensure(a in found(f"?since={row['started']}") and ids[0] not in found(f"?since={row['started']}"), "since then")
    pages, cursor = [], None
    while True:
        page = d.get("/v1/executions?limit=2" + (f"&cursor={cursor}" if cursor else ""))
        ensure(len(page["executions"]) <= 2, "a page is too long")
        pages += [x["id"] for x in page["executions"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    same(pages, everything, "page by page")
    listed = d.get("/v1/executions?limit=1")["executions"][0]
    ensure("stdout" not in listed and "input" not in listed, "a list has no outputs")
    for bad in ("limit=0", "limit=1001", "limit=x", "since=yesterday", "cursor=x", "colour=red", "since=2026-13-45"):
        d.refused("invalid_request", "GET", f"/v1/executions?{bad}", None, bad.split("=")[0])


@test(settings={"sandboxes": {"max": 1}})
def an_execution_cancelled_in_the_queue_is_found(d):
    first, second = (d.post("/v1/exec", {"runtime": "sh", "code": "sleep 20", "detach": True}, 202)["id"] for _ in range(2))
    until(lambda: d.get("/v1/health")["sandboxes"]["waiting"] == 1, 20, "one that waits")
    for id_ in (second, first):
        same(d.ok("DELETE", f"/v1/executions/{id_}", status=202), {"id": id_, "status": "cancelled"}, "cancel")
        until(lambda: d.get(f"/v1/executions/{id_}")["status"] == "cancelled", 20, "its end")


@test
def running_executions_are_listed_and_cancelled(d):
    s, other = d.sandbox(), d.sandbox()
    p = d.post(f"/v1/sandboxes/{s}/exec", {"runtime": "sh", "code": "echo on; trap 'echo term' TERM; sleep 100", "detach": True}, 202)
    q = d.post("/v1/exec", {"runtime": "sh", "code": "sleep 100", "detach": True}, 202)
    running = d.get("/v1/executions?status=running")["executions"]
    same({x["id"] for x in running}, {p["id"], q["id"]}, "those that run")
    same([x["id"] for x in d.get(f"/v1/executions?status=running&sandbox={s}")["executions"]], [p["id"]], "those that run in a sandbox")
    same(d.get(f"/v1/executions?status=running&sandbox={other}")["executions"], [], "those that run in another")
    same(d.get(f"/v1/executions/{p['id']}")["status"], "running", "status")
    for x in (p, q):
        until(lambda: d.get(f"/v1/executions/{x['id']}")["status"] == "running", 20, "running")
        same(d.ok("DELETE", f"/v1/executions/{x['id']}", status=202), {"id": x["id"], "status": "cancelled"}, "cancel")
        until(lambda: d.get(f"/v1/executions/{x['id']}")["status"] == "cancelled", 20, "its end")
        same(d.ok("DELETE", f"/v1/executions/{x['id']}"), {"id": x["id"], "status": "cancelled"}, "cancelled twice")
    done = d.exec("sh", "exit 4")
    same(d.ok("DELETE", f"/v1/executions/{done['id']}"), {"id": done["id"], "status": "exited"}, "one that has ended")
    same(d.exec("sh", "echo ok", s)["stdout"], "ok\n", "the sandbox afterwards")


@test
def the_log_outlives_the_daemon(d):
    r = d.exec("sh", "echo kept")
    d.restart()
    same(d.get(f"/v1/executions/{r['id']}")["stdout"], "kept\n", "after a restart")
    running = d.post("/v1/exec", {"runtime": "sh", "code": "touch begun; sleep 100", "detach": True, "session": "s"}, 202)
    look = {"runtime": "sh", "code": "ls", "session": "s"}
    until(lambda: "begun" in d.post("/v1/exec", look)["stdout"], 20, "the code's first effect")
    d.kill("both")
    d.start()
    same(d.get(f"/v1/executions/{running['id']}")["status"], "interrupted", "after a crash")
    ensure("interrupted" in d.log(), "the log says so")
    same(d.get("/v1/executions/verify")["ok"], True, "verify")
    metrics = d.get("/metrics").decode()
    ensure('cella_executions_total{status="interrupted"} 1' in metrics, "the metrics say so")


@test
def verify_finds_changed_rows(d):
    for i in range(5):
        d.exec("sh", f"echo {i}")
    v = d.get("/v1/executions/verify")
    same((v["rows"], v["ok"]), (5, True), "verify")
    original = os.path.join(d.state, "audit.db")
    for statement in ("UPDATE executions SET status = 'exited', exit_code = 9 WHERE seq = 3", "DELETE FROM executions WHERE seq = 3",
                      "UPDATE executions SET stdout = x'00' WHERE seq = 2"):  # fmt: skip
        d.stop()
        with contextlib.closing(sqlite3.connect(original)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            kept = {t: list(db.execute(f"SELECT * FROM {t}")) for t in tables if t == "executions"}
            ensure(kept, f"tables are {tables}")
            triggers = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
            same(triggers, [], "triggers")
            db.execute(statement)
            db.commit()
        d.start()
        v = d.get("/v1/executions/verify")
        same(v["ok"], False, statement)
        ensure(v["first_bad"] and v["why"], f"the verdict is {v}")
        d.stop()
        with contextlib.closing(sqlite3.connect(original)) as db:
            db.execute("DELETE FROM executions")
            marks = ",".join("?" * len(kept["executions"][0]))
            db.executemany(f"INSERT INTO executions VALUES ({marks})", kept["executions"])
            db.commit()
        d.start()
        same(d.get("/v1/executions/verify")["ok"], True, "when all is as it was")


@test(settings={"audit": {"keep_output": False}})
def outputs_are_kept_if_the_settings_say_so(d):
    r = d.exec("sh", "echo secret")
    row = d.get(f"/v1/executions/{r['id']}")
    ensure("secret\n" not in (row.get("stdout") or ""), "the output is in the log")
    same((row["stdout_bytes"], row["status"]), (7, "exited"), "the rest")


class Slow:
    """Blocks the writer of the log, and therefore its readers, inside this context."""

    def __init__(self, d):
        self.d = d

    def __enter__(self):
        self.db = sqlite3.connect(os.path.join(self.d.state, "audit.db"), isolation_level=None)
        self.db.execute("BEGIN IMMEDIATE")
        self.d.exec("sh", "echo waits for its row", unix=True)
        return self

    def __exit__(self, *_):
        self.db.execute("ROLLBACK")
        self.db.close()


def ask_log(d, key=None, target="/v1/executions?text=nowhere"):
    """Sends a request and does not wait for the answer."""
    c = d.connection(unix=key is None)
    c.request("GET", target, headers={"Authorization": f"Bearer {key}"} if key else {})
    return c


def answered(connections):
    """Returns the requests that have an answer, and the answers."""
    ready = select.select([c.sock for c in connections], [], [], 0)[0]
    return [c.getresponse() for c in connections if c.sock in ready]


@test
def log_queries_wait_in_a_bounded_queue_and_delay_nothing_else(d):
    keys = [d.new_key(f"k{i}", capabilities=["sandbox.exec"])["key"] for i in range(8)]
    keys.append(d.new_key("k8", capabilities=["sandbox.exec", "audit"])["key"])
    id_ = d.exec("sh", "echo found", key=keys[0])["id"]
    with Slow(d):
        asked = [ask_log(d, keys[0])]  # this request is being answered, the others wait
        time.sleep(2)
        asked += [ask_log(d, keys[0]) for _ in range(4)]
        time.sleep(1)
        a = d.refused("over_capacity", "GET", "/v1/executions?text=x", None, "4 of yours", key=keys[0])
        ensure(int(a.headers["Retry-After"]) >= 1, "when to try again", a)
        quick = ask_log(d, keys[0], f"/v1/executions/{id_}")
        asked.pop().close()  # a client that leaves frees its place
        time.sleep(1)
        asked.append(ask_log(d, keys[0]))
        for key in keys[1:8]:
            asked += [ask_log(d, key) for _ in range(4)]
        time.sleep(1)
        for target in ("/v1/executions", "/v1/executions/verify"):
            d.refused("over_capacity", "GET", target, key=keys[8])
        asked += [ask_log(d) for _ in range(16)]  # of the owner: keys cannot take all places
        time.sleep(1)
        d.refused("over_capacity", "GET", "/v1/executions", unix=True)
        same(answered([*asked, quick]), [], "answers while nothing can be read")
        r = d.exec("sh", "echo hi\n" + "# x\n" * 60000, key=keys[8])  # its scan needs a thread
        same(r["stdout"], "hi\n", "an execution meanwhile")
    for c in [quick, *asked]:
        r = c.getresponse()
        same(r.status, 200, "an answer afterwards")
        r.read()
        c.close()
    same(d.get("/v1/executions?limit=1", key=keys[0])["executions"][0]["id"], id_, "a question afterwards")


@test
def waiting_log_queries_do_not_delay_the_shutdown(d):
    with Slow(d):
        asked = [ask_log(d) for _ in range(10)]
        time.sleep(0.2)
    d.stop()  # also checks the exit status
    for c in asked:
        c.close()


FIXTURE = os.path.join(os.path.dirname(__file__), "..", "fixture", "state-1")


@test
def the_state_of_version_1_is_taken_over():
    """Written by the version before migrations; its daemon was killed while a command ran."""
    with Daemon() as d:
        d.ok("PUT", "/v1/secrets/any", {"value": "makes the files"}, 201)
    for name in ("audit.db", "state.db", "running.map", "secrets", "secret.key"):  # the files keep their owner
        shutil.copyfile(os.path.join(FIXTURE, name), os.path.join(d.state, name))
    os.truncate(os.path.join(d.state, "running.map"), 1025 * 8192)  # the fixture lacks the zeros at its end
    with Daemon(state=d.state) as d:
        same(d.get("/v1/settings", unix=True)["limits"]["timeout_ms"], 20000, "the settings")
        same(d.get("/v1/executions/verify", unix=True), {"rows": 7, "ok": True, "last": 7, "hash": d.get("/v1/executions/exe_aqfmy3wlweyacfixe6cd", unix=True)["hash"]}, "the chain")
        same([(r["id"], r["status"]) for r in d.get("/v1/executions", unix=True)["executions"]],
             [("exe_aqfmy3wlweyacfixe6cd", "interrupted"), ("exe_ry642zz4wh6iwz4vzixk", "timeout"), ("exe_ld4u3uowcheskplkg2hr", "exited"),
              ("exe_22xjp7aic2kxjowk62jm", "exited"), ("exe_nsyukkorvdp2ef6gevpt", "exited"), ("exe_b3r76qawyfw7637aepcs", "exited"), ("exe_wsjm4odvqqjts42i2xk2", "exited")], "the rows")  # fmt: skip
        d.key = "cella_YzaCM4oGrIGTNml6U5s6tA-Cnwn9T8BZGtAcnGrVPmU"
        same(d.exec("sh", "echo key")["stdout"], "key\n", "the key")
        same([s["name"] for s in d.get("/v1/secrets", unix=True)["secrets"]], ["token"], "the secrets")
        new = d.get("/v1/executions?limit=1", unix=True)["executions"][0]
        same((new["key"], d.get("/v1/executions/verify", unix=True)["rows"]), ("key_52zurfqan4b65lmivagc", 8), "a new row")
        sandboxes = d.get("/v1/sandboxes", unix=True)["sandboxes"]
        same({(s["session"], s["agent"]) for s in sandboxes if s["state"] == "stopped"}, {("kept", None), (None, "one")}, "the sandboxes")
