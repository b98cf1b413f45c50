/* box/execution.c -- the life of an execution, from the request to the last event.
 *
 *   new -> attached -> (files) -> (the code's file) -> spawned -> over -> counted -> (listed) -> done
 *
 * How it starts is in execution_start.c, its pipes are in execution_io.c, its deadlines in
 * execution_clock.c. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "box/execution_parts.h"
#include "box/pool.h"
#include "engine/command.h"
#include "engine/isolation.h"
#include "engine/result.h"

#define LOG_OUTPUT_MAX (64u * 1024)
#define PROCESSES_KEPT 64
#define EARLY_US 5000 /* counters that are older say nothing of the end */

const uint64_t metrics_bounds_us[METRICS_BUCKETS] = {500,     1000,    2000,     5000,     10000,
                                                     25000,   50000,   100000,   250000,   500000,
                                                     1000000, 5000000, 30000000, 120000000};

/* ---- who holds it: the one who asked, the machinery until it is done, each open handle ---- */

void execution_ref(struct execution *ex)
{
        ex->refs++;
}

void execution_unref(struct execution *ex)
{
        if (--ex->refs > 0)
                return;
        for (int i = 0; i < 2; i++) {
                keep_done(&ex->out[i].keep);
                ring_done(&ex->out[i].ring);
        }
        free(ex->in.data);
        if (ex->control >= 0)
                close(ex->control);
        cella_result_done(&ex->result);
        exec_request_done(&ex->request);
        free(ex);
}

static void on_handle_closed(uv_handle_t *handle)
{
        execution_unref(handle->data);
}

void execution_drop_handle(uv_handle_t *handle)
{
        if (!uv_is_closing(handle))
                uv_close(handle, on_handle_closed);
}

void execution_release(struct execution *ex)
{
        ex->events = NULL;
        ex->context = NULL;
        if (ex->waits)
                execution_go_on(ex);
        execution_unref(ex);
}

/* ---- the end ---- */

static struct audit_begin log_begin(const struct execution *ex)
{
        return (struct audit_begin){
                .id = ex->id,
                .sandbox = ex->sandbox_id,
                .runtime = ex->request.runtime,
                .key = ex->key[0] ? ex->key : NULL,
                .session = ex->request.session,
                .agent = ex->request.agent,
                .input = ex->request.log_input,
                .input_len = ex->request.log_input_len,
                .started_ms = ex->started_ms,
        };
}

static void write_log(struct execution *ex)
{
        const struct cella_result *r = &ex->result;
        const struct audit_begin begin = log_begin(ex);
        struct audit_end end = {
                .status = cella_status_name(r->status),
                .exit_code = r->exit_code,
                .signal = r->signal,
                .duration_us = r->duration_us,
                .cpu_us = r->cpu_us,
                .memory_peak_bytes = r->memory_peak_bytes,
                .processes_peak = r->processes_peak,
        };
        for (int i = 0; i < 2; i++) {
                end.output[i] = r->output[i];
                end.output_len[i] = r->output_len[i];
                end.output_total[i] = r->output_total[i];
        }
        if (ex->failure.kind)
                audit_cancel(ex->box->audit, ex->audit_slot);
        else
                audit_end(ex->box->audit, ex->audit_slot, &begin, &end);
}

static void count(const struct execution *ex)
{
        struct metrics *m = &ex->box->metrics;
        size_t i = 0;
        m->executions[ex->result.status]++;
        m->latency_sum_us += ex->result.duration_us;
        while (i < METRICS_BUCKETS && ex->result.duration_us > metrics_bounds_us[i])
                i++;
        m->latency[i]++;
}

