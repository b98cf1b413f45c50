#include "attack.h"

/* The classic escape from a chroot.  The kernel looks the path up before it checks for a capability. */
ATTACK(chroot, WALL_SECCOMP, "change the root")
{
        return attack_judge("chroot", CALL(SYS_chroot, BAD_POINTER), EPERM, ANSWERS(EFAULT));
}
