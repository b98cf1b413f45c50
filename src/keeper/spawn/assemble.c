/* keeper/spawn/assemble.c -- makes a sandbox.
 *
 * The child becomes init at once and sets up its isolation itself.  Meanwhile the caller makes the cgroups
 * and the network namespace on another core.  On cgroup v2 the child is cloned directly into its group, so
 * the group is made first. */
#include "keeper/spawn/assemble.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/memfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/limits.h"
#include "jail/cgroup_home.h"
#include "jail/spec.h"
#include "keeper/spawn/id_range.h"
#include "keeper/spawn/making.h"
#include "keeper/spawn/options.h"
#include "keeper/spawn/spawn.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/process.h"
#include "sys/raw.h"
#include "wire/init.h"
#include "wire/message.h"

#define ALL_WALLS ((WALL_PROC << 1) - 1)
/* The walls that remain for code that runs directly on the host. */
#define DIRECT_WALLS (WALL_PID | WALL_CGROUP | WALL_NO_NEW_PRIVS | WALL_RLIMIT | WALL_HYGIENE)
#define FIRST_UID                                                                                            \
        0x70000000u /* a range that no other software uses; the uid is this plus cgroup_number()             \
                     */

static void making_done_auto(struct making *m)
{
        for (size_t i = 0; i < m->spec.n_mounts; i++) {
                free(m->sources[i]);
                sys_close(m->mounts[i].idmap_fd);
                sys_close(m->mounts[i].tree_fd);
        }
        sys_close(m->own_program);
        sys_close(m->child_control);
}

bool sandbox_is_privileged(void)
{
        const ino_t first_user_namespace = 0xeffffffd; /* PROC_USER_INIT_INO */
        const uint32_t need =
                1u << CAP_SYS_ADMIN | 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_CHOWN | 1u << CAP_KILL;
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct have[2] = {{0}};
        struct stat st;
        return geteuid() == 0 && stat("/proc/self/ns/user", &st) == 0 && st.st_ino == first_user_namespace &&
               sys_call2(SYS_capget, &header, have) == 0 && (have[0].effective & need) == need;
}

/* Sets the uid and gid of the code inside the sandbox. */
static void choose_user(struct making *m, const struct cella_options *options)
{
        m->spec.inner_uid = m->parts->direct ? geteuid() : JAIL_UID;
        m->spec.inner_gid = m->spec.inner_uid;
        if (m->parts->image) {
                m->spec.inner_uid = m->parts->image->uid;
                m->spec.inner_gid = m->parts->image->gid;
        }
        if (options->user_root)
                m->spec.inner_uid = m->spec.inner_gid = 0;
}

static int spawn_assemble_prepare(struct making *m, const struct cella_options *options, uint32_t walls_down,
                                  struct cella_err *err)
{
        m->spec.limits = options->limits;
        choose_user(m, options);
        m->spec.walls = (m->parts->direct ? DIRECT_WALLS : ALL_WALLS) & ~walls_down;
        m->spec.direct = m->parts->direct;
        m->testing_users = walls_down & WALLS_SEVERAL_USERS;
        m->spec.view = m->parts->view;
        m->spec.privileged = m->parts->privileged ? *m->parts->privileged : sandbox_is_privileged();
        m->spec.host_uid = geteuid();
        m->spec.host_gid = getegid();
        m->spec.n_ids = 1;
        m->program = m->parts->program;
        if (m->program < 0)
                m->program = m->own_program = program_open_init();
        if (m->program >= 0)
                return 0;
        err_set(err, CELLA_ISOLATION_UNAVAILABLE, m->program, "cannot make init's memfd");
        return err_hint(err, "executable memfds must be allowed: sysctl vm.memfd_noexec=0 or 1");
}

/* For root, the cgroup is a wall that must stand.  An ordinary user has cgroups only by delegation.  Without
 * them the required limits fail, and the others are reported as missing. */
