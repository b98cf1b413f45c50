"""The daemon's images: /v1/images, and the jobs that it has cella-image do.

Most of it against a cella-image that is a fake (fake_imager.py), because the real one reads what strangers wrote and
the server has to bear with whatever comes of that; the last ones with the real one."""

import contextlib
import hashlib
import http.client
import io
import json
import os
import pathlib
import shutil
import signal
import socket
import tarfile
import time
import urllib.parse

import daemon
import images
import support
from daemon import Daemon
from support import ensure, fail, same, test, until

FAKE = pathlib.Path(__file__).resolve().with_name("fake_imager.py").read_text()
ALL = os.environ.get("CELLA_TEST_ALL")  # at import, before each test has its own environment
ANY = {"images": {"registries": ["*"]}}


def install(fake=True):
    """A copy of the programs with another cella-image beside them."""
    program = pathlib.Path(support.command[-1])
    place = pathlib.Path(support.home, "programs")
    place.mkdir(exist_ok=True)
    for name in ("cella", "cella-server", "cella-client"):
        shutil.copy(program.with_name(name) if name != "cella" else program, place / name)
    if fake:
        (place / "cella-image").write_text(FAKE)
        os.chmod(place / "cella-image", 0o755)
    for path in (place, place / "cella", place / "cella-server", place / "cella-client"):
        os.chmod(path, 0o755)
    support.command[-1] = str(place / "cella")


def not_installed():
    """For tests without any cella-image."""
    if os.path.exists("/usr/local/libexec/cella/cella-image"):
        raise support.Skip("cella-image is installed on this machine")


class Store:
    """The files of the fake in the store, beside the images."""

    def __init__(self, d):
        self.path = os.path.join(d.state, "images")

    def heard(self, **wanted):
        """Returns the lines of the fake's log with these values."""
        with contextlib.suppress(OSError):
            with open(os.path.join(self.path, "fake.log")) as f:
                lines = [json.loads(line) for line in f]
            return [x for x in lines if all(k in x and (v is ... or x[k] == v) for k, v in wanted.items())]
        return []

    def requests(self, op=None):
        return [x["request"] for x in self.heard(request=...) if op in (None, x["request"]["op"])]

    def go(self):
        """Lets the slow jobs continue."""
        with open(os.path.join(self.path, "go-slow"), "w"):
            pass
        os.chmod(self.path, 0o700)


def one(name):
    return "/v1/images/" + urllib.parse.quote(name, safe="")


def names(d):
    return sorted(n for image in d.ok("GET", "/v1/images")["images"] for n in image["names"])


def error(d, method, target, body=None, status=400, **more):
    """Sends a request that must fail, and returns its error."""
    a = d.request(method, target, body, **more)
    same(a.status, status, "status", a)
    return a.json()["error"]


def metric(d, name):
    for line in d.request("GET", "/metrics").text.splitlines():
        if line.startswith(f"cella_{name} "):
            return float(line.split()[1])
    fail(f"there is no metric {name}")


def imager_pid(d):
    for pid in daemon.descendants(d.process.pid):
        with contextlib.suppress(OSError):
            words = support.read(f"/proc/{pid}/cmdline").split("\0")
            if any(os.path.basename(w) == "cella-image" for w in words[:2]):
                return pid
    return None


