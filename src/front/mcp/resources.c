/* front/mcp/resources.c -- files of sandboxes, and executions, as resources.
 *
 * cella://sandboxes/SBX/files/PATH    a file, or a directory (its entries, as JSON)
 * cella://executions/EXE              the log entry of an execution
 * cella://executions/EXE/stdout       its output; or stderr
 *
 * A PATH that begins with a slash is absolute, any other is relative to /workspace.  The log is read on the
 * thread pool, through the common queue (log_queue.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/parse.h"
#include "core/sandbox/sandbox.h"
#include "front/log_queue.h"
#include "front/mcp/mcp.h"
#include "front/tools/internal.h"

#define SANDBOXES "cella://sandboxes/"
#define EXECUTIONS "cella://executions/"
#define FILE_MAX (8u * 1024 * 1024)
#define PAGE 50

struct lookup {
        struct mcp_request *request; /* NULL: it was cancelled */
        char *uri;
        /* A file: */
        struct bytes *bytes;
        struct core_sandbox *sandbox;
        char *path;
        /* The log: */
        struct log_job job;
        struct api *api;
        char id[ID_SIZE];
        const char *part; /* "stdout", "stderr"; NULL: all; or a list, without an id */
        struct audit_filter filter;
        bool all;
        json_t *found;
        struct cella_err err;
        int r;
};

static void lookup_free(struct lookup *l)
{
        json_decref(l->found);
        free(l->uri);
        free(l->path);
        free(l);
}

static void mcp_resources_not_found(struct mcp_request *request, const char *uri)
{
        mcp_refuse(request, mcp_is_modern(request) ? RPC_INVALID_PARAMS : RPC_NOT_FOUND,
                   json_pack("{s:s}", "uri", uri), "resource not found");
}

static void reply_contents(struct mcp_request *request, json_t *contents)
{
        json_t *result = json_pack("{s:[o]}", "contents", contents);
        mcp_cacheable(request, result, 0, "private");
        mcp_reply(request, result);
}

static json_t *text_contents(const char *uri, const char *mime, json_t *text)
{
        return json_pack("{s:s, s:s, s:o}", "uri", uri, "mimeType", mime, "text", text);
}

/* ---- the log, on the thread pool ---- */

static struct lookup *lookup_of(struct log_job *job)
{
        return list_entry(job, struct lookup, job);
}

static void mcp_resources_look(struct log_job *job)
{
        struct lookup *l = lookup_of(job);
        uv_mutex_lock(&l->api->reader_lock);
        if (atomic_load(&l->api->ending)) {
                l->r = err_say(&l->err, CELLA_ENGINE_UNAVAILABLE, -ESHUTDOWN, "the daemon is shutting down");
        } else {
                audit_flush(l->api->core->audit);
                l->r = l->id[0] ? audit_get(l->api->reader, l->id, &l->found, &l->err)
                                : audit_list(l->api->reader, &l->filter, &l->found, &l->err);
        }
        uv_mutex_unlock(&l->api->reader_lock);
}

static void cancel_log(struct mcp_request *request)
{
        struct lookup *l = request->data;
        if (log_queue_remove(&l->job))
                lookup_free(l);
        else
                l->request = NULL; /* freed when the thread has finished */
}

static void look_into_log(struct lookup *l, void (*done)(struct log_job *, int))
{
        struct mcp_request *request = l->request;
        l->job.look = mcp_resources_look;
        l->job.done = done;
        l->job.quick = true; /* one row, or the newest of an index */
        request->data = l;
        request->cancel = cancel_log;
        if (log_queue_add(l->api, &l->job, &l->err) < 0) {
                request->cancel = NULL;
                mcp_refuse_err(request, &l->err);
                lookup_free(l);
        }
}

/* Returns the request to answer; NULL: it was cancelled. */
static struct mcp_request *looked(struct lookup *l, int status)
{
        if (status < 0)
                l->r = err_set(&l->err, CELLA_INTERNAL, status, "cannot start a query");
        if (l->request)
                l->request->cancel = NULL;
        return l->request;
}

