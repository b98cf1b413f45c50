/* cli/client/tar_pack.c -- see tar.h. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/client/tar.h"
#include "sys/file.h"

_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a header is a block");

struct pack {
        int (*sink)(void *, const char *, size_t, struct cella_err *);
        void *userdata;
        unsigned depth, *skipped;
        size_t path_len;
        char path[PATH_MAX]; /* of the entry, relative */
        char link[PATH_MAX];
        char buffer[65536];
        struct cella_err *err;
};

uint32_t tar_checksum(const struct tar_header *h)
{
        const unsigned char *p = (const unsigned char *)h;
        uint32_t sum = 0;
        for (size_t i = 0; i < sizeof *h; i++)
                sum += i >= offsetof(struct tar_header, checksum) && i < offsetof(struct tar_header, type)
                               ? ' '
                               : p[i];
        return sum;
}

static int tar_pack_put(struct pack *p, const void *data, size_t len)
{
        return p->sink(p->userdata, data, len, p->err);
}

static int pad(struct pack *p, uint64_t len)
{
        static const char zeros[TAR_BLOCK];
        size_t rest = (size_t)(len % TAR_BLOCK);
        return rest ? tar_pack_put(p, zeros, TAR_BLOCK - rest) : 0;
}

/* Writes a field without a NUL; the caller has checked that the text fits. */
static void field(char *out, size_t size, const char *text)
{
        memcpy(out, text, strnlen(text, size));
}

static int put_header(struct pack *p, const char *name, const char *link, char type, uint64_t size,
                      unsigned mode, int64_t mtime)
{
        struct tar_header h = {.type = type, .magic = "ustar", .version = {'0', '0'}};
        char number[24];
        field(h.name, sizeof h.name, name);
        field(h.link, sizeof h.link, link);
        snprintf(h.mode, sizeof h.mode, "%07o", mode & 0777);
        snprintf(h.uid, sizeof h.uid, "%07o", 1000);
        snprintf(h.gid, sizeof h.gid, "%07o", 1000);
        snprintf(number, sizeof number, "%011llo", (unsigned long long)(size >> 33 ? 0 : size));
        memcpy(h.size, number, sizeof h.size);
        snprintf(number, sizeof number, "%011llo",
                 (unsigned long long)(mtime < 0 || mtime >> 33 ? 0 : mtime));
        memcpy(h.mtime, number, sizeof h.mtime);
        snprintf(number, sizeof number, "%06o", tar_checksum(&h));
        memcpy(h.checksum, number, 7);
        h.checksum[7] = ' ';
        return tar_pack_put(p, &h, sizeof h);
}

/* Writes "LENGTH key=value\n"; LENGTH includes its own digits. */
static size_t pax_record(char *out, size_t room, const char *key, const char *value)
{
        size_t base = strlen(key) + strlen(value) + 3, len = base + 1;
        for (size_t power = 10; len >= power; power *= 10)
                len = base + (size_t)snprintf(NULL, 0, "%zu", len);
        if (len + 1 > room)
                return 0;
        return (size_t)snprintf(out, room, "%zu %s=%s\n", len, key, value);
}

/* Writes the header of the entry at p->path; values that do not fit are in a pax header before it. */
static int put_entry(struct pack *p, const struct stat *st, char type, uint64_t size)
{
        char pax[2 * PATH_MAX + 128], number[24];
        size_t n = 0;
        const char *link = type == '2' ? p->link : "";
        if (p->path_len > 100)
                n += pax_record(pax, sizeof pax, "path", p->path);
        if (strlen(link) > 100)
                n += pax_record(pax + n, sizeof pax - n, "linkpath", link);
        if (size >> 33) {
                snprintf(number, sizeof number, "%llu", (unsigned long long)size);
                n += pax_record(pax + n, sizeof pax - n, "size", number);
        }
        int r = 0;
        if (n > 0 && ((r = put_header(p, "pax", "", 'x', n, 0644, 0)) < 0 ||
                      (r = tar_pack_put(p, pax, n)) < 0 || (r = pad(p, n)) < 0))
                return r;
        return put_header(p, p->path, link, type, size, (unsigned)st->st_mode, (int64_t)st->st_mtime);
}

