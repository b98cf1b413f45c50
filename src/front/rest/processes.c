/* front/rest/processes.c -- background processes: start, write to, signal, follow. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/json.h"
#include "base/parse.h"
#include "core/execution/submit.h"
#include "front/rest/rest.h"
#include "front/sse.h"

static json_t *process_to_json(const struct execution *ex)
{
        json_t *command = exec_request_command(&ex->request);
        json_t *o = json_pack("{s:i, s:s, s:s, s:s?, s:o?, s:o}", "pid", ex->pid, "id", ex->id, "state",
                              execution_is_done(ex) ? "exited" : "running", "runtime", ex->request.runtime,
                              "command", command, "started", core_time(ex->started_ms));
        if (o && execution_is_done(ex)) {
                const struct cella_result *r = &ex->result;
                json_object_set_new(o, "status", json_string(cella_status_name(r->status)));
                json_object_set_new(o, "exit_code", json_integer(r->exit_code));
                json_object_set_new(o, "signal", r->signal ? json_integer(r->signal) : json_null());
        }
        return o;
}

/* Returns the process in the path; if there is none, answers 404 and returns NULL. */
static struct execution *rest_processes_find(struct call *call)
{
        struct core_sandbox *sb = api_sandbox(call);
        const char *text = http_param(call->request, 1);
        uint64_t pid = 0;
        struct cella_err err = {0};
        if (!sb)
                return NULL;
        struct execution *ex = parse_count(text, &pid) == 0 && pid > 0 && pid < INT32_MAX
                                       ? execution_find_process(sb, (int)pid)
                                       : NULL;
        if (ex)
                return ex;
        err_say(&err, CELLA_NOT_FOUND, -ESRCH, "no process '%.20s' in the background of this sandbox", text);
        api_reply_err(call, &err);
        return NULL;
}

/* ---- starting ---- */

struct starting {
        struct submission submission;
        struct call *call;
};

static void starting_free(struct starting *s)
{
        http_on_gone(s->call->request, NULL, NULL);
        free(s);
}

static void on_accepted(struct submission *submission, struct execution *ex)
{
        (void)submission;
        ex->no_deadline = ex->request.timeout_ms == 0 && !json_object_get(ex->request.limits, "timeout_ms");
        ex->task.ignore_for_idle = true;
}

static void rest_processes_on_refused(struct submission *submission, const struct cella_err *err)
{
        struct starting *s = list_entry(submission, struct starting, submission);
        struct call *call = s->call;
        starting_free(s);
        api_reply_refusal(call, err);
}

static void rest_processes_on_started(struct execution *ex, int terminal, void *context)
{
        struct starting *s = context;
        (void)terminal;
        execution_keep_process(ex->task.sandbox, ex);
        api_reply(s->call, 201, process_to_json(ex));
        starting_free(s);
        execution_release(ex);
}

static void rest_processes_on_end(struct execution *ex, void *context)
{
        struct starting *s = context;
        struct cella_err err = {0};
        err_say(&err, CELLA_NOT_FOUND, -ESRCH, "the process ended before it was started");
        api_reply_refusal(s->call, ex->failure.kind ? &ex->failure : &err);
        starting_free(s);
        execution_release(ex);
}

static void rest_processes_on_gone(struct http_request *request, void *context)
{
        struct starting *s = context;
        (void)request;
        submission_cancel(&s->submission); /* no client knows its pid */
        free(s);
}

void rest_process_start(struct call *call, json_t *body)
{
        static const struct submission_events events = {on_accepted, rest_processes_on_refused};
        static const struct execution_events execution_events = {.on_started = rest_processes_on_started,
                                                                 .on_end = rest_processes_on_end};
        struct cella_err err = {0};
        struct core_sandbox *sb = api_sandbox(call);
        struct starting *s = sb ? calloc(1, sizeof *s) : NULL;
        if (!s) {
                json_decref(body);
                if (sb) {
                        err_set(&err, CELLA_INTERNAL, -ENOMEM, "process");
                        api_reply_err(call, &err);
                }
                return;
        }
        s->call = call;
        s->submission = (struct submission){.core = call->core,
                                            .caller = &call->caller,
                                            .sandbox = sb,
                                            .kind = EXECUTION_BACKGROUND,
                                            .events = &events,
                                            .execution_events = &execution_events,
                                            .context = s};
        if (submission_read(&s->submission, body, &err) < 0) {
                free(s);
                api_reply_refusal(call, &err);
                return;
        }
        http_on_gone(call->request, rest_processes_on_gone, s);
        submission_start(&s->submission);
}

