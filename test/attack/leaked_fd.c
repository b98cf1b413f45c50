#include "attack.h"

ATTACK(leaked_fd, WALL_HYGIENE, "read a host file from a descriptor left open")
{
        if (victim->fd < 0)
                return attack_broken("needs fd");
        if (fcntl((int)victim->fd, F_GETFD) < 0) {
                if (errno != EBADF)
                        return attack_broken("fcntl: unforeseen: %s", strerror(errno));
                return attack_blocked("descriptor %ld: %s", victim->fd, strerror(errno));
        }
        if (lseek((int)victim->fd, 0, SEEK_SET) < 0)
                return attack_broken("descriptor %ld: %s", victim->fd, strerror(errno));
        return attack_steal((int)victim->fd, victim);
}
