/* docker/process.c -- cella-docker's loop.
 *
 * It receives packets and answers those that need no waiting; jobs handle the others.  The client is trusted
 * as little as the keeper trusts its server: an invalid packet ends the process. */
#include "docker/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "docker/api.h"
#include "docker/find.h"
#include "docker/job.h"
#include "docker/remains.h"
#include "docker/sweep.h"
#include "sys/file.h"
#include "sys/rights.h"
#include "wire/init.h"

#define SEND_PATIENCE_S 20
#define END_PATIENCE_S 60
#define RETRY_MS 2000
#define EVENTS_AT_ONCE 16

enum { ON_REQUEST = 1, ON_SIGNAL }; /* handles are larger */

struct process process;

/* The engine found by the last DOCKER_OPEN. */
static struct {
        pthread_mutex_t lock;
        struct docker_opened found;
        bool swept;
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER;

void process_reply(const void *packet, size_t len, int fd)
{
        pthread_mutex_lock(&sending);
        /* If the client is gone, the loop notices it. */
        sys_rights_send(DOCKER_CONTROL_FD, packet, len, &fd, fd >= 0, 0);
        pthread_mutex_unlock(&sending);
        sys_close(fd);
}

void process_fail(uint32_t number, const struct cella_err *err)
{
        struct keeper_failed failed = {.type = KEEPER_FAILED, .number = number, .err = *err};
        process_reply(&failed, sizeof failed, -1);
}

void process_engine(struct docker_opened *ret)
{
        pthread_mutex_lock(&engine.lock);
        *ret = engine.found;
        pthread_mutex_unlock(&engine.lock);
}

int process_watch(const struct docker_sandbox *sandbox)
{
        struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = sandbox->handle};
        if (sandbox->pidfd < 0)
                return 0; /* the client notices its death on the control socket */
        return epoll_ctl(process.epoll, EPOLL_CTL_ADD, sandbox->pidfd, &event) < 0 ? -errno : 0;
}

static void open_work(void *argument)
{
        struct docker_open *want = argument;
        struct docker_opened found;
        struct cella_err err = {0};
        pthread_mutex_lock(&engine.lock); /* one at a time */
        int r = find_engine(&process.setup, want, &found, &err);
        if (r == 0) {
                found.number = want->number;
                if (!engine.swept || strcmp(engine.found.socket, found.socket) != 0)
                        sweep(&process.place, found.socket);
                engine.swept = true;
                engine.found = found;
        }
        pthread_mutex_unlock(&engine.lock);
        if (r < 0)
                process_fail(want->number, &err);
        else
                process_reply(&found, sizeof found, -1);
        free(want);
}

static const char *take_open(const struct docker_open *packet, size_t len)
{
        if (len != sizeof *packet || packet->number == 0 || packet->transport > DOCKER_ATTACH ||
            packet->reserved || !memchr(packet->socket, '\0', sizeof packet->socket) ||
            !memchr(packet->runtime, '\0', sizeof packet->runtime))
                return "a bad DOCKER_OPEN";
        struct docker_open *copy = malloc(sizeof *copy);
        if (!copy)
                return "more than fits in memory";
        *copy = *packet;
        if (job_add(open_work, copy) == 0)
                return NULL;
        free(copy);
        return "more than there are threads for";
}

static const char *take_make(const char *packet, size_t len)
{
        const char *wrong = NULL;
        struct making *making = making_parse(packet, len, process.setup.client != NULL, &wrong);
        if (!making)
                return wrong;
        if (job_add(making_work, making) == 0)
                return NULL;
        free(making);
        return "more than there are threads for";
}

static void count_now(struct docker_sandbox *sandbox, uint32_t number)
{
        struct keeper_counted counted;
        pthread_mutex_lock(&sandbox->lock);
        usage_read(&sandbox->usage, &sandbox->last);
        counted = sandbox->last;
        pthread_mutex_unlock(&sandbox->lock);
        counted.type = KEEPER_COUNTED;
        counted.number = number;
        counted.sandbox = sandbox->handle;
        process_reply(&counted, sizeof counted, -1);
}

