/* front/rest/events.c -- GET /v1/events: the state of the daemon as a stream, for the web page.
 *
 * One timer serves all watchers, ten times a second.  It runs only while there are watchers.  A watcher first
 * gets the list of all sandboxes, then those that have changed (each sandbox has a number for its state, the
 * same for all watchers), executions in batches of bounded size, and a snapshot once a second.  A watcher
 * that does not read gets nothing until there is room, then the whole list.  After a time it is dropped. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/docker.h"
#include "core/execution/execution.h"
#include "core/sandbox/sandbox.h"
#include "front/auth.h"
#include "front/rest/events.h"

#define TICK_MS 100
#define TICKS_A_SECOND 10
#define WATCHERS_MAX 64
#define WATCHERS_OF_A_KEY 16
#define WATCHERS_OF_KEYS (WATCHERS_MAX - WATCHERS_OF_A_KEY) /* the rest is for the owner */
#define ROWS_MAX 100                                        /* executions in a batch */
#define ROOM_NEEDED (160u << 10)                            /* of HTTP_STREAM_MAX, for one tick's events */
#define STALE_US 20000000
#define HISTORY_SECONDS 60
#define LOOK_SECONDS 30 /* interval of checks for Docker, which may have been started or stopped */

/* ---- adding and removing watchers ---- */

static void watcher_free(struct watcher *w)
{
        struct events *e = w->call->api->events;
        list_remove(&w->link);
        json_decref(w->rows);
        free(w);
        if (--e->n > 0)
                return;
        uv_timer_stop(&e->timer);
        e->api->core->watch = (struct core_watch){0};
        free(e->samples);
        e->samples = NULL;
        e->n_samples = 0;
}

static void rest_events_on_gone(struct http_request *request, void *context)
{
        struct watcher *w = context;
        (void)request;
        sse_forget(&w->sse);
        watcher_free(w);
}

static void rest_events_drop(struct watcher *w, bool in_order)
{
        struct http_request *request = w->call->request;
        http_on_gone(request, NULL, NULL);
        sse_forget(&w->sse);
        watcher_free(w);
        if (in_order)
                http_stream_end(request);
        else
                http_stream_abort(request);
}

/* ---- collecting ---- */

static void on_sandbox_gone(const struct core_sandbox *sb, void *context)
{
        struct events *e = context;
        if (sb->one_shot || sb->place.ahead || sb->reported_look == 0)
                return;
        list_each (at, &e->watchers, other) {
                struct watcher *w = list_entry(at, struct watcher, link);
                if ((w->topics & TOPIC_MONITOR) && !w->stale_us && caller_sees(&w->call->caller, sb->key))
                        sse_event(&w->sse, "gone", json_pack("{s:s}", "id", sb->id));
        }
}

static void on_recorded(const struct audit_begin *begin, const struct audit_end *end, void *context)
{
        struct events *e = context;
        e->n_ended++;
        if (e->n_samples < SAMPLES_MAX) {
                struct sample *s = &e->samples[e->n_samples++];
                snprintf(s->key, sizeof s->key, "%s", begin->key ? begin->key : "");
                s->us = end->duration_us < UINT32_MAX ? (uint32_t)end->duration_us : UINT32_MAX;
        }
        list_each (at, &e->watchers, other) {
                struct watcher *w = list_entry(at, struct watcher, link);
                json_t *row = w->topics & TOPIC_EXECUTIONS ? audit_row(&w->filter.audit, begin, end) : NULL;
                if (!row)
                        continue;
                if (json_array_size(w->rows) < ROWS_MAX) {
                        json_array_append_new(w->rows, row);
                } else {
                        w->missed++;
                        json_decref(row);
                }
        }
}

static void rest_events_on_counted(void *context, const union keeper_packet *packet, int fd)
{
        struct asked *asked = context;
        (void)fd;
        asked->busy = false;
        asked->known = packet->type == KEEPER_COUNTED;
        if (asked->known)
                asked->counted = packet->counted;
}

