#include "attack.h"

#include <linux/userfaultfd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

/* Makes races in the kernel easy to win. */
ATTACK(userfaultfd, WALL_SECCOMP, "handle page faults by userfaultfd")
{
        return attack_judge("userfaultfd", CALL(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY), EPERM,
                            ANSWERS(EINVAL, ENOSYS));
}
