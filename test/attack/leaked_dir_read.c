#include "attack.h"

static enum attack_outcome judge(const char *how, int fd, const struct attack_victim *victim)
{
        if (fd >= 0)
                return attack_steal(fd, victim);
        /* EBADF and ENOENT: no such descriptor.  EACCES: there is one, and Landlock. */
        if (errno == EBADF || errno == ENOENT || errno == EACCES)
                return attack_blocked("%s: %s", how, strerror(errno));
        return attack_broken("%s: unforeseen: %s", how, strerror(errno));
}

ATTACK(leaked_dir_read, WALL_HYGIENE | WALL_LANDLOCK, "read a host file below a directory left open")
{
        char path[1024];

        if (victim->dir_fd < 0 || !victim->host_file)
                return attack_broken("needs dir_fd and host_file");
        int fd = openat((int)victim->dir_fd, victim->host_file + 1, O_RDONLY | O_CLOEXEC);
        enum attack_outcome outcome = judge("openat", fd, victim);

        snprintf(path, sizeof path, "/proc/self/fd/%ld%s", victim->dir_fd, victim->host_file);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        outcome = attack_worse(outcome, judge("/proc/self/fd", fd, victim));

        /* Up from there, past the top, and down again. */
        if (fchdir((int)victim->dir_fd) == 0) {
                snprintf(path, sizeof path, "../../..%s", victim->host_file);
                fd = open(path, O_RDONLY | O_CLOEXEC);
                outcome = attack_worse(outcome, judge("fchdir", fd, victim));
        }
        return outcome;
}
