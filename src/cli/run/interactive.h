/* cli/run/interactive.h -- the terminal of `cella run`. */
#pragma once
#include "cli/run/options.h"

/* Returns whether this process may show a terminal of the sandbox on its own: the standard descriptors are a
 * terminal, and it is in the foreground. */
bool interactive_possible(const struct run_options *o);

/* Decides whether the command gets a terminal, and prepares it.  Sets *err if it returns -errno. */
int interactive_choose(struct run_options *o, struct cella_err *err);

/* Call these directly before and after cella_run().  No effect without a terminal. */
void interactive_begin(struct run_options *o);
void interactive_end(struct run_options *o);
