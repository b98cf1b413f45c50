"""Hostile registries: false content, endless answers, redirects, and attempts to get credentials."""

import base64
import json
import os
import shutil
import socket
import subprocess
import time

import registry_oci as oci
from registry import Skip, test
from registry_fake import Fake, Proxy, certificate
from registry_good import BIG, LAYER, bearer, cut_after, ranges, small, wait_for

SECRET = "Basic " + base64.b64encode(b"joe:secret").decode()
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
JOE = {"username": "joe", "password": "secret"}


def refused(t, image, rules, kind, word, most=8, **fields):
    """A pull with these rules fails, with this word in its message, soon, and leaves no image."""
    with Fake({"app:1": image}) as fake, t.imager() as imager:
        for pattern, action in rules.items():
            fake.rule(pattern, action)
        begun = time.monotonic()
        error = imager.failure(f"{fake.host}/app:1", **fields)
        assert time.monotonic() - begun < most, f"took {time.monotonic() - begun} s"
        assert error["kind"] == kind and word in error["message"], error
        assert imager.is_empty() and imager.entries("tmp") == [], "something is left"
        return fake, error


def endless(request, head=b"", chunk=b"x" * 65536):
    """An endless answer."""
    request.answer(200, b"", {"Content-Type": oci.MANIFEST, "Transfer-Encoding": "chunked"}, length=False)
    request.close_connection = True
    request.wfile.write(b"%x\r\n%s\r\n" % (len(head), head) if head else b"")
    while not request.server.fake.stopped:
        request.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))


# ---- false content ----

@test
def a_layer_with_another_digest_is_refused(t):
    def other(request):
        data = bytearray(BIG.blobs[LAYER])
        data[1000] ^= 1
        request.answer(200, bytes(data))
    fake, error = refused(t, BIG, {"/blobs/" + LAYER: other}, "invalid_request", "digest mismatch")
    assert LAYER[:19] in error["message"] and error["hint"] and len(fake.asked("/blobs/" + LAYER)) == 1


@test
def a_configuration_or_manifest_with_another_digest_is_refused(t):
    image = small()
    refused(t, image, {"/blobs/sha256:" + image.id: lambda r: r.answer(200, image.config_text + b" ")}, "invalid_request", "digest mismatch")
    wrong = {"Content-Type": oci.MANIFEST, "Docker-Content-Digest": "sha256:" + "0" * 64}
    refused(t, image, {"/manifests/": lambda r: r.answer(200, image.text, wrong)}, "invalid_request", "digest mismatch")
    with Fake({"app:1": image}) as fake, t.imager() as imager:
        fake.rule("/manifests/", lambda r: r.answer(200, image.text, {"Content-Type": oci.MANIFEST}))
        error = imager.failure(f"{fake.host}/app@sha256:{'1' * 64}")
        assert "digest mismatch" in error["message"] and imager.is_empty(), error


@test
def a_layer_with_another_diff_id_is_refused(t):
    image, other = small(), oci.Image([({"else": b"?"}, "gzip")])
    text = json.loads(image.text)
    text["layers"] = other.layers
    text = json.dumps(text).encode()
    data = {**image.blobs, **other.blobs}
    _, error = refused(t, image, {"/manifests/": lambda r: r.answer(200, text, {"Content-Type": oci.MANIFEST}),
                                  "/blobs/": lambda r: r.answer(200, data[r.path.split("/")[-1]])}, "invalid_request", "sha256:")
    assert "layer" in error["message"], error


@test
def inconsistent_manifests_are_refused(t):
    image = small()
    two = json.loads(image.text)
    two["layers"] *= 2
    many = json.loads(image.text)
    many["layers"] *= 128
    helm = json.loads(image.text)
    helm["config"]["mediaType"] = "application/vnd.cncf.helm.config.v1+json"
    for text, kind, word in ((b"<html>", "invalid_request", "JSON"), (b"", "invalid_request", "broken"), (b"[" * 5000, "invalid_request", "broken"),
                             (json.dumps(two).encode(), "invalid_request", "layers"), (json.dumps(many).encode(), "too_large", "128"),
                             (json.dumps(helm).encode(), "invalid_request", "helm")):
        refused(t, image, {"/manifests/": lambda r, text=text: r.answer(200, text, {"Content-Type": oci.MANIFEST})}, kind, word)


