/* keeper/spawn/egress_process.h -- starts and ends the egress process. */
#pragma once
#include "keeper/spawn/child.h"

struct egress_process {
        struct child child;
        int socket; /* to the process, see wire/egress.h; may be passed on to another owner */
};
#define EGRESS_PROCESS_NONE ((struct egress_process){CHILD_NONE, -1})

/* Starts the process in the caller's network namespace, without privilege.  If the caller is privileged, the
 * process gets a uid of its own, different from the server's.  The program may still fail to start: see
 * child_confirm(). */
int egress_process_start(struct egress_process *ret, struct cella_err *err);

/* Kills and reaps the process if there is one, and closes the socket if it is still owned. */
void egress_process_end(struct egress_process *process);