@test
def an_image_is_pulled_with_events_and_found_by_its_name():
    install()
    with Daemon(settings=ANY) as d:
        same(d.ok("GET", "/v1/images"), {"images": []}, "images at first")
        same(error(d, "GET", one("fake/ok:1"), status=404)["kind"], "not_found", "kind")
        with d.events("POST", "/v1/images", {"pull": "fake/ok:1", "platform": "linux/arm64"}) as events:
            seen = list(events)
        same({name for name, _ in seen[:-1]}, {"progress"}, "events before the last")
        same(seen[0][1], {"layer": "sha256:" + "a" * 64, "phase": "download", "done": 0, "total": 4 << 20}, "the first")
        same({x["phase"] for _, x in seen[:-1]}, {"download", "unpack"}, "phases")
        same((seen[-1][0], seen[-1][1]["names"]), ("done", ["docker.io/fake/ok:1"]), "the last")
        image = d.ok("GET", one("fake/ok:1"))
        same(image, seen[-1][1], "the image")
        same(image["config"]["cmd"], ["sh"], "its command")
        for name in ("docker.io/fake/ok:1", image["id"], image["id"][:12]):
            same(d.ok("GET", one(name))["id"], image["id"], f"by {name}")
        same([x["id"] for x in d.ok("GET", "/v1/images")["images"]], [image["id"]], "the list")
        asked = Store(d).requests("pull")[0]
        same((asked["ref"], asked["platform"], asked["insecure"], asked["credentials"]), ("docker.io/fake/ok:1", "linux/arm64", False, None), "the request")
        started = Store(d).heard(started=True)[0]
        ensure(not support.is_root() or started["uid"] != 0, "cella-image is root")
        same(started["words"], [], "its arguments")
        plain = d.request("POST", "/v1/images", {"pull": "fake/more:2"})
        same((plain.status, plain.json()["names"]), (201, ["docker.io/fake/more:2"]), "without events")
        health = d.ok("GET", "/v1/health")["images"]
        same((health["images"], health["bytes"], health["jobs"]), (2, 2000, 0), "health")
        metrics = d.request("GET", "/metrics").text
        for line in ("cella_images 2", "cella_images_bytes 2000", 'cella_image_pulls_total{outcome="done"} 2', 'cella_image_pulls_total{outcome="failed"} 0'):
            ensure(f"\n{line}\n" in metrics, f"metrics lack {line}")
        same(d.ok("POST", "/v1/images/gc"), {"layers": 2, "roots": 1, "bytes": 3000}, "gc")
        same(d.request("DELETE", one("fake/ok:1")).status, 204, "removal")
        error(d, "DELETE", one("fake/ok:1"), status=404)
        same(names(d), ["docker.io/fake/more:2"], "what is left")


@test
def two_pulls_of_one_image_share_a_job_until_the_last_client_leaves():
    install()
    with Daemon(settings=ANY) as d:
        body, store = {"pull": "fake/slow:1"}, Store(d)
        first, second = d.events("POST", "/v1/images", body), d.events("POST", "/v1/images", {"pull": "docker.io/fake/slow:1"})
        until(lambda: store.requests("pull"), 20, "the pull")
        until(lambda: d.ok("GET", "/v1/health")["images"]["jobs"] == 1, 20, "one job")
        first.close()
        time.sleep(0.3)
        same(store.requests("cancel"), [], "cancels while one still waits")
        second.close()
        until(lambda: store.heard(how="cancelled"), 20, "its end without a client")
        same(len(store.requests("pull")), 1, "pulls")
        same(names(d), [], "images")
        # A process that is requested while the old one ends is a new one.
        third, fourth = d.events("POST", "/v1/images", body), d.events("POST", "/v1/images", body)
        until(lambda: len(store.requests("pull")) == 2, 20, "another pull")
        store.go()
        same([third.wait("done")["names"], fourth.wait("done")["names"]], [["docker.io/fake/slow:1"]] * 2, "what both get")
        third.close(), fourth.close()
        same(len(store.requests("pull")), 2, "pulls at the end")


@test
def hostile_lines_of_cella_image_fail_its_jobs_and_nothing_else():
    install()
    with Daemon(settings=ANY) as d:
        store = Store(d)
        d.ok("POST", "/v1/images", {"pull": "fake/ok:1"}, status=201)
        for what in ("nonsense", "array", "long", "endless", "event", "id", "image", "layer", "negative", "deep", "die", "killed"):
            e = error(d, "POST", "/v1/images", {"pull": f"fake/{what}"}, status=503)
            same(e["kind"], "engine_unavailable", f"kind after {what}")
            ensure("cella-image" in e["message"] and e["hint"], f"message after {what}: {e}")
        # The answer of a concurrent pull arrives, too.
        with d.events("POST", "/v1/images", {"pull": "fake/slow"}) as beside:
            until(lambda: any("slow" in r["ref"] for r in store.requests("pull")), 20, "the one beside")
            error(d, "POST", "/v1/images", {"pull": "fake/nonsense"}, status=503)
            same(beside.wait("error")["error"]["kind"], "engine_unavailable", "the error of the second client")
        e = error(d, "POST", "/v1/images", {"pull": "fake/words"}, status=503)
        ensure("\x1b" not in e["message"] + e["hint"] and "\x9b" not in e["hint"] and e["message"].startswith("evil ?[31m words?"), f"words: {e}")
        error(d, "POST", "/v1/images", {"pull": "fake/invented"}, status=404)
        d.ok("POST", "/v1/images", {"pull": "fake/stranger"}, status=201)
        with d.events("POST", "/v1/images", {"pull": "fake/flood"}) as events:
            seen = list(events)
        same(seen[-1][0], "done", f"the end of a flood ({seen[-1]})")
        same(d.exec("sh", "echo still here")["stdout"], "still here\n", "executions")
        same(names(d), [f"docker.io/fake/{n}" for n in ("flood:latest", "ok:1", "stranger:latest")], "images")
        ensure(len({x["pid"] for x in store.heard(started=True)}) >= 13, "each failure should have cost a process")


