#include "image/registry/layers.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "image/registry/blob.h"
#include "image/registry/request.h"
#include "image/store/room.h"

#define SHORT_MAX 3 /* answers that ended early without an error */
#define STEP_MS 100
#define RESERVE ((uint64_t)16 << 20) /* bytes of the disk that are kept free */

enum state {
        LAYER_WAITING,
        LAYER_LOCKING,
        LAYER_CATCHING_UP,
        LAYER_COMING,
        LAYER_WHOLE,
        LAYER_UNPACKING,
        LAYER_DONE
};

struct layer {
        enum state state;
        struct work *work;
        struct blob blob;
        char diff[DIGEST_HEX + 8]; /* sha256:... */
        char path[REFERENCE_REPOSITORY_SIZE + REFERENCE_DIGEST_SIZE + 32], what[32];
        struct request request;
        unsigned shorts;
        bool asked_for_all; /* after the registry sent a wrong range */
        /* Of the thread that unpacks it: */
        pthread_t thread;
        uint64_t at;
        _Atomic bool unpacked;
        int result;
        struct cella_err err;
};

struct work {
        struct session *session;
        struct imager_job *job;
        struct writer *writer;
        int directory;
        unsigned n, coming, unpacking, unpacking_max;
        _Atomic bool stop;
        struct layer layers[MANIFEST_LAYERS_MAX];
};

/* ---- unpacking, in its own thread ---- */

static ssize_t read_blob(void *arg, void *data, size_t size)
{
        struct layer *l = arg;
        if (atomic_load(&l->work->stop))
                return -ECANCELED;
        ssize_t n = pread(l->blob.fd, data, size, (off_t)l->at);
        if (n < 0)
                return -errno;
        l->at += (uint64_t)n;
        l->work->job->progress(l->work->job, l->diff, "unpack", l->at, l->blob.descriptor->size);
        return n;
}

static void *layers_unpack(void *arg)
{
        struct layer *l = arg;
        struct layer_source source = {
                .fd = -1,
                .read = read_blob,
                .arg = l,
                .digest = l->blob.descriptor->digest,
                .diff = l->diff,
                .total = l->blob.descriptor->size,
                .keep = true,
        };
        l->result = writer_add_layer(l->work->writer, &source, NULL, &l->err);
        atomic_store(&l->unpacked, true);
        downloads_wake(l->work->session->downloads);
        return NULL;
}

static int start_unpacking(struct layer *l, struct cella_err *err)
{
        int e = pthread_create(&l->thread, NULL, layers_unpack, l);
        if (e != 0)
                return err_set(err, CELLA_INTERNAL, -e, "a thread to unpack a layer");
        l->state = LAYER_UNPACKING;
        l->work->unpacking++;
        return 0;
}

static int end_unpacking(struct layer *l, struct cella_err *err)
{
        pthread_join(l->thread, NULL);
        l->work->unpacking--;
        l->state = LAYER_DONE;
        if (l->result != -ECANCELED)
                blob_remove(&l->blob); /* it was unpacked, or is invalid */
        blob_close(&l->blob);
        if (l->result < 0)
                *err = l->err;
        return l->result;
}

/* ---- steps of one layer ---- */

static int open_layer(struct layer *l, struct cella_err *err)
{
        struct work *w = l->work;
        if (writer_has_layer(w->writer, l->diff)) { /* another process was faster */
                l->state = LAYER_DONE;
                return 0;
        }
        int r = blob_open(&l->blob, err);
        if (r > 0)
                l->state = LAYER_CATCHING_UP;
        return r < 0 ? r : 0;
}

static void layers_ask(struct layer *l)
{
        request_done(&l->request);
        l->request = (struct request){
                .session = l->work->session,
                .what = l->what,
                .path = l->path,
                .begin = blob_begin,
                .sink = blob_sink,
                .arg = &l->blob,
        };
}

static int layers_whole(struct layer *l, struct cella_err *err)
{
        int r = blob_check(&l->blob, err);
        if (r < 0)
                return r;
        if (r == 0)
                layers_ask(l);
        else
                l->state = LAYER_WHOLE;
        if (r > 0)
                request_done(&l->request);
        return 0;
}

static int catch_up(struct layer *l, struct cella_err *err)
{
        /* The process that held the lock may have added the layer to the store. */
        if (writer_has_layer(l->work->writer, l->diff)) {
                blob_remove(&l->blob);
                blob_close(&l->blob);
                l->state = LAYER_DONE;
                return 0;
        }
        int r = blob_catch_up(&l->blob, err);
        if (r <= 0)
                return r;
        l->state = LAYER_COMING;
        if (blob_is_whole(&l->blob))
                return layers_whole(l, err);
        layers_ask(l);
        return 0;
}

static int come(struct layer *l, struct cella_err *err)
{
        int r = request_advance(&l->request, err);
        if (r < 0 && l->blob.wrong_range && !l->asked_for_all) {
                l->asked_for_all = true;
                layers_ask(l);
                return 0;
        }
        if (r <= 0)
                return r;
        if (blob_is_whole(&l->blob))
                return layers_whole(l, err);
        if (++l->shorts < SHORT_MAX) {
                layers_ask(l);
                return 0;
        }
        err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPROTO, "%s ends %s after %llu of %llu bytes", l->blob.host,
                l->what, (unsigned long long)l->blob.have, (unsigned long long)l->blob.descriptor->size);
        err_hint(err, "the registry, or a proxy before it, is broken");
        return -EPROTO;
}

