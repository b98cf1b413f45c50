/* egress/policy/address.c -- see address.h.
 *
 * The tables follow IANA's registries of special-purpose addresses.  For IPv6 they are inverted: only
 * 2000::/3 is public, except for the listed ranges.  Ranges that the registries call globally reachable but
 * that are anycast addresses of network infrastructure (AS112, AMT, 6to4 relays, PCP, TURN) are refused,
 * too: the node that answers often belongs to the local site. */
#include "egress/policy/address.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/hex.h"

static const uint8_t v4_prefix[12] = {[10] = 0xff, [11] = 0xff};
static const uint8_t compatible[12] = {0}, nat64[12] = {0x00, 0x64, 0xff, 0x9b},
                     nat64_local[6] = {0x00, 0x64, 0xff, 0x9b, 0x00, 0x01};
static const uint8_t to4[2] = {0x20, 0x02}, teredo[4] = {0x20, 0x01};
static const char reserved[] = "reserved", metadata[] = "metadata";

/* ---- text ---- */

static int read_v4(const char *text, size_t length, uint8_t ret[4])
{
        size_t at = 0;

        for (unsigned part = 0; part < 4; part++) {
                unsigned value = 0, digits = 0;

                if (part > 0 && (at == length || text[at++] != '.'))
                        return -EINVAL;
                for (; at < length && text[at] >= '0' && text[at] <= '9'; at++) {
                        if (digits++ > 0 && value == 0)
                                return -EINVAL; /* octal for some parsers */
                        value = value * 10 + (unsigned)(text[at] - '0');
                        if (value > 255)
                                return -EINVAL;
                }
                if (digits == 0)
                        return -EINVAL;
                ret[part] = (uint8_t)value;
        }
        return at == length ? 0 : -EINVAL;
}

/* Parses groups separated by single colons, up to "::" or the end; the last may be an IPv4 address.
 * Returns the number of bytes; *at is moved behind them. */
static int read_groups(const char *text, size_t length, size_t *at, uint8_t ret[16])
{
        int n = 0;

        while (*at < length && text[*at] != ':') {
                size_t begin = *at;
                unsigned value = 0;

                for (; *at < length && hex_value(text[*at]) >= 0; (*at)++) {
                        if (*at - begin == 4)
                                return -EINVAL;
                        value = value << 4 | (unsigned)hex_value(text[*at]);
                }
                if (*at < length && text[*at] == '.') {
                        if (n > 12 || read_v4(text + begin, length - begin, ret + n) < 0)
                                return -EINVAL;
                        *at = length;
                        return n + 4;
                }
                if (*at == begin || n > 14)
                        return -EINVAL;
                ret[n++] = (uint8_t)(value >> 8);
                ret[n++] = (uint8_t)value;
                if (*at == length || text[*at] != ':')
                        break;
                if (*at + 1 == length)
                        return -EINVAL; /* ends in one colon */
                if (text[*at + 1] == ':')
                        break;
                (*at)++;
        }
        return n;
}

static int read_v6(const char *text, size_t length, uint8_t ret[16])
{
        uint8_t head[16] = {0}, tail[16] = {0};
        size_t at = 0;
        int n_head, n_tail = 0;

        n_head = read_groups(text, length, &at, head);
        if (n_head < 0)
                return n_head;
        if (at == length) {
                if (n_head != 16)
                        return -EINVAL;
        } else {
                if (length - at < 2 || text[at] != ':' || text[at + 1] != ':')
                        return -EINVAL;
                at += 2;
                n_tail = read_groups(text, length, &at, tail);
                /* "::" replaces at least one group. */
                if (n_tail < 0 || at != length || n_head + n_tail > 14)
                        return -EINVAL;
        }
        memcpy(ret, head, 16);
        if (n_tail > 0)
                memcpy(ret + 16 - n_tail, tail, (size_t)n_tail);
        return 0;
}

int address_parse(const char *text, size_t length, struct address *ret)
{
        struct address a;

        memcpy(a.bytes, v4_prefix, sizeof(v4_prefix));
        if (length == 0)
                return -EINVAL;
        if (memchr(text, ':', length) == NULL) {
                if (read_v4(text, length, a.bytes + 12) < 0)
                        return -EINVAL;
        } else {
                if (text[0] == '[') {
                        if (length < 2 || text[length - 1] != ']')
                                return -EINVAL;
                        text++;
                        length -= 2;
                }
                if (read_v6(text, length, a.bytes) < 0)
                        return -EINVAL;
        }
        *ret = a;
        return 0;
}

