#include "attack.h"

#include <linux/sched.h>

/* The kernel asks for a capability first, which a nested user namespace gives. */
ATTACK(pivot_root, WALL_SECCOMP, "change the root, from a nested namespace")
{
        long r = CALL(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS);

        if (r == -EPERM && attack_userns_restricted())
                return attack_moot("AppArmor refuses user namespaces as well");
        if (r < 0 && r != -EPERM)
                return attack_broken("unshare: unforeseen error %ld", -r);
        return attack_judge("pivot_root", CALL(SYS_pivot_root, BAD_POINTER, BAD_POINTER), EPERM,
                            ANSWERS(EFAULT));
}
