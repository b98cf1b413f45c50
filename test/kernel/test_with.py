"""cella run --with PACKAGE: pip in the sandbox before the code, and the network afterwards.

The packages are wheels in a directory that is mounted: no test needs an index."""

import base64
import hashlib
import os
import subprocess
import zipfile

from support import Skip, ensure, expect, here, prints, refused, run, run_json, same, test

OFFLINE = ("-e", "PIP_NO_INDEX=1", "-e", "PIP_FIND_LINKS=/wheels")
# A name that no index has: pip asks for it, is refused, and takes the wheel.
INDEX = ("-e", "PIP_INDEX_URL=http://index.invalid/simple", "-e", "PIP_RETRIES=0", "-e", "PIP_FIND_LINKS=/wheels")


def wheels(code="VALUE = 42\n"):
    """A directory with the wheel of the package `cellatest`."""
    if subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True).returncode != 0:
        raise Skip("no pip on this machine")
    info = "cellatest-1.0.dist-info"
    files = {"cellatest.py": code, f"{info}/METADATA": "Metadata-Version: 2.1\nName: cellatest\nVersion: 1.0\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}  # fmt: skip
    record = "".join(f"{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(d.encode()).digest()).rstrip(b'=').decode()},{len(d)}\n" for n, d in files.items())
    os.mkdir("wheels")
    with zipfile.ZipFile("wheels/cellatest-1.0-py3-none-any.whl", "w") as z:
        for name, data in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            z.writestr(name, data)
    os.chmod("wheels/cellatest-1.0-py3-none-any.whl", 0o644)
    return ("-v", f"{here('wheels')}:/wheels")


CODE = "import cellatest; print(cellatest.VALUE)"


@test(unwrapped=True)
def packages_are_there_when_the_code_starts():
    mount = wheels()
    prints("42\n", *mount, *OFFLINE, "--with", "cellatest", "python3", "-c", CODE)
    prints("42\n", *mount, *OFFLINE, "--with", "cellatest==1.0", "--", "python3", "-c", CODE)


@test(unwrapped=True)
def packages_are_not_files_that_the_code_has_written():
    result, r = run_json(*wheels(), *OFFLINE, "--out", "result", "--with", "cellatest", "python3", "-c", CODE + "; open('mine', 'w').close()")
    same(([f["path"] for f in result["files"]], os.listdir("result")), (["mine"], ["mine"]), "files", r)


@test(unwrapped=True)
def code_has_no_network_after_the_installation():
    r = run(*wheels(), *INDEX, "--with", "cellatest", "python3", "-c", "\n".join((
        CODE,
        "import os, socket",
        "print([k for k in os.environ if 'PROXY' in k])",
        "for address in (('192.0.2.1', 80), ('index.invalid', 80), ('8.8.8.8', 53)):",
        "    try: print(socket.create_connection(address, 5))",
        "    except OSError as e: print('closed')",
    )))  # fmt: skip
    expect(r, 0, "42\n[]\nclosed\nclosed\nclosed\n", None)


@test(unwrapped=True)
def code_keeps_a_network_that_the_options_give_it():
    r = run(*wheels(), *INDEX, "--allow", "example.com", "--with", "cellatest", "python3", "-c", CODE + "; import os; print('HTTPS_PROXY' in os.environ)")
    expect(r, 0, "42\nTrue\n", None)


@test(unwrapped=True)
def packages_that_cannot_be_installed_are_an_error():
    r = run(*wheels(), *OFFLINE, "--with", "not-there", "python3", "-c", "print('ran')")
    same((r.rc, r.out), (125, ""), "the result", r)
    ensure("not-there" in r.err and r.err.endswith("cella: --with: pip could not install the packages\n"), "no reason", r)


@test
def options_of_pip_are_refused():
    for word in ("--index-url=http://x", "-r", "/etc/passwd", ""):
        refused(run("--with", word, "python3", "-c", "1"), 2, "--with takes the name of a package")
