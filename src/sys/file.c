#include "sys/file.h"

#include <errno.h>
#include <string.h>

#include "sys/raw.h"

int sys_openat(int dir, const char *path, int flags, unsigned mode)
{
        long r;
        do {
                r = sys_call4(SYS_openat, dir, path, flags | O_CLOEXEC, mode);
        } while (r == -EINTR);
        return (int)r;
}

int sys_close(int fd)
{
        return fd < 0 ? 0 : (int)sys_call1(SYS_close, fd);
}

ssize_t sys_read(int fd, void *data, size_t len)
{
        long r;
        do {
                r = sys_call3(SYS_read, fd, data, len);
        } while (r == -EINTR);
        return r;
}

ssize_t sys_write(int fd, const void *data, size_t len)
{
        long r;
        do {
                r = sys_call3(SYS_write, fd, data, len);
        } while (r == -EINTR);
        return r;
}

int sys_mkdirat(int dir, const char *path, unsigned mode)
{
        return (int)sys_call3(SYS_mkdirat, dir, path, mode);
}

int sys_mknodat(int dir, const char *path, unsigned mode, dev_t device)
{
        return (int)sys_call4(SYS_mknodat, dir, path, mode, device);
}

int sys_symlinkat(const char *target, int dir, const char *path)
{
        return (int)sys_call3(SYS_symlinkat, target, dir, path);
}

int sys_unlinkat(int dir, const char *path, int flags)
{
        return (int)sys_call3(SYS_unlinkat, dir, path, flags);
}

int sys_fchownat(int dir, const char *path, unsigned uid, unsigned gid)
{
        return (int)sys_call5(SYS_fchownat, dir, path, uid, gid, AT_SYMLINK_NOFOLLOW);
}

int sys_chmod(const char *path, unsigned mode)
{
        return (int)sys_call3(SYS_fchmodat, AT_FDCWD, path, mode);
}

int sys_fchown(int fd, unsigned id)
{
        return (int)sys_call3(SYS_fchown, fd, id, id);
}

int sys_statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret)
{
        return (int)sys_call5(SYS_statx, dir, path, flags, mask, ret);
}

int sys_fchdir(int fd)
{
        return (int)sys_call1(SYS_fchdir, fd);
}

int sys_chdir(const char *path)
{
        return (int)sys_call1(SYS_chdir, path);
}

int sys_dup3(int fd, int target, int flags)
{
        return (int)sys_call3(SYS_dup3, fd, target, flags);
}

int sys_dup_above(int fd, int least)
{
        return (int)sys_call3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
}

int sys_pipe2(int fds[2], int flags)
{
        return (int)sys_call2(SYS_pipe2, fds, flags | O_CLOEXEC);
}

int sys_close_range(unsigned first, unsigned last, unsigned flags)
{
        /* INT32_MAX is the highest possible descriptor.  gVisor takes larger values as negative. */
        return (int)sys_call3(SYS_close_range, first, last < INT32_MAX ? last : INT32_MAX, flags);
}

int sys_memfd_create(const char *name, unsigned flags)
{
        return (int)sys_call2(SYS_memfd_create, name, flags);
}

int sys_flock(int fd, int operation)
{
        long r;
        do {
                r = sys_call2(SYS_flock, fd, operation);
        } while (r == -EINTR);
        return (int)r;
}

int sys_set_nonblock(int fd)
{
        long flags = sys_call2(SYS_fcntl, fd, F_GETFL);
        if (flags < 0)
                return (int)flags;
        return (int)sys_call3(SYS_fcntl, fd, F_SETFL, flags | O_NONBLOCK);
}

int sys_write_all(int fd, const void *data, size_t len)
{
        const char *p = data;
        while (len > 0) {
                ssize_t n = sys_write(fd, p, len);
                if (n < 0)
                        return (int)n;
                p += n;
                len -= (size_t)n;
        }
        return 0;
}

int sys_write_file(int dir, const char *path, const char *text)
{
        AUTO(sys_close) int fd = sys_openat(dir, path, O_WRONLY, 0);
        if (fd < 0)
                return fd;
        ssize_t n = sys_write(fd, text, strlen(text));
        return n < 0 ? (int)n : 0;
}

ssize_t sys_read_file(int dir, const char *path, char *text, size_t size)
{
        AUTO(sys_close) int fd = sys_openat(dir, path, O_RDONLY, 0);
        if (fd < 0)
                return fd;
        size_t used = 0;
        while (used < size) {
                ssize_t n = sys_read(fd, text + used, size - used);
                if (n < 0)
                        return n;
                used += (size_t)n;
                /* Files of the kernel return their whole contents, up to a page, in one read. */
                if (n == 0 || (used < size && n < 4096)) {
                        text[used] = '\0';
                        return (ssize_t)used;
                }
        }
        return -EFBIG;
}
