/* jail/enter.h -- a process raises the walls around itself. */
#pragma once
#include "jail/spec.h"

#define JAIL_CENSUS_FD 4 /* /proc as the kernel sees it: nothing hides there */

struct init_groups;

/* Fills in what INIT_GROUPS tells, and its descriptors.  -EPROTO: they do not fit. */
int jail_set_groups(struct jail_spec *spec, const struct init_groups *groups, const int *fds, unsigned n_fds);

/* Raises the walls of spec around the caller, PID 1 of its new namespaces, whose owner is
 * behind the socket control_fd and makes some of what is needed meanwhile.  On failure the
 * process is good for nothing but to say so and to exit. */
int jail_enter(struct jail_spec *spec, int control_fd, struct cella_err *err);
