#include "core/violation.h"

#include <stdlib.h>
#include <string.h>

#include "engine/hint.h"

void observer_init(struct observer *o, struct core *core, const struct observer_events *events,
                   struct cella_result *result)
{
        *o = (struct observer){.core = core, .events = events, .result = result};
        list_init(&o->link);
}

void observer_done(struct observer *o)
{
        list_remove(&o->link);
        violations_done(&o->all);
}

void observer_watch(struct observer *o, struct list *observers)
{
        list_add(observers, &o->link);
}

void observer_leave(struct observer *o)
{
        list_remove(&o->link);
}

static void core_violation_add(struct observer *o, const struct violation *v)
{
        const unsigned n = o->all.n;
        const uint64_t more = o->all.more;
        violations_add(&o->all, v);
        if (o->all.n > n || o->all.more > more)
                o->core->metrics.violations[v->kind]++;
        if (o->all.n > n && o->all.n < VIOLATIONS_MAX)
                o->events->on_violation(o, v);
}

/* The execution that caused it is unknown, so the secrets of all are masked for each. */
void violation_report(struct list *observers, const struct violation *v)
{
        struct violation masked = *v;
        list_each (at, observers, other) {
                mask_string(list_entry(at, struct observer, link)->mask, masked.target);
                mask_string(list_entry(at, struct observer, link)->mask, masked.detail);
        }
        list_each (at, observers, other)
                core_violation_add(list_entry(at, struct observer, link), &masked);
}

/* The egress process also reports a limited number, but counts all of them. */
static void count_unreported(struct observer *o)
{
        const struct cella_result *r = o->result;
        uint64_t reported = o->all.more;
        for (unsigned i = 0; i < o->all.n; i++)
                reported += o->all.list[i].kind == VIOLATION_NETWORK;
        if (o->all.n == VIOLATIONS_MAX && reported >= EGRESS_REPORTED_MAX && r->network_known &&
            r->network.refused > reported)
                o->all.more += r->network.refused - reported;
}

void observer_conclude(struct observer *o, const struct verdict_facts *facts,
                       const struct cella_limits *limits)
{
        struct violation survived[VIOLATIONS_OF_LIMITS];
        unsigned n = violations_of_limits(facts, limits, o->result->status, survived);
        for (unsigned i = 0; i < n; i++)
                core_violation_add(o, &survived[i]);
        count_unreported(o);
        violations_take(&o->all, o->result);
        hint_set(facts, limits, o->result);
        o->concluded = true;
        if (o->all.n == VIOLATIONS_MAX)
                o->events->on_violation(o, &o->all.list[VIOLATIONS_MAX - 1]);
        observer_leave(o);
}

json_t *violation_to_json(const struct violation *v)
{
        return json_pack("{s:s, s:s, s:s}", "kind", violation_words[v->kind], "target", v->target, "detail",
                         v->detail);
}

unsigned observer_shown(const struct observer *o)
{
        return o->all.n < VIOLATIONS_MAX || o->concluded ? o->all.n : VIOLATIONS_MAX - 1;
}

char *violations_text(const struct cella_result *r)
{
        json_t *list = r->n_violations > 0 ? json_array() : NULL;
        for (size_t i = 0; i < r->n_violations; i++)
                json_array_append_new(list,
                                      json_pack("{s:s, s:s, s:s}", "kind", r->violations[i].kind, "target",
                                                r->violations[i].target, "detail", r->violations[i].detail));
        char *text = list ? json_dumps(list, JSON_COMPACT) : NULL;
        json_decref(list);
        return text;
}