bool address_is_v4(const struct address *a)
{
        return memcmp(a->bytes, v4_prefix, sizeof(v4_prefix)) == 0;
}

static unsigned group(const struct address *a, int i)
{
        return (unsigned)a->bytes[2 * i] << 8 | a->bytes[2 * i + 1];
}

void address_write(const struct address *a, char ret[46])
{
        int best = 8, best_length = 1; /* a single zero group is not shortened */
        size_t at = 0;

        if (address_is_v4(a)) {
                snprintf(ret, 46, "%u.%u.%u.%u", a->bytes[12], a->bytes[13], a->bytes[14], a->bytes[15]);
                return;
        }
        for (int i = 0; i < 8; i++) {
                int n = 0;

                while (i + n < 8 && group(a, i + n) == 0)
                        n++;
                if (n > best_length) {
                        best = i;
                        best_length = n;
                }
        }
        for (int i = 0; i < 8; i++) {
                if (i == best) {
                        at += (size_t)snprintf(ret + at, 46 - at, "::");
                        i += best_length - 1;
                        continue;
                }
                at += (size_t)snprintf(ret + at, 46 - at, "%s%x",
                                       i == 0 || (best < 8 && i == best + best_length) ? "" : ":",
                                       group(a, i));
        }
}

/* ---- classification ---- */

