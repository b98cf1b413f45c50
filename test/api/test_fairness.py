"""Shares of the daemon's sandboxes: no caller takes all the room, and idle sandboxes are reclaimed for others."""

import itertools
import threading

from support import ensure, is_root, same, test, until

ROOM = {"sandboxes": {"max": 20, "queue_timeout_ms": 300}, "pools": []}
SHARE = 15  # of 20, with two other callers that have no sandbox: 15 >= 4 * (20 - 15 - 2)


def code(text):
    return {"runtime": "sh", "code": text}


def take(ask):
    """Repeats a request until it is refused. Returns the number of successes, and the refusal."""
    for n in itertools.count():
        a = ask(n)
        if a.status == 429:
            return n, a
        ensure(a.status in (200, 201, 202), "the answer", a)


def served(d, *keys):
    """Checks that an execution of each caller runs; None is the owner."""
    for key in keys:
        r = d.exec("sh", "echo served", key=key) if key else d.exec("sh", "echo served", unix=True)
        same(r["stdout"], "served\n", "another caller's execution")


def states(d, key):
    return {s["session"]: s["state"] for s in d.get("/v1/sandboxes", key=key)["sandboxes"] if s["session"]}


@test(settings=ROOM)
def created_sandboxes_leave_room_for_other_callers(d):
    first, second = d.new_key("first")["key"], d.new_key("second")["key"]
    n, refusal = take(lambda _: d.request("POST", "/v1/sandboxes", {}, key=first))
    same(n, SHARE, "sandboxes of the first key")
    error = refusal.json()["error"]
    same(error["kind"], "over_capacity", "kind")
    ensure(f"this caller has {SHARE} of 20 sandboxes, its share" in error["message"] and "sandboxes.max" in error["hint"], "the words", refusal)
    ensure(int(refusal.headers["Retry-After"]) >= 1, "Retry-After", refusal)
    served(d, second, None)
    n, _ = take(lambda _: d.request("POST", "/v1/sandboxes", {}, key=second))
    same(n, 4, "sandboxes of the second key")  # 4 >= 4 * (20 - 15 - 4 - 1)
    served(d, None)
    for s in d.get("/v1/sandboxes", key=first)["sandboxes"]:
        same(s["state"], "running", "a created sandbox of the first key")


@test(settings=ROOM)
def sessions_leave_room_for_other_callers(d):
    first, second = d.new_key("first")["key"], d.new_key("second")["key"]
    n, _ = take(lambda i: d.request("POST", "/v1/exec", {**code("true"), "session": f"s{i}"}, key=first))
    same(n, SHARE, "sessions of the first key")
    served(d, second, None)
    same(list(states(d, first).values()).count("running"), SHARE, "sessions that still run: there was room")


def flood(d, key, n):
    """Starts so many executions that do not end by themselves. Returns the number of sandboxes and of queued executions."""
    for _ in range(n):
        d.post("/v1/exec", {**code("sleep 60"), "detach": True}, 202, key=key)
    now = d.get("/v1/health", unix=True)["sandboxes"]
    return now["running"], now["waiting"]


@test(settings={**ROOM, "sandboxes": {"max": 20, "queue_timeout_ms": 60000, "queue_max": 10}})
def running_and_queued_executions_leave_room_for_other_callers(d):
    first, second = d.new_key("first")["key"], d.new_key("second")["key"]
    same(flood(d, first, 30), (SHARE, 10), "executions that run, and that wait")
    served(d, second, None)
    same(flood(d, first, 1), (SHARE, 10), "executions of the first key afterwards")


@test(settings={"sandboxes": {"max": 20, "queue_max": 0}, "pools": [{"runtime": "sh", "size": 8}]})
def executions_from_a_pool_count_for_the_share(d):
    until(lambda: d.get("/v1/pools")["pools"][0]["available"] == 8, 20, "a full pool")
    first, second = d.new_key("first")["key"], d.new_key("second")["key"]
    same(flood(d, first, 30), (SHARE, 0), "executions that run, and that wait")
    served(d, second, None)


