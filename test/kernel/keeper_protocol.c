/* test/kernel/keeper_protocol.c -- the keeper, with messages of a hostile server. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>

static void finish(void);
#define TEST_AFTER finish
#include "../unit/test.h"
#include "base/auto.h"
#include "keeper/process/keeper.h"
#include "keeper/process/spare.h"
#include "keeper_fake.h"
#include "wire/mounts.h"

#define MANY 512
#define GROUP_FILES 14 /* that are open of one sandbox's groups, at most */

static struct fake_daemon d;

static bool is_root(void)
{
        return geteuid() == 0;
}

/* Fewer on an emulated machine. */
static int rounds(int n)
{
        return fake_slack() > 1 ? (n + 9) / 10 : n;
}

/* Waits until the condition is true, at most ms.  Returns whether it is. */
#define SOON(condition, ms)                                                                                  \
        __extension__({                                                                                      \
                double until_ = fake_now_ms() + (ms)*fake_patience();                                        \
                while (!(condition) && fake_now_ms() < until_)                                               \
                        usleep(2000);                                                                        \
                (condition);                                                                                 \
        })

static void stop(void)
{
        union fake_packet p;
        kill(d.pid, SIGTERM);
        CHECK(fake_receive(&d, &p, NULL, 2000) == sizeof p.about && p.type == KEEPER_STOP && p.number == 0);
        fake_tell(&d, 'q');
        CHECK_INT(fake_wait(&d, 5000), 0);
}

static void finish(void)
{
        if (d.pid > 0)
                stop();
        fake_done(&d);
}

static void end(struct fake_sandbox *s)
{
        CHECK(fake_ask(&d, KEEPER_END, s->handle, KEEPER_ENDED, NULL));
        close(s->control);
}

TEST(starts_the_server_without_privilege)
{
        char uid[64];
        fake_up(&d, NULL);
        CHECK(strstr(d.report, "CapEff:\t0000000000000000") != NULL);
        CHECK(strstr(d.report, "CapPrm:\t0000000000000000") != NULL);
        CHECK(strstr(d.report, "CapInh:\t0000000000000000") != NULL);
        CHECK(strstr(d.report, "CapAmb:\t0000000000000000") != NULL);
        CHECK(strstr(d.report, "NoNewPrivs:\t1") != NULL);
        CHECK(strstr(d.report, "\nDescriptors: 0 1 2 3 4\n") != NULL);
        CHECK(strstr(d.report, "\nDeathSignal: 9\n") != NULL);
        CHECK(strstr(d.report, "\nGroup: own\n") != NULL);
        CHECK(strstr(d.report, "\nRoot: no\n") != NULL);
        CHECK(strstr(d.report, "NOTIFY_SOCKET") == NULL && strstr(d.report, "HOME=") == NULL);
        CHECK(strstr(d.report, "--listeners 1 ") != NULL);
        if (is_root()) {
                snprintf(uid, sizeof uid, "Uid:\t%u\t%u\t%u\t%u", 1879048190u, 1879048190u, 1879048190u,
                         1879048190u);
                CHECK(strstr(d.report, uid) != NULL || strstr(d.report, "Uid:\t0") == NULL);
                CHECK(strstr(d.report, "Gid:\t0") == NULL);
                CHECK(strstr(d.report, "Groups:\t \n") != NULL || strstr(d.report, "Groups:\t\n") != NULL);
                CHECK(strstr(d.report, "CapBnd:\t0000000000000000") != NULL);
        }
        printf("# up after %.1f ms\n", d.ready_ms);
        CHECK(d.ready_ms < 100 * fake_patience());
}

