#include "attack.h"

/* The kernel copies the strings before it asks for a capability. */
ATTACK(mount, WALL_SECCOMP, "mount a file system")
{
        return attack_judge("mount", CALL(SYS_mount, BAD_POINTER, "/tmp", BAD_POINTER, 0, NULL), EPERM,
                            ANSWERS(EFAULT));
}
