#include "scan/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t scan_names_hash(const char *text, size_t len)
{
        size_t h = 5381;
        for (size_t i = 0; i < len; i++)
                h = h * 33 + (unsigned char)text[i];
        return h;
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
                size_t at = scan_names_hash(names->known[i].name, strlen(names->known[i].name)) & (size - 1);
                while (names->index[at])
                        at = (at + 1) & (size - 1);
                names->index[at] = (unsigned short)(i + 1);
        }
        return 0;
}

const struct known *names_find_exact(const struct names *names, const char *name, size_t len)
{
        size_t mask = names->index_size - 1;
        for (size_t at = scan_names_hash(name, len) & mask; names->index[at]; at = (at + 1) & mask) {
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

const struct known *names_find_module(const struct names *names, const char *name, size_t len)
{
        const struct known *found = names_find_exact(names, name, len);
        for (size_t n = len; !found && n > 0; n--)
                if (name[n - 1] == '.')
                        found = names_find_exact(names, name, n - 1);
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
