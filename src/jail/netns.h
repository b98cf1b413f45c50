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

/* Everything that a namespace has counted, as text. */
struct netns_record {
        char text[32768];
        size_t len;
};

/* Reads it; needs privilege, as netns_visit() does. */
int netns_record(int fd, struct netns_record *ret);
/* Whether nothing was ever sent in it, nor tried to: it is as it was when *fresh was read. */
bool netns_is_as_new(int fd, const struct netns_record *fresh);

/* Without privilege over the host: starts a helper in the caller's user namespace
 * that makes it.  *ns must stay where it is until netns_join(); proc is the host's /proc, which the view may
 * have covered when the helper comes to it. */
int netns_start(struct netns *ns, int proc);

/* Waits for it and moves the caller into the namespace. */
int netns_join(struct netns *ns);
