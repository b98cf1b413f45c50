/* base/runtime.h -- the table of runtimes: how code of each language is run. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* A compiled language: PROGRAM before... -o OUT FILE after...  Then OUT is run.  `%d` stands for the working
 * directory of the program, `%t` for a temporary directory. */
struct runtime_compile {
        const char *before[8], *after[4]; /* NULL-terminated */
        const char *env[6];               /* for the compiler only, unless the caller sets the variable */
        bool by_extension;                /* the compiler recognizes files by their extension */
        bool in_place; /* the compiler runs in the working directory of the program, to find files there;
                          otherwise beside FILE */
        const char *standard; /* the version is one of the language and is appended to this; NULL: it is one
                                 of the program */
};

struct runtime {
        const char *name;      /* as used in requests */
        const char *program;   /* looked up in PATH */
        const char *verb;      /* a word before the file ("run"); NULL: none */
        const char *eval;      /* option that takes code as an argument; NULL: only files */
        const char *before;    /* put before the code's arguments, so that none is taken for an option or the
                                  program's name; NULL: not needed; "": not possible, then the code is passed as
                                  a file */
        const char *extension; /* of the file with the code */
        const char *package;   /* Debian package that contains it */
        const char *image;     /* image that contains it, with %s for a version; NULL: unknown */
        const char *usual;     /* default version for %s */
        const char *version_option; /* prints the version; NULL: --version */
        bool script; /* use a file if possible: errors then show source lines, and files beside it are found
                      */
        const struct runtime_compile *compile; /* NULL: not compiled */
        bool repl; /* on a terminal, the program without arguments reads commands from it */
        /* Set by runtime_find() for a name with a version; otherwise NULL. */
        const char *version, *plain; /* plain: the program without the version */
};

extern const struct runtime runtimes[];
extern const size_t runtimes_len;

/* Finds a runtime by name, also with a version ("python3.12" is run like python3 with that program).  Fills
 * *ret, whose name and program may point to `name`.  Returns 0 or -ENOENT. */
int runtime_find(const char *name, struct runtime *ret);

/* Whether a program of this name in PATH is the runtime of this name ("python3.12"). */
bool runtime_is_program(const char *name);
