/* core/context/driver_frames.h -- what the driver of a context says, taken apart as it comes.
 *
 * "TYPE LENGTH\n", then LENGTH bytes of JSON.  The code shares the driver's process and can write
 * anything to its socket, so everything has a maximum and only what is due is taken: what is not is
 * refused at its first line, before any of it is kept. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define DRIVER_HEADER_MAX 64
#define DRIVER_RESULT_MAX (8u * 1024 * 1024)
#define DRIVER_ERROR_MAX (4u * 1024 * 1024) /* as JSON, where a character can become six */

enum driver_word { DRIVER_READY, DRIVER_RESULT, DRIVER_ERROR, DRIVER_DONE, DRIVER_WORDS };
#define DRIVER_MAY(word) (1u << (word))

struct driver_frames {
        char header[DRIVER_HEADER_MAX];
        size_t header_len;
        bool in_body;
        enum driver_word word;
        char *body; /* grows with what comes, never by what was announced */
        size_t size, have, want;
};

void driver_frames_done(struct driver_frames *frames);

/* Takes from *data what the next frame needs, and moves *data and *len on.  Returns 1 with a whole one
 * (word, body and want are it, until the next call; the body may be changed), 0 when more is needed, or
 * -EPROTO with *ret_why, and -ENOMEM.  `may`: the words that are due. */
int driver_frames_take(struct driver_frames *frames, unsigned may, const char **data, size_t *len,
                       const char **ret_why);

enum driver_status { DRIVER_OK, DRIVER_FAILED, DRIVER_INTERRUPTED, DRIVER_EXIT };

/* How a run ended.  -EPROTO: it does not say. */
int driver_read_done(char *body, size_t len, enum driver_status *ret_status, int *ret_exit_code);
/* A result and an error as they are shown: an object of ours in one line, which the caller frees.
 * -EPROTO: it is not one. */
int driver_read_result(char *body, size_t len, char **ret, size_t *ret_len);
int driver_read_error(char *body, size_t len, char **ret, size_t *ret_len);
/* The same for an error that is not the code's own. */
int driver_make_error(const char *name, const char *message, char **ret, size_t *ret_len);
