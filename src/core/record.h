/* core/record.h -- what is kept of everything that ran: a row in the log, numbers in the metrics. */
#pragma once
#include "core/core.h"

struct about;
struct exec_request;

/* These fill in begin->about. */
void record_end(struct core *core, int slot, struct audit_begin *begin, const struct about *about,
                const struct cella_result *result);
/* A request that ran nothing; about->error says why.  Of its input, REFUSALS_INPUT_MAX bytes are kept. */
void record_refused(struct core *core, int slot, struct audit_begin *begin, const struct about *about);
/* One that was lost with an error, and may have run. */
void record_lost(struct core *core, int slot, struct audit_begin *begin, const struct about *about);
void record_count(struct core *core, const struct cella_result *result);
/* Records a request that was refused, unless there are too many such rows already (refusal.h).  request: NULL
 * if it was refused before it was read. */
void refusal_record(struct core *core, const struct caller *caller, const struct exec_request *request,
                    const struct cella_err *err);
