"""`cella image`: its words, its progress, its ends.  Against the fake of test_image_store.py where cella-image has to
behave in a certain way, and against the real one for what the two make together.  No daemon runs."""

import contextlib
import fcntl
import io
import json
import os
import pty
import select
import shutil
import signal
import stat
import struct
import subprocess
import tarfile
import termios
import time

import support
from support import cella, ensure, expect, fail, same, spawn, test, until
from test_image_store import install, not_installed

STATE = "state"
ALL = os.environ.get("CELLA_TEST_ALL")  # at import, before each test has its own environment


def prepare(fake=True):
    os.environ["CELLA_STATE"] = support.here(STATE)
    if fake:
        install()


def image(*words, **more):
    return cella(["image", *words], **more)


def heard():
    with contextlib.suppress(OSError):
        with open(support.here(STATE, "images", "fake.log")) as f:
            return [json.loads(line) for line in f]
    return []


def refused(r, rc, *parts):
    """Expects one line on standard error and nothing on standard output."""
    same((r.rc, r.out), (rc, ""), "exit status and output", r)
    for part in parts:
        ensure(part in r.err, f"stderr does not say {part!r}", r)


def listed():
    return [i["names"] for i in image("ls", "--json").json()["images"]]


@test
def quiet_prints_no_progress():
    prepare()
    r = image("pull", "fake/ok:1", "--platform", "linux/arm64", "--quiet")
    same((r.rc, len(r.out.strip()), r.err), (0, 64, ""), "exit status, id, notes", r)


@test
def an_image_is_pulled_listed_inspected_and_removed():
    prepare()
    r = image("pull", "fake/ok:1", "--platform", "linux/arm64")
    same(r.rc, 0, "exit status", r)
    name = r.out.strip()
    ensure(len(name) == 64 and set(name) <= set("0123456789abcdef"), "the id is printed", r)
    lines = r.err.splitlines()
    same(lines, [f"{c * 12}: {w} 4.0M" for c in "ab" for w in ("downloading", "downloaded", "unpacking", "unpacked")], "lines", r)
    request = [x["request"] for x in heard() if "request" in x][0]
    same(request, {"id": 1, "op": "pull", "ref": "docker.io/fake/ok:1", "platform": "linux/arm64", "insecure": False, "credentials": None}, "request")
    rows = [line.split() for line in image("ls").out.splitlines()]
    same((rows[0][:3], rows[1][:3]), (["NAME", "ID", "SIZE"], ["fake/ok:1", name[:12], "1.0K"]), "rows")
    same(listed(), [["docker.io/fake/ok:1"]], "as JSON")
    inspected = image("inspect", "fake/ok:1").out
    for part in (name, "docker.io/fake/ok:1", "PATH=/bin", "sh = /bin/sh"):
        ensure(part in inspected, f"inspect does not tell {part}: {inspected}")
    same(image("inspect", name[:8], "--json").json()["config"]["cmd"], ["sh"], "inspect as JSON")
    same(image("pull", "x/more", "--json").json()["names"], ["docker.io/x/more:latest"], "pull as JSON")
    expect(image("gc"), out="2 layers and 1 roots removed, 2.9K\n")
    r = image("rm", "fake/ok:1", "no/such", "x/more:latest")
    refused(r, 125, "no image 'no/such'")
    same(listed(), [], "what is left")


