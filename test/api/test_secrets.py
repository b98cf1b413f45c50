"""Secrets: set, granted by key, passed to one execution, and removed from all output and stored data."""

import base64
import contextlib
import json
import os
import re
import threading
import urllib.parse

import support
from daemon import Daemon
from support import cella, ensure, same, test, until

VALUE = "S3cr3t/Value+with=Things-7Qx"
SHOW = "import os, sys; v = os.environ['TOKEN']\n"


def put(d, name="token", value=VALUE, status=201, **kwargs):
    return d.ok("PUT", f"/v1/secrets/{name}", {"value": value}, status, **kwargs)


def request(code, runtime="python3", **more):
    return {"runtime": runtime, "code": code, "secrets": {"TOKEN": "{{secret:token}}"}, **more}


def hidden(thing, what, value=VALUE):
    """Fails if the text contains the secret in any form."""
    text = thing if isinstance(thing, str) else json.dumps(thing, ensure_ascii=False)
    raw = value.encode()
    for form in (value, base64.b64encode(raw).decode(), raw.hex(), urllib.parse.quote(value, safe="")):
        ensure(form not in text, f"{what} has the value: {support.shorten(text)}")


@test
def a_secret_is_set_listed_changed_and_removed(d):
    same(d.get("/v1/secrets"), {"secrets": []}, "none yet")
    same(put(d), {"name": "token"}, "made")
    same(put(d, value=VALUE + "2", status=200), {"name": "token"}, "changed")
    put(d, "a.b-c_1", "four")
    listed = d.get("/v1/secrets")["secrets"]
    same([s["name"] for s in listed], ["a.b-c_1", "token"], "the list")
    same([set(s) for s in listed], [{"name", "created", "changed"}] * 2, "what it tells")
    same(d.get("/v1/secrets/token")["name"], "token", "one of them")
    same(d.post("/v1/exec", request(SHOW + "print(len(v))"))["stdout"], f"{len(VALUE) + 1}\n", "the newer one")
    d.delete("/v1/secrets/token")
    d.refused("not_found", "DELETE", "/v1/secrets/token")
    d.refused("not_found", "GET", "/v1/secrets/token")
    d.refused("not_found", "POST", "/v1/exec", request("print(1)"), "no secret 'token'")
    same([s["name"] for s in d.get("/v1/secrets")["secrets"]], ["a.b-c_1"], "the list")


@test
def a_bad_secret_is_refused_and_never_quoted(d):
    for name, body in (("1x", {"value": VALUE}), ("a%20b", {"value": VALUE}), ("x" * 65, {"value": VALUE}), ("x", {}), ("x", {"value": 7}),
                       ("x", {"value": "abc"}), ("x", {"value": "a\0bcd" + VALUE}), ("x", {"value": VALUE, "more": 1}),
                       ("x", {"value": VALUE * 4000}), ("x", {"value": "  ab \n"})):  # fmt: skip
        hidden(d.refused("invalid_request", "PUT", f"/v1/secrets/{name}", body).text, "the refusal")
    hidden(d.refused("invalid_request", "PUT", "/v1/secrets/x", '{"value": "%s' % VALUE).text, "the refusal")
    same(d.get("/v1/secrets"), {"secrets": []}, "secrets")
    hidden(d.log(), "the daemon's log")


@test
def both_forms_of_a_handle_work_and_others_do_not(d):
    put(d)
    for handle in ("{{secret:token}}", "token"):
        r = d.post("/v1/exec", request(SHOW + "print(len(v), v == %r)" % VALUE) | {"secrets": {"TOKEN": handle}})
        same(r["stdout"], f"{len(VALUE)} True\n", f"with {handle}")
    for secrets, part in (({"TOKEN": "{{secret:}}"}, "secrets.TOKEN"), ({"TOKEN": "secret:token"}, "secrets.TOKEN"), ({"TOKEN": 7}, "secrets.TOKEN"),
                          ({"1": "token"}, "secrets"), ({"A=B": "token"}, "secrets"), ("token", "secrets"), ({"TOKEN": VALUE}, "secrets.TOKEN")):  # fmt: skip
        hidden(d.refused("invalid_request", "POST", "/v1/exec", request("print(1)") | {"secrets": secrets}, part).text, "the refusal")
    d.refused("invalid_request", "POST", "/v1/exec", request("print(1)", env={"TOKEN": "x"}), "is also in env")
    d.refused("not_found", "POST", "/v1/exec", request("print(1)") | {"secrets": {"A": "token", "B": "other"}}, "no secret 'other'")
    same([r["status"] for r in d.rows()], ["exited"] * 2, "what was refused was never run")
    hidden(d.all_rows(), "the log")


