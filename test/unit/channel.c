#include "engine/channel.h"

#include <errno.h>

#include "on_their_way.h"

static void on_zero(void *context, const struct message *message, const char *data)
{
        (void)context, (void)message, (void)data;
}

static void on_closed(void *context)
{
        (void)context;
}

static int ask(void)
{
        uv_loop_t loop;
        struct channel *channel = NULL;
        struct cella_err err = {0};
        char data[64];
        int pair[2], fd = open("/dev/null", O_RDONLY);
        if (uv_loop_init(&loop) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
            channel_new(&loop, pair[0], on_zero, on_closed, NULL, &channel, &err) < 0)
                return 10;
        int r = send_too_many();
        if (r != 0)
                return r;
        /* Who asked is told; a command that nobody heard of would be waited for until its time is over. */
        if (channel_send(channel, INIT_SPAWN, 1, &fd, 1, "x", 1, NULL, 0) != -ENOBUFS ||
            fcntl(fd, F_GETFD) >= 0 || recv(pair[1], data, sizeof data, MSG_DONTWAIT) >= 0)
                return 11;
        /* And the next one gets there, whole. */
        if (channel_send(channel, INIT_SIGNAL, 2, NULL, 0, "y", 1, NULL, 0) != 0 ||
            recv(pair[1], data, sizeof data, MSG_DONTWAIT) != 3 * sizeof(uint32_t) + 1)
                return 12;
        if (setrlimit(RLIMIT_NOFILE, &limit_before) < 0 || (fd = open("/dev/null", O_RDONLY)) < 0 ||
            channel_send(channel, INIT_SPAWN, 3, &fd, 1, "x", 1, NULL, 0) != 0 ||
            recv(pair[1], data, sizeof data, MSG_DONTWAIT) != 3 * sizeof(uint32_t) + 1)
                return 13;
        return 0;
}

TEST(what_cannot_be_sent_is_told)
{
        AS_SOMEBODY(ask());
}
