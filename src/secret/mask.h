/* secret/mask.h -- removes the values of an execution's secrets from its output.
 *
 * Every byte of a value in any form of form.h is removed.  Overlapping values are replaced by one "***",
 * even if a value is split into several chunks.  Data that may become a value is held back until this is
 * decided: at most the longest form of the longest value, and nothing if the text cannot be the beginning
 * of one.  The result does not depend on how the text is split into chunks.
 *
 * This protects against accidents: a token in a log, a header in a traceback.  It is not a security
 * boundary: code that wants to disclose a value can write it backwards.  Therefore a key lists the secrets
 * that it may use.  If base64 is part of longer base64, up to four bits of the value's first byte remain in
 * the digit that it shares with the byte before it (two bytes if a line ends there).
 *
 * White space around a value is ignored, because code that reads a token from a file rarely prints the
 * newline.  Time is linear in the length of the text for any values.  Not thread-safe. */
#pragma once
#include <stddef.h>

#include "base/auto.h"
#include "cella.h"

/* Per execution.  Shorter values cannot be masked: they occur in any text, which would become unreadable,
 * and the gaps would reveal the value. */
#define MASK_VALUES_MAX 64
#define MASK_VALUE_MIN 4
#define MASK_VALUE_MAX 65536
#define MASK_BYTES_MAX (256u * 1024)

struct mask_value {
        const char *text;
        size_t len;
};

struct mask;        /* the values to search for */
struct mask_stream; /* one text, processed in chunks */

/* Returns the length without surrounding white space; *ret_from is its offset. */
size_t mask_trim(const char *text, size_t len, size_t *ret_from);

/* Copies the values.  If there are none, *ret is NULL, which all functions below accept and ignore. */
int mask_new(const struct mask_value *values, size_t n, struct mask **ret, struct cella_err *err);
struct mask *mask_free(struct mask *mask);
DEFINE_AUTO(struct mask *, mask_free)

/* Keeps a pointer to the mask.  For a NULL mask, *ret is NULL.  Returns 0 or -errno. */
int mask_stream_new(struct mask *mask, struct mask_stream **ret, struct cella_err *err);
struct mask_stream *mask_stream_free(struct mask_stream *stream);
DEFINE_AUTO(struct mask_stream *, mask_stream_free)

/* *data is the input; it is set to the output, whose length is returned.  The output is part of the input
 * or in the stream and is valid until the next call.  The total output is never longer than the total
 * input.  If there is no memory, there is no output any more. */
size_t mask_feed(struct mask_stream *stream, const char **data, size_t len);
/* Call at the end of the text: returns the data held back. */
size_t mask_flush(struct mask_stream *stream, const char **ret);

/* Masks a complete text in place and returns its new length, which is never longer.  Without memory, the
 * text becomes "***". */
size_t mask_text(struct mask *mask, char *text, size_t len);
void mask_string(struct mask *mask, char *text); /* NUL-terminated */
