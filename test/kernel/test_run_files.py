"""Files on the command line: their runtime, files in a workspace, modules beside them, and --out."""

import os
import stat

from support import ensure, expect, here, prints, read, refused, run, run_json, same, test, write


@test
def runtime_comes_from_the_extension_or_the_first_line():
    write("app.py", "import sys; print(sys.version_info[0], sys.argv[1:])\n")
    write("script.sh", "echo $((6*7)) $1\n")
    write("with-bash", "#!/bin/bash\na=(1 2 3)\necho ${#a[@]}\n")
    write("with-env", "#!/usr/bin/env -S python3 -u\nprint('env')\n")
    write("first-line-wins.sh", "#!/usr/bin/python3\nprint('python')\n")
    write("program.js", "console.log(6*7)\n")
    os.mkdir("deep")
    write("deep/main.c", '#include <stdio.h>\nint main(void) { puts("compiled"); }\n')
    prints("3 ['a', '-c']\n", "app.py", "a", "-c")
    prints("42 x\n", "./script.sh", "x")
    prints("3\n", "with-bash")
    prints("env\n", "with-env")
    prints("python\n", "first-line-wins.sh")
    prints("42\n", "program.js")
    prints("compiled\n", "deep/main.c")
    same(run_json("app.py")[0]["runtime"], "python3", "the runtime")


@test
def unknown_files_and_runtimes_are_refused_with_a_suggestion():
    write("data.xyz", "x\n")
    refused(run("data.xyz"), 2, "the runtime of 'data.xyz' is unknown", "before the file")
    refused(run("gone.py"), 2, "there is no file 'gone.py'")
    refused(run("pyton3"), 2, "'pyton3' is neither a runtime nor a file", "did you mean python3?")
    refused(run("ls"), 2, "'ls' is neither a runtime nor a file", "cella run -- ls")


def project():
    os.mkdir("proj")
    write("proj/helper.py", "VALUE = 42\n")
    write("proj/main.py", "import helper, sys; print(helper.VALUE, sys.argv)\n")
    write("proj/helper.js", "exports.value = 42\n")
    write("proj/main.js", "console.log(require('./helper').value)\n")
    write("proj/part.h", "#define VALUE 42\n")
    write("proj/main.c", '#include <stdio.h>\n#include "part.h"\nint main(void) { printf("%d\\n", VALUE); }\n')
    for directory, _, files in os.walk("proj"):
        for name in files:
            os.chmod(os.path.join(directory, name), 0o644)


@test
def file_in_the_workspace_finds_those_beside_it():
    project()
    for words in (("python3", "main.py"), ("main.py",), ("python3", "proj/main.py"), ("python3", here("proj", "main.py")), ("python3", "/workspace/main.py")):
        prints("42 ['/workspace/main.py', 'a']\n", "--workspace", "proj", *words, "a")
    prints("42\n", "--workspace", "proj", "main.js")
    prints("42\n", "--workspace", "proj", "c", "main.c")
    os.chdir("proj")
    prints("42 ['/workspace/main.py']\n", "--workspace", ".", "python3", "main.py")


@test
def file_beside_the_workspace_is_copied():
    project()
    write("other.py", "print(__file__)\n")
    prints("/run/other.py\n", "--workspace", "proj", "python3", "other.py")


@test
def links_that_leave_the_workspace_are_not_followed():
    """An earlier sandbox with a writable workspace may have made such links."""
    write("secret.py", "print('secret')\n")
    os.mkdir("proj")
    os.symlink(here("secret.py"), "proj/absolute.py")
    os.symlink("../secret.py", "proj/relative.py")
    os.symlink("..", "proj/up")
    os.mkfifo("proj/fifo.py")
    names = ["absolute.py", "relative.py", "up/secret.py", "../proj/../gone.py"]
    # Paths of the host, of which only the first part is the user's own.
    names += ["proj/absolute.py", "proj//relative.py", here("proj/relative.py"), "proj/up/secret.py", "proj/up/proj/up/secret.py", "proj/fifo.py"]
    for name in names:
        r = run("--workspace", "proj", "python3", name)
        same(r.rc, 2, f"exit status for {name}", r)
        ensure("secret" not in r.out, "the file outside was read", r)
        r = run("--workspace", "proj", name)
        same(r.rc, 2, f"exit status for {name}", r)
        ensure("secret'" not in r.out, "the file outside was read", r)
    os.chdir("proj")
    for name in ("absolute.py", "up/secret.py", "../proj/relative.py"):
        refused(run("--workspace", ".", name), 2, "leads out of it")
    os.mkdir("sub")
    write("in.py", "print(__file__)\n")
    os.symlink("in.py", "alias.py")
    prints("/workspace/in.py\n", "--workspace", ".", "./alias.py")
    prints("/workspace/in.py\n", "--workspace", ".", "sub/../in.py")
    os.chdir("sub")
    prints("/workspace/in.py\n", "--workspace", "..", "../in.py")
    prints("/workspace/in.py\n", "--workspace", "..", "in.py")


