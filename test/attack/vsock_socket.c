#include "attack.h"

/* From a virtual machine to the one that runs it: no network namespace stands between.
 * On the type that does not exist see packet_socket. */
ATTACK(vsock_socket, WALL_SECCOMP, "open a socket to the hypervisor")
{
        static const int types[] = {15, SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
        enum attack_outcome outcome = ATTACK_BLOCKED;

        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                outcome = attack_worse(outcome,
                                       attack_judge("AF_VSOCK", CALL(SYS_socket, AF_VSOCK, types[i], 0),
                                                    EAFNOSUPPORT, ANSWERS(EINVAL, ESOCKTNOSUPPORT, ENODEV)));
        return outcome;
}