static bool begins_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
        unsigned whole = bits / 8, rest = bits % 8;

        return memcmp(a, b, whole) == 0 && (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

bool address_in(const struct address *a, const struct address *network, unsigned bits)
{
        return bits <= 128 && begins_equal(a->bytes, network->bytes, bits);
}

struct range {
        uint8_t bytes[16]; /* IPv4: the first four */
        uint8_t bits;
        const char *what;
};

/* The first match counts. */
static const struct range v4_ranges[] = {
        {{169, 254, 169, 254}, 32, metadata}, /* nearly all clouds */
        {{169, 254, 170, 2}, 32, metadata},   /* container credentials, Amazon */
        {{169, 254, 170, 23}, 32, metadata},
        {{168, 63, 129, 16}, 32, metadata},   /* Azure; looks public */
        {{100, 100, 100, 200}, 32, metadata}, /* Alibaba */
        {{192, 0, 0, 192}, 32, metadata},     /* Oracle, formerly */
        {{0, 0, 0, 0}, 32, "unspecified"},    /* connects to this host */
        {{0}, 8, reserved},
        {{10}, 8, "private"},
        {{100, 64}, 10, "shared (CGNAT)"},
        {{127}, 8, "loopback"},
        {{169, 254}, 16, "link-local"},
        {{172, 16}, 12, "private"},
        {{192, 0, 0}, 24, reserved},
        {{192, 0, 2}, 24, "documentation"},
        {{192, 31, 196}, 24, reserved}, /* AS112 */
        {{192, 52, 193}, 24, reserved}, /* AMT */
        {{192, 88, 99}, 24, reserved},  /* 6to4 relays */
        {{192, 168}, 16, "private"},
        {{192, 175, 48}, 24, reserved}, /* AS112 */
        {{198, 18}, 15, reserved},      /* benchmarks; also our synthetic addresses */
        {{198, 51, 100}, 24, "documentation"},
        {{203, 0, 113}, 24, "documentation"},
        {{224}, 4, "multicast"},
        {{255, 255, 255, 255}, 32, "broadcast"},
        {{240}, 4, reserved},
};

static const struct range v6_ranges[] = {
        {{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}, 128, metadata}, /* Amazon */
        {{0xfd, 0x00, 0x0e, 0xc2, [15] = 0x23}, 128, metadata},
        {{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, [15] = 0x54}, 128, metadata}, /* Google */
        {{0}, 128, "unspecified"},
        {{[15] = 1}, 128, "loopback"},
        {{0xfc}, 7, "private"},
        {{0xfe, 0x80}, 10, "link-local"},
        {{0xfe, 0xc0}, 10, "private"}, /* site-local */
        {{0xff}, 8, "multicast"},
        {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, "private"}, /* site-local NAT64 */
        {{0x20, 0x01, 0x0d, 0xb8}, 32, "documentation"},
        {{0x3f, 0xff}, 20, "documentation"},
        {{0x20, 0x01}, 23, reserved},                         /* Teredo, ORCHID, benchmarks, anycast */
        {{0x26, 0x20, 0x00, 0x4f, 0x80, 0x00}, 48, reserved}, /* AS112 */
};

static const char *range_find(const struct range *ranges, size_t n, const uint8_t *bytes)
{
        for (size_t i = 0; i < n; i++)
                if (begins_equal(bytes, ranges[i].bytes, ranges[i].bits))
                        return ranges[i].what;
        return NULL;
}

static const char *v4_trouble(const uint8_t *bytes)
{
        return range_find(v4_ranges, ARRAY_LEN(v4_ranges), bytes);
}

static bool policy_address_begins(const struct address *a, const uint8_t *prefix, size_t length)
{
        return memcmp(a->bytes, prefix, length) == 0;
}

/* Returns the embedded IPv4 address that a router would use. */
static const uint8_t *inner_bytes(const struct address *a)
{
        if (policy_address_begins(a, nat64, sizeof(nat64)))
                return a->bytes + 12;
        return policy_address_begins(a, to4, sizeof(to4)) ? a->bytes + 2 : NULL;
}

bool address_inner(const struct address *a, struct address *ret)
{
        const uint8_t *inner = inner_bytes(a);

        if (inner == NULL)
                return false;
        memcpy(ret->bytes, v4_prefix, sizeof(v4_prefix));
        memcpy(ret->bytes + sizeof(v4_prefix), inner, 4);
        return true;
}

/* A site-local NAT64 may use any prefix length, so the IPv4 address can be at several offsets (RFC 6052,
 * 2.2). */
static const char *local_nat64_trouble(const uint8_t *b)
{
        const uint8_t forms[][4] = {{b[6], b[7], b[9], b[10]},
                                    {b[7], b[9], b[10], b[11]},
                                    {b[9], b[10], b[11], b[12]},
                                    {b[12], b[13], b[14], b[15]}};

        for (size_t i = 0; i < ARRAY_LEN(forms); i++)
                if (v4_trouble(forms[i]) == metadata)
                        return metadata;
        return NULL;
}

static const char *inner_trouble(const struct address *a)
{
        const uint8_t *b = a->bytes;
        const char *trouble;
        uint8_t client[4];

        if (inner_bytes(a) != NULL)
                return v4_trouble(inner_bytes(a));
        if (policy_address_begins(a, nat64_local, sizeof(nat64_local)))
                return local_nat64_trouble(b);
        if (policy_address_begins(a, compatible, sizeof(compatible)))
                return v4_trouble(b + 12);
        if (policy_address_begins(
                    a, teredo,
                    sizeof(teredo))) { /* the server's address, and the client's with inverted bits */
                for (int i = 0; i < 4; i++)
                        client[i] = (uint8_t)~b[12 + i];
                trouble = v4_trouble(client);
                return trouble != NULL ? trouble : v4_trouble(b + 4);
        }
        /* ISATAP with any prefix: ::0:5efe:a.b.c.d, or 200:5efe for a unique address. */
        if ((b[8] & 0xfd) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe)
                return v4_trouble(b + 12);
        return NULL;
}

const char *address_trouble(const struct address *a)
{
        const char *trouble, *inner;

        if (address_is_v4(a))
                return v4_trouble(a->bytes + 12);
        trouble = range_find(v6_ranges, ARRAY_LEN(v6_ranges), a->bytes);
        /* Only 2000::/3 is public; NAT64 leads to IPv4. */
        if (trouble == NULL && a->bytes[0] >> 5 != 1 && !policy_address_begins(a, nat64, sizeof(nat64)))
                trouble = reserved;
        /* The class of the embedded address is more specific than "reserved".  Metadata has precedence,
         * because it is not permitted together with the network around it. */
        inner = inner_trouble(a);
        return inner != NULL && (trouble == NULL || trouble == reserved || inner == metadata) ? inner
                                                                                              : trouble;
}
