/* cli/image/bootstrap.c -- `cella image bootstrap`: creates a Debian image with mmdebstrap.
 *
 *   mmdebstrap ── tar ──► this process ── tar ──► cella-image
 *
 * This process forwards the tar because its end does not show whether it is complete: cella-image sees the
 * end of its pipe only if mmdebstrap has succeeded, and gets a request to cancel otherwise. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/image/debian.h"
#include "cli/image/image.h"
#include "cli/text.h"
#include "sys/file.h"

#define ROUND_MS 100
#define PIECE (1 << 20)
#define PIECES_AT_ONCE 16
#define TERM_US 60000000 /* time for mmdebstrap to clean up */

/* Configuration of an image, which a root directory does not contain. */
#define CONFIG                                                                                               \
        "{\"Env\":[\"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\",\"LANG=C.UTF-8\"]," \
        "\"Cmd\":[\"bash\"],\"WorkingDir\":\"/\"}"

struct bootstrap {
        struct image_link link;
        struct progress progress;
        struct debian debian;
        pid_t pid; /* of mmdebstrap; 0: it was reaped */
        int status;
        int out, err;    /* its output; -1: closed */
        int feed;        /* to cella-image; -1: closed */
        bool full;       /* cella-image cannot accept more at the moment */
        int64_t kill_us; /* time of SIGKILL after SIGTERM; 0: not stopped */
        char line[1024];
        size_t len;
};

/* Creates the pipes. theirs: the ends for the other processes. On failure, the descriptors that were created
 * are set and are closed by the caller. */
static int open_pipes(struct bootstrap *b, int theirs[3])
{
        int out[2] = {-1, -1}, err[2] = {-1, -1}, feed[2] = {-1, -1};
        int r = sys_pipe2(out, 0);
        if (r >= 0)
                r = sys_pipe2(err, 0);
        if (r >= 0)
                r = sys_pipe2(feed, 0);
        b->out = out[0], b->err = err[0], b->feed = feed[1];
        theirs[0] = out[1], theirs[1] = err[1], theirs[2] = feed[0];
        const int ours[] = {b->out, b->err, b->feed};
        for (size_t i = 0; i < ARRAY_LEN(ours) && r >= 0; i++)
                r = sys_set_nonblock(ours[i]);
        return r;
}

_Noreturn static void bootstrap_become(const struct debian *d, int out, int err)
{
        sigset_t none;
        int null = open("/dev/null", O_RDONLY);
        setpgid(0, 0); /* Ctrl-C is meant for this process, which stops mmdebstrap */
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
                _exit(127);
        execve(d->program, d->argv, d->env);
        dprintf(2, "E: cannot run %s: %s\n", d->program, strerror(errno));
        _exit(127);
}

static int bootstrap_start(struct bootstrap *b, const char *store, const char *name, struct cella_err *err)
{
        const struct imager_import what = {.name = name, .source = "bootstrap", .config = CONFIG};
        int theirs[3] = {-1, -1, -1}, r = open_pipes(b, theirs);
        char *line = NULL;
        size_t len = 0;
        if (r < 0)
                err_set(err, CELLA_INTERNAL, r, "cannot make a pipe");
        else if ((r = image_link_open(store, &b->link, err)) == 0) {
                r = imager_write_import(image_link_next(&b->link), &what, &line, &len);
                r = image_link_begin(&b->link, r, line, len, theirs[2], err);
        }
        if (r == 0) {
                b->pid = fork();
                if (b->pid == 0)
                        bootstrap_become(&b->debian, theirs[0], theirs[1]);
                if (b->pid < 0)
                        r = err_set(err, CELLA_INTERNAL, -errno, "cannot start mmdebstrap");
        }
        for (int i = 0; i < 3; i++)
                sys_close(theirs[i]);
        return r < 0 ? r : 0;
}

/* ---- its output ---- */