TEST(a_sandbox_is_made_runs_is_counted_and_ends)
{
        struct fake_sandbox s;
        union fake_packet p;
        fake_up(&d, NULL);
        CHECK(fake_make(&d, NULL, &s) && fake_ready(&s));
        CHECK(fake_ask(&d, KEEPER_THROTTLE, s.handle, 0, NULL));
        CHECK(fake_spawn(&s, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3", false));
        CHECK_INT(WEXITSTATUS(fake_exited(&s)), 3);
        CHECK(fake_ask(&d, KEEPER_UNTHROTTLE, s.handle, 0, NULL));
        CHECK(fake_ask(&d, KEEPER_COUNT, s.handle, KEEPER_COUNTED, &p));
        CHECK_INT(p.counted.sandbox, s.handle);
        if (s.made.counted) {
                CHECK(p.counted.known & KEEPER_KNOWS_MEMORY);
                CHECK(p.counted.memory_peak_bytes > 100000 && p.counted.memory_bytes > 0);
                CHECK_INT(p.counted.processes, 0);
                if (p.counted.known & KEEPER_KNOWS_PROCESSES)
                        CHECK(p.counted.processes_peak >= 1);
        }
        end(&s);
}

TEST(reports_an_init_that_ended_by_itself)
{
        struct fake_sandbox s;
        union fake_packet p;
        fake_up(&d, NULL);
        CHECK(fake_make(&d, NULL, &s) && fake_ready(&s));
        close(s.control); /* the keeper has no copy: init ends */
        CHECK(fake_receive(&d, &p, NULL, 2000) == sizeof p.about && p.type == KEEPER_DIED &&
              p.about.sandbox == s.handle);
        CHECK(fake_ask(&d, KEEPER_COUNT, s.handle, KEEPER_COUNTED, &p));
        CHECK(fake_ask(&d, KEEPER_KILL, s.handle, 0, NULL));
        CHECK(fake_ask(&d, KEEPER_END, s.handle, KEEPER_ENDED, &p));
        /* The same for a killed sandbox. */
        CHECK(fake_make(&d, NULL, &s) && fake_ready(&s));
        CHECK(fake_ask(&d, KEEPER_KILL, s.handle, 0, NULL));
        CHECK(fake_receive(&d, &p, NULL, 2000) > 0 && p.type == KEEPER_DIED && p.about.sandbox == s.handle);
        end(&s);
}

/* Whether the other end of its socket is closed, which is how the server notices a death. */
static bool hangs_up(int control)
{
        char data[4096];
        struct pollfd fd = {control, POLLIN, 0};
        while (poll(&fd, 1, 10000) == 1)
                if (recv(control, data, sizeof data, MSG_DONTWAIT) <= 0)
                        return true;
        return false;
}

TEST(a_sandbox_killed_before_its_init_runs_closes_its_socket)
{
        struct fake_sandbox s;
        union fake_packet p;
        fake_up(&d, NULL);
        for (int i = 0; i < 150; i++) {
                if (!fake_make(&d, NULL, &s) || !fake_ask(&d, KEEPER_KILL, s.handle, 0, NULL) ||
                    !hangs_up(s.control)) {
                        CHECK_INT(i, -1);
                        break;
                }
                CHECK(fake_receive(&d, &p, NULL, 10000) > 0 && p.type == KEEPER_DIED);
                end(&s);
        }
}

static size_t existing(char groups[][24], size_t n)
{
        size_t found = 0;
        for (size_t i = 0; i < n; i++)
                found += fake_group_exists(groups[i]);
        return found;
}

TEST(two_hundred_sandboxes_leave_nothing)
{
        static char groups[200][24];
        struct fake_sandbox s[2];
        union fake_packet p;
        pid_t pids[MANY];
        size_t n_groups = 0;
        fake_up(&d, NULL);
        CHECK(fake_make(&d, NULL, &s[0]) && fake_ready(&s[0]) &&
              fake_ask(&d, KEEPER_END, s[0].handle, KEEPER_ENDED, &p));
        close(s[0].control);
        usleep(50000);
        int descriptors = fake_held(d.pid).others, mounts = fake_mounts(&d);
        for (int i = 0; i < rounds(100); i++) {
                for (int j = 0; j < 2; j++) {
                        CHECK(fake_make(&d, NULL, &s[j]));
                        if (i % 3 > 0)
                                CHECK(fake_ready(&s[j]));
                        if (i % 3 > 1)
                                CHECK(fake_spawn(&s[j], "sleep 100 & sleep 100", false));
                }
                size_t n = fake_descendants(d.pid, pids, MANY);
                for (size_t j = 0; j < n && n_groups < 200; j++) {
                        fake_group(pids[j], groups[n_groups], sizeof groups[0]);
                        n_groups += groups[n_groups][0] != '\0';
                }
                for (int j = 0; j < 2; j++) {
                        end(&s[j]);
                }
        }
        CHECK(SOON(fake_descendants(d.pid, pids, MANY) == 2, 1000)); /* the server and the egress process */
        CHECK(SOON(fake_held(d.pid).others <= descriptors, 1000));
        CHECK(fake_held(d.pid).networks <= SPARE_NETNS && fake_held(d.pid).views <= 1);
        CHECK(fake_held(d.pid).groups <= GROUP_FILES * (SPARE_GROUPS + 1));
        CHECK(fake_held(d.pid).users <= SPARE_GROUPS);
        CHECK(fake_held(d.pid).counters <= NETNS_FILES * SPARE_NETNS);
        CHECK_INT(fake_held(d.pid).ipc, 0);
        CHECK_INT(fake_mounts(&d), mounts);
        CHECK(!is_root() || n_groups > (size_t)rounds(100));
        CHECK(SOON(existing(groups, n_groups) <= SPARE_GROUPS, 1000));
        stop();
        CHECK_INT(existing(groups, n_groups), 0);
}

TEST(namespaces_are_kept_while_they_are_needed)
{
        struct fake_sandbox s[2 * SPARE_AHEAD];
        if (!is_root())
                SKIP("not started as root");
        fake_up(&d, NULL);
        CHECK(SOON(fake_held(d.pid).networks > SPARE_AHEAD / 2,
                   2000)); /* the keeper has recorded the counters of a new namespace */
        int quick = 0; /* rounds; in a slow one, namespaces may be unused for so long that they are removed */
        for (int round = 0; round < 4 || (quick == 0 && round < 40); round++) {
                const double begun = fake_now_ms();
                for (size_t i = 0; i < ARRAY_LEN(s); i++)
                        CHECK(fake_make(&d, NULL, &s[i]) && fake_ready(&s[i]));
                for (size_t i = 0; i < ARRAY_LEN(s); i++)
                        end(&s[i]);
                /* In idle moments it may have made some more. */
                const int networks = fake_held(d.pid).networks;
                CHECK(networks <= (int)ARRAY_LEN(s) + SPARE_AHEAD);
                if (fake_now_ms() - begun < 1500) {
                        CHECK(networks >= (int)ARRAY_LEN(s));
                        quick++;
                }
                usleep(1000000);
        }
        CHECK(quick > 0);
        CHECK(SOON(fake_held(d.pid).networks == SPARE_AHEAD, 8000));
}

static bool is_v2(void)
{
        return access("/sys/fs/cgroup/cgroup.procs", F_OK) == 0;
}

/* On cgroup v2 the peak of memory can be reset since Linux 6.12. */
static bool reuses_groups(void)
{
        struct utsname name;
        unsigned major = 0, minor = 0;
        uname(&name);
        sscanf(name.release, "%u.%u", &major, &minor);
        return is_root() && (!is_v2() || major > 6 || (major == 6 && minor >= 12));
}

/* Returns the group of the only sandbox. */
static void its_group(char *ret, size_t size)
{
        pid_t pids[MANY];
        size_t n = fake_descendants(d.pid, pids, MANY);
        ret[0] = '\0';
        for (size_t i = 0; i < n && !ret[0]; i++)
                fake_group(pids[i], ret, size);
}

/* Number of sandboxes after which the group that was added last must have been reused. */
#define ROUNDS_UNTIL_REUSE 40

static void fill_small(struct keeper_make *make)
{
        fake_fill(make);
        make->limits.memory_bytes = 64u << 20;
        make->limits.processes = 8;
}

/* Runs the script in a new sandbox.  Returns the group and its counters. */
static void run_counted(const char *script, char group[24], struct keeper_counted *ret)
{
        struct keeper_make make;
        struct fake_sandbox s;
        union fake_packet p;
        fill_small(&make);
        CHECK(fake_make(&d, &make, &s) && fake_ready(&s));
        its_group(group, 24);
        CHECK(group[0] != '\0');
        CHECK(fake_ask(&d, KEEPER_THROTTLE, s.handle, 0, NULL));
        CHECK(fake_spawn(&s, script, true));
        fake_exited(&s);
        CHECK(fake_ask(&d, KEEPER_COUNT, s.handle, KEEPER_COUNTED, &p));
        *ret = p.counted;
        end(&s);
}

#define GROW "x=0123456789abcdef; i=0; while [ $i -lt "
#define TIMES " ]; do x=$x$x; i=$((i+1)); done"

TEST(groups_are_reused_if_they_show_nothing_of_their_last_sandbox)
{
        static const struct {
                const char *script;
                bool again;
        } first[] = {
                {":", true},
                {GROW "20" TIMES, true},                            /* 16 MB, by one process */
                {"/bin/true & /bin/true & sleep 0.1; wait", false}, /* there were several */
                {GROW "24" TIMES, false},                           /* it was killed for memory */
                {"i=0; while [ $i -lt 20 ]; do sleep 0.2 & i=$((i+1)); done; wait",
                 false}, /* some were refused */
        };
        char before[24], after[24];
        struct keeper_counted counted;
        if (!is_root())
                SKIP("not started as root");
        /* The kernel may free memory too late: so groups that are expected to be reused are tried
         * some times. */
        for (size_t i = 0, tries = 0; i < ARRAY_LEN(first);) {
                fake_up(&d, NULL);
                run_counted(first[i].script, before, &counted);
                CHECK_INT(counted.oom_kills > 0, i == 3);
                CHECK_INT(counted.forks_refused > 0, i == 4);
                CHECK_INT(counted.memory_peak_bytes > 16u << 20, i == 1 || i == 3);
                bool again = false;
                for (int round = 0; round < ROUNDS_UNTIL_REUSE && !again; round++) {
                        run_counted(":", after, &counted);
                        again = !strcmp(before, after);
                        CHECK(counted.memory_peak_bytes > 100000 && counted.memory_peak_bytes < 4u << 20);
                        CHECK(counted.oom_kills == 0 && counted.forks_refused == 0);
                        CHECK(!(counted.known & KEEPER_KNOWS_PROCESSES) || counted.processes_peak == 1);
                }
                const bool expected = first[i].again && reuses_groups();
                CHECK(expected || !again);
                CHECK(again || SOON(!fake_group_exists(before), 1000));
                stop();
                CHECK(!fake_group_exists(before) && !fake_group_exists(after));
                fake_done(&d);
                if (again == expected)
                        i++, tries = 0;
                else if (++tries == 20)
                        CHECK_INT(again, expected), i++;
        }
}

/* The files that came with the last sandbox, as keeper_link.c takes them. */
static struct counters lent_with(const struct keeper_made *made)
{
        struct counters ret = {.v2 = made->counters_v2, .cpu_us_before = made->cpu_us_before};
        unsigned n = 0;
        for (int i = 0; i < N_COUNTERS; i++)
                ret.fd[i] = (made->counters >> i & 1) && n < d.n_more ? d.more[n++] : -1;
        CHECK_INT(n, d.n_more);
        d.n_more = 0; /* ours now */
        return ret;
}

static void close_counters(const struct counters *lent)
{
        for (int i = 0; i < N_COUNTERS; i++)
                if (lent->fd[i] >= 0)
                        close(lent->fd[i]);
}

TEST(counters_of_reused_groups_are_passed_to_the_server)
{
        char first[24] = "", again[24] = "-";
        struct keeper_make make;
        struct keeper_counted counted;
        struct fake_sandbox s;
        union fake_packet p;
        struct cgroup_usage usage;
        if (!reuses_groups())
                SKIP("needs root, and cgroup v1 or Linux 6.12");
        fake_up(&d, NULL);
        for (int tries = 0; tries < 5 * ROUNDS_UNTIL_REUSE && strcmp(first, again) != 0; tries++) {
                /* If the kernel was still freeing its contents, the group was removed: try another. */
                if (tries % ROUNDS_UNTIL_REUSE == 0)
                        run_counted(GROW "20" TIMES, first, &counted);
                fill_small(&make);
                CHECK(fake_make(&d, &make, &s));
                struct counters lent = lent_with(&s.made);
                CHECK(fake_ready(&s));
                its_group(again, sizeof again);
                if (strcmp(first, again) != 0) {
                        end(&s);
                        close_counters(&lent);
                        continue;
                }
                for (int i = 0; i < N_COUNTERS; i++)
                        CHECK(lent.fd[i] < 0 || i == MEMORY_PEAK ||
                              (fcntl(lent.fd[i], F_GETFL) & O_ACCMODE) == O_RDONLY);
                CHECK(fake_spawn(&s, GROW "18" TIMES "; /bin/true; /bin/true; exec sleep 100", true));
                /* The files have the counters of this sandbox, and they equal those that the keeper reports.
                 */
                CHECK(SOON((counters_usage(&lent, &usage), usage.memory_peak_bytes > 4u << 20), 2000));
                CHECK(fake_ask(&d, KEEPER_COUNT, s.handle, KEEPER_COUNTED, &p));
                counters_usage(&lent, &usage);
                CHECK(usage.memory_known && usage.memory_peak_bytes < 16u << 20);
                CHECK(usage.memory_peak_bytes >= p.counted.memory_peak_bytes);
                CHECK(usage.cpu_us >= p.counted.cpu_us && usage.cpu_us < p.counted.cpu_us + 2000000);
                CHECK_INT(usage.oom_kills, 0);
                CHECK_INT(usage.forks_refused, 0);
                CHECK(!usage.processes_known || usage.processes_peak == p.counted.processes_peak);
                end(&s);
                close_counters(&lent);
        }
        CHECK(!strcmp(first, again));
}

/* Reads a limit of the group from its file; below: the hierarchy on v1. */
static uint64_t limit_in(const char *below, const char *file, const char *group)
{
        char path[512], text[64] = "";
        if (!fake_group_find(is_v2() ? "/sys/fs/cgroup/" : below, group, path, sizeof path - 64))
                return 0;
        snprintf(path + strlen(path), 64, "/%s", file);
        FILE *f = fopen(path, "re");
        CHECK(f && fgets(text, sizeof text, f));
        if (f)
                fclose(f);
        return strtoull(text, NULL, 10);
}

static void check_limits(const struct keeper_make *make, const char *group)
{
        CHECK_INT(limit_in("/sys/fs/cgroup/memory/", is_v2() ? "memory.max" : "memory.limit_in_bytes", group),
                  make->limits.memory_bytes);
        CHECK_INT(limit_in("/sys/fs/cgroup/pids/", "pids.max", group), make->limits.processes + 1);
}

/* Makes sandboxes until one has this group, and checks its limits.  Returns false if none got it. */
static bool comes_again(const struct keeper_make *make, const char *group)
{
        struct fake_sandbox s;
        char its[24] = "";
        for (int round = 0; round < ROUNDS_UNTIL_REUSE && strcmp(its, group) != 0; round++) {
                CHECK(fake_make(&d, make, &s) && fake_ready(&s));
                its_group(its, sizeof its);
                if (!strcmp(its, group))
                        check_limits(make, its);
                end(&s);
        }
        return !strcmp(its, group);
}

TEST(groups_are_reused_with_the_limits_of_the_next_sandbox)
{
        enum { SAME, MORE_MEMORY, LESS_MEMORY, MORE_PROCESSES, CPU_TIME, LONG_LIVED, PART_REMOVED, N };
        struct keeper_make make;
        struct fake_sandbox s;
        char group[24], part[512];
        if (!reuses_groups())
                SKIP("needs root, and cgroup v1 or Linux 6.12");
        for (int i = 0, tries = 0; i < N;) {
                fake_up(&d, NULL);
                fake_fill(&make);
                CHECK(fake_make(&d, &make, &s) && fake_ready(&s));
                its_group(group, sizeof group);
                end(&s);
                make.limits.memory_bytes += i == MORE_MEMORY ? 1 << 20 : i == LESS_MEMORY ? -(1 << 20) : 0;
                make.limits.processes += i == MORE_PROCESSES;
                make.limits.cpu_time_ms = i == CPU_TIME ? 1000 : 0;
                make.long_lived = i == LONG_LIVED;
                if (i == PART_REMOVED)
                        CHECK(fake_group_find(is_v2() ? "/sys/fs/cgroup/" : "/sys/fs/cgroup/cpu/", group,
                                              part, sizeof part) &&
                              SOON(rmdir(part) == 0 || errno == ENOENT, 1000));
                const bool again = comes_again(&make, group);
                stop();
                fake_done(&d);
                /* On v1 the group that counts CPU time may be missing. */
                const bool expected = i < CPU_TIME || (i == CPU_TIME && is_v2());
                if (!again && expected && ++tries < 20)
                        continue; /* the kernel frees some memory late */
                CHECK(again == expected || (i == CPU_TIME && again));
                i++;
        }
}

/* A new daemon with nothing to do has groups for the first sandboxes. */
TEST(groups_are_made_ahead)
{
        struct fake_sandbox s[4];
        if (!is_root())
                SKIP("not started as root");
        fake_up(&d, NULL);
        CHECK(SOON(fake_held(d.pid).groups >= SPARE_GROUPS_AHEAD, 20000));
        usleep(300000); /* all of them are made, and nothing changes any more */
        for (size_t i = 0; i < ARRAY_LEN(s); i++) {
                CHECK(fake_make(&d, NULL, &s[i]) && fake_ready(&s[i]));
                CHECK(s[i].made.counters != 0);
                CHECK_INT(s[i].made.groups.reused, 0);
        }
        for (size_t i = 0; i < ARRAY_LEN(s); i++)
                end(&s[i]);
}

/* Sandboxes one after the other use the same groups; none is made or removed. */
TEST(in_a_steady_state_no_group_is_made_or_removed)
{
        struct fake_sandbox s;
        struct keeper_groups before = {0};
        if (!reuses_groups())
                SKIP("needs root, and cgroup v1 or Linux 6.12");
        fake_up(&d, NULL);
        unsigned steady = 0, most = 0;
        for (int i = 0; i < 400 && steady < 50; i++) {
                CHECK(fake_make(&d, NULL, &s) && fake_ready(&s));
                CHECK(fake_spawn(&s, ":", true));
                CHECK_INT(fake_exited(&s), 0);
                end(&s);
                const struct keeper_groups now = s.made.groups;
                const bool same = now.made == before.made && now.removed == before.removed &&
                                  now.reused == before.reused + 1;
                steady = same ? steady + 1 : 0;
                most = steady > most ? steady : most;
                before = now;
        }
        CHECK(most == 50);
        printf("# %u made, %u reused, %u removed\n", before.made, before.reused, before.removed);
}

/* Groups that cannot be reused are removed, however many there are at once. */
TEST(groups_of_many_ended_sandboxes_are_removed)
{
        static struct fake_sandbox s[REMAINS_MAX + 16];
        struct fake_sandbox last;
        const size_t n = (size_t)rounds(ARRAY_LEN(s));
        fake_up(&d, NULL);
        for (size_t i = 0; i < n; i++)
                CHECK(fake_make(&d, NULL, &s[i]) && fake_ready(&s[i]) &&
                      fake_spawn(&s[i], "sleep 100 & sleep 100 & sleep 100", false));
        for (size_t i = 0; i < n; i++)
                end(&s[i]);
        bool removed = false;
        for (int i = 0; i < 200 && !removed; i++) {
                usleep(20000);
                CHECK(fake_make(&d, NULL, &last) && fake_ready(&last));
                removed = !last.made.counted || last.made.groups.removed >= n;
                end(&last);
        }
        CHECK(removed);
}

/* A view that a sandbox handed over is used by the next ones, for one second. */
TEST(a_view_is_released_when_it_expires)
{
        struct fake_sandbox s;
        if (!is_root())
                SKIP("not started as root");
        fake_up(&d, NULL);
        CHECK(fake_make(&d, NULL, &s) && fake_ready(&s));
        CHECK(SOON(fake_held(d.pid).views == 1, 1000));
        end(&s);
        CHECK(SOON(fake_held(d.pid).views == 0, 3000));
}

/* Its groups and its user namespace are used again. */
TEST(a_sandbox_that_is_ended_while_it_is_built_leaves_nothing_incomplete)
{
        struct fake_sandbox s;
        fake_up(&d, NULL);
        for (int i = 0; i < rounds(600); i++) {
                CHECK(fake_make(&d, NULL, &s));
                usleep((useconds_t)(i % 60) * 30); /* before the view arrives, and at each step */
                end(&s);
                CHECK(fake_make(&d, NULL, &s) && fake_ready(&s));
                CHECK(fake_spawn(&s, "[ $(id -u) = 1000 ] && [ -O /workspace ] && cd /workspace && : >x",
                                 true));
                CHECK_INT(fake_exited(&s), 0);
                end(&s);
        }
}

TEST(the_keeper_survives_a_view_without_free_descriptors)
{
        struct rlimit before, few = {5, 0};
        struct keeper_make make;
        struct fake_sandbox s, next;
        if (!is_root())
                SKIP("not started as root");
        fake_up(&d, NULL);
        fake_fill(&make);
        /* Wait for the start: the keeper does not start without its first descriptors. */
        CHECK(SOON(fake_held(d.pid).networks > SPARE_AHEAD / 2, 2000));
        CHECK(prlimit(d.pid, RLIMIT_NOFILE, NULL, &before) == 0);
        few.rlim_max = before.rlim_max;
        for (int i = 0; i < 3; i++) {
                kill(d.pid, SIGSTOP); /* it makes this sandbox before it receives the view */
                CHECK(fake_send(&d, &make, sizeof make));
                kill(d.pid, SIGCONT);
                usleep(300);
                CHECK(prlimit(d.pid, RLIMIT_NOFILE, &few, NULL) == 0);
                usleep(50000);
                CHECK(prlimit(d.pid, RLIMIT_NOFILE, &before, NULL) == 0);
                union fake_packet p;
                s.control = -1;
                bool answered;
                do /* the sandbox of the round before may have died late */
                        answered = fake_receive(&d, &p, &s.control, 2000) > 0;
                while (answered && p.type == KEEPER_DIED);
                CHECK(answered);
                close(s.control);
                const bool answers = answered && fake_make(&d, NULL, &next) && fake_ready(&next);
                CHECK(answers);
                if (!answers) {
                        char log[4096];
                        fake_log(&d, log, sizeof log);
                        printf("# %s\n", log);
                        break;
                }
                end(&next);
                usleep(1100000);
        }
        kill(d.pid, SIGTERM);
        fake_done(&d);
}

/* Makes a few sandboxes in different states. */
static size_t populate(struct fake_sandbox *s, size_t n)
{
        struct keeper_make make;
        size_t made = 0;
        fake_fill(&make);
        for (size_t i = 0; i < n; i++) {
                make.long_lived = i % 2;
                if (!fake_make(&d, &make, &s[made]))
                        continue;
                if (i % 4 > 0)
                        CHECK(fake_ready(&s[made]));
                if (i % 4 > 1)
                        CHECK(fake_spawn(&s[made], "trap '' TERM HUP; (setsid sleep 1000 &); sleep 1000",
                                         false));
                if (i % 4 == 3 && is_root())
                        CHECK(fake_ask(&d, KEEPER_FREEZE, s[made].handle, KEEPER_DONE, NULL));
                made++;
        }
        return made;
}

/* All processes of a daemon are dead within a second, and the next daemon removes what is left. */
static void check_gone(const pid_t *pids, size_t n, char groups[][24], size_t n_groups)
{
        /* The end of the server also closes descriptors in packets that it had not read. */
        close(d.keeper);
        close(d.link);
        d.keeper = d.link = -1;
        CHECK(SOON(fake_alive(pids, n) == 0, 1000));
        CHECK(fake_start(&d, true, NULL));
        for (size_t i = 0; i < n_groups; i++) /* another cella on this host may have removed them first */
                CHECK(SOON(!fake_group_exists(groups[i]), 2000));
        stop();
}

static size_t note_groups(const pid_t *pids, size_t n, char groups[][24], size_t max)
{
        size_t n_groups = 0;
        for (size_t i = 0; i < n && n_groups < max; i++) {
                fake_group(pids[i], groups[n_groups], 24);
                n_groups += groups[n_groups][0] != '\0';
        }
        return n_groups;
}

TEST(killing_the_keeper_ends_all_sandboxes)
{
        struct fake_sandbox s[8];
        pid_t pids[MANY];
        char groups[16][24];
        for (int round = 0; round < rounds(6); round++) {
                fake_up(&d, NULL);
                size_t made = populate(s, 8);
                CHECK_INT(made, 8);
                size_t n = fake_descendants(d.pid, pids, MANY);
                size_t n_groups = note_groups(pids, n, groups, 16);
                CHECK(n > 8);
                kill(d.pid, SIGKILL);
                CHECK_INT(fake_wait(&d, 1000), 128 + SIGKILL);
                /* The server dies with the keeper, which closes its descriptors: close the test's, too. */
                for (size_t i = 0; i < made; i++)
                        close(s[i].control);
                check_gone(pids, n, groups, n_groups);
                fake_done(&d);
        }
}

/* The moment of the kill is random, while sandboxes are being made and ended. */
TEST(a_keeper_killed_at_any_moment_leaves_nothing)
{
        struct keeper_make make;
        pid_t pids[MANY];
        fake_fill(&make);
        for (int round = 0; round < rounds(20); round++) {
                union fake_packet p;
                int fds[MANY], n_fds = 0;
                fake_up(&d, NULL);
                double until = fake_now_ms() + 1 + rand() % 12;
                while (fake_now_ms() < until && n_fds < MANY) {
                        make.long_lived = (uint32_t)rand() % 2;
                        struct keeper_about end = {.type = KEEPER_END, .number = 9};
                        fake_send(&d, &make, sizeof make);
                        if (fake_receive(&d, &p, &fds[n_fds], 100) <= 0)
                                break;
                        n_fds += fds[n_fds] >= 0;
                        end.sandbox = p.made.sandbox;
                        if (rand() % 2 && p.type == KEEPER_MADE)
                                fake_send(&d, &end, sizeof end);
                }
                kill(d.pid, SIGSTOP); /* for a list that holds */
                size_t n = fake_descendants(d.pid, pids, MANY);
                kill(d.pid, SIGKILL);
                CHECK_INT(fake_wait(&d, 1000), 128 + SIGKILL);
                /* The server dies with the keeper, which closes its descriptors: close the test's, too. */
                for (int i = 0; i < n_fds; i++)
                        close(fds[i]);
                check_gone(pids, n, NULL, 0);
                fake_done(&d);
        }
}

TEST(a_server_that_dies_ends_all_sandboxes)
{
        static const char ways[] = {'k', 'e', 'q', 'c'};
        for (size_t i = 0; i < sizeof ways; i++) {
                struct fake_sandbox s[8];
                pid_t pids[MANY];
                char groups[16][24], log[4096];
                fake_up(&d, NULL);
                size_t made = populate(s, 8);
                size_t n = fake_descendants(d.pid, pids, MANY), n_groups = note_groups(pids, n, groups, 16);
                if (ways[i] == 'c') {
                        close(d.keeper);
                        d.keeper = -1;
                }
                fake_tell(&d, ways[i]);
                CHECK_INT(fake_wait(&d, 3000), 1);
                CHECK_INT(fake_alive(pids, n), 0);
                for (size_t j = 0; j < n_groups; j++)
                        CHECK(!fake_group_exists(groups[j]));
                fake_log(&d, log, sizeof log);
                CHECK(strstr(log, "\"level\": \"error\"") && strstr(log, "the server "));
                for (size_t j = 0; j < made; j++)
                        close(s[j].control);
                fake_done(&d);
        }
}

static uint64_t cpu_us(const struct fake_sandbox *s)
{
        union fake_packet p;
        CHECK(fake_ask(&d, KEEPER_COUNT, s->handle, KEEPER_COUNTED, &p));
        return p.counted.cpu_us;
}

static void check_freezing(void)
{
        struct keeper_make make;
        struct fake_sandbox s;
        pid_t pids[MANY];
        fake_fill(&make);
        make.long_lived = 1;
        make.limits.cpu_time_ms = 100000; /* so that it is counted */
        CHECK(fake_make(&d, &make, &s) && fake_ready(&s));
        CHECK(fake_spawn(&s, "while :; do :; done & while :; do :; done", false));
        CHECK(SOON(cpu_us(&s) > 10000, 1000));
        CHECK(fake_ask(&d, KEEPER_FREEZE, s.handle, KEEPER_DONE, NULL));
        CHECK(fake_ask(&d, KEEPER_FREEZE, s.handle, KEEPER_DONE, NULL)); /* repeating it has no effect */
        uint64_t frozen = cpu_us(&s);
        usleep(200000);
        CHECK(cpu_us(&s) - frozen < 2000);
        CHECK(fake_ask(&d, KEEPER_THAW, s.handle, KEEPER_DONE, NULL));
        CHECK(SOON(cpu_us(&s) > frozen + 50000, 2000));
        /* A frozen sandbox can be ended. */
        CHECK(fake_ask(&d, KEEPER_FREEZE, s.handle, KEEPER_DONE, NULL));
        size_t n = fake_descendants(d.pid, pids, MANY);
        double begun = fake_now_ms();
        CHECK(fake_ask(&d, KEEPER_END, s.handle, KEEPER_ENDED, NULL));
        CHECK(fake_now_ms() - begun < 1000 * fake_patience());
        CHECK_INT(fake_alive(pids, n), 2); /* the server and the egress process */
        close(s.control);
        /* And a frozen sandbox can be killed. */
        CHECK(fake_make(&d, &make, &s) && fake_ready(&s));
        CHECK(fake_ask(&d, KEEPER_FREEZE, s.handle, KEEPER_DONE, NULL));
        union fake_packet p;
        CHECK(fake_ask(&d, KEEPER_KILL, s.handle, 0, NULL));
        CHECK(fake_receive(&d, &p, NULL, 1000) > 0 && p.type == KEEPER_DIED);
        CHECK(fake_ask(&d, KEEPER_FREEZE, s.handle, KEEPER_FAILED, NULL));
        end(&s);
}

TEST(freezing_stops_everything)
{
        if (!is_root())
                SKIP("no control groups for an ordinary user here");
        fake_up(&d, NULL);
        check_freezing();
}

/* As on a host that has the v1 freezer only: in a mount namespace without the other. */
TEST(freezing_works_with_the_v1_freezer)
{
        struct stat st;
        if (!is_root() || stat("/sys/fs/cgroup/freezer", &st) < 0 || stat("/sys/fs/cgroup/unified", &st) < 0)
                SKIP("needs a host with both kinds, and root");
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
                if (unshare(CLONE_NEWNS) < 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) < 0 ||
                    umount2("/sys/fs/cgroup/unified", MNT_DETACH) < 0)
                        _exit(2);
                fake_up(&d, NULL);
                check_freezing();
                /* The daemon is killed while a sandbox is frozen, which therefore cannot die.  The next start
                 * thaws it. */
                struct fake_sandbox s;
                struct keeper_make make;
                pid_t pids[MANY];
                fake_fill(&make);
                make.long_lived = 1;
                CHECK(fake_make(&d, &make, &s) && fake_ready(&s) && fake_spawn(&s, "sleep 1000", false));
                CHECK(fake_ask(&d, KEEPER_FREEZE, s.handle, KEEPER_DONE, NULL));
                size_t n = fake_descendants(d.pid, pids, MANY);
                kill(d.pid, SIGKILL);
                fake_wait(&d, 1000);
                close(d.keeper);
                close(d.link);
                CHECK(fake_start(&d, true, NULL));
                CHECK(SOON(fake_alive(pids, n) == 0, 1000));
                stop();
                fake_done(&d);
                fflush(stdout);
                _exit(test_failures > 0);
        }
        int status;
        waitpid(pid, &status, 0);
        CHECK_INT(status, 0);
}

