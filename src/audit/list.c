/* audit/list.c -- one page of the log, newest first.
 *
 * One condition is looked up in its index, which contains the row numbers in order.  For several statuses
 * there is one cursor ("walk") for each, and the newest row of all cursors is the next.  All other
 * conditions are checked row by row here and not in SQL, so that a search without results can be stopped
 * and continued at any row. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/db.h"
#include "audit/match.h"
#include "audit/reader.h"
#include "base/clock.h"
#include "base/err.h"

#define LIST_MAX 1000
#define PREVIEW_BYTES 160
#define SEARCH_US 100000
#define LOOK_AT_CLOCK 64 /* check the time after this number of unwanted rows */
/* After this number of rows older than filter.since_ms, look up where the wanted rows end. */
#define SKIPPED_MAX 256

struct walk {
        sqlite3_stmt *statement;
        bool row; /* it is on a row */
};

struct search {
        struct audit_reader *reader;
        struct match match;
        struct walk walks[AUDIT_STATUSES_MAX];
        unsigned n_walks;
        int code; /* SQLite code; SQLITE_ROW if there was no error */
        int64_t begun_us;
        unsigned skipped, too_old;
        int64_t oldest; /* rows up to this one started too early */
};

static void add_walk(struct search *s, const char *column, const char *value)
{
        const struct audit_filter *f = s->match.filter;
        struct walk *walk = &s->walks[s->n_walks++];
        char sql[512];
        snprintf(sql, sizeof sql,
                 "SELECT " ROW_COLUMNS " FROM executions WHERE seq < ?1%s%s%s ORDER BY seq DESC",
                 column ? " AND " : "", column ? column : "", column ? " = ?2" : "");
        int r = sqlite3_prepare_v2(s->reader->db, sql, -1, &walk->statement, NULL);
        int64_t below = f->cursor > 0 && f->cursor < INT64_MAX ? (int64_t)f->cursor : INT64_MAX;
        if (r == SQLITE_OK)
                r = sqlite3_bind_int64(walk->statement, 1, below);
        if (r == SQLITE_OK && column)
                r = sqlite3_bind_text(walk->statement, 2, value, (int)strnlen(value, NAME_MAX_BYTES),
                                      SQLITE_STATIC);
        if (r == SQLITE_OK)
                r = sqlite3_step(walk->statement);
        walk->row = r == SQLITE_ROW;
        if (r != SQLITE_ROW && r != SQLITE_DONE)
                s->code = r;
}

/* Selects the condition to look up in an index.  Nearly all rows have the status "exited", so a key is more
 * selective. */
static void add_walks(struct search *s)
{
        const struct audit_filter *f = s->match.filter;
        if (s->match.nothing)
                return;
        if (f->sandbox)
                add_walk(s, "sandbox", f->sandbox);
        else if (f->session)
                add_walk(s, "session", f->session);
        else if (f->agent)
                add_walk(s, "agent", f->agent);
        else if (f->key && (!f->status || match_has_status(&s->match, "exited")))
                add_walk(s, "\"key\"", f->key);
        else if (f->status)
                for (unsigned i = 0; i < s->match.n_words && s->code == SQLITE_ROW; i++)
                        add_walk(s, "status", s->match.words[i]);
        else
                add_walk(s, NULL, NULL);
}

/* Returns the walk on the newest row; NULL if all are at the end. */
static struct walk *newest(struct search *s)
{
        struct walk *best = NULL;
        int64_t highest = INT64_MIN;
        for (unsigned i = 0; i < s->n_walks; i++) {
                if (!s->walks[i].row)
                        continue;
                int64_t seq = sqlite3_column_int64(s->walks[i].statement, COLUMN_SEQ);
                if (!best || seq > highest) {
                        best = &s->walks[i];
                        highest = seq;
                }
        }
        return best;
}

static void log_list_step(struct search *s, struct walk *walk)
{
        int r = sqlite3_step(walk->statement);
        walk->row = r == SQLITE_ROW;
        if (r != SQLITE_ROW && r != SQLITE_DONE)
                s->code = r;
}

/* Returns the oldest row that started at that time or later.  Rows are in the order of their ends, so older
 * starts may follow it. */
static int64_t oldest_since(struct audit_reader *reader, int64_t since_ms)
{
        sqlite3_stmt *statement = NULL;
        int64_t seq = INT64_MAX;
        static const char sql[] =
                "SELECT min(seq) FROM executions INDEXED BY by_started WHERE started_ms >= ?1";
        if (sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL) == SQLITE_OK &&
            sqlite3_bind_int64(statement, 1, since_ms) == SQLITE_OK &&
            sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_INTEGER)
                seq = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        return seq;
}

enum look { WANTED, NOT_WANTED, NONE_BELOW };

static bool has_text(const struct search *s, sqlite3_stmt *statement)
{
        if (s->match.text_len == 0)
                return true;
        for (int column = COLUMN_INPUT; column <= COLUMN_STDERR; column++) {
                const void *data = sqlite3_column_blob(statement, column);
                if (data && match_text(&s->match, data, (size_t)sqlite3_column_bytes(statement, column)))
                        return true;
        }
        return false;
}

static enum look log_list_look_at(struct search *s, sqlite3_stmt *statement, const struct cell *cells)
{
        const struct audit_filter *f = s->match.filter;
        if (cells[COLUMN_STARTED].integer < f->since_ms) {
                if (++s->too_old == SKIPPED_MAX)
                        s->oldest = oldest_since(s->reader, f->since_ms);
                return cells[COLUMN_SEQ].integer > s->oldest ? NOT_WANTED : NONE_BELOW;
        }
        return match_names(&s->match, cells) && has_text(s, statement) ? WANTED : NOT_WANTED;
}

