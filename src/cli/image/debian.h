/* cli/image/debian.h -- mmdebstrap: how it is called, and what it says. */
#pragma once
#include <stddef.h>

#include "cella.h"

#define DEBIAN_SUITE "bookworm"
#define DEBIAN_MIRROR "http://deb.debian.org/debian"
#define DEBIAN_PACKAGES "ca-certificates,curl,python3,python3-matplotlib,python3-pandas,python3-requests"

struct debian {
        char program[1024];
        char *argv[16], *env[16];
        char *include; /* owned, as the rest is not */
        const char *suite, *mirror;
        char problem[200]; /* the first thing that it said was wrong */
        char package[80];  /* that there is none of */
        bool unreachable;  /* the mirror */
        bool no_suite, no_key, no_mode;
        int step;
};

/* Finds the program and writes its command line.  Each may be NULL: as above.  They are checked: words of
 * ours, none of which begins with a dash, and no shell sees them. */
int debian_init(struct debian *ret, const char *suite, const char *packages, const char *mirror,
                struct cella_err *err);
void debian_done(struct debian *debian);

/* A line of its standard error: the number of the step that begins with it, or 0. */
int debian_hear(struct debian *debian, const char *line);
int debian_steps(void);
const char *debian_step(int step);

/* Why it failed. */
int debian_explain(const struct debian *debian, int wait_status, struct cella_err *err);
