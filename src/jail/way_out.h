/* jail/way_out.h -- the one way out of a sandbox's network namespace: two sockets that everything ends at. */
#pragma once
#include "cella.h"

struct way_out {
        int tcp; /* a listener: every connection, to whatever address and port */
        int udp; /* every datagram to port 53 */
};

/* Makes it in the caller's network namespace, over which it must have power.  On failure nothing is open, and
 * the error says what to do. */
int way_out_make(struct way_out *ret, struct cella_err *err);
