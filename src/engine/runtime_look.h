/* engine/runtime_look.h -- finds the available runtimes in the directories of PATH. */
#pragma once
#include <stddef.h>

#define RUNTIMES_FOUND_MAX 64

struct runtime_found {
        char name[64];
        char program[320]; /* absolute path inside the sandbox */
};

/* Finds the runtimes of this machine, as seen by a sandbox without an image; sorted by name.  Returns their
 * number. */
size_t runtime_look(struct runtime_found ret[RUNTIMES_FOUND_MAX]);

/* Extracts a version from the output of a program: "v22.11.0" gives 22.11.0.  Empty: none found. */
void runtime_version(const char *said, size_t len, char *ret, size_t size);
