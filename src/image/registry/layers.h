/* image/registry/layers.h -- downloads the layers of an image that are not in the store, several at once, and
 * unpacks them. */
#pragma once
#include "image/registry/manifest.h"
#include "image/registry/session.h"
#include "image/store/writer.h"

#define LAYERS_AT_ONCE 4

/* diffs[i] is the digest of the content of the manifest's layer i.  On return all are in the store, or on
 * failure no thread and no download is left. */
int layers_get(struct session *session, struct imager_job *job, struct writer *writer,
               const struct manifest *manifest, char diffs[LAYERS_MAX][DIGEST_HEX + 1],
               struct cella_err *err);
