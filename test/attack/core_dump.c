#include "attack.h"

/* A core file is written by the host's handler, outside, with all our memory in it. */
ATTACK(core_dump, WALL_RLIMIT, "leave a core dump with the host")
{
        struct rlimit core;

        if (getrlimit(RLIMIT_CORE, &core) < 0)
                return attack_broken("getrlimit: %s", strerror(errno));
        if (core.rlim_max > 1) /* 1: none, not even for a handler behind a pipe */
                return attack_succeeded("a core dump may have up to %llu bytes",
                                        (unsigned long long)core.rlim_max);
        return attack_blocked("core dumps are limited to nothing");
}
