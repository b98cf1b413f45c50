"""What an operator does: finding out why the daemon does not start, checking its configuration, backups."""

import io
import json
import os
import shutil
import sqlite3
import stat
import tarfile

import support
from daemon import Daemon
from support import cella, ensure, here, refused, same, test, until
from test_executions import FIXTURE

SECRET = {"value": "hidden-value"}


@test(users=["root"])
def a_directory_that_the_server_cannot_enter_is_named():
    os.makedirs(here("private", "deeper"))
    os.chmod(here("private"), 0o700)
    private = os.path.realpath(here("private"))
    d = Daemon(start=False, state=os.path.join(private, "deeper", "state"))
    d.unix = here("s.sock")
    d.start(ready=False)
    same(support.reap(d.process, 20), 2, "exit status")
    ensure("cannot enter the directory " + private + ";" in d.log(), f"the log: {d.log()}")
    ensure("--state" in d.log() and f"chmod o+x {private}" in d.log(), f"the log: {d.log()}")
    os.chmod(private, 0o711)
    with d.start():
        same(d.exec("sh", "echo x", unix=True)["stdout"], "x\n", "after the advice was taken")


@test(users=["root"])
def a_settings_file_that_the_server_cannot_reach_is_named():
    os.makedirs(here("private"), 0o700)
    path = support.write(here("private", "settings.json"), "{}")
    r = cella(["serve", "--listen", "none", "--state", here("st"), "--socket", here("s"), "--settings", path])
    refused(r, 2, "cannot enter the directory", "private", "--settings")


def check(*words):
    return cella(["serve", "--check-config", "--state", here("st"), "--socket", here("s"), *words])


@test
def the_configuration_is_checked_without_a_start():
    good = here("good.json")
    support.write(good, json.dumps({"sandboxes": {"max": 7}}), 0o644)
    r = check("--settings", good)
    same((r.rc, r.err), (0, ""), "a good one", r)
    ensure("the configuration is good" in r.out, "its answer", r)
    same(sorted(os.listdir(support.home)), ["good.json"], "files that the check made")


@test
def every_problem_of_the_configuration_is_printed():
    bad = here("bad.json")
    support.write(bad, '{"sandboxes": {"max": -1}}', 0o644)
    r = check("--settings", bad, "--listen", "somewhere", "--workspace-root", "/does/not/exist")
    same(r.rc, 2, "exit status", r)
    for part in ("sandboxes.max", "'somewhere'", "/does/not/exist"):
        ensure(part in r.err, f"no word of {part}", r)
    support.write(bad, "{\n  broken\n}", 0o644)
    r = check("--settings", bad)
    same(r.rc, 2, "exit status", r)
    ensure("bad.json" in r.err and "line 2" in r.err, "where the file is broken", r)
    support.write(here("st"), "a file")
    r = check()
    refused(r, 2, "not a directory")


# ---- backup and restore ----


def backup(state, path, *words):
    return cella(["backup", "--state", state, *words, path])


def restore(state, path, *words):
    return cella(["restore", "--state", state, *words, path])


def filled():
    """Returns a daemon with one object of each kind that a backup copies."""
    d = Daemon({"sandboxes": {"max": 7}})
    d.key = d.new_key("owner")["key"]
    d.ok("PUT", "/v1/secrets/TOKEN", SECRET, status=201, unix=True)
    d.kept = d.sandbox()
    d.exec("sh", "echo logged")
    until(lambda: d.rows(), 20, "the row of the log")
    return d


def check_copy(d, other, rows):
    """Checks that the daemon `other` has all objects of d."""
    same(other.get("/v1/settings", unix=True)["sandboxes"]["max"], 7, "the settings")
    same(other.exec("sh", "echo x", key=d.key)["stdout"], "x\n", "the key")
    same([s["name"] for s in other.get("/v1/secrets", unix=True)["secrets"]], ["TOKEN"], "the secrets")
    r = other.post("/v1/exec", {"runtime": "sh", "code": "echo ${#TOKEN}", "secrets": {"TOKEN": "{{secret:TOKEN}}"}}, unix=True)
    same(r["stdout"], f"{len(SECRET['value'])}\n", "the value of the secret")
    same(other.exec("sh", "pwd; ls", sandbox=d.kept, unix=True)["stdout"], "/workspace\n", "a sandbox whose workspace was not copied")
    same([row["id"] for row in other.rows()][-len(rows):], rows, "the log")
    same(other.get("/v1/executions/verify", unix=True)["ok"], True, "the chain of the log")


