/* keeper/spawn/spawn.h -- the child that becomes a sandbox's init, and the socket to it. */
#pragma once
#include "keeper/spawn/making.h"

struct nursery;

/* What a child starts from.  NULL: there is no memory. */
struct nursery *nursery_take(void);
/* The child is dead, and nothing of it is needed any more. */
void nursery_leave(struct sandbox *sb);

/* sb->control, and the child's end of it, m->child_control. */
int nursery_make_control(struct sandbox *sb, struct making *m, struct cella_err *err);

/* sb->pid and sb->pidfd. */
int nursery_spawn(struct sandbox *sb, struct making *m, struct cella_err *err);
