/* image/main.c -- cella-image: downloads, unpacks and removes images (imager.h describes the protocol).
 *
 * The main thread reads requests; each operation has its own thread, which sends its own answer.
 *
 *   registry/        downloads from registries      unpack/import*.c    reads archives of images
 *   unpack/stream.c  decompression, digests         unpack/unpack.c     creates files from hostile archives
 *   store/writer.c   writes the store               store/store.c       reads the store
 *   store/remove.c   removes images                 cage.c              isolation of this process */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/foreign_json.h"
#include "image/cage.h"
#include "image/imager.h"
#include "image/lines.h"
#include "image/store/room.h"
#include "image/store/store.h"
#include "image/unpack/digest.h"
#include "sys/file.h"

#define VALUES_MAX 1024
#define PROGRESS_MS 100
#define DESCRIPTORS 65536u
#define BYTES_LEAST 4096

struct running {
        struct imager_job job; /* first: progress gets only this */
        bool used;
        int64_t id;
        json_t *request;     /* owned */
        int64_t reported_ms; /* time and subject of the last progress event */
        char reported_layer[80], reported_phase[16];
        uint64_t reported_done;
};

static struct running running[IMAGER_JOBS_MAX];
static size_t n_running;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* protects both, and writing to the socket */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

/* ---- answers ---- */

/* Sends an event and drops the reference to it.  Call it with the mutex held.  Blocks while the other side
 * does not read.  If the other side is gone, the main thread notices it, too. */
static void send_event(json_t *event)
{
        char *text = json_dumps(event, 0);
        size_t len = text ? strlen(text) : 0;
        json_decref(event);
        if (text && len < IMAGER_LINE_MAX) {
                text[len++] = '\n'; /* instead of the NUL */
                for (size_t at = 0; at < len;) {
                        ssize_t n = send(IMAGER_FD, text + at, len - at, MSG_NOSIGNAL);
                        if (n < 0 && errno != EINTR)
                                break;
                        at += n > 0 ? (size_t)n : 0;
                }
        }
        free(text);
}

static json_t *new_event(int64_t id, const char *event)
{
        return json_pack("{s:I,s:s}", "id", (json_int_t)id, "event", event);
}

/* A text for an event; bytes that are not UTF-8 become '?'. */
static json_t *event_text(const char *text)
{
        json_t *value = json_string(text);
        char *copy = value ? NULL : strdup(text);
        for (char *p = copy; p && *p; p++)
                if ((signed char)*p < 0)
                        *p = '?';
        if (copy)
                value = json_string(copy);
        free(copy);
        return value ? value : json_string("");
}

/* Call it with the mutex held. */
static void send_failure(int64_t id, const struct cella_err *err)
{
        json_t *event = new_event(id, "failed");
        json_object_set_new(event, "error",
                            json_pack("{s:s,s:o,s:o}", "kind", cella_kind_name(err->kind), "message",
                                      event_text(err->msg), "hint", event_text(err->hint)));
        send_event(event);
}

static void imager_fail(int64_t id, const struct cella_err *err)
{
        pthread_mutex_lock(&mutex);
        send_failure(id, err);
        pthread_mutex_unlock(&mutex);
}

static int64_t now_ms(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Sends the first event of each layer and phase, the last, and some between them. */
static void progress(struct imager_job *job, const char *layer, const char *phase, uint64_t done,
                     uint64_t total)
{
        struct running *r = (struct running *)job;
        int64_t now = now_ms();
        pthread_mutex_lock(&mutex);
        bool another = strcmp(r->reported_layer, layer) != 0 || strcmp(r->reported_phase, phase) != 0;
        bool last = total > 0 && done == total && (another || r->reported_done != done);
        if (now - r->reported_ms >= PROGRESS_MS || last) {
                send_event(json_pack("{s:I,s:s,s:o,s:I,s:I,s:s}", "id", (json_int_t)r->id, "event",
                                     "progress", "layer", event_text(layer), "done", (json_int_t)done,
                                     "total", (json_int_t)total, "phase", phase));
                r->reported_ms = now;
                r->reported_done = done;
                snprintf(r->reported_layer, sizeof r->reported_layer, "%s", layer);
                snprintf(r->reported_phase, sizeof r->reported_phase, "%s", phase);
        }
        pthread_mutex_unlock(&mutex);
}

/* ---- operations ---- */

/* Each operation adds its results to the event "done". */

static void imager_put_number(json_t *event, const char *name, uint64_t value)
{
        json_object_set_new(event, name, json_integer((json_int_t)value));
}

static void put_image(json_t *event, const struct image *image)
{
        json_object_set_new(event, "image", json_pack("{s:s}", "id", image->id));
}

static int do_pull(struct running *r, json_t *event, struct cella_err *err)
{
        AUTO(image_free) struct image *image = NULL;
        int e = registry_pull(&r->job, &image, err);
        if (e == 0)
                put_image(event, image);
        return e;
}

static int do_import(struct running *r, json_t *event, struct cella_err *err)
{
        struct imported result = {0};
        int e = r->job.archive < 0 ? err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                             "an import needs the archive's descriptor")
                                   : import(&r->job, &result, err);
        if (e == 0) {
                put_image(event, result.image);
                json_t *images = json_array();
                for (size_t i = 0; i < result.n; i++)
                        json_array_append_new(images, json_string(result.ids[i]));
                if (result.n > 1)
                        json_object_set(event, "images", images);
                json_decref(images);
        }
        image_free(result.image);
        return e;
}

