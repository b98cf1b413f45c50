#include "keeper/spawn/image_root.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/file.h"

#define ID_LENGTH 64

static int image_root_gone(const char *id, int num, struct cella_err *err)
{
        err_say(err, CELLA_NOT_FOUND, num, "image not found: %.12s", id);
        return err_hint(err, "it was removed: cella image ls shows what there is");
}

static bool is_id(const char *id)
{
        return strlen(id) == ID_LENGTH && strspn(id, "0123456789abcdef") == ID_LENGTH;
}

/* Takes a shared lock.  -ENOENT: the directory was removed in the meantime. */
static int take_lock(int fd)
{
        struct stat st;
        int r = sys_flock(fd, LOCK_SH | LOCK_NB);
        if (r < 0)
                return r == -EWOULDBLOCK ? -ENOENT : r;
        return fstat(fd, &st) < 0 ? -errno : st.st_nlink == 0 ? -ENOENT : 0;
}

int image_root_open(const char *store, const char *id, int64_t owner, char path[IMAGE_ROOT_PATH],
                    struct cella_err *err)
{
        const int flags = O_DIRECTORY | O_NOFOLLOW;
        struct stat all, st;
        if (!is_id(id))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "the id of an image has 64 digits");
        if (snprintf(path, IMAGE_ROOT_PATH, "%s/roots/%s", store, id) >= IMAGE_ROOT_PATH)
                return err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG, "the store's name is too long");
        AUTO(sys_close) int images = sys_openat(AT_FDCWD, store, O_PATH | flags, 0);
        if (images < 0)
                return image_root_gone(id, images, err);
        AUTO(sys_close) int roots = sys_openat(images, "roots", O_PATH | flags, 0);
        AUTO(sys_close) int fd = roots < 0 ? roots : sys_openat(roots, id, O_RDONLY | flags, 0);
        if (fd < 0)
                return image_root_gone(id, fd, err);
        if (fstat(images, &all) < 0 || fstat(fd, &st) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "image %.12s", id);
        if (st.st_uid != all.st_uid || st.st_dev != all.st_dev || (owner >= 0 && st.st_uid != owner))
                return err_say(err, CELLA_ACCESS_DENIED, -EPERM, "image %.12s belongs to another user", id);
        int r = take_lock(fd);
        return r < 0 ? image_root_gone(id, r, err) : TAKE_FD(fd);
}
