#include "core/pool/learned.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/runtime.h"
#include "core/pool/learn.h"

#define LEARNERS_MAX 64           /* the least recently used is dropped */
#define AGAIN_US INT64_C(2000000) /* between two templates of one learner; doubled with each */
#define AGAIN_DOUBLINGS 8
#define PATIENCE_US INT64_C(5000000)     /* how long it waits for an idle machine */
#define CHECK_US INT64_C(1000000)        /* how often its memory is measured */
#define WAITING_MAX 2                    /* interpreters that wait in such a pool */
#define SLOT_BYTES (UINT64_C(100) << 20) /* a share of the memory is not smaller, unless all of it is */
#define MEMBER_BYTES (UINT64_C(8) << 20) /* memory of one of them, until it was measured */
#define REFUSED "preload: "              /* before the name of the module in the error, see python.py */
#define HIDDEN "+"                       /* the module is not in sys.modules until the code imports it */

/* ---- counting ---- */

static bool is_base(const struct pool *pool, const char *image, const char *program)
{
        return pool->lasting && pool->how.kind == WAITING_TEMPLATE && pool->how.template_fd >= 0 &&
               !pool->lends[0] && !pool->no_image && !strcmp(pool->image_name, image) &&
               !strcmp(pool->how.program, program) &&
               !(json_is_array(pool->preload) && json_array_size(pool->preload) == 0);
}

/* Returns the pool of the settings that serves this image and program and may be improved; NULL: none. */
static struct pool *find_base(const struct core *core, const char *image, const char *program)
{
        list_each (at, &core->pools, other) {
                struct pool *pool = list_entry(at, struct pool, link);
                if (is_base(pool, image, program))
                        return pool;
        }
        return NULL;
}

static void learner_drop(struct learner *l)
{
        if (l->next)
                pool_free(l->next);
        if (l->pool)
                pool_free(l->pool);
        list_remove(&l->link);
        free(l);
}

static struct learner *learner_of(struct core *core, const char *key, const char *image, const char *program)
{
        struct learner *l;
        unsigned n = 0;
        list_each (at, &core->learners, other) {
                l = list_entry(at, struct learner, link);
                n++;
                if (!strcmp(l->key, key) && !strcmp(l->image, image) && !strcmp(l->program, program)) {
                        list_remove(&l->link);
                        list_add(&core->learners, &l->link);
                        return l;
                }
        }
        if (n >= LEARNERS_MAX)
                learner_drop(list_entry(core->learners.next, struct learner, link));
        if ((l = learner_new(key, image, program, clock_us())))
                list_add(&core->learners, &l->link);
        return l;
}

void learned_count(struct core *core, const char *key, const char *image, const struct exec_request *r)
{
        struct runtime runtime;
        if (core->settings.learning_bytes == 0 || core->stopping || !r->runtime || !r->code || r->direct ||
            runtime_find(r->runtime, &runtime) < 0)
                return;
        const struct pool *base = find_base(core, image, runtime.program);
        struct learner *l = base ? learner_of(core, key, image, runtime.program) : NULL;
        if (l)
                learner_count(l, r->imports, base->how.modules, clock_us());
}

/* ---- memory ---- */

/* Whether a learner of the same key comes before it in the list. */
static bool is_repeated(const struct core *core, const struct learner *l)
{
        for (const struct list *at = l->link.previous; at != &core->learners; at = at->previous)
                if (!strcmp(list_entry(at, struct learner, link)->key, l->key))
                        return true;
        return false;
}

/* Returns how much a key runs, in powers of two, so that the order of the keys does not change often. */
static unsigned activity_of_key(const struct core *core, const char *key, int64_t *ret_born_us)
{
        uint64_t sum = 0;
        list_each (at, &core->learners, other) {
                const struct learner *l = list_entry(at, struct learner, link);
                if (strcmp(l->key, key) != 0)
                        continue;
                if (sum == 0 || l->born_us < *ret_born_us)
                        *ret_born_us = l->born_us;
                sum += l->executions + 1;
        }
        return sum > 0 ? 64 - (unsigned)__builtin_clzll(sum) : 0;
}