@test
def a_key_uses_only_the_secrets_it_lists(d):
    for name in ("token", "other"):
        put(d, name, unix=True)
    exec_only = {"name": "k", "capabilities": ["sandbox.exec", "sandbox.manage"]}
    none = d.post("/v1/keys", exec_only, 201, unix=True)["key"]
    one = d.post("/v1/keys", exec_only | {"secrets": ["token"]}, 201, unix=True)["key"]
    every = d.post("/v1/keys", exec_only | {"secrets": ["*"]}, 201, unix=True)["key"]
    body, other = request("print(1)"), request("print(1)") | {"secrets": {"X": "other"}}
    s = d.post("/v1/sandboxes", {}, 201, key=none)["id"]
    for target in ("/v1/exec", f"/v1/sandboxes/{s}/exec", f"/v1/sandboxes/{s}/processes"):
        d.refused("access_denied", "POST", target, body, "access denied: secret 'token'", key=none)
        d.refused("access_denied", "POST", target, request("1") | {"secrets": {"X": "no-such"}}, "access denied", key=none)
    same(d.post("/v1/exec", body, key=one)["stdout"], "1\n", "its own")
    d.refused("access_denied", "POST", "/v1/exec", other, "access denied: secret 'other'", key=one)
    same(d.post("/v1/exec", other, key=every)["stdout"], "1\n", "all")
    d.refused("not_found", "POST", "/v1/exec", request("1") | {"secrets": {"X": "no-such"}}, key=every)
    for method, target, more in (("GET", "/v1/secrets", None), ("PUT", "/v1/secrets/x", {"value": VALUE}), ("DELETE", "/v1/secrets/token", None)):
        d.refused("access_denied", method, target, more, "access denied: secrets", key=every)
    keeper = d.post("/v1/keys", {"name": "s", "capabilities": ["secrets"]}, 201, unix=True)["key"]
    same(len(d.get("/v1/secrets", key=keeper)["secrets"]), 2, "who may")
    for bad in (["1x"], "token", [7], [""]):
        d.refused("invalid_request", "POST", "/v1/keys", exec_only | {"secrets": bad}, "secrets", unix=True)
    d.restart()
    d.refused("access_denied", "POST", "/v1/exec", other, "secret 'other'", key=one)
    same(d.post("/v1/exec", body, key=one)["stdout"], "1\n", "after a restart")


FORMS = """
import base64, json, urllib.parse, time
for stream in (sys.stdout, sys.stderr):
    print('raw', v, file=stream)
    print('base64', base64.b64encode(v.encode()).decode(), base64.b64encode(b'user:' + v.encode()).decode(), file=stream)
    print('hex', v.encode().hex(), v.encode().hex().upper(), file=stream)
    print('url', urllib.parse.quote(v, safe=''), json.dumps({'v': v}), file=stream)
    for c in v:
        stream.write(c)
        stream.flush()
        time.sleep(0.002)
    print(' end', file=stream, flush=True)
"""


