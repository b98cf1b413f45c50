#include "core/pool/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/runtime.h"
#include "core/pool/learned.h"
#include "core/pool/member.h"
#include "core/sandbox/queue.h"
#include "snapshot/preload.h"
#include "sys/file.h"

#define SPARES_MAX 4                 /* pools of spare sandboxes that are not in the settings */
#define WANTED_US INT64_C(60000000)  /* their lifetime after the last use */
#define MAKING_AT_ONCE 2             /* in all pools; the rest of the machine is for requests */
#define RUSH_US 10000                /* a younger execution counts as just started */
#define RUSHED_EACH_US 100000        /* between two members during a rush */
#define BUSY_US INT64_C(1000000)     /* a younger execution counts as computing */
#define LULL_MS 5                    /* without any execution */
#define FRONT_MAX 8                  /* members that are fully prepared */
#define OVERDUE_US INT64_C(60000000) /* time for a member to start waiting */

/* ---- templates ---- */

static void on_template(void *context, int fd, char *modules, const struct cella_err *err)
{
        struct pool *pool = context;
        struct core *core = pool->core;
        pool->maker = NULL;
        if (fd < 0) {
                pool->problem = *err;
                pool->how.kind = WAITING_NOT; /* a ready sandbox without interpreter is still useful */
                pool->retry_us = clock_us() + RETRY_US;
        } else {
                pool->problem = (struct cella_err){0};
                pool->how.template_fd = fd;
                pool->how.modules = modules;
        }
        if (pool->learner)
                learned_made(pool);
        pools_refill(core);
}

static void try_again(struct pool *pool)
{
        struct waiting_how how;
        waiting_how(pool->runtime, &how);
        if (how.kind != WAITING_TEMPLATE)
                pool->problem = (struct cella_err){0};
        pool->how.kind = how.kind;
}

static void make_template(struct pool *pool)
{
        if (pool->maker)
                return;
        json_t *modules = pool->learner ? learned_preload(pool) : json_incref(pool->preload);
        if (template_make(pool->core, pool->image, pool->how.program, modules, on_template, pool,
                          &pool->maker, &pool->problem) < 0) {
                pool->how.kind = WAITING_NOT;
                pool->retry_us = clock_us() + RETRY_US;
        }
        json_decref(modules);
}

static void drop_template(struct pool *pool)
{
        sys_close(pool->how.template_fd);
        pool->how.template_fd = -1;
        free(pool->how.modules);
        pool->how.modules = NULL;
}

/* ---- image ---- */

static unsigned count_env(const struct used_image *image)
{
        unsigned n = 0;
        while (image && image->image->env[n])
                n++;
        return n;
}

/* Replaces the image.  Members and template of the old one are useless, even with the same name. */
static void change_image(struct pool *pool, struct used_image *image)
{
        pool_drop_members(pool);
        drop_template(pool);
        template_cancel(pool->maker);
        pool->maker = NULL;
        used_image_unref(pool->image);
        pool->image = image;
        pool->problem = (struct cella_err){0};
        pool->failures = pool->unlucky = 0;
        pool->not_before_us = 0;
        waiting_how(pool->runtime, &pool->how);
        pool->how.n_env = count_env(image);
}

/* Checks whether the name now refers to another image, or to none. */
static void look_for_image(struct pool *pool)
{
        struct used_image *now = NULL;
        struct cella_err err = {0};
        const bool missing = used_image_find(pool->core, pool->image_name, &now, &err) < 0;
        if (missing != pool->no_image || !used_image_same(now, pool->image))
                change_image(pool, now);
        else
                used_image_unref(now);
        pool->no_image = missing;
        if (missing)
                pool->problem = err;
}

/* ---- creation and end ---- */

static void on_member_ready(struct pool *pool)
{
        pools_give_way(pool->core, queue_wants(pool->core)); /* for requests that arrived meanwhile */
        pools_refill(pool->core);
}

