/* sys/own_filter.h -- the system call filter that our programs load for themselves after they have got the
 * resources that they need from outside.
 *
 * Such a program works with its own files, connections, memory and threads.  All programs are allowed the
 * calls for that (`common` in own_filter.c), and each adds its own.  All other calls fail with EPERM: the
 * program cannot start another program, and cannot execute memory that it can write.
 *
 * Uses libseccomp, so only those programs include it. */
#pragma once
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>

struct own_filter {
        const char *const *calls; /* by name; calls that the architecture does not have are ignored */
        size_t n_calls;
        int (*add_conditional)(scmp_filter_ctx filter); /* returns 0, or another value on error */
        bool all_threads;                               /* also apply to threads that exist already */
};

/* Returns 0 or -errno. */
int own_filter_load(const struct own_filter *own);

/* For add_conditional: allows one request of ioctl(). */
int own_filter_ioctl(scmp_filter_ctx filter, unsigned long request);
