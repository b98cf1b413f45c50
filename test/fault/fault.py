#!/usr/bin/python3
"""Deaths, full disks, stopped processes, no descriptors: what must hold after each.

    fault.py --cella build/src/cella [--rounds 20] [--only NAME]
"""
import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "load"))
from daemon import NUMBERS, STEP_INVERSE, Checks, Daemon, cella_groups, read, wait_for  # noqa: E402

FEW = 2000  # sandboxes that no daemon in here passes


class Load:
    """Clients that continue until they are stopped; they expect errors."""

    def __init__(self, d, n=6):
        self.d, self.over, self.done = d, False, 0
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True) for i in range(n)]
        for t in self.threads:
            t.start()

    def run(self, number):
        while not self.over:
            try:
                if number % 3 == 0:
                    self.d.run("sleep 0.2; echo x", timeout=10)
                elif number % 3 == 1:
                    self.d.run("echo x >>seen; sync seen", timeout=10, session=f"s{number}")
                else:
                    self.d.run("sh -c 'sleep 60 & sleep 60 & (setsid sleep 60 &)'; sleep 60", timeout=3)
                self.done += 1
            except (OSError, ValueError):
                time.sleep(0.01)

    def stop(self):
        self.over = True
        for t in self.threads:
            t.join(15)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def executions(state):
    """Returns (id, status) of every row, read from the database file."""
    db = sqlite3.connect(f"{state}/audit.db")
    rows = db.execute("SELECT id, status FROM executions").fetchall()
    db.close()
    return rows


def start_running(d, n):
    """Starts executions, waits until their code runs, and returns their ids."""
    ids = []
    for _ in range(n):
        a = d.run("sleep 100", detach=True)
        if a.status == 202:
            ids.append(a.json()["id"])
    wait_for(lambda: d.metrics()["executions_running"] >= len(ids), 5)
    time.sleep(0.15)
    return ids


def groups_of(d, keeper):
    """Groups with this keeper's numbers that are not locked: a live owner holds a lock on each."""
    locked = {line.split()[5].rsplit(":", 1)[1] for line in read("/proc/locks").splitlines() if " FLOCK " in line}
    found = []
    for path, number in cella_groups():
        if (number - keeper) * STEP_INVERSE % NUMBERS >= FEW:
            continue
        try:
            if str(os.stat(path).st_ino) not in locked:
                found.append(path)
        except OSError:
            pass
    return found


def death_under_load(t, options):
    """kill -9 of the server, the keeper or both, at a random moment."""
    rng = random.Random(options.seed)
    d = Daemon(options.cella)
    try:
        d.start()
        first = d.run("echo precious >file; sync file; cat file", session="precious")
        t.check(first.status == 200, "a session's workspace is there", first.status)
        bad, slowest, alive, littered = [], 0.0, 0, 0
        for i in range(options.rounds):
            who = ("server", "keeper", "both")[i % 3]
            ids = start_running(d, 3)
            load = Load(d)
            time.sleep(0.2 + rng.random() * 0.6)
            alive += len(d.orphans(FEW))
            targets = {"server": [d.server], "keeper": [d.keeper], "both": [d.keeper, d.server]}[who]
            for pid in targets:
                kill(pid)
            begun = time.monotonic()
            left = wait_for(lambda: not d.orphans(FEW), 30)
            took = time.monotonic() - begun
            slowest = max(slowest, took)
            if not left:
                bad.append(f"round {i}: {who} killed, processes left for {took:.2f} s: {d.orphans(FEW)}")
            gone = wait_for(lambda: d.process.poll() is not None and not os.path.exists(f"/proc/{d.server}"), 30)
            if not gone:
                bad.append(f"round {i}: {who} killed, but the other lives on")
            load.stop()
            old = d.keeper
            littered += len(groups_of(d, old))
            d.start()
            if still := groups_of(d, old):
                bad.append(f"round {i}: {who}: left: {still[:3]}")
            for e in ids:
                a = d.call("GET", f"/v1/executions/{e}")
                if a.status != 200 or a.json().get("status") != "interrupted":
                    bad.append(f"round {i}: {who}: {e} is {a.status} {a.body[:150]!r}")
            verdict = d.call("GET", "/v1/executions/verify").json()
            if not verdict["ok"]:
                bad.append(f"round {i}: {verdict}")
            a = d.run("cat file", session="precious")
            if a.status != 200 or a.json()["stdout"] != "precious\n":
                bad.append(f"round {i}: workspace: {a.status} {a.body[:300]!r}")
            if len(bad) > 5:
                break
        t.check(not bad, f"{options.rounds} deaths under load", bad[:4] or
                f"{alive} processes in sandboxes were killed, the last within {slowest * 1000:.0f} ms; "
                f"{littered} control groups were left and swept")
        t.check(alive > 0 and littered > 0, "the test saw processes and leftovers at all", f"{alive}, {littered}")
        d.stop()
        rows = executions(d.state)
        ids = [r[0] for r in rows]
        interrupted = sum(1 for r in rows if r[1] == "interrupted")
        t.check(len(ids) == len(set(ids)) and interrupted >= 3 * options.rounds, "each is in the log once",
                f"{len(ids)} rows, {interrupted} interrupted")
        left = [m for m in read("/proc/self/mountinfo").splitlines() if d.home in m]
        t.check(not left, "no mount is left", left[:2] or "")
    finally:
        d.__exit__()


