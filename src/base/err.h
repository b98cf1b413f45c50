/* base/err.h -- filling in the caller's struct cella_err. */
#pragma once
#include "cella.h"

/* Sets *err (which may be NULL) and returns num, which is -errno; so that
 * `return err_set(...)` reads well.  The text of the errno is added to the message.  Out of descriptors is
 * over capacity, whatever it was for. */
int err_set(struct cella_err *err, enum cella_kind kind, int num, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* The same without the text of the errno: where the message already says it all. */
int err_say(struct cella_err *err, enum cella_kind kind, int num, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* Adds what to do about it.  Returns err->num (with err NULL: -EIO). */
int err_hint(struct cella_err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
