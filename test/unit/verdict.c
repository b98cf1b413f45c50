#include "engine/verdict.h"

#include <signal.h>

#include "test.h"

#define EXIT(n) ((n) << 8)

static struct verdict_facts facts(int wait_status)
{
        return (struct verdict_facts){
                .reported = true,
                .exited = {.wait_status = wait_status, .disk_bytes_free = 1 << 20, .disk_inodes_free = 100},
                .counted = true,
        };
}

static struct cella_result judge(struct verdict_facts f)
{
        struct cella_result r = {0};
        verdict(&f, &r);
        return r;
}

TEST(an_exit_is_an_exit)
{
        struct cella_result r = judge(facts(EXIT(3)));
        CHECK_INT(r.status, CELLA_EXITED);
        CHECK_INT(r.exit_code, 3);
        CHECK_INT(r.signal, 0);
}

TEST(a_signal_gives_128_and_its_number)
{
        struct cella_result r = judge(facts(SIGSEGV));
        CHECK_INT(r.status, CELLA_SIGNALED);
        CHECK_INT(r.exit_code, 128 + SIGSEGV);
        CHECK_INT(r.signal, SIGSEGV);
}

TEST(a_kill_is_for_memory_only_if_the_kernel_counted_one)
{
        struct verdict_facts f = facts(SIGKILL);
        CHECK_INT(judge(f).status, CELLA_SIGNALED);
        f.usage.oom_kills = 1;
        CHECK_INT(judge(f).status, CELLA_MEMORY_LIMIT);
}

TEST(a_limit_that_the_code_survived_is_not_its_end)
{
        struct verdict_facts f = facts(EXIT(0));
        f.usage.oom_kills = 1;
        f.usage.forks_refused = 5;
        f.exited.disk_bytes_free = 0;
        CHECK_INT(judge(f).status, CELLA_EXITED);
}

TEST(limits_are_told_apart)
{
        struct verdict_facts f = facts(EXIT(1));
        f.usage.forks_refused = 1;
        CHECK_INT(judge(f).status, CELLA_PROCESS_LIMIT);
        f = facts(EXIT(1));
        f.exited.disk_inodes_free = 0;
        CHECK_INT(judge(f).status, CELLA_DISK_LIMIT);
        CHECK_INT(judge(facts(SIGXFSZ)).status, CELLA_DISK_LIMIT);
}

TEST(what_we_did_ourselves_comes_first)
{
        struct verdict_facts f = facts(SIGKILL);
        f.usage.oom_kills = 1;
        f.ending = END_TIMEOUT;
        CHECK_INT(judge(f).status, CELLA_TIMEOUT);
        f.ending = END_CPU;
        CHECK_INT(judge(f).status, CELLA_CPU_LIMIT);
        f.ending = END_OUTPUT;
        CHECK_INT(judge(f).status, CELLA_OUTPUT_LIMIT);
        f.ending = END_CANCELLED;
        CHECK_INT(judge(f).status, CELLA_CANCELLED);
}

TEST(an_init_that_died_without_a_word_counts_as_killed)
{
        struct verdict_facts f = {.counted = true};
        f.usage.oom_kills = 2;
        struct cella_result r = judge(f);
        CHECK_INT(r.status, CELLA_MEMORY_LIMIT);
        CHECK_INT(r.exit_code, 137);
}
