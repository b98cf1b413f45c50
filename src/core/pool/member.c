#include "core/pool/member.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/sandbox/queue.h"
#include "snapshot/release.h"
#include "sys/file.h"

#define BACKOFF_US INT64_C(250000) /* after a failure; doubled each time */
#define BACKOFF_DOUBLINGS 8
#define TRIES 3 /* before a program counts as unable to wait */

void waiting_free(struct waiting *w)
{
        struct core_sandbox *sb = w->sandbox;
        if (sb) {
                sb->waiting = NULL;
                w->sandbox = NULL;
        }
        if (!list_empty(&w->link)) {
                list_remove(&w->link);
                w->pool->n_ready--;
        } else if (!w->ready && w->pool) {
                w->pool->n_making--;
        }
        w->pool = NULL;
        if (w->task.sandbox)
                sandbox_detach(&w->task);
        fd_poll_stop(&w->poll);
        sys_close(w->control);
        free(w);
}

void pool_drop(struct waiting *w)
{
        struct core_sandbox *sb = w->sandbox;
        if (w->tag && sb->channel)
                channel_forget(sb->channel, w->tag);
        waiting_free(w);
        sandbox_remove(sb);
}

void pool_failed(struct pool *pool)
{
        unsigned doublings = pool->failures < BACKOFF_DOUBLINGS ? pool->failures : BACKOFF_DOUBLINGS;
        pool->failures++;
        pool->not_before_us = clock_us() + (BACKOFF_US << doublings);
}

bool pool_sleeps(const struct pool *pool)
{
        return pool->idle_us > 0 && (pool->wanted_us == 0 || clock_us() - pool->wanted_us >= pool->idle_us);
}

unsigned pool_wanted_size(const struct pool *pool)
{
        return pool_sleeps(pool) ? 0 : pool->size;
}

/* Handles a program that does not start to wait: it cannot be held (linked statically, or its libc does not
 * load the preloaded library), or it does not exist.  Then the pool has ready sandboxes only. */
static void ended_early(struct pool *pool, const char *how)
{
        pool_failed(pool);
        if (pool->failures < TRIES || (pool->how.kind != WAITING_SHELL && pool->how.kind != WAITING_SCRIPT))
                return;
        err_say(&pool->problem, CELLA_RUNTIME_NOT_FOUND, -ENOEXEC, "%s %s", pool->how.program, how);
        pool->how.kind = WAITING_NOT;
        pool->retry_us = clock_us() + RETRY_US;
        pool->failures = 0;
        pool->not_before_us = 0;
}

/* Lets it sleep until the next execution that needs it. */
static void pool_rest(struct pool *pool)
{
        pool->wanted_us = 0;
        pool->failures = 0;
}

static void waits_now(struct waiting *w)
{
        struct pool *pool = w->pool;
        if (pool->n_ready >= pool_wanted_size(pool)) { /* the pool was made smaller meanwhile */
                pool_drop(w);
                return;
        }
        w->ready = true;
        pool->n_making--;
        pool->n_ready++;
        pool->failures = pool->unlucky = 0;
        pool->refill_us = clock_us() - w->begun_us;
        list_add(&pool->ready, &w->link);
        pool->on_ready(pool);
}

