/* image/store/writer.h -- writes to the store: layers, and images made of them.
 *
 *      layers/DIFF/          an unpacked layer, by the digest of its uncompressed archive (64 hex digits)
 *      layers/DIFF.json
 * {"whiteouts":["etc/foo"],"opaque":["var/lib"],"bytes":N,"files":N,"digest":"sha256:..",
 *                            "blob":"sha256:.."}; bytes of names that are not letters and the like are %XX in
 * it tmp/                  what is under construction: a directory for each writer lock flock: shared while
 * there is a writer, exclusive for removing what nobody uses commit                flock: exclusive while
 * names and images change, for a moment
 *
 * Everything is made in tmp/ and renamed to where it belongs, an image's meta and then its names last: a kill
 * at any moment leaves no half image, and what it leaves in tmp/ is removed by the next process that gets the
 * lock exclusively.  A writer belongs to one operation, whose threads may add layers at the same time. */
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

/* Makes what is missing of the store, takes its lock (shared; waits while somebody has it for himself) and
 * a directory in tmp/. */
int writer_open(struct imager_job *job, struct writer **ret, struct cella_err *err);

/* Removes what was not committed. */
struct writer *writer_close(struct writer *w);
DEFINE_AUTO(struct writer *, writer_close)

/* Is the layer in the store?  diff: "sha256:HEX" or HEX.  It stays there while the writer is open. */
bool writer_has_layer(const struct writer *w, const char *diff);

/* Unpacks it, checks the digests and puts it into the store.  ret_diff (may be NULL) gets the layer's name,
 * HEX. On failure nothing of it stays.  Digests that are not as expected: CELLA_INVALID_REQUEST, -EBADMSG. */
int writer_add_layer(struct writer *w, const struct layer_source *source, char ret_diff[DIGEST_HEX + 1],
                     struct cella_err *err);

/* The same, with the blob's digest, too. */
int writer_add_layer_digest(struct writer *w, const struct layer_source *source,
                            char ret_diff[DIGEST_HEX + 1], char ret_blob[DIGEST_HEX + 1],
                            struct cella_err *err);

/* The same from a stream that is open already, at its beginning; source: what is expected. */
int writer_add_stream(struct writer *w, struct stream *stream, const struct layer_source *source,
                      char ret_diff[DIGEST_HEX + 1], struct cella_err *err);
/* What the store may have on the disk (room.h); 0: as much as there is. */
uint64_t writer_room(const struct writer *w);
/* How many bytes such a stream may have: content, and what is around it. */
uint64_t writer_stream_max(const struct writer *w);

struct image_parts {
        const char *config; /* the image's own configuration, as it came: its sha256 is the image's id */
        size_t config_len;
        const char *digest;       /* of the manifest, "sha256:HEX"; NULL: none */
        const char *const *names; /* NULL at the end; written out, as they are to be stored.  May be none */
        const char *source;       /* pull, import, bootstrap */
};

/* Makes an image of layers that are in the store: config.rootfs.diff_ids says which.  If there is such an
 * image it only gets the names.  A name that was another image's is this one's then. */
int writer_commit(struct writer *w, const struct image_parts *parts, struct image **ret,
                  struct cella_err *err);

/* The diff ids of a configuration, HEX each, in the order of layers, the lowest first. */
int writer_config_layers(const char *config, size_t len, char ret[LAYERS_MAX][DIGEST_HEX + 1], size_t *ret_n,
                         struct cella_err *err);
