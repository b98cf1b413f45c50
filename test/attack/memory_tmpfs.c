#include "attack.h"

/* Files in memory must count as memory of the sandbox, however large its disk may be. */
BOMB(memory_tmpfs, WALL_CGROUP, "use up the machine's memory by files in /tmp")
{
        static char block[1 << 20];
        int fd = open("/tmp/memory", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        if (fd < 0)
                return attack_broken("/tmp/memory: %s", strerror(errno));
        memset(block, 1, sizeof block);
        for (int mib = 0; mib < 150; mib++) {
                ssize_t n = write(fd, block, sizeof block);

                if (n < 0 && errno == ENOSPC)
                        return attack_broken("the disk was full first, after %d MiB", mib);
                if (n < 0)
                        return attack_broken("write: unforeseen: %s", strerror(errno));
        }
        unlink("/tmp/memory");
        return attack_succeeded("150 MiB");
}
