/* The timers of the egress process's loop, with a fake clock; and its scheduling. */
#include "base/clock.h"

static int64_t now = 5000000000;
#define clock_us() now
#include "../../src/egress/loop.c"
#undef clock_us

#include "test.h"

static int fired;
static int64_t fired_at;

static void on_fire(struct timer *timer)
{
        (void)timer;
        fired++;
        fired_at = now;
}

/* Advances the fake clock to this time, as a sleeping loop would. */
static void pass(int64_t until)
{
        while (now < until) {
                int wait = next_timer();

                now = wait < 0 || now + (int64_t)wait * 1000 > until ? until : now + (int64_t)wait * 1000;
                loop.now = now;
                fire_timers();
        }
}

/* Resets the state, so that every test can run by itself. */
static void start_loop(void)
{
        static bool started;

        if (!started)
                CHECK_INT(loop_init(), 0);
        started = true;
}

TEST(timers_fire_when_they_are_due)
{
        static const int64_t after[] = {0,        1,        16384,    100000,   1000000,
                                        16700000, 16800000, 17000000, 60000000, 3600000000};
        struct timer timer;

        start_loop();
        for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
                int64_t at = now + after[i];

                fired = 0;
                timer_init(&timer, on_fire);
                timer_set(&timer, at);
                pass(now + after[i] + 2000000);
                CHECK_INT(fired, 1);
                CHECK(fired_at >= at);
                CHECK(fired_at <= at + 2 * LOOP_TICK_US);
        }
}

TEST(timers_that_are_stopped_or_moved_do_not_come)
{
        struct timer one, two;

        start_loop();
        fired = 0;
        timer_init(&one, on_fire);
        timer_init(&two, on_fire);
        timer_set(&one, now + 50000);
        timer_set(&two, now + 50000);
        timer_stop(&one);
        timer_set(&two, now + 30000000);
        pass(now + 29000000);
        CHECK_INT(fired, 0);
        pass(now + 2000000);
        CHECK_INT(fired, 1);
        CHECK_INT(next_timer(), -1);
}

static void set_again(struct timer *timer)
{
        fired++;
        timer_set(timer, now); /* due at once, but it fires in the next round */
}

TEST(a_timer_that_is_set_again_when_it_fires_does_not_hold_the_loop)
{
        struct timer timer;

        start_loop();
        fired = 0;
        timer_init(&timer, set_again);
        timer_set(&timer, now);
        pass(now + 10 * LOOP_TICK_US);
        CHECK(fired >= 4 && fired <= 11);
        timer_stop(&timer);
}

TEST(a_long_sleep_skips_no_timer)
{
        struct timer timers[40];

        start_loop();
        fired = 0;
        for (int i = 0; i < 40; i++) {
                timer_init(&timers[i], on_fire);
                timer_set(&timers[i], now + i * 1000000);
        }
        now += 100000000; /* the machine was suspended */
        loop.now = now;
        fire_timers();
        CHECK_INT(fired, 40);
}

struct job {
        struct work work;
        int *log, id, left;
};

static int jobs_log[64], n_logged;

static bool do_job(struct work *work)
{
        struct job *job = list_entry(work, struct job, work);

        jobs_log[n_logged++] = job->id;
        return --job->left > 0;
}

TEST(lanes_take_turns)
{
        struct lane busy, quiet;
        struct job jobs[10], one = {.id = 100, .left = 1};

        start_loop();
        lane_init(&busy);
        lane_init(&quiet);
        for (int i = 0; i < 10; i++) {
                jobs[i] = (struct job){.id = i, .left = i == 6 ? 3 : 1};
                work_init(&jobs[i].work, do_job);
                work_queue(&busy, &jobs[i].work);
                work_queue(&busy, &jobs[i].work); /* once only */
        }
        work_init(&one.work, do_job);
        work_queue(&quiet, &one.work);
        run_lanes();
        CHECK_INT(n_logged, 5);
        CHECK_INT(jobs_log[4], 100); /* after four turns of the other lane */
        run_lanes();
        CHECK_INT(n_logged, 8);
        CHECK_INT(jobs_log[7], 6); /* a long work item ends the turn */
        for (int i = 0; i < 10; i++)
                run_lanes();
        CHECK_INT(n_logged, 13);
        CHECK(list_empty(&loop.lanes));
}
