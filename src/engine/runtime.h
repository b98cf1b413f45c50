/* engine/runtime.h -- how code of each language is run: one table. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct runtime {
        const char *name;      /* as the caller says it */
        const char *program;   /* looked up in the sandbox's PATH */
        const char *verb;      /* a word before the file ("run"); NULL: none */
        const char *eval;      /* option that takes code as an argument; NULL: only files */
        const char *before;    /* the code's own arguments, so that none is taken for an option or for the
                                  program's name; NULL: nothing; "": it cannot be, then the code is a file */
        const char *extension; /* of the file that carries the code */
        const char *package;   /* what brings it, on Debian */
        bool script;           /* better as a file where it can be: it shows its lines when it fails, and
                                  finds what lies beside it */
};

extern const struct runtime runtimes[];
extern const size_t runtimes_len;

/* By its name; versions too ("python3.12" is python3's way with that program).  Fills
 * *ret, whose program may be the name itself.  Returns 0 or -ENOENT. */
int runtime_find(const char *name, struct runtime *ret);
