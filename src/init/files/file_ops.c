/* init/files/file_ops.c -- file operations: read, stat, list, make directories, move. */
#include <errno.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <string.h>

#include "init/data.h"
#include "init/files/directory.h"
#include "init/files/path.h"
#include "init/operate.h"
#include "sys/file.h"
#include "sys/raw.h"

#define ENTRIES_DEFAULT 100000u

int operate_read(const struct request_operate *request)
{
        struct init_stat out;
        struct statx st;
        /* Must not block on a pipe without a writer, or on a device. */
        AUTO(sys_close) int fd = sys_openat(AT_FDCWD, request->path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        if (fd < 0)
                return fd == -ENXIO ? -EINVAL : fd; /* a socket */
        int r = sys_statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st);
        if (r < 0)
                return r;
        if (!S_ISREG(st.stx_mode))
                return S_ISDIR(st.stx_mode) ? -EISDIR : -EINVAL;
        if (request->head.offset > INT64_MAX)
                return -EINVAL;
        if (request->head.offset > 0) {
                long at = sys_call3(SYS_lseek, fd, request->head.offset, SEEK_SET);
                if (at < 0)
                        return (int)at;
        }
        path_stat(&st, &out);
        if ((r = data_put(&out, sizeof out)) < 0)
                return r;
        int64_t sent = data_put_file(fd, request->head.length);
        return sent < 0 ? (int)sent : 0;
}

/* Sends one entry for INIT_STAT and INIT_READ_DIR; its name or link target follows. */
static int put_entry(const struct statx *st, const char *text, size_t len)
{
        struct init_stat out;
        path_stat(st, &out);
        out.name_len = (uint32_t)len;
        int r = data_put(&out, sizeof out);
        return r < 0 ? r : data_put(text, len);
}

int operate_stat(const struct request_operate *request)
{
        char target[INIT_PATH_MAX];
        struct statx st;
        long n = 0;
        int r = sys_statx(AT_FDCWD, request->path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st);
        if (r < 0)
                return r;
        if (S_ISLNK(st.stx_mode))
                n = sys_call4(SYS_readlinkat, AT_FDCWD, request->path, target, sizeof target);
        return n < 0 ? (int)n : put_entry(&st, target, (size_t)n);
}

int operate_read_dir(const struct request_operate *request)
{
        uint64_t max = request->head.length ? request->head.length : ENTRIES_DEFAULT;
        AUTO(sys_close) int dir = sys_openat(AT_FDCWD, request->path, O_RDONLY | O_DIRECTORY, 0);
        struct directory entries = {.fd = dir};
        const struct directory_entry *e;
        int r = dir;
        while (r >= 0 && (r = directory_next(&entries, &e)) > 0) {
                struct statx st;
                r = sys_statx(dir, e->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st);
                if (r < 0) { /* removed in the meantime */
                        r = 0;
                        continue;
                }
                if (max-- == 0) {
                        r = data_flush();
                        return r < 0 ? r : -EOVERFLOW;
                }
                r = put_entry(&st, e->name, strlen(e->name));
        }
        return r;
}

int operate_make_dir(const struct request_operate *request)
{
        struct statx st;
        unsigned mode = request->head.mode ? request->head.mode & 0777 : 0755;
        bool parents = request->head.flags & INIT_MAKE_PARENTS;
        int r = parents ? path_make(request->path, false) : 0;
        if (r == 0)
                r = sys_mkdirat(AT_FDCWD, request->path, mode);
        if (r != -EEXIST || !parents)
                return r;
        r = sys_statx(AT_FDCWD, request->path, 0, STATX_TYPE, &st);
        return r < 0 ? r : S_ISDIR(st.stx_mode) ? 0 : -EEXIST;
}

int operate_move(const struct request_operate *request)
{
        unsigned flags = request->head.flags & INIT_NO_REPLACE ? RENAME_NOREPLACE : 0;
        int r = request->head.flags & INIT_MAKE_PARENTS ? path_make(request->path2, false) : 0;
        if (r < 0)
                return r;
        return (int)sys_call5(SYS_renameat2, AT_FDCWD, request->path, AT_FDCWD, request->path2, flags);
}
