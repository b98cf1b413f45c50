/* jail/cgroup.c -- the control groups of one sandbox.
 *
 * The name is cella-N.  mkdir() reserves N: no other live sandbox has it.  N also determines the sandbox's
 * uid on the host.  A sandbox has the same name in all hierarchies, and each directory is locked (flock)
 * while it is in use.  All are locked because two owners may share one hierarchy and not another.
 *
 * Freezing: v2 has it in every group, and frozen processes can be killed.  A host with v1 usually also has an
 * empty v2 hierarchy, which is used for freezing only.  Without it the v1 freezer is used; its frozen
 * processes do not die before they are thawed. */
#include "jail/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/err.h"
#include "jail/cgroup_home.h"
#include "jail/cgroup_processes.h"
#include "sys/file.h"

#define NUMBERS (1u << 22) /* the number of possible process ids */

#define KEPT_MAX 4096 /* open counter files of all groups together */

/* Memory that a reused group may still be charged with.  The kernel charges in batches of 256 KiB per CPU, so
 * counters are not more exact than this, and some memory is freed after the last process has ended. */
#define LEFT_BYTES_MAX (256u << 10)

static const int controller_of[N_COUNTERS] = {
        [CPU_US] = CPUACCT, [MEMORY_NOW] = MEMORY, [MEMORY_PEAK] = MEMORY, [OOM_KILLS] = MEMORY,
        [PIDS_NOW] = PIDS,  [PIDS_PEAK] = PIDS,    [PIDS_REFUSED] = PIDS,
};
static unsigned kept; /* number of open files, at most about KEPT_MAX */

struct cgroup {
        const struct cgroup_home *home;
        struct cgroup_home *own_home; /* the same, if it must be freed */
        unsigned number;
        char name[24];
        bool has[N_CONTROLLERS];  /* the controller applies to this group */
        bool made[N_CONTROLLERS]; /* this entry's directory must be removed */
        int dir[N_CONTROLLERS];   /* the directory, locked */
        uint32_t missing;
        struct cella_limits limits; /* the current ones */
        bool sockets_limited;
        bool throttled;
        bool frozen;    /* or freezing */
        bool freezable; /* made for a long-lived sandbox */
        /* Counters of long-lived and of reused groups stay open, because they are read often: reading is
         * three times as fast. */
        bool keeps;
        struct counters counters;
        int join[N_CONTROLLERS]; /* files that a joining process writes "0" to */
        bool rested;             /* it was empty before its present sandbox: made ahead, or reused */
        bool fresh;              /* made ahead, and no sandbox has used it */
        bool resets_peak;        /* the file MEMORY_PEAK is open for resetting it, or does not exist */
};

struct path {
        char text[64];
};

static struct path file_of(const struct cgroup *cg, const char *file)
{
        struct path path;
        snprintf(path.text, sizeof path.text, "%s/%s", cg->name, file);
        return path;
}

static int put(const struct cgroup *cg, int controller, const char *file, const char *text)
{
        return sys_write_file(cg->home->parent[controller], file_of(cg, file).text, text);
}

static int set(const struct cgroup *cg, int controller, const char *file, unsigned long long value)
{
        char text[24];
        snprintf(text, sizeof text, "%llu", value);
        return put(cg, controller, file, text);
}

static void set_missing(struct cgroup *cg)
{
        static const uint32_t limit_of[] = {CELLA_LIMIT_MEMORY, CELLA_LIMIT_PROCESSES, CELLA_LIMIT_CPUS,
                                            CELLA_LIMIT_CPU_TIME, 0};
        cg->missing = 0;
        for (int c = 0; c < N_CONTROLLERS; c++)
                if (!cg->has[c] && !(c == CPUACCT && cg->home->parent[c] >= 0))
                        cg->missing |= limit_of[c];
}

/* -EEXIST: the name is in use, or a sweeper took the new directory for a leftover; it is left to the other
 * process. */
