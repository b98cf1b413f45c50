#include "attack.h"

/* PID 1 is in our own namespace, so that only hidepid keeps it out of view: the wall that
 * process_environ cannot show by itself.  Its owner closes the file in any case. */
ATTACK(init_environ, WALL_PROC, "find PID 1 in /proc")
{
        int fd = open("/proc/1/environ", O_RDONLY | O_CLOEXEC);

        if (fd >= 0) {
                close(fd);
                return attack_succeeded("/proc/1/environ can be read");
        }
        if (errno == ENOENT)
                return attack_blocked("/proc/1/environ: %s", strerror(errno));
        if (errno == EACCES || errno == EPERM)
                return attack_succeeded("/proc/1 is there; only its owner keeps it closed");
        return attack_broken("/proc/1/environ: unforeseen: %s", strerror(errno));
}
