/* keeper/process/process.c -- the keeper's loop.
 *
 * Most events come from descriptors: packets of the server, its death, the death of each init (its pidfd
 * becomes readable when init and everything in the sandbox are dead), signals.  A tick checks the rest:
 * groups that are being frozen, groups that cannot be removed yet, deaths that do not come, helper processes
 * that are started again.
 *
 * Objects that are made ahead:
 * - one empty group with a CPU limit.  The first such group of a host makes the kernel patch its code on all
 *   CPUs, and so does the removal of the last one.  This takes 1 ms, which no sandbox has to wait for;
 * - network namespaces and control groups, in idle moments; spare.h says which objects are reused.
 *
 * Groups of ended sandboxes are removed in idle moments, too (keeper_remove_groups()). */
#include "keeper/process/process.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "jail/cgroup_home.h"
#include "keeper/process/dispatch.h"
#include "keeper/process/docker.h"
#include "keeper/process/egress.h"
#include "keeper/process/imager.h"
#include "keeper/process/log.h"
#include "keeper/process/workers.h"
#include "keeper/spawn/assemble.h"
#include "keeper/spawn/child.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

#define STOP_PATIENCE_US 30000000
#define DEATH_PATIENCE_US 10000000
#define SLOW_TICK_US 1000000
#define IDLE_MS 3 /* time without a request before namespaces are made ahead */
#define PACKETS_AT_ONCE 16
#define EVENTS_AT_ONCE 64

static void sandbox_event(struct keeper *k, uint32_t handle)
{
        struct sandbox_entry *entry = sandbox_table_find(&k->table, handle);
        if (!entry || !sandbox_try_reap(entry->sandbox))
                return;
        keeper_unwatch(k, entry->sandbox->pidfd);
        handle_death(k, entry);
}

void handle_ready(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        (void)k, (void)entry, (void)packet;
        log_info(NULL, "ready");
        notify("READY=1");
}

void handle_ping(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        const struct keeper_about done = {.type = KEEPER_DONE, .number = packet->number};
        (void)entry;
        keeper_reply(k, &done, sizeof done, -1);
}

/* A worker makes and ends sandboxes.  Volumes are made and removed by the keeper alone: two processes would
 * use the same temporary names. */
static bool is_for_keeper(const struct dispatch_rule *rule, const union dispatch_packet *packet)
{
        return rule->states == 0 &&
               (rule->type != KEEPER_MAKE || packet->make.workspace == KEEPER_PERSISTENT);
}

static void take_packet(struct keeper *k, const union dispatch_packet *packet, size_t len)
{
        const struct dispatch_rule *rule = NULL;
        struct sandbox_entry *entry = NULL;
        const char *wrong = dispatch_check(packet, len, &rule);
        if (!wrong && rule->states) {
                entry = sandbox_table_find(&k->table, packet->about.sandbox);
                if (!entry || !(entry->state & rule->states))
                        wrong = "a sandbox that is not there";
        } else if (!wrong && k->setup->is_worker && is_for_keeper(rule, packet)) {
                wrong = "a request that only the keeper serves";
        }
        if (wrong) {
                log_error(NULL, "the server sent %s%s%s", wrong, rule ? " to " : "", rule ? rule->name : "");
                k->broken = true;
                keeper_lost(k, "the server broke the protocol: everything is killed");
                return;
        }
        rule->handle(k, entry, packet);
}

static void server_closed(struct keeper *k)
{
        keeper_unwatch(k, k->setup->socket);
        if (k->setup->is_worker)
                k->over = true;
        else if (k->stop_by == 0) /* otherwise its death follows */
                keeper_lost(k, "the server has closed its socket");
}

static void hear_server(struct keeper *k)
{
        static union dispatch_packet packet; /* a larger packet fits no rule */
        for (int i = 0; i < PACKETS_AT_ONCE && !k->over && !outbox_waits(&k->outbox); i++) {
                struct iovec part = {&packet, sizeof packet};
                struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1}; /* no room for descriptors */
                long n = sys_call3(SYS_recvmsg, k->setup->socket, &msg, MSG_DONTWAIT);
                if (n == -EAGAIN || n == -EINTR)
                        return;
                if (n <= 0) {
                        server_closed(k);
                        return;
                }
                if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
                        k->broken = true;
                        keeper_lost(k, "the server sent a packet that is too large");
                } else {
                        take_packet(k, &packet, (size_t)n);
                }
        }
}