static int do_rm(struct running *r, json_t *event, struct cella_err *err)
{
        struct removed removed = {0};
        const char *name = foreign_json_get_text(r->request, "name");
        int e = name ? remove_name(&r->job, name, &removed, err)
                     : err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "name: the name of an image");
        if (e == 0) {
                json_object_set_new(event, "removed", json_boolean(removed.image));
                imager_put_number(event, "bytes", removed.bytes);
        }
        return e;
}

static int do_gc(struct running *r, json_t *event, struct cella_err *err)
{
        struct removed removed = {0};
        int e = remove_unused(&r->job, &removed, err);
        if (e == 0) {
                imager_put_number(event, "images", removed.images);
                imager_put_number(event, "layers", removed.layers);
                imager_put_number(event, "roots", removed.roots);
                imager_put_number(event, "bytes", removed.bytes);
        }
        return e;
}

static const struct operation {
        const char *name;
        int (*run)(struct running *r, json_t *event, struct cella_err *err);
} operations[] = {
        {"pull", do_pull},
        {"import", do_import},
        {"rm", do_rm},
        {"gc", do_gc},
};

static const struct operation *find_operation(const json_t *request)
{
        const char *name = foreign_json_get_text(request, "op");
        for (size_t i = 0; name && i < ARRAY_LEN(operations); i++)
                if (strcmp(operations[i].name, name) == 0)
                        return &operations[i];
        return NULL;
}

/* Releases the slot of an operation.  Call it with the mutex held. */
static void imager_end(struct running *r)
{
        if (r->job.archive >= 0)
                sys_close(r->job.archive);
        json_decref(r->request);
        r->used = false;
        n_running--;
        pthread_cond_broadcast(&ended);
}

static void *imager_run(void *arg)
{
        struct running *r = arg;
        struct cella_err err = {0};
        json_t *event = new_event(r->id, "done");
        int e = find_operation(r->request)->run(r, event, &err);
        pthread_mutex_lock(&mutex);
        if (e == 0) {
                send_event(event);
        } else {
                json_decref(event);
                send_failure(r->id, &err);
        }
        imager_end(r);
        pthread_mutex_unlock(&mutex);
        return NULL;
}

/* ---- requests ---- */

/* Reads a number of the request's "limits"; without one, the usual value. */
static int take_limit(const json_t *request, const char *name, uint64_t usual, int64_t least, uint64_t *ret,
                      struct cella_err *err)
{
        const json_t *limits = json_object_get(request, "limits");
        int64_t value = (int64_t)usual;
        if (json_object_get(limits, name) &&
            (!foreign_json_get_integer(limits, name, &value) || value < least || value > INT64_MAX / 4))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "limits.%s: a whole number from %lld on",
                               name, (long long)least);
        *ret = (uint64_t)value;
        return 0;
}

static struct running *find_running(int64_t id)
{
        for (size_t i = 0; i < IMAGER_JOBS_MAX; i++)
                if (running[i].used && running[i].id == id)
                        return &running[i];
        return NULL;
}

/* Returns a free slot, or NULL with *err set.  Call it with the mutex held. */
static struct running *new_running(int64_t id, struct cella_err *err)
{
        struct running *r = NULL;
        if (find_running(id)) {
                err_say(err, CELLA_INVALID_REQUEST, -EEXIST, "id: one that is not in use");
                return NULL;
        }
        for (size_t i = 0; i < IMAGER_JOBS_MAX && !r; i++)
                if (!running[i].used)
                        r = &running[i];
        if (!r) {
                err_say(err, CELLA_OVER_CAPACITY, -EAGAIN, "%d operations on images are active",
                        IMAGER_JOBS_MAX);
                err_hint(err, "try again when one of them is done");
                return NULL;
        }
        memset(r, 0, sizeof *r);
        r->used = true;
        r->id = id;
        r->job.archive = -1;
        n_running++;
        return r;
}

static int imager_start(struct running *r, struct cella_err *err)
{
        pthread_attr_t attr;
        pthread_t thread;
        r->job.store = IMAGER_STORE_FD;
        r->job.request = r->request;
        r->job.progress = progress;
        int e = take_limit(r->request, "bytes", IMAGER_BYTES, BYTES_LEAST, &r->job.bytes_max, err);
        if (e == 0)
                e = take_limit(r->request, "entries", IMAGER_ENTRIES, 1, &r->job.entries_max, err);
        if (e < 0)
                return e;
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        e = pthread_create(&thread, &attr, imager_run, r);
        pthread_attr_destroy(&attr);
        return e != 0 ? err_set(err, CELLA_INTERNAL, -e, "cannot start a thread") : 0;
}

