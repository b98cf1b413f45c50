#include "keeper/process/state_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "keeper/process/way.h"
#include "sys/file.h"

#define LOCK_TRIES 10 /* of 20 ms: a helper of a killed keeper may hold the lock a moment longer */

/* Makes the directory and its parents. */
static int make_path(const char *path)
{
        char part[1024];
        if (strlen(path) >= sizeof part)
                return -ENAMETOOLONG;
        for (const char *p = path + 1; (p = strchr(p, '/')); p++) {
                snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
                if (mkdir(part, 0755) < 0 && errno != EEXIST)
                        return -errno;
        }
        return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* Opens a directory, gives it to the server's user and removes all access for other users. */
static int claim(int at, const char *path, unsigned uid, unsigned gid, struct cella_err *err)
{
        struct stat st;
        AUTO(sys_close) int fd = sys_openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd < 0 || fstat(fd, &st) < 0)
                return err_set(err, CELLA_INTERNAL, fd < 0 ? fd : -errno, "cannot open %.150s", path);
        if (st.st_uid != 0 && st.st_uid != geteuid() && st.st_uid != uid)
                return err_say(err, CELLA_INTERNAL, -EPERM, "%.150s belongs to uid %u", path,
                               (unsigned)st.st_uid);
        if ((st.st_uid != uid || st.st_gid != gid) && fchown(fd, uid, gid) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot give %.150s to uid %u", path, uid);
        if (fchmod(fd, 0700) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot use %.150s", path);
        return TAKE_FD(fd);
}

static int lock(int dir, const char *path, int *ret, struct cella_err *err)
{
        char text[32] = "?";
        struct stat st;
        int r = -EWOULDBLOCK;
        AUTO(sys_close) int fd = sys_openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (fd < 0)
                return err_set(err, CELLA_INTERNAL, fd, "cannot lock %.150s", path);
        /* The keeper writes to this file.  The server may have replaced it by a link to another user's file,
         * if the kernel allows that. */
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1)
                return err_say(err, CELLA_ACCESS_DENIED, -EPERM,
                               "%.150s/lock is not a regular file with one link", path);
        for (int i = 0; i < LOCK_TRIES && r == -EWOULDBLOCK; i++) {
                if (i > 0)
                        usleep(20000);
                r = sys_flock(fd, LOCK_EX | LOCK_NB);
        }
        if (r == -EWOULDBLOCK) {
                ssize_t n = sys_read(fd, text, sizeof text - 1);
                text[n > 0 ? n : 0] = '\0';
                text[strcspn(text, "\n")] = '\0';
                return err_say(err, CELLA_INTERNAL, r, "another cella serve (pid %s) uses %.150s", text,
                               path);
        }
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot lock %.150s", path);
        int n = snprintf(text, sizeof text, "%d\n", (int)getpid());
        if (ftruncate(fd, 0) < 0 || sys_write_all(fd, text, (size_t)n) < 0)
                return err_set(err, CELLA_INTERNAL, -EIO, "cannot write to %.150s/lock", path);
        *ret = TAKE_FD(fd);
        return 0;
}

/* Makes a directory, gives it to the server's user and opens it. */
static int own(int dir, const char *path, const char *name, unsigned uid, unsigned gid, struct cella_err *err)
{
        struct stat st;
        /* A directory of root is either empty, left by an interrupted start, or the server renamed a foreign
         * directory to this name.  The latter must not be given to the server. */
        if (uid != 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == 0)
                sys_unlinkat(dir, name, AT_REMOVEDIR);
        int r = sys_mkdirat(dir, name, 0700);
        if (r == -EEXIST && uid != 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == 0)
                return err_say(err, CELLA_ACCESS_DENIED, -EPERM, "%.150s/%s belongs to root", path, name);
        if (r < 0 && r != -EEXIST)
                return err_set(err, CELLA_INTERNAL, r, "cannot make %.150s/%s", path, name);
        return claim(dir, name, uid, gid, err);
}

int state_dir_open(const char *path, unsigned uid, unsigned gid, struct state_dir *ret, struct cella_err *err)
{
        *ret = (struct state_dir){.lock = -1, .workspaces = -1};
        if (path[0] != '/')
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--state takes an absolute path, not '%.120s'", path);
        int r = make_path(path);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot make %.150s", path);
        ret->path = realpath(path, NULL);
        if (!ret->path)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot open %.150s", path);
        if ((r = way_check(ret->path, "--state", uid, gid, err)) < 0)
                return r;
        AUTO(sys_close) int dir = claim(AT_FDCWD, ret->path, uid, gid, err);
        if (dir < 0)
                return dir;
        if ((r = lock(dir, ret->path, &ret->lock, err)) < 0)
                return r;
        ret->workspaces = own(dir, ret->path, "workspaces", uid, gid, err);
        return ret->workspaces < 0 ? ret->workspaces : 0;
}

int state_dir_check(const char *path, unsigned uid, unsigned gid, struct cella_err *err)
{
        char above[1024];
        struct stat st;
        if (path[0] != '/' || strlen(path) >= sizeof above)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--state takes an absolute path, not '%.120s'", path);
        if (stat(path, &st) == 0) {
                if (!S_ISDIR(st.st_mode))
                        return err_say(err, CELLA_INVALID_REQUEST, -ENOTDIR,
                                       "--state %.150s is not a directory", path);
                if (st.st_uid != 0 && st.st_uid != geteuid() && st.st_uid != uid)
                        return err_say(err, CELLA_INVALID_REQUEST, -EPERM, "--state %.150s belongs to uid %u",
                                       path, (unsigned)st.st_uid);
                return way_check(path, "--state", uid, gid, err);
        }
        if (errno != ENOENT)
                return err_set(err, CELLA_INVALID_REQUEST, -errno, "--state %.150s", path);
        /* It will be made: look at the nearest directory that exists. */
        snprintf(above, sizeof above, "%s", path);
        while (stat(above, &st) < 0 && errno == ENOENT && strrchr(above, '/') != above)
                *strrchr(above, '/') = '\0';
        if (strrchr(above, '/') == above)
                snprintf(above, sizeof above, "/");
        if (access(above, W_OK | X_OK) < 0)
                return err_set(err, CELLA_INVALID_REQUEST, -errno, "--state %.80s cannot be made in %.80s",
                               path, above);
        return way_check(path, "--state", uid, gid, err);
}

/* Whether this is a directory of root that others cannot enter, with nothing in it but the images: `cella
 * image` has just made it.  Any other directory is left as it is: --state may name one by mistake. */
static bool is_new(int dir)
{
        struct stat st;
        bool only_images = true;
        if (fstat(dir, &st) < 0 || st.st_uid != 0 || (st.st_mode & S_IXOTH))
                return false;
        int copy = sys_openat(dir, ".", O_RDONLY | O_DIRECTORY, 0);
        DIR *all = copy < 0 ? NULL : fdopendir(copy);
        if (!all) {
                sys_close(copy);
                return false;
        }
        for (const struct dirent *entry; (entry = readdir(all));)
                only_images &= !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
                               !strcmp(entry->d_name, "images");
        closedir(all);
        return only_images;
}

int state_dir_images(const char *path, unsigned uid, unsigned gid, struct cella_err *err)
{
        if (path[0] != '/')
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--state takes an absolute path, not '%.120s'", path);
        int r = make_path(path);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot make %.150s", path);
        AUTO(sys_close) int dir = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        if (dir < 0)
                return err_set(err, CELLA_INTERNAL, dir, "cannot open %.150s", path);
        /* The server must reach the images by their path, also one that `cella mcp` starts. */
        if (uid != 0 && is_new(dir) && fchown(dir, uid, gid) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot give %.150s to uid %u", path, uid);
        return own(dir, path, "images", uid, gid, err);
}

void state_dir_done(struct state_dir *dir)
{
        sys_close(dir->workspaces);
        sys_close(dir->lock);
        free(dir->path);
}
