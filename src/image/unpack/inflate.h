/* image/unpack/inflate.h -- decompresses data: none, gzip, zstd, xz or bzip2, detected by the first bytes.
 *
 * Only one layer of compression: data that is compressed twice is refused. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "base/auto.h"
#include "cella.h"

struct inflate; /* opaque */

/* read() returns up to size bytes, 0 at the end, or -errno. */
struct inflate *inflate_new(ssize_t (*read)(void *arg, void *data, size_t size), void *arg);
struct inflate *inflate_free(struct inflate *f);
DEFINE_AUTO(struct inflate *, inflate_free)

/* Returns up to size bytes; 0 at the end of the compressed data, after which the source may have more. */
ssize_t inflate_read(struct inflate *f, void *data, size_t size, struct cella_err *err);