struct pool *pool_new(struct core *core, const char *runtime, const char *image, json_t *preload,
                      const struct cella_limits *limits)
{
        struct pool *pool = preload ? calloc(1, sizeof *pool) : NULL;
        if (!pool) {
                json_decref(preload);
                return NULL;
        }
        *pool = (struct pool){
                .core = core, .preload = preload, .limits = *limits, .on_ready = on_member_ready};
        snprintf(pool->runtime, sizeof pool->runtime, "%s", runtime);
        snprintf(pool->image_name, sizeof pool->image_name, "%s", image);
        waiting_how(runtime, &pool->how);
        list_init(&pool->ready);
        return pool;
}

void pool_free(struct pool *pool)
{
        if (pool->learner)
                learned_forget(pool);
        list_each (at, &pool->core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->pool == pool)
                        sb->pool = NULL;
        }
        pool_drop_members(pool);
        drop_template(pool);
        template_cancel(pool->maker);
        list_remove(&pool->link);
        used_image_unref(pool->image);
        json_decref(pool->preload);
        json_decref(pool->learned);
        free(pool);
}

/* ---- filling ---- */

static unsigned making(const struct core *core)
{
        unsigned n = 0;
        list_each (at, &core->pools, other)
                n += list_entry(at, struct pool, link)->n_making;
        return n;
}

static bool wants_member(const struct pool *pool)
{
        const struct core *core = pool->core;
        return pool->n_ready + pool->n_making < pool_wanted_size(pool) && !pool->no_image &&
               !pool_lacks_template(pool) && clock_us() >= pool->not_before_us &&
               core->alive + 1 < core->settings.sandboxes_max && making(core) < MAKING_AT_ONCE;
}

/* Whether recent requests need the whole machine.  Filling a pool then, and taking from it at once, costs
 * more than making what each request needs.  Even so a member is made now and then, because other pools may
 * be needed and a rush may last. */
static bool is_rushed(const struct core *core)
{
        const int64_t since = clock_us() - RUSH_US;
        return core->hooks->executions_since(core, since, core->cores) == core->cores;
}

/* Whether executions use the whole machine.  A program that is started in advance takes at least as much CPU
 * time as one that is started for its execution, unlike one that is restored from a template.  So the pools
 * of such programs gain nothing then. */
static bool is_busy(const struct core *core)
{
        return core->hooks->executions_since(core, clock_us() - BUSY_US, core->cores) == core->cores;
}

/* The members that will be taken next are fully prepared, which takes memory; the others are not.  Returns
 * the next one to prepare, or NULL. */
static struct waiting *next_in_front(const struct core *core)
{
        list_each (at, &core->pools, other) {
                const struct pool *pool = list_entry(at, struct pool, link);
                unsigned n = pool->size < 64 ? 1 : pool->size / 32 < FRONT_MAX ? pool->size / 32 : FRONT_MAX;
                for (struct list *l = pool->ready.next; n > 0 && l != &pool->ready; l = l->next, n--) {
                        struct waiting *w = list_entry(l, struct waiting, link);
                        if (!w->soon && w->how.kind == WAITING_TEMPLATE)
                                return w;
                }
        }
        return NULL;
}

static void on_lull(uv_timer_t *timer)
{
        struct core *core = timer->data;
        struct waiting *w;
        if (!list_empty(&core->executions)) /* the CPU is needed for executions */
                return;
        while ((w = next_in_front(core))) {
                waiting_soon(w->control);
                w->soon = true;
        }
}

/* Ends a member that does not start to wait, because it prevents that others are made. */
static void drop_overdue(struct core *core)
{
        const int64_t oldest = clock_us() - OVERDUE_US;
        list_each (at, &core->sandboxes, other) {
                struct waiting *w = list_entry(at, struct core_sandbox, link)->waiting;
                if (!w || w->ready || !w->pool || w->begun_us > oldest)
                        continue;
                pool_failed(w->pool);
                pool_drop(w);
                return; /* the list has changed; the next call continues */
        }
}

