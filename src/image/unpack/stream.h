/* image/unpack/stream.h -- the bytes of an archive on their way: read, hashed, uncompressed, hashed again.
 *
 *      source ── a thread: blob digest, decompression ── blocks ──┬── a thread: diff id
 *                                                                 └── whoever unpacks them
 *
 * The blocks are a ring, so that memory is bounded and nobody copies.  Unpacking takes as long as the slowest
 * of the three. */
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

/* Where the blob of a layer comes from: a descriptor, or a function (fd -1).  Compression (none, gzip, zstd,
 * xz, bzip2) is seen from the content. */
struct layer_source {
        int fd;
        ssize_t (*read)(void *arg, void *data, size_t size); /* 0: the end; or -errno; on another thread */
        void *arg;
        const char *digest; /* of the blob as it comes, "sha256:HEX" or HEX; NULL: none is expected */
        const char *diff;   /* of the archive in it, the same */
        uint64_t total;     /* bytes of the blob, for progress; 0: not known */
        bool keep; /* it is in the store at once and stays, whatever comes of the image (a download that
                    * fails goes on where it was); else it gets there when the image does */
};

/* max: the uncompressed size in bytes; a larger archive fails with CELLA_TOO_LARGE, which stops decompression
 * bombs.  Copies *source.  Borrows job and everything that *source points to (fd, arg, diff) until
 * stream_close(): declare those before an AUTO(stream_close) variable, so that they outlive its threads. */
int stream_open(struct imager_job *job, const struct layer_source *source, uint64_t max, struct stream **ret,
                struct cella_err *err);

/* Stops everything. */
struct stream *stream_close(struct stream *s);
DEFINE_AUTO(struct stream *, stream_close)

/* The next block, valid until the next call; 0: the end.  peek: it is going to come again. */
ssize_t stream_next(struct stream *s, const void **ret);
ssize_t stream_peek(struct stream *s, const void **ret);

/* What went wrong when one of them failed. */
int stream_error(struct stream *s, struct cella_err *err);

/* Before the second block is asked for: nobody wants to know the digest of what is in it. */
void stream_no_diff(struct stream *s);

/* Goes on to the end, and says both digests (the second may be NULL). */
int stream_end(struct stream *s, char blob[DIGEST_HEX + 1], char diff[DIGEST_HEX + 1], struct cella_err *err);

/* Bytes of the source so far. */
uint64_t stream_done(struct stream *s);
