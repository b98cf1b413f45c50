/* front/rest/files_watch.c -- reports changes of files as events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "core/sandbox/operation.h"
#include "front/rest/files.h"
#include "front/sse.h"

struct watch {
        struct call *call;
        struct operation *operation;
        char *path;
        uint32_t flags;
        struct sse sse;
        char event[sizeof(struct init_event) + INIT_PATH_MAX]; /* an incomplete event */
        size_t event_got;
};

static void watch_free(struct watch *w)
{
        free(w->path);
        free(w);
}

static void watch_end(struct watch *w)
{
        http_on_gone(w->call->request, NULL, NULL);
        http_on_room(w->call->request, NULL, NULL);
        watch_free(w);
}

static void watch_fail(struct watch *w, const struct cella_err *err)
{
        api_reply_err(w->call, err);
        watch_end(w);
}

/* Before the events begin. */
static void files_watch_on_gone(struct http_request *request, void *context)
{
        struct watch *w = context;
        (void)request;
        if (w->operation)
                operation_cancel(w->operation);
        watch_free(w);
}

static void on_watch_gone(struct http_request *request, void *context)
{
        struct watch *w = context;
        sse_forget(&w->sse);
        files_watch_on_gone(request, context);
}

static void files_watch_on_room(struct http_request *request, void *context)
{
        struct watch *w = context;
        (void)request;
        if (w->operation)
                operation_pause(w->operation, false);
}

static void send_event(struct watch *w, const struct init_event *e, const char *name)
{
        static const char *const names[] = {[INIT_CREATED] = "created",
                                            [INIT_MODIFIED] = "modified",
                                            [INIT_REMOVED] = "removed",
                                            [INIT_MOVED] = "moved",
                                            [INIT_LOST] = "lost"};
        const struct init_stat st = {.mode = e->directory ? S_IFDIR : S_IFREG};
        if (e->kind < INIT_CREATED || e->kind > INIT_LOST)
                return;
        json_t *about = file_stat_to_json(&st, "path", name, e->name_len);
        json_object_del(about, "bytes");
        json_object_del(about, "mode");
        json_object_del(about, "modified");
        sse_event(&w->sse, names[e->kind], about);
}

static void on_watch_data(struct operation *op, const char *data, size_t len, void *context)
{
        struct watch *w = context;
        struct init_event e;
        while (len > 0) {
                size_t want = sizeof e;
                if (w->event_got >= sizeof e) {
                        memcpy(&e, w->event, sizeof e);
                        if (e.name_len > INIT_PATH_MAX) /* not a valid event */
                                return;
                        want += e.name_len;
                }
                size_t n = want - w->event_got < len ? want - w->event_got : len;
                memcpy(w->event + w->event_got, data, n);
                w->event_got += n;
                data += n;
                len -= n;
                if (w->event_got < sizeof e)
                        continue;
                memcpy(&e, w->event, sizeof e);
                if (e.name_len <= INIT_PATH_MAX && w->event_got == sizeof e + e.name_len) {
                        send_event(w, &e, w->event + sizeof e);
                        w->event_got = 0;
                }
        }
        if (http_stream_room(w->call->request) == 0)
                operation_pause(op, true);
}

static void on_watch_end(struct operation *op, const struct cella_err *err, void *context)
{
        struct watch *w = context;
        (void)op;
        if (err)
                sse_event(&w->sse, "error", api_error(w->call, err));
        sse_end(&w->sse);
        watch_end(w);
}

static void on_watch_refused(struct sse *sse)
{
        struct watch *w = list_entry(sse, struct watch, sse);
        struct cella_err err = {0};
        err_say(&err, CELLA_UNAUTHORIZED, -EACCES, "the key was removed");
        operation_cancel(w->operation);
        on_watch_end(NULL, &err, w);
}

static const struct operation_events watch_events = {.on_data = on_watch_data, .on_end = on_watch_end};

/* The path exists, or the request fails; then the events begin. */
static void on_stat_end(struct operation *op, const struct cella_err *err, void *context)
{
        struct watch *w = context;
        const struct init_operate what = {.operation = INIT_WATCH, .flags = w->flags};
        (void)op;
        w->operation = NULL;
        if (err) {
                watch_fail(w, err);
                return;
        }
        sse_begin(&w->sse, w->call, false);
        http_on_gone(w->call->request, on_watch_gone, w);
        http_on_room(w->call->request, files_watch_on_room, w);
        struct core_sandbox *sb =
                sandbox_find(w->call->core, &w->call->caller, http_param(w->call->request, 0));
        struct cella_err bad = {0};
        if (!sb)
                err_say(&bad, CELLA_NOT_FOUND, -ENOENT, "the sandbox has ended");
        if (!sb || operation_new(sb, &what, w->path, NULL, &watch_events, w, &w->operation, &bad) < 0) {
                on_watch_end(NULL, &bad, w);
                return;
        }
        sse_guard(&w->sse, on_watch_refused);
        sse_event(&w->sse, "start", json_pack("{s:s}", "path", w->path));
}

static const struct operation_events stat_events = {.on_end = on_stat_end};

void file_watch(struct call *call, const char *path, bool recursive)
{
        const struct init_operate what = {.operation = INIT_STAT};
        struct cella_err err = {0};
        struct core_sandbox *sb = api_sandbox(call);
        struct watch *w = sb ? calloc(1, sizeof *w) : NULL;
        if (!sb)
                return;
        if (!w || !(w->path = strdup(path))) {
                free(w);
                err_set(&err, CELLA_INTERNAL, -ENOMEM, "file");
                api_reply_err(call, &err);
                return;
        }
        w->call = call;
        w->flags = recursive ? INIT_RECURSIVE : 0;
        http_on_gone(call->request, files_watch_on_gone, w);
        if (operation_new(sb, &what, w->path, NULL, &stat_events, w, &w->operation, &err) < 0)
                watch_fail(w, &err);
}