/* The counters of some sandboxes; the next ones in the next second. */
static void ask_usage(struct events *e)
{
        unsigned at_one = 0, n = 0, all = 0;
        for (unsigned i = 0; i < USAGE_MAX; i++)
                e->asked[i].known = false;
        list_each (at, &e->api->core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->one_shot || sb->place.ahead || sb->removing || !sb->handle || !sb->counted ||
                    !sandbox_alive(sb))
                        continue;
                all++;
                if (at_one++ < e->ask_from || n >= USAGE_MAX || e->asked[n].busy)
                        continue;
                struct asked *asked = &e->asked[n++];
                memcpy(asked->id, sb->id, sizeof asked->id);
                memcpy(asked->key, sb->key, sizeof asked->key);
                asked->busy = sandbox_count(sb, rest_events_on_counted, asked) == 0;
        }
        e->ask_from = e->ask_from + n < all ? e->ask_from + n : 0;
}

static void on_looked(void *context)
{
        struct events *e = context;
        e->looking = false;
}

/* The state of Docker in the health is that of the last check. */
static void look_for_docker(struct events *e)
{
        if (!e->looking)
                e->looking = docker_look(e->api->core->docker, on_looked, e) == 0;
}

/* ---- the timer ---- */

static void report_changes(struct events *e)
{
        list_each (at, &e->api->core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->one_shot || sb->place.ahead)
                        continue;
                uint64_t look = events_look_of(sb);
                if (look == sb->reported_look)
                        continue;
                sb->reported_look = look;
                list_each (to, &e->watchers, next) {
                        struct watcher *w = list_entry(to, struct watcher, link);
                        if (!(w->topics & TOPIC_MONITOR) || w->stale_us ||
                            !events_shows(sb, &w->call->caller))
                                continue;
                        if (http_stream_room(w->call->request) < ROOM_NEEDED / 2)
                                w->stale_us = clock_us();
                        else
                                events_report_sandbox(w, sb);
                }
        }
}

/* Whether this watcher has room.  After a time without room it gets the whole list again. */
static bool rest_events_has_room(struct watcher *w)
{
        if (http_stream_room(w->call->request) < ROOM_NEEDED) {
                if (!w->stale_us)
                        w->stale_us = clock_us();
                return false;
        }
        if (w->stale_us && (w->topics & TOPIC_MONITOR))
                events_report_sandboxes(w);
        w->stale_us = 0;
        return true;
}

static bool may_stay(const struct watcher *w)
{
        return auth_may_stay(w->call->core, &w->call->caller, http_peer(w->call->request)->local);
}

static void rest_events_on_tick(uv_timer_t *timer)
{
        struct events *e = timer->data;
        bool second = ++e->ticks % TICKS_A_SECOND == 0;
        report_changes(e);
        list_each (at, &e->watchers, other) {
                struct watcher *w = list_entry(at, struct watcher, link);
                if (e->api->core->stopping || (second && !may_stay(w))) {
                        rest_events_drop(w, true);
                } else if (rest_events_has_room(w)) {
                        events_report_executions(w);
                        if (second && (w->topics & TOPIC_MONITOR)) {
                                events_report_usage(e, w);
                                events_report_snapshot(e, w);
                                if (e->ticks / TICKS_A_SECOND % HISTORY_SECONDS == 0)
                                        events_report_history(w);
                        }
                } else if (clock_us() - w->stale_us > STALE_US) {
                        rest_events_drop(w, false);
                }
        }
        if (!second || e->n == 0)
                return;
        e->n_samples = 0;
        e->n_ended = 0;
        e->second_us = clock_us();
        ask_usage(e);
        if (e->ticks / TICKS_A_SECOND % LOOK_SECONDS == 0)
                look_for_docker(e);
}

/* ---- new watchers ---- */