static void drop_unwanted(struct core *core)
{
        const int64_t since = clock_us() - WANTED_US;
        list_each (at, &core->pools, other) {
                struct pool *pool = list_entry(at, struct pool, link);
                if (!pool->lasting && !pool->learner && pool->wanted_us < since)
                        pool_free(pool);
        }
}

static void empty_sleeping(struct core *core)
{
        list_each (at, &core->pools, other) {
                struct pool *pool = list_entry(at, struct pool, link);
                if (pool_sleeps(pool) && pool->n_ready > 0)
                        pool_drop_members(pool);
        }
}

void pools_tick(struct core *core)
{
        drop_unwanted(core);
        empty_sleeping(core);
        learned_tick(core);
        if (making(core) > 0)
                drop_overdue(core);
        pools_refill(core);
}

void pools_refill(struct core *core)
{
        /* Deferred: a client that sends one request after another would send the next before this is done. */
        if (list_empty(&core->executions) && !core->stopping && next_in_front(core))
                uv_timer_start(&core->lull, on_lull, LULL_MS, 0);
        bool more = !core->stopping && core->probed && !core->unable.kind;
        if (more)
                list_each (at, &core->pools, other) {
                        struct pool *pool = list_entry(at, struct pool, link);
                        look_for_image(pool);
                        if (pool->no_image)
                                continue;
                        if (pool->problem.kind && !pool->maker && clock_us() >= pool->retry_us)
                                try_again(pool);
                        if (pool_lacks_template(pool))
                                make_template(pool);
                }
        const int64_t now = clock_us();
        const bool rushed = more && is_rushed(core), busy = more && is_busy(core);
        while (more) { /* one for each pool in turn */
                more = false;
                list_each (at, &core->pools, other) {
                        struct pool *pool = list_entry(at, struct pool, link);
                        if ((rushed && now - pool->added_us < RUSHED_EACH_US) ||
                            (busy && pool->how.kind == WAITING_SCRIPT))
                                continue;
                        if (!wants_member(pool) || pool_add_member(pool) < 0)
                                continue;
                        pool->added_us = now;
                        more = true;
                }
        }
}

static struct pool *fullest(const struct core *core)
{
        struct pool *found = NULL;
        list_each (at, &core->pools, other) {
                struct pool *pool = list_entry(at, struct pool, link);
                if (pool->n_ready > 0 && (!found || pool->n_ready > found->n_ready))
                        found = pool;
        }
        return found;
}

bool pools_give_way(struct core *core, unsigned wanted)
{
        bool gave = false;
        struct pool *pool;
        while (core->alive + wanted > core->settings.sandboxes_max + core->ending && (pool = fullest(core))) {
                gave = true;
                pool_drop(list_entry(pool->ready.next, struct waiting, link)); /* now it is ending */
        }
        return gave;
}

/* ---- taking a member ---- */

static bool serves_runtime(const struct pool *pool, const struct used_image *image,
                           const struct exec_request *r)
{
        struct runtime runtime;
        return r->runtime && !exec_request_wants_value(r) && runtime_find(r->runtime, &runtime) == 0 &&
               !strcmp(runtime.program, pool->how.program) &&
               !runtime_program(pool->core, r->runtime,
                                used_image_name(image)) && /* not the waiting program */
               waiting_fits(&pool->how, r);
}

static bool serves(const struct pool *pool, const struct used_image *image, const char *key,
                   const struct sandbox_spec *spec, const struct exec_request *r)
{
        if (pool->no_image || !used_image_same(pool->image, image) ||
            (pool->learner && !learned_fits(pool, key, r)))
                return false;
        if (spec &&
            (!limits_fit_sandbox(&pool->limits, &spec->limits) || (spec->required && pool->core->missing) ||
             pool->network != (spec->network.tier != TIER_RESTRICTED)))
                return false;
        return pool_is_spare(pool) || serves_runtime(pool, image, r);
}

