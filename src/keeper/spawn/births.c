#include "keeper/spawn/births.h"

#include <fcntl.h>
#include <stddef.h>

#include "sys/file.h"
#include "wire/init.h"

void births_init(struct births *b, int filler)
{
        *b = (struct births){.filler = filler};
        for (; b->n < BIRTHS_MAX; b->n++) {
                b->places[b->n].fd = sys_dup_above(filler, INIT_FREE_FD);
                if (b->places[b->n].fd < 0)
                        return;
        }
}

void births_done(struct births *b)
{
        while (b->n > 0)
                sys_close(b->places[--b->n].fd);
}

/* The number stays taken, so that nothing that lives longer can have it. */
static void leave(struct births *b, unsigned i)
{
        b->places[i].left = NULL;
        sys_dup3(b->filler, b->places[i].fd, O_CLOEXEC);
}

bool births_tidy(struct births *b)
{
        bool waiting = false;
        for (unsigned i = 0; i < b->n; i++) {
                if (b->places[i].left && __atomic_load_n(b->places[i].left, __ATOMIC_ACQUIRE))
                        leave(b, i);
                waiting |= b->places[i].left != NULL;
        }
        return waiting;
}

int births_take(struct births *b, int fd, const bool *left)
{
        int free = -1;
        births_tidy(b);
        for (unsigned i = 0; i < b->n; i++)
                if (!b->places[i].left)
                        free = (int)i;
        if (free < 0 || sys_dup3(fd, b->places[free].fd, O_CLOEXEC) < 0)
                return -1;
        sys_close(fd);
        b->places[free].left = left;
        return b->places[free].fd;
}

int births_last(const struct births *b)
{
        int last = b->filler;
        for (unsigned i = 0; i < b->n; i++)
                last = b->places[i].fd > last ? b->places[i].fd : last;
        return last;
}

void births_end(struct births *b, const bool *left)
{
        for (unsigned i = 0; i < b->n; i++)
                if (b->places[i].left == left)
                        leave(b, i);
}
