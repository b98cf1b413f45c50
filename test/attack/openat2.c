#include "attack.h"

#include <linux/openat2.h>

/* Its mode lies in memory, where a filter cannot look for the setuid bit. */
ATTACK(openat2, WALL_SECCOMP, "make a setuid file by openat2")
{
        struct open_how how = {.flags = O_WRONLY | O_CREAT | O_CLOEXEC, .mode = 04755};
        char path[64];

        snprintf(path, sizeof path, "/tmp/attack-openat2-%d", (int)getpid());
        long r = CALL(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
        unlink(path);
        return attack_judge("openat2", r, ENOSYS, ANSWERS(EPERM, EACCES, EINVAL));
}
