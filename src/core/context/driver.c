#include "core/context/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "core/pool/pool.h"
#include "core/request/request.h"
#include "engine/command.h"
#include "engine/hint.h"
#include "snapshot/programs.h"
#include "snapshot/release.h"

#define READS_AT_ONCE 16 /* per event, to let other descriptors proceed */
#define READS_AT_END 256 /* bounded, because another process in the sandbox may also have the socket */
#define DRAIN_MAX (4u * 1024 * 1024) /* more than a pipe can hold */

enum { CONTROL, OUT, ERR, ENDS };

struct end {
        uv_poll_t poll;
        int fd; /* owned; -1: closed */
};

struct driver {
        struct core_sandbox *sandbox;
        const char *runtime;
        const struct driver_events *events; /* NULL: no callbacks any more */
        void *context;
        unsigned refs; /* one for the context, for each handle, and during callbacks */
        uint32_t tag, barrier;
        unsigned signals; /* signals without confirmation */
        int pid;
        struct end ends[ENDS];
        struct driver_frames frames;
        unsigned may;
        bool waits, deaf;
        size_t skip; /* remaining bytes of struct release_ready, which precedes the first frame */
        char *out;   /* data to be sent */
        size_t out_len, out_at;
};

/* Shared buffers: there is one thread, and their contents are not kept across calls.  There are two because
 * output is read while a frame is processed. */
static char heard[64 * 1024], printed[64 * 1024];

static const struct {
        const char *runtime; /* without its version */
        const char *code;
        const uint64_t *len;
        bool templated; /* its driver is part of the template */
} programs[] = {
        {"python", snapshot_context_py, &snapshot_context_py_len, true},
        {"python3", snapshot_context_py, &snapshot_context_py_len, true},
        {"node", snapshot_context_js, &snapshot_context_js_len, false},
        {"bash", snapshot_context_bash, &snapshot_context_bash_len, false},
};

static int find_program(const char *runtime)
{
        for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
                size_t len = strlen(programs[i].runtime);
                if (!strncmp(programs[i].runtime, runtime, len) &&
                    strspn(runtime + len, "0123456789.") == strlen(runtime + len))
                        return (int)i;
        }
        return -ENOENT;
}

bool driver_knows(const char *runtime)
{
        return find_program(runtime) >= 0;
}

static void unref(struct driver *d)
{
        if (--d->refs > 0)
                return;
        driver_frames_done(&d->frames);
        free(d->out);
        free(d);
}

static void driver_on_closed(uv_handle_t *handle)
{
        unref(handle->data);
}

static void close_end(struct end *end)
{
        if (end->fd < 0)
                return;
        /* Both at once: libuv stops watching by number, and a closed number can be reused. */
        uv_close((uv_handle_t *)&end->poll, driver_on_closed);
        close(end->fd);
        end->fd = -1;
}

/* ---- messages of the driver ---- */

static void driver_on_poll(uv_poll_t *poll, int status, int events);

static bool is_read(const struct driver *d, int i)
{
        return d->ends[i].fd >= 0 && !(i == CONTROL ? d->deaf : d->waits);
}

static void driver_watch(struct driver *d)
{
        for (int i = 0; i < ENDS; i++) {
                int events =
                        (is_read(d, i) ? UV_READABLE : 0) | (i == CONTROL && d->out_len ? UV_WRITABLE : 0);
                if (d->ends[i].fd < 0)
                        continue;
                if (events)
                        uv_poll_start(&d->ends[i].poll, events, driver_on_poll);
                else
                        uv_poll_stop(&d->ends[i].poll);
        }
}

/* After a protocol error the socket stays open: the process must be killed and not end by itself before. */
static void silence(struct driver *d, const char *why)
{
        d->deaf = true;
        if (why)
                driver_watch(d);
        else
                close_end(&d->ends[CONTROL]);
        if (d->events)
                d->events->on_silent(d->context, why);
}

static void driver_receive(struct driver *d, const char *data, size_t len)
{
        while (len > 0 && d->events && !d->deaf) {
                const char *why = NULL;
                int r = driver_frames_take(&d->frames, d->may, &data, &len, &why);
                if (r < 0)
                        silence(d, why);
                else if (r > 0)
                        d->events->on_frame(d->context, d->frames.word, d->frames.body, d->frames.want);
        }
}

