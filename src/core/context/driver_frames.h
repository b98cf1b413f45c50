/* core/context/driver_frames.h -- parser for the messages of a context's driver.
 *
 * A message is "TYPE LENGTH\n" followed by LENGTH bytes of JSON.  The code shares the driver's process and
 * can write anything to its socket.  So everything has a maximum, and a message that is not expected is
 * refused at its first line, before its body is stored. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define DRIVER_HEADER_MAX 64
#define DRIVER_RESULT_MAX (8u * 1024 * 1024)
#define DRIVER_ERROR_MAX (4u * 1024 * 1024) /* as JSON, in which a character can need six bytes */

enum driver_word { DRIVER_READY, DRIVER_RESULT, DRIVER_ERROR, DRIVER_DONE, DRIVER_WORDS };
#define DRIVER_MAY(word) (1u << (word))

struct driver_frames {
        char header[DRIVER_HEADER_MAX];
        size_t header_len;
        bool in_body;
        enum driver_word word;
        char *body; /* grows with the received bytes, not with the announced length */
        size_t size, have, want;
};

void driver_frames_done(struct driver_frames *frames);

/* Parses the next frame from *data and advances *data and *len.  Returns 1 for a complete frame (word, body
 * and want are valid until the next call; the body may be modified), 0 if more data is needed, -EPROTO with
 * *ret_why, or -ENOMEM.  `may`: the expected words. */
int driver_frames_take(struct driver_frames *frames, unsigned may, const char **data, size_t *len,
                       const char **ret_why);

enum driver_status { DRIVER_OK, DRIVER_FAILED, DRIVER_INTERRUPTED, DRIVER_EXIT };

/* Parses how a run ended.  Returns 0 or -EPROTO. */
int driver_read_done(const char *body, size_t len, enum driver_status *ret_status, int *ret_exit_code);
/* Parse a result and an error and rewrite them as JSON objects in one line, which the caller frees.  Return
 * 0, -EPROTO or -ENOMEM. */
int driver_read_result(const char *body, size_t len, char **ret, size_t *ret_len);
int driver_read_error(const char *body, size_t len, char **ret, size_t *ret_len);
/* Makes such an object for an error that the code did not cause. */
int driver_make_error(const char *name, const char *message, char **ret, size_t *ret_len);
