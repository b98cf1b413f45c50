/* core/record.h -- records executions: a row in the log, numbers in the metrics. */
#pragma once
#include "core/core.h"

struct about;
struct exec_request;

/* Writes the end of an execution.  Sets begin->about, like the next two functions. */
void record_end(struct core *core, int slot, struct audit_begin *begin, const struct about *about,
                const struct cella_result *result);
/* Writes a request that ran nothing; about->error has the reason.  At most REFUSALS_INPUT_MAX bytes of its
 * input are kept. */
void record_refused(struct core *core, int slot, struct audit_begin *begin, const struct about *about);
/* Writes an execution that was lost with an error and may have run. */
void record_lost(struct core *core, int slot, struct audit_begin *begin, const struct about *about);
void record_count(struct core *core, const struct cella_result *result);
/* Records a refused request, unless there are too many such rows (refusal.h).  request: NULL if it was
 * refused before it was parsed. */
void refusal_record(struct core *core, const struct caller *caller, const struct exec_request *request,
                    const struct cella_err *err);
