/* cli/client/ls.c -- `cella ls` and `cella rm`: lists and removes sandboxes. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/client/api.h"
#include "cli/text.h"

struct ls_options {
        const char *socket, *state;
        struct cli_list metadata;
        bool json, quiet;
};

static const struct cli_option ls_table[] = {
        {"state", "STATE", "only those that are running, paused or stopped",
         CLI_INTO(CLI_TEXT, struct ls_options, state)},
        {"metadata", "K=V", "only those with this label", CLI_INTO(CLI_LIST, struct ls_options, metadata)},
        {"quiet", NULL, "print the ids only", CLI_INTO(CLI_FLAG, struct ls_options, quiet), .letter = 'q'},
        API_SOCKET_OPTION(struct ls_options),
        API_JSON_OPTION(struct ls_options),
};

/* Formats when the sandbox is removed: at a time, or after a time without use. */
static void expiry(json_t *sandbox, int64_t now, char *out, size_t size)
{
        int64_t at = api_time(foreign_json_get_text(sandbox, "expires")), idle;
        char span[24];
        out[0] = '\0';
        if (at >= 0) {
                api_span(at - now, span, sizeof span);
                snprintf(out, size, "in %s", span);
        } else if (foreign_json_get_integer(sandbox, "idle_timeout_ms", &idle)) {
                api_span(idle, span, sizeof span);
                snprintf(out, size, "idle %s", span);
        }
}

static void ls_add_row(struct table *t, json_t *sandbox, int64_t now)
{
        char cell[512];
        int64_t created = api_time(foreign_json_get_text(sandbox, "created"));
        table_add(t, foreign_json_get_text(sandbox, "id"), 40);
        table_add(t, foreign_json_get_text(sandbox, "name"), 64);
        table_add(t, foreign_json_get_text(sandbox, "state"), 16);
        cell[0] = '\0';
        if (created >= 0)
                api_span(now - created, cell, sizeof cell);
        table_add(t, cell, 0);
        expiry(sandbox, now, cell, sizeof cell);
        table_add(t, cell, 0);
        api_text(json_object_get(sandbox, "executions"), cell, sizeof cell);
        table_add(t, cell, 0);
        api_text(json_object_get(sandbox, "metadata"), cell, sizeof cell);
        table_add(t, cell, 80);
}

static void print_sandboxes(json_t *list, bool quiet)
{
        static const char *const headings[] = {"ID",      "NAME",       "STATE",   "AGE",
                                               "EXPIRES", "EXECUTIONS", "METADATA"};
        struct table t;
        int64_t now = api_now();
        size_t i;
        json_t *s;
        if (!quiet)
                table_init(&t, headings, ARRAY_LEN(headings));
        else
                table_init(&t, NULL, 0);
        t.columns = quiet ? 1 : ARRAY_LEN(headings);
        json_array_foreach (list, i, s)
                if (quiet)
                        table_add(&t, foreign_json_get_text(s, "id"), 40);
                else
                        ls_add_row(&t, s, now);
        table_print(&t);
}

static int ls(const struct cli_command *self, int argc, char **argv, struct ls_options *o,
              struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct url url;
        int r = cli_parse_all(self, argc, argv, o, NULL, err);
        if (r < 0 || (r = api_need_words(self, r, 0, 0, err)) < 0 ||
            (r = client_new(o->socket, &client, err)) < 0)
                return r;
        url_init(&url, "/v1/sandboxes");
        if (o->state)
                url_add_query(&url, "state", o->state);
        for (size_t i = 0; i < o->metadata.n; i++) {
                char name[128];
                size_t len = strcspn(o->metadata.items[i], "=");
                if (!o->metadata.items[i][len] || len == 0 || len > 100)
                        return err_say(err, CELLA_INVALID_REQUEST, -1,
                                       "--metadata takes NAME=VALUE, not '%.60s'", o->metadata.items[i]);
                snprintf(name, sizeof name, "metadata.%.*s", (int)len, o->metadata.items[i]);
                url_add_query(&url, name, o->metadata.items[i] + len + 1);
        }
        r = api_call(client, "GET", &url, NULL, &answer, err);
        if (r < 0)
                return r;
        if (o->json)
                api_print(&answer);
        else
                print_sandboxes(json_object_get(answer.root, "sandboxes"), o->quiet);
        return 0;
}

static int ls_main(const struct cli_command *self, int argc, char **argv)
{
        static struct ls_options o;
        struct cella_err err = {0};
        int r = ls(self, argc, argv, &o, &err);
        return cli_finish(r, &err, o.json);
}

const struct cli_command cli_ls = {
        .name = "ls",
        .usage = "[OPTIONS]",
        .examples = "  cella ls\n"
                    "  cella ls --state running --metadata task=17\n",
        .options = ls_table,
        .n_options = ARRAY_LEN(ls_table),
        .main = ls_main,
};

struct rm_options {
        const char *socket;
};

static const struct cli_option rm_table[] = {API_SOCKET_OPTION(struct rm_options)};

static int ls_remove_one(struct client *client, const char *id, struct cella_err *err)
{
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct url url;
        int r = api_sandbox_url(&url, id, "", err);
        return r < 0 ? r : api_call(client, "DELETE", &url, NULL, &answer, err);
}

/* Removes every sandbox that can be removed, also if others fail. */
static int rm(const struct cli_command *self, int argc, char **argv, struct rm_options *o,
              struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        int n = cli_parse_all(self, argc, argv, o, NULL, err), status = 0, r;
        if (n < 0)
                return n;
        if ((r = api_need_words(self, n, 1, argc, err)) < 0 || (r = client_new(o->socket, &client, err)) < 0)
                return r;
        for (int i = 1; i <= n; i++) {
                struct cella_err one = {0};
                r = ls_remove_one(client, argv[i], &one);
                if (r < 0)
                        status = cli_finish(r, &one, false);
        }
        return status;
}

static int rm_main(const struct cli_command *self, int argc, char **argv)
{
        struct rm_options o = {0};
        struct cella_err err = {0};
        return cli_finish(rm(self, argc, argv, &o, &err), &err, false);
}

const struct cli_command cli_rm = {
        .name = "rm",
        .usage = "SBX...",
        .examples = "  cella rm $SBX\n"
                    "  cella rm $(cella ls --quiet)\n",
        .options = rm_table,
        .n_options = ARRAY_LEN(rm_table),
        .main = rm_main,
};
