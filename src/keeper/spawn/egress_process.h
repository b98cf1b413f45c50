/* keeper/spawn/egress_process.h -- the egress process, seen by who started it. */
#pragma once
#include "keeper/spawn/child.h"

struct egress_process {
        struct child child;
        int socket; /* to it, see wire/egress.h: of its owner, who need not be us */
};
#define EGRESS_PROCESS_NONE ((struct egress_process){CHILD_NONE, -1})

/* Starts one in our own network namespace, with no privilege and, if there is privilege to give up, as a user
 * that is nobody else: not even the server.  It may still fail to run: see child_confirm(). */
int egress_process_start(struct egress_process *ret, struct cella_err *err);

/* Kills and reaps it, if there is one, and closes the socket, if it is still here. */
void egress_process_end(struct egress_process *process);
