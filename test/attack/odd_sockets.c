#include "attack.h"

#define FAMILIES 46 /* as many as Linux 6.18 has; past the last, the kernel refuses too */

/* Every family but those that programs use, made so that no module is loaded (on the
 * type that does not exist see packet_socket).  The kernel takes the family as an int: a
 * filter that compares all 64 bits against a list of bad ones can be walked around. */
ATTACK(odd_sockets, WALL_SECCOMP, "open sockets of every other family")
{
        int reached = 0, refused = 0;

        for (long family = 0; family < FAMILIES; family++) {
                if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK)
                        continue;
                for (int upper = 0; upper < 2; upper++) {
                        long r = CALL(SYS_socket, family | (upper ? 1L << 32 : 0), 15, 0);

                        if (r == -EAFNOSUPPORT) {
                                refused++;
                        } else if (r == -EINVAL) {
                                if (reached++ < 10)
                                        attack_say("family %ld%s reached the kernel", family,
                                                   upper ? " with bits in the upper half" : "");
                        } else {
                                return attack_broken("family %ld: unforeseen result %ld", family, r);
                        }
                }
        }
        if (reached > 0)
                return attack_succeeded("%d of %d tries reached the kernel", reached, reached + refused);
        return attack_blocked("%d tries, all refused", refused);
}
