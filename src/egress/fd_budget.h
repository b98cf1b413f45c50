/* egress/fd_budget.h -- accounting of scarce resources: descriptors, and pipes for splice().
 *
 * Connections may use descriptors only as long as enough are left for future sandboxes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* limit: maximum number of descriptors of this process. */
void fd_budget_init(size_t limit);

/* Reserves n descriptors; returns false if there are not enough.  Return them with fd_budget_give() after
 * closing. */
bool fd_budget_take(unsigned n);
void fd_budget_give(unsigned n);
/* A sandbox was attached (+) or detached (-): two descriptors each, from the reserve for sandboxes. */
void fd_budget_attached(int change);

struct fd_budget_pipe {
        struct fd_budget_pipe *next;
        int ends[2];
};

/* Returns an empty pipe, or NULL if none is available.  fd_budget_pipe_back() closes it unless it is empty.
 */
struct fd_budget_pipe *fd_budget_pipe(void);
void fd_budget_pipe_back(struct fd_budget_pipe *pipe, bool is_empty);
