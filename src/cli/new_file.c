#include "cli/new_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.h"

static struct new_file *volatile unfinished; /* the file that is being written */

int new_file_check(int dir, const char *name)
{
        struct stat st;
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
                return 0;
        return S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST;
}

int new_file_begin(struct new_file *f, int dir, const char *name, unsigned mode)
{
        *f = NEW_FILE_NONE;
        f->dir = dir;
        int r = strlen(name) < sizeof f->name ? new_file_check(dir, name) : -ENAMETOOLONG;
        if (r == 0)
                r = id_make(".cella_", f->temporary);
        if (r < 0)
                return r;
        snprintf(f->name, sizeof f->name, "%s", name);
        unfinished = f; /* set before the file exists, so that a signal never leaves it behind */
        f->fd = sys_openat(dir, f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        if (f->fd < 0)
                unfinished = NULL;
        return f->fd < 0 ? f->fd : 0;
}

bool new_file_is_special(int dir, const char *name)
{
        static const char prefix[] = "/proc/";
        char target[sizeof prefix - 1];
        struct stat st;
        if (fstatat(dir, name, &st, 0) == 0 && !S_ISREG(st.st_mode))
                return true;
        return readlinkat(dir, name, target, sizeof target) == (ssize_t)sizeof target &&
               !memcmp(target, prefix, sizeof target);
}

int new_file_begin_path(struct new_file *f, const char *path, unsigned mode)
{
        char parent[PATH_MAX];
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        const size_t len = slash && slash > path ? (size_t)(slash - path) : 1;
        *f = NEW_FILE_NONE;
        if (len >= sizeof parent)
                return -ENAMETOOLONG;
        snprintf(parent, sizeof parent, "%.*s", (int)len, slash ? path : ".");
        int dir = sys_openat(AT_FDCWD, parent, O_PATH | O_DIRECTORY, 0);
        if (dir < 0)
                return dir;
        if (*name && !new_file_is_special(dir, name))
                return new_file_begin(f, dir, name, mode);
        sys_close(dir);
        return *name ? -EEXIST : -EISDIR;
}

int new_file_commit(struct new_file *f)
{
        int r = sys_close(f->fd);
        f->fd = -1;
        if (r == 0 && renameat(f->dir, f->temporary, f->dir, f->name) < 0)
                r = -errno;
        if (r == 0)
                unfinished = NULL;
        return r;
}

void new_file_done(struct new_file *f)
{
        if (unfinished == f) {
                sys_unlinkat(f->dir, f->temporary, 0);
                unfinished = NULL;
        }
        sys_close(f->fd);
        sys_close(f->dir);
        *f = NEW_FILE_NONE;
}

void new_file_abandon(void)
{
        const struct new_file *f = unfinished;
        if (f)
                sys_unlinkat(f->dir, f->temporary, 0);
}
