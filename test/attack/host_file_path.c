#include "attack.h"

ATTACK(host_file_path, WALL_MOUNT, "read a host file by its absolute path")
{
        return attack_open_and_steal(victim->host_file, victim);
}
