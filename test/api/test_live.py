"""API of the web page: /v1/events, search in the log, the key in a terminal's handshake, files that changed in the meantime."""

import contextlib
import json
import re
import socket
import threading
import time

from daemon import Daemon
import support
from support import ensure, same, test, until


class Watch:
    """Reads events in the background; `seen` has (name, data) of all."""

    def __init__(self, daemon, query="", key=None):
        self.seen, self.ended = [], False
        self.events = daemon.events("GET", "/v1/events" + query, key=key)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for name, data in self.events:
                self.seen.append((name, data))
        except (OSError, ValueError, AttributeError):
            pass
        self.ended = True

    def of(self, name):
        return [data for n, data in list(self.seen) if n == name]

    def wait(self, name, what, wanted=lambda data: True, seconds=20):
        return until(lambda: next((x for x in self.of(name) if wanted(x)), None), seconds, what)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.events.__exit__(None, None, None)


@test(users=["root"])  # root: control groups are needed for pausing and for usage
def watchers_get_an_event_for_each_change_of_a_sandbox(d):
    before = d.sandbox()
    with Watch(d) as w:
        first = w.wait("sandboxes", "the list")
        same([x["id"] for x in first["sandboxes"]], [before], "sandboxes at first")
        snapshot = w.wait("snapshot", "a snapshot")
        same(snapshot["health"]["status"], "ok", "health")
        same(set(snapshot), {"time", "health", "rates", "memory"}, "a snapshot")
        s = d.sandbox()
        w.wait("sandbox", "a new one", lambda x: x["id"] == s and x["state"] == "running")
        d.exec("sh", "true", sandbox=s)
        w.wait("sandbox", "its execution", lambda x: x["id"] == s and x["executions"] == 1)
        d.post(f"/v1/sandboxes/{s}/pause")
        w.wait("sandbox", "that it is paused", lambda x: x["id"] == s and x["state"] == "paused")
        d.delete(f"/v1/sandboxes/{s}")
        w.wait("gone", "that it is gone", lambda x: x["id"] == s)
        usage = w.wait("usage", "what the other one uses", lambda x: before in x)
        same(set(usage[before]), {"cpu_ms", "memory_bytes", "memory_peak_bytes", "processes"}, "usage")


@test
def watchers_get_rates_and_ended_executions(d):
    with Watch(d, "?topics=monitor,executions") as w, Watch(d, "?topics=executions&status=signaled,timeout&text=NEEDLE") as some:
        w.wait("snapshot", "a snapshot")
        for _ in range(20):
            d.exec("sh", "echo out")
        d.exec("sh", "echo a needle; kill -9 $$", agent="x")
        d.exec("sh", "echo hay; kill -9 $$")
        rate = w.wait("snapshot", "a rate", lambda x: x["rates"]["executions_per_second"] > 0)["rates"]
        ensure(0 < rate["latency_p50_ms"] <= rate["latency_p99_ms"] < 60000, f"latency is {rate}")
        until(lambda: sum(len(x["executions"]) for x in w.of("executions")) == 22, 20, "all executions")
        row = [r for x in w.of("executions") for r in x["executions"]][0]
        listed = next(r for r in d.rows() if r["id"] == row["id"])
        same(row, {**listed, "finished": row["finished"]}, "the row in the event and in the list")
        same(row["preview"], "echo out", "how its code begins")
        found = some.wait("executions", "those that were asked for")
        same([(r["status"], r["agent"]) for r in found["executions"]], [("signaled", "x")], "what a filter lets through")
        same((some.of("snapshot"), some.of("sandboxes")), ([], []), "topics that were not asked for")
    for bad in ("topics=weather", "topics=", "limit=5", "colour=red"):
        d.refused("invalid_request", "GET", f"/v1/events?{bad}", None, bad.split("=")[0])


@test
def a_new_watcher_gets_the_last_hour_unless_it_may_not_see_the_counters(d):
    before = time.time()
    for _ in range(5):
        d.exec("sh", "true")
    with Watch(d) as w:
        history = w.wait("history", "the history")
    bounds, minutes = history["bounds_ms"], history["minutes"]
    ensure(bounds == sorted(bounds) and len(bounds) > 5, f"bounds are {bounds}")
    ensure(1 <= len(minutes) <= 3 + (time.time() - before) / 60, f"minutes are {minutes}")
    same(sum(m["executions"] for m in minutes), 5, "executions")
    for m in minutes:
        same([len(m["latency"]), sum(m["latency"])], [len(bounds) + 1, m["executions"]], "durations")
        ensure(m["sandboxes"] >= 1, f"sandboxes while an execution ended: {m}")
    key = d.new_key("k", capabilities=["sandbox.exec"])["key"]
    with Watch(d, key=key) as w:
        w.wait("snapshot", "a snapshot")
        same(w.of("history"), [], "history for a key without the counters")


