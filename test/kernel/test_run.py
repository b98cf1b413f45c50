"""Running code and commands: input, output, and the exit status."""

import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import support
from support import cella, ensure, expect, here, in_time, prints, reap, refused, run, same, spawn, test, within, write

SNIPPETS = {
    "python3": "import sys; print(6*7, sys.version_info[0])",
    "python": "print('42 3')",
    "sh": "echo $((6*7)) 3",
    "bash": "a=(1 2 3); echo $((6*7)) ${#a[@]}",
    "node": "console.log(6*7, [1,2,3].length)",
    "perl": "my @a=(1,2,3); print 6*7, ' ', scalar(@a), qq(\\n)",
}

for runtime, code in SNIPPETS.items():
    test(lambda r=runtime, c=code: prints("42 3\n", r, "-c", c), name=f"{runtime}_snippet_prints")


# Files, arguments, standard input as code.


@test
def python_file_gets_its_arguments():
    path = write("show.py", "import sys; print(sys.argv[1:])\n")
    prints("['a', 'b c', '', '--json', '-x']\n", "python3", path, "a", "b c", "", "--json", "-x")


@test
def file_sees_its_own_name():
    os.mkdir("deep")
    write("deep/show.py", "import sys, os; print(os.path.basename(sys.argv[0]), os.path.basename(__file__))\n")
    prints("show.py show.py\n", "python3", "deep/show.py")


@test
def sh_file_gets_its_arguments():
    path = write("show.sh", 'echo "$#:$1:$2"\n')
    prints("2:a:b c\n", "sh", path, "a", "b c")


@test
def snippet_gets_its_arguments():
    prints("['a', '-c']\n", "python3", "-c", "import sys; print(sys.argv[1:])", "a", "-c")


@test
def node_file_gets_its_arguments():
    path = write("show.js", "console.log(process.argv.slice(2).join())\n")
    prints("a,b c\n", "node", path, "a", "b c")


@test
def code_comes_from_standard_input():
    prints("['x'] ''\n", "python3", "-", "x", input="import sys; print(sys.argv[1:], repr(sys.stdin.read()))\n")


@test
def command_runs_with_its_arguments():
    prints("[a b][][--json]", "--", "printf", "[%s]", "a b", "", "--json")


@test
def options_end_at_the_runtime():
    prints("--timeout\n", "python3", "-c", "import sys; print(sys.argv[1])", "--timeout")


@test
def option_takes_its_value_after_an_equals_sign():
    prints("x\n", "--timeout=10s", "--env=A=x", "sh", "-c", "echo $A")


@test
def snippet_too_long_for_an_argument_runs():
    code = "#" + "x" * 120_000 + "\nprint('long')\n"
    prints("long\n", "python3", "-c", code)


@test
def file_of_3_megabytes_runs():
    path = write("big.py", "#" + "x" * 3_000_000 + "\nprint('big')\n")
    prints("big\n", "python3", path)


@test
def file_with_a_nul_byte_reaches_the_runtime_whole():
    path = write("nul.pl", b"print length(\"a\0b\"), qq(\\n);\n")
    prints("3\n", "perl", path)


@test
def runtime_with_a_version_is_that_program():
    name = f"python3.{sys.version_info[1]}"
    prints(f"{name}\n", name, "-c", "import sys; print(f'python3.{sys.version_info[1]}')")


# Standard input.


@test
def five_megabytes_of_binary_pass_through_cat():
    data = random.Random(5).randbytes(5_000_000)
    r = run("--", "cat", input=data)
    same(r.rc, 0, "exit status", r)
    ensure(r.raw == data, f"{len(r.raw)} bytes came back, not the {len(data)} that went in")


@test
def standard_input_can_be_a_file():
    data = random.Random(6).randbytes(300_000)
    write("data", data)
    with open("data", "rb") as f:
        r = run("--", "cat", stdin=f)
    same(r.rc, 0, "exit status", r)
    ensure(r.raw == data, "the file came back changed")


@test
def empty_standard_input_ends_at_once():
    in_time(prints("0\n", "sh", "-c", "wc -c", input=b""), 0.5)


def without(*descriptors):
    """For preexec_fn: closes these descriptors before cella starts."""
    return lambda: [os.close(fd) for fd in descriptors]


@test
def closed_standard_input_is_empty():
    prints("0\n", "sh", "-c", "wc -c", stdin=None, preexec_fn=without(0), timeout=3)


