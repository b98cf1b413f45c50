/* docker/order.c -- requests about an existing sandbox. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "docker/container.h"
#include "docker/process.h"
#include "docker/remains.h"
#include "docker/volume.h"

static void docker_order_done(const struct order *o, uint32_t type)
{
        const struct keeper_about about = {.type = type, .number = o->number, .sandbox = o->sandbox->handle};
        process_reply(&about, sizeof about, -1);
}

static void order_free(struct order *o)
{
        docker_sandbox_release(o->sandbox);
        free(o);
}

void order_end(void *argument)
{
        struct order *o = argument;
        struct cella_err ignored = {0};
        docker_sandbox_let_go(o->sandbox);
        if (container_remove(o->sandbox->socket, o->sandbox->container, &ignored) < 0)
                remains_add(o->sandbox->socket, o->sandbox->container);
        place_remove(&process.place, o->sandbox->id);
        if (o->number > 0)
                docker_order_done(o, KEEPER_ENDED);
        order_free(o);
}

void order_kill(void *argument)
{
        struct order *o = argument;
        struct cella_err ignored = {0};
        if (!docker_sandbox_let_go(o->sandbox)) /* it is paused or blocked */
                container_kill(o->sandbox->socket, o->sandbox->container, &ignored);
        order_free(o);
}

/* Uses the kernel's counters while the groups exist; afterwards the last reading, and the engine's report
 * about its end. */
void order_count(void *argument)
{
        struct order *o = argument;
        struct docker_sandbox *c = o->sandbox;
        struct cella_err ignored = {0};
        struct reply_state state;
        pthread_mutex_lock(&c->lock);
        if (!usage_read(&c->usage, &c->last)) {
                if (!docker_sandbox_is_dead(c) && !c->usage.foreign)
                        container_stats(c->socket, c->container, &c->last, &ignored);
                else if (docker_sandbox_is_dead(c) && !c->inspected &&
                         container_inspect(c->socket, c->container, &state, &ignored) == 0) {
                        c->inspected = true;
                        if (state.oom_killed && c->last.oom_kills == 0)
                                c->last.oom_kills = 1;
                }
        }
        struct keeper_counted counted = c->last;
        pthread_mutex_unlock(&c->lock);
        counted.type = KEEPER_COUNTED;
        counted.number = o->number;
        counted.sandbox = c->handle;
        process_reply(&counted, sizeof counted, -1);
        order_free(o);
}

void order_drop(void *argument)
{
        struct keeper_drop *drop = argument;
        const struct keeper_about done = {.type = KEEPER_DONE, .number = drop->number};
        struct docker_opened engine;
        struct cella_err err = {0};
        process_engine(&engine);
        if (engine.type == 0)
                err_say(&err, CELLA_INTERNAL, -EPROTO, "no container engine was looked for");
        else
                volume_remove(engine.socket, drop->name, process.place.home, &err);
        if (err.kind != CELLA_OK)
                process_fail(drop->number, &err);
        else
                process_reply(&done, sizeof done, -1);
        free(drop);
}

void order_freeze(void *argument)
{
        struct order *o = argument;
        struct cella_err err = {0};
        int r = container_pause(o->sandbox->socket, o->sandbox->container, o->pause, &err);
        if (r < 0) {
                struct cella_err ignored = {0};
                struct reply_state state;
                /* Already in this state. */
                if (container_inspect(o->sandbox->socket, o->sandbox->container, &state, &ignored) == 0 &&
                    state.running && state.paused == o->pause)
                        r = 0;
        }
        if (r < 0)
                process_fail(o->number, &err);
        else
                docker_order_done(o, KEEPER_DONE);
        order_free(o);
}

/* Podman 4.3 has no such request, so the groups are also written, if that is permitted. */
void order_limits(void *argument)
{
        struct order *o = argument;
        struct docker_sandbox *c = o->sandbox;
        const struct keeper_limits *limits = &o->limits;
        struct cella_err err = {0};
        uint64_t processes = (uint64_t)limits->processes + c->processes_beside;
        if (processes < c->processes_least)
                processes = c->processes_least;
        container_limit(c->socket, c->container, limits->memory_bytes, processes, limits->cpus_milli);
        if (usage_raise(&c->usage, limits->memory_bytes, processes, container_cpus(limits->cpus_milli))) {
                docker_order_done(o, KEEPER_DONE);
        } else {
                err_say(&err, CELLA_ISOLATION_UNAVAILABLE, -ENOTSUP,
                        "cgroup: a limit of a running sandbox cannot be changed here");
                err_hint(&err, "the container engine does not do it: make a sandbox with this limit");
                process_fail(o->number, &err);
        }
        order_free(o);
}
