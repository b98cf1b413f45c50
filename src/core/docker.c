#include "core/docker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/image/policy.h"
#include "engine/result.h"

#define KNOWN_US 10000000  /* time for which a result is cached */
#define UNUSED_US 60000000 /* time after which an unused process is ended */

/*   NONE --wanted--> STARTING (the keeper starts it) --> OPENING (it looks for an engine) --> OPEN
 *    ^                   |                                 |    ^                            |
 *    +-- failed, lost ---+---------------------------------+    +----- settings changed -----+    */
enum phase { NONE, STARTING, OPENING, OPEN };

/* A request that waits until the engine is open. */
struct waiter {
        struct list link;
        struct keeper_make_mounts make;
        keeper_answer answer;             /* for a sandbox; NULL: docker_look() */
        void (*on_report)(void *context); /* for docker_look() */
        void *context;
};

/* A volume that must be removed. */
struct drop {
        struct list link;
        struct docker *docker;
        bool sent;
        char name[KEEPER_NAME_MAX];
        void (*done)(struct core *core, const char *name);
};

struct docker {
        struct core *core;
        const struct docker_events *events;
        enum phase state;
        struct keeper_link *link;
        struct docker_opened found; /* valid if looked and no problem */
        struct cella_err problem;
        bool looked;
        int64_t looked_us, used_us;
        struct list waiters, drops;
};

static void core_docker_start(struct docker *d);
static void open_engine(struct docker *d);

/* ---- volumes ---- */

static void on_dropped(void *context, const union keeper_packet *packet, int fd)
{
        struct drop *drop = context;
        if (fd >= 0)
                close(fd);
        list_remove(&drop->link);
        if (packet->type == KEEPER_DONE)
                drop->done(drop->docker->core, drop->name);
        free(drop);
}

static void send_drops(struct docker *d)
{
        list_each (at, &d->drops, other) {
                struct drop *drop = list_entry(at, struct drop, link);
                struct keeper_drop packet = {.type = KEEPER_DROP};
                memcpy(packet.name, drop->name, sizeof packet.name);
                if (!drop->sent)
                        drop->sent = keeper_link_send(d->link, &packet, sizeof packet, on_dropped, drop) == 0;
        }
}

/* ---- waiting requests ---- */

static void answer_failed(struct waiter *w, const struct cella_err *err)
{
        union keeper_packet packet;
        memset(&packet.failed, 0, sizeof packet.failed);
        packet.failed.type = KEEPER_FAILED;
        packet.failed.err = *err;
        w->answer(w->context, &packet, -1);
}

/* Callbacks may add new waiters, so the list is emptied first. */
static void report_waiters(struct docker *d)
{
        const struct cella_err problem = d->problem;
        struct list all;
        list_init(&all);
        list_each (at, &d->waiters, other) {
                list_remove(at);
                list_add(&all, at);
        }
        while (!list_empty(&all)) {
                struct waiter *w = list_entry(all.next, struct waiter, link);
                struct cella_err err = problem;
                list_remove(&w->link);
                if (w->on_report) {
                        w->on_report(w->context);
                } else if (w->answer) {
                        if (err.kind == CELLA_OK &&
                            keeper_link_make(d->link, &w->make.make, w->answer, w->context) < 0)
                                err_set(&err, CELLA_INTERNAL, -ENOMEM, "docker");
                        if (err.kind != CELLA_OK)
                                answer_failed(w, &err);
                }
                free(w);
        }
        if (problem.kind == CELLA_OK)
                send_drops(d);
}

static int core_docker_wait_for(struct docker *d, const struct waiter *who)
{
        struct waiter *w = malloc(sizeof *w);
        if (!w)
                return -ENOMEM;
        *w = *who;
        list_add(&d->waiters, &w->link);
        if (d->state == NONE)
                core_docker_start(d);
        else if (d->state == OPEN)
                open_engine(d);
        return 0;
}

void docker_forget(struct docker *d, const void *context)
{
        if (d->link)
                keeper_link_forget(d->link, context);
        list_each (at, &d->waiters, other) {
                struct waiter *w = list_entry(at, struct waiter, link);
                if (w->context != context)
                        continue;
                list_remove(at);
                free(w);
        }
}

/* ---- life cycle ---- */

static void core_docker_fail(struct docker *d, const struct cella_err *err)
{
        d->problem = *err;
        d->looked = true;
        d->looked_us = clock_us();
        report_waiters(d);
}

