#include "box/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/limits.h"
#include "box/queue.h"
#include "box/template.h"
#include "engine/runtime.h"
#include "sys/file.h"
#include "warm/release.h"

#define MAKING_AT_ONCE 2             /* of all pools: requests have the rest of the machine */
#define FRONT_MAX 8                  /* that get ready in earnest */
#define OVERDUE_US INT64_C(60000000) /* a member that does not come to wait */
#define RETRY_US INT64_C(60000000)   /* a template that cannot be made */
#define BACKOFF_US INT64_C(250000)   /* members that fail; doubled each time */
#define BACKOFF_DOUBLINGS 8

struct pool {
        struct list link; /* in the box */
        struct box *box;
        char runtime[65];
        json_t *preload;
        struct cella_limits limits;
        unsigned size;
        bool network; /* its members have one */
        struct waiting_how how;
        struct template_maker *maker;
        struct cella_err problem;   /* why there is no template; kind CELLA_OK: none */
        int64_t retry_us;           /* when to try again to make one */
        int64_t not_before_us;      /* when to try again to make members */
        unsigned failures, unlucky; /* in a row */
        struct list ready;          /* struct waiting, the oldest first */
        unsigned n_ready, n_making, n_in_use;
        uint64_t hits, misses;
        int64_t refill_us; /* of the last member, from asking for it to being ready */
};

/* ---- members ---- */

static void on_poll_closed(uv_handle_t *handle)
{
        free(handle->data);
}

void waiting_free(struct waiting *w)
{
        struct box_sandbox *sb = w->sandbox;
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
        if (w->polls) {
                uv_poll_stop(&w->poll);
                uv_close((uv_handle_t *)&w->poll, on_poll_closed);
        }
        sys_close(w->control);
        w->control = -1;
        if (!w->polls)
                free(w);
}

/* Ends one that nobody has taken. */
static void drop(struct waiting *w)
{
        struct box_sandbox *sb = w->sandbox;
        if (w->tag && sb->channel)
                channel_forget(sb->channel, w->tag);
        waiting_free(w);
        sandbox_remove(sb);
}

static void failed(struct pool *pool)
{
        unsigned doublings = pool->failures < BACKOFF_DOUBLINGS ? pool->failures : BACKOFF_DOUBLINGS;
        pool->failures++;
        pool->not_before_us = clock_us() + (BACKOFF_US << doublings);
}

static void waits_now(struct waiting *w)
{
        struct pool *pool = w->pool;
        if (pool->n_ready >= pool->size) { /* it was made smaller meanwhile */
                drop(w);
                return;
        }
        w->ready = true;
        pool->n_making--;
        pool->n_ready++;
        pool->failures = pool->unlucky = 0;
        pool->refill_us = clock_us() - w->begun_us;
        list_add(&pool->ready, &w->link);
        pools_give_way(pool->box, queue_wants(pool->box)); /* who came meanwhile may need the room */
        pools_refill(pool->box);
}