TEST(a_short_lived_sandbox_cannot_be_frozen)
{
        struct fake_sandbox s;
        union fake_packet p;
        struct stat st;
        if (is_root() && stat("/sys/fs/cgroup/cgroup.procs", &st) == 0)
                SKIP("v2 can freeze any");
        fake_up(&d, NULL);
        CHECK(fake_make(&d, NULL, &s) && fake_ready(&s));
        CHECK(fake_ask(&d, KEEPER_FREEZE, s.handle, KEEPER_FAILED, &p));
        CHECK_INT(p.failed.err.kind, CELLA_ISOLATION_UNAVAILABLE);
        CHECK(p.failed.err.hint[0] != '\0');
        CHECK(fake_ask(&d, KEEPER_THAW, s.handle, KEEPER_DONE, NULL));
        end(&s);
}

/* Each packet must end the daemon, and the log must say why. */
static void check_fatal(const char *what, const void *packet, size_t len)
{
        struct fake_sandbox s;
        char log[4096];
        pid_t pids[MANY];
        fake_up(&d, NULL);
        CHECK(fake_make(&d, NULL, &s) && fake_ready(&s));
        size_t n = fake_descendants(d.pid, pids, MANY);
        struct keeper_about about;
        if (len == sizeof about) { /* about that sandbox, where it matters */
                memcpy(&about, packet, sizeof about);
                if (about.sandbox == 1)
                        about.sandbox = s.handle;
                packet = &about;
        }
        fake_send(&d, packet, len);
        int status = fake_wait(&d, 2000);
        if (status != 1)
                printf("# %s\n", what);
        CHECK_INT(status, 1);
        CHECK_INT(fake_alive(pids, n), 0);
        fake_log(&d, log, sizeof log);
        CHECK(strstr(log, what) != NULL);
        close(s.control);
        fake_done(&d);
}

