/* daemon/log.h -- one JSON object a line, on stderr. */
#pragma once

/* detail_name may be NULL.  Never blocks: what nobody reads is dropped and counted. */
void log_line(const char *level, const char *message, const char *detail_name, const char *detail);
