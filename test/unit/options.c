#include "keeper/spawn/options.h"

#include "base/limits.h"
#include "base/runtime.h"
#include "test.h"

TEST(the_defaults_are_within_their_own_ranges)
{
        struct cella_options o;
        struct cella_err err;
        cella_options_default(&o);
        CHECK_INT(options_check(&o, &err), 0);
        CHECK_INT((long long)o.limits.memory_bytes, 512ll << 20);
        CHECK_INT((long long)o.limits.timeout_ms, 300000);
}

TEST(every_limit_has_two_ends)
{
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                struct cella_limits limits;
                struct cella_err err;
                cella_limits_default(&limits);
                limit_put(&limits, l, l->max);
                CHECK_INT(limits_check(&limits, &err), 0);
                limit_put(&limits, l, l->max + 1);
                CHECK_INT(limits_check(&limits, &err), -ERANGE);
                CHECK(strstr(err.msg, l->name) != NULL);
                CHECK_INT(err.kind, CELLA_INVALID_REQUEST);
        }
}

TEST(values_are_written_as_they_are_typed)
{
        static const struct {
                const char *option;
                uint64_t value;
                const char *text;
        } values[] = {
                {"cpus", 10, "0.01"},    {"cpus", 1500, "1.5"},          {"cpus", 1024000, "1024"},
                {"cpus", 125, "0.125"},  {"memory", 512u << 20, "512M"}, {"memory", 1025, "1025"},
                {"output", 0, "0"},      {"timeout", 300000, "5m"},      {"timeout", 1500, "1500ms"},
                {"processes", 64, "64"},
        };
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
                for (size_t k = 0; k < limits_table_len; k++) {
                        char text[32];
                        if (strcmp(limits_table[k].option, values[i].option) != 0)
                                continue;
                        limit_write(&limits_table[k], values[i].value, text, sizeof text);
                        CHECK_STR(text, values[i].text);
                }
}

TEST(every_limit_is_described_once)
{
        uint32_t seen = 0;
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                CHECK(l->title && l->help && l->option);
                CHECK_INT(!l->bit, !l->missing);
                CHECK_INT(seen & l->bit, 0);
                seen |= l->bit;
                if (l->bit)
                        CHECK(limit_of_bits(l->bit) == l);
        }
        CHECK_INT(seen, limits_bits());
        CHECK(limit_of_bits(0) == NULL);
        CHECK_STR(limit_of_bits(CELLA_LIMIT_DISK | CELLA_LIMIT_CPUS)->name, "cpus");
}

TEST(an_execution_fits_a_sandbox_that_was_made_with_other_limits_of_executions)
{
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                struct cella_limits made, wanted;
                cella_limits_default(&made);
                limit_put(&made, l, l->max);
                wanted = made;
                CHECK(limits_fit_sandbox(&made, &wanted));
                limit_put(&wanted, l, l->max - 1);
                CHECK_INT(limits_fit_sandbox(&made, &wanted), l->scope == LIMIT_OF_EXECUTION);
                limit_put(&wanted, l, 0); /* without a control group no CPU time is counted */
                CHECK_INT(limits_fit_sandbox(&made, &wanted), l->scope == LIMIT_OF_EXECUTION && !l->bit);
        }
}

TEST(mount_targets_stay_inside_and_out_of_what_the_sandbox_provides)
{
        static const char *const good[] = {"/data", "/workspace/x", "/opt/tool/bin", "/library", "/run/a"};
        static const char *const bad[] = {"",         "/",       "data",   "/..",   "/a/../b",
                                          "/a/..",    "/./a",    "//a",    "/a//b", "/a/",
                                          "/proc",    "/proc/x", "/dev/x", "/usr",  "/usr/x",
                                          "/etc/foo", "/bin/sh", "/lib/x", "/a\nb"};
        struct cella_err err;
        for (size_t i = 0; i < sizeof good / sizeof *good; i++)
                CHECK_INT(options_check_target(good[i], &err), 0);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
                CHECK_INT(options_check_target(bad[i], &err), -EINVAL);
}

TEST(runtimes_are_found_by_name_and_version)
{
        struct runtime r;
        CHECK_INT(runtime_find("python3", &r), 0);
        CHECK_STR(r.program, "python3");
        CHECK_INT(runtime_find("python3.12", &r), 0);
        CHECK_STR(r.program, "python3.12");
        CHECK_STR(r.eval, "-c");
        CHECK_INT(runtime_find("python", &r), 0);
        CHECK_STR(r.program, "python3");
        CHECK(runtime_is_program("python3.12") && runtime_is_program("node22") && runtime_is_program("sh"));
        CHECK(!runtime_is_program("c17") && !runtime_is_program("rustc") && !runtime_is_program("python"));
        CHECK_INT(runtime_find("cobol", &r), -ENOENT);
        CHECK_INT(runtime_find("", &r), -ENOENT);
        CHECK_INT(runtime_find("sh/../../x", &r), -ENOENT);
        CHECK_INT(runtime_find("python3/../x", &r), -ENOENT);
}
