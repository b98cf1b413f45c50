#include "keeper/spawn/slots.h"

#include <fcntl.h>
#include <stddef.h>

#include "sys/file.h"
#include "wire/init.h"

void slots_init(struct slots *s, int holder)
{
        *s = (struct slots){.holder = holder};
        for (int i = 0; i < SLOTS; i++)
                s->number[i] = sys_dup_above(holder, INIT_FREE_FD);
}

int slots_put(struct slots *s, int fd, const bool *copied)
{
        for (int i = 0; i < SLOTS && s->used < SLOTS; i++)
                if (s->number[i] >= 0 && !s->copied[i] && sys_dup3(fd, s->number[i], O_CLOEXEC) >= 0) {
                        s->copied[i] = copied;
                        s->used++;
                        return s->number[i];
                }
        return -1;
}

static void slots_clear(struct slots *s, int i)
{
        sys_dup3(s->holder, s->number[i], O_CLOEXEC);
        s->copied[i] = NULL;
        s->used--;
}

void slots_remove(struct slots *s, const bool *copied)
{
        for (int i = 0; i < SLOTS; i++)
                if (s->copied[i] == copied)
                        slots_clear(s, i);
}

bool slots_tidy(struct slots *s)
{
        for (int i = 0; i < SLOTS && s->used > 0; i++)
                if (s->copied[i] && __atomic_load_n(s->copied[i], __ATOMIC_ACQUIRE))
                        slots_clear(s, i);
        return s->used > 0;
}
