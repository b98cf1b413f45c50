#include "attack.h"

#define SLACK 64 /* for the sandbox's own */

/* Empty files take no room, but the kernel's memory.  limit: how many are allowed. */
BOMB(inode_bomb, WALL_MOUNT, "make files without end")
{
        static const char *const dirs[] = {"/tmp", "/workspace", "/dev/shm"};
        char path[64];
        int made = 0;

        if (victim->limit <= 0)
                return attack_broken("needs limit");
        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
                for (int n = 0; made < 2000; n++) {
                        snprintf(path, sizeof path, "%s/empty-%d", dirs[i], n);
                        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                        if (fd < 0) {
                                if (errno == ENOSPC)
                                        break;
                                return attack_broken("%s: unforeseen: %s", path, strerror(errno));
                        }
                        close(fd);
                        made++;
                }
                attack_say("%d files after %s", made, dirs[i]);
        }
        if (made > victim->limit + SLACK)
                return attack_succeeded("%d files where %ld are allowed", made, victim->limit);
        return attack_blocked("%d files, %ld are allowed", made, victim->limit);
}
