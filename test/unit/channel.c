#include "engine/link/channel.h"

#include <errno.h>

#include "on_their_way.h"

static void on_untagged_message(void *context, const struct message *message, const char *data)
{
        (void)context, (void)message, (void)data;
}

static void on_closed(void *context)
{
        (void)context;
}

static int ask(void)
{
        static uv_loop_t loop; /* these descriptors are closed when the process ends */
        static struct channel *channel;
        struct cella_err err = {0};
        char data[64];
        int pair[2], fd = open("/dev/null", O_RDONLY);
        if (uv_loop_init(&loop) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
            channel_new(&loop, pair[0], on_untagged_message, on_closed, NULL, &channel, &err) < 0)
                return 10;
        int r = send_too_many();
        if (r != 0)
                return r;
        /* The caller gets an error; otherwise it would wait for the command until its deadline. */
        if (channel_send(channel, INIT_SPAWN, 1, &fd, 1, "x", 1, NULL, 0) != -ENOBUFS ||
            fcntl(fd, F_GETFD) >= 0 || recv(pair[1], data, sizeof data, MSG_DONTWAIT) >= 0)
                return 11;
        /* The next message arrives complete. */
        if (channel_send(channel, INIT_SIGNAL, 2, NULL, 0, "y", 1, NULL, 0) != 0 ||
            recv(pair[1], data, sizeof data, MSG_DONTWAIT) != 3 * sizeof(uint32_t) + 1)
                return 12;
        if (setrlimit(RLIMIT_NOFILE, &limit_before) < 0 || (fd = open("/dev/null", O_RDONLY)) < 0 ||
            channel_send(channel, INIT_SPAWN, 3, &fd, 1, "x", 1, NULL, 0) != 0 ||
            recv(pair[1], data, sizeof data, MSG_DONTWAIT) != 3 * sizeof(uint32_t) + 1)
                return 13;
        return 0;
}

TEST(a_failed_send_is_reported)
{
        AS_SOMEBODY(ask());
}

/* ---- receiving and sending ---- */

struct ends {
        uv_loop_t loop;
        struct channel *channel;
        int peer;
        unsigned heard, closed, with_fds;
        uint32_t free_at; /* the frame within which the channel is freed; 0: none */
        char last;
};

static void hear(void *context, const struct message *message, const char *data)
{
        struct ends *e = context;
        struct message m = *message;
        e->heard++;
        e->with_fds += m.n_fds > 0;
        if (m.len > 0)
                e->last = data[m.len - 1];
        message_close_fds(&m);
        if (e->heard == e->free_at)
                e->channel = channel_free(e->channel);
}

static void hear_end(void *context)
{
        ((struct ends *)context)->closed++;
}

static void set_up(struct ends *e, uint32_t free_at)
{
        struct cella_err err = {0};
        int pair[2];
        *e = (struct ends){.free_at = free_at};
        CHECK_INT(uv_loop_init(&e->loop), 0);
        CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        CHECK_INT(channel_new(&e->loop, pair[0], hear, hear_end, e, &e->channel, &err), 0);
        e->peer = pair[1];
}

static void tear_down(struct ends *e)
{
        e->channel = channel_free(e->channel);
        if (e->peer >= 0)
                close(e->peer);
        uv_run(&e->loop, UV_RUN_NOWAIT);
        CHECK_INT(uv_loop_close(&e->loop), 0);
}

TEST(all_frames_of_one_read_are_delivered)
{
        struct ends e;
        static uint32_t frames[1000][3];
        set_up(&e, 0);
        for (int i = 0; i < 1000; i++)
                frames[i][0] = INIT_READY;
        CHECK_INT(send(e.peer, frames, sizeof frames, 0), sizeof frames);
        uv_run(&e.loop, UV_RUN_NOWAIT);
        CHECK_INT(e.heard, 1000);
        close(e.peer);
        e.peer = -1;
        uv_run(&e.loop, UV_RUN_NOWAIT);
        CHECK_INT(e.closed, 1);
        uv_run(&e.loop, UV_RUN_NOWAIT);
        CHECK_INT(e.closed, 1);
        tear_down(&e);
}

