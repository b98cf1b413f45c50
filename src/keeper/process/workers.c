#include "keeper/process/workers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "keeper/process/log.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

void keeper_workers_init(struct keeper *k)
{
        for (unsigned i = 0; i < KEEPER_WORKERS_MAX; i++) {
                k->workers[i].pidfd = -1;
                restart_init(&k->workers[i].restart);
        }
}

/* Closes all descriptors of the keeper but the standard ones and this.  The locks on its control groups
 * belong to open files, so a copy in another process would keep them after its death. */
static int close_others(int kept)
{
        int r = kept > 3 ? sys_close_range(3, (unsigned)kept - 1, 0) : 0;
        return r < 0 ? r : sys_close_range((unsigned)kept + 1, ~0u, 0);
}

_Noreturn static void become_worker(const struct keeper *k, pid_t keeper, int socket)
{
        struct keeper_setup setup = *k->setup;
        setup.socket = socket;
        setup.volumes = setup.policy.workspaces = -1; /* see is_for_keeper() */
        setup.workers = 0;
        setup.is_worker = true;
        setup.server = 0;
        setup.server_pidfd = -1;
        setpgid(0, 0); /* Ctrl-C goes to the keeper only, which then stops the server */
        int r = close_others(socket);
        cgroup_forked();
        if (r == 0)
                r = sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0);
        /* The keeper may have died before the last call. */
        sys_exit(r < 0 || getppid() != keeper ? 1 : k->run(&setup));
}

static int fork_worker(struct keeper *k, unsigned index, int *ret_socket, struct cella_err *err)
{
        struct keeper_worker *w = &k->workers[index];
        const pid_t keeper = getpid();
        int pair[2];
        int r = (int)sys_call4(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "worker %u: cannot make a socket", index + 1);
        const pid_t pid = fork(); /* not sys_fork(): libc must know the new process's number */
        if (pid == 0) {
                sys_close(pair[0]);
                become_worker(k, keeper, pair[1]);
        }
        r = pid < 0 ? -errno : 0;
        sys_close(pair[1]);
        if (r == 0) {
                w->pid = pid;
                w->pidfd = r = (int)sys_call2(SYS_pidfd_open, pid, 0);
        }
        if (r >= 0)
                r = keeper_watch(k, w->pidfd, ON_WORKER_DEATH + index);
        if (r < 0) {
                sys_close(pair[0]);
                return err_set(err, CELLA_INTERNAL, r, "worker %u: cannot start a process", index + 1);
        }
        *ret_socket = pair[0];
        return 0;
}

/* Kills and reaps it. */
static void end_worker(struct keeper_worker *w)
{
        if (w->pid > 0) {
                sys_kill(w->pid, SIGKILL);
                sys_wait(w->pid, NULL, __WALL, NULL);
        }
        sys_close(TAKE_FD(w->pidfd));
        w->pid = 0;
}

static void start_worker(struct keeper *k, unsigned index)
{
        struct keeper_worker *w = &k->workers[index];
        const struct keeper_about about = {.type = KEEPER_WORKER, .sandbox = index};
        struct cella_err err = {0};
        int socket = -1;
        if (fork_worker(k, index, &socket, &err) < 0) {
                log_error(NULL, "%s", err.msg);
                end_worker(w);
                restart_later(&w->restart, clock_us());
                return;
        }
        restart_begun(&w->restart, clock_us());
        keeper_reply(k, &about, sizeof about, socket);
}

void keeper_workers_start(struct keeper *k, int64_t now)
{
        for (unsigned i = 0; i < k->setup->workers && !k->stop_by && !k->server_gone; i++)
                if (k->workers[i].pid == 0 && now >= k->workers[i].restart.start_at)
                        start_worker(k, i);
}

int64_t keeper_workers_due(const struct keeper *k)
{
        int64_t due = INT64_MAX;
        for (unsigned i = 0; i < k->setup->workers && !k->stop_by; i++)
                if (k->workers[i].pid == 0 && k->workers[i].restart.start_at < due)
                        due = k->workers[i].restart.start_at;
        return due;
}

void keeper_worker_died(struct keeper *k, unsigned index)
{
        struct keeper_worker *w = &k->workers[index];
        int status = 0;
        if (sys_wait(w->pid, &status, __WALL | WNOHANG, NULL) == 0)
                return;
        w->pid = 0;
        keeper_unwatch(k, w->pidfd);
        end_worker(w);
        restart_later(&w->restart, clock_us());
        if (k->stop_by || k->server_gone) /* the server has closed its socket */
                return;
        if (WIFEXITED(status) && WEXITSTATUS(status) == WORKER_BROKEN)
                keeper_lost(k, "the server broke the protocol of a worker: everything is killed");
        else if (WIFSIGNALED(status))
                log_error(NULL, "worker %u was killed by signal %d; it is replaced", index + 1,
                          WTERMSIG(status));
        else
                log_error(NULL, "worker %u ended with status %d; it is replaced", index + 1,
                          WEXITSTATUS(status));
}

void keeper_workers_end(struct keeper *k, int64_t until)
{
        for (unsigned i = 0; i < k->setup->workers; i++) {
                struct keeper_worker *w = &k->workers[i];
                struct pollfd fd = {w->pidfd, POLLIN, 0};
                const int64_t left = until - clock_us();
                if (w->pid > 0 && left > 0)
                        sys_poll(&fd, 1, left);
                end_worker(w);
        }
}
