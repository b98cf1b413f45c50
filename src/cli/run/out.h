/* cli/run/out.h -- `cella run --out DIR`: copies the files that the code changed to a directory of the host.
 *
 * Names and contents come from the sandbox and are hostile.  DIR itself is resolved normally.  Below it no
 * link is followed, only regular files are written, each under a temporary name first (cli/new_file.h), and
 * their number and bytes are limited. */
#pragma once
#include "cli/run/options.h"

/* Opens DIR, and creates it if it is missing.  Returns its descriptor; sets *err if it returns -errno. */
int out_open(const char *dir, struct cella_err *err);

/* Copies the files of the result.  Sets *err if it returns -errno; files before the failure were copied. */
int out_copy(const struct run_options *o, int dir, struct cella_sandbox *sandbox,
             const struct cella_result *result, struct cella_err *err);
