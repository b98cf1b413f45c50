#include "init/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif

static int control(int fd, unsigned long request, const void *argument)
{
        return (int)sys_call3(SYS_ioctl, fd, request, argument);
}

/* Opens the slave relative to the master, whatever is mounted at /dev/pts; by name if the kernel has no
 * such ioctl (gVisor). */
static int open_slave(int master)
{
        char path[32];
        unsigned number = 0;
        int r = (int)sys_call3(SYS_ioctl, master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if ((r != -ENOTTY && r != -EINVAL) || control(master, TIOCGPTN, &number) < 0)
                return r;
        snprintf(path, sizeof path, "/dev/pts/%u", number);
        return sys_openat(AT_FDCWD, path, O_RDWR | O_NOCTTY, 0);
}

int terminal_open(uint16_t columns, uint16_t rows, int *ret_slave)
{
        const struct winsize size = {.ws_row = rows ? rows : 24, .ws_col = columns ? columns : 80};
        const int unlocked = 0;
        AUTO(sys_close) int master = sys_openat(AT_FDCWD, "/dev/ptmx", O_RDWR | O_NOCTTY, 0);
        if (master < 0)
                return master == -ENOENT ? -ENODEV : master;
        int r = control(master, TIOCSPTLCK, &unlocked);
        if (r == 0)
                r = control(master, TIOCSWINSZ, &size);
        if (r == 0)
                r = *ret_slave = open_slave(master);
        return r < 0 ? r : TAKE_FD(master);
}

int terminal_take(int slave)
{
        int r = sys_setsid();
        return r < 0 ? r : control(slave, TIOCSCTTY, 0);
}
