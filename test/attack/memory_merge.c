#include "attack.h"

#define SET_MEMORY_MERGE 67 /* PR_SET_MEMORY_MERGE, Linux 6.4 */

/* A write to a merged page takes longer: so code could learn what other sandboxes have in their memory. */
ATTACK(memory_merge, WALL_SECCOMP, "share equal pages with other processes (KSM)")
{
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (page == MAP_FAILED)
                return attack_broken("no memory");
        /* EINVAL is the kernel's own answer: to advice that it was built without, and to the third argument.
         */
        return attack_worse(
                attack_judge("MADV_MERGEABLE", CALL(SYS_madvise, page, 4096, 12), EPERM, ANSWERS(EINVAL)),
                attack_judge("PR_SET_MEMORY_MERGE", CALL(SYS_prctl, SET_MEMORY_MERGE, 1, 1), EPERM,
                             ANSWERS(EINVAL)));
}
