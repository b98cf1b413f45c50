/* core/execution/internal.h -- what the files of an execution share. */
#pragma once
#include "core/about.h"
#include "core/execution/execution.h"

/* end.c */
void execution_over(struct execution *ex);                              /* every process of it is gone */
void execution_fail(struct execution *ex, const struct cella_err *err); /* nothing was run */
void execution_conclude(struct execution *ex);                          /* there is nothing to wait for */
void execution_lost(struct task *task, struct core_sandbox *sandbox, const struct cella_err *err);
void execution_hear_file(struct execution *ex, const struct message *message, const char *data); /* unasked */
void execution_output_ended(struct execution *ex);
void execution_list_given_up(struct execution *ex);
/* Whether its workspace was empty when it began, so that every file in it is the code's. */
bool execution_had_nothing(const struct execution *ex);
void execution_counted(struct observer *observer); /* what it did on the network */
struct audit_begin execution_log(const struct execution *ex);
struct about execution_about(const struct execution *ex);

/* life.c */
void execution_set_phase(struct execution *ex, enum execution_phase phase);
void execution_started(struct execution *ex, const struct message *message, int32_t pid);
void execution_log_begin(struct execution *ex);
/* Reads the CPU time that its own sandbox has used so far, on files: it is not the code's. */
void execution_count_before(struct execution *ex);
/* The sandbox's CPU counter when the code was released. */
uint64_t execution_cpu_before_us(const struct execution *ex, const struct core_sandbox *sandbox);

/* start.c: the messages that start it. */
void execution_begin(struct execution *ex); /* the sandbox takes messages */
void execution_spawn(struct execution *ex); /* its files are there */
void execution_hear_start(struct execution *ex, uint32_t type, const char *data);
bool execution_start_again(struct execution *ex); /* its interpreter could not wait: plainly then */
/* The one that waited, while files were written: the code is started plainly then. */
void execution_interpreter_died(struct execution *ex);
/* Its sandbox has died.  If its code has provably not begun, it is started in another one: true. */
bool execution_start_elsewhere(struct execution *ex, const struct core_sandbox *sandbox);
/* Whether that cannot be told before the interpreter is dead. */
bool execution_needs_deaths(const struct task *task);
struct cella_command execution_command(const struct execution *ex);

/* scan.c */
void execution_scan_first(struct execution *ex);  /* execution_begin() comes when the scan has allowed it */
void execution_scan_beside(struct execution *ex); /* its code has been released: scans for advice */

/* io.c */
int execution_open_io(struct execution *ex, int theirs[3], struct cella_err *err);
/* Makes what the next one needs, when nobody waits for it. */
void execution_spare_pipes(void);
void execution_drain(struct execution *ex); /* takes what is left in the pipes */
void execution_close_io(struct execution *ex);

/* clock.c */
void execution_clock_init(struct execution *ex);
void execution_clock_begin(struct execution *ex); /* what comes before the command must not take for ever */
void execution_clock_start(struct execution *ex); /* the command runs */
void execution_clock_stop(struct execution *ex);
void execution_clock_list(struct execution *ex); /* the list of files must come soon */
void execution_clock_spawn(struct execution *ex, int64_t in_us);
void execution_clock_done(struct execution *ex);
void execution_paused(struct task *task, bool paused);
/* Ends it for this reason. */
void execution_end(struct execution *ex, enum ending why);
