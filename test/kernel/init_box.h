/* test/kernel/init_box.h -- a real sandbox; the test talks to its init directly.  Include it in one file. */
#pragma once
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "keeper/spawn/assemble.h"
#include "sys/file.h"
#include "test.h"
#include "wire/init.h"
#include "wire/message.h"

#define INBOX_MAX 512

/* An answer, kept until the test asks for the answers of its tag. */
struct letter {
        struct message m;
        char data[INIT_REPLY_MAX];
};

struct box {
        struct sandbox *sandbox;
        struct letter *inbox[INBOX_MAX];
        unsigned n;
};

static inline struct box box_new_with(void (*change)(struct cella_options *))
{
        struct box box = {0};
        struct cella_options options;
        struct cella_err err = {0};
        cella_options_default(&options);
        options.limits.cpus_milli = 2000;
        if (change)
                change(&options);
        signal(SIGPIPE, SIG_IGN);
        struct sandbox_parts parts = SANDBOX_PARTS_NONE;
        parts.freezable = true; /* a long-lived sandbox */
        if (sandbox_assemble(&options, &parts, 0, &box.sandbox, &err) < 0 ||
            sandbox_wait_ready(box.sandbox, &err) < 0) {
                printf("FAIL %s: no sandbox: %s\n", test_name, err.msg);
                exit(1);
        }
        return box;
}

static inline void box_done_auto(struct box *box)
{
        while (box->n > 0) {
                message_close_fds(&box->inbox[--box->n]->m);
                free(box->inbox[box->n]);
        }
        sandbox_free(box->sandbox);
}

/* A test that gets a sandbox, `struct box *box`.  change, which can be NULL, changes its options. */
#define BOX_TEST(id, change)                                                                                 \
        static void box_test_##id(struct box *box);                                                          \
        TEST(id)                                                                                             \
        {                                                                                                    \
                AUTO(box_done) struct box made = box_new_with(change);                                       \
                box_test_##id(&made);                                                                        \
        }                                                                                                    \
        static void box_test_##id(struct box *box)

static inline bool box_readable(struct box *box, int timeout_ms)
{
        struct pollfd fd = {box->sandbox->control, POLLIN, 0};
        return poll(&fd, 1, timeout_ms) > 0;
}

/* Returns the next answer with this tag, which the caller frees; NULL if none comes in time. */
static inline struct letter *box_hear_for(struct box *box, uint32_t tag, int timeout_ms)
{
        int64_t until = clock_us() + timeout_ms * 1000LL;
        for (;;) {
                for (unsigned i = 0; i < box->n; i++)
                        if (box->inbox[i]->m.tag == tag) {
                                struct letter *l = box->inbox[i];
                                memmove(box->inbox + i, box->inbox + i + 1,
                                        (--box->n - i) * sizeof *box->inbox);
                                return l;
                        }
                int left = (int)((until - clock_us()) / 1000);
                if (left <= 0 || box->n == INBOX_MAX || !box_readable(box, left))
                        return NULL;
                struct letter *l = calloc(1, sizeof *l);
                if (message_receive(box->sandbox->control, &l->m, l->data, sizeof l->data) <= 0) {
                        free(l);
                        return NULL;
                }
                box->inbox[box->n++] = l;
        }
}

static inline struct letter *box_hear(struct box *box, uint32_t tag)
{
        return box_hear_for(box, tag, 60000); /* a busy machine; a test has 120 s */
}

/* Returns the type of the next answer; 0: none came. */
static inline uint32_t box_hear_type(struct box *box, uint32_t tag)
{
        struct letter *l = box_hear(box, tag);
        uint32_t type = l ? l->m.type : 0;
        if (l)
                message_close_fds(&l->m);
        free(l);
        return type;
}

#define NOT_EXITED (-1000000)

/* How it ended: the wait status; -errno if it could not start; NOT_EXITED if init said something else. */
static inline int box_end_with(struct box *box, uint32_t tag, struct init_exited *ret)
{
        struct letter *l = box_hear(box, tag);
        int r = NOT_EXITED;
        if (l && l->m.type == INIT_EXITED && l->m.len == sizeof *ret) {
                memcpy(ret, l->data, sizeof *ret);
                r = ret->wait_status;
        } else if (l && l->m.type == INIT_FAILED) {
                struct cella_err err;
                memcpy(&err, l->data, sizeof err);
                r = err.num;
        }
        if (l)
                message_close_fds(&l->m);
        free(l);
        return r;
}

static inline int box_end(struct box *box, uint32_t tag)
{
        struct init_exited exited;
        return box_end_with(box, tag, &exited);
}

static inline void box_send(struct box *box, uint32_t type, uint32_t tag, const int *fds, unsigned n_fds,
                            const void *data, size_t len)
{
        int r = message_send(box->sandbox->control, type, tag, fds, n_fds, data, len, NULL, 0);
        CHECK_INT(r, 0);
        if (r < 0) { /* the test cannot continue */
                siginfo_t info = {0};
                waitid(P_PID, (id_t)box->sandbox->pid, &info, WEXITED | WNOHANG | WNOWAIT);
                printf("FAIL %s: init is gone: code %d, status %d\n", test_name, info.si_code,
                       info.si_status);
                exit(1);
        }
}

static inline void box_signal(struct box *box, int number, uint32_t target)
{
        const struct init_signal request = {.signal = number, .target = target};
        box_send(box, INIT_SIGNAL, 0, NULL, 0, &request, sizeof request);
}