/* Sends a request to make a sandbox, with this change. */
#define BAD(what, change)                                                                                    \
        do {                                                                                                 \
                make = good;                                                                                 \
                change;                                                                                      \
                check_fatal(what, &make, sizeof make);                                                       \
        } while (0)

TEST(bad_packets_end_the_daemon)
{
        struct keeper_make make, good;
        const struct keeper_about end = {.type = KEEPER_END, .number = 1, .sandbox = 1};
        struct keeper_about about = end;
        static char large[sizeof(struct keeper_make_mounts) + 8] = {KEEPER_END};
        static struct keeper_make_mounts mounts;
        fake_fill(&good);
        check_fatal("too short", "\2\0", 2);
        check_fatal("closed its socket", "", 0);
        about.type = 77;
        check_fatal("unknown request", &about, sizeof about);
        about.type = KEEPER_MADE;
        check_fatal("unknown request", &about, sizeof about);
        check_fatal("wrong size", &end, sizeof end - 1);
        check_fatal("wrong size", &good, sizeof good - 8);
        check_fatal("too large", large, sizeof large);
        about = end;
        about.reserved = 1;
        check_fatal("out of range", &about, sizeof about);
        about = end;
        about.sandbox = 4711;
        check_fatal("not there", &about, sizeof about);
        about.sandbox = 0;
        check_fatal("not there", &about, sizeof about);
        about = end;
        about.type = KEEPER_READY; /* the request names no sandbox */
        check_fatal("out of range", &about, sizeof about);
        BAD("unknown kind", make.workspace = 4);
        BAD("out of range", make.required = 1u << 20);
        BAD("out of range", make.user_root = 2);
        BAD("out of range", make.network = 2);
        BAD("unterminated string", memset(make.id, 'a', sizeof make.id));
        BAD("bad id", make.id[0] = '\0');
        BAD("unterminated string", memset(make.root, '/', sizeof make.root));
        BAD("unterminated string", memset(make.image, 'a', sizeof make.image));
        BAD("bad image", strcpy(make.image, "../../etc"));
        BAD("without an image", make.uid = 1);
        BAD("out of range", (memset(make.image, 'a', 64), make.uid = 0xffffffffu));
        BAD("without isolation", (memset(make.image, 'a', 64), make.direct = 1));
        BAD("wrong size", make.mounts_len = 1);
        BAD("wrong size", make.mounts_len = 0xffffffffu);
        static const char *const bad_mounts[] = {"r/srv",       "r/srv\0/workspace/x", "r/srv\0/a/../b",
                                                 "rsrv\0/data", "x/srv\0/data",        "r/srv\0/etc"};
        for (size_t i = 0; i < ARRAY_LEN(bad_mounts); i++) {
                const char *source_end = bad_mounts[i] + strlen(bad_mounts[i]) + 1;
                mounts.make = good;
                mounts.make.mounts_len =
                        (uint32_t)(i == 0 ? strlen(bad_mounts[i]) + 1
                                          : (size_t)(source_end - bad_mounts[i]) + strlen(source_end) + 1);
                memcpy(mounts.mounts, bad_mounts[i], mounts.make.mounts_len);
                check_fatal("a bad mount", &mounts, sizeof mounts.make + mounts.make.mounts_len);
        }
}

