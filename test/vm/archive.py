#!/usr/bin/python3
"""archive.py -- images for the virtual machine, as `docker save` would have written them.

      archive.py ROOT ARCHIVE

Several layers over what is below ROOT, programs and libraries.  `layers` has deletions of both kinds and a user of
its own; `plain` is the lowest layer alone, with the user root.  Names and contents are what guest/images.sh expects."""

import os
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "image"))
from archives import config, directory, docker_of, entry, symlink, tar  # noqa: E402

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def files(root):
    for path, directories, names in os.walk(root):
        for name in sorted([*directories, *names]):
            at = os.path.join(path, name)
            inside = os.path.relpath(at, root)
            if os.path.islink(at):
                yield symlink(inside, os.readlink(at))
            elif os.path.isdir(at):
                yield directory(inside)
            else:
                yield entry(inside, pathlib.Path(at).read_bytes(), mode=os.stat(at).st_mode & 0o777)


def main(root, archive):
    lowest = tar(
        *files(root),
        directory("etc"), entry("etc/passwd", "root:x:0:0::/root:/bin/sh\napp:x:1234:1235::/srv:/bin/sh\n"),
        entry("etc/group", "root:x:0:\napp:x:1235:\n"), directory("root"), directory("srv"),
        directory("data"), directory("data/a"), entry("data/a/one", "1\n"), entry("data/a/two", "2\n"),
        *(entry(f"data/large{i}", b"x" * 100000) for i in range(1, 5)),
        directory("old"), entry("old/hidden", "hidden\n"), entry("gone", "gone\n"))
    middle = tar(entry(".wh.gone"), directory("old"), entry("old/.wh..wh..opq"), entry("old/new", "new\n"))
    upper = tar(directory("data/a"), entry("data/a/.wh.one"), entry("data/a/three", "3\n"))
    machine = ARCHITECTURES[os.uname().machine]
    path = ["PATH=/usr/bin:/bin"]
    images = [
        (config([lowest], machine, Env=path), [lowest], ["plain:1"]),
        (config([lowest, middle, upper], machine, Env=[*path, "GREETING=good morning"], User="app", WorkingDir="/srv",
                Cmd=["/bin/sh", "-c", "echo $GREETING; id -u; pwd"]), [lowest, middle, upper], ["layers:1"]),
    ]
    pathlib.Path(archive).write_bytes(docker_of(images))


if __name__ == "__main__":
    main(*sys.argv[1:])
