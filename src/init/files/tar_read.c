#include "init/files/tar.h"

#include <errno.h>
#include <string.h>

/* Values from extended headers for the following entry. */
struct overrides {
        bool path, link, size, mtime;
};

unsigned tar_checksum(const struct tar_header *header)
{
        const unsigned char *p = (const unsigned char *)header;
        unsigned sum = 8 * ' ';
        for (size_t i = 0; i < TAR_BLOCK; i++)
                if (i < offsetof(struct tar_header, checksum) || i >= offsetof(struct tar_header, type))
                        sum += p[i];
        return sum;
}

/* An octal number with spaces or NULs around it, or GNU's base 256. */
static int read_number(const char *field, size_t len, uint64_t *ret)
{
        uint64_t n = 0;
        size_t i = 0;
        if ((unsigned char)field[0] == 0x80) {
                for (i = 1; i < len; i++) {
                        if (n >> 55)
                                return -EINVAL;
                        n = n << 8 | (unsigned char)field[i];
                }
                *ret = n;
                return 0;
        }
        while (i < len && field[i] == ' ')
                i++;
        for (; i < len && field[i] >= '0' && field[i] <= '7'; i++) {
                if (n >> 60)
                        return -EINVAL;
                n = n << 3 | (uint64_t)(field[i] - '0');
        }
        for (; i < len; i++)
                if (field[i] != ' ' && field[i] != '\0')
                        return -EINVAL;
        *ret = n;
        return 0;
}

static int read_exactly(struct tar_reader *r, void *data, size_t len)
{
        size_t got = 0;
        while (got < len) {
                ssize_t n = r->read(r->arg, (char *)data + got, len - got);
                if (n <= 0)
                        return n < 0 ? (int)n : -ENODATA;
                got += (size_t)n;
        }
        return 0;
}

static void begin_content(struct tar_reader *r, uint64_t size)
{
        r->left = size;
        r->padding = (unsigned)(-size % TAR_BLOCK);
}

ssize_t tar_read(struct tar_reader *r, void *data, size_t size)
{
        if (r->left == 0)
                return 0;
        ssize_t n = r->read(r->arg, data, size < r->left ? size : (size_t)r->left);
        if (n == 0)
                return -ENODATA;
        if (n > 0)
                r->left -= (uint64_t)n;
        return n;
}

static int skip_content(struct tar_reader *r)
{
        char waste[TAR_BLOCK * 8];
        ssize_t n;
        while ((n = tar_read(r, waste, sizeof waste)) > 0)
                continue;
        if (n < 0)
                return (int)n;
        int e = read_exactly(r, waste, r->padding);
        r->padding = 0;
        return e;
}

/* A decimal number; the fraction is ignored. */
static int read_decimal(const char *text, size_t len, bool negative_too, int64_t *ret)
{
        size_t i = negative_too && len > 0 && text[0] == '-';
        size_t first = i;
        int64_t n = 0;
        for (; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
                if (n > INT64_MAX / 10 - 1)
                        return -EINVAL;
                n = n * 10 + (text[i] - '0');
        }
        if (i == first || (i < len && text[i] != '.'))
                return -EINVAL;
        *ret = first ? -n : n;
        return 0;
}

static int take_text(const char *text, size_t len, char *ret, bool *said)
{
        if (len >= TAR_PATH_MAX)
                return -ENAMETOOLONG;
        if (memchr(text, '\0', len))
                return -EINVAL;
        memcpy(ret, text, len);
        ret[len] = '\0';
        *said = true;
        return 0;
}

static bool is_key(const char *key, size_t len, const char *name)
{
        return len == strlen(name) && !memcmp(key, name, len);
}

static int take_record(const char *key, size_t key_len, const char *value, size_t len, struct tar_entry *e,
                       struct overrides *o)
{
        int64_t number;
        int r = 0;
        if (is_key(key, key_len, "path"))
                return take_text(value, len, e->path, &o->path);
        if (is_key(key, key_len, "linkpath"))
                return take_text(value, len, e->link, &o->link);
        if (is_key(key, key_len, "size")) {
                if ((r = read_decimal(value, len, false, &number)) == 0)
                        e->size = (uint64_t)number;
                o->size = true;
        } else if (is_key(key, key_len, "mtime")) {
                if ((r = read_decimal(value, len, true, &number)) == 0)
                        e->mtime = number;
                o->mtime = true;
        } else if (key_len >= 10 && !memcmp(key, "GNU.sparse", 10)) {
                r = -EINVAL; /* the content of the file does not follow */
        }
        return r;
}

/* A sequence of "LENGTH KEY=VALUE\n". LENGTH is that of the whole record. */
static int take_records(const char *p, size_t len, struct tar_entry *e, struct overrides *o)
{
        while (len > 0) {
                size_t digits = 0, size = 0;
                for (; digits < len && digits < 7 && p[digits] >= '0' && p[digits] <= '9'; digits++)
                        size = size * 10 + (size_t)(p[digits] - '0');
                if (digits == 0 || digits >= len || p[digits] != ' ' || size > len || size < digits + 3 ||
                    p[size - 1] != '\n')
                        return -EINVAL;
                const char *key = p + digits + 1, *end = p + size - 1;
                const char *equal = memchr(key, '=', (size_t)(end - key));
                if (!equal)
                        return -EINVAL;
                int r = take_record(key, (size_t)(equal - key), equal + 1, (size_t)(end - equal - 1), e, o);
                if (r < 0)
                        return r;
                p += size;
                len -= size;
        }
        return 0;
}

