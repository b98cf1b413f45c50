#include "image/unpack/archive_parts.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "image/unpack/tree.h"
#include "image/unpack/unpack.h"

#define PARTS_MAX 10000
#define TEXT_MAX ((size_t)4 << 20)
#define TEXTS_MAX ((size_t)32 << 20)
#define LINKS_MAX 8 /* maximum length of a chain of links */
#define HEAD 512    /* a block of an archive */

void parts_done(struct parts *parts)
{
        for (size_t i = 0; i < parts->n; i++) {
                free(parts->list[i].name);
                free(parts->list[i].text);
        }
        free(parts->list);
        *parts = (struct parts){0};
}

/* ---- lookup ---- */

/* Of two parts with the same name, the later one counts. */
static const struct part *archive_parts_find(const struct parts *parts, const char *name)
{
        for (size_t i = parts->n; i > 0; i--)
                if (strcmp(parts->list[i - 1].name, name) == 0)
                        return &parts->list[i - 1];
        return NULL;
}

const struct part *parts_find(const struct parts *parts, const char *name)
{
        char path[TREE_PATH_MAX];
        const struct part *part = tree_path(name, path) == 0 ? archive_parts_find(parts, path) : NULL;
        for (int i = 0; part && part->kind == PART_LINK; i++)
                part = i < LINKS_MAX ? archive_parts_find(parts, part->text) : NULL;
        return part;
}

/* Checks the digest in names like blobs/sha256/HEX and HEX.json. */
static bool keeps_promise(const struct part *part)
{
        const char *slash = strrchr(part->name, '/'), *base = slash ? slash + 1 : part->name;
        size_t len = strspn(base, "0123456789abcdef");
        bool blob = strncmp(part->name, "blobs/sha256/", 13) == 0 && base[len] == '\0';
        bool config = part->kind == PART_TEXT && base == part->name && strcmp(base + len, ".json") == 0;
        return len != DIGEST_HEX || (!blob && !config) || strncmp(base, part->digest, DIGEST_HEX) == 0;
}

const struct part *parts_need(const struct parts *parts, const char *name, enum part_kind kind,
                              struct cella_err *err)
{
        const struct part *part = parts_find(parts, name);
        if (!part)
                err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                        "the archive has no '%.100s', although it refers to it", name);
        else if (part->kind == PART_BROKEN)
                err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "'%.60s' in the archive: %.160s", name,
                        part->text);
        else if (part->kind != kind)
                err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "'%.100s' in the archive is not %s", name,
                        kind == PART_LAYER ? "a layer" : "JSON");
        else if (!keeps_promise(part))
                err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                        "'%.100s' in the archive has the digest sha256:%.16s...", name, part->digest);
        else
                return part;
        return NULL;
}

/* ---- reading ---- */

struct reading {
        struct imager_job *job;
        struct writer *w;
        struct stream *stream;
        struct archive *archive;
        struct parts *parts;
        char head[HEAD]; /* beginning of the file */
        size_t head_len, head_used;
};

static struct part *archive_parts_add(struct reading *r, const char *name, enum part_kind kind,
                                      struct cella_err *err)
{
        struct parts *p = r->parts;
        if (p->n == PARTS_MAX) {
                err_say(err, CELLA_TOO_LARGE, -E2BIG, "the archive has more than %d files", PARTS_MAX);
                return NULL;
        }
        if (p->n == p->size) {
                size_t size = p->size ? p->size * 2 : 32;
                struct part *list = realloc(p->list, size * sizeof *list);
                if (list) {
                        p->list = list;
                        p->size = size;
                }
        }
        char *copy = p->n < p->size ? strdup(name) : NULL;
        if (!copy) {
                err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot read the archive");
                return NULL;
        }
        p->list[p->n] = (struct part){.kind = kind, .name = copy};
        return &p->list[p->n++];
}

/* Returns the examined beginning first.  Called by the stream's thread, while this one waits for it. */
static ssize_t read_part(void *arg, void *data, size_t size)
{
        struct reading *r = arg;
        if (r->head_used < r->head_len) {
                size_t n = r->head_len - r->head_used < size ? r->head_len - r->head_used : size;
                memcpy(data, r->head + r->head_used, n);
                r->head_used += n;
                return (ssize_t)n;
        }
        ssize_t n = archive_read_data(r->archive, data, size);
        return n < 0 ? -EIO : n;
}

static bool is_compressed(const char *head)
{
        return memcmp(head, "\x1f\x8b", 2) == 0 || memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0 ||
               memcmp(head,
                      "\xfd"
                      "7zXZ",
                      5) == 0 ||
               memcmp(head, "BZh", 3) == 0;
}

/* Checks the checksum of the first header; an empty file is an empty archive. */
static bool is_tar(const char *head, size_t len)
{
        unsigned sum = 8 * ' ', said = 0;
        if (len < HEAD)
                return false;
        for (size_t i = 0; i < HEAD; i++)
                sum += i >= 148 && i < 156 ? 0 : (unsigned char)head[i];
        if (sum == 8 * ' ')
                return true;
        for (const char *p = head + 148; p < head + 156; p++)
                if (*p >= '0' && *p <= '7')
                        said = said * 8 + (unsigned)(*p - '0');
        return said == sum;
}

