#include "attack.h"

#include <grp.h>

/* Supplementary groups count too: those of the sandbox's creator must be gone. */
ATTACK(setgid_root, WALL_USER, "join root's group, or keep a group of the caller")
{
        gid_t groups[256], real, effective, saved;
        const unsigned id = attack_foreign_id(victim);
        long r = CALL(SYS_setresgid, id, id, id);

        if (r != 0 && r != -EPERM && r != -EINVAL)
                return attack_broken("setresgid: unforeseen: %s", strerror((int)-r));
        groups[0] = id;
        r = CALL(SYS_setgroups, 1, groups);
        if (r != 0 && r != -EPERM && r != -EINVAL)
                return attack_broken("setgroups: unforeseen: %s", strerror((int)-r));

        int n = getgroups(256, groups);
        if (n < 0 || getresgid(&real, &effective, &saved) < 0)
                return attack_broken("getgroups: %s", strerror(errno));
        if (real == id || effective == id || saved == id)
                return attack_succeeded("gid %u", id);
        for (int i = 0; i < n; i++)
                if (groups[i] != effective)
                        return attack_succeeded("in group %u as well", (unsigned)groups[i]);
        return attack_blocked("gid %u and no other group", (unsigned)effective);
}
