/* core/sandbox/move.h -- the sandbox of a session, an agent or all gets a successor with the same files. */
#pragma once
#include "core/sandbox/sandbox.h"

/* Makes a sandbox like `from`, with the engine, the image, the workspace and the caller of spec, and copies
 * the private workspace into it.  Tasks that are attached to the new one wait for the copy.  Then `from` is
 * removed; until then it is in no list.  If the new one cannot be made, or the copy fails, its tasks are lost
 * and `from`, with all files, is the sandbox of its scope again.  Nothing may run in `from`. */
int sandbox_move(struct core_sandbox *from, const struct sandbox_spec *spec, struct core_sandbox **ret,
                 struct cella_err *err);