void rest_process_list(struct call *call, json_t *body)
{
        struct core_sandbox *sb = api_sandbox(call);
        (void)body;
        if (!sb)
                return;
        json_t *list = json_array();
        list_each (at, &sb->processes, other)
                json_array_append_new(list, process_to_json(list_entry(at, struct execution, process.link)));
        api_reply(call, 200, json_pack("{s:o}", "processes", list));
}

void rest_process_get(struct call *call, json_t *body)
{
        struct execution *ex = rest_processes_find(call);
        (void)body;
        if (ex)
                api_reply(call, 200, process_to_json(ex));
}

void rest_process_delete(struct call *call, json_t *body)
{
        struct execution *ex = rest_processes_find(call);
        (void)body;
        if (!ex)
                return;
        execution_cancel(ex);
        api_reply_nothing(call);
}

/* ---- input and signals ---- */

void rest_process_stdin(struct call *call, json_t *body)
{
        struct execution *ex = rest_processes_find(call);
        struct cella_err err = {0};
        size_t len;
        (void)body;
        if (!ex)
                return;
        const char *data = http_body(call->request, &len);
        int r = execution_feed(ex, data, len, api_flag(call, "eof"));
        if (r == 0) {
                if (ex->task.sandbox)
                        sandbox_touch(ex->task.sandbox);
                api_reply(call, 200, json_pack("{s:I}", "bytes", (json_int_t)len));
                return;
        }
        if (r == -ENOBUFS)
                err_say(&err, CELLA_OVER_CAPACITY, r, "the process does not read its standard input");
        else
                err_say(&err, CELLA_INVALID_REQUEST, r, "the process has closed its standard input");
        api_reply_err(call, &err);
}

static const struct {
        const char *name;
        int number;
} signals[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"KILL", SIGKILL},
               {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},
               {"CONT", SIGCONT}, {"STOP", SIGSTOP}, {"TSTP", SIGTSTP}, {"WINCH", SIGWINCH}};

static int signal_number(const json_t *value)
{
        if (json_is_integer(value))
                return json_integer_value(value) >= 1 && json_integer_value(value) <= 64
                               ? (int)json_integer_value(value)
                               : -1;
        const char *name = json_string_value(value);
        if (!name)
                return -1;
        if (!strncasecmp(name, "SIG", 3))
                name += 3;
        for (size_t i = 0; i < ARRAY_LEN(signals); i++)
                if (!strcasecmp(signals[i].name, name))
                        return signals[i].number;
        return -1;
}

static int check_signal(const json_t *value, const char *path, struct cella_err *err)
{
        return signal_number(value) > 0
                       ? 0
                       : err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                 "%s must be a number from 1 to 64, or a name such as TERM, KILL, INT, "
                                 "HUP, USR1",
                                 path);
}

const struct field *signal_fields(void)
{
        static const struct field fields[] = {{.name = "signal",
                                               .type = FIELD_ANY,
                                               .flags = FIELD_REQUIRED,
                                               .help = "a number, or a name such as TERM",
                                               .check = check_signal},
                                              {0}};
        return fields;
}

void rest_process_signal(struct call *call, json_t *body)
{
        struct execution *ex = rest_processes_find(call);
        struct cella_err err = {0};
        int signal = signal_number(json_object_get(body, "signal"));
        json_decref(body);
        if (!ex)
                return;
        if (execution_signal(ex, signal) < 0) {
                err_say(&err, CELLA_NOT_FOUND, -ESRCH, "the process has ended");
                api_reply_err(call, &err);
                return;
        }
        if (ex->task.sandbox)
                sandbox_touch(ex->task.sandbox);
        api_reply(call, 200, process_to_json(ex));
}

/* ---- output ---- */

static const char *const stream_names[] = {[CELLA_STDOUT] = "stdout", [CELLA_STDERR] = "stderr"};

/* Writes the kept bytes from an offset on. */
static void put_stream(struct json *j, const struct ring *ring, int i, uint64_t offset)
{
        char name[24];
        uint64_t oldest = ring_oldest(ring), from = offset > oldest ? offset : oldest;
        size_t len = from < ring->total ? (size_t)(ring->total - from) : 0;
        char *data = malloc(len + 1);
        if (!data)
                len = 0;
        else
                len = ring_copy(ring, from, data, len);
        json_put_bytes(j, stream_names[i], data ? data : "", len);
        snprintf(name, sizeof name, "%s_offset", stream_names[i]);
        json_put_number(j, name, from + len > offset ? from + len : offset);
        snprintf(name, sizeof name, "%s_lost", stream_names[i]);
        json_put_number(j, name, offset < oldest ? oldest - offset : 0);
        free(data);
}