TEST(the_keeper_answers_a_ping)
{
        const struct keeper_about ping = {.type = KEEPER_PING, .number = 7};
        struct keeper_about bad = ping;
        union fake_packet p;
        fake_up(&d, NULL);
        CHECK(fake_send(&d, &ping, sizeof ping));
        CHECK(fake_receive(&d, &p, NULL, 5000) > 0);
        CHECK(p.type == KEEPER_DONE && p.number == 7 && p.about.sandbox == 0);
        fake_done(&d);
        bad.sandbox = 1;
        check_fatal("out of range", &bad, sizeof bad);
}

TEST(a_descriptor_sent_to_the_keeper_ends_the_daemon)
{
        const struct keeper_about ready = {.type = KEEPER_READY};
        char control[CMSG_SPACE(sizeof(int))] = {0};
        struct iovec part = {(void *)&ready, sizeof ready};
        struct msghdr msg = {
                .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        fake_up(&d, NULL);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &d.link, sizeof(int));
        CHECK(sendmsg(d.keeper, &msg, MSG_NOSIGNAL) > 0);
        CHECK_INT(fake_wait(&d, 2000), 1);
}

TEST(a_request_about_an_ended_sandbox_ends_the_daemon)
{
        struct fake_sandbox s, other;
        fake_up(&d, NULL);
        CHECK(fake_make(&d, NULL, &s) && fake_ready(&s));
        CHECK(fake_ask(&d, KEEPER_END, s.handle, KEEPER_ENDED, NULL));
        CHECK(fake_make(&d, NULL, &other) && other.handle != s.handle);
        CHECK(fake_ask(&d, KEEPER_COUNT, s.handle, 0, NULL));
        CHECK_INT(fake_wait(&d, 2000), 1);
}

/* Returns the worker that the keeper announces, in the form of a daemon. */
static struct fake_daemon next_worker(void)
{
        struct fake_daemon worker = d;
        union fake_packet p;
        worker.keeper = -1;
        CHECK(fake_receive(&d, &p, &worker.keeper, 5000) == sizeof p.about && p.type == KEEPER_WORKER &&
              p.number == 0 && p.about.sandbox == 0 && worker.keeper >= 0);
        return worker;
}

TEST(a_worker_makes_sandboxes_and_serves_no_other_requests)
{
        static const char *const two[] = {"--workers", "2", NULL};
        const struct keeper_about ready = {.type = KEEPER_READY, .number = 1};
        struct fake_sandbox by_keeper, by_worker;
        fake_up(&d, two);
        struct fake_daemon worker = next_worker();
        CHECK(fake_make(&d, NULL, &by_keeper) && fake_ready(&by_keeper));
        CHECK(fake_make(&worker, NULL, &by_worker) && fake_ready(&by_worker));
        CHECK(fake_ask(&worker, KEEPER_END, by_worker.handle, KEEPER_ENDED, NULL));
        end(&by_keeper);
        close(by_worker.control);
        CHECK(fake_send(&worker, &ready, sizeof ready));
        CHECK_INT(fake_wait(&d, 5000), 1);
        close(worker.keeper);
}

TEST(a_worker_opens_no_persistent_workspace)
{
        static const char *const two[] = {"--workers", "2", NULL};
        struct keeper_make make;
        fake_up(&d, two);
        struct fake_daemon worker = next_worker();
        fake_fill(&make);
        make.number = 1;
        make.workspace = KEEPER_PERSISTENT;
        strcpy(make.name, "kept");
        CHECK(fake_send(&worker, &make, sizeof make));
        CHECK_INT(fake_wait(&d, 5000), 1);
        close(worker.keeper);
}

TEST(a_worker_that_dies_is_replaced)
{
        static const char *const two[] = {"--workers", "2", NULL};
        struct fake_sandbox s;
        pid_t pids[MANY];
        fake_up(&d, two);
        struct fake_daemon worker = next_worker();
        CHECK(fake_make(&worker, NULL, &s) && fake_ready(&s));
        size_t n = fake_descendants(d.pid, pids, MANY);
        pid_t pid = 0;
        for (size_t i = 0; i < n && !pid; i++) { /* the parent of the sandbox */
                pid_t below[MANY];
                if (pids[i] != d.server && fake_descendants(pids[i], below, MANY) > 0)
                        pid = pids[i];
        }
        CHECK(pid > 0 && kill(pid, SIGKILL) == 0);
        close(s.control);
        close(worker.keeper);
        worker = next_worker();
        CHECK(fake_make(&worker, NULL, &s) && fake_ready(&s));
        close(s.control);
        close(worker.keeper);
}

TEST(bad_names_end_the_daemon)
{
        static const char *const names[] = {"",     "..",  ".",           ".hidden", "a/b", "/",
                                            "a\nb", "a b", "caf\xc3\xa9", "../x",    "x/",  "a\\b"};
        struct keeper_make make;
        fake_fill(&make);
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                make.workspace = KEEPER_PERSISTENT;
                snprintf(make.name, sizeof make.name, "%s", names[i]);
                check_fatal("bad name", &make, sizeof make);
        }
        make.workspace = KEEPER_READ_WRITE;
        snprintf(make.name, sizeof make.name, "good");
        snprintf(make.root, sizeof make.root, "srv");
        check_fatal("relative path", &make, sizeof make);
        memset(make.name, 'a', sizeof make.name);
        check_fatal("unterminated string", &make, sizeof make);
}

/* Requests a host workspace.  Returns the kind of the error, or CELLA_OK. */
static enum cella_kind ask_root(const char *root, const char *name, uint32_t workspace,
                                struct fake_sandbox *ret)
{
        struct keeper_make make;
        union fake_packet p;
        int fd = -1;
        fake_fill(&make);
        make.workspace = workspace;
        snprintf(make.root, sizeof make.root, "%s", root);
        snprintf(make.name, sizeof make.name, "%s", name);
        if (!fake_send(&d, &make, sizeof make) || fake_receive(&d, &p, &fd, 5000) <= 0)
                return CELLA_INTERNAL;
        if (p.type == KEEPER_FAILED && p.failed.err.kind != CELLA_ACCESS_DENIED)
                printf("# %s: %s\n", root, p.failed.err.msg);
        if (p.type == KEEPER_FAILED)
                return p.failed.err.kind;
        ret->control = fd;
        ret->handle = p.made.sandbox;
        return CELLA_OK;
}

TEST(system_directories_are_no_workspaces)
{
        static const char *const roots[] = {
                "/",    "/etc",     "/usr",    "/usr/share",  "/bin",        "/var",
                "/dev", "/proc",    "/proc/1", "/sys",        "/root",       "/run",
                "/lib", "/var/lib", "//etc/",  "/etc/../etc", "/tmp/../usr", "/proc/self/root/tmp"};
        struct fake_sandbox s;
        struct stat st;
        char path[128], link[128];
        fake_up(&d, NULL);
        for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
                if (stat(roots[i], &st) < 0)
                        continue; /* a small machine */
                enum cella_kind kind = ask_root(roots[i], "x", KEEPER_READ_WRITE, &s);
                if (kind != CELLA_ACCESS_DENIED)
                        printf("# %s\n", roots[i]);
                CHECK_INT(kind, CELLA_ACCESS_DENIED);
        }
        /* Also through links; also the daemon's own directory and its parents. */
        snprintf(link, sizeof link, "%s/link", d.directory);
        CHECK(symlink("/etc", link) == 0);
        CHECK_INT(ask_root(link, "x", KEEPER_READ_ONLY, &s), CELLA_ACCESS_DENIED);
        unlink(link);
        CHECK(symlink("/proc/self/root", link) == 0);
        CHECK_INT(ask_root(link, "tmp", KEEPER_READ_ONLY, &s), CELLA_ACCESS_DENIED);
        snprintf(path, sizeof path, "%s/state", d.directory);
        CHECK_INT(ask_root(path, "workspaces", KEEPER_READ_ONLY, &s), CELLA_ACCESS_DENIED);
        CHECK_INT(ask_root(d.directory, "x", KEEPER_READ_ONLY, &s), CELLA_ACCESS_DENIED);
        CHECK_INT(ask_root("/nowhere/at/all", "x", KEEPER_READ_ONLY, &s), CELLA_NOT_FOUND);
}

static int run_in(struct fake_sandbox *s, const char *script)
{
        return fake_ready(s) && fake_spawn(s, script, true) ? WEXITSTATUS(fake_exited(s)) : -1;
}

static void make_root(char *path, size_t size)
{
        snprintf(path, size, "%s/cella-root-XXXXXX", fake_temporary());
        CHECK(mkdtemp(path) != NULL);
}

