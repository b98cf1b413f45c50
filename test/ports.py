"""TCP ports for servers that tests start."""

import random
import socket

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