/* The answer goes out first; the log is written and the sandbox ended behind it. */
static void finish(struct execution *ex)
{
        struct box_sandbox *sb = ex->task.sandbox;
        if (ex->done)
                return;
        ex->done = true;
        keeper_link_forget(ex->box->keeper, ex);
        if (sb) {
                if (ex->tag && sb->channel)
                        channel_forget(sb->channel, ex->tag);
                if (ex->put_tag && ex->put_tag != ex->tag && sb->channel)
                        channel_forget(sb->channel, ex->put_tag);
                sandbox_slot_give(sb, ex->slot);
                sandbox_detach(&ex->task);
        }
        execution_close_io(ex);
        execution_clock_done(ex);
        list_remove(&ex->link);
        if (ex->events && ex->events->on_end)
                ex->events->on_end(ex, ex->context);
        list_each (at, &ex->followers, other)
                list_entry(at, struct follower, link)->on_more(list_entry(at, struct follower, link));
        if (ex->logged)
                write_log(ex);
        if (!ex->failure.kind)
                count(ex);
        if (sb && sb->one_shot)
                sandbox_remove(sb);
        pools_refill(ex->box);
        execution_unref(ex);
}

void execution_fail(struct execution *ex, const struct cella_err *err)
{
        ex->failure = *err;
        finish(ex);
}

static void fill_result(struct execution *ex)
{
        struct cella_result *r = &ex->result;
        r->duration_us = ex->started_us ? (uint64_t)(clock_us() - ex->started_us) : 0;
        verdict(&ex->facts, r);
        memcpy(r->id, ex->id, sizeof r->id);
        memcpy(r->sandbox, ex->sandbox_id, sizeof r->sandbox);
        for (int i = 0; i < 2; i++) {
                r->output_total[i] = ex->out[i].total;
                r->output_truncated[i] = ex->kind == EXECUTION_PLAIN && keep_truncated(&ex->out[i].keep);
                keep_take(&ex->out[i].keep, &r->output[i], &r->output_len[i]);
        }
}

/* What the sandbox's counters say of this execution.  One of many knows only that a peak of the
 * sandbox rose while it ran; else init has its own. */
static void use_counters(struct execution *ex, const struct box_sandbox *sb, const struct keeper_counted *now)
{
        const struct keeper_counted *before = &ex->before;
        struct cgroup_usage *u = &ex->facts.usage;
        ex->facts.counted = now->known != 0;
        u->oom_kills = now->oom_kills - before->oom_kills;
        u->forks_refused = now->forks_refused - before->forks_refused;
        u->cpu_known = sb->one_shot && (now->known & KEEPER_KNOWS_CPU);
        u->cpu_us = now->cpu_us - before->cpu_us;
        u->memory_known =
                (now->known & KEEPER_KNOWS_MEMORY) && now->memory_peak_bytes > before->memory_peak_bytes;
        u->memory_peak_bytes = now->memory_peak_bytes;
        u->processes_known =
                (now->known & KEEPER_KNOWS_PROCESSES) && now->processes_peak > before->processes_peak;
        u->processes_peak = now->processes_peak;
}

static void keep_file(struct execution *ex, const char *data, size_t len)
{
        struct cella_result *r = &ex->result;
        struct init_file head;
        if (len < sizeof head || r->n_files == INIT_FILES_MAX)
                return;
        if (!r->files && !(r->files = calloc(INIT_FILES_MAX, sizeof *r->files)))
                return;
        memcpy(&head, data, sizeof head);
        char *path = strndup(data + sizeof head, len - sizeof head);
        if (path && !strcmp(path, ex->script) && head.bytes == ex->request.code_len)
                free(path); /* the code itself, as it came */
        else if (path)
                r->files[r->n_files++] = (struct cella_file){
                        .path = path, .change = head.added ? "added" : "modified", .bytes = head.bytes};
}

static void on_listed(void *context, const struct message *message, const char *data)
{
        struct execution *ex = context;
        struct message m = *message;
        uint32_t incomplete = 1;
        message_close_fds(&m);
        if (m.type == INIT_FILE) {
                keep_file(ex, data, m.len);
                return;
        }
        if (m.type == INIT_DONE && m.len == sizeof incomplete)
                memcpy(&incomplete, data, sizeof incomplete);
        ex->result.files_truncated = incomplete != 0;
        finish(ex);
}

void execution_list_given_up(struct execution *ex)
{
        ex->result.files_truncated = true;
        finish(ex);
}

