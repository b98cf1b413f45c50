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

        const unsigned id = attack_foreign_id(victim);
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
                long r = CALL(tries[i].nr, id, id, id);

                if (r != 0 && r != -EPERM && r != -EINVAL)
                        return attack_broken("%s: unforeseen: %s", tries[i].call, strerror((int)-r));
        }
        if (getresuid(&real, &effective, &saved) < 0)
                return attack_broken("getresuid: %s", strerror(errno));
        if (real == id || effective == id || saved == id)
                return attack_succeeded("uid %u", id);
        return attack_blocked("still uid %u", (unsigned)effective);
}