/* A restored process sends struct release_ready first. */
static void hear_all(struct driver *d, char *data, size_t len)
{
        size_t skip = d->skip < len ? d->skip : len;
        if (d->skip == sizeof(struct release_ready) && data[0] != RELEASE_READY) {
                silence(d, "the interpreter could not be restored");
                return;
        }
        d->skip -= skip;
        if (len > skip)
                driver_receive(d, data + skip, len - skip);
}

/* Returns false if there is nothing to read now.  Closes the descriptor at its end. */
static bool driver_read_once(struct driver *d, int i)
{
        ssize_t n = i == CONTROL ? read(d->ends[i].fd, heard, sizeof heard)
                                 : read(d->ends[i].fd, printed, sizeof printed);
        if (n > 0) {
                if (i == CONTROL)
                        hear_all(d, heard, (size_t)n);
                else if (d->events)
                        d->events->on_output(d->context, i == OUT ? CELLA_STDOUT : CELLA_STDERR, printed,
                                             (size_t)n);
                return true;
        }
        if (n < 0 && errno == EINTR)
                return true;
        if (n < 0 && errno == EAGAIN)
                return false;
        if (i == CONTROL)
                silence(d, NULL);
        else
                close_end(&d->ends[i]);
        return false;
}

void driver_drain(struct driver *d)
{
        d->refs++;
        for (int i = OUT; i <= ERR; i++)
                for (size_t n = 0; n < DRAIN_MAX / sizeof printed && d->ends[i].fd >= 0; n++)
                        if (!driver_read_once(d, i))
                                break;
        unref(d);
}

void driver_expect(struct driver *d, unsigned words)
{
        d->may = words;
}

void driver_wait(struct driver *d, bool wait)
{
        d->waits = wait;
        driver_watch(d);
}

/* ---- messages to the driver ---- */

static void driver_push(struct driver *d)
{
        while (d->out_at < d->out_len) {
                ssize_t n = send(d->ends[CONTROL].fd, d->out + d->out_at, d->out_len - d->out_at,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EAGAIN)
                        return;
                if (n < 0)
                        break; /* it is gone, which is noticed when reading */
                d->out_at += (size_t)n;
        }
        free(d->out);
        d->out = NULL;
        d->out_at = d->out_len = 0;
}

int driver_run(struct driver *d, const char *code, size_t len)
{
        char header[32];
        int n = snprintf(header, sizeof header, "run %zu\n", len);
        char *out = d->out ? NULL : malloc((size_t)n + len);
        if (!out) /* -EBUSY: it has not read the previous code yet */
                return d->out ? -EBUSY : -ENOMEM;
        memcpy(out, header, (size_t)n);
        memcpy(out + n, code, len);
        d->out = out;
        d->out_at = 0;
        d->out_len = (size_t)n + len;
        if (d->ends[CONTROL].fd >= 0) {
                driver_push(d);
                driver_watch(d);
        }
        return 0;
}

bool driver_took(const struct driver *d)
{
        int unread = 0;
        if (d->out_len > 0)
                return false;
        return d->ends[CONTROL].fd < 0 || ioctl(d->ends[CONTROL].fd, SIOCOUTQ, &unread) < 0 || unread == 0;
}

static void driver_on_poll(uv_poll_t *poll, int status, int events)
{
        struct driver *d = poll->data;
        int i = poll == &d->ends[CONTROL].poll ? CONTROL : poll == &d->ends[OUT].poll ? OUT : ERR;
        d->refs++;
        if (status >= 0 && (events & UV_WRITABLE)) {
                driver_push(d);
                driver_watch(d);
        }
        /* Reading reports the error. */
        if (status < 0 || (events & UV_READABLE))
                for (int n = 0; n < READS_AT_ONCE && is_read(d, i); n++)
                        if (!driver_read_once(d, i))
                                break;
        if (status < 0)
                driver_watch(d); /* libuv has stopped polling */
        unref(d);
}

/* INIT_SIGNAL has no answer.  The invalid INIT_PUT_FILE after it is answered with an error, which confirms
 * that the signal was sent. */
