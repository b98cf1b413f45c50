#include "attack.h"

ATTACK(leaked_any_fd, WALL_HYGIENE, "find any descriptor beyond 0, 1 and 2")
{
        char path[64], target[128];
        int leaked = 0;

        for (int fd = 3; fd < 4096; fd++) {
                if (fcntl(fd, F_GETFD) < 0)
                        continue;
                snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
                ssize_t n = readlink(path, target, sizeof target);
                attack_say("descriptor %d: %.*s", fd, n > 0 ? (int)n : 0, target);
                leaked++;
        }
        if (leaked > 0)
                return attack_succeeded("%d descriptors", leaked);
        return attack_blocked("none");
}
