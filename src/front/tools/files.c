/* front/tools/files.c -- read_file, write_file and list_files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/sandbox/sandbox.h"
#include "front/tools/brief.h"
#include "front/tools/internal.h"

#define READ_STANDARD (64 * 1024)
#define READ_MAX (4 * 1024 * 1024)
#define WRITE_MAX (16 * 1024 * 1024)

#define PATH_FIELD(required, text)                                                                           \
        {                                                                                                    \
                .name = "path", .type = FIELD_STRING, .flags = FIELD_NO_NUL | (required), .min = 1,          \
                .max = 4079, .help = (text)                                                                  \
        }

static const char *const encodings[] = {"utf-8", "base64", NULL};
static const char *const read_encodings[] = {"utf-8", "base64", "image", NULL};

struct transfer {
        struct tool_call *call;
        struct bytes *bytes;
        char *content;
        size_t bytes_written;
        char sandbox[ID_SIZE];
};

static void files_tool_cancel(struct tool_call *call)
{
        struct transfer *t = call->data;
        bytes_cancel(t->bytes);
        free(t->content);
        free(t);
}

/* Creates a transfer.  NULL: there is no sandbox or no memory, and the call has ended. */
static struct transfer *transfer_new(struct tool_call *call, bool make, struct core_sandbox **ret_sandbox)
{
        struct cella_err err = {0};
        struct transfer *t = calloc(1, sizeof *t);
        int r = t ? target_find(call, make, ret_sandbox, &err)
                  : err_set(&err, CELLA_INTERNAL, -ENOMEM, "file");
        if (r < 0 || !t) {
                free(t);
                tool_fail(call, &err);
                return NULL;
        }
        t->call = call;
        memcpy(t->sandbox, (*ret_sandbox)->id, sizeof t->sandbox);
        call->data = t;
        call->cancel = files_tool_cancel;
        return t;
}

static void transfer_begun(struct transfer *t, int r, const struct cella_err *err)
{
        struct tool_call *call = t->call;
        if (r == 0)
                return;
        free(t->content);
        free(t);
        tool_fail(call, err);
}

/* ---- reading ---- */

const struct field *read_tool_input(void)
{
        static const struct field fields[] = {
                PATH_FIELD(FIELD_REQUIRED, "Absolute, or relative to /workspace."),
                TARGET_FIELDS,
                {.name = "offset",
                 .type = FIELD_INTEGER,
                 .min = 0,
                 .max = INT64_MAX,
                 .help = "First byte to read."},
                {.name = "max_bytes",
                 .type = FIELD_INTEGER,
                 .min = 1,
                 .max = READ_MAX,
                 .standard = "65536",
                 .help = "Maximum number of bytes to read."},
                {0}};
        return fields;
}

const struct field *read_tool_output(void)
{
        static const struct field fields[] = {
                {"path", FIELD_STRING, FIELD_REQUIRED},
                {"sandbox", FIELD_STRING, FIELD_REQUIRED},
                {"bytes", FIELD_INTEGER, FIELD_REQUIRED, .help = "Size of the whole file."},
                {"offset", FIELD_INTEGER, FIELD_REQUIRED},
                {"encoding", FIELD_WORD, FIELD_REQUIRED, .words = read_encodings,
                 .help = "Encoding of 'content'; image: see the content blocks."},
                {"content", FIELD_STRING, FIELD_REQUIRED},
                {"truncated", FIELD_BOOLEAN, FIELD_REQUIRED, .help = "The file has more bytes."},
                {0}};
        return fields;
}

static json_int_t files_tool_number(const struct tool_call *call, const char *name, json_int_t standard)
{
        const json_t *value = json_object_get(call->arguments, name);
        return value ? json_integer_value(value) : standard;
}

/* Returns the length without an incomplete character at the end, which belongs to the next part. */
static size_t whole_characters(const char *data, size_t len)
{
        for (size_t cut = 0; cut < 4 && cut < len; cut++)
                if (bytes_are_text(data, len - cut))
                        return len - cut;
        return bytes_are_text(data, len) ? len : 0;
}

/* Adds the content: as text if it is text (the first `text` bytes are), as an image for clients that accept
 * one, otherwise as base64. */
