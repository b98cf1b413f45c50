/* front/rest/files_stream.c -- reads and writes files and archives of a sandbox as streams. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "base/err.h"
#include "base/parse.h"
#include "core/sandbox/operation.h"
#include "front/rest/files.h"
#include "front/rest/rest.h"

struct transfer {
        struct call *call;
        struct operation *operation;
        char *path;
        /* Reading: */
        uint64_t first, length; /* the range asked for; length ~0: to the end */
        bool ranged, suffix, begun, header_done;
        struct init_stat st;
        size_t st_got;
        uint64_t left; /* bytes left of Content-Length */
        /* Writing: */
        uint32_t mode, flags;
        bool existed, fed, ended;
};

static void transfer_free(struct transfer *t)
{
        if (t->call) {
                http_on_gone(t->call->request, NULL, NULL);
                http_on_room(t->call->request, NULL, NULL);
        }
        free(t->path);
        free(t);
}

static void files_stream_on_gone(struct http_request *request, void *context)
{
        struct transfer *t = context;
        (void)request;
        t->call = NULL;
        if (t->operation)
                operation_cancel(t->operation);
        free(t->path);
        free(t);
}

static void files_stream_on_room(struct http_request *request, void *context)
{
        struct transfer *t = context;
        (void)request;
        if (t->operation)
                operation_pause(t->operation, false);
}

static struct transfer *transfer_new(struct call *call, const char *path)
{
        struct transfer *t = calloc(1, sizeof *t);
        struct cella_err err = {0};
        if (t && (t->path = strdup(path))) {
                t->call = call;
                t->length = ~UINT64_C(0);
                http_on_gone(call->request, files_stream_on_gone, t);
                return t;
        }
        free(t);
        err_set(&err, CELLA_INTERNAL, -ENOMEM, "file");
        api_reply_err(call, &err);
        return NULL;
}

static void files_stream_begin(struct transfer *t, const struct init_operate *what,
                               const struct operation_events *events)
{
        struct cella_err err = {0};
        struct core_sandbox *sb = api_sandbox(t->call);
        if (!sb) {
                transfer_free(t);
        } else if (operation_new(sb, what, t->path, NULL, events, t, &t->operation, &err) < 0) {
                api_reply_err(t->call, &err);
                transfer_free(t);
        }
}

static void files_stream_fail(struct transfer *t, const struct cella_err *err)
{
        if (t->begun)
                http_stream_abort(t->call->request);
        else
                api_reply_err(t->call, err);
        transfer_free(t);
}

/* The content comes from a sandbox.  A browser saves it; if it shows it nevertheless, no script runs and
 * the page has no origin. */
static void add_inert_headers(struct http_request *request)
{
        http_add_header(request, "Content-Disposition", "attachment");
        http_add_header(request, "Content-Security-Policy",
                        "default-src 'none'; frame-ancestors 'none'; sandbox");
}

/* ---- a file ---- */

static void add_file_headers(struct transfer *t)
{
        char text[FILE_ETAG_SIZE];
        time_t seconds = (time_t)(t->st.modified_ns / 1000000000);
        struct tm tm;
        gmtime_r(&seconds, &tm);
        strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
        http_add_header(t->call->request, "Last-Modified", text);
        file_etag(&t->st, text);
        http_add_header(t->call->request, "ETag", text);
        http_add_header(t->call->request, "Accept-Ranges", "bytes");
        add_inert_headers(t->call->request);
}

/* The size of the file is known: selects the range. */
static void begin_file(struct transfer *t)
{
        struct http_request *request = t->call->request;
        char text[80];
        uint64_t size = t->st.bytes, rest = t->first < size ? size - t->first : 0;
        t->left = t->length < rest ? t->length : rest;
        t->begun = true;
        add_file_headers(t);
        if (t->ranged) {
                snprintf(text, sizeof text, "bytes %llu-%llu/%llu", (unsigned long long)t->first,
                         (unsigned long long)(t->first + t->left - 1), (unsigned long long)size);
                http_add_header(request, "Content-Range", text);
        }
        http_stream(request, t->ranged ? 206 : 200, "application/octet-stream", t->left);
}