static void on_opened(void *context, const union keeper_packet *packet, int fd)
{
        struct docker *d = context;
        struct cella_err err = {0};
        if (fd >= 0)
                close(fd);
        d->state = OPEN;
        d->used_us = d->looked_us = clock_us();
        if (packet->type == KEEPER_FAILED) {
                core_docker_fail(d, &packet->failed.err);
        } else if (packet->type != DOCKER_OPENED) {
                err_say(&err, CELLA_INTERNAL, -EPROTO, "cella-docker broke the protocol");
                core_docker_fail(d, &err);
        } else {
                d->found = packet->opened;
                d->problem = (struct cella_err){0};
                d->looked = true;
                report_waiters(d);
        }
}

static void core_docker_copy(char *to, size_t size, const json_t *docker, const char *name)
{
        const char *from = json_string_value(json_object_get(docker, name));
        memcpy(to, from ? from : "", from ? strnlen(from, size - 1) : 0);
}

static void open_engine(struct docker *d)
{
        const json_t *settings = json_object_get(d->core->settings.document, "docker");
        struct docker_open open;
        struct cella_err err = {0};
        memset(&open, 0, sizeof open);
        open.type = DOCKER_OPEN;
        core_docker_copy(open.socket, sizeof open.socket, settings, "socket");
        core_docker_copy(open.runtime, sizeof open.runtime, settings, "runtime");
        const char *transport = json_string_value(json_object_get(settings, "transport"));
        open.transport = transport ? (uint32_t)word_index(transport_words, transport) : DOCKER_AUTO;
        d->state = OPENING;
        if (keeper_link_send(d->link, &open, sizeof open, on_opened, d) < 0) {
                d->state = OPEN;
                err_set(&err, CELLA_INTERNAL, -ENOMEM, "docker");
                core_docker_fail(d, &err);
        }
}

static void core_docker_on_event(void *userdata, const union keeper_packet *packet, int fd)
{
        (void)userdata,
                (void)packet; /* deaths are reported by the sandbox's channel, after init's last messages */
        if (fd >= 0)
                close(fd);
}

static void core_docker_on_lost(void *userdata, const char *why)
{
        struct docker *d = userdata;
        struct cella_err err = {0};
        (void)why;
        d->link = keeper_link_free(d->link);
        d->state = NONE;
        list_each (at, &d->drops, other)
                list_entry(at, struct drop, link)->sent = false;
        err_say(&err, CELLA_ENGINE_UNAVAILABLE, -EPIPE, "cella-docker, which ran the sandbox, has ended");
        err_hint(&err, "try again: it is restarted, and removes the old containers");
        d->events->on_lost(d->core, &err);
        core_docker_fail(d, &err);
        d->looked = false;
}

static const struct keeper_link_events link_events = {core_docker_on_event, core_docker_on_lost};

static void core_docker_on_started(void *context, const union keeper_packet *packet, int fd)
{
        struct docker *d = context;
        struct cella_err err = {0};
        d->state = NONE;
        if (packet->type == KEEPER_FAILED)
                err = packet->failed.err;
        else if (packet->type != KEEPER_DOCKER || fd < 0)
                err_say(&err, CELLA_INTERNAL, -EPROTO, "the keeper started no cella-docker");
        else
                keeper_link_new(d->core->loop, TAKE_FD(fd), &link_events, d, &d->link, &err);
        if (fd >= 0)
                close(fd);
        if (err.kind != CELLA_OK)
                core_docker_fail(d, &err);
        else
                open_engine(d);
}

static void core_docker_start(struct docker *d)
{
        struct cella_err err = {0};
        d->state = STARTING;
        if (keeper_link_ask(d->core->keeper, KEEPER_DOCKER_WANTED, 0, core_docker_on_started, d) == 0)
                return;
        d->state = NONE;
        err_set(&err, CELLA_INTERNAL, -ENOMEM, "docker");
        core_docker_fail(d, &err);
}

void docker_configure(struct docker *d)
{
        d->looked = false;
        if (d->state == OPEN)
                open_engine(d);
}

void docker_tick(struct docker *d)
{
        const int64_t now = clock_us();
        if (d->state != OPEN || now - d->used_us < UNUSED_US)
                return;
        d->used_us = now; /* check again only after this interval */
        if (d->events->is_used(d->core) || !list_empty(&d->waiters) || keeper_link_pending(d->link) > 0)
                return;
        d->link = keeper_link_free(d->link);
        d->state = NONE;
}

