/* docker/making.c -- makes a container in which our init waits, for one request. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/limits.h"
#include "docker/attach.h"
#include "docker/container.h"
#include "docker/image.h"
#include "docker/network.h"
#include "docker/process.h"
#include "docker/remains.h"
#include "docker/volume.h"
#include "jail/walls.h"
#include "jail/workspace.h"
#include "sys/file.h"
#include "sys/raw.h"
#include "wire/init.h"
#include "wire/message.h"

#define INIT_PATIENCE_US 30000000
#define LOOK_MS 250 /* interval of checking whether the container has ended */
#define ALL_WALLS ((WALL_PROC << 1) - 1)
#define GROUP_LIMITS (CELLA_LIMIT_MEMORY | CELLA_LIMIT_PROCESSES | CELLA_LIMIT_CPUS)

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* ---- the request ---- */

static const char *docker_making_check(const struct keeper_make *m)
{
        if (!keeper_text_ends(m->id, sizeof m->id) || !keeper_text_ends(m->name, sizeof m->name) ||
            !keeper_text_ends(m->root, sizeof m->root) || !keeper_text_ends(m->image, sizeof m->image))
                return "an unterminated string";
        if (!keeper_name_is_valid(m->id) ||
            (m->workspace != KEEPER_SCRATCH && !keeper_name_is_valid(m->name)))
                return "a bad name";
        if (m->required & ~limits_bits() || m->user_root > 1 || m->long_lived > 1 || m->network > 1 ||
            m->direct || m->pulls > 1 || m->workspace > KEEPER_READ_WRITE || m->number == 0)
                return "a value out of range";
        return m->workspace >= KEEPER_READ_ONLY && m->root[0] != '/' ? "a relative path" : NULL;
}

static const char *take_mounts(struct making *m)
{
        const size_t max = m->by_server ? KEEPER_MOUNTS_MAX : DOCKER_MOUNTS_MAX;
        int n = mounts_parse(m->text, m->make.mounts_len, m->mounts, max);
        m->n_mounts = n < 0 ? 0 : (size_t)n;
        if (n < 0)
                return "a bad mount";
        return m->by_server ? mounts_wrong(m->mounts, m->n_mounts) : NULL;
}

struct making *making_parse(const void *packet, size_t len, bool by_server, const char **ret_wrong)
{
        const size_t head = sizeof(struct keeper_make);
        *ret_wrong = "a packet of the wrong size";
        if (len < head || len > DOCKER_MAKE_MAX)
                return NULL;
        struct making *m = calloc(1, sizeof *m + len - head);
        if (!m) {
                *ret_wrong = "more than fits in memory";
                return NULL;
        }
        memcpy(&m->make, packet, head);
        memcpy(m->text, (const char *)packet + head, len - head);
        m->by_server = by_server;
        *ret_wrong = m->make.mounts_len != len - head ? "a packet of the wrong size"
                                                      : docker_making_check(&m->make);
        if (!*ret_wrong)
                *ret_wrong = take_mounts(m);
        if (*ret_wrong) {
                free(m);
                return NULL;
        }
        return m;
}

/* ---- preparation ---- */

/* The state while a sandbox is being made. */
struct work {
        const struct making *making;
        struct docker_opened engine;
        struct reply_image image;
        struct container_mount mounts[DOCKER_MOUNTS_MAX + 1];
        size_t n_mounts;
        char volume[VOLUME_NAME_MAX];
        char workspace[KEEPER_PATH_MAX + KEEPER_NAME_MAX], sources[KEEPER_MOUNTS_MAX][KEEPER_PATH_MAX];
        bool new_volume, disk_unlimited;
        char directory[1024], resolver[1024], user[32];
        char container[REPLY_ID_MAX];
        bool has_place;
        int listener, control;
        struct attach *attach;
        bool attached; /* control leads to the engine's stream, not to a socket of init */
        bool other_kernel;
        struct docker_sandbox *sandbox;
        uint32_t missing;
};

/* The engine's stream cannot carry descriptors, which the network needs. */
static int refuse_network(struct cella_err *err)
{
        err_say(err, CELLA_ISOLATION_UNAVAILABLE, -ENOTSUP,
                "net: the network namespace of the container is not visible from here");
        return err_hint(err, "a runtime with a kernel of its own supports only tier restricted; or use "
                             "another docker.runtime, or the engine native");
}

