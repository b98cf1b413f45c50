/* front/rest/admin.c -- pools, keys, and the caller's own data. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "core/grant.h"
#include "core/pool/pool.h"
#include "front/rest/rest.h"
#include "front/routes.h"

void rest_pools(struct call *call, json_t *body)
{
        (void)body;
        api_reply(call, 200, json_pack("{s:o}", "pools", pools_to_json(call->core, &call->caller)));
}

void rest_openapi(struct call *call, json_t *body)
{
        (void)body;
        if (!call->api->openapi)
                call->api->openapi = openapi_make();
        api_reply(call, 200, json_incref(call->api->openapi));
}

/* ---- keys ---- */

void rest_key_list(struct call *call, json_t *body)
{
        struct cella_err err = {0};
        json_t *list = NULL;
        (void)body;
        if (state_key_list(call->core->state, &list, &err) < 0)
                api_reply_err(call, &err);
        else
                api_reply(call, 200, json_pack("{s:o}", "keys", list));
}

/* NULL for the owner, who may use all of them. */
static json_t *own_secrets(const struct call *call)
{
        return call->caller.owner ? NULL : state_key_secrets(call->core->state, call->caller.key);
}

/* When the first key exists, requests over TCP need a key.  A daemon without a Unix socket therefore refuses
 * a first key that cannot change settings and keys: no caller could change them afterwards. */
static int check_first_key(const struct call *call, const json_t *about, struct cella_err *err)
{
        const json_t *list = json_object_get(about, "capabilities"), *name;
        size_t i;
        if (call->api->has_socket || state_key_count(call->core->state) > 0)
                return 0;
        json_array_foreach ((json_t *)list, i, name)
                if (!strcmp(json_string_value(name), "settings"))
                        return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EPERM,
                "the first key must have the capability settings: this daemon has no Unix socket, and nobody "
                "could make another key");
        return err_hint(err,
                        "cella key add NAME --capability settings --capability sandbox.exec ...; or start "
                        "the daemon with a socket");
}

void rest_key_add(struct call *call, json_t *body)
{
        struct cella_err err = {0};
        char id[ID_SIZE], secret[STATE_SECRET_SIZE];
        json_t *about = schema_fill(key_fields(), body), *secrets = own_secrets(call);
        if (grant_key(&call->caller, secrets, about, &err) < 0 || check_first_key(call, about, &err) < 0 ||
            state_key_add(call->core->state, about, id, secret, &err) < 0) {
                api_reply_err(call, &err);
        } else {
                json_object_set_new(about, "id", json_string(id));
                json_object_set_new(about, "key", json_string(secret));
                call->api->log("info", "a key was created", "key", id);
                api_reply(call, 201, json_incref(about));
        }
        explicit_bzero(secret, sizeof secret);
        json_decref(secrets);
        json_decref(about);
        json_decref(body);
}

/* Returns the key `id` from the state, without its secret; NULL: there is none. */
static json_t *key_about(struct call *call, const char *id)
{
        struct cella_err err = {0};
        json_t *list = NULL, *about = NULL, *key;
        size_t i;
        if (state_key_list(call->core->state, &list, &err) < 0)
                return NULL;
        json_array_foreach (list, i, key) {
                const char *its = json_string_value(json_object_get(key, "id"));
                if (its && !strcmp(its, id))
                        about = json_incref(key);
        }
        json_decref(list);
        return about;
}

/* Without any key, everyone who reaches loopback on this machine is the owner. */
static int check_removal(struct call *call, const json_t *about, struct cella_err *err)
{
        json_t *secrets = own_secrets(call);
        int r = grant_key_removal(&call->caller, secrets, about, err);
        json_decref(secrets);
        if (r == 0 && !call->caller.owner && state_key_count(call->core->state) == 1) {
                err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: this is the last key");
                return err_hint(err, "without keys, every request on loopback has all rights; so only the "
                                     "daemon's owner can remove the last key, on the Unix socket");
        }
        return r;
}

void rest_key_remove(struct call *call, json_t *body)
{
        struct cella_err err = {0};
        const char *id = http_param(call->request, 0);
        json_t *about = key_about(call, id);
        int r = about ? check_removal(call, about, &err) : -ENOENT;
        (void)body;
        if (r == 0)
                r = state_key_remove(call->core->state, id, &err);
        json_decref(about);
        if (r == -ENOENT)
                err_say(&err, CELLA_NOT_FOUND, r, "no key '%.40s'", id);
        if (r < 0) {
                api_reply_err(call, &err);
                return;
        }
        call->api->log("info", "a key was removed", "key", id);
        api_reply_nothing(call);
}

/* ---- the caller ---- */

static json_t *admin_capabilities(const struct caller *caller)
{
        json_t *list = json_array();
        for (int bit = 0; capability_words[bit]; bit++)
                if (caller->owner || (caller->capabilities & (1u << bit)))
                        json_array_append_new(list, json_string(capability_words[bit]));
        return list;
}

void rest_me(struct call *call, json_t *body)
{
        const struct caller *caller = &call->caller;
        json_t *about = caller->owner ? NULL : key_about(call, caller->key); /* its name and limits */
        const json_t *limits = json_object_get(about, "limits");
        const char *name = json_string_value(json_object_get(about, "name"));
        (void)body;
        api_reply(call, 200,
                  json_pack("{s:b, s:s?, s:s?, s:o, s:s, s:O?, s:o}", "owner", caller->owner, "key",
                            caller->owner ? NULL : caller->key, "name", name, "capabilities",
                            admin_capabilities(caller), "tier", tier_words[caller->tier_max], "limits",
                            limits, "sandboxes_max",
                            caller->sandboxes_max ? json_integer(caller->sandboxes_max) : json_null()));
        json_decref(about);
}
