#include "attack.h"

#include <fcntl.h>

/* The kernel looks the name up before any rule on files: EACCES would mean that the
 * host's queue is there and only Landlock keeps it closed. */
ATTACK(posix_queue, WALL_IPC, "open a POSIX message queue of the host")
{
        if (!victim->queue)
                return attack_broken("needs queue");
        /* The kernel wants the name without the slash that libc asks for. */
        return attack_judge("mq_open",
                            CALL(SYS_mq_open, victim->queue, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0, NULL),
                            ENOENT, ANSWERS(EACCES));
}