static int make_dir(struct cgroup *cg, int c)
{
        const int parent = cg->home->parent[c];
        int r = sys_mkdirat(parent, cg->name, 0755);
        if (r < 0)
                return r;
        AUTO(sys_close) int dir = sys_openat(parent, cg->name, O_RDONLY | O_DIRECTORY, 0);
        if (dir < 0 && dir != -ENOENT) {
                sys_unlinkat(parent, cg->name, AT_REMOVEDIR);
                return dir;
        }
        if (dir < 0 || sys_flock(dir, LOCK_EX | LOCK_NB) < 0 || !cgroup_still_there(parent, cg->name, dir))
                return -EEXIST;
        cg->made[c] = cg->has[c] = true;
        cg->dir[c] = TAKE_FD(dir);
        return 0;
}

/* Removes the directories.  The one that was made first is removed last: a sweeper uses it to find the others
 * if this process is killed. */
static int remove_dirs(struct cgroup *cg)
{
        for (int c = N_CONTROLLERS; c-- > 0;) {
                if (!cg->made[c])
                        continue;
                /* An empty group may have been removed by a sweeper, and the name may belong to another
                 * sandbox now. */
                if (cg->rested && !cgroup_still_there(cg->home->parent[c], cg->name, cg->dir[c])) {
                        cg->made[c] = cg->has[c] = false;
                        sys_close(TAKE_FD(cg->dir[c]));
                        continue;
                }
                if (sys_unlinkat(cg->home->parent[c], cg->name, AT_REMOVEDIR) == -EBUSY)
                        return -EBUSY;
                cg->made[c] = cg->has[c] = false;
                sys_close(TAKE_FD(cg->dir[c]));
        }
        return 0;
}

static int make_dirs(struct cgroup *cg, bool count_cpu, bool freezable)
{
        const struct cgroup_home *home = cg->home;
        for (int c = 0; c < N_CONTROLLERS; c++) {
                if (home->parent[c] < 0 || (c == FREEZER && !freezable && !home->v2))
                        continue;
                if (home->twin[c] >= 0) {
                        cg->has[c] = cg->has[home->twin[c]];
                        continue;
                }
                /* Usually cpuacct shares its hierarchy with cpu.  A separate directory only for counting
                 * costs 0.1 ms and is made only if the count must be exact. */
                if (c == CPUACCT && !count_cpu)
                        continue;
                int r = make_dir(cg, c);
                if (r < 0 && (c != FREEZER || r == -EEXIST)) /* reported when needed */
                        return r;
        }
        return 0;
}

static int make_all(struct cgroup *cg, bool count_cpu, bool freezable)
{
        /* A process tries each number once before it repeats any. */
        static unsigned tries;
        int r = -EEXIST;
        for (unsigned i = 0; i < 1000 && r == -EEXIST; i++) {
                unsigned step = __atomic_fetch_add(&tries, 1, __ATOMIC_RELAXED);
                remove_dirs(cg);
                cg->number = ((unsigned)getpid() + step * 7919) % NUMBERS;
                snprintf(cg->name, sizeof cg->name, CGROUP_PREFIX "%u", cg->number);
                r = make_dirs(cg, count_cpu, freezable);
        }
        return r;
}

/* Swap counts as memory.  A kernel without swap accounting has no such file; that is equivalent only if the
 * host has no swap.  On v1, swapping can be disabled instead. */
static int limit_memory(const struct cgroup *cg, uint64_t bytes)
{
        bool v2 = cg->home->v2;
        int r = set(cg, MEMORY, v2 ? "memory.max" : "memory.limit_in_bytes", bytes);
        if (r < 0)
                return r;
        r = v2 ? set(cg, MEMORY, "memory.swap.max", 0)
               : set(cg, MEMORY, "memory.memsw.limit_in_bytes", bytes);
        if (r == -ENOENT)
                r = v2 ? 0 : set(cg, MEMORY, "memory.swappiness", 0);
        return r;
}

