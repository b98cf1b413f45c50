/* cli/admin/mcp.c -- `cella mcp`: an MCP server on standard input and output, with its own engine.
 *
 *   client <--stdin, stdout--> this process <--socket--> server
 *                                   | fork                 | child
 *                                   +------> keeper -------+
 *
 * The engine is a daemon like that of `cella serve`, with its own state directory, which is removed at the
 * end, and without an address: only the socket leads to it.  This process copies bytes.  Its standard streams
 * may be of any kind (a file, a shared terminal), but the server only accepts descriptors that never block.
 *
 * Invariants: when the client closes our input, all its requests are answered, and then every process ends;
 * when this process is killed, the keeper ends all processes and removes the directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/admin/serve.h"
#include "cli/cli.h"
#include "image/store/store.h"
#include "sys/file.h"

#define PREFIX "cella-mcp-"
#define STALE_S 60    /* a directory without a lock may be under construction */
#define STOP_MS 40000 /* longer than the keeper's own timeout */
#define PIECE 4096    /* bytes that a pipe with free space accepts without blocking */

struct mcp_options {
        const char *state, *settings, *workspace, *session;
        struct cli_list allow;
        bool verbose;
};

#define INTO(kind, member) CLI_INTO(kind, struct mcp_options, member)

static const struct cli_option options[] = {
        {"allow", "DOMAIN", "a domain that code may reach; may be repeated", INTO(CLI_LIST, allow)},
        {"session", "NAME", "all calls use the sandbox of this session", INTO(CLI_TEXT, session)},
        {"settings", "FILE", "the settings to start with", INTO(CLI_TEXT, settings)},
        {"state", "DIR", "the state directory (a temporary one)", INTO(CLI_TEXT, state)},
        {"verbose", NULL, "print the engine's log on stderr", INTO(CLI_FLAG, verbose)},
        {"workspace", "DIR[:ro|:rw]", "mount DIR at /workspace (read-only unless :rw)",
         INTO(CLI_TEXT, workspace)},
};

/* One direction. */
struct way {
        char data[65536];
        size_t start, end;
        bool ended; /* end of input */
};

struct mcp {
        struct mcp_options options;
        char directory[512], state[600]; /* directory "": the user's own state directory is used */
        char images[1024];               /* the state directory with the images to use; "": the same */
        char *workspace;                 /* the real path of --workspace; NULL: none */
        bool writable;
        char *patch; /* what the options say, as settings; NULL: nothing */
        int socket, signals;
        sigset_t mask; /* the previous signal mask */
        pid_t engine;  /* 0: it has ended, with this status: */
        int status;
        struct way in, out;
        bool end_reported; /* the engine was informed of the end of our input */
};

/* ---- directories ---- */

static int cli_mcp_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void)st;
        (void)type;
        (void)ftw;
        return remove(path);
}

