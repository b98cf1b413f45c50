/* image/main.c -- cella-image: gets, unpacks and removes images (imager.h has the protocol).
 *
 * The main thread reads requests; each operation has a thread of its own, and answers by itself.
 *
 *   registry*.c download*.c   from registries           import*.c parts.c    from archives
 *   stream.c inflate.c        bytes on their way        unpack.c place.c     files, from hostile archives
 *   writer.c layer.c root.c   the store is written      store.c document.c   and read
 *   remove.c                  and swept                 cage.c               what none of this may ever do */
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
#include "base/json.h"
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
        char *line; /* len bytes, perhaps with credentials in them: they are wiped */
        size_t len;
        struct json_doc request;
        int64_t told_ms; /* when progress was told, and of what */
        char told_layer[80], told_phase[16];
        uint64_t told_done;
};

static struct running running[IMAGER_JOBS_MAX];
static size_t n_running;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of both, and of what is written */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

/* ---- answers ---- */

struct answer {
        char *text;
        size_t len;
        struct json j;
};

static bool answer_begin(struct answer *a, int64_t id, const char *event)
{
        *a = (struct answer){.j = {.out = open_memstream(&a->text, &a->len)}};
        if (!a->j.out)
                return false;
        json_put_open(&a->j, NULL, '{');
        json_put_number(&a->j, "id", (uint64_t)id);
        json_put_string(&a->j, "event", event);
        return true;
}

/* Blocks while the other side does not read.  If it is gone the main thread sees it, too. */
static void answer_send(struct answer *a)
{
        json_put_close(&a->j, '}');
        fputc('\n', a->j.out);
        if (fclose(a->j.out) == 0 && a->len <= IMAGER_LINE_MAX)
                for (size_t at = 0; at < a->len;) {
                        ssize_t n = send(IMAGER_FD, a->text + at, a->len - at, MSG_NOSIGNAL);
                        if (n < 0 && errno != EINTR)
                                break;
                        at += n > 0 ? (size_t)n : 0;
                }
        free(a->text);
}

/* With the mutex. */
static void send_failure(int64_t id, const struct cella_err *err)
{
        struct answer a;
        if (!answer_begin(&a, id, "failed"))
                return;
        json_put_open(&a.j, "error", '{');
        json_put_string(&a.j, "kind", cella_kind_name(err->kind));
        json_put_string(&a.j, "message", err->msg);
        json_put_string(&a.j, "hint", err->hint);
        json_put_close(&a.j, '}');
        answer_send(&a);
}

static void fail(int64_t id, const struct cella_err *err)
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

/* The first of each layer and phase, the last, and some between them. */
static void progress(struct imager_job *job, const char *layer, const char *phase, uint64_t done,
                     uint64_t total)
{
        struct running *r = (struct running *)job;
        struct answer a;
        int64_t now = now_ms();
        pthread_mutex_lock(&mutex);
        bool another = strcmp(r->told_layer, layer) != 0 || strcmp(r->told_phase, phase) != 0;
        bool last = total > 0 && done == total && (another || r->told_done != done);
        if ((now - r->told_ms >= PROGRESS_MS || last) && answer_begin(&a, r->id, "progress")) {
                json_put_string(&a.j, "layer", layer);
                json_put_number(&a.j, "done", done);
                json_put_number(&a.j, "total", total);
                json_put_string(&a.j, "phase", phase);
                answer_send(&a);
                r->told_ms = now;
                r->told_done = done;
                snprintf(r->told_layer, sizeof r->told_layer, "%s", layer);
                snprintf(r->told_phase, sizeof r->told_phase, "%s", phase);
        }
        pthread_mutex_unlock(&mutex);
}

/* ---- operations ---- */

static int do_pull(struct running *r, struct json *j, struct cella_err *err)
{
        AUTO(image_free) struct image *image = NULL;
        int e = registry_pull(&r->job, &image, err);
        if (e < 0)
                return e;
        image_put(j, "image", image);
        return 0;
}

static int do_import(struct running *r, struct json *j, struct cella_err *err)
{
        struct imported result = {0};
        int e = r->job.archive < 0 ? err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                             "an import needs the archive's descriptor")
                                   : import(&r->job, &result, err);
        if (e == 0) {
                image_put(j, "image", result.image);
                if (result.n > 1) {
                        json_put_open(j, "images", '[');
                        for (size_t i = 0; i < result.n; i++)
                                json_put_string(j, NULL, result.ids[i]);
                        json_put_close(j, ']');
                }
        }
        image_free(result.image);
        return e;
}

