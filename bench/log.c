/* bench/log.c -- a log of many rows: fills it, and measures the first rows of every filter.
 *
 *     log DIRECTORY [ROWS]      DIRECTORY/audit.db; 1000000 rows.  A log that is there already is only read.
 *
 * Rows as a busy daemon has them: short programs, one in fifty with 4 KiB of output, 40 agents, a session for
 * every 200 rows, one in a hundred not well.  The word "needle" is in one row of a hundred thousand, and
 * "haystack" in the very oldest only. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/audit.h"
#include "audit/db.h"
#include "base/clock.h"

#define BATCH 4096

static struct record *make(uint64_t n, uint64_t rows, int64_t now_ms)
{
        static const char *const bad[] = {"timeout", "memory_limit", "signaled", "cancelled"};
        static char long_output[4096];
        char id[32], sandbox[32], session[32], agent[32], code[256], output[64];
        bool fails = n % 100 == 7, large = n % 50 == 3;
        memset(long_output, 'x', sizeof long_output - 1);
        snprintf(id, sizeof id, "exe_%020" PRIx64, n * UINT64_C(0x9e3779b97f4a7c15));
        snprintf(sandbox, sizeof sandbox, "sbx_%020" PRIx64, n / 10);
        snprintf(session, sizeof session, "session-%" PRIu64, n / 200);
        snprintf(agent, sizeof agent, "agent-%" PRIu64, n % 40);
        int code_len = snprintf(code, sizeof code,
                                "import math, sys\nrows = [math.sqrt(i * %" PRIu64
                                ") for i in range(1000)]\nprint(sum(rows))%s%s\n",
                                n, n % 100000 == 5 ? "  # needle" : "", n == 0 ? "  # haystack" : "");
        int output_len = snprintf(output, sizeof output, "%" PRIu64 ".%06" PRIu64 "\n", n * 31, n % 1000000);
        const struct audit_begin begin = {
                .id = id,
                .sandbox = sandbox,
                .runtime = n % 3 ? "python3" : "sh",
                .key = n % 500 == 0 ? "key_rare"
                       : n % 2      ? "key_a"
                                    : "key_b",
                .session = session,
                .agent = agent,
                .input = code,
                .input_len = (size_t)code_len,
                .started_ms = now_ms - (int64_t)(rows - n) * 60,
        };
        const struct audit_end end = {
                .status = fails ? bad[n / 100 % 4] : "exited",
                .exit_code = fails ? 1 : 0,
                .duration_us = 900 + n % 3000,
                .cpu_us = 700,
                .memory_peak_bytes = 8 << 20,
                .processes_peak = 1,
                .output = {large ? long_output : output, ""},
                .output_len = {large ? sizeof long_output - 1 : (size_t)output_len, 0},
                .output_total = {large ? sizeof long_output - 1 : (uint64_t)output_len, 0},
        };
        return record_new(&begin, &end, begin.started_ms + 1, true, -1);
}

static void free_all(struct record *record)
{
        while (record) {
                struct record *next = record->next;
                free(record);
                record = next;
        }
}

static int fill(const char *directory, uint64_t rows)
{
        struct cella_err err = {0};
        struct db db;
        int64_t begun = clock_us(), now_ms = row_now_ms();
        if (db_open(&db, directory, &err) < 0) {
                fprintf(stderr, "log: %s\n", err.msg);
                return 1;
        }
        for (uint64_t n = db.seq; n < rows;) {
                struct record *first = NULL, **end = &first;
                for (unsigned i = 0; i < BATCH && n < rows; i++, n++) {
                        if (!(*end = make(n, rows, now_ms)))
                                return 1;
                        end = &(*end)->next;
                }
                int r = first ? db_write(&db, first) : SQLITE_NOMEM;
                free_all(first);
                if (r != SQLITE_OK) {
                        fprintf(stderr, "log: %s\n", sqlite3_errstr(r));
                        return 1;
                }
        }
        db_close(&db);
        fprintf(stderr, "%" PRIu64 " rows in %.1f s\n", rows, (double)(clock_us() - begun) / 1e6);
        return 0;
}

static void measure(const char *directory, const char *name, struct audit_filter filter)
{
        struct audit_reader *reader = NULL;
        struct cella_err err = {0};
        json_t *page = NULL;
        double first_ms = 0, all_ms = 0;
        unsigned answers = 0;
        size_t rows = 0;
        filter.limit = 100;
        if (audit_reader_open(directory, &reader, &err) < 0) {
                fprintf(stderr, "log: %s\n", err.msg);
                exit(1);
        }
        int64_t begun = clock_us();
        while (rows == 0) { /* until there is something to show, or nothing left to search */
                if (audit_list(reader, &filter, &page, &err) < 0) {
                        fprintf(stderr, "log: %s\n", err.msg);
                        exit(1);
                }
                const char *cursor = json_string_value(json_object_get(page, "cursor"));
                rows = json_array_size(json_object_get(page, "executions"));
                filter.cursor = cursor ? strtoull(cursor, NULL, 10) : 0;
                json_decref(page);
                if (answers++ == 0)
                        first_ms = (double)(clock_us() - begun) / 1e3;
                if (filter.cursor == 0)
                        break;
        }
        all_ms = (double)(clock_us() - begun) / 1e3;
        printf("%-34s first answer %7.2f ms   first rows %8.2f ms, %zu of them in %u answers\n", name,
               first_ms, all_ms, rows, answers);
        audit_reader_close(reader);
}

