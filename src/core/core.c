#include "core/core.h"

#include <time.h>

const uint64_t metrics_bounds_us[METRICS_BUCKETS] = {500,     1000,    2000,     5000,     10000,
                                                     25000,   50000,   100000,   250000,   500000,
                                                     1000000, 5000000, 30000000, 120000000};

void core_hurry(struct core *core)
{
        if (uv_timer_get_repeat(&core->tick) == CORE_TICK_MS)
                return;
        uv_timer_set_repeat(&core->tick, CORE_TICK_MS);
        uv_timer_again(&core->tick);
}

int64_t core_now_ms(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Also used for file times, which the code sets and which may be before 1970. */
json_t *core_time(int64_t ms)
{
        char text[40], whole[48];
        bool before = ms % 1000 < 0; /* C rounds towards zero, calendars round down */
        time_t seconds = ms / 1000 - before;
        int part = (int)(ms % 1000) + (before ? 1000 : 0);
        struct tm tm;
        if (!gmtime_r(&seconds, &tm))
                return json_null();
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(whole, sizeof whole, "%.39s.%03dZ", text, part);
        return json_string(whole);
}
