/* cli/admin/serve.c -- `cella serve`: the daemon.
 *
 * This process becomes the keeper (keeper/process/process.c).  Before that, it opens everything that needs
 * its own rights (the state directory, the listening sockets) and starts the server, which inherits these
 * descriptors and no others. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/admin/job.h"
#include "cli/admin/serve.h"
#include "cli/admin/tls.h"
#include "cli/cli.h"
#include "cli/program.h"
#include "image/store/store.h"
#include "jail/cgroup.h"
#include "jail/cgroup_home.h"
#include "keeper/process/listen.h"
#include "keeper/process/log.h"
#include "keeper/process/process.h"
#include "keeper/process/state_dir.h"
#include "keeper/process/volume.h"
#include "keeper/process/way.h"
#include "keeper/spawn/assemble.h"
#include "secret/key.h"
#include "sys/file.h"
#include "sys/process.h"

#define PATH_SIZE 1024

struct serve {
        struct serve_options options;
        char socket_path[PATH_SIZE], state[PATH_SIZE], program[PROGRAM_SIZE];
        const char *listen, *socket; /* NULL: none */
        char *settings, *pin;
        struct server_user user; /* of the server */
        char imager[PROGRAM_SIZE], images_state[PATH_SIZE], store[PATH_SIZE + 16];
        struct state_dir dir;
        int listeners[SERVER_LISTENERS_MAX];
        size_t n_listeners;
        struct serve_tls tls;
        int credential;     /* the key for the secrets, if systemd passed one; -1: none */
        bool listens_there; /* the socket was created here and is removed at the end */
};

#define INTO(member) CLI_INTO(CLI_TEXT, struct serve_options, member)

static const struct cli_option options[] = {
        {"listen", "ADDRESS:PORT", "the address to serve HTTP on, or none (127.0.0.1:7070)", INTO(listen)},
        {"tls-cert", "FILE", "serve HTTPS at this address: certificate and chain, PEM", INTO(tls_cert)},
        {"tls-key", "FILE", "the private key of the certificate, PEM; only root may read it", INTO(tls_key)},
        {"socket", "PATH", "Unix socket to serve on (/run/cella/cella.sock, or the user's own)",
         INTO(socket)},
        {"settings", "FILE", "the settings to start with", INTO(settings)},
        {"state", "DIR", "the state directory ($CELLA_STATE, /var/lib/cella, ~/.local/state/cella)",
         INTO(state)},
        {"user", "NAME", "the user of the server, if root starts it (cella, or an unused uid)", INTO(user)},
        {"workers", "N", "processes that make sandboxes, at most 32 (one for each two cores)",
         CLI_INTO(CLI_COUNT, struct serve_options, workers)},
        {"check-config", NULL, "check the options, the settings file and the state directory, and exit",
         CLI_INTO(CLI_FLAG, struct serve_options, check_config)},
        {"workspace-root", "DIR", "allow host workspaces and mounts only in this directory and below",
         INTO(workspace_root)},
};

static const char *cli_serve_variable(const char *name)
{
        const char *value = getenv(name);
        return value && value[0] == '/' ? value : NULL;
}

int serve_state_path(const char *given, char *ret, size_t size, struct cella_err *err)
{
        const char *state = cli_serve_variable("XDG_STATE_HOME"), *home = cli_serve_variable("HOME");
        if (!given)
                given = cli_serve_variable("CELLA_STATE");
        if (given)
                snprintf(ret, size, "%s", given);
        else if (geteuid() == 0)
                snprintf(ret, size, "/var/lib/cella");
        else if (state)
                snprintf(ret, size, "%s/cella", state);
        else if (home)
                snprintf(ret, size, "%s/.local/state/cella", home);
        else
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "there is no state directory: set it with --state DIR");
        return 0;
}

static int fill_paths(struct serve *s, struct cella_err *err)
{
        bool root = geteuid() == 0;
        const char *runtime = cli_serve_variable("XDG_RUNTIME_DIR");
        if (s->options.socket)
                snprintf(s->socket_path, sizeof s->socket_path, "%s", s->options.socket);
        else if (root)
                snprintf(s->socket_path, sizeof s->socket_path, "/run/cella/cella.sock");
        else if (runtime)
                snprintf(s->socket_path, sizeof s->socket_path, "%s/cella.sock", runtime);
        else
                snprintf(s->socket_path, sizeof s->socket_path, "/tmp/cella-%u/cella.sock",
                         (unsigned)geteuid());
        s->socket = strcmp(s->socket_path, "none") != 0 && !s->options.stdio ? s->socket_path : NULL;
        s->listen = strcmp(s->options.listen, "none") != 0 ? s->options.listen : NULL;
        return serve_state_path(s->options.state, s->state, sizeof s->state, err);
}

