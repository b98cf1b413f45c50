#include "attack.h"

/* Unknown flags: EINVAL before anything else, whatever perf_event_paranoid says. */
ATTACK(perf_event, WALL_SECCOMP, "open a performance counter")
{
        return attack_judge("perf_event_open", CALL(SYS_perf_event_open, BAD_POINTER, 0, -1, -1, ~0UL), EPERM,
                            ANSWERS(EINVAL, EFAULT, EACCES, ENOSYS));
}
