#include "core/about.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define HASH_SIZE 32
#define TEXT_MAX 200 /* of image, key name, working directory */

/* The maximum length of each part, in bytes of JSON. */
struct bounds {
        size_t size; /* of the buffer; larger than the sum of the others */
        size_t args, arg, env, files, path, findings, hashed;
};

static const struct bounds bounds_short = {.size = AUDIT_ABOUT_SLOT_MAX,
                                           .args = 700,
                                           .arg = 200,
                                           .env = 500,
                                           .files = 700,
                                           .path = 100,
                                           .findings = 400,
                                           .hashed = 65536};
static const struct bounds bounds_row = {.size = AUDIT_ABOUT_MAX,
                                         .args = 12000,
                                         .arg = 4000,
                                         .env = 4000,
                                         .files = 8000,
                                         .path = 1000,
                                         .findings = 4000,
                                         .hashed = SIZE_MAX};

/* ---- JSON into a fixed buffer ---- */

struct writer {
        char *to;
        size_t len;
        const struct bounds *bounds;
        bool more; /* the next member needs a comma */
};

static void put_raw(struct writer *w, const char *text, size_t len)
{
        if (len <= w->bounds->size - w->len) { /* always true, see struct bounds */
                memcpy(w->to + w->len, text, len);
                w->len += len;
        }
}

static void put_char(struct writer *w, char c)
{
        put_raw(w, &c, 1);
}

static void put_name(struct writer *w, const char *name)
{
        if (w->more)
                put_char(w, ',');
        w->more = true;
        if (name) {
                put_char(w, '"');
                put_raw(w, name, strlen(name));
                put_raw(w, "\":", 2);
        }
}

static void put_open(struct writer *w, const char *name, char bracket)
{
        put_name(w, name);
        put_char(w, bracket);
        w->more = false;
}

static void put_close(struct writer *w, char bracket)
{
        put_char(w, bracket);
        w->more = true;
}

static void about_put_number(struct writer *w, const char *name, uint64_t value)
{
        char text[24];
        put_name(w, name);
        put_raw(w, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)value));
}

/* Writes one character as JSON.  Returns its length. */
static size_t escape(const char *p, size_t n, char ret[8])
{
        unsigned char c = (unsigned char)*p;
        if (n == 0) { /* not UTF-8 */
                memcpy(ret, "\xef\xbf\xbd", 4);
                return 3;
        }
        if (c < 0x20 || c == 0x7f)
                return (size_t)snprintf(ret, 8, "\\u%04x", c);
        if (c == '"' || c == '\\') {
                ret[0] = '\\';
                ret[1] = (char)c;
                return 2;
        }
        memcpy(ret, p, n);
        return n;
}

/* Writes at most max bytes between the quotes; a shortened text ends with an ellipsis. */
static void put_bytes(struct writer *w, const char *name, const char *text, size_t len, size_t max)
{
        size_t used = 0;
        put_name(w, name);
        put_char(w, '"');
        for (size_t i = 0; i < len;) {
                char escaped[8];
                size_t n = utf8_len(text + i, len - i), out = escape(text + i, n, escaped);
                if (used + out + 3 > max) {
                        put_raw(w, "\xe2\x80\xa6", 3);
                        break;
                }
                put_raw(w, escaped, out);
                used += out;
                i += n > 0 ? n : 1;
        }
        put_char(w, '"');
}

static void about_put_text(struct writer *w, const char *name, const char *text, size_t max)
{
        put_bytes(w, name, text, strlen(text), max);
}

/* Writes a text of the request with its secrets masked. */
static void put_masked(struct writer *w, const char *name, const char *text, struct mask *mask, size_t max)
{
        char *copy = mask ? strdup(text) : NULL;
        if (copy)
                mask_string(mask, copy);
        about_put_text(w, name, copy ? copy : mask ? "***" : text, max);
        free(copy);
}

static void put_hash(struct writer *w, const char *data, size_t len, bool wanted)
{
        unsigned char hash[HASH_SIZE];
        char hex[2 * HASH_SIZE + 1];
        if (!wanted)
                return;
        crypto_generichash(hash, sizeof hash, (const unsigned char *)data, len, NULL, 0);
        about_put_text(w, "hash", sodium_bin2hex(hex, sizeof hex, hash, sizeof hash), sizeof hex + 2);
}

/* ---- the parts ---- */

static void put_args(struct writer *w, const struct exec_request *r)
{
        size_t n = 0, begun = w->len;
        while (r->argv && r->argv[n])
                n++;
        if (n == 0 || !r->runtime) /* a command is already in the column `input` */
                return;
        put_open(w, "args", '{');
        about_put_number(w, "count", n);
        put_open(w, "list", '[');
        for (size_t i = 0; i < n && w->len - begun + w->bounds->arg < w->bounds->args; i++)
                put_masked(w, NULL, r->argv[i], exec_request_mask(r), w->bounds->arg);
        put_close(w, ']');
        put_close(w, '}');
}

static void put_env(struct writer *w, const struct exec_request *r)
{
        size_t n = 0, begun = w->len;
        while (r->env && r->env[n])
                n++;
        if (n == 0)
                return;
        put_open(w, "env_names", '{');
        about_put_number(w, "count", n);
        put_open(w, "list", '[');
        for (size_t i = 0; i < n && w->len - begun + 100 < w->bounds->env; i++)
                put_bytes(w, NULL, r->env[i], strcspn(r->env[i], "="), 64);
        put_close(w, ']');
        put_close(w, '}');
}

