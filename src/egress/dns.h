/* egress/dns.h -- DNS messages: queries of sandboxes, our queries to resolvers, and replies. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "egress/policy/address.h"
#include "egress/policy/name.h"

#define DNS_MESSAGE_MAX 1232u /* sent and received over UDP */
#define DNS_ADDRESSES_MAX 16u

enum { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28 };
enum { DNS_OK = 0, DNS_FORMERR = 1, DNS_SERVFAIL = 2, DNS_NXDOMAIN = 3, DNS_NOTIMP = 4, DNS_REFUSED = 5 };

struct dns_question {
        uint16_t id, type, class, flags; /* class: 1 in a regular query */
        char name[NAME_MAX_BYTES];       /* normalised; "" if it is not a valid host name (see has_name) */
        uint8_t has_name;
        uint16_t end;               /* end of the question section in the message */
        char shown[NAME_MAX_BYTES]; /* printable form for messages */
};

/* Returns 0, or -EINVAL if it is not a query with one question.  If it is a query, ret->end is not 0 then,
 * and dns_write_answer() with DNS_FORMERR creates the reply; otherwise there is no reply. */
int dns_read_question(const uint8_t *message, size_t length, struct dns_question *ret);

/* Writes a reply with those addresses that match the question's type (none: NODATA).  The question is
 * copied unchanged.  Returns the length: at most 512, the limit without EDNS; further addresses are
 * omitted. */
size_t dns_write_answer(const uint8_t *query, const struct dns_question *q, unsigned code,
                        const struct address *addresses, size_t n, uint32_t ttl,
                        uint8_t ret[DNS_MESSAGE_MAX]);

/* Writes a query with recursion desired and EDNS0 (1232).  Returns its length, or 0 if name is not valid. */
size_t dns_write_question(uint16_t id, const char *name, uint16_t type, uint8_t ret[DNS_MESSAGE_MAX]);

struct dns_answer {
        unsigned code;
        uint8_t truncated;
        uint32_t ttl; /* minimum of the records used; for NXDOMAIN and NODATA: the SOA's minimum, or 0 */
        size_t n;
        struct address addresses[DNS_ADDRESSES_MAX];
};

/* Parses the reply to our query.  Returns -EBADMSG if it belongs to another one (id, name, type, class) or
 * is malformed.  CNAMEs are followed within the reply only, at most 16. */
int dns_read_answer(const uint8_t *message, size_t length, uint16_t id, const char *name, uint16_t type,
                    struct dns_answer *ret);
