/* front/rest/health.c -- what the daemon can do now.
 *
 * The keeper is asked whether it answers.  A keeper that hangs must not delay the answer of a health check.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/docker.h"
#include "core/pool/pool.h"
#include "core/sandbox/queue.h"
#include "core/sandbox/sandbox.h"
#include "front/rest/rest.h"
#include "front/routes.h"

#define KEEPER_PATIENCE_MS 800

static const char silence[] = "the keeper, which makes the sandboxes, does not answer";

static bool can_run(const struct core *core)
{
        return core->probed && core->unable.kind == CELLA_OK && !core->stopping && !core->keeper_silent;
}

void rest_healthz(struct call *call, json_t *body)
{
        struct cella_err err = call->core->unable;
        (void)body;
        if (can_run(call->core)) {
                api_reply(call, 200, json_pack("{s:s}", "status", "ok"));
                return;
        }
        if (call->core->stopping)
                err_say(&err, CELLA_ENGINE_UNAVAILABLE, -ESHUTDOWN, "the daemon is shutting down");
        else if (!call->core->probed)
                err_say(&err, CELLA_ENGINE_UNAVAILABLE, -EAGAIN, "the daemon is starting");
        else if (call->core->keeper_silent)
                err_say(&err, CELLA_ENGINE_UNAVAILABLE, -ETIMEDOUT, "%s", silence);
        json_t *o = api_error(call, &err);
        json_object_set_new(o, "status", json_string("unavailable"));
        api_reply(call, 503, o);
}

static json_t *native_engine(const struct core *core)
{
        json_t *o = isolation_to_json(core->walls, core->missing);
        json_object_del(o, "engine");
        json_object_set_new(o, "available", json_boolean(can_run(core)));
        if (!can_run(core)) {
                json_object_set_new(o, "reason",
                                    json_string(core->keeper_silent ? silence : core->unable.msg));
                json_object_set_new(o, "hint", json_string(core->unable.hint));
        }
        return o;
}

static json_t *disk(const struct core *core)
{
        struct statvfs fs;
        if (statvfs(core->directory, &fs) < 0)
                return json_null();
        return json_pack("{s:I, s:I}", "free_bytes", (json_int_t)fs.f_bavail * (json_int_t)fs.f_frsize,
                         "total_bytes", (json_int_t)fs.f_blocks * (json_int_t)fs.f_frsize);
}

static json_t *sandbox_counts(const struct core *core, const struct caller *caller)
{
        const bool all = caller_sees_counters(caller);
        const unsigned waiting = all ? core->waiting : queue_waiting_of(core, caller->key);
        unsigned states[SANDBOX_STATES] = {0};
        list_each (at, &core->sandboxes, other) {
                const struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (!sb->place.ahead &&
                    (all || caller_sees(caller, sb->key))) /* sandboxes created in advance belong to pools */
                        states[sb->state]++;
        }
        return json_pack("{s:i, s:i, s:i, s:i, s:i}", "running",
                         (int)(states[SANDBOX_RUNNING] + states[SANDBOX_MAKING]), "paused",
                         (int)states[SANDBOX_PAUSED], "stopped", (int)states[SANDBOX_STOPPED], "waiting",
                         (int)waiting, "max", (int)core->settings.sandboxes_max);
}

json_t *rest_health_json(const struct core *core, const struct caller *caller)
{
        json_t *images = rest_images_json(core);
        json_t *o = json_pack("{s:s, s:s, s:{s:o, s:o}, s:o, s:o, s:o, s:I}", "status",
                              can_run(core) ? "ok" : "unavailable", "version", CELLA_VERSION, "engines",
                              "native", native_engine(core), "docker", docker_to_json(core->docker), "pools",
                              pools_to_json(core, caller), "images", images, "sandboxes",
                              sandbox_counts(core, caller), "uptime_ms",
                              (json_int_t)((clock_us() - core->started_us) / 1000));
        if (caller_sees_counters(caller))
                json_object_set_new(o, "disk", disk(core));
        else
                json_object_del(images, "jobs"); /* pulls of other keys */
        return o;
}

/* One request.  Freed when its timer is closed. */
struct health {
        struct call *call;
        uv_timer_t timer;
        bool asks_keeper, asks_docker; /* the answer is missing */
        bool looks_again;
};

static void health_on_closed(uv_handle_t *handle)
{
        free(handle->data);
}

static void health_end(struct health *h)
{
        struct core *core = h->call->core;
        keeper_link_forget(core->keeper, h);
        docker_forget(core->docker, h);
        uv_close((uv_handle_t *)&h->timer, health_on_closed);
}

static void health_answer(struct health *h)
{
        struct call *call = h->call;
        health_end(h);
        api_reply(call, 200, rest_health_json(call->core, &call->caller));
}

static void health_on_docker(void *context)
{
        struct health *h = context;
        h->asks_docker = false;
        if (!h->asks_keeper)
                health_answer(h);
}

static void health_on_keeper(void *context, const union keeper_packet *packet, int fd)
{
        struct health *h = context;
        (void)packet, (void)fd; /* a reply has none */
        uv_timer_stop(&h->timer);
        h->asks_keeper = false;
        if (!h->asks_docker)
                health_answer(h);
}

static void health_on_late_answer(void *context, const union keeper_packet *packet, int fd)
{
        struct core *core = context;
        (void)packet, (void)fd;
        core->keeper_silent = false;
}

static void health_on_time(uv_timer_t *timer)
{
        struct health *h = timer->data;
        struct core *core = h->call->core;
        if (!h->looks_again) { /* this process may have hung itself: libuv runs timers before it reads */
                h->looks_again = true;
                uv_timer_start(timer, health_on_time, 1, 0);
                return;
        }
        if (!core->keeper_silent)
                core->keeper_silent =
                        keeper_link_ask(core->keeper, KEEPER_PING, 0, health_on_late_answer, core) == 0;
        health_answer(h);
}

static void health_on_gone(struct http_request *request, void *context)
{
        (void)request;
        health_end(context);
}

void rest_health(struct call *call, json_t *body)
{
        struct core *core = call->core;
        struct cella_err err = {0};
        struct health *h = calloc(1, sizeof *h);
        (void)body;
        if (!h) {
                err_set(&err, CELLA_INTERNAL, -ENOMEM, "health");
                api_reply_err(call, &err);
                return;
        }
        h->call = call;
        uv_timer_init(core->loop, &h->timer);
        h->timer.data = h;
        http_on_gone(call->request, health_on_gone, h);
        /* While it is known to be silent, no request is added to those that wait for it. */
        h->asks_keeper = !core->keeper_silent &&
                         keeper_link_ask(core->keeper, KEEPER_PING, 0, health_on_keeper, h) == 0;
        h->asks_docker = !core->keeper_silent && docker_look(core->docker, health_on_docker, h) == 0;
        if (h->asks_keeper)
                uv_timer_start(&h->timer, health_on_time, KEEPER_PATIENCE_MS, 0);
        else if (!h->asks_docker)
                health_answer(h);
}
