/* egress/cage.h -- the egress process's own walls. */
#pragma once

/* No new privilege, no capability, no debugger, no core; and from here on only the system calls that moving
 * bytes needs: no file is opened, nothing is executed, nobody is signalled, and sockets are of TCP and UDP
 * only. 0 or -errno. */
int cage_enter(void);
