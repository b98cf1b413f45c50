/* front/tools/bytes.c -- reads and writes whole files in a sandbox: those that a model uses are small. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/utf8.h"
#include "core/sandbox/operation.h"
#include "front/rest/files.h"
#include "front/tools/internal.h"

static void bytes_free(struct bytes *b)
{
        free(b->data);
        free(b);
}

static void on_data(struct operation *op, const char *data, size_t len, void *context)
{
        struct bytes *b = context;
        (void)op;
        size_t room = b->max - b->len;
        if (len > room) {
                b->more = true;
                len = room;
        }
        if (b->len + len > b->size) {
                size_t size = (b->len + len) * 2 < b->max ? (b->len + len) * 2 : b->max;
                char *grown = realloc(b->data, size);
                if (!grown) {
                        b->more = true;
                        return;
                }
                b->data = grown;
                b->size = size;
        }
        if (len > 0)
                memcpy(b->data + b->len, data, len);
        b->len += len;
}

static void tool_bytes_feed(struct operation *op, struct bytes *b)
{
        size_t n = operation_feed(op, b->feed, b->feed_len);
        b->feed += n;
        b->feed_len -= n;
        if (b->feed_len == 0)
                operation_feed_end(op);
}

static void tool_bytes_on_room(struct operation *op, void *context)
{
        tool_bytes_feed(op, context);
}

static void tool_bytes_on_end(struct operation *op, const struct cella_err *err, void *context)
{
        struct bytes *b = context;
        (void)op;
        b->done(b->context, b, err);
        bytes_free(b);
}

static int tool_bytes_begin(struct core_sandbox *sb, const struct init_operate *what, const char *path,
                            const struct bytes *how, struct bytes **ret, struct cella_err *err)
{
        static const struct operation_events events = {on_data, tool_bytes_on_room, tool_bytes_on_end};
        int r = operation_check_path(path, "path", err);
        if (r < 0)
                return r;
        struct bytes *b = calloc(1, sizeof *b);
        if (!b)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "file");
        *b = *how;
        if ((r = operation_new(sb, what, path, NULL, &events, b, &b->operation, err)) < 0) {
                free(b);
                return r;
        }
        *ret = b;
        return 0;
}

int bytes_read(struct core_sandbox *sb, const struct init_operate *what, const char *path, size_t max,
               bytes_done done, void *context, struct bytes **ret, struct cella_err *err)
{
        const struct bytes how = {.done = done, .context = context, .max = max};
        return tool_bytes_begin(sb, what, path, &how, ret, err);
}

int bytes_write(struct core_sandbox *sb, const char *path, const char *data, size_t len, bytes_done done,
                void *context, struct bytes **ret, struct cella_err *err)
{
        const struct init_operate what = {
                .operation = INIT_WRITE, .flags = INIT_MAKE_PARENTS, .length = len, .mode = 0644};
        const struct bytes how = {.done = done, .context = context, .feed = data, .feed_len = len};
        int r = tool_bytes_begin(sb, &what, path, &how, ret, err);
        if (r == 0)
                tool_bytes_feed((*ret)->operation, *ret);
        return r;
}

void bytes_cancel(struct bytes *b)
{
        operation_cancel(b->operation);
        bytes_free(b);
}

/* ---- types ---- */

bool bytes_are_text(const char *data, size_t len)
{
        for (size_t at = 0, n; at < len; at += n)
                if (data[at] == '\0' || (n = utf8_len(data + at, len - at)) == 0)
                        return false;
        return true;
}

const char *bytes_image(const char *data, size_t len)
{
        static const struct {
                const char *mime, *magic;
                size_t len;
        } kinds[] = {{"image/png", "\x89PNG\r\n\x1a\n", 8},
                     {"image/jpeg", "\xff\xd8\xff", 3},
                     {"image/gif", "GIF87a", 6},
                     {"image/gif", "GIF89a", 6}};
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                if (len >= kinds[i].len && !memcmp(data, kinds[i].magic, kinds[i].len))
                        return kinds[i].mime;
        return len >= 12 && !memcmp(data, "RIFF", 4) && !memcmp(data + 8, "WEBP", 4) ? "image/webp" : NULL;
}

char *bytes_base64(const char *data, size_t len)
{
        char *text = malloc(BASE64_LEN(len) + 1);
        if (!text)
                return NULL;
        base64_encode(data, len, text);
        text[BASE64_LEN(len)] = '\0';
        return text;
}

int bytes_of_content(const json_t *content, const char *name, const char **ret, size_t *ret_len,
                     char **ret_owned, struct cella_err *err)
{
        const json_t *encoded = json_object_get(content, "base64");
        *ret_owned = NULL;
        if (json_is_string(content)) {
                *ret = json_string_value(content);
                *ret_len = json_string_length(content);
                return 0;
        }
        if (!json_is_string(encoded) || json_object_size(content) != 1)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "%s must be a string or {\"base64\": \"...\"}", name);
        size_t len = json_string_length(encoded), size = len / 4 * 3 + 3;
        char *data = malloc(size);
        ssize_t n = data ? base64_decode(json_string_value(encoded), len, data, size) : -ENOMEM;
        if (n < 0) {
                free(data);
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s.base64 is not base64", name);
        }
        *ret = *ret_owned = data;
        *ret_len = (size_t)n;
        return 0;
}

/* ---- directories ---- */

static int by_name(const void *a, const void *b)
{
        json_t *const *x = a, *const *y = b;
        return strcmp(json_string_value(json_object_get(*x, "name")),
                      json_string_value(json_object_get(*y, "name")));
}

json_t *bytes_entries(const struct bytes *b)
{
        struct init_stat st;
        json_t *entries[BYTES_ENTRIES_MAX], *list = json_array();
        size_t n = 0;
        for (size_t at = 0; at + sizeof st <= b->len && n < BYTES_ENTRIES_MAX; at += st.name_len) {
                memcpy(&st, b->data + at, sizeof st);
                at += sizeof st;
                if (st.name_len > b->len - at)
                        break;
                entries[n++] = file_stat_to_json(&st, "name", b->data + at, st.name_len);
        }
        if (n > 0)
                qsort(entries, n, sizeof *entries, by_name);
        for (size_t i = 0; i < n; i++)
                json_array_append_new(list, entries[i]);
        return list;
}
