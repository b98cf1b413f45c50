/* test/fuzz/egress_policy.c -- names, addresses, patterns and policies.  A
 * normalised name or address stays the same; a pattern that passes the check is valid in a policy. */
#include <arpa/inet.h>

#include "egress/policy/policy.h"
#include "fuzz.h"

static void name(const char *text, size_t size)
{
        char first[NAME_MAX_BYTES], second[NAME_MAX_BYTES];
        struct in_addr v4;
        struct address a;

        if (name_normalise(text, size, first) < 0)
                return;
        if (name_normalise(first, strlen(first), second) < 0 || strcmp(first, second) != 0)
                abort();
        /* No valid name is an address, neither for our parser nor for libc. */
        if (address_parse(text, size, &a) == 0 || inet_aton(first, &v4) != 0)
                abort();
}

static void address(const char *text, size_t size)
{
        struct address a, again;
        char written[46];

        if (address_parse(text, size, &a) < 0)
                return;
        address_write(&a, written);
        if (address_parse(written, strlen(written), &again) < 0 || memcmp(&a, &again, sizeof(a)) != 0)
                abort();
        address_trouble(&a);
}

static void pattern(const char *text, size_t size)
{
        struct {
                struct egress_attach head;
                char text[EGRESS_PATTERN_MAX];
        } m = {.head = {.tier = EGRESS_ELEVATED,
                        .n_allowed = {EGRESS_ANY, EGRESS_ANY},
                        .connections_max = 1,
                        .idle_ms = 1}};

        for (enum policy_list list = POLICY_ALLOWED; list <= POLICY_PRIVATE; list++) {
                bool good = policy_check_pattern(list, text) == NULL;
                struct policy *policy;

                if (size >= sizeof(m.text) || strlen(text) != size) {
                        if (good && strlen(text) >= sizeof(m.text))
                                abort();
                        continue;
                }
                memcpy(m.text, text, size + 1);
                m.head.n_allowed[0] = list == POLICY_ALLOWED ? 1 : EGRESS_ANY;
                m.head.n_blocked = list == POLICY_BLOCKED;
                m.head.n_private = list == POLICY_PRIVATE;
                if ((policy_get(&m.head, sizeof(m.head) + size + 1, &policy) == 0) != good)
                        abort();
                if (good)
                        policy_drop(policy);
        }
}

static void message(const uint8_t *data, size_t size)
{
        struct destination to = {.name = "www.example.com", .port = 443};
        struct address a = {.bytes = {[10] = 0xff, [11] = 0xff, [12] = 10}};
        struct egress_attach *copy = malloc(size + 1);
        struct policy *policy;
        char text[128];

        memcpy(copy, data, size);
        if (policy_get(copy, size, &policy) == 0) {
                for (enum policy_kind kind = POLICY_SPOKEN; kind <= POLICY_LOOKUP; kind++)
                        policy_refuses(policy, kind, &to);
                policy_refuses_address(policy, &to, &a, text);
                policy_is_raw(policy, &to);
                policy_drop(policy);
        }
        free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = malloc(size + 1);

        memcpy(text, data, size);
        text[size] = '\0';
        name(text, size);
        address(text, size);
        pattern(text, size);
        message(data, size);
        free(text);
        return 0;
}
