/* sys/netlink.h -- netlink requests to the kernel: several are composed in one buffer and sent together.
 *
 * The kernel processes them before the sending call returns, so no function here blocks. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETLINK_BYTES 4096

struct netlink {
        size_t len, message; /* bytes used; offset of the current message */
        bool full;
        char data[NETLINK_BYTES] __attribute__((aligned(4)));
};

static inline void netlink_init(struct netlink *n)
{
        n->len = n->message = 0; /* data is written before it is read */
        n->full = false;
}

/* Starts a new request.  head is the fixed struct of its type.  flags: NLM_F_* (NLM_F_REQUEST is added). */
void netlink_begin(struct netlink *n, unsigned type, unsigned flags, const void *head, size_t len);

/* Add an attribute to the current request. */
void netlink_put(struct netlink *n, unsigned type, const void *data, size_t len);
void netlink_put_be32(struct netlink *n, unsigned type, uint32_t value);
void netlink_put_string(struct netlink *n, unsigned type, const char *text);
/* Attributes added between open and close are nested in this one. */
size_t netlink_open(struct netlink *n, unsigned type);
void netlink_close(struct netlink *n, size_t opened);

/* Requests an acknowledgement of the current request.  Otherwise the kernel only reports failures. */
void netlink_want_answer(struct netlink *n);

/* Sends all requests to that netlink family in the caller's network namespace.  Returns 0 if none was
 * refused and the acknowledged one succeeded, otherwise the first error. */
int netlink_send(struct netlink *n, int protocol);