@test
def every_form_of_a_secret_is_masked_across_reads(d):
    put(d)
    s = d.post("/v1/sandboxes", {}, 201)["id"]
    fresh = {"cwd": "/tmp"}  # a waiting interpreter cannot have another working directory
    for target, more in (("/v1/exec", {}), ("/v1/exec", fresh), ("/v1/exec", {"session": "one"}), (f"/v1/sandboxes/{s}/exec", {}),
                         ("/v1/exec", {"limits": {"output_bytes": 65536}})):  # fmt: skip
        r = d.post(target, request(SHOW + FORMS, **more))
        same(r["status"], "exited", "status")
        hidden(r, f"the result of {target} {more}")
        for stream in ("stdout", "stderr"):
            ensure(re.match(r"raw \*\*\*\nbase64 \*\*\* \S*\*\*\*\nhex \*\*\* \*\*\*\nurl \*\*\* \{\"v\": \"\*\*\*\"\}\n\*\*\* end\n$", r[stream]), stream, r[stream])
        with d.events("POST", target, request(SHOW + FORMS, **more)) as events:
            seen = list(events)
        hidden(seen, f"the events of {target} {more}")
        ensure("end" in "".join(data["text"] for name, data in seen if name == "stdout"), "the stream's end", str(seen))
    r = d.post("/v1/exec", request(SHOW + "print(v)", encoding="base64"))
    same(base64.b64decode(r["stdout"]), b"***\n", "asked for as base64")
    for runtime, code in (("sh", 'printf "%s\\n" "$TOKEN"; printf "%s" "$TOKEN" | tr a a'), ("node", "console.log(process.env.TOKEN)"), ("bash", "echo ${TOKEN}")):
        if runtime == "node" and not os.path.exists("/usr/bin/node"):
            continue
        for _ in range(2):
            r = d.post("/v1/exec", request(code, runtime))
            hidden(r, runtime)
            ensure("***" in r["stdout"], f"{runtime} had it", str(r))
    r = d.post("/v1/exec", request(SHOW + "sys.stdout.write(v[:-1])"))
    same(r["stdout"], VALUE[:-1], "what only begins as the value does")
    r = d.post("/v1/exec", request(SHOW + "sys.stdout.write('x' * 70000 + v + 'y' * 70000)"))
    same(r["stdout"], "x" * 70000 + "***" + "y" * 70000, "over several reads")


@test
def secrets_in_file_names_and_errors_are_masked(d):
    put(d, value="not-a-host-8x7y6z")
    value = "not-a-host-8x7y6z"
    r = d.post("/v1/exec", request(SHOW + "open('f-' + v + '.txt', 'w').write('1')\nopen('ordinary', 'w')"))
    same(sorted(f["path"] for f in r["files"]), ["f-***.txt", "ordinary"], "files")
    hidden(d.refused("runtime_not_found", "POST", "/v1/exec", request("1", "python3") | {"runtime": value}).text, "an error", value)
    a = d.request("POST", "/v1/exec", {"command": [value], "secrets": {"TOKEN": "token"}})
    ensure(a.status != 200, "no such command", a)
    hidden(a.text, "an error", value)
    # What the caller itself wrote into code, command and input is not kept, either.
    r = d.post("/v1/exec", request(f"print({value!r} == __import__('os').environ['TOKEN'])", stdin=value))
    same(r["stdout"], "True\n", "its own words")
    hidden(d.get(f"/v1/executions/{r['id']}"), "the log's input", value)
    ensure("***" in json.dumps(d.get(f"/v1/executions/{r['id']}")), "in its place")
    s = d.post("/v1/sandboxes", {}, 201)["id"]
    p = d.post(f"/v1/sandboxes/{s}/processes", {"command": ["sh", "-c", f"echo {value} $TOKEN; sleep 60"], "secrets": {"TOKEN": "token"}}, 201)
    hidden(p, "a process", value)
    same(p["command"][2], "echo *** $TOKEN; sleep 60", "its command")
    target = f"/v1/sandboxes/{s}/processes/{p['pid']}"
    until(lambda: "***" in d.get(f"{target}/output")["stdout"], 20, "its output")
    for what in (target, f"{target}/output", f"/v1/sandboxes/{s}/processes", "/v1/executions", f"/v1/executions/{p['id']}", "/v1/sandboxes", f"/v1/sandboxes/{s}"):
        hidden(d.request("GET", what).text, what, value)
    d.delete(target)


