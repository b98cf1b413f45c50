/* cli/client/tar_unpack.c -- see tar.h for the invariants. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/client/tar.h"
#include "cli/new_file.h"
#include "sys/file.h"

#define METAS_MAX 8 /* headers that describe one entry */

enum state {
        HEADER, /* collecting a block */
        META,   /* a pax header or a long name of GNU tar */
        CONTENT,
        SKIP,
        PADDING,
        END,
};

struct tar_unpack {
        int dir;
        enum state state;
        char meta_type;
        uint64_t left;    /* remaining bytes of the current state */
        uint64_t padding; /* padding after it */
        size_t have;      /* of block, or of meta */
        bool zero_block;  /* the previous block was all zeros */
        unsigned metas;   /* headers so far that describe the next entry */
        struct tar_unpack_options options;
        uint64_t bytes, entries; /* totals; see options */
        struct tar_left_out left_out;

        bool has_path, has_link, has_size; /* set by a previous header */
        uint64_t size;
        char path[PATH_MAX], link[PATH_MAX];

        struct new_file file; /* the file that is being written */
        struct timespec mtime;
        union {
                struct tar_header header;
                char bytes[TAR_BLOCK];
        } block;
        char meta[TAR_META_MAX + 1];
};

static int wrong(struct cella_err *err, const char *what)
{
        return err_say(err, CELLA_INTERNAL, -EPROTO, "the archive is invalid: %s", what);
}

/* Names come from the archive; err_say() makes them safe for a terminal. */
static int tar_unpack_refuse(struct cella_err *err, const char *name, const char *why)
{
        return err_say(err, CELLA_INTERNAL, -EPERM, "the archive has '%.100s', %s: unpacking was stopped",
                       name, why);
}

int tar_unpack_new(int dir, const struct tar_unpack_options *options, struct tar_unpack **ret,
                   struct cella_err *err)
{
        struct tar_unpack *u = calloc(1, sizeof *u);
        if (!u)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "tar");
        u->dir = dir;
        u->options = *options;
        u->file = NEW_FILE_NONE;
        u->left = TAR_BLOCK;
        *ret = u;
        return 0;
}

struct tar_unpack *tar_unpack_free(struct tar_unpack *u)
{
        if (u)
                new_file_done(&u->file);
        free(u);
        return NULL;
}

/* Reads octal digits with blanks around them, or base 256 if the first bit is set. */
static int tar_unpack_number(const char *field, size_t size, uint64_t *ret)
{
        const unsigned char *p = (const unsigned char *)field, *end = p + size;
        uint64_t value = 0;
        if (*p & 0x80) {
                value = *p++ & 0x7f;
                for (; p < end; p++) {
                        if (value >> 55)
                                return -ERANGE;
                        value = value << 8 | *p;
                }
                *ret = value;
                return 0;
        }
        while (p < end && *p == ' ')
                p++;
        for (; p < end && *p >= '0' && *p <= '7'; p++) {
                if (value >> 60)
                        return -ERANGE;
                value = value << 3 | (uint64_t)(*p - '0');
        }
        for (; p < end; p++)
                if (*p != ' ' && *p != '\0')
                        return -EINVAL;
        *ret = value;
        return 0;
}

/* ---- limits ---- */

static int count_entry(struct tar_unpack *u, struct cella_err *err)
{
        if (u->entries++ < u->options.entries_max)
                return 0;
        err_say(err, CELLA_TOO_LARGE, -EFBIG, "the copy has more than %llu files, directories and links",
                (unsigned long long)u->options.entries_max);
        return err_hint(err, "the entries before it were copied; raise the limit with --max-entries");
}

static int count_bytes(struct tar_unpack *u, uint64_t size, struct cella_err *err)
{
        if (size <= u->options.bytes_max - u->bytes) {
                u->bytes += size;
                return 0;
        }
        err_say(err, CELLA_TOO_LARGE, -EFBIG, "the copy has more than %llu bytes",
                (unsigned long long)u->options.bytes_max);
        return err_hint(err, "the entries before it were copied; raise the limit with --max-bytes");
}

/* ---- paths ---- */

/* Opens the parent directory of path and creates missing directories.  *ret_leaf is the last part; "" for the
 * directory itself.  Modifies path. */
