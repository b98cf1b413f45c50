/* engine/runtime.h -- how code of each language is run: one table. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cella.h"

/* A language that is compiled: PROGRAM before... -o OUT FILE after...  OUT is then run in its place.  `%d`
 * stands for the directory the program is going to run in, `%t` for one of ours that goes with the sandbox.
 */
struct runtime_compile {
        const char *before[8], *after[4]; /* NULL after the last */
        const char *env[6];               /* of the compiler alone, where the caller has none of that name */
        bool by_extension;                /* knows its files by the end of their names */
        bool in_place; /* runs where the program is going to, for what lies there; else where FILE is */
        const char *standard; /* the version is that of the language, and goes behind this; NULL: it is not */
};

struct runtime {
        const char *name;      /* as the caller says it */
        const char *program;   /* looked up in the sandbox's PATH */
        const char *verb;      /* a word before the file ("run"); NULL: none */
        const char *eval;      /* option that takes code as an argument; NULL: only files */
        const char *before;    /* the code's own arguments, so that none is taken for an option or for the
                                  program's name; NULL: nothing; "": it cannot be, then the code is a file */
        const char *extension; /* of the file that carries the code */
        const char *package;   /* what brings it, on Debian */
        const char *image;     /* what brings it anywhere, with %s for a version; NULL: nothing we know of */
        const char *usual;     /* that version, where none is named */
        const char *tells;     /* makes it say its version; NULL: --version */
        bool script;           /* better as a file where it can be: it shows its lines when it fails, and
                                  finds what lies beside it */
        const struct runtime_compile *compile; /* NULL: it is not */
        /* Of runtime_find(), for a name with a version; else NULL: */
        const char *version, *plain; /* and the program without it */
};

extern const struct runtime runtimes[];
extern const size_t runtimes_len;

/* By its name; versions too ("python3.12" is python3's way with that program).  Fills
 * *ret, whose name and program may be the name itself.  Returns 0 or -ENOENT. */
int runtime_find(const char *name, struct runtime *ret);

/* What would bring a runtime that was not found: an image of the store (NULL: there is none), one to be
 * pulled, or a package, if it is the host that lacks it.  Replaces the hint in *err. */
void runtime_hint(const char *store, const char *name, bool host, struct cella_err *err);
