/* jail/identity.c -- the user of the code: user namespaces, uids, capabilities.
 *
 * With and without root, the code ends up in a user namespace with a single uid and no capabilities.  The
 * mounts, the network and the processes of the sandbox belong to the namespace outside of it.  A process that
 * regained all capabilities in its own namespace would therefore have no power over them. */
#include "jail/identity.h"

#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "sys/file.h"
#include "sys/process.h"

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

static int fail(struct cella_err *err, int r, const char *what)
{
        return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "user: cannot %s", what);
}

int identity_map_self(struct jail_spec *spec, struct cella_err *err)
{
        AUTO(sys_close) int proc = spec->proc_fd = sys_openat(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY, 0);
        if (proc < 0)
                return fail(err, proc, "open /proc");
        int dumpable = sys_prctl(PR_GET_DUMPABLE, 0, 0);
        int r = map(spec, 0, 0, spec->host_uid, spec->host_gid);
        sys_prctl(PR_SET_DUMPABLE, (unsigned long)dumpable, 0); /* the memory still belongs to the owner */
        return r < 0 ? fail(err, r, "map the user into its namespace") : 0;
}

static int make_namespace(const struct jail_spec *spec, unsigned uid, unsigned gid, struct cella_err *err)
{
        int r = sys_unshare(CLONE_NEWUSER);
        if (r < 0)
                return fail(err, r, "make a user namespace (is sysctl user.max_user_namespaces above 0?)");
        r = map(spec, spec->inner_uid, spec->inner_gid, uid, gid);
        return r < 0 ? fail(err, r, "map the user") : 0;
}

/* Enters the user namespace of a dead sandbox that had the same user. */
static int enter_namespace(const struct jail_spec *spec, struct cella_err *err)
{
        AUTO(sys_close) int namespace = spec->user_fd;
        int r = sys_setns(namespace, CLONE_NEWUSER);
        return r < 0 ? fail(err, r, "enter its user namespace") : 0;
}

int identity_drop(const struct jail_spec *spec, struct cella_err *err)
{
        unsigned uid = 0; /* our ids in the namespace around ours */
        unsigned gid = 0;
        int r;
        if (!(spec->walls & WALL_USER) && !spec->direct)
                return 0;
        if (spec->privileged) {
                uid = spec->host_uid;
                gid = spec->host_gid;
                /* Without an own user namespace, the new user could not drop the bounding set later. */
                if ((spec->direct && (r = sys_bound_capabilities()) < 0) || (r = sys_setgroups_none()) < 0 ||
                    (r = sys_setresgid(gid)) < 0 || (r = sys_setresuid(uid)) < 0)
                        return fail(err, r, "become an unprivileged user");
        }
        if (spec->privileged && spec->direct) {
                r = sys_clear_capabilities();
                return r < 0 ? fail(err, r, "drop capabilities") : 0;
        }
        r = spec->user_fd >= 0 ? enter_namespace(spec, err) : make_namespace(spec, uid, gid, err);
        if (r < 0)
                return r;
        /* Without no_new_privs, Landlock and the filter need CAP_SYS_ADMIN.  The exec of init as a user other
         * than root drops the capabilities then. */
        r = spec->walls & WALL_NO_NEW_PRIVS ? sys_drop_capabilities() : 0;
        return r < 0 ? fail(err, r, "drop capabilities") : 0;
}
