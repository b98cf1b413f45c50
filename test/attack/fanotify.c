#include "attack.h"

#include <linux/fanotify.h>

/* Observes file accesses of others, across mount namespaces.  Unknown flags: EINVAL before
 * any permission is asked for; and by file id, since Linux 5.13, anyone may. */
ATTACK(fanotify, WALL_SECCOMP, "watch files by fanotify")
{
        enum attack_outcome outcome =
                attack_judge("fanotify_mark", CALL(SYS_fanotify_mark, -1, 0x40000000, 0, -1, NULL), EPERM,
                             ANSWERS(EINVAL, ENOSYS));

        return attack_worse(outcome, attack_judge("fanotify_init", CALL(SYS_fanotify_init, FAN_REPORT_FID, 0),
                                                  EPERM, ANSWERS(EINVAL, ENOSYS)));
}