static bool is_blank(const struct tar_header *h)
{
        const char *p = (const char *)h;
        for (size_t i = 0; i < TAR_BLOCK; i++)
                if (p[i])
                        return false;
        return true;
}

/* Reads a header. Returns 1, or 0 at the end of the archive. */
static int read_header(struct tar_reader *r, struct tar_header *h)
{
        uint64_t sum;
        int e = skip_content(r);
        if (e == 0)
                e = read_exactly(r, h, sizeof *h);
        if (e < 0)
                return e;
        if (is_blank(h)) {
                e = read_exactly(r, h, sizeof *h); /* two of them */
                return e < 0 ? e : is_blank(h) ? 0 : -EINVAL;
        }
        if (read_number(h->checksum, sizeof h->checksum, &sum) < 0 || sum != tar_checksum(h))
                return -EINVAL;
        return 1;
}

/* Handles an extended header. Returns 1 if it was one. */
static int take_extension(struct tar_reader *r, char type, struct tar_entry *e, struct overrides *o)
{
        if (type != 'x' && type != 'g' && type != 'L' && type != 'K')
                return 0;
        size_t len = (size_t)r->left;
        if (r->left > sizeof r->records)
                return -EINVAL;
        int n = read_exactly(r, r->records, len);
        if (n < 0)
                return n;
        r->left = 0;
        if (type == 'x')
                n = take_records(r->records, len, e, o);
        else if (type != 'g') { /* GNU's values end in NUL */
                if (len > 0 && r->records[len - 1] == '\0')
                        len--;
                n = type == 'L' ? take_text(r->records, len, e->path, &o->path)
                                : take_text(r->records, len, e->link, &o->link);
        }
        return n < 0 ? n : 1;
}

/* Turns "./a//b/" into "a/b". Refuses a path that leaves its start. */
static int clean_path(char *path)
{
        char *to = path;
        if (path[0] == '/' || path[0] == '\0')
                return -EINVAL;
        for (const char *p = path; *p;) {
                size_t len = strcspn(p, "/");
                if (len == 2 && p[0] == '.' && p[1] == '.')
                        return -EINVAL;
                if (len > 0 && !(len == 1 && p[0] == '.')) {
                        if (to > path)
                                *to++ = '/';
                        memmove(to, p, len);
                        to += len;
                }
                p += len + (p[len] == '/');
        }
        *to = '\0';
        return 0;
}

static void take_field(char *to, const char *field, size_t len)
{
        len = strnlen(field, len);
        memcpy(to, field, len);
        to[len] = '\0';
}

static void take_name(const struct tar_header *h, char *path)
{
        size_t used = 0;
        if (!memcmp(h->magic, "ustar", 6) && h->prefix[0]) { /* GNU's magic is different, and has no prefix */
                take_field(path, h->prefix, sizeof h->prefix);
                used = strlen(path);
                path[used++] = '/';
        }
        take_field(path + used, h->name, sizeof h->name);
}

static int take_kind(const struct tar_header *h, struct tar_entry *e)
{
        switch (h->type) {
        case '\0':
        case '0':
        case '7': {
                size_t len = strlen(e->path); /* before POSIX, a trailing slash meant a directory */
                e->kind = h->type == '\0' && len > 0 && e->path[len - 1] == '/' ? TAR_DIRECTORY : TAR_FILE;
                return 0;
        }
        case '1':
                e->kind = TAR_HARDLINK;
                return 0;
        case '2':
                e->kind = TAR_SYMLINK;
                return 0;
        case '5':
                e->kind = TAR_DIRECTORY;
                return 0;
        default:
                return -EINVAL; /* devices, pipes, sparse files, unknown types */
        }
}

static int take_entry(const struct tar_header *h, struct tar_entry *e, const struct overrides *o)
{
        uint64_t mode, mtime;
        if (read_number(h->mode, sizeof h->mode, &mode) < 0)
                return -EINVAL;
        e->mode = (unsigned)mode & 0777;
        if (!o->mtime)
                e->mtime = read_number(h->mtime, sizeof h->mtime, &mtime) == 0 && mtime <= INT64_MAX
                                   ? (int64_t)mtime
                                   : 0;
        if (!o->path)
                take_name(h, e->path);
        if (!o->link)
                take_field(e->link, h->link, sizeof h->link);
        int r = take_kind(h, e);
        if (r == 0)
                r = clean_path(e->path);
        if (r == 0 && e->kind == TAR_HARDLINK)
                r = clean_path(e->link);
        if (r == 0 && e->kind == TAR_SYMLINK && !e->link[0])
                r = -EINVAL;
        if (r == 0 && e->kind != TAR_DIRECTORY && !e->path[0])
                r = -EINVAL;
        return r;
}

int tar_next(struct tar_reader *reader, struct tar_entry *ret)
{
        struct overrides o = {0};
        struct tar_header h;
        for (;;) {
                uint64_t size;
                int r = read_header(reader, &h);
                if (r <= 0)
                        return r;
                if (read_number(h.size, sizeof h.size, &size) < 0 || size > INT64_MAX)
                        return -EINVAL;
                begin_content(reader, size);
                if ((r = take_extension(reader, h.type, ret, &o)) < 0)
                        return r;
                if (r > 0)
                        continue;
                if (!o.size)
                        ret->size = size;
                if ((r = take_entry(&h, ret, &o)) < 0)
                        return r;
                /* Some programs write a size, but no content, for directories and links. */
                begin_content(reader, ret->kind == TAR_FILE ? ret->size : 0);
                if (ret->kind != TAR_FILE)
                        ret->size = 0;
                return 1;
        }
}
