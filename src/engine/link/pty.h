/* engine/link/pty.h -- reads and writes the pty master that a sandbox's init has sent.
 *
 * Init may be hostile.  The descriptor may be anything, and init has a copy of it: it can clear O_NONBLOCK
 * and read the bytes that poll() announced, so that a read or write by the server would block.  RWF_NOWAIT
 * does not work on terminals, and opening /proc/self/fd/N makes another terminal.  Therefore each call
 * refuses a descriptor that is not O_NONBLOCK, and a timer interrupts a call that still blocks.
 *
 * Only one thread may use this: the one that called pty_check() first. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* Sets O_NONBLOCK.  Returns 0, -ENOTTY if fd is not a pty master that can be read and written, or -errno. */
int pty_check(int fd);

/* Like read() and write(), but return -errno.  -EAGAIN, -EINTR: try later.  -EDEADLK: init made the call
 * block.  Other errors: the descriptor is unusable. */
ssize_t pty_read(int fd, void *data, size_t size);
ssize_t pty_write(int fd, const void *data, size_t len);
