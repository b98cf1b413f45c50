#include "image/unpack/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/file.h"

void place_init(struct place *p, int top)
{
        p->top = top;
        p->parent = -1;
        p->parent_path[0] = '\0';
}

void place_done(struct place *p)
{
        if (p->parent >= 0)
                sys_close(p->parent);
        p->parent = -1;
}

int place_refuse(const char *path, const char *why, struct cella_err *err)
{
        return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "the archive was refused: '%.120s' %s", path,
                       why);
}

int place_fail(const char *path, int r, struct cella_err *err)
{
        if (r == -ENOSPC || r == -EDQUOT) {
                err_set(err, CELLA_INTERNAL, r, "the image does not fit in the store");
                return err_hint(err,
                                "remove images (cella image rm, cella image gc), or free space on the disk");
        }
        return err_set(err, CELLA_INTERNAL, r, "cannot unpack '%.120s'", path);
}

/* ---- the parent directory of an entry ---- */

/* Follows links only if there are any.  Then the path does not show the depth, and the directory itself is
 * examined, so that no tree becomes deeper than the functions that walk it support. */
static int resolve(int top, const char *path)
{
        int fd = tree_open(top, path, O_PATH | O_DIRECTORY);
        if (fd != -ELOOP)
                return fd;
        fd = tree_open_in(top, path, O_PATH | O_DIRECTORY);
        if (fd < 0)
                return fd;
        int depth = tree_depth(top, fd);
        if (depth < 0 || depth >= TREE_DEPTH_MAX) {
                sys_close(fd);
                return depth < 0 ? depth : -E2BIG;
        }
        return fd;
}

int place_path(int top, const char *path)
{
        char part[TREE_PATH_MAX];
        AUTO(sys_close) int at = sys_dup_above(top, 0);
        if (at < 0)
                return at;
        for (const char *p = path;; p++) {
                size_t len = strcspn(p, "/");
                size_t whole = (size_t)(p - path) + len;
                memcpy(part, path, whole);
                part[whole] = '\0';
                int fd = resolve(top, part);
                if (fd == -ENOENT) {
                        int r = sys_mkdirat(at, part + (p - path), 0755);
                        if (r < 0)
                                return r == -EEXIST ? -ENOTDIR : r; /* a dangling link */
                        fd = resolve(top, part);
                }
                if (fd < 0)
                        return fd;
                sys_close(at);
                at = fd;
                p += len;
                if (!*p)
                        return TAKE_FD(at);
        }
}

static int unpack_place_open_parent(struct place *p, const char *path, const char *parent,
                                    struct cella_err *err)
{
        if (p->parent >= 0 && strcmp(parent, p->parent_path) == 0)
                return p->parent;
        place_done(p);
        int fd = resolve(p->top, parent);
        if (fd == -ENOENT)
                fd = place_path(p->top, parent);
        if (fd == -ENOTDIR || fd == -ELOOP)
                return place_refuse(path, "is below something that is not a directory", err);
        if (fd == -E2BIG || fd == -ENAMETOOLONG)
                return place_refuse(path, "is too deep", err);
        if (fd < 0)
                return place_fail(path, fd, err);
        memcpy(p->parent_path, parent, strlen(parent) + 1);
        p->parent = fd;
        return fd;
}

/* Finds the parent directory of path, and the name in it. */
static int locate(struct place *p, const char *path, const char **ret_name, struct cella_err *err)
{
        char parent[TREE_PATH_MAX];
        if (path[0] == '\0')
                return place_refuse("/", "must be a directory", err);
        *ret_name = tree_split(path, parent);
        return unpack_place_open_parent(p, path, parent, err);
}

/* ---- entries ---- */

int place_file(struct place *p, const char *path, unsigned mode, struct cella_err *err)
{
        const char *name;
        const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
        int at = locate(p, path, &name, err);
        if (at < 0)
                return at;
        int fd = sys_openat(at, name, flags, mode);
        if (fd == -EEXIST) {
                fd = tree_remove(at, name);
                if (fd == 0)
                        fd = sys_openat(at, name, flags, mode);
        }
        return fd < 0 ? place_fail(path, fd, err) : fd;
}

static int change_mode(int at, const char *name, unsigned mode)
{
        AUTO(sys_close) int fd = sys_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd < 0)
                return fd;
        return fchmod(fd, mode) < 0 ? -errno : 0;
}

int place_directory(struct place *p, const char *path, unsigned mode, struct cella_err *err)
{
        const char *name;
        if (path[0] == '\0') {
                int r = change_mode(p->top, ".", mode);
                return r < 0 ? place_fail("/", r, err) : 0;
        }
        int at = locate(p, path, &name, err);
        if (at < 0)
                return at;
        int r = sys_mkdirat(at, name, mode);
        if (r == -EEXIST && (r = change_mode(at, name, mode)) < 0) {
                r = tree_remove(at, name); /* it was of another type */
                if (r == 0)
                        r = sys_mkdirat(at, name, mode);
        }
        return r < 0 ? place_fail(path, r, err) : 0;
}

int place_symlink(struct place *p, const char *path, const char *target, struct cella_err *err)
{
        const char *name;
        if (!target || !target[0] || strlen(target) >= TREE_PATH_MAX)
                return place_refuse(path, "is a link with an invalid target", err);
        int at = locate(p, path, &name, err);
        if (at < 0)
                return at;
        int r = sys_symlinkat(target, at, name);
        if (r == -EEXIST) {
                r = tree_remove(at, name);
                if (r == 0)
                        r = sys_symlinkat(target, at, name);
        }
        return r < 0 ? place_fail(path, r, err) : 0;
}

/* Links to a file that this archive has created, or to a symbolic link itself, which is not followed. */
static int link_to(int from, const char *from_name, int at, const char *name)
{
        struct stat st, old;
        if (fstatat(from, from_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
                return -EINVAL;
        if (fstatat(at, name, &old, AT_SYMLINK_NOFOLLOW) == 0) {
                if (old.st_ino == st.st_ino && old.st_dev == st.st_dev)
                        return 0; /* it exists already */
                int r = tree_remove(at, name);
                if (r < 0)
                        return r;
        }
        return linkat(from, from_name, at, name, 0) < 0 ? -errno : 0;
}

int place_link(struct place *p, const char *path, const char *target, struct cella_err *err)
{
        char target_parent[TREE_PATH_MAX];
        const char *name, *target_name = tree_split(target, target_parent);
        int at = locate(p, path, &name, err);
        if (at < 0)
                return at;
        AUTO(sys_close) int from = resolve(p->top, target_parent);
        int r = from < 0 ? from : target_name[0] ? link_to(from, target_name, at, name) : -EINVAL;
        if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -E2BIG)
                return place_refuse(path, "is a hard link to a file that is not in the archive", err);
        if (r == -EINVAL)
                return place_refuse(path, "is a hard link to something that is not a file", err);
        if (r == -EMLINK)
                return place_refuse(path, "is a hard link to a file that has too many", err);
        return r < 0 ? place_fail(path, r, err) : 0;
}
