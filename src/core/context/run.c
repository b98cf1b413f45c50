/* core/context/run.c -- one run of code in a context, from the first byte to its row in the log.
 *
 *  sent -> (output, results, an error) -> done, or the context dies -> counted -> finished
 *
 * To end a run, SIGINT is sent first, so that the context survives.  If that does not help, SIGKILL is sent
 * to the whole context.  A SIGINT in flight when the code ends must not reach the next run.  So an
 * interrupted run is over only when init has confirmed the signal and an empty run after it has ended: a
 * pending signal was delivered before that. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/states.h"
#include "core/about.h"
#include "core/context/internal.h"
#include "core/record.h"
#include "core/request/scan_job.h"

#define LOG_OUTPUT_MAX (64u * 1024)
#define FENCE_US 5000000 /* for an empty run */
#define EARLY_US 100000  /* after the start of a run; see interrupt() */
#define DEFER_US 5000

static const uint32_t next_phases[RUN_PHASES] = {
        [RUN_RUNNING] = STATE(RUN_REPORTED) | STATE(RUN_ENDED),
        [RUN_REPORTED] = STATE(RUN_FENCED) | STATE(RUN_ENDED),
        [RUN_FENCED] = STATE(RUN_ENDED),
        [RUN_ENDED] = STATE(RUN_FINISHING),
};

static const char *const phase_names[RUN_PHASES] = {[RUN_RUNNING] = "running",
                                                    [RUN_REPORTED] = "reported",
                                                    [RUN_FENCED] = "fenced",
                                                    [RUN_ENDED] = "ended",
                                                    [RUN_FINISHING] = "finishing"};

static const struct states phases = {"run", phase_names, next_phases, RUN_PHASES};

static void set_phase(struct context_run *run, enum run_phase phase)
{
        if (states_may(&phases, run->phase, phase))
                run->phase = phase;
}

/* ---- end ---- */

static void run_free(struct context_run *run)
{
        for (int i = 0; i < 2; i++)
                keep_done(&run->keep[i]);
        for (unsigned i = 0; i < run->n_results; i++)
                free(run->results[i]);
        free(run->error);
        cella_result_done(&run->result);
        observer_done(&run->observer);
        exec_request_done(&run->request);
        free(run);
}

/* Sends the answer first, then writes the log. */
static void context_run_finish(struct context_run *run)
{
        sandbox_ask_forget(run->core, run);
        const bool advice = run->scan && run->facts.ending != END_CANCELLED;
        if (run->observer.counting || advice) { /* on_network() or on_advice() calls this again */
                if (run->phase == RUN_ENDED)
                        set_phase(run, RUN_FINISHING);
                return;
        }
        scan_job_cancel(run->scan);
        run->scan = NULL;
        context_run_conclude(run);
        context_run_finished(run->context);
        if (run->events && run->events->on_end)
                run->events->on_end(run, run->caller);
        context_run_record(run);
        run_free(run);
}

static void on_network(struct observer *observer)
{
        struct context_run *run = list_entry(observer, struct context_run, observer);
        if (run->phase == RUN_FINISHING)
                context_run_finish(run);
}

static void on_advice(void *context, int r, const struct scan_report *report)
{
        struct context_run *run = context;
        run->scan = NULL;
        if (r == 0)
                exec_request_keep_report(&run->request, report);
        if (run->phase == RUN_FINISHING)
                context_run_finish(run);
}

static void context_run_on_counted(void *context, const union keeper_packet *packet, int fd)
{
        struct context_run *run = context;
        (void)fd;
        if (packet->type == KEEPER_COUNTED) {
                context_run_count(run, &packet->counted);
                if (run->context->task.sandbox)
                        run->context->task.sandbox->counters = packet->counted;
        }
        context_run_finish(run);
}

static void stop_timers(struct context_run *run)
{
        deadline_clear(&run->context->timers.deadlines, 0, CONTEXT_RUN_TIMERS);
        timers_update(&run->context->timers);
}

void context_run_answered(struct context_run *run)
{
        struct core_sandbox *sb = run->context->task.sandbox;
        context_run_ask_no_more(run);
        if (context_run_read(run))
                return;
        if (!sb || !sb->counted || sandbox_count(sb, context_run_on_counted, run) < 0)
                context_run_finish(run);
}