@test
def events_have_the_labels_that_fit(d):
    s = d.sandbox(metadata={"a": "1", "long": "x" * 5000, "b": "\x01" * 40})
    with Watch(d) as w:
        same([x["metadata"] for x in w.wait("sandboxes", "the list")["sandboxes"]], [{"a": "1"}], "labels")
        d.ok("PATCH", f"/v1/sandboxes/{s}", {"metadata": {"a": "2", "c": "3"}})
        w.wait("sandbox", "the new labels", lambda x: x["id"] == s and x["metadata"] == {"a": "2", "c": "3"})


@test
def a_watching_key_gets_events_of_its_own_sandboxes_only(d):
    own = d.new_key("own", capabilities=["sandbox.exec", "sandbox.manage"])["key"]
    other = d.new_key("other", capabilities=["sandbox.exec", "sandbox.manage"])["key"]
    auditor = d.new_key("auditor", capabilities=["audit"])["key"]
    foreign = d.sandbox(key=other)
    with Watch(d, "?topics=monitor,executions", own) as w, Watch(d, "?topics=monitor,executions", auditor) as a:
        w.wait("sandboxes", "the list")
        a.wait("sandboxes", "the list")
        d.exec("sh", "echo theirs", key=other)
        mine = d.sandbox(key=own)
        ours = d.exec("sh", "echo ours", key=own)["id"]
        w.wait("sandbox", "its own sandbox", lambda x: x["id"] == mine)
        heard = w.wait("executions", "its own execution")
        same([r["id"] for r in heard["executions"]], [ours], "executions of a key")
        until(lambda: sum(len(x["executions"]) for x in a.of("executions")) == 2, 20, "an auditor to hear of both")
        ensure(foreign not in json.dumps(w.seen), "it heard of another's sandbox")
    d.refused("unauthorized", "GET", "/v1/events", key=False)


@test
def events_end_when_the_key_is_removed_or_becomes_required(d):
    with Watch(d) as w:
        w.wait("snapshot", "a snapshot")
        key = d.new_key("k")
        until(lambda: w.ended, 20, "the end of events without a key, now that there is one")
    with Watch(d, "", key["key"]) as w:
        w.wait("snapshot", "a snapshot")
        d.delete(f"/v1/keys/{key['id']}", unix=True)
        until(lambda: w.ended, 20, "the end of events of a key that is no more")


@test
def the_number_of_watchers_is_bounded_and_a_slow_one_delays_no_other(d):
    slow = d.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.sendall(f"GET /v1/events?topics=monitor,executions HTTP/1.1\r\nHost: 127.0.0.1:{d.port}\r\n\r\n".encode())
    many = []
    refused = None
    for _ in range(30):
        c = d.connection()
        c.request("GET", "/v1/events")
        r = c.getresponse()
        if r.status != 200:
            refused = (r.status, r.getheader("Retry-After"))
            c.close()
            break
        many.append((c, r))
    same((refused is not None and refused[0], len(many)), (429, 15), "watchers of one caller")
    ensure(int(refused[1]) >= 1, "when to try again")
    for _ in range(150):
        d.exec("sh", "echo x")
    for c, r in many:
        r.close()
        c.close()
    with Watch(d) as w:
        w.wait("snapshot", "a snapshot beside one that does not read")
    slow.close()


@test(users=["root"], settings={"pools": []})  # root: may read /proc/PID/io of the server
def the_server_reads_no_figures_without_a_watcher(d):
    server = d.server_pid()

    def reads(seconds):
        """How many files the server read in this time: a snapshot is made of several."""
        before = int(re.search(r"syscr: (\d+)", support.read(f"/proc/{server}/io"))[1])
        time.sleep(seconds)
        return int(re.search(r"syscr: (\d+)", support.read(f"/proc/{server}/io"))[1]) - before

    with Watch(d) as w:
        w.wait("snapshot", "a snapshot")
        until(lambda: reads(2) > 1, 20, "what it reads for a watcher")
    until(lambda: reads(1) == 0, 20, "a second without reading, after the watcher's end")
    same(reads(4), 0, "what it reads in four seconds without a watcher")


