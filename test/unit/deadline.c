#include "engine/deadline.h"

#include "test.h"

#define MS INT64_C(1000)
#define START (1000 * MS) /* the time on the fake clock at which the code starts */

enum { OWN_TIMER = DEADLINE_OWN };

/* The code has been started on the fake clock. */
static struct deadlines started(uint64_t timeout_ms, uint64_t grace_ms, uint64_t cpu_ms, uint32_t cpus_milli,
                                unsigned flags)
{
        const struct cella_limits limits = {.timeout_ms = timeout_ms,
                                            .grace_ms = grace_ms,
                                            .cpu_time_ms = cpu_ms,
                                            .cpus_milli = cpus_milli};
        struct deadlines d;
        deadline_init(&d);
        deadline_start(&d, &limits, START, flags);
        return d;
}

TEST(no_timer_is_set_before_the_start)
{
        struct deadlines d;
        deadline_init(&d);
        CHECK_INT(deadline_next(&d), DEADLINE_NEVER);
        CHECK_INT(deadline_take(&d, START), -1);
}

TEST(a_start_leaves_the_timers_of_the_caller)
{
        const struct cella_limits limits = {.timeout_ms = 100};
        struct deadlines d;
        deadline_init(&d);
        deadline_set(&d, OWN_TIMER, START + 1);
        deadline_start(&d, &limits, START, 0);
        CHECK_INT(deadline_next(&d), START + 1);
}

TEST(the_kill_follows_the_timeout_after_the_grace_time)
{
        struct deadlines d = started(100, 50, 0, 1000, 0);
        CHECK_INT(deadline_next(&d), START + 100 * MS);
        CHECK_INT(deadline_take(&d, START + 100 * MS - 1), -1);
        CHECK_INT(deadline_take(&d, START + 100 * MS), DEADLINE_TIMEOUT);
        CHECK(deadline_stop(&d, START + 100 * MS));
        CHECK_INT(deadline_next(&d), START + 150 * MS);
        CHECK_INT(deadline_take(&d, START + 150 * MS - 1), -1);
        CHECK_INT(deadline_take(&d, START + 150 * MS), DEADLINE_KILL);
        CHECK_INT(deadline_next(&d), DEADLINE_NEVER);
}

TEST(the_grace_time_is_at_most_the_timeout)
{
        struct deadlines d = started(100, 5000, 0, 1000, 0);
        CHECK(deadline_stop(&d, START));
        CHECK_INT(deadline_next(&d), START + 100 * MS);
}

TEST(without_a_grace_time_the_kill_is_due_at_once_and_no_signal_is_wanted)
{
        struct deadlines d = started(100, 0, 0, 1000, 0);
        CHECK_INT(deadline_take(&d, START + 170 * MS), DEADLINE_TIMEOUT); /* late */
        CHECK(!deadline_stop(&d, START + 170 * MS));
        CHECK_INT(deadline_take(&d, START + 170 * MS), DEADLINE_KILL);
}

TEST(the_timeout_is_not_due_after_a_stop)
{
        struct deadlines d = started(100, 1000, 0, 1000, 0);
        deadline_stop(&d, START + 10 * MS);
        CHECK_INT(deadline_next(&d), START + 110 * MS); /* the kill: the grace time is 100 ms */
        CHECK_INT(deadline_take(&d, START + 110 * MS), DEADLINE_KILL);
        CHECK_INT(deadline_take(&d, START + 110 * MS), -1);
}

TEST(an_execution_may_have_no_timeout)
{
        struct deadlines d = started(100, 50, 0, 1000, DEADLINE_NO_TIMEOUT);
        CHECK_INT(deadline_next(&d), DEADLINE_NEVER);
}

