/* front/rest/settings.c -- reads and changes the settings.
 *
 * Two users may change the same settings at the same time.  Each answer has an ETag, a hash of the document.
 * A change with another tag in If-Match is based on an older version, and is refused. */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

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

static void reply(struct call *call, json_t *document)
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
        reply(call, json_incref(call->core->settings.document));
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
                            "the settings were changed by another client meanwhile", "hint",
                            "read them again, and send the change with their ETag in If-Match"));
        return false;
}

/* Checks the whole document and writes it to disk before it takes effect, so that it also holds after a
 * restart.  With ?check=1, only checks it and answers with the resulting document. */
static void set(struct call *call, const json_t *wanted)
{
        struct cella_err err = {0};
        struct settings trial = {0};
        json_t *document = NULL;
        const bool check = api_flag(call, "check");
        int r = schema_check(settings_fields(), wanted, "", &err);
        if (r == 0 && !(document = schema_fill(settings_fields(), wanted)))
                r = err_set(&err, CELLA_INTERNAL, -ENOMEM, "settings");
        if (r == 0)
                r = settings_from(document, &trial, &err);
        if (r == 0)
                r = grant_settings(&call->caller, call->core->settings.document, document, &err);
        if (r == 0 && !unchanged(call)) {
                json_decref(document);
                return;
        }
        if (r == 0 && !check)
                r = state_settings_put(call->core->state, document, &err);
        if (r == 0 && !check)
                r = core_configure(call->core, json_incref(document), &err);
        if (r < 0)
                api_reply_err(call, &err);
        else
                reply(call, json_incref(check ? document : call->core->settings.document));
        json_decref(document);
}

void rest_settings_put(struct call *call, json_t *body)
{
        set(call, body);
        json_decref(body);
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
        if (!json_is_object(patch)) {
                err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "the body must be a JSON object%s%.80s",
                        patch ? "" : ": ", patch ? "" : where.text);
                api_reply_err(call, &err);
        } else {
                json_t *merged = schema_merge(call->core->settings.document, patch);
                set(call, merged);
                json_decref(merged);
        }
        json_decref(patch);
}
