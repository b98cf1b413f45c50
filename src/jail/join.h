/* jail/join.h -- a process behind walls that somebody else raised: a container of Docker or Podman. */
#pragma once
#include "jail/spec.h"
#include "wire/init.h"

/* Looks which of the walls in spec->walls stand, and raises what one without privilege can raise around
 * itself: no_new_privs, rlimits, Landlock and the filter.  Those it cannot do without (JOIN_MUST) are an
 * error if they do not stand; the others are taken out of spec->walls.  On failure the process is good for
 * nothing but to say so and to exit.  outside is NULL in a kernel that is not the owner's: then all
 * namespaces are others. */
int jail_join(struct jail_spec *spec, const uint64_t outside[INIT_NS_COUNT], int control_fd,
              struct cella_err *err);

#define JOIN_MUST                                                                                            \
        (WALL_PID | WALL_MOUNT | WALL_NET | WALL_IPC | WALL_UTS | WALL_SECCOMP | WALL_NO_NEW_PRIVS |         \
         WALL_RLIMIT | WALL_HYGIENE)
