#include "docker/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sys/file.h"

#define GROUPS "/sys/fs/cgroup"
#define PERIOD_US 100000u

/* Opens a group only if its path contains the container's id, as with every engine.  A container without its
 * own group (a rootless engine with v1) is in another group, which must not be counted or written to. */
static int open_group(const char *mount, const char *path, const char *container)
{
        char whole[1024];
        if (strstr(path, "/../") || !container[0] || !strstr(path, container) ||
            snprintf(whole, sizeof whole, GROUPS "%s%s", mount, path) >= (int)sizeof whole)
                return -1;
        int fd = sys_openat(AT_FDCWD, whole, O_RDONLY | O_DIRECTORY, 0);
        return fd < 0 ? -1 : fd;
}

static bool has_word(const char *list, size_t len, const char *word)
{
        size_t n = strlen(word);
        for (size_t at = 0; at + n <= len; at++)
                if ((at == 0 || list[at - 1] == ',') && !strncmp(list + at, word, n) &&
                    (at + n == len || list[at + n] == ','))
                        return true;
        return false;
}

/* One line of /proc/PID/cgroup: NUMBER:CONTROLLERS:PATH. */
static void docker_usage_take_line(struct usage *u, const char *container, char *line)
{
        const struct {
                const char *word, *mount;
                int *fd;
        } all[] = {
                {"memory", "/memory", &u->memory},
                {"cpu", "/cpu", &u->cpu},
                {"cpuacct", "/cpuacct", &u->cpuacct},
                {"pids", "/pids", &u->pids},
        };
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path || path[1] != '/')
                return;
        list++;
        size_t len = (size_t)(path - list);
        path++;
        for (size_t i = 0; i < ARRAY_LEN(all); i++)
                if (has_word(list, len, all[i].word) && *all[i].fd < 0)
                        *all[i].fd = open_group(all[i].mount, path, container);
        if (len == 0 && access(GROUPS "/cgroup.controllers", F_OK) == 0) { /* only v2 */
                u->memory = open_group("", path, container);
                u->v2 = u->memory >= 0;
        }
}

void usage_open(pid_t pid, const char *container, struct usage *ret)
{
        char name[40], text[4096], *rest = text;
        *ret = USAGE_NONE;
        snprintf(name, sizeof name, "/proc/%d/cgroup", (int)pid);
        if (sys_read_file(AT_FDCWD, name, text, sizeof text) <= 0)
                return;
        for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
                docker_usage_take_line(ret, container, line);
        ret->foreign = ret->memory < 0 && ret->cpu < 0 && ret->cpuacct < 0 && ret->pids < 0;
        if (ret->v2)
                ret->cpu = ret->cpuacct = ret->pids = ret->memory;
}

void usage_close(struct usage *u)
{
        sys_close(u->memory);
        if (!u->v2) {
                sys_close(u->cpu);
                sys_close(u->cpuacct);
                sys_close(u->pids);
        }
        *u = USAGE_NONE;
}

/* Gets the number after `key ` at the start of a line, or with NULL at the start of the file; "max" is
 * UINT64_MAX. */
static bool docker_usage_get(int dir, const char *file, const char *key, uint64_t *ret)
{
        char text[2048];
        const char *at = text;
        if (dir < 0 || sys_read_file(dir, file, text, sizeof text) <= 0)
                return false;
        size_t len = key ? strlen(key) : 0;
        while (key && (strncmp(at, key, len) != 0 || at[len] != ' ')) {
                at = strchr(at, '\n');
                if (!at)
                        return false;
                at++;
        }
        at += len;
        *ret = !strncmp(at, "max", 3) || *at == '-' ? UINT64_MAX : strtoull(at, NULL, 10);
        return true;
}

static void docker_usage_put(int dir, const char *file, uint64_t value)
{
        char text[24];
        snprintf(text, sizeof text, "%llu", (unsigned long long)value);
        if (dir >= 0)
                sys_write_file(dir, file, text); /* if this is not permitted, usage_missing() reports it */
}

void usage_tighten(const struct usage *u, uint64_t memory_bytes, uint64_t processes)
{
        uint64_t have = 0;
        if (docker_usage_get(u->memory, u->v2 ? "memory.max" : "memory.limit_in_bytes", NULL, &have) &&
            have > memory_bytes) {
                docker_usage_put(u->memory, u->v2 ? "memory.max" : "memory.limit_in_bytes", memory_bytes);
                if (!u->v2)
                        docker_usage_put(u->memory, "memory.memsw.limit_in_bytes", memory_bytes);
        }
        if (docker_usage_get(u->pids, "pids.max", NULL, &have) && have > processes)
                docker_usage_put(u->pids, "pids.max", processes);
}

/* Returns the limit on CPUs in thousandths; UINT64_MAX: none.  v2: "QUOTA PERIOD". */
static uint64_t cpus_of(const struct usage *u)
{
        uint64_t quota = UINT64_MAX, period = PERIOD_US;
        char text[64], *end = NULL;
        if (u->v2 && sys_read_file(u->cpu, "cpu.max", text, sizeof text) > 0 &&
            strncmp(text, "max", 3) != 0) {
                quota = strtoull(text, &end, 10);
                period = strtoull(end, NULL, 10);
        } else if (!u->v2) {
                docker_usage_get(u->cpu, "cpu.cfs_quota_us", NULL, &quota);
                docker_usage_get(u->cpu, "cpu.cfs_period_us", NULL, &period);
        }
        return quota != UINT64_MAX && period > 0 && quota / period < 1000000 ? quota * 1000 / period
                                                                             : UINT64_MAX;
}