@test(settings=ROOM)
def the_owner_has_a_share_too(d):
    key = d.new_key("first")["key"]
    n, _ = take(lambda _: d.request("POST", "/v1/sandboxes", {}, unix=True))
    same(n, 16, "sandboxes of the owner")  # 16 >= 4 * (20 - 16 - 1)
    served(d, key)


@test(settings={**ROOM, "sandboxes": {"max": 6, "queue_timeout_ms": 300}})
def without_keys_the_owner_has_all_the_room(d):
    n, refusal = take(lambda _: d.request("POST", "/v1/sandboxes", {}))
    same(n, 6, "sandboxes of the owner")
    ensure("all 6 sandboxes are in use" in refusal.json()["error"]["message"], "the words", refusal)


@test(settings={**ROOM, "sandboxes": {"max": 50, "queue_timeout_ms": 100}})
def with_many_keys_each_can_have_a_sandbox(d):
    keys = [d.new_key(f"k{i}")["key"] for i in range(9)]
    counts = []
    for key in keys:
        n, _ = take(lambda _, key=key: d.request("POST", "/v1/sandboxes", {}, key=key))
        counts.append(n)
        if key != keys[-1]:
            served(d, keys[-1], None)
    ensure(min(counts) >= 1 and sum(counts) < 50, f"sandboxes of the keys: {counts}")
    same(counts, sorted(counts, reverse=True), "no later key has more")
    ensure(counts[0] >= 30, f"the first key has {counts[0]} of 50")
    served(d, None)


@test(settings={**ROOM, "sandboxes": {"max": 30, "queue_timeout_ms": 300}})
def idle_sessions_of_the_largest_holder_are_reclaimed(d):
    large, small, other = (d.new_key(n)["key"] for n in ("large", "small", "other"))
    for i in range(3):
        d.exec("sh", "true", session=f"s{i}", key=small)
    for i in range(6):
        d.exec("sh", f"echo {i} >file", session=f"s{i}", key=large)
    made = d.sandbox(key=large)
    d.exec("sh", "true", session="s0", key=large)  # now s1 is the one that was not used for the longest time
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 10}}, unix=True)
    served(d, other)
    same(states(d, large), {"s0": "running", "s1": "stopped", **{f"s{i}": "running" for i in range(2, 6)}}, "sessions of the largest holder")
    same(set(states(d, small).values()), {"running"}, "sessions of the smaller one")
    same(d.get(f"/v1/sandboxes/{made}", key=large)["state"], "running", "the created one")
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 30}}, unix=True)
    same(d.exec("sh", "cat file", session="s1", key=large)["stdout"], "1\n", "the reclaimed session has its files")


