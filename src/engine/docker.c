#include "engine/docker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "keeper/spawn/docker_process.h"
#include "keeper/spawn/options.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"
#include "sys/rights.h"
#include "wire/docker.h"
#include "wire/mounts.h"

#define OPEN_PATIENCE_US 60000000
#define MAKE_PATIENCE_US 180000000 /* for an engine under load; each of its steps has its own limit */
#define COUNT_PATIENCE_US 5000000
#define DEATH_PATIENCE_US 30000000
#define INIT_PATIENCE_S 60

struct remote {
        struct docker_process process;
        uint32_t number;
        uint32_t handle; /* 0: not made yet */
        bool died, podman;
};

static void remote_free(struct remote *r)
{
        if (!r)
                return;
        docker_process_end(&r->process);
        free(r);
}
DEFINE_AUTO(struct remote *, remote_free)

/* Any answer of cella-docker. */
struct answer {
        union {
                struct {
                        uint32_t type, number;
                };
                struct keeper_about about;
                struct keeper_failed failed;
                struct keeper_counted counted;
                struct docker_opened opened;
                struct docker_made made;
                char bytes[sizeof(struct docker_made) + DOCKER_IMAGE_MAX];
        };
        size_t len;
        int fd;
};

static int engine_docker_gone(struct cella_err *err)
{
        err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPIPE, "cella-docker has ended");
        return err_hint(err, "try again; its containers are removed when it starts the next time");
}

