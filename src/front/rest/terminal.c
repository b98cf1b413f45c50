/* front/rest/terminal.c -- a shell on a terminal of the sandbox, over a WebSocket. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "core/execution/submit.h"
#include "engine/link/pty.h"
#include "front/auth.h"
#include "front/rest/rest.h"

#define PROTOCOL "cella"
#define MESSAGE_MAX 65536
#define TYPED_MAX (256u * 1024) /* input that waits for the terminal */
#define READS_AT_ONCE 16

struct terminal {
        struct list link;  /* in api->terminals, while there is a WebSocket */
        struct call *call; /* NULL once it is a WebSocket */
        struct api *api;   /* valid while there is a WebSocket */
        struct core *core;
        struct caller caller;
        bool local; /* came over the Unix socket */
        struct submission submission;
        uint16_t columns, rows;    /* initial size of its window */
        struct http_websocket *ws; /* NULL: not yet, or closed */
        uv_poll_t poll;
        int master;  /* the master of the terminal; -1: none, or closed */
        bool polled; /* libuv has the handle */
        bool reads, ended;
        bool held; /* the client asked for a pause */
        char *typed;
        size_t typed_len;
};

static void rest_terminal_watch(struct terminal *t);

static void rest_terminal_release(struct terminal *t);

static void on_poll_closed(uv_handle_t *handle)
{
        struct terminal *t = handle->data;
        t->polled = false;
        rest_terminal_release(t);
}

static void close_master(struct terminal *t)
{
        if (t->master < 0)
                return;
        /* libuv stops watching by number, and the number may be reused as soon as it is closed. */
        uv_close((uv_handle_t *)&t->poll, on_poll_closed);
        close(t->master);
        t->master = -1;
}

/* Frees it when the WebSocket and the execution have ended. */
static void rest_terminal_release(struct terminal *t)
{
        if (t->ws || !t->ended)
                return;
        close_master(t);
        if (t->polled)
                return; /* libuv still has the handle */
        free(t->typed);
        free(t);
}

/* The code in the sandbox controls this data: it is passed on as bytes. */
static bool rest_terminal_read_once(struct terminal *t)
{
        char block[16384];
        ssize_t n = pty_read(t->master, block, sizeof block);
        if (n > 0 && t->ws)
                http_websocket_send(t->ws, false, block, (size_t)n);
        if (n > 0 || n == -EINTR)
                return true;
        if (n != -EAGAIN) /* EIO: the last process that had it open has ended */
                close_master(t);
        return false;
}

static void write_typed(struct terminal *t)
{
        while (t->typed_len > 0 && t->master >= 0) {
                ssize_t n = pty_write(t->master, t->typed, t->typed_len);
                if (n == -EINTR)
                        continue;
                if (n == -EDEADLK)
                        close_master(t);
                if (n <= 0)
                        return;
                memmove(t->typed, t->typed + n, t->typed_len - (size_t)n);
                t->typed_len -= (size_t)n;
        }
}

static void rest_terminal_on_poll(uv_poll_t *poll, int status, int events)
{
        struct terminal *t = poll->data;
        if (status < 0)
                events = UV_READABLE;
        if (events & UV_WRITABLE)
                write_typed(t);
        for (int i = 0; (events & UV_READABLE) && i < READS_AT_ONCE && t->master >= 0 && t->ws && !t->held;
             i++) {
                if (http_websocket_room(t->ws) == 0) {
                        t->reads = false;
                        break;
                }
                if (!rest_terminal_read_once(t))
                        break;
        }
        rest_terminal_watch(t);
}

static void rest_terminal_watch(struct terminal *t)
{
        if (t->master < 0)
                return;
        int events = (t->reads && !t->held ? UV_READABLE : 0) | (t->typed_len > 0 ? UV_WRITABLE : 0);
        if (events)
                uv_poll_start(&t->poll, events, rest_terminal_on_poll);
        else
                uv_poll_stop(&t->poll);
}