@test
def missing_module_beside_the_file_names_workspace():
    project()
    r = expect(run("python3", "proj/main.py"), 1, "", None)
    ensure(r.err.endswith("cella: hint: helper is beside main.py; to show the directory to the code: cella run --workspace proj python3 main.py\n"), "no hint", r)
    os.chdir("proj")
    r = expect(run("main.py"), 1, "", None)
    ensure("cella run --workspace . python3 main.py\n" in r.err, "no hint", r)
    r = expect(run("main.js"), 1, "", None)
    ensure("cella run --workspace . node main.js\n" in r.err, "no hint", r)
    write("other.py", "import not_there\n")
    r = expect(run("other.py"), 1, "", None)
    ensure("hint" not in r.err, "a hint", r)


# --out


@test
def out_gets_new_and_changed_files():
    code = "import os; os.makedirs('a/b'); open('a/b/c', 'w').write('deep'); open('x', 'wb').write(b'\\0' * 3000000); open('run', 'w').close(); os.chmod('run', 0o755); open('/tmp/t', 'w').close()"
    os.umask(0o022)
    prints("", "--out", "result", "python3", "-c", code)
    same(sorted(os.path.relpath(os.path.join(d, f), "result") for d, _, files in os.walk("result") for f in files), ["a/b/c", "run", "x"], "files")
    same((read("result/a/b/c"), os.path.getsize("result/x")), ("deep", 3000000), "contents")
    same([stat.S_IMODE(os.stat(f"result/{name}").st_mode) for name in ("x", "run")], [0o644, 0o755], "modes")
    same(os.stat("result/x").st_uid, os.getuid(), "the owner")
    r = expect(run("--out", "result", "sh", "-c", "echo 2 >a; exit 3"), 125, None, None)
    ensure("cannot write 'a'" in r.err, "a directory was replaced", r)
    expect(run("--out", "result", "sh", "-c", "echo 2 >x; exit 3"), 3)
    same(read("result/x"), "2\n", "the file was not replaced")


@test
def out_follows_no_links_and_takes_only_regular_files():
    os.mkdir("result")
    os.mkdir("elsewhere")
    write("victim", "old")
    os.symlink(here("victim"), "result/link")
    os.symlink(here("elsewhere"), "result/dir")
    r = expect(run("--out", "result", "sh", "-c", "echo new >link; ln -s /etc/passwd passwd; mkfifo pipe; ln -s link l2"), err=None)
    same(read("victim"), "old", "the target of a link in the directory")
    ensure(not os.path.islink("result/link") and read("result/link") == "new\n", "the link was not replaced", r)
    same(sorted(os.listdir("result")), ["dir", "link"], "entries")
    ensure("not regular files" in r.err, "the links are not mentioned", r)
    r = run("--out", "result", "sh", "-c", "mkdir dir; echo x >dir/file")
    same(r.rc, 125, "exit status", r)
    same(os.listdir("elsewhere"), [], "files behind the link")


@test
def out_needs_a_writable_workspace_and_a_directory():
    os.mkdir("proj")
    refused(run("--out", "result", "--workspace", "proj", "--", "true"), 2, "--out needs a writable workspace")
    ensure(not os.path.exists("result"), "the directory was created")
    write("file")
    refused(run("--out", "file", "--", "true"), 2, "--out 'file'")
    refused(run("--out", "no/parent", "--", "true"), 2, "--out 'no/parent'")


@test
def out_says_when_there_are_too_many_files():
    r = run("--out", "result", "python3", "-c", "for i in range(1100): open(f'f{i}', 'w').close()")
    same(r.rc, 125, "exit status", r)
    ensure("only 1000 files were copied" in r.err, "no reason", r)
    same(len(os.listdir("result")), 1000, "files")


@test
def out_and_json_go_together():
    result, r = run_json("--out", "result", "sh", "-c", "echo 1 >one")
    same(([f["path"] for f in result["files"]], read("result/one")), (["one"], "1\n"), "the file")
