/* jail/join.h -- checks and completes the isolation of a process in a container of Docker or Podman. */
#pragma once
#include "jail/spec.h"
#include "wire/init.h"

/* Checks which of spec->walls stand, and sets up those that need no privilege: no_new_privs, rlimits,
 * Landlock and the filter.  A missing wall of JOIN_MUST is an error; other missing walls are removed from
 * spec->walls.  After a failure the process can only report the error and exit.  outside: namespaces of the
 * owner; NULL if the container has another kernel, in which all namespaces differ. */
int jail_join(struct jail_spec *spec, const uint64_t outside[INIT_NS_COUNT], int control_fd,
              struct cella_err *err);

#define JOIN_MUST                                                                                            \
        (WALL_PID | WALL_MOUNT | WALL_NET | WALL_IPC | WALL_UTS | WALL_SECCOMP | WALL_NO_NEW_PRIVS |         \
         WALL_RLIMIT | WALL_HYGIENE)
