/* keeper/spawn/slots.h -- descriptors of children that share the keeper's table of descriptors.
 *
 * The keeper has more than a thousand descriptors. A child with a copy of this table would close them one by
 * one when it executes init, which takes 0.15 ms. So the child shares the table until it runs, and then
 * copies only the low numbers, which contain what it needs. Until then the keeper must not close the child's
 * end of the control socket. These ends are in slots, low numbers that are reserved for them. */
#pragma once
#include <stdbool.h>

#define SLOTS 16

struct slots {
        int number[SLOTS];         /* -1: there is no such slot */
        const bool *copied[SLOTS]; /* NULL: unused; true: the child has its own table */
        unsigned used;
        int holder; /* unused slots contain a copy of this */
};

/* Reserves low numbers.  holder: any descriptor, borrowed. */
void slots_init(struct slots *s, int holder);

/* Puts a copy of fd into a slot.  Returns its number, or -1 if no slot is free.  *copied is false, and is set
 * by the child. */
int slots_put(struct slots *s, int fd, const bool *copied);
/* Closes what was put there with `copied`, if slots_tidy() has not.  The child is dead or was not started. */
void slots_remove(struct slots *s, const bool *copied);
/* Closes the ends of children that have their own table.  Returns whether slots are still in use. */
bool slots_tidy(struct slots *s);
