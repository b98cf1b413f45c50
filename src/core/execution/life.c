/* core/execution/life.c -- the life cycle of an execution, from the request to the last callback.
 *
 *  new -> attached -> (files) -> (the code's file) -> spawned -> over -> counted -> (listed) -> done
 *
 * start.c starts it, end.c ends it, io.c has its pipes, clock.c its deadlines. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/states.h"
#include "core/execution/internal.h"
#include "core/pool/member.h"
#include "core/pool/pool.h"
#include "engine/command.h"
#include "engine/result.h"

#define LOG_OUTPUT_MAX (64u * 1024)
#define PROCESSES_KEPT 64

static const uint32_t next_phases[EXECUTION_PHASES] = {
        [EXECUTION_NEW] = STATE(EXECUTION_ATTACHED) | STATE(EXECUTION_ENDED) | STATE(EXECUTION_DONE),
        [EXECUTION_ATTACHED] = STATE(EXECUTION_NEW) | STATE(EXECUTION_RUNNING) | STATE(EXECUTION_ENDED) |
                               STATE(EXECUTION_DONE),
        [EXECUTION_RUNNING] = STATE(EXECUTION_ATTACHED) | STATE(EXECUTION_ENDED) | STATE(EXECUTION_DONE),
        [EXECUTION_ENDED] = STATE(EXECUTION_FINISHING) | STATE(EXECUTION_DONE),
        [EXECUTION_FINISHING] = STATE(EXECUTION_DONE),
};

static const char *const phase_names[EXECUTION_PHASES] = {
        [EXECUTION_NEW] = "new",     [EXECUTION_ATTACHED] = "attached",   [EXECUTION_RUNNING] = "running",
        [EXECUTION_ENDED] = "ended", [EXECUTION_FINISHING] = "finishing", [EXECUTION_DONE] = "done"};

static const struct states phases = {"execution", phase_names, next_phases, EXECUTION_PHASES};

void execution_set_phase(struct execution *ex, enum execution_phase phase)
{
        if (states_may(&phases, ex->phase, phase))
                ex->phase = phase;
}

/* ---- references: the client's, one until it is done (the pipes are closed then), its timer's ---- */

void execution_ref(struct execution *ex)
{
        ex->refs++;
}

void execution_unref(struct execution *ex)
{
        if (--ex->refs > 0)
                return;
        for (int i = 0; i < 2; i++) {
                mask_stream_free(ex->out[i].mask); /* before the mask, which belongs to the request */
                keep_done(&ex->out[i].keep);
                ring_done(&ex->out[i].ring);
        }
        free(ex->in.data);
        if (ex->control >= 0)
                close(ex->control);
        pictures_free(ex->pictures);
        free(ex->values.program);
        for (unsigned i = 0; i < ex->n_results; i++)
                free(ex->results[i]);
        cella_result_done(&ex->result);
        observer_done(&ex->observer);
        exec_request_done(&ex->request);
        free(ex);
}

void execution_release(struct execution *ex)
{
        ex->events = NULL;
        ex->context = NULL;
        if (ex->waits)
                execution_continue(ex);
        execution_unref(ex);
}

/* ---- start ---- */

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

static void execution_on_message(void *context, const struct message *message, const char *data)
{
        struct execution *ex = context;
        struct message m = *message;
        int32_t pid = 0;
        if (m.type == INIT_STARTED && m.len == sizeof pid)
                memcpy(&pid, data, sizeof pid);
        const bool running = ex->phase == EXECUTION_RUNNING;
        if (pid > 0 && running && ex->pid == 0) {
                execution_started(ex, message, pid);
                return;
        }
        message_close_fds(&m);
        const bool exited = m.type == INIT_EXITED && m.len == sizeof ex->facts.exited;
        const bool failed = m.type == INIT_FAILED && m.len == sizeof(struct cella_err);
        if (ex->phase >= EXECUTION_ENDED)
                return;
        if (!running && ex->control >= 0 && m.tag != ex->put_tag &&
            (exited || m.type == INIT_FILE || m.type == INIT_DONE)) {
                if (exited) /* ignores its earlier file list, which contains the files of the request */
                        execution_interpreter_died(ex);
                return;
        }
        if (failed && running && execution_start_again(ex))
                return;
        if (running && (m.type == INIT_FILE || m.type == INIT_DONE)) {
                execution_receive_file(ex, &m, data);
        } else if (exited && running) {
                memcpy(&ex->facts.exited, data, sizeof ex->facts.exited);
                ex->facts.reported = true;
                if (ex->file_list == LIST_EXPECTED && ex->facts.exited.none_added)
                        ex->file_list = LIST_RECEIVED;
                if (execution_start_again(ex))
                        return;
                if (ex->facts.exited.cpu_us > ex->cpu_before_us)
                        ex->facts.exited.cpu_us -= ex->cpu_before_us;
                execution_over(ex);
        } else if ((failed && (running || ex->due)) ||
                   (!running && m.type == ex->due && (exited || m.type == INIT_DONE))) {
                execution_receive_start(ex, m.type, data);
        } else if (ex->task.sandbox) { /* init sends nothing else now: the sender is not our init */
                sandbox_ask(ex->task.sandbox, KEEPER_KILL, NULL, NULL);
        }
}

