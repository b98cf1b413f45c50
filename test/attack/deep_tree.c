#include "attack.h"

/* Deeper than the maximum length of a path: a program that lists or removes it by path or by
 * recursion fails.  In the working directory, because that is listed. */
BOMB(deep_tree, WALL_MOUNT, "make a directory tree 20000 levels deep")
{
        time_t start = time(NULL);

        for (int depth = 0; depth < 20000; depth++) {
                if (mkdir("d", 0700) < 0 || chdir("d") < 0) {
                        if (errno == ENOSPC || errno == ENAMETOOLONG)
                                return attack_blocked("stopped at depth %d: %s", depth, strerror(errno));
                        return attack_broken("depth %d: unforeseen: %s", depth, strerror(errno));
                }
                if (time(NULL) - start > 5)
                        return attack_blocked("depth %d after 5 s", depth);
        }
        return attack_blocked("20000 levels: now they must go away");
}
