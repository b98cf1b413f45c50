/* sys/file.h -- files and descriptors: one thin wrapper per system call.  Each returns a value or -errno.
 * All descriptors are opened close-on-exec.  Interrupted calls are restarted. */
#pragma once
#include <fcntl.h>
#include <linux/stat.h> /* struct statx is missing in musl 1.2.3 */
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/auto.h"

int sys_openat(int dir, const char *path, int flags, unsigned mode);
int sys_close(int fd);
ssize_t sys_read(int fd, void *data, size_t len);
ssize_t sys_write(int fd, const void *data, size_t len);
int sys_mkdirat(int dir, const char *path, unsigned mode);
int sys_mknodat(int dir, const char *path, unsigned mode, dev_t device);
int sys_symlinkat(const char *target, int dir, const char *path);
int sys_unlinkat(int dir, const char *path, int flags);
int sys_fchownat(int dir, const char *path, unsigned uid, unsigned gid);
int sys_chmod(const char *path, unsigned mode);
int sys_fchown(int fd, unsigned id); /* sets both user and group to id */
int sys_statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret);
int sys_fchdir(int fd);
int sys_chdir(const char *path);
int sys_dup3(int fd, int target, int flags);
int sys_dup_above(int fd, int least); /* close-on-exec */
int sys_pipe2(int fds[2], int flags);
int sys_close_range(unsigned first, unsigned last, unsigned flags);
int sys_memfd_create(const char *name, unsigned flags);
int sys_flock(int fd, int operation);
int sys_set_nonblock(int fd);

/* Writes all of data.  Returns 0 or -errno. */
int sys_write_all(int fd, const void *data, size_t len);

/* Writes the string in one write(), as files of the kernel require. */
int sys_write_file(int dir, const char *path, const char *text);

/* Reads a small file into text and adds a NUL.  Returns the length, or -EFBIG if the file does not fit. */
ssize_t sys_read_file(int dir, const char *path, char *text, size_t size);

DEFINE_AUTO(int, sys_close)