static void server_event(struct keeper *k)
{
        if (!outbox_waits(&k->outbox)) {
                hear_server(k);
                return;
        }
        if (outbox_flush(&k->outbox) < 0)
                server_closed(k);
        else if (!outbox_waits(&k->outbox))
                keeper_watch_server_for(k, EPOLLIN);
}

static void server_died(struct keeper *k)
{
        int status = 0;
        if (sys_wait(k->setup->server, &status, __WALL | WNOHANG, NULL) == 0)
                return;
        k->server_gone = true;
        keeper_unwatch(k, k->setup->server_pidfd);
        if (k->stop_by != 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
                k->over = true;
                return;
        }
        if (!k->over && WIFSIGNALED(status))
                log_error(NULL, "the server was killed by signal %d", WTERMSIG(status));
        else if (!k->over)
                log_error(NULL, "the server ended with status %d", WEXITSTATUS(status));
        k->over = k->failed = true;
}

static void kill_server(struct keeper *k)
{
        if (!k->server_gone)
                sys_end_child(k->setup->server, k->setup->server_pidfd);
}

static void tell_server(struct keeper *k, enum keeper_reply what)
{
        const struct keeper_about about = {.type = what};
        keeper_reply(k, &about, sizeof about, -1);
}

static void signalled(struct keeper *k)
{
        struct signalfd_siginfo info;
        if (sys_read(k->signals, &info, sizeof info) != (ssize_t)sizeof info)
                return;
        if (k->setup->is_worker) {
                k->over = info.ssi_signo != SIGHUP;
        } else if (info.ssi_signo == SIGHUP) {
                log_info(NULL, "reload");
                if (k->setup->before_reload)
                        k->setup->before_reload(k->setup->reload_context);
                tell_server(k, KEEPER_RELOAD);
        } else if (k->stop_by == 0) {
                log_info(NULL, "stopping");
                notify("STOPPING=1");
                k->stop_by = clock_us() + STOP_PATIENCE_US;
                tell_server(k, KEEPER_STOP);
        } else {
                keeper_lost(k, "second request to stop: everything is killed");
        }
}

/* Checks the things that no descriptor reports. */
static void tick(struct keeper *k, int64_t now)
{
        spare_tidy(&k->spare, now);
        if (k->freezing > 0 || k->ending > 0)
                for (unsigned i = 0; i < KEEPER_SANDBOXES_MAX; i++)
                        handle_look(k, &k->table.all[i], now);
        if (k->egress.restart.start_at != 0 && now >= k->egress.restart.start_at && k->stop_by == 0)
                keeper_egress_start(k);
        keeper_workers_start(k, now);
        if (k->stop_by != 0 && now >= k->stop_by)
                keeper_lost(k, "the server did not stop in time: everything is killed");
}

static bool has_idle_work(const struct keeper *k)
{
        return k->n_remains > 0 || spare_wants(&k->spare);
}

/* Does one step of the work for which no request waits.  Returns whether it could do anything. */
static bool work_idly(struct keeper *k)
{
        if (k->n_remains > 0 && keeper_remove_groups(k, clock_us()) > 0)
                return true;
        if (!spare_wants(&k->spare))
                return false;
        spare_make(&k->spare);
        return true;
}

/* Returns how long to wait, in ms, and sets the time of the next tick. */
static int patience(struct keeper *k, bool working)
{
        int64_t wait = k->freezing > 0 ? KEEPER_TICK_US : k->ending > 0 || k->stop_by > 0 ? SLOW_TICK_US : -1;
        int64_t due = spare_due(&k->spare);
        const int64_t egress_due = k->egress.restart.start_at, worker_due = keeper_workers_due(k);
        if (egress_due != 0 && k->stop_by == 0 && egress_due < due)
                due = egress_due;
        if (worker_due < due)
                due = worker_due;
        const int64_t now = wait < 0 && due == INT64_MAX ? 0 : clock_us();
        if (due != INT64_MAX) {
                int64_t left = due > now ? due - now : 0;
                wait = wait < 0 || left < wait ? left : wait;
        }
        if (wait < 0)
                k->tick_at = INT64_MAX;
        else if (k->tick_at == INT64_MAX || k->tick_at > now + wait)
                k->tick_at = now + wait;
        int ms = wait < 0 ? -1 : k->tick_at <= now ? 0 : (int)((k->tick_at - now + 999) / 1000);
        int rest = working ? 0 : IDLE_MS;
        if (has_idle_work(k) && (ms < 0 || ms > rest))
                ms = rest;
        return ms;
}

