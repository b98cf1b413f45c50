/* image/unpack/programs.h -- finds the runtimes (base/runtime.h) of an image. */
#pragma once
#include <stddef.h>

#include "cella.h"
#include "image/store/store.h"

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
