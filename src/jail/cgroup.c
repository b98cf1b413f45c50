/* jail/cgroup.c -- the control groups of one sandbox.
 *
 * Where they are made.  v1: below the caller's own group in each hierarchy, so that
 * what limits the caller limits its sandboxes too.  v2 does not let a group with
 * processes hand controllers to children, so: below the nearest ancestor of the
 * caller's group that does hand down what we need and that we may write to.
 *
 * The name is cella-N, and mkdir makes N ours: no other live sandbox has it.  N also
 * serves as the sandbox's uid on the host.  All names of one sandbox are equal, in all
 * hierarchies, and the first directory is locked (flock) for as long as it is in use. */
#include "jail/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/file.h"

#define CGROUP2_MAGIC 0x63677270
#define NUMBERS (1u << 22) /* as many as there can be process ids */
#define PREFIX "cella-"
#define ROOT "/sys/fs/cgroup"

enum controller { MEMORY, PIDS, CPU, CPUACCT, N_CONTROLLERS };
static const char *const controller_names[] = {"memory", "pids", "cpu", "cpuacct"};

struct cgroup {
        bool v2;
        unsigned number;
        char name[24];
        /* v2 has all controllers in one directory; v1 may have two in one (cpu,cpuacct).
         * A controller without a directory has -1.  `first` owns the lock. */
        int parent[N_CONTROLLERS];
        int dir[N_CONTROLLERS];
        bool made[N_CONTROLLERS]; /* this entry's directory is ours to remove */
        int first;
        uint32_t missing;
        bool throttled;
};

static void set_missing(struct cgroup *cg)
{
        static const uint32_t limit_of[] = {CELLA_LIMIT_MEMORY, CELLA_LIMIT_PROCESSES, CELLA_LIMIT_CPUS,
                                            CELLA_LIMIT_CPU_TIME};
        cg->missing = 0;
        for (int c = 0; c < N_CONTROLLERS; c++)
                if (cg->dir[c] < 0 && !(c == CPUACCT && cg->parent[c] >= 0))
                        cg->missing |= limit_of[c];
}

/* The caller's group: in hierarchy `controller` of v1, or of v2 with NULL.  An empty
 * string is the root. */
static int own_group(const char *text, const char *controller, char *ret, size_t size)
{
        for (const char *line = text; *line;) {
                const char *end = strchrnul(line, '\n');
                const char *names = strchr(line, ':');
                const char *path = names ? strchr(names + 1, ':') : NULL;
                if (path && path < end) {
                        bool match = controller == NULL && path == names + 1; /* "0::/path" */
                        for (const char *n = names + 1; controller && n < path && !match;) {
                                size_t len = strcspn(n, ",:");
                                match = len == strlen(controller) && !strncmp(n, controller, len);
                                n += len + 1;
                        }
                        if (match) {
                                size_t len = (size_t)(end - path - 1);
                                if (len >= size)
                                        return -ENAMETOOLONG;
                                memcpy(ret, path + 1, len);
                                ret[len] = '\0';
                                if (!strcmp(ret, "/"))
                                        ret[0] = '\0';
                                return 0;
                        }
                }
                line = *end ? end + 1 : end;
        }
        return -ENOENT;
}

static bool has_word(const char *text, const char *word)
{
        size_t len = strlen(word);
        for (const char *p = text; *p; p += strcspn(p, " \n"), p += strspn(p, " \n"))
                if (!strncmp(p, word, len) && (p[len] == ' ' || p[len] == '\n' || p[len] == '\0'))
                        return true;
        return false;
}

/* Whether children of this v2 group have a controller; at the root it is switched on if not. */
static int hands_down(int dir, const char *controller, bool root)
{
        char text[256];
        ssize_t n = sys_read_file(dir, "cgroup.subtree_control", text, sizeof text);
        if (n < 0)
                return (int)n;
        if (has_word(text, controller))
                return 0;
        if (!root)
                return -ENOENT;
        snprintf(text, sizeof text, "+%s", controller);
        return sys_write_file(dir, "cgroup.subtree_control", text);
}