/* init is one process more than the code has; with several commands at once, so are init's helpers. */
static int limit_processes(const struct cgroup *cg, uint32_t processes)
{
        return set(cg, PIDS, "pids.max", processes + 1ull + (cg->freezable ? JAIL_HELPERS : 0));
}

static int set_limits(struct cgroup *cg, const struct cella_limits *limits)
{
        int r = 0;
        if (cg->has[MEMORY])
                r = limit_memory(cg, limits->memory_bytes);
        if (r == 0 && cg->has[PIDS])
                r = limit_processes(cg, limits->processes);
        /* v2 may delegate the other controllers without cpu. */
        if (r == 0 && cg->home->v2 && faccessat(cg->dir[0], "cpu.max", F_OK, 0) < 0)
                cg->has[CPU] = false;
        cg->limits = *limits;
        return r;
}

int cgroup_new(const struct cgroup_home *home, const struct cella_limits *limits, bool freezable,
               struct cgroup **ret, struct cella_err *err)
{
        AUTO(cgroup_free) struct cgroup *cg = calloc(1, sizeof *cg);
        int r = 0;
        if (!cg)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cgroup");
        for (int c = 0; c < N_CONTROLLERS; c++)
                cg->dir[c] = cg->join[c] = -1;
        for (int i = 0; i < N_COUNTERS; i++)
                cg->counters.fd[i] = -1;
        cg->freezable = cg->keeps = freezable;
        cg->home = home;
        if (!home && (r = cgroup_home_open(&cg->own_home, err)) < 0)
                return r;
        if (!home)
                cg->home = cg->own_home;
        cg->counters.v2 = cg->home->v2;
        /* A long-lived sandbox can be asked for usage at any time, and an execution in it may have its own
         * CPU limit. */
        r = make_all(cg, limits->cpu_time_ms > 0 || freezable, freezable);
        if (r == 0)
                r = set_limits(cg, limits);
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                               "cgroup: cannot make a group below /sys/fs/cgroup");
        set_missing(cg);
        *ret = TAKE(cg);
        return 0;
}

/* Opens a file of the group if it is not open.  Returns 0 or -errno. */
static int hold_file(const struct cgroup *cg, int controller, const char *file, int flags, int *fd)
{
        if (*fd >= 0)
                return 0;
        *fd = sys_openat(cg->home->parent[controller], file_of(cg, file).text, flags, 0);
        if (*fd < 0)
                return *fd;
        __atomic_fetch_add(&kept, 1, __ATOMIC_RELAXED);
        return 0;
}

static void let_go_file(int *fd)
{
        if (*fd < 0)
                return;
        sys_close(TAKE_FD(*fd));
        __atomic_fetch_sub(&kept, 1, __ATOMIC_RELAXED);
}

/* The peak of memory is reset by writing to its file.  On v2 that changes only what is read from the same
 * open file, and is possible since Linux 6.12. */
static void hold(struct cgroup *cg, enum counter counter)
{
        const int controller = controller_of[counter];
        const char *file = counter_file(counter, cg->home->v2);
        int *fd = &cg->counters.fd[counter], r = -1;
        if (!cg->has[controller])
                return;
        if (counter == MEMORY_PEAK && cg->rested && *fd < 0) {
                r = hold_file(cg, controller, file, O_RDWR, fd);
                cg->resets_peak = r == 0 || r == -ENOENT;
        }
        if (r < 0)
                hold_file(cg, controller, file, O_RDONLY, fd);
}

bool cgroup_can_keep(void)
{
        return __atomic_load_n(&kept, __ATOMIC_RELAXED) <= KEPT_MAX;
}

void cgroup_forked(void)
{
        kept = 0;
}

static bool may_keep(const struct cgroup *cg)
{
        /* The base of the counters of a reused group is lost when its files are closed. */
        return cg->keeps && (cg->rested || cgroup_can_keep());
}

static void forget(struct cgroup *cg)
{
        for (int c = 0; c < N_CONTROLLERS; c++) {
                sys_close(cg->dir[c]);
                let_go_file(&cg->join[c]);
        }
        for (int i = 0; i < N_COUNTERS; i++)
                let_go_file(&cg->counters.fd[i]);
        cgroup_home_free(cg->own_home);
        free(cg);
}