/* Which files changed, if that was asked for and there is still an init to ask. */
static void list_or_finish(struct execution *ex)
{
        struct box_sandbox *sb = ex->task.sandbox;
        if (!ex->request.list_files || ex->listed || !sb || !sb->channel || sb->died) {
                finish(ex);
                return;
        }
        const struct init_list list = {
                .since_ns = (uint64_t)ex->since.tv_sec * 1000000000u + (uint64_t)ex->since.tv_nsec,
                .all_added = sb->one_shot && sb->workspace == WORKSPACE_NONE && ex->request.n_files == 0,
        };
        channel_forget(sb->channel, ex->tag);
        ex->tag = channel_open_tag(sb->channel, on_listed, ex);
        if (sb->throttled && sb->one_shot) /* it is init's work now, not the code's */
                keeper_link_ask(ex->box->keeper, KEEPER_UNTHROTTLE, sb->handle, NULL, NULL);
        execution_clock_list(ex);
        if (channel_send(sb->channel, INIT_LIST, ex->tag, NULL, 0, &list, sizeof list, NULL, 0) < 0)
                execution_list_given_up(ex);
}

static void on_counted(void *context, const union keeper_packet *packet, int fd)
{
        struct execution *ex = context;
        (void)fd;
        if (packet->type == KEEPER_COUNTED && ex->task.sandbox)
                use_counters(ex, ex->task.sandbox, &packet->counted);
        fill_result(ex);
        list_or_finish(ex);
}

static void on_early(void *context, const union keeper_packet *packet, int fd)
{
        struct execution *ex = context;
        if (ex->early_wanted) {
                on_counted(ex, packet, fd);
        } else if (packet->type == KEEPER_COUNTED) {
                ex->early = packet->counted;
                ex->early_known = true;
        }
}

void execution_output_ended(struct execution *ex)
{
        struct box_sandbox *sb = ex->task.sandbox;
        if (ex->over || !ex->spawned || ex->early_us || !sb || !sb->one_shot || !sb->counted || sb->died)
                return;
        if (sandbox_count(sb, on_early, ex) == 0)
                ex->early_us = clock_us();
}

/* Whether what was asked for when the output ended will do; on_early() goes on if it has yet to come. */
static bool counted_early(struct execution *ex, const struct box_sandbox *sb)
{
        /* What it died of may have happened since; of one that ended well only a peak can be missed. */
        if (!ex->early_us || clock_us() - ex->early_us > EARLY_US || ex->facts.exited.wait_status != 0)
                return false;
        ex->early_wanted = !ex->early_known;
        if (ex->early_known) {
                use_counters(ex, sb, &ex->early);
                fill_result(ex);
                list_or_finish(ex);
        }
        return true;
}

void execution_over(struct execution *ex)
{
        struct box_sandbox *sb = ex->task.sandbox;
        if (ex->over)
                return;
        ex->over = true;
        execution_clock_stop(ex);
        execution_drain(ex);
        if (sb && sb->counted && counted_early(ex, sb))
                return;
        if (sb && sb->counted && sandbox_count(sb, on_counted, ex) == 0)
                return;
        fill_result(ex);
        list_or_finish(ex);
}

static void on_lost(struct task *task, struct box_sandbox *sb, const struct cella_err *err)
{
        struct execution *ex = list_entry(task, struct execution, task);
        struct cella_err gone = {0};
        if (ex->over) { /* only the paperwork is missing */
                if (!ex->result.id[0])
                        fill_result(ex);
                ex->result.files_truncated = ex->request.list_files;
                finish(ex);
                return;
        }
        if (ex->facts.ending == END_BY_ITSELF && (!ex->spawned || err)) {
                err_say(&gone, CELLA_NOT_FOUND, -ENOENT, "the sandbox %s has ended", ex->sandbox_id);
                execution_fail(ex, err ? err : &gone);
                return;
        }
        if (ex->facts.ending == END_BY_ITSELF && sb->removing)
                ex->facts.ending = END_CANCELLED;
        ex->over = true;
        execution_clock_stop(ex);
        execution_drain(ex);
        use_counters(ex, sb, &sb->counters);
        fill_result(ex);
        finish(ex);
}

