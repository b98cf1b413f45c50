#include "core/settings/network_fields.h"

#include <errno.h>

#include "base/err.h"
#include "core/settings/words.h"
#include "egress/policy/policy.h"

static int check_pattern(enum policy_list list, const json_t *value, const char *path, struct cella_err *err)
{
        const char *text = json_string_value(value), *why = policy_check_pattern(list, text);
        char shown[64];
        size_t n = 0;
        if (!why)
                return 0;
        for (; n < sizeof shown - 1 && text[n]; n++) /* do not cut a character in the middle */
                shown[n] = (char)(text[n] < ' ' || text[n] > '~' ? '?' : text[n]);
        shown[n] = '\0';
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s cannot be '%s': %s", path, shown, why);
}

static int check_allowed(const json_t *value, const char *path, struct cella_err *err)
{
        return check_pattern(POLICY_ALLOWED, value, path, err);
}

static int check_blocked(const json_t *value, const char *path, struct cella_err *err)
{
        return check_pattern(POLICY_BLOCKED, value, path, err);
}

static int check_private(const json_t *value, const char *path, struct cella_err *err)
{
        return check_pattern(POLICY_PRIVATE, value, path, err);
}

#define PATTERN                                                                                              \
        .name = "", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .min = 1, .max = EGRESS_PATTERN_MAX - 1
static const struct field allowed = {PATTERN, .check = check_allowed};
static const struct field blocked = {PATTERN, .check = check_blocked};
static const struct field private = {PATTERN, .check = check_private};

const struct field *network_settings_fields(void)
{
        static const struct field fields[] = {
                {.name = "tier",
                 .type = FIELD_WORD,
                 .words = tier_words,
                 .standard = "\"restricted\"",
                 .help = "restricted: no network; standard: allowed_domains; elevated: any public address"},
                {.name = "allowed_domains",
                 .type = FIELD_ARRAY,
                 .item = &allowed,
                 .max = EGRESS_PATTERNS_MAX,
                 .standard = "[]",
                 .help = "hosts that tier standard may reach: example.com, *.example.com (all names below "
                         "it), 192.0.2.1; ports 80 and 443, unless :port follows"},
                {.name = "blocked_domains",
                 .type = FIELD_ARRAY,
                 .item = &blocked,
                 .max = NETWORK_SETTINGS_BLOCKED_MAX,
                 .standard = "[]",
                 .help = "names and addresses that are refused in every tier; without :port on every port"},
                {.name = "allowed_private",
                 .type = FIELD_ARRAY,
                 .item = &private,
                 .max = EGRESS_PATTERNS_MAX,
                 .standard = "[]",
                 .help = "names, addresses and networks (10.0.0.0/8) that may have private addresses, if "
                         "they are allowed otherwise"},
                {.name = "connections",
                 .type = FIELD_INTEGER,
                 .min = 1,
                 .max = 4096,
                 .standard = "256",
                 .help = "maximum number of open connections of one sandbox"},
                {.name = "bytes_per_execution",
                 .type = FIELD_INTEGER,
                 .min = 1,
                 .max = INT64_C(1) << 50,
                 .standard = "1073741824",
                 .help = "bytes that one execution may send and receive together"},
                {.name = "idle_timeout_ms",
                 .type = FIELD_INTEGER,
                 .min = 100,
                 .max = INT64_C(86400000),
                 .standard = "60000",
                 .help = "a connection without traffic is closed after this time"},
                {0}};
        return fields;
}

const struct field *network_request_fields(void)
{
        static const struct field fields[] = {
                {.name = "tier",
                 .type = FIELD_WORD,
                 .words = tier_words,
                 .help = "tier of this request; at most that of the settings and the key"},
                {.name = "allowed_domains",
                 .type = FIELD_ARRAY,
                 .item = &allowed,
                 .max = EGRESS_PATTERNS_MAX,
                 .help = "narrows the allowed_domains of the settings to these"},
                {.name = "blocked_domains",
                 .type = FIELD_ARRAY,
                 .item = &blocked,
                 .max = NETWORK_REQUEST_BLOCKED_MAX,
                 .help = "refused in addition to the blocked_domains of the settings"},
                {.name = "enabled",
                 .type = FIELD_BOOLEAN,
                 .help = "false: no network; true: the request is refused if it can have none"},
                {0}};
        return fields;
}

size_t network_list_bytes(const json_t *list)
{
        size_t n = 0, i;
        const json_t *v;
        json_array_foreach (list, i, v)
                n += json_string_length(v) + 1;
        return n;
}

int network_check_settings(const json_t *document, struct cella_err *err)
{
        const json_t *n = json_object_get(document, "network");
        if (network_list_bytes(json_object_get(n, "allowed_domains")) +
                    network_list_bytes(json_object_get(n, "blocked_domains")) +
                    network_list_bytes(json_object_get(n, "allowed_private")) <=
            NETWORK_SETTINGS_TEXT_MAX)
                return 0;
        return err_say(err, CELLA_INVALID_REQUEST, -E2BIG,
                       "the lists in network must have at most %u bytes in total", NETWORK_SETTINGS_TEXT_MAX);
}