@test
def jobs_are_bounded_and_wait_for_their_turn():
    install()
    with Daemon(settings=ANY) as d:
        store = Store(d)
        events = [d.events("POST", "/v1/images", {"pull": f"fake{i}/slow"}) for i in range(10)]
        until(lambda: len(store.requests("pull")) == 8, 20, "eight at once")
        until(lambda: d.ok("GET", "/v1/health")["images"]["jobs"] == 10, 20, "ten jobs")
        time.sleep(0.2)
        same(len(store.requests("pull")), 8, "pulls at once")
        events.pop().close()  # of a job that has not begun
        events.pop(0).close()  # and of a running job: the next one takes its place
        until(lambda: len(store.requests("pull")) == 9, 20, "the ninth")
        same(d.ok("GET", "/v1/images"), {"images": []}, "answers meanwhile")
        more = [d.events("POST", "/v1/images", {"pull": f"more{i}/slow"}) for i in range(56)]
        until(lambda: d.ok("GET", "/v1/health")["images"]["jobs"] == 64, 20, "64 jobs")
        answer = d.request("POST", "/v1/images", {"pull": "one/too:many"})
        same((answer.status, answer.json()["error"]["kind"]), (429, "over_capacity"), "one too many")
        store.go()
        for e in events + more:
            e.wait("done")
            e.close()
        same(len(names(d)), 64, "images")


@test
def a_killed_cella_image_is_noticed_and_the_next_job_has_another():
    install()
    with Daemon(settings=ANY) as d:
        store = Store(d)
        with d.events("POST", "/v1/images", {"pull": "fake/slow"}) as events:
            pid = until(lambda: store.requests("pull") and imager_pid(d), 20, "cella-image")
            os.kill(pid, signal.SIGKILL)
            e = events.wait("error")["error"]
            same(e["kind"], "engine_unavailable", "kind")
        d.logged("cella-image was killed by signal 9", "error")
        d.ok("POST", "/v1/images", {"pull": "fake/ok:1"}, status=201)
        other = imager_pid(d)
        ensure(other not in (None, pid), "another process")
        d.stop()
    until(lambda: not os.path.exists(f"/proc/{other}"), 20, "its end with the daemon's")


def key_of(d, name, *may):
    return d.ok("POST", "/v1/keys", {"name": name, "capabilities": list(may)}, status=201, unix=True)["key"]


@test
def one_key_has_at_most_16_image_jobs():
    install()
    with Daemon(settings=ANY) as d:
        store, key, other = Store(d), key_of(d, "many", "images"), key_of(d, "other", "images")
        headers = {"Authorization": f"Bearer {key}"}
        events = [d.events("POST", "/v1/images", {"pull": f"fake{i}/slow"}, headers=headers) for i in range(16)]
        until(lambda: d.ok("GET", "/v1/health", unix=True)["images"]["jobs"] == 16, 20, "16 jobs")
        answer = d.request("POST", "/v1/images", {"pull": "fake/ok"}, headers=headers)
        same((answer.status, answer.json()["error"]["kind"]), (429, "over_capacity"), "the 17th of a key")
        ensure("one key" in answer.json()["error"]["message"], answer.text)
        more = [d.events("POST", "/v1/images", {"pull": "more/slow"}, headers={"Authorization": f"Bearer {other}"}), d.events("POST", "/v1/images", {"pull": "own/slow"}, unix=True)]
        until(lambda: d.ok("GET", "/v1/health", unix=True)["images"]["jobs"] == 18, 20, "those of others")
        store.go()
        for e in events + more:
            e.wait("done")
            e.close()
        answer = d.request("POST", "/v1/images", {"pull": "fake/ok"}, headers=headers)
        same(answer.status, 201, "when there is room again")


