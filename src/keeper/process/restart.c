#include "keeper/process/restart.h"

#define FIRST_DELAY_US 1000
#define DELAY_MAX_US 1000000
#define GOOD_LIFE_US 10000000 /* after this lifetime, the next restart is immediate again */

void restart_init(struct restart *r)
{
        *r = (struct restart){.delay = FIRST_DELAY_US};
}

void restart_begun(struct restart *r, int64_t now)
{
        r->begun = now;
        r->start_at = 0;
}

void restart_later(struct restart *r, int64_t now)
{
        if (r->begun > 0 && now - r->begun >= GOOD_LIFE_US)
                r->delay = FIRST_DELAY_US;
        r->begun = 0;
        r->start_at = now + r->delay;
        r->delay = r->delay * 4 < DELAY_MAX_US ? r->delay * 4 : DELAY_MAX_US;
}
