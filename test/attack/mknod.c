#include "attack.h"

#include <linux/fs.h>
#include <sys/sysmacros.h>

/* Without CAP_MKNOD the kernel refuses real devices too, but only after it has looked
 * at the path; and it lets anyone make the device 0:0. */
ATTACK(mknod, WALL_SECCOMP, "make device nodes")
{
        enum attack_outcome outcome;
        char path[64];

        snprintf(path, sizeof path, "/tmp/attack-node-%d", (int)getpid());
        outcome = attack_judge("mknod(char 0:0)", CALL(SYS_mknodat, AT_FDCWD, path, S_IFCHR | 0600, 0), EPERM,
                               ANSWERS(EACCES));
        unlink(path);

        /* A rename can leave such a device behind in the file's old place. */
        char moved[80];
        snprintf(moved, sizeof moved, "%s-moved", path);
        close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        outcome = attack_worse(
                outcome, attack_judge("renameat2(RENAME_WHITEOUT)",
                                      CALL(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, moved, RENAME_WHITEOUT),
                                      EPERM, ANSWERS(EACCES, EINVAL)));
        unlink(path);
        unlink(moved);
        outcome = attack_worse(
                outcome, attack_judge("mknod(char 1:3)",
                                      CALL(SYS_mknodat, AT_FDCWD, BAD_POINTER, S_IFCHR | 0666, makedev(1, 3)),
                                      EPERM, ANSWERS(EFAULT)));
        return attack_worse(
                outcome, attack_judge("mknod(block 8:0)",
                                      CALL(SYS_mknodat, AT_FDCWD, BAD_POINTER, S_IFBLK | 0666, makedev(8, 0)),
                                      EPERM, ANSWERS(EFAULT)));
}
