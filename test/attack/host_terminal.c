#include "attack.h"

/* A terminal of the host, which every user may open.  Its number is free in the sandbox's own /dev/pts. */
ATTACK(host_terminal, WALL_MOUNT, "open a terminal of the host")
{
        if (!victim->terminal || !victim->terminal[0])
                return attack_moot("the host has no terminals");
        int fd = open(victim->terminal, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
                return attack_blocked("%s is not there", victim->terminal);
        if (fd < 0)
                return attack_broken("%s: unforeseen: %s", victim->terminal, strerror(errno));
        close(fd);
        return attack_succeeded("opened %s", victim->terminal);
}
