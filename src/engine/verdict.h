/* engine/verdict.h -- why an execution ended, from what we did and what the kernel counted. */
#pragma once
#include "base/keep.h"
#include "cella.h"
#include "jail/cgroup.h"
#include "wire/init.h"
#include "wire/keeper.h"

/* What we did to end an execution, if anything. */
enum ending { END_BY_ITSELF, END_TIMEOUT, END_CPU, END_OUTPUT, END_CANCELLED };

struct verdict_facts {
        enum ending ending;
        bool reported;             /* init reported how the command ended; else init died with it */
        struct init_exited exited; /* valid if reported */
        bool counted;              /* there was a cgroup */
        struct cgroup_usage usage; /* valid if counted */
};

/* We end the execution for this reason.  Only the first reason counts. */
void verdict_end(struct verdict_facts *facts, enum ending why);
/* Whether a stream of `total` bytes ends the execution.  `ends`: the request says that it does. */
bool verdict_output_ends(const struct cella_limits *limits, bool ends, uint64_t total);
/* Fills in facts->usage: the difference between two readings of the counters of a sandbox.  The CPU time
 * before is given apart from the rest.  A peak is known only if it rose between the readings. */
void verdict_count(struct verdict_facts *facts, const struct keeper_counted *before, uint64_t cpu_before_us,
                   const struct keeper_counted *now);
/* CPU time since a reading; 0 if the counter was set back. */
uint64_t verdict_cpu_since(uint64_t now_us, uint64_t before_us);
/* Whether so little disk space is left that a write has failed, or the next one would. */
bool verdict_disk_is_full(const struct verdict_facts *facts);
/* Fills in status, exit_code, signal and usage of *result. */
void verdict(const struct verdict_facts *facts, struct cella_result *result);
/* Moves what was kept of a stream into *result, with its length and whether something was left out.
 * -ENOMEM: the output is missing, the rest is filled in. */
int verdict_take_output(struct cella_result *result, enum cella_stream stream, struct keep *keep,
                        uint64_t total, bool truncated);
