#include "attack.h"

/* Modules, another kernel, swap, power.  The kernel asks for a capability before it
 * looks at anything, so both the filter and the missing capability stop these; and all
 * get arguments that are refused even with it. */
ATTACK(kernel_control, WALL_USER | WALL_SECCOMP, "load a module, boot another kernel, switch off")
{
        enum attack_outcome outcome = ATTACK_BLOCKED;
        const struct {
                const char *call;
                long result;
        } tries[] = {
                {"init_module", CALL(SYS_init_module, NULL, 0, BAD_POINTER)},
                {"finit_module", CALL(SYS_finit_module, -1, BAD_POINTER, 0)},
                {"delete_module", CALL(SYS_delete_module, BAD_POINTER, 0)},
                {"kexec_load", CALL(SYS_kexec_load, 0, 0, NULL, 0xffff)},
                {"swapon", CALL(SYS_swapon, BAD_POINTER, 0)},
                {"reboot", CALL(SYS_reboot, 0, 0, 0, NULL)}, /* without the magic numbers */
        };

        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
                if (tries[i].result == -ENOSYS)
                        attack_say("%s: not in this kernel", tries[i].call);
                else
                        outcome =
                                attack_worse(outcome, attack_judge(tries[i].call, tries[i].result, EPERM,
                                                                   ANSWERS(EINVAL, EFAULT, ENOEXEC, EBADF)));
        }
        return outcome;
}
