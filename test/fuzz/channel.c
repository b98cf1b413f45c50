/* test/fuzz/channel.c -- what a hostile init may send to the server: frames in pieces of any size,
 * with descriptors in them, then a box that believes none of it.
 *
 * The first byte is the size of the pieces, and whether descriptors come with them. */
#include <fcntl.h>
#include <sys/socket.h>
#include <uv.h>

#include "engine/link/channel.h"
#include "fuzz.h"

struct heard {
        uint32_t tag;
        unsigned frames, closed;
};

/* Reads all bytes: the sanitizer reports missing ones. */
static void on_frame(void *context, const struct message *message, const char *data)
{
        struct heard *heard = context;
        struct message m = *message;
        volatile unsigned sum = 0;
        if (m.len > INIT_REPLY_MAX || m.n_fds > MESSAGE_FDS_MAX || (m.tag != 0 && m.tag != heard->tag))
                abort();
        for (uint32_t i = 0; i < m.len; i++)
                sum += (unsigned char)data[i];
        heard->frames++;
        message_close_fds(&m);
}

static void on_closed(void *context)
{
        struct heard *heard = context;
        heard->closed++;
}

static int other = -1; /* descriptors sent with the frames */

static void send_piece(int fd, const uint8_t *data, size_t len, bool with_fds)
{
        union {
                char bytes[CMSG_SPACE(3 * sizeof(int))];
                struct cmsghdr align;
        } control = {0};
        struct iovec part = {(void *)data, len};
        struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
        int fds[3] = {other, other, other};
        if (with_fds) {
                msg.msg_control = control.bytes;
                msg.msg_controllen = sizeof control.bytes;
                struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
                head->cmsg_level = SOL_SOCKET;
                head->cmsg_type = SCM_RIGHTS;
                head->cmsg_len = CMSG_LEN(sizeof fds);
                memcpy(CMSG_DATA(head), fds, sizeof fds);
        }
        sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int lowest_free(void)
{
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        close(fd);
        return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static uv_loop_t loop;
        static bool made;
        static int first_free;
        struct heard heard = {0};
        struct channel *channel = NULL;
        struct cella_err err = {0};
        int pair[2];
        if (size < 1)
                return 0;
        if (!made) {
                other = open("/dev/null", O_RDONLY | O_CLOEXEC);
                uv_loop_init(&loop);
                uv_run(&loop, UV_RUN_NOWAIT);
        }
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
            channel_new(&loop, pair[0], on_frame, on_closed, &heard, &channel, &err) < 0)
                abort();
        heard.tag = channel_open_tag(channel, on_frame, &heard);
        size_t piece = (size_t)(data[0] >> 1) + 1;
        for (size_t at = 1; at < size && !heard.closed; at += piece) {
                send_piece(pair[1], data + at, size - at < piece ? size - at : piece, data[0] & 1);
                uv_run(&loop, UV_RUN_NOWAIT);
        }
        close(pair[1]);
        for (int i = 0; i < 1000 && !heard.closed; i++)
                uv_run(&loop, UV_RUN_NOWAIT);
        if (heard.closed != 1)
                abort(); /* the end is reported exactly once */
        channel_free(channel);
        uv_run(&loop, UV_RUN_NOWAIT);
        uv_run(&loop, UV_RUN_NOWAIT);
        if (!made)
                first_free = lowest_free();
        made = true;
        if (lowest_free() > first_free + 16) /* libFuzzer itself opens some from time to time */
                abort();                     /* descriptors that were not closed */
        return 0;
}
