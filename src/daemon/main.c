/* daemon/main.c -- main program of cella-server, which `cella serve` starts without privileges.
 *
 * It inherits its sockets and the connection to the keeper as descriptors (keeper/process/process.h). It
 * ends when it is asked to, or when the keeper ends. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/foreign_json.h"
#include "base/parse.h"
#include "base/states.h"
#include "core/start.h"
#include "daemon/backup.h"
#include "daemon/filter.h"
#include "daemon/log.h"
#include "daemon/scan.h"
#include "front/auth.h"
#include "front/server.h"

#define KEEPER_FD 3
#define LISTENER_FD 4
#define LISTENERS_MAX 8
#define TLS_MAX (1 << 20) /* of certificate and key */

struct arguments {
        const char *state, *settings, *listen, *socket;
        const char *images; /* the store of images; NULL: in the state directory */
        /* Of `cella mcp`; NULL: not given. */
        const char *patch; /* JSON: settings above those of the file */
        const char *session, *agent;
        uint64_t listeners, owner;
        uint64_t stdio;      /* 1: after the listeners there is a socket with an MCP client */
        uint64_t volumes;    /* 1: the keeper has volumes */
        uint64_t check;      /* 1: only check the settings file, see check_settings() */
        uint64_t credential; /* 1: and then the descriptor of the key for the secrets, see secret/key.h */
        uint64_t tls;        /* 1: and then that of the certificate and its key, see cli/admin/tls.h */
};

struct server {
        struct arguments arguments;
        uv_loop_t loop;
        uv_signal_t terminate, interrupt, hangup;
        uv_timer_t patience;
        struct state *state;
        struct secret_store *secrets;
        struct core *core;
        struct api *api;
        int status;
        bool stopping;
};

static int server_fail(const struct cella_err *err)
{
        log_line("error", err->msg, err->hint[0] ? "hint" : NULL, err->hint);
        return 1;
}

static void on_refused_state(const char *message)
{
        log_line("error", message, NULL, NULL);
}

static int parse_arguments(int argc, char **argv, struct arguments *ret, struct cella_err *err)
{
        *ret = (struct arguments){.listen = "none", .owner = (uint64_t)getuid()};
        for (int i = 1; i + 1 < argc; i += 2) {
                const char *name = argv[i], *value = argv[i + 1];
                int r = 0;
                if (!strcmp(name, "--state"))
                        ret->state = value;
                else if (!strcmp(name, "--settings"))
                        ret->settings = value[0] ? value : NULL;
                else if (!strcmp(name, "--listen"))
                        ret->listen = value;
                else if (!strcmp(name, "--socket"))
                        ret->socket = value;
                else if (!strcmp(name, "--images"))
                        ret->images = value;
                else if (!strcmp(name, "--patch"))
                        ret->patch = value;
                else if (!strcmp(name, "--session"))
                        ret->session = value;
                else if (!strcmp(name, "--agent"))
                        ret->agent = value;
                else if (!strcmp(name, "--listeners"))
                        r = parse_count(value, &ret->listeners);
                else if (!strcmp(name, "--stdio"))
                        r = parse_count(value, &ret->stdio);
                else if (!strcmp(name, "--volumes"))
                        r = parse_count(value, &ret->volumes);
                else if (!strcmp(name, "--check"))
                        r = parse_count(value, &ret->check);
                else if (!strcmp(name, "--credential"))
                        r = parse_count(value, &ret->credential);
                else if (!strcmp(name, "--tls"))
                        r = parse_count(value, &ret->tls);
                else if (!strcmp(name, "--user-uid"))
                        r = parse_count(value, &ret->owner);
                else
                        r = -EINVAL;
                if (r < 0)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "cella-server: bad argument '%.40s'", name);
        }
        if (!ret->state || ret->listeners > LISTENERS_MAX)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "cella-server is started by cella serve, not by hand");
        return 0;
}

/* ---- settings: the defaults, changes through the API, above them the file, then the command line ---- */

static int read_settings_file(const char *path, json_t **ret, struct cella_err *err)
{
        json_error_t where;
        *ret = NULL;
        if (!path)
                return 0;
        *ret = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
        if (!*ret) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "settings file %.100s: %.80s (line %d)", path,
                        where.text, where.line);
                return err_hint(err, "it must be JSON that user %u can read", (unsigned)getuid());
        }
        return 0;
}

/* Replaces *document by one with the changes of the command line; `cella mcp` wrote them. */
static int patch_settings(const char *text, json_t **document, struct cella_err *err)
{
        json_t *patch = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        if (!patch)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--patch is not valid JSON");
        json_t *patched = schema_merge(*document, patch);
        json_decref(*document);
        json_decref(patch);
        *document = patched;
        return 0;
}

