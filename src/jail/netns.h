/* jail/netns.h -- a network namespace, made while the view is being built. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NETNS_STACK_BYTES 4096

struct netns {
        int pid;             /* of the helper */
        int proc;            /* the host's /proc */
        volatile int result; /* the namespace's descriptor, or -errno */
        char stack[NETNS_STACK_BYTES] __attribute__((aligned(16)));
};

/* The calling thread makes one and stays in it until netns_leave(), which also brings its
 * loopback up: whoever waits for the namespace need not wait for that.  Needs privilege.
 * netns_leave() must follow, whatever came of it. */
struct netns_visit {
        int home; /* where the thread came from */
        int fd;   /* the new one */
};
int netns_visit(struct netns_visit *visit);
int netns_leave(struct netns_visit *visit);

/* One that may be used again, and what it counts in, once somebody has asked. */
#define NETNS_FILES 6
struct netns_kept {
        int fd; /* -1: none */
        int files[NETNS_FILES];
};
#define NETNS_NONE ((struct netns_kept){-1, {-1, -1, -1, -1, -1, -1}})

void netns_let_go(struct netns_kept *kept);
static inline void netns_let_go_auto(struct netns_kept *kept)
{
        netns_let_go(kept);
}
static inline struct netns_kept netns_take(struct netns_kept *kept)
{
        struct netns_kept taken = *kept;
        *kept = NETNS_NONE;
        return taken;
}

/* Everything that a namespace has counted, as text. */
struct netns_record {
        char text[32768];
        size_t len;
};

/* Reads it; the first time it needs privilege, as netns_visit() does. */
int netns_record(struct netns_kept *kept, struct netns_record *ret);
/* Whether nothing was ever sent in it, nor tried to, and no socket is left of it: it is as it was when *fresh
 * was read. */
bool netns_is_as_new(struct netns_kept *kept, const struct netns_record *fresh);

/* Without privilege over the host: starts a helper in the caller's user namespace
 * that makes it.  *ns must stay where it is until netns_join(); proc is the host's /proc, which the view may
 * have covered when the helper comes to it. */
int netns_start(struct netns *ns, int proc);

/* Waits for it and moves the caller into the namespace. */
int netns_join(struct netns *ns);
