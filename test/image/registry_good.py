"""Correct registries, and connections that break."""

import base64
import json
import os
import re
import threading
import time

import registry_oci as oci
from registry import test
from registry_fake import Fake


def small(text="hello", **how):
    return oci.Image([({"etc/motd": text.encode(), "bin/tool": b"#!"}, "gzip")], **how)


@test
def layers_of_every_compression_become_one_root(t):
    image = oci.Image([({"a/one": b"1", "a/two": b"2"}, "gzip"), ({"b/one": b"3"}, "zstd"), ({"a/two": b"new"}, "")])
    with Fake({"app:1": image}) as fake, t.imager() as imager:
        got = imager.image(f"{fake.host}/app:1")
        assert got["id"] == image.id and got["digest"] == image.digest, got
        assert got["layers"] == image.diffs and got["source"] == "pull" and got["names"] == [f"{fake.host}/app:1"], got
        for path, data in (("a/one", b"1"), ("a/two", b"new"), ("b/one", b"3")):
            assert imager.content(got, path) == data
        assert imager.parts() == {} and imager.entries("tmp") == [], "nothing is left over"


@test
def docker_manifests_are_pulled_as_oci_ones(t):
    image = small(docker=True)
    with Fake({"team/app:latest": image}) as fake, t.imager() as imager:
        got = imager.image(f"{fake.host}/team/app")
        assert got["id"] == image.id and imager.content(got, "etc/motd") == b"hello"
        accept = fake.header("/manifests/", "Accept")[0]
        assert oci.DOCKER_MANIFEST in accept and oci.INDEX in accept, accept


@test
def a_list_gives_the_image_of_this_machine_or_of_the_given_platform(t):
    here, there = small("here"), small("there", architecture=oci.ELSEWHERE)
    with Fake({"app:1": [there, here]}) as fake, t.imager() as imager:
        got = imager.image(f"{fake.host}/app:1")
        assert got["id"] == here.id and got["platform"] == f"linux/{oci.HERE}", got
        got = imager.image(f"{fake.host}/app:1", platform=f"linux/{oci.ELSEWHERE}")
        assert got["id"] == there.id and imager.content(got, "etc/motd") == b"there"
        error = imager.failure(f"{fake.host}/app:1", platform="linux/s390x")
        assert error["kind"] == "not_found", error
        assert all(f"linux/{a}" in error["message"] for a in ("amd64", "arm64", "s390x")), error
        assert imager.failure(f"{fake.host}/app:1", platform="PDP-11")["kind"] == "invalid_request"


@test
def an_image_for_another_machine_only_is_refused_before_its_layers(t):
    with Fake({"app:1": small(architecture=oci.ELSEWHERE)}) as fake, t.imager() as imager:
        error = imager.failure(f"{fake.host}/app:1")
        assert error["kind"] == "not_found" and f"linux/{oci.ELSEWHERE}" in error["message"], error
        assert len(fake.asked("/blobs/")) == 1 and imager.is_empty()


@test
def a_second_pull_makes_one_request(t):
    with Fake({"app:1": small()}) as fake, t.imager() as imager:
        first = imager.image(f"{fake.host}/app:1")
        fake.log.clear()
        assert imager.image(f"{fake.host}/app:1") == first
        assert fake.asked("/manifests/|/blobs/") == ["HEAD /v2/app/manifests/1"], fake.asked("")


@test
def a_second_pull_of_a_list_makes_no_blob_request_though_head_is_not_allowed(t):
    with Fake({"app:1": [small(), small("x", architecture=oci.ELSEWHERE)]}) as fake, t.imager() as imager:
        fake.rule("/manifests/", lambda r: r.answer(405) if r.command == "HEAD" else False)
        first = imager.image(f"{fake.host}/app:1")
        fake.log.clear()
        assert imager.image(f"{fake.host}/app:1") == first
        assert fake.asked("/blobs/") == [] and len(fake.asked("/manifests/")) == 3, fake.asked("")


