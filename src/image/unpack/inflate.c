/* image/unpack/inflate.c -- see inflate.h.
 *
 * gzip is decompressed with zlib directly, which checks the checksum at the end, unlike libarchive, and
 * writes to the destination without a copy; the other formats with libarchive. */
#include "image/unpack/inflate.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/err.h"

#define INPUT_SIZE ((size_t)256 << 10)
#define MAGIC_MAX 6

struct inflate {
        ssize_t (*read)(void *arg, void *data, size_t size);
        void *arg;
        struct archive *archive; /* neither archive nor gzip: not compressed */
        z_stream zlib;
        bool opened, gzip, between; /* between: between two concatenated gzip files */
        int failed;                 /* error of the source */
        size_t ahead, used;         /* bytes of input read in advance, and used of them */
        char input[INPUT_SIZE];
};

struct inflate *inflate_new(ssize_t (*read)(void *arg, void *data, size_t size), void *arg)
{
        struct inflate *f = malloc(sizeof *f);
        if (!f)
                return NULL;
        memset(f, 0, offsetof(struct inflate, input));
        f->read = read;
        f->arg = arg;
        return f;
}

struct inflate *inflate_free(struct inflate *f)
{
        if (f && f->archive)
                archive_read_free(f->archive);
        if (f && f->gzip)
                inflateEnd(&f->zlib);
        free(f);
        return NULL;
}

/* Returns the data that was read in advance, or reads more. */
static ssize_t more(struct inflate *f, const void **ret)
{
        ssize_t n = (ssize_t)(f->ahead - f->used);
        *ret = f->input + f->used;
        f->used = f->ahead;
        if (n > 0)
                return n;
        *ret = f->input;
        n = f->read(f->arg, f->input, INPUT_SIZE);
        if (n < 0)
                f->failed = (int)n;
        return n;
}

static ssize_t inflate_give(struct archive *a, void *arg, const void **ret)
{
        ssize_t n = more(arg, ret);
        if (n >= 0)
                return n;
        archive_set_error(a, (int)-n, "cannot be read");
        return ARCHIVE_FATAL;
}

/* Reads enough to detect the format. */
static int read_ahead(struct inflate *f)
{
        while (f->ahead < MAGIC_MAX) {
                ssize_t n = f->read(f->arg, f->input + f->ahead, INPUT_SIZE - f->ahead);
                if (n < 0)
                        return (int)n;
                if (n == 0)
                        break;
                f->ahead += (size_t)n;
        }
        return 0;
}

static int (*find_filter(const struct inflate *f))(struct archive *)
{
        static const struct {
                const char *magic;
                size_t len;
                int (*filter)(struct archive *);
        } known[] = {
                {"\x28\xb5\x2f\xfd", 4, archive_read_support_filter_zstd},
                {"\xfd"
                 "7zXZ\0",
                 6, archive_read_support_filter_xz},
                {"BZh", 3, archive_read_support_filter_bzip2},
        };
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
                if (f->ahead >= known[i].len && memcmp(f->input, known[i].magic, known[i].len) == 0)
                        return known[i].filter;
        /* A skippable frame of zstd may come first. */
        if (f->ahead >= 4 && (f->input[0] & 0xf0) == 0x50 && memcmp(f->input + 1, "\x2a\x4d\x18", 3) == 0)
                return archive_read_support_filter_zstd;
        return NULL;
}

static int open_source(struct inflate *f)
{
        struct archive_entry *entry;
        int r = read_ahead(f);
        if (r < 0)
                return r;
        int (*filter)(struct archive *) = find_filter(f);
        f->opened = true;
        if (f->ahead >= 2 && memcmp(f->input, "\x1f\x8b", 2) == 0) {
                f->gzip = inflateInit2(&f->zlib, 15 + 16) == Z_OK;
                return f->gzip ? 0 : -ENOMEM;
        }
        if (!filter)
                return 0;
        f->archive = archive_read_new();
        if (!f->archive)
                return -ENOMEM;
        /* For a filter that needs an external program, libarchive only warns, and fails later. */
        if (filter(f->archive) != ARCHIVE_OK || archive_read_support_format_raw(f->archive) != ARCHIVE_OK ||
            archive_read_open(f->archive, f, NULL, inflate_give, NULL) != ARCHIVE_OK ||
            archive_read_next_header(f->archive, &entry) != ARCHIVE_OK)
                return -EBADMSG;
        /* The filter and the source; with more filters libarchive might never end. */
        if (archive_filter_count(f->archive) > 2) {
                archive_set_error(f->archive, EINVAL, "it is compressed twice");
                return -EBADMSG;
        }
        return 0;
}

static int inflate_fail(const struct inflate *f, int r, struct cella_err *err)
{
        const char *why = f->archive ? archive_error_string(f->archive) : f->zlib.msg;
        if (f->failed)
                r = f->failed;
        if (r == -ECANCELED)
                return err_say(err, CELLA_INVALID_REQUEST, r, "cancelled");
        if (f->failed || r != -EBADMSG)
                return err_set(err, CELLA_INTERNAL, r, "cannot read the archive");
        return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                       "the compressed data of the archive is damaged: %.150s",
                       why ? why : "it cannot be uncompressed");
}

static ssize_t read_plain(struct inflate *f, void *data, size_t size)
{
        if (f->used < f->ahead) {
                size_t n = f->ahead - f->used < size ? f->ahead - f->used : size;
                memcpy(data, f->input + f->used, n);
                f->used += n;
                return (ssize_t)n;
        }
        ssize_t n = f->read(f->arg, data, size);
        if (n < 0)
                f->failed = (int)n;
        return n;
}

/* A file may consist of several gzip files; other data after them is ignored. */
static bool another(struct inflate *f)
{
        const void *data;
        if (f->zlib.avail_in == 0) {
                ssize_t n = more(f, &data);
                f->zlib.next_in = (unsigned char *)data;
                f->zlib.avail_in = n > 0 ? (unsigned)n : 0;
        }
        if (f->zlib.avail_in == 0 || f->zlib.next_in[0] != 0x1f)
                return false;
        f->between = false;
        return inflateReset(&f->zlib) == Z_OK;
}

static ssize_t read_gzip(struct inflate *f, void *data, size_t size)
{
        const void *input;
        f->zlib.next_out = data;
        f->zlib.avail_out = (unsigned)size;
        while (f->zlib.avail_out > 0) {
                if (f->between && !another(f))
                        break;
                if (f->zlib.avail_in == 0) {
                        ssize_t n = more(f, &input);
                        if (n <= 0) {
                                f->zlib.msg = (char *)"it ends too early";
                                return -1;
                        }
                        f->zlib.next_in = (unsigned char *)input;
                        f->zlib.avail_in = (unsigned)n;
                }
                int r = inflate(&f->zlib, Z_NO_FLUSH);
                f->between = r == Z_STREAM_END;
                if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
                        return -1;
        }
        return (ssize_t)(size - f->zlib.avail_out);
}

ssize_t inflate_read(struct inflate *f, void *data, size_t size, struct cella_err *err)
{
        int r = f->opened ? 0 : open_source(f);
        if (r < 0)
                return inflate_fail(f, r, err);
        ssize_t n = f->gzip      ? read_gzip(f, data, size)
                    : f->archive ? archive_read_data(f->archive, data, size)
                                 : read_plain(f, data, size);
        return n < 0 ? inflate_fail(f, -EBADMSG, err) : n;
}
