/* keeper/spawn/docker_process.h -- starts and ends cella-docker. */
#pragma once
#include "jail/workspace.h"
#include "keeper/spawn/child.h"

struct docker_process {
        struct child child;
        int socket; /* to the process, see wire/docker.h; may be passed on to another owner */
};
#define DOCKER_PROCESS_NONE ((struct docker_process){CHILD_NONE, -1})

/* Starts the process as the caller's user but without capabilities: access to the engine's socket depends on
 * the user.  home: see docker/setup.h.  policy: it serves the daemon's server, which may mount only
 * what this allows; NULL: it serves this process.
 * The program may still fail to start: see child_confirm(). */
int docker_process_start(const char *home, const struct workspace_policy *policy, struct docker_process *ret,
                         struct cella_err *err);

/* Closes the socket, so that the process removes everything it made, and waits for that.  Kills it if that
 * takes too long. */
void docker_process_end(struct docker_process *process);
