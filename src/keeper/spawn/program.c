#include "keeper/spawn/program.h"

#include <errno.h>
#include <linux/memfd.h>
#include <stdint.h>

#include "sys/file.h"
#include "sys/raw.h"
#include "wire/init.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3: says that it is meant to be run */
#endif
#define ADD_SEALS 1033  /* F_ADD_SEALS */
#define SEAL_ALL 0x000f /* against sealing, shrinking, growing, writing */

/* Put in when we are built. */
extern const char init_program[], egress_program[];
extern const uint64_t init_program_len, egress_program_len;

static int unpack(const char *name, const char *data, uint64_t len)
{
        int fd = sys_memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
        if (fd == -EINVAL)
                fd = sys_memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return fd;
        int r = sys_write_all(fd, data, len);
        if (r == 0)
                r = (int)sys_call3(SYS_fcntl, fd, ADD_SEALS, SEAL_ALL);
        if (r == 0)
                r = sys_dup_above(fd, INIT_FREE_FD);
        sys_close(fd);
        return r;
}

int program_open_init(void)
{
        return unpack("init", init_program, init_program_len);
}

int program_open_egress(void)
{
        return unpack("egress", egress_program, egress_program_len);
}
