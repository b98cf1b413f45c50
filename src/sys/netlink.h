/* sys/netlink.h -- requests to the kernel over netlink: several composed in one buffer, sent at once.
 *
 * The kernel works them off before the call that sends them returns, so nothing here waits. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETLINK_BYTES 4096

struct netlink {
        size_t len, message; /* of all; where the last one begins */
        bool full;
        char data[NETLINK_BYTES] __attribute__((aligned(4)));
};

static inline void netlink_init(struct netlink *n)
{
        n->len = n->message = 0; /* the rest is written before it is read */
        n->full = false;
}

/* A further request; head is the fixed struct of its type.  flags: NLM_F_*, but NLM_F_REQUEST. */
void netlink_begin(struct netlink *n, unsigned type, unsigned flags, const void *head, size_t len);

/* Attributes of it. */
void netlink_put(struct netlink *n, unsigned type, const void *data, size_t len);
void netlink_put_be32(struct netlink *n, unsigned type, uint32_t value);
void netlink_put_string(struct netlink *n, unsigned type, const char *text);
/* What is put in between is inside this one. */
size_t netlink_open(struct netlink *n, unsigned type);
void netlink_close(struct netlink *n, size_t opened);

/* To be told how the last request went; else only failures are told. */
void netlink_want_answer(struct netlink *n);

/* Sends all to that family of the caller's network namespace.  0 if none was refused and the one whose
 * answer was wanted succeeded; else the first error. */
int netlink_send(struct netlink *n, int protocol);
