#include "core/timers.h"

#include "base/clock.h"

static void on_timer(uv_timer_t *timer)
{
        struct timers *t = (struct timers *)((char *)timer - offsetof(struct timers, timer));
        const int64_t now = clock_us();
        for (int due; !uv_is_closing((uv_handle_t *)timer) && (due = deadline_take(&t->deadlines, now)) >= 0;)
                t->on_due(t, due);
        timers_update(t);
}

void timers_init(struct timers *t, uv_loop_t *loop, void (*on_due)(struct timers *, int))
{
        uv_timer_init(loop, &t->timer);
        t->on_due = on_due;
        deadline_init(&t->deadlines);
}

void timers_close(struct timers *t, uv_close_cb on_closed)
{
        if (uv_is_closing((uv_handle_t *)&t->timer))
                return;
        timers_clear(t);
        uv_close((uv_handle_t *)&t->timer, on_closed);
}

void timers_update(struct timers *t)
{
        const int64_t next = deadline_next(&t->deadlines), now = clock_us();
        if (uv_is_closing((uv_handle_t *)&t->timer))
                return;
        if (next == DEADLINE_NEVER) {
                uv_timer_stop(&t->timer);
                return;
        }
        uv_update_time(t->timer.loop); /* libuv's time is that of the last loop iteration */
        uv_timer_start(&t->timer, on_timer, next <= now ? 0 : (uint64_t)(next - now + 999) / 1000, 0);
}

void timers_set(struct timers *t, int timer, int64_t at)
{
        deadline_set(&t->deadlines, timer, at);
        timers_update(t);
}

void timers_set_in(struct timers *t, int timer, int64_t in_us)
{
        timers_set(t, timer, clock_us() + in_us);
}

void timers_clear(struct timers *t)
{
        deadline_clear(&t->deadlines, 0, DEADLINE_TIMERS_MAX);
        timers_update(t);
}

void timers_pause(struct timers *t, bool pause)
{
        deadline_pause(&t->deadlines, pause, clock_us());
        timers_update(t);
}