static void on_said(struct fd_poll *poll, int events)
{
        struct waiting *w = list_entry(poll, struct waiting, poll);
        struct pool *pool = w->pool;
        struct release_ready said = {0};
        (void)events;
        ssize_t n = recv(w->control, &said, sizeof said, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        fd_poll_stop(&w->poll);
        if (n == sizeof said && said.ready == RELEASE_READY && !w->ready) {
                w->cpu_us = said.cpu_us;
                w->said = true;
                if (w->pid) /* otherwise INIT_STARTED has not arrived yet */
                        waits_now(w);
                return;
        }
        const int why = n > 0 ? *(const char *)&said : 0;
        if (why == 0)
                ended_early(pool, "cannot be made to wait for code: it is started for each execution");
        else if (why != REFUSAL_ADDRESS || pool->unlucky++ > 2)
                pool_failed(pool);
        pool_drop(w);
}

static void on_message(void *context, const struct message *message, const char *data)
{
        struct waiting *w = context;
        struct message m = *message;
        int32_t pid;
        message_close_fds(&m);
        if (m.type == INIT_STARTED && m.len == sizeof pid) {
                memcpy(&pid, data, sizeof pid);
                w->pid = pid;
                if (w->said && !w->ready)
                        waits_now(w);
                return;
        }
        if (w->control >= 0 && !w->ready && m.type == INIT_EXITED)
                return; /* the socket tells the reason */
        if (m.type == INIT_FAILED && w->pool->idle_us > 0)
                pool_rest(w->pool); /* a machine or image without the program is normal: no error */
        else if (m.type == INIT_FAILED)
                ended_early(w->pool, "does not exist");
        else
                pool_failed(w->pool);
        pool_drop(w);
}

static void on_channel(struct task *task)
{
        struct waiting *w = list_entry(task, struct waiting, task);
        struct core_sandbox *sb = task->sandbox;
        struct cella_err err = {0};
        if (w->how.kind == WAITING_NOT)
                return;
        w->tag = channel_open_tag(sb->channel, on_message, w);
        if (w->tag == 0 || waiting_spawn(sb, w->tag, &w->how, &w->control, &err) < 0 ||
            fd_poll_start(&w->poll, sb->core->loop, w->control, UV_READABLE, on_said) < 0) {
                pool_failed(w->pool);
                pool_drop(w);
        }
}

static void on_ready(struct task *task)
{
        struct waiting *w = list_entry(task, struct waiting, task);
        if (w->how.kind == WAITING_NOT)
                waits_now(w);
}

static void on_lost(struct task *task, struct core_sandbox *sb, const struct cella_err *err)
{
        struct waiting *w = list_entry(task, struct waiting, task);
        struct pool *pool = w->pool;
        (void)sb;
        (void)err;
        pool_failed(pool);
        waiting_free(w);
}

int pool_add_member(struct pool *pool)
{
        struct waiting *w = calloc(1, sizeof *w);
        struct core_sandbox *sb = NULL;
        struct cella_err err = {0};
        struct caller owner;
        caller_owner(&owner);
        const struct sandbox_spec spec = {
                .caller = &owner,
                .scope = SCOPE_EXECUTION,
                .one_shot = !pool->lends[0],
                .limits = pool->limits,
                .image = pool->image,
                .network.tier = pool->network ? TIER_STANDARD : TIER_RESTRICTED}; /* until it is taken */
        if (!w || sandbox_add(pool->core, &spec, &sb, &err) < 0) {
                free(w);
                return -ENOMEM;
        }
        *w = (struct waiting){
                .pool = pool, .sandbox = sb, .how = pool->how, .control = -1, .begun_us = clock_us()};
        w->how.bare = json_is_array(pool->preload);
        w->task = (struct task){.on_channel = on_channel, .on_ready = on_ready, .on_lost = on_lost};
        list_init(&w->task.link);
        list_init(&w->link);
        sb->waiting = w;
        sb->place.ahead = true;
        pool->n_making++;
        sandbox_attach(sb, &w->task);
        return 0;
}

void pool_drop_members(struct pool *pool)
{
        list_each (at, &pool->core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->waiting && sb->waiting->pool == pool && !sb->waiting->ready)
                        pool_drop(sb->waiting);
        }
        while (!list_empty(&pool->ready))
                pool_drop(list_entry(pool->ready.next, struct waiting, link));
}

struct waiting *pool_first_alive(const struct pool *pool)
{
        list_each (at, &pool->ready, other) {
                struct waiting *w = list_entry(at, struct waiting, link);
                if (sandbox_takes_messages(w->sandbox))
                        return w;
        }
        return NULL;
}

struct core_sandbox *pool_take_member(struct pool *pool, struct waiting *w, const struct sandbox_spec *spec)
{
        struct core_sandbox *sb = w->sandbox;
        list_remove(&w->link);
        pool->n_ready--;
        pool->hits++;
        pool->n_in_use++;
        sandbox_detach(&w->task);
        sandbox_adopt(sb, spec);
        queue_hold(&sb->place); /* without memory it is not counted, and the next allocation fails */
        sb->pool = pool;
        sb->place.ahead = false;
        egress_attach(&sb->egress);
        return sb;
}
