/* image/unpack/unpack.h -- unpacks the archive of one layer into a directory.
 *
 * The archive is hostile.  In any case only files, directories and links are created, below the directory,
 * owned by the store's owner; setuid bits, devices, sockets, pipes, attributes and owners are left out; sizes
 * and counts are limited by the budget.  Deletions of files in lower layers (.wh.NAME, .wh..wh..opq) are
 * collected in a list. */
#pragma once
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"
#include "image/store/layer_record.h"
#include "image/unpack/stream.h"

/* The limits of an operation, for all its layers together. */
struct budget {
        uint64_t bytes_max, entries_max;
        uint64_t room; /* maximum size of the store, see room.h; 0: none */
        _Atomic uint64_t bytes, entries;
};

/* Unpacks the archive into dir and fills *ret, which must be empty; call layer_done() in any case.  Its
 * size on the disk is reserved with room.h.  After a failure dir contains the files that were unpacked
 * until then. */
int unpack(struct imager_job *job, struct stream *stream, int dir, struct budget *budget, struct layer *ret,
           struct cella_err *err);

/* Opens libarchive's tar reader on the stream; also used for other archives. */
struct archive;
struct archive *unpack_open(struct stream *stream, struct cella_err *err);
/* Sets *err after a failure of libarchive: to the error of the stream, if it has failed. */
int unpack_fail(struct archive *a, struct stream *stream, struct cella_err *err);
