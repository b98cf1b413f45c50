/* cli/client/create.c -- `cella create`: creates a sandbox that stays. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/client/api.h"
#include "cli/text.h"

struct create_options {
        const char *socket, *name, *workspace, *agent, *image, *engine;
        struct api_network network;
        uint64_t ttl_ms, idle_ms;
        struct cli_list metadata, mounts;
        struct cella_options limits;
        bool in_memory, json;
};

static const struct cli_option options[] = {
        {"name", "NAME", "a name, which can be used instead of the id",
         CLI_INTO(CLI_TEXT, struct create_options, name)},
        {"ttl", "TIME", "remove the sandbox after this time",
         CLI_INTO(CLI_TIME, struct create_options, ttl_ms)},
        {"idle", "TIME", "remove the sandbox (with --ttl: stop it) when nothing ran in it for this time",
         CLI_INTO(CLI_TIME, struct create_options, idle_ms)},
        {"in-memory", NULL, "keep the files of the sandbox in memory only",
         CLI_INTO(CLI_FLAG, struct create_options, in_memory)},
        {"workspace", "none|ro|rw", "mount the agent's directory at /workspace: not, read-only or writable",
         CLI_INTO(CLI_TEXT, struct create_options, workspace)},
        {"agent", "NAME", "the agent that --workspace refers to",
         CLI_INTO(CLI_TEXT, struct create_options, agent)},
        {"metadata", "K=V", "a label; cella ls --metadata K=V finds it",
         CLI_INTO(CLI_LIST, struct create_options, metadata)},
        API_MOUNT_OPTION(struct create_options),
        API_NETWORK_OPTIONS(struct create_options),
        {"image", "NAME", "root file system: the name of an image, or host for a view of this machine",
         CLI_INTO(CLI_TEXT, struct create_options, image)},
        {"engine", "native|docker", "the engine that creates the sandbox",
         CLI_INTO(CLI_TEXT, struct create_options, engine)},
        API_SOCKET_OPTION(struct create_options),
        API_JSON_OPTION(struct create_options),
};

static int put_body(struct api_body *body, const struct create_options *o, struct cella_err *err)
{
        int r = api_body_begin(body, err);
        if (r < 0)
                return r;
        if (o->name)
                json_put_string(&body->j, "name", o->name);
        if (o->ttl_ms)
                json_put_number(&body->j, "ttl_ms", o->ttl_ms);
        if (o->idle_ms)
                json_put_number(&body->j, "idle_timeout_ms", o->idle_ms);
        if (o->in_memory)
                json_put_bool(&body->j, "persistent", false);
        if (o->workspace)
                json_put_string(&body->j, "workspace", o->workspace);
        if (o->agent)
                json_put_string(&body->j, "agent", o->agent);
        if (o->image)
                json_put_string(&body->j, "image", o->image);
        if (o->engine)
                json_put_string(&body->j, "engine", o->engine);
        api_network_put(&body->j, &o->network);
        r = api_metadata_put(&body->j, &o->metadata, err);
        if (r == 0)
                r = api_mounts_put(&body->j, &o->mounts, err);
        api_limits_put(&body->j, "limits", &o->limits);
        return r < 0 ? r : api_body_end(body, err);
}

static int create_sandbox(const struct cli_command *self, int argc, char **argv, struct create_options *o,
                          struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        AUTO(api_body_done) struct api_body body = {0};
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct url url;
        char id[64];
        api_limits_init(&o->limits);
        int r = cli_parse_all(self, argc, argv, o, &o->limits, err);
        if (r < 0 || (r = api_need_words(self, r, 0, 0, err)) < 0 || (r = put_body(&body, o, err)) < 0 ||
            (r = client_new(o->socket, &client, err)) < 0)
                return r;
        url_init(&url, "/v1/sandboxes");
        r = api_call(client, "POST", &url, &body, &answer, err);
        if (r < 0)
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

static int create_main(const struct cli_command *self, int argc, char **argv)
{
        static struct create_options o; /* large */
        struct cella_err err = {0};
        int r = create_sandbox(self, argc, argv, &o, &err);
        return cli_finish(r, &err, o.json);
}

const struct cli_command cli_create = {
        .name = "create",
        .usage = "[OPTIONS]",
        .text = "All commands that talk to the daemon (cella serve) use its Unix socket: --socket or "
                "CELLA_SOCKET.\nWith CELLA_URL=http://127.0.0.1:7070 and CELLA_KEY=... they use TCP.",
        .examples = "  box=$(cella create --ttl 1h)\n"
                    "  cella create --name build --memory 2G --image python:3.12-slim\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .takes_limits = true,
        .main = create_main,
};
