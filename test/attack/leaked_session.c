#include "attack.h"

/* In a session of the host we would share its terminal, and so would PID 1.  If the leader of a
 * session is outside our pid namespace, the session has the number 0 here. */
ATTACK(leaked_session, WALL_HYGIENE, "stay in the terminal session of the host")
{
        int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

        if (fd >= 0)
                return attack_succeeded("/dev/tty is a terminal of the host");
        if (errno != ENXIO && errno != ENOENT)
                return attack_broken("/dev/tty: unforeseen: %s", strerror(errno));
        pid_t ours = getsid(0), first = getsid(1);
        if (ours < 0 || first < 0)
                return attack_broken("getsid: %s", strerror(errno));
        if (ours == 0 || first == 0)
                return attack_succeeded("%s is in a session from outside",
                                        ours == 0 ? "this process" : "PID 1");
        return attack_blocked("in session %d, PID 1 in session %d, both made here", (int)ours, (int)first);
}
