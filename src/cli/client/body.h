/* cli/client/body.h -- the body of an answer, taken out of its framing. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/client/client.h"
#include "cli/client/link.h"

struct client_body {
        enum { BODY_NONE, BODY_LENGTH, BODY_CHUNKED, BODY_UNTIL_CLOSE } framing;
        uint64_t left;   /* of it, or of its chunk */
        bool chunk_open; /* left counts a chunk whose end has not come */
};

/* How it is framed, the head of the answer says. */
void client_body_begin(struct client_body *b, const struct client_answer *answer);
/* Some of it: how much, 0 at its end, -errno.  One that ends before it should is -EPROTO. */
ssize_t client_body_read(struct client_body *b, struct client_link *c, char *data, size_t size,
                         struct cella_err *err);
