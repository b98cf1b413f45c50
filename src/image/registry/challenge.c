#include "image/registry/challenge.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define NAME_SIZE 32

struct reader {
        const char *at;
        struct challenge now, best; /* the current challenge, the best one */
        bool any;                   /* a scheme was found */
};

static bool is_token_char(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               (c && strchr("!#$%&'*+-.^_`|~", c));
}

static void skip_space(struct reader *r)
{
        while (*r->at == ' ' || *r->at == '\t')
                r->at++;
}

static int read_token(struct reader *r, char *ret, size_t size)
{
        size_t n = 0;
        while (is_token_char(r->at[n]))
                n++;
        if (n == 0 || n >= size)
                return -EINVAL;
        memcpy(ret, r->at, n);
        ret[n] = '\0';
        r->at += n;
        return 0;
}

/* Reads a quoted string, with \ before special characters; only characters of URLs and queries are
 * accepted. */
static int read_quoted(struct reader *r, char *ret, size_t size)
{
        size_t n = 0;
        for (r->at++; *r->at != '"'; r->at++) {
                if (*r->at == '\\')
                        r->at++;
                if (*r->at < ' ' || *r->at > '~' || n + 1 >= size)
                        return -EINVAL;
                ret[n++] = *r->at;
        }
        r->at++;
        ret[n] = '\0';
        return 0;
}

/* Reads a parameter after its name. */
static int read_parameter(struct reader *r, const char *name)
{
        char ignored[CHALLENGE_REALM_SIZE], *to = ignored;
        size_t size = sizeof ignored;
        if (strcasecmp(name, "realm") == 0)
                to = r->now.realm, size = sizeof r->now.realm;
        else if (strcasecmp(name, "service") == 0)
                to = r->now.service, size = sizeof r->now.service;
        if (to != ignored && to[0])
                return -EINVAL; /* ambiguous */
        r->at++;
        skip_space(r);
        return *r->at == '"' ? read_quoted(r, to, size) : read_token(r, to, size);
}

static void challenge_finish(struct reader *r)
{
        bool usable = r->now.scheme != CHALLENGE_BEARER || r->now.realm[0];
        if (usable && r->now.scheme > r->best.scheme)
                r->best = r->now;
        r->now = (struct challenge){0};
}

static void challenge_begin(struct reader *r, const char *scheme)
{
        challenge_finish(r);
        r->any = true;
        if (strcasecmp(scheme, "Bearer") == 0)
                r->now.scheme = CHALLENGE_BEARER;
        else if (strcasecmp(scheme, "Basic") == 0)
                r->now.scheme = CHALLENGE_BASIC;
}

/* Some schemes have one token instead of parameters: letters, digits, -._~+/ and = at its end. */
static size_t token68_length(const char *at)
{
        size_t n = 0;
        while ((at[n] >= 'a' && at[n] <= 'z') || (at[n] >= 'A' && at[n] <= 'Z') ||
               (at[n] >= '0' && at[n] <= '9') || (at[n] && strchr("-._~+/", at[n])))
                n++;
        while (n > 0 && at[n] == '=')
                n++;
        size_t end = n + strspn(at + n, " \t");
        return n > 0 && (at[end] == ',' || at[end] == '\0') ? n : 0;
}

/* Reads one element between commas: a parameter, or a scheme with its first parameter. */
static int read_element(struct reader *r)
{
        char name[NAME_SIZE];
        if (read_token(r, name, sizeof name) < 0)
                return -EINVAL;
        bool spaced = *r->at == ' ' || *r->at == '\t';
        skip_space(r);
        if (*r->at == '=')
                return r->any ? read_parameter(r, name) : -EINVAL;
        challenge_begin(r, name);
        if (*r->at == ',' || *r->at == '\0')
                return 0;
        size_t word = token68_length(r->at);
        if (word > 0) {
                r->at += word;
                return 0;
        }
        if (!spaced || read_token(r, name, sizeof name) < 0)
                return -EINVAL;
        skip_space(r);
        return *r->at == '=' ? read_parameter(r, name) : -EINVAL;
}

int challenge_read(const char *value, struct challenge *best)
{
        struct reader r = {.at = value, .best = *best};
        for (;;) {
                while (*r.at == ' ' || *r.at == '\t' || *r.at == ',') /* empty elements are allowed */
                        r.at++;
                if (*r.at == '\0')
                        break;
                if (read_element(&r) < 0)
                        return -EINVAL;
                skip_space(&r);
                if (*r.at != ',' && *r.at != '\0')
                        return -EINVAL;
        }
        challenge_finish(&r);
        *best = r.best;
        return 0;
}
