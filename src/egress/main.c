/* egress/main.c -- the egress process: the only way out of sandboxes that have one.
 *
 * A static program.  It stays in the host's network, as an unprivileged user, and is handed each sandbox's
 * listeners by its owner (wire/egress.h).  It decides by name, resolves that name itself, checks what came of
 * it, and dials that.  Everything that comes from sandboxes and from servers is hostile; so it can do nothing
 * but open connections and move bytes (cage.h).  One thread, one loop, bounded everything.
 *
 *   control.c      what our owner says          sandbox.c     one sandbox's listeners, policy and counters
 *   connection.c   one connection (see there)   dns_stub.c    its lookups
 *   resolver.c     ours                         loop.c        turns, timers
 *
 * When the owner goes away, so does it, and with it every connection: nothing is ever open that nobody
 * answers for. */
#include <signal.h>
#include <sys/resource.h>

#include "egress/cage.h"
#include "egress/control.h"
#include "egress/loop.h"
#include "egress/resolver.h"
#include "egress/sandbox.h"
#include "egress/stock.h"
#include "sys/file.h"
#include "wire/egress.h"

#define DESCRIPTORS_MAX 1048576u

/* As many as may be had. */
static rlim_t raise_descriptors(void)
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return 256;
        limit.rlim_cur = limit.rlim_max < DESCRIPTORS_MAX ? limit.rlim_max : DESCRIPTORS_MAX;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
                getrlimit(RLIMIT_NOFILE, &limit);
        return limit.rlim_cur;
}

int main(void)
{
        signal(SIGPIPE, SIG_IGN); /* splice() knows no MSG_NOSIGNAL */
        sys_close_range(EGRESS_CONTROL_FD + 1, ~0u, 0);
        stock_init(raise_descriptors());
        sandboxes_init();
        resolver_init();
        if (loop_init() < 0 || control_init(EGRESS_CONTROL_FD) < 0 || cage_enter() < 0)
                return 1;
        return loop_run();
}
