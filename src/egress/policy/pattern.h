/* egress/policy/pattern.h -- one entry of a policy list. */
#pragma once
#include <stdint.h>

#include "egress/policy/address.h"
#include "egress/policy/name.h"

enum policy_list { POLICY_ALLOWED, POLICY_BLOCKED, POLICY_PRIVATE };

enum pattern_kind { PATTERN_NAME, PATTERN_BELOW, PATTERN_NETWORK };

/* Without padding, and unused bytes are zero: patterns are compared byte by byte. */
struct pattern {
        uint8_t kind;
        uint8_t bits;  /* prefix length; 128: an address */
        uint16_t port; /* 0: not specified */
        union {
                struct address network;
                struct {
                        uint32_t name, length; /* offset and length in the policy's names */
                };
        };
};

_Static_assert(sizeof(struct pattern) == 20, "no holes");

/* Parses a pattern; policy.h describes the syntax.  Returns NULL or an error text.  name is set to the
 * name, "" for an address. */
const char *pattern_read(enum policy_list list, const char *text, struct pattern *ret,
                         char name[NAME_MAX_BYTES]);