@test
def a_backup_of_a_running_daemon_can_be_restored_elsewhere():
    d = filled()
    rows = [row["id"] for row in d.rows()]
    file = here("copy.tar")
    r = backup(d.state, file)
    same((r.rc, r.out, r.err), (0, "", ""), "the backup", r)
    same(stat.S_IMODE(os.stat(file).st_mode), 0o600, "mode of the file")
    same(tarfile.open(file).getnames(), ["secrets", "secret.key", "audit.db", "state.db"], "what is in it")
    same(backup(d.state, file).rc, 0, "a second one replaces it")
    ensure(not [n for n in os.listdir(d.state) if n.startswith("backup")], f"left over: {os.listdir(d.state)}")
    same(d.exec("sh", "echo x")["stdout"], "x\n", "the daemon afterwards")
    elsewhere = here("elsewhere")
    r = restore(elsewhere, file)
    same((r.rc, r.out, r.err), (0, "", ""), "the restore", r)
    with Daemon(state=elsewhere) as other:
        check_copy(d, other, rows)
    d.stop()
    r = backup(d.state, file)
    same(r.rc, 0, "of a stopped one", r)
    r = restore(elsewhere, file)
    refused(r, 2, "has a", "already", "--force")
    same(restore(elsewhere, file, "--force").rc, 0, "with --force")
    ensure(not [n for n in os.listdir(elsewhere) if n.endswith(".restore")], f"left over: {os.listdir(elsewhere)}")
    with Daemon(state=elsewhere) as other:
        check_copy(d, other, rows)


@test
def a_restore_below_a_running_daemon_is_refused():
    with filled() as d:
        file = here("copy.tar")
        same(backup(d.state, file).rc, 0, "the backup")
        r = restore(d.state, file, "--force")
        refused(r, 125, "another cella serve")
        same(d.exec("sh", "echo x")["stdout"], "x\n", "the daemon afterwards")