static void on_file_data(struct operation *op, const char *data, size_t len, void *context)
{
        struct transfer *t = context;
        if (t->st_got < sizeof t->st) {
                size_t n = sizeof t->st - t->st_got < len ? sizeof t->st - t->st_got : len;
                memcpy((char *)&t->st + t->st_got, data, n);
                t->st_got += n;
                data += n;
                len -= n;
                if (t->st_got == sizeof t->st)
                        begin_file(t);
        }
        if (len > t->left) /* the file grew meanwhile: only the promised length is sent */
                len = (size_t)t->left;
        if (len == 0 || !t->begun)
                return;
        t->left -= len;
        http_stream_write(t->call->request, data, len);
        if (http_stream_room(t->call->request) == 0)
                operation_pause(op, true);
}

static void on_file_end(struct operation *op, const struct cella_err *err, void *context)
{
        struct transfer *t = context;
        struct cella_err bad = {0};
        (void)op;
        t->operation = NULL;
        if (err || !t->begun || t->left > 0) {
                err_say(&bad, CELLA_NOT_FOUND, -EIO, "'%.120s' could not be read", t->path);
                files_stream_fail(t, err ? err : &bad);
                return;
        }
        http_stream_end(t->call->request);
        transfer_free(t);
}

static const struct operation_events file_events = {.on_data = on_file_data, .on_end = on_file_end};

static void files_stream_read_file(struct transfer *t)
{
        const struct init_operate what = {.operation = INIT_READ, .offset = t->first, .length = t->length};
        t->st_got = 0;
        http_on_room(t->call->request, files_stream_on_room, t);
        files_stream_begin(t, &what, &file_events);
}

/* A range is checked against the size before anything is read: "the last N bytes" needs it. */
static void on_size_data(struct operation *op, const char *data, size_t len, void *context)
{
        struct transfer *t = context;
        (void)op;
        size_t n = sizeof t->st - t->st_got < len ? sizeof t->st - t->st_got : len;
        memcpy((char *)&t->st + t->st_got, data, n);
        t->st_got += n;
}

static void on_size_end(struct operation *op, const struct cella_err *err, void *context)
{
        struct transfer *t = context;
        char text[40];
        (void)op;
        t->operation = NULL;
        if (err) {
                files_stream_fail(t, err);
                return;
        }
        uint64_t size = t->st_got == sizeof t->st && S_ISREG(t->st.mode) ? t->st.bytes : ~UINT64_C(0);
        if (t->suffix && size != ~UINT64_C(0)) {
                t->length = t->length < size ? t->length : size;
                t->first = size - t->length;
        }
        if (t->first >= size) {
                struct cella_err bad = {0};
                snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)size);
                http_add_header(t->call->request, "Content-Range", text);
                err_say(&bad, CELLA_INVALID_REQUEST, -ERANGE, "Range: the file has %llu bytes",
                        (unsigned long long)size);
                api_reply(t->call, 416, api_error(t->call, &bad));
                transfer_free(t);
                return;
        }
        files_stream_read_file(t);
}

static const struct operation_events size_events = {.on_data = on_size_data, .on_end = on_size_end};

/* One range of bytes.  Anything else is ignored, as RFC 9110 says. */
static bool parse_range(const char *text, struct transfer *t)
{
        uint64_t first = 0, last = 0;
        char a[24], b[24];
        if (!text || strncasecmp(text, "bytes=", 6) != 0 || strchr(text, ','))
                return false;
        text += 6;
        size_t n = strcspn(text, "-"), m = text[n] ? strlen(text + n + 1) : 0;
        if (!text[n] || n >= sizeof a || m >= sizeof b || n + m == 0)
                return false;
        memcpy(a, text, n);
        a[n] = '\0';
        memcpy(b, text + n + 1, m);
        b[m] = '\0';
        if ((n > 0 && parse_count(a, &first) < 0) || (m > 0 && parse_count(b, &last) < 0) ||
            (n > 0 && m > 0 && last < first) || (n == 0 && last == 0))
                return false;
        t->suffix = n == 0;
        t->first = first;
        t->length = t->suffix ? last : m > 0 && last < UINT64_MAX ? last - first + 1 : UINT64_MAX;
        return t->ranged = true;
}

