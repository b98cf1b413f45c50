"""Several users in an image that runs as root, by the daemon: signals, deadlines and file operations reach all of them."""

import io
import json
import os
import shutil
import stat
import subprocess
import tarfile

import daemon
import images
import support
from images import Image
from support import Skip, here, same, test, until

FILES = images.needs([*images.PROGRAMS, "chown", "setpriv"])
AS_33 = "setpriv --reuid=33 --regid=33 --clear-groups "
ALL = os.environ.get("CELLA_TEST_ALL")


def Daemon(**kwargs):
    return daemon.Daemon(settings={"images": {"pull": "never"}}, **kwargs)


FIXTURES = {"d": Daemon}


def sandbox(d, **fields):
    Image("tiny", files=FILES, where=d.state).done(os.stat(d.state).st_uid)
    return d.sandbox(image="tiny", **fields)


def ran(d, s, code, **fields):
    r = d.exec("sh", code, s, **fields)
    same((r["status"], r["exit_code"]), ("exited", 0), f"how {code} ended", json.dumps(r))
    return r["stdout"]


@test(users=["root"])
def a_sandbox_says_how_many_users_it_has(d):
    s = sandbox(d)
    same(d.get(f"/v1/sandboxes/{s}")["isolation"]["users"], 65536, "of an image that runs as root")
    same(d.exec("sh", "true", s)["isolation"]["users"], 65536, "in a result")
    t = d.sandbox()
    same("users" in d.get(f"/v1/sandboxes/{t}")["isolation"], False, "of the host's view")
    same("users" in d.exec("sh", "true")["isolation"], False, "of one execution")
    same(d.exec("sh", "true", image="tiny")["isolation"]["users"], 65536, "of one execution in an image")


@test(users=["root"])
def signals_and_deadlines_reach_every_user(d):
    s = sandbox(d)
    base = f"/v1/sandboxes/{s}/processes"
    code = f"exec {AS_33} sh -c 'trap \"echo usr1\" USR1; trap \"echo int; exit 3\" INT; echo ready; while :; do sleep 0.05; done'"
    p = d.post(base, {"runtime": "sh", "code": code}, 201)["pid"]
    until(lambda: "ready" in d.get(f"{base}/{p}/output")["stdout"], 20, "its start")
    d.post(f"{base}/{p}/signal", {"signal": "USR1"})
    until(lambda: "usr1" in d.get(f"{base}/{p}/output")["stdout"], 20, "a signal")
    d.post(f"{base}/{p}/signal", {"signal": "INT"})
    until(lambda: d.get(f"{base}/{p}")["state"] == "exited", 20, "its end")
    same(d.get(f"{base}/{p}")["exit_code"], 3, "exit code")
    q = d.post(base, {"command": ["setpriv", "--reuid=7", "--regid=7", "--clear-groups", "sleep", "1000"]}, 201)["pid"]
    d.delete(f"{base}/{q}")
    until(lambda: d.get(f"{base}/{q}")["state"] == "exited", 20, "the end of a process that was killed")
    # Processes that a command leaves behind end with it; another command continues.
    other = d.post(base, {"runtime": "sh", "code": "echo up; while :; do sleep 0.1; done"}, 201)["pid"]
    until(lambda: "up" in d.get(f"{base}/{other}/output")["stdout"], 20, "its start")
    ran(d, s, f"{AS_33} sh -c 'sleep 1000 & sleep 1001 & wait' > /dev/null 2>&1 & sleep 0.2")
    left = "for p in /proc/[0-9]*; do { read -r l < $p/cmdline; } 2>/dev/null; case $l in *sleep*100[01]*) echo $l;; esac; done"
    same(ran(d, s, f"{AS_33} sh -c '{left.replace(chr(39), '')}'"), "", "processes of the other user")
    same(d.get(f"{base}/{other}")["state"], "running", "another command")
    r = d.exec("sh", f"exec {AS_33} sh -c 'trap \"\" TERM; sleep 1000; sleep 1000'", s, limits={"timeout_ms": 2000})
    same(r["status"], "timeout", "a deadline")


