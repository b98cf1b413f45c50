/* init/files/tar_write.c -- packs the content of a directory, or one file, as a pax archive.
 *
 * Values that do not fit into a ustar header (a long name, a file over 8 GiB, a time before 1970) go into
 * a pax header before it. If a file changes while it is read, its content is cut or filled with zeros to
 * the size in its header. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "init/data.h"
#include "init/files/directory.h"
#include "init/files/tar.h"
#include "init/operate.h"
#include "sys/file.h"
#include "sys/raw.h"

#define DEPTH_MAX 1000
#define PATH_BYTES 65536u
#define OCTAL_MAX INT64_C(077777777777) /* of 11 digits */

struct level {
        int fd;
        int64_t resume; /* offset of its next entry */
        size_t path_len;
};

struct packing {
        uint64_t max, put; /* bytes; 0: no limit */
        struct level levels[DEPTH_MAX];
        int depth;
        struct directory entries;
        char path[PATH_BYTES]; /* of the current directory */
        size_t path_len;
        char records[2 * PATH_BYTES];
};

static int tar_write_put(struct packing *p, const void *data, size_t len)
{
        p->put += len;
        return p->max > 0 && p->put > p->max ? -EFBIG : data_put(data, len);
}

static int put_zeros(struct packing *p, uint64_t len)
{
        static BULKY char
                zeros[4096]; /* never written; not const, so that it is not stored in the executable */
        int r = 0;
        for (; len > 0 && r == 0;) {
                size_t n = len < sizeof zeros ? (size_t)len : sizeof zeros;
                r = tar_write_put(p, zeros, n);
                len -= n;
        }
        return r;
}

/* Writes one header with as much of the names as fits. */
static int put_block(struct packing *p, char type, const char *path, const char *link, unsigned mode,
                     uint64_t size, int64_t mtime)
{
        struct tar_header h = {.type = type, .magic = "ustar", .version = {'0', '0'}};
        size_t path_len = strlen(path), link_len = strlen(link);
        memcpy(h.name, path, path_len < sizeof h.name ? path_len : sizeof h.name);
        memcpy(h.link, link, link_len < sizeof h.link ? link_len : sizeof h.link);
        snprintf(h.mode, sizeof h.mode, "%07o", mode & 0777);
        snprintf(h.uid, sizeof h.uid, "%07o", 0u);
        snprintf(h.gid, sizeof h.gid, "%07o", 0u);
        snprintf(h.size, sizeof h.size, "%011llo",
                 size <= (uint64_t)OCTAL_MAX ? (unsigned long long)size : 0);
        snprintf(h.mtime, sizeof h.mtime, "%011llo",
                 mtime >= 0 && mtime <= OCTAL_MAX ? (unsigned long long)mtime : 0);
        snprintf(h.checksum, sizeof h.checksum, "%06o", tar_checksum(&h));
        h.checksum[7] = ' ';
        return tar_write_put(p, &h, sizeof h);
}

/* Appends "LENGTH KEY=VALUE\n" to records; LENGTH includes itself. */
static size_t add_record(struct packing *p, size_t used, const char *key, const char *value)
{
        size_t rest = strlen(key) + strlen(value) + 3, len = rest + 1;
        for (size_t digits = 1, limit = 10; len >= limit; limit *= 10)
                len = rest + ++digits;
        used += (size_t)snprintf(p->records + used, sizeof p->records - used, "%zu %s=%s\n", len, key, value);
        return used;
}

static int put_header(struct packing *p, char type, const char *path, const char *link,
                      const struct statx *st, uint64_t size)
{
        char number[24];
        size_t used = 0;
        int64_t mtime = st->stx_mtime.tv_sec;
        if (strlen(path) > sizeof((struct tar_header *)0)->name)
                used = add_record(p, used, "path", path);
        if (strlen(link) > sizeof((struct tar_header *)0)->link)
                used = add_record(p, used, "linkpath", link);
        if (size > (uint64_t)OCTAL_MAX) {
                snprintf(number, sizeof number, "%llu", (unsigned long long)size);
                used = add_record(p, used, "size", number);
        }
        if (mtime < 0 || mtime > OCTAL_MAX) {
                snprintf(number, sizeof number, "%lld", (long long)mtime);
                used = add_record(p, used, "mtime", number);
        }
        if (used > 0) {
                int r = put_block(p, 'x', "PaxHeader", "", 0644, used, 0);
                if (r == 0)
                        r = tar_write_put(p, p->records, used);
                if (r == 0)
                        r = put_zeros(p, -used % TAR_BLOCK);
                if (r < 0)
                        return r;
        }
        return put_block(p, type, path, link, st->stx_mode, size, mtime);
}