static int read_text(struct reading *r, const char *name, size_t size, struct cella_err *err)
{
        struct part *part = archive_parts_add(r, name, PART_TEXT, err);
        if (!part)
                return err ? err->num : -ENOMEM;
        if ((r->parts->bytes += size) > TEXTS_MAX)
                return err_say(err, CELLA_TOO_LARGE, -EFBIG,
                               "the archive has too much metadata about its images");
        part->text = malloc(size + 1);
        if (!part->text)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot read the archive");
        while (part->len < size) {
                ssize_t n = read_part(r, part->text + part->len, size - part->len);
                if (n < 0)
                        return unpack_fail(r->archive, r->stream, err);
                if (n == 0)
                        break;
                part->len += (size_t)n;
        }
        part->text[part->len] = '\0';
        return digest_of(part->text, part->len, part->digest) < 0
                       ? err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot read the archive")
                       : 0;
}

/* A file that is not a valid layer is an error only if the archive declares it as one. */
static int read_layer(struct reading *r, const char *name, struct cella_err *err)
{
        struct cella_err why = {0};
        const struct layer_source source = {.fd = -1, .read = read_part, .arg = r};
        struct part *part = archive_parts_add(r, name, PART_LAYER, err);
        if (!part)
                return err ? err->num : -ENOMEM;
        int e = writer_add_layer_digest(r->w, &source, part->diff, part->digest, &why);
        if (e == -EBADMSG && why.kind == CELLA_INVALID_REQUEST) {
                part->kind = PART_BROKEN;
                part->text = strdup(why.msg);
                return part->text ? 0 : err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot read the archive");
        }
        if (e < 0 && err)
                *err = why;
        return e;
}

static int archive_parts_read_file(struct reading *r, const char *name, int64_t size, struct cella_err *err)
{
        r->head_len = r->head_used = 0;
        while (r->head_len < HEAD) {
                ssize_t n = archive_read_data(r->archive, r->head + r->head_len, HEAD - r->head_len);
                if (n < 0)
                        return unpack_fail(r->archive, r->stream, err);
                if (n == 0)
                        break;
                r->head_len += (size_t)n;
        }
        memset(r->head + r->head_len, 0, HEAD - r->head_len);
        if (is_tar(r->head, r->head_len) || (r->head_len > 16 && is_compressed(r->head)))
                return read_layer(r, name, err);
        size_t space = strspn(r->head, " \t\r\n");
        if (space < HEAD && (r->head[space] == '{' || r->head[space] == '[') && size >= 0 &&
            (uint64_t)size <= TEXT_MAX)
                return read_text(r, name, (size_t)size, err);
        return 0;
}

/* Records the name that a link refers to; that of a symbolic link is relative to its own directory.  It is
 * only a name: no file is looked up. */
static int read_link(struct reading *r, const char *name, const char *target, bool symbolic,
                     struct cella_err *err)
{
        char path[2 * TREE_PATH_MAX], clean[TREE_PATH_MAX];
        const char *slash = strrchr(name, '/');
        size_t len = symbolic && slash && target[0] != '/' ? (size_t)(slash - name) : 0;
        if (strlen(target) >= TREE_PATH_MAX)
                return 0;
        for (; strncmp(target, "../", 3) == 0; target += 3)
                while (len > 0 && name[--len] != '/')
                        ;
        snprintf(path, sizeof path, "%.*s/%s", (int)len, name, target);
        if (tree_path(path, clean) < 0)
                return 0; /* it cannot be referenced */
        struct part *part = archive_parts_add(r, name, PART_LINK, err);
        if (!part)
                return err ? err->num : -ENOMEM;
        part->text = strdup(clean);
        return part->text ? 0 : err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot read the archive");
}

static int read_entry(struct reading *r, struct archive_entry *entry, struct cella_err *err)
{
        char name[TREE_PATH_MAX];
        const char *path = archive_entry_pathname(entry), *link = archive_entry_hardlink(entry);
        int e = job_cancelled(r->job, err);
        if (e < 0)
                return e;
        if (!path || tree_path(path, name) < 0)
                return 0;
        if (link)
                return read_link(r, name, link, false, err);
        if (archive_entry_filetype(entry) == AE_IFLNK && (link = archive_entry_symlink(entry)))
                return read_link(r, name, link, true, err);
        return archive_entry_filetype(entry) == AE_IFREG
                       ? archive_parts_read_file(r, name, archive_entry_size(entry), err)
                       : 0;
}

int parts_read(struct imager_job *job, struct writer *w, struct stream *stream, struct parts *ret,
               struct cella_err *err)
{
        struct reading r = {.job = job, .w = w, .stream = stream, .parts = ret};
        struct archive_entry *entry;
        int a, e = 0;
        r.archive = unpack_open(stream, err);
        if (!r.archive)
                return err ? err->num : -EBADMSG;
        while ((a = archive_read_next_header(r.archive, &entry)) == ARCHIVE_OK || a == ARCHIVE_WARN)
                if ((e = read_entry(&r, entry, err)) < 0)
                        break;
        if (e == 0 && a != ARCHIVE_EOF)
                e = unpack_fail(r.archive, stream, err);
        archive_read_free(r.archive);
        return e;
}
