#include "attack.h"

/* Makes the whole machine wait for its disks, charged to no sandbox. */
ATTACK(sync_host, WALL_SECCOMP, "flush the host's disks")
{
        return attack_judge("syncfs", CALL(SYS_syncfs, -1), EPERM, ANSWERS(EBADF));
}