/* Takes ownership of the request and the descriptor. */
static void imager_begin(int64_t id, json_t *request, int archive)
{
        struct cella_err err = {0};
        pthread_mutex_lock(&mutex);
        struct running *r = find_operation(request) ? new_running(id, &err) : NULL;
        if (!r && err.kind == CELLA_OK)
                err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "op: pull, import, rm, gc, bound or cancel");
        if (!r) {
                json_decref(request);
                if (archive >= 0)
                        sys_close(archive);
        } else {
                r->request = request;
                r->job.archive = archive;
                if (imager_start(r, &err) < 0) {
                        imager_end(r);
                        r = NULL;
                }
        }
        if (!r)
                send_failure(id, &err);
        pthread_mutex_unlock(&mutex);
}

static void imager_cancel(int64_t id, const json_t *request)
{
        int64_t target = -1;
        struct cella_err err = {0};
        if (!foreign_json_get_integer(request, "target", &target)) {
                err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "target: the id of an operation");
                imager_fail(id, &err);
                return;
        }
        pthread_mutex_lock(&mutex);
        struct running *r = find_running(target);
        if (r)
                r->job.cancelled = true;
        send_event(new_event(id, "done"));
        pthread_mutex_unlock(&mutex);
}

/* Runs in the main thread, so that later requests find the bound in force. */
static void set_bound(int64_t id, const json_t *request)
{
        int64_t bytes = -1;
        struct cella_err err = {0};
        int r = foreign_json_get_integer(request, "bytes", &bytes) && bytes >= 0
                        ? room_set_bound(IMAGER_STORE_FD, (uint64_t)bytes, &err)
                        : err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "bytes: a whole number from 0 on");
        if (r < 0) {
                imager_fail(id, &err);
                return;
        }
        pthread_mutex_lock(&mutex);
        send_event(new_event(id, "done"));
        pthread_mutex_unlock(&mutex);
}

/* Returns false for a line that is not of the protocol: the process ends then. */
static bool imager_handle(struct lines *lines, const char *text, size_t len)
{
        json_t *request = foreign_json_parse(text, len, VALUES_MAX, 0, NULL);
        int64_t id;
        if (!foreign_json_get_integer(request, "id", &id) || id < 0) {
                json_decref(request);
                return false;
        }
        const char *op = foreign_json_get_text(request, "op");
        if (op && (strcmp(op, "cancel") == 0 || strcmp(op, "bound") == 0)) {
                (op[0] == 'c' ? imager_cancel : set_bound)(id, request);
                json_decref(request);
        } else {
                imager_begin(id, request, op && strcmp(op, "import") == 0 ? lines_take_fd(lines) : -1);
        }
        return true;
}

/* ---- the process ---- */

static bool cancel_all(void)
{
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 10; /* operations that take longer are cleaned up at the next start */
        pthread_mutex_lock(&mutex);
        for (size_t i = 0; i < IMAGER_JOBS_MAX; i++)
                if (running[i].used)
                        running[i].job.cancelled = true;
        while (n_running > 0 && pthread_cond_timedwait(&ended, &mutex, &until) == 0)
                ;
        bool all = n_running == 0;
        pthread_mutex_unlock(&mutex);
        return all;
}

static int imager_prepare(struct cella_err *err)
{
        struct rlimit files;
        struct stat st;
        char none[DIGEST_HEX + 1];
        signal(SIGPIPE, SIG_IGN);
        umask(0); /* files get exactly the modes of the image; the mode of the store protects them */
        setlocale(LC_CTYPE, "C.UTF-8"); /* otherwise libarchive drops names that are not ASCII */
        sys_close_range(IMAGER_STORE_FD + 1, ~0u, 0);
        if (fstat(IMAGER_STORE_FD, &st) < 0 || !S_ISDIR(st.st_mode))
                return err_say(err, CELLA_INTERNAL, -EBADF, "descriptor %d is not the store's directory",
                               IMAGER_STORE_FD);
        fcntl(IMAGER_STORE_FD, F_SETFD, FD_CLOEXEC);
        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max < DESCRIPTORS ? files.rlim_max : DESCRIPTORS;
                setrlimit(RLIMIT_NOFILE, &files);
        }
        digest_of("", 0, none); /* makes OpenSSL load its files now */
        foreign_json_init(NULL);
        int r = image_cage_enter(IMAGER_STORE_FD, err);
        if (r == 0)
                remove_leftovers(IMAGER_STORE_FD);
        return r;
}

int main(void)
{
        static struct lines lines;
        struct cella_err err = {0};
        char *line;
        size_t len;
        int r = imager_prepare(&err);
        if (r < 0) {
                fprintf(stderr, "cella-image: %s\n", err.msg);
                return 1;
        }
        lines_init(&lines, IMAGER_FD);
        while ((r = lines_next(&lines, &line, &len)) > 0 && imager_handle(&lines, line, len))
                ;
        if (!cancel_all())
                _exit(1); /* without exit functions: threads that did not end still use their data */
        lines_done(&lines);
        return r == 0 ? 0 : 1;
}
