#include "attack.h"

#include <linux/sched.h>

/* A namespace of one's own comes with all capabilities over it, and with them most of
 * the kernel's attack surface. */
ATTACK(nested_userns, WALL_SECCOMP, "get capabilities in a nested user namespace")
{
        char line[256];
        unsigned long long effective = 0;
        long r = CALL(SYS_unshare, CLONE_NEWUSER);

        if (r == -EPERM && attack_userns_restricted())
                return attack_moot("AppArmor refuses user namespaces as well");
        if (r < 0)
                return attack_judge("unshare(CLONE_NEWUSER)", r, EPERM, ANSWERS(ENOSPC, EUSERS));
        FILE *status = fopen("/proc/self/status", "re");
        if (!status)
                return attack_broken("/proc/self/status: %s", strerror(errno));
        while (fgets(line, sizeof line, status))
                if (sscanf(line, "CapEff: %llx", &effective) == 1)
                        break;
        fclose(status);
        return attack_succeeded("capabilities %016llx in a nested user namespace", effective);
}