/* ---- the beginning ---- */

void execution_started(struct execution *ex, const struct message *m, int32_t pid)
{
        unsigned wanted = m && ex->kind == EXECUTION_TERMINAL && m->n_fds > 0 ? 1 : 0;
        int terminal = wanted ? m->fds[0] : -1;
        for (unsigned i = wanted; m && i < m->n_fds; i++)
                close(m->fds[i]);
        ex->pid = pid;
        if (ex->events && ex->events->on_started && !ex->announced)
                ex->events->on_started(ex, terminal, ex->context);
        else if (terminal >= 0)
                close(terminal);
        ex->announced = true;
}

/* What init says of its files unasked. */
static void hear_file(struct execution *ex, const struct message *m, const char *data)
{
        uint32_t incomplete = 1;
        if (!ex->lists)
                return;
        if (m->type == INIT_FILE) {
                keep_file(ex, data, m->len);
                return;
        }
        if (m->len == sizeof incomplete)
                memcpy(&incomplete, data, sizeof incomplete);
        ex->result.files_truncated = incomplete != 0;
        ex->listed = true;
}

static void on_message(void *context, const struct message *message, const char *data)
{
        struct execution *ex = context;
        struct message m = *message;
        int32_t pid = 0;
        if (m.type == INIT_STARTED && m.len == sizeof pid)
                memcpy(&pid, data, sizeof pid);
        if (pid > 0 && ex->spawned && !ex->over && ex->pid == 0) {
                execution_started(ex, message, pid);
                return;
        }
        message_close_fds(&m);
        const bool exited = m.type == INIT_EXITED && m.len == sizeof ex->facts.exited;
        const bool failed = m.type == INIT_FAILED && m.len == sizeof(struct cella_err);
        if (ex->over) /* it has said all that counts */
                return;
        if (failed && ex->spawned && execution_start_again(ex))
                return;
        if (ex->spawned && (m.type == INIT_FILE || m.type == INIT_DONE)) {
                hear_file(ex, &m, data);
        } else if (exited && ex->spawned) {
                memcpy(&ex->facts.exited, data, sizeof ex->facts.exited);
                ex->facts.reported = true;
                if (ex->facts.exited.cpu_us > ex->cpu_before_us)
                        ex->facts.exited.cpu_us -= ex->cpu_before_us;
                if (!execution_start_again(ex))
                        execution_over(ex);
        } else if ((failed && (ex->spawned || ex->due)) ||
                   (!ex->spawned && m.type == ex->due && (exited || m.type == INIT_DONE))) {
                execution_hear_start(ex, m.type, data);
        } else if (ex->task.sandbox) { /* nothing else is due: whoever speaks there is not our init */
                keeper_link_ask(ex->box->keeper, KEEPER_KILL, ex->task.sandbox->handle, NULL, NULL);
        }
}

static void on_before(void *context, const union keeper_packet *packet, int fd)
{
        struct execution *ex = context;
        (void)fd;
        if (packet->type == KEEPER_COUNTED)
                ex->before = packet->counted;
}

/* What waits there is ours from now on. */
static void take_over(struct execution *ex, struct box_sandbox *sb)
{
        struct waiting *w = sb->waiting;
        ex->how = w->how;
        ex->pid = w->pid;
        ex->cpu_before_us = w->cpu_us;
        ex->tag = w->tag;
        ex->put_tag = channel_open_tag(sb->channel, on_message, ex);
        if (ex->tag)
                channel_hand_over(sb->channel, ex->tag, on_message, ex);
        else
                ex->tag = ex->put_tag;
        ex->control = TAKE_FD(w->control);
        ex->waited = ex->control >= 0;
        waiting_free(w);
}

