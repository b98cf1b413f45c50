#include "attack.h"

#include <sched.h>

/* The same user may take resources away from PID 1 without any further permission.  It
 * harms its own sandbox; the host must get its answer in time all the same. */
BOMB(starve_init, WALL_PID, "take descriptors and processor time away from PID 1")
{
        const struct rlimit none = {0, 0};
        const struct sched_param idle = {0};
        int taken = 0;

        if (!attack_alone(victim))
                return ATTACK_BROKEN;
        taken += CALL(SYS_prlimit64, 1, RLIMIT_NOFILE, &none, NULL) == 0;
        taken += CALL(SYS_prlimit64, 1, RLIMIT_FSIZE, &none, NULL) == 0;
        taken += CALL(SYS_prlimit64, 1, RLIMIT_AS, &none, NULL) == 0;
        taken += CALL(SYS_prlimit64, 1, RLIMIT_SIGPENDING, &none, NULL) == 0;
        taken += CALL(SYS_setpriority, PRIO_PROCESS, 1, 19) == 0;
        taken += CALL(SYS_sched_setscheduler, 1, SCHED_IDLE, &idle) == 0;
        /* Wake it, so that it meets its new limits before we end. */
        kill(1, SIGCHLD);
        usleep(20000);
        return attack_blocked("%d of 6 things taken from PID 1", taken);
}
