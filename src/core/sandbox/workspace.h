/* core/sandbox/workspace.h -- directories in the state directory that persistent sandboxes have at
 * /workspace.
 *
 * They belong to the server's own, unprivileged user.  Their contents are not trusted: the server only
 * removes them, without following links. */
#pragma once
#include "core/core.h"

/* Writes the name of the workspace of a sandbox with this id.  A container's workspace is a volume of its
 * engine; the directory only marks it. */
void workspace_name(const char *id, enum engine_choice engine, char ret[KEEPER_NAME_MAX]);

int workspace_make(const struct core *core, const char *name, struct cella_err *err);
/* Removes it in a worker thread.  Errors are ignored: the next sweep removes the rest. */
void workspace_remove(struct core *core, const char *name);
/* Removes directories for which is_used() returns false: left by a crash or an incomplete removal. */
void workspace_sweep(struct core *core, bool (*is_used)(const struct core *core, const char *name));
