#include "keeper/spawn/id_range.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "jail/spec.h"
#include "sys/file.h"

#define LOCK_FILE "/run/cella.ids"
/* Above the single uids (assemble.c), below the range of systemd's foreign images (0x7ffe0000): ids that no
 * other software uses. */
#define FIRST_ID 0x71000000u
#define RANGES 0xe00u

_Static_assert(FIRST_ID + RANGES * (uint64_t)JAIL_IDS <= 0x7f000000u, "ids stay below 0x7ffffffe");

static int open_file(void)
{
        struct stat st;
        AUTO(sys_close)
        int fd = sys_openat(AT_FDCWD, LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        /* Another user with access could lock all of it. */
        return S_ISREG(st.st_mode) && st.st_uid == 0 && !(st.st_mode & 077) ? TAKE_FD(fd) : -EPERM;
}

int id_range_take(unsigned *ret_first)
{
        static unsigned next;
        AUTO(sys_close) int fd = open_file();
        if (fd < 0)
                return fd;
        if (next == 0)
                next = (unsigned)getpid() * 7919u;
        for (unsigned i = 0; i < RANGES; i++) {
                const unsigned range = next++ % RANGES;
                /* The lock belongs to the open file, not to the process, and is not shared with other
                 * sandboxes of this process. */
                struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = range, .l_len = 1};
                if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
                        *ret_first = FIRST_ID + range * JAIL_IDS;
                        return TAKE_FD(fd);
                }
                if (errno != EAGAIN && errno != EACCES)
                        return -errno;
        }
        return -EUSERS;
}
