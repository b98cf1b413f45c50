/* keeper/spawn/births.h -- descriptors of children on their way to become init.
 *
 * Who keeps a thousand sandboxes has five thousand descriptors.  A child that had a copy of each, only for
 * its exec to close them all, would take longer for that than for all else.  So it shares the keeper's table
 * at first, and leaves it with no more than what is below a certain number.  Down there the keeper has a few
 * numbers for the one that a child needs. */
#pragma once
#include <stdbool.h>

#define BIRTHS_MAX 8 /* at once; more of them copy what there is */

struct births {
        struct {
                int fd;           /* nobody's, unless: */
                const bool *left; /* set by the child, when it has left; NULL: it is free */
        } places[BIRTHS_MAX];
        unsigned n;
        int filler; /* what is there when it is free; borrowed */
};

/* Without numbers to be had, births_take() never has any. */
void births_init(struct births *b, int filler);
void births_done(struct births *b);

/* A low number for fd, which is closed.  The keeper has it, too, until *left is set and births_tidy() is
 * called, or births_end(left): nobody hears of the child's death before.  -1: there is none, and fd stays. */
int births_take(struct births *b, int fd, const bool *left);
/* The last that a child needs. */
int births_last(const struct births *b);
/* To be called again, and soon, as long as it is true. */
bool births_tidy(struct births *b);
/* The child is dead, or was never there. */
void births_end(struct births *b, const bool *left);
