"""cella run on a terminal: bash, a REPL, window size, job control, Ctrl-C, and the terminal afterwards."""

import os
import signal
import subprocess

from support import Terminal, cella, ensure, expect, refused, run, same, script, test, until

PROMPT = b"ready$ "


def shell(*options):
    """Starts bash in a sandbox and waits for its prompt."""
    t = Terminal("run", *options, "-it", "-e", "PS1=" + PROMPT.decode(), "--", "bash", "--norc", "--noediting", env={**os.environ, "TERM": "xterm-256color"})
    t.wait(PROMPT)
    return t


def answer(t, line, wanted):
    t.seen = b""
    t.type(line.encode() + b"\n")
    t.wait(wanted.encode() + b"\r\n")
    t.wait(PROMPT)


@test(unwrapped=True)
def bash_has_a_terminal():
    t = shell()
    ensure(t.is_raw(), "the user's terminal is not raw")
    answer(t, "tty", "/dev/pts/0")
    answer(t, "stty size", "30 100")
    answer(t, "echo $TERM", "xterm-256color")
    t.type(b"exit 7\n")
    t.end(7)


@test(unwrapped=True)
def terminal_takes_on_the_size_of_the_users():
    t = Terminal("run", "-t", "python3", "-c", script(
        "import os, signal, sys",
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])",
        "print(os.get_terminal_size(), flush=True)",
        "signal.sigwait([signal.SIGWINCH])",
        "print(os.get_terminal_size())",
    ))  # fmt: skip
    t.wait(b"columns=100, lines=30")
    t.resize(50, 120)
    t.end(0)
    ensure(b"columns=120, lines=50" in t.seen, f"{t.seen!r}")


CONTINUES = script(
    "import os, signal, time",
    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCONT])",  # a handler would not end a sleep that begins just then
    "os.write(1, b'begun\\n')",
    "signal.sigwait([signal.SIGCONT])",
    "signal.signal(signal.SIGINT, signal.SIG_DFL)",  # for the same reason
    "os.write(1, b'continued\\n')",
    "while True: time.sleep(100)",
)


@test(unwrapped=True)
def jobs_are_stopped_continued_and_interrupted():
    with open("job.py", "w") as f:
        f.write(CONTINUES)
    t = shell("--workspace", ".")

    def after(keys, *wanted):
        t.seen = b""
        t.type(keys)
        for text in wanted:
            t.wait(text)

    after(b"python3 job.py\n", b"begun")
    after(b"\x1a", b"Stopped", PROMPT)
    after(b"fg\n", b"continued")
    after(b"\x03", PROMPT)
    after(b"\x03", PROMPT)  # the first interrupt ended the command
    after(b"echo $((6*7))\n", b"42")
    t.type(b"exit 3\n")
    t.end(3)


@test(unwrapped=True)
def runtime_without_a_file_is_a_repl():
    t = Terminal("run", "python3")
    t.wait(b">>> ")
    t.type(b"6*7\n")
    t.wait(b"42\r\n>>> ")
    t.type(b"\x04")
    t.end(0)


@test(unwrapped=True)
def command_on_a_terminal_has_one_without_options():
    t = Terminal("run", "--", "sh", "-c", "tty; tty <&1; tty <&2")
    t.end(0)
    same(t.seen.split(), [b"/dev/pts/0"] * 3, "what it printed")


@test(unwrapped=True)
def code_has_pipes_unless_a_terminal_is_requested():
    code = "import os; print(*map(os.isatty, range(3)))"
    for options, wanted in ((), b"False False False"), (("-t",), b"True True True"), (("-it",), b"True True True"):
        t = Terminal("run", *options, "python3", "-c", code)
        t.end(0)
        same(t.seen, wanted + b"\r\n", f"with {options}")
    t = Terminal("run", "-i", "--", "python3", "-c", code)
    t.end(0)
    same(t.seen, b"False False False\r\n", "a command with -i alone")


@test(unwrapped=True)
def redirected_errors_stay_redirected():
    with open("errors", "wb") as errors:
        t = Terminal("run", "--", "sh", "-c", "echo out; echo err >&2", stderr=errors)
        t.end(0)
    same(t.seen, b"out\r\n", "the terminal")
    with open("errors", "rb") as f:
        same(f.read(), b"err\n", "the file")


