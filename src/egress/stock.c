/* egress/stock.c -- see stock.h. */
#include "egress/stock.h"

#include <fcntl.h>

#include "base/auto.h"
#include "sys/file.h"
#include "sys/raw.h"
#include "wire/egress.h"

#define OTHERS 64u        /* for the process itself: control socket, epoll, libc */
#define PIPES_MAX 256u    /* concurrent */
#define PIPES_KEPT 16u    /* kept open when unused */
#define PIPE_SIZE 1048576 /* if the user's limit (pipe-user-pages-soft) allows it; otherwise the default */

static struct {
        size_t limit, taken, attached;
        struct stock_pipe pipes[PIPES_MAX];
        struct stock_pipe *kept, *closed; /* open and empty; without descriptors */
        size_t n_kept;
} stock;

void stock_init(size_t limit)
{
        stock.limit = limit;
        for (size_t i = 0; i < PIPES_MAX; i++) {
                stock.pipes[i].next = stock.closed;
                stock.closed = &stock.pipes[i];
        }
}

void stock_attached(int change)
{
        stock.attached += (size_t)change;
}

bool stock_take(unsigned n)
{
        size_t to_come = 2 * (EGRESS_SANDBOXES_MAX - stock.attached), most = stock.limit / 4;
        size_t kept = OTHERS + 2 * stock.attached + (to_come < most ? to_come : most);

        if (stock.taken + n + kept > stock.limit)
                return false;
        stock.taken += n;
        return true;
}

void stock_give(unsigned n)
{
        stock.taken -= n;
}

struct stock_pipe *stock_pipe(void)
{
        struct stock_pipe *pipe = stock.kept;

        if (pipe != NULL) {
                stock.kept = pipe->next;
                stock.n_kept--;
                return pipe;
        }
        pipe = stock.closed;
        if (pipe == NULL || !stock_take(2))
                return NULL;
        if (sys_pipe2(pipe->ends, O_CLOEXEC | O_NONBLOCK) < 0) {
                stock_give(2);
                return NULL;
        }
        sys_call3(SYS_fcntl, pipe->ends[1], F_SETPIPE_SZ, PIPE_SIZE);
        stock.closed = pipe->next;
        return pipe;
}

void stock_pipe_back(struct stock_pipe *pipe, bool is_empty)
{
        if (is_empty && stock.n_kept < PIPES_KEPT) {
                pipe->next = stock.kept;
                stock.kept = pipe;
                stock.n_kept++;
                return;
        }
        sys_close(pipe->ends[0]);
        sys_close(pipe->ends[1]);
        stock_give(2);
        pipe->next = stock.closed;
        stock.closed = pipe;
}
