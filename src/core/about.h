/* core/about.h -- what the log keeps of a request besides its code: the column `about`, a JSON object.
 *
 *     mode        "sandbox" or "host"; reason: why, where the mode left a choice
 *     engine, image, tier
 *     key_name    of the key (the column `key` has its id)
 *     args, env_names           {count, list}; names of variables, never values
 *     stdin, input_files        {bytes, hash}; {count, bytes, list of {path, bytes, hash}}
 *     cwd, scan, error
 *
 * Every part is bounded, and cut where it is longer; counts and sizes are those of the whole.  Values of the
 * request's secrets are masked.  A hash is BLAKE2b-256 in hex. */
#pragma once
#include "core/request/request.h"

struct about {
        const struct exec_request *request; /* NULL: it was refused before it was read */
        const char *key_name;               /* "": none */
        /* Of the sandbox; image NULL: there is none, the request says what was asked for. */
        const char *image;
        enum engine_choice engine;
        enum tier tier;
        const struct cella_err *error; /* why it did not run; NULL: it did */
        uint64_t unrecorded;           /* refused requests of this caller that the log left out before it */
};

/* The runtime that the log names: as it was asked for, without the values of secrets.  to: for a copy. */
#define ABOUT_NAME_SIZE 256
const char *about_runtime(const struct exec_request *request, char to[ABOUT_NAME_SIZE]);

/* For running.map: short, and without hashing more than 64 KiB.  Returns the length. */
size_t about_write_short(const struct about *about, char to[AUDIT_ABOUT_SLOT_MAX]);
/* For the row. */
size_t about_write(const struct about *about, char to[AUDIT_ABOUT_MAX]);
