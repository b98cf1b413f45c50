/* jail/identity.c -- the user of the code: user namespaces, uids, capabilities.
 *
 * With and without root, the code ends up in a user namespace with a single uid and no capabilities.  The
 * mounts, the network and the processes of the sandbox belong to the namespace outside of it.  A process that
 * regained all capabilities in its own namespace would therefore have no power over them.
 *
 * With several users (spec->n_ids), the namespace has many ids, and the code has those capabilities that
 * concern only its own ids: to change the owners and modes of files that belong to them, and to become one of
 * them.  A file of any other owner is not affected: the kernel requires that its uid and gid are mapped.
 *
 * init also keeps CAP_KILL, because it must end processes of every user.  The capability is not in the
 * bounding set, so the exec of a command removes it. */
#include "jail/identity.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

/* Uses the host's /proc, because the sandbox's is read-only. */
static int map(const struct jail_spec *spec, unsigned inner_uid, unsigned inner_gid, unsigned uid,
               unsigned gid)
{
        char line[40];
        /* Changing uids made the process undumpable, which gives its /proc files to root. */
        int r = sys_prctl(PR_SET_DUMPABLE, 1, 0);
        if (r == 0)
                r = sys_write_file(spec->proc_fd, "self/setgroups", "deny");
        if (r < 0)
                return r;
        snprintf(line, sizeof line, "%u %u 1", inner_uid, uid);
        r = sys_write_file(spec->proc_fd, "self/uid_map", line);
        if (r < 0)
                return r;
        snprintf(line, sizeof line, "%u %u 1", inner_gid, gid);
        return sys_write_file(spec->proc_fd, "self/gid_map", line);
}

#define BIT(capability) (1u << (capability))
#define CODE_CAPABILITIES                                                                                    \
        (BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER) | BIT(CAP_FSETID) | BIT(CAP_SETGID) |      \
         BIT(CAP_SETUID))

static int jail_identity_fail(struct cella_err *err, int r, const char *what)
{
        return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "user: cannot %s", what);
}

int identity_map_self(struct jail_spec *spec, struct cella_err *err)
{
        AUTO(sys_close) int proc = spec->proc_fd = sys_openat(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY, 0);
        if (proc < 0)
                return jail_identity_fail(err, proc, "open /proc");
        int dumpable = sys_prctl(PR_GET_DUMPABLE, 0, 0);
        int r = map(spec, 0, 0, spec->host_uid, spec->host_gid);
        sys_prctl(PR_SET_DUMPABLE, (unsigned long)dumpable, 0); /* the memory still belongs to the owner */
        return r < 0 ? jail_identity_fail(err, r, "map the user into its namespace") : 0;
}

static int make_namespace(const struct jail_spec *spec, unsigned uid, unsigned gid, struct cella_err *err)
{
        int r = sys_unshare(CLONE_NEWUSER);
        if (r < 0)
                return jail_identity_fail(
                        err, r, "make a user namespace (is sysctl user.max_user_namespaces above 0?)");
        r = map(spec, spec->inner_uid, spec->inner_gid, uid, gid);
        return r < 0 ? jail_identity_fail(err, r, "map the user") : 0;
}

/* Enters the user namespace of a dead sandbox that had the same user. */
static int enter_namespace(const struct jail_spec *spec, struct cella_err *err)
{
        AUTO(sys_close) int namespace = spec->user_fd;
        int r = sys_setns(namespace, CLONE_NEWUSER);
        return r < 0 ? jail_identity_fail(err, r, "enter its user namespace") : 0;
}

/* Without privilege, the ids outside are the user's own one and its subordinate ones: two ranges, which one
 * line of a map cannot cover. */
static int write_range(const struct jail_spec *spec, const char *path, unsigned first)
{
        char lines[80];
        if (spec->privileged)
                snprintf(lines, sizeof lines, "0 %u %u", first, spec->n_ids);
        else
                snprintf(lines, sizeof lines, "0 %u 1\n1 %u %u", first, first + 1, spec->n_ids - 1);
        return sys_write_file(spec->own_proc_fd, path, lines);
}

/* Writes both maps of a process of the new namespace and opens the namespace. */
static int map_range(const struct jail_spec *spec, pid_t pid, unsigned uid, unsigned gid)
{
        char path[32];
        snprintf(path, sizeof path, "%d/uid_map", (int)pid);
        int r = write_range(spec, path, uid);
        if (r < 0)
                return r;
        snprintf(path, sizeof path, "%d/gid_map", (int)pid);
        if ((r = write_range(spec, path, gid)) < 0)
                return r;
        snprintf(path, sizeof path, "%d/ns/user", (int)pid);
        return sys_openat(spec->own_proc_fd, path, O_RDONLY, 0);
}

