/* engine/runtime_look.h -- which runtimes there are, by looking at the files of PATH. */
#pragma once
#include <stddef.h>

#define RUNTIMES_FOUND_MAX 64

struct runtime_found {
        char name[64];
        char program[320]; /* absolute, as the sandbox sees it */
};

/* Of this machine, as a sandbox without an image sees it; sorted by name.  How many. */
size_t runtime_look(struct runtime_found ret[RUNTIMES_FOUND_MAX]);

/* A version in what a program says of itself: "v22.11.0" is 22.11.0.  Empty: there is none. */
void runtime_version(const char *said, size_t len, char *ret, size_t size);