void rest_files_get(struct call *call, json_t *body)
{
        const struct init_operate stat_it = {.operation = INIT_STAT};
        const char *path = file_path(call, NULL, "path");
        (void)body;
        if (!path)
                return;
        if (api_flag(call, "list")) {
                file_list(call, path);
                return;
        }
        if (api_flag(call, "watch")) {
                file_watch(call, path, api_flag(call, "recursive"));
                return;
        }
        struct transfer *t = transfer_new(call, path);
        if (!t)
                return;
        if (parse_range(http_header(call->request, "Range"), t)) {
                files_stream_begin(t, &stat_it, &size_events);
        } else {
                files_stream_read_file(t);
        }
}

/* ---- an archive, out ---- */

static void begin_tar(struct transfer *t)
{
        if (t->begun)
                return;
        t->begun = true;
        add_inert_headers(t->call->request);
        http_stream(t->call->request, 200, "application/x-tar", ~UINT64_C(0));
}

static void on_tar_data(struct operation *op, const char *data, size_t len, void *context)
{
        struct transfer *t = context;
        begin_tar(t);
        http_stream_write(t->call->request, data, len);
        if (http_stream_room(t->call->request) == 0)
                operation_pause(op, true);
}

static void on_tar_end(struct operation *op, const struct cella_err *err, void *context)
{
        struct transfer *t = context;
        (void)op;
        t->operation = NULL;
        if (err) {
                files_stream_fail(t, err);
                return;
        }
        begin_tar(t);
        http_stream_end(t->call->request);
        transfer_free(t);
}

static const struct operation_events tar_events = {.on_data = on_tar_data, .on_end = on_tar_end};

void rest_archive_get(struct call *call, json_t *body)
{
        const struct init_operate what = {.operation = INIT_TAR};
        const char *path = file_path(call, NULL, "path");
        struct transfer *t = path ? transfer_new(call, path) : NULL;
        (void)body;
        if (!t)
                return;
        http_on_room(call->request, files_stream_on_room, t);
        files_stream_begin(t, &what, &tar_events);
}

/* ---- bytes in ---- */

static ssize_t files_stream_on_body(struct http_request *request, const char *data, size_t len, void *context)
{
        struct transfer *t = context;
        (void)request;
        if (!t->operation)
                return -1;
        if (!data) {
                t->fed = true;
                operation_feed_end(t->operation);
                return 0;
        }
        return (ssize_t)operation_feed(t->operation, data, len);
}

static void on_feed_room(struct operation *op, void *context)
{
        struct transfer *t = context;
        (void)op;
        http_body_resume(t->call->request);
}

/* The answer, after the sandbox has confirmed that all was written. */
static ssize_t ignore_body(struct http_request *request, const char *data, size_t len, void *context)
{
        (void)request;
        (void)data;
        (void)len;
        (void)context;
        return -1;
}

static void on_put_end(struct operation *op, const struct cella_err *err, void *context)
{
        struct transfer *t = context;
        struct call *call = t->call;
        char *path = t->path;
        int status = t->existed ? 200 : 201;
        (void)op;
        t->operation = NULL;
        if (err) {
                api_reply_err(call, err);
                transfer_free(t);
                return;
        }
        if (!t->fed) {
                http_body_read(call->request, ignore_body, NULL);
                http_body_resume(call->request);
        }
        t->path = NULL;
        transfer_free(t);
        file_reply_stat(call, path, status);
        free(path);
}

static const struct operation_events put_events = {.on_room = on_feed_room, .on_end = on_put_end};

/* Checks If-Match and If-None-Match: *.  Code in the sandbox may still change the file before the new one
 * takes its name. */
static bool as_expected(const struct transfer *t)
{
        const char *seen = http_header(t->call->request, "If-Match"),
                   *none = http_header(t->call->request, "If-None-Match");
        char etag[FILE_ETAG_SIZE];
        if (none && !strcmp(none, "*") && t->existed)
                return false;
        if (!seen)
                return true;
        file_etag(&t->st, etag);
        return t->existed && t->st_got == sizeof t->st &&
               (!strcmp(seen, "*") || strstr(seen, etag) ||
                S_ISLNK(t->st.mode)); /* the target of the link is unknown */
}

