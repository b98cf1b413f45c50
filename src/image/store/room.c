#include "image/store/room.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "image/store/layer_record.h"
#include "image/store/layout.h"
#include "image/unpack/tree.h"
#include "sys/file.h"

#define FILE_NAME "max_bytes"
#define FILE_MAX 32

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned writers;
static bool looked;   /* `used` includes the size at the first call */
static uint64_t used; /* stored and reserved */

/* ---- the bound ---- */

int room_bound(int store, uint64_t *ret, struct cella_err *err)
{
        char *text = NULL, *end;
        size_t len;
        *ret = 0;
        int r = tree_read(store, FILE_NAME, FILE_MAX, &text, &len);
        if (r == -ENOENT)
                return 0;
        if (r == 0) {
                errno = 0;
                *ret = strtoull(text, &end, 10);
                r = errno != 0 || end == text || strcmp(end, "\n") != 0 ? -EINVAL : 0;
        }
        free(text);
        if (r == 0)
                return 0;
        err_set(err, CELLA_INTERNAL, r, "cannot read the limit of the store of images");
        return err_hint(err, "set images.max_bytes again, or remove " FILE_NAME " in the store");
}

int room_set_bound(int store, uint64_t bytes, struct cella_err *err)
{
        char text[FILE_MAX];
        int r = store_prepare(store, err);
        if (r < 0)
                return r;
        if (bytes == 0) {
                r = sys_unlinkat(store, FILE_NAME, 0);
                r = r == -ENOENT ? 0 : r;
        } else {
                AUTO(sys_close) int tmp = tree_open(store, "tmp", O_RDONLY | O_DIRECTORY);
                snprintf(text, sizeof text, "%llu\n", (unsigned long long)bytes);
                r = tmp < 0 ? tmp : tree_write(tmp, store, FILE_NAME, text, strlen(text));
        }
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot write the limit of the store of images") : 0;
}

int room_refuse(uint64_t max, struct cella_err *err)
{
        err_say(err, CELLA_OVER_CAPACITY, -ENOSPC, "images may take %llu MiB of the disk (images.max_bytes)",
                (unsigned long long)(max >> 20));
        err_hint(err, "remove unused images (cella image rm, cella image gc), or raise that setting");
        return -ENOSPC;
}

/* ---- current size ---- */

static uint64_t downloads(int store)
{
        uint64_t all = 0;
        const struct dirent *entry;
        struct stat st;
        int fd = tree_open(store, "blobs", O_RDONLY | O_DIRECTORY);
        DIR *list = fd < 0 ? NULL : fdopendir(fd);
        if (!list) {
                sys_close(fd);
                return 0;
        }
        while ((entry = readdir(list)))
                if (fstatat(dirfd(list), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
                        all += (uint64_t)st.st_size;
        closedir(list);
        return all;
}

static int store_room_look(int store, struct cella_err *err)
{
        uint64_t layers = 0;
        AUTO(sys_close) int dir = tree_open(store, "layers", O_RDONLY | O_DIRECTORY);
        int r = dir < 0 ? dir : layers_disk(dir, &layers);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot determine the size of the store of images");
        used += layers + downloads(store);
        looked = true;
        return 0;
}

int room_enter(int store, uint64_t *ret_max, struct cella_err *err)
{
        int r = room_bound(store, ret_max, err);
        if (r < 0)
                return r;
        pthread_mutex_lock(&mutex);
        if (writers == 0) {
                used = 0;
                looked = false;
        }
        if (*ret_max > 0 && !looked)
                r = store_room_look(store, err);
        if (r == 0)
                writers++;
        pthread_mutex_unlock(&mutex);
        return r;
}

void room_swept(void)
{
        pthread_mutex_lock(&mutex);
        used = 0;
        looked = false;
        pthread_mutex_unlock(&mutex);
}

void room_leave(void)
{
        pthread_mutex_lock(&mutex);
        writers--;
        pthread_mutex_unlock(&mutex);
}

/* ---- reservations ---- */

static bool fits(uint64_t max, uint64_t bytes)
{
        return max == 0 || (used <= max && bytes <= max - used);
}

int room_check(uint64_t max, uint64_t bytes, struct cella_err *err)
{
        pthread_mutex_lock(&mutex);
        bool good = fits(max, bytes);
        pthread_mutex_unlock(&mutex);
        return good ? 0 : room_refuse(max, err);
}

int room_take(uint64_t max, uint64_t bytes, struct cella_err *err)
{
        pthread_mutex_lock(&mutex);
        bool good = fits(max, bytes);
        if (good)
                used += bytes;
        pthread_mutex_unlock(&mutex);
        return good ? 0 : room_refuse(max, err);
}

void room_give(uint64_t bytes)
{
        pthread_mutex_lock(&mutex);
        used -= bytes < used ? bytes : used;
        pthread_mutex_unlock(&mutex);
}