static int make_cgroup(struct sandbox *sb, struct making *m, uint32_t required, struct cella_err *err)
{
        const uint32_t all =
                CELLA_LIMIT_MEMORY | CELLA_LIMIT_CPUS | CELLA_LIMIT_CPU_TIME | CELLA_LIMIT_PROCESSES;
        if (!(m->spec.walls & WALL_CGROUP)) {
                sb->missing = all;
                return 0;
        }
        if (m->parts->cgroup && *m->parts->cgroup) {
                sb->cgroup = TAKE(*m->parts->cgroup);
                if (m->parts->user && m->parts->keep_user)
                        sb->user = TAKE_FD(*m->parts->user);
        }
        int r = sb->cgroup ? 0
                           : cgroup_new(m->parts->home, &sb->limits, m->parts->freezable, &sb->cgroup, err);
        if (r < 0 && m->spec.privileged)
                return err_hint(
                        err, "cgroup v1 or v2 must be writable at /sys/fs/cgroup, with memory and pids; in a "
                             "container: --cgroupns=private and processes in a group below its root");
        sb->missing = r < 0 ? all & ~CELLA_LIMIT_PROCESSES : cgroup_missing(sb->cgroup);
        if (r < 0) {
                m->spec.walls &= ~(uint32_t)WALL_CGROUP;
                m->spec.limit_processes_by_rlimit = true;
        }
        if (!(sb->missing & required))
                return 0;
        const struct limit *limit = limit_of_bits(sb->missing & required);
        err_say(err, CELLA_ISOLATION_UNAVAILABLE, -ENOTSUP,
                "cgroup: the limit %s (%s) cannot be enforced here", limit->name, limit->title);
        if (m->spec.privileged)
                return err_hint(err, "a group above this one must delegate the controller: "
                                     "echo +cpu > /sys/fs/cgroup/cgroup.subtree_control");
        return err_hint(err, "run as root, or with a delegated cgroup: systemd-run --user --scope -p "
                             "Delegate=yes cella ...");
}

/* Whether no directory of the host can be written to, so that no file with a set-user-id bit or with the
 * owner of another user appears there.  (A volume is a file of root that is only ever mounted with nosuid.)
 */
static bool writes_stay_inside(const struct making *m, const struct cella_options *options)
{
        bool inside = !options->workspace || !options->workspace_writable || m->parts->workspace_is_mount;
        for (size_t i = 0; i < options->n_mounts; i++)
                inside &= !options->mounts[i].writable;
        return inside;
}

/* An image that runs as root gets several users, if they cannot exceed the limits of the sandbox:
 * RLIMIT_NPROC and other limits count for each user, so the cgroup must count for all of them.  In any other
 * case, and if no range of ids is available, it has one user. */
static void choose_users(struct sandbox *sb, struct making *m, const struct cella_options *options)
{
        const uint32_t needed = CELLA_LIMIT_PROCESSES | CELLA_LIMIT_MEMORY;
        unsigned first;
        if (!(m->parts->image || m->testing_users) || m->parts->direct || m->spec.inner_uid != 0 ||
            m->spec.inner_gid >= JAIL_IDS || !(m->spec.walls & WALL_USER) || !sb->cgroup ||
            (sb->missing & needed))
                return;
        if (m->spec.privileged) {
                sb->id_range = id_range_take(&first);
                if (sb->id_range < 0)
                        return;
                m->spec.host_uid = m->spec.host_gid = first;
        } else if (!writes_stay_inside(m, options) || !subordinate_find(&m->ids)) {
                /* Without idmapped mounts, files of other users in a directory of the host would belong to
                 * subordinate ids, and the user could not remove them. */
                return;
        }
        m->spec.n_ids = JAIL_IDS;
        m->spec.set_id = writes_stay_inside(m, options);
}

/* Makes the cgroup, and chooses from it the host uid of the code. */
static int make_groups(struct sandbox *sb, struct making *m, const struct cella_options *options,
                       struct cella_err *err)
{
        int r = make_cgroup(sb, m, options->required, err);
        if (r < 0)
                return r;
        if (m->spec.privileged)
                m->spec.host_uid = m->spec.host_gid =
                        FIRST_UID + (sb->cgroup ? cgroup_number(sb->cgroup) : 0);
        choose_users(sb, m, options);
        return 0;
}

/* -EPIPE is no error here: a child that exited has sent its error, which sandbox_wait_ready() reads. */
static int sent(int r, struct cella_err *err)
{
        return r == -EPIPE ? 0 : r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot talk to the sandbox") : 0;
}

/* Fills the message and fds with borrowed descriptors.  Returns the number of fds or -errno. */
static int report_groups(const struct sandbox *sb, const struct making *m, struct init_groups *ret,
                         int fds[JAIL_CGROUP_FDS_MAX + 1], struct cella_err *err)
{
        *ret = (struct init_groups){
                .walls = m->spec.walls,
                .host_uid = m->spec.host_uid,
                .host_gid = m->spec.host_gid,
                .limit_processes_by_rlimit = m->spec.limit_processes_by_rlimit,
                .has_user = sb->user >= 0,
                .n_ids = m->spec.n_ids,
                .set_id = m->spec.set_id,
        };
        int n = sb->cgroup ? cgroup_join_fds(sb->cgroup, m->cloned_into_cgroup, fds, err) : 0;
        if (n >= 0 && sb->user >= 0)
                fds[n++] = sb->user;
        return n;
}

