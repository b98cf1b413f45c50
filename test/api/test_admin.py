"""Health, metrics, the description of the API, unknown paths; start and end of the daemon."""

import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import described
import support
from daemon import Daemon, free_port, not_sanitized
from support import ensure, is_root, same, test, until

HERE = pathlib.Path(__file__).resolve().parent


def routes():
    """Returns (method, pattern) of all routes, read from the table in the source."""
    source = (HERE.parent.parent / "src/front/routes.c").read_text()
    names = {"SANDBOX": "/v1/sandboxes/{id}", "PROCESS": "/v1/sandboxes/{id}/processes/{pid}",
             "CONTEXT": "/v1/sandboxes/{id}/contexts/{context}", "SECRET": "/v1/secrets/{name}",
             "IMAGE": "/v1/images/{name}"}  # fmt: skip
    found = []
    for method, words in re.findall(r'\{HTTP_(\w+), ((?:[A-Z]+ ?)?(?:"[^"]*")?),', source):
        name, _, rest = words.partition('"')
        found.append((method, names.get(name.strip(), "") + rest.rstrip('"')))
    return found


@test
def health_shows_engines_disk_sandboxes_and_pools():
    with Daemon() as d:
        same(d.get("/healthz"), {"status": "ok"}, "healthz")
        h = d.get("/v1/health")
        same(h["status"], "ok", "status")
        native = h["engines"]["native"]
        ensure(native["available"] and {"pid", "mount", "net", "seccomp"} <= set(native["layers"]), f"native is {native}")
        same(h["engines"]["docker"]["available"], False, "docker")
        ensure(h["engines"]["docker"]["reason"], "the reason")
        version = subprocess.run([*support.command, "version"], capture_output=True, text=True).stdout
        ensure(h["version"] in version, f"version is {h['version']}, not that of {version!r}")
        ensure(h["disk"]["free_bytes"] > 0 and h["uptime_ms"] >= 0, "disk, uptime")
        same((h["sandboxes"]["max"], h["sandboxes"]["running"], h["sandboxes"]["waiting"]), (100, 0, 0), "sandboxes")
        d.sandbox()
        same(d.get("/v1/health")["sandboxes"]["running"], 1, "sandboxes")
        pools = d.get("/v1/pools")["pools"]
        same([(p["runtime"], p["size"], p["problem"]) for p in pools], [("python3", 4, None), ("sh", 4, None), ("node", 2, None), (None, 2, None)], "pools")


@test
def health_says_that_the_keeper_does_not_answer():
    with Daemon({"pools": []}) as d:
        os.kill(d.process.pid, signal.SIGSTOP)
        try:
            h = d.get("/v1/health")
            same((h["status"], h["engines"]["native"]["available"]), ("unavailable", False), "while the keeper is stopped")
            ensure("keeper" in h["engines"]["native"]["reason"], f"the reason: {h['engines']['native']}")
            a = d.request("GET", "/healthz")
            same((a.status, a.json()["error"]["kind"]), (503, "engine_unavailable"), "healthz")
            ensure("keeper" in a.json()["error"]["message"], f"the reason: {a}")
            same(d.get("/v1/health")["status"], "unavailable", "the second time")
        finally:
            os.kill(d.process.pid, signal.SIGCONT)
        until(lambda: d.request("GET", "/healthz").status == 200, 20, "an answer of the keeper")
        until(lambda: d.get("/v1/health")["status"] == "ok", 20, "health")
        same(d.exec("sh", "echo hi")["stdout"], "hi\n", "an execution")


@test(timeout=60)
def an_idle_daemon_wakes_up_once_a_second():
    with Daemon({"pools": []}) as d:

        def waits():
            status = support.read(f"/proc/{d.server_pid()}/status")
            return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)$", status, re.M)[1])

        def is_idle():
            begun, before = time.monotonic(), waits()
            time.sleep(3)
            return waits() - before < 4 * (time.monotonic() - begun)

        same(d.exec("sh", "echo hi")["stdout"], "hi\n", "an execution")
        until(is_idle, 30, "few wake-ups")