static void put_content(const struct tool_call *call, const char *data, size_t len, size_t text,
                        const char *mime, json_t *document, struct tool_result *result)
{
        if (text > 0 || len == 0) {
                json_object_set_new(document, "encoding", json_string("utf-8"));
                json_object_set_new(document, "content", json_stringn(data, text));
                return;
        }
        const bool picture = mime && call->options.for_model;
        char *encoded = bytes_base64(data, len);
        json_object_set_new(document, "encoding", json_string(picture ? "image" : "base64"));
        json_object_set_new(document, "content", json_string(picture || !encoded ? "" : encoded));
        if (picture && (result->images[0].mime = strdup(mime))) {
                result->images[result->n_images++].data = encoded;
                encoded = NULL;
        }
        free(encoded);
}

/* How much of the text has at most `max` bytes as a string of JSON. */
static size_t fitting(const char *text, size_t len, size_t max)
{
        size_t at = 0, used = 0;
        while (at < len) {
                const unsigned char c = (unsigned char)text[at];
                used += c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r' ? 2 : c < ' ' ? 6 : 1;
                if (used > max)
                        break;
                at++;
        }
        return at;
}

static void on_read(void *context, struct bytes *b, const struct cella_err *err)
{
        struct transfer *t = context;
        struct tool_call *call = t->call;
        struct init_stat st;
        struct cella_err bad = {0};
        if (!err && b->len < sizeof st) {
                err_say(&bad, CELLA_NOT_FOUND, -EIO, "the file could not be read");
                err = &bad;
        }
        if (err) {
                free(t);
                tool_fail(call, err);
                return;
        }
        memcpy(&st, b->data, sizeof st);
        const char *data = b->data + sizeof st;
        size_t len = b->len - sizeof st;
        uint64_t offset = (uint64_t)files_tool_number(call, "offset", 0);
        bool more = offset + len < st.bytes;
        const char *mime = offset == 0 && !more ? bytes_image(data, len) : NULL;
        size_t text = more ? whole_characters(data, len) : bytes_are_text(data, len) ? len : 0;
        struct tool_result result = {0};
        size_t fits;
        if (call->options.for_model && !json_object_get(call->arguments, "max_bytes") &&
            (fits = fitting(data, text, call->core->settings.mcp_text_bytes)) < text) {
                text = whole_characters(data, fits);
                more = true;
        }
        json_t *document = json_pack("{s:s, s:s, s:I, s:I, s:b}", "path", tool_text(call, "path"), "sandbox",
                                     t->sandbox, "bytes", (json_int_t)st.bytes, "offset", (json_int_t)offset,
                                     "truncated", (int)more);
        put_content(call, data, len, text, mime, document, &result);
        free(t);
        result.json = json_dumps(document, JSON_COMPACT);
        result.len = result.json ? strlen(result.json) : 0;
        json_decref(document);
        if (!result.json)
                err_set(&result.err, CELLA_INTERNAL, -ENOMEM, "result");
        tool_end(call, &result);
        tool_result_done(&result);
}

void read_tool_begin(struct tool_call *call)
{
        const json_int_t max = files_tool_number(call, "max_bytes", READ_STANDARD);
        const struct init_operate what = {.operation = INIT_READ,
                                          .offset = (uint64_t)files_tool_number(call, "offset", 0),
                                          .length = (uint64_t)max};
        struct cella_err err = {0};
        struct core_sandbox *sb = NULL;
        struct transfer *t = transfer_new(call, false, &sb);
        if (t)
                transfer_begun(t,
                               bytes_read(sb, &what, tool_text(call, "path"),
                                          sizeof(struct init_stat) + (size_t)max, on_read, t, &t->bytes,
                                          &err),
                               &err);
}

/* ---- writing ---- */

const struct field *write_tool_input(void)
{
        static const struct field fields[] = {
                PATH_FIELD(FIELD_REQUIRED, "Absolute, or relative to /workspace."),
                {.name = "content",
                 .type = FIELD_STRING,
                 .flags = FIELD_REQUIRED,
                 .max = WRITE_MAX,
                 .help = "The whole content."},
                {.name = "encoding",
                 .type = FIELD_WORD,
                 .words = encodings,
                 .help = "Encoding of 'content'; utf-8 by default."},
                TARGET_FIELDS,
                {0}};
        return fields;
}

