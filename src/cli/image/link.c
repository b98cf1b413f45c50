#include "cli/image/link.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/program.h"
#include "cli/text.h"
#include "image/store/store.h"
#include "keeper/process/state_dir.h"
#include "keeper/spawn/imager_process.h"
#include "sys/file.h"
#include "sys/process.h"

#define ROUND_MS 100 /* interval between updates of the progress */
#define MORE_MAX 8

static void end_signals(sigset_t *ret)
{
        static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
        struct sigaction old;
        sigemptyset(ret);
        for (size_t i = 0; i < ARRAY_LEN(all); i++)
                if (sigaction(all[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
                        sigaddset(ret, all[i]);
}

int image_link_store(const char *state, char ret[IMAGE_STORE_SIZE], struct cella_err *err)
{
        if (state && state[0] != '/')
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--state takes an absolute path, not '%.120s'", state);
        return image_store_path(state, ret, IMAGE_STORE_SIZE, err);
}

/* If root starts it, it runs as the user of the server. */
static int image_link_start(const char *store, struct image_link *l, struct cella_err *err)
{
        struct server_user user;
        char program[PROGRAM_SIZE], state[IMAGE_STORE_SIZE];
        int r = server_user_find(NULL, &user, err);
        if (r < 0 || (r = program_find("cella-image", program, err)) < 0)
                return r;
        snprintf(state, sizeof state, "%s", store);
        char *slash = strrchr(state, '/');
        if (slash && slash > state)
                *slash = '\0';
        AUTO(sys_close) int directory = state_dir_images(state, user.uid, user.gid, err);
        if (directory < 0)
                return directory;
        const struct imager_setup setup = {.program = program,
                                           .store = directory,
                                           .change_user = user.change,
                                           .uid = user.uid,
                                           .gid = user.gid};
        r = imager_process_start(&setup, &l->child, &l->socket, err);
        return r < 0 ? r : child_confirm(&l->child, "cella-image", err);
}

int image_link_open(const char *store, struct image_link *ret, struct cella_err *err)
{
        struct image_link l = IMAGE_LINK_NONE;
        sigset_t set;
        end_signals(&set);
        sigprocmask(SIG_BLOCK, &set, NULL);
        l.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        l.reader = calloc(1, sizeof *l.reader);
        int r = l.signals < 0 || !l.reader ? err_set(err, CELLA_INTERNAL, -ENOMEM, "images")
                                           : image_link_start(store, &l, err);
        if (r < 0) {
                image_link_close(&l);
                return r;
        }
        l.on_progress = ret->on_progress;
        l.context = ret->context;
        *ret = l;
        return 0;
}

void image_link_close(struct image_link *l)
{
        sigset_t set;
        sys_close(TAKE_FD(l->socket));
        child_end(&l->child);
        sys_close(TAKE_FD(l->signals));
        free(l->reader);
        l->reader = NULL;
        end_signals(&set);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int image_link_gone(struct image_link *l, struct cella_err *err)
{
        int status = 0;
        child_kill(&l->child);
        if (sys_wait(l->child.pid, &status, __WALL, NULL) == l->child.pid)
                l->child.pid = 0;
        if (WIFEXITED(status))
                err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPIPE,
                        "cella-image has ended during the job, with status %d", WEXITSTATUS(status));
        else
                err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPIPE, "cella-image was killed by signal %d",
                        WTERMSIG(status));
        return err_hint(err, "nothing was changed");
}

int image_link_begin(struct image_link *l, int r, char *line, size_t len, int fd, struct cella_err *err)
{
        l->ended = false;
        if (r < 0)
                return err_set(err, r == -E2BIG ? CELLA_INVALID_REQUEST : CELLA_INTERNAL, r, "images");
        r = imager_send(l->socket, line, len, fd);
        explicit_bzero(line, len);
        free(line);
        return r < 0 ? image_link_gone(l, err) : 0;
}

void image_link_cancel(struct image_link *l)
{
        char *line = NULL;
        size_t len;
        if (imager_write_cancel(l->id + 1000000, l->id, &line, &len) == 0)
                imager_send(l->socket, line, len, -1);
        free(line);
}

/* The first signal asks it to stop, the second ends the wait. */
static void receive_signal(struct image_link *l)
{
        struct signalfd_siginfo info;
        while (read(l->signals, &info, sizeof info) == (ssize_t)sizeof info) {
                if (l->interrupted)
                        child_kill(&l->child);
                else
                        image_link_cancel(l);
                l->interrupted = (int)info.ssi_signo;
        }
}

static int image_link_receive(struct image_link *l, struct cella_err *err)
{
        struct imager_event e;
        char *line;
        size_t len;
        int r;
        while ((r = imager_read(l->reader, l->socket, &line, &len)) > 0) {
                if ((r = imager_event_parse(line, len, &e)) < 0)
                        break;
                if (e.id != l->id || l->ended)
                        continue;
                if (e.type == IMAGER_PROGRESS && l->on_progress) {
                        l->on_progress(l->context, &e);
                } else if (e.type != IMAGER_PROGRESS) {
                        l->end = e;
                        l->ended = true;
                        return 0;
                }
        }
        if (r != -EPROTO)
                return r == -EAGAIN ? 0 : image_link_gone(l, err);
        child_kill(&l->child);
        return err_say(err, CELLA_ENGINE_UNAVAILABLE, r, "cella-image sent an invalid message and was ended");
}

int image_link_round(struct image_link *l, struct pollfd *more, unsigned n_more, int timeout_ms,
                     struct cella_err *err)
{
        struct pollfd fds[2 + MORE_MAX] = {{l->socket, POLLIN, 0}, {l->signals, POLLIN, 0}};
        for (unsigned i = 0; i < n_more && i < MORE_MAX; i++)
                fds[2 + i] = more[i];
        if (poll(fds, 2 + n_more, timeout_ms) < 0)
                return errno == EINTR ? 0 : err_set(err, CELLA_INTERNAL, -errno, "cannot wait");
        for (unsigned i = 0; i < n_more && i < MORE_MAX; i++)
                more[i].revents = fds[2 + i].revents;
        if (fds[1].revents)
                receive_signal(l);
        return fds[0].revents ? image_link_receive(l, err) : 0;
}

int image_link_verdict(const struct image_link *l, struct cella_err *err)
{
        if (l->end.type != IMAGER_FAILED)
                return 0;
        *err = l->end.err;
        text_safe(err->msg, sizeof err->msg, l->end.err.msg);
        text_safe(err->hint, sizeof err->hint, l->end.err.hint);
        return err->num < 0 ? err->num : -EIO;
}

int image_link_finish(struct image_link *l, struct cella_err *err)
{
        while (!l->ended) {
                int r = image_link_round(l, NULL, 0, ROUND_MS, err);
                if (r < 0)
                        return r;
                if (l->on_progress && !l->ended)
                        l->on_progress(l->context, NULL);
        }
        return image_link_verdict(l, err);
}