static enum cella_kind ask_mount(const char *source, bool writable, struct fake_sandbox *s)
{
        static struct keeper_make_mounts mounts;
        union fake_packet p;
        const struct mounts_item item = {source, "/data", writable};
        size_t len = 0;
        fake_fill(&mounts.make);
        CHECK_INT(mounts_put(mounts.mounts, sizeof mounts.mounts, &len, &item), 0);
        mounts.make.mounts_len = (uint32_t)len;
        CHECK(fake_send(&d, &mounts, sizeof mounts.make + len));
        CHECK(fake_receive(&d, &p, &s->control, 5000) > 0);
        if (p.type == KEEPER_FAILED)
                return p.failed.err.kind;
        CHECK_INT(p.type, KEEPER_MADE);
        s->handle = p.made.sandbox;
        s->made = p.made;
        return CELLA_OK;
}

/* The server names the directory, so its settings protect nothing here. */
TEST(mounts_of_the_system_are_refused)
{
        static const char *const sources[] = {"/etc",     "/",    "/root",      "/proc/self/root",
                                              "/usr/lib", "/var", "/srv/../etc"};
        struct fake_sandbox s;
        char path[256];
        fake_up(&d, NULL);
        for (size_t i = 0; i < ARRAY_LEN(sources); i++)
                CHECK_INT(ask_mount(sources[i], true, &s), CELLA_ACCESS_DENIED);
        snprintf(path, sizeof path, "%s/link", d.directory);
        CHECK(symlink("/etc", path) == 0);
        CHECK_INT(ask_mount(path, false, &s), CELLA_ACCESS_DENIED);
        snprintf(path, sizeof path, "%s/state/workspaces", d.directory);
        CHECK_INT(ask_mount(path, false, &s), CELLA_ACCESS_DENIED);
        CHECK_INT(ask_mount("/nowhere/at/all", false, &s), CELLA_NOT_FOUND);
}

TEST(a_mount_shows_its_directory)
{
        struct fake_sandbox s;
        char root[64], path[256];
        struct stat st;
        make_root(root, sizeof root);
        fake_up(&d, NULL);
        CHECK_INT(ask_mount(root, true, &s), CELLA_OK);
        CHECK_INT(run_in(&s, "echo hello >/data/file"), 0);
        end(&s);
        snprintf(path, sizeof path, "%s/file", root);
        CHECK(stat(path, &st) == 0);
        CHECK_INT(st.st_uid, geteuid());
        CHECK_INT(ask_mount(root, false, &s), CELLA_OK);
        CHECK_INT(run_in(&s, "grep -q hello /data/file && ! touch /data/other 2>/dev/null"), 0);
        end(&s);
        stop();
        fake_done(&d);
        snprintf(path, sizeof path, "rm -rf %s", root);
        CHECK(system(path) == 0);
}

static enum cella_kind ask_raise(const struct fake_sandbox *s, uint64_t memory, uint32_t processes,
                                 uint32_t cpus)
{
        const struct keeper_limits raise = {
                .about = {.type = KEEPER_LIMITS, .number = 9, .sandbox = s->handle},
                .memory_bytes = memory,
                .processes = processes,
                .cpus_milli = cpus};
        union fake_packet p;
        CHECK(fake_send(&d, &raise, sizeof raise));
        CHECK(fake_receive(&d, &p, NULL, 5000) > 0 && p.number == 9);
        return p.type == KEEPER_FAILED ? p.failed.err.kind : CELLA_OK;
}

TEST(limits_of_a_live_sandbox_are_raised)
{
        struct fake_sandbox s;
        struct keeper_make make;
        fake_up(&d, NULL);
        fake_fill(&make);
        make.long_lived = 1;
        make.limits.processes = 5;
        CHECK(fake_make(&d, &make, &s));
        const bool can = is_root() && !(s.made.missing & CELLA_LIMIT_PROCESSES);
        CHECK(fake_ready(&s));
        CHECK_INT(ask_raise(&s, 0, 0, 0), CELLA_OK); /* nothing is changed */
        CHECK_INT(ask_raise(&s, 1, 0, 0), CELLA_INVALID_REQUEST);
        CHECK_INT(ask_raise(&s, UINT64_MAX, 0, 0), CELLA_INVALID_REQUEST);
        CHECK_INT(ask_raise(&s, 0, 30, 0), can ? CELLA_OK : CELLA_ISOLATION_UNAVAILABLE);
        CHECK(fake_spawn(
                &s, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 30 & done", true));
        const int status = WEXITSTATUS(fake_exited(&s));
        CHECK(!can || status == 0);
        CHECK(fake_ask(&d, KEEPER_KILL, s.handle, 0, NULL));
        union fake_packet p;
        CHECK(fake_receive(&d, &p, NULL, 5000) > 0 && p.type == KEEPER_DIED);
        CHECK_INT(ask_raise(&s, 0, 60, 0), CELLA_NOT_FOUND);
        end(&s);
}

TEST(host_workspaces_are_shown_and_made)
{
        struct fake_sandbox s;
        struct stat st;
        char root[64], path[128];
        make_root(root, sizeof root);
        if (is_root())
                CHECK(chown(root, 4321, 4321) == 0);
        fake_up(&d, NULL);
        CHECK_INT(ask_root(root, "agent", KEEPER_READ_WRITE, &s), CELLA_OK);
        CHECK_INT(run_in(&s, "echo hello >/workspace/file"), 0);
        end(&s);
        snprintf(path, sizeof path, "%s/agent", root);
        CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0700);
        CHECK_INT(st.st_uid, is_root() ? 4321 : geteuid());
        snprintf(path, sizeof path, "%s/agent/file", root);
        CHECK(stat(path, &st) == 0);
        CHECK_INT(st.st_uid, is_root() ? 4321 : geteuid());
        CHECK_INT(ask_root(root, "agent", KEEPER_READ_ONLY, &s), CELLA_OK);
        CHECK_INT(run_in(&s, "grep -q hello /workspace/file && ! touch /workspace/other 2>/dev/null"), 0);
        end(&s);
        /* A link in its place is not followed. */
        snprintf(path, sizeof path, "%s/trap", root);
        CHECK(symlink("/etc", path) == 0);
        CHECK(ask_root(root, "trap", KEEPER_READ_ONLY, &s) != CELLA_OK);
        stop();
        fake_done(&d);
        snprintf(path, sizeof path, "rm -rf %s", root);
        CHECK(system(path) == 0);
}

TEST(a_pin_holds_host_workspaces)
{
        struct fake_sandbox s;
        char root[64], other[64], path[256];
        make_root(root, sizeof root);
        make_root(other, sizeof other);
        snprintf(path, sizeof path, "%s/below", root);
        CHECK(mkdir(path, 0700) == 0);
        fake_up(&d, (const char *[]){"--workspace-root", root, NULL});
        CHECK_INT(ask_root(other, "x", KEEPER_READ_WRITE, &s), CELLA_ACCESS_DENIED);
        CHECK_INT(ask_root(fake_temporary(), "x", KEEPER_READ_WRITE, &s), CELLA_ACCESS_DENIED);
        CHECK_INT(ask_root(root, "x", KEEPER_READ_WRITE, &s), CELLA_OK);
        end(&s);
        CHECK_INT(ask_root(path, "x", KEEPER_READ_WRITE, &s), CELLA_OK);
        end(&s);
        stop();
        fake_done(&d);
        snprintf(path, sizeof path, "rm -rf %s %s", root, other);
        CHECK(system(path) == 0);
}

TEST(persistent_workspaces_stay)
{
        struct keeper_make make;
        struct fake_sandbox s;
        union fake_packet p;
        char path[128];
        fake_up(&d, NULL);
        fake_fill(&make);
        make.workspace = KEEPER_PERSISTENT;
        strcpy(make.name, "mine");
        /* The server makes it; before, there is none. */
        CHECK(fake_send(&d, &make, sizeof make) && fake_receive(&d, &p, NULL, 2000) > 0 &&
              p.type == KEEPER_FAILED && p.failed.err.kind == CELLA_NOT_FOUND);
        snprintf(path, sizeof path, "%s/state/workspaces/mine", d.directory);
        CHECK(mkdir(path, 0700) == 0);
        if (is_root()) {
                CHECK(fake_send(&d, &make, sizeof make) && fake_receive(&d, &p, NULL, 2000) > 0 &&
                      p.type == KEEPER_FAILED && p.failed.err.kind == CELLA_ACCESS_DENIED); /* root's */
                CHECK(chown(path, 1879048190u, 1879048190u) == 0);
        }
        for (int i = 0; i < 2; i++) {
                CHECK(fake_make(&d, &make, &s));
                CHECK_INT(run_in(&s, i == 0 ? "echo 1 >/workspace/file" : "grep -q 1 /workspace/file"), 0);
                end(&s);
        }
        /* A link that the server could make is not followed. */
        snprintf(path, sizeof path, "%s/state/workspaces/link", d.directory);
        CHECK(symlink("/etc", path) == 0);
        strcpy(make.name, "link");
        CHECK(fake_send(&d, &make, sizeof make) && fake_receive(&d, &p, NULL, 2000) > 0 &&
              p.type == KEEPER_FAILED);
}

static bool refused(const struct keeper_make *make, enum cella_kind kind)
{
        union fake_packet p;
        return fake_send(&d, make, sizeof *make) && fake_receive(&d, &p, NULL, 2000) > 0 &&
               p.type == KEEPER_FAILED && p.failed.err.kind == kind;
}

/* The server owns the store.  It must not be able to use a file of another user as an image. */
TEST(an_image_is_a_directory_of_the_servers_own_store)
{
        struct keeper_make make;
        struct fake_sandbox s;
        char store[96], root[200], other[200];
        fake_up(&d, NULL);
        fake_fill(&make);
        memset(make.image, 'a', 64);
        snprintf(store, sizeof store, "%s/state/images", d.directory);
        snprintf(root, sizeof root, "%s/roots/%.64s", store, make.image);
        snprintf(other, sizeof other, "%s/other", d.directory);
        CHECK(refused(&make, CELLA_NOT_FOUND));
        CHECK(mkdir(store, 0700) == 0 || errno == EEXIST);
        snprintf(other, sizeof other, "%s/roots", store);
        CHECK(mkdir(other, 0700) == 0 || errno == EEXIST);
        CHECK(symlink("/etc", root) == 0);
        CHECK(refused(&make, CELLA_NOT_FOUND));
        CHECK(unlink(root) == 0 && mkdir(root, 0755) == 0);
        if (is_root()) {
                CHECK(chown(store, 1879048190u, 1879048190u) == 0);
                CHECK(refused(&make, CELLA_ACCESS_DENIED)); /* root's */
                CHECK(chown(store, 0, 0) == 0);
                CHECK(refused(&make, CELLA_ACCESS_DENIED)); /* all of it root's */
                CHECK(chown(store, 1879048190u, 1879048190u) == 0 &&
                      chown(root, 1879048190u, 1879048190u) == 0);
        }
        make.uid = 501;
        make.gid = 502;
        CHECK(fake_make(&d, &make, &s) && fake_ready(&s));
        CHECK(fake_ask(&d, KEEPER_END, s.handle, KEEPER_ENDED, NULL));
        /* The whole store is replaced by a link to another place. */
        snprintf(other, sizeof other, "%s/moved", d.directory);
        CHECK(rename(store, other) == 0 && symlink(other, store) == 0);
        CHECK(refused(&make, CELLA_NOT_FOUND));
        close(s.control);
}

/* Makes a persistent workspace of this name, as the server does. */
static void mark(const char *name, struct keeper_make *make)
{
        char path[200];
        fake_fill(make);
        make->workspace = KEEPER_PERSISTENT;
        snprintf(make->name, sizeof make->name, "%s", name);
        make->limits.disk_bytes = 1 << 20;
        make->limits.disk_inodes = 100;
        snprintf(path, sizeof path, "%s/state/workspaces/%s", d.directory, name);
        CHECK(mkdir(path, 0700) == 0 && chown(path, 1879048190u, 1879048190u) == 0);
}

static bool has_volumes(void)
{
        return is_root() && access("/dev/loop-control", R_OK | W_OK) == 0 &&
               (access("/usr/sbin/mke2fs", X_OK) == 0 || access("/sbin/mke2fs", X_OK) == 0);
}

static int volumes_that(const char *prefix, const char *suffix)
{
        char path[200];
        int n = 0;
        snprintf(path, sizeof path, "%s/state/volumes", d.directory);
        DIR *dir = opendir(path);
        for (const struct dirent *e; dir && (e = readdir(dir));) {
                size_t len = strlen(e->d_name), end = strlen(suffix);
                n += !strncmp(e->d_name, prefix, strlen(prefix)) && len >= end &&
                     !strcmp(e->d_name + len - end, suffix);
        }
        if (dir)
                closedir(dir);
        return n;
}

TEST(a_volume_is_mounted_once)
{
        struct keeper_make make;
        struct fake_sandbox s, other;
        union fake_packet p;
        if (!has_volumes())
                SKIP("no volumes here");
        fake_up(&d, NULL);
        mark("one", &make);
        CHECK(fake_make(&d, &make, &s) && fake_ready(&s));
        CHECK(fake_spawn(&s, "echo 1 >/workspace/file", false));
        CHECK_INT(fake_exited(&s), 0);
        /* Two mounts of one file system would destroy it. */
        CHECK(fake_send(&d, &make, sizeof make) && fake_receive(&d, &p, NULL, 2000) > 0 &&
              p.type == KEEPER_FAILED && p.failed.err.kind == CELLA_OVER_CAPACITY &&
              p.failed.err.num == -EBUSY);
        /* After a volume was dropped, one of the same name is new. */
        struct keeper_drop drop = {.type = KEEPER_DROP, .name = "one"};
        CHECK(fake_send(&d, &drop, sizeof drop));
        CHECK(fake_make(&d, &make, &other));
        CHECK_INT(run_in(&other, "! test -e /workspace/file && echo 2 >/workspace/new"), 0);
        end(&s);
        end(&other);
        for (int i = 0; i < rounds(20); i++) { /* and when it has ended, there is nothing to wait for */
                CHECK(fake_make(&d, &make, &s));
                CHECK_INT(run_in(&s, "grep -q 2 /workspace/new"), 0);
                end(&s);
        }
}

TEST(volumes_of_hostile_limits_and_names)
{
        struct keeper_make make;
        struct fake_sandbox s;
        union fake_packet p;
        if (!has_volumes())
                SKIP("no volumes here");
        fake_up(&d, NULL);
        mark("large", &make);
        for (int i = 0; i < 3; i++) {
                make.limits.disk_bytes = i == 0 ? UINT64_MAX : i == 1 ? (uint64_t)INT64_MAX : 1 << 20;
                make.limits.disk_inodes = i == 2 ? UINT64_MAX / 256 : 100;
                CHECK(fake_send(&d, &make, sizeof make) && fake_receive(&d, &p, NULL, 2000) > 0 &&
                      p.type == KEEPER_FAILED && p.failed.err.kind == CELLA_INVALID_REQUEST);
        }
        CHECK_INT(volumes_that("", ""), 2); /* . and .. */
        /* Names that are in use there, and the smallest limits. */
        static const char *const names[] = {"new", "template-1048576-100", "template-1"};
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                mark(names[i], &make);
                make.limits.disk_bytes = 65536;
                make.limits.disk_inodes = i == 0 ? 16 : 100000000;
                CHECK(fake_make(&d, &make, &s));
                CHECK_INT(run_in(&s, "echo 1 >/workspace/file"), 0);
                end(&s);
        }
        /* Only few templates of different sizes are kept, and no volume in use is removed. */
        mark("many", &make);
        for (int i = 0; i < 40; i++) {
                struct keeper_drop drop = {.type = KEEPER_DROP, .name = "many"};
                make.limits.disk_inodes = 16 + (uint64_t)i;
                CHECK(fake_make(&d, &make, &s));
                end(&s);
                CHECK(fake_send(&d, &drop, sizeof drop));
        }
        CHECK(SOON(volumes_that("", ".ext4") == 3, 1000));
        CHECK(volumes_that("template-", "") <= 16 + 2);
}

