#include "attack.h"

/* Judged by what we are afterwards: refused by the filter (EPERM), for want of a
 * capability (EPERM) or because there is no uid 0 here (EINVAL). */
ATTACK(setuid_root, WALL_USER, "become root by setuid")
{
        uid_t real, effective, saved;
        static const struct {
                const char *call;
                long nr;
        } tries[] = {{"setuid", SYS_setuid}, {"setreuid", SYS_setreuid}, {"setresuid", SYS_setresuid}};

        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
                long r = CALL(tries[i].nr, 0, 0, 0);

                if (r != 0 && r != -EPERM && r != -EINVAL)
                        return attack_broken("%s: unforeseen: %s", tries[i].call, strerror((int)-r));
        }
        if (getresuid(&real, &effective, &saved) < 0)
                return attack_broken("getresuid: %s", strerror(errno));
        if (real == 0 || effective == 0 || saved == 0)
                return attack_succeeded("uid 0");
        return attack_blocked("still uid %u", (unsigned)effective);
}