@test
def imports_and_sweeps_leave_places_to_others():
    install()
    with Daemon(settings=ANY) as d:
        store = Store(d)
        uploads = [upload(d, f"slow:{i}", b"x", cut=1, length=10) for i in range(8)]
        until(lambda: len(store.requests("import")) == 6, 20, "six imports")
        until(lambda: d.ok("GET", "/v1/health")["images"]["jobs"] == 8, 20, "eight jobs")
        answer = d.request("POST", "/v1/images", {"pull": "fake/ok:1"})
        same(answer.status, 201, "a pull beside them")
        same(d.request("DELETE", one("fake/ok:1")).status, 204, "a removal beside them")
        same((len(store.requests("import")), store.requests("gc")), (6, []), "imports at once")
        same(names(d), [], "a list meanwhile")
        uploads.pop(0).close()
        until(lambda: len(store.requests("import")) == 7, 20, "the seventh, in the place of the first")
        for sock in uploads:
            sock.close()
        until(lambda: d.ok("GET", "/v1/health")["images"]["jobs"] == 0, 20, "the end of all")


@test(timeout=90)
def an_upload_that_drips_is_ended():
    if not ALL:
        raise support.Skip("a slow upload takes half a minute: CELLA_TEST_ALL=1")
    install()
    with Daemon() as d:
        sock, waits = upload(d, "drips:1", b"x", cut=1, length=1 << 20), upload(d, "slow:1", b"x" * (2 << 20), cut=1 << 20, length=2 << 20)
        sock.settimeout(1)
        begun, said = time.monotonic(), b""
        while time.monotonic() - begun < 60 and b"\r\n\r\n" not in said:
            with contextlib.suppress(TimeoutError):
                said += sock.recv(4096)
            with contextlib.suppress(OSError):
                sock.sendall(b"x" * 500)
        ensure(25 < time.monotonic() - begun, f"after {time.monotonic() - begun} s")
        ensure(b"400 Bad" in said and b"too slowly" in said + sock.recv(4096), said)
        until(lambda: Store(d).heard(how="cancelled"), 20, "the end of its job")
        same(names(d), [], "images")
        # An upload that is not read is not slow by its own fault.
        same(d.ok("GET", "/v1/health")["images"]["jobs"], 1, "the one that waits")
        sock.close(), waits.close()


@test
def the_list_is_brief_and_shows_every_change_at_once():
    install()
    with Daemon(settings=ANY) as d:
        for i in range(4):
            d.ok("POST", "/v1/images", {"pull": f"fake/ok:{i}"}, status=201)
            same(len(d.ok("GET", "/v1/images")["images"]), i + 1, "images in the list")
        time.sleep(1.2)  # now the image is kept
        for _ in range(2):
            listed = d.ok("GET", "/v1/images")["images"]
            same(sorted(n for image in listed for n in image["names"]), [f"docker.io/fake/ok:{i}" for i in range(4)], "names")
        whole = d.ok("GET", one("fake/ok:1"))
        brief = next(image for image in listed if image["id"] == whole["id"])
        same(set(whole) - set(brief), {"layers"}, "what is left out")
        same(set(whole["config"]) - set(brief["config"]), {"env", "entrypoint", "cmd", "labels"}, "what is left out of its configuration")
        same({k: v for k, v in whole.items() if k in brief and k != "config"}, {k: v for k, v in brief.items() if k != "config"}, "the rest")
        same(d.request("DELETE", one("fake/ok:1")).status, 204, "removal")
        same(len(names(d)), 3, "the list after a removal")
        same(d.ok("GET", "/v1/health")["images"]["images"], 3, "health")
        # A change by another process.
        time.sleep(1.2)
        same(len(names(d)), 3, "kept again")
        refs = os.path.join(d.state, "images", "refs")
        os.rename(os.path.join(refs, "docker.io%2Ffake%2Fok:2"), os.path.join(refs, "renamed"))
        same(names(d), ["docker.io/fake/ok:0", "docker.io/fake/ok:3", "renamed"], "names after somebody else's change")


