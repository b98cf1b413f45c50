/* keeper/spawn/spawn.h -- starts the child that becomes a sandbox's init, and makes the socket to it. */
#pragma once
#include "keeper/spawn/making.h"

struct spawn;

/* Allocates the memory that the child uses until it executes init, including its stack.  The caller frees it
 * with free() after the child is dead.  Returns NULL if there is no memory. */
struct spawn *spawn_new(void);

/* Makes the socket to init: sb->control, and the child's end, m->child_control. */
int spawn_make_control(struct sandbox *sb, struct making *m, struct cella_err *err);

/* Clones the child, which executes init.  Uses sb->spawn; sets sb->pid and sb->pidfd. */
int spawn_child(struct sandbox *sb, struct making *m, struct cella_err *err);