/* Makes a user namespace with several users and enters it.  Maps of several ids can only be written from
 * outside, so a child makes the namespace, and this process writes its maps.  The namespace belongs to the
 * first of its own users: what its users have of a resource that the kernel counts for each user is counted
 * for the owner, too, so that many users together have no more of it than one. */
static int make_range(const struct jail_spec *spec, unsigned uid, unsigned gid, struct cella_err *err)
{
        int pidfd = -1;
        /* The /proc files of the child, which inherits this, belong to its user. */
        int r = sys_prctl(PR_SET_DUMPABLE, 1, 0);
        if (r < 0)
                return jail_identity_fail(err, r, "map its users");
        pid_t pid = sys_fork(CLONE_NEWUSER, &pidfd);
        if (pid == 0)
                for (;;)
                        sys_call4(SYS_ppoll, 0, 0, 0, 0); /* until it is killed */
        if (pid < 0)
                return jail_identity_fail(
                        err, pid, "make a user namespace (is sysctl user.max_user_namespaces above 0?)");
        AUTO(sys_close) int namespace = map_range(spec, pid, uid, gid);
        sys_end_child(pid, pidfd);
        sys_wait(pid, NULL, __WALL, NULL);
        sys_close(pidfd);
        sys_close(spec->own_proc_fd);
        r = namespace < 0 ? namespace : sys_setns(namespace, CLONE_NEWUSER);
        if (r == 0 && (r = sys_setgroups_none()) == 0 && (r = sys_setresgid(spec->inner_gid)) == 0)
                r = sys_setresuid(spec->inner_uid);
        return r < 0 ? jail_identity_fail(err, r, "map its users") : 0;
}

/* Becomes the user on the host.  keep: with the capabilities, for make_range(). */
static int jail_identity_become(const struct jail_spec *spec, bool keep, struct cella_err *err)
{
        int r = keep ? sys_prctl(PR_SET_KEEPCAPS, 1, 0) : 0;
        /* Without an own user namespace, the new user could not drop the bounding set later. */
        if (r < 0 || (spec->direct && (r = sys_bound_capabilities(0)) < 0) ||
            (r = sys_setgroups_none()) < 0 || (r = sys_setresgid(spec->host_gid)) < 0 ||
            (r = sys_setresuid(spec->host_uid)) < 0 || (keep && (r = sys_raise_capabilities()) < 0))
                return jail_identity_fail(err, r, "become an unprivileged user");
        return 0;
}

/* Without no_new_privs, Landlock and the filter need CAP_SYS_ADMIN.  The exec of a command drops the
 * capabilities then: as a user other than root, or by the bounding set. */
static int drop_capabilities(const struct jail_spec *spec)
{
        const bool last = spec->walls & WALL_NO_NEW_PRIVS;
        if (spec->n_ids == 1)
                return last ? sys_drop_capabilities() : 0;
        int r = sys_bound_capabilities(CODE_CAPABILITIES);
        return r < 0 || !last ? r : sys_limit_capabilities(CODE_CAPABILITIES | BIT(CAP_KILL));
}

int identity_drop(const struct jail_spec *spec, struct cella_err *err)
{
        const bool range = spec->n_ids > 1;
        unsigned uid = 0; /* our ids in the namespace around ours */
        unsigned gid = 0;
        int r;
        if (!(spec->walls & WALL_USER) && !spec->direct)
                return 0;
        if (spec->privileged) {
                uid = spec->host_uid;
                gid = spec->host_gid;
                if ((r = jail_identity_become(spec, range, err)) < 0)
                        return r;
        }
        if (spec->privileged && spec->direct) {
                r = sys_clear_capabilities();
                return r < 0 ? jail_identity_fail(err, r, "drop capabilities") : 0;
        }
        r = range                ? make_range(spec, uid, gid, err)
            : spec->user_fd >= 0 ? enter_namespace(spec, err)
                                 : make_namespace(spec, uid, gid, err);
        if (r < 0)
                return r;
        r = drop_capabilities(spec);
        return r < 0 ? jail_identity_fail(err, r, "drop capabilities") : 0;
}
