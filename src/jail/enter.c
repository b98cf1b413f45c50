/* jail/enter.c -- sets up the isolation of the calling process.
 *
 * The order matters:
 * - the owner makes the cgroups and the network namespace on another core meanwhile, and sends them in the
 *   order in which they are needed.  If the owner has no privilege, a helper process makes the network
 *   namespace; it is started first;
 * - the process joins the cgroups itself, before foreign code has run in it: if the owner moved it, cgroup v1
 *   would wait 10 ms for all CPUs;
 * - the cgroup namespace is made afterwards, so that its root is the sandbox's own group;
 * - Landlock follows after privilege is dropped: it would prevent writing the uid map;
 * - the filter is last: it refuses most of the calls that the other steps need. */
#include "jail/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/err.h"
#include "jail/identity.h"
#include "jail/landlock.h"
#include "jail/netns.h"
#include "jail/rlimits.h"
#include "jail/seccomp.h"
#include "jail/view.h"
#include "jail/way_out.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/process.h"
#include "wire/init.h"
#include "wire/message.h"

static int lost_owner(struct cella_err *err)
{
        return err_say(err, CELLA_INTERNAL, -EPROTO, "the owner of the sandbox has exited");
}

int jail_set_groups(struct jail_spec *spec, const struct init_groups *groups, const int *fds, unsigned n_fds)
{
        if ((groups->n_ids != 1 && groups->n_ids != JAIL_IDS) ||
            (groups->n_ids != 1 &&
             (groups->has_user || spec->direct || spec->inner_uid != 0 || spec->inner_gid >= JAIL_IDS)) ||
            (groups->set_id && groups->n_ids == 1))
                return -EPROTO;
        if (groups->has_user > n_fds || n_fds - (groups->has_user != 0) > JAIL_CGROUP_FDS_MAX)
                return -EPROTO;
        spec->walls = groups->walls;
        spec->host_uid = groups->host_uid;
        spec->host_gid = groups->host_gid;
        spec->limit_processes_by_rlimit = groups->limit_processes_by_rlimit;
        spec->n_ids = groups->n_ids;
        spec->set_id = groups->set_id != 0;
        if (groups->has_user)
                spec->user_fd = fds[--n_fds];
        memcpy(spec->groups.fds, fds, n_fds * sizeof *fds);
        spec->groups.n_fds = n_fds;
        return 0;
}

/* Receives the cgroups and the host uid of the code. */
static int take_groups(struct jail_spec *spec, int control_fd, struct cella_err *err)
{
        struct message message;
        struct init_groups groups;
        if (spec->together)
                return 0;
        int r = message_receive(control_fd, &message, &groups, sizeof groups);
        if (r <= 0 || message.type != INIT_GROUPS || message.len != sizeof groups ||
            jail_set_groups(spec, &groups, message.fds, message.n_fds) < 0)
                return lost_owner(err);
        return 0;
}

static int join_groups(struct jail_spec *spec, struct cella_err *err)
{
        if (spec->groups.n_fds > 0) /* otherwise it was cloned into them */
                spec->cpu_outside_us = clock_cpu_us();
        for (unsigned i = 0; i < spec->groups.n_fds; i++) {
                ssize_t n = sys_write(spec->groups.fds[i], "0", 1);
                if (n < 0)
                        return err_set(err, CELLA_ISOLATION_UNAVAILABLE, (int)n, "cgroup: cannot join");
                sys_close(spec->groups.fds[i]);
        }
        int r = sys_unshare(CLONE_NEWCGROUP); /* also without an own group: hides the owner's group */
        return r < 0 ? err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "cgroup: cannot make a namespace") : 0;
}

static int take_go(struct jail_spec *spec, int control_fd, struct cella_err *err)
{
        struct message message;
        if (spec->together)
                return 0;
        int r = message_receive(control_fd, &message, NULL, 0);
        if (r <= 0 || message.type != INIT_GO)
                return lost_owner(err);
        spec->netns_fd = message.n_fds > 0 ? message.fds[0] : -1;
        return 0;
}

static int set_rlimits(const struct jail_spec *spec, struct cella_err *err)
{
        if (!(spec->walls & WALL_RLIMIT))
                return 0;
        /* A second limit behind the cgroup's.  The cgroup's must be reached first, because only its count can
         * be read afterwards.  Counted per user namespace since Linux 5.14. */
        uint64_t processes = 1 + spec->limits.processes + /* 1: init */
                             (spec->several ? JAIL_HELPERS : 0) + (spec->limit_processes_by_rlimit ? 0 : 8);
        /* The limit of a long-lived sandbox can be raised (cgroup_change()).  The second one could not: that
         * needs CAP_SYS_RESOURCE, which root lacks in many containers. */
        if (spec->several && !spec->limit_processes_by_rlimit)
                processes = RLIMITS_NO_PROCESSES;
        /* A volume (keeper/process/volume.c) is slightly larger than its limit.  The full disk must be
         * reached first, because only that can be reported. */
        uint64_t file =
                spec->limits.disk_bytes + (spec->several ? spec->limits.disk_bytes / 32 + (4u << 20) : 0);
        return rlimits_set(&spec->limits, file, processes, err);
}

static int tidy(const struct jail_spec *spec, struct cella_err *err)
{
        int r = 0;
        if (spec->walls & WALL_UTS)
                r = sys_sethostname("sandbox");
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "uts: cannot set the host name");
        /* A new UTS namespace starts with a copy of the host's names, and uname() shows both. */
        if (spec->walls & WALL_UTS)
                r = sys_setdomainname("(none)"); /* the kernel's default */
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "uts: cannot set the domain name");
        if (spec->walls & WALL_HYGIENE)
                r = sys_new_session_keyring();
        /* ENOSYS: a kernel without keys has nothing to inherit. */
        if (r < 0 && r != -ENOSYS)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "keyring: cannot start a new one");
        return set_rlimits(spec, err);
}

