#include "attack.h"

/* PID 1 works for the host: it must survive and keep working. */
BOMB(kill_init, WALL_PID, "kill, stop and confuse PID 1")
{
        int sent = 0;

        if (!attack_alone(victim))
                return ATTACK_BROKEN;
        /* Its descriptors lead to the host, and its memory controls everything that it does. */
        if (opendir("/proc/1/fd") || open("/proc/1/mem", O_RDONLY | O_CLOEXEC) >= 0)
                return attack_succeeded("PID 1 can be read");
        kill(1, SIGKILL);
        kill(1, SIGSTOP);
        for (int round = 0; round < 20; round++)
                for (int signal_number = 1; signal_number < 65; signal_number++)
                        if (kill(1, signal_number) == 0)
                                sent++;
        if (kill(1, 0) < 0 && errno == ESRCH)
                return attack_succeeded("PID 1 is gone");
        return attack_blocked("PID 1 is there after %d signals", sent);
}
