#include "attack.h"

/* "Shocker", 2014: a file handle names a file without any path, past every mount.
 * Before Linux 6.11 the kernel asks for a capability before it looks at the arguments;
 * the call that makes handles never did. */
ATTACK(open_by_handle, WALL_SECCOMP, "open a file of the host by its handle")
{
        enum attack_outcome outcome =
                attack_judge("name_to_handle_at",
                             CALL(SYS_name_to_handle_at, AT_FDCWD, ".", BAD_POINTER, BAD_POINTER, 0x40000000),
                             EPERM, ANSWERS(EINVAL, EFAULT, ENOSYS));

        return attack_worse(outcome,
                            attack_judge("open_by_handle_at", CALL(SYS_open_by_handle_at, -1, BAD_POINTER, 0),
                                         EPERM, ANSWERS(EBADF, EFAULT, ENOSYS)));
}
