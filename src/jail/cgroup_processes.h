/* jail/cgroup_processes.h -- the CPU time of the processes of a group, for hosts without cpuacct. */
#pragma once
#include <stdint.h>

/* Returns the CPU time used so far, in steps of 10 ms.  Does not include processes that ended without being
 * reaped by a parent in the group; with very many processes, only the first few hundred are counted.  group:
 * its directory. */
uint64_t cgroup_processes_cpu_us(int group);