int docker_new(struct core *core, const struct docker_events *events, struct docker **ret,
               struct cella_err *err)
{
        struct docker *d = calloc(1, sizeof *d);
        if (!d)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "docker");
        d->core = core;
        d->events = events;
        list_init(&d->waiters);
        list_init(&d->drops);
        *ret = d;
        return 0;
}

struct docker *docker_free(struct docker *d)
{
        if (!d)
                return NULL;
        list_each (at, &d->waiters, other) {
                list_remove(at);
                free(list_entry(at, struct waiter, link));
        }
        list_each (at, &d->drops, other) {
                list_remove(at);
                free(list_entry(at, struct drop, link));
        }
        keeper_link_free(d->link);
        free(d);
        return NULL;
}

/* ---- interface ---- */

struct keeper_link *docker_link(const struct docker *d)
{
        return d->link;
}

bool docker_may_pull(const struct settings *settings, const struct caller *caller, const char *image)
{
        struct reference ref;
        struct cella_err ignored = {0};
        bool insecure = false;
        return image_policy_pulls(settings) && caller_may(caller, MAY_IMAGES, NULL) == 0 &&
               reference_parse(image, &ref, &ignored) == 0 &&
               image_policy_check(settings, &ref, false, &insecure, &ignored) == 0;
}

/* If the engine was not available, looks for it again: it may have been started meanwhile. */
int docker_make(struct docker *d, const struct keeper_make_mounts *make, keeper_answer answer, void *context)
{
        struct waiter w = {.answer = answer, .context = context};
        w.make.make = make->make;
        memcpy(w.make.mounts, make->mounts, make->make.mounts_len);
        d->used_us = clock_us();
        if (d->state == OPEN && d->looked && d->problem.kind == CELLA_OK)
                return keeper_link_make(d->link, &w.make.make, answer, context);
        return core_docker_wait_for(d, &w);
}

int docker_drop(struct docker *d, const char *name, void (*done)(struct core *core, const char *name))
{
        const struct waiter open = {0};
        struct drop *drop = calloc(1, sizeof *drop);
        if (!drop)
                return -ENOMEM;
        drop->docker = d;
        drop->done = done;
        memcpy(drop->name, name, strnlen(name, sizeof drop->name - 1));
        list_add(&d->drops, &drop->link);
        d->used_us = clock_us();
        if (d->state != OPEN || !d->looked || d->problem.kind != CELLA_OK)
                return core_docker_wait_for(d, &open);
        send_drops(d);
        return 0;
}

int docker_look(struct docker *d, void (*on_report)(void *context), void *context)
{
        const struct waiter w = {.on_report = on_report, .context = context};
        if (d->looked && clock_us() - d->looked_us < KNOWN_US)
                return 1;
        return core_docker_wait_for(d, &w) < 0 ? 1 : 0;
}

uint32_t docker_mark(const struct docker *d)
{
        return d->found.podman ? ISOLATION_PODMAN : ISOLATION_DOCKER;
}

static json_t *core_docker_words(const char *text)
{
        json_t *list = json_array();
        for (const char *at = text; *at; at += strspn(at, " ")) {
                size_t n = strcspn(at, " ");
                json_array_append_new(list, json_stringn(at, n));
                at += n;
        }
        return list;
}

/* NULL: the engine is new enough. */
static json_t *version_warning(const struct docker_opened *found)
{
        const int oldest = docker_needs_version(found);
        return oldest ? json_sprintf("%s %s is older than version %d, the oldest that Cella supports",
                                     found->podman ? "Podman" : "Docker", found->version, oldest)
                      : NULL;
}

json_t *docker_to_json(const struct docker *d)
{
        if (!d->looked)
                return json_pack("{s:b, s:s}", "available", 0, "reason", "not looked for yet");
        if (d->problem.kind != CELLA_OK)
                return json_pack("{s:b, s:s, s:s}", "available", 0, "reason", d->problem.msg, "hint",
                                 d->problem.hint);
        return json_pack("{s:b, s:s, s:s, s:s, s:s, s:s, s:o, s:b, s:i, s:o*}", "available", 1, "name",
                         d->found.podman ? "podman" : "docker", "version", d->found.version, "api",
                         d->found.api, "socket", d->found.socket, "runtime", d->found.runtime, "runtimes",
                         core_docker_words(d->found.runtimes), "rootless", (int)d->found.rootless, "cgroup",
                         (int)d->found.cgroup, "warning", version_warning(&d->found));
}
