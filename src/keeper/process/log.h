/* keeper/process/log.h -- the keeper's log: one JSON object per line, on stderr.
 *
 * Only for the keeper process; code that it shares with `cella run` does not log.  If stderr is not writable,
 * lines are lost and the keeper does not wait. */
#pragma once

/* sandbox: the id of the sandbox in question, or NULL. */
void log_info(const char *sandbox, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_error(const char *sandbox, const char *format, ...) __attribute__((format(printf, 2, 3)));
