/* core/context/life.c -- the life cycle of a context; its runs are in run.c, its process in driver.c. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/states.h"
#include "core/context/internal.h"

#define START_US 30000000
#define GONE_US 1000000   /* from the end of its socket to the end of its process */
#define KILLED_US 5000000 /* then the whole sandbox is killed, with its other contexts */

#define ENDS (STATE(CONTEXT_DEAD) | STATE(CONTEXT_KILLING) | STATE(CONTEXT_GONE))

static const uint32_t next_states[CONTEXT_STATES] = {
        [CONTEXT_DEAD] = STATE(CONTEXT_STARTING) | STATE(CONTEXT_CLOSED),
        [CONTEXT_STARTING] = STATE(CONTEXT_IDLE) | ENDS,
        [CONTEXT_IDLE] = STATE(CONTEXT_RUNNING) | ENDS,
        [CONTEXT_RUNNING] = STATE(CONTEXT_IDLE) | ENDS,
        [CONTEXT_KILLING] = STATE(CONTEXT_GONE) | STATE(CONTEXT_DEAD),
        [CONTEXT_GONE] = STATE(CONTEXT_STARTING) | STATE(CONTEXT_DEAD),
};

/* The names in the API. */
static const char *const state_names[CONTEXT_STATES] = {
        [CONTEXT_DEAD] = "dead",       [CONTEXT_STARTING] = "starting", [CONTEXT_IDLE] = "idle",
        [CONTEXT_RUNNING] = "running", [CONTEXT_KILLING] = "dead",      [CONTEXT_GONE] = "dead",
        [CONTEXT_CLOSED] = "dead"};

static const struct states states = {"context", state_names, next_states, CONTEXT_STATES};

void context_set_state(struct context *c, enum context_state state)
{
        if (states_may(&states, c->state, state))
                c->state = state;
}

/* ---- timers ---- */

static void on_due(struct timers *timers, int timer)
{
        struct context *c = list_entry(timers, struct context, timers);
        switch (timer) {
        case TIMER_START:
                context_kill(c, "it was not ready after 30 s");
                break;
        case TIMER_CLOSED:
                context_kill(c, "it closed its socket");
                break;
        case TIMER_KILLED:
                if (c->task.sandbox)
                        sandbox_ask(c->task.sandbox, KEEPER_KILL, NULL, NULL);
                break;
        default:
                if (c->run)
                        context_run_due(c->run, timer);
        }
}

static void on_paused(struct task *task, bool paused)
{
        timers_pause(&list_entry(task, struct context, task)->timers, paused);
}

/* ---- end ---- */

static void context_on_closed(uv_handle_t *handle)
{
        free(handle->data);
}

/* Frees the context when the loop has closed its timer. */
static void close_context(struct context *c)
{
        if (c->state == CONTEXT_CLOSED)
                return;
        context_set_state(c, CONTEXT_CLOSED);
        timers_close(&c->timers, context_on_closed);
}

static void context_report(struct context *c, const struct cella_err *err)
{
        void (*on_ready)(struct context *, const struct cella_err *, void *) = c->on_ready;
        c->on_ready = NULL;
        if (on_ready)
                on_ready(c, err, c->waiter);
}

/* It has no process until it is restarted. */
static void die(struct context *c, const struct cella_err *err)
{
        if (c->state != CONTEXT_DEAD)
                context_set_state(c, CONTEXT_DEAD);
        c->again = false;
        timers_clear(&c->timers);
        if (c->task.sandbox)
                sandbox_detach(&c->task);
        if (c->home)
                context_report(c, err);
        else
                close_context(c);
}

static void could_not_start(struct context *c)
{
        struct cella_err err = {0};
        err_say(&err, CELLA_INVALID_REQUEST, -ECHILD, "the context could not be started: %s", c->why);
        if (c->said[0])
                err_hint(&err, "it said: %s", c->said);
        else
                err_hint(&err, "the sandbox's limits may be too small for it");
        die(c, &err);
}

static void context_begin(struct context *c);

/* Frees the driver and cancels pending requests to the keeper. */
static void context_release(struct context *c)
{
        sandbox_ask_forget(c->core, c);
        c->driver = driver_free(c->driver);
}

/* Its process has ended and its run, if any, is finished. */
static void context_ended(struct context *c)
{
        context_release(c);
        timers_clear(&c->timers);
        if (c->again && c->home) {
                c->why[0] = '\0';
                context_begin(c);
        } else if (c->ready) {
                die(c, NULL);
        } else {
                could_not_start(c);
        }
}

void context_run_finished(struct context *c)
{
        c->run = NULL;
        c->task.ignore_for_idle = true;
        if (c->task.sandbox)
                sandbox_touch(c->task.sandbox);
        if (!c->driver)
                return; /* it ended with its sandbox */
        if (c->state == CONTEXT_GONE)
                context_ended(c);
        else if (c->state == CONTEXT_RUNNING)
                context_set_state(c, CONTEXT_IDLE);
}