int cgroup_try_free(struct cgroup *cg)
{
        int r = remove_dirs(cg);
        if (r == 0)
                forget(cg);
        return r;
}

struct cgroup *cgroup_free(struct cgroup *cg)
{
        if (!cg)
                return NULL;
        /* A group stays busy for a moment after its last process was reaped. */
        for (int i = 0; i < 2000 && remove_dirs(cg) == -EBUSY; i++)
                usleep(i < 100 ? 50 : 500);
        forget(cg);
        return NULL;
}

unsigned cgroup_number(const struct cgroup *cg)
{
        return cg->number;
}

uint32_t cgroup_missing(const struct cgroup *cg)
{
        return cg->missing;
}

int cgroup_clone_fd(const struct cgroup *cg)
{
        return cg->home->v2 ? cg->dir[0] : cg->home->freezer_v2 ? cg->dir[FREEZER] : -1;
}

int cgroup_join_fds(struct cgroup *cg, bool cloned_into, int fds[JAIL_CGROUP_FDS_MAX], struct cella_err *err)
{
        const struct cgroup_home *home = cg->home;
        int n = 0;
        for (int c = 0; c < N_CONTROLLERS; c++) {
                bool v2 = home->v2 || (c == FREEZER && home->freezer_v2);
                if (!cg->made[c] || (v2 && cloned_into))
                        continue;
                int r = hold_file(cg, c, v2 ? "cgroup.procs" : "tasks", O_WRONLY, &cg->join[c]);
                if (r < 0)
                        return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "cgroup: cannot open tasks");
                fds[n++] = cg->join[c];
        }
        return n;
}

void cgroup_joined(struct cgroup *cg)
{
        /* The init of a long-lived sandbox joins once. */
        for (int c = 0; c < N_CONTROLLERS && (cg->freezable || !may_keep(cg)); c++)
                let_go_file(&cg->join[c]);
}

static bool get(struct cgroup *cg, enum counter counter, uint64_t *ret)
{
        hold(cg, counter);
        const bool got = counters_get(&cg->counters, counter, ret);
        if (!may_keep(cg))
                let_go_file(&cg->counters.fd[counter]);
        return got;
}

int cgroup_limit_sockets(struct cgroup *cg, const struct cella_limits *limits, struct cella_err *err)
{
        int r = 0;
        if (!cg->home->v2 && cg->has[MEMORY] && !cg->sockets_limited)
                r = set(cg, MEMORY, "memory.kmem.tcp.limit_in_bytes", limits->memory_bytes);
        if (r < 0 && r != -ENOENT) /* not in every kernel */
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                               "cgroup: cannot limit the memory of sockets");
        cg->sockets_limited = true;
        return 0;
}

uint64_t cgroup_cpu_us(struct cgroup *cg)
{
        hold(cg, CPU_US);
        const uint64_t used = counters_cpu_us(&cg->counters);
        if (!may_keep(cg))
                let_go_file(&cg->counters.fd[CPU_US]);
        return used;
}

uint64_t cgroup_uncounted_cpu_us(const struct cgroup *cg)
{
        return cg->has[CPUACCT] || !cg->has[PIDS] ? 0 : cgroup_processes_cpu_us(cg->dir[PIDS]);
}

int cgroup_throttle(struct cgroup *cg, uint32_t cpus_milli)
{
        const unsigned period_us = 100000;
        const unsigned long long quota_us = (unsigned long long)cpus_milli * period_us / 1000;
        char text[48];
        int r;
        if (!cg->has[CPU])
                return 0;
        cg->throttled = true;
        if (cg->home->v2) {
                snprintf(text, sizeof text, "%llu %u", quota_us, period_us);
                return put(cg, CPU, "cpu.max", text);
        }
        r = set(cg, CPU, "cpu.cfs_period_us", period_us);
        if (r == 0)
                r = set(cg, CPU, "cpu.cfs_quota_us", quota_us);
        return r == -EINVAL ? 0 : r; /* EINVAL: the parent group has a lower limit, which applies */
}

