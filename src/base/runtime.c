#include "base/runtime.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"

/* Temporary files of the compiler go to /tmp, which counts for the disk limit; the workspace is left to the
 * program.  By default Go starts as many threads as there are cores, which would use up the limits of a
 * sandbox on a large machine. */
static const struct runtime_compile go = {
        .before = {"build", "-p", "2"},
        .env = {"HOME=%t", "GOCACHE=%t/.cache/go-build", "GOMAXPROCS=2", "GOTOOLCHAIN=local"},
        .by_extension = true,
        .in_place = true,
};
static const struct runtime_compile rust = {
        .before = {"--edition=2021", "--crate-name=main", "-Copt-level=1"},
        .env = {"HOME=%t"},
};
static const struct runtime_compile c = {
        .before = {"-O1", "-pthread", "-iquote", "%d", "-x", "c"},
        .after = {"-x", "none", "-lm"},
        .standard = "-std=gnu",
};
static const struct runtime_compile cxx = {
        .before = {"-O1", "-pthread", "-iquote", "%d", "-x", "c++"},
        .after = {"-x", "none", "-lm"},
        .standard = "-std=gnu++",
};

#define NO_IMAGE NULL, NULL

/* name, program, verb, eval, before, extension, package, image and usual version, version_option, script,
 * compile */
const struct runtime runtimes[] = {
        {"sh", "sh", NULL, "-c", "sh", "sh", "dash", NO_IMAGE, .repl = true},
        {"bash", "bash", NULL, "-c", "bash", "sh", "bash", "bash:%s", "latest", .repl = true},
        {"zsh", "zsh", NULL, "-c", "zsh", "zsh", "zsh", NO_IMAGE, .repl = true},
        {"python", "python3", NULL, "-c", NULL, "py", "python3", "python:%s-slim", "3", NULL, true,
         .repl = true},
        {"python3", "python3", NULL, "-c", NULL, "py", "python3", "python:%s-slim", "3", NULL, true,
         .repl = true},
        {"pypy3", "pypy3", NULL, "-c", NULL, "py", "pypy3", "pypy:%s-slim", "3", NULL, true, .repl = true},
        {"node", "node", NULL, "-e", "--", "js", "nodejs", "node:%s-slim", "lts", NULL, true, .repl = true},
        {"perl", "perl", NULL, "-e", "--", "pl", "perl", "perl:%s-slim", "5", "-V:version"},
        {"ruby", "ruby", NULL, "-e", "--", "rb", "ruby", "ruby:%s-slim", "3"},
        {"php", "php", NULL, "-r", "--", "php", "php-cli", "php:%s-cli", "8"},
        {"lua", "lua", NULL, "-e", "", "lua", "lua5.4", NO_IMAGE, "-v", .repl = true},
        {"tclsh", "tclsh", NULL, NULL, NULL, "tcl", "tcl", NO_IMAGE, .repl = true},
        {"Rscript", "Rscript", NULL, "-e", NULL, "R", "r-base-core", "r-base:%s", "latest"},
        {"awk", "awk", "-f", NULL, NULL, "awk", "mawk", NO_IMAGE},
        {"java", "java", NULL, NULL, NULL, "java", "default-jdk-headless", "eclipse-temurin:%s", "21"},
        {"go", "go", NULL, NULL, NULL, "go", "golang-go", "golang:%s", "1", "version", true, &go},
        {"rust", "rustc", NULL, NULL, NULL, "rs", "rustc", "rust:%s-slim", "1", NULL, true, &rust},
        {"c", "cc", NULL, NULL, NULL, "c", "gcc", "gcc:%s", "latest", NULL, true, &c},
        {"c++", "c++", NULL, NULL, NULL, "cpp", "g++", "gcc:%s", "latest", NULL, true, &cxx},
        {"cpp", "c++", NULL, NULL, NULL, "cpp", "g++", "gcc:%s", "latest", NULL, true, &cxx},
};
const size_t runtimes_len = ARRAY_LEN(runtimes);

int runtime_find(const char *name, struct runtime *ret)
{
        for (size_t i = 0; i < runtimes_len; i++)
                if (!strcmp(runtimes[i].name, name)) {
                        *ret = runtimes[i];
                        return 0;
                }
        for (size_t i = 0; i < runtimes_len; i++) {
                size_t len = strlen(runtimes[i].name);
                /* Only digits and dots may follow: a version, never a path. */
                if (strncmp(name, runtimes[i].name, len) != 0 ||
                    strspn(name + len, "0123456789.") != strlen(name + len))
                        continue;
                *ret = runtimes[i];
                ret->name = name;
                ret->version = name + len;
                ret->plain = ret->program;
                if (!ret->compile || !ret->compile->standard)
                        ret->program = name;
                return 0;
        }
        return -ENOENT;
}

bool runtime_is_program(const char *name)
{
        struct runtime runtime;
        return runtime_find(name, &runtime) == 0 && !strcmp(runtime.program, name);
}
