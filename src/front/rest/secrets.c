/* front/rest/secrets.c -- secrets: set, list by name, remove.  A value is never returned. */
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/err.h"
#include "front/rest/rest.h"
#include "secret/store.h"

const struct field *secret_fields(void)
{
        static const struct field fields[] = {
                {.name = "value",
                 .type = FIELD_STRING,
                 .flags = FIELD_REQUIRED | FIELD_NO_NUL,
                 .min = SECRET_VALUE_MIN,
                 .max = SECRET_VALUE_MAX,
                 .help = "the value; at least 4 bytes, so that it can be masked"},
                {0}};
        return fields;
}

/* Returns true if there is a store of secrets; otherwise answers with an error. */
static bool can_have(struct call *call)
{
        if (call->core->secrets)
                return true;
        api_reply_err(call, &call->core->no_secrets);
        return false;
}

static json_t *about_to_json(const struct secret_about *about)
{
        return json_pack("{s:s, s:o, s:o}", "name", about->name, "created", core_time(about->created_ms),
                         "changed", core_time(about->changed_ms));
}

void rest_secret_list(struct call *call, json_t *body)
{
        const struct secret_store *store = call->core->secrets;
        (void)body;
        if (!can_have(call))
                return;
        json_t *list = json_array();
        for (size_t i = 0; i < secret_store_count(store); i++)
                json_array_append_new(list, about_to_json(secret_store_about(store, i)));
        api_reply(call, 200, json_pack("{s:o}", "secrets", list));
}

void rest_secret_get(struct call *call, json_t *body)
{
        const struct secret_store *store = call->core->secrets;
        const char *name = http_param(call->request, 0);
        struct cella_err err = {0};
        (void)body;
        if (!can_have(call))
                return;
        for (size_t i = 0; i < secret_store_count(store); i++)
                if (!strcmp(secret_store_about(store, i)->name, name)) {
                        api_reply(call, 200, about_to_json(secret_store_about(store, i)));
                        return;
                }
        err_say(&err, CELLA_NOT_FOUND, -ENOENT, "no secret '%.64s'", name);
        api_reply_err(call, &err);
}

/* Erases the copies of the value in the document and in the body, which are not used any more. */
static void rest_secrets_wipe(struct call *call, json_t *body)
{
        json_t *value = json_object_get(body, "value");
        size_t len;
        const char *text = http_body(call->request, &len);
        if (json_is_string(value))
                sodium_memzero((char *)json_string_value(value), json_string_length(value));
        if (text)
                sodium_memzero((char *)text, len);
        json_decref(body);
}

void rest_secret_put(struct call *call, json_t *body)
{
        const char *name = http_param(call->request, 0);
        const json_t *value = json_object_get(body, "value");
        struct cella_err err = {0};
        bool made = false;
        if (!can_have(call)) {
                rest_secrets_wipe(call, body);
                return;
        }
        int r = secret_store_set(call->core->secrets, name, json_string_value(value),
                                 json_string_length(value), &made, &err);
        rest_secrets_wipe(call, body);
        if (r < 0) {
                api_reply_err(call, &err);
                return;
        }
        call->api->log("info", made ? "a secret was created" : "a secret was changed", "secret", name);
        api_reply(call, made ? 201 : 200, json_pack("{s:s}", "name", name));
}

void rest_secret_remove(struct call *call, json_t *body)
{
        const char *name = http_param(call->request, 0);
        struct cella_err err = {0};
        (void)body;
        if (!can_have(call))
                return;
        if (secret_store_remove(call->core->secrets, name, &err) < 0) {
                api_reply_err(call, &err);
                return;
        }
        call->api->log("info", "a secret was removed", "secret", name);
        api_reply_nothing(call);
}