@test
def the_nesting_of_manifest_lists_is_limited(t):
    def nested(request):
        text = json.dumps({"schemaVersion": 2, "manifests": [{"mediaType": oci.INDEX, "digest": "sha256:" + "0" * 64, "size": 5,
                                                              "platform": {"os": "linux", "architecture": oci.HERE}}]}).encode()
        inner, chain = text, [text]
        for _ in range(5):
            entry = {"mediaType": oci.INDEX, "digest": oci.sha256(inner), "size": len(inner),
                     "platform": {"os": "linux", "architecture": oci.HERE}}
            inner = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
            chain.append(inner)
        texts = {oci.sha256(x): x for x in chain}
        request.answer(200, texts.get(request.path.split("/")[-1], inner), {"Content-Type": oci.INDEX})
    fake, _ = refused(t, small(), {"/manifests/": nested}, "invalid_request", "nested too deeply")
    assert len(fake.asked("/manifests/")) == 3


@test
def a_layer_of_another_length_is_refused(t):
    data = BIG.blobs[LAYER]
    refused(t, BIG, {"/blobs/" + LAYER: lambda r: r.answer(200, data[:100])}, "engine_unavailable", "size")
    refused(t, BIG, {"/blobs/" + LAYER: lambda r: r.answer(200, data + b"x")}, "engine_unavailable", "size")

    def short(request):
        request.answer(200, data[:1000], {"Transfer-Encoding": "identity", "Connection": "close"}, length=False)
        request.close_connection = True
    fake, _ = refused(t, BIG, {"/blobs/" + LAYER: short}, "engine_unavailable", "1000 of")
    assert len(fake.asked("/blobs/" + LAYER)) < 10


# ---- endless and slow answers ----

@test
def an_endless_manifest_ends(t):
    refused(t, small(), {"/manifests/": lambda r: endless(r, b'{"schemaVersion":2,"x":"')}, "too_large", "4194304")


@test
def an_endless_layer_ends_with_its_size(t):
    refused(t, BIG, {"/blobs/" + LAYER: endless}, "engine_unavailable", "more bytes")


@test
def an_endless_configuration_token_and_refusal_end(t):
    image = small()
    refused(t, image, {"/blobs/": endless}, "too_large", "1048576")

    def refusal(request):
        request.answer(404, b"", {"Transfer-Encoding": "chunked"}, length=False)
        request.close_connection = True
        while not request.server.fake.stopped:
            request.wfile.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
    refused(t, image, {"/manifests/": refusal}, "not_found", "app:1")
    refused(t, image, {"/token": endless, "/v2/": lambda r: r.answer(401, b"", {
        "WWW-Authenticate": f'Bearer realm="{r.server.fake.url}/token",service="x"'})}, "too_large", "65536")


@test
def huge_headers_end(t):
    def large(request):
        request.close_connection = True
        request.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while not request.server.fake.stopped:
            request.wfile.write(b"X-Filler: " + b"y" * 1000 + b"\r\n")
    refused(t, small(), {"/manifests/": large}, "too_large", "headers")


@test
def answers_that_come_too_slowly_are_refused(t):
    def head(request):
        request.drip(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 10000, 0.05)

    def body(request):
        request.answer(200, b"", {"Content-Length": str(len(BIG.blobs[LAYER]))})
        request.drip(BIG.blobs[LAYER], 0.05)

    def nothing(request):
        time.sleep(5)
        request.cut()
    refused(t, small(), {"/manifests/": head}, "engine_unavailable", "slowly", stall_ms=500)
    refused(t, small(), {"/v2/$": nothing}, "engine_unavailable", "slowly", stall_ms=500)
    # Each attempt receives a few bytes: so there are more attempts than without any.
    with Fake({"app:1": BIG}) as fake, t.imager() as imager:
        fake.rule("/blobs/" + LAYER, body)
        which = imager.send("pull", ref=f"{fake.host}/app:1", stall_ms=500)
        wait_for(lambda: len(fake.asked("/blobs/" + LAYER)) >= 3, "one drip is waited for", 10)
        imager.send("cancel", target=which)
        assert imager.answer(which)["event"] == "failed"


@test
def servers_that_do_not_speak_http_are_reported(t):
    refused(t, small(), {"/v2/$": lambda r: r.raw(b"SSH-2.0-OpenSSH_9.2\r\n" * 50)}, "engine_unavailable", "")
    with socket.socket() as deaf, t.imager() as imager:  # connections are not accepted there
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        with socket.create_connection(deaf.getsockname()):
            begun = time.monotonic()
            error = imager.failure(f"127.0.0.1:{deaf.getsockname()[1]}/app", connect_ms=700, stall_ms=1000)
            assert error["kind"] == "engine_unavailable" and time.monotonic() - begun < 18, error