SWALLOWS = script(
    "import os, signal, time",
    "signal.signal(signal.SIGINT, lambda *_: os.write(1, b'interrupted\\n'))",
    "os.write(1, b'begun\\n')",
    "while True: time.sleep(100)",
)


@test(unwrapped=True)
def second_interrupt_ends_the_sandbox():
    t = Terminal("run", "-t", "python3", "-c", SWALLOWS)
    t.wait(b"begun")
    t.type(b"\x03")
    t.wait(b"interrupted")
    ensure(t.process.poll() is None, "the first Ctrl-C has ended it")
    t.type(b"\x03\x03")  # a slow machine: the second one may come after more than two seconds
    t.end(130)
    ensure(b"ended by a second Ctrl-C" in t.seen, f"no reason in {t.seen!r}")


@test(unwrapped=True)
def interrupt_is_a_key_for_code_that_reads_keys():
    """An editor in raw mode may receive any number of interrupt keys."""
    t = Terminal("run", "-t", "python3", "-c", script(
        "import os, tty",
        "tty.setraw(0)",
        "os.write(1, b'begun')",
        "got = b''",
        "while not got.endswith(b'q'): got += os.read(0, 100)",
        "os.write(1, b'%d' % got.count(3))",
    ))  # fmt: skip
    t.wait(b"begun")
    t.type(b"\x03\x03\x03")
    t.type(b"q")
    t.end(0)
    ensure(t.seen.endswith(b"begun3"), f"{t.seen!r}")


@test(unwrapped=True)
def terminal_is_restored_after_signals():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
        t = shell()
        ensure(t.is_raw(), "the terminal is not raw")
        t.process.send_signal(number)
        t.end(128 + number)


@test(unwrapped=True)
def terminal_is_restored_after_a_limit():
    t = Terminal("run", "--timeout", "1s", "--", "sh", "-c", "trap '' TERM; echo begun; sleep 100")
    t.end(124)
    ensure(b"begun\r\n" in t.seen and b"timeout" in t.seen, f"{t.seen!r}")


@test(unwrapped=True)
def terminal_is_given_back_while_cella_is_stopped():
    t = shell()
    t.process.send_signal(signal.SIGTSTP)
    until(lambda: not t.is_raw(), what="a terminal that is not raw while it is stopped")
    t.process.send_signal(signal.SIGCONT)
    until(t.is_raw, what="a terminal that is raw again")
    answer(t, "echo $((6*7))", "42")
    t.type(b"exit\n")
    t.end(0)


@test(unwrapped=True)
def closed_terminal_ends_the_sandbox():
    t = shell()
    os.close(t.slave)
    os.close(t.master)
    rc = t.process.wait(20)
    ensure(rc in (129, 141, -signal.SIGHUP), f"exit status {rc}")


@test(unwrapped=True)
def megabytes_reach_the_terminal_in_order():
    t = Terminal("run", "--", "seq", "300000")
    t.end(0)
    same(t.seen.replace(b"\r", b""), b"".join(b"%d\n" % n for n in range(1, 300001)), "output")


@test
def tty_needs_a_terminal():
    refused(run("-t", "--", "true"), 2, "--tty needs a terminal")
    refused(run("-it", "--", "true"), 2, "--tty needs a terminal")
    expect(run("-i", "--", "cat", input="x"), out="x")
    r = cella(["run", "--json", "-t", "--", "true"])
    same(r.rc, 2, "exit status", r)


@test
def runtime_without_a_file_needs_a_terminal():
    refused(run("python3"), 2, "nothing to run")
    refused(run("-i", "python3", stdin=subprocess.PIPE), 2, "nothing to run")


@test
def short_options_can_be_joined():
    expect(run("-eA=x", "-e", "B=y", "-i", "--", "sh", "-c", "echo $A$B"), out="xy\n")
    refused(run("-imx", "--", "true"), 2, "--memory takes a size", "not 'x'")
    refused(run("-ix", "--", "true"), 2, "unknown option '-ix'")
    refused(run("-timeout", "3", "--", "true"), 2, "unknown option '-timeout'", "did you mean --timeout?")
    refused(run("-e"), 2, "-e needs a value")


@test(unwrapped=True)
def no_color_is_respected():
    for env, wanted in (({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)):
        t = Terminal("run", "--cpus", "0", "--", "true", env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, **env})
        t.end(2)
        same(b"\x1b[31m" in t.seen, wanted, f"colour with {env}")