def parse(text):
    """{name{labels}: value}; every line must be as Prometheus wants it."""
    values, types = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            ensure(kind in ("counter", "gauge", "histogram") and name not in types, f"a bad line: {line}")
            types[name] = kind
        elif not line.startswith("# HELP "):
            m = re.fullmatch(r'([a-z_]+)((?:\{[a-z_]+="[^"]*"\})?) ([-+0-9.e]+|\+Inf)', line)
            ensure(m, f"a bad line: {line!r}")
            base = re.sub(r"_(bucket|sum|count)$", "", m[1])
            ensure(m[1] in types or types.get(base) == "histogram", f"no TYPE for {line!r}")
            ensure(m[1] + m[2] not in values, f"twice: {line}")
            values[m[1] + m[2]] = float(m[3])
    return values


@test(settings={"sandboxes": {"queue_timeout_ms": 50}})
def metrics_count(d):
    a = d.request("GET", "/metrics")
    ensure(a.headers["Content-Type"].startswith("text/plain"), "Content-Type", a)
    before = parse(a.text)
    d.exec("sh", "true")
    d.exec("sh", "exit 3")
    d.exec("sh", "sleep 10", timeout_ms=100)
    s = d.sandbox()
    d.request("GET", "/nowhere")
    d.request("GET", "/healthz", headers={"Host": "evil.example"})
    d.ok("PATCH", "/v1/settings", {"sandboxes": {"max": 1}})
    d.refused("over_capacity", "POST", "/v1/sandboxes", {})
    p = d.post(f"/v1/sandboxes/{s}/processes", {"command": ["sleep", "100"]}, 201)
    after = parse(d.get("/metrics").decode())

    def grew(name):
        return after[name] - before[name]

    same((grew('cella_executions_total{status="exited"}'), grew('cella_executions_total{status="timeout"}')), (2, 1), "executions")
    same(grew("cella_execution_duration_seconds_count"), 3, "durations")
    buckets = [v for k, v in after.items() if k.startswith("cella_execution_duration_seconds_bucket")]
    same((buckets, buckets[-1]), (sorted(buckets), after["cella_execution_duration_seconds_count"]), "buckets")
    ensure(after["cella_execution_duration_seconds_sum"] >= 0.1, "sum of durations")
    same((after['cella_sandboxes{state="running"}'], after["cella_executions_running"], after["cella_queue_waiting"]), (1, 1, 0), "what is now")
    same((grew("cella_refused_capacity_total"), grew("cella_refused_auth_total")), (1, 1), "refusals")
    ensure(grew('cella_http_requests_total{code="2xx"}') >= 4 and grew('cella_http_requests_total{code="4xx"}') >= 3, "requests")
    ensure(after["cella_process_resident_memory_bytes"] > 1e6 and after["cella_http_connections"] >= 1, "memory, connections")
    d.delete(f"/v1/sandboxes/{s}/processes/{p['pid']}")


def check_operation(rules, o):
    """Each status is described, and the examples of request and answer follow their schemas."""
    name = o["operationId"]
    ensure(re.fullmatch(r"[a-z][A-Za-z]+", name), f"operationId {name}")
    for p in o["parameters"]:
        ensure(p["schema"].get("type"), f"{name}: parameter {p['name']}")
    errors = [status for status in o["responses"] if status >= "400"]
    ensure({"400", "500"} <= set(errors) and any(status < "400" for status in o["responses"]), f"{name}: {list(o['responses'])}")
    answers = [(status, rules.responses(o, status)) for status in o["responses"]]
    for where, content in [(status, a.get("content", {})) for status, a in answers] + [("request", o.get("requestBody", {}).get("content", {}))]:
        for media, described_ in content.items():
            ensure("example" in described_, f"{name} {where}: no example of {media}")
            if media != "text/event-stream" and "example" in described_:
                fault = rules.wrong(described_["schema"], described_["example"])
                ensure(not fault, f"the example of {name} {where}: {fault}")


