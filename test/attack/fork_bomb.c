#include "attack.h"

#include <string.h>

/* Bounded at 300, so that a missing wall costs little.  The children are left alive:
 * their end is the sandbox's business. */
BOMB(fork_bomb, WALL_CGROUP | WALL_RLIMIT, "fork without end")
{
        for (int i = 0; i < 300; i++) {
                pid_t pid = fork();

                if (pid < 0 && errno == EAGAIN)
                        return attack_blocked("stopped after %d processes", i);
                if (pid < 0)
                        return attack_broken("fork: unforeseen: %s", strerror(errno));
                if (pid == 0) {
                        attack_fuse();
                        pause();
                        _exit(0);
                }
        }
        return attack_succeeded("300 processes");
}