static void loop(struct keeper *k)
{
        struct epoll_event events[EVENTS_AT_ONCE];
        bool working = false;
        k->tick_at = INT64_MAX;
        while (!k->over) {
                int n = epoll_wait(k->epoll, events, EVENTS_AT_ONCE, patience(k, working));
                working = false;
                for (int i = 0; i < n && !k->over; i++) {
                        if (events[i].data.u64 == ON_SERVER)
                                server_event(k);
                        else if (events[i].data.u64 == ON_SERVER_DEATH)
                                server_died(k);
                        else if (events[i].data.u64 == ON_EGRESS_DEATH)
                                keeper_egress_died(k);
                        else if (events[i].data.u64 == ON_IMAGER_DEATH)
                                keeper_imager_died(k);
                        else if (events[i].data.u64 == ON_DOCKER_DEATH)
                                keeper_docker_died(k);
                        else if (events[i].data.u64 == ON_SIGNAL)
                                signalled(k);
                        else if (events[i].data.u64 == ON_VIEW)
                                spare_hear(&k->spare);
                        else if (events[i].data.u64 <= ON_WORKER_DEATH_LAST)
                                keeper_worker_died(k, (unsigned)(events[i].data.u64 - ON_WORKER_DEATH));
                        else
                                sandbox_event(k, (uint32_t)events[i].data.u64);
                }
                int64_t now = k->tick_at == INT64_MAX ? 0 : clock_us();
                if (k->tick_at != INT64_MAX && now >= k->tick_at) {
                        k->tick_at = INT64_MAX;
                        tick(k, now);
                } else if (n == 0) {
                        working = work_idly(k);
                }
        }
}

/* Kills everything first, and waits afterwards. */
static void end_all(struct keeper *k)
{
        struct pollfd fd = {k->setup->server_pidfd, POLLIN, 0};
        int64_t until = clock_us() + DEATH_PATIENCE_US;
        kill_server(k);
        keeper_egress_done(&k->egress);
        keeper_imager_done(&k->imager);
        for (unsigned i = 0; i < KEEPER_SANDBOXES_MAX; i++)
                if (k->table.all[i].state != SANDBOX_FREE)
                        sandbox_kill(k->table.all[i].sandbox);
        if (!k->server_gone && sys_poll(&fd, 1, DEATH_PATIENCE_US) > 0)
                sys_wait(k->setup->server, NULL, __WALL, NULL);
        for (unsigned i = 0; i < KEEPER_SANDBOXES_MAX; i++) {
                struct sandbox_entry *entry = &k->table.all[i];
                if (entry->state == SANDBOX_FREE)
                        continue;
                struct sandbox *sb = entry->sandbox;
                fd.fd = sb->pidfd;
                int64_t left = until - clock_us();
                if (!sandbox_try_reap(sb) && left > 0 && sys_poll(&fd, 1, left) > 0)
                        sandbox_try_reap(sb);
                if (sb->pid > 0)
                        log_error(sb->id, "the kernel does not end it; it is abandoned");
                else
                        sandbox_free(sb);
                sandbox_table_remove(&k->table, entry);
        }
        list_each (at, &k->remains, other) {
                struct keeper_remains *r = list_entry(at, struct keeper_remains, link);
                cgroup_free(r->cgroup);
                free(r);
        }
        keeper_workers_end(k, until);
        keeper_docker_done(&k->docker); /* it notices the end of the server itself */
}

static void prepare_groups(struct keeper *k)
{
        struct cella_limits limits;
        struct cella_err err = {0};
        cella_limits_default(&limits);
        int r = cgroup_home_open(&k->home, &err);
        unsigned swept = r < 0 ? 0 : cgroup_sweep_all(k->home);
        if (swept > 0)
                log_info(NULL, "removed %u control groups that dead sandboxes left", swept);
        if (r == 0)
                r = cgroup_new(k->home, &limits, false, &k->quota, &err);
        if (r == 0)
                cgroup_throttle(k->quota, 1000);
        if (r == 0)
                spare_make_groups_in(&k->spare, k->home);
        else
                log_info(NULL, "no control groups: %s", err.msg);
}