TEST(cpu_time_is_read_when_the_limit_can_be_reached)
{
        struct deadlines d =
                started(100000, 0, 1000, 2000, DEADLINE_COUNTS_CPU | DEADLINE_NO_TIMEOUT); /* two CPUs */
        CHECK_INT(deadline_next(&d), START + 250 * MS); /* half of it, on two CPUs */
        CHECK_INT(deadline_take(&d, START + 250 * MS), DEADLINE_CPU);
        CHECK(!deadline_cpu_used(&d, START + 250 * MS, 400 * MS));
        CHECK_INT(deadline_next(&d), START + 550 * MS);
        CHECK(!deadline_cpu_used(&d, START + 550 * MS, 999 * MS));
        CHECK_INT(deadline_next(&d), START + 555 * MS); /* never more often than every 5 ms */
        CHECK(deadline_cpu_used(&d, START + 555 * MS, 1000 * MS));
}

TEST(less_than_one_cpu_is_counted_as_one)
{
        struct deadlines d = started(100000, 0, 1000, 100, 0);
        CHECK(!deadline_cpu_used(&d, START, 0));
        CHECK_INT(deadline_next(&d), START + 1000 * MS);
}

TEST(cpu_time_is_not_read_without_a_limit_or_a_counter)
{
        struct deadlines d = started(100, 0, 0, 1000, DEADLINE_COUNTS_CPU | DEADLINE_NO_TIMEOUT);
        CHECK_INT(deadline_next(&d), DEADLINE_NEVER);
        d = started(100, 0, 1000, 1000, DEADLINE_NO_TIMEOUT);
        CHECK_INT(deadline_next(&d), DEADLINE_NEVER);
}

TEST(cpu_time_and_throttle_go_on_during_the_grace_time)
{
        struct deadlines d = started(10, 1000, 30, 1000, DEADLINE_COUNTS_CPU | DEADLINE_THROTTLES);
        CHECK_INT(deadline_take(&d, START + 10 * MS), DEADLINE_TIMEOUT);
        CHECK(deadline_stop(&d, START + 10 * MS));
        CHECK_INT(deadline_take(&d, START + 15 * MS), DEADLINE_CPU);
        CHECK_INT(deadline_take(&d, START + 20 * MS), DEADLINE_KILL); /* the grace time is 10 ms */
        CHECK_INT(deadline_take(&d, START + 20 * MS), DEADLINE_THROTTLE);
}

TEST(several_due_timers_are_taken_one_by_one)
{
        struct deadlines d = started(5, 5, 0, 1000, DEADLINE_THROTTLES);
        deadline_set(&d, OWN_TIMER, START + 1 * MS);
        CHECK_INT(deadline_next(&d), START + 1 * MS);
        CHECK_INT(deadline_take(&d, START + 20 * MS), DEADLINE_TIMEOUT);
        CHECK_INT(deadline_take(&d, START + 20 * MS), DEADLINE_THROTTLE);
        CHECK_INT(deadline_take(&d, START + 20 * MS), OWN_TIMER);
        CHECK_INT(deadline_take(&d, START + 20 * MS), -1);
}

TEST(clearing_some_timers_leaves_the_others)
{
        struct deadlines d = started(100, 50, 0, 1000, DEADLINE_THROTTLES);
        deadline_set(&d, OWN_TIMER, START + 500 * MS);
        deadline_clear(&d, 0, DEADLINE_OWN);
        CHECK_INT(deadline_next(&d), START + 500 * MS);
}

TEST(a_pause_stops_all_timers_and_they_go_on_with_the_time_they_had_left)
{
        struct deadlines d = started(100, 50, 0, 1000, 0);
        deadline_set(&d, OWN_TIMER, START + 300 * MS);
        deadline_pause(&d, true, START + 40 * MS);
        deadline_pause(&d, true, START + 60 * MS); /* has no effect */
        CHECK_INT(deadline_next(&d), DEADLINE_NEVER);
        CHECK_INT(deadline_take(&d, START + 5000 * MS), -1);
        deadline_pause(&d, false, START + 5040 * MS);
        deadline_pause(&d, false, START + 6000 * MS); /* has no effect */
        CHECK_INT(deadline_next(&d), START + 5100 * MS);
        CHECK_INT(deadline_take(&d, START + 5100 * MS), DEADLINE_TIMEOUT);
        CHECK_INT(deadline_next(&d), START + 5300 * MS);
}
