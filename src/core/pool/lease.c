/* core/pool/lease.c -- lends sandboxes that were made in advance.
 *
 * An entry of the setting `pools` with `lease` has a second pool.  Its members are sandboxes without a
 * waiting interpreter.  Unlike those of the first one, they are not bound to a single execution: a leased
 * sandbox is like one of POST /v1/sandboxes.  Its pool is refilled when it was taken. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "core/pool/member.h"
#include "core/pool/pool.h"
#include "core/sandbox/queue.h"

static struct pool *find_lender(const struct core *core, const char *runtime, const struct used_image *image)
{
        struct pool *found = NULL;
        list_each (at, &core->pools, other) {
                struct pool *pool = list_entry(at, struct pool, link);
                if (!pool->lasting || pool->no_image || !used_image_same(pool->image, image))
                        continue;
                if (!strcmp(pool->lends, runtime))
                        return pool;
                if (!strcmp(pool->runtime, runtime))
                        found = pool;
        }
        return found;
}

static struct waiting *find_member(const struct pool *pool, const struct sandbox_spec *spec)
{
        const struct caller *caller = spec->caller;
        if (!pool->lends[0] || spec->engine != ENGINE_NATIVE ||
            !limits_fit_sandbox(&pool->limits, &spec->limits) ||
            pool->network != (spec->network.tier != TIER_RESTRICTED) ||
            !queue_key_has_room(pool->core, caller->key, caller->sandboxes_max))
                return NULL;
        return pool_first_alive(pool);
}

static struct core_sandbox *lend(struct pool *pool, struct waiting *w, const struct sandbox_spec *spec)
{
        struct core_sandbox *sb = pool_take_member(pool, w, spec);
        waiting_free(w);
        sb->ttl_ms = spec->ttl_ms;
        sb->idle_timeout_ms = spec->idle_timeout_ms;
        sb->expires_ms = spec->ttl_ms ? sb->created_ms + (int64_t)spec->ttl_ms : 0;
        if (spec->metadata) {
                json_decref(sb->metadata);
                sb->metadata = json_incref(spec->metadata);
        }
        sandbox_touch(sb);
        return sb;
}

int pool_lease(struct core *core, const struct sandbox_spec *spec, const char *runtime,
               struct core_sandbox **ret, struct cella_err *err)
{
        struct pool *pool = find_lender(core, runtime, spec->image);
        if (!pool) {
                err_say(err, CELLA_NOT_FOUND, -ENOENT, "no pool for runtime '%.64s' and image '%.100s'",
                        runtime, used_image_name(spec->image));
                return err_hint(err, "the setting pools needs an entry for them; GET /v1/pools lists them");
        }
        struct cella_err above = {0};
        struct sandbox_spec own = *spec; /* borrows its contents */
        if (caller_allows(spec->caller, &pool->limits, &above) == 0)
                own.limits = pool->limits;
        struct waiting *w = find_member(pool, &own);
        if (w) {
                *ret = lend(pool, w, &own);
        } else {
                int r = sandbox_add(core, &own, ret, err);
                if (r < 0)
                        return r;
                (*ret)->pool = pool;
                pool->n_in_use++;
                pool->misses++;
        }
        (*ret)->leased = true;
        pools_refill(core);
        return 0;
}
