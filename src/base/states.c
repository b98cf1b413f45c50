#include "base/states.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

static void (*report_refused)(const char *message);

void states_report(void (*report)(const char *message))
{
        report_refused = report;
}

static const char *state_name(const struct states *s, unsigned state)
{
        return state < s->n ? s->names[state] : "unknown";
}

bool states_may(const struct states *s, unsigned from, unsigned to)
{
        char message[160];
        if (from < s->n && to < s->n && (s->next[from] & STATE(to)))
                return true;
        snprintf(message, sizeof message, "internal error: a change of a %s from %s to %s was refused",
                 s->what, state_name(s, from), state_name(s, to));
        if (report_refused)
                report_refused(message);
        assert(!"illegal change of state");
        return false;
}
