/* image/store/writer.h -- writes to the store: layers, and images made of them.
 *
 *      layers/DIFF/          an unpacked layer, by the digest of its uncompressed archive (64 hex digits)
 *      layers/DIFF.json      {"whiteouts":["etc/foo"],"opaque":["var/lib"],"bytes":N,"files":N,
 *                            "digest":"sha256:..","blob":"sha256:.."}; special bytes of names are %XX
 *      tmp/                  objects under construction: a directory for each writer
 *      lock                  flock: shared while there is a writer, exclusive for removing unused objects
 *      commit                flock: exclusive for the short time in which names and images change
 *
 * Everything is created in tmp/ and renamed to its place, the meta of an image and then its names last: a
 * kill at any time leaves no partial image, and its leftovers in tmp/ are removed by the next process that
 * gets the lock exclusively.  A writer belongs to one operation; the threads of the operation may add layers
 * concurrently. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/auto.h"
#include "cella.h"
#include "image/imager.h"
#include "image/store/store.h"
#include "image/unpack/digest.h"
#include "image/unpack/stream.h"

struct writer; /* opaque */

/* Creates the missing parts of the store, takes its lock (shared; waits for an exclusive one) and creates a
 * directory in tmp/. */
int writer_open(struct imager_job *job, struct writer **ret, struct cella_err *err);

/* Removes everything that was not committed. */
struct writer *writer_close(struct writer *w);
DEFINE_AUTO(struct writer *, writer_close)

/* Returns whether the layer is in the store.  diff: "sha256:HEX" or HEX.  It is kept there while the writer
 * is open. */
bool writer_has_layer(const struct writer *w, const char *diff);

/* Unpacks a layer, checks the digests and adds it to the store.  ret_diff (may be NULL) is set to its name,
 * HEX. On failure nothing of it is left.  Wrong digests: CELLA_INVALID_REQUEST, -EBADMSG. */
int writer_add_layer(struct writer *w, const struct layer_source *source, char ret_diff[DIGEST_HEX + 1],
                     struct cella_err *err);

/* The same, and returns the digest of the blob. */
int writer_add_layer_digest(struct writer *w, const struct layer_source *source,
                            char ret_diff[DIGEST_HEX + 1], char ret_blob[DIGEST_HEX + 1],
                            struct cella_err *err);

/* The same from an open stream, at its beginning; source: the expected digests. */
int writer_add_stream(struct writer *w, struct stream *stream, const struct layer_source *source,
                      char ret_diff[DIGEST_HEX + 1], struct cella_err *err);
/* Returns the maximum size of the store (room.h); 0: no maximum. */
uint64_t writer_room(const struct writer *w);
/* Returns the maximum number of bytes of such a stream: content and headers. */
uint64_t writer_stream_max(const struct writer *w);

struct image_parts {
        const char *config; /* the image's original configuration: its sha256 is the image's id */
        size_t config_len;
        const char *digest;       /* of the manifest, "sha256:HEX"; NULL: none */
        const char *const *names; /* NULL-terminated; in complete form, as they are stored. May be empty */
        const char *source;       /* pull, import, bootstrap */
};

/* Creates an image from layers in the store, which config.rootfs.diff_ids lists.  An existing image only gets
 * the names.  A name that another image had is moved to this one. */
int writer_commit(struct writer *w, const struct image_parts *parts, struct image **ret,
                  struct cella_err *err);

/* Reads the diff ids of a configuration, as HEX, in the order of the layers, the lowest first. */
int writer_config_layers(const char *config, size_t len, char ret[LAYERS_MAX][DIGEST_HEX + 1], size_t *ret_n,
                         struct cella_err *err);