@test
def a_known_digest_is_pulled_without_a_request(t):
    image = small()
    with Fake({"app:1": image}) as fake, t.imager() as imager:
        first = imager.image(f"{fake.host}/app@{image.digest}")
        assert first["id"] == image.id
        fake.log.clear()
        assert imager.image(f"{fake.host}/app@{image.digest}") == first
        assert fake.log == []


@test
def shared_layers_are_transferred_once(t):
    base = {"base": oci.noise(100000, "base")}
    one, two = oci.Image([(base, "gzip"), ({"x": b"1"}, "gzip")]), oci.Image([(base, "gzip"), ({"x": b"2"}, "gzip")])
    with Fake({"app:1": one, "app:2": two, "other:1": one}) as fake, t.imager() as imager:
        imager.image(f"{fake.host}/app:1")
        fake.log.clear()
        got = imager.image(f"{fake.host}/app:2")
        asked = {a.split("/")[-1] for a in fake.asked("/blobs/")}
        assert asked == {two.layers[1]["digest"], "sha256:" + two.id}, asked
        assert imager.content(got, "base") == base["base"]
        fake.log.clear()
        assert imager.image(f"{fake.host}/other:1")["id"] == one.id
        assert [a.split("/")[-1] for a in fake.asked("/blobs/")] == ["sha256:" + one.id]
        assert sorted(imager.names()) == sorted(f"{fake.host}/{n}" for n in ("app:1", "app:2", "other:1"))


@test
def a_tag_that_moved_is_another_image(t):
    old, new = small("old"), small("new")
    with Fake({"app:1": old}) as fake, t.imager() as imager:
        assert imager.image(f"{fake.host}/app:1")["id"] == old.id
        fake.images["app:1"] = new
        got = imager.image(f"{fake.host}/app:1")
        assert got["id"] == new.id and imager.content(got, "etc/motd") == b"new"


@test
def progress_is_reported_by_layer(t):
    image = oci.Image([({"x": oci.noise(3 << 20, "p")}, "gzip")])
    data = image.blobs[image.layers[0]["digest"]]

    def slowly(request):
        request.answer(200, data[:1 << 20], {"Content-Length": str(len(data))})
        for at in (1 << 20, 2 << 20):
            request.wfile.flush()
            time.sleep(0.2)
            request.wfile.write(data[at:at + (1 << 20)] if at == 1 << 20 else data[at:])
    with Fake({"app:1": image}) as fake, t.imager() as imager:
        fake.rule("/blobs/" + image.layers[0]["digest"], slowly)
        imager.image(f"{fake.host}/app:1")
        events = [e for e in imager.events if e["event"] == "progress"]
        assert {e["layer"] for e in events} == {image.diffs[0]} and {e["phase"] for e in events} <= {"download", "unpack"}, events
        done = [e["done"] for e in events if e["phase"] == "download"]
        assert len(done) >= 3 and done == sorted(done) and {e["total"] for e in events} == {len(data)}, events
        # However fast it is, the last event of a layer is sent.
        fake.rules.clear()
        for i in range(3):
            another = oci.Image([({"x": oci.noise(300000, f"p{i}")}, "gzip")])
            fake.images[f"app:{i + 2}"] = another
            imager.events.clear()
            imager.image(f"{fake.host}/app:{i + 2}")
            last = {e["phase"]: e["done"] for e in imager.events if e["event"] == "progress"}
            assert last["download"] == len(another.blobs[another.layers[0]["digest"]]), imager.events


# ---- credentials ----

def bearer(fake, tokens, token_path="/token", more=None, realm=None):
    """Requires one of the tokens everywhere except at the token service, which returns the next one."""
    given = []

    def guard(request):
        if request.path.startswith(token_path):
            return False
        if request.headers.get("Authorization") in [f"Bearer {x}" for x in given[-1:]]:
            return False
        challenge = f'Bearer realm="{realm or fake.url + token_path}",service="the service",scope="repository:evil:push"'
        return request.answer(401, b'{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}',
                              {"WWW-Authenticate": challenge})

    def service(request):
        if more and not more(request):
            return request.answer(401, b"{}")
        given.append(tokens[min(len(given), len(tokens) - 1)])
        return request.answer(200, json.dumps({"token": given[-1], "expires_in": 300}).encode())
    fake.rule("^" + token_path, service)
    fake.rule("", guard)
    return given


