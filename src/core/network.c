#include "core/network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/settings/network_fields.h"

static const json_t *list_of(const struct settings *s, const char *name)
{
        return json_object_get(json_object_get(s->document, "network"), name);
}

/* ---- narrowing ---- */

static int check_tier(const struct settings *settings, const struct caller *caller, enum tier tier, bool said,
                      struct cella_err *err)
{
        if (tier > caller->tier_max) {
                err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: network.tier %s",
                        tier_words[tier]);
                return err_hint(err, "this key may have at most %s", tier_words[caller->tier_max]);
        }
        if (said && tier > settings->tier) {
                err_say(err, CELLA_ACCESS_DENIED, -EACCES,
                        "access denied: network.tier %s, the settings allow %s", tier_words[tier],
                        tier_words[settings->tier]);
                return err_hint(err, "cella settings set network.tier %s", tier_words[tier]);
        }
        return 0;
}

/* Refuses a list that would have no effect. */
static int check_list(const struct settings *settings, enum tier tier, bool said, const json_t *list,
                      struct cella_err *err)
{
        if (json_array_size(list) == 0)
                return 0;
        if (tier == TIER_RESTRICTED && !said)
                return err_say(err, CELLA_ACCESS_DENIED, -EACCES,
                               "access denied: network.allowed_domains, %s allow%s no network",
                               settings->tier == TIER_RESTRICTED ? "the settings" : "the key",
                               settings->tier == TIER_RESTRICTED ? "" : "s");
        if (tier == TIER_ELEVATED && said) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                        "network.allowed_domains cannot be combined with tier elevated, which is any public "
                        "address");
                return err_hint(err, "use tier standard");
        }
        return 0;
}

/* said: the request also has a tier, which contradicts.  Otherwise it wants a network and cannot have one. */
static int refuse_enabled(const struct settings *settings, bool said, struct cella_err *err)
{
        if (said)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "network.enabled contradicts network.tier");
        err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: network.enabled, %s allow%s no network",
                settings->tier == TIER_RESTRICTED ? "the settings" : "the key",
                settings->tier == TIER_RESTRICTED ? "" : "s");
        return err_hint(err, "%s",
                        settings->tier == TIER_RESTRICTED
                                ? "cella settings set network.tier standard, with allowed_domains"
                                : "the key needs a higher tier");
}

int network_narrow(const struct settings *settings, const struct caller *caller, const json_t *asked,
                   struct network *ret, struct cella_err *err)
{
        const char *word = json_string_value(json_object_get(asked, "tier"));
        json_t *allowed_list = json_object_get(asked, "allowed_domains"),
               *blocked_list = json_object_get(asked, "blocked_domains");
        const json_t *enabled = json_object_get(asked, "enabled");
        const enum tier least = settings->tier < caller->tier_max ? settings->tier : caller->tier_max;
        enum tier tier = word                     ? (enum tier)tier_from_word(word)
                         : json_is_false(enabled) ? TIER_RESTRICTED
                                                  : least;
        if (enabled && json_is_true(enabled) != (tier != TIER_RESTRICTED))
                return refuse_enabled(settings, word != NULL, err);
        if (!word && allowed_list && tier == TIER_ELEVATED)
                tier = TIER_STANDARD; /* lists are for tier standard */
        int r = check_tier(settings, caller, tier, word != NULL, err);
        if (r == 0)
                r = check_list(settings, tier, word != NULL, allowed_list, err);
        if (r == 0 &&
            network_list_bytes(allowed_list) + network_list_bytes(blocked_list) > NETWORK_REQUEST_TEXT_MAX)
                r = err_say(err, CELLA_INVALID_REQUEST, -E2BIG,
                            "the lists in network must have at most %u bytes in total",
                            NETWORK_REQUEST_TEXT_MAX);
        if (r < 0)
                return r;
        *ret = (struct network){.tier = tier};
        if (tier != TIER_RESTRICTED) {
                ret->allowed = tier == TIER_STANDARD ? json_incref(allowed_list) : NULL;
                ret->blocked = json_incref(blocked_list);
        }
        return 0;
}

void network_done(struct network *n)
{
        json_decref(n->allowed);
        json_decref(n->blocked);
        *n = (struct network){0};
}

void network_copy(const struct network *from, struct network *to)
{
        const struct network copy = {from->tier, json_incref(from->allowed), json_incref(from->blocked)};
        network_done(to);
        *to = copy;
}

/* Whether a requested list equals the existing one.  An empty list differs from none only in tier
 * standard. */
static bool same_list(const json_t *said, const json_t *have, bool empty_matters)
{
        if (!said || (!empty_matters && json_array_size(said) == 0 && json_array_size(have) == 0))
                return true;
        return have && json_equal(said, have);
}