static int load_settings(struct server *s, const json_t *base, json_t **ret, struct cella_err *err)
{
        json_t *file = NULL, *merged = NULL, *empty = json_object();
        int r = read_settings_file(s->arguments.settings, &file, err);
        if (r == 0) {
                merged = schema_merge(base ? base : empty, file ? file : empty);
                if (s->arguments.patch)
                        r = patch_settings(s->arguments.patch, &merged, err);
        }
        if (r == 0)
                r = schema_check(settings_fields(), merged, "", err);
        if (r == 0 && !(*ret = schema_fill(settings_fields(), merged)))
                r = err_set(err, CELLA_INTERNAL, -ENOMEM, "settings");
        json_decref(file);
        json_decref(merged);
        json_decref(empty);
        return r;
}

/* Reads the certificate from a file in memory, which the parent process fills again before a reload. */
static int load_tls(const struct arguments *a, struct cella_err *err)
{
        const int fd =
                a->check ? KEEPER_FD
                         : LISTENER_FD + (int)a->listeners + (a->stdio ? 1 : 0) + (a->credential ? 1 : 0);
        struct stat st;
        if (!a->tls)
                return 0;
        if (fstat(fd, &st) < 0 || st.st_size > TLS_MAX)
                return err_say(err, CELLA_INTERNAL, -EINVAL, "the TLS certificate cannot be read");
        char *pem = malloc((size_t)st.st_size + 1);
        ssize_t n = pem ? pread(fd, pem, (size_t)st.st_size, 0) : -1;
        int r = n < 0 ? err_say(err, CELLA_INTERNAL, -EIO, "the TLS certificate cannot be read")
                      : http_tls_load(pem, (size_t)n, err);
        if (pem)
                explicit_bzero(pem, (size_t)st.st_size);
        free(pem);
        return r;
}

/* For `cella serve --check-config`: without a socket, a keeper or the state directory.  Returns the exit
 * status. */
static int check_settings(struct server *s)
{
        struct cella_err err = {0};
        struct settings settings;
        json_t *document = NULL;
        int r = load_settings(s, NULL, &document, &err);
        if (r == 0)
                r = load_tls(&s->arguments, &err);
        if (r == 0)
                r = settings_from(document, &settings, &err);
        if (r == 0) {
                settings_done(&settings);
                return 0;
        }
        json_decref(document);
        fprintf(stderr, "cella: %s%s%s\n", err.msg, err.hint[0] ? "; " : "", err.hint);
        return 2;
}

static void reload(struct server *s)
{
        struct cella_err err = {0};
        json_t *document = NULL;
        int r = load_settings(s, s->core->settings.document, &document, &err);
        if (r == 0)
                r = core_configure(s->core, document, &err);
        if (r < 0)
                log_line("error", err.msg, "settings", "stay as they were");
        else
                log_line("info", "settings read again", NULL, NULL);
        if (load_tls(&s->arguments, &err) < 0)
                log_line("error", err.msg, "certificate", "stays as it was");
}

/* ---- stopping ---- */

static void on_patience(uv_timer_t *timer)
{
        uv_stop(timer->loop);
}

/* Answers that are being sent get some time. */
static void on_drained(struct core *core, void *context)
{
        struct server *s = context;
        (void)core;
        uv_timer_start(&s->patience, on_patience, http_server_requests(s->api->http) > 0 ? 300 : 0, 0);
}

static void server_stop(struct server *s, const char *why)
{
        if (s->stopping)
                return;
        s->stopping = true;
        log_line("info", "shutting down", "why", why);
        api_quiesce(s->api);
        core_stop(s->core, on_drained, s);
}

static void server_on_signal(uv_signal_t *handle, int number)
{
        struct server *s = handle->data;
        if (number == SIGHUP)
                reload(s);
        else
                server_stop(s, "signal");
}

static void on_keeper_lost(void *userdata, const char *why)
{
        struct server *s = userdata;
        if (!s->stopping)
                s->status = 1;
        log_line("error", why, NULL, NULL);
        uv_stop(&s->loop); /* the server cannot work without the keeper, and all sandboxes are dead */
}

static void on_keeper_event(void *userdata, uint32_t type)
{
        struct server *s = userdata;
        if (type == KEEPER_STOP)
                server_stop(s, "requested by the keeper");
        else if (type == KEEPER_RELOAD)
                reload(s);
}

/* ---- starting ---- */

static void on_probed(struct core *core, void *context)
{
        struct server *s = context;
        if (core->unable.kind)
                log_line("error", core->unable.msg, "hint", core->unable.hint);
        log_line("info", "ready", "listen", s->arguments.listen);
        keeper_link_ask(core->keeper, KEEPER_READY, 0, NULL, NULL);
}

static void watch_signals(struct server *s)
{
        uv_signal_t *handles[] = {&s->terminate, &s->interrupt, &s->hangup};
        const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
        for (int i = 0; i < 3; i++) {
                uv_signal_init(&s->loop, handles[i]);
                handles[i]->data = s;
                uv_signal_start(handles[i], server_on_signal, numbers[i]);
        }
        uv_timer_init(&s->loop, &s->patience);
        s->patience.data = s;
}

/* Without keys, every client that can connect may use the daemon. */
static int check_listen(const struct server *s, struct cella_err *err)
{
        if (!strcmp(s->arguments.listen, "none") || auth_is_loopback(s->arguments.listen) ||
            state_key_count(s->state) > 0)
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EACCES, "refusing to listen on %.60s without a key",
                s->arguments.listen);
        return err_hint(err, "start on 127.0.0.1, make a key by 'cella key add NAME', then start again");
}

