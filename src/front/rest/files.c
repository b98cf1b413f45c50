/* front/rest/files.c -- files of a sandbox, except reading and writing contents (files_stream.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "core/sandbox/operation.h"
#include "front/rest/files.h"
#include "front/rest/rest.h"

#define ENTRIES_MAX 10000

void file_etag(const struct init_stat *st, char ret[FILE_ETAG_SIZE])
{
        snprintf(ret, FILE_ETAG_SIZE, "\"%llx-%llx-%llx\"", (unsigned long long)st->inode,
                 (unsigned long long)st->bytes, (unsigned long long)st->modified_ns);
}

const char *file_type(uint32_t mode)
{
        return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "directory" : S_ISLNK(mode) ? "symlink" : "other";
}

/* File names may be any bytes; JSON must be UTF-8. */
static json_t *safe_string(const char *text, size_t len)
{
        json_t *s = json_stringn(text, len);
        if (s)
                return s;
        char *copy = malloc(len * 3 + 1);
        size_t n = 0;
        for (size_t i = 0; copy && i < len; i++) {
                if ((unsigned char)text[i] < 0x80) {
                        copy[n++] = text[i];
                } else { /* U+FFFD */
                        copy[n++] = '\xef';
                        copy[n++] = '\xbf';
                        copy[n++] = '\xbd';
                }
        }
        s = copy ? json_stringn(copy, n) : NULL;
        free(copy);
        return s ? s : json_string("?");
}

json_t *file_stat_to_json(const struct init_stat *st, const char *key, const char *name, size_t name_len)
{
        char mode[8];
        snprintf(mode, sizeof mode, "%04o", st->mode & 07777);
        return json_pack("{s:o, s:s, s:I, s:s, s:o}", key, safe_string(name, name_len), "type",
                         file_type(st->mode), "bytes", (json_int_t)st->bytes, "mode", mode, "modified",
                         core_time(st->modified_ns / 1000000));
}

/* ---- operations that have one short result ---- */

struct simple {
        struct call *call;
        struct operation *operation;
        char *path;
        void (*done)(struct simple *s, const struct cella_err *err);
        char *data; /* its output, at most data_max bytes */
        size_t len, size, data_max;
        bool overflow;
        int status;
        json_t *list;
};

static void simple_free(struct simple *s)
{
        if (s->call)
                http_on_gone(s->call->request, NULL, NULL);
        json_decref(s->list);
        free(s->path);
        free(s->data);
        free(s);
}

static void rest_files_on_gone(struct http_request *request, void *context)
{
        struct simple *s = context;
        (void)request;
        s->call = NULL;
        operation_cancel(s->operation);
        simple_free(s);
}

static void on_data(struct operation *op, const char *data, size_t len, void *context)
{
        struct simple *s = context;
        (void)op;
        if (s->overflow || s->len + len > s->data_max) {
                s->overflow = true;
                return;
        }
        if (s->len + len > s->size) {
                size_t size = (s->len + len) * 2;
                char *more = realloc(s->data, size);
                if (!more) {
                        s->overflow = true;
                        return;
                }
                s->data = more;
                s->size = size;
        }
        memcpy(s->data + s->len, data, len);
        s->len += len;
}

static void rest_files_on_end(struct operation *op, const struct cella_err *err, void *context)
{
        struct simple *s = context;
        (void)op;
        s->done(s, err);
}

static const struct operation_events simple_events = {.on_data = on_data, .on_end = rest_files_on_end};

static void rest_files_start(struct simple *s, struct core_sandbox *sb, const struct init_operate *what,
                             const char *path, const char *path2)
{
        struct cella_err err = {0};
        http_on_gone(s->call->request, rest_files_on_gone, s);
        if (operation_new(sb, what, path, path2, &simple_events, s, &s->operation, &err) < 0) {
                api_reply_err(s->call, &err);
                simple_free(s);
        }
}

static struct simple *simple_new(struct call *call, const char *path, size_t data_max,
                                 void (*done)(struct simple *, const struct cella_err *))
{
        struct simple *s = calloc(1, sizeof *s);
        struct cella_err err = {0};
        if (s && (s->path = strdup(path))) {
                s->call = call;
                s->done = done;
                s->data_max = data_max;
                return s;
        }
        free(s);
        err_set(&err, CELLA_INTERNAL, -ENOMEM, "file operation");
        api_reply_err(call, &err);
        return NULL;
}

/* Returns the path of the query or of the body; answers with an error and returns NULL if it is invalid. */
const char *file_path(struct call *call, const json_t *body, const char *name)
{
        struct cella_err err = {0};
        const char *path =
                body ? json_string_value(json_object_get(body, name)) : http_query(call->request, name);
        if (operation_check_path(path, name, &err) == 0)
                return path;
        api_reply_err(call, &err);
        return NULL;
}

/* ---- stat ---- */

static void stat_done(struct simple *s, const struct cella_err *err)
{
        struct init_stat st;
        struct cella_err bad = {0};
        char etag[FILE_ETAG_SIZE];
        if (!err && s->len < sizeof st) {
                err_say(&bad, CELLA_NOT_FOUND, -EIO, "'%.120s' could not be examined", s->path);
                err = &bad;
        }
        if (err) {
                api_reply_err(s->call, err);
                simple_free(s);
                return;
        }
        memcpy(&st, s->data, sizeof st);
        file_etag(&st, etag);
        if (S_ISREG(st.mode))
                http_add_header(s->call->request, "ETag", etag);
        json_t *o = file_stat_to_json(&st, "path", s->path, strlen(s->path));
        json_object_set_new(o, "target",
                            S_ISLNK(st.mode) ? safe_string(s->data + sizeof st, s->len - sizeof st)
                                             : json_null());
        api_reply(s->call, s->status, o);
        simple_free(s);
}