@test
def wrong_arguments_of_cella_image_are_usage_errors():
    prepare()
    for words, part in ((["pull"], "takes REF"), (["pull", "a", "b"], "takes REF"), (["pull", "UPPER"], "UPPER"), (["pull", "x", "--platform", "arm64"], "linux/arm64"), (["pul", "x"], "did you mean 'cella image pull'"),
                        (["import"], "takes FILE"), (["import", "missing.tar"], "missing.tar"), (["import", "/"], "is a directory"), (["rm"], "takes NAME"), (["ls", "x"], "no words"), (["inspect"], "takes NAME"),
                        (["pull", "x", "--plattform", "y"], "did you mean --platform"), (["gc", "--state", "relative"], "absolute path"), (["bootstrap"], "takes NAME"), (["bootstrap", "host"], "host"), (["bootstrap", "x", "--debian", "../x"], "--debian"),
                        (["bootstrap", "x", "--packages", "a b"], "--packages"), (["bootstrap", "x", "--packages", "curl,--option"], "--packages"), (["bootstrap", "x", "--packages", "curl,"], "--packages"), (["bootstrap", "x", "--packages", "x;reboot"], "--packages"),
                        (["bootstrap", "x", "--mirror", "deb http://x y main"], "--mirror"), (["bootstrap", "x", "--mirror", "copy:///etc"], "--mirror")):  # fmt: skip
        refused(image(*words), 2, part)
    same(image().rc, 2, "exit status without a verb")
    ensure("bootstrap" in image("--help").out and "--insecure" in image("pull", "--help").out, "help")
    refused(image("inspect", "no/such"), 125, "no/such")
    same(heard(), [], "what reached cella-image")


@test
def messages_of_cella_image_are_checked_and_escaped():
    prepare()
    for what in ("nonsense", "array", "long", "endless", "event", "id", "image", "layer", "negative", "deep"):
        refused(image("pull", f"x/{what}"), 125, "cella-image sent an invalid message")
    refused(image("pull", "x/die"), 125, "with status 3", "nothing was changed")
    refused(image("pull", "x/killed"), 125, "by signal 9")
    r = image("pull", "x/words")
    refused(r, 125, "evil ?[31m words?")
    ensure("\x1b" not in r.err and "\x9b" not in r.err, "it steers the terminal", r)
    refused(image("pull", "x/invented"), 125, "not found")
    same(image("pull", "x/stranger").rc, 0, "one that speaks for others")
    same(image("pull", "x/flood").rc, 0, "one that says much")


@test
def without_cella_image_there_is_a_hint():
    not_installed()
    prepare()
    os.unlink(os.path.join(os.path.dirname(support.command[-1]), "cella-image"))
    refused(image("pull", "x"), 125, "cella-image is not installed", "./dev install")
    same(listed(), [], "images can still be listed")


@test
def credentials_and_proxies_are_handed_on():
    prepare()
    os.mkdir(".docker")
    support.write(".docker/config.json", json.dumps({"auths": {"reg.example:5000": {"auth": "bWU6c2VjcmV0"}}}))
    env = {**os.environ, "https_proxy": "http://127.0.0.1:3128", "no_proxy": "localhost", "LD_PRELOAD_NOT": "x", "AWS_SECRET": "x"}
    same(image("pull", "reg.example:5000/ok", "--insecure", env=env).rc, 0, "exit status")
    same(image("pull", "other.example/ok", env=env).rc, 0, "exit status")
    requests = [x["request"] for x in heard() if "request" in x]
    same((requests[0]["credentials"]["username"], requests[0]["credentials"]["password"], requests[0]["insecure"]), ("me", "secret", True), "for the registry")
    same(requests[1]["credentials"], None, "for another one")
    seen = next(x["environment"] for x in heard() if "environment" in x)
    same({k for k in seen if k not in ("PWD", "SHLVL", "_", "LC_CTYPE")}, {"PATH", "LANG", "https_proxy", "no_proxy"}, "variables")


class Terminal:
    """cella on a terminal of this size."""

    def __init__(self, *words, rows=24, columns=80):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.process = spawn("image", *words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.text = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, condition, seconds=20):
        end = time.monotonic() + seconds * support.slack
        while not condition(self.text):
            if time.monotonic() > end:
                fail(f"the terminal does not show it: {self.text[-1000:]!r}")
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    data = os.read(self.master, 65536)
                except OSError:
                    data = b""
                if not data:
                    break
                self.text += data.decode(errors="replace")
        return self.text

    def end(self):
        self.read(lambda _: False)
        os.close(self.master)
        return self.process.wait(10)


def lines_drawn(text):
    """Returns the lines of the progress bars, without the escape sequences that move the cursor."""
    for part in text.split("\x1b[J"):
        yield from (line for line in part.split("\r\n") if line and "\x1b" not in line)


