"""Holds the server after each system call that sends something, so that a test can kill it at exactly that moment."""

import ctypes
import os
import platform
import signal
import struct
import time

PTRACE_CONT, PTRACE_SYSCALL, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_GET_SYSCALL_INFO = 7, 24, 17, 0x4206, 0x4207, 0x420E
TRACESYSGOOD = 1
# write, writev, sendto, sendmsg, sendmmsg
SENDS = {"x86_64": {1, 20, 44, 46, 307}, "aarch64": {64, 66, 206, 211, 269}}[platform.machine()]

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, address=0, data=0):
    if libc.ptrace(request, pid, address, data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")


class Tracer:
    """Traces the main thread of a process.  Everything must be called from one thread."""

    def __init__(self, pid):
        self.pid, self.number = pid, None
        ptrace(PTRACE_SEIZE, pid, 0, TRACESYSGOOD)
        ptrace(PTRACE_INTERRUPT, pid)
        os.waitpid(pid, 0)

    def wait(self, seconds):
        """Polls, because the process may sleep for ever."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return status
            time.sleep(0.0002)
        raise TimeoutError(f"process {self.pid} made no system call in {seconds} s")

    def until_sent(self, seconds=20):
        """Continues the process until it has made a call that may send data; then it is stopped."""
        pending = 0
        while True:
            ptrace(PTRACE_SYSCALL, self.pid, 0, pending)
            status = self.wait(seconds)
            if not os.WIFSTOPPED(status):
                raise ProcessLookupError(f"the process ended with status {status:#x}")
            stop = os.WSTOPSIG(status)
            pending = 0
            if stop != signal.SIGTRAP | 0x80:
                pending = stop if stop != signal.SIGTRAP and status >> 16 == 0 else 0
                continue
            buffer = ctypes.create_string_buffer(128)
            ptrace(PTRACE_GET_SYSCALL_INFO, self.pid, ctypes.sizeof(buffer), ctypes.addressof(buffer))
            if buffer.raw[0] == 1:
                self.number = struct.unpack_from("<Q", buffer.raw, 24)[0]
            elif buffer.raw[0] == 2 and self.number in SENDS:
                return

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        while True:
            _, status = os.waitpid(self.pid, 0)
            if not os.WIFSTOPPED(status):
                return
