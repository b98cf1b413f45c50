#include "attack.h"

/* Unknown flags: refused with EINVAL before anything else is looked at. */
ATTACK(umount, WALL_SECCOMP, "unmount what hides the host's files")
{
        return attack_judge("umount2", CALL(SYS_umount2, "/tmp", 0x40000000), EPERM, ANSWERS(EINVAL));
}
