#include "attack.h"

/* Everyone but ourselves and PID 1, which the kernel leaves out. */
BOMB(kill_everyone, WALL_PID, "kill every process")
{
        if (!attack_alone(victim))
                return ATTACK_BROKEN;
        if (kill(-1, SIGKILL) < 0 && errno != ESRCH && errno != EPERM)
                return attack_broken("kill: unforeseen: %s", strerror(errno));
        return attack_blocked("all of them; the host must not care");
}