def upload(d, name, data, cut=None, length=None):
    """POST /v1/images/import by hand; cut: close after so many bytes.  The answer's status and object."""
    sock = d.socket(True, 30)
    head = f"POST /v1/images/import?name={urllib.parse.quote(name)} HTTP/1.1\r\nHost: cella\r\nContent-Length: {length or len(data)}\r\n\r\n"
    sock.sendall(head.encode())
    if cut is not None:
        sock.sendall(data[:cut])
        return sock
    sock.sendall(data)
    response = http.client.HTTPResponse(sock)
    response.begin()
    status, body = response.status, response.read()
    sock.close()
    return status, json.loads(body)


@test
def an_archive_is_uploaded_as_fast_as_it_is_read():
    install()
    with Daemon() as d:
        store, data = Store(d), os.urandom(1 << 20) * 40
        status, image = upload(d, "mine:1", data)
        same((status, image["names"]), (201, ["mine:1"]), "answer")
        got = store.heard(how="archive")[0]
        same((got["bytes"], got["digest"]), (len(data), hashlib.sha256(data).hexdigest()), "what arrived")
        # An upload that is not read stays with its sender.
        before, sent = int(metric(d, "process_resident_memory_bytes")), 0
        sock = upload(d, "slow:1", data, cut=1)
        sock.setblocking(False)
        still = time.monotonic() + 0.5
        while time.monotonic() < still and sent < len(data):
            with contextlib.suppress(BlockingIOError):
                sent += sock.send(data[1 + sent : 1 + sent + 65536])
                still = time.monotonic() + 0.5
            time.sleep(0.001)
        ensure(sent < 8 << 20, f"{sent} bytes were taken and not read")
        ensure(int(metric(d, "process_resident_memory_bytes")) - before < 16 << 20, "the server holds them")
        store.go()
        sock.setblocking(True)
        sock.sendall(data[1 + sent :])
        response = http.client.HTTPResponse(sock)
        response.begin()
        same(response.status, 201, "status at last")
        sock.close()
        same(store.heard(how="archive")[-1]["digest"], hashlib.sha256(data).hexdigest(), "what arrived of it")
        status, answer = upload(d, "broken:1", b"x" * 100_000)
        same((status, answer["error"]["message"], answer["error"]["hint"]), (400, "not an archive", "make a better one"), "one that is refused")


@test
def an_upload_that_is_cut_off_is_no_image():
    install()
    with Daemon() as d:
        store = Store(d)
        for i, data in enumerate((b"", b"x", b"x" * 300_000)):
            sock = upload(d, f"half:{i}", data, cut=len(data), length=10 << 20)
            until(lambda: len(store.requests("import")) == i + 1, 20, "the import")
            sock.close()
            until(lambda: len(store.heard(how="cancelled")) == i + 1, 20, "its end")
        same(store.heard(how="archive"), [], "archives that looked whole")
        same(names(d), [], "images")
        # Chunked, and ended in the middle of a chunk.
        sock = d.socket(True, 30)
        sock.sendall(b"POST /v1/images/import?name=half:9 HTTP/1.1\r\nHost: cella\r\nTransfer-Encoding: chunked\r\n\r\n1000\r\nabc")
        until(lambda: len(store.requests("import")) == 4, 20, "the last import")
        sock.shutdown(socket.SHUT_WR)
        until(lambda: len(store.heard(how="cancelled")) == 4, 20, "its end")
        sock.close()
        same(names(d), [], "images at the end")