/* Whether the caller provides the network namespace.  Otherwise init makes its own or needs none. */
static bool gives_netns(const struct making *m)
{
        return m->spec.privileged && (m->spec.walls & WALL_NET);
}

static int ready_netns(const struct making *m)
{
        return gives_netns(m) && m->parts->netns ? m->parts->netns->fd : -1;
}

/* Collects the descriptors of INIT_BUILD: that of the view and, if all parts are ready, the rest.  Returns
 * their number. */
static int gather(struct sandbox *sb, const struct making *m, struct init_build *head,
                  int fds[MESSAGE_FDS_MAX], struct cella_err *err)
{
        int n = 0;
        if (m->spec.view != JAIL_VIEW_OWN)
                fds[n++] = m->parts->view_fd;
        if (!m->together)
                return n;
        int r = report_groups(sb, m, &head->groups, fds + n, err);
        if (r < 0)
                return r;
        n += r;
        head->together = true;
        head->has_netns = ready_netns(m) >= 0;
        if (head->has_netns)
                fds[n++] = ready_netns(m);
        return n;
}

static int send_build(struct sandbox *sb, const struct making *m, struct cella_err *err)
{
        int fds[MESSAGE_FDS_MAX];
        struct init_build head = {
                .walls = m->spec.walls,
                .privileged = m->spec.privileged,
                .inner_uid = m->spec.inner_uid,
                .inner_gid = m->spec.inner_gid,
                .host_uid = m->spec.host_uid,
                .host_gid = m->spec.host_gid,
                .n_mounts = (uint32_t)m->spec.n_mounts,
                .several = m->parts->freezable, /* long-lived: several executions */
                .network = m->parts->network,
                .direct = m->parts->direct,
                .view = m->spec.view,
                .ignored = m->parts->ignored ? *m->parts->ignored : sys_ignored_signals(),
                .limits = m->spec.limits,
        };
        int n_fds = gather(sb, m, &head, fds, err);
        if (n_fds < 0)
                return n_fds;
        struct init_mount mounts[INIT_MOUNTS_MAX];
        size_t fixed = m->spec.n_mounts * sizeof *mounts, len = fixed;
        for (size_t i = 0; i < m->spec.n_mounts; i++) {
                mounts[i] = (struct init_mount){
                        .writable = m->mounts[i].writable,
                        .idmap_fd = m->mounts[i].idmap_fd,
                        .tree_fd = m->mounts[i].tree_fd,
                };
                len += strlen(m->mounts[i].source) + strlen(m->mounts[i].target) + 2;
        }
        char *body = malloc(len + 1);
        if (!body)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "sandbox");
        char *p = body + fixed;
        memcpy(body, mounts, fixed);
        for (size_t i = 0; i < m->spec.n_mounts; i++) {
                p = stpcpy(p, m->mounts[i].source) + 1;
                p = stpcpy(p, m->mounts[i].target) + 1;
        }
        int r = message_send(sb->control, INIT_BUILD, m->parts->view_tag, fds, (unsigned)n_fds, &head,
                             sizeof head, body, len);
        free(body);
        return sent(r, err);
}

static int send_groups(struct sandbox *sb, const struct making *m, struct cella_err *err)
{
        int fds[JAIL_CGROUP_FDS_MAX + 1];
        struct init_groups groups;
        int n = report_groups(sb, m, &groups, fds, err);
        if (n < 0)
                return n;
        return sent(
                message_send(sb->control, INIT_GROUPS, 0, fds, (unsigned)n, &groups, sizeof groups, NULL, 0),
                err);
}

static int send_netns(struct sandbox *sb, bool keep, struct cella_err *err)
{
        struct netns_visit visit;
        uint64_t signals;
        /* No signal handler of the caller may run while its thread is in the other namespace. */
        sys_block_signals(&signals);
        int r = netns_visit(&visit), sending = 0;
        if (r == 0)
                sending = message_send(sb->control, INIT_GO, 0, &visit.fd, 1, NULL, 0, NULL, 0);
        if (r == 0 && keep)
                sb->netns.fd = sys_dup_above(visit.fd, 3);
        int left = netns_leave(&visit);
        sys_restore_signals(&signals);
        if (r == 0)
                r = left;
        return r < 0 ? err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "net: cannot make a namespace")
                     : sent(sending, err);
}

static int send_go(struct sandbox *sb, const struct making *m, struct cella_err *err)
{
        const int ready = ready_netns(m);
        if (gives_netns(m) && ready < 0)
                return send_netns(sb, m->parts->keep_netns, err);
        return sent(message_send(sb->control, INIT_GO, 0, &ready, ready >= 0, NULL, 0, NULL, 0), err);
}