void context_kill(struct context *c, const char *why)
{
        if (!c->driver || c->state == CONTEXT_GONE || c->state == CONTEXT_KILLING)
                return;
        if (!c->why[0])
                snprintf(c->why, sizeof c->why, "%s", why);
        context_set_state(c, CONTEXT_KILLING);
        timers_clear(&c->timers);
        driver_signal(c->driver, SIGKILL);
        timers_set_in(&c->timers, TIMER_KILLED, KILLED_US);
}

static void context_on_lost(struct task *task, struct core_sandbox *sb, const struct cella_err *err)
{
        struct context *c = list_entry(task, struct context, task);
        struct cella_err gone = {0};
        err_say(&gone, CELLA_NOT_FOUND, -ENOENT, "the sandbox %s has ended", sb->id);
        snprintf(c->why, sizeof c->why, "its sandbox has ended");
        if (c->driver && c->run)
                driver_drain(c->driver);
        context_release(c);
        timers_pause(&c->timers, false);
        if (c->run)
                context_run_lost(c->run, sb);
        die(c, err ? err : &gone);
}

/* ---- events of the process ---- */

static void context_ready(struct context *c)
{
        if (c->state != CONTEXT_STARTING)
                return; /* it is being killed */
        context_set_state(c, CONTEXT_IDLE);
        c->ready = true;
        timers_set(&c->timers, TIMER_START, DEADLINE_NEVER);
        context_report(c, NULL);
}

/* The CPU time of the start must not be counted for the first run, which begins after this reading. */
static void context_on_counted(void *context, const union keeper_packet *packet, int fd)
{
        struct context *c = context;
        (void)fd;
        if (packet->type == KEEPER_COUNTED)
                c->task.sandbox->counters = packet->counted;
        context_ready(c);
}

static void on_frame(void *context, enum driver_word word, char *body, size_t len)
{
        struct context *c = context;
        if (word == DRIVER_READY) {
                driver_expect(c->driver, 0);
                if (!c->task.sandbox->counted || sandbox_count(c->task.sandbox, context_on_counted, c) < 0)
                        context_ready(c);
        } else if (c->run) {
                context_run_frame(c->run, word, body, len);
        }
}

/* Keeps the end of the standard error, as one line of printable characters. */
static void overhear(struct context *c, const char *data, size_t len)
{
        size_t have = strlen(c->said), max = sizeof c->said - 1;
        if (len > max) {
                data += len - max;
                len = max;
        }
        if (have + len > max) {
                memmove(c->said, c->said + (have + len - max), max - len + 1);
                have = max - len;
        }
        for (size_t i = 0; i < len; i++)
                c->said[have + i] = data[i];
        for (size_t i = 0; i < len; i++)
                if (c->said[have + i] < ' ' || c->said[have + i] > '~')
                        c->said[have + i] = ' ';
        c->said[have + len] = '\0';
}

static void context_on_output(void *context, enum cella_stream stream, const char *data, size_t len)
{
        struct context *c = context;
        if (c->run)
                context_run_output(c->run, stream, data, len);
        else if (!c->ready && stream == CELLA_STDERR)
                overhear(c, data, len);
        /* Otherwise it comes from a process that a run left behind, and is discarded. */
}

static void on_signalled(void *context)
{
        struct context *c = context;
        if (c->run)
                context_run_signalled(c->run);
}

static void on_silent(void *context, const char *why)
{
        struct context *c = context;
        char words[120];
        if (!why) {
                timers_set_in(&c->timers, TIMER_CLOSED, GONE_US);
                return;
        }
        snprintf(words, sizeof words, "it sent %s", why);
        context_kill(c, words);
}

static void on_ended(void *context, const struct init_exited *exited, const struct cella_err *err)
{
        struct context *c = context;
        if (err) {
                const struct cella_err copy = *err;
                snprintf(c->why, sizeof c->why, "%.190s", err->msg);
                context_release(c);
                die(c, &copy);
                return;
        }
        context_set_state(c, CONTEXT_GONE);
        int status = exited->wait_status;
        if (!c->why[0] && WIFSIGNALED(status))
                snprintf(c->why, sizeof c->why, "killed by signal %d", WTERMSIG(status));
        else if (!c->why[0])
                snprintf(c->why, sizeof c->why, "exited with code %d", WEXITSTATUS(status));
        if (c->run)
                context_run_died(c->run, exited);
        else
                context_ended(c);
}

static const struct driver_events driver_events = {on_frame, context_on_output, on_signalled, on_silent,
                                                   on_ended};

/* ---- start ---- */

static void context_begin(struct context *c)
{
        struct core_sandbox *sb = c->task.sandbox;
        struct cella_err err = {0};
        if (c->state != CONTEXT_STARTING)
                context_set_state(c, CONTEXT_STARTING);
        c->again = c->ready = false;
        c->said[0] = '\0';
        if (!sandbox_takes_messages(sb))
                return; /* context_on_lost() follows */
        if (driver_new(sb, c->runtime, &driver_events, c, &c->driver, &err) < 0) {
                snprintf(c->why, sizeof c->why, "%.190s", err.msg);
                die(c, &err);
                return;
        }
        timers_set_in(&c->timers, TIMER_START, START_US);
}

