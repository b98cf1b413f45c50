/* core/record.h -- what is kept of everything that ran: a row in the log, numbers in the metrics. */
#pragma once
#include "core/core.h"

struct about;

/* These fill in begin->about. */
void record_end(struct box *box, int slot, struct audit_begin *begin, const struct about *about,
                const struct cella_result *result);
/* A request that ran nothing; about->error says why.  Of its input, REFUSALS_INPUT_MAX bytes are kept. */
void record_refused(struct box *box, int slot, struct audit_begin *begin, const struct about *about);
/* One that was lost with an error, and may have run. */
void record_lost(struct box *box, int slot, struct audit_begin *begin, const struct about *about);
void record_count(struct box *box, const struct cella_result *result);