static void over(struct context_run *run)
{
        struct context *c = run->context;
        struct core_sandbox *sb = c->task.sandbox;
        if (run->phase >= RUN_ENDED)
                return;
        if (run->phase == RUN_RUNNING)
                driver_drain(c->driver);
        set_phase(run, RUN_ENDED);
        stop_timers(run);
        driver_wait(c->driver, false);
        egress_end(&sb->egress, &run->observer);
        if (!context_run_ask(run))
                context_run_answered(run);
}

/* Adds the reason to the result, for clients that do not query the context. */
static void explain_death(struct context_run *run)
{
        struct context *c = run->context;
        char message[300];
        free(run->error);
        run->error = NULL;
        if (c->of_one_run)
                snprintf(message, sizeof message, "the interpreter has ended%s%s", c->why[0] ? ": " : "",
                         c->why);
        else if (c->again || !c->home)
                snprintf(message, sizeof message, "the context %s was %s", c->id,
                         c->home ? "restarted" : "removed");
        else
                snprintf(message, sizeof message, "the context %s has ended (%s): it must be restarted",
                         c->id, c->why);
        driver_make_error("ContextEnded", message, &run->error, &run->error_len);
}

void context_run_died(struct context_run *run, const struct init_exited *exited)
{
        if (run->phase >= RUN_ENDED)
                return; /* context_run_on_counted() follows */
        if (run->phase == RUN_RUNNING) {
                run->facts.exited = *exited;
                run->facts.reported = true;
                explain_death(run);
        }
        over(run);
}

void context_run_lost(struct context_run *run, const struct core_sandbox *sb)
{
        if (run->phase == RUN_RUNNING) {
                if (sb->removing || run->core->stopping)
                        verdict_end(&run->facts, END_CANCELLED);
                explain_death(run);
        }
        if (run->phase < RUN_ENDED)
                set_phase(run, RUN_ENDED);
        context_run_count(run, &sb->counters);
        context_run_ask_no_more(run);
        /* Waits for nothing: the context may be freed next, and the run must not outlive it. */
        egress_forget(&run->observer);
        scan_job_cancel(run->scan);
        run->scan = NULL;
        context_run_finish(run);
}

/* ---- messages of the driver ---- */

static void broke(struct context_run *run, const char *what)
{
        char why[120];
        snprintf(why, sizeof why, "it sent %s", what);
        driver_expect(run->context->driver, 0);
        context_kill(run->context, why);
}

/* All signals were sent; pending ones are delivered during this empty run. */
static void fence(struct context_run *run)
{
        struct context *c = run->context;
        set_phase(run, RUN_FENCED);
        driver_expect(c->driver, DRIVER_MAY(DRIVER_DONE) | DRIVER_MAY(DRIVER_ERROR));
        if (driver_run(c->driver, "", 0) < 0)
                context_kill(c, "it could not be continued");
}

/* If no signal was sent, the code raised it itself (`raise KeyboardInterrupt`, `kill -INT $$`) and ended as
 * with any other error. */
static void interrupted(struct context_run *run)
{
        if (run->interrupt != INTERRUPT_SENT) {
                run->facts.exited.wait_status = (run->error ? 1 : 128 + SIGINT) << 8;
                return;
        }
        free(run->error);
        run->error = NULL;
        run->facts.exited.wait_status = SIGINT;
        if (run->interrupted)
                verdict_end(&run->facts, END_CANCELLED);
}

static void context_run_done(struct context_run *run, char *body, size_t len)
{
        struct context *c = run->context;
        enum driver_status status;
        int code = 0;
        if (driver_read_done(body, len, &status, &code) < 0) {
                broke(run, "an invalid end");
                return;
        }
        driver_expect(c->driver, 0);
        if (run->phase == RUN_FENCED) {
                over(run);
                return;
        }
        driver_drain(c->driver);
        set_phase(run, RUN_REPORTED);
        run->result.duration_us = (uint64_t)(clock_us() - run->started_us);
        run->facts.reported = true;
        run->facts.exited =
                (struct init_exited){.disk_bytes_free = UINT64_MAX, .disk_inodes_free = UINT64_MAX};
        switch (status) {
        case DRIVER_FAILED:
                run->facts.exited.wait_status = 1 << 8;
                break;
        case DRIVER_OK:
        case DRIVER_EXIT:
                run->facts.exited.wait_status = code << 8;
                break;
        case DRIVER_INTERRUPTED:
                interrupted(run);
        }
        stop_timers(run);
        if (run->interrupt != INTERRUPT_SENT) {
                over(run);
                return;
        }
        driver_wait(c->driver, false);
        timers_set_in(&c->timers, DEADLINE_KILL, FENCE_US);
        if (!driver_signalling(c->driver))
                fence(run);
}

