#include "jail/counters.h"

#include <fcntl.h>

#include "test.h"

/* An open file with this text. */
static int file_with(const char *text)
{
        char path[] = "/tmp/cella-counter-XXXXXX";
        int fd = mkstemp(path);
        CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
        unlink(path);
        return fd;
}

static void change(int fd, const char *text)
{
        CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text));
}

static struct counters none(bool v2)
{
        struct counters c = {.v2 = v2};
        for (int i = 0; i < N_COUNTERS; i++)
                c.fd[i] = -1;
        return c;
}

TEST(cpu_time_is_counted_from_the_base)
{
        struct cgroup_usage usage;
        struct counters v1 = none(false), v2 = none(true);
        v1.fd[CPU_US] = file_with("5000999\n");
        v2.fd[CPU_US] = file_with("usage_usec 5000\nuser_usec 4000\nsystem_usec 1000\n");
        CHECK_INT(counters_cpu_us(&v1), 5000);
        CHECK_INT(counters_cpu_us(&v2), 5000);
        CHECK(counters_begin_cpu(&v1) && counters_begin_cpu(&v2));
        counters_usage(&v2, &usage);
        CHECK(!usage.cpu_known && usage.cpu_us == 0);
        change(v1.fd[CPU_US], "5701000\n");
        change(v2.fd[CPU_US], "usage_usec 5700\nuser_usec 4700\nsystem_usec 1000\n");
        CHECK_INT(counters_cpu_us(&v1), 701);
        CHECK_INT(counters_cpu_us(&v2), 700);
        counters_usage(&v2, &usage);
        CHECK(usage.cpu_known && usage.cpu_us == 700);
        close(v1.fd[CPU_US]);
        close(v2.fd[CPU_US]);
}

TEST(a_group_that_has_used_no_cpu_time_has_a_base)
{
        struct counters v2 = none(true);
        CHECK(!counters_begin_cpu(&v2)); /* no file */
        v2.fd[CPU_US] = file_with("usage_usec 0\n");
        CHECK(counters_begin_cpu(&v2));
        change(v2.fd[CPU_US], "usage_usec 30\n");
        CHECK_INT(counters_cpu_us(&v2), 30);
        close(v2.fd[CPU_US]);
}

TEST(events_are_found_in_the_files_of_v2)
{
        struct cgroup_usage usage;
        struct counters v2 = none(true);
        v2.fd[OOM_KILLS] = file_with("low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 1\n");
        v2.fd[PIDS_REFUSED] = file_with("max 4\n");
        v2.fd[PIDS_PEAK] = file_with("6\n");
        counters_usage(&v2, &usage);
        CHECK_INT(usage.oom_kills, 2);
        CHECK_INT(usage.forks_refused, 4);
        CHECK(usage.processes_known && usage.processes_peak == 5);
        CHECK(!usage.memory_known && !usage.cpu_known);
        for (int i = 0; i < N_COUNTERS; i++)
                if (v2.fd[i] >= 0)
                        close(v2.fd[i]);
}
