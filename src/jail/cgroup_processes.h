/* jail/cgroup_processes.h -- what the processes of a group have used, where no group counts it. */
#pragma once
#include <stdint.h>

/* CPU time so far, in steps of 10 ms; without those who have ended and were nobody's to wait for, and of very
 * many only the first some hundred.  group: its directory. */
uint64_t cgroup_processes_cpu_us(int group);
