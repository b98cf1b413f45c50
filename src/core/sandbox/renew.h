/* core/sandbox/renew.h -- the sandbox of a session, an agent or all, after the settings have changed. */
#pragma once
#include "core/sandbox/sandbox.h"

/* Fails if the request chose another workspace, engine or image than the sandbox has. */
int sandbox_check_choice(const struct core_sandbox *sandbox, const struct sandbox_spec *spec,
                         struct cella_err *err);
/* Applies settings that neither the request nor an earlier one chose itself, unless code runs in the sandbox:
 * ends it, and lets the next task start it with the new settings and the same files; or replaces *sandbox by
 * another one (move.h).  (*sandbox)->note then says so. */
int sandbox_follow_settings(struct core_sandbox **sandbox, const struct sandbox_spec *spec,
                            struct cella_err *err);
