#include "front/tools/tick.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define POLL_MS 2
#define POLLS_MAX 50 /* the clock may have been set back */

struct tick {
        uv_timer_t timer;
        struct timespec written;
        unsigned polls;
        void (*done)(void *context);
        void *context;
};

static void tick_on_closed(uv_handle_t *handle)
{
        free(handle->data);
}

static bool is_over(const struct tick *t)
{
        struct timespec now;
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
        return now.tv_sec > t->written.tv_sec ||
               (now.tv_sec == t->written.tv_sec && now.tv_nsec > t->written.tv_nsec);
}

static void on_time(uv_timer_t *timer)
{
        struct tick *t = timer->data;
        if (!is_over(t) && ++t->polls < POLLS_MAX)
                return;
        void (*done)(void *context) = t->done;
        void *context = t->context;
        tick_cancel(t);
        done(context);
}

int tick_wait(uv_loop_t *loop, void (*done)(void *context), void *context, struct tick **ret,
              struct cella_err *err)
{
        struct tick *t = calloc(1, sizeof *t);
        if (!t)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "timer");
        clock_gettime(CLOCK_REALTIME, &t->written);
        t->done = done;
        t->context = context;
        uv_timer_init(loop, &t->timer);
        t->timer.data = t;
        uv_timer_start(&t->timer, on_time, POLL_MS, POLL_MS);
        *ret = t;
        return 0;
}

void tick_cancel(struct tick *t)
{
        if (t)
                uv_close((uv_handle_t *)&t->timer, tick_on_closed);
}
