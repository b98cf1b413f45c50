/* core/sandbox/sandbox.c -- the life cycle of a sandbox.  See sandbox.h for its states. */
#include "core/sandbox/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/states.h"
#include "core/docker.h"
#include "core/sandbox/workspace.h"
#include "engine/result.h"

static void sandbox_start(struct core_sandbox *sb);
static void sandbox_end(struct core_sandbox *sb);
static void frozen(struct core_sandbox *sb, const struct cella_err *err);

static const uint32_t next_states[SANDBOX_STATES] = {
        [SANDBOX_STOPPED] = STATE(SANDBOX_WAITING),
        [SANDBOX_WAITING] = STATE(SANDBOX_MAKING) | STATE(SANDBOX_STOPPED),
        [SANDBOX_MAKING] = STATE(SANDBOX_RUNNING) | STATE(SANDBOX_DEAD) | STATE(SANDBOX_ENDING),
        [SANDBOX_RUNNING] =
                STATE(SANDBOX_PAUSED) | STATE(SANDBOX_DYING) | STATE(SANDBOX_DEAD) | STATE(SANDBOX_ENDING),
        [SANDBOX_PAUSED] =
                STATE(SANDBOX_RUNNING) | STATE(SANDBOX_DYING) | STATE(SANDBOX_DEAD) | STATE(SANDBOX_ENDING),
        [SANDBOX_DYING] = STATE(SANDBOX_DEAD) | STATE(SANDBOX_ENDING),
        [SANDBOX_DEAD] = STATE(SANDBOX_DEAD) | STATE(SANDBOX_ENDING),
        [SANDBOX_ENDING] = STATE(SANDBOX_STOPPED),
};

static const char *const state_names[SANDBOX_STATES] = {
        [SANDBOX_STOPPED] = "stopped", [SANDBOX_WAITING] = "waiting", [SANDBOX_MAKING] = "making",
        [SANDBOX_RUNNING] = "running", [SANDBOX_PAUSED] = "paused",   [SANDBOX_DYING] = "dying",
        [SANDBOX_DEAD] = "dead",       [SANDBOX_ENDING] = "ending"};

static const struct states states = {"sandbox", state_names, next_states, SANDBOX_STATES};

static void set_state(struct core_sandbox *sb, enum sandbox_state state)
{
        if (states_may(&states, sb->state, state))
                sb->state = state;
}

bool sandbox_takes_messages(const struct core_sandbox *sb)
{
        return sb->channel && sb->state <= SANDBOX_PAUSED && !sb->renewing && !sb->filling;
}

bool sandbox_alive(const struct core_sandbox *sb)
{
        return sb->state != SANDBOX_STOPPED && sb->state != SANDBOX_WAITING;
}

void sandbox_touch(struct core_sandbox *sb)
{
        sb->used_us = clock_us();
}

/* Frees a sandbox to which nothing refers. */
static void sandbox_free(struct core_sandbox *sb)
{
        if (sb->core->watch.on_sandbox_gone)
                sb->core->watch.on_sandbox_gone(sb, sb->core->watch.context);
        sb->core->hooks->on_sandbox_gone(sb);
        list_remove(&sb->link);
        json_decref(sb->metadata);
        json_decref(sb->mounts);
        network_done(&sb->network);
        used_image_unref(sb->image);
        free(sb);
}

static void sandbox_forget(struct core_sandbox *sb)
{
        struct cella_err err = {0};
        if (sb->persistent)
                state_sandbox_remove(sb->core->state, sb->id, &err);
        if (sb->directory[0])
                workspace_remove(sb->core, sb->directory);
        sandbox_free(sb);
}

void sandbox_detach(struct task *task)
{
        struct core_sandbox *sb = task->sandbox;
        list_remove(&task->link);
        task->sandbox = NULL;
        if (!sb)
                return;
        sandbox_touch(sb);
        if (sb->state == SANDBOX_WAITING && list_empty(&sb->tasks) && !sb->one_shot) {
                queue_leave(&sb->place); /* no task waits for it */
                set_state(sb, SANDBOX_STOPPED);
        }
}

static bool has_begun(const struct list *link)
{
        return list_entry(link, struct task, link)->begun;
}

/* A callback may attach its task again, to this or another sandbox, so the tasks are moved to a list
 * first. */
static void lose_some(struct core_sandbox *sb, const struct cella_err *err, bool begun_only)
{
        struct list lost;
        list_init(&lost);
        list_each (at, &sb->tasks, other)
                if (!begun_only || has_begun(at)) {
                        list_remove(at);
                        list_add(&lost, at);
                }
        while (!list_empty(&lost)) {
                struct task *task = list_entry(lost.next, struct task, link);
                sandbox_detach(task);
                task->on_lost(task, sb, err);
        }
}

