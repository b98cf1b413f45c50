/* cli/run/report.h -- prints results and errors as JSON, in the form of the HTTP API. */
#pragma once
#include "cella.h"

void report_result(const struct cella_result *result, const char *runtime,
                   const struct cella_isolation *isolation);
void report_error(const struct cella_err *err);