/* The nearest ancestor of the group `own` that hands down the first n of what we need.  The
 * reason why there is none is that of the last one looked at, the root. */
static int find_ancestor(const char *own, size_t n, int *ret, struct cella_err *err)
{
        static const char *const needed[] = {"memory", "pids", "cpu"};
        char group[512], path[1024];
        snprintf(group, sizeof group, "%s", own);
        for (;;) {
                int r;
                snprintf(path, sizeof path, ROOT "%s", group);
                AUTO(sys_close) int dir = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
                r = dir < 0 ? dir : faccessat(dir, ".", W_OK, AT_EACCESS) < 0 ? -errno : 0;
                if (r < 0)
                        err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "cgroup: cannot use %.100s", path);
                for (size_t i = 0; i < n && r == 0; i++) {
                        r = hands_down(dir, needed[i], !*group);
                        if (r < 0)
                                err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                                        "cgroup: %.100s does not hand down the controller '%s'", path,
                                        needed[i]);
                }
                if (r == 0) {
                        *ret = TAKE_FD(dir);
                        return 0;
                }
                char *slash = strrchr(group, '/');
                if (!slash)
                        return r;
                *slash = '\0';
        }
}

static int find_parent_v2(struct cgroup *cg, const char *groups, struct cella_err *err)
{
        char own[512];
        int r = own_group(groups, NULL, own, sizeof own);
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                               "cgroup: /proc/self/cgroup names no group");
        /* A group without a limit on CPUs is better than none; it is told. */
        r = find_ancestor(own, 3, &cg->parent[0], err);
        return r < 0 ? find_ancestor(own, 2, &cg->parent[0], err) : 0;
}

static int find_parents_v1(struct cgroup *cg, const char *groups, struct cella_err *err)
{
        int found = 0;
        for (int c = 0; c < N_CONTROLLERS; c++) {
                char path[1024], own[512];
                cg->parent[c] = -1;
                if (own_group(groups, controller_names[c], own, sizeof own) < 0)
                        continue;
                snprintf(path, sizeof path, ROOT "/%s%s", controller_names[c], own);
                int dir = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
                if (dir == -ENOENT) { /* a container that sees its group as the root */
                        snprintf(path, sizeof path, ROOT "/%s", controller_names[c]);
                        dir = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
                }
                if (dir < 0)
                        continue;
                cg->parent[c] = dir;
                found++;
        }
        return found > 0
                       ? 0
                       : err_set(err, CELLA_ISOLATION_UNAVAILABLE, -ENOENT, "cgroup: no hierarchy at " ROOT);
}

/* cpu and cpuacct are one hierarchy on most hosts: then they share the directory. */
static int same_hierarchy(const struct cgroup *cg, int controller)
{
        struct stat mine, other;
        if (fstat(cg->parent[controller], &mine) < 0)
                return -1;
        for (int c = 0; c < controller; c++)
                if (cg->parent[c] >= 0 && fstat(cg->parent[c], &other) == 0 && mine.st_dev == other.st_dev &&
                    mine.st_ino == other.st_ino)
                        return c;
        return -1;
}

static int make_dir(struct cgroup *cg, int c)
{
        int r = sys_mkdirat(cg->parent[c], cg->name, 0755);
        if (r < 0)
                return r;
        cg->made[c] = true;
        cg->dir[c] = sys_openat(cg->parent[c], cg->name, O_RDONLY | O_DIRECTORY, 0);
        return cg->dir[c] < 0 ? cg->dir[c] : 0;
}

/* Whether the directory we hold is still the one of that name: a sweeper that saw it before
 * we had locked it may have removed it. */
