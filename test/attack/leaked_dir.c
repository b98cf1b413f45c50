#include "attack.h"

/* pivot_root does not help against a directory that is already open.  Landlock does, as
 * a second line: leaked_dir_read is about that. */
ATTACK(leaked_dir, WALL_HYGIENE, "stand in a host directory by a descriptor left open")
{
        if (victim->dir_fd < 0)
                return attack_broken("needs dir_fd");
        return attack_judge("fchdir(dir_fd)", CALL(SYS_fchdir, victim->dir_fd), EBADF, ANSWERS(EACCES));
}