/* An image or limits that were requested twice within a while will probably be requested again, so they get
 * spare sandboxes too.  The first request makes a pool of size 0, the second sets its size. */
static void want_spare(struct core *core, const struct sandbox_spec *spec, struct pool *pool)
{
        struct pool *oldest = NULL;
        unsigned n = 0;
        if (pool)
                pool->size = core->settings.spare;
        if (pool || core->settings.spare == 0 || core->stopping || (spec->required && core->missing))
                return;
        list_each (at, &core->pools, other) {
                struct pool *p = list_entry(at, struct pool, link);
                if (p->lasting || p->learner)
                        continue;
                n++;
                if (!oldest || p->wanted_us < oldest->wanted_us)
                        oldest = p;
        }
        if (n >= SPARES_MAX)
                pool_free(oldest);
        pool = pool_new(core, "", used_image_name(spec->image), json_array(), &spec->limits);
        if (!pool)
                return;
        pool->network = spec->network.tier != TIER_RESTRICTED;
        pool->wanted_us = clock_us();
        list_add(&core->pools, &pool->link);
        look_for_image(pool);
}

struct core_sandbox *pool_take(struct core *core, const struct sandbox_spec *spec,
                               const struct exec_request *r)
{
        struct pool *missed = NULL, *spare = NULL;
        if (!spec->one_shot || spec->workspace != WORKSPACE_NONE || spec->mounts ||
            !queue_key_has_room(core, spec->caller->key, spec->caller->sandboxes_max))
                return NULL;
        list_each (at, &core->pools, other) {
                struct pool *pool = list_entry(at, struct pool, link);
                if (pool->lends[0] || !serves(pool, spec->image, spec->caller->key, spec, r))
                        continue;
                if (missed && missed->learner && !pool_is_spare(pool))
                        continue; /* restoring its template takes less time than the imports */
                struct waiting *w = pool_first_alive(pool);
                pool->wanted_us = clock_us();
                if (w) {
                        if (missed)
                                missed->misses++;
                        return pool_take_member(pool, w, spec);
                }
                if (pool_is_spare(pool))
                        spare = pool;
                else if (!missed)
                        missed = pool;
        }
        if (missed)
                missed->misses++;
        want_spare(core, spec, spare);
        return NULL;
}

void pool_sandbox_gone(struct core_sandbox *sb)
{
        if (sb->waiting) /* taken, but its execution did not start */
                waiting_free(sb->waiting);
        if (sb->pool)
                sb->pool->n_in_use--;
        sb->pool = NULL;
}

void pool_how(const struct core *core, const struct used_image *image, const char *key,
              const struct exec_request *r, struct waiting_how *ret)
{
        *ret = (struct waiting_how){.kind = WAITING_NOT, .template_fd = -1};
        list_each (at, &core->pools, other) {
                const struct pool *pool = list_entry(at, struct pool, link);
                if (pool->how.kind == WAITING_TEMPLATE && pool->how.template_fd >= 0 &&
                    serves(pool, image, key, NULL, r)) {
                        *ret = pool->how;
                        return;
                }
        }
}

bool pool_template(const struct core *core, const struct used_image *image, const char *key, const char *name,
                   struct waiting_how *ret)
{
        struct runtime runtime;
        if (runtime_find(name, &runtime) < 0)
                return false;
        list_each (at, &core->pools, other) {
                const struct pool *pool = list_entry(at, struct pool, link);
                if (pool->how.template_fd >= 0 && !strcmp(pool->how.program, runtime.program) &&
                    used_image_same(pool->image, image) && (!pool->learner || learned_serves(pool, key))) {
                        *ret = pool->how;
                        return true;
                }
        }
        return false;
}

/* ---- configuration ---- */