void context_run_signalled(struct context_run *run)
{
        if (run->phase == RUN_REPORTED)
                fence(run);
}

/* A driver that has not read the code yet ignores SIGINT, and one that has just read it may.  An early SIGINT
 * is therefore repeated. */
static void interrupt(struct context_run *run)
{
        struct context *c = run->context;
        int64_t again = DEADLINE_NEVER;
        if (!driver_took(c->driver)) {
                run->interrupt = INTERRUPT_DEFERRED;
                timers_set_in(&c->timers, TIMER_INTERRUPT, DEFER_US);
                return;
        }
        if (run->again_us == 0 && run->interrupt == INTERRUPT_DEFERRED)
                run->again_us = EARLY_US;
        if (run->again_us > 0)
                again = clock_us() + run->again_us;
        run->again_us = 0;
        run->interrupt = INTERRUPT_SENT;
        driver_signal(c->driver, SIGINT);
        timers_set(&c->timers, TIMER_INTERRUPT, again);
}

void context_interrupt(struct context *c)
{
        struct context_run *run = c->run;
        if (!run || run->phase != RUN_RUNNING || c->state != CONTEXT_RUNNING ||
            run->interrupt == INTERRUPT_DEFERRED)
                return;
        run->interrupted = true;
        if (clock_us() - run->started_us < EARLY_US)
                run->again_us = EARLY_US;
        interrupt(run);
}

static void take_result(struct context_run *run, char *body, size_t len)
{
        char *text = NULL;
        size_t text_len = 0;
        driver_drain(run->context->driver); /* output before the result is shown before it */
        if (++run->heard_results > CONTEXT_RESULTS_MAX) {
                broke(run, "too many results");
                return;
        }
        if (run->results_bytes + len > CONTEXT_RESULTS_BYTES) { /* not parsed */
                run->results_truncated = true;
                return;
        }
        if (driver_read_result(body, len, &text, &text_len) < 0) {
                broke(run, "an invalid result");
                return;
        }
        run->results[run->n_results] = text;
        run->result_lens[run->n_results++] = text_len;
        run->results_bytes += text_len;
        if (run->events && run->events->on_result)
                run->events->on_result(run, text, text_len, run->caller);
}

static void take_error(struct context_run *run, char *body, size_t len)
{
        if (run->error)
                broke(run, "two errors");
        else if (driver_read_error(body, len, &run->error, &run->error_len) < 0)
                broke(run, "an invalid error");
}

void context_run_frame(struct context_run *run, enum driver_word word, char *body, size_t len)
{
        if (run->phase >= RUN_ENDED || (run->phase != RUN_RUNNING && word != DRIVER_DONE))
                return;
        if (word == DRIVER_DONE)
                context_run_done(run, body, len);
        else if (word == DRIVER_RESULT)
                take_result(run, body, len);
        else if (word == DRIVER_ERROR)
                take_error(run, body, len);
}

/* Ends the run for this reason: sends SIGINT, and SIGKILL to the whole context after the grace time. */
static void context_run_stop(struct context_run *run, enum ending why)
{
        struct context *c = run->context;
        struct deadlines *d = &c->timers.deadlines;
        if (run->phase != RUN_RUNNING || c->state != CONTEXT_RUNNING || run->facts.ending != END_BY_ITSELF)
                return;
        verdict_end(&run->facts, why);
        stop_timers(run);
        if (deadline_stop(d, clock_us())) {
                run->again_us = (int64_t)d->grace_us / 2;
                interrupt(run);
        }
        timers_update(&c->timers);
}

void context_run_output(struct context_run *run, enum cella_stream stream, const char *data, size_t len)
{
        if (run->phase != RUN_RUNNING)
                return;
        run->total[stream] += len;
        keep_add(&run->keep[stream], data, len);
        if (run->events && run->events->on_output)
                run->events->on_output(run, stream, data, len, run->caller);
        if (verdict_output_ends(&run->limits, run->request.kill_on_output_limit, run->total[stream]))
                context_run_stop(run, END_OUTPUT);
}

/* ---- deadlines ---- */

