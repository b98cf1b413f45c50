#include "attack.h"

#define SYS_fchmodat2_number 452 /* newer than some headers; the same everywhere */

/* A setuid file in a directory of the host that is bound writable would be a gift to
 * the next user who finds it. */
ATTACK(setuid_chmod, WALL_SECCOMP, "set the setuid and setgid bits of a file")
{
        static const int modes[] = {04755, 02755, 06755};
        enum attack_outcome outcome = ATTACK_BLOCKED;
        char path[64];

        snprintf(path, sizeof path, "/tmp/attack-setuid-%d", (int)getpid());
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return attack_broken("%s: %s", path, strerror(errno));
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
#ifdef SYS_chmod
                outcome = attack_worse(outcome, attack_judge("chmod", CALL(SYS_chmod, path, modes[i]), EPERM,
                                                             ANSWERS(EACCES)));
#endif
                outcome = attack_worse(outcome, attack_judge("fchmod", CALL(SYS_fchmod, fd, modes[i]), EPERM,
                                                             ANSWERS(EACCES)));
                outcome = attack_worse(outcome,
                                       attack_judge("fchmodat", CALL(SYS_fchmodat, AT_FDCWD, path, modes[i]),
                                                    EPERM, ANSWERS(EACCES)));
                /* A filter that does not know the number may also say that there is none. */
                long r = CALL(SYS_fchmodat2_number, AT_FDCWD, path, modes[i], 0);
                if (r != -ENOSYS)
                        outcome = attack_worse(outcome, attack_judge("fchmodat2", r, EPERM, ANSWERS(EACCES)));
        }
        close(fd);
        unlink(path);
        return outcome;
}
