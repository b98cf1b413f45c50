/* init/data.h -- a helper's one stream to or from the owner.
 *
 * What goes out is buffered, in static memory: a helper is a process of its own.  All wait where the
 * owner's end does not block. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DATA_FD 3 /* in place of the control socket */
#define DATA_CHUNK 65536u

int data_put(const void *data, size_t len);
int data_flush(void);

/* Sends what fd has, at most max bytes.  Returns how many, or -errno. */
int64_t data_put_file(int fd, uint64_t max);

/* Some bytes; 0 at the end. */
ssize_t data_get(void *data, size_t size);