/* Writes exactly the number of bytes in the header, also if the file changes. */
static int tar_pack_put_file(struct pack *p, int fd, const struct stat *st)
{
        uint64_t left = (uint64_t)st->st_size;
        int r = put_entry(p, st, '0', left);
        while (r == 0 && left > 0) {
                size_t want = left < sizeof p->buffer ? (size_t)left : sizeof p->buffer;
                ssize_t n = sys_read(fd, p->buffer, want);
                if (n < 0)
                        return err_set(p->err, CELLA_INVALID_REQUEST, (int)n, "cannot read '%.150s'",
                                       p->path);
                if (n == 0) { /* the file became shorter */
                        memset(p->buffer, 0, want);
                        n = (ssize_t)want;
                }
                r = tar_pack_put(p, p->buffer, (size_t)n);
                left -= (uint64_t)n;
        }
        return r < 0 ? r : pad(p, (uint64_t)st->st_size);
}

static int put_directory(struct pack *p, int dir);

static int put_one(struct pack *p, int dir, const char *name)
{
        struct stat st;
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0
                                       : err_set(p->err, CELLA_INVALID_REQUEST, -errno, "'%.150s'", p->path);
        if (S_ISLNK(st.st_mode)) {
                ssize_t n = readlinkat(dir, name, p->link, sizeof p->link - 1);
                if (n < 0)
                        return err_set(p->err, CELLA_INVALID_REQUEST, -errno, "'%.150s'", p->path);
                p->link[n] = '\0';
                return put_entry(p, &st, '2', 0);
        }
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
                ++*p->skipped;
                return 0;
        }
        AUTO(sys_close) int fd = sys_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        if (fd < 0)
                return err_set(p->err, CELLA_INVALID_REQUEST, fd, "cannot read '%.150s'", p->path);
        if (fstat(fd, &st) < 0)
                return err_set(p->err, CELLA_INTERNAL, -errno, "'%.150s'", p->path);
        if (S_ISREG(st.st_mode))
                return tar_pack_put_file(p, fd, &st);
        if (!S_ISDIR(st.st_mode)) {
                ++*p->skipped;
                return 0;
        }
        int r = put_entry(p, &st, '5', 0);
        return r < 0 ? r : put_directory(p, fd);
}

static void close_dir(DIR *d)
{
        if (d)
                closedir(d);
}
DEFINE_AUTO(DIR *, close_dir)

static int put_directory(struct pack *p, int dir)
{
        int copy = sys_openat(dir, ".", O_RDONLY | O_DIRECTORY, 0);
        AUTO(close_dir) DIR *d = copy < 0 ? NULL : fdopendir(copy);
        size_t len = p->path_len;
        if (!d) {
                sys_close(copy);
                return err_set(p->err, CELLA_INVALID_REQUEST, copy < 0 ? copy : -errno,
                               "cannot read '%.150s'", len ? p->path : ".");
        }
        if (++p->depth > TAR_DEPTH_MAX)
                return err_say(p->err, CELLA_TOO_LARGE, -ELOOP, "more than %d directories in each other",
                               TAR_DEPTH_MAX);
        int r = 0;
        for (struct dirent *e; r == 0 && (errno = 0, e = readdir(d));) {
                if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
                        continue;
                int n = snprintf(p->path + len, sizeof p->path - len, "%s%s", len ? "/" : "", e->d_name);
                if ((size_t)n >= sizeof p->path - len)
                        return err_say(p->err, CELLA_TOO_LARGE, -ENAMETOOLONG,
                                       "the path of '%.100s' is too long", e->d_name);
                p->path_len = len + (size_t)n;
                r = put_one(p, dir, e->d_name);
        }
        p->path[len] = '\0';
        p->path_len = len;
        p->depth--;
        return r;
}

int tar_pack(int dir, int (*sink)(void *, const char *, size_t, struct cella_err *), void *userdata,
             unsigned *skipped, struct cella_err *err)
{
        static const char end[2 * TAR_BLOCK];
        struct pack *p = calloc(1, sizeof *p);
        if (!p)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "tar");
        p->sink = sink;
        p->userdata = userdata;
        p->skipped = skipped;
        p->err = err;
        *skipped = 0;
        int r = put_directory(p, dir);
        if (r == 0)
                r = tar_pack_put(p, end, sizeof end);
        free(p);
        return r;
}