/* Returns the memory that one key may use: the same for all, or nothing if too many others run more.  It does
 * not depend on what any key imports. */
static uint64_t share_of_key(const struct core *core, const char *key)
{
        const uint64_t bytes = core->settings.learning_bytes;
        const unsigned slots = bytes > 2 * SLOT_BYTES ? (unsigned)(bytes / SLOT_BYTES) : 1;
        int64_t born = 0, other_born = 0;
        const unsigned activity = activity_of_key(core, key, &born);
        unsigned keys = 0, before = 0;
        list_each (at, &core->learners, other) {
                const struct learner *l = list_entry(at, struct learner, link);
                if (is_repeated(core, l))
                        continue;
                const unsigned more = activity_of_key(core, l->key, &other_born);
                keys++;
                before += strcmp(l->key, key) != 0 &&
                          (more > activity || (more == activity && other_born < born));
        }
        if (keys == 0 || before >= slots)
                return 0;
        return bytes / (keys < slots ? keys : slots);
}

static uint64_t pool_bytes(const struct pool *pool)
{
        uint64_t bytes = pool->template_bytes;
        list_each (at, &pool->ready, other) {
                const struct core_sandbox *sb = list_entry(at, struct waiting, link)->sandbox;
                struct keeper_counted now;
                const bool known = sandbox_counted(sb, false, &now) && now.known & KEEPER_KNOWS_MEMORY;
                bytes += known ? now.memory_bytes : MEMBER_BYTES;
        }
        return bytes + pool->n_making * MEMBER_BYTES;
}

/* Finds the pools of the key: the sum of their memory, and the one that saves the least time.  A pool with
 * the template of its learner, and `next`, which will replace another one. */
static uint64_t sum_of_key(const struct core *core, const char *key, const struct pool *next,
                           struct learner **ret_least)
{
        uint64_t sum = 0;
        *ret_least = NULL;
        list_each (at, &core->learners, other) {
                struct learner *l = list_entry(at, struct learner, link);
                const struct pool *pool = next && l->next == next ? next : l->pool;
                if (!pool || strcmp(l->key, key) != 0)
                        continue;
                sum += pool_bytes(pool);
                if (!*ret_least || learner_benefit_us(l) < learner_benefit_us(*ret_least))
                        *ret_least = l;
        }
        return sum;
}

static void mark_failed(struct learner *l, const char *name, int64_t until_us)
{
        for (unsigned i = 0; i < l->n_names; i++)
                if (!strcmp(l->names[i].name, name))
                        l->names[i].failed_until_us = until_us;
}

/* Ends the least useful templates of the key until the others fit, and makes them smaller the next time.
 * next: a new template that replaces the one of its learner. */
static void keep_to_share(struct core *core, const char *key, const struct pool *next)
{
        struct learner *least;
        const uint64_t share = share_of_key(core, key);
        const int64_t now = clock_us();
        while (sum_of_key(core, key, next, &least) > share && least) {
                struct pool *pool = next && least->next == next ? least->next : least->pool;
                const size_t n = json_array_size(pool->learned);
                if (pool->size > 0 && pool->template_bytes <= share) { /* its template also works without */
                        pool->size--;
                        if (pool->n_ready > pool->size)
                                pool_drop(list_entry(pool->ready.next, struct waiting, link));
                        continue;
                }
                if (share > 0)
                        least->most = n > 1 ? (unsigned)n - 1 : LEARN_PICK_MAX;
                if (share > 0 && n == 1) /* then it is too large by itself */
                        mark_failed(least, json_string_value(json_array_get(pool->learned, 0)),
                                    now + LEARN_HALF_US);
                least->wanted_us = now;
                next = pool == next ? NULL : next;
                pool_free(pool);
        }
}

/* ---- making templates ---- */

/* Notes which modules are in its template. */
static void mark_used(struct learner *l)
{
        size_t i;
        const json_t *name;
        for (unsigned k = 0; k < l->n_names; k++)
                l->names[k].used = false;
        if (l->pool)
                json_array_foreach (l->pool->learned, i, name)
                        for (unsigned k = 0; k < l->n_names; k++)
                                if (!strcmp(l->names[k].name, json_string_value(name)))
                                        l->names[k].used = true;
}