static int check_possible(const struct work *w, struct cella_err *err)
{
        const struct keeper_make *m = &w->making->make;
        if (w->engine.type == 0)
                return err_say(err, CELLA_INTERNAL, -EPROTO, "no container engine was looked for");
        if (!m->image[0] || !strcmp(m->image, IMAGE_HOST)) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "image 'host' is for the engine native only");
                return err_hint(err,
                                "with the engine docker, name one of its images: --image python:3.12-slim");
        }
        if (m->network) {
                int r = w->engine.transport == DOCKER_ATTACH ? refuse_network(err)
                                                             : network_check(&w->engine, err);
                if (r < 0)
                        return r;
        }
        if (m->workspace != KEEPER_SCRATCH && !w->making->by_server)
                return err_say(err, CELLA_INTERNAL, -ENOTSUP, "only the server names a workspace");
        return limits_check(&m->limits, err);
}

/* Without a user namespace, access to a directory depends on its owner.  In a rootless engine, our user is
 * root. */
static void take_owner(struct work *w, const char *path)
{
        struct stat st;
        if (w->making->make.user_root || stat(path, &st) < 0)
                return;
        if (!w->engine.rootless)
                snprintf(w->user, sizeof w->user, "%u:%u", (unsigned)st.st_uid, (unsigned)st.st_gid);
        else if (st.st_uid == geteuid())
                snprintf(w->user, sizeof w->user, "0:0");
}

static void add_mount(struct work *w, const char *source, const char *target, bool writable)
{
        w->mounts[w->n_mounts++] = (struct container_mount){source, target, writable, false};
        if (strcmp(target, "/workspace") != 0)
                return;
        w->disk_unlimited = true;
        take_owner(w, source);
}

static int add_volume(struct work *w, struct cella_err *err)
{
        const char *name = w->making->make.name;
        int r = volume_find(w->engine.socket, name, process.place.home, err);
        if (r < 0)
                return r;
        w->new_volume = r == 1;
        w->disk_unlimited = true;
        volume_name(name, w->volume);
        w->mounts[w->n_mounts++] = (struct container_mount){w->volume, "/workspace", true, true};
        return 0;
}

/* The server may name only what the keeper would mount for it, too.  The engine gets the path and looks it up
 * again: see mounts_check_settings() for what must not happen in between. */
static int check_mounts(struct work *w, struct cella_err *err)
{
        const struct making *making = w->making;
        const struct workspace_policy policy = {.workspaces = -1,
                                                .state = process.setup.state,
                                                .pin = process.setup.pin,
                                                .only = process.setup.only};
        AUTO(sys_close) int workspace = -1;
        int r = making->make.workspace == KEEPER_PERSISTENT
                        ? add_volume(w, err)
                        : workspace_open(&policy, &making->make, &workspace, w->workspace, err);
        if (r < 0)
                return r;
        if (workspace >= 0)
                add_mount(w, w->workspace, "/workspace", making->make.workspace == KEEPER_READ_WRITE);
        for (size_t i = 0; i < making->n_mounts; i++) {
                AUTO(sys_close) int fd = -1;
                r = workspace_open_mount(&policy, making->mounts[i].source, &fd, w->sources[i], err);
                if (r < 0)
                        return r;
                add_mount(w, w->sources[i], making->mounts[i].target, making->mounts[i].writable);
        }
        return 0;
}

static int fill_mounts(struct work *w, struct cella_err *err)
{
        const struct making *making = w->making;
        if (making->make.user_root)
                snprintf(w->user, sizeof w->user, "0:0");
        if (making->by_server)
                return check_mounts(w, err);
        for (size_t i = 0; i < making->n_mounts; i++)
                add_mount(w, making->mounts[i].source, making->mounts[i].target, making->mounts[i].writable);
        return 0;
}

