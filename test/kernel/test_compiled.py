"""Languages that are compiled: built in the sandbox, then run in the compiler's place."""

import os
import shutil
import signal
import time

import support
from support import Skip, ensure, expect, here, in_time, prints, reap, refused, run, run_json, same, spawn, test, write

# The same program in each language: it prints its arguments and its input, and exits with a certain code.
PROGRAMS = {
    "c": ("hello.c", '#include <math.h>\n#include <stdio.h>\nint main(int n, char **a)\n{\n  char line[99];\n'
          '  if (fgets(line, 99, stdin))\n    printf("%s:%s:%.0f:%s", a[1], a[2], sqrt(n * 3), line);\n  return 7;\n}\n'),
    "c++": ("hello.cc", '#include <iostream>\n#include <string>\nint main(int n, char **a)\n{\n  std::string line;\n'
            '  std::getline(std::cin, line);\n  std::cout << a[1] << ":" << a[2] << ":" << n << ":" << line << "\\n";\n  return 7;\n}\n'),
    "go": ("hello.go", 'package main\nimport ("bufio"; "fmt"; "os")\nfunc main() {\n  line, _ := bufio.NewReader(os.Stdin).ReadString(10)\n'
           '  fmt.Printf("%s:%s:%d:%s", os.Args[1], os.Args[2], len(os.Args), line)\n  os.Exit(7)\n}\n'),
    "rust": ("hello.rs", 'fn main() {\n  let a: Vec<String> = std::env::args().collect();\n  let mut line = String::new();\n'
             '  std::io::stdin().read_line(&mut line).unwrap();\n  print!("{}:{}:{}:{}", a[1], a[2], a.len(), line);\n  std::process::exit(7);\n}\n'),
}  # fmt: skip
MISTAKES = {
    "c": ("int main(void)\n{\n    return nothing;\n}\n", ":3:12: error:", 1),
    "c++": ("int main()\n{\n    return nothing;\n}\n", ":3:12: error:", 1),
    "go": ("package main\nfunc main() {\n    nothing()\n}\n", ":3:5: undefined: nothing", None),
    "rust": ("fn main() {\n\n    nothing();\n}\n", ":3:5\n", 1),
}
COMPILERS = {"c": "cc", "c++": "c++", "go": "go", "rust": "rustc"}


def need(language):
    """Returns the path of the compiler in a sandbox."""
    if not shutil.which(COMPILERS[language], path="/usr/local/bin:/usr/bin:/bin"):
        raise Skip(f"no compiler of {language} on this machine")


def passes_everything_on(language):
    need(language)
    name, code = PROGRAMS[language]
    path = write(name, code)
    for words in ([path], ["-c", code]):
        r = run(language, *words, "a b", "-x", input="in\n", timeout=60)
        expect(r, rc=7, out="a b:-x:3:in\n")


def tells_its_mistakes(language):
    need(language)
    code, place, rc = MISTAKES[language]
    extension = os.path.splitext(PROGRAMS[language][0])[1]
    path = write(f"mistake{extension}", code)
    r = run(language, path, timeout=60)
    same(r.out, "", "stdout", r)
    ensure(f"mistake{extension}{place}" in r.err, "the place of the mistake", r)
    ensure(rc is None and r.rc in (1, 2) or r.rc == rc, "the compiler's exit code", r)


for language in PROGRAMS:
    word = language.replace("+", "x")
    users = ("root", "user") if language == "c" else ("user",) if language == "rust" else ("root",)
    test(lambda x=language: passes_everything_on(x), name=f"{word}_gets_arguments_input_and_gives_its_exit_code",
         users=users, timeout=120)  # fmt: skip
    test(lambda x=language: tells_its_mistakes(x), name=f"{word}_that_does_not_compile_says_where", users=users, timeout=120)


@test(users=("root",))
def compiled_code_comes_from_standard_input():
    need("c")
    prints("stdin x\n", "c", "-", "x", input='#include <stdio.h>\nint main(int n, char **a) { printf("stdin %s\\n", a[1]); }\n')


@test
def compiled_code_leaves_only_its_own_files():
    need("c")
    result, r = run_json("c", "-c", '#include <stdio.h>\nint main(void) { fclose(fopen("made.txt", "w")); }\n')
    same([(f["path"], f["change"]) for f in result["files"]], [("made.txt", "added")], "files", r)


@test(users=("root",))
def compiler_leaves_the_program_and_nothing_else():
    need("c")
    r = run("c", "-c", '#include <stdlib.h>\nint main(void) { return system("ls -A /run /workspace /tmp"); }\n')
    expect(r, out="/run:\nmain\nmain.c\n\n/tmp:\n\n/workspace:\n")


