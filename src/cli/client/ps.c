/* cli/client/ps.c -- `cella ps` and `cella kill`: lists and ends processes and executions in a sandbox. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/parse.h"
#include "cli/client/api.h"
#include "cli/text.h"

struct ps_options {
        const char *socket, *signal;
        bool json;
};

static const struct cli_option ps_table[] = {
        API_SOCKET_OPTION(struct ps_options),
        API_JSON_OPTION(struct ps_options),
};

static void ps_add_row(struct table *t, json_t *p, int64_t now)
{
        char cell[512];
        int64_t started = api_time(foreign_json_get_text(p, "started"));
        api_text(json_object_get(p, "pid"), cell, sizeof cell);
        table_add(t, cell, 12);
        table_add(t, foreign_json_get_text(p, "id"), 40);
        const char *state = foreign_json_get_text(p, "state");
        table_add(t, state ? state : foreign_json_get_text(p, "status"), 16);
        api_text(json_object_get(p, "exit_code"), cell, sizeof cell);
        table_add(t, cell, 0);
        cell[0] = '\0';
        if (started >= 0)
                api_span(now - started, cell, sizeof cell);
        table_add(t, cell, 0);
        api_text(json_object_get(p, "command"), cell, sizeof cell);
        if (!cell[0])
                api_text(json_object_get(p, "runtime"), cell, sizeof cell);
        table_add(t, cell, 100);
}

/* An entry of both lists (a background process is also an execution) is shown once. */
static bool ps_listed(json_t *list, const char *id)
{
        size_t i;
        json_t *p;
        json_array_foreach (list, i, p) {
                const char *other = foreign_json_get_text(p, "id");
                if (id && other && !strcmp(id, other))
                        return true;
        }
        return false;
}

static void print_processes(json_t *processes, json_t *executions)
{
        static const char *const headings[] = {"PID", "ID", "STATE", "EXIT", "AGE", "COMMAND"};
        struct table t;
        int64_t now = api_now();
        size_t i;
        json_t *p;
        table_init(&t, headings, ARRAY_LEN(headings));
        json_array_foreach (processes, i, p)
                ps_add_row(&t, p, now);
        json_array_foreach (executions, i, p)
                if (!ps_listed(processes, foreign_json_get_text(p, "id")))
                        ps_add_row(&t, p, now);
        table_print(&t);
}

static int ps(const struct cli_command *self, int argc, char **argv, struct ps_options *o,
              struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        AUTO(api_answer_done) struct api_answer processes = {0}, executions = {0};
        struct url url;
        int r = cli_parse_all(self, argc, argv, o, NULL, err);
        if (r < 0 || (r = api_need_words(self, r, 1, 1, err)) < 0 ||
            (r = api_sandbox_url(&url, argv[1], "/processes", err)) < 0 ||
            (r = client_new(o->socket, &client, err)) < 0 ||
            (r = api_call(client, "GET", &url, NULL, &processes, err)) < 0)
                return r;
        if (o->json) {
                api_print(&processes);
                return 0;
        }
        url_init(&url, "/v1/executions");
        url_add_query(&url, "sandbox", argv[1]);
        url_add_query(&url, "status", "running");
        r = api_call(client, "GET", &url, NULL, &executions, err);
        if (r < 0)
                return r;
        print_processes(json_object_get(processes.root, "processes"),
                        json_object_get(executions.root, "executions"));
        return 0;
}

static int ps_main(const struct cli_command *self, int argc, char **argv)
{
        struct ps_options o = {0};
        struct cella_err err = {0};
        int r = ps(self, argc, argv, &o, &err);
        return cli_finish(r, &err, o.json);
}

const struct cli_command cli_ps = {
        .name = "ps",
        .usage = "SBX",
        .examples = "  cella ps $SBX\n",
        .options = ps_table,
        .n_options = ARRAY_LEN(ps_table),
        .main = ps_main,
};

static const struct cli_option kill_table[] = {
        {"signal", "NAME", "signal to send to a process: TERM, KILL, INT, 9... (TERM)",
         CLI_INTO(CLI_TEXT, struct ps_options, signal)},
        API_SOCKET_OPTION(struct ps_options),
};

static int put_signal(struct api_body *body, const char *name, struct cella_err *err)
{
        uint64_t number;
        int r = api_body_begin(body, err);
        if (r < 0)
                return r;
        if (!strncmp(name, "SIG", 3))
                name += 3;
        if (parse_count(name, &number) == 0)
                json_put_number(&body->j, "signal", number);
        else
                json_put_string(&body->j, "signal", name);
        return api_body_end(body, err);
}

static int kill_process(struct client *client, const char *sandbox, const char *pid, const char *name,
                        struct cella_err *err)
{
        AUTO(api_body_done) struct api_body body = {0};
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct url url;
        uint64_t number;
        int r = api_sandbox_url(&url, sandbox, "/processes/", err);
        if (r < 0)
                return r;
        if (parse_count(pid, &number) < 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "'%.40s' is not a PID", pid);
        url_add_part(&url, pid);
        url_add(&url, "/signal");
        r = put_signal(&body, name ? name : "TERM", err);
        return r < 0 ? r : api_call(client, "POST", &url, &body, &answer, err);
}

static int kill_it(const struct cli_command *self, int argc, char **argv, struct ps_options *o,
                   struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct url url;
        int n = cli_parse_all(self, argc, argv, o, NULL, err), r;
        if (n < 0)
                return n;
        if ((r = api_need_words(self, n, 1, 2, err)) < 0 || (r = client_new(o->socket, &client, err)) < 0)
                return r;
        if (n == 2)
                return kill_process(client, argv[1], argv[2], o->signal, err);
        if (api_is_sandbox(argv[1]))
                return api_need_words(self, 0, 1, 2, err);
        if (o->signal)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--signal is for a process: an execution is cancelled as a whole");
        r = api_execution_url(&url, argv[1], err);
        return r < 0 ? r : api_call(client, "DELETE", &url, NULL, &answer, err);
}

static int kill_main(const struct cli_command *self, int argc, char **argv)
{
        struct ps_options o = {0};
        struct cella_err err = {0};
        return cli_finish(kill_it(self, argc, argv, &o, &err), &err, false);
}

const struct cli_command cli_kill = {
        .name = "kill",
        .usage = "SBX PID [--signal NAME] | EXE",
        .examples = "  cella kill $SBX 7\n"
                    "  cella kill $SBX 7 --signal KILL\n"
                    "  cella kill exe_wznykq3ujs3kisu6x5ik\n",
        .options = kill_table,
        .n_options = ARRAY_LEN(kill_table),
        .main = kill_main,
};