static int enter_netns(const struct jail_spec *spec, struct netns *own, struct cella_err *err)
{
        if (!(spec->walls & WALL_NET))
                return 0;
        int r = spec->netns_fd >= 0 ? sys_setns(spec->netns_fd, CLONE_NEWNET) : netns_join(own);
        return r < 0 ? err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "net: cannot make a namespace") : 0;
}

/* Makes the sockets of the network and sends them to the owner.  Neither the code nor init keeps them. */
static int give_way_out(const struct jail_spec *spec, int control_fd, struct cella_err *err)
{
        struct way_out way;
        if (!spec->network)
                return 0;
        if (!(spec->walls & WALL_NET))
                return err_say(err, CELLA_INTERNAL, -EINVAL, "egress: there is no namespace of its own");
        int r = way_out_make(&way, err);
        if (r < 0)
                return r;
        const int fds[] = {way.tcp, way.udp};
        r = message_send(control_fd, INIT_NETWORK, 0, fds, ARRAY_LEN(fds), NULL, 0, NULL, 0);
        sys_close(way.tcp);
        sys_close(way.udp);
        return r < 0 ? lost_owner(err) : 0;
}

static int load_filter(const struct jail_spec *spec, struct cella_err *err)
{
        if (!(spec->walls & WALL_SECCOMP))
                return 0;
        int r = seccomp_load(spec->set_id);
        return r < 0 ? err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "seccomp: cannot load the filter") : 0;
}

static int raise_walls(struct jail_spec *spec, int control_fd, struct cella_err *err)
{
        static BULKY struct netns own; /* static because the helper uses it */
        int r;
        if (!spec->privileged) {
                r = spec->walls & WALL_NET ? netns_start(&own, spec->proc_fd) : 0;
                if (r < 0)
                        return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "net: cannot start a helper");
        }
        /* If the host runs out of memory, the sandbox is killed first. */
        r = sys_write_file(spec->proc_fd, "self/oom_score_adj", "1000");
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "cannot set oom_score_adj");
        if ((r = view_build(spec, err)) < 0 || (r = take_groups(spec, control_fd, err)) < 0 ||
            (r = join_groups(spec, err)) < 0 || (r = view_give(spec, err)) < 0)
                return r;
        if (spec->several && (spec->census_fd = sys_proc(false)) < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, spec->census_fd,
                               "mount: cannot see processes");
        /* Here, because a /proc cannot be mounted by an ordinary user who sees only a restricted one. */
        if (spec->n_ids > 1 && (spec->own_proc_fd = sys_proc(true)) < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, spec->own_proc_fd,
                               "user: cannot mount /proc to map users");
        AUTO(sys_close)
        int ruleset = landlock_prepare(spec, err);
        if (ruleset < -1)
                return ruleset;
        if (ruleset < 0)
                spec->walls &= ~(uint32_t)WALL_LANDLOCK;
        /* The remaining steps are short.  Only leaving the host's mounts waits until the owner has made the
         * network namespace on its core. */
        if ((r = view_enter(spec, err)) < 0 || (r = tidy(spec, err)) < 0 ||
            (r = take_go(spec, control_fd, err)) < 0 || (r = enter_netns(spec, &own, err)) < 0 ||
            (r = give_way_out(spec, control_fd, err)) < 0 || (r = identity_drop(spec, err)) < 0)
                return r;
        if (spec->walls & WALL_NO_NEW_PRIVS) {
                r = sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);
                if (r < 0)
                        return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "cannot set no_new_privs");
        }
        r = landlock_restrict(ruleset, err);
        return r < 0 ? r : load_filter(spec, err);
}

/* Closes all descriptors from `first` on, except those that keep entries of /proc. */
static int close_others(const struct jail_spec *spec, unsigned first)
{
        for (unsigned i = 0; i < spec->n_pins; i++) {
                const unsigned kept = (unsigned)spec->pins[i];
                int r = kept > first ? sys_close_range(first, kept - 1, 0) : 0;
                if (r < 0)
                        return r;
                first = kept + 1;
        }
        return sys_close_range(first, ~0u, 0);
}

/* The last steps, after which nothing is opened any more. */
static int jail_enter_finish(struct jail_spec *spec, int control_fd)
{
        int r, last = control_fd;
        sys_umask(022);
        if (spec->several && (r = last = sys_dup3(spec->census_fd, JAIL_CENSUS_FD, O_CLOEXEC)) < 0)
                return r;
        if (seccomp_listener() >= 0 &&
            (r = last = spec->listener_fd = sys_dup3(seccomp_listener(), last + 1, O_CLOEXEC)) < 0)
                return r;
        if ((spec->walls & WALL_HYGIENE) && (r = close_others(spec, (unsigned)last + 1)) < 0)
                return r;
        /* The sandbox dies with its owner.  Set late, because a change of uid resets it. */
        if ((r = sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0)) < 0)
                return r;
        return sys_prctl(PR_SET_DUMPABLE, 0, 0);
}

int jail_enter(struct jail_spec *spec, int control_fd, struct cella_err *err)
{
        int r;
        sys_umask(0);
        if (spec->walls & WALL_HYGIENE)
                sys_setsid();
        spec->proc_fd = sys_openat(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY, 0);
        if (spec->proc_fd < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, spec->proc_fd, "mount: cannot open /proc");
        if ((r = raise_walls(spec, control_fd, err)) < 0)
                return r;
        r = jail_enter_finish(spec, control_fd);
        return r < 0 ? err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "hygiene: cannot finish") : 0;
}