/* Changes that the server makes in its own directory must not harm the keeper, which runs as root and uses it
 * again. */
TEST(files_of_root_are_not_given_to_the_sandbox)
{
        char from[200], to[200], log[4096] = "";
        struct stat st;
        if (!has_volumes())
                SKIP("no volumes here");
        fake_up(&d, NULL);
        struct keeper_make make;
        struct fake_sandbox s;
        mark("one", &make);
        CHECK(fake_make(&d, &make, &s));
        end(&s);
        stop();
        close(d.keeper);
        close(d.link);
        d.keeper = d.link = -1;
        snprintf(from, sizeof from, "%s/state/workspaces", d.directory);
        snprintf(to, sizeof to, "%s/state/old", d.directory);
        CHECK(rename(from, to) == 0);
        snprintf(to, sizeof to, "%s/state/volumes", d.directory);
        CHECK(rename(to, from) == 0);
        CHECK(!fake_start(&d, true, NULL));
        fake_log(&d, log, sizeof log);
        CHECK(strstr(log, "belongs to root") != NULL);
        CHECK(stat(from, &st) == 0 && st.st_uid == 0);
        /* The directory is restored; the locked file has a second name. */
        CHECK(rename(from, to) == 0);
        snprintf(to, sizeof to, "%s/state/old", d.directory);
        CHECK(rename(to, from) == 0);
        snprintf(from, sizeof from, "%s/state/lock", d.directory);
        snprintf(to, sizeof to, "%s/precious", d.directory);
        CHECK(link(from, to) == 0);
        CHECK(!fake_start(&d, true, NULL));
        fake_log(&d, log, sizeof log);
        CHECK(strstr(log, "not a regular file with one link") != NULL);
        unlink(to);
        fake_done(&d);
}

TEST(limits_out_of_range_are_refused_and_nothing_more)
{
        struct keeper_make make;
        union fake_packet p;
        struct fake_sandbox s;
        fake_up(&d, NULL);
        fake_fill(&make);
        make.limits.memory_bytes = 1;
        CHECK(fake_send(&d, &make, sizeof make) && fake_receive(&d, &p, NULL, 2000) == sizeof p.failed);
        CHECK(p.type == KEEPER_FAILED && p.number == 7 && p.failed.err.kind == CELLA_INVALID_REQUEST);
        CHECK(fake_make(&d, NULL, &s) && fake_ready(&s));
        end(&s);
}