void driver_signal(struct driver *d, int signal)
{
        struct channel *channel = d->sandbox->channel;
        const struct init_signal request = {.signal = signal, .target = d->tag};
        if (!channel)
                return;
        channel_send(channel, INIT_SIGNAL, 0, NULL, 0, &request, sizeof request, NULL, 0);
        if (channel_send(channel, INIT_PUT_FILE, d->barrier, NULL, 0, NULL, 0, NULL, 0) == 0)
                d->signals++;
}

bool driver_signalling(const struct driver *d)
{
        return d->signals > 0;
}

static void kill_sandbox(struct driver *d)
{
        sandbox_ask(d->sandbox, KEEPER_KILL, NULL, NULL);
}

static void on_barrier(void *context, const struct message *message, const char *data)
{
        struct driver *d = context;
        struct message m = *message;
        (void)data;
        message_close_fds(&m);
        if (m.type != INIT_FAILED || d->signals == 0)
                kill_sandbox(d); /* the sender is not our init */
        else if (--d->signals == 0 && d->events)
                d->events->on_signalled(d->context);
}

/* ---- life cycle ---- */

static void driver_on_message(void *context, const struct message *message, const char *data)
{
        struct driver *d = context;
        struct message m = *message;
        struct init_exited exited;
        int32_t pid = 0;
        message_close_fds(&m);
        if (m.type == INIT_STARTED && m.len == sizeof pid && d->pid == 0) {
                memcpy(&pid, data, sizeof pid);
                d->pid = pid;
        } else if (m.type == INIT_EXITED && m.len == sizeof exited) {
                memcpy(&exited, data, sizeof exited);
                d->refs++;
                for (int i = 0; i < READS_AT_END && is_read(d, CONTROL) && driver_read_once(d, CONTROL); i++)
                        continue; /* read its last messages */
                driver_drain(d);
                if (d->events)
                        d->events->on_ended(d->context, &exited, NULL);
                unref(d);
        } else if (m.type == INIT_FAILED && m.len == sizeof(struct cella_err) && d->pid == 0) {
                const struct cella_command command = {.runtime = d->runtime};
                struct cella_err cause, err = {0};
                memcpy(&cause, data, sizeof cause);
                const struct image *image = used_image_get(d->sandbox->image);
                command_explain(image, &command, cause.num < 0 ? cause.num : -EIO, &err);
                if (err.kind == CELLA_RUNTIME_NOT_FOUND)
                        hint_of_runtime(d->sandbox->core->store, d->runtime, !image, &err);
                if (d->events)
                        d->events->on_ended(d->context, NULL, &err);
        } else {
                kill_sandbox(d);
        }
}

static int adopt(struct driver *d, struct end *end, int fd)
{
        int r = uv_poll_init(d->sandbox->core->loop, &end->poll, fd); /* this makes it non-blocking */
        if (r < 0)
                return r;
        end->poll.data = d;
        end->fd = fd;
        d->refs++;
        return 0;
}

/* Makes an empty standard input, two pipes and the socket: descriptors 0 to 3 of the command. */
static int open_ends(struct driver *d, int theirs[4])
{
        int in[2], pair[2], r = 0;
        if (pipe2(in, O_CLOEXEC) < 0)
                return -errno;
        close(in[1]);
        theirs[0] = in[0];
        for (int i = 0; i < ENDS && r == 0; i++) {
                if (i == CONTROL ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0
                                 : pipe2(pair, O_CLOEXEC) < 0)
                        return -errno;
                theirs[i == CONTROL ? 3 : i] = pair[1];
                if (i != CONTROL) /* the code has another uid, and /dev/stdout opens it by name */
                        fchmod(pair[1], 0666);
                if ((r = adopt(d, &d->ends[i], pair[0])) < 0)
                        close(pair[0]);
        }
        return r;
}

static void close_all(const int *fds, int n)
{
        for (int i = 0; i < n; i++)
                if (fds[i] >= 0)
                        close(fds[i]);
}

