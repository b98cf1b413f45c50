#include "keeper/process/outbox.h"

#include <errno.h>

#include "on_their_way.h"

static int answer(void)
{
        char data[16];
        int pair[2], fd = open("/dev/null", O_RDONLY);
        if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
                return 10;
        struct outbox outbox = {.socket = pair[0]};
        int r = send_too_many();
        if (r != 0)
                return r;
        if (outbox_send(&outbox, "with", 4, &(struct outbox_rights){.fd = fd}) != -ETOOMANYREFS ||
            fcntl(fd, F_GETFD) >= 0 || outbox_waits(&outbox))
                return 11;
        /* The failure can be reported. */
        if (outbox_send(&outbox, "without", 7, &(struct outbox_rights){.fd = -1}) != 0 ||
            recv(pair[1], data, sizeof data, MSG_DONTWAIT) != 7)
                return 12;
        return 0;
}

TEST(a_message_that_the_kernel_refuses_is_not_queued)
{
        AS_SOMEBODY(answer());
}
