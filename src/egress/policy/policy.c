/* egress/policy/policy.c -- see policy.h. */
#include "egress/policy/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/list.h"

const char *policy_check_pattern(enum policy_list list, const char *text)
{
        char name[NAME_MAX_BYTES];
        struct pattern pattern;

        return pattern_read(list, text, &pattern, name);
}

/* ---- policies ---- */

struct patterns {
        bool there; /* a missing list does not restrict; an empty one refuses everything */
        size_t n;
        struct pattern *at;
};

/* Equal policies are found by their numbers, patterns and names, which are normalised. */
struct policy {
        struct list others; /* in the same bucket */
        unsigned used;
        uint64_t hash;
        struct egress_attach about; /* without the sandbox id */
        struct patterns allowed[2], blocked, private;
        struct pattern *patterns; /* all of them */
        char *names;
        size_t n_patterns, n_names;
};

#define BUCKETS 64u
static struct list buckets[BUCKETS]; /* all policies in use */

static struct list *bucket_of(uint64_t hash)
{
        struct list *bucket = &buckets[hash % BUCKETS];

        if (bucket->next == NULL)
                list_init(bucket);
        return bucket;
}

static uint64_t add_hash(uint64_t hash, const void *data, size_t length) /* FNV-1a */
{
        for (const uint8_t *at = data, *end = at + length; at < end; at++)
                hash = (hash ^ *at) * 0x100000001b3;
        return hash;
}

static uint64_t hash_of(const struct policy *p)
{
        uint64_t hash = add_hash(0xcbf29ce484222325, &p->about, sizeof(p->about));

        hash = add_hash(hash, p->patterns, p->n_patterns * sizeof(*p->patterns));
        return add_hash(hash, p->names, p->n_names);
}

static bool is_equal(const struct policy *a, const struct policy *b)
{
        return a->hash == b->hash && memcmp(&a->about, &b->about, sizeof(a->about)) == 0 &&
               a->n_patterns == b->n_patterns && a->n_names == b->n_names &&
               memcmp(a->patterns, b->patterns, a->n_patterns * sizeof(*a->patterns)) == 0 &&
               memcmp(a->names, b->names, a->n_names) == 0;
}

static struct policy *policy_free(struct policy *policy)
{
        if (policy == NULL)
                return NULL;
        free(policy->patterns);
        free(policy->names);
        free(policy);
        return NULL;
}

DEFINE_AUTO(struct policy *, policy_free)

/* Reads n patterns at *at, each of which must end before `end`, and moves *at behind them. */
static int read_list(struct policy *p, enum policy_list list, uint32_t n, const char **at, const char *end,
                     struct patterns *ret)
{
        *ret = (struct patterns){.there = n != EGRESS_ANY, .at = p->patterns + p->n_patterns};
        for (; ret->there && ret->n < n; ret->n++, p->n_patterns++) {
                size_t left = (size_t)(end - *at), length = strnlen(*at, left);
                struct pattern *pattern = &p->patterns[p->n_patterns];
                char name[NAME_MAX_BYTES];

                if (length == left || pattern_read(list, *at, pattern, name) != NULL)
                        return -EINVAL;
                *at += length + 1;
                if (pattern->kind == PATTERN_NETWORK)
                        continue;
                /* A name is never longer than its pattern, so there is room. */
                pattern->name = (uint32_t)p->n_names;
                memcpy(p->names + p->n_names, name, pattern->length);
                p->n_names += pattern->length;
        }
        return 0;
}

static int check_numbers(const struct egress_attach *m, size_t *ret_patterns)
{
        uint32_t n[] = {m->n_allowed[0], m->n_allowed[1], m->n_blocked, m->n_private};

        if (m->tier != EGRESS_STANDARD && m->tier != EGRESS_ELEVATED)
                return -EINVAL;
        if (m->connections_max == 0 || m->idle_ms == 0)
                return -EINVAL;
        /* Without any list, it would be the same as tier elevated. */
        if (m->tier == EGRESS_STANDARD && n[0] == EGRESS_ANY && n[1] == EGRESS_ANY)
                return -EINVAL;
        *ret_patterns = 0;
        for (size_t i = 0; i < ARRAY_LEN(n); i++) {
                if (i < 2 && n[i] == EGRESS_ANY)
                        continue;
                if (n[i] > EGRESS_PATTERNS_MAX)
                        return -EINVAL;
                *ret_patterns += n[i];
        }
        return 0;
}