/* Returns the absolute path, which is also valid for the server: it has another working directory. */
static int real(const char *option, const char *path, char **ret, struct cella_err *err)
{
        if (!path)
                return 0;
        *ret = realpath(path, NULL);
        return *ret ? 0 : err_set(err, CELLA_INVALID_REQUEST, -errno, "--%s %.150s", option, path);
}

static int open_listeners(struct serve *s, struct cella_err *err)
{
        int fd;
        if (s->options.stdio)
                s->listeners[s->n_listeners++] = s->options.stdio_fd;
        if (s->listen) {
                if ((fd = listen_tcp(s->listen, err)) < 0)
                        return fd;
                s->listeners[s->n_listeners++] = fd;
        }
        if (s->socket) {
                if ((fd = listen_unix(s->socket, err)) < 0)
                        return fd;
                s->listens_there = true;
                s->listeners[s->n_listeners++] = fd;
        }
        return 0;
}

/* Opens the credential here: systemd gives it to root only, and the server inherits no variables. */
static int open_credential(struct serve *s, struct cella_err *err)
{
        const char *directory = cli_serve_variable("CREDENTIALS_DIRECTORY");
        char path[PATH_SIZE];
        if (!directory)
                return 0;
        snprintf(path, sizeof path, "%s/%s", directory, SECRET_KEY_CREDENTIAL);
        int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
        if (fd < 0 && fd != -ENOENT) /* using another key instead would be worse than failing */
                return err_set(err, CELLA_INVALID_REQUEST, fd, "cannot read the credential %.150s", path);
        s->credential = fd < 0 ? -1 : fd;
        return 0;
}

static pid_t start_server(struct serve *s, int socket, bool volumes, int *ret_pidfd, struct cella_err *err)
{
        char listeners[16], uid[16];
        char *argv[30];
        int n = 0;
        snprintf(listeners, sizeof listeners, "%zu", s->options.stdio ? 0 : s->n_listeners);
        snprintf(uid, sizeof uid, "%u", (unsigned)getuid());
        argv[n++] = "cella-server";
        argv[n++] = "--state", argv[n++] = s->dir.path;
        argv[n++] = "--images", argv[n++] = s->store;
        if (s->settings)
                argv[n++] = "--settings", argv[n++] = s->settings;
        if (s->listen)
                argv[n++] = "--listen", argv[n++] = (char *)s->listen;
        if (s->socket)
                argv[n++] = "--socket", argv[n++] = (char *)s->socket;
        argv[n++] = "--listeners", argv[n++] = listeners;
        if (s->options.stdio)
                argv[n++] = "--stdio", argv[n++] = "1";
        if (s->options.patch)
                argv[n++] = "--patch", argv[n++] = (char *)s->options.patch;
        if (s->options.session)
                argv[n++] = "--session", argv[n++] = (char *)s->options.session;
        if (s->options.agent)
                argv[n++] = "--agent", argv[n++] = (char *)s->options.agent;
        if (volumes)
                argv[n++] = "--volumes", argv[n++] = "1";
        if (s->credential >= 0)
                argv[n++] = "--credential", argv[n++] = "1";
        if (s->tls.for_server >= 0)
                argv[n++] = "--tls", argv[n++] = "1";
        argv[n++] = "--user-uid", argv[n++] = uid;
        argv[n] = NULL;
        const struct server_setup setup = {
                .program = s->program,
                .argv = argv,
                .keeper_socket = socket,
                .listeners = s->listeners,
                .n_listeners = s->n_listeners,
                .credential = s->credential,
                .tls = s->tls.for_server,
                .change_user = s->user.change,
                .uid = s->user.uid,
                .gid = s->user.gid,
        };
        return server_start(&setup, ret_pidfd, err);
}

/* Blocks signals until the keeper's loop reads them. */
static void prepare_process(void)
{
        struct rlimit files;
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        sigprocmask(SIG_BLOCK, &set, NULL);
        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max;
                setrlimit(RLIMIT_NOFILE, &files);
        }
        notify_init();
        cgroup_make_room();
}

/* ---- the life of the keeper ---- */
/* Opens the directory for workspaces with a disk limit.  Without it, requests that need the limit
 * get an error. */
