#include "attack.h"

/* One link lies in a directory of the host that is shown to the sandbox, the other is
 * the attacker's own.  Both must resolve in the sandbox's view. */
ATTACK(host_file_symlink, WALL_MOUNT, "read a host file through a symbolic link")
{
        char own[64];
        enum attack_outcome outcome = attack_open_and_steal(victim->link, victim);

        if (!victim->host_file)
                return attack_broken("needs host_file");
        snprintf(own, sizeof own, "/tmp/attack-link-%d", (int)getpid());
        if (symlink(victim->host_file, own) == 0) {
                outcome = attack_worse(outcome, attack_open_and_steal(own, victim));
                unlink(own);
        }
        return outcome;
}