@test
def the_validator_of_these_tests_refuses_what_the_description_does_not_have(d):
    rules = described.Document(d.get("/openapi.json"))
    ref, good = {"$ref": "#/components/schemas/Result"}, d.exec("sh", "echo a")
    same(rules.wrong(ref, good), None, "a result")
    for bad in ({**good, "colour": 1}, {k: v for k, v in good.items() if k != "stdout"}, {**good, "exit_code": "0"}, {**good, "status": "fine"},
                {**good, "usage": {**good["usage"], "x": 1}}, {**good, "signal": 1.5}, {**good, "files": [{"path": "a"}]}):  # fmt: skip
        ensure(rules.wrong(ref, bad), f"accepted: {bad}")


@test
def the_description_is_complete_and_agrees_with_the_server(d):
    doc = d.get("/openapi.json")
    rules = described.Document(doc)
    same(doc["openapi"], "3.1.0", "version of OpenAPI")
    ensure(doc["info"]["title"] and doc["info"]["version"], "info")
    table = routes()
    ensure(len(table) >= 40, f"only {len(table)} routes were found in the table")
    have = {(m.upper(), p) for p, ops in doc["paths"].items() for m in ops}
    same(have, set(table), "routes")
    for path, operations in doc["paths"].items():
        for method, o in operations.items():
            names = [p["name"] for p in o.get("parameters", []) if p["in"] == "path"]
            same(names, re.findall(r"\{(\w+)\}", path), f"parameters of {method} {path}")
            ensure(o["summary"] and o["responses"], f"{method} {path}")
            check_operation(rules, o)
    ids = [o["operationId"] for operations in doc["paths"].values() for o in operations.values()]
    same(len(set(ids)), len(ids), "names of operations that are used once")
    ensure("createSandbox" in ids and "exec" in ids, f"names of operations: {ids}")
    tags = {t["name"] for t in doc["tags"]}
    same({t for operations in doc["paths"].values() for o in operations.values() for t in o["tags"]}, tags, "tags")
    ensure(doc["servers"] and doc["components"]["securitySchemes"] and doc["security"], "servers and keys")
    exec_ = doc["paths"]["/v1/exec"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    from test_exec import BAD

    good = [{"runtime": "python3", "code": "print(6*7)"}, {"command": ["ls", "-la"], "timeout_ms": 5},
            {"runtime": "sh", "code": "x", "args": ["a"], "stdin": {"base64": "AA=="}, "env": {"A": "b"}, "files": {"a": "x", "b": {"base64": "AA=="}},
             "limits": {"cpus": 0.5, "cpu_time_ms": None}, "network": {"tier": "restricted"}, "session": "s", "workspace": "none", "encoding": "base64"}]  # fmt: skip
    for body in good:
        ensure(not rules.wrong(exec_, body), f"the description refuses {body}")
    refused = sum(bool(rules.wrong(exec_, body)) for body, _ in BAD)
    ensure(refused >= len(BAD) * 0.6, f"the description refuses only {refused} of {len(BAD)} bad bodies")
    settings = doc["components"]["schemas"]["Settings"]
    ensure(not rules.wrong(settings, d.get("/v1/settings")), "the settings are not as described")
    error = d.request("GET", "/nowhere").json()
    ensure(not rules.wrong(doc["components"]["schemas"]["Error"], error), "an error is not as described")
    kinds = doc["components"]["schemas"]["ErrorDetail"]["properties"]["kind"]["enum"]
    same(set(kinds), {"invalid_request", "unauthorized", "access_denied", "not_found", "runtime_not_found", "scan_refused", "too_large",
                      "over_capacity", "engine_unavailable", "isolation_unavailable", "internal", "timeout", "conflict"}, "kinds of errors")  # fmt: skip


@test
def every_route_answers_and_no_other(d):
    methods = {}
    for method, pattern in routes():
        methods.setdefault(pattern, set()).add(method)
    for pattern in methods:
        path = re.sub(r"\{\w+\}", "none", pattern)
        have = {m for p, ms in methods.items() if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", p), path) for m in ms}
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            if (method, path) in (("GET", "/mcp"), ("GET", "/v1/events")):
                continue  # MCP wants 405 of it where there is no stream to go on with; the other is one without an end
            a = d.request(method, path, b"{}" if method in ("POST", "PUT", "PATCH") else None)
            ensure(a.status < 500, f"{method} {path}", a)
            same(a.status == 405, method not in have, f"whether {method} {path} is 405", a)
            if a.status == 405:
                allowed = {m.strip() for m in a.headers["Allow"].split(",")}
                ensure(have <= allowed <= have | {"HEAD", "OPTIONS"}, f"Allow is {allowed}, not {have}", a)
                same(a.json()["error"]["kind"], "invalid_request", "kind", a)
    for path in ("/v1", "/v1/", "/v1/exec/", "/v1/execute", "/v1/sandboxes/x/y", "/v1//exec", "/../etc/passwd", "/v1/%2e%2e/exec", "/v1/exec%00"):
        a = d.request("GET", path)
        ensure(a.status in (400, 404), "what is not there", a)
    a = d.request("HEAD", "/healthz")
    ensure(a.status in (200, 405) and a.body == b"", "HEAD", a)
    ensure(d.request("OPTIONS", "/v1/exec").status in (200, 204, 404, 405), "OPTIONS")
    same(d.rows(), [], "executions in the log")


@test
def an_internal_error_has_a_name_that_the_log_has_too(d):
    workspaces = os.path.join(d.state, "workspaces")
    os.rename(workspaces, workspaces + ".away")
    support.write(workspaces)
    try:
        a = d.refused("internal", "POST", "/v1/exec", {"runtime": "sh", "code": "x", "session": "s"})
        id_ = re.search(r"err_[a-z2-7]{20}", a.json()["error"]["message"])
        ensure(id_, "the message has no id", a)
        d.logged(id_[0], "error")
    finally:
        os.unlink(workspaces)
        os.rename(workspaces + ".away", workspaces)
    same(d.exec("sh", "echo fine", session="t")["stdout"], "fine\n", "afterwards")


# Start and end of the daemon.


@test
def a_second_daemon_on_the_same_state_is_refused(d):
    other = Daemon(state=d.state, start=False, port=free_port())
    other.unix = support.here("other.sock")
    other.log_path = support.here("other.log")
    other.start(ready=False)
    rc = support.reap(other.process, 20)
    ensure(rc != 0, "a second one started")
    ensure(str(d.process.pid) in other.log() and "another cella serve" in other.log(), f"it said {other.log()}")
    same(d.exec("sh", "echo fine")["stdout"], "fine\n", "the first")
    # The second daemon cannot take the port or the socket of the first one, either.
    third = Daemon(name="third", start=False, port=d.port)
    third.start(ready=False)
    ensure(support.reap(third.process, 20) != 0, "it took a port that is in use")
    fourth = Daemon(name="fourth", start=False)
    fourth.unix = d.unix
    fourth.start(ready=False)
    ensure(support.reap(fourth.process, 20) != 0, "it took a socket that is in use")
    same(d.get("/healthz", unix=True), {"status": "ok"}, "the first")


@test
def sigterm_gives_executions_their_grace_time():
    for number in (signal.SIGTERM, signal.SIGINT):
        with Daemon({"limits": {"grace_ms": 3000}}, name=f"state{number}") as d:
            s = d.sandbox()
            seconds = support.nonce_seconds()
            results = {}

            def run(name, target, code):
                results[name] = d.request("POST", target, {"runtime": "sh", "code": code})

            polite = f"trap 'sleep 0.3; echo bye; exit 3' TERM; echo on; sleep {seconds} & wait"
            threads = [threading.Thread(target=run, args=("own", "/v1/exec", polite)),
                       threading.Thread(target=run, args=("shared", f"/v1/sandboxes/{s}/exec", polite))]  # fmt: skip
            [t.start() for t in threads]
            d.post(f"/v1/sandboxes/{s}/processes", {"command": ["sleep", seconds]}, 201)
            until(lambda: len(d.get("/v1/executions?status=running")["executions"]) == 3, 20, "all to run")
            until(lambda: len(support.with_argument(seconds)) == 3, 20, "what they start")
            begun = time.monotonic()
            d.stop(number=number)
            support.within(time.monotonic() - begun, 30, "the stop")
            [t.join() for t in threads]
            support.gone(seconds)
            for name, a in results.items():
                ensure(a.status == 200 and a.json()["stdout"] == "on\nbye\n" and a.json()["exit_code"] == 3, f"the answer of {name}", a)
                same(a.json()["status"], "cancelled", "status", a)
            d.start()
            same(sorted(r["status"] for r in d.rows()), ["cancelled"] * 3, "the log")
            same(d.get("/v1/executions/verify")["ok"], True, "verify")


@test(settings={"limits": {"grace_ms": 500}})
def code_that_ignores_sigterm_is_killed_after_the_grace_time(d):
    seconds = support.nonce_seconds()
    d.post("/v1/exec", {"runtime": "sh", "code": f"trap '' TERM; sleep {seconds}; sleep {seconds}", "detach": True}, 202)
    until(lambda: support.with_argument(seconds), 20, "the process")
    begun = time.monotonic()
    d.stop()
    ensure(time.monotonic() - begun >= 0.4, "it had no grace time")
    support.within(time.monotonic() - begun, 30, "the stop")
    support.gone(seconds)


@test(settings={"limits": {"grace_ms": 6000}})
def a_stopping_daemon_starts_no_execution(d):
    seconds = support.nonce_seconds()
    d.post("/v1/exec", {"runtime": "sh", "code": f"trap '' TERM; sleep {seconds}; sleep {seconds}", "detach": True}, 202)
    until(lambda: support.with_argument(seconds), 20, "it to run")
    body = b'{"runtime": "sh", "code": "echo x"}'
    with d.socket() as c:
        c.sendall(b"POST /v1/exec HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body))
        for _ in range(2):  # when these are answered, the server has read it
            d.get("/v1/health")
        d.process.send_signal(signal.SIGTERM)
        d.logged("shutting down")
        c.sendall(body)
        answer = c.recv(65536)
        ensure(answer.startswith(b"HTTP/1.1 503 ") and b'"engine_unavailable"' in answer, f"the answer is {answer}")
    same(support.reap(d.process, 20), 0, "exit status")
    d.start()
    same([r["status"] for r in d.rows()], ["cancelled"], "the log")


@test
def nothing_outlives_a_killed_daemon():
    for which in ("keeper", "server", "both"):
        with Daemon(name=f"state-{which}") as d:
            s = d.sandbox()
            seconds = support.nonce_seconds()
            d.post(f"/v1/sandboxes/{s}/processes", {"runtime": "sh", "code": f"setsid sleep {seconds} & sleep {seconds}"}, 201)
            until(lambda: len(support.with_argument(seconds)) >= 2, 20, "the processes")
            groups = d.kill(which)
            support.gone(seconds)
            d.start()
            d.left_nothing({}, groups)
            same([r["status"] for r in d.rows()], ["interrupted"], f"the log after kill -9 of {which}")
            same(d.exec("sh", "echo again")["stdout"], "again\n", "afterwards")


@test
def the_daemon_is_ready_within_20_seconds_and_logs_json():
    begun = time.monotonic()
    with Daemon() as d:
        support.within(time.monotonic() - begun, 20, "the start")
        lines = d.lines()
        ensure(all({"time", "level", "process", "message"} <= set(line) for line in lines), f"lines of the log are {lines}")
        same(len(lines), len(d.log().splitlines()), "lines that are JSON")


@test
def the_server_has_no_privilege():
    not_sanitized()
    with Daemon() as d:
        status = support.read(f"/proc/{d.server_pid()}/status")
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            same(int(re.search(rf"{name}:\s+(\w+)", status)[1], 16), 0, name)
        same((re.search(r"NoNewPrivs:\s+(\d)", status)[1], re.search(r"Seccomp:\s+(\d)", status)[1]), ("1", "2"), "no_new_privs, seccomp")
        uid = int(re.search(r"Uid:\s+(\d+)", status)[1])
        ensure(uid != 0 and (is_root() or uid == os.getuid()), f"its uid is {uid}")
