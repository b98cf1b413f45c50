/* image/unpack/unpack.h -- unpacks the archive of one layer into a directory.
 *
 * The archive is hostile.  Whatever it says, only files, directories and links are made, below the directory,
 * as the store's owner; setuid bits, devices, sockets, pipes, attributes and owners are left out; sizes and
 * counts end at the budget.  What deletes something of the layers below (.wh.NAME, .wh..wh..opq) becomes a
 * list. */
#pragma once
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"
#include "image/store/layer_record.h"
#include "image/unpack/stream.h"

/* What an operation may unpack, all of its layers together. */
struct budget {
        uint64_t bytes_max, entries_max;
        uint64_t room; /* what the store may have, see room.h; 0: as much as there is */
        _Atomic uint64_t bytes, entries;
};

/* Unpacks the archive into dir and fills in *ret, which must be empty; layer_done() is due in any case.  Its
 * size on the disk was taken from room.h.  After a failure dir contains what was unpacked until then. */
int unpack(struct imager_job *job, struct stream *stream, int dir, struct budget *budget, struct layer *ret,
           struct cella_err *err);

/* The name of an archive's format reader as libarchive has it, open on the stream; for who reads other
 * archives. */
struct archive;
struct archive *unpack_open(struct stream *stream, struct cella_err *err);
/* Why libarchive failed: what the stream says, if it was that. */
int unpack_fail(struct archive *a, struct stream *stream, struct cella_err *err);
