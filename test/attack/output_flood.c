#include "attack.h"

/* 256 MiB, the same two bytes over and over. */
BOMB(output_flood, WALL_CGROUP, "flood the host with output")
{
        static char block[65536];

        for (size_t i = 0; i < sizeof block; i += 2)
                memcpy(block + i, "y\n", 2);
        for (long long sent = 0; sent < 256 << 20;) {
                ssize_t n = write(STDOUT_FILENO, block, sizeof block);
                if (n < 0)
                        return ATTACK_BROKEN;
                sent += n;
        }
        return ATTACK_BLOCKED;
}