static int read_topics(const char *list, unsigned *ret, struct cella_err *err)
{
        *ret = list ? 0 : TOPIC_MONITOR;
        while (list && *list) {
                size_t len = strcspn(list, ",");
                if (len == 7 && !strncmp(list, "monitor", len))
                        *ret |= TOPIC_MONITOR;
                else if (len == 10 && !strncmp(list, "executions", len))
                        *ret |= TOPIC_EXECUTIONS;
                else
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "topics: '%.40s' is not one of monitor, executions", list);
                list += len + (list[len] == ',');
        }
        return *ret ? 0 : err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "topics is empty");
}

static int check_number(const struct events *e, const struct caller *caller, struct cella_err *err)
{
        unsigned own = 0, of_keys = 0;
        list_each (at, &e->watchers, other) {
                const struct caller *other_one = &list_entry(at, struct watcher, link)->call->caller;
                own += !strcmp(other_one->key, caller->key);
                of_keys += !other_one->owner;
        }
        if (own < WATCHERS_OF_A_KEY && (caller->owner || of_keys < WATCHERS_OF_KEYS))
                return 0;
        err_say(err, CELLA_OVER_CAPACITY, -EBUSY, "too many clients watch the events");
        return err_hint(err, "close other pages that show them");
}

static int events_make(struct api *api, struct cella_err *err)
{
        struct events *e = api->events ? api->events : calloc(1, sizeof *e);
        if (!e)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "events");
        if (!api->events) {
                e->api = api;
                list_init(&e->watchers);
                e->timer.data = e;
                uv_timer_init(api->core->loop, &e->timer);
                api->events = e;
        }
        if (!e->samples && !(e->samples = calloc(SAMPLES_MAX, sizeof *e->samples)))
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "events");
        return 0;
}

/* For the first watcher: starts to collect. */
static void begin_watching(struct events *e)
{
        e->second_us = clock_us();
        e->n_samples = 0;
        e->n_ended = 0;
        e->api->core->watch = (struct core_watch){on_sandbox_gone, on_recorded, e};
        list_each (at, &e->api->core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                sb->reported_look = events_look_of(sb);
        }
        uv_timer_start(&e->timer, rest_events_on_tick, TICK_MS, TICK_MS);
}

/* Reads the parameters of the watcher, and checks whether one more is allowed. */
static int watcher_read(struct call *call, struct watcher *w, struct cella_err *err)
{
        int r = log_filter_read(call, false, &w->filter, err);
        if (r == 0)
                r = read_topics(http_query(call->request, "topics"), &w->topics, err);
        if (r == 0)
                r = events_make(call->api, err);
        return r < 0 ? r : check_number(call->api->events, &call->caller, err);
}

void rest_events(struct call *call, json_t *body)
{
        struct cella_err err = {0};
        struct watcher *w = calloc(1, sizeof *w);
        (void)body;
        if (!w || watcher_read(call, w, &err) < 0) {
                if (!w)
                        err_set(&err, CELLA_INTERNAL, -ENOMEM, "events");
                free(w);
                api_reply_err(call, &err);
                return;
        }
        struct events *e = call->api->events;
        w->call = call;
        w->all = call->caller.owner || (call->caller.capabilities & MAY_AUDIT);
        w->counts = caller_sees_counters(&call->caller);
        if (!w->all)
                w->filter.audit.key = call->caller.key;
        w->rows = json_array();
        sse_begin(&w->sse, call, false);
        http_on_gone(call->request, rest_events_on_gone, w);
        list_add(&e->watchers, &w->link);
        if (e->n++ == 0)
                begin_watching(e);
        if (w->topics & TOPIC_MONITOR) {
                look_for_docker(e);
                events_report_sandboxes(w);
                events_report_history(w);
                events_report_snapshot(e, w);
        }
}

/* After the server: no watcher is left. */
struct events *events_free(struct events *e)
{
        if (!e)
                return NULL;
        for (unsigned i = 0; i < USAGE_MAX; i++)
                sandbox_ask_forget(e->api->core, &e->asked[i]);
        docker_forget(e->api->core->docker, e);
        uv_timer_stop(&e->timer);
        free(e->samples);
        free(e);
        return NULL;
}
