/* core/execution/clock.c -- the deadlines of an execution, and ending it.
 *
 * One timer for all of them.  While the sandbox is paused they stand still. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>

#include "base/clock.h"
#include "core/execution/internal.h"

#define CLOCK_NEVER INT64_MAX
#define GIVE_UP_US 1000000 /* init has ended what it was told to by then, or never will */
#define BEGIN_US 60000000  /* its files are in place by then, or never will be */
#define LIST_US 2000000    /* for the list of changed files */
#define THROTTLE_US 20000  /* see cgroup_throttle() */
#define CPU_CHECK_MIN_US 5000

static void on_timer(uv_timer_t *timer);

static void arm(struct execution *ex)
{
        int64_t next = CLOCK_NEVER, now = clock_us();
        for (int i = 0; i < EXECUTION_CLOCKS; i++)
                if (ex->clocks[i] < next)
                        next = ex->clocks[i];
        if (next == CLOCK_NEVER || ex->paused_us) {
                uv_timer_stop(&ex->timer);
                return;
        }
        uv_update_time(ex->box->loop); /* its clock is that of the loop's last turn */
        uv_timer_start(&ex->timer, on_timer, next <= now ? 0 : (uint64_t)(next - now + 999) / 1000, 0);
}

static void set(struct execution *ex, enum execution_clock clock, int64_t at)
{
        ex->clocks[clock] = at;
        arm(ex);
}

static void signal_tag(struct execution *ex, int signal, uint32_t target)
{
        struct box_sandbox *sb = ex->task.sandbox;
        const struct init_signal request = {.signal = signal, .target = target};
        if (sb && sb->channel)
                channel_send(sb->channel, INIT_SIGNAL, 0, NULL, 0, &request, sizeof request, NULL, 0);
}

static void kill_sandbox(struct execution *ex)
{
        if (ex->task.sandbox)
                sandbox_ask(ex->task.sandbox, KEEPER_KILL, NULL, NULL);
}

/* In a sandbox of its own the kernel ends everything at once; in a shared one init does, and if it
 * does not, the sandbox as a whole has to go. */
void execution_end(struct execution *ex, enum ending why)
{
        struct box_sandbox *sb = ex->task.sandbox;
        if (ex->over || !sb)
                return;
        if (ex->facts.ending == END_BY_ITSELF)
                ex->facts.ending = why;
        for (int i = 0; i < EXECUTION_CLOCKS; i++)
                ex->clocks[i] = CLOCK_NEVER;
        if (sb->one_shot) {
                kill_sandbox(ex);
        } else {
                signal_tag(ex, SIGKILL, ex->tag);
                set(ex, CLOCK_GIVE_UP, clock_us() + GIVE_UP_US);
        }
}

static void time_is_up(struct execution *ex, int64_t now)
{
        const struct cella_limits *l = &ex->limits;
        uint64_t grace = l->grace_ms < l->timeout_ms ? l->grace_ms : l->timeout_ms;
        ex->facts.ending = END_TIMEOUT;
        ex->clocks[CLOCK_DEADLINE] = CLOCK_NEVER;
        if (grace > 0)
                signal_tag(ex, SIGTERM, ex->task.sandbox && ex->task.sandbox->one_shot ? 0 : ex->tag);
        ex->clocks[CLOCK_KILL] = now + (int64_t)grace * 1000;
}

static void on_cpu(void *context, const union keeper_packet *packet, int fd)
{
        struct execution *ex = context;
        const struct cella_limits *l = &ex->limits;
        (void)fd;
        if (packet->type != KEEPER_COUNTED || ex->over)
                return;
        const uint64_t before = ex->task.sandbox ? execution_cpu_before_us(ex, ex->task.sandbox) : 0;
        const uint64_t used = packet->counted.cpu_us > before ? packet->counted.cpu_us - before : 0;
        const uint64_t max = l->cpu_time_ms * 1000;
        if (used >= max) {
                execution_end(ex, END_CPU);
                return;
        }
        /* Looks again when, at full speed on all its cores, the rest could be used up. */
        int64_t wait = (int64_t)((max - used) * 1000 / (l->cpus_milli > 1000 ? l->cpus_milli : 1000));
        set(ex, CLOCK_CPU, clock_us() + (wait > CPU_CHECK_MIN_US ? wait : CPU_CHECK_MIN_US));
}

