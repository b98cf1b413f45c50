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
