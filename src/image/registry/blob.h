/* image/registry/blob.h -- blobs/HEX.part: what is there of a layer as the registry has it.
 *
 * It grows while the layer comes, and stays when a pull ends too early, so that the next one goes on where
 * this one was.  Who works on it holds a lock on it.  Nothing of it is believed before the digest of the
 * whole was right. */
#pragma once
#include "image/registry/download.h"
#include "image/registry/manifest.h"
#include "image/unpack/digest.h"

struct imager_job;

struct blob {
        /* Filled in by the owner: */
        struct imager_job *job;
        const struct descriptor *descriptor;
        int directory; /* blobs/ */
        uint64_t room; /* see image/store/room.h */
        const char *host;
        const char *name; /* the layer's in the store, for progress */

        int fd; /* -1: not open */
        bool counted, removed;
        uint64_t have, hashed;
        struct digest *digest;
        bool old;         /* some of it is of an earlier pull */
        bool first;       /* nothing came of this answer yet */
        bool wrong_range; /* the registry sent another part than it was asked for: never ask for one again */
};

/* Opens blobs/ of a store, which it makes if it has to. */
int blob_directory(int store, struct cella_err *err);

/* Opens and locks it.  1, or 0 while somebody else works on it. */
int blob_open(struct blob *b, struct cella_err *err);
/* Goes on with the digest of what an earlier pull left.  1: done, 0: call again. */
int blob_catch_up(struct blob *b, struct cella_err *err);

/* Of a request. */
void blob_begin(void *arg, uint64_t *ret_from);
int blob_sink(void *arg, const struct download_answer *answer, const char *data, size_t len,
              struct cella_err *err);

bool blob_is_whole(const struct blob *b);
/* When it is: 1 if it is what it should be, 0 if it is empty now and worth another try. */
int blob_check(struct blob *b, struct cella_err *err);

void blob_remove(struct blob *b); /* the file; the lock stays until it is closed */
void blob_close(struct blob *b);
