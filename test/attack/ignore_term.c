#include "attack.h"

/* Ten seconds, unless it is killed. */
BOMB(ignore_term, WALL_CGROUP, "ignore every signal and spin")
{
        time_t start = time(NULL);

        for (int signal_number = 1; signal_number < 65; signal_number++)
                if (signal_number != SIGALRM)
                        signal(signal_number, SIG_IGN);
        for (int i = 0; i < 3; i++)
                if (fork() == 0) {
                        attack_fuse();
                        break;
                }
        while (time(NULL) - start < 10)
                ;
        return attack_succeeded("ten seconds");
}
