/* http/target.c -- see target.h. */
#include "http/target.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"

/* Decodes in place: the result is never longer. */
static bool http_target_decode(char *text, bool plus_is_space)
{
        char *to = text;

        for (const char *from = text; *from != '\0'; from++) {
                int high, low;

                if (*from != '%') {
                        *to = *from;
                        if (*from == '+' && plus_is_space)
                                *to = ' ';
                        to++;
                        continue;
                }
                high = hex_value(from[1]);
                low = high < 0 ? -1 : hex_value(from[2]);
                if (low < 0 || (high == 0 && low == 0)) /* a NUL would truncate the text */
                        return false;
                *to++ = (char)(high << 4 | low);
                from += 2;
        }
        *to = '\0';
        return true;
}

static void split_path(struct target *target, char *at)
{
        while (at != NULL) {
                char *next = strchr(at, '/');

                if (next != NULL)
                        *next++ = '\0';
                if (target->n_segments > TARGET_SEGMENTS_MAX)
                        return; /* longer than any route */
                if (!http_target_decode(at, false)) {
                        target->wrong = "the path has an invalid escape";
                        return;
                }
                target->segments[target->n_segments++] = at;
                at = next;
        }
}

static void split_query(struct target *target, char *at)
{
        while (at != NULL) {
                char *next = strchr(at, '&'), *value;

                if (next != NULL)
                        *next++ = '\0';
                if (*at != '\0') {
                        value = strchr(at, '=');
                        if (value != NULL)
                                *value++ = '\0';
                        else
                                value = at + strlen(at);
                        if (target->n_query == TARGET_QUERY_MAX) {
                                target->wrong = "the query has too many parameters";
                                return;
                        }
                        if (!http_target_decode(at, true) || !http_target_decode(value, true)) {
                                target->wrong = "the query has an invalid escape";
                                return;
                        }
                        target->query[target->n_query].name = at;
                        target->query[target->n_query++].value = value;
                }
                at = next;
        }
}

/* "http://host/path" is what a client sends to a proxy; servers must accept it, too (RFC 9112, 3.2.2). */
static const char *without_origin(const char *uri, const char **ret_authority, size_t *ret_len)
{
        size_t scheme = strncasecmp(uri, "http://", 7) == 0    ? 7
                        : strncasecmp(uri, "https://", 8) == 0 ? 8
                                                               : 0;
        const char *path = uri;

        if (scheme > 0) {
                *ret_authority = uri + scheme;
                *ret_len = strcspn(uri + scheme, "/?#");
                path = uri + scheme + *ret_len;
        }
        return *path != '\0' ? path : "/";
}

struct target *target_new(const char *uri)
{
        size_t len, authority_len = 0;
        struct target *target;
        const char *authority = NULL;
        char *copy, *query;

        uri = without_origin(uri, &authority, &authority_len);
        len = strlen(uri) + 1;
        target = malloc(sizeof(*target) + 2 * len + authority_len + 1);
        if (target == NULL)
                return NULL;
        memset(target, 0, offsetof(struct target, query));
        if (authority != NULL) {
                char *kept = target->text + 2 * len;

                memcpy(kept, authority, authority_len);
                kept[authority_len] = '\0';
                target->authority = kept;
        }
        memcpy(target->text, uri, len);
        target->text[strcspn(target->text, "?")] = '\0';
        target->path = target->text;

        copy = target->text + len;
        memcpy(copy, uri, len);
        query = strchr(copy, '?');
        if (query != NULL)
                *query++ = '\0';
        if (copy[0] == '/')
                split_path(target, copy + 1);
        if (target->wrong == NULL)
                split_query(target, query);
        return target;
}

const char *target_query(const struct target *target, const char *name)
{
        for (unsigned i = 0; i < target->n_query; i++)
                if (strcmp(target->query[i].name, name) == 0)
                        return target->query[i].value;
        return NULL;
}