/* Handles text frames: size of the window, pause and resume. */
static void rest_terminal_receive(struct terminal *t, const char *data, size_t len)
{
        json_t *message = json_loadb(data, len, JSON_REJECT_DUPLICATES, NULL);
        int columns, rows, hold;
        if (message && json_unpack(message, "{s:[i, i!]}", "resize", &columns, &rows) == 0 && columns > 0 &&
            columns <= 10000 && rows > 0 && rows <= 10000 && t->master >= 0) {
                const struct winsize size = {.ws_col = (unsigned short)columns,
                                             .ws_row = (unsigned short)rows};
                ioctl(t->master, TIOCSWINSZ, &size);
        } else if (message && json_unpack(message, "{s:b}", "hold", &hold) == 0) {
                t->held = hold;
                rest_terminal_watch(t);
        } else if (t->ws) {
                http_websocket_close(t->ws, 1007,
                                     "text frames are {\"resize\": [columns, rows]} or {\"hold\": true}");
        }
        json_decref(message);
}

/* Whether the terminal may stay open: it is closed when its key is removed. */
static bool may_stay(struct terminal *t)
{
        if (auth_may_stay(t->core, &t->caller, t->local))
                return true;
        http_websocket_close(t->ws, 1008, "the key was removed");
        if (!t->ended)
                execution_cancel(t->submission.execution);
        return false;
}

bool rest_terminals_guard(struct api *api)
{
        list_each (at, &api->terminals, other)
                may_stay(list_entry(at, struct terminal, link));
        return !list_empty(&api->terminals);
}

static void rest_terminal_on_message(struct http_websocket *ws, bool text, const char *data, size_t len,
                                     void *context)
{
        struct terminal *t = context;
        if (!may_stay(t))
                return;
        if (t->submission.execution->task.sandbox)
                sandbox_touch(t->submission.execution->task.sandbox);
        if (text) {
                rest_terminal_receive(t, data, len);
                return;
        }
        char *typed = t->typed_len + len <= TYPED_MAX ? realloc(t->typed, t->typed_len + len + 1) : NULL;
        if (!typed) {
                http_websocket_close(ws, 1009, "the program does not read its input");
                return;
        }
        memcpy(typed + t->typed_len, data, len);
        t->typed = typed;
        t->typed_len += len;
        write_typed(t);
        rest_terminal_watch(t);
}

static void rest_terminal_on_room(struct http_websocket *ws, void *context)
{
        struct terminal *t = context;
        (void)ws;
        t->reads = true;
        rest_terminal_watch(t);
}

static void rest_terminal_on_closed(struct http_websocket *ws, void *context)
{
        struct terminal *t = context;
        (void)ws;
        t->ws = NULL;
        list_remove(&t->link);
        close_master(t); /* hangs up */
        if (!t->ended)
                execution_cancel(t->submission.execution);
        else
                rest_terminal_release(t);
}

static const struct http_websocket_events ws_events = {rest_terminal_on_message, rest_terminal_on_room,
                                                       rest_terminal_on_closed};

/* A client that offers protocols expects one of them.  It may also offer its key: see front/auth.c. */
static bool is_offered(const struct http_request *request)
{
        const char *at = http_header(request, "Sec-WebSocket-Protocol");
        while (at && *at) {
                at += strspn(at, " \t,");
                size_t len = strcspn(at, " \t,");
                if (len == sizeof PROTOCOL - 1 && !strncmp(at, PROTOCOL, len))
                        return true;
                at += len;
        }
        return false;
}

static void rest_terminal_on_started(struct execution *ex, int master, void *context)
{
        struct terminal *t = context;
        struct call *call = t->call;
        /* No call: the client disconnected before the start was reported. */
        if (!call || master < 0 || pty_check(master) < 0 ||
            uv_poll_init(t->core->loop, &t->poll, master) < 0) {
                if (master >= 0)
                        close(master);
                execution_cancel(ex);
                return;
        }
        t->master = master;
        t->polled = t->reads = true;
        t->poll.data = t;
        t->call = NULL;
        http_on_gone(call->request, NULL, NULL);
        if (is_offered(call->request))
                http_add_header(call->request, "Sec-WebSocket-Protocol", PROTOCOL);
        if (http_websocket_accept(call->request, MESSAGE_MAX, &ws_events, t, &t->ws) < 0) {
                execution_cancel(ex);
                return;
        }
        list_add(&t->api->terminals, &t->link);
        api_guard(t->api);
        rest_terminal_watch(t);
}

