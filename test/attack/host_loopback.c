#include "attack.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* Databases and control panels without a password listen on loopback. */
ATTACK(host_loopback, WALL_NET, "connect to a server on the host's loopback address")
{
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};

        if (victim->port <= 0)
                return attack_broken("needs port");
        address.sin_port = htons((uint16_t)victim->port);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return attack_broken("socket: %s", strerror(errno));
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
                return attack_succeeded("connected to 127.0.0.1:%ld", victim->port);
        if (errno == ECONNREFUSED || errno == ENETUNREACH)
                return attack_blocked("127.0.0.1:%ld: %s", victim->port, strerror(errno));
        return attack_broken("connect: unforeseen: %s", strerror(errno));
}