@test(settings={"network": {"tier": "standard"}})
def violations_are_masked_for_everyone_in_the_sandbox(d):
    put(d, value="s3cr3thostname")
    code = SHOW + "import socket\ntry:\n    socket.create_connection((v + '.example', 443), 3)\nexcept OSError as e:\n    print('no', e)\n"
    s = d.post("/v1/sandboxes", {"network": {"tier": "standard"}}, 201)["id"]
    both = [None, None]

    def other():
        both[1] = d.post(f"/v1/sandboxes/{s}/exec", {"runtime": "sh", "code": "touch begun; while [ ! -e go ]; do sleep 0.05; done"})

    t = threading.Thread(target=other)
    t.start()
    until(lambda: d.request("GET", d.file(s, "begun")).status == 200, 20, "the other one")
    both[0] = d.post(f"/v1/sandboxes/{s}/exec", request(code))
    d.put(s, "go", "")
    t.join()
    for r in both:
        ensure([v for v in r["violations"] if v["target"].startswith("***.example")], "the violation", str(r))
        hidden(r, "a result", "s3cr3thostname")
    with d.events("POST", "/v1/exec", request(code)) as events:
        seen = list(events)
    ensure([1 for name, _ in seen if name == "violation"], "the event", str(seen))
    hidden(seen, "events", "s3cr3thostname")
    hidden(d.request("GET", f"/v1/executions/{both[0]['id']}").text, "the log", "s3cr3thostname")


@test
def a_context_refuses_secrets_with_a_reason(d):
    put(d)
    s = d.post("/v1/sandboxes", {}, 201)["id"]
    c = d.post(f"/v1/sandboxes/{s}/contexts", {"runtime": "python3"}, 201)["id"]
    target = f"/v1/sandboxes/{s}/contexts/{c}/run"
    d.refused("invalid_request", "POST", target, {"code": "1", "secrets": {"TOKEN": "token"}}, "cannot be given to a run in a context")
    same(d.post(target, {"code": "import os; 'TOKEN' in os.environ", "secrets": {}})["results"][0]["data"], "False", "without")


@test
def tools_pass_secrets_to_the_code(d):
    put(d)
    r = d.post("/v1/tools/sandbox.exec", {"runtime": "python3", "code": SHOW + "print(v, len(v))", "secrets": {"TOKEN": "{{secret:token}}"}})
    same(r["stdout"], f"*** {len(VALUE)}\n", "sandbox.exec")
    r = d.post("/v1/tools/execute_shell", {"command": "echo $TOKEN", "secrets": {"TOKEN": "token"}})
    same(r["stdout"], "***\n", "execute_shell")
    d.refused("not_found", "POST", "/v1/tools/sandbox.exec", {"runtime": "sh", "code": "1", "secrets": {"T": "nope"}}, "no secret 'nope'")


@test
def no_stored_data_contains_the_value_of_a_secret(d):
    put(d)
    for more in ({}, {"cwd": "/tmp"}, {"session": "s"}):
        d.post("/v1/exec", request(SHOW + FORMS, **more))
        d.post("/v1/exec", request(SHOW + "raise ValueError(v)", **more))
    d.post("/v1/exec", {"command": ["sh", "-c", f"echo {VALUE}; echo $TOKEN"], "secrets": {"TOKEN": "token"}})
    hidden(d.get("/metrics").decode(), "/metrics")
    for what in ("/v1/executions", "/v1/settings", "/v1/health", "/v1/sandboxes", "/v1/keys", "/v1/secrets", "/openapi.json"):
        hidden(d.request("GET", what).text, what)
    d.stop()
    found = 0
    for folder, _, names in os.walk(d.state):
        for name in names:
            with contextlib.suppress(OSError), open(os.path.join(folder, name), "rb") as f:
                hidden(f.read().decode("latin-1"), f"{folder}/{name}")
                found += 1
    ensure(found >= 4, f"only {found} files were looked at")
    hidden(d.log(), "the daemon's log")
    sealed = os.stat(os.path.join(d.state, "secrets")).st_mode & 0o777, os.stat(os.path.join(d.state, "secret.key")).st_mode & 0o777
    same(sealed, (0o600, 0o600), "who may read them")
    d.start()
    same(d.post("/v1/exec", request(SHOW + "print(len(v))"))["stdout"], f"{len(VALUE)}\n", "after a restart")