static int do_rm(struct running *r, struct json *j, struct cella_err *err)
{
        struct removed removed = {0};
        const char *name = json_get_string(r->job.request, "name");
        int e = name ? remove_name(&r->job, name, &removed, err)
                     : err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "name: the name of an image");
        if (e == 0) {
                json_put_bool(j, "removed", removed.image);
                json_put_number(j, "bytes", removed.bytes);
        }
        return e;
}

static int do_gc(struct running *r, struct json *j, struct cella_err *err)
{
        struct removed removed = {0};
        int e = remove_unused(&r->job, &removed, err);
        if (e == 0) {
                json_put_number(j, "images", removed.images);
                json_put_number(j, "layers", removed.layers);
                json_put_number(j, "roots", removed.roots);
                json_put_number(j, "bytes", removed.bytes);
        }
        return e;
}

static const struct operation {
        const char *name;
        int (*run)(struct running *r, struct json *j, struct cella_err *err);
} operations[] = {
        {"pull", do_pull},
        {"import", do_import},
        {"rm", do_rm},
        {"gc", do_gc},
};

static const struct operation *find_operation(const struct json_value *request)
{
        const char *name = json_get_string(request, "op");
        for (size_t i = 0; name && i < ARRAY_LEN(operations); i++)
                if (strcmp(operations[i].name, name) == 0)
                        return &operations[i];
        return NULL;
}

static void wipe(char *line, size_t len)
{
        explicit_bzero(line, len);
        free(line);
}

static void end(struct running *r)
{
        if (r->job.archive >= 0)
                sys_close(r->job.archive);
        json_doc_done(&r->request);
        wipe(r->line, r->len);
        r->used = false;
        n_running--;
        pthread_cond_broadcast(&ended);
}

/* The answer is made first, and sent when it is clear which it is. */
static void *run(void *arg)
{
        struct running *r = arg;
        struct answer a;
        struct cella_err err = {0};
        int e = answer_begin(&a, r->id, "done") ? find_operation(r->job.request)->run(r, &a.j, &err)
                                                : err_set(&err, CELLA_INTERNAL, -ENOMEM, "an answer");
        pthread_mutex_lock(&mutex);
        if (e == 0) {
                answer_send(&a);
        } else {
                if (a.j.out) {
                        fclose(a.j.out);
                        free(a.text);
                }
                send_failure(r->id, &err);
        }
        end(r);
        pthread_mutex_unlock(&mutex);
        return NULL;
}

/* ---- requests ---- */

/* A number of the request's limits, or what is usual. */
static int take_limit(const struct json_value *request, const char *name, uint64_t usual, int64_t least,
                      uint64_t *ret, struct cella_err *err)
{
        const struct json_value *limits = json_get(request, "limits");
        int64_t value = (int64_t)usual;
        if (json_get(limits, name) &&
            (!json_get_integer(limits, name, &value) || value < least || value > INT64_MAX / 4))
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

/* With the mutex.  The slot, or why there is none. */
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
                err_say(err, CELLA_OVER_CAPACITY, -EAGAIN, "%d images are being worked on already",
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

static int start(struct running *r, struct json_doc *request, int archive, struct cella_err *err)
{
        pthread_attr_t attr;
        pthread_t thread;
        r->request = *request;
        r->job.store = IMAGER_STORE_FD;
        r->job.archive = archive;
        r->job.request = request->values;
        r->job.progress = progress;
        int e = take_limit(request->values, "bytes", IMAGER_BYTES, BYTES_LEAST, &r->job.bytes_max, err);
        if (e == 0)
                e = take_limit(request->values, "entries", IMAGER_ENTRIES, 1, &r->job.entries_max, err);
        if (e < 0)
                return e;
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        e = pthread_create(&thread, &attr, run, r);
        pthread_attr_destroy(&attr);
        return e != 0 ? err_set(err, CELLA_INTERNAL, -e, "cannot start a thread") : 0;
}

/* Takes over the line, the document and the descriptor. */
static void begin(int64_t id, char *line, size_t len, struct json_doc *request, int archive)
{
        struct cella_err err = {0};
        pthread_mutex_lock(&mutex);
        struct running *r = find_operation(request->values) ? new_running(id, &err) : NULL;
        if (!r && err.kind == CELLA_OK)
                err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "op: pull, import, rm, gc, bound or cancel");
        if (!r) {
                json_doc_done(request);
                wipe(line, len);
                if (archive >= 0)
                        sys_close(archive);
        } else {
                r->line = line;
                r->len = len;
                if (start(r, request, archive, &err) < 0) {
                        end(r);
                        r = NULL;
                }
        }
        if (!r)
                send_failure(id, &err);
        pthread_mutex_unlock(&mutex);
}

static void cancel(int64_t id, const struct json_value *request)
{
        struct answer a;
        int64_t target = -1;
        struct cella_err err = {0};
        if (!json_get_integer(request, "target", &target)) {
                err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "target: the id of an operation");
                fail(id, &err);
                return;
        }
        pthread_mutex_lock(&mutex);
        struct running *r = find_running(target);
        if (r)
                r->job.cancelled = true;
        if (answer_begin(&a, id, "done"))
                answer_send(&a);
        pthread_mutex_unlock(&mutex);
}

