/* egress/stock.h -- accounting of scarce resources: descriptors, and pipes for splice().
 *
 * Connections may use descriptors only as long as enough are left for future sandboxes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* limit: maximum number of descriptors of this process. */
void stock_init(size_t limit);

/* Reserves n descriptors; returns false if there are not enough.  Return them with stock_give() after
 * closing. */
bool stock_take(unsigned n);
void stock_give(unsigned n);
/* A sandbox was attached (+) or detached (-): two descriptors each, from the reserve for sandboxes. */
void stock_attached(int change);

struct stock_pipe {
        struct stock_pipe *next;
        int ends[2];
};

/* Returns an empty pipe, or NULL if none is available.  stock_pipe_back() closes it unless it is empty. */
struct stock_pipe *stock_pipe(void);
void stock_pipe_back(struct stock_pipe *pipe, bool is_empty);