@test
def the_log_is_searched_by_text_and_several_statuses(d):
    a = d.exec("sh", "echo Needle in output")["id"]
    b = d.exec("python3", "x = 'NEEDLE in code'")["id"]
    c = d.exec("sh", "echo in stderr: nee''dle >&2; kill -9 $$", session="s")["id"]
    e = d.post("/v1/exec", {"command": ["echo", "hay"]})["id"]
    d.exec("sh", "sleep 9", timeout_ms=50)

    def found(query):
        return [x["id"] for x in d.get("/v1/executions?" + query)["executions"]]

    same(found("text=needle"), [c, b, a], "in code and output, in either case")
    same(found("text=needle&status=signaled"), [c], "and a status")
    same(found("text=needle&session=s"), [c], "and a session")
    same(found("text=%22echo%22%2C%22hay%22"), [e], "in a command")
    same(found("text=nothing+has+this"), [], "nowhere")
    same(len(found("status=signaled,timeout")), 2, "two statuses")
    same(len(found("status=signaled&status=timeout&status=exited")), 5, "three, one by one")
    same(found("status=,"), [], "none at all")
    page = d.get("/v1/executions?text=needle&limit=2")
    same(([x["id"] for x in page["executions"]], page["cursor"] is not None), ([c, b], True), "a page")
    same(found(f"text=needle&cursor={page['cursor']}"), [a], "and the next")
    d.refused("invalid_request", "GET", "/v1/executions?text=" + "x" * 300, None, "text")


@test
def a_terminal_takes_its_key_from_the_handshake(d):
    key = d.new_key("k", capabilities=["sandbox.exec", "sandbox.manage"])["key"]
    poor = d.new_key("poor", capabilities=["files"])["key"]
    s = d.sandbox(key=key)
    target = f"/v1/sandboxes/{s}/terminal"

    def shake(protocols):
        headers = {"Sec-WebSocket-Protocol": protocols} if protocols else {}
        ws = d.websocket(target, headers=headers)
        said = [line.split(": ")[1] for line in ws.head.split("\r\n") if line.lower().startswith("sec-websocket-protocol:")]
        ws.sock.close()
        return ws.status, said

    same(shake(f"cella, cella.key.{key}"), (101, ["cella"]), "a key")
    same(shake(f"cella.key.{key}"), (101, []), "without a protocol to agree on")
    same(shake("cella, cella.key.cella_wrong")[0], 401, "a wrong one")
    same(shake("cella, cella.key.")[0], 401, "an empty one")
    same(shake("cella, cella.key." + "x" * 2000)[0], 401, "a long one")
    same(shake("cella")[0], 401, "none")
    same(shake(f"cella, cella.key.{poor}")[0], 403, "one that may not")
    a = d.request("GET", f"/v1/sandboxes/{s}", headers={"Sec-WebSocket-Protocol": f"cella.key.{key}"}, key=False)
    same(a.status, 401, "on a request that is no handshake")
    for upgrade in ("x", "websockets", "h2c, x"):
        headers = {"Sec-WebSocket-Protocol": f"cella.key.{key}", "Upgrade": upgrade}
        same(d.request("GET", "/v1/me", headers=headers, key=False).status, 401, f"with Upgrade: {upgrade}")
    ws = d.websocket(target, headers={"Sec-WebSocket-Protocol": f"cella, cella.key.{key}", "Origin": "http://evil.example"})
    same(ws.status, 403, "from another page")
    ws.sock.close()


@test
def a_terminal_is_held_while_its_client_draws(d, s):
    with d.websocket(f"/v1/sandboxes/{s}/terminal?command=yes") as ws:
        ws.read_until(b"y\r\ny")
        ws.send('{"hold": true}')
        ws.sock.settimeout(1)
        more = 0
        try:
            while more < 20 << 20:
                more += len(ws.sock.recv(1 << 20))
                ensure(more, "it closed")
        except TimeoutError:
            pass
        ensure(more < 4 << 20, f"{more} bytes came while it was held")
    with d.websocket(f"/v1/sandboxes/{s}/terminal?command=yes") as ws:
        ws.read_until(b"y\r\ny")
        ws.send('{"hold": true}')
        ws.send('{"hold": false}')
        for _ in range(500):
            ensure(ws.receive()[0] == 2, "it goes on")
        ws.send('{"hold": 1}')
        same(ws.rest_of_it()[1], 1007, "nonsense")


