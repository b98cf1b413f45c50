/* cli/client/link.h -- bytes to the daemon and back, over one connection.  Every wait has an end, unless the
 * caller wants none.  What came and was not asked for yet stays in the buffer. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cella.h"
#include "cli/client/address.h"

#define CLIENT_FOREVER INT64_MAX

struct client_link {
        struct client_address to;
        int fd; /* -1: none */
        int64_t idle_us;
        bool answer_early; /* the answer came before all of the request went */
        size_t at, fill;   /* what of buffer is not read yet */
        char buffer[32768];
};

/* Drops what was under way before. */
int client_link_open(struct client_link *c, struct cella_err *err);
void client_link_close(struct client_link *c);

/* When to give up if nothing happens from now on, of clock_us(). */
int64_t client_link_patience(const struct client_link *c);

/* All of it.  -EPIPE with answer_early set: the daemon reads no more, and may have said why. */
int client_link_send(struct client_link *c, const char *data, size_t len, struct cella_err *err);

/* From the socket, past the buffer: how many bytes came, 0 at the end of the connection, -errno. */
ssize_t client_link_receive(struct client_link *c, char *data, size_t size, int64_t until,
                            struct cella_err *err);

/* From the buffer: how many bytes were in it, up to size. */
size_t client_link_take(struct client_link *c, char *data, size_t size);

/* Says that the daemon's answer is not one, and why.  Returns -EPROTO. */
int client_link_broken(const struct client_link *c, struct cella_err *err, const char *what);
