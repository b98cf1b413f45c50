#include "core/sandbox/operation.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/stamp.h"

#define READS_AT_ONCE 16
#define READS_AT_END 256 /* more than a pipe can hold, in case a process keeps writing */

struct operation {
        struct task task;
        struct init_operate what;
        char *paths; /* both paths, each terminated by NUL */
        size_t paths_len;
        uint32_t tag;
        uv_poll_t poll;
        uv_timer_t last; /* never runs: keeps the memory until the loop has closed both handles */
        unsigned handles;
        int fd, theirs; /* the ends of the pipe */
        bool writes;    /* into the sandbox */
        bool paused, watched, ended;
        bool starting; /* operation_new() has not returned: it reports errors itself */
        struct cella_err early;
        const struct operation_events *events; /* NULL: no callbacks */
        void *context;
};

static char buffer[64 * 1024];

static void operation_on_poll(uv_poll_t *poll, int status, int events);

static void operation_watch(struct operation *op, bool yes)
{
        if (op->fd < 0 || op->watched == yes)
                return;
        op->watched = yes;
        if (yes)
                uv_poll_start(&op->poll, op->writes ? UV_WRITABLE : UV_READABLE, operation_on_poll);
        else
                uv_poll_stop(&op->poll);
}

static void operation_on_closed(uv_handle_t *handle)
{
        struct operation *op = handle->data;
        if (--op->handles > 0)
                return;
        free(op->paths);
        free(op);
}

static void close_pipe(struct operation *op)
{
        if (op->fd < 0)
                return;
        /* Both at once: libuv stops watching by number, and a closed number can be reused. */
        uv_close((uv_handle_t *)&op->poll, operation_on_closed);
        close(op->fd);
        op->fd = -1;
}

/* Makes the last callback.  The memory is freed when the loop has closed the handles. */
static void operation_end(struct operation *op, const struct cella_err *err)
{
        struct core_sandbox *sb = op->task.sandbox;
        if (op->ended)
                return;
        op->ended = true;
        if (sb) {
                if (op->tag && sb->channel)
                        channel_forget(sb->channel, op->tag);
                sandbox_detach(&op->task);
        }
        close_pipe(op);
        if (op->theirs >= 0)
                close(op->theirs);
        if (op->starting && err)
                op->early = *err;
        else if (op->events)
                op->events->on_end(op, err, op->context);
        uv_close((uv_handle_t *)&op->last, operation_on_closed);
}

/* Returns false if there is nothing to read now. */
static bool operation_read_once(struct operation *op)
{
        ssize_t n = read(op->fd, buffer, sizeof buffer);
        if (n > 0) {
                if (op->events && op->events->on_data)
                        op->events->on_data(op, buffer, (size_t)n, op->context);
                return true;
        }
        if (n < 0 && errno == EINTR)
                return true;
        if (n == 0 || errno != EAGAIN)
                close_pipe(op);
        return false;
}

static void operation_on_poll(uv_poll_t *poll, int status, int events)
{
        struct operation *op = poll->data;
        (void)status;
        (void)events;
        if (op->writes) {
                operation_watch(op, false);
                if (op->events && op->events->on_room)
                        op->events->on_room(op, op->context);
                return;
        }
        for (int i = 0; i < READS_AT_ONCE && op->fd >= 0 && !op->paused && !op->ended; i++)
                if (!operation_read_once(op))
                        break;
}

int operation_explain(int status, const char *path, struct cella_err *err)
{
        static const struct {
                int num;
                enum cella_kind kind;
                const char *words;
        } table[] = {
                {ENOENT, CELLA_NOT_FOUND, "no such file or directory"},
                {EISDIR, CELLA_INVALID_REQUEST, "is a directory"},
                {ENOTDIR, CELLA_INVALID_REQUEST, "is not a directory"},
                {EEXIST, CELLA_INVALID_REQUEST, "exists already"},
                {ENOTEMPTY, CELLA_INVALID_REQUEST,
                 "is a directory that is not empty; recursive=1 removes it"},
                {ELOOP, CELLA_INVALID_REQUEST, "has too many symbolic links, or is too deep"},
                {ENAMETOOLONG, CELLA_INVALID_REQUEST, "has a name that is too long"},
                {EINVAL, CELLA_INVALID_REQUEST, "cannot be used for this"},
                {EXDEV, CELLA_INVALID_REQUEST, "lies on another file system"},
                {EOVERFLOW, CELLA_TOO_LARGE, "has too many entries"},
                {EFBIG, CELLA_TOO_LARGE, "is over the limit on size"},
                {ENOSPC, CELLA_TOO_LARGE, "is over the sandbox's limit on disk space"},
                {EDQUOT, CELLA_TOO_LARGE, "is over the sandbox's limit on disk space"},
                {EACCES, CELLA_ACCESS_DENIED, "access denied"},
                {EPERM, CELLA_ACCESS_DENIED, "access denied"},
                {EROFS, CELLA_ACCESS_DENIED, "access denied: it is read-only"},
        };
        if (WIFSIGNALED(status))
                return err_say(err, CELLA_NOT_FOUND, -EINTR,
                               "'%.120s': the operation was killed in the sandbox", path);
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
                if (WEXITSTATUS(status) == table[i].num) {
                        if (table[i].kind == CELLA_ACCESS_DENIED)
                                return err_say(err, table[i].kind, -table[i].num, "%s: '%.120s'",
                                               table[i].words, path);
                        return err_say(err, table[i].kind, -table[i].num, "'%.120s' %s", path,
                                       table[i].words);
                }
        return err_set(err, CELLA_INVALID_REQUEST, -WEXITSTATUS(status), "'%.120s'", path);
}

