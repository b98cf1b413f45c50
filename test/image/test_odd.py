"""Images with missing or unusual parts: imported and run, with a right result or a clear error."""

import os
import platform

import archives as a
import images
import support
from support import ensure, same, test

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
PROGRAMS = images.needs(("sh", "cat", "env", "id", "ls", "mkdir", "touch"))
EVERYBODY = ("root", "user") if os.environ.get("CELLA_TEST_ALL") else ("root",)
PASSWD = "root:x:0:0:root:/root:/bin/sh\napp:x:77:78::/home/app:/bin/sh\n"


def layer(*more, without=()):
    """This machine's shell and a few programs, without any directory that is ours to cover."""
    programs, libraries = PROGRAMS
    entries = [a.entry(f"bin/{name}", open(path, "rb").read(), mode=0o755) for name, path in programs.items() if name not in without]
    entries += [a.entry(path[1:], open(os.path.realpath(path), "rb").read(), mode=0o755) for path in libraries]
    return a.tar(*entries, a.entry("etc/passwd", PASSWD), *more)


def bring(name, *layers, **config):
    """cella image import of it."""
    config = {"Env": ["PATH=/bin"], **config}
    archive = a.docker(layers or [layer()], tags=[f"{name}:1"], architecture=ARCHITECTURE, **config)
    return support.cella(["image", "import", "-"], input=archive, env=images.environment())


def prints(name, expected, *words):
    r = images.run("--image", f"{name}:1", *words)
    same((r.rc, r.out), (0, expected), f"{name} {words}", r)


def fails(name, message, *words, code=125):
    """Checks for an error of Cella, before any code ran."""
    r = images.run("--image", f"{name}:1", *words)
    same((r.rc, r.out), (code, ""), f"{name} {words}", r)
    ensure(message in r.err, f"{name}: it does not say '{message}'", r)


def imported(name, *layers, **config):
    r = bring(name, *layers, **config)
    same(r.rc, 0, f"the import of {name}", r)


def refused(name, message, *layers, **config):
    r = bring(name, *layers, **config)
    ensure(r.rc == 125 and message in r.err, f"the import of {name}: it does not say '{message}'", r)
    fails(name, "image not found")


@test
def directories_of_the_sandbox_cover_links_and_files_of_the_image():
    script = "echo a >/tmp/a && cat /tmp/a && test -d /proc/self -a -c /dev/null -a -d /run && cd /workspace && touch x && ls"
    imported("none")
    imported("links", layer(a.directory("var/tmp"), *(a.symlink(name, target) for name, target in
                            (("tmp", "var/tmp"), ("proc", "/etc"), ("dev", "nowhere"), ("run", "/"), ("workspace", "/etc")))))  # fmt: skip
    imported("files", layer(*(a.entry(name, "a file\n") for name in ("tmp", "proc", "dev", "run", "workspace", "etc/resolv.conf"))))
    for name in ("none", "links", "files"):
        prints(name, "a\nx\n", "sh", "-c", script)
    imported("modes", layer(a.directory("ro", 0o555), a.entry("ro/f", "1\n", mode=0o444), a.directory("closed", 0), a.entry("closed/f", "2\n", mode=0)))
    prints("modes", "1\nmore\n2\n", "sh", "-c", "echo more >>/ro/f && touch /ro/g && mkdir /closed/d && cat /ro/f /closed/f")


@test(users=EVERYBODY)
def a_missing_shell_or_command_of_an_image_is_reported():
    imported("bare", layer(without=("sh",)), Entrypoint=["/bin/cat", "/etc/passwd"])
    prints("bare", PASSWD)
    fails("bare", "runtime not found: sh", "sh", "-c", "true")
    fails("bare", "command not found: sh", "--", "sh", code=127)
    imported("silent")
    fails("silent", "a command is needed: the image has none", code=2)
    for name, entry, message in (("gone", ["/no/such", "x"], "command not found: /no/such"),
                                 ("text", ["/etc/passwd"], "command cannot be executed: /etc/passwd"),
                                 ("directory", ["/etc"], "command cannot be executed: /etc"),
                                 ("hash", ["/bin/start"], "command not found: /bin/start")):  # fmt: skip
        imported(name, layer(a.entry("bin/start", "#!/bin/bash\n", mode=0o755)), Entrypoint=entry)
        fails(name, message, code=127 if "not found" in message else 125)
        prints(name, "1\n", "sh", "-c", "echo 1")


@test(users=EVERYBODY)
def the_directory_of_the_command_is_there_whatever_the_layers_have():
    for name, cwd, expected in (("missing", "/not/there", "/not/there\n"), ("relative", "srv/app", "/srv/app\n"), ("dots", "/a/../../b/./", "/b\n"),
                                ("empty", "", "/\n"), ("link", "/link/x", "/etc/x\n")):  # fmt: skip
        imported(name, layer(a.symlink("link", "/etc")), WorkingDir=cwd, Cmd=["sh", "-c", "pwd -P"])
        prints(name, expected)
    imported("file", WorkingDir="/etc/passwd", Cmd=["sh", "-c", "pwd"])
    fails("file", "cwd '/etc/passwd' is not a directory in the sandbox", code=2)


@test(users=EVERYBODY)
def odd_users_and_variables_are_understood_or_refused():
    odd = a.entry("etc/passwd", "root\n:::::\n\0\0\nbig:x:99999999999:5::/:/x\napp:x:77:78::/:/bin/sh\napp:x:79:80::/:/x")
    imported("passwd", layer(odd), User="app", Cmd=["id", "-u"])
    prints("passwd", "77\n")
    prints("passwd", "0\n", "--user", "root", "--", "id", "-u")
    imported("numbers", User="65534:1", Cmd=["sh", "-c", "id -u; id -g"])
    prints("numbers", "65534\n1\n")
    for name, user in (("ghost", "ghost"), ("big", "big"), ("minus", "4294967295"), ("words", "app:ghost")):
        refused(name, "does not list", layer(odd), User=user)
    refused("nopasswd", "which its /etc/passwd does not list", layer(a.symlink("etc/passwd", "/proc/self/status")), User="root")
    imported("variables", Env=["A=1", "A=2", "NOTHING", "=x", "E=", "N=a\nb", "PATH=/bin"], Cmd=["env"])
    r = images.run("--image", "variables:1")
    for line, n in (("A=2", 1), ("E=", 1), ("b", 1), ("PATH=/bin:/workspace/.local/bin", 1), ("A=1", 0), ("NOTHING", 0), ("=x", 0)):
        same(r.out.splitlines().count(line), n, f"lines with {line}", r)


@test(users=EVERYBODY)
def a_hundred_layers_and_more_are_one_root():
    def stack(n):
        return [layer(), *(a.tar(a.entry(f"n{i}", f"{i}\n"), a.entry(f".wh.n{i - 1}")) for i in range(1, n))]

    imported("many", *stack(128))
    prints("many", "/n127\n127\n", "sh", "-c", "echo /n*; cat /n*")
    refused("more", "129 layers, more than 128", *stack(129))
