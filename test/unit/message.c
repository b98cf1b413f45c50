#include "wire/message.h"

#include <sys/socket.h>

#include "sys/rights.h"
#include "test.h"

static void pair(int fds[2])
{
        CHECK_INT(message_pair(fds), 0);
}

static int count_fds(void)
{
        int n = 0;
        for (int fd = 0; fd < 256; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

TEST(a_message_arrives_whole_with_its_descriptors)
{
        int fds[2], null = open("/dev/null", O_RDONLY);
        char data[16];
        struct message m;
        pair(fds);
        CHECK_INT(message_send(fds[0], 7, 9, &null, 1, "abc", 3, "defg", 4), 0);
        CHECK_INT(message_receive(fds[1], &m, data, sizeof data), 1);
        CHECK_INT(m.type, 7);
        CHECK_INT(m.len, 7);
        CHECK(!memcmp(data, "abcdefg", 7));
        CHECK_INT(m.n_fds, 1);
        CHECK_INT(fcntl(m.fds[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        close(m.fds[0]);
        close(null);
        close(fds[0]);
        close(fds[1]);
}

TEST(an_end_between_messages_is_clean_and_within_one_is_not)
{
        int fds[2];
        char data[16];
        struct message m;
        pair(fds);
        close(fds[0]);
        CHECK_INT(message_receive(fds[1], &m, data, sizeof data), 0);
        close(fds[1]);
        pair(fds);
        CHECK_INT(write(fds[0], "\1\0\0", 3), 3);
        close(fds[0]);
        CHECK_INT(message_receive(fds[1], &m, data, sizeof data), -EPROTO);
        close(fds[1]);
}

TEST(a_message_over_the_maximum_is_refused_and_its_descriptors_closed)
{
        int fds[2], null = open("/dev/null", O_RDONLY);
        char data[16];
        struct message m = {.type = 99};
        pair(fds);
        CHECK_INT(message_send(fds[0], 7, 9, &null, 1, "0123456789abcdefX", 17, NULL, 0), 0);
        int before = count_fds();
        CHECK_INT(message_receive(fds[1], &m, data, sizeof data), -EPROTO);
        CHECK_INT(count_fds(), before);
        CHECK_INT(m.type, 99); /* untouched */
        close(null);
        close(fds[0]);
        close(fds[1]);
}

TEST(descriptors_that_do_not_fit_are_closed)
{
        int fds[2], null = open("/dev/null", O_RDONLY), three[3] = {null, null, null}, taken[2] = {-1, -1};
        char byte = 0;
        union sys_rights rights;
        struct iovec part = {&byte, 1};
        struct msghdr msg = {
                .msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights};
        unsigned n = 0;
        pair(fds);
        CHECK_INT(sys_rights_send(fds[0], "x", 1, three, 3, 0), 1);
        int before = count_fds();
        CHECK_INT(recvmsg(fds[1], &msg, MSG_CMSG_CLOEXEC), 1);
        CHECK_INT(count_fds(), before + 3);
        CHECK(!sys_rights_take(&msg, taken, &n, 1));
        CHECK_INT(n, 1);
        CHECK_INT(taken[1], -1);
        CHECK_INT(count_fds(), before + 1);
        close(taken[0]);
        close(null);
        close(fds[0]);
        close(fds[1]);
}

TEST(more_descriptors_than_allowed_are_refused_and_closed)
{
        int fds[2], many[40];
        char data[16], control[CMSG_SPACE(sizeof many)] = {0};
        unsigned header[2] = {7, 0};
        struct iovec part = {header, sizeof header};
        struct msghdr msg = {
                .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        struct message m;
        pair(fds);
        for (size_t i = 0; i < 40; i++)
                many[i] = 0;
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof many);
        memcpy(CMSG_DATA(c), many, sizeof many);
        CHECK(sendmsg(fds[0], &msg, 0) > 0);
        int before = count_fds();
        CHECK_INT(message_receive(fds[1], &m, data, sizeof data), -EPROTO);
        CHECK_INT(count_fds(), before);
        close(fds[0]);
        close(fds[1]);
}

TEST(sending_without_a_receiver_is_an_error_not_a_signal)
{
        int fds[2];
        pair(fds);
        close(fds[1]);
        CHECK_INT(message_send(fds[0], 1, 9, NULL, 0, "x", 1, NULL, 0), -EPIPE);
        close(fds[0]);
}

/* ---- reading ahead ---- */

static int descriptor_at(off_t at)
{
        int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
        lseek(fd, at, SEEK_SET);
        return fd;
}

/* Closes it. */
static long where_it_is(const struct message *m)
{
        if (m->n_fds != 1)
                return -1;
        const long at = (long)lseek(m->fds[0], 0, SEEK_CUR);
        close(m->fds[0]);
        return at;
}

TEST(frames_read_ahead_have_their_own_descriptors)
{
        int fds[2];
        char room[MESSAGE_AHEAD_BYTES(64)];
        const char *data;
        struct message_ahead reader;
        struct message m;
        pair(fds);
        message_ahead_init(&reader, room, sizeof room);
        const int before = count_fds();
        /* Every third has one; the others must not get it. */
        for (uint32_t i = 1; i <= 9; i++) {
                int fd = descriptor_at((off_t)i);
                CHECK_INT(message_send(fds[0], 5, i, &fd, i % 3 == 0, "abcdefgh", i % 8, NULL, 0), 0);
                close(fd);
        }
        uint32_t tag = 0;
        int r, readings = 0;
        while ((r = message_ahead_read(&reader, fds[1])) > 0) {
                readings++;
                while ((r = message_ahead_next(&reader, &m, &data)) > 0) {
                        CHECK_INT(m.tag, ++tag);
                        CHECK_INT(m.len, tag % 8);
                        CHECK(!memcmp(data, "abcdefgh", m.len));
                        CHECK_INT(m.n_fds, tag % 3 == 0);
                        CHECK_INT(where_it_is(&m), tag % 3 == 0 ? (long)tag : -1);
                }
                CHECK_INT(r, 0);
        }
        CHECK_INT(r, -EAGAIN);
        CHECK_INT(tag, 9);
        CHECK(readings < 9);
        CHECK_INT(count_fds(), before);
        close(fds[0]);
        CHECK_INT(message_ahead_read(&reader, fds[1]), 0);
        message_ahead_done(&reader);
        close(fds[1]);
}

/* One read returns the rest of a frame with a descriptor, and the next frame with another. */
TEST(a_frame_that_was_cut_keeps_its_descriptor)
{
        int fds[2], first = descriptor_at(1), second = descriptor_at(2);
        char room[MESSAGE_AHEAD_BYTES(30)];
        const char *data;
        struct message_ahead reader;
        struct message m;
        pair(fds);
        message_ahead_init(&reader, room, sizeof room);
        CHECK_INT(message_send(fds[0], 5, 1, NULL, 0, "123456789012345678", 18, NULL, 0), 0);
        CHECK_INT(message_send(fds[0], 5, 2, &first, 1, "1234", 4, NULL, 0), 0);
        CHECK_INT(message_send(fds[0], 5, 3, &second, 1, NULL, 0, NULL, 0), 0);
        CHECK_INT(message_ahead_read(&reader, fds[1]), 1); /* the first, and the second's header */
        CHECK_INT(message_ahead_next(&reader, &m, &data), 1);
        CHECK_INT(m.n_fds, 0);
        CHECK_INT(message_ahead_next(&reader, &m, &data), 0);
        CHECK(!message_ahead_drained(&reader));
        CHECK_INT(message_ahead_read(&reader, fds[1]), 1);
        CHECK_INT(message_ahead_next(&reader, &m, &data), 1);
        CHECK_INT(m.tag, 2);
        CHECK_INT(where_it_is(&m), 1);
        CHECK(!memcmp(data, "1234", 4));
        CHECK_INT(message_ahead_next(&reader, &m, &data), 1);
        CHECK_INT(m.tag, 3);
        CHECK_INT(where_it_is(&m), 2);
        CHECK_INT(message_ahead_next(&reader, &m, &data), 0);
        close(first);
        close(second);
        message_ahead_done(&reader);
        close(fds[0]);
        close(fds[1]);
}

TEST(a_frame_read_ahead_over_the_maximum_is_refused_and_its_descriptors_closed)
{
        int fds[2], null = open("/dev/null", O_RDONLY);
        char room[MESSAGE_AHEAD_BYTES(8)];
        const char *data;
        struct message_ahead reader;
        struct message m;
        pair(fds);
        const int before = count_fds();
        message_ahead_init(&reader, room, sizeof room);
        CHECK_INT(message_send(fds[0], 5, 1, &null, 1, "123456789", 9, NULL, 0), 0);
        CHECK_INT(message_ahead_read(&reader, fds[1]), 1);
        CHECK_INT(message_ahead_next(&reader, &m, &data), -EPROTO);
        message_ahead_done(&reader);
        CHECK_INT(count_fds(), before);
        close(null);
        close(fds[0]);
        close(fds[1]);
}

TEST(an_end_within_a_frame_read_ahead_is_not_clean)
{
        int fds[2];
        char room[MESSAGE_AHEAD_BYTES(8)];
        struct message_ahead reader;
        pair(fds);
        message_ahead_init(&reader, room, sizeof room);
        CHECK_INT(write(fds[0], "\1\0\0", 3), 3);
        close(fds[0]);
        CHECK_INT(message_ahead_read(&reader, fds[1]), 1);
        CHECK_INT(message_ahead_read(&reader, fds[1]), -EPROTO);
        message_ahead_done(&reader);
        close(fds[1]);
}
