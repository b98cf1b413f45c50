#include "attack.h"

/* Without the filter the kernel looks the name up before any rule on files: EACCES would mean that the
 * host's queue is there and only Landlock keeps it closed. */
ATTACK(posix_queue, WALL_IPC | WALL_SECCOMP, "open a POSIX message queue of the host")
{
        if (!victim->queue)
                return attack_broken("needs queue");
        /* The kernel wants the name without the slash that libc asks for. */
        long r = CALL(SYS_mq_open, victim->queue, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0, NULL);
        return attack_judge("mq_open", r, r == -ENOSYS ? ENOSYS : ENOENT, ANSWERS(EACCES));
}

/* Landlock refuses to open the queue when it has been created already. */
ATTACK(posix_queue_create, WALL_SECCOMP, "create a POSIX message queue that cannot be opened")
{
        long r = CALL(SYS_mq_open, "left", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, NULL);

        CALL(SYS_mq_unlink, "left");
        return attack_judge("mq_open", r, ENOSYS, ANSWERS(EACCES));
}
