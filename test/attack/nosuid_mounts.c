#include "attack.h"

#include <sys/statvfs.h>

ATTACK(nosuid_mounts, WALL_NO_NEW_PRIVS, "find a place where setuid programs would work")
{
        static const char *const paths[] = {"/", "/usr", "/tmp", "/workspace", "/dev/shm", "/etc", "/proc"};
        enum attack_outcome outcome = ATTACK_BLOCKED;
        struct statvfs fs;

        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
                if (statvfs(paths[i], &fs) < 0)
                        return attack_broken("%s: unforeseen: %s", paths[i], strerror(errno));
                if (!(fs.f_flag & ST_NOSUID))
                        outcome = attack_succeeded("%s is mounted without nosuid", paths[i]);
        }
        if (outcome == ATTACK_BLOCKED)
                return attack_blocked("nosuid everywhere");
        return outcome;
}
