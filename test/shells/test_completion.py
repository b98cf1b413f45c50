"""Completion of the command line in real shells, with the scripts that `cella completion` prints."""

import os
import re
import shlex
import subprocess

import support
from support import Terminal, cella, ensure, expect, refused, same, test, write

VERBS = ["bootstrap", "gc", "import", "inspect", "ls", "pull", "rm"]  # of cella image


def environment():
    return {**os.environ, "PATH": os.path.dirname(support.command[-1]) + ":" + os.environ["PATH"], "HOME": os.getcwd(), "TERM": "vt100"}


def answer(*words):
    return subprocess.run(words, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout


def bash(*words):
    """What bash offers for the last word."""
    script = f"source <(cella completion bash); complete -p cella >/dev/null || exit 1; COMP_WORDS=(cella {shlex.join(words)}); COMP_CWORD={len(words)}; _cella; printf '%s\\n' ${{COMPREPLY[@]}}"
    return answer("bash", "-c", script).split()


def fish(*words):
    """The same of fish, with files; it also shows the help of each."""
    lines = answer("fish", "--no-config", "-c", f"cella completion fish | source; complete -C {shlex.quote(' '.join(('cella', *words)))}").splitlines()
    return [line.split("\t")[0] for line in lines]


class Zsh:
    """zsh on a terminal, with its completion.  Ctrl-X prints the line that was typed and completed, and empties it."""

    def __init__(self, source="source <(cella completion zsh)"):
        write(".zshrc", "\n".join((
            "autoload -Uz compinit; compinit -u -d dump", source, "unsetopt beep", "setopt no_auto_menu no_list_ambiguous",
            "show() { BUFFER=\"print -r -- 'BUF''FER' ${(q)${(q)BUFFER}}\"; zle .accept-line; }", "zle -N show; bindkey '^X' show", "PS1='rea''dy> '",
        )) + "\n")  # fmt: skip
        self.terminal = Terminal("-i", program="zsh", columns=300, env={**environment(), "ZDOTDIR": os.getcwd()})
        self.terminal.wait(b"ready> ")

    def complete(self, text):
        """The line after Tab."""
        self.terminal.seen = b""
        self.terminal.type(text.encode() + b"\t\x18")
        self.terminal.wait(b"BUFFER ")
        self.terminal.seen = self.terminal.seen.partition(b"BUFFER ")[2]
        self.terminal.wait(b"ready> ")
        return shlex.split(self.terminal.seen.decode().splitlines()[0])[0]

    def end(self):
        self.terminal.type(b"\x15exit\n")
        self.terminal.end(0)


def options_of(*words):
    return set(re.findall(r"(?m)^  (?:-\w, |    )(--[a-z-]+)", expect(cella(["help", *words])).out)) | {"--help"}


@test
def bash_completes_commands_verbs_and_options():
    same(bash("ru"), ["run", "runtime"], "commands")
    same(bash("run", "--ti"), ["--timeout"], "a limit")
    same(bash("run", "--int"), ["--interactive"], "an option")
    same(bash("run", "--json", "--int"), ["--interactive"], "an option after another one")
    same(bash("help", "ver"), ["version"], "a command after help")
    same(bash("run", "fil"), [], "a file, which bash completes itself")
    same(bash("run", "--", "ls", "--a"), [], "an option of another program")
    same(sorted(bash("image", "")), VERBS, "verbs")
    same(bash("image", "pull", "--pl"), ["--platform"], "an option of a verb")
    same(sorted(bash("secret", "")), ["ls", "rm", "set"], "verbs that the usage names")
    same(set(bash("run", "--")), options_of("run"), "all options")


@test
def fish_completes_commands_verbs_options_and_files():
    write("file.py", "")
    same(fish("ru"), ["run", "runtime"], "commands")
    same(fish("run", "--ti"), ["--timeout"], "a limit")
    same(fish("run", "--json", "--int"), ["--interactive"], "an option after another one")
    same(fish("help", "ver"), ["version"], "a command after help")
    same(fish("run", "fil"), ["file.py"], "a file")
    same(fish("run", "--json", "fil"), ["file.py"], "a file after an option")
    same(fish("run", "--", "ls", "--a"), [], "an option of another program")
    same([v for v in fish("image", "") if v != "file.py"], [v for v in fish("image", "") if v in VERBS], "verbs and files")
    same(sorted(v for v in fish("image", "") if v in VERBS), VERBS, "verbs")
    same(fish("image", "pull", "--pl"), ["--platform"], "an option of a verb")
    same(set(fish("run", "--")), options_of("run"), "all options")
    ensure("--timeout\twall time" in answer("fish", "--no-config", "-c", "cella completion fish | source; complete -C 'cella run --ti'"), "the help of an option")


def check_zsh(zsh):
    same(zsh.complete("cella runt"), "cella runtime ", "a command")
    same(zsh.complete("cella run --ti"), "cella run --timeout ", "a limit")
    same(zsh.complete("cella run --json --int"), "cella run --json --interactive ", "an option after another one")
    same(zsh.complete("cella help ver"), "cella help version ", "a command after help")
    same(zsh.complete("cella run fil"), "cella run file.py ", "a file")
    same(zsh.complete("cella run --json fil"), "cella run --json file.py ", "a file after an option")
    same(zsh.complete("cella run -- ls --a"), "cella run -- ls --a", "an option of another program")
    same(zsh.complete("cella image boot"), "cella image bootstrap ", "a verb")
    same(zsh.complete("cella image pull --pl"), "cella image pull --platform ", "an option of a verb")
    zsh.end()


@test
def zsh_completes_when_the_script_is_sourced():
    write("file.py", "")
    check_zsh(Zsh())


@test
def zsh_completes_when_the_script_is_installed():
    write("file.py", "")
    os.mkdir("site")
    write("site/_cella", expect(cella(["completion", "zsh"])).out)
    write(".zshenv", "fpath=($ZDOTDIR/site $fpath)\n")
    check_zsh(Zsh(source=""))


@test
def completion_of_another_shell_is_refused():
    refused(cella(["completion", "tcsh"]), 2, "completion for bash, zsh and fish")
    refused(cella(["completion"]), 2, "cella completion bash | zsh | fish")