@test
def an_anonymous_token_is_for_one_repository(t):
    with Fake({"team/app:1": small()}) as fake, t.imager() as imager:
        bearer(fake, ["t1"])
        imager.image(f"{fake.host}/team/app:1")
        assert fake.asked("^/token") == ["GET /token?service=the%20service&scope=repository%3Ateam%2Fapp%3Apull"], fake.asked("^/token")
        assert fake.header("^/token", "Authorization") == [None]


@test
def a_password_goes_to_the_token_service(t):
    secret = "Basic " + base64.b64encode(b"joe:pa:ss").decode()
    with Fake({"app:1": small()}) as fake, t.imager() as imager:
        bearer(fake, ["t1"], more=lambda r: r.headers.get("Authorization") == secret)
        imager.image(f"{fake.host}/app:1", credentials={"username": "joe", "password": "pa:ss"})
        assert secret not in fake.header("/v2/", "Authorization"), "and not to the registry"
        error = imager.failure(f"{fake.host}/app:2", credentials={"username": "joe", "password": "wrong"})
        assert error["kind"] == "unauthorized" and "joe" in error["message"] and "docker login" in error["hint"], error
        assert "wrong" not in json.dumps(error)


@test
def an_identity_token_is_posted(t):
    with Fake({"app:1": small()}) as fake, t.imager() as imager:
        forms = []

        def service(request):
            if request.command != "POST":
                return False
            forms.append(request.rfile.read(int(request.headers["Content-Length"])).decode())
            return True
        bearer(fake, ["t1"], more=service)
        imager.image(f"{fake.host}/app:1", credentials={"identitytoken": "refresh+/me"})
        assert len(forms) == 1 and "grant_type=refresh_token" in forms[0] and "refresh_token=refresh%2B%2Fme" in forms[0], forms
        assert "scope=repository%3Aapp%3Apull" in forms[0] and fake.header("^/token", "Authorization") == [None]


@test
def a_token_that_ends_midway_is_renewed(t):
    image = oci.Image([({f"f{i}": oci.noise(50000, str(i))}, "gzip") for i in range(6)])
    with Fake({"app:1": image}) as fake, t.imager() as imager:
        given = bearer(fake, ["t1", "t2", "t3", "t4"])
        count = []

        def expire(request):
            count.append(request)
            if len(count) == 4:
                given.append("nobody has this")
            return False
        fake.rules.insert(0, ("/blobs/", expire))
        imager.image(f"{fake.host}/app:1")
        assert len(fake.asked("^/token")) == 2, fake.asked("^/token")


@test
def basic_credentials_are_sent_on_request(t):
    secret = "Basic " + base64.b64encode(b"joe:secret").decode()

    def guard(request):
        if request.headers.get("Authorization") == secret:
            return False
        return request.answer(401, b"", {"WWW-Authenticate": 'Basic realm="here"'})
    with Fake({"app:1": small()}) as fake, t.imager() as imager:
        fake.rule("", guard)
        error = imager.failure(f"{fake.host}/app:1")
        assert error["kind"] == "unauthorized" and f"docker login {fake.host}" in error["hint"], error
        error = imager.failure(f"{fake.host}/app:1", credentials={"helper": "desktop"})
        assert error["kind"] == "unauthorized" and "docker-credential-desktop" in error["hint"], error
        begun = len(fake.log)
        error = imager.failure(f"{fake.host}/app:1", credentials={"username": "joe", "password": "no"})
        assert error["kind"] == "unauthorized" and len(fake.log) - begun <= 3, (error, fake.asked(""))
        imager.image(f"{fake.host}/app:1", credentials={"username": "joe", "password": "secret"})


