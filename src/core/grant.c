/* core/grant.c -- what a caller may grant.  See grant.h.
 *
 * One table has a rule for each setting.  A setting without a rule can be changed by the owner only, so that
 * a new setting is never a security hole. */
#include "core/grant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/limits.h"
#include "secret/handle.h"

/* ---- keys ---- */

static int check_capabilities(const struct caller *caller, const json_t *about, struct cella_err *err)
{
        struct caller other;
        caller_from_key(about, &other);
        const unsigned more = other.capabilities & ~caller->capabilities;
        if (more) {
                err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: capabilities %s",
                        capability_words[__builtin_ctz(more)]);
                return err_hint(err, "a key cannot grant a capability that it does not have");
        }
        if (other.tier_max > caller->tier_max) {
                err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: tier %s",
                        tier_words[other.tier_max]);
                return err_hint(err, "this key can grant at most %s", tier_words[caller->tier_max]);
        }
        return 0;
}

static int check_secrets(const json_t *own, const json_t *about, struct cella_err *err)
{
        size_t i;
        const json_t *name;
        json_array_foreach (json_object_get(about, "secrets"), i, name) {
                const char *text = json_string_value(name);
                if (text && secret_list_has(own, text))
                        continue;
                err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: secrets %.64s", text ? text : "?");
                return err_hint(err, "a key cannot grant a secret that it may not use itself");
        }
        return 0;
}

/* Returns a limit of the caller, in the form of a key's limit. */
static json_t *own_limit(const struct caller *caller, const struct limit *l)
{
        const uint64_t own = limit_get(&caller->limits_max, l);
        return l->unit == LIMIT_CORES ? json_real((double)own / 1000) : json_integer((json_int_t)own);
}

static void inherit(const struct caller *caller, json_t *about)
{
        json_t *limits = json_object_get(about, "limits");
        if (!json_is_object(limits)) {
                limits = json_object();
                json_object_set_new(about, "limits", limits);
        }
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                const json_t *value = json_object_get(limits, l->name);
                if (limit_get(&caller->limits_max, l) > 0 && (!value || json_is_null(value)))
                        json_object_set_new(limits, l->name, own_limit(caller, l));
        }
        if (caller->sandboxes_max && !json_is_integer(json_object_get(about, "sandboxes_max")))
                json_object_set_new(about, "sandboxes_max", json_integer(caller->sandboxes_max));
}

static int check_limits(const struct caller *caller, const json_t *about, struct cella_err *err)
{
        struct caller other;
        caller_from_key(about, &other);
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                const uint64_t own = limit_get(&caller->limits_max, l), its = limit_get(&other.limits_max, l);
                if (own == 0 || (its > 0 && its <= own))
                        continue;
                err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: limits.%s", l->name);
                return err_hint(err, "this key can grant at most %llu", (unsigned long long)own);
        }
        if (caller->sandboxes_max && (!other.sandboxes_max || other.sandboxes_max > caller->sandboxes_max)) {
                err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: sandboxes_max");
                return err_hint(err, "this key can grant at most %u", caller->sandboxes_max);
        }
        return 0;
}

int grant_key_removal(const struct caller *caller, const json_t *secrets, const json_t *about,
                      struct cella_err *err)
{
        if (caller->owner)
                return 0;
        int r = check_capabilities(caller, about, err);
        if (r == 0)
                r = check_secrets(secrets, about, err);
        return r < 0 ? r : check_limits(caller, about, err);
}

int grant_key(const struct caller *caller, const json_t *secrets, json_t *about, struct cella_err *err)
{
        if (!caller->owner)
                inherit(caller, about);
        return grant_key_removal(caller, secrets, about, err);
}

/* ---- settings ---- */

enum direction {
        FREE,  /* may be changed by every key with `settings` */
        FIXED, /* only by the owner, or with the capability of the rule */
        DOWN,  /* a key may only reduce it: a lower number, an earlier word, a subset of the list */
        UP,    /* a key may only increase it */
        TIER,  /* a tier that the key itself may have, or a lower one than before */
};

struct rule {
        const char *path; /* of the setting, or of an object with all its members */
        enum direction direction;
        unsigned lifts;           /* the capability with which it may be changed freely; 0: none */
        const char *const *words; /* for DOWN and UP: the values in their order */
};

static const char *const modes[] = {"all", "selective", "off", NULL};
static const char *const actions[] = {"block", "warn", "off", NULL};
static const char *const severities[] = {"low", "medium", "high", NULL};
static const char *const pulls[] = {"never", "missing", NULL};

