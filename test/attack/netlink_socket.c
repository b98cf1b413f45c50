#include "attack.h"

#include <linux/netlink.h>

/* Only NETLINK_ROUTE is of use to a program (it lists interfaces); the others reach
 * parts of the kernel that have had holes. */
ATTACK(netlink_socket, WALL_SECCOMP, "open a netlink socket other than the routing one")
{
        static const int protocols[] = {NETLINK_KOBJECT_UEVENT, NETLINK_NETFILTER, NETLINK_GENERIC,
                                        NETLINK_AUDIT,          NETLINK_SOCK_DIAG, NETLINK_XFRM,
                                        NETLINK_CRYPTO};
        enum attack_outcome outcome = ATTACK_BLOCKED;
        char call[64];

        for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
                snprintf(call, sizeof call, "netlink protocol %d", protocols[i]);
                outcome = attack_worse(
                        outcome, attack_judge(call, CALL(SYS_socket, AF_NETLINK, SOCK_RAW, protocols[i]),
                                              EAFNOSUPPORT, ANSWERS(EPROTONOSUPPORT)));
        }
        return outcome;
}
