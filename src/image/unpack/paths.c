#include "image/unpack/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/unpack/tree.h"

void paths_done(struct paths *paths)
{
        free(paths->text);
        *paths = (struct paths){0};
}

int paths_add(struct paths *paths, const char *path)
{
        size_t len = strlen(path) + 1;
        if (paths->n == PATHS_MAX || paths->len + len > PATHS_TEXT_MAX)
                return -EFBIG;
        if (paths->len + len > paths->size) {
                size_t size = paths->size ? paths->size * 2 : 2 * TREE_PATH_MAX;
                char *text = realloc(paths->text, size);
                if (!text)
                        return -ENOMEM;
                paths->text = text;
                paths->size = size;
        }
        memcpy(paths->text + paths->len, path, len);
        paths->len += len;
        paths->n++;
        return 0;
}

const char *paths_next(const struct paths *paths, const char *at)
{
        const char *next = at ? at + strlen(at) + 1 : paths->text;
        return next && next < paths->text + paths->len ? next : NULL;
}

json_t *paths_to_json(const struct paths *paths)
{
        static const char digits[] = "0123456789ABCDEF";
        char text[3 * TREE_PATH_MAX];
        json_t *array = json_array();
        for (const char *path = paths_next(paths, NULL); path; path = paths_next(paths, path)) {
                size_t n = 0;
                for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
                        if (*p > ' ' && *p < 0x7f && *p != '%') {
                                text[n++] = (char)*p;
                                continue;
                        }
                        text[n++] = '%';
                        text[n++] = digits[*p >> 4];
                        text[n++] = digits[*p & 15];
                }
                json_array_append_new(array, json_stringn(text, n));
        }
        return array;
}

static int paths_digit(char c)
{
        return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads one element of paths_to_json(). */
static int paths_decode(const json_t *value, char ret[TREE_PATH_MAX])
{
        char text[TREE_PATH_MAX];
        const char *coded = json_string_value(value);
        const size_t len = json_string_length(value);
        size_t n = 0;
        if (!coded || len > 3 * (size_t)TREE_PATH_MAX)
                return -EINVAL;
        for (size_t i = 0; i < len; i++) {
                char c = coded[i];
                if (c == '%') {
                        if (len - i < 3 || paths_digit(coded[i + 1]) < 0 || paths_digit(coded[i + 2]) < 0)
                                return -EINVAL;
                        c = (char)(paths_digit(coded[i + 1]) << 4 | paths_digit(coded[i + 2]));
                        i += 2;
                }
                if (c == '\0' || n + 1 == sizeof text)
                        return -EINVAL;
                text[n++] = c;
        }
        text[n] = '\0';
        return tree_path(text, ret);
}

int paths_from_json(const json_t *array, struct paths *ret)
{
        char path[TREE_PATH_MAX];
        size_t i;
        json_t *value;
        if (!json_is_array(array))
                return -EINVAL;
        json_array_foreach (array, i, value) {
                int r = paths_decode(value, path);
                if (r == 0)
                        r = paths_add(ret, path);
                if (r < 0)
                        return r;
        }
        return 0;
}
