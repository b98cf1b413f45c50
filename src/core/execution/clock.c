/* core/execution/clock.c -- deadlines of an execution (engine/deadline.h), and ending it. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>

#include "base/clock.h"
#include "core/execution/internal.h"

#define GIVE_UP_US 1000000 /* time for init to end the command before the sandbox is killed */
#define BEGIN_US 60000000  /* for writing the files of the request */
#define LIST_US 2000000    /* for the list of changed files */
#define READ_US 10000000   /* for reading pictures */

/* Timers in addition to enum deadline_timer. */
enum { TIMER_SPAWN = DEADLINE_OWN, TIMER_GIVE_UP, TIMER_LIST };

static void signal_tag(struct execution *ex, int signal, uint32_t target)
{
        struct core_sandbox *sb = ex->task.sandbox;
        const struct init_signal request = {.signal = signal, .target = target};
        if (sb && sb->channel)
                channel_send(sb->channel, INIT_SIGNAL, 0, NULL, 0, &request, sizeof request, NULL, 0);
}

static void kill_sandbox(struct execution *ex)
{
        if (ex->task.sandbox)
                sandbox_ask(ex->task.sandbox, KEEPER_KILL, NULL, NULL);
}

/* A sandbox of its own is killed.  In a shared one init kills the processes of the execution; if it does not,
 * the whole sandbox is killed. */
void execution_end(struct execution *ex, enum ending why)
{
        struct core_sandbox *sb = ex->task.sandbox;
        if (ex->phase >= EXECUTION_ENDED || !sb)
                return;
        verdict_end(&ex->facts, why);
        timers_clear(&ex->timers);
        if (sb->one_shot) {
                kill_sandbox(ex);
        } else {
                signal_tag(ex, SIGKILL, ex->tag);
                timers_set_in(&ex->timers, TIMER_GIVE_UP, GIVE_UP_US);
        }
}

static void time_is_up(struct execution *ex)
{
        verdict_end(&ex->facts, END_TIMEOUT);
        if (deadline_stop(&ex->timers.deadlines, clock_us()))
                signal_tag(ex, SIGTERM, ex->task.sandbox && ex->task.sandbox->one_shot ? 0 : ex->tag);
}

static void on_cpu(void *context, const union keeper_packet *packet, int fd)
{
        struct execution *ex = context;
        (void)fd;
        if (packet->type != KEEPER_COUNTED || ex->phase >= EXECUTION_ENDED)
                return;
        const uint64_t before = ex->task.sandbox ? execution_cpu_before_us(ex, ex->task.sandbox) : 0;
        const uint64_t used = verdict_cpu_since(packet->counted.cpu_us, before);
        if (deadline_cpu_used(&ex->timers.deadlines, clock_us(), used))
                execution_end(ex, END_CPU);
        else
                timers_update(&ex->timers);
}

static void throttle(struct execution *ex)
{
        struct core_sandbox *sb = ex->task.sandbox;
        if (sb && !sb->throttled) {
                sandbox_ask(sb, KEEPER_THROTTLE, NULL, NULL);
                sb->throttled = true;
        }
}

static void on_due(struct timers *timers, int timer)
{
        struct execution *ex = list_entry(timers, struct execution, timers);
        switch (timer) {
        case DEADLINE_TIMEOUT:
                time_is_up(ex);
                break;
        case DEADLINE_KILL:
                execution_end(ex, END_TIMEOUT);
                break;
        case DEADLINE_CPU:
                if (ex->task.sandbox)
                        sandbox_count(ex->task.sandbox, on_cpu, ex);
                break;
        case DEADLINE_THROTTLE:
                throttle(ex);
                break;
        case TIMER_SPAWN:
                execution_spawn(ex);
                break;
        case TIMER_GIVE_UP:
                kill_sandbox(ex);
                break;
        case TIMER_LIST:
                execution_list_given_up(ex);
                break;
        }
}

void execution_clock_init(struct execution *ex)
{
        timers_init(&ex->timers, ex->core->loop, on_due);
        ex->timers.timer.data = ex;
        execution_ref(ex);
}

void execution_clock_start(struct execution *ex)
{
        const struct core_sandbox *sb = ex->task.sandbox;
        if (ex->started_us || ex->phase >= EXECUTION_ENDED)
                return;
        /* init starts the code when it has received it and the sandbox is ready.  The current time would be
         * too late: short code has already ended. */
        ex->started_us = ex->released_us > sb->ready_us ? ex->released_us : sb->ready_us;
        deadline_set(&ex->timers.deadlines, TIMER_GIVE_UP, DEADLINE_NEVER);
        deadline_start(&ex->timers.deadlines, &ex->limits, ex->started_us,
                       (ex->no_deadline ? DEADLINE_NO_TIMEOUT : 0) | (sb->counted ? DEADLINE_COUNTS_CPU : 0) |
                               (sb->counted && sb->one_shot ? DEADLINE_THROTTLES : 0));
        timers_update(&ex->timers);
}

void execution_clock_stop(struct execution *ex)
{
        timers_clear(&ex->timers);
}

void execution_clock_begin(struct execution *ex)
{
        timers_set_in(&ex->timers, TIMER_GIVE_UP, BEGIN_US);
}

void execution_clock_spawn(struct execution *ex, int64_t in_us)
{
        timers_set_in(&ex->timers, TIMER_SPAWN, in_us);
}

void execution_clock_list(struct execution *ex)
{
        timers_set_in(&ex->timers, TIMER_LIST, LIST_US);
}

void execution_clock_read(struct execution *ex)
{
        timers_set_in(&ex->timers, TIMER_LIST, READ_US);
}

static void execution_on_closed(uv_handle_t *handle)
{
        execution_unref(handle->data);
}

void execution_clock_done(struct execution *ex)
{
        timers_close(&ex->timers, execution_on_closed);
}

void execution_paused(struct task *task, bool paused)
{
        timers_pause(&list_entry(task, struct execution, task)->timers, paused);
}