static void on_cpu(void *context, const union keeper_packet *packet, int fd)
{
        struct context_run *run = context;
        struct timers *timers = &run->context->timers;
        (void)fd;
        if (packet->type != KEEPER_COUNTED || run->phase >= RUN_ENDED)
                return;
        const uint64_t used = verdict_cpu_since(packet->counted.cpu_us, run->before.cpu_us);
        if (deadline_cpu_used(&timers->deadlines, clock_us(), used))
                context_run_stop(run, END_CPU);
        else
                timers_update(timers);
}

void context_run_due(struct context_run *run, int timer)
{
        struct context *c = run->context;
        switch (timer) {
        case DEADLINE_TIMEOUT:
                context_run_stop(run, END_TIMEOUT);
                break;
        case DEADLINE_KILL:
                context_kill(c, run->phase != RUN_RUNNING ? "it did not continue after it was interrupted"
                                                          : "it did not stop when it was interrupted");
                break;
        case DEADLINE_CPU:
                if (c->task.sandbox)
                        sandbox_count(c->task.sandbox, on_cpu, run);
                break;
        case TIMER_ANSWER:
                context_run_answered(run);
                break;
        case TIMER_INTERRUPT:
                if (run->phase == RUN_RUNNING)
                        interrupt(run);
                break;
        }
}

/* ---- start ---- */

static int check_idle(const struct context *c, struct cella_err *err)
{
        const char *sandbox = c->sandbox_id;
        if (c->home->state == SANDBOX_PAUSED) {
                err_say(err, CELLA_INVALID_REQUEST, -EBUSY, "the sandbox %s is paused", sandbox);
                return err_hint(err, "POST /v1/sandboxes/%s/resume", sandbox);
        }
        if (c->again || c->state == CONTEXT_STARTING) {
                err_say(err, CELLA_INVALID_REQUEST, -EBUSY, "the context %s is being started", c->id);
                return err_hint(err, "wait until it is idle");
        }
        if (c->state != CONTEXT_IDLE && c->state != CONTEXT_RUNNING) {
                err_say(err, CELLA_INVALID_REQUEST, -EPIPE,
                        "the context %s has ended (%.110s): it must be restarted", c->id, c->why);
                return err_hint(err, "POST /v1/sandboxes/%s/contexts/%s/restart", sandbox, c->id);
        }
        if (c->run) {
                err_say(err, CELLA_INVALID_REQUEST, -EBUSY, "the context %s is running %s", c->id,
                        c->run->id);
                return err_hint(err, "wait for it, or POST /v1/sandboxes/%s/contexts/%s/interrupt", sandbox,
                                c->id);
        }
        return 0;
}

static void on_before(void *context, const union keeper_packet *packet, int fd)
{
        struct context_run *run = context;
        (void)fd;
        struct keeper_counted now = packet->counted;
        if (packet->type != KEEPER_COUNTED)
                return;
        /* A short run may be over before the keeper has read the counters.  The CPU time at its start was at
         * least that of the last reading, and at least the current value minus the time that all cores could
         * have used since. */
        const int64_t late_us = now.read_us - run->started_us;
        const uint64_t since = late_us > 0 ? (uint64_t)late_us * run->core->cores : 0;
        now.cpu_us = now.cpu_us > since ? now.cpu_us - since : 0;
        if (late_us <= 0 || !run->before.known)
                run->before = now;
        else if (now.cpu_us > run->before.cpu_us)
                run->before.cpu_us = now.cpu_us;
}

static void context_run_on_violation(struct observer *observer, const struct violation *violation)
{
        struct context_run *run = list_entry(observer, struct context_run, observer);
        if (run->events && run->events->on_violation)
                run->events->on_violation(run, violation, run->caller);
}

static const struct observer_events observer_events = {context_run_on_violation, on_network};