static bool still_there(int parent, const char *name, int dir)
{
        struct stat named, held;
        return fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(dir, &held) == 0 &&
               named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

/* Claims a number by making the first directory and locking it. */
static int make_first(struct cgroup *cg)
{
        unsigned start = (unsigned)getpid() % NUMBERS;
        for (unsigned i = 0; i < 1000; i++) {
                cg->number = (start + i * 7919) % NUMBERS;
                snprintf(cg->name, sizeof cg->name, PREFIX "%u", cg->number);
                int r = make_dir(cg, cg->first);
                if (r < 0 && r != -EEXIST && r != -ENOENT)
                        return r;
                if (r == 0 && sys_flock(cg->dir[cg->first], LOCK_EX | LOCK_NB) == 0 &&
                    still_there(cg->parent[cg->first], cg->name, cg->dir[cg->first]))
                        return 0;
                /* Somebody's, or a sweeper took it for a leftover: leave it to them. */
                cg->made[cg->first] = false;
                sys_close(TAKE_FD(cg->dir[cg->first]));
        }
        return -EEXIST;
}

static int make_rest(struct cgroup *cg, bool count_cpu)
{
        for (int c = 0; c < N_CONTROLLERS; c++) {
                if (cg->parent[c] < 0 || c == cg->first)
                        continue;
                int twin = same_hierarchy(cg, c);
                if (twin >= 0) {
                        cg->dir[c] = sys_openat(cg->parent[c], cg->name, O_RDONLY | O_DIRECTORY, 0);
                        continue;
                }
                /* A hierarchy of its own only to count CPU time (most hosts have it together with
                 * the limit on CPUs): 0.1 ms, for those who need it to be exact. */
                if (c == CPUACCT && !count_cpu)
                        continue;
                int r = make_dir(cg, c);
                if (r == -EEXIST) { /* what a killed owner left in this hierarchy only */
                        sys_unlinkat(cg->parent[c], cg->name, AT_REMOVEDIR);
                        r = make_dir(cg, c);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

static int set(const struct cgroup *cg, int controller, const char *file, unsigned long long value)
{
        char text[24];
        snprintf(text, sizeof text, "%llu", value);
        return sys_write_file(cg->dir[controller], file, text);
}

/* Swap counts as memory.  A kernel without swap accounting lacks the file, which is as
 * good only if it has no swap; v1 can at least be told not to use any. */
static int limit_memory(const struct cgroup *cg, uint64_t bytes)
{
        int r = set(cg, MEMORY, cg->v2 ? "memory.max" : "memory.limit_in_bytes", bytes);
        if (r < 0)
                return r;
        r = cg->v2 ? set(cg, MEMORY, "memory.swap.max", 0)
                   : set(cg, MEMORY, "memory.memsw.limit_in_bytes", bytes);
        if (r == -ENOENT)
                r = cg->v2 ? 0 : set(cg, MEMORY, "memory.swappiness", 0);
        return r;
}

static int set_limits(struct cgroup *cg, const struct cella_limits *limits)
{
        int r = 0;
        if (cg->dir[MEMORY] >= 0)
                r = limit_memory(cg, limits->memory_bytes);
        if (r == 0 && cg->dir[PIDS] >= 0) /* init is one, and not the code's */
                r = set(cg, PIDS, "pids.max", limits->processes + 1ull);
        /* v2 may hand down the others without this one. */
        if (r == 0 && cg->v2 && faccessat(cg->dir[CPU], "cpu.max", F_OK, 0) < 0)
                sys_close(TAKE_FD(cg->dir[CPU]));
        return r;
}

/* v2 has all in one directory: the other controllers get descriptors of their own to it,
 * so that every entry is closed in the same way. */
static int share_first(struct cgroup *cg)
{
        for (int c = 1; c < N_CONTROLLERS; c++) {
                cg->dir[c] = sys_openat(cg->dir[0], ".", O_RDONLY | O_DIRECTORY, 0);
                if (cg->dir[c] < 0)
                        return cg->dir[c];
        }
        return 0;
}

bool cgroup_is_v2(void)
{
        struct statfs fs;
        return statfs(ROOT, &fs) == 0 && fs.f_type == CGROUP2_MAGIC;
}

int cgroup_new(const struct cella_limits *limits, struct cgroup **ret, struct cella_err *err)
{
        char groups[4096];
        AUTO(cgroup_free) struct cgroup *cg = calloc(1, sizeof *cg);
        if (!cg)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cgroup");
        for (int c = 0; c < N_CONTROLLERS; c++)
                cg->dir[c] = cg->parent[c] = -1;

        ssize_t n = sys_read_file(AT_FDCWD, "/proc/self/cgroup", groups, sizeof groups);
        if (n < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, (int)n,
                               "cgroup: cannot read /proc/self/cgroup");
        cg->v2 = cgroup_is_v2();
        int r = cg->v2 ? find_parent_v2(cg, groups, err) : find_parents_v1(cg, groups, err);
        if (r < 0)
                return r;
        while (cg->parent[cg->first] < 0)
                cg->first++;
        r = make_first(cg);
        if (r == 0)
                r = cg->v2 ? share_first(cg) : make_rest(cg, limits->cpu_time_ms > 0);
        if (r == 0)
                r = set_limits(cg, limits);
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                               "cgroup: cannot make a group below " ROOT);
        set_missing(cg);
        *ret = TAKE(cg);
        return 0;
}

/* A group is busy for a moment after its last process was reaped. */
static void remove_dir(int parent, const char *name)
{
        for (int i = 0; i < 2000; i++) {
                if (sys_unlinkat(parent, name, AT_REMOVEDIR) != -EBUSY)
                        return;
                usleep(i < 100 ? 50 : 500);
        }
}

struct cgroup *cgroup_free(struct cgroup *cg)
{
        if (!cg)
                return NULL;
        /* The locked one last, so that what is left of an interrupted removal is found. */
        for (int c = N_CONTROLLERS - 1; c >= 0; c--)
                if (cg->made[c] && c != cg->first)
                        remove_dir(cg->parent[c], cg->name);
        if (cg->made[cg->first])
                remove_dir(cg->parent[cg->first], cg->name);
        for (int c = 0; c < N_CONTROLLERS; c++) {
                sys_close(cg->dir[c]);
                sys_close(cg->parent[c]);
        }
        free(cg);
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
        return cg->v2 ? cg->dir[0] : -1;
}

int cgroup_join_fds(const struct cgroup *cg, bool cloned_into, int fds[JAIL_CGROUP_FDS_MAX],
                    struct cella_err *err)
{
        int n = 0;
        for (int c = 0; c < N_CONTROLLERS && !cloned_into; c++) {
                if (!cg->made[c])
                        continue;
                fds[n] = sys_openat(cg->dir[c], cg->v2 ? "cgroup.procs" : "tasks", O_WRONLY, 0);
                if (fds[n] < 0) {
                        int r = fds[n];
                        while (n > 0)
                                sys_close(fds[--n]);
                        return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "cgroup: cannot open tasks");
                }
                n++;
        }
        return n;
}

/* The number after `key ` in a file of lines, or of a file that is only a number (NULL). */
static bool read_number(int dir, const char *file, const char *key, uint64_t *ret)
{
        char text[1024];
        if (dir < 0 || sys_read_file(dir, file, text, sizeof text) < 0)
                return false;
        const char *p = text;
        if (key) {
                size_t len = strlen(key);
                while (strncmp(p, key, len) != 0 || p[len] != ' ') {
                        p = strchr(p, '\n');
                        if (!p)
                                return false;
                        p++;
                }
                p += len;
        }
        *ret = strtoull(p, NULL, 10);
        return true;
}

int cgroup_limit_sockets(const struct cgroup *cg, const struct cella_limits *limits, struct cella_err *err)
{
        int r = 0;
        if (!cg->v2 && cg->dir[MEMORY] >= 0)
                r = set(cg, MEMORY, "memory.kmem.tcp.limit_in_bytes", limits->memory_bytes);
        if (r < 0 && r != -ENOENT) /* a kernel without it charges them like all else, or not at all */
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                               "cgroup: cannot limit the memory of sockets");
        return 0;
}

uint64_t cgroup_cpu_us(const struct cgroup *cg)
{
        uint64_t value = 0;
        if (cg->v2)
                read_number(cg->dir[CPUACCT], "cpu.stat", "usage_usec", &value);
        else if (read_number(cg->dir[CPUACCT], "cpuacct.usage", NULL, &value))
                value /= 1000;
        return value;
}

int cgroup_throttle(struct cgroup *cg, uint32_t cpus_milli)
{
        const unsigned period_us = 100000;
        const unsigned long long quota_us = (unsigned long long)cpus_milli * period_us / 1000;
        char text[48];
        int r;
        if (cg->dir[CPU] < 0)
                return 0;
        cg->throttled = true;
        if (cg->v2) {
                snprintf(text, sizeof text, "%llu %u", quota_us, period_us);
                return sys_write_file(cg->dir[CPU], "cpu.max", text);
        }
        r = set(cg, CPU, "cpu.cfs_period_us", period_us);
        if (r == 0)
                r = set(cg, CPU, "cpu.cfs_quota_us", quota_us);
        return r == -EINVAL ? 0 : r; /* more than the group around ours has, which holds us then */
}

void cgroup_unthrottle(struct cgroup *cg)
{
        if (!cg->throttled)
                return;
        cg->throttled = false;
        if (cg->v2)
                sys_write_file(cg->dir[CPU], "cpu.max", "max");
        else
                sys_write_file(cg->dir[CPU], "cpu.cfs_quota_us", "-1");
}

void cgroup_read_usage(const struct cgroup *cg, struct cgroup_usage *ret)
{
        uint64_t peak = 0;
        memset(ret, 0, sizeof *ret);
        ret->cpu_us = cgroup_cpu_us(cg);
        ret->cpu_known = ret->cpu_us > 0;
        ret->memory_known = read_number(cg->dir[MEMORY], cg->v2 ? "memory.peak" : "memory.max_usage_in_bytes",
                                        NULL, &ret->memory_peak_bytes);
        ret->processes_known = read_number(cg->dir[PIDS], "pids.peak", NULL, &peak);
        ret->processes_peak = peak > 0 ? (uint32_t)peak - 1 : 0; /* without init */
        read_number(cg->dir[MEMORY], cg->v2 ? "memory.events" : "memory.oom_control", "oom_kill",
                    &ret->oom_kills);
        read_number(cg->dir[PIDS], "pids.events", "max", &ret->forks_refused);
}

void cgroup_sweep(const struct cgroup *cg)
{
        int copy = sys_openat(cg->parent[cg->first], ".", O_RDONLY | O_DIRECTORY, 0);
        DIR *dir = copy < 0 ? NULL : fdopendir(copy);
        if (!dir) {
                sys_close(copy);
                return;
        }
        for (struct dirent *e; (e = readdir(dir));) {
                if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0 || !strcmp(e->d_name, cg->name))
                        continue;
                AUTO(sys_close) int fd = sys_openat(copy, e->d_name, O_RDONLY | O_DIRECTORY, 0);
                if (fd < 0 || sys_flock(fd, LOCK_EX | LOCK_NB) < 0)
                        continue;
                /* The first one last: it is how a later sweep finds the others. */
                bool busy = false;
                for (int c = N_CONTROLLERS - 1; c >= 0; c--)
                        if (cg->parent[c] >= 0 && c != cg->first)
                                busy |= sys_unlinkat(cg->parent[c], e->d_name, AT_REMOVEDIR) == -EBUSY;
                if (!busy)
                        sys_unlinkat(copy, e->d_name, AT_REMOVEDIR);
        }
        closedir(dir);
}
