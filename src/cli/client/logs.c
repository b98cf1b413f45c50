/* cli/client/logs.c -- `cella logs`: lists and shows executions. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/parse.h"
#include "cli/client/api.h"
#include "cli/text.h"

#define PAGE_MAX 1000
#define FOLLOW_MS 1000
#define FOLLOW_PAGE 200
#define SEEN_MAX 2048

struct logs_options {
        const char *socket, *sandbox, *session, *agent, *status, *since;
        uint64_t limit;
        bool follow, json, verify;
        char since_ms[24];
};

static const struct cli_option options[] = {
        {"sandbox", "SBX", "only those in this sandbox", CLI_INTO(CLI_TEXT, struct logs_options, sandbox)},
        {"session", "NAME", "only those of this session", CLI_INTO(CLI_TEXT, struct logs_options, session)},
        {"agent", "NAME", "only those of this agent", CLI_INTO(CLI_TEXT, struct logs_options, agent)},
        {"status", "STATUS", "only those with this status (exited, timeout, refused...)",
         CLI_INTO(CLI_TEXT, struct logs_options, status)},
        {"since", "TIME", "only those since this time: 2026-11-15T05:00:00Z, or 10m for ten minutes ago",
         CLI_INTO(CLI_TEXT, struct logs_options, since)},
        {"limit", "N", "only the newest N (20)", CLI_INTO(CLI_COUNT, struct logs_options, limit)},
        {"follow", NULL, "keep printing new executions", CLI_INTO(CLI_FLAG, struct logs_options, follow)},
        {"verify", NULL, "check the chain of hashes; exit status 1 if it is broken",
         CLI_INTO(CLI_FLAG, struct logs_options, verify)},
        API_SOCKET_OPTION(struct logs_options),
        API_JSON_OPTION(struct logs_options),
};

/* ---- the list ---- */

static const char *const headings[] = {"ID",      "STARTED", "STATUS",  "EXIT",  "MS", "MODE",
                                       "RUNTIME", "SANDBOX", "SESSION", "AGENT", "KEY"};

/* Returns where it ran.  HOST is in capitals, so that code outside of a sandbox is easy to see. */
static const char *mode_of(json_t *e)
{
        const char *mode = foreign_json_get_text(e, "mode");
        return mode && !strcmp(mode, "host") ? "HOST" : mode;
}

static void logs_add_row(struct table *t, json_t *e)
{
        static const char *const rest[] = {"runtime", "sandbox", "session", "agent", "key"};
        char cell[256];
        const json_t *ms = json_object_get(e, "duration_ms");
        table_add(t, foreign_json_get_text(e, "id"), 40);
        table_add(t, foreign_json_get_text(e, "started"), 24);
        table_add(t, foreign_json_get_text(e, "status"), 16);
        api_text(json_object_get(e, "exit_code"), cell, sizeof cell);
        table_add(t, cell, 0);
        cell[0] = '\0';
        if (json_is_number(ms))
                snprintf(cell, sizeof cell, "%.1f", json_number_value(ms));
        table_add(t, cell, 0);
        table_add(t, mode_of(e), 8);
        for (size_t i = 0; i < ARRAY_LEN(rest); i++)
                table_add(t, foreign_json_get_text(e, rest[i]), 40);
}

/* The columns have fixed widths, because later rows must align with printed ones. */
static void print_followed(json_t *e)
{
        static const char *const names[] = {"id",      "started", "status",  "mode",
                                            "runtime", "sandbox", "session", "agent"};
        static const int widths[] = {25, 25, 13, 8, 10, 25, 16, 0};
        char cell[256], safe[256];
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                if (!strcmp(names[i], "mode"))
                        snprintf(cell, sizeof cell, "%s", mode_of(e) ? mode_of(e) : "");
                else
                        api_text(json_object_get(e, names[i]), cell, sizeof cell);
                text_safe(safe, sizeof safe, cell[0] ? cell : "-");
                printf("%-*s%s", widths[i], safe, i + 1 < ARRAY_LEN(names) ? " " : "\n");
        }
}

