/* image/store/remove.c -- removes images and unused objects from the store.
 *
 * The order is the opposite of adding: the name, the meta, the root.  Objects are first renamed into tmp/, so
 * that no process sees partly removed ones. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "image/store/internal.h"
#include "image/store/layer_record.h"
#include "image/store/layout.h"
#include "image/store/reference.h"
#include "image/store/room.h"
#include "image/store/upgrade.h"
#include "image/store/writer.h"
#include "image/unpack/tree.h"
#include "sys/file.h"

#define PATH_SIZE 320
#define SWEEP_WAIT_MS 5000
#define SWEEP_PAUSE_US 20000

/* ---- one object ---- */

static int move_away(struct writer *w, const char *path)
{
        char aside[ID_SIZE];
        int r = id_make("old_", aside);
        if (r < 0)
                return r;
        return renameat(w->store, path, w->tmp, aside) < 0 && errno != ENOENT ? -errno : 0;
}

int lock_root(int store, const char *id)
{
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "roots/%s", id);
        AUTO(sys_close) int dir = tree_open(store, path, O_RDONLY | O_DIRECTORY);
        int r = dir < 0 ? dir : sys_flock(dir, LOCK_EX | LOCK_NB);
        return r == -EWOULDBLOCK ? -EBUSY : r < 0 ? r : TAKE_FD(dir);
}

/* Removes a root on which we have the lock. */
static int take_root(struct writer *w, const char *id)
{
        char path[PATH_SIZE], aside[ID_SIZE];
        int r = id_make("old_", aside);
        if (r < 0)
                return r;
        snprintf(path, sizeof path, "roots/%s", id);
        if (renameat(w->store, path, w->tmp, aside) < 0)
                return -errno;
        return tree_remove(w->tmp, aside);
}

static int remove_root(struct writer *w, const char *id)
{
        AUTO(sys_close) int lock = lock_root(w->store, id);
        return lock == -ENOENT ? 0 : lock < 0 ? lock : take_root(w, id);
}

static bool is_used(int store, const char *id)
{
        AUTO(sys_close) int lock = lock_root(store, id);
        return lock == -EBUSY;
}

/* Returns -EBUSY if a sandbox uses it; nothing is changed then. */
static int remove_image(struct writer *w, const char *id)
{
        char path[PATH_SIZE];
        AUTO(sys_close) int lock = lock_root(w->store, id);
        if (lock < 0 && lock != -ENOENT)
                return lock;
        snprintf(path, sizeof path, "meta/%s.json", id); /* or upgrade_documents() would bring it back */
        int r = sys_unlinkat(w->store, path, 0);
        if (r == 0 || r == -ENOENT) {
                snprintf(path, sizeof path, "meta/%s", id);
                r = sys_unlinkat(w->store, path, 0);
        }
        if (r < 0 && r != -ENOENT)
                return r;
        return lock < 0 ? 0 : take_root(w, id);
}

static int remove_ref(int store, const char *name)
{
        char file[256], path[PATH_SIZE];
        int r = image_name_file(name, file);
        if (r < 0)
                return r;
        snprintf(path, sizeof path, "refs/%s", file);
        r = sys_unlinkat(store, path, 0);
        return r == -ENOENT ? 0 : r;
}

/* ---- by name ---- */

/* Returns the stored name that the argument refers to, or NULL if it is the id. */
static const char *meant(const struct image *image, const char *name)
{
        struct reference reference;
        char whole[REFERENCE_SIZE] = "";
        if (reference_parse(name, &reference, NULL) == 0)
                reference_write(&reference, whole);
        for (const char **p = image->names; *p; p++)
                if (strcmp(*p, name) == 0)
                        return *p;
        for (const char **p = image->names; *p; p++)
                if (strcmp(*p, whole) == 0)
                        return *p;
        return NULL;
}

static int remove_locked(struct writer *w, const char *name, struct removed *ret, struct cella_err *err)
{
        AUTO(image_free) struct image *image = NULL;
        int r = image_find_at(w->store, NULL, name, &image, err);
        if (r < 0 || (r = image_load_names_at(w->store, image, err)) < 0)
                return r;
        const char *only = meant(image, name);
        /* An image that a sandbox still uses is removed by the next sweep after the end of the sandbox; only
         * its names are removed now. */
        const bool used = is_used(w->store, image->id);
        bool whole = !used && (!only || !image->names[0] || !image->names[1]);
        if (used && !image->names[0]) {
                err_say(err, CELLA_OVER_CAPACITY, -EBUSY, "the image %.120s is used by a sandbox", name);
                return err_hint(err, "end its sandboxes first: cella ls, cella rm");
        }
        for (const char **p = image->names; *p && r == 0; p++)
                if (!only || strcmp(*p, only) == 0)
                        r = remove_ref(w->store, *p);
        if (r == 0 && whole && (r = remove_image(w, image->id)) == -EBUSY) {
                whole = false; /* a sandbox has started to use it meanwhile */
                r = 0;
        }
        ret->image = r == 0 && whole;
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot remove the image %.120s", name) : 0;
}

