#include "attack.h"

#include <sys/ioctl.h>

#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

/* Typing into the terminal that runs us.  Standard input is no terminal here, so the
 * kernel itself would say ENOTTY.  It takes the command as 32 bits: a filter that
 * compares 64 can be walked around (CVE-2019-10063). */
ATTACK(tiocsti, WALL_SECCOMP, "type into the terminal of the host")
{
        static const int answers[] = {ENOTTY, EIO, EBADF, EINVAL, EFAULT, 0};
        enum attack_outcome outcome;
        char letter = ' ';

        outcome = attack_judge("TIOCSTI", CALL(SYS_ioctl, 0, TIOCSTI, &letter), EPERM, answers);
        outcome = attack_worse(outcome,
                               attack_judge("TIOCSTI + upper half",
                                            CALL(SYS_ioctl, 0, (unsigned long)TIOCSTI | 1UL << 32, &letter),
                                            EPERM, answers));
        /* And loading a line discipline, old code that is rarely reviewed. */
        outcome = attack_worse(
                outcome, attack_judge("TIOCSETD", CALL(SYS_ioctl, 0, TIOCSETD, BAD_POINTER), EPERM, answers));
        return attack_worse(outcome, attack_judge("TIOCLINUX", CALL(SYS_ioctl, 0, TIOCLINUX, BAD_POINTER),
                                                  EPERM, answers));
}
