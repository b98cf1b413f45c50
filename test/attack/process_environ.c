#include "attack.h"

/* Refused with EACCES the process is at least there, and its owner the only defence. */
static enum attack_outcome try_file(const char *name, const struct attack_victim *victim)
{
        char path[64];

        snprintf(path, sizeof path, "/proc/%ld/%s", victim->pid, name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
                return attack_steal(fd, victim);
        if (errno == ENOENT)
                return attack_blocked("%s: %s", path, strerror(errno));
        if (errno == EACCES || errno == EPERM)
                return attack_succeeded("%s is there; only its owner keeps it closed", path);
        return attack_broken("%s: unforeseen: %s", path, strerror(errno));
}

ATTACK(process_environ, WALL_PID | WALL_PROC, "read the environment of a process of the host")
{
        if (victim->pid <= 1)
                return attack_broken("needs pid");
        return try_file("environ", victim);
}
