"""The whole product in a small internet: `cella run` as root and as an ordinary user, and a daemon.

The internet is that of the daemon's tests (test/api/internet.py), names and addresses in it are not used elsewhere."""

import contextlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "../api"))

import support  # noqa: E402
from daemon import Daemon  # noqa: E402
from internet import Internet  # noqa: E402
from support import ensure, fail  # noqa: E402

WAYS = ("run as root", "run as an ordinary user", "daemon")


def network_options(network):
    """A request's "network", as options of cella run."""
    words = ["--network", network["tier"]]
    for field, option in (("allowed_domains", "--allow"), ("blocked_domains", "--block"), ("allowed_private", "--allow-private")):
        for pattern in network.get(field, []):
            words += [option, pattern]
    return words


class Product:
    """Runs shell commands in sandboxes, in one of three ways.  files: {name: text}, in the working directory."""

    def __init__(self, way, network, files=None):
        self.way, self.network, self.files = way, network, files or {}
        self.daemon = None
        if way == "daemon":
            self.daemon = Daemon({"network": network, "pools": []}, tcp=False)
        else:
            self.directory = os.path.join(support.home, "files")
            os.makedirs(self.directory, exist_ok=True)
            for name, text in self.files.items():
                support.write(os.path.join(self.directory, name), text)

    def shell(self, code, env=None):
        """The result of a run, in the same form for both ways."""
        if self.daemon:
            return self.daemon.exec("sh", code, files=self.files, env=env or {})
        user = "user" if self.way == "run as an ordinary user" else None
        words = ["--json", *network_options(self.network), "--mount", self.directory + ":/files"]
        for name, value in (env or {}).items():
            words += ["--env", f"{name}={value}"]
        # The working directory is the code's own to write in, as in the daemon.
        return support.cella(["run", *words, "--", "sh", "-c", f"cp -r /files/. . ; {code}"], user=user).json()

    def __enter__(self):
        if self.daemon:
            self.daemon.__enter__()
        return self

    def __exit__(self, *about):
        if self.daemon:
            self.daemon.__exit__(*about)


__all__ = ["Daemon", "Internet", "Product", "WAYS", "contextlib", "ensure", "fail", "network_options", "os", "support"]