void file_reply_stat(struct call *call, const char *path, int status)
{
        const struct init_operate what = {.operation = INIT_STAT};
        struct core_sandbox *sb = api_sandbox(call);
        struct simple *s = sb ? simple_new(call, path, 8192, stat_done) : NULL;
        if (!s)
                return;
        s->status = status;
        rest_files_start(s, sb, &what, path, NULL);
}

static const struct field path_field = {.name = "path",
                                        .type = FIELD_STRING,
                                        .flags = FIELD_REQUIRED | FIELD_NO_NUL,
                                        .min = 1,
                                        .max = 4079,
                                        .help = "absolute, or relative to /workspace"};

const struct field *stat_fields(void)
{
        static struct field fields[2];
        fields[0] = path_field;
        return fields;
}

void rest_files_stat(struct call *call, json_t *body)
{
        const char *path = file_path(call, body, "path");
        if (path)
                file_reply_stat(call, path, 200);
        json_decref(body);
}

/* ---- mkdir, move, delete ---- */

static void changed(struct simple *s, const struct cella_err *err)
{
        struct call *call = s->call;
        char *path = s->path;
        int status = s->status;
        if (err) {
                api_reply_err(call, err);
                simple_free(s);
                return;
        }
        s->path = NULL;
        simple_free(s);
        if (status == 204)
                api_reply_nothing(call);
        else
                file_reply_stat(call, path, status);
        free(path);
}

static void rest_files_change(struct call *call, const struct init_operate *what, const char *from,
                              const char *to, int status)
{
        struct core_sandbox *sb = api_sandbox(call);
        struct simple *s = sb ? simple_new(call, to ? to : from, 0, changed) : NULL;
        if (!s)
                return;
        s->status = status;
        rest_files_start(s, sb, what, from, to);
}

const struct field *mkdir_fields(void)
{
        static struct field fields[] = {
                {0},
                {.name = "parents",
                 .type = FIELD_BOOLEAN,
                 .help = "also make missing parent directories; no error if it exists (default true)"},
                {0}};
        fields[0] = path_field;
        return fields;
}

void rest_files_mkdir(struct call *call, json_t *body)
{
        const json_t *parents = json_object_get(body, "parents");
        const struct init_operate what = {.operation = INIT_MAKE_DIR,
                                          .flags = json_is_false(parents) ? 0 : INIT_MAKE_PARENTS,
                                          .mode = 0755};
        const char *path = file_path(call, body, "path");
        if (path)
                rest_files_change(call, &what, path, NULL, 201);
        json_decref(body);
}

const struct field *move_fields(void)
{
        static struct field fields[] = {
                {0},
                {0},
                {.name = "replace", .type = FIELD_BOOLEAN, .help = "replace an existing file (default true)"},
                {0}};
        fields[0] = fields[1] = path_field;
        fields[0].name = "from";
        fields[1].name = "to";
        return fields;
}

void rest_files_move(struct call *call, json_t *body)
{
        const struct init_operate what = {
                .operation = INIT_MOVE,
                .flags = json_is_false(json_object_get(body, "replace")) ? INIT_NO_REPLACE : 0};
        const char *from = file_path(call, body, "from");
        const char *to = from ? file_path(call, body, "to") : NULL;
        if (to)
                rest_files_change(call, &what, from, to, 200);
        json_decref(body);
}

void rest_files_delete(struct call *call, json_t *body)
{
        const struct init_operate what = {.operation = INIT_REMOVE,
                                          .flags = api_flag(call, "recursive") ? INIT_RECURSIVE : 0};
        const char *path = file_path(call, NULL, "path");
        (void)body;
        if (path)
                rest_files_change(call, &what, path, NULL, 204);
}

/* ---- a directory ---- */

static int by_name(const void *a, const void *b)
{
        json_t *const *x = a, *const *y = b;
        return strcmp(json_string_value(json_object_get(*x, "name")),
                      json_string_value(json_object_get(*y, "name")));
}

static json_t *sorted(json_t *list)
{
        size_t n = json_array_size(list);
        json_t **items = calloc(n + 1, sizeof *items), *result = json_array();
        for (size_t i = 0; items && i < n; i++)
                items[i] = json_array_get(list, i);
        if (items)
                qsort(items, n, sizeof *items, by_name);
        for (size_t i = 0; items && i < n; i++)
                json_array_append(result, items[i]);
        free(items);
        return result;
}

static void list_done(struct simple *s, const struct cella_err *err)
{
        struct init_stat st;
        json_t *list = json_array();
        bool truncated = s->overflow;
        if (err && err->num == -EOVERFLOW) {
                truncated = true;
                err = NULL;
        }
        for (size_t at = 0; !err && at + sizeof st <= s->len; at += st.name_len) {
                memcpy(&st, s->data + at, sizeof st);
                at += sizeof st;
                if (st.name_len > s->len - at)
                        break;
                json_array_append_new(list, file_stat_to_json(&st, "name", s->data + at, st.name_len));
        }
        if (err)
                api_reply_err(s->call, err);
        else
                api_reply(s->call, 200,
                          json_pack("{s:s, s:o, s:b}", "path", s->path, "entries", sorted(list), "truncated",
                                    (int)truncated));
        json_decref(list);
        simple_free(s);
}

void file_list(struct call *call, const char *path)
{
        const struct init_operate what = {.operation = INIT_READ_DIR, .length = ENTRIES_MAX};
        struct core_sandbox *sb = api_sandbox(call);
        struct simple *s =
                sb ? simple_new(call, path, ENTRIES_MAX * (sizeof(struct init_stat) + 256), list_done) : NULL;
        if (s)
                rest_files_start(s, sb, &what, path, NULL);
}
