#include "core/sandbox/workers.h"

#include <unistd.h>

#include "base/err.h"
#include "core/sandbox/sandbox.h"

static void on_event(void *userdata, const union keeper_packet *packet, int fd)
{
        struct worker *w = userdata;
        if (fd >= 0)
                close(fd);
        if (packet->type == KEEPER_DIED)
                sandbox_receive_keeper(w->core, w, &packet->about);
}

/* Its sandboxes end when the server closes their sockets.  The keeper logs the cause. */
static void on_lost(void *userdata, const char *why)
{
        struct worker *w = userdata;
        struct cella_err err = {0};
        (void)why;
        err_say(&err, CELLA_INTERNAL, -EPIPE, "the process that made the sandbox has ended");
        err_hint(&err, "try again: it is replaced");
        keeper_link_fail_pending(w->link, &err);
        w->link = keeper_link_free(w->link);
        sandbox_worker_lost(w->core, w, &err);
}

static const struct keeper_link_events link_events = {on_event, on_lost};

void workers_connect(struct core *core, uint32_t index, int fd)
{
        struct cella_err err = {0};
        if (index >= KEEPER_WORKERS_MAX || fd < 0) {
                close(fd);
                return;
        }
        struct worker *w = &core->workers[index];
        if (w->link) /* its end was not noticed yet */
                on_lost(w, "replaced");
        w->core = core;
        keeper_link_new(core->loop, fd, &link_events, w, &w->link, &err); /* otherwise it exits */
}

void workers_free(struct core *core)
{
        for (unsigned i = 0; i < KEEPER_WORKERS_MAX; i++)
                core->workers[i].link = keeper_link_free(core->workers[i].link);
}

struct worker *workers_choose(struct core *core)
{
        struct worker *best = NULL;
        unsigned fewest = keeper_link_pending(core->keeper);
        /* Of equal workers, another one each time. */
        core->worker_turn++;
        for (unsigned i = 0; i < KEEPER_WORKERS_MAX; i++) {
                struct worker *w = &core->workers[(core->worker_turn + i) % KEEPER_WORKERS_MAX];
                const unsigned pending = w->link ? keeper_link_pending(w->link) : UINT32_MAX;
                if (pending < fewest) {
                        best = w;
                        fewest = pending;
                }
        }
        return best;
}

void workers_forget(struct core *core, const void *context)
{
        for (unsigned i = 0; i < KEEPER_WORKERS_MAX; i++)
                if (core->workers[i].link)
                        keeper_link_forget(core->workers[i].link, context);
}

struct keeper_groups workers_groups(const struct core *core)
{
        struct keeper_groups sum = core->metrics.groups;
        for (unsigned i = 0; i < KEEPER_WORKERS_MAX; i++) {
                sum.made += core->workers[i].groups.made;
                sum.reused += core->workers[i].groups.reused;
                sum.removed += core->workers[i].groups.removed;
        }
        return sum;
}

unsigned workers_count(const struct core *core)
{
        unsigned n = 0;
        for (unsigned i = 0; i < KEEPER_WORKERS_MAX; i++)
                n += core->workers[i].link != NULL;
        return n;
}
