"""Images for tests, put into a store by hand: small roots made of this machine's own programs, so that they need no
network and take milliseconds.  What gets images into the store has tests of its own."""

import hashlib
import json
import os
import shutil
import subprocess

import support

PROGRAMS = ("sh", "cat", "chmod", "cp", "dd", "env", "id", "ln", "ls", "mkdir", "mkfifo", "mv", "rm", "rmdir", "sleep", "stat",
            "touch", "true", "truncate")  # fmt: skip
OWNER = 4242  # of a store, in tests as root: an unused uid


def document(about):
    """The text of a file of meta/ (src/image/store/document.c)."""
    records = ["cella-image 1"]
    fields = {k: v for k, v in about.items() if k not in ("names", "config", "runtimes", "layers")}
    for key, value in {**fields, "layer": about["layers"], **about["config"], "runtime": about["runtimes"]}.items():
        if isinstance(value, dict):
            for name, text in value.items():
                records += [f"{key.removesuffix('s')} {name}", f"={text}"]
        else:
            records += [f"{key} {x}" for x in (value if isinstance(value, list) else [value])]
    return "".join(record + "\0" for record in records)


def needs(programs):
    """Returns {program: its file}, and the libraries that all of them need."""
    found = {os.path.basename(name): os.path.realpath(shutil.which(name)) for name in programs}
    out = subprocess.run(["ldd", *found.values()], capture_output=True, text=True, check=False).stdout
    libraries = {word for line in out.splitlines() if not line.endswith(":") for word in line.split() if word[0] == "/"}
    return found, sorted(libraries)


FILES = needs(PROGRAMS)  # once, for all tests of a run


def state():
    return support.here("state")


def owner():
    """Returns the owner of a store."""
    return OWNER if support.is_root() else support.ordinary_uid


def put(path, text="", mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


class Image:
    """An image in the store with a root that can be filled with files before use."""

    def __init__(self, name="tiny", config=None, files=FILES, where=None, salt=""):
        self.name, self.store = name, os.path.join(where or state(), "images")
        self.id = hashlib.sha256((name + salt).encode()).hexdigest()
        self.root = os.path.join(self.store, "roots", self.id)
        self.config = {"env": ["PATH=/bin"], "cwd": "/", "user": "", "uid": 0, "gid": 0, "entrypoint": [],
                       "cmd": ["sh", "-c", "echo the image"], "labels": {}, **(config or {})}  # fmt: skip
        for directory in ("refs", "meta", "layers", "tmp"):
            os.makedirs(os.path.join(self.store, directory), exist_ok=True)
        os.makedirs(self.root)
        self._fill(files)
        self.write()

    def _fill(self, files):
        programs, libraries = files
        for name, path in programs.items():
            self._copy(path, f"bin/{name}")
        for path in libraries:
            self._copy(os.path.realpath(path), path[1:])
        self.put("etc/passwd", "root:x:0:0:root:/root:/bin/sh\napp:x:501:502::/home/app:/bin/sh\n")
        self.put("etc/group", "root:x:0:\napp:x:502:\n")
        self.put("etc/mark", f"{self.name}\n")
        self.put("etc/private", "private\n", 0o600)
        self.put("data/a/b/c", "deep\n")
        os.makedirs(self.path("root"))

    def _copy(self, source, name):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        shutil.copy(source, self.path(name))

    def path(self, name):
        return os.path.join(self.root, name)

    def put(self, name, text="", mode=0o644):
        put(self.path(name), text, mode)

    def link(self, name, target):
        """Makes the name refer to target, and replaces what was there."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.islink(path) or os.path.isfile(path):
            os.unlink(path)
        elif os.path.isdir(path):
            shutil.rmtree(path)
        os.symlink(target, path)

    def write(self, runtimes=None):
        """Writes the image's document and its name."""
        about = {"id": self.id, "digest": "", "names": [], "created_ms": 1, "bytes": 1, "files": 1, "source": "import",
                 "platform": "linux/amd64", "layers": [], "config": self.config,
                 "runtimes": runtimes or {}}  # fmt: skip
        put(os.path.join(self.store, "meta", self.id), document(about))
        put(os.path.join(self.store, "refs", self.name.replace("/", "%2F")), self.id)

    def done(self, uid=None):
        """Gives the image to the store's owner, as everything in a store. Returns the image."""
        if support.is_root():
            uid = owner() if uid is None else uid
            for directory, names, files in os.walk(self.store):
                for name in [".", *names, *files]:
                    os.lchown(os.path.join(directory, name), uid, uid)  # and takes setuid away
        return self

    def unname(self):
        os.unlink(os.path.join(self.store, "refs", self.name.replace("/", "%2F")))
        os.unlink(os.path.join(self.store, "meta", self.id))


def copy_python(image):
    """Copies the part of the standard library that python3 needs to start."""
    source = subprocess.run(["/usr/bin/python3", "-c", "import os; print(os.path.dirname(os.__file__))"],
                            capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    for directory in ("", "encodings", "collections", "importlib", "json", "re", "lib-dynload"):
        os.makedirs(image.path(os.path.join(source[1:], directory)), exist_ok=True)
        for name in os.listdir(os.path.join(source, directory)):
            path = os.path.join(source, directory, name)
            if os.path.isfile(path) and not name.startswith("pydoc"):
                shutil.copy(path, image.path(path[1:]))


def tree(path):
    """Returns names, types, modes, owners and contents below a directory, as one value."""
    found = []
    for directory, names, files in os.walk(path):
        names.sort()
        for name in sorted([".", *names, *files]):
            whole = os.path.join(directory, name)
            st = os.lstat(whole)
            about = [os.path.relpath(whole, path), st.st_mode, st.st_uid, st.st_gid, st.st_nlink, st.st_mtime_ns, st.st_ino]
            if os.path.islink(whole):
                about.append(os.readlink(whole))
            elif os.path.isfile(whole):
                with open(whole, "rb") as f:
                    about += [st.st_size, hashlib.sha256(f.read()).hexdigest()]
            about.append([(n, os.getxattr(whole, n, follow_symlinks=False)) for n in os.listxattr(whole, follow_symlinks=False)])
            found.append(about)
    return found


def environment():
    return {**os.environ, "CELLA_STATE": state()}


def run(*words, **kwargs):
    """cella run with this test's store."""
    return support.run(*words, env=environment(), **kwargs)


def prints(expected, *words, **kwargs):
    return support.expect(run(*words, **kwargs), out=expected)


def sh(image, code, *options, **kwargs):
    """The output of a shell's commands in the image, which must succeed."""
    return support.expect(run("--image", image.name, *options, "--", "sh", "-ec", code, **kwargs)).out
