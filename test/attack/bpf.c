#include "attack.h"

#include <linux/bpf.h>

/* Not one of the two commands that the kernel refuses to ordinary users before it
 * looks at the arguments. */
ATTACK(bpf, WALL_SECCOMP, "load a program into the kernel by bpf")
{
        long r = CALL(SYS_bpf, BPF_PROG_GET_NEXT_ID, BAD_POINTER, 16);

        if (r == -EPERM && attack_kernel_before(5, 19))
                return attack_moot("before Linux 5.19 the kernel itself may say EPERM to ordinary users");
        return attack_judge("bpf", r, EPERM, ANSWERS(EFAULT, ENOSYS));
}
