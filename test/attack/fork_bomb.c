#include "attack.h"

/* The children are left alive: their end is the sandbox's business. */
BOMB(fork_bomb, WALL_CGROUP | WALL_RLIMIT, "fork without end")
{
        for (int i = 1; i < ATTACK_BOMB_SIZE; i++) {
                pid_t pid = fork();

                if (pid < 0 && errno == EAGAIN)
                        return attack_counted(i, "processes", true, victim);
                if (pid < 0)
                        return attack_broken("fork: unforeseen: %s", strerror(errno));
                if (pid == 0) {
                        if (victim->users > 0) /* RLIMIT_NPROC counts for each user */
                                CALL(SYS_setresuid, i, i, i);
                        attack_fuse();
                        pause();
                        _exit(0);
                }
        }
        return attack_counted(ATTACK_BOMB_SIZE, "processes", false, victim);
}