static void bootstrap_take_line(struct bootstrap *b)
{
        char text[96], safe[sizeof b->line];
        int step;
        b->line[b->len] = '\0';
        b->len = 0;
        text_safe(safe, sizeof safe, b->line);
        if ((step = debian_receive(&b->debian, safe)) > 0) {
                snprintf(text, sizeof text, "step %d of %d: %.60s", step, debian_steps(), debian_step(step));
                progress_step(&b->progress, text);
        }
}

static void bootstrap_receive(struct bootstrap *b)
{
        char data[4096];
        ssize_t n;
        while ((n = read(b->err, data, sizeof data)) > 0)
                for (ssize_t i = 0; i < n; i++)
                        if (data[i] == '\n' || data[i] == '\r' || b->len == sizeof b->line - 1)
                                bootstrap_take_line(b);
                        else
                                b->line[b->len++] = data[i];
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
                bootstrap_take_line(b);
                sys_close(TAKE_FD(b->err));
        }
}

static void bootstrap_move(struct bootstrap *b)
{
        for (int i = 0; i < PIECES_AT_ONCE; i++) {
                ssize_t n = splice(b->out, NULL, b->feed, NULL, PIECE, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
                if (n > 0)
                        continue;
                if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
                        struct pollfd room = {b->feed, POLLOUT, 0};
                        b->full = poll(&room, 1, 0) == 0;
                        return;
                }
                /* The end of the output; or cella-image does not accept more and reports why. */
                sys_close(TAKE_FD(b->out));
                return;
        }
}

/* ---- the end ---- */

static void reap(struct bootstrap *b)
{
        pid_t r = b->pid > 0 ? waitpid(b->pid, &b->status, WNOHANG) : 0;
        if (r == b->pid || (r < 0 && errno != EINTR))
                b->pid = 0;
}

static void bootstrap_stop(struct bootstrap *b)
{
        if (b->pid <= 0 || b->kill_us)
                return;
        kill(-b->pid, SIGTERM);
        b->kill_us = clock_us() + TERM_US;
}

static int one_round(struct bootstrap *b, struct cella_err *err)
{
        struct pollfd fds[] = {{b->full ? b->feed : b->out, b->full ? POLLOUT : POLLIN, 0},
                               {b->err, POLLIN, 0}};
        int r = image_link_round(&b->link, fds, ARRAY_LEN(fds), ROUND_MS, err);
        if (fds[0].revents && b->out >= 0) {
                b->full = false;
                bootstrap_move(b);
        }
        if (fds[1].revents && b->err >= 0)
                bootstrap_receive(b);
        reap(b);
        progress_event(&b->progress, NULL);
        return r;
}

static void kill_it(struct bootstrap *b)
{
        kill(-b->pid, SIGKILL);
        if (cli_stderr_ready())
                fprintf(stderr, "cella: mmdebstrap was killed; its remaining files are /tmp/mmdebstrap.*\n");
        while (waitpid(b->pid, &b->status, 0) < 0 && errno == EINTR)
                continue;
        b->pid = 0;
}

/* Waits for mmdebstrap, which has to remove its mounts and its directory.  A second signal ends the wait. */
static void wait_for_it(struct bootstrap *b)
{
        struct signalfd_siginfo info;
        bootstrap_stop(b);
        while (b->pid > 0) {
                struct pollfd fds[] = {{b->err, POLLIN, 0}, {b->link.signals, POLLIN, 0}};
                poll(fds, ARRAY_LEN(fds), ROUND_MS);
                if (b->err >= 0)
                        bootstrap_receive(b);
                reap(b);
                bool again = fds[1].revents && read(b->link.signals, &info, sizeof info) > 0;
                if (b->pid > 0 && (again || clock_us() > b->kill_us))
                        kill_it(b);
        }
}

static bool ended_well(const struct bootstrap *b)
{
        return b->pid == 0 && WIFEXITED(b->status) && WEXITSTATUS(b->status) == 0;
}

