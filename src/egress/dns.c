/* egress/dns.c -- see dns.h.
 *
 * Names are compared in wire format (lengths and labels, in lower case), in which a dot within a label
 * differs from a dot between labels. */
#include "egress/dns.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define HEADER 12u
#define LABEL_MAX 63u
#define WIRE_MAX 255u
#define JUMPS_MAX 64u
#define RECORDS_MAX 256u
#define CNAMES_MAX 16u
#define PLAIN_MAX 512u /* limit without EDNS */

enum { TYPE_CNAME = 5, TYPE_SOA = 6, TYPE_OPT = 41, CLASS_IN = 1 };
enum { FLAG_ANSWER = 0x8000, FLAG_TRUNCATED = 0x0200, FLAG_RECURSE = 0x0100, FLAG_RECURSES = 0x0080 };
enum { MASK_OPCODE = 0x7800, MASK_CODE = 0x000f };

struct message {
        const uint8_t *data;
        size_t length;
};

struct wire_name {
        uint8_t bytes[WIRE_MAX];
        size_t length; /* including the root's 0 */
};

static uint16_t get16(const uint8_t *at)
{
        return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t get32(const uint8_t *at)
{
        return (uint32_t)get16(at) << 16 | get16(at + 2);
}

static uint8_t *put16(uint8_t *at, unsigned value)
{
        at[0] = (uint8_t)(value >> 8);
        at[1] = (uint8_t)value;
        return at + 2;
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
        return put16(put16(at, value >> 16), value & 0xffff);
}

/* ---- names ---- */

/* Reads the name at *at and moves *at behind it.  Pointers may only point before the start of the name (or
 * of the part that was jumped to), so there are no loops. */
static int read_name(struct message m, size_t *at, bool may_jump, struct wire_name *ret)
{
        size_t from = *at, first = *at;
        unsigned jumps = 0;

        ret->length = 0;
        for (;;) {
                size_t label;

                if (from >= m.length)
                        return -EBADMSG;
                label = m.data[from];
                if (label > LABEL_MAX) {
                        size_t to;

                        if (label < 0xc0 || !may_jump || from + 2 > m.length)
                                return -EBADMSG;
                        to = get16(m.data + from) & 0x3fffu;
                        if (to >= first || to < HEADER || jumps == JUMPS_MAX)
                                return -EBADMSG;
                        if (jumps++ == 0)
                                *at = from + 2;
                        from = first = to;
                        continue;
                }
                if (from + 1 + label > m.length || ret->length + 1 + label > WIRE_MAX)
                        return -EBADMSG;
                for (size_t i = 0; i <= label; i++) {
                        uint8_t c = m.data[from + i];

                        ret->bytes[ret->length++] =
                                i > 0 && c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
                }
                from += 1 + label;
                if (label == 0)
                        break;
        }
        if (jumps == 0)
                *at = from;
        return 0;
}

static bool dns_is_same(const struct wire_name *a, const struct wire_name *b)
{
        return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* Converts a normalised name. */
static int name_to_wire(const char *name, struct wire_name *ret)
{
        ret->length = 0;
        for (;;) {
                size_t label = strcspn(name, ".");

                if (label == 0 || label > LABEL_MAX || ret->length + 1 + label + 1 > WIRE_MAX)
                        return -EINVAL;
                ret->bytes[ret->length++] = (uint8_t)label;
                memcpy(ret->bytes + ret->length, name, label);
                ret->length += label;
                if (name[label] == '\0')
                        break;
                name += label + 1;
        }
        ret->bytes[ret->length++] = 0;
        return 0;
}

/* Converts to printable text.  Returns true if the text is identical to the name. */
static bool dns_show(const struct wire_name *name, char ret[NAME_MAX_BYTES])
{
        bool is_plain = true;
        size_t n = 0;

        for (size_t at = 0; name->bytes[at] != 0; at += 1u + name->bytes[at]) {
                if (at > 0)
                        ret[n++] = '.';
                for (size_t i = 1; i <= name->bytes[at]; i++) {
                        char c = (char)name->bytes[at + i];

                        if (c <= ' ' || c > '~' || c == '.') {
                                is_plain = false;
                                c = '?';
                        }
                        ret[n++] = c;
                }
        }
        if (n == 0)
                ret[n++] = '.';
        ret[n] = '\0';
        return is_plain;
}

/* ---- queries of sandboxes ---- */

int dns_read_question(const uint8_t *message, size_t length, struct dns_question *ret)
{
        struct message m = {message, length};
        struct wire_name name;
        size_t at = HEADER;

        *ret = (struct dns_question){0};
        if (length < HEADER || (get16(message + 2) & FLAG_ANSWER) != 0)
                return -EINVAL;
        ret->id = get16(message);
        ret->flags = get16(message + 2);
        ret->end = HEADER;
        if ((ret->flags & MASK_OPCODE) != 0 || (ret->flags & FLAG_TRUNCATED) != 0)
                return -EINVAL;
        /* One question, and no records except in the additional section: OPT, TSIG. */
        if (get16(message + 4) != 1 || get16(message + 6) != 0 || get16(message + 8) != 0)
                return -EINVAL;
        if (read_name(m, &at, false, &name) < 0 || at + 4 > length)
                return -EINVAL;
        ret->type = get16(message + at);
        ret->class = get16(message + at + 2);
        ret->end = (uint16_t)(at + 4);
        ret->has_name =
                dns_show(&name, ret->shown) && name_normalise(ret->shown, strlen(ret->shown), ret->name) == 0;
        if (!ret->has_name)
                ret->name[0] = '\0';
        return 0;
}

size_t dns_write_answer(const uint8_t *query, const struct dns_question *q, unsigned code,
                        const struct address *addresses, size_t n, uint32_t ttl, uint8_t ret[DNS_MESSAGE_MAX])
{
        size_t length = q->type == DNS_AAAA ? 16 : 4;
        uint8_t *at = ret + q->end;
        unsigned written = 0;

        if (q->end < HEADER)
                return 0;
        memcpy(ret, query, q->end);
        put16(ret, q->id);
        put16(ret + 2,
              FLAG_ANSWER | (q->flags & (MASK_OPCODE | FLAG_RECURSE)) | FLAG_RECURSES | (code & MASK_CODE));
        put16(ret + 4, q->end > HEADER);
        memset(ret + 6, 0, 6);
        if (q->end == HEADER || code != DNS_OK || (q->type != DNS_A && q->type != DNS_AAAA))
                n = 0;
        for (size_t i = 0; i < n; i++) {
                if (address_is_v4(&addresses[i]) != (q->type == DNS_A))
                        continue;
                if ((size_t)(at - ret) + 12 + length > PLAIN_MAX)
                        break;
                at = put16(at, 0xc000 | HEADER); /* pointer to the question's name */
                at = put16(at, q->type);
                at = put16(at, CLASS_IN);
                at = put32(at, ttl);
                at = put16(at, (unsigned)length);
                memcpy(at, addresses[i].bytes + 16 - length, length);
                at += length;
                written++;
        }
        put16(ret + 6, written);
        return (size_t)(at - ret);
}

/* ---- our queries ---- */

size_t dns_write_question(uint16_t id, const char *name, uint16_t type, uint8_t ret[DNS_MESSAGE_MAX])
{
        struct wire_name wire;
        uint8_t *at = ret;

        if (name_to_wire(name, &wire) < 0)
                return 0;
        at = put16(at, id);
        at = put16(at, FLAG_RECURSE);
        at = put16(at, 1);
        at = put32(at, 0);
        at = put16(at, 1);
        memcpy(at, wire.bytes, wire.length);
        at += wire.length;
        at = put16(at, type);
        at = put16(at, CLASS_IN);
        *at++ = 0; /* OPT record of the root */
        at = put16(at, TYPE_OPT);
        at = put16(at, DNS_MESSAGE_MAX);
        at = put32(at, 0);
        at = put16(at, 0);
        return (size_t)(at - ret);
}

/* ---- answers ---- */

struct record {
        struct wire_name owner;
        uint16_t type, class, length;
        uint32_t ttl;
        size_t data; /* offset in the message */
};

static int read_record(struct message m, size_t *at, struct record *ret)
{
        if (read_name(m, at, true, &ret->owner) < 0 || *at + 10 > m.length)
                return -EBADMSG;
        ret->type = get16(m.data + *at);
        ret->class = get16(m.data + *at + 2);
        ret->ttl = get32(m.data + *at + 4);
        if (ret->ttl > INT32_MAX) /* RFC 2181, 8 */
                ret->ttl = 0;
        ret->length = get16(m.data + *at + 8);
        ret->data = *at + 10;
        if (ret->data + ret->length > m.length)
                return -EBADMSG;
        *at = ret->data + ret->length;
        return 0;
}

static void lower_ttl(struct dns_answer *answer, uint32_t ttl)
{
        if (ttl < answer->ttl)
                answer->ttl = ttl;
}

static int add_address(struct message m, const struct record *r, struct dns_answer *answer)
{
        size_t length = r->type == DNS_AAAA ? 16 : 4;
        struct address *a = &answer->addresses[answer->n];

        if (r->length != length)
                return -EBADMSG;
        lower_ttl(answer, r->ttl);
        if (answer->n == DNS_ADDRESSES_MAX)
                return 0;
        *a = (struct address){.bytes = {[10] = 0xff, [11] = 0xff}};
        memcpy(a->bytes + 16 - length, m.data + r->data, length);
        answer->n++;
        return 0;
}

/* Examines the answers once: collects the addresses of the name, or else its CNAME.  Returns 1 if *name was
 * replaced by the CNAME. */
static int dns_follow(struct message m, size_t at, unsigned n, uint16_t type, struct wire_name *name,
                      struct dns_answer *answer)
{
        struct wire_name other;
        uint32_t other_ttl = 0;
        bool has_other = false;

        for (unsigned i = 0; i < n; i++) {
                struct record r;

                if (read_record(m, &at, &r) < 0)
                        return -EBADMSG;
                if (r.class != CLASS_IN || !dns_is_same(&r.owner, name))
                        continue;
                if (r.type == type && add_address(m, &r, answer) < 0)
                        return -EBADMSG;
                if (r.type == TYPE_CNAME && !has_other) {
                        size_t end = r.data;

                        if (read_name(m, &end, true, &other) < 0 || end != r.data + r.length)
                                return -EBADMSG;
                        other_ttl = r.ttl;
                        has_other = true;
                }
        }
        if (answer->n > 0 || !has_other)
                return 0;
        lower_ttl(answer, other_ttl);
        *name = other;
        return 1;
}

/* Reads the TTL of a negative answer from the SOA record. */
static int read_negative_ttl(struct message m, size_t at, unsigned n_answers, unsigned n, uint32_t *ret)
{
        struct wire_name name;
        struct record r;

        *ret = 0;
        for (unsigned i = 0; i < n_answers + n; i++) {
                size_t end;

                if (read_record(m, &at, &r) < 0)
                        return -EBADMSG;
                end = r.data;
                if (i < n_answers || r.type != TYPE_SOA || r.class != CLASS_IN)
                        continue;
                for (int names = 0; names < 2; names++)
                        if (read_name(m, &end, true, &name) < 0)
                                return -EBADMSG;
                if (end + 20 != r.data + r.length)
                        return -EBADMSG;
                *ret = get32(m.data + end + 16);
                if (*ret > r.ttl)
                        *ret = r.ttl;
                return 0;
        }
        return 0;
}

int dns_read_answer(const uint8_t *message, size_t length, uint16_t id, const char *name, uint16_t type,
                    struct dns_answer *ret)
{
        struct message m = {message, length};
        struct dns_answer answer = {.ttl = UINT32_MAX};
        struct wire_name wanted, asked;
        unsigned flags, n_answers, n_authority;
        size_t at = HEADER;

        if (length < HEADER || get16(message) != id || name_to_wire(name, &wanted) < 0)
                return -EBADMSG;
        flags = get16(message + 2);
        n_answers = get16(message + 6);
        n_authority = get16(message + 8);
        if ((flags & FLAG_ANSWER) == 0 || (flags & MASK_OPCODE) != 0 || get16(message + 4) != 1)
                return -EBADMSG;
        if (read_name(m, &at, false, &asked) < 0 || at + 4 > length || !dns_is_same(&asked, &wanted) ||
            get16(message + at) != type || get16(message + at + 2) != CLASS_IN)
                return -EBADMSG;
        at += 4;
        answer.code = flags & MASK_CODE;
        if ((flags & FLAG_TRUNCATED) !=
            0) { /* the query is repeated by TCP; the data here may be cut anywhere */
                *ret = (struct dns_answer){.code = answer.code, .truncated = 1};
                return 0;
        }
        if (n_answers > RECORDS_MAX || n_authority > RECORDS_MAX)
                return -EBADMSG;
        if (answer.code == DNS_OK) {
                unsigned steps = 0;
                int r;

                while ((r = dns_follow(m, at, n_answers, type, &wanted, &answer)) > 0)
                        if (++steps > CNAMES_MAX)
                                return -EBADMSG;
                if (r < 0)
                        return r;
        }
        if (answer.n == 0) {
                uint32_t ttl;

                if (read_negative_ttl(m, at, n_answers, n_authority, &ttl) < 0)
                        return -EBADMSG;
                lower_ttl(&answer, ttl);
        }
        *ret = answer;
        return 0;
}
