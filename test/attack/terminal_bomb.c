#include "attack.h"

#define ALLOWED 64 /* view_show_terminals() */
#define ENOUGH (ALLOWED + 16)

/* The kernel counts the terminals of all sandboxes and of the host together, and no cgroup counts most of
 * their memory. */
ATTACK(terminal_bomb, WALL_MOUNT, "make pseudo-terminals without end")
{
        long n = 0;

        for (; n < ENOUGH; n++) {
                /* For reading only: without the mount wall, Landlock lets nothing be opened for writing. */
                if (open("/dev/ptmx", O_RDONLY | O_NOCTTY | O_CLOEXEC) >= 0)
                        continue;
                if ((errno == ENOENT || errno == EACCES) && n == 0)
                        return attack_moot("/dev/ptmx: %s", strerror(errno));
                if (errno != ENOSPC || n == 0)
                        return attack_broken("/dev/ptmx: unforeseen: %s", strerror(errno));
                break;
        }
        if (n > ALLOWED)
                return attack_succeeded("%ld terminals where %d are allowed", n, ALLOWED);
        return attack_blocked("stopped after %ld terminals", n);
}
