#include "cli/run/packages.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/text.h"

/* The arguments of this program are the packages. */
static const char pip[] =
        "import runpy, sys\n"
        "sys.argv = ['pip', 'install', '--user', '--quiet', '--no-cache-dir', '--no-input',\n"
        "            '--no-warn-script-location', '--root-user-action=ignore', '--progress-bar=off', '--',\n"
        "            *sys.argv[1:]]\n"
        "runpy.run_module('pip', run_name='__main__', alter_sys=True)\n";

static const char *variable(const struct run_options *o, const char *name)
{
        const size_t len = strlen(name);
        for (size_t i = 0; i < o->n_env; i++)
                if (!strncmp(o->env[i], name, len) && o->env[i][len] == '=')
                        return o->env[i] + len + 1;
        return NULL;
}

/* Allows the host of --env PIP_INDEX_URL, or those of PyPI. */
static int allow_index(struct run_options *o, struct cella_err *err)
{
        static char host[256];
        const char *url = variable(o, "PIP_INDEX_URL"), *at = url ? strstr(url, "://") : NULL;
        const char *hosts[] = {"pypi.org", "files.pythonhosted.org"};
        size_t n = ARRAY_LEN(hosts);
        if (at) {
                const size_t len = strcspn(at + 3, "/");
                const char *user = memchr(at + 3, '@', len);
                const char *begin = user ? user + 1 : at + 3;
                snprintf(host, sizeof host, "%.*s", (int)(at + 3 + len - begin), begin);
                hosts[0] = host;
                n = 1;
        }
        for (size_t i = 0; i < n; i++) {
                if (o->allowed.n == CLI_LIST_MAX)
                        return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "more than %d --allow",
                                       CLI_LIST_MAX);
                o->allowed.items[o->allowed.n++] = hosts[i];
        }
        return 0;
}

int packages_check(struct run_options *o, struct cella_err *err)
{
        struct cella_network *n = &o->options.network;
        for (size_t i = 0; i < o->with.n; i++)
                if (!isalnum((unsigned char)o->with.items[i][0]))
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "--with takes the name of a package, such as pandas or six==1.16, not "
                                       "'%.60s'",
                                       o->with.items[i]);
        if (o->with.n == 0 || variable(o, "PIP_NO_INDEX") || n->tier == CELLA_ELEVATED)
                return 0;
        o->close_network = n->tier == CELLA_RESTRICTED;
        n->tier = CELLA_STANDARD;
        return allow_index(o, err);
}

int packages_install(const struct run_options *o, struct cella_sandbox *sandbox, struct cella_err *err)
{
        static const int streams[2] = {STDERR_FILENO, STDERR_FILENO};
        const bool python = o->command.runtime && (!strncmp(o->command.runtime, "python", 6) ||
                                                   !strncmp(o->command.runtime, "pypy", 4));
        const struct cella_command command = {
                .runtime = python ? o->command.runtime : "python3",
                .code = pip,
                .code_len = sizeof pip - 1,
                .argv = o->with.items,
                .env = o->env,
                .stdin_fd = -1,
                .stream_fds = streams,
                .cancel_fd = o->command.cancel_fd,
        };
        struct cella_result result;
        char why[256] = "";
        if (o->with.n == 0)
                return 0;
        int r = cella_run(sandbox, &command, &result, err);
        if (r < 0)
                return r;
        if (result.status != CELLA_EXITED)
                text_limit(why, sizeof why, cella_status_name(result.status), result.hint);
        if (result.status != CELLA_EXITED || result.exit_code != 0)
                r = err_say(err, CELLA_INTERNAL, -EIO, "--with: pip could not install the packages%s%.150s",
                            why[0] ? ": " : "", why);
        cella_result_done(&result);
        if (o->close_network)
                cella_sandbox_close_network(sandbox);
        return r;
}