static bool takes_too_long(struct search *s)
{
        return ++s->skipped % LOOK_AT_CLOCK == 0 &&
               clock_us() - s->begun_us >
                       (s->match.filter->patience_us ? s->match.filter->patience_us : SEARCH_US);
}

/* Returns a row of the list: reader_summary() and the beginning of the code. */
static json_t *log_list_listed(const struct cell *cells, const struct cell *about, const void *input,
                               size_t len)
{
        json_t *row = reader_summary(cells, about->data, about->len);
        json_t *preview = reader_text(input, len < PREVIEW_BYTES ? len : PREVIEW_BYTES);
        if (row && preview)
                json_object_set(row, "preview", preview);
        json_decref(preview);
        return row;
}

static json_t *listed_from(sqlite3_stmt *statement, const struct cell *cells)
{
        const void *input = sqlite3_column_blob(statement, COLUMN_INPUT);
        size_t len = input ? (size_t)sqlite3_column_bytes(statement, COLUMN_INPUT) : 0;
        struct cell about = {.data = sqlite3_column_text(statement, COLUMN_ABOUT)};
        about.len = about.data ? (size_t)sqlite3_column_bytes(statement, COLUMN_ABOUT) : 0;
        return log_list_listed(cells, &about, input, len);
}

/* Fills the list.  *ret_cursor is the start of the next page, NULL if there is none. */
static void log_list_fill(struct search *s, unsigned limit, json_t *list, json_t **ret_cursor,
                          json_t **ret_searched)
{
        struct cell cells[COLUMNS];
        struct walk *walk;
        int64_t last = 0;
        while (s->code == SQLITE_ROW && (walk = newest(s))) {
                row_read(walk->statement, cells, COLUMN_VIOLATIONS);
                enum look look = log_list_look_at(s, walk->statement, cells);
                if (look == NONE_BELOW)
                        return;
                if (look == WANTED && json_array_size(list) == limit) {
                        *ret_cursor = json_sprintf("%lld", (long long)last);
                        return;
                }
                last = cells[COLUMN_SEQ].integer;
                if (look == WANTED && json_array_append_new(list, listed_from(walk->statement, cells)) < 0)
                        s->code = SQLITE_NOMEM;
                if (look == NOT_WANTED && takes_too_long(s)) {
                        *ret_cursor = json_sprintf("%lld", (long long)last);
                        *ret_searched = reader_time(&cells[COLUMN_STARTED]);
                        return;
                }
                log_list_step(s, walk);
        }
}

int audit_list(struct audit_reader *reader, const struct audit_filter *filter, json_t **ret,
               struct cella_err *err)
{
        struct search s = {.reader = reader, .code = SQLITE_ROW, .begun_us = clock_us(), .oldest = INT64_MIN};
        unsigned limit = filter->limit == 0 ? 1 : filter->limit > LIST_MAX ? LIST_MAX : filter->limit;
        json_t *list = json_array(), *cursor = NULL, *searched = NULL;
        match_init(&s.match, filter);
        add_walks(&s);
        log_list_fill(&s, limit, list, &cursor, &searched);
        int r = s.code == SQLITE_ROW ? 0 : db_fail(reader->db, "audit.db", "read", err);
        for (unsigned i = 0; i < s.n_walks; i++)
                sqlite3_finalize(s.walks[i].statement);
        json_t *page = r < 0 ? NULL
                             : json_pack("{sO so}", "executions", list, "cursor",
                                         cursor ? json_incref(cursor) : json_null());
        if (page && searched)
                json_object_set(page, "searched", searched);
        json_decref(list);
        json_decref(cursor);
        json_decref(searched);
        if (!page)
                return r < 0 ? r : err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot list executions");
        *ret = page;
        return 0;
}

static struct cell name_cell(const char *name)
{
        if (!name)
                return cell_text(NULL);
        return (struct cell){.type = SQLITE_TEXT, .data = name, .len = strnlen(name, NAME_MAX_BYTES)};
}

/* Called before anything is copied: there may be many filters, and most rows do not match most of them. */
static bool has_names(const struct match *match, const struct audit_begin *begin, const char *status)
{
        struct cell cells[COLUMN_VIOLATIONS] = {
                [COLUMN_SANDBOX] = name_cell(begin->sandbox),
                [COLUMN_KEY] = name_cell(begin->key),
                [COLUMN_SESSION] = name_cell(begin->session),
                [COLUMN_AGENT] = name_cell(begin->agent),
                [COLUMN_STATUS] = name_cell(status ? status : "interrupted"),
        };
        return match_names(match, cells);
}

json_t *audit_row(const struct audit_filter *filter, const struct audit_begin *begin,
                  const struct audit_end *end)
{
        struct match match;
        match_init(&match, filter);
        if (begin->started_ms < filter->since_ms || !has_names(&match, begin, end->status))
                return NULL;
        struct record *record = record_new(begin, end, row_now_ms(), match.text_len > 0, -1);
        if (!record)
                return NULL;
        bool found = match.text_len == 0;
        for (int i = COLUMN_INPUT; i <= COLUMN_STDERR && !found; i++)
                found = record->cells[i].len > 0 &&
                        match_text(&match, record->cells[i].data, record->cells[i].len);
        const struct cell *input = &record->cells[COLUMN_INPUT];
        json_t *row =
                found ? log_list_listed(record->cells, &record->cells[COLUMN_ABOUT], input->data, input->len)
                      : NULL;
        free(record);
        return row;
}
