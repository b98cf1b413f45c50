/* front/rest/settings.c -- reads and changes the settings.
 *
 * Two users may change the same settings at the same time.  Each answer has an ETag, a hash of the document.
 * A change with another tag in If-Match is based on an older version, and is refused. */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "core/grant.h"
#include "core/start.h"
#include "front/rest/rest.h"

#define ETAG_BYTES 16
#define ETAG_SIZE (2 * ETAG_BYTES + 3) /* in quotes */

/* Equal documents have the same tag, also after a restart. */
static int etag_of(const json_t *document, char ret[ETAG_SIZE])
{
        unsigned char hash[ETAG_BYTES];
        char *text = json_dumps(document, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(12));
        if (!text)
                return -ENOMEM;
        crypto_generichash(hash, sizeof hash, (const unsigned char *)text, strlen(text), NULL, 0);
        free(text);
        ret[0] = '"';
        sodium_bin2hex(ret + 1, ETAG_SIZE - 1, hash, sizeof hash);
        memcpy(ret + ETAG_SIZE - 2, "\"", 2);
        return 0;
}

static void rest_settings_reply(struct call *call, json_t *document)
{
        char etag[ETAG_SIZE];
        if (etag_of(document, etag) == 0)
                http_add_header(call->request, "ETag", etag);
        http_add_header(call->request, "Cache-Control", "no-store");
        api_reply(call, 200, document);
}

void rest_settings_get(struct call *call, json_t *body)
{
        (void)body;
        rest_settings_reply(call, json_incref(call->core->settings.document));
}

/* Checks If-Match.  If the settings have changed, answers with an error and returns false. */
static bool unchanged(struct call *call)
{
        const char *seen = http_header(call->request, "If-Match");
        char etag[ETAG_SIZE];
        if (!seen || !strcmp(seen, "*"))
                return true;
        if (etag_of(call->core->settings.document, etag) == 0) {
                if (strstr(seen, etag))
                        return true;
                http_add_header(call->request, "ETag", etag);
        }
        api_reply(call, 412,
                  json_pack("{s:{s:s, s:s, s:s}}", "error", "kind", "conflict", "message",
                            "the settings were changed by another client in the meantime", "hint",
                            "read them again, and send the change with their ETag in If-Match"));
        return false;
}

/* A change of the settings.  Only the keeper can tell whether a directory of the host can be workspace_root,
 * so such a change waits for its answer. */
struct change {
        struct call *call;
        json_t *body;
        bool merges;     /* PATCH */
        char *root_seen; /* the workspace_root that the keeper has accepted */
};

static void change_free(struct change *c)
{
        json_decref(c->body);
        free(c->root_seen);
        free(c);
}

static void change_apply(struct change *c);

static void on_root(void *context, const union keeper_packet *packet, int fd)
{
        struct change *c = context;
        struct cella_err err = {0};
        if (fd >= 0)
                close(fd);
        http_on_gone(c->call->request, NULL, NULL);
        if (packet->type == KEEPER_DONE) {
                change_apply(c); /* from the beginning: the settings may have changed meanwhile */
                return;
        }
        err = packet->failed.err;
        if (err.kind == CELLA_NOT_FOUND || err.kind == CELLA_ACCESS_DENIED)
                err.kind = CELLA_INVALID_REQUEST; /* about the value, not about the route or the key */
        api_reply_err(c->call, &err);
        change_free(c);
}

/* Nothing is changed: the headers, and with them If-Match, are no longer there. */
static void rest_settings_on_gone(struct http_request *request, void *context)
{
        struct change *c = context;
        (void)request;
        keeper_link_forget(c->call->core->keeper, c);
        change_free(c);
}

/* Returns 1 if the keeper was asked about a new workspace_root: on_root() continues. */
static int ask_root(struct change *c, const char *root, struct cella_err *err)
{
        const char *current = c->call->core->settings.workspace_root;
        struct keeper_root check = {.type = KEEPER_CHECK_ROOT};
        if (!root || (current && !strcmp(root, current)) || (c->root_seen && !strcmp(root, c->root_seen)))
                return 0;
        if (strlen(root) >= sizeof check.root)
                return err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG, "workspace_root is too long");
        memcpy(check.root, root, strlen(root) + 1);
        free(c->root_seen);
        c->root_seen = strdup(root);
        int r = c->root_seen ? keeper_link_send(c->call->core->keeper, &check, sizeof check, on_root, c)
                             : -ENOMEM;
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot ask the keeper about workspace_root");
        http_on_gone(c->call->request, rest_settings_on_gone, c);
        return 1;
}

/* Fills in the whole document and checks it.  Returns 1 if change_apply() is called again later. */
static int rest_settings_check(struct change *c, json_t **ret, struct cella_err *err)
{
        const struct call *call = c->call;
        struct settings trial = {0};
        json_t *wanted =
                c->merges ? schema_merge(call->core->settings.document, c->body) : json_incref(c->body);
        int r = schema_check(settings_fields(), wanted, "", err);
        if (r == 0 && !(*ret = schema_fill(settings_fields(), wanted)))
                r = err_set(err, CELLA_INTERNAL, -ENOMEM, "settings");
        json_decref(wanted);
        if (r == 0)
                r = settings_from(*ret, &trial, err);
        if (r == 0)
                r = grant_settings(&call->caller, call->core->settings.document, *ret, err);
        return r < 0 ? r : ask_root(c, trial.workspace_root, err);
}

/* Checks the whole document and writes it to disk before it takes effect, so that it also holds after a
 * restart.  With ?check=1, only checks it and answers with the resulting document. */
static void change_apply(struct change *c)
{
        struct call *call = c->call;
        struct cella_err err = {0};
        json_t *document = NULL;
        const bool only_check = api_flag(call, "check");
        int r = rest_settings_check(c, &document, &err);
        if (r == 0 && !unchanged(call))
                goto out;
        if (r == 0 && !only_check)
                r = state_settings_put(call->core->state, document, &err);
        if (r == 0 && !only_check)
                r = core_configure(call->core, json_incref(document), &err);
        if (r < 0)
                api_reply_err(call, &err);
        else if (r == 0)
                rest_settings_reply(call, json_incref(only_check ? document : call->core->settings.document));
out:
        json_decref(document);
        if (r != 1)
                change_free(c);
}

/* Takes the body. */
static void change_begin(struct call *call, json_t *body, bool merges)
{
        struct cella_err err = {0};
        struct change *c = malloc(sizeof *c);
        if (!c) {
                json_decref(body);
                err_set(&err, CELLA_INTERNAL, -ENOMEM, "settings");
                api_reply_err(call, &err);
                return;
        }
        *c = (struct change){.call = call, .body = body, .merges = merges};
        change_apply(c);
}

void rest_settings_put(struct call *call, json_t *body)
{
        change_begin(call, body, false);
}

/* Merges first, then checks: null means the default. */
void rest_settings_patch(struct call *call, json_t *body)
{
        struct cella_err err = {0};
        json_error_t where;
        size_t len;
        const char *text = http_body(call->request, &len);
        json_t *patch = schema_load(text, len, &where);
        (void)body;
        if (json_is_object(patch)) {
                change_begin(call, patch, true);
                return;
        }
        err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "the body must be a JSON object%s%.80s",
                patch ? "" : ": ", patch ? "" : where.text);
        api_reply_err(call, &err);
        json_decref(patch);
}
