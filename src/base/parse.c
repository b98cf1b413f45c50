#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"

/* Parses digits[.digits], multiplies by scale and rounds down.  *end is the character after the number. */
static int decimal(const char *text, uint64_t scale, uint64_t *ret, const char **end)
{
        uint64_t whole = 0, fraction = 0, divisor = 1;
        const char *p = text;
        if (!isdigit((unsigned char)*p))
                return -EINVAL;
        for (; isdigit((unsigned char)*p); p++)
                if (__builtin_mul_overflow(whole, 10, &whole) ||
                    __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
                        return -ERANGE;
        if (*p == '.') {
                if (!isdigit((unsigned char)*++p))
                        return -EINVAL;
                for (; isdigit((unsigned char)*p); p++)
                        if (divisor < 1000000) { /* ignore further digits */
                                fraction = fraction * 10 + (uint64_t)(*p - '0');
                                divisor *= 10;
                        }
        }
        uint64_t part;
        if (__builtin_mul_overflow(whole, scale, &whole) || __builtin_mul_overflow(fraction, scale, &part) ||
            __builtin_add_overflow(whole, part / divisor, ret))
                return -ERANGE;
        *end = p;
        return 0;
}

struct unit {
        const char *name;
        uint64_t scale;
};

static int with_unit(const char *text, const struct unit *units, size_t n, uint64_t *ret)
{
        const char *name = text + strspn(text, "0123456789.");
        for (size_t i = 0; i < n; i++)
                if (!strcasecmp(name, units[i].name)) {
                        uint64_t value;
                        const char *end;
                        int r = decimal(text, units[i].scale, &value, &end);
                        if (r < 0 || end != name)
                                return r < 0 ? r : -EINVAL;
                        *ret = value;
                        return 0;
                }
        return -EINVAL;
}

int parse_bytes(const char *text, uint64_t *ret)
{
        static const struct unit units[] = {
                {"", 1},
                {"B", 1},
                {"K", 1024},
                {"M", 1024 * 1024},
                {"G", 1024 * 1024 * 1024},
                {"T", UINT64_C(1) << 40},
                {"KB", 1024}, /* as in docker */
                {"MB", 1024 * 1024},
                {"GB", 1024 * 1024 * 1024},
                {"KiB", 1024},
                {"MiB", 1024 * 1024},
                {"GiB", 1024 * 1024 * 1024},
        };
        return with_unit(text, units, ARRAY_LEN(units), ret);
}

int parse_milliseconds(const char *text, uint64_t *ret)
{
        static const struct unit units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
        return with_unit(text, units, ARRAY_LEN(units), ret);
}

int parse_thousandths(const char *text, uint64_t *ret)
{
        static const struct unit units[] = {{"", 1000}};
        return with_unit(text, units, ARRAY_LEN(units), ret);
}

int parse_count(const char *text, uint64_t *ret)
{
        static const struct unit units[] = {{"", 1}};
        return strchr(text, '.') ? -EINVAL : with_unit(text, units, ARRAY_LEN(units), ret);
}

#define WORD_MAX 32

static unsigned least(unsigned a, unsigned b)
{
        return a < b ? a : b;
}

/* The number of insertions, deletions, replacements and swaps of neighbours that turn a into b. */
static unsigned distance(const char *a, const char *b)
{
        unsigned d[WORD_MAX + 1][WORD_MAX + 1]; /* of the first i bytes of a and the first j of b */
        const size_t a_len = strlen(a), b_len = strlen(b);
        if (a_len > WORD_MAX || b_len > WORD_MAX)
                return WORD_MAX;
        for (size_t i = 0; i <= a_len; i++)
                for (size_t j = 0; j <= b_len; j++) {
                        unsigned best = (unsigned)(i + j);
                        if (i > 0 && j > 0) {
                                best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
                                best = least(best, least(d[i - 1][j], d[i][j - 1]) + 1);
                        }
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                best = least(best, d[i - 2][j - 2] + 1);
                        d[i][j] = best;
                }
        return d[a_len][b_len];
}

const char *parse_nearest(const char *typed, const void *base, size_t n, size_t stride)
{
        const char *found = NULL;
        unsigned best = strlen(typed) > 3 ? 3 : 2; /* with more edits it is probably another word */
        for (size_t i = 0; i < n; i++) {
                const char *word = *(const char *const *)((const char *)base + i * stride);
                unsigned d = word ? distance(typed, word) : WORD_MAX;
                if (d < best) {
                        best = d;
                        found = word;
                }
        }
        return found;
}
