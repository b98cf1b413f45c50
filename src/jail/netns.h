/* jail/netns.h -- network namespaces: made while the view is being built, and checked before reuse. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/auto.h"

#define NETNS_STACK_BYTES 4096

struct netns {
        int pid;             /* of the helper */
        int proc;            /* the host's /proc */
        volatile int result; /* the namespace's descriptor, or -errno */
        char stack[NETNS_STACK_BYTES] __attribute__((aligned(16)));
};

/* netns_visit() makes a namespace in which the calling thread stays until netns_leave().  That also brings
 * its loopback up, so that the receiver of the descriptor need not wait for it.  Needs privilege.
 * netns_leave() must follow also after a failure. */
struct netns_visit {
        int home; /* the thread's original namespace */
        int fd;   /* the new one */
};
int netns_visit(struct netns_visit *visit);
int netns_leave(struct netns_visit *visit);

/* A namespace that may be reused, and its open counter files. */
#define NETNS_FILES 6
struct netns_kept {
        int fd; /* -1: none */
        int files[NETNS_FILES];
};
#define NETNS_NONE ((struct netns_kept){-1, {-1, -1, -1, -1, -1, -1}})

void netns_let_go(struct netns_kept *kept);
DEFINE_AUTO_DONE(struct netns_kept, netns_let_go)
static inline struct netns_kept netns_take(struct netns_kept *kept)
{
        struct netns_kept taken = *kept;
        *kept = NETNS_NONE;
        return taken;
}

/* All counters of a namespace, as text. */
struct netns_record {
        char text[32768];
        size_t len;
};

/* Reads the counters.  The first call for a namespace needs privilege. */
int netns_record(struct netns_kept *kept, struct netns_record *ret);
/* Whether nothing was ever sent in the namespace, no attempt was made, and no socket remains: its counters
 * equal *fresh. */
bool netns_is_as_new(struct netns_kept *kept, const struct netns_record *fresh);

/* For a caller without privilege over the host: starts a helper in the caller's user namespace that makes the
 * namespace.  *ns must not move until netns_join().  proc: the host's /proc; the path may be covered by the
 * view when the helper needs it. */
int netns_start(struct netns *ns, int proc);

/* Waits for the helper and moves the caller into the namespace. */
int netns_join(struct netns *ns);
