/* front/rest/admin.c -- health, settings, keys. */
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/err.h"
#include "box/pool.h"
#include "box/sandbox.h"
#include "front/rest/rest.h"

static bool can_run(const struct box *box)
{
        return box->probed && box->unable.kind == CELLA_OK && !box->stopping;
}

void rest_healthz(struct call *call, json_t *body)
{
        struct cella_err err = call->box->unable;
        (void)body;
        if (can_run(call->box)) {
                api_reply(call, 200, json_pack("{s:s}", "status", "ok"));
                return;
        }
        if (call->box->stopping)
                err_say(&err, CELLA_ENGINE_UNAVAILABLE, -ESHUTDOWN, "the daemon is shutting down");
        else if (!call->box->probed)
                err_say(&err, CELLA_ENGINE_UNAVAILABLE, -EAGAIN, "the daemon is starting");
        json_t *o = api_error(call, &err);
        json_object_set_new(o, "status", json_string("unavailable"));
        api_reply(call, 503, o);
}

static json_t *native_engine(const struct box *box)
{
        json_t *o = isolation_to_json(box->walls, box->missing);
        json_object_del(o, "engine");
        json_object_set_new(o, "available", json_boolean(can_run(box)));
        if (!can_run(box)) {
                json_object_set_new(o, "reason", json_string(box->unable.msg));
                json_object_set_new(o, "hint", json_string(box->unable.hint));
        }
        return o;
}

static json_t *disk(const struct box *box)
{
        struct statvfs fs;
        if (statvfs(box->directory, &fs) < 0)
                return json_null();
        return json_pack("{s:I, s:I}", "free_bytes", (json_int_t)fs.f_bavail * (json_int_t)fs.f_frsize,
                         "total_bytes", (json_int_t)fs.f_blocks * (json_int_t)fs.f_frsize);
}

void rest_health(struct call *call, json_t *body)
{
        const struct box *box = call->box;
        unsigned states[SANDBOX_ENDING + 1] = {0};
        (void)body;
        list_each (at, &box->sandboxes, other) {
                const struct box_sandbox *sb = list_entry(at, struct box_sandbox, link);
                if (!sb->ahead) /* those are told of by their pools */
                        states[sb->state]++;
        }
        json_t *o = json_pack("{s:s, s:s, s:{s:o, s:{s:b, s:s}}, s:o, s:o, s:{s:i, s:i, s:i, s:i, s:i}, s:I}",
                              "status", can_run(box) ? "ok" : "unavailable", "version", CELLA_VERSION,
                              "engines", "native", native_engine(box), "docker", "available", 0, "reason",
                              "not in this version", "pools", pools_to_json(box), "disk", disk(box),
                              "sandboxes", "running", (int)(states[SANDBOX_RUNNING] + states[SANDBOX_MAKING]),
                              "paused", (int)states[SANDBOX_PAUSED], "stopped", (int)states[SANDBOX_STOPPED],
                              "waiting", (int)box->waiting, "max", (int)box->settings.sandboxes_max,
                              "uptime_ms", (json_int_t)((clock_us() - box->started_us) / 1000));
        api_reply(call, 200, o);
}

void rest_pools(struct call *call, json_t *body)
{
        (void)body;
        api_reply(call, 200, json_pack("{s:o}", "pools", pools_to_json(call->box)));
}

void rest_openapi(struct call *call, json_t *body)
{
        (void)body;
        if (!call->api->openapi)
                call->api->openapi = openapi_make();
        api_reply(call, 200, json_incref(call->api->openapi));
}

/* ---- settings ---- */

void rest_settings_get(struct call *call, json_t *body)
{
        (void)body;
        api_reply(call, 200, json_incref(call->box->settings.document));
}

/* Checked as a whole; kept on disk before it holds, so that it holds after a restart too. */
static void set(struct call *call, const json_t *wanted)
{
        struct cella_err err = {0};
        struct settings trial = {0};
        json_t *document = NULL;
        int r = schema_check(settings_fields(), wanted, "", &err);
        if (r == 0 && !(document = schema_fill(settings_fields(), wanted)))
                r = err_set(&err, CELLA_INTERNAL, -ENOMEM, "settings");
        if (r == 0)
                r = settings_from(document, &trial, &err);
        if (r == 0)
                r = state_settings_put(call->box->state, document, &err);
        if (r == 0)
                r = box_configure(call->box, json_incref(document), &err);
        json_decref(document);
        if (r < 0)
                api_reply_err(call, &err);
        else
                api_reply(call, 200, json_incref(call->box->settings.document));
}

void rest_settings_put(struct call *call, json_t *body)
{
        set(call, body);
        json_decref(body);
}

/* Merged first, then checked: null stands for the default. */
void rest_settings_patch(struct call *call, json_t *body)
{
        struct cella_err err = {0};
        json_error_t where;
        size_t len;
        const char *text = http_body(call->request, &len);
        json_t *patch = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
        (void)body;
        if (!json_is_object(patch)) {
                err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "the body must be a JSON object%s%.80s",
                        patch ? "" : ": ", patch ? "" : where.text);
                api_reply_err(call, &err);
        } else {
                json_t *merged = schema_merge(call->box->settings.document, patch);
                set(call, merged);
                json_decref(merged);
        }
        json_decref(patch);
}

/* ---- keys ---- */

void rest_key_list(struct call *call, json_t *body)
{
        struct cella_err err = {0};
        json_t *list = NULL;
        (void)body;
        if (state_key_list(call->box->state, &list, &err) < 0)
                api_reply_err(call, &err);
        else
                api_reply(call, 200, json_pack("{s:o}", "keys", list));
}

void rest_key_add(struct call *call, json_t *body)
{
        struct cella_err err = {0};
        char id[ID_SIZE], secret[STATE_SECRET_SIZE];
        json_t *about = schema_fill(key_fields(), body);
        if (state_key_add(call->box->state, about, id, secret, &err) < 0) {
                api_reply_err(call, &err);
        } else {
                json_object_set_new(about, "id", json_string(id));
                json_object_set_new(about, "key", json_string(secret));
                call->api->log("info", "a key was made", "key", id);
                api_reply(call, 201, json_incref(about));
        }
        explicit_bzero(secret, sizeof secret);
        json_decref(about);
        json_decref(body);
}

void rest_key_remove(struct call *call, json_t *body)
{
        struct cella_err err = {0};
        const char *id = http_param(call->request, 0);
        (void)body;
        int r = state_key_remove(call->box->state, id, &err);
        if (r == -ENOENT)
                err_say(&err, CELLA_NOT_FOUND, r, "no key '%.40s'", id);
        if (r < 0) {
                api_reply_err(call, &err);
                return;
        }
        call->api->log("info", "a key was removed", "key", id);
        api_reply_nothing(call);
}