static void on_channel(struct task *task)
{
        struct execution *ex = list_entry(task, struct execution, task);
        struct box_sandbox *sb = task->sandbox;
        struct cella_err err = {0};
        if (sb->waiting)
                take_over(ex, sb);
        else
                ex->tag = ex->put_tag = channel_open_tag(sb->channel, on_message, ex);
        ex->slot = sandbox_slot_take(sb);
        if (ex->tag == 0 || ex->put_tag == 0 || ex->slot < 0) {
                err_say(&err, CELLA_OVER_CAPACITY, -EAGAIN, "too many executions at once in this sandbox");
                execution_fail(ex, &err);
                return;
        }
        const json_t *cpu = json_object_get(ex->request.limits, "cpu_time_ms");
        if (cpu && !json_is_null(cpu) && !sb->counted) {
                err_say(&err, CELLA_ISOLATION_UNAVAILABLE, -ENOTSUP,
                        "cgroup: the limit on CPU time cannot be enforced here");
                execution_fail(ex, &err);
                return;
        }
        if (sb->counted && !sb->one_shot)
                sandbox_count(sb, on_before, ex);
        sb->executions++;
        execution_begin(ex);
}

static void on_ready(struct task *task)
{
        struct execution *ex = list_entry(task, struct execution, task);
        ex->walls = task->sandbox->walls;
        ex->missing = task->sandbox->missing;
        if (ex->spawned)
                execution_clock_start(ex);
}

/* So that a crash from here on finds it in the log. */
void execution_log_begin(struct execution *ex)
{
        const struct audit_begin begin = log_begin(ex);
        ex->audit_slot = audit_begin(ex->box->audit, &begin);
        ex->logged = true;
}

static void keep_output(struct execution *ex)
{
        for (int i = 0; i < 2; i++) {
                struct stream_out *out = &ex->out[i];
                out->fd = -1;
                keep_init(&out->keep, ex->kind == EXECUTION_PLAIN ? ex->limits.output_bytes : LOG_OUTPUT_MAX);
                ring_init(&out->ring, ex->kind == EXECUTION_BACKGROUND ? ex->limits.output_bytes : 0);
        }
}

int execution_new(struct box *box, const struct caller *caller, struct box_sandbox *sb,
                  struct exec_request *request, const struct cella_limits *limits, enum execution_kind kind,
                  const struct execution_events *events, void *context, struct execution **ret,
                  struct cella_err *err)
{
        struct execution *ex = calloc(1, sizeof *ex);
        int r = ex ? id_make("exe_", ex->id) : -ENOMEM;
        if (r < 0) {
                free(ex);
                exec_request_done(request);
                return err_set(err, CELLA_INTERNAL, r, "execution");
        }
        ex->box = box;
        ex->wanted = sb;
        ex->refs = 2; /* the caller's, and until it is done */
        ex->kind = kind;
        ex->request = *request;
        *request = (struct exec_request){0};
        ex->limits = *limits;
        ex->slot = ex->audit_slot = -1;
        ex->in.fd = ex->control = -1;
        ex->how.template_fd = -1;
        ex->events = events;
        ex->context = context;
        ex->started_ms = box_now_ms();
        memcpy(ex->sandbox_id, sb->id, sizeof ex->sandbox_id);
        memcpy(ex->key, caller->key, sizeof ex->key);
        keep_output(ex);
        list_init(&ex->process_link);
        list_init(&ex->followers);
        ex->task = (struct task){.on_channel = on_channel,
                                 .on_ready = on_ready,
                                 .on_lost = on_lost,
                                 .on_paused = execution_paused};
        list_init(&ex->task.link);
        list_add(&box->executions, &ex->link);
        execution_clock_init(ex);
        *ret = ex;
        return 0;
}

void execution_start(struct execution *ex)
{
        struct box_sandbox *sb = ex->wanted;
        ex->wanted = NULL;
        ex->walls = sb->walls;
        ex->missing = sb->missing;
        if (sb->state == SANDBOX_PAUSED) {
                struct cella_err err = {0};
                err_say(&err, CELLA_INVALID_REQUEST, -EBUSY, "the sandbox %s is paused", sb->id);
                err_hint(&err, "POST /v1/sandboxes/%s/resume", sb->id);
                execution_fail(ex, &err);
                return;
        }
        sandbox_attach(sb, &ex->task);
}