/* Sends INIT_SPAWN of argv (NULL-terminated) in cwd. */
static inline void box_spawn_in(struct box *box, uint32_t tag, uint32_t flags, const char *cwd,
                                const char *const *argv, const int *fds, unsigned n_fds)
{
        static const char *const env[] = {"PATH=/usr/bin:/bin", "HOME=/workspace", "TERM=xterm", NULL};
        static char body[65536];
        struct init_spawn head = {.flags = flags, .columns = 91, .rows = 33};
        char *p = stpcpy(body + sizeof head, cwd) + 1;
        for (; argv[head.argc]; head.argc++)
                p = stpcpy(p, argv[head.argc]) + 1;
        for (; env[head.envc]; head.envc++)
                p = stpcpy(p, env[head.envc]) + 1;
        memcpy(body, &head, sizeof head);
        box_send(box, INIT_SPAWN, tag, fds, n_fds, body, (size_t)(p - body));
}

static inline void box_spawn(struct box *box, uint32_t tag, uint32_t flags, const char *const *argv, int out)
{
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        const int fds[] = {null, out >= 0 ? out : null, null};
        box_spawn_in(box, tag, flags, "/workspace", argv, fds, 3);
        close(null);
}

/* A shell script; its output goes to out (-1: nowhere). */
static inline void box_script(struct box *box, uint32_t tag, uint32_t flags, const char *script, int out)
{
        const char *const argv[] = {"sh", "-c", script, NULL};
        box_spawn(box, tag, flags, argv, out);
}

/* Reads until the end of the stream, or size bytes. */
static inline size_t read_all(int fd, char *data, size_t size)
{
        size_t used = 0;
        ssize_t n;
        while (used < size && (n = read(fd, data + used, size - used)) > 0)
                used += (size_t)n;
        return used;
}

/* Waits for text to come out of fd. */
static inline bool read_until(int fd, const char *text, int timeout_ms)
{
        char data[16384] = {0};
        size_t used = 0;
        int64_t until = clock_us() + timeout_ms * 1000LL;
        while (used < sizeof data - 1) {
                struct pollfd p = {fd, POLLIN, 0};
                int left = (int)((until - clock_us()) / 1000);
                ssize_t n;
                if (left <= 0 || poll(&p, 1, left) <= 0 ||
                    (n = read(fd, data + used, sizeof data - 1 - used)) <= 0)
                        break;
                used += (size_t)n;
                if (memmem(data, used, text, strlen(text)))
                        return true;
        }
        printf("(came instead of '%s': '%s')\n", text, data);
        return false;
}

/* Runs a script to its end; its output, cut to size. */
static inline int box_run(struct box *box, const char *script, char *output, size_t size)
{
        int out[2];
        if (pipe2(out, O_CLOEXEC) < 0)
                return NOT_EXITED;
        box_script(box, 999999, 0, script, out[1]);
        close(out[1]);
        if (output)
                output[read_all(out[0], output, size - 1)] = '\0';
        int status = box_end(box, 999999);
        close(out[0]);
        return status;
}

/* Exit code of a script; -N: signal N ended it; NOT_EXITED: init did not answer in time. */
static inline int box_ask(struct box *box, const char *script)
{
        int status = box_run(box, script, NULL, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : status < 0 ? status : -WTERMSIG(status);
}

struct operation {
        uint32_t operation, flags;
        uint64_t offset, length;
        uint32_t mode;
        const char *path, *path2;
};

static inline void box_operate(struct box *box, uint32_t tag, const struct operation *o, int data)
{
        char body[3 * INIT_PATH_MAX];
        const struct init_operate head = {.operation = o->operation,
                                          .flags = o->flags,
                                          .offset = o->offset,
                                          .length = o->length,
                                          .mode = o->mode};
        memcpy(body, &head, sizeof head);
        char *p = stpcpy(body + sizeof head, o->path) + 1;
        p = stpcpy(p, o->path2 ? o->path2 : "") + 1;
        box_send(box, INIT_OPERATE, tag, &data, data >= 0, body, (size_t)(p - body));
}

/* The errno that an operation ended with (0: none), or what box_end() says. */
static inline int box_errno(struct box *box, uint32_t tag)
{
        int status = box_end(box, tag);
        return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : status;
}

/* An operation that gives data; *used bytes of it. */
static inline int box_get(struct box *box, const struct operation *o, char *data, size_t size, size_t *used)
{
        int out[2];
        if (pipe2(out, O_CLOEXEC) < 0)
                return NOT_EXITED;
        box_operate(box, 888888, o, out[1]);
        close(out[1]);
        *used = read_all(out[0], data, size);
        close(out[0]);
        return box_errno(box, 888888);
}

/* An operation that takes data, from a process of its own: either end may be the slower. */
static inline int box_put(struct box *box, const struct operation *o, const void *data, size_t len)
{
        int in[2];
        if (pipe2(in, O_CLOEXEC) < 0)
                return NOT_EXITED;
        box_operate(box, 777777, o, in[0]);
        close(in[0]);
        pid_t writer = fork();
        if (writer == 0) {
                close(box->sandbox->control);
                _exit(sys_write_all(in[1], data, len) < 0);
        }
        close(in[1]);
        int r = box_errno(box, 777777);
        waitpid(writer, NULL, 0);
        return r;
}

static inline int box_do(struct box *box, const struct operation *o)
{
        box_operate(box, 666666, o, -1);
        return box_errno(box, 666666);
}
