#include "image/unpack/stream.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "image/unpack/inflate.h"
#include "sys/file.h"
#include "sys/process.h"

#define BLOCKS 8
#define PATIENCE_US 100000 /* between two checks for cancellation */

struct stream {
        struct imager_job *job;
        struct layer_source source; /* a copy: the threads read it until stream_close() */
        uint64_t max, total;
        struct digest *blob, *diff;
        _Atomic uint64_t done;
        struct inflate *inflate;
        pthread_t decoder, hasher;
        bool has_decoder, has_hasher;

        pthread_mutex_t mutex;
        pthread_cond_t changed;
        /* The following fields are protected by the mutex.  Block i is at i % BLOCKS. */
        uint64_t filled, hashed, taken;
        size_t len[BLOCKS];
        bool at_end, stop, no_diff, started; /* started: a second block was requested */
        bool out;                            /* the user has block number `taken` */
        struct cella_err err;
        char *blocks;
};

/* ---- reading the source ---- */

static ssize_t read_fd(struct stream *s, void *data, size_t size)
{
        struct pollfd p = {.fd = s->source.fd, .events = POLLIN};
        for (;;) {
                if (s->job->cancelled || __atomic_load_n(&s->stop, __ATOMIC_RELAXED))
                        return -ECANCELED;
                int r = sys_poll(&p, 1, PATIENCE_US);
                if (r < 0)
                        return r;
                if (r == 0)
                        continue;
                ssize_t n = sys_read(s->source.fd, data, size);
                if (n != -EAGAIN)
                        return n;
        }
}

/* Reads bytes for the decompressor, and counts and hashes them. */
static ssize_t read_source(void *arg, void *data, size_t size)
{
        struct stream *s = arg;
        ssize_t n = s->source.fd >= 0 ? read_fd(s, data, size) : s->source.read(s->source.arg, data, size);
        if (n <= 0)
                return n;
        digest_add(s->blob, data, (size_t)n);
        s->done += (uint64_t)n;
        if (s->source.fd >= 0) /* otherwise an outer stream reports its own progress */
                s->job->progress(s->job, s->source.diff ? s->source.diff : "", "unpack", s->done,
                                 s->source.total);
        return n;
}

/* ---- the threads ---- */

/* Returns space for one more block, or NULL to stop. */
static char *free_block(struct stream *s)
{
        char *block = NULL;
        pthread_mutex_lock(&s->mutex);
        for (;;) {
                uint64_t least = s->hashed < s->taken ? s->hashed : s->taken;
                if (s->stop || s->filled - least < BLOCKS)
                        break;
                pthread_cond_wait(&s->changed, &s->mutex);
        }
        if (!s->stop)
                block = s->blocks + s->filled % BLOCKS * STREAM_BLOCK;
        pthread_mutex_unlock(&s->mutex);
        return block;
}

static void unpack_stream_finish(struct stream *s, const struct cella_err *err)
{
        pthread_mutex_lock(&s->mutex);
        if (err)
                s->err = *err;
        s->at_end = true;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->mutex);
}

static int too_large(const struct stream *s, struct cella_err *err)
{
        err_say(err, CELLA_TOO_LARGE, -EFBIG, "the unpacked archive is larger than %llu bytes, the limit",
                (unsigned long long)s->max);
        return err_hint(err, "use a smaller image");
}

/* Fills a block as far as possible. */
static ssize_t unpack_stream_fill(struct stream *s, char *block, struct cella_err *err)
{
        size_t n = 0;
        while (n < STREAM_BLOCK) {
                if (job_cancelled(s->job, err) < 0)
                        return -ECANCELED;
                ssize_t got = inflate_read(s->inflate, block + n, STREAM_BLOCK - n, err);
                if (got < 0)
                        return got;
                if (got == 0)
                        break;
                n += (size_t)got;
        }
        s->total += n;
        return s->total > s->max ? too_large(s, err) : (ssize_t)n;
}

static void *unpack_stream_decode(void *arg)
{
        struct stream *s = arg;
        struct cella_err err = {0};
        char *block;
        while ((block = free_block(s))) {
                ssize_t n = unpack_stream_fill(s, block, &err);
                if (n < 0) {
                        unpack_stream_finish(s, &err);
                        return NULL;
                }
                if (n == 0)
                        break;
                pthread_mutex_lock(&s->mutex);
                s->len[s->filled++ % BLOCKS] = (size_t)n;
                pthread_cond_broadcast(&s->changed);
                pthread_mutex_unlock(&s->mutex);
        }
        unpack_stream_finish(s, NULL);
        return NULL;
}

/* The thread waits until it is known that the digest is needed. */
static void *unpack_stream_hash(void *arg)
{
        struct stream *s = arg;
        pthread_mutex_lock(&s->mutex);
        for (;;) {
                bool wanted = s->started || s->no_diff;
                if (!s->stop && !(wanted && s->hashed < s->filled) &&
                    !(s->at_end && s->hashed == s->filled)) {
                        pthread_cond_wait(&s->changed, &s->mutex);
                        continue;
                }
                if (s->stop || (s->at_end && s->hashed == s->filled))
                        break;
                bool skip = s->no_diff;
                size_t at = s->hashed % BLOCKS, len = s->len[at];
                pthread_mutex_unlock(&s->mutex);
                if (!skip)
                        digest_add(s->diff, s->blocks + at * STREAM_BLOCK, len);
                pthread_mutex_lock(&s->mutex);
                s->hashed++;
                pthread_cond_broadcast(&s->changed);
        }
        pthread_mutex_unlock(&s->mutex);
        return NULL;
}