static void context_on_channel(struct task *task)
{
        context_begin(list_entry(task, struct context, task));
}

static int check_paused(const struct core_sandbox *sb, struct cella_err *err)
{
        if (sb->state != SANDBOX_PAUSED)
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EBUSY, "the sandbox %s is paused", sb->id);
        return err_hint(err, "POST /v1/sandboxes/%s/resume", sb->id);
}

int context_new(struct core_sandbox *sb, const char *runtime, struct context **ret, struct cella_err *err)
{
        unsigned place = 0;
        while (place < SANDBOX_CONTEXTS_MAX && sb->contexts[place])
                place++;
        if (place == SANDBOX_CONTEXTS_MAX)
                return err_say(err, CELLA_OVER_CAPACITY, -EAGAIN, "a sandbox has at most %d contexts",
                               SANDBOX_CONTEXTS_MAX);
        int r = check_paused(sb, err);
        if (r < 0)
                return r;
        struct context *c = calloc(1, sizeof *c);
        r = c ? id_make("ctx_", c->id) : -ENOMEM;
        if (r < 0) {
                free(c);
                return err_set(err, CELLA_INTERNAL, r, "context");
        }
        c->core = sb->core;
        c->home = sb;
        c->created_ms = core_now_ms();
        memcpy(c->sandbox_id, sb->id, sizeof c->sandbox_id);
        snprintf(c->runtime, sizeof c->runtime, "%s", runtime);
        c->task = (struct task){.on_channel = context_on_channel,
                                .on_lost = context_on_lost,
                                .on_paused = on_paused,
                                .ignore_for_idle = true};
        list_init(&c->task.link);
        timers_init(&c->timers, sb->core->loop, on_due);
        c->timers.timer.data = c;
        sb->contexts[place] = c;
        *ret = c;
        return 0;
}

int context_start(struct context *c, void (*on_ready)(struct context *, const struct cella_err *, void *),
                  void *waiter, struct cella_err *err)
{
        int r = check_paused(c->home, err);
        if (r < 0)
                return r;
        if (c->on_ready) {
                err_say(err, CELLA_INVALID_REQUEST, -EBUSY, "the context %s is being started", c->id);
                return err_hint(err, "wait until it is idle");
        }
        c->on_ready = on_ready;
        c->waiter = waiter;
        sandbox_touch(c->home);
        if (c->driver) {
                c->again = true;
                if (c->run && c->run->phase == RUN_RUNNING)
                        verdict_end(&c->run->facts, END_CANCELLED);
                context_kill(c, "it was restarted");
        } else if (!c->task.sandbox) {
                c->why[0] = '\0';
                context_set_state(c, CONTEXT_STARTING);
                sandbox_attach(c->home, &c->task);
        } /* otherwise its sandbox is still being made */
        return 0;
}

void context_let_be(struct context *c)
{
        c->on_ready = NULL;
}

void context_remove(struct context *c)
{
        struct cella_err err = {0};
        for (unsigned i = 0; i < SANDBOX_CONTEXTS_MAX; i++)
                if (c->home->contexts[i] == c)
                        c->home->contexts[i] = NULL;
        c->home = NULL;
        err_say(&err, CELLA_NOT_FOUND, -ENOENT, "the context %s was removed", c->id);
        context_report(c, &err);
        if (c->run && c->run->phase == RUN_RUNNING)
                verdict_end(&c->run->facts, END_CANCELLED);
        if (c->driver)
                context_kill(c, "it was removed"); /* freed when its process has ended */
        else
                die(c, NULL);
}

void context_remove_all(struct core_sandbox *sb)
{
        for (unsigned i = 0; i < SANDBOX_CONTEXTS_MAX; i++)
                if (sb->contexts[i])
                        context_remove(sb->contexts[i]);
}

/* ---- queries ---- */

struct context *context_find(const struct core_sandbox *sb, const char *id)
{
        for (unsigned i = 0; i < SANDBOX_CONTEXTS_MAX; i++)
                if (sb->contexts[i] && !strcmp(sb->contexts[i]->id, id))
                        return sb->contexts[i];
        return NULL;
}

json_t *context_to_json(const struct context *c)
{
        const char *state = state_names[c->again ? CONTEXT_STARTING : c->state];
        int pid = c->driver ? driver_pid(c->driver) : 0;
        return json_pack("{s:s, s:s, s:s, s:s, s:s?, s:o, s:s?, s:I, s:o}", "id", c->id, "sandbox",
                         c->sandbox_id, "runtime", c->runtime, "state", state, "reason",
                         !strcmp(state, "dead") ? c->why : NULL, "pid",
                         pid > 0 ? json_integer(pid) : json_null(), "execution", c->run ? c->run->id : NULL,
                         "runs", (json_int_t)c->runs, "created", core_time(c->created_ms));
}
