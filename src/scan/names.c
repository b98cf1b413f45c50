#include "scan/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t hash(const char *text, size_t len)
{
        size_t h = 5381;
        for (size_t i = 0; i < len; i++)
                h = h * 33 + (unsigned char)text[i];
        return h;
}

static uint32_t part_hash(const char *word, size_t len)
{
        size_t h = hash(word, len);
        uint32_t part = (uint32_t)(h ^ h >> 32);
        return part ? part : 1;
}

static size_t find_part(const struct names *names, uint32_t h)
{
        size_t mask = names->parts_size - 1, at = h & mask;
        while (names->parts[at] && names->parts[at] != h)
                at = (at + 1) & mask;
        return at;
}

/* Words are what a program can write as a name: letters, digits, '_' and '$'. */
static int init_parts(struct names *names)
{
        static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";
        size_t n = 0;
        for (size_t i = 0; i < names->n; i++)
                n += strlen(names->known[i].name) / 2 + 1;
        names->parts_size = 16;
        while (names->parts_size < n * 2)
                names->parts_size *= 2;
        names->parts = calloc(names->parts_size, sizeof *names->parts);
        if (!names->parts)
                return -ENOMEM;
        for (size_t i = 0; i < names->n; i++)
                for (const char *at = names->known[i].name; *at;) {
                        size_t len = strspn(at, word);
                        uint32_t h = part_hash(at, len);
                        if (len > 0)
                                names->parts[find_part(names, h)] = h;
                        at += len;
                        at += *at != '\0';
                }
        return 0;
}

bool names_have_part(const struct names *names, const char *word, size_t len)
{
        return names->parts[find_part(names, part_hash(word, len))] != 0;
}

int names_init(struct names *names)
{
        size_t size = 16;
        while (size < names->n * 3)
                size *= 2;
        names->index = calloc(size, sizeof *names->index);
        names->index_size = size;
        if (!names->index)
                return -ENOMEM;
        for (size_t i = 0; i < names->n; i++) {
                size_t at = hash(names->known[i].name, strlen(names->known[i].name)) & (size - 1);
                while (names->index[at])
                        at = (at + 1) & (size - 1);
                names->index[at] = (unsigned short)(i + 1);
        }
        return init_parts(names);
}

const struct known *names_find_exact(const struct names *names, const char *name, size_t len)
{
        size_t mask = names->index_size - 1;
        for (size_t at = hash(name, len) & mask; names->index[at]; at = (at + 1) & mask) {
                const struct known *known = &names->known[names->index[at] - 1];
                if (strlen(known->name) == len && !memcmp(known->name, name, len))
                        return known;
        }
        return NULL;
}

const struct known *names_find(const struct names *names, const char *name, size_t len)
{
        const struct known *found = names_find_exact(names, name, len);
        for (size_t n = len; !found && n > 1; n--)
                if (name[n - 1] == '.' && n < len)
                        found = names_find_exact(names, name, n);
        return found;
}

bool names_list_has(const char *const *list, size_t n, const char *name, size_t len)
{
        for (size_t i = 0; i < n; i++) /* most differ in the first byte */
                if (len > 0 && list[i][0] == name[0] && strlen(list[i]) == len && !memcmp(list[i], name, len))
                        return true;
        return false;
}

bool names_cover(const char *const *list, size_t n, const char *module, size_t len, const char *separators)
{
        for (size_t i = 0; i < n; i++) {
                size_t own = strlen(list[i]);
                if (own <= len && !memcmp(list[i], module, own) &&
                    (own == len || strchr(separators, module[own])))
                        return true;
        }
        return false;
}
