#include "scan/place.h"

#include <string.h>

#include "base/auto.h"

static const char *const inside[] = {"/workspace", "/tmp", "/dev/shm", "/dev/fd"};
static const char *const devices[] = {"/dev/null",  "/dev/stdout", "/dev/stderr",
                                      "/dev/stdin", "/dev/zero",   "/dev/full"};

/* An absolute path below one of these directories, which never leaves it. */
static bool below(const char *path, size_t len, const char *top)
{
        size_t n = strlen(top);
        int depth = 0;
        if (len < n || memcmp(path, top, n) != 0 || (len > n && path[n] != '/'))
                return false;
        for (size_t i = n; i < len;) {
                while (i < len && path[i] == '/')
                        i++;
                size_t from = i;
                while (i < len && path[i] != '/')
                        i++;
                size_t part = i - from;
                if (part == 2 && path[from] == '.' && path[from + 1] == '.')
                        depth--;
                else if (part > 0 && !(part == 1 && path[from] == '.'))
                        depth++;
                if (depth < 0)
                        return false;
        }
        return true;
}

bool place_is_inside(const char *path, size_t len)
{
        if (memchr(path, '\0', len))
                return false;
        if (len == 0 || (path[0] != '/' && path[0] != '~')) {
                char absolute[4096] = "/workspace/";
                size_t n = strlen(absolute);
                if (len > sizeof absolute - n)
                        return false;
                memcpy(absolute + n, path, len);
                return below(absolute, n + len, "/workspace");
        }
        while (len > 1 && path[0] == '/' && path[1] == '/')
                path++, len--;
        for (size_t i = 0; i < ARRAY_LEN(inside); i++)
                if (below(path, len, inside[i]))
                        return true;
        for (size_t i = 0; i < ARRAY_LEN(devices); i++)
                if (len == strlen(devices[i]) && !memcmp(path, devices[i], len))
                        return true;
        return false;
}

static void scan_place_look(const struct values *path, bool *ret_outside, bool *ret_unknown)
{
        *ret_outside = false;
        *ret_unknown = path->other;
        for (unsigned i = 0; i < path->n; i++) {
                const struct value *v = &path->v[i];
                if (v->kind == VALUE_NUMBER)
                        continue; /* a descriptor */
                if (v->text && (v->kind == VALUE_TEXT || v->kind == VALUE_PATH))
                        *ret_outside |= !place_is_inside(v->text, v->len);
                else
                        *ret_unknown = true;
        }
}

enum rule place_read(const struct values *path)
{
        bool outside, unknown;
        scan_place_look(path, &outside, &unknown);
        return outside ? RULE_FILE_READ_OUTSIDE : RULE_FILE_READ;
}

enum rule place_write(const struct values *path)
{
        bool outside, unknown;
        scan_place_look(path, &outside, &unknown);
        return outside ? RULE_FILE_WRITE_OUTSIDE : unknown ? RULE_FILE_WRITE_UNKNOWN : RULE_FILE_WRITE;
}

enum rule place_tree(const struct values *path)
{
        const enum rule rule = place_write(path);
        return rule == RULE_FILE_WRITE_OUTSIDE ? RULE_FILE_TREE_OUTSIDE : rule;
}
