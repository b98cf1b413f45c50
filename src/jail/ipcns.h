/* jail/ipcns.h -- an IPC namespace that is made ahead, and used again if nothing was ever made in it. */
#pragma once

#include <stdbool.h>

#define IPCNS_IDS 3
#define IPCNS_FDS (IPCNS_IDS + 2)

/* One that may be used again, and what tells whether it may. */
struct ipcns_kept {
        int fd; /* -1: none */
        int ids[IPCNS_IDS];
        int queues;
};
#define IPCNS_NONE ((struct ipcns_kept){-1, {-1, -1, -1}, -1})

/* Makes one.  The calling thread is in it for a while, and back when this returns.  Needs privilege, and a
 * kernel that can tell of it later (CONFIG_CHECKPOINT_RESTORE, Linux 5.19); else there is none. */
int ipcns_make(struct ipcns_kept *ret);

/* Whether nothing was ever made in it: neither shared memory nor semaphores nor queues, be they gone by
 * now. */
bool ipcns_is_as_new(const struct ipcns_kept *kept);

void ipcns_let_go(struct ipcns_kept *kept);
static inline void ipcns_let_go_auto(struct ipcns_kept *kept)
{
        ipcns_let_go(kept);
}
static inline struct ipcns_kept ipcns_take(struct ipcns_kept *kept)
{
        struct ipcns_kept taken = *kept;
        *kept = IPCNS_NONE;
        return taken;
}
