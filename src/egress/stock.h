/* egress/stock.h -- what is scarce: descriptors, and pipes to splice through.
 *
 * Connections may take descriptors only as long as enough are left for sandboxes to come. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* limit: how many descriptors this process may have. */
void stock_init(size_t limit);

/* True: n more may be opened; give them back when they are closed. */
bool stock_take(unsigned n);
void stock_give(unsigned n);
/* Sandboxes come and go: two descriptors each, from what is kept for them. */
void stock_attached(int change);

struct stock_pipe {
        struct stock_pipe *next;
        int ends[2];
};

/* An empty pipe, or NULL: none can be had now.  It goes back empty; or else it is closed. */
struct stock_pipe *stock_pipe(void);
void stock_pipe_back(struct stock_pipe *pipe, bool is_empty);