static bool limits_cpus(const struct usage *u, uint32_t cpus_milli)
{
        const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        if (cpus > 0 && (uint64_t)cpus * 1000 <= cpus_milli)
                return true; /* all CPUs */
        return cpus_of(u) <= (uint64_t)cpus_milli + 1;
}

static bool cpus_below(const struct usage *u, uint64_t cpus_milli)
{
        const uint64_t have = cpus_of(u);
        return have != UINT64_MAX && have + 1 < cpus_milli; /* the kernel may round down */
}

static void raise_cpus(const struct usage *u, uint64_t cpus_milli)
{
        char text[48];
        const unsigned long long quota = cpus_milli * PERIOD_US / 1000;
        if (u->v2)
                snprintf(text, sizeof text, "%llu %u", quota, PERIOD_US);
        else
                snprintf(text, sizeof text, "%llu", quota);
        if (!u->v2)
                docker_usage_put(u->cpu, "cpu.cfs_period_us", PERIOD_US);
        sys_write_file(u->cpu, u->v2 ? "cpu.max" : "cpu.cfs_quota_us", text);
}

bool usage_raise(const struct usage *u, uint64_t memory_bytes, uint64_t processes, uint64_t cpus_milli)
{
        const char *memory = u->v2 ? "memory.max" : "memory.limit_in_bytes";
        const uint64_t page = 65536; /* the kernel may round down */
        uint64_t have = 0;
        if (docker_usage_get(u->memory, memory, NULL, &have) && have + page < memory_bytes) {
                if (!u->v2) /* never below the other one */
                        docker_usage_put(u->memory, "memory.memsw.limit_in_bytes", memory_bytes);
                docker_usage_put(u->memory, memory, memory_bytes);
        }
        if (docker_usage_get(u->pids, "pids.max", NULL, &have) && have < processes)
                docker_usage_put(u->pids, "pids.max", processes);
        if (u->cpu >= 0 && cpus_below(u, cpus_milli))
                raise_cpus(u, cpus_milli);
        return docker_usage_get(u->memory, memory, NULL, &have) && have + page >= memory_bytes &&
               docker_usage_get(u->pids, "pids.max", NULL, &have) && have >= processes && u->cpu >= 0 &&
               !cpus_below(u, cpus_milli);
}

uint32_t usage_missing(const struct usage *u, const struct cella_limits *limits, uint64_t processes)
{
        const uint64_t page = 65536; /* the kernel may round up */
        uint64_t have = 0;
        uint32_t missing = 0;
        if (!docker_usage_get(u->memory, u->v2 ? "memory.max" : "memory.limit_in_bytes", NULL, &have) ||
            have > limits->memory_bytes + page)
                missing |= CELLA_LIMIT_MEMORY;
        if (!docker_usage_get(u->pids, "pids.max", NULL, &have) || have > processes)
                missing |= CELLA_LIMIT_PROCESSES;
        if (!limits_cpus(u, limits->cpus_milli))
                missing |= CELLA_LIMIT_CPUS;
        if (!docker_usage_get(u->cpuacct, u->v2 ? "cpu.stat" : "cpuacct.usage", u->v2 ? "usage_usec" : NULL,
                              &have))
                missing |= CELLA_LIMIT_CPU_TIME;
        return missing;
}

bool usage_read(const struct usage *u, struct keeper_counted *ret)
{
        uint64_t value = 0;
        bool any = false;
        ret->read_us = clock_us();
        if (docker_usage_get(u->cpuacct, u->v2 ? "cpu.stat" : "cpuacct.usage", u->v2 ? "usage_usec" : NULL,
                             &value)) {
                ret->cpu_us = (u->v2 ? value : value / 1000) - u->cpu_us;
                ret->known |= KEEPER_KNOWS_CPU;
                any = true;
        }
        if (docker_usage_get(u->memory, u->v2 ? "memory.current" : "memory.usage_in_bytes", NULL, &value)) {
                ret->memory_bytes = value;
                any = true;
        }
        if (docker_usage_get(u->memory, u->v2 ? "memory.peak" : "memory.max_usage_in_bytes", NULL, &value)) {
                ret->memory_peak_bytes = value;
                ret->known |= KEEPER_KNOWS_MEMORY;
        }
        if (docker_usage_get(u->memory, u->v2 ? "memory.events" : "memory.oom_control", "oom_kill", &value))
                ret->oom_kills = value - u->oom_kills;
        /* Not the peak: it would include the processes of the runtime that started the container. */
        if (docker_usage_get(u->pids, "pids.current", NULL, &value))
                ret->processes = value > 0 ? (uint32_t)value - 1 : 0;
        if (docker_usage_get(u->pids, "pids.events", "max", &value))
                ret->forks_refused = value - u->refused;
        return any;
}

void usage_begin(struct usage *u)
{
        struct keeper_counted before = {0};
        if (!u->v2)
                docker_usage_put(u->memory, "memory.max_usage_in_bytes", 0);
        usage_read(u, &before);
        u->cpu_us = before.cpu_us;
        u->oom_kills = before.oom_kills;
        u->refused = before.forks_refused;
}
