/* Two relays with a stream of bytes between them: processes at their sockets must not notice the relays. */
#include "wire/relay.h"

#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>

#include "test.h"

/* One end, and the thread that it runs in. */
struct end {
        struct relay *relay;
        char *buffers;
        int socket; /* the socket of the process that uses the relay */
        int result;
        pthread_t thread;
};

struct pair {
        struct end outside, inside;
};

static int open_fds(void)
{
        int n = 0;
        for (int fd = 0; fd < 1024; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

static long receive(struct relay *r, char *data, size_t size)
{
        ssize_t n = read(r->in, data, size);
        return n < 0 ? -errno : n;
}

static int open_terminal(int *ret_ours)
{
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        struct termios raw;
        unlockpt(master);
        *ret_ours = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        tcgetattr(*ret_ours, &raw);
        cfmakeraw(&raw);
        tcsetattr(*ret_ours, TCSANOW, &raw);
        return master;
}

static void *run(void *argument)
{
        struct end *e = argument;
        e->result = relay_run(e->relay, 0);
        relay_done(e->relay);
        close(e->relay->in);
        close(e->relay->local);
        return NULL;
}

static void end_make(struct end *e, bool inside, int stream)
{
        int local[2];
        CHECK_INT(message_pair(local), 0);
        fcntl(stream, F_SETFL, O_NONBLOCK);
        e->relay = calloc(1, sizeof *e->relay);
        e->buffers = malloc(RELAY_BUFFERS);
        e->socket = local[0];
        e->relay->inside = inside;
        e->relay->in = e->relay->out = stream;
        e->relay->local = local[1];
        e->relay->receive = receive;
        e->relay->open_terminal = open_terminal;
        relay_init(e->relay, e->buffers);
}

static void end_free(struct end *e)
{
        pthread_join(e->thread, NULL);
        if (e->socket >= 0)
                close(e->socket);
        free(e->relay);
        free(e->buffers);
}

static void pair_make(struct pair *p)
{
        int stream[2];
        signal(SIGPIPE, SIG_IGN);
        CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream), 0);
        end_make(&p->outside, false, stream[0]);
        end_make(&p->inside, true, stream[1]);
        pthread_create(&p->outside.thread, NULL, run, &p->outside);
        pthread_create(&p->inside.thread, NULL, run, &p->inside);
}

/* If either side closes its end, the other side is notified. */
static void pair_free(struct pair *p, bool by_owner)
{
        char data[64];
        struct message m;
        struct end *first = by_owner ? &p->outside : &p->inside, *other = by_owner ? &p->inside : &p->outside;
        close(first->socket);
        first->socket = -1;
        CHECK_INT(message_receive(other->socket, &m, data, sizeof data), 0);
        end_free(&p->outside);
        end_free(&p->inside);
}

static void fill(char *data, size_t len)
{
        for (size_t i = 0; i < len; i++)
                data[i] = (char)(i * 7 + i / 251);
}

static bool readable(int fd, int ms)
{
        struct pollfd poll_fd = {fd, POLLIN, 0};
        return poll(&poll_fd, 1, ms) > 0;
}

/* Reads until the end, at most len bytes. */
static size_t drain(int fd, char *data, size_t len)
{
        size_t got = 0;
        while (got < len) {
                ssize_t n = read(fd, data + got, len - got);
                if (n <= 0)
                        break;
                got += (size_t)n;
        }
        return got;
}

