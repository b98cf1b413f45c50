#include "attack.h"

/* Clocks are the machine's; pointers are looked at before a capability is asked for. */
ATTACK(set_clock, WALL_SECCOMP, "set the machine's clock")
{
        enum attack_outcome outcome =
                attack_judge("clock_settime", CALL(SYS_clock_settime, CLOCK_REALTIME, BAD_POINTER), EPERM,
                             ANSWERS(EFAULT));

        return attack_worse(outcome, attack_judge("settimeofday", CALL(SYS_settimeofday, BAD_POINTER, NULL),
                                                  EPERM, ANSWERS(EFAULT)));
}