static void rest_terminal_on_end(struct execution *ex, void *context)
{
        struct terminal *t = context;
        struct cella_err err = {0};
        char text[64];
        t->ended = true;
        for (int i = 0; i < 64 && t->master >= 0 && rest_terminal_read_once(t); i++)
                continue;
        if (t->call) {
                http_on_gone(t->call->request, NULL, NULL);
                err_say(&err, CELLA_ISOLATION_UNAVAILABLE, -ENODEV,
                        "terminal: this sandbox has no terminals");
                api_reply_refusal(t->call, ex->failure.kind ? &ex->failure : &err);
        }
        if (t->ws) {
                int n = snprintf(text, sizeof text, "{\"exit_code\": %d}", ex->result.exit_code);
                http_websocket_send(t->ws, true, text, (size_t)n);
                http_websocket_close(t->ws, 1000, "the program has ended");
        }
        execution_release(ex);
        rest_terminal_release(t);
}

static void rest_terminal_on_gone(struct http_request *request, void *context)
{
        struct terminal *t = context;
        (void)request;
        t->call = NULL;
        execution_cancel(t->submission.execution);
}

static void on_accepted(struct submission *submission, struct execution *ex)
{
        const struct terminal *t = list_entry(submission, struct terminal, submission);
        ex->columns = t->columns;
        ex->rows = t->rows;
        ex->no_deadline = true;
}

static void rest_terminal_on_refused(struct submission *submission, const struct cella_err *err)
{
        struct terminal *t = list_entry(submission, struct terminal, submission);
        struct call *call = t->call;
        free(t);
        http_on_gone(call->request, NULL, NULL);
        api_reply_refusal(call, err);
}

static void take_word(void *context, const char *name, const char *value)
{
        if (!strcmp(name, "command"))
                json_array_append_new(context, json_string(value));
}

/* Creates the request: a shell, or the program in the query: command=vim&command=file. */
static json_t *make_request(const struct http_request *request)
{
        json_t *words = json_array();
        http_each_query(request, take_word, words);
        if (json_array_size(words) > 0)
                return json_pack("{s:o, s:{s:s}}", "command", words, "env", "TERM", "xterm-256color");
        json_decref(words);
        return json_pack("{s:[s, s, s], s:{s:s}}", "command", "sh", "-c",
                         "command -v bash >/dev/null && exec bash -i || exec sh -i", "env", "TERM",
                         "xterm-256color");
}

void rest_terminal(struct call *call, json_t *body)
{
        static const struct submission_events events = {on_accepted, rest_terminal_on_refused};
        static const struct execution_events execution_events = {.on_started = rest_terminal_on_started,
                                                                 .on_end = rest_terminal_on_end};
        struct core_sandbox *sb = api_sandbox(call);
        struct cella_err err = {0};
        uint64_t columns, rows;
        (void)body;
        if (!sb || api_number(call, "cols", 1, 10000, 80, &columns) < 0 ||
            api_number(call, "rows", 1, 10000, 24, &rows) < 0)
                return;
        if (!http_header(call->request, "Upgrade")) { /* before anything is started */
                struct http_websocket *none;
                http_websocket_accept(call->request, MESSAGE_MAX, &ws_events, NULL, &none);
                return;
        }
        struct terminal *t = calloc(1, sizeof *t);
        if (!t) {
                err_set(&err, CELLA_INTERNAL, -ENOMEM, "terminal");
                api_reply_err(call, &err);
                return;
        }
        *t = (struct terminal){.call = call,
                               .api = call->api,
                               .core = call->core,
                               .caller = call->caller,
                               .local = http_peer(call->request)->local,
                               .columns = (uint16_t)columns,
                               .rows = (uint16_t)rows,
                               .master = -1};
        t->submission = (struct submission){.core = t->core,
                                            .caller = &t->caller,
                                            .sandbox = sb,
                                            .kind = EXECUTION_TERMINAL,
                                            .events = &events,
                                            .execution_events = &execution_events,
                                            .context = t};
        list_init(&t->link);
        if (submission_read(&t->submission, make_request(call->request), &err) < 0) {
                free(t);
                api_reply_refusal(call, &err);
                return;
        }
        t->submission.request.scanned = true; /* input that is typed later is not scanned either */
        http_on_gone(call->request, rest_terminal_on_gone, t);
        submission_start(&t->submission);
}
