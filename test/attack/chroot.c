#include "attack.h"

/* The old way out of a chroot.  The path is looked up before a capability is asked for. */
ATTACK(chroot, WALL_SECCOMP, "change the root")
{
        return attack_judge("chroot", CALL(SYS_chroot, BAD_POINTER), EPERM, ANSWERS(EFAULT));
}
