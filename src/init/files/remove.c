/* init/files/remove.c -- removes a file, or a tree of any depth.
 *
 * No path is kept: a directory that could not be removed is entered, emptied and left, and its parent is
 * read again from the start, where the directory can now be removed. Directories deeper than the available
 * descriptors are first moved up. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "init/files/directory.h"
#include "init/operate.h"
#include "sys/file.h"
#include "sys/raw.h"

#define DEPTH_MAX 64 /* the limit on open files may be low */

struct removal {
        int dirs[DEPTH_MAX]; /* descriptors from the top to the current directory */
        int depth;
        unsigned moved;
        struct directory entries;
};

static int files_remove_enter(struct removal *r, const char *name)
{
        int parent = r->dirs[r->depth - 1], flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
        int dir = sys_openat(parent, name, flags, 0);
        if (dir == -EACCES && sys_call3(SYS_fchmodat, parent, name, 0700) == 0)
                dir = sys_openat(parent, name, flags, 0);
        if (dir < 0)
                return dir;
        r->dirs[r->depth++] = dir;
        return directory_seek(&r->entries, dir, 0);
}

/* Moves a directory to the top under an unused name, where it is found again. */
static int move_up(struct removal *r, const char *name)
{
        char other[32];
        int e;
        do {
                snprintf(other, sizeof other, ".removed-%u", r->moved++);
                e = (int)sys_call5(SYS_renameat2, r->dirs[r->depth - 1], name, r->dirs[0], other,
                                   1 /* RENAME_NOREPLACE */);
        } while (e == -EEXIST);
        return e;
}

/* Returns 1 if the entry was removed, 0 if it is a directory that was entered or moved to the top. */
static int remove_entry(struct removal *r, const char *name)
{
        int dir = r->dirs[r->depth - 1];
        int e = sys_unlinkat(dir, name, 0);
        if (e == -EISDIR || e == -EPERM)
                e = sys_unlinkat(dir, name, AT_REMOVEDIR);
        if (e == -ENOTEMPTY) {
                e = r->depth < DEPTH_MAX ? files_remove_enter(r, name) : move_up(r, name);
                return e;
        }
        return e == 0 || e == -ENOENT ? 1 : e;
}

/* Reads the current directory once. Returns 1 if something changed and the (possibly different) current
 * directory must be read again. */
static int remove_some(struct removal *r)
{
        const struct directory_entry *e;
        bool changed = false;
        int n;
        while ((n = directory_next(&r->entries, &e)) > 0) {
                n = remove_entry(r, e->name);
                if (n <= 0)
                        return n < 0 ? n : 1;
                changed = true;
        }
        return n < 0 ? n : changed;
}

static int files_remove_empty(int top)
{
        static BULKY struct removal r;
        r.dirs[r.depth++] = top;
        int e = directory_seek(&r.entries, top, 0);
        while (e >= 0 && r.depth > 0) {
                e = remove_some(&r);
                if (e == 0)
                        sys_close(r.dirs[--r.depth]);
                if (e >= 0 && r.depth > 0)
                        e = directory_seek(&r.entries, r.dirs[r.depth - 1], 0);
        }
        return e < 0 ? e : 0;
}

static bool is_workspace(const struct statx *st)
{
        struct statx workspace;
        return sys_statx(AT_FDCWD, "/workspace", 0, STATX_INO, &workspace) == 0 &&
               workspace.stx_ino == st->stx_ino && workspace.stx_dev_major == st->stx_dev_major &&
               workspace.stx_dev_minor == st->stx_dev_minor;
}

static int is_empty(int dir)
{
        static BULKY struct directory entries;
        const struct directory_entry *e;
        entries.fd = dir;
        int r = directory_next(&entries, &e);
        return r > 0 ? -ENOTEMPTY : r;
}

/* The workspace itself cannot be removed: it is a mount. */
static int remove_directory(const struct request_operate *request, bool keep)
{
        bool all = request->head.flags & INIT_RECURSIVE;
        int r = 0;
        if (all || keep) {
                AUTO(sys_close)
                int top = sys_openat(AT_FDCWD, request->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
                r = top < 0 ? top : all ? files_remove_empty(TAKE_FD(top)) : is_empty(top);
        }
        return r < 0 || keep ? r : sys_unlinkat(AT_FDCWD, request->path, AT_REMOVEDIR);
}

int operate_remove(const struct request_operate *request)
{
        struct statx st;
        int r = sys_statx(AT_FDCWD, request->path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st);
        if (r < 0)
                return r;
        if (!S_ISDIR(st.stx_mode))
                return sys_unlinkat(AT_FDCWD, request->path, 0);
        return remove_directory(request, is_workspace(&st));
}
