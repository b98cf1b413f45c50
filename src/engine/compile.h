/* engine/compile.h -- the compiler's command line for code in a compiled language. */
#pragma once
#include "base/runtime.h"
#include "cella.h"

#define COMPILE_WORDS 24

/* Pointers refer to constants, to the runtime, or into text. */
struct compile {
        const char *words[COMPILE_WORDS], *env[8]; /* of the compiler; NULL-terminated */
        const char *cwd;                           /* working directory of the compiler */
        const char *out;                           /* path of the program */
        char text[2048];
        size_t used;
};

/* Adds the extension to the file name if the compiler needs it. */
int compile_name(const struct runtime *runtime, char *name, size_t size, struct cella_err *err);

/* Plans the compilation.  dir/name: the code; cwd: the working directory of the program; own: a directory for
 * generated files. */
int compile_plan(struct compile *ret, const struct runtime *runtime, const char *dir, const char *name,
                 const char *cwd, const char *own, struct cella_err *err);