/* Done at once: what is asked for after it finds it in force. */
static void set_bound(int64_t id, const struct json_value *request)
{
        struct answer a;
        int64_t bytes = -1;
        struct cella_err err = {0};
        int r = json_get_integer(request, "bytes", &bytes) && bytes >= 0
                        ? room_set_bound(IMAGER_STORE_FD, (uint64_t)bytes, &err)
                        : err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "bytes: a whole number from 0 on");
        if (r < 0) {
                fail(id, &err);
                return;
        }
        pthread_mutex_lock(&mutex);
        if (answer_begin(&a, id, "done"))
                answer_send(&a);
        pthread_mutex_unlock(&mutex);
}

/* What is not of the protocol was not said by our owner: false, and that is the end. */
static bool handle(struct lines *lines, const char *text, size_t len)
{
        struct json_doc request = {0};
        char *line = malloc(len + 1);
        int64_t id;
        if (!line)
                return false;
        memcpy(line, text, len);
        if (json_read(line, len, VALUES_MAX, &request, NULL) < 0 || request.values->type != JSON_OBJECT ||
            !json_get_integer(request.values, "id", &id) || id < 0) {
                json_doc_done(&request);
                wipe(line, len);
                return false;
        }
        const char *op = json_get_string(request.values, "op");
        if (op && (strcmp(op, "cancel") == 0 || strcmp(op, "bound") == 0)) {
                (op[0] == 'c' ? cancel : set_bound)(id, request.values);
                json_doc_done(&request);
                wipe(line, len);
        } else {
                begin(id, line, len, &request, op && strcmp(op, "import") == 0 ? lines_take_fd(lines) : -1);
        }
        return true;
}

/* ---- the process ---- */

static bool cancel_all(void)
{
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 10; /* what does not end by then is left for the next start */
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

static int prepare(struct cella_err *err)
{
        struct rlimit files;
        struct stat st;
        char none[DIGEST_HEX + 1];
        signal(SIGPIPE, SIG_IGN);
        umask(0);                       /* modes are those of the image, and the store is closed by its own */
        setlocale(LC_CTYPE, "C.UTF-8"); /* else libarchive drops names that are not ASCII */
        sys_close_range(IMAGER_STORE_FD + 1, ~0u, 0);
        if (fstat(IMAGER_STORE_FD, &st) < 0 || !S_ISDIR(st.st_mode))
                return err_say(err, CELLA_INTERNAL, -EBADF, "descriptor %d is not the store's directory",
                               IMAGER_STORE_FD);
        fcntl(IMAGER_STORE_FD, F_SETFD, FD_CLOEXEC);
        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max < DESCRIPTORS ? files.rlim_max : DESCRIPTORS;
                setrlimit(RLIMIT_NOFILE, &files);
        }
        digest_of("", 0, none); /* what OpenSSL loads, it loads now */
        remove_leftovers(IMAGER_STORE_FD);
        return cage_enter(IMAGER_STORE_FD, err);
}

int main(void)
{
        static struct lines lines;
        struct cella_err err = {0};
        char *line;
        size_t len;
        int r = prepare(&err);
        if (r < 0) {
                fprintf(stderr, "cella-image: %s\n", err.msg);
                return 1;
        }
        lines_init(&lines, IMAGER_FD);
        while ((r = lines_next(&lines, &line, &len)) > 0 && handle(&lines, line, len))
                ;
        if (!cancel_all())
                _exit(1); /* threads that did not end have their hands on everything */
        lines_done(&lines);
        return r == 0 ? 0 : 1;
}
