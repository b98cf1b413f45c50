/* core/sandbox/workspace.h -- directories of the state that sandboxes find at /workspace again.
 *
 * They belong to the server's own, unprivileged user.  What is in them is hostile: it is looked
 * at only to remove it, without following anything. */
#pragma once
#include "core/core.h"

int workspace_make(const struct box *box, const char *name, struct cella_err *err);
/* Off the loop's thread; how it went does not matter to anybody. */
void workspace_remove(struct box *box, const char *name);
/* Those that no sandbox has: a crash, or a removal that did not end. */
void workspace_sweep(struct box *box);