@test
def rights_and_registries_are_checked():
    install()
    with Daemon() as d:
        keys = {name: d.ok("POST", "/v1/keys", {"name": name, "capabilities": may}, status=201, unix=True)["key"] for name, may in (("runs", ["sandbox.exec"]), ("brings", ["images"]))}
        for key, code in (("runs", 403), ("brings", None)):
            headers = {"Authorization": f"Bearer {keys[key]}"}
            same(d.request("GET", "/v1/images", headers=headers).status, 200, f"list by {key}")
            for method, target, body, fine in (("POST", "/v1/images", {"pull": "fake/ok"}, 201), ("DELETE", one("fake/ok"), None, 204), ("POST", "/v1/images/gc", None, 200)):
                answer = d.request(method, target, body, headers=headers)
                same(answer.status, code or fine, f"{method} {target} by {key}: {answer.text}")
        for ref, settings, insecure, word in (
            ("evil.example/x", {}, False, "images.registries"),
            ("169.254.169.254/x", {}, False, "images.registries"),
            ("localhost:5000/x", {"registries": ["docker.io"]}, False, "images.registries"),
            ("localhost:5000/x", {"registries": ["localhost:5000"]}, True, "insecure_registries"),
        ):
            d.ok("PATCH", "/v1/settings", {"images": {"registries": None, "insecure_registries": None, **settings}}, unix=True)
            e = error(d, "POST", "/v1/images", {"pull": ref, "insecure": insecure}, status=403, unix=True)
            ensure(word in e["message"], f"{ref}: {e}")
        d.ok("PATCH", "/v1/settings", {"images": {"registries": ["localhost:5000"], "insecure_registries": ["localhost:5000"], "credentials": {"localhost:5000": "{{secret:reg}}"}}}, unix=True)
        error(d, "POST", "/v1/images", {"pull": "localhost:5000/x"}, status=404, unix=True)  # there is no such secret
        d.ok("PUT", "/v1/secrets/reg", {"value": "me:pass\"word"}, status=201, unix=True)
        d.ok("POST", "/v1/images", {"pull": "localhost:5000/x"}, status=201, unix=True)
        last = Store(d).requests("pull")[-1]
        same((last["insecure"], last["credentials"]), (True, {"username": "me", "password": "pass\"word"}), "what is handed on")
        same(error(d, "POST", "/v1/images", {"pull": "docker.io/x"}, status=403, unix=True)["kind"], "access_denied", "kind")


@test
def requests_and_settings_are_checked():
    install()
    with Daemon() as d:
        for body in ({}, {"pull": ""}, {"pull": 1}, {"pull": "x", "ref": "y"}, {"pull": "UPPER/case"}, {"pull": "a b"}, {"pull": "x@sha256:12"}, {"pull": "../../x"}, {"pull": "x" * 600}, {"pull": "x", "insecure": "yes"}, {"pull": "x", "platform": ""}):
            error(d, "POST", "/v1/images", body, status=400)
        for settings in ({"pull": "always"}, {"registries": ["http://x"]}, {"registries": ["a/b"]}, {"registries": ["UPPER.example"]}, {"registries": [""]}, {"insecure_registries": ["*"]}, {"credentials": {"x y": "{{secret:a}}"}}, {"credentials": {"ghcr.io": "user:password"}}, {"registry": []}):
            e = error(d, "PATCH", "/v1/settings", {"images": settings}, status=400)
            ensure("images" in e["message"], f"{settings}: {e}")
        error(d, "GET", one("../../state.db"))
        error(d, "GET", "/v1/images/%00", status=400)
        error(d, "POST", "/v1/images/import?name=" + "x" * 600, status=400)
        same(Store(d).requests(), [], "what reached cella-image")


@test
def a_missing_cella_image_is_reported():
    not_installed()
    install(fake=False)
    with Daemon(settings=ANY) as d:
        for method, target, body in (("POST", "/v1/images", {"pull": "x"}), ("POST", "/v1/images/gc", None), ("DELETE", one("x"), None)):
            e = error(d, method, target, body, status=503)
            same((e["kind"], e["message"]), ("engine_unavailable", "cella-image is not installed"), "error")
        same(d.ok("GET", "/v1/images"), {"images": []}, "the list")


# With the real cella-image


