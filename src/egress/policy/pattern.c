/* egress/policy/pattern.c -- see pattern.h.  Errors are texts for the author of the pattern. */
#include "egress/policy/pattern.h"

#include <stdbool.h>
#include <string.h>

#include "base/auto.h"
#include "wire/egress.h"

static const char bad_port[] = "a port is a number from 1 to 65535";
static const char bad_bits[] =
        "a network's length is a number from 1 to 32, of IPv6 to 128, as in 10.0.0.0/8";

static const char *read_port(const char *text, uint16_t *ret)
{
        unsigned value = 0;
        size_t length = strspn(text, "0123456789");

        if (length == 0 || length > 5 || text[length] != '\0' || text[0] == '0')
                return bad_port;
        for (size_t i = 0; i < length; i++)
                value = value * 10 + (unsigned)(text[i] - '0');
        if (value > 65535)
                return bad_port;
        *ret = (uint16_t)value;
        return NULL;
}

/* text: after the slash.  *end: after the number. */
static const char *read_bits(const char *text, struct pattern *pattern, const char **end)
{
        unsigned most = address_is_v4(&pattern->network) ? 32 : 128, value = 0;
        size_t length = strspn(text, "0123456789");
        struct address cut = pattern->network;

        if (length == 0 || length > 3 || text[0] == '0')
                return bad_bits;
        for (size_t i = 0; i < length; i++)
                value = value * 10 + (unsigned)(text[i] - '0');
        if (value > most)
                return bad_bits;
        value += 128 - most;
        for (unsigned bit = value; bit < 128; bit++)
                cut.bytes[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
        if (memcmp(&cut, &pattern->network, sizeof(cut)) != 0)
                return "a network has only zeros after its length, as in 10.0.0.0/8";
        pattern->bits = (uint8_t)value;
        *end = text + length;
        return NULL;
}

/* Parses an address or network.  Returns NULL if it is valid. */
static const char *read_network(enum policy_list list, const char *text, struct pattern *ret,
                                bool *ret_is_one)
{
        const char *end = text[0] == '[' ? strchr(text, ']') : NULL, *wrong;
        bool in_brackets = end != NULL;

        if (in_brackets)
                end++;
        else if (strchr(text, ':') != strrchr(text, ':'))
                end = text + strcspn(text, "/"); /* IPv6 without [ ]: no port */
        else
                end = text + strcspn(text, "/:");
        *ret_is_one = address_parse(text, (size_t)(end - text), &ret->network) == 0;
        if (!*ret_is_one)
                return NULL;
        ret->kind = PATTERN_NETWORK;
        ret->bits = 128;
        if (*end == '/') {
                if (list != POLICY_PRIVATE)
                        return "networks are for allowed_private only; write each address, or names";
                wrong = read_bits(end + 1, ret, &end);
                if (wrong != NULL)
                        return wrong;
                if (*end == ':' && !in_brackets && !address_is_v4(&ret->network))
                        return "an IPv6 address with a port is written in [ ], as in [fd00::]/8:443";
        }
        if (*end == ':')
                return read_port(end + 1, &ret->port);
        return *end == '\0' ? NULL : "after an address comes :PORT or nothing";
}

static const char *why_no_name(const char *text)
{
        static const struct {
                const char *letters, *why;
        } hints[] = {
                {"/", "a pattern is a name without a path"},
                {"*", "a * is only allowed at the beginning, for whole labels, as in *.example.com"},
                {"@", "a pattern must not contain a user name"},
        };

        for (const char *p = text; *p != '\0'; p++)
                if ((unsigned char)*p > 127)
                        return "a name has letters, digits and hyphens; write it as xn--...";
        for (size_t i = 0; i < ARRAY_LEN(hints); i++)
                if (strpbrk(text, hints[i].letters) != NULL)
                        return hints[i].why;
        if (text[strspn(text, "0123456789.xXabcdefABCDEF")] == '\0' && strpbrk(text, "0123456789") != NULL)
                return "an address is written as four decimal numbers, as in 192.0.2.1";
        return "a name has labels of letters, digits and hyphens with dots between them, as in "
               "api.example.com";
}

/* Handles texts in which the first colon does not start a port. */
static const char *why_not_at_all(const char *text)
{
        const char *colon = strchr(text, ':');

        if (strstr(text, "://") != NULL)
                return "a pattern is a name, not a URL: remove everything before and after the name";
        if (strpbrk(text, "[%") != NULL ||
            (colon != NULL && (strstr(text, "::") != NULL || strchr(colon + 1, ':') != NULL)))
                return "this is not an IPv6 address (it has no zone, and is in [ ] if a port follows)";
        return NULL;
}

const char *pattern_read(enum policy_list list, const char *text, struct pattern *ret,
                         char name[NAME_MAX_BYTES])
{
        const char *colon, *wrong;
        bool is_network;
        size_t length;

        *ret = (struct pattern){0};
        name[0] = '\0';
        if (text[0] == '\0')
                return "a pattern has something in it";
        if (strlen(text) >= EGRESS_PATTERN_MAX)
                return "a name has 253 characters at most";
        if (strcmp(text, "*") == 0)
                return list == POLICY_BLOCKED ? "* alone is not a pattern; use the tier restricted"
                                              : "* alone is not a pattern; use the tier elevated";
        wrong = read_network(list, text, ret, &is_network);
        if (is_network)
                return wrong;
        wrong = why_not_at_all(text);
        if (wrong != NULL)
                return wrong;

        if (strncmp(text, "*.", 2) == 0) {
                ret->kind = PATTERN_BELOW;
                text += 2;
        }
        colon = strchr(text, ':');
        length = colon != NULL ? (size_t)(colon - text) : strlen(text);
        if (name_normalise(text, length, name) < 0)
                return why_no_name(text);
        ret->length = (uint32_t)strlen(name);
        return colon != NULL ? read_port(colon + 1, &ret->port) : NULL;
}