static void reply_output(struct call *call, const struct execution *ex, const uint64_t offsets[2])
{
        char *text = NULL;
        size_t len = 0;
        struct json j = {.out = open_memstream(&text, &len)};
        if (!j.out)
                return;
        json_put_open(&j, NULL, '{');
        for (int i = 0; i < 2; i++)
                put_stream(&j, &ex->out[i].ring, i, offsets[i]);
        json_put_bool(&j, "running", !execution_is_done(ex));
        if (execution_is_done(ex))
                json_put_number(&j, "exit_code", (uint64_t)ex->result.exit_code);
        else
                json_put_null(&j, "exit_code");
        json_put_close(&j, '}');
        fclose(j.out);
        api_reply_text(call, 200, text, len);
}

struct following {
        struct follower follower;
        struct sse sse;
        struct call *call;
        struct execution *execution;
        uint64_t offsets[2];
        unsigned violations; /* number that was sent */
};

static void stop_following(struct following *f)
{
        list_remove(&f->follower.link);
        http_on_gone(f->call->request, NULL, NULL);
        http_on_room(f->call->request, NULL, NULL);
        execution_unref(f->execution);
        free(f);
}

/* Sends as much as there is room for.  Returns true when everything is sent. */
static bool catch_up(struct following *f, int i)
{
        const struct ring *ring = &f->execution->out[i].ring;
        char block[16384];
        while (f->offsets[i] < ring->total) {
                if (http_stream_room(f->call->request) == 0)
                        return false;
                uint64_t oldest = ring_oldest(ring);
                if (f->offsets[i] < oldest) { /* the client was too slow: older bytes are not kept */
                        sse_event(&f->sse, "lost",
                                  json_pack("{s:s, s:I}", "stream", stream_names[i], "bytes",
                                            (json_int_t)(oldest - f->offsets[i])));
                        f->offsets[i] = oldest;
                }
                size_t n = ring_copy(ring, f->offsets[i], block, sizeof block);
                if (n == 0)
                        return true;
                sse_output(&f->sse, (enum cella_stream)i, block, n);
                f->offsets[i] += n;
        }
        return true;
}

static void rest_processes_follow(struct follower *follower)
{
        struct following *f = list_entry(follower, struct following, follower);
        const struct execution *ex = f->execution;
        bool all = catch_up(f, 0);
        all = catch_up(f, 1) && all;
        for (; f->violations < observer_shown(&ex->observer); f->violations++)
                sse_event(&f->sse, "violation", violation_to_json(&ex->observer.all.list[f->violations]));
        if (!all || !execution_is_done(ex))
                return;
        sse_flush(&f->sse);
        sse_event(&f->sse, "exit", process_to_json(ex));
        sse_end(&f->sse);
        stop_following(f);
}

static void follow_refused(struct sse *sse)
{
        struct following *f = list_entry(sse, struct following, sse);
        struct cella_err err = {0};
        err_say(&err, CELLA_UNAUTHORIZED, -EACCES, "the key was removed");
        sse_event(sse, "error", api_error(f->call, &err));
        sse_end(sse);
        stop_following(f);
}

static void follow_room(struct http_request *request, void *context)
{
        struct following *f = context;
        (void)request;
        rest_processes_follow(&f->follower);
}

static void follow_gone(struct http_request *request, void *context)
{
        struct following *f = context;
        (void)request;
        sse_forget(&f->sse);
        stop_following(f);
}

void rest_process_output(struct call *call, json_t *body)
{
        struct execution *ex = rest_processes_find(call);
        uint64_t offsets[2];
        (void)body;
        if (!ex || api_number(call, "stdout", 0, INT64_MAX, 0, &offsets[0]) < 0 ||
            api_number(call, "stderr", 0, INT64_MAX, 0, &offsets[1]) < 0)
                return;
        if (!api_wants_events(call)) {
                reply_output(call, ex, offsets);
                return;
        }
        struct following *f = calloc(1, sizeof *f);
        if (!f) {
                struct cella_err err = {0};
                err_set(&err, CELLA_INTERNAL, -ENOMEM, "output");
                api_reply_err(call, &err);
                return;
        }
        f->call = call;
        f->execution = ex;
        f->follower.on_more = rest_processes_follow;
        memcpy(f->offsets, offsets, sizeof offsets);
        execution_ref(ex);
        sse_begin(&f->sse, call, ex->request.base64);
        sse_event(&f->sse, "start",
                  json_pack("{s:s, s:s, s:i}", "id", ex->id, "sandbox", ex->sandbox_id, "pid", ex->pid));
        http_on_gone(call->request, follow_gone, f);
        http_on_room(call->request, follow_room, f);
        list_init(&f->follower.link);
        list_add(&ex->followers, &f->follower.link);
        sse_guard(&f->sse, follow_refused);
        rest_processes_follow(&f->follower);
}