static int make_container(struct work *w, struct cella_err *err)
{
        const struct keeper_make *m = &w->making->make;
        const struct container_spec spec = {
                .engine = &w->engine,
                .make = m,
                .image = &w->image,
                .directory = w->directory,
                .transport = (enum docker_transport)w->engine.transport,
                .home = process.place.home,
                .owner = process.place.owner,
                .user = w->user,
                .resolver = m->network ? w->resolver : NULL,
                .mounts = w->mounts,
                .n_mounts = w->n_mounts,
        };
        int r = docker_place_path(&process.place, m->id, w->directory, sizeof w->directory);
        if (r == 0)
                r = docker_place_path(&process.place, PLACE_RESOLVER, w->resolver, sizeof w->resolver);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "docker");
        if ((r = place_make(&process.place, m->id, err)) < 0)
                return r;
        w->has_place = true;
        if (w->new_volume && w->image.image.uid != 0 && (r = volume_give(&spec, err)) < 0)
                return r;
        if (spec.transport != DOCKER_ATTACH &&
            (r = w->listener = place_listen(&process.place, m->id, err)) < 0)
                return r;
        if ((r = container_create(&spec, w->container, err)) < 0)
                return r;
        if (spec.transport != DOCKER_SOCKET &&
            (r = attach_new(w->engine.socket, w->container, &w->attach, err)) < 0)
                return r;
        return container_start(w->engine.socket, w->container, err);
}

/* ---- connection of init ---- */

static int explain_end(const struct work *w, const struct reply_state *state, struct cella_err *err)
{
        if (state->exit_code == INIT_NO_SOCKET) {
                err_say(err, CELLA_ENGINE_UNAVAILABLE, -ECONNREFUSED,
                        "runtime %.40s lets no socket of the host into its containers", w->engine.runtime);
                return err_hint(err, "set docker.transport to attach, or docker.runtime to another");
        }
        if (state->oom_killed) {
                err_say(err, CELLA_INVALID_REQUEST, -ENOMEM,
                        "the memory limit leaves no room to start the container");
                return err_hint(err, "ask for more memory");
        }
        return err_say(err, CELLA_ENGINE_UNAVAILABLE, -EIO,
                       "the container ended immediately, with status %d%s%.120s", state->exit_code,
                       state->error[0] ? ": " : "", state->error);
}

/* Checks the engine's stream.  Returns 1 if init has connected, 0 if not yet, or -errno. */
static int receive_stream(struct work *w, struct cella_err *err)
{
        int r = w->attach ? attach_receive(w->attach) : 0;
        if (r == 0)
                return 0;
        if (r < 0) { /* the engine's state has the reason */
                w->attach = attach_free(w->attach);
                return 0;
        }
        w->attached = true;
        w->other_kernel = !attach_is_this_kernel(w->attach);
        r = w->control = attach_start(TAKE(w->attach), err);
        return r < 0 ? r : 1;
}

/* Waits for init on either connection.  Returns 1 with w->control set, 0 after wait_ms, or -errno. */
static int receive_init(struct work *w, int wait_ms, struct cella_err *err)
{
        int r = receive_stream(w, err); /* it may have come with the engine's answer */
        if (r != 0)
                return r;
        struct pollfd fds[] = {{w->listener, POLLIN, 0}, {w->attach ? attach_fd(w->attach) : -1, POLLIN, 0}};
        if (poll(fds, ARRAY_LEN(fds), wait_ms) <= 0)
                return 0;
        if (!fds[0].revents)
                return receive_stream(w, err);
        w->control = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC);
        return w->control < 0 ? err_set(err, CELLA_INTERNAL, -errno, "cannot hear the sandbox") : 1;
}

static int await_init(struct work *w, struct cella_err *err)
{
        const int64_t until = clock_us() + INIT_PATIENCE_US;
        int heard;
        while ((heard = receive_init(w, LOOK_MS, err)) == 0) {
                struct reply_state state;
                int r = container_inspect(w->engine.socket, w->container, &state, err);
                if (r < 0)
                        return r;
                if (!state.running && (heard = receive_init(w, 0, err)) != 0)
                        break;
                if (!state.running)
                        return explain_end(w, &state, err);
                if (clock_us() < until)
                        continue;
                err_say(err, CELLA_ENGINE_UNAVAILABLE, -ETIMEDOUT,
                        "the container runs, but its init did not answer within %d s",
                        INIT_PATIENCE_US / 1000000);
                return err_hint(err, "is the engine on this machine, and does it see %.120s?",
                                process.place.home);
        }
        if (heard < 0)
                return heard;
        /* Only the first connection is accepted.  That is init, because nothing else has run yet. */
        sys_close(TAKE_FD(w->listener));
        w->attach = attach_free(w->attach);
        place_empty(&process.place, w->making->make.id);
        return 0;
}

