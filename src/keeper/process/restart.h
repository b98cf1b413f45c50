/* keeper/process/restart.h -- when a helper process that died is started again.
 *
 * The first restart is immediate; a process that keeps dying is restarted once a second at most. */
#pragma once
#include <stdint.h>

struct restart {
        int64_t begun;    /* when the process was started */
        int64_t start_at; /* time of the next start; 0: it runs */
        int64_t delay;    /* delay of the start after the next death */
};

void restart_init(struct restart *r);
void restart_begun(struct restart *r, int64_t now);
/* Call when the process has died, or could not be started. */
void restart_later(struct restart *r, int64_t now);