static struct lookup *lookup_new(struct mcp_request *request, const char *uri)
{
        struct lookup *l = calloc(1, sizeof *l);
        if (l && (l->uri = strdup(uri))) {
                l->request = request;
                l->api = request->mcp->api;
                l->all = request->caller.owner || (request->caller.capabilities & MAY_AUDIT);
                memcpy(l->job.key, request->caller.key, sizeof l->job.key);
                return l;
        }
        free(l);
        mcp_refuse(request, RPC_INTERNAL, NULL, "out of memory");
        return NULL;
}

/* ---- resources/list ---- */

static void add_sandboxes(const struct mcp_request *request, json_t *list)
{
        if (!(request->caller.capabilities & MAY_FILES) && !request->caller.owner)
                return;
        list_each (at, &request->mcp->core->sandboxes, other) {
                const struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->one_shot || sb->place.ahead || sb->removing ||
                    !caller_sees(&request->caller, sb->key))
                        continue;
                json_array_append_new(
                        list, json_pack("{s:o, s:o, s:s, s:s}", "uri",
                                        json_sprintf(SANDBOXES "%s/files/", sb->id), "name",
                                        json_sprintf("files of %s %s", sb->session[0] ? "session" : "sandbox",
                                                     sb->session[0] ? sb->session : sb->id),
                                        "description", "The contents of its /workspace.", "mimeType",
                                        "application/json"));
        }
}

static void add_executions(const struct lookup *l, json_t *list)
{
        size_t i;
        const json_t *row;
        json_array_foreach (json_object_get(l->found, "executions"), i, row) {
                const char *id = json_string_value(json_object_get(row, "id"));
                const char *runtime = json_string_value(json_object_get(row, "runtime"));
                const char *status = json_string_value(json_object_get(row, "status"));
                if (id)
                        json_array_append_new(list,
                                              json_pack("{s:o, s:o, s:o, s:s}", "uri",
                                                        json_sprintf(EXECUTIONS "%s", id), "name",
                                                        json_sprintf("execution %s", id), "description",
                                                        json_sprintf("%s, %s", runtime ? runtime : "command",
                                                                     status ? status : "?"),
                                                        "mimeType", "application/json"));
        }
}

static void on_listed(struct log_job *job, int status)
{
        struct lookup *l = lookup_of(job);
        struct mcp_request *request = looked(l, status);
        if (request) {
                json_t *list = json_array();
                const char *next = json_string_value(json_object_get(l->found, "cursor"));
                if (l->filter.cursor == 0)
                        add_sandboxes(request, list);
                add_executions(l, list);
                json_t *result = json_pack("{s:o}", "resources", list);
                if (next)
                        json_object_set_new(result, "nextCursor", json_string(next));
                mcp_cacheable(request, result, 0, "private");
                if (l->r == 0) {
                        mcp_reply(request, result);
                } else {
                        json_decref(result);
                        mcp_refuse_err(request, &l->err);
                }
        }
        lookup_free(l);
}

void mcp_resources_list(struct mcp_request *request)
{
        const json_t *cursor = json_object_get(request->message.params, "cursor");
        const char *text = rpc_text(request->message.params, "cursor");
        uint64_t from = 0;
        if (cursor && (!text || parse_count(text, &from) < 0 || from == 0)) {
                mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "cursor must come from an earlier answer");
                return;
        }
        struct lookup *l = lookup_new(request, "");
        if (!l)
                return;
        l->filter = (struct audit_filter){.limit = PAGE, .cursor = from, .key = l->all ? NULL : l->job.key};
        look_into_log(l, on_listed);
}

void mcp_resources_templates(struct mcp_request *request)
{
        json_t *result = json_pack("{s:[{s:s, s:s, s:s}, {s:s, s:s, s:s, s:s}, {s:s, s:s, s:s, s:s}]}",
                                   "resourceTemplates", "uriTemplate", SANDBOXES "{sandbox}/files/{+path}",
                                   "name", "file of a sandbox", "description",
                                   "A file, by its path relative to /workspace; or a directory, whose "
                                   "entries are returned as JSON.",
                                   "uriTemplate", EXECUTIONS "{execution}", "name", "execution",
                                   "description", "An execution: code, status, usage, output.", "mimeType",
                                   "application/json", "uriTemplate", EXECUTIONS "{execution}/{stream}",
                                   "name", "output of an execution", "description",
                                   "stdout or stderr, as far as the log keeps it.", "mimeType", "text/plain");
        mcp_reply_list(request, result);
}

