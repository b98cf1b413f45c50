#include "image/unpack/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "sys/file.h"
#include "sys/raw.h"

/* ---- paths ---- */

int tree_path(const char *path, char ret[TREE_PATH_MAX])
{
        size_t n = 0, depth = 0;
        for (const char *p = path; *p;) {
                size_t len = strcspn(p, "/");
                if (len == 0 || (len == 1 && p[0] == '.')) {
                        p += len ? len : 1;
                        continue;
                }
                if (len == 2 && p[0] == '.' && p[1] == '.')
                        return -EINVAL;
                if (len > NAME_MAX || n + len + 2 > TREE_PATH_MAX)
                        return -ENAMETOOLONG;
                if (++depth > TREE_DEPTH_MAX)
                        return -E2BIG;
                if (n > 0)
                        ret[n++] = '/';
                memcpy(ret + n, p, len);
                n += len;
                p += len;
        }
        ret[n] = '\0';
        return 0;
}

const char *tree_split(const char *path, char ret_parent[TREE_PATH_MAX])
{
        const char *slash = strrchr(path, '/');
        size_t len = slash ? (size_t)(slash - path) : 0;
        memcpy(ret_parent, path, len);
        ret_parent[len] = '\0';
        return slash ? slash + 1 : path;
}

/* ---- opening ---- */

static int open_below(int top, const char *path, uint64_t flags, uint64_t resolve)
{
        const struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve | RESOLVE_NO_MAGICLINKS};
        long r;
        do
                r = sys_call4(SYS_openat2, top, path[0] ? path : ".", &how, sizeof how);
        while (r == -EINTR || r == -EAGAIN); /* EAGAIN: a concurrent rename */
        return (int)r;
}

int tree_open(int top, const char *path, uint64_t flags)
{
        return open_below(top, path, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

int tree_open_in(int top, const char *path, uint64_t flags)
{
        return open_below(top, path, flags, RESOLVE_IN_ROOT);
}

int tree_depth(int top, int dir)
{
        struct stat root, st;
        AUTO(sys_close) int fd = -1;
        if (fstat(top, &root) < 0)
                return -errno;
        for (int depth = 0; depth <= TREE_DEPTH_MAX; depth++) {
                struct stat above;
                int at = fd < 0 ? dir : fd;
                if (fstat(at, &st) < 0)
                        return -errno;
                if (st.st_ino == root.st_ino && st.st_dev == root.st_dev)
                        return depth;
                int parent = sys_openat(at, "..", O_PATH | O_DIRECTORY, 0);
                if (parent < 0)
                        return parent;
                sys_close(fd);
                fd = parent;
                if (fstat(fd, &above) < 0 || (above.st_ino == st.st_ino && above.st_dev == st.st_dev))
                        return -EXDEV;
        }
        return -E2BIG;
}

/* ---- removing ----
 *
 * Without recursion: a directory that is not empty is moved to the top, under an unused name, and emptied
 * there.  So it needs two descriptors for any depth, and no memory. */

struct removal {
        int top;
        char prefix[ID_SIZE];
        unsigned moved;
};

static int move_up(struct removal *m, int dir, const char *name)
{
        char moved[ID_SIZE + 16];
        snprintf(moved, sizeof moved, "%s%u", m->prefix, m->moved);
        if (renameat2(dir, name, m->top, moved, RENAME_NOREPLACE) < 0)
                return -errno;
        m->moved++;
        return 0;
}

static int tree_remove_one(struct removal *m, int dir, const char *name, unsigned char type)
{
        int r = type == DT_DIR ? -EISDIR : sys_unlinkat(dir, name, 0);
        if (r == -EISDIR)
                r = sys_unlinkat(dir, name, AT_REMOVEDIR);
        if (r == -ENOTEMPTY || r == -EEXIST)
                r = move_up(m, dir, name);
        return r == -ENOENT ? 0 : r;
}

static int remove_all(struct removal *m, int dir)
{
        const struct dirent *entry;
        int r = 0, copy = sys_openat(dir, ".", O_RDONLY | O_DIRECTORY, 0);
        DIR *list = copy < 0 ? NULL : fdopendir(copy);
        if (!list) {
                sys_close(copy);
                return copy < 0 ? copy : -ENOMEM;
        }
        while (r == 0 && (entry = readdir(list)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                    (dir != m->top || strncmp(entry->d_name, m->prefix, strlen(m->prefix)) != 0))
                        r = tree_remove_one(m, dir, entry->d_name, entry->d_type);
        closedir(list);
        return r;
}

int tree_empty(int dir)
{
        struct removal m = {.top = dir};
        int r = id_make(".rm_", m.prefix);
        if (r == 0)
                r = remove_all(&m, dir);
        for (unsigned i = 0; i < m.moved && r == 0; i++) {
                char name[ID_SIZE + 16];
                snprintf(name, sizeof name, "%s%u", m.prefix, i);
                AUTO(sys_close) int fd = sys_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
                r = fd < 0 ? fd : remove_all(&m, fd);
                if (r == 0)
                        r = sys_unlinkat(dir, name, AT_REMOVEDIR);
        }
        return r;
}

int tree_remove(int at, const char *name)
{
        int r = sys_unlinkat(at, name, 0);
        if (r == -EISDIR)
                r = sys_unlinkat(at, name, AT_REMOVEDIR);
        if (r == -ENOTEMPTY || r == -EEXIST) {
                AUTO(sys_close) int dir = sys_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
                r = dir < 0 ? dir : tree_empty(dir);
                if (r == 0)
                        r = sys_unlinkat(at, name, AT_REMOVEDIR);
        }
        return r == -ENOENT ? 0 : r;
}

/* ---- small files ---- */

int tree_write(int tmp, int at, const char *name, const char *text, size_t len)
{
        char made[ID_SIZE];
        int r = id_make("file_", made);
        if (r < 0)
                return r;
        AUTO(sys_close) int fd = sys_openat(tmp, made, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd < 0)
                return fd;
        r = sys_write_all(fd, text, len);
        if (r == 0 && fdatasync(fd) < 0) /* a name of an empty file would be worse than no name */
                r = -errno;
        if (r == 0 && renameat(tmp, made, at, name) < 0)
                r = -errno;
        if (r < 0)
                sys_unlinkat(tmp, made, 0);
        return r;
}

static int tree_read_all(int fd, size_t max, char **ret, size_t *ret_len)
{
        struct stat st;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        if ((uint64_t)st.st_size > max)
                return -EFBIG;
        size_t size = (size_t)st.st_size, n = 0;
        char *text = malloc(size + 1);
        if (!text)
                return -ENOMEM;
        while (n < size) {
                ssize_t got = sys_read(fd, text + n, size - n);
                if (got < 0) {
                        free(text);
                        return (int)got;
                }
                if (got == 0)
                        break;
                n += (size_t)got;
        }
        text[n] = '\0';
        *ret = text;
        *ret_len = n;
        return 0;
}

int tree_read(int top, const char *path, size_t max, char **ret, size_t *ret_len)
{
        AUTO(sys_close) int fd = tree_open_in(top, path, O_RDONLY | O_NONBLOCK);
        return fd < 0 ? fd : tree_read_all(fd, max, ret, ret_len);
}
