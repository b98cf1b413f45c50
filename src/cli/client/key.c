/* cli/client/key.c -- `cella key`: manages the API keys, which clients over TCP need. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/client/api.h"
#include "cli/text.h"

struct key_options {
        const char *socket, *tier;
        uint64_t sandboxes;
        struct cli_list capabilities, secrets;
        struct cella_options limits;
        bool json;
};

static const struct cli_option options[] = {
        {"capability", "NAME", "what the key allows: sandbox.exec, sandbox.manage, files, settings, audit...",
         CLI_INTO(CLI_LIST, struct key_options, capabilities)},
        {"secret", "NAME", "a secret that its executions may use; '*': all",
         CLI_INTO(CLI_LIST, struct key_options, secrets)},
        {"tier", "TIER", "the highest network tier that it may use (restricted)",
         CLI_INTO(CLI_TEXT, struct key_options, tier)},
        {"sandboxes", "N", "how many sandboxes it may have at once",
         CLI_INTO(CLI_COUNT, struct key_options, sandboxes)},
        API_SOCKET_OPTION(struct key_options),
        API_JSON_OPTION(struct key_options),
        CLI_QUIET_OPTION,
};

static int put_body(struct api_body *body, const struct key_options *o, const char *name,
                    struct cella_err *err)
{
        int r = api_body_begin(body, err);
        if (r < 0)
                return r;
        json_put_string(&body->j, "name", name);
        api_strings_put(&body->j, "capabilities", &o->capabilities);
        api_strings_put(&body->j, "secrets", &o->secrets);
        if (o->tier)
                json_put_string(&body->j, "tier", o->tier);
        if (o->sandboxes)
                json_put_number(&body->j, "sandboxes_max", o->sandboxes);
        api_limits_put(&body->j, "limits", &o->limits);
        return api_body_end(body, err);
}

static int client_key_add(struct client *client, const struct key_options *o, const char *name,
                          struct cella_err *err)
{
        AUTO(api_body_done) struct api_body body = {0};
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct url url;
        char key[256];
        int r = put_body(&body, o, name, err);
        if (r < 0)
                return r;
        url_init(&url, "/v1/keys");
        if ((r = api_call(client, "POST", &url, &body, &answer, err)) < 0)
                return r;
        text_safe(key, sizeof key, foreign_json_get_text(answer.root, "key"));
        if (o->json)
                api_print(&answer);
        else if (!*key)
                return err_say(err, CELLA_INTERNAL, -EPROTO, "the daemon's answer has no key");
        else
                printf("%s\n", key);
        if (isatty(STDOUT_FILENO) && cli_may_note())
                fprintf(stderr, "cella: save this key: it is not shown again.  Clients over TCP and the web "
                                "page need "
                                "one now; on the Unix socket, the owner does not\n");
        return 0;
}

static void print_keys(json_t *keys)
{
        static const char *const headings[] = {"ID",   "NAME",      "CAPABILITIES", "SECRETS",
                                               "TIER", "SANDBOXES", "LIMITS"};
        struct table t;
        char cell[512];
        size_t i;
        json_t *k;
        table_init(&t, headings, ARRAY_LEN(headings));
        json_array_foreach (keys, i, k) {
                table_add(&t, foreign_json_get_text(k, "id"), 40);
                table_add(&t, foreign_json_get_text(k, "name"), 40);
                api_text(json_object_get(k, "capabilities"), cell, sizeof cell);
                table_add(&t, cell, 0);
                api_text(json_object_get(k, "secrets"), cell, sizeof cell);
                table_add(&t, cell, 80);
                table_add(&t, foreign_json_get_text(k, "tier"), 16);
                api_text(json_object_get(k, "sandboxes_max"), cell, sizeof cell);
                table_add(&t, cell, 0);
                api_text(json_object_get(k, "limits"), cell, sizeof cell);
                table_add(&t, cell, 80);
        }
        table_print(&t);
}

static int key(const struct cli_command *self, int argc, char **argv, struct key_options *o,
               struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        api_limits_init(&o->limits);
        int n = cli_parse_all(self, argc, argv, o, &o->limits, err);
        int verb = n < 0 ? n : api_verb(self, n, argv, "add", err);
        int r = verb < 0 ? verb : client_new(o->socket, &client, err);
        if (r < 0)
                return r;
        return verb == API_LIST   ? api_list(client, "/v1/keys", "keys", o->json, print_keys, err)
               : verb == API_MAKE ? client_key_add(client, o, argv[2], err)
                                  : api_remove(client, "/v1/keys/", argv[2], err);
}

static int key_main(const struct cli_command *self, int argc, char **argv)
{
        static struct key_options o;
        struct cella_err err = {0};
        int r = key(self, argc, argv, &o, &err);
        return cli_finish(r, &err, o.json);
}

const struct cli_command cli_key = {
        .name = "key",
        .usage = "add NAME [OPTIONS] | ls | rm ID",
        .examples = "  cella key add agent --tier standard --sandboxes 10\n"
                    "  cella key add grafana --capability monitor\n"
                    "  cella key rm key_id\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .takes_limits = true,
        .main = key_main,
};
