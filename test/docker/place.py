"""Where a case of the table runs: a daemon, an engine, and an image of that engine."""

import os
import subprocess

import engines
import images
import support
from daemon import Daemon
from support import same

NAMES = ("native", *getattr(engines, "chosen", ("docker",)))
ATTACHED = tuple(f"{name}_attach" for name in NAMES[1:])  # the same engines, over their own stream instead of a socket
RUNTIMES = {"docker_nosockets": "nosockets", "docker_gvisor": "runsc"}  # engines.runtimes


def need(name, runtime=None):
    """Returns the container engine of this name, with this OCI runtime."""
    if name in engines.missing:
        raise support.Skip(engines.missing[name])
    if runtime and runtime not in engines.runtimes(engines.running[name].base):
        raise support.Skip(f"no {runtime} on this machine")
    return engines.running[name]


class Place:
    """A daemon with sandboxes of this engine.  with Place("podman") as p: p.exec(...)"""

    def __init__(self, name, **daemon):
        self.name, _, how = name.partition("_")
        self.docker = {"transport": "attach"} if how == "attach" else {"runtime": RUNTIMES[name]} if how else {}
        self.engine = None if name == "native" else need(self.name, self.docker.get("runtime"))
        env = {**os.environ, "DOCKER_HOST": f"unix://{self.engine.socket}"} if self.engine else None
        self.d = Daemon(start=False, env=env, **daemon)
        self.home = self.d.state + "-docker"

    def __enter__(self):
        if not self.engine:  # as links: these files are never written
            os.makedirs(self.d.state, exist_ok=True)
            subprocess.run(["cp", "-al", f"{engines.native}/images", self.d.state], check=True)
        self.d.start()
        self.d.ok("PATCH", "/v1/settings", {"pools": [], "images": {"pull": "never"}, "docker": self.docker}, unix=True)
        return self

    def __exit__(self, *error):
        self.d.__exit__(*error)
        if self.engine and error[0] is None:
            same(self.engine.containers(self.home), [], "containers that are left")
            same(os.listdir(self.home) if os.path.exists(self.home) else [], [], "files that are left")

    @property
    def what(self):
        return {"engine": "docker" if self.engine else "native"}

    def exec(self, *command, status=200, image="tiny:1", **more):
        words = {"command": list(command)} if command else {}
        return self.d.post("/v1/exec", {**self.what, "image": image, **words, **more}, status)

    def sh(self, code, **more):
        return self.exec("sh", "-c", code, **more)

    def sandbox(self, **more):
        return self.d.post("/v1/sandboxes", {**self.what, "image": "tiny:1", **more}, 201)["id"]

    def path(self, sandbox, rest=""):
        return f"/v1/sandboxes/{sandbox}{rest}"