/* A failure is not fatal: only requests that name a secret get this error. */
static void open_secrets(struct server *s, struct cella_err *ret_why)
{
        const struct arguments *a = &s->arguments;
        const int after = LISTENER_FD + (int)a->listeners + (a->stdio ? 1 : 0);
        const struct secret_key_source source = {.fd = a->credential ? after : -1};
        if (secret_store_open(a->state, &source, &s->secrets, ret_why) == 0)
                return;
        ret_why->kind = CELLA_ENGINE_UNAVAILABLE;
        log_line("error", ret_why->msg, ret_why->hint[0] ? "hint" : NULL, ret_why->hint);
}

static int start_box(struct server *s, struct cella_err *err)
{
        json_t *kept = NULL, *settings = NULL;
        struct cella_err no_secrets = {0};
        int r = state_open(s->arguments.state, &s->state, err);
        if (r == 0)
                r = state_settings_get(s->state, &kept, err);
        if (r == 0)
                r = load_settings(s, kept, &settings, err);
        json_decref(kept);
        if (r == 0)
                r = check_listen(s, err);
        if (r < 0)
                return r;
        open_secrets(s, &no_secrets);
        const struct core_options options = {
                .loop = &s->loop,
                .keeper_fd = KEEPER_FD,
                .state = s->state,
                .secrets = s->secrets,
                .no_secrets = no_secrets,
                .directory = s->arguments.state,
                .store = s->arguments.images,
                .volumes = s->arguments.volumes != 0,
                .settings = settings,
                .on_keeper_lost = on_keeper_lost,
                .on_keeper_event = on_keeper_event,
                .userdata = s,
        };
        return core_new(&options, &s->core, err);
}

static int server_start_all(struct server *s, struct cella_err *err)
{
        int listeners[LISTENERS_MAX];
        char count[24];
        int r = load_tls(&s->arguments, err);
        if (r < 0 || (r = start_box(s, err)) < 0)
                return r;
        if (s->core->interrupted > 0) {
                snprintf(count, sizeof count, "%u", s->core->interrupted);
                log_line("warning", "executions were interrupted when the daemon last died", "executions",
                         count);
        }
        if (s->core->settings.mode != MODE_ALL)
                log_line("warning", "code may run on the host, outside of a sandbox", "mode",
                         s->core->settings.mode == MODE_OFF ? "off" : "selective");
        for (size_t i = 0; i < s->arguments.listeners; i++)
                listeners[i] = LISTENER_FD + (int)i;
        const struct api_options options = {
                .core = s->core,
                .listeners = listeners,
                .n_listeners = (size_t)s->arguments.listeners,
                .owner = (uid_t)s->arguments.owner,
                .listen = s->arguments.listen,
                .has_socket = s->arguments.socket != NULL,
                .tls = s->arguments.tls != 0,
                .stdio = s->arguments.stdio ? LISTENER_FD + (int)s->arguments.listeners : -1,
                .session = s->arguments.session,
                .agent = s->arguments.agent,
                .log = log_line,
        };
        if ((r = api_new(&options, &s->api, err)) < 0)
                return r;
        watch_signals(s);
        return filter_load(err);
}

static void log_no_memory(void)
{
        log_line("error", "out of memory", NULL, NULL);
}

int main(int argc, char **argv)
{
        static struct server s;
        struct cella_err err = {0};
        if (argc > 1 && !strcmp(argv[1], "--scan"))
                return scan_main(argc, argv);
        if (argc > 1 && !strcmp(argv[1], "--backup"))
                return backup_main(argc, argv);
        if (argc > 1 && !strcmp(argv[1], "--restore"))
                return restore_main(argc, argv);
        if (parse_arguments(argc, argv, &s.arguments, &err) < 0)
                return server_fail(&err);
#ifndef __SANITIZE_ADDRESS__ /* which checks for leaks at the end */
        prctl(PR_SET_DUMPABLE, 0);
#endif
        if (s.arguments.check)
                return check_settings(&s);
        states_report(on_refused_state);
        signal(SIGPIPE, SIG_IGN);
        setenv("UV_THREADPOOL_SIZE", "3",
               1); /* two for scans (core/request/scan_job.c), one for the log and files */
        /* Return freed memory to the kernel, so that the server is small again after a busy time. */
        mallopt(M_ARENA_MAX, 2);
        mallopt(M_TRIM_THRESHOLD, 1 << 20);
        mallopt(M_MMAP_THRESHOLD, 256 << 10);
        foreign_json_init(log_no_memory);
        uv_loop_init(&s.loop);
        if (server_start_all(&s, &err) < 0)
                return server_fail(&err);
        core_probe(s.core, on_probed, &s);
        uv_run(&s.loop, UV_RUN_DEFAULT);
        s.api = api_free(s.api);
        s.core = core_free(s.core);
        secret_store_close(s.secrets);
        state_close(s.state);
        log_line("info", "stopped", NULL, NULL);
        return s.status;
}
