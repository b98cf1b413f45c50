/* secret/mask.h -- takes the values of an execution's secrets out of what it says.
 *
 * Every byte that belongs to a value, written in any of the forms of form.h, goes; in the place of
 * values that overlap stands one "***", also when one was cut into several chunks.  What may still become a
 * value is held back until it is decided: no more than the longest form of the longest value, and nothing if
 * the text could not be the beginning of one.  How a text is cut into chunks never changes what comes out.
 *
 * It helps against accidents: a token in a log, a header in a traceback.  It is no wall.  Code that wants to
 * give a value away writes it backwards; which is why a key says what secrets it may use.  Of base64 within
 * longer base64, up to four bits of the value's first byte stay in the digit that it shares with the byte
 * before it (two bytes where a line ends right there).
 *
 * White space around a value does not count: who reads a token from a file seldom prints the newline.
 * Time is linear in the text, whatever the values are.  One thread. */
#pragma once
#include <stddef.h>

#include "base/auto.h"
#include "cella.h"

/* Of one execution.  A value of fewer bytes cannot be masked: what is as short turns up in any text,
 * which would be spoilt, and the gaps would tell the value. */
#define MASK_VALUES_MAX 64
#define MASK_VALUE_MIN 4
#define MASK_VALUE_MAX 65536
#define MASK_BYTES_MAX (256u * 1024)

struct mask_value {
        const char *text;
        size_t len;
};

struct mask;        /* what is looked for */
struct mask_stream; /* one text, coming in chunks */

/* The length without the white space around it; *ret_from is where it begins. */
size_t mask_trim(const char *text, size_t len, size_t *ret_from);

/* Copies the values.  For none *ret is NULL, which all calls below take and then do nothing. */
int mask_new(const struct mask_value *values, size_t n, struct mask **ret, struct cella_err *err);
struct mask *mask_free(struct mask *mask);
DEFINE_AUTO(struct mask *, mask_free)

/* Borrows the mask.  0 and *ret NULL for a NULL mask. */
int mask_stream_new(struct mask *mask, struct mask_stream **ret, struct cella_err *err);
struct mask_stream *mask_stream_free(struct mask_stream *stream);
DEFINE_AUTO(struct mask_stream *, mask_stream_free)

/* *data is what came; afterwards what may go on, of the length that is returned.  It points into the old
 * data or into the stream, and is good until the next call.  All together never more goes on than came.
 * Without memory nothing goes on any more, then and later. */
size_t mask_feed(struct mask_stream *stream, const char **data, size_t len);
/* No more will come: what was held back. */
size_t mask_flush(struct mask_stream *stream, const char **ret);

/* A whole text, where it lies; its new length, never longer.  Without memory it becomes "***". */
size_t mask_text(struct mask *mask, char *text, size_t len);
void mask_string(struct mask *mask, char *text); /* NUL-terminated */
