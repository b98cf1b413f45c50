/* jail/view_shared.c -- a view of which the fixed part is built once for many sandboxes.
 *
 * Most sandboxes of a daemon have the same read-only files.  The first one builds this part in its mount
 * namespace, pivots into it, unmounts the host's tree and sends the keeper a descriptor of the namespace.
 * Then it continues in a copy.  Later sandboxes also make a copy, which is a quarter of the work and does not
 * involve the host's tree.
 *
 * Nothing can pass from one sandbox to another this way: every mount of the fixed part is read-only in each
 * copy (device nodes lead to the host's devices, as everywhere), no code has rights to the mounts, and
 * nothing is mounted in the shared namespace any more.  The code's own files are on a new tmpfs each time
 * (view_disk.c), and its terminals in a new devpts. */
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

#define COMMON_BYTES (256u << 20) /* as most sandboxes have; not writable */
#define COMMON_INODES 65536

static int show_own(struct jail_spec *spec, struct cella_err *err)
{
        int r;
        if ((r = view_show_disk(spec, err)) < 0 || (r = view_show_terminals(err)) < 0)
                return r;
        return view_show_proc(spec, err);
}

int view_take(struct jail_spec *spec, struct cella_err *err)
{
        int r = sys_setns(spec->view_fd, CLONE_NEWNS);
        const bool there = r == 0;
        sys_close(TAKE_FD(spec->view_fd));
        /* unshare() makes a copy of the view, or of the host's mounts if a security module refused
         * setns(). */
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
        /* The root's size is visible to other sandboxes, so it must not reveal the disk limit of this one. */
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
        /* Errors are ignored: the next sandbox builds another view. */
        if (namespace >= 0)
                message_send(spec->view_fd, INIT_VIEW, spec->view_tag, &namespace, 1, NULL, 0, NULL, 0);
        return 0;
}
