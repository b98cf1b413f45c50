/* core/context/internal.h -- functions shared by the files of a context. */
#pragma once
#include "core/context/context.h"

/* life.c */
void context_set_state(struct context *context, enum context_state state);
/* Kills its processes for this reason. */
void context_kill(struct context *context, const char *why);
/* Call when the run is finished; the context no longer refers to *run. */
void context_run_finished(struct context *context);

/* run.c: events of the context */
void context_run_frame(struct context_run *run, enum driver_word word, char *body, size_t len);
void context_run_output(struct context_run *run, enum cella_stream stream, const char *data, size_t len);
void context_run_signalled(struct context_run *run);
void context_run_due(struct context_run *run, int timer); /* an enum deadline_timer or context_timer */
void context_run_answered(struct context_run *run);       /* by init, or it was not asked: see below */
void context_run_died(struct context_run *run, const struct init_exited *exited);
void context_run_lost(struct context_run *run, const struct core_sandbox *sandbox);

/* ask.c */
void context_run_mark_time(struct context_run *run); /* before the code begins */
/* Asks init whether the run, if it failed, tried to use a network that its sandbox does not have, and for the
 * files that it changed, if the request wants them.  Returns true if context_run_answered() follows. */
bool context_run_ask(struct context_run *run);
/* Reads the pictures among these files, if the request wants them.  Returns true if context_run_answered()
 * follows. */
bool context_run_read(struct context_run *run);
void context_run_ask_no_more(struct context_run *run); /* drops the answer, if one is awaited */

/* result.c */
struct audit_begin context_run_log(const struct context_run *run);
struct about context_run_about(const struct context_run *run);
void context_run_count(struct context_run *run, const struct keeper_counted *now); /* counters at its end */
void context_run_conclude(struct context_run *run);                                /* sets its result */
void context_run_record(const struct context_run *run); /* writes log and metrics */