static void refuse_changed(struct transfer *t)
{
        api_reply(t->call, 412,
                  json_pack("{s:{s:s, s:s, s:s}}", "error", "kind", "conflict", "message",
                            t->existed ? "the file was changed in the meantime" : "the file no longer exists",
                            "hint",
                            "read it again, and send its ETag in If-Match; or write without If-Match"));
        transfer_free(t);
}

/* It is known whether the file existed: now it is written. */
static void on_existed_end(struct operation *op, const struct cella_err *err, void *context)
{
        struct transfer *t = context;
        struct init_operate what = {.operation = INIT_WRITE, .flags = t->flags, .mode = t->mode};
        (void)op;
        t->operation = NULL;
        if (err && err->kind != CELLA_NOT_FOUND) {
                files_stream_fail(t, err);
                return;
        }
        t->existed = !err;
        if (!as_expected(t)) {
                refuse_changed(t);
                return;
        }
        what.length = http_body_length(t->call->request);
        struct http_request *request = t->call->request;
        struct core_sandbox *sb = api_sandbox(t->call);
        struct cella_err bad = {0};
        if (!sb) {
                transfer_free(t);
        } else if (operation_new(sb, &what, t->path, NULL, &put_events, t, &t->operation, &bad) < 0) {
                api_reply_err(t->call, &bad);
                transfer_free(t);
        } else {
                http_body_read(request, files_stream_on_body, t);
        }
}

static const struct operation_events existed_events = {.on_data = on_size_data, .on_end = on_existed_end};

static int parse_mode(struct call *call, uint32_t *ret)
{
        const char *text = http_query(call->request, "mode");
        struct cella_err err = {0};
        *ret = 0644;
        if (!text)
                return 0;
        if (strlen(text) >= 3 && strlen(text) <= 4 && strspn(text, "01234567") == strlen(text)) {
                *ret = (uint32_t)strtoul(text, NULL, 8);
                if (*ret <= 0777)
                        return 0;
        }
        err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "mode must be octal, from 000 to 0777");
        api_reply_err(call, &err);
        return -EINVAL;
}

void rest_files_put(struct call *call, json_t *body)
{
        const struct init_operate stat_it = {.operation = INIT_STAT};
        const char *path = file_path(call, NULL, "path"), *parents = http_query(call->request, "parents");
        uint32_t mode;
        (void)body;
        if (!path || parse_mode(call, &mode) < 0)
                return;
        struct transfer *t = transfer_new(call, path);
        if (!t)
                return;
        t->mode = mode;
        t->flags = (parents && !api_flag(call, "parents") ? 0 : INIT_MAKE_PARENTS) |
                   (http_query(call->request, "mode") ? INIT_SET_MODE : 0);
        files_stream_begin(t, &stat_it, &existed_events);
}

static void on_untar_end(struct operation *op, const struct cella_err *err, void *context)
{
        struct transfer *t = context;
        (void)op;
        t->operation = NULL;
        if (err)
                api_reply_err(t->call, err);
        else
                api_reply(t->call, 200, json_pack("{s:s}", "path", t->path));
        transfer_free(t);
}

static const struct operation_events untar_events = {.on_room = on_feed_room, .on_end = on_untar_end};

void rest_archive_put(struct call *call, json_t *body)
{
        const struct init_operate what = {.operation = INIT_UNTAR, .length = ~UINT64_C(0), .mode = 0755};
        const char *path = file_path(call, NULL, "path");
        struct transfer *t = path ? transfer_new(call, path) : NULL;
        struct core_sandbox *sb = t ? api_sandbox(call) : NULL;
        struct cella_err err = {0};
        (void)body;
        if (!t)
                return;
        if (!sb) {
                transfer_free(t);
        } else if (operation_new(sb, &what, t->path, NULL, &untar_events, t, &t->operation, &err) < 0) {
                api_reply_err(call, &err);
                transfer_free(t);
        } else {
                http_body_read(call->request, files_stream_on_body, t);
        }
}