@test(users=["root"])
def file_operations_reach_files_of_every_user(d):
    s = sandbox(d)
    ran(d, s, "mkdir p; echo secret > p/f; chmod 600 p/f; chown -R 33:34 p; chmod 700 p; cp /bin/id p/id; chmod 6755 p/id")
    same(d.request("GET", d.file(s, "p/f")).body, b"secret\n", "a file of another user")
    same(sorted(e["name"] for e in d.get(d.file(s, "p", list=1))["entries"]), ["f", "id"], "its directory")
    d.put(s, "p/f", "changed\n")
    d.put(s, "p/g", "new\n")
    same(ran(d, s, "cat p/f; stat -c %u:%g p/f p/g"), "changed\n33:34\n0:0\n", "owners after writing")
    tar = tarfile.open(fileobj=io.BytesIO(d.request("GET", f"/v1/sandboxes/{s}/archive?path=p").body))
    modes = {os.path.basename(m.name): m.mode for m in tar.getmembers()}
    same(modes["id"] & (stat.S_ISUID | stat.S_ISGID), 0, "set-id bits in an archive")
    d.delete(d.file(s, "p", recursive=1))
    same(ran(d, s, "ls"), "", "what is left")


@test(users=["root"])
def owners_in_a_persistent_workspace_stay_after_a_restart():
    with Daemon() as d:
        if not os.path.exists(os.path.join(d.state, "volumes")):
            raise Skip("no volumes here")
        s = sandbox(d, persistent=True)
        ran(d, s, "echo x > f; chown 33:34 f; chmod 640 f; mkdir d; chown 65535:1 d; echo root > mine; chmod 600 mine; chown 33:34 .")
        d.restart()
        same(ran(d, s, "stat -c '%u:%g %a' f d mine .; cat mine"), "33:34 640\n65535:1 755\n0:0 600\n33:34 755\nroot\n", "owners")


PACKAGE = """Package: probe
Version: 1
Architecture: all
Maintainer: nobody <nobody@example.org>
Description: a probe
"""
POSTINST = """#!/bin/sh
set -e
adduser --system --group --no-create-home probe
chown probe:probe /var/lib/probe
"""


def repository(path):
    """A repository of one package, with a set-user-id program, a user of its own and a directory of that user."""
    root = os.path.join(path, "p")
    for name, text, mode in (("DEBIAN/control", PACKAGE, 0o644), ("DEBIAN/postinst", POSTINST, 0o755),
                             ("usr/bin/probe", "#!/bin/sh\necho probe runs\n", 0o4755), ("var/lib/probe/f", "", 0o644)):  # fmt: skip
        images.put(os.path.join(root, name), text, mode)
    deb = os.path.join(path, "probe.deb")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, deb], check=True, capture_output=True)
    digest = subprocess.run(["sha256sum", deb], check=True, capture_output=True, text=True).stdout.split()[0]
    images.put(os.path.join(path, "Packages"), f"{PACKAGE}Filename: ./probe.deb\nSize: {os.stat(deb).st_size}\nSHA256: {digest}\n\n")


@test(users=["root"], timeout=900)
def packages_can_be_installed_in_a_real_debian():
    if not ALL:
        raise Skip("a real Debian takes a minute: CELLA_TEST_ALL=1")
    if not all(shutil.which(p) for p in ("mmdebstrap", "dpkg-deb")):
        raise Skip("no mmdebstrap on this machine")
    os.makedirs(here("repo"))
    os.chmod(here("repo"), 0o755)
    repository(here("repo"))
    env = {**images.environment(), "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
    r = support.cella(["image", "bootstrap", "debian:real", "--packages", "apt,adduser"], env=env, timeout=600)
    same(r.rc, 0, "exit status", r)
    code = """
echo 'deb [trusted=yes] file:/repo ./' > /etc/apt/sources.list
rm -f /etc/apt/sources.list.d/*
apt-get -q update; apt-get -q install -y probe
stat -c '%U:%G %a' /usr/bin/probe /var/lib/probe; probe
useradd -m bob; su - bob -c 'id -un; pwd; echo x > f'; stat -c %U /home/bob/f
su -s /bin/sh www-data -c 'id -u'
"""
    r = images.run("--image", "debian:real", "--mount", here("repo") + ":/repo", "--memory", "1g", "--timeout", "300s", "--", "bash", "-ec", code,
                   timeout=320)  # fmt: skip
    same(r.rc, 0, "exit status", r)
    wanted = ["root:root 4755", "probe:probe 755", "probe runs", "bob", "/home/bob", "bob", "33"]
    same(r.out.splitlines()[-len(wanted):], wanted, "the end of the output", r)  # fmt: skip