/* Returns the pid of the container's first process, or of the runtime's own kernel. */
static pid_t ask_for_pid(struct work *w)
{
        struct cella_err ignored = {0};
        struct reply_state state;
        if (container_inspect(w->engine.socket, w->container, &state, &ignored) < 0 || !state.running ||
            state.pid <= 0)
                return 0;
        int fd = (int)sys_call2(SYS_pidfd_open, state.pid, 0);
        w->sandbox->pidfd = fd < 0 ? -1 : fd;
        return fd < 0 ? 0 : state.pid;
}

/* Returns the pid of init, as far as the kernel reports it. */
static pid_t see_init(struct work *w)
{
        if (w->attached)
                return ask_for_pid(w);
        struct ucred peer = {0};
        socklen_t size = sizeof peer;
        if (getsockopt(w->control, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0)
                return 0;
        size = sizeof w->sandbox->pidfd;
        if (getsockopt(w->control, SOL_SOCKET, SO_PEERPIDFD, &w->sandbox->pidfd, &size) < 0) {
                int fd = (int)sys_call2(SYS_pidfd_open, peer.pid, 0);
                w->sandbox->pidfd = fd < 0 ? -1 : fd;
        }
        return peer.pid;
}

/* If the runtime has its own kernel, the group counts the threads of that kernel, and nothing counts the
 * code's processes. */
static void tighten(struct work *w, uint64_t processes)
{
        const struct keeper_make *m = &w->making->make;
        const uint64_t least = container_processes_least((enum docker_transport)w->engine.transport);
        const uint64_t now = processes > least ? processes : least;
        w->sandbox->processes_beside = (uint32_t)(processes - m->limits.processes);
        if (w->other_kernel) {
                w->sandbox->processes_least = (uint32_t)least;
                processes = now;
        }
        if (m->limits.memory_bytes < CONTAINER_MEMORY_LEAST || processes < now)
                container_limit(w->engine.socket, w->container, m->limits.memory_bytes, processes, 0);
        usage_tighten(&w->sandbox->usage, m->limits.memory_bytes, processes);
}

static int check_limits(struct work *w, struct cella_err *err)
{
        const struct keeper_make *m = &w->making->make;
        const uint64_t processes = container_processes(m, w->attached);
        pid_t pid = see_init(w);
        if (pid > 0)
                usage_open(pid, w->container, &w->sandbox->usage);
        tighten(w, processes);
        usage_begin(&w->sandbox->usage);
        w->missing = usage_missing(&w->sandbox->usage, &m->limits, processes);
        if (w->other_kernel)
                w->missing |= CELLA_LIMIT_PROCESSES;
        if (w->disk_unlimited)
                w->missing |= CELLA_LIMIT_DISK;
        uint32_t lacking = w->missing & m->required;
        if (lacking == 0)
                return 0;
        err_say(err, CELLA_ISOLATION_UNAVAILABLE, -ENOTSUP,
                "cgroup: the container engine does not enforce the limit on %s",
                limit_of_bits(lacking)->name);
        if (w->other_kernel && lacking == CELLA_LIMIT_PROCESSES)
                return err_hint(err,
                                "a runtime with a kernel of its own does not count them: ask for no limit of "
                                "yours, or use another docker.runtime, or the engine native");
        return err_hint(err, w->engine.rootless
                                     ? "without root it needs cgroup v2 with that controller delegated"
                                     : "look at docker info: it warns of what is missing");
}

/* The writable mounts, for Landlock.  Those of the request have fitted into DOCKER_MAKE_MAX bytes. */
static size_t put_writable(const struct work *w, char text[DOCKER_MAKE_MAX])
{
        size_t len = 0;
        for (size_t i = 0; i < w->n_mounts; i++) {
                const struct mounts_item item = {"/", w->mounts[i].target, true};
                if (w->mounts[i].writable)
                        mounts_put(text, DOCKER_MAKE_MAX, &len, &item);
        }
        return len;
}

static int docker_making_join(struct work *w, struct cella_err *err)
{
        struct init_join head;
        memset(&head, 0, sizeof head);
        head.walls = ALL_WALLS & ~((w->missing & GROUP_LIMITS) == GROUP_LIMITS ? WALL_CGROUP : 0);
        memcpy(head.outside, process.outside, sizeof head.outside);
        memcpy(head.kernel, process.kernel, sizeof head.kernel);
        head.limits = w->making->make.limits;
        int way[2] = {-1, -1}, r = 0;
        if (w->making->make.network && w->attached)
                return refuse_network(err);
        if (w->making->make.network && (r = network_open(w->control, way, err)) < 0)
                return r;
        char *text = malloc(DOCKER_MAKE_MAX);
        r = text ? message_send(w->control, INIT_JOIN, 0, way, way[0] >= 0 ? 2 : 0, &head, sizeof head, text,
                                put_writable(w, text))
                 : -ENOMEM;
        free(text);
        sys_close(way[0]);
        sys_close(way[1]);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot talk to the sandbox") : 0;
}

static int docker_making_run(struct work *w, struct cella_err *err)
{
        int r;
        process_engine(&w->engine);
        if ((r = check_possible(w, err)) < 0 ||
            (r = docker_image_find(w->engine.socket, w->making->make.image, w->making->make.pulls, &w->image,
                                   err)) < 0)
                return r;
        if ((r = fill_mounts(w, err)) < 0 || (r = make_container(w, err)) < 0 || (r = await_init(w, err)) < 0)
                return r;
        w->sandbox = docker_sandbox_alloc(w->making->make.id, w->container, w->engine.socket);
        if (!w->sandbox)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "sandbox");
        if ((r = check_limits(w, err)) < 0 || (r = docker_making_join(w, err)) < 0)
                return r;
        if ((r = docker_sandbox_add(w->sandbox)) < 0)
                return err_say(err, CELLA_OVER_CAPACITY, r, "the maximum of %d sandboxes is reached",
                               KEEPER_SANDBOXES_MAX);
        return 0;
}