static const char *take_about(const struct keeper_about *packet, size_t len)
{
        void (*work)(void *) = NULL;
        if (len != sizeof *packet || packet->reserved)
                return "a packet of the wrong size";
        struct docker_sandbox *sandbox = packet->type == KEEPER_END ? docker_sandbox_take(packet->sandbox)
                                                                    : docker_sandbox_hold(packet->sandbox);
        if (!sandbox)
                return "a sandbox that is not there";
        switch (packet->type) {
        case KEEPER_END:
                work = order_end;
                break;
        case KEEPER_KILL:
                work = order_kill;
                break;
        case KEEPER_COUNT:
                if (sandbox->usage.memory >= 0 && !docker_sandbox_is_dead(sandbox))
                        count_now(sandbox, packet->number);
                else
                        work = order_count;
                break;
        case KEEPER_FREEZE:
        case KEEPER_THAW:
                work = order_freeze;
                break;
        default: /* KEEPER_THROTTLE, KEEPER_UNTHROTTLE: the engine's limit applies from the start */
                break;
        }
        struct order *o = work ? malloc(sizeof *o) : NULL;
        if (o)
                *o = (struct order){
                        .number = packet->number, .sandbox = sandbox, .pause = packet->type == KEEPER_FREEZE};
        if (work && (!o || job_add(work, o) < 0)) {
                free(o);
                docker_sandbox_release(sandbox);
                return "more than fits in memory";
        }
        if (!work)
                docker_sandbox_release(sandbox);
        return NULL;
}

static const char *take_limits(const struct keeper_limits *packet, size_t len)
{
        if (len != sizeof *packet || packet->about.reserved)
                return "a bad KEEPER_LIMITS";
        struct docker_sandbox *sandbox = docker_sandbox_hold(packet->about.sandbox);
        if (!sandbox)
                return "a sandbox that is not there";
        struct order *o = malloc(sizeof *o);
        if (o)
                *o = (struct order){.number = packet->about.number, .sandbox = sandbox, .limits = *packet};
        if (o && job_add(order_limits, o) == 0)
                return NULL;
        free(o);
        docker_sandbox_release(sandbox);
        return "more than fits in memory";
}

static const char *take_drop(const struct keeper_drop *packet, size_t len)
{
        if (len != sizeof *packet || packet->number == 0 || !process.setup.client ||
            !keeper_text_ends(packet->name, sizeof packet->name) || !keeper_name_is_valid(packet->name))
                return "a bad KEEPER_DROP";
        struct keeper_drop *copy = malloc(sizeof *copy);
        if (!copy)
                return "more than fits in memory";
        *copy = *packet;
        if (job_add(order_drop, copy) == 0)
                return NULL;
        free(copy);
        return "more than there are threads for";
}

static const char *take_packet(const char *packet, size_t len)
{
        uint32_t type;
        if (len < sizeof(struct keeper_about))
                return "a packet too short";
        memcpy(&type, packet, sizeof type);
        if (type == DOCKER_OPEN)
                return take_open((const struct docker_open *)(const void *)packet, len);
        if (type == KEEPER_MAKE)
                return take_make(packet, len);
        if (type == KEEPER_DROP)
                return take_drop((const struct keeper_drop *)(const void *)packet, len);
        if (type == KEEPER_LIMITS)
                return take_limits((const struct keeper_limits *)(const void *)packet, len);
        if (type >= KEEPER_END && type <= KEEPER_THAW)
                return take_about((const struct keeper_about *)(const void *)packet, len);
        return "an unknown request";
}

/* Returns false if the loop must end. */
static bool docker_process_receive(void)
{
        static _Alignas(8) char packet[DOCKER_MAKE_MAX + 1];
        ssize_t n = recv(DOCKER_CONTROL_FD, packet, sizeof packet, MSG_DONTWAIT | MSG_TRUNC);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return true;
        if (n <= 0 || (size_t)n > DOCKER_MAKE_MAX)
                return false;
        return take_packet(packet, (size_t)n) == NULL;
}

