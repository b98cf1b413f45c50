#include "init/files/path.h"

#include <errno.h>
#include <string.h>

#include "sys/file.h"
#include "sys/raw.h"

#define LINKS_MAX 40 /* the same limit as in the kernel */
#define NAME_BYTES 256

int path_make(const char *path, int with_last)
{
        char prefix[INIT_PATH_MAX];
        size_t len = strlen(path);
        int r = 0;
        if (len >= sizeof prefix)
                return -ENAMETOOLONG;
        memcpy(prefix, path, len + 1);
        for (size_t i = 1; i < len && r == 0; i++) {
                if (prefix[i] != '/' || prefix[i - 1] == '/')
                        continue;
                prefix[i] = '\0';
                r = sys_mkdirat(AT_FDCWD, prefix, 0755);
                prefix[i] = '/';
                if (r == -EEXIST)
                        r = 0;
        }
        if (r == 0 && with_last)
                r = sys_mkdirat(AT_FDCWD, path, 0755);
        return r == -EEXIST ? 0 : r;
}

/* Opens the parent directory of path and copies the last component to name. */
static int path_open_parent(int at, const char *path, char *name)
{
        char parent[INIT_PATH_MAX];
        const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
        if (!*last || !strcmp(last, ".") || !strcmp(last, ".."))
                return -EISDIR;
        if (strlen(last) >= NAME_BYTES)
                return -ENAMETOOLONG;
        size_t len = (size_t)(last - path);
        memcpy(parent, path, len);
        parent[len] = '\0';
        strcpy(name, last); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy): see above */
        return sys_openat(at, len > 0 ? parent : ".", O_PATH | O_DIRECTORY, 0);
}

int path_leaf(const char *path, char *name)
{
        char target[INIT_PATH_MAX];
        AUTO(sys_close) int dir = AT_FDCWD;
        for (int i = 0; i < LINKS_MAX; i++) {
                int next = path_open_parent(dir, path, name);
                sys_close(dir);
                dir = next;
                if (dir < 0)
                        return dir;
                long n = sys_call4(SYS_readlinkat, dir, name, target, sizeof target - 1);
                if (n < 0)
                        return TAKE_FD(dir);
                target[n] = '\0';
                path = target;
        }
        return -ELOOP;
}

/* The code may set any time of a file: a time out of range becomes the nearest valid one. */
static int64_t path_nanoseconds(const struct statx_timestamp *t)
{
        const int64_t most = INT64_MAX / 1000000000 - 1;
        int64_t s = t->tv_sec > most ? most : t->tv_sec < -most ? -most : t->tv_sec;
        return s * 1000000000 + t->tv_nsec;
}

void path_stat(const struct statx *st, struct init_stat *ret)
{
        *ret = (struct init_stat){
                .bytes = st->stx_size,
                .inode = st->stx_ino,
                .modified_ns = path_nanoseconds(&st->stx_mtime),
                .mode = st->stx_mode,
        };
}
