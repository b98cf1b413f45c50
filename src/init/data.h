/* init/data.h -- the one stream of a helper process to or from the owner.
 *
 * Output is buffered in static memory, because a helper is a process of its own. All functions block, even
 * if the owner's end does not. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DATA_FD 3 /* in place of the control socket */
#define DATA_CHUNK 65536u

int data_put(const void *data, size_t len);
int data_flush(void);

/* Sends the content of fd, at most max bytes. Returns the number of bytes, or -errno. */
int64_t data_put_file(int fd, uint64_t max);

/* Reads some bytes. Returns their number, 0 at the end, or -errno. */
ssize_t data_get(void *data, size_t size);
