/* cli/run/options.c -- the option table of `cella run`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/run/options.h"
#include "egress/policy/policy.h"

/* A copy of text without its access suffix (":ro", ":rw"). */
static char *cut_access(struct run_options *o, const char *text, bool *writable)
{
        char *copy = o->n_copies < ARRAY_LEN(o->copies) ? strdup(text) : NULL;
        if (!copy)
                return NULL;
        o->copies[o->n_copies++] = copy;
        size_t len = strlen(copy);
        *writable = false;
        if (len > 3 && (!strcmp(copy + len - 3, ":rw") || !strcmp(copy + len - 3, ":ro"))) {
                *writable = copy[len - 1] == 'w';
                copy[len - 3] = '\0';
        }
        return copy;
}

static int set_workspace(void *target, const char *value, struct cella_err *err)
{
        struct run_options *o = target;
        char *path = cut_access(o, value, &o->options.workspace_writable);
        if (!path)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "--workspace");
        if (!*path)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--workspace takes DIR, DIR:ro or DIR:rw");
        o->options.workspace = path;
        return 0;
}

static int set_mount(void *target, const char *value, struct cella_err *err)
{
        struct run_options *o = target;
        struct cella_mount *m = &o->mounts[o->options.n_mounts];
        if (o->options.n_mounts == RUN_LIST_MAX)
                return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "more than %d --mount", RUN_LIST_MAX);
        char *source = cut_access(o, value, &m->writable);
        if (!source)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "--mount");
        char *colon = strrchr(source, ':');
        if (!colon || colon == source || !colon[1])
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--mount takes SOURCE:TARGET, with :ro or :rw after it, not '%.80s'", value);
        *colon = '\0';
        m->source = source;
        m->target = colon + 1;
        o->options.mounts = o->mounts;
        o->options.n_mounts++;
        return 0;
}

static int set_env(void *target, const char *value, struct cella_err *err)
{
        struct run_options *o = target;
        if (o->n_env == ARRAY_LEN(o->env) - 1)
                return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "more than %zu --env",
                               ARRAY_LEN(o->env) - 1);
        if (strcspn(value, "=") == 0 || !strchr(value, '='))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--env takes NAME=VALUE, not '%.60s'",
                               value);
        o->env[o->n_env++] = value;
        return 0;
}

static int set_cwd(void *target, const char *value, struct cella_err *err)
{
        if (value[0] != '/')
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--cwd takes an absolute path, not '%.80s'", value);
        ((struct run_options *)target)->command.cwd = value;
        return 0;
}

static int set_image(void *target, const char *value, struct cella_err *err)
{
        (void)err;
        ((struct run_options *)target)->options.image = value;
        return 0;
}

static int set_engine(void *target, const char *value, struct cella_err *err)
{
        if (strcmp(value, "native") != 0 && strcmp(value, "docker") != 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--engine may be native or docker, not '%.60s'", value);
        ((struct run_options *)target)->options.engine = value;
        return 0;
}

static int set_network(void *target, const char *value, struct cella_err *err)
{
        static const struct {
                const char *word;
                enum cella_tier tier;
        } tiers[] = {
                {"none", CELLA_RESTRICTED},    {"restricted", CELLA_RESTRICTED},
                {"sandbox", CELLA_RESTRICTED}, {"standard", CELLA_STANDARD},
                {"elevated", CELLA_ELEVATED},  {"unrestricted", CELLA_ELEVATED},
        };
        for (size_t i = 0; i < ARRAY_LEN(tiers); i++)
                if (!strcmp(value, tiers[i].word)) {
                        ((struct run_options *)target)->options.network.tier = tiers[i].tier;
                        ((struct run_options *)target)->tier_given = true;
                        return 0;
                }
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                       "--network may be none (or restricted), standard or elevated, not '%.60s'", value);
}

static int add_pattern(struct cli_list *list, enum policy_list kind, const char *option, const char *value,
                       struct cella_err *err)
{
        const char *why = policy_check_pattern(kind, value);
        if (why)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--%s cannot be '%.60s': %.120s", option,
                               value, why);
        if (list->n == CLI_LIST_MAX)
                return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "more than %d --%s", CLI_LIST_MAX, option);
        list->items[list->n++] = value;
        return 0;
}

static int set_allow(void *target, const char *value, struct cella_err *err)
{
        return add_pattern(&((struct run_options *)target)->allowed, POLICY_ALLOWED, "allow", value, err);
}

static int set_block(void *target, const char *value, struct cella_err *err)
{
        return add_pattern(&((struct run_options *)target)->blocked, POLICY_BLOCKED, "block", value, err);
}

static int set_allow_private(void *target, const char *value, struct cella_err *err)
{
        return add_pattern(&((struct run_options *)target)->private, POLICY_PRIVATE, "allow-private", value,
                           err);
}

