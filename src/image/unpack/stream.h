/* image/unpack/stream.h -- reads an archive: hashes, decompresses and hashes the result.
 *
 *      source ── a thread: blob digest, decompression ── blocks ──┬── a thread: diff id
 *                                                                 └── the user, who unpacks them
 *
 * The blocks are a ring buffer, so that memory is limited and nothing is copied.  Unpacking takes as long as
 * the slowest of the three. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/auto.h"
#include "cella.h"
#include "image/imager.h"
#include "image/unpack/digest.h"

#define STREAM_BLOCK ((size_t)512 << 10)

struct stream; /* opaque */

/* The source of a layer's blob: a descriptor, or a function (fd -1).  The compression (none, gzip, zstd, xz,
 * bzip2) is detected by the content. */
struct layer_source {
        int fd;
        /* returns 0 at the end, or -errno; called by another thread */
        ssize_t (*read)(void *arg, void *data, size_t size);
        void *arg;
        const char *digest; /* expected digest of the compressed blob, "sha256:HEX" or HEX; NULL: any */
        const char *diff;   /* the same of the uncompressed archive */
        uint64_t total;     /* bytes of the blob, for progress; 0: unknown */
        /* add it to the store at once and keep it, even if the image fails (so that a failed download can
         * continue); otherwise it is added with the image */
        bool keep;
};

/* max: the uncompressed size in bytes; a larger archive fails with CELLA_TOO_LARGE, which stops decompression
 * bombs.  Copies *source.  Borrows job and everything that *source points to (fd, arg, diff) until
 * stream_close(): declare those before an AUTO(stream_close) variable, so that they outlive its threads. */
int stream_open(struct imager_job *job, const struct layer_source *source, uint64_t max, struct stream **ret,
                struct cella_err *err);

/* Stops everything. */
struct stream *stream_close(struct stream *s);
DEFINE_AUTO(struct stream *, stream_close)

/* Returns the next block, valid until the next call; 0: the end.  peek: the next call returns it again. */
ssize_t stream_next(struct stream *s, const void **ret);
ssize_t stream_peek(struct stream *s, const void **ret);

/* Sets *err after one of these functions has failed. */
int stream_error(struct stream *s, struct cella_err *err);

/* Disables the digest of the content.  Call it before the second block is requested. */
void stream_no_diff(struct stream *s);

/* Reads to the end and returns both digests (the second may be NULL). */
int stream_end(struct stream *s, char blob[DIGEST_HEX + 1], char diff[DIGEST_HEX + 1], struct cella_err *err);
