/* scan/inside.h -- code in code: what is given to a shell, to exec(), to `python3 -c`. */
#pragma once
#include "scan/program.h"

struct scan_inside {
        struct budget *budget;
        unsigned level; /* code in code in code … */
        unsigned texts; /* how many were scanned */
        size_t bytes;
};

/* Scans the text of a job, whichever language it is in.  -ENOMEM. */
int inside_scan(enum scan_language language, const struct program_job *job);