static int fetch(struct client *client, const struct logs_options *o, uint64_t limit, const char *cursor,
                 struct api_answer *ret, struct cella_err *err)
{
        struct url url;
        char number[24];
        url_init(&url, "/v1/executions");
        snprintf(number, sizeof number, "%llu", (unsigned long long)(limit < PAGE_MAX ? limit : PAGE_MAX));
        url_add_query(&url, "limit", number);
        if (o->sandbox)
                url_add_query(&url, "sandbox", o->sandbox);
        if (o->session)
                url_add_query(&url, "session", o->session);
        if (o->agent)
                url_add_query(&url, "agent", o->agent);
        if (o->status)
                url_add_query(&url, "status", o->status);
        if (o->since)
                url_add_query(&url, "since", o->since);
        if (cursor)
                url_add_query(&url, "cursor", cursor);
        return api_call(client, "GET", &url, NULL, ret, err);
}

/* Reads page by page, newest first.  With JSON, prints one object per line. */
static int logs_list(struct client *client, const struct logs_options *o, struct cella_err *err)
{
        struct table t;
        char cursor[256] = "";
        uint64_t left = o->limit ? o->limit : 20;
        int r = 0;
        if (!o->json)
                table_init(&t, headings, ARRAY_LEN(headings));
        while (r == 0 && left > 0) {
                AUTO(api_answer_done) struct api_answer page = {0};
                r = fetch(client, o, left, cursor[0] ? cursor : NULL, &page, err);
                if (r < 0)
                        break;
                const json_t *all = json_object_get(page.root, "executions");
                const char *next = foreign_json_get_text(page.root, "cursor");
                const size_t n = json_array_size(all) < left ? json_array_size(all) : (size_t)left;
                for (size_t i = 0; i < n && !o->json; i++)
                        logs_add_row(&t, json_array_get(all, i));
                left -= n;
                if (o->json)
                        api_print(&page);
                /* A page without rows, or the same cursor again, would never end. */
                if (!next || !strcmp(next, cursor) || n == 0 || strlen(next) >= sizeof cursor)
                        break;
                snprintf(cursor, sizeof cursor, "%s", next);
        }
        if (!o->json)
                table_print(&t);
        return r;
}

struct seen {
        char ids[SEEN_MAX][40];
        size_t n;
};

/* Returns whether the id is new, and stores it. */
static bool is_new(struct seen *s, const char *id)
{
        size_t kept = s->n < SEEN_MAX ? s->n : SEEN_MAX;
        for (size_t i = 0; i < kept; i++)
                if (!strcmp(s->ids[i], id))
                        return false;
        snprintf(s->ids[s->n++ % SEEN_MAX], sizeof s->ids[0], "%s", id);
        return true;
}

/* Prints new executions, the oldest first; at most max of them (the first page is limited). */
static void show_new(struct seen *seen, json_t *all, size_t max, bool json)
{
        json_t *rows[FOLLOW_PAGE], *e;
        size_t n = 0, i;
        json_array_foreach (all, i, e) {
                const char *id = foreign_json_get_text(e, "id"), *status = foreign_json_get_text(e, "status");
                if (id && status && strcmp(status, "running") != 0 && is_new(seen, id) && n < max)
                        rows[n++] = e;
        }
        while (n-- > 0) {
                if (json)
                        api_print_value(rows[n]);
                else
                        print_followed(rows[n]);
        }
        fflush(stdout);
}

/* Asks once per second. */
static int logs_follow(struct client *client, const struct logs_options *o, struct cella_err *err)
{
        struct seen *seen = calloc(1, sizeof *seen);
        if (!seen)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "logs");
        size_t max = o->limit && o->limit < FOLLOW_PAGE ? (size_t)o->limit : 20;
        int r = 0;
        while (r == 0 && !ferror(stdout)) {
                AUTO(api_answer_done) struct api_answer page = {0};
                r = fetch(client, o, FOLLOW_PAGE, NULL, &page, err);
                if (r == 0) {
                        show_new(seen, json_object_get(page.root, "executions"), max, o->json);
                        max = FOLLOW_PAGE;
                        poll(NULL, 0, FOLLOW_MS);
                }
        }
        free(seen);
        return r;
}

/* ---- one execution ---- */

static bool is_block(const json_t *value)
{
        return json_is_string(value) &&
               (strchr(json_string_value(value), '\n') || json_string_length(value) > 200);
}

