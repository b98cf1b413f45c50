#include "audit/row.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/id.h"

#define MARKER_MAX 64

int64_t row_now_ms(void)
{
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct cell cell_integer(uint64_t value)
{
        return (struct cell){.type = SQLITE_INTEGER,
                             .integer = value > INT64_MAX ? INT64_MAX : (int64_t)value};
}

struct cell cell_text(const char *text)
{
        if (!text)
                return (struct cell){.type = SQLITE_NULL};
        return (struct cell){.type = SQLITE_TEXT, .data = text, .len = strlen(text)};
}

struct cell cell_blob(const void *data, size_t len)
{
        return (struct cell){.type = SQLITE_BLOB, .data = data ? data : "", .len = data ? len : 0};
}

static void audit_row_put_number(unsigned char *to, uint64_t value)
{
        for (int i = 0; i < 8; i++)
                to[i] = (unsigned char)(value >> (8 * i));
}

size_t row_columns(const struct cell *cells)
{
        return cells[COLUMN_ABOUT].type == SQLITE_NULL ? COLUMN_ABOUT : COLUMNS;
}

void row_hash(const unsigned char before[HASH_SIZE], const struct cell *cells, size_t n,
              unsigned char ret[HASH_SIZE])
{
        crypto_generichash_state state;
        crypto_generichash_init(&state, NULL, 0, HASH_SIZE);
        crypto_generichash_update(&state, before, HASH_SIZE);
        for (size_t i = 0; i < n; i++) {
                bool integer = cells[i].type == SQLITE_INTEGER;
                unsigned char head[9] = {(unsigned char)cells[i].type};
                audit_row_put_number(head + 1, integer ? (uint64_t)cells[i].integer : cells[i].len);
                crypto_generichash_update(&state, head, sizeof head);
                if (!integer && cells[i].len > 0)
                        crypto_generichash_update(&state, cells[i].data, cells[i].len);
        }
        crypto_generichash_final(&state, ret, HASH_SIZE);
}

int row_bind(sqlite3_stmt *statement, const struct cell *cells, size_t n)
{
        int r = SQLITE_OK;
        for (size_t i = 0; i < n && r == SQLITE_OK; i++) {
                int at = (int)i + 1;
                if (cells[i].type == SQLITE_INTEGER)
                        r = sqlite3_bind_int64(statement, at, cells[i].integer);
                else if (cells[i].type == SQLITE_TEXT)
                        r = sqlite3_bind_text(statement, at, cells[i].data, (int)cells[i].len, SQLITE_STATIC);
                else if (cells[i].type == SQLITE_BLOB)
                        r = sqlite3_bind_blob(statement, at, cells[i].data, (int)cells[i].len, SQLITE_STATIC);
                else
                        r = sqlite3_bind_null(statement, at);
        }
        return r;
}

void row_read(sqlite3_stmt *statement, struct cell *cells, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                int at = (int)i, type = sqlite3_column_type(statement, at);
                cells[i] = (struct cell){.type = type};
                if (type == SQLITE_INTEGER) {
                        cells[i].integer = sqlite3_column_int64(statement, at);
                } else if (type != SQLITE_NULL) {
                        /* The log never writes a float: the file was changed.  Its text gives another hash.
                         */
                        const void *data = type == SQLITE_BLOB ? sqlite3_column_blob(statement, at)
                                                               : sqlite3_column_text(statement, at);
                        cells[i].data = data ? data : "";
                        cells[i].len = data ? (size_t)sqlite3_column_bytes(statement, at) : 0;
                }
        }
}

/* ---- records ---- */

/* The kept part of an output: all of it, or the first and the last part with a line between them. */
struct cut {
        const char *data;
        size_t first, last;
        const char *end; /* start of the last part */
        char marker[MARKER_MAX];
        size_t marker_len;
};

static struct cut cut_output(const char *data, size_t len, uint64_t total)
{
        struct cut cut = {.data = data, .first = len};
        if (len <= KEPT_MAX)
                return cut;
        cut.first = (KEPT_MAX - MARKER_MAX) / 2;
        cut.last = (KEPT_MAX - MARKER_MAX) / 2;
        cut.end = data + len - cut.last;
        uint64_t left_out = (total > len ? total : len) - cut.first - cut.last;
        cut.marker_len = (size_t)snprintf(cut.marker, sizeof cut.marker, "\n[... %llu bytes left out ...]\n",
                                          (unsigned long long)left_out);
        return cut;
}

static size_t cut_len(const struct cut *cut)
{
        return cut->first + cut->marker_len + cut->last;
}

static char *audit_row_put(char *to, const void *data, size_t len)
{
        if (len > 0)
                memcpy(to, data, len);
        return to + len;
}

static struct cell put_cut(char **at, const struct cut *cut)
{
        char *start = *at;
        *at = audit_row_put(*at, cut->data, cut->first);
        *at = audit_row_put(*at, cut->marker, cut->marker_len);
        *at = audit_row_put(*at, cut->end, cut->last);
        return cell_blob(start, (size_t)(*at - start));
}

static struct cell audit_row_put_text(char **at, const char *text, size_t len)
{
        char *start = *at;
        if (!text)
                return cell_text(NULL);
        *at = audit_row_put(*at, text, len);
        return (struct cell){.type = SQLITE_TEXT, .data = start, .len = len};
}

static size_t name_len(const char *name)
{
        return name ? strnlen(name, NAME_MAX_BYTES) : 0;
}

