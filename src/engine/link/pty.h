/* engine/link/pty.h -- the master of a pseudo-terminal that a sandbox's init has sent.
 *
 * Init may be hostile.  The descriptor may be anything, and init keeps one of the same open file: it can
 * clear O_NONBLOCK and take the bytes that poll() announced, so that a read or write by the server would
 * block. RWF_NOWAIT does not work on terminals, and opening /proc/self/fd/N makes another terminal.  So each
 * call refuses a descriptor that is not O_NONBLOCK any more, and a timer interrupts a call that blocks
 * nevertheless.
 *
 * One thread, the one that called pty_check() first. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* Makes fd O_NONBLOCK.  0, -ENOTTY if fd is not a pty master that can be read and written, or -errno. */
int pty_check(int fd);

/* As read() and write(), with -errno.  -EAGAIN, -EINTR: later.  -EDEADLK: init made it block.  Anything
 * else: it is of no more use. */
ssize_t pty_read(int fd, void *data, size_t size);
ssize_t pty_write(int fd, const void *data, size_t len);
