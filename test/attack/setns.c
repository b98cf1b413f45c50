#include "attack.h"

ATTACK(setns, WALL_SECCOMP, "enter another namespace")
{
        return attack_judge("setns", CALL(SYS_setns, -1, 0), EPERM, ANSWERS(EBADF));
}