void cgroup_unthrottle(struct cgroup *cg)
{
        if (!cg->throttled)
                return;
        int r = cg->home->v2 ? put(cg, CPU, "cpu.max", "max") : put(cg, CPU, "cpu.cfs_quota_us", "-1");
        cg->throttled = r < 0;
}

/* On v1, the limit that includes swap may not be below the other one: to raise both, it is raised first. */
static int change_memory(const struct cgroup *cg, uint64_t bytes)
{
        const bool first = !cg->home->v2 && bytes > cg->limits.memory_bytes;
        int r = first ? set(cg, MEMORY, "memory.memsw.limit_in_bytes", bytes) : 0;
        if (r == 0 || r == -ENOENT)
                r = limit_memory(cg, bytes);
        if (r == 0 && cg->sockets_limited && !cg->home->v2)
                r = set(cg, MEMORY, "memory.kmem.tcp.limit_in_bytes", bytes);
        return r == -ENOENT ? 0 : r; /* see cgroup_limit_sockets() */
}

static int change_limits(struct cgroup *cg, const struct cella_limits *limits)
{
        int r = 0;
        if (cg->has[MEMORY] && limits->memory_bytes != cg->limits.memory_bytes)
                r = change_memory(cg, limits->memory_bytes);
        if (r == 0 && cg->has[PIDS] && limits->processes != cg->limits.processes)
                r = limit_processes(cg, limits->processes);
        cg->limits = *limits;
        return r;
}

int cgroup_change(struct cgroup *cg, const struct cella_limits *limits)
{
        const struct cella_limits before = cg->limits;
        const bool throttled = cg->throttled;
        uint64_t used;
        /* v1 refuses a limit below the usage.  v2 would kill processes. */
        if (cg->has[MEMORY] && limits->memory_bytes < before.memory_bytes && get(cg, MEMORY_NOW, &used) &&
            used > limits->memory_bytes)
                return -EBUSY;
        int r = change_limits(cg, limits);
        if (r == 0 && throttled && limits->cpus_milli != before.cpus_milli) {
                /* v1 refuses a limit above that of the parent group.  Then ours must go. */
                cgroup_unthrottle(cg);
                r = cgroup_throttle(cg, limits->cpus_milli);
        }
        if (r == 0)
                return 0;
        set_limits(cg, &before);
        if (throttled)
                cgroup_throttle(cg, before.cpus_milli);
        return r;
}

static void hold_all(struct cgroup *cg)
{
        for (int i = 0; i < N_COUNTERS; i++)
                hold(cg, i);
}

/* Closes the counters, unless they are kept. */
static void let_go_all(struct cgroup *cg)
{
        for (int i = 0; i < N_COUNTERS && !may_keep(cg); i++)
                let_go_file(&cg->counters.fd[i]);
}

void cgroup_read_usage(struct cgroup *cg, struct cgroup_usage *ret)
{
        hold_all(cg);
        counters_usage(&cg->counters, ret);
        let_go_all(cg);
}

const struct counters *cgroup_counters(const struct cgroup *cg)
{
        return cg->rested && may_keep(cg) ? &cg->counters : NULL;
}

void cgroup_rest(struct cgroup *cg)
{
        cg->rested = cg->fresh = true;
}

bool cgroup_may_serve_again(struct cgroup *cg)
{
        uint64_t left = 1, peak = 0, refused = 1, killed = 1;
        if (cg->freezable || cg->throttled || !cg->has[MEMORY] || !cg->has[PIDS])
                return false;
        cg->rested = true;
        cg->fresh = false;
        hold(cg, MEMORY_PEAK);
        if (!cg->resets_peak)
                return false;
        get(cg, PIDS_PEAK, &peak); /* if the kernel has no peak, none is reported */
        return get(cg, PIDS_NOW, &left) && left == 0 && peak <= 2 && get(cg, PIDS_REFUSED, &refused) &&
               refused == 0 && get(cg, OOM_KILLS, &killed) && killed == 0;
}

