/* core/about.h -- the details of a request that the log keeps besides its code: the column `about`, a JSON
 * object.
 *
 *  mode        "sandbox" or "host"; reason: why, if the mode left a choice
 *  engine, image, tier
 *  key_name    of the key (the column `key` has its id)
 *  args, env_names           {count, list}; names of variables, never values
 *  stdin, input_files        {bytes, hash}; {count, bytes, list of {path, bytes, hash}}
 *  traceparent               of the request
 *  cwd, scan, error
 *
 * Every part has a maximum length and is shortened to it; counts and sizes are those of the whole.  Secret
 * values of the request are masked.  A hash is BLAKE2b-256 in hex. */
#pragma once
#include "core/request/request.h"

struct about {
        const struct exec_request *request; /* NULL: it was refused before it was parsed */
        const char *key_name;               /* "": none */
        /* Of the sandbox.  image NULL: there is no sandbox; the requested values are in `request`. */
        const char *image;
        enum engine_choice engine;
        enum tier tier;
        const char *trace;             /* NULL: that of `request` */
        const struct cella_err *error; /* why it did not run; NULL: it ran */
        uint64_t unrecorded;           /* refused requests of this caller that the log omitted before */
};

/* Returns the runtime for the log: the requested name with secret values masked.  to: buffer for a copy. */
#define ABOUT_NAME_SIZE 256
const char *about_runtime(const struct exec_request *request, char to[ABOUT_NAME_SIZE]);

/* Writes the short form for running.map; hashes at most 64 KiB.  Returns the length. */
size_t about_write_short(const struct about *about, char to[AUDIT_ABOUT_SLOT_MAX]);
/* Writes the form for the row in the log.  Returns the length. */
size_t about_write(const struct about *about, char to[AUDIT_ABOUT_MAX]);
