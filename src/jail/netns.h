/* jail/netns.h -- a network namespace, made while the view is being built. */
#pragma once

#define NETNS_STACK_BYTES 4096

struct netns {
        int pid;             /* of the helper */
        volatile int result; /* the namespace's descriptor, or -errno */
        char stack[NETNS_STACK_BYTES] __attribute__((aligned(16)));
};

/* Makes one by the calling thread, which needs the privilege and comes out where it was.
 * Returns its descriptor. */
int netns_make(void);

/* Without privilege over the host: starts a helper in the caller's user namespace
 * that makes it.  *ns must stay where it is until netns_join(). */
int netns_start(struct netns *ns);

/* Waits for it and moves the caller into the namespace. */
int netns_join(struct netns *ns);
