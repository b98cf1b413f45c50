#include "image/store/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "image/imager.h"
#include "sys/file.h"

#define LOCK_PAUSE_US 20000

int store_lock(int store, const char *file, int how, const struct imager_job *job, struct cella_err *err)
{
        AUTO(sys_close) int fd = sys_openat(store, file, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
        int r = fd;
        while (r >= 0 && (r = sys_flock(fd, how | LOCK_NB)) == -EWOULDBLOCK && !(how & LOCK_NB)) {
                if (job && (r = job_cancelled(job, err)) < 0)
                        return r;
                usleep(LOCK_PAUSE_US);
                r = 0;
        }
        if (r == -EWOULDBLOCK)
                return err_say(err, CELLA_OVER_CAPACITY, r, "the store of images is in use");
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot lock the store of images") : TAKE_FD(fd);
}

int store_prepare(int store, struct cella_err *err)
{
        static const char *const directories[] = {"refs", "meta", "layers", "roots", "blobs", "tmp"};
        for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
                int r = sys_mkdirat(store, directories[i], 0700);
                if (r < 0 && r != -EEXIST)
                        return err_set(err, CELLA_INTERNAL, r, "cannot write to the store of images");
        }
        return 0;
}