TEST(messages_of_any_size_arrive_whole_and_in_order)
{
        static const size_t sizes[] = {0, 1, 100, 65536, 1000000, INIT_REQUEST_MAX};
        const int before = open_fds();
        char *data = malloc(INIT_REQUEST_MAX), *got = malloc(INIT_REQUEST_MAX);
        struct pair p;
        struct message m = {0};
        fill(data, INIT_REQUEST_MAX);
        pair_make(&p);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                CHECK_INT(message_send(p.outside.socket, INIT_PUT_FILE, 7, NULL, 0, data, sizes[i], NULL, 0),
                          0);
                CHECK_INT(message_receive(p.inside.socket, &m, got, INIT_REQUEST_MAX), 1);
                CHECK_INT(m.type, INIT_PUT_FILE);
                CHECK_INT(m.tag, 7);
                CHECK_INT(m.len, sizes[i]);
                CHECK(!memcmp(got, data, sizes[i]));
                const size_t back = sizes[i] < INIT_REPLY_MAX ? sizes[i] : INIT_REPLY_MAX;
                CHECK_INT(message_send(p.inside.socket, INIT_DONE, 8, NULL, 0, data, back, NULL, 0), 0);
                CHECK_INT(message_receive(p.outside.socket, &m, got, INIT_REQUEST_MAX), 1);
                CHECK_INT(m.len, back);
                CHECK(!memcmp(got, data, back));
        }
        pair_free(&p, true);
        CHECK_INT(open_fds(), before);
        free(data);
        free(got);
}

/* A command's three pipes and a socket; the test is server and command.  mine: the server's ends. */
static void spawn(struct pair *p, uint32_t tag, int mine[4], int theirs[4])
{
        int in[2], out[2], err[2], both[2];
        struct message m = {0};
        CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0 &&
              message_pair(both) == 0);
        const int sent[4] = {in[0], out[1], err[1], both[1]};
        CHECK_INT(message_send(p->outside.socket, INIT_SPAWN, tag, sent, 4, "x", 1, NULL, 0), 0);
        for (int i = 0; i < 4; i++)
                close(sent[i]);
        char data[8];
        CHECK_INT(message_receive(p->inside.socket, &m, data, sizeof data), 1);
        CHECK_INT(m.n_fds, 4);
        memcpy(theirs, m.fds, 4 * sizeof *theirs);
        mine[0] = in[1];
        mine[1] = out[0];
        mine[2] = err[0];
        mine[3] = both[0];
}

static void close_all(const int fds[4])
{
        for (int i = 0; i < 4; i++)
                if (fds[i] >= 0)
                        close(fds[i]);
}

TEST(replacements_of_descriptors_behave_like_the_originals)
{
        const int before = open_fds();
        int mine[4], theirs[4];
        char got[64];
        struct pair p;
        pair_make(&p);
        spawn(&p, 5, mine, theirs);
        CHECK_INT(write(mine[0], "to it", 5), 5);
        CHECK_INT(drain(theirs[0], got, 5), 5);
        CHECK(!memcmp(got, "to it", 5));
        close(mine[0]);
        CHECK_INT(read(theirs[0], got, 1), 0); /* the end of its input */
        CHECK_INT(write(theirs[1], "out", 3), 3);
        CHECK_INT(write(theirs[2], "err", 3), 3);
        CHECK_INT(drain(mine[1], got, 3), 3);
        CHECK(!memcmp(got, "out", 3));
        CHECK_INT(drain(mine[2], got, 3), 3);
        CHECK(!memcmp(got, "err", 3));
        CHECK_INT(write(theirs[3], "up", 2), 2);
        CHECK_INT(write(mine[3], "down", 4), 4);
        CHECK_INT(drain(mine[3], got, 2), 2);
        CHECK_INT(drain(theirs[3], got, 4), 4);
        shutdown(mine[3], SHUT_WR);
        CHECK_INT(read(theirs[3], got, 1), 0);
        CHECK_INT(write(theirs[3], "still", 5), 5); /* half of it is closed */
        CHECK_INT(drain(mine[3], got, 5), 5);
        for (int i = 1; i < 4; i++) {
                close(theirs[i]);
                CHECK_INT(read(mine[i], got, 1), 0);
                theirs[i] = -1;
        }
        mine[0] = -1;
        close_all(mine);
        close_all(theirs);
        pair_free(&p, false);
        CHECK_INT(open_fds(), before);
}

static bool is_refused(int fd, int seconds)
{
        for (int i = 0; i < seconds * 100; i++) {
                if (write(fd, "x", 1) < 0)
                        return errno == EPIPE;
                usleep(10000);
        }
        return false;
}

