/* jail/netns.h -- a network namespace, made while the caller does something else. */
#pragma once

#define NETNS_STACK_BYTES 4096

struct netns {
        int pid;             /* of the helper */
        volatile int result; /* the namespace's descriptor, or -errno */
        char stack[NETNS_STACK_BYTES] __attribute__((aligned(16)));
};

/* Starts a helper that makes the namespace and brings its loopback up.  *ns must stay
 * where it is until netns_join(). */
int netns_start(struct netns *ns);

/* Waits for it and moves the caller into the namespace. */
int netns_join(struct netns *ns);
