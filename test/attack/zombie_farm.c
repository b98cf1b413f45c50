#include "attack.h"

#include <string.h>
#include <sys/wait.h>

/* Orphans must be reaped by PID 1: otherwise honest code would run into the limit on
 * processes after a while.  Zombies that are ours to reap count against us. */
static enum attack_outcome make_orphans(void)
{
        for (int i = 0; i < 200; i++) {
                pid_t pid = fork();

                if (pid < 0)
                        return attack_broken("after %d orphans: %s: PID 1 does not reap", i, strerror(errno));
                if (pid == 0)
                        _exit(fork() < 0 ? 1 : 0);
                int status = 0;
                waitpid(pid, &status, 0);
                /* The last ones may not be reaped yet. */
                if (status != 0)
                        usleep(10000);
        }
        return ATTACK_BLOCKED;
}

BOMB(zombie_farm, WALL_CGROUP | WALL_RLIMIT, "fill the process table with zombies")
{
        if (make_orphans() != ATTACK_BLOCKED)
                return ATTACK_BROKEN;
        for (int i = 0; i < 300; i++) {
                pid_t pid = fork();

                if (pid < 0 && errno == EAGAIN)
                        return attack_blocked("stopped after %d zombies", i);
                if (pid < 0)
                        return attack_broken("fork: unforeseen: %s", strerror(errno));
                if (pid == 0)
                        _exit(0);
        }
        return attack_succeeded("300 zombies");
}
