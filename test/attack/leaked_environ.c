#include "attack.h"

/* Of PID 1 too: what made the sandbox has an environment of its own. */
ATTACK(leaked_environ, WALL_HYGIENE, "find a secret in the environment, ours or that of PID 1")
{
        char text[65536];
        const char *value = getenv("CELLA_VICTIM");

        if (value)
                return attack_succeeded("CELLA_VICTIM=%s", value);
        int fd = open("/proc/1/environ", O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
                if (errno != EACCES && errno != EPERM && errno != ENOENT)
                        return attack_broken("/proc/1/environ: unforeseen: %s", strerror(errno));
                return attack_blocked("not in ours; that of PID 1: %s", strerror(errno));
        }
        ssize_t n = read(fd, text, sizeof text);
        close(fd);
        /* A process we may not look at reads as empty or as an error. */
        if (n > 0 && memmem(text, (size_t)n, victim->nonce, strlen(victim->nonce)))
                return attack_succeeded("it is in the environment of PID 1");
        return attack_blocked("neither in ours nor in that of PID 1 (%zd bytes)", n);
}