@test
def progress_bars_fit_the_terminal_and_are_erased():
    prepare()
    t = Terminal("pull", "x/paced", columns=100)
    t.read(lambda s: "#" in s and "/s" in s)
    t.resize(24, 34)
    t.read(lambda s: "unpacking" in s.rpartition("bbbb")[2])
    same(t.end(), 0, "exit status")
    wide, narrow = [x for x in lines_drawn(t.text) if "[" in x], [x for x in lines_drawn(t.text) if x[3:4] == "%"]
    ensure(wide and max(map(len, wide)) < 100, f"bars: {wide[-1:]}")
    ensure(narrow and max(map(len, narrow)) < 34, f"narrow lines: {narrow[-1:]}")
    after = t.text.rpartition("\x1b[J")[2]
    same((len(after.strip()), after.count("\n")), (64, 1), "what stays: the id")


@test
def ctrl_c_cancels_and_leaves_nothing():
    prepare()
    t = Terminal("pull", "x/slow")
    until(lambda: any("request" in x for x in heard()), 20, "the pull")
    os.write(t.master, b"\x03")
    same(t.end(), 130, "exit status")
    ensure("nothing was changed" in t.text, f"it says so: {t.text!r}")
    same([x["how"] for x in heard() if "ended" in x], ["cancelled"], "its end")
    process = spawn("image", "pull", "x/slow", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: sum("request" in x for x in heard()) == 3, 20, "the next pull")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    same((process.returncode, out), (128 + signal.SIGTERM, b""), "after SIGTERM")
    # If cella-image ignores the first Ctrl-C, the second one kills it.
    process = spawn("image", "pull", "x/deaf", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: "deaf" in str(heard()[-1]), 20, "the deaf one")
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    same(process.returncode, 130, "after the second")


# With the real cella-image


