/* egress/main.c -- the egress process: the only network access of sandboxes.
 *
 * A static program.  It runs in the host's network namespace as an unprivileged user.  Its owner passes it
 * the sockets of each sandbox (wire/egress.h).  It decides by name, resolves that name itself, checks the
 * addresses and connects to one of them.  All data from sandboxes and servers is untrusted; therefore the
 * process can only open connections and forward bytes (cage.h).  One thread, one loop, all resources
 * limited.
 *
 * control.c      messages of the owner        sandbox.c     sockets, policy and counters of a sandbox
 * connection.c   one connection (see there)   dns_stub.c    lookups of sandboxes resolver.c     our own
 * lookups              loop.c        scheduling, timers
 *
 * The process ends when its owner does, and all connections with it. */
#include <signal.h>
#include <sys/resource.h>

#include "egress/cage.h"
#include "egress/connection.h"
#include "egress/control.h"
#include "egress/dns_stub.h"
#include "egress/fd_budget.h"
#include "egress/loop.h"
#include "egress/resolver.h"
#include "egress/sandbox.h"
#include "sys/file.h"
#include "wire/egress.h"

#define DESCRIPTORS_MAX 1048576u

/* Raises the limit of descriptors as far as possible. */
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

static const struct egress_sandbox_ops sandbox_ops = {
        .accept = connection_accept,
        .answer = dns_stub_serve,
        .check_connections = connections_check,
        .queue_connections = connections_queue,
        .close_connections = connections_close,
        .drop_questions = dns_stub_drop,
        .report = control_report,
};

int main(void)
{
        signal(SIGPIPE, SIG_IGN); /* splice() has no MSG_NOSIGNAL */
        sys_close_range(EGRESS_CONTROL_FD + 1, ~0u, 0);
        fd_budget_init(raise_descriptors());
        sandboxes_init(&sandbox_ops);
        resolver_init();
        if (loop_init() < 0 || control_init(EGRESS_CONTROL_FD) < 0 || egress_cage_enter() < 0)
                return 1;
        return loop_run();
}