def root_tar(size):
    """A root directory with one large file in it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, data in (("bin/sh", b"#!x\n"), ("large", os.urandom(size))):
            info = tarfile.TarInfo(name)
            info.mode, info.size = 0o755, len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def left_over(d):
    with contextlib.suppress(FileNotFoundError):
        return os.listdir(os.path.join(d.state, "images", "tmp"))
    return []


@test
def an_upload_to_the_real_cella_image_is_a_whole_image_or_none():
    data = root_tar(3 << 20)
    with Daemon() as d:
        status, image = upload(d, "mine:1", data)
        same((status, image["names"], image["source"], [x["name"] for x in image["runtimes"]]), (201, ["mine:1"], "import", ["sh"]), "answer")
        with open(os.path.join(d.state, "images", "roots", image["id"], "large"), "rb") as f:
            ensure(f.read() in data, "its file")
        for how in ("gone", "killed", "end"):
            sock = upload(d, f"half:{how}", data, cut=1 << 20)
            until(lambda: left_over(d), 20, "its beginning")
            if how == "killed":
                os.kill(imager_pid(d), signal.SIGKILL)
                response = http.client.HTTPResponse(sock)
                response.begin()
                same((response.status, json.loads(response.read())["error"]["kind"]), (503, "engine_unavailable"), "answer")
            if how == "end":
                sock.shutdown(socket.SHUT_WR)
                until(lambda: d.ok("GET", "/v1/health")["images"]["jobs"] == 0, 20, "the end of the job")
            sock.close()
            if how != "killed":
                until(lambda: not left_over(d), 20, "the end of what it left")
            same(names(d), ["mine:1"], f"images after {how}")
        status, answer = upload(d, "bad:1", b"no archive " * 10000)
        same((status, answer["error"]["kind"]), (400, "invalid_request"), "one that is no archive")
        same(d.request("DELETE", one("mine:1")).status, 204, "removal")
        d.ok("POST", "/v1/images/gc")
        same((names(d), os.listdir(os.path.join(d.state, "images", "roots")), left_over(d)), ([], [], []), "what is left")


def programs_tar(mark):
    """A root directory in which a shell runs."""
    out, (programs, libraries) = io.BytesIO(), images.FILES
    with tarfile.open(fileobj=out, mode="w") as t:
        for source, name in [(path, f"bin/{name}") for name, path in programs.items()] + [(os.path.realpath(path), path[1:]) for path in libraries]:
            t.add(source, name)
        info = tarfile.TarInfo("etc/mark")
        info.size = len(mark)
        t.addfile(info, io.BytesIO(mark.encode()))
    return out.getvalue()


def mark(d, image):
    """Returns what code in an image sees."""
    r = d.ok("POST", "/v1/exec", {"command": ["/bin/cat", "/etc/mark"], "image": image})
    return r["stdout"]


@test(settings={"images": {"pull": "never"}})
def an_image_pinned_by_its_id_is_used(d):
    first, second = (upload(d, name, programs_tar(name))[1]["id"] for name in ("base", "other"))
    for name in (first, "sha256:" + first, first[:12], "python@sha256:" + "1" * 64):
        status, answer = upload(d, name, root_tar(10))
        same((status, answer["error"]["kind"]), (400, "invalid_request"), f"an import as {name}")
    refs = os.path.join(d.state, "images", "refs")
    for name in (first, "sha256:" + first, first[:12]):  # as if such an import had succeeded
        shutil.copy2(os.path.join(refs, "other"), os.path.join(refs, name))
        os.chown(os.path.join(refs, name), os.stat(refs).st_uid, -1)
    for name in (first, "sha256:" + first, first[:12], "base"):
        same(mark(d, name), "base", f"what {name} is")
    same(mark(d, second[:12]), "other", "the other one")


@test(settings={"images": {"pull": "never"}, "pools": []})
def an_image_removed_while_a_sandbox_uses_it_is_deleted_after_the_sandbox(d):
    image = upload(d, "used:1", programs_tar("used"))[1]["id"]
    s = d.sandbox(image="used:1")
    same(d.exec("sh", "cat /etc/mark", s)["stdout"], "used", "before")
    same(d.request("DELETE", one("used:1")).status, 204, "removal")
    same(names(d), [], "names")
    d.refused("not_found", "POST", "/v1/exec", {"image": "used:1", "command": ["/bin/true"]}, "image not found: used:1")
    same(d.ok("POST", "/v1/images/gc")["roots"], 0, "what a sweep finds meanwhile")
    same(d.exec("sh", "cat /etc/mark; ls /bin/cat", s)["stdout"], "used/bin/cat\n", "the sandbox goes on")
    same(error(d, "DELETE", one(image), status=429)["kind"], "over_capacity", "by its id")
    d.delete(f"/v1/sandboxes/{s}")
    places = [os.path.join(d.state, "images", x) for x in ("refs", "meta", "layers", "roots", "tmp")]

    def swept():
        """Waits: the sandbox may need a moment to release the image."""
        d.ok("POST", "/v1/images/gc")
        return not any(os.listdir(place) for place in places)

    until(swept, 20, "an empty store")
    same(d.ok("GET", "/v1/images"), {"images": []}, "images")
