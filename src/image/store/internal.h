/* image/store/internal.h -- the struct of a writer, for the files that implement it. */
#pragma once
#include <pthread.h>

#include "base/id.h"
#include "image/imager.h"
#include "image/store/store.h"
#include "image/unpack/digest.h"
#include "image/unpack/unpack.h"

struct writer {
        struct imager_job *job;
        int store;          /* of the job */
        int lock;           /* shared */
        char name[ID_SIZE]; /* of its directory in tmp/ */
        int tmp;
        struct budget budget;
        bool counted;          /* room_enter() was called */
        pthread_mutex_t mutex; /* held while a layer gets its name */
};

/* ---- layer.c ---- */

/* Opens the directory of a layer in the store or in tmp/. */
int layer_open(const struct writer *w, const char *diff);

/* Checks that the store, with the layers that the writer has unpacked, is within its bound.  Call it with the
 * lock `commit`. */
int layers_fit(const struct writer *w, struct cella_err *err);

/* Moves an unpacked layer from the writer's directory into the store.  Call it with the lock `commit`. */
int layer_publish(struct writer *w, const char *diff, struct cella_err *err);

/* Writes all data to the disk. */
int writer_settle(const struct writer *w, struct cella_err *err);

/* ---- remove.c ---- */

/* Locks a root exclusively, and keeps the lock until it is removed.  A sandbox that uses a root has a shared
 * lock on it; another process that opens it meanwhile finds it locked, and later without a name.  -EBUSY: it
 * is used; -ENOENT: there is none. */
int lock_root(int store, const char *id);

/* ---- root.c ---- */

/* Creates the root of an image in `to`, an empty directory, from layers, the lowest first. */
int root_build(struct writer *w, int to, char (*diffs)[DIGEST_HEX + 1], size_t n, struct image *ret,
               struct cella_err *err);