# ---- ranges ----

@test
def a_range_that_is_ignored_begins_again(t):
    with Fake({"app:1": BIG}) as fake, t.imager() as imager:
        fake.rule("/blobs/" + LAYER, cut_after([500000]))
        fake.rule("/blobs/" + LAYER, lambda r: r.answer(200, BIG.blobs[LAYER]))
        got = imager.image(f"{fake.host}/app:1")
        assert imager.content(got, "x") == oci.noise(2 << 20, "big") and len(ranges(fake)) == 2


@test
def an_answer_with_another_range_is_not_used(t):
    def wrong(request):
        if not request.headers.get("Range"):
            return False
        return request.answer(206, b"z" * 1000, {"Content-Range": f"bytes 0-999/{len(BIG.blobs[LAYER])}"})
    with Fake({"app:1": BIG}) as fake, t.imager() as imager:
        fake.rule("/blobs/" + LAYER, cut_after([500000]))
        fake.rule("/blobs/" + LAYER, wrong)
        got = imager.image(f"{fake.host}/app:1")
        assert imager.content(got, "x") == oci.noise(2 << 20, "big")
        assert ranges(fake)[1] > 0 and ranges(fake)[2] == 0, ranges(fake)
    # And a range that was not requested:
    for part in ("bytes 5-9/10", "bytes 0-9/11", "x", "bytes 0-/10"):
        refused(t, BIG, {"/blobs/" + LAYER: lambda r, part=part: r.answer(206, b"z" * 10, {"Content-Range": part})},
                "engine_unavailable", "another range")


@test
def no_such_range_begins_again(t):
    with Fake({"app:1": BIG}) as fake, t.imager() as imager:
        fake.rule("/blobs/" + LAYER, cut_after([500000]))
        fake.rule("/blobs/" + LAYER, lambda r: r.answer(416) if r.headers.get("Range") else False)
        imager.image(f"{fake.host}/app:1")
        assert len(ranges(fake)) == 3 and ranges(fake)[2] == 0, ranges(fake)


# ---- redirects ----

@test
def redirects_do_not_go_on_for_ever(t):
    fake, _ = refused(t, small(), {"/blobs/": lambda r: r.answer(302, b"", {"Location": r.path + "x"})}, "engine_unavailable", "redirects too often")
    assert len(fake.asked("/blobs/")) == 6, fake.asked("/blobs/")


@test
def redirects_lead_to_http_servers_only(t):
    with open(t.directory + "/secret", "wb") as f:
        f.write(b"secret")
    os.chmod(t.directory + "/secret", 0o644)
    elsewhere = (f"file://{t.directory}/secret", "file:///etc/passwd", "unix:///run/docker.sock", "http+unix://%2Frun%2Fdocker.sock/x",
                 "ftp://127.0.0.1/x", "gopher://127.0.0.1:1/x", "dict://127.0.0.1/x", "smb://h/x", "http://", "http://[::1", "//:0/",
                 "javascript:x", "http://u:p@127.0.0.1:1/x", "http://u@127.0.0.1:1/x", "http://192.0.2.1/x", "http://registry.test/x",
                 "http://127.0.0.1.test/", "http://" + "x" * 20000)
    with Fake({"app:1": small()}) as fake, t.imager() as imager:
        for to in elsewhere:
            fake.rules[:] = [("/blobs/", lambda r, to=to: r.answer(302, b"", {"Location": to}))]
            fake.log.clear()
            error = imager.failure(f"{fake.host}/app:1")
            if len(to) < 16384:  # longer URLs are refused
                assert error["kind"] == "invalid_request" and "sends us to" in error["message"], (to, error)
            assert "secret" not in error["message"].replace("/secret", "") and len(fake.asked("/blobs/")) == 1, error
            assert imager.is_empty()


@test
def the_password_is_not_sent_to_a_remote_token_service_without_tls(t):
    with Fake({"app:1": small()}) as fake, t.imager() as imager:
        for realm in ("http://192.0.2.1/token", "http://tokens.test/", "file:///etc/passwd", "ftp://127.0.0.1/", "/token", ""):
            fake.rules.clear()
            bearer(fake, ["t"], realm=realm or " ")
            error = imager.failure(f"{fake.host}/app:1", credentials=JOE)
            assert error["kind"] == "invalid_request" and "sends us to" in error["message"], error
        assert all(r.headers.get("Authorization") is None for r in fake.log)


