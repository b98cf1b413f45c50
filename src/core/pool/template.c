#include "core/pool/template.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/utf8.h"
#include "core/pool/waiting.h"
#include "snapshot/release.h"
#include "sys/file.h"

#define MAKING_MS 120000
#define TEXT_MAX 65536
#define MEMORY_BYTES (UINT64_C(2) << 30) /* while the template is made; not a limit of the code */
#define PROCESSES 16 /* likewise: libraries start threads, and a few processes are needed */

struct template_maker {
        struct task task;
        struct core *core;
        char program[64];
        json_t *preload;
        template_made made;
        void *context;
        uint32_t tag;
        int fd, control;
        uv_poll_t poll;
        uv_timer_t timer;
        unsigned handles; /* number of open handles */
        bool done;
        char answer[sizeof(struct template_made) + TEXT_MAX + 1];
        size_t len;
};

static void on_closed(uv_handle_t *handle)
{
        struct template_maker *m = handle->data;
        if (--m->handles > 0)
                return;
        json_decref(m->preload);
        sys_close(m->fd);
        free(m);
}

static void close_handle(uv_handle_t *handle)
{
        if (!uv_is_closing(handle))
                uv_close(handle, on_closed);
}

static void finish(struct template_maker *m)
{
        struct core_sandbox *sb = m->task.sandbox;
        m->done = true;
        if (m->control >= 0) {
                uv_poll_stop(&m->poll);
                close(m->control);
                m->control = -1;
                close_handle((uv_handle_t *)&m->poll);
        }
        if (sb) {
                if (m->tag && sb->channel)
                        channel_forget(sb->channel, m->tag);
                sandbox_detach(&m->task);
                sandbox_remove(sb);
        }
        close_handle((uv_handle_t *)&m->timer);
}

static void fail(struct template_maker *m, const struct cella_err *err)
{
        const struct cella_err why = *err;
        if (m->done)
                return;
        finish(m);
        m->made(m->context, -1, NULL, &why);
}

static void fail_saying(struct template_maker *m, int num, const char *what)
{
        struct cella_err err = {0};
        err_say(&err, CELLA_INTERNAL, num, "%s", what);
        fail(m, &err);
}

void template_cancel(struct template_maker *m)
{
        if (m && !m->done)
                finish(m);
}

/* Makes the file immutable, also for processes that still have it open. */
static int seal(int fd)
{
        if (fchmod(fd, 0444) < 0)
                return -errno;
        return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0 ? -errno
                                                                                                    : 0;
}

static void answered(struct template_maker *m, const struct template_made *head)
{
        char *text = m->answer + sizeof *head;
        text[head->text_length] = '\0';
        /* The text is shown to users and is not trusted. */
        for (char *p = text; *p; p++)
                if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
                        *p = ' ';
        if (head->failed) {
                fail_saying(m, -ENOTSUP, text);
                return;
        }
        int r = seal(m->fd);
        char *modules = NULL;
        if (r == 0 && asprintf(&modules, " %s ", text) < 0)
                r = -ENOMEM;
        if (r < 0) {
                fail_saying(m, r, "the template cannot be sealed");
                return;
        }
        int fd = TAKE_FD(m->fd);
        finish(m);
        m->made(m->context, fd, modules, NULL);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
        struct template_maker *m = poll->data;
        struct template_made head;
        (void)status;
        (void)events;
        ssize_t n = recv(m->control, m->answer + m->len, sizeof m->answer - 1 - m->len, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                fail_saying(m, -EIO, "the program ended before it was ready: is it an interpreter?");
                return;
        }
        m->len += (size_t)n;
        if (m->len < sizeof head)
                return;
        memcpy(&head, m->answer, sizeof head);
        if (head.text_length > TEXT_MAX)
                fail_saying(m, -EPROTO, "the interpreter broke the protocol");
        else if (m->len >= sizeof head + head.text_length)
                answered(m, &head);
}

static void on_timeout(uv_timer_t *timer)
{
        fail_saying(timer->data, -ETIMEDOUT, "the interpreter was not ready in two minutes");
}

static void on_message(void *context, const struct message *message, const char *data)
{
        struct template_maker *m = context;
        struct message copy = *message;
        struct cella_err err = {0};
        (void)data;
        message_close_fds(&copy);
        if (copy.type != INIT_FAILED)
                return; /* the socket also reports its end, with more details */
        err_say(&err, CELLA_RUNTIME_NOT_FOUND, -ENOENT, "%s does not exist", m->program);
        fail(m, &err);
}

static void on_channel(struct task *task)
{
        struct template_maker *m = list_entry(task, struct template_maker, task);
        struct core_sandbox *sb = task->sandbox;
        struct cella_err err = {0};
        m->tag = channel_open_tag(sb->channel, on_message, m);
        int r = waiting_spawn_maker(sb, m->tag, m->program, m->fd, m->preload, &m->control, &err);
        if (r < 0) {
                m->control = -1;
                fail(m, &err);
                return;
        }
        m->poll.data = m;
        m->handles++;
        if ((r = uv_poll_init(m->core->loop, &m->poll, m->control)) < 0) {
                m->handles--;
                close(m->control);
                m->control = -1;
                fail_saying(m, r, "its socket cannot be watched");
                return;
        }
        uv_poll_start(&m->poll, UV_READABLE, on_readable);
}

static void on_lost(struct task *task, struct core_sandbox *sb, const struct cella_err *err)
{
        struct template_maker *m = list_entry(task, struct template_maker, task);
        (void)sb;
        if (err)
                fail(m, err);
        else
                fail_saying(m, -EIO, "its sandbox died");
}

int template_make(struct core *core, struct used_image *image, const char *program, const json_t *preload,
                  template_made made, void *context, struct template_maker **ret, struct cella_err *err)
{
        struct template_maker *m = calloc(1, sizeof *m);
        struct core_sandbox *sb = NULL;
        struct caller owner;
        caller_owner(&owner);
        struct sandbox_spec spec = {.caller = &owner,
                                    .scope = SCOPE_EXECUTION,
                                    .one_shot = true,
                                    .limits = core->settings.limits,
                                    .image = image};
        if (spec.limits.memory_bytes && spec.limits.memory_bytes < MEMORY_BYTES)
                spec.limits.memory_bytes = MEMORY_BYTES;
        if (spec.limits.processes < PROCESSES)
                spec.limits.processes = PROCESSES;
        if (!m)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "template");
        *m = (struct template_maker){.core = core, .made = made, .context = context, .control = -1};
        snprintf(m->program, sizeof m->program, "%s", program);
        m->fd = sys_memfd_create("template", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        int r = m->fd < 0 ? err_set(err, CELLA_INTERNAL, m->fd, "template")
                          : sandbox_add(core, &spec, &sb, err);
        if (r < 0 || !sb) {
                sys_close(m->fd);
                free(m);
                return r < 0 ? r : -ENOMEM;
        }
        sb->place.ahead = true;
        m->preload = json_deep_copy(preload);
        m->task = (struct task){.on_channel = on_channel, .on_lost = on_lost};
        list_init(&m->task.link);
        uv_timer_init(core->loop, &m->timer);
        m->timer.data = m;
        m->handles = 1;
        uv_timer_start(&m->timer, on_timeout, MAKING_MS, 0);
        *ret = m;
        sandbox_attach(sb, &m->task);
        return 0;
}