static const struct rule rules[] = {
        {"mode", DOWN, MAY_HOST, modes},
        {"scope", FREE},
        {"workspace", DOWN, 0, workspace_words},
        {"workspace_root", FIXED},
        {"mounts", FIXED},
        {"engine", FIXED},
        {"image", FIXED, MAY_IMAGES},
        {"default_runtimes", FREE},
        {"runtimes", FIXED, MAY_IMAGES},
        {"limits", FREE}, /* defaults: a request may ask for more, up to the limits of its key */
        {"network.tier", TIER},
        {"network.allowed_domains", DOWN}, /* or tier elevated: see domains_are_own() */
        {"network.blocked_domains", UP},
        {"network.allowed_private", DOWN},
        {"network.connections", DOWN},
        {"network.bytes_per_execution", DOWN},
        {"network.idle_timeout_ms", DOWN},
        {"sandboxes.max", DOWN},           /* the share of each caller grows with it */
        {"sandboxes.kept_max", DOWN},      /* more would let each caller use more of the disk */
        {"sandboxes.idle_timeout_ms", UP}, /* less would end the sandboxes of other keys */
        {"sandboxes.cleanup_interval_ms", FREE},
        {"sandboxes.queue_timeout_ms", FREE},
        {"sandboxes.queue_max", FREE},
        {"sandboxes.spare", FREE},
        {"sandboxes.workspace_keep_ms", UP}, /* less would remove the files of other keys */
        {"pools", FREE},
        {"scan.enabled", UP},
        {"scan.action", DOWN, 0, actions},
        {"scan.block.severity", DOWN, 0, severities},
        {"scan.block.categories", UP},
        {"audit", FIXED, MAY_AUDIT},
        {"http.allowed_hosts", FIXED},
        {"http.trusted_proxies", FIXED},
        {"mcp.text_bytes", FREE},
        {"images.pull", DOWN, MAY_IMAGES, pulls},
        {"images.registries", DOWN},
        {"images.insecure_registries", DOWN},
        {"images.credentials", FIXED}, /* otherwise a key could send the secret anywhere */
        {"images.max_bytes", FIXED},
        {"learning.memory_bytes", DOWN},
        {"packages.index", FIXED},
        {"packages.cache_bytes", FIXED},
        {"docker", FIXED},
        {"cluster", FIXED},
};

static const struct rule *find_rule(const char *path)
{
        for (size_t i = 0; i < ARRAY_LEN(rules); i++)
                if (!strcmp(rules[i].path, path))
                        return &rules[i];
        return NULL;
}

static bool list_has(const json_t *list, const json_t *wanted)
{
        size_t i;
        json_t *item;
        json_array_foreach ((json_t *)list, i, item)
                if (json_equal(item, wanted))
                        return true;
        return false;
}

/* Whether a is at most b. */
static bool is_within(const json_t *a, const json_t *b, const char *const *words)
{
        size_t i;
        json_t *item;
        if (json_is_number(a) && json_is_number(b))
                return json_number_value(a) <= json_number_value(b);
        if (json_is_boolean(a) && json_is_boolean(b))
                return json_is_false(a) || json_is_true(b);
        if (words && json_is_string(a) && json_is_string(b)) {
                const int x = word_index(words, json_string_value(a)),
                          y = word_index(words, json_string_value(b));
                return x >= 0 && x <= y;
        }
        if (!json_is_array(a) || !json_is_array(b))
                return false;
        json_array_foreach ((json_t *)a, i, item)
                if (!list_has(b, item))
                        return false;
        return true;
}

/* A key of tier elevated can already reach every public name. */
static bool domains_are_own(const struct caller *caller, const char *path)
{
        return caller->tier_max == TIER_ELEVATED && !strcmp(path, "network.allowed_domains");
}

static bool tier_is_own(const struct caller *caller, const json_t *before, const json_t *after)
{
        const char *was = json_string_value(before), *is = json_string_value(after);
        const int from = was ? tier_from_word(was) : -1, to = is ? tier_from_word(is) : -1;
        return to >= 0 && (to <= from || to <= (int)caller->tier_max);
}

static bool may_change(const struct caller *caller, const struct rule *rule, const json_t *before,
                       const json_t *after)
{
        if (rule->lifts & caller->capabilities || domains_are_own(caller, rule->path))
                return true;
        switch (rule->direction) {
        case FREE:
                return true;
        case DOWN:
                return is_within(after, before, rule->words);
        case UP:
                return is_within(before, after, rule->words);
        case TIER:
                return tier_is_own(caller, before, after);
        case FIXED:
                break;
        }
        return false;
}

static int core_grant_refuse(const char *path, const struct rule *rule, struct cella_err *err)
{
        err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: settings %s", path);
        if (rule && rule->lifts)
                return err_hint(err, "this change also needs the capability %s",
                                capability_words[__builtin_ctz(rule->lifts)]);
        return err_hint(err, "%s; the owner of the daemon can change it, on the Unix socket",
                        rule && rule->direction != FIXED ? "a key can only make this setting stricter"
                                                         : "a key cannot change this setting");
}

static int check_settings(const struct caller *caller, const struct field *fields, const char *prefix,
                          const json_t *before, const json_t *after, struct cella_err *err)
{
        char path[128];
        for (const struct field *f = fields; f->name; f++) {
                const json_t *was = json_object_get(before, f->name), *is = json_object_get(after, f->name);
                if (was == is || (was && is && json_equal((json_t *)was, (json_t *)is)))
                        continue;
                snprintf(path, sizeof path, "%s%s%s", prefix, prefix[0] ? "." : "", f->name);
                const struct rule *rule = find_rule(path);
                int r = 0;
                if (!rule && f->type == FIELD_OBJECT && f->fields)
                        r = check_settings(caller, f->fields, path, was, is, err);
                else if (!rule || !may_change(caller, rule, was, is))
                        r = core_grant_refuse(path, rule, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

int grant_settings(const struct caller *caller, const json_t *before, const json_t *after,
                   struct cella_err *err)
{
        return caller->owner ? 0 : check_settings(caller, settings_fields(), "", before, after, err);
}