static void lose_tasks(struct core_sandbox *sb, const struct cella_err *err)
{
        lose_some(sb, err, false);
}

static void on_ended(void *context, const union keeper_packet *packet, int fd)
{
        struct core_sandbox *sb = context;
        (void)packet;
        (void)fd;
        sb->handle = 0;
        set_state(sb, SANDBOX_STOPPED);
        /* Its private files are gone, so it must not be started again. */
        if (!sb->persistent && (!sb->renewing || list_empty(&sb->tasks)))
                sb->removing = true;
        if (sb->removing) {
                struct cella_err err = {0};
                err_say(&err, CELLA_NOT_FOUND, -ENOENT, "the sandbox %s has ended", sb->id);
                lose_tasks(sb, &err);
        }
        queue_release(&sb->place);
        if (sb->removing)
                sandbox_forget(sb);
        else if (!list_empty(&sb->tasks))
                sandbox_start(sb);
}

static void sandbox_end(struct core_sandbox *sb)
{
        if (sb->state == SANDBOX_ENDING)
                return;
        set_state(sb, SANDBOX_ENDING);
        queue_ending(&sb->place);
        sandbox_ask_forget(sb->core, sb);
        if (sb->frozen) {
                struct cella_err err = {0};
                err_say(&err, CELLA_NOT_FOUND, -ENOENT, "the sandbox %s has ended", sb->id);
                frozen(sb, &err);
        }
        sandbox_limits_lost(sb);
        egress_detach(&sb->egress);
        sb->channel = channel_free(sb->channel);
        sandbox_close_counters(sb);
        int r = sandbox_ask(sb, KEEPER_END, on_ended, sb);
        sb->handle = 0; /* no more requests about it */
        if (r < 0)
                on_ended(sb, NULL, -1);
}

/* Call when the sandbox could not be made. */
static void sandbox_fail(struct core_sandbox *sb, const struct cella_err *err)
{
        const struct cella_err copy = *err;
        sb->core->metrics.sandboxes_failed++;
        set_state(sb, SANDBOX_DEAD);
        lose_tasks(sb, &copy);
        sandbox_end(sb);
}

static void on_last_count(void *context, const union keeper_packet *packet, int fd)
{
        struct core_sandbox *sb = context;
        (void)fd;
        if (packet->type == KEEPER_COUNTED)
                sb->counters = packet->counted;
        lose_some(sb, NULL, true); /* tasks that were attached after its death get the next one */
        sandbox_end(sb);
}

static void count_last(struct core_sandbox *sb)
{
        set_state(sb, SANDBOX_DEAD);
        if (sandbox_ask(sb, KEEPER_COUNT, on_last_count, sb) < 0) {
                lose_some(sb, NULL, true);
                sandbox_end(sb);
        }
}

static bool needs_deaths(const struct core_sandbox *sb)
{
        list_each (at, &sb->tasks, other) {
                const struct task *task = list_entry(at, struct task, link);
                if (task->begun && task->needs_deaths && task->needs_deaths(task))
                        return true;
        }
        return false;
}

/* init has ended, and the kernel ends all processes with it. */
static void died(struct core_sandbox *sb)
{
        if (sb->state != SANDBOX_MAKING && sb->state != SANDBOX_RUNNING && sb->state != SANDBOX_PAUSED)
                return;
        if (!sb->ready) {
                struct cella_err err = {0};
                if (sb->removing)
                        err_say(&err, CELLA_NOT_FOUND, -ENOENT, "the sandbox %s has ended", sb->id);
                else
                        err_say(&err, CELLA_INTERNAL, -EIO, "the sandbox ended before it was ready");
                sandbox_fail(sb, &err);
                return;
        }
        if (!sb->all_dead && sb->engine == ENGINE_NATIVE && needs_deaths(sb)) {
                set_state(sb, SANDBOX_DYING);
                /* In case init still runs.  KEEPER_DIED follows in any case. */
                sandbox_ask(sb, KEEPER_KILL, NULL, NULL);
        } else {
                count_last(sb);
        }
}

static void sandbox_begin_task(struct task *task)
{
        task->begun = true;
        if (task->on_channel)
                task->on_channel(task);
}