static void show_block(const char *name, const json_t *value)
{
        const char *text = json_string_value(value);
        const size_t len = json_string_length(value);
        printf("\n--- ");
        text_print(stdout, name, strlen(name));
        putchar('\n');
        text_print(stdout, text, len);
        if (len == 0 || text[len - 1] != '\n')
                putchar('\n');
}

/* Prints short members first, each on one line; then those with several lines. */
static void logs_show(json_t *execution)
{
        char text[1024], safe_name[64], safe[1024];
        const char *name;
        json_t *value;
        json_object_foreach (execution, name, value) {
                if (is_block(value))
                        continue;
                api_text(value, text, sizeof text);
                text_safe(safe_name, sizeof safe_name, name);
                text_safe(safe, sizeof safe, text[0] ? text : "-");
                printf("%-18s %s\n", safe_name, safe);
        }
        json_object_foreach (execution, name, value)
                if (is_block(value))
                        show_block(name, value);
}

static int logs_one(struct client *client, const struct logs_options *o, const char *id,
                    struct cella_err *err)
{
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct url url;
        int r = api_execution_url(&url, id, err);
        if (r < 0 || (r = api_call(client, "GET", &url, NULL, &answer, err)) < 0)
                return r;
        if (o->json || !json_is_object(answer.root))
                api_print(&answer);
        else
                logs_show(answer.root);
        return 0;
}

static int verify(struct client *client, const struct logs_options *o, struct cella_err *err)
{
        AUTO(api_answer_done) struct api_answer answer = {0};
        char rows[32], bad[32], why[200];
        struct url url;
        url_init(&url, "/v1/executions/verify");
        int r = api_call(client, "GET", &url, NULL, &answer, err);
        if (r < 0)
                return r;
        bool ok = json_is_true(json_object_get(answer.root, "ok"));
        api_text(json_object_get(answer.root, "rows"), rows, sizeof rows);
        api_text(json_object_get(answer.root, "first_bad"), bad, sizeof bad);
        text_safe(why, sizeof why, foreign_json_get_text(answer.root, "why"));
        if (o->json)
                api_print(&answer);
        else if (ok)
                printf("ok: %s rows, the chain of hashes is intact\n", rows);
        else
                printf("BROKEN at row %s of %s: %s\n", bad[0] ? bad : "?", rows, why);
        return ok ? 0 : 1;
}

/* Replaces "10m" by the time ten minutes ago; a time is passed to the daemon unchanged. */
static void resolve_since(struct logs_options *o)
{
        uint64_t ago;
        size_t len = o->since ? strlen(o->since) : 0;
        if (len == 0 || !strchr("smhSMH", o->since[len - 1]) || parse_milliseconds(o->since, &ago) < 0)
                return;
        snprintf(o->since_ms, sizeof o->since_ms, "%lld", (long long)(api_now() - (int64_t)ago));
        o->since = o->since_ms;
}

static int logs(const struct cli_command *self, int argc, char **argv, struct logs_options *o,
                struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        int n = cli_parse_all(self, argc, argv, o, NULL, err), r;
        if (n < 0)
                return n;
        if ((r = api_need_words(self, n, 0, o->verify || o->follow ? 0 : 1, err)) < 0)
                return r;
        resolve_since(o);
        if ((r = client_new(o->socket, &client, err)) < 0)
                return r;
        return o->verify   ? verify(client, o, err)
               : o->follow ? logs_follow(client, o, err)
               : n == 1    ? logs_one(client, o, argv[1], err)
                           : logs_list(client, o, err);
}

static int logs_main(const struct cli_command *self, int argc, char **argv)
{
        struct logs_options o = {0};
        struct cella_err err = {0};
        int r = logs(self, argc, argv, &o, &err);
        return cli_finish(r, &err, o.json);
}

const struct cli_command cli_logs = {
        .name = "logs",
        .usage = "[EXE] [OPTIONS]",
        .examples = "  cella logs --limit 5 --status timeout\n"
                    "  cella logs --since 10m --follow\n"
                    "  cella logs exe_wznykq3ujs3kisu6x5ik\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = logs_main,
};
