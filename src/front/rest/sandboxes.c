#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/image/images.h"
#include "core/request/request.h"
#include "core/request/synonyms.h"
#include "front/rest/rest.h"

/* A request that waits until its sandbox is ready. */
struct making {
        struct task task;
        struct call *call;
};

/* From now on the client knows the sandbox, so it survives the daemon. */
static void making_ready(struct task *task)
{
        struct making *m = list_entry(task, struct making, task);
        struct core_sandbox *sb = task->sandbox;
        struct cella_err err = {0};
        http_on_gone(m->call->request, NULL, NULL);
        sandbox_detach(task);
        if (sandbox_remember(sb, &err) < 0) {
                sandbox_remove(sb);
                api_reply_err(m->call, &err);
        } else {
                api_reply(m->call, 201, sandbox_to_json(sb));
        }
        free(m);
}

static void making_lost(struct task *task, struct core_sandbox *sb, const struct cella_err *err)
{
        struct making *m = list_entry(task, struct making, task);
        struct cella_err gone = {0};
        sb->removing = true; /* it is not kept for a later try: no client knows its id */
        http_on_gone(m->call->request, NULL, NULL);
        err_say(&gone, CELLA_NOT_FOUND, -ENOENT, "the sandbox %s has ended", sb->id);
        api_reply_err(m->call, err ? err : &gone);
        free(m);
}

static void making_gone(struct http_request *request, void *context)
{
        struct making *m = context;
        struct core_sandbox *sb = m->task.sandbox;
        (void)request;
        sandbox_detach(&m->task);
        free(m);
        sandbox_remove(sb); /* no client knows its id */
}

typedef int sandbox_maker(struct core *core, const struct caller *caller, const json_t *document,
                          struct core_sandbox **ret, struct cella_err *err);

/* Creates the sandbox; its image, if any, is available. */
static void rest_sandboxes_make(struct call *call, const json_t *body, sandbox_maker *maker)
{
        struct cella_err err = {0};
        struct core_sandbox *sb = NULL;
        struct making *m = calloc(1, sizeof *m);
        int r = m ? maker(call->core, &call->caller, body, &sb, &err)
                  : err_set(&err, CELLA_INTERNAL, -ENOMEM, "sandbox");
        if (r < 0 || !m) {
                free(m);
                api_reply_err(call, &err);
                return;
        }
        if (sb->ready && sandbox_takes_messages(sb)) { /* a leased one: on_ready() was called before */
                free(m);
                api_reply(call, 201, sandbox_to_json(sb));
                return;
        }
        *m = (struct making){.call = call, .task = {.on_ready = making_ready, .on_lost = making_lost}};
        list_init(&m->task.link);
        http_on_gone(call->request, making_gone, m);
        sandbox_attach(sb, &m->task);
}

/* A request that waits for its image. */
struct wanting {
        struct call *call;
        json_t *body;
        struct image_wait *wait;
};

static void on_image(struct image_wait *wait, const struct imager_event *end, const struct cella_err *err,
                     void *context)
{
        struct wanting *w = context;
        (void)wait, (void)end;
        http_on_gone(w->call->request, NULL, NULL);
        if (err)
                api_reply_err(w->call, err);
        else
                rest_sandboxes_make(w->call, w->body, sandbox_request);
        json_decref(w->body);
        free(w);
}

static void wanting_gone(struct http_request *request, void *context)
{
        struct wanting *w = context;
        (void)request;
        image_wait_cancel(w->wait);
        json_decref(w->body);
        free(w);
}

void rest_sandbox_create(struct call *call, json_t *body)
{
        static const struct image_events events = {.on_end = on_image};
        struct cella_err err = {0};
        struct wanting *w = calloc(1, sizeof *w);
        int r = w ? synonyms_apply(body, &err) : err_set(&err, CELLA_INTERNAL, -ENOMEM, "sandbox");
        if (r == 0 && w)
                r = sandbox_request_image(call->core, &call->caller, body, &events, w, &w->wait, &err);
        if (r == 0 && w) {
                w->call = call;
                w->body = body;
                http_on_gone(call->request, wanting_gone, w);
                return;
        }
        if (r < 0)
                api_reply_err(call, &err);
        else
                rest_sandboxes_make(call, body, sandbox_request);
        json_decref(body);
        free(w);
}

