/* jail/way_out.h -- the only connection of a sandbox's network namespace to the outside: two sockets. */
#pragma once
#include "cella.h"

struct way_out {
        int tcp; /* a listener that gets every connection, to any address and port */
        int udp; /* gets every datagram to port 53 */
};

/* Sets up routes, rules and sockets in the caller's network namespace; needs capabilities in it.  The caller
 * owns the two sockets.  On failure nothing stays open. */
int way_out_make(struct way_out *ret, struct cella_err *err);
