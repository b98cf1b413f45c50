#include "attack.h"

ATTACK(host_shm_file, WALL_MOUNT, "read a POSIX shared memory file of the host")
{
        char path[256];

        if (!victim->shm_file)
                return attack_broken("needs shm_file");
        snprintf(path, sizeof path, "/dev/shm/%s", victim->shm_file);
        return attack_open_and_steal(path, victim);
}