void rest_pool_acquire(struct call *call, json_t *body)
{
        rest_sandboxes_make(call, body, lease_request);
        json_decref(body);
}

const struct field *release_fields(void)
{
        static const struct field fields[] = {{.name = "id",
                                               .type = FIELD_STRING,
                                               .flags = FIELD_REQUIRED | FIELD_NO_NUL,
                                               .min = 1,
                                               .max = 64,
                                               .help = "the sandbox, as returned by acquire"},
                                              {0}};
        return fields;
}

void rest_pool_release(struct call *call, json_t *body)
{
        const char *id = json_string_value(json_object_get(body, "id"));
        struct core_sandbox *sb = sandbox_find(call->core, &call->caller, id);
        struct cella_err err = {0};
        if (sb && sb->leased) {
                sandbox_remove(sb);
                api_reply_nothing(call);
        } else {
                err_say(&err, CELLA_NOT_FOUND, -ENOENT, "no leased sandbox '%.60s'", id);
                err_hint(&err, "POST /v1/pools/acquire, or cella pool acquire, leases one");
                api_reply_err(call, &err);
        }
        json_decref(body);
}

struct filter {
        const struct core_sandbox *sandbox;
        bool matches;
        const char *unknown;
};

static void match(void *context, const char *name, const char *value)
{
        struct filter *f = context;
        json_t *o;
        if (!strncmp(name, "metadata.", 9)) {
                const char *have =
                        f->sandbox ? json_string_value(json_object_get(f->sandbox->metadata, name + 9))
                                   : NULL;
                f->matches = f->matches && have && !strcmp(have, value);
        } else if (!strcmp(name, "state")) {
                o = f->sandbox ? sandbox_to_json(f->sandbox) : NULL;
                f->matches =
                        f->matches && o && !strcmp(json_string_value(json_object_get(o, "state")), value);
                json_decref(o);
        } else {
                f->unknown = name;
        }
}

void rest_sandbox_list(struct call *call, json_t *body)
{
        struct filter filter = {0};
        struct cella_err err = {0};
        (void)body;
        http_each_query(call->request, match, &filter);
        if (filter.unknown) {
                err_say(&err, CELLA_INVALID_REQUEST, -EINVAL,
                        "unknown parameter '%.40s': state, metadata.NAME", filter.unknown);
                api_reply_err(call, &err);
                return;
        }
        json_t *list = json_array();
        list_each (at, &call->core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                filter = (struct filter){.sandbox = sb, .matches = true};
                if (sb->one_shot || sb->place.ahead || sb->removing || !caller_sees(&call->caller, sb->key))
                        continue;
                http_each_query(call->request, match, &filter);
                if (filter.matches)
                        json_array_append_new(list, sandbox_to_json(sb));
        }
        api_reply(call, 200, json_pack("{s:o}", "sandboxes", list));
}

static void get_gone(struct http_request *request, void *context)
{
        struct call *call = context;
        (void)request;
        sandbox_ask_forget(call->core, call);
}

/* A value that the kernel does not count is null, not 0. */
json_t *rest_usage_json(const struct keeper_counted *c)
{
        bool cpu = c->known & KEEPER_KNOWS_CPU, memory = c->known & KEEPER_KNOWS_MEMORY;
        return json_pack(
                "{s:o, s:o, s:o, s:o}", "cpu_ms", cpu ? json_real((double)c->cpu_us / 1000) : json_null(),
                "memory_bytes", memory ? json_integer((json_int_t)c->memory_bytes) : json_null(),
                "memory_peak_bytes", memory ? json_integer((json_int_t)c->memory_peak_bytes) : json_null(),
                "processes", c->known & KEEPER_KNOWS_PROCESSES ? json_integer(c->processes) : json_null());
}