static void remove_directory(const char *path)
{
        nftw(path, cli_mcp_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *base(void)
{
        const char *directory = getenv("TMPDIR");
        return directory && directory[0] == '/' && strlen(directory) < 400 ? directory : "/tmp";
}

/* Whether the directory belongs to a `cella mcp` that was killed together with its keeper. */
static bool is_stale(int at, const char *name)
{
        struct stat st;
        AUTO(sys_close) int dir = sys_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid())
                return false;
        AUTO(sys_close) int state = sys_openat(dir, "state", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        AUTO(sys_close)
        int lock = state < 0 ? state : sys_openat(state, "lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        return lock < 0 ? time(NULL) - st.st_mtime > STALE_S : sys_flock(lock, LOCK_EX | LOCK_NB) == 0;
}

static void cli_mcp_sweep(void)
{
        char path[1024];
        DIR *all = opendir(base());
        for (const struct dirent *entry; all && (entry = readdir(all));) {
                if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
                    !is_stale(dirfd(all), entry->d_name))
                        continue;
                snprintf(path, sizeof path, "%s/%s", base(), entry->d_name);
                remove_directory(path);
        }
        if (all)
                closedir(all);
}

/* Finds the user's images, which are kept when this process ends. */
static void find_images(struct mcp *m)
{
        char *slash;
        if (image_store_path(NULL, m->images, sizeof m->images, NULL) < 0 ||
            !(slash = strrchr(m->images, '/')))
                slash = m->images;
        *slash = '\0';
}

static int cli_mcp_make_directory(struct mcp *m, struct cella_err *err)
{
        if (m->options.state) {
                snprintf(m->state, sizeof m->state, "%s", m->options.state);
                return 0;
        }
        find_images(m);
        cli_mcp_sweep();
        snprintf(m->directory, sizeof m->directory, "%s/" PREFIX "XXXXXX", base());
        if (!mkdtemp(m->directory)) {
                m->directory[0] = '\0';
                return err_set(err, CELLA_INTERNAL, -errno, "cannot create a directory in %.100s", base());
        }
        chmod(m->directory, 0711); /* the server runs as another user if we are root */
        snprintf(m->state, sizeof m->state, "%s/state", m->directory);
        return 0;
}

/* ---- options that are settings ---- */

/* The workspace of an agent is a directory of its name in workspace_root.  So this one is the workspace of an
 * agent with the name of the directory. */
static const char *agent_name(const struct mcp *m)
{
        return m->workspace ? strrchr(m->workspace, '/') + 1 : NULL;
}

static int find_workspace(struct mcp *m, struct cella_err *err)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
        const char *given = m->options.workspace, *colon = given ? strrchr(given, ':') : NULL;
        if (!given)
                return 0;
        if (colon && strcmp(colon, ":ro") != 0 && strcmp(colon, ":rw") != 0)
                colon = NULL;
        m->writable = colon && colon[2] == 'w';
        char *path = strndup(given, colon ? (size_t)(colon - given) : strlen(given));
        m->workspace = path && path[0] ? realpath(path, NULL) : NULL;
        const int why = m->workspace ? 0 : path && path[0] ? -errno : -EINVAL;
        free(path);
        if (why < 0)
                return err_set(err, CELLA_INVALID_REQUEST, why, "--workspace %.150s", given);
        const char *name = agent_name(m);
        if (!name[0] || name[0] == '.' || strlen(name) > 63 || strspn(name, letters) != strlen(name)) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                        "--workspace: the name of the directory, '%.60s', must be of letters, digits, '.', "
                        "'_' "
                        "and '-'",
                        name);
                return err_hint(err, "at most 63, not with '.' in front");
        }
        return 0;
}

static void put_workspace(struct json *j, const struct mcp *m)
{
        const size_t len = (size_t)(agent_name(m) - m->workspace) - 1;
        json_put_string(j, "workspace", m->writable ? "rw" : "ro");
        json_put_bytes(j, "workspace_root", len > 0 ? m->workspace : "/", len > 0 ? len : 1);
}

static void put_network(struct json *j, const struct cli_list *allow)
{
        json_put_open(j, "network", '{');
        json_put_string(j, "tier", "standard");
        json_put_open(j, "allowed_domains", '[');
        for (size_t i = 0; i < allow->n; i++)
                json_put_string(j, NULL, allow->items[i]);
        json_put_close(j, ']');
        json_put_close(j, '}');
}

static int make_patch(struct mcp *m, struct cella_err *err)
{
        size_t len;
        int r = find_workspace(m, err);
        if (r == 0 && m->options.session && (!m->options.session[0] || strlen(m->options.session) > 128))
                r = err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--session must have 1 to 128 bytes");
        if (r < 0)
                return r;
        struct json j = {.out = open_memstream(&m->patch, &len)};
        if (!j.out)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "settings");
        json_put_open(&j, NULL, '{');
        if (m->options.session)
                json_put_string(&j, "scope", "session");
        if (m->workspace)
                put_workspace(&j, m);
        if (m->options.allow.n > 0)
                put_network(&j, &m->options.allow);
        json_put_close(&j, '}');
        fclose(j.out);
        return 0;
}

/* ---- the engine ---- */

