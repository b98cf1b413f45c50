"""The result as JSON, field by field."""

import os
import random
import re
import resource
import time

import support
from support import ensure, in_time, is_root, run, run_json, same, script, test, within, write

WALLS = ["user", "pid", "mount", "net", "ipc", "uts", "cgroup", "seccomp", "landlock"]

NUMBER = (int, float)
FIELDS = {
    "id": str, "sandbox": str, "runtime": str, "status": str, "exit_code": int, "signal": type(None),
    "timed_out": bool, "stdout": str, "stderr": str, "stdout_truncated": bool, "stderr_truncated": bool,
    "stdout_bytes": int, "stderr_bytes": int, "duration_ms": NUMBER, "usage": dict, "results": list,
    "files": list, "violations": list, "isolation": dict, "hint": (str, type(None)), "cost": NUMBER,
}


@test
def every_field_is_there_with_its_type():
    result, r = run_json("python3", "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    same(r.rc, 3, "exit status", r)
    same(r.err, "", "stderr", r)
    same(r.out.count("\n"), 1, "lines of JSON", r)
    same(set(result), set(FIELDS), "the set of fields", r)
    for field, kind in FIELDS.items():
        ensure(isinstance(result[field], kind), f"{field} is {result[field]!r}", r)
    ensure(re.fullmatch(r"exe_[a-z2-7]{20}", result["id"]), f"id is {result['id']!r}")
    ensure(re.fullmatch(r"sbx_[a-z2-7]{20}", result["sandbox"]), f"sandbox is {result['sandbox']!r}")
    plain = {k: result[k] for k in FIELDS if k not in ("id", "sandbox", "duration_ms", "usage", "isolation")}
    same(plain, {
        "runtime": "python3", "status": "exited", "exit_code": 3, "signal": None, "timed_out": False,
        "stdout": "out\n", "stderr": "err\n", "stdout_truncated": False, "stderr_truncated": False,
        "stdout_bytes": 4, "stderr_bytes": 4, "results": [], "files": [], "violations": [], "hint": None, "cost": 1.0,
    }, "the result")


@test
def usage_has_its_fields():
    result, r = run_json("sh", "-c", "true")
    usage = result["usage"]
    same(set(usage), {"cpu_ms", "memory_peak_bytes", "processes_peak"}, "fields of usage", r)
    ensure(isinstance(usage["cpu_ms"], NUMBER) and 0 < usage["cpu_ms"] < 1000 * support.slack, "cpu_ms", r)
    ensure(0 < result["duration_ms"], "duration_ms", r)
    within(result["duration_ms"] / 1000, 1, "it", r)
    if is_root():
        ensure(isinstance(usage["memory_peak_bytes"], int) and usage["memory_peak_bytes"] > 0, "memory_peak_bytes", r)
        same(usage["processes_peak"], 1, "processes_peak", r)
    else:
        ensure(usage["processes_peak"] is None, "processes_peak cannot be known without a cgroup", r)


@test
def ids_differ_from_run_to_run():
    a, b = run_json("sh", "-c", ":")[0], run_json("sh", "-c", ":")[0]
    ensure(a["id"] != b["id"] and a["sandbox"] != b["sandbox"], f"{a['id']} {a['sandbox']} twice")


@test
def command_has_no_runtime():
    result, r = run_json("--", "echo", "x")
    ensure(result["runtime"] is None, "runtime", r)
    same(result["stdout"], "x\n", "stdout", r)


@test
def signal_is_reported():
    result, r = run_json("sh", "-c", "kill -SEGV $$")
    same((result["status"], result["signal"], result["exit_code"]), ("signaled", 11, 139), "the end", r)
    same(r.rc, 139, "exit status", r)


@test
def timeout_is_reported():
    result, r = run_json("--timeout", "500ms", "--grace", "0", "sh", "-c", "echo begun; sleep 9")
    same((result["status"], result["timed_out"], result["stdout"]), ("timeout", True, "begun\n"), "the end", r)
    same(r.rc, 124, "exit status", r)
    ensure(result["duration_ms"] >= 500, f"duration_ms {result['duration_ms']}", r)
    in_time(r, 0.5)


@test
def errors_are_objects_too():
    result, r = run_json("cobol", "-c", "x")
    same(r.rc, 125, "exit status", r)
    same(set(result), {"error"}, "fields", r)
    same(set(result["error"]), {"kind", "message", "hint"}, "fields of error", r)
    same(result["error"]["kind"], "runtime_not_found", "kind", r)
    ensure(result["error"]["message"].startswith("runtime not found: cobol"), "message", r)
    ensure(result["error"]["hint"], "no hint", r)


@test
def refused_options_are_objects_too():
    result, r = run_json("--workspace", "/nowhere", "sh", "-c", ":")
    same(r.rc, 2, "exit status", r)
    same(result["error"]["kind"], "invalid_request", "kind", r)


# Text.


@test
def text_of_all_planes_stays_as_it_is():
    text = "aé€𝄞😀\u2028\ufffd\U0010ffff"
    result, r = run_json("python3", "-c", f"print({text!r}, end='')")
    same(result["stdout"], text, "stdout", r)
    same(result["stdout_bytes"], len(text.encode()), "stdout_bytes", r)


@test
def control_characters_and_nul_are_escaped():
    code = "import os; os.write(1, bytes(range(128))); os.write(2, bytes([0, 127, 27, 34, 92]))"
    result, r = run_json("python3", "-c", code)
    same(result["stdout"], "".join(map(chr, range(128))), "stdout", r)
    same(result["stderr"], '\0\x7f\x1b"\\', "stderr", r)
    same(result["stdout_bytes"], 128, "stdout_bytes", r)
    ensure(all(b >= 0x20 for b in r.raw[:-1]), "a raw control character in the JSON", r)


INVALID = {
    "lone_byte": b"\xff", "lone_continuation": b"\x80", "overlong": b"\xc0\xaf", "overlong_nul": b"\xe0\x80\x80",
    "surrogate": b"\xed\xa0\x80", "above_unicode": b"\xf4\x90\x80\x80", "cut_short": b"\xe2\x82",
    "cut_by_text": b"\xf0\x9f\x98", "five_bytes": b"\xf8\x88\x80\x80\x80",
}


def invalid_utf8(data):
    result, r = run_json("python3", "-c", f"import os; os.write(1, b'<' + {data!r} + b'>'); os.write(2, {data!r})")
    r.raw.decode()  # or this raises
    ensure(re.fullmatch("<\ufffd+>", result["stdout"]), f"stdout is {result['stdout']!r}", r)
    ensure(re.fullmatch("\ufffd+", result["stderr"]), f"stderr is {result['stderr']!r}", r)
    same(result["stdout_bytes"], len(data) + 2, "stdout_bytes", r)
    same(result["stderr_bytes"], len(data), "stderr_bytes", r)


for what, data in INVALID.items():
    test(lambda d=data: invalid_utf8(d), name=f"invalid_utf8_{what}_becomes_replacement_characters")


@test
def text_among_random_bytes_survives():
    data = random.Random(1).randbytes(20000)
    write("data", data)
    with open("data", "rb") as f:
        result, r = run_json("--", "cat", stdin=f)
    same(result["stdout_bytes"], len(data), "stdout_bytes")
    # The number of replacement characters for a bad sequence is not specified.
    ensure(result["stdout"].replace("\ufffd", "") == data.decode(errors="ignore"), "text was lost or made up")


@test
def characters_across_reads_stay_whole():
    text = "x" + "€" * 100_000
    result, r = run_json("python3", "-c", "import sys; sys.stdout.write('x' + '€' * 100_000)")
    ensure(result["stdout"] == text, "a character was cut", r)


# Truncation.


@test
def long_output_keeps_its_first_and_last_half():
    whole = "".join(f"{i:06d}\n" for i in range(1000))
    result, r = run_json("--output", "1000", "python3", "-c", "for i in range(1000): print(f'{i:06d}')")
    out = result["stdout"]
    same(result["stdout_bytes"], 7000, "stdout_bytes", r)
    ensure(result["stdout_truncated"] and not result["stderr_truncated"], "…_truncated", r)
    same(out[:500], whole[:500], "the first half", r)
    same(out[-500:], whole[-500:], "the last half", r)
    ensure(re.fullmatch(r"\n[^\n]*6000[^\n]*\n", out[500:-500]), f"the marker is {out[500:-500]!r}", r)
    same(result["status"], "exited", "status", r)


@test
def stderr_is_truncated_on_its_own():
    result, r = run_json("--output", "100", "python3", "-c", "import sys; sys.stderr.write('e' * 101); print('o' * 99)")
    ensure(result["stderr_truncated"] and not result["stdout_truncated"], "…_truncated", r)
    same(result["stderr_bytes"], 101, "stderr_bytes", r)
    same(result["stdout"], "o" * 99 + "\n", "stdout", r)


@test
def output_of_just_the_limit_is_whole():
    result, r = run_json("--output", "1000", "sh", "-c", "printf '%01000d' 7")
    same(result["stdout"], "%01000d" % 7, "stdout", r)
    ensure(not result["stdout_truncated"], "stdout_truncated", r)


@test
def output_limit_of_zero_keeps_nothing():
    result, r = run_json("--output", "0", "sh", "-c", "echo something")
    ensure("something" not in result["stdout"] and result["stdout_truncated"], "stdout", r)
    same(result["stdout_bytes"], 10, "stdout_bytes", r)


@test
def flood_is_counted_but_not_stored():
    result, r = run_json("sh", "-c", "head -c 200000000 /dev/zero")
    same(result["stdout_bytes"], 200_000_000, "stdout_bytes")
    ensure(result["stdout_truncated"], "stdout_truncated")
    ensure(2**20 <= len(result["stdout"]) <= 2**20 + 100, f"{len(result['stdout'])} characters were kept")
    # The memory that this process had before the fork counts, too.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    ensure(peak < 64 * support.slack, f"cella grew to {peak:.0f} MiB")


# Files.


def files(result):
    return sorted((f["path"], f["change"], f["bytes"]) for f in result["files"])


@test
def new_files_are_listed_with_sizes():
    code = "mkdir -p a/b empty; printf 12345 > a/b/deep.txt; : > none; printf 'x,y' > out.csv; echo no > /tmp/elsewhere"
    result, r = run_json("sh", "-c", code)
    same(files(result), [("a/b/deep.txt", "added", 5), ("none", "added", 0), ("out.csv", "added", 3)], "files", r)


@test
def deleted_files_are_not_listed():
    result, r = run_json("sh", "-c", "echo 1 > a; rm a; echo 2 > b")
    same(files(result), [("b", "added", 2)], "files", r)


@test
def names_of_files_may_hold_anything():
    result, r = run_json("python3", "-c", script(
        "import os",
        r"""for n in (b'quote"', b'back\\slash', b'new\nline', b'caf\xc3\xa9', b'bad\xff'): open(n, 'w').close()""",
    ))
    same(sorted(f["path"] for f in result["files"]),
         sorted(['quote"', "back\\slash", "new\nline", "café", "bad\ufffd"]), "files", r)


@test
def files_in_a_host_workspace_are_added_or_modified():
    os.makedirs("w/sub")
    for name in ("same", "changed", "sub/grown", "renamed"):
        write(f"w/{name}", "old")
    time.sleep(0.05)  # timestamps of files have a coarse resolution
    result, r = run_json("--workspace", "w:rw", "sh", "-c",
                         "cat same; printf newer > changed; printf er >> sub/grown; printf 1 > new; printf 2 > sub/new")
    same(result["stdout"], "old", "stdout", r)
    same(files(result), [("changed", "modified", 5), ("new", "added", 1), ("sub/grown", "modified", 5),
                         ("sub/new", "added", 1)], "files", r)


@test
def read_only_workspace_has_no_changed_files():
    os.mkdir("w")
    write("w/a", "x")
    time.sleep(0.05)
    result, r = run_json("--workspace", "w", "sh", "-c", "cat a")
    same((result["stdout"], result["files"]), ("x", []), "stdout and files", r)


@test
def ten_thousand_files_do_not_break_the_list():
    result, r = run_json("python3", "-c", "for i in range(10000): open(f'f{i}', 'w').close()")
    same(r.rc, 0, "exit status")
    ensure(len(result["files"]) == 10000 or result.get("files_truncated"), f"{len(result['files'])} files are listed")


@test
def files_are_listed_after_a_timeout():
    result, r = run_json("--timeout", "1s", "--grace", "100ms", "sh", "-c", "printf abc > part; sleep 9")
    same(result["status"], "timeout", "status", r)
    same(files(result), [("part", "added", 3)], "files", r)


# Isolation and usage.


@test(users=["root"])
def all_walls_stand_as_root():
    result, r = run_json("sh", "-c", ":")
    same(result["isolation"], {"engine": "native", "layers": WALLS, "missing": []}, "isolation", r)


@test(users=["user"])
def missing_walls_of_an_ordinary_user_are_reported():
    result, r = run_json("sh", "-c", ":")
    same(result["isolation"], {
        "engine": "native",
        "layers": [w for w in WALLS if w != "cgroup"],
        "missing": ["cgroup", "limit:memory", "limit:cpus", "limit:cpu_time"],
    }, "isolation", r)


@test
def cpu_time_of_a_busy_loop_is_counted():
    code = "import time\nwhile time.process_time() < 0.2: pass"
    result, r = run_json("python3", "-c", code)
    ensure(150 <= result["usage"]["cpu_ms"] <= 2000, f"cpu_ms {result['usage']['cpu_ms']}", r)


@test
def cpu_time_of_children_is_counted():
    code = "import os, time\nif os.fork() == 0:\n  while time.process_time() < 0.2: pass\nelse: os.wait()"
    result, r = run_json("python3", "-c", code)
    ensure(200 <= result["usage"]["cpu_ms"] <= 2000, f"cpu_ms {result['usage']['cpu_ms']}", r)


@test
def sleep_is_no_cpu_time():
    result, r = run_json("sh", "-c", "sleep 0.3")
    ensure(result["usage"]["cpu_ms"] < 100 * support.slack, f"cpu_ms {result['usage']['cpu_ms']}", r)
    # Counted from the moment when cella learns of the start, which a busy machine may delay.
    ensure(result["duration_ms"] >= 200, f"duration_ms {result['duration_ms']}", r)


@test
def memory_peak_is_counted():
    result, r = run_json("python3", "-c", "x = b'x' * (50 << 20); del x")
    peak = result["usage"]["memory_peak_bytes"]
    ensure(50 << 20 <= peak <= 150 << 20, f"memory_peak_bytes {peak}", r)


@test(users=["root"])
def processes_at_once_are_counted():
    result, r = run_json("sh", "-c", "for i in 1 2 3 4 5; do sleep 3 & done; wait")
    same(result["usage"]["processes_peak"], 6, "processes_peak", r)


@test
def nothing_is_streamed_beside_the_object():
    _, r = run_json("sh", "-c", "echo out; echo err >&2")
    same(r.err, "", "stderr", r)
    ensure(r.out.startswith("{") and r.out.endswith("}\n"), "stdout", r)


@test
def verbose_shows_walls_and_usage_on_stderr():
    r = run("--verbose", "sh", "-c", "echo out")
    same((r.rc, r.out), (0, "out\n"), "exit status and stdout", r)
    for word in ("exe_", "sbx_", "exited", "seccomp", "landlock"):
        ensure(word in r.err, f"stderr does not say {word}", r)


# ---- refused connections ----


def violations(result):
    return [(v["kind"], v["target"]) for v in result["violations"]]


@test(unwrapped=True)
def refused_system_calls_are_violations():
    code = script(
        "import ctypes",
        "libc = ctypes.CDLL(None, use_errno=True)",
        "for _ in range(3): libc.mount(b'none', b'/tmp', b'tmpfs', 0, None); print(ctypes.get_errno())",
        "libc.unshare(0x10000000)",
    )
    result, r = run_json("python3", "-c", code)
    same(result["stdout"], "1\n1\n1\n", "what the code sees", r)
    same(violations(result), [("syscall", "mount"), ("syscall", "unshare")], "violations", r)
    result, r = run_json("--", "true")
    same(violations(result), [], "violations of an ordinary run", r)


@test
def a_full_disk_that_was_survived_is_a_violation():
    code = "import os\ntry: open('/tmp/x', 'wb', 0).write(b'x' * (40 << 20)); open('/tmp/y', 'wb', 0).write(b'x' * (40 << 20))\nexcept OSError: pass\n" \
           "try:\n  while True: open('/tmp/z', 'ab', 0).write(b'x' * 4096)\nexcept OSError: pass"
    result, r = run_json("--disk", "32M", "python3", "-c", code)
    same((result["status"], violations(result)), ("exited", [("limit", "disk")]), "status and violations", r)


@test(users=["root"])
def a_refused_fork_that_was_survived_is_a_violation():
    code = "import os, time\ntry:\n  while True:\n    if os.fork() == 0: time.sleep(5); os._exit(0)\nexcept OSError: pass"
    result, r = run_json("--processes", "5", "python3", "-c", code)
    same((result["status"], violations(result)), ("exited", [("limit", "processes")]), "status and violations", r)