static void put_files(struct writer *w, const struct exec_request *r, bool hashes)
{
        uint64_t bytes = 0;
        size_t begun = w->len, each = w->bounds->path + 120;
        if (r->n_files == 0)
                return;
        for (size_t i = 0; i < r->n_files; i++)
                bytes += r->files[i].len;
        put_open(w, "input_files", '{');
        about_put_number(w, "count", r->n_files);
        about_put_number(w, "bytes", bytes);
        put_open(w, "list", '[');
        for (size_t i = 0; i < r->n_files && w->len - begun + each < w->bounds->files; i++) {
                put_open(w, NULL, '{');
                put_masked(w, "path", r->files[i].path, exec_request_mask(r), w->bounds->path);
                about_put_number(w, "bytes", r->files[i].len);
                put_hash(w, r->files[i].data, r->files[i].len, hashes);
                put_close(w, '}');
        }
        put_close(w, ']');
        put_close(w, '}');
}

static bool hashes_wanted(const struct writer *w, const struct exec_request *r)
{
        size_t bytes = r->input_len;
        for (size_t i = 0; i < r->n_files; i++)
                bytes += r->files[i].len;
        return bytes <= w->bounds->hashed;
}

/* Writes the most severe findings first, because not all may fit. */
static void put_scan(struct writer *w, const struct exec_request *r)
{
        const struct scan_report *report = r->report;
        size_t begun = w->len;
        if (!report)
                return;
        put_open(w, "scan", '{');
        about_put_text(w, "severity", scan_severity_name(report->worst), 32);
        about_put_number(w, "count", report->n_findings);
        if (report->skipped)
                about_put_text(w, "skipped", report->skipped, 96);
        put_open(w, "findings", '[');
        for (int severity = (int)report->worst; severity >= (int)SCAN_LOW; severity--)
                for (size_t i = 0; i < report->n_findings; i++) {
                        const struct scan_finding *f = &report->findings[i];
                        if ((int)f->severity != severity || w->len - begun + 250 > w->bounds->findings)
                                continue;
                        put_open(w, NULL, '{');
                        about_put_text(w, "rule", f->rule, 48);
                        about_put_text(w, "severity", scan_severity_name(f->severity), 16);
                        about_put_number(w, "line", f->line);
                        about_put_text(w, "text", f->text, SCAN_TEXT_MAX);
                        put_close(w, '}');
                }
        put_close(w, ']');
        put_close(w, '}');
}

static void put_request(struct writer *w, const struct exec_request *r)
{
        const bool hashes = hashes_wanted(w, r);
        if (r->reason[0])
                about_put_text(w, "reason", r->reason, sizeof r->reason);
        if (r->cwd)
                put_masked(w, "cwd", r->cwd, exec_request_mask(r), TEXT_MAX);
        put_args(w, r);
        if (r->input) {
                put_open(w, "stdin", '{');
                about_put_number(w, "bytes", r->input_len);
                put_hash(w, r->input, r->input_len, hashes);
                put_close(w, '}');
        }
        put_files(w, r, hashes);
        put_env(w, r);
        put_scan(w, r);
}

/* Writes where the code ran, or was to run. */
static void put_place(struct writer *w, const struct about *about)
{
        const struct exec_request *r = about->request;
        const bool host = r && r->direct;
        if (host || about->image) /* otherwise it was refused before that was decided */
                about_put_text(w, "mode", host ? "host" : "sandbox", 16);
        if (about->image) {
                about_put_text(w, "engine", host ? "host" : engine_words[about->engine], 16);
                put_masked(w, "image", about->image, r ? exec_request_mask(r) : NULL, TEXT_MAX);
                about_put_text(w, "tier", tier_words[about->tier], 16);
        } else if (r && r->image) {
                put_masked(w, "image", r->image, exec_request_mask(r), TEXT_MAX);
        }
}

static size_t write_about(const struct about *about, const struct bounds *bounds, char *to)
{
        struct writer w = {.to = to, .bounds = bounds};
        put_open(&w, NULL, '{');
        put_place(&w, about);
        if (about->key_name && about->key_name[0])
                about_put_text(&w, "key_name", about->key_name, TEXT_MAX);
        const char *trace = about->trace ? about->trace : about->request ? about->request->trace : "";
        if (trace[0])
                about_put_text(&w, "traceparent", trace, CALLER_TRACE_SIZE + 2);
        if (about->request)
                put_request(&w, about->request);
        if (about->error) {
                put_open(&w, "error", '{');
                about_put_text(&w, "kind", cella_kind_name(about->error->kind), 32);
                put_masked(&w, "message", about->error->msg,
                           about->request ? exec_request_mask(about->request) : NULL, 400);
                put_close(&w, '}');
        }
        if (about->unrecorded > 0)
                about_put_number(&w, "unrecorded", about->unrecorded);
        put_close(&w, '}');
        return w.len;
}

const char *about_runtime(const struct exec_request *r, char to[ABOUT_NAME_SIZE])
{
        if (!r->runtime || !exec_request_mask(r))
                return r->runtime;
        snprintf(to, ABOUT_NAME_SIZE, "%s", r->runtime);
        mask_string(exec_request_mask(r), to);
        return to;
}

size_t about_write_short(const struct about *about, char to[AUDIT_ABOUT_SLOT_MAX])
{
        return write_about(about, &bounds_short, to);
}

size_t about_write(const struct about *about, char to[AUDIT_ABOUT_MAX])
{
        return write_about(about, &bounds_row, to);
}
