/* base/states.h -- state machines as tables: which state may follow which. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define STATE(state) (UINT32_C(1) << (state))

struct states {
        const char *what;         /* the object, for messages: "sandbox" */
        const char *const *names; /* of the states */
        const uint32_t *next;     /* for each state, STATE() of those that may follow */
        unsigned n;
};

/* Whether an object may change from one state to the other.  If not, an assertion fails; in release builds
 * the function given to states_report() is called, and the caller must leave the state as it is. */
bool states_may(const struct states *states, unsigned from, unsigned to);

/* Calls report() with a message for each refused change.  NULL: none. */
void states_report(void (*report)(const char *message));
