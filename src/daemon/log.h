/* daemon/log.h -- writes one JSON object per line to stderr. */
#pragma once

/* Writes a line; detail_name may be NULL. Never blocks: lines that cannot be written are dropped and
 * counted. */
void log_line(const char *level, const char *message, const char *detail_name, const char *detail);