/* ---- the user ---- */

/* Waits for block number `at`. */
static ssize_t unpack_stream_wait_for(struct stream *s, uint64_t at, const void **ret)
{
        ssize_t n = 0;
        while (s->filled <= at && !s->at_end)
                pthread_cond_wait(&s->changed, &s->mutex);
        if (s->filled > at) {
                n = (ssize_t)s->len[at % BLOCKS];
                *ret = s->blocks + at % BLOCKS * STREAM_BLOCK;
        } else if (s->err.kind != CELLA_OK) {
                n = s->err.num;
        }
        return n;
}

ssize_t stream_peek(struct stream *s, const void **ret)
{
        pthread_mutex_lock(&s->mutex);
        ssize_t n = unpack_stream_wait_for(s, s->taken, ret);
        pthread_mutex_unlock(&s->mutex);
        return n;
}

ssize_t stream_next(struct stream *s, const void **ret)
{
        pthread_mutex_lock(&s->mutex);
        s->started = true;
        s->taken += s->out; /* releases the previous block */
        pthread_cond_broadcast(&s->changed);
        ssize_t n = unpack_stream_wait_for(s, s->taken, ret);
        s->out = n > 0;
        pthread_mutex_unlock(&s->mutex);
        return n;
}

int stream_error(struct stream *s, struct cella_err *err)
{
        pthread_mutex_lock(&s->mutex);
        struct cella_err e = s->err;
        pthread_mutex_unlock(&s->mutex);
        if (e.kind == CELLA_OK)
                return err_say(err, CELLA_INTERNAL, -EIO, "the archive cannot be read");
        if (err)
                *err = e;
        return e.num;
}

void stream_no_diff(struct stream *s)
{
        pthread_mutex_lock(&s->mutex);
        s->no_diff = true;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->mutex);
}

int stream_end(struct stream *s, char blob[DIGEST_HEX + 1], char diff[DIGEST_HEX + 1], struct cella_err *err)
{
        const void *data;
        ssize_t n;
        char rest[4096];
        while ((n = stream_next(s, &data)) > 0)
                if (job_cancelled(s->job, err) < 0)
                        return -ECANCELED;
        if (n < 0)
                return stream_error(s, err);
        pthread_join(s->decoder, NULL);
        s->has_decoder = false;
        pthread_join(s->hasher, NULL);
        s->has_hasher = false;
        /* Data behind the compressed part belongs to the blob, too. */
        while ((n = read_source(s, rest, sizeof rest)) > 0)
                if (s->done > s->max + STREAM_BLOCK)
                        return too_large(s, err);
        if (n < 0)
                return job_cancelled(s->job, err) < 0
                               ? -ECANCELED
                               : err_set(err, CELLA_INTERNAL, (int)n, "cannot read the archive");
        digest_end(s->blob, blob);
        if (diff)
                digest_end(s->diff, diff);
        return 0;
}

struct stream *stream_close(struct stream *s)
{
        if (!s)
                return NULL;
        pthread_mutex_lock(&s->mutex);
        __atomic_store_n(&s->stop, true, __ATOMIC_RELAXED);
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->mutex);
        if (s->has_decoder)
                pthread_join(s->decoder, NULL);
        if (s->has_hasher)
                pthread_join(s->hasher, NULL);
        inflate_free(s->inflate);
        digest_free(s->blob);
        digest_free(s->diff);
        pthread_cond_destroy(&s->changed);
        pthread_mutex_destroy(&s->mutex);
        free(s->blocks);
        free(s);
        return NULL;
}

int stream_open(struct imager_job *job, const struct layer_source *source, uint64_t max, struct stream **ret,
                struct cella_err *err)
{
        struct stream *s = calloc(1, sizeof *s);
        if (!s)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot read an archive");
        pthread_mutex_init(&s->mutex, NULL);
        pthread_cond_init(&s->changed, NULL);
        s->job = job;
        s->source = *source;
        s->max = max;
        s->blocks = malloc(BLOCKS * STREAM_BLOCK);
        s->blob = digest_new();
        s->diff = digest_new();
        s->inflate = inflate_new(read_source, s);
        int r = s->blocks && s->blob && s->diff && s->inflate ? 0 : ENOMEM;
        if (r == 0 && (r = pthread_create(&s->decoder, NULL, unpack_stream_decode, s)) == 0)
                s->has_decoder = true;
        if (r == 0 && (r = pthread_create(&s->hasher, NULL, unpack_stream_hash, s)) == 0)
                s->has_hasher = true;
        if (r != 0) {
                stream_close(s);
                return err_set(err, CELLA_INTERNAL, -r, "cannot read an archive");
        }
        *ret = s;
        return 0;
}
