#include "attack.h"

/* The kernel says EROFS before it looks at owner, mode or Landlock, so any other
 * refusal shows that the view itself is not read-only. */
static enum attack_outcome try_directory(const char *dir)
{
        char path[128];

        snprintf(path, sizeof path, "%s/cella-attack-%d", dir, (int)getpid());
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0) {
                close(fd);
                unlink(path);
                return attack_succeeded("made a file in %s", dir);
        }
        if (errno == EROFS || errno == ENOENT)
                return attack_blocked("%s: %s", dir, strerror(errno));
        if (errno == EACCES || errno == EPERM)
                return attack_succeeded("%s is not read-only; only its owner and mode refuse", dir);
        return attack_broken("%s: unforeseen: %s", dir, strerror(errno));
}

ATTACK(write_outside, WALL_MOUNT, "make files outside the writable directories")
{
        static const char *const dirs[] = {"/", "/usr", "/usr/bin", "/etc", "/dev", "/lib", "/var", "/root"};
        enum attack_outcome outcome = ATTACK_BLOCKED;

        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
                outcome = attack_worse(outcome, try_directory(dirs[i]));
        return outcome;
}
