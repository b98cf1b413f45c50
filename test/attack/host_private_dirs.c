#include "attack.h"

/* Directories that every Linux host has and no sandbox may show. */
ATTACK(host_private_dirs, WALL_MOUNT, "find the host's /etc/shadow, /var, /boot, /root")
{
        static const char *const paths[] = {
                "/etc/shadow",    "/etc/fstab",    "/etc/machine-id", "/var/log", "/var/lib/dpkg",
                "/var/lib/rpm",   "/run/lock",     "/run/systemd",    "/boot",    "/lost+found",
                "/root/.profile", "/root/.bashrc", "/home/lost+found"};
        enum attack_outcome outcome = ATTACK_BLOCKED;
        struct stat st;

        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
                if (lstat(paths[i], &st) == 0)
                        outcome = attack_worse(outcome, attack_succeeded("%s is in view", paths[i]));
                else if (errno == EACCES)
                        attack_say("%s: %s", paths[i], strerror(errno)); /* /root is closed to us */
                else if (errno != ENOENT)
                        outcome = attack_worse(
                                outcome, attack_broken("%s: unforeseen: %s", paths[i], strerror(errno)));
        }
        if (outcome == ATTACK_BLOCKED)
                return attack_blocked("none of them is in view");
        return outcome;
}
