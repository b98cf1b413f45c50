#include "attack.h"

#include <sys/un.h>

/* Abstract names belong to the network namespace, and no file permission guards them. */
ATTACK(abstract_socket, WALL_NET, "connect to an abstract Unix socket of the host")
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        if (!victim->abstract || strlen(victim->abstract) >= sizeof address.sun_path)
                return attack_broken("needs abstract, a short name");
        strcpy(address.sun_path + 1, victim->abstract);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(victim->abstract));
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return attack_broken("socket: %s", strerror(errno));
        if (connect(fd, (struct sockaddr *)&address, size) == 0)
                return attack_succeeded("connected to @%s", victim->abstract);
        if (errno == ECONNREFUSED)
                return attack_blocked("@%s: %s", victim->abstract, strerror(errno));
        return attack_broken("connect: unforeseen: %s", strerror(errno));
}
