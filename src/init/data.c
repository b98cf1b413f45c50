#include "init/data.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "sys/file.h"
#include "sys/process.h"

static BULKY char buffer[DATA_CHUNK];
static size_t used;

/* The peer may have made the descriptor non-blocking for its own use: wait. */
static bool data_again(ssize_t n, short events)
{
        struct pollfd fd = {DATA_FD, events, 0};
        return n == -EAGAIN && sys_poll(&fd, 1, -1) >= 0;
}

int data_flush(void)
{
        size_t done = 0;
        while (done < used) {
                ssize_t n = sys_write(DATA_FD, buffer + done, used - done);
                if (data_again(n, POLLOUT))
                        continue;
                if (n < 0)
                        return (int)n;
                done += (size_t)n;
        }
        used = 0;
        return 0;
}

int data_put(const void *data, size_t len)
{
        const char *p = data;
        while (len > 0) {
                size_t room = sizeof buffer - used, n = len < room ? len : room;
                memcpy(buffer + used, p, n);
                used += n;
                p += n;
                len -= n;
                int r = used == sizeof buffer ? data_flush() : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

int64_t data_put_file(int fd, uint64_t max)
{
        uint64_t sent = 0;
        while (sent < max) {
                size_t room = sizeof buffer - used;
                ssize_t n = sys_read(fd, buffer + used, max - sent < room ? (size_t)(max - sent) : room);
                if (n <= 0)
                        return n < 0 ? n : (int64_t)sent;
                used += (size_t)n;
                sent += (size_t)n;
                int r = used == sizeof buffer ? data_flush() : 0;
                if (r < 0)
                        return r;
        }
        return (int64_t)sent;
}

ssize_t data_get(void *data, size_t size)
{
        ssize_t n;
        do {
                n = sys_read(DATA_FD, data, size);
        } while (data_again(n, POLLIN));
        return n;
}
