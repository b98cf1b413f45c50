#include "attack.h"

/* On the type that does not exist see packet_socket. */
ATTACK(alg_socket, WALL_SECCOMP, "open a socket to the kernel's ciphers")
{
        enum attack_outcome outcome = attack_judge("AF_ALG, no type", CALL(SYS_socket, AF_ALG, 15, 0),
                                                   EAFNOSUPPORT, ANSWERS(EINVAL));

        return attack_worse(outcome, attack_judge("AF_ALG", CALL(SYS_socket, AF_ALG, SOCK_SEQPACKET, 0),
                                                  EAFNOSUPPORT, ANSWERS(ESOCKTNOSUPPORT)));
}
