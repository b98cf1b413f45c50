/* core/violation.h -- refused actions of an execution: reported as they happen, and in its result.
 *
 * The egress process and the sandbox's init know the sandbox of a violation, but not which of several
 * executions in it is the cause: each active execution there gets it.  The number is bounded; further
 * violations are only counted. */
#pragma once
#include "base/list.h"
#include "core/core.h"
#include "engine/violation.h"
#include "secret/mask.h"
#include "wire/egress.h"

struct observer;

struct observer_events {
        /* Called for each violation that is shown; for the last one of a full list only at the end. */
        void (*on_violation)(struct observer *observer, const struct violation *violation);
        /* The network usage is in the result; see egress_end(). */
        void (*on_counted)(struct observer *observer);
};

/* Belongs to one execution, or a run in a context. */
struct observer {
        struct list link; /* in its sandbox, while it is active */
        struct core *core;
        const struct observer_events *events;
        struct cella_result *result;
        struct mask *mask; /* of its secrets; borrowed; NULL: none */
        struct violations all;
        bool concluded; /* the list is complete */
        /* See egress.h: */
        struct cella_network_usage before; /* network usage of its sandbox before it started */
        uint32_t before_due;               /* number of the request for `before`; 0: it is known */
        bool counting;                     /* on_counted will be called */
};

void observer_init(struct observer *observer, struct core *core, const struct observer_events *events,
                   struct cella_result *result);
void observer_done(struct observer *observer);
/* Adds it to the observers of a sandbox: from now on it gets the violations there. */
void observer_watch(struct observer *observer, struct list *observers);
/* Removes it from the sandbox. */
void observer_leave(struct observer *observer);

/* Reports a violation to all observers of a sandbox. */
void violation_report(struct list *observers, const struct violation *violation);

/* Call once at the end: adds the limits that were reached, the last entry of a full list, and moves all to
 * the result. */
void observer_conclude(struct observer *observer, const struct verdict_facts *facts,
                       const struct cella_limits *limits);

/* Returns how many entries can be shown: the last of a full list is not known before the end. */
unsigned observer_shown(const struct observer *observer);

json_t *violation_to_json(const struct violation *violation);
/* Returns the violations of a result as JSON text for the log; NULL: none.  The caller frees it. */
char *violations_text(const struct cella_result *result);
