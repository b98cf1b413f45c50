/* front/rest/log_filter.h -- parses the filter of executions in the query of a request. */
#pragma once
#include "audit/audit.h"
#include "front/api.h"

struct log_filter {
        struct audit_filter audit; /* points into the other fields: do not copy */
        char sandbox[64], session[132], agent[132], status[256], text[256];
};

/* A sandbox may also be given by the name that the caller has given it.  pages: also reads since, limit and
 * cursor.  Otherwise `topics`, a parameter of events, is accepted and ignored. */
int log_filter_read(const struct call *call, bool pages, struct log_filter *ret, struct cella_err *err);