static void sandbox_on_ready(struct core_sandbox *sb, const char *data)
{
        struct init_ready ready;
        memcpy(&ready, data, sizeof ready);
        sb->ready_us = ready.at_us <= clock_us() ? ready.at_us : 0;
        sb->cpu_made_us = ready.cpu_us;
        /* init must not set these bits. */
        sb->walls = ready.walls & ~(uint32_t)(ISOLATION_DOCKER | ISOLATION_PODMAN);
        if (sb->engine == ENGINE_DOCKER)
                sb->walls |= docker_mark(sb->core->docker);
        sb->ready = true;
        set_state(sb, SANDBOX_RUNNING);
        list_each (at, &sb->tasks, other) {
                struct task *task = list_entry(at, struct task, link);
                if (task->begun && task->on_ready)
                        task->on_ready(task);
                if (sb->state != SANDBOX_RUNNING) /* it was ended by a callback */
                        return;
        }
}

/* Takes the sockets of the network, before INIT_READY and so before any code runs.  A sandbox made in advance
 * is attached to the egress process when it is taken: its policy is not known yet. */
static bool take_network(struct core_sandbox *sb, struct message *m)
{
        if (m->type != INIT_NETWORK || m->n_fds != 2 || !sandbox_has_network(sb) || sb->ready ||
            sb->network_came)
                return false;
        egress_keep(&sb->egress, m->fds[0], m->fds[1]);
        m->n_fds = 0;
        sb->network_came = true;
        if (!sb->place.ahead)
                egress_attach(&sb->egress);
        return true;
}

static void receive_refused(struct core_sandbox *sb, const char *data)
{
        struct init_refused refused;
        struct violation v;
        memcpy(&refused, data, sizeof refused);
        violation_set(&v, VIOLATION_SYSCALL, refused.target, sizeof refused.target, refused.detail,
                      sizeof refused.detail);
        violation_report(&sb->observers, &v);
}

static void on_untagged_message(void *context, const struct message *message, const char *data)
{
        struct core_sandbox *sb = context;
        struct message m = *message;
        if (take_network(sb, &m))
                return;
        message_close_fds(&m);
        if (m.type == INIT_READY && m.len == sizeof(struct init_ready) && sb->state == SANDBOX_MAKING &&
            sandbox_has_network(sb) == sb->network_came) {
                sandbox_on_ready(sb, data);
        } else if (m.type == INIT_REFUSED && m.len == sizeof(struct init_refused) && sb->ready) {
                receive_refused(sb, data);
        } else if (m.type == INIT_UNREACHED && m.len == 0 && sb->ready) {
                struct violation v;
                violation_of_no_network(&v);
                if (!sandbox_has_network(sb) && !sb->direct) /* on the host, the counters are the host's */
                        violation_report(&sb->observers, &v);
        } else if (m.type == INIT_FAILED && m.len == sizeof(struct cella_err) && !sb->ready) {
                struct cella_err err;
                memcpy(&err, data, sizeof err);
                err.msg[sizeof err.msg - 1] = err.hint[sizeof err.hint - 1] = '\0';
                sandbox_fail(sb, &err);
        } else { /* the sender is not our init */
                sandbox_ask(sb, KEEPER_KILL, NULL, NULL);
        }
}

static void on_channel_closed(void *context)
{
        died(context);
}

static void on_made(void *context, const union keeper_packet *packet, int fd)
{
        struct core_sandbox *sb = context;
        struct cella_err err = {0};
        if (packet->type != (sb->engine == ENGINE_DOCKER ? DOCKER_MADE : KEEPER_MADE)) {
                err_say(&err, CELLA_INTERNAL, -EIO, "the keeper created no sandbox");
                sandbox_fail(sb, packet->type == KEEPER_FAILED ? &packet->failed.err : &err);
                return;
        }
        sb->handle = packet->made.sandbox;
        sb->counters = (struct keeper_counted){0}; /* discard those of its previous instance */
        sandbox_take_counters(sb);
        if (sb->engine != ENGINE_DOCKER)
                *(sb->worker ? &sb->worker->groups : &sb->core->metrics.groups) = packet->made.groups;
        if (fd < 0) { /* the packet had a descriptor, but the kernel could not install it here */
                err_say(&err, CELLA_OVER_CAPACITY, -EMFILE, "the server has no descriptors left");
                sandbox_fail(sb, &err);
                return;
        }
        if (sb->engine == ENGINE_DOCKER && used_image_report(sb->image, &packet->docker, &err) < 0) {
                close(fd);
                sandbox_fail(sb, &err);
                return;
        }
        sb->missing = packet->made.missing;
        if (sb->direct) /* except for its workspace */
                sb->missing |= CELLA_LIMIT_DISK;
        sb->counted = packet->made.counted != 0;
        sb->core->metrics.sandboxes_made++;
        if (channel_new(sb->core->loop, fd, on_untagged_message, on_channel_closed, sb, &sb->channel, &err) <
            0) {
                sandbox_fail(sb, &err);
                return;
        }
        if (!sb->one_shot)
                sandbox_ask(sb, KEEPER_THROTTLE, NULL, NULL);
        if (sb->removing) {
                sandbox_end(sb);
                return;
        }
        list_each (at, &sb->tasks, other) {
                sandbox_begin_task(list_entry(at, struct task, link));
                if (sb->state != SANDBOX_MAKING || sb->filling)
                        return;
        }
}

