/* image/store/layer_record.h -- the record of a layer, layers/DIFF.json: its deletions in lower layers, and
 * its size. */
#pragma once
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"
#include "image/unpack/paths.h"

#define LAYER_ENTRY                                                                                          \
        4096 /* bytes on the disk that each entry counts as, beside its content: an inode, a block that is   \
              * not full, its names in the directories of roots */

struct layer {
        struct paths whiteouts, opaque;
        uint64_t bytes, files, disk; /* disk: including LAYER_ENTRY for each entry */
};
void layer_done(struct layer *layer);
DEFINE_AUTO_DONE(struct layer, layer_done)

/* Reads the record of a layer of the store, or, if it is not there, of a writer's directory tmp (-1: none).
 * *ret owns its lists: layer_done(). */
int layer_read(int store, int tmp, const char *diff, struct layer *ret, struct cella_err *err);

/* Writes dir/DIFF.json.  diff and blob: digests of the layer's archive and of the compressed archive, HEX. */
int layer_write(int dir, const char *diff, const char *blob, const struct layer *layer);

/* Adds up the sizes on the disk of all layers in a directory (layers/, or a writer's own). */
int layers_disk(int dir, uint64_t *ret);
