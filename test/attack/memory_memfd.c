#include "attack.h"

/* Memory without an address and without a path. */
BOMB(memory_memfd, WALL_CGROUP, "use up the machine's memory by memfd")
{
        static char block[1 << 20];
        int fd = memfd_create("bomb", MFD_CLOEXEC);

        if (fd < 0)
                return attack_broken("memfd_create: %s", strerror(errno));
        memset(block, 1, sizeof block);
        for (int mib = 0; mib < 150; mib++)
                if (write(fd, block, sizeof block) < 0)
                        return attack_broken("write: unforeseen: %s", strerror(errno));
        return attack_succeeded("150 MiB");
}
