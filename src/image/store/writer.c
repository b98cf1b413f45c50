#include "image/store/writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "image/store/internal.h"
#include "image/store/layer_record.h"
#include "image/store/layout.h"
#include "image/store/room.h"
#include "image/unpack/config.h"
#include "image/unpack/place.h"
#include "image/unpack/programs.h"
#include "image/unpack/tree.h"
#include "image/unpack/user.h"
#include "sys/file.h"

struct writer *writer_close(struct writer *w)
{
        if (!w)
                return NULL;
        if (w->tmp >= 0) {
                uint64_t ours = 0;
                if (layers_disk(w->tmp, &ours) == 0)
                        room_give(ours); /* layers that were not added to the store */
                sys_close(w->tmp);
                AUTO(sys_close) int tmp = tree_open(w->store, "tmp", O_PATH | O_DIRECTORY);
                if (tmp >= 0)
                        tree_remove(tmp, w->name); /* leftovers are removed at the next start */
        }
        if (w->counted)
                room_leave();
        sys_close(w->lock);
        pthread_mutex_destroy(&w->mutex);
        free(w);
        return NULL;
}

int writer_open(struct imager_job *job, struct writer **ret, struct cella_err *err)
{
        char path[ID_SIZE + 8];
        AUTO(writer_close) struct writer *w = calloc(1, sizeof *w);
        if (!w)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot write to the store");
        pthread_mutex_init(&w->mutex, NULL);
        w->job = job;
        w->store = job->store;
        w->lock = w->tmp = -1;
        w->budget.bytes_max = job->bytes_max;
        w->budget.entries_max = job->entries_max;
        int r = store_prepare(job->store, err);
        if (r < 0 || (r = w->lock = store_lock(job->store, "lock", LOCK_SH, job, err)) < 0 ||
            (r = room_enter(job->store, &w->budget.room, err)) < 0)
                return r;
        w->counted = true;
        r = id_make("", w->name);
        snprintf(path, sizeof path, "tmp/%s", w->name);
        if (r == 0)
                r = sys_mkdirat(job->store, path, 0700);
        if (r == 0)
                r = w->tmp = tree_open(job->store, path, O_RDONLY | O_DIRECTORY);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot write to the store");
        *ret = TAKE(w);
        return 0;
}

uint64_t writer_room(const struct writer *w)
{
        return w->budget.room;
}

/* ---- an image ---- */

int writer_config_layers(const char *config, size_t len, char ret[LAYERS_MAX][DIGEST_HEX + 1], size_t *ret_n,
                         struct cella_err *err)
{
        AUTO(image_free) struct image *image = calloc(1, sizeof *image);
        if (!image)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "an image");
        int r = config_read(config, len, image, err);
        if (r < 0)
                return r;
        for (*ret_n = 0; *ret_n < LAYERS_MAX && image->layers[*ret_n]; (*ret_n)++)
                memcpy(ret[*ret_n], digest_hex(image->layers[*ret_n]), DIGEST_HEX + 1);
        return 0;
}

static uint64_t now_ms(void)
{
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Writes the image's document and checks that it can be read. */
static int write_meta(const struct writer *w, const char *name, const struct image *image,
                      struct cella_err *err)
{
        AUTO(image_free) struct image *again = NULL;
        size_t len = 0;
        char *text = image_write(image, &len);
        if (!text)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "an image");
        int r = len > IMAGE_META_MAX ? -EFBIG : tree_write(w->tmp, w->tmp, name, text, len);
        if (r == -EFBIG)
                err_say(err, CELLA_TOO_LARGE, r, "the image's configuration is too large");
        else if (r < 0)
                err_set(err, CELLA_INTERNAL, r, "cannot write to the store");
        else
                r = image_parse(text, len, image->id, NULL, &again, err);
        free(text);
        return r;
}

/* Creates the working directory, even if no layer contains it.  If it cannot be created, running the image
 * reports that. */
static void make_cwd(int root, const char *cwd)
{
        char path[TREE_PATH_MAX];
        if (tree_path(cwd, path) == 0 && path[0])
                sys_close(place_path(root, path));
}

