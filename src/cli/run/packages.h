/* cli/run/packages.h -- `cella run --with PACKAGE`: installs Python packages before the code runs.
 *
 * pip runs in the sandbox of the code, and installs into its home directory.  Its network reaches only the
 * package index.  Before the code starts, the network is closed, unless the options give the code one. */
#pragma once
#include "cli/run/options.h"

/* Checks the packages and adds what pip needs to the network of the options. */
int packages_check(struct run_options *o, struct cella_err *err);

/* Installs the packages; no effect without --with. */
int packages_install(const struct run_options *o, struct cella_sandbox *sandbox, struct cella_err *err);
