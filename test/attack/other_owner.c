#include "attack.h"

/* With several users the code has CAP_DAC_OVERRIDE, for files of its own ids only. */
ATTACK(other_owner, WALL_USER, "read a private file of another user of the host in a mounted directory")
{
        char path[256], text[128];

        snprintf(path, sizeof path, "%s/private", victim->dir);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 && errno == EACCES)
                return attack_blocked("%s: %s", path, strerror(errno));
        if (fd < 0)
                return attack_broken("%s: %s", path, strerror(errno));
        ssize_t n = read(fd, text, sizeof text);
        close(fd);
        if (n <= 0 || !memmem(text, (size_t)n, victim->nonce, strlen(victim->nonce)))
                return attack_broken("%s does not contain the secret", path);
        return attack_succeeded("read %s", path);
}