const struct field *write_tool_output(void)
{
        static const struct field fields[] = {{"path", FIELD_STRING, FIELD_REQUIRED},
                                              {"sandbox", FIELD_STRING, FIELD_REQUIRED},
                                              {"bytes", FIELD_INTEGER, FIELD_REQUIRED},
                                              {0}};
        return fields;
}

static void on_written(void *context, struct bytes *b, const struct cella_err *err)
{
        struct transfer *t = context;
        struct tool_call *call = t->call;
        json_t *document = json_pack("{s:s, s:s, s:I}", "path", tool_text(call, "path"), "sandbox",
                                     t->sandbox, "bytes", (json_int_t)t->bytes_written);
        (void)b;
        free(t->content);
        free(t);
        if (!err) {
                tool_end_json(call, document);
                return;
        }
        json_decref(document);
        tool_fail(call, err);
}

void write_tool_begin(struct tool_call *call)
{
        const char *encoding = tool_text(call, "encoding");
        json_t *content = json_object_get(call->arguments, "content");
        const bool encoded = encoding && !strcmp(encoding, "base64");
        struct cella_err err = {0};
        struct core_sandbox *sb = NULL;
        struct transfer *t = transfer_new(call, true, &sb);
        const char *data = NULL;
        size_t len = 0;
        if (!t)
                return;
        json_t *form = encoded ? json_pack("{s:O}", "base64", content) : json_incref(content);
        int r = bytes_of_content(form, "content", &data, &len, &t->content, &err);
        json_decref(form);
        t->bytes_written = len;
        if (r == 0)
                r = bytes_write(sb, tool_text(call, "path"), data, len, on_written, t, &t->bytes, &err);
        transfer_begun(t, r, &err);
}

/* ---- directories ---- */

const struct field *list_tool_input(void)
{
        static const struct field fields[] = {
                PATH_FIELD(0, "The directory; /workspace by default."), TARGET_FIELDS, {0}};
        return fields;
}

const struct field *list_tool_output(void)
{
        static const struct field entry[] = {{"name", FIELD_STRING, FIELD_REQUIRED},
                                             {"type", FIELD_STRING, FIELD_REQUIRED},
                                             {"bytes", FIELD_INTEGER, FIELD_REQUIRED},
                                             {"mode", FIELD_STRING},
                                             {"modified", FIELD_STRING},
                                             {0}};
        static const struct field item = {.name = "", .type = FIELD_OBJECT, .fields = entry};
        static const struct field fields[] = {{"path", FIELD_STRING, FIELD_REQUIRED},
                                              {"sandbox", FIELD_STRING, FIELD_REQUIRED},
                                              {"entries", FIELD_ARRAY, FIELD_REQUIRED, .item = &item},
                                              {"truncated", FIELD_BOOLEAN, FIELD_REQUIRED},
                                              {0}};
        return fields;
}

static const char *directory_of(const struct tool_call *call)
{
        const char *path = tool_text(call, "path");
        return path ? path : "/workspace";
}

static void on_listed(void *context, struct bytes *b, const struct cella_err *err)
{
        struct transfer *t = context;
        struct tool_call *call = t->call;
        const bool more = b->more || (err && err->num == -EOVERFLOW);
        char sandbox[ID_SIZE];
        memcpy(sandbox, t->sandbox, sizeof sandbox);
        free(t);
        if (err && err->num != -EOVERFLOW) {
                tool_fail(call, err);
                return;
        }
        json_t *entries = bytes_entries(b);
        const bool cut = tool_shorten(call, entries);
        tool_end_json(call, json_pack("{s:s, s:s, s:o, s:b}", "path", directory_of(call), "sandbox", sandbox,
                                      "entries", entries, "truncated", (int)(more || cut)));
}

void list_tool_begin(struct tool_call *call)
{
        const struct init_operate what = {.operation = INIT_READ_DIR, .length = BYTES_ENTRIES_MAX};
        struct cella_err err = {0};
        struct core_sandbox *sb = NULL;
        struct transfer *t = transfer_new(call, false, &sb);
        if (t)
                transfer_begun(t,
                               bytes_read(sb, &what, directory_of(call),
                                          BYTES_ENTRIES_MAX * (sizeof(struct init_stat) + 256), on_listed, t,
                                          &t->bytes, &err),
                               &err);
}
