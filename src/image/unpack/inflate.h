/* image/unpack/inflate.h -- uncompresses what comes: nothing, gzip, zstd, xz or bzip2, as its first bytes
 * say.
 *
 * One layer of it: what is compressed twice is not an archive. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "base/auto.h"
#include "cella.h"

struct inflate; /* opaque */

/* read: up to size bytes, 0 at the end, or -errno. */
struct inflate *inflate_new(ssize_t (*read)(void *arg, void *data, size_t size), void *arg);
struct inflate *inflate_free(struct inflate *f);
DEFINE_AUTO(struct inflate *, inflate_free)

/* Up to size bytes; 0 at the end of the compressed data, after which the source may have more. */
ssize_t inflate_read(struct inflate *f, void *data, size_t size, struct cella_err *err);