static void receive_death(uint32_t handle)
{
        const struct keeper_about died = {.type = KEEPER_DIED, .sandbox = handle};
        struct docker_sandbox *sandbox = docker_sandbox_hold(handle);
        if (!sandbox)
                return;
        /* Before the engine removes its groups. */
        pthread_mutex_lock(&sandbox->lock);
        usage_read(&sandbox->usage, &sandbox->last);
        pthread_mutex_unlock(&sandbox->lock);
        process_reply(&died, sizeof died, -1);
        docker_sandbox_release(sandbox);
}

static void docker_process_loop(void)
{
        for (;;) {
                struct epoll_event events[EVENTS_AT_ONCE];
                int n = epoll_wait(process.epoll, events, EVENTS_AT_ONCE, RETRY_MS);
                if (n == 0 && remains_are_there())
                        job_add(remains_retry, NULL);
                for (int i = 0; i < n; i++) {
                        if (events[i].data.u64 == ON_SIGNAL ||
                            (events[i].data.u64 == ON_REQUEST && !docker_process_receive()))
                                return;
                        if (events[i].data.u64 > ON_SIGNAL)
                                receive_death((uint32_t)events[i].data.u64);
                }
        }
}

static int docker_process_watch(int fd, uint64_t what)
{
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = what};
        return epoll_ctl(process.epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Threads inherit the mask. */
static int open_signals(void)
{
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        sigprocmask(SIG_BLOCK, &set, NULL);
        int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        return fd < 0 ? -errno : fd;
}

static void see_namespaces(void)
{
        static const char *const paths[INIT_NS_COUNT] = {
                [INIT_NS_USER] = "/proc/self/ns/user",     [INIT_NS_PID] = "/proc/self/ns/pid",
                [INIT_NS_MOUNT] = "/proc/self/ns/mnt",     [INIT_NS_NET] = "/proc/self/ns/net",
                [INIT_NS_IPC] = "/proc/self/ns/ipc",       [INIT_NS_UTS] = "/proc/self/ns/uts",
                [INIT_NS_CGROUP] = "/proc/self/ns/cgroup",
        };
        struct stat st;
        struct utsname own;
        if (uname(&own) == 0)
                memcpy(process.kernel, own.version, strnlen(own.version, sizeof own.version - 1));
        for (unsigned i = 0; i < INIT_NS_COUNT; i++)
                process.outside[i] = stat(paths[i], &st) == 0 ? st.st_ino : 0;
}

/* Waits for jobs first: then all sandboxes are in the table. */
static void end_all(void)
{
        struct docker_sandbox *sandbox;
        job_drain(END_PATIENCE_S);
        while ((sandbox = docker_sandbox_take_any())) {
                struct order *o = malloc(sizeof *o);
                if (!o)
                        continue;
                *o = (struct order){.sandbox = sandbox};
                if (job_add(order_end, o) < 0)
                        order_end(o);
        }
        job_drain(END_PATIENCE_S);
        remains_retry(NULL);
}

/* Reports the error as the answer to the first request. */
static int docker_process_refuse(const struct cella_err *err)
{
        process_fail(1, err);
        return 1;
}

int process_run(const struct setup *setup)
{
        const struct timeval patience = {.tv_sec = SEND_PATIENCE_S};
        struct cella_err err = {0};
        process.setup = *setup;
        process.epoll = epoll_create1(EPOLL_CLOEXEC);
        int signals = open_signals();
        int r = process.epoll < 0 ? -errno : signals < 0 ? signals : docker_process_watch(signals, ON_SIGNAL);
        if (r == 0)
                r = docker_process_watch(DOCKER_CONTROL_FD, ON_REQUEST);
        if (r == 0)
                r = docker_api_init();
        if (r < 0) {
                err_set(&err, CELLA_INTERNAL, r, "cella-docker cannot start");
                return docker_process_refuse(&err);
        }
        if (place_open(setup->home, &process.place, &err) < 0)
                return docker_process_refuse(&err);
        setsockopt(DOCKER_CONTROL_FD, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        see_namespaces();
        docker_process_loop();
        end_all();
        place_close(&process.place);
        return 0;
}
