/* traces.h -- what a sandbox is on the host while it lives, and whether that is gone
 * when it should be.  Knows nothing of how the engine names things: it looks at the
 * process that the engine started. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TRACES_CGROUPS 16

struct traces {
        pid_t init; /* child of this process; 0: not found */
        uid_t uid;
        char cgroups[TRACES_CGROUPS][512]; /* directories that are not our own as well */
        size_t n_cgroups;
};

/* After a first command has run.  `other` is a child of ours that is no sandbox. */
void traces_find(struct traces *t, pid_t other);

/* A description of what the run left, or NULL: a process with the argument `mark` or with the
 * sandbox's uid; a cgroup.  Waits a little for cgroups: the kernel removes them with a delay. */
const char *traces_left(const struct traces *t, const char *mark);

/* Resident memory of this process in KiB, and the most it has been since the reset. */
long traces_memory_now(void);
void traces_memory_reset(void);
long traces_memory_peak(void);
