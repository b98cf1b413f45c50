#include "attack.h"

#include <sys/ioctl.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif

/* Puts the descriptor into a socket that only its own queue keeps open. */
static bool hide(int fd)
{
        int pair[2];
        char byte = 0;
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(2 * sizeof(int))];
        } control = {.head = {.cmsg_len = CMSG_LEN(2 * sizeof(int)),
                              .cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS}};
        struct iovec data = {&byte, 1};
        struct msghdr message = {.msg_iov = &data,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control.space};

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return false;
        memcpy(CMSG_DATA(&control.head), (const int[]){fd, pair[1]}, 2 * sizeof(int));
        bool sent = sendmsg(pair[0], &message, 0) == 1;
        close(pair[0]);
        close(pair[1]);
        return sent;
}

/* A session that lives on a terminal and is deaf to its end.  The other side of the terminal is only in the
 * queue of a socket that nothing can read any more. */
BOMB(terminal_holder, WALL_PID, "leave a session on a terminal behind")
{
        int unlocked = 0;
        char byte;

        int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (master < 0)
                return attack_broken("/dev/ptmx: %s", strerror(errno));
        int slave = ioctl(master, TIOCSPTLCK, &unlocked) < 0
                            ? -1
                            : ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (slave < 0)
                return attack_broken("slave: %s", strerror(errno));
        pid_t pid = fork();
        if (pid < 0)
                return attack_broken("fork: %s", strerror(errno));
        if (pid == 0) {
                close(master);
                if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
                        _exit(1);
                for (int signal_number = 1; signal_number < 32; signal_number++)
                        signal(signal_number, SIG_IGN);
                attack_fuse();
                if (write(slave, "x", 1) == 1)
                        for (;;)
                                pause();
                _exit(1);
        }
        close(slave);
        if (read(master, &byte, 1) != 1) /* EIO if the child has ended */
                return attack_broken("the session: %s", strerror(errno));
        if (!hide(master))
                return attack_broken("the socket: %s", strerror(errno));
        return attack_blocked("the session is there; now it must end with us");
}