static void on_before(void *context, const union keeper_packet *packet, int fd)
{
        struct execution *ex = context;
        (void)fd;
        if (packet->type == KEEPER_COUNTED)
                ex->before = packet->counted;
}

static void on_cpu_before(void *context, const union keeper_packet *packet, int fd)
{
        struct execution *ex = context;
        (void)fd;
        if (packet->type == KEEPER_COUNTED) {
                ex->before.cpu_us = packet->counted.cpu_us;
                ex->cpu_counted = true;
        }
}

void execution_count_before(struct execution *ex)
{
        struct core_sandbox *sb = ex->task.sandbox;
        struct keeper_counted now;
        if (!sb->one_shot || !sb->counted)
                return;
        if (!sandbox_counted(sb, true, &now)) {
                sandbox_count(sb, on_cpu_before, ex);
                return;
        }
        ex->before.cpu_us = now.cpu_us;
        ex->cpu_counted = true;
}

uint64_t execution_cpu_before_us(const struct execution *ex, const struct core_sandbox *sb)
{
        return sb->one_shot && !ex->cpu_counted ? sb->cpu_made_us + ex->cpu_before_us : ex->before.cpu_us;
}

/* Takes over the waiting interpreter of the sandbox. */
static void take_over(struct execution *ex, struct core_sandbox *sb)
{
        struct waiting *w = sb->waiting;
        ex->how = w->how;
        ex->pid = w->pid;
        ex->cpu_before_us = w->cpu_us;
        ex->tag = w->tag;
        ex->put_tag = channel_open_tag(sb->channel, execution_on_message, ex);
        if (ex->tag)
                channel_hand_over(sb->channel, ex->tag, execution_on_message, ex);
        else
                ex->tag = ex->put_tag;
        ex->control = TAKE_FD(w->control);
        ex->waited = ex->control >= 0;
        waiting_free(w);
}

/* Returns the lowest number that no active command of the sandbox has; -1: too many. */
static int take_slot(struct core_sandbox *sb)
{
        for (unsigned i = 0; i < ARRAY_LEN(sb->slots); i++)
                if (~sb->slots[i]) {
                        int bit = __builtin_ctzll(~sb->slots[i]);
                        sb->slots[i] |= UINT64_C(1) << bit;
                        return (int)i * 64 + bit;
                }
        return -1;
}

void execution_release_slot(const struct execution *ex, struct core_sandbox *sb)
{
        if (ex->slot >= 0)
                sb->slots[ex->slot / 64] &= ~(UINT64_C(1) << (ex->slot % 64));
}

static void execution_on_channel(struct task *task)
{
        struct execution *ex = list_entry(task, struct execution, task);
        struct core_sandbox *sb = task->sandbox;
        struct cella_err err = {0};
        if (sb->waiting)
                take_over(ex, sb);
        else
                ex->tag = ex->put_tag = channel_open_tag(sb->channel, execution_on_message, ex);
        ex->slot = take_slot(sb);
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
        observer_watch(&ex->observer, &sb->observers);
        egress_begin(&sb->egress, &ex->observer);
        sb->executions++;
        execution_set_phase(ex, EXECUTION_ATTACHED);
        if (!ex->request.scan_first)
                execution_begin(ex);
}

static void execution_on_ready(struct task *task)
{
        struct execution *ex = list_entry(task, struct execution, task);
        ex->walls = task->sandbox->walls;
        ex->missing = task->sandbox->missing;
        if (ex->phase == EXECUTION_RUNNING)
                execution_clock_start(ex);
}