@test
def credentials_do_not_follow_a_redirect(t):
    image = small()
    with Fake() as thief, Fake({"app:1": image}) as fake, t.imager() as imager:
        thief.rule("", lambda r: r.answer(401, b"", {"WWW-Authenticate": 'Basic realm="give it to me"'}))

        def guard(request):
            if request.headers.get("Authorization") != SECRET:
                return request.answer(401, b"", {"WWW-Authenticate": 'Basic realm="x"'})
            return request.answer(307, b"", {"Location": thief.url + "/x"})
        fake.rule("", guard)
        error = imager.failure(f"{fake.host}/app:1", credentials=JOE)
        assert error["kind"] == "unauthorized", error
        assert thief.log and all(r.headers.get("Authorization") is None for r in thief.log)
        # A redirect of the token service does not get them, either.
        fake.rules.clear()
        thief.log.clear()
        fake.rule("/token", lambda r: r.answer(302, b"", {"Location": thief.url + "/token"}))
        bearer(fake, ["t"], realm=fake.url + "/token")
        imager.failure(f"{fake.host}/app:1", credentials=JOE)
        assert thief.log and all(r.headers.get("Authorization") is None for r in thief.log)
        # Nor the posted token.
        thief.log.clear()
        imager.failure(f"{fake.host}/app:1", credentials={"identitytoken": "refresh me"})
        assert thief.log == []


@test
def fields_of_a_request_cannot_add_headers(t):
    with Fake({"app:1": small()}) as fake, t.imager() as imager:
        bearer(fake, ["bad token\r\nX-More: 1"])
        error = imager.failure(f"{fake.host}/app:1")
        assert error["kind"] == "engine_unavailable" and "no token" in error["message"], error
        for credentials in ({"username": "a\r\nX: y", "password": "p"}, {"username": "a:b", "password": "p"}, {"identitytoken": "a\nb"},
                            {"username": "u" * 300}, "x", {"username": 3}):
            assert imager.failure(f"{fake.host}/app:1", credentials=credentials)["kind"] == "invalid_request", credentials
        fake.log.clear()
        for fields in ({"ref": f"{fake.host}/{'a' * 230}:1"}, {"ref": "a", "stall_ms": 30001}, {"ref": "a", "connect_ms": 0},
                       {"ref": "a", "connect_ms": "1"}):
            answer = imager.answer(imager.send("pull", **fields))
            assert answer["event"] == "failed" and answer["error"]["kind"] == "invalid_request" and fake.log == [], answer


# ---- TLS and proxies ----

def tls_fake(t, name, images):
    return Fake(images, tls=certificate(t.directory, name))


@test
def tls_is_verified_unless_insecure_is_set(t):
    with tls_fake(t, "127.0.0.1", {"app:1": small()}) as fake, t.imager() as imager:
        error = imager.failure(f"{fake.host}/app:1")
        assert error["kind"] == "engine_unavailable" and "TLS" in error["message"] and "update-ca-certificates" in error["hint"], error
        assert fake.log == [], "no request is sent to a server that cannot be verified, with TLS or without"
        imager.image(f"{fake.host}/app:1", insecure=True)


@test
def remote_registries_require_tls(t):
    with Fake({"app:1": small()}) as plain, Proxy(plain.port) as proxy:
        with t.imager(env={"https_proxy": proxy.url, "http_proxy": proxy.url}) as imager:
            error = imager.failure("registry.test/app:1", credentials=JOE)
            assert error["kind"] == "engine_unavailable" and "TLS" in error["message"], error
            assert {r.command for r in proxy.log} == {"CONNECT"} and plain.asked("/v2/") == []


@test
def a_remote_registry_cannot_redirect_to_this_machine(t):
    with Fake() as near, tls_fake(t, "registry.test", {"app:1": small()}) as fake, Proxy(fake.port) as proxy:
        view = trusting(t.directory + "/registry.test.pem", BUNDLE)
        with t.imager(env={"https_proxy": proxy.url, "http_proxy": proxy.url}, wrapper=view) as imager:
            for to in (near.url, near.url.replace("http:", "https:"), f"https://localhost:{near.port}/"):
                fake.rules[:] = [("/blobs/", lambda r, to=to: r.answer(302, b"", {"Location": to}))]
                error = imager.failure("registry.test/app:1")
                assert error["kind"] == "invalid_request" and "this machine" in error["message"], error
        assert near.log == []


