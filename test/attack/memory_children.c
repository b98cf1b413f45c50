#include "attack.h"

/* Each child stays small: only a limit on all of them together helps. */
BOMB(memory_children, WALL_CGROUP, "use up the machine's memory by many small processes")
{
        int status, killed = 0;

        for (int i = 0; i < 20; i++) {
                pid_t pid = fork();

                if (pid < 0)
                        return attack_broken("fork: %s", strerror(errno));
                if (pid > 0)
                        continue;
                attack_fuse();
                void *memory =
                        mmap(NULL, 10 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                if (memory == MAP_FAILED)
                        _exit(1);
                memset(memory, 1, 10 << 20);
                sleep(1); /* all at the same time */
                _exit(0);
        }
        while (wait(&status) > 0)
                if (WIFSIGNALED(status))
                        killed++;
        if (killed > 0)
                return attack_blocked("%d of 20 children killed", killed);
        return attack_succeeded("200 MiB in 20 processes");
}
