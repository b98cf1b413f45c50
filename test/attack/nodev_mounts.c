#include "attack.h"

#include <sys/statvfs.h>

ATTACK(nodev_mounts, WALL_MOUNT, "find a place where device nodes would work")
{
        static const char *const paths[] = {"/usr", "/tmp", "/workspace", "/dev/shm", "/etc"};
        enum attack_outcome outcome = ATTACK_BLOCKED;
        struct statvfs fs;

        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
                if (statvfs(paths[i], &fs) < 0) {
                        if (errno != ENOENT)
                                return attack_broken("%s: unforeseen: %s", paths[i], strerror(errno));
                } else if (!(fs.f_flag & ST_NODEV)) {
                        outcome = attack_succeeded("%s is mounted without nodev", paths[i]);
                }
        }
        if (outcome == ATTACK_BLOCKED)
                return attack_blocked("nodev everywhere");
        return outcome;
}
