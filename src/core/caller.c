#include "core/caller.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/limits.h"
#include "secret/handle.h"

const char *const capability_words[] = {"sandbox.exec", "sandbox.manage", "files",     "images",  "secrets",
                                        "settings",     "audit",          "host.exec", "monitor", NULL};

const struct field *key_fields(void)
{
        static const struct field capability = {.name = "", .type = FIELD_WORD, .words = capability_words};
        static const struct field secret = {.name = "", .type = FIELD_STRING, .min = 1, .max = 64};
        static struct field fields[] = {
                {.name = "name",
                 .type = FIELD_STRING,
                 .flags = FIELD_REQUIRED | FIELD_NO_NUL,
                 .min = 1,
                 .max = 128,
                 .help = "a name for people"},
                {.name = "capabilities",
                 .type = FIELD_ARRAY,
                 .item = &capability,
                 .max = 9,
                 .standard = "[\"sandbox.exec\", \"sandbox.manage\", \"files\"]",
                 .help = "operations that the key may use"},
                {.name = "tier",
                 .type = FIELD_WORD,
                 .words = tier_words,
                 .standard = "\"restricted\"",
                 .help = "the highest network tier it may ask for"},
                {.name = "limits",
                 .type = FIELD_OBJECT,
                 .standard = "{}",
                 .help = "limits that its requests may not exceed"},
                {.name = "secrets",
                 .type = FIELD_ARRAY,
                 .item = &secret,
                 .max = 1000,
                 .standard = "[]",
                 .check = secret_list_check,
                 .help = "names of the secrets that its executions may use; \"*\": all"},
                {.name = "sandboxes_max",
                 .type = FIELD_INTEGER,
                 .flags = FIELD_NULLABLE,
                 .min = 1,
                 .max = 4000,
                 .standard = "null",
                 .help = "sandboxes at once; null: only the share that every caller has"},
                {0}};
        for (struct field *f = fields; f->name; f++)
                if (!strcmp(f->name, "limits"))
                        f->fields = limits_bare_fields();
        return fields;
}

void caller_owner(struct caller *ret)
{
        *ret = (struct caller){.owner = true, .capabilities = ~0u, .tier_max = TIER_ELEVATED};
}

void caller_set_agent(struct caller *caller, const char *name)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
        if (caller->agent[0])
                return;
        strncpy(caller->agent, name ? name : "", sizeof caller->agent - 1);
        for (char *c = caller->agent; *c; c++)
                if (!strchr(letters, *c) || (*c == '.' && c == caller->agent))
                        *c = '-';
}

/* Whether text has n lower-case hex digits, not all of them 0. */
static bool is_trace_id(const char *text, size_t n)
{
        return strspn(text, "0123456789abcdef") == n && strspn(text, "0") < n;
}

void caller_set_trace(struct caller *caller, const char *header)
{
        caller->trace[0] = '\0';
        if (header && strlen(header) == CALLER_TRACE_SIZE - 1 && !strncmp(header, "00-", 3) &&
            is_trace_id(header + 3, 32) && header[35] == '-' && is_trace_id(header + 36, 16) &&
            header[52] == '-' && strspn(header + 53, "0123456789abcdef") == 2)
                memcpy(caller->trace, header, CALLER_TRACE_SIZE);
}

void caller_from_key(const json_t *key, struct caller *ret)
{
        size_t i;
        const json_t *word, *tier = json_object_get(key, "tier");
        const char *id = json_string_value(json_object_get(key, "id"));
        *ret = (struct caller){0};
        strncpy(ret->key, id ? id : "?", sizeof ret->key - 1);
        const char *name = json_string_value(json_object_get(key, "name"));
        strncpy(ret->name, name ? name : "", sizeof ret->name - 1);
        json_array_foreach (json_object_get(key, "capabilities"), i, word) {
                int bit = json_is_string(word) ? word_index(capability_words, json_string_value(word)) : -1;
                if (bit >= 0)
                        ret->capabilities |= 1u << bit;
        }
        if (json_is_string(tier))
                ret->tier_max = (enum tier)tier_from_word(json_string_value(tier));
        caller_set_agent(ret, ret->name);
        limits_overlay(json_object_get(key, "limits"), &ret->limits_max, NULL);
        ret->sandboxes_max = (uint32_t)json_integer_value(json_object_get(key, "sandboxes_max"));
}

int caller_may(const struct caller *caller, enum capability what, struct cella_err *err)
{
        if (caller->owner || (caller->capabilities & what))
                return 0;
        err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: %s",
                capability_words[__builtin_ctz((unsigned)what)]);
        return err_hint(err, "the key does not have this capability");
}

int caller_allows(const struct caller *caller, const struct cella_limits *limits, struct cella_err *err)
{
        char value[32];
        for (size_t i = 0; i < limits_table_len && !caller->owner; i++) {
                const struct limit *l = &limits_table[i];
                uint64_t max = limit_get(&caller->limits_max, l), asked = limit_get(limits, l);
                bool none = asked == 0 && l->standard == 0 && l->min > 0; /* no limit was requested */
                if (max > 0 && (asked > max || none)) {
                        err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: limits.%s", l->name);
                        limit_write(l, max, value, sizeof value);
                        return err_hint(err, "this key may have at most %s", value);
                }
        }
        return 0;
}

bool caller_sees(const struct caller *caller, const char *key)
{
        return caller->owner || !strcmp(caller->key, key);
}

bool caller_sees_counters(const struct caller *caller)
{
        return caller->owner || (caller->capabilities & (MAY_MONITOR | MAY_AUDIT));
}