/* Builds the root directory, and sets the data that depends on it. */
static int store_writer_build(struct writer *w, const char *name, struct image *image, struct cella_err *err)
{
        char diffs[LAYERS_MAX][DIGEST_HEX + 1];
        struct programs programs = {0};
        size_t n = 0;
        int r;
        image->bytes = image->files = 0;
        for (; image->layers[n]; n++)
                memcpy(diffs[n], digest_hex(image->layers[n]), DIGEST_HEX + 1);
        AUTO(sys_close) int root = -1;
        r = sys_mkdirat(w->tmp, name, 0755);
        if (r == 0)
                r = root = tree_open(w->tmp, name, O_RDONLY | O_DIRECTORY);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot write to the store");
        if ((r = root_build(w, root, diffs, n, image, err)) < 0)
                return r;
        make_cwd(root, image->cwd);
        if ((r = user_resolve(root, image->user, &image->uid, &image->gid, err)) < 0 ||
            (r = programs_find(root, image->env, &programs, err)) < 0)
                return r;
        image->runtimes = programs.list;
        image->n_runtimes = programs.n;
        r = write_meta(w, "meta", image, err);
        image->n_runtimes = 0;
        programs_done(&programs);
        return r;
}

static bool exists(int store, const char *id)
{
        char path[IMAGE_ID_LEN + 16];
        struct stat st;
        snprintf(path, sizeof path, "meta/%s", id);
        return fstatat(store, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int move_root(struct writer *w, const char *id)
{
        char path[IMAGE_ID_LEN + 16], aside[ID_SIZE];
        AUTO(sys_close) int lock = lock_root(w->store, id);
        if (lock == -EBUSY)
                return 0;
        int r = lock < 0 && lock != -ENOENT ? lock : id_make("old_", aside);
        if (r < 0)
                return r;
        snprintf(path, sizeof path, "roots/%s", id);
        if (lock >= 0 && renameat(w->store, path, w->tmp, aside) < 0)
                return -errno;
        return renameat(w->tmp, "root", w->store, path) < 0 ? -errno : 0;
}

/* Moves the root, then the meta.  A root without a meta was left by a killed process; one that a sandbox uses
 * has the same content, because it has the same id, and is kept. */
static int move_image(struct writer *w, const char *id)
{
        char path[IMAGE_ID_LEN + 16];
        int r = move_root(w, id);
        if (r < 0)
                return r;
        snprintf(path, sizeof path, "meta/%s", id);
        return renameat(w->tmp, "meta", w->store, path) < 0 ? -errno : 0;
}

static int publish(struct writer *w, const struct image *image, struct cella_err *err)
{
        int r = 0;
        for (const char **layer = image->layers; *layer && r == 0; layer++)
                r = layer_publish(w, digest_hex(*layer), err);
        if (r < 0)
                return r;
        r = move_image(w, image->id);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot add the image to the store") : 0;
}

static int name_it(struct writer *w, const char *name, const char *id, struct cella_err *err)
{
        char file[256], path[300], text[IMAGE_ID_LEN + 2];
        int r = image_name_file(name, file);
        if (r < 0)
                return err_say(err, CELLA_INVALID_REQUEST, r, "'%.120s' cannot be the name of an image",
                               name);
        snprintf(path, sizeof path, "refs/%s", file);
        snprintf(text, sizeof text, "%s\n", id);
        r = tree_write(w->tmp, w->store, path, text, strlen(text));
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot name an image") : 0;
}

static int check_names(const char *const *names, struct cella_err *err)
{
        char file[256];
        for (; names && *names; names++)
                if (image_name_file(*names, file) < 0) {
                        err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                "'%.120s' cannot be the name of an image", *names);
                        return err_hint(err, "letters, digits and . _ - / :, at most %d of them",
                                        IMAGE_NAME_MAX);
                }
        return 0;
}

static size_t store_writer_count(int store, const char *path)
{
        size_t n = 0;
        const struct dirent *entry;
        int fd = tree_open(store, path, O_RDONLY | O_DIRECTORY);
        DIR *list = fd < 0 ? NULL : fdopendir(fd);
        if (!list) {
                sys_close(fd);
                return 0;
        }
        while ((entry = readdir(list)))
                n += entry->d_name[0] != '.';
        closedir(list);
        return n;
}

static bool has_name(int store, const char *name)
{
        char file[256], path[300];
        struct stat st;
        if (image_name_file(name, file) < 0)
                return false;
        snprintf(path, sizeof path, "refs/%s", file);
        return fstatat(store, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Listing the store reads all images, so their number is limited. */
static int check_room(int store, const char *id, const char *const *names, struct cella_err *err)
{
        size_t more = 0;
        for (; names && *names; names++)
                more += !has_name(store, *names);
        if (!exists(store, id) && store_writer_count(store, "meta") >= IMAGE_LIST_MAX)
                err_say(err, CELLA_OVER_CAPACITY, -ENOSPC, "the store has %d images, and takes no more",
                        IMAGE_LIST_MAX);
        else if (more > 0 && store_writer_count(store, "refs") + more > IMAGE_REFS_MAX)
                err_say(err, CELLA_OVER_CAPACITY, -ENOSPC, "the store has %d names of images at most",
                        IMAGE_REFS_MAX);
        else
                return 0;
        err_hint(err, "remove images that are not needed (cella image rm), then use cella image gc");
        return -ENOSPC;
}

/* Adds the names with the lock `commit`, so that the image is not removed in between. */
static int store_writer_finish(struct writer *w, const struct image_parts *parts, const struct image *made,
                               struct image **ret, struct cella_err *err)
{
        const char *id = made->id;
        AUTO(image_free) struct image *image = NULL;
        AUTO(sys_close) int lock = store_lock(w->store, "commit", LOCK_EX, w->job, err);
        int r = lock;
        if (r < 0 || (r = check_room(w->store, id, parts->names, err)) < 0 || (r = layers_fit(w, err)) < 0)
                return r;
        if (!exists(w->store, id)) {
                struct stat st;
                if (fstatat(w->tmp, "meta", &st, AT_SYMLINK_NOFOLLOW) < 0)
                        return -EAGAIN; /* it existed a moment ago */
                if ((r = publish(w, made, err)) < 0)
                        return r;
        }
        for (const char *const *name = parts->names; name && *name; name++)
                if ((r = name_it(w, *name, id, err)) < 0)
                        return r;
        if ((r = image_read(w->store, NULL, id, &image, err)) < 0 ||
            (r = image_load_names_at(w->store, image, err)) < 0)
                return r;
        *ret = TAKE(image);
        return 0;
}

/* An object in its final place counts as complete, also after a power failure: so its data is written to the
 * disk before it is moved there.  One syncfs() is faster than one fsync() per file. */
int writer_settle(const struct writer *w, struct cella_err *err)
{
        return syncfs(w->store) < 0 ? err_set(err, CELLA_INTERNAL, -errno, "cannot write to the store") : 0;
}

int writer_commit(struct writer *w, const struct image_parts *parts, struct image **ret,
                  struct cella_err *err)
{
        int r = check_names(parts->names, err);
        if (r < 0)
                return r;
        AUTO(image_free) struct image *image = calloc(1, sizeof *image);
        if (!image)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "an image");
        r = config_read(parts->config, parts->config_len, image, err);
        if (r < 0)
                return r;
        if ((r = digest_of(parts->config, parts->config_len, image->id)) < 0)
                return err_set(err, CELLA_INTERNAL, r, "an image");
        image->digest = parts->digest ? parts->digest : "";
        image->source = parts->source;
        image->created_ms = now_ms();
        /* Also checked here, so that nothing is unpacked in vain. */
        if ((r = check_room(w->store, image->id, parts->names, err)) < 0)
                return r;
        r = -EAGAIN;
        for (int i = 0; i < 2 && r == -EAGAIN; i++) {
                if (!exists(w->store, image->id) &&
                    ((r = store_writer_build(w, "root", image, err)) < 0 || (r = writer_settle(w, err)) < 0))
                        return r;
                r = store_writer_finish(w, parts, image, ret, err);
        }
        tree_remove(w->tmp, "root"); /* if another process has added the same root first */
        sys_unlinkat(w->tmp, "meta", 0);
        return r;
}
