#include "attack.h"

#include <sys/uio.h>

/* What ptrace does, by calls that filters forget.  On ourselves, which the kernel
 * allows. */
ATTACK(process_memory, WALL_SECCOMP, "read the memory and take the descriptors of a process")
{
        char from[8] = "secret", to[8] = "";
        struct iovec remote = {from, sizeof from}, local = {to, sizeof to};
        enum attack_outcome outcome;

        outcome = attack_judge("process_vm_readv",
                               CALL(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0), EPERM,
                               ANSWERS(ENOSYS));
        outcome = attack_worse(outcome,
                               attack_judge("process_vm_writev",
                                            CALL(SYS_process_vm_writev, getpid(), &local, 1, &remote, 1, 0),
                                            EPERM, ANSWERS(ENOSYS)));
        outcome = attack_worse(outcome, attack_judge("pidfd_getfd", CALL(SYS_pidfd_getfd, -1, 0, 0), EPERM,
                                                     ANSWERS(EBADF, ENOSYS)));
        return attack_worse(outcome, attack_judge("kcmp", CALL(SYS_kcmp, getpid(), getpid(), 0, 0, 1), EPERM,
                                                  ANSWERS(ENOSYS)));
}