static void rest_sandboxes_on_counted(void *context, const union keeper_packet *packet, int fd)
{
        struct call *call = context;
        (void)fd;
        http_on_gone(call->request, NULL, NULL);
        struct core_sandbox *sb = api_sandbox(call); /* the sandbox may have been removed */
        if (!sb)
                return;
        json_t *body = sandbox_to_json(sb);
        if (packet->type == KEEPER_COUNTED)
                json_object_set_new(body, "usage", rest_usage_json(&packet->counted));
        api_reply(call, 200, body);
}

void rest_sandbox_get(struct call *call, json_t *body)
{
        struct core_sandbox *sb = api_sandbox(call);
        (void)body;
        if (!sb)
                return;
        if (sb->handle && sb->counted && sandbox_alive(sb) &&
            sandbox_count(sb, rest_sandboxes_on_counted, call) == 0)
                http_on_gone(call->request, get_gone, call);
        else
                api_reply(call, 200, sandbox_to_json(sb));
}

void rest_sandbox_delete(struct call *call, json_t *body)
{
        struct core_sandbox *sb = api_sandbox(call);
        (void)body;
        if (!sb)
                return;
        sandbox_remove(sb);
        api_reply_nothing(call);
}

static void freeze_gone(struct http_request *request, void *context)
{
        struct call *call = context;
        (void)request;
        sandbox_freeze_forget(call->core, call);
}

static void on_changed(void *context, const struct cella_err *err)
{
        struct call *call = context;
        http_on_gone(call->request, NULL, NULL);
        if (err) {
                api_reply_err(call, err);
                return;
        }
        struct core_sandbox *sb = api_sandbox(call);
        if (sb)
                api_reply(call, 200, sandbox_to_json(sb));
}

static void rest_sandboxes_freeze(struct call *call, bool yes)
{
        struct core_sandbox *sb = api_sandbox(call);
        if (!sb)
                return;
        http_on_gone(call->request, freeze_gone, call);
        sandbox_touch(sb);
        sandbox_freeze(sb, yes, on_changed, call);
}

void rest_sandbox_pause(struct call *call, json_t *body)
{
        (void)body;
        rest_sandboxes_freeze(call, true);
}

void rest_sandbox_resume(struct call *call, json_t *body)
{
        (void)body;
        rest_sandboxes_freeze(call, false);
}

/* ---- changes ---- */

/* A change that waits for the keeper, which changes the limits first. */
struct changing {
        struct call *call;
        json_t *body;
        char id[ID_SIZE]; /* the path may have the old name */
};

static void changing_free(struct changing *c)
{
        json_decref(c->body);
        free(c);
}

static void set_ttl(struct core_sandbox *sb, const json_t *ttl)
{
        sb->ttl_ms = (uint64_t)json_integer_value(ttl);
        sb->expires_ms = sb->ttl_ms ? core_now_ms() + (int64_t)sb->ttl_ms : 0;
}

/* Checks the name and the labels.  *ret_labels: all of them after the change; untouched on failure. */
static int check_change(const struct core_sandbox *sb, const json_t *body, json_t **ret_labels,
                        struct cella_err *err)
{
        const char *name = json_string_value(json_object_get(body, "name"));
        const json_t *labels = json_object_get(body, "metadata");
        int r = name ? sandbox_check_name(sb->core, sb->key, name, sb, err) : 0;
        if (r < 0)
                return r;
        json_t *all = labels ? schema_merge(sb->metadata, labels) : json_incref(sb->metadata);
        r = labels ? sandbox_check_labels(all, err) : 0;
        if (r == 0)
                *ret_labels = all;
        else
                json_decref(all);
        return r;
}