TEST(writing_to_a_closed_stream_is_an_error)
{
        int mine[4], theirs[4];
        struct pair p;
        pair_make(&p);
        spawn(&p, 5, mine, theirs);
        close(mine[1]); /* the server wants no more of its output */
        CHECK(is_refused(theirs[1], 30));
        close(theirs[0]); /* the command wants no more input */
        CHECK(is_refused(mine[0], 30));
        mine[1] = theirs[0] = -1;
        close_all(mine);
        close_all(theirs);
        pair_free(&p, true);
}

struct flood {
        int fd;
        size_t len;
};

static void *flood(void *argument)
{
        const struct flood *f = argument;
        char *data = malloc(f->len);
        size_t at = 0;
        fill(data, f->len);
        while (at < f->len) {
                ssize_t n = write(f->fd, data + at, f->len - at);
                if (n <= 0)
                        break;
                at += (size_t)n;
        }
        free(data);
        close(f->fd);
        return NULL;
}

static void send_exited(struct pair *p, uint32_t tag)
{
        struct init_exited exited = {.wait_status = 256};
        CHECK_INT(message_send(p->inside.socket, INIT_EXITED, tag, NULL, 0, &exited, sizeof exited, NULL, 0),
                  0);
}

/* As with pipes: when the end is reported, all written bytes can be read.  Unread output does not delay
 * other commands, and takes no more memory than the windows. */
TEST(the_end_follows_all_output_and_does_not_wait_for_a_reader)
{
        const size_t len = 3000000;
        int mine[4], theirs[4], other[4], others[4];
        char *data = malloc(len), *got = malloc(len), byte[64];
        struct message m = {0};
        struct pair p;
        pthread_t thread;
        pair_make(&p);
        spawn(&p, 5, mine, theirs);
        spawn(&p, 6, other, others);
        struct flood f = {theirs[1], len};
        pthread_create(&thread, NULL, flood, &f);
        CHECK_INT(poll(&(struct pollfd){.fd = mine[1], .events = POLLIN}, 1, 60000), 1);
        size_t waiting = 0;
        int there = 0;
        for (int i = 0; i < 1000 && there == 0; i++) {
                usleep(10000);
                ioctl(mine[1], FIONREAD, &there);
        }
        usleep(200000); /* time for more to arrive */
        ioctl(mine[1], FIONREAD, &there);
        waiting = (size_t)there;
        CHECK(waiting > 0 && waiting <= 65536);
        /* The other command is not delayed. */
        CHECK_INT(write(others[1], "here", 4), 4);
        CHECK_INT(drain(other[1], byte, 4), 4);
        send_exited(&p, 6);
        CHECK_INT(message_receive(p.outside.socket, &m, byte, sizeof byte), 1);
        CHECK_INT(m.tag, 6);
        /* Messages are not delayed either, once this command has filled all buffers. */
        fill(data, len);
        CHECK_INT(drain(mine[1], got, len - 100000), len - 100000);
        pthread_join(thread, NULL);
        send_exited(&p, 5);
        message_send(p.inside.socket, INIT_DONE, 9, NULL, 0, NULL, 0, NULL, 0);
        CHECK_INT(message_receive(p.outside.socket, &m, byte, sizeof byte), 1);
        CHECK_INT(m.tag, 9); /* the end of the command is held back */
        CHECK(!readable(p.outside.socket, 50));
        CHECK_INT(drain(mine[1], got + len - 100000, 100000), 100000);
        CHECK(!memcmp(got, data, len));
        CHECK_INT(message_receive(p.outside.socket, &m, byte, sizeof byte), 1);
        CHECK_INT(m.type, INIT_EXITED);
        CHECK_INT(m.tag, 5);
        theirs[1] = -1;
        close_all(mine);
        close_all(theirs);
        close_all(other);
        close_all(others);
        pair_free(&p, true);
        free(data);
        free(got);
}

