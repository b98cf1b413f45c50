/* core/execution/internal.h -- functions shared by the files of an execution. */
#pragma once
#include "core/about.h"
#include "core/execution/execution.h"

/* end.c */
void execution_over(struct execution *ex);                              /* all its processes have ended */
void execution_fail(struct execution *ex, const struct cella_err *err); /* nothing was run */
void execution_conclude(struct execution *ex);                          /* there is nothing to wait for */
void execution_lost(struct task *task, struct core_sandbox *sandbox, const struct cella_err *err);
/* Without a request. */
void execution_receive_file(struct execution *ex, const struct message *message, const char *data);
void execution_output_ended(struct execution *ex);
void execution_list_given_up(struct execution *ex);
/* Whether its workspace was empty at the start, so that the code made every file in it. */
bool execution_had_nothing(const struct execution *ex);
void execution_counted(struct observer *observer); /* the network counters have arrived */
struct audit_begin execution_log(const struct execution *ex);
struct about execution_about(const struct execution *ex);

/* life.c */
void execution_set_phase(struct execution *ex, enum execution_phase phase);
void execution_started(struct execution *ex, const struct message *message, int32_t pid);
void execution_release_slot(const struct execution *ex, struct core_sandbox *sandbox);
void execution_log_begin(struct execution *ex);
/* Reads the CPU time that the sandbox has used so far, for example for files.  It does not count for the
 * code. */
void execution_count_before(struct execution *ex);
/* Returns the sandbox's CPU counter at the time the code was released. */
uint64_t execution_cpu_before_us(const struct execution *ex, const struct core_sandbox *sandbox);

/* start.c: the messages that start it. */
void execution_begin(struct execution *ex); /* the sandbox accepts messages */
void execution_spawn(struct execution *ex); /* its files are written */
void execution_receive_start(struct execution *ex, uint32_t type, const char *data);
bool execution_start_again(struct execution *ex); /* its interpreter could not wait: start normally */
/* The waiting interpreter died while files were written: the code is started normally. */
void execution_interpreter_died(struct execution *ex);
/* Its sandbox has died.  If the code has provably not started, starts it in another one and returns true. */
bool execution_start_elsewhere(struct execution *ex, const struct core_sandbox *sandbox);
/* Whether this is known only after the interpreter is dead. */
bool execution_needs_deaths(const struct task *task);
struct cella_command execution_command(const struct execution *ex);

/* scan.c */
void execution_scan_first(struct execution *ex);  /* execution_begin() follows when the scan allows it */
void execution_scan_beside(struct execution *ex); /* after the code was released: scans for advice */

/* io.c */
int execution_open_io(struct execution *ex, int theirs[3], struct cella_err *err);
/* Makes pipes for the next execution in advance. */
void execution_spare_pipes(void);
void execution_drain(struct execution *ex); /* reads what is left in the pipes */

/* values.c */
/* Makes the program that runs the code and sends values, if they are wanted.  Returns 0 or -ENOMEM. */
int execution_values_prepare(struct execution *ex);
/* Makes the socket for values, descriptor 3 of the command.  Call if there is a program. */
int execution_values_open(struct execution *ex, int *ret_theirs);
void execution_values_drain(struct execution *ex);
void execution_values_close(struct execution *ex);
/* Returns what the interpreter runs: the program, or the code of the request. */
const char *execution_text(const struct execution *ex, size_t *ret_len);
/* Adds a result and takes it. */
void execution_add_result(struct execution *ex, char *json, size_t len);
void execution_close_io(struct execution *ex);

/* clock.c */
void execution_clock_init(struct execution *ex);
void execution_clock_begin(struct execution *ex); /* limits the time for writing files */
void execution_clock_start(struct execution *ex); /* the command runs */
void execution_clock_stop(struct execution *ex);
void execution_clock_list(struct execution *ex); /* limits the time for the file list */
void execution_clock_read(struct execution *ex); /* and for reading pictures */
void execution_clock_spawn(struct execution *ex, int64_t in_us);
void execution_clock_done(struct execution *ex);
void execution_paused(struct task *task, bool paused);
/* Ends it for this reason. */
void execution_end(struct execution *ex, enum ending why);
