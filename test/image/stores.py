"""A store for a test, and cella-image on it."""

import contextlib
import json
import os
import socket
import tempfile

import registry_imager
import support
from support import fail

SKELETON = {"refs", "meta", "layers", "roots", "blobs", "tmp", "lock", "commit"}
USER = registry_imager.USER


class Store(registry_imager.Imager):
    """Makes the store in a directory with other files, which must not change."""

    def __init__(self, **how):
        self.area = tempfile.mkdtemp(prefix="area-", dir=support.home)
        os.makedirs(self.area + "/above/store")
        for place in ("", "above", "beside"):
            os.makedirs(f"{self.area}/{place}", exist_ok=True)
            with open(f"{self.area}/{place}/canary", "w") as f:
                f.write("alive")
        os.symlink("canary", self.area + "/beside/link")
        if os.getuid() == 0:
            for path, _, names in os.walk(self.area):
                for name in [".", *names]:
                    os.lchown(os.path.join(path, name), USER, USER)
        os.chmod(support.home, 0o755)
        os.chmod(self.area, 0o755)
        self.around = self.surroundings()
        super().__init__(os.environ.get("CELLA_IMAGE") or find_program(), store=self.area + "/above/store", **how)

    def surroundings(self):
        """Returns the content of the area without that of the store."""
        found = {}
        for path, directories, names in os.walk(self.area):
            if path == self.area + "/above/store":
                directories.clear()
                continue
            for name in [*directories, *names]:
                at = os.path.join(path, name)
                st = os.lstat(at)
                content = open(at).read() if os.path.isfile(at) and not os.path.islink(at) else ""
                found[at] = (st.st_mode, st.st_uid, st.st_nlink if os.path.isfile(at) else 0, content)
        return found

    def start_import(self, archive, name=None, **fields):
        """Imports an archive: bytes, or a descriptor, which is closed."""
        fd = archive
        if isinstance(archive, bytes):
            with tempfile.TemporaryFile(dir=support.home) as f:
                f.write(archive)
                f.seek(0)
                fd = os.dup(f.fileno())
        self.last += 1
        line = json.dumps({"id": self.last, "op": "import", "name": name, **fields}).encode() + b"\n"
        socket.send_fds(self.socket, [line], [fd])
        os.close(fd)
        return self.last

    def load(self, archive, name=None, **fields):
        """Imports an archive, which must succeed. Returns the image's document."""
        answer = self.answer(self.start_import(archive, name, **fields))
        if answer["event"] != "done":
            fail(f"import failed: {answer['error']}")
        return self.describe(answer["image"]["id"])

    def refuse(self, archive, name="x", **fields):
        """Imports an archive, which must fail and leave nothing. Returns the error."""
        before = self.files()
        answer = self.answer(self.start_import(archive, name, **fields))
        if answer["event"] != "failed":
            fail(f"was imported: {answer['image']}")
        self.check_same(before)
        return answer["error"]

    def do(self, op, **fields):
        answer = self.answer(self.send(op, **fields))
        if answer["event"] != "done":
            fail(f"{op} failed: {answer['error']}")
        return answer

    def files(self):
        """Returns everything in the store except locks and empty directories."""
        found = []
        for path, directories, names in os.walk(self.store):
            found += [os.path.relpath(os.path.join(path, n), self.store) for n in [*directories, *names]]
        return sorted(set(found) - SKELETON)

    def check_same(self, before):
        now = self.files()
        if now != before:
            fail(f"in the store there are {sorted(set(now) - set(before))} and no {sorted(set(before) - set(now))}")
        if self.surroundings() != self.around:
            fail(f"around the store it was {self.around}, and is {self.surroundings()}")

    def root(self, image, path=""):
        return f"{self.store}/roots/{image['id']}/{path}"

    def tree(self, image):
        """Returns the files of an image: {path: content, link target, or None for a directory}."""
        top, found = self.root(image), {}
        for path, directories, names in os.walk(top):
            for name in [*directories, *names]:
                at = os.path.join(path, name)
                found[os.path.relpath(at, top)] = (
                    "-> " + os.readlink(at) if os.path.islink(at)
                    else None if os.path.isdir(at)
                    else open(at, errors="backslashreplace").read())
        return found


def check(condition, what=""):
    support.ensure(condition, str(what))


def check_equal(actual, expected, what="it"):
    support.same(actual, expected, what)


def find_program():
    return os.path.join(os.path.dirname(support.command[-1]), "cella-image")


@contextlib.contextmanager
def store(**how):
    s = Store(**how)
    try:
        yield s
    except BaseException:
        s.end()
        raise
    status = s.end()
    check(status in (None, 0), f"cella-image ended with status {status}")  # the exit status of a sanitizer


support.fixtures["s"] = store
