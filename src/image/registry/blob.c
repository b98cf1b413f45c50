#include "image/registry/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "image/imager.h"
#include "image/store/room.h"

#define CHUNK ((size_t)1 << 20)
#define SHORT_DIGEST 19 /* sha256: and twelve digits, as in messages */

static void file_name(const struct blob *b, char ret[REFERENCE_DIGEST_SIZE + 8])
{
        snprintf(ret, REFERENCE_DIGEST_SIZE + 8, "%s.part", digest_hex(b->descriptor->digest));
}

static int disk_trouble(const struct blob *b, int num, const char *what, struct cella_err *err)
{
        err_set(err, num == -ENOSPC || num == -EDQUOT ? CELLA_TOO_LARGE : CELLA_INTERNAL, num,
                "%s layer %.*s", what, SHORT_DIGEST, b->descriptor->digest);
        if (num == -ENOSPC || num == -EDQUOT)
                err_hint(err, "free space in the image store: cella image rm");
        return num;
}

int blob_directory(int store, struct cella_err *err)
{
        if (mkdirat(store, "blobs", 0700) < 0 && errno != EEXIST)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot make blobs/ in the store of images");
        int fd = openat(store, "blobs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd >= 0 ? fd
                       : err_set(err, CELLA_INTERNAL, -errno, "cannot open blobs/ in the store of images");
}

/* ---- the file ---- */

static int blob_forget(struct blob *b)
{
        b->digest = digest_free(b->digest);
        b->digest = digest_new();
        b->have = b->hashed = 0;
        b->old = false;
        if (!b->digest)
                return -ENOMEM;
        return ftruncate(b->fd, 0) < 0 ? -errno : 0;
}

/* Returns 1 if the file is locked and still has the name; 0 if another process uses it or has removed it. */
static int lock_file(int fd, int directory, const char *name, struct stat *st)
{
        struct stat named;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                return errno == EWOULDBLOCK ? 0 : -errno;
        if (fstat(fd, st) < 0)
                return -errno;
        if (!S_ISREG(st->st_mode))
                return -EINVAL;
        return fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == st->st_ino;
}

int blob_open(struct blob *b, struct cella_err *err)
{
        char name[REFERENCE_DIGEST_SIZE + 8];
        struct stat st;
        file_name(b, name);
        int fd = openat(b->directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
        if (fd < 0)
                return disk_trouble(b, -errno, "cannot make the file for", err);
        int r = lock_file(fd, b->directory, name, &st);
        if (r <= 0) {
                close(fd);
                return r < 0 ? disk_trouble(b, r, "cannot lock the file for", err) : 0;
        }
        b->fd = fd;
        r = 0;
        b->digest = digest_new();
        b->have = (uint64_t)st.st_size;
        b->old = b->have > 0;
        if (!b->digest || b->have > b->descriptor->size) /* it is longer than the layer: not the same data */
                r = blob_forget(b);
        if (r < 0)
                return disk_trouble(b, r, "cannot begin with", err);
        r = room_take(b->room, b->descriptor->size - b->have, err);
        b->counted = r == 0;
        return r < 0 ? r : 1;
}

int blob_catch_up(struct blob *b, struct cella_err *err)
{
        if (b->hashed == b->have)
                return 1;
        char *chunk = malloc(CHUNK);
        size_t want = b->have - b->hashed < CHUNK ? (size_t)(b->have - b->hashed) : CHUNK;
        ssize_t n = chunk ? pread(b->fd, chunk, want, (off_t)b->hashed) : -1;
        if (n > 0) {
                digest_add(b->digest, chunk, (size_t)n);
                b->hashed += (uint64_t)n;
        }
        int e = n < 0 ? -errno : 0;
        free(chunk);
        if (n == 0)
                e = blob_forget(b); /* shorter than before: start again */
        return e < 0 ? disk_trouble(b, e, "cannot read the downloaded part of", err) : 0;
}

void blob_remove(struct blob *b)
{
        char name[REFERENCE_DIGEST_SIZE + 8];
        file_name(b, name);
        if (unlinkat(b->directory, name, 0) == 0)
                b->removed = true;
}

void blob_close(struct blob *b)
{
        if (b->fd >= 0)
                close(TAKE_FD(b->fd));
        if (b->counted) /* the full size, received or expected */
                room_give(b->descriptor->size - (b->removed ? 0 : b->have));
        b->counted = b->removed = false;
        b->digest = digest_free(b->digest);
}

/* ---- received data ---- */

void blob_begin(void *arg, uint64_t *ret_from)
{
        struct blob *b = arg;
        if (b->wrong_range)
                (void)blob_forget(b); /* data that could not be truncated is overwritten */
        *ret_from = b->have;
        b->first = true;
}

static int blob_broken(const struct blob *b, struct cella_err *err, const char *what)
{
        err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPROTO, "%s, layer %.*s: %s", b->host, SHORT_DIGEST,
                b->descriptor->digest, what);
        err_hint(err, "the registry, or a proxy before it, is broken");
        return -EPROTO;
}

/* Checks that the answer has the requested range. */
static int check_head(struct blob *b, const struct download_answer *a, struct cella_err *err)
{
        b->first = false;
        if (a->status == 200 && b->have > 0) { /* everything, although a range was requested */
                int e = blob_forget(b);
                if (e < 0)
                        return disk_trouble(b, e, "cannot begin again with", err);
        }
        if (a->status == 206 &&
            (!a->has_range || a->range_from != b->have ||
             (a->range_total != DOWNLOAD_UNKNOWN && a->range_total != b->descriptor->size))) {
                b->wrong_range = true;
                return blob_broken(b, err, "the answer has another range than the requested one");
        }
        if (a->length != DOWNLOAD_UNKNOWN && a->length != b->descriptor->size - b->have)
                return blob_broken(b, err, "its size is not that of the manifest");
        return 0;
}

static int write_all(struct blob *b, const char *data, size_t len)
{
        while (len > 0) {
                ssize_t n = pwrite(b->fd, data, len, (off_t)b->have);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                digest_add(b->digest, data, (size_t)n);
                data += n;
                len -= (size_t)n;
                b->have += (uint64_t)n;
                b->hashed = b->have;
        }
        return 0;
}

int blob_sink(void *arg, const struct download_answer *answer, const char *data, size_t len,
              struct cella_err *err)
{
        struct blob *b = arg;
        if (answer->status == 416) {
                int e = blob_forget(b);
                return e < 0 ? disk_trouble(b, e, "cannot begin again with", err) : 0;
        }
        if (b->first) {
                int e = check_head(b, answer, err);
                if (e < 0)
                        return e;
        }
        if (len > b->descriptor->size - b->have)
                return blob_broken(b, err, "it has more bytes than in the manifest");
        int e = write_all(b, data, len);
        if (e < 0) {
                blob_remove(b); /* do not keep a partial file on a full disk */
                return disk_trouble(b, e, "cannot write", err);
        }
        b->job->progress(b->job, b->name, "download", b->have, b->descriptor->size);
        return 0;
}

/* ---- complete files ---- */

bool blob_is_whole(const struct blob *b)
{
        return b->have == b->descriptor->size;
}

int blob_check(struct blob *b, struct cella_err *err)
{
        char hex[DIGEST_HEX + 1];
        digest_end(b->digest, hex);
        if (strcmp(hex, digest_hex(b->descriptor->digest)) == 0)
                return 1;
        if (b->old) { /* the data of an earlier pull may be wrong */
                int e = blob_forget(b);
                return e < 0 ? disk_trouble(b, e, "cannot begin again with", err) : 0;
        }
        blob_remove(b);
        err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                "%s sent wrong data for layer %.*s: digest mismatch, it is sha256:%.12s", b->host,
                SHORT_DIGEST, b->descriptor->digest, hex);
        err_hint(err, "it was changed in transit, or the registry is broken: it was not used");
        return -EBADMSG;
}