static int prepare(struct keeper *k)
{
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        sigprocmask(SIG_BLOCK, &set, NULL);
        k->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        k->epoll = epoll_create1(EPOLL_CLOEXEC);
        k->program = program_open_init();
        k->server_gone = k->setup->is_worker; /* the server is not its child */
        int r = k->signals < 0 || k->epoll < 0 ? -errno : k->program < 0 ? k->program : 0;
        if (r == 0)
                r = keeper_watch(k, k->setup->socket, ON_SERVER);
        if (r == 0 && !k->setup->is_worker)
                r = keeper_watch(k, k->setup->server_pidfd, ON_SERVER_DEATH);
        if (r == 0)
                r = keeper_watch(k, k->signals, ON_SIGNAL);
        if (r < 0) {
                log_error(NULL, "cannot start: %s", strerror(-r));
                return r;
        }
        k->outbox.socket = k->setup->socket;
        if (k->spare.left[0] >= 0 && keeper_watch(k, k->spare.left[0], ON_VIEW) < 0)
                log_error(NULL, "every sandbox builds its own view: the socket for views cannot be watched");
        if (!k->setup->is_worker)
                keeper_egress_start(k); /* the first packet that the server gets */
        keeper_workers_start(k, clock_us());
        prepare_groups(k);
        return 0;
}

int keeper_run(const struct keeper_setup *setup)
{
        struct keeper *k = calloc(1, sizeof *k);
        if (!k)
                return 1;
        k->setup = setup;
        k->run = keeper_run;
        list_init(&k->remains);
        k->signals = k->epoll = k->program = -1;
        k->privileged = sandbox_is_privileged();
        k->ignored = sys_ignored_signals();
        struct rlimit files = {0};
        getrlimit(RLIMIT_NOFILE, &files);
        k->files_max = files.rlim_cur;
        spare_init(&k->spare, k->privileged, k->files_max);
        keeper_egress_init(&k->egress);
        keeper_imager_init(&k->imager);
        keeper_docker_init(&k->docker);
        keeper_workers_init(k);
        if (prepare(k) < 0)
                k->failed = true;
        else
                loop(k);
        end_all(k);
        outbox_done(&k->outbox);
        spare_done(&k->spare);
        cgroup_free(k->quota);
        cgroup_home_free(k->home);
        sys_close(k->program);
        sys_close(k->epoll);
        sys_close(k->signals);
        const bool failed = k->failed, broken = k->broken;
        free(k);
        if (!failed && !setup->is_worker)
                log_info(NULL, "stopped");
        return setup->is_worker && broken ? WORKER_BROKEN : failed ? 1 : 0;
}

static struct sockaddr_un manager = {.sun_family = AF_UNIX};
static socklen_t manager_len;

void notify_init(void)
{
        const char *path = getenv("NOTIFY_SOCKET");
        size_t len = path ? strlen(path) : 0;
        if (len < 2 || len >= sizeof manager.sun_path || (path[0] != '/' && path[0] != '@'))
                return;
        memcpy(manager.sun_path, path, len);
        if (path[0] == '@') /* an abstract socket */
                manager.sun_path[0] = '\0';
        manager_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
        unsetenv("NOTIFY_SOCKET");
}

void notify(const char *state)
{
        if (manager_len == 0)
                return;
        AUTO(sys_close) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0)
                (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&manager,
                             manager_len);
}

_Static_assert(SERVER_KEEPER_FD == CHILD_FIRST_FD && SERVER_LISTENER_FD == CHILD_FIRST_FD + 1 &&
                       3 + SERVER_LISTENERS_MAX <= CHILD_FDS_MAX,
               "the descriptors of the server");

pid_t server_start(const struct server_setup *s, int *ret_pidfd, struct cella_err *err)
{
        int fds[3 + SERVER_LISTENERS_MAX] = {s->keeper_socket};
        size_t n = 1;
        AUTO(sys_close) int program = sys_openat(AT_FDCWD, s->program, O_PATH, 0);
        if (program < 0)
                return err_set(err, CELLA_NOT_FOUND, program, "cannot start %.150s", s->program);
        for (size_t i = 0; i < s->n_listeners; i++)
                fds[n++] = s->listeners[i];
        if (s->credential >= 0)
                fds[n++] = s->credential;
        if (s->tls >= 0)
                fds[n++] = s->tls;
        const struct child_setup setup = {
                .program = program,
                .path = s->program,
                .argv = s->argv,
                .fds = fds,
                .n_fds = n,
                .keeps_stderr = true, /* its log */
                .change_user = s->change_user,
                .uid = s->uid,
                .gid = s->gid,
        };
        struct child child = CHILD_NONE;
        int r = child_start(&setup, &child, err);
        if (r == 0)
                r = child_confirm(&child, s->program, err);
        if (r < 0) {
                child_end(&child);
                return r;
        }
        *ret_pidfd = child.pidfd;
        return child.pid;
}