static int put_content(struct packing *p, int fd, uint64_t size)
{
        if (p->max > 0 && size > p->max - (p->put < p->max ? p->put : p->max))
                return -EFBIG;
        int64_t n = data_put_file(fd, size);
        if (n < 0)
                return (int)n;
        p->put += (uint64_t)n;
        return put_zeros(p, size - (uint64_t)n + -size % TAR_BLOCK);
}

/* links: O_NOFOLLOW, or 0. */
static int pack_file(struct packing *p, int dir, const char *name, int links, const char *path)
{
        struct statx st;
        AUTO(sys_close) int fd = sys_openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | links, 0);
        if (fd < 0)
                return fd;
        int r = sys_statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st);
        if (r < 0 || !S_ISREG(st.stx_mode))
                return r;
        r = put_header(p, '0', path, "", &st, st.stx_size);
        return r < 0 ? r : put_content(p, fd, st.stx_size);
}

static int pack_link(struct packing *p, int dir, const char *name, const char *path, const struct statx *st)
{
        char target[TAR_PATH_MAX];
        long n = sys_call4(SYS_readlinkat, dir, name, target, sizeof target - 1);
        if (n < 0)
                return (int)n;
        target[n] = '\0';
        return put_header(p, '2', path, target, st, 0);
}

/* Enters the directory at the end of path. The current one is continued afterwards. */
static int tar_write_enter(struct packing *p, int dir, const char *name, int64_t resume)
{
        if (p->depth == DEPTH_MAX)
                return -ELOOP;
        int fd = sys_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd < 0)
                return fd;
        if (p->depth > 0)
                p->levels[p->depth - 1].resume = resume;
        p->levels[p->depth++] = (struct level){.fd = fd, .path_len = p->path_len};
        return directory_seek(&p->entries, fd, 0);
}

static int tar_write_leave(struct packing *p)
{
        sys_close(p->levels[--p->depth].fd);
        if (p->depth == 0)
                return 0;
        const struct level *l = &p->levels[p->depth - 1];
        return directory_seek(&p->entries, l->fd, l->resume);
}

static int pack_entry(struct packing *p, int dir, const char *name, int64_t resume)
{
        struct statx st;
        int r = sys_statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st);
        if (r == 0 && S_ISREG(st.stx_mode))
                r = pack_file(p, dir, name, O_NOFOLLOW, p->path);
        else if (r == 0 && S_ISLNK(st.stx_mode))
                r = pack_link(p, dir, name, p->path, &st);
        else if (r == 0 && S_ISDIR(st.stx_mode)) {
                p->path[p->path_len++] = '/';
                p->path[p->path_len] = '\0';
                r = put_header(p, '5', p->path, "", &st, 0);
                if (r == 0)
                        r = tar_write_enter(p, dir, name, resume);
        }
        return r == -ENOENT ? 0 : r; /* removed in the meantime */
}

static int pack_directory(struct packing *p)
{
        int r = 0;
        while (r >= 0 && p->depth > 0) {
                const struct directory_entry *e;
                const struct level *l = &p->levels[p->depth - 1];
                r = directory_next(&p->entries, &e);
                if (r == 0) {
                        r = tar_write_leave(p);
                        continue;
                }
                if (r < 0)
                        break;
                size_t len = strlen(e->name);
                if (l->path_len + len + 2 > sizeof p->path)
                        return -ENAMETOOLONG;
                memcpy(p->path + l->path_len, e->name, len + 1);
                p->path_len = l->path_len + len;
                r = pack_entry(p, l->fd, e->name, e->offset);
        }
        return r;
}

int operate_tar(const struct request_operate *request)
{
        static BULKY struct packing p;
        struct statx st;
        const char *slash = strrchr(request->path, '/');
        p.max = request->head.offset;
        int r = sys_statx(AT_FDCWD, request->path, 0, STATX_TYPE, &st);
        if (r < 0)
                return r;
        if (S_ISDIR(st.stx_mode)) {
                AUTO(sys_close) int dir = sys_openat(AT_FDCWD, request->path, O_PATH | O_DIRECTORY, 0);
                r = dir < 0 ? dir : tar_write_enter(&p, dir, ".", 0);
                if (r == 0)
                        r = pack_directory(&p);
        } else {
                r = S_ISREG(st.stx_mode)
                            ? pack_file(&p, AT_FDCWD, request->path, 0, slash ? slash + 1 : request->path)
                            : -EINVAL;
        }
        if (r < 0)
                return r == -EMFILE ? -ELOOP : r; /* each level takes a descriptor */
        return put_zeros(&p, 2ull * TAR_BLOCK);
}
