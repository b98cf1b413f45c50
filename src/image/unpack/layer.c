/* image/unpack/layer.c -- unpacks layers, checks them and adds them to the store (writer.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "image/store/internal.h"
#include "image/store/layer_record.h"
#include "image/store/layout.h"
#include "image/store/room.h"
#include "image/store/writer.h"
#include "image/unpack/tree.h"
#include "sys/file.h"

#define NAME_SIZE (DIGEST_HEX + 32) /* "layers/", a digest, ".json" */

/* ---- location ---- */

static bool is_there(int dir, const char *before, const char *diff)
{
        char path[NAME_SIZE];
        struct stat st;
        snprintf(path, sizeof path, "%s%s.json", before, diff);
        return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

bool writer_has_layer(const struct writer *w, const char *diff)
{
        const char *hex = digest_hex(diff);
        return hex && (is_there(w->store, "layers/", hex) || is_there(w->tmp, "", hex));
}

/* A directory without its record was left by a process that was killed between the two renames. */
static int move_layer(struct writer *w, const char *diff)
{
        char to[NAME_SIZE], record[NAME_SIZE], aside[ID_SIZE];
        snprintf(to, sizeof to, "layers/%s", diff);
        snprintf(record, sizeof record, "%s.json", diff);
        int r = id_make("old_", aside);
        if (r < 0)
                return r;
        if (renameat(w->store, to, w->tmp, aside) < 0 && errno != ENOENT)
                return -errno;
        if (renameat(w->tmp, diff, w->store, to) < 0)
                return -errno;
        snprintf(to, sizeof to, "layers/%s.json", diff);
        return renameat(w->tmp, record, w->store, to) < 0 ? -errno : 0;
}

int layer_open(const struct writer *w, const char *diff)
{
        char path[NAME_SIZE];
        if (!is_there(w->store, "layers/", diff))
                return tree_open(w->tmp, diff, O_RDONLY | O_DIRECTORY);
        snprintf(path, sizeof path, "layers/%s", diff);
        return tree_open(w->store, path, O_RDONLY | O_DIRECTORY);
}

int layer_publish(struct writer *w, const char *diff, struct cella_err *err)
{
        if (is_there(w->store, "layers/", diff))
                return 0;
        if (!is_there(w->tmp, "", diff))
                return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                               "a layer of the image is missing: sha256:%.12s", diff);
        int r = move_layer(w, diff);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot put a layer into the store") : 0;
}

static int layer_keep(struct writer *w, const char *diff, struct cella_err *err)
{
        int r = writer_settle(w, err);
        if (r < 0)
                return r;
        AUTO(sys_close) int lock = store_lock(w->store, "commit", LOCK_EX, w->job, err);
        r = lock < 0 ? lock : layers_fit(w, err);
        return r < 0 ? r : layer_publish(w, diff, err);
}

/* ---- size ---- */

int layers_fit(const struct writer *w, struct cella_err *err)
{
        uint64_t there = 0, ours = 0;
        if (w->budget.room == 0)
                return 0;
        AUTO(sys_close) int layers = tree_open(w->store, "layers", O_RDONLY | O_DIRECTORY);
        int r = layers < 0 ? layers : layers_disk(layers, &there);
        if (r == 0)
                r = layers_disk(w->tmp, &ours);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot determine the size of the store of images");
        return there + ours > w->budget.room ? room_refuse(w->budget.room, err) : 0;
}

/* ---- unpacking ---- */

static int check_digest(const char *what, const char *expected, const char *got, struct cella_err *err)
{
        const char *hex = expected ? digest_hex(expected) : got;
        if (hex && strcmp(hex, got) == 0)
                return 0;
        return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                       "a layer's %s is sha256:%.16s..., but %.23s... was expected", what, got, expected);
}

/* Headers and padding are not content, but a stream that contains nothing else is limited, too. */
uint64_t writer_stream_max(const struct writer *w)
{
        const uint64_t max = w->budget.bytes_max;
        return max + max / 4 + ((uint64_t)64 << 20);
}

/* Unpacks into a directory of the writer, `name`, which is renamed to DIFF if everything is valid. */
static int unpack_into(struct writer *w, const char *name, struct stream *stream,
                       const struct layer_source *source, struct layer *u, char diff[DIGEST_HEX + 1],
                       char blob[DIGEST_HEX + 1], struct cella_err *err)
{
        AUTO(sys_close) int dir = -1;
        int r = sys_mkdirat(w->tmp, name, 0755);
        if (r == 0)
                r = dir = sys_openat(w->tmp, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot write to the store");
        r = unpack(w->job, stream, dir, &w->budget, u, err);
        if (r == 0)
                r = stream_end(stream, blob, diff, err);
        if (r == 0)
                r = check_digest("digest", source->digest, blob, err);
        if (r == 0)
                r = check_digest("content", source->diff, diff, err);
        return r;
}

/* Its reservation is kept, unless an equal layer exists. */
static int stage(struct writer *w, const char *name, const char *diff, const char *blob, struct layer *u,
                 struct cella_err *err)
{
        if (is_there(w->tmp, "", diff))
                return 0;
        int r = renameat2(w->tmp, name, w->tmp, diff, RENAME_NOREPLACE) < 0 ? -errno : 0;
        if (r == 0)
                r = layer_write(w->tmp, diff, blob, u);
        if (r == 0)
                u->disk = 0;
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot write to the store") : 0;
}

static int layer_add(struct writer *w, struct stream *stream, const struct layer_source *source,
                     char diff[DIGEST_HEX + 1], char blob[DIGEST_HEX + 1], struct cella_err *err)
{
        struct layer u = {0};
        char name[ID_SIZE];
        int r = id_make("layer_", name);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot write to the store");
        r = unpack_into(w, name, stream, source, &u, diff, blob, err);
        pthread_mutex_lock(&w->mutex);
        if (r == 0)
                r = stage(w, name, diff, blob, &u, err);
        if (r == 0 && source->keep)
                r = layer_keep(w, diff, err);
        pthread_mutex_unlock(&w->mutex);
        tree_remove(w->tmp, name); /* no effect if it was renamed */
        room_give(u.disk);
        layer_done(&u);
        return r;
}

int writer_add_layer_digest(struct writer *w, const struct layer_source *source,
                            char ret_diff[DIGEST_HEX + 1], char ret_blob[DIGEST_HEX + 1],
                            struct cella_err *err)
{
        AUTO(stream_close) struct stream *stream = NULL;
        int r = stream_open(w->job, source, writer_stream_max(w), &stream, err);
        return r < 0 ? r : layer_add(w, stream, source, ret_diff, ret_blob, err);
}

int writer_add_layer(struct writer *w, const struct layer_source *source, char ret_diff[DIGEST_HEX + 1],
                     struct cella_err *err)
{
        char diff[DIGEST_HEX + 1], blob[DIGEST_HEX + 1];
        int r = writer_add_layer_digest(w, source, diff, blob, err);
        if (r == 0 && ret_diff)
                memcpy(ret_diff, diff, sizeof diff);
        return r;
}

int writer_add_stream(struct writer *w, struct stream *stream, const struct layer_source *source,
                      char ret_diff[DIGEST_HEX + 1], struct cella_err *err)
{
        char blob[DIGEST_HEX + 1];
        return layer_add(w, stream, source, ret_diff, blob, err);
}