@test
def blobs_on_another_host_are_fetched_without_credentials(t):
    image = small()
    with Fake() as storage, Fake({"app:1": image}) as fake, t.imager() as imager:
        storage.rule("/store/", lambda r: r.answer(200, image.blobs[re.search("sha256:.*", r.path.split("?")[0])[0]]))
        bearer(fake, ["t1"])

        def away(request):
            if request.headers.get("Authorization") != "Bearer t1":
                return False
            return request.answer(307, b"", {"Location": f"{storage.url}/store/{request.path.split('/')[-1]}?signature=x"})
        fake.rules.insert(0, ("/blobs/", away))
        imager.image(f"{fake.host}/app:1")
        assert len(storage.log) == 2 and all(r.headers.get("Authorization") is None for r in storage.log)
        assert all(r.path.endswith("?signature=x") for r in storage.log)


@test
def a_relative_redirect_stays_at_the_same_registry(t):
    with Fake({"app:1": small()}) as fake, t.imager() as imager:
        bearer(fake, ["t1"])
        fake.rules.insert(0, (r"/v2/app/blobs/", lambda r: r.answer(302, b"", {"Location": r.path.replace("/v2/app", "/v2/other/app", 1)})))
        imager.image(f"{fake.host}/app:1")
        assert fake.header("/v2/other/app/", "Authorization") == ["Bearer t1", "Bearer t1"]


# ---- connections that break ----

BIG = oci.Image([({"x": oci.noise(2 << 20, "big")}, "")])
LAYER = BIG.layers[0]["digest"]


def cut_after(sizes):
    """Cuts the connection after so many bytes of the layer, in turn; then no more."""
    left = list(sizes)

    def rule(request):
        if not left:
            return False
        data = BIG.blobs[LAYER]
        part = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
        at = int(part[1]) if part else 0
        n = left.pop(0)
        if part:
            request.answer(206, data[at:at + n], {"Content-Range": f"bytes {at}-{len(data) - 1}/{len(data)}",
                                                  "Content-Length": str(len(data) - at)})
        else:
            request.answer(200, data[:n], {"Content-Length": str(len(data))})
        request.wfile.flush()
        return request.cut()
    return rule


def ranges(fake):
    return [int(re.fullmatch(r"bytes=(\d+)-", r)[1]) if r else 0 for r in fake.header("/blobs/" + LAYER, "Range")]


@test
def a_broken_download_is_resumed(t):
    with Fake({"app:1": BIG}) as fake, t.imager() as imager:
        fake.rule("/blobs/" + LAYER, cut_after([500000, 0, 300000]))
        got = imager.image(f"{fake.host}/app:1")
        assert imager.content(got, "x") == oci.noise(2 << 20, "big")
        assert len(ranges(fake)) == 4 and ranges(fake) == sorted(ranges(fake)) and ranges(fake)[-1] > 0, ranges(fake)


@test
def a_download_that_breaks_repeatedly_fails_and_the_next_pull_resumes_it(t):
    with Fake({"app:1": BIG}) as fake, t.imager() as imager:
        fake.rule("/blobs/" + LAYER, cut_after([400000] + [0] * 5))
        error = imager.failure(f"{fake.host}/app:1")
        assert error["kind"] == "engine_unavailable" and fake.host in error["message"], error
        parts = imager.parts()
        assert imager.is_empty() and list(parts) == [LAYER[7:] + ".part"] and 0 < parts[LAYER[7:] + ".part"] <= 400000, parts
        fake.rules.clear()
        fake.log.clear()
        got = imager.image(f"{fake.host}/app:1")
        assert ranges(fake) == list(parts.values()), ranges(fake)
        assert imager.content(got, "x") == oci.noise(2 << 20, "big") and imager.parts() == {}


def hold_after(n, reached):
    """Sends n bytes of the layer and then nothing."""
    def rule(request):
        request.answer(200, BIG.blobs[LAYER][:n], {"Content-Length": str(len(BIG.blobs[LAYER]))})
        request.wfile.flush()
        reached.set()
        while not request.server.fake.stopped and request.server.fake.rules:
            time.sleep(0.05)
        request.cut()
    return rule


def wait_for(condition, what, seconds=5):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