int sandbox_assemble(const struct cella_options *options, const struct sandbox_parts *parts,
                     uint32_t walls_down, struct sandbox **ret, struct cella_err *err)
{
        AUTO(making_done)
        struct making m = {.parts = parts, .child_control = -1, .program = -1, .own_program = -1};
        int r = options_check(options, err);
        if (r < 0)
                return r;
        AUTO(sandbox_free) struct sandbox *sb = calloc(1, sizeof *sb);
        if (!sb)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "sandbox");
        sb->pidfd = sb->control = sb->user = sb->way_out[0] = sb->way_out[1] = sb->id_range = -1;
        sb->netns = NETNS_NONE;
        sb->keep_user = parts->keep_user;
        sb->image = parts->image ? sys_dup_above(parts->image->fd, 3) : -1;
        sb->network = parts->network;
        sb->direct = parts->direct;
        sb->limits = options->limits;
        sb->host_workspace = options->workspace != NULL;
        if (parts->id)
                snprintf(sb->id, sizeof sb->id, "%s", parts->id);
        else if ((r = id_make("sbx_", sb->id)) < 0)
                /* cppcheck-suppress memleak; AUTO frees it */
                return err_set(err, CELLA_INTERNAL, r, "cannot get random numbers");
        sb->spawn = spawn_new();
        if (!sb->spawn)
                /* cppcheck-suppress memleak; AUTO frees it */
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "sandbox");
        if ((r = spawn_assemble_prepare(&m, options, walls_down, err)) < 0 ||
            (r = spawn_make_control(sb, &m, err)) < 0)
                return r;
        /* The group must be made before the child if the child is cloned into it, if mounts are mapped to its
         * uid, or if it decides how many users the child has. */
        bool v2 = parts->home ? parts->home->v2 : cgroup_is_v2();
        const bool again = parts->cgroup && *parts->cgroup;
        bool groups_first = v2 || again || options->workspace || options->n_mounts > 0 || parts->freezable ||
                            (parts->image && !m.spec.privileged);
        if (groups_first && (r = make_groups(sb, &m, options, err)) < 0)
                return r;
        if ((r = making_add_mounts(&m, options, err)) < 0 || (r = spawn_child(sb, &m, err)) < 0)
                return r;
        m.together = again && (ready_netns(&m) >= 0 || !gives_netns(&m)) && !parts->image;
        if ((r = send_build(sb, &m, err)) < 0)
                return r;
        if (!groups_first && (r = make_groups(sb, &m, options, err)) < 0)
                return r;
        if (!m.together && ((r = making_map_image(&m, err)) < 0 || (r = send_groups(sb, &m, err)) < 0 ||
                            (r = send_go(sb, &m, err)) < 0))
                return r;
        if (sb->cgroup)
                cgroup_joined(sb->cgroup);
        if (ready_netns(&m) >= 0 && parts->keep_netns)
                sb->netns = netns_take(parts->netns);
        /* Must be set before the command is sent.  Done here, in parallel with init. */
        if (sb->cgroup && (r = cgroup_limit_sockets(sb->cgroup, &sb->limits, err)) < 0)
                return r;
        sb->host_uid = m.spec.privileged && (m.spec.walls & WALL_USER) ? m.spec.host_uid : geteuid();
        sb->user_root = options->user_root || (parts->image && parts->image->uid == 0);
        sb->walls = m.spec.walls;
        *ret = TAKE(sb);
        return 0;
}

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3: the file is meant to be executed */
#endif
#define ADD_SEALS 1033  /* F_ADD_SEALS */
#define SEAL_ALL 0x000f /* against sealing, shrinking, growing, writing */

/* Generated by the build. */
extern const char init_program[], egress_program[];
extern const uint64_t init_program_len, egress_program_len;

static int spawn_assemble_unpack(const char *name, const char *data, uint64_t len)
{
        int fd = sys_memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
        if (fd == -EINVAL)
                fd = sys_memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return fd;
        int r = sys_write_all(fd, data, len);
        if (r == 0)
                r = (int)sys_call3(SYS_fcntl, fd, ADD_SEALS, SEAL_ALL);
        if (r == 0)
                r = sys_dup_above(fd, INIT_FREE_FD);
        sys_close(fd);
        return r;
}

int program_open_init(void)
{
        return spawn_assemble_unpack("init", init_program, init_program_len);
}

int program_open_egress(void)
{
        return spawn_assemble_unpack("egress", egress_program, egress_program_len);
}