/* Sets everything except for the limits, and answers.  Nothing is changed if it cannot be stored. */
static void apply_change(struct call *call, struct core_sandbox *sb, const json_t *body)
{
        const json_t *name = json_object_get(body, "name"), *ttl = json_object_get(body, "ttl_ms");
        const struct core_sandbox before = *sb; /* its name, labels and times */
        struct cella_err err = {0};
        json_t *labels = NULL;
        int r = check_change(sb, body, &labels, &err);
        if (r == 0) {
                sb->metadata = labels;
                if (name)
                        snprintf(sb->name, sizeof sb->name, "%s",
                                 json_is_string(name) ? json_string_value(name) : "");
                if (ttl)
                        set_ttl(sb, ttl);
                if ((r = sandbox_remember(sb, &err)) < 0) {
                        sb->metadata = before.metadata;
                        memcpy(sb->name, before.name, sizeof sb->name);
                        sb->ttl_ms = before.ttl_ms;
                        sb->expires_ms = before.expires_ms;
                }
                json_decref(r < 0 ? labels : before.metadata);
        }
        if (r < 0)
                api_reply_err(call, &err);
        else
                api_reply(call, 200, sandbox_to_json(sb));
}

static void changing_gone(struct http_request *request, void *context)
{
        struct changing *c = context;
        (void)request;
        sandbox_limits_forget(c->call->core, c);
        changing_free(c);
}

static void changing_limited(void *context, const struct cella_err *err)
{
        struct changing *c = context;
        struct call *call = c->call;
        struct core_sandbox *sb = sandbox_find(call->core, &call->caller, c->id);
        struct cella_err gone = {0};
        http_on_gone(call->request, NULL, NULL);
        if (!err && !sb) {
                err_say(&gone, CELLA_NOT_FOUND, -ENOENT, "the sandbox %s has ended", c->id);
                err = &gone;
        }
        if (err)
                api_reply_err(call, err);
        else
                apply_change(call, sb, c->body);
        changing_free(c);
}

/* Takes body, also on failure. */
static int limit_first(struct call *call, struct core_sandbox *sb, json_t *body, struct cella_err *err)
{
        struct cella_limits limits;
        uint32_t required = 0;
        struct changing *c = calloc(1, sizeof *c);
        int r = c ? limits_request(&call->caller, json_object_get(body, "limits"), sb, &limits, &required,
                                   err)
                  : err_set(err, CELLA_INTERNAL, -ENOMEM, "sandbox");
        if (r < 0 || !c) {
                json_decref(body);
                free(c);
                return r;
        }
        *c = (struct changing){.call = call, .body = body};
        memcpy(c->id, sb->id, sizeof c->id);
        http_on_gone(call->request, changing_gone, c);
        sandbox_change_limits(sb, &limits, required, changing_limited, c);
        return 0;
}

void rest_sandbox_patch(struct call *call, json_t *body)
{
        struct core_sandbox *sb = api_sandbox(call);
        struct cella_err err = {0};
        json_t *labels = NULL;
        if (!sb) {
                json_decref(body);
                return;
        }
        int r = json_object_size(body) > 0
                        ? check_change(sb, body, &labels, &err)
                        : err_say(&err, CELLA_INVALID_REQUEST, -EINVAL,
                                  "nothing to change: limits, ttl_ms, metadata or name is required");
        json_decref(labels);
        if (r == 0)
                sandbox_touch(sb);
        if (r == 0 && json_object_get(body, "limits")) {
                r = limit_first(call, sb, body, &err);
        } else {
                if (r == 0)
                        apply_change(call, sb, body);
                json_decref(body);
        }
        if (r < 0)
                api_reply_err(call, &err);
}

const struct field *keepalive_fields(void)
{
        static const struct field fields[] = {{.name = "ttl_ms",
                                               .type = FIELD_INTEGER,
                                               .flags = FIELD_NULLABLE,
                                               .min = 1,
                                               .max = 3650 * INT64_C(86400000),
                                               .help = "counted from now; null: no end"},
                                              {0}};
        return fields;
}

void rest_sandbox_keepalive(struct call *call, json_t *body)
{
        struct core_sandbox *sb = api_sandbox(call);
        const json_t *ttl = json_object_get(body, "ttl_ms");
        struct cella_err err = {0};
        int r = 0;
        if (sb) {
                sandbox_touch(sb);
                if (ttl) {
                        set_ttl(sb, ttl);
                        r = sandbox_remember(sb, &err);
                }
                if (r < 0)
                        api_reply_err(call, &err);
                else
                        api_reply(call, 200, sandbox_to_json(sb));
        }
        json_decref(body);
}