static int docker_making_report(struct work *w, struct cella_err *err)
{
        size_t len = 0;
        char *document = image_write(&w->image.image, &len);
        struct docker_made made = {
                .made = {.type = DOCKER_MADE,
                         .number = w->making->make.number,
                         .sandbox = w->sandbox->handle,
                         .missing = w->missing,
                         .counted = 1},
                .len = (uint32_t)len,
        };
        char *packet = document && len <= DOCKER_IMAGE_MAX ? malloc(sizeof made + len) : NULL;
        if (!packet) {
                free(document);
                return err_say(err, CELLA_TOO_LARGE, -E2BIG,
                               "the configuration of the image is longer than %u bytes", DOCKER_IMAGE_MAX);
        }
        memcpy(made.image, w->image.image.id, sizeof w->image.image.id);
        memcpy(packet, &made, sizeof made);
        memcpy(packet + sizeof made, document, len);
        free(document);
        w->sandbox->control = dup(w->control);
        process_reply(packet, sizeof made + len, TAKE_FD(w->control));
        free(packet);
        process_watch(w->sandbox);
        return 0;
}

void making_work(void *argument)
{
        struct making *making = argument;
        struct cella_err err = {0}, ignored = {0};
        struct work *w = calloc(1, sizeof *w);
        if (!w) {
                err_set(&err, CELLA_INTERNAL, -ENOMEM, "sandbox");
                process_fail(making->make.number, &err);
                free(making);
                return;
        }
        w->making = making;
        w->listener = w->control = -1;
        int r = docker_making_run(w, &err);
        if (r == 0)
                r = docker_making_report(w, &err);
        if (r < 0) {
                struct docker_sandbox *in_table =
                        w->sandbox && w->sandbox->handle ? docker_sandbox_take(w->sandbox->handle) : NULL;
                if (w->container[0] && container_remove(w->engine.socket, w->container, &ignored) < 0)
                        remains_add(w->engine.socket, w->container);
                if (w->has_place)
                        place_remove(&process.place, making->make.id);
                if (w->new_volume)
                        volume_remove(w->engine.socket, making->make.name, process.place.home, &ignored);
                process_fail(making->make.number, &err);
                if (in_table)
                        docker_sandbox_release(in_table);
        }
        if (w->sandbox)
                docker_sandbox_release(w->sandbox);
        sys_close(w->listener);
        sys_close(w->control);
        attach_free(w->attach);
        reply_image_done(&w->image);
        free(w);
        free(making);
}
