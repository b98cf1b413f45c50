#include "keeper/process/docker.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/auto.h"
#include "base/err.h"
#include "keeper/process/dispatch.h"
#include "keeper/process/log.h"
#include "sys/file.h"
#include "sys/process.h"
#include "wire/docker.h"
#include "wire/keeper.h"

#define END_PATIENCE_US 20000000

void keeper_docker_init(struct keeper_docker *d)
{
        *d = (struct keeper_docker){.process = DOCKER_PROCESS_NONE};
}

static void forget(struct keeper_docker *d)
{
        sys_close(TAKE_FD(d->process.socket));
        child_end(&d->process.child);
        keeper_docker_init(d);
}

static int start(struct keeper *k, struct cella_err *err)
{
        struct keeper_docker *d = &k->docker;
        char home[KEEPER_PATH_MAX + 16];
        snprintf(home, sizeof home, "%s" DOCKER_HOME, k->setup->policy.state);
        int r = docker_process_start(home, &k->setup->policy, &d->process, err);
        if (r < 0)
                return r;
        d->lives = true;
        r = keeper_watch(k, d->process.child.pidfd, ON_DOCKER_DEATH);
        if (r < 0) {
                forget(d);
                return err_set(err, CELLA_INTERNAL, r, "cannot watch cella-docker");
        }
        return 0;
}

static void answer(struct keeper *k, uint32_t number)
{
        const struct keeper_about about = {.type = KEEPER_DOCKER, .number = number};
        struct cella_err err = {0};
        if (start(k, &err) < 0)
                keeper_fail(k, number, &err);
        else
                keeper_reply(k, &about, sizeof about, TAKE_FD(k->docker.process.socket));
}

void handle_docker(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        struct keeper_docker *d = &k->docker;
        struct cella_err err = {0};
        (void)entry;
        if (!d->lives) {
                answer(k, packet->number);
                return;
        }
        if (d->wanted) { /* the server sends one request at a time */
                err_say(&err, CELLA_INTERNAL, -EBUSY, "cella-docker is being started already");
                keeper_fail(k, packet->number, &err);
                return;
        }
        /* The server no longer uses the old process.  The new one removes the containers that it leaves. */
        d->wanted = packet->number;
        child_kill(&d->process.child);
}

void keeper_docker_died(struct keeper *k)
{
        struct keeper_docker *d = &k->docker;
        struct cella_err err = {0};
        uint32_t wanted = d->wanted;
        int status = 0;
        if (!d->lives || sys_wait(d->process.child.pid, &status, __WALL | WNOHANG, NULL) == 0)
                return;
        d->process.child.pid = 0;
        if (child_confirm(&d->process.child, "cella-docker", &err) < 0)
                log_error(NULL, "%s", err.msg);
        else if (WIFSIGNALED(status) && !wanted)
                log_error(NULL, "cella-docker was killed by signal %d", WTERMSIG(status));
        else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
                log_error(NULL, "cella-docker ended with status %d", WEXITSTATUS(status));
        forget(d); /* this also closes the watched pidfd */
        if (wanted && k->stop_by == 0)
                answer(k, wanted);
}

void keeper_docker_done(struct keeper_docker *d)
{
        struct pollfd fd = {d->process.child.pidfd, POLLIN, 0};
        if (!d->lives)
                return;
        sys_close(TAKE_FD(d->process.socket));
        /* If it takes longer, cella-docker finishes alone: the engine may not answer. */
        if (sys_poll(&fd, 1, END_PATIENCE_US) <= 0) {
                log_error(NULL, "cella-docker is still removing containers");
                d->process.child.pid = 0;
        }
        forget(d);
}
