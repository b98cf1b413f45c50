#include "engine/runtime.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"

const struct runtime runtimes[] = {
        {"sh", "sh", NULL, "-c", "sh", "sh", "dash"},
        {"bash", "bash", NULL, "-c", "bash", "sh", "bash"},
        {"zsh", "zsh", NULL, "-c", "zsh", "zsh", "zsh"},
        {"python", "python3", NULL, "-c", NULL, "py", "python3", true},
        {"python3", "python3", NULL, "-c", NULL, "py", "python3", true},
        {"pypy3", "pypy3", NULL, "-c", NULL, "py", "pypy3", true},
        {"node", "node", NULL, "-e", "--", "js", "nodejs", true},
        {"perl", "perl", NULL, "-e", "--", "pl", "perl"},
        {"ruby", "ruby", NULL, "-e", "--", "rb", "ruby"},
        {"php", "php", NULL, "-r", "--", "php", "php-cli"},
        {"lua", "lua", NULL, "-e", "", "lua", "lua5.4"},
        {"tclsh", "tclsh", NULL, NULL, NULL, "tcl", "tcl"},
        {"Rscript", "Rscript", NULL, "-e", NULL, "R", "r-base-core"},
        {"awk", "awk", "-f", NULL, NULL, "awk", "mawk"},
        {"go", "go", "run", NULL, NULL, "go", "golang-go"},
        {"java", "java", NULL, NULL, NULL, "java", "default-jdk-headless"},
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
                ret->name = ret->program = name;
                return 0;
        }
        return -ENOENT;
}