@test
def kill_9_while_setting_leaves_the_old_or_the_new(d):
    put(d, value="value-0000")
    for round_ in range(4):
        last = [0]
        going = [True]

        def change():
            n = 0
            with contextlib.suppress(OSError, support.Failure, Exception):
                while going[0]:
                    n += 1
                    d.ok("PUT", "/v1/secrets/token", {"value": f"value-{n:04}"})
                    last[0] = n

        t = threading.Thread(target=change)
        t.start()
        until(lambda: last[0] > 3 + round_ * 5, 20, "some changes")
        d.kill()
        going[0] = False
        t.join()
        d.start()
        r = d.post("/v1/exec", request(SHOW + "print(int(v[6:]) * 2)"))
        ensure(int(r["stdout"]) // 2 in (last[0], last[0] + 1), f"after {last[0]} it is {r['stdout']}")
        left = {n for n in os.listdir(d.state) if n.startswith("secret")}
        ensure(left <= {"secret.key", "secrets", "secrets.lock", "secrets.new"}, f"files are {left}")


@test
def a_store_that_does_not_check_is_503_and_all_else_works(d):
    put(d)
    d.stop()
    path = os.path.join(d.state, "secrets")
    with open(path, "r+b") as f:
        f.seek(40)
        byte = f.read(1)
        f.seek(40)
        f.write(bytes([byte[0] ^ 1]))
    d.start()
    for method, target, body in (("GET", "/v1/secrets", None), ("PUT", "/v1/secrets/x", {"value": VALUE}), ("POST", "/v1/exec", request("print(1)"))):
        hidden(d.refused("engine_unavailable", method, target, body).text, "the refusal")
    same(d.exec("sh", "echo fine")["stdout"], "fine\n", "without secrets")


@test
def the_key_may_be_a_credential():
    folder = os.path.join(support.home, "credentials")
    os.mkdir(folder, 0o700)
    with open(os.path.join(folder, "cella-secret-key"), "w") as f:
        f.write(os.urandom(32).hex() + "\n")
    os.chmod(f.name, 0o400)
    with Daemon(env={**os.environ, "CREDENTIALS_DIRECTORY": folder}) as d:
        put(d)
        d.restart()
        same(d.post("/v1/exec", request(SHOW + "print(len(v))"))["stdout"], f"{len(VALUE)}\n", "after a restart")
        ensure(not os.path.exists(os.path.join(d.state, "secret.key")), "there is no key beside it")
        d.stop()
        d.env = None
        d.start()
        d.refused("engine_unavailable", "POST", "/v1/exec", request("print(1)"))


@test
def the_command_line_sets_lists_and_removes(d):
    same(cella(["secret", "set", "token", "--socket", d.unix], input=VALUE + "\n").rc, 0, "set")
    r = cella(["secret", "ls", "--socket", d.unix])
    ensure("token" in r.out and VALUE not in r.out, "ls", r)
    same(d.post("/v1/exec", request(SHOW + f"print(v == {VALUE!r})"))["stdout"], "True\n", "what was set")
    r = cella(["exec", "--socket", d.unix, "--secret", "TOKEN=token", "-", "sh", "-c", "echo $TOKEN ${#TOKEN}"])
    same((r.rc, r.out), (0, f"*** {len(VALUE)}\n"), "cella exec", r)
    same(cella(["exec", "--socket", d.unix, "--secret", "TOKEN", "-", "sh", "-c", "1"]).rc, 2, "a bad word")
    same(cella(["key", "add", "k", "--secret", "token", "--secret", "other", "--socket", d.unix]).rc, 0, "key")
    same(d.get("/v1/keys", unix=True)["keys"][0]["secrets"], ["token", "other"], "the key's list")
    same(cella(["secret", "rm", "token", "--socket", d.unix]).rc, 0, "rm")
    same(d.get("/v1/secrets", unix=True), {"secrets": []}, "gone")