@test
def a_killed_pull_leaves_no_half_image_and_the_next_pull_resumes_it(t):
    reached = threading.Event()
    with Fake({"app:1": BIG}) as fake, t.imager() as imager:
        fake.rule("/blobs/" + LAYER, hold_after(700000, reached))
        imager.send("pull", ref=f"{fake.host}/app:1")
        assert reached.wait(20)
        wait_for(lambda: sum(imager.parts().values()) > 300000, "nothing was written")
        imager.kill()
        parts = imager.parts()
        assert imager.is_empty() and len(parts) == 1, parts
        fake.rules.clear()
        fake.log.clear()
        imager.start()
        got = imager.image(f"{fake.host}/app:1")
        assert ranges(fake) == list(parts.values()) and imager.content(got, "x") == oci.noise(2 << 20, "big")
        assert imager.parts() == {} and imager.entries("tmp") == []


@test
def a_cancelled_pull_ends_at_once(t):
    reached = threading.Event()
    with Fake({"app:1": BIG}) as fake, t.imager() as imager:
        fake.rule("/blobs/" + LAYER, hold_after(700000, reached))
        which = imager.send("pull", ref=f"{fake.host}/app:1")
        assert reached.wait(20)
        begun = time.monotonic()
        imager.send("cancel", target=which)
        answer = imager.answer(which)
        assert time.monotonic() - begun < 10 and answer["event"] == "failed" and "cancelled" in answer["error"]["message"], answer
        assert imager.is_empty()
        fake.rules.clear()
        imager.image(f"{fake.host}/app:1")


@test
def a_pull_ends_when_its_owner_leaves(t):
    reached = threading.Event()
    with Fake({"app:1": BIG}) as fake, t.imager() as imager:
        fake.rule("/blobs/" + LAYER, hold_after(700000, reached))
        imager.send("pull", ref=f"{fake.host}/app:1")
        assert reached.wait(20)
        begun = time.monotonic()
        imager.end()
        assert time.monotonic() - begun < 10 and imager.is_empty()


@test
def four_layers_come_at_once(t):
    image = oci.Image([({f"f{i}": oci.noise(1000, str(i))}, "gzip") for i in range(10)])
    digests = {d["digest"] for d in image.layers}
    lock, now, most = threading.Lock(), [0], [0]

    def count(request):
        if request.path.split("/")[-1] not in digests:
            return False
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.15)
        with lock:
            now[0] -= 1
        return False
    with Fake({"app:1": image}) as fake, t.imager() as imager:
        fake.rule("/blobs/", count)
        imager.image(f"{fake.host}/app:1")
        assert most[0] == 4, most


@test
def two_pulls_of_the_same_image_share_the_work(t):
    with Fake({"app:1": BIG}) as fake, t.imager() as imager:
        def slowly(request):
            time.sleep(0.3)
            return False
        fake.rule("/blobs/" + LAYER, slowly)
        first, second = imager.send("pull", ref=f"{fake.host}/app:1"), imager.send("pull", ref=f"{fake.host}/app:1")
        answers = [imager.answer(first), imager.answer(second)]
        assert all(a["event"] == "done" and a["image"]["id"] == BIG.id for a in answers), answers
        assert len(fake.asked("/blobs/" + LAYER)) == 1, fake.asked("/blobs/")


@test
def short_rate_limits_of_a_registry_are_obeyed(t):
    with Fake({"app:1": small(), "app:2": small("2")}) as fake, t.imager() as imager:
        fake.once("/manifests/1", lambda r: r.answer(429, b"", {"Retry-After": "1"}))
        begun = time.monotonic()
        imager.image(f"{fake.host}/app:1")
        assert time.monotonic() - begun > 0.9
        fake.rule("/manifests/2", lambda r: r.answer(429, b'{"errors":[{"code":"TOOMANYREQUESTS","message":"pull rate"}]}',
                                                     {"Retry-After": "3600"}))
        begun = time.monotonic()
        error = imager.failure(f"{fake.host}/app:2")
        assert time.monotonic() - begun < 20 and error["kind"] == "over_capacity", error
        assert "3600 s" in error["hint"] and "pull rate" in error["message"], error


