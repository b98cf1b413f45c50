#include "attack.h"

#include <sys/ioctl.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif
#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

/* On a pseudo-terminal of its own, so that the kernel would do it: type as if by the user who reads this
 * terminal, and load another line discipline. */
ATTACK(terminal_typing, WALL_SECCOMP, "type into a terminal, and change its driver")
{
        static const int answers[] = {EIO, ENOTTY, EINVAL, EFAULT, 0};
        enum attack_outcome outcome;
        int unlocked = 0;
        char letter = ' ';

        int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (master < 0)
                return attack_broken("/dev/ptmx: %s", strerror(errno));
        int slave = ioctl(master, TIOCSPTLCK, &unlocked) < 0
                            ? -1
                            : ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (slave < 0)
                return attack_broken("slave: %s", strerror(errno));
        /* Only the controlling terminal can be typed into, and the leader of a group cannot make a session.
         */
        pid_t child = fork();
        if (child == 0) {
                if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
                        _exit(attack_broken("controlling terminal: %s", strerror(errno)));
                outcome = attack_judge("TIOCSTI", CALL(SYS_ioctl, slave, TIOCSTI, &letter), EPERM, answers);
                outcome = attack_worse(outcome,
                                       attack_judge("TIOCSETD", CALL(SYS_ioctl, slave, TIOCSETD, BAD_POINTER),
                                                    EPERM, answers));
                outcome = attack_worse(outcome, attack_judge("TIOCLINUX",
                                                             CALL(SYS_ioctl, slave, TIOCLINUX, BAD_POINTER),
                                                             EPERM, answers));
                _exit((int)outcome);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
                return attack_broken("the child ended by %d", status);
        return (enum attack_outcome)WEXITSTATUS(status);
}
