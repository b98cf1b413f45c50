#include "docker/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "docker/api.h"
#include "docker/container.h"
#include "docker/stream.h"
#include "sys/file.h"
#include "wire/relay.h"

#define ANSWER_MAX 16384
#define STACK_SIZE (128 * 1024)

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif

struct attach {
        int fd;
        struct stream stream;
        struct relay relay;
        char early[ANSWER_MAX]; /* data received after the head of the answer */
        size_t n_early;
        char buffers[RELAY_BUFFERS];
};

DEFINE_AUTO(struct attach *, attach_free)

struct attach *attach_free(struct attach *a)
{
        if (!a)
                return NULL;
        relay_done(&a->relay);
        sys_close(a->fd);
        sys_close(a->relay.local);
        free(a);
        return NULL;
}

int attach_fd(const struct attach *a)
{
        return a->fd;
}

bool attach_is_this_kernel(const struct attach *a)
{
        return a->relay.kernel == relay_kernel();
}

/* ---- the request ---- */

static int connect_to(const char *path)
{
        const struct timeval patience = {.tv_sec = API_PATIENCE_S};
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        if (strlen(path) >= sizeof address.sun_path)
                return -ENAMETOOLONG;
        memcpy(address.sun_path, path, strlen(path) + 1);
        AUTO(sys_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        return connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : TAKE_FD(fd);
}

/* Receives the head of the answer.  *ret_len: bytes received, including data after the head.  Returns the
 * length of the head or -errno. */
static long get_answer(int fd, char text[ANSWER_MAX], size_t *ret_len, int *ret_status)
{
        size_t len = 0;
        long head = 0;
        while (head == 0) {
                ssize_t n = len == ANSWER_MAX ? 0 : recv(fd, text + len, ANSWER_MAX - len, 0);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 && errno == EAGAIN ? -ETIMEDOUT : -EPROTO;
                len += (size_t)n;
                head = stream_answer(text, len, ret_status);
        }
        *ret_len = len;
        return head;
}

/* detachKeys is empty: engines otherwise look for key sequences that detach a terminal. */
static int docker_attach_ask(struct attach *a, const char *id, struct cella_err *err)
{
        char text[300];
        int status = 0, n = snprintf(text, sizeof text,
                                     "POST /containers/%.72s/attach?stream=1&stdin=1&stdout=1&stderr=1&"
                                     "detachKeys= HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\n"
                                     "Upgrade: tcp\r\nContent-Length: 0\r\n\r\n",
                                     id);
        size_t len = 0;
        if (send(a->fd, text, (size_t)n, MSG_NOSIGNAL) != n)
                return err_set(err, CELLA_ENGINE_UNAVAILABLE, -errno, "cannot talk to the container engine");
        long head = get_answer(a->fd, a->early, &len, &status);
        if (head < 0)
                return err_set(err, CELLA_ENGINE_UNAVAILABLE, (int)head,
                               "the container engine gives no stream to the container");
        a->n_early = len - (size_t)head;
        memmove(a->early, a->early + head, a->n_early);
        if (status == 101 || status == 200)
                return 0;
        struct docker_api_answer answer = {.status = status, .text = a->early, .len = a->n_early};
        a->early[a->n_early < sizeof a->early ? a->n_early : sizeof a->early - 1] = '\0';
        container_refused(&answer, "attach to the container", err);
        err->kind = CELLA_ENGINE_UNAVAILABLE;
        return err->num;
}

/* ---- the stream ---- */

static long docker_attach_receive(struct relay *r, char *data, size_t size)
{
        struct attach *a = r->context;
        for (;;) {
                ssize_t n = recv(a->fd, data, size, MSG_DONTWAIT);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                long kept = stream_take(&a->stream, data, (size_t)n);
                if (kept != 0)
                        return kept;
        }
}

int attach_receive(struct attach *a)
{
        long n = a->n_early > 0 ? stream_take(&a->stream, a->early, a->n_early)
                                : docker_attach_receive(&a->relay, a->early, sizeof a->early);
        const bool was_early = a->n_early > 0;
        a->n_early = 0;
        if (n == -EAGAIN || (n == 0 && was_early))
                return 0;
        if (n <= 0)
                return n < 0 ? (int)n : -EPIPE;
        int r = relay_take(&a->relay, a->early, (size_t)n);
        return r < 0 ? r : a->relay.greeted;
}

/* Makes the terminal that the owner gets as the command's.  It is raw, because the line discipline inside the
 * container does the processing. */
static int open_terminal(int *ret_ours)
{
        struct termios raw;
        AUTO(sys_close) int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (master < 0 || unlockpt(master) < 0)
                return -errno;
        AUTO(sys_close) int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (slave < 0 || tcgetattr(slave, &raw) < 0)
                return -errno;
        cfmakeraw(&raw);
        if (tcsetattr(slave, TCSANOW, &raw) < 0)
                return -errno;
        *ret_ours = TAKE_FD(slave);
        return TAKE_FD(master);
}

int attach_new(const char *socket, const char *id, struct attach **ret, struct cella_err *err)
{
        AUTO(sys_close) int fd = connect_to(socket);
        if (fd < 0)
                return err_set(err, CELLA_ENGINE_UNAVAILABLE, fd, "cannot connect to %.150s", socket);
        AUTO(attach_free) struct attach *a = calloc(1, sizeof *a);
        if (!a)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "docker");
        a->fd = TAKE_FD(fd);
        a->relay.local = -1;
        a->relay.in = a->relay.out = a->fd;
        a->relay.receive = docker_attach_receive;
        a->relay.open_terminal = open_terminal;
        a->relay.context = a;
        relay_init(&a->relay, a->buffers);
        int r = docker_attach_ask(a, id, err);
        if (r < 0)
                return r;
        sys_set_nonblock(a->fd);
        *ret = TAKE(a);
        return 0;
}

/* ---- the thread ---- */

static void *docker_attach_carry(void *argument)
{
        struct attach *a = argument;
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, NULL);
        relay_run(&a->relay, 0);
        attach_free(a);
        return NULL;
}

static int start_thread(struct attach *a)
{
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, STACK_SIZE);
        int r = pthread_create(&thread, &attributes, docker_attach_carry, a);
        pthread_attr_destroy(&attributes);
        return -r;
}

int attach_start(struct attach *attach, struct cella_err *err)
{
        AUTO(attach_free) struct attach *a = attach;
        int pair[2], r = message_pair(pair);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot create a socket");
        a->relay.local = pair[1];
        if ((r = start_thread(a)) < 0) {
                sys_close(pair[0]);
                return err_set(err, CELLA_INTERNAL, r, "cannot start a thread");
        }
        a = NULL; /* now owned by the thread */
        return pair[0];
}
