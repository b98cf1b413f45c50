#include "attack.h"

#define NO_SUCH_FLAG (1 << 30)

/* Arguments that the kernel itself refuses, with another error than the filter.  A kernel without NUMA has
 * none of these calls. */
ATTACK(numa_policy, WALL_SECCOMP, "choose the memory node of pages")
{
        enum attack_outcome outcome = ATTACK_BLOCKED;
        const struct {
                const char *call;
                long result;
        } tries[] = {
                {"mbind", CALL(SYS_mbind, 0, 4096, 0, NULL, 0, NO_SUCH_FLAG)},
                {"set_mempolicy", CALL(SYS_set_mempolicy, NO_SUCH_FLAG, NULL, 0)},
                {"get_mempolicy", CALL(SYS_get_mempolicy, NULL, NULL, 0, NULL, NO_SUCH_FLAG)},
                {"move_pages", CALL(SYS_move_pages, 0, 0, NULL, NULL, NULL, NO_SUCH_FLAG)},
                {"migrate_pages", CALL(SYS_migrate_pages, 0x7fffffff, 64, BAD_POINTER, BAD_POINTER)},
        };
        size_t here = 0;

        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
                if (tries[i].result == -ENOSYS) {
                        attack_say("%s: not in this kernel", tries[i].call);
                        continue;
                }
                outcome = attack_worse(outcome, attack_judge(tries[i].call, tries[i].result, EPERM,
                                                             ANSWERS(EINVAL, EFAULT, ESRCH)));
                here++;
        }
        return here > 0 ? outcome : attack_moot("this kernel has none of these calls");
}
