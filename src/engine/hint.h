/* engine/hint.h -- what a user can do about a run that a limit or a refusal ended. */
#pragma once
#include "engine/verdict.h"

/* Sets result->hint: one sentence with the limit, its value, and the field and option that raise it; or
 * with the setting that allows a refused connection.  "": neither ended the run.  Call it when the status and
 * the violations of the result are complete. */
void hint_set(const struct verdict_facts *facts, const struct cella_limits *limits,
              struct cella_result *result);