@test(users=("root",))
def signal_of_the_program_is_that_of_the_run():
    need("c")
    result, r = run_json("c", "-c", "#include <stdlib.h>\nint main(void) { abort(); }\n")
    same((result["status"], result["signal"], result["exit_code"]), ("signaled", signal.SIGABRT, 134), "the end", r)


@test
def deadline_holds_during_compilation():
    """A million functions take gcc longer than that; it ends with all its processes."""
    need("c")
    code = "#define A(x) int f##x(int a) { return a * x + f0(a) + f0(a * 3) + f0(a + 7); }\nint f0(int);\n"
    code += "".join(f"A({i})\n" for i in range(1, 60000)) + "int main(void) { return 0; }\n"
    r = in_time(run("--timeout", "500ms", "c", write("long.c", code)), 3)
    same(r.rc, 124, "exit status", r)


@test(users=("root",))
def memory_limit_holds_during_compilation():
    need("c")
    code = '#define A(x) x, x, x, x, x, x, x, x\nstatic const char *const t[] = { A(A(A(A(A(A(A(A("a")))))))) };\nint main(void) { return *t[1]; }\n'
    result, r = run_json("--memory", "64M", "c", "-c", code, timeout=60)
    same((result["status"], result["exit_code"] != 0), ("memory_limit", True), "the end", r)


@test(users=("root",))
def header_in_the_workspace_is_found():
    need("c")
    os.mkdir("work")
    write("work/answer.h", "#define ANSWER 42\n")
    os.chmod("work", 0o755)
    prints("", "--workspace", here("work"), "c", "-c", '#include "answer.h"\nint main(void) { return ANSWER - 42; }\n')


@test(users=("root",))
def file_with_an_odd_name_is_compiled():
    need("c")
    for name in ("-odd.c", "@odd.c", "no extension", "a.b.c"):
        write(name, "int main(void) { return 0; }\n")
        prints("", "c", f"./{name}")


@test(users=("root",))
def standard_is_that_of_the_runtime():
    need("c++")
    prints("201703\n", "c++17", "-c", '#include <cstdio>\nint main() { printf("%ld\\n", __cplusplus); }\n')
    prints("201112\n", "c11", "-c", '#include <stdio.h>\nint main(void) { printf("%ld\\n", __STDC_VERSION__); return 0; }\n')


@test
def missing_compiler_is_a_missing_runtime():
    r = refused(run("--env", "PATH=/nowhere", "c", "-c", "int main(void) { return 0; }"), 125, "gcc")
    ensure(r.err.startswith("cella: runtime not found: c;"), "the message does not begin as it should", r)


@test(users=("root",))
def cancelling_ends_the_compiler():
    need("c")
    code = "#include <unistd.h>\n" + "".join(f"int f{i}(int a) {{ return a * {i}; }}\n" for i in range(100000)) + "int main(void) { return 0; }\n"
    process = spawn("run", "c", write("long.c", code))
    time.sleep(3 if support.wrapped else 0.4)  # it is compiling by then
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    same(reap(process, 10), 130, "exit status")
    support.within(time.monotonic() - begun, 5, "its end")


# Versions of which PATH has no program with the version in its name.


@test(users=("root",))
def version_of_a_program_is_read_inside_the_sandbox():
    """A program called `node` that prints the given text as its version."""
    os.mkdir("bin")
    for version, fits, fits_not in (("v22.11.0", ("node22", "node22.11"), ("node2", "node221", "node20", "node22.1")),
                                    ("node: 9", ("node9",), ("node9.1", "node8"))):  # fmt: skip
        write("bin/node", f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{version}"; else echo "ran $1"; fi\n', mode=0o755)
        place = ("--mount", f"{here('bin')}:/opt/bin", "--env", "PATH=/opt/bin:/usr/bin:/bin")
        for name in fits:
            prints("ran -e\n", *place, name, "-c", "x")
        for name in fits_not:
            refused(run(*place, name, "-c", "x"), 125, f"runtime not found: {name};")


@test(users=("root",))
def program_with_the_version_in_its_name_is_preferred():
    os.mkdir("bin")
    write("bin/node22", '#!/bin/sh\necho "its own"\n', mode=0o755)
    write("bin/node", '#!/bin/sh\necho v22.0.0\n', mode=0o755)
    prints("its own\n", "--mount", f"{here('bin')}:/opt/bin", "--env", "PATH=/opt/bin:/usr/bin:/bin", "node22", "-c", "x")


@test(users=("root",))
def program_that_never_says_its_version_meets_the_deadline():
    os.mkdir("bin")
    write("bin/node", "#!/bin/sh\nsleep 100\n", mode=0o755)
    r = in_time(run("--timeout", "300ms", "--mount", f"{here('bin')}:/opt/bin", "--env", "PATH=/opt/bin:/usr/bin:/bin",
                    "node22", "-c", "x"), 2)  # fmt: skip
    same(r.rc, 124, "exit status", r)
