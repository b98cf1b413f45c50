#include "attack.h"

/* The filter answers as a kernel without the family would.  Type 15 does not exist, so
 * that a kernel which has it says EINVAL, before it asks for CAP_NET_RAW. */
ATTACK(packet_socket, WALL_SECCOMP, "open a packet socket")
{
        enum attack_outcome outcome = attack_judge("AF_PACKET, no type", CALL(SYS_socket, AF_PACKET, 15, 0),
                                                   EAFNOSUPPORT, ANSWERS(EINVAL));

        outcome = attack_worse(outcome, attack_judge("AF_PACKET", CALL(SYS_socket, AF_PACKET, SOCK_RAW, 0),
                                                     EAFNOSUPPORT, ANSWERS(EPERM)));
        /* Its name before Linux 2.2, which the kernel still takes. */
        return attack_worse(outcome, attack_judge("SOCK_PACKET", CALL(SYS_socket, AF_INET, SOCK_PACKET, 0),
                                                  EPERM, ANSWERS(EAFNOSUPPORT)));
}