/* Whether no directory was removed while the group was empty.  An open counter file that is read next needs
 * no check: reading fails if its group was removed, even if the name exists again. */
static bool is_whole(const struct cgroup *cg)
{
        static const enum counter sign[N_CONTROLLERS] = {
                [MEMORY] = MEMORY_NOW, [PIDS] = PIDS_NOW, [CPU] = CPU_US};
        const bool cpu_is_read = cg->has[CPUACCT] && cg->home->twin[CPUACCT] == CPU;
        for (int c = 0; c < N_CONTROLLERS; c++) {
                const bool read = c == MEMORY || c == PIDS || (c == CPU && cpu_is_read);
                if (cg->made[c] && !(read && cg->counters.fd[sign[c]] >= 0) &&
                    !cgroup_still_there(cg->home->parent[c], cg->name, cg->dir[c]))
                        return false;
        }
        return true;
}

/* Makes the counters start from zero.  The others are zero, see cgroup_may_serve_again().  Returns false if
 * one cannot be read or reset. */
static bool begin_counting(struct cgroup *cg)
{
        const int peak = cg->counters.fd[MEMORY_PEAK];
        if (!cg->fresh && (!cg->resets_peak || (peak >= 0 && sys_write(peak, "0", 1) != 1)))
                return false;
        return counters_begin_cpu(&cg->counters) || !cg->has[CPUACCT];
}

bool cgroup_renew(struct cgroup *cg, const struct cella_limits *limits)
{
        uint64_t left = 1, bytes = 0;
        /* On v1 the group that counts CPU time may be missing, see make_dirs(). */
        const bool uncounted = limits->cpu_time_ms > 0 && !cg->has[CPUACCT];
        if (!cgroup_can_keep() || (uncounted && cg->home->parent[CPUACCT] >= 0))
                return false;
        cg->keeps = true;
        if (!is_whole(cg) || !get(cg, PIDS_NOW, &left) || left > 0 || !get(cg, MEMORY_NOW, &bytes) ||
            bytes > LEFT_BYTES_MAX)
                return false;
        hold_all(cg);
        return begin_counting(cg) && change_limits(cg, limits) == 0;
}

static int write_freezer(const struct cgroup *cg, bool freeze)
{
        if (!cg->has[FREEZER])
                return -ENOTSUP;
        return cg->home->freezer_v2 ? put(cg, FREEZER, "cgroup.freeze", freeze ? "1" : "0")
                                    : put(cg, FREEZER, "freezer.state", freeze ? "FROZEN" : "THAWED");
}

int cgroup_freeze(struct cgroup *cg)
{
        int r = write_freezer(cg, true);
        cg->frozen = r == 0;
        return r;
}

int cgroup_thaw(struct cgroup *cg)
{
        cg->frozen = false;
        return write_freezer(cg, false);
}

bool cgroup_is_frozen(const struct cgroup *cg)
{
        char state[128];
        uint64_t frozen = 0;
        if (!cg->has[FREEZER])
                return false;
        const bool v2 = cg->home->freezer_v2;
        const struct path path = file_of(cg, v2 ? "cgroup.events" : "freezer.state");
        if (sys_read_file(cg->home->parent[FREEZER], path.text, state, sizeof state) < 0)
                return false;
        if (v2)
                return counter_find(state, "frozen", &frozen) && frozen == 1;
        if (!strncmp(state, "FROZEN", 6))
                return true;
        /* v1 does not notice tasks that stop later, for example after vfork(): writing again makes it
         * check. */
        write_freezer(cg, true);
        return false;
}

void cgroup_let_die(struct cgroup *cg)
{
        if (cg->frozen && !cg->home->freezer_v2)
                cgroup_thaw(cg);
}

unsigned cgroup_sweep(const struct cgroup *cg)
{
        return cgroup_home_sweep(cg->home, cg->name);
}
