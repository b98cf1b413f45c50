"""duration_ms against a clock that is read inside the sandbox, and against the CPU time that the kernel counted."""

import os

import daemon
from support import ensure, run_json, test, until

POOLS = [{"runtime": "python3", "size": 2, "preload": ["json"]}, {"runtime": "sh", "size": 2}, {"runtime": "node", "size": 1}]
ROUNDS = 12
CPUS = os.cpu_count()
ROUNDING_MS = 0.05  # CPU time and the clock are read at different moments

# Each prints the monotonic clock, in nanoseconds, with its first and with its last statement.
PYTHON = "import time; a = time.monotonic_ns(); sum(range(20000)); print(a, time.monotonic_ns())"
NODE = "const a = process.hrtime.bigint(); for (let i = 0; i < 1e5; i++); console.log(a + ' ' + process.hrtime.bigint())"
SHELL = """python3 -c 'import time; print(time.monotonic_ns(), end=" ")'; python3 -c 'import time; print(time.monotonic_ns())'"""
CODE = {"python3": PYTHON, "node": NODE, "sh": SHELL, "bash": SHELL}


def check_cpu(result, what):
    duration, cpu = result["duration_ms"], result["usage"]["cpu_ms"]
    ensure(cpu <= duration * CPUS + ROUNDING_MS, f"{what}: cpu_ms fits into duration_ms", (cpu, duration))


def check(result, what):
    first, last = map(int, result["stdout"].split())
    inside = (last - first) / 1e6
    ensure(result["duration_ms"] >= inside, f"{what}: duration_ms covers the code", (inside, result["duration_ms"]))
    check_cpu(result, what)


def waits(d, runtime):
    def ready():
        return any(p["runtime"] == runtime and p["available"] for p in d.get("/v1/pools")["pools"])

    until(ready, 30, f"a {runtime} that waits")


@test(timeout=90)
def duration_covers_code_that_a_pool_runs():
    with daemon.Daemon(settings={"pools": POOLS}) as d:
        for runtime in ("python3", "sh", "node"):
            for _ in range(ROUNDS):
                waits(d, runtime)
                check(d.exec(runtime, CODE[runtime]), f"pooled {runtime}")
                waits(d, runtime)
                check_cpu(d.exec(runtime, ":" if runtime == "sh" else "1"), f"pooled {runtime}, short code")
            waits(d, runtime)
            check(d.exec(runtime, CODE[runtime], files={"a": "x" * 100000, "b/c": "y"}), f"pooled {runtime} with files")


@test(timeout=90)
def duration_covers_code_that_a_new_sandbox_runs():
    """Without pools; from a template that is restored on demand; with files; in spare sandboxes."""
    files = {f"f{i}": "x" * 10000 for i in range(8)}
    template = {"pools": [{**POOLS[0], "size": 0}]}
    for settings in ({"pools": [], "sandboxes": {"spare": 0}}, {**template, "sandboxes": {"spare": 0}}, {**template, "sandboxes": {"spare": 2}}):
        with daemon.Daemon(settings=settings) as d:
            if settings["pools"]:
                until(lambda d=d: d.get("/v1/pools")["pools"][0]["waits"] == "template", 30, "a template")
            for runtime in ("python3", "sh", "node"):
                for _ in range(ROUNDS // 3):
                    check(d.exec(runtime, CODE[runtime]), f"{runtime} with {settings}")
                    check(d.exec(runtime, CODE[runtime], files=files), f"{runtime} and files with {settings}")
            for _ in range(ROUNDS):
                check_cpu(d.post("/v1/exec", {"command": ["true"]}), f"true with {settings}")


@test(timeout=90)
def duration_covers_code_in_a_lasting_sandbox():
    with daemon.Daemon(settings={"pools": POOLS[:1]}) as d:
        s = d.sandbox()
        for runtime in ("python3", "sh", "node"):
            for _ in range(ROUNDS // 2):
                check(d.exec(runtime, CODE[runtime], sandbox=s), f"{runtime} in a sandbox")
                check(d.exec(runtime, CODE[runtime], session="one", files={"a": "x"}), f"{runtime} in a session")
        for _ in range(ROUNDS):
            check_cpu(d.post(f"/v1/sandboxes/{s}/exec", {"command": ["true"]}), "true in a sandbox")


@test(timeout=90)
def duration_covers_a_run_of_a_context():
    """The sandbox's CPU counter has more than the run's: other executions, and what the interpreter did before."""
    burn = "x = 0\nwhile time.process_time() < 0.2: x += 1"
    with daemon.Daemon(settings={"pools": POOLS[:1]}) as d:
        s = d.sandbox()
        for runtime in ("python3", "node", "bash"):
            c = f"/v1/sandboxes/{s}/contexts/{d.post(f'/v1/sandboxes/{s}/contexts', {'runtime': runtime}, 201)['id']}/run"
            for _ in range(ROUNDS // 2):
                check(d.post(c, {"code": CODE[runtime]}), f"a context of {runtime}")
                check_cpu(d.post(c, {"code": "1" if runtime != "bash" else ":"}), f"a context of {runtime}, short code")
            d.exec("python3", "import time\n" + burn, sandbox=s)
            check_cpu(d.post(c, {"code": "1" if runtime != "bash" else ":"}), f"a context of {runtime}, after another execution")


@test(timeout=90)
def cpu_time_of_code_that_is_killed_does_not_have_the_sandboxes_own():
    """A timeout of 1 ms kills the code: then only the kernel's counter of the whole sandbox is available."""
    for settings in ({"pools": POOLS[:1]}, {"pools": [], "sandboxes": {"spare": 0}}):
        with daemon.Daemon(settings=settings) as d:
            for _ in range(ROUNDS):
                if settings["pools"]:
                    waits(d, "python3")
                r = d.exec("python3", "while True: pass", limits={"timeout_ms": 1, "grace_ms": 0})
                ensure(r["status"] == "timeout" and r["duration_ms"] >= 1, "status", r)
                check_cpu(r, f"killed code with {settings}")


@test(timeout=90)
def duration_covers_code_that_cella_run_runs():
    for _ in range(ROUNDS):
        check(run_json("python3", "-c", PYTHON)[0], "cella run")
        check_cpu(run_json("--", "true")[0], "cella run true")


@test(timeout=90)
def duration_covers_code_on_the_host():
    with daemon.Daemon(settings={"mode": "off"}) as d:
        for _ in range(ROUNDS):
            check(d.exec("python3", PYTHON, unix=True), "host")
            check_cpu(d.post("/v1/exec", {"command": ["true"]}, unix=True), "true on the host")
