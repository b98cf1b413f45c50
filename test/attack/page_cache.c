#include "attack.h"

#include <sys/uio.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

/* Small files that every system has and that no process maps: mapped pages are not evicted. */
static const char *const shared_files[] = {
        "/usr/lib/os-release",
        "/usr/share/common-licenses/GPL-2",
        "/usr/share/zoneinfo/UTC",
};

/* Whether the first page is in the page cache: 1, 0 or -errno.  A read that may not wait for the disk
 * answers EAGAIN if it is not. */
static long is_cached(int fd)
{
        char byte;
        struct iovec iov = {&byte, 1};
        long n = CALL(SYS_preadv2, fd, &iov, 1, 0, 0, RWF_NOWAIT);

        return n == -EAGAIN ? 0 : n;
}

enum { UNKNOWN = -1 }; /* the file system does not report what is in the page cache */

/* An attack_outcome, or UNKNOWN.  Another process may read the file between the two calls, so that it is
 * tried several times. */
static int evict(const char *path)
{
        int outcome = UNKNOWN;
        char byte;
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return outcome;
        for (int i = 0; i < 20; i++) {
                if (pread(fd, &byte, 1, 0) != 1 || is_cached(fd) != 1)
                        break;
                long r = CALL(SYS_fadvise64, fd, 0, 0, POSIX_FADV_DONTNEED);
                long cached = is_cached(fd);

                if (r != 0)
                        outcome = attack_broken("%s: fadvise64 returned %ld, not 0", path, r);
                else if (cached == 0)
                        outcome = attack_succeeded("%s is no longer in the host's page cache", path);
                else
                        outcome = attack_blocked("%s is still in the page cache", path);
                if (outcome != ATTACK_BLOCKED)
                        break;
                usleep(10000);
        }
        close(fd);
        return outcome;
}

/* The next reader of the file waits for the disk: a neighbour's start takes several times as long. */
ATTACK(page_cache, WALL_SECCOMP, "evict files of /usr from the host's page cache")
{
        int outcome = UNKNOWN;

        for (size_t i = 0; i < sizeof shared_files / sizeof *shared_files; i++) {
                int one = evict(shared_files[i]);

                if (one != UNKNOWN)
                        outcome = one;
                if (one == ATTACK_SUCCEEDED || one == ATTACK_BROKEN)
                        break;
        }
        return outcome != UNKNOWN
                       ? (enum attack_outcome)outcome
                       : attack_moot("the file system of /usr does not tell what is in the page cache");
}

/* The host swaps pages that are pushed out, and other processes may wait for them, too. */
ATTACK(page_out, WALL_SECCOMP, "have the kernel page out memory")
{
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (page == MAP_FAILED)
                return attack_broken("no memory");
        return attack_worse(
                attack_judge("MADV_COLD", CALL(SYS_madvise, page, 4096, 20), EPERM, ANSWERS(EINVAL)),
                attack_judge("MADV_PAGEOUT", CALL(SYS_madvise, page, 4096, 21), EPERM, ANSWERS(EINVAL)));
}