TEST(no_frame_is_delivered_after_the_channel_was_freed)
{
        struct ends e;
        const uint32_t frame[] = {INIT_READY, 0, 0};
        set_up(&e, 2);
        for (int i = 0; i < 5; i++)
                CHECK_INT(send(e.peer, frame, sizeof frame, 0), sizeof frame);
        close(e.peer);
        e.peer = -1;
        uv_run(&e.loop, UV_RUN_NOWAIT);
        uv_run(&e.loop, UV_RUN_NOWAIT);
        CHECK_INT(e.heard, 2);
        CHECK_INT(e.closed, 0);
        tear_down(&e);
}

/* The peer reads only when the socket is full: all messages arrive in order, with their descriptors. */
TEST(a_waiting_message_keeps_the_lent_descriptor)
{
        static char much[300 * 1024], data[INIT_REQUEST_MAX];
        struct ends e;
        struct message m;
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        set_up(&e, 0);
        for (uint32_t i = 1; i <= 4; i++)
                CHECK_INT(channel_lend(e.channel, INIT_SPAWN, i, &fd, 1, much, sizeof much, "x", 1), 0);
        CHECK(fcntl(fd, F_GETFD) >= 0);
        close(fd);
        struct message_reader reader;
        message_reader_init(&reader, data, sizeof data);
        uint32_t tag = 0;
        for (int turns = 0; turns < 1000 && tag < 4; turns++) {
                if (message_read(&reader, e.peer, &m) > 0) {
                        CHECK_INT(m.tag, ++tag);
                        CHECK_INT(m.n_fds, 1);
                        CHECK_INT(m.len, sizeof much + 1);
                        CHECK(data[m.len - 1] == 'x');
                        message_close_fds(&m);
                }
                uv_run(&e.loop, UV_RUN_NOWAIT);
        }
        CHECK_INT(tag, 4);
        message_reader_done(&reader);
        tear_down(&e);
}

/* The peer reads this many bytes of the last frame, and closes its end: before or after that was sent. */
static bool is_unread_after(size_t read, bool closed_before, bool another_follows)
{
        struct ends e;
        char data[64];
        set_up(&e, 0);
        CHECK_INT(channel_send(e.channel, INIT_SIGNAL, 1, NULL, 0, "x", 1, NULL, 0), 0);
        CHECK_INT(recv(e.peer, data, sizeof data, MSG_DONTWAIT), 3 * sizeof(uint32_t) + 1);
        if (closed_before) {
                close(e.peer);
                e.peer = -1;
        }
        CHECK_INT(channel_send(e.channel, INIT_SPAWN, 2, NULL, 0, "y", 1, NULL, 0), 0);
        const uint64_t number = channel_sent(e.channel);
        if (another_follows)
                CHECK_INT(channel_send(e.channel, INIT_SIGNAL, 3, NULL, 0, "z", 1, NULL, 0), 0);
        CHECK(!channel_unread(e.channel, number)); /* it may still be read */
        if (read > 0)
                CHECK_INT(recv(e.peer, data, read, MSG_DONTWAIT), (ssize_t)read);
        if (e.peer >= 0)
                close(e.peer);
        e.peer = -1;
        uv_run(&e.loop, UV_RUN_NOWAIT);
        CHECK_INT(e.closed, 1);
        const bool unread = channel_unread(e.channel, number);
        tear_down(&e);
        return unread;
}

TEST(an_unread_frame_is_reported)
{
        const size_t whole = 3 * sizeof(uint32_t) + 1;
        CHECK(is_unread_after(0, false, false));
        CHECK(is_unread_after(whole - 1, false, false));
        CHECK(is_unread_after(0, true, false));
        CHECK(!is_unread_after(whole, false, false));
        CHECK(!is_unread_after(whole, false, true)); /* only the frame after it was not read */
        CHECK(!is_unread_after(0, false, true));     /* cannot be determined */
}
