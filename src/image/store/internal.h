/* image/store/internal.h -- the inside of a writer, for the files that are it. */
#pragma once
#include <pthread.h>

#include "base/id.h"
#include "image/imager.h"
#include "image/store/store.h"
#include "image/unpack/digest.h"
#include "image/unpack/unpack.h"

struct writer {
        struct imager_job *job;
        int store;          /* the job's */
        int lock;           /* shared */
        char name[ID_SIZE]; /* of its directory in tmp/ */
        int tmp;
        struct budget budget;
        bool counted;          /* room_enter() was called */
        pthread_mutex_t mutex; /* while a layer gets its name */
};

/* ---- layer.c ---- */

/* Its directory, from either place. */
int layer_open(const struct writer *w, const char *diff);

/* With what the writer has unpacked, is the store still within its bound?  With the lock `commit`. */
int layers_fit(const struct writer *w, struct cella_err *err);

/* Moves a layer that was unpacked from the writer's directory into the store.  With the lock `commit`. */
int layer_publish(struct writer *w, const char *diff, struct cella_err *err);

/* All that was written is on the disk. */
int writer_settle(const struct writer *w, struct cella_err *err);

/* ---- remove.c ---- */

/* A sandbox that uses a root has a shared lock on it.  Whoever comes while it goes finds it locked, and later
 * without a name: so the lock is kept until it is gone.  -EBUSY: it is used; -ENOENT: there is none. */
int lock_root(int store, const char *id);

/* ---- root.c ---- */

/* Makes the root of an image in `to`, an empty directory, from layers, the lowest first. */
int root_build(struct writer *w, int to, char (*diffs)[DIGEST_HEX + 1], size_t n, struct image *ret,
               struct cella_err *err);