static int open_volumes(const struct serve *s)
{
        struct cella_err err = {0};
        if (!sandbox_is_privileged())
                return -1;
        AUTO(sys_close) int state = sys_openat(AT_FDCWD, s->dir.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        int volumes = state < 0 ? state : volumes_open(state, &err);
        if (volumes < 0)
                log_error(NULL, "persistent workspaces have no disk limit: %s", err.msg);
        return volumes < 0 ? -1 : volumes;
}

/* Finds the images of this or of another state directory.  Nothing is created before the first image is
 * added. */
static int find_images(struct serve *s, struct cella_err *err)
{
        if (s->options.images_state)
                snprintf(s->images_state, sizeof s->images_state, "%s", s->options.images_state);
        else
                snprintf(s->images_state, sizeof s->images_state, "%s", s->dir.path);
        if (program_find("cella-image", s->imager, NULL) < 0)
                s->imager[0] = '\0'; /* requests for an image fail with a message */
        return image_store_path(s->images_state, s->store, sizeof s->store, err);
}

/* Returns how many processes beside the keeper make sandboxes. */
static unsigned further_workers(const struct serve *s)
{
        cpu_set_t set;
        const int cores = sched_getaffinity(0, sizeof set, &set) < 0 ? 1 : CPU_COUNT(&set);
        const uint64_t all = s->options.workers ? s->options.workers : (uint64_t)(cores < 2 ? 1 : cores / 2);
        return all > KEEPER_WORKERS_MAX ? KEEPER_WORKERS_MAX : (unsigned)all - 1;
}

/* A certificate that cannot be read stays as it was. */
static void on_reload(void *context)
{
        struct serve *s = context;
        struct cella_err err = {0};
        if (s->tls.memory >= 0 && serve_tls_read(&s->tls, &err) < 0)
                log_error(NULL, "%s", err.msg);
}

static int cli_serve_keep(struct serve *s, struct cella_err *err)
{
        int pair[2], pidfd = -1;
        prepare_process();
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot create a socket");
        AUTO(sys_close) int volumes = open_volumes(s);
        pid_t server = start_server(s, pair[1], volumes >= 0, &pidfd, err);
        sys_close(pair[1]);
        if (s->credential >= 0)
                sys_close(TAKE_FD(s->credential));
        for (size_t i = 0; i < s->n_listeners; i++)
                sys_close(TAKE_FD(s->listeners[i])); /* only the server keeps them: they close when it ends */
        if (server < 0) {
                sys_close(pair[0]);
                return server;
        }
        const struct keeper_setup setup = {
                .socket = pair[0],
                .workers = further_workers(s),
                .volumes = volumes,
                .images_state = s->images_state,
                .store = s->store,
                .imager_program = s->imager[0] ? s->imager : NULL,
                .imager_change_user = s->user.change,
                .imager_gid = s->user.gid,
                .before_reload = on_reload,
                .reload_context = s,
                .server = server,
                .server_pidfd = pidfd,
                .policy = {.workspaces = s->dir.workspaces,
                           .state = s->dir.path,
                           .pin = s->pin,
                           .only = s->options.workspace,
                           .owner = s->user.uid},
        };
        int status = keeper_run(&setup);
        sys_close(pidfd);
        sys_close(pair[0]);
        return status;
}

static int check_workers(const struct serve *s, struct cella_err *err)
{
        if (s->options.workers <= KEEPER_WORKERS_MAX + 1)
                return 0;
        return err_say(err, CELLA_INVALID_REQUEST, -ERANGE, "--workers %llu is out of range (1 to %d)",
                       (unsigned long long)s->options.workers, KEEPER_WORKERS_MAX + 1);
}

static int find_settings(struct serve *s, struct cella_err *err)
{
        int r = real("settings", s->options.settings, &s->settings, err);
        return r < 0 || !s->settings ? r
                                     : way_check(s->settings, "--settings", s->user.uid, s->user.gid, err);
}

static int open_tls(struct serve *s, struct cella_err *err)
{
        s->tls.cert = s->options.tls_cert;
        s->tls.key = s->options.tls_key;
        s->tls.server_uid = s->user.uid;
        s->tls.server_gid = s->user.gid;
        if ((s->tls.cert || s->tls.key) && !s->listen)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--tls-cert needs an address to listen on");
        return serve_tls_open(&s->tls, err);
}

static int cli_serve_run(struct serve *s, struct cella_err *err)
{
        int r;
        if ((r = check_workers(s, err)) < 0 || (r = fill_paths(s, err)) < 0 ||
            (!s->options.stdio && (r = listen_check(s->listen, s->socket, err)) < 0) ||
            (r = server_user_find(s->options.user, &s->user, err)) < 0 || (r = find_settings(s, err)) < 0 ||
            (r = open_tls(s, err)) < 0 ||
            (r = real("workspace-root", s->options.workspace_root, &s->pin, err)) < 0 ||
            (r = program_find("cella-server", s->program, err)) < 0 ||
            (r = state_dir_open(s->state, s->user.uid, s->user.gid, &s->dir, err)) < 0 ||
            (r = find_images(s, err)) < 0 || (r = open_credential(s, err)) < 0 ||
            (r = open_listeners(s, err)) < 0)
                return r;
        return cli_serve_keep(s, err);
}

/* ---- --check-config ---- */

/* Prints an error.  Returns whether there was one. */
static bool report(int r, struct cella_err *err)
{
        if (r < 0)
                cli_fail(err, 0);
        *err = (struct cella_err){0};
        return r < 0;
}

/* The server reads settings and certificate, with its own rights. */
static bool check_by_server(struct serve *s)
{
        struct cella_err err = {0};
        bool bad = report(find_settings(s, &err), &err);
        bad |= report(open_tls(s, &err), &err);
        if (bad)
                return true;
        const bool tls = s->tls.for_server >= 0;
        char *const argv[] = {"cella-server",
                              "--check",
                              "1",
                              "--state",
                              s->state,
                              "--settings",
                              s->settings ? s->settings : "",
                              "--tls",
                              tls ? "1" : "0",
                              NULL};
        const int r = job_run(argv, &s->tls.for_server, tls, &s->user, &err);
        return report(r, &err) || r != 0;
}

/* Checks all that the start of the daemon would, as far as that changes nothing, and prints every problem. */
static int check_config(struct serve *s)
{
        struct cella_err err = {0};
        bool bad = report(check_workers(s, &err), &err);
        const bool paths = !report(fill_paths(s, &err), &err);
        const bool user = !report(server_user_find(s->options.user, &s->user, &err), &err);
        bad |= !paths || !user;
        bad |= paths && report(listen_check(s->listen, s->socket, &err), &err);
        bad |= report(real("workspace-root", s->options.workspace_root, &s->pin, &err), &err);
        bad |= report(program_find("cella-server", s->program, &err), &err);
        if (user && paths)
                bad |= check_by_server(s);
        if (user && paths)
                bad |= report(state_dir_check(s->state, s->user.uid, s->user.gid, &err), &err);
        if (!bad)
                printf("the configuration is good: state directory %s, %s%s%s%s\n", s->state,
                       !s->listen          ? ""
                       : s->tls.memory < 0 ? "http://"
                                           : "https://",
                       s->listen ? s->listen : "", s->listen && s->socket ? ", " : "",
                       s->socket ? s->socket : "");
        return bad ? EXIT_USAGE : 0;
}

int serve_run(const struct serve_options *wanted, struct cella_err *err)
{
        static struct serve s;
        s.options = *wanted;
        s.dir.lock = s.dir.workspaces = s.credential = -1;
        s.tls = SERVE_TLS_NONE;
        int r = s.options.check_config ? check_config(&s) : cli_serve_run(&s, err);
        for (size_t i = 0; i < s.n_listeners; i++)
                sys_close(s.listeners[i]);
        if (s.credential >= 0)
                sys_close(s.credential);
        if (s.listens_there && s.socket)
                unlink(s.socket);
        serve_tls_done(&s.tls);
        state_dir_done(&s.dir);
        free(s.settings);
        free(s.pin);
        return r;
}

static int serve_main(const struct cli_command *self, int argc, char **argv)
{
        struct serve_options wanted = {.listen = "127.0.0.1:7070"};
        struct cella_err err = {0};
        int r = cli_parse(self, argc, argv, &wanted, NULL, &err);
        if (r == CLI_HELP)
                return 0;
        if (r >= 0 && r < argc)
                r = err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "cella serve takes no '%.40s'", argv[r]);
        if (r >= 0)
                r = serve_run(&wanted, &err);
        return r >= 0 ? r : cli_fail(&err, err.kind == CELLA_INVALID_REQUEST ? EXIT_USAGE : EXIT_CELLA);
}

const struct cli_command cli_serve = {
        .name = "serve",
        .usage = "[OPTIONS]",
        .text = "The daemon stays in the foreground and logs to stderr, one JSON object per line.  SIGTERM\n"
                "or SIGINT stops it and every sandbox; SIGHUP makes it read its settings again.  If root\n"
                "starts it, only the process that creates sandboxes keeps root's rights.",
        .examples = "  cella serve\n"
                    "  cella serve --listen 0.0.0.0:7070 --tls-cert cert.pem --tls-key key.pem\n"
                    "  cella serve --check-config --settings cella.json\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = serve_main,
};
