/* image/store/root.c -- creates the root directory of an image from its layers.
 *
 * Directories are created, files are hard links to those of the layers: so an image takes no space in
 * addition to its layers, images share common layers, and the overlay of a sandbox has one lower directory
 * instead of a hundred. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "image/store/internal.h"
#include "image/store/layer_record.h"
#include "image/store/layout.h"
#include "image/unpack/tree.h"
#include "sys/file.h"

#define LOOK_EVERY 256                 /* entries between two checks for cancellation */
#define COPY_MAX ((uint64_t)256 << 20) /* bytes of files that have too many names to be linked */

struct merge {
        struct writer *w;
        uint64_t entries, copied;
};

/* ---- one entry ---- */

static int copy_content(int from, int to)
{
        char block[65536];
        for (;;) {
                ssize_t n = sys_read(from, block, sizeof block);
                if (n <= 0)
                        return (int)n;
                int r = sys_write_all(to, block, (size_t)n);
                if (r < 0)
                        return r;
        }
}

/* Copies a file that has the maximum number of links.  These copies are not covered by the budget: a layer
 * with a large file of 65,000 names would fill any disk. */
static int copy_file(struct merge *m, int from, int to, const char *name)
{
        struct stat st;
        AUTO(sys_close) int in = sys_openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        if (in < 0)
                return in;
        if (fstat(in, &st) < 0 || !S_ISREG(st.st_mode))
                return -EMLINK;
        if ((uint64_t)st.st_size > COPY_MAX || m->copied > COPY_MAX - (uint64_t)st.st_size)
                return -EFBIG;
        m->copied += (uint64_t)st.st_size;
        AUTO(sys_close) int out = sys_openat(to, name, O_WRONLY | O_CREAT | O_EXCL, st.st_mode & 0777);
        if (out < 0)
                return out;
        const struct timespec times[2] = {st.st_atim, st.st_mtim};
        int r = copy_content(in, out);
        return r == 0 && futimens(out, times) < 0 ? -errno : r;
}

static int image_root_put_file(struct merge *m, int from, int to, const char *name)
{
        int r = linkat(from, name, to, name, 0) < 0 ? -errno : 0;
        if (r == -EEXIST) {
                r = tree_remove(to, name);
                if (r == 0 && linkat(from, name, to, name, 0) < 0)
                        r = -errno;
        }
        return r == -EMLINK ? copy_file(m, from, to, name) : r;
}

/* Creates the directory, or sets the mode of the upper layer; returns its descriptor. */
static int put_directory(int to, const char *name, unsigned mode)
{
        struct stat st;
        int r = sys_mkdirat(to, name, mode);
        bool made = r == 0;
        if (r == -EEXIST && fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode)) {
                r = sys_unlinkat(to, name, 0);
                if (r == 0)
                        r = sys_mkdirat(to, name, mode);
                made = r == 0;
        }
        if (r < 0 && r != -EEXIST)
                return r;
        AUTO(sys_close) int fd = sys_openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd >= 0 && !made && fchmod(fd, mode) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* ---- a layer ---- */

static int merge_directory(struct merge *m, int from, int to, int depth);

static int merge_below(struct merge *m, int from, int to, const char *name, int depth)
{
        struct stat st;
        AUTO(sys_close) int below = sys_openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (below < 0)
                return below;
        if (fstat(below, &st) < 0)
                return -errno;
        AUTO(sys_close) int there = put_directory(to, name, (st.st_mode & 01777) | 0700);
        return there < 0 ? there : merge_directory(m, below, there, depth + 1);
}

static bool is_directory(int dir, const struct dirent *entry)
{
        struct stat st;
        if (entry->d_type != DT_UNKNOWN)
                return entry->d_type == DT_DIR;
        return fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int merge_entry(struct merge *m, int from, int to, const struct dirent *entry, int depth)
{
        if (++m->entries > m->w->budget.entries_max)
                return -E2BIG;
        if (m->entries % LOOK_EVERY == 0 && m->w->job->cancelled)
                return -ECANCELED;
        return is_directory(from, entry) ? merge_below(m, from, to, entry->d_name, depth)
                                         : image_root_put_file(m, from, to, entry->d_name);
}

static int merge_directory(struct merge *m, int from, int to, int depth)
{
        const struct dirent *entry;
        int r = 0, copy = depth > TREE_DEPTH_MAX ? -E2BIG : sys_dup_above(from, 0);
        DIR *list = copy < 0 ? NULL : fdopendir(copy);
        if (!list) {
                sys_close(copy);
                return copy < 0 ? copy : -ENOMEM;
        }
        while (r == 0 && (entry = readdir(list)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        r = merge_entry(m, from, to, entry, depth);
        closedir(list);
        return r;
}

/* Applies the deletions of the layer to those below it.  If a link is in the path there is nothing to delete:
 * the file that it leads to is another one. */
static int apply_deletions(int to, const struct layer *layer)
{
        for (const char *path = paths_next(&layer->opaque, NULL); path;
             path = paths_next(&layer->opaque, path)) {
                AUTO(sys_close) int dir = tree_open(to, path, O_RDONLY | O_DIRECTORY);
                int r = dir < 0 ? 0 : tree_empty(dir);
                if (r < 0)
                        return r;
        }
        for (const char *path = paths_next(&layer->whiteouts, NULL); path;
             path = paths_next(&layer->whiteouts, path)) {
                char parent[TREE_PATH_MAX];
                const char *name = tree_split(path, parent);
                AUTO(sys_close) int dir = tree_open(to, parent, O_PATH | O_DIRECTORY);
                int r = dir < 0 || !name[0] ? 0 : tree_remove(dir, name);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int merge_layer(struct merge *m, const char *diff, int to)
{
        struct stat st;
        AUTO(sys_close) int from = layer_open(m->w, diff);
        if (from < 0)
                return from;
        if (fstat(from, &st) < 0 || fchmod(to, (st.st_mode & 01777) | 0700) < 0)
                return -errno;
        return merge_directory(m, from, to, 0);
}

static int image_root_fail(int r, const struct writer *w, struct cella_err *err)
{
        if (r == -ECANCELED)
                return job_cancelled(w->job, err);
        if (r == -E2BIG)
                return err_say(err, CELLA_TOO_LARGE, r, "the image has more than %llu entries",
                               (unsigned long long)w->budget.entries_max);
        if (r == -EFBIG)
                return err_say(err, CELLA_TOO_LARGE, r, "the image has a large file of too many names");
        return err_set(err, CELLA_INTERNAL, r, "cannot create the image's root directory");
}

int root_build(struct writer *w, int to, char (*diffs)[DIGEST_HEX + 1], size_t n, struct image *ret,
               struct cella_err *err)
{
        struct merge m = {.w = w};
        for (size_t i = 0; i < n; i++) {
                AUTO(layer_done) struct layer layer = {0};
                int r = layer_read(w->store, w->tmp, diffs[i], &layer, err);
                if (r < 0)
                        return r;
                r = i > 0 ? apply_deletions(to, &layer) : 0;
                if (r == 0)
                        r = merge_layer(&m, diffs[i], to);
                if (r < 0)
                        return image_root_fail(r, w, err);
                ret->bytes += layer.bytes;
                ret->files += layer.files;
        }
        return 0;
}