static void on_said(uv_poll_t *poll, int status, int events)
{
        struct waiting *w = poll->data;
        struct pool *pool = w->pool;
        struct warm_ready said = {0};
        (void)status;
        (void)events;
        ssize_t n = recv(w->control, &said, sizeof said, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        uv_poll_stop(poll);
        if (n == sizeof said && said.ready == WARM_READY && !w->ready) {
                w->cpu_us = said.cpu_us;
                w->said = true;
                if (w->pid) /* else init's word that it was started is still on its way */
                        waits_now(w);
                return;
        }
        const int why = n > 0 ? *(const char *)&said : 0;
        if (why != WARM_ADDRESS || pool->unlucky++ > 2)
                failed(pool);
        drop(w);
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
                return; /* why, the socket says */
        failed(w->pool);
        drop(w);
}

static void on_channel(struct task *task)
{
        struct waiting *w = list_entry(task, struct waiting, task);
        struct box_sandbox *sb = task->sandbox;
        struct cella_err err = {0};
        if (w->how.kind == WAITING_NOT)
                return;
        w->tag = channel_open_tag(sb->channel, on_message, w);
        if (w->tag == 0 || waiting_spawn(sb, w->tag, &w->how, &w->control, &err) < 0) {
                failed(w->pool);
                drop(w);
                return;
        }
        if (uv_poll_init(sb->box->loop, &w->poll, w->control) < 0) {
                failed(w->pool);
                drop(w);
                return;
        }
        w->poll.data = w;
        w->polls = true;
        uv_poll_start(&w->poll, UV_READABLE, on_said);
}

static void on_ready(struct task *task)
{
        struct waiting *w = list_entry(task, struct waiting, task);
        if (w->how.kind == WAITING_NOT)
                waits_now(w);
}

static void on_lost(struct task *task, struct box_sandbox *sb, const struct cella_err *err)
{
        struct waiting *w = list_entry(task, struct waiting, task);
        struct pool *pool = w->pool;
        (void)sb;
        (void)err;
        failed(pool);
        waiting_free(w);
}

static int add_member(struct pool *pool)
{
        struct waiting *w = calloc(1, sizeof *w);
        struct box_sandbox *sb = NULL;
        struct cella_err err = {0};
        struct caller owner;
        caller_owner(&owner);
        const struct sandbox_spec spec = {
                .caller = &owner,
                .scope = SCOPE_EXECUTION,
                .one_shot = true,
                .limits = pool->limits,
                .network.tier = pool->network ? TIER_STANDARD : TIER_RESTRICTED}; /* until it is taken */
        if (!w || sandbox_add(pool->box, &spec, &sb, &err) < 0) {
                free(w);
                return -ENOMEM;
        }
        *w = (struct waiting){
                .pool = pool, .sandbox = sb, .how = pool->how, .control = -1, .begun_us = clock_us()};
        w->task = (struct task){.on_channel = on_channel, .on_ready = on_ready, .on_lost = on_lost};
        list_init(&w->task.link);
        list_init(&w->link);
        sb->waiting = w;
        sb->ahead = true;
        pool->n_making++;
        sandbox_attach(sb, &w->task);
        return 0;
}

/* ---- templates ---- */

static void on_template(void *context, int fd, char *modules, const struct cella_err *err)
{
        struct pool *pool = context;
        pool->maker = NULL;
        if (fd < 0) {
                pool->problem = *err;
                pool->how.kind = WAITING_NOT; /* a sandbox that is ready is better than none */
                pool->retry_us = clock_us() + RETRY_US;
        } else {
                pool->problem = (struct cella_err){0};
                pool->how.template_fd = fd;
                pool->how.modules = modules;
        }
        pools_refill(pool->box);
}

static bool lacks_template(const struct pool *pool)
{
        return pool->how.kind == WAITING_TEMPLATE && pool->how.template_fd < 0;
}

static void make_template(struct pool *pool)
{
        if (pool->maker || template_make(pool->box, pool->how.program, pool->preload, on_template, pool,
                                         &pool->maker, &pool->problem) == 0)
                return;
        pool->how.kind = WAITING_NOT;
        pool->retry_us = clock_us() + RETRY_US;
}

static void drop_template(struct pool *pool)
{
        sys_close(pool->how.template_fd);
        pool->how.template_fd = -1;
        free(pool->how.modules);
        pool->how.modules = NULL;
}

/* ---- filling up ---- */

static unsigned making(const struct box *box)
{
        unsigned n = 0;
        list_each (at, &box->pools, other)
                n += list_entry(at, struct pool, link)->n_making;
        return n;
}

static bool wants_member(const struct pool *pool)
{
        const struct box *box = pool->box;
        return pool->n_ready + pool->n_making < pool->size && !lacks_template(pool) &&
               clock_us() >= pool->not_before_us && box->alive + 1 < box->settings.sandboxes_max &&
               making(box) < MAKING_AT_ONCE;
}

/* Those that are taken next get ready in earnest, which takes memory; the others wait as they are. */
static void ready_front(struct pool *pool)
{
        unsigned n = pool->size < 16 ? 1 : pool->size / 8 < FRONT_MAX ? pool->size / 8 : FRONT_MAX;
        list_each (at, &pool->ready, other) {
                struct waiting *w = list_entry(at, struct waiting, link);
                if (n-- == 0)
                        break;
                if (!w->soon && w->how.kind == WAITING_TEMPLATE)
                        waiting_soon(w->control);
                w->soon = true;
        }
}

/* One that never says that it waits must not keep the others from being made. */
static void drop_overdue(struct box *box)
{
        const int64_t oldest = clock_us() - OVERDUE_US;
        list_each (at, &box->sandboxes, other) {
                struct waiting *w = list_entry(at, struct box_sandbox, link)->waiting;
                if (!w || w->ready || !w->pool || w->begun_us > oldest)
                        continue;
                failed(w->pool);
                drop(w);
                return; /* the list has changed; the next turn has the next */
        }
}

void pools_tick(struct box *box)
{
        if (making(box) > 0)
                drop_overdue(box);
        pools_refill(box);
}

void pools_refill(struct box *box)
{
        if (list_empty(&box->executions)) /* else there is better use for the time */
                list_each (at, &box->pools, other)
                        ready_front(list_entry(at, struct pool, link));
        bool more = !box->stopping && box->probed && !box->unable.kind;
        if (more)
                list_each (at, &box->pools, other) {
                        struct pool *pool = list_entry(at, struct pool, link);
                        if (pool->problem.kind && !pool->maker && clock_us() >= pool->retry_us)
                                pool->how.kind = WAITING_TEMPLATE;
                        if (lacks_template(pool))
                                make_template(pool);
                }
        while (more) { /* one for each in turn */
                more = false;
                list_each (at, &box->pools, other) {
                        struct pool *pool = list_entry(at, struct pool, link);
                        if (wants_member(pool) && add_member(pool) == 0)
                                more = true;
                }
        }
}

static struct pool *fullest(const struct box *box)
{
        struct pool *found = NULL;
        list_each (at, &box->pools, other) {
                struct pool *pool = list_entry(at, struct pool, link);
                if (pool->n_ready > 0 && (!found || pool->n_ready > found->n_ready))
                        found = pool;
        }
        return found;
}

bool pools_give_way(struct box *box, unsigned wanted)
{
        bool gave = false;
        unsigned ending = 0;
        struct pool *pool;
        list_each (at, &box->sandboxes, other)
                ending += list_entry(at, struct box_sandbox, link)->state == SANDBOX_ENDING;
        while (box->alive + wanted > box->settings.sandboxes_max + ending && (pool = fullest(box))) {
                gave = true;
                drop(list_entry(pool->ready.next, struct waiting, link));
                ending++; /* its room comes back by queue_release() */
        }
        return gave;
}

/* ---- taking ---- */

/* Those that belong to the sandbox are the same; the others are each execution's own. */
static bool same_limits(const struct cella_limits *a, const struct cella_limits *b)
{
        static const char *const own[] = {"timeout_ms", "grace_ms", "output_bytes", NULL};
        for (size_t i = 0; i < limits_table_len; i++)
                if (limit_get(a, &limits_table[i]) != limit_get(b, &limits_table[i]) &&
                    word_index(own, limits_table[i].name) < 0)
                        return false;
        return true;
}

static bool serves(const struct pool *pool, const struct sandbox_spec *spec, const struct exec_request *r)
{
        struct runtime runtime;
        if (!r->runtime || runtime_find(r->runtime, &runtime) < 0 ||
            strcmp(runtime.program, pool->how.program) != 0)
                return false;
        if (spec && (!same_limits(&pool->limits, &spec->limits) || (spec->required && pool->box->missing) ||
                     pool->network != (spec->network.tier != TIER_RESTRICTED)))
                return false;
        return waiting_fits(&pool->how, r);
}

/* The oldest; not one that has died, of which on_lost() is going to hear. */
static struct waiting *first_alive(const struct pool *pool)
{
        list_each (at, &pool->ready, other) {
                struct waiting *w = list_entry(at, struct waiting, link);
                if (!w->sandbox->died)
                        return w;
        }
        return NULL;
}

static struct box_sandbox *take_from(struct pool *pool, struct waiting *w, const struct sandbox_spec *spec)
{
        struct box_sandbox *sb = w->sandbox;
        list_remove(&w->link);
        pool->n_ready--;
        pool->hits++;
        pool->n_in_use++;
        sandbox_detach(&w->task);
        sandbox_adopt(sb, spec);
        sb->pool = pool;
        sb->ahead = false;
        egress_attach(sb);
        return sb;
}

struct box_sandbox *pool_take(struct box *box, const struct sandbox_spec *spec, const struct exec_request *r)
{
        struct pool *missed = NULL;
        if (!spec->one_shot || spec->workspace != WORKSPACE_NONE ||
            (spec->caller->sandboxes_max && !list_empty(&box->pools) &&
             sandbox_alive_of_key(box, spec->caller->key) >= spec->caller->sandboxes_max))
                return NULL;
        list_each (at, &box->pools, other) {
                struct pool *pool = list_entry(at, struct pool, link);
                if (!serves(pool, spec, r))
                        continue;
                struct waiting *w = first_alive(pool);
                if (w)
                        return take_from(pool, w, spec);
                missed = missed ? missed : pool;
        }
        if (missed)
                missed->misses++;
        return NULL;
}

void pool_left(struct box_sandbox *sb)
{
        if (sb->pool)
                sb->pool->n_in_use--;
        sb->pool = NULL;
}

void pool_how(const struct box *box, const struct exec_request *r, struct waiting_how *ret)
{
        *ret = (struct waiting_how){.kind = WAITING_NOT, .template_fd = -1};
        list_each (at, &box->pools, other) {
                const struct pool *pool = list_entry(at, struct pool, link);
                if (pool->how.kind == WAITING_TEMPLATE && pool->how.template_fd >= 0 &&
                    serves(pool, NULL, r)) {
                        *ret = pool->how;
                        return;
                }
        }
}

bool pool_template(const struct box *box, const char *name, struct waiting_how *ret)
{
        struct runtime runtime;
        if (runtime_find(name, &runtime) < 0)
                return false;
        list_each (at, &box->pools, other) {
                const struct pool *pool = list_entry(at, struct pool, link);
                if (pool->how.template_fd >= 0 && !strcmp(pool->how.program, runtime.program)) {
                        *ret = pool->how;
                        return true;
                }
        }
        return false;
}

/* ---- which there are ---- */

static void drop_members(struct pool *pool)
{
        list_each (at, &pool->box->sandboxes, other) {
                struct box_sandbox *sb = list_entry(at, struct box_sandbox, link);
                if (sb->waiting && sb->waiting->pool == pool && !sb->waiting->ready)
                        drop(sb->waiting);
        }
        while (!list_empty(&pool->ready))
                drop(list_entry(pool->ready.next, struct waiting, link));
}

static void pool_free(struct pool *pool)
{
        list_each (at, &pool->box->sandboxes, other) {
                struct box_sandbox *sb = list_entry(at, struct box_sandbox, link);
                if (sb->pool == pool)
                        sb->pool = NULL;
        }
        drop_members(pool);
        drop_template(pool);
        template_cancel(pool->maker);
        list_remove(&pool->link);
        json_decref(pool->preload);
        free(pool);
}

/* The same but for its size: may stay as it is. */
static struct pool *find_same(struct list *pools, const char *runtime, const json_t *preload,
                              const struct cella_limits *limits)
{
        list_each (at, pools, other) {
                struct pool *pool = list_entry(at, struct pool, link);
                if (!strcmp(pool->runtime, runtime) && json_equal(pool->preload, preload) &&
                    same_limits(&pool->limits, limits))
                        return pool;
        }
        return NULL;
}

static int add_pool(struct box *box, struct list *old, const json_t *entry)
{
        const char *runtime = json_string_value(json_object_get(entry, "runtime"));
        json_t *preload = json_object_get(entry, "preload");
        unsigned size = (unsigned)json_integer_value(json_object_get(entry, "size"));
        struct cella_limits limits = box->settings.limits;
        limits_overlay(json_object_get(entry, "limits"), &limits, NULL);
        preload = preload ? json_incref(preload) : json_array();
        struct pool *pool = find_same(old, runtime, preload, &limits);
        if (pool) {
                list_remove(&pool->link);
                json_decref(preload);
        } else {
                pool = calloc(1, sizeof *pool);
                if (!pool) {
                        json_decref(preload);
                        return -ENOMEM;
                }
                *pool = (struct pool){.box = box, .preload = preload, .limits = limits};
                snprintf(pool->runtime, sizeof pool->runtime, "%s", runtime);
                waiting_how(runtime, &pool->how);
                list_init(&pool->ready);
        }
        const bool network = box->settings.tier != TIER_RESTRICTED;
        if (pool->network != network)
                drop_members(pool); /* its template is as good as before */
        pool->network = network;
        pool->size = size;
        while (pool->n_ready > size)
                drop(list_entry(pool->ready.next, struct waiting, link));
        list_add(&box->pools, &pool->link);
        return 0;
}

static void move(struct list *to, struct list *from)
{
        list_init(to);
        while (!list_empty(from)) {
                struct list *entry = from->next;
                list_remove(entry);
                list_add(to, entry);
        }
}

static void free_all(struct list *pools)
{
        while (!list_empty(pools))
                pool_free(list_entry(pools->next, struct pool, link));
}

int pools_configure(struct box *box, struct cella_err *err)
{
        const json_t *entries = json_object_get(box->settings.document, "pools");
        struct list old;
        size_t i;
        json_t *entry;
        int r = 0;
        move(&old, &box->pools);
        json_array_foreach ((json_t *)entries, i, entry)
                if (r == 0)
                        r = add_pool(box, &old, entry);
        free_all(&old);
        pools_refill(box);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "pools") : 0;
}

