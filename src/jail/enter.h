/* jail/enter.h -- sets up the isolation of the calling process. */
#pragma once
#include "jail/spec.h"

#define JAIL_CENSUS_FD 4 /* descriptor of an unrestricted /proc, in which no process is hidden */

struct init_groups;

/* Copies the contents and descriptors of INIT_GROUPS to spec.  -EPROTO: they do not match. */
int jail_set_groups(struct jail_spec *spec, const struct init_groups *groups, const int *fds, unsigned n_fds);

/* Sets up the walls of spec around the caller, which must be PID 1 of its new namespaces.  The owner,
 * connected by control_fd, makes some of the parts meanwhile.  After a failure the process can only report
 * the error and exit. */
int jail_enter(struct jail_spec *spec, int control_fd, struct cella_err *err);
