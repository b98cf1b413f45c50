#include "attack.h"

/* limit: how many descriptors are allowed. */
BOMB(fd_bomb, WALL_RLIMIT, "open descriptors without end")
{
        struct rlimit files;

        if (victim->limit <= 0)
                return attack_broken("needs limit");
        if (getrlimit(RLIMIT_NOFILE, &files) < 0)
                return attack_broken("getrlimit: %s", strerror(errno));
        files.rlim_cur = files.rlim_max; /* the soft limit is ours to raise */
        if (setrlimit(RLIMIT_NOFILE, &files) < 0)
                return attack_broken("setrlimit: %s", strerror(errno));
        for (long i = 0; i < victim->limit + 100; i++) {
                if (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
                        continue;
                if (errno == EMFILE)
                        return attack_blocked("stopped after %ld descriptors", i);
                return attack_broken("open: unforeseen: %s", strerror(errno));
        }
        return attack_succeeded("%ld descriptors where %ld are allowed", victim->limit + 100, victim->limit);
}
