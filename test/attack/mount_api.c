#include "attack.h"

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

/* The newer calls, which filters that list only mount(2) forget.  All get arguments
 * that the kernel refuses before it asks for a capability. */
ATTACK(mount_api, WALL_SECCOMP, "change mounts by the calls that came after mount(2)")
{
        enum attack_outcome outcome;

        outcome = attack_judge("open_tree", CALL(SYS_open_tree, -1, "/", 0x40000000), EPERM,
                               ANSWERS(EINVAL, ENOSYS));
        outcome = attack_worse(outcome, attack_judge("fsconfig", CALL(SYS_fsconfig, -1, 0, NULL, NULL, 0),
                                                     EPERM, ANSWERS(EINVAL, EBADF, ENOSYS)));
        return attack_worse(outcome, attack_judge("mount_setattr",
                                                  CALL(SYS_mount_setattr, -1, "/", 0x40000000, NULL, 0),
                                                  EPERM, ANSWERS(EINVAL, ENOSYS)));
}