@test
def insecure_holds_for_the_registry_and_not_for_its_redirects(t):
    with Fake() as near, tls_fake(t, "registry.test", {"app:1": small()}) as fake, Proxy(fake.port) as proxy:
        with t.imager(env={"https_proxy": proxy.url, "http_proxy": proxy.url}) as imager:
            for host in ("registry.test", "registry.test:5000"):
                other = "registry.test:5000" if host == "registry.test" else "registry.test:5001"
                for to, why in ((near.url, "this machine"), (f"http://0.0.0.0:{near.port}/", "this machine"), (f"http://[::ffff:7f00:1]:{near.port}/", "this machine"),
                                ("http://other.test/", "without TLS"), (f"http://{other}/", "without TLS"), ("http://registry.test.evil/", "without TLS"),
                                ("https://other.test/x", "TLS with other.test:443"), (f"https://{other}/x", f"TLS with {other}")):
                    fake.rules[:] = [("/blobs/", lambda r, to=to: r.answer(302, b"", {"Location": to}))]
                    error = imager.failure(f"{host}/app:1", insecure=True)
                    assert why in error["message"], (host, to, error)
                # Nor may another host be its token service.
                fake.rules[:] = [("/v2/", lambda r: r.answer(401, b"", {"WWW-Authenticate": 'Bearer realm="https://other.test/token"'}))]
                error = imager.failure(f"{host}/app:1", insecure=True, credentials=JOE)
                assert "TLS with other.test:443" in error["message"], error
                assert imager.is_empty()
                fake.rules[:] = []
                imager.image(f"{host}/app:1", insecure=True)
                assert imager.answer(imager.send("rm", name=f"{host}/app:1"))["event"] == "done"
        assert near.log == [] and fake.asked("/x|/token") == []


@test
def proxies_are_taken_from_the_environment(t):
    with tls_fake(t, "registry.test", {"app:1": small()}) as fake, Proxy(fake.port) as proxy:
        for variable in ("HTTPS_PROXY", "https_proxy"):
            with t.imager(env={variable: proxy.url}) as imager:
                imager.image("registry.test/app:1", insecure=True)
                assert [r.path for r in proxy.log][:1] == ["registry.test:443"], [r.path for r in proxy.log]
        proxy.log.clear()
        with t.imager(env={"HTTPS_PROXY": proxy.url, "NO_PROXY": "other.test,registry.test"}) as imager:
            error = imager.failure("registry.test/app:1")
            assert "registry.test:443" in error["message"] and proxy.log == [], error
        with Fake({"app:1": small()}) as near, t.imager(env={"https_proxy": proxy.url, "http_proxy": proxy.url}) as imager:
            imager.image(f"{near.host}/app:1")
            assert proxy.log == [], "to this machine there is no proxy"
        proxy.rules.insert(0, ("", lambda r: r.answer(407)))
        with t.imager(env={"https_proxy": proxy.url}) as imager:
            error = imager.failure("registry.test/app:1")
            assert error["kind"] == "engine_unavailable" and "HTTPS_PROXY" in error["hint"], error


def trusting(certificate_file, bundle):
    """A command before the program that lets it see one certificate instead of the system's."""
    if not os.path.exists(bundle) or not shutil.which("unshare"):
        raise Skip("no certificates of the system, or no unshare")
    os.chmod(certificate_file, 0o644)
    rights = [] if os.getuid() == 0 else ["--map-current-user", "--keep-caps"]
    view = ["unshare", *rights, "--mount", "--propagation", "private", "sh", "-c", f'mount --bind {certificate_file} {bundle} && exec "$@"', "-"]
    if subprocess.run([*view, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("no mount namespace to be had")
    return view


@test
def certificates_of_the_system_are_trusted(t):
    with tls_fake(t, "registry.test", {"app:1": small()}) as fake, Proxy(fake.port) as proxy:
        view = trusting(t.directory + "/registry.test.pem", BUNDLE)
        with t.imager(env={"https_proxy": proxy.url}, wrapper=view) as imager:
            imager.image("registry.test/app:1")
            error = imager.failure("other.test/app:1")
            assert "TLS" in error["message"], "but not by another name"
