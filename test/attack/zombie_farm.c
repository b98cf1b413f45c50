#include "attack.h"

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
        usleep(100000); /* for the last orphans to be reaped */
        for (int i = 1; i < ATTACK_BOMB_SIZE; i++) {
                pid_t pid = fork();

                if (pid < 0 && errno == EAGAIN)
                        return attack_counted(i, "processes, all but one dead", true, victim);
                if (pid < 0)
                        return attack_broken("fork: unforeseen: %s", strerror(errno));
                if (pid == 0)
                        _exit(0);
        }
        return attack_counted(ATTACK_BOMB_SIZE, "processes, all but one dead", false, victim);
}