TEST(a_server_that_does_not_read_blocks_no_process)
{
        const struct keeper_about about = {.type = KEEPER_COUNT, .number = 5};
        struct keeper_about count = about;
        struct fake_sandbox s;
        union fake_packet p;
        int sent = 0, got = 0;
        fake_up(&d, NULL);
        CHECK(fake_make(&d, NULL, &s) && fake_ready(&s));
        count.sandbox = s.handle;
        while (sent < 100000 && send(d.keeper, &count, sizeof count, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
                sent++;
                if (sent % 500 == 0)
                        usleep(1000);
        }
        CHECK(sent < 100000); /* it stopped reading when the server did not read */
        while (got < sent && fake_receive(&d, &p, NULL, 2000) > 0 && p.type == KEEPER_COUNTED)
                got++;
        CHECK_INT(got, sent);
        end(&s);
}

TEST(reload_and_ready_are_passed_on)
{
        const struct keeper_about ready = {.type = KEEPER_READY, .number = 1};
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        union fake_packet p;
        char text[64] = "", log[4096];
        snprintf(address.sun_path, sizeof address.sun_path, "/tmp/cella-notify-%d", (int)getpid());
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        CHECK(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
        setenv("NOTIFY_SOCKET", address.sun_path, 1);
        fake_up(&d, NULL);
        unsetenv("NOTIFY_SOCKET");
        CHECK(fake_send(&d, &ready, sizeof ready));
        struct pollfd wait = {fd, POLLIN, 0};
        CHECK(poll(&wait, 1, 2000) == 1 && read(fd, text, sizeof text - 1) > 0);
        CHECK_STR(text, "READY=1");
        kill(d.pid, SIGHUP);
        CHECK(fake_receive(&d, &p, NULL, 2000) > 0 && p.type == KEEPER_RELOAD && p.number == 0);
        stop();
        fake_log(&d, log, sizeof log);
        CHECK(!strncmp(log, "{\"time\": \"20", 12) && strstr(log, "\"process\": \"keeper\"") &&
              strstr(log, "\"message\": \"stopped\""));
        close(fd);
        unlink(address.sun_path);
}

TEST(stops_with_sandboxes_and_immediately_at_the_second_signal)
{
        struct fake_sandbox s[4];
        pid_t pids[MANY];
        fake_up(&d, NULL);
        populate(s, 4);
        size_t n = fake_descendants(d.pid, pids, MANY);
        stop();
        CHECK_INT(fake_alive(pids, n), 0);
        for (int i = 0; i < 4; i++)
                close(s[i].control);
        fake_done(&d);
        fake_up(&d, NULL);
        kill(d.pid, SIGTERM);
        usleep(50000);
        CHECK_INT(fake_wait(&d, 0), -1); /* it waits for the server */
        kill(d.pid, SIGINT);
        CHECK_INT(fake_wait(&d, 2000), 1);
}

/* Starts a second daemon on the same directory.  Returns its exit status and its output. */
static int second(const char *const *arguments, char *said, size_t size)
{
        int out[2];
        CHECK(pipe(out) == 0);
        pid_t pid = fork();
        if (pid == 0) {
                char program[128];
                snprintf(program, sizeof program, "%s/cella", d.directory);
                dup2(out[1], STDERR_FILENO);
                execv(program, (char *const *)arguments);
                _exit(126);
        }
        close(out[1]);
        ssize_t n = read(out[0], said, size - 1);
        said[n > 0 ? n : 0] = '\0';
        close(out[0]);
        int status;
        waitpid(pid, &status, 0);
        return WEXITSTATUS(status);
}

TEST(a_second_daemon_on_the_same_directory_is_refused)
{
        char state[128], socket[128], said[1024], should[256];
        fake_up(&d, NULL);
        snprintf(state, sizeof state, "%s/state", d.directory);
        snprintf(socket, sizeof socket, "%s/other.sock", d.directory);
        CHECK_INT(second((const char *[]){"cella", "serve", "--listen", "none", "--state", state, "--socket",
                                          socket, NULL},
                         said, sizeof said),
                  125);
        snprintf(should, sizeof should, "cella: another cella serve (pid %d) uses %s\n", (int)d.pid, state);
        CHECK_STR(said, should);
}

TEST(sockets_in_use_are_refused_and_stale_ones_replaced)
{
        char state[128], socket_path[128], said[1024], port[32];
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        struct stat st;
        fake_up(&d, NULL);
        snprintf(socket_path, sizeof socket_path, "%s/cella.sock", d.directory);
        CHECK(stat(socket_path, &st) == 0 && (st.st_mode & 0777) == 0666);
        snprintf(state, sizeof state, "%s/state2", d.directory);
        CHECK_INT(second((const char *[]){"cella", "serve", "--listen", "none", "--state", state, "--socket",
                                          socket_path, NULL},
                         said, sizeof said),
                  125);
        CHECK(strstr(said, "another process listens on") != NULL);
        /* A port. */
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
        socklen_t len = sizeof in;
        CHECK(bind(fd, (struct sockaddr *)&in, sizeof in) == 0 && listen(fd, 1) == 0 &&
              getsockname(fd, (struct sockaddr *)&in, &len) == 0);
        snprintf(port, sizeof port, "127.0.0.1:%d", ntohs(in.sin_port));
        CHECK_INT(second((const char *[]){"cella", "serve", "--listen", port, "--state", state, "--socket",
                                          "none", NULL},
                         said, sizeof said),
                  125);
        CHECK(strstr(said, "cannot listen on 127.0.0.1:") != NULL &&
              strchr(said, '\n') == strrchr(said, '\n'));
        close(fd);
        CHECK_INT(
                second((const char *[]){"cella", "serve", "--listen", "localhost", NULL}, said, sizeof said),
                2);
        CHECK_INT(second((const char *[]){"cella", "serve", "--state", "relative", NULL}, said, sizeof said),
                  2);
        CHECK_INT(second((const char *[]){"cella", "serve", "--user", "nosuchuser", NULL}, said, sizeof said),
                  2);
        CHECK_INT(second((const char *[]){"cella", "serve", "word", NULL}, said, sizeof said), 2);
        stop();
        CHECK(stat(socket_path, &st) < 0); /* it took its socket with it */
        fake_done(&d);
        /* The socket of a killed daemon. */
        fake_up(&d, NULL);
        kill(d.pid, SIGKILL);
        CHECK_INT(fake_wait(&d, 1000), 128 + SIGKILL);
        snprintf(address.sun_path, sizeof address.sun_path, "%s/cella.sock", d.directory);
        CHECK(stat(address.sun_path, &st) == 0);
        close(d.keeper);
        close(d.link);
        CHECK(fake_start(&d, true, NULL));
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
        close(fd);
}

/* As a service manager starts it: alone in a group of its own.  Then the sandboxes are below it, and
 * what limits the service limits them. */
TEST(sandboxes_are_in_the_group_of_the_service)
{
        static const char group[] = "/sys/fs/cgroup/keeper-test";
        struct fake_sandbox s;
        struct stat st;
        pid_t pids[MANY];
        char path[64], text[4096] = "";
        if (!is_root() || stat("/sys/fs/cgroup/cgroup.procs", &st) < 0)
                SKIP("needs cgroup v2 and root");
        CHECK(mkdir(group, 0755) == 0);
        fake_start_group = group;
        fake_up(&d, NULL);
        fake_start_group = NULL;
        CHECK(fake_make(&d, NULL, &s) && fake_ready(&s));
        size_t n = fake_descendants(d.pid, pids, MANY), inside = 0;
        for (size_t i = 0; i < n; i++) {
                snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pids[i]);
                int fd = open(path, O_RDONLY | O_CLOEXEC);
                ssize_t len = read(fd, text, sizeof text - 1);
                text[len > 0 ? len : 0] = '\0';
                close(fd);
                inside += strstr(text, "/keeper-test/cella-") != NULL;
        }
        CHECK_INT(inside, 1);
        end(&s);
        stop();
        snprintf(path, sizeof path, "%s/keeper", group);
        CHECK(SOON(rmdir(path) == 0 || errno == ENOENT, 1000));
        CHECK(rmdir(group) == 0);
        fake_done(&d);
}

/* Groups that exist only in another hierarchy than the first. */
TEST(leftovers_in_any_hierarchy_are_swept)
{
        static const char *const places[] = {
                "/sys/fs/cgroup/pids/cella-4194001", "/sys/fs/cgroup/cpu/cella-4194002",
                "/sys/fs/cgroup/freezer/cella-4194003", "/sys/fs/cgroup/unified/cella-4194003",
                "/sys/fs/cgroup/cella-4194004"};
        struct stat st;
        int made = 0;
        if (!is_root())
                SKIP("no control groups for an ordinary user here");
        for (size_t i = 0; i < ARRAY_LEN(places); i++)
                if (stat("/sys/fs/cgroup/cgroup.procs", &st) == 0 ? i == 4 : i < 4)
                        made += mkdir(places[i], 0755) == 0;
        CHECK(made > 0);
        fake_up(&d, NULL);
        stop();
        for (size_t i = 0; i < ARRAY_LEN(places); i++)
                if (strcmp(places[i], "/sys/fs/cgroup/freezer/cella-4194003") != 0 ||
                    stat("/sys/fs/cgroup/unified", &st) < 0)
                        CHECK(SOON(stat(places[i], &st) < 0, 2000)); /* or another daemon removes it */
                else
                        rmdir(places[i]); /* unused where there is v2 beside it */
}

static int compare(const void *a, const void *b)
{
        return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static double median(double *values, size_t n)
{
        qsort(values, n, sizeof *values, compare);
        return values[n / 2];
}

/* Not a test: prints the times for readers of the log. */
TEST(figures)
{
        enum { N = 200 };
        struct keeper_make make;
        struct fake_sandbox s;
        if (fake_slack() > 1)
                SKIP("an emulated machine has none worth reading");
        for (int kind = 0; kind < 4; kind++) {
                static double made[N], ready[N], asked[N], counted[N], ended[N];
                fake_up(&d, NULL);
                fake_fill(&make);
                make.long_lived = kind & 1;
                for (int i = 0; i < N; i++) {
                        if (kind & 2)
                                usleep(15000); /* the keeper has time to get ready for the next one */
                        double begun = fake_now_ms();
                        CHECK(fake_make(&d, &make, &s));
                        made[i] = fake_now_ms() - begun;
                        CHECK(fake_ready(&s));
                        ready[i] = fake_now_ms() - begun;
                        begun = fake_now_ms();
                        CHECK(fake_ask(&d, KEEPER_THAW, s.handle, KEEPER_DONE, NULL)); /* does nothing */
                        asked[i] = fake_now_ms() - begun;
                        CHECK(fake_ask(&d, KEEPER_COUNT, s.handle, KEEPER_COUNTED, NULL));
                        begun = fake_now_ms();
                        CHECK(fake_ask(&d, KEEPER_COUNT, s.handle, KEEPER_COUNTED, NULL));
                        counted[i] = fake_now_ms() - begun;
                        begun = fake_now_ms();
                        end(&s);
                        ended[i] = fake_now_ms() - begun;
                }
                printf("# %s, %s: made %.3f ms, ready %.3f, asked %.3f, counted %.3f, ended %.3f\n",
                       kind & 1 ? "long-lived" : "one-shot", kind & 2 ? "with pauses" : "at once",
                       median(made, N), median(ready, N), median(asked, N), median(counted, N),
                       median(ended, N));
                stop();
                fake_done(&d);
        }
}
