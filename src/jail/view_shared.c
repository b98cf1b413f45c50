/* jail/view_shared.c -- a view whose fixed part was built once, for many sandboxes.
 *
 * Most sandboxes of a daemon differ in nothing that they cannot write to.  So the first one builds that part
 * in its mount namespace, goes into it, lets the host's tree go, and gives the keeper a descriptor of the
 * namespace; then it moves on to a copy.  Whoever comes after it copies it as well, which is a quarter of the
 * work, and has nothing to do with the host's tree at all.
 *
 * Nothing can get from one sandbox to another this way: every mount of the fixed part is read-only in each
 * copy (device nodes lead to the host's devices, as anywhere), no code has a right over any of them, and
 * nothing is ever mounted in the namespace that was left.  What is the code's own is a new tmpfs each time
 * (view_disk.c). */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>

#include "base/auto.h"
#include "base/err.h"
#include "jail/view.h"
#include "jail/view_parts.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/process.h"
#include "wire/init.h"
#include "wire/message.h"

#define COMMON_BYTES (256u << 20) /* what most sandboxes have; nobody can write there */
#define COMMON_INODES 65536

static int show_own(struct jail_spec *spec, struct cella_err *err)
{
        int r = view_show_disk(spec, err);
        return r < 0 ? r : view_show_proc(spec, err);
}

int view_take(struct jail_spec *spec, struct cella_err *err)
{
        int r = sys_setns(spec->view_fd, CLONE_NEWNS);
        const bool there = r == 0;
        sys_close(TAKE_FD(spec->view_fd));
        /* From here on in a copy; or, where a security module does not let us in, in one of the host's. */
        r = sys_unshare(CLONE_NEWNS);
        if (r < 0)
                return view_fail(err, r, "copy", "the view");
        if (there)
                return show_own(spec, err);
        spec->view = JAIL_VIEW_OWN;
        return 1;
}

int view_leave(struct jail_spec *spec, struct cella_err *err)
{
        struct jail_spec common = *spec;
        int r;
        /* The root shows how large it is, and not everybody is to see how large this sandbox's disk is. */
        common.limits.disk_bytes = COMMON_BYTES;
        common.limits.disk_inodes = COMMON_INODES;
        if ((r = view_build_fixed(&common, err)) < 0 || (r = view_pivot(spec, err)) < 0)
                return r; /* now it is read-only */
        AUTO(sys_close) int namespace = sys_openat(spec->proc_fd, "self/ns/mnt", O_RDONLY, 0);
        r = sys_unshare(CLONE_NEWNS);
        if (r < 0)
                return view_fail(err, r, "leave", "the view");
        if ((r = show_own(spec, err)) < 0)
                return r;
        /* Nobody needs it: if it does not get there, the next one builds another. */
        if (namespace >= 0)
                message_send(spec->view_fd, INIT_VIEW, spec->view_tag, &namespace, 1, NULL, 0, NULL, 0);
        return 0;
}