@test
def closed_standard_output_leads_nowhere_else():
    r = run("sh", "-c", "echo out; echo err >&2; exit 3", stdout=None, preexec_fn=without(1), timeout=3)
    ensure(r.rc in (3, 125, 128 + signal.SIGPIPE), "neither the code's exit status nor a reason", r)
    ensure("out" not in r.err, "stdout went to stderr", r)


@test
def closed_standard_descriptors_do_not_hold_the_run():
    r = run("sh", "-c", "echo out; echo err >&2; cat; exit 3", stdin=None, stdout=None, stderr=None,
            preexec_fn=without(0, 1, 2), timeout=3)
    ensure(r.rc in (3, 125, 128 + signal.SIGPIPE), "neither the code's exit status nor a reason", r)


@test
def input_that_is_not_read_does_no_harm():
    r = run("--", "true", input=bytes(5_000_000))
    expect(in_time(r, 1), out="")


@test
def input_that_stays_open_does_not_hold_the_run():
    p = spawn("run", "--", "echo", "done", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    begun = time.monotonic()
    out = p.stdout.read()
    reap(p)
    took = time.monotonic() - begun
    p.stdin.close()
    same(out, b"done\n", "stdout")
    within(took, 5, "a run with standard input held open")


@test
def input_is_passed_on_line_by_line():
    p = spawn("run", "--", "cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for line in (b"one\n", b"two\n"):
        p.stdin.write(line)
        p.stdin.flush()
        same(p.stdout.readline(), line, "what came back")
    p.stdin.close()
    same(reap(p), 0, "exit status")


# Output.


@test
def output_is_passed_on_before_the_code_ends():
    """The code prints the second line only after the first one was read here."""
    p = spawn("run", "sh", "-c", "echo first; read answer; echo $answer", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    same(p.stdout.readline(), b"first\n", "the first line")
    p.stdin.write(b"last\n")
    p.stdin.close()
    same(p.stdout.read(), b"last\n", "the rest")
    same(reap(p), 0, "exit status")


@test
def stdout_and_stderr_stay_apart():
    expect(run("sh", "-c", "echo out; echo err >&2"), out="out\n", err="err\n")


@test
def output_of_20_megabytes_is_whole():
    r = run("python3", "-c", "import sys\nfor i in range(20): sys.stdout.buffer.write(bytes([65+i])*1_000_000)")
    same(r.rc, 0, "exit status", r)
    ensure(r.raw == b"".join(bytes([65 + i]) * 1_000_000 for i in range(20)), f"{len(r.raw)} bytes came, or others")


@test
def output_just_before_the_end_is_not_lost():
    code = "import os; os.write(1, b'x'*60000); os.write(2, b'y'*60000); os._exit(9)"
    expect(run("python3", "-c", code), rc=9, out="x" * 60000, err="y" * 60000)


@test
def output_goes_to_a_file_whole():
    with open("out", "wb") as f:
        r = run("sh", "-c", "yes | head -c 3000000", stdout=f)
    same(r.rc, 0, "exit status", r)
    same(os.path.getsize("out"), 3_000_000, "size of the file")


@test
def streamed_output_can_be_limited():
    r = run("--output", "1000", "sh", "-c", "printf '%0600d' 1; printf '%0600d' 2; printf '%0600d' 3")
    whole = "%0600d" % 1 + "%0600d" % 2 + "%0600d" % 3
    same(r.rc, 0, "exit status", r)
    ensure(r.out.startswith(whole[:500]) and r.out.endswith(whole[-500:]), "not the first and the last half", r)
    ensure(len(r.out) < 1100 and "800" in r.out[500:-500], "no marker between the halves", r)


# Exit status.


for code in (0, 1, 3, 255):
    test(lambda c=code: expect(run("sh", "-c", f"exit {c}"), rc=c, out=""), name=f"exit_code_{code}_is_passed_on")

def die_by(number):
    code = f"""
import os, signal
if {number} != signal.SIGKILL:
    signal.signal({number}, signal.SIG_DFL)
os.kill(os.getpid(), {number})
"""
    expect(run("python3", "-c", code), rc=128 + number, out="")


for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGUSR1, signal.SIGPIPE):
    test(lambda n=int(number): die_by(n), name=f"{number.name.lower()}_gives_128_and_its_number")


@test
def timeout_gives_124():
    r = run("--timeout", "300ms", "--grace", "100ms", "sh", "-c", "echo begun; sleep 10")
    expect(in_time(r, 0.4), rc=124, out="begun\n", err="cella: stopped after 300 ms (--timeout)\n")


@test(users=["root"])
def memory_limit_gives_137():
    r = run("--memory", "32M", "python3", "-c", "print('begun', flush=True); x = bytearray(200<<20)")
    expect(r, rc=137, out="begun\n", err="cella: stopped at 32 MiB of memory (--memory)\n")


@test
def runtime_that_does_not_exist_gives_125():
    r = refused(run("cobol", "-c", "x"), 125)
    ensure(r.err.startswith("cella: runtime not found: cobol"), "the message does not begin as it should", r)
    ensure("; " in r.err, "there is no hint", r)


@test
def known_runtime_that_is_not_installed_gives_125_and_says_how_to_get_it():
    r = refused(run("python3.99", "-c", "x"), 125, "cella image pull python:3.99-slim")
    ensure(r.err.startswith("cella: runtime not found: python3.99"), "the message does not begin as it should", r)


@test
def command_that_does_not_exist_gives_127():
    for words in (["no-such-program", "x"], ["/no/such/program"], ["./missing"]):
        refused(run("--", *words), 127, f"command not found: {words[0]}")
    r = run("--json", "--", "no-such-program")
    same((r.rc, json.loads(r.out)["error"]["kind"]), (127, "not_found"), "as JSON", r)
    expect(run("sh", "-c", "no-such-program"), rc=127, out="", err=None)


@test
def command_that_is_no_program_gives_125():
    refused(run("--", "/etc/passwd"), 125, "/etc/passwd")


@test
def version_and_help_go_to_stdout():
    r = expect(cella(["version"]))
    ensure(r.out.startswith("cella ") and r.out.count("\n") == 1, "not a version", r)
    for words in (["help"], ["run", "--help"], ["help", "run"], ["--help"]):
        r = expect(cella(words))
        ensure("cella" in r.out, "not a help", r)
    r = expect(cella(["run", "--help"]))
    for option in ("--timeout", "--memory", "--workspace", "--mount", "--json", "--env"):
        ensure(option in r.out, f"the help does not have {option}", r)


@test
def help_of_run_fits_on_a_screen_and_begins_with_examples():
    lines = expect(cella(["run", "--help"])).out.splitlines()
    ensure(len(lines) <= 23 and max(map(len, lines)) <= 80, f"{len(lines)} lines, the longest has {max(map(len, lines))} characters")
    same([line.split()[:2] for line in lines[2:7]], [["cella", "run"]] * 5, "the first lines")
    whole = expect(cella(["help", "run"])).out
    for option in set(re.findall(r"--[a-z-]+", whole)) - {"--image"}:
        ensure(option in "\n".join(lines), f"{option} is missing")


@test
def values_out_of_range_show_the_range_as_it_is_typed():
    refused(run("--cpus", "0", "--", "true"), 2, "--cpus 0 is out of range", "0.01 to 1024)")
    refused(run("-m", "1k", "--", "true"), 2, "--memory 1k is out of range", "4M to 1T)")
    refused(run("--timeout", "9999h", "--", "true"), 2, "1ms to 168h)")
    refused(run("--processes", "0", "--", "true"), 2, "1 to 100000)")


@test
def sizes_are_written_as_in_docker():
    def room(size):
        return expect(run("--disk", size, "--", "stat", "-f", "-c", "%b %s", "/workspace"), out=None).out

    for size in ("64m", "64M", "64mb", "64MiB", "65536k", "0.0625g", "67108864b"):
        same(room(size), room("67108864"), f"the size of the disk with {size}")


@test
def quiet_prints_only_errors_of_cella():
    expect(run("-q", "--timeout", "200ms", "--", "sleep", "9"), 124, "", "")
    refused(run("-q", "--", "no-such-program"), 127, "no-such-program")


@test
def mistyped_words_are_corrected():
    refused(cella(["rn"]), 2, "did you mean 'cella run'?")
    refused(cella(["rnu"]), 2, "did you mean 'cella run'?")
    refused(run("--tmeout", "3", "--", "true"), 2, "did you mean --timeout?")
    refused(run("pyton3", "-c", "1"), 125, "did you mean python3?")
    for words, right in ((["settings", "gett"], "settings get"), (["key", "lss"], "key ls"), (["secret", "st", "a"], "secret set"), (["pool", "aquire"], "pool acquire"),
                         (["runtime", "l"], "runtime ls"), (["image", "pul"], "image pull")):  # fmt: skip
        refused(cella(words), 2, f"unknown verb '{words[1]}' of 'cella {words[0]}'", f"did you mean 'cella {right}'?")
    refused(cella(["settings", "set", "mode"]), 2, "usage: cella settings get [KEY] | set KEY VALUE")


@test
def version_has_a_short_option():
    same(cella(["-V"]).out, cella(["version"]).out, "the version")


@test
def docker_options_have_their_letters():
    os.mkdir("data")
    write("data/x", "in data\n", 0o644)
    prints("in data\nv /tmp\n", "-v", f"{here('data')}:/mnt:ro", "-eA=v", "-w", "/tmp", "--network", "none", "--", "sh", "-c", "cat /mnt/x; echo $A $PWD")
    r = expect(run("-V", "--", "true"), err=None)
    ensure("isolation:" in r.err, "-V is not --verbose", r)


@test
def call_without_words_says_how_and_gives_2():
    r = cella([])
    same(r.rc, 2, "exit status", r)
    ensure("cella" in r.out + r.err, "no word of help", r)


@test
def mistyped_command_names_the_nearest():
    refused(cella(["rum", "sh", "-c", "echo"]), 2, "'rum'", "run")


# Usage errors: 2, one line, nothing run.


def usage_error(name, options, *parts, words=("sh", "-c", "echo ran; touch /mark/ran")):
    """options: a list, or a function that prepares the current directory and gives one."""

    def check():
        os.mkdir("mark")
        given = options() if callable(options) else options
        r = run("--mount", f"{here('mark')}:/mark:rw", *given, *words)
        refused(r, 2, *parts)
        same(os.listdir("mark"), [], "what the code left behind, though it must not run,", r)

    test(check, name=f"usage_error_{name}")


def a_file(mode=0o644, text="x"):
    return write("file", text, mode)


def a_dir(mode=0o755):
    os.mkdir("dir")
    os.chmod("dir", mode)
    return "dir"


def a_fifo():
    os.mkfifo("fifo")
    return "fifo"


usage_error("mistyped_option_names_the_nearest", ["--timout", "5s"], "--timout", "--timeout")
usage_error("mistyped_option_with_equals_names_the_nearest", ["--memroy=5M"], "--memroy", "--memory")
usage_error("option_like_nothing_points_to_help", ["--zzzzzzzz"], "--zzzzzzzz", "--help")
usage_error("single_dash_option", ["-timeout", "5s"], "-timeout")
usage_error("missing_value", ["--timeout"], "--timeout", "needs a value", words=())
usage_error("flag_with_value", ["--json=1"], "--json")
usage_error("no_words", [], "RUNTIME", words=())
usage_error("only_a_runtime", [], "RUNTIME", words=("python3",))
usage_error("code_missing", [], "-c", words=("python3", "-c"))
usage_error("nothing_after_dashes", [], "COMMAND", words=("--",))
usage_error("option_after_runtime", [], "--json", words=("python3", "--json", "-c", "print(1)"))

usage_error("timeout_zero", ["--timeout", "0"], "--timeout")
usage_error("timeout_too_long", ["--timeout", "99999h"], "--timeout", "range")
usage_error("timeout_without_number", ["--timeout", "soon"], "--timeout", "soon")
usage_error("timeout_negative", ["--timeout", "-5s"], "--timeout")
usage_error("timeout_unit_unknown", ["--timeout", "5d"], "--timeout", "5d")
usage_error("memory_too_small", ["--memory", "1K"], "--memory", "range")
usage_error("memory_too_large", ["--memory", "99999999G"], "--memory", "range")
usage_error("memory_overflow", ["--memory", "18446744073709551617"], "--memory")
usage_error("memory_not_a_size", ["--memory", "lots"], "--memory", "lots")
usage_error("memory_unit_unknown", ["--memory", "5T"], "--memory", "5T")
usage_error("memory_empty", ["--memory", ""], "--memory")
usage_error("memory_with_space", ["--memory", "5 M"], "--memory")
usage_error("memory_two_dots", ["--memory", "1.5.5M"], "--memory")
usage_error("processes_zero", ["--processes", "0"], "--processes", "range")
usage_error("processes_fraction", ["--processes", "1.5"], "--processes")
usage_error("files_too_few", ["--files", "2"], "--files", "range")
usage_error("disk_too_small", ["--disk", "1"], "--disk", "range")
usage_error("inodes_too_few", ["--inodes", "1"], "--inodes", "range")
usage_error("cpus_zero", ["--cpus", "0"], "--cpus", "range")
usage_error("cpus_not_a_number", ["--cpus", "one"], "--cpus", "one")
usage_error("cpu_time_zero", ["--cpu-time", "0"], "--cpu-time", "range")
usage_error("output_too_large", ["--output", "2G"], "--output", "range")

usage_error("file_missing", [], "missing.py", words=("python3", "missing.py"))
usage_error("file_is_a_directory", lambda: a_dir() and [], "dir", words=("python3", "dir"))
usage_error("file_over_4_megabytes", lambda: a_file(text="#" * 4_200_000) and [], "file", words=("python3", "file"))

usage_error("workspace_missing", ["--workspace", "nowhere"], "workspace", "nowhere")
usage_error("workspace_is_a_file", lambda: ["--workspace", a_file()], "workspace", "file", "directory")
usage_error("workspace_unreadable", lambda: ["--workspace", a_dir(0o000)], "workspace", "dir")
usage_error("workspace_not_writable", lambda: ["--workspace", a_dir(0o555) + ":rw"], "workspace", "dir")
usage_error("workspace_empty", ["--workspace", ""], "--workspace")
usage_error("workspace_only_access", ["--workspace", ":rw"], "workspace")

usage_error("mount_source_missing", ["--mount", "nowhere:/data"], "nowhere")
usage_error("mount_source_unreadable", lambda: ["--mount", a_dir(0o000) + ":/data"], "dir")
usage_error("mount_file_unreadable", lambda: ["--mount", a_file(0o000) + ":/data"], "file")
usage_error("mount_without_target", ["--mount", "/usr"], "--mount")
usage_error("mount_with_empty_target", ["--mount", "/usr:"], "--mount")
usage_error("mount_with_empty_source", ["--mount", ":/data"], "--mount")
for what, target in {
    "relative": "data", "up": "/data/../etc", "dot": "/data/./x", "root": "/", "double_slash": "/data//x",
    "trailing_slash": "/data/", "proc": "/proc/x", "usr": "/usr/x", "usr_itself": "/usr", "etc": "/etc/x",
    "dev": "/dev/x", "lib": "/lib/x", "bin": "/bin/x", "control_character": "/data\nx",
    **({"lib64": "/lib64/x"} if os.path.lexists("/lib64") else {}),  # programs that are missing on the host do not exist in the sandbox
}.items():
    usage_error(f"mount_target_{what}", ["--mount", f"/usr/share:{target}"], "mount")
usage_error("mount_of_a_fifo", lambda: ["--mount", a_fifo() + ":/data"], "fifo")

usage_error("env_without_equals", ["--env", "NAME"], "--env", "NAME")
usage_error("env_without_name", ["--env", "=value"], "--env")
usage_error("env_empty", ["--env", ""], "--env")
usage_error("cwd_relative", ["--cwd", "tmp"], "--cwd")
usage_error("cwd_missing", ["--cwd", "/nowhere"], "cwd", "/nowhere")
usage_error("cwd_is_a_file", ["--cwd", "/etc/passwd"], "cwd", "/etc/passwd")
usage_error("user_unknown", ["--user", "alice"], "--user", "alice")
usage_error("network_unknown", ["--network", "lan"], "--network", "lan")
usage_error("engine_unknown", ["--engine", "magic"], "magic")


@test
def errors_are_plain_without_a_terminal():
    r = run("--timout", "5s", "sh", "-c", "echo")
    ensure("\033" not in r.err, "colour codes on a pipe", r)


@test(users=["root"])
def client_command_without_the_client_program_says_what_is_missing():
    os.mkdir("alone")
    program = shutil.copy(support.command[-1], "alone/cella")
    # A cella-client that is installed on this machine would be found.
    script = 'mount -t tmpfs none /usr/local && exec "$@"'
    p = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *support.command[:-1], program, "exec", "--", "true"],
                       capture_output=True, text=True, timeout=20 * support.slack)  # fmt: skip
    same(p.returncode, 125, "exit status")
    same(p.stderr, "cella: cella-client is not installed; ./dev install puts it in place\n", "message")
