/* engine/verdict.h -- determines why an execution ended, from our actions and the kernel's counters. */
#pragma once
#include "base/keep.h"
#include "cella.h"
#include "jail/cgroup.h"
#include "wire/init.h"
#include "wire/keeper.h"

/* What the server did to end an execution. */
enum ending { END_BY_ITSELF, END_TIMEOUT, END_CPU, END_OUTPUT, END_CANCELLED };

struct verdict_facts {
        enum ending ending;
        bool reported;             /* init reported the end of the command; otherwise init died with it */
        struct init_exited exited; /* valid if reported */
        bool counted;              /* there was a cgroup */
        struct cgroup_usage usage; /* valid if counted */
};

/* Records the reason for which we end the execution.  Only the first call counts. */
void verdict_end(struct verdict_facts *facts, enum ending why);
/* Whether `total` bytes of output end the execution.  `ends`: the request has this option. */
bool verdict_output_ends(const struct cella_limits *limits, bool ends, uint64_t total);
/* Sets facts->usage to the difference between two readings of a sandbox's counters.  cpu_before_us replaces
 * the CPU time of `before`.  A peak is known only if it rose between the readings. */
void verdict_count(struct verdict_facts *facts, const struct keeper_counted *before, uint64_t cpu_before_us,
                   const struct keeper_counted *now);
/* Returns the CPU time since a reading; 0 if the counter was reset. */
uint64_t verdict_cpu_since(uint64_t now_us, uint64_t before_us);
/* Whether a write has failed because of the full disk, or the next one would. */
bool verdict_disk_is_full(const struct verdict_facts *facts);
/* Sets status, exit_code, signal and usage of *result. */
void verdict(const struct verdict_facts *facts, struct cella_result *result);
/* Moves the kept output of a stream into *result, with its length and whether it is truncated.  -ENOMEM: the
 * output is missing, the other fields are set. */
int verdict_take_output(struct cella_result *result, enum cella_stream stream, struct keep *keep,
                        uint64_t total, bool truncated);
