/* keeper/views.h -- which views serve again (jail/view_again.h), and for how long.
 *
 * A view goes with the groups of its sandbox, because its directories are of the uid that these stand for.
 * It is made when a sandbox is dead, which nobody waits for. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "jail/view_again.h"

/* As long as a fixed part is good: the host may have changed since.  Thirty views are made anew each time
 * when many run: with a second, that was 1.5 % of all. */
#define VIEWS_US 3000000
#define VIEWS_LAST_US 2500000 /* from when on a view is given out once more, and not kept */

struct views {
        bool off;         /* not with this kernel */
        unsigned written; /* of the last views, how many in a row were */
        unsigned left_out;
};

/* One of its own for the next sandbox of spec, unless that is likely to be in vain; or NULL.  fixed: see
 * view_keep(), built then.  *ret_lost: the process is not where it was, and must not go on. */
struct view_kept *views_make(struct views *v, int fixed, int64_t built, const struct jail_spec *spec,
                             bool *ret_lost);

/* Whether it is good for a sandbox of these limits, now.  *ret_last: for no other after that.  Who makes that
 * one lets go of it at once: what the kernel has to do when the last one does takes a third of a millisecond,
 * and the sandbox has that time when it dies. */
bool views_serves(const struct view_kept *view, const struct cella_limits *limits, bool *ret_last);
/* When it is good for nobody any more. */
int64_t views_due(const struct view_kept *view);

/* Of a sandbox that is about to be killed, and of one that is dead: lets go of a view that was written to,
 * (then there is none). */
void views_look(struct views *v, struct view_kept **view);
void views_check(struct views *v, struct view_kept **view);

struct view_kept *views_free(struct view_kept *view);
/* One that may not be as new: its sandbox may be dead, or die at this moment. */
struct view_kept *views_give_up(struct view_kept *view);
DEFINE_AUTO(struct view_kept *, views_free)