static int engine_docker_receive(int socket, struct answer *a)
{
        union {
                char space[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control;
        struct iovec part = {a->bytes, sizeof a->bytes};
        struct msghdr msg = {
                .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        unsigned n_fds = 0;
        long n;
        a->fd = -1;
        do {
                n = sys_call3(SYS_recvmsg, socket, &msg, MSG_CMSG_CLOEXEC);
        } while (n == -EINTR);
        if (n < (long)sizeof a->about)
                return -EPIPE;
        sys_rights_take(&msg, &a->fd, &n_fds, 1);
        a->len = (size_t)n;
        return 0;
}

static int engine_docker_post(struct remote *r, const void *packet, size_t len, struct cella_err *err)
{
        long n = sys_call6(SYS_sendto, r->process.socket, (long)packet, (long)len, MSG_NOSIGNAL, 0, 0);
        return n < 0 ? engine_docker_gone(err) : 0;
}

/* Waits for the answer to the last request.  Also notes the death of the container. */
static int await(struct remote *r, int64_t patience_us, struct answer *a, struct cella_err *err)
{
        const int64_t until = clock_us() + patience_us;
        for (;;) {
                struct pollfd fd = {r->process.socket, POLLIN, 0};
                int64_t left = until - clock_us();
                if (left <= 0 || sys_poll(&fd, 1, left) == 0)
                        return err_say(err, CELLA_ENGINE_UNAVAILABLE, -ETIMEDOUT,
                                       "the container engine did not answer in time");
                if (engine_docker_receive(r->process.socket, a) < 0)
                        return engine_docker_gone(err);
                if (a->number == 0 && a->type == KEEPER_DIED)
                        r->died = true;
                else if (a->number == r->number)
                        break;
                sys_close(a->fd);
        }
        if (a->type != KEEPER_FAILED)
                return 0;
        sys_close(a->fd);
        if (a->len != sizeof a->failed)
                return engine_docker_gone(err);
        *err = a->failed.err;
        err->msg[sizeof err->msg - 1] = err->hint[sizeof err->hint - 1] = '\0';
        return err->num < 0 ? err->num : -EIO;
}

static int nonsense(struct cella_err *err)
{
        return err_say(err, CELLA_INTERNAL, -EPROTO, "cella-docker broke the protocol");
}

/* ---- operations of an existing sandbox ---- */

static void engine_docker_report(struct remote *r, enum keeper_request type)
{
        struct cella_err ignored = {0};
        const struct keeper_about about = {.type = type, .number = ++r->number, .sandbox = r->handle};
        engine_docker_post(r, &about, sizeof about, &ignored);
}

static void remote_kill(void *context)
{
        struct remote *r = context;
        if (!r->died)
                engine_docker_report(r, KEEPER_KILL);
}

static void remote_reap(void *context)
{
        struct remote *r = context;
        const int64_t until = clock_us() + DEATH_PATIENCE_US;
        remote_kill(r);
        while (!r->died) {
                struct pollfd fd = {r->process.socket, POLLIN, 0};
                struct answer *a = malloc(sizeof *a);
                int64_t left = until - clock_us();
                bool heard = a && left > 0 && sys_poll(&fd, 1, left) > 0 &&
                             engine_docker_receive(r->process.socket, a) == 0;
                if (heard && a->type == KEEPER_DIED)
                        r->died = true;
                if (heard)
                        sys_close(a->fd);
                free(a);
                if (!heard)
                        return;
        }
}

static bool remote_usage(void *context, struct cgroup_usage *ret)
{
        struct remote *r = context;
        struct cella_err ignored = {0};
        struct answer *a = malloc(sizeof *a);
        engine_docker_report(r, KEEPER_COUNT);
        bool counted = a && await(r, COUNT_PATIENCE_US, a, &ignored) == 0 && a->type == KEEPER_COUNTED &&
                       a->len == sizeof a->counted;
        if (counted)
                *ret = (struct cgroup_usage){
                        .cpu_us = a->counted.cpu_us,
                        .memory_bytes = a->counted.memory_bytes,
                        .memory_peak_bytes = a->counted.memory_peak_bytes,
                        .processes = a->counted.processes,
                        .processes_peak = a->counted.processes_peak,
                        .oom_kills = a->counted.oom_kills,
                        .forks_refused = a->counted.forks_refused,
                        .cpu_known = a->counted.known & KEEPER_KNOWS_CPU,
                        .memory_known = a->counted.known & KEEPER_KNOWS_MEMORY,
                        .processes_known = a->counted.known & KEEPER_KNOWS_PROCESSES,
                };
        free(a);
        return counted;
}

/* Closing the socket ends the container. */
static void remote_done(void *context)
{
        remote_free(context);
}

static const struct sandbox_remote remote_ops = {remote_kill, remote_reap, remote_usage, remote_done};

/* ---- making a sandbox ---- */

int docker_home(const char *state, char *ret, size_t size, struct cella_err *err)
{
        static const char end[] = "/" IMAGE_STORE;
        int r = image_store_path(state, ret, size, err);
        size_t len = r < 0 ? 0 : strlen(ret);
        if (r < 0)
                return r;
        if (len < sizeof end || strcmp(ret + len - (sizeof end - 1), end) != 0 || len + 2 > size)
                return err_say(err, CELLA_INTERNAL, -EINVAL, "docker: the path of its directory is too long");
        memcpy(ret + len - (sizeof end - 1), DOCKER_HOME, sizeof DOCKER_HOME);
        return 0;
}

static int open_engine(struct remote *r, struct answer *a, struct cella_err *err)
{
        const struct docker_open open = {.type = DOCKER_OPEN, .number = ++r->number};
        int e = engine_docker_post(r, &open, sizeof open, err);
        if (e == 0)
                e = await(r, OPEN_PATIENCE_US, a, err);
        if (e < 0)
                return e;
        if (a->type != DOCKER_OPENED || a->len != sizeof a->opened)
                return nonsense(err);
        a->opened.version[sizeof a->opened.version - 1] = a->opened.runtimes[sizeof a->opened.runtimes - 1] =
                '\0';
        r->podman = a->opened.podman != 0;
        return 0;
}

static int engine_docker_begin(struct remote **ret, struct answer *a, struct cella_err *err)
{
        char home[512];
        AUTO(remote_free) struct remote *r = calloc(1, sizeof *r);
        if (!r)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "docker");
        r->process = DOCKER_PROCESS_NONE;
        int e = docker_home(NULL, home, sizeof home, err);
        if (e == 0)
                e = docker_process_start(home, NULL, &r->process, err);
        if (e == 0)
                e = child_confirm(&r->process.child, "cella-docker", err);
        if (e == 0)
                e = open_engine(r, a, err);
        if (e == 0)
                *ret = TAKE(r);
        return e;
}

int docker_find(struct docker_opened *ret, struct cella_err *err)
{
        AUTO(remote_free) struct remote *r = NULL;
        struct answer *a = malloc(sizeof *a);
        int e = a ? engine_docker_begin(&r, a, err) : err_set(err, CELLA_INTERNAL, -ENOMEM, "docker");
        if (e == 0)
                *ret = a->opened;
        free(a);
        return e;
}

/* Uses real paths: the engine has another working directory and follows other links. */
static int put_mount(char *text, size_t *len, const struct cella_mount *mount, struct cella_err *err)
{
        char *real = realpath(mount->source, NULL);
        if (!real)
                return err_set(err, CELLA_INVALID_REQUEST, -errno, "mount '%.120s'", mount->source);
        const struct mounts_item item = {real, mount->target, mount->writable};
        int r = mounts_put(text, DOCKER_MAKE_MAX - sizeof(struct keeper_make), len, &item);
        free(real);
        return r < 0 ? err_say(err, CELLA_INVALID_REQUEST, r, "the mounts have more than %u bytes",
                               DOCKER_MAKE_MAX)
                     : 0;
}

static int put_mounts(char *text, size_t *len, const struct cella_options *o, struct cella_err *err)
{
        const struct cella_mount workspace = {o->workspace, "/workspace", o->workspace_writable};
        int e = o->workspace ? put_mount(text, len, &workspace, err) : 0;
        for (size_t i = 0; i < o->n_mounts && e == 0; i++)
                e = put_mount(text, len, &o->mounts[i], err);
        return e;
}

static int ask_for_one(struct remote *r, const struct cella_options *o, const char *id, struct answer *a,
                       struct cella_err *err)
{
        struct keeper_make make;
        char *packet = malloc(DOCKER_MAKE_MAX);
        size_t len = 0;
        const char *image = o->image ? o->image : IMAGE_HOST;
        memset(&make, 0, sizeof make);
        make.type = KEEPER_MAKE;
        make.number = ++r->number;
        make.required = o->required;
        make.user_root = o->user_root;
        make.network = o->network.tier != CELLA_RESTRICTED;
        make.limits = o->limits;
        memcpy(make.id, id, strlen(id) + 1);
        int e = !packet ? err_set(err, CELLA_INTERNAL, -ENOMEM, "docker")
                : strlen(image) >= sizeof make.image
                        ? err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG, "an image's name is too long")
                        : 0;
        if (e == 0) {
                memcpy(make.image, image, strlen(image) + 1);
                e = put_mounts(packet + sizeof make, &len, o, err);
        }
        if (e == 0) {
                make.mounts_len = (uint32_t)len;
                memcpy(packet, &make, sizeof make);
                e = engine_docker_post(r, packet, sizeof make + len, err);
        }
        free(packet);
        return e < 0 ? e : await(r, MAKE_PATIENCE_US, a, err);
}

static int take_image(const struct answer *a, struct image **ret, struct cella_err *err)
{
        const struct docker_made *made = &a->made;
        char id[IMAGE_ID_LEN + 1];
        if (a->len < sizeof *made || a->len - sizeof *made != made->len)
                return nonsense(err);
        memcpy(id, made->image, IMAGE_ID_LEN);
        id[IMAGE_ID_LEN] = '\0';
        return image_parse(a->bytes + sizeof *made, made->len, id, NULL, ret, err);
}

/* Returns the uid of init, which is that of the code. */
static unsigned peer_uid(int control)
{
        struct ucred peer = {.uid = geteuid()};
        socklen_t size = sizeof peer;
        getsockopt(control, SOL_SOCKET, SO_PEERCRED, &peer, &size);
        return peer.uid;
}

static struct sandbox *engine_docker_wrap(struct remote *r, const struct cella_options *o, const char *id,
                                          const struct answer *a)
{
        const struct timeval patience = {.tv_sec = INIT_PATIENCE_S};
        struct sandbox *sb = calloc(1, sizeof *sb);
        if (!sb)
                return NULL;
        memcpy(sb->id, id, strlen(id) + 1);
        sb->limits = o->limits;
        sb->walls = ~WALLS_SEVERAL_USERS; /* until init reports those that stand */
        sb->missing = a->made.made.missing;
        sb->netns = NETNS_NONE;
        sb->pidfd = sb->image = sb->user = sb->id_range = sb->way_out[0] = sb->way_out[1] = -1;
        sb->control = a->fd;
        sb->host_uid = peer_uid(a->fd);
        sb->host_workspace = o->workspace != NULL;
        sb->network = o->network.tier != CELLA_RESTRICTED;
        sb->remote = &remote_ops;
        sb->context = r;
        r->handle = a->made.made.sandbox;
        setsockopt(sb->control, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(sb->control, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        return sb;
}

static int engine_docker_make(const struct cella_options *o, struct answer *a, struct sandbox **ret,
                              struct image **ret_image, struct cella_err *err)
{
        AUTO(remote_free) struct remote *r = NULL;
        AUTO(image_free) struct image *image = NULL;
        char id[ID_SIZE];
        int e = id_make("sbx_", id);
        if (e < 0)
                return err_set(err, CELLA_INTERNAL, e, "cannot make an id");
        if ((e = engine_docker_begin(&r, a, err)) < 0 || !r || (e = ask_for_one(r, o, id, a, err)) < 0)
                return e;
        AUTO(sys_close) int control = a->fd;
        if (a->type != DOCKER_MADE || control < 0)
                return nonsense(err);
        if ((e = take_image(a, &image, err)) < 0)
                return e;
        struct sandbox *sb = engine_docker_wrap(r, o, id, a);
        if (!sb)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "sandbox");
        (void)TAKE_FD(control); /* the sandbox now owns control and r */
        (void)TAKE(r);
        *ret = sb;
        *ret_image = TAKE(image);
        return 0;
}

int docker_sandbox_new(const struct cella_options *options, struct sandbox **ret, struct image **ret_image,
                       struct cella_err *err)
{
        if (strcmp(options->engine, "docker") != 0) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "no engine '%.40s'", options->engine);
                return err_hint(err, "there are native and docker (which is Docker or Podman)");
        }
        int e = options_check(options, err);
        if (e < 0)
                return e;
        struct answer *a = malloc(sizeof *a);
        e = a ? engine_docker_make(options, a, ret, ret_image, err)
              : err_set(err, CELLA_INTERNAL, -ENOMEM, "sandbox");
        free(a);
        return e;
}

const char *docker_sandbox_engine(const struct sandbox *sandbox)
{
        const struct remote *r = sandbox->context;
        return r && r->podman ? "podman" : "docker";
}