static void put_names(struct record *record, char **at, const struct audit_begin *begin, const char *status)
{
        struct cell *cells = record->cells;
        cells[COLUMN_ID] = audit_row_put_text(at, begin->id, name_len(begin->id));
        cells[COLUMN_SANDBOX] = audit_row_put_text(at, begin->sandbox, name_len(begin->sandbox));
        cells[COLUMN_RUNTIME] = audit_row_put_text(at, begin->runtime, name_len(begin->runtime));
        cells[COLUMN_KEY] = audit_row_put_text(at, begin->key, name_len(begin->key));
        cells[COLUMN_SESSION] = audit_row_put_text(at, begin->session, name_len(begin->session));
        cells[COLUMN_AGENT] = audit_row_put_text(at, begin->agent, name_len(begin->agent));
        cells[COLUMN_STATUS] = audit_row_put_text(at, status, name_len(status));
}

static void put_numbers(struct record *record, const struct audit_begin *begin, const struct audit_end *end,
                        int64_t finished_ms)
{
        struct cell *cells = record->cells;
        cells[COLUMN_SEQ] = cell_integer(0);
        cells[COLUMN_STARTED] = (struct cell){.type = SQLITE_INTEGER, .integer = begin->started_ms};
        cells[COLUMN_FINISHED] = (struct cell){.type = SQLITE_INTEGER, .integer = finished_ms};
        cells[COLUMN_EXIT_CODE] = (struct cell){.type = SQLITE_INTEGER, .integer = end->exit_code};
        if (strcmp(end->status, "interrupted") == 0 || strcmp(end->status, "lost") == 0 ||
            strcmp(end->status, "refused") == 0)
                cells[COLUMN_EXIT_CODE] = cell_text(NULL); /* unknown, or it did not run */
        cells[COLUMN_SIGNAL] = end->signal != 0 ? cell_integer((uint64_t)end->signal) : cell_text(NULL);
        cells[COLUMN_DURATION] = cell_integer(end->duration_us);
        cells[COLUMN_CPU] = cell_integer(end->cpu_us);
        cells[COLUMN_MEMORY_PEAK] = cell_integer(end->memory_peak_bytes);
        cells[COLUMN_PROCESSES_PEAK] = cell_integer(end->processes_peak);
        cells[COLUMN_INPUT_BYTES] = cell_integer(begin->input_len);
        cells[COLUMN_STDOUT_BYTES] = cell_integer(end->output_total[0]);
        cells[COLUMN_STDERR_BYTES] = cell_integer(end->output_total[1]);
}

/* Violations that are too long are replaced, because a part of a JSON text is not valid JSON. */
static const char *violations_of(const struct audit_end *end, char *instead, size_t size)
{
        size_t len = end->violations ? strlen(end->violations) : 0;
        if (len <= KEPT_MAX)
                return end->violations;
        snprintf(instead, size,
                 "[{\"kind\":\"log\",\"target\":\"violations\",\"detail\":\"%zu bytes left out\"}]", len);
        return instead;
}

struct record *record_new(const struct audit_begin *given, const struct audit_end *end, int64_t finished_ms,
                          bool keep_output, int slot)
{
        struct audit_begin begin = *given;
        char id[ID_SIZE], instead[128];
        const char *violations = violations_of(end, instead, sizeof instead);
        struct cut output[2] = {{.first = 0}, {.first = 0}};
        bool kept[2] = {false, false};
        size_t input = !begin.input ? 0 : begin.input_len < KEPT_MAX ? begin.input_len : KEPT_MAX;
        size_t about = begin.about && begin.about_len <= AUDIT_ABOUT_MAX ? begin.about_len : 0;
        size_t need = input + about + (violations ? strlen(violations) : 0);
        if (!begin.id) {
                if (id_make("exe_", id) < 0)
                        return NULL;
                begin.id = id;
        }
        for (int i = 0; i < 2; i++) {
                kept[i] = keep_output && end->output[i];
                if (kept[i])
                        output[i] = cut_output(end->output[i], end->output_len[i], end->output_total[i]);
                need += cut_len(&output[i]);
        }
        const char *status = end->status ? end->status : "interrupted";
        struct audit_end named = *end;
        named.status = status;
        need += name_len(begin.id) + name_len(begin.sandbox) + name_len(begin.runtime) + name_len(begin.key) +
                name_len(begin.session) + name_len(begin.agent) + name_len(status);

        struct record *record = malloc(sizeof *record + need);
        if (!record)
                return NULL;
        *record = (struct record){.size = sizeof *record + need, .slot = slot};
        char *at = record->data;
        put_names(record, &at, &begin, status);
        put_numbers(record, &begin, &named, finished_ms);
        record->cells[COLUMN_VIOLATIONS] =
                audit_row_put_text(&at, violations, violations ? strlen(violations) : 0);
        record->cells[COLUMN_INPUT] = begin.input ? cell_blob(at, input) : cell_text(NULL);
        at = audit_row_put(at, begin.input, input);
        record->cells[COLUMN_STDOUT] = kept[0] ? put_cut(&at, &output[0]) : cell_text(NULL);
        record->cells[COLUMN_STDERR] = kept[1] ? put_cut(&at, &output[1]) : cell_text(NULL);
        record->cells[COLUMN_ABOUT] = audit_row_put_text(&at, about > 0 ? begin.about : NULL, about);
        return record;
}

struct record *record_note(const char *text, int64_t now_ms)
{
        char id[ID_SIZE];
        if (id_make("log_", id) < 0)
                return NULL;
        struct audit_begin begin = {.id = id, .input = text, .input_len = strlen(text), .started_ms = now_ms};
        struct audit_end end = {.status = "lost"};
        return record_new(&begin, &end, now_ms, false, -1);
}