/* Runs the engine in its own process group: a key that interrupts is meant for this process, which stops the
 * engine. */
static void become_engine(struct mcp *m, int socket, pid_t parent)
{
        struct cella_err err = {0};
        int null = open("/dev/null", O_RDWR | O_CLOEXEC),
            saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
                _exit(EXIT_CELLA);
        sigprocmask(SIG_SETMASK, &m->mask, NULL);
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        if (!m->options.verbose)
                dup2(null, STDERR_FILENO);
        const struct serve_options wanted = {.listen = "none",
                                             .workers = 1, /* for one client */
                                             .state = m->state,
                                             .images_state = m->images[0] ? m->images : NULL,
                                             .settings = m->options.settings,
                                             .patch = m->patch,
                                             .session = m->options.session,
                                             .agent = agent_name(m),
                                             .workspace = m->workspace,
                                             .stdio = true,
                                             .stdio_fd = socket};
        int r = serve_run(&wanted, &err);
        dup2(saved_stderr, STDERR_FILENO);
        if (r < 0)
                cli_fail(&err, EXIT_CELLA);
        if (m->directory[0] && getppid() != parent)
                remove_directory(m->directory);
        _exit(r < 0 ? EXIT_CELLA : r);
}

static int start_engine(struct mcp *m, struct cella_err *err)
{
        int pair[2];
        pid_t parent = getpid();
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        sigaddset(&set, SIGCHLD);
        sigprocmask(SIG_BLOCK, &set, &m->mask);
        m->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        if (m->signals < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot create a socket");
        m->engine = fork();
        if (m->engine == 0) {
                close(pair[0]);
                become_engine(m, pair[1], parent);
        }
        close(pair[1]);
        m->socket = pair[0];
        fcntl(m->socket, F_SETFL, O_NONBLOCK);
        return m->engine < 0 ? err_set(err, CELLA_INTERNAL, -errno, "cannot start the engine") : 0;
}

static bool engine_is_gone(struct mcp *m)
{
        if (m->engine > 0 && waitpid(m->engine, &m->status, WNOHANG) != 0)
                m->engine = 0;
        return m->engine == 0;
}

static void stop_engine(struct mcp *m)
{
        struct pollfd signalled = {m->signals, POLLIN, 0};
        struct signalfd_siginfo info;
        if (m->engine <= 0)
                return;
        kill(m->engine, SIGTERM);
        for (int64_t until = clock_us() + STOP_MS * INT64_C(1000);
             !engine_is_gone(m) && clock_us() < until;) {
                poll(&signalled, 1, 1000);
                if (read(m->signals, &info, sizeof info) == (ssize_t)sizeof info && info.ssi_signo != SIGCHLD)
                        break; /* second signal */
        }
        if (m->engine <= 0)
                return;
        kill(m->engine, SIGKILL);
        while (waitpid(m->engine, NULL, 0) < 0 && errno == EINTR)
                continue;
        m->engine = 0;
}

/* ---- moving bytes ---- */

/* Returns whether the other end is still open. */
static bool cli_mcp_fill(struct way *way, int fd)
{
        if (way->start == way->end)
                way->start = way->end = 0;
        ssize_t n = read(fd, way->data + way->end, sizeof way->data - way->end);
        if (n > 0)
                way->end += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
                way->ended = true;
        return !way->ended;
}

static bool cli_mcp_empty(struct way *way, int fd, size_t piece)
{
        size_t len = way->end - way->start;
        ssize_t n = write(fd, way->data + way->start, len < piece ? len : piece);
        if (n > 0)
                way->start += (size_t)n;
        return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static bool cli_mcp_has_room(const struct way *way)
{
        return !way->ended && (way->end < sizeof way->data || way->start == way->end);
}

static bool is_empty(const struct way *way)
{
        return way->start == way->end;
}

static short wants(bool in, bool out)
{
        return (short)((in ? POLLIN : 0) | (out ? POLLOUT : 0));
}

enum { IN, OUT, SOCKET, SIGNALS, FDS };

/* Copies available bytes in both directions. Returns false at the end of the connection. */
static bool cli_mcp_move(struct mcp *m, const struct pollfd *fds)
{
        if (fds[IN].revents)
                cli_mcp_fill(&m->in, STDIN_FILENO);
        if ((fds[SOCKET].revents & (POLLIN | POLLHUP | POLLERR)) && cli_mcp_has_room(&m->out))
                cli_mcp_fill(&m->out, m->socket);
        if (!is_empty(&m->in) && (fds[SOCKET].revents & POLLOUT) &&
            !cli_mcp_empty(&m->in, m->socket, sizeof m->in.data))
                return false;
        if (fds[OUT].revents & (POLLERR | POLLNVAL))
                return false; /* the reader is gone */
        if (!is_empty(&m->out) && (fds[OUT].revents & POLLOUT) &&
            !cli_mcp_empty(&m->out, STDOUT_FILENO, PIECE))
                return false;
        if (m->in.ended && is_empty(&m->in) && !m->end_reported) {
                shutdown(m->socket, SHUT_WR);
                m->end_reported = true;
        }
        return !(m->out.ended && is_empty(&m->out));
}

/* Copies until the client or the engine ends the connection. */
static int serve_client(struct mcp *m, struct cella_err *err)
{
        struct signalfd_siginfo info;
        for (;;) {
                struct pollfd fds[FDS] = {
                        [IN] = {cli_mcp_has_room(&m->in) ? STDIN_FILENO : -1, POLLIN, 0},
                        [OUT] = {STDOUT_FILENO, wants(false, !is_empty(&m->out)), 0},
                        [SOCKET] = {m->socket, wants(cli_mcp_has_room(&m->out), !is_empty(&m->in)), 0},
                        [SIGNALS] = {m->signals, POLLIN, 0},
                };
                if (poll(fds, FDS, -1) < 0 && errno != EINTR)
                        return err_set(err, CELLA_INTERNAL, -errno, "cannot wait");
                if (!cli_mcp_move(m, fds))
                        break;
                if (fds[SIGNALS].revents && read(m->signals, &info, sizeof info) == (ssize_t)sizeof info &&
                    (info.ssi_signo != SIGCHLD || engine_is_gone(m)))
                        break;
        }
        return 0;
}

/* Returns the exit status. The engine exits with 0 when it is stopped, and with EXIT_CELLA after it has
 * reported an error. */
static int cli_mcp_judge(const struct mcp *m, struct cella_err *err)
{
        if (WIFEXITED(m->status) && (WEXITSTATUS(m->status) == 0 || WEXITSTATUS(m->status) == EXIT_CELLA))
                return WEXITSTATUS(m->status);
        err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPIPE, "the engine has failed");
        return err_hint(err, "cella mcp --verbose shows its log");
}

static int mcp_main(const struct cli_command *self, int argc, char **argv)
{
        static struct mcp m = {.socket = -1, .signals = -1};
        struct cella_err err = {0};
        int r = cli_parse(self, argc, argv, &m.options, NULL, &err);
        if (r == CLI_HELP)
                return 0;
        if (r >= 0 && r < argc)
                r = err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "cella mcp takes no '%.40s'", argv[r]);
        if (r >= 0 && (r = make_patch(&m, &err)) >= 0 && (r = cli_mcp_make_directory(&m, &err)) >= 0 &&
            (r = start_engine(&m, &err)) >= 0)
                r = serve_client(&m, &err);
        stop_engine(&m);
        if (m.directory[0])
                remove_directory(m.directory);
        return cli_finish(r < 0 ? r : cli_mcp_judge(&m, &err), &err, false);
}

const struct cli_command cli_mcp = {
        .name = "mcp",
        .usage = "[OPTIONS]",
        .text = "It needs no daemon: it has its own engine, which ends with it and leaves nothing behind.\n"
                "A running daemon serves the same at /mcp.",
        .examples = "  cella mcp --workspace .:rw\n"
                    "  cella mcp --allow pypi.org --session work\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = mcp_main,
};
