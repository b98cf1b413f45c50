/* image/registry/blob.h -- blobs/HEX.part: the received part of a layer as the registry sends it.
 *
 * It grows while the layer is downloaded, and is kept when a pull ends early, so that the next pull continues
 * it.  The process that works on it holds a lock on it.  Its data is not used before the digest of the whole
 * file was verified. */
#pragma once
#include "image/registry/download.h"
#include "image/registry/manifest.h"
#include "image/unpack/digest.h"

struct imager_job;

struct blob {
        /* Set by the owner: */
        struct imager_job *job;
        const struct descriptor *descriptor;
        int directory; /* blobs/ */
        uint64_t room; /* see image/store/room.h */
        const char *host;
        const char *name; /* name of the layer in the store, for progress */

        int fd; /* -1: not open */
        bool counted, removed;
        uint64_t have, hashed;
        struct digest *digest;
        bool old;         /* a part of it is from an earlier pull */
        bool first;       /* no data of this answer was received yet */
        bool wrong_range; /* the registry sent another range than requested: do not request ranges again */
};

/* Opens blobs/ of a store, and creates it if necessary. */
int blob_directory(int store, struct cella_err *err);

/* Opens and locks the file.  Returns 1, or 0 while another process works on it. */
int blob_open(struct blob *b, struct cella_err *err);
/* Continues the digest of the data from an earlier pull.  Returns 1: done, 0: call again. */
int blob_catch_up(struct blob *b, struct cella_err *err);

/* Callbacks of a request. */
void blob_begin(void *arg, uint64_t *ret_from);
int blob_sink(void *arg, const struct download_answer *answer, const char *data, size_t len,
              struct cella_err *err);

bool blob_is_whole(const struct blob *b);
/* Checks the complete file.  Returns 1 if it is correct, 0 if it was emptied and can be tried again. */
int blob_check(struct blob *b, struct cella_err *err);

void blob_remove(struct blob *b); /* removes the file; the lock is kept until it is closed */
void blob_close(struct blob *b);