/* ---- unused objects ---- */

/* Calls one() for each name in a directory of the store, until it fails. */
static int each(struct writer *w, const char *path, int (*one)(struct writer *, const char *, void *),
                void *arg)
{
        const struct dirent *entry;
        int r = 0, fd = tree_open(w->store, path, O_RDONLY | O_DIRECTORY);
        DIR *list = fd < 0 ? NULL : fdopendir(fd);
        if (!list) {
                sys_close(fd);
                return fd < 0 ? fd : -ENOMEM;
        }
        while (r == 0 && (entry = readdir(list)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        r = one(w, entry->d_name, arg);
        closedir(list);
        return r;
}

struct collection {
        char (*layers)[DIGEST_HEX + 1]; /* layers of images */
        size_t n, size;
        char (*named)[IMAGE_ID_LEN + 1]; /* images with a name */
        size_t n_named, size_named;
        bool all; /* also remove images without a name, and downloads */
        struct removed *removed;
};

static int store_remove_remember(char (**list)[DIGEST_HEX + 1], size_t *n, size_t *size, const char *hex)
{
        if (*n == *size) {
                size_t more = *size ? *size * 2 : 64;
                void *memory = realloc(*list, more * sizeof **list);
                if (!memory)
                        return -ENOMEM;
                *list = memory;
                *size = more;
        }
        memcpy((*list)[(*n)++], hex, DIGEST_HEX + 1);
        return 0;
}

static int store_remove_compare(const void *a, const void *b)
{
        return strcmp(a, b);
}

static void sort(char (*list)[DIGEST_HEX + 1], size_t n)
{
        if (n > 0)
                qsort(list, n, sizeof *list, store_remove_compare);
}

static bool store_remove_has(char (*list)[DIGEST_HEX + 1], size_t n, const char *hex)
{
        return n > 0 && bsearch(hex, list, n, sizeof *list, store_remove_compare);
}

static int note_ref(struct writer *w, const char *file, void *arg)
{
        struct collection *c = arg;
        char path[PATH_SIZE], text[IMAGE_ID_LEN + 8];
        snprintf(path, sizeof path, "refs/%s", file);
        ssize_t n = sys_read_file(w->store, path, text, sizeof text);
        if (n < IMAGE_ID_LEN)
                return 0;
        text[IMAGE_ID_LEN] = '\0';
        return image_id_valid(text) ? store_remove_remember(&c->named, &c->n_named, &c->size_named, text) : 0;
}

/* Copies the hex digits at the start of a file name; false: it is not a file of the store. */
static bool id_of(const char *file, char ret[DIGEST_HEX + 1])
{
        if (strspn(file, "0123456789abcdef") != DIGEST_HEX)
                return false;
        memcpy(ret, file, DIGEST_HEX);
        ret[DIGEST_HEX] = '\0';
        return file[DIGEST_HEX] == '\0' || strcmp(file + DIGEST_HEX, ".json") == 0;
}

/* An image with an invalid document cannot be used, so its layers are not kept. */
static int note_image(struct writer *w, const char *file, void *arg)
{
        struct collection *c = arg;
        AUTO(image_free) struct image *image = NULL;
        if (!image_id_valid(file))
                return 0;
        bool readable = image_read(w->store, NULL, file, &image, NULL) == 0;
        if (c->all && (!readable || !store_remove_has(c->named, c->n_named, file)) &&
            !is_used(w->store, file)) {
                c->removed->images++;
                return remove_image(w, file);
        }
        for (const char **p = readable ? image->layers : (const char *[]){NULL}; *p; p++) {
                const char *hex = digest_hex(*p);
                int r = hex ? store_remove_remember(&c->layers, &c->n, &c->size, hex) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

static int sweep_layer(struct writer *w, const char *file, void *arg)
{
        struct collection *c = arg;
        AUTO(layer_done) struct layer layer = {0};
        char id[DIGEST_HEX + 1], path[PATH_SIZE];
        if (id_of(file, id) && store_remove_has(c->layers, c->n, id))
                return 0;
        if (id_of(file, id) && file[DIGEST_HEX] && layer_read(w->store, -1, id, &layer, NULL) == 0) {
                c->removed->layers++;
                c->removed->bytes += layer.bytes;
        }
        snprintf(path, sizeof path, "layers/%s", file);
        return move_away(w, path);
}

static int sweep_root(struct writer *w, const char *file, void *arg)
{
        struct collection *c = arg;
        char path[PATH_SIZE];
        struct stat st;
        snprintf(path, sizeof path, "meta/%.*s", DIGEST_HEX, file);
        if (fstatat(w->store, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
                return 0;
        int r = remove_root(w, file);
        c->removed->roots += r == 0;
        return r == -EBUSY ? 0 : r;
}

static int sweep_blob(struct writer *w, const char *file, void *arg)
{
        char path[PATH_SIZE];
        (void)arg;
        snprintf(path, sizeof path, "blobs/%s", file);
        return move_away(w, path);
}

/* Removes a name without an image. */
static int sweep_ref(struct writer *w, const char *file, void *arg)
{
        char path[PATH_SIZE], text[IMAGE_ID_LEN + 8];
        struct stat st;
        (void)arg;
        snprintf(path, sizeof path, "refs/%s", file);
        ssize_t n = sys_read_file(w->store, path, text, sizeof text);
        text[n > IMAGE_ID_LEN ? IMAGE_ID_LEN : n < 0 ? 0 : n] = '\0';
        if (image_id_valid(text)) {
                snprintf(path, sizeof path, "meta/%s", text);
                if (fstatat(w->store, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
                        return 0;
        }
        snprintf(path, sizeof path, "refs/%s", file);
        return move_away(w, path);
}

static int store_remove_sweep(struct writer *w, bool all, struct removed *ret)
{
        struct collection c = {.all = all, .removed = ret};
        int r = upgrade_documents(w->store); /* what is not converted would look unused */
        if (r == 0)
                r = each(w, "refs", note_ref, &c);
        sort(c.named, c.n_named);
        if (r == 0)
                r = each(w, "meta", note_image, &c);
        sort(c.layers, c.n);
        if (r == 0)
                r = each(w, "layers", sweep_layer, &c);
        if (r == 0)
                r = each(w, "roots", sweep_root, &c);
        if (r == 0)
                r = each(w, "refs", sweep_ref, &c);
        if (r == 0 && all)
                r = each(w, "blobs", sweep_blob, &c);
        free(c.layers);
        free(c.named);
        return r;
}

/* ---- the operations ---- */

static void empty_tmp(int store)
{
        AUTO(sys_close) int tmp = tree_open(store, "tmp", O_RDONLY | O_DIRECTORY);
        if (tmp >= 0)
                tree_empty(tmp);
}

void remove_leftovers(int store)
{
        AUTO(sys_close) int lock = store_lock(store, "lock", LOCK_EX | LOCK_NB, NULL, NULL);
        if (lock >= 0) {
                empty_tmp(store);
                upgrade_documents(store);
        }
}

/* Waits for other writers, but not for long, because a waiting job blocks others. */
static int lock_alone(struct writer *w, unsigned wait_ms, struct cella_err *err)
{
        const int64_t until_us = clock_us() + (int64_t)wait_ms * 1000;
        for (;;) {
                int r = store_lock(w->store, "lock", LOCK_EX | LOCK_NB, NULL, err);
                if (r != -EWOULDBLOCK)
                        return r;
                if ((r = job_cancelled(w->job, err)) < 0)
                        return r;
                if (clock_us() >= until_us) {
                        err_say(err, CELLA_OVER_CAPACITY, -EWOULDBLOCK,
                                "images are being pulled or imported, and may need the unused data");
                        err_hint(err, "try again when they are complete");
                        return -EWOULDBLOCK;
                }
                usleep(SWEEP_PAUSE_US);
        }
}

/* Sweeps with the writer's lock converted to an exclusive one. */
static int sweep_alone(struct writer *w, unsigned wait_ms, bool all, struct removed *ret,
                       struct cella_err *err)
{
        int r;
        sys_close(TAKE_FD(w->lock));
        w->lock = lock_alone(w, wait_ms, err);
        if (w->lock < 0)
                return w->lock;
        AUTO(sys_close) int commit = store_lock(w->store, "commit", LOCK_EX, w->job, err);
        if (commit < 0)
                return commit;
        r = store_remove_sweep(w, all, ret);
        room_swept();
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot clean the store of images") : 0;
}

int remove_name(struct imager_job *job, const char *name, struct removed *ret, struct cella_err *err)
{
        AUTO(writer_close) struct writer *w = NULL;
        int r = writer_open(job, &w, err);
        if (r < 0)
                return r;
        AUTO(sys_close) int commit = store_lock(w->store, "commit", LOCK_EX, job, err);
        if (commit < 0)
                return commit;
        r = remove_locked(w, name, ret, err);
        sys_close(TAKE_FD(commit));
        /* Also remove its layers, unless another process is writing and may use them; then gc removes them
         * later. */
        if (r == 0 && ret->image)
                (void)sweep_alone(w, 0, false, ret, NULL);
        return r;
}

int remove_unused(struct imager_job *job, struct removed *ret, struct cella_err *err)
{
        AUTO(writer_close) struct writer *w = NULL;
        int r = writer_open(job, &w, err);
        return r < 0 ? r : sweep_alone(w, SWEEP_WAIT_MS, true, ret, err);
}