void sandbox_filled(struct core_sandbox *sb)
{
        sb->filling = false;
        list_each (at, &sb->tasks, other) {
                struct task *task = list_entry(at, struct task, link);
                if (task->on_ready)
                        task->on_ready(task);
                sandbox_begin_task(task);
                if (!sandbox_takes_messages(sb))
                        return;
        }
}

static void on_granted(struct place *place)
{
        struct core_sandbox *sb = list_entry(place, struct core_sandbox, place);
        struct cella_err err = {0};
        set_state(sb, SANDBOX_MAKING);
        sb->ready = sb->throttled = sb->network_came = sb->all_dead = sb->renewing = false;
        sb->handle = 0;
        sb->making_us = clock_us();
        memset(sb->slots, 0, sizeof sb->slots);
        if (sandbox_make(sb, on_made, &err) < 0)
                sandbox_fail(sb, &err);
}

static void sandbox_on_refused(struct place *place, const struct cella_err *err)
{
        struct core_sandbox *sb = list_entry(place, struct core_sandbox, place);
        set_state(sb, SANDBOX_STOPPED);
        lose_tasks(sb, err);
        if (sb->one_shot)
                sandbox_free(sb);
        else if (!sb->persistent || sb->removing)
                sandbox_forget(sb);
}

static bool place_is_reclaimable(const struct place *place, int64_t *ret_used_us)
{
        const struct core_sandbox *sb = list_entry(place, const struct core_sandbox, place);
        *ret_used_us = sb->used_us;
        return sandbox_reclaimable(sb);
}

static void place_reclaim(struct place *place)
{
        sandbox_reclaim(list_entry(place, struct core_sandbox, place));
}

static const struct place_events place_events = {on_granted, sandbox_on_refused, place_is_reclaimable,
                                                 place_reclaim};

struct core_sandbox *sandbox_alloc(struct core *core)
{
        struct core_sandbox *sb = calloc(1, sizeof *sb);
        if (!sb)
                return NULL;
        sb->core = core;
        list_init(&sb->observers);
        sandbox_egress_init(&sb->egress, core->egress, &sb->network, &sb->observers);
        sandbox_place_init(&sb->place, core, sb->key, &place_events);
        list_init(&sb->tasks);
        list_init(&sb->processes);
        list_init(&sb->link);
        sandbox_touch(sb);
        return sb;
}

static void sandbox_start(struct core_sandbox *sb)
{
        set_state(sb, SANDBOX_WAITING);
        queue_enter(&sb->place);
}

void sandbox_attach(struct core_sandbox *sb, struct task *task)
{
        task->sandbox = sb;
        task->begun = false;
        list_add(&sb->tasks, &task->link);
        sandbox_touch(sb);
        if (sb->state == SANDBOX_STOPPED)
                sandbox_start(sb);
        else if (sandbox_takes_messages(sb))
                sandbox_begin_task(task);
}

void sandbox_stop(struct core_sandbox *sb)
{
        switch (sb->state) {
        case SANDBOX_WAITING:
                queue_leave(&sb->place);
                set_state(sb, SANDBOX_STOPPED);
                lose_tasks(sb, &(struct cella_err){.num = -ECANCELED,
                                                   .kind = CELLA_NOT_FOUND,
                                                   .msg = "the sandbox was removed before it started"});
                break;
        case SANDBOX_MAKING:
                if (sb->channel)
                        sandbox_ask(sb, KEEPER_KILL, NULL, NULL);
                break; /* on_made() ends it if it is being removed */
        case SANDBOX_RUNNING:
        case SANDBOX_PAUSED:
        case SANDBOX_DYING:
        case SANDBOX_DEAD:
                if (list_empty(&sb->tasks))
                        sandbox_end(sb);
                else /* tasks need their counters: died() reads them */
                        sandbox_ask(sb, KEEPER_KILL, NULL, NULL);
                break;
        case SANDBOX_STOPPED:
        case SANDBOX_ENDING:
        case SANDBOX_STATES:
                break;
        }
}

