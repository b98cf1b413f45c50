/* keeper/spawn/docker_process.h -- cella-docker, seen by who started it. */
#pragma once
#include "keeper/spawn/child.h"

struct docker_process {
        struct child child;
        int socket; /* to it, see wire/docker.h: of its owner, who need not be us */
};
#define DOCKER_PROCESS_NONE ((struct docker_process){CHILD_NONE, -1})

/* Starts one, as who we are but without any capability: it is the user that decides who may use an engine's
 * socket.  home: see docker/setup.h.  server: it is for a server, which may have less.  It may still fail to
 * run: see child_confirm(). */
int docker_process_start(const char *home, bool server, struct docker_process *ret, struct cella_err *err);

/* Lets it end everything it made, and waits for that; one that takes too long is killed. */
void docker_process_end(struct docker_process *process);
