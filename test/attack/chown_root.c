#include "attack.h"

ATTACK(chown_root, WALL_USER, "make a file that root owns")
{
        char path[64];
        struct stat st;

        snprintf(path, sizeof path, "/tmp/attack-chown-%d", (int)getpid());
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return attack_broken("%s: %s", path, strerror(errno));
        const unsigned id = attack_foreign_id(victim);
        int r = fchown(fd, id, id);
        int error = r < 0 ? errno : 0;
        int seen = fstat(fd, &st);
        close(fd);
        unlink(path);
        if (seen < 0)
                return attack_broken("fstat: unforeseen");
        if (st.st_uid == id || st.st_gid == id)
                return attack_succeeded("a file of %u:%u", (unsigned)st.st_uid, (unsigned)st.st_gid);
        if (error == EPERM || error == EINVAL)
                return attack_blocked("fchown: %s", strerror(error));
        return attack_broken("fchown: unforeseen: %s", strerror(error));
}