/* init has reported the end of its last command and exited: nothing is lost. */
TEST(output_before_the_end_of_init_arrives)
{
        const size_t len = 60000;
        int mine[4], theirs[4];
        char data[65536], byte[64];
        struct message m = {0};
        struct pair p;
        pair_make(&p);
        spawn(&p, 5, mine, theirs);
        struct flood f = {theirs[1], len};
        flood(&f);
        theirs[1] = -1;
        send_exited(&p, 5);
        close_all(theirs);
        close(p.inside.socket);
        p.inside.socket = -1;
        CHECK_INT(message_receive(p.outside.socket, &m, byte, sizeof byte), 1);
        CHECK_INT(m.type, INIT_EXITED);
        int there = 0;
        ioctl(mine[1], FIONREAD, &there);
        CHECK_INT(there, len);
        CHECK_INT(drain(mine[1], data, sizeof data), len);
        CHECK_INT(message_receive(p.outside.socket, &m, byte, sizeof byte), 0);
        close_all(mine);
        end_free(&p.outside);
        end_free(&p.inside);
}

/* The test is the outside.  If the container ended now, an engine could discard what it has not forwarded. */
TEST(the_inside_stays_until_the_outside_closes_the_stream)
{
        int stream[2];
        struct end e = {0};
        struct relay_frame frame = {0};
        struct relay_record record;
        const struct relay_frame grant = {RELAY_GRANT, 0, 0};
        signal(SIGPIPE, SIG_IGN);
        CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream), 0);
        end_make(&e, true, stream[1]);
        CHECK_INT(message_send(e.socket, INIT_DONE, 7, NULL, 0, NULL, 0, NULL, 0), 0);
        close(e.socket);
        e.socket = -1;
        pthread_create(&e.thread, NULL, run, &e);
        CHECK_INT(recv(stream[0], &frame, sizeof frame, MSG_WAITALL), sizeof frame);
        CHECK_INT(frame.kind, RELAY_HELLO);
        CHECK_INT(recv(stream[0], &frame, sizeof frame, MSG_WAITALL), sizeof frame);
        CHECK_INT(frame.kind, RELAY_DATA);
        CHECK_INT(recv(stream[0], &record, sizeof record, MSG_WAITALL), sizeof record);
        CHECK_INT(record.type, INIT_DONE);
        CHECK_INT(recv(stream[0], &frame, sizeof frame, MSG_WAITALL), sizeof frame);
        CHECK_INT(frame.kind, RELAY_END);
        CHECK(!readable(stream[0], 200));
        CHECK_INT(write(stream[0], &grant, sizeof grant), sizeof grant);
        CHECK(!readable(stream[0], 50));
        close(stream[0]);
        end_free(&e);
        CHECK_INT(e.result, 0);
}

TEST(many_commands_at_once_leave_no_descriptors)
{
        enum { N = 60 };
        const int before = open_fds();
        int mine[N][4], theirs[N][4];
        char got[16];
        struct pair p;
        pair_make(&p);
        for (int round = 0; round < 8; round++) { /* more in total than there are streams */
                for (int i = 0; i < N; i++)
                        spawn(&p, (uint32_t)(round * N + i + 1), mine[i], theirs[i]);
                for (int i = 0; i < N; i++) {
                        CHECK_INT(write(theirs[i][1], &i, sizeof i), sizeof i);
                        close_all(theirs[i]);
                }
                for (int i = 0; i < N; i++) {
                        CHECK_INT(drain(mine[i][1], got, sizeof got), sizeof i);
                        CHECK(!memcmp(got, &i, sizeof i));
                        close_all(mine[i]);
                }
        }
        pair_free(&p, true);
        CHECK_INT(open_fds(), before);
}

