/* box/record.h -- what is kept of everything that ran: a row in the log, numbers in the metrics. */
#pragma once
#include "box/box.h"

void record_end(struct box *box, int slot, const struct audit_begin *begin,
                const struct cella_result *result);
void record_count(struct box *box, const struct cella_result *result);