static int context_run_start(struct context_run *run, struct cella_err *err)
{
        struct context *c = run->context;
        struct core_sandbox *sb = c->task.sandbox;
        char text[AUDIT_ABOUT_SLOT_MAX];
        const struct about about = context_run_about(run);
        struct audit_begin begin = context_run_log(run);
        begin.about = text;
        begin.about_len = about_write_short(&about, text);
        driver_drain(c->driver); /* earlier output does not belong to this run */
        run->before = sb->counters;
        if (sb->counted)
                sandbox_count(sb, on_before, run);
        observer_watch(&run->observer, &sb->observers);
        /* init reports each refused call once after a spawn, which a run is not: this resets the list. */
        channel_send(sb->channel, INIT_FORGET, 0, NULL, 0, NULL, 0, NULL, 0);
        egress_begin(&sb->egress, &run->observer);
        context_run_mark_time(run);
        run->audit_slot = audit_begin(run->core->audit, &begin);
        run->started_us = clock_us();
        if (driver_run(c->driver, run->request.code, run->request.code_len) < 0) {
                sandbox_ask_forget(run->core, run);
                audit_cancel(run->core->audit, run->audit_slot);
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "run");
        }
        c->run = run;
        c->runs++;
        context_set_state(c, CONTEXT_RUNNING);
        c->task.ignore_for_idle = false;
        sb->executions++;
        sandbox_touch(sb);
        driver_expect(c->driver,
                      DRIVER_MAY(DRIVER_RESULT) | DRIVER_MAY(DRIVER_ERROR) | DRIVER_MAY(DRIVER_DONE));
        deadline_start(&c->timers.deadlines, &run->limits, run->started_us,
                       sb->counted ? DEADLINE_COUNTS_CPU : 0);
        timers_update(&c->timers);
        return 0;
}

static int check_cpu_time(const struct context *c, const struct exec_request *request, struct cella_err *err)
{
        const json_t *cpu = json_object_get(request->limits, "cpu_time_ms");
        if (!cpu || json_is_null(cpu) || c->task.sandbox->counted)
                return 0;
        return err_say(err, CELLA_ISOLATION_UNAVAILABLE, -ENOTSUP,
                       "cgroup: the limit on CPU time cannot be enforced here");
}

int context_run_new(struct context *c, const struct caller *caller, struct exec_request *request,
                    bool streamed, const struct context_run_events *events, void *who,
                    struct context_run **ret, struct cella_err *err)
{
        struct context_run *run = NULL;
        struct cella_limits limits;
        memcpy(request->trace, caller->trace, sizeof request->trace);
        int r = exec_request_limits(request, c->home, &limits, err);
        if (r == 0)
                r = check_idle(c, err);
        if (r == 0)
                r = check_cpu_time(c, request, err);
        if (r == 0 && (!(run = calloc(1, sizeof *run)) || id_make("exe_", run->id) < 0))
                r = err_set(err, CELLA_INTERNAL, -ENOMEM, "run");
        if (r < 0 || !run) {
                free(run);
                refusal_record(c->core, caller, request, err);
                exec_request_done(request);
                return r;
        }
        run->context = c;
        run->core = c->core;
        run->request = *request;
        *request = (struct exec_request){0};
        run->limits = limits;
        run->streamed = streamed;
        run->pid = driver_pid(c->driver);
        run->walls = c->task.sandbox->walls;
        run->missing = c->task.sandbox->missing;
        run->events = events;
        run->caller = who;
        run->started_ms = core_now_ms();
        memcpy(run->sandbox_id, c->sandbox_id, sizeof run->sandbox_id);
        memcpy(run->context_id, c->id, sizeof run->context_id);
        memcpy(run->key, caller->key, sizeof run->key);
        memcpy(run->key_name, caller->name, sizeof run->key_name);
        memcpy(run->image_name, c->home->image_name, sizeof run->image_name);
        run->engine = c->home->engine;
        run->tier = c->home->network.tier;
        observer_init(&run->observer, c->core, &observer_events, &run->result);
        for (int i = 0; i < 2; i++)
                keep_init(&run->keep[i], streamed ? LOG_OUTPUT_MAX : limits.output_bytes);
        if ((r = context_run_start(run, err)) < 0) {
                refusal_record(c->core, caller, &run->request, err);
                run_free(run);
        } else {
                if (exec_request_warn(c->core, &run->request))
                        scan_job_new(c->core, &run->request, SCAN_ADVICE_MS, on_advice, run, &run->scan);
                *ret = run;
        }
        return r;
}

void context_run_release(struct context_run *run)
{
        run->events = NULL;
        context_run_wait(run, false);
}

void context_run_wait(struct context_run *run, bool wait)
{
        if (run->context->driver && run->phase < RUN_ENDED)
                driver_wait(run->context->driver, wait);
}

void context_run_cancel(struct context_run *run)
{
        context_run_stop(run, END_CANCELLED);
}
