/* egress/fd_budget.c -- see fd_budget.h. */
#include "egress/fd_budget.h"

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
        struct fd_budget_pipe pipes[PIPES_MAX];
        struct fd_budget_pipe *kept, *closed; /* open and empty; without descriptors */
        size_t n_kept;
} budget;

void fd_budget_init(size_t limit)
{
        budget.limit = limit;
        for (size_t i = 0; i < PIPES_MAX; i++) {
                budget.pipes[i].next = budget.closed;
                budget.closed = &budget.pipes[i];
        }
}

void fd_budget_attached(int change)
{
        budget.attached += (size_t)change;
}

bool fd_budget_take(unsigned n)
{
        size_t to_come = 2 * (EGRESS_SANDBOXES_MAX - budget.attached), most = budget.limit / 4;
        size_t kept = OTHERS + 2 * budget.attached + (to_come < most ? to_come : most);

        if (budget.taken + n + kept > budget.limit)
                return false;
        budget.taken += n;
        return true;
}

void fd_budget_give(unsigned n)
{
        budget.taken -= n;
}

struct fd_budget_pipe *fd_budget_pipe(void)
{
        struct fd_budget_pipe *pipe = budget.kept;

        if (pipe != NULL) {
                budget.kept = pipe->next;
                budget.n_kept--;
                return pipe;
        }
        pipe = budget.closed;
        if (pipe == NULL || !fd_budget_take(2))
                return NULL;
        if (sys_pipe2(pipe->ends, O_CLOEXEC | O_NONBLOCK) < 0) {
                fd_budget_give(2);
                return NULL;
        }
        sys_call3(SYS_fcntl, pipe->ends[1], F_SETPIPE_SZ, PIPE_SIZE);
        budget.closed = pipe->next;
        return pipe;
}

void fd_budget_pipe_back(struct fd_budget_pipe *pipe, bool is_empty)
{
        if (is_empty && budget.n_kept < PIPES_KEPT) {
                pipe->next = budget.kept;
                budget.kept = pipe;
                budget.n_kept++;
                return;
        }
        sys_close(pipe->ends[0]);
        sys_close(pipe->ends[1]);
        fd_budget_give(2);
        pipe->next = budget.closed;
        budget.closed = pipe;
}
