#include "attack.h"

#include <netinet/in.h>

/* A protocol number out of range is EINVAL before the kernel asks for CAP_NET_RAW. */
ATTACK(raw_socket, WALL_SECCOMP, "open a raw socket")
{
        static const struct {
                const char *call;
                int family, type, protocol;
        } tries[] = {
                {"raw IPv4", AF_INET, SOCK_RAW, 0x7fff},
                {"raw IPv4, close-on-exec", AF_INET, SOCK_RAW | SOCK_CLOEXEC, 0x7fff},
                {"raw IPv4, non-blocking", AF_INET, SOCK_RAW | SOCK_NONBLOCK, 0x7fff},
                {"raw IPv6", AF_INET6, SOCK_RAW, 0x7fff},
                {"raw ICMP, for real", AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP},
        };
        enum attack_outcome outcome = ATTACK_BLOCKED;

        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
                outcome = attack_worse(
                        outcome,
                        attack_judge(tries[i].call,
                                     CALL(SYS_socket, tries[i].family, tries[i].type, tries[i].protocol),
                                     EPERM, ANSWERS(EINVAL, EPROTONOSUPPORT, EAFNOSUPPORT)));
        return outcome;
}