void sandbox_remove(struct core_sandbox *sb)
{
        sb->removing = true;
        sandbox_stop(sb);
        if (sb->state == SANDBOX_STOPPED)
                sandbox_forget(sb);
}

void sandbox_give_up(struct core_sandbox *sb, const struct cella_err *err)
{
        lose_tasks(sb, err);
        sandbox_remove(sb);
}

static void frozen(struct core_sandbox *sb, const struct cella_err *err)
{
        void (*done)(void *, const struct cella_err *) = sb->frozen;
        sb->frozen = NULL;
        if (done)
                done(sb->frozen_context, err);
}

static void on_frozen(void *context, const union keeper_packet *packet, int fd)
{
        struct core_sandbox *sb = context;
        (void)fd;
        if (packet->type == KEEPER_FAILED) {
                frozen(sb, &packet->failed.err);
                return;
        }
        if (sb->state != SANDBOX_RUNNING && sb->state != SANDBOX_PAUSED)
                return; /* it has died: sandbox_end() calls frozen() */
        const bool paused = sb->state == SANDBOX_RUNNING;
        set_state(sb, paused ? SANDBOX_PAUSED : SANDBOX_RUNNING);
        list_each (at, &sb->tasks, other) {
                struct task *task = list_entry(at, struct task, link);
                if (task->on_paused)
                        task->on_paused(task, paused);
        }
        frozen(sb, NULL);
}

void sandbox_freeze(struct core_sandbox *sb, bool freeze, void (*done)(void *, const struct cella_err *),
                    void *context)
{
        struct cella_err err = {0};
        if (sb->state == (freeze ? SANDBOX_PAUSED : SANDBOX_RUNNING)) {
                done(context, NULL); /* already in this state */
                return;
        }
        if (sb->state != (freeze ? SANDBOX_RUNNING : SANDBOX_PAUSED) || sb->frozen) {
                err_say(&err, CELLA_INVALID_REQUEST, -EBUSY, "the sandbox is not running");
                done(context, &err);
                return;
        }
        sb->frozen = done;
        sb->frozen_context = context;
        if (sandbox_ask(sb, freeze ? KEEPER_FREEZE : KEEPER_THAW, on_frozen, sb) < 0) {
                err_say(&err, CELLA_INTERNAL, -EIO, "cannot ask the keeper");
                frozen(sb, &err);
        }
}

static void ignore_frozen(void *context, const struct cella_err *err)
{
        (void)context;
        (void)err;
}

static struct core_sandbox *find_lost(struct core *core)
{
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->lost)
                        return sb;
        }
        return NULL;
}

/* Callbacks may add and remove sandboxes, so the affected ones were marked first. */
static void lose_marked(struct core *core, const struct cella_err *err)
{
        struct core_sandbox *sb;
        while ((sb = find_lost(core))) {
                sb->lost = false;
                if (sb->state == SANDBOX_ENDING)
                        on_ended(sb, NULL, -1);
                else
                        sandbox_fail(sb, err);
        }
}

void sandbox_engine_lost(struct core *core, const struct cella_err *err)
{
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                sb->lost = sb->engine == ENGINE_DOCKER && sandbox_alive(sb);
        }
        lose_marked(core, err);
}

void sandbox_worker_lost(struct core *core, const struct worker *worker, const struct cella_err *err)
{
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                sb->lost = sb->worker == worker && sb->engine == ENGINE_NATIVE && sandbox_alive(sb);
        }
        lose_marked(core, err);
}

bool sandbox_engine_used(const struct core *core)
{
        list_each (at, &core->sandboxes, other) {
                const struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->engine == ENGINE_DOCKER && sandbox_alive(sb))
                        return true;
        }
        return false;
}

/* Also finds a sandbox that is being removed.  No other request is accepted before the keeper has
 * answered. */
void sandbox_freeze_forget(struct core *core, const void *context)
{
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->frozen && sb->frozen_context == context)
                        sb->frozen = ignore_frozen;
        }
}

/* The channel also closes, after init's last messages, which is the preferred notification.  But it closes
 * before the last process is dead; KEEPER_DIED comes afterwards. */
void sandbox_receive_keeper(struct core *core, const struct worker *worker, const struct keeper_about *about)
{
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->handle != about->sandbox || sb->worker != worker || sb->engine != ENGINE_NATIVE ||
                    !sandbox_alive(sb))
                        continue;
                sb->all_dead = true;
                if (!sb->channel) {
                        died(sb);
                } else if (sb->state == SANDBOX_DYING) {
                        count_last(sb);
                }
                return;
        }
}