struct pool *pool_find_same(struct list *pools, const char *image, const char *runtime, const char *lends,
                            const json_t *preload, const struct cella_limits *limits)
{
        list_each (at, pools, other) {
                struct pool *pool = list_entry(at, struct pool, link);
                if (!pool->learner && !strcmp(pool->image_name, image) && !strcmp(pool->runtime, runtime) &&
                    !strcmp(pool->lends, lends) && json_equal(pool->preload, preload) &&
                    limits_fit_sandbox(&pool->limits, limits))
                        return pool;
        }
        return NULL;
}

/* Returns a new reference to the modules that are imported in advance: an array, or the string PRELOAD_AUTO.
 * Node has no list: its built-in modules, or nothing. */
static json_t *preload_of(const json_t *entry, const char *runtime)
{
        struct waiting_how how;
        json_t *preload = json_object_get(entry, "preload");
        const bool nothing = json_is_array(preload) && json_array_size(preload) == 0;
        waiting_how(runtime, &how);
        if (nothing || (how.kind != WAITING_TEMPLATE && how.kind != WAITING_SCRIPT))
                return json_array();
        return preload && how.kind == WAITING_TEMPLATE ? json_incref(preload) : json_string(PRELOAD_AUTO);
}

/* lender: the entry's pool of sandboxes to lend, in which no interpreter waits. */
static int add_pool(struct core *core, struct list *old, const json_t *entry, bool lender)
{
        const char *named = json_string_value(json_object_get(entry, "runtime"));
        const char *runtime = lender ? "" : named, *lends = lender ? named : "";
        const char *image = json_string_value(json_object_get(entry, "image"));
        json_t *preload = preload_of(entry, runtime);
        unsigned size = (unsigned)json_integer_value(json_object_get(entry, lender ? "lease" : "size"));
        struct cella_limits limits = core->settings.limits;
        limits_overlay(json_object_get(entry, "limits"), &limits, NULL);
        image = image ? image : core->settings.image;
        struct pool *pool = pool_find_same(old, image, runtime, lends, preload, &limits);
        if (pool) {
                list_remove(&pool->link);
                json_decref(preload);
                pool->limits = limits;
        } else if (!(pool = pool_new(core, runtime, image, preload, &limits))) {
                return -ENOMEM;
        }
        snprintf(pool->lends, sizeof pool->lends, "%s", lends);
        pool->lasting = true;
        const bool network = core->settings.tier != TIER_RESTRICTED;
        if (pool->network != network)
                pool_drop_members(pool); /* its template stays valid */
        pool->network = network;
        pool->size = size;
        pool->idle_us = lender ? 0 : json_integer_value(json_object_get(entry, "idle_timeout_ms")) * 1000;
        while (pool->n_ready > size)
                pool_drop(list_entry(pool->ready.next, struct waiting, link));
        list_add(&core->pools, &pool->link);
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

int pools_configure(struct core *core, struct cella_err *err)
{
        const json_t *entries = json_object_get(core->settings.document, "pools");
        struct list old;
        size_t i;
        json_t *entry;
        int r = 0;
        move(&old, &core->pools);
        json_array_foreach ((json_t *)entries, i, entry)
                if (r == 0 && (r = add_pool(core, &old, entry, false)) == 0 &&
                    json_integer_value(json_object_get(entry, "lease")) > 0)
                        r = add_pool(core, &old, entry, true);
        if (r == 0 && core->settings.spare > 0) { /* last, because requests with an own pool take from that */
                entry = json_pack("{s:s, s:i}", "runtime", "", "size", (int)core->settings.spare);
                r = entry ? add_pool(core, &old, entry, false) : -ENOMEM;
                json_decref(entry);
        }
        learned_keep(core, &old);
        free_all(&old);
        pools_refill(core);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "pools") : 0;
}

void pools_stop(struct core *core)
{
        free_all(&core->pools);
        learned_stop(core);
}