void pools_stop(struct box *box)
{
        free_all(&box->pools);
}

/* ---- telling ---- */

json_t *pools_to_json(const struct box *box)
{
        json_t *list = json_array();
        list_each (at, &box->pools, other) {
                const struct pool *p = list_entry(at, struct pool, link);
                static const char *const ways[] = {[WAITING_NOT] = "sandbox",
                                                   [WAITING_SHELL] = "started",
                                                   [WAITING_SCRIPT] = "started",
                                                   [WAITING_TEMPLATE] = "template"};
                json_t *o =
                        json_pack("{s:s, s:s, s:O, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:s, s:s?}",
                                  "image", "host", "runtime", p->runtime, "preload", p->preload, "limits",
                                  limits_to_json(&p->limits), "size", (json_int_t)p->size, "total",
                                  (json_int_t)p->n_ready + p->n_making + p->n_in_use, "available",
                                  (json_int_t)p->n_ready, "making", (json_int_t)p->n_making, "in_use",
                                  (json_int_t)p->n_in_use, "hits", (json_int_t)p->hits, "misses",
                                  (json_int_t)p->misses, "refill_ms", (double)p->refill_us / 1000, "waits",
                                  lacks_template(p) ? "making the template" : ways[p->how.kind], "problem",
                                  p->problem.kind ? p->problem.msg : NULL);
                json_array_append_new(list, o);
        }
        return list;
}
