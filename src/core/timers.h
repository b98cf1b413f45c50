/* core/timers.h -- the deadlines of an execution or a context (engine/deadline.h) on one timer of the event
 * loop. */
#pragma once
#include <uv.h>

#include "engine/deadline.h"

struct timers {
        struct deadlines deadlines;
        uv_timer_t timer; /* timer.data is for the owner */
        void (*on_due)(struct timers *timers, int timer);
};

/* Unsets all timers.  on_due is called once for each timer that is due, with its number: an enum
 * deadline_timer or one of the owner's.  It may set timers and call timers_close(). */
void timers_init(struct timers *t, uv_loop_t *loop, void (*on_due)(struct timers *timers, int timer));
/* Stops all timers.  on_closed is called when the memory may be freed.  A second call has no effect. */
void timers_close(struct timers *t, uv_close_cb on_closed);

void timers_set(struct timers *t, int timer, int64_t at);
void timers_set_in(struct timers *t, int timer, int64_t in_us);
void timers_clear(struct timers *t);
void timers_pause(struct timers *t, bool pause);
/* Call after t->deadlines was changed by functions of engine/deadline.h. */
void timers_update(struct timers *t);