void learned_forget(struct pool *pool)
{
        struct learner *l = pool->learner;
        if (l->next == pool)
                l->next = NULL;
        if (l->pool == pool)
                l->pool = NULL;
        mark_used(l);
}

static bool is_same(const struct learner *l, struct learn_name *const *names, unsigned n)
{
        unsigned used = 0;
        for (unsigned i = 0; i < l->n_names; i++)
                used += l->names[i].used;
        for (unsigned i = 0; i < n; i++)
                if (!names[i]->used)
                        return false;
        return used == n;
}

/* Returns whether it began to make a template. */
static bool learner_start(struct core *core, struct learner *l)
{
        struct learn_name *names[LEARN_PICK_MAX];
        struct pool *base = find_base(core, l->image, l->program);
        const unsigned n = base ? learner_pick(l, clock_us(), names) : 0;
        if (!base || share_of_key(core, l->key) == 0)
                return false;
        l->wanted_us = 0;
        if (is_same(l, names, n))
                return false;
        if (n == 0) {
                pool_free(l->pool);
                return false;
        }
        struct pool *pool =
                pool_new(core, base->runtime, base->image_name, json_incref(base->preload), &base->limits);
        json_t *learned = json_array();
        for (unsigned i = 0; i < n; i++)
                json_array_append_new(learned, json_string(names[i]->name));
        if (!pool || json_array_size(learned) < n) {
                json_decref(learned);
                if (pool)
                        json_decref(pool->preload);
                free(pool);
                return false;
        }
        pool->learner = l;
        pool->learned = learned;
        pool->network = base->network;
        list_add(core->pools.next, &pool->link); /* before that of the settings */
        l->next = pool;
        l->not_before_us = clock_us() + (AGAIN_US << (l->made < AGAIN_DOUBLINGS ? l->made : AGAIN_DOUBLINGS));
        l->made++;
        return true;
}

static void start_one(struct core *core)
{
        const int64_t now = clock_us();
        const bool idle = list_empty(&core->executions);
        list_each (at, &core->learners, other)
                if (list_entry(at, struct learner, link)->next)
                        return; /* one at a time */
        list_each (at, &core->learners, other) {
                struct learner *l = list_entry(at, struct learner, link);
                if (l->wanted_us > 0 && now >= l->not_before_us &&
                    (idle || now - l->wanted_us > PATIENCE_US) && learner_start(core, l))
                        return;
        }
}

json_t *learned_preload(const struct pool *pool)
{
        json_t *names = json_is_array(pool->preload) ? json_copy(pool->preload) : json_array();
        size_t i;
        const json_t *name;
        json_array_foreach (pool->learned, i, name)
                json_array_append_new(names, json_sprintf(HIDDEN "%s", json_string_value(name)));
        return names;
}

/* Removes modules that are not in the template, and notes the import times of the others. */
static void note_modules(struct pool *pool)
{
        struct learner *l = pool->learner;
        for (size_t i = json_array_size(pool->learned); i-- > 0;) {
                const char *name = json_string_value(json_array_get(pool->learned, i));
                const char *import_us = learn_hidden(pool->how.modules, name);
                for (unsigned k = 0; k < l->n_names; k++) {
                        struct learn_name *n = &l->names[k];
                        if (strcmp(n->name, name) != 0)
                                continue;
                        n->import_us = import_us ? strtoul(import_us, NULL, 10) % UINT32_MAX : 0;
                        n->failed_until_us = import_us ? 0 : clock_us() + LEARN_FAILED_US;
                }
                if (!import_us)
                        json_array_remove(pool->learned, i);
        }
}

/* Leaves out the module that the error names, or else the least useful one, because the others are more
 * probable to work. */
static void note_failure(const struct pool *pool)
{
        struct learner *l = pool->learner;
        const size_t n = json_array_size(pool->learned);
        const char *bad = json_string_value(json_array_get(pool->learned, n - 1));
        size_t i;
        const json_t *name;
        json_array_foreach (pool->learned, i, name)
                if (!strncmp(pool->problem.msg, REFUSED, strlen(REFUSED)) &&
                    !strncmp(pool->problem.msg + strlen(REFUSED), json_string_value(name),
                             json_string_length(name)) &&
                    pool->problem.msg[strlen(REFUSED) + json_string_length(name)] == ':')
                        bad = json_string_value(name);
        mark_failed(l, bad, clock_us() + LEARN_FAILED_US);
        l->wanted_us = n > 1 ? clock_us() : 0;
}