/* A list without effect is an error, because it restricts or permits network access. */
int run_options_check(struct run_options *o, struct cella_err *err)
{
        struct cella_network *n = &o->options.network;
        if (o->out && o->options.workspace && !o->options.workspace_writable)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--out needs a writable workspace: a private one, or --workspace DIR:rw");
        if (o->allowed.n > 0 && !o->tier_given)
                n->tier = CELLA_STANDARD;
        if (o->allowed.n > 0 && n->tier == CELLA_ELEVATED)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--allow goes with --network standard; elevated is any public address");
        const char *needless = o->allowed.n > 0   ? "--allow needs --network standard"
                               : o->blocked.n > 0 ? "--block needs --network standard or elevated"
                               : o->private.n > 0 ? "--allow-private needs --network standard or elevated"
                                                  : NULL;
        if (needless && n->tier == CELLA_RESTRICTED && o->with.n == 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s", needless);
        n->allowed = o->allowed.items;
        n->blocked = o->blocked.items;
        n->allowed_private = o->private.items;
        return 0;
}

static int set_user(void *target, const char *value, struct cella_err *err)
{
        bool root = !strcmp(value, "root");
        if (!root && strcmp(value, "user") != 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--user may be user or root, not '%.60s'",
                               value);
        ((struct run_options *)target)->options.user_root = root;
        return 0;
}

static int set_kill_on_output(void *target, const char *value, struct cella_err *err)
{
        (void)value, (void)err;
        ((struct run_options *)target)->command.kill_on_output_limit = true;
        return 0;
}

static int set_json(void *target, const char *value, struct cella_err *err)
{
        (void)value, (void)err;
        ((struct run_options *)target)->json = true;
        return 0;
}

static int set_verbose(void *target, const char *value, struct cella_err *err)
{
        (void)value, (void)err;
        ((struct run_options *)target)->verbose = true;
        return 0;
}

static const struct cli_option options[] = {
        {"workspace", "DIR[:rw]", "show DIR to the code in /workspace (read-only)", set_workspace},
        {"mount", "SRC:DST[:rw]", "show a file or directory at DST (read-only)", set_mount, .letter = 'v'},
        {"out", "DIR", "copy what the code writes in /workspace to DIR",
         CLI_INTO(CLI_TEXT, struct run_options, out)},
        {"with", "PACKAGE", "install a Python package with pip first",
         CLI_INTO(CLI_LIST, struct run_options, with)},
        {"env", "NAME=VALUE", "set a variable; nothing is inherited", set_env, .letter = 'e'},
        {"cwd", "DIR", "working directory (/workspace)", set_cwd, .letter = 'w', .rare = true},
        {"user", "user|root", "the user inside; outside it has no rights (user)", set_user, .rare = true},
        {"allow", "DOMAIN[:PORT]", "allow connections to it (*.DOMAIN: below it)", set_allow},
        {"network", "TIER", "none; standard: --allow; elevated: public hosts", set_network},
        {"block", "DOMAIN[:PORT]", "refuse connections, even if allowed otherwise (every port)", set_block,
         .rare = true},
        {"allow-private", "PATTERN", "allow a private address for this name, address or network",
         set_allow_private, .rare = true},
        {"image", "NAME", "use an image of the store as root file system", set_image},
        {"engine", "NAME", "native; docker: a container of Docker or Podman, with one of their images",
         set_engine, .rare = true},
        {"tty", NULL, "open a terminal (standard for a command on a terminal)",
         CLI_INTO(CLI_FLAG, struct run_options, tty), 't', true},
        {"interactive", NULL, "with -t: as in docker; alone: pipes, no terminal",
         CLI_INTO(CLI_FLAG, struct run_options, interactive), 'i', true},
        {"kill-on-output", NULL, "end the run when it writes more than --output", set_kill_on_output,
         .rare = true},
        {"json", NULL, "print the whole result as JSON", set_json},
        CLI_QUIET_OPTION,
        {"verbose", NULL, "print the isolation and the resource usage on stderr", set_verbose, .letter = 'V',
         .rare = true},
};

const struct cli_command cli_run = {
        .name = "run",
        .usage = "[OPTIONS] RUNTIME -c CODE [ARG...] | [RUNTIME] FILE [ARG...] | -- COMMAND [ARG...] |\n"
                 "                 RUNTIME | --image NAME",
        .short_usage = "[OPTIONS] [RUNTIME] FILE | RUNTIME -c CODE | -- COMMAND",
        .examples = "  cella run python3 -c 'print(6*7)'            code\n"
                    "  cella run app.py ARG                         a file\n"
                    "  cella run --workspace proj main.py           a file that needs others\n"
                    "  cella run -it -- bash                        a command, on a terminal\n"
                    "  cella run --allow pypi.org python3 app.py    network access\n",
        .text = "The exit status is that of the code; 124 after a timeout, 137 if it was killed because of "
                "its\n"
                "memory limit, 127 if the command does not exist, 125 if Cella itself failed, 2 after a "
                "usage\nerror.",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .takes_limits = true,
        .takes_runtime = true,
        .main = run_main,
};
