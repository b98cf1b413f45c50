#include "attack.h"

/* Processes that sleep in the kernel on pipes that will never be read, one of them
 * with our standard error in hand. */
BOMB(full_pipe, WALL_PID, "leave processes asleep on full pipes")
{
        static char block[65536];

        for (int i = 0; i < 4; i++) {
                int ends[2];

                if (pipe2(ends, 0) < 0)
                        return attack_broken("pipe: %s", strerror(errno));
                pid_t pid = fork();
                if (pid < 0)
                        return attack_broken("fork: %s", strerror(errno));
                if (pid == 0) {
                        attack_fuse();
                        while (write(ends[1], block, sizeof block) > 0)
                                ;
                        _exit(0);
                }
        }
        usleep(50000);
        return attack_blocked("four sleep; now they must end with us");
}
