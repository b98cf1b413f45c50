"""TCP ports for servers that tests start, and a daemon on one of them."""

import contextlib
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

CHOICE = random.SystemRandom()  # test processes are forks of one process: each must choose for itself


def free_port():
    """A free port below those that the kernel gives to outgoing connections.

    A server may be stopped and started again on its port.  Meanwhile a connection of another test must not get it."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
        end = int(f.read().split()[0])
    while True:
        port = CHOICE.randrange(10000, end) if end > 11000 else 0
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("0.0.0.0", port))
            except OSError:
                continue
            return s.getsockname()[1]


@contextlib.contextmanager
def serving(cella, server, room):
    """Runs `cella serve` with this server program, in a new directory below room. Gives its URL; at the end, it must exit with 0."""
    programs = pathlib.Path(tempfile.mkdtemp(dir=room))
    programs.chmod(0o755)  # the server is another user
    shutil.copy(cella, programs / "cella")
    shutil.copy(server, programs / "cella-server")
    port = free_port()
    with open(programs / "log", "wb") as log:
        p = subprocess.Popen([programs / "cella", "serve", "--listen", f"127.0.0.1:{port}", "--socket", programs / "socket",
                              "--state", programs / "state"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # fmt: skip
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        p.send_signal(signal.SIGTERM)
        if p.wait(60) != 0:
            raise AssertionError(f"the daemon ended with {p.returncode}:\n{(programs / 'log').read_text()[-2000:]}")
