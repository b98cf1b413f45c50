#include "keeper/views.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

/* Where so many in a row were written to, only one in some is made, to see whether that has changed. */
#define WRITTEN_MAX 4
#define TRY_ONE_IN 16

static bool is_worth_it(struct views *v)
{
        if (v->off)
                return false;
        if (v->written < WRITTEN_MAX)
                return true;
        v->left_out = (v->left_out + 1) % TRY_ONE_IN;
        return v->left_out == 0;
}

struct view_kept *views_make(struct views *v, int fixed, int64_t built, const struct jail_spec *spec,
                             bool *ret_lost)
{
        *ret_lost = false;
        if (!is_worth_it(v))
                return NULL;
        struct view_kept *view = malloc(sizeof *view);
        int r = view ? view_keep(fixed, spec, view) : -ENOMEM;
        if (r == 0) {
                view->built = built;
                return view;
        }
        free(view);
        *ret_lost = r == -ENOTRECOVERABLE;
        /* Too few descriptors may be over soon; what else there is stays so. */
        v->off |= r != -ENOMEM && r != -EMFILE && r != -ENFILE;
        return NULL;
}

bool views_serves(const struct view_kept *view, const struct cella_limits *limits, bool *ret_last)
{
        const int64_t age = clock_us() - view->built;
        *ret_last = age >= VIEWS_LAST_US;
        return age < VIEWS_US && view->disk_bytes == limits->disk_bytes &&
               view->disk_inodes == limits->disk_inodes;
}

int64_t views_due(const struct view_kept *view)
{
        return view->built + VIEWS_US;
}

static void written(struct views *v, struct view_kept **view)
{
        *view = views_give_up(*view);
        v->written += v->written < WRITTEN_MAX;
}

void views_look(struct views *v, struct view_kept **view)
{
        if (*view && view_was_written(*view))
                written(v, view);
}

void views_check(struct views *v, struct view_kept **view)
{
        if (!*view)
                return;
        if (view_is_as_new(*view))
                v->written = 0;
        else
                written(v, view);
}

struct view_kept *views_give_up(struct view_kept *view)
{
        if (view)
                view_give_up(view);
        return views_free(view);
}

struct view_kept *views_free(struct view_kept *view)
{
        if (view)
                view_let_go(view);
        free(view);
        return NULL;
}
