/* image/unpack/programs.h -- which runtimes an image has. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cella.h"
#include "image/store/store.h"

/* The runtimes that engine/runtime.c knows, and the program of each; a test compares them. */
struct program_name {
        const char *runtime, *program;
        bool versions; /* a program with a version behind its name is a runtime of that name */
};
extern const struct program_name program_names[];
extern const size_t program_names_len;

struct programs {
        struct image_pair list[IMAGE_RUNTIMES_MAX];
        size_t n;
        struct program_slot *slots; /* what it points to */
};

/* Looks through the directories of the image's PATH for programs of these names, with or without a version
 * behind (python3.12), and adds what its variables or headers say about versions (node22).  Nothing of the
 * image is run.  root is a descriptor of its root directory. */
int programs_find(int root, const char *const *env, struct programs *ret, struct cella_err *err);
void programs_done(struct programs *p);
