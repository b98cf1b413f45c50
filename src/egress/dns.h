/* egress/dns.h -- DNS messages: questions of sandboxes, ours to the resolver, its answers. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "egress/address.h"
#include "egress/name.h"

#define DNS_MESSAGE_MAX 1232u /* what we send and take by UDP */
#define DNS_ADDRESSES_MAX 16u

enum { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28 };
enum { DNS_OK = 0, DNS_FORMERR = 1, DNS_SERVFAIL = 2, DNS_NXDOMAIN = 3, DNS_NOTIMP = 4, DNS_REFUSED = 5 };

struct dns_question {
        uint16_t id, type, class, flags; /* class: 1, or somebody tries something */
        char name[NAME_MAX_BYTES];       /* normalised; "" if it cannot be a host's (has_name tells) */
        uint8_t has_name;
        uint16_t end;               /* of the question section in the message */
        char shown[NAME_MAX_BYTES]; /* printable, for messages, whatever was asked */
};

/* 0; -EINVAL: not a query with one question.  If it is one at all, ret->end is not 0 then, and
 * dns_write_answer() with DNS_FORMERR makes an answer; else it gets none. */
int dns_read_question(const uint8_t *message, size_t length, struct dns_question *ret);

/* An answer to it with these addresses (those of the question's type; none: NODATA), the question repeated as
 * it was asked. Returns its length: 512 at most, as much as is understood without EDNS; addresses beyond that
 * are left out. */
size_t dns_write_answer(const uint8_t *query, const struct dns_question *q, unsigned code,
                        const struct address *addresses, size_t n, uint32_t ttl,
                        uint8_t ret[DNS_MESSAGE_MAX]);

/* A question of ours, recursion desired, EDNS0 with 1232.  0 if name is none. */
size_t dns_write_question(uint16_t id, const char *name, uint16_t type, uint8_t ret[DNS_MESSAGE_MAX]);

struct dns_answer {
        unsigned code;
        uint8_t truncated;
        uint32_t ttl; /* the least of those that led there; of NXDOMAIN and NODATA: the SOA's minimum, or 0 */
        size_t n;
        struct address addresses[DNS_ADDRESSES_MAX];
};

/* The answer to our question: -EBADMSG if it is to another one (id, name, type, class) or broken.  CNAMEs are
 * followed inside the answer only, at most 16. */
int dns_read_answer(const uint8_t *message, size_t length, uint16_t id, const char *name, uint16_t type,
                    struct dns_answer *ret);