static void throttle(struct execution *ex)
{
        struct box_sandbox *sb = ex->task.sandbox;
        if (sb && !sb->throttled) {
                sandbox_ask(sb, KEEPER_THROTTLE, NULL, NULL);
                sb->throttled = true;
        }
}

static void due(struct execution *ex, enum execution_clock clock, int64_t now)
{
        ex->clocks[clock] = CLOCK_NEVER;
        switch (clock) {
        case CLOCK_SPAWN:
                execution_spawn(ex);
                break;
        case CLOCK_DEADLINE:
                time_is_up(ex, now);
                break;
        case CLOCK_KILL:
                execution_end(ex, END_TIMEOUT);
                break;
        case CLOCK_GIVE_UP:
                kill_sandbox(ex);
                break;
        case CLOCK_THROTTLE:
                throttle(ex);
                break;
        case CLOCK_CPU:
                if (ex->task.sandbox)
                        sandbox_count(ex->task.sandbox, on_cpu, ex);
                break;
        case CLOCK_LIST:
                execution_list_given_up(ex);
                break;
        case EXECUTION_CLOCKS:
                break;
        }
}

static void on_timer(uv_timer_t *timer)
{
        struct execution *ex = timer->data;
        int64_t now = clock_us();
        execution_ref(ex);
        for (int i = 0; i < EXECUTION_CLOCKS && !ex->done; i++)
                if (ex->clocks[i] <= now)
                        due(ex, (enum execution_clock)i, now);
        if (!ex->done)
                arm(ex);
        execution_unref(ex);
}

void execution_clock_init(struct execution *ex)
{
        uv_timer_init(ex->box->loop, &ex->timer);
        ex->timer.data = ex;
        execution_ref(ex);
        for (int i = 0; i < EXECUTION_CLOCKS; i++)
                ex->clocks[i] = CLOCK_NEVER;
}

void execution_clock_start(struct execution *ex)
{
        const struct cella_limits *l = &ex->limits;
        const struct box_sandbox *sb = ex->task.sandbox;
        if (ex->started_us || ex->over)
                return;
        /* init starts it when it has been sent and the sandbox is ready.  To take the time here would be too
         * late: short code has ended. */
        ex->started_us = ex->released_us > sb->ready_us ? ex->released_us : sb->ready_us;
        ex->clocks[CLOCK_GIVE_UP] = CLOCK_NEVER;
        if (!ex->no_deadline)
                ex->clocks[CLOCK_DEADLINE] = ex->started_us + (int64_t)l->timeout_ms * 1000;
        if (sb->one_shot && sb->counted)
                ex->clocks[CLOCK_THROTTLE] = ex->started_us + THROTTLE_US;
        if (l->cpu_time_ms > 0 && sb->counted)
                ex->clocks[CLOCK_CPU] = ex->started_us + (int64_t)l->cpu_time_ms * 500;
        arm(ex);
}

void execution_clock_stop(struct execution *ex)
{
        for (int i = 0; i < EXECUTION_CLOCKS; i++)
                ex->clocks[i] = CLOCK_NEVER;
        uv_timer_stop(&ex->timer);
}

void execution_clock_begin(struct execution *ex)
{
        set(ex, CLOCK_GIVE_UP, clock_us() + BEGIN_US);
}

void execution_clock_spawn(struct execution *ex, int64_t in_us)
{
        set(ex, CLOCK_SPAWN, clock_us() + in_us);
}

void execution_clock_list(struct execution *ex)
{
        set(ex, CLOCK_LIST, clock_us() + LIST_US);
}

void execution_clock_done(struct execution *ex)
{
        execution_clock_stop(ex);
        execution_drop_handle((uv_handle_t *)&ex->timer);
}

void execution_paused(struct task *task, bool paused)
{
        struct execution *ex = list_entry(task, struct execution, task);
        int64_t now = clock_us();
        if (paused == (ex->paused_us != 0))
                return;
        if (!paused)
                for (int i = 0; i < EXECUTION_CLOCKS; i++)
                        if (ex->clocks[i] != CLOCK_NEVER)
                                ex->clocks[i] += now - ex->paused_us;
        ex->paused_us = paused ? now : 0;
        arm(ex);
}