static bool is_coming(const struct layer *l)
{
        return l->state == LAYER_LOCKING || l->state == LAYER_CATCHING_UP || l->state == LAYER_COMING;
}

static int layers_advance(struct layer *l, struct cella_err *err)
{
        struct work *w = l->work;
        switch (l->state) {
        case LAYER_WAITING:
                if (w->coming >= LAYERS_AT_ONCE)
                        return 0;
                l->state = LAYER_LOCKING;
                return open_layer(l, err);
        case LAYER_LOCKING:
                return open_layer(l, err);
        case LAYER_CATCHING_UP:
                return catch_up(l, err);
        case LAYER_COMING:
                return come(l, err);
        case LAYER_WHOLE:
                return w->unpacking < w->unpacking_max ? start_unpacking(l, err) : 0;
        case LAYER_UNPACKING:
                return atomic_load(&l->unpacked) ? end_unpacking(l, err) : 0;
        case LAYER_DONE:
                break;
        }
        return 0;
}

/* ---- all layers ---- */

/* Advances each layer.  Returns 1 when all are done. */
static int advance_all(struct work *w, unsigned *ret_wait_ms, struct cella_err *err)
{
        unsigned done = 0;
        *ret_wait_ms = STEP_MS;
        for (unsigned i = 0; i < w->n; i++) {
                struct layer *l = &w->layers[i];
                enum state before = l->state;
                bool came = is_coming(l);
                int e = layers_advance(l, err);
                if (e < 0)
                        return e;
                w->coming += (unsigned)is_coming(l) - (unsigned)came;
                done += l->state == LAYER_DONE;
                if (l->state != before || l->state == LAYER_CATCHING_UP)
                        *ret_wait_ms = 0;
        }
        return done == w->n;
}

static bool layers_has(const struct work *w, const char *diff)
{
        for (unsigned i = 0; i < w->n; i++)
                if (strcmp(digest_hex(w->layers[i].diff), diff) == 0)
                        return true;
        return false;
}

static void layers_add(struct work *w, const struct descriptor *descriptor, const char *diff)
{
        struct layer *l = &w->layers[w->n++];
        l->work = w;
        snprintf(l->diff, sizeof l->diff, "sha256:%s", diff);
        l->blob = (struct blob){
                .job = w->job,
                .descriptor = descriptor,
                .directory = w->directory,
                .room = writer_room(w->writer),
                .host = w->session->host,
                .name = l->diff,
                .fd = -1,
        };
        snprintf(l->path, sizeof l->path, "/v2/%s/blobs/%s", w->session->reference.repository,
                 descriptor->digest);
        snprintf(l->what, sizeof l->what, "layer %.19s", descriptor->digest);
}

static int check_room(const struct work *w, struct cella_err *err)
{
        struct statvfs disk;
        uint64_t need = RESERVE;
        for (unsigned i = 0; i < w->n; i++)
                need += w->layers[i].blob.descriptor->size;
        int e = room_check(writer_room(w->writer), need - RESERVE, err);
        if (e < 0)
                return e;
        if (fstatvfs(w->directory, &disk) < 0 || need <= (uint64_t)disk.f_bavail * disk.f_frsize)
                return 0;
        err_say(err, CELLA_TOO_LARGE, -ENOSPC, "the image needs more than %llu MiB, and %llu MiB are free",
                (unsigned long long)(need >> 20), (unsigned long long)disk.f_bavail * disk.f_frsize >> 20);
        err_hint(err, "free space in the image store: cella image rm");
        return -ENOSPC;
}

/* Stops everything that is still active. */
static void work_done(struct work *w)
{
        struct cella_err ignored;
        atomic_store(&w->stop, true);
        for (unsigned i = 0; i < w->n; i++) {
                struct layer *l = &w->layers[i];
                request_done(&l->request);
                if (l->state == LAYER_UNPACKING)
                        end_unpacking(l, &ignored);
                blob_close(&l->blob);
        }
        if (w->directory >= 0)
                close(w->directory);
        free(w);
}

static int layers_perform(struct work *w, struct cella_err *err)
{
        int e = check_room(w, err);
        while (e == 0) {
                unsigned wait_ms;
                e = advance_all(w, &wait_ms, err);
                if (e == 0)
                        e = downloads_step(w->session->downloads, wait_ms, err);
        }
        return e < 0 ? e : 0;
}

int layers_get(struct session *session, struct imager_job *job, struct writer *writer,
               const struct manifest *manifest, char diffs[LAYERS_MAX][DIGEST_HEX + 1], struct cella_err *err)
{
        struct work *w = calloc(1, sizeof *w);
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        if (!w)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "layers");
        w->session = session;
        w->job = job;
        w->writer = writer;
        w->unpacking_max = processors < 1                ? 1
                           : processors > LAYERS_AT_ONCE ? LAYERS_AT_ONCE
                                                         : (unsigned)processors;
        w->directory = blob_directory(job->store, err);
        int e = w->directory < 0 ? w->directory : 0;
        for (unsigned i = 0; e == 0 && i < manifest->n_layers; i++)
                if (!writer_has_layer(writer, diffs[i]) && !layers_has(w, diffs[i]))
                        layers_add(w, &manifest->layers[i], diffs[i]);
        if (e == 0)
                e = layers_perform(w, err);
        work_done(w);
        return e;
}
