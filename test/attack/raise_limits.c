#include "attack.h"

#define MANY 1000 /* far more than a sandbox has by default */

/* The limit on processes that stands behind the cgroup's: fork_bomb and the like end at the
 * cgroup's, and do not come to this one. */
ATTACK(raise_limits, WALL_RLIMIT, "raise its own limit on processes")
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NPROC, &limit) < 0)
                return attack_broken("getrlimit: %s", strerror(errno));
        if (limit.rlim_max >= MANY)
                limit.rlim_cur = MANY;
        else
                limit.rlim_cur = limit.rlim_max = MANY;
        if (setrlimit(RLIMIT_NPROC, &limit) == 0)
                return attack_succeeded("%d processes", MANY);
        if (errno == EPERM)
                return attack_blocked("setrlimit: %s", strerror(errno));
        return attack_broken("setrlimit: unforeseen: %s", strerror(errno));
}