/* Whether ".." leads above the directory in which the path begins.  Only the text is examined: links are
 * followed inside the sandbox. */
static bool climbs(const char *path)
{
        size_t depth = 0;
        for (const char *p = path; *p; p += strspn(p, "/")) {
                const size_t n = strcspn(p, "/");
                if (n == 2 && !strncmp(p, "..", 2)) {
                        if (depth-- == 0)
                                return true;
                } else if (n > 0 && !(n == 1 && *p == '.')) {
                        depth++;
                }
                p += n;
        }
        return false;
}

int operation_check_path(const char *path, const char *name, struct cella_err *err)
{
        size_t component = 0;
        const char *why = NULL;
        if (!path || !path[0])
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s is required", name);
        if (strlen(path) >= INIT_PATH_MAX - 16)
                why = "is longer than 4079 bytes";
        for (const char *p = path; *p && !why; p++) {
                component = *p == '/' ? 0 : component + 1;
                if (component > 255)
                        why = "has a component of more than 255 bytes";
        }
        if (why)
                return err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG, "%s %s", name, why);
        if (!climbs(path))
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s must not leave %s with '..'", name,
                path[0] == '/' ? "the root directory" : "/workspace");
        return err_hint(err, "an absolute path leads to any other directory of the sandbox");
}

static void operation_on_message(void *context, const struct message *message, const char *data)
{
        struct operation *op = context;
        struct message m = *message;
        struct cella_err err = {0};
        message_close_fds(&m);
        if (m.type == INIT_EXITED && m.len == sizeof(struct init_exited)) {
                struct init_exited exited;
                memcpy(&exited, data, sizeof exited);
                /* All output is in the pipe. */
                for (int i = 0; i < READS_AT_END && !op->writes && op->fd >= 0 && operation_read_once(op);
                     i++)
                        continue;
                if (exited.wait_status == 0)
                        operation_end(op, NULL);
                else
                        operation_explain(exited.wait_status, op->paths, &err), operation_end(op, &err);
        } else if (m.type == INIT_FAILED && m.len == sizeof err) {
                struct cella_err cause;
                memcpy(&cause, data, sizeof cause);
                if (cause.num == -EAGAIN || cause.num == -ENOMEM)
                        err_say(&err, CELLA_OVER_CAPACITY, cause.num,
                                "the sandbox is at its limit on processes");
                else
                        err_set(&err, CELLA_INVALID_REQUEST, cause.num < 0 ? cause.num : -EIO,
                                "file operation");
                operation_end(op, &err);
        } else if (op->task.sandbox) {
                sandbox_ask(op->task.sandbox, KEEPER_KILL, NULL, NULL);
        }
}

static void operation_on_channel(struct task *task)
{
        struct operation *op = list_entry(task, struct operation, task);
        struct channel *channel = task->sandbox->channel;
        struct cella_err err = {0};
        op->tag = channel_open_tag(channel, operation_on_message, op);
        int theirs = op->theirs;
        op->theirs = -1;
        int r = op->tag ? channel_send(channel, INIT_OPERATE, op->tag, &theirs, 1, &op->what, sizeof op->what,
                                       op->paths, op->paths_len)
                        : -ENOMEM;
        if (r < 0) {
                err_set(&err, CELLA_INTERNAL, r, "cannot talk to the sandbox");
                operation_end(op, &err);
        } else if (!op->writes) {
                operation_watch(op, !op->paused);
        }
}

static void operation_on_lost(struct task *task, struct core_sandbox *sb, const struct cella_err *why)
{
        struct operation *op = list_entry(task, struct operation, task);
        struct cella_err err = {0};
        err_say(&err, CELLA_NOT_FOUND, -ENOENT, "the sandbox %s has ended", sb->id);
        operation_end(op, why ? why : &err);
}

static bool goes_in(uint32_t operation)
{
        return operation == INIT_WRITE || operation == INIT_UNTAR;
}

