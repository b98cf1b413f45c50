/* image/registry/layers.h -- the layers of an image that the store lacks: downloaded, several at once, and
 * unpacked as they come. */
#pragma once
#include "image/registry/manifest.h"
#include "image/registry/session.h"
#include "image/store/writer.h"

#define LAYERS_AT_ONCE 4

/* diffs[i] is the digest of what is in the manifest's layer i.  On return all are in the store, or no thread
 * and no download is left. */
int layers_get(struct session *session, struct imager_job *job, struct writer *writer,
               const struct manifest *manifest, char diffs[LAYERS_MAX][DIGEST_HEX + 1],
               struct cella_err *err);
