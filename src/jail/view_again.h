/* jail/view_again.h -- a view that serves one sandbox after the other, as long as none wrote in it.
 *
 * To copy a mount namespace and to make a tmpfs takes the kernel a tenth of a millisecond, and as long again
 * when they go.  Most code that agents run writes no file.  So the keeper, which knows all that the kernel
 * says of the few directories that can be written to, compares that with what it was before any code was
 * there: what is the same to the last bit serves again, and all else goes.  Proc is made anew each time,
 * because it is that of dead processes. */
#pragma once
#include <linux/stat.h>
#include <stdbool.h>
#include <sys/vfs.h>

#include "jail/spec.h"

#define VIEW_DIRECTORIES 4

struct view_kept {
        int namespace; /* -1: there is none */
        int ruleset;   /* Landlock's, for this view; -1: that wall is not there */
        int directories[VIEW_DIRECTORIES];
        uint64_t disk_bytes, disk_inodes; /* the limits that it was made with */
        int64_t built;                    /* when its fixed part was: the host may have changed since */
        /* What the kernel says of it; and the number that its next file will have. */
        struct statx fresh[VIEW_DIRECTORIES];
        struct statfs room;
        uint64_t next_inode;
};
#define VIEW_NONE ((struct view_kept){-1, -1, {-1, -1, -1, -1}})

/* Makes one, for the code of spec, out of a fixed part that was left (jail/view_shared.c).  The calling
 * process is in other mount namespaces meanwhile, with no other thread.  -ENOTRECOVERABLE: it could not come
 * back, and must not go on.  -ENOTSUP: this kernel does not tell of every change. */
int view_keep(int fixed, const struct jail_spec *spec, struct view_kept *ret);

/* Whether its directories are not what they were: for who can do something about it before its sandbox is
 * dead. */
bool view_was_written(const struct view_kept *view);
/* Whether nobody was there.  Of a dead sandbox. */
bool view_is_as_new(struct view_kept *view);

void view_let_go(struct view_kept *view);
/* The same where we may be the last who has it, and there may be much in it: to remove a hundred thousand
 * files takes the kernel a tenth of a second, and everybody waits for this process.  What is on its way to a
 * socket that is itself on that way only is received by nobody, and a thread of the kernel takes it apart. */
void view_give_up(struct view_kept *view);
static inline void view_let_go_auto(struct view_kept *view)
{
        view_let_go(view);
}
static inline struct view_kept view_take_over(struct view_kept *view)
{
        struct view_kept taken = *view;
        *view = VIEW_NONE;
        return taken;
}