/* ---- executions ---- */

static bool is_hidden(const struct lookup *l)
{
        const char *key = json_string_value(json_object_get(l->found, "key"));
        return !l->all && strcmp(key ? key : "", l->job.key) != 0;
}

static void on_execution(struct log_job *job, int status)
{
        struct lookup *l = lookup_of(job);
        struct mcp_request *request = looked(l, status);
        if (request) {
                json_t *part = l->part ? json_object_get(l->found, l->part) : NULL;
                if (l->r == -ENOENT || (l->r == 0 && (is_hidden(l) || (l->part && !json_is_string(part))))) {
                        mcp_resources_not_found(request, l->uri);
                } else if (l->r < 0) {
                        mcp_refuse_err(request, &l->err);
                } else if (part) {
                        reply_contents(request, text_contents(l->uri, "text/plain", json_incref(part)));
                } else {
                        char *text = json_dumps(l->found, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
                        reply_contents(request, text_contents(l->uri, "application/json",
                                                              json_string(text ? text : "{}")));
                        free(text);
                }
        }
        lookup_free(l);
}

static void read_execution(struct mcp_request *request, const char *uri)
{
        static const char *const parts[] = {"stdout", "stderr"};
        const char *id = uri + strlen(EXECUTIONS);
        size_t len = strcspn(id, "/");
        const char *part = id[len] ? id + len + 1 : NULL;
        struct lookup *l = len < ID_SIZE && len > 0 ? lookup_new(request, uri) : NULL;
        if (len >= ID_SIZE || len == 0) {
                mcp_resources_not_found(request, uri);
                return;
        }
        if (!l)
                return;
        memcpy(l->id, id, len);
        for (size_t i = 0; part && i < 2; i++)
                if (!strcmp(part, parts[i]))
                        l->part = parts[i];
        if (part && !l->part) {
                mcp_resources_not_found(request, uri);
                lookup_free(l);
                return;
        }
        look_into_log(l, on_execution);
}

/* ---- files ---- */

static void cancel_file(struct mcp_request *request)
{
        struct lookup *l = request->data;
        bytes_cancel(l->bytes);
        lookup_free(l);
}

static void end_file(struct lookup *l, const struct cella_err *err, json_t *contents)
{
        struct mcp_request *request = l->request;
        request->cancel = NULL;
        if (contents)
                reply_contents(request, contents);
        else if (!err || err->kind == CELLA_NOT_FOUND)
                mcp_resources_not_found(request, l->uri);
        else
                mcp_refuse_err(request, err);
        lookup_free(l);
}

static void on_directory(void *context, struct bytes *b, const struct cella_err *err)
{
        struct lookup *l = context;
        if (err && err->num != -EOVERFLOW) {
                end_file(l, err, NULL);
                return;
        }
        json_t *entries = bytes_entries(b);
        char *text = json_dumps(entries, JSON_COMPACT);
        json_decref(entries);
        end_file(l, NULL, text_contents(l->uri, "application/json", json_string(text ? text : "[]")));
        free(text);
}

static void begin_file(struct lookup *l, uint32_t operation, size_t max, bytes_done done)
{
        const struct init_operate what = {.operation = operation,
                                          .length = operation == INIT_READ ? max : BYTES_ENTRIES_MAX};
        struct cella_err err = {0};
        l->request->data = l;
        l->request->cancel = cancel_file;
        if (bytes_read(l->sandbox, &what, l->path, max, done, l, &l->bytes, &err) < 0)
                end_file(l, &err, NULL);
}

static void read_directory(struct lookup *l)
{
        begin_file(l, INIT_READ_DIR, BYTES_ENTRIES_MAX * (sizeof(struct init_stat) + 256), on_directory);
}

static void on_file(void *context, struct bytes *b, const struct cella_err *err)
{
        struct lookup *l = context;
        struct init_stat st;
        struct cella_err large = {0};
        if (err && err->num == -EISDIR) {
                /* By id: the sandbox may have been removed. */
                l->sandbox = sandbox_find(l->request->mcp->core, &l->request->caller, l->id);
                if (l->sandbox)
                        read_directory(l);
                else
                        end_file(l, err, NULL);
                return;
        }
        if (err || b->len < sizeof st) {
                end_file(l, err, NULL);
                return;
        }
        memcpy(&st, b->data, sizeof st);
        const char *data = b->data + sizeof st, *mime = bytes_image(data, b->len - sizeof st);
        size_t len = b->len - sizeof st;
        if (st.bytes > len) {
                err_say(&large, CELLA_TOO_LARGE, -EFBIG,
                        "the file has %llu bytes, %u can be read as a resource", (unsigned long long)st.bytes,
                        FILE_MAX);
                err_hint(&large, "read_file reads it in parts");
                end_file(l, &large, NULL);
        } else if (bytes_are_text(data, len)) {
                end_file(l, NULL, text_contents(l->uri, "text/plain", json_stringn(data, len)));
        } else {
                char *encoded = bytes_base64(data, len);
                end_file(l, NULL,
                         json_pack("{s:s, s:s, s:s}", "uri", l->uri, "mimeType",
                                   mime ? mime : "application/octet-stream", "blob", encoded ? encoded : ""));
                free(encoded);
        }
}

static int hex(char c)
{
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *at = c ? strchr(digits, c) : NULL;
        return at ? (int)(at - digits) % 16 : -1;
}

/* Returns NULL if the text is not a valid path. */
static char *mcp_resources_decode(const char *text)
{
        char *out = malloc(strlen(text) + 1), *at = out;
        for (; out && *text; text++) {
                if (*text != '%') {
                        *at++ = *text;
                        continue;
                }
                int high = hex(text[1]), low = high < 0 ? -1 : hex(text[2]);
                if (low < 0 || (high == 0 && low == 0)) {
                        free(out);
                        return NULL;
                }
                *at++ = (char)(unsigned char)(high * 16 + low);
                text += 2;
        }
        if (out)
                *at = '\0';
        return out;
}

static void read_sandbox(struct mcp_request *request, const char *uri)
{
        const char *id = uri + strlen(SANDBOXES);
        size_t len = strcspn(id, "/");
        struct cella_err err = {0};
        char name[ID_SIZE] = "";
        if (caller_may(&request->caller, MAY_FILES, &err) < 0) {
                mcp_refuse_err(request, &err);
                return;
        }
        if (len < sizeof name)
                memcpy(name, id, len);
        struct core_sandbox *sb = sandbox_find(request->mcp->core, &request->caller, name);
        const char *path = strncmp(id + len, "/files", 6) == 0 ? id + len + 6 : NULL;
        if (!sb || !path || (*path && *path != '/')) {
                mcp_resources_not_found(request, uri);
                return;
        }
        struct lookup *l = lookup_new(request, uri);
        if (!l)
                return;
        memcpy(l->id, sb->id, sizeof l->id);
        l->sandbox = sb;
        l->path = mcp_resources_decode(path[0] && path[1] ? path + 1 : "/workspace");
        if (!l->path) {
                mcp_resources_not_found(request, uri);
                lookup_free(l);
        } else if (l->path[strlen(l->path) - 1] == '/' || !strcmp(l->path, "/workspace")) {
                read_directory(l);
        } else {
                begin_file(l, INIT_READ, sizeof(struct init_stat) + FILE_MAX, on_file);
        }
}

void mcp_resources_read(struct mcp_request *request)
{
        const char *uri = rpc_text(request->message.params, "uri");
        if (!uri)
                mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "uri must be a string");
        else if (!strncmp(uri, EXECUTIONS, strlen(EXECUTIONS)))
                read_execution(request, uri);
        else if (!strncmp(uri, SANDBOXES, strlen(SANDBOXES)))
                read_sandbox(request, uri);
        else
                mcp_resources_not_found(request, uri);
}