static int policy_fill(struct policy *p, const struct egress_attach *message, size_t length)
{
        const char *at = (const char *)(message + 1), *end = (const char *)message + length;
        size_t n_patterns;

        if (check_numbers(message, &n_patterns) < 0)
                return -EINVAL;
        p->used = 1;
        p->about = *message;
        p->about.type = 0;
        p->about.sandbox = 0;
        p->patterns = calloc(n_patterns + 1, sizeof(*p->patterns));
        p->names = malloc((size_t)(end - at) + 1);
        if (p->patterns == NULL || p->names == NULL)
                return -ENOMEM;
        if (read_list(p, POLICY_ALLOWED, message->n_allowed[0], &at, end, &p->allowed[0]) < 0 ||
            read_list(p, POLICY_ALLOWED, message->n_allowed[1], &at, end, &p->allowed[1]) < 0 ||
            read_list(p, POLICY_BLOCKED, message->n_blocked, &at, end, &p->blocked) < 0 ||
            read_list(p, POLICY_PRIVATE, message->n_private, &at, end, &p->private) < 0 || at != end)
                return -EINVAL;
        p->hash = hash_of(p);
        return 0;
}

int policy_get(const struct egress_attach *message, size_t length, struct policy **ret)
{
        AUTO(policy_free) struct policy *policy = NULL;
        struct list *bucket;
        int r;

        if (length < sizeof(*message) || length > sizeof(*message) + EGRESS_TEXT_MAX)
                return -EINVAL;
        policy = calloc(1, sizeof(*policy));
        r = policy != NULL ? policy_fill(policy, message, length) : -ENOMEM;
        if (r < 0)
                return r;
        bucket = bucket_of(policy->hash);
        list_each (at, bucket, after) {
                struct policy *other = list_entry(at, struct policy, others);

                if (is_equal(other, policy)) {
                        *ret = policy_keep(other);
                        return 0;
                }
        }
        list_add(bucket, &policy->others);
        *ret = TAKE(policy);
        return 0;
}

struct policy *policy_keep(struct policy *policy)
{
        policy->used++;
        return policy;
}

void policy_drop(struct policy *policy)
{
        if (policy == NULL || --policy->used > 0)
                return;
        list_remove(&policy->others);
        policy_free(policy);
}

/* ---- decisions ---- */

/* An IPv6 network never contains an IPv4 address, although those are stored as ::ffff:a.b.c.d. */
static bool holds(const struct pattern *pattern, const struct address *address)
{
        return address_is_v4(&pattern->network) == address_is_v4(address) &&
               address_in(address, &pattern->network, pattern->bits);
}

static bool names_it(const struct policy *policy, const struct pattern *pattern, const struct destination *to)
{
        const char *name = policy->names + pattern->name;
        size_t length = strnlen(to->name, sizeof(to->name));

        switch (pattern->kind) {
        case PATTERN_NAME:
                return length == pattern->length && memcmp(to->name, name, length) == 0;
        case PATTERN_BELOW: /* including the dot before it */
                return length > pattern->length + 1u && to->name[length - pattern->length - 1] == '.' &&
                       memcmp(to->name + length - pattern->length, name, pattern->length) == 0;
        default:
                return length == 0 && holds(pattern, &to->address);
        }
}

static const char *allowed_refuses(const struct policy *policy, const struct patterns *list,
                                   enum policy_kind kind, const struct destination *to)
{
        const char *why =
                to->name[0] == '\0' ? "an address that is not in allowed_domains" : "not in allowed_domains";

