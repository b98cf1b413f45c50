#include "core/settings/http_fields.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/parse.h"
#include "egress/policy/address.h"

#define LIST_MAX 64

static int check_hosts(const json_t *value, const char *path, struct cella_err *err)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
        size_t i;
        const json_t *item;
        json_array_foreach ((json_t *)value, i, item) {
                const char *text = json_string_value(item);
                struct address address;
                if (!text || !strcmp(text, "*") || strspn(text, letters) == strlen(text) ||
                    (text[0] == '[' && address_parse(text, strlen(text), &address) == 0))
                        continue;
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s: '%.100s' is not a host name", path, text);
                return err_hint(err, "a name without port, like box.example.org; \"*\" allows every name");
        }
        return 0;
}

/* "ADDRESS" or "ADDRESS/BITS". */
static int parse_network(const char *text, struct address *ret, unsigned *ret_bits)
{
        const size_t len = strcspn(text, "/");
        uint64_t bits = 0;
        if (address_parse(text, len, ret) < 0)
                return -EINVAL;
        const unsigned before = address_is_v4(ret) ? 96 : 0;
        if (!text[len]) {
                *ret_bits = 128;
                return 0;
        }
        if (parse_count(text + len + 1, &bits) < 0 || bits > 128 - before)
                return -EINVAL;
        *ret_bits = before + (unsigned)bits;
        return 0;
}

static int check_proxies(const json_t *value, const char *path, struct cella_err *err)
{
        size_t i;
        const json_t *item;
        json_array_foreach ((json_t *)value, i, item) {
                struct address network;
                unsigned bits;
                const char *text = json_string_value(item);
                if (!text || parse_network(text, &network, &bits) == 0)
                        continue;
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s: '%.100s' is not an address", path, text);
                return err_hint(err, "an address or a network, like 127.0.0.1 or 10.0.0.0/8");
        }
        return 0;
}

static const struct field host = {
        .name = "", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .min = 1, .max = 253};
static const struct field proxy = {
        .name = "", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .min = 1, .max = 64};

const struct field *http_settings_fields(void)
{
        static const struct field fields[] = {
                {.name = "allowed_hosts",
                 .type = FIELD_ARRAY,
                 .item = &host,
                 .max = LIST_MAX,
                 .standard = "[]",
                 .check = check_hosts,
                 .help = "host names of the daemon, besides localhost and the address that it listens on; "
                         "requests with another Host are refused; \"*\": any"},
                {.name = "trusted_proxies",
                 .type = FIELD_ARRAY,
                 .item = &proxy,
                 .max = LIST_MAX,
                 .standard = "[]",
                 .check = check_proxies,
                 .help = "addresses or networks of reverse proxies, whose X-Forwarded-For is believed"},
                {0}};
        return fields;
}

bool http_settings_is_address(const char *text, size_t len)
{
        struct address address;
        return address_parse(text, len, &address) == 0;
}

bool http_settings_trusts(const json_t *document, const char *text, size_t len)
{
        const json_t *list = json_object_get(json_object_get(document, "http"), "trusted_proxies"), *item;
        struct address address, network;
        unsigned bits;
        size_t i;
        if (address_parse(text, len, &address) < 0)
                return false;
        json_array_foreach ((json_t *)list, i, item)
                if (parse_network(json_string_value(item), &network, &bits) == 0 &&
                    address_in(&address, &network, bits))
                        return true;
        return false;
}
