#include "attack.h"

/* Above the root there is only the root; and a directory shown to the sandbox has the
 * sandbox as its parent, not the directory that holds it on the host. */
ATTACK(host_file_dotdot, WALL_MOUNT, "read a host file by climbing out with ..")
{
        char path[1024] = "";

        if (!victim->host_file || !victim->dir)
                return attack_broken("needs host_file and dir");
        for (int i = 0; i < 64; i++)
                strcat(path, "../");
        strncat(path, victim->host_file + 1, sizeof path - strlen(path) - 1);
        enum attack_outcome outcome = attack_open_and_steal(path, victim);

        snprintf(path, sizeof path, "%s/../secret", victim->dir);
        outcome = attack_worse(outcome, attack_open_and_steal(path, victim));

        if (chdir(victim->dir) < 0)
                return attack_broken("%s: %s", victim->dir, strerror(errno));
        return attack_worse(outcome, attack_open_and_steal("../secret", victim));
}
