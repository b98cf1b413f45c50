#include "attack.h"

/* Calls of which the kernel looks at the arguments before it looks for a capability: here the
 * filter stands alone.  kernel_control has those where it is the other way round. */
ATTACK(kernel_calls, WALL_SECCOMP, "reach swap, quotas and the ports of devices")
{
        enum attack_outcome outcome = ATTACK_BLOCKED;
        const struct {
                const char *call;
                long result;
        } tries[] = {
                {"swapon", CALL(SYS_swapon, BAD_POINTER, 0x40000000)}, /* no such flag */
                {"quotactl", CALL(SYS_quotactl, 0xff, NULL, 0, NULL)}, /* no such kind of quota */
#ifdef SYS_iopl
                {"iopl", CALL(SYS_iopl, 4)},                 /* levels end at 3 */
                {"ioperm", CALL(SYS_ioperm, 0x10000, 1, 1)}, /* ports end at 0xffff */
#endif
        };
        size_t here = 0;

        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
                if (tries[i].result == -ENOSYS) {
                        attack_say("%s: not in this kernel", tries[i].call);
                        continue;
                }
                outcome = attack_worse(outcome,
                                       attack_judge(tries[i].call, tries[i].result, EPERM, ANSWERS(EINVAL)));
                here++;
        }
        return here > 0 ? outcome : attack_moot("this kernel has none of these calls");
}
