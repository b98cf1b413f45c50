#include "audit/audit.h"

#include <pthread.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/random.h>

#include "audit/db.h"
#include "audit/map.h"
#include "base/clock.h"
#include "directory.h"

#define DAY_MS INT64_C(86400000)

static struct cella_err err;
static unsigned interrupted;

/* ---- a log in a directory of its own ---- */

/* Under valgrind on a busy machine one call can be too short. */
static void flush(struct audit *audit)
{
        for (int i = 0; i < 12 && (i == 0 || audit_waiting(audit) > 0); i++)
                audit_flush(audit);
}

static struct audit_options options(void)
{
        return (struct audit_options){.directory = directory, .keep_output = true};
}

static struct audit *open_with(const struct audit_options *o)
{
        struct audit *audit = NULL;
        memset(&err, 0, sizeof err);
        CHECK_INT(audit_open(o, &audit, &interrupted, &err), 0);
        CHECK_STR(err.msg, "");
        if (!audit)
                exit(EXIT_FAILURE);
        return audit;
}

static struct audit *opened(void)
{
        struct audit_options o = options();
        return open_with(&o);
}

static int64_t now_ms(void)
{
        return row_now_ms();
}

static struct audit_begin begin_of(const char *id)
{
        return (struct audit_begin){
                .id = id,
                .sandbox = "sbx_1",
                .runtime = "sh",
                .input = "echo hello",
                .input_len = 10,
                .started_ms = now_ms(),
        };
}

static const struct audit_end exited = {
        .status = "exited",
        .duration_us = 1234,
        .cpu_us = 800,
        .memory_peak_bytes = 8120320,
        .processes_peak = 1,
        .output = {"hello\n", ""},
        .output_len = {6, 0},
        .output_total = {6, 0},
};

static void log_one(struct audit *audit, const char *id)
{
        struct audit_begin begin = begin_of(id);
        audit_end(audit, audit_begin(audit, &begin), &begin, &exited);
}

static void log_many(struct audit *audit, unsigned n)
{
        for (unsigned i = 0; i < n; i++) {
                char id[ID_SIZE];
                CHECK_INT(id_make("exe_", id), 0);
                log_one(audit, id);
        }
        flush(audit);
}

/* ---- functions that read the log ---- */

static struct audit_reader *reading(void)
{
        struct audit_reader *reader = NULL;
        CHECK_INT(audit_reader_open(directory, &reader, &err), 0);
        if (!reader)
                exit(EXIT_FAILURE);
        return reader;
}

static json_t *got(const char *id)
{
        json_t *row = NULL;
        struct audit_reader *reader = reading();
        CHECK_INT(audit_get(reader, id, &row, &err), 0);
        audit_reader_close(reader);
        return row;
}

static const char *word(const json_t *row, const char *name)
{
        return json_string_value(json_object_get(row, name));
}

static json_int_t number(const json_t *row, const char *name)
{
        return json_integer_value(json_object_get(row, name));
}

static json_t *verdict(void)
{
        json_t *said = NULL;
        struct audit_reader *reader = reading();
        CHECK_INT(audit_verify(reader, &said, &err), 0);
        audit_reader_close(reader);
        return said;
}

static void check_ok(json_int_t rows)
{
        json_auto_t *said = verdict();
        if (!json_is_true(json_object_get(said, "ok")))
                printf("why: %s\n", word(said, "why"));
        CHECK(json_is_true(json_object_get(said, "ok")));
        CHECK_INT(number(said, "rows"), rows);
}

static void check_bad(json_int_t row, const char *why)
{
        json_auto_t *said = verdict();
        CHECK(json_is_false(json_object_get(said, "ok")));
        CHECK_INT(number(said, "first_bad"), row);
        CHECK_STR(word(said, "why"), why);
}

static json_t *listed(struct audit_filter filter)
{
        json_t *page = NULL;
        struct audit_reader *reader = reading();
        CHECK_INT(audit_list(reader, &filter, &page, &err), 0);
        audit_reader_close(reader);
        return page;
}

static void run_sql(const char *sql)
{
        sqlite3 *db = NULL;
        char *message = NULL;
        CHECK_INT(sqlite3_open(in_directory("audit.db"), &db), SQLITE_OK);
        sqlite3_busy_timeout(db, 5000);
        CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, &message), SQLITE_OK);
        if (message)
                printf("%s: %s\n", sql, message);
        sqlite3_free(message);
        sqlite3_close(db);
}

