/* egress/pattern.h -- one entry of a list, read.  See policy.h for what may be in one. */
#pragma once
#include "egress/policy.h"

enum pattern_kind { PATTERN_NAME, PATTERN_BELOW, PATTERN_NETWORK };

/* Without holes, and zeros where nothing is: they are compared byte by byte. */
struct pattern {
        uint8_t kind;
        uint8_t bits;  /* of the network; 128: an address */
        uint16_t port; /* 0: none is named */
        union {
                struct address network;
                struct {
                        uint32_t name, length; /* where it is in the policy's names */
                };
        };
};

_Static_assert(sizeof(struct pattern) == 20, "no holes");

/* NULL, or what is wrong with it.  name: room for the name, "" of an address. */
const char *pattern_read(enum policy_list list, const char *text, struct pattern *ret,
                         char name[NAME_MAX_BYTES]);
