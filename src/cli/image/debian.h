/* cli/image/debian.h -- runs mmdebstrap: its command line, and its output. */
#pragma once
#include <stddef.h>

#include "cella.h"
#include "cli/image/recipe.h"

struct debian {
        char program[1024];
        char *argv[16], *env[16];
        char *include, *components; /* owned; the others are not */
        const char *suite, *mirror;
        char problem[200]; /* the first error that it reported */
        char package[80];  /* the package that does not exist */
        bool unreachable;  /* the mirror cannot be reached */
        bool no_suite, no_key, no_mode;
        int step;
};

/* Finds the program and creates its command line, with strings of *recipe.  All are checked: they do not
 * begin with a dash, and no shell sees them. */
int debian_init(struct debian *ret, const struct recipe *recipe, struct cella_err *err);
void debian_done(struct debian *debian);

/* Parses a line of its standard error.  Returns the number of the step that begins with it, or 0. */
int debian_receive(struct debian *debian, const char *line);
int debian_steps(void);
const char *debian_step(int step);

/* Sets *err to the reason of the failure. */
int debian_explain(const struct debian *debian, int wait_status, struct cella_err *err);
