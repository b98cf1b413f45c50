#include "attack.h"

/* A stopped process does not act on SIGTERM: a parent that waits for its end waits for ever. */
BOMB(stop_everyone, WALL_PID, "stop every process, ourselves last")
{
        if (!attack_alone(victim))
                return ATTACK_BROKEN;
        for (int i = 0; i < 8; i++) {
                pid_t pid = fork();

                if (pid < 0)
                        return attack_broken("fork: %s", strerror(errno));
                if (pid == 0) {
                        attack_fuse();
                        for (;;)
                                pause();
                }
        }
        kill(getppid(), SIGSTOP);
        kill(1, SIGSTOP);
        kill(-1, SIGSTOP);
        raise(SIGSTOP);
        return attack_blocked("somebody let us go on");
}
