#include "keeper/outbox.h"

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
        if (outbox_send(&outbox, "with", 4, &(struct outbox_rights){.fd = fd}) != 0 || !outbox_waits(&outbox))
                return 11;
        /* What has none waits all the same: they come in order. */
        if (outbox_send(&outbox, "without", 7, &(struct outbox_rights){.fd = -1}) != 0 ||
            outbox_flush(&outbox) != 0 || recv(pair[1], data, sizeof data, MSG_DONTWAIT) >= 0)
                return 12;
        if (setrlimit(RLIMIT_NOFILE, &limit_before) < 0 || outbox_flush(&outbox) != 0 ||
            outbox_waits(&outbox))
                return 13;
        return recv(pair[1], data, sizeof data, 0) == 4 && recv(pair[1], data, sizeof data, 0) == 7 ? 0 : 14;
}

TEST(what_the_kernel_has_no_room_for_comes_later)
{
        AS_SOMEBODY(answer());
}