static void execution_on_violation(struct observer *observer, const struct violation *violation)
{
        struct execution *ex = list_entry(observer, struct execution, observer);
        if (ex->events && ex->events->on_violation)
                ex->events->on_violation(ex, violation, ex->context);
        list_each (at, &ex->followers, other)
                list_entry(at, struct follower, link)->on_more(list_entry(at, struct follower, link));
}

static const struct observer_events observer_events = {execution_on_violation, execution_counted};

/* Called before the code is released: from here on a crash of the daemon leaves a row in the log. */
void execution_log_begin(struct execution *ex)
{
        if (ex->logged) /* it was started again */
                return;
        char text[AUDIT_ABOUT_SLOT_MAX];
        struct audit_begin begin = execution_log(ex);
        const struct about about = execution_about(ex);
        char runtime[ABOUT_NAME_SIZE];
        begin.runtime = about_runtime(&ex->request, runtime);
        begin.about = text;
        begin.about_len = about_write_short(&about, text);
        ex->audit_slot = audit_begin(ex->core->audit, &begin);
        ex->logged = true;
}

static int keep_output(struct execution *ex, struct cella_err *err)
{
        int r = 0;
        for (int i = 0; i < 2; i++) {
                struct stream_out *out = &ex->out[i];
                out->fd = -1;
                if (r == 0)
                        r = mask_stream_new(exec_request_mask(&ex->request), &out->mask, err);
                keep_init(&out->keep, ex->kind == EXECUTION_PLAIN ? ex->limits.output_bytes : LOG_OUTPUT_MAX);
                ring_init(&out->ring, ex->kind == EXECUTION_BACKGROUND ? ex->limits.output_bytes : 0);
        }
        /* The callers must have obtained the secrets: code must not run without those it names. */
        if (r == 0 && json_object_size(ex->request.secrets) > 0 && !ex->request.grant)
                r = err_set(err, CELLA_INTERNAL, -EINVAL, "secrets were not granted");
        return r;
}

int execution_new(struct core *core, const struct caller *caller, struct core_sandbox *sb,
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
        ex->core = core;
        ex->wanted = sb;
        ex->refs = 2; /* the client's, and one until it is done */
        ex->kind = kind;
        ex->request = *request;
        *request = (struct exec_request){0};
        ex->limits = *limits;
        ex->slot = ex->audit_slot = -1;
        ex->in.fd = ex->values.fd = ex->control = -1;
        ex->how.template_fd = -1;
        ex->events = events;
        ex->context = context;
        ex->come_us = clock_us();
        ex->started_ms = core_now_ms();
        memcpy(ex->sandbox_id, sb->id, sizeof ex->sandbox_id);
        memcpy(ex->key, caller->key, sizeof ex->key);
        memcpy(ex->key_name, caller->name, sizeof ex->key_name);
        memcpy(ex->image_name, sb->image_name, sizeof ex->image_name);
        ex->engine = sb->engine;
        ex->tier = sb->network.tier;
        observer_init(&ex->observer, core, &observer_events, &ex->result);
        ex->observer.mask = exec_request_mask(&ex->request);
        list_init(&ex->process.link);
        list_init(&ex->followers);
        ex->task = (struct task){.on_channel = execution_on_channel,
                                 .on_ready = execution_on_ready,
                                 .on_lost = execution_lost,
                                 .needs_deaths = execution_needs_deaths,
                                 .on_paused = execution_paused};
        list_init(&ex->task.link);
        if ((r = keep_output(ex, err)) < 0) {
                ex->refs = 1;
                execution_unref(ex);
                return r;
        }
        list_add(&core->executions, &ex->link);
        execution_clock_init(ex);
        *ret = ex;
        return 0;
}

void execution_start(struct execution *ex)
{
        struct core_sandbox *sb = ex->wanted;
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
        if (ex->request.scan_first)
                execution_scan_first(ex); /* while the sandbox is made */
        sandbox_attach(sb, &ex->task);
}

void execution_cancel(struct execution *ex)
{
        if (ex->phase >= EXECUTION_ENDED)
                return;
        if (ex->phase == EXECUTION_RUNNING) {
                execution_end(ex, END_CANCELLED);
                return;
        }
        /* Nothing runs yet.  A sandbox of its own is removed.  Logged, because clients that know the id may
         * ask for it. */
        execution_log_begin(ex);
        ex->facts.ending = END_CANCELLED;
        execution_set_phase(ex, EXECUTION_ENDED);
        execution_conclude(ex);
}

