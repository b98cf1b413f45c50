#include "attack.h"

/* End of file on our output never comes while it lives, and it does not even run. */
BOMB(stopped_holder, WALL_PID, "leave a stopped process with our output open")
{
        pid_t pid = fork();

        if (pid < 0)
                return attack_broken("fork: %s", strerror(errno));
        if (pid == 0) {
                attack_fuse();
                raise(SIGSTOP);
                _exit(0);
        }
        waitpid(pid, NULL, WUNTRACED);
        return attack_blocked("it is stopped; now it must end with us");
}
