/* core/pool/about.c -- the pools as JSON, for GET /v1/pools. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "core/pool/learn.h"
#include "core/pool/learned.h"
#include "core/pool/pool.h"

/* asleep: show that no execution needed it.  This depends on the executions of all keys. */
static json_t *pool_about(const struct pool *p, bool asleep)
{
        static const char *const ways[] = {[WAITING_NOT] = "sandbox",
                                           [WAITING_SHELL] = "started",
                                           [WAITING_SCRIPT] = "started",
                                           [WAITING_TEMPLATE] = "template"};
        return json_pack("{s:s, s:s?, s:b, s:O, s:o, s:I, s:I, s:s, s:s?}", "image", p->image_name, "runtime",
                         p->lends[0]        ? p->lends
                         : pool_is_spare(p) ? NULL
                                            : p->runtime,
                         "lease", (int)(p->lends[0] != 0), "preload", p->preload, "limits",
                         limits_to_json(&p->limits), "size", (json_int_t)p->size, "idle_timeout_ms",
                         (json_int_t)p->idle_us / 1000, "waits",
                         p->no_image              ? "for the image"
                         : pool_lacks_template(p) ? "making the template"
                         : asleep                 ? "for an execution"
                                                  : ways[p->how.kind],
                         "problem", p->problem.kind ? p->problem.msg : NULL);
}

/* The modules that are hidden in the template, and how long importing all of them took.  modules: " json
 * numpy:81234 ", see struct waiting_how. */
static json_t *hidden_to_json(const char *modules)
{
        json_t *names = json_array();
        uint64_t sum_us = 0;
        for (const char *at = modules; *(at += strspn(at, " ")); at += strcspn(at, " ")) {
                const size_t len = strcspn(at, " :");
                if (at[len] != ':')
                        continue;
                json_array_append_new(names, json_stringn(at, len));
                sum_us += strtoul(at + len + 1, NULL, 10) % UINT32_MAX;
        }
        return json_pack("{s:o, s:f}", "hidden_modules", names, "hidden_import_ms", (double)sum_us / 1000);
}

static json_t *pool_counters(const struct pool *p)
{
        return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "total",
                         (json_int_t)p->n_ready + p->n_making + p->n_in_use, "available",
                         (json_int_t)p->n_ready, "making", (json_int_t)p->n_making, "in_use",
                         (json_int_t)p->n_in_use, "hits", (json_int_t)p->hits, "misses",
                         (json_int_t)p->misses, "refill_ms", (double)p->refill_us / 1000);
}

static unsigned in_use_of(const struct pool *p, const struct caller *caller)
{
        unsigned n = 0;
        list_each (at, &p->core->sandboxes, other) {
                const struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                n += sb->pool == p && caller_sees(caller, sb->key);
        }
        return n;
}

static json_t *pool_to_json(const struct pool *p, const struct caller *caller, bool all)
{
        json_t *o = pool_about(p, all && pool_sleeps(p)), *more = all ? pool_counters(p) : NULL;
        json_t *hidden =
                p->how.modules && p->how.kind == WAITING_TEMPLATE ? hidden_to_json(p->how.modules) : NULL;
        if (hidden)
                json_object_update(o, hidden);
        json_decref(hidden);
        if (all)
                json_object_update(o, more);
        else
                json_object_set_new(o, "in_use", json_integer(in_use_of(p, caller)));
        json_decref(more);
        more = p->learner ? learned_to_json(p) : NULL;
        if (more)
                json_object_update(o, more);
        json_decref(more);
        return o;
}

json_t *pools_to_json(const struct core *core, const struct caller *caller)
{
        const bool all = caller_sees_counters(caller);
        json_t *list = json_array();
        list_each (at, &core->pools, other) {
                const struct pool *p = list_entry(at, struct pool, link);
                /* Those outside of the settings have limits that a request asked for. */
                if (!p->learner && (p->lasting || (p->size > 0 && all)))
                        json_array_append_new(list, pool_to_json(p, caller, all));
        }
        list_each (at, &core->learners, other) {
                const struct learner *l = list_entry(at, struct learner, link);
                if (l->pool && caller_sees(caller, l->key))
                        json_array_append_new(list, pool_to_json(l->pool, caller, true));
        }
        return list;
}