def packed(*members):
    """An archive of (name, bytes) or TarInfo."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def link(name):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return info


def changed_database(data, *sql):
    """The bytes of a database after these statements."""
    path = support.write(here("trap.db"), data)
    db = sqlite3.connect(path, isolation_level=None)
    for statement in sql:
        db.execute(statement)
    db.close()
    with open(path, "rb") as f:
        return f.read()


@test
def a_backup_of_an_earlier_version_can_be_restored():
    state, elsewhere, file = here("earlier"), here("elsewhere"), here("copy.tar")
    shutil.copytree(FIXTURE, state, copy_function=shutil.copyfile)
    os.chmod(state, 0o700)
    same(backup(state, file).rc, 0, "the backup")
    r = restore(elsewhere, file)
    same((r.rc, r.err), (0, ""), "the restore", r)
    with Daemon(state=elsewhere) as d:
        ensure(len(d.rows()) > 0, "the log is empty")


@test
def a_hostile_backup_changes_nothing():
    d = filled()
    d.stop()
    file, state = here("copy.tar"), here("new")
    same(backup(d.state, file).rc, 0, "the backup")
    with tarfile.open(file) as tar:
        good = {m.name: tar.extractfile(m).read() for m in tar}
    traps = [changed_database(good["state.db"], *sql) for sql in (
        ["CREATE TRIGGER t AFTER INSERT ON keys BEGIN DELETE FROM settings; END"],
        ["CREATE VIEW v AS SELECT 1"],
        ["CREATE TABLE other (a)"],
        ["CREATE INDEX i ON keys (upper(about))"],
        ["ALTER TABLE keys ADD COLUMN a TEXT GENERATED ALWAYS AS (hex(hash)) VIRTUAL"],
        ["DROP TABLE sandboxes", "CREATE TABLE sandboxes (id, about)", "INSERT INTO sandboxes VALUES (NULL, '{}')"],
        ["PRAGMA writable_schema=ON", "UPDATE sqlite_schema SET sql = replace(sql, ' STRICT', '') WHERE name = 'keys'"],
        ["PRAGMA writable_schema=ON", "UPDATE sqlite_schema SET rootpage = 0 WHERE name = 'keys'"],
    )]  # fmt: skip
    whole = packed(*good.items())
    same(restore(here("good"), support.write(file, whole)).rc, 0, "an archive of another program")
    cases = {
        "a file that does not belong in it": [packed(("../evil", b"x"), *good.items()), packed(("/etc/evil", b"x")), packed(("lock", b"x")),
                                              packed(("state.db", good["state.db"]), ("state.db", good["state.db"]))],
        "not a backup": [b"x" * 2048, packed((link("state.db"), b"")), whole[:104] + b"1" + whole[105:]],
        "cannot": [b"", whole[:3000], whole[:-1024 - 9000]],
        "has no state.db": [packed(("secrets", good["secrets"]))],
        "more than": [packed(("secret.key", b"x" * 300))],
        "damaged": [*(packed(("state.db", trap)) for trap in traps), packed(("state.db", b""))],
        "": [packed(("state.db", good["audit.db"])), packed(("state.db", b"SQLite format 3\0" + b"\xff" * 4096))],
    }  # fmt: skip
    for part, archives in cases.items():
        for archive in archives:
            support.write(file, archive)
            r = restore(state, file)
            ensure(r.rc in (2, 125) and r.err.startswith("cella: "), f"taken, instead of {part!r}: {archive[:100]}", r)
            ensure(part in r.err, f"the message is not {part!r}", r)
            same(sorted(set(os.listdir(state)) - {"lock", "workspaces"}), [], "what is in the state directory", r)


@test
def a_backup_replaces_nothing_but_a_regular_file():
    with filled() as d:
        file, other = here("copy.tar"), support.write(here("copy.tar.new"), "a file of the user")
        same(backup(d.state, file).rc, 0, "the backup")
        same(support.read(other), "a file of the user", "a file with a similar name")
        os.mkfifo(here("fifo"))
        refused(backup(d.state, here("fifo")), 2, "not a regular file")
        ensure(stat.S_ISFIFO(os.lstat(here("fifo")).st_mode), "a FIFO was replaced")
        # Like /dev/stdout, which root could replace.
        os.symlink("/proc/self/fd/1", here("stdout"))
        with open(here("output"), "wb") as out:
            r = cella(["backup", "--state", d.state, here("stdout")], stdout=out)
        refused(r, 2, "not a regular file")
        ensure(os.path.islink(here("stdout")), "the link to the standard output was replaced")
        os.symlink(here("elsewhere"), here("link"))
        same(backup(d.state, here("link")).rc, 0, "a link is replaced")
        ensure(not os.path.lexists(here("elsewhere")), "a link was followed")
        ensure(not [n for n in os.listdir(support.home) if n.startswith(".cella_")], "temporary files are left over")


@test
def a_sandbox_of_a_hostile_backup_cannot_name_a_directory_elsewhere():
    d = filled()
    d.stop()
    file, elsewhere, victim = here("copy.tar"), here("elsewhere"), here("victim")
    same(backup(d.state, file).rc, 0, "the backup")
    with tarfile.open(file) as tar:
        good = {m.name: tar.extractfile(m).read() for m in tar}
    db = sqlite3.connect(support.write(here("trap.db"), good["state.db"]))
    about = json.loads(db.execute("SELECT about FROM sandboxes WHERE id = ?", (d.kept,)).fetchone()[0])
    about["expires_ms"] = 1
    db.execute("UPDATE sandboxes SET about = ?", (json.dumps(about),))
    for name in ("../../victim", "sbx_../../../victim", "..", "", "/"):
        db.execute("INSERT INTO sandboxes VALUES (?, ?)", (name, json.dumps(about)))
    container = {**about, "engine": "docker", "image": "host", "expires_ms": 0}  # there is no such image
    db.execute("INSERT INTO sandboxes VALUES (?, ?)", ("sbx_container", json.dumps(container)))
    db.commit()
    db.close()
    with open(here("trap.db"), "rb") as f:
        good["state.db"] = f.read()
    same(restore(elsewhere, support.write(file, packed(*good.items()))).rc, 0, "the restore")
    os.mkdir(victim)
    os.chmod(victim, 0o777)
    support.write(os.path.join(victim, "file"), "precious")
    with Daemon(state=elsewhere) as other:
        until(lambda: d.kept not in str(other.get("/v1/sandboxes", unix=True)), 20, "the end of the sandbox with a good id")
        same(other.get("/v1/sandboxes", unix=True)["sandboxes"], [], "the other ones")
        same(other.exec("sh", "echo x", unix=True)["stdout"], "x\n", "the daemon afterwards")
    same(os.listdir(victim), ["file"], "the directory that the backup names")
