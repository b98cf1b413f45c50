/* sys/own_filter.h -- the system call filter that a program of ours loads for itself, once it has what it
 * needs from outside.
 *
 * Such a program works on files, connections, memory and threads of its own; that is allowed to all of them
 * (common, in own_filter.c).  Each adds what is its own.  Everything else is EPERM: no program is ever
 * started, nothing that can be written becomes code.
 *
 * By libseccomp, so this is compiled into those programs only. */
#pragma once
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>

struct own_filter {
        const char *const *calls; /* by name; those that an architecture does not have are left out */
        size_t n_calls;
        int (*add_conditional)(scmp_filter_ctx filter); /* 0, or anything else for an error */
        bool all_threads;                               /* there may be some already */
};

/* -errno. */
int own_filter_load(const struct own_filter *own);

/* For add_conditional: one request of ioctl(). */
int own_filter_ioctl(scmp_filter_ctx filter, unsigned long request);
