#include "attack.h"

#include <sys/un.h>

/* The way to a container engine's or a desktop's socket. */
ATTACK(host_unix_socket, WALL_MOUNT, "connect to a Unix socket in the host's file system")
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        if (!victim->socket || strlen(victim->socket) >= sizeof address.sun_path)
                return attack_broken("needs socket, a short path");
        strcpy(address.sun_path, victim->socket);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return attack_broken("socket: %s", strerror(errno));
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
                return attack_succeeded("connected to %s", victim->socket);
        if (errno == ENOENT)
                return attack_blocked("%s: %s", victim->socket, strerror(errno));
        return attack_broken("connect: unforeseen: %s", strerror(errno));
}
