#include "engine/verdict.h"
#include "engine/hint.h"
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

TEST(limits_are_distinguished)
{
        struct verdict_facts f = facts(EXIT(1));
        f.usage.forks_refused = 1;
        CHECK_INT(judge(f).status, CELLA_PROCESS_LIMIT);
        f = facts(EXIT(1));
        f.exited.disk_inodes_free = 0;
        CHECK_INT(judge(f).status, CELLA_DISK_LIMIT);
        CHECK_INT(judge(facts(SIGXFSZ)).status, CELLA_DISK_LIMIT);
}

TEST(the_limit_that_ended_the_run_has_priority_over_other_causes)
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

TEST(an_init_that_died_silently_counts_as_killed)
{
        struct verdict_facts f = {.counted = true};
        f.usage.oom_kills = 2;
        struct cella_result r = judge(f);
        CHECK_INT(r.status, CELLA_MEMORY_LIMIT);
        CHECK_INT(r.exit_code, 137);
}

TEST(the_first_reason_to_end_an_execution_counts)
{
        struct verdict_facts f = facts(SIGKILL);
        verdict_end(&f, END_CANCELLED);
        verdict_end(&f, END_TIMEOUT);
        CHECK_INT(judge(f).status, CELLA_CANCELLED);
}

TEST(output_past_the_limit_ends_an_execution_only_on_request)
{
        const struct cella_limits limits = {.output_bytes = 10};
        CHECK(!verdict_output_ends(&limits, true, 10));
        CHECK(verdict_output_ends(&limits, true, 11));
        CHECK(!verdict_output_ends(&limits, false, 11));
}

TEST(counters_of_a_sandbox_are_differences)
{
        const struct keeper_counted before = {.known = KEEPER_KNOWS_MEMORY | KEEPER_KNOWS_PROCESSES,
                                              .oom_kills = 1,
                                              .forks_refused = 2,
                                              .memory_peak_bytes = 500,
                                              .processes_peak = 4};
        struct keeper_counted now = {.known = KEEPER_KNOWS_CPU | KEEPER_KNOWS_MEMORY | KEEPER_KNOWS_PROCESSES,
                                     .cpu_us = 90,
                                     .oom_kills = 1,
                                     .forks_refused = 5,
                                     .memory_peak_bytes = 500,
                                     .processes_peak = 6};
        struct verdict_facts f = facts(EXIT(1));
        verdict_count(&f, &before, 30, &now);
        CHECK(f.counted && f.usage.cpu_known);
        CHECK_INT(f.usage.cpu_us, 60);
        CHECK_INT(f.usage.oom_kills, 0);
        CHECK_INT(f.usage.forks_refused, 3);
        CHECK(!f.usage.memory_known); /* the peak did not rise */
        CHECK(f.usage.processes_known);
        CHECK_INT(f.usage.processes_peak, 6);
        CHECK_INT(judge(f).status, CELLA_PROCESS_LIMIT);
        now.known = 0;
        verdict_count(&f, &before, 100, &now);
        CHECK(!f.counted);
        CHECK_INT(f.usage.cpu_us, 0); /* the counter was reset */
}

static struct cella_result hint_of(enum cella_status status, const struct cella_limits *limits)
{
        const struct verdict_facts f = facts(EXIT(1));
        struct cella_result r = {.status = status, .exit_code = 1};
        hint_set(&f, limits, &r);
        return r;
}

TEST(a_hint_names_the_limit_its_value_and_what_raises_it)
{
        struct cella_limits limits;
        cella_limits_default(&limits);
        CHECK_STR(hint_of(CELLA_MEMORY_LIMIT, &limits).hint,
                  "memory: 512 MiB reached; limits.memory_bytes, --memory");
        CHECK_STR(hint_of(CELLA_TIMEOUT, &limits).hint,
                  "timeout: 300 s reached; limits.timeout_ms, --timeout");
        CHECK_STR(hint_of(CELLA_PROCESS_LIMIT, &limits).hint,
                  "processes: 64 reached; limits.processes, --processes");
        limits.memory_bytes = (5 << 20) + 1;
        limits.timeout_ms = 1500;
        CHECK_STR(hint_of(CELLA_MEMORY_LIMIT, &limits).hint,
                  "memory: 5242881 bytes reached; limits.memory_bytes, --memory");
        CHECK_STR(hint_of(CELLA_TIMEOUT, &limits).hint,
                  "timeout: 1500 ms reached; limits.timeout_ms, --timeout");
        CHECK_STR(hint_of(CELLA_EXITED, &limits).hint, "");
        CHECK_STR(hint_of(CELLA_CANCELLED, &limits).hint, "");
}

TEST(a_refused_connection_gives_a_hint_if_the_code_failed)
{
        struct cella_violation v = {"network", "evil.example:443", "not in allowed_domains"};
        struct cella_result r = {.status = CELLA_EXITED, .exit_code = 1, .violations = &v, .n_violations = 1};
        const struct verdict_facts f = facts(EXIT(1));
        struct cella_limits limits;
        cella_limits_default(&limits);
        hint_set(&f, &limits, &r);
        CHECK_STR(r.hint, "network: evil.example:443 refused, not in allowed_domains; "
                          "network.allowed_domains, --allow");
        v.detail = "in blocked_domains";
        hint_set(&f, &limits, &r);
        CHECK_STR(r.hint,
                  "network: evil.example:443 refused, in blocked_domains; network.blocked_domains, --block");
        v.detail = "resolves to 10.0.0.1, which is private";
        hint_set(&f, &limits, &r);
        CHECK_STR(r.hint, "network: evil.example:443 refused, resolves to 10.0.0.1, which is private; "
                          "network.allowed_private, --allow-private");
        v.detail = "the proxy has exited"; /* no setting allows it */
        hint_set(&f, &limits, &r);
        CHECK_STR(r.hint, "network: evil.example:443 refused, the proxy has exited");
        r.exit_code = 0;
        hint_set(&f, &limits, &r);
        CHECK_STR(r.hint, "");
}
