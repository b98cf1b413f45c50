/* cli/client/pool.c -- `cella pool`: sandboxes that were made in advance. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/client/api.h"
#include "cli/text.h"

struct pool_options {
        const char *socket, *image;
        uint64_t ttl_ms, idle_ms;
        struct cli_list metadata;
        bool json;
};

static const struct cli_option options[] = {
        {"image", "NAME", "acquire: of the pool with this image (that of the settings)",
         CLI_INTO(CLI_TEXT, struct pool_options, image)},
        {"ttl", "TIME", "acquire: remove the sandbox after this time",
         CLI_INTO(CLI_TIME, struct pool_options, ttl_ms)},
        {"idle", "TIME", "acquire: remove the sandbox when nothing ran in it for this time",
         CLI_INTO(CLI_TIME, struct pool_options, idle_ms)},
        {"metadata", "K=V", "acquire: a label; cella ls --metadata K=V finds it",
         CLI_INTO(CLI_LIST, struct pool_options, metadata)},
        API_SOCKET_OPTION(struct pool_options),
        API_JSON_OPTION(struct pool_options),
};

static void print_pools(json_t *pools)
{
        static const char *const headings[] = {"RUNTIME", "IMAGE", "FOR",    "SIZE",   "READY",
                                               "IN USE",  "HITS",  "MISSES", "PROBLEM"};
        static const char *const numbers[] = {"size", "available", "in_use", "hits", "misses"};
        struct table t;
        char cell[32];
        size_t i;
        json_t *p;
        table_init(&t, headings, ARRAY_LEN(headings));
        json_array_foreach (pools, i, p) {
                const char *runtime = foreign_json_get_text(p, "runtime");
                table_add(&t, runtime ? runtime : "(any)", 40);
                table_add(&t, foreign_json_get_text(p, "image"), 60);
                table_add(&t, json_is_true(json_object_get(p, "lease")) ? "leases" : "executions", 0);
                for (size_t n = 0; n < ARRAY_LEN(numbers); n++) {
                        api_text(json_object_get(p, numbers[n]), cell, sizeof cell);
                        table_add(&t, cell, 0);
                }
                table_add(&t, foreign_json_get_text(p, "problem"), 100);
        }
        table_print(&t);
}

static int put_lease(struct api_body *body, const struct pool_options *o, const char *runtime,
                     struct cella_err *err)
{
        int r = api_body_begin(body, err);
        if (r < 0)
                return r;
        json_put_string(&body->j, "runtime", runtime);
        if (o->image)
                json_put_string(&body->j, "image", o->image);
        if (o->ttl_ms)
                json_put_number(&body->j, "ttl_ms", o->ttl_ms);
        if (o->idle_ms)
                json_put_number(&body->j, "idle_timeout_ms", o->idle_ms);
        r = api_metadata_put(&body->j, &o->metadata, err);
        return r < 0 ? r : api_body_end(body, err);
}

static int acquire(const struct pool_options *o, const char *runtime, struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        AUTO(api_body_done) struct api_body body = {0};
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct url url;
        char id[64];
        int r = put_lease(&body, o, runtime, err);
        url_init(&url, "/v1/pools/acquire");
        if (r < 0 || (r = client_new(o->socket, &client, err)) < 0 ||
            (r = api_call(client, "POST", &url, &body, &answer, err)) < 0)
                return r;
        text_safe(id, sizeof id, foreign_json_get_text(answer.root, "id"));
        if (o->json)
                api_print(&answer);
        else if (!*id)
                return err_say(err, CELLA_INTERNAL, -EPROTO, "the daemon's answer has no id");
        else
                printf("%s\n", id);
        return 0;
}

static int release(struct client *client, const char *id, struct cella_err *err)
{
        AUTO(api_body_done) struct api_body body = {0};
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct url url;
        int r = api_body_begin(&body, err);
        if (r < 0)
                return r;
        json_put_string(&body.j, "id", id);
        url_init(&url, "/v1/pools/release");
        r = api_body_end(&body, err);
        return r < 0 ? r : api_call(client, "POST", &url, &body, &answer, err);
}

static int pool(const struct cli_command *self, int argc, char **argv, struct pool_options *o,
                struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        struct url url;
        const int n = cli_parse_all(self, argc, argv, o, NULL, err);
        const char *verb = n > 0 ? argv[1] : "";
        int r = n < 0 ? n : 0;
        if (n == 2 && !strcmp(verb, "acquire"))
                return acquire(o, argv[2], err);
        if (r == 0 && (o->image || o->ttl_ms || o->idle_ms || o->metadata.n > 0))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--image, --ttl, --idle and --metadata are options of cella pool acquire");
        if (r == 0 && !(n == 1 && !strcmp(verb, "ls")) && !(n > 1 && !strcmp(verb, "release")))
                return cli_wrong_words(self, n > 0 ? verb : NULL, err);
        for (int i = 2; i <= n && r == 0; i++)
                r = api_sandbox_url(&url, argv[i], "", err); /* all of them are ids */
        if (r < 0 || (r = client_new(o->socket, &client, err)) < 0)
                return r;
        if (n == 1)
                return api_list(client, "/v1/pools", "pools", o->json, print_pools, err);
        for (int i = 2; i <= n && r == 0; i++)
                r = release(client, argv[i], err);
        return r;
}

static int pool_main(const struct cli_command *self, int argc, char **argv)
{
        static struct pool_options o; /* large */
        struct cella_err err = {0};
        int r = pool(self, argc, argv, &o, &err);
        return cli_finish(r, &err, o.json);
}

const struct cli_command cli_pool = {
        .name = "pool",
        .usage = "ls | acquire RUNTIME | release SBX...",
        .text = "ls shows the pools of the setting pools and how many of their sandboxes are ready.\n"
                "acquire leases a sandbox of the entry with this runtime and \"lease\", and prints its id.\n"
                "release gives it back: it is removed, and its pool makes another one.",
        .examples = "  cella pool ls\n"
                    "  box=$(cella pool acquire python3 --ttl 10m)\n"
                    "  cella pool release $box\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = pool_main,
};