static int bootstrap_make(struct bootstrap *b, struct cella_err *err)
{
        int r = 0;
        bool judged = false;
        while (r == 0 && !b->link.ended) {
                r = one_round(b, err);
                if (b->link.interrupted)
                        bootstrap_stop(b);
                if (b->pid != 0 || b->out >= 0 || judged)
                        continue;
                judged = true;
                if (ended_well(b))
                        sys_close(TAKE_FD(b->feed));
                else
                        image_link_cancel(&b->link);
        }
        wait_for_it(b);
        if (b->err >= 0)
                bootstrap_receive(b);
        if (r == 0 && judged && !ended_well(b))
                return debian_explain(&b->debian, b->status, err);
        return r < 0 ? r : image_link_verdict(&b->link, err);
}

/* Combines the recipe with the other options. */
static int bootstrap_choose(const struct image_options *o, struct recipe *ret, struct cella_err *err)
{
        const struct recipe *recipe = recipe_find(o->recipe ? o->recipe : RECIPE_STANDARD);
        if (!recipe) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--recipe: there is no '%.40s'", o->recipe);
                return err_hint(err, RECIPE_NAMES "; other versions: cella image pull");
        }
        if (o->recipe && (o->debian || o->packages))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--recipe cannot be combined with %s",
                               o->debian ? "--debian" : "--packages");
        *ret = *recipe;
        if (o->debian)
                ret->suite = o->debian;
        if (o->packages)
                ret->packages = o->packages;
        if (o->mirror)
                ret->mirror = o->mirror;
        return 0;
}

static int bootstrap(struct bootstrap *b, const struct image_options *o, const char *name,
                     struct cella_err *err)
{
        char store[IMAGE_STORE_SIZE];
        struct recipe recipe;
        int r = image_check_name(name, err);
        if (r < 0 || (r = bootstrap_choose(o, &recipe, err)) < 0 ||
            (r = debian_init(&b->debian, &recipe, err)) < 0 ||
            (r = image_link_store(o->state, store, err)) < 0)
                return r;
        if ((r = bootstrap_start(b, store, name, err)) == 0)
                r = bootstrap_make(b, err);
        progress_done(&b->progress, r == 0);
        return r < 0 ? r : image_print_made(&b->link, store, o->json, err);
}

static int bootstrap_main(const struct cli_command *self, int argc, char **argv)
{
        static struct bootstrap b;
        struct image_options o = {0};
        struct cella_err err = {0};
        int r = cli_parse_all(self, argc, argv, &o, NULL, &err);
        b.link = IMAGE_LINK_NONE;
        b.out = b.err = b.feed = -1;
        progress_init(&b.progress);
        b.link.on_progress = progress_event;
        b.link.context = &b.progress;
        if (r >= 0 && (r = image_need_words(self, r, 1, 1, &err)) == 0)
                r = bootstrap(&b, &o, argv[1], &err);
        progress_done(&b.progress, r == 0);
        int status = image_finish(r, &b.link, &err, o.json);
        image_link_close(&b.link);
        debian_done(&b.debian);
        sys_close(b.out);
        sys_close(b.err);
        sys_close(b.feed);
        return status;
}

static const struct cli_option options[] = {
        {"recipe", "NAME", RECIPE_NAMES " (" RECIPE_STANDARD ")",
         CLI_INTO(CLI_TEXT, struct image_options, recipe)},
        {"debian", "SUITE", "bookworm, trixie, ... (bookworm)",
         CLI_INTO(CLI_TEXT, struct image_options, debian)},
        {"packages", "A,B,C", "packages in addition to a minimal system, instead of a recipe",
         CLI_INTO(CLI_TEXT, struct image_options, packages)},
        {"mirror", "URL", "where packages come from (" DEBIAN_MIRROR ")",
         CLI_INTO(CLI_TEXT, struct image_options, mirror)},
        IMAGE_STATE_OPTION,
        IMAGE_JSON_OPTION,
        CLI_QUIET_OPTION,
};

const struct cli_command image_bootstrap = {
        .name = "image bootstrap",
        .usage = "NAME [OPTIONS]",
        .summary = "create a Debian image with mmdebstrap",
        .text = "The recipe data is an image for data analysis: Python with pandas, numpy, matplotlib and "
                "requests.\n"
                "It needs root, or a user with subordinate uids.  Prints the id of the image.",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = bootstrap_main};
