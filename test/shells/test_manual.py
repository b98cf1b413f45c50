"""The manual pages: from the option tables, and without warnings of groff."""

import glob
import os
import pathlib
import re
import shutil
import subprocess

import support
from support import cella, ensure, expect, same, test

ROOT = pathlib.Path(__file__).resolve().parents[2]


def make(texts=ROOT / "doc/man"):
    places = [os.path.abspath(name) for name in ("made.d", "man1", "bash", "zsh", "fish")]
    return subprocess.run([ROOT / "tools/share-files", support.command[-1], ROOT / "doc/cella.1", texts, *places], capture_output=True, text=True, check=False)


def commands():
    return re.findall(r"(?m)^  ([a-z]+) ", expect(cella(["help"])).out.split("commands:")[1])


def read(name):
    """A page as plain text."""
    p = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-cbou", "-rLL=78n", f"man1/{name}.1"], capture_output=True, text=True, check=True)
    same(p.stderr, "", f"warnings about {name}")
    return p.stdout


@test(users=["root"], unwrapped=True)
def each_command_has_a_page():
    same((make().returncode, sorted(os.path.basename(p) for p in glob.glob("man1/*"))),
         (0, sorted(["cella.1", *(f"cella-{name}.1" for name in commands())])), "pages")  # fmt: skip
    overview = read("cella")
    for name in commands():
        ensure(f"cella-{name}(1)" in overview, f"the overview does not name {name}")
        page = read(f"cella-{name}")
        ensure(all(word in page for word in ("\nNAME\n", f"cella {name}", "\nSEE ALSO\n")), page)


@test(users=["root"], unwrapped=True)
def each_option_is_on_the_page_of_its_command():
    make()
    for name in commands():
        page, helped = read(f"cella-{name}"), expect(cella(["help", name])).out
        for letter, option, argument in re.findall(r"(?m)^  (?:-(\w), |    )(--[a-z-]+) ?(\S*)  ", helped):
            names = f"{f'-{letter}, ' if letter else ''}{option}{f' {argument}' if argument else ''}"
            ensure(re.search(rf"(?m)^       {re.escape(names)}(?: |$)", page), f"{names} is not on the page of {name}")


@test(users=["root"], unwrapped=True)
def a_text_about_an_option_that_does_not_exist_is_an_error():
    shutil.copytree(ROOT / "doc/man", "texts")
    with open("texts/run.1", "a") as f:
        f.write('.SH MORE\nsomething\n')
    same(make(pathlib.Path("texts")).returncode, 0, "another section")
    ensure("MORE" in read("cella-run"), "the section is missing")
    pathlib.Path("texts/version.1").write_text('It is short.\n.\\" --no-such-option\nDoes it.\n')
    p = make(pathlib.Path("texts"))
    same((p.returncode, "explains --no-such-option, which is in 0 option tables" in p.stderr), (1, True), p.stderr)
    os.rename("texts/version.1", "texts/no-such-command.1")
    p = make(pathlib.Path("texts"))
    same((p.returncode, "unknown commands: no-such-command" in p.stderr), (1, True), p.stderr)


@test(users=["root"])
def examples_of_the_help_use_options_that_exist():
    for name in commands():
        helped = expect(cella(["help", name])).out
        examples = re.search(r"(?m)^examples:\n((?:  .*\n)+)", helped)
        ensure(examples, f"cella help {name} has no examples")
        for used, line in re.findall(r"\bcella ([a-z]+)((?: +[^\s|()#]+)*)", examples[1]):
            for option in re.findall(r"(?<= )--[a-z-]+", line.partition(" -- ")[0]):
                known = expect(cella(["completion", "words", used])).out
                ensure(f"\n{option}\t" in f"\n{known}", f"the help of {name} uses {option} of {used}")
