/* image/unpack/programs.h -- finds the runtimes of an image. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cella.h"
#include "image/store/store.h"

/* The runtimes of engine/runtime.c and their programs; a test compares both lists. */
struct program_name {
        const char *runtime, *program;
        bool versions; /* a program with an appended version is a runtime of that name */
};
extern const struct program_name program_names[];
extern const size_t program_names_len;

struct programs {
        struct image_pair list[IMAGE_RUNTIMES_MAX];
        size_t n;
        struct program_slot *slots; /* memory of the list */
};

/* Searches the directories of the image's PATH for programs with these names, with or without an appended
 * version (python3.12), and adds versions from its variables or headers (node22).  Nothing of the image is
 * run.  root is a descriptor of its root directory. */
int programs_find(int root, const char *const *env, struct programs *ret, struct cella_err *err);
void programs_done(struct programs *p);