def second_daemon(t, options):
    with Daemon(options.cella) as d:
        r = subprocess.run([d.cella, "serve", "--state", d.state, "--socket", f"{d.home}/other", "--listen", "none"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
        t.check(r.returncode != 0 and b"another cella serve" in r.stdout,
                "a second daemon on one state directory refuses", f"{r.returncode} {r.stdout[-200:]!r}")
        t.check(d.run("echo x").status == 200, "and the first goes on")


def full_disk(t, options):
    """The state directory has 64 MiB; they fill up; then there is room again."""
    if os.environ.get("CELLA_FULL_DISK") != "1":
        env = {**os.environ, "CELLA_FULL_DISK": "1"}
        r = subprocess.run(["unshare", "-m", sys.executable, os.path.abspath(__file__), "--cella", options.cella, "--only", "full_disk"],
                           stdout=subprocess.PIPE, env=env, timeout=120, check=False)
        for line in r.stdout.decode().splitlines():
            if line.startswith(("ok", "FAIL")):
                t.check(line.startswith("ok"), line[5:], "in a mount namespace of its own" if line.startswith("ok") else line)
        if not any(line.startswith(b"ok") for line in r.stdout.splitlines()):
            t.check(False, "full disk", r.stdout[-500:])
        return
    d = Daemon(options.cella)
    os.makedirs(d.state)
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", d.state], check=True)
    try:
        d.start()
        t.check(d.run("echo before").status == 200, "works before")
        filler = f"{d.state}/filler"
        with open(filler, "wb") as f:
            try:
                while f.write(b"x" * 65536):
                    f.flush()
            except OSError:
                pass
        wrong = []
        for i in range(200):
            a = d.run(f"echo {i}; head -c 50000 /dev/zero | tr '\\0' x >&2", timeout=20)
            if a.status != 200 or a.json()["stdout"] != f"{i}\n":
                wrong.append(f"{a.status} {a.body[:200]!r}")
        t.check(not wrong, "full disk: executions go on", wrong[:2] or "200")
        m = d.metrics()
        said = m["audit_waiting"] + m["audit_lost_total"] > 0
        t.check(said and d.alive(), "full disk: the metrics tell", f"waiting {m['audit_waiting']} lost {m['audit_lost_total']}")
        a = d.run("echo s", session="new")
        t.check(a.status in (200, 500, 503, 507), "full disk: a new session says so or works", f"{a.status} {a.body[:150]!r}")
        os.unlink(filler)
        wait_for(lambda: d.metrics()["audit_waiting"] == 0, 15)
        m = d.metrics()
        t.check(m["audit_waiting"] == 0, "room again: the log is written", f"waiting {m['audit_waiting']} lost {m['audit_lost_total']}")
        a = d.run("echo again", session="new")
        t.check(a.status == 200, "room again: sessions work", f"{a.status} {a.body[:150]!r}")
        verdict = d.call("GET", "/v1/executions/verify").json()
        t.check(verdict["ok"], "room again: the chain is whole", verdict)
        t.check(d.stop() == 0, "and it ends cleanly")
        d.start()
        t.check(d.call("GET", "/v1/executions/verify").json()["ok"], "and starts again")
    finally:
        d.stop()
        subprocess.run(["umount", "-l", d.state], check=False)
        shutil.rmtree(d.home, ignore_errors=True)


def stopped_server(t, options):
    """SIGSTOP for 3 s: deadlines hold, nothing is lost."""
    with Daemon(options.cella) as d:
        answers = {}

        def client(name, *args, **fields):
            answers[name] = d.run(*args, **fields)
        threads = [threading.Thread(target=client, args=("late", "sleep 30"), kwargs={"timeout_ms": 1000, "limits": {"grace_ms": 500}}),
                   threading.Thread(target=client, args=("short", "sleep 0.5; echo done")),
                   threading.Thread(target=client, args=("much", "head -c 3000000 /dev/zero | tr '\\0' x; echo end"))]
        for th in threads:
            th.start()
        time.sleep(0.3)
        os.kill(d.server, signal.SIGSTOP)
        time.sleep(3)
        os.kill(d.server, signal.SIGCONT)
        begun = time.monotonic()
        for th in threads:
            th.join(40)
        took = time.monotonic() - begun
        ok = len(answers) == 3 and all(a.status == 200 for a in answers.values())
        t.check(ok and answers["late"].json()["status"] == "timeout", "stopped server: the deadline was applied",
                {k: a.body[:200] for k, a in answers.items()} if not ok else f"{took:.2f} s after it went on")
        t.check(ok and answers["short"].json()["stdout"] == "done\n" and answers["much"].json()["stdout_bytes"] == 3000004,
                "stopped server: nothing is lost")
        t.check(ok and not d.idle(20), "stopped server: it catches up", f"{took:.2f} s")


def stopped_init(t, options):
    """SIGSTOP of a sandbox's init, from outside: the call returns, the sandbox goes."""
    with Daemon(options.cella) as d:
        d.call("PATCH", "/v1/settings", json.dumps({"pools": [], "sandboxes": {"spare": 0}}))
        wait_for(lambda: not d.inits(), 5)
        sb = d.sandbox()
        before = d.processes()
        result = {}

        def client():
            begun = time.monotonic()
            result["answer"] = d.run("sleep 100", timeout_ms=1500, limits={"grace_ms": 500})
            result["took"] = time.monotonic() - begun
        th = threading.Thread(target=client)
        th.start()
        inits = wait_for(lambda: [p for p in d.inits() if p not in before], 5)
        time.sleep(0.2)
        for p in inits:
            os.kill(p, signal.SIGSTOP)
        th.join(60)
        took = result.get("took", 99)
        t.check(took < 30, "stopped init: the call returns in time", f"{took:.2f} s {result.get('answer') and result['answer'].body[:150]}")
        gone = wait_for(lambda: not [p for p in inits if os.path.exists(f"/proc/{p}")], 20)
        t.check(gone, "stopped init: the sandbox is gone", inits)
        # A long-lived one: an execution in it must return too.
        init = next(iter(d.inits()))
        os.kill(init, signal.SIGSTOP)
        begun = time.monotonic()
        a = d.run("echo x", path=f"/v1/sandboxes/{sb}/exec", timeout_ms=1000, timeout=30)
        took = time.monotonic() - begun
        t.check(took < 30, "stopped init of a long-lived sandbox: the call returns", f"{took:.2f} s {a.status} {a.body[:120]!r}")
        begun = time.monotonic()
        d.call("DELETE", f"/v1/sandboxes/{sb}")
        gone = wait_for(lambda: not os.path.exists(f"/proc/{init}"), 20)
        t.check(gone, "stopped init: DELETE ends it", f"{time.monotonic() - begun:.2f} s")
        t.check(not d.idle(20), "stopped init: nothing is under way", d.busy())


def few_descriptors(t, options):
    """ulimit -n 200: refuses, recovers, never crashes."""
    d = Daemon(options.cella, nofile=200)
    try:
        d.start()
        held, statuses = [], {}
        for _ in range(250):
            try:
                s = d.raw(0.5)
                held.append(s)
            except OSError:
                break

        def client():
            try:
                a = d.run("sleep 0.3; echo x", timeout=15)
                statuses[a.status] = statuses.get(a.status, 0) + 1
            except OSError as e:
                statuses[type(e).__name__] = statuses.get(type(e).__name__, 0) + 1
        for batch in range(2):
            threads = [threading.Thread(target=client) for _ in range(80)]
            for th in threads:
                th.start()
            for th in threads:
                th.join(30)
            for s in held:
                s.close()
            held = []
        print("     ", statuses)
        t.check(d.alive(), "few descriptors: it lives", read(d.log)[-300:])
        t.check(not {k for k in statuses if isinstance(k, int)} - {200, 429, 503}, "few descriptors: refused with 429 or 503", statuses)
        ok = wait_for(lambda: d.run("echo x").status == 200, 10)
        t.check(ok and not d.idle(10), "few descriptors: it recovers", d.busy())
    finally:
        d.__exit__()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cella", required=True)
    p.add_argument("--rounds", type=int, default=20)
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--only", default="")
    options = p.parse_args()
    options.cella = os.path.abspath(options.cella)
    print(f"seed {options.seed}")
    t = Checks()
    for f in (second_daemon, death_under_load, full_disk, stopped_server, stopped_init, few_descriptors):
        if options.only in f.__name__:
            begun = time.monotonic()
            try:
                f(t, options)
            except (OSError, RuntimeError, ValueError, KeyError, subprocess.SubprocessError) as e:
                t.check(False, f.__name__, repr(e))
            print(f"     {f.__name__}: {time.monotonic() - begun:.1f} s")
    t.done()


main()
