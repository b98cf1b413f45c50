/* keeper/process/egress.c -- keeps an egress process running for the server.
 *
 * When the process dies, the kernel closes its connections.  Sandboxes then have no network until the server
 * has configured the next process. */
#include "keeper/process/egress.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "keeper/process/log.h"
#include "sys/process.h"
#include "wire/keeper.h"

void keeper_egress_init(struct keeper_egress *e)
{
        e->process = EGRESS_PROCESS_NONE;
        restart_init(&e->restart);
}

void keeper_egress_start(struct keeper *k)
{
        struct keeper_egress *e = &k->egress;
        struct cella_err err = {0};
        const struct keeper_about about = {.type = KEEPER_EGRESS};
        int r = egress_process_start(&e->process, &err);
        if (r == 0 && (r = keeper_watch(k, e->process.child.pidfd, ON_EGRESS_DEATH)) < 0)
                err_set(&err, CELLA_INTERNAL, r, "cannot watch the egress process");
        if (r < 0) {
                log_error(NULL, "no sandbox has a network: %s", err.msg);
                egress_process_end(&e->process);
                restart_later(&e->restart, clock_us());
                return;
        }
        restart_begun(&e->restart, clock_us());
        keeper_reply(k, &about, sizeof about, TAKE_FD(e->process.socket));
}

void keeper_egress_died(struct keeper *k)
{
        struct keeper_egress *e = &k->egress;
        struct cella_err err = {0};
        int status = 0;
        if (sys_wait(e->process.child.pid, &status, __WALL | WNOHANG, NULL) == 0)
                return;
        e->process.child.pid = 0;
        if (k->stop_by || k->server_gone) { /* the server has closed its socket */
                egress_process_end(&e->process);
                return;
        }
        if (child_confirm(&e->process.child, "the egress process", &err) < 0)
                log_error(NULL, "%s", err.msg);
        else if (WIFSIGNALED(status))
                log_error(NULL, "the egress process was killed by signal %d; it is started again",
                          WTERMSIG(status));
        else
                log_error(NULL, "the egress process ended with status %d; it is started again",
                          WEXITSTATUS(status));
        egress_process_end(&e->process); /* this also closes the watched pidfd */
        restart_later(&e->restart, clock_us());
}

void keeper_egress_done(struct keeper_egress *e)
{
        egress_process_end(&e->process);
}