int operation_new(struct core_sandbox *sb, const struct init_operate *what, const char *path,
                  const char *path2, const struct operation_events *events, void *context,
                  struct operation **ret, struct cella_err *err)
{
        int pair[2];
        if (sb->state == SANDBOX_PAUSED) {
                err_say(err, CELLA_INVALID_REQUEST, -EBUSY, "the sandbox %s is paused", sb->id);
                return err_hint(err, "POST /v1/sandboxes/%s/resume", sb->id);
        }
        struct operation *op = calloc(1, sizeof *op);
        size_t len = strlen(path) + 1, len2 = path2 ? strlen(path2) + 1 : 1;
        int r = op && (op->paths = calloc(1, len + len2)) ? 0 : -ENOMEM;
        if (r == 0 && pipe2(pair, O_CLOEXEC) < 0)
                r = -errno;
        if (r < 0) {
                if (op)
                        free(op->paths);
                free(op);
                return err_set(err, CELLA_INTERNAL, r, "file operation");
        }
        memcpy(op->paths, path, len);
        if (path2)
                memcpy(op->paths + len, path2, len2);
        op->paths_len = len + len2;
        op->what = *what;
        op->writes = goes_in(what->operation);
        op->fd = pair[op->writes];
        op->theirs = pair[!op->writes];
        op->events = events;
        op->context = context;
        op->poll.data = op;
        uv_poll_init(sb->core->loop, &op->poll, op->fd);
        uv_timer_init(sb->core->loop, &op->last);
        op->last.data = op;
        op->handles = 2;
        op->task = (struct task){.on_channel = operation_on_channel, .on_lost = operation_on_lost};
        list_init(&op->task.link);
        op->starting = true;
        sandbox_attach(sb, &op->task);
        op->starting = false;
        if (op->ended) { /* its memory stays until the loop has closed its handles */
                *err = op->early;
                return err->num < 0 ? err->num : -EIO;
        }
        *ret = op;
        return 0;
}

void operation_cancel(struct operation *op)
{
        struct core_sandbox *sb = op->task.sandbox;
        const struct init_signal kill = {.signal = SIGKILL, .target = op->tag};
        op->events = NULL;
        if (op->ended)
                return;
        if (!op->tag || !sb || !sb->channel) {
                operation_end(op, NULL);
                return;
        }
        /* The pipe stays open until the process is dead: its end would look like the end of the data. */
        channel_send(sb->channel, INIT_SIGNAL, 0, NULL, 0, &kill, sizeof kill, NULL, 0);
        if (!op->writes) {
                op->paused = false;
                operation_watch(op, true);
        }
}

void operation_pause(struct operation *op, bool pause)
{
        op->paused = pause;
        if (!op->writes && op->tag)
                operation_watch(op, !pause);
}

size_t operation_feed(struct operation *op, const char *data, size_t len)
{
        ssize_t n;
        if (op->fd < 0 || op->ended)
                return len; /* the rest is useless; on_end reports the reason */
        do {
                n = write(op->fd, data, len);
        } while (n < 0 && errno == EINTR);
        if (n < 0 && errno != EAGAIN) {
                close_pipe(op);
                return len;
        }
        if (n < (ssize_t)len)
                operation_watch(op, true);
        return n < 0 ? 0 : (size_t)n;
}

void operation_feed_end(struct operation *op)
{
        if (op->writes)
                close_pipe(op);
}

int operation_put(struct core_sandbox *sb, uint32_t tag, const char *path, const char *data, size_t len)
{
        const struct init_operate what = {
                .operation = INIT_WRITE, .flags = INIT_MAKE_PARENTS, .length = len, .mode = 0644};
        int fd = memfd_create("file", MFD_CLOEXEC);
        if (fd < 0)
                return -errno;
        for (size_t at = 0; at < len;) {
                ssize_t n = write(fd, data + at, len - at);
                if (n <= 0) {
                        int r = -errno;
                        close(fd);
                        return n == 0 ? -ENOSPC : r;
                }
                at += (size_t)n;
        }
        lseek(fd, 0, SEEK_SET);
        char paths[INIT_PATH_MAX + 1] = {0};
        size_t path_len = strnlen(path, INIT_PATH_MAX - 1);
        memcpy(paths, path, path_len);
        return channel_send(sb->channel, INIT_OPERATE, tag, &fd, 1, &what, sizeof what, paths, path_len + 2);
}

bool operation_stamp(const struct core_sandbox *sb, struct timespec *ret)
{
        /* A tmpfs and a volume (ext4) have timestamps of one clock.  A directory on disk may be on any file
         * system, with a coarse clock or that of another machine. */
        if (sb->workspace == WORKSPACE_NONE &&
            (!sb->directory[0] || (sb->core->volumes && sb->engine == ENGINE_NATIVE)))
                return sys_stamp_now(ret);
        clock_gettime(CLOCK_REALTIME_COARSE, ret);
        return false;
}