static int tar_unpack_open_parent(struct tar_unpack *u, char *path, const char **ret_leaf,
                                  struct cella_err *err)
{
        char whole[PATH_MAX];
        unsigned depth = 0;
        snprintf(whole, sizeof whole, "%s", path);
        if (path[0] == '/')
                return tar_unpack_refuse(err, whole, "an absolute name");
        int dir = sys_openat(u->dir, ".", O_PATH | O_DIRECTORY, 0);
        const char *leaf = "";
        for (char *part = path, *next; dir >= 0 && part; part = next) {
                next = strchr(part, '/');
                if (next)
                        *next++ = '\0';
                if (!*part || !strcmp(part, "."))
                        continue;
                if (!strcmp(part, "..") || strlen(part) > NAME_MAX || ++depth > TAR_DEPTH_MAX) {
                        sys_close(dir);
                        return tar_unpack_refuse(err, whole,
                                                 strcmp(part, "..") ? "a name that is too long"
                                                                    : "a name with '..'");
                }
                if (*leaf) {
                        int r = sys_mkdirat(dir, leaf, 0755);
                        if (r == 0 && (r = count_entry(u, err)) < 0) {
                                sys_close(dir);
                                return r;
                        }
                        int below = r < 0 && r != -EEXIST
                                            ? r
                                            : sys_openat(dir, leaf, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
                        sys_close(dir);
                        dir = below;
                }
                leaf = part;
        }
        if (dir == -ELOOP || dir == -ENOTDIR)
                return tar_unpack_refuse(err, whole, "a name below a link or file");
        if (dir < 0)
                return err_set(err, CELLA_INTERNAL, dir, "cannot make '%.150s'", whole);
        *ret_leaf = leaf;
        return dir;
}

static int cannot_replace(struct cella_err *err, int r, const char *leaf)
{
        if (r == -EISDIR)
                return err_say(err, CELLA_INTERNAL, r, "'%.150s' is a directory here, but not in the archive",
                               leaf);
        if (r == -EEXIST)
                return err_say(err, CELLA_INTERNAL, r,
                               "'%.150s' is a device, FIFO or socket here: not replaced", leaf);
        return err_set(err, CELLA_INTERNAL, r, "cannot write '%.150s'", leaf);
}

static int tar_unpack_make_directory(struct tar_unpack *u, unsigned mode, struct cella_err *err)
{
        const char *leaf;
        struct stat st;
        AUTO(sys_close) int dir = tar_unpack_open_parent(u, u->path, &leaf, err);
        if (dir < 0)
                return dir;
        if (!*leaf)
                return 0;
        int r = sys_mkdirat(dir, leaf, mode | 0700); /* otherwise nothing could be created in it */
        if (r == -EEXIST && fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
                return 0;
        if (r == -EEXIST)
                return tar_unpack_refuse(err, leaf, "a directory, but it is a link or file here");
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot make '%.150s'", leaf) : 0;
}

static unsigned count_names(const char *path)
{
        unsigned n = 0;
        for (size_t len; *path; path += len + (path[len] == '/')) {
                len = strcspn(path, "/");
                n += len > 0 && !(len == 1 && path[0] == '.');
        }
        return n;
}

bool tar_link_leads_out(const char *path, const char *target)
{
        unsigned names = count_names(path), above = names > 0 ? names - 1 : 0;
        bool below = false; /* after the first name */
        if (target[0] == '/')
                return true;
        for (size_t len; *target; target += len + (target[len] == '/')) {
                len = strcspn(target, "/");
                if (len == 2 && !memcmp(target, "..", 2)) {
                        if (below || above-- == 0)
                                return true;
                } else if (len > 0 && !(len == 1 && target[0] == '.')) {
                        below = true;
                }
        }
        return false;
}

static int make_link(struct tar_unpack *u, struct cella_err *err)
{
        const char *leaf;
        bool leads_out = tar_link_leads_out(u->path, u->link);
        AUTO(sys_close) int dir = tar_unpack_open_parent(u, u->path, &leaf, err);
        if (dir < 0)
                return dir;
        if (!*leaf || !u->link[0])
                return wrong(err, "a link without a name");
        if (leads_out && !u->options.keep_links) {
                u->left_out.links++;
                return 0;
        }
        int r = new_file_check(dir, leaf);
        if (r == 0 && (r = sys_unlinkat(dir, leaf, 0)) == -ENOENT)
                r = 0;
        if (r == 0)
                r = sys_symlinkat(u->link, dir, leaf);
        return r < 0 ? cannot_replace(err, r, leaf) : 0;
}

static int make_file(struct tar_unpack *u, unsigned mode, struct cella_err *err)
{
        const char *leaf;
        int dir = tar_unpack_open_parent(u, u->path, &leaf, err);
        if (dir < 0)
                return dir;
        if (!*leaf) {
                sys_close(dir);
                return wrong(err, "a file without a name");
        }
        int r = new_file_begin(&u->file, dir, leaf, mode);
        return r < 0 ? cannot_replace(err, r, leaf) : 0;
}

static int end_file(struct tar_unpack *u, struct cella_err *err)
{
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, u->mtime};
        if (u->mtime.tv_sec > 0)
                futimens(u->file.fd, times); /* not all file systems can store such times */
        int r = new_file_commit(&u->file);
        if (r < 0)
                cannot_replace(err, r, u->file.name);
        new_file_done(&u->file);
        return r;
}

/* ---- headers ---- */

static int keep_name(char out[PATH_MAX], const char *text, size_t len, struct cella_err *err)
{
        if (len >= PATH_MAX || memchr(text, '\0', len))
                return wrong(err, "a name that is too long, or has a NUL in it");
        memcpy(out, text, len);
        out[len] = '\0';
        return 0;
}

static int take_record(struct tar_unpack *u, const char *key, size_t key_len, const char *value, size_t len,
                       struct cella_err *err)
{
        int r = 0;
        if (key_len == 4 && !memcmp(key, "path", 4)) {
                r = keep_name(u->path, value, len, err);
                u->has_path = true;
        } else if (key_len == 8 && !memcmp(key, "linkpath", 8)) {
                r = keep_name(u->link, value, len, err);
                u->has_link = true;
        } else if (key_len == 4 && !memcmp(key, "size", 4)) {
                u->size = 0;
                for (size_t i = 0; i < len; i++) {
                        if (value[i] < '0' || value[i] > '9' || u->size > INT64_MAX / 16)
                                return wrong(err, "a size that is not a number");
                        u->size = u->size * 10 + (uint64_t)(value[i] - '0');
                }
                u->has_size = len > 0;
        }
        return r;
}

/* Parses records "LENGTH key=value\n"; LENGTH is that of the whole record. */
static int take_pax(struct tar_unpack *u, const char *text, size_t len, struct cella_err *err)
{
        while (len > 0) {
                size_t record = 0, i = 0;
                while (i < len && i < 8 && text[i] >= '0' && text[i] <= '9')
                        record = record * 10 + (size_t)(text[i++] - '0');
                if (i == 0 || i >= len || text[i] != ' ' || record <= i + 1 || record > len ||
                    text[record - 1] != '\n')
                        return wrong(err, "a pax header");
                const char *key = text + i + 1, *end = text + record - 1;
                const char *equals = memchr(key, '=', (size_t)(end - key));
                if (!equals)
                        return wrong(err, "a pax header");
                int r = take_record(u, key, (size_t)(equals - key), equals + 1, (size_t)(end - equals - 1),
                                    err);
                if (r < 0)
                        return r;
                text += record;
                len -= record;
        }
        return 0;
}

static int end_meta(struct tar_unpack *u, struct cella_err *err)
{
        size_t len = strnlen(u->meta, u->have);
        switch (u->meta_type) {
        case 'x':
                return take_pax(u, u->meta, u->have, err);
        case 'L':
                u->has_path = true;
                return keep_name(u->path, u->meta, len, err);
        case 'K':
                u->has_link = true;
                return keep_name(u->link, u->meta, len, err);
        default:
                return 0;
        }
}

static void name_from_header(struct tar_unpack *u)
{
        const struct tar_header *h = &u->block.header;
        if (!u->has_path && !memcmp(h->magic, "ustar", 6) && h->prefix[0])
                snprintf(u->path, sizeof u->path, "%.155s/%.100s", h->prefix, h->name);
        else if (!u->has_path)
                snprintf(u->path, sizeof u->path, "%.100s", h->name);
        if (!u->has_link)
                snprintf(u->link, sizeof u->link, "%.100s", h->link);
}

/* Begins an entry that does not describe the next one. */
static int begin_entry(struct tar_unpack *u, uint64_t size, unsigned mode, struct cella_err *err)
{
        int r = count_entry(u, err);
        if (r < 0 || (u->block.header.type != '2' && (r = count_bytes(u, size, err)) < 0))
                return r;
        name_from_header(u);
        u->metas = 0;
        u->state = SKIP;
        switch (u->block.header.type) {
        case '\0':
        case '0':
        case '7': {
                size_t len = strlen(u->path);
                if (len > 0 && u->path[len - 1] == '/') { /* a directory in the old format, without types */
                        r = tar_unpack_make_directory(u, mode, err);
                        break;
                }
                r = make_file(u, mode, err);
                u->state = CONTENT;
                break;
        }
        case '5':
                r = tar_unpack_make_directory(u, mode, err);
                break;
        case '2':
                r = make_link(u, err);
                size = 0;
                break;
        default:
                u->left_out.special++;
        }
        u->has_path = u->has_link = u->has_size = false;
        u->left = size;
        return r;
}

static bool is_zero(const char *block)
{
        for (size_t i = 0; i < TAR_BLOCK; i++)
                if (block[i])
                        return false;
        return true;
}

static int tar_unpack_take_header(struct tar_unpack *u, struct cella_err *err)
{
        const struct tar_header *h = &u->block.header;
        uint64_t size = 0, sum = 0, mode = 0, mtime = 0;
        if (is_zero(u->block.bytes)) {
                u->state = u->zero_block ? END : HEADER;
                u->zero_block = true;
                u->left = TAR_BLOCK;
                u->have = 0;
                return 0;
        }
        u->zero_block = false;
        if (tar_unpack_number(h->checksum, sizeof h->checksum, &sum) < 0 || sum != tar_checksum(h))
                return wrong(err, "a header with an invalid checksum");
        if (tar_unpack_number(h->size, sizeof h->size, &size) < 0 ||
            tar_unpack_number(h->mode, sizeof h->mode, &mode) < 0)
                return wrong(err, "a header with invalid numbers");
        u->mtime = (struct timespec){0};
        if (tar_unpack_number(h->mtime, sizeof h->mtime, &mtime) == 0 && mtime < UINT64_C(1) << 34)
                u->mtime.tv_sec = (time_t)mtime;
        int r = 0;
        if (h->type == 'x' || h->type == 'g' || h->type == 'L' || h->type == 'K') {
                if (size > TAR_META_MAX || ++u->metas > METAS_MAX)
                        return wrong(err, "a header that is too long");
                u->state = META;
                u->meta_type = h->type;
                u->left = size;
        } else {
                if (u->has_size)
                        size = u->size;
                if (size > INT64_MAX)
                        return wrong(err, "a size that is too large");
                r = begin_entry(u, size, (unsigned)mode & 0777, err);
        }
        u->padding = (TAR_BLOCK - u->left % TAR_BLOCK) % TAR_BLOCK;
        u->have = 0;
        return r;
}

/* The current state is complete: changes to the next one. */
static int tar_unpack_advance(struct tar_unpack *u, struct cella_err *err)
{
        int r = 0;
        switch (u->state) {
        case HEADER:
                return tar_unpack_take_header(u, err);
        case META:
                r = end_meta(u, err);
                break;
        case CONTENT:
                r = end_file(u, err);
                break;
        default:
                break;
        }
        u->have = 0;
        if (u->state == PADDING || u->padding == 0) {
                u->state = HEADER;
                u->left = TAR_BLOCK;
        } else {
                u->state = PADDING;
                u->left = u->padding;
        }
        return r;
}

int tar_unpack_feed(struct tar_unpack *u, const char *data, size_t len, struct cella_err *err)
{
        while (u->state != END) {
                if (u->left == 0) {
                        int r = tar_unpack_advance(u, err);
                        if (r < 0)
                                return r;
                        continue;
                }
                if (len == 0)
                        return 0;
                size_t n = u->left < len ? (size_t)u->left : len;
                int r = 0;
                if (u->state == HEADER)
                        memcpy(u->block.bytes + u->have, data, n);
                else if (u->state == META)
                        memcpy(u->meta + u->have, data, n);
                else if (u->state == CONTENT)
                        r = sys_write_all(u->file.fd, data, n);
                if (r < 0)
                        return err_set(err, CELLA_INTERNAL, r, "cannot write a file of the archive");
                u->have += n;
                u->left -= n;
                data += n;
                len -= n;
        }
        return 0;
}

int tar_unpack_end(struct tar_unpack *u, struct tar_left_out *ret, struct cella_err *err)
{
        *ret = u->left_out;
        /* Some programs omit the blocks of zeros at the end. */
        if (u->state == END || (u->state == HEADER && u->have == 0))
                return 0;
        return wrong(err, "it ends too early");
}
