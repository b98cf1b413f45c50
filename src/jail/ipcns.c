/* jail/ipcns.c -- an IPC namespace that is made ahead, and used again if nothing was ever made in it.
 *
 * What tells is there for checkpoints and clocks, and nobody without a right over the namespace can set it
 * back:
 *
 *  - The number that the next object of a kind is to get.  It is -1, for any, unless somebody who restores a
 *    process has asked for one; and is so again as soon as there was an object, even one that could not be
 *    finished.  We ask for 0, which a new namespace would give anyway.
 *  - When a POSIX queue was last made or removed: that is when their directory was written.  We say long ago.
 *
 * So it does not matter what is left, or where: a queue that only a descriptor on its way leads to was made,
 * too.  One difference can be seen inside: the kernel does not count the first number as given out.  Who
 * makes an object, removes it and makes the next gets 0 twice, and not 0 and 1. */
#include "jail/ipcns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <time.h>

#include "sys/file.h"
#include "sys/mount.h"
#include "sys/process.h"
#include "sys/raw.h"

#define OWN_NAMESPACE "/proc/thread-self/ns/ipc"

static const char *const ids[IPCNS_IDS] = {"/proc/sys/kernel/shm_next_id", "/proc/sys/kernel/sem_next_id",
                                           "/proc/sys/kernel/msg_next_id"};

/* Whether the next is still to be 0. */
static bool is_untouched(int fd)
{
        char text[8];
        return sys_call4(SYS_pread64, fd, text, sizeof text, 0) == 2 && text[0] == '0';
}

/* Where the queues are.  Not the mount's own descriptor: the kernel has to take a mount down when that is
 * closed, for which it waits for all CPUs; here, nobody waits for us. */
static int open_queues(void)
{
        AUTO(sys_close) int mount = sys_mqueue();
        return mount < 0 ? mount : sys_openat(mount, ".", O_PATH | O_DIRECTORY, 0);
}

/* In the namespace. */
static int open_witnesses(struct ipcns_kept *kept)
{
        const struct timespec long_ago[2] = {{0}, {0}};
        int r = 0;
        for (int i = 0; i < IPCNS_IDS && r >= 0; i++) {
                r = kept->ids[i] = sys_openat(AT_FDCWD, ids[i], O_RDWR, 0);
                if (r >= 0)
                        r = (int)sys_write(kept->ids[i], "0", 1);
        }
        if (r >= 0)
                r = kept->queues = open_queues();
        return r < 0 ? r : (int)sys_call4(SYS_utimensat, kept->queues, ".", long_ago, 0);
}

/* Out of it.  Before Linux 5.19 such a file told of its reader's namespace, whoever had opened it. */
static bool tells_of_it(const struct ipcns_kept *kept)
{
        AUTO(sys_close) int own = sys_openat(AT_FDCWD, ids[0], O_RDONLY, 0);
        return own >= 0 && !is_untouched(own) && ipcns_is_as_new(kept);
}

int ipcns_make(struct ipcns_kept *ret)
{
        AUTO(ipcns_let_go) struct ipcns_kept made = IPCNS_NONE;
        AUTO(sys_close) int home = sys_openat(AT_FDCWD, OWN_NAMESPACE, O_RDONLY, 0);
        int r = home < 0 ? home : sys_unshare(CLONE_NEWIPC);
        if (r < 0)
                return r;
        r = made.fd = sys_openat(AT_FDCWD, OWN_NAMESPACE, O_RDONLY, 0);
        if (r >= 0)
                r = open_witnesses(&made);
        int back = sys_setns(home, CLONE_NEWIPC);
        if (r < 0 || back < 0)
                return r < 0 ? r : back;
        if (!tells_of_it(&made))
                return -ENOTSUP;
        *ret = ipcns_take(&made);
        return 0;
}

bool ipcns_is_as_new(const struct ipcns_kept *kept)
{
        struct statx st;
        for (int i = 0; i < IPCNS_IDS; i++)
                if (!is_untouched(kept->ids[i]))
                        return false;
        return sys_statx(kept->queues, "", AT_EMPTY_PATH, STATX_MTIME, &st) == 0 &&
               (st.stx_mask & STATX_MTIME) && st.stx_mtime.tv_sec == 0;
}

void ipcns_let_go(struct ipcns_kept *kept)
{
        sys_close(kept->fd);
        for (int i = 0; i < IPCNS_IDS; i++)
                sys_close(kept->ids[i]);
        sys_close(kept->queues);
        *kept = IPCNS_NONE;
}
