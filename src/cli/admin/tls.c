#include "cli/admin/tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/file.h"

#define FILE_MAX (128 << 10)

/* Appends a file to text. */
static int serve_tls_add(const char *option, const char *path, char *text, size_t *len, int *ret_fd,
                         struct cella_err *err)
{
        int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
        if (fd < 0)
                return err_set(err, CELLA_INVALID_REQUEST, fd, "%s %.150s", option, path);
        *ret_fd = fd;
        for (size_t got = 0;;) {
                ssize_t n = sys_read(fd, text + *len, FILE_MAX - got);
                if (n < 0)
                        return err_set(err, CELLA_INVALID_REQUEST, (int)n, "%s %.150s", option, path);
                if (n == 0)
                        break;
                got += (size_t)n;
                *len += (size_t)n;
                if (got == FILE_MAX)
                        return err_say(err, CELLA_TOO_LARGE, -EFBIG, "%s %.150s has more than %d bytes",
                                       option, path, FILE_MAX - 1);
        }
        text[(*len)++] = '\n'; /* between two PEM objects */
        return 0;
}

static int check_key(const struct serve_tls *tls, int fd, struct cella_err *err)
{
        struct stat st;
        if (fstat(fd, &st) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "--tls-key %.150s", tls->key);
        const bool of_server =
                st.st_uid == tls->server_uid || ((st.st_mode & 0070) && st.st_gid == tls->server_gid);
        if ((st.st_mode & 0007) || (tls->server_uid != geteuid() && of_server)) {
                err_say(err, CELLA_INVALID_REQUEST, -EPERM,
                        "--tls-key %.120s: mode %04o, uid %u, gid %u: others, or the server, may read the "
                        "key",
                        tls->key, (unsigned)st.st_mode & 07777, (unsigned)st.st_uid, (unsigned)st.st_gid);
                return err_hint(err, "chown root and chmod 600 on it; if others have read it, use a new key");
        }
        return 0;
}

int serve_tls_read(struct serve_tls *tls, struct cella_err *err)
{
        static char text[2 * FILE_MAX + 2];
        AUTO(sys_close) int cert = -1;
        AUTO(sys_close) int key = -1;
        size_t len = 0;
        int r = serve_tls_add("--tls-cert", tls->cert, text, &len, &cert, err);
        if (r == 0)
                r = serve_tls_add("--tls-key", tls->key, text, &len, &key, err);
        if (r == 0)
                r = check_key(tls, key, err);
        if (r == 0 && (ftruncate(tls->memory, 0) < 0 || pwrite(tls->memory, text, len, 0) != (ssize_t)len))
                r = err_set(err, CELLA_INTERNAL, -errno, "cannot copy the TLS key");
        explicit_bzero(text, sizeof text);
        return r;
}

int serve_tls_open(struct serve_tls *tls, struct cella_err *err)
{
        char path[40];
        if (!tls->cert && !tls->key)
                return 0;
        if (!tls->cert || !tls->key)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--tls-cert and --tls-key belong together");
        tls->memory = sys_memfd_create("cella-tls", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", tls->memory);
        /* The server must not be able to open it for writing by that path. */
        if (tls->memory < 0 || fchmod(tls->memory, 0400) < 0 ||
            (tls->for_server = sys_openat(AT_FDCWD, path, O_RDONLY, 0)) < 0)
                return err_set(err, CELLA_INTERNAL, tls->memory < 0 ? tls->memory : -errno,
                               "cannot make a file in memory");
        return serve_tls_read(tls, err);
}

void serve_tls_done(struct serve_tls *tls)
{
        sys_close(tls->memory);
        sys_close(tls->for_server);
        tls->memory = tls->for_server = -1;
}