        if (!list->there)
                return NULL;
        for (size_t i = 0; i < list->n; i++) {
                const struct pattern *pattern = &list->at[i];

                if (!names_it(policy, pattern, to))
                        continue;
                if (kind == POLICY_LOOKUP || (pattern->port != 0 && pattern->port == to->port))
                        return NULL;
                if (kind == POLICY_SPOKEN && pattern->port == 0 && (to->port == 80 || to->port == 443))
                        return NULL;
                why = kind == POLICY_RAW && pattern->port == 0 && (to->port == 80 || to->port == 443)
                              ? "neither TLS with a name nor HTTP, and no entry of allowed_domains names the "
                                "port"
                              : "in allowed_domains, but not with this port";
        }
        return why;
}

static bool blocked_holds(const struct policy *policy, const struct destination *to)
{
        for (size_t i = 0; i < policy->blocked.n; i++) {
                const struct pattern *pattern = &policy->blocked.at[i];

                /* An entry with a port does not block other ports or lookups. */
                if ((pattern->port == 0 || pattern->port == to->port) && names_it(policy, pattern, to))
                        return true;
        }
        return false;
}

static bool is_blocked(const struct policy *policy, const struct destination *to)
{
        struct destination inner = {.port = to->port};

        if (blocked_holds(policy, to))
                return true;
        /* An IPv4 address is also blocked in its NAT64 and 6to4 forms. */
        return to->name[0] == '\0' && address_inner(&to->address, &inner.address) &&
               blocked_holds(policy, &inner);
}

const char *policy_refuses(const struct policy *policy, enum policy_kind kind, const struct destination *to)
{
        if (is_blocked(policy, to))
                return "in blocked_domains";
        for (size_t i = 0; i < ARRAY_LEN(policy->allowed); i++) {
                const char *why = allowed_refuses(policy, &policy->allowed[i], kind, to);

                if (why != NULL)
                        return why;
        }
        return NULL;
}

/* Returns true if an entry of allowed_private permits the address.  Metadata services return credentials of
 * the whole host: only an entry with the exact address permits them, not a name (its owner could choose the
 * address) and not a network that contains it. */
static bool is_lifted(const struct policy *policy, const struct destination *to,
                      const struct address *address, bool is_metadata)
{
        for (size_t i = 0; i < policy->private.n; i++) {
                const struct pattern *pattern = &policy->private.at[i];

                if (pattern->port != 0 && to->port != 0 && pattern->port != to->port)
                        continue;
                if (pattern->kind == PATTERN_NETWORK
                            ? holds(pattern, address) && (!is_metadata || pattern->bits == 128)
                            : !is_metadata && names_it(policy, pattern, to))
                        return true;
        }
        return false;
}

const char *policy_refuses_address(const struct policy *policy, const struct destination *to,
                                   const struct address *address, char ret_text[128])
{
        const char *trouble = address_trouble(address), *begin = to->name[0] != '\0' ? "resolves to " : "";
        struct destination itself = {.address = *address, .port = to->port};
        char text[46];

        address_write(address, text);
        if (is_blocked(policy, &itself)) {
                snprintf(ret_text, 128, "%s%s, which is in blocked_domains", begin, text);
                return ret_text;
        }
        if (trouble == NULL || is_lifted(policy, to, address, strcmp(trouble, "metadata") == 0))
                return NULL;
        snprintf(ret_text, 128, "%s%s, which is %s", begin, text, trouble);
        return ret_text;
}

bool policy_is_raw(const struct policy *policy, const struct destination *to)
{
        return to->port != 80 && to->port != 443 && policy_refuses(policy, POLICY_RAW, to) == NULL;
}

uint32_t policy_connections_max(const struct policy *policy)
{
        return policy->about.connections_max;
}

uint32_t policy_idle_ms(const struct policy *policy)
{
        return policy->about.idle_ms;
}

uint64_t policy_bytes_max(const struct policy *policy)
{
        return policy->about.bytes_max;
}
