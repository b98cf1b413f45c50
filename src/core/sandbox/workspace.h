/* core/sandbox/workspace.h -- directories of the state that persistent sandboxes have at /workspace.
 *
 * They belong to the server's own, unprivileged user.  Their content is hostile: it is only ever removed,
 * without following links. */
#pragma once
#include "core/core.h"

int workspace_make(const struct core *core, const char *name, struct cella_err *err);
/* Removes it in a worker thread.  Failures are ignored: the next sweep finds what is left. */
void workspace_remove(struct core *core, const char *name);
/* Removes those that is_used() does not know: left by a crash, or by a removal that did not end. */
void workspace_sweep(struct core *core, bool (*is_used)(const struct core *core, const char *name));