@test
def a_temporary_server_error_is_retried(t):
    with Fake({"app:1": BIG}) as fake, t.imager() as imager:
        for pattern in ("/v2/$", "/manifests/", "/blobs/"):
            fake.once(pattern, lambda r: r.answer(503))
        imager.image(f"{fake.host}/app:1")
        fake.rule("/manifests/", lambda r: r.answer(502))
        error = imager.failure(f"{fake.host}/app:2")
        assert error["kind"] == "engine_unavailable" and "502" in error["message"] and "later" in error["hint"], error


@test
def a_missing_image_or_registry_is_reported(t):
    with Fake({"app:1": small()}) as fake, t.imager() as imager:
        error = imager.failure(f"{fake.host}/app:nope")
        assert error["kind"] == "not_found" and f"{fake.host}/app:nope" in error["message"] and error["hint"], error
        fake.rule("/v2/$", lambda r: r.answer(404, b"<html>"))
        error = imager.failure(f"{fake.host}/app:1")
        assert error["kind"] == "not_found" and "not a registry" in error["message"], error
        for ref in ("", "A", "../x", "x:y:z", None, 3, f"{fake.host}/a@sha256:123"):
            assert imager.failure(ref)["kind"] == "invalid_request", ref
    with t.imager() as imager:
        error = imager.failure(f"{fake.host}/app:1")
        assert error["kind"] == "engine_unavailable" and fake.host in error["message"] and "refused" in error["message"].lower(), error
        error = imager.failure("registry.invalid/app:1")
        assert error["kind"] == "engine_unavailable" and "registry.invalid:443" in error["message"] and error["hint"], error


@test
def a_partial_file_of_an_earlier_pull_is_verified(t):
    image = small()
    with Fake({"app:1": image}) as fake, t.imager() as imager:
        os.mkdir(f"{imager.store}/blobs")
        size, name = image.layers[0]["size"], f"{imager.store}/blobs/{image.layers[0]['digest'][7:]}.part"
        if os.getuid() == 0:
            os.chown(f"{imager.store}/blobs", 12345, 12345)
        for length in (size, size - 10, size + 10, 1 << 20):
            with open(name, "wb") as f:
                f.write(b"?" * length)
            os.chmod(name, 0o666)
            got = imager.image(f"{fake.host}/app:1")
            assert imager.content(got, "etc/motd") == b"hello"
            assert imager.answer(imager.send("rm", name=f"{fake.host}/app:1"))["event"] == "done"
            imager.answer(imager.send("gc"))


@test
def a_layer_that_would_pass_the_bound_of_the_store_is_cut_off_and_leaves_nothing(t):
    fits, noise = {"fits": os.urandom(1 << 20)}, os.urandom(6 << 20)
    images = {
        "small:1": oci.Image([(fits, "gzip")]),
        "both:1": oci.Image([(fits, "gzip"), ({"much": noise}, "gzip")]),  # detected from the manifest
        "bomb:1": oci.Image([({"much": b"\0" * (64 << 20)}, "gzip")]),  # detected during unpacking
    }
    with Fake(images) as fake, t.imager() as imager:
        assert imager.answer(imager.send("bound", bytes=4 << 20))["event"] == "done"
        got = imager.image(f"{fake.host}/small:1")
        layers = imager.entries("layers")
        fake.log.clear()
        for name in ("both:1", "bomb:1"):
            error = imager.failure(f"{fake.host}/{name}")
            assert error["kind"] == "over_capacity" and "4 MiB" in error["message"] and "cella image gc" in error["hint"], error
            assert imager.entries("layers") == layers and imager.parts() == {} and imager.entries("tmp") == [], "something is left"
        assert images["both:1"].layers[1]["digest"] not in "".join(fake.asked("/blobs/")), fake.asked("")
        assert imager.answer(imager.send("bound", bytes=0))["event"] == "done"
        assert imager.content(imager.image(f"{fake.host}/both:1"), "much") == noise
        assert imager.content(got, "fits") == fits["fits"]
