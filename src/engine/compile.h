/* engine/compile.h -- how the code of a compiled language becomes a program: the compiler's words. */
#pragma once
#include "cella.h"
#include "engine/runtime.h"

#define COMPILE_WORDS 24

/* Pointers are to constants, to the runtime, or into text. */
struct compile {
        const char *words[COMPILE_WORDS], *env[8]; /* of the compiler; NULL after the last */
        const char *cwd;                           /* where it runs */
        const char *out;                           /* the program */
        char text[2048];
        size_t used;
};

/* The name of the file that has the code, given what it would be called else. */
int compile_name(const struct runtime *runtime, char *name, size_t size, struct cella_err *err);

/* dir/name is where the code is, cwd where the program is going to run, own a directory for what is ours. */
int compile_plan(struct compile *ret, const struct runtime *runtime, const char *dir, const char *name,
                 const char *cwd, const char *own, struct cella_err *err);
