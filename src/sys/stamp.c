#include "sys/stamp.h"

#include <stddef.h>
#include <sys/mman.h>

#include "sys/file.h"
#include "sys/raw.h"

static struct timespec coarse_now(void)
{
        struct timespec now;
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
        return now;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
        return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Changes a new file, reads its timestamp and changes it again, so that the kernel gives it a fine-grained
 * one. */
static int change_twice(struct timespec *ret)
{
        AUTO(sys_close) int fd = sys_memfd_create("stamp", MFD_CLOEXEC);
        struct statx st = {0};
        int r = fd < 0 ? fd : 0;
        for (int i = 0; i < 2 && r == 0; i++) {
                r = (int)sys_call2(SYS_fchmod, fd, 0600);
                if (r == 0)
                        r = sys_statx(fd, "", AT_EMPTY_PATH, STATX_CTIME, &st);
        }
        *ret = (struct timespec){.tv_sec = st.stx_ctime.tv_sec, .tv_nsec = st.stx_ctime.tv_nsec};
        return r;
}

bool sys_stamp_now(struct timespec *ret)
{
        struct timespec stamp = {0};
        const int r = change_twice(&stamp);
        *ret = coarse_now();
        /* Only a fine-grained timestamp can be later than the coarse clock. */
        if (r < 0 || !is_later(&stamp, ret))
                return false;
        *ret = stamp;
        return true;
}