void learned_made(struct pool *pool)
{
        struct learner *l = pool->learner;
        struct core *core = pool->core;
        struct stat st;
        if (pool->how.template_fd < 0)
                note_failure(pool);
        else
                note_modules(pool);
        if (pool->how.template_fd < 0 || json_array_size(pool->learned) == 0) {
                pool_free(pool);
                return;
        }
        pool->template_bytes = fstat(pool->how.template_fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
        if (l->next == pool) {
                keep_to_share(core, l->key, pool);
                if (l->next != pool)
                        return;
                if (l->pool)
                        pool_free(l->pool);
                const struct pool *base = find_base(core, l->image, l->program);
                pool->size = base && base->size < WAITING_MAX ? base->size : WAITING_MAX;
                l->pool = pool;
                l->next = NULL;
        }
        mark_used(l);
}

void learned_tick(struct core *core)
{
        const int64_t now = clock_us();
        if (core->settings.learning_bytes == 0 || core->stopping)
                return;
        list_each (at, &core->learners, other) {
                struct learner *l = list_entry(at, struct learner, link);
                if (now >= l->halve_us) {
                        learner_fade(l, now);
                        l->most = LEARN_PICK_MAX;
                        l->made /= 2;
                        l->wanted_us = l->wanted_us > 0 ? l->wanted_us : now;
                }
                if (l->pool && now >= l->check_us) {
                        l->check_us = now + CHECK_US;
                        keep_to_share(core, l->key, NULL);
                }
                if (l->executions == 0 && !l->pool && !l->next)
                        learner_drop(l);
        }
        start_one(core);
}

/* ---- pools ---- */

bool learned_serves(const struct pool *pool, const char *key)
{
        return pool->learner->pool == pool && pool->how.template_fd >= 0 && !strcmp(pool->learner->key, key);
}

bool learned_fits(const struct pool *pool, const char *key, const struct exec_request *r)
{
        size_t i;
        const json_t *name;
        if (!r->code || !learned_serves(pool, key))
                return false;
        json_array_foreach (pool->learned, i, name)
                if (memmem(r->code, r->code_len, json_string_value(name), json_string_length(name)))
                        return true;
        return false;
}

void learned_stop(struct core *core)
{
        while (!list_empty(&core->learners))
                learner_drop(list_entry(core->learners.next, struct learner, link));
}

void learned_keep(struct core *core, struct list *old)
{
        if (core->settings.learning_bytes == 0)
                learned_stop(core);
        list_each (at, old, other) {
                struct pool *pool = list_entry(at, struct pool, link);
                const struct pool *base =
                        pool->learner ? pool_find_same(&core->pools, pool->image_name, pool->runtime, "",
                                                       pool->preload, &pool->limits)
                                      : NULL;
                if (!base)
                        continue;
                list_remove(&pool->link);
                list_add(core->pools.next, &pool->link);
                if (pool->network != base->network)
                        pool_drop_members(pool);
                pool->network = base->network;
        }
}

json_t *learned_to_json(const struct pool *pool)
{
        const struct learner *l = pool->learner;
        json_t *modules = json_array();
        for (unsigned i = 0; i < l->n_names; i++)
                if (l->names[i].used)
                        json_array_append_new(modules,
                                              json_pack("{s:s, s:I, s:f}", "module", l->names[i].name,
                                                        "executions", (json_int_t)l->names[i].count,
                                                        "import_ms", (double)l->names[i].import_us / 1000));
        return json_pack("{s:s?, s:o, s:I, s:f, s:I}", "key", l->key[0] ? l->key : NULL, "learned", modules,
                         "executions", (json_int_t)l->executions, "saved_ms",
                         (double)learner_benefit_us(l) / 1000, "memory_bytes", (json_int_t)pool_bytes(pool));
}
