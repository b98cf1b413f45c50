#include "attack.h"

#include <sys/prctl.h>

/* The flag is what makes execve ignore setuid bits and file capabilities. */
ATTACK(new_privileges, WALL_NO_NEW_PRIVS, "run without no_new_privs")
{
        int set = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);

        if (set < 0)
                return attack_broken("prctl: %s", strerror(errno));
        if (set == 0)
                return attack_succeeded("setuid programs would count here");
        return attack_blocked("no_new_privs is set");
}
