#include "attack.h"

/* A process that outlives the deadlines of naive runners: not our child, not in our session, deaf
 * to SIGTERM, and the pipe of our output still in its hands. */
BOMB(sleeping_daemon, WALL_PID, "leave a daemon behind")
{
        pid_t pid = fork();

        if (pid < 0)
                return attack_broken("fork: %s", strerror(errno));
        if (pid == 0) {
                setsid();
                if (fork() != 0)
                        _exit(0);
                for (int signal_number = 1; signal_number < 32; signal_number++)
                        signal(signal_number, SIG_IGN);
                attack_fuse();
                for (;;)
                        pause();
        }
        waitpid(pid, NULL, 0);
        return attack_blocked("the daemon is there; now it must end with us");
}