/* Sends INIT_SPAWN with the descriptors, and with those of the template if there is one. */
static int send_spawn(struct driver *d, struct command_form *form, int theirs[4],
                      const struct waiting_how *how, struct cella_err *err)
{
        int fds[6] = {theirs[0], theirs[1], theirs[2], theirs[3], -1, -1}, n = 4;
        form->head.flags = INIT_TELL_STARTED;
        if (how) {
                form->head.flags |= INIT_PROGRAM;
                fds[n++] = dup(how->template_fd);
                fds[n++] = waiting_restore_make();
                if (fds[4] < 0 || fds[5] < 0) {
                        close_all(fds, n);
                        return err_set(err, CELLA_OVER_CAPACITY, -EMFILE, "context");
                }
        }
        int r = channel_send(d->sandbox->channel, INIT_SPAWN, d->tag, fds, (unsigned)n, &form->head,
                             sizeof form->head, form->data, form->len);
        if (r == 0 && how) {
                d->skip = sizeof(struct release_ready);
                r = waiting_release_driver(d->ends[CONTROL].fd, d->sandbox);
        }
        return r < 0 ? err_set(err, r == -ENOBUFS ? CELLA_OVER_CAPACITY : CELLA_INTERNAL, r,
                               "cannot talk to the sandbox")
                     : 0;
}

/* Starts the interpreter, from a template if possible: this takes a twentieth of the time. */
static int start_driver(struct driver *d, struct cella_err *err)
{
        struct core_sandbox *sb = d->sandbox;
        const int program = find_program(d->runtime);
        static const char *const restored[] = {"python3", "-c", "", NULL};
        struct waiting_how how;
        const char *own = runtime_program(sb->core, d->runtime, sb->image_name);
        const bool template = programs[program].templated && !own && !sb->direct &&
                              pool_template(sb->core, sb->image, sb->key, d->runtime, &how);
        const struct cella_command command = {.runtime = template ? NULL : d->runtime,
                                              .program = own,
                                              .argv = template ? restored : NULL,
                                              .code = programs[program].code,
                                              .code_len = *programs[program].len,
                                              .cwd = "/workspace",
                                              .stdin_fd = -1,
                                              .cancel_fd = -1};
        const struct command_place place = {.foreign_home = sb->workspace != WORKSPACE_NONE,
                                            .direct = sb->direct,
                                            .network = sb->network.tier != TIER_RESTRICTED,
                                            .image = used_image_get(sb->image)};
        AUTO(command_form_done) struct command_form form = {0};
        int theirs[4] = {-1, -1, -1, -1};
        int r = command_fill(&form, &place, &command, err);
        if (r < 0)
                return r;
        if (form.file_name[0])
                return err_say(err, CELLA_INTERNAL, -E2BIG, "the driver of %s is too long", d->runtime);
        if ((r = open_ends(d, theirs)) < 0) {
                close_all(theirs, 4);
                return err_set(err, CELLA_INTERNAL, r, "cannot make pipes");
        }
        if ((r = send_spawn(d, &form, theirs, template ? &how : NULL, err)) == 0)
                driver_watch(d);
        return r;
}

int driver_new(struct core_sandbox *sb, const char *runtime, const struct driver_events *events,
               void *context, struct driver **ret, struct cella_err *err)
{
        struct driver *d = calloc(1, sizeof *d);
        if (!d)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "context");
        *d = (struct driver){.sandbox = sb, .runtime = runtime, .refs = 1};
        for (int i = 0; i < ENDS; i++)
                d->ends[i].fd = -1;
        d->may = DRIVER_MAY(DRIVER_READY);
        d->tag = channel_open_tag(sb->channel, driver_on_message, d);
        d->barrier = channel_open_tag(sb->channel, on_barrier, d);
        int r = d->tag && d->barrier ? start_driver(d, err)
                                     : err_set(err, CELLA_INTERNAL, -ENOMEM, "context");
        if (r < 0) {
                driver_free(d);
                return r;
        }
        d->events = events;
        d->context = context;
        *ret = d;
        return 0;
}

struct driver *driver_free(struct driver *d)
{
        if (!d)
                return NULL;
        d->events = NULL;
        if (d->sandbox->channel) {
                channel_forget(d->sandbox->channel, d->tag);
                channel_forget(d->sandbox->channel, d->barrier);
        }
        for (int i = 0; i < ENDS; i++)
                close_end(&d->ends[i]);
        unref(d);
        return NULL;
}

int driver_pid(const struct driver *d)
{
        return d->pid;
}