@test
def a_file_that_changed_meanwhile_is_not_overwritten(d, s):
    target = d.file(s, "a.txt")
    made = d.request("PUT", target, b"one", headers={"If-None-Match": "*"})
    same(made.status, 201, "a new one", made)
    etag = made.headers["ETag"]
    same(d.request("GET", target).headers["ETag"], etag, "its ETag, written and read")
    again = d.request("PUT", target, b"two", headers={"If-Match": etag})
    same(again.status, 200, "the one that was seen", again)
    ensure(again.headers["ETag"] != etag, "another ETag")
    old = d.request("PUT", target, b"three", headers={"If-Match": etag})
    same((old.status, old.json()["error"]["kind"]), (412, "conflict"), "one that has changed", old)
    there = d.request("PUT", target, b"four", headers={"If-None-Match": "*"})
    same(there.status, 412, "one that is there", there)
    gone = d.request("PUT", d.file(s, "b.txt"), b"five", headers={"If-Match": etag})
    same((gone.status, "no longer exists" in gone.json()["error"]["message"]), (412, True), "one that is not there", gone)
    same(d.request("GET", target).body, b"two", "what is in it")
    same(d.request("GET", d.file(s, "b.txt")).status, 404, "what was not there")


@test
def removing_a_key_closes_its_terminals_watches_and_streams(d):
    other = d.new_key("other", capabilities=["sandbox.exec", "sandbox.manage", "files"])
    k = d.new_key("k", capabilities=["sandbox.exec", "sandbox.manage", "files"])
    s, theirs = d.sandbox(key=k["key"]), d.sandbox(key=other["key"])

    def terminal(sandbox, key):
        return d.websocket(f"/v1/sandboxes/{sandbox}/terminal", headers={"Authorization": f"Bearer {key['key']}"})

    process = d.post(f"/v1/sandboxes/{s}/processes", {"command": ["sh", "-c", "echo on; sleep 100"]}, 201, key=k["key"])
    with terminal(s, k) as t, terminal(theirs, other) as stays, d.websocket(f"/v1/sandboxes/{theirs}/terminal", unix=True, headers={}) as own, \
            d.events("GET", d.file(s, "/workspace", watch=1), key=k["key"]) as watch, \
            d.events("GET", f"/v1/sandboxes/{s}/processes/{process['pid']}/output", key=k["key"]) as output:  # fmt: skip
        watch.wait("start")
        output.read_until("on")
        for w in (t, stays, own):
            w.send(b"echo is $((40 + 2))\n")
            w.read_until(b"is 42")
        d.delete(f"/v1/keys/{k['id']}", unix=True)
        for events in (watch, output):
            same(events.wait("error")["error"]["kind"], "unauthorized", "the last event")
            same(list(events), [], "after it")
        t.rest_of_it()
        same(t.close_code, 1008, "how the terminal was closed")
        until(lambda: [x["id"] for x in d.get(f"/v1/executions?status=running&sandbox={s}", unix=True)["executions"]] == [process["id"]], 20, "the end of its shell")
        for w in (stays, own):
            w.send(b"echo is $((40 + 3))\n")
            w.read_until(b"is 43")


@test
def terminal_input_after_the_removal_of_its_key_is_ignored(d):
    d.new_key("other")
    k = d.new_key("k", capabilities=["sandbox.exec", "sandbox.manage"])
    s = d.sandbox(key=k["key"])
    with d.websocket(f"/v1/sandboxes/{s}/terminal", headers={"Authorization": f"Bearer {k['key']}"}) as t:
        t.send(b"echo is $((40 + 2))\n")
        t.read_until(b"is 42")
        d.delete(f"/v1/keys/{k['id']}", unix=True)
        t.send(b"touch /workspace/typed\n")
        t.rest_of_it()
        same(t.close_code, 1008, "how the terminal was closed")
    same(d.exec("sh", "ls /workspace", s, unix=True)["stdout"], "", "files")


@test
def keys_cannot_take_all_places_of_watchers():
    with Daemon() as d, contextlib.ExitStack() as stack:
        keys = [d.new_key(f"k{i}")["key"] for i in range(4)]
        for key in keys[:3]:
            for _ in range(16):
                stack.enter_context(d.events("GET", "/v1/events", key=key))
        d.refused("over_capacity", "GET", "/v1/events", key=keys[0])
        d.refused("over_capacity", "GET", "/v1/events", key=keys[3])
        for _ in range(16):
            stack.enter_context(d.events("GET", "/v1/events", unix=True))
        d.refused("over_capacity", "GET", "/v1/events", unix=True)