int network_check_same(const struct network *have, const json_t *asked, struct cella_err *err)
{
        const char *word = json_string_value(json_object_get(asked, "tier"));
        const json_t *allowed_list = json_object_get(asked, "allowed_domains"),
                     *blocked_list = json_object_get(asked, "blocked_domains");
        const bool none = have->tier == TIER_RESTRICTED; /* the lists do not matter */
        const json_t *enabled = json_object_get(asked, "enabled");
        if ((!enabled || json_is_true(enabled) == !none) &&
            (!word || (enum tier)tier_from_word(word) == have->tier) &&
            ((none && word) || (same_list(allowed_list, have->allowed, have->tier == TIER_STANDARD) &&
                                same_list(blocked_list, have->blocked, false))))
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "network belongs to the sandbox, which has tier '%s'%s",
                tier_words[have->tier], have->allowed || have->blocked ? " and lists of its own" : "");
        return err_hint(err, "leave network out, or make another sandbox");
}

/* ---- for the egress process ---- */

enum tier network_tier(const struct settings *s, const struct network *n)
{
        return n->tier < s->tier ? n->tier : s->tier;
}

/* The lists of a message, in order; NULL: no restriction. */
struct lists {
        const json_t *allowed[2], *blocked[2], *private;
};

static void core_network_choose(const struct settings *s, const struct network *n, struct lists *ret)
{
        const enum tier tier = network_tier(s, n);
        *ret = (struct lists){.blocked = {list_of(s, "blocked_domains"), n->blocked},
                              .private = list_of(s, "allowed_private")};
        if (tier != TIER_STANDARD)
                return;
        if (s->tier == TIER_ELEVATED && n->allowed) {
                ret->allowed[0] = n->allowed;
        } else {
                ret->allowed[0] = list_of(s, "allowed_domains");
                ret->allowed[1] = n->allowed;
        }
}

static char *core_network_put_list(char *to, const json_t *list)
{
        size_t i;
        const json_t *v;
        json_array_foreach (list, i, v) {
                size_t n = json_string_length(v) + 1;
                memcpy(to, json_string_value(v), n);
                to += n;
        }
        return to;
}

static uint64_t core_network_number(const struct settings *s, const char *name)
{
        return (uint64_t)json_integer_value(list_of(s, name));
}

int network_message(const struct settings *s, const struct network *n, enum egress_request type,
                    uint64_t sandbox, struct egress_attach **ret, size_t *ret_len)
{
        struct lists l;
        const bool closed = network_tier(s, n) == TIER_RESTRICTED;
        core_network_choose(s, n, &l);
        const json_t *all[] = {l.allowed[0], l.allowed[1], l.blocked[0], l.blocked[1], l.private};
        size_t len = sizeof **ret;
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
                len += network_list_bytes(all[i]);
        if (len > sizeof **ret + EGRESS_TEXT_MAX)
                return -E2BIG;
        struct egress_attach *m = calloc(1, len);
        if (!m)
                return -ENOMEM;
        *m = (struct egress_attach){
                .type = type,
                .tier = closed || network_tier(s, n) == TIER_STANDARD ? EGRESS_STANDARD : EGRESS_ELEVATED,
                .sandbox = sandbox,
                .n_blocked = (uint32_t)(json_array_size(l.blocked[0]) + json_array_size(l.blocked[1])),
                .n_private = (uint32_t)json_array_size(l.private),
                .connections_max = (uint32_t)core_network_number(s, "connections"),
                .idle_ms = (uint32_t)core_network_number(s, "idle_timeout_ms"),
                .bytes_max = core_network_number(s, "bytes_per_execution"),
        };
        for (int i = 0; i < 2; i++)
                m->n_allowed[i] = l.allowed[i]       ? (uint32_t)json_array_size(l.allowed[i])
                                  : closed && i == 0 ? 0
                                                     : EGRESS_ANY;
        char *at = (char *)(m + 1);
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
                at = core_network_put_list(at, all[i]);
        *ret = m;
        *ret_len = len;
        return 0;
}

/* ---- as JSON ---- */

json_t *network_to_state(const struct network *n)
{
        return json_pack("{s:s, s:O?, s:O?}", "tier", tier_words[n->tier], "allowed_domains", n->allowed,
                         "blocked_domains", n->blocked);
}

static json_t *list_from(const json_t *object, const char *name)
{
        json_t *list = json_object_get(object, name);
        return json_is_array(list) ? json_incref(list) : NULL;
}

void network_from_state(const json_t *object, struct network *ret)
{
        const char *word = json_string_value(json_object_get(object, "tier"));
        int tier = word ? tier_from_word(word) : TIER_RESTRICTED;
        *ret = (struct network){.tier = tier < 0 ? TIER_RESTRICTED : (enum tier)tier,
                                .allowed = list_from(object, "allowed_domains"),
                                .blocked = list_from(object, "blocked_domains")};
}

json_t *network_to_json(const struct settings *s, const struct network *n)
{
        const enum tier tier = network_tier(s, n);
        json_t *o = json_pack("{s:s}", "tier", tier_words[tier]);
        if (n->allowed && tier == TIER_STANDARD)
                json_object_set(o, "allowed_domains", n->allowed);
        if (n->blocked && tier != TIER_RESTRICTED)
                json_object_set(o, "blocked_domains", n->blocked);
        return o;
}
