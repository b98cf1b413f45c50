/* keeper/spawn/making.c -- prepares the mounts of a sandbox: its image, its workspace, other host
 * directories. */
#include "keeper/spawn/making.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "keeper/spawn/idmap.h"
#include "sys/file.h"
#include "sys/mount.h"

/* Clones the mount of a source by the descriptor that the caller checked, so that it cannot be exchanged.
 * Only root can do this, and only root's checks protect against another user. */
static int open_tree(struct making *m, size_t i, int source_fd, struct cella_err *err)
{
        if (source_fd < 0 || !m->spec.privileged)
                return 0;
        const bool is_mount = m->parts->workspace_is_mount && source_fd == m->parts->workspace_fd;
        AUTO(sys_close)
        int low = is_mount ? sys_dup_above(source_fd, 3) : sys_open_tree_clone(source_fd, "", true);
        int r = low < 0 ? low : sys_mount_private(low);
        if (r >= 0)
                r = m->mounts[i].tree_fd = sys_dup_above(low, INIT_FREE_FD);
        return r < 0 ? err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "mount '%.120s'", m->sources[i]) : 0;
}

/* source_fd: an open descriptor of source, or -1. */
static int add_mount(struct making *m, const char *source, int source_fd, const char *target, bool writable,
                     struct cella_err *err)
{
        struct stat st;
        size_t i = m->spec.n_mounts;
        m->sources[i] = source_fd >= 0 ? strdup(source) : realpath(source, NULL);
        if (!m->sources[i] || (source_fd >= 0 ? fstat(source_fd, &st) : stat(m->sources[i], &st)) < 0) {
                int r = -errno;
                free(m->sources[i]);
                return err_set(err, CELLA_INVALID_REQUEST, r, "mount '%.120s'", source);
        }
        m->mounts[i] = (struct jail_mount){m->sources[i], target, writable, -1, -1};
        m->spec.n_mounts++;
        int r = open_tree(m, i, source_fd, err);
        if (r < 0 || !m->spec.privileged || !(m->spec.walls & WALL_USER))
                return r;
        /* Of a volume, all users of the sandbox can own files, also its first directory.  In a directory of
         * the host only the first one can: its files belong to the owner of the directory. */
        const bool volume = m->parts->workspace_is_mount && source_fd == m->parts->workspace_fd;
        int fd = volume && m->spec.n_ids > 1 ? idmap_open(0, 0, m->spec.host_uid, m->spec.n_ids, err)
                                             : idmap_open(st.st_uid, st.st_gid, m->spec.host_uid, 1, err);
        if (fd < 0)
                return fd;
        m->mounts[i].idmap_fd = fd;
        return 0;
}

/* For root, the image becomes a mount whose owners making_map_image() changes.  Without root, init finds it
 * by its path. */
static int add_image(struct making *m, struct cella_err *err)
{
        const struct sandbox_image *image = m->parts->image;
        if (!image)
                return 0;
        m->mounts[0] = (struct jail_mount){image->root, "/", false, -1, -1};
        m->spec.n_mounts = 1;
        if (!m->spec.privileged)
                return 0;
        AUTO(sys_close) int low = sys_open_tree_clone(image->fd, "", false);
        int r = low < 0 ? low : sys_mount_private(low);
        if (r >= 0)
                r = m->mounts[0].tree_fd = sys_dup_above(low, INIT_FREE_FD);
        return r < 0 ? err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "mount: cannot show the image") : 0;
}

/* On disk all files of an image belong to the owner of the store; in the sandbox they belong to the code.
 * The namespace is not kept for reuse, because the next uid may differ. */
int making_map_image(const struct making *m, struct cella_err *err)
{
        struct stat st;
        if (!m->parts->image || !m->spec.privileged || !(m->spec.walls & WALL_USER))
                return 0;
        if (fstat(m->parts->image->fd, &st) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "image");
        AUTO(sys_close) int idmap = idmap_open(st.st_uid, st.st_gid, m->spec.host_uid, 1, err);
        if (idmap < 0)
                return idmap;
        int r = sys_mount_idmap(m->mounts[0].tree_fd, idmap, false);
        if (r >= 0)
                return 0;
        err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "mount: cannot map the owner of the image's files");
        return err_hint(err, "the store's file system has no idmapped mounts: keep the state directory on "
                             "ext4, xfs or btrfs (--state DIR, or CELLA_STATE)");
}

int making_add_mounts(struct making *m, const struct cella_options *options, struct cella_err *err)
{
        m->spec.mounts = m->mounts;
        int r = add_image(m, err);
        if (r < 0)
                return r;
        if (options->workspace)
                r = add_mount(m, options->workspace, m->parts->workspace_fd, "/workspace",
                              options->workspace_writable, err);
        for (size_t i = 0; i < options->n_mounts && r == 0; i++)
                r = add_mount(m, options->mounts[i].source, m->parts->mount_fds ? m->parts->mount_fds[i] : -1,
                              options->mounts[i].target, options->mounts[i].writable, err);
        return r;
}
