#include "attack.h"

/* The mode is an argument of these calls too, and the kernel keeps the bit. */
static enum attack_outcome judge(const char *call, long r, const char *path)
{
        struct stat st;
        enum attack_outcome outcome = attack_judge(call, r, EPERM, ANSWERS(EACCES));

        if (r >= 0 && stat(path, &st) == 0 && !(st.st_mode & S_ISUID))
                outcome = attack_broken("%s: made, but without the bit", call);
        if (r > 0)
                close((int)r);
        unlink(path);
        return outcome;
}

ATTACK(setuid_create, WALL_SECCOMP, "make a file that is setuid from the start")
{
        enum attack_outcome outcome;
        char path[64];

        snprintf(path, sizeof path, "/tmp/attack-setuid-%d", (int)getpid());
        outcome = judge("openat", CALL(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 04755),
                        path);
        outcome = attack_worse(outcome,
                               judge("mknodat", CALL(SYS_mknodat, AT_FDCWD, path, S_IFREG | 04755, 0), path));
        outcome = attack_worse(
                outcome,
                judge("O_TMPFILE",
                      CALL(SYS_openat, AT_FDCWD, "/tmp", O_WRONLY | O_TMPFILE | O_CLOEXEC, 04755), path));
#ifdef SYS_open
        outcome = attack_worse(
                outcome, judge("open", CALL(SYS_open, path, O_WRONLY | O_CREAT | O_CLOEXEC, 04755), path));
#endif
#ifdef SYS_creat
        outcome = attack_worse(outcome, judge("creat", CALL(SYS_creat, path, 04755), path));
#endif
#ifdef SYS_mknod
        outcome = attack_worse(outcome, judge("mknod", CALL(SYS_mknod, path, S_IFREG | 04755, 0), path));
#endif
        return outcome;
}
