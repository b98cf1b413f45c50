#include "attack.h"

/* The clock belongs to the machine.  The kernel reads the pointers before it checks for a capability. */
ATTACK(set_clock, WALL_SECCOMP, "set the machine's clock")
{
        enum attack_outcome outcome =
                attack_judge("clock_settime", CALL(SYS_clock_settime, CLOCK_REALTIME, BAD_POINTER), EPERM,
                             ANSWERS(EFAULT));

        return attack_worse(outcome, attack_judge("settimeofday", CALL(SYS_settimeofday, BAD_POINTER, NULL),
                                                  EPERM, ANSWERS(EFAULT)));
}
