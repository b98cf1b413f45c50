#include "attack.h"

BOMB(cpu_spin, WALL_CGROUP, "burn processor time by two processes")
{
        time_t start = time(NULL);

        if (fork() == 0)
                attack_fuse();
        while (time(NULL) - start < 10)
                ;
        return attack_succeeded("ten seconds");
}
