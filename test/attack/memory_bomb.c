#include "attack.h"

/* Blocked by not coming back: the kernel kills us at the limit. */
BOMB(memory_bomb, WALL_CGROUP, "use up the machine's memory")
{
        for (int mib = 0; mib < 200; mib++) {
                void *memory =
                        mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (memory == MAP_FAILED)
                        return attack_broken("mmap after %d MiB: unforeseen: %s", mib, strerror(errno));
                memset(memory, 1, 1 << 20);
        }
        return attack_succeeded("200 MiB");
}
