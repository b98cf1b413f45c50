#include "image/unpack/user.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "image/unpack/tree.h"

#define FILE_MAX ((size_t)1 << 20)
#define ID_MAX 0x7ffffffeu
#define NAME_MAX_LEN 256
#define FIELDS 4 /* name, password, number, group */

static bool parse_id(const char *text, size_t len, uint32_t *ret)
{
        uint64_t value = 0;
        if (len == 0 || len > 10)
                return false;
        for (size_t i = 0; i < len; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                value = value * 10 + (unsigned)(text[i] - '0');
        }
        *ret = (uint32_t)value;
        return value <= ID_MAX;
}

struct line {
        const char *field[FIELDS];
        size_t len[FIELDS];
        size_t n;
};

/* Returns the next line of a text that ends at end; false: there is none. */
static bool next_line(const char **text, const char *end, struct line *ret)
{
        if (*text >= end)
                return false;
        const char *newline = memchr(*text, '\n', (size_t)(end - *text));
        const char *line_end = newline ? newline : end;
        ret->n = 0;
        for (const char *p = *text; ret->n < FIELDS && p <= line_end;) {
                const char *colon = p < line_end ? memchr(p, ':', (size_t)(line_end - p)) : NULL;
                const char *field_end = colon ? colon : line_end;
                ret->field[ret->n] = p;
                ret->len[ret->n++] = (size_t)(field_end - p);
                if (!colon)
                        break;
                p = colon + 1;
        }
        *text = line_end + 1;
        return true;
}

/* Finds an entry by name or, if name is NULL, by number. */
static bool image_user_find(const char *text, size_t len, const char *name, uint32_t number, size_t needs,
                            uint32_t *ret_id, uint32_t *ret_group)
{
        struct line line;
        const char *end = text + len;
        while (next_line(&text, end, &line)) {
                uint32_t id;
                if (line.n < needs || line.len[0] == 0 || !parse_id(line.field[2], line.len[2], &id))
                        continue;
                if (name ? line.len[0] != strlen(name) || memcmp(line.field[0], name, line.len[0]) != 0
                         : id != number)
                        continue;
                if (needs == FIELDS && !parse_id(line.field[3], line.len[3], ret_group))
                        continue;
                *ret_id = id;
                return true;
        }
        return false;
}

static int image_user_look_up(int root, const char *file, const char *name, uint32_t number, size_t needs,
                              uint32_t *ret_id, uint32_t *ret_group)
{
        char *text = NULL;
        size_t len = 0;
        int r = tree_read(root, file, FILE_MAX, &text, &len);
        if (r < 0)
                return r;
        bool found = image_user_find(text, len, name, number, needs, ret_id, ret_group);
        free(text);
        return found ? 0 : -ENOENT;
}

static int image_user_unknown(const char *what, const char *name, const char *file, struct cella_err *err)
{
        err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                "the image is to run as %s '%.80s', which its %s does not list", what, name, file);
        return -EBADMSG;
}

int user_resolve(int root, const char *user, uint32_t *ret_uid, uint32_t *ret_gid, struct cella_err *err)
{
        char name[NAME_MAX_LEN];
        uint32_t uid = 0, gid = 0, ignored;
        if (strlen(user) >= sizeof name)
                return image_user_unknown("user", user, "/etc/passwd", err);
        memcpy(name, user, strlen(user) + 1);
        char *colon = strchr(name, ':');
        const char *group = colon ? colon + 1 : "";
        if (colon)
                *colon = '\0';
        if (parse_id(name, strlen(name), &uid)) {
                if (image_user_look_up(root, "etc/passwd", NULL, uid, FIELDS, &ignored, &gid) < 0)
                        gid = 0;
        } else if (name[0] && image_user_look_up(root, "etc/passwd", name, 0, FIELDS, &uid, &gid) < 0) {
                return image_user_unknown("user", name, "/etc/passwd", err);
        }
        if (group[0] && !parse_id(group, strlen(group), &gid) &&
            image_user_look_up(root, "etc/group", group, 0, 3, &gid, &ignored) < 0)
                return image_user_unknown("group", group, "/etc/group", err);
        *ret_uid = uid;
        *ret_gid = gid;
        return 0;
}