TEST(a_terminal_has_its_size_and_its_end)
{
        const struct winsize size = {.ws_col = 91, .ws_row = 33};
        const int32_t pid = 2;
        struct winsize seen = {0};
        struct message m = {0};
        struct pair p;
        char got[64];
        int slave = -1;
        pair_make(&p);
        const struct init_spawn ask = {.flags = INIT_TERMINAL};
        CHECK_INT(message_send(p.outside.socket, INIT_SPAWN, 5, NULL, 0, &ask, sizeof ask, NULL, 0), 0);
        CHECK_INT(message_receive(p.inside.socket, &m, got, sizeof got), 1);
        int master = open_terminal(&slave); /* of the command */
        CHECK_INT(message_send(p.inside.socket, INIT_STARTED, 5, &master, 1, &pid, sizeof pid, NULL, 0), 0);
        close(master);
        CHECK_INT(message_receive(p.outside.socket, &m, got, sizeof got), 1);
        CHECK_INT(m.n_fds, 1);
        ioctl(m.fds[0], TIOCSWINSZ, &size);
        for (int i = 0; i < 3000 && seen.ws_col != 91; i++) {
                usleep(10000);
                ioctl(slave, TIOCGWINSZ, &seen);
        }
        CHECK_INT(seen.ws_col, 91);
        CHECK_INT(seen.ws_row, 33);
        CHECK_INT(write(m.fds[0], "typed\x03\r", 7), 7);
        CHECK_INT(drain(slave, got, 7), 7);
        CHECK(!memcmp(got, "typed\x03\r", 7));
        CHECK_INT(write(slave, "shown\n", 6), 6);
        CHECK_INT(drain(m.fds[0], got, 6), 6);
        CHECK(!memcmp(got, "shown\n", 6));
        CHECK_INT(write(slave, "last", 4), 4);
        close(slave);
        CHECK_INT(drain(m.fds[0], got, sizeof got), 4); /* and then it has ended */
        close(m.fds[0]);
        pair_free(&p, false);
}

/* The outside relay, with the test as a hostile inside: invalid input ends the relay and has no other effect.
 */
static int result_of(const void *bytes, size_t len)
{
        int stream[2];
        struct end e = {0};
        const struct relay_frame hello = {RELAY_HELLO, RELAY_GREETING, 0};
        CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream), 0);
        end_make(&e, false, stream[0]);
        CHECK_INT(write(stream[1], &hello, sizeof hello), sizeof hello);
        CHECK_INT(write(stream[1], bytes, len), (ssize_t)len);
        shutdown(stream[1], SHUT_WR);
        pthread_create(&e.thread, NULL, run, &e);
        pthread_join(e.thread, NULL);
        close(stream[1]);
        close(e.socket);
        free(e.relay);
        free(e.buffers);
        return e.result;
}

TEST(invalid_frames_end_the_connection)
{
        static const struct relay_frame bad[] = {
                {RELAY_HELLO, RELAY_GREETING, 0}, /* a second one */
                {RELAY_DATA, 0, 0},
                {RELAY_DATA, 0, RELAY_DATA_MAX + 1},
                {RELAY_DATA, 3, 1}, /* for a stream that does not exist */
                {RELAY_END, 3, 0},
                {RELAY_GRANT, 0, 1}, /* more than the window */
                {RELAY_GRANT, 0, UINT32_MAX},
                {0, 0, 0},
                {77, 0, 0},
        };
        struct {
                struct relay_frame frame;
                struct relay_record record;
        } message = {{RELAY_DATA, 0, sizeof message.record}, {.type = INIT_STARTED, .tag = 1, .n_fds = 1}};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
                CHECK_INT(result_of(&bad[i], sizeof bad[i]), -EPROTO);
        CHECK_INT(result_of("", 0), 0); /* the end of the byte stream is no error */
        message.record.fds[0].stream = 1;
        message.record.fds[0].kind = RELAY_READS; /* a descriptor that init does not give */
        CHECK_INT(result_of(&message, sizeof message), -EPROTO);
        message.record.fds[0].kind = RELAY_TERMINAL; /* it was not requested */
        CHECK_INT(result_of(&message, sizeof message), -EPROTO);
        message.record.fds[0].stream = 2; /* a number of ours */
        CHECK_INT(result_of(&message, sizeof message), -EPROTO);
        message.record.fds[0].stream = 1;
        message.record.type = INIT_NETWORK;
        CHECK_INT(result_of(&message, sizeof message), -EPROTO);
        message.record.type = INIT_STARTED;
        message.record.n_fds = MESSAGE_FDS_MAX + 1;
        CHECK_INT(result_of(&message, sizeof message), -EPROTO);
        message.record.n_fds = 0;
        message.record.len = INIT_REPLY_MAX + 1;
        CHECK_INT(result_of(&message, sizeof message), -EPROTO);
}
