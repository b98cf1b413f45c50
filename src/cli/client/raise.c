/* cli/client/raise.c -- `cella raise`: changes limits of an existing sandbox. */
#include <errno.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/client/api.h"

struct raise_options {
        const char *socket;
        struct cella_options limits;
        bool json;
};

static const struct cli_option options[] = {
        API_SOCKET_OPTION(struct raise_options),
        API_JSON_OPTION(struct raise_options),
};

static int raise_limits(const struct cli_command *self, int argc, char **argv, struct raise_options *o,
                        struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        AUTO(api_body_done) struct api_body body = {0};
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct url url;
        api_limits_init(&o->limits);
        int r = cli_parse_all(self, argc, argv, o, &o->limits, err);
        if (r < 0 || (r = api_need_words(self, r, 1, 1, err)) < 0 || (r = api_body_begin(&body, err)) < 0)
                return r;
        if (!api_limits_put(&body.j, "limits", &o->limits)) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "name a limit, such as --memory 1G");
                return err_hint(err, "cella raise --help");
        }
        if ((r = api_body_end(&body, err)) < 0 || (r = api_sandbox_url(&url, argv[1], "", err)) < 0 ||
            (r = client_new(o->socket, &client, err)) < 0 ||
            (r = api_call(client, "PATCH", &url, &body, &answer, err)) < 0)
                return r;
        if (o->json)
                api_print(&answer);
        return 0;
}

static int raise_main(const struct cli_command *self, int argc, char **argv)
{
        static struct raise_options o; /* large */
        struct cella_err err = {0};
        return cli_finish(raise_limits(self, argc, argv, &o, &err), &err, o.json);
}

const struct cli_command cli_raise = {
        .name = "raise",
        .usage = "SBX LIMITS",
        .text = "Changes memory, cpus, processes and the limits of executions, up to those of the key.  The "
                "memory\n"
                "must be more than the sandbox uses.",
        .examples = "  cella raise $SBX --memory 2G --processes 200\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .takes_limits = true,
        .main = raise_main,
};
