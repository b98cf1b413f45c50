"""Debian's docker-registry, pushed to by skopeo."""

import crypt  # pylint: disable=deprecated-module
import os
import re
import shutil
import socket
import subprocess
import time
import warnings

import registry_oci as oci
from ports import free_port
from registry import Skip, test

CONFIGURATION = """version: 0.1
log: {{accesslog: {{disabled: false}}, level: info}}
storage: {{filesystem: {{rootdirectory: {directory}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


class Registry:
    def __init__(self, t, user=None):
        if not shutil.which("docker-registry") or not shutil.which("skopeo"):
            raise Skip("no docker-registry or no skopeo")
        self.port = free_port()
        self.host, self.user, self.directory = f"127.0.0.1:{self.port}", user, t.directory
        self.log_path = t.directory + "/registry.log"
        text = CONFIGURATION.format(directory=t.directory + "/registry", port=self.port)
        if user:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                hashed = crypt.crypt(user[1], crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))
            with open(t.directory + "/htpasswd", "w", encoding="utf-8") as f:
                f.write(f"{user[0]}:{hashed}\n")
            text += f"auth: {{htpasswd: {{realm: here, path: {t.directory}/htpasswd}}}}\n"
        with open(t.directory + "/registry.yml", "w", encoding="utf-8") as f:
            f.write(text)
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(["docker-registry", "serve", t.directory + "/registry.yml"], stdout=log, stderr=log)

    def __enter__(self):
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                time.sleep(0.05)
        raise AssertionError("docker-registry does not start")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def push(self, images, name):
        layout = f"{self.directory}/layout-{len(os.listdir(self.directory))}"
        oci.write_layout(layout, images)
        who = ["--dest-creds", ":".join(self.user)] if self.user else []
        subprocess.run(["skopeo", "copy", "-q", "--insecure-policy", "--all", "--dest-tls-verify=false", *who, f"oci:{layout}",
                        f"docker://{self.host}/{name}"], check=True, env={**os.environ, "HOME": self.directory, "TMPDIR": self.directory,
                                                                  "XDG_RUNTIME_DIR": self.directory})

    def asked(self, since=0):
        """METHOD PATH of all requests; the log is written behind the answers."""
        time.sleep(0.2)
        with open(self.log_path, encoding="utf-8") as f:
            return re.findall(r'"((?:GET|HEAD) /v2/[^ ]*) HTTP', f.read())[since:]


IMAGES = [oci.Image([({"bin/sh": b"#!", "a": oci.noise(3 << 20, "r1")}, "gzip"), ({"b": oci.noise(1 << 20, "r2")}, "zstd"),
                     ({"c": b"third"}, "gzip")]),
          oci.Image([({"bin/sh": b"#!elsewhere"}, "gzip")], architecture=oci.ELSEWHERE)]


@test
def debians_registry_with_a_list_of_two_platforms(t):
    with Registry(t) as registry, t.imager() as imager:
        registry.push(IMAGES, "team/app:1.0")
        got = imager.image(f"{registry.host}/team/app:1.0")
        assert got["id"] == IMAGES[0].id and got["layers"] == IMAGES[0].diffs, got
        assert imager.content(got, "a") == oci.noise(3 << 20, "r1") and imager.content(got, "c") == b"third"
        before = len(registry.asked())
        assert imager.image(f"{registry.host}/team/app:1.0") == got
        again = registry.asked(before)
        assert again == ["GET /v2/", "HEAD /v2/team/app/manifests/1.0"], again
        other = imager.image(f"{registry.host}/team/app:1.0", platform=f"linux/{oci.ELSEWHERE}")
        assert other["id"] == IMAGES[1].id and imager.content(other, "bin/sh") == b"#!elsewhere"
        assert imager.image(f"{registry.host}/team/app@{IMAGES[0].digest}")["id"] == IMAGES[0].id
        assert imager.failure(f"{registry.host}/team/app:2")["kind"] == "not_found"
        assert imager.failure(f"{registry.host}/team/none:1")["kind"] == "not_found"


@test
def debians_registry_with_a_password(t):
    with Registry(t, user=("joe", "s:ecret")) as registry, t.imager() as imager:
        registry.push(IMAGES[:1], "private:1")
        error = imager.failure(f"{registry.host}/private:1")
        assert error["kind"] == "unauthorized" and f"docker login {registry.host}" in error["hint"], error
        error = imager.failure(f"{registry.host}/private:1", credentials={"username": "joe", "password": "wrong"})
        assert error["kind"] == "unauthorized" and "joe" in error["message"] and "wrong" not in error["message"], error
        assert imager.is_empty()
        got = imager.image(f"{registry.host}/private:1", credentials={"username": "joe", "password": "s:ecret"})
        assert got["id"] == IMAGES[0].id


@test
def debians_registry_goes_on_after_a_kill(t):
    """With a real registry's support for ranges, and a kill at any moment."""
    noise = oci.noise(12 << 20, "kill")
    image = oci.Image([({"x": noise}, "gzip")])
    with Registry(t) as registry:
        registry.push([image], "large:1")
        for delay in (0.02, 0.1):
            with t.imager() as imager:
                imager.send("pull", ref=f"{registry.host}/large:1")
                end = time.monotonic() + 10
                while not any(imager.parts().values()) and time.monotonic() < end:
                    time.sleep(0.005)
                time.sleep(delay)
                imager.kill()
                # The root comes first, then the description, then the name: a kill between leaves no name, or a whole image.
                if imager.names():
                    assert imager.names() == [f"{registry.host}/large:1"], imager.names()
                    assert len(imager.entries("meta")) == len(imager.entries("roots")) == 1
                imager.start()
                got = imager.image(f"{registry.host}/large:1")
                assert imager.content(got, "x") == noise and imager.parts() == {}
                assert imager.entries("tmp") == []
