/* core/violation.h -- what was refused while something ran: reported as it happens, and in its result.
 *
 * The egress process and a sandbox's init know the sandbox of a violation, but not which of several
 * executions in it caused it: each execution that is under way there gets it.  The number is bounded: what
 * exceeds it is only counted. */
#pragma once
#include "base/list.h"
#include "core/core.h"
#include "engine/violation.h"
#include "secret/mask.h"
#include "wire/egress.h"

struct observer;

struct observer_events {
        /* Each that is shown; the last of a full list only at the end. */
        void (*on_violation)(struct observer *observer, const struct violation *violation);
        /* What it did on the network is in the result; see egress_end(). */
        void (*on_counted)(struct observer *observer);
};

/* Of one execution, or of a run in a context. */
struct observer {
        struct list link; /* in its sandbox, while it is under way */
        struct core *core;
        const struct observer_events *events;
        struct cella_result *result;
        struct mask *mask; /* of its secrets; borrowed; NULL: it has none */
        struct violations all;
        bool concluded; /* they are complete */
        /* See egress.h: */
        struct cella_network_usage before; /* what its sandbox did on the network before it began */
        uint32_t before_due;               /* number of the count that says so; 0: it is known */
        bool counting;                     /* on_counted is yet to come */
};

void observer_init(struct observer *observer, struct core *core, const struct observer_events *events,
                   struct cella_result *result);
void observer_done(struct observer *observer);
/* Adds it to the observers of a sandbox: from now on it gets what is refused there. */
void observer_watch(struct observer *observer, struct list *observers);
/* Removes it from them. */
void observer_leave(struct observer *observer);

/* Reports a violation to all observers of a sandbox. */
void violation_tell(struct list *observers, const struct violation *violation);

/* At the end, once: limits that it survived, the last one of a full list, and all of them for the result. */
void observer_conclude(struct observer *observer, const struct verdict_facts *facts,
                       const struct cella_limits *limits);

/* How many of the list there are to show: the last of a full one is not known before the end. */
unsigned observer_shown(const struct observer *observer);

json_t *violation_to_json(const struct violation *violation);
/* All of a result's as JSON text, for the log; NULL: there are none.  The caller frees it. */
char *violations_text(const struct cella_result *result);