def root_tar(*extra):
    """A root directory, as small as one can be."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as t:
        for name, mode, data in (("bin", 0o755, None), ("bin/sh", 0o755, b"#!x\n"), ("etc", 0o755, None), ("etc/passwd", 0o644, b"root:x:0:0::/root:/bin/sh\n"), *extra):
            info = tarfile.TarInfo(name)
            info.mode, info.type, info.size = mode, tarfile.REGTYPE if data is not None else tarfile.DIRTYPE, len(data or b"")
            t.addfile(info, io.BytesIO(data or b""))
    return out.getvalue()


def left_over():
    """Returns the incomplete images in the store."""
    return os.listdir(support.here(STATE, "images", "tmp"))


@test
def an_archive_becomes_an_image_and_goes_again():
    prepare(fake=False)
    with open("root.tar.gz", "wb") as f:
        f.write(root_tar())
    first = expect(image("import", "root.tar.gz", "mine:1"), err=None).out.strip()
    second = expect(image("import", "-", "other/name", input=root_tar()), err=None).out.strip()
    same(first, second, "the same archive is the same image")
    same(sorted(listed()[0]), ["mine:1", "other/name"], "names")
    store = support.here(STATE, "images")
    root = os.path.join(store, "roots", first)
    same(open(os.path.join(root, "etc/passwd")).read(), "root:x:0:0::/root:/bin/sh\n", "a file of it")
    owner = os.stat(os.path.join(root, "etc/passwd")).st_uid
    ensure(owner == os.stat(store).st_uid and (owner != 0 or not support.is_root()), f"it belongs to {owner}")
    same(stat.S_IMODE(os.stat(store).st_mode), 0o700, "mode of the store")
    expect(image("rm", "mine:1"), err="")
    same(listed(), [["other/name"]], "after the first name went")
    expect(image("rm", first), err="")
    same(listed(), [], "after the image went")
    expect(image("gc"), out=None)
    same(os.listdir(os.path.join(store, "roots")), [], "roots")
    refused(image("import", "-", "x", input=b"this is no archive at all" * 1000), 125)
    refused(image("import", "-", "host", input=root_tar()), 2, "host")
    same((listed(), left_over()), ([], []), "at the end")


@test
def an_import_that_is_interrupted_or_killed_is_no_image():
    prepare(fake=False)
    big = root_tar(("big", 0o644, os.urandom(1 << 20)))
    for how in (signal.SIGINT, "cella-image", signal.SIGKILL):
        process = spawn("image", "import", "-", "half:1", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(big[: len(big) // 2])
        process.stdin.flush()
        until(lambda: os.path.isdir(support.here(STATE, "images", "tmp")) and left_over(), 20, "its beginning")
        child = [p for p, words in support.processes().items() if words[:1] == ["cella-image"] and parent(p) == process.pid]
        if how == "cella-image":
            os.kill(child[0], signal.SIGKILL)
        else:
            process.send_signal(how)
        process.stdin.close()
        process.stdin = None
        out, err = process.communicate(timeout=20)
        ensure(process.returncode != 0 and out == b"", f"after {how}: {process.returncode} {out} {err}")
        until(lambda: not any(os.path.exists(f"/proc/{p}") for p in child), 20, "the end of cella-image")
        same(listed(), [], f"images after {how}")
    expect(image("import", "-", "whole:1", input=root_tar()), out=None, err=None)
    same((listed(), left_over()), ([["whole:1"]], []), "afterwards")


def parent(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rpartition(")")[2].split()[1])
    return 0


# bootstrap, with an mmdebstrap of ours on PATH

MMDEBSTRAP = """#!/bin/sh
for word; do printf '%s\\n' "$word"; done >"$HOME/words"
say() { echo "I: $1..." >&2; }
say "running apt-get update"
case "$*" in
*no-such-package*) echo "E: Unable to locate package no-such-package" >&2; exit 1 ;;
*nowhere.example*) echo "W: Could not resolve 'nowhere.example'" >&2; echo "E: apt-get update failed" >&2; exit 1 ;;
*unsigned*) echo "E: The repository 'http://x Release' is not signed." >&2; exit 1 ;;
*sarge*) echo "E: The repository 'http://x sarge Release' does not have a Release file." >&2; exit 1 ;;
*cut*) say "creating tarball"; head -c 5000 "$HOME/root.tar"; exit 1 ;;
*slow*) trap 'echo ended >"$HOME/trapped"; exit 1' TERM; say "downloading packages with apt"; while :; do sleep 0.1; done ;;
esac
for step in "downloading packages with apt" "extracting archives" "installing essential packages" "installing remaining packages inside the chroot" "cleaning package lists and apt cache" "creating tarball"; do say "$step"; done
cat "$HOME/root.tar"
say done
"""


@test
def bootstrap_imports_the_archive_of_mmdebstrap():
    prepare(fake=False)
    os.mkdir("bin")
    support.write("bin/mmdebstrap", MMDEBSTRAP, 0o755)
    with open("root.tar", "wb") as f:
        f.write(root_tar(("bin/bash", 0o755, b"#!x\n")))
    env = {**os.environ, "PATH": support.here("bin") + ":" + os.environ["PATH"]}
    r = image("bootstrap", "data", env=env)
    same(r.rc, 0, "exit status", r)
    steps = [line for line in r.err.splitlines() if line.startswith("step ")]
    same((steps[0], steps[-1], len(steps)), ("step 1 of 7: reading the lists of packages", "step 7 of 7: packing", 7), "steps", r)
    words = support.read("words").splitlines()
    same((words[0], words[1], words[-3:]), ("--variant=minbase", "--mode=root" if support.is_root() else "--mode=auto", ["bookworm", "-", "http://deb.debian.org/debian"]), "how it was called")
    ensure("--include=ca-certificates,curl,python3,python3-matplotlib,python3-numpy,python3-pandas,python3-pip,python3-requests" in words, f"packages: {words}")
    inspected = image("inspect", "data", "--json").json()
    same((inspected["source"], inspected["config"]["cmd"], inspected["config"]["entrypoint"], inspected["config"]["env"][0][:10]), ("bootstrap", ["bash"], [], "PATH=/usr/"), "the image")
    same(image("bootstrap", "small", "--debian", "trixie", "--packages", "", "--mirror", "https://deb.example/debian", env=env).rc, 0, "another one")
    words = support.read("words").splitlines()
    ensure(words[-3:] == ["trixie", "-", "https://deb.example/debian"] and not any("include" in w for w in words), f"words: {words}")
    for more, part in ((["--packages", "no-such-package"], "there is no package 'no-such-package' in Debian bookworm"), (["--mirror", "http://nowhere.example/debian"], "the mirror http://nowhere.example/debian cannot be reached"),
                       (["--debian", "sarge"], "has no Debian 'sarge'"), (["--packages", "cut"], "mmdebstrap ended with status 1")):  # fmt: skip
        refused(image("bootstrap", "bad", *more, env=env), 125, part)
    for mirror, parts in (("http://unsigned.example/ubuntu", ("apt-get install ubuntu-keyring", "packages.debian.org/trixie/ubuntu-keyring")),
                          ("http://unsigned.example/debian", ("apt-get install debian-archive-keyring",))):  # fmt: skip
        refused(image("bootstrap", "bad", "--mirror", mirror, env=env), 125, "the signatures of", *parts)
    refused(image("bootstrap", "bad", env={**os.environ, "PATH": "/nowhere"}), 125, "mmdebstrap is not installed", "apt-get install mmdebstrap")
    process = spawn("image", "bootstrap", "bad", "--packages", "slow", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    ensure(process.stderr.readline().startswith(b"step 1") and process.stderr.readline().startswith(b"step 2"), "it begins")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    same((process.returncode, support.read("trapped")), (130, "ended\n"), "after SIGINT")
    same(sorted(n for i in listed() for n in i), ["data", "small"], "images")
    same(left_over(), [], "what is under construction")


# The parts of each recipe: release, packages, a part of the mirror.
RECIPES = {
    "data": ("bookworm", "ca-certificates,curl,python3,python3-matplotlib,python3-numpy,python3-pandas,python3-pip,python3-requests", "debian"),
    "python3.10": ("jammy", "apt,ca-certificates,python3,python3-pip", "ubuntu"),
    "python3.11": ("bookworm", "ca-certificates,python3,python3-pip", "debian"),
    "python3.12": ("noble", "apt,ca-certificates,python3,python3-pip", "ubuntu"),
    "python3.13": ("trixie", "ca-certificates,python3,python3-pip", "debian"),
    "node18": ("bookworm", "ca-certificates,nodejs,npm", "debian"),
    "node20": ("trixie", "ca-certificates,nodejs,npm", "debian"),
    "go": ("trixie", "ca-certificates,golang-go", "debian"),
    "rust": ("trixie", "ca-certificates,cargo,rustc", "debian"),
    "ruby": ("trixie", "ca-certificates,ruby", "debian"),
}


@test
def recipes_name_the_release_and_the_packages():
    prepare(fake=False)
    os.mkdir("bin")
    support.write("bin/mmdebstrap", MMDEBSTRAP, 0o755)
    with open("root.tar", "wb") as f:
        f.write(root_tar(("bin/bash", 0o755, b"#!x\n")))
    env = {**os.environ, "PATH": support.here("bin") + ":" + os.environ["PATH"]}
    help_ = image("bootstrap", "--help").out
    for name, (suite, packages, mirror) in RECIPES.items():
        ensure(name in help_, f"{name} in the help: {help_}")
        r = image("bootstrap", name, "--recipe", name, env=env)
        same(r.rc, 0, f"exit status of {name}", r)
        words = support.read("words").splitlines()
        same((words[-3], f"--include={packages}" in words, mirror in words[-1], "--components=main,universe" in words), (suite, True, True, mirror == "ubuntu"), f"words of {name}: {words}")
    same(image("bootstrap", "other", "--recipe", "ruby", "--mirror", "http://mirror.example/debian", env=env).rc, 0, "another mirror")
    same(support.read("words").splitlines()[-3:], ["trixie", "-", "http://mirror.example/debian"], "words")
    for wrong, *parts in ((["--recipe", "cobol"], "--recipe", "there is no 'cobol'", "python3.12"), (["--recipe", ""], "--recipe"), (["--recipe", "go", "--packages", "curl"], "--packages"),
                          (["--recipe", "go", "--debian", "sid"], "--debian")):  # fmt: skip
        refused(image("bootstrap", "bad", *wrong, env=env), 2, *parts)
    ensure("bad" not in [n for i in listed() for n in i], "an image of a wrong command")


def real_recipe(name):
    """The state directory of an image that the recipe makes, or a skip."""
    if not ALL:
        raise support.Skip("a real Debian takes a minute: CELLA_TEST_ALL=1")
    if not shutil.which("mmdebstrap"):
        raise support.Skip("no mmdebstrap on this machine")
    if RECIPES[name][2] == "ubuntu" and not os.path.exists("/usr/share/keyrings/ubuntu-archive-keyring.gpg"):
        raise support.Skip("no keys of Ubuntu on this machine")
    prepare(fake=False)
    r = image("bootstrap", name, "--recipe", name, timeout=580, env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
    same(r.rc, 0, "exit status", r)


def runs(image_name, runtime, code, out):
    r = cella(["run", "--image", image_name, "--memory", "2G", "--disk", "1G", "--processes", "256", "--timeout", "240s", runtime, "-c", code], timeout=300)
    same((r.rc, r.out), (0, out), f"{runtime} in {image_name}", r)


@test(timeout=720, users=("root",))
def recipe_for_go_runs_go():
    real_recipe("go")
    runs("go", "go", 'package main\nimport "fmt"\nfunc main() { fmt.Println(6 * 7) }\n', "42\n")


@test(timeout=720, users=("root",))
def recipe_for_rust_runs_rust():
    real_recipe("rust")
    runs("rust", "rust", 'fn main() { println!("{}", 6 * 7); }\n', "42\n")


@test(timeout=720, users=("root",))
def recipe_for_ruby_runs_ruby():
    real_recipe("ruby")
    runs("ruby", "ruby", "puts 6 * 7", "42\n")


@test(timeout=720, users=("root",))
def recipe_for_data_has_the_libraries():
    real_recipe("data")
    runs("data", "python3", "import requests, pandas, numpy, matplotlib.pyplot; print(pandas.DataFrame({'a': numpy.arange(3)}).a.sum())", "3\n")
    runs("data", "sh", "python3 -m pip --version >/dev/null && echo pip", "pip\n")


def add_recipe_of_a_version(name):
    def recipe_has_its_version():
        real_recipe(name)
        if name.startswith("python"):
            runs(name, name, "import sys, ssl, sqlite3; print('python%d.%d' % sys.version_info[:2])", f"{name}\n")
            runs(name, "sh", "python3 -m pip --version >/dev/null && command -v apt-get", "/usr/bin/apt-get\n")
        else:
            runs(name, name, "console.log('node' + process.version.split('.')[0].slice(1))", f"{name}\n")
            runs(name, "sh", "npm --version >/dev/null && echo npm", "npm\n")

    test(recipe_has_its_version, name=f"recipe_{name.replace('.', '_')}_has_this_version", timeout=720, users=("root",))


for version in RECIPES:
    if version.startswith(("python", "node")):
        add_recipe_of_a_version(version)


@test(timeout=300, users=("root",))
def bootstrap_of_a_real_debian():
    if not ALL:
        raise support.Skip("a real Debian takes a minute: CELLA_TEST_ALL=1")
    if not shutil.which("mmdebstrap"):
        raise support.Skip("no mmdebstrap on this machine")
    prepare(fake=False)
    r = image("bootstrap", "debian:real", "--packages", "python3-minimal", timeout=280, env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
    same(r.rc, 0, "exit status", r)
    inspected = image("inspect", "debian:real", "--json").json()
    ensure({"bash", "python3"} <= {x["name"] for x in inspected["runtimes"]}, f"runtimes: {inspected['runtimes']}")