int main(int argc, char **argv)
{
        uint64_t rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
        if (argc < 2 || rows == 0) {
                fprintf(stderr, "usage: log DIRECTORY [ROWS]\n");
                return 2;
        }
        const char *directory = argv[1];
        char path[4096], session[32];
        struct stat st;
        snprintf(path, sizeof path, "%s/audit.db", directory);
        if (stat(path, &st) < 0 && fill(directory, rows) != 0)
                return 1;
        snprintf(session, sizeof session, "session-%" PRIu64, rows / 400);
        int64_t hour_ago = row_now_ms() - 3600000;
        measure(directory, "no filter", (struct audit_filter){0});
        measure(directory, "from the middle", (struct audit_filter){.cursor = rows / 2});
        measure(directory, "status=timeout", (struct audit_filter){.status = "timeout"});
        measure(directory, "four statuses",
                (struct audit_filter){.status = "timeout,memory_limit,signaled,cancelled"});
        measure(directory, "status=exited", (struct audit_filter){.status = "exited"});
        measure(directory, "status that no row has", (struct audit_filter){.status = "disk_limit"});
        measure(directory, "agent", (struct audit_filter){.agent = "agent-7"});
        measure(directory, "session", (struct audit_filter){.session = session});
        measure(directory, "sandbox", (struct audit_filter){.sandbox = "sbx_00000000000000001000"});
        measure(directory, "key", (struct audit_filter){.key = "key_rare"});
        measure(directory, "key and status", (struct audit_filter){.key = "key_rare", .status = "timeout"});
        measure(directory, "agent and status",
                (struct audit_filter){.agent = "agent-7", .status = "timeout"});
        measure(directory, "agent and a status of none",
                (struct audit_filter){.agent = "agent-7", .status = "disk_limit"});
        measure(directory, "since an hour ago", (struct audit_filter){.since_ms = hour_ago});
        measure(directory, "since tomorrow", (struct audit_filter){.since_ms = hour_ago + 90000000});
        measure(directory, "text in every row", (struct audit_filter){.text = "math.sqrt"});
        measure(directory, "text in one of 100000", (struct audit_filter){.text = "needle"});
        measure(directory, "text and session", (struct audit_filter){.session = session, .text = "import"});
        measure(directory, "text in the oldest row only", (struct audit_filter){.text = "haystack"});
        measure(directory, "text that is nowhere", (struct audit_filter){.text = "nothing has this"});
        return 0;
}