@test(settings={**ROOM, "sandboxes": {"max": 30, "queue_timeout_ms": 300}})
def reclaiming_ends_nothing_that_is_in_use(d):
    large, other = d.new_key("large")["key"], d.new_key("other")["key"]
    made = d.sandbox(key=large)
    for name in ("runs", "context", "context_runs", "process", "paused", "idle"):
        d.exec("sh", "true", session=name, key=large)
    id_of = {s["session"]: s["id"] for s in d.get("/v1/sandboxes", key=large)["sandboxes"]}

    def post(name, target, body, status):
        return d.post(f"/v1/sandboxes/{id_of[name]}/{target}", body, status, key=large)

    contexts = {name: post(name, "contexts", {"runtime": "python3"}, 201)["id"] for name in ("context", "context_runs")}
    post("context", f"contexts/{contexts['context']}/run", {"code": "x = 42"}, 200)
    process = post("process", "processes", {"command": ["sleep", "100"]}, 201)
    if is_root():  # pausing needs a control group
        post("paused", "pause", None, 200)
    else:
        post("paused", "processes", {"command": ["sleep", "100"]}, 201)
    results = {}
    go_on = "while [ ! -e go ]; do sleep 0.05; done; echo done"
    waiter = "import os, time\nwhile not os.path.exists('/workspace/go'): time.sleep(0.05)\nprint('done')"
    threads = [
        threading.Thread(target=lambda: results.update(runs=d.exec("sh", go_on, id_of["runs"], key=large))),
        threading.Thread(target=lambda: results.update(context=post("context_runs", f"contexts/{contexts['context_runs']}/run", {"code": waiter}, 200))),
    ]
    for t in threads:
        t.start()
    until(lambda: len(d.get("/v1/executions?status=running", key=large)["executions"]) == (3 if is_root() else 4), 20, "two runs and a process")
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 7}}, unix=True)
    served(d, other)
    same(states(d, large)["idle"], "stopped", "the idle session")
    # Now the other caller holds the last place, and nothing is left to reclaim.
    d.sandbox(key=other)
    refusal = d.refused("over_capacity", "POST", "/v1/exec", code("true"), "all 7 sandboxes are in use", unix=True)
    ensure(refusal, "the refusal")
    same({n: s for n, s in states(d, large).items() if n != "idle"},
         {"runs": "running", "context": "running", "context_runs": "running", "process": "running", "paused": "paused" if is_root() else "running"}, "what is in use")  # fmt: skip
    same(d.get(f"/v1/sandboxes/{made}", key=large)["state"], "running", "the created one")
    same(d.get(f"/v1/sandboxes/{id_of['process']}/processes/{process['pid']}", key=large)["state"], "running", "the process")
    for name in ("runs", "context_runs"):
        same(d.request("PUT", d.file(id_of[name], "go"), b"", key=large).status, 201, "letting it go on")
    for t in threads:
        t.join()
    same({n: (r["status"], r["exit_code"], r["stdout"]) for n, r in results.items()},
         {"runs": ("exited", 0, "done\n"), "context": ("exited", 0, "done\n")}, "what ran")  # fmt: skip
    same(post("context", f"contexts/{contexts['context']}/run", {"code": "print(x)"}, 200)["stdout"], "42\n", "the variable of the idle context")


@test(settings={**ROOM, "sandboxes": {"max": 12, "queue_timeout_ms": 60000}})
def a_session_that_becomes_idle_is_reclaimed_for_a_waiting_request(d):
    large, other = d.new_key("large")["key"], d.new_key("other")["key"]
    for i in range(3):
        d.exec("sh", "true", session=f"s{i}", key=large)
    id_ = next(s["id"] for s in d.get("/v1/sandboxes", key=large)["sandboxes"] if s["session"] == "s0")
    for i in range(1, 3):  # these stay in use
        d.post("/v1/exec", {**code("sleep 100"), "session": f"s{i}", "detach": True}, 202, key=large)
    busy = threading.Thread(target=d.exec, args=("sh", "while [ ! -e go ]; do sleep 0.05; done", id_), kwargs={"key": large, "timeout": 90})
    busy.start()
    until(lambda: len(d.get("/v1/executions?status=running", key=large)["executions"]) == 3, 20, "three executions")
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 3}}, unix=True)
    result = {}
    waits = threading.Thread(target=lambda: result.update(d.exec("sh", "echo served", key=other, timeout=90)))
    waits.start()
    until(lambda: d.get("/v1/health", unix=True)["sandboxes"]["waiting"] == 1, 20, "one that waits")
    same(d.request("PUT", d.file(id_, "go"), b"", key=large).status, 201, "letting it go on")
    busy.join()
    waits.join()
    same(result["stdout"], "served\n", "the one that waited")
    same(states(d, large)["s0"], "stopped", "the session that became idle")


@test(settings={**ROOM, "sandboxes": {"max": 12, "queue_timeout_ms": 300}})
def sessions_are_not_reclaimed_for_a_caller_with_an_equal_share(d):
    a, b = d.new_key("a")["key"], d.new_key("b")["key"]
    for i in range(2):
        d.exec("sh", "true", session=f"s{i}", key=a)
        d.sandbox(key=b)
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 4}}, unix=True)
    d.refused("over_capacity", "POST", "/v1/exec", code("true"), key=b)
    same(set(states(d, a).values()), {"running"}, "the sessions of the other")
