/* engine/verdict.h -- why an execution ended, from what we did and what the kernel counted. */
#pragma once
#include "cella.h"
#include "jail/cgroup.h"
#include "wire/init.h"

/* What we ourselves did to end it, if anything. */
enum ending { END_BY_ITSELF, END_TIMEOUT, END_CPU, END_OUTPUT, END_CANCELLED };

struct verdict_facts {
        enum ending ending;
        bool reported;             /* init told how the command ended; else it died with it */
        struct init_exited exited; /* valid if reported */
        bool counted;              /* there was a cgroup */
        struct cgroup_usage usage; /* valid if counted */
};

/* So little is left that a write has failed, or the next would. */
bool verdict_disk_is_full(const struct verdict_facts *facts);

/* Fills in status, exit_code, signal and usage of *result. */
void verdict(const struct verdict_facts *facts, struct cella_result *result);