void execution_terminate(struct execution *ex)
{
        if (ex->phase >= EXECUTION_ENDED)
                return;
        verdict_end(&ex->facts, END_CANCELLED);
        if (ex->phase == EXECUTION_RUNNING)
                execution_signal(ex, SIGTERM);
        else
                execution_cancel(ex);
}

int execution_signal(struct execution *ex, int signal)
{
        struct core_sandbox *sb = ex->task.sandbox;
        const struct init_signal request = {.signal = signal, .target = ex->tag};
        if (ex->phase != EXECUTION_RUNNING || !sb || !sb->channel)
                return -ESRCH;
        return channel_send(sb->channel, INIT_SIGNAL, 0, NULL, 0, &request, sizeof request, NULL, 0);
}

/* ---- queries ---- */

struct execution *execution_find(const struct core *core, const struct caller *caller, const char *id)
{
        list_each (at, &core->executions, other) {
                struct execution *ex = list_entry(at, struct execution, link);
                if (!strcmp(ex->id, id) &&
                    (caller_sees(caller, ex->key) || (caller->capabilities & MAY_AUDIT)))
                        return ex;
        }
        return NULL;
}

unsigned executions_since(const struct core *core, int64_t since_us, unsigned max)
{
        unsigned n = 0;
        for (const struct list *at = core->executions.previous; n < max && at != &core->executions;
             at = at->previous, n++)
                if (list_entry(at, const struct execution, link)->come_us < since_us)
                        break;
        return n;
}

struct execution *execution_find_process(const struct core_sandbox *sb, int pid)
{
        struct execution *found = NULL;
        list_each (at, &sb->processes, other) {
                struct execution *ex = list_entry(at, struct execution, process.link);
                if (ex->pid == pid) /* the newest, if a pid was reused */
                        found = ex;
        }
        return found;
}

static void forget_process(struct core_sandbox *sb, struct execution *ex)
{
        list_remove(&ex->process.link);
        sb->n_processes--;
        execution_unref(ex);
}

void execution_keep_process(struct core_sandbox *sb, struct execution *ex)
{
        execution_ref(ex);
        list_add(&sb->processes, &ex->process.link);
        sb->n_processes++;
        list_each (at, &sb->processes, other) {
                struct execution *old = list_entry(at, struct execution, process.link);
                if (sb->n_processes <= PROCESSES_KEPT)
                        break;
                if (execution_is_done(old))
                        forget_process(sb, old);
        }
}

void execution_forget_processes(struct core_sandbox *sb)
{
        while (!list_empty(&sb->processes))
                forget_process(sb, list_entry(sb->processes.next, struct execution, process.link));
}

json_t *execution_to_json(const struct execution *ex)
{
        return json_pack("{s:s, s:s, s:s?, s:s, s:s, s:s?, s:o?, s:s, s:s?, s:s?, s:s?, s:o}", "mode",
                         ex->request.direct ? "host" : "sandbox", "image", ex->image_name, "key_name",
                         ex->key_name[0] ? ex->key_name : NULL, "id", ex->id, "sandbox", ex->sandbox_id,
                         "runtime", ex->request.runtime, "command", exec_request_command(&ex->request),
                         "status", execution_is_done(ex) ? cella_status_name(ex->result.status) : "running",
                         "session", ex->request.session, "agent", ex->request.agent, "key",
                         ex->key[0] ? ex->key : NULL, "started", core_time(ex->started_ms));
}

struct result_run execution_extra(const struct execution *ex)
{
        return (struct result_run){.command = true,
                                   .results = (const char *const *)ex->results,
                                   .result_lens = ex->result_lens,
                                   .n_results = ex->n_results,
                                   .results_truncated = ex->results_truncated};
}

char *execution_result_text(const struct execution *ex, unsigned flags, size_t *ret_len)
{
        const struct result_run extra = execution_extra(ex);
        struct cella_isolation isolation;
        char *text = NULL;
        struct json j = {.out = open_memstream(&text, ret_len)};
        if (!j.out)
                return NULL;
        isolation_fill(ex->walls, ex->missing, &isolation);
        struct result_about about = exec_request_about(&ex->request, &isolation);
        about.run = &extra;
        result_write(&j, &ex->result, &about, flags);
        fclose(j.out);
        return text;
}
