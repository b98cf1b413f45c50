/* keeper/process/log.h -- the keeper's log: one JSON object a line, on stderr.
 *
 * For the keeper process only; what it shares with `cella run` says nothing.  A reader that
 * went to sleep loses lines, and does not hold us. */
#pragma once

/* sandbox: the id of the one it is about, or NULL. */
void log_info(const char *sandbox, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_error(const char *sandbox, const char *format, ...) __attribute__((format(printf, 2, 3)));
