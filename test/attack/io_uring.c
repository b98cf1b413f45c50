#include "attack.h"

#include <linux/io_uring.h>

/* Its requests are carried out past the filter. */
ATTACK(io_uring, WALL_SECCOMP, "do I/O by io_uring")
{
        struct io_uring_params params = {0};
        enum attack_outcome outcome;

        outcome = attack_judge("io_uring_setup", CALL(SYS_io_uring_setup, 4, &params), EPERM,
                               ANSWERS(ENOSYS, ENOMEM));
        /* Where a sysctl closes io_uring_setup, with EPERM too, this still tells. */
        outcome = attack_worse(outcome, attack_judge("io_uring_enter", CALL(SYS_io_uring_enter, -1, 0, 0, 0),
                                                     EPERM, ANSWERS(EBADF, EOPNOTSUPP, ENOSYS)));
        return attack_worse(outcome,
                            attack_judge("io_uring_register", CALL(SYS_io_uring_register, -1, 0, NULL, 0),
                                         EPERM, ANSWERS(EBADF, EINVAL, EOPNOTSUPP, ENOSYS)));
}