static json_int_t count_sql(const char *sql)
{
        sqlite3 *db = NULL;
        sqlite3_stmt *statement = NULL;
        json_int_t n = -1;
        CHECK_INT(sqlite3_open(in_directory("audit.db"), &db), SQLITE_OK);
        sqlite3_busy_timeout(db, 5000);
        CHECK_INT(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
        if (sqlite3_step(statement) == SQLITE_ROW)
                n = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        sqlite3_close(db);
        return n;
}

/* ---- rows ---- */

TEST(a_row_has_everything)
{
        AUTO(audit_close) struct audit *audit = opened();
        CHECK_INT(interrupted, 0);
        struct audit_begin begin = begin_of("exe_1");
        struct audit_end end = exited;
        begin.key = "key_1", begin.session = "s1", begin.agent = "a1", begin.started_ms = 1700000000123;
        end.status = "signaled", end.exit_code = 137, end.signal = 9;
        end.violations = "[{\"kind\":\"network\",\"target\":\"evil.example:443\",\"detail\":\"no\"}]";
        audit_end(audit, audit_begin(audit, &begin), &begin, &end);
        flush(audit);
        CHECK_INT(audit_waiting(audit), 0);
        CHECK_INT(audit_lost(audit), 0);
        json_auto_t *row = got("exe_1");
        CHECK_STR(word(row, "id"), "exe_1");
        CHECK_STR(word(row, "sandbox"), "sbx_1");
        CHECK_STR(word(row, "runtime"), "sh");
        CHECK_STR(word(row, "key"), "key_1");
        CHECK_STR(word(row, "session"), "s1");
        CHECK_STR(word(row, "agent"), "a1");
        CHECK_STR(word(row, "started"), "2023-11-14T22:13:20.123Z");
        CHECK_STR(word(row, "status"), "signaled");
        CHECK_INT(number(row, "exit_code"), 137);
        CHECK_INT(number(row, "signal"), 9);
        CHECK(json_is_false(json_object_get(row, "timed_out")));
        CHECK_STR(word(row, "input"), "echo hello");
        CHECK_INT(number(row, "input_bytes"), 10);
        CHECK_STR(word(row, "stdout"), "hello\n");
        CHECK_STR(word(row, "stderr"), "");
        CHECK_INT(number(row, "stdout_bytes"), 6);
        CHECK(json_is_false(json_object_get(row, "stdout_truncated")));
        CHECK(json_is_false(json_object_get(row, "stderr_truncated")));
        CHECK(json_real_value(json_object_get(row, "duration_ms")) == 1.234);
        json_t *usage = json_object_get(row, "usage");
        CHECK(json_real_value(json_object_get(usage, "cpu_ms")) == 0.8);
        CHECK_INT(number(usage, "memory_peak_bytes"), 8120320);
        CHECK_INT(number(usage, "processes_peak"), 1);
        CHECK_STR(word(json_array_get(json_object_get(row, "violations"), 0), "target"), "evil.example:443");
        CHECK_INT(number(row, "row"), 1);
        CHECK_INT(strlen(word(row, "hash")), 64);
        json_auto_t *said = verdict();
        CHECK_STR(word(said, "hash"), word(row, "hash"));
        CHECK_INT(number(said, "last"), 1);
}

TEST(missing_fields_are_null)
{
        AUTO(audit_close) struct audit *audit = opened();
        struct audit_begin begin = {.id = "exe_1"};
        struct audit_end end = {.status = "timeout"};
        audit_end(audit, -EAGAIN, &begin, &end);
        flush(audit);
        json_t *row = got("exe_1");
        static const char *const names[] = {"sandbox", "runtime", "key",    "session", "agent",
                                            "signal",  "input",   "stdout", "stderr"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                CHECK(json_is_null(json_object_get(row, names[i])));
        CHECK(json_is_true(json_object_get(row, "timed_out")));
        CHECK_INT(json_array_size(json_object_get(row, "violations")), 0);
        json_decref(row);
        AUTO(audit_reader_close) struct audit_reader *reader = reading();
        row = NULL;
        CHECK_INT(audit_get(reader, "exe_2", &row, &err), -ENOENT);
        CHECK_INT(err.kind, CELLA_NOT_FOUND);
        CHECK(row == NULL);
        check_ok(1);
}

TEST(long_values_are_truncated)
{
        AUTO(audit_close) struct audit *audit = opened();
        enum { SIZE = 200000 };
        char *text = malloc(SIZE), name[1000];
        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        for (size_t i = 0; i < SIZE; i++)
                text[i] = (char)('a' + i % 26);
        struct audit_begin begin = begin_of("exe_1");
        struct audit_end end = exited;
        begin.input = text, begin.input_len = SIZE, begin.session = name;
        end.output[0] = text, end.output_len[0] = SIZE, end.output_total[0] = 5000000;
        end.output[1] = text, end.output_len[1] = 65536, end.output_total[1] = 65536;
        end.violations = NULL;
        audit_end(audit, audit_begin(audit, &begin), &begin, &end);
        flush(audit);
        json_t *row = got("exe_1");
        const char *out = word(row, "stdout");
        CHECK_INT(json_string_length(json_object_get(row, "input")), 65536);
        CHECK_INT(number(row, "input_bytes"), SIZE);
        CHECK(json_is_true(json_object_get(row, "input_truncated")));
        CHECK(strlen(out) <= 65536 && strlen(out) > 65000);
        CHECK(strncmp(out, text, 32000) == 0);
        CHECK(strncmp(out + strlen(out) - 32000, text + SIZE - 32000, 32000) == 0);
        CHECK(strstr(out, "\n[... 4934528 bytes left out ...]\n") != NULL);
        CHECK(json_is_true(json_object_get(row, "stdout_truncated")));
        CHECK_INT(json_string_length(json_object_get(row, "stderr")), 65536);
        CHECK(json_is_false(json_object_get(row, "stderr_truncated")));
        CHECK_INT(strlen(word(row, "session")), 255);
        json_decref(row);
        json_t *page = listed((struct audit_filter){.session = name, .limit = 10});
        CHECK_INT(json_array_size(json_object_get(page, "executions")), 1);
        json_decref(page);

        /* Truncated JSON would be invalid. */
        memset(text, ' ', SIZE);
        text[0] = '[', text[SIZE - 2] = ']', text[SIZE - 1] = '\0';
        begin.id = "exe_2";
        end = exited;
        end.violations = text;
        audit_end(audit, audit_begin(audit, &begin), &begin, &end);
        flush(audit);
        row = got("exe_2");
        CHECK_STR(word(json_array_get(json_object_get(row, "violations"), 0), "detail"),
                  "199999 bytes left out");
        json_decref(row);
        free(text);
        check_ok(2);
}

TEST(bytes_that_are_not_utf8_become_replacement_characters)
{
        AUTO(audit_close) struct audit *audit = opened();
        struct audit_begin begin = begin_of("exe_1");
        struct audit_end end = exited;
        begin.input = "a\0b\xff", begin.input_len = 4, begin.agent = "\xc3(";
        end.output[0] = "\xe2\x82\xac\xed\xa0\x80\xf0\x9f\x98\x80\xc0\xaf", end.output_len[0] = 12;
        end.output_total[0] = 12;
        audit_end(audit, audit_begin(audit, &begin), &begin, &end);
        flush(audit);
        json_auto_t *row = got("exe_1");
        CHECK_INT(json_string_length(json_object_get(row, "input")), 6);
        CHECK(memcmp(word(row, "input"), "a\0b\xef\xbf\xbd", 6) == 0);
        CHECK_STR(word(row, "agent"), "\xef\xbf\xbd(");
        CHECK_STR(word(row, "stdout"), "\xe2\x82\xac\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80"
                                       "\xef\xbf\xbd\xef\xbf\xbd");
        CHECK(json_is_false(json_object_get(row, "stdout_truncated")));
        check_ok(1);
}

TEST(output_is_kept_only_if_wanted)
{
        struct audit_options o = {.keep_output = false};
        o.directory = directory;
        AUTO(audit_close) struct audit *audit = open_with(&o);
        log_one(audit, "exe_1");
        o.keep_output = true;
        audit_configure(audit, &o);
        log_one(audit, "exe_2");
        flush(audit);
        json_t *row = got("exe_1");
        CHECK(json_is_null(json_object_get(row, "stdout")));
        CHECK_INT(number(row, "stdout_bytes"), 6);
        CHECK(json_is_true(json_object_get(row, "stdout_truncated")));
        json_decref(row);
        row = got("exe_2");
        CHECK_STR(word(row, "stdout"), "hello\n");
        json_decref(row);
}

TEST(an_id_that_is_logged_twice_is_one_row)
{
        AUTO(audit_close) struct audit *audit = opened();
        log_one(audit, "exe_1");
        log_one(audit, "exe_1");
        log_one(audit, "exe_2");
        flush(audit);
        check_ok(2);
}

TEST(files_are_the_owners_only)
{
        mode_t before = umask(0);
        AUTO(audit_close) struct audit *audit = opened();
        struct stat st;
        log_many(audit, 1);
        static const char *const files[] = {"audit.db", "audit.db-wal", "audit.db-shm", "running.map"};
        for (size_t i = 0; i < 4; i++) {
                CHECK_INT(stat(in_directory(files[i]), &st), 0);
                CHECK_INT(st.st_mode & 07777, 0600);
        }
        /* The file has no holes: a write into a hole on a full disk would raise SIGBUS. */
        CHECK(st.st_blocks * 512 >= st.st_size);
        umask(before);
}

TEST(more_at_once_than_slots_are_logged_too)
{
        AUTO(audit_close) struct audit *audit = opened();
        enum { N = MAP_SLOTS + 50 };
        static int slots[N];
        static char ids[N][16];
        unsigned refused = 0;
        for (int round = 0; round < 2; round++) {
                for (int i = 0; i < N; i++) {
                        snprintf(ids[i], sizeof ids[i], "exe_%d_%d", round, i);
                        struct audit_begin begin = begin_of(ids[i]);
                        slots[i] = audit_begin(audit, &begin);
                        refused += slots[i] == -EAGAIN;
                }
                for (int i = 0; i < N; i++) {
                        struct audit_begin begin = begin_of(ids[i]);
                        audit_end(audit, slots[i], &begin, &exited);
                }
                flush(audit);
        }
        CHECK_INT(refused, 100);
        check_ok(2 * N);
}

/* ---- lists ---- */

TEST(lists_are_newest_first_in_pages)
{
        AUTO(audit_close) struct audit *audit = opened();
        for (int i = 1; i <= 25; i++) {
                char id[16];
                snprintf(id, sizeof id, "exe_%d", i);
                log_one(audit, id);
        }
        flush(audit);
        uint64_t cursor = 0;
        int expected = 25;
        for (int page_number = 0; page_number < 3; page_number++) {
                json_t *page = listed((struct audit_filter){.limit = 10, .cursor = cursor}), *row;
                size_t i;
                json_array_foreach (json_object_get(page, "executions"), i, row) {
                        char id[16];
                        snprintf(id, sizeof id, "exe_%d", expected--);
                        CHECK_STR(word(row, "id"), id);
                        CHECK(json_object_get(row, "stdout") == NULL &&
                              json_object_get(row, "input") == NULL);
                        CHECK_INT(number(row, "input_bytes"), 10);
                }
                CHECK_INT(i, page_number < 2 ? 10 : 5);
                const char *next = word(page, "cursor");
                if (page_number < 2)
                        cursor = strtoull(next ? next : "0", NULL, 10);
                else
                        CHECK(json_is_null(json_object_get(page, "cursor")));
                json_decref(page);
        }
        CHECK_INT(expected, 0);
        /* A page that is exactly full can be the last one. */
        json_t *page = listed((struct audit_filter){.limit = 25});
        CHECK_INT(json_array_size(json_object_get(page, "executions")), 25);
        CHECK(json_is_null(json_object_get(page, "cursor")));
        json_decref(page);
}

static size_t matching(struct audit_filter filter)
{
        if (filter.limit == 0)
                filter.limit = 1000;
        filter.patience_us = 60000000; /* a slow machine must not make it answer before it has seen all */
        json_t *page = listed(filter);
        size_t n = json_array_size(json_object_get(page, "executions"));
        json_decref(page);
        return n;
}

TEST(lists_are_filtered)
{
        AUTO(audit_close) struct audit *audit = opened();
        static const char *const names[] = {"x", "y", "z"};
        int64_t now = now_ms();
        for (int i = 0; i < 60; i++) {
                char id[16];
                snprintf(id, sizeof id, "exe_%d", i);
                struct audit_begin begin = begin_of(id);
                struct audit_end end = exited;
                begin.sandbox = names[i % 3], begin.session = i % 2 ? "s" : NULL, begin.agent = names[i % 2];
                begin.key = i < 30 ? "k1" : "k2";
                begin.started_ms = now - (60 - i) * 1000;
                end.status = i % 10 == 0 ? "timeout" : "exited";
                audit_end(audit, audit_begin(audit, &begin), &begin, &end);
        }
        flush(audit);
        CHECK_INT(matching((struct audit_filter){.sandbox = "x"}), 20);
        CHECK_INT(matching((struct audit_filter){.session = "s"}), 30);
        CHECK_INT(matching((struct audit_filter){.agent = "y"}), 30);
        CHECK_INT(matching((struct audit_filter){.status = "timeout"}), 6);
        CHECK_INT(matching((struct audit_filter){.key = "k2"}), 30);
        CHECK_INT(matching((struct audit_filter){.sandbox = "x", .status = "timeout"}), 2);
        CHECK_INT(matching((struct audit_filter){
                          .sandbox = "y", .session = "s", .agent = "y", .key = "k1", .status = "exited"}),
                  5);
        CHECK_INT(matching((struct audit_filter){.sandbox = "none"}), 0);
        CHECK_INT(matching((struct audit_filter){.sandbox = "' OR 1=1 --"}), 0);
        CHECK_INT(matching((struct audit_filter){.since_ms = now - 10500}), 10);
        CHECK_INT(matching((struct audit_filter){.since_ms = now + DAY_MS}), 0);
        CHECK_INT(matching((struct audit_filter){.limit = 0}), 60);
        CHECK_INT(matching((struct audit_filter){.limit = 7}), 7);
        CHECK_INT(matching((struct audit_filter){.limit = 4000000000}), 60);
        CHECK_INT(matching((struct audit_filter){.cursor = UINT64_MAX}), 60);
        CHECK_INT(matching((struct audit_filter){.cursor = 1}), 0);
}

TEST(lists_are_searched_for_text_and_for_several_statuses)
{
        AUTO(audit_close) struct audit *audit = opened();
        static const char *const statuses[] = {"exited", "timeout", "signaled"};
        static const char needle[] = "in it: a NeeDle\0\xff", hay[] = "hay";
        for (int i = 0; i < 90; i++) {
                char id[16];
                snprintf(id, sizeof id, "exe_%d", i);
                struct audit_begin begin = begin_of(id);
                struct audit_end end = exited;
                const char *text = i % 9 == 0 ? needle : hay;
                size_t len = i % 9 == 0 ? sizeof needle - 1 : sizeof hay - 1;
                int where = i / 9 % 3;
                begin.input = where == 0 ? text : hay, begin.input_len = where == 0 ? len : 3;
                for (int k = 0; k < 2; k++) {
                        end.output[k] = where == k + 1 ? text : hay;
                        end.output_len[k] = end.output_total[k] = where == k + 1 ? len : 3;
                }
                end.status = statuses[i % 3];
                audit_end(audit, audit_begin(audit, &begin), &begin, &end);
        }
        flush(audit);
        CHECK_INT(matching((struct audit_filter){.text = "needle"}), 10);
        CHECK_INT(matching((struct audit_filter){.text = "NEEDLE"}), 10);
        CHECK_INT(matching((struct audit_filter){.text = "e"}), 10);
        CHECK_INT(matching((struct audit_filter){.text = "needles"}), 0);
        CHECK_INT(matching((struct audit_filter){.text = "in it: a needle"}), 10);
        CHECK_INT(matching((struct audit_filter){.text = ""}), 90);
        CHECK_INT(matching((struct audit_filter){.text = "hay", .status = "timeout,signaled"}), 60);
        CHECK_INT(matching((struct audit_filter){.status = "timeout,signaled"}), 60);
        CHECK_INT(matching((struct audit_filter){.status = "timeout,timeout,,exited,none"}), 60);
        CHECK_INT(matching((struct audit_filter){.status = ","}), 0);
        CHECK_INT(matching((struct audit_filter){.status = "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,exited"}), 0);
        /* Rows of several statuses, in order and page by page. */
        int64_t before = INT64_MAX;
        uint64_t cursor = 0;
        size_t rows = 0;
        do {
                json_t *page = listed(
                        (struct audit_filter){.status = "exited,signaled", .limit = 7, .cursor = cursor});
                json_t *list = json_object_get(page, "executions"), *row;
                size_t i;
                json_array_foreach (list, i, row) {
                        int64_t seq = strtoll(word(row, "id") + 4, NULL, 10);
                        CHECK(seq < before && seq % 3 != 1);
                        before = seq;
                        rows++;
                }
                const char *next = word(page, "cursor");
                cursor = next && *next ? strtoull(next, NULL, 10) : 0;
                json_decref(page);
        } while (cursor > 0);
        CHECK_INT(rows, 60);
}

TEST(a_search_that_takes_long_is_answered_before_and_goes_on)
{
        AUTO(audit_close) struct audit *audit = opened();
        for (int i = 0; i < 1000; i++) {
                char id[16];
                snprintf(id, sizeof id, "exe_%d", i);
                struct audit_begin begin = begin_of(id);
                begin.input = i % 500 == 10 ? "needle" : "hay", begin.input_len = i % 500 == 10 ? 6 : 3;
                audit_end(audit, audit_begin(audit, &begin), &begin, &exited);
        }
        flush(audit);
        uint64_t cursor = 0;
        unsigned answers = 0, found = 0, said = 0;
        do {
                json_t *page = listed((struct audit_filter){
                        .text = "needle", .limit = 100, .cursor = cursor, .patience_us = 1});
                const char *next = word(page, "cursor");
                answers++;
                found += (unsigned)json_array_size(json_object_get(page, "executions"));
                said += json_is_string(json_object_get(page, "searched"));
                cursor = next && *next ? strtoull(next, NULL, 10) : 0;
                json_decref(page);
        } while (cursor > 0);
        CHECK_INT(found, 2);
        CHECK(answers > 5);
        CHECK_INT(said, answers - 1);
}

TEST(a_row_that_has_just_ended_equals_its_row_in_the_list)
{
        AUTO(audit_close) struct audit *audit = opened();
        struct audit_begin begin = begin_of("exe_1");
        struct audit_end end = exited;
        begin.session = "s", begin.input = "a needle", begin.input_len = 8;
        audit_end(audit, audit_begin(audit, &begin), &begin, &end);
        flush(audit);
        json_auto_t *row = audit_row(&(struct audit_filter){.session = "s", .text = "NEEDLE"}, &begin, &end);
        json_auto_t *page = listed((struct audit_filter){.limit = 1});
        json_t *same = json_array_get(json_object_get(page, "executions"), 0);
        json_object_del(row, "finished");
        json_object_del(same, "finished");
        CHECK(row && json_equal(row, same));
        CHECK_STR(word(same, "preview"), "a needle");
        CHECK(!audit_row(&(struct audit_filter){.session = "t"}, &begin, &end));
        CHECK(!audit_row(&(struct audit_filter){.sandbox = "sbx_other"}, &begin, &end));
        CHECK(!audit_row(&(struct audit_filter){.agent = "a"}, &begin, &end));
        CHECK(!audit_row(&(struct audit_filter){.key = "key_other"}, &begin, &end));
        CHECK(!audit_row(&(struct audit_filter){.text = "hay"}, &begin, &end));
        CHECK(!audit_row(&(struct audit_filter){.status = "timeout"}, &begin, &end));
        CHECK(!audit_row(&(struct audit_filter){.since_ms = begin.started_ms + 1}, &begin, &end));
}

/* ---- tampering ---- */

TEST(every_kind_of_tampering_is_found)
{
        static const char changed5[] = "row 5 was changed, or does not follow the row before it";
        static const struct {
                const char *sql;
                json_int_t row;
                const char *why;
        } cases[] = {
                {"UPDATE executions SET id = 'exe_other' WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET started_ms = started_ms + 1 WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET finished_ms = 0 WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET sandbox = NULL WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET runtime = 'node' WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET \"key\" = 'key_2' WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET session = '' WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET agent = 'a' WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET status = 'timeout' WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET exit_code = 1 WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET exit_code = NULL WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET signal = 9 WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET duration_us = 1 WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET cpu_us = 1 WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET memory_peak = 1 WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET processes_peak = 2 WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET input = CAST('rm -rf' AS BLOB) WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET input_bytes = 11 WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET stdout = NULL WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET stderr = x'00' WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET stdout_bytes = 7 WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET stderr_bytes = 1 WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET violations = '[]' WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET about = '{}' WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET about = NULL WHERE seq = 8", 8,
                 "row 8 was changed, or does not follow the row before it"},
                {"UPDATE executions SET about = replace(about, 'host', 'sandbox') WHERE seq = 8", 8,
                 "row 8 was changed, or does not follow the row before it"},
                {"UPDATE executions SET hash = zeroblob(32) WHERE seq = 5", 5, changed5},
                {"UPDATE executions SET hash = x'' WHERE seq = 5", 5, changed5},
                {"DELETE FROM executions WHERE seq = 5", 5, "1 row is missing before row 6"},
                {"DELETE FROM executions WHERE seq BETWEEN 5 AND 7", 5, "3 rows are missing before row 8"},
                /* A row is removed, and the later rows are renumbered. */
                {"DELETE FROM executions WHERE seq = 5; UPDATE executions SET seq = -(seq - 1) WHERE seq > 5;"
                 "UPDATE executions SET seq = -seq WHERE seq < 0",
                 5, changed5},
                /* A row is inserted. */
                {"UPDATE executions SET seq = -(seq + 1) WHERE seq >= 5; UPDATE executions SET seq = -seq "
                 "WHERE "
                 "seq < 0; INSERT INTO executions SELECT 5, 'exe_new', started_ms, finished_ms, sandbox, "
                 "runtime,"
                 "\"key\", session, agent, status, exit_code, signal, duration_us, cpu_us, memory_peak,"
                 "processes_peak, input_bytes, stdout_bytes, stderr_bytes, violations, input, stdout, "
                 "stderr, hash, about "
                 "FROM executions WHERE seq = 4",
                 5, changed5},
                /* Two rows are swapped. */
                {"UPDATE executions SET seq = -5 WHERE seq = 5; UPDATE executions SET seq = 5 WHERE seq = 6;"
                 "UPDATE executions SET seq = 6 WHERE seq = -5",
                 5, changed5},
                /* The beginning and the end of the log. */
                {"DELETE FROM executions WHERE seq = 10", 10,
                 "1 row is missing at the end of the log, after row 9"},
                {"DELETE FROM executions WHERE seq > 7", 8,
                 "3 rows are missing at the end of the log, after row 7"},
                {"DELETE FROM executions", 1, "10 rows are missing at the end of the log, after row 0"},
                {"DELETE FROM executions WHERE seq <= 3", 1,
                 "3 rows are missing before row 4, at the beginning of the log, and retention did not remove "
                 "them"},
                {"INSERT INTO executions SELECT 11, 'exe_new', started_ms, finished_ms, sandbox, runtime,"
                 "\"key\", session, agent, status, exit_code, signal, duration_us, cpu_us, memory_peak,"
                 "processes_peak, input_bytes, stdout_bytes, stderr_bytes, violations, input, stdout, "
                 "stderr, hash, about "
                 "FROM executions WHERE seq = 10",
                 11, "row 11 was changed, or does not follow the row before it"},
                {"UPDATE executions SET seq = 0 WHERE seq = 1", 0,
                 "row 0 was inserted: the log begins at row 1"},
                {"UPDATE executions SET seq = -4 WHERE seq = 4", 0,
                 "row -4 was inserted: the log begins at row 1"},
                /* The tables that record the end of the log are changed. */
                {"UPDATE head SET seq = 11", 11, "1 row is missing at the end of the log, after row 10"},
                {"UPDATE head SET seq = 9", 10, "row 10 was inserted after the end of the log"},
                {"UPDATE head SET hash = zeroblob(32)", 10,
                 "the last row, 10, is not the one that the head records"},
                {"DELETE FROM head", 10, "the log has no record of its last row"},
                {"UPDATE head SET cuts = 1", 1, "the table of cuts ends at 0, but the head has 1"},
                {"UPDATE head SET cut_hash = x'01'", 1,
                 "the table of cuts ends at 0, but the head has 0 with another hash"},
                {"DELETE FROM executions WHERE seq <= 3; INSERT INTO cuts SELECT 1, 1, 3, hash, 3, "
                 "'keep_days', "
                 "zeroblob(32) FROM executions WHERE seq = 4",
                 1, "cut 1 in the table of cuts was changed"},
                {"DROP TABLE head", 11, "the database is damaged: no such table: head"},
        };
        struct audit *audit = opened();
        log_many(audit, 7);
        struct audit_begin eighth = begin_of("exe_8");
        eighth.about = "{\"mode\":\"host\"}";
        eighth.about_len = strlen(eighth.about);
        audit_end(audit, audit_begin(audit, &eighth), &eighth, &exited);
        log_many(audit, 2);
        audit_close(audit);
        check_ok(10);
        char copy[160];
        snprintf(copy, sizeof copy, "cp %s/audit.db %s/copy.db", directory, directory);
        CHECK_INT(system(copy), 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                int failures = test_failures;
                run_sql(cases[i].sql);
                check_bad(cases[i].row, cases[i].why);
                if (failures != test_failures)
                        printf("after: %s\n", cases[i].sql);
                snprintf(copy, sizeof copy, "cd %s && rm -f audit.db* && cp copy.db audit.db", directory);
                CHECK_INT(system(copy), 0);
        }
        check_ok(10);
}

/* Writes the content of a row anew, with a hash that is right for it: what only the next row's hash shows. */
static void forge_row(int64_t seq)
{
        sqlite3 *db = NULL;
        sqlite3_stmt *statement = NULL;
        struct cell cells[COLUMNS + 1];
        unsigned char before[HASH_SIZE], hash[HASH_SIZE];
        CHECK_INT(sqlite3_open(in_directory("audit.db"), &db), SQLITE_OK);
        CHECK_INT(sqlite3_prepare_v2(db, "SELECT hash FROM executions WHERE seq = ?", -1, &statement, NULL),
                  0);
        sqlite3_bind_int64(statement, 1, seq - 1);
        CHECK_INT(sqlite3_step(statement), SQLITE_ROW);
        memcpy(before, sqlite3_column_blob(statement, 0), HASH_SIZE);
        sqlite3_finalize(statement);
        CHECK_INT(sqlite3_prepare_v2(db, "SELECT " ROW_COLUMNS ", hash FROM executions WHERE seq = ?", -1,
                                     &statement, NULL),
                  0);
        sqlite3_bind_int64(statement, 1, seq);
        CHECK_INT(sqlite3_step(statement), SQLITE_ROW);
        row_read(statement, cells, COLUMNS + 1);
        cells[COLUMN_RUNTIME] = cell_text("node");
        row_hash(before, cells, row_columns(cells), hash);
        sqlite3_stmt *update = NULL;
        CHECK_INT(sqlite3_prepare_v2(db, "UPDATE executions SET runtime = 'node', hash = ? WHERE seq = ?", -1,
                                     &update, NULL),
                  0);
        sqlite3_finalize(statement);
        sqlite3_bind_blob(update, 1, hash, HASH_SIZE, SQLITE_STATIC);
        sqlite3_bind_int64(update, 2, seq);
        CHECK_INT(sqlite3_step(update), SQLITE_DONE);
        sqlite3_finalize(update);
        sqlite3_close(db);
}

TEST(a_row_that_was_forged_with_a_right_hash_breaks_the_next_row)
{
        struct audit *audit = opened();
        log_many(audit, 10);
        audit_close(audit);
        check_ok(10);
        forge_row(5);
        check_bad(6, "row 6 was changed, or does not follow the row before it");
}

TEST(equal_rows_after_different_rows_have_different_hashes)
{
        const unsigned char one[HASH_SIZE] = {1}, two[HASH_SIZE] = {2};
        unsigned char after_one[HASH_SIZE], after_two[HASH_SIZE], again[HASH_SIZE];
        const struct cell cells[2] = {cell_integer(7), cell_text("same")};
        row_hash(one, cells, 2, after_one);
        row_hash(two, cells, 2, after_two);
        row_hash(one, cells, 2, again);
        CHECK(memcmp(after_one, after_two, HASH_SIZE) != 0);
        CHECK(memcmp(after_one, again, HASH_SIZE) == 0);
}

static json_t *verdict_in_slices(struct audit *audit, unsigned *ret_slices)
{
        AUTO(audit_verifier_free) struct audit_verifier *verifier = NULL;
        json_t *said = NULL;
        int r = audit_verifier_new(directory, &verifier, &err);
        for (*ret_slices = 0; r == 0 && (r = audit_verifier_continue(verifier, 0, &said, &err)) == 1; r = 0) {
                CHECK(!said);
                if ((*ret_slices)++ == 0)
                        log_many(audit, 1); /* the row is not in the reader's snapshot */
        }
        CHECK_INT(r, 0);
        return said;
}

TEST(slices_come_to_the_same_verdict)
{
        AUTO(audit_close) struct audit *audit = opened();
        unsigned slices;
        log_many(audit, 200);
        json_t *whole = verdict(), *sliced = verdict_in_slices(audit, &slices);
        CHECK(slices > 5);
        CHECK(whole && json_equal(whole, sliced));
        json_decref(whole);
        json_decref(sliced);
        run_sql("UPDATE executions SET exit_code = 1 WHERE seq = 150");
        whole = verdict(), sliced = verdict_in_slices(audit, &slices);
        CHECK(slices > 5);
        CHECK(whole && json_is_false(json_object_get(whole, "ok")) && json_equal(whole, sliced));
        json_decref(whole);
        json_decref(sliced);
        struct audit_verifier *left = NULL; /* freed before it has finished */
        CHECK_INT(audit_verifier_new(directory, &left, &err), 0);
        CHECK_INT(audit_verifier_continue(left, 0, &sliced, &err), 1);
        audit_verifier_free(left);
        audit_verifier_free(NULL);
}

/* The same if the log continues after the removed rows. */
TEST(a_truncated_end_is_detected_after_more_rows)
{
        AUTO(audit_close) struct audit *audit = opened();
        log_many(audit, 10);
        audit_close(audit);
        run_sql("DELETE FROM executions WHERE seq > 8");
        audit = opened();
        log_many(audit, 5);
        check_bad(9, "2 rows are missing before row 11");
}

/* A log that was put back as it was earlier, head and all, cannot be detected by itself; but the map knows.
 */
TEST(an_older_copy_is_noted)
{
        AUTO(audit_close) struct audit *audit = opened();
        char command[160];
        log_many(audit, 3);
        audit_close(audit);
        snprintf(command, sizeof command, "cp %s/audit.db %s/copy.db", directory, directory);
        CHECK_INT(system(command), 0);
        audit = opened();
        log_many(audit, 4);
        audit_close(audit);
        snprintf(command, sizeof command, "cd %s && rm -f audit.db* && mv copy.db audit.db", directory);
        CHECK_INT(system(command), 0);
        audit = opened();
        check_ok(4);
        json_t *page = listed((struct audit_filter){.status = "lost", .limit = 10});
        json_t *row = json_array_get(json_object_get(page, "executions"), 0);
        json_t *note = got(word(row, "id"));
        CHECK_STR(word(note, "input"), "the log ended at row 7 before and ends at row 3 now");
        json_decref(note);
        json_decref(page);
        audit_close(audit);
        audit = opened(); /* the note is not repeated */
        check_ok(4);
}

/* ---- retention ---- */

/* Adds rows with other timestamps, with the writer's own statements. */
static void write_old(unsigned n, int64_t finished_ms)
{
        struct db db;
        CHECK_INT(db_open(&db, directory, &err), 0);
        struct record *first = NULL, **end = &first;
        for (unsigned i = 0; i < n; i++) {
                char id[ID_SIZE];
                CHECK_INT(id_make("exe_", id), 0);
                struct audit_begin begin = begin_of(id);
                begin.started_ms = finished_ms - 5;
                *end = record_new(&begin, &exited, finished_ms, true, -1);
                CHECK(*end != NULL);
                end = &(*end)->next;
        }
        CHECK_INT(db_write(&db, first), SQLITE_OK);
        while (first) {
                struct record *next = first->next;
                free(first);
                first = next;
        }
        db_close(&db);
}

TEST(since_finds_all_rows_and_stops_there)
{
        int64_t now = now_ms();
        write_old(500, now - DAY_MS);
        write_old(1, now - 1000); /* a row within the time range, after many that are not */
        write_old(1500, now - 2 * DAY_MS);
        write_old(3, now);
        CHECK_INT(matching((struct audit_filter){.since_ms = now - 5000}), 4);
        CHECK_INT(matching((struct audit_filter){.since_ms = now - 5000, .sandbox = "sbx_1"}), 4);
        CHECK_INT(matching((struct audit_filter){.since_ms = now - 5000, .sandbox = "sbx_2"}), 0);
        CHECK_INT(matching((struct audit_filter){.since_ms = now - DAY_MS - 5000}), 504);
        CHECK_INT(matching((struct audit_filter){.since_ms = now - 5000, .cursor = 2001}), 1);
        CHECK_INT(matching((struct audit_filter){.since_ms = now - 5000, .cursor = 501}), 0);
        CHECK_INT(matching((struct audit_filter){.since_ms = now + 5000}), 0);
}

static void wait_for_rows(json_int_t rows)
{
        for (int i = 0; i < 6000 && count_sql("SELECT count(*) FROM executions") != rows; i++)
                usleep(10000);
        CHECK_INT(count_sql("SELECT count(*) FROM executions"), rows);
}

TEST(old_rows_go_and_the_rest_verifies)
{
        write_old(300, now_ms() - 40 * DAY_MS);
        write_old(200, now_ms() - 20 * DAY_MS);
        write_old(100, now_ms() - 5 * DAY_MS);
        check_ok(600);
        struct audit_options o = options();
        o.keep_days = 30;
        struct audit *audit = open_with(&o);
        wait_for_rows(300);
        check_ok(300);
        CHECK_INT(count_sql("SELECT count(*) FROM cuts"), 1); /* one for all steps of the removal */
        CHECK_INT(count_sql("SELECT removed FROM cuts"), 300);
        CHECK_INT(count_sql("SELECT up_to FROM cuts"), 300);
        log_many(audit, 10);
        o.keep_days = 10;
        audit_configure(audit, &o);
        wait_for_rows(110);
        check_ok(110);
        audit_close(audit);

        /* Now each record of a removal is tampered with in turn. */
        run_sql("UPDATE cuts SET why = 'keep_bytes' WHERE n = 1");
        check_bad(1, "cut 1 in the table of cuts was changed");
        run_sql("UPDATE cuts SET why = 'keep_days' WHERE n = 1");
        check_ok(110);
        run_sql("UPDATE cuts SET up_to = up_to + 5 WHERE n = 2; DELETE FROM executions WHERE seq <= 505");
        check_bad(301, "cut 2 in the table of cuts was changed");
        run_sql("UPDATE cuts SET up_to = up_to - 5 WHERE n = 2");
        check_bad(501, "5 rows are missing before row 506, at the beginning of the log, and retention did "
                       "not remove them");
        run_sql("DELETE FROM cuts WHERE n = 2");
        check_bad(301, "205 rows are missing before row 506, at the beginning of the log, and retention did "
                       "not remove them");
        run_sql("DELETE FROM cuts");
        check_bad(1, "505 rows are missing before row 506, at the beginning of the log, and retention did "
                     "not remove them");
}

TEST(retention_can_remove_all_rows)
{
        write_old(100, now_ms() - 40 * DAY_MS);
        struct audit_options o = options();
        o.keep_days = 1;
        AUTO(audit_close) struct audit *audit = open_with(&o);
        wait_for_rows(0);
        check_ok(0);
        log_many(audit, 3);
        check_ok(3);
        CHECK_INT(count_sql("SELECT min(seq) FROM executions"), 101);
}

TEST(the_file_stays_within_its_size)
{
        struct audit_options o = options();
        o.keep_bytes = 2 << 20;
        struct audit *audit = open_with(&o);
        char *text = malloc(20000);
        memset(text, 'x', 20000);
        for (int i = 0; i < 1000; i++) {
                char id[ID_SIZE];
                CHECK_INT(id_make("exe_", id), 0);
                struct audit_begin begin = begin_of(id);
                struct audit_end end = exited;
                begin.input = text, begin.input_len = 10000;
                end.output[0] = text, end.output_len[0] = end.output_total[0] = 10000;
                audit_end(audit, audit_begin(audit, &begin), &begin, &end);
                if (i % 100 == 99)
                        flush(audit);
        }
        free(text);
        flush(audit);
        struct stat st = {0};
        for (int i = 0; i < 6000; i++) {
                if (count_sql("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") <=
                    2 << 20)
                        break;
                usleep(10000);
        }
        audit_close(audit);
        CHECK_INT(stat(in_directory("audit.db"), &st), 0);
        CHECK(st.st_size <= 2 << 20);
        json_auto_t *said = verdict();
        CHECK(json_is_true(json_object_get(said, "ok")));
        CHECK(number(said, "rows") > 30 && number(said, "rows") < 120);
        CHECK_INT(number(said, "last"), 1000);
}

/* ---- errors when the log is opened ---- */

static void check_refused(int num, const char *message, const char *hint)
{
        AUTO(audit_close) struct audit *audit = NULL;
        struct audit_options o = options();
        memset(&err, 0, sizeof err);
        CHECK_INT(audit_open(&o, &audit, NULL, &err), num);
        CHECK(audit == NULL);
        if (!strstr(err.msg, message) || !strstr(err.hint, hint))
                printf("said: %s (%s)\n", err.msg, err.hint);
        CHECK(strstr(err.msg, message) != NULL);
        CHECK(strstr(err.hint, hint) != NULL);
}

static void overwrite(const char *name, off_t at, size_t len)
{
        char noise[4096];
        int fd = open(in_directory(name), O_WRONLY | O_CREAT, 0600);
        for (size_t done = 0; done < len; done += sizeof noise) {
                size_t n = len - done < sizeof noise ? len - done : sizeof noise;
                for (size_t i = 0; i < n; i += 256)
                        CHECK(getrandom(noise + i, n - i < 256 ? n - i : 256, 0) > 0);
                CHECK_INT(pwrite(fd, noise, n, at + (off_t)done), n);
        }
        close(fd);
}

TEST(a_damaged_log_is_refused_and_kept)
{
        struct audit *audit = opened();
        log_many(audit, 500);
        audit_close(audit);
        overwrite("audit.db", 20000, 60000);
        check_refused(-EBADMSG, "audit.db", "move the file away");
        json_t *said = verdict();
        CHECK(json_is_false(json_object_get(said, "ok")));
        CHECK(strstr(word(said, "why"), "the database is damaged") != NULL);
        json_decref(said);
        overwrite("audit.db", 0, 100);
        check_refused(-EBADMSG, "file is not a database", "move the file away");
        struct stat st;
        CHECK_INT(stat(in_directory("audit.db"), &st), 0);
        CHECK(st.st_size > 80000);
}

TEST(another_version_or_program_is_refused)
{
        audit_close(opened());
        run_sql("PRAGMA user_version = 7");
        check_refused(-EPROTO, "audit.db has version 7, but this program supports only versions up to 2",
                      "newer");
        run_sql("PRAGMA user_version = 2; PRAGMA application_id = 1");
        check_refused(-EBADMSG, "of another program", "move it away");
        run_sql("PRAGMA application_id = 0x43656c41; DELETE FROM head");
        check_refused(-EBADMSG, "has no record of its last row", "other than Cella");
        directory_remove();
        strcpy(directory, "/nonexistent");
        check_refused(-ENOENT, "/nonexistent/running.map", "");
        struct audit_reader *reader = NULL;
        CHECK_INT(audit_reader_open(directory, &reader, &err), -ENOENT);
}

/* ---- a log of an older version ---- */

static void copy_fixture(const char *name)
{
        char command[256];
        snprintf(command, sizeof command, "cp " FIXTURES "/state-1/%s %s/", name, directory);
        CHECK_INT(system(command), 0);
}

/* Written by the version before migrations: six executions, one of which was running when the daemon was
 * killed. */
static void take_fixture(void)
{
        copy_fixture("audit.db");
        copy_fixture("running.map"); /* without the zeros at its end */
        CHECK_INT(truncate(in_directory("running.map"), 1025 * 8192), 0);
        CHECK_INT(count_sql("PRAGMA user_version"), 1);
}

TEST(the_log_of_version_1_is_migrated_and_verifies)
{
        take_fixture();
        struct audit *audit = opened();
        CHECK_INT(interrupted, 1);
        flush(audit);
        CHECK_INT(count_sql("PRAGMA user_version"), 2);
        json_t *said = verdict();
        CHECK(json_is_true(json_object_get(said, "ok")));
        CHECK_INT(number(said, "rows"), 7);
        json_decref(said);
        CHECK_INT(count_sql("SELECT count(*) FROM executions WHERE seq = 6 AND hex(hash) = "
                            "'F66B1E7A949056B5C46CDE8CD605E462177F2D69A99551A6A690050C3B6BB131'"),
                  1);
        json_t *row = got("exe_b3r76qawyfw7637aepcs");
        CHECK_STR(word(row, "status"), "exited");
        CHECK_STR(word(row, "input"), "print(6*7)");
        CHECK_STR(word(row, "stdout"), "42\n");
        CHECK_STR(word(row, "key"), "key_52zurfqan4b65lmivagc");
        json_decref(row);
        row = got("exe_aqfmy3wlweyacfixe6cd");
        CHECK_STR(word(row, "status"), "interrupted");
        CHECK_STR(word(row, "input"), "sleep 100 # cut off");
        json_decref(row);
        log_one(audit, "exe_new");
        flush(audit);
        check_ok(8);
        audit_close(audit);
        /* Old rows stay protected: by the hash of their version, and by the next row. */
        run_sql("UPDATE executions SET stdout_bytes = 99 WHERE seq = 2");
        check_bad(2, "row 2 was changed, or does not follow the row before it");
}

TEST(a_reader_does_not_read_a_log_that_was_not_migrated)
{
        struct audit_reader *reader = NULL;
        take_fixture();
        CHECK_INT(audit_reader_open(directory, &reader, &err), -EPROTO);
        CHECK(strstr(err.msg, "audit.db has version 1, not 2") != NULL);
        CHECK(strstr(err.hint, "migrates it when it starts") != NULL);
}

TEST(a_second_process_is_refused)
{
        AUTO(audit_close) struct audit *audit = opened();
        pid_t pid = fork();
        if (pid == 0) {
                struct audit *other = NULL;
                struct audit_options o = options();
                int r = audit_open(&o, &other, NULL, &err);
                _exit(r == -EBUSY && strstr(err.msg, "another process uses") ? 0 : 1);
        }
        int status = -1;
        waitpid(pid, &status, 0);
        CHECK_INT(status, 0);
}

/* A child that has a copy of our descriptors does not hold the directory when we are gone. */
TEST(children_do_not_hold_the_log)
{
        int fds[2];
        CHECK_INT(pipe(fds), 0);
        pid_t pid = fork();
        if (pid == 0) {
                struct audit *audit = opened();
                (void)audit;
                pid_t child = fork();
                if (child == 0) {
                        pause();
                        _exit(0);
                }
                (void)!write(fds[1], &child, sizeof child);
                raise(SIGKILL);
        }
        pid_t child = 0;
        CHECK_INT(read(fds[0], &child, sizeof child), sizeof child);
        waitpid(pid, NULL, 0);
        AUTO(audit_close) struct audit *audit = opened();
        kill(child, SIGKILL);
        close(fds[0]);
        close(fds[1]);
}

/* ---- recovery after a crash ---- */

TEST(running_executions_become_interrupted)
{
        pid_t pid = fork();
        if (pid == 0) {
                struct audit *audit = opened();
                struct audit_begin begin = begin_of("exe_running");
                begin.session = "s1", begin.started_ms = 1700000000123;
                audit_begin(audit, &begin);
                log_one(audit, "exe_done");
                raise(SIGKILL);
        }
        waitpid(pid, NULL, 0);
        AUTO(audit_close) struct audit *audit = opened();
        CHECK_INT(interrupted, 1);
        json_t *row = got("exe_running");
        CHECK_STR(word(row, "status"), "interrupted");
        CHECK_STR(word(row, "session"), "s1");
        CHECK_STR(word(row, "sandbox"), "sbx_1");
        CHECK_STR(word(row, "input"), "echo hello");
        CHECK_STR(word(row, "started"), "2023-11-14T22:13:20.123Z");
        CHECK(json_is_null(json_object_get(row, "exit_code")));
        CHECK(json_is_null(json_object_get(row, "agent")));
        json_decref(row);
        row = got("exe_done");
        CHECK_STR(word(row, "status"), "exited");
        CHECK_INT(number(row, "stdout_bytes"), 6);
        json_decref(row);
        check_ok(2);
        audit_close(audit);
        audit = opened();
        CHECK_INT(interrupted, 0);
        check_ok(2);
}

TEST(rows_that_could_not_be_written_are_restored_from_the_map)
{
        AUTO(audit_close) struct audit *audit = opened();
        log_many(audit, 1);
        sqlite3 *db = NULL;
        CHECK_INT(sqlite3_open(in_directory("audit.db"), &db), SQLITE_OK);
        CHECK_INT(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        struct audit_begin begin = begin_of("exe_late");
        struct audit_end end = exited;
        char *code = malloc(20000);
        memset(code, 'c', 20000);
        begin.input = code, begin.input_len = 20000;
        end.status = "timeout", end.exit_code = 124;
        audit_end(audit, audit_begin(audit, &begin), &begin, &end);
        int64_t begun = clock_us();
        audit_close(audit);
        CHECK(clock_us() - begun < 60000000);
        sqlite3_close(db);
        free(code);
        audit = opened();
        CHECK_INT(interrupted, 0);
        json_auto_t *row = got("exe_late");
        CHECK_STR(word(row, "status"), "timeout");
        CHECK_INT(number(row, "exit_code"), 124);
        CHECK_INT(number(row, "input_bytes"), 20000);
        CHECK(json_string_length(json_object_get(row, "input")) > 6000);
        CHECK(json_is_true(json_object_get(row, "input_truncated")));
        CHECK(json_is_null(json_object_get(row, "stdout")));
        check_ok(2);
}

TEST(a_map_of_random_bytes_is_harmless)
{
        audit_close(opened());
        for (int i = 0; i < 20; i++) {
                if (i == 0) /* the head, too */
                        overwrite("running.map", 0, 64);
                else
                        overwrite("running.map", 8192 + i * 4096, 200000);
                /* Some of the random bytes look like a slot in use. */
                int fd = open(in_directory("running.map"), O_WRONLY);
                for (int slot = 0; slot < 20; slot++) {
                        uint32_t state = slot % 4;
                        CHECK_INT(pwrite(fd, &state, 4, 8192 + slot * 8192), 4);
                }
                close(fd);
                struct audit *audit = opened();
                json_t *said = verdict(), *page = listed((struct audit_filter){.limit = 100});
                CHECK(json_is_true(json_object_get(said, "ok")));
                json_decref(page);
                json_decref(said);
                log_many(audit, 2);
                audit_close(audit);
        }
        CHECK(count_sql("SELECT count(*) FROM executions WHERE status = 'interrupted'") > 50);
        CHECK_INT(count_sql("SELECT count(*) FROM executions WHERE status = 'lost'"), 1);
        CHECK_INT(truncate(in_directory("running.map"), 5000), 0);
        AUTO(audit_close) struct audit *audit = opened();
        CHECK_INT(count_sql("SELECT count(*) FROM executions WHERE status = 'lost'"), 2);
}

/* The writer is killed at any moment: each execution that began has exactly one row with its state. */
enum { KILL_ROUNDS = 24, KILL_MAX = 3000, KILL_OPEN = 50 };
enum { BEGUN = 1, ENDING = 2, ENDED = 3, UNPROTECTED = 4 };

static void id_of(char id[32], int round, int i)
{
        snprintf(id, 32, "exe_%d_%d", round, i);
}

static void work_until_killed(int round, _Atomic unsigned char *states)
{
        static int slots[KILL_OPEN], numbers[KILL_OPEN];
        struct audit *audit = opened();
        unsigned seed = (unsigned)round;
        for (int next = 0;;) {
                int at = rand_r(&seed) % KILL_OPEN;
                char id[32];
                if (numbers[at] == 0 && next < KILL_MAX) {
                        numbers[at] = ++next;
                        id_of(id, round, next - 1);
                        struct audit_begin begin = begin_of(id);
                        slots[at] = audit_begin(audit, &begin);
                        atomic_store(&states[next - 1], slots[at] >= 0 ? BEGUN : UNPROTECTED);
                } else if (numbers[at] > 0) {
                        int i = numbers[at] - 1;
                        id_of(id, round, i);
                        struct audit_begin begin = begin_of(id);
                        if (slots[at] >= 0)
                                atomic_store(&states[i], ENDING);
                        audit_end(audit, slots[at], &begin, &exited);
                        if (slots[at] >= 0)
                                atomic_store(&states[i], ENDED);
                        numbers[at] = 0;
                }
                /* At full speed the kill more often comes in the middle of a call. */
                if ((round % 2 == 0 && rand_r(&seed) % 32 == 0) || next == KILL_MAX)
                        usleep(1000);
        }
}

static void check_killed(int round, const _Atomic unsigned char *states, sqlite3_stmt *find, unsigned *seen)
{
        for (int i = 0; i < KILL_MAX; i++) {
                char id[32];
                int state = atomic_load(&states[i]);
                if (state == 0)
                        break;
                seen[state]++;
                if (state == UNPROTECTED)
                        continue;
                id_of(id, round, i);
                sqlite3_bind_text(find, 1, id, -1, SQLITE_STATIC);
                int r = sqlite3_step(find);
                CHECK_INT(r, SQLITE_ROW); /* at most one row: the id is unique */
                const char *status = r == SQLITE_ROW ? (const char *)sqlite3_column_text(find, 0) : "";
                if (state == BEGUN)
                        CHECK_STR(status, "interrupted");
                else if (state == ENDED)
                        CHECK_STR(status, "exited");
                else
                        CHECK(strcmp(status, "exited") == 0 || strcmp(status, "interrupted") == 0);
                sqlite3_reset(find);
        }
}

TEST(killed_at_any_moment_nothing_is_lost)
{
        unsigned seen[5] = {0}, seed = 7, recovered = 0;
        _Atomic unsigned char *states =
                mmap(NULL, KILL_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        for (int round = 0; round < (getenv("CELLA_TEST_SLOW") ? 3 : KILL_ROUNDS); round++) {
                memset((void *)states, 0, KILL_MAX);
                pid_t pid = fork();
                if (pid == 0)
                        work_until_killed(round, states);
                /* Three of four are killed at some moment of their work, the others at any moment. */
                for (int i = 0; i < 60000 && round % 4 != 0 && atomic_load(&states[0]) == 0; i++)
                        usleep(1000);
                usleep((useconds_t)(rand_r(&seed) % (round % 2 == 0 ? 300000 : 60000)));
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
                struct audit *audit = opened();
                recovered += interrupted;
                json_t *said = verdict();
                CHECK(json_is_true(json_object_get(said, "ok")));
                json_decref(said);
                sqlite3 *db = NULL;
                sqlite3_stmt *find = NULL;
                CHECK_INT(sqlite3_open(in_directory("audit.db"), &db), SQLITE_OK);
                sqlite3_prepare_v2(db, "SELECT status FROM executions WHERE id = ?", -1, &find, NULL);
                check_killed(round, states, find, seen);
                sqlite3_finalize(find);
                sqlite3_close(db);
                audit_close(audit);
        }
        printf("   %u ended, %u running, %u between, %u without a slot; %u interrupted\n", seen[ENDED],
               seen[BEGUN], seen[ENDING], seen[UNPROTECTED], recovered);
        CHECK(seen[ENDED] > 20 && recovered > 10);
        munmap((void *)states, KILL_MAX);
}

/* ---- a full disk ---- */

TEST(rows_wait_while_the_database_is_held)
{
        AUTO(audit_close) struct audit *audit = opened();
        sqlite3 *db = NULL;
        CHECK_INT(sqlite3_open(in_directory("audit.db"), &db), SQLITE_OK);
        CHECK_INT(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        int64_t begun = clock_us();
        for (int i = 0; i < 1000; i++) {
                char id[ID_SIZE];
                CHECK_INT(id_make("exe_", id), 0);
                log_one(audit, id);
        }
        CHECK(clock_us() - begun < 20000000);
        CHECK_INT(audit_waiting(audit), 1000);
        usleep(1500000);
        CHECK_INT(audit_waiting(audit), 1000);
        sqlite3_close(db);
        flush(audit);
        CHECK_INT(audit_waiting(audit), 0);
        CHECK_INT(audit_lost(audit), 0);
        check_ok(1000);
}

static void fill_disk(const char *path)
{
        char block[65536] = "";
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        while (write(fd, block, sizeof block) > 0)
                ;
        while (write(fd, block, 1) > 0)
                ;
        close(fd);
}

static void write_text(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY);
        CHECK_INT(write(fd, text, strlen(text)), strlen(text));
        close(fd);
}

/* As root, or in a user namespace in which we are. */
static bool own_mounts(void)
{
        char uid[32], gid[32];
        snprintf(uid, sizeof uid, "0 %u 1", getuid());
        snprintf(gid, sizeof gid, "0 %u 1", getgid());
        if (unshare(CLONE_NEWNS) == 0)
                return true;
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                return false;
        write_text("/proc/self/setgroups", "deny");
        write_text("/proc/self/uid_map", uid);
        write_text("/proc/self/gid_map", gid);
        return true;
}

/* In a child, in a mount namespace of its own.  77: cannot. */
static int with_full_disk(void)
{
        char path[128];
        if (!own_mounts())
                return 77;
        if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("tmpfs", directory, "tmpfs", 0, "size=48m") < 0)
                return 77;
        test_failures = 0;
        struct audit *audit = opened();
        log_many(audit, 10);
        snprintf(path, sizeof path, "%s/filler", directory);
        fill_disk(path);

        enum { EXTRA = 300 };
        int64_t begun = clock_us();
        for (int i = 0; i < 4096 + EXTRA; i++) {
                char id[ID_SIZE];
                CHECK_INT(id_make("exe_", id), 0);
                log_one(audit, id);
        }
        int64_t took = clock_us() - begun;
        CHECK(took > 1500000 && took < 60000000); /* waited once */
        unsigned lost = (unsigned)audit_lost(audit), fit = 4096 + EXTRA - lost;
        CHECK(lost > 0 && lost <= EXTRA);
        CHECK(audit_waiting(audit) > 4000);

        unlink(path);
        flush(audit);
        CHECK_INT(audit_waiting(audit), 0);
        CHECK_INT(audit_lost(audit), lost);
        check_ok(10 + fit + 1);
        json_t *page = listed((struct audit_filter){.status = "lost", .limit = 10});
        json_t *list = json_object_get(page, "executions");
        CHECK_INT(json_array_size(list), 1);
        json_t *note = got(word(json_array_get(list, 0), "id"));
        char text[64];
        snprintf(text, sizeof text, "%u records lost: disk full", lost);
        CHECK_STR(word(note, "input"), text);
        json_decref(note);
        json_decref(page);

        /* The log continues, with all its slots. */
        log_many(audit, 2000);
        check_ok(10 + fit + 1 + 2000);
        audit_close(audit);

        /* A log cannot be opened when there is no room for its map. */
        unlink(in_directory("running.map"));
        fill_disk(path);
        check_refused(-ENOSPC, "cannot reserve", "free space");
        return test_failures > 0 ? 1 : 0;
}

TEST(a_full_disk_loses_rows_and_is_reported)
{
        pid_t pid = fork();
        if (pid == 0)
                _exit(with_full_disk());
        int status = -1;
        waitpid(pid, &status, 0);
        directory_remove();
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                SKIP("cannot mount a small file system here");
        CHECK_INT(status, 0);
}

/* ---- threads ---- */

static struct audit *shared_audit;
static _Atomic bool stop;

static void *log_in_thread(void *name)
{
        for (int i = 0; i < 700; i++) {
                char id[32];
                snprintf(id, sizeof id, "exe_%s_%d", (const char *)name, i);
                struct audit_begin begin = begin_of(id);
                int slot = audit_begin(shared_audit, &begin);
                audit_end(shared_audit, slot, &begin, &exited);
                if (i % 200 == 0)
                        flush(shared_audit);
        }
        return NULL;
}

static void *read_in_thread(void *unused)
{
        struct audit_reader *reader = reading();
        unsigned rounds = 0;
        while (!atomic_load(&stop) || rounds == 0) {
                json_t *said = NULL, *page = NULL;
                struct audit_filter filter = {.limit = 20};
                CHECK_INT(audit_verify(reader, &said, NULL), 0);
                CHECK(json_is_true(json_object_get(said, "ok")));
                CHECK_INT(audit_list(reader, &filter, &page, NULL), 0);
                json_decref(said);
                json_decref(page);
                (void)audit_waiting(shared_audit);
                rounds++;
                usleep(5000);
        }
        audit_reader_close(reader);
        return unused;
}

TEST(many_threads_write_while_one_reads)
{
        static const char *const names[] = {"a", "b", "c"};
        pthread_t threads[4];
        shared_audit = opened();
        atomic_store(&stop, false);
        pthread_create(&threads[3], NULL, read_in_thread, NULL);
        for (int i = 0; i < 3; i++)
                pthread_create(&threads[i], NULL, log_in_thread, (void *)names[i]);
        for (int i = 0; i < 3; i++)
                pthread_join(threads[i], NULL);
        flush(shared_audit);
        atomic_store(&stop, true);
        pthread_join(threads[3], NULL);
        CHECK_INT(audit_lost(shared_audit), 0);
        check_ok(2100);
        audit_close(shared_audit);
}