void execution_cancel(struct execution *ex)
{
        if (ex->over || ex->done)
                return;
        if (ex->spawned) {
                execution_end(ex, END_CANCELLED);
                return;
        }
        /* Nothing runs yet; a sandbox of its own goes with it. */
        ex->facts.ending = END_CANCELLED;
        ex->over = true;
        execution_clock_stop(ex);
        fill_result(ex);
        finish(ex);
}

void execution_terminate(struct execution *ex)
{
        if (ex->over)
                return;
        if (ex->facts.ending == END_BY_ITSELF)
                ex->facts.ending = END_CANCELLED;
        if (ex->spawned)
                execution_signal(ex, SIGTERM);
        else
                execution_cancel(ex);
}

int execution_signal(struct execution *ex, int signal)
{
        struct box_sandbox *sb = ex->task.sandbox;
        const struct init_signal request = {.signal = signal, .target = ex->tag};
        if (!ex->spawned || ex->over || !sb || !sb->channel)
                return -ESRCH;
        return channel_send(sb->channel, INIT_SIGNAL, 0, NULL, 0, &request, sizeof request, NULL, 0);
}

/* ---- looking at them ---- */

struct execution *execution_find(const struct box *box, const struct caller *caller, const char *id)
{
        list_each (at, &box->executions, other) {
                struct execution *ex = list_entry(at, struct execution, link);
                if (!strcmp(ex->id, id) &&
                    (caller_sees(caller, ex->key) || (caller->capabilities & MAY_AUDIT)))
                        return ex;
        }
        return NULL;
}

struct execution *execution_find_process(const struct box_sandbox *sb, int pid)
{
        struct execution *found = NULL;
        list_each (at, &sb->processes, other) {
                struct execution *ex = list_entry(at, struct execution, process_link);
                if (ex->pid == pid) /* the newest, should a number have come again */
                        found = ex;
        }
        return found;
}

unsigned execution_processes_running(const struct box_sandbox *sb)
{
        unsigned n = 0;
        list_each (at, &sb->processes, other)
                n += !list_entry(at, struct execution, process_link)->done;
        return n;
}

static void forget_process(struct box_sandbox *sb, struct execution *ex)
{
        list_remove(&ex->process_link);
        sb->n_processes--;
        execution_unref(ex);
}

void execution_keep_process(struct box_sandbox *sb, struct execution *ex)
{
        execution_ref(ex);
        list_add(&sb->processes, &ex->process_link);
        sb->n_processes++;
        list_each (at, &sb->processes, other) {
                struct execution *old = list_entry(at, struct execution, process_link);
                if (sb->n_processes <= PROCESSES_KEPT)
                        break;
                if (old->done)
                        forget_process(sb, old);
        }
}

void execution_forget_processes(struct box_sandbox *sb)
{
        while (!list_empty(&sb->processes))
                forget_process(sb, list_entry(sb->processes.next, struct execution, process_link));
}

json_t *execution_to_json(const struct execution *ex)
{
        return json_pack("{s:s, s:s, s:s?, s:O?, s:s, s:s?, s:s?, s:s?, s:o}", "id", ex->id, "sandbox",
                         ex->sandbox_id, "runtime", ex->request.runtime, "command",
                         json_object_get(ex->request.document, "command"), "status",
                         ex->done ? cella_status_name(ex->result.status) : "running", "session",
                         ex->request.session, "agent", ex->request.agent, "key", ex->key[0] ? ex->key : NULL,
                         "started", box_time(ex->started_ms));
}

char *execution_result_text(const struct execution *ex, unsigned flags, size_t *ret_len)
{
        struct cella_isolation isolation;
        char *text = NULL;
        struct json j = {.out = open_memstream(&text, ret_len)};
        if (!j.out)
                return NULL;
        isolation_fill(ex->walls, ex->missing, &isolation);
        result_write(&j, &ex->result, ex->request.runtime, &isolation, flags);
        fclose(j.out);
        return text;
}
