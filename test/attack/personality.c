#include "attack.h"

#include <sys/personality.h>

/* Makes bugs easier to use: memory at address 0, all memory executable. */
ATTACK(personality, WALL_SECCOMP, "switch off protections of memory")
{
        enum attack_outcome outcome =
                attack_judge("MMAP_PAGE_ZERO", CALL(SYS_personality, MMAP_PAGE_ZERO), EPERM, ANSWERS(EINVAL));

        return attack_worse(outcome,
                            attack_judge("READ_IMPLIES_EXEC", CALL(SYS_personality, READ_IMPLIES_EXEC), EPERM,
                                         ANSWERS(EINVAL)));
}
