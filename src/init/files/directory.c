#include "init/files/directory.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "sys/raw.h"

static bool is_dots(const char *name)
{
        return !strcmp(name, ".") || !strcmp(name, "..");
}

int directory_next(struct directory *d, const struct directory_entry **ret)
{
        for (;;) {
                if (d->at >= d->filled) {
                        d->at = d->filled = 0;
                        long n = sys_call3(SYS_getdents64, d->fd, d->buffer, sizeof d->buffer);
                        if (n <= 0)
                                return (int)n;
                        d->filled = n;
                }
                const struct directory_entry *e = (const void *)(d->buffer + d->at);
                d->at += e->len;
                if (is_dots(e->name))
                        continue;
                *ret = e;
                return 1;
        }
}

int directory_seek(struct directory *d, int fd, int64_t offset)
{
        d->fd = fd;
        d->at = d->filled = 0;
        long r = sys_call3(SYS_lseek, fd, offset, SEEK_SET);
        return r < 0 ? (int)r : 0;
}
